/* SPDX-License-Identifier: MIT */
/*
 * allocation.c - making allocations. How they end is in destruction.c; one alone is made in
 * allocation_single.c.
 *
 *   in:   a request that was decoded and checked (allocation.h)
 *   out:  handles that a client can use, or nothing at all
 *
 * The order: build the objects (their numbers come now, the resource's first) -> the driver creates
 * -> the handles resolve for the driver -> the driver opens -> the lists and the clients find them.
 * What fails undoes what succeeded before it.
 */

#include "base/bytes.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/section.h"
#include "miniport/allocations.h"
#include "object/memory/allocation.h"
#include "object/memory/allocation_body.h"
#include "object/memory/allocation_extra.h"
#include "object/memory/brought.h"
#include "object/memory/resource.h"
#include "trace/trace.h"

enum { FEW = 4 };

struct group {
	struct allocation_request *request;
	struct dxg_device *device;
	struct miniport *miniport;
	struct miniport_client *client;

	struct resource_body *new_body; /* of a new resource */
	struct dxg_resource *resource;  /* new or given; NULL: alone */
	uint32_t built;                 /* bodies that exist */
	struct allocation_body **bodies;
	struct miniport_allocation *answers;
	struct miniport_binding *bindings;
	void **storage;
	struct miniport_opening opening;

	struct allocation_body *few_bodies[FEW];
	struct miniport_allocation few_answers[FEW];
	struct miniport_binding few_bindings[FEW];
	void *few_storage[FEW];
};

static void body_end(struct allocation_body *body)
{
	vidmm_allocation_finish(&body->memory);
	allocation_body_give(body);
}

void allocation_body_put(struct allocation_body *body)
{
	if (refcount_put_quickly(&body->lookers))
		body_end(body);
}

struct vidmm_binding allocation_ended_binding;

static void allocation_finish(struct object *object)
{
	struct dxg_allocation *allocation = object_as(allocation, object);
	struct vidmm_binding *binding =
		atomic_load_explicit(&allocation->binding, memory_order_relaxed);
	struct dxg_resource *resource = allocation->resource;
	struct dxg_device *device = allocation->device;
	struct allocation_body *body = allocation->body;

	if (binding != &allocation_ended_binding)
		mem_free(binding);
	if (allocation != &body->maker)
		mem_free(allocation);
	allocation_body_put(body);
	if (resource)
		object_put(&resource->object);
	if (device)
		object_put(&device->object);
}

const struct object_class allocation_class = { "an allocation", allocation_finish };

static NTSTATUS no_memory(void)
{
	return refuse_no_memory("no memory for an allocation");
}

/* ---- residency ---- */

NTSTATUS allocation_binding(struct dxg_allocation *allocation, struct vidmm_binding **binding_out)
{
	struct vidmm_binding *binding = atomic_load(&allocation->binding);

	if (!binding) {
		struct vidmm_binding *fresh = mem_zalloc(sizeof(*fresh));
		if (!fresh)
			return no_memory();
		vidmm_binding_init(fresh, &allocation->device->memory, &allocation->body->memory,
				   allocation->body->driver_allocation);
		if (atomic_compare_exchange_strong(&allocation->binding, &binding, fresh)) {
			binding = fresh;
		} else {
			vidmm_binding_finish(fresh);
			mem_free(fresh);
		}
	}
	if (binding == &allocation_ended_binding)
		return invalid(RULE_API_HANDLE, NULL,
			       "Allocation 0x%08x was destroyed during the call",
			       allocation->object.handle);
	*binding_out = binding;
	return STATUS_SUCCESS;
}

void allocation_retire_binding(struct dxg_allocation *allocation, bool is_in_use)
{
	struct resource_body *resource = allocation->body->resource;
	struct vidmm_binding *binding = NULL;

	if (!atomic_compare_exchange_strong(&allocation->binding, &binding,
					    &allocation_ended_binding))
		vidmm_binding_retire(binding, is_in_use, !resource || !resource->is_shared);
}

bool allocation_end_binding(struct dxg_allocation *allocation)
{
	struct vidmm_binding *binding = NULL;

	if (LIKELY(atomic_compare_exchange_strong(&allocation->binding, &binding,
						  &allocation_ended_binding)))
		return false;
	vidmm_binding_finish(binding);
	return true;
}

/* ---- the objects ---- */

static NTSTATUS group_take_memory(struct group *group)
{
	uint32_t count = group->request->count;

	if (count <= FEW) {
		group->bodies = group->few_bodies;
		group->answers = group->few_answers;
		group->bindings = group->few_bindings;
		group->storage = group->few_storage;
		return STATUS_SUCCESS;
	}
	group->bodies = mem_zalloc_array(count, sizeof(struct allocation_body *));
	group->answers = mem_zalloc_array(count, sizeof(*group->answers));
	group->bindings = mem_zalloc_array(count, sizeof(*group->bindings));
	group->storage = mem_zalloc_array(count, sizeof(*group->storage));
	return group->bodies && group->answers && group->bindings && group->storage ? STATUS_SUCCESS
										    : no_memory();
}

static void group_free_memory(struct group *group)
{
	if (group->bodies == group->few_bodies)
		return;
	mem_free(group->bodies);
	mem_free(group->answers);
	mem_free(group->bindings);
	mem_free(group->storage);
}

void allocation_body_abandon(struct allocation_body *body)
{
	object_put(&body->maker.object);
	allocation_body_put(body);
}

static enum share_scheme scheme_of(const struct allocation_request *request)
{
	if (!request->is_shared)
		return SHARE_PRIVATE;
	return request->is_nt_shared ? SHARE_NT : SHARE_GLOBAL;
}

static void group_free_objects(struct group *group)
{
	while (group->built > 0)
		allocation_body_abandon(group->bodies[--group->built]);
	if (group->new_body) {
		/* Never published, so this is the last reference. */
		if (group->resource)
			object_put(&group->resource->object);
		resource_body_abandon(group->new_body);
	}
}

static NTSTATUS group_map_brought(struct group *group)
{
	struct allocation_request *request = group->request;
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 0; NT_SUCCESS(status) && i < request->count; i++) {
		if (request->items[i].existing_memory)
			status = brought_map(group->device->process->arena, group->bodies[i],
					     &request->items[i],
					     request->is_standard ? request->existing_heap_bytes
								  : MACHINE_PAGE_BYTES,
					     request->is_read_only, i);
	}
	return status;
}

static NTSTATUS group_build_objects(struct group *group)
{
	uint32_t count = group->request->count;
	struct allocation_request *request = group->request;
	NTSTATUS status = STATUS_SUCCESS;

	if (request->is_new_resource) {
		status = resource_body_create(group->device->process, group->device->adapter,
					      scheme_of(request), request->runtime_data,
					      request->runtime_bytes, request->private_data,
					      request->private_bytes, &group->new_body);
		if (NT_SUCCESS(status)) {
			group->new_body->is_read_only = request->is_read_only;
			group->new_body->creator_id = group->device->process->id;
			if (request->is_shared && process_shares_elsewhere(group->device->process))
				status = resource_body_make_bank(group->new_body,
								 group->device->process);
		}
		if (NT_SUCCESS(status))
			status = resource_create(group->device, group->new_body, &group->resource);
	} else {
		group->resource = request->resource;
	}
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++) {
		status = allocation_body_build(group->device, thread_own_seat, group->resource,
					       request->items[i].private_data,
					       request->items[i].private_bytes, &group->bodies[i]);
		if (NT_SUCCESS(status)) {
			object_get(&group->device->object);
			group->built++;
		}
	}
	if (NT_SUCCESS(status) && request->items[0].has_section) {
		assert(group->built == 1); /* a standard allocation is one */
		if (!group->bodies[0]->has_extra)
			allocation_extra_begin(group->bodies[0], NULL);
		status = section_map(group->device->process->ledger, request->items[0].section,
				     request->existing_heap_bytes, request->is_read_only,
				     "hSection", &group->bodies[0]->extra.section);
	} else if (NT_SUCCESS(status) && UNLIKELY(group->device->process->arena)) {
		status = group_map_brought(group);
	}
	if (!NT_SUCCESS(status))
		group_free_objects(group);
	return status;
}

/* ---- the driver ---- */

static void **group_driver_resource(const struct group *group)
{
	return group->resource ? &group->resource->body->driver_resource : NULL;
}

static NTSTATUS group_create_in_driver(struct group *group)
{
	uint32_t count = group->request->count;
	const struct allocation_request *request = group->request;

	for (uint32_t i = 0; i < count; i++) {
		group->answers[i].private_data = allocation_private_data(group->bodies[i]);
		group->answers[i].private_bytes = group->bodies[i]->private_bytes;
	}
	struct miniport_creation creation = {
		.private_data = request->private_data,
		.private_bytes = request->private_bytes,
		.driver_resource = group_driver_resource(group),
		.is_new_resource = request->is_new_resource,
		.heap_bytes = request->is_standard ? request->existing_heap_bytes : 0,
		.count = count,
		.allocations = group->answers,
	};
	return miniport_create_allocations(group->miniport, group->client, &creation);
}

/* One at a time: undoing must not need memory. */
static void group_destroy_in_driver(struct group *group)
{
	for (uint32_t i = 0; i < group->request->count; i++) {
		bool is_last = i + 1 == group->request->count;
		void *driver_allocation = group->answers[i].driver_allocation;
		hold_end(&group->bodies[i]->holds, "allocation", driver_allocation);
		miniport_destroy_allocations(group->miniport, group->client, 1, &driver_allocation,
					     group_driver_resource(group),
					     group->new_body && is_last);
	}
}

/* What others may open stays when its maker goes. */
static struct vidmm_account *account_of(const struct dxg_allocation *allocation)
{
	if (UNLIKELY(allocation->resource && allocation->resource->body->is_shared))
		return allocation->resource->body->bank ? &allocation->resource->body->account
							: &allocation->device->adapter->account;
	return &allocation->device->process_adapter->memory.account;
}

static void group_take_answers(struct group *group)
{
	for (uint32_t i = 0; i < group->request->count; i++) {
		const struct allocation_item *item = &group->request->items[i];
		struct allocation_body *body = group->bodies[i];
		const struct section *section = allocation_section(body);
		allocation_body_take_answer(body, group->device, &group->answers[i],
					    item->has_priority ? item->priority
							       : group->answers[i].priority,
					    account_of(&body->maker),
					    section ? section->pointer : item->existing_memory);
		vidmm_allocation_only_read(&body->memory, group->request->is_read_only);
	}
}

static NTSTATUS group_keep_files(const struct group *group)
{
	struct client_arena *arena = group->device->process->arena;
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 0; arena && NT_SUCCESS(status) && i < group->request->count; i++) {
		if (allocation_section(group->bodies[i]))
			status = brought_keep_file(group->bodies[i], arena,
						   group->request->is_read_only);
	}
	return status;
}

static NTSTATUS group_check_existing_memory(const struct group *group)
{
	uint32_t count = group->request->count;
	const struct allocation_request *request = group->request;
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++) {
		const struct section *section = allocation_section(group->bodies[i]);
		bool is_too_small = section && group->answers[i].size_bytes > section->size_bytes;
		if (is_too_small && section->client_address != 0)
			status = refuse_item(
				STATUS_GRAPHICS_NO_VIDEO_MEMORY, RULE_API_VALUE, "pAllocationInfo",
				i, "has a pSystemMem of which not all %llu bytes can be used",
				(unsigned long long)group->answers[i].size_bytes);
		else if (is_too_small)
			status = refuse_item(STATUS_GRAPHICS_INVALID_DRIVER_MODEL,
					     RULE_DDI_ALLOCATION, "pAllocationInfo", i,
					     "has a Size beyond the section behind it");
		if (request->items[i].existing_memory)
			status = brought_check_here(request->items[i].existing_memory,
						    group->answers[i].size_bytes,
						    request->is_read_only, i);
		else if (request->is_shared && NT_SUCCESS(status))
			status = allocation_extra_take_shared(group->bodies[i],
							      group->answers[i].size_bytes);
	}
	return status;
}

static NTSTATUS group_open_in_driver(struct group *group)
{
	uint32_t count = group->request->count;
	const struct allocation_request *request = group->request;

	for (uint32_t i = 0; i < count; i++) {
		group->bindings[i].handle = group->bodies[i]->maker.object.handle;
		group->bindings[i].private_data = allocation_private_data(group->bodies[i]);
		group->bindings[i].private_bytes = group->bodies[i]->private_bytes;
	}
	group->opening = (struct miniport_opening){
		.driver_device = group->device->driver_device,
		.private_data = (void *)request->private_data,
		.private_bytes = request->private_bytes,
		.is_create = true,
		.is_read_only = request->is_read_only,
		.count = count,
		.bindings = group->bindings,
		.storage = group->storage,
	};
	NTSTATUS status =
		miniport_open_allocations(group->miniport, group->client, &group->opening);

	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		group->bodies[i]->maker.driver_binding = group->bindings[i].driver_binding;
	return status;
}

static void group_close_in_driver(struct group *group)
{
	for (uint32_t i = 0; i < group->request->count; i++) {
		struct dxg_allocation *allocation = &group->bodies[i]->maker;

		hold_end(&allocation->holds, "opening", allocation->driver_binding);
	}
	miniport_close_opening(group->miniport, group->client, &group->opening);
}

/* ---- the handles ---- */

/* From now on the driver can ask about them; clients cannot, because they are not ready. */
static void group_publish(struct group *group)
{
	uint32_t count = group->request->count;
	for (uint32_t i = 0; i < count; i++)
		object_publish(&group->bodies[i]->maker.object);
}

static void group_retire(struct group *group)
{
	for (uint32_t i = 0; i < group->request->count; i++)
		(void)!object_retire(&group->bodies[i]->maker.object);
}

static NTSTATUS group_join(struct group *group)
{
	uint32_t count = group->request->count;
	struct dxg_device *device = group->device;
	struct dxg_resource *resource = group->resource;

	lock_acquire(&device->lock);
	if (device->is_dying) {
		lock_release(&device->lock);
		return device_refuse_dying(device);
	}
	/* Listed and findable in one step: whoever finds it in the list can end it. */
	if (group->new_body) {
		list_push_back(&device->resources, &resource->device_link);
		object_publish(&resource->object);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct dxg_allocation *allocation = &group->bodies[i]->maker;
		list_push_back(resource ? &resource->allocations : &device->allocations,
			       &allocation->owner_link);
		atomic_store_explicit(&allocation->is_ready, true, memory_order_release);
	}
	if (resource) {
		resource->allocation_count += count;
		lock_acquire(&resource->body->lock);
		for (uint32_t i = 0; i < count; i++) {
			struct allocation_body *body = group->bodies[i];
			body->resource = resource->body;
			if (resource->body->is_shared)
				refcount_get(&body->refs);
			list_push_back(&resource->body->bodies, &body->resource_link);
		}
		resource->body->body_count += count;
		lock_release(&resource->body->lock);
	}
	/* Whoever opens it finds everything in it. */
	if (group->new_body)
		share_publish(&group->new_body->share);
	lock_release(&device->lock);
	return STATUS_SUCCESS;
}

/* Before the joining: once they are listed another thread can end them at any time. */
static void group_hand_out(struct group *group)
{
	uint32_t count = group->request->count;
	struct allocation_request *request = group->request;

	request->resource_handle = group->new_body ? group->resource->object.handle : 0;
	request->global_handle = group->new_body ? share_global_handle(&group->new_body->share) : 0;
	for (uint32_t i = 0; i < count; i++) {
		struct allocation_body *body = group->bodies[i];
		struct allocation_item *item = &request->items[i];
		item->handle = body->maker.object.handle;
		if (item->private_bytes)
			bytes_copy(item->private_data, allocation_private_data(body),
				   item->private_bytes);
	}
}

/*
 * A resource that is added to must not be destroyed between the driver's answer and the joining:
 * the driver would be told that it goes while it holds what we just added.
 */
static NTSTATUS group_hold_resource(struct group *group)
{
	struct dxg_device *device = group->device;

	if (!group->resource || group->new_body)
		return STATUS_SUCCESS;
	lock_acquire(&device->destroying);
	lock_acquire(&device->lock);
	bool is_there = list_is_linked(&group->resource->device_link);
	lock_release(&device->lock);
	if (is_there)
		return STATUS_SUCCESS;
	lock_release(&device->destroying);
	return invalid(RULE_API_HANDLE, "hResource", "was destroyed during the call");
}

static void group_let_go_of_resource(struct group *group)
{
	if (group->resource && !group->new_body)
		lock_release(&group->device->destroying);
}

static NTSTATUS group_make(struct group *group)
{
	NTSTATUS status = group_build_objects(group);

	if (!NT_SUCCESS(status))
		return status;
	status = adapter_enter(group->device->adapter);
	if (!NT_SUCCESS(status))
		goto free_objects;
	status = group_hold_resource(group);
	if (!NT_SUCCESS(status))
		goto leave_adapter;
	status = group_create_in_driver(group);
	if (!NT_SUCCESS(status))
		goto let_go_of_resource;
	group_take_answers(group);
	group_publish(group);
	status = group_check_existing_memory(group);
	if (NT_SUCCESS(status))
		status = group_keep_files(group);
	if (NT_SUCCESS(status))
		status = group_open_in_driver(group);
	if (!NT_SUCCESS(status))
		goto destroy_in_driver;
	group_hand_out(group);
	status = group_join(group);
	if (!NT_SUCCESS(status))
		goto close_in_driver;
	group_let_go_of_resource(group);
	adapter_leave(group->device->adapter);
	return STATUS_SUCCESS;

close_in_driver:
	group_retire(group);
	group_close_in_driver(group);
destroy_in_driver:
	group_retire(group);
	group_destroy_in_driver(group);
let_go_of_resource:
	group_let_go_of_resource(group);
leave_adapter:
	adapter_leave(group->device->adapter);
free_objects:
	group_free_objects(group);
	return status;
}

/* A heap of the client's own: the driver says which private data it wants to see for it. */
static NTSTATUS describe_existing_heap(struct group *group, struct miniport_standard_data *data)
{
	struct allocation_request *request = group->request;
	NTSTATUS status = adapter_enter(group->device->adapter);

	if (!NT_SUCCESS(status))
		return status;
	status = miniport_describe_existing_heap(group->miniport, group->client,
						 request->existing_heap_bytes, data);
	adapter_leave(group->device->adapter);
	if (!NT_SUCCESS(status))
		return status;
	request->private_data = data->resource_data;
	request->private_bytes = data->resource_bytes;
	request->items[0].private_data = data->allocation_data;
	request->items[0].private_bytes = data->allocation_bytes;
	return STATUS_SUCCESS;
}

NTSTATUS allocation_create(struct allocation_request *request)
{
	struct miniport_standard_data standard = { 0 };
	struct group group = {
		.request = request,
		.device = request->device,
		.miniport = request->device->adapter->miniport,
		.client = request->device->process_adapter->client,
	};
	NTSTATUS status = device_check_alive(request->device);

	if (NT_SUCCESS(status) && request->is_standard)
		status = describe_existing_heap(&group, &standard);
	if (!NT_SUCCESS(status))
		return status;
	status = group_take_memory(&group);
	if (NT_SUCCESS(status))
		status = group_make(&group);
	group_free_memory(&group);
	mem_free(standard.allocation_data);
	mem_free(standard.resource_data);
	return status;
}
