/* SPDX-License-Identifier: MIT */
/*
 * dispatcher_test.c - events, semaphores, mutexes, timers and waits, from their WDK pages.
 */
#include "unit/nt/nt_harness.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/processor.h"
#include "base/sim.h"
#include "nt/dispatcher.h"

enum { THREADS = 4, ROUNDS = 100 };

/* ---- events ---- */

NT_TEST(event, a_notification_event_stays_signaled_until_it_is_cleared)
{
	KEVENT event;

	KeInitializeEvent(&event, NotificationEvent, FALSE);
	EXPECT_EQ(nt_test_poll(&event), STATUS_TIMEOUT);
	EXPECT_EQ(KeSetEvent(&event, IO_NO_INCREMENT, FALSE), 0);
	EXPECT_EQ(KeSetEvent(&event, IO_NO_INCREMENT, FALSE), 1);
	EXPECT_EQ(nt_test_poll(&event), STATUS_SUCCESS);
	EXPECT_EQ(nt_test_poll(&event), STATUS_SUCCESS);
	EXPECT_EQ(KeReadStateEvent(&event), 1);
	EXPECT_EQ(KeResetEvent(&event), 1);
	EXPECT_EQ(KeResetEvent(&event), 0);
	EXPECT_EQ(nt_test_poll(&event), STATUS_TIMEOUT);
	EXPECT_NO_REPORT();
}

NT_TEST(event, a_synchronization_event_satisfies_one_wait)
{
	KEVENT event;

	KeInitializeEvent(&event, SynchronizationEvent, TRUE);
	EXPECT_EQ(nt_test_poll(&event), STATUS_SUCCESS);
	EXPECT_EQ(nt_test_poll(&event), STATUS_TIMEOUT);
	KeSetEvent(&event, 0, FALSE);
	KeClearEvent(&event);
	EXPECT_EQ(nt_test_poll(&event), STATUS_TIMEOUT);
	EXPECT_NO_REPORT();
}

struct turnstile {
	KEVENT gate;
	KSEMAPHORE passed;
	KSEMAPHORE waiting;
};

static VOID NTAPI pass_gate(PVOID context)
{
	struct turnstile *turnstile = context;

	KeReleaseSemaphore(&turnstile->waiting, 0, 1, FALSE);
	EXPECT_EQ(nt_test_wait(&turnstile->gate), STATUS_SUCCESS);
	KeReleaseSemaphore(&turnstile->passed, 0, 1, FALSE);
}

static void turnstile_run(EVENT_TYPE type, unsigned passed_per_set)
{
	struct turnstile turnstile;
	PKTHREAD threads[THREADS];

	nt_test_begin();
	KeInitializeEvent(&turnstile.gate, type, FALSE);
	KeInitializeSemaphore(&turnstile.passed, 0, THREADS);
	KeInitializeSemaphore(&turnstile.waiting, 0, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = nt_test_start(pass_gate, &turnstile);
	for (unsigned i = 0; i < THREADS; i++)
		nt_test_wait(&turnstile.waiting);
	for (unsigned sets = 0; sets < THREADS / passed_per_set; sets++) {
		KeSetEvent(&turnstile.gate, 0, FALSE);
		for (unsigned i = 0; i < passed_per_set; i++)
			EXPECT_EQ(nt_test_wait(&turnstile.passed), STATUS_SUCCESS);
		/* Nobody slipped through on the same set. */
		EXPECT_EQ(KeReadStateSemaphore(&turnstile.passed), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		nt_test_join(threads[i]);
	EXPECT_EQ(KeReadStateEvent(&turnstile.gate), type == NotificationEvent);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

TEST(event, setting_a_synchronization_event_lets_one_waiter_through)
{
	turnstile_run(SynchronizationEvent, 1);
}

TEST(event, setting_a_notification_event_lets_all_waiters_through)
{
	turnstile_run(NotificationEvent, THREADS);
}

static bool has_waiter(DISPATCHER_HEADER *object)
{
	lock_acquire(&nt_dispatcher_lock);
	bool has = !IsListEmpty(&object->WaitListHead);
	lock_release(&nt_dispatcher_lock);
	return has;
}

static VOID NTAPI wait_for_event(PVOID context)
{
	EXPECT_EQ(nt_test_wait(context), STATUS_SUCCESS);
}

TEST(event, a_pulse_wakes_who_waits_and_leaves_the_event_clear)
{
	LARGE_INTEGER pause = nt_test_us(50);
	KEVENT event;

	nt_test_begin();
	KeInitializeEvent(&event, NotificationEvent, FALSE);
	PKTHREAD thread = nt_test_start(wait_for_event, &event);
	while (!has_waiter(&event.Header))
		KeDelayExecutionThread(KernelMode, FALSE, &pause);
	KePulseEvent(&event, 0, FALSE);
	EXPECT_EQ(KeReadStateEvent(&event), 0);
	nt_test_join(thread);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

struct woken {
	KEVENT event;
	_Atomic uint32_t processor; /* + 1: where it went on */
	_Atomic uint32_t allowed;   /* how many it may be on then */
};

static VOID NTAPI tell_where_it_wakes(PVOID context)
{
	struct woken *woken = context;

	EXPECT_EQ(nt_test_wait(&woken->event), STATUS_SUCCESS);
	woken->processor = processor_number() + 1;
	woken->allowed = thread_processors();
}

/* Who sets it stays on its processor and goes on: there nobody gets far beside it. Returns where that is. */
static uint32_t wake_while_busy(struct woken *woken)
{
	LARGE_INTEGER pause = nt_test_us(50);
	cpu_set_t allowed;

	EXPECT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	KeInitializeEvent(&woken->event, SynchronizationEvent, FALSE);
	woken->processor = 0;
	PKTHREAD thread = nt_test_start(tell_where_it_wakes, woken);
	while (!has_waiter(&woken->event.Header))
		KeDelayExecutionThread(KernelMode, FALSE, &pause);
	processor_stay();
	uint32_t here = processor_number();
	KeSetEvent(&woken->event, EVENT_INCREMENT, FALSE);
	while (woken->processor == 0)
		thread_relax();
	EXPECT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
	nt_test_join(thread);
	return here;
}

NT_TEST(event, who_is_woken_with_a_boost_does_not_wait_for_the_processor_of_who_wakes_it)
{
	uint32_t processors = thread_processors();
	struct woken woken;

	for (unsigned i = 0; i < ROUNDS && processors > 1 && !thread_is_simulated(); i++) {
		uint32_t here = wake_while_busy(&woken);

		EXPECT(woken.processor != here + 1);
		EXPECT_EQ(woken.allowed, processors); /* it may be anywhere again */
	}
	EXPECT_NO_REPORT();
}

TEST(event, a_zeroed_event_is_reported_and_works)
{
	KEVENT event;

	memset(&event, 0, sizeof(event));
	nt_test_begin();
	KeSetEvent(&event, 0, FALSE);
	EXPECT_REPORTS(RULE_NT_OBJECT_STATE, 1);
	EXPECT_EQ(nt_test_poll(&event), STATUS_SUCCESS);
	EXPECT_REPORTS(RULE_NT_OBJECT_STATE, 1);
	nt_test_finish();
}

NT_TEST(event, waiting_for_something_else_is_reported_and_refused)
{
	KEVENT event;

	KeInitializeEvent(&event, NotificationEvent, TRUE);
	event.Header.Type = 77;
	EXPECT_EQ(nt_test_wait(&event), STATUS_OBJECT_TYPE_MISMATCH);
	EXPECT_REPORTS(RULE_NT_OBJECT_STATE, 1);
}

/* ---- waits ---- */

TEST(wait, a_timeout_is_relative_when_negative_and_absolute_when_positive)
{
	LARGE_INTEGER timeout = nt_test_us(300);
	KEVENT event;

	nt_test_begin();
	KeInitializeEvent(&event, NotificationEvent, FALSE);
	ULONGLONG before = KeQueryInterruptTime();
	EXPECT_EQ(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, &timeout),
		  STATUS_TIMEOUT);
	EXPECT(KeQueryInterruptTime() - before >= 3000);

	KeQuerySystemTime(&timeout);
	timeout.QuadPart += 3000;
	before = KeQueryInterruptTime();
	EXPECT_EQ(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, &timeout),
		  STATUS_TIMEOUT);
	EXPECT(KeQueryInterruptTime() - before >= 2500); /* two clocks were read at two moments */

	timeout.QuadPart = 1; /* in the year 1601 */
	EXPECT_EQ(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, &timeout),
		  STATUS_TIMEOUT);
	EXPECT(!has_waiter(&event.Header));
	EXPECT_NO_REPORT();
	nt_test_finish();
}

NT_TEST(wait, any_takes_the_lowest_signaled_object_and_only_that)
{
	KEVENT events[3];
	PVOID objects[3] = { &events[0], &events[1], &events[2] };

	for (int i = 0; i < 3; i++)
		KeInitializeEvent(&events[i], SynchronizationEvent, i != 0);
	EXPECT_EQ(KeWaitForMultipleObjects(3, objects, WaitAny, Executive, KernelMode, FALSE, NULL,
					   NULL),
		  STATUS_WAIT_1);
	EXPECT_EQ(KeReadStateEvent(&events[1]), 0);
	EXPECT_EQ(KeReadStateEvent(&events[2]), 1);
	EXPECT_EQ(KeWaitForMultipleObjects(3, objects, WaitAny, Executive, KernelMode, FALSE, NULL,
					   NULL),
		  STATUS_WAIT_2);
	LARGE_INTEGER zero = { .QuadPart = 0 };
	EXPECT_EQ(KeWaitForMultipleObjects(3, objects, WaitAny, Executive, KernelMode, FALSE, &zero,
					   NULL),
		  STATUS_TIMEOUT);
	EXPECT_NO_REPORT();
}

NT_TEST(wait, all_takes_everything_at_once_or_nothing)
{
	KEVENT events[2];
	PVOID objects[2] = { &events[0], &events[1] };
	LARGE_INTEGER zero = { .QuadPart = 0 };

	KeInitializeEvent(&events[0], SynchronizationEvent, TRUE);
	KeInitializeEvent(&events[1], SynchronizationEvent, FALSE);
	EXPECT_EQ(KeWaitForMultipleObjects(2, objects, WaitAll, Executive, KernelMode, FALSE, &zero,
					   NULL),
		  STATUS_TIMEOUT);
	EXPECT_EQ(KeReadStateEvent(&events[0]), 1);
	KeSetEvent(&events[1], 0, FALSE);
	EXPECT_EQ(KeWaitForMultipleObjects(2, objects, WaitAll, Executive, KernelMode, FALSE, &zero,
					   NULL),
		  STATUS_SUCCESS);
	EXPECT_EQ(KeReadStateEvent(&events[0]), 0);
	EXPECT_EQ(KeReadStateEvent(&events[1]), 0);
	EXPECT_NO_REPORT();
}

struct pair {
	KEVENT first;
	KEVENT second;
	KEVENT done;
	NTSTATUS status;
};

static VOID NTAPI wait_for_both(PVOID context)
{
	struct pair *pair = context;
	PVOID objects[2] = { &pair->first, &pair->second };

	pair->status = KeWaitForMultipleObjects(2, objects, WaitAll, Executive, KernelMode, FALSE,
						NULL, NULL);
	KeSetEvent(&pair->done, 0, FALSE);
}

TEST(wait, a_thread_that_waits_for_all_leaves_single_objects_to_others)
{
	LARGE_INTEGER pause = nt_test_us(50);
	struct pair pair;

	nt_test_begin();
	KeInitializeEvent(&pair.first, SynchronizationEvent, FALSE);
	KeInitializeEvent(&pair.second, SynchronizationEvent, FALSE);
	KeInitializeEvent(&pair.done, NotificationEvent, FALSE);
	PKTHREAD thread = nt_test_start(wait_for_both, &pair);
	while (!has_waiter(&pair.second.Header))
		KeDelayExecutionThread(KernelMode, FALSE, &pause);
	KeSetEvent(&pair.first, 0, FALSE);
	EXPECT_EQ(KeReadStateEvent(&pair.done), 0);
	EXPECT_EQ(nt_test_poll(&pair.first), STATUS_SUCCESS); /* still there for us */
	KeSetEvent(&pair.second, 0, FALSE);
	EXPECT_EQ(KeReadStateEvent(&pair.done), 0);
	KeSetEvent(&pair.first, 0, FALSE);
	EXPECT_EQ(nt_test_wait(&pair.done), STATUS_SUCCESS);
	EXPECT_EQ(pair.status, STATUS_SUCCESS);
	EXPECT_EQ(KeReadStateEvent(&pair.first), 0);
	EXPECT_EQ(KeReadStateEvent(&pair.second), 0);
	nt_test_join(thread);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

TEST(wait, three_objects_need_no_wait_blocks_and_sixty_four_are_the_most)
{
	static KEVENT events[MAXIMUM_WAIT_OBJECTS + 1];
	static KWAIT_BLOCK blocks[MAXIMUM_WAIT_OBJECTS];
	PVOID objects[MAXIMUM_WAIT_OBJECTS + 1];
	LARGE_INTEGER timeout = nt_test_us(20);

	nt_test_begin();
	for (int i = 0; i <= MAXIMUM_WAIT_OBJECTS; i++) {
		KeInitializeEvent(&events[i], SynchronizationEvent, FALSE);
		objects[i] = &events[i];
	}
	EXPECT_EQ(KeWaitForMultipleObjects(3, objects, WaitAny, Executive, KernelMode, FALSE,
					   &timeout, NULL),
		  STATUS_TIMEOUT);
	EXPECT_EQ(KeWaitForMultipleObjects(64, objects, WaitAny, Executive, KernelMode, FALSE,
					   &timeout, blocks),
		  STATUS_TIMEOUT);
	KeSetEvent(&events[63], 0, FALSE);
	EXPECT_EQ(KeWaitForMultipleObjects(64, objects, WaitAny, Executive, KernelMode, FALSE, NULL,
					   blocks),
		  STATUS_WAIT_63);
	EXPECT_NO_REPORT();
	EXPECT_EQ(KeWaitForMultipleObjects(4, objects, WaitAny, Executive, KernelMode, FALSE, NULL,
					   NULL),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(KeWaitForMultipleObjects(65, objects, WaitAny, Executive, KernelMode, FALSE, NULL,
					   blocks),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(KeWaitForMultipleObjects(0, objects, WaitAny, Executive, KernelMode, FALSE, NULL,
					   NULL),
		  STATUS_INVALID_PARAMETER);
	EXPECT_REPORTS(RULE_NT_WAIT_COUNT, 3);
	nt_test_finish();
}

TEST(wait, at_dispatch_level_polling_is_legal_and_waiting_is_reported_and_done)
{
	LARGE_INTEGER timeout = nt_test_us(20);
	KEVENT event;

	nt_test_begin();
	KeInitializeEvent(&event, NotificationEvent, FALSE);
	KIRQL old = KeRaiseIrqlToDpcLevel();
	EXPECT_EQ(nt_test_poll(&event), STATUS_TIMEOUT);
	KeSetEvent(&event, 0, FALSE);
	EXPECT_EQ(nt_test_poll(&event), STATUS_SUCCESS);
	KeClearEvent(&event);
	EXPECT_NO_REPORT();
	EXPECT_EQ(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, &timeout),
		  STATUS_TIMEOUT);
	EXPECT_REPORTS(RULE_NT_IRQL_WAIT, 1);
	EXPECT_CONTAINS(nt_test_log, "KeWaitForSingleObject waits at DISPATCH_LEVEL");
	KeDelayExecutionThread(KernelMode, FALSE, &timeout);
	EXPECT_REPORTS(RULE_NT_IRQL_WAIT, 2);
	KeLowerIrql(old);
	nt_test_finish();
}

/* What Cos does: one worker for three events, commands signal in any order. */
struct three {
	KEVENT events[3];
	KSEMAPHORE taken[3];
};

static VOID NTAPI serve_three(PVOID context)
{
	struct three *three = context;
	PVOID objects[3] = { &three->events[0], &three->events[1], &three->events[2] };
	NTSTATUS status;

	do {
		status = KeWaitForMultipleObjects(3, objects, WaitAny, Executive, KernelMode, FALSE,
						  NULL, NULL);
		EXPECT(status >= STATUS_WAIT_0 && status <= STATUS_WAIT_2);
		KeReleaseSemaphore(&three->taken[status], 0, 1, FALSE);
	} while (status != STATUS_WAIT_2);
}

NT_TEST(wait, no_set_is_lost_and_none_is_served_twice)
{
	struct three three;

	for (int i = 0; i < 3; i++) {
		KeInitializeEvent(&three.events[i], SynchronizationEvent, FALSE);
		KeInitializeSemaphore(&three.taken[i], 0, ROUNDS);
	}
	PKTHREAD worker = nt_test_start(serve_three, &three);
	for (int i = 0; i < ROUNDS; i++) {
		KeSetEvent(&three.events[i % 2], 0, FALSE);
		EXPECT_EQ(nt_test_wait(&three.taken[i % 2]), STATUS_SUCCESS);
	}
	KeSetEvent(&three.events[2], 0, FALSE);
	nt_test_join(worker);
	EXPECT_EQ(KeReadStateSemaphore(&three.taken[0]), 0);
	EXPECT_EQ(KeReadStateSemaphore(&three.taken[1]), 0);
	EXPECT_EQ(KeReadStateSemaphore(&three.taken[2]), 1);
	EXPECT_NO_REPORT();
}

/* A set in the last moment and a timeout: one of the two, never both, never neither. */
struct duel {
	KEVENT event;
	KSEMAPHORE ready;
	_Atomic int won;
	_Atomic int lost;
};

static VOID NTAPI wait_briefly(PVOID context)
{
	struct duel *duel = context;
	LARGE_INTEGER timeout = nt_test_us(5);

	for (int i = 0; i < ROUNDS; i++) {
		KeReleaseSemaphore(&duel->ready, 0, 1, FALSE);
		NTSTATUS status =
			KeWaitForSingleObject(&duel->event, Executive, KernelMode, FALSE, &timeout);
		if (status == STATUS_SUCCESS)
			duel->won++;
		else
			duel->lost++;
	}
}

TEST(wait, a_timeout_and_a_signal_in_the_same_moment_do_not_lose_the_signal)
{
	LARGE_INTEGER pause = nt_test_us(5);
	struct duel duel = { .won = 0 };
	int sets = 0;

	nt_test_begin();
	KeInitializeEvent(&duel.event, SynchronizationEvent, FALSE);
	KeInitializeSemaphore(&duel.ready, 0, ROUNDS);
	PKTHREAD thread = nt_test_start(wait_briefly, &duel);
	for (int i = 0; i < ROUNDS; i++) {
		nt_test_wait(&duel.ready);
		KeDelayExecutionThread(KernelMode, FALSE, &pause);
		sets += KeSetEvent(&duel.event, 0, FALSE) == 0;
	}
	nt_test_join(thread);
	EXPECT_EQ(duel.won + duel.lost, ROUNDS);
	/* Every set that found the event clear was taken, or is still there. */
	EXPECT_EQ(duel.won + KeReadStateEvent(&duel.event), sets);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

/* ---- semaphores and mutexes ---- */

NT_TEST(semaphore, counts_down_with_waits_and_refuses_to_pass_its_limit)
{
	KSEMAPHORE semaphore;

	KeInitializeSemaphore(&semaphore, 1, 3);
	EXPECT_EQ(KeReleaseSemaphore(&semaphore, 0, 2, FALSE), 1);
	EXPECT_EQ(KeReadStateSemaphore(&semaphore), 3);
	EXPECT_NO_REPORT();
	EXPECT_EQ(KeReleaseSemaphore(&semaphore, 0, 1, FALSE), 3);
	EXPECT_REPORTS(RULE_NT_SEMAPHORE_LIMIT, 1);
	EXPECT_EQ(KeReadStateSemaphore(&semaphore), 3);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(nt_test_poll(&semaphore), STATUS_SUCCESS);
	EXPECT_EQ(nt_test_poll(&semaphore), STATUS_TIMEOUT);
}

NT_TEST(mutex, is_recursive_for_its_owner_and_disables_apcs)
{
	KMUTEX mutex;

	KeInitializeMutex(&mutex, 0);
	EXPECT_EQ(KeReadStateMutex(&mutex), 1);
	EXPECT(!KeAreApcsDisabled());
	EXPECT_EQ(nt_test_wait(&mutex), STATUS_SUCCESS);
	EXPECT(KeAreApcsDisabled());
	EXPECT_EQ(nt_test_wait(&mutex), STATUS_SUCCESS);
	EXPECT_EQ(KeReadStateMutex(&mutex), -1);
	EXPECT_EQ(KeReleaseMutex(&mutex, FALSE), -1);
	EXPECT_EQ(KeReleaseMutex(&mutex, FALSE), 0);
	EXPECT_EQ(KeReadStateMutex(&mutex), 1);
	EXPECT(!KeAreApcsDisabled());
	EXPECT_NO_REPORT();
	KeReleaseMutex(&mutex, FALSE);
	EXPECT_REPORTS(RULE_NT_LOCK_OWNER, 1);
	EXPECT_EQ(KeReadStateMutex(&mutex), 1);
}

struct guarded {
	KMUTEX mutex;
	unsigned value;
};

static VOID NTAPI count_with_mutex(PVOID context)
{
	struct guarded *guarded = context;

	for (int i = 0; i < ROUNDS; i++) {
		EXPECT_EQ(nt_test_wait(&guarded->mutex), STATUS_SUCCESS);
		guarded->value++;
		if (i % 20 == 0)
			KeStallExecutionProcessor(2);
		KeReleaseMutex(&guarded->mutex, FALSE);
	}
}

NT_TEST(mutex, lets_one_thread_in)
{
	struct guarded guarded = { .value = 0 };

	KeInitializeMutex(&guarded.mutex, 0);
	nt_test_on_threads(THREADS, count_with_mutex, &guarded);
	EXPECT_EQ(guarded.value, THREADS * ROUNDS);
	EXPECT_NO_REPORT();
}

static VOID NTAPI take_and_end(PVOID context)
{
	nt_test_wait(context);
}

NT_TEST(mutex, of_a_thread_that_ended_is_abandoned_and_reported)
{
	KMUTEX mutex;
	PVOID objects[2];
	KEVENT never;

	KeInitializeMutex(&mutex, 0);
	KeInitializeEvent(&never, NotificationEvent, FALSE);
	nt_test_join(nt_test_start(take_and_end, &mutex));
	objects[0] = &never;
	objects[1] = &mutex;
	EXPECT_EQ(KeWaitForMultipleObjects(2, objects, WaitAny, Executive, KernelMode, FALSE, NULL,
					   NULL),
		  STATUS_ABANDONED_WAIT_0 + 1);
	KeReleaseMutex(&mutex, FALSE);
	EXPECT_EQ(nt_test_wait(&mutex), STATUS_SUCCESS);
	KeReleaseMutex(&mutex, FALSE);
	nt_threads_reap();
	EXPECT_REPORTS(RULE_NT_THREAD_MUTEX, 1);
}

/* ---- timers ---- */

NT_TEST(timer, is_signaled_when_due_and_stays_so_until_it_is_set_again)
{
	KTIMER timer;

	KeInitializeTimer(&timer);
	EXPECT(!KeReadStateTimer(&timer));
	ULONGLONG before = KeQueryInterruptTime();
	EXPECT(!KeSetTimer(&timer, nt_test_us(400), NULL));
	if (sim_is_on()) /* on a busy machine it may be due before we look */
		EXPECT(!KeReadStateTimer(&timer));
	EXPECT_EQ(nt_test_wait(&timer), STATUS_SUCCESS);
	EXPECT(KeQueryInterruptTime() - before >= 4000);
	EXPECT(KeReadStateTimer(&timer));
	EXPECT_EQ(nt_test_poll(&timer), STATUS_SUCCESS);
	EXPECT(!KeSetTimer(&timer, nt_test_us(1000000), NULL));
	EXPECT(!KeReadStateTimer(&timer));
	EXPECT(KeSetTimer(&timer, nt_test_us(100), NULL));
	EXPECT_EQ(nt_test_wait(&timer), STATUS_SUCCESS);
	EXPECT(!KeCancelTimer(&timer));
	EXPECT_NO_REPORT();
}

NT_TEST(timer, may_come_later_within_its_tolerance_and_never_early)
{
	KTIMER timer;

	KeInitializeTimer(&timer);
	ULONGLONG before = KeQueryInterruptTime();
	EXPECT(!KeSetCoalescableTimer(&timer, nt_test_us(400), 0, 10, NULL));
	EXPECT_EQ(nt_test_wait(&timer), STATUS_SUCCESS);
	EXPECT(KeQueryInterruptTime() - before >= 4000);
	EXPECT_NO_REPORT();
}

TEST(timer, that_is_cancelled_does_not_fire)
{
	LARGE_INTEGER timeout = nt_test_us(200000);
	KTIMER timer;

	nt_test_begin();
	KeInitializeTimer(&timer);
	/* Long enough that this thread is not late on a busy machine. */
	KeSetTimer(&timer, nt_test_us(100000), NULL);
	EXPECT(KeCancelTimer(&timer));
	EXPECT(!KeCancelTimer(&timer));
	EXPECT_EQ(KeWaitForSingleObject(&timer, Executive, KernelMode, FALSE, &timeout),
		  STATUS_TIMEOUT);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

NT_TEST(timer, that_is_due_already_is_signaled_at_once)
{
	LARGE_INTEGER past = { .QuadPart = 1 };
	KTIMER timer;

	KeInitializeTimer(&timer);
	EXPECT(!KeSetTimer(&timer, past, NULL));
	EXPECT(KeReadStateTimer(&timer));
	EXPECT_NO_REPORT();
}

NT_TEST(timer, of_synchronization_type_satisfies_one_wait_per_period)
{
	KTIMER timer;

	KeInitializeTimerEx(&timer, SynchronizationTimer);
	ULONGLONG before = KeQueryInterruptTime();
	KeSetTimerEx(&timer, nt_test_us(1000), 1, NULL);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(nt_test_wait(&timer), STATUS_SUCCESS);
	EXPECT(KeQueryInterruptTime() - before >= 30000);
	EXPECT(KeCancelTimer(&timer));
	EXPECT_NO_REPORT();
}

struct ticker {
	KTIMER timer;
	KDPC dpc;
	KSEMAPHORE ticks;
};

static VOID NTAPI tick(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
	struct ticker *ticker = context;

	(void)first;
	(void)second;
	EXPECT(dpc == &ticker->dpc);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	KeReleaseSemaphore(&ticker->ticks, 0, 1, FALSE);
}

NT_TEST(timer, with_a_period_queues_its_dpc_again_and_again)
{
	struct ticker ticker;

	KeInitializeTimer(&ticker.timer);
	KeInitializeDpc(&ticker.dpc, tick, &ticker);
	KeInitializeSemaphore(&ticker.ticks, 0, 1000000);
	KeSetTimerEx(&ticker.timer, nt_test_us(500), 1, &ticker.dpc);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(nt_test_wait(&ticker.ticks), STATUS_SUCCESS);
	EXPECT(KeCancelTimer(&ticker.timer));
	KeFlushQueuedDpcs();
	LONG ticks = KeReadStateSemaphore(&ticker.ticks);
	LARGE_INTEGER pause = nt_test_us(2500);
	KeDelayExecutionThread(KernelMode, FALSE, &pause);
	EXPECT_EQ(KeReadStateSemaphore(&ticker.ticks), ticks);
	EXPECT_NO_REPORT();
}

TEST(timer, several_are_served_in_the_order_they_are_due)
{
	SKIP_UNLESS(sim_is_on(),
		    "on a real clock this thread may be late and find two of them due");

	KTIMER timers[3];
	PVOID objects[3] = { &timers[0], &timers[1], &timers[2] };
	static const int due_us[3] = { 3000, 1000, 2000 };
	static const NTSTATUS order[3] = { STATUS_WAIT_1, STATUS_WAIT_2, STATUS_WAIT_0 };

	nt_test_begin();
	for (int i = 0; i < 3; i++)
		KeInitializeTimerEx(&timers[i], SynchronizationTimer);
	for (int i = 0; i < 3; i++)
		KeSetTimer(&timers[i], nt_test_us(due_us[i]), NULL);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(KeWaitForMultipleObjects(3, objects, WaitAny, Executive, KernelMode,
						   FALSE, NULL, NULL),
			  order[i]);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

TEST_MAIN("nt/dispatcher")
