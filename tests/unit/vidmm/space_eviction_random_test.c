/*
 * space_eviction_random_test.c - page tables forced out all the time, while addresses come and go at
 * random and by several threads.
 */
#include "base/random.h"
#include "eviction_world.h"

enum { SLOTS = 24, SLOT_PAGES = 3000 }; /* apart, so that tables come with them */

struct model {
	struct world world;
	struct random random;
	struct memory *shown[PARTIES][SLOTS]; /* NULL: nothing */
	bool is_zero[PARTIES][SLOTS];
};

static uint64_t slot_page(uint64_t slot)
{
	return 512 + slot * SLOT_PAGES;
}

static void model_step(struct model *model)
{
	int who = (int)random_below(&model->random, PARTIES);
	struct party *party = &model->world.parties[who];
	uint64_t slot = random_below(&model->random, SLOTS);
	struct memory *memory = &model->world.memories[random_below(&model->random, MEMORIES)];
	NTSTATUS status;

	switch (random_below(&model->random, 5)) {
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
		status = reserve_zeroes(party, slot_page(slot) & ~UINT64_C(511), 1536);
		(void)status;
		if (status == STATUS_PENDING)
			EXPECT_EQ(release(party, slot_page(slot) & ~UINT64_C(511), 1536),
				  STATUS_SUCCESS);
		break;
	default:
		flush(&model->world);
		move_memory(&model->world, memory,
			    MEMORY_FIRST + random_below(&model->random, 64) * PAGES);
		break;
	}
}

static void model_check(struct model *model)
{
	struct world *world = &model->world;

	for (int i = 0; i < PARTIES; i++)
		queue_work(&world->parties[i]);
	for (int i = 0; i < PARTIES; i++)
		wait_until(world, &world->parties[i], VIDMM_TABLES_IN);
	flush(world);
	for (int i = 0; i < PARTIES; i++) {
		EXPECT(runs(world, &world->parties[i]));
		for (uint64_t slot = 0; slot < SLOTS; slot++) {
			struct memory *memory = model->shown[i][slot];
			uint64_t page = slot_page(slot);

			if (memory)
				EXPECT(shows(world, &world->parties[i], page, memory, 0) &&
				       shows(world, &world->parties[i], page + PAGES - 1, memory,
					     PAGES - 1));
			else
				EXPECT_EQ(walk(world, &world->parties[i], page), 0);
		}
		end_work(&world->parties[i]);
	}
	check(world);
}

TEST(space_eviction_random, forced_out_at_every_step_they_always_show_what_is_true)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct model model = { 0 };

		random_init(&model.random, seed);
		start_as(&model.world, &shapes[seed % ARRAY_SIZE(shapes)]);
		for (int step = 0; step < 150; step++) {
			model_step(&model);
			vidmm_evict_selected(model.world.manager, &(struct vidmm_selection){ 0 });
			if (step % 10 == 0)
				model_check(&model);
		}
		model_check(&model);
		finish(&model.world);
	}
}

/* ---- threads ---- */

struct mapper {
	struct world *world;
	struct party *party;
	uint64_t rounds;
};

static void mapper_run(void *argument)
{
	struct mapper *mapper = argument;

	for (uint64_t i = 0; i < mapper->rounds; i++) {
		uint64_t page = 512 + i % 5 * SLOT_PAGES;
		struct memory *memory = &mapper->world->memories[i % MEMORIES];

		if (map(mapper->party, page, memory, PAGES) == STATUS_PENDING)
			EXPECT_EQ(release(mapper->party, page, PAGES), STATUS_SUCCESS);
		if (i % 4 == 0) {
			queue_work(mapper->party);
			wait_until(mapper->world, mapper->party, VIDMM_TABLES_IN);
			end_work(mapper->party);
		}
	}
}

TEST(space_eviction_random, threads_that_map_and_threads_that_evict_do_not_hold_each_other_up)
{
	struct world world;
	struct mapper mappers[PARTIES];
	struct thread *threads[PARTIES];
	struct thing thing;

	start(&world);
	thing_init(&thing, &world, &world.parties[1], LOCAL_PAGES - 8);
	for (int i = 0; i < PARTIES; i++) {
		mappers[i] = (struct mapper){ &world, &world.parties[i], 60 };
		EXPECT_EQ(thread_create("mapper", mapper_run, &mappers[i], &threads[i]),
			  STATUS_SUCCESS);
	}
	for (int i = 0; i < 60; i++)
		vidmm_evict_segment(world.manager, 0);
	for (int i = 0; i < PARTIES; i++)
		thread_join(threads[i]);
	for (int i = 0; i < PARTIES; i++)
		wait_until(&world, &world.parties[i], VIDMM_TABLES_IN);
	thing_finish(&thing);
	finish(&world);
}

TEST_MAIN("vidmm/space_eviction_random")
