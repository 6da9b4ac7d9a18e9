/* SPDX-License-Identifier: MIT */
/*
 * tally_test.c - what is counted is told, from its first time on.
 */
#include "base/tally.h"
#include "base/thread.h"
#include "support/test.h"

static struct tally blue, red, never;
static struct tally_times calls;

struct told {
	unsigned count;
	uint64_t times;
	const struct tally_times *last;
};

static void add_up(void *context, const struct tally *tally)
{
	struct told *told = context;

	EXPECT_STR(tally->name, "balls");
	EXPECT_STR(tally->label, tally == &blue ? "blue" : "red");
	told->count++;
	told->times += atomic_load(&tally->times);
}

static void count_many(void *argument)
{
	(void)argument;
	for (int i = 0; i < 1000; i++) {
		tally_count(&blue, "balls", "blue");
		tally_count(&red, "balls", "red");
	}
}

TEST(tally, threads_count_and_each_is_told_once)
{
	struct thread *threads[4];
	struct told told = { 0 };

	tally_each(add_up, &told);
	EXPECT_EQ(told.count, 0);
	for (int i = 0; i < 4; i++)
		EXPECT(NT_SUCCESS(thread_create("count", count_many, NULL, &threads[i])));
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	tally_each(add_up, &told);
	EXPECT_EQ(told.count, 2);
	EXPECT_EQ(told.times, 8000);
	EXPECT(!atomic_load(&never.is_known));
}

static void note_times(void *context, const struct tally_times *times)
{
	struct told *told = context;

	told->count++;
	told->last = times;
}

TEST(tally, times_are_counted_by_steps)
{
	struct told told = { 0 };
	struct tally_stripe sum;

	tally_time(&calls, "call", 0, false);
	tally_time(&calls, "call", 1000, true);
	tally_time(&calls, "call", 1001, false);
	tally_time(&calls, "call", tally_step_ns(TALLY_STEPS - 1), false);
	tally_time(&calls, "call", tally_step_ns(TALLY_STEPS - 1) + 1, false);
	tally_each_time(note_times, &told);
	EXPECT_EQ(told.count, 1);
	EXPECT(told.last == &calls);
	EXPECT_STR(calls.name, "call");
	tally_sum(&calls, &sum);
	EXPECT_EQ(sum.took.counts[0], 2);
	EXPECT_EQ(sum.took.counts[1], 1);
	EXPECT_EQ(sum.took.counts[TALLY_STEPS - 1], 1);
	EXPECT_EQ(sum.took.counts[TALLY_STEPS], 1);
	EXPECT_EQ(sum.failed, 1);
	EXPECT_EQ(sum.took.sum_ns, 2001 + 2 * tally_step_ns(TALLY_STEPS - 1) + 1);
}

static void time_many(void *context)
{
	for (int i = 0; i < 2000; i++)
		tally_time(context, "shared", (uint64_t)i, i % 2 == 1);
}

TEST(tally, times_of_all_threads_are_summed)
{
	static struct tally_times shared;
	struct thread *threads[2 * TALLY_STRIPES];
	const uint64_t all = 2 * TALLY_STRIPES;
	struct tally_stripe sum;

	for (uint32_t i = 0; i < all; i++)
		EXPECT(NT_SUCCESS(thread_create("time", time_many, &shared, &threads[i])));
	for (uint32_t i = 0; i < all; i++)
		thread_join(threads[i]);
	tally_sum(&shared, &sum);
	EXPECT_EQ(sum.failed, all * 1000);
	EXPECT_EQ(sum.took.sum_ns, all * 1999 * 1000);
	EXPECT_EQ(sum.took.counts[0], all * 1001);
	EXPECT_EQ(sum.took.counts[1], all * 999);
}

TEST_MAIN("base/tally")
