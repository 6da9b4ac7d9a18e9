/* SPDX-License-Identifier: MIT */
/*
 * fence_ending.c - see fence_ending.h.
 */
#include "base/clock.h"
#include "object/fence_address.h"
#include "object/fence_ending.h"
#include "object/fence_watch.h"

static void give_address_back(struct dxg_sync_object *sync)
{
	fence_watch_leave(sync);
	fence_address_put(sync->address);
}

/* Counted until nothing is left of it: who ends the device waits for that. */
static void reap(struct work *work)
{
	struct dxg_sync_object *sync = container_of(work, struct dxg_sync_object, ending.reap_work);
	struct dxg_device *device = sync->device;

	give_address_back(sync);
	object_get(&device->object);
	lock_acquire(&device->lock);
	list_remove(&sync->owned.link);
	lock_release(&device->lock);
	object_put(&sync->object);
	lock_acquire(&device->lock);
	device->ending_count--;
	lock_release(&device->lock);
	notice_give(&device->reaped);
	object_put(&device->object);
}

static void work_is_over(struct sched_wait *wait)
{
	struct dxg_sync_object *sync = container_of(wait, struct dxg_sync_object, ending.wait);
	struct dxg_device *device = sync->device;

	lock_acquire(&device->lock);
	sync->is_ending_due = true;
	lock_release(&device->lock);
	work_init(&sync->ending.reap_work, reap);
	(void)worker_post(&device->adapter->reaper, &sync->ending.reap_work);
}

static void end_later(struct dxg_sync_object *sync)
{
	struct dxg_device *device = sync->device;

	sync->ending.wait.over = work_is_over;
	lock_acquire(&device->lock);
	sync->is_ending_due = false;
	list_push_back(&device->ending_fences, &sync->owned.link);
	device->ending_count++;
	device->has_reap_work = true;
	lock_release(&device->lock);
	sched_after_owner(&device->work, &sync->ending.wait);
}

void fence_end_opening(struct dxg_sync_object *sync)
{
	if (fence_is_in_use(sync)) {
		end_later(sync);
		return;
	}
	give_address_back(sync);
	object_put(&sync->object);
}

void fence_endings_wait(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	while (device->ending_count > 0)
		notice_wait_relock(&device->reaped, &device->lock);
	lock_release(&device->lock);
}
