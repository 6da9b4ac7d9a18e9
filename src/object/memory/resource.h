/* SPDX-License-Identifier: MIT */
/*
 * resource.h - a named group of allocations, with the driver's private data.
 *
 *	dxg_resource (one per device that opened it) ────▶ resource_body (one; may be shared)
 *	  allocations: dxg_allocation.owner_link              bodies: allocation_body.resource_link
 */
#ifndef OBJECT_MEMORY_RESOURCE_H
#define OBJECT_MEMORY_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "handle/object.h"
#include "object/owner/device.h"
#include "object/ending/hold.h"
#include "object/memory/share.h"
#include "vidmm/account.h"

/*
 * What is shared keeps its memory until the last opening and the last NT handle are gone, so a
 * shared body holds a reference on every allocation in it; a private one does not, and its
 * allocations can be destroyed one by one.
 */
struct resource_body {
	struct share share; /* its last reference ends the body */

	/* Set at creation. Read freely afterwards. */
	struct dxg_adapter *adapter;
	bool is_shared; /* nothing is added any more */
	bool is_read_only;
	uint32_t creator_id; /* dxg_process.id, which may be gone */
	void *runtime_data;
	uint32_t runtime_bytes;
	void *private_data;
	uint32_t private_bytes;

	/* The driver's handle: read and changed only inside the driver line
	 * (miniport/allocations.h). */
	void *driver_resource;
	struct hold_count holds;

	/* Of one that processes elsewhere may open: memory that is in a file of its own. */
	struct machine_bank *bank; /* NULL: its memory is where the adapter's is */
	struct vidmm_account account;

	struct lock lock;   /* LOCK_RANK_ALLOCATION */
	struct list bodies; /* allocation_body.resource_link, in order of creation */
	uint32_t body_count;
};

struct dxg_resource {
	struct object object;
	struct dxg_device *device;  /* with a reference */
	struct resource_body *body; /* with a reference, and an opening until it is destroyed */
	bool is_read_only;          /* opened without the right to write */

	/* Guarded by the device's lock. */
	struct list device_link; /* dxg_device.resources */
	struct list allocations; /* dxg_allocation.owner_link */
	uint32_t allocation_count;
};

extern const struct object_class resource_class;

/* A body with one opening, not yet known to the driver. */
MUST_CHECK NTSTATUS resource_body_create(struct dxg_process *process, struct dxg_adapter *adapter,
					 enum share_scheme scheme, const void *runtime_data,
					 uint32_t runtime_bytes, const void *private_data,
					 uint32_t private_bytes, struct resource_body **body_out);

/* Others may open it: its memory is nobody's but its own, and its maker's to write. Before it has any.
 * Refused. */
MUST_CHECK NTSTATUS resource_body_make_bank(struct resource_body *body,
					    const struct dxg_process *maker);

/*
 * A process that may write is let in before anybody who may not is shown the memory (base/client_file.h).
 * Where somebody was, it opens the resource all the same, and locks are refused. Refused.
 */
MUST_CHECK NTSTATUS resource_body_let_write(struct resource_body *body,
					    const struct dxg_process *process);

/* Frees what was never finished. Accepts NULL. */
void resource_body_abandon(struct resource_body *body);

/* Numbered, not yet published; takes over the caller's opening of `body`. */
MUST_CHECK NTSTATUS resource_create(struct dxg_device *device, struct resource_body *body,
				    struct dxg_resource **resource_out);

#endif
