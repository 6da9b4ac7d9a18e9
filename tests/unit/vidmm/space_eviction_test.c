/* SPDX-License-Identifier: MIT */
/*
 * space_eviction_test.c - what page tables show while they are out, and when they are back: what is
 * true then. And the ways out and in, when something goes wrong on them.
 */
#include "eviction_world.h"

TEST(space_eviction, nothing_leads_from_tables_that_stay_to_where_others_were)
{
	struct world world;
	struct thing thing;

	start_as(&world, &(struct shape){ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
					  .has_system_tables = true });
	crowd_out(&world, &thing);
	EXPECT_EQ(walk(&world, &world.parties[0], 510), 0);
	EXPECT_EQ(walk(&world, &world.parties[0], 300000), 0);
	thing_finish(&thing);
	finish(&world);
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
				       << (op->update_table.offset_bytes >> MACHINE_PAGE_SHIFT);
		seen_leaving.valid_entries += op->update_table.entries[0].is_valid;
		seen_leaving.after_flush += seen_leaving.flushes > 0;
	}
	return STATUS_PENDING;
}

/* Tables in local memory that the driver knows of: of a leaf and its twin perhaps one. */
static uint64_t known_tables(const struct table *table)
{
	uint64_t count = table->place.segment != 0 && table->is_written && !table->shows_wide;

	if (table->wide)
		count += table->wide->is_written;
	for (uint32_t i = 0; table->level > 0 && i < table->entry_count; i++)
		count += table->below[i] ? known_tables(table->below[i]) : 0;
	return count;
}

TEST(space_eviction, the_driver_hears_of_each_table_that_leaves_before_the_tlb_forgets)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct world world;
		struct party *idle = &world.parties[0];
		uint64_t tables;

		start_as(&world, &shapes[i]);
		EXPECT_EQ(map(idle, 510, &world.memories[0], 20), STATUS_PENDING);
		EXPECT_EQ(map(idle, 300000, &world.memories[1], PAGES), STATUS_PENDING);
		flush(&world);
		tables = known_tables(idle->space->tables.root);
		seen_leaving = (struct seen_leaving){ 0 };
		world.fake->hook = see_leaving;
		vidmm_evict_selected(world.manager,
				     &(struct vidmm_selection){ .process = &idle->process });
		wait_until(&world, idle, VIDMM_TABLES_IN); /* there is room: they come back */
		world.fake->hook = NULL;
		EXPECT_EQ(__builtin_popcountll(seen_leaving.tables), tables);
		EXPECT_EQ(seen_leaving.valid_entries, 0);
		EXPECT_EQ(seen_leaving.after_flush, 0);
		EXPECT(seen_leaving.flushes > 0);
		EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
		finish(&world);
	}
}

/* ---- while they are out ---- */

/* Nothing has to be written, and nobody goes for it. */
TEST(space_eviction, a_request_that_needs_no_new_table_does_not_wait_for_them)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;

	start(&world);
	crowd_out(&world, &thing);
	EXPECT_EQ(release(idle, 510, 20), STATUS_SUCCESS);
	EXPECT_EQ(map(idle, 515, &world.memories[2], 4), STATUS_PENDING);
	flush(&world);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	EXPECT(thing_is_in(&thing));
	check(&world);
	queue_work(idle);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	EXPECT_EQ(walk(&world, idle, 510), 0);
	EXPECT(shows(&world, idle, 515, &world.memories[2], 0));
	EXPECT_EQ(walk(&world, idle, 519), 0);
	end_work(idle);
	thing_finish(&thing);
	finish(&world);
}

static void update_done(void *context, NTSTATUS status)
{
	EXPECT_EQ(status, STATUS_SUCCESS);
	atomic_fetch_add((_Atomic uint32_t *)context, 1);
}

/* It may wait for a fence for ever. */
TEST(space_eviction, an_update_that_waits_for_its_turn_keeps_no_table_in_place)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;
	struct space_update *update = NULL;
	_Atomic uint32_t done = 0;

	start(&world);
	EXPECT_EQ(reserve_zeroes(idle, 40 * 512, 512), STATUS_PENDING);
	struct gpuva_operation operation = { .kind = GPUVA_OPERATION_MAP,
					     .base = UINT64_C(40) * 512 << GPUVA_PAGE_SHIFT,
					     .size_bytes = 4 << GPUVA_PAGE_SHIFT,
					     .owner = owner_of(idle, &world.memories[3]) };
	EXPECT_EQ(address_space_update(
			  idle->space, &operation, 1,
			  &(struct space_listener){ .done = update_done, .context = &done },
			  &update),
		  STATUS_SUCCESS);
	crowd_out(&world, &thing);
	space_update_run(update);
	flush(&world);
	EXPECT_EQ(atomic_load(&done), 1);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	queue_work(idle);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	EXPECT(shows(&world, idle, 40 * 512, &world.memories[3], 0));
	end_work(idle);
	thing_finish(&thing);
	finish(&world);
}

TEST(space_eviction, a_request_has_them_back_first)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;

		start_as(&world, &shapes[i]);
		crowd_out(&world, &thing);
		EXPECT_EQ(map(idle, 600000, &world.memories[2], 8), STATUS_PENDING);
		flush(&world);
		EXPECT_EQ(state_of(idle), VIDMM_TABLES_IN);
		EXPECT(shows(&world, idle, 600000, &world.memories[2], 0));
		EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
		EXPECT_EQ(release(idle, 510, 20), STATUS_SUCCESS);
		flush(&world);
		EXPECT_EQ(walk(&world, idle, 510), 0);
		thing_finish(&thing);
		finish(&world);
	}
}

TEST(space_eviction, what_is_dropped_meanwhile_is_gone_when_they_are_back)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;

	start(&world);
	crowd_out(&world, &thing);
	drop_memory(&world, &world.memories[1]);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	check(&world);
	queue_work(idle);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	EXPECT_EQ(walk(&world, idle, 300000), 0);
	EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
	end_work(idle);
	thing_finish(&thing);
	finish(&world);
}

TEST(space_eviction, what_moved_meanwhile_is_found_where_it_is)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;

	start(&world);
	crowd_out(&world, &thing);
	move_memory(&world, &world.memories[0], MEMORY_FIRST + 9 * PAGES);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
	queue_work(idle);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	EXPECT_EQ(world.memories[0].first_page, MEMORY_FIRST + 9 * PAGES);
	EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
	move_memory(&world, &world.memories[0], MEMORY_FIRST + 5 * PAGES);
	EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
	end_work(idle);
	thing_finish(&thing);
	finish(&world);
}

TEST(space_eviction, a_space_ends_while_its_tables_are_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		struct world world;
		struct thing thing;

		start_as(&world, &shapes[i]);
		crowd_out(&world, &thing);
		party_leave(&world.parties[0]);
		party_join(&world, &world.parties[0]);
		flush(&world);
		thing_finish(&thing);
		finish(&world);
	}
}

/* ---- ways that go wrong ---- */

TEST(space_eviction, a_reset_takes_nothing_from_tables_that_are_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i += 2) {
		struct world world;
		struct party *idle = &world.parties[0];
		struct thing thing;

		start_as(&world, &shapes[i]);
		crowd_out(&world, &thing);
		pager_suspend(world.fake->pager);
		vidmm_reset(world.manager);
		pager_restart(world.fake->pager);
		flush(&world);
		queue_work(idle);
		wait_until(&world, idle, VIDMM_TABLES_IN);
		flush(&world);
		EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
		end_work(idle);
		thing_finish(&thing);
		finish(&world);
	}
}

TEST(space_eviction, a_way_out_that_meets_a_reset_is_at_its_end)
{
	struct world world;
	struct party *idle = &world.parties[0];

	start(&world);
	EXPECT_EQ(map(idle, 510, &world.memories[0], 20), STATUS_PENDING);
	flush(&world);
	fake_set_automatic(world.fake, false);
	vidmm_evict_segment(world.manager, FAKE_LOCAL);
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_LEAVING);
	pager_suspend(world.fake->pager);
	while (fake_in_flight(world.fake) > 0)
		fake_retire_one(world.fake, SCHED_CANCELLED);
	fake_set_automatic(world.fake, true);
	vidmm_reset(world.manager);
	pager_restart(world.fake->pager);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	flush(&world);
	EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
	finish(&world);
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

TEST(space_eviction, tables_that_a_driver_does_not_let_go_stay)
{
	struct world world;
	struct party *idle = &world.parties[0];

	start(&world);
	EXPECT_EQ(map(idle, 510, &world.memories[0], 20), STATUS_PENDING);
	flush(&world);
	world.fake->hook = refuse_flush;
	vidmm_evict_selected(world.manager, &(struct vidmm_selection){ .process = &idle->process });
	wait_until(&world, idle, VIDMM_TABLES_IN);
	flush(&world);
	EXPECT_EQ(world.fake->hook_count, 1);
	EXPECT(runs(&world, idle));
	EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
	finish(&world);
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
TEST(space_eviction, tables_that_a_driver_does_not_let_in_break_the_space)
{
	struct world world;
	struct party *idle = &world.parties[0];
	struct thing thing;

	start(&world);
	address_space_watch(idle->space,
			    &(struct space_listener){ .done = broken, .context = idle });
	crowd_out(&world, &thing);
	world.fake->hook = refuse_new_tables;
	queue_work(idle);
	wait_until(&world, idle, VIDMM_TABLES_IN);
	settle(&world);
	EXPECT_EQ(world.fake->hook_count, 1);
	EXPECT(idle->device.is_lost);
	EXPECT(!address_space_is_broken(idle->space));
	EXPECT(shows(&world, idle, 510, &world.memories[0], 0));
	end_work(idle);
	thing_finish(&thing);
	finish(&world);
}

TEST_MAIN("vidmm/space_eviction")
