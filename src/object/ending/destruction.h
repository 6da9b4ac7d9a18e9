/* SPDX-License-Identifier: MIT */
/*
 * destruction.h - how allocations and resources end, whichever door it comes through: a call, a device, a
 * process, the end of the kernel. The order stands in endings.h. What a shared resource holds goes with its
 * body, by the same stages, when the last opening and the last NT handle are gone.
 */
#ifndef OBJECT_ENDING_DESTRUCTION_H
#define OBJECT_ENDING_DESTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "object/memory/allocation.h"
#include "object/memory/resource.h"

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

/*
 * The same for one that nothing has to be waited for, that nobody else can find, and that is in no
 * resource, while allocation_may_go_alone(): what nearly all calls are about. `seat` is the thread's
 * (thread_own_seat). True: the caller's references on it and on the device went with it. False:
 * nothing happened, and it takes the other way.
 */
MUST_CHECK bool destruction_of_unreachable(struct dxg_device *device, uint32_t seat,
					   struct dxg_allocation *allocation);

/* Ends the resource and what is in it; refused when another thread was faster. */
MUST_CHECK NTSTATUS destruction_of_resource(struct dxg_resource *resource,
					    const struct destruction_options *options);

/* Everything the device still has; nothing is added any more. */
void destruction_of_device(struct dxg_device *device);

/* The memory of a shared resource that nobody can reach any more. */
void destruction_of_shared_body(struct resource_body *body);

/* What goes together: one CloseAllocation, one DestroyAllocation. For kernel_validate(). */
struct destroy_batch {
	struct dxg_adapter *adapter;
	struct miniport_client *client; /* for whom the driver is told */
	struct dxg_device *device;      /* NULL: memory of a shared resource, which none has open */
	struct dxg_resource *resource;  /* whose allocations they are; NULL: alone */
	struct resource_body *body;     /* of which the memory is; NULL: alone */
	bool is_resource_going;
	bool is_inside;      /* the gate is passed, device->destroying held */
	bool is_in_use;      /* work that was queued may use them */
	uint32_t references; /* to each: its own, and perhaps that of who found it */
	uint32_t count;
	struct dxg_allocation **allocations;
	void **pointers;   /* room for `count` of the driver's handles */
	struct list dying; /* allocation_body.resource_link: this had their last binding */
	void *storage;     /* is freed last; NULL: nothing */
};

#endif
