/* SPDX-License-Identifier: MIT */
/*
 * crank.c - what was submitted, until it is done (recorder.h).
 *
 * The state is touched only in routines given to DxgkCbSynchronizeExecution, as a driver's is.
 */
#include "driver.h"

enum { NODES = 4, QUEUED = 64 };

struct queue {
	ULONG fences[QUEUED]; /* the oldest first */
	ULONG bytes[QUEUED];  /* how long each is: by that a test knows it again */
	ULONG count;
	ULONG last_completed;
	ULONG last_submitted;
	ULONG preemption; /* that was asked for and not answered, or 0 */
};

struct crank {
	BOOLEAN is_by_hand;
	volatile LONG pages_at_once;
	BOOLEAN holds_preemption;
	NTSTATUS submit_status;
	LONG submit_fail_at;
	LONG submissions;
	struct queue queues[NODES];
};

NTSTATUS crank_create(struct adapter *adapter)
{
	struct crank *crank = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*crank), RECORDER_TAG);
	SIZE_T saved_bytes = RECORDER_ENTRIES * sizeof(*adapter->saved);

	adapter->crank = crank;
	adapter->saved = ExAllocatePoolWithTag(NonPagedPoolNx, saved_bytes, RECORDER_TAG);
	if (!crank || !adapter->saved) {
		crank_destroy(adapter);
		return STATUS_NO_MEMORY;
	}
	RtlZeroMemory(adapter->saved, saved_bytes);
	RtlZeroMemory(crank, sizeof(*crank));
	/* Read now: the registry cannot be asked where work is submitted. */
	crank->is_by_hand = setting("HandCranked", 0) != 0;
	crank->pages_at_once = setting("PagingAtOnce", 0) != 0;
	crank->holds_preemption = setting("HoldPreemption", 0) != 0;
	crank->submit_status = (NTSTATUS)setting("SubmitStatus", 0);
	crank->submit_fail_at = (LONG)setting("SubmitFailAt", 1);
	return STATUS_SUCCESS;
}

void crank_destroy(struct adapter *adapter)
{
	if (adapter->crank)
		ExFreePoolWithTag(adapter->crank, RECORDER_TAG);
	if (adapter->saved)
		ExFreePoolWithTag(adapter->saved, RECORDER_TAG);
	adapter->crank = NULL;
	adapter->saved = NULL;
}

void fill_interrupt(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data, const struct recorder_escape *escape)
{
	RtlZeroMemory(data, sizeof(*data));
	data->InterruptType = (DXGK_INTERRUPT_TYPE)escape->type;
	switch (escape->type) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		data->DmaCompleted.NodeOrdinal = escape->node;
		data->DmaCompleted.EngineOrdinal = escape->engine;
		data->DmaCompleted.SubmissionFenceId = escape->fence;
		break;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		data->DmaPreempted.NodeOrdinal = escape->node;
		data->DmaPreempted.EngineOrdinal = escape->engine;
		data->DmaPreempted.PreemptionFenceId = escape->fence;
		data->DmaPreempted.LastCompletedFenceId = escape->last;
		break;
	case DXGK_INTERRUPT_DMA_FAULTED:
		data->DmaFaulted.NodeOrdinal = escape->node;
		data->DmaFaulted.EngineOrdinal = escape->engine;
		data->DmaFaulted.FaultedFenceId = escape->fence;
		data->DmaFaulted.Status = escape->status;
		break;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		data->DmaPageFaulted.NodeOrdinal = escape->node;
		data->DmaPageFaulted.EngineOrdinal = escape->engine;
		data->DmaPageFaulted.FaultedFenceId = escape->fence;
		data->DmaPageFaulted.PageFaultFlags = (DXGK_PAGE_FAULT_FLAGS)escape->flags;
		data->DmaPageFaulted.FaultedVirtualAddress = escape->address;
		data->DmaPageFaulted.PageTableLevel = escape->level;
		data->DmaPageFaulted.FaultErrorCode.DeviceSpecificCode = escape->error_code;
		data->DmaPageFaulted.FaultErrorCode.IsDeviceSpecificCode = 1;
		data->DmaPageFaulted.FaultedProcessHandle = (HANDLE)(ULONG_PTR)escape->object;
		break;
	case DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED:
		data->HwQueuePageFaulted.NodeOrdinal = escape->node;
		data->HwQueuePageFaulted.EngineOrdinal = escape->engine;
		data->HwQueuePageFaulted.FaultedFenceId = escape->wide_fence;
		data->HwQueuePageFaulted.PageFaultFlags = (DXGK_PAGE_FAULT_FLAGS)escape->flags;
		data->HwQueuePageFaulted.FaultedVirtualAddress = escape->address;
		data->HwQueuePageFaulted.PageTableLevel = escape->level;
		data->HwQueuePageFaulted.FaultErrorCode.DeviceSpecificCode = escape->error_code;
		data->HwQueuePageFaulted.FaultedHwQueue = (HANDLE)(ULONG_PTR)escape->object;
		break;
	case DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED:
		data->MonitoredFenceSignaled.NodeOrdinal = escape->node;
		data->MonitoredFenceSignaled.EngineOrdinal = escape->engine;
		break;
	case DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT:
		data->GpuEngineTimeout.NodeOrdinal = escape->node;
		data->GpuEngineTimeout.EngineOrdinal = escape->engine;
		break;
	case DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED:
		data->SuspendContextCompleted.hContext = (HANDLE)(ULONG_PTR)escape->object;
		data->SuspendContextCompleted.ContextSuspendFence = escape->wide_fence;
		break;
	default:
		break;
	}
}

/* ---- at the level of the device ---- */

struct turn {
	struct adapter *adapter;
	struct queue *queue;
	struct recorder_escape *escape;
	ULONG node;
	ULONG fence;
	ULONG result;
	ULONG bytes;
};

static void report(struct turn *turn, const struct recorder_escape *escape)
{
	DXGKRNL_INTERFACE *os = &turn->adapter->interface;
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

	fill_interrupt(&data, escape);
	os->DxgkCbNotifyInterrupt(os->DeviceHandle, &data);
	os->DxgkCbQueueDpc(os->DeviceHandle);
}

static void report_completion(struct turn *turn, ULONG fence)
{
	struct recorder_escape escape = { 0 };

	escape.type = DXGK_INTERRUPT_DMA_COMPLETED;
	escape.node = turn->node;
	escape.fence = fence;
	turn->queue->last_completed = fence;
	report(turn, &escape);
}

static void report_preemption(struct turn *turn)
{
	struct recorder_escape escape = { 0 };

	escape.type = DXGK_INTERRUPT_DMA_PREEMPTED;
	escape.node = turn->node;
	escape.fence = turn->queue->preemption;
	escape.last = turn->queue->last_completed;
	turn->result = turn->queue->preemption;
	turn->queue->preemption = 0;
	turn->queue->count = 0;
	report(turn, &escape);
}

static void drop_oldest(struct queue *queue, ULONG count)
{
	RtlMoveMemory(queue->fences, queue->fences + count,
		      (queue->count - count) * sizeof(queue->fences[0]));
	RtlMoveMemory(queue->bytes, queue->bytes + count,
		      (queue->count - count) * sizeof(queue->bytes[0]));
	queue->count -= count;
}

static BOOLEAN NTAPI do_submit(PVOID context)
{
	struct turn *turn = context;
	struct queue *queue = turn->queue;

	queue->last_submitted = turn->fence;
	if (queue->count < QUEUED) {
		queue->bytes[queue->count] = turn->bytes;
		queue->fences[queue->count++] = turn->fence;
	} else {
		complain("more submissions than the hardware can hold");
	}
	return TRUE;
}

static BOOLEAN NTAPI do_at_once(PVOID context)
{
	struct turn *turn = context;

	turn->queue->last_submitted = turn->fence;
	report_completion(turn, turn->fence);
	return TRUE;
}

static BOOLEAN NTAPI do_complete(PVOID context)
{
	struct turn *turn = context;
	struct queue *queue = turn->queue;
	ULONG count = queue->count != 0;

	if (turn->fence != 0) {
		for (count = 0; count < queue->count && queue->fences[count] <= turn->fence;)
			count++;
	}
	if (count == 0)
		return FALSE;
	turn->result = queue->fences[count - 1];
	turn->escape->values[0] = queue->bytes[count - 1];
	drop_oldest(queue, count);
	report_completion(turn, turn->result);
	return TRUE;
}

/* All of the node stops; what is behind the one that faulted is lost in the hardware as well. */
static BOOLEAN NTAPI do_fault(PVOID context)
{
	struct turn *turn = context;
	struct queue *queue = turn->queue;
	struct recorder_escape escape = *turn->escape;

	if (queue->count == 0)
		return FALSE;
	turn->result = queue->fences[0];
	escape.fence = turn->result;
	if (escape.type != DXGK_INTERRUPT_DMA_PAGE_FAULTED ||
	    !(escape.flags & DXGK_PAGE_FAULT_FENCE_INVALID)) {
		queue->last_completed = turn->result;
		queue->count = 0;
	}
	report(turn, &escape);
	return TRUE;
}

static BOOLEAN NTAPI do_ask_preemption(PVOID context)
{
	struct turn *turn = context;

	if (turn->queue->preemption)
		complain("a preemption while another is not answered");
	turn->queue->preemption = turn->fence;
	if (!turn->adapter->crank->holds_preemption)
		report_preemption(turn);
	return TRUE;
}

static BOOLEAN NTAPI do_preempt(PVOID context)
{
	struct turn *turn = context;

	if (turn->queue->preemption)
		report_preemption(turn);
	return TRUE;
}

static BOOLEAN NTAPI do_pending(PVOID context)
{
	struct turn *turn = context;
	struct queue *queue = turn->queue;

	turn->result = queue->count;
	turn->escape->fence = queue->count ? queue->fences[0] : 0;
	turn->escape->last = queue->count ? queue->fences[queue->count - 1] : 0;
	for (ULONG i = 0; i < 8; i++)
		turn->escape->values[i] = i < queue->count ? queue->bytes[i] : 0;
	return TRUE;
}

static BOOLEAN NTAPI do_current(PVOID context)
{
	struct turn *turn = context;

	turn->result = turn->queue->last_completed;
	return TRUE;
}

static BOOLEAN NTAPI do_reset(PVOID context)
{
	struct turn *turn = context;
	struct queue *queue = turn->queue;

	turn->result = queue->count ? queue->fences[0] : queue->last_completed;
	queue->last_completed = turn->result;
	queue->count = 0;
	queue->preemption = 0;
	return TRUE;
}

static BOOLEAN NTAPI do_reset_adapter(PVOID context)
{
	struct turn *turn = context;
	struct queue *queue = turn->queue;

	queue->last_completed = queue->last_submitted;
	queue->count = 0;
	queue->preemption = 0;
	return TRUE;
}

/* ---- above it ---- */

static ULONG take_turn(struct adapter *adapter, PKSYNCHRONIZE_ROUTINE routine, ULONG node,
		       ULONG fence, ULONG bytes, struct recorder_escape *escape)
{
	struct turn turn = { adapter, NULL, escape, node, fence, 0, bytes };
	BOOLEAN result;

	if (node >= NODES) {
		complain("a node that does not exist");
		return 0;
	}
	turn.queue = &adapter->crank->queues[node];
	adapter->interface.DxgkCbSynchronizeExecution(adapter->interface.DeviceHandle, routine,
						      &turn, 0, &result);
	return turn.result;
}

NTSTATUS crank_submit(struct adapter *adapter, ULONG node, ULONG fence, ULONG bytes,
		      BOOLEAN is_paging)
{
	struct crank *crank = adapter->crank;
	BOOLEAN is_at_once =
		!crank->is_by_hand ||
		(is_paging && InterlockedCompareExchange(&crank->pages_at_once, 0, 0) != 0);

	if (crank->submit_status != STATUS_SUCCESS &&
	    InterlockedIncrement(&crank->submissions) == crank->submit_fail_at)
		return crank->submit_status;
	take_turn(adapter, is_at_once ? do_at_once : do_submit, node, fence, bytes, NULL);
	return STATUS_SUCCESS;
}

void crank_preempt(struct adapter *adapter, ULONG node, ULONG preemption_fence)
{
	take_turn(adapter, do_ask_preemption, node, preemption_fence, 0, NULL);
}

ULONG crank_current_fence(struct adapter *adapter, ULONG node)
{
	return take_turn(adapter, do_current, node, 0, 0, NULL);
}

ULONG crank_reset(struct adapter *adapter, ULONG node)
{
	return take_turn(adapter, do_reset, node, 0, 0, NULL);
}

void crank_reset_all(struct adapter *adapter)
{
	for (ULONG node = 0; node < NODES; node++)
		take_turn(adapter, do_reset_adapter, node, 0, 0, NULL);
}

BOOLEAN crank_command(struct adapter *adapter, struct recorder_escape *escape)
{
	PKSYNCHRONIZE_ROUTINE routine;

	switch (escape->command) {
	case RECORDER_PENDING:
		routine = do_pending;
		break;
	case RECORDER_COMPLETE:
		routine = do_complete;
		break;
	case RECORDER_FAULT:
		routine = do_fault;
		break;
	case RECORDER_PREEMPT:
		routine = do_preempt;
		break;
	case RECORDER_HOLD_PAGING:
		InterlockedExchange(&adapter->crank->pages_at_once, escape->flags == 0);
		return TRUE;
	default:
		return FALSE;
	}
	escape->result = take_turn(adapter, routine, escape->node, escape->fence, 0, escape);
	return TRUE;
}
