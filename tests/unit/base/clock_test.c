/* SPDX-License-Identifier: MIT */
/*
 * clock_test.c - time, real and virtual.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "support/test.h"
#include "child.h"

TEST(clock, never_goes_back)
{
	uint64_t last_ns = clock_now_ns();

	for (int i = 0; i < 10000; i++) {
		uint64_t now_ns = i % 2 ? clock_now_ns() : clock_peek_ns();
		EXPECT(now_ns >= last_ns);
		last_ns = now_ns;
	}
}

TEST(clock, deadlines_saturate)
{
	EXPECT_EQ(clock_deadline(CLOCK_FOREVER), CLOCK_FOREVER);
	EXPECT_EQ(clock_deadline(CLOCK_FOREVER - 1), CLOCK_FOREVER);
	uint64_t now_ns = clock_now_ns();
	EXPECT(clock_deadline(0) >= now_ns);
	EXPECT(clock_deadline(NS_PER_S) >= now_ns + NS_PER_S);
}

TEST(clock, a_deadline_that_has_passed_is_not_slept_for)
{
	clock_sleep_until(0);
	clock_sleep_until(clock_now_ns());
}

TEST(clock, the_wall_shows_this_century)
{
	EXPECT(clock_wall_ns() > UINT64_C(1600000000) * NS_PER_S);
}

/* Whatever moments are made of: what lies between two of them is what the clock says. */
static void expect_moments_agree(void)
{
	uint64_t before_ns = clock_peek_ns();
	uint64_t from = clock_moment();
	uint64_t inner_ns = clock_peek_ns();
	clock_sleep_until(clock_deadline(20 * NS_PER_MS));
	uint64_t slept_ns = clock_peek_ns() - inner_ns;
	uint64_t to = clock_moment();
	uint64_t most_ns = clock_peek_ns() - before_ns;

	EXPECT(clock_between_ns(from, to) >= slept_ns - slept_ns / 100);
	EXPECT(clock_between_ns(from, to) <= most_ns + most_ns / 100);
	EXPECT_EQ(clock_between_ns(from, from), 0);
}

TEST(clock, moments_are_as_far_apart_as_the_clock_says)
{
	expect_moments_agree(); /* nobody knows how fast ticks are */
	clock_learn_ticks();
	clock_sleep_until(clock_deadline(20 * NS_PER_MS));
	clock_learn_ticks();
	EXPECT(clock_ns_per_tick != 0 || !clock_has_ticks());
	expect_moments_agree();
}

TEST(clock, a_moment_before_another_is_not_far_behind_it)
{
	EXPECT_EQ(clock_between_ns(clock_moment(), 0), 0);
}

static void sleep_an_hour(void)
{
	uint64_t wall_ns = clock_wall_ns();
	uint64_t start_ns = clock_now_ns();

	clock_sleep_until(clock_deadline(3600 * NS_PER_S));
	CHILD_EXPECT(clock_now_ns() - start_ns >= 3600 * NS_PER_S);
	CHILD_EXPECT(clock_wall_ns() - wall_ns >= 3600 * NS_PER_S);
}

TEST(clock, sleeping_an_hour_costs_nothing_in_a_seeded_run)
{
	uint64_t start_ns = clock_now_ns();

	EXPECT_SEEDED_OK(1, sleep_an_hour);
	EXPECT(clock_now_ns() - start_ns < 60 * NS_PER_S);
}

static char order[8];

static void sleep_ms(void *argument)
{
	clock_sleep_until(NS_PER_S * (2 + (uintptr_t)argument));
	order[strlen(order)] = (char)('0' + (uintptr_t)argument);
}

static void sleepers_wake_in_order(void)
{
	static const uintptr_t delays[] = { 3, 1, 4, 2 };
	struct thread *threads[4];

	for (int i = 0; i < 4; i++)
		CHILD_EXPECT(NT_SUCCESS(
			thread_create("sleeper", sleep_ms, (void *)delays[i], &threads[i])));
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	CHILD_EXPECT(strcmp(order, "1234") == 0);
}

TEST(clock, virtual_sleepers_wake_in_the_order_of_their_deadlines)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, sleepers_wake_in_order);
}

static void look_and_look_again(void)
{
	uint64_t now_ns = clock_now_ns();

	CHILD_EXPECT(clock_peek_ns() > now_ns); /* asking was a step */
	CHILD_EXPECT(clock_peek_ns() == clock_peek_ns());
	/* A loop that waits for the clock ends. */
	uint64_t until_ns = clock_deadline(NS_PER_US * 50);
	while (clock_now_ns() < until_ns)
		;
}

TEST(clock, peeking_does_not_move_virtual_time)
{
	EXPECT_SEEDED_OK(1, look_and_look_again);
}

static void print_wall(void)
{
	printf("%llu", (unsigned long long)clock_wall_ns());
}

TEST(clock, the_virtual_wall_always_starts_at_the_same_moment)
{
	struct child_result first, second;

	child_run_seeded(&first, 1, print_wall);
	child_run_seeded(&second, 1, print_wall);
	EXPECT_STR(first.out, second.out);
	EXPECT(strlen(first.out) == 19);
}

TEST_MAIN("base/clock")
