/* SPDX-License-Identifier: MIT */
/*
 * context.h - a stream of work on one node.
 */
#ifndef OBJECT_OWNER_CONTEXT_H
#define OBJECT_OWNER_CONTEXT_H

#include "handle/object.h"
#include "object/ending/cancelled.h"
#include "object/owner/companion.h"
#include "object/memory/context_allocation.h"
#include "object/owner/device.h"
#include "object/owner/hw_queue.h"
#include "object/submit/work_target.h"
#include "sched/sched.h"
#include "address_space/address_space.h"

struct render_stream;

struct dxg_context {
	struct object object; /* first: what the driver calls it by */

	/* Set at creation. Read freely afterwards. */
	struct dxg_device
		*device; /* with a reference, given back after the driver forgot the context */
	struct miniport_context_info info;
	uint32_t node;
	uint32_t engine_mask;
	bool is_virtual;
	bool has_hw_queues;      /* work goes to them */
	bool is_null_rendering;  /* nothing of it is executed */
	bool has_no_gpu_timeout; /* its own wish, or the device's */

	struct sched_queue queue;
	struct context_memory driver_memory; /* what the driver keeps for it */
	struct hw_queue_parent hw_queues;
	struct render_stream *render; /* NULL: nothing is submitted by list (render.h) */
	struct cancellations cancellations;
	struct companion companion; /* in which updates of GPU addresses are carried out */

	struct space_context in_space; /* added when is_virtual */

	struct owned owned; /* dxg_device.contexts */
};

extern const struct object_class context_class;

struct context_options {
	uint32_t node;
	uint32_t engine_mask; /* one bit; 0 means the only engine */
	bool is_virtual;
	bool has_hw_queues;
	bool is_null_rendering;
	bool has_no_gpu_timeout;
	void *private_data;
	uint32_t private_bytes;
};

MUST_CHECK NTSTATUS context_create(struct dxg_device *device, const struct context_options *options,
				   struct dxg_context **context_out);

/* Ends the handle. False when another thread was faster. */
MUST_CHECK bool context_destroy(struct dxg_context *context);

static inline struct work_target context_target(struct dxg_context *context)
{
	return (struct work_target){ context->device, &context->queue, &context->driver_memory,
				     .hw_work =
					     context->has_hw_queues ? &context->hw_queues : NULL };
}

/* Every context of a device that takes no new ones. */
void context_destroy_all(struct dxg_device *device);

#endif
