/*
 * space_test.c - ranges do not overlap, are aligned, come back whole.
 */
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "support/test.h"
#include "vidmm/space.h"

static struct space space;

static struct space_range *take(uint64_t count, uint64_t alignment)
{
	struct space_range *range = NULL;
	NTSTATUS status = space_take(&space, count, alignment, &range);

	EXPECT(status == STATUS_SUCCESS || status == STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(NT_SUCCESS(status), range != NULL);
	EXPECT(!space_validate(&space));
	if (range) {
		EXPECT_EQ(range->count, count);
		EXPECT_EQ(range->first % alignment, 0);
	}
	return range;
}

static void give(struct space_range *range)
{
	space_give(&space, range);
	EXPECT(!space_validate(&space));
}

TEST(space, all_of_it_can_be_taken)
{
	static const uint64_t sizes[] = { 1, 2, 15, 16, 17, 31, 33, 1000, 1025, UINT64_C(1) << 40 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(space_init(&space, sizes[i]), STATUS_SUCCESS);
		struct space_range *all = take(sizes[i], 1);
		EXPECT(all);
		EXPECT_EQ(all->first, 0);
		EXPECT(!take(1, 1));
		give(all);
		EXPECT(!take(sizes[i] + 1, 1));
		EXPECT(!take(UINT64_C(1) << 62, 1));
		EXPECT(!take(1, UINT64_C(1) << 62));
		space_finish(&space);
	}
}

TEST(space, neighbours_join_whichever_comes_back_first)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	EXPECT_EQ(space_init(&space, 300), STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct space_range *ranges[3] = { take(100, 1), take(100, 1), take(100, 1) };

		for (int k = 0; k < 3; k++)
			give(ranges[orders[i][k]]);
		EXPECT_EQ(space.taken_units, 0);
		EXPECT_EQ(space.lowest->count, 300);
	}
	space_finish(&space);
}

TEST(space, what_alignment_leaves_over_is_not_lost)
{
	EXPECT_EQ(space_init(&space, 64), STATUS_SUCCESS);
	struct space_range *first = take(1, 1);
	struct space_range *aligned = take(16, 16);
	EXPECT_EQ(aligned->first, 16);
	struct space_range *between = take(15, 1);
	EXPECT_EQ(between->first, 1);
	give(first);
	give(aligned);
	give(between);
	EXPECT_EQ(space.lowest->count, 64);
	space_finish(&space);
}

TEST(space, the_last_hole_that_fits_is_found)
{
	EXPECT_EQ(space_init(&space, 1000), STATUS_SUCCESS);
	struct space_range *before = take(100, 1);
	struct space_range *hole = take(39, 1); /* between two list sizes */
	struct space_range *after = take(861, 1);
	uint64_t first = hole->first;
	give(hole);
	EXPECT(!take(40, 1));
	hole = take(39, 1);
	EXPECT_EQ(hole->first, first);
	give(hole);
	EXPECT(!take(36, 16)); /* no aligned 36 in [100, 139) */
	hole = take(27, 16);   /* but one from 112 to its end */
	EXPECT_EQ(hole->first, 112);
	give(hole);
	give(before);
	give(after);
	space_finish(&space);
}

TEST(space, no_memory_is_a_status_and_changes_nothing)
{
	struct mem_usage usage = mem_usage();
	struct space_range *range;

	mem_fail_nth(1);
	EXPECT_EQ(space_init(&space, 10), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT_EQ(space_init(&space, 1000), STATUS_SUCCESS);
	take(1, 1);
	for (unsigned n = 1; n <= 2; n++) {
		mem_fail_nth(n);
		EXPECT_EQ(space_take(&space, 16, 16, &range), STATUS_NO_MEMORY);
		EXPECT(mem_fail_stop());
		EXPECT(!space_validate(&space));
		EXPECT_EQ(space.taken_units, 1);
	}
	space_finish(&space);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

TEST(space, random_use_agrees_with_a_plain_map)
{
	enum { UNITS = 3000, LIVE = 80, STEPS = 20000 };
	static bool taken[UNITS];
	struct space_range *ranges[LIVE] = { 0 };
	struct random random;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		random_init(&random, seed);
		memset(taken, 0, sizeof(taken));
		EXPECT_EQ(space_init(&space, UNITS), STATUS_SUCCESS);
		for (int step = 0; step < STEPS; step++) {
			struct space_range **range = &ranges[random_below(&random, LIVE)];

			if (*range) {
				memset(taken + (*range)->first, false, (*range)->count);
				give(*range);
				*range = NULL;
				continue;
			}
			uint64_t count = 1 + random_below(&random, 100);
			uint64_t alignment = UINT64_C(1) << random_below(&random, 6);
			*range = take(count, alignment);
			bool has_room = false;
			for (uint64_t first = 0; first + count <= UNITS && !has_room;
			     first += alignment)
				has_room = !memchr(taken + first, true, count);
			if (*range) {
				EXPECT(!memchr(taken + (*range)->first, true, count));
				memset(taken + (*range)->first, true, count);
			}
			EXPECT_EQ(*range != NULL, has_room);
		}
		space_finish(&space);
		memset(ranges, 0, sizeof(ranges));
	}
}

TEST_MAIN("vidmm/space")
