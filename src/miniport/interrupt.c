/* SPDX-License-Identifier: MIT */
/*
 * interrupt.c - how a driver says that work is done.
 *
 *   driver thread   DxgkCbSynchronizeExecution   the device's IRQL, interrupt.lock held
 *                     DxgkCbNotifyInterrupt      what happened is written down, nothing more
 *                     DxgkCbQueueDpc
 *   the same, or    DxgkDdiDpcRoutine            DISPATCH_LEVEL
 *   the DPC thread    DxgkCbNotifyDpc            what was written down goes to the listener
 *
 * A thread of the driver's own that interrupted runs the DPC itself when its level falls again, as
 * a processor does: waking another thread for it would take longer than what it has to do. A thread
 * that is in an entry point has our locks, and leaves it to the DPC thread.
 *
 * There is no hardware here that interrupts: drivers raise themselves to interrupt level, as
 * software-only ones do on Windows, and DxgkDdiInterruptRoutine is never needed.
 *
 * Fence ids only grow, and one means all before it, so a completion of what is next on its node
 * replaces the one before, as does one look at the fences another. One that does not grow is not
 * written down, and the driver is told. What cannot be merged is bounded by what a driver may have
 * outstanding; a driver that says more than fits has lost count and is told so.
 */
#include <assert.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/dpc.h"
#include "nt/report.h"
#include "nt/visit.h"

static VOID NTAPI run_dpc_routine(KDPC *dpc, PVOID context, PVOID argument1, PVOID argument2)
{
	struct miniport *miniport = context;
	struct ddi_crossing crossing;

	if (!atomic_load(&miniport->interrupt.is_connected))
		return;
	ddi_enter(&crossing, miniport, NULL, DDI_DPC_ROUTINE);
	miniport->ddi.DxgkDdiDpcRoutine(miniport->context);
	ddi_leave_void(&crossing);
}

void interrupt_init(struct miniport *miniport)
{
	struct interrupt *interrupt = &miniport->interrupt;

	lock_init(&interrupt->lock, LOCK_RANK_INTERRUPT, "interrupt");
	lock_init(&interrupt->records_lock, LOCK_RANK_LEAF, "interrupt records");
	KeInitializeDpc(&interrupt->dpc, run_dpc_routine, miniport);
}

void interrupt_finish(struct miniport *miniport)
{
	lock_finish(&miniport->interrupt.records_lock);
	lock_finish(&miniport->interrupt.lock);
}

void interrupt_connect(struct miniport *miniport)
{
	atomic_store(&miniport->interrupt.is_connected, true);
}

void interrupt_disconnect(struct miniport *miniport)
{
	struct interrupt *interrupt = &miniport->interrupt;

	atomic_store(&interrupt->is_connected, false);
	KeRemoveQueueDpc(&interrupt->dpc);
	nt_dpc_flush();

	lock_acquire(&interrupt->records_lock);
	interrupt->count = 0;
	interrupt->delivered_serial = interrupt->newest_serial;
	lock_release(&interrupt->records_lock);
}

/* Of a thread that will run the DPC itself. */
static _Thread_local struct {
	struct miniport *miniport; /* NULL: it will not */
	bool is_wanted;
} dpc_here;

bool interrupt_queue_dpc(struct miniport *miniport)
{
	if (!atomic_load(&miniport->interrupt.is_connected))
		return false;
	if (dpc_here.miniport == miniport) {
		bool is_new = !dpc_here.is_wanted;

		dpc_here.is_wanted = true;
		return is_new;
	}
	return KeInsertQueueDpc(&miniport->interrupt.dpc, NULL, NULL);
}

NTSTATUS interrupt_synchronize(struct miniport *miniport, PKSYNCHRONIZE_ROUTINE routine,
			       PVOID context, BOOLEAN *result_out)
{
	struct interrupt *interrupt = &miniport->interrupt;
	struct nt_visit visit;
	struct nt_irql irql;

	if (!atomic_load(&interrupt->is_connected))
		return STATUS_UNSUCCESSFUL;

	if (nt_irql_current() < DISPATCH_LEVEL && !ddi_is_inside())
		dpc_here.miniport = miniport;
	lock_acquire(&interrupt->lock);
	nt_visit_begin(&visit, "the routine given to DxgkCbSynchronizeExecution",
		       (const void *)routine);
	nt_irql_enter(&irql, DDI_DEVICE_IRQL);
	*result_out = routine(context);
	nt_irql_leave(&irql, "The routine given to DxgkCbSynchronizeExecution");
	nt_visit_end(&visit);
	lock_release(&interrupt->lock);

	bool runs_dpc = dpc_here.is_wanted;
	dpc_here.miniport = NULL;
	dpc_here.is_wanted = false;
	if (runs_dpc)
		nt_dpc_run_or_insert(&interrupt->dpc);
	return STATUS_SUCCESS;
}

enum { REPEATED_IDS = 4096 };
enum record_result { RECORD_ADDED, RECORD_DOUBLED, RECORD_LOST };

/* The caller holds records_lock. The newest record of a node, or NULL. */
static struct interrupt_record *newest_of_node_locked(struct interrupt *interrupt, uint32_t node)
{
	lock_assert_held(&interrupt->records_lock);
	for (uint32_t i = interrupt->count; i-- > 0;) {
		struct interrupt_record *record =
			&interrupt->records[(interrupt->first + i) % INTERRUPT_RECORDS];

		if (record->node == node)
			return record;
	}
	return NULL;
}

static bool replaces(const struct interrupt_record *newest, const struct interrupt_record *record)
{
	if (!newest || newest->kind != record->kind)
		return false;
	return record->kind == INTERRUPT_FENCE_WRITTEN ||
	       (record->kind == INTERRUPT_COMPLETED && record->fence == newest->fence + 1);
}

/* Both are completions, and the second is not the newer one. What is far behind is judged with the
   rest, by who knows what the hardware has. */
static bool is_said_again(const struct interrupt_record *newest,
			  const struct interrupt_record *record)
{
	return newest && newest->kind == INTERRUPT_COMPLETED &&
	       record->kind == INTERRUPT_COMPLETED && newest->fence - record->fence < REPEATED_IDS;
}

static enum record_result record_add(struct interrupt *interrupt, struct interrupt_record *record)
{
	enum record_result result = RECORD_ADDED;

	lock_acquire(&interrupt->records_lock);
	struct interrupt_record *newest = newest_of_node_locked(interrupt, record->node);

	if (record->kind != INTERRUPT_SUSPENDED && (interrupt->ignored_nodes >> record->node & 1)) {
		/* It is being reset, and what it says now is about nothing that is still there. */
	} else if (is_said_again(newest, record)) {
		record->last_completed = newest->fence;
		result = RECORD_DOUBLED;
	} else if (replaces(newest, record)) {
		record->serial = newest->serial;
		*newest = *record;
	} else if (interrupt->count < INTERRUPT_RECORDS) {
		record->serial = ++interrupt->newest_serial;
		interrupt->records[(interrupt->first + interrupt->count) % INTERRUPT_RECORDS] =
			*record;
		interrupt->count++;
	} else {
		result = RECORD_LOST;
	}
	lock_release(&interrupt->records_lock);
	return result;
}

/* ---- what a driver may say ---- */

static struct interrupt_record fault_of(const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	return (struct interrupt_record){
		.kind = INTERRUPT_FAULTED,
		.node = data->DmaFaulted.NodeOrdinal,
		.fault = { .fence = data->DmaFaulted.FaultedFenceId,
			   .is_fence_valid = true,
			   .status = data->DmaFaulted.Status },
	};
}

/*
 * Without a valid fence a driver has to ask for a reset. One that does not, and one whose hardware
 * is broken for good (where Windows stops the machine), gets the reset that is possible.
 */
static void judge_fault(const struct miniport *miniport, uint32_t flags,
			struct miniport_fault *fault)
{
	fault->is_page_fault = true;
	fault->flags = flags;
	fault->is_fence_valid = !(flags & DXGK_PAGE_FAULT_FENCE_INVALID);
	fault->is_write = flags & DXGK_PAGE_FAULT_WRITE;
	fault->needs_engine_reset = flags & DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
	fault->needs_adapter_reset = flags & DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED;
	if (flags & DXGK_PAGE_FAULT_FATAL_HARDWARE_ERROR) {
		nt_report(RULE_DDI_FAULT_FATAL, "DxgkCbNotifyInterrupt was told of a fatal "
						"hardware error: the adapter is reset");
		fault->needs_adapter_reset = true;
	}
	if (fault->is_fence_valid || fault->needs_engine_reset || fault->needs_adapter_reset)
		return;
	nt_report(RULE_DDI_INTERRUPT, "DxgkCbNotifyInterrupt was given a page fault without a "
				      "valid fence that asks for no reset");
	fault->needs_engine_reset = miniport->info.supports_per_engine_tdr;
	fault->needs_adapter_reset = !fault->needs_engine_reset;
}

static uint32_t error_code_of(DXGK_FAULT_ERROR_CODE code)
{
	return (uint32_t)code.IsDeviceSpecificCodeReservedBit | code.DeviceSpecificCode << 1;
}

static struct interrupt_record page_fault_of(const struct miniport *miniport,
					     const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	struct interrupt_record record = {
		.kind = INTERRUPT_FAULTED,
		.node = data->DmaPageFaulted.NodeOrdinal,
		.fault = { .fence = data->DmaPageFaulted.FaultedFenceId,
			   .address = data->DmaPageFaulted.FaultedVirtualAddress,
			   .level = data->DmaPageFaulted.PageTableLevel,
			   .error_code = error_code_of(data->DmaPageFaulted.FaultErrorCode),
			   .primitive = data->DmaPageFaulted.FaultedPrimitiveAPISequenceNumber,
			   .stage = data->DmaPageFaulted.FaultedPipelineStage,
			   .bind_entry = data->DmaPageFaulted.FaultedBindTableEntry,
			   .driver_process = data->DmaPageFaulted.FaultedProcessHandle },
	};

	judge_fault(miniport, data->DmaPageFaulted.PageFaultFlags, &record.fault);
	return record;
}

static struct interrupt_record queue_fault_of(const struct miniport *miniport,
					      const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	uint32_t flags = data->HwQueuePageFaulted.PageFaultFlags;
	struct interrupt_record record = {
		.kind = INTERRUPT_FAULTED,
		.node = data->HwQueuePageFaulted.NodeOrdinal,
		.fault = { .is_hw_queue = true,
			   .address = data->HwQueuePageFaulted.FaultedVirtualAddress,
			   .level = data->HwQueuePageFaulted.PageTableLevel,
			   .error_code = error_code_of(data->HwQueuePageFaulted.FaultErrorCode),
			   .primitive = data->HwQueuePageFaulted.FaultedPrimitiveAPISequenceNumber,
			   .stage = data->HwQueuePageFaulted.FaultedPipelineStage,
			   .bind_entry = data->HwQueuePageFaulted.FaultedBindTableEntry },
	};

	judge_fault(miniport, flags, &record.fault);
	if (flags & DXGK_PAGE_FAULT_PROCESS_HANDLE_VALID)
		record.fault.driver_process = data->HwQueuePageFaulted.FaultedProcessHandle;
	else
		record.fault.driver_queue = data->HwQueuePageFaulted.FaultedHwQueue;
	if (record.fault.is_fence_valid)
		record.fault.queue_fence = data->HwQueuePageFaulted.FaultedFenceId;
	/* No packet of the node is meant. */
	record.fault.is_fence_valid = false;
	return record;
}

static bool is_of_display(DXGK_INTERRUPT_TYPE type)
{
	switch ((int)type) {
	case DXGK_INTERRUPT_CRTC_VSYNC:
	case DXGK_INTERRUPT_DISPLAYONLY_VSYNC:
	case DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS:
	case DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY:
	case DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY2:
	case DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY3:
	case DXGK_INTERRUPT_MICACAST_CHUNK_PROCESSING_COMPLETE:
	case DXGK_INTERRUPT_PERIODIC_MONITORED_FENCE_SIGNALED:
		return true;
	default:
		return false;
	}
}

static const char *why_meaningless(DXGK_INTERRUPT_TYPE type)
{
	if (is_of_display(type))
		return "there is no display";
	switch ((int)type) {
	case DXGK_INTERRUPT_HWCONTEXTLIST_SWITCH_COMPLETED:
	case DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT:
		return "the hardware was not asked to schedule";
	case DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED:
	case DXGK_INTERRUPT_GPU_ENGINE_STATE_CHANGE:
		return "native fences and engine states are not in use";
	default:
		return "there is no such type";
	}
}

static bool record_from(const struct miniport *miniport,
			const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
			struct interrupt_record *record_out, uint32_t *engine_out)
{
	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		*record_out = (struct interrupt_record){
			.kind = INTERRUPT_COMPLETED,
			.node = data->DmaCompleted.NodeOrdinal,
			.fence = data->DmaCompleted.SubmissionFenceId,
		};
		*engine_out = data->DmaCompleted.EngineOrdinal;
		return true;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		*record_out = (struct interrupt_record){
			.kind = INTERRUPT_PREEMPTED,
			.node = data->DmaPreempted.NodeOrdinal,
			.fence = data->DmaPreempted.PreemptionFenceId,
			.last_completed = data->DmaPreempted.LastCompletedFenceId,
		};
		*engine_out = data->DmaPreempted.EngineOrdinal;
		return true;
	case DXGK_INTERRUPT_DMA_FAULTED:
		*record_out = fault_of(data);
		*engine_out = data->DmaFaulted.EngineOrdinal;
		return true;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		*record_out = page_fault_of(miniport, data);
		*engine_out = data->DmaPageFaulted.EngineOrdinal;
		return true;
	case DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED:
		*record_out = queue_fault_of(miniport, data);
		*engine_out = data->HwQueuePageFaulted.EngineOrdinal;
		return true;
	case DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED:
		*record_out = (struct interrupt_record){
			.kind = INTERRUPT_FENCE_WRITTEN,
			.node = data->MonitoredFenceSignaled.NodeOrdinal,
		};
		*engine_out = data->MonitoredFenceSignaled.EngineOrdinal;
		return true;
	case DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT:
		*record_out = (struct interrupt_record){
			.kind = INTERRUPT_TIMED_OUT,
			.node = data->GpuEngineTimeout.NodeOrdinal,
		};
		*engine_out = data->GpuEngineTimeout.EngineOrdinal;
		return true;
	case DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED:
		*record_out = (struct interrupt_record){
			.kind = INTERRUPT_SUSPENDED,
			.suspend_fence = data->SuspendContextCompleted.ContextSuspendFence,
		};
		*engine_out = 0;
		return true;
	default:
		return false;
	}
}

static void note_interrupt(struct miniport *miniport, struct interrupt_record *record)
{
	switch (record_add(&miniport->interrupt, record)) {
	case RECORD_ADDED:
		break;
	case RECORD_DOUBLED:
		nt_report(RULE_DDI_COMPLETION_DOUBLED,
			  "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_DMA_COMPLETED) named fence %u of "
			  "node %u right after fence %u; one after that was expected",
			  record->fence, record->node, record->last_completed);
		break;
	case RECORD_LOST:
		nt_report(RULE_DDI_INTERRUPT,
			  "DxgkCbNotifyInterrupt: %d reports wait for a DPC, this one is lost",
			  INTERRUPT_RECORDS);
		break;
	}
}

void interrupt_notify(struct miniport *miniport, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	struct interrupt_record record;
	uint32_t engine;

	if (!record_from(miniport, data, &record, &engine)) {
		nt_report(is_of_display(data->InterruptType) ? RULE_DDI_INTERRUPT_RENDER_ONLY
							     : RULE_DDI_INTERRUPT,
			  "DxgkCbNotifyInterrupt was given InterruptType %d, and %s",
			  (int)data->InterruptType, why_meaningless(data->InterruptType));
		return;
	}
	record.fault.node = record.node;
	if (record.node >= miniport->info.node_count)
		nt_report(RULE_DDI_INTERRUPT,
			  "DxgkCbNotifyInterrupt was given NodeOrdinal %u, and there are %u nodes",
			  record.node, miniport->info.node_count);
	else if (engine != 0)
		nt_report(RULE_DDI_INTERRUPT,
			  "DxgkCbNotifyInterrupt was given EngineOrdinal %u, and a node has one "
			  "engine",
			  engine);
	else
		note_interrupt(miniport, &record);
}

/* ---- telling the listener ---- */

static bool record_take(struct interrupt *interrupt, struct interrupt_record *record_out)
{
	lock_acquire(&interrupt->records_lock);
	bool is_there = interrupt->count > 0;
	if (is_there) {
		*record_out = interrupt->records[interrupt->first];
		interrupt->first = (interrupt->first + 1) % INTERRUPT_RECORDS;
		interrupt->count--;
	} else {
		interrupt->is_delivering = false;
	}
	lock_release(&interrupt->records_lock);
	return is_there;
}

static void record_is_delivered(struct interrupt *interrupt, const struct interrupt_record *record)
{
	lock_acquire(&interrupt->records_lock);
	interrupt->delivered_serial = record->serial;
	lock_release(&interrupt->records_lock);
	notice_give(&interrupt->delivered);
}

/* A listener may leave out what it does not want to know. */
static void tell(struct miniport *miniport, const struct interrupt_record *record)
{
	const struct miniport_events *events = &miniport->events;
	void *listener = miniport->listener;

	switch (record->kind) {
	case INTERRUPT_COMPLETED:
		if (events->fence_completed)
			events->fence_completed(listener, record->node, record->fence);
		break;
	case INTERRUPT_PREEMPTED:
		if (events->fence_preempted)
			events->fence_preempted(listener, record->node, record->fence,
						record->last_completed);
		break;
	case INTERRUPT_FAULTED:
		if (events->node_faulted)
			events->node_faulted(listener, &record->fault);
		break;
	case INTERRUPT_FENCE_WRITTEN:
		if (events->fence_written)
			events->fence_written(listener, record->node);
		break;
	case INTERRUPT_TIMED_OUT:
		if (events->node_timed_out)
			events->node_timed_out(listener, record->node);
		break;
	case INTERRUPT_SUSPENDED:
		if (events->context_suspended)
			events->context_suspended(listener, record->suspend_fence);
		break;
	}
}

void interrupt_deliver(struct miniport *miniport)
{
	struct interrupt *interrupt = &miniport->interrupt;
	struct interrupt_record record;

	lock_acquire(&interrupt->records_lock);
	bool is_busy = interrupt->is_delivering;
	interrupt->is_delivering = true;
	lock_release(&interrupt->records_lock);
	if (is_busy)
		return; /* whoever is at it takes ours along */

	while (record_take(interrupt, &record)) {
		mem_forbid();
		tell(miniport, &record);
		mem_permit();
		record_is_delivered(interrupt, &record);
	}
}

void miniport_flush_events(struct miniport *miniport)
{
	struct interrupt *interrupt = &miniport->interrupt;
	struct nt_irql irql;

	lock_acquire(&interrupt->records_lock);
	uint64_t newest = interrupt->newest_serial;
	lock_release(&interrupt->records_lock);

	KeFlushQueuedDpcs();
	for (;;) {
		uint32_t seen = notice_read(&interrupt->delivered);

		lock_acquire(&interrupt->records_lock);
		bool is_over = interrupt->delivered_serial >= newest;
		bool is_busy = interrupt->is_delivering;
		lock_release(&interrupt->records_lock);
		if (is_over)
			return;
		if (is_busy) {
			notice_wait(&interrupt->delivered, seen, CLOCK_FOREVER);
			continue;
		}
		/* Its DPC was never queued, or is about to be: the news does not wait for it. */
		nt_irql_enter(&irql, DISPATCH_LEVEL);
		interrupt_deliver(miniport);
		nt_irql_leave(&irql, "A listener");
	}
}

void miniport_ignore_node_events(struct miniport *miniport, uint32_t node, bool is_ignored)
{
	struct interrupt *interrupt = &miniport->interrupt;
	uint64_t bit = UINT64_C(1) << node;

	assert(node < miniport->info.node_count);
	lock_acquire(&interrupt->records_lock);
	interrupt->ignored_nodes =
		is_ignored ? interrupt->ignored_nodes | bit : interrupt->ignored_nodes & ~bit;
	lock_release(&interrupt->records_lock);
}
