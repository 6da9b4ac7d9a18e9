/* SPDX-License-Identifier: MIT */
/*
 * allocation_list.h - the allocations a call is about: a list of handles, or all of a resource.
 */
#ifndef DISPATCH_ALLOCATION_LIST_H
#define DISPATCH_ALLOCATION_LIST_H

#include <dxg/d3dkmthk.h>

#include "dispatch/decode.h"

/* With references, in memory of the call. */
struct allocation_list {
	uint32_t count;
	struct dxg_allocation **allocations;
};

/* `name` and `count_name` are for refusals. On failure the list is empty. */
MUST_CHECK NTSTATUS allocation_list_decode(struct call *call, struct dxg_device *device,
					   const char *name, const D3DKMT_HANDLE *client_handles,
					   const char *count_name, uint32_t count,
					   struct allocation_list *list);

/* What the resource holds now. */
MUST_CHECK NTSTATUS allocation_list_of_resource(struct call *call, struct dxg_resource *resource,
						struct allocation_list *list);

void allocation_list_put(struct allocation_list *list);

/* What a submission writes for the screen is on the device's residency list. */
MUST_CHECK NTSTATUS allocation_list_check_primaries(const struct call *call,
						    const struct dxg_device *device,
						    const D3DKMT_HANDLE *handles, uint32_t count);

#endif
