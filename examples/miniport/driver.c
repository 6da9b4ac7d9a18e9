/* SPDX-License-Identifier: MIT */
/*
 * driver.c - a display miniport of WDDM 2.6 for the mini GPU (gpu.h).
 *
 *	client ─▶ SubmitCommandVirtual ─┐
 *	kernel ─▶ BuildPagingBuffer ────┴▶ ring ─▶ engine ─▶ DIRQL: NotifyInterrupt ─▶ DPC: NotifyDpc
 *
 * GPU virtual addresses, one segment of memory, one node, no display. Commands name virtual addresses only, so there is
 * nothing to patch, and page tables keep clients apart. The processor writes them.
 *
 * hAdapter and the context of the device are the struct gpu: a driver of hardware has a struct of its own there.
 */
#include "ntddk.h"
#include "dispmprt.h"
#include "gpu.h"
#include "minigpu.h"

#define TAG 0x696e694du /* "Mini" in a pool listing */

enum { LOCAL_SEGMENT = 1, SYSTEM_SEGMENT }; /* the kernel adds the second */

/* ---- interrupts ---- */

/* The mini GPU says in WDDM's own words what it interrupts for. Other hardware has registers to be read here. */
static BOOLEAN NTAPI notify_at_dirql(PVOID SynchronizeContext)
{
	struct gpu *gpu = SynchronizeContext;

	gpu->dxgk.DxgkCbNotifyInterrupt(gpu->dxgk.DeviceHandle, &gpu->event);
	gpu->dxgk.DxgkCbQueueDpc(gpu->dxgk.DeviceHandle);
	return TRUE;
}

static VOID APIENTRY dpc_routine(PVOID context)
{
	struct gpu *gpu = context;

	gpu->dxgk.DxgkCbNotifyDpc(gpu->dxgk.DeviceHandle);
}

/* ---- submission: DISPATCH_LEVEL ---- */

static NTSTATUS APIENTRY submit_command(HANDLE hAdapter, const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
	const struct gpu_packet packet = {
		.context = args->hContext,
		.address = args->DmaBufferVirtualAddress,
		.size_bytes = args->Flags.NullRendering ? 0 : args->DmaBufferSize,
		.fence = args->SubmissionFenceId,
	};

	gpu_submit(hAdapter, &packet, args->Flags.Resubmission);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY preempt_command(HANDLE hAdapter, const DXGKARG_PREEMPTCOMMAND *args)
{
	gpu_preempt(hAdapter, args->PreemptionFenceId);
	return STATUS_SUCCESS;
}

/* ---- memory ---- */

static ULONGLONG encode(const struct gpu *gpu, UINT segment, ULONGLONG address)
{
	if (segment == LOCAL_SEGMENT)
		address += MmGetPhysicalAddress(gpu->memory).QuadPart;
	return address | GPU_PTE_VALID;
}

static VOID APIENTRY set_root_page_table(HANDLE hAdapter, const DXGKARG_SETROOTPAGETABLE *args)
{
	struct gpu_context *context = args->hContext;

	context->root = encode(hAdapter, args->Address.SegmentId, args->Address.SegmentOffset);
}

static void update_page_table(HANDLE hAdapter, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *args)
{
	ULONGLONG *table = (ULONGLONG *)args->PageTableAddress.CpuVirtual + args->StartIndex;

	for (UINT i = 0; i < args->NumPageTableEntries; i++) {
		const DXGK_PTE *pte = &args->pPageTableEntries[args->Flags.Repeat ? 0 : i];
		ULONGLONG entry = encode(hAdapter, pte->Segment, pte->PageAddress << PAGE_SHIFT);

		entry |= pte->ReadOnly ? GPU_PTE_READ_ONLY : 0;
		WriteULong64Release(&table[i], pte->Valid ? entry : 0);
	}
}

/* The processor writes page tables at once; everything else becomes a command like a client's, for the engine. */
static NTSTATUS APIENTRY build_paging_buffer(HANDLE hAdapter, DXGKARG_BUILDPAGINGBUFFER *args)
{
	struct minigpu_command command;

	switch (args->Operation) {
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		update_page_table(hAdapter, &args->UpdatePageTable);
		return STATUS_SUCCESS;
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		command = (struct minigpu_command){ MINIGPU_COPY,
						    args->TransferVirtual.DestinationVirtualAddress,
						    args->TransferVirtual.SourceVirtualAddress,
						    args->TransferVirtual.TransferSizeInBytes };
		break;
	case DXGK_OPERATION_VIRTUAL_FILL:
		command = (struct minigpu_command){ MINIGPU_FILL,
						    args->FillVirtual.DestinationVirtualAddress,
						    args->FillVirtual.FillPattern,
						    args->FillVirtual.FillSizeInBytes };
		break;
	default: /* of contents, residency and translations we keep no books */
		return STATUS_SUCCESS;
	}
	if (args->DmaSize < sizeof(command))
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	RtlCopyMemory(args->pDmaBuffer, &command, sizeof(command));
	args->pDmaBuffer = (PUCHAR)args->pDmaBuffer + sizeof(command);
	return STATUS_SUCCESS;
}

/* ---- recovery ---- */

static NTSTATUS APIENTRY reset_engine(HANDLE hAdapter, DXGKARG_RESETENGINE *args)
{
	args->LastAbortedFenceId = gpu_reset(hAdapter, TRUE);
	return STATUS_SUCCESS;
}

/* Also to start again: with an empty ring the engine touches nothing in between. */
static NTSTATUS APIENTRY reset_from_timeout(HANDLE hAdapter)
{
	gpu_reset(hAdapter, TRUE);
	return STATUS_SUCCESS;
}

/* What is submitted from now on does not run. */
static NTSTATUS APIENTRY notify_surprise_removal(PVOID context, DXGK_SURPRISE_REMOVAL_TYPE type)
{
	gpu_reset(context, FALSE);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_current_fence(HANDLE hAdapter, DXGKARG_QUERYCURRENTFENCE *args)
{
	args->CurrentFence = gpu_last_fence(hAdapter);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_engine_status(HANDLE hAdapter, DXGKARG_QUERYENGINESTATUS *args)
{
	args->EngineStatus = (DXGK_ENGINESTATUS){ .Responsive = !gpu_is_stuck(hAdapter) };
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY dependent_engines(HANDLE hAdapter, DXGKARG_QUERYDEPENDENTENGINEGROUP *args)
{
	args->DependentNodeOrdinalMask = 1ULL << args->NodeOrdinal;
	return STATUS_SUCCESS;
}

/* ---- what the adapter is ---- */

static const DXGK_DRIVERCAPS driver_caps = {
	.HighestAcceptableAddress.QuadPart = -1,
	.SchedulingCaps = { .MultiEngineAware = 1,
			    .PreemptionAware = 1,
			    .HwQueuePacketCap = GPU_RING_PACKETS },
	.MemoryManagementCaps = { .VirtualAddressingSupported = 1, .GpuMmuSupported = 1 },
	.GpuEngineTopology.NbAsymetricProcessingNodes = 1,
	.WDDMVersion = DXGKDDI_WDDMv2_6,
	.PreemptionCaps = { D3DKMDT_GRAPHICS_PREEMPTION_PRIMITIVE_BOUNDARY,
			    D3DKMDT_COMPUTE_PREEMPTION_DISPATCH_BOUNDARY },
	.SupportPerEngineTDR = TRUE,
	.SupportSurpriseRemoval = TRUE,
};

static const DXGK_GPUMMUCAPS mmu_caps = {
	.ReadOnlyMemorySupported = 1,
	.InvalidTlbEntriesNotCached = 1,
	.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL,
	.VirtualAddressBitCount = GPU_ADDRESS_BITS,
	.PageTableLevelCount = GPU_TABLE_LEVELS,
};

static const DXGK_PAGE_TABLE_LEVEL_DESC table_level = {
	.PageTableIndexBitCount = GPU_INDEX_BITS,
	.PageTableSegmentId = SYSTEM_SEGMENT,
	.PagingProcessPageTableSegmentId = SYSTEM_SEGMENT,
	.PageTableSizeInBytes = PAGE_SIZE,
	.PageTableAlignmentInBytes = PAGE_SIZE,
};

/* Asked twice: how many, and then which. Paging buffers are in system memory. */
static NTSTATUS answer_segments(const struct gpu *gpu, const DXGKARG_QUERYADAPTERINFO *args)
{
	DXGK_QUERYSEGMENTOUT4 *out = args->pOutputData;

	if (args->OutputDataSize < sizeof(*out))
		return STATUS_BUFFER_TOO_SMALL;
	if (out->pSegmentDescriptor)
		*(DXGK_SEGMENTDESCRIPTOR4 *)out->pSegmentDescriptor = (DXGK_SEGMENTDESCRIPTOR4){
			.Flags = { .CpuVisible = 1, .ApplicationTarget = 1, .LocalBudgetGroup = 1 },
			.Size = GPU_MEMORY_BYTES,
			.CommitLimit = GPU_MEMORY_BYTES,
			.CpuTranslatedAddress = MmGetPhysicalAddress(gpu->memory),
		};
	out->NbSegment = 1;
	out->PagingBufferSize = PAGE_SIZE;
	return STATUS_SUCCESS;
}

static NTSTATUS answer(const DXGKARG_QUERYADAPTERINFO *args, const VOID *bytes, SIZE_T size_bytes)
{
	if (args->OutputDataSize < size_bytes)
		return STATUS_BUFFER_TOO_SMALL;
	RtlCopyMemory(args->pOutputData, bytes, size_bytes);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_adapter_info(HANDLE hAdapter, const DXGKARG_QUERYADAPTERINFO *args)
{
	switch (args->Type) {
	case DXGKQAITYPE_DRIVERCAPS:
		return answer(args, &driver_caps, sizeof(driver_caps));
	case DXGKQAITYPE_GPUMMUCAPS:
		return answer(args, &mmu_caps, sizeof(mmu_caps));
	case DXGKQAITYPE_PAGETABLELEVELDESC:
		return answer(args, &table_level, sizeof(table_level));
	case DXGKQAITYPE_QUERYSEGMENT4:
		return answer_segments(hAdapter, args);
	default:
		return STATUS_NOT_SUPPORTED;
	}
}

/* ---- our side of the kernel's objects ---- */

/* The kernel wants a name of ours for each of its objects. We keep nothing in them that we need. */
static NTSTATUS object_create(HANDLE *handle_out)
{
	*handle_out = ExAllocatePool2(POOL_FLAG_PAGED, sizeof(HANDLE), TAG);
	return *handle_out ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS APIENTRY object_destroy(HANDLE handle)
{
	ExFreePoolWithTag(handle, TAG);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY create_process(HANDLE hAdapter, DXGKARG_CREATEPROCESS *args)
{
	return object_create(&args->hKmdProcess);
}

static NTSTATUS APIENTRY destroy_process(HANDLE hAdapter, HANDLE hKmdProcess)
{
	return object_destroy(hKmdProcess);
}

static NTSTATUS APIENTRY create_device(HANDLE hAdapter, DXGKARG_CREATEDEVICE *args)
{
	return object_create(&args->hDevice);
}

/* Its root leads nowhere until SetRootPageTable. Not paged: SubmitCommandVirtual needs it at DISPATCH_LEVEL. */
static NTSTATUS APIENTRY create_context(HANDLE hDevice, DXGKARG_CREATECONTEXT *args)
{
	if (args->NodeOrdinal != 0 || !args->Flags.VirtualAddressing)
		return STATUS_INVALID_PARAMETER;
	args->hContext = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(struct gpu_context), TAG);
	args->ContextInfo = (DXGK_CONTEXTINFO){
		.Caps = { .NoPatchingRequired = 1, .DriverManagesResidency = 1 },
	};
	return args->hContext ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS allocation_create(DXGK_ALLOCATIONINFO *info)
{
	const struct minigpu_allocation *wish = info->pPrivateDriverData;

	if (info->PrivateDriverDataSize != sizeof(*wish) || wish->magic != MINIGPU_MAGIC ||
	    wish->size_bytes == 0 || wish->size_bytes > MINIGPU_MAX_BYTES ||
	    (wish->flags & ~MINIGPU_FLAGS) || !(wish->flags & MINIGPU_EITHER))
		return STATUS_INVALID_PARAMETER;
	UINT set = wish->flags & MINIGPU_EITHER; /* of segments, a bit for each */
	info->Alignment = PAGE_SIZE;
	info->Size = ROUND_TO_PAGES(wish->size_bytes);
	info->PreferredSegment.SegmentId0 = set & MINIGPU_LOCAL ? LOCAL_SEGMENT : SYSTEM_SEGMENT;
	info->SupportedReadSegmentSet = info->SupportedWriteSegmentSet = set;
	info->FlagsWddm2.CpuVisible = (wish->flags & MINIGPU_CPU_VISIBLE) != 0;
	info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
	return object_create(&info->hAllocation);
}

/* All or none, as when they are opened: whoever fails has undone what it did. */
static NTSTATUS APIENTRY create_allocation(HANDLE hAdapter, DXGKARG_CREATEALLOCATION *args)
{
	NTSTATUS status = STATUS_SUCCESS;
	UINT tried = 0;

	while (NT_SUCCESS(status) && tried < args->NumAllocations)
		status = allocation_create(&args->pAllocationInfo[tried++]);
	while (!NT_SUCCESS(status) && --tried > 0)
		object_destroy(args->pAllocationInfo[tried - 1].hAllocation);
	return status;
}

static NTSTATUS APIENTRY destroy_allocation(HANDLE hAdapter, const DXGKARG_DESTROYALLOCATION *args)
{
	for (UINT i = 0; i < args->NumAllocations; i++)
		object_destroy(args->pAllocationList[i]);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY open_allocation(HANDLE hDevice, const DXGKARG_OPENALLOCATION *args)
{
	NTSTATUS status = STATUS_SUCCESS;
	UINT tried = 0;

	while (NT_SUCCESS(status) && tried < args->NumAllocations)
		status = object_create(&args->pOpenAllocation[tried++].hDeviceSpecificAllocation);
	while (!NT_SUCCESS(status) && --tried > 0)
		object_destroy(args->pOpenAllocation[tried - 1].hDeviceSpecificAllocation);
	return status;
}

static NTSTATUS APIENTRY close_allocation(HANDLE hDevice, const DXGKARG_CLOSEALLOCATION *args)
{
	for (UINT i = 0; i < args->NumAllocations; i++)
		object_destroy(args->pOpenHandleList[i]);
	return STATUS_SUCCESS;
}

/* ---- life ---- */

static NTSTATUS APIENTRY add_device(IN_CONST_PDEVICE_OBJECT device, PVOID *context_out)
{
	*context_out = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(struct gpu), TAG);
	return *context_out ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS APIENTRY start_device(PVOID context, DXGK_START_INFO *start_info,
				      DXGKRNL_INTERFACE *dxgk, ULONG *sources, ULONG *children)
{
	*sources = *children = 0; /* of a display */
	return gpu_start(context, dxgk, notify_at_dirql);
}

static NTSTATUS APIENTRY stop_device(PVOID context)
{
	gpu_stop(context);
	return STATUS_SUCCESS;
}

static VOID APIENTRY unload(VOID)
{
}

DECLSPEC_EXPORT NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING registry_path)
{
	DRIVER_INITIALIZATION_DATA data = {
		.Version = DXGKDDI_INTERFACE_VERSION_WDDM2_6,
		.DxgkDdiAddDevice = add_device,
		.DxgkDdiStartDevice = start_device,
		.DxgkDdiStopDevice = stop_device,
		.DxgkDdiRemoveDevice = object_destroy,
		.DxgkDdiUnload = unload,
		.DxgkDdiNotifySurpriseRemoval = notify_surprise_removal,
		.DxgkDdiQueryAdapterInfo = query_adapter_info,
		.DxgkDdiCreateProcess = create_process,
		.DxgkDdiDestroyProcess = destroy_process,
		.DxgkDdiCreateDevice = create_device,
		.DxgkDdiDestroyDevice = object_destroy,
		.DxgkDdiCreateContext = create_context,
		.DxgkDdiDestroyContext = object_destroy,
		.DxgkDdiCreateAllocation = create_allocation,
		.DxgkDdiDestroyAllocation = destroy_allocation,
		.DxgkDdiOpenAllocation = open_allocation,
		.DxgkDdiCloseAllocation = close_allocation,
		.DxgkDdiBuildPagingBuffer = build_paging_buffer,
		.DxgkDdiSetRootPageTable = set_root_page_table,
		.DxgkDdiSubmitCommandVirtual = submit_command,
		.DxgkDdiPreemptCommand = preempt_command,
		.DxgkDdiDpcRoutine = dpc_routine,
		.DxgkDdiQueryCurrentFence = query_current_fence,
		.DxgkDdiQueryEngineStatus = query_engine_status,
		.DxgkDdiQueryDependentEngineGroup = dependent_engines,
		.DxgkDdiResetEngine = reset_engine,
		.DxgkDdiResetFromTimeout = reset_from_timeout,
		.DxgkDdiRestartFromTimeout = reset_from_timeout,
	};

	return DxgkInitialize(driver, registry_path, &data);
}
