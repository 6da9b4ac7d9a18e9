/* SPDX-License-Identifier: MIT */
/*
 * gpu_update.h - updates of GPU addresses that are ordered by a fence.
 *
 *	queued ──▶ the fence reaches `value` ──▶ carried out by the pager ──▶ the fence gets one more
 *
 * Until then the memory it shows stays what the device needs in place, if the client asked for that
 * (vidmm/keep.h). It is carried out in the companion of its context (companion.h). One that still
 * waits when its context, its device or its process ends is dropped, as a wait in the context's queue
 * would be: nobody else could end it.
 */
#ifndef OBJECT_MEMORY_GPU_UPDATE_H
#define OBJECT_MEMORY_GPU_UPDATE_H

#include "object/owner/context.h"
#include "object/memory/gpu_addresses.h"
#include "object/fence/sync_object.h"

/* What it shows is of the context's device: owners are of allocation_addresses(). */
struct gpu_update_list {
	const struct gpuva_operation *operations;
	struct vidmm_binding *const *bindings; /* NULL where an operation has no memory */
	uint32_t count;
};

/*
 * `fence` is a monitored one; with `is_now` it is not waited for. May wait while too many are
 * queued.
 */
MUST_CHECK NTSTATUS gpu_update_queue(struct dxg_context *context, struct dxg_sync_object *fence,
				     uint64_t value, bool is_now,
				     const struct gpu_update_list *list);

/* Those of a process that is ending, of a device, or of a context. */
void gpu_update_cancel_all(struct process_adapter *process_adapter);
void gpu_update_cancel_device(struct dxg_device *device);
void gpu_update_cancel_context(struct dxg_context *context);

/* For kernel_validate(): how many of a context wait; the bodies of the fences that updates wait for. */
uint32_t gpu_update_count(const struct dxg_context *context);
void gpu_update_for_each_body(struct process_adapter *process_adapter,
			      void (*look)(void *context, struct sync_body *body), void *context);

#endif
