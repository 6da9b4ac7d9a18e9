/* SPDX-License-Identifier: MIT */
/*
 * events.c - events of a Windows program, which are Wine's server's, where the kernel wants an eventfd.
 *
 * Each gets an eventfd of its own; the parked thread waits for all of them, and sets the program's event when one
 * is written to. It is a thread of the program, because only those can talk to the server.
 *
 * Lock: `lock` guards the list. An event that fires is looked up by its number: it may have been given up meanwhile.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "wine/x86_64-unix/pair_unix.h"

enum { EVENTS_AT_ONCE = 16 };
enum { WINE_DUPLICATE_SAME_ACCESS = 2 };
#define WINE_THIS_PROCESS ((HANDLE)(intptr_t)-1)

/* In the place of a number: the callbacks' eventfd. */
#define ID_WAKE UINT64_C(0)

struct watched_event {
	struct list link;
	uint64_t id; /* from 1 */
	int descriptor;
	HANDLE event; /* a copy of the program's, which may close its own */
	bool is_once; /* … of a wait or a signal; else of a sync object, to its end */
	D3DKMT_HANDLE sync_object;
};

static struct {
	struct lock lock;
	struct list watched;
	uint64_t last_id;
	int epoll;
	int wake;
	_Atomic bool is_parked; /* all of the above is there, and the thread comes */
} events = { .lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "events of Wine"),
	     .watched = { &events.watched, &events.watched },
	     .epoll = -1,
	     .wake = -1 };

/* ---- the parked thread ---- */

bool events_are_parked(void)
{
	return atomic_load(&events.is_parked);
}

/* Without descriptors it stays false, and whoever needs the thread is refused. */
void events_set_parked(void)
{
	struct epoll_event wake = { .events = EPOLLIN, .data.u64 = ID_WAKE };

	events.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	events.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (events.wake >= 0 && events.epoll >= 0)
		(void)epoll_ctl(events.epoll, EPOLL_CTL_ADD, events.wake, &wake);
	atomic_store(&events.is_parked, true);
}

void events_wake(void)
{
	(void)eventfd_write(events.wake, 1);
}

/* Not in the list any more. */
static void watched_free(struct watched_event *event)
{
	(void)epoll_ctl(events.epoll, EPOLL_CTL_DEL, event->descriptor, NULL);
	close(event->descriptor);
	(void)ntdll.close(event->event);
	mem_free(event);
}

/* Sets the event of that number, and gives it up if it was for once. */
static void fire(uint64_t id)
{
	struct watched_event *done = NULL;
	eventfd_t count;

	lock_acquire(&events.lock);
	list_each (struct watched_event, event, &events.watched, link) {
		if (event->id != id)
			continue;
		if (eventfd_read(event->descriptor, &count) == 0) {
			(void)ntdll.set_event(event->event, NULL);
			if (event->is_once)
				done = event;
		}
		break;
	}
	if (done)
		list_remove(&done->link);
	lock_release(&events.lock);
	if (done)
		watched_free(done);
}

void events_wait(const sigset_t *while_waiting)
{
	struct epoll_event ready[EVENTS_AT_ONCE];
	bool is_woken = false;
	eventfd_t count;

	while (!is_woken) {
		int found = epoll_pwait(events.epoll, ready, EVENTS_AT_ONCE, -1, while_waiting);

		for (int i = 0; i < found; i++) {
			if (ready[i].data.u64 == ID_WAKE)
				is_woken = eventfd_read(events.wake, &count) == 0;
			else
				fire(ready[i].data.u64);
		}
	}
}

/* ---- events that are watched ---- */

/* Nobody writes to it: its call failed, or was not made. */
static void unwatch(struct watched_event *event)
{
	lock_acquire(&events.lock);
	list_remove(&event->link);
	lock_release(&events.lock);
	watched_free(event);
}

/* `argument` names it in a refusal. */
static NTSTATUS watch(HANDLE theirs, const char *argument, bool is_once,
		      struct watched_event **event_out)
{
	struct epoll_event readable = { .events = EPOLLIN };
	struct watched_event *event;

	if (!events_are_parked())
		return PAIR_NEEDS_PARKED;
	event = mem_zalloc(sizeof(*event));
	if (!event)
		return refuse_no_memory("no memory to watch an event");
	event->is_once = is_once;
	if (!NT_SUCCESS(ntdll.duplicate(WINE_THIS_PROCESS, theirs, WINE_THIS_PROCESS, &event->event,
					0, 0, WINE_DUPLICATE_SAME_ACCESS))) {
		mem_free(event);
		return refuse(STATUS_INVALID_HANDLE, RULE_API_EVENT, argument,
			      "0x%zx is no handle of an event", (size_t)theirs);
	}
	event->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	lock_acquire(&events.lock);
	event->id = ++events.last_id;
	list_push_back(&events.watched, &event->link);
	lock_release(&events.lock);
	readable.data.u64 = event->id;
	if (event->descriptor < 0 ||
	    epoll_ctl(events.epoll, EPOLL_CTL_ADD, event->descriptor, &readable) != 0) {
		unwatch(event);
		return refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_API_DESCRIPTORS, argument,
			      "finds no descriptor left to watch it with");
	}
	*event_out = event;
	return STATUS_SUCCESS;
}

/* That of a sync object which has ended, or NULL. */
static struct watched_event *take_of_object(D3DKMT_HANDLE sync_object)
{
	struct watched_event *found = NULL;

	lock_acquire(&events.lock);
	list_each (struct watched_event, event, &events.watched, link) {
		if (!event->is_once && event->sync_object == sync_object) {
			found = event;
			break;
		}
	}
	if (found)
		list_remove(&found->link);
	lock_release(&events.lock);
	return found;
}

void events_forget(void)
{
	struct list gone;

	list_init(&gone);
	lock_acquire(&events.lock);
	list_splice_back(&gone, &events.watched);
	lock_release(&events.lock);
	list_drain (struct watched_event, event, &gone, link)
		watched_free(event);
}

/* ---- calls with an event ---- */

/* With the eventfd in the place of the program's event. It is the parked thread's when the call has succeeded. */
static NTSTATUS call_with_event(pair_function *call, void *args, HANDLE *field,
				const char *argument)
{
	struct watched_event *event = NULL;

	NTSTATUS status = watch(*field, argument, true, &event);
	if (status != STATUS_SUCCESS)
		return status;
	*field = (HANDLE)(intptr_t)event->descriptor;
	status = call(args);
	if (!NT_SUCCESS(status))
		unwatch(event);
	return status;
}

static NTSTATUS call_in_scope(const char *name, pair_function *call, void *args, HANDLE *field,
			      const char *argument)
{
	struct refusal_scope scope;
	sigset_t before;

	pair_hold_end_off(&before);
	pair_refusal_begin(&scope, name);
	NTSTATUS status = pair_refusal_end(&scope, call_with_event(call, args, field, argument));
	pair_allow_end(&before);
	return status;
}

/* Without an event it waits itself, and is not ended meanwhile. */
NTSTATUS pair_wait_for_synchronization_object_from_cpu(void *arguments)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU own;
	sigset_t before;

	if (arguments)
		own = *(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *)arguments;
	if (arguments && own.hAsyncEvent)
		return call_in_scope("D3DKMTWaitForSynchronizationObjectFromCpu",
				     FUNCTION(D3DKMTWaitForSynchronizationObjectFromCpu), &own,
				     &own.hAsyncEvent, "hAsyncEvent");
	pair_hold_end_off(&before);
	NTSTATUS status = D3DKMTWaitForSynchronizationObjectFromCpu(arguments);
	pair_allow_end(&before);
	return status;
}

NTSTATUS pair_signal_synchronization_object2(void *arguments)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *args = arguments;
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 own;

	if (!args || !args->Flags.EnqueueCpuEvent || !args->CpuEventHandle)
		return D3DKMTSignalSynchronizationObject2(args);
	own = *args;
	return call_in_scope("D3DKMTSignalSynchronizationObject2",
			     FUNCTION(D3DKMTSignalSynchronizationObject2), &own,
			     &own.CpuEventHandle, "CpuEventHandle");
}

NTSTATUS pair_signal_synchronization_object_from_gpu2(void *arguments)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *args = arguments;
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 own;

	if (!args || !args->Flags.EnqueueCpuEvent || !args->CpuEventHandle)
		return D3DKMTSignalSynchronizationObjectFromGpu2(args);
	own = *args;
	return call_in_scope("D3DKMTSignalSynchronizationObjectFromGpu2",
			     FUNCTION(D3DKMTSignalSynchronizationObjectFromGpu2), &own,
			     &own.CpuEventHandle, "CpuEventHandle");
}

/* ---- sync objects that have one ---- */

static NTSTATUS create_notification(D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *args)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 own = *args;
	HANDLE theirs = args->Info.CPUNotification.Event;
	struct watched_event *event = NULL;
	struct watched_event *stale;

	NTSTATUS status = watch(theirs, "CPUNotification.Event", false, &event);
	if (status != STATUS_SUCCESS)
		return status;
	own.Info.CPUNotification.Event = (HANDLE)(intptr_t)event->descriptor;
	status = D3DKMTCreateSynchronizationObject2(&own);
	if (!NT_SUCCESS(status)) {
		unwatch(event);
		return status;
	}
	/* One that had this handle ended with its device. */
	stale = take_of_object(own.hSyncObject);
	if (stale)
		watched_free(stale);
	lock_acquire(&events.lock);
	event->sync_object = own.hSyncObject;
	lock_release(&events.lock);
	*args = own;
	args->Info.CPUNotification.Event = theirs;
	return status;
}

NTSTATUS pair_create_synchronization_object2(void *arguments)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *args = arguments;
	struct refusal_scope scope;
	sigset_t before;

	if (!args || args->Info.Type != D3DDDI_CPU_NOTIFICATION ||
	    !args->Info.CPUNotification.Event)
		return D3DKMTCreateSynchronizationObject2(args);
	pair_hold_end_off(&before);
	pair_refusal_begin(&scope, "D3DKMTCreateSynchronizationObject2");
	NTSTATUS status = pair_refusal_end(&scope, create_notification(args));
	pair_allow_end(&before);
	return status;
}

NTSTATUS pair_destroy_synchronization_object(void *arguments)
{
	const D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *args = arguments;
	struct watched_event *event;
	sigset_t before;

	pair_hold_end_off(&before);
	NTSTATUS status = D3DKMTDestroySynchronizationObject(args);
	event = NT_SUCCESS(status) && events_are_parked() ? take_of_object(args->hSyncObject)
							  : NULL;
	if (event)
		watched_free(event);
	pair_allow_end(&before);
	return status;
}
