/* SPDX-License-Identifier: MIT */
/*
 * hw_queue.h - a stream of work that the hardware orders itself.
 *
 *	hardware context, or a context with HwQueueSupported
 *	  └── hardware queue ── progress fence: a monitored one, which the hardware writes
 *
 * A submission brings the value that the progress fence has when it is done; values only grow.
 * Waits and signals in the queue are the kernel's, in the queue's order: what is behind a wait is
 * given to the hardware when the wait is over, and a signal acts when what is in front of it is
 * done. A wait in the context itself is one for everything its queues are given later (hw_gate.h),
 * a signal there one behind everything they have.
 *
 * Clients wait for the fence like for any of theirs; they cannot signal or destroy it. It goes to
 * its maximum when nothing can move it any more: the queue ended, or its device was lost and the
 * hardware has nothing of it left. Not before: the scheduler reads from it what is done.
 */
#ifndef OBJECT_OWNER_HW_QUEUE_H
#define OBJECT_OWNER_HW_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "handle/object.h"
#include "object/owner/device.h"
#include "object/submit/hw_suspend.h"
#include "object/fence/sync_object.h"
#include "object/submit/work_target.h"

/* Part of what has hardware queues. */
struct hw_queue_parent {
	/* Set at creation. */
	struct object *object; /* its queues hold references on it */
	struct dxg_device *device;
	struct context_memory *memory;
	void *driver_context;
	uint32_t node;
	bool is_hw_context;
	bool has_no_gpu_timeout;
	struct hw_suspension suspension;

	/* Waits in the context itself; see hw_gate.h. */
	struct lock gate_lock; /* LOCK_RANK_PACKET */
	_Atomic uint64_t waits_queued;
	_Atomic uint64_t waits_over;

	/* Guarded by the device's lock. */
	struct list queues; /* dxg_hw_queue.owned */
	bool is_ending;     /* takes no new ones */
};

struct dxg_hw_queue {
	struct object object;

	/* Set at creation. Read freely afterwards. */
	struct hw_queue_parent *parent; /* with a reference on its object */
	struct dxg_device *device;      /* the parent's */
	void *driver_queue;
	struct dxg_sync_object *fence; /* the client's opening, which ends with the queue */
	struct sync_body *body;        /* of the fence, with a reference */
	bool has_no_gpu_timeout;

	struct sched_queue queue;
	_Atomic uint64_t
		gate; /* the last wait of its context that it has a packet for (hw_gate.c) */

	/* Guarded by the device's lock. */
	struct owned owned; /* hw_queue_parent.queues */
	bool is_lost;       /* hw_queue_device_lost() has been here */
};

extern const struct object_class hw_queue_class;

struct hw_queue_options {
	uint32_t flags; /* D3DDDI_CREATEHWQUEUEFLAGS, for the driver */
	bool has_no_gpu_timeout;
	void *private_data;
	uint32_t private_bytes;
};

/* A new queue and its fence, with a reference for the caller. */
MUST_CHECK NTSTATUS hw_queue_create(struct hw_queue_parent *parent,
				    const struct hw_queue_options *options,
				    struct dxg_hw_queue **queue_out);

/*
 * Ends the handle; what is ready still runs and is waited for; then the fence ends. False when
 * another thread was faster.
 */
MUST_CHECK bool hw_queue_destroy(struct dxg_hw_queue *queue);

/* Every queue of a parent, which takes no new ones from here on and is loaded no more at the end. */
void hw_queue_destroy_all(struct hw_queue_parent *parent);

struct hw_submission_request {
	uint64_t progress;
	uint64_t gpu_address;
	uint32_t size_bytes;
	const void *private_data; /* for the driver, copied */
	uint32_t private_bytes;
};

MUST_CHECK NTSTATUS hw_queue_submit(struct dxg_hw_queue *queue,
				    const struct hw_submission_request *request);

static inline struct work_target hw_queue_target(struct dxg_hw_queue *queue)
{
	return (struct work_target){ queue->device, &queue->queue, queue->parent->memory,
				     .hw_queue = queue };
}

/*
 * All that `parent` has, as far as there is room for them; `holders` have a reference each. Returns
 * how many there are.
 */
uint32_t hw_queue_targets(struct hw_queue_parent *parent, struct work_target *targets,
			  struct object **holders, uint32_t capacity);

/* The device has left DEVICE_ACTIVE for good: fences that nothing moves any more are ended. */
void hw_queue_device_lost(struct dxg_device *device);

#endif
