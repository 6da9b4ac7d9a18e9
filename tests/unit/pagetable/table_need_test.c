/* SPDX-License-Identifier: MIT */
/*
 * table_need_test.c - tables are counted before they are made: exactly, at no cost, and what has no
 * room is refused with nothing taken for it.
 */
#include "base/mem.h"
#include "base/random.h"
#include "base/refusal.h"
#include "gpuva/plan.h"
#include "world.h"
#include "pagetable/table_tree.h"

/* What the segment is said to have; who counts gets it from the first request that is too much. */
static uint64_t said_left;

static uint64_t say_left(void *memory, const struct vidmm_process *process, uint32_t segment,
			 bool is_ever)
{
	(void)memory;
	(void)process;
	(void)segment;
	(void)is_ever;
	return said_left;
}

static NTSTATUS make_steps(struct world *world, const struct gpuva_step *steps, size_t count,
			   enum table_time time, struct table_block_wants *wants)
{
	lock_acquire(&world->tables.lock);
	NTSTATUS status = page_tables_make_steps_locked(&world->tables, steps, count, time, wants);
	lock_release(&world->tables.lock);
	return status;
}

static uint64_t all_of(const struct table_need *need)
{
	uint64_t count = need->wide_count;

	for (uint32_t level = 0; level < GPUVA_MAX_LEVELS; level++)
		count += need->count[level];
	return count;
}

/* All addresses of 57 bits: 2^36 leaves. */
TEST(table_need, all_addresses_there_are_cost_nothing_to_count)
{
	for (int s = 0; s < ALL_SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		const struct gpuva_shape *shape = &world->config.shape;
		struct table_block_wants wants = { 0 };
		struct gpuva_step step = { .first_page = 1, .state.kind = GPUVA_KIND_MAPPED };
		uint64_t leaves;
		NTSTATUS status;

		step.page_count = world->tables.end_page - 1;
		leaves = (world->tables.end_page + gpuva_shape_table_pages(shape, 0) - 1) /
			 gpuva_shape_table_pages(shape, 0);
		world->config.room_left = say_left;
		said_left = 0;
		if (leaves < (UINT64_C(1) << 20) && shapes[s].segments[0] != LOCAL) {
			world_destroy(world); /* system memory has room for that */
			continue;
		}
		mem_fail_nth(1);
		status = make_steps(world, &step, 1, TABLES_NOW, &wants);
		EXPECT(!mem_fail_stop());
		if (shapes[s].segments[0] == LOCAL) {
			EXPECT_EQ(status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
			EXPECT_EQ(wants.need.count[0], leaves);
			EXPECT_EQ(wants.need.wide_count, shapes[s].leaf_64k_bytes ? leaves : 0);
		} else {
			EXPECT_EQ(status, STATUS_NO_MEMORY);
		}
		world_valid(world);
		world_destroy(world);
	}
}

TEST(table_need, zeroes_and_nothing_are_a_table_of_each_level_at_most)
{
	for (int s = 0; s < ALL_SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		uint64_t before = world->tables.table_count;
		struct gpuva_step step = { .state.kind = GPUVA_KIND_ZERO };

		step.page_count = world->tables.end_page;
		EXPECT_EQ(make_steps(world, &step, 1, TABLES_LATER, NULL), STATUS_SUCCESS);
		EXPECT_EQ(world->tables.table_count, before + shapes[s].level_count - 1);
		before = world->tables.table_count;
		step.state.kind = GPUVA_KIND_NO_ACCESS;
		EXPECT_EQ(make_steps(world, &step, 1, TABLES_LATER, NULL), STATUS_SUCCESS);
		EXPECT_EQ(world->tables.table_count, before);
		world_destroy(world);
	}
}

enum { STEPS = 5, ROUNDS = 48, ROUNDS_OF_A_WORLD = 16 };

/* Ascending, some of them neighbours, mostly where something is. */
static size_t choose_steps(struct world *world, struct random *random, struct gpuva_step steps[])
{
	static const enum gpuva_kind kinds[] = { GPUVA_KIND_FREE, GPUVA_KIND_NO_ACCESS,
						 GPUVA_KIND_ZERO, GPUVA_KIND_MAPPED };
	const struct gpuva_shape *shape = &world->config.shape;
	uint64_t leaf = gpuva_shape_table_pages(shape, 0);
	uint64_t window = world->windows[random_below(random, WINDOWS)];
	uint64_t page = random_below(random, world->tables.end_page);
	size_t count = 0;

	if (random_below(random, 3) > 0)
		page = window - random_below(random, window < leaf ? window : leaf);

	while (count < STEPS) {
		struct gpuva_step *step = &steps[count];
		uint64_t most = leaf * (1 + random_below(random, 12));

		*step = (struct gpuva_step){
			.first_page = page,
			.page_count = 1 + random_below(random, most),
			.state.kind = kinds[random_below(random, 4)],
		};
		/* What needs no tables of its own may be long. */
		if (step->state.kind != GPUVA_KIND_MAPPED && random_below(random, 2) == 0)
			step->page_count <<= random_below(random, 12);
		if (step->state.kind == GPUVA_KIND_ZERO && random_below(random, 8) == 0)
			step->state.driver_protection = random_below(random, 2);
		if (step->state.driver_protection != 0 && step->page_count > most)
			step->page_count = most;
		if (page >= world->tables.end_page ||
		    step->page_count > world->tables.end_page - page)
			break;
		page += step->page_count +
			(random_below(random, 3) == 0 ? random_below(random, 3 * leaf) : 0);
		count++;
	}
	return count;
}

/* What is there is part of it: some addresses show zeroes, some memory. */
static void furnish(struct world *world, struct random *random)
{
	/* Nearly all addresses: then tables are made in the midst of zeroes. */
	if (random_below(random, 2) == 0) {
		uint64_t first = 16 * (1 + random_below(random, 40));

		if (first + 16 < world->tables.end_page)
			EXPECT_EQ(world_reserve(world, first, world->tables.end_page - first - 16,
						true, 0),
				  STATUS_SUCCESS);
		return;
	}
	for (int w = 0; w < WINDOWS; w++) {
		uint64_t page = world->windows[w];

		if (page + WINDOW_PAGES > world->tables.end_page || random_below(random, 3) == 0)
			continue;
		(void)!world_reserve(world, page, 16 * (1 + random_below(random, 4)),
				     random_below(random, 2), 0);
	}
}

/* page_tables_make_steps_locked() asserts that what it made is what was counted. */
TEST(table_need, what_is_made_is_what_was_counted)
{
	static const enum table_time times[] = { TABLES_NOW, TABLES_LATER, TABLES_LATER_UNKNOWN };
	struct random random;

	random_init(&random, 20261116);
	for (int s = 0; s < ALL_SHAPES; s++) {
		struct world *world = NULL;

		for (int round = 0; round < ROUNDS; round++) {
			struct gpuva_step steps[STEPS];
			struct table_block_wants wants = { 0 };
			enum table_time time = times[random_below(&random, 3)];
			size_t count;
			uint64_t before;

			if (round % ROUNDS_OF_A_WORLD == 0) {
				world = world_create(&shapes[s]);
				furnish(world, &random);
			}
			count = choose_steps(world, &random, steps);
			if (time == TABLES_LATER_UNKNOWN) {
				for (size_t i = 0; i < count; i++) {
					if (steps[i].page_count >
					    12 * gpuva_shape_table_pages(&world->config.shape, 0))
						time = TABLES_LATER;
				}
			}
			before = world->tables.table_count;
			said_left = 0;
			world->config.room_left = say_left;
			NTSTATUS status = make_steps(world, steps, count, time, &wants);
			world->config.room_left = NULL;
			if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY) {
				EXPECT_EQ(world->tables.table_count, before);
				status = make_steps(world, steps, count, time, NULL);
				EXPECT_EQ(world->tables.table_count - before, all_of(&wants.need));
			}
			EXPECT_EQ(status, STATUS_SUCCESS);
			if ((round + 1) % ROUNDS_OF_A_WORLD == 0)
				world_destroy(world);
		}
	}
}

/* One that is made is no longer missing, and two steps may need the same one. */
TEST(table_need, a_table_is_counted_once)
{
	struct world *world = world_create(&shapes[2]);
	struct table_block_wants wants = { 0 };
	const struct gpuva_step steps[] = {
		{ 512, 1, { .kind = GPUVA_KIND_MAPPED } },
		{ 514, 3, { .kind = GPUVA_KIND_MAPPED } },
		{ 520, 600, { .kind = GPUVA_KIND_MAPPED } },
	};

	world->config.room_left = say_left;
	said_left = 0;
	EXPECT_EQ(make_steps(world, steps, 3, TABLES_NOW, &wants), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(wants.need.count[0], 2);
	EXPECT_EQ(wants.need.count[1], 1);
	EXPECT_EQ(wants.need.count[2], 0);
	said_left = 2 * 4096;
	EXPECT_EQ(make_steps(world, steps, 3, TABLES_NOW, &wants), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	said_left = 3 * 4096;
	EXPECT_EQ(make_steps(world, steps, 3, TABLES_NOW, &wants), STATUS_SUCCESS);
	said_left = 0;
	EXPECT_EQ(make_steps(world, steps, 3, TABLES_NOW, &wants), STATUS_SUCCESS);
	world_destroy(world);
}

TEST_MAIN("pagetable/table_need")
