/* SPDX-License-Identifier: MIT */
/*
 * effort_test.c - what a thread has done.
 */
#include "support/test.h"

#include "base/clock.h"
#include "base/effort.h"
#include "base/thread.h"

static void work(void)
{
	for (volatile unsigned i = 0; i < 10000000; i++)
		continue;
}

TEST(effort, grows_with_what_is_done)
{
	struct effort before = effort_now();
	uint64_t clock = effort_glance_ns();

	work();
	struct effort after = effort_now();
	EXPECT_EQ(after.is_counted, before.is_counted);
	EXPECT(after.amount - before.amount > 1000000);
	EXPECT(effort_glance_ns() > clock);
}

/* A clock would say otherwise. */
TEST(effort, does_not_grow_while_the_thread_sleeps)
{
	struct effort before = effort_now();

	clock_sleep_until(clock_now_ns() + 50 * NS_PER_MS);
	EXPECT(effort_now().amount - before.amount < 40000000);
}

static void work_elsewhere(void *argument)
{
	struct effort *spent = argument;
	struct effort before = effort_now();

	work();
	spent->amount = effort_now().amount - before.amount;
}

TEST(effort, is_the_threads_own)
{
	struct effort spent = { 0 };
	struct thread *thread;

	EXPECT_EQ(thread_create("worker", work_elsewhere, &spent, &thread), STATUS_SUCCESS);
	struct effort before = effort_now();
	thread_join(thread);
	EXPECT(spent.amount > 1000000);
	EXPECT(effort_now().amount - before.amount < spent.amount);
}

TEST_MAIN("base/effort")
