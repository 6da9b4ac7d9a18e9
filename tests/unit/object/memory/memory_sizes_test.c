/* SPDX-License-Identifier: MIT */
/*
 * memory_sizes_test.c - the published formulas (calculating-graphics-memory), with numbers.
 */
#include "support/test.h"

#include "object/memory/memory_sizes.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static struct miniport_segment memory(uint64_t size_bytes)
{
	return (struct miniport_segment){ .size_bytes = size_bytes,
					  .commit_limit_bytes = size_bytes,
					  .is_local = true,
					  .is_budgeted = true };
}

static struct miniport_segment aperture(uint64_t commit_limit_bytes)
{
	return (struct miniport_segment){ .is_aperture = true,
					  .is_budgeted = true,
					  .size_bytes = 4 * GIB,
					  .commit_limit_bytes = commit_limit_bytes };
}

TEST(memory_sizes, a_discrete_adapter_has_its_own_memory_and_shares_through_the_aperture)
{
	struct miniport_info info = { .segment_count = 2, .counted_segment_count = 2 };
	struct memory_sizes sizes;

	info.segments[0] = memory(256 * MIB);
	info.segments[1] = aperture(1 * GIB);
	memory_sizes_compute(&info, 16 * GIB, &sizes);
	EXPECT_EQ(sizes.dedicated_video_bytes, 256 * MIB);
	EXPECT_EQ(sizes.dedicated_system_bytes, 0);
	EXPECT_EQ(sizes.shared_system_bytes, 1 * GIB);
	EXPECT_EQ(sizes.local_bytes, 256 * MIB);
	EXPECT_EQ(sizes.non_local_bytes, 1 * GIB);
	EXPECT_EQ(sizes.non_budget_bytes, 0);
}

TEST(memory_sizes, shared_memory_is_at_most_half_the_ram_less_what_is_dedicated)
{
	struct miniport_info info = { .segment_count = 2, .counted_segment_count = 2 };
	struct memory_sizes sizes;

	info.segments[0] = memory(1 * GIB);
	info.segments[0].is_populated_from_system_memory = true;
	info.segments[1] = aperture(64 * GIB);
	memory_sizes_compute(&info, 8 * GIB, &sizes);
	EXPECT_EQ(sizes.dedicated_video_bytes, 0);
	EXPECT_EQ(sizes.dedicated_system_bytes, 1 * GIB);
	EXPECT_EQ(sizes.shared_system_bytes, 3 * GIB);
}

TEST(memory_sizes, a_small_machine_still_gives_64_mib_to_graphics)
{
	struct miniport_info info = { .segment_count = 1, .counted_segment_count = 1 };
	struct memory_sizes sizes;

	info.segments[0] = aperture(1 * GIB);
	memory_sizes_compute(&info, 32 * MIB, &sizes);
	EXPECT_EQ(sizes.shared_system_bytes, 64 * MIB);
}

TEST(memory_sizes, the_drivers_own_commit_limit_holds_over_all_apertures)
{
	struct miniport_info info = { .segment_count = 2,
				      .counted_segment_count = 2,
				      .aperture_commit_limit_bytes = 300 * MIB };
	struct memory_sizes sizes;

	info.segments[0] = aperture(200 * MIB);
	info.segments[1] = aperture(200 * MIB);
	memory_sizes_compute(&info, 16 * GIB, &sizes);
	EXPECT_EQ(sizes.shared_system_bytes, 300 * MIB);
}

TEST(memory_sizes, segments_that_are_not_for_applications_are_in_no_budget)
{
	struct miniport_info info = { .segment_count = 2, .counted_segment_count = 2 };
	struct memory_sizes sizes;

	info.segments[0] = memory(256 * MIB);
	info.segments[1] = memory(64 * MIB);
	info.segments[1].is_budgeted = false;
	memory_sizes_compute(&info, 16 * GIB, &sizes);
	EXPECT_EQ(sizes.local_bytes, 256 * MIB);
	EXPECT_EQ(sizes.non_budget_bytes, 64 * MIB);
	EXPECT_EQ(sizes.dedicated_video_bytes, 320 * MIB);
}

TEST(memory_sizes, system_memory_without_an_aperture_counts_by_itself)
{
	struct miniport_info info = { .segment_count = 1, .counted_segment_count = 2 };
	struct memory_sizes sizes;

	info.segments[0] = memory(256 * MIB);
	info.segments[1] = memory(16 * GIB);
	info.segments[1].commit_limit_bytes = 8 * GIB;
	info.segments[1].is_implicit_system = true;
	info.segments[1].is_local = false;
	info.segments[1].is_populated_from_system_memory = true;
	memory_sizes_compute(&info, 16 * GIB, &sizes);
	EXPECT_EQ(sizes.dedicated_video_bytes, 256 * MIB);
	EXPECT_EQ(sizes.dedicated_system_bytes, 0);
	EXPECT_EQ(sizes.shared_system_bytes, 8 * GIB);
	EXPECT_EQ(sizes.local_bytes, 256 * MIB);
	EXPECT_EQ(sizes.non_local_bytes, 8 * GIB);
}

TEST(memory_sizes, what_is_local_is_never_more_than_the_machine_shares)
{
	struct miniport_info info = { .segment_count = 1, .counted_segment_count = 2 };
	struct memory_sizes sizes;

	info.segments[0] = aperture(16 * MIB);
	info.segments[0].is_local = true;
	info.segments[1] = memory(4 * GIB);
	info.segments[1].commit_limit_bytes = 2 * GIB;
	info.segments[1].is_implicit_system = true;
	memory_sizes_compute(&info, 4 * GIB, &sizes);
	EXPECT_EQ(sizes.shared_system_bytes, 2 * GIB);
	EXPECT_EQ(sizes.local_bytes, 2 * GIB);
	EXPECT_EQ(sizes.non_local_bytes, 0);
}

TEST_MAIN("object/memory_sizes")
