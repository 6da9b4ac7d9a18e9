/* SPDX-License-Identifier: MIT */
/*
 * timers.c - timers, and the thread they run on. See dispatcher.c.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ddk/wdm.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/notice.h"
#include "base/race.h"
#include "base/thread.h"
#include "nt/dispatcher.h"
#include "nt/dispatcher_parts.h"
#include "nt/dpc.h"
#include "nt/irql.h"

/*
 * Armed timers, next one first; DueTime is on our clock, in ns. One thread sleeps until the first
 * is due. Guarded by the dispatcher lock.
 */
static struct {
	LIST_ENTRY armed; /* KTIMER.TimerListEntry */
	struct thread *thread;
	struct notice changed;
	bool is_stopping;
} timers = { .armed = { &timers.armed, &timers.armed } };

static bool timer_is_armed(const KTIMER *timer)
{
	return timer->Header.TimerMiscFlags != 0;
}

static void timer_disarm_locked(KTIMER *timer)
{
	lock_assert_held(&nt_dispatcher_lock);
	RemoveEntryList(&timer->TimerListEntry);
	timer->Header.TimerMiscFlags = 0;
	atomic_fetch_sub_explicit(&nt_dispatcher_queued, 1, memory_order_relaxed);
}

static void timer_arm_locked(KTIMER *timer, uint64_t due_ns)
{
	LIST_ENTRY *after = timers.armed.Blink;

	lock_assert_held(&nt_dispatcher_lock);
	timer->DueTime.QuadPart = due_ns;
	/* Timers due at the same time run in the order they were set. */
	while (after != &timers.armed &&
	       CONTAINING_RECORD(after, KTIMER, TimerListEntry)->DueTime.QuadPart > due_ns)
		after = after->Blink;
	InsertHeadList(after, &timer->TimerListEntry);
	timer->Header.TimerMiscFlags = 1;
	atomic_fetch_add_explicit(&nt_dispatcher_queued, 1, memory_order_relaxed);
}

/* Due: signals, queues the DPC, and goes back in line if it has a period. */
static void timer_expire_locked(KTIMER *timer, uint64_t now_ns, struct wake_list *woken)
{
	lock_assert_held(&nt_dispatcher_lock);

	timer->Header.SignalState = 1;
	object_signaled_locked(&timer->Header, woken);
	if (timer->Period != 0) {
		uint64_t period_ns = timer->Period * NS_PER_MS;
		uint64_t next_ns = timer->DueTime.QuadPart + period_ns;
		timer_arm_locked(timer, next_ns > now_ns ? next_ns : now_ns + period_ns);
	}
	if (timer->Dpc)
		nt_dpc_insert_locked(timer->Dpc, NULL, NULL);
}

static void timers_main(void *context)
{
	lock_acquire(&nt_dispatcher_lock);
	while (!timers.is_stopping) {
		struct wake_list woken;
		uint64_t next_ns = CLOCK_FOREVER;
		uint64_t now_ns = clock_now_ns();

		wake_list_init(&woken);
		while (!IsListEmpty(&timers.armed)) {
			KTIMER *timer =
				CONTAINING_RECORD(timers.armed.Flink, KTIMER, TimerListEntry);
			next_ns = timer->DueTime.QuadPart;
			if (next_ns > now_ns)
				break;
			timer_disarm_locked(timer);
			timer_expire_locked(timer, now_ns, &woken);
			next_ns = CLOCK_FOREVER;
		}
		uint32_t seen = notice_read(&timers.changed);
		lock_release(&nt_dispatcher_lock);
		wake_list_wake(&woken);
		notice_wait(&timers.changed, seen, next_ns);
		lock_acquire(&nt_dispatcher_lock);
	}
	lock_release(&nt_dispatcher_lock);
}

static NTSTATUS timers_start_locked(void)
{
	lock_assert_held(&nt_dispatcher_lock);

	if (timers.thread)
		return STATUS_SUCCESS;
	timers.is_stopping = false;
	return thread_create("nt-timer", timers_main, NULL, &timers.thread);
}

NTSTATUS nt_timers_start(void)
{
	lock_acquire(&nt_dispatcher_lock);
	NTSTATUS status = timers_start_locked();
	lock_release(&nt_dispatcher_lock);
	return status;
}

void nt_timers_stop(void)
{
	lock_acquire(&nt_dispatcher_lock);
	struct thread *thread = timers.thread;
	timers.thread = NULL;
	timers.is_stopping = true;
	lock_release(&nt_dispatcher_lock);
	notice_give(&timers.changed);
	thread_join(thread);

	/* What is still armed lies in memory of drivers that are gone: forgotten, not touched. */
	lock_acquire(&nt_dispatcher_lock);
	InitializeListHead(&timers.armed);
	lock_release(&nt_dispatcher_lock);
}

VOID KeInitializeTimerEx(PKTIMER Timer, TIMER_TYPE Type)
{
	memset(Timer, 0, sizeof(*Timer));
	nt_dispatcher_header_init(
		&Timer->Header,
		Type == NotificationTimer ? NT_TIMER_NOTIFICATION : NT_TIMER_SYNCHRONIZATION, 0);
	InitializeListHead(&Timer->TimerListEntry);
}

VOID KeInitializeTimer(PKTIMER Timer)
{
	KeInitializeTimerEx(Timer, NotificationTimer);
}

BOOLEAN KeSetTimerEx(PKTIMER Timer, LARGE_INTEGER DueTime, LONG Period, struct _KDPC *Dpc)
{
	uint64_t due_ns = nt_timeout_deadline_ns(&DueTime);
	struct wake_list woken;
	NTSTATUS status = STATUS_SUCCESS;

	if (!is_given(Timer, "Timer", "KeSetTimer"))
		return FALSE;
	nt_irql_require(DISPATCH_LEVEL, "KeSetTimer");
	race_release(Timer);
	race_release(&nt_dispatcher_lock); /* for its DPC */
	wake_list_init(&woken);
	lock_acquire(&nt_dispatcher_lock);
	bool was_repaired = object_repair_locked(&Timer->Header);
	bool was_armed = timer_is_armed(Timer);
	if (was_armed)
		timer_disarm_locked(Timer);
	Timer->Header.SignalState = 0;
	Timer->Period = Period > 0 ? (ULONG)Period : 0;
	Timer->Dpc = Dpc;

	uint64_t now_ns = clock_now_ns();
	if (due_ns <= now_ns) {
		Timer->DueTime.QuadPart = due_ns;
		timer_expire_locked(Timer, now_ns, &woken);
	} else {
		timer_arm_locked(Timer, due_ns);
	}
	if (timer_is_armed(Timer)) {
		status = timers_start_locked();
		if (timers.armed.Flink == &Timer->TimerListEntry)
			notice_give(&timers.changed);
	}
	lock_release(&nt_dispatcher_lock);

	wake_list_wake(&woken);
	report_uninitialized(was_repaired, "KeSetTimer");
	if (!NT_SUCCESS(status))
		log_error("no memory for the timer thread; timers wait for the next KeSetTimer");
	return was_armed;
}

BOOLEAN KeSetTimer(PKTIMER Timer, LARGE_INTEGER DueTime, struct _KDPC *Dpc)
{
	return KeSetTimerEx(Timer, DueTime, 0, Dpc);
}

BOOLEAN KeSetCoalescableTimer(PKTIMER Timer, LARGE_INTEGER DueTime, ULONG Period,
			      ULONG TolerableDelay, struct _KDPC *Dpc)
{
	UNREFERENCED_PARAMETER(TolerableDelay); /* on time is within any tolerance */
	return KeSetTimerEx(Timer, DueTime, (LONG)Period, Dpc);
}

BOOLEAN KeCancelTimer(PKTIMER Timer)
{
	if (!is_given(Timer, "Timer", __func__))
		return FALSE;
	nt_irql_require(DISPATCH_LEVEL, __func__);
	lock_acquire(&nt_dispatcher_lock);
	bool was_armed = timer_is_armed(Timer);
	if (was_armed)
		timer_disarm_locked(Timer);
	lock_release(&nt_dispatcher_lock);
	return was_armed;
}

BOOLEAN KeReadStateTimer(PKTIMER Timer)
{
	return read_state(&Timer->Header) > 0;
}

bool nt_dispatcher_forget_memory(const void *begin, const void *end)
{
	if (LIKELY(atomic_load_explicit(&nt_dispatcher_queued, memory_order_relaxed) == 0))
		return false;
	lock_acquire(&nt_dispatcher_lock);
	bool was_used = nt_dpc_forget_memory_locked(begin, end);
	LIST_ENTRY *entry = timers.armed.Flink;
	while (entry != &timers.armed) {
		KTIMER *timer = CONTAINING_RECORD(entry, KTIMER, TimerListEntry);
		entry = entry->Flink;
		if (!nt_is_within(timer, begin, end) && !nt_is_within(timer->Dpc, begin, end))
			continue;
		timer_disarm_locked(timer);
		was_used = true;
	}
	lock_release(&nt_dispatcher_lock);
	return was_used;
}
