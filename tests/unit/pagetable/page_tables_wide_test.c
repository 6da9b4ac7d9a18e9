/* SPDX-License-Identifier: MIT */
/*
 * page_tables_wide_test.c - leaf tables of 64 KiB pages: when a leaf is one, what becomes of it when
 * something of 4 KiB appears, and tables of both kinds side by side.
 */
#include "world.h"
#include "support/failing.h"

enum { RW = GPUVA_WRITE, LEAF = 32 };

static const struct shape *const single = &shapes[FIRST_WIDE_SHAPE];
static const struct shape *const anywhere = &shapes[FIRST_WIDE_SHAPE + 1];
static const struct shape *const with_large = &shapes[FIRST_WIDE_SHAPE + 2];
static const struct shape *const dual = &shapes[FIRST_DUAL_SHAPE];

static struct table *leaf_at(struct world *world, uint64_t page)
{
	struct table *leaf = tables_at(&world->tables, 0, page);

	EXPECT(leaf && leaf->wide);
	return leaf;
}

static uint64_t above(struct world *world, uint64_t page)
{
	const struct table *table = tables_at(&world->tables, 1, page);

	return table_given(table, table_index(&world->tables, table, page));
}

static bool is_wide(struct world *world, uint64_t page)
{
	return above(world, page) & PACKED_TABLE_64K;
}

static struct memory *memory_in(struct world *world, int m, uint32_t segment, uint64_t first_page)
{
	memory_place(&world->memories[m], segment, first_page, true);
	return &world->memories[m];
}

/* ---- which ---- */

WORLD_TEST(wide, a_leaf_of_64k_pages_has_a_sixteenth_of_the_entries, single)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);

	EXPECT_EQ(world_map(world, 4 * LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT(is_wide(world, 4 * LEAF));
	EXPECT(world->last_leaf.update_table.has_64k_pages);
	EXPECT_EQ(world->last_leaf.update_table.first_index, 0);
	EXPECT_EQ(world->last_leaf.update_table.count, 2);
	EXPECT_EQ(world->last_leaf.update_table.first_address, 4 * LEAF * 4096);
	EXPECT(world->last_leaf.subject.driver_allocation == memory);
	EXPECT(!world->last_leaf.update_table.needs_quiet);
	EXPECT_EQ(leaf_at(world, 4 * LEAF)->wide->entry_count, 2);
	world_valid(world);

	/* The second half alone: an index of the same table. */
	EXPECT_EQ(world_map(world, 5 * LEAF + 16, 16, memory, 16, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(world->last_leaf.update_table.first_index, 1);
	EXPECT_EQ(world->last_leaf.update_table.count, 1);
	EXPECT_EQ(world->last_leaf.offset_bytes, 16 * 4096);
}

WORLD_TEST(wide, scattered_blocks_of_64k_are_pages_of_it, single)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);

	for (uint32_t i = 16; i < MEMORY_PAGES; i++)
		memory->pages[i] = (uint8_t)(i + 64);
	EXPECT_EQ(world_map(world, 4 * LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT(is_wide(world, 4 * LEAF));
}

TEST(wide, what_is_no_64k_page_makes_a_leaf_of_4k_pages)
{
	static const struct {
		uint64_t page, page_count, offset;
		uint32_t segment;
		uint64_t first_page;
	} cases[] = {
		{ 4 * LEAF + 1, 16, 1, LOCAL, 1024 }, /* the address is none */
		{ 4 * LEAF, 8, 0, LOCAL, 1024 },      /* it is shorter */
		{ 4 * LEAF, 24, 0, LOCAL, 1024 },     /* … and so is its end */
		{ 4 * LEAF, 16, 4, LOCAL, 1024 },     /* another place in 64 KiB of memory */
		{ 4 * LEAF, 16, 0, LOCAL, 1028 },
		{ 4 * LEAF, 16, 0, 0, 1024 }, /* no such pages in system memory … */
		{ 4 * LEAF, 16, 0, 3, 1024 }, /* … and in that segment */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *world = world_create(single);
		struct memory *memory = memory_in(world, 0, cases[i].segment, cases[i].first_page);

		EXPECT_EQ(world_map(world, cases[i].page, cases[i].page_count, memory,
				    cases[i].offset, RW, 0),
			  STATUS_SUCCESS);
		EXPECT(above(world, 4 * LEAF) != 0 && !is_wide(world, 4 * LEAF));
		EXPECT(!world->last_leaf.update_table.has_64k_pages);
		world_valid(world);
		world_destroy(world);
	}
}

WORLD_TEST(wide, system_memory_has_64k_pages_where_the_gpu_says_so, anywhere)
{
	EXPECT_EQ(world_map(world, LEAF, LEAF, memory_in(world, 0, 0, 1024), 0, RW, 0),
		  STATUS_SUCCESS);
	EXPECT(is_wide(world, LEAF));
}

TEST(wide, zeroes_are_64k_pages_where_an_entry_can_say_zero)
{
	for (int i = 0; i < 2; i++) {
		struct world *world = world_create(i == 0 ? single : anywhere);
		struct memory *memory = memory_in(world, 0, LOCAL, 1024);

		EXPECT_EQ(world_reserve(world, LEAF, LEAF, true, 0), STATUS_SUCCESS);
		EXPECT_EQ(world_map(world, LEAF, 16, memory, 0, RW, 0), STATUS_SUCCESS);
		EXPECT_EQ(is_wide(world, LEAF), i == 0);
		world_valid(world);
		world_destroy(world);
	}
}

WORLD_TEST(wide, memory_that_is_nowhere_keeps_its_table, single)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);

	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	memory->is_in = false;
	world_follow(world, memory);
	EXPECT(is_wide(world, LEAF));
	world_valid(world);
	memory_place(memory, LOCAL, 2048, true);
	world_follow(world, memory);
	EXPECT(is_wide(world, LEAF));
	EXPECT_EQ(world->conversions, 0);
}

WORLD_TEST(wide, a_large_page_goes_before_64k_pages, with_large)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);

	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT(above(world, LEAF) & PACKED_LARGE);
	world_valid(world);
	/* It falls apart into pages of 64 KiB. */
	EXPECT_EQ(world_free(world, LEAF + 16, 16), STATUS_SUCCESS);
	EXPECT(is_wide(world, LEAF));
}

/* ---- from 64 KiB to 4 KiB ---- */

/* The operations of a conversion, in order. */
struct conversion {
	uint32_t initial; /* which one, from 1 */
	uint32_t last_entry;
	uint32_t above;
	uint32_t flush;
};

static struct conversion watch_sync(struct world *world, uint64_t first_page, uint64_t page_count)
{
	struct conversion seen = { 0 };
	struct table_sync sync;
	struct miniport_paging_op op;
	uint32_t n = 0;

	table_sync_init(&sync, &world->tables, first_page, page_count);
	while (table_sync_next(&sync, &op)) {
		n++;
		if (op.kind != MINIPORT_PAGING_UPDATE_PAGE_TABLE) {
			seen.flush = n;
		} else if (op.update_table.level == 1) {
			seen.above = n;
			EXPECT(op.update_table.needs_quiet);
		} else if (op.update_table.level == 0) {
			EXPECT(op.update_table.needs_quiet && !op.update_table.has_64k_pages);
			if (op.update_table.is_initial)
				seen.initial = n;
			seen.last_entry = n;
		}
		world_execute(world, &op);
	}
	return seen;
}

/* Everything is suspended; entries; the entry above; and the TLB is told before they go on. */
WORLD_TEST(conversion, is_written_from_end_to_end_before_it_is_led_to, single)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);
	struct conversion seen;

	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT(is_wide(world, LEAF));
	memory_place(memory, 0, 4096, true);
	seen = watch_sync(world, LEAF, LEAF);
	EXPECT_EQ(seen.initial, 1);
	EXPECT(seen.last_entry > seen.initial);
	EXPECT(seen.above > seen.last_entry);
	EXPECT(seen.flush > seen.above);
	EXPECT(!is_wide(world, LEAF));
	EXPECT_EQ(world->conversions, 1);
}

WORLD_TEST(conversion, follows_a_page_of_4k_in_it_and_the_others_stay_where_they_are, single)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);

	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_map(world, LEAF + 3, 1, memory_in(world, 1, 0, 77), 0, RW, 0),
		  STATUS_SUCCESS);
	EXPECT(!is_wide(world, LEAF));
	EXPECT_EQ(world_walk_packed(world, LEAF + 2) >> PACKED_PAGE_SHIFT, 1024 + 2);
	EXPECT_EQ(world_walk_packed(world, LEAF + 3) >> PACKED_PAGE_SHIFT, 77);
	EXPECT_EQ(world_walk_packed(world, LEAF + 31) >> PACKED_PAGE_SHIFT, 1024 + 31);
}

WORLD_TEST(conversion, is_never_undone, single)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);

	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_free(world, LEAF + 3, 1), STATUS_SUCCESS);
	EXPECT(!is_wide(world, LEAF));
	EXPECT_EQ(world_free(world, LEAF, 3), STATUS_SUCCESS);
	EXPECT_EQ(world_free(world, LEAF + 4, 28), STATUS_SUCCESS);
	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT(!is_wide(world, LEAF));
}

/* Two that come to the same table: the second one finds it half written, and writes it all. */
WORLD_TEST(conversion, is_ended_by_whoever_comes_first, single)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);
	struct table_sync first;
	struct miniport_paging_op op;

	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	memory_place(memory, 0, 4096, true);
	table_sync_init(&first, &world->tables, LEAF, 16);
	EXPECT(table_sync_next(&first, &op)); /* all of it invalid */
	world_execute(world, &op);
	EXPECT(is_wide(world, LEAF));
	world_sync(world, LEAF + 16, 16);
	EXPECT(!is_wide(world, LEAF));
	EXPECT_EQ(world_walk_packed(world, LEAF + 20) >> PACKED_PAGE_SHIFT, 4096 + 20);
	while (table_sync_next(&first, &op))
		world_execute(world, &op);
	EXPECT_EQ(world->conversions, 1);
}

/* ---- both ---- */

static uint64_t second_above(struct world *world, uint64_t page)
{
	const struct table *table = tables_at(&world->tables, 1, page);

	return table->given_wide[table_index(&world->tables, table, page)];
}

WORLD_TEST(dual, both_tables_are_led_to_and_each_64k_is_valid_in_one, dual)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);

	EXPECT_EQ(world_map(world, LEAF, 16, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_map(world, LEAF + 16, 8, memory, 16, RW, 0), STATUS_SUCCESS);
	EXPECT(above(world, LEAF) & PACKED_VALID && !is_wide(world, LEAF));
	EXPECT(second_above(world, LEAF) & PACKED_VALID);
	EXPECT(table_given(leaf_at(world, LEAF)->wide, 0) != 0);
	EXPECT_EQ(table_given(leaf_at(world, LEAF)->wide, 1), 0);
	EXPECT_EQ(table_given(leaf_at(world, LEAF), 15), 0);
	EXPECT(table_given(leaf_at(world, LEAF), 16) != 0);
	EXPECT_EQ(world->conversions, 0);
}

/* Invalid in the one before it is valid in the other, while nothing runs; and back. */
WORLD_TEST(dual, a_page_of_64k_becomes_sixteen_and_one_again, dual)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);
	struct table_sync sync;
	struct miniport_paging_op op;

	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		memory_place(memory, i == 0 ? 0 : LOCAL, 4096, true);
		table_sync_init(&sync, &world->tables, LEAF, LEAF);
		EXPECT(table_sync_next(&sync, &op));
		EXPECT_EQ(op.update_table.has_64k_pages, i == 0);
		EXPECT(op.update_table.is_repeated && !op.update_table.entries[0].is_valid);
		EXPECT(op.update_table.needs_quiet);
		world_execute(world, &op);
		while (table_sync_next(&sync, &op))
			world_execute(world, &op);
		EXPECT_EQ(table_given(leaf_at(world, LEAF)->wide, 0) != 0, i == 1);
		EXPECT_EQ(table_given(leaf_at(world, LEAF), 0) != 0, i == 0);
		world_valid(world);
	}
}

WORLD_TEST(dual, what_goes_needs_no_quiet, dual)
{
	struct memory *memory = memory_in(world, 0, LOCAL, 1024);

	EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
	EXPECT_EQ(world_free(world, LEAF, LEAF), STATUS_SUCCESS);
	EXPECT(!world->last_leaf.update_table.needs_quiet);
	EXPECT_EQ(world_walk_packed(world, LEAF), 0);
}

/* ---- all of them ---- */

TEST(wide, both_places_are_taken_at_once_or_none_is)
{
	for (int s = FIRST_WIDE_SHAPE; s < ALL_SHAPES; s++) {
		struct world *world = world_create(&shapes[s]);

		EACH_FAILURE (failing, 4) {
			struct memory *memory = memory_in(world, 0, LOCAL, 1024);
			uint64_t before = world->tables.table_count;

			failing_start(&failing);
			NTSTATUS status = world_map(world, 2 * LEAF, 16, memory, 0, RW, 0);
			bool fired = failing_stop(&failing);
			EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
			if (fired)
				EXPECT_EQ(world->tables.table_count, before);
		}
		world_valid(world);
		world_destroy(world);
	}
}

TEST(wide, tables_that_are_not_trusted_or_were_lost_are_written_anew)
{
	for (int s = FIRST_WIDE_SHAPE; s < ALL_SHAPES; s++) {
		for (int is_lost = 0; is_lost < 2; is_lost++) {
			struct world *world = world_create(&shapes[s]);
			struct memory *memory = memory_in(world, 0, LOCAL, 1024);

			EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
			EXPECT_EQ(world_map(world, 2 * LEAF, 4, memory, 0, RW, 0), STATUS_SUCCESS);
			if (is_lost) {
				memset(world->memory.local, 0xA5, world->local_used);
				world->known_count = 0;
				page_tables_forget(&world->tables);
				world_forget_tlb(world);
			} else {
				page_tables_distrust(&world->tables, 0,
						     world->config.shape.page_count);
			}
			world_sync(world, 0, world->config.shape.page_count);
			world_valid(world);
			world_destroy(world);
		}
	}
}

TEST(wide, entries_of_64k_are_read_back)
{
	for (int i = 0; i < 2; i++) {
		struct world *world = world_create(i == 0 ? single : dual);
		struct memory *memory = memory_in(world, 0, LOCAL, 1024);
		uint32_t path[GPUVA_MAX_LEVELS] = { 1, 1, 0 };
		struct miniport_pte entries[4];

		EXPECT_EQ(world_map(world, LEAF, LEAF, memory, 0, RW, 0), STATUS_SUCCESS);
		EXPECT_EQ(page_tables_read(&world->tables, 0, path, true, entries, 4), 1);
		EXPECT_EQ(entries[0].page, 1024 + 16);
		/* The other one is led to in dual mode only, and says nothing. */
		EXPECT_EQ(page_tables_read(&world->tables, 0, path, false, entries, 4),
			  i == 0 ? 0 : 4);
		EXPECT_EQ(page_tables_read(&world->tables, 1, path, false, entries, 1), 1);
		EXPECT_EQ(entries[0].is_table_64k, i == 0);
		EXPECT_EQ(page_tables_read(&world->tables, 1, path, true, entries, 1), i);
		world_destroy(world);
	}
}

TEST_MAIN("pagetable/page_tables_wide")
