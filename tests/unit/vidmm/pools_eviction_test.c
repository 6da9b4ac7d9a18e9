/* SPDX-License-Identifier: MIT */
/*
 * pools_eviction_test.c - page tables that entries are copied from leave with the others of their
 * process, and are back before anything is copied (COPY_PAGE_TABLE_ENTRIES).
 */
#include "eviction_world.h"

enum { BASE = 40 * 512 }; /* of the reservation that is updated */

static const struct shape gpu_shapes[] = {
	{ .update_mode = MINIPORT_TABLE_GPU_VIRTUAL },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .flags = TABLES_END_INVALID },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .has_system_tables = true },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .has_growing_root = true },
};

/* ---- what the driver is asked ---- */

static struct {
	uint32_t copies;
	uint64_t evicted; /* pages of tables, a bit each */
	uint32_t flushes;
	uint32_t after_flush; /* tables that go when the TLB was told already */
	enum miniport_paging_kind fails;
	bool must_fail; /* the next one of these */
} asked;

static NTSTATUS note(struct fake *fake, const struct miniport_paging_op *op,
		     struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	bool is_eviction =
		op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE && op->update_table.is_eviction;

	(void)fake;
	(void)multipass;
	asked.copies +=
		op->kind == MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES && fake_has_room(buffer);
	/* It is asked again for what had no room in its buffer. */
	if (is_eviction)
		asked.evicted |= UINT64_C(1)
				 << (op->update_table.offset_bytes >> MACHINE_PAGE_SHIFT);
	asked.after_flush += is_eviction && asked.flushes > 0;
	asked.flushes += op->kind == MINIPORT_PAGING_FLUSH_TLB && op->flush_tlb.driver_process;
	if (!asked.must_fail || op->kind != asked.fails)
		return STATUS_PENDING;
	asked.must_fail = false;
	return STATUS_UNSUCCESSFUL;
}

static void start_noting(struct world *world)
{
	flush(world);
	memset(&asked, 0, sizeof(asked));
	world->fake->hook = note;
}

/* ---- updates ---- */

struct told {
	_Atomic uint32_t count;
	NTSTATUS status;
};

static void told_done(void *context, NTSTATUS status)
{
	struct told *told = context;

	told->status = status;
	atomic_fetch_add(&told->count, 1);
}

static struct gpuva_operation operation_at(struct party *party, uint64_t page,
					   struct memory *memory)
{
	return (struct gpuva_operation){ .kind = GPUVA_OPERATION_MAP,
					 .base = page << GPUVA_PAGE_SHIFT,
					 .size_bytes = 4 << GPUVA_PAGE_SHIFT,
					 .owner = owner_of(party, memory) };
}

static NTSTATUS try_update(struct party *party, uint64_t page, struct memory *memory,
			   struct told *told, struct space_update **update_out)
{
	struct gpuva_operation operation = operation_at(party, page, memory);

	*told = (struct told){ 0 };
	return address_space_update(party->space, &operation, 1,
				    &(struct space_listener){ told_done, told }, update_out);
}

static void run_update(struct world *world, struct space_update *update, struct told *told)
{
	space_update_run(update);
	flush(world);
	EXPECT_EQ(atomic_load(&told->count), 1);
	EXPECT_EQ(told->status, STATUS_SUCCESS);
}

static void update_now(struct world *world, struct party *party, uint64_t page,
		       struct memory *memory)
{
	struct space_update *update = NULL;
	struct told told;

	EXPECT_EQ(try_update(party, page, memory, &told, &update), STATUS_SUCCESS);
	run_update(world, update, &told);
}

/* ---- the world ---- */

static uint64_t table_bytes(struct world *world)
{
	struct vidmm_segment_usage usage;

	flush(world);
	EXPECT(vidmm_segment_usage(world->manager, FAKE_LOCAL, &usage));
	return usage.table_bytes;
}

/* Everything but what others have is taken away from the first one, which has pools. */
static void start_crowded(struct world *world, const struct shape *shape, struct thing *thing)
{
	struct party *idle = &world->parties[0];
	uint64_t others;

	start_as(world, shape);
	others = table_bytes(world) -
		 table_blocks_bytes(&idle->process.tables.rooms, &world->manager->segments[0]);
	EXPECT_EQ(reserve_zeroes(idle, BASE, 512), STATUS_PENDING);
	update_now(world, idle, BASE, &world->memories[0]);
	EXPECT(idle->space->pools);
	EXPECT(idle->space->pools->tables.table_bytes > 0);
	start_noting(world);
	thing_init(thing, world, &world->parties[1], LOCAL_PAGES - others / MACHINE_PAGE_BYTES);
	EXPECT_EQ(thing_bring_in(thing), STATUS_SUCCESS);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	EXPECT_EQ(table_bytes(world), others);
}

static void start_crowded_as_usual(struct world *world, struct thing *thing)
{
	start_crowded(world, &gpu_shapes[1], thing);
}

static void have_them_back(struct world *world, struct party *party)
{
	queue_work(party);
	wait_until(world, party, VIDMM_TABLES_IN);
	settle(world);
	EXPECT(runs(world, party));
	end_work(party);
}

static void end(struct world *world, struct thing *thing)
{
	world->fake->hook = NULL;
	thing_finish(thing);
	finish(world);
}

/* ---- out and in ---- */

TEST(pools_eviction, they_leave_with_the_tables_that_are_copied_to)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;

		start_crowded(&world, &gpu_shapes[i], &thing);
		EXPECT(idle->space->tables.is_out);
		EXPECT(idle->space->pools->tables.is_out);
		check(&world);
		end(&world, &thing);
	}
}

/* NotifyEviction, for each of both, and then the TLB. */
TEST(pools_eviction, the_driver_hears_of_each_table_that_leaves_before_the_tlb_forgets)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;

		start_crowded(&world, &gpu_shapes[i], &thing);
		EXPECT_EQ(__builtin_popcountll(asked.evicted),
			  table_blocks_bytes(&idle->process.tables.rooms,
					     &world.manager->segments[0]) /
				  MACHINE_PAGE_BYTES);
		EXPECT_EQ(asked.after_flush, 0);
		EXPECT(asked.flushes >= 2); /* of either root */
		end(&world, &thing);
	}
}

TEST(pools_eviction, entries_are_copied_again_when_they_are_back)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;

		start_crowded(&world, &gpu_shapes[i], &thing);
		have_them_back(&world, idle);
		EXPECT(shows(&world, idle, BASE, &world.memories[0], 0));
		check(&world);
		EXPECT_EQ(asked.copies, 0);
		update_now(&world, idle, BASE + 8, &world.memories[0]);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(&world, idle, BASE + 8, &world.memories[0], 0));
		EXPECT(shows(&world, idle, BASE + 11, &world.memories[0], 3));
		EXPECT(!shows(&world, idle, BASE + 12, &world.memories[0], 4));
		end(&world, &thing);
	}
}

/* It may wait for a fence for ever, and keeps no table in place. */
TEST(pools_eviction, an_update_that_was_made_before_copies_from_where_they_are_now)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct space_update *update = NULL;
		struct told told;

		start_as(&world, &gpu_shapes[i]);
		EXPECT_EQ(reserve_zeroes(idle, BASE, 512), STATUS_PENDING);
		EXPECT_EQ(try_update(idle, BASE, &world.memories[0], &told, &update),
			  STATUS_SUCCESS);
		start_noting(&world);
		vidmm_evict_segment(world.manager, FAKE_LOCAL);
		wait_until(&world, idle, VIDMM_TABLES_IN); /* out, and in again: there is room */
		flush(&world);
		EXPECT(asked.evicted != 0);
		run_update(&world, update, &told);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(&world, idle, BASE, &world.memories[0], 0));
		world.fake->hook = NULL;
		finish(&world);
	}
}

/* ---- while they are out ---- */

TEST(pools_eviction, an_update_whose_turn_comes_meanwhile_copies_nothing_and_is_seen_afterwards)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;

		start_crowded(&world, &gpu_shapes[i], &thing);
		update_now(&world, idle, BASE + 8, &world.memories[0]);
		EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
		EXPECT(thing_is_in(&thing));
		EXPECT_EQ(asked.copies, 0);
		check(&world);
		have_them_back(&world, idle);
		EXPECT(shows(&world, idle, BASE + 8, &world.memories[0], 0));
		end(&world, &thing);
	}
}

/* There is no table yet for what is kept there: somebody goes for it, and the others come, too. */
TEST(pools_eviction, an_update_that_shows_more_has_them_back_first)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct memory large = { .first_page = MEMORY_FIRST + 64 * PAGES };
		struct thing thing;

		mapped_memory_init(&large.mapped, 512,
				   (struct miniport_subject){ .driver_allocation = &large },
				   &large);
		start_crowded(&world, &gpu_shapes[i], &thing);
		update_now(&world, idle, BASE + 8, &large);
		EXPECT_EQ(state_of(idle), VIDMM_TABLES_IN);
		EXPECT(!thing_is_in(&thing));
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(&world, idle, BASE, &world.memories[0], 0));
		EXPECT(shows(&world, idle, BASE + 8, &large, 0));
		check(&world);
		drop_memory(&world, &large);
		mapped_memory_finish(&large.mapped);
		end(&world, &thing);
	}
}

TEST(pools_eviction, the_first_update_has_them_back_first)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;

		start_as(&world, &gpu_shapes[i]);
		EXPECT_EQ(reserve_zeroes(idle, BASE, 512), STATUS_PENDING);
		crowd_out(&world, &thing);
		start_noting(&world);
		update_now(&world, idle, BASE, &world.memories[0]);
		EXPECT_EQ(state_of(idle), VIDMM_TABLES_IN);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(&world, idle, BASE, &world.memories[0], 0));
		EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
		end(&world, &thing);
	}
}

TEST(pools_eviction, what_moves_or_goes_meanwhile_is_copied_from_where_it_is)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;

	start_crowded_as_usual(&world, &thing);
	update_now(&world, idle, BASE + 8, &world.memories[0]);
	move_memory(&world, &world.memories[0], MEMORY_FIRST + 9 * PAGES);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	have_them_back(&world, idle);
	EXPECT(shows(&world, idle, BASE + 8, &world.memories[0], 0));
	update_now(&world, idle, BASE + 16, &world.memories[0]);
	EXPECT_EQ(asked.copies, 1);
	EXPECT(shows(&world, idle, BASE + 16, &world.memories[0], 0));
	vidmm_evict_segment(world.manager, FAKE_LOCAL);
	drop_memory(&world, &world.memories[0]);
	have_them_back(&world, idle);
	EXPECT_EQ(walk(&world, idle, BASE + 8), 0);
	end(&world, &thing);
}

TEST(pools_eviction, a_space_ends_while_they_are_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct thing thing;

		start_crowded(&world, &gpu_shapes[i], &thing);
		party_leave(&world.parties[0]);
		party_join(&world, &world.parties[0]);
		end(&world, &thing);
	}
}

/* ---- room ---- */

TEST(pools_eviction, others_go_for_what_is_kept_to_be_copied)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *maps = &world.parties[0];
		struct thing thing;

		start_as(&world, &gpu_shapes[i]);
		EXPECT_EQ(reserve_zeroes(maps, BASE, 512), STATUS_PENDING);
		(void)owner_of(maps, &world.memories[0]);
		start_noting(&world);
		thing_init(&thing, &world, &world.parties[1],
			   LOCAL_PAGES - table_bytes(&world) / MACHINE_PAGE_BYTES);
		EXPECT_EQ(thing_bring_in(&thing), STATUS_SUCCESS);
		queue_work(maps); /* its tables stay */
		update_now(&world, maps, BASE, &world.memories[0]);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(&world, maps, BASE, &world.memories[0], 0));
		EXPECT(!thing_is_in(&thing));
		end_work(maps);
		end(&world, &thing);
	}
}

TEST(pools_eviction, without_room_an_update_is_refused_and_nothing_changed)
{
	struct world world;
	struct party *maps = &world.parties[0];
	struct space_update *update = NULL;
	struct refusal_scope scope;
	struct thing thing;
	struct told told;

	start(&world);
	EXPECT_EQ(reserve_zeroes(maps, BASE, 512), STATUS_PENDING);
	party_leave(&world.parties[1]);
	thing_init(&thing, &world, maps, LOCAL_PAGES - table_bytes(&world) / MACHINE_PAGE_BYTES);
	EXPECT_EQ(thing_bring_in(&thing), STATUS_SUCCESS);
	refusal_begin(&scope, "test");
	EXPECT_EQ(try_update(maps, BASE, &world.memories[0], &told, &update),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	(void)refusal_end(&scope);
	EXPECT_RULE("MM-TABLE-ROOM");
	EXPECT(thing_is_in(&thing));
	thing_finish(&thing);
	update_now(&world, maps, BASE, &world.memories[0]);
	EXPECT(shows(&world, maps, BASE, &world.memories[0], 0));
	party_join(&world, &world.parties[1]);
	finish(&world);
}

TEST(pools_eviction, memory_that_runs_out_on_the_way_refuses_and_the_next_one_is_carried_out)
{
	uint64_t fail_at = 0;
	bool fired;

	do {
		struct world world;
		struct party *idle = &world.parties[0];
		struct space_update *update = NULL;
		struct thing thing;
		struct told told;
		NTSTATUS status;

		start_crowded_as_usual(&world, &thing);
		(void)owner_of(idle, &world.memories[1]);
		EXPECT_EQ(reserve_zeroes(idle, 300 * 512, 512), STATUS_PENDING);
		flush(&world);
		mem_fail_nth(++fail_at);
		status = try_update(idle, 300 * 512, &world.memories[1], &told, &update);
		flush(&world);
		fired = mem_fail_stop();
		if (NT_SUCCESS(status))
			run_update(&world, update, &told);
		else
			EXPECT(fired && (status == STATUS_NO_MEMORY ||
					 status == STATUS_GRAPHICS_NO_VIDEO_MEMORY));
		check(&world);
		thing_finish(&thing); /* what could not leave is not asked again as things are */
		update_now(&world, idle, 300 * 512 + 8, &world.memories[1]);
		have_them_back(&world, idle);
		EXPECT(shows(&world, idle, 300 * 512 + 8, &world.memories[1], 0));
		world.fake->hook = NULL;
		finish(&world);
	} while (fired);
	EXPECT(fail_at > 5);
}

/* ---- ways that go wrong ---- */

TEST(pools_eviction, a_driver_that_does_not_let_them_go_keeps_them_as_they_were)
{
	struct world world;
	struct party *idle = &world.parties[0];

	start(&world);
	EXPECT_EQ(reserve_zeroes(idle, BASE, 512), STATUS_PENDING);
	update_now(&world, idle, BASE, &world.memories[0]);
	start_noting(&world);
	asked.fails = MINIPORT_PAGING_FLUSH_TLB;
	asked.must_fail = true;
	vidmm_evict_segment(world.manager, FAKE_LOCAL);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	EXPECT(!asked.must_fail);
	check(&world);
	update_now(&world, idle, BASE + 8, &world.memories[0]);
	EXPECT_EQ(asked.copies, 1);
	EXPECT(shows(&world, idle, BASE, &world.memories[0], 0));
	EXPECT(shows(&world, idle, BASE + 8, &world.memories[0], 0));
	world.fake->hook = NULL;
	finish(&world);
}

static void broken(void *context, NTSTATUS status)
{
	struct party *party = context;

	EXPECT(!NT_SUCCESS(status));
	vidmm_device_lose(&party->device);
}

TEST(pools_eviction, a_driver_that_does_not_let_them_in_breaks_both_until_they_are_written_anew)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;

	start_crowded_as_usual(&world, &thing);
	address_space_watch(idle->space, &(struct space_listener){ broken, idle });
	asked.fails = MINIPORT_PAGING_UPDATE_PAGE_TABLE;
	asked.must_fail = true;
	queue_work(idle);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	settle(&world);
	EXPECT(!asked.must_fail);
	EXPECT(idle->device.is_lost);
	EXPECT(!address_space_is_broken(idle->space));
	EXPECT(!address_space_is_broken(idle->space->pools));
	check(&world);
	end_work(idle);
	end(&world, &thing);
}

static void reset(struct world *world)
{
	pager_suspend(world->fake->pager);
	while (fake_in_flight(world->fake) > 0)
		fake_retire_one(world->fake, SCHED_CANCELLED);
	fake_set_automatic(world->fake, true);
	vidmm_reset(world->manager);
	pager_restart(world->fake->pager);
	flush(world);
}

TEST(pools_eviction, a_reset_takes_nothing_from_what_is_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;

		start_crowded(&world, &gpu_shapes[i], &thing);
		reset(&world);
		have_them_back(&world, idle);
		check(&world);
		update_now(&world, idle, BASE + 8, &world.memories[0]);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(&world, idle, BASE, &world.memories[0], 0));
		EXPECT(shows(&world, idle, BASE + 8, &world.memories[0], 0));
		end(&world, &thing);
	}
}

TEST(pools_eviction, a_way_out_that_meets_a_reset_is_at_its_end)
{
	struct world world;
	struct party *idle = &world.parties[0];

	start(&world);
	EXPECT_EQ(reserve_zeroes(idle, BASE, 512), STATUS_PENDING);
	update_now(&world, idle, BASE, &world.memories[0]);
	start_noting(&world);
	fake_set_automatic(world.fake, false);
	vidmm_evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_LEAVING);
	reset(&world);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	check(&world);
	update_now(&world, idle, BASE + 8, &world.memories[0]);
	EXPECT_EQ(asked.copies, 1);
	EXPECT(shows(&world, idle, BASE + 8, &world.memories[0], 0));
	world.fake->hook = NULL;
	finish(&world);
}

/* ---- threads ---- */

struct updater {
	struct world *world;
	struct party *party;
	uint64_t first_page;
};

static void updater_run(void *argument)
{
	struct updater *updater = argument;

	for (uint64_t i = 0; i < 40; i++) {
		struct memory *memory = &updater->world->memories[i % MEMORIES];
		struct space_update *update = NULL;
		struct told told;

		EXPECT_EQ(try_update(updater->party, updater->first_page + i % 8 * 4, memory, &told,
				     &update),
			  STATUS_SUCCESS);
		space_update_run(update);
		flush(updater->world);
		EXPECT_EQ(atomic_load(&told.count), 1);
		EXPECT_EQ(told.status, STATUS_SUCCESS);
	}
}

/* The first updates of a process come at once: it has one place to copy from. */
TEST(pools_eviction, threads_that_update_and_threads_that_evict_do_not_hold_each_other_up)
{
	struct world world;
	struct updater updaters[4];
	struct thread *threads[4];

	start(&world);
	for (int i = 0; i < PARTIES; i++)
		EXPECT_EQ(reserve_zeroes(&world.parties[i], BASE, 512), STATUS_PENDING);
	for (uint64_t i = 0; i < 4; i++) {
		updaters[i] =
			(struct updater){ &world, &world.parties[i % PARTIES], BASE + i * 64 };
		EXPECT_EQ(thread_create("updater", updater_run, &updaters[i], &threads[i]),
			  STATUS_SUCCESS);
	}
	for (int i = 0; i < 40; i++)
		vidmm_evict_segment(world.manager, 0);
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	for (int i = 0; i < PARTIES; i++)
		wait_until(&world, &world.parties[i], VIDMM_TABLES_IN);
	settle(&world);
	for (uint64_t i = 0; i < 4; i++)
		EXPECT(shows(&world, &world.parties[i % PARTIES], BASE + i * 64 + 28,
			     &world.memories[3], 0));
	finish(&world);
}

TEST_MAIN("vidmm/pools_eviction")
