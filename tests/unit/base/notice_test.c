/* SPDX-License-Identifier: MIT */
/*
 * notice_test.c - a notice given between the look and the wait is not slept through.
 */
#include "base/clock.h"
#include "base/notice.h"
#include "support/test.h"
#include "child.h"

TEST(notice, one_given_after_the_look_ends_the_wait_at_once)
{
	struct notice notice = { 0 };
	uint32_t seen = notice_read(&notice);

	notice_give(&notice);
	EXPECT_EQ(notice_wait(&notice, seen, CLOCK_FOREVER), THREAD_WOKEN);
	EXPECT_EQ(notice_wait(&notice, notice_read(&notice), clock_now_ns()), THREAD_TIMED_OUT);
}

TEST(notice, whoever_looks_again_behind_one_sees_no_other)
{
	struct notice notice = { 0 };
	uint32_t seen = notice_read(&notice);

	EXPECT_EQ(notice_wait(&notice, seen, clock_now_ns()), THREAD_TIMED_OUT);
	EXPECT_EQ(notice_read(&notice), seen);
	EXPECT_EQ(notice_give_to_one(&notice), notice_read(&notice));
	EXPECT(notice_read(&notice) != seen);
	seen = notice_read(&notice);
	notice_give(&notice);
	EXPECT(notice_read(&notice) != seen);
}

enum { READERS = 3, VALUES = 30 };

static struct notice changed;
static _Atomic uint32_t value;

static void read_until_the_end(void *argument)
{
	(void)argument;
	for (;;) {
		uint32_t seen = notice_read(&changed);
		if (value == VALUES)
			return;
		notice_wait(&changed, seen, CLOCK_FOREVER);
	}
}

static void everybody_sees_the_end(void)
{
	struct thread *threads[READERS];

	value = 0;
	for (int i = 0; i < READERS; i++) {
		if (!NT_SUCCESS(thread_create("reader", read_until_the_end, NULL, &threads[i])))
			abort();
	}
	for (int i = 0; i < VALUES; i++) {
		value++;
		notice_give(&changed);
	}
	for (int i = 0; i < READERS; i++)
		thread_join(threads[i]);
}

TEST(notice, wakes_everybody_who_waits)
{
	for (int i = 0; i < 50; i++)
		everybody_sees_the_end();
}

static _Atomic uint32_t left;

static void take_one(void *argument)
{
	(void)argument;
	for (;;) {
		uint32_t seen = notice_read(&changed);
		uint32_t there = atomic_load(&left);

		while (there > 0) {
			if (atomic_compare_exchange_weak(&left, &there, there - 1))
				return;
		}
		notice_wait(&changed, seen, CLOCK_FOREVER);
	}
}

static void each_wakes_one(void)
{
	struct thread *threads[READERS];

	atomic_store(&left, 0);
	for (int i = 0; i < READERS; i++) {
		if (!NT_SUCCESS(thread_create("taker", take_one, NULL, &threads[i])))
			abort();
	}
	for (int i = 0; i < READERS; i++) {
		atomic_fetch_add(&left, 1);
		(void)notice_give_to_one(&changed);
	}
	for (int i = 0; i < READERS; i++)
		thread_join(threads[i]);
}

TEST(notice, given_as_often_as_somebody_waits_wakes_all_of_them)
{
	for (int i = 0; i < 200; i++)
		each_wakes_one();
	for (uint64_t seed = 0; seed < 50; seed++)
		EXPECT_SEEDED_OK(seed, each_wakes_one);
}

TEST(notice, wakes_everybody_whatever_the_seed)
{
	for (uint64_t seed = 0; seed < 50; seed++)
		EXPECT_SEEDED_OK(seed, everybody_sees_the_end);
}

TEST_MAIN("base/notice")
