/* SPDX-License-Identifier: MIT */
/*
 * page_pool_test.c - every free page can be had, in few runs, all or none.
 */
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "support/failing.h"
#include "ranges/page_pool.h"

static struct ranges space;

static struct range *take_range(uint64_t count)
{
	struct range *range = NULL;

	EXPECT_EQ(ranges_take(&space, count, 1, &range), STATUS_SUCCESS);
	return range;
}

/* 100 pages; [10k, 10k + 5) are free. */
static void begin_with_holes(struct range *kept[10])
{
	struct range *holes[10];

	EXPECT_EQ(ranges_init(&space, 100), STATUS_SUCCESS);
	for (int i = 0; i < 10; i++) {
		holes[i] = take_range(5);
		kept[i] = take_range(5);
	}
	for (int i = 0; i < 10; i++)
		ranges_give(&space, holes[i]);
}

static void end_with_holes(struct range *kept[10])
{
	for (int i = 0; i < 10; i++)
		ranges_give(&space, kept[i]);
	EXPECT_EQ(ranges_largest_free(&space), 100);
	ranges_finish(&space);
}

TEST(page_pool, one_stretch_is_one_run)
{
	struct page_set set = { .run_count = 0 };

	EXPECT_EQ(ranges_init(&space, 100), STATUS_SUCCESS);
	EXPECT_EQ(page_pool_take(&space, 60, 1, NULL, PAGE_POOL_FROM_START, &set), STATUS_SUCCESS);
	EXPECT_EQ(set.run_count, 1);
	EXPECT_EQ(page_set_runs(&set)[0].first_page, 0);
	EXPECT_EQ(page_set_runs(&set)[0].count, 60);
	page_pool_give(&space, &set);
	EXPECT_EQ(set.run_count, 0);
	EXPECT_EQ(ranges_free_units(&space), 100);
	page_pool_give(&space, &set);
	ranges_finish(&space);
}

TEST(page_pool, from_the_end_is_at_the_end)
{
	struct page_set set = { .run_count = 0 };

	EXPECT_EQ(ranges_init(&space, 100), STATUS_SUCCESS);
	EXPECT_EQ(page_pool_take(&space, 7, 1, NULL, PAGE_POOL_FROM_END, &set), STATUS_SUCCESS);
	EXPECT_EQ(page_set_runs(&set)[0].first_page, 93);
	page_pool_give(&space, &set);
	ranges_finish(&space);
}

static const uint64_t large_pages[] = { 8, 32, 0 };

static void expect_runs(const struct page_set *set, uint32_t count, const struct page_run *runs)
{
	EXPECT_EQ(set->run_count, count);
	for (uint32_t i = 0; i < count && i < set->run_count; i++) {
		EXPECT_EQ(page_set_runs(set)[i].first_page, runs[i].first_page);
		EXPECT_EQ(page_set_runs(set)[i].count, runs[i].count);
	}
}

TEST(page_pool, what_large_pages_can_show_begins_at_the_largest_it_fills)
{
	static const struct page_run none = { 3, 7 };
	static const struct page_run large = { 16, 9 };
	static const struct page_run largest = { 32, 40 };
	struct page_set sets[3] = { 0 };
	struct range *first;

	EXPECT_EQ(ranges_init(&space, 100), STATUS_SUCCESS);
	first = take_range(3);
	EXPECT_EQ(page_pool_take(&space, 7, 1, large_pages, PAGE_POOL_FROM_START, &sets[0]),
		  STATUS_SUCCESS);
	EXPECT_EQ(page_pool_take(&space, 9, 1, large_pages, PAGE_POOL_FROM_START, &sets[1]),
		  STATUS_SUCCESS);
	EXPECT_EQ(page_pool_take(&space, 40, 1, large_pages, PAGE_POOL_FROM_START, &sets[2]),
		  STATUS_SUCCESS);
	expect_runs(&sets[0], 1, &none);
	expect_runs(&sets[1], 1, &large);
	expect_runs(&sets[2], 1, &largest);
	for (int i = 0; i < 3; i++)
		page_pool_give(&space, &sets[i]);
	ranges_give(&space, first);
	ranges_finish(&space);
}

/* Free: [65, 100), and from 72 on there is not enough. */
TEST(page_pool, one_stretch_is_better_than_several_that_large_pages_can_show)
{
	static const struct page_run whole = { 65, 35 };
	struct page_set set = { 0 };
	struct range *kept;

	EXPECT_EQ(ranges_init(&space, 100), STATUS_SUCCESS);
	kept = take_range(65);
	EXPECT_EQ(page_pool_take(&space, 35, 1, large_pages, PAGE_POOL_FROM_START, &set),
		  STATUS_SUCCESS);
	expect_runs(&set, 1, &whole);
	page_pool_give(&space, &set);
	ranges_give(&space, kept);
	ranges_finish(&space);
}

TEST(page_pool, pieces_that_large_pages_can_show_come_first)
{
	struct page_set set = { 0 };
	struct range *kept[4];
	struct range *gaps[3];
	uint64_t offset = 0;

	EXPECT_EQ(ranges_init(&space, 100), STATUS_SUCCESS);
	/* Free: [1, 20), [30, 47), [53, 64). */
	kept[0] = take_range(1);
	gaps[0] = take_range(19);
	kept[1] = take_range(10);
	gaps[1] = take_range(17);
	kept[2] = take_range(6);
	gaps[2] = take_range(11);
	kept[3] = take_range(36);
	for (int i = 0; i < 3; i++)
		ranges_give(&space, gaps[i]);
	EXPECT_EQ(page_pool_take(&space, 47, 1, large_pages, PAGE_POOL_FROM_START, &set),
		  STATUS_SUCCESS);
	uint64_t shown = 0;
	for (uint32_t i = 0; i < set.run_count; i++) {
		const struct page_run *run = &page_set_runs(&set)[i];

		if (offset % 8 == 0 && run->first_page % 8 == 0)
			shown += run->count / 8;
		offset += run->count;
	}
	EXPECT_EQ(offset, 47);
	EXPECT_EQ(shown, 3); /* [8, 16), [32, 40), [56, 64) */
	page_pool_give(&space, &set);
	for (int i = 0; i < 4; i++)
		ranges_give(&space, kept[i]);
	ranges_finish(&space);
}

TEST(page_pool, every_free_page_can_be_had)
{
	struct range *kept[10];
	struct page_set set = { .run_count = 0 };

	begin_with_holes(kept);
	EXPECT_EQ(page_pool_take(&space, 51, 1, NULL, PAGE_POOL_FROM_START, &set),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(set.run_count, 0);
	EXPECT_EQ(page_pool_take(&space, 50, 1, NULL, PAGE_POOL_FROM_START, &set), STATUS_SUCCESS);
	EXPECT_EQ(set.run_count, 10);
	EXPECT_EQ(ranges_free_units(&space), 0);
	page_pool_give(&space, &set);
	end_with_holes(kept);
}

TEST(page_pool, there_are_no_more_runs_than_needed)
{
	struct range *kept[10];
	struct page_set set = { .run_count = 0 };

	begin_with_holes(kept);
	ranges_give(&space, kept[4]); /* 15 pages in one stretch from here on */
	EXPECT_EQ(page_pool_take(&space, 22, 1, NULL, PAGE_POOL_FROM_START, &set), STATUS_SUCCESS);
	EXPECT_EQ(set.run_count, 3); /* 15, 5 and 2 */
	page_pool_give(&space, &set);
	kept[4] = take_range(15);
	end_with_holes(kept);
}

TEST(page_pool, runs_are_made_of_whole_granules)
{
	struct range *first;
	struct range *second;
	struct page_set set = { .run_count = 0 };

	EXPECT_EQ(ranges_init(&space, 128), STATUS_SUCCESS);
	first = take_range(1);
	EXPECT_EQ(ranges_take_within(&space, 1, 1, 70, 71, &second), STATUS_SUCCESS);
	/* Free: 1 to 69, with 3 granules of 16, and 71 to 127, with as many. */
	EXPECT_EQ(page_pool_take(&space, 112, 16, NULL, PAGE_POOL_FROM_START, &set),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(space.taken_units, 2);
	EXPECT_EQ(page_pool_take(&space, 96, 16, NULL, PAGE_POOL_FROM_START, &set), STATUS_SUCCESS);
	EXPECT_EQ(set.run_count, 2);
	for (uint32_t i = 0; i < set.run_count; i++) {
		EXPECT_EQ(page_set_runs(&set)[i].first_page % 16, 0);
		EXPECT_EQ(page_set_runs(&set)[i].count, 48);
	}
	page_pool_give(&space, &set);
	ranges_give(&space, first);
	ranges_give(&space, second);
	ranges_finish(&space);
}

TEST(page_pool, no_memory_is_a_status_and_changes_nothing)
{
	struct mem_usage usage = mem_usage();
	struct range *kept[10];
	struct page_set set = { .run_count = 0 };

	begin_with_holes(kept);
	EACH_FAILURE (failing, 2) {
		failing_start(&failing);
		NTSTATUS status = page_pool_take(&space, 48, 1, NULL, PAGE_POOL_FROM_START, &set);
		bool has_failed = failing_stop(&failing);
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT(!ranges_validate(&space));
		EXPECT_EQ(space.taken_units, has_failed ? 50 : 98);
	}
	page_pool_give(&space, &set);
	end_with_holes(kept);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

/* A plain map of pages, and who has them. */
enum { PAGES = 2000, SETS = 40 };
static uint8_t owners[PAGES];
static struct page_set sets[SETS];

static void map_set(const struct page_set *set, uint64_t granule, uint8_t before, uint8_t after)
{
	for (uint32_t i = 0; i < set->run_count; i++) {
		struct page_run run = page_set_runs(set)[i];

		EXPECT_EQ(run.first_page % granule, 0);
		EXPECT_EQ(run.count % granule, 0);
		for (uint32_t page = run.first_page; page < run.first_page + run.count; page++) {
			EXPECT_EQ(owners[page], before);
			owners[page] = after;
		}
	}
}

static uint64_t free_pages(uint64_t granule)
{
	uint64_t count = 0;

	for (uint64_t page = 0; page + granule <= PAGES; page += granule) {
		static const uint8_t none[16];

		if (memcmp(owners + page, none, granule) == 0)
			count += granule;
	}
	return count;
}

/* Somebody who needs pages in one piece, in between. */
static void exchange_range(struct range **range)
{
	enum { SOMEBODY = 255 };

	if (*range) {
		memset(owners + (*range)->first, 0, (*range)->count);
		ranges_give(&space, *range);
		*range = NULL;
	} else if (NT_SUCCESS(ranges_take(&space, 20, 4, range))) {
		for (uint64_t i = 0; i < 20; i++)
			EXPECT_EQ(owners[(*range)->first + i], 0);
		memset(owners + (*range)->first, SOMEBODY, 20);
	} else {
		*range = NULL;
	}
}

TEST(page_pool, random_use_agrees_with_a_plain_map)
{
	struct range *range = NULL;
	struct random random;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		random_init(&random, seed);
		EXPECT_EQ(ranges_init(&space, PAGES), STATUS_SUCCESS);
		for (int step = 0; step < 6000; step++) {
			unsigned at = (unsigned)random_below(&random, SETS);
			uint64_t granule = random_below(&random, 2) ? 16 : 1;
			uint64_t count = (1 + random_below(&random, 200 / granule)) * granule;

			if (sets[at].run_count) {
				map_set(&sets[at], 1, (uint8_t)(at + 1), 0);
				page_pool_give(&space, &sets[at]);
			} else {
				bool has_room = free_pages(granule) >= count;

				EXPECT_EQ(page_pool_take(&space, count, granule, NULL,
							 random_below(&random, 2), &sets[at]),
					  has_room ? STATUS_SUCCESS
						   : STATUS_GRAPHICS_NO_VIDEO_MEMORY);
				map_set(&sets[at], granule, 0, (uint8_t)(at + 1));
			}
			exchange_range(&range);
			EXPECT(!ranges_validate(&space));
		}
		if (range)
			exchange_range(&range);
		for (int i = 0; i < SETS; i++) {
			map_set(&sets[i], 1, (uint8_t)(i + 1), 0);
			page_pool_give(&space, &sets[i]);
		}
		EXPECT_EQ(ranges_largest_free(&space), PAGES);
		ranges_finish(&space);
	}
}

TEST_MAIN("ranges/page_pool")
