/* SPDX-License-Identifier: MIT */
/*
 * destruction.h - how allocations and resources end.
 *
 * Whichever door it comes through (a call, a device, a process, the end of the kernel), this is the
 * order:
 *
 *	1. the handles are retired and the lists forget them: a second destroy fails
 *	2. work queued before is over (not the owner's own with is_not_in_use; paging in any case)
 *	3. CPU views go
 *	4. DxgkDdiCloseAllocation, once for all bindings of the group
 *	5. DxgkDdiDestroyAllocation, once for the memory whose last binding this was; with
 *	   DestroyResource when the resource goes
 *	6. backing store, private data, the resource's body, the reference on the device
 *
 * destruction.c owns that order. What a shared resource holds goes with its body, by the same
 * steps 5 and 6, when the last opening and the last NT handle are gone.
 */
#ifndef OBJECT_DESTRUCTION_H
#define OBJECT_DESTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "object/allocation.h"
#include "object/resource.h"

struct ending;

struct destruction_options {
	bool is_not_in_use;  /* AssumeNotInUse: do not wait for the owner's queued work */
	bool is_synchronous; /* SynchronousDestroy: return when the memory is free */
};

/*
 * Ends these allocations of one device: all alone, or all of one resource, which stays. The
 * caller's references go with them. Nothing is destroyed, and nothing given back, when one is named
 * twice, when another thread destroys one, or when there is no memory to do it at once.
 */
MUST_CHECK NTSTATUS destruction_of_list(struct dxg_device *device, uint32_t count,
					struct dxg_allocation **allocations,
					const struct destruction_options *options);

/* The same for one. The caller's reference to the device goes, too, whatever comes of it. */
MUST_CHECK NTSTATUS destruction_of_single(struct dxg_device *device,
					  struct dxg_allocation *allocation,
					  const struct destruction_options *options);

/* Ends the resource and what is in it; refused when another thread was faster. */
MUST_CHECK NTSTATUS destruction_of_resource(struct dxg_resource *resource,
					    const struct destruction_options *options);

/* Everything the device still has; nothing is added any more. */
void destruction_of_device(struct dxg_device *device);

/* The memory of a shared resource that nobody can reach any more. */
void destruction_of_shared_body(struct resource_body *body);

/* For kernel_validate(): what an ending in the device's line will end. The device's lock is held. */
struct deferred_contents {
	struct dxg_resource *resource; /* that goes with them; NULL: none */
	uint32_t count;
	struct dxg_allocation *const *allocations;
};
struct deferred_contents destruction_deferred(const struct ending *ending);

#endif
