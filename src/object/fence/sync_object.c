/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "object/fence/cpu_event.h"
#include "object/ending/endings.h"
#include "object/fence/fence_address.h"
#include "object/fence/fence_mapping.h"
#include "object/fence/fence_watch.h"
#include "object/fence/sync_object.h"
#include "object/fence/sync_wait.h"
#include "trace/trace.h"

/* What is left of one whose handle has ended, for as long as it waits. */
enum { ENDING_BYTES = 1024 };

const char *sync_kind_name(enum sync_kind kind)
{
	static const char *const names[] = {
		[SYNC_MUTEX] = "a mutex",
		[SYNC_SEMAPHORE] = "a semaphore",
		[SYNC_FENCE] = "a fence that is not monitored",
		[SYNC_CPU_NOTIFICATION] = "a CPU notification",
		[SYNC_MONITORED_FENCE] = "a monitored fence",
	};

	return names[kind];
}

/* ---- the body ---- */

static void body_free(struct sync_body *body)
{
	if (sync_body_is_fence(body))
		fence_finish(&body->fence);
	lock_finish(&body->openings_lock);
	lock_finish(&body->lock);
	mem_give(body, sizeof(*body));
}

static void end_driver_event(struct sync_body *body)
{
	cpu_event_destroy(body->cpu_event);
}

static void give_body_back(struct sync_body *body)
{
	event_close(&body->event);
	fence_slot_give(&body->slot);
	body_free(body);
}

static void body_destroy(struct share *share)
{
	struct sync_body *subject = sync_body_of_share(share);

	ENDING_OF_SYNC_BODY(ENDING_CALL)
}

/* A monitored fence has no place yet. Every field is set, but for the opening: wiping takes longer.
 */
static NTSTATUS body_create(struct dxg_device *device, const struct sync_options *options,
			    struct sync_body **body_out)
{
	struct sync_body *body = mem_take(sizeof(*body));

	if (!body) {
		refuse_no_memory("no memory for a sync object");
		return STATUS_NO_MEMORY; /* said here: the compiler sees that it is no success */
	}
	body->kind = options->kind;
	body->is_cross_adapter = options->is_cross_adapter;
	body->max_count = options->kind == SYNC_MUTEX ? 1 : options->max_count;
	body->count = options->kind == SYNC_MUTEX ? !options->is_taken : options->initial_count;
	body->slot = (struct fence_slot){ 0 };
	body->event = EVENT_NONE;
	body->cpu_event = NULL;
	atomic_init(&body->packet_value, options->initial_value);
	lock_init(&body->lock, LOCK_RANK_FENCE, "sync object");
	lock_init(&body->openings_lock, LOCK_RANK_FENCE_OPENINGS, "openings of a fence");
	list_init(&body->openings);
	list_init(&body->watches);
	if (sync_body_is_fence(body))
		fence_init(&body->fence, &body->packet_value);
	NTSTATUS status =
		share_init(&body->share, device->process->shares, device->process->identity.user,
			   SHARE_SYNC_OBJECT, options->scheme, device->adapter, body_destroy);
	if (!NT_SUCCESS(status)) {
		body_free(body);
		return status;
	}
	if (options->kind == SYNC_CPU_NOTIFICATION)
		body->event = options->event;
	*body_out = body;
	return STATUS_SUCCESS;
}

/* ---- an opening ---- */

/* True: it was the last one, and the caller gives back their reference when it holds no lock. */
MUST_CHECK static bool uncount_opening_locked(struct dxg_device *device)
{
	lock_assert_held(&device->lock);
	assert(device->sync_object_count > 0);
	return --device->sync_object_count == 0;
}

static void uncount_opening(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	bool is_last = uncount_opening_locked(device);
	lock_release(&device->lock);
	if (is_last)
		object_put(&device->object);
}

static void sync_object_finish(struct object *object)
{
	struct dxg_sync_object *sync = object_as(sync_object, object);
	struct dxg_device *device = sync->device;
	struct sync_body *body = sync->body;

	trace_sync_object_destroy(sync->process->id, object->handle);
	if (sync != &body->first)
		mem_free(sync);
	share_put(&body->share);
	if (device)
		uncount_opening(device);
}

/* The creator's own flags say what its device does, not what others may. */
static struct share *sync_object_share(struct object *object, uint32_t *withheld_out)
{
	struct dxg_sync_object *sync = object_as(sync_object, object);
	bool is_creator = sync == &sync->body->first;

	*withheld_out = (is_creator || sync->access.may_wait ? 0 : SHARE_RIGHT_WAIT) |
			(is_creator || sync->access.may_signal ? 0 : SHARE_RIGHT_SIGNAL);
	return &sync->body->share;
}

const struct object_class sync_object_class = { "a sync object", sync_object_finish,
						sync_object_share };

/* Makes an opening, which nobody finds yet. Every field is set. */
static NTSTATUS opening_init(struct dxg_sync_object *sync, struct dxg_process *process,
			     struct dxg_device *device, struct sync_body *body,
			     const struct sync_access *access)
{
	NTSTATUS status = object_init(&sync->object, &sync_object_class, &process->handles);

	if (!NT_SUCCESS(status))
		return refuse(status, RULE_API_NO_MEMORY, NULL,
			      "no memory for a sync object handle");
	sync->process = process;
	sync->device = device;
	sync->body = body;
	sync->access = *access;
	sync->address = NULL;
	sync->gpu_address = 0;
	sync->view = NULL;
	owned_init(&sync->owned, &sync->object);
	sync->is_lost = false;
	list_init(&sync->body_link);
	list_init(&sync->watched_link);
	atomic_init(&sync->is_watched, false);
	atomic_init(&sync->was_watched, false);
	list_init(&sync->waits);
	sync->is_closed = false;
	sync->is_charged = false;
	return STATUS_SUCCESS;
}

/* ---- the value's place ---- */

static bool is_for_gpu(const struct dxg_sync_object *sync)
{
	return sync->device && sync->body->kind == SYNC_MONITORED_FENCE &&
	       sync->access.has_gpu_access;
}

static struct fence_mapping_wish mapping_wish(const struct dxg_sync_object *sync)
{
	return (struct fence_mapping_wish){
		.is_shared = sync->body->share.scheme != SHARE_PRIVATE,
		.is_for_gpu = is_for_gpu(sync),
		/* That of a hardware queue says what the GPU has done, which may write it. */
		.is_writable = sync->access.may_signal || sync->access.is_owned,
	};
}

/* Of the creator's opening, which nobody else knows yet. */
static void settle(struct sync_body *body, const struct fence_mapping *mapping)
{
	body->slot = mapping->slot;
	body->first.address = mapping->address;
	body->first.gpu_address = mapping->gpu_address;
	body->first.view = mapping->view;
	fence_move(&body->fence, body->slot.value);
}

static NTSTATUS make_mapping(struct sync_body *body)
{
	struct fence_mapping_wish wish = mapping_wish(&body->first);
	struct fence_mapping mapping;
	NTSTATUS status = fence_mapping_make(body->first.device, &wish, &mapping);

	if (NT_SUCCESS(status))
		settle(body, &mapping);
	return status;
}

/* Gives a further opening its CPU and GPU addresses of the value. */
static NTSTATUS show(struct dxg_sync_object *sync)
{
	if (sync->body->kind != SYNC_MONITORED_FENCE)
		return STATUS_SUCCESS;
	return fence_mapping_show(sync->process, &sync->body->slot, &sync->view);
}

static NTSTATUS map_for_gpu(struct dxg_sync_object *sync)
{
	if (!is_for_gpu(sync) || !sync->device->process_adapter->addresses)
		return STATUS_SUCCESS;
	NTSTATUS status = fence_address_get(sync->device, &sync->body->slot,
					    sync->access.may_signal, &sync->address);
	if (NT_SUCCESS(status))
		sync->gpu_address = fence_address_of(sync->address, &sync->body->slot);
	return status;
}

/* ---- whose it is ---- */

/* With a reference for the caller, unless that wants to know nothing but the names. */
SPECIALIZED void publish_locked(struct dxg_sync_object *sync, struct list *owners,
				struct sync_names *names_out)
{
	lock_assert_held(sync->device ? &sync->device->lock : &sync->process->lock);
	trace_sync_object_create(sync->process->id, sync->object.handle, (uint32_t)sync->body->kind,
				 share_global_handle(&sync->body->share));
	list_push_back(owners, &sync->owned.link);
	if (names_out)
		*names_out = (struct sync_names){
			.handle = sync->object.handle,
			.global_handle = share_global_handle(&sync->body->share),
			.view = sync_object_view(sync),
			.gpu_address = sync->gpu_address,
		};
	/* With its reference, or another thread could end it under the caller. */
	object_publish_new(&sync->object, !names_out);
}

/* All of a device's openings hold it with one reference, which the first takes and the last gives.
 */
static void count_opening_locked(struct dxg_device *device)
{
	lock_assert_held(&device->lock);
	if (device->sync_object_count++ == 0)
		object_get(&device->object);
}

static NTSTATUS check_joinable_locked(struct dxg_device *device)
{
	lock_assert_held(&device->lock);
	if (UNLIKELY(device->is_dying))
		return device_refuse_dying(device);
	return device_check_alive(device); /* or sync_object_device_lost() misses it */
}

static NTSTATUS join_device(struct dxg_sync_object *sync, struct sync_names *names_out)
{
	struct dxg_device *device = sync->device;

	lock_acquire(&device->lock);
	NTSTATUS status = check_joinable_locked(device);
	if (NT_SUCCESS(status)) {
		count_opening_locked(device);
		publish_locked(sync, &device->sync_objects, names_out);
	}
	lock_release(&device->lock);
	return status;
}

static NTSTATUS join_owner(struct dxg_sync_object *sync)
{
	struct dxg_process *process = sync->process;

	if (sync->device)
		return join_device(sync, NULL);
	lock_acquire(&process->lock);
	publish_locked(sync, &process->sync_objects, NULL);
	lock_release(&process->lock);
	return STATUS_SUCCESS;
}

static void leave_owner(struct dxg_sync_object *sync)
{
	owned_leave(sync->device ? &sync->device->lock : &sync->process->lock, &sync->owned);
}

/* ---- create and open ---- */

/* Of a body that nobody else knows: what is public of it becomes so, and then its opening. */
static NTSTATUS publish(struct sync_body *body, bool is_set_by_driver, struct sync_names *names_out)
{
	struct dxg_sync_object *sync = &body->first;
	NTSTATUS status = STATUS_SUCCESS;

	if (body->kind == SYNC_MONITORED_FENCE)
		status = make_mapping(body);
	if (is_set_by_driver)
		status = cpu_event_create(sync->device, &body->event, &body->cpu_event);
	if (!NT_SUCCESS(status))
		return status;
	fence_watch_join_first(sync);
	share_publish(&body->share);
	return join_device(sync, names_out);
}

/* See publish_locked() for the names. */
static NTSTATUS create_new(struct dxg_device *device, const struct sync_options *options,
			   struct sync_names *names_out, struct dxg_sync_object **object_out)
{
	struct sync_body *body = NULL;
	NTSTATUS status = device_check_alive(device);

	if (NT_SUCCESS(status))
		status = quota_check(device->process->ledger, QUOTA_QUEUED_BYTES, ENDING_BYTES);
	if (NT_SUCCESS(status))
		status = body_create(device, options, &body);
	if (!NT_SUCCESS(status)) {
		struct event event = options->event;

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
	status = publish(body, options->is_set_by_driver, names_out);
	if (!NT_SUCCESS(status)) {
		fence_watch_leave(&body->first);
		fence_address_put(body->first.address);
		object_abandon(&body->first.object);
		share_close(&body->share);
		return status;
	}
	if (object_out)
		*object_out = &body->first;
	return STATUS_SUCCESS;
}

/* ---- fences that are kept ---- */

/* All of these are alike, but for what begin_again() sets. */
static bool is_usual(enum sync_kind kind, enum share_scheme scheme,
		     const struct sync_access *access)
{
	return kind == SYNC_MONITORED_FENCE && scheme == SHARE_PRIVATE && access->has_gpu_access &&
	       access->may_signal;
}

static void begin_again(struct sync_body *body, const struct sync_options *options)
{
	body->is_cross_adapter = options->is_cross_adapter;
	body->first.access = options->access;
	body->first.is_lost = false;
	atomic_store_explicit(body->fence.value, options->initial_value, memory_order_relaxed);
}

/* False: none is kept, or no number is left for it. */
SPECIALIZED bool create_again(struct dxg_device *device, uint32_t seat,
			      const struct sync_options *options, struct sync_names *names_out,
			      struct dxg_sync_object **object_out)
{
	struct sync_body *body = NULL;

	lock_acquire_from(&device->lock, seat);
	if (LIKELY(!device->is_dying && device_state(device) == DEVICE_ACTIVE))
		body = kept_fences_take(&device->kept_fences);
	/* A client elsewhere is told each time. */
	if (body && UNLIKELY(device->process->arena) && !NT_SUCCESS(show(&body->first))) {
		(void)!kept_fences_keep(&device->kept_fences, body);
		body = NULL;
	}
	if (body && UNLIKELY(!NT_SUCCESS(object_init_from(&body->first.object, &sync_object_class,
							  &device->process->handles, seat)))) {
		(void)!kept_fences_keep(&device->kept_fences, body); /* there is room */
		body = NULL;
	}
	if (body) {
		begin_again(body, options);
		if (object_out)
			*object_out = &body->first;
		count_opening_locked(device);
		publish_locked(&body->first, &device->sync_objects, names_out);
	}
	lock_release(&device->lock);
	return body != NULL;
}

static NTSTATUS create(struct dxg_device *device, const struct sync_options *options,
		       struct sync_names *names_out, struct dxg_sync_object **object_out)
{
	if (is_usual(options->kind, options->scheme, &options->access) &&
	    LIKELY(create_again(device, thread_own_seat, options, names_out, object_out)))
		return STATUS_SUCCESS;
	return create_new(device, options, names_out, object_out);
}

NTSTATUS sync_object_create(struct dxg_device *device, const struct sync_options *options,
			    struct dxg_sync_object **object_out)
{
	return create(device, options, NULL, object_out);
}

NTSTATUS sync_object_create_of_queue(struct dxg_device *device, bool has_gpu_access,
				     struct dxg_sync_object **object_out,
				     struct sync_body **body_out)
{
	const struct sync_options options = {
		.kind = SYNC_MONITORED_FENCE,
		.scheme = SHARE_PRIVATE,
		.access = { .may_wait = true,
			    .has_gpu_access = has_gpu_access,
			    .is_owned = true,
			    /* What a GPU moves is ended by who knows when it has let go. */
			    .jumps_when_lost = !has_gpu_access },
		.event = EVENT_NONE,
	};
	NTSTATUS status = sync_object_create(device, &options, object_out);

	if (!NT_SUCCESS(status))
		return status;
	*body_out = (*object_out)->body;
	share_get(&(*body_out)->share);
	object_put(&(*object_out)->object);
	return STATUS_SUCCESS;
}

NTSTATUS sync_object_create_named(struct dxg_device *device, const struct sync_options *options,
				  struct sync_names *names_out)
{
	return create(device, options, names_out, NULL);
}

bool sync_object_create_again(struct dxg_device *device, uint32_t seat, uint64_t initial_value,
			      struct sync_names *names_out)
{
	const struct sync_options options = {
		.kind = SYNC_MONITORED_FENCE,
		.scheme = SHARE_PRIVATE,
		.access = { .may_signal = true,
			    .may_wait = true,
			    .jumps_when_lost = true,
			    .has_gpu_access = true },
		.initial_value = initial_value,
	};

	assert(is_usual(options.kind, options.scheme, &options.access));
	return create_again(device, seat, &options, names_out, NULL);
}

static NTSTATUS check_open(const struct dxg_device *device, const struct sync_body *body)
{
	if (device && device->adapter != body->share.adapter && !body->is_cross_adapter)
		return invalid(RULE_API_VALUE, "hDevice",
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
	if (NT_SUCCESS(status))
		status = quota_check(process->ledger, QUOTA_QUEUED_BYTES, ENDING_BYTES);
	if (!NT_SUCCESS(status))
		return status;
	struct dxg_sync_object *sync = mem_zalloc(sizeof(*sync));
	if (!sync)
		return refuse_no_memory("no memory for a sync object handle");
	status = opening_init(sync, process, device, body, access);
	if (!NT_SUCCESS(status))
		goto free_sync;
	if (!share_open(share)) {
		status =
			invalid(RULE_API_HANDLE, "hSharedHandle",
				"0x%08x was destroyed during the call", share_global_handle(share));
		goto give_back_number;
	}
	status = show(sync);
	if (NT_SUCCESS(status))
		status = map_for_gpu(sync);
	if (!NT_SUCCESS(status))
		goto close_share;
	fence_watch_join(sync);
	status = join_owner(sync);
	if (!NT_SUCCESS(status))
		goto unmap;
	*object_out = sync;
	return STATUS_SUCCESS;

unmap:
	fence_watch_leave(sync);
	fence_address_put(sync->address);
close_share:
	share_close(share);
give_back_number:
	object_abandon(&sync->object);
free_sync:
	mem_free(sync);
	return status;
}

/* ---- destroy ---- */

/*
 * A command that was queued before the end knows the fence by its address and holds nothing of it. So
 * the value keeps its slot, and the GPU its way there, until what the opening's device had queued is over;
 * who waits goes on hearing what the GPU writes. Others that let it write have it open themselves.
 */
static uint32_t await_queued_work(void *subject, struct sched_wait *waits)
{
	struct dxg_device *device = ((struct dxg_sync_object *)subject)->device;
	struct work_source *source = device->adapter->work_source;

	source->after_device(source, device, &waits[0]);
	return 1;
}

static void give_back(void *subject)
{
	struct dxg_sync_object *sync = subject;

	if (sync->is_charged)
		quota_give(sync->process->ledger, QUOTA_QUEUED_BYTES, ENDING_BYTES);
	sync->is_charged = false;
	fence_watch_leave(sync);
	fence_address_put(sync->address);
	object_put(&sync->object);
}

ENDING_KIND(opening_ending, "the opening of a sync object", ENDING_OF_SYNC_OBJECT);

bool sync_object_is_ending(const struct ending *ending)
{
	return ending->kind == &opening_ending;
}

/* A look: work that was queued before now may come to its address. */
static bool is_in_use(const struct dxg_sync_object *sync)
{
	return sync->address && !sched_owner_is_idle(&sync->device->work);
}

/* It is retired, and in no list of its owner. One reference goes. */
static void close(struct dxg_sync_object *sync)
{
	sync_wait_end_all(sync);
	/* The global handle goes now; the body when nobody is busy with this opening any more. */
	share_close_keep(&sync->body->share);
	if (!is_in_use(sync)) {
		ending_run_now(&opening_ending, sync);
		return;
	}
	/* An end cannot be refused; the next beginning is. */
	quota_force(sync->process->ledger, QUOTA_QUEUED_BYTES, ENDING_BYTES);
	sync->is_charged = true;
	ending_init(&sync->ending, &opening_ending, sync);
	ending_start(&sync->ending, sync->device, NULL, NULL);
}

bool sync_object_destroy(struct dxg_sync_object *sync)
{
	if (!object_retire(&sync->object))
		return false;
	leave_owner(sync);
	close(sync);
	return true;
}

/*
 * Of an opening that the caller alone knows: does nobody have the body, or a way to it? Whoever
 * waits has a reference; who looks for those that are waited for has none, but only looks at what
 * was waited for once.
 */
static bool is_body_alone(struct dxg_sync_object *sync)
{
	struct share *share = &sync->body->share;

	return share->scheme == SHARE_PRIVATE && share_is_last(share) &&
	       !atomic_load_explicit(&sync->was_watched, memory_order_relaxed);
}

/* Of one whose opening has ended, or is about to: nobody knows it. No lock is held. */
static void body_end_alone(struct sync_body *body)
{
	fence_address_put(body->first.address);
	body_destroy(&body->share);
}

/* The body that has to end: this one, one that was kept before, or none. */
SPECIALIZED struct sync_body *end_opening_locked(struct dxg_sync_object *sync, uint32_t seat)
{
	struct dxg_device *device = sync->device;
	struct sync_body *body = sync->body;

	lock_assert_held(&device->lock);
	trace_sync_object_destroy(sync->process->id, sync->object.handle);
	object_abandon_from(&sync->object, seat);
	if (device->is_dying || !is_usual(body->kind, body->share.scheme, &sync->access))
		return body;
	return kept_fences_keep(&device->kept_fences, body);
}

bool sync_object_destroy_and_put(struct dxg_sync_object *sync, uint32_t seat)
{
	struct dxg_device *device = sync->device;
	struct sync_body *rest = NULL;
	bool is_body_too = false;
	bool is_last = false;

	if (!device)
		goto not_alone;
	/* Who finds it without a reference does so in the device's list. */
	lock_acquire_from(&device->lock, seat);
	bool is_alone = object_retire_alone(&sync->object);
	if (is_alone) {
		list_remove(&sync->owned.link);
		is_body_too = is_body_alone(sync) && LIKELY(!is_in_use(sync));
	}
	if (is_body_too) {
		rest = end_opening_locked(sync, seat);
		is_last = uncount_opening_locked(device);
	}
	lock_release(&device->lock);
	if (!is_alone)
		goto not_alone;
	if (!is_body_too)
		close(sync);
	else if (UNLIKELY(rest != NULL))
		body_end_alone(rest);
	if (is_last)
		object_put(&device->object);
	return true;

not_alone:
	if (!sync_object_destroy(sync))
		return false;
	object_put(&sync->object);
	return true;
}

static void end_kept(struct dxg_device *device)
{
	struct sync_body *body;

	do {
		lock_acquire(&device->lock);
		body = kept_fences_take(&device->kept_fences);
		lock_release(&device->lock);
		if (body)
			body_end_alone(body);
	} while (body);
}

static bool destroy_owned(struct object *object)
{
	return sync_object_destroy(object_as(sync_object, object));
}

void sync_object_destroy_all(struct dxg_device *device)
{
	owned_end_all(&device->lock, &device->sync_objects, destroy_owned);
	endings_wait(device);
	end_kept(device);
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
		if (sync_body_is_fence(sync->body) && sync->access.jumps_when_lost &&
		    (sync->access.may_signal || sync->access.is_owned))
			fence_end(&sync->body->fence);
		sync_wait_end_blocked(sync);
		object_put(&sync->object);
	}
}
