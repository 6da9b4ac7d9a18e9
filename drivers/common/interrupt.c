/* SPDX-License-Identifier: MIT */
/*
 * interrupt.c - telling the kernel what the engines did.
 *
 *	engine thread, PASSIVE ──SynchronizeExecution──▶ DIRQL: NotifyInterrupt, QueueDpc
 *	                                                  └▶ DISPATCH: DpcRoutine, NotifyDpc
 *
 * There is no interrupt line: an engine raises itself to interrupt level. What is reported travels
 * on the stack of the engine's thread, so engines do not have to share a place for it.
 */
#include "gpu.h"

struct notice {
	const DXGKRNL_INTERFACE *dxgk;
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data;
};

/* DIRQL, one at a time. */
static BOOLEAN NTAPI notify_at_interrupt_level(PVOID context)
{
	struct notice *notice = (struct notice *)context;

	notice->dxgk->DxgkCbNotifyInterrupt(notice->dxgk->DeviceHandle, &notice->data);
	notice->dxgk->DxgkCbQueueDpc(notice->dxgk->DeviceHandle);
	return TRUE;
}

static void notify(struct gpu_engine *engine, struct notice *notice)
{
	BOOLEAN result = FALSE;

	notice->dxgk = &engine->adapter->dxgk;
	NTSTATUS status = notice->dxgk->DxgkCbSynchronizeExecution(
		notice->dxgk->DeviceHandle, notify_at_interrupt_level, notice, 0, &result);
	if (!NT_SUCCESS(status))
		DbgPrint(GPU_DRIVER ": node %u cannot interrupt: 0x%08x\n", engine->node, status);
}

/* This one, and all before it. */
void gpu_notify_completed(struct gpu_engine *engine, ULONG fence)
{
	struct notice notice = { .data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED };

	notice.data.DmaCompleted.SubmissionFenceId = fence;
	notice.data.DmaCompleted.NodeOrdinal = engine->node;
	notify(engine, &notice);
}

/* Which one it was the kernel finds out by looking. */
void gpu_notify_fence_written(struct gpu_engine *engine)
{
	struct notice notice = { .data.InterruptType = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED };

	notice.data.MonitoredFenceSignaled.NodeOrdinal = engine->node;
	notify(engine, &notice);
}

void gpu_notify_preempted(struct gpu_engine *engine, ULONG preemption_fence,
			  ULONG last_completed_fence)
{
	struct notice notice = { .data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED };

	notice.data.DmaPreempted.PreemptionFenceId = preemption_fence;
	notice.data.DmaPreempted.LastCompletedFenceId = last_completed_fence;
	notice.data.DmaPreempted.NodeOrdinal = engine->node;
	notify(engine, &notice);
}

/*
 * For a hardware queue that cannot read its commands there is no type: like one that hangs, it asks
 * for a reset.
 */
static void fill_hw_fault(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data, const struct gpu_engine *engine,
			  const struct gpu_packet *packet, const struct gpu_fault *fault)
{
	ULONG flags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;

	if (!fault->is_page_fault) {
		data->InterruptType = DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT;
		data->GpuEngineTimeout.NodeOrdinal = engine->node;
		return;
	}
	if (fault->is_write)
		flags |= DXGK_PAGE_FAULT_WRITE;
	data->InterruptType = DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED;
	data->HwQueuePageFaulted.FaultedFenceId = packet->progress;
	data->HwQueuePageFaulted.FaultedVirtualAddress = fault->address;
	data->HwQueuePageFaulted.FaultedHwQueue = engine->hw_queue;
	data->HwQueuePageFaulted.NodeOrdinal = engine->node;
	data->HwQueuePageFaulted.PageFaultFlags = (DXGK_PAGE_FAULT_FLAGS)flags;
	data->HwQueuePageFaulted.PageTableLevel = fault->level;
}

/* The engine stands still from here on, until it is reset. */
void gpu_notify_faulted(struct gpu_engine *engine, const struct gpu_packet *packet,
			const struct gpu_fault *fault)
{
	struct notice notice = { 0 };

	if (engine->hw_queue) {
		fill_hw_fault(&notice.data, engine, packet, fault);
	} else if (fault->is_page_fault) {
		ULONG flags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;

		if (fault->is_write)
			flags |= DXGK_PAGE_FAULT_WRITE;
		if (packet->context && packet->context->device->process) {
			flags |= DXGK_PAGE_FAULT_PROCESS_HANDLE_VALID;
			notice.data.DmaPageFaulted.FaultedProcessHandle =
				packet->context->device->process->kernel_process;
		}
		notice.data.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
		notice.data.DmaPageFaulted.FaultedFenceId = packet->fence;
		notice.data.DmaPageFaulted.PageFaultFlags = (DXGK_PAGE_FAULT_FLAGS)flags;
		notice.data.DmaPageFaulted.FaultedVirtualAddress = fault->address;
		notice.data.DmaPageFaulted.NodeOrdinal = engine->node;
		notice.data.DmaPageFaulted.PageTableLevel = fault->level;
	} else {
		notice.data.InterruptType = DXGK_INTERRUPT_DMA_FAULTED;
		notice.data.DmaFaulted.FaultedFenceId = packet->fence;
		notice.data.DmaFaulted.Status = fault->status;
		notice.data.DmaFaulted.NodeOrdinal = engine->node;
	}
	InterlockedIncrement64(&engine->adapter->packets_faulted);
	notify(engine, &notice);
}

/* DIRQL. No line, so an interrupt on it is somebody else's. */
BOOLEAN APIENTRY gpu_interrupt_routine(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG MessageNumber)
{
	return FALSE;
}

/* DISPATCH_LEVEL. */
VOID APIENTRY gpu_dpc_routine(IN_CONST_PVOID MiniportDeviceContext)
{
	struct gpu_adapter *adapter = gpu_adapter_from(MiniportDeviceContext);

	if (adapter)
		adapter->dxgk.DxgkCbNotifyDpc(adapter->dxgk.DeviceHandle);
}
