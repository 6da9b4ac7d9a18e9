/* SPDX-License-Identifier: MIT */
/*
 * random_test.c - repeatable, and fair enough.
 */
#include "base/random.h"
#include "support/test.h"

TEST(random, the_same_seed_gives_the_same_numbers)
{
	struct random a, b;

	random_init(&a, 42);
	random_init(&b, 42);
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(random_next(&a), random_next(&b));
}

TEST(random, neighbouring_seeds_have_nothing_in_common)
{
	struct random a, b;
	int same = 0;

	random_init(&a, 0);
	random_init(&b, 1);
	for (int i = 0; i < 1000; i++)
		same += random_next(&a) == random_next(&b);
	EXPECT_EQ(same, 0);
}

/* splitmix64 of seed 0 begins with these (its author's reference output). */
TEST(random, the_state_is_seeded_by_splitmix64)
{
	struct random random;

	random_init(&random, 0);
	EXPECT_EQ(random.state[0], UINT64_C(0xe220a8397b1dcdaf));
	EXPECT_EQ(random.state[1], UINT64_C(0x6e789e6aa1b965f4));
	EXPECT_EQ(random.state[2], UINT64_C(0x06c45d188009454f));
	EXPECT_EQ(random.state[3], UINT64_C(0xf88bb8a8724c81ec));
}

/* First outputs of xoshiro256** from state 1, 2, 3, 4. */
TEST(random, the_generator_is_xoshiro256_starstar)
{
	struct random random = { { 1, 2, 3, 4 } };

	EXPECT_EQ(random_next(&random), 11520);
	EXPECT_EQ(random_next(&random), 0);
	EXPECT_EQ(random_next(&random), 1509978240);
	EXPECT_EQ(random_next(&random), UINT64_C(1215971899390074240));
}

TEST(random, below_stays_below_and_reaches_everything)
{
	struct random random;

	random_init(&random, 3);
	for (uint64_t bound = 1; bound <= 20; bound++) {
		unsigned counts[20] = { 0 };
		for (int i = 0; i < 2000; i++) {
			uint64_t value = random_below(&random, bound);
			EXPECT(value < bound);
			counts[value]++;
		}
		for (uint64_t i = 0; i < bound; i++) {
			EXPECT(counts[i] > 1000 / bound);
			EXPECT(counts[i] < 4000 / bound + 1);
		}
	}
	for (int i = 0; i < 100; i++)
		EXPECT(random_below(&random, UINT64_MAX) < UINT64_MAX);
}

TEST_MAIN("base/random")
