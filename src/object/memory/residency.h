/* SPDX-License-Identifier: MIT */
/*
 * residency.h - what a device needs in GPU memory, and what it can do without for a while.
 *
 * The memory manager decides (vidmm/manager.h); here its requests become operations of a paging
 * queue. Everything is judged before anything changes: one bad entry, and nothing has happened.
 * STATUS_PENDING: `*fence_value_out` is what to wait for; 0 with every other status.
 */
#ifndef OBJECT_MEMORY_RESIDENCY_H
#define OBJECT_MEMORY_RESIDENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "object/memory/allocation.h"
#include "object/memory/paging_queue.h"

/* The same allocations as the manager knows them. `bindings` has room for `count`. */
MUST_CHECK NTSTATUS residency_bindings(struct dxg_allocation *const allocations[], uint32_t count,
				       struct vidmm_binding *bindings[]);

/* A look: its client has made it resident. */
bool residency_is_counted(struct dxg_allocation *allocation);

struct residency_request {
	struct vidmm_binding *const *bindings; /* of the device of the queue */
	uint32_t count;
	bool cant_trim_further; /* the maximum counts, not the budget of this moment */
};

MUST_CHECK NTSTATUS residency_make(struct dxg_paging_queue *queue,
				   const struct residency_request *request,
				   uint64_t *fence_value_out, uint64_t *bytes_to_trim_out);

/* There was no memory for what had to succeed: the device is lost. */
void residency_had_to_succeed(struct dxg_paging_queue *queue);

struct residency_offer {
	struct vidmm_binding *const *bindings; /* of `device` */
	uint32_t count;
	enum vidmm_offer_priority priority;
	bool may_decommit;
	bool is_immediate;
	struct vidmm_offer_note *notes; /* room for `count`, for the call's own use */

	/* For refusals: the client's list, and which element of it each is of (NULL: one each). */
	const char *list_name;
	const uint32_t *element_of;
};

MUST_CHECK NTSTATUS residency_offer(struct dxg_device *device, const struct residency_offer *offer);

MUST_CHECK NTSTATUS residency_reclaim(struct dxg_paging_queue *queue,
				      struct vidmm_binding *const bindings[], uint32_t count,
				      enum vidmm_reclaim_result results[],
				      uint64_t *fence_value_out);

/*
 * The same without a queue: returns when what comes back is there. Nothing is left without memory;
 * STATUS_NO_MEMORY, and nothing has changed.
 */
MUST_CHECK NTSTATUS residency_reclaim_now(struct dxg_device *device,
					  struct vidmm_binding *const bindings[], uint32_t count,
					  enum vidmm_reclaim_result results[]);

/* What is where it may not be any more moves. */
MUST_CHECK NTSTATUS residency_update(struct dxg_paging_queue *queue,
				     struct dxg_allocation *allocation,
				     const struct vidmm_update *update, uint64_t *fence_value_out);

/* Returns when everything that moves on the adapter by now has arrived. */
void residency_drain(struct dxg_adapter *adapter);

#endif
