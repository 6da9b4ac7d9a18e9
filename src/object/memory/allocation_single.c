/* SPDX-License-Identifier: MIT */
/*
 * allocation_single.c - one allocation alone, in one visit to the driver: what nearly all calls are about. The
 * order is that of allocation.c.
 */
#include <assert.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/allocations.h"
#include "object/memory/allocation.h"
#include "object/memory/allocation_body.h"
#include "object/memory/allocation_extra.h"

/* How far it came: made in the driver, and open there. */
RARE static void single_undo(struct allocation_body *body, bool is_made, bool is_open)
{
	struct dxg_allocation *allocation = &body->maker;
	struct dxg_device *device = allocation->device;
	struct miniport *miniport = device->adapter->miniport;

	if (is_made)
		(void)!object_retire(&allocation->object);
	if (is_open) {
		hold_end(&allocation->holds, "opening", allocation->driver_binding);
		miniport_close_allocations(miniport, device->process_adapter->client,
					   device->driver_device, 1, &allocation->driver_binding);
	}
	if (is_made) {
		hold_end(&body->holds, "allocation", body->driver_allocation);
		miniport_destroy_allocations(miniport, device->process_adapter->client, 1,
					     &body->driver_allocation, NULL, false);
	}
	adapter_leave(device->adapter);
	allocation_body_abandon(body);
}

SPECIALIZED NTSTATUS single_join(struct dxg_device *device, uint32_t seat,
				 struct dxg_allocation *allocation)
{
	lock_acquire_from(&device->lock, seat);
	if (UNLIKELY(device->is_dying)) {
		lock_release(&device->lock);
		return device_refuse_dying(device);
	}
	list_push_back(&device->allocations, &allocation->owner_link);
	atomic_store_explicit(&allocation->is_ready, true, memory_order_release);
	lock_release(&device->lock);
	return STATUS_SUCCESS;
}

SPECIALIZED NTSTATUS single_make(struct dxg_device *device, uint32_t seat, void *private_data,
				 uint32_t private_bytes, struct allocation_body *body,
				 uint32_t *handle_out)
{
	struct miniport_allocation answer; /* the rest is the driver's */
	answer.private_data = body + 1;
	answer.private_bytes = private_bytes;
	struct miniport_binding binding = {
		.handle = body->maker.object.handle,
		.private_data = body + 1,
		.private_bytes = private_bytes,
	};
	struct process_adapter *process_adapter = device->process_adapter;
	struct dxg_adapter *adapter = device->adapter;
	struct miniport_visit visit;
	NTSTATUS status = miniport_visit_create(&visit, adapter->miniport, process_adapter->client,
						seat, &answer);

	if (UNLIKELY(!NT_SUCCESS(status))) {
		single_undo(body, false, false);
		return status;
	}
	allocation_body_take_answer(body, device, &answer, answer.priority,
				    &process_adapter->memory.account, NULL);
	object_publish_new(&body->maker.object, false);
	status = miniport_visit_open(&visit, seat, device->driver_device, body->driver_allocation,
				     &binding);
	if (UNLIKELY(!NT_SUCCESS(status))) {
		single_undo(body, true, false);
		return status;
	}
	body->maker.driver_binding = binding.driver_binding;
	/* Before the joining: once it is listed another thread can end it at any time, and the
	   device with it. What a call that fails leaves in private data means nothing. */
	*handle_out = binding.handle;
	bytes_copy(private_data, body + 1, private_bytes);
	status = single_join(device, seat, &body->maker);
	if (UNLIKELY(!NT_SUCCESS(status))) {
		single_undo(body, true, true);
		return status;
	}
	gate_leave_from(&adapter->gate, seat);
	return STATUS_SUCCESS;
}

bool allocation_may_go_alone(void)
{
	return miniport_can_visit();
}

NTSTATUS allocation_create_single(struct dxg_device *device, uint32_t seat, void *private_data,
				  uint32_t private_bytes, uint32_t *handle_out)
{
	struct allocation_body *body = NULL;
	NTSTATUS status = device_check_alive(device);

	if (LIKELY(NT_SUCCESS(status)))
		status = allocation_body_build(device, seat, NULL, private_data, private_bytes,
					       &body);
	if (UNLIKELY(!NT_SUCCESS(status))) {
		object_put(&device->object);
		return status;
	}
	status = adapter_enter_from(device->adapter, seat);
	if (UNLIKELY(!NT_SUCCESS(status))) {
		allocation_body_abandon(body);
		return status;
	}
	return single_make(device, seat, private_data, private_bytes, body, handle_out);
}

/* ---- its end ---- */

void allocation_end_alone(struct dxg_allocation *allocation, uint32_t seat, bool was_used)
{
	struct allocation_body *body = allocation->body;

	assert(allocation == &body->maker && !allocation->resource);
	if (UNLIKELY(was_used)) {
		struct vidmm_binding *binding =
			atomic_load_explicit(&allocation->binding, memory_order_relaxed);

		if (binding != &allocation_ended_binding)
			mem_free(binding);
	}
	allocation_abandon_handle(allocation, seat);
	if (UNLIKELY(!refcount_put_both(&body->lookers)))
		return;
	if (UNLIKELY(was_used)) {
		vidmm_allocation_finish(&body->memory);
		allocation_body_give(body);
		return;
	}
	vidmm_allocation_finish_untouched(&body->memory);
	allocation_body_give(body);
}
