/* SPDX-License-Identifier: MIT */
/*
 * inventory.c - see inventory.h.
 *
 * As in validate.c, a process's devices are inside its devices' locks in the lock order: with everybody kept out they
 * are walked without the process's.
 *
 * Locks: each list's own, for the walk along it.
 */
#include "object/check/inventory.h"
#include "object/fence/keyed_mutex.h"
#include "object/fence/sync_object.h"
#include "object/memory/allocation.h"
#include "object/memory/paging_queue.h"
#include "object/memory/resource.h"
#include "object/owner/context.h"
#include "object/owner/hw_context.h"
#include "paging/pager.h"
#include "sched/sched.h"
#include "trace/trace.h"
#include "vidmm/control.h"

static void trace_work(struct dxg_adapter *adapter)
{
	sched_trace_queues(atomic_load(&adapter->sched));
	pager_trace_jobs(atomic_load(&adapter->pager));
}

/* ---- what a device has ---- */

static void trace_memory_of(struct allocation_body *body, uint32_t process_id,
			    uint32_t device_handle, uint32_t resource_handle, uint32_t adapter_id)
{
	const char *name = atomic_load(&body->name);

	trace_allocation_live(body->memory.id, body->memory.size_bytes,
			      body->memory.supported_segments, process_id, device_handle,
			      resource_handle, adapter_id);
	if (name)
		trace_allocation_name(body->memory.id, name);
	vidmm_allocation_trace(&body->memory);
}

static void trace_memory(const struct dxg_allocation *allocation)
{
	const struct dxg_device *device = allocation->device;

	trace_memory_of(allocation->body, device->process->id, device->object.handle,
			allocation->resource ? allocation->resource->object.handle : 0,
			device->adapter->id);
}

/* Memory is told once: here as its maker's. */
static void trace_made_locked(struct dxg_allocation *allocation)
{
	lock_assert_held(&allocation->device->lock);
	if (allocation == &allocation->body->maker)
		trace_memory(allocation);
	else
		allocation->body->is_told = false;
}

/* Behind all that: as the first one's who has it open, where its maker has destroyed it; and who has it open. */
static void trace_opened_locked(struct dxg_allocation *allocation)
{
	struct allocation_body *body = allocation->body;

	lock_assert_held(&allocation->device->lock);
	if (allocation == &body->maker)
		return;
	if (body->maker.is_being_destroyed && !body->is_told) {
		trace_memory(allocation);
		body->is_told = true;
	}
	allocation_trace_opened(allocation);
}

static void each_of_resources_locked(struct dxg_device *device,
				     void (*tell_locked)(struct dxg_allocation *allocation))
{
	lock_assert_held(&device->lock);
	list_each (struct dxg_resource, resource, &device->resources, device_link) {
		list_each (struct dxg_allocation, each, &resource->allocations, owner_link)
			tell_locked(each);
	}
}

static void trace_allocations_locked(struct dxg_device *device)
{
	lock_assert_held(&device->lock);
	each_of_resources_locked(device, trace_made_locked);
	list_each (struct dxg_allocation, each, &device->allocations, owner_link)
		trace_made_locked(each);
}

static void trace_hw_queues_locked(const struct hw_queue_parent *parent)
{
	lock_assert_held(&parent->device->lock);
	list_each (const struct dxg_hw_queue, queue, &parent->queues, owned.link)
		trace_hw_queue_create(parent->device->process->id, queue->object.handle,
				      parent->object->handle, queue->fence->object.handle);
}

static void trace_contexts_locked(struct dxg_device *device)
{
	uint32_t process_id = device->process->id;

	lock_assert_held(&device->lock);
	list_each (const struct dxg_context, context, &device->contexts, owned.link) {
		trace_context_create(process_id, context->object.handle, device->object.handle,
				     context->node);
		if (context->has_hw_queues)
			trace_hw_queues_locked(&context->hw_queues);
	}
	list_each (const struct dxg_hw_context, context, &device->hw_contexts, owned.link) {
		trace_hw_context_create(process_id, context->object.handle, device->object.handle,
					context->hw_queues.node);
		trace_hw_queues_locked(&context->hw_queues);
	}
}

static void trace_sync_objects(const struct list *sync_objects)
{
	list_each (const struct dxg_sync_object, sync, sync_objects, owned.link)
		trace_sync_object_create(sync->process->id, sync->object.handle,
					 (uint32_t)sync->body->kind,
					 share_global_handle(&sync->body->share));
}

static void trace_device(struct dxg_device *device)
{
	trace_device_create(device->process->id, device->object.handle, device->adapter->id);
	lock_acquire(&device->lock);
	trace_contexts_locked(device);
	trace_sync_objects(&device->sync_objects);
	list_each (const struct dxg_paging_queue, queue, &device->paging_queues, owned.link)
		trace_paging_queue_create(device->process->id, queue->object.handle,
					  device->object.handle, queue->fence->object.handle);
	trace_allocations_locked(device);
	lock_release(&device->lock);
}

/* ---- what no device has ---- */

/* Of a resource that an NT handle leads to: which keeps it, and so what it is made of. */
static void each_of_shared(struct share *share, void (*tell)(struct allocation_body *body))
{
	if (share->kind != SHARE_RESOURCE)
		return;

	struct resource_body *resource = container_of(share, struct resource_body, share);

	list_each (struct allocation_body, body, &resource->bodies, resource_link)
		tell(body);
}

static void forget_telling(struct allocation_body *body)
{
	body->is_told = false;
}

static void forget_shared(void *context, struct share *share)
{
	(void)context;
	each_of_shared(share, forget_telling);
}

/* As its maker's, who has destroyed it and may be gone, and of no device. */
static void trace_kept(struct allocation_body *body)
{
	if (!body->maker.is_being_destroyed || body->is_told)
		return;
	body->is_told = true;
	trace_memory_of(body, body->resource->creator_id, 0, 0, body->resource->adapter->id);
}

static void trace_shared(void *context, struct share *share)
{
	(void)context;
	each_of_shared(share, trace_kept);
}

/* ---- processes ---- */

static void trace_process_locked(const struct dxg_process *process)
{
	lock_assert_held(&process->kernel->lock);
	trace_process_create(process->id);
	trace_process_is(process->id, process->identity.pid, process->identity.user,
			 process->identity.name);
}

/* Nobody makes or destroys a device meanwhile. */
static void trace_still_process(struct dxg_process *process)
{
	list_each (struct dxg_device, device, &process->devices, process_link)
		trace_device(device);
	lock_acquire(&process->lock);
	trace_sync_objects(&process->sync_objects);
	list_each (const struct dxg_keyed_mutex, mutex, &process->keyed_mutexes, process_link)
		trace_keyed_mutex_create(process->id, mutex->object.handle,
					 share_global_handle(&mutex->body->share));
	lock_release(&process->lock);
}

static void trace_openings(struct dxg_process *process)
{
	list_each (struct dxg_device, device, &process->devices, process_link) {
		lock_acquire(&device->lock);
		each_of_resources_locked(device, trace_opened_locked);
		lock_release(&device->lock);
	}
}

void kernel_trace_inventory(struct dxg_kernel *kernel, bool is_still)
{
	uint32_t count = 0;

	trace_inventory_begin(is_still);
	for (uint32_t i = 0; i < kernel->adapter_count; i++)
		miniport_trace_start(kernel->adapters[i]->miniport);
	lock_acquire(&kernel->lock);
	list_each (const struct dxg_process, process, &kernel->processes, kernel_link) {
		trace_process_locked(process);
		count++;
	}
	lock_release(&kernel->lock);
	if (is_still) {
		share_for_each_bundled(&kernel->shares, forget_shared, NULL);
		list_each (struct dxg_process, process, &kernel->processes, kernel_link)
			trace_still_process(process);
		list_each (struct dxg_process, process, &kernel->processes, kernel_link)
			trace_openings(process);
		share_for_each_bundled(&kernel->shares, trace_shared, NULL);
	}
	/* Last: what is done with it comes behind that it lives. */
	for (uint32_t i = 0; i < kernel->adapter_count; i++) {
		trace_work(kernel->adapters[i]);
		vidmm_trace_inventory(kernel->adapters[i]->memory);
	}
	trace_inventory_end(count);
}
