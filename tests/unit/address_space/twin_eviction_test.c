/* SPDX-License-Identifier: MIT */
/*
 * twin_eviction_test.c - leaf tables of 64 KiB pages leave and come back: alone in the place of those
 * of 4 KiB, or beside them, with two pointers in an entry above.
 */
#include "steps.h"

static const struct shape twins[] = {
	{ .update_mode = MINIPORT_TABLE_CPU_VIRTUAL, .has_twins = true },
	{ .update_mode = MINIPORT_TABLE_GPU_VIRTUAL, .has_twins = true },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .has_twins = true },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
	  .flags = TABLES_END_INVALID,
	  .has_twins = true },
	{ .update_mode = MINIPORT_TABLE_CPU_VIRTUAL, .flags = TABLES_ARE_DUAL, .has_twins = true },
	{ .update_mode = MINIPORT_TABLE_GPU_VIRTUAL, .flags = TABLES_ARE_DUAL, .has_twins = true },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL, .flags = TABLES_ARE_DUAL, .has_twins = true },
	{ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
	  .flags = TABLES_ARE_DUAL | TABLES_END_INVALID,
	  .has_twins = true },
};

/* A leaf each: pages of 64 KiB, pages of 4 KiB, and both. */
enum { WIDE = 2 * 512, NARROW = 3 * 512, MIXED = 4 * 512 };

/* ---- what the driver was given ---- */

static uint64_t evicted; /* pages of tables, a bit each */

static NTSTATUS note(struct fake *fake, const struct miniport_paging_op *op,
		     struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	uint64_t page = op->target.offset_bytes >> MACHINE_PAGE_SHIFT;

	(void)fake;
	(void)buffer;
	(void)multipass;
	if (op->kind != MINIPORT_PAGING_UPDATE_PAGE_TABLE || !op->update_table.driver_process)
		return STATUS_PENDING;
	EXPECT(page < LOCAL_PAGES);
	if (op->update_table.is_eviction)
		evicted |= UINT64_C(1) << page;
	return STATUS_PENDING;
}

/* ---- what the GPU's memory holds ---- */

static uint64_t word_in_memory(const struct table *table, uint32_t index, uint32_t word)
{
	uint32_t words = fake_entry_words(&world.config.mmu, table->level);
	uint64_t entry;

	memcpy(&entry,
	       fake_pointer(&world.fake->memory, table->memory.segment,
			    table->memory.offset_bytes + (index * words + word) * 8ULL),
	       8);
	return entry;
}

static void expect_as_given(const struct table *table)
{
	for (uint32_t i = 0; i < table->entry_count; i++)
		EXPECT_EQ(word_in_memory(table, i, 0), table_given(table, i));
}

/* Every table, and from those above the leaves to both places of one. */
static void expect_tree(const struct table *table)
{
	if (!table->shows_wide)
		expect_as_given(table);
	if (table->wide && table->wide->is_written)
		expect_as_given(table->wide);
	for (uint32_t i = 0; table->level > 0 && i < table->entry_count; i++) {
		const struct table *below = table->below[i];

		if (table->given_wide)
			EXPECT_EQ(packed_offset(word_in_memory(table, i, 1)),
				  below ? below->wide->memory.offset_bytes : 0);
		if (below)
			expect_tree(below);
	}
}

/* ---- the world ---- */

static const struct table *leaf_at(struct party *party, uint64_t page)
{
	const struct table *leaf = tables_at(&party->space->tables, 0, page);

	EXPECT(leaf && leaf->wide);
	return leaf;
}

/* Is the page one of 64 KiB, as the driver was given it? */
static bool is_wide(struct party *party, uint64_t page)
{
	const struct table *leaf = leaf_at(party, page);
	uint32_t index = (uint32_t)((page - leaf->first_page) / GPUVA_WIDE_PAGES);

	return (leaf->shows_wide || tables_are_dual(&party->space->tables)) &&
	       table_given(leaf->wide, index) != 0;
}

static void start_twins(const struct shape *shape)
{
	start_as(shape);
	flush();
	evicted = 0;
	world.fake->hook = note;
	EXPECT_EQ(map(app, WIDE, &memories[0], PAGES), STATUS_PENDING);
	EXPECT_EQ(map(app, NARROW + 3, &memories[1], 20), STATUS_PENDING);
	EXPECT_EQ(map(app, MIXED, &memories[2], PAGES), STATUS_PENDING);
	EXPECT_EQ(map(app, MIXED + 101, &memories[3], 5), STATUS_PENDING);
	flush();
}

static void expect_twins(void)
{
	for (uint64_t i = 0; i < PAGES; i++) {
		EXPECT(shows(app, WIDE + i, &memories[0], i));
		EXPECT(shows(app, MIXED + i, &memories[2], i));
	}
	for (uint64_t i = 0; i < 20; i++)
		EXPECT(shows(app, NARROW + 3 + i, &memories[1], i));
	for (uint64_t i = 0; i < 5; i++)
		EXPECT(shows(app, MIXED + 101 + i, &memories[3], i));
	EXPECT_EQ(walk(app, WIDE + PAGES), 0);
	EXPECT_EQ(walk(app, NARROW + 2), 0);
	EXPECT_EQ(walk(app, MIXED + 106), 0);
	EXPECT(is_wide(app, WIDE));
	EXPECT(!is_wide(app, NARROW));
	EXPECT_EQ(is_wide(app, MIXED), tables_are_dual(&app->space->tables));
	expect_tree(app->space->tables.root);
}

/* ---- tests ---- */

TEST(twin_eviction, tables_of_both_kinds_are_back_as_they_were)
{
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		start_twins(&twins[i]);
		expect_twins();
		take_all();
		check();
		have_back(app);
		check();
		expect_twins();
		finish();
	}
}

/* Of one that may be either it has heard of one; of those beside each other, of both. */
TEST(twin_eviction, the_driver_hears_of_each_one_that_it_knows)
{
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		uint64_t known = 0;

		start_twins(&twins[i]);
		for (uint64_t page = WIDE; page <= MIXED; page += 512) {
			const struct table *leaf = leaf_at(app, page);

			if (!leaf->shows_wide)
				known |= UINT64_C(1)
					 << (leaf->memory.offset_bytes >> MACHINE_PAGE_SHIFT);
			if (leaf->wide->is_written)
				known |= UINT64_C(1)
					 << (leaf->wide->memory.offset_bytes >> MACHINE_PAGE_SHIFT);
		}
		EXPECT(__builtin_popcountll(known) >=
		       (tables_are_dual(&app->space->tables) ? 6 : 3));
		take_all();
		check();
		/* … and of the two tables above. */
		EXPECT_EQ(evicted & known, known);
		EXPECT_EQ(__builtin_popcountll(evicted & ~known), LEVELS - 1);
		finish();
	}
}

TEST(twin_eviction, what_becomes_4k_meanwhile_is_4k_when_they_are_back)
{
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		start_twins(&twins[i]);
		take_all();
		check();
		EXPECT_EQ(release(app, WIDE + 5, 1), STATUS_SUCCESS);
		EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
		have_back(app);
		check();
		EXPECT(!is_wide(app, WIDE));
		EXPECT(shows(app, WIDE + 4, &memories[0], 4));
		EXPECT_EQ(walk(app, WIDE + 5), 0);
		EXPECT(shows(app, WIDE + 6, &memories[0], 6));
		EXPECT(shows(app, WIDE + 16, &memories[0], 16));
		expect_tree(app->space->tables.root);
		finish();
	}
}

/* To a place that is no multiple of 64 KiB, and back to one. */
TEST(twin_eviction, memory_that_moved_meanwhile_is_shown_in_pages_that_it_fits)
{
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		start_twins(&twins[i]);
		take_all();
		check();
		move_memory(&memories[0], MEMORY_FIRST + 10 * PAGES + 1);
		have_back(app);
		check();
		EXPECT(!is_wide(app, WIDE));
		EXPECT(shows(app, WIDE, &memories[0], 0));
		EXPECT(shows(app, WIDE + PAGES - 1, &memories[0], PAGES - 1));
		expect_tree(app->space->tables.root);
		move_memory(&memories[0], MEMORY_FIRST + 10 * PAGES);
		EXPECT(shows(app, WIDE, &memories[0], 0));
		expect_tree(app->space->tables.root);
		finish();
	}
}

/* They were never written when they went: the other one is, afterwards. */
TEST(twin_eviction, tables_go_on_to_change_when_they_are_back)
{
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		start_twins(&twins[i]);
		take_all();
		check();
		have_back(app);
		check();
		EXPECT(is_wide(app, WIDE));
		EXPECT_EQ(map(app, WIDE + 101, &memories[3], 5), STATUS_PENDING);
		EXPECT_EQ(release(app, MIXED + 101, 5), STATUS_SUCCESS);
		flush();
		for (int round = 0; round < 2; round++) {
			EXPECT(shows(app, WIDE, &memories[0], 0));
			EXPECT(shows(app, WIDE + PAGES - 1, &memories[0], PAGES - 1));
			EXPECT(shows(app, WIDE + 101, &memories[3], 0));
			EXPECT(shows(app, MIXED, &memories[2], 0));
			EXPECT_EQ(walk(app, MIXED + 101), 0);
			expect_tree(app->space->tables.root);
			evict_segment(world.manager, FAKE_LOCAL);
			have_back(app);
			check();
		}
		finish();
	}
}

TEST(twin_eviction, pages_of_64k_that_were_copied_are_back_and_are_copied_again)
{
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		start_twins(&twins[i]);
		reserve_zeroes(app, 8 * 512, 512);
		update(app, 8 * 512, PAGES, &memories[0]);
		take_all();
		check();
		have_back(app);
		check();
		update(app, 8 * 512 + 64, PAGES, &memories[0]);
		EXPECT(is_wide(app, 8 * 512));
		EXPECT(is_wide(app, 8 * 512 + 64));
		EXPECT(shows(app, 8 * 512 + 31, &memories[0], 31));
		EXPECT(shows(app, 8 * 512 + 64 + 31, &memories[0], 31));
		if (app->space->pools)
			expect_tree(app->space->pools->tables.root);
		expect_tree(app->space->tables.root);
		expect_twins();
		finish();
	}
}

TEST(twin_eviction, a_reset_while_they_are_out_changes_nothing)
{
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		start_twins(&twins[i]);
		take_all();
		check();
		reset();
		have_back(app);
		check();
		expect_twins();
		finish();
	}
}

TEST_MAIN("address_space/twin_eviction")
