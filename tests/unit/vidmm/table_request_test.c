/* SPDX-License-Identifier: MIT */
/*
 * table_request_test.c - who needs page tables gets room for them: others leave, in their order, and
 * when nothing more can go it is refused.
 */
#include "unit/address_space/steps.h"

TEST(table_request, others_go_for_tables_that_are_needed)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		start_as(&shapes[i]);
		crowd_in(LOCAL_PAGES - PARTIES);
		EXPECT_EQ(map(app, 510, &memories[0], 20), STATUS_PENDING);
		/* With tables above the leaves in system memory there were two pages left. */
		map_now(app, 300000, &memories[1], 8);
		EXPECT(shows(app, 510, &memories[0], 0));
		EXPECT(shows(app, 300000, &memories[1], 0));
		EXPECT_EQ(thing_is_in(&crowd), false);
		check();
		finish();
	}
}

#define TABLES_TEST(suite, claim) TEST_BETWEEN(start(), finish(), suite, claim)

TABLES_TEST(table_request, leftovers_go_for_tables_before_what_is_listed)
{
	struct thing listed;
	struct thing leftover;

	thing_init(&listed, other, 30);
	thing_init(&leftover, other, LOCAL_PAGES - PARTIES - 30);
	thing_bring_in(&listed);
	thing_bring_in(&leftover);
	EXPECT_EQ(thing_let_go(&leftover), STATUS_SUCCESS);
	map_now(app, 510, &memories[0], 20);
	EXPECT(thing_is_in(&listed));
	EXPECT(!thing_is_in(&leftover));
	thing_finish(&listed);
	thing_finish(&leftover);
}

/* What its own devices list is what the addresses are for. */
TABLES_TEST(table_request, a_process_that_has_everything_itself_is_refused_and_nothing_changed)
{
	struct thing thing;
	struct refusal_scope scope;

	party_leave(other); /* its root could go */
	thing_add(&thing, app, LOCAL_PAGES - 1);
	(void)owner_of(app, &memories[0]);
	refusal_begin(&scope, "test");
	EXPECT_EQ(map(app, 510, &memories[0], 20), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	(void)refusal_end(&scope);
	EXPECT_RULE("MM-TABLE-ROOM");
	EXPECT_EQ(app->space->tables.table_count, 1);
	EXPECT(thing_is_in(&thing));
	thing_finish(&thing);
	map_now(app, 510, &memories[0], 20);
	EXPECT(shows(app, 510, &memories[0], 0));
	party_join(other);
}

TABLES_TEST(table_request, a_new_process_gets_room_for_its_root)
{
	party_leave(app);
	crowd_in(LOCAL_PAGES - 1);
	party_join(app);
	EXPECT(!thing_is_in(&crowd));
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

static void wait_for_waiters(uint32_t wanted)
{
	uint32_t count;

	do {
		const struct list *link;

		thread_point();
		count = 0;
		lock_acquire(&world.manager->lock);
		list_for_each (link, &world.manager->waiters)
			count++;
		lock_release(&world.manager->lock);
	} while (count < wanted);
}

/* Tables until there is no room for more. */
static void fill_with_tables(void)
{
	struct vidmm_segment *segment = &world.manager->segments[0];

	for (uint64_t i = 0; segment_free_bytes(segment, FORM_CONTIGUOUS) > 0; i++) {
		EXPECT_EQ(map(&parties[i % 2], 1024 + i * 512, &memories[0], 1), STATUS_PENDING);
		flush();
	}
}

/* Who waits for room keeps nobody from having it. */
TEST(table_request, two_that_need_more_tables_have_them_one_after_the_other)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		struct mapper mappers[2];

		start_as(&shapes[i]);
		fill_with_tables();
		(void)owner_of(other, &memories[1]);
		vidmm_tables_hold(&other->process);
		mapper_start(&mappers[0], app, 300000, &memories[1]);
		wait_for_waiters(1);
		mapper_start(&mappers[1], other, 300000, &memories[1]);
		wait_for_waiters(2);
		vidmm_tables_release(&other->process);
		for (int m = 0; m < 2; m++) {
			thread_join(mappers[m].thread);
			EXPECT_EQ(mappers[m].status, STATUS_PENDING);
		}
		for (int m = 0; m < 2; m++) {
			have_back(&parties[m]);
			EXPECT(shows(&parties[m], 300000, &memories[1], 0));
			EXPECT(shows(&parties[m], 1024 + m * 512, &memories[0], 0));
		}
		finish();
	}
}

/* All contexts are told the root when it is back, and when it is another one. */
TEST(table_request, a_root_grows_while_its_tables_are_out)
{
	static const uint32_t modes[] = { MINIPORT_TABLE_CPU_VIRTUAL, MINIPORT_TABLE_GPU_VIRTUAL,
					  MINIPORT_TABLE_GPU_PHYSICAL };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		for (int is_above = 0; is_above < 2; is_above++) {
			start_as(&(struct shape){ .update_mode = modes[i],
						  .root_bits = 6,
						  .has_system_tables = is_above });
			crowd_out();
			map_now(app, 1500000, &memories[2], 8);
			app->root = page_tables_root(&app->space->tables);
			EXPECT_EQ(state_of(app), VIDMM_TABLES_IN);
			EXPECT(shows(app, 1500000, &memories[2], 0));
			EXPECT(shows(app, 510, &memories[0], 0));
			finish();
		}
	}
}

TABLES_TEST(table_request, who_is_in_the_driver_does_not_wait_for_them)
{
	struct refusal_scope scope;

	crowd_out();
	struct gpuva_map_request request = map_request(app, 600000, &memories[2], 8);
	uint64_t address;
	refusal_begin(&scope, "test");
	EXPECT_EQ(address_space_map_from_driver(app->space, &request, NULL, &address),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	(void)refusal_end(&scope);
	EXPECT_RULE("MM-TABLE-ROOM");
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
}

TABLES_TEST(table_request, tables_that_find_no_room_any_more_are_the_end_of_the_device)
{
	crowd_out();
	queue_work(other); /* it gives nothing in its slice, and then all */
	crowd.memory.traits.is_pinned = true;
	lock_acquire(&world.manager->lock);
	place_settle_locked(atomic_load(&crowd.memory.place));
	decide_unlock(world.manager);
	queue_work(app);
	while (!app->device.is_lost) {
		uint32_t seen = notice_read(&world.starved);

		if (!app->device.is_lost)
			notice_wait(&world.starved, seen, CLOCK_FOREVER);
	}
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
	end_work(app);
	end_work(other);
}

static NTSTATUS fail_at_the_next_look(struct fake *fake, const struct miniport_paging_op *op,
				      struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)buffer;
	(void)multipass;
	/* The TLB of tables that leave: their room is found again when this is done. */
	if (op->kind == MINIPORT_PAGING_FLUSH_TLB && op->flush_tlb.driver_process &&
	    fake->hook_count++ == 0) {
		queue_work(app);
		mem_fail_nth(1);
	}
	return STATUS_PENDING;
}

/* There is room, and no memory to write down who has it: no device is lost for that. */
TEST(table_request, tables_without_memory_to_come_back_with_come_later)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		start_as(&shapes[i]);
		map_now(app, 510, &memories[0], 20);
		world.fake->hook_count = 0;
		world.fake->hook = fail_at_the_next_look;
		vidmm_evict_selected(world.manager,
				     &(struct vidmm_selection){ .process = &app->process });
		wait_until(app, VIDMM_TABLES_IN);
		world.fake->hook = NULL;
		EXPECT(mem_fail_stop());
		EXPECT(!app->device.is_lost);
		EXPECT(shows(app, 510, &memories[0], 0));
		end_work(app);
		finish();
	}
}

TABLES_TEST(table_request, memory_that_runs_out_on_the_way_refuses_and_changes_nothing)
{
	uint64_t fail_at = 0;
	bool fired;

	do {
		crowd_in(LOCAL_PAGES - PARTIES);
		(void)owner_of(app, &memories[0]);
		mem_fail_nth(++fail_at);
		NTSTATUS status = map(app, 510, &memories[0], 20);
		flush();
		fired = mem_fail_stop();
		if (status != STATUS_PENDING) {
			EXPECT(fired);
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			EXPECT_EQ(app->space->tables.table_count, 1);
			map_now(app, 510, &memories[0], 20);
		}
		EXPECT(shows(app, 510, &memories[0], 0));
		check();
		crowd_leaves();
		drop_memory(&memories[0]);
		party_leave(app);
		party_join(app);
	} while (fired);
}

TEST_MAIN("vidmm/table_request")
