/* SPDX-License-Identifier: MIT */
/*
 * eviction_random_test.c - page tables forced out all the time, while addresses come and go at
 * random and by several threads.
 */
#include "base/random.h"
#include "steps.h"

enum { SLOTS = 24, SLOT_PAGES = 3000 }; /* apart, so that tables come with them */
enum { TILES = 16, TILE_PAGES = 8, TILES_FIRST = 400 * 512 };

struct model {
	struct random random;
	struct told told;                     /* of updates */
	struct memory *shown[PARTIES][SLOTS]; /* NULL: nothing */
	bool is_zero[PARTIES][SLOTS];
	struct memory *tiles[PARTIES][TILES]; /* what updates show */
};

static void model_update(struct model *model, int who, struct memory *memory)
{
	struct party *party = &parties[who];
	uint64_t tile = random_below(&model->random, TILES);
	struct gpuva_operation operation =
		operation_at(party, TILES_FIRST + tile * TILE_PAGES, TILE_PAGES, memory);
	struct space_update *update = NULL;
	NTSTATUS status = try_update(party, &operation, 1, &model->told, &update);

	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		return;
	EXPECT_EQ(status, STATUS_SUCCESS);
	if (random_below(&model->random, 2)) /* between the two they may leave */
		vidmm_evict_selected(world.manager, &(struct vidmm_selection){ 0 });
	space_update_run(update);
	model->tiles[who][tile] = memory;
}

static void model_check_tiles(struct model *model, int who)
{
	struct party *party = &parties[who];

	for (uint64_t tile = 0; tile < TILES; tile++) {
		struct memory *memory = model->tiles[who][tile];
		uint64_t page = TILES_FIRST + tile * TILE_PAGES;

		if (memory)
			EXPECT(shows(party, page, memory, 0) &&
			       shows(party, page + TILE_PAGES - 1, memory, TILE_PAGES - 1));
		else
			EXPECT_EQ(walk(party, page), 0);
	}
}

static uint64_t slot_page(uint64_t slot)
{
	return 512 + slot * SLOT_PAGES;
}

static void model_step(struct model *model)
{
	int who = (int)random_below(&model->random, PARTIES);
	struct party *party = &parties[who];
	uint64_t slot = random_below(&model->random, SLOTS);
	struct memory *memory = &memories[random_below(&model->random, MEMORIES)];
	NTSTATUS status;

	switch (random_below(&model->random, 7)) {
	case 0:
	case 1:
		if (model->shown[who][slot] || model->is_zero[who][slot])
			break;
		status = map(party, slot_page(slot), memory, PAGES);
		if (status == STATUS_PENDING)
			model->shown[who][slot] = memory;
		else
			EXPECT_EQ(status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
		break;
	case 2:
		if (!model->shown[who][slot] && !model->is_zero[who][slot])
			break;
		status = release(party, slot_page(slot), model->is_zero[who][slot] ? 1536 : PAGES);
		EXPECT_EQ(status, STATUS_SUCCESS);
		model->shown[who][slot] = NULL;
		model->is_zero[who][slot] = false;
		break;
	case 3:
		if (model->shown[who][slot] || model->is_zero[who][slot])
			break;
		status = reserve(party, slot_page(slot) & ~UINT64_C(511), 1536, true);
		if (status == STATUS_PENDING)
			EXPECT_EQ(release(party, slot_page(slot) & ~UINT64_C(511), 1536),
				  STATUS_SUCCESS);
		break;
	case 4:
	case 5:
		model_update(model, who, memory);
		break;
	default:
		flush();
		move_memory(memory, MEMORY_FIRST + random_below(&model->random, 64) * PAGES);
		break;
	}
}

static void model_check_slots(struct model *model, int who)
{
	struct party *party = &parties[who];

	for (uint64_t slot = 0; slot < SLOTS; slot++) {
		struct memory *memory = model->shown[who][slot];
		uint64_t page = slot_page(slot);

		if (memory)
			EXPECT(shows(party, page, memory, 0) &&
			       shows(party, page + PAGES - 1, memory, PAGES - 1));
		else
			EXPECT_EQ(walk(party, page), 0);
	}
}

/* One after the other: there may be no room for both. */
static void model_check(struct model *model)
{
	for (int i = 0; i < PARTIES; i++) {
		have_back(&parties[i]);
		EXPECT_EQ(model->told.status, STATUS_SUCCESS);
		model_check_slots(model, i);
		model_check_tiles(model, i);
	}
	check();
}

TEST(space_eviction_random, forced_out_at_every_step_they_always_show_what_is_true)
{
	for (uint64_t seed = 1; seed <= ARRAY_SIZE(shapes); seed++) {
		struct model model = { 0 };

		random_init(&model.random, seed);
		start_as(&shapes[seed % ARRAY_SIZE(shapes)]);
		for (int i = 0; i < PARTIES; i++)
			reserve_zeroes(&parties[i], TILES_FIRST, 512);
		for (int step = 0; step < 150; step++) {
			model_step(&model);
			vidmm_evict_selected(world.manager, &(struct vidmm_selection){ 0 });
			if (step % 10 == 0)
				model_check(&model);
		}
		model_check(&model);
		finish();
	}
}

/* ---- threads ---- */

struct mapper {
	struct party *party;
	uint64_t rounds;
};

static void mapper_run(void *argument)
{
	struct mapper *mapper = argument;

	for (uint64_t i = 0; i < mapper->rounds; i++) {
		uint64_t page = 512 + i % 5 * SLOT_PAGES;
		struct memory *memory = &memories[i % MEMORIES];

		if (map(mapper->party, page, memory, PAGES) == STATUS_PENDING)
			EXPECT_EQ(release(mapper->party, page, PAGES), STATUS_SUCCESS);
		if (i % 4 == 0) {
			queue_work(mapper->party);
			wait_until(mapper->party, VIDMM_TABLES_IN);
			end_work(mapper->party);
		}
	}
}

TEST(space_eviction_random, threads_that_map_and_threads_that_evict_do_not_hold_each_other_up)
{
	struct mapper mappers[PARTIES];
	struct thread *threads[PARTIES];
	struct thing thing;

	start();
	thing_init(&thing, other, LOCAL_PAGES - 8);
	for (int i = 0; i < PARTIES; i++) {
		mappers[i] = (struct mapper){ &parties[i], 60 };
		EXPECT_EQ(thread_create("mapper", mapper_run, &mappers[i], &threads[i]),
			  STATUS_SUCCESS);
	}
	for (int i = 0; i < 60; i++)
		evict_segment(world.manager, 0);
	for (int i = 0; i < PARTIES; i++)
		thread_join(threads[i]);
	for (int i = 0; i < PARTIES; i++)
		wait_until(&parties[i], VIDMM_TABLES_IN);
	thing_finish(&thing);
	finish();
}

TEST_MAIN("address_space/eviction_random")
