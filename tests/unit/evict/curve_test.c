/* SPDX-License-Identifier: MIT */
/*
 * curve_test.c - what is learned from those that came back, and from those that did not.
 */
#include "support/test.h"
#include "evict/curve.h"

static struct curve curve;

TEST(curve, bins_follow_one_another_without_gaps)
{
	static const struct curve_shape *const shapes[] = { &curve_of_ages, &curve_of_eighths,
							    &curve_of_sixteenths };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		unsigned bin = 0;

		EXPECT_EQ(curve_bin(shapes[i], 0), 0);
		for (uint64_t quiet = 0; quiet < UINT64_C(1) << 27; quiet += 1 + quiet / 64) {
			EXPECT(curve_bin(shapes[i], quiet) == bin ||
			       curve_bin(shapes[i], quiet) == bin + 1);
			bin = curve_bin(shapes[i], quiet);
		}
		EXPECT_EQ(bin, CURVE_BINS - 1);
		EXPECT_EQ(curve_bin(shapes[i], UINT64_MAX), CURVE_BINS - 1);
	}
}

TEST(curve, a_bin_begins_where_the_one_before_it_ends)
{
	curve_init(&curve, &curve_of_eighths);
	for (unsigned bin = 1; bin < CURVE_BINS; bin++) {
		uint64_t start = (uint64_t)curve.starts[bin] + 1;

		EXPECT_EQ(curve_bin(curve.shape, start), bin);
		EXPECT_EQ(curve_bin(curve.shape, start - 2), bin - 1);
	}
}

/* Where nothing is known the wait is in proportion to the age: as long again. */
TEST(curve, without_knowledge_what_was_quiet_for_long_stays_so_for_long)
{
	curve_init(&curve, &curve_of_ages);
	for (uint64_t age = 512; age < UINT64_C(1) << 20; age *= 2) {
		float doubled = curve_wait(&curve, 2 * age) / curve_wait(&curve, age);

		EXPECT(doubled > 1.9F && doubled < 2.1F);
	}
	EXPECT(curve_wait(&curve, 0) <= curve_wait(&curve, 300));
}

/* …, and in the mean time from any age where uses come at any time. */
TEST(curve, without_knowledge_uses_at_any_time_have_no_memory)
{
	curve_init(&curve, &curve_of_eighths);
	for (uint64_t quiet = 0; quiet < 8 * 256; quiet += 64) {
		float wait = curve_wait(&curve, quiet);

		EXPECT(wait > 200 && wait < 700);
	}
}

static void live(unsigned returns_in, unsigned count, unsigned returning)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned last = i < returning ? returns_in : CURVE_BINS - 1;

		for (unsigned bin = 0; bin <= last; bin++)
			curve_enter(&curve, bin);
		if (i < returning)
			curve_return(&curve, last);
	}
}

TEST(curve, who_always_comes_back_at_one_time_is_worth_most_just_before)
{
	unsigned bin = curve_bin(&curve_of_ages, 5000);

	curve_init(&curve, &curve_of_ages);
	live(bin, 400, 400);
	curve_learn(&curve);
	EXPECT(curve_wait(&curve, 300) > curve_wait(&curve, 2000));
	EXPECT(curve_wait(&curve, 2000) > curve_wait(&curve, 4500));
	/* It did not come: nobody ever came later. */
	EXPECT(curve_wait(&curve, 20000) > 3 * curve_wait(&curve, 4500));
}

TEST(curve, who_never_comes_back_is_not_waited_for)
{
	float before;

	curve_init(&curve, &curve_of_ages);
	before = curve_wait(&curve, 1000);
	live(0, 400, 0);
	curve_learn(&curve);
	EXPECT(curve_wait(&curve, 1000) > 10 * before);
}

TEST(curve, what_was_learned_fades)
{
	float learned;

	curve_init(&curve, &curve_of_ages);
	live(0, 400, 0);
	curve_learn(&curve);
	learned = curve_wait(&curve, 1000);
	for (int i = 0; i < 60; i++)
		curve_learn(&curve);
	EXPECT(curve_wait(&curve, 1000) < learned / 2);
}

TEST_MAIN("evict/curve")
