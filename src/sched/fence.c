/* SPDX-License-Identifier: MIT */
/*
 * fence.c - see fence.h.
 *
 * Why no wake-up is lost without a lock on the signalling side: a wait first writes `lowest`, then
 * reads the value; a signal first writes the value, then reads `lowest`. All four are sequentially
 * consistent, so at least one of the two sees what the other wrote.
 */
#include <assert.h>

#include "base/thread.h"
#include "sched/fence.h"

void fence_init(struct fence *fence, _Atomic uint64_t *value)
{
	fence->value = value;
	atomic_init(&fence->lowest, FENCE_MAX);
	lock_init(&fence->lock, LOCK_RANK_FENCE, "fence");
	list_init(&fence->waits);
}

void fence_finish(struct fence *fence)
{
	assert(list_is_empty(&fence->waits));
	lock_finish(&fence->lock);
}

static struct fence_wait *wait_of_link(struct list *link)
{
	return container_of(link, struct fence_wait, link);
}

/* Whenever the first of the waits, which are sorted by value, has changed. */
static void update_lowest_locked(struct fence *fence)
{
	lock_assert_held(&fence->lock);
	atomic_store(&fence->lowest, list_is_empty(&fence->waits)
					     ? FENCE_MAX
					     : wait_of_link(fence->waits.next)->value);
}

static void insert_locked(struct fence *fence, struct fence_wait *wait)
{
	struct list *before = fence->waits.prev;

	lock_assert_held(&fence->lock);
	while (before != &fence->waits && wait_of_link(before)->value > wait->value)
		before = before->prev;
	list_insert_between(&wait->link, before, before->next);
	wait->is_queued = true;
	if (fence->waits.next == &wait->link)
		update_lowest_locked(fence);
}

static void remove_locked(struct fence *fence, struct fence_wait *wait)
{
	bool was_lowest = fence->waits.next == &wait->link;

	lock_assert_held(&fence->lock);
	list_remove(&wait->link);
	wait->is_queued = false;
	if (was_lowest)
		update_lowest_locked(fence);
}

bool fence_wait_start(struct fence *fence, struct fence_wait *wait)
{
	list_init(&wait->link);
	wait->is_queued = false;
	if (fence_is_reached(fence, wait->value))
		return false;
	lock_acquire(&fence->lock);
	insert_locked(fence, wait);
	bool is_waiting = !fence_is_reached(fence, wait->value);
	if (!is_waiting)
		remove_locked(fence, wait);
	lock_release(&fence->lock);
	return is_waiting;
}

bool fence_wait_cancel(struct fence *fence, struct fence_wait *wait)
{
	lock_acquire(&fence->lock);
	bool was_queued = wait->is_queued;
	if (was_queued)
		remove_locked(fence, wait);
	lock_release(&fence->lock);
	return was_queued;
}

static void release_reached(struct fence *fence)
{
	struct list released;
	struct list *link;

	list_init(&released);
	lock_acquire(&fence->lock);
	uint64_t value = fence_value(fence);
	while (!list_is_empty(&fence->waits) && wait_of_link(fence->waits.next)->value <= value) {
		struct fence_wait *wait = wait_of_link(fence->waits.next);
		list_remove(&wait->link);
		wait->is_queued = false;
		list_push_back(&released, &wait->link);
	}
	update_lowest_locked(fence);
	lock_release(&fence->lock);

	/* From here on the fence is not looked at: a reached() may have been all that kept it. */
	while ((link = list_pop_front(&released)) != NULL) {
		struct fence_wait *wait = wait_of_link(link);
		wait->reached(wait);
	}
}

void fence_look(struct fence *fence)
{
	if (UNLIKELY(atomic_load(&fence->lowest) <= fence_value(fence)))
		release_reached(fence);
}

bool fence_signal(struct fence *fence, uint64_t value)
{
	uint64_t old = fence_value(fence);

	do {
		if (value < old)
			return false;
	} while (!atomic_compare_exchange_weak(fence->value, &old, value));
	thread_point(); /* where a wait can come in between */
	if (UNLIKELY(atomic_load(&fence->lowest) <= value))
		release_reached(fence);
	return true;
}

void fence_rewind(struct fence *fence, uint64_t value)
{
	atomic_store(fence->value, value);
	fence_look(fence);
}

void fence_end(struct fence *fence)
{
	(void)fence_signal(fence, FENCE_MAX);
}
