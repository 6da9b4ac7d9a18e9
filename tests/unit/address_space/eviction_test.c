/* SPDX-License-Identifier: MIT */
/*
 * eviction_test.c - what page tables show while they are out, and when they are back: what is
 * true then. And the ways out and in, when something goes wrong on them.
 */
#include "steps.h"

TEST(space_eviction, nothing_leads_from_tables_that_stay_to_where_others_were)
{
	start_as(&(struct shape){ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
				  .has_system_tables = true });
	crowd_out();
	EXPECT_EQ(walk(app, 510), 0);
	EXPECT_EQ(walk(app, 300000), 0);
	finish();
}

/* What is made of them: how many tables were said to go, and whether that was before the TLB. */
struct seen_leaving {
	uint64_t tables; /* a bit for each page */
	uint32_t valid_entries;
	uint32_t flushes;
	uint32_t after_flush;
};
static struct seen_leaving seen_leaving;

static NTSTATUS see_leaving(struct fake *fake, const struct miniport_paging_op *op,
			    struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)fake;
	(void)buffer;
	(void)multipass;
	if (op->kind == MINIPORT_PAGING_FLUSH_TLB && op->flush_tlb.driver_process)
		seen_leaving.flushes++;
	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE && op->update_table.is_eviction) {
		/* It is asked again for what had no room in its buffer. */
		seen_leaving.tables |= UINT64_C(1)
				       << (op->target.offset_bytes >> MACHINE_PAGE_SHIFT);
		seen_leaving.valid_entries += op->update_table.entries[0].is_valid;
		seen_leaving.after_flush += seen_leaving.flushes > 0;
	}
	return STATUS_PENDING;
}

/* Tables in local memory that the driver knows of: of a leaf and its twin perhaps one. */
static uint64_t known_tables(const struct table *table)
{
	uint64_t count = table->memory.segment != 0 && table->is_written && !table->shows_wide;

	if (table->wide)
		count += table->wide->is_written;
	for (uint32_t i = 0; table->level > 0 && i < table->entry_count; i++)
		count += table->below[i] ? known_tables(table->below[i]) : 0;
	return count;
}

/* From the first entry to the TLB of each way. Room for the way back is the decision's. */
static NTSTATUS take_memory_away(struct fake *fake, const struct miniport_paging_op *op,
				 struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)buffer;
	(void)multipass;
	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE && op->update_table.driver_process)
		mem_fail_nth(1);
	if (op->kind == MINIPORT_PAGING_FLUSH_TLB && op->flush_tlb.driver_process)
		fake->hook_count += mem_fail_stop();
	return STATUS_PENDING;
}

/* What was decided is carried out, however little memory there is. */
TEST(space_eviction, neither_way_takes_memory)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		start_as(&shapes[i]);
		EXPECT_EQ(map(app, 510, &memories[0], PAGES), STATUS_PENDING);
		map_now(app, 300000, &memories[1], PAGES);
		world.fake->hook_count = 0;
		world.fake->hook = take_memory_away;
		vidmm_evict_selected(world.manager,
				     &(struct vidmm_selection){ .process = &app->process });
		wait_until(app, VIDMM_TABLES_IN); /* there is room: they come back */
		world.fake->hook = NULL;
		EXPECT(!mem_fail_stop());
		EXPECT_EQ(world.fake->hook_count, 0);
		EXPECT(shows(app, 510, &memories[0], 0));
		finish();
	}
}

TEST(space_eviction, the_driver_hears_of_each_table_that_leaves_before_the_tlb_forgets)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		uint64_t tables;

		start_as(&shapes[i]);
		EXPECT_EQ(map(app, 510, &memories[0], 20), STATUS_PENDING);
		map_now(app, 300000, &memories[1], PAGES);
		tables = known_tables(app->space->tables.root);
		seen_leaving = (struct seen_leaving){ 0 };
		world.fake->hook = see_leaving;
		vidmm_evict_selected(world.manager,
				     &(struct vidmm_selection){ .process = &app->process });
		wait_until(app, VIDMM_TABLES_IN); /* there is room: they come back */
		world.fake->hook = NULL;
		EXPECT_EQ(__builtin_popcountll(seen_leaving.tables), tables);
		EXPECT_EQ(seen_leaving.valid_entries, 0);
		EXPECT_EQ(seen_leaving.after_flush, 0);
		EXPECT(seen_leaving.flushes > 0);
		EXPECT(shows(app, 510, &memories[0], 0));
		finish();
	}
}

/* ---- while they are out ---- */

/* Nothing has to be written, and nobody goes for it. */
WORLD_TEST(space_eviction, a_request_that_needs_no_new_table_does_not_wait_for_them)
{
	crowd_out();
	EXPECT_EQ(release(app, 510, 20), STATUS_SUCCESS);
	map_now(app, 515, &memories[2], 4);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
	EXPECT(thing_is_in(&crowd));
	check();
	have_back(app);
	EXPECT_EQ(walk(app, 510), 0);
	EXPECT(shows(app, 515, &memories[2], 0));
	EXPECT_EQ(walk(app, 519), 0);
}

/* It may wait for a fence for ever. */
TEST(space_eviction, an_update_that_waits_for_its_turn_keeps_no_table_in_place)
{
	struct space_update *update;
	struct told told = { 0 };

	start();
	reserve_zeroes(app, 40 * 512, 512);
	update = make_update(app, 40 * 512, 4, &memories[3], &told);
	crowd_out();
	run_update(update, &told);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
	have_back(app);
	EXPECT(shows(app, 40 * 512, &memories[3], 0));
	finish();
}

TEST(space_eviction, a_request_has_them_back_first)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		start_as(&shapes[i]);
		crowd_out();
		map_now(app, 600000, &memories[2], 8);
		EXPECT_EQ(state_of(app), VIDMM_TABLES_IN);
		EXPECT(shows(app, 600000, &memories[2], 0));
		EXPECT(shows(app, 510, &memories[0], 0));
		EXPECT_EQ(release(app, 510, 20), STATUS_SUCCESS);
		flush();
		EXPECT_EQ(walk(app, 510), 0);
		finish();
	}
}

WORLD_TEST(space_eviction, what_is_dropped_meanwhile_is_gone_when_they_are_back)
{
	crowd_out();
	drop_memory(&memories[1]);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
	check();
	have_back(app);
	EXPECT_EQ(walk(app, 300000), 0);
	EXPECT(shows(app, 510, &memories[0], 0));
}

WORLD_TEST(space_eviction, what_moved_meanwhile_is_found_where_it_is)
{
	crowd_out();
	move_memory(&memories[0], MEMORY_FIRST + 9 * PAGES);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
	have_back(app);
	EXPECT_EQ(memories[0].first_page, MEMORY_FIRST + 9 * PAGES);
	EXPECT(shows(app, 510, &memories[0], 0));
	move_memory(&memories[0], MEMORY_FIRST + 5 * PAGES);
	EXPECT(shows(app, 510, &memories[0], 0));
}

TEST(space_eviction, a_space_ends_while_its_tables_are_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		start_as(&shapes[i]);
		crowd_out();
		party_leave(app);
		party_join(app);
		flush();
		finish();
	}
}

/* ---- ways that go wrong ---- */

TEST(space_eviction, a_reset_takes_nothing_from_tables_that_are_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		start_as(&shapes[i]);
		crowd_out();
		reset();
		have_back(app);
		EXPECT(shows(app, 510, &memories[0], 0));
		finish();
	}
}

WORLD_TEST(space_eviction, a_way_out_that_meets_a_reset_is_at_its_end)
{
	map_now(app, 510, &memories[0], 20);
	fake_set_automatic(world.fake, false);
	evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(app), VIDMM_TABLES_LEAVING);
	reset();
	wait_until(app, VIDMM_TABLES_IN);
	flush();
	EXPECT(shows(app, 510, &memories[0], 0));
}

static NTSTATUS refuse_flush(struct fake *fake, const struct miniport_paging_op *op,
			     struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)buffer;
	(void)multipass;
	if (op->kind != MINIPORT_PAGING_FLUSH_TLB || !op->flush_tlb.driver_process ||
	    fake->hook_count > 0)
		return STATUS_PENDING;
	fake->hook_count++;
	return STATUS_UNSUCCESSFUL;
}

WORLD_TEST(space_eviction, tables_that_a_driver_does_not_let_go_stay)
{
	map_now(app, 510, &memories[0], 20);
	world.fake->hook = refuse_flush;
	vidmm_evict_selected(world.manager, &(struct vidmm_selection){ .process = &app->process });
	wait_until(app, VIDMM_TABLES_IN);
	flush();
	EXPECT_EQ(world.fake->hook_count, 1);
	EXPECT(runs(app));
	EXPECT(shows(app, 510, &memories[0], 0));
}

static NTSTATUS refuse_new_tables(struct fake *fake, const struct miniport_paging_op *op,
				  struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)buffer;
	(void)multipass;
	if (op->kind != MINIPORT_PAGING_UPDATE_PAGE_TABLE || !op->update_table.driver_process ||
	    !op->update_table.is_initial || fake->hook_count > 0)
		return STATUS_PENDING;
	fake->hook_count++;
	return STATUS_UNSUCCESSFUL;
}

static void broken(void *context, NTSTATUS status)
{
	struct party *party = context;

	EXPECT(!NT_SUCCESS(status));
	vidmm_device_lose(&party->device);
}

/* As after any change of tables that fails: nothing runs there, and all is written anew. */
WORLD_TEST(space_eviction, tables_that_a_driver_does_not_let_in_break_the_space)
{
	address_space_watch(app->space, &(struct space_listener){ .done = broken, .context = app });
	crowd_out();
	world.fake->hook = refuse_new_tables;
	have_back(app);
	EXPECT_EQ(world.fake->hook_count, 1);
	EXPECT(app->device.is_lost);
	EXPECT(!address_space_is_broken(app->space));
	EXPECT(shows(app, 510, &memories[0], 0));
}

TEST_MAIN("address_space/eviction")
