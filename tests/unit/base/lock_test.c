/* SPDX-License-Identifier: MIT */
/*
 * lock_test.c - who may be inside, who waits, and in which order locks are taken.
 */
#include "base/clock.h"
#include "base/gate.h"
#include "base/lock.h"
#include "base/thread.h"
#include "support/test.h"
#include "child.h"

enum { THREADS = 4, ROUNDS = 10000 };

struct counted {
	struct lock lock;
	uint64_t value; /* plain: only the lock keeps it right */
};

static void count_up(void *argument)
{
	struct counted *counted = argument;

	for (int i = 0; i < ROUNDS; i++) {
		lock_acquire(&counted->lock);
		counted->value++;
		lock_release(&counted->lock);
	}
}

static void count_up_by_trying(void *argument)
{
	struct counted *counted = argument;

	for (int i = 0; i < ROUNDS;) {
		if (!lock_try_acquire(&counted->lock))
			continue;
		counted->value++;
		lock_release(&counted->lock);
		i++;
	}
}

static uint64_t count_with_threads(void (*run)(void *argument))
{
	struct counted counted = { 0 };
	struct thread *threads[THREADS];

	lock_init(&counted.lock, LOCK_RANK_DEVICE, "counted");
	for (int i = 0; i < THREADS; i++) {
		if (!NT_SUCCESS(thread_create("count", run, &counted, &threads[i])))
			abort(); /* not EXPECT: this also runs in children */
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	lock_finish(&counted.lock);
	return counted.value;
}

TEST(lock, one_thread_at_a_time)
{
	EXPECT_EQ(count_with_threads(count_up), THREADS * ROUNDS);
}

TEST(lock, one_thread_at_a_time_also_by_trying)
{
	EXPECT_EQ(count_with_threads(count_up_by_trying), THREADS * ROUNDS);
}

static struct lock tried = LOCK_INITIALIZER(LOCK_RANK_DEVICE, "tried");

static void try_it(void *argument)
{
	*(bool *)argument = lock_try_acquire(&tried);
	if (*(bool *)argument)
		lock_release(&tried);
}

static bool another_thread_gets_it(void)
{
	struct thread *thread;
	bool got = false;

	EXPECT(NT_SUCCESS(thread_create("try", try_it, &got, &thread)));
	thread_join(thread);
	return got;
}

TEST(lock, trying_takes_a_free_lock_only)
{
	EXPECT(another_thread_gets_it());
	lock_acquire(&tried);
	EXPECT(!another_thread_gets_it());
	lock_release(&tried);
	EXPECT(another_thread_gets_it());
}

/* ---- order ---- */

#ifndef NDEBUG

static struct gate gate = GATE_INITIALIZER(LOCK_RANK_ADAPTER, "the gate");
static struct lock outer = LOCK_INITIALIZER(LOCK_RANK_DEVICE, "the outer one");
static struct lock inner = LOCK_INITIALIZER(LOCK_RANK_SEGMENT, "the inner one");
static struct lock innermost = LOCK_INITIALIZER(LOCK_RANK_LEAF, "the innermost");

static void against_the_order(void *argument)
{
	(void)argument;
	lock_acquire(&inner);
	lock_acquire(&outer);
}

static void twice(void *argument)
{
	(void)argument;
	lock_acquire(&inner);
	lock_acquire(&inner);
}

static void try_against_the_order(void *argument)
{
	(void)argument;
	lock_acquire(&inner);
	if (lock_try_acquire(&outer))
		_exit(0);
}

TEST(lock, a_step_against_the_order_stops_and_names_both)
{
	static void (*const steps[])(void *) = { against_the_order, try_against_the_order };

	for (size_t i = 0; i < 2; i++) {
		struct child_result result;
		child_run(&result, steps[i], NULL);
		EXPECT_EQ(result.signal, SIGABRT);
		EXPECT_CONTAINS(result.err, "\"the outer one\"");
		EXPECT_CONTAINS(result.err, "\"the inner one\"");
	}
}

TEST(lock, taking_one_twice_stops)
{
	struct child_result result;

	child_run(&result, twice, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	EXPECT_CONTAINS(result.err, "\"the inner one\"");
}

TEST(lock, is_released_in_any_order)
{
	gate_enter(&gate);
	lock_acquire(&outer);
	lock_acquire(&inner);
	lock_release(&outer);
	lock_acquire(&innermost);
	gate_leave(&gate);
	lock_release(&inner);
	lock_release(&innermost);
	/* Nothing of it is remembered. */
	lock_acquire(&outer);
	lock_assert_held(&outer);
	lock_release(&outer);
}

static void assert_held(void *argument)
{
	(void)argument;
	lock_assert_held(&outer);
}

static void strangers_under_a_lock(void *argument)
{
	(void)argument;
	lock_acquire(&outer);
	lock_assert_none_held("DxgkDdiStartDevice");
}

TEST(lock, assertions_notice_what_is_held_and_what_is_not)
{
	struct child_result result;

	child_run(&result, assert_held, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	child_run(&result, strangers_under_a_lock, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	EXPECT_CONTAINS(result.err, "\"the outer one\"");
	EXPECT_CONTAINS(result.err, "DxgkDdiStartDevice");

	gate_enter(&gate);
	gate_assert_held(&gate);
	lock_assert_none_held("the adapter gate is no obstacle");
	gate_leave(&gate);
}

#endif

TEST_MAIN("base/lock")
