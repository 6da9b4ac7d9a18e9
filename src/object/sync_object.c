/*
 * sync_object.c - see sync_object.h.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "object/fence_address.h"
#include "object/fence_watch.h"
#include "object/sync_object.h"
#include "object/sync_wait.h"
#include "trace/trace.h"

const char *sync_kind_name(enum sync_kind kind)
{
	switch (kind) {
	case SYNC_MUTEX:
		return "a mutex";
	case SYNC_SEMAPHORE:
		return "a semaphore";
	case SYNC_FENCE:
		return "a fence that is not monitored";
	case SYNC_CPU_NOTIFICATION:
		return "a CPU notification";
	case SYNC_MONITORED_FENCE:
		return "a monitored fence";
	}
	return "a sync object";
}

/* ---- the body ---- */

static void body_free(struct sync_body *body)
{
	if (sync_body_is_fence(body))
		fence_finish(&body->fence);
	fence_slot_give(&body->slot);
	lock_finish(&body->openings_lock);
	lock_finish(&body->lock);
	mem_give(body, sizeof(*body));
}

static void body_destroy(struct share *share)
{
	struct sync_body *body = sync_body_of_share(share);

	event_close(&body->event);
	body_free(body);
}

/* A fence that others can open has a page of its own: who sees a page sees all of it. */
static NTSTATUS take_slot(struct dxg_process *process, const struct sync_options *options,
			  struct fence_slot *slot_out)
{
	struct fence_pages *pages = process->fence_pages;

	if (options->scheme == SHARE_PRIVATE)
		return fence_slot_take(pages, options->initial_value, slot_out);
	pages = fence_pages_create(1);
	if (!pages)
		return STATUS_NO_MEMORY;
	NTSTATUS status = fence_slot_take(pages, options->initial_value, slot_out);
	fence_pages_close(pages);
	return status;
}

static NTSTATUS body_create(struct dxg_device *device, const struct sync_options *options,
			    struct sync_body **body_out)
{
	struct sync_body *body = mem_take(sizeof(*body));
	NTSTATUS status = STATUS_SUCCESS;

	if (!body)
		goto no_memory;
	*body = (struct sync_body){ 0 };
	if (options->kind == SYNC_MONITORED_FENCE)
		status = take_slot(device->process, options, &body->slot);
	if (!NT_SUCCESS(status)) {
		mem_give(body, sizeof(*body));
		goto no_memory;
	}
	body->kind = options->kind;
	body->is_cross_adapter = options->is_cross_adapter;
	body->max_count = options->kind == SYNC_MUTEX ? 1 : options->max_count;
	body->count = options->kind == SYNC_MUTEX ? !options->is_taken : options->initial_count;
	atomic_init(&body->packet_value, options->initial_value);
	lock_init(&body->lock, LOCK_RANK_FENCE, "sync object");
	lock_init(&body->openings_lock, LOCK_RANK_FENCE_OPENINGS, "openings of a fence");
	list_init(&body->openings);
	list_init(&body->watches);
	if (sync_body_is_fence(body))
		fence_init(&body->fence, body->slot.value ? body->slot.value : &body->packet_value);
	status = share_init(&body->share, device->process->shares, SHARE_SYNC_OBJECT,
			    options->scheme, device->adapter, body_destroy);
	if (!NT_SUCCESS(status)) {
		body_free(body);
		return status;
	}
	body->event = options->event;
	*body_out = body;
	return STATUS_SUCCESS;

no_memory:
	refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, "no memory for a sync object");
	return STATUS_NO_MEMORY; /* said here, so that the compiler sees that it is no success */
}

/* ---- an opening ---- */

static struct dxg_sync_object *sync_of_object(struct object *object)
{
	return object_cast(object, &sync_object_class, struct dxg_sync_object, object);
}

static void sync_object_finish(struct object *object)
{
	struct dxg_sync_object *sync = sync_of_object(object);
	struct dxg_device *device = sync->device;

	struct sync_body *body = sync->body;

	trace_sync_object_destroy(sync->process->id, object->handle);
	if (sync != &body->first)
		mem_free(sync);
	share_put(&body->share);
	if (device)
		object_put(&device->object);
}

static struct share *sync_object_share(struct object *object)
{
	return &sync_of_object(object)->body->share;
}

const struct object_class sync_object_class = { "a sync object", sync_object_finish,
						sync_object_share };

/* Makes an opening of zeroed memory, which nobody finds yet. */
static NTSTATUS opening_init(struct dxg_sync_object *sync, struct dxg_process *process,
			     struct dxg_device *device, struct sync_body *body,
			     const struct sync_access *access)
{
	if (!NT_SUCCESS(object_init(&sync->object, &sync_object_class, &process->handles)))
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for a sync object handle");
	sync->process = process;
	sync->device = device;
	sync->body = body;
	sync->access = *access;
	owned_init(&sync->owned, &sync->object);
	list_init(&sync->body_link);
	list_init(&sync->watched_link);
	list_init(&sync->waits);
	return STATUS_SUCCESS;
}

/* ---- the GPU's address ---- */

static bool is_gpu_visible(const struct dxg_sync_object *sync)
{
	return sync->device && sync->device->joined->addresses &&
	       sync->body->kind == SYNC_MONITORED_FENCE && sync->access.has_gpu_access;
}

static NTSTATUS map_for_gpu(struct dxg_sync_object *sync)
{
	NTSTATUS status;

	if (!is_gpu_visible(sync))
		return STATUS_SUCCESS;
	status = fence_address_get(sync->device, &sync->body->slot, sync->access.may_signal,
				   &sync->address);
	if (NT_SUCCESS(status))
		sync->gpu_address = fence_address_of(sync->address, &sync->body->slot);
	return status;
}

static void unmap_for_gpu(struct dxg_sync_object *sync)
{
	fence_address_put(sync->address);
}

/* ---- whose it is ---- */

static void publish_locked(struct dxg_sync_object *sync, struct list *owners)
{
	trace_sync_object_create(sync->process->id, sync->object.handle, (uint32_t)sync->body->kind,
				 share_global_handle(&sync->body->share));
	owned_publish_locked(owners, &sync->owned);
}

static NTSTATUS join_device(struct dxg_sync_object *sync, struct dxg_device *device)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&device->lock);
	if (device->is_dying)
		status = device_refuse_dying(device);
	else
		status = device_check_alive(device); /* or sync_object_device_lost() misses it */
	if (NT_SUCCESS(status)) {
		object_get(&device->object);
		publish_locked(sync, &device->sync_objects);
	}
	lock_release(&device->lock);
	return status;
}

static NTSTATUS join_owner(struct dxg_sync_object *sync)
{
	struct dxg_process *process = sync->process;

	if (sync->device)
		return join_device(sync, sync->device);
	lock_acquire(&process->lock);
	publish_locked(sync, &process->sync_objects);
	lock_release(&process->lock);
	return STATUS_SUCCESS;
}

static void leave_owner(struct dxg_sync_object *sync)
{
	struct lock *lock = sync->device ? &sync->device->lock : &sync->process->lock;

	lock_acquire(lock);
	list_remove(&sync->owned.link);
	lock_release(lock);
}

/* The last steps of create and open: the body is there, with an opening counted. */
static NTSTATUS opening_publish(struct dxg_sync_object *sync)
{
	NTSTATUS status = map_for_gpu(sync);

	if (!NT_SUCCESS(status))
		return status;
	fence_watch_join(sync);
	status = join_owner(sync);
	if (!NT_SUCCESS(status)) {
		fence_watch_leave(sync);
		unmap_for_gpu(sync);
	}
	return status;
}

NTSTATUS sync_object_create(struct dxg_device *device, const struct sync_options *options,
			    struct dxg_sync_object **object_out)
{
	struct event event = options->event;
	struct sync_body *body = NULL;
	NTSTATUS status = device_check_alive(device);

	if (NT_SUCCESS(status))
		status = body_create(device, options, &body);
	if (!NT_SUCCESS(status)) {
		event_close(&event);
		return status;
	}
	status = opening_init(&body->first, device->process, device, body, &options->access);
	if (!NT_SUCCESS(status)) {
		share_abandon(&body->share);
		event_close(&body->event);
		body_free(body);
		return status;
	}
	share_publish(&body->share);
	status = opening_publish(&body->first);
	if (!NT_SUCCESS(status)) {
		object_abandon(&body->first.object);
		share_close(&body->share);
		return status;
	}
	*object_out = &body->first;
	return STATUS_SUCCESS;
}

static NTSTATUS check_open(const struct dxg_device *device, const struct sync_body *body)
{
	if (device && device->adapter != body->share.adapter && !body->is_cross_adapter)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "hDevice",
			      "is on another adapter than the sync object, which was not created "
			      "with CrossAdapter");
	return STATUS_SUCCESS;
}

NTSTATUS sync_object_open(struct dxg_process *process, struct dxg_device *device,
			  struct share *share, const struct sync_access *access,
			  struct dxg_sync_object **object_out)
{
	struct sync_body *body = sync_body_of_share(share);
	NTSTATUS status = check_open(device, body);

	if (NT_SUCCESS(status) && device)
		status = device_check_alive(device);
	if (!NT_SUCCESS(status))
		return status;
	struct dxg_sync_object *sync = mem_zalloc(sizeof(*sync));
	if (!sync)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for a sync object handle");
	status = opening_init(sync, process, device, body, access);
	if (!NT_SUCCESS(status))
		goto free_sync;
	if (!share_open(share)) {
		status = refuse(STATUS_INVALID_PARAMETER, RULE_API_HANDLE, "hSharedHandle",
				"0x%08x was destroyed during the call", share_global_handle(share));
		goto give_back_number;
	}
	status = opening_publish(sync);
	if (!NT_SUCCESS(status))
		goto close_share;
	*object_out = sync;
	return STATUS_SUCCESS;

close_share:
	share_close(share);
give_back_number:
	object_abandon(&sync->object);
free_sync:
	mem_free(sync);
	return status;
}

bool sync_object_destroy(struct dxg_sync_object *sync)
{
	struct sync_body *body = sync->body;

	if (!object_retire(&sync->object))
		return false;
	leave_owner(sync);
	fence_watch_leave(sync);
	sync_wait_end_all(sync);
	unmap_for_gpu(sync);
	/* The global handle goes now; the body when no call is busy with this opening any more. */
	share_close_keep(&body->share);
	object_put(&sync->object);
	return true;
}

static bool destroy_owned(struct object *object)
{
	return sync_object_destroy(
		object_cast(object, &sync_object_class, struct dxg_sync_object, object));
}

void sync_object_destroy_all(struct dxg_device *device)
{
	owned_end_all(&device->lock, &device->sync_objects, destroy_owned);
}

/* ---- signal and wait ---- */

/* A mutex or a semaphore: one more, and everybody may try. */
static void count_signal(struct sync_body *body)
{
	struct list told;
	struct list *link;

	list_init(&told);
	lock_acquire(&body->lock);
	if (body->count < body->max_count) {
		body->count++;
		while ((link = list_pop_front(&body->watches)) != NULL) {
			container_of(link, struct sync_watch, link)->is_queued = false;
			list_push_back(&told, link);
		}
	}
	lock_release(&body->lock);
	while ((link = list_pop_front(&told)) != NULL) {
		struct sync_watch *watch = container_of(link, struct sync_watch, link);
		watch->try_again(watch);
	}
}

bool sync_body_signal(struct sync_body *body, uint64_t value, bool is_rewind)
{
	switch (body->kind) {
	case SYNC_MUTEX:
	case SYNC_SEMAPHORE:
		count_signal(body);
		break;
	case SYNC_CPU_NOTIFICATION:
		event_set(&body->event);
		break;
	case SYNC_FENCE:
	case SYNC_MONITORED_FENCE:
		if (!is_rewind)
			return fence_signal(&body->fence, value);
		fence_rewind(&body->fence, value);
		break;
	}
	return true;
}

bool sync_body_try_wait(struct sync_body *body, uint64_t value)
{
	assert(body->kind != SYNC_CPU_NOTIFICATION);
	if (sync_body_is_fence(body))
		return fence_is_reached(&body->fence, value);
	lock_acquire(&body->lock);
	bool has_taken = body->count > 0;
	if (has_taken)
		body->count--;
	lock_release(&body->lock);
	return has_taken;
}

static void watch_reached(struct fence_wait *wait)
{
	struct sync_watch *watch = container_of(wait, struct sync_watch, fence_wait);

	watch->try_again(watch);
}

bool sync_body_watch(struct sync_body *body, uint64_t value, struct sync_watch *watch)
{
	assert(body->kind != SYNC_CPU_NOTIFICATION);
	if (sync_body_is_fence(body)) {
		watch->fence_wait.value = value;
		watch->fence_wait.reached = watch_reached;
		if (!fence_wait_start(&body->fence, &watch->fence_wait))
			return false;
		fence_watch_begin(body);
		return true;
	}
	lock_acquire(&body->lock);
	watch->is_queued = body->count == 0;
	list_init(&watch->link);
	if (watch->is_queued)
		list_push_back(&body->watches, &watch->link);
	bool is_queued = watch->is_queued;
	lock_release(&body->lock);
	return is_queued;
}

bool sync_body_watch_cancel(struct sync_body *body, struct sync_watch *watch)
{
	if (sync_body_is_fence(body))
		return fence_wait_cancel(&body->fence, &watch->fence_wait);
	lock_acquire(&body->lock);
	bool was_queued = watch->is_queued;
	if (was_queued)
		list_remove(&watch->link);
	watch->is_queued = false;
	lock_release(&body->lock);
	return was_queued;
}

/* ---- a lost device ---- */

/* One that was not seen yet, with a reference; those that were are at the end of the list. */
static struct dxg_sync_object *next_unlost(struct dxg_device *device)
{
	struct dxg_sync_object *sync = NULL;

	lock_acquire(&device->lock);
	if (!list_is_empty(&device->sync_objects)) {
		sync = container_of(device->sync_objects.next, struct dxg_sync_object, owned.link);
		if (sync->is_lost) {
			sync = NULL;
		} else {
			sync->is_lost = true;
			object_get(&sync->object);
			list_remove(&sync->owned.link);
			list_push_back(&device->sync_objects, &sync->owned.link);
		}
	}
	lock_release(&device->lock);
	return sync;
}

void sync_object_device_lost(struct dxg_device *device)
{
	struct dxg_sync_object *sync;

	assert(device_state(device) != DEVICE_ACTIVE);
	while ((sync = next_unlost(device)) != NULL) {
		if (sync->body->kind == SYNC_MONITORED_FENCE && sync->access.may_signal &&
		    sync->access.jumps_when_lost)
			fence_end(&sync->body->fence);
		sync_wait_end_blocked(sync);
		object_put(&sync->object);
	}
}
