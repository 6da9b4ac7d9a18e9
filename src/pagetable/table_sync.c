/* SPDX-License-Identifier: MIT */
/*
 * table_sync.c - what has to be written so that tables show what is true, as paging operations.
 *
 *	for each level, leaves first:
 *		the table of zeroes, when it was never written
 *		each table of the range: all entries invalid when it was never written,
 *		then the entries that lead somewhere; nothing where it is a large page
 *	the TLB
 *
 * So a table is whole before an entry points at it. One that was never written is written from end
 * to end, whatever the range: nobody else has to know who comes first.
 *
 * A leaf that the GPU may have in pages of 64 KiB is chosen to be one when it is first written. When
 * something in it is no such page any more its other table is written like one that is new, and then
 * led to; no context runs from the first of these operations on (needs_quiet). Where both tables are
 * led to, each 64 KiB become invalid in the one before they are valid in the other.
 *
 * Called by the pager's thread; page_tables.lock is taken for one operation at a time.
 */
#include <assert.h>

#include "base/checked.h"
#include "pagetable/table_tree.h"

/* ---- leaves ---- */

static uint32_t fill_run(struct page_tables *tables, const struct gpuva_view *view,
			 const struct resident_run *run, uint32_t filled)
{
	struct table_scratch *scratch = tables->config->scratch;
	struct miniport_pte entry = table_memory_entry(tables, view, run);
	struct miniport_pte *entries = scratch->entries + filled;
	uint64_t *packed = scratch->packed + filled;
	uint64_t first_packed = pte_pack(&entry);
	uint32_t count = (uint32_t)run->page_count;

	for (uint32_t i = 0; i < count; i++) {
		entries[i] = entry;
		entry.page++;
	}
	for (uint64_t i = 0; i < count; i++)
		packed[i] = first_packed + (i << PACKED_PAGE_SHIFT);
	return filled + count;
}

/* Entries for memory that is somewhere. Returns how many. */
static uint32_t fill_entries(struct page_tables *tables, const struct gpuva_view *view,
			     uint64_t offset_pages, uint64_t count,
			     const struct resident_run *first)
{
	struct resident_run run = *first;
	uint32_t filled = 0;

	if (count > TABLES_FEW_ENTRIES)
		count = TABLES_FEW_ENTRIES;
	run.page_count = lower_of(run.page_count, count);
	for (;;) {
		filled = fill_run(tables, view, &run, filled);
		if (filled == count)
			return filled;
		run = table_look(tables, table_view_memory(view), offset_pages + filled,
				 count - filled);
		if (!run.is_resident) /* left meanwhile: the next operation says so */
			return filled;
	}
}

static void make_memory_locked(struct page_tables *tables, struct table *table,
			       const struct gpuva_view *view, uint64_t *page,
			       struct table_changes *changes, struct miniport_paging_op *op_out)
{
	const struct mapped_memory *memory = table_view_memory(view);
	uint64_t count;
	uint64_t offset = table_view_offset(view, &count);
	struct resident_run run = table_look(tables, memory, offset, count);
	uint32_t index = table_index(tables, table, *page);

	lock_assert_held(&tables->lock);
	if (!run.is_resident || view->state.period_pages == 1) {
		count = view->state.period_pages == 1 ? view->page_count : run.page_count;
		table_make_repeated(tables, table, index, (uint32_t)count,
				    table_memory_entry(tables, view, &run), changes, op_out);
	} else if (run.page_count >= lower_of(count, TABLES_FEW_ENTRIES)) {
		count = lower_of(count, TABLES_FEW_ENTRIES);
		table_make_run(tables, table, index, (uint32_t)count,
			       table_memory_entry(tables, view, &run), changes, op_out);
	} else {
		count = fill_entries(tables, view, offset, count, &run);
		table_make_several_locked(tables, table, index, (uint32_t)count, changes, op_out);
	}
	op_out->subject = memory->subject;
	op_out->offset_bytes = offset << GPUVA_PAGE_SHIFT;
	*page += count;
}

/* The next operation for leaf entries of 4 KiB of the table that is at turn. False: nothing is left
 * to be written below `stop_page`. */
static bool write_narrow_locked(struct table_sync *sync, uint64_t stop_page,
				struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *table = sync->table;
	struct table_changes *changes = &sync->changes;
	uint64_t *page = &sync->page;

	lock_assert_held(&sync->tables->lock);
	assert(table->level == 0);
	while (*page < stop_page) {
		uint32_t index = table_index(tables, table, *page);
		struct gpuva_view view;

		gpuva_space_look(&tables->space, *page, &view);
		view.page_count = lower_of(view.page_count, stop_page - *page);
		if (view.state.kind == GPUVA_KIND_MAPPED) {
			if (sync->may_copy && tables->pools &&
			    table_copy_locked(tables, table, &view, page, changes, op_out))
				return true;
			make_memory_locked(tables, table, &view, page, changes, op_out);
		} else {
			*page += view.page_count;
			if (view.state.kind != GPUVA_KIND_ZERO &&
			    table_is_all_invalid(table, index, (uint32_t)view.page_count))
				continue;
			table_make_repeated(tables, table, index, (uint32_t)view.page_count,
					    table_entry_of_kind(tables, view.state.kind), changes,
					    op_out);
		}
		op_out->update_table.driver_protection = view.state.driver_protection;
		return true;
	}
	return false;
}

/* ---- leaves of 64 KiB pages ---- */

static bool begin_table_locked(struct table_sync *sync, struct miniport_paging_op *op_out);

static void make_wide_locked(struct table_sync *sync, const struct wide_part *part,
			     struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *wide = sync->table->wide;

	lock_assert_held(&sync->tables->lock);
	assert(wide);
	uint32_t index = table_index(tables, wide, sync->page);
	if (part->memory && sync->may_copy && tables->pools &&
	    table_copy_wide_locked(tables, wide, part, &sync->page, &sync->changes, op_out))
		return;
	if (part->is_repeated)
		table_make_repeated(tables, wide, index, part->count,
				    tables->config->scratch->entries[0], &sync->changes, op_out);
	else
		table_make_several_locked(tables, wide, index, part->count, &sync->changes, op_out);
	if (part->memory) {
		op_out->subject = part->memory->subject;
		op_out->offset_bytes = part->offset_pages << GPUVA_PAGE_SHIFT;
	}
	op_out->update_table.driver_protection = part->driver_protection;
	sync->page += (uint64_t)part->count << GPUVA_WIDE_SHIFT;
}

/* Its twin leads nowhere any more: all of it is written, and then led to. */
static bool become_narrow_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct table *table = sync->table;

	lock_assert_held(&sync->tables->lock);
	table->shows_wide = false;
	table->stays_narrow = true;
	table->is_written = false;
	table->is_behind = false;
	table->left_out++;
	table_set_given(table, 0, 0);
	return begin_table_locked(sync, op_out);
}

static bool write_wide_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	const struct table *wide = sync->table->wide;

	lock_assert_held(&sync->tables->lock);
	assert(wide);
	while (sync->page < sync->stop_page) {
		struct wide_part part;

		table_wide_part_locked(tables, sync->page, sync->stop_page, &part);
		if (part.count == 0)
			return become_narrow_locked(sync, op_out);
		if (part.is_invalid &&
		    table_is_all_invalid(wide, table_index(tables, wide, sync->page), part.count)) {
			sync->page += (uint64_t)part.count << GPUVA_WIDE_SHIFT;
			continue;
		}
		make_wide_locked(sync, &part, op_out);
		return true;
	}
	return false;
}

/*
 * Both are led to, and of each 64 KiB one of the two is valid at most: what is to be valid in the
 * one becomes invalid in the other first. No context may find neither.
 */
static bool make_way(struct table_sync *sync, struct table *table, uint64_t page_count,
		     struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	uint32_t index = table_index(tables, table, sync->page);
	uint32_t count = (uint32_t)(page_count >> table->shift);

	if (table_is_all_invalid(table, index, count))
		return false;
	table_make_repeated(tables, table, index, count, (struct miniport_pte){ 0 }, &sync->changes,
			    op_out);
	op_out->update_table.needs_quiet = true;
	return true;
}

/* How far no 64 KiB from here on are one page, and none are valid as one. */
static uint64_t narrow_end_locked(const struct table_sync *sync)
{
	const struct page_tables *tables = sync->tables;
	const struct table *wide = sync->table->wide;
	uint64_t end_page = sync->page + GPUVA_WIDE_PAGES;
	struct wide_part part;

	lock_assert_held(&sync->tables->lock);
	while (end_page < sync->stop_page) {
		table_wide_part_locked(tables, end_page, end_page + GPUVA_WIDE_PAGES, &part);
		if (part.count > 0 || table_given(wide, table_index(tables, wide, end_page)) != 0)
			break;
		end_page += GPUVA_WIDE_PAGES;
	}
	return end_page;
}

static bool write_block_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *table = sync->table;
	struct wide_part part;

	lock_assert_held(&sync->tables->lock);
	assert(table->wide);
	table_wide_part_locked(tables, sync->page, sync->stop_page, &part);
	uint64_t page_count = (uint64_t)part.count << GPUVA_WIDE_SHIFT;
	if (part.count == 0)
		return make_way(sync, table->wide, GPUVA_WIDE_PAGES, op_out) ||
		       write_narrow_locked(sync, narrow_end_locked(sync), op_out);
	if (make_way(sync, table, page_count, op_out)) {
		op_out->update_table.needs_quiet = !part.is_invalid;
		return true;
	}
	if (part.is_invalid &&
	    table_is_all_invalid(table->wide, table_index(tables, table->wide, sync->page),
				 part.count)) {
		sync->page += page_count;
		return false;
	}
	make_wide_locked(sync, &part, op_out);
	return true;
}

static bool write_both_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *wide = sync->table->wide;

	lock_assert_held(&sync->tables->lock);
	if (!wide->is_written) {
		table_make_initial(tables, wide, (struct miniport_pte){ 0 }, &sync->changes,
				   op_out);
		return true;
	}
	while (sync->page < sync->stop_page) {
		uint64_t block = align_down(sync->page, GPUVA_WIDE_PAGES);

		/* In the middle of one: it goes on, unless somebody made one page of it meanwhile. */
		if (sync->page != block &&
		    table_given(wide, table_index(tables, wide, block)) == 0) {
			if (write_narrow_locked(sync, block + GPUVA_WIDE_PAGES, op_out))
				return true;
			continue;
		}
		sync->page = block;
		if (write_block_locked(sync, op_out))
			return true;
	}
	return false;
}

static bool write_leaf_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	lock_assert_held(&sync->tables->lock);
	if (sync->table->wide && tables_are_dual(sync->tables))
		return write_both_locked(sync, op_out);
	if (sync->table->shows_wide)
		return write_wide_locked(sync, op_out);
	return write_narrow_locked(sync, sync->stop_page, op_out);
}

/* Is all of it 64 KiB pages, as things are now? */
static bool fits_wide_locked(const struct page_tables *tables, const struct table *table)
{
	uint64_t page = table->first_page;
	struct wide_part part = { 0 };

	lock_assert_held(&tables->lock);
	for (; page < table_end(tables, table); page += (uint64_t)part.count << GPUVA_WIDE_SHIFT) {
		table_wide_part_locked(tables, page, table_end(tables, table), &part);
		if (part.count == 0)
			return false;
	}
	return true;
}

/* ---- above the leaves ---- */

/* What this sync left out, because it was to be a large page, and is none any more. */
static bool was_left_out(const struct table_sync *sync, const struct table *below,
			 const struct miniport_pte *entry)
{
	return below && below->is_behind && !entry->is_large &&
	       below->first_page < sync->end_page &&
	       table_end(sync->tables, below) > sync->first_page;
}

/* The driver is given a large page: nothing leads to the table any more, or to those below. */
static void note_unreachable(struct table *table)
{
	for (uint32_t i = 0; table->level > 0 && i < table->entry_count; i++) {
		if (table->below[i])
			note_unreachable(table->below[i]);
	}
	table_forget(table);
}

/* Is the table shown as a large page, until all of it is written? */
static bool is_behind_large(const struct page_tables *tables, const struct table *table)
{
	const struct table *above = table->above;

	return above &&
	       (table_given(above, table_index(tables, above, table->first_page)) & PACKED_LARGE);
}

/*
 * A large page that falls apart leads to tables which all have to be there before: also those that
 * this sync has not come for, where somebody else's change is still to be written.
 */
static void see_to_tables_below(struct table_sync *sync, const struct table *below,
				const struct miniport_pte *entry)
{
	struct table *table = sync->table;
	uint64_t end_page = table_end(sync->tables, table);

	if (!below || entry->is_large || (below->is_written && !below->is_behind) ||
	    !is_behind_large(sync->tables, table))
		return;
	table->left_out++;
	sync->must_begin_again = true;
	if (sync->first_page > table->first_page)
		sync->first_page = table->first_page;
	if (sync->end_page < end_page)
		sync->end_page = end_page;
}

/* The second pointer of an entry, where there are two. True: it is not what it should be. */
static bool fill_wide_above_locked(const struct page_tables *tables, const struct table *table,
				   uint32_t index, uint32_t filled)
{
	struct table_scratch *scratch = tables->config->scratch;

	lock_assert_held(&tables->lock);
	if (!table->given_wide)
		return false;
	scratch->wide_entries[filled] = table_wide_entry_above_locked(tables, table, index);
	scratch->wide_packed[filled] = pte_pack(&scratch->wide_entries[filled]);
	return scratch->wide_packed[filled] != table->given_wide[index];
}

static void give_wide_above(const struct page_tables *tables, struct table *table,
			    uint32_t first_index, uint32_t count, struct miniport_paging_op *op_out)
{
	struct table_scratch *scratch = tables->config->scratch;

	if (!table->given_wide)
		return;
	for (uint32_t i = 0; i < count; i++)
		table->given_wide[first_index + i] = scratch->wide_packed[i];
	op_out->update_table.wide_entries = scratch->wide_entries;
}

/* From a table of 64 KiB pages to one of 4 KiB pages. */
static bool leaves_twin(uint64_t given, const struct miniport_pte *entry)
{
	return (given & PACKED_TABLE_64K) && entry->is_valid && !entry->is_large &&
	       !entry->is_table_64k;
}

/* Entries that are not what they should be, in a row. */
static bool write_above_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *table = sync->table;
	struct table_scratch *scratch = tables->config->scratch;
	uint32_t index = table_index(tables, table, sync->page);
	uint32_t end_index = table_index(tables, table, sync->stop_page - 1) + 1;
	uint32_t count = 0;
	bool needs_quiet = false;

	lock_assert_held(&sync->tables->lock);
	for (; index < end_index && count < TABLES_FEW_ENTRIES; index++) {
		struct miniport_pte entry = table_entry_above_locked(tables, table, index);

		if (was_left_out(sync, table->below[index], &entry))
			sync->must_begin_again = true;
		see_to_tables_below(sync, table->below[index], &entry);
		scratch->entries[count] = entry;
		scratch->packed[count] = pte_pack(&entry);
		if (!fill_wide_above_locked(tables, table, index, count) &&
		    scratch->packed[count] == table_given(table, index)) {
			if (count > 0)
				break;
			continue;
		}
		needs_quiet |= leaves_twin(table_given(table, index), &entry);
		if (entry.is_large)
			note_unreachable(table->below[index]);
		count++;
	}
	sync->page =
		lower_of(table->first_page + ((uint64_t)index << table->shift), sync->stop_page);
	if (count == 0)
		return false;
	table_make_several_locked(tables, table, index - count, count, &sync->changes, op_out);
	give_wide_above(tables, table, index - count, count, op_out);
	op_out->update_table.needs_quiet = needs_quiet;
	return true;
}

/* ---- the row ---- */

void table_sync_init(struct table_sync *sync, struct page_tables *tables, uint64_t first_page,
		     uint64_t page_count)
{
	*sync = (struct table_sync){ .tables = tables,
				     .first_page = first_page,
				     .end_page = first_page + page_count };
}

/* The table of zeroes of this level, once. */
static bool write_zeroes_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *zeroes = tables->zeroes[sync->level];

	lock_assert_held(&sync->tables->lock);
	if (!zeroes || zeroes->is_written)
		return false;
	table_make_initial(tables, zeroes,
			   zeroes->level == 0 ? table_entry_of_kind(tables, GPUVA_KIND_ZERO)
					      : table_entry_above_locked(tables, zeroes, 0),
			   &sync->changes, op_out);
	return true;
}

/* Before it is written: of the two tables a leaf may be, which. */
static void choose_width_locked(const struct page_tables *tables, struct table *table)
{
	lock_assert_held(&tables->lock);
	if (!table->wide || tables_are_dual(tables))
		return;
	table->shows_wide = !table->stays_narrow && fits_wide_locked(tables, table);
	table->stays_narrow = !table->shows_wide;
}

/* Turns to the next table of the level; true with the operation that makes it a table. */
static bool begin_table_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *table = sync->table;
	uint64_t end_page = table_end(tables, table);
	struct miniport_pte large;

	lock_assert_held(&sync->tables->lock);
	sync->next_page = end_page;
	sync->page = table->first_page;
	sync->stop_page = end_page;
	sync->is_whole = false;
	if (table_is_large_locked(tables, table, &large)) {
		table->is_behind = table->is_written;
		table->left_out++;
		sync->page = end_page;
		return false;
	}
	sync->left_out = table->left_out;
	sync->is_whole = !table->is_written || table->is_behind;
	if (!table->is_written) {
		choose_width_locked(tables, table);
		table_make_initial(tables, table->shows_wide ? table->wide : table,
				   (struct miniport_pte){ 0 }, &sync->changes, op_out);
		table->is_written = true;
		table->is_behind = true;
		return true;
	}
	if (table->is_behind)
		return false;
	if (sync->page < sync->first_page)
		sync->page = sync->first_page;
	sync->stop_page = lower_of(sync->end_page, end_page);
	if (table->shows_wide || (table->wide && tables_are_dual(tables))) {
		sync->page = align_down(sync->page, GPUVA_WIDE_PAGES);
		sync->stop_page =
			align_down(sync->stop_page + GPUVA_WIDE_PAGES - 1, GPUVA_WIDE_PAGES);
	}
	return false;
}

/* Its last entry was made: whoever wrote all of it has. */
static void end_of_table(struct table_sync *sync)
{
	struct table *table = sync->table;

	if (sync->is_whole && sync->left_out == table->left_out)
		table->is_behind = false;
	sync->before = table;
	sync->table = NULL;
}

/* The next one of the level in the range. Mostly it is the neighbour of the one before it. */
static struct table *next_table_locked(const struct table_sync *sync)
{
	const struct page_tables *tables = sync->tables;
	const struct table *before = sync->before;

	lock_assert_held(&sync->tables->lock);
	if (before && before->level == sync->level && before->above &&
	    sync->next_page < sync->end_page && sync->next_page == table_end(tables, before)) {
		const struct table *above = before->above;
		uint32_t index = table_index(tables, above, before->first_page) + 1;

		if (index < above->entry_count && above->below[index])
			return above->below[index];
	}
	return tables_next_locked(tables, sync->level, sync->next_page, sync->end_page);
}

static bool write_level_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	lock_assert_held(&sync->tables->lock);
	if (write_zeroes_locked(sync, op_out))
		return true;
	for (;;) {
		if (!sync->table) {
			sync->table = next_table_locked(sync);
			if (!sync->table)
				return false;
			if (begin_table_locked(sync, op_out))
				return true;
		}
		if (sync->page < sync->stop_page &&
		    (sync->level == 0 ? write_leaf_locked(sync, op_out)
				      : write_above_locked(sync, op_out)))
			return true;
		if (sync->page >= sync->stop_page)
			end_of_table(sync);
	}
}

/*
 * With ExplicitPageTableInvalidation what is given back shows nothing. Tables that leave are told to
 * the driver that way, whatever it wants; and nothing leads from those that stay to where they were.
 */
static bool end_table(const struct table_sync *sync, struct table *table,
		      struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table_changes changes = { 0 };

	if (!table || !table->is_written)
		return false;
	table_make_repeated(tables, table, 0, table->entry_count, (struct miniport_pte){ 0 },
			    &changes, op_out);
	op_out->update_table.is_eviction = sync->is_leaving && table->memory.segment != 0;
	table->is_written = false;
	return true;
}

static bool end_level_locked(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;

	lock_assert_held(&sync->tables->lock);
	if (end_table(sync, tables->zeroes[sync->level], op_out))
		return true;
	for (;;) {
		struct table *table = tables_next_locked(tables, sync->level, sync->next_page,
							 tables->space.page_count);

		if (!table)
			return false;
		if (end_table(sync, table->wide, op_out))
			return true;
		sync->next_page = table_end(tables, table);
		if (!table->shows_wide && end_table(sync, table, op_out))
			return true;
	}
}

void table_sync_again(struct table_sync *sync, uint64_t first_page, uint64_t page_count)
{
	struct table_changes changes = sync->changes;
	bool may_copy = sync->may_copy;

	table_sync_init(sync, sync->tables, first_page, page_count);
	sync->changes = changes;
	sync->may_copy = may_copy;
}

bool table_sync_flush(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	return table_make_flush(sync->tables, &sync->changes, op_out);
}

bool table_sync_next(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	return table_sync_write(sync, op_out) || table_sync_flush(sync, op_out);
}

bool table_sync_write(struct table_sync *sync, struct miniport_paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	uint32_t level_count = tables->config->shape.answer.level_count;
	bool is_there = false;

	lock_acquire(&tables->lock);
	/* Whatever is true then is written when they come back. */
	if (tables->is_out && !sync->is_leaving) {
		sync->changes = (struct table_changes){ 0 };
		sync->level = level_count;
	}
	if (!sync->has_begun)
		sync->next_page = sync->first_page;
	sync->has_begun = true;
	while (!is_there && sync->level < level_count) {
		is_there = sync->is_ending ? end_level_locked(sync, op_out)
					   : write_level_locked(sync, op_out);
		if (is_there)
			break;
		sync->level = sync->must_begin_again ? 0 : sync->level + 1;
		sync->must_begin_again = false;
		sync->next_page = sync->first_page;
	}
	lock_release(&tables->lock);
	return is_there;
}

static void distrust_locked(struct page_tables *tables, uint32_t level, uint64_t first_page,
			    uint64_t end_page)
{
	lock_assert_held(&tables->lock);
	for (uint64_t page = first_page; page < end_page;) {
		struct table *table = tables_next_locked(tables, level, page, end_page);

		if (!table)
			return;
		table->is_written = false;
		if (table->wide && (table->shows_wide || tables_are_dual(tables)))
			table->wide->is_written = false;
		page = table_end(tables, table);
	}
}

void page_tables_distrust(struct page_tables *tables, uint64_t first_page, uint64_t page_count)
{
	lock_acquire(&tables->lock);
	for (uint32_t level = 0; level < tables->config->shape.answer.level_count; level++) {
		distrust_locked(tables, level, first_page, first_page + page_count);
		if (tables->zeroes[level])
			tables->zeroes[level]->is_written = false;
	}
	lock_release(&tables->lock);
}
