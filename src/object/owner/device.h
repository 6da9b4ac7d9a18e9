/* SPDX-License-Identifier: MIT */
/*
 * device.h - everything a client made on one adapter.
 *
 * References: the handle's, one per child that the driver knows, one per call under way. The last
 * one to go tells the driver, so DxgkDdiDestroyDevice always comes after the device's contexts are
 * gone.
 */
#ifndef OBJECT_OWNER_DEVICE_H
#define OBJECT_OWNER_DEVICE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "base/worker.h"
#include "handle/object.h"
#include "object/memory/context_allocation.h"
#include "object/fence/kept_fences.h"
#include "object/owner/owned.h"
#include "object/owner/process.h"
#include "sched/fence_page.h"
#include "sched/sched.h"

/* As D3DKMT_DEVICEEXECUTION_STATE counts them. A device that left ACTIVE never comes back. */
enum device_state {
	DEVICE_ACTIVE = 1,
	DEVICE_RESET = 2,
	DEVICE_HUNG = 3,
	DEVICE_STOPPED = 4,
	DEVICE_OUT_OF_MEMORY = 5,
	DEVICE_DMA_FAULT = 6,
	DEVICE_DMA_PAGE_FAULT = 7,
};

struct dxg_device {
	struct object object;

	/* Set at creation. Read freely afterwards. */
	struct dxg_adapter *adapter;
	struct dxg_process *process;
	struct process_adapter *process_adapter;
	void *driver_device;
	bool has_no_gpu_timeout;
	bool is_legacy;

	_Atomic uint32_t state;     /* enum device_state */
	struct sched_owner work;    /* what its contexts have queued */
	struct fence_slot shown;    /* whether that is lost, for a client elsewhere; or none */
	struct vidmm_device memory; /* what has to be resident while that runs */
	struct context_memory driver_memory; /* what the driver keeps for all its contexts */

	/* Why it was lost, when and by whom; written before `state`, read after it. */
	struct miniport_fault fault;
	uint64_t lost_at_ns;
	char lost_by[64]; /* the call, or the thread of the kernel that found it out */

	/* Guarded by the process's lock. */
	struct list process_link; /* dxg_process.devices */
	uint32_t losers;          /* threads that found it there, and are losing it */

	struct lock destroying; /* LOCK_RANK_DESTROY: see destruction.c */

	struct lock lock;               /* LOCK_RANK_DEVICE */
	struct list contexts;           /* dxg_context.owned */
	struct list hw_contexts;        /* dxg_hw_context.owned */
	struct list resources;          /* dxg_resource.device_link */
	struct list allocations;        /* dxg_allocation.owner_link of those in no resource */
	struct list sync_objects;       /* dxg_sync_object.owned */
	uint32_t sync_object_count;     /* … and those that ended, and are still held */
	struct list paging_queues;      /* dxg_paging_queue.owned */
	struct kept_fences kept_fences; /* for the next ones */
	bool is_published;              /* something can be added */
	bool is_dying;                  /* nothing is added any more */
	bool is_loss_pending;           /* its fences are being told that it is lost */
	bool is_loss_told;              /* it has none any more */
	bool has_reap_work;             /* the reaper came to have to do with it */
	struct list endings;            /* ending.link, in the order they were started */
	struct list ready_endings;      /* ending.ready_link: those that may run */
	uint32_t ending_count;          /* endings that were started, and are not over */
	uint32_t line_holders; /* those of them that hold the line: others run when they are over */
	_Atomic uint32_t ordered_endings; /* those of a group; looked at without the lock */

	struct work loss; /* what its loss means for its fences, on the reaper's thread … */
	struct sched_wait silence; /* … once more when the hardware writes none of them any more */
	bool is_silent;

	struct work reap_work; /* this device's turn at the adapter's reaper */
	struct notice reaped;  /* an ending is over */
};

extern const struct object_class device_class;

struct device_options {
	bool is_legacy;
	bool has_no_gpu_timeout;
};

MUST_CHECK NTSTATUS device_create(struct dxg_process *process, struct dxg_adapter *adapter,
				  const struct device_options *options,
				  struct dxg_device **device_out);

/*
 * Ends the handle and everything the device owns. False when another thread was faster. Afterwards
 * only calls that are under way have references: who is alone with it has the driver forget it by
 * giving back his own.
 */
MUST_CHECK bool device_destroy(struct dxg_device *device);

/* Refuses a node or an engine that its adapter does not have. */
MUST_CHECK NTSTATUS device_check_engine(const struct dxg_device *device, uint32_t node,
					uint32_t engine_mask);

/* A call lost it to another that destroys it. */
NTSTATUS device_refuse_dying(const struct dxg_device *device);

/* Last step of making what it owns; refused when the device is going away meanwhile. */
MUST_CHECK NTSTATUS device_join(struct dxg_device *device, struct list *siblings,
				struct owned *owned);

/*
 * How queues of it end now. A client that destroys a context has what it submitted done, but for
 * what waits for something that has not come: nobody else could end that. A client that goes has no
 * use for any of it.
 */
enum sched_ending device_work_ending(struct dxg_device *device);

static inline enum device_state device_state(const struct dxg_device *device)
{
	return (enum device_state)atomic_load_explicit(&device->state, memory_order_acquire);
}

/* Refuses when the device can do no more work. */
RARE NTSTATUS device_refuse_lost(const struct dxg_device *device);
MUST_CHECK static inline NTSTATUS device_check_alive(struct dxg_device *device)
{
	if (LIKELY(device_state(device) == DEVICE_ACTIVE))
		return STATUS_SUCCESS;
	return refused(device_refuse_lost(device));
}

/* "out of memory (5), 1.250 s ago, by D3DKMTMakeResident". It left the active state. */
void device_describe_loss(const struct dxg_device *device, char *text, size_t size);
enum { DEVICE_LOSS_TEXT = 160 };

/*
 * Leaves the active state, for good: what is queued is cancelled, its fences go to their maximum,
 * who waits is let go. `fault` may be NULL. Once; later reasons change nothing.
 */
void device_lose(struct dxg_device *device, enum device_state state,
		 const struct miniport_fault *fault);

/* The same for all of a process on one adapter. Any thread: it ends none of them. */
void device_lose_all(struct process_adapter *process_adapter, enum device_state state);

/* What the scheduler refuses work for is not active, though it may not have said so yet. */
void device_learn_of_loss(struct dxg_device *device);

#endif
