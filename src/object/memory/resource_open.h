/* SPDX-License-Identifier: MIT */
/*
 * resource_open.h - a shared resource on another device: sizes first, then the opening.
 */
#ifndef OBJECT_MEMORY_RESOURCE_OPEN_H
#define OBJECT_MEMORY_RESOURCE_OPEN_H

#include <stdint.h>

#include "object/memory/resource.h"

/* What a client has to make room for. */
struct resource_sizes {
	uint32_t runtime_bytes;
	uint32_t private_bytes;       /* of the resource, for the driver */
	uint64_t total_private_bytes; /* of all its allocations together */
	uint32_t allocation_count;
};

void resource_measure(struct resource_body *body, struct resource_sizes *sizes_out);

/* One allocation of the opened resource. */
struct resource_open_item {
	uint32_t handle;
	uint32_t private_bytes;
	const void *private_data; /* good while the resource is open */
};

struct resource_open_request {
	struct dxg_device *device;
	struct resource_body *body; /* with a reference of the caller's */
	bool is_read_only;
	uint32_t count; /* as many as the resource has */
	struct resource_open_item *items;

	uint32_t resource_handle; /* out */
};

/* All or nothing. DxgkDdiOpenAllocation for all of them; nothing is created again. */
MUST_CHECK NTSTATUS resource_open(struct resource_open_request *request);

#endif
