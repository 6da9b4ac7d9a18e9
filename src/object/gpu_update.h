/*
 * gpu_update.h - updates of GPU addresses that are ordered by a fence.
 *
 *	queued ──▶ the fence reaches `value` ──▶ carried out by the pager ──▶ the fence gets one more
 *
 * Until then the memory it shows stays what the device needs in place, if the client asked for that
 * (vidmm/keep.h). One that still waits when its device or its process ends is dropped: nobody will
 * signal for it.
 */
#ifndef OBJECT_GPU_UPDATE_H
#define OBJECT_GPU_UPDATE_H

#include "object/gpu_addresses.h"
#include "object/sync_object.h"

/* What it shows is of this device: owners are of allocation_addresses(). */
struct gpu_update_list {
	const struct gpuva_operation *operations;
	struct vidmm_binding *const *bindings; /* NULL where an operation has no memory */
	uint32_t count;
};

/*
 * `fence` is a monitored one; with `is_now` it is not waited for. May wait while too many are
 * queued.
 */
MUST_CHECK NTSTATUS gpu_update_queue(struct dxg_device *device, struct dxg_sync_object *fence,
				     uint64_t value, bool is_now,
				     const struct gpu_update_list *list);

/* Those of a process that is ending, or of a device: nobody will signal for them. */
void gpu_update_cancel_all(struct process_adapter *joined);
void gpu_update_cancel_device(struct dxg_device *device);

/* For kernel_validate(): the bodies of the fences that updates wait for. */
void gpu_update_for_each_body(struct process_adapter *joined,
			      void (*look)(void *context, struct sync_body *body), void *context);

#endif
