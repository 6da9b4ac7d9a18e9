/* SPDX-License-Identifier: MIT */
/*
 * late_interrupts.c - what a driver says by an interrupt, heard later.
 *
 *   driver    DxgkCbNotifyInterrupt ──▶ kept, in order
 *   thread    when its time has come ──▶ the kernel is told, at the device's IRQL, and delivers it
 *
 * In order for one node always; hardware says nothing else. With `is_reordered` what one node says waits, up to the delay,
 * until another one has said something, and is heard behind that.
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/notice.h"
#include "base/thread.h"
#include "verify/faults.h"

enum { KEPT_MAX = 256 };

struct kept {
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data;
	uint64_t due_ns;
	uint32_t node;
};

struct late_interrupts {
	struct miniport *miniport;
	uint64_t delay_ns;
	bool is_reordered;
	struct thread *thread;
	struct notice changed;

	/* Guarded by lock. */
	struct lock lock; /* LOCK_RANK_LEAF */
	struct kept kept[KEPT_MAX];
	uint32_t first;
	uint32_t count;
	bool is_ending;
	bool is_telling; /* one has been taken out and is not heard yet */
};

/* Of the kinds that have one; all others are of node 0. */
static uint32_t node_of(const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		return data->DmaCompleted.NodeOrdinal;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		return data->DmaPreempted.NodeOrdinal;
	case DXGK_INTERRUPT_DMA_FAULTED:
		return data->DmaFaulted.NodeOrdinal;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		return data->DmaPageFaulted.NodeOrdinal;
	default:
		return 0;
	}
}

static void tell(struct miniport *miniport, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	struct nt_irql irql;

	lock_acquire(&miniport->interrupt.lock);
	nt_irql_enter(&irql, DDI_DEVICE_IRQL);
	interrupt_notify(miniport, data);
	nt_irql_leave(&irql, "a late interrupt");
	lock_release(&miniport->interrupt.lock);
	nt_irql_enter(&irql, DISPATCH_LEVEL);
	interrupt_deliver(miniport);
	nt_irql_leave(&irql, "a late interrupt");
}

/* Drops and retakes late->lock: more may have been kept meanwhile. */
static void tell_first_relock(struct late_interrupts *late)
{
	struct kept first = late->kept[late->first];

	lock_assert_held(&late->lock);
	late->first = (late->first + 1) % KEPT_MAX;
	late->count--;
	late->is_telling = true;
	lock_release(&late->lock);
	tell(late->miniport, &first.data);
	lock_acquire(&late->lock);
	late->is_telling = false;
	notice_give(&late->changed);
}

static void run(void *context)
{
	struct late_interrupts *late = context;

	lock_acquire(&late->lock);
	while (!late->is_ending || late->count > 0) {
		uint64_t due_ns = late->count > 0 ? late->kept[late->first].due_ns : CLOCK_FOREVER;

		if (late->is_telling)
			notice_wait_relock(&late->changed, &late->lock);
		else if (due_ns > clock_now_ns() && !late->is_ending)
			notice_wait_until_relock(&late->changed, &late->lock, due_ns);
		else
			tell_first_relock(late);
	}
	lock_release(&late->lock);
}

NTSTATUS late_interrupts_create(struct miniport *miniport, uint64_t delay_ns, bool is_reordered,
				struct late_interrupts **late_out)
{
	struct late_interrupts *late = mem_zalloc(sizeof(*late));

	if (!late)
		return STATUS_NO_MEMORY;
	late->miniport = miniport;
	late->delay_ns = delay_ns;
	late->is_reordered = is_reordered;
	lock_init(&late->lock, LOCK_RANK_LEAF, "late interrupts");
	NTSTATUS status = thread_create("late interrupts", run, late, &late->thread);
	if (!NT_SUCCESS(status)) {
		lock_finish(&late->lock);
		mem_free(late);
		return status;
	}
	*late_out = late;
	return STATUS_SUCCESS;
}

void late_interrupts_destroy(struct late_interrupts *late)
{
	if (!late)
		return;
	lock_acquire(&late->lock);
	late->is_ending = true;
	late->count = 0;
	lock_release(&late->lock);
	notice_give(&late->changed);
	thread_join(late->thread);
	lock_finish(&late->lock);
	mem_free(late);
}

/* What comes from another node is heard at once, and what waited for that right behind it. */
static void put_locked(struct late_interrupts *late, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	uint32_t at = (late->first + late->count) % KEPT_MAX;
	uint64_t now_ns = clock_now_ns();
	struct kept one = { .data = *data,
			    .node = node_of(data),
			    .due_ns = now_ns + late->delay_ns };

	lock_assert_held(&late->lock);
	if (late->is_reordered && late->count == 1 && late->kept[late->first].node != one.node) {
		late->kept[at] = late->kept[late->first];
		late->kept[at].due_ns = now_ns;
		one.due_ns = now_ns;
		late->kept[late->first] = one;
	} else {
		late->kept[at] = one;
	}
	late->count++;
}

bool late_interrupts_keep(struct late_interrupts *late, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	lock_acquire(&late->lock);
	bool fits = late->count < KEPT_MAX && !late->is_ending;
	if (fits)
		put_locked(late, data);
	lock_release(&late->lock);
	if (fits)
		notice_give(&late->changed);
	return fits;
}

void late_interrupts_flush(struct late_interrupts *late)
{
	lock_acquire(&late->lock);
	while (late->count > 0 || late->is_telling) {
		if (late->is_telling)
			notice_wait_relock(&late->changed, &late->lock);
		else
			tell_first_relock(late);
	}
	lock_release(&late->lock);
}
