/* SPDX-License-Identifier: MIT */
/*
 * table_request_test.c - who needs page tables gets room for them: others leave, in their order, and
 * when nothing more can go it is refused.
 */
#include "eviction_world.h"

TEST(table_request, others_go_for_tables_that_are_needed)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		struct world world;
		struct party *maps = &world.parties[0];
		struct thing thing;

		start_as(&world, &shapes[i]);
		thing_init(&thing, &world, &world.parties[1], LOCAL_PAGES - PARTIES);
		EXPECT_EQ(thing_bring_in(&thing), STATUS_SUCCESS);
		EXPECT_EQ(map(maps, 510, &world.memories[0], 20), STATUS_PENDING);
		/* With tables above the leaves in system memory there were two pages left. */
		EXPECT_EQ(map(maps, 300000, &world.memories[1], 8), STATUS_PENDING);
		flush(&world);
		EXPECT(shows(&world, maps, 510, &world.memories[0], 0));
		EXPECT(shows(&world, maps, 300000, &world.memories[1], 0));
		EXPECT_EQ(thing_is_in(&thing), false);
		check(&world);
		thing_finish(&thing);
		finish(&world);
	}
}

TEST(table_request, leftovers_go_for_tables_before_what_is_listed)
{
	struct world world;
	struct thing listed;
	struct thing leftover;

	start(&world);
	thing_init(&listed, &world, &world.parties[1], 30);
	thing_init(&leftover, &world, &world.parties[1], LOCAL_PAGES - PARTIES - 30);
	EXPECT_EQ(thing_bring_in(&listed), STATUS_SUCCESS);
	EXPECT_EQ(thing_bring_in(&leftover), STATUS_SUCCESS);
	EXPECT_EQ(thing_let_go(&leftover), STATUS_SUCCESS);
	EXPECT_EQ(map(&world.parties[0], 510, &world.memories[0], 20), STATUS_PENDING);
	flush(&world);
	EXPECT(thing_is_in(&listed));
	EXPECT(!thing_is_in(&leftover));
	thing_finish(&listed);
	thing_finish(&leftover);
	finish(&world);
}

/* What its own devices list is what the addresses are for. */
TEST(table_request, a_process_that_has_everything_itself_is_refused_and_nothing_changed)
{
	struct world world;
	struct party *maps = &world.parties[0];
	struct thing thing;
	struct refusal_scope scope;

	start(&world);
	party_leave(&world.parties[1]); /* its root could go */
	thing_init(&thing, &world, maps, LOCAL_PAGES - 1);
	EXPECT_EQ(thing_bring_in(&thing), STATUS_SUCCESS);
	(void)owner_of(maps, &world.memories[0]);
	refusal_begin(&scope, "test");
	EXPECT_EQ(map(maps, 510, &world.memories[0], 20), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	(void)refusal_end(&scope);
	EXPECT_RULE("MM-TABLE-ROOM");
	EXPECT_EQ(maps->space->tables.table_count, 1);
	EXPECT(thing_is_in(&thing));
	thing_finish(&thing);
	EXPECT_EQ(map(maps, 510, &world.memories[0], 20), STATUS_PENDING);
	flush(&world);
	EXPECT(shows(&world, maps, 510, &world.memories[0], 0));
	party_join(&world, &world.parties[1]);
	finish(&world);
}

TEST(table_request, a_new_process_gets_room_for_its_root)
{
	struct world world;
	struct thing thing;

	start(&world);
	party_leave(&world.parties[0]);
	thing_init(&thing, &world, &world.parties[1], LOCAL_PAGES - 1);
	EXPECT_EQ(thing_bring_in(&thing), STATUS_SUCCESS);
	party_join(&world, &world.parties[0]);
	EXPECT(!thing_is_in(&thing));
	thing_finish(&thing);
	finish(&world);
}

struct mapper {
	struct party *party;
	struct memory *memory;
	uint64_t page;
	NTSTATUS status;
	struct thread *thread;
};

static void mapper_run(void *argument)
{
	struct mapper *mapper = argument;

	mapper->status = map(mapper->party, mapper->page, mapper->memory, 8);
}

static void mapper_start(struct mapper *mapper, struct party *party, uint64_t page,
			 struct memory *memory)
{
	*mapper = (struct mapper){ .party = party, .memory = memory, .page = page };
	EXPECT_EQ(thread_create("mapper", mapper_run, mapper, &mapper->thread), STATUS_SUCCESS);
}

static void wait_for_waiters(struct world *world, uint32_t wanted)
{
	uint32_t count;

	do {
		const struct list *link;

		thread_point();
		count = 0;
		lock_acquire(&world->manager->lock);
		list_for_each (link, &world->manager->waiters)
			count++;
		lock_release(&world->manager->lock);
	} while (count < wanted);
}

/* Tables until there is no room for more. */
static void fill_with_tables(struct world *world, struct party *parties[], uint32_t count)
{
	struct vidmm_segment *segment = &world->manager->segments[0];

	for (uint64_t i = 0; segment_free_bytes(segment, FORM_CONTIGUOUS) > 0; i++) {
		EXPECT_EQ(map(parties[i % count], 1024 + i * 512, &world->memories[0], 1),
			  STATUS_PENDING);
		flush(world);
	}
}

/* Who waits for room keeps nobody from having it. */
TEST(table_request, two_that_need_more_tables_have_them_one_after_the_other)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		struct world world;
		struct party *first = &world.parties[0];
		struct party *second = &world.parties[1];
		struct mapper mappers[2];

		start_as(&world, &shapes[i]);
		fill_with_tables(&world, (struct party *[]){ first, second }, 2);
		(void)owner_of(second, &world.memories[1]);
		vidmm_tables_hold(&second->process);
		mapper_start(&mappers[0], first, 300000, &world.memories[1]);
		wait_for_waiters(&world, 1);
		mapper_start(&mappers[1], second, 300000, &world.memories[1]);
		wait_for_waiters(&world, 2);
		vidmm_tables_release(&second->process);
		for (int m = 0; m < 2; m++) {
			thread_join(mappers[m].thread);
			EXPECT_EQ(mappers[m].status, STATUS_PENDING);
		}
		for (int m = 0; m < 2; m++) {
			queue_work(&world.parties[m]);
			wait_until(&world, &world.parties[m], VIDMM_TABLES_IN);
			flush(&world);
			EXPECT(shows(&world, &world.parties[m], 300000, &world.memories[1], 0));
			EXPECT(shows(&world, &world.parties[m], 1024 + m * 512, &world.memories[0],
				     0));
			end_work(&world.parties[m]);
		}
		finish(&world);
	}
}

/* All contexts are told the root when it is back, and when it is another one. */
TEST(table_request, a_root_grows_while_its_tables_are_out)
{
	static const uint32_t modes[] = { MINIPORT_TABLE_CPU_VIRTUAL, MINIPORT_TABLE_GPU_VIRTUAL,
					  MINIPORT_TABLE_GPU_PHYSICAL };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		for (int is_above = 0; is_above < 2; is_above++) {
			struct world world;
			struct party *idle = &world.parties[0];
			struct thing thing;

			start_as(&world, &(struct shape){ .update_mode = modes[i],
							  .has_growing_root = true,
							  .has_system_tables = is_above });
			crowd_out(&world, &thing);
			EXPECT_EQ(map(idle, 1500000, &world.memories[2], 8), STATUS_PENDING);
			flush(&world);
			idle->root = page_tables_root(&idle->space->tables);
			EXPECT_EQ(state_of(idle), VIDMM_TABLES_IN);
			EXPECT(shows(&world, idle, 1500000, &world.memories[2], 0));
			EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
			thing_finish(&thing);
			finish(&world);
		}
	}
}

TEST(table_request, who_is_in_the_driver_does_not_wait_for_them)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;
	struct refusal_scope scope;

	start(&world);
	crowd_out(&world, &thing);
	struct gpuva_map_request request = { .window.base = UINT64_C(600000) << GPUVA_PAGE_SHIFT,
					     .owner = owner_of(idle, &world.memories[2]),
					     .page_count = 8 };
	uint64_t address;
	refusal_begin(&scope, "test");
	EXPECT_EQ(address_space_map_from_driver(idle->space, &request, NULL, &address),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	(void)refusal_end(&scope);
	EXPECT_RULE("MM-TABLE-ROOM");
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	thing_finish(&thing);
	finish(&world);
}

TEST(table_request, tables_that_find_no_room_any_more_are_the_end_of_the_device)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;

	start(&world);
	crowd_out(&world, &thing);
	queue_work(&world.parties[1]); /* it gives nothing in its slice, and then all */
	thing.memory.traits.is_pinned = true;
	lock_acquire(&world.manager->lock);
	place_settle_locked(atomic_load(&thing.memory.place));
	decide_unlock(world.manager);
	queue_work(idle);
	while (!idle->device.is_lost) {
		uint32_t seen = notice_read(&world.starved);

		if (!idle->device.is_lost)
			notice_wait(&world.starved, seen, CLOCK_FOREVER);
	}
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	end_work(idle);
	end_work(&world.parties[1]);
	thing_finish(&thing);
	finish(&world);
}

TEST(table_request, memory_that_runs_out_on_the_way_refuses_and_changes_nothing)
{
	struct world world;
	struct party *maps = &world.parties[0];
	uint64_t fail_at = 0;
	bool fired;

	start(&world);
	do {
		struct thing thing;

		thing_init(&thing, &world, &world.parties[1], LOCAL_PAGES - PARTIES);
		EXPECT_EQ(thing_bring_in(&thing), STATUS_SUCCESS);
		(void)owner_of(maps, &world.memories[0]);
		mem_fail_nth(++fail_at);
		NTSTATUS status = map(maps, 510, &world.memories[0], 20);
		flush(&world);
		fired = mem_fail_stop();
		if (status != STATUS_PENDING) {
			EXPECT(fired);
			EXPECT(status == STATUS_NO_MEMORY ||
			       status == STATUS_GRAPHICS_NO_VIDEO_MEMORY);
			EXPECT_EQ(maps->space->tables.table_count, 1);
			EXPECT_EQ(map(maps, 510, &world.memories[0], 20), STATUS_PENDING);
			flush(&world);
		}
		EXPECT(shows(&world, maps, 510, &world.memories[0], 0));
		check(&world);
		thing_finish(&thing);
		drop_memory(&world, &world.memories[0]);
		party_leave(maps);
		maps->roots_told = 0;
		party_join(&world, maps);
	} while (fired);
	finish(&world);
}

TEST_MAIN("vidmm/table_request")
