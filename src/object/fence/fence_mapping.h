/* SPDX-License-Identifier: MIT */
/*
 * fence_mapping.h - where the value of a monitored fence is: a slot for the CPU, an address for the
 * GPU.
 *
 * Mappings are made with no lock held, for the pager may be waited for; they go with the fence.
 */
#ifndef OBJECT_FENCE_FENCE_MAPPING_H
#define OBJECT_FENCE_FENCE_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "sched/fence_page.h"

struct dxg_device;
struct dxg_process;
struct fence_address;

struct fence_mapping {
	struct fence_slot slot;
	const uint64_t *view;          /* where the client that calls reads it */
	struct fence_address *address; /* NULL: the GPU does not see it, and … */
	uint64_t gpu_address;          /* … this is 0 */
};

struct fence_mapping_wish {
	bool is_shared;  /* other processes may open the fence */
	bool is_for_gpu; /* it has an address there, if the device has GPU addresses */
	bool is_writable;
};

/* Where a client reads the value of a fence that it opens. Refused. */
MUST_CHECK NTSTATUS fence_mapping_show(const struct dxg_process *process,
				       const struct fence_slot *slot, const uint64_t **view_out);

MUST_CHECK NTSTATUS fence_mapping_make(struct dxg_device *device,
				       const struct fence_mapping_wish *wish,
				       struct fence_mapping *mapping_out);

#endif
