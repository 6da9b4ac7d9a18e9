/*
 * interrupt.c - how a driver says that work is done.
 *
 *   driver thread   DxgkCbSynchronizeExecution   the device's IRQL, interrupt.lock held
 *                     DxgkCbNotifyInterrupt      what happened is written down, nothing more
 *                     DxgkCbQueueDpc
 *   DPC thread      DxgkDdiDpcRoutine            DISPATCH_LEVEL
 *                     DxgkCbNotifyDpc            what was written down goes to the listener
 *
 * There is no hardware here that interrupts: drivers raise themselves to interrupt level, as
 * software-only ones do on Windows, and DxgkDdiInterruptRoutine is never needed.
 *
 * Fence ids only grow, and one means all before it, so a completion that follows another on its
 * node replaces it. What cannot be merged is bounded by what a driver may have outstanding; a
 * driver that says more than fits has lost count and is told so.
 */
#include <stdatomic.h>

#include "miniport/internal.h"
#include "nt/dpc.h"
#include "nt/report.h"

static VOID NTAPI run_dpc_routine(KDPC *dpc, PVOID context, PVOID argument1, PVOID argument2)
{
	struct miniport *miniport = context;
	struct ddi_crossing crossing;

	(void)dpc;
	(void)argument1;
	(void)argument2;
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
	lock_release(&interrupt->records_lock);
}

bool interrupt_queue_dpc(struct miniport *miniport)
{
	return atomic_load(&miniport->interrupt.is_connected) &&
	       KeInsertQueueDpc(&miniport->interrupt.dpc, NULL, NULL);
}

NTSTATUS interrupt_synchronize(struct miniport *miniport, PKSYNCHRONIZE_ROUTINE routine,
			       PVOID context, BOOLEAN *result_out)
{
	struct interrupt *interrupt = &miniport->interrupt;
	struct nt_irql irql;

	if (!atomic_load(&interrupt->is_connected))
		return STATUS_UNSUCCESSFUL;

	lock_acquire(&interrupt->lock);
	nt_irql_enter(&irql, DDI_DEVICE_IRQL);
	*result_out = routine(context);
	nt_irql_leave(&irql, "the routine given to DxgkCbSynchronizeExecution");
	lock_release(&interrupt->lock);
	return STATUS_SUCCESS;
}

/* The caller holds records_lock. The newest record of a node, or NULL. */
static struct interrupt_record *newest_of_node_locked(struct interrupt *interrupt, uint32_t node)
{
	for (uint32_t i = interrupt->count; i-- > 0;) {
		struct interrupt_record *record =
			&interrupt->records[(interrupt->first + i) % INTERRUPT_RECORDS];

		if (record->node == node)
			return record;
	}
	return NULL;
}

static bool record_add(struct interrupt *interrupt, const struct interrupt_record *record)
{
	bool fits = true;

	lock_acquire(&interrupt->records_lock);
	struct interrupt_record *newest = newest_of_node_locked(interrupt, record->node);

	if (newest && newest->kind == INTERRUPT_COMPLETED && record->kind == INTERRUPT_COMPLETED) {
		*newest = *record;
	} else if (interrupt->count < INTERRUPT_RECORDS) {
		interrupt->records[(interrupt->first + interrupt->count) % INTERRUPT_RECORDS] =
			*record;
		interrupt->count++;
	} else {
		fits = false;
	}
	lock_release(&interrupt->records_lock);
	return fits;
}

void interrupt_notify(struct miniport *miniport, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	struct interrupt_record record;

	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		record = (struct interrupt_record){
			.kind = INTERRUPT_COMPLETED,
			.node = data->DmaCompleted.NodeOrdinal,
			.fence = data->DmaCompleted.SubmissionFenceId,
		};
		break;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		record = (struct interrupt_record){
			.kind = INTERRUPT_PREEMPTED,
			.node = data->DmaPreempted.NodeOrdinal,
			.fence = data->DmaPreempted.PreemptionFenceId,
			.last_completed = data->DmaPreempted.LastCompletedFenceId,
		};
		break;
	case DXGK_INTERRUPT_DMA_FAULTED:
		record = (struct interrupt_record){
			.kind = INTERRUPT_FAULTED,
			.node = data->DmaFaulted.NodeOrdinal,
			.fence = data->DmaFaulted.FaultedFenceId,
		};
		break;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		record = (struct interrupt_record){
			.kind = INTERRUPT_FAULTED,
			.node = data->DmaPageFaulted.NodeOrdinal,
			.fence = data->DmaPageFaulted.FaultedFenceId,
		};
		break;
	default:
		nt_report(RULE_DDI_INTERRUPT, "DxgkCbNotifyInterrupt was given InterruptType %d",
			  (int)data->InterruptType);
		return;
	}

	if (record.node >= miniport->info.node_count)
		nt_report(RULE_DDI_INTERRUPT,
			  "DxgkCbNotifyInterrupt was given NodeOrdinal %u, and there are %u nodes",
			  record.node, miniport->info.node_count);
	else if (!record_add(&miniport->interrupt, &record))
		nt_report(RULE_DDI_INTERRUPT,
			  "DxgkCbNotifyInterrupt: %d reports wait for a DPC, this one is lost",
			  INTERRUPT_RECORDS);
}

static bool record_take(struct interrupt *interrupt, struct interrupt_record *record_out)
{
	bool is_there;

	lock_acquire(&interrupt->records_lock);
	is_there = interrupt->count > 0;
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
			events->node_faulted(listener, record->node, record->fence);
		break;
	}
}

void interrupt_deliver(struct miniport *miniport)
{
	struct interrupt *interrupt = &miniport->interrupt;
	struct interrupt_record record;
	bool is_busy;

	lock_acquire(&interrupt->records_lock);
	is_busy = interrupt->is_delivering;
	interrupt->is_delivering = true;
	lock_release(&interrupt->records_lock);
	if (is_busy)
		return; /* whoever is at it takes ours along */

	while (record_take(interrupt, &record))
		tell(miniport, &record);
}
