/* SPDX-License-Identifier: MIT */
/*
 * pools_eviction_test.c - page tables that entries are copied from leave with the others of their
 * process, and are back before anything is copied (COPY_PAGE_TABLE_ENTRIES).
 */
#include "steps.h"
#include "support/failing.h"

enum { BASE = 40 * 512 }; /* of the reservation that is updated */

static const struct shape gpu_shapes[] = {
	{ .update_mode = MINIPORT_TABLE_GPU_VIRTUAL },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .flags = TABLES_END_INVALID },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .has_system_tables = true },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .root_bits = 6 },
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
		asked.evicted |= UINT64_C(1) << (op->target.offset_bytes >> MACHINE_PAGE_SHIFT);
	asked.after_flush += is_eviction && asked.flushes > 0;
	asked.flushes += op->kind == MINIPORT_PAGING_FLUSH_TLB && op->flush_tlb.driver_process;
	if (!asked.must_fail || op->kind != asked.fails)
		return STATUS_PENDING;
	asked.must_fail = false;
	return STATUS_UNSUCCESSFUL;
}

static void start_noting(void)
{
	flush();
	memset(&asked, 0, sizeof(asked));
	world.fake->hook = note;
}

static void update_now(struct party *party, uint64_t page, struct memory *memory)
{
	update(party, page, 4, memory);
}

/* Everything but what others have is taken away from the first one, which has pools. */
static void start_crowded(const struct shape *shape)
{
	start_as(shape);
	reserve_zeroes(app, BASE, 512);
	update_now(app, BASE, &memories[0]);
	EXPECT(app->space->pools);
	EXPECT(app->space->pools->tables.table_bytes > 0);
	start_noting();
	take_all();
}

static void start_crowded_as_usual(void)
{
	start_crowded(&gpu_shapes[1]);
}

/* ---- out and in ---- */

TEST(pools_eviction, they_leave_with_the_tables_that_are_copied_to)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		start_crowded(&gpu_shapes[i]);
		EXPECT(app->space->tables.is_out);
		EXPECT(app->space->pools->tables.is_out);
		check();
		finish();
	}
}

/* NotifyEviction, for each of both, and then the TLB. */
TEST(pools_eviction, the_driver_hears_of_each_table_that_leaves_before_the_tlb_forgets)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		start_crowded(&gpu_shapes[i]);
		EXPECT_EQ(__builtin_popcountll(asked.evicted),
			  table_bytes_of(app) / MACHINE_PAGE_BYTES);
		EXPECT_EQ(asked.after_flush, 0);
		EXPECT(asked.flushes >= 2); /* of either root */
		finish();
	}
}

TEST(pools_eviction, entries_are_copied_again_when_they_are_back)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		start_crowded(&gpu_shapes[i]);
		have_back(app);
		EXPECT(shows(app, BASE, &memories[0], 0));
		check();
		EXPECT_EQ(asked.copies, 0);
		update_now(app, BASE + 8, &memories[0]);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(app, BASE + 8, &memories[0], 0));
		EXPECT(shows(app, BASE + 11, &memories[0], 3));
		EXPECT(!shows(app, BASE + 12, &memories[0], 4));
		finish();
	}
}

/* It may wait for a fence for ever, and keeps no table in place. */
TEST(pools_eviction, an_update_that_was_made_before_copies_from_where_they_are_now)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct space_update *late;
		struct told told = { 0 };

		start_as(&gpu_shapes[i]);
		reserve_zeroes(app, BASE, 512);
		late = make_update(app, BASE, 4, &memories[0], &told);
		start_noting();
		evict_segment(world.manager, FAKE_LOCAL);
		wait_until(app, VIDMM_TABLES_IN); /* out, and in again: there is room */
		flush();
		EXPECT(asked.evicted != 0);
		run_update(late, &told);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(app, BASE, &memories[0], 0));
		finish();
	}
}

/* ---- while they are out ---- */

TEST(pools_eviction, an_update_whose_turn_comes_meanwhile_copies_nothing_and_is_seen_afterwards)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		start_crowded(&gpu_shapes[i]);
		update_now(app, BASE + 8, &memories[0]);
		EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
		EXPECT(thing_is_in(&crowd));
		EXPECT_EQ(asked.copies, 0);
		check();
		have_back(app);
		EXPECT(shows(app, BASE + 8, &memories[0], 0));
		finish();
	}
}

/* There is no table yet for what is kept there: somebody goes for it, and the others come, too. */
TEST(pools_eviction, an_update_that_shows_more_has_them_back_first)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		struct memory large;

		start_crowded(&gpu_shapes[i]);
		memory_init(&large, 512, MEMORY_FIRST + 64 * PAGES);
		update_now(app, BASE + 8, &large);
		EXPECT_EQ(state_of(app), VIDMM_TABLES_IN);
		EXPECT(!thing_is_in(&crowd));
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(app, BASE, &memories[0], 0));
		EXPECT(shows(app, BASE + 8, &large, 0));
		check();
		drop_memory(&large);
		mapped_memory_finish(&large.mapped);
		finish();
	}
}

TEST(pools_eviction, the_first_update_has_them_back_first)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		start_as(&gpu_shapes[i]);
		reserve_zeroes(app, BASE, 512);
		crowd_out();
		start_noting();
		update_now(app, BASE, &memories[0]);
		EXPECT_EQ(state_of(app), VIDMM_TABLES_IN);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(app, BASE, &memories[0], 0));
		EXPECT(shows(app, 510, &memories[0], 0));
		finish();
	}
}

TEST(pools_eviction, what_moves_or_goes_meanwhile_is_copied_from_where_it_is)
{
	start_crowded_as_usual();
	update_now(app, BASE + 8, &memories[0]);
	move_memory(&memories[0], MEMORY_FIRST + 9 * PAGES);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
	have_back(app);
	EXPECT(shows(app, BASE + 8, &memories[0], 0));
	update_now(app, BASE + 16, &memories[0]);
	EXPECT_EQ(asked.copies, 1);
	EXPECT(shows(app, BASE + 16, &memories[0], 0));
	evict_segment(world.manager, FAKE_LOCAL);
	drop_memory(&memories[0]);
	have_back(app);
	EXPECT_EQ(walk(app, BASE + 8), 0);
	finish();
}

TEST(pools_eviction, a_space_ends_while_they_are_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		start_crowded(&gpu_shapes[i]);
		party_leave(app);
		party_join(app);
		finish();
	}
}

/* ---- room ---- */

TEST(pools_eviction, others_go_for_what_is_kept_to_be_copied)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		start_as(&gpu_shapes[i]);
		reserve_zeroes(app, BASE, 512);
		(void)owner_of(app, &memories[0]);
		start_noting();
		crowd_in(LOCAL_PAGES - table_bytes() / MACHINE_PAGE_BYTES);
		queue_work(app); /* its tables stay */
		update_now(app, BASE, &memories[0]);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(app, BASE, &memories[0], 0));
		EXPECT(!thing_is_in(&crowd));
		end_work(app);
		finish();
	}
}

TEST(pools_eviction, without_room_an_update_is_refused_and_nothing_changed)
{
	struct gpuva_operation operation;
	struct space_update *refused = NULL;
	struct refusal_scope scope;
	struct thing thing;

	start();
	reserve_zeroes(app, BASE, 512);
	party_leave(other);
	thing_add(&thing, app, LOCAL_PAGES - table_bytes() / MACHINE_PAGE_BYTES);
	operation = operation_at(app, BASE, 4, &memories[0]);
	refusal_begin(&scope, "test");
	EXPECT_EQ(try_update(app, &operation, 1, NULL, &refused), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	(void)refusal_end(&scope);
	EXPECT_RULE("MM-TABLE-ROOM");
	EXPECT(thing_is_in(&thing));
	thing_finish(&thing);
	update_now(app, BASE, &memories[0]);
	EXPECT(shows(app, BASE, &memories[0], 0));
	party_join(other);
	finish();
}

TEST(pools_eviction, memory_that_runs_out_on_the_way_refuses_and_the_next_one_is_carried_out)
{
	EACH_FAILURE (failing, 5) {
		struct gpuva_operation operation;
		struct space_update *made = NULL;
		struct told told = { 0 };
		NTSTATUS status;

		start_crowded_as_usual();
		operation = operation_at(app, 300 * 512, 4, &memories[1]);
		reserve_zeroes(app, 300 * 512, 512);
		flush();
		failing_start(&failing);
		status = try_update(app, &operation, 1, &told, &made);
		flush();
		bool fired = failing_stop(&failing);
		if (NT_SUCCESS(status))
			run_update(made, &told);
		else
			EXPECT(fired && (status == STATUS_NO_MEMORY ||
					 status == STATUS_GRAPHICS_NO_VIDEO_MEMORY));
		check();
		crowd_leaves(); /* what could not leave is not asked again as things are */
		update_now(app, 300 * 512 + 8, &memories[1]);
		have_back(app);
		EXPECT(shows(app, 300 * 512 + 8, &memories[1], 0));
		finish();
	}
}

/* ---- ways that go wrong ---- */

WORLD_TEST(pools_eviction, a_driver_that_does_not_let_them_go_keeps_them_as_they_were)
{
	reserve_zeroes(app, BASE, 512);
	update_now(app, BASE, &memories[0]);
	start_noting();
	asked.fails = MINIPORT_PAGING_FLUSH_TLB;
	asked.must_fail = true;
	evict_segment(world.manager, FAKE_LOCAL);
	wait_until(app, VIDMM_TABLES_IN);
	EXPECT(!asked.must_fail);
	check();
	update_now(app, BASE + 8, &memories[0]);
	EXPECT_EQ(asked.copies, 1);
	EXPECT(shows(app, BASE, &memories[0], 0));
	EXPECT(shows(app, BASE + 8, &memories[0], 0));
}

static void broken(void *context, NTSTATUS status)
{
	struct party *party = context;

	EXPECT(!NT_SUCCESS(status));
	vidmm_device_lose(&party->device);
}

TEST(pools_eviction, a_driver_that_does_not_let_them_in_breaks_both_until_they_are_written_anew)
{
	start_crowded_as_usual();
	address_space_watch(app->space, &(struct space_listener){ broken, app });
	asked.fails = MINIPORT_PAGING_UPDATE_PAGE_TABLE;
	asked.must_fail = true;
	have_back(app);
	EXPECT(!asked.must_fail);
	EXPECT(app->device.is_lost);
	EXPECT(!address_space_is_broken(app->space));
	EXPECT(!address_space_is_broken(app->space->pools));
	check();
	finish();
}

TEST(pools_eviction, a_reset_takes_nothing_from_what_is_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_shapes); i++) {
		start_crowded(&gpu_shapes[i]);
		reset();
		have_back(app);
		check();
		update_now(app, BASE + 8, &memories[0]);
		EXPECT_EQ(asked.copies, 1);
		EXPECT(shows(app, BASE, &memories[0], 0));
		EXPECT(shows(app, BASE + 8, &memories[0], 0));
		finish();
	}
}

WORLD_TEST(pools_eviction, a_way_out_that_meets_a_reset_is_at_its_end)
{
	reserve_zeroes(app, BASE, 512);
	update_now(app, BASE, &memories[0]);
	start_noting();
	fake_set_automatic(world.fake, false);
	evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_LEAVING);
	reset();
	wait_until(app, VIDMM_TABLES_IN);
	check();
	update_now(app, BASE + 8, &memories[0]);
	EXPECT_EQ(asked.copies, 1);
	EXPECT(shows(app, BASE + 8, &memories[0], 0));
}

/* ---- threads ---- */

struct updater {
	struct party *party;
	uint64_t first_page;
};

static void updater_run(void *argument)
{
	struct updater *updater = argument;

	for (uint64_t i = 0; i < 40; i++) {
		update_now(updater->party, updater->first_page + i % 8 * 4,
			   &memories[i % MEMORIES]);
	}
}

/* The first updates of a process come at once: it has one place to copy from. */
TEST(pools_eviction, threads_that_update_and_threads_that_evict_do_not_hold_each_other_up)
{
	struct updater updaters[4];
	struct thread *threads[4];

	start();
	for (int i = 0; i < PARTIES; i++)
		reserve_zeroes(&parties[i], BASE, 512);
	for (uint64_t i = 0; i < 4; i++) {
		updaters[i] = (struct updater){ &parties[i % PARTIES], BASE + i * 64 };
		EXPECT_EQ(thread_create("updater", updater_run, &updaters[i], &threads[i]),
			  STATUS_SUCCESS);
	}
	for (int i = 0; i < 40; i++)
		evict_segment(world.manager, 0);
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	for (int i = 0; i < PARTIES; i++)
		wait_until(&parties[i], VIDMM_TABLES_IN);
	settle();
	for (uint64_t i = 0; i < 4; i++)
		EXPECT(shows(&parties[i % PARTIES], BASE + i * 64 + 28, &memories[3], 0));
	finish();
}

TEST_MAIN("address_space/pools_eviction")
