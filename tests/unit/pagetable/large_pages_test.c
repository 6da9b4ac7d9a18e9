/* SPDX-License-Identifier: MIT */
/*
 * large_pages_test.c - entries above the leaves that are pages (LargePageSupported), of more than
 * one level.
 */
#include "world.h"

enum { RW = GPUVA_WRITE, LARGE = 2, HUGE = 8, BASE = 64, TWO_LEVELS = 9 };

static const struct shape *const two_levels = &shapes[TWO_LEVELS];

static uint64_t shown(const struct memory *memory, uint64_t offset)
{
	return memory_page(memory, offset) << PACKED_PAGE_SHIFT |
	       (uint64_t)memory->segment << PACKED_SEGMENT_SHIFT | PACKED_VALID;
}

/* The entry of the highest level that has a page there; its level, 0 when it is a leaf. */
static uint32_t level_of(struct world *world, uint64_t page)
{
	uint64_t first = page & ~(uint64_t)(HUGE - 1);

	lock_acquire(&world->tables.lock);
	const struct table *above = tables_at(&world->tables, 2, first);
	uint32_t level = 0;

	EXPECT(above);
	for (uint32_t at = 2; above && at > 0; at--) {
		uint32_t index = table_index(&world->tables, above, page);

		if (table_given(above, index) & PACKED_LARGE) {
			level = at;
			break;
		}
		above = above->below[index];
	}
	lock_release(&world->tables.lock);
	return level;
}

static struct world *begin(uint64_t memory_page_number)
{
	struct world *world = world_create(two_levels);

	memory_place(&world->memories[0], LOCAL, memory_page_number, true);
	memory_place(&world->memories[1], LOCAL, 4001, false);
	EXPECT_EQ(world_map(world, BASE, 2 * HUGE, &world->memories[0], 0, RW, 0), STATUS_SUCCESS);
	return world;
}

/* What is true changes; whoever writes it is still to come. */
static void map_only(struct world *world, uint64_t page, struct memory *memory, uint64_t offset)
{
	struct gpuva_map_request request = { .window.base = page << GPUVA_PAGE_SHIFT,
					     .owner = &memory->view.owner,
					     .offset_pages = offset,
					     .page_count = 1,
					     .protection = RW };
	struct gpuva_plan plan;

	lock_acquire(&world->tables.lock);
	EXPECT_EQ(gpuva_plan_map(&world->tables.space, &request, &plan), STATUS_SUCCESS);
	EXPECT_EQ(page_tables_make_steps_locked(&world->tables, plan.steps, 1, TABLES_NOW, NULL),
		  STATUS_SUCCESS);
	gpuva_plan_apply(&plan);
	gpuva_plan_finish(&plan);
	lock_release(&world->tables.lock);
}

#define LARGE_TEST(suite, claim, ...)                                                              \
	TEST_WITH(world, world, (__VA_ARGS__), world_destroy(world), suite, claim)

LARGE_TEST(large, one_run_of_memory_is_one_page_of_the_highest_level_that_fits, begin(1024))
{
	EXPECT_EQ(level_of(world, BASE), 2);
	EXPECT_EQ(level_of(world, BASE + HUGE), 2);
	for (uint64_t i = 0; i < 2 * HUGE; i++)
		EXPECT_EQ(world_walk_packed(world, BASE + i), shown(&world->memories[0], i));
	world_valid(world);
}

TEST(large, memory_that_begins_between_two_large_pages_has_smaller_ones)
{
	struct world *smaller = begin(1024 + LARGE);
	struct world *none = begin(1024 + 1);

	EXPECT_EQ(level_of(smaller, BASE), 1);
	EXPECT_EQ(level_of(none, BASE), 0);
	world_valid(smaller);
	world_valid(none);
	world_destroy(smaller);
	world_destroy(none);
}

LARGE_TEST(large, a_page_falls_apart_as_far_as_it_has_to_and_is_whole_again, begin(1024))
{
	EXPECT_EQ(world_map(world, BASE + 3, 1, &world->memories[1], 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(level_of(world, BASE), 1);
	EXPECT_EQ(level_of(world, BASE + 2), 0);
	EXPECT_EQ(level_of(world, BASE + 4), 1);
	EXPECT_EQ(level_of(world, BASE + HUGE), 2);
	EXPECT_EQ(world_walk_packed(world, BASE + 3), shown(&world->memories[1], 0));
	world_valid(world);
	EXPECT_EQ(world_map(world, BASE + 3, 1, &world->memories[0], 3, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(level_of(world, BASE + 3), 2);
	world_valid(world);
}

LARGE_TEST(large, memory_that_goes_and_comes_back_is_invalid_and_large_again, begin(1024))
{
	world->memories[0].is_in = false;
	world_follow(world, &world->memories[0]);
	EXPECT_EQ(world_walk_packed(world, BASE), 0);
	world_valid(world);
	memory_place(&world->memories[0], LOCAL, 2048, true);
	world_follow(world, &world->memories[0]);
	EXPECT_EQ(level_of(world, BASE), 2);
	world_valid(world);
}

/* Two changes in one page, of which one is written: the rest of it never leaves. */
LARGE_TEST(large, what_does_not_change_is_seen_all_the_time_while_a_page_falls_apart, begin(1024))
{
	struct table_sync sync;
	struct miniport_paging_op op;

	map_only(world, BASE + 1, &world->memories[1], 5);
	map_only(world, BASE + 6, &world->memories[1], 7);
	table_sync_init(&sync, &world->tables, BASE + 1, 1);
	while (table_sync_next(&sync, &op)) {
		world_execute(world, &op);
		for (uint64_t i = 0; i < 2 * HUGE; i++) {
			if (i != 1 && i != 6)
				EXPECT_EQ(world_walk_packed(world, BASE + i),
					  shown(&world->memories[0], i));
		}
	}
	EXPECT_EQ(world_walk_packed(world, BASE + 1), shown(&world->memories[1], 5));
	world_sync(world, BASE + 6, 1);
	EXPECT_EQ(world_walk_packed(world, BASE + 6), shown(&world->memories[1], 7));
	world_valid(world);
}

/* The second change comes between two operations of the first one's sync. */
TEST(large, a_change_that_comes_while_a_page_falls_apart_takes_nothing_away)
{
	for (int steps = 0; steps < 8; steps++) {
		struct world *world = begin(1024);
		struct table_sync sync;
		struct miniport_paging_op op;
		int done = 0;

		map_only(world, BASE + 1, &world->memories[1], 5);
		table_sync_init(&sync, &world->tables, BASE + 1, 1);
		if (steps == 0)
			map_only(world, BASE + 6, &world->memories[1], 7);
		while (table_sync_next(&sync, &op)) {
			world_execute(world, &op);
			if (++done == steps)
				map_only(world, BASE + 6, &world->memories[1], 7);
			for (uint64_t i = 0; i < 2 * HUGE; i++) {
				if (i != 1 && i != 6)
					EXPECT_EQ(world_walk_packed(world, BASE + i),
						  shown(&world->memories[0], i));
			}
		}
		if (done < steps)
			map_only(world, BASE + 6, &world->memories[1], 7);
		world_sync(world, BASE + 6, 1);
		world_valid(world);
		world_destroy(world);
	}
}

TEST_MAIN("pagetable/large_pages")
