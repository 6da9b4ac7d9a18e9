/* SPDX-License-Identifier: MIT */
/*
 * deferral.h - destruction that has to wait for the GPU.
 *
 * What is over when the scheduler and the pager know, behind a work_source (adapter_work.c); what
 * they have nothing to do with is destroyed at once.
 *
 *	start ──▶ waits for the device's queued work (or not) and for paging ──▶ ready ──▶ run
 *
 * They run on the adapter's reaper thread, one after the other, as they become ready. Those of
 * one resource run in the order in which they were started: it is not destroyed in the driver
 * before an allocation of it that went earlier. Nobody else waits for another: memory that is said
 * to be in use no more goes, whatever was destroyed before it and has to wait for work.
 */
#ifndef OBJECT_DEFERRAL_H
#define OBJECT_DEFERRAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/refcount.h"
#include "sched/sched.h"

struct dxg_adapter;
struct dxg_allocation;
struct dxg_device;
struct work;

/* Each calls wait->over() exactly once, on any thread, before it returns or later, no lock held. */
struct work_source {
	/* Nothing is queued on `device`: nothing has to wait for its work. */
	bool (*is_idle)(struct work_source *source, struct dxg_device *device);

	/* Paging operations may touch this one. */
	bool (*is_paged)(struct work_source *source, const struct dxg_allocation *allocation);

	/* When everything queued on `device` so far is over. */
	void (*after_device)(struct work_source *source, struct dxg_device *device,
			     struct sched_wait *wait);

	/* When every paging operation queued on the adapter so far is over. */
	void (*after_paging)(struct work_source *source, struct dxg_adapter *adapter,
			     struct sched_wait *wait);
};

/* First member of what is deferred. */
struct deferral {
	void (*run)(struct deferral *deferral);  /* once, when it may; no lock held */
	void (*free)(struct deferral *deferral); /* last of all */

	const void *group; /* those of one keep their order; NULL: it is alone */

	struct dxg_device *device; /* with a reference until it has run */
	struct sched_wait device_wait;
	struct sched_wait paging_wait;
	_Atomic uint32_t pending; /* waits that are not over */
	_Atomic uint32_t has_run; /* wait word */
	struct refcount refs;     /* the queue's and the starter's */

	/* Guarded by the device's lock. */
	struct list link;       /* dxg_device.deferrals */
	struct list ready_link; /* dxg_device.ready_deferrals */
};

/* It is being seen to, or about to be. The device's lock is held. */
bool deferral_is_due_locked(const struct dxg_device *device, const struct deferral *deferral);

/* Begins to wait, for what it has to. One reference stays with the caller. */
void deferral_start(struct deferral *deferral, struct dxg_device *device, bool waits_for_work,
		    bool waits_for_paging);

/* Returns when it has run. */
void deferral_wait(struct deferral *deferral);

void deferral_put(struct deferral *deferral);

/* A device's turn at the reaper: runs what is ready. */
void deferral_run_device(struct work *work);

/*
 * Nothing of the device is destroyed between these two; what becomes ready waits. The driver is
 * about to be shown what it knows of the device's. They nest; any thread, DPC included. The caller
 * sees to it that the device stays.
 */
void deferral_hold(struct dxg_device *device);
void deferral_release(struct dxg_device *device);

/* Returns when everything that was started on the device has run, and nobody holds it. */
void deferral_wait_for_all(struct dxg_device *device);

#endif
