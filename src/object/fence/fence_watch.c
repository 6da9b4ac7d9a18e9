/* SPDX-License-Identifier: MIT */
/*
 * fence_watch.c - see fence_watch.h.
 *
 * Who begins to wait and who looks may miss each other: the first has its wait in the fence before
 * it looks at is_watched, the second clears is_watched before it looks at the fence once more. One
 * of them sees the other. What was written before the fence was in the list is looked at by who put
 * it there.
 */
#include "object/fence/fence_watch.h"

static bool is_of_a_device(const struct dxg_sync_object *sync)
{
	return sync->device && sync->body->kind == SYNC_MONITORED_FENCE;
}

static void watch(struct dxg_sync_object *sync)
{
	struct process_adapter *process_adapter = sync->device->process_adapter;

	if (atomic_load(&sync->is_watched))
		return;
	atomic_store_explicit(&sync->was_watched, true, memory_order_relaxed);
	lock_acquire(&process_adapter->watched_lock);
	if (!atomic_exchange(&sync->is_watched, true))
		list_push_back(&process_adapter->watched, &sync->watched_link);
	lock_release(&process_adapter->watched_lock);
}

void fence_watch_join(struct dxg_sync_object *sync)
{
	struct sync_body *body = sync->body;

	if (!is_of_a_device(sync))
		return;
	lock_acquire(&body->openings_lock);
	list_push_back(&body->openings, &sync->body_link);
	if (fence_has_waits(&body->fence))
		watch(sync);
	lock_release(&body->openings_lock);
}

void fence_watch_join_first(struct dxg_sync_object *sync)
{
	if (is_of_a_device(sync))
		list_push_back(&sync->body->openings, &sync->body_link);
}

void fence_watch_leave(struct dxg_sync_object *sync)
{
	if (!is_of_a_device(sync))
		return;
	lock_acquire(&sync->body->openings_lock);
	list_remove(&sync->body_link);
	bool was_watched = atomic_load_explicit(&sync->was_watched, memory_order_relaxed);
	lock_release(&sync->body->openings_lock);
	if (!was_watched)
		return;
	lock_acquire(&sync->device->process_adapter->watched_lock);
	if (atomic_exchange(&sync->is_watched, false))
		list_remove(&sync->watched_link);
	lock_release(&sync->device->process_adapter->watched_lock);
}

void fence_watch_begin(struct sync_body *body)
{
	if (body->kind != SYNC_MONITORED_FENCE)
		return;
	lock_acquire(&body->openings_lock);
	list_each (struct dxg_sync_object, each, &body->openings, body_link)
		watch(each);
	lock_release(&body->openings_lock);
	if (fence_has_reached_waits(&body->fence))
		fence_look(&body->fence);
}

/* ---- looking ---- */

/*
 * Bodies, not openings: the last reference on an opening may be the last on the device, and a DPC
 * is no place for that.
 */
enum { LOOK_AT_ONCE = 16 };

/* Nobody waits any more. */
static void let_go_locked(const struct process_adapter *process_adapter,
			  struct dxg_sync_object *sync)
{
	lock_assert_held(&process_adapter->watched_lock);
	atomic_store(&sync->is_watched, false);
	if (fence_has_waits(&sync->body->fence))
		atomic_store(&sync->is_watched, true);
	else
		list_remove(&sync->watched_link);
}

static uint32_t collect_reached(struct process_adapter *process_adapter,
				struct sync_body *bodies[LOOK_AT_ONCE])
{
	uint32_t count = 0;

	lock_acquire(&process_adapter->watched_lock);
	list_each_safe (struct dxg_sync_object, sync, &process_adapter->watched, watched_link) {
		if (!fence_has_waits(&sync->body->fence)) {
			let_go_locked(process_adapter, sync);
		} else if (count < LOOK_AT_ONCE && fence_has_reached_waits(&sync->body->fence)) {
			share_get(&sync->body->share);
			bodies[count++] = sync->body;
		}
	}
	lock_release(&process_adapter->watched_lock);
	return count;
}

void sync_object_look_at_fences(struct dxg_device *device)
{
	struct sync_body *bodies[LOOK_AT_ONCE];
	uint32_t count;

	do {
		count = collect_reached(device->process_adapter, bodies);
		for (uint32_t i = 0; i < count; i++) {
			fence_look(&bodies[i]->fence);
			share_put(&bodies[i]->share);
		}
	} while (count == LOOK_AT_ONCE);
}
