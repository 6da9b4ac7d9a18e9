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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "object/allocation.h"
#include "object/context.h"
#include "object/gpu_addresses.h"
#include "object/hw_context.h"
#include "object/keyed_mutex.h"
#include "object/paging_queue.h"
#include "object/resource.h"
#include "object/sync_object.h"
#include "object/validate.h"
#include "vidmm/validate.h"

/* One for each time that somebody holds `item`. */
struct holder {
	void *item;
	uint32_t locks; /* of an allocation that holds memory */
};

struct holders {
	struct holder *all;
	size_t count;
	size_t room;
};

struct survey {
	char *wrong;
	size_t wrong_size;
	bool is_wrong;

	struct holders devices;
	struct holders allocation_bodies; /* one per dxg_allocation */
	struct holders opened;            /* struct share, one per opening */
	struct holders bundled;           /* struct share, one per NT handle's bundle */
	struct holders awaited;           /* struct share, one per wait by an event */
	struct holders drivers;           /* struct vidmm_allocation that no client made */
};

/* The first thing that is wrong is the one that is told. */
static void wrong(struct survey *survey, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void wrong(struct survey *survey, const char *format, ...)
{
	va_list arguments;

	if (survey->is_wrong)
		return;
	survey->is_wrong = true;
	va_start(arguments, format);
	vsnprintf(survey->wrong, survey->wrong_size, format, arguments);
	va_end(arguments);
}

/* ---- holders ---- */

static void hold_locked(struct survey *survey, struct holders *holders, void *item, uint32_t locks)
{
	if (holders->count == holders->room) {
		size_t room = holders->room ? holders->room * 2 : 64;
		struct holder *all = mem_realloc(holders->all, room * sizeof(*all));
		if (!all) {
			wrong(survey, "there is no memory to look");
			return;
		}
		holders->all = all;
		holders->room = room;
	}
	holders->all[holders->count++] = (struct holder){ item, locks };
}

static void hold(struct survey *survey, struct holders *holders, void *item)
{
	hold_locked(survey, holders, item, 0);
}

static int compare_holders(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t)((const struct holder *)left)->item;
	uintptr_t b = (uintptr_t)((const struct holder *)right)->item;

	return (a > b) - (a < b);
}

static void sort(struct holders *holders)
{
	if (holders->count > 1)
		qsort(holders->all, holders->count, sizeof(*holders->all), compare_holders);
}

/* How often it is held, and with how many locks together. */
static uint32_t count_of(const struct holders *holders, const void *item, uint64_t *locks_out)
{
	size_t low = 0;
	size_t high = holders->count;
	uint32_t count = 0;
	uint64_t locks = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if ((uintptr_t)holders->all[middle].item < (uintptr_t)item)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < holders->count && holders->all[low].item == item; low++) {
		locks += holders->all[low].locks;
		count++;
	}
	if (locks_out)
		*locks_out = locks;
	return count;
}

/* ---- objects ---- */

/* The handle finds it, and `references` are all there are. */
static void check_object(struct survey *survey, struct object *object,
			 const struct object_class *class, uint32_t references)
{
	const struct object_class *found_class = NULL;
	struct object *found = NULL;

	if (object->class != class) {
		wrong(survey, "0x%08x is in a list of %s and is none", object->handle, class->name);
		return;
	}
	if (handle_find(object->table, object->handle, class, &found, &found_class) !=
	    HANDLE_FOUND) {
		wrong(survey, "0x%08x lives (%s), and its handle does not find it", object->handle,
		      class->name);
		return;
	}
	if (found != object)
		wrong(survey, "0x%08x finds another object than the one of that number",
		      object->handle);
	object_put(found);
	uint32_t counted = (uint32_t)atomic_load(&object->slot->state) & INT32_MAX;
	if (counted != references)
		wrong(survey, "0x%08x (%s) has %u references, and %u are known", object->handle,
		      class->name, counted, references);
}

static void check_allocation_locked(struct survey *survey, struct dxg_allocation *allocation,
				    const struct dxg_device *device,
				    const struct dxg_resource *resource)
{
	struct allocation_body *body = allocation->body;
	uint32_t handle = allocation->object.handle;

	check_object(survey, &allocation->object, &allocation_class, 1);
	if (allocation->device != device || allocation->resource != resource)
		wrong(survey, "allocation 0x%08x is in the list of another owner", handle);
	if (allocation->is_claimed)
		wrong(survey, "allocation 0x%08x is claimed, and nobody destroys it", handle);
	if (!allocation_is_ready(allocation))
		wrong(survey, "allocation 0x%08x never became ready", handle);
	if (body->resource != (resource ? resource->body : NULL))
		wrong(survey, "allocation 0x%08x has memory of another resource", handle);
	if (body->adapter != device->adapter)
		wrong(survey, "allocation 0x%08x has memory of another adapter", handle);
	if (atomic_load(&body->holds.count) != 0)
		wrong(survey, "the driver never let go of allocation 0x%08x", handle);
	hold_locked(survey, &survey->allocation_bodies, body, allocation->lock_count);
}

static void check_resource_locked(struct survey *survey, struct dxg_resource *resource,
				  const struct dxg_device *device)
{
	struct resource_body *body = resource->body;
	uint32_t handle = resource->object.handle;
	uint32_t count = 0;
	struct list *link;

	list_for_each (link, &resource->allocations) {
		check_allocation_locked(survey,
					container_of(link, struct dxg_allocation, owner_link),
					device, resource);
		count++;
	}
	check_object(survey, &resource->object, &resource_class, 1 + count);
	if (resource->device != device)
		wrong(survey, "resource 0x%08x is in the list of another device", handle);
	if (resource->allocation_count != count)
		wrong(survey, "resource 0x%08x counts %u allocations and has %u", handle,
		      resource->allocation_count, count);
	if (body->is_shared != (body->share.scheme != SHARE_PRIVATE))
		wrong(survey, "resource 0x%08x does not know whether it is shared", handle);
	if (!body->is_shared && body->body_count != count)
		wrong(survey, "resource 0x%08x has %u allocations and the memory of %u", handle,
		      count, body->body_count);
	hold(survey, &survey->opened, &body->share);
}

/* Under the lock of its owner: `device`, or the process when that is NULL. */
static void check_sync_object_locked(struct survey *survey, struct dxg_sync_object *sync,
				     const struct dxg_device *device,
				     const struct dxg_process *process)
{
	struct sync_body *body = sync->body;
	uint32_t handle = sync->object.handle;
	struct list *link;

	check_object(survey, &sync->object, &sync_object_class, 1);
	if (sync->device != device || sync->process != process)
		wrong(survey, "sync object 0x%08x is in the list of another owner", handle);
	lock_acquire(&body->lock);
	if (sync->is_closed)
		wrong(survey, "sync object 0x%08x is closed and still in a list", handle);
	if (body->count > body->max_count)
		wrong(survey, "sync object 0x%08x counts %u of at most %u", handle, body->count,
		      body->max_count);
	list_for_each (link, &sync->waits)
		hold(survey, &survey->awaited, &body->share);
	lock_release(&body->lock);
	if ((body->slot.value != NULL) != (body->kind == SYNC_MONITORED_FENCE))
		wrong(survey,
		      "sync object 0x%08x has memory for a value and needs none, or the "
		      "other way",
		      handle);
	hold(survey, &survey->opened, &body->share);
}

static void check_paging_queue_locked(struct survey *survey, struct dxg_paging_queue *queue,
				      const struct dxg_device *device)
{
	uint32_t handle = queue->object.handle;
	uint32_t operations = 0;
	struct list *link;

	lock_acquire(&queue->lock);
	list_for_each (link, &queue->operations)
		operations++;
	if (operations == 0 && fence_value(&queue->body->fence) != queue->last_value)
		wrong(survey, "paging queue 0x%08x has nothing to do, and its fence lags", handle);
	lock_release(&queue->lock);
	check_object(survey, &queue->object, &paging_queue_class, 1 + operations);
	if (queue->device != device || queue->fence->device != device)
		wrong(survey, "paging queue 0x%08x is in the list of another device", handle);
	hold(survey, &survey->awaited, &queue->body->share);
}

static void hold_drivers(void *context, struct vidmm_allocation *allocation)
{
	struct survey *survey = context;

	hold(survey, &survey->drivers, allocation);
}

/* How many there are: each holds a reference on its parent. */
static uint32_t check_hw_queues_locked(struct survey *survey, struct hw_queue_parent *parent,
				       const struct dxg_device *device)
{
	uint32_t count = 0;
	struct list *link;

	list_for_each (link, &parent->queues) {
		struct dxg_hw_queue *queue = container_of(link, struct dxg_hw_queue, parent_link);

		check_object(survey, &queue->object, &hw_queue_class, 1);
		if (queue->parent != parent || queue->device != device ||
		    queue->fence->device != device || queue->queue.owner != &device->work)
			wrong(survey, "hardware queue 0x%08x is in the list of another context",
			      queue->object.handle);
		hold(survey, &survey->awaited, &queue->body->share);
		count++;
	}
	if (parent->is_ending)
		wrong(survey, "context 0x%08x takes no hardware queues, and nobody destroys it",
		      parent->object->handle);
	return count;
}

static void check_hw_context_locked(struct survey *survey, struct dxg_hw_context *context,
				    const struct dxg_device *device)
{
	uint32_t queues = check_hw_queues_locked(survey, &context->hw_queues, device);

	check_object(survey, &context->object, &hw_context_class, 1 + queues);
	if (context->device != device)
		wrong(survey, "hardware context 0x%08x is in the list of another device",
		      context->object.handle);
	context_memory_for_each(&context->driver_memory, hold_drivers, survey);
}

static void check_device(struct survey *survey, struct dxg_device *device,
			 const struct dxg_process *process)
{
	uint32_t children = 0;
	struct list *link;

	lock_acquire(&device->lock);
	list_for_each (link, &device->contexts) {
		struct dxg_context *context = container_of(link, struct dxg_context, device_link);
		uint32_t queues = check_hw_queues_locked(survey, &context->hw_queues, device);
		check_object(survey, &context->object, &context_class, 1 + queues);
		if (context->device != device)
			wrong(survey, "context 0x%08x is in the list of another device",
			      context->object.handle);
		context_memory_for_each(&context->driver_memory, hold_drivers, survey);
		children++;
	}
	list_for_each (link, &device->hw_contexts) {
		check_hw_context_locked(
			survey, container_of(link, struct dxg_hw_context, device_link), device);
		children++;
	}
	context_memory_for_each(&device->driver_memory, hold_drivers, survey);
	list_for_each (link, &device->resources) {
		struct dxg_resource *resource =
			container_of(link, struct dxg_resource, device_link);
		check_resource_locked(survey, resource, device);
		children += 1 + resource->allocation_count;
	}
	list_for_each (link, &device->allocations) {
		check_allocation_locked(survey,
					container_of(link, struct dxg_allocation, owner_link),
					device, NULL);
		children++;
	}
	list_for_each (link, &device->sync_objects) {
		check_sync_object_locked(survey,
					 container_of(link, struct dxg_sync_object, owner_link),
					 device, process);
		children++;
	}
	list_for_each (link, &device->paging_queues) {
		check_paging_queue_locked(
			survey, container_of(link, struct dxg_paging_queue, device_link), device);
		children++;
	}
	if (device->is_dying)
		wrong(survey, "device 0x%08x is dying, and nobody destroys it",
		      device->object.handle);
	lock_release(&device->lock);
	/* One of the survey's own, taken when it was collected. */
	check_object(survey, &device->object, &device_class, 2 + children);
	if (device->process != process)
		wrong(survey, "device 0x%08x is in the list of another process",
		      device->object.handle);
}

static void check_keyed_mutex_locked(struct survey *survey, struct dxg_keyed_mutex *mutex,
				     const struct dxg_process *process)
{
	struct keyed_mutex_body *body = mutex->body;

	check_object(survey, &mutex->object, &keyed_mutex_class, 1);
	lock_acquire(&body->lock);
	if (mutex->process != process || mutex->is_closed)
		wrong(survey, "keyed mutex 0x%08x is in a list and closed, or in a wrong one",
		      mutex->object.handle);
	if (body->is_abandoned && body->owner)
		wrong(survey, "keyed mutex 0x%08x is abandoned and held", mutex->object.handle);
	if ((body->private_bytes != 0) != (body->private_data != NULL))
		wrong(survey, "keyed mutex 0x%08x has a size without a blob, or the other way",
		      mutex->object.handle);
	lock_release(&body->lock);
	hold(survey, &survey->opened, &body->share);
}

/*
 * Ranges, and the entries that the driver was given for them. While something is under way they may
 * differ, and that may begin at any moment: an eviction is no call. A lost adapter has no tables.
 */
static void check_addresses(struct survey *survey, const struct process_adapter *joined)
{
	struct address_space *space = joined->addresses;
	const struct pager *pager = joined->adapter->pager;
	uint64_t page;

	if (!space || atomic_load(&joined->adapter->is_lost) || !pager_is_idle(pager) ||
	    atomic_load(&space->pending) > 0)
		return;
	const char *why = page_tables_validate(&space->tables, NULL, NULL, &page);
	if (why && pager_is_idle(pager))
		wrong(survey, "GPU address 0x%" PRIx64 ": %s", page << GPUVA_PAGE_SHIFT, why);
}

static void check_process(struct survey *survey, struct dxg_process *process)
{
	struct list *link;

	lock_acquire(&process->lock);
	list_for_each (link, &process->adapters) {
		const struct process_adapter *joined =
			container_of(link, struct process_adapter, link);
		if (joined->driver_knows == PROCESS_KNOWN)
			check_addresses(survey, joined);
	}
	list_for_each (link, &process->opens) {
		struct adapter_open *open = container_of(link, struct adapter_open, process_link);
		check_object(survey, &open->object, &adapter_open_class, 1);
	}
	list_for_each (link, &process->keyed_mutexes)
		check_keyed_mutex_locked(
			survey, container_of(link, struct dxg_keyed_mutex, process_link), process);
	list_for_each (link, &process->sync_objects)
		check_sync_object_locked(survey,
					 container_of(link, struct dxg_sync_object, owner_link),
					 NULL, process);
	list_for_each (link, &process->devices) {
		struct dxg_device *device = container_of(link, struct dxg_device, process_link);
		object_get(&device->object);
		hold(survey, &survey->devices, device);
	}
	lock_release(&process->lock);
	for (size_t i = 0; i < survey->devices.count; i++) {
		struct dxg_device *device = survey->devices.all[i].item;
		check_device(survey, device, process);
		object_put(&device->object);
	}
}

/* ---- what is shared ---- */

static void note_bundled(void *context, struct share *share)
{
	struct survey *survey = context;

	hold(survey, &survey->bundled, share);
}

static void check_resource_body(struct survey *survey, struct resource_body *body)
{
	uint32_t count = 0;
	struct list *link;

	lock_acquire(&body->lock);
	list_for_each (link, &body->bodies) {
		struct allocation_body *memory =
			container_of(link, struct allocation_body, resource_link);
		uint32_t known = count_of(&survey->allocation_bodies, memory, NULL) +
				 (body->is_shared ? 1 : 0);
		uint32_t counted = atomic_load(&memory->refs.count);

		if (memory->resource != body)
			wrong(survey, "memory is in the list of a resource it is not of");
		if (counted != known)
			wrong(survey, "memory of a resource has %u references, and %u are known",
			      counted, known);
		count++;
	}
	if (body->body_count != count)
		wrong(survey, "a resource counts the memory of %u allocations and has %u",
		      body->body_count, count);
	lock_release(&body->lock);
}

/* Every opening has two references (its own and its object's) or one, every bundle and every wait
 * one. */
static void check_share(struct survey *survey, struct share *share)
{
	uint32_t openings = count_of(&survey->opened, share, NULL);
	uint32_t bundles = count_of(&survey->bundled, share, NULL);
	uint32_t references = atomic_load(&share->refs.count);
	uint32_t expected = bundles + count_of(&survey->awaited, share, NULL) +
			    (share->kind == SHARE_RESOURCE ? 2 * openings : openings);

	if (atomic_load(&share->openings) != openings)
		wrong(survey, "a shared object counts %u openings and has %u",
		      atomic_load(&share->openings), openings);
	if (references != expected)
		wrong(survey, "a shared object has %u references, and %u are known", references,
		      expected);
	if (bundles != 0 && share->scheme != SHARE_NT)
		wrong(survey, "an object has an NT handle and was not made for one");
	if (share->kind == SHARE_RESOURCE)
		check_resource_body(survey, container_of(share, struct resource_body, share));
}

/* The next item after a run of equal ones. */
static size_t next_item(const struct holders *holders, size_t index)
{
	const void *item = holders->all[index].item;

	while (index < holders->count && holders->all[index].item == item)
		index++;
	return index;
}

static void check_shares(struct survey *survey)
{
	const struct holders *opened = &survey->opened;
	const struct holders *bundled = &survey->bundled;

	for (size_t i = 0; i < opened->count; i = next_item(opened, i))
		check_share(survey, opened->all[i].item);
	for (size_t i = 0; i < bundled->count; i = next_item(bundled, i)) {
		if (count_of(opened, bundled->all[i].item, NULL) == 0)
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
		struct list *link;

		if (share->kind != SHARE_RESOURCE)
			continue;
		struct resource_body *body = container_of(share, struct resource_body, share);
		lock_acquire(&body->lock);
		list_for_each (link, &body->bodies)
			hold(survey, bodies,
			     container_of(link, struct allocation_body, resource_link));
		lock_release(&body->lock);
	}
}

static void check_body(struct survey *survey, struct allocation_body *body)
{
	uint32_t counted = atomic_load(&body->refs.count);
	uint32_t locked = vidmm_lock_count(&body->memory);
	uint64_t locks;
	uint32_t known = count_of(&survey->allocation_bodies, body, &locks);

	if (!body->resource && counted != known)
		wrong(survey, "memory of a lone allocation has %u references, and %u are known",
		      counted, known);
	if (locked != locks)
		wrong(survey, "memory is locked %u times, and its allocations count %" PRIu64,
		      locked, locks);
}

static void check_memory(struct survey *survey)
{
	struct holders bodies = { 0 };
	struct vidmm_allocation **memory;
	size_t count = 0;
	char why[160];

	for (size_t i = 0; i < survey->allocation_bodies.count; i++)
		hold(survey, &bodies, survey->allocation_bodies.all[i].item);
	collect_bodies(survey, &survey->opened, &bodies);
	collect_bodies(survey, &survey->bundled, &bodies);
	sort(&bodies);
	memory = mem_zalloc_array(bodies.count + survey->drivers.count + 1, sizeof(*memory));
	if (!memory)
		wrong(survey, "there is no memory to look");
	for (size_t i = 0; memory && i < bodies.count; i = next_item(&bodies, i)) {
		struct allocation_body *body = bodies.all[i].item;
		check_body(survey, body);
		memory[count++] = &body->memory;
	}
	for (size_t i = 0; memory && i < survey->drivers.count; i++)
		memory[count++] = survey->drivers.all[i].item;
	if (!survey->is_wrong && !vidmm_validate(NULL, memory, count, why, sizeof(why)))
		wrong(survey, "%s", why);
	mem_free(memory);
	mem_free(bodies.all);
}

bool kernel_validate(struct dxg_kernel *kernel, struct dxg_process *process, char *wrong_text,
		     size_t wrong_size)
{
	struct survey survey = { .wrong = wrong_text, .wrong_size = wrong_size };

	if (process)
		check_process(&survey, process);
	share_for_each_bundled(&kernel->shares, note_bundled, &survey);
	sort(&survey.allocation_bodies);
	sort(&survey.opened);
	sort(&survey.bundled);
	sort(&survey.awaited);
	if (!survey.is_wrong)
		check_shares(&survey);
	if (!survey.is_wrong)
		check_memory(&survey);
	mem_free(survey.devices.all);
	mem_free(survey.allocation_bodies.all);
	mem_free(survey.opened.all);
	mem_free(survey.bundled.all);
	mem_free(survey.awaited.all);
	mem_free(survey.drivers.all);
	return !survey.is_wrong;
}
