/* SPDX-License-Identifier: MIT */
/*
 * handle_data.c - what a driver is told about a client's handles (miniport/handle_services.h).
 *
 * A handle that is still being made resolves too: drivers ask for it while they open it. What is
 * held is the memory or what a device has open of it, not the handle: a client may destroy the
 * handle any moment, and destruction waits for the hold before it goes to the driver
 * (destruction.c).
 */
#include "handle/table.h"
#include "object/memory/allocation.h"
#include "object/ending/hold.h"
#include "object/memory/resource.h"
#include "object/owner/kernel.h"

/* What the process of the asking driver calls by this handle, on whichever adapter. */
static struct object *find(const struct process_adapter *asker, uint32_t handle,
			   const struct object_class *class)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;

	if (handle_find(&asker->process->handles, handle, class, &object, &found) != HANDLE_FOUND)
		return NULL;
	return object;
}

/* A client may name anything to any driver: what another driver made of it is not for this one. */
static struct dxg_allocation *find_allocation(const void *owner, uint32_t handle)
{
	const struct process_adapter *asker = owner;
	struct object *object = find(asker, handle, &allocation_class);

	if (!object)
		return NULL;
	struct dxg_allocation *allocation = object_as(allocation, object);
	if (allocation->device->adapter == asker->adapter)
		return allocation;
	object_put(object);
	return NULL;
}

static struct dxg_resource *find_resource(const void *owner, uint32_t handle)
{
	const struct process_adapter *asker = owner;
	struct object *object = find(asker, handle, &resource_class);

	if (!object)
		return NULL;
	struct dxg_resource *resource = object_as(resource, object);
	if (resource->body->adapter == asker->adapter)
		return resource;
	object_put(object);
	return NULL;
}

static void *data_of_allocation(const struct dxg_allocation *allocation, bool is_device_specific)
{
	return is_device_specific ? allocation->driver_binding
				  : allocation->body->driver_allocation;
}

static void *data_get(const struct miniport_handle_query *query)
{
	void *data = NULL;

	if (query->is_resource) {
		struct dxg_resource *resource = find_resource(query->owner, query->handle);
		if (resource) {
			data = resource->body->driver_resource;
			object_put(&resource->object);
		}
		return data;
	}
	struct dxg_allocation *allocation = find_allocation(query->owner, query->handle);
	if (allocation) {
		data = data_of_allocation(allocation, query->is_device_specific);
		object_put(&allocation->object);
	}
	return data;
}

/* The data, when there is some and it can be held. */
static void *take_with(void *data, struct hold_count *holds, void **hold_out)
{
	if (data)
		*hold_out = hold_take(holds);
	return *hold_out ? data : NULL;
}

static void *acquire_resource(const struct miniport_handle_query *query, void **hold_out)
{
	struct dxg_resource *resource = find_resource(query->owner, query->handle);

	if (!resource)
		return NULL;
	void *data = take_with(resource->body->driver_resource, &resource->body->holds, hold_out);
	object_put(&resource->object);
	return data;
}

/* The memory outlives what is open of it: who holds an opening holds the memory, too. */
static void *acquire_allocation(const struct miniport_handle_query *query, void **hold_out)
{
	struct dxg_allocation *allocation = find_allocation(query->owner, query->handle);

	if (!allocation)
		return NULL;
	void *data =
		take_with(data_of_allocation(allocation, query->is_device_specific),
			  query->is_device_specific ? &allocation->holds : &allocation->body->holds,
			  hold_out);
	object_put(&allocation->object);
	return data;
}

static void *data_acquire(const struct miniport_handle_query *query, void **hold_out)
{
	return query->is_resource ? acquire_resource(query, hold_out)
				  : acquire_allocation(query, hold_out);
}

static uint32_t parent_of(void *owner, uint32_t handle)
{
	struct dxg_allocation *allocation = find_allocation(owner, handle);
	uint32_t parent = 0;

	if (allocation) {
		if (allocation->resource)
			parent = allocation->resource->object.handle;
		object_put(&allocation->object);
	}
	return parent;
}

static uint32_t child_of(void *owner, uint32_t handle, uint32_t index)
{
	struct dxg_resource *resource = find_resource(owner, handle);
	uint32_t child = 0;
	struct list *link;

	if (!resource)
		return 0;
	lock_acquire(&resource->device->lock);
	list_for_each (link, &resource->allocations) {
		if (index-- == 0) {
			child = container_of(link, struct dxg_allocation, owner_link)
					->object.handle;
			break;
		}
	}
	lock_release(&resource->device->lock);
	object_put(&resource->object);
	return child;
}

const struct miniport_handle_services handle_data_services = {
	.get = data_get,
	.acquire = data_acquire,
	.release = hold_give,
	.parent = parent_of,
	.child = child_of,
};
