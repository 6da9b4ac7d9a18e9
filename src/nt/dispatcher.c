/* SPDX-License-Identifier: MIT */
/*
 * dispatcher.c - events, semaphores, mutexes, and waiting for one or many of them. Timers are in
 * timers.c.
 *
 *   in:   objects that live inside the driver's own structs
 *   out:  threads that sleep and wake
 *
 * The state of an object is its DISPATCHER_HEADER: SignalState, and the list of wait blocks of
 * those who wait for it, oldest first. A thread that waits has a struct nt_wait on its stack and
 * one block per object. Whoever signals an object looks through its blocks, takes for each waiter
 * what that wait consumes, takes all its blocks off, and sets the waiter's word after letting go of
 * the lock:
 *
 *	object ── WaitListHead ── block ── Thread ── wait { word }
 *
 * A wait that times out takes its own blocks off, unless it finds that it was satisfied meanwhile.
 *
 * Locks: nt_dispatcher_lock for everything here. It is inner to the interrupt lock, and nothing of
 * a driver is called under it. Mistakes are remembered and reported after it is released.
 */
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/processor.h"
#include "base/race.h"
#include "base/thread.h"
#include "nt/dispatcher.h"
#include "nt/dispatcher_parts.h"
#include "nt/held.h"
#include "nt/irql.h"
#include "nt/lock_graph.h"
#include "nt/report.h"
#include "nt/seh.h"
#include "nt/threads.h"

struct lock nt_dispatcher_lock = LOCK_INITIALIZER(LOCK_RANK_NT_DISPATCHER, "nt dispatcher");

_Atomic uint32_t nt_dispatcher_queued;

struct nt_wait {
	/* Set before the wait is visible. */
	struct _KTHREAD *thread;
	WAIT_TYPE type;
	ULONG count;
	KWAIT_BLOCK *blocks;

	/* Guarded by the dispatcher lock. */
	bool is_satisfied;
	NTSTATUS status;
	struct nt_wait *next; /* in a wake list */

	/* Of whoever wakes it, until the word is set. */
	struct processor_sleeper sleeper;
	bool was_sent_away;

	/* 1: satisfied, and nobody will touch this wait again. */
	_Atomic uint32_t word;
};

/*
 * A thread whose priority is raised for what it waited for runs before who raised it, or beside it. The system's
 * priorities are not ours to change; but it need not wait for the processor of one that has more to do.
 */
static void wait_boost(struct nt_wait *wait)
{
	if (!thread_is_simulated())
		wait->was_sent_away = processor_send_away(&wait->sleeper);
}

void wake_list_wake(struct wake_list *list)
{
	struct nt_wait *wait = list->first;

	while (wait) {
		struct nt_wait *next = wait->next;
		if (list->is_boosted)
			wait_boost(wait);
		/* From this store on the waiter may return and the wait be gone; its address may
		 * not. */
		_Atomic uint32_t *word = &wait->word;
		atomic_store_explicit(word, 1, memory_order_release);
		thread_wake_all(word);
		wait = next;
	}
}

/* ---- what an object means to a wait ---- */

void nt_dispatcher_header_init(DISPATCHER_HEADER *header, enum nt_dispatcher_type type, LONG state)
{
	memset(header, 0, sizeof(*header));
	header->Type = (UCHAR)type;
	header->SignalState = state;
	InitializeListHead(&header->WaitListHead);
}

static KMUTANT *mutant_of(DISPATCHER_HEADER *object)
{
	return CONTAINING_RECORD(object, KMUTANT, Header);
}

/*
 * Zeroed memory looks like a notification event whose list was never initialized, which is what a
 * forgotten KeInitializeEvent leaves. Repaired, so that the report is the worst that happens.
 */
bool object_repair_locked(DISPATCHER_HEADER *object)
{
	lock_assert_held(&nt_dispatcher_lock);

	if (LIKELY(object->WaitListHead.Flink != NULL))
		return false;
	InitializeListHead(&object->WaitListHead);
	return true;
}

bool is_given(const void *object, const char *argument, const char *routine)
{
	if (LIKELY(object != NULL))
		return true;
	nt_report(RULE_NT_OBJECT_STATE, "%s was given NULL as %s", routine, argument);
	nt_seh_raise_if_guarded(STATUS_ACCESS_VIOLATION);
	return false;
}

void report_uninitialized(bool was_repaired, const char *routine)
{
	if (UNLIKELY(was_repaired))
		nt_report(RULE_NT_OBJECT_STATE, "%s was given an object that was never initialized",
			  routine);
}

static bool object_is_waitable(const DISPATCHER_HEADER *object)
{
	switch (object->Type) {
	case NT_EVENT_NOTIFICATION:
	case NT_EVENT_SYNCHRONIZATION:
	case NT_MUTANT:
	case NT_SEMAPHORE:
	case NT_THREAD:
	case NT_TIMER_NOTIFICATION:
	case NT_TIMER_SYNCHRONIZATION:
		return true;
	default:
		return false;
	}
}

static bool object_is_signaled_for(DISPATCHER_HEADER *object, const struct _KTHREAD *thread)
{
	if (object->SignalState > 0)
		return true;
	return object->Type == NT_MUTANT && mutant_of(object)->OwnerThread == thread;
}

/* Takes from a signaled object what a satisfied wait takes. True for an abandoned mutex. */
static bool object_consume_locked(DISPATCHER_HEADER *object, struct _KTHREAD *thread)
{
	lock_assert_held(&nt_dispatcher_lock);

	switch (object->Type) {
	case NT_EVENT_SYNCHRONIZATION:
	case NT_TIMER_SYNCHRONIZATION:
		object->SignalState = 0;
		return false;
	case NT_SEMAPHORE:
		object->SignalState--;
		return false;
	case NT_MUTANT:
		break;
	default:
		return false;
	}

	KMUTANT *mutant = mutant_of(object);
	object->SignalState--;
	if (object->SignalState != 0)
		return false; /* once more by its owner */
	mutant->OwnerThread = thread;
	thread->region_depth += mutant->ApcDisable;
	InsertTailList(&thread->owned_mutexes, &mutant->MutantListEntry);
	bool was_abandoned = mutant->Abandoned;
	mutant->Abandoned = FALSE;
	return was_abandoned;
}

/* If the wait can be satisfied now, consumes what it takes. */
static bool wait_try_locked(DISPATCHER_HEADER *const *objects, ULONG count, WAIT_TYPE type,
			    struct _KTHREAD *thread, NTSTATUS *status_out)
{
	lock_assert_held(&nt_dispatcher_lock);

	if (type == WaitAny) {
		for (ULONG i = 0; i < count; i++) {
			if (!object_is_signaled_for(objects[i], thread))
				continue;
			bool was_abandoned = object_consume_locked(objects[i], thread);
			*status_out = (was_abandoned ? STATUS_ABANDONED_WAIT_0 : STATUS_WAIT_0) +
				      (NTSTATUS)i;
			return true;
		}
		return false;
	}

	bool any_abandoned = false;
	for (ULONG i = 0; i < count; i++) {
		if (!object_is_signaled_for(objects[i], thread))
			return false;
	}
	for (ULONG i = 0; i < count; i++)
		any_abandoned |= object_consume_locked(objects[i], thread);
	*status_out = any_abandoned ? STATUS_ABANDONED_WAIT_0 : STATUS_WAIT_0;
	return true;
}

static void wait_unlink_locked(struct nt_wait *wait)
{
	lock_assert_held(&nt_dispatcher_lock);

	for (ULONG i = 0; i < wait->count; i++)
		RemoveEntryList(&wait->blocks[i].WaitListEntry);
	wait->thread->wait = NULL;
}

/* If `block` belongs to a wait that can end now that its object is signaled, ends it. */
static bool wait_satisfy_locked(KWAIT_BLOCK *block, struct wake_list *woken)
{
	struct nt_wait *wait = block->Thread->wait;
	DISPATCHER_HEADER *object = block->Object;
	NTSTATUS status;

	lock_assert_held(&nt_dispatcher_lock);
	if (wait->type == WaitAny) {
		bool was_abandoned = object_consume_locked(object, wait->thread);
		status = (was_abandoned ? STATUS_ABANDONED_WAIT_0 : STATUS_WAIT_0) +
			 (NTSTATUS)block->WaitKey;
	} else {
		DISPATCHER_HEADER *objects[MAXIMUM_WAIT_OBJECTS];
		for (ULONG i = 0; i < wait->count; i++)
			objects[i] = wait->blocks[i].Object;
		if (!wait_try_locked(objects, wait->count, wait->type, wait->thread, &status))
			return false;
	}

	wait_unlink_locked(wait);
	wait->is_satisfied = true;
	wait->status = status;
	wait->next = NULL;
	*woken->last = wait;
	woken->last = &wait->next;
	return true;
}

/* First come, first served, as long as it lasts. */
void object_signaled_locked(DISPATCHER_HEADER *object, struct wake_list *woken)
{
	lock_assert_held(&nt_dispatcher_lock);

	race_release(object);
	LIST_ENTRY *entry = object->WaitListHead.Flink;
	while (object->SignalState > 0 && entry != &object->WaitListHead) {
		KWAIT_BLOCK *block = CONTAINING_RECORD(entry, KWAIT_BLOCK, WaitListEntry);
		/* An ended wait took its blocks off this list, maybe more than one: start over. */
		entry = wait_satisfy_locked(block, woken) ? object->WaitListHead.Flink
							  : entry->Flink;
	}
}

/* ---- waiting ---- */

uint64_t nt_timeout_deadline_ns(const LARGE_INTEGER *timeout)
{
	LARGE_INTEGER now;
	uint64_t delay_100ns;

	if (!timeout)
		return CLOCK_FOREVER;
	if (timeout->QuadPart <= 0) {
		delay_100ns = 0 - (uint64_t)timeout->QuadPart;
	} else {
		KeQuerySystemTime(&now);
		delay_100ns = timeout->QuadPart > now.QuadPart
				      ? (uint64_t)(timeout->QuadPart - now.QuadPart)
				      : 0;
	}
	if (delay_100ns > CLOCK_FOREVER / 100)
		return CLOCK_FOREVER;
	return clock_deadline(delay_100ns * 100);
}

static NTSTATUS wait_sleep(struct nt_wait *wait, uint64_t deadline_ns)
{
	while (!atomic_load_explicit(&wait->word, memory_order_acquire)) {
		if (thread_wait(&wait->word, 0, deadline_ns) != THREAD_TIMED_OUT)
			continue;
		lock_acquire(&nt_dispatcher_lock);
		bool is_late = !wait->is_satisfied;
		if (is_late)
			wait_unlink_locked(wait);
		lock_release(&nt_dispatcher_lock);
		if (is_late)
			return STATUS_TIMEOUT;
		deadline_ns = CLOCK_FOREVER; /* satisfied in the last moment: the word is coming */
	}
	if (wait->was_sent_away)
		processor_return(&wait->sleeper);
	return wait->status;
}

static NTSTATUS wait_for(ULONG count, DISPATCHER_HEADER *const *objects, WAIT_TYPE type,
			 const LARGE_INTEGER *timeout, KWAIT_BLOCK *blocks, const char *routine)
{
	struct _KTHREAD *thread = nt_thread_current();
	bool is_poll = timeout && timeout->QuadPart == 0;
	uint64_t deadline_ns = is_poll ? 0 : nt_timeout_deadline_ns(timeout);
	struct nt_wait wait = { .thread = thread, .type = type, .count = count };
	bool was_repaired = false;
	bool is_foreign = false;
	NTSTATUS status = STATUS_TIMEOUT;

	if (is_poll)
		nt_irql_require(DISPATCH_LEVEL, routine);
	else
		nt_irql_require_waitable(routine);

	lock_acquire(&nt_dispatcher_lock);
	for (ULONG i = 0; i < count; i++) {
		was_repaired |= object_repair_locked(objects[i]);
		is_foreign |= !object_is_waitable(objects[i]);
	}
	bool is_over =
		is_foreign || wait_try_locked(objects, count, type, thread, &status) || is_poll;
	if (!is_over) {
		wait.blocks = blocks;
		processor_sleep(&wait.sleeper);
		for (ULONG i = 0; i < count; i++) {
			blocks[i] = (KWAIT_BLOCK){ .Thread = thread,
						   .Object = objects[i],
						   .WaitKey = (USHORT)i,
						   .WaitType = (UCHAR)type };
			InsertTailList(&objects[i]->WaitListHead, &blocks[i].WaitListEntry);
		}
		thread->wait = &wait;
	}
	lock_release(&nt_dispatcher_lock);

	report_uninitialized(was_repaired, routine);
	if (is_foreign) {
		nt_report(RULE_NT_OBJECT_STATE,
			  "%s was given something that is not an object one "
			  "can wait for",
			  routine);
		return STATUS_OBJECT_TYPE_MISMATCH;
	}
	if (!is_over)
		status = wait_sleep(&wait, deadline_ns);
	for (ULONG i = 0; i < count && status != STATUS_TIMEOUT; i++)
		race_acquire(objects[i]);
	return status;
}

/* What a wait that ended took of mutexes is now the caller's. */
static NTSTATUS note_mutexes(NTSTATUS status, ULONG count, DISPATCHER_HEADER *const *objects,
			     WAIT_TYPE type, const void *site)
{
	/* The first that is free, or the first that was abandoned, and so on. */
	ULONG first = (ULONG)status % STATUS_ABANDONED_WAIT_0;

	if (UNLIKELY(!NT_SUCCESS(status) || status == STATUS_TIMEOUT))
		return status;
	for (ULONG i = type == WaitAny ? first : 0; i < (type == WaitAny ? first + 1 : count);
	     i++) {
		if (objects[i]->Type == NT_MUTANT)
			nt_held_add_mutex(objects[i], site);
	}
	return status;
}

/* Who waits without an end for mutexes takes them in some order. */
static void note_wanted(ULONG count, DISPATCHER_HEADER *const *objects,
			const LARGE_INTEGER *timeout, const void *site)
{
	for (ULONG i = 0; UNLIKELY(nt_lock_graph_is_on) && !timeout && i < count; i++) {
		if (objects[i]->Type == NT_MUTANT)
			nt_lock_graph_wants(objects[i], false, site);
	}
}

NTSTATUS KeWaitForSingleObject(PVOID Object, KWAIT_REASON WaitReason, KPROCESSOR_MODE WaitMode,
			       BOOLEAN Alertable, PLARGE_INTEGER Timeout)
{
	DISPATCHER_HEADER *object = Object;

	if (!is_given(Object, "Object", __func__))
		return STATUS_INVALID_PARAMETER;
	note_wanted(1, &object, Timeout, CALLER);
	NTSTATUS status =
		wait_for(1, &object, WaitAny, Timeout, nt_thread_current()->wait_blocks, __func__);
	return note_mutexes(status, 1, &object, WaitAny, CALLER);
}

NTSTATUS KeWaitForMultipleObjects(ULONG Count, PVOID Object[], WAIT_TYPE WaitType,
				  KWAIT_REASON WaitReason, KPROCESSOR_MODE WaitMode,
				  BOOLEAN Alertable, PLARGE_INTEGER Timeout,
				  PKWAIT_BLOCK WaitBlockArray)
{
	KWAIT_BLOCK *blocks = WaitBlockArray ? WaitBlockArray : nt_thread_current()->wait_blocks;
	ULONG highest = WaitBlockArray ? MAXIMUM_WAIT_OBJECTS : THREAD_WAIT_OBJECTS;

	if (Count == 0 || Count > highest || (WaitType != WaitAny && WaitType != WaitAll)) {
		nt_report(RULE_NT_WAIT_COUNT,
			  "KeWaitForMultipleObjects was given %u objects and "
			  "%s; 1 to %u are legal",
			  Count, WaitBlockArray ? "an array of wait blocks" : "no wait blocks",
			  highest);
		return STATUS_INVALID_PARAMETER;
	}
	for (ULONG i = 0; i < Count; i++) {
		if (!is_given(Object[i], "one of the objects", __func__))
			return STATUS_INVALID_PARAMETER;
	}
	DISPATCHER_HEADER *const *objects = (DISPATCHER_HEADER *const *)Object;
	note_wanted(Count, objects, Timeout, CALLER);
	NTSTATUS status = wait_for(Count, objects, WaitType, Timeout, blocks, __func__);
	return note_mutexes(status, Count, objects, WaitType, CALLER);
}

/* ---- events ---- */

VOID KeInitializeEvent(PRKEVENT Event, EVENT_TYPE Type, BOOLEAN State)
{
	nt_dispatcher_header_init(&Event->Header,
				  Type == NotificationEvent ? NT_EVENT_NOTIFICATION
							    : NT_EVENT_SYNCHRONIZATION,
				  State != 0);
}

/* Signals; `lasts` is false for a pulse. Returns the state before. */
static LONG event_signal(PRKEVENT event, bool lasts, bool is_boosted, const char *routine)
{
	struct wake_list woken;

	if (!is_given(event, "Event", routine))
		return 0;
	nt_irql_require(DISPATCH_LEVEL, routine);
	wake_list_init(&woken);
	woken.is_boosted = is_boosted;
	lock_acquire(&nt_dispatcher_lock);
	bool was_repaired = object_repair_locked(&event->Header);
	LONG before = event->Header.SignalState;
	event->Header.SignalState = 1;
	object_signaled_locked(&event->Header, &woken);
	if (!lasts)
		event->Header.SignalState = 0;
	lock_release(&nt_dispatcher_lock);

	wake_list_wake(&woken);
	report_uninitialized(was_repaired, routine);
	return before;
}

/*
 * `Wait` lets NT keep its lock for the wait that follows; here each takes it by itself. Who waits at once makes room for whom
 * it woke.
 */
LONG KeSetEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait)
{
	return event_signal(Event, true, Increment > 0 && !Wait, __func__);
}

LONG KePulseEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait)
{
	return event_signal(Event, false, Increment > 0 && !Wait, __func__);
}

static LONG event_reset(PRKEVENT event, const char *routine)
{
	if (!is_given(event, "Event", routine))
		return 0;
	nt_irql_require(DISPATCH_LEVEL, routine);
	lock_acquire(&nt_dispatcher_lock);
	LONG before = event->Header.SignalState;
	event->Header.SignalState = 0;
	lock_release(&nt_dispatcher_lock);
	return before;
}

LONG KeResetEvent(PRKEVENT Event)
{
	return event_reset(Event, __func__);
}

VOID KeClearEvent(PRKEVENT Event)
{
	event_reset(Event, __func__);
}

LONG read_state(DISPATCHER_HEADER *object)
{
	lock_acquire(&nt_dispatcher_lock);
	LONG state = object->SignalState;
	race_acquire(object);
	lock_release(&nt_dispatcher_lock);
	return state;
}

LONG KeReadStateEvent(PRKEVENT Event)
{
	return read_state(&Event->Header);
}

/* ---- semaphores ---- */

VOID KeInitializeSemaphore(PRKSEMAPHORE Semaphore, LONG Count, LONG Limit)
{
	nt_dispatcher_header_init(&Semaphore->Header, NT_SEMAPHORE, Count);
	Semaphore->Limit = Limit;
}

LONG KeReleaseSemaphore(PRKSEMAPHORE Semaphore, KPRIORITY Increment, LONG Adjustment, BOOLEAN Wait)
{
	struct wake_list woken;

	if (!is_given(Semaphore, "Semaphore", __func__))
		return 0;
	nt_irql_require(DISPATCH_LEVEL, __func__);
	wake_list_init(&woken);
	lock_acquire(&nt_dispatcher_lock);
	LONG before = Semaphore->Header.SignalState;
	bool is_legal = Adjustment > 0 && Adjustment <= Semaphore->Limit - before;
	if (is_legal) {
		Semaphore->Header.SignalState = before + Adjustment;
		object_signaled_locked(&Semaphore->Header, &woken);
	}
	lock_release(&nt_dispatcher_lock);

	wake_list_wake(&woken);
	if (!is_legal) {
		nt_report(RULE_NT_SEMAPHORE_LIMIT,
			  "KeReleaseSemaphore adds %d to a count of %d; the limit is %d",
			  Adjustment, before, Semaphore->Limit);
		nt_seh_raise_if_guarded(STATUS_SEMAPHORE_LIMIT_EXCEEDED);
	}
	return before;
}

LONG KeReadStateSemaphore(PRKSEMAPHORE Semaphore)
{
	return read_state(&Semaphore->Header);
}

/* ---- mutexes ---- */

VOID KeInitializeMutex(PRKMUTEX Mutex, ULONG Level)
{
	nt_lock_graph_forget(Mutex, Mutex + 1);
	memset(Mutex, 0, sizeof(*Mutex));
	nt_dispatcher_header_init(&Mutex->Header, NT_MUTANT, 1);
	InitializeListHead(&Mutex->MutantListEntry);
	Mutex->ApcDisable = 1;
}

static void mutex_free_locked(PRKMUTEX mutex, struct wake_list *woken)
{
	lock_assert_held(&nt_dispatcher_lock);

	mutex->OwnerThread = NULL;
	RemoveEntryList(&mutex->MutantListEntry);
	object_signaled_locked(&mutex->Header, woken);
}

LONG KeReleaseMutex(PRKMUTEX Mutex, BOOLEAN Wait)
{
	struct _KTHREAD *thread = nt_thread_current();
	struct wake_list woken;

	if (!is_given(Mutex, "Mutex", __func__))
		return 0;
	nt_irql_require(DISPATCH_LEVEL, __func__);
	wake_list_init(&woken);
	lock_acquire(&nt_dispatcher_lock);
	LONG before = Mutex->Header.SignalState;
	bool is_owner = Mutex->OwnerThread == thread;
	if (is_owner && ++Mutex->Header.SignalState == 1) {
		thread->region_depth -= Mutex->ApcDisable;
		mutex_free_locked(Mutex, &woken);
	}
	lock_release(&nt_dispatcher_lock);

	wake_list_wake(&woken);
	if (is_owner && before == 0)
		nt_held_drop(NT_HELD_MUTEX, Mutex);
	if (!is_owner) {
		nt_report(RULE_NT_LOCK_OWNER, "KeReleaseMutex releases a mutex that its thread "
					      "does not own");
		nt_seh_raise_if_guarded(STATUS_MUTANT_NOT_OWNED);
	}
	return before;
}

LONG KeReadStateMutex(PRKMUTEX Mutex)
{
	return read_state(&Mutex->Header);
}

uint32_t nt_dispatcher_thread_ended(struct _KTHREAD *thread)
{
	struct wake_list woken;
	uint32_t abandoned = 0;

	wake_list_init(&woken);
	lock_acquire(&nt_dispatcher_lock);
	while (!IsListEmpty(&thread->owned_mutexes)) {
		KMUTANT *mutant =
			CONTAINING_RECORD(thread->owned_mutexes.Flink, KMUTANT, MutantListEntry);
		mutant->Abandoned = TRUE;
		mutant->Header.SignalState = 1;
		mutex_free_locked(mutant, &woken);
		abandoned++;
	}
	thread->header.SignalState = 1;
	object_signaled_locked(&thread->header, &woken);
	lock_release(&nt_dispatcher_lock);
	wake_list_wake(&woken);
	return abandoned;
}
