/* SPDX-License-Identifier: MIT */
/*
 * destruction.c - see destruction.h.
 *
 * device->destroying makes destructions on one device come one after the other, so that a resource
 * and a list of its allocations never cross inside the driver, and keeps a resource there while
 * something is added to it (allocation.c). It is taken inside the adapter's gate, and let go before
 * references are given back: the last one of a device enters the driver again.
 *
 * Destroying must not fail for want of memory. The driver is told of a group at once when there is
 * memory for the list, and of a few at a time when there is none.
 */
#include <assert.h>
#include <string.h>

#include "base/client_call.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/allocations.h"
#include "object/ending/destruction.h"
#include "object/ending/endings.h"
#include "object/memory/allocation_extra.h"
#include "object/memory/gpu_addresses.h"
#include "trace/trace.h"

enum { FEW = 8 };

/* ---- the handles are retired, the lists forget them ---- */

static void forget_locked(struct dxg_allocation *allocation)
{
	lock_assert_held(&allocation->device->lock);
	(void)!object_retire(&allocation->object);
	list_remove(&allocation->owner_link);
	if (!allocation->resource)
		return;
	allocation->resource->allocation_count--;
	if (allocation != &allocation->body->maker)
		trace_allocation_closed(allocation->device->process->id, allocation->object.handle);
}

/* ---- the stages of a batch (endings.h) ---- */

/* True when the pager may still have something to do with it: it is in place, on its way, or mapped at GPU addresses. */
static bool is_paged(const struct dxg_allocation *allocation)
{
	struct work_source *source = allocation->device->adapter->work_source;

	return source->is_paged(source, allocation);
}

static bool is_any_paged(uint32_t count, struct dxg_allocation *const *allocations)
{
	for (uint32_t i = 0; i < count; i++) {
		if (is_paged(allocations[i]))
			return true;
	}
	return false;
}

/* AssumeNotInUse speaks of the device's work only. */
static uint32_t await_use(void *subject, struct sched_wait *waits)
{
	const struct destroy_batch *batch = subject;
	struct dxg_device *device = batch->device;
	struct work_source *source = device->adapter->work_source;
	uint32_t count = 0;

	if (batch->is_in_use)
		source->after_device(source, device, &waits[count++]);
	if (is_any_paged(batch->count, batch->allocations))
		source->after_paging(source, device->adapter, &waits[count++]);
	return count;
}

/* Enters the adapter's gate, and is alone in destroying on the device; a call that destroys at once has done both. */
static void batch_enter(void *subject)
{
	struct destroy_batch *batch = subject;

	if (batch->is_inside)
		return;
	adapter_enter_to_release(batch->adapter);
	if (batch->device)
		lock_acquire(&batch->device->destroying);
	batch->is_inside = true;
}

static void batch_leave(struct destroy_batch *batch)
{
	if (batch->device)
		lock_release(&batch->device->destroying);
	adapter_leave(batch->adapter);
	batch->is_inside = false;
}

/* Ends this device's locks. The view of memory that others have open, too, stays for them. */
static void end_cpu_access(struct dxg_allocation *allocation)
{
	struct allocation_body *body = allocation->body;
	uint32_t locks = atomic_exchange(&allocation->lock_count, ALLOCATION_LOCKS_ENDED);

	if (!body->resource || !body->resource->is_shared) {
		vidmm_allocation_retire(&body->memory);
		return;
	}
	while (locks-- > 0)
		(void)!vidmm_unlock_anywhere(allocation->device->adapter->memory, &body->memory);
}

/* From now on nothing of it is moved for this device; when no other device has it open, its place ends as well. */
static void end_residency(struct dxg_allocation *allocation)
{
	struct allocation_body *body = allocation->body;

	/* Where nobody asked for a place there is none. */
	if (!allocation_end_binding(allocation))
		return;
	if (!body->resource || !body->resource->is_shared)
		vidmm_allocation_leave(&body->memory);
}

static void end_use(struct dxg_allocation *allocation)
{
	end_cpu_access(allocation);
	allocation_end_addresses(allocation);
	end_residency(allocation);
}

/* Ends the use of all allocations of the batch, and of memory that only a shared resource still kept. */
static void batch_end_use(void *subject)
{
	const struct destroy_batch *batch = subject;

	for (uint32_t i = 0; i < batch->count; i++)
		end_use(batch->allocations[i]);
	list_each (struct allocation_body, each, &batch->dying, resource_link) {
		struct vidmm_allocation *memory = &each->memory;

		vidmm_allocation_retire(memory);
		vidmm_allocation_leave(memory);
	}
}

static void batch_close(void *subject)
{
	const struct destroy_batch *batch = subject;

	if (batch->count == 0)
		return;
	for (uint32_t i = 0; i < batch->count; i++) {
		struct dxg_allocation *allocation = batch->allocations[i];

		hold_end(&allocation->holds, "opening", allocation->driver_binding);
		batch->pointers[i] = allocation->driver_binding;
	}
	miniport_close_allocations(batch->adapter->miniport, batch->client,
				   batch->device->driver_device, batch->count, batch->pointers);
}

static void leave_resource(struct allocation_body *body)
{
	struct resource_body *resource = body->resource;

	if (!resource)
		return;
	lock_acquire(&resource->lock);
	list_remove(&body->resource_link);
	resource->body_count--;
	lock_release(&resource->lock);
}

static void put_bindings(struct destroy_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		struct allocation_body *body = batch->allocations[i]->body;

		if (!refcount_put_quickly(&body->refs))
			continue;
		leave_resource(body);
		list_push_back(&batch->dying, &body->resource_link);
	}
}

static void end_allocation_holds(struct allocation_body *body)
{
	hold_end(&body->holds, "allocation", body->driver_allocation);
}

/* The driver's handles of what dies, which nobody holds any more. */
static uint32_t collect_dying(const struct destroy_batch *batch)
{
	uint32_t count = 0;

	list_each (struct allocation_body, body, &batch->dying, resource_link) {
		end_allocation_holds(body);
		batch->pointers[count++] = body->driver_allocation;
	}
	return count;
}

static void batch_destroy(void *subject)
{
	struct destroy_batch *batch = subject;
	struct resource_body *body = batch->body;
	/* A shared resource goes when no device has it open. */
	bool is_last = batch->is_resource_going && (!body->is_shared || !batch->device);

	put_bindings(batch);
	if (list_is_empty(&batch->dying) && !is_last)
		return;
	uint32_t count = collect_dying(batch);
	if (is_last)
		hold_end(&body->holds, "resource", body->driver_resource);
	miniport_destroy_allocations(batch->adapter->miniport, batch->client, count,
				     batch->pointers, body ? &body->driver_resource : NULL,
				     is_last);
}

/* A call that found one of them before may still be looking; the last one out frees it. */
static void batch_give_back(void *subject)
{
	struct destroy_batch *batch = subject;
	struct dxg_resource *resource = batch->is_resource_going ? batch->resource : NULL;

	batch_leave(batch);
	list_drain (struct allocation_body, each, &batch->dying, resource_link)
		allocation_body_put(each);
	for (uint32_t i = 0; i < batch->count; i++)
		object_put_several(&batch->allocations[i]->object, batch->references);
	mem_free(batch->storage);
	if (resource) {
		share_close(&resource->body->share);
		object_put(&resource->object);
	}
}

ENDING_KIND(batch_ending, "allocations", ENDING_OF_ALLOCATIONS);

static void batch_init(struct destroy_batch *batch, struct dxg_device *device,
		       struct dxg_resource *resource, uint32_t references)
{
	*batch = (struct destroy_batch){
		.adapter = device->adapter,
		.client = device->process_adapter->client,
		.device = device,
		.resource = resource,
		.body = resource ? resource->body : NULL,
		.references = references,
	};
	list_init(&batch->dying);
}

/* ---- when the GPU may still be at it ---- */

/*
 * A resource does not overtake what was in it and waits. Work that was cancelled stands in the line
 * before it is over: so that is looked at last.
 */
static bool has_to_wait(struct dxg_device *device)
{
	struct work_source *source = device->adapter->work_source;

	return !source->is_idle(source, device) ||
	       atomic_load_explicit(&device->ordered_endings, memory_order_acquire) > 0;
}

struct deferred_batch {
	struct ending ending;
	struct destroy_batch batch;
	void *storage[]; /* for its allocations, then for the driver's handles */
};

static struct deferred_batch *deferred_create(struct dxg_device *device,
					      struct dxg_resource *resource, uint32_t references,
					      uint32_t count)
{
	struct deferred_batch *deferred =
		mem_zalloc(sizeof(*deferred) + (uint64_t)count * 2 * sizeof(deferred->storage[0]));

	if (!deferred) {
		refuse_no_memory("no memory to remember that %u allocations are to be destroyed",
				 count);
		return NULL;
	}
	ending_init(&deferred->ending, &batch_ending, &deferred->batch);
	batch_init(&deferred->batch, device, resource, references);
	deferred->batch.allocations = (struct dxg_allocation **)deferred->storage;
	deferred->batch.pointers = deferred->storage + count;
	deferred->batch.storage = deferred;
	return deferred;
}

/*
 * The kernel knows better than a client that says otherwise: the list of a submission names it. An
 * eviction or an offer that waits for the work is waited for here, too, and not by the reaper,
 * who has other devices to see to.
 */
static bool is_any_used(const struct destroy_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		struct dxg_allocation *allocation = batch->allocations[i];
		struct vidmm_binding *binding = atomic_load(&allocation->binding);

		if (allocation_use_count(allocation) > 0 ||
		    (binding && vidmm_binding_waits(binding)))
			return true;
	}
	return false;
}

static void deferred_start(struct deferred_batch *deferred,
			   const struct destruction_options *options)
{
	struct destroy_batch *batch = &deferred->batch;
	struct dxg_process *process = batch->device->process;
	struct process_rest rest = { .objects = { &batch->device->object } };
	_Atomic uint32_t is_over = 0;
	bool is_synchronous = options->is_synchronous;

	batch->is_in_use = !options->is_not_in_use || is_any_used(batch);
	/* Nobody has a handle left with which they could be evicted: what the owner may have is
	   free now. */
	for (uint32_t i = 0; i < batch->count; i++)
		allocation_retire_binding(batch->allocations[i], batch->is_in_use);
	ending_start(&deferred->ending, batch->device, batch->resource,
		     is_synchronous ? &is_over : NULL);
	if (!is_synchronous)
		return;
	process_rest_begin(process, &rest);
	ending_await(&is_over);
	process_rest_end(process, &rest);
}

/* ---- a list ---- */

static NTSTATUS take_list(struct dxg_device *device, uint32_t count,
			  struct dxg_allocation **allocations)
{
	NTSTATUS status = STATUS_SUCCESS;
	uint32_t taken = 0;

	lock_acquire(&device->lock);
	for (; taken < count; taken++) {
		if (allocations[taken]->is_being_destroyed) {
			status = invalid_item(
				RULE_API_HANDLE, "phAllocationList", taken,
				"is destroyed twice: by another entry or another thread");
			break;
		}
		allocations[taken]->is_being_destroyed = true;
	}
	if (NT_SUCCESS(status)) {
		for (uint32_t i = 0; i < count; i++)
			forget_locked(allocations[i]);
	} else {
		while (taken > 0)
			allocations[--taken]->is_being_destroyed = false;
	}
	lock_release(&device->lock);
	return status;
}

RARE static NTSTATUS defer_list(struct dxg_device *device, uint32_t count,
				struct dxg_allocation **allocations,
				const struct destruction_options *options)
{
	struct deferred_batch *deferred =
		deferred_create(device, allocations[0]->resource, 2, count);

	if (!deferred)
		return STATUS_NO_MEMORY;
	lock_acquire(&device->destroying);
	NTSTATUS status = take_list(device, count, allocations);
	lock_release(&device->destroying);
	if (!NT_SUCCESS(status)) {
		mem_free(deferred);
		return status;
	}
	deferred->batch.count = count;
	memcpy(deferred->batch.allocations, allocations, count * sizeof(*allocations));
	deferred_start(deferred, options);
	return STATUS_SUCCESS;
}

static NTSTATUS destroy_list_now(struct dxg_device *device, uint32_t count,
				 struct dxg_allocation **allocations)
{
	void *few[FEW];
	struct destroy_batch batch;

	batch_init(&batch, device, allocations[0]->resource, 2);
	batch.count = count;
	batch.allocations = allocations;
	batch.pointers = few;
	if (count > FEW) {
		batch.storage = batch.pointers = mem_zalloc_array(count, sizeof(*batch.pointers));
		if (!batch.pointers)
			return refuse_no_memory("no memory to destroy %u allocations at once",
						count);
	}
	batch_enter(&batch);
	NTSTATUS status = take_list(device, count, allocations);
	if (NT_SUCCESS(status)) {
		ending_run_now(&batch_ending, &batch);
	} else {
		batch_leave(&batch);
		mem_free(batch.storage);
	}
	return status;
}

NTSTATUS destruction_of_list(struct dxg_device *device, uint32_t count,
			     struct dxg_allocation **allocations,
			     const struct destruction_options *options)
{
	if (count == 0)
		return STATUS_SUCCESS;
	if (has_to_wait(device) || is_any_paged(count, allocations))
		return defer_list(device, count, allocations, options);
	return destroy_list_now(device, count, allocations);
}

/* ---- one alone that no other thread has found or will find ---- */

struct unreachable {
	struct dxg_allocation *allocation;
	struct dxg_device *device;
	uint32_t seat;
	bool was_used;
};

/* Retired in one step, and nobody is kept waiting for it. */
SPECIALIZED bool take_unreachable(const struct unreachable *subject)
{
	struct dxg_allocation *allocation = subject->allocation;
	struct dxg_device *device = subject->device;

	if (UNLIKELY(allocation->resource))
		return false;
	lock_acquire_from(&device->lock, subject->seat);
	/* Its neighbours in the list, which nobody has touched for long. */
	__builtin_prefetch(allocation->owner_link.prev, 1);
	__builtin_prefetch(allocation->owner_link.next, 1);
	bool is_ours = !allocation->is_being_destroyed && object_retire_alone(&allocation->object);
	if (LIKELY(is_ours))
		list_unlink(&allocation->owner_link);
	lock_release(&device->lock);
	return is_ours;
}

/* Most that come and go so were never put to use: then a client in another process need not wait for the driver. */
SPECIALIZED void end_unreachable_use(struct unreachable *subject)
{
	struct dxg_allocation *allocation = subject->allocation;

	subject->was_used =
		((uintptr_t)atomic_load_explicit(&allocation->binding, memory_order_relaxed) |
		 (uintptr_t)atomic_load_explicit(&allocation->addresses, memory_order_relaxed)) !=
			0 ||
		!vidmm_allocation_retire_untouched(&allocation->body->memory);
	if (UNLIKELY(subject->was_used)) {
		end_use(allocation);
	} else if (UNLIKELY(client_call_can_settle())) {
		/* Another thread of the client may have waited for just this one to go. */
		allocation_uncount(allocation);
		client_call_settle();
	}
}

/* In one visit. Of no resource, so that this was the only binding. */
SPECIALIZED void close_and_destroy_unreachable(const struct unreachable *subject)
{
	struct dxg_allocation *allocation = subject->allocation;
	struct dxg_device *device = subject->device;
	struct allocation_body *body = allocation->body;
	struct miniport *miniport = device->adapter->miniport;
	struct miniport_client *client = device->process_adapter->client;
	struct miniport_visit visit;

	/* While the driver holds it, it is waited for: not on a visit. */
	if (UNLIKELY(!hold_end_unreachable_unless_held(&allocation->holds)))
		hold_end(&allocation->holds, "opening", allocation->driver_binding);
	NTSTATUS status = miniport_visit_close(&visit, miniport, client, subject->seat,
					       device->driver_device, allocation->driver_binding);
	if (LIKELY(hold_end_unreachable_unless_held(&body->holds))) {
		miniport_visit_destroy(&visit, subject->seat, status, body->driver_allocation);
		return;
	}
	miniport_visit_end(&visit, subject->seat, status);
	end_allocation_holds(body);
	miniport_destroy_allocations(miniport, client, 1, &body->driver_allocation, NULL, false);
}

SPECIALIZED void give_unreachable_back(const struct unreachable *subject)
{
	gate_leave_from(&subject->device->adapter->gate, subject->seat);
	allocation_end_alone(subject->allocation, subject->seat, subject->was_used);
	object_put_some(&subject->device->object, 2); /* the caller's, and the allocation's */
}

/*
 * What has_to_wait() and is_paged() ask the source, which looks at just this: not of what is asked all the
 * time.
 */
SPECIALIZED bool is_over(const struct dxg_device *device, const struct dxg_allocation *allocation)
{
	return LIKELY(sched_owner_is_idle(&device->work) &&
		      atomic_load_explicit(&device->ordered_endings, memory_order_acquire) == 0 &&
		      !vidmm_is_paged(&allocation->body->memory));
}

bool destruction_of_unreachable(struct dxg_device *device, uint32_t seat,
				struct dxg_allocation *allocation)
{
	struct unreachable unreachable = { .allocation = allocation,
					   .device = device,
					   .seat = seat };
	struct unreachable *subject = &unreachable;

	if (UNLIKELY(!is_over(device, allocation)))
		return false;
	gate_enter_from(&device->adapter->gate, seat);
	if (UNLIKELY(!take_unreachable(subject))) {
		gate_leave_from(&device->adapter->gate, seat);
		return false;
	}
	ENDING_OF_UNREACHABLE_ALLOCATION(ENDING_CALL)
	return true;
}

/* ---- a resource ---- */

/* Takes up to `capacity` allocations of the resource; says whether that was all. */
static bool take_some(struct dxg_resource *resource, struct destroy_batch *batch, uint32_t capacity)
{
	struct dxg_device *device = resource->device;

	lock_acquire(&device->lock);
	while (batch->count < capacity && !list_is_empty(&resource->allocations)) {
		struct dxg_allocation *allocation =
			container_of(resource->allocations.next, struct dxg_allocation, owner_link);
		allocation->is_being_destroyed = true;
		forget_locked(allocation);
		batch->allocations[batch->count++] = allocation;
	}
	bool is_all = list_is_empty(&resource->allocations);
	lock_release(&device->lock);
	return is_all;
}

static bool take_resource(struct dxg_resource *resource, uint32_t *count_out)
{
	struct dxg_device *device = resource->device;

	lock_acquire(&device->lock);
	bool is_ours = object_retire(&resource->object);
	if (is_ours)
		list_remove(&resource->device_link);
	*count_out = resource->allocation_count;
	lock_release(&device->lock);
	return is_ours;
}

static NTSTATUS already_gone(const struct dxg_resource *resource)
{
	return invalid(RULE_API_HANDLE, "hResource", "0x%08x was destroyed by another thread",
		       resource->object.handle);
}

/* The destroying lock keeps the count: nothing is added or destroyed meanwhile. */
static NTSTATUS defer_resource(struct dxg_resource *resource,
			       const struct destruction_options *options)
{
	struct dxg_device *device = resource->device;
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&device->destroying);
	lock_acquire(&device->lock);
	uint32_t count = resource->allocation_count;
	lock_release(&device->lock);
	struct deferred_batch *deferred = deferred_create(device, resource, 1, count);
	if (!deferred) {
		status = STATUS_NO_MEMORY;
	} else if (!take_resource(resource, &count)) {
		mem_free(deferred);
		status = already_gone(resource);
	} else {
		deferred->batch.is_resource_going = true;
		(void)take_some(resource, &deferred->batch, count);
	}
	lock_release(&device->destroying);
	if (NT_SUCCESS(status))
		deferred_start(deferred, options);
	return status;
}

/* All at once when there is memory for the list; it is in `batch` then. */
static void batch_make_storage(struct destroy_batch *batch, uint32_t count)
{
	void **storage = count > FEW ? mem_zalloc_array(count, 2 * sizeof(*storage)) : NULL;

	if (!storage)
		return;
	batch->storage = storage;
	batch->allocations = (struct dxg_allocation **)storage;
	batch->pointers = storage + count;
}

static NTSTATUS destroy_resource_now(struct dxg_resource *resource)
{
	struct dxg_allocation *few_allocations[FEW];
	void *few_pointers[FEW];
	struct destroy_batch batch;
	uint32_t count = 0;

	batch_init(&batch, resource->device, resource, 1);
	batch_enter(&batch);
	if (!take_resource(resource, &count)) {
		batch_leave(&batch);
		return already_gone(resource);
	}
	for (;;) {
		batch.allocations = few_allocations;
		batch.pointers = few_pointers;
		batch_make_storage(&batch, count);
		batch.is_resource_going = take_some(resource, &batch, batch.storage ? count : FEW);
		ending_run_now(&batch_ending, &batch);
		if (batch.is_resource_going)
			return STATUS_SUCCESS;
		/* Nothing is added to it any more: the rest need not be taken inside. */
		batch_init(&batch, resource->device, resource, 1);
	}
}

static bool resource_is_paged(struct dxg_resource *resource)
{
	bool has = false;

	lock_acquire(&resource->device->lock);
	list_each (struct dxg_allocation, each, &resource->allocations, owner_link)
		has = has || is_paged(each);
	lock_release(&resource->device->lock);
	return has;
}

NTSTATUS destruction_of_resource(struct dxg_resource *resource,
				 const struct destruction_options *options)
{
	if (has_to_wait(resource->device) || resource_is_paged(resource))
		return defer_resource(resource, options);
	return destroy_resource_now(resource);
}

/* ---- a device ---- */

void destruction_of_device(struct dxg_device *device)
{
	/* The contexts end, though a call may still hold one; the driver hears of what was
	   cancelled, and what was deferred goes first. */
	sched_owner_drain(&device->work);
	endings_wait(device);

	lock_acquire(&device->lock);
	assert(device->is_dying);
	while (!list_is_empty(&device->resources)) {
		struct dxg_resource *resource =
			container_of(device->resources.prev, struct dxg_resource, device_link);
		object_get(&resource->object);
		lock_release(&device->lock);
		(void)!destroy_resource_now(resource);
		object_put(&resource->object);
		lock_acquire(&device->lock);
	}
	while (!list_is_empty(&device->allocations)) {
		struct dxg_allocation *allocation =
			container_of(device->allocations.prev, struct dxg_allocation, owner_link);
		object_get(&allocation->object);
		lock_release(&device->lock);
		if (!NT_SUCCESS(destroy_list_now(device, 1, &allocation)))
			object_put(&allocation->object);
		lock_acquire(&device->lock);
	}
	lock_release(&device->lock);
}

/* ---- the body of a shared resource ---- */

void destruction_of_shared_body(struct resource_body *body)
{
	void *few[FEW];
	uint32_t count = body->body_count;
	void **many = count > FEW ? mem_zalloc_array(count, sizeof(*many)) : NULL;
	struct destroy_batch batch;

	do {
		struct list *link;

		batch = (struct destroy_batch){ .adapter = body->adapter,
						.client = miniport_system_client(
							body->adapter->miniport),
						.body = body,
						.pointers = many ? many : few,
						.storage = many };
		list_init(&batch.dying);
		/* Nobody else has a reference: the list needs no lock. */
		for (uint32_t capacity = many ? count : FEW;
		     capacity > 0 && (link = list_pop_front(&body->bodies)); capacity--)
			list_push_back(&batch.dying, link);
		batch.is_resource_going = list_is_empty(&body->bodies);
		ending_run_now(&batch_ending, &batch);
	} while (!batch.is_resource_going);
}
