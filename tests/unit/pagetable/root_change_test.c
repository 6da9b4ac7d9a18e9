/* SPDX-License-Identifier: MIT */
/*
 * root_change_test.c - a root of two levels that grows: DXGK_PAGE_TABLE_LEVEL_DESC gives its first
 * size, and an index of NumEntries or more is a fault.
 */
#include "world.h"
#include "support/failing.h"

enum { RW = GPUVA_WRITE, GROWING = 8, EMPTY = 1 };

static const struct shape *const growing = &shapes[GROWING];
static const struct shape *const empty = &shapes[EMPTY];

static uint64_t shown(const struct memory *memory, uint64_t offset)
{
	return memory_page(memory, offset) << PACKED_PAGE_SHIFT |
	       (uint64_t)memory->segment << PACKED_SEGMENT_SHIFT | PACKED_VALID;
}

static void map(struct world *world, uint64_t page, struct memory *memory)
{
	EXPECT_EQ(world_map(world, page, 8, memory, 0, RW, 0), STATUS_SUCCESS);
	for (uint64_t i = 0; i < 8; i++)
		EXPECT_EQ(world_walk_packed(world, page + i), shown(memory, i));
}

/* Nothing runs while there are two; one of them shows something. */
static void begin_change(struct world *world, struct root_change *change)
{
	memory_place(&world->memories[0], LOCAL, 100, false);
	map(world, 8, &world->memories[0]);
	EXPECT_EQ(root_change_begin(change, &world->tables, 100, NULL), STATUS_SUCCESS);
	world->is_held = true;
}

TEST(root, it_begins_with_as_many_entries_as_it_is_described_with)
{
	struct world *four_entries = world_create(growing);
	struct world *none = world_create(empty);

	EXPECT_EQ(four_entries->root.entry_count, 4);
	EXPECT_EQ(four_entries->tables.end_page, 32);
	EXPECT_EQ(none->root.entry_count, 1);
	EXPECT_EQ(none->tables.end_page, 512);
	world_valid(four_entries);
	world_valid(none);
	world_destroy(four_entries);
	world_destroy(none);
}

WORLD_TEST(root, it_grows_when_something_is_shown_above_it_and_keeps_what_it_had, growing)
{
	struct page_tables_root before = world->root;

	memory_place(&world->memories[0], LOCAL, 100, false);
	memory_place(&world->memories[1], LOCAL, 200, false);
	map(world, 8, &world->memories[0]);
	EXPECT_EQ(world->growths, 0);
	map(world, 40, &world->memories[1]);
	EXPECT_EQ(world->growths, 1);
	EXPECT(world->root.offset_bytes != before.offset_bytes);
	EXPECT_EQ(world_walk_packed(world, 8), shown(&world->memories[0], 0));
	EXPECT_EQ(world->tables.table_count, 3);
}

WORLD_TEST(root, it_grows_to_twice_its_size_or_to_what_is_needed_and_never_beyond_the_addresses,
	   growing)
{
	EXPECT_EQ(world_grow(world, 33), STATUS_SUCCESS);
	EXPECT_EQ(world->root.entry_count, 8);
	EXPECT_EQ(world_grow(world, 801), STATUS_SUCCESS);
	EXPECT_EQ(world->root.entry_count, 101);
	EXPECT_EQ(world_grow(world, world->config.shape.page_count - 8), STATUS_SUCCESS);
	EXPECT_EQ(world->root.entry_count, 511);
	EXPECT_EQ(world_grow(world, world->config.shape.page_count), STATUS_SUCCESS);
	EXPECT_EQ(world->root.entry_count, 512);
}

WORLD_TEST(root, a_reservation_without_access_does_not_make_it_grow, growing)
{
	EXPECT_EQ(world_reserve(world, 2048, 1024, false, 0), STATUS_SUCCESS);
	EXPECT_EQ(world->growths, 0);
	EXPECT_EQ(world_walk_packed(world, 2048), 0);
	world_valid(world);
	EXPECT_EQ(world_free(world, 2048, 1024), STATUS_SUCCESS);
	EXPECT_EQ(world->growths, 0);
}

WORLD_TEST(root, a_reservation_of_zeroes_makes_it_grow, growing)
{
	EXPECT_EQ(world_reserve(world, 2048, 1024, true, 0), STATUS_SUCCESS);
	EXPECT_EQ(world->growths, 1);
	EXPECT_EQ(world_walk_packed(world, 2048), PACKED_ZERO);
}

WORLD_TEST(root, the_new_one_is_initial_once_and_then_has_the_entries_of_the_old, growing)
{
	struct root_change change;
	struct miniport_paging_op op;

	begin_change(world, &change);
	EXPECT(root_change_next(&change, &op));
	EXPECT(op.update_table.is_initial && op.update_table.is_repeated);
	EXPECT_EQ(op.update_table.first_index, 0);
	EXPECT_EQ(op.update_table.count, 13);
	EXPECT_EQ(fake_entry(&op, 0), 0);
	world_execute(world, &op);
	EXPECT(root_change_next(&change, &op));
	EXPECT(!op.update_table.is_initial);
	EXPECT_EQ(op.update_table.level, 1);
	EXPECT_EQ(op.update_table.first_index, 1);
	EXPECT_EQ(op.update_table.count, 1);
	world_execute(world, &op);
	EXPECT(!root_change_next(&change, &op));
	/* Until it is told, a GPU begins at the old one, which is still there. */
	EXPECT_EQ(world_walk_packed(world, 8), shown(&world->memories[0], 0));
	world_set_root(world);
	EXPECT_EQ(world_walk_packed(world, 8), shown(&world->memories[0], 0));
	EXPECT(root_change_last(&change, &op)); /* TABLES_END_INVALID */
	EXPECT(op.update_table.is_repeated);
	EXPECT_EQ(op.update_table.count, 4);
	EXPECT_EQ(fake_entry(&op, 0), 0);
	world_execute(world, &op);
	EXPECT(!root_change_last(&change, &op));
	root_change_end(&change);
	world->is_held = false;
}

/* Somebody else's job comes in between: what it changes is changed. */
TEST(root, an_entry_that_changes_meanwhile_is_in_the_new_one_whenever_it_does)
{
	for (int steps = 1; steps <= 4; steps++) {
		struct world *world = world_create(growing);
		struct root_change change;
		struct miniport_paging_op op;

		for (int m = 0; m < 3; m++)
			memory_place(&world->memories[m], LOCAL, 104 + (uint64_t)m * 64, true);
		map(world, 8, &world->memories[0]);  /* a large page */
		map(world, 19, &world->memories[1]); /* in two tables */
		EXPECT_EQ(root_change_begin(&change, &world->tables, 100, NULL), STATUS_SUCCESS);
		world->is_held = true;
		for (int i = 0; i < steps && root_change_next(&change, &op); i++)
			world_execute(world, &op);
		world->memories[0].is_in = false;
		world_follow(world, &world->memories[0]);
		world->memories[1].first_page = 4000;
		world_follow(world, &world->memories[1]);
		EXPECT_EQ(world_free(world, 19, 8), STATUS_SUCCESS);
		EXPECT_EQ(world_map(world, 16, 8, &world->memories[2], 0, RW, 0), STATUS_SUCCESS);
		world_write_root(world, &change);
		world_set_root(world);
		world->is_held = false;
		root_change_end(&change);
		EXPECT_EQ(world_walk_packed(world, 8), 0);
		EXPECT_EQ(world_walk_packed(world, 16), shown(&world->memories[2], 0));
		world_forget_tlb(world);
		world_valid(world);
		world_destroy(world);
	}
}

WORLD_TEST(root, a_change_that_is_undone_leaves_the_old_one_with_what_changed_meanwhile, growing)
{
	struct page_tables_root before = world->root;
	struct root_change change;
	struct miniport_paging_op op;

	memory_place(&world->memories[1], LOCAL, 200, false);
	begin_change(world, &change);
	EXPECT(root_change_next(&change, &op));
	world_execute(world, &op);
	EXPECT_EQ(world_map(world, 17, 8, &world->memories[1], 0, RW, 0), STATUS_SUCCESS);
	root_change_undo(&change);
	world_write_root(world, &change);
	root_change_end(&change);
	world->is_held = false;
	EXPECT_EQ(page_tables_root(&world->tables).offset_bytes, before.offset_bytes);
	EXPECT_EQ(world->tables.end_page, 32);
	EXPECT_EQ(world_walk_packed(world, 17), shown(&world->memories[1], 0));
	world_forget_tlb(world);
}

WORLD_TEST(root, a_reset_in_between_has_it_written_from_what_is_true, growing)
{
	struct root_change change;
	struct miniport_paging_op op;

	begin_change(world, &change);
	EXPECT(root_change_next(&change, &op));
	world->known_count = 0;
	memset(world->memory.local, 0x5A, world->local_used);
	page_tables_forget(&world->tables);
	root_change_rewind(&change);
	world_write_root(world, &change);
	world_sync(world, 0, world->config.shape.page_count);
	world_set_root(world);
	world->is_held = false;
	root_change_end(&change);
	world_forget_tlb(world);
}

WORLD_TEST(root, no_memory_for_a_larger_one_leaves_it_as_it_is, growing)
{
	EACH_FAILURE (failing, 3) {
		uint64_t taken = world->local_taken;
		NTSTATUS status;

		failing_start(&failing);
		status = world_grow(world, 200);
		bool fired = failing_stop(&failing);
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		if (fired)
			EXPECT(world->local_taken == taken && world->tables.end_page == 32);
	}
}

WORLD_TEST(root, no_room_for_a_larger_one_leaves_it_as_it_is, growing)
{
	world->is_local_full = true;
	EXPECT_EQ(world_grow(world, 200), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_EQ(world->tables.end_page, 32);
}

/* What ctl walk and the debug escapes read. */
WORLD_TEST(read, entries_are_those_the_driver_was_given_also_where_they_are_in_a_row, growing)
{
	struct miniport_pte entries[8];
	uint32_t path[GPUVA_MAX_LEVELS] = { 0, 2 };

	memory_place(&world->memories[0], 0, 101, true); /* system memory: no large pages */
	map(world, 16, &world->memories[0]);
	EXPECT_EQ(page_tables_read(&world->tables, 0, path, false, entries, 8), 8);
	for (uint32_t i = 0; i < 8; i++)
		EXPECT(entries[i].is_valid && entries[i].page == 101 + i);
}

WORLD_TEST(read, a_large_page_is_an_entry_of_its_table_and_has_no_table_below, growing)
{
	struct miniport_pte entry;
	uint32_t path[GPUVA_MAX_LEVELS] = { 0, 2 };

	memory_place(&world->memories[0], LOCAL, 128, true);
	map(world, 16, &world->memories[0]);
	EXPECT_EQ(page_tables_read(&world->tables, 1, path, false, &entry, 1), 1);
	EXPECT(entry.is_valid && entry.is_large && entry.page == 128);
	EXPECT_EQ(page_tables_read(&world->tables, 0, path, false, &entry, 1), 0);
}

TEST_MAIN("pagetable/root_change")
