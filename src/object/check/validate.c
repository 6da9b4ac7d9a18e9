/* SPDX-License-Identifier: MIT */
/*
 * validate.c - see validate.h.
 *
 * A process's lists are inside its devices' locks in the lock order, so devices are collected first
 * and looked at afterwards. Who holds a body is counted by collecting one pointer per holder and
 * sorting them: as many of a kind as there are, as many references there must be.
 *
 * Locks: each list's own, in their order, and only for the walk along it.
 */
#include <inttypes.h>

#include "base/mem.h"
#include "object/owner/context.h"
#include "object/memory/gpu_update.h"
#include "object/owner/hw_context.h"
#include "object/fence/keyed_mutex.h"
#include "object/memory/paging_queue.h"
#include "object/submit/render.h"
#include "object/fence/sync_object.h"
#include "object/check/survey.h"
#include "object/check/validate.h"
#include "vidmm/validate.h"

/* ---- objects ---- */

/* The handle finds it, and `references` and those of calls that rest are all there are. */
static void check_object(struct survey *survey, struct object *object,
			 const struct object_class *class, uint32_t references)
{
	const struct object_class *found_class = NULL;
	struct object *found = NULL;

	if (object->class != class) {
		survey_wrong(survey, "0x%08x is in a list of %s and is none", object->handle,
			     class->name);
		return;
	}
	if (handle_find(object->table, object->handle, class, &found, &found_class) !=
	    HANDLE_FOUND) {
		survey_wrong(survey, "0x%08x lives (%s), and its handle does not find it",
			     object->handle, class->name);
		return;
	}
	if (found != object)
		survey_wrong(survey, "0x%08x finds another object than the one of that number",
			     object->handle);
	object_put(found);
	survey->found_count++;
	references += holders_count(&survey->called, object, NULL);
	uint32_t counted = (uint32_t)atomic_load(&object->slot->state) & INT32_MAX;
	if (counted != references)
		survey_wrong(survey, "0x%08x (%s) has %u references, and %u are known",
			     object->handle, class->name, counted, references);
}

static void check_allocation_locked(struct survey *survey, struct dxg_allocation *allocation,
				    const struct dxg_device *device,
				    const struct dxg_resource *resource)
{
	struct allocation_body *body = allocation->body;
	uint32_t handle = allocation->object.handle;

	lock_assert_held(&device->lock);
	check_object(survey, &allocation->object, &allocation_class, 1);
	if (allocation->device != device || allocation->resource != resource)
		survey_wrong(survey, "allocation 0x%08x is in the list of another owner", handle);
	if (allocation->is_being_destroyed)
		survey_wrong(survey, "allocation 0x%08x is being destroyed, and nobody does it",
			     handle);
	if (!allocation_is_ready(allocation))
		survey_wrong(survey, "allocation 0x%08x never became ready", handle);
	if (body->resource != (resource ? resource->body : NULL))
		survey_wrong(survey, "allocation 0x%08x has memory of another resource", handle);
	if (body->resource && body->resource->adapter != device->adapter)
		survey_wrong(survey, "allocation 0x%08x has memory of another adapter", handle);
	if (atomic_load(&body->holds.count) != 0)
		survey_wrong(survey, "the driver never let go of allocation 0x%08x", handle);
	uint32_t uses = holders_count(&survey->named, allocation, NULL);
	if (allocation_use_count(allocation) != uses)
		survey_wrong(survey, "allocation 0x%08x is used by %u lists, and %u are queued",
			     handle, allocation_use_count(allocation), uses);
	const char *why = vidmm_place_validate(device->adapter->memory, &body->memory);
	if (why)
		survey_wrong(survey, "allocation 0x%08x %s", handle, why);
	survey_hold_with(survey, &survey->allocation_bodies, body, allocation->lock_count);
}

static void check_resource_locked(struct survey *survey, struct dxg_resource *resource,
				  const struct dxg_device *device)
{
	struct resource_body *body = resource->body;
	uint32_t handle = resource->object.handle;
	uint32_t count = 0;

	lock_assert_held(&device->lock);
	list_each (struct dxg_allocation, each, &resource->allocations, owner_link) {
		check_allocation_locked(survey, each, device, resource);
		count++;
	}
	uint32_t leaving = holders_count(&survey->leaving, resource, NULL);
	check_object(survey, &resource->object, &resource_class, 1 + count + leaving);
	if (resource->device != device)
		survey_wrong(survey, "resource 0x%08x is in the list of another device", handle);
	if (resource->allocation_count != count)
		survey_wrong(survey, "resource 0x%08x counts %u allocations and has %u", handle,
			     resource->allocation_count, count);
	if (body->is_shared != (body->share.scheme != SHARE_PRIVATE))
		survey_wrong(survey, "resource 0x%08x does not know whether it is shared", handle);
	if (!body->is_shared && body->body_count != count + leaving)
		survey_wrong(survey, "resource 0x%08x has %u allocations and the memory of %u",
			     handle, count + leaving, body->body_count);
	survey_hold(survey, &survey->opened, &body->share);
}

/* Under the lock of its owner: `device`, or the process when that is NULL. */
static void check_sync_object_locked(struct survey *survey, struct dxg_sync_object *sync,
				     const struct dxg_device *device,
				     const struct dxg_process *process)
{
	struct sync_body *body = sync->body;
	uint32_t handle = sync->object.handle;
	struct list *link;

	lock_assert_held(device ? &device->lock : &process->lock);
	check_object(survey, &sync->object, &sync_object_class, 1);
	if (sync->device != device || sync->process != process)
		survey_wrong(survey, "sync object 0x%08x is in the list of another owner", handle);
	lock_acquire(&body->lock);
	if (sync->is_closed)
		survey_wrong(survey, "sync object 0x%08x is closed and still in a list", handle);
	if (body->count > body->max_count)
		survey_wrong(survey, "sync object 0x%08x counts %u of at most %u", handle,
			     body->count, body->max_count);
	list_for_each (link, &sync->waits)
		survey_hold(survey, &survey->awaited, &body->share);
	lock_release(&body->lock);
	if ((body->slot.value != NULL) != (body->kind == SYNC_MONITORED_FENCE))
		survey_wrong(survey,
			     "sync object 0x%08x has memory for a value and needs none, or the "
			     "other way",
			     handle);
	survey_hold(survey, &survey->opened, &body->share);
}

/* How many references they hold on the device. */
static uint32_t check_sync_objects_locked(struct survey *survey, struct dxg_device *device,
					  const struct dxg_process *process)
{
	uint32_t count = 0;

	lock_assert_held(&device->lock);
	list_each (struct dxg_sync_object, each, &device->sync_objects, owned.link) {
		check_sync_object_locked(survey, each, device, process);
		count++;
	}
	count += survey->ending_fences;
	if (device->sync_object_count != count)
		survey_wrong(survey, "device 0x%08x counts %u sync objects and has %u",
			     device->object.handle, device->sync_object_count, count);
	return count > 0;
}

/* That of a lost device may have gone to its maximum. */
static bool shows_all_locked(const struct dxg_paging_queue *queue)
{
	uint64_t value = fence_value(&queue->body->fence);

	lock_assert_held(&queue->lock);
	return value == queue->last_value ||
	       (value == FENCE_MAX && device_state(queue->device) != DEVICE_ACTIVE);
}

static void check_paging_queue_locked(struct survey *survey, struct dxg_paging_queue *queue,
				      const struct dxg_device *device)
{
	uint32_t handle = queue->object.handle;

	lock_assert_held(&device->lock);
	lock_acquire(&queue->lock);
	uint32_t operations = list_length(&queue->operations);
	if (operations == 0 && !shows_all_locked(queue))
		survey_wrong(survey, "paging queue 0x%08x has nothing to do, and its fence lags",
			     handle);
	/* More when one is made, or its value is being shown. */
	if (operations > queue->held)
		survey_wrong(survey, "paging queue 0x%08x has %u operations, and is held by %u",
			     handle, operations, queue->held);
	lock_release(&queue->lock);
	check_object(survey, &queue->object, &paging_queue_class, 1);
	if (queue->device != device || queue->fence->device != device)
		survey_wrong(survey, "paging queue 0x%08x is in the list of another device",
			     handle);
	survey_hold(survey, &survey->awaited, &queue->body->share);
}

static void hold_drivers(void *context, struct vidmm_allocation *allocation)
{
	struct survey *survey = context;

	survey_hold(survey, &survey->drivers, allocation);
}

static void hold_buffer(void *context, struct dma_buffer *buffer)
{
	struct survey *survey = context;
	size_t count = survey->kept_buffers.count;

	survey_hold(survey, &survey->kept_buffers, buffer);
	if (survey->kept_buffers.count > count)
		dma_buffer_hold(buffer);
	survey_hold(survey, &survey->drivers, &buffer->allocation);
}

/* How many there are: each holds a reference on its parent. */
static uint32_t check_hw_queues_locked(struct survey *survey, struct hw_queue_parent *parent,
				       const struct dxg_device *device)
{
	uint32_t count = 0;

	lock_assert_held(&device->lock);
	list_each (struct dxg_hw_queue, queue, &parent->queues, owned.link) {
		check_object(survey, &queue->object, &hw_queue_class, 1);
		if (queue->parent != parent || queue->device != device ||
		    queue->fence->device != device || queue->queue.owner != &device->work)
			survey_wrong(survey,
				     "hardware queue 0x%08x is in the list of another context",
				     queue->object.handle);
		survey_hold(survey, &survey->awaited, &queue->body->share);
		count++;
	}
	if (parent->is_ending)
		survey_wrong(survey,
			     "context 0x%08x takes no hardware queues, and nobody destroys it",
			     parent->object->handle);
	return count;
}

static void check_hw_context_locked(struct survey *survey, struct dxg_hw_context *context,
				    const struct dxg_device *device)
{
	uint32_t queues = check_hw_queues_locked(survey, &context->hw_queues, device);

	lock_assert_held(&device->lock);
	check_object(survey, &context->object, &hw_context_class, 1 + queues);
	if (context->device != device)
		survey_wrong(survey, "hardware context 0x%08x is in the list of another device",
			     context->object.handle);
	context_memory_for_each(&context->driver_memory, hold_drivers, survey);
}

/* Updates that are being carried out use it as well, and are on no list. */
static void check_companion_locked(struct survey *survey, struct dxg_context *context)
{
	const struct companion *companion = &context->companion;

	lock_assert_held(&context->device->lock);
	if (companion->uses < gpu_update_count(context))
		survey_wrong(survey, "context 0x%08x has more updates than its companion knows of",
			     context->object.handle);
	if (companion->is_ending)
		survey_wrong(survey, "context 0x%08x takes no updates, and nobody destroys it",
			     context->object.handle);
}

static void check_device(struct survey *survey, struct dxg_device *device,
			 const struct dxg_process *process)
{
	lock_acquire(&device->lock);
	uint32_t children = survey_work_locked(survey, device);
	list_each (struct dxg_context, context, &device->contexts, owned.link) {
		uint32_t queues = check_hw_queues_locked(survey, &context->hw_queues, device);
		check_object(survey, &context->object, &context_class, 1 + queues);
		if (context->device != device)
			survey_wrong(survey, "context 0x%08x is in the list of another device",
				     context->object.handle);
		check_companion_locked(survey, context);
		context_memory_for_each(&context->driver_memory, hold_drivers, survey);
		if (context->render)
			dma_pool_for_each(&context->render->pool, hold_buffer, survey);
		children++;
	}
	list_each (struct dxg_hw_context, each, &device->hw_contexts, owned.link) {
		check_hw_context_locked(survey, each, device);
		children++;
	}
	context_memory_for_each(&device->driver_memory, hold_drivers, survey);
	list_each (struct dxg_resource, resource, &device->resources, device_link) {
		check_resource_locked(survey, resource, device);
		children += 1 + resource->allocation_count;
	}
	list_each (struct dxg_allocation, each, &device->allocations, owner_link) {
		check_allocation_locked(survey, each, device, NULL);
		children++;
	}
	children += check_sync_objects_locked(survey, device, process);
	list_each (struct dxg_paging_queue, each, &device->paging_queues, owned.link) {
		check_paging_queue_locked(survey, each, device);
		children++;
	}
	if (device->is_dying)
		survey_wrong(survey, "device 0x%08x is dying, and nobody destroys it",
			     device->object.handle);
	survey_device_counts_locked(survey, device);
	lock_release(&device->lock);
	/* One of the survey's own, taken when it was collected. */
	check_object(survey, &device->object, &device_class, 2 + children);
	if (device->process != process)
		survey_wrong(survey, "device 0x%08x is in the list of another process",
			     device->object.handle);
}

static void check_keyed_mutex_locked(struct survey *survey, struct dxg_keyed_mutex *mutex,
				     const struct dxg_process *process)
{
	struct keyed_mutex_body *body = mutex->body;

	lock_assert_held(&process->lock);
	check_object(survey, &mutex->object, &keyed_mutex_class, 1);
	lock_acquire(&body->lock);
	if (mutex->process != process || mutex->is_closed)
		survey_wrong(survey,
			     "keyed mutex 0x%08x is in a list and closed, or in a wrong one",
			     mutex->object.handle);
	if (body->is_abandoned && body->owner)
		survey_wrong(survey, "keyed mutex 0x%08x is abandoned and held",
			     mutex->object.handle);
	if ((body->private_bytes != 0) != (body->private_data != NULL))
		survey_wrong(survey,
			     "keyed mutex 0x%08x has a size without a blob, or the other way",
			     mutex->object.handle);
	lock_release(&body->lock);
	survey_hold(survey, &survey->opened, &body->share);
}

/*
 * Ranges, and the entries that the driver was given for them. While something is under way they may
 * differ, and that may begin at any moment: an eviction is no call. A lost adapter has no tables,
 * and nothing runs by those of a broken space.
 */
static void check_addresses(struct survey *survey, const struct process_adapter *process_adapter)
{
	struct address_space *space = process_adapter->addresses;
	const struct pager *pager = process_adapter->adapter->pager;
	uint64_t page;

	if (!space || atomic_load(&process_adapter->adapter->is_lost) ||
	    address_space_is_broken(space) || !pager_is_idle(pager) ||
	    atomic_load(&space->pending) > 0)
		return;
	const char *why = address_space_validate(space, &page);
	if (why && pager_is_idle(pager))
		survey_wrong(survey, "GPU address 0x%" PRIx64 ": %s", page << GPUVA_PAGE_SHIFT,
			     why);
}

static void hold_called_locked(struct survey *survey, const struct dxg_process *process)
{
	survey->called.count = 0;
	lock_assert_held(&process->lock);
	list_each (const struct process_rest, rest, &process->rests, link) {
		for (uint32_t i = 0; i < PROCESS_REST_OBJECTS && rest->objects[i]; i++)
			survey_hold(survey, &survey->called, rest->objects[i]);
		for (uint32_t i = 0; i < rest->fence_count; i++)
			survey_hold(survey, &survey->called, &rest->fences[i]->object);
	}
	holders_sort(&survey->called);
}

static void check_process(struct survey *survey, struct dxg_process *process)
{
	survey->found_count = 0;
	survey->devices.count = 0;
	lock_acquire(&process->lock);
	hold_called_locked(survey, process);
	list_each (const struct process_adapter, process_adapter, &process->adapters, link) {
		if (process_adapter->driver_knows == PROCESS_KNOWN)
			check_addresses(survey, process_adapter);
	}
	list_each (struct adapter_open, open, &process->opens, process_link) {
		check_object(survey, &open->object, &adapter_open_class, 1);
	}
	list_each (struct dxg_keyed_mutex, each, &process->keyed_mutexes, process_link)
		check_keyed_mutex_locked(survey, each, process);
	list_each (struct dxg_sync_object, each, &process->sync_objects, owned.link)
		check_sync_object_locked(survey, each, NULL, process);
	list_each (struct dxg_device, device, &process->devices, process_link) {
		object_get(&device->object);
		survey_hold(survey, &survey->devices, device);
	}
	list_each (struct process_adapter, each, &process->adapters, link)
		survey_updates(survey, each);
	lock_release(&process->lock);
	for (size_t i = 0; i < survey->devices.count; i++) {
		struct dxg_device *device = survey->devices.all[i].item;
		check_device(survey, device, process);
		object_put(&device->object);
	}
	survey_process_counts(survey, process);
}

static void check_processes(struct survey *survey, const struct dxg_kernel *kernel)
{
	list_each (struct dxg_process, process, &kernel->processes, kernel_link)
		check_process(survey, process);
}

/* ---- what is shared ---- */

static void note_bundled(void *context, struct share *share)
{
	struct survey *survey = context;

	survey_hold(survey, &survey->bundled, share);
}

static void check_resource_body(struct survey *survey, struct resource_body *body)
{
	uint32_t count = 0;

	lock_acquire(&body->lock);
	list_each (struct allocation_body, memory, &body->bodies, resource_link) {
		uint32_t known = holders_count(&survey->allocation_bodies, memory, NULL) +
				 (body->is_shared ? 1 : 0);
		uint32_t counted = atomic_load(&memory->refs.count);

		if (memory->resource != body)
			survey_wrong(survey, "memory is in the list of a resource it is not of");
		if (counted != known)
			survey_wrong(survey,
				     "memory of a resource has %u references, and %u are known",
				     counted, known);
		count++;
	}
	if (body->body_count != count)
		survey_wrong(survey, "a resource counts the memory of %u allocations and has %u",
			     body->body_count, count);
	lock_release(&body->lock);
}

/* Every opening has two references (its own and its object's) or one, every bundle and every wait
 * one. */
static void check_share(struct survey *survey, struct share *share)
{
	uint32_t openings = holders_count(&survey->opened, share, NULL);
	uint32_t bundles = holders_count(&survey->bundled, share, NULL);
	uint32_t references = atomic_load(&share->refs.count);
	uint32_t expected = bundles + holders_count(&survey->awaited, share, NULL) +
			    (share->kind == SHARE_RESOURCE ? 2 * openings : openings);

	if (atomic_load(&share->openings) != openings)
		survey_wrong(survey, "a shared object counts %u openings and has %u",
			     atomic_load(&share->openings), openings);
	if (references != expected)
		survey_wrong(survey, "a shared object has %u references, and %u are known",
			     references, expected);
	if (bundles != 0 && share->scheme != SHARE_NT)
		survey_wrong(survey, "an object has an NT handle and was not made for one");
	if (share->kind == SHARE_RESOURCE)
		check_resource_body(survey, container_of(share, struct resource_body, share));
}

static void check_shares(struct survey *survey)
{
	const struct holders *opened = &survey->opened;
	const struct holders *bundled = &survey->bundled;

	for (size_t i = 0; i < opened->count; i = holders_next(opened, i))
		check_share(survey, opened->all[i].item);
	for (size_t i = 0; i < bundled->count; i = holders_next(bundled, i)) {
		if (holders_count(opened, bundled->all[i].item, NULL) == 0)
			check_share(survey, bundled->all[i].item);
	}
}

/* ---- the memory ---- */

/* What only a shared resource holds any more is memory, too. */
static void collect_bodies(struct survey *survey, const struct holders *shares,
			   struct holders *bodies)
{
	for (size_t i = 0; i < shares->count; i++) {
		struct share *share = shares->all[i].item;

		if (share->kind != SHARE_RESOURCE)
			continue;
		struct resource_body *body = container_of(share, struct resource_body, share);
		lock_acquire(&body->lock);
		list_each (struct allocation_body, each, &body->bodies, resource_link)
			survey_hold(survey, bodies, each);
		lock_release(&body->lock);
	}
}

static void check_body(struct survey *survey, struct allocation_body *body)
{
	uint32_t counted = atomic_load(&body->refs.count);
	uint32_t locked = vidmm_lock_count(&body->memory);
	uint64_t locks;
	uint32_t known = holders_count(&survey->allocation_bodies, body, &locks);

	if (!body->resource && counted != known)
		survey_wrong(survey,
			     "memory of a lone allocation has %u references, and %u are known",
			     counted, known);
	if (locked != locks)
		survey_wrong(survey,
			     "memory is locked %u times, and its allocations count %" PRIu64,
			     locked, locks);
}

static void check_account(struct survey *survey, const struct vidmm_account *account,
			  struct vidmm_allocation *const memory[], size_t count, const char *whose,
			  uint32_t id)
{
	const char *why = vidmm_account_validate(account, memory, count);

	if (why)
		survey_wrong(survey, "of %s %u %s", whose, id, why);
}

static void check_accounts_of_process(struct survey *survey, struct dxg_process *process,
				      struct vidmm_allocation *const memory[], size_t count)
{
	struct process_adapter *process_adapter = NULL;

	while ((process_adapter = process_next_adapter(process, process_adapter)))
		check_account(survey, &process_adapter->memory.account, memory, count, "process",
			      process->id);
}

/* Everybody's, and what each adapter and each process on it are charged with. */
static void check_accounts(struct survey *survey, const struct dxg_kernel *kernel,
			   struct vidmm_allocation *const memory[], size_t count)
{
	char why[160];

	if (!vidmm_validate(NULL, memory, count, why, sizeof(why)))
		survey_wrong(survey, "%s", why);
	for (uint32_t i = 0; i < kernel->adapter_count; i++)
		check_account(survey, &kernel->adapters[i]->account, memory, count, "adapter",
			      kernel->adapters[i]->id);
	list_each (struct dxg_process, process, &kernel->processes, kernel_link)
		check_accounts_of_process(survey, process, memory, count);
}

static void check_memory(struct survey *survey, const struct dxg_kernel *kernel)
{
	struct holders bodies = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < survey->allocation_bodies.count; i++)
		survey_hold(survey, &bodies, survey->allocation_bodies.all[i].item);
	collect_bodies(survey, &survey->opened, &bodies);
	collect_bodies(survey, &survey->bundled, &bodies);
	holders_sort(&bodies);
	struct vidmm_allocation **memory =
		mem_zalloc_array(bodies.count + survey->drivers.count + 1, sizeof(*memory));
	if (!memory)
		survey_wrong(survey, "there is no memory to look");
	for (size_t i = 0; memory && i < bodies.count; i = holders_next(&bodies, i)) {
		struct allocation_body *body = bodies.all[i].item;
		check_body(survey, body);
		memory[count++] = &body->memory;
	}
	for (size_t i = 0; memory && i < survey->drivers.count; i++)
		memory[count++] = survey->drivers.all[i].item;
	if (!survey->is_wrong)
		check_accounts(survey, kernel, memory, count);
	mem_free(memory);
	mem_free(bodies.all);
}

static bool validate(struct dxg_kernel *kernel, struct survey survey)
{
	for (uint32_t i = 0; i < kernel->adapter_count; i++)
		survey_adapter(&survey, kernel->adapters[i]);
	check_processes(&survey, kernel);
	const char *why = share_table_validate(&kernel->shares);
	if (why)
		survey_wrong(&survey, "what is shared: %s", why);
	why = quota_book_validate(&kernel->quotas);
	if (why)
		survey_wrong(&survey, "quotas: %s", why);
	share_for_each_bundled(&kernel->shares, note_bundled, &survey);
	holders_sort(&survey.allocation_bodies);
	holders_sort(&survey.opened);
	holders_sort(&survey.bundled);
	holders_sort(&survey.awaited);
	if (!survey.is_wrong)
		check_shares(&survey);
	if (!survey.is_wrong)
		check_memory(&survey, kernel);
	survey_finish(&survey);
	return !survey.is_wrong;
}

bool kernel_validate(struct dxg_kernel *kernel, char *wrong_text, size_t wrong_size)
{
	return validate(kernel, (struct survey){ .wrong = wrong_text, .wrong_size = wrong_size });
}

bool kernel_validate_all(struct dxg_kernel *kernel, char *wrong_text, size_t wrong_size)
{
	return validate(kernel, (struct survey){ .wrong = wrong_text,
						 .wrong_size = wrong_size,
						 .tells_all = true });
}

bool kernel_validate_adapters(struct dxg_kernel *kernel, char *wrong_text, size_t wrong_size)
{
	struct survey survey = { .wrong = wrong_text, .wrong_size = wrong_size, .tells_all = true };

	for (uint32_t i = 0; i < kernel->adapter_count; i++)
		survey_adapter(&survey, kernel->adapters[i]);
	survey_finish(&survey);
	return !survey.is_wrong;
}
