/* SPDX-License-Identifier: MIT */
/*
 * allocations.h - a driver's allocations: create, open on a device, close, destroy.
 *
 * The driver's allocation belongs to the adapter and may outlive the device that made it; opening
 * it gives a second handle, the device's own. What the driver answers about an allocation is judged
 * here (judge_next_answer() in allocations.c) before anybody else sees it.
 */
#ifndef MINIPORT_ALLOCATIONS_H
#define MINIPORT_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_traits.h"
#include "base/attributes.h"
#include "base/status.h"

struct miniport;
struct miniport_client;

/* One allocation: what the client says about it, and what the driver made of that. */
struct miniport_allocation {
	void *private_data; /* the kernel's copy; the driver may write it */
	uint32_t private_bytes;

	void *driver_allocation;
	uint64_t size_bytes;         /* whole pages */
	uint64_t alignment_bytes;    /* a power of two, at least a page */
	uint32_t supported_segments; /* bit n-1 is segment n; where it may be written */
	uint32_t eviction_segments;
	uint32_t preferred_segments; /* DXGK_SEGMENTPREFERENCE, bit for bit */
	uint32_t hinted_banks;       /* DXGK_SEGMENTBANKPREFERENCE, bit for bit */
	uint32_t priority;
	struct memory_traits traits;
};

struct miniport_creation {
	const void *private_data; /* of the whole group */
	uint32_t private_bytes;
	/*
	 * The driver's handle of the resource: what it returned before, and what it returns now.
	 * Read and changed while the process has the driver to itself. NULL: no resource.
	 */
	void **driver_resource;
	bool is_new_resource; /* made for this creation, and destroyed with it */
	uint64_t heap_bytes;  /* of memory that the client has already; 0: none */
	uint32_t count;
	struct miniport_allocation *allocations;
};

/* DxgkDdiCreateAllocation, once. On failure the driver has none of them. */
MUST_CHECK NTSTATUS miniport_create_allocations(struct miniport *miniport,
						struct miniport_client *client,
						struct miniport_creation *creation);

/* One allocation as a device opens it. */
struct miniport_binding {
	uint32_t handle; /* what the client calls it, and what the driver may ask us about */
	void *private_data;
	uint32_t private_bytes;
	void *driver_binding; /* out: hDeviceSpecificAllocation */
};

struct miniport_opening {
	void *driver_device;
	void *private_data; /* of the whole group */
	uint32_t private_bytes;
	bool is_create;
	bool is_read_only;
	uint32_t count;
	struct miniport_binding *bindings;
	void **storage; /* for `count` handles: closing again must not need memory */
};

/* DxgkDdiOpenAllocation, once. On failure none is open. */
MUST_CHECK NTSTATUS miniport_open_allocations(struct miniport *miniport,
					      struct miniport_client *client,
					      struct miniport_opening *opening);

/* Takes that back: DxgkDdiCloseAllocation, once, for all that are open. */
void miniport_close_opening(struct miniport *miniport, struct miniport_client *client,
			    const struct miniport_opening *opening);

/* DxgkDdiCloseAllocation, once, for all of them. */
void miniport_close_allocations(struct miniport *miniport, struct miniport_client *client,
				void *driver_device, uint32_t count, void *const *driver_bindings);

/*
 * DxgkDdiDestroyAllocation, once. `count` may be 0 when only the resource goes. While the resource
 * stays (`is_resource_going` false) the driver may replace its handle: *driver_resource is read
 * back.
 */
void miniport_destroy_allocations(struct miniport *miniport, struct miniport_client *client,
				  uint32_t count, void *const *driver_allocations,
				  void **driver_resource, bool is_resource_going);

/*
 * One allocation in no resource, which nearly all calls are about, is two entry points in one visit
 * to the driver: what the threading model takes is taken once, and nobody of this process comes
 * between. What happens between the two may wait for nobody.
 */
struct miniport_visit {
	void *storage[12];
};

/*
 * Not by a thread that is in a driver already, nor while somebody is told of each entry point: then
 * there is more to entering and leaving. For the visit that follows.
 */
bool miniport_can_visit(void);

/*
 * DxgkDdiCreateAllocation; on failure the driver has nothing, and the visit is over. `seat` is the
 * thread's (thread_own_seat), all along.
 */
MUST_CHECK NTSTATUS miniport_visit_create(struct miniport_visit *visit, struct miniport *miniport,
					  struct miniport_client *client, uint32_t seat,
					  struct miniport_allocation *allocation);

/* … and DxgkDdiOpenAllocation, which ends the visit; on failure it is not open. */
MUST_CHECK NTSTATUS miniport_visit_open(struct miniport_visit *visit, uint32_t seat,
					void *driver_device, void *driver_allocation,
					struct miniport_binding *binding);

/* DxgkDdiCloseAllocation, whose answer is judged with what follows … */
MUST_CHECK NTSTATUS miniport_visit_close(struct miniport_visit *visit, struct miniport *miniport,
					 struct miniport_client *client, uint32_t seat,
					 void *driver_device, void *driver_binding);

/* … and DxgkDdiDestroyAllocation, which ends the visit. */
void miniport_visit_destroy(struct miniport_visit *visit, uint32_t seat, NTSTATUS close_status,
			    void *driver_allocation);

/* … or nothing more. */
void miniport_visit_end(struct miniport_visit *visit, uint32_t seat, NTSTATUS close_status);

/* What a client wants to change about an allocation. */
struct miniport_property_update {
	void *driver_allocation;
	bool sets_supported_segments;
	bool sets_preferred_segments;
	bool sets_accessed_physically;
	uint32_t supported_segments;
	uint32_t preferred_segments; /* D3DDDI_SEGMENTPREFERENCE, bit for bit */
	bool is_accessed_physically;
};

/* DxgkDdiValidateUpdateAllocationProperty; fine when the driver has none. */
MUST_CHECK NTSTATUS miniport_validate_update(struct miniport *miniport,
					     struct miniport_client *client,
					     const struct miniport_property_update *update);

/*
 * DxgkDdiGetStandardAllocationDriverData for memory that the client has (an existing heap): the
 * private data a driver wants to see for it. Both buffers are freed with mem_free().
 */
struct miniport_standard_data {
	void *allocation_data;
	uint32_t allocation_bytes;
	void *resource_data;
	uint32_t resource_bytes;
};

MUST_CHECK NTSTATUS miniport_describe_existing_heap(struct miniport *miniport,
						    struct miniport_client *client,
						    uint64_t size_bytes,
						    struct miniport_standard_data *data_out);

#endif
