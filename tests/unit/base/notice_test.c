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

TEST(notice, wakes_everybody_whatever_the_seed)
{
	for (uint64_t seed = 0; seed < 50; seed++)
		EXPECT_SEEDED_OK(seed, everybody_sees_the_end);
}

TEST_MAIN("base/notice")
