/* SPDX-License-Identifier: MIT */
/*
 * driver.c - a display miniport of WDDM 2.6 for the mini GPU (gpu.h).
 *
 *	client ─▶ SubmitCommandVirtual ─┐
 *	kernel ─▶ BuildPagingBuffer ────┴▶ ring ─▶ engine ─▶ DIRQL: NotifyInterrupt ─▶ DPC: NotifyDpc
 *
 * GPU virtual addresses, one segment of memory, one node, no display. Commands name virtual addresses only, so there is
 * nothing to patch, and page tables keep clients apart. The processor writes them.
 */
#include "ntddk.h"
#include "dispmprt.h"
#include "gpu.h"
#include "minigpu.h"

#define TAG          0x696e694du /* "Mini" in a pool listing */
#define MEMORY_BYTES ((SIZE_T)32 << 20)

enum { LOCAL_SEGMENT = 1, SYSTEM_SEGMENT }; /* the kernel adds the second */

struct adapter {
	DXGKRNL_INTERFACE dxgk;
	PVOID memory; /* what LOCAL_SEGMENT is */
	struct gpu gpu;
};

/* ---- interrupts ---- */

/* The mini GPU says in WDDM's own words what it interrupts for. Other hardware has registers to be read here. */
static BOOLEAN NTAPI notify_at_dirql(PVOID SynchronizeContext)
{
	struct adapter *adapter = SynchronizeContext;

	adapter->dxgk.DxgkCbNotifyInterrupt(adapter->dxgk.DeviceHandle, &adapter->gpu.event);
	adapter->dxgk.DxgkCbQueueDpc(adapter->dxgk.DeviceHandle);
	return TRUE;
}

/* There is no line that would interrupt: whoever has the lock of the GPU raises itself to that level. */
static void interrupt(struct gpu *gpu)
{
	struct adapter *adapter = CONTAINING_RECORD(gpu, struct adapter, gpu);
	BOOLEAN result;

	adapter->dxgk.DxgkCbSynchronizeExecution(adapter->dxgk.DeviceHandle, notify_at_dirql,
						 adapter, 0, &result);
}

static VOID APIENTRY dpc_routine(PVOID MiniportDeviceContext)
{
	struct adapter *adapter = MiniportDeviceContext;

	adapter->dxgk.DxgkCbNotifyDpc(adapter->dxgk.DeviceHandle);
}

/* ---- submission: DISPATCH_LEVEL ---- */

static NTSTATUS APIENTRY submit_command_virtual(HANDLE hAdapter,
						const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
	struct gpu *gpu = &((struct adapter *)hAdapter)->gpu;
	struct gpu_context *context = args->hContext;
	struct gpu_packet packet = {
		.context = context,
		.address = args->DmaBufferVirtualAddress,
		.size_bytes = args->Flags.NullRendering ? 0 : args->DmaBufferSize,
		.fence = args->SubmissionFenceId,
	};
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	NT_ASSERT(gpu->count < GPU_RING_PACKETS);
	if (args->Flags.Resubmission)
		packet.at = context->preempted_at;
	RtlZeroMemory(&context->preempted_at, sizeof(context->preempted_at));
	gpu->ring[(gpu->first + gpu->count++) % GPU_RING_PACKETS] = packet;
	KeReleaseSpinLock(&gpu->lock, irql);
	KeSetEvent(&gpu->wake, IO_NO_INCREMENT, FALSE);
	return STATUS_SUCCESS;
}

/* The engine is between two pages, so it stops here and now. One that is stuck does not answer, and will be reset. */
static NTSTATUS APIENTRY preempt_command(HANDLE hAdapter, const DXGKARG_PREEMPTCOMMAND *args)
{
	struct gpu *gpu = &((struct adapter *)hAdapter)->gpu;
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	if (!gpu->is_stuck) {
		/* Backwards: of several packets of a context the first is the one that has begun. */
		while (gpu->count > 0) {
			ULONG last = (gpu->first + --gpu->count) % GPU_RING_PACKETS;
			gpu->ring[last].context->preempted_at = gpu->ring[last].at;
		}
		gpu->event = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){
			.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED,
			.DmaPreempted = { .PreemptionFenceId = args->PreemptionFenceId,
					  .LastCompletedFenceId = gpu->last_fence },
		};
		interrupt(gpu);
	}
	KeReleaseSpinLock(&gpu->lock, irql);
	return STATUS_SUCCESS;
}

/* ---- memory ---- */

static ULONGLONG encode(const struct adapter *adapter, UINT segment, ULONGLONG address)
{
	if (segment == LOCAL_SEGMENT)
		address += MmGetPhysicalAddress(adapter->memory).QuadPart;
	return address | GPU_PTE_VALID;
}

static VOID APIENTRY set_root_page_table(HANDLE hAdapter, const DXGKARG_SETROOTPAGETABLE *args)
{
	struct gpu_context *context = args->hContext;

	context->root = encode(hAdapter, args->Address.SegmentId, args->Address.SegmentOffset);
}

static NTSTATUS update_page_table(const struct adapter *adapter,
				  const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *args)
{
	ULONGLONG *table = (ULONGLONG *)args->PageTableAddress.CpuVirtual + args->StartIndex;

	for (UINT i = 0; i < args->NumPageTableEntries; i++) {
		const DXGK_PTE *pte = &args->pPageTableEntries[args->Flags.Repeat ? 0 : i];
		ULONGLONG entry = encode(adapter, pte->Segment, pte->PageAddress << PAGE_SHIFT);

		entry |= pte->ReadOnly ? GPU_PTE_READ_ONLY : 0;
		WriteULong64Release(&table[i], pte->Valid ? entry : 0);
	}
	return STATUS_SUCCESS;
}

/* The processor writes page tables at once; everything else becomes a command like a client's, for the engine. */
static NTSTATUS APIENTRY build_paging_buffer(HANDLE hAdapter, DXGKARG_BUILDPAGINGBUFFER *args)
{
	struct minigpu_command command;

	switch (args->Operation) {
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		return update_page_table(hAdapter, &args->UpdatePageTable);
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

/* Nothing that was submitted runs any more. Returns the fence of what was aborted, or else completed last. */
static ULONG reset(struct gpu *gpu, BOOLEAN goes_on)
{
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	if (gpu->count > 0)
		gpu->last_fence = gpu->ring[gpu->first].fence;
	/* Behind it there may be some that have begun before, and come again. */
	for (ULONG i = gpu->count; i-- > 1;) {
		struct gpu_packet *packet = &gpu->ring[(gpu->first + i) % GPU_RING_PACKETS];
		packet->context->preempted_at = packet->at;
	}
	gpu->count = 0;
	gpu->is_stuck = !goes_on;
	ULONG last_fence = gpu->last_fence;
	KeReleaseSpinLock(&gpu->lock, irql);
	return last_fence;
}

static NTSTATUS APIENTRY reset_engine(HANDLE hAdapter, DXGKARG_RESETENGINE *args)
{
	args->LastAbortedFenceId = reset(&((struct adapter *)hAdapter)->gpu, TRUE);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY reset_from_timeout(HANDLE hAdapter)
{
	reset(&((struct adapter *)hAdapter)->gpu, FALSE);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY restart_from_timeout(HANDLE hAdapter)
{
	reset(&((struct adapter *)hAdapter)->gpu, TRUE);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY notify_surprise_removal(PVOID MiniportDeviceContext,
						 IN_DXGK_SURPRISE_REMOVAL_TYPE RemovalType)
{
	return reset_from_timeout(MiniportDeviceContext);
}

/* A register, as it is between two pages of work. */
static ULONG read_register(struct gpu *gpu, const ULONG *place)
{
	KIRQL irql;

	KeAcquireSpinLock(&gpu->lock, &irql);
	ULONG value = *place;
	KeReleaseSpinLock(&gpu->lock, irql);
	return value;
}

static NTSTATUS APIENTRY query_current_fence(HANDLE hAdapter, DXGKARG_QUERYCURRENTFENCE *args)
{
	struct gpu *gpu = &((struct adapter *)hAdapter)->gpu;

	args->CurrentFence = read_register(gpu, &gpu->last_fence);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_engine_status(HANDLE hAdapter, DXGKARG_QUERYENGINESTATUS *args)
{
	struct gpu *gpu = &((struct adapter *)hAdapter)->gpu;

	args->EngineStatus.Value = 0;
	args->EngineStatus.Responsive = !read_register(gpu, &gpu->is_stuck);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_dependent_engine_group(HANDLE hAdapter,
						      DXGKARG_QUERYDEPENDENTENGINEGROUP *args)
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
	.SupportNonVGA = TRUE,
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
static NTSTATUS answer_segments(const struct adapter *adapter, const DXGKARG_QUERYADAPTERINFO *args)
{
	DXGK_QUERYSEGMENTOUT4 *out = args->pOutputData;

	if (args->OutputDataSize < sizeof(*out))
		return STATUS_BUFFER_TOO_SMALL;
	if (out->pSegmentDescriptor)
		*(DXGK_SEGMENTDESCRIPTOR4 *)out->pSegmentDescriptor = (DXGK_SEGMENTDESCRIPTOR4){
			.Flags = { .CpuVisible = 1, .ApplicationTarget = 1, .LocalBudgetGroup = 1 },
			.Size = MEMORY_BYTES,
			.CommitLimit = MEMORY_BYTES,
			.CpuTranslatedAddress = MmGetPhysicalAddress(adapter->memory),
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
	    (wish->flags & ~MINIGPU_FLAGS))
		return STATUS_INVALID_PARAMETER;
	UINT segments = wish->flags & (MINIGPU_LOCAL | MINIGPU_SYSTEM); /* a bit for each */
	if (segments == 0)
		segments = MINIGPU_LOCAL | MINIGPU_SYSTEM;
	info->Alignment = PAGE_SIZE;
	info->Size = ROUND_TO_PAGES(wish->size_bytes);
	info->PreferredSegment.SegmentId0 =
		segments & MINIGPU_LOCAL ? LOCAL_SEGMENT : SYSTEM_SEGMENT;
	info->SupportedReadSegmentSet = info->SupportedWriteSegmentSet = segments;
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
	*context_out = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(struct adapter), TAG);
	return *context_out ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

/* Also of one that started in part. */
static NTSTATUS APIENTRY stop_device(PVOID MiniportDeviceContext)
{
	struct adapter *adapter = MiniportDeviceContext;

	gpu_stop(&adapter->gpu);
	if (adapter->memory)
		MmFreeContiguousMemory(adapter->memory);
	RtlZeroMemory(adapter, sizeof(*adapter));
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY start_device(PVOID MiniportDeviceContext, DXGK_START_INFO *start_info,
				      DXGKRNL_INTERFACE *dxgk, ULONG *sources, ULONG *children)
{
	struct adapter *adapter = MiniportDeviceContext;
	const PHYSICAL_ADDRESS anywhere = { .QuadPart = -1 };

	*sources = *children = 0; /* of a display */
	adapter->dxgk = *dxgk;
	adapter->gpu.interrupt = interrupt;
	adapter->memory = MmAllocateContiguousMemory(MEMORY_BYTES, anywhere);
	NTSTATUS status = adapter->memory ? gpu_start(&adapter->gpu) : STATUS_NO_MEMORY;
	if (!NT_SUCCESS(status))
		stop_device(adapter);
	return status;
}

static VOID APIENTRY unload(VOID)
{
}

DRIVER_INITIALIZE DriverEntry;

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
		.DxgkDdiSubmitCommandVirtual = submit_command_virtual,
		.DxgkDdiPreemptCommand = preempt_command,
		.DxgkDdiDpcRoutine = dpc_routine,
		.DxgkDdiQueryCurrentFence = query_current_fence,
		.DxgkDdiQueryEngineStatus = query_engine_status,
		.DxgkDdiQueryDependentEngineGroup = query_dependent_engine_group,
		.DxgkDdiResetEngine = reset_engine,
		.DxgkDdiResetFromTimeout = reset_from_timeout,
		.DxgkDdiRestartFromTimeout = restart_from_timeout,
	};

	return DxgkInitialize(driver, registry_path, &data);
}
