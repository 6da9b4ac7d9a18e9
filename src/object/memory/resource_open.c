/* SPDX-License-Identifier: MIT */
/*
 * resource_open.c - see resource_open.h.
 *
 * A shared resource takes no more allocations, so its list of bodies is constant while somebody has
 * a reference, and every body lives as long.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/allocations.h"
#include "object/memory/allocation.h"
#include "object/memory/resource_open.h"

struct opening {
	struct resource_open_request *request;
	struct dxg_device *device;
	struct dxg_resource *resource;
	uint32_t built;
	struct dxg_allocation **allocations;
	struct miniport_binding *bindings;
	void **storage;
	struct miniport_opening driver_opening;
};

static NTSTATUS no_memory(NTSTATUS status)
{
	return refuse(status, RULE_API_NO_MEMORY, NULL, "no memory to open a resource");
}

void resource_measure(struct resource_body *body, struct resource_sizes *sizes_out)
{
	struct resource_sizes sizes = {
		.runtime_bytes = body->runtime_bytes,
		.private_bytes = body->private_bytes,
	};

	lock_acquire(&body->lock);
	list_each (struct allocation_body, each, &body->bodies, resource_link) {
		sizes.allocation_count++;
		sizes.total_private_bytes += each->private_bytes;
	}
	lock_release(&body->lock);
	*sizes_out = sizes;
}

/* ---- the objects ---- */

static NTSTATUS build_allocation(struct opening *opening, struct allocation_body *body)
{
	struct dxg_device *device = opening->device;
	struct dxg_allocation *allocation = mem_zalloc(sizeof(*allocation));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (allocation)
		status = object_init(&allocation->object, &allocation_class,
				     &device->process->handles);
	if (!NT_SUCCESS(status)) {
		mem_free(allocation);
		return no_memory(status);
	}
	allocation->device = device;
	allocation->resource = opening->resource;
	allocation->body = body;
	object_get(&device->object);
	object_get(&opening->resource->object);
	refcount_get(&body->refs);
	refcount_get(&body->lookers);

	opening->bindings[opening->built] = (struct miniport_binding){
		.handle = allocation->object.handle,
		.private_data = allocation_private_data(body),
		.private_bytes = body->private_bytes,
	};
	opening->allocations[opening->built++] = allocation;
	return STATUS_SUCCESS;
}

static void free_objects(struct opening *opening)
{
	while (opening->built > 0) {
		struct dxg_allocation *allocation = opening->allocations[--opening->built];
		/* The resource's own reference is still there. */
		bool is_last = refcount_put(&allocation->body->refs);
		assert(!is_last);
		(void)is_last;
		object_put(&allocation->object);
	}
	object_put(&opening->resource->object);
}

static NTSTATUS build_objects(struct opening *opening)
{
	struct resource_body *body = opening->request->body;
	NTSTATUS status = resource_create(opening->device, body, &opening->resource);

	if (!NT_SUCCESS(status))
		return status;
	opening->resource->is_read_only = opening->request->is_read_only;
	if (!opening->request->is_read_only)
		status = resource_body_let_write(body, opening->device->process);
	list_each (struct allocation_body, each, &body->bodies, resource_link) {
		if (!NT_SUCCESS(status))
			break;
		status = build_allocation(opening, each);
	}
	if (!NT_SUCCESS(status))
		free_objects(opening);
	return status;
}

/* ---- the driver, the lists ---- */

static NTSTATUS open_in_driver(struct opening *opening)
{
	struct resource_body *body = opening->request->body;
	struct dxg_device *device = opening->device;

	opening->driver_opening = (struct miniport_opening){
		.driver_device = device->driver_device,
		.private_data = body->private_data,
		.private_bytes = body->private_bytes,
		.is_read_only = opening->request->is_read_only,
		.count = opening->built,
		.bindings = opening->bindings,
		.storage = opening->storage,
	};
	NTSTATUS status = miniport_open_allocations(device->adapter->miniport,
						    device->process_adapter->client,
						    &opening->driver_opening);

	for (uint32_t i = 0; NT_SUCCESS(status) && i < opening->built; i++)
		opening->allocations[i]->driver_binding = opening->bindings[i].driver_binding;
	return status;
}

static void close_in_driver(struct opening *opening)
{
	struct dxg_device *device = opening->device;

	for (uint32_t i = 0; i < opening->built; i++) {
		struct dxg_allocation *allocation = opening->allocations[i];

		hold_end(&allocation->holds, "opening", allocation->driver_binding);
	}
	miniport_close_opening(device->adapter->miniport, device->process_adapter->client,
			       &opening->driver_opening);
}

static NTSTATUS join(struct opening *opening)
{
	struct dxg_resource *resource = opening->resource;
	struct dxg_device *device = opening->device;
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&device->lock);
	if (device->is_dying) {
		status = device_refuse_dying(device);
	} else {
		list_push_back(&device->resources, &resource->device_link);
		for (uint32_t i = 0; i < opening->built; i++) {
			struct dxg_allocation *allocation = opening->allocations[i];
			list_push_back(&resource->allocations, &allocation->owner_link);
			allocation_trace_opened(allocation);
			atomic_store_explicit(&allocation->is_ready, true, memory_order_release);
		}
		resource->allocation_count = opening->built;
		object_publish(&resource->object);
	}
	lock_release(&device->lock);
	return status;
}

/* What is retired already stays so. */
static void retire_objects(struct opening *opening)
{
	for (uint32_t i = 0; i < opening->built; i++)
		(void)!object_retire(&opening->allocations[i]->object);
}

static NTSTATUS open_objects(struct opening *opening)
{
	struct resource_open_request *request = opening->request;
	NTSTATUS status = build_objects(opening);

	if (!NT_SUCCESS(status))
		return status;
	status = adapter_enter(opening->device->adapter);
	if (!NT_SUCCESS(status))
		goto free_objects;
	/* The driver asks for them while it opens them. */
	for (uint32_t i = 0; i < opening->built; i++)
		object_publish(&opening->allocations[i]->object);
	status = open_in_driver(opening);
	if (!NT_SUCCESS(status))
		goto retire;
	/* Before the joining: once they are listed another thread can end them at any time. */
	request->resource_handle = opening->resource->object.handle;
	for (uint32_t i = 0; i < opening->built; i++) {
		struct dxg_allocation *allocation = opening->allocations[i];
		request->items[i] = (struct resource_open_item){
			.handle = allocation->object.handle,
			.private_bytes = allocation->body->private_bytes,
			.private_data = allocation_private_data(allocation->body),
		};
	}
	status = join(opening);
	if (!NT_SUCCESS(status))
		goto close_in_driver;
	adapter_leave(opening->device->adapter);
	return STATUS_SUCCESS;

close_in_driver:
	retire_objects(opening);
	close_in_driver(opening);
retire:
	retire_objects(opening);
	adapter_leave(opening->device->adapter);
free_objects:
	free_objects(opening);
	return status;
}

NTSTATUS resource_open(struct resource_open_request *request)
{
	struct opening opening = { .request = request, .device = request->device };
	NTSTATUS status = device_check_alive(request->device);

	if (!NT_SUCCESS(status))
		return status;
	if (!share_open(&request->body->share))
		return invalid(RULE_API_HANDLE, "hGlobalShare",
			       "names a resource that was closed everywhere");
	opening.allocations = mem_zalloc_array(request->count, sizeof(*opening.allocations));
	opening.bindings = mem_zalloc_array(request->count, sizeof(*opening.bindings));
	opening.storage = mem_zalloc_array(request->count, sizeof(*opening.storage));
	status = opening.allocations && opening.bindings && opening.storage
			 ? open_objects(&opening)
			 : no_memory(STATUS_NO_MEMORY);
	mem_free(opening.allocations);
	mem_free(opening.bindings);
	mem_free(opening.storage);
	if (!NT_SUCCESS(status))
		share_close(&request->body->share);
	return status;
}
