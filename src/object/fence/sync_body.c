/* SPDX-License-Identifier: MIT */
/*
 * sync_body.c - what the CPU and the queues do with a sync object: signals and waits.
 */
#include <assert.h>

#include "object/fence/fence_watch.h"
#include "object/fence/sync_object.h"

/* A mutex or a semaphore: one more, and everybody may try. */
static void count_signal(struct sync_body *body)
{
	struct list told;
	struct list *link;

	list_init(&told);
	lock_acquire(&body->lock);
	if (body->count < body->max_count) {
		body->count++;
		while ((link = list_pop_front(&body->watches)) != NULL) {
			container_of(link, struct sync_watch, link)->is_queued = false;
			list_push_back(&told, link);
		}
	}
	lock_release(&body->lock);
	list_drain (struct sync_watch, watch, &told, link) {
		watch->try_again(watch);
	}
}

bool sync_body_signal(struct sync_body *body, uint64_t value, bool is_rewind)
{
	switch (body->kind) {
	case SYNC_MUTEX:
	case SYNC_SEMAPHORE:
		count_signal(body);
		break;
	case SYNC_CPU_NOTIFICATION:
		event_set(&body->event);
		break;
	case SYNC_FENCE:
	case SYNC_MONITORED_FENCE:
		if (!is_rewind)
			return fence_signal(&body->fence, value);
		fence_rewind(&body->fence, value);
		break;
	}
	return true;
}

bool sync_body_try_wait(struct sync_body *body, uint64_t value)
{
	assert(body->kind != SYNC_CPU_NOTIFICATION);
	if (sync_body_is_fence(body))
		return fence_is_reached(&body->fence, value);
	lock_acquire(&body->lock);
	bool has_taken = body->count > 0;
	if (has_taken)
		body->count--;
	lock_release(&body->lock);
	return has_taken;
}

static void watch_reached(struct fence_wait *wait)
{
	struct sync_watch *watch = container_of(wait, struct sync_watch, fence_wait);

	watch->try_again(watch);
}

bool sync_body_watch(struct sync_body *body, uint64_t value, struct sync_watch *watch)
{
	assert(body->kind != SYNC_CPU_NOTIFICATION);
	if (sync_body_is_fence(body)) {
		watch->fence_wait.value = value;
		watch->fence_wait.reached = watch_reached;
		if (!fence_wait_start(&body->fence, &watch->fence_wait))
			return false;
		fence_watch_begin(body);
		return true;
	}
	lock_acquire(&body->lock);
	watch->is_queued = body->count == 0;
	list_init(&watch->link);
	if (watch->is_queued)
		list_push_back(&body->watches, &watch->link);
	bool is_queued = watch->is_queued;
	lock_release(&body->lock);
	return is_queued;
}

bool sync_body_watch_cancel(struct sync_body *body, struct sync_watch *watch)
{
	if (sync_body_is_fence(body))
		return fence_wait_cancel(&body->fence, &watch->fence_wait);
	lock_acquire(&body->lock);
	bool was_queued = watch->is_queued;
	if (was_queued)
		list_remove(&watch->link);
	watch->is_queued = false;
	lock_release(&body->lock);
	return was_queued;
}
