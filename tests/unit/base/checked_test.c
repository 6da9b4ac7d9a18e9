/* SPDX-License-Identifier: MIT */
/*
 * checked_test.c - arithmetic that notices.
 */
#include "base/checked.h"
#include "support/test.h"

TEST(checked, sums_that_fit_are_given)
{
	uint64_t result = 7;

	EXPECT(checked_add(UINT64_MAX - 1, 1, &result));
	EXPECT_EQ(result, UINT64_MAX);
	EXPECT(checked_add(0, 0, &result));
	EXPECT_EQ(result, 0);
}

TEST(checked, a_sum_that_does_not_fit_leaves_the_result_alone)
{
	uint64_t result = 7;

	EXPECT(!checked_add(UINT64_MAX, 1, &result));
	EXPECT(!checked_add(1, UINT64_MAX, &result));
	EXPECT_EQ(result, 7);
}

TEST(checked, products)
{
	uint64_t result = 7;

	EXPECT(!checked_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &result));
	EXPECT(!checked_mul(UINT64_MAX, 2, &result));
	EXPECT_EQ(result, 7);
	EXPECT(checked_mul(UINT32_MAX, UINT32_MAX, &result));
	EXPECT_EQ(result, UINT64_C(0xfffffffe00000001));
	EXPECT(checked_mul(UINT64_MAX, 0, &result));
	EXPECT_EQ(result, 0);
}

TEST(checked, powers_of_two)
{
	EXPECT(!is_power_of_two(0));
	for (unsigned bit = 0; bit < 64; bit++) {
		EXPECT(is_power_of_two(UINT64_C(1) << bit));
		EXPECT(bit < 2 || !is_power_of_two((UINT64_C(1) << bit) - 1));
		EXPECT(bit < 1 || !is_power_of_two((UINT64_C(1) << bit) + 1));
	}
}

TEST(checked, alignment)
{
	uint64_t result = 7;

	EXPECT(is_aligned(0, 4096));
	EXPECT(is_aligned(8192, 4096));
	EXPECT(!is_aligned(8191, 4096));
	EXPECT_EQ(align_down(8191, 4096), 4096);
	EXPECT_EQ(align_down(8192, 4096), 8192);
	EXPECT(checked_align_up(1, 4096, &result));
	EXPECT_EQ(result, 4096);
	EXPECT(checked_align_up(4096, 4096, &result));
	EXPECT_EQ(result, 4096);
	EXPECT(checked_align_up(0, 4096, &result));
	EXPECT_EQ(result, 0);
	EXPECT(checked_align_up(UINT64_MAX - 4095, 4096, &result));
	EXPECT_EQ(result, UINT64_MAX - 4095);
	EXPECT(!checked_align_up(UINT64_MAX - 4094, 4096, &result));
	EXPECT_EQ(result, UINT64_MAX - 4095);
	EXPECT(checked_align_up(UINT64_MAX, 1, &result));
	EXPECT_EQ(result, UINT64_MAX);
}

TEST_MAIN("base/checked")
