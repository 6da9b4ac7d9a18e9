/* SPDX-License-Identifier: MIT */
/*
 * ranges_test.c - ranges do not overlap, are aligned, come back whole.
 */
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "support/test.h"
#include "ranges/ranges.h"

static struct ranges space;

/* It was, with all that was wished, or there is no room for it. */
static void expect_taken(NTSTATUS status, const struct range *range, uint64_t count,
			 uint64_t alignment)
{
	EXPECT(status == STATUS_SUCCESS || status == STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(NT_SUCCESS(status), range != NULL);
	EXPECT(!ranges_validate(&space));
	if (range) {
		EXPECT_EQ(range->count, count);
		EXPECT_EQ(range->first % alignment, 0);
	}
}

static struct range *take(uint64_t count, uint64_t alignment)
{
	struct range *range = NULL;
	NTSTATUS status = ranges_take(&space, count, alignment, &range);

	expect_taken(status, range, count, alignment);
	return range;
}

static void give(struct range *range)
{
	ranges_give(&space, range);
	EXPECT(!ranges_validate(&space));
}

TEST(space, all_of_it_can_be_taken)
{
	static const uint64_t sizes[] = { 1, 2, 15, 16, 17, 31, 33, 1000, 1025, UINT64_C(1) << 40 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(ranges_init(&space, sizes[i]), STATUS_SUCCESS);
		struct range *all = take(sizes[i], 1);
		EXPECT(all);
		EXPECT_EQ(all->first, 0);
		EXPECT(!take(1, 1));
		give(all);
		EXPECT(!take(sizes[i] + 1, 1));
		EXPECT(!take(UINT64_C(1) << 62, 1));
		EXPECT(!take(1, UINT64_C(1) << 62));
		ranges_finish(&space);
	}
}

TEST(space, neighbours_join_whichever_comes_back_first)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	EXPECT_EQ(ranges_init(&space, 300), STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct range *ranges[3] = { take(100, 1), take(100, 1), take(100, 1) };

		for (int k = 0; k < 3; k++)
			give(ranges[orders[i][k]]);
		EXPECT_EQ(space.taken_units, 0);
		EXPECT_EQ(space.lowest->count, 300);
	}
	ranges_finish(&space);
}

TEST(space, what_alignment_leaves_over_is_not_lost)
{
	EXPECT_EQ(ranges_init(&space, 64), STATUS_SUCCESS);
	struct range *first = take(1, 1);
	struct range *aligned = take(16, 16);
	EXPECT_EQ(aligned->first, 16);
	struct range *between = take(15, 1);
	EXPECT_EQ(between->first, 1);
	give(first);
	give(aligned);
	give(between);
	EXPECT_EQ(space.lowest->count, 64);
	ranges_finish(&space);
}

TEST(space, the_last_hole_that_fits_is_found)
{
	EXPECT_EQ(ranges_init(&space, 1000), STATUS_SUCCESS);
	struct range *before = take(100, 1);
	struct range *hole = take(39, 1); /* between two list sizes */
	struct range *after = take(861, 1);
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
	ranges_finish(&space);
}

TEST(space, from_the_end_is_as_high_as_alignment_allows)
{
	struct range *range = NULL;
	struct range *below = NULL;

	EXPECT_EQ(ranges_init(&space, 1000), STATUS_SUCCESS);
	EXPECT_EQ(ranges_take_from_end(&space, 100, 64, &range), STATUS_SUCCESS);
	EXPECT_EQ(range->first, 896);
	EXPECT_EQ(range->count, 100);
	EXPECT(!ranges_validate(&space));
	EXPECT_EQ(ranges_take_from_end(&space, 4, 1, &below), STATUS_SUCCESS);
	EXPECT_EQ(below->first, 996);
	give(range);
	give(below);
	EXPECT_EQ(ranges_take_from_end(&space, 1001, 1, &range), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	ranges_finish(&space);
}

TEST(space, within_a_bank_means_no_unit_outside)
{
	struct range *range = NULL;
	struct range *rest = NULL;

	EXPECT_EQ(ranges_init(&space, 1000), STATUS_SUCCESS);
	EXPECT_EQ(ranges_take_within(&space, 101, 1, 400, 500, &range),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(ranges_take_within(&space, 1, 1, 500, 500, &range),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(ranges_take_within(&space, 90, 64, 400, 500, &range),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(ranges_take_within(&space, 52, 64, 400, 500, &range), STATUS_SUCCESS);
	EXPECT_EQ(range->first, 448);
	EXPECT(!ranges_validate(&space));
	EXPECT_EQ(ranges_take_within(&space, 49, 1, 400, 500, &rest),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(ranges_take_within(&space, 48, 1, 400, 500, &rest), STATUS_SUCCESS);
	EXPECT_EQ(rest->first, 400);
	give(range);
	give(rest);
	EXPECT_EQ(space.lowest->count, 1000);
	ranges_finish(&space);
}

TEST(space, a_piece_is_the_largest_there_is)
{
	struct range *piece = NULL;

	EXPECT_EQ(ranges_init(&space, 1000), STATUS_SUCCESS);
	struct range *low = take(100, 1);
	struct range *hole = take(300, 1);
	struct range *middle = take(450, 1);
	give(hole);
	EXPECT_EQ(ranges_largest_free(&space), 300);
	EXPECT_EQ(ranges_take_piece(&space, 992, 1, false, &piece), STATUS_SUCCESS);
	EXPECT_EQ(piece->first, 100);
	EXPECT_EQ(piece->count, 300);
	EXPECT_EQ(ranges_largest_free(&space), 150);
	give(piece);
	EXPECT_EQ(ranges_take_piece(&space, 32, 16, true, &piece), STATUS_SUCCESS);
	EXPECT_EQ(piece->first, 368); /* the last whole granules of 100 to 399 */
	EXPECT_EQ(piece->count, 32);
	give(piece);
	give(low);
	give(middle);
	ranges_finish(&space);
}

TEST(space, granules_that_it_cannot_hold_are_no_pieces)
{
	struct range *piece = NULL;

	EXPECT_EQ(ranges_init(&space, 40), STATUS_SUCCESS);
	EXPECT_EQ(ranges_take_piece(&space, 64, 64, false, &piece),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT(!take(1, 64));
	struct range *low = take(1, 1);
	EXPECT_EQ(ranges_take_piece(&space, 32, 32, false, &piece),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	give(low);
	EXPECT_EQ(ranges_take_piece(&space, 32, 32, false, &piece), STATUS_SUCCESS);
	give(piece);
	ranges_finish(&space);
}

TEST(space, when_nothing_is_free_the_largest_stretch_is_none)
{
	struct range *piece = NULL;

	EXPECT_EQ(ranges_init(&space, 33), STATUS_SUCCESS);
	struct range *all = take(33, 1);
	EXPECT_EQ(ranges_largest_free(&space), 0);
	EXPECT_EQ(ranges_free_units(&space), 0);
	EXPECT_EQ(ranges_take_piece(&space, 1, 1, false, &piece), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	give(all);
	ranges_finish(&space);
}

TEST(space, low_places_are_filled_before_high_ones)
{
	struct range *ranges[64];

	/* Every other one of 64 comes back; what is taken next goes to the lowest sixteenth. */
	EXPECT_EQ(ranges_init(&space, 6400), STATUS_SUCCESS);
	for (int i = 0; i < 64; i++)
		ranges[i] = take(100, 1);
	for (int i = 0; i < 64; i += 2)
		give(ranges[i]);
	for (int i = 0; i < 2; i++)
		EXPECT(take(90, 1)->first < 6400 / 8);
	ranges_finish(&space);
}

TEST(space, no_memory_is_a_status_and_changes_nothing)
{
	struct mem_usage usage = mem_usage();
	struct range *range;

	for (unsigned n = 1; n <= 2; n++) {
		mem_fail_nth(n);
		EXPECT_EQ(ranges_init(&space, 10), STATUS_NO_MEMORY);
		EXPECT(mem_fail_stop());
	}
	EXPECT_EQ(ranges_init(&space, 1000), STATUS_SUCCESS);
	take(1, 1);
	for (unsigned n = 1; n <= 2; n++) {
		mem_fail_nth(n);
		EXPECT_EQ(ranges_take(&space, 16, 16, &range), STATUS_NO_MEMORY);
		EXPECT(mem_fail_stop());
		EXPECT(!ranges_validate(&space));
		EXPECT_EQ(space.taken_units, 1);
	}
	ranges_finish(&space);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

TEST(space, within_a_stretch_the_end_of_it_can_be_asked_for)
{
	struct range *range;

	EXPECT_EQ(ranges_init(&space, 64), STATUS_SUCCESS);
	EXPECT_EQ(ranges_take_from_end_within(&space, 4, 4, 8, 30, &range), STATUS_SUCCESS);
	EXPECT_EQ(range->first, 24);
	EXPECT_EQ(ranges_take_from_end_within(&space, 4, 4, 24, 30, &range),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT(!ranges_validate(&space));
	ranges_finish(&space);
}

TEST(space, a_taken_range_becomes_two)
{
	struct mem_usage usage = mem_usage();
	struct range *range;
	struct range *rest;

	EXPECT_EQ(ranges_init(&space, 64), STATUS_SUCCESS);
	range = take(16, 1);
	mem_fail_nth(1);
	EXPECT_EQ(ranges_split(&space, range, 5, &rest), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT_EQ(range->count, 16);
	EXPECT_EQ(ranges_split(&space, range, 5, &rest), STATUS_SUCCESS);
	EXPECT_EQ(range->count, 5);
	EXPECT_EQ(rest->first, range->first + 5);
	EXPECT_EQ(rest->count, 11);
	EXPECT(!ranges_validate(&space));
	/* Each is given back on its own. */
	give(range);
	EXPECT_EQ(ranges_free_units(&space), 53);
	give(rest);
	EXPECT_EQ(ranges_largest_free(&space), 64);
	ranges_finish(&space);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

enum { UNITS = 3000 };

/* From below, from above, or from a bank [low, high). */
static struct range *take_somehow(struct random *random, uint64_t count, uint64_t alignment,
				  uint64_t *low, uint64_t *high)
{
	struct range *range = NULL;
	NTSTATUS status;

	switch (random_below(random, 3)) {
	case 0:
		return take(count, alignment);
	case 1:
		status = ranges_take_from_end(&space, count, alignment, &range);
		break;
	default:
		*low = random_below(random, UNITS / 2);
		*high = *low + 1 + random_below(random, UNITS - *low);
		if (random_below(random, 2) == 0)
			status = ranges_take_within(&space, count, alignment, *low, *high, &range);
		else
			status = ranges_take_from_end_within(&space, count, alignment, *low, *high,
							     &range);
		break;
	}
	expect_taken(status, range, count, alignment);
	return range;
}

TEST(space, random_use_agrees_with_a_plain_map)
{
	enum { LIVE = 80, STEPS = 20000 };
	static bool taken[UNITS];
	struct range *ranges[LIVE] = { 0 };
	struct random random;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		random_init(&random, seed);
		memset(taken, 0, sizeof(taken));
		EXPECT_EQ(ranges_init(&space, UNITS), STATUS_SUCCESS);
		for (int step = 0; step < STEPS; step++) {
			struct range **range = &ranges[random_below(&random, LIVE)];

			if (*range) {
				memset(taken + (*range)->first, false, (*range)->count);
				give(*range);
				*range = NULL;
				continue;
			}
			uint64_t count = 1 + random_below(&random, 100);
			uint64_t alignment = UINT64_C(1) << random_below(&random, 6);
			uint64_t low = 0;
			uint64_t high = UNITS;
			*range = take_somehow(&random, count, alignment, &low, &high);
			bool has_room = false;
			for (uint64_t first = (low + alignment - 1) / alignment * alignment;
			     first + count <= high && !has_room; first += alignment)
				has_room = !memchr(taken + first, true, count);
			if (*range) {
				EXPECT((*range)->first >= low && (*range)->first + count <= high);
				EXPECT(!memchr(taken + (*range)->first, true, count));
				memset(taken + (*range)->first, true, count);
			}
			EXPECT_EQ(*range != NULL, has_room);
		}
		ranges_finish(&space);
		memset(ranges, 0, sizeof(ranges));
	}
}

TEST_MAIN("ranges/ranges")
