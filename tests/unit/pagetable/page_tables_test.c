/* SPDX-License-Identifier: MIT */
/* page_tables_test.c - what each rule of page tables comes to, by the operations and by a walk. */
#include "world.h"

enum { RW = GPUVA_WRITE };

static const struct shape *const four = &shapes[3];
static const struct shape *const three = &shapes[2];

static uint64_t seen(struct world *world, uint64_t page)
{
	return world_walk_packed(world, page);
}

static uint64_t shown(const struct memory *memory, uint64_t offset, uint64_t flags)
{
	return memory_page(memory, offset) << PACKED_PAGE_SHIFT |
	       (uint64_t)memory->segment << PACKED_SEGMENT_SHIFT | PACKED_VALID | flags;
}

TEST(tables, an_empty_space_is_a_root_with_invalid_entries)
{
	for (int s = 0; s < SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);

		EXPECT_EQ(world->tables.table_count, 1);
		EXPECT_EQ(world->initials, 1);
		world_valid(world);
		world_destroy(world);
	}
}

TEST(tables, a_mapped_page_is_found_by_a_walk_and_its_neighbours_are_not)
{
	for (int s = 0; s < SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		struct memory *memory = &world->memories[0];

		memory_place(memory, LOCAL, 100, false);
		for (int w = 0; w < WINDOWS; w++) {
			uint64_t page = world->windows[w] + 8;

			EXPECT_EQ(world_map(world, page, 40, memory, 3, RW | GPUVA_EXECUTE, 0),
				  STATUS_SUCCESS);
			for (uint64_t i = 0; i < 40; i++)
				EXPECT_EQ(seen(world, page + i), shown(memory, 3 + i, 0));
			EXPECT_EQ(seen(world, page - 1), 0);
			EXPECT_EQ(seen(world, page + 40), 0);
		}
		world_valid(world);
		world_destroy(world);
	}
}

WORLD_TEST(tables, protection_is_said_where_the_gpu_knows_it, four)
{
	struct world *plain = world_create(three);
	struct memory *memory = &world->memories[0];

	memory_place(memory, LOCAL, 7, true);
	EXPECT_EQ(world_map(world, 64, 1, memory, 0, 0, 0), STATUS_SUCCESS);
	EXPECT_EQ(seen(world, 64), shown(memory, 0, PACKED_READ_ONLY | PACKED_NO_EXECUTE));
	EXPECT_EQ(world_map(world, 64, 1, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(seen(world, 64), shown(memory, 0, PACKED_NO_EXECUTE));

	memory_place(&plain->memories[0], LOCAL, 7, true);
	EXPECT_EQ(world_map(plain, 64, 1, &plain->memories[0], 0, 0, 0), STATUS_SUCCESS);
	EXPECT_EQ(seen(plain, 64), shown(&plain->memories[0], 0, 0));
	world_destroy(plain);
}

WORLD_TEST(tables, system_memory_is_cache_coherent_where_the_gpu_knows_it, four)
{
	struct memory *memory = &world->memories[0];

	memory_place(memory, 0, 300, true);
	EXPECT_EQ(world_map(world, 64, 1, memory, 0, RW | GPUVA_EXECUTE, 0), STATUS_SUCCESS);
	EXPECT_EQ(seen(world, 64), shown(memory, 0, PACKED_CACHE_COHERENT));
}

WORLD_TEST(tables, an_update_names_the_allocation_its_offset_and_the_drivers_protection, four)
{
	struct memory *memory = &world->memories[1];

	memory_place(memory, LOCAL, 10, false);
	EXPECT_EQ(world_map(world, 64, 20, memory, 5, RW, 0x1234), STATUS_SUCCESS);
	EXPECT(world->last_leaf.subject.driver_allocation == memory);
	EXPECT_EQ(world->last_leaf.offset_bytes, 5 * 4096);
	EXPECT_EQ(world->last_leaf.update_table.driver_protection, 0x1234);
	EXPECT_EQ(world->last_leaf.update_table.first_address, 64 * 4096);
	EXPECT_EQ(world->last_leaf.update_table.count, 20);

	EXPECT_EQ(world_free(world, 64, 20), STATUS_SUCCESS);
	EXPECT(!world->last_leaf.subject.driver_allocation);
	EXPECT_EQ(world->last_leaf.update_table.driver_protection, 0);
}

TEST(tables, memory_that_is_nowhere_has_invalid_entries_until_it_comes)
{
	for (int s = 0; s < SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		struct memory *memory = &world->memories[0];
		uint64_t flags = shapes[s].flags & TABLES_HAVE_NO_EXECUTE ? PACKED_NO_EXECUTE : 0;

		EXPECT_EQ(world_map(world, world->windows[1], 48, memory, 0, RW, 0),
			  STATUS_SUCCESS);
		EXPECT_EQ(world_map(world, world->windows[3], 8, memory, 40, RW, 0),
			  STATUS_SUCCESS);
		EXPECT_EQ(seen(world, world->windows[1] + 41), 0);
		world_valid(world);

		memory_place(memory, LOCAL, 500, false);
		world_follow(world, memory);
		EXPECT_EQ(seen(world, world->windows[1] + 41), shown(memory, 41, flags));
		EXPECT_EQ(seen(world, world->windows[3] + 1), shown(memory, 41, flags));
		world_valid(world);

		memory->is_in = false;
		world_clear(world);
		world_follow(world, memory);
		EXPECT_EQ(seen(world, world->windows[1] + 41), 0);
		EXPECT_EQ(world->flushes, 1);
		world_valid(world);
		world_destroy(world);
	}
}

WORLD_TEST(tables, the_entries_of_all_spaces_come_before_the_first_flush, four)
{
	struct world *other = world_create(four);
	struct memory *memory = &world->memories[0];
	struct mapped_memory_cursor cursor = { 0 };
	struct miniport_paging_op op;
	bool has_flushed = false;
	int updates = 0;
	int flushes = 0;
	struct memory_view view;
	struct gpuva_plan plan;
	struct gpuva_map_request request = {
		.window.base = 64 * 4096, .owner = &view.owner, .page_count = 4, .protection = RW
	};

	memory_place(memory, LOCAL, 10, true);
	memory_view_init(&view, &memory->mapped, &other->tables);
	EXPECT_EQ(world_map(world, 128, 4, memory, 0, RW, 0), STATUS_SUCCESS);
	lock_acquire(&other->tables.lock);
	EXPECT_EQ(world_carry_out(other, &plan,
				  gpuva_plan_map(&other->tables.space, &request, &plan)),
		  STATUS_SUCCESS);

	memory->is_in = false;
	EXPECT(mapped_memory_must_settle(&memory->mapped));
	while (mapped_memory_next(&memory->mapped, &cursor, &op)) {
		bool is_flush = op.kind == MINIPORT_PAGING_FLUSH_TLB;

		EXPECT(is_flush || !has_flushed);
		has_flushed |= is_flush;
		updates += !is_flush;
		flushes += is_flush;
		world_execute(updates + flushes == 1 || (is_flush && flushes == 1) ? world : other,
			      &op);
	}
	EXPECT_EQ(updates, 2);
	EXPECT_EQ(flushes, 2);
	EXPECT_EQ(seen(world, 128), 0);
	EXPECT_EQ(seen(other, 64), 0);
	while (view.owner.range_count > 0) {
		lock_acquire(&other->tables.lock);
		gpuva_plan_drop(&other->tables.space, range_of_owner_link(view.owner.ranges.next),
				&plan);
		EXPECT_EQ(world_carry_out(other, &plan, STATUS_SUCCESS), STATUS_SUCCESS);
	}
	memory_view_finish(&view);
	world_valid(world);
	world_valid(other);
	world_destroy(other);
}

TEST(tables, nothing_is_flushed_that_was_invalid_where_the_tlb_keeps_none_of_that)
{
	struct world *keeps = world_create(three);
	struct world *forgets = world_create(four);

	memory_place(&keeps->memories[0], LOCAL, 1, true);
	memory_place(&forgets->memories[0], LOCAL, 1, true);
	world_clear(keeps);
	world_clear(forgets);
	EXPECT_EQ(world_map(keeps, 64, 4, &keeps->memories[0], 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_map(forgets, 64, 4, &forgets->memories[0], 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(keeps->flushes, 1);
	EXPECT_EQ(forgets->flushes, 0);
	EXPECT_EQ(world_free(forgets, 64, 4), STATUS_SUCCESS);
	EXPECT_EQ(forgets->flushes, 1);
	EXPECT_EQ(forgets->last_flush.flush_tlb.first_address, 64 * 4096);
	EXPECT_EQ(forgets->last_flush.flush_tlb.end_address, 68 * 4096);
	world_destroy(keeps);
	world_destroy(forgets);
}

WORLD_TEST(tables, a_huge_reservation_of_zeroes_takes_one_table_per_level, four)
{
	uint64_t pages = UINT64_C(1) << (46 - 12);
	uint64_t before = world->tables.table_count;

	world_clear(world);
	EXPECT_EQ(world_reserve(world, pages, pages, true, 0), STATUS_SUCCESS);
	EXPECT_EQ(world->tables.table_count, before + 3);
	EXPECT(world->updates < 8);
	EXPECT_EQ(seen(world, pages), PACKED_ZERO);
	EXPECT_EQ(seen(world, 2 * pages - 1), PACKED_ZERO);
	EXPECT_EQ(seen(world, pages - 1), 0);
	EXPECT_EQ(seen(world, 2 * pages), 0);
}

WORLD_TEST(tables, a_huge_reservation_without_access_takes_no_table, four)
{
	uint64_t pages = UINT64_C(1) << (46 - 12);

	world_clear(world);
	EXPECT_EQ(world_reserve(world, pages, pages, false, 0), STATUS_SUCCESS);
	EXPECT_EQ(world->tables.table_count, 1);
	EXPECT_EQ(world->updates, 0);
}

WORLD_TEST(tables, what_is_mapped_into_zeroes_has_zeroes_around_it, four)
{
	struct memory *memory = &world->memories[0];
	uint64_t pages = UINT64_C(1) << (40 - 12);

	memory_place(memory, LOCAL, 77, true);
	EXPECT_EQ(world_reserve(world, pages, pages, true, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_map(world, pages + 1000, 2, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(seen(world, pages + 999), PACKED_ZERO);
	EXPECT_EQ(seen(world, pages + 1000), shown(memory, 0, PACKED_NO_EXECUTE));
	EXPECT_EQ(seen(world, pages + 1002), PACKED_ZERO);
	EXPECT_EQ(seen(world, pages + 512 * 512), PACKED_ZERO);
	EXPECT_EQ(world_map(world, pages + 512 * 512 * 3, 1, NULL, 0, GPUVA_NO_ACCESS, 0),
		  STATUS_SUCCESS);
	EXPECT_EQ(seen(world, pages + 512 * 512 * 3), 0);
	EXPECT_EQ(seen(world, pages + 512 * 512 * 3 + 1), PACKED_ZERO);
	world_drop(world, memory);
	EXPECT_EQ(seen(world, pages + 1000), PACKED_ZERO);
}

TEST(tables, part_of_a_reservation_of_zeroes_can_be_freed)
{
	for (int s = 0; s < SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		uint64_t leaf = gpuva_shape_table_pages(&world->config.shape, 0);
		uint64_t first = 4 * leaf;
		uint64_t zero;

		EXPECT_EQ(world_reserve(world, first, 4 * leaf, true, 0), STATUS_SUCCESS);
		zero = seen(world, first);
		EXPECT(zero != 0);
		EXPECT_EQ(world_free(world, first + leaf + 16, leaf), STATUS_SUCCESS);
		EXPECT_EQ(seen(world, first + leaf + 15), zero);
		EXPECT_EQ(seen(world, first + leaf + 16), 0);
		EXPECT_EQ(seen(world, first + 2 * leaf + 15), 0);
		EXPECT_EQ(seen(world, first + 2 * leaf + 16), zero);
		world_valid(world);
		world_destroy(world);
	}
}

WORLD_TEST(tables, zeroes_with_a_protection_of_the_drivers_have_tables_of_their_own, four)
{
	EXPECT_EQ(world_reserve(world, 1024, 1024, true, 0x55), STATUS_SUCCESS);
	EXPECT_EQ(world->last_leaf.update_table.driver_protection, 0x55);
	EXPECT_EQ(seen(world, 1024), PACKED_ZERO);
}

TEST(tables, without_zero_entries_zeroes_are_a_page_that_is_only_read)
{
	struct world *world = world_create(&shapes[0]);

	EXPECT_EQ(world_reserve(world, 1024, 64, true, 0), STATUS_SUCCESS);
	EXPECT_EQ(seen(world, 1024), world->config.zero_page | PACKED_VALID | PACKED_READ_ONLY);
	EXPECT_EQ(seen(world, 1087), seen(world, 1024));
	world_valid(world);
	world_destroy(world);
}

/* The driver hangs in tables of its own; nobody writes there again. */
WORLD_TEST(tables, entries_of_what_the_driver_reserved_are_left_alone, four)
{
	uint64_t leaf = gpuva_shape_table_pages(&world->config.shape, 0);
	struct gpuva_reserve_request request = { .size_bytes = 2 * leaf * 4096,
						 .is_from_driver = true };
	struct memory *memory = &world->memories[0];
	struct gpuva_plan plan;
	uint64_t first;
	struct table *above;

	memory_place(memory, LOCAL, 5, true);
	EXPECT_EQ(world_map(world, 16, 4, memory, 0, RW, 0), STATUS_SUCCESS);
	lock_acquire(&world->tables.lock);
	NTSTATUS status = gpuva_plan_reserve(&world->tables.space, &request, &plan);
	first = plan.first_page;
	EXPECT_EQ(world_carry_out(world, &plan, status), STATUS_SUCCESS);

	above = tables_at(&world->tables, 1, first);
	EXPECT(above != NULL);
	uint64_t *entry =
		(uint64_t *)above->memory.pointer + table_index(&world->tables, above, first);
	*entry = 0x123456789 << 12;
	world_sync(world, 0, world->config.shape.page_count);
	EXPECT_EQ(world_map(world, first + 2 * leaf, 4, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(*entry, 0x123456789 << 12);
	*entry = 0;
}

TEST(tables, entries_are_invalid_before_a_table_goes_where_the_driver_wants_that)
{
	struct world *world = world_create(four);
	struct memory *memory = &world->memories[0];
	struct table_sync sync;
	struct miniport_paging_op op;

	memory_place(memory, LOCAL, 5, true);
	EXPECT_EQ(world_map(world, 64, 4, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_reserve(world, 1 << 20, 1 << 20, true, 0), STATUS_SUCCESS);
	table_sync_init(&sync, &world->tables, 0, 0);
	sync.is_ending = true;
	uint64_t ended = 0;
	while (table_sync_next(&sync, &op)) {
		EXPECT_EQ(op.kind, MINIPORT_PAGING_UPDATE_PAGE_TABLE);
		EXPECT(op.update_table.is_repeated && !op.update_table.entries[0].is_valid);
		EXPECT(!op.update_table.is_initial);
		world_update(world, &op);
		ended++;
	}
	EXPECT_EQ(ended, world->tables.table_count);
	EXPECT_EQ(seen(world, 64), 0);
	world_destroy(world);
}

TEST(tables, what_a_failed_job_left_is_written_anew)
{
	for (int s = 0; s < SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		struct memory *memory = &world->memories[0];
		struct table_sync sync;
		struct miniport_paging_op op;
		struct gpuva_map_request request = { .window.base = world->windows[1] * 4096,
						     .owner = &memory->view.owner,
						     .page_count = 40,
						     .protection = RW };
		struct gpuva_plan plan;

		memory_place(memory, LOCAL, 5, false);
		lock_acquire(&world->tables.lock);
		EXPECT_EQ(gpuva_plan_map(&world->tables.space, &request, &plan), STATUS_SUCCESS);
		EXPECT_EQ(world_reach_plan_locked(world, &plan), STATUS_SUCCESS);
		EXPECT_EQ(page_tables_make_steps_locked(&world->tables, plan.steps, 1, TABLES_NOW,
							NULL),
			  STATUS_SUCCESS);
		gpuva_plan_apply(&plan);
		gpuva_plan_finish(&plan);
		lock_release(&world->tables.lock);

		table_sync_init(&sync, &world->tables, world->windows[1], 40);
		while (table_sync_next(&sync, &op)) /* and never executed */
			;
		page_tables_distrust(&world->tables, world->windows[1], 40);
		world_sync(world, world->windows[1], 40);
		world_valid(world);
		world_destroy(world);
	}
}

/* What was freed is nowhere in the tables any more, and perhaps still in the TLB. */
TEST(tables, what_a_failed_job_did_not_flush_is_flushed_when_it_is_written_anew)
{
	for (int s = 0; s < SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		struct memory *memory = &world->memories[0];
		uint64_t first_page = world->windows[1];
		struct table_sync sync;
		struct miniport_paging_op op;
		struct gpuva_plan plan;

		memory_place(memory, LOCAL, 5, false);
		EXPECT_EQ(world_map(world, first_page, 40, memory, 0, RW, 0), STATUS_SUCCESS);
		world_valid(world);
		lock_acquire(&world->tables.lock);
		EXPECT_EQ(gpuva_plan_free(&world->tables.space, first_page << GPUVA_PAGE_SHIFT,
					  40 << GPUVA_PAGE_SHIFT, false, &plan),
			  STATUS_SUCCESS);
		gpuva_plan_apply(&plan);
		gpuva_plan_finish(&plan);
		lock_release(&world->tables.lock);
		table_sync_init(&sync, &world->tables, first_page, 40);
		while (table_sync_next(&sync, &op)) {
			if (op.kind != MINIPORT_PAGING_FLUSH_TLB) /* it failed there */
				world_execute(world, &op);
		}
		page_tables_distrust(&world->tables, 0, world->config.shape.page_count);
		world_sync(world, 0, world->config.shape.page_count);
		world_valid(world);
		world_destroy(world);
	}
}

TEST(tables, after_a_reset_everything_is_written_anew)
{
	for (int s = 0; s < SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		struct memory *memory = &world->memories[0];

		memory_place(memory, 0, 5, false);
		for (int w = 0; w < WINDOWS; w++)
			EXPECT_EQ(world_map(world, world->windows[w], 20, memory, 0, RW, 0),
				  STATUS_SUCCESS);
		world->known_count = 0;
		memset(world->memory.local, 0x5A, world->local_used);
		page_tables_forget(&world->tables);
		world_forget_tlb(world);
		world_sync(world, 0, world->config.shape.page_count);
		world_valid(world);
		world_destroy(world);
	}
}

TEST(tables, no_memory_for_a_table_leaves_none_of_them)
{
	for (int s = 0; s < SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);
		struct gpuva_state wanted = { .kind = GPUVA_KIND_ZERO };
		uint64_t fail_at = 0;
		uint64_t pages = 2 * gpuva_shape_table_pages(&world->config.shape, 0) + 32;
		bool fired;

		EXPECT_EQ(world_reach(world, world->windows[1] + pages), STATUS_SUCCESS);
		lock_acquire(&world->tables.lock);
		do {
			uint64_t count = world->tables.table_count;
			uint64_t taken = machine_usage().taken_pages + world->local_taken;

			mem_fail_nth(++fail_at);
			NTSTATUS status = page_tables_make_steps_locked(
				&world->tables,
				&(struct gpuva_step){ world->windows[1], pages, wanted }, 1,
				TABLES_NOW, NULL);
			fired = mem_fail_stop();
			EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
			if (fired)
				EXPECT(world->tables.table_count == count &&
				       machine_usage().taken_pages + world->local_taken == taken);
		} while (fired);
		EXPECT(fail_at > 4);
		lock_release(&world->tables.lock);
		world_destroy(world);
	}
}

WORLD_TEST(tables, no_room_in_a_segment_leaves_none_of_them, four)
{
	struct gpuva_state wanted = { .kind = GPUVA_KIND_MAPPED };
	uint64_t count = world->tables.table_count;

	world->is_local_full = true;
	lock_acquire(&world->tables.lock);
	EXPECT_EQ(page_tables_make_steps_locked(&world->tables,
						&(struct gpuva_step){ 64, 4, wanted }, 1,
						TABLES_NOW, NULL),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	lock_release(&world->tables.lock);
	EXPECT_EQ(world->tables.table_count, count);
}

TEST(tables, a_space_survives_every_failure_to_make_one)
{
	uint64_t fail_at = 0;
	bool fired;

	do {
		struct world *world = calloc(1, sizeof(*world));
		struct mem_usage usage = mem_usage();
		uint64_t pages = machine_usage().taken_pages;

		world_describe(world, &shapes[5]);
		mem_fail_nth(++fail_at);
		NTSTATUS status = page_tables_config_init(&world->config);
		if (NT_SUCCESS(status)) {
			status = page_tables_init(&world->tables, &world->config, NULL, NULL, NULL);
			if (NT_SUCCESS(status))
				page_tables_finish(&world->tables);
			page_tables_config_finish(&world->config);
		}
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT_EQ(mem_usage().blocks, usage.blocks);
		EXPECT_EQ(machine_usage().taken_pages, pages);
		dirty_free(world->memory.local, LOCAL_BYTES);
		free(world);
	} while (fired);
}

WORLD_TEST(tables, one_page_that_repeats_is_one_update_however_long, four)
{
	struct memory *memory = &world->memories[0];
	struct gpuva_operation operation = { .kind = GPUVA_OPERATION_MAP,
					     .base = 512 * 8 * 4096,
					     .size_bytes = 512 * 4096,
					     .owner = &memory->view.owner,
					     .offset_bytes = 3 * 4096,
					     .repeat_bytes = 4096 };

	memory_place(memory, LOCAL, 5, true);
	EXPECT_EQ(world_reserve(world, 512 * 8, 1024, true, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_operate(world, &operation, 1), STATUS_SUCCESS);
	EXPECT(world->last_leaf.update_table.is_repeated);
	EXPECT_EQ(world->last_leaf.update_table.count, 512);
	EXPECT_EQ(seen(world, 512 * 8 + 511), shown(memory, 3, PACKED_NO_EXECUTE));
	operation.repeat_bytes = 4 * 4096;
	EXPECT_EQ(world_operate(world, &operation, 1), STATUS_SUCCESS);
	EXPECT_EQ(seen(world, 512 * 8 + 511), shown(memory, 6, PACKED_NO_EXECUTE));
}

/* All entries of a table at once are kept as no more than that; who reads them sees each. */
WORLD_TEST(tables, what_was_given_is_read_back_also_of_a_table_that_was_written_at_once, four)
{
	struct memory *memory = &world->memories[0];
	const struct gpuva_operation operation = { .kind = GPUVA_OPERATION_MAP,
						   .base = 512 * 8 * 4096,
						   .size_bytes = 512 * 4096,
						   .owner = &memory->view.owner,
						   .offset_bytes = 3 * 4096,
						   .repeat_bytes = 4096 };
	const uint32_t path[] = { 0, 8, 0, 0 };
	const uint32_t no_path[] = { 0, 7, 0, 0 };
	struct miniport_pte entries[600];

	memory_place(memory, LOCAL, 5, true);
	EXPECT_EQ(world_reserve(world, 512 * 8, 1024, true, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_operate(world, &operation, 1), STATUS_SUCCESS);
	EXPECT_EQ(page_tables_read(&world->tables, 0, path, false, entries, 600), 512);
	for (uint32_t i = 0; i < 512; i++) {
		EXPECT(entries[i].is_valid);
		EXPECT_EQ(entries[i].page, memory_page(memory, 3));
	}
	EXPECT_EQ(page_tables_read(&world->tables, 0, no_path, false, entries, 600), 0);
}

TEST_MAIN("pagetable/page_tables")
