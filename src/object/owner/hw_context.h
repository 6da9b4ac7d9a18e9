/* SPDX-License-Identifier: MIT */
/*
 * hw_context.h - a context of hardware queues: a state of one node that these share.
 */
#ifndef OBJECT_OWNER_HW_CONTEXT_H
#define OBJECT_OWNER_HW_CONTEXT_H

#include "handle/object.h"
#include "object/memory/context_allocation.h"
#include "object/owner/device.h"
#include "object/owner/hw_queue.h"
#include "address_space/address_space.h"

struct dxg_hw_context {
	struct object object; /* first: what the driver calls it by */

	/* Set at creation. Read freely afterwards. */
	struct dxg_device *device; /* with a reference, given back after the driver forgot it */
	void *driver_hw_context;

	struct context_memory driver_memory; /* what the driver keeps for it */
	struct hw_queue_parent hw_queues;

	struct space_context in_space;

	struct owned owned; /* dxg_device.hw_contexts */
};

extern const struct object_class hw_context_class;

struct hw_context_options {
	uint32_t node;
	uint32_t engine_mask; /* one bit; 0 means the only engine */
	void *private_data;
	uint32_t private_bytes;
};

/* With a reference for the caller. */
MUST_CHECK NTSTATUS hw_context_create(struct dxg_device *device,
				      const struct hw_context_options *options,
				      struct dxg_hw_context **context_out);

/* Ends the handle, and those of its queues. False when another thread was faster. */
MUST_CHECK bool hw_context_destroy(struct dxg_hw_context *context);

/* Every hardware context of a device that takes no new ones. */
void hw_context_destroy_all(struct dxg_device *device);

#endif
