/* SPDX-License-Identifier: MIT */
/*
 * history_test.c - what a row of uses leaves behind.
 */
#include "support/test.h"
#include "evict/history.h"

static void use_every(struct evict_history *history, uint64_t *now, uint64_t interval, int times)
{
	for (int i = 0; i < times; i++) {
		*now += interval;
		evict_history_use(history, *now);
	}
}

TEST(history, one_use_tells_nothing_yet)
{
	struct evict_history history = { 0 };

	evict_history_use(&history, 40);
	EXPECT_EQ(history.interval, 0);
	EXPECT_EQ(history.last_use, 40);
	EXPECT(!evict_history_is_lapsed(&history, 1000000));
}

TEST(history, the_first_use_may_be_at_any_time)
{
	struct evict_history history = { 0 };

	evict_history_use(&history, 0);
	evict_history_use(&history, 10);
	EXPECT_EQ(history.interval, 10);
}

TEST(history, regular_uses_have_an_interval_and_no_deviation)
{
	struct evict_history history = { 0 };
	uint64_t now = 0;

	use_every(&history, &now, 100, 10);
	EXPECT_EQ(history.interval, 100);
	EXPECT_EQ(history.deviation, 0);
	EXPECT_EQ(history.gap, 0);
}

TEST(history, twice_at_the_same_moment_is_once)
{
	struct evict_history history = { 0 };
	uint64_t now = 0;

	use_every(&history, &now, 100, 10);
	use_every(&history, &now, 0, 3);
	EXPECT_EQ(history.interval, 100);
	EXPECT_EQ(history.deviation, 0);
}

TEST(history, a_long_absence_is_a_gap_and_leaves_the_interval)
{
	struct evict_history history = { 0 };
	uint64_t now = 0;

	use_every(&history, &now, 100, 10);
	EXPECT(!evict_history_is_lapsed(&history, now + 110));
	EXPECT(evict_history_is_lapsed(&history, now + 120));
	use_every(&history, &now, 5000, 1);
	EXPECT_EQ(history.interval, 100);
	EXPECT_EQ(history.gap, 5000);
	use_every(&history, &now, 100, 5);
	use_every(&history, &now, 7000, 1);
	EXPECT_EQ(history.gap, 6000);
	EXPECT_EQ(history.interval, 100);
}

TEST(history, irregular_uses_are_not_missed_so_soon)
{
	struct evict_history history = { 0 };
	uint64_t now = 0;

	for (int i = 0; i < 20; i++)
		use_every(&history, &now, i % 2 ? 140 : 60, 1);
	EXPECT(history.deviation > 20);
	EXPECT(!evict_history_is_lapsed(&history, now + 200));
	EXPECT(evict_history_is_lapsed(&history, now + 1000));
	EXPECT_EQ(history.gap, 0);
}

TEST(history, the_interval_follows_a_slow_change)
{
	struct evict_history history = { 0 };
	uint64_t now = 0;

	for (uint64_t interval = 1000; interval < 2000; interval += 10)
		use_every(&history, &now, interval, 3);
	EXPECT(history.interval > 1900 && history.interval < 2000);
}

TEST(history, intervals_beyond_all_measure_are_the_longest)
{
	struct evict_history history = { 0 };

	evict_history_use(&history, 1);
	evict_history_use(&history, UINT64_C(1) << 40);
	EXPECT_EQ(history.interval, UINT32_MAX);
	EXPECT(!evict_history_is_lapsed(&history, (UINT64_C(1) << 40) + UINT32_MAX));
}

TEST_MAIN("evict/history")
