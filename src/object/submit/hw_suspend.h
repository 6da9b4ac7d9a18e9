/* SPDX-License-Identifier: MIT */
/*
 * hw_suspend.h - getting a context of hardware queues off the hardware.
 *
 * Hardware that schedules itself keeps a context loaded as long as it likes. Before memory that a
 * driver keeps for a context moves or goes, and before the context itself is destroyed, the driver
 * suspends it (DxgkDdiSuspendContext) and says when nothing of it is left there. For the scheduler
 * that is work of a hardware queue: it has a clock, and what is not suspended in time is reset.
 * With its next work the context is resumed.
 *
 * Drivers that have no DxgkDdiSuspendContext do not schedule that way, and nothing happens here.
 */
#ifndef OBJECT_SUBMIT_HW_SUSPEND_H
#define OBJECT_SUBMIT_HW_SUSPEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "sched/sched.h"

struct context_memory;
struct dxg_adapter;
struct hw_queue_parent;

/* Of an adapter. */
struct hw_suspensions {
	struct lock lock; /* LOCK_RANK_PACKET */
	struct list all;  /* hw_suspension.link, guarded by lock */
	uint64_t last_fence;
	struct notice changed;
};

/* Of a context with hardware queues. */
struct hw_suspension {
	/* Set at the beginning. */
	const struct hw_queue_parent *parent; /* NULL: there is none */
	struct sched_queue queue;             /* the kernel's own: its device may be lost */

	_Atomic uint64_t reached; /* fence of the last one that is over: the queue's progress */
	_Atomic bool is_loaded;   /* had work since it was suspended */
	bool is_suspended;        /* of who has the node's baton */

	/* Guarded by the lock of hw_suspensions. */
	struct list link;
	struct sched_packet packet;
	bool is_queued;
	struct list waiting; /* sched_wait.link */
};

void hw_suspensions_init(struct hw_suspensions *all);
void hw_suspensions_finish(struct hw_suspensions *all);

/* The driver has the context. */
void hw_suspension_begin(struct hw_suspension *suspension, const struct hw_queue_parent *parent);
/* Its queues are gone: suspends it for the last time, if it was not begun in vain. Blocks. */
void hw_suspension_end(struct hw_suspension *suspension);

/* Before work is handed over, with the node's baton. */
void hw_suspension_before_work(struct hw_suspension *suspension);

/*
 * One that may be loaded with this memory is suspended: `wait` is over then, and this is asked
 * again. False: there is none. Must not block; work of it does not begin meanwhile.
 */
MUST_CHECK bool hw_suspend_next(struct dxg_adapter *adapter, const struct context_memory *memory,
				struct sched_wait *wait);

/* The driver says so; on its DPC. */
void hw_suspend_reached(struct dxg_adapter *adapter, uint64_t fence);

#endif
