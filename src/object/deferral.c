/* SPDX-License-Identifier: MIT */
/*
 * deferral.c - see deferral.h.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/thread.h"
#include "object/deferral.h"
#include "object/device.h"

/* ---- the reaper: one device's turn ---- */

/* One of its group was started before, and has not run. */
static bool is_behind_another_locked(const struct dxg_device *device,
				     const struct deferral *deferral)
{
	const struct list *link;

	lock_assert_held(&device->lock);
	if (!deferral->group)
		return false;
	list_for_each (link, &device->deferrals) {
		const struct deferral *other = container_of(link, struct deferral, link);

		if (other == deferral)
			break;
		if (other->group == deferral->group)
			return true;
	}
	return false;
}

bool deferral_is_due_locked(const struct dxg_device *device, const struct deferral *deferral)
{
	lock_assert_held(&device->lock);
	return atomic_load(&deferral->pending) == 0 && !is_behind_another_locked(device, deferral);
}

/* One whose turn it is; it stays among the deferrals until it has run. */
static struct deferral *take_ready_locked(struct dxg_device *device)
{
	struct list *link;

	lock_assert_held(&device->lock);
	if (device->deferral_holds > 0)
		return NULL;
	list_for_each (link, &device->ready_deferrals) {
		struct deferral *deferral = container_of(link, struct deferral, ready_link);

		if (is_behind_another_locked(device, deferral))
			continue;
		list_remove(link);
		return deferral;
	}
	return NULL;
}

static struct deferral *take_ready(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	struct deferral *deferral = take_ready_locked(device);
	lock_release(&device->lock);
	return deferral;
}

static void deferral_end(struct deferral *deferral)
{
	struct dxg_device *device = deferral->device;

	lock_acquire(&device->lock);
	list_remove(&deferral->link);
	atomic_fetch_sub(&device->deferral_count, 1);
	lock_release(&device->lock);
	notice_give(&device->reaped);
	atomic_store(&deferral->has_run, 1);
	thread_wake_all(&deferral->has_run);
	deferral_put(deferral);
	object_put(&device->object);
}

void deferral_run_device(struct work *work)
{
	struct dxg_device *device = container_of(work, struct dxg_device, reap_work);
	struct deferral *deferral;

	while ((deferral = take_ready(device)) != NULL) {
		deferral->run(deferral);
		deferral_end(deferral);
	}
	object_put(&device->object); /* whoever posted this turn took it */
}

/* Under the lock: who finds nothing deferred any more can count on every turn's being posted. */
static void post_turn_locked(struct dxg_device *device)
{
	lock_assert_held(&device->lock);
	device->has_reap_work = true;
	object_get(&device->object);
	if (!worker_post(&device->adapter->reaper, &device->reap_work))
		object_put(&device->object);
}

/* ---- holding ---- */

void deferral_hold(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	device->deferral_holds++;
	atomic_fetch_add(&device->deferral_count, 1);
	lock_release(&device->lock);
}

void deferral_release(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	assert(device->deferral_holds > 0);
	if (--device->deferral_holds == 0 && !list_is_empty(&device->ready_deferrals))
		post_turn_locked(device);
	atomic_fetch_sub(&device->deferral_count, 1);
	lock_release(&device->lock);
	notice_give(&device->reaped);
}

/* ---- waiting ---- */

static void wait_over(struct deferral *deferral)
{
	struct dxg_device *device = deferral->device;

	if (atomic_fetch_sub(&deferral->pending, 1) != 1)
		return;
	lock_acquire(&device->lock);
	list_push_back(&device->ready_deferrals, &deferral->ready_link);
	post_turn_locked(device);
	lock_release(&device->lock);
}

static void device_wait_over(struct sched_wait *wait)
{
	wait_over(container_of(wait, struct deferral, device_wait));
}

static void paging_wait_over(struct sched_wait *wait)
{
	wait_over(container_of(wait, struct deferral, paging_wait));
}

void deferral_start(struct deferral *deferral, struct dxg_device *device, bool waits_for_work,
		    bool waits_for_paging)
{
	struct work_source *source = device->adapter->work_source;

	deferral->device = device;
	deferral->device_wait.over = device_wait_over;
	deferral->paging_wait.over = paging_wait_over;
	list_init(&deferral->ready_link);
	refcount_init(&deferral->refs);
	refcount_get(&deferral->refs);
	object_get(&device->object);

	lock_acquire(&device->lock);
	list_push_back(&device->deferrals, &deferral->link);
	atomic_fetch_add(&device->deferral_count, 1);
	lock_release(&device->lock);

	/* One more than the waits, so that it is not ready before all of them are asked for. */
	atomic_store(&deferral->pending, 1u + waits_for_work + waits_for_paging);
	if (waits_for_work)
		source->after_device(source, device, &deferral->device_wait);
	if (waits_for_paging)
		source->after_paging(source, device->adapter, &deferral->paging_wait);
	wait_over(deferral);
}

void deferral_wait(struct deferral *deferral)
{
	while (!atomic_load(&deferral->has_run))
		thread_wait(&deferral->has_run, 0, CLOCK_FOREVER);
}

void deferral_put(struct deferral *deferral)
{
	if (refcount_put(&deferral->refs))
		deferral->free(deferral);
}

void deferral_wait_for_all(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	while (atomic_load(&device->deferral_count) > 0)
		notice_wait_relock(&device->reaped, &device->lock);
	lock_release(&device->lock);
}
