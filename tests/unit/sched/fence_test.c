/* SPDX-License-Identifier: MIT */
/*
 * fence_test.c - who is released by which value, and in which order.
 */
#include "support/test.h"

#include "base/random.h"
#include "sched/fence.h"

enum { MOST = 64 };

/* Waits that note when they were released. */
struct noted {
	struct fence_wait wait;
	unsigned releases;
	unsigned order; /* from 1 */
};

static struct noted noted[MOST];
static unsigned released;
static _Atomic uint64_t memory;
static struct fence fence;

static void note(struct fence_wait *wait)
{
	struct noted *one = container_of(wait, struct noted, wait);

	one->releases++;
	one->order = ++released;
}

static void begin(uint64_t value)
{
	memset(noted, 0, sizeof(noted));
	released = 0;
	atomic_store(&memory, value);
	fence_init(&fence, &memory);
}

static bool start(unsigned index, uint64_t value)
{
	noted[index].wait.value = value;
	noted[index].wait.reached = note;
	return fence_wait_start(&fence, &noted[index].wait);
}

#define FENCE_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, fence_finish(&fence), suite, claim)

FENCE_TEST(wait, of_a_reached_value_does_not_begin, begin(5))
{
	EXPECT(!start(0, 5));
	EXPECT(!start(1, 0));
	EXPECT_EQ(released, 0);
	EXPECT(!fence_wait_cancel(&fence, &noted[0].wait));
}

FENCE_TEST(wait, is_released_once_by_the_value_or_a_larger_one, begin(0))
{
	EXPECT(start(0, 5));
	EXPECT(start(1, 5));
	EXPECT(start(2, 7));
	EXPECT(fence_signal(&fence, 4));
	EXPECT_EQ(released, 0);
	EXPECT(fence_signal(&fence, 5));
	EXPECT_EQ(released, 2);
	EXPECT(fence_signal(&fence, 5));
	EXPECT(fence_signal(&fence, 100));
	EXPECT_EQ(released, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(noted[i].releases, 1);
}

FENCE_TEST(wait, is_released_in_the_order_of_values_and_equal_ones_as_they_came, begin(0))
{
	const uint64_t values[] = { 9, 3, 7, 3, 9, 1 };
	const unsigned orders[] = { 5, 2, 4, 3, 6, 1 };

	for (unsigned i = 0; i < 6; i++)
		EXPECT(start(i, values[i]));
	EXPECT(fence_signal(&fence, 10));
	for (unsigned i = 0; i < 6; i++)
		EXPECT_EQ(noted[i].order, orders[i]);
}

FENCE_TEST(wait, that_is_cancelled_is_not_released, begin(0))
{
	EXPECT(start(0, 1));
	EXPECT(start(1, 2));
	EXPECT(fence_wait_cancel(&fence, &noted[0].wait));
	EXPECT(!fence_wait_cancel(&fence, &noted[0].wait));
	EXPECT(fence_signal(&fence, 2));
	EXPECT_EQ(noted[0].releases, 0);
	EXPECT_EQ(noted[1].releases, 1);
	EXPECT(!fence_wait_cancel(&fence, &noted[1].wait));
}

FENCE_TEST(wait, for_the_maximum_is_released_by_it, begin(0))
{
	EXPECT(start(0, FENCE_MAX));
	EXPECT(fence_signal(&fence, FENCE_MAX - 1));
	EXPECT_EQ(released, 0);
	EXPECT(fence_signal(&fence, FENCE_MAX));
	EXPECT_EQ(released, 1);
}

FENCE_TEST(signal, backwards_says_no_and_changes_nothing, begin(5))
{
	EXPECT(start(0, 6));
	EXPECT(!fence_signal(&fence, 4));
	EXPECT_EQ(fence_value(&fence), 5);
	EXPECT_EQ(released, 0);
	EXPECT(fence_wait_cancel(&fence, &noted[0].wait));
}

FENCE_TEST(rewind, makes_later_waits_wait_again, begin(2))
{
	EXPECT(!start(0, 2));
	fence_rewind(&fence, 1);
	EXPECT_EQ(fence_value(&fence), 1);
	EXPECT(start(0, 2));
	EXPECT(fence_signal(&fence, 2));
	EXPECT_EQ(noted[0].releases, 1);
}

FENCE_TEST(rewind, forward_releases_as_a_signal_does, begin(0))
{
	EXPECT(start(0, 3));
	fence_rewind(&fence, 3);
	EXPECT_EQ(noted[0].releases, 1);
}

FENCE_TEST(look, releases_what_somebody_else_has_written, begin(0))
{
	EXPECT(start(0, 3));
	EXPECT(start(1, 4));
	fence_look(&fence);
	EXPECT_EQ(released, 0);
	atomic_store(&memory, 3); /* a GPU */
	EXPECT_EQ(released, 0);
	fence_look(&fence);
	EXPECT_EQ(noted[0].releases, 1);
	EXPECT_EQ(noted[1].releases, 0);
	EXPECT(fence_wait_cancel(&fence, &noted[1].wait));
}

FENCE_TEST(end, releases_everybody_and_leaves_everything_reached, begin(1))
{
	for (unsigned i = 0; i < MOST; i++)
		EXPECT(start(i, 2 + i % 7));
	fence_end(&fence);
	EXPECT_EQ(released, MOST);
	EXPECT(fence_is_reached(&fence, FENCE_MAX));
	fence_end(&fence);
	EXPECT_EQ(released, MOST);
}

/* reached() may do with the fence what it likes: no lock is held. */
static void signal_further(struct fence_wait *wait)
{
	note(wait);
	EXPECT(fence_signal(&fence, wait->value + 1));
}

FENCE_TEST(reached, may_signal_the_same_fence, begin(0))
{
	for (unsigned i = 0; i < MOST; i++) {
		noted[i].wait = (struct fence_wait){ .value = i + 1, .reached = signal_further };
		EXPECT(fence_wait_start(&fence, &noted[i].wait));
	}
	EXPECT(fence_signal(&fence, 1));
	EXPECT_EQ(released, MOST);
	EXPECT_EQ(fence_value(&fence), MOST + 1);
}

/* Against the plainest thinkable fence: an array. */
FENCE_TEST(fence, does_what_an_array_of_values_does, begin(0))
{
	bool waits[MOST] = { false };
	struct random random;

	random_init(&random, 7);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = (unsigned)random_below(&random, MOST);
		uint64_t now = fence_value(&fence);
		uint64_t value = now + random_below(&random, 20);
		noted[i].releases = 0;
		switch (random_below(&random, 4)) {
		case 0:
			if (!waits[i])
				waits[i] = start(i, value);
			EXPECT_EQ(waits[i], noted[i].wait.value > now);
			break;
		case 1:
			EXPECT_EQ(fence_wait_cancel(&fence, &noted[i].wait), waits[i]);
			waits[i] = false;
			break;
		case 2:
			if (random_below(&random, 4) == 0) {
				fence_rewind(&fence, value / 2);
				break;
			}
			EXPECT(fence_signal(&fence, value));
			break;
		default:
			atomic_store(&memory, value);
			fence_look(&fence);
			break;
		}
		for (unsigned k = 0; k < MOST; k++) {
			bool is_due = waits[k] && noted[k].wait.value <= fence_value(&fence);
			EXPECT_EQ(noted[k].releases, is_due);
			waits[k] = waits[k] && !is_due;
			noted[k].releases = 0;
		}
	}
	fence_end(&fence);
}

TEST_MAIN("sched/fence")
