/* SPDX-License-Identifier: MIT */
/*
 * sync_wait.c - see sync_wait.h.
 *
 * Items hold bodies, never openings: the last reference on an opening may be the last one on its
 * device, and whoever signals a fence cannot be made to end a device. An item is in its opening's
 * list until the opening is closed or the wait is over, whichever comes first; body->lock, which
 * the item's reference keeps, guards that.
 */

#include "base/clock.h"
#include "base/mem.h"
#include "base/notice.h"
#include "base/refcount.h"
#include "base/refusal.h"
#include "object/fence/fence_watch.h"
#include "object/fence/sync_wait.h"

enum sync_wait_state {
	WAIT_PENDING,
	WAIT_SATISFIED,
	WAIT_CLOSED,
	WAIT_PROCESS_ENDS,
	WAIT_DEVICE_LOST,
};

struct sync_wait;

struct sync_wait_item {
	struct fence_wait fence_wait;
	struct sync_wait *wait;
	struct sync_body *body; /* with a reference */
	struct list link;       /* dxg_sync_object.waits, guarded by the body's lock */
};

struct sync_wait {
	struct refcount refs; /* the owner's, and one per item that a fence still knows */
	_Atomic uint32_t state;
	_Atomic uint32_t missing; /* how many fences have to be reached yet */
	bool is_blocking;

	/* Blocking: the thread in the call finishes it. */
	struct notice decided;
	struct list process_link; /* dxg_process.waits, guarded by its lock */

	/* With an event: the second of two, who starts it and who decides it, finishes it. */
	struct event event;
	bool is_file;
	_Atomic uint32_t busy;

	uint32_t count; /* of items that are in use */
	struct sync_wait_item items[];
};

static void wait_put(struct sync_wait *wait)
{
	if (refcount_put(&wait->refs))
		mem_free(wait);
}

/* Takes everything back; what was decided stays. The owner's reference goes. */
static void wait_finish(struct sync_wait *wait)
{
	for (uint32_t i = 0; i < wait->count; i++) {
		struct sync_wait_item *item = &wait->items[i];
		if (fence_wait_cancel(&item->body->fence, &item->fence_wait))
			wait_put(wait);
		lock_acquire(&item->body->lock);
		list_remove(&item->link);
		lock_release(&item->body->lock);
		share_put(&item->body->share);
	}
	event_close(&wait->event);
	wait_put(wait);
}

static void wait_let_go(struct sync_wait *wait)
{
	if (atomic_fetch_sub(&wait->busy, 1) == 1)
		wait_finish(wait);
}

/* The first to come decides. */
static void wait_decide(struct sync_wait *wait, enum sync_wait_state outcome)
{
	uint32_t pending = WAIT_PENDING;

	if (!atomic_compare_exchange_strong(&wait->state, &pending, outcome))
		return;
	if (wait->is_blocking) {
		notice_give(&wait->decided);
		return;
	}
	if (outcome == WAIT_SATISFIED || wait->is_file)
		event_set(&wait->event);
	wait_let_go(wait);
}

static void wait_count_reached(struct sync_wait *wait)
{
	uint32_t missing = atomic_load(&wait->missing);

	/* Of those that wait for any, more than one can come. */
	do {
		if (missing == 0)
			return;
	} while (!atomic_compare_exchange_weak(&wait->missing, &missing, missing - 1));
	if (missing == 1)
		wait_decide(wait, WAIT_SATISFIED);
}

static void item_reached(struct fence_wait *fence_wait)
{
	struct sync_wait *wait = container_of(fence_wait, struct sync_wait_item, fence_wait)->wait;

	wait_count_reached(wait);
	wait_put(wait);
}

/* ---- starting ---- */

static bool is_satisfied(const struct sync_wait_request *request)
{
	for (uint32_t i = 0; i < request->count; i++) {
		bool is_reached =
			fence_is_reached(&request->objects[i]->body->fence, request->values[i]);
		if (is_reached == request->is_any)
			return request->is_any;
	}
	return !request->is_any;
}

static struct sync_wait *wait_create(const struct sync_wait_request *request, bool is_blocking)
{
	struct sync_wait *wait =
		mem_zalloc(sizeof(*wait) + request->count * sizeof(wait->items[0]));

	if (!wait) {
		refuse_no_memory("no memory for a wait");
		return NULL;
	}
	refcount_init(&wait->refs);
	atomic_init(&wait->missing, request->is_any ? 1 : request->count);
	atomic_init(&wait->busy, 2);
	wait->is_blocking = is_blocking;
	wait->event = EVENT_NONE;
	list_init(&wait->process_link);
	return wait;
}

static void item_start(struct sync_wait *wait, struct sync_wait_item *item,
		       struct dxg_sync_object *object, uint64_t value)
{
	struct sync_body *body = object->body;

	*item = (struct sync_wait_item){ .fence_wait = { .value = value, .reached = item_reached },
					 .wait = wait,
					 .body = body };
	share_get(&body->share);
	lock_acquire(&body->lock);
	list_init(&item->link);
	bool is_closed = object->is_closed;
	if (!is_closed)
		list_push_back(&object->waits, &item->link);
	lock_release(&body->lock);
	if (is_closed) {
		wait_decide(wait, WAIT_CLOSED);
		return;
	}
	refcount_get(&wait->refs);
	if (fence_wait_start(&body->fence, &item->fence_wait)) {
		fence_watch_begin(body);
		return;
	}
	wait_count_reached(wait);
	wait_put(wait);
}

static void wait_start(struct sync_wait *wait, const struct sync_wait_request *request)
{
	for (uint32_t i = 0; i < request->count && atomic_load(&wait->state) == WAIT_PENDING; i++) {
		wait->count = i + 1;
		item_start(wait, &wait->items[i], request->objects[i], request->values[i]);
	}
}

/* ---- in the call ---- */

static NTSTATUS status_of(enum sync_wait_state state, const struct dxg_device *device)
{
	char loss[DEVICE_LOSS_TEXT];

	switch (state) {
	case WAIT_PENDING:
	case WAIT_SATISFIED:
		break;
	case WAIT_CLOSED:
		return invalid(RULE_API_HANDLE, "ObjectHandleArray",
			       "has an object that was destroyed during the call");
	case WAIT_PROCESS_ENDS:
		return refuse(STATUS_PROCESS_IS_TERMINATING, RULE_API_PROCESS_ENDING, NULL,
			      "the process ends");
	case WAIT_DEVICE_LOST:
		device_describe_loss(device, loss, sizeof(loss));
		return refuse(STATUS_DEVICE_REMOVED, RULE_API_DEVICE_GONE, "hDevice",
			      "is lost, and the wait would not end: %s", loss);
	}
	return STATUS_SUCCESS;
}

/* Whoever looks for waits to end finds this one from here on, or we see what it looks for. */
static void wait_join_process(struct sync_wait *wait, const struct sync_wait_request *request)
{
	struct dxg_process *process = request->process;

	lock_acquire(&process->lock);
	list_push_back(&process->waits, &wait->process_link);
	lock_release(&process->lock);
	if (atomic_load(&process->is_dying))
		wait_decide(wait, WAIT_PROCESS_ENDS);
	if (device_state(request->device) != DEVICE_ACTIVE)
		wait_decide(wait, WAIT_DEVICE_LOST);
}

static void wait_until_decided(struct sync_wait *wait)
{
	for (;;) {
		uint32_t seen = notice_read(&wait->decided);
		if (atomic_load(&wait->state) != WAIT_PENDING)
			return;
		notice_wait(&wait->decided, seen, CLOCK_FOREVER);
	}
}

NTSTATUS sync_wait_here(const struct sync_wait_request *request)
{
	struct process_rest rest = { .objects = { &request->device->object },
				     .fences = request->objects,
				     .fence_count = request->count };

	if (LIKELY(is_satisfied(request)))
		return STATUS_SUCCESS;
	struct sync_wait *wait = wait_create(request, true);
	if (!wait)
		return STATUS_NO_MEMORY;
	wait_start(wait, request);
	wait_join_process(wait, request);
	process_rest_begin(request->process, &rest);
	wait_until_decided(wait);
	process_rest_end(request->process, &rest);
	lock_acquire(&request->process->lock);
	list_remove(&wait->process_link);
	lock_release(&request->process->lock);
	enum sync_wait_state state = (enum sync_wait_state)atomic_load(&wait->state);
	wait_finish(wait);
	return status_of(state, request->device);
}

/* ---- by an event ---- */

NTSTATUS sync_wait_by_event(const struct sync_wait_request *request, struct event *event,
			    bool is_file)
{
	if (is_satisfied(request)) {
		event_set(event);
		event_close(event);
		return STATUS_SUCCESS;
	}
	NTSTATUS status = device_check_alive(request->device);
	if (!NT_SUCCESS(status)) {
		event_close(event); /* of a lost device nobody would set it */
		return status;
	}
	struct sync_wait *wait = wait_create(request, false);
	if (!wait) {
		event_close(event);
		return STATUS_NO_MEMORY;
	}
	wait->event = *event;
	wait->is_file = is_file;
	*event = EVENT_NONE;
	wait_start(wait, request);
	if (atomic_load(&wait->state) == WAIT_CLOSED)
		status = status_of(WAIT_CLOSED, request->device);
	wait_let_go(wait);
	return status;
}

/* ---- ending ---- */

/* The next wait through this opening, with a reference; its item is off the list then. */
static struct sync_wait *pop_wait_locked(struct dxg_sync_object *object)
{
	struct list *link = list_pop_front(&object->waits);

	lock_assert_held(&object->body->lock);
	if (!link)
		return NULL;
	struct sync_wait *wait = container_of(link, struct sync_wait_item, link)->wait;
	refcount_get(&wait->refs);
	return wait;
}

void sync_wait_end_all(struct dxg_sync_object *object)
{
	struct sync_body *body = object->body;
	struct sync_wait *wait;

	lock_acquire(&body->lock);
	object->is_closed = true;
	while ((wait = pop_wait_locked(object)) != NULL) {
		lock_release(&body->lock);
		wait_decide(wait, WAIT_CLOSED);
		wait_put(wait);
		lock_acquire(&body->lock);
	}
	lock_release(&body->lock);
}

/* Deciding a blocking wait only gives a notice, so the lock can stay. */
void sync_wait_end_blocked(struct dxg_sync_object *object)
{
	struct list *link;

	lock_acquire(&object->body->lock);
	list_for_each (link, &object->waits) {
		struct sync_wait *wait = container_of(link, struct sync_wait_item, link)->wait;
		if (wait->is_blocking)
			wait_decide(wait, WAIT_DEVICE_LOST);
	}
	lock_release(&object->body->lock);
}

void sync_wait_end_process(struct dxg_process *process)
{
	lock_acquire(&process->lock);
	list_each (struct sync_wait, each, &process->waits, process_link)
		wait_decide(each, WAIT_PROCESS_ENDS);
	lock_release(&process->lock);
}
