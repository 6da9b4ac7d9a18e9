/* SPDX-License-Identifier: MIT */
/*
 * allocation.h - video memory with a handle.
 *
 * Two halves, because memory may outlive the device that made it:
 *
 *	dxg_allocation (one per device that has it)      allocation_body (one: the memory)
 *	  object, its handle                                driver's hAllocation
 *	  driver's hDeviceSpecificAllocation   ────────▶    size, wishes, backing, CPU view
 *	  in a resource, or alone on the device             the driver's final private data
 *
 * An allocation is made and destroyed in groups (a client's list, a resource): creation is in
 * allocation.c, the order of destruction in destruction.c and nowhere else; CPU access is in
 * allocation_lock.c.
 */
#ifndef OBJECT_MEMORY_ALLOCATION_H
#define OBJECT_MEMORY_ALLOCATION_H

#include <stdatomic.h>
#include <stdint.h>

#include <stddef.h>

#include "base/list.h"
#include "base/refcount.h"
#include "handle/object.h"
#include "object/owner/device.h"
#include "object/ending/hold.h"
#include "vidmm/manager.h"
#include "vidmm/vidmm.h"

struct dxg_resource;
struct space_memory;
struct resource_body;
struct section;

#define ALLOCATION_LOCKS_ENDED UINT32_MAX
#define ALLOCATION_USE_AWAITED UINT32_C(0x80000000)

/* The memory as one device has it. */
struct dxg_allocation {
	struct object object;

	/* Set at creation. Read freely afterwards. */
	struct dxg_device *device;     /* with a reference, given back after the driver closed it;
					  NULL: was given back */
	struct dxg_resource *resource; /* of the same device; NULL: alone */
	struct allocation_body *body;
	struct list owner_link; /* dxg_resource.allocations or dxg_device.allocations; guarded by
				   the device's lock */

	/* From here to the end of the struct it begins as zeroes. */
	void *driver_binding; /* set at creation */

	/* On the device's residency list and the like; made at the first need. */
	_Atomic(struct vidmm_binding *) binding;

	/* GPU addresses that were mapped through this opening; NULL: none (gpu_addresses.h) */
	_Atomic(struct space_memory *) addresses;

	/* CPU locks through this device; ALLOCATION_LOCKS_ENDED once it is being destroyed. */
	_Atomic uint32_t lock_count;

	/* Lists of submissions that are queued; then it is not destroyed before they are over.
	   Wait words, with ALLOCATION_USE_AWAITED while somebody waits for the last one. */
	_Atomic uint32_t uses;
	_Atomic uint32_t writes; /* those of them that write it */

	struct hold_count holds; /* of driver_binding */

	/* False while it is made: the driver may ask for it, clients do not find it. */
	_Atomic bool is_ready;

	/* A destruction has taken it. Guarded by the device's lock. */
	bool is_being_destroyed;
};

/* The memory; the driver's private data stands behind it. */
struct allocation_body {
	/* Bindings that are open, one more of a shared resource: the last one ends it in the
	   driver (destruction.c). */
	struct refcount refs;

	/* Who may look at it: the driver until it destroyed it, and every dxg_allocation as long as
	   a call has a reference on that. */
	struct refcount lookers;

	/* Set at creation. Read freely afterwards. */
	void *driver_allocation;
	struct resource_body *resource; /* outlives it; NULL: alone */
	uint32_t private_bytes;
	bool has_extra; /* what is under `extra` is set, and has to be given back */

	/* Of one that its maker has no more: the trace that begins has it. Only while clients stand still
	 * (check/inventory.c). */
	bool is_told;

	struct hold_count holds; /* of driver_allocation */

	_Atomic(char *) name; /* for traces that begin later; NULL: none */

	struct vidmm_allocation memory;
	struct list resource_link; /* resource_body.bodies, guarded by its lock */

	struct {
		struct section *section;     /* the memory, when the client brought one, or NULL */
		struct quota_ledger *ledger; /* whose quotas it counts for, or NULL */
		uint64_t shared_bytes;       /* of system memory, that it may come to need */
		bool is_uncounted;           /* that was given back already, and for the handle */
	} extra;

	/* As its maker has it: most are never opened by anybody else, and are one block so. */
	struct dxg_allocation maker;
};

extern const struct object_class allocation_class;

/* As the driver left it when it was opened first; NULL: there is none. */
static inline void *allocation_private_data(struct allocation_body *body)
{
	return body->private_bytes ? body + 1 : NULL;
}

/* One looker fewer; the last one gives everything back. */
void allocation_body_put(struct allocation_body *body);

/*
 * The end of one in no resource that was retired by the only thread that has it; nobody else looks
 * at it for the driver's sake any more, either. The reference on its device stays the caller's.
 */
void allocation_end_alone(struct dxg_allocation *allocation, uint32_t seat, bool was_used);

static inline bool allocation_is_ready(const struct dxg_allocation *allocation)
{
	return atomic_load_explicit(&allocation->is_ready, memory_order_acquire);
}

/* One allocation that a client asks for. */
struct allocation_item {
	void *private_data; /* read once; the driver's changes come back in it */
	uint32_t private_bytes;
	void *existing_memory; /* the client's own pages, or NULL */
	bool has_section;      /* the heap is the section with this handle */
	uintptr_t section;
	bool has_priority;
	uint32_t priority;

	uint32_t handle; /* out */
};

struct allocation_request {
	struct dxg_device *device;
	struct dxg_resource *resource; /* add to this one; NULL: alone, or in a new one */
	bool is_new_resource;
	bool is_shared;
	bool is_nt_shared;
	bool is_read_only;
	bool is_standard; /* the client's heap; existing_heap_bytes of it */
	uint64_t existing_heap_bytes;

	const void *private_data; /* of the group, for the driver */
	uint32_t private_bytes;
	const void *runtime_data; /* of the resource, for whoever opens it */
	uint32_t runtime_bytes;

	uint32_t count; /* not 0 */
	struct allocation_item *items;

	uint32_t resource_handle; /* out: of a new resource, else 0 */
	uint32_t global_handle;   /* out: of a resource shared by global handle, else 0 */
};

/* The list of a submission names it, and that submission is over. */
void allocation_begin_use(struct dxg_allocation *allocation, bool is_written);
void allocation_end_use(struct dxg_allocation *allocation, bool is_written);

static inline uint32_t allocation_use_count(const struct dxg_allocation *allocation)
{
	return atomic_load(&allocation->uses) & ~ALLOCATION_USE_AWAITED;
}

/* Until no submission on this device uses it, or writes it; refused when it may not wait. */
MUST_CHECK NTSTATUS allocation_await_idle(struct dxg_allocation *allocation, bool is_of_writes,
					  bool may_wait);

/*
 * The GPU may write to it for this device: it was not opened without that right. Refused; `argument` and
 * `index` (-1: it is no list) ask for it.
 */
MUST_CHECK NTSTATUS allocation_check_writable(const struct dxg_allocation *allocation,
					      const char *argument, int64_t index);

/* CPU access through this device; nests. Flags as vidmm_lock_anywhere() has them. */
MUST_CHECK NTSTATUS allocation_lock(struct dxg_allocation *allocation, uint32_t flags,
				    void **pointer_out);

/*
 * What its end will touch, and nobody has for long: the rest of it, and what the driver calls by the
 * handle of the opening. That is its own affair; mostly it is a block of the pool, whose head is not
 * far in front of it.
 */
static inline void allocation_prefetch(const struct dxg_allocation *allocation)
{
	const char *body = (const char *)allocation->body;
	uintptr_t opening = (uintptr_t)allocation->driver_binding;

	__builtin_prefetch((const void *)opening, 1);
	__builtin_prefetch((const void *)(opening - 56), 1);
	__builtin_prefetch(body, 1);
	__builtin_prefetch(body + 64, 1);
	__builtin_prefetch(body + 128, 1);
}

/* Where it stands on the device's residency list; made now if this is the first need. */
MUST_CHECK NTSTATUS allocation_binding(struct dxg_allocation *allocation,
				       struct vidmm_binding **binding_out);

/* The device has it no more; nothing of it is under way afterwards. False: it never had. */
bool allocation_end_binding(struct dxg_allocation *allocation);

/*
 * Its client has destroyed it: vidmm_binding_retire(), where there is something to retire. From now on it
 * gets no binding any more.
 */
void allocation_retire_binding(struct dxg_allocation *allocation, bool is_in_use);

/* False when this device has not locked it. */
MUST_CHECK bool allocation_unlock(struct dxg_allocation *allocation);

/*
 * The same in two steps, for a list of which all are unlocked or none: a lock is taken back, and
 * then its memory let go, or the lock was never taken back.
 */
MUST_CHECK bool allocation_unlock_begin(struct dxg_allocation *allocation);
MUST_CHECK bool allocation_unlock_end(struct dxg_allocation *allocation);
void allocation_unlock_undo(struct dxg_allocation *allocation);

/* All or nothing: on failure no handle is valid and the driver has nothing. */
MUST_CHECK NTSTATUS allocation_create(struct allocation_request *request);

/*
 * The same for one alone, of nobody's memory and with private data, while the calling thread may go in and out of the driver for it alone: what
 * nearly all calls make. The private data is read once, and the driver's changes come back in it.
 * `seat` is the thread's (thread_own_seat). The caller's reference to the device goes with it, also
 * when it fails.
 */
bool allocation_may_go_alone(void);
MUST_CHECK NTSTATUS allocation_create_single(struct dxg_device *device, uint32_t seat,
					     void *private_data, uint32_t private_bytes,
					     uint32_t *handle_out);

/* What its client calls it, for traces; the last name counts, an empty one is none. Refused. */
MUST_CHECK NTSTATUS allocation_set_name(struct dxg_allocation *allocation, const char *name);

/* What a trace is told when there is new memory, or when it begins: it is the device's that has this one. */
void allocation_trace_live(const struct dxg_allocation *allocation, uint64_t id,
			   uint64_t size_bytes, uint32_t supported_segments);

/* The same of one that is there, when another device has it, too. */
void allocation_trace_opened(const struct dxg_allocation *allocation);

#endif
