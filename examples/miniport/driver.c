/* SPDX-License-Identifier: MIT */
/*
 * driver.c - a display miniport of WDDM 2 for the mini GPU (gpu.h).
 *
 *	client ─▶ SubmitCommandVirtual ─▶ node 0 ─┐
 *	kernel ─▶ BuildPagingBuffer    ─▶ node 1 ─┴▶ interrupted() ─▶ DIRQL: NotifyInterrupt ─▶ DPC: NotifyDpc
 *
 * GPU virtual addresses, one segment of memory, two nodes: the clients' and the one for paging. No display. Commands name
 * virtual addresses only, so there is nothing to patch, and page tables keep clients apart.
 */
#include "ntddk.h"
#include "dispmprt.h"
#include "gpu.h"
#include "minigpu.h"

#define TAG 0x696e694du /* "Mini" in a pool listing */

enum {
	NODES = 2,
	PAGING_NODE = 1,
	SYSTEM_SEGMENT = GPU_LOCAL_SEGMENT + 1, /* the kernel adds it behind ours */
	PAGING_BUFFER_BYTES = 4 * PAGE_SIZE,
};

struct adapter {
	DXGKRNL_INTERFACE dxgk;
	PUCHAR memory;
	struct gpu_engine engines[NODES];
	volatile LONG64 completed[NODES];
};

struct context {
	struct gpu_context gpu;
	ULONG node;
};

/* The kernel wants a name of ours for these. We keep nothing in them that we need. */
struct object {
	HANDLE parent;
};

/* ---- interrupts ---- */

struct notice {
	const DXGKRNL_INTERFACE *dxgk;
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data;
};

static BOOLEAN NTAPI notify_at_dirql(PVOID SynchronizeContext)
{
	struct notice *notice = SynchronizeContext;

	notice->dxgk->DxgkCbNotifyInterrupt(notice->dxgk->DeviceHandle, &notice->data);
	notice->dxgk->DxgkCbQueueDpc(notice->dxgk->DeviceHandle);
	return TRUE;
}

static VOID APIENTRY dpc_routine(IN_CONST_PVOID MiniportDeviceContext)
{
	struct adapter *adapter = MiniportDeviceContext;

	adapter->dxgk.DxgkCbNotifyDpc(adapter->dxgk.DeviceHandle);
}

static void fill_page_fault(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data, ULONG node,
			    const struct gpu_event *event)
{
	data->InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
	data->DmaPageFaulted.FaultedFenceId = event->fence;
	data->DmaPageFaulted.FaultedVirtualAddress = event->address;
	data->DmaPageFaulted.PageTableLevel = event->level;
	data->DmaPageFaulted.NodeOrdinal = node;
	data->DmaPageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
	if (event->is_write)
		data->DmaPageFaulted.PageFaultFlags |= DXGK_PAGE_FAULT_WRITE;
}

/* The engine's thread. There is no line that would interrupt, so it raises itself to that level. */
static void interrupted(struct gpu_engine *engine, const struct gpu_event *event)
{
	struct adapter *adapter = engine->owner;
	struct notice notice = { .dxgk = &adapter->dxgk };
	DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = &notice.data;
	BOOLEAN result;

	switch (event->kind) {
	case GPU_COMPLETED:
		InterlockedIncrement64(&adapter->completed[engine->node]);
		data->InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
		data->DmaCompleted.SubmissionFenceId = event->fence;
		data->DmaCompleted.NodeOrdinal = engine->node;
		break;
	case GPU_PREEMPTED:
		data->InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
		data->DmaPreempted.PreemptionFenceId = event->fence;
		data->DmaPreempted.LastCompletedFenceId = event->last_fence;
		data->DmaPreempted.NodeOrdinal = engine->node;
		break;
	case GPU_PAGE_FAULT:
		fill_page_fault(data, engine->node, event);
		break;
	case GPU_ILLEGAL_COMMAND:
		data->InterruptType = DXGK_INTERRUPT_DMA_FAULTED;
		data->DmaFaulted.FaultedFenceId = event->fence;
		data->DmaFaulted.Status = STATUS_ILLEGAL_INSTRUCTION;
		data->DmaFaulted.NodeOrdinal = engine->node;
		break;
	}
	adapter->dxgk.DxgkCbSynchronizeExecution(adapter->dxgk.DeviceHandle, notify_at_dirql,
						 &notice, 0, &result);
}

/* ---- submission: DISPATCH_LEVEL ---- */

static NTSTATUS APIENTRY submit_command_virtual(IN_CONST_HANDLE hAdapter,
						IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL args)
{
	struct adapter *adapter = hAdapter;
	struct context *context = args->hContext;
	const struct gpu_packet packet = {
		.context = &context->gpu,
		.address = args->DmaBufferVirtualAddress,
		.size_bytes = args->Flags.NullRendering ? 0 : args->DmaBufferSize,
		.fence = args->SubmissionFenceId,
		.is_resubmission = args->Flags.Resubmission,
	};

	gpu_submit(&adapter->engines[context->node], &packet);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY preempt_command(IN_CONST_HANDLE hAdapter,
					 IN_CONST_PDXGKARG_PREEMPTCOMMAND args)
{
	struct adapter *adapter = hAdapter;

	gpu_preempt(&adapter->engines[args->NodeOrdinal], args->PreemptionFenceId);
	return STATUS_SUCCESS;
}

/* ---- paging: commands like a client's, which the paging node runs later ---- */

static NTSTATUS emit(DXGKARG_BUILDPAGINGBUFFER *args, const UCHAR *start,
		     enum minigpu_opcode opcode, ULONGLONG to, ULONGLONG from, ULONGLONG size)
{
	const struct minigpu_command command = { opcode, to, from, size };
	SIZE_T used = (PUCHAR)args->pDmaBuffer - start;

	if (args->DmaSize - used < sizeof(command))
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	RtlCopyMemory(args->pDmaBuffer, &command, sizeof(command));
	args->pDmaBuffer = (PUCHAR)args->pDmaBuffer + sizeof(command);
	return STATUS_SUCCESS;
}

static ULONGLONG encode(const DXGK_PTE *pte)
{
	if (!pte->Valid)
		return 0;
	return pte->PageAddress << PAGE_SHIFT | (ULONGLONG)pte->Segment << GPU_PTE_SEGMENT_SHIFT |
	       GPU_PTE_VALID | (pte->ReadOnly ? GPU_PTE_READ_ONLY : 0);
}

/* The first tables of all the processor writes, before an engine could go through any. */
static NTSTATUS update_page_table(DXGKARG_BUILDPAGINGBUFFER *args, const UCHAR *start)
{
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;
	BOOLEAN is_now = update->UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
	NTSTATUS status = STATUS_SUCCESS;

	while (NT_SUCCESS(status) && args->MultipassOffset < update->NumPageTableEntries) {
		ULONG done = args->MultipassOffset;
		ULONG count = update->Flags.Repeat ? update->NumPageTableEntries - done : 1;
		ULONGLONG entry =
			encode(&update->pPageTableEntries[update->Flags.Repeat ? 0 : done]);
		ULONGLONG index = update->StartIndex + done;

		for (ULONG i = 0; is_now && i < count; i++)
			WriteULong64Release((ULONGLONG *)update->PageTableAddress.CpuVirtual +
						    index + i,
					    entry);
		if (!is_now)
			status = emit(args, start, MINIGPU_STORE,
				      update->PageTableAddress.GpuVirtual + index * sizeof(entry),
				      entry, count * sizeof(entry));
		if (NT_SUCCESS(status))
			args->MultipassOffset += count;
	}
	return status;
}

static NTSTATUS copy_page_table_entries(DXGKARG_BUILDPAGINGBUFFER *args, const UCHAR *start)
{
	const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copies = &args->CopyPageTableEntries;
	const ULONGLONG entry_bytes = sizeof(ULONGLONG);
	NTSTATUS status = STATUS_SUCCESS;

	while (NT_SUCCESS(status) && args->MultipassOffset < copies->NumRanges) {
		const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range =
			&copies->pRanges[args->MultipassOffset];

		status = emit(args, start, MINIGPU_COPY,
			      range->DstPageTableAddress + range->DstStartPteIndex * entry_bytes,
			      range->SrcPageTableAddress + range->SrcStartPteIndex * entry_bytes,
			      range->NumPageTableEntries * entry_bytes);
		if (NT_SUCCESS(status))
			args->MultipassOffset++;
	}
	return status;
}

static NTSTATUS APIENTRY build_paging_buffer(IN_CONST_HANDLE hAdapter,
					     IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
	const UCHAR *start = args->pDmaBuffer;

	PAGED_CODE();
	switch (args->Operation) {
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		return emit(args, start, MINIGPU_COPY,
			    args->TransferVirtual.DestinationVirtualAddress,
			    args->TransferVirtual.SourceVirtualAddress,
			    args->TransferVirtual.TransferSizeInBytes);
	case DXGK_OPERATION_VIRTUAL_FILL:
		return emit(args, start, MINIGPU_FILL, args->FillVirtual.DestinationVirtualAddress,
			    args->FillVirtual.FillPattern, args->FillVirtual.FillSizeInBytes);
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		return update_page_table(args, start);
	case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
		return copy_page_table_entries(args, start);
	default: /* of contents, residency and translations we keep no books */
		return STATUS_SUCCESS;
	}
}

static VOID APIENTRY set_root_page_table(IN_CONST_HANDLE hAdapter,
					 IN_CONST_PDXGKARG_SETROOTPAGETABLE args)
{
	struct context *context = args->hContext;

	context->gpu.root = args->Address.SegmentOffset;
}

/* ---- recovery ---- */

static NTSTATUS APIENTRY query_current_fence(IN_CONST_HANDLE hAdapter,
					     INOUT_PDXGKARG_QUERYCURRENTFENCE args)
{
	struct adapter *adapter = hAdapter;

	args->CurrentFence = ReadULongAcquire(&adapter->engines[args->NodeOrdinal].last_fence);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_engine_status(IN_CONST_HANDLE hAdapter,
					     INOUT_PDXGKARG_QUERYENGINESTATUS args)
{
	struct adapter *adapter = hAdapter;

	args->EngineStatus.Value = 0;
	args->EngineStatus.Responsive = !ReadAcquire(&adapter->engines[args->NodeOrdinal].is_stuck);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_dependent_engine_group(IN_CONST_HANDLE hAdapter,
						      INOUT_DXGKARG_QUERYDEPENDENTENGINEGROUP args)
{
	args->DependentNodeOrdinalMask = 1ULL << args->NodeOrdinal;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY reset_engine(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_RESETENGINE args)
{
	struct adapter *adapter = hAdapter;

	PAGED_CODE();
	args->LastAbortedFenceId = gpu_reset(&adapter->engines[args->NodeOrdinal], FALSE);
	return STATUS_SUCCESS;
}

/* Everything that was submitted counts as over. */
static NTSTATUS APIENTRY reset_from_timeout(IN_CONST_HANDLE hAdapter)
{
	struct adapter *adapter = hAdapter;

	PAGED_CODE();
	for (ULONG node = 0; node < NODES; node++) {
		struct gpu_engine *engine = &adapter->engines[node];

		gpu_reset(engine, TRUE);
		WriteULongRelease(&engine->last_fence, engine->submitted_fence);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY restart_from_timeout(IN_CONST_HANDLE hAdapter)
{
	struct adapter *adapter = hAdapter;

	PAGED_CODE();
	for (ULONG node = 0; node < NODES; node++)
		gpu_resume(&adapter->engines[node]);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY notify_surprise_removal(PVOID MiniportDeviceContext,
						 IN_DXGK_SURPRISE_REMOVAL_TYPE RemovalType)
{
	return reset_from_timeout(MiniportDeviceContext);
}

/* Any IRQL, and perhaps on the way to a bug check: numbers as they are, without a lock. */
static NTSTATUS APIENTRY collect_dbg_info(IN_CONST_HANDLE hAdapter,
					  IN_CONST_PDXGKARG_COLLECTDBGINFO args)
{
	struct adapter *adapter = hAdapter;
	ULONG *words = args->pBuffer;

	if (args->BufferSize < 3 * NODES * sizeof(*words))
		return STATUS_BUFFER_TOO_SMALL;
	for (ULONG node = 0; node < NODES; node++) {
		*words++ = ReadULongNoFence(&adapter->engines[node].submitted_fence);
		*words++ = ReadULongNoFence(&adapter->engines[node].last_fence);
		*words++ = (ULONG)ReadNoFence(&adapter->engines[node].is_stuck);
	}
	return STATUS_SUCCESS;
}

/* ---- what the adapter is ---- */

static NTSTATUS answer(const DXGKARG_QUERYADAPTERINFO *args, const VOID *bytes, SIZE_T size_bytes)
{
	if (args->OutputDataSize < size_bytes)
		return STATUS_BUFFER_TOO_SMALL;
	RtlCopyMemory(args->pOutputData, bytes, size_bytes);
	return STATUS_SUCCESS;
}

static NTSTATUS answer_driver_caps(const DXGKARG_QUERYADAPTERINFO *args)
{
	const DXGK_DRIVERCAPS caps = {
		.HighestAcceptableAddress.QuadPart = -1,
		.SchedulingCaps = { .MultiEngineAware = 1,
				    .PreemptionAware = 1,
				    .HwQueuePacketCap = GPU_QUEUE_PACKETS },
		.MemoryManagementCaps = { .VirtualAddressingSupported = 1,
					  .GpuMmuSupported = 1,
					  .PagingNode = PAGING_NODE },
		.GpuEngineTopology.NbAsymetricProcessingNodes = NODES,
		.WDDMVersion = DXGKDDI_WDDMv2_6,
		.PreemptionCaps.GraphicsPreemptionGranularity =
			D3DKMDT_GRAPHICS_PREEMPTION_PRIMITIVE_BOUNDARY,
		.PreemptionCaps.ComputePreemptionGranularity =
			D3DKMDT_COMPUTE_PREEMPTION_DISPATCH_BOUNDARY,
		.SupportNonVGA = TRUE,
		.SupportPerEngineTDR = TRUE,
		.SupportSurpriseRemoval = TRUE,
	};

	return answer(args, &caps, sizeof(caps));
}

/* Asked twice: how many, and then which. */
static NTSTATUS answer_segments(const struct adapter *adapter, const DXGKARG_QUERYADAPTERINFO *args)
{
	DXGK_QUERYSEGMENTOUT4 *out = args->pOutputData;

	if (args->OutputDataSize < sizeof(*out))
		return STATUS_BUFFER_TOO_SMALL;
	if (out->pSegmentDescriptor)
		*(DXGK_SEGMENTDESCRIPTOR4 *)out->pSegmentDescriptor = (DXGK_SEGMENTDESCRIPTOR4){
			.Flags = { .CpuVisible = 1, .ApplicationTarget = 1, .LocalBudgetGroup = 1 },
			.Size = GPU_MEMORY_BYTES,
			.CommitLimit = GPU_MEMORY_BYTES,
			.CpuTranslatedAddress = MmGetPhysicalAddress(adapter->memory),
		};
	out->NbSegment = 1;
	out->PagingBufferSegmentId = 0; /* system memory */
	out->PagingBufferSize = PAGING_BUFFER_BYTES;
	out->PagingBufferPrivateDataSize = 0;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY query_adapter_info(IN_CONST_HANDLE hAdapter,
					    IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	const DXGK_GPUMMUCAPS mmu = {
		.ReadOnlyMemorySupported = 1,
		.InvalidTlbEntriesNotCached = 1,
		.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL,
		.VirtualAddressBitCount = GPU_ADDRESS_BITS,
		.PageTableLevelCount = GPU_TABLE_LEVELS,
	};
	const DXGK_PAGE_TABLE_LEVEL_DESC level = {
		.PageTableIndexBitCount = GPU_INDEX_BITS,
		.PageTableSegmentId = GPU_LOCAL_SEGMENT,
		.PagingProcessPageTableSegmentId = GPU_LOCAL_SEGMENT,
		.PageTableSizeInBytes = PAGE_SIZE,
		.PageTableAlignmentInBytes = PAGE_SIZE,
	};

	PAGED_CODE();
	switch (args->Type) {
	case DXGKQAITYPE_DRIVERCAPS:
		return answer_driver_caps(args);
	case DXGKQAITYPE_QUERYSEGMENT4:
		return answer_segments(hAdapter, args);
	case DXGKQAITYPE_GPUMMUCAPS:
		return answer(args, &mmu, sizeof(mmu));
	case DXGKQAITYPE_PAGETABLELEVELDESC:
		return answer(args, &level, sizeof(level));
	default:
		return STATUS_NOT_SUPPORTED;
	}
}

static NTSTATUS APIENTRY get_node_metadata(IN_CONST_HANDLE hAdapter, UINT NodeOrdinal,
					   OUT_PDXGKARG_GETNODEMETADATA args)
{
	const DXGKARG_GETNODEMETADATA nodes[NODES] = {
		{ .EngineType = DXGK_ENGINE_TYPE_3D,
		  .FriendlyName = L"Mini",
		  .GpuMmuSupported = TRUE },
		{ .EngineType = DXGK_ENGINE_TYPE_COPY,
		  .FriendlyName = L"Paging",
		  .GpuMmuSupported = TRUE },
	};

	PAGED_CODE();
	if (NodeOrdinal >= NODES)
		return STATUS_INVALID_PARAMETER;
	*args = nodes[NodeOrdinal];
	return STATUS_SUCCESS;
}

/* The buffer is a client's: it may change, or go away, while we look. */
static NTSTATUS APIENTRY escape(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_ESCAPE args)
{
	struct adapter *adapter = hAdapter;
	struct minigpu_escape copy;

	PAGED_CODE();
	if (args->PrivateDriverDataSize != sizeof(copy))
		return STATUS_INVALID_PARAMETER;
	__try {
		RtlCopyMemory(&copy, args->pPrivateDriverData, sizeof(copy));
		if (copy.magic != MINIGPU_MAGIC || copy.node >= NODES)
			return STATUS_INVALID_PARAMETER;
		copy.completed = (ULONGLONG)ReadAcquire64(&adapter->completed[copy.node]);
		RtlCopyMemory(args->pPrivateDriverData, &copy, sizeof(copy));
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		return STATUS_INVALID_USER_BUFFER;
	}
	return STATUS_SUCCESS;
}

/* ---- our side of the kernel's objects ---- */

static HANDLE object_create(HANDLE parent)
{
	struct object *object = ExAllocatePool2(POOL_FLAG_PAGED, sizeof(*object), TAG);

	if (object)
		object->parent = parent;
	return object;
}

static NTSTATUS APIENTRY object_destroy(IN_CONST_HANDLE handle)
{
	PAGED_CODE();
	ExFreePoolWithTag(handle, TAG);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY create_device(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
	PAGED_CODE();
	args->hDevice = object_create(hAdapter);
	return args->hDevice ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS APIENTRY create_context(IN_CONST_HANDLE hDevice, INOUT_PDXGKARG_CREATECONTEXT args)
{
	PAGED_CODE();
	if (args->NodeOrdinal >= NODES || !args->Flags.VirtualAddressing)
		return STATUS_INVALID_PARAMETER;
	struct context *context = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(*context), TAG);
	if (!context)
		return STATUS_NO_MEMORY;
	context->node = args->NodeOrdinal;
	context->gpu.root = MAXULONGLONG; /* nowhere, until SetRootPageTable */
	args->hContext = context;
	args->ContextInfo = (DXGK_CONTEXTINFO){
		.Caps = { .NoPatchingRequired = 1, .DriverManagesResidency = 1 },
		.PagingCompanionNodeId = PAGING_NODE,
	};
	return STATUS_SUCCESS;
}

static NTSTATUS allocation_create(HANDLE hAdapter, DXGK_ALLOCATIONINFO *info)
{
	const struct minigpu_allocation *wish = info->pPrivateDriverData;
	const UINT local = 1 << (GPU_LOCAL_SEGMENT - 1), system = 1 << (SYSTEM_SEGMENT - 1);

	if (info->PrivateDriverDataSize != sizeof(*wish) || wish->magic != MINIGPU_MAGIC ||
	    (wish->flags & ~MINIGPU_FLAGS) || wish->size_bytes == 0 ||
	    wish->size_bytes > MINIGPU_MAX_BYTES)
		return STATUS_INVALID_PARAMETER;
	UINT segments = (wish->flags & MINIGPU_SYSTEM ? 0 : local) |
			(wish->flags & MINIGPU_LOCAL ? 0 : system);
	if (segments == 0)
		return STATUS_INVALID_PARAMETER;
	HANDLE allocation = object_create(hAdapter);
	if (!allocation)
		return STATUS_NO_MEMORY;
	*info = (DXGK_ALLOCATIONINFO){
		.pPrivateDriverData = info->pPrivateDriverData,
		.PrivateDriverDataSize = info->PrivateDriverDataSize,
		.Alignment = PAGE_SIZE,
		.Size = ROUND_TO_PAGES(wish->size_bytes),
		.PreferredSegment.SegmentId0 =
			segments & local ? GPU_LOCAL_SEGMENT : SYSTEM_SEGMENT,
		.SupportedReadSegmentSet = segments,
		.SupportedWriteSegmentSet = segments,
		.hAllocation = allocation,
		.FlagsWddm2.CpuVisible = (wish->flags & MINIGPU_CPU_VISIBLE) != 0,
		.AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL,
	};
	return STATUS_SUCCESS;
}

/* All or none. */
static NTSTATUS APIENTRY create_allocation(IN_CONST_HANDLE hAdapter,
					   INOUT_PDXGKARG_CREATEALLOCATION args)
{
	NTSTATUS status = STATUS_SUCCESS;
	UINT made = 0;

	PAGED_CODE();
	for (; made < args->NumAllocations; made++) {
		status = allocation_create(hAdapter, &args->pAllocationInfo[made]);
		if (!NT_SUCCESS(status))
			break;
	}
	while (!NT_SUCCESS(status) && made-- > 0)
		object_destroy(args->pAllocationInfo[made].hAllocation);
	return status;
}

static NTSTATUS APIENTRY destroy_allocation(IN_CONST_HANDLE hAdapter,
					    IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
	PAGED_CODE();
	for (UINT i = 0; i < args->NumAllocations; i++)
		object_destroy(args->pAllocationList[i]);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY open_allocation(IN_CONST_HANDLE hDevice,
					 IN_CONST_PDXGKARG_OPENALLOCATION args)
{
	UINT made = 0;

	PAGED_CODE();
	for (; made < args->NumAllocations; made++) {
		args->pOpenAllocation[made].hDeviceSpecificAllocation = object_create(hDevice);
		if (!args->pOpenAllocation[made].hDeviceSpecificAllocation)
			break;
	}
	if (made == args->NumAllocations)
		return STATUS_SUCCESS;
	while (made-- > 0)
		object_destroy(args->pOpenAllocation[made].hDeviceSpecificAllocation);
	return STATUS_NO_MEMORY;
}

static NTSTATUS APIENTRY close_allocation(IN_CONST_HANDLE hDevice,
					  IN_CONST_PDXGKARG_CLOSEALLOCATION args)
{
	PAGED_CODE();
	for (UINT i = 0; i < args->NumAllocations; i++)
		object_destroy(args->pOpenHandleList[i]);
	return STATUS_SUCCESS;
}

/* Surfaces that the system asks for are allocations like a client's, in memory that it can reach. */
static NTSTATUS APIENTRY get_standard_allocation_driver_data(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args)
{
	const UINT pixel_bytes = 4;

	PAGED_CODE();
	if (args->StandardAllocationType != D3DKMDT_STANDARDALLOCATION_GDISURFACE)
		return STATUS_NOT_SUPPORTED;
	D3DKMDT_GDISURFACEDATA *surface = args->pCreateGdiSurfaceData;
	ULONGLONG pitch = (ULONGLONG)surface->Width *
			  (surface->Format == D3DDDIFMT_UNKNOWN ? 1 : pixel_bytes);
	const struct minigpu_allocation wish = { MINIGPU_MAGIC,
						 MINIGPU_SYSTEM | MINIGPU_CPU_VISIBLE,
						 pitch * surface->Height };

	if (args->pAllocationPrivateDriverData) {
		RtlCopyMemory(args->pAllocationPrivateDriverData, &wish, sizeof(wish));
		surface->Pitch = (UINT)pitch;
	}
	args->AllocationPrivateDriverDataSize = sizeof(wish);
	args->ResourcePrivateDriverDataSize = 0;
	return STATUS_SUCCESS;
}

/* ---- life ---- */

static NTSTATUS APIENTRY add_device(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
				    OUT_PPVOID MiniportDeviceContext)
{
	PAGED_CODE();
	*MiniportDeviceContext = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(struct adapter), TAG);
	return *MiniportDeviceContext ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS APIENTRY remove_device(IN_CONST_PVOID MiniportDeviceContext)
{
	return object_destroy(MiniportDeviceContext);
}

/* Also of one that started in part. */
static NTSTATUS APIENTRY stop_device(IN_CONST_PVOID MiniportDeviceContext)
{
	struct adapter *adapter = MiniportDeviceContext;

	PAGED_CODE();
	for (ULONG node = 0; node < NODES; node++)
		gpu_stop(&adapter->engines[node]);
	if (adapter->memory)
		MmFreeContiguousMemory(adapter->memory);
	RtlZeroMemory(adapter, sizeof(*adapter));
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY start_device(IN_CONST_PVOID MiniportDeviceContext,
				      IN_PDXGK_START_INFO DxgkStartInfo,
				      IN_PDXGKRNL_INTERFACE DxgkInterface,
				      OUT_PULONG NumberOfVideoPresentSources,
				      OUT_PULONG NumberOfChildren)
{
	const PHYSICAL_ADDRESS anywhere = { .QuadPart = -1 };
	struct adapter *adapter = MiniportDeviceContext;

	PAGED_CODE();
	*NumberOfVideoPresentSources = 0;
	*NumberOfChildren = 0;
	adapter->dxgk = *DxgkInterface;
	adapter->memory = MmAllocateContiguousMemory(GPU_MEMORY_BYTES, anywhere);
	NTSTATUS status = adapter->memory ? STATUS_SUCCESS : STATUS_NO_MEMORY;
	for (ULONG node = 0; NT_SUCCESS(status) && node < NODES; node++) {
		struct gpu_engine *engine = &adapter->engines[node];

		*engine = (struct gpu_engine){ .memory = adapter->memory,
					       .interrupt = interrupted,
					       .owner = adapter,
					       .node = node };
		status = gpu_start(engine);
	}
	if (!NT_SUCCESS(status))
		stop_device(adapter);
	return status;
}

/* The memory needs no power to keep what it holds, and engines without work need none either. */
static NTSTATUS APIENTRY set_power_state(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG DeviceUid,
					 IN_DEVICE_POWER_STATE PowerState,
					 IN_POWER_ACTION ActionType)
{
	PAGED_CODE();
	return DeviceUid == DISPLAY_ADAPTER_HW_ID ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

/* DriverEntry keeps nothing. */
static VOID APIENTRY unload(VOID)
{
	PAGED_CODE();
}

DRIVER_INITIALIZE DriverEntry;

DECLSPEC_EXPORT NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT DriverObject,
					   PUNICODE_STRING RegistryPath)
{
	DRIVER_INITIALIZATION_DATA data = {
		.Version = DXGKDDI_INTERFACE_VERSION_WDDM2_6,
		.DxgkDdiAddDevice = add_device,
		.DxgkDdiStartDevice = start_device,
		.DxgkDdiStopDevice = stop_device,
		.DxgkDdiRemoveDevice = remove_device,
		.DxgkDdiUnload = unload,
		.DxgkDdiSetPowerState = set_power_state,
		.DxgkDdiNotifySurpriseRemoval = notify_surprise_removal,
		.DxgkDdiQueryAdapterInfo = query_adapter_info,
		.DxgkDdiGetNodeMetadata = get_node_metadata,
		.DxgkDdiEscape = escape,
		.DxgkDdiCreateDevice = create_device,
		.DxgkDdiDestroyDevice = object_destroy,
		.DxgkDdiCreateContext = create_context,
		.DxgkDdiDestroyContext = object_destroy,
		.DxgkDdiCreateAllocation = create_allocation,
		.DxgkDdiDestroyAllocation = destroy_allocation,
		.DxgkDdiOpenAllocation = open_allocation,
		.DxgkDdiCloseAllocation = close_allocation,
		.DxgkDdiGetStandardAllocationDriverData = get_standard_allocation_driver_data,
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
		.DxgkDdiCollectDbgInfo = collect_dbg_info,
	};

	PAGED_CODE();
	return DxgkInitialize(DriverObject, RegistryPath, &data);
}
