/* SPDX-License-Identifier: MIT */
/*
 * work_target.h - where work is queued: a context, or a hardware queue.
 */
#ifndef OBJECT_SUBMIT_WORK_TARGET_H
#define OBJECT_SUBMIT_WORK_TARGET_H

#include "base/attributes.h"
#include "object/memory/context_allocation.h"
#include "object/owner/device.h"
#include "sched/sched.h"

struct dxg_hw_queue;
struct hw_queue_parent;

/* Whoever has one holds the context or the hardware queue that it is of. */
struct work_target {
	struct dxg_device *device;
	struct sched_queue *queue;
	struct context_memory *memory;   /* what the driver keeps for it */
	struct dxg_hw_queue *hw_queue;   /* NULL: it is a context … */
	struct hw_queue_parent *hw_work; /* … whose work goes to hardware queues, or NULL */
	bool may_be_gone;                /* a hardware queue that the client did not name */
};

/*
 * Queues it behind what is there; work may wait for a slot, waits and signals do not. Refused when the
 * device can do no more work: then the packet is still the caller's.
 */
MUST_CHECK NTSTATUS work_target_queue(const struct work_target *target,
				      struct sched_packet *packet);

/* One packet to each of several targets of one device, all or none. */
enum { WORK_TARGETS_MAX = 64 };
MUST_CHECK NTSTATUS work_targets_queue(const struct work_target *targets,
				       struct sched_packet *const packets[], uint32_t count);

/*
 * What is queued counts for the quota of its process (limits.process.queuedKiB) until it is over. Who frees
 * it takes that back, before the device can go.
 */
MUST_CHECK static inline NTSTATUS work_charge(const struct dxg_device *device, uint64_t size_bytes)
{
	return quota_take(device->process->ledger, QUOTA_QUEUED_BYTES, size_bytes);
}

static inline void work_discharge(const struct dxg_device *device, uint64_t size_bytes)
{
	quota_give(device->process->ledger, QUOTA_QUEUED_BYTES, size_bytes);
}

/* The driver's own look at what a client sends it, before that is queued. */
MUST_CHECK NTSTATUS work_validate(struct dxg_device *device,
				  const struct miniport_validation *validation);

/* Around queueing something: what the driver keeps for the target is in place while it runs. */
void work_target_hold(const struct work_target *target);
void work_target_release(const struct work_target *target);

/* Nothing of it is queued any more; called by its queue. */
void work_target_emptied(const struct work_target *target);

#endif
