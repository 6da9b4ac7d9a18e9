/* SPDX-License-Identifier: MIT */
/*
 * work_set.h - memory that has to be in place whenever work of one context runs: what a driver
 * keeps for the context (a save area) or for all contexts of a device.
 *
 *	nothing queued   not on the device's list: may leave when there is need, content and all
 *	something queued listed: the device does nothing before all of it is in place
 *
 * The context that ran last is still loaded in the hardware, and may be saved any moment. So who
 * takes such memory away has it unloaded first: another context is switched to (driver_memory).
 *
 * Who queues work says so before and looks afterwards, so that nothing runs between the two that is
 * not held:
 *
 *	vidmm_work_set_hold(&context->set);
 *	… sched_queue_submit() …
 *	vidmm_work_set_look(&context->set);      and when the queue is empty again
 *
 * Locks: the manager's.
 */
#ifndef VIDMM_WORK_SET_H
#define VIDMM_WORK_SET_H

#include <stdatomic.h>

#include "vidmm/manager.h"

/* What is special about an allocation that no client made. Lives as long as the allocation. */
struct driver_memory {
	/* Set before the allocation. */
	void *pointer; /* for the CPU, when the driver asked for one */
	/*
	 * Calls over->over() when the hardware has no context loaded that uses it; at once if so.
	 * Any thread, no lock held; must not block. No work of such a context begins meanwhile.
	 */
	void (*unload)(struct driver_memory *memory, struct sched_wait *over);

	bool is_initialized; /* guarded by the allocation's lock */
	struct paging_dependency dependency;
	struct miniport_kept_name name; /* of the driver */
};

/* `memory` may be NULL: a client's name lives as long as its allocation. */
static inline struct miniport_subject driver_memory_subject(struct driver_memory *memory,
							    void *driver_allocation)
{
	return (struct miniport_subject){ driver_allocation, memory ? &memory->name : NULL };
}

struct vidmm_work_set {
	/* Set at init. */
	struct vidmm_device *device;
	struct sched_queue *queue; /* NULL: any of the device's */

	_Atomic uint32_t holders; /* threads that are queueing something */
	_Atomic uint32_t member_count;

	/* Guarded by the manager's lock. */
	struct list members; /* work_set_member.link */
	bool is_needed;
};

struct work_set_member {
	struct vidmm_binding binding;
	struct list link;
};

void vidmm_work_set_init(struct vidmm_work_set *set, struct vidmm_device *device,
			 struct sched_queue *queue);

/* Costs two counts while the set is empty. */
void vidmm_work_set_hold(struct vidmm_work_set *set);
/* Ends a hold. */
void vidmm_work_set_release(struct vidmm_work_set *set);
/* Work is over: what is not needed any more is let go. Any thread, DPC included. */
void vidmm_work_set_look(struct vidmm_work_set *set);

/*
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY: there is no segment that could ever hold it. What is queued
 * already waits for it.
 */
MUST_CHECK NTSTATUS vidmm_work_set_add(struct vidmm_work_set *set, struct work_set_member *member,
				       struct vidmm_allocation *allocation,
				       void *driver_allocation);

/* Nothing of the set's contexts is with the hardware. */
void vidmm_work_set_remove(struct vidmm_work_set *set, struct work_set_member *member);

/*
 * DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION, wherever it is; it is brought in if need be. Returns
 * when it was executed. Not on the pager's thread, nor where the driver stands in its way.
 */
MUST_CHECK NTSTATUS vidmm_work_set_update(struct work_set_member *member, void *private_data,
					  uint32_t private_bytes);

#endif
