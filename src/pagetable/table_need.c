/* SPDX-License-Identifier: MIT */
/*
 * table_need.c - how many tables are missing, counted before one is made. See page_tables.h.
 *
 *	in:   ranges that are going to show something, in their order
 *	out:  a number for each level; whether there is room for that many
 *
 * It is exactly what page_tables.c makes. Where tables are there it looks at each; below an entry
 * without one it is arithmetic, so that a request for all addresses there are costs no more than one
 * for a few:
 *
 *	range             |----------------------------------|
 *	tables       |    h    |  w  |  w  |  …  |  w  |   t    |
 *
 *	w   all of it is shown: as many tables as it takes, or one of zeroes, or none
 *	h t   … in part: one of each level perhaps, and the same again below
 *
 * Ranges ascend and do not overlap, so a table that two of them need is the last one that was
 * counted of its level.
 *
 * Locks: page_tables.lock.
 */
#include "base/checked.h"
#include "base/machine.h"
#include "base/refusal.h"
#include "pagetable/table_tree.h"

/* ---- how many ---- */

static void count_tables(struct table_making *making, uint32_t level, uint64_t count)
{
	making->need.count[level] += count;
	if (level == 0 && making->tables->config->shape.answer.leaf_table_64k_bytes != 0)
		making->need.wide_count += count;
}

/* One of each level; they have no twins. */
static void count_zeroes(struct table_making *making, uint32_t level)
{
	for (uint32_t below = 0; below <= level; below++) {
		if (making->tables->zeroes[below] || making->has_counted_zeroes[below])
			continue;
		making->has_counted_zeroes[below] = true;
		making->need.count[below]++;
	}
}

/* Whole tables of this level, and all below them. */
static void count_all(struct table_making *making, uint32_t level, uint64_t first_page,
		      uint64_t end_page)
{
	const struct gpuva_shape *shape = &making->tables->config->shape;

	for (uint32_t i = 0; i <= level; i++) {
		count_tables(making, i,
			     (end_page - first_page) / gpuva_shape_table_pages(shape, i));
		making->counted_end[i] = end_page;
	}
}

static void count_missing_locked(struct table_making *making, uint32_t level, uint64_t first_page);

/* Nothing hangs in the entry of a table of `level`. */
static void count_entry_locked(struct table_making *making, uint32_t level, uint64_t first_page)
{
	uint64_t pages = gpuva_shape_entry_pages(&making->tables->config->shape, level);

	lock_assert_held(&making->tables->lock);
	if (table_making_needs_one_locked(making, first_page, first_page + pages))
		count_missing_locked(making, level - 1, first_page);
	else if (making->kind == GPUVA_KIND_ZERO)
		count_zeroes(making, level - 1);
}

/* Entries that are shown from end to end. */
static void count_whole_entries(struct table_making *making, uint32_t level, uint64_t first_page,
				uint64_t end_page)
{
	if (making->kind == GPUVA_KIND_MAPPED)
		count_all(making, level - 1, first_page, end_page);
	else if (making->kind == GPUVA_KIND_ZERO)
		count_zeroes(making, level - 1);
}

/* A table of `level` that begins at `first_page`, and those below it. */
static void count_missing_locked(struct table_making *making, uint32_t level, uint64_t first_page)
{
	const struct gpuva_shape *shape = &making->tables->config->shape;
	uint64_t end_page = first_page + gpuva_shape_table_pages(shape, level);
	uint64_t pages = gpuva_shape_entry_pages(shape, level);
	uint64_t first = making->first_page > first_page ? making->first_page : first_page;
	uint64_t end = lower_of(making->end_page, end_page);
	uint64_t first_whole = align_down(first + pages - 1, pages);
	uint64_t end_whole = align_down(end, pages);

	lock_assert_held(&making->tables->lock);
	if (making->counted_end[level] <= first_page) {
		making->counted_end[level] = end_page;
		count_tables(making, level, 1);
	}
	if (level == 0)
		return;
	if (first < first_whole)
		count_entry_locked(making, level, first_whole - pages);
	if (first_whole < end_whole)
		count_whole_entries(making, level, first_whole, end_whole);
	if (first_whole <= end_whole && end_whole < end)
		count_entry_locked(making, level, end_whole);
}

static void count_below_locked(struct table_making *making, const struct table *table)
{
	const struct page_tables *tables = making->tables;
	uint64_t first =
		making->first_page > table->first_page ? making->first_page : table->first_page;
	uint64_t end = lower_of(making->end_page, table_end(tables, table));

	lock_assert_held(&making->tables->lock);
	for (uint32_t i = table_index(tables, table, first);
	     i <= table_index(tables, table, end - 1); i++) {
		const struct table *below = table->below[i];

		if (!below)
			count_entry_locked(making, table->level,
					   table->first_page + ((uint64_t)i << table->shift));
		else if (below->level > 0)
			count_below_locked(making, below);
	}
}

void table_making_count_locked(struct table_making *making)
{
	lock_assert_held(&making->tables->lock);
	if (making->first_page < making->end_page)
		count_below_locked(making, making->tables->root);
}

/* ---- how much that is ---- */

static uint64_t product_of(uint64_t count, uint64_t bytes)
{
	uint64_t product;

	return checked_mul(count, bytes, &product) ? product : UINT64_MAX;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return checked_add(a, b, &sum) ? sum : UINT64_MAX;
}

static bool is_in_segment(const struct page_tables_config *config, uint32_t level, uint32_t segment)
{
	uint32_t id = config->mmu.levels[level].segment_id;

	return table_is_in_system_memory(config, id) ? segment == 0 : id == segment;
}

/* Whole pages, of which a segment may have larger ones. */
static uint64_t taken_bytes(const struct page_tables_config *config, uint32_t segment,
			    uint64_t size_bytes)
{
	bool has_64k_pages = segment > 0 && (config->segments_of_64k_pages >> (segment - 1) & 1);
	uint64_t page_bytes = has_64k_pages ? UINT64_C(0x10000) : MACHINE_PAGE_BYTES;

	return align_down(size_bytes + page_bytes - 1, page_bytes);
}

/* Bytes that it takes in a segment; 0 is system memory. UINT64_MAX: more than there are numbers. */
static uint64_t table_need_bytes(const struct table_need *need,
				 const struct page_tables_config *config, uint32_t segment)
{
	uint32_t root = gpuva_shape_root(&config->shape);
	uint64_t bytes = 0;

	for (uint32_t level = 0; level <= root; level++) {
		uint64_t size_bytes = level == root ? need->root_bytes
						    : config->mmu.levels[level].table_size_bytes;

		if (is_in_segment(config, level, segment))
			bytes = sum_of(bytes, product_of(need->count[level],
							 taken_bytes(config, segment, size_bytes)));
	}
	if (is_in_segment(config, 0, segment))
		bytes = sum_of(bytes,
			       product_of(need->wide_count,
					  taken_bytes(config, segment,
						      config->shape.answer.leaf_table_64k_bytes)));
	return bytes;
}

/* What was waited for, and is there for these alone. */
static uint64_t waited_for_bytes(const struct table_block_wants *wants,
				 const struct page_tables_config *config, uint32_t segment)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; wants && i < wants->count; i++) {
		const struct table_block_want *want = &wants->wants[i];

		if (want->is_taken && want->segment == segment)
			bytes += taken_bytes(config, segment, want->size_bytes);
	}
	return bytes;
}

static NTSTATUS check_system_memory(const struct table_making *making)
{
	uint64_t bytes = table_need_bytes(&making->need, making->tables->config, 0);

	if (bytes == 0)
		return STATUS_SUCCESS;
	struct machine_usage usage = machine_usage();
	if (bytes <= (usage.total_pages - usage.taken_pages) << MACHINE_PAGE_SHIFT)
		return STATUS_SUCCESS;
	return refuse_no_memory(
		"page tables of %llu MiB are needed, and of system memory %llu MiB are free",
		(unsigned long long)(bytes >> 20),
		(unsigned long long)((usage.total_pages - usage.taken_pages) >>
				     (20 - MACHINE_PAGE_SHIFT)));
}

NTSTATUS table_making_check(const struct table_making *making)
{
	const struct page_tables *tables = making->tables;
	const struct page_tables_config *config = tables->config;
	NTSTATUS status = check_system_memory(making);

	if (!NT_SUCCESS(status) || !config->room_left)
		return status;
	for (uint32_t level = 0; level < config->shape.answer.level_count; level++) {
		uint32_t segment = config->mmu.levels[level].segment_id;
		uint64_t bytes = table_is_in_system_memory(config, segment)
					 ? 0
					 : table_need_bytes(&making->need, config, segment);

		if (bytes > 0 && bytes > sum_of(config->room_left(config->memory, tables->process,
								  segment, false),
						waited_for_bytes(making->wants, config, segment)))
			return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	}
	return STATUS_SUCCESS;
}

/* ---- whether there could ever be room ---- */

NTSTATUS table_need_check(const struct table_need *need, const struct page_tables_config *config,
			  const struct vidmm_process *process)
{
	for (uint32_t level = 0; config->room_left && level < config->shape.answer.level_count;
	     level++) {
		uint32_t segment = config->mmu.levels[level].segment_id;

		if (table_is_in_system_memory(config, segment))
			continue;
		uint64_t bytes = table_need_bytes(need, config, segment);
		uint64_t most_bytes = config->room_left(config->memory, process, segment, true);
		if (bytes > most_bytes)
			return refuse(STATUS_GRAPHICS_NO_VIDEO_MEMORY, RULE_MM_TABLE_ROOM, NULL,
				      "page tables of %llu KiB are needed in segment %u, which has "
				      "%llu KiB for them when everything else is gone",
				      (unsigned long long)(bytes >> 10), segment,
				      (unsigned long long)(most_bytes >> 10));
	}
	return STATUS_SUCCESS;
}
