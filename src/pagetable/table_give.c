/* SPDX-License-Identifier: MIT */
/*
 * table_give.c - entries that the driver is given: written down, and as the operation that says so.
 *
 * What a TLB may have of what was there before is noted beside it; the flush comes at the end.
 *
 * Locks: page_tables.lock. On the pager's thread: operations point into the scratch.
 */
#include "pagetable/table_tree.h"

static void note_change(const struct page_tables *tables, struct table_changes *changes,
			uint64_t first_page, uint64_t page_count, bool was_valid)
{
	if (changes->first_page == changes->end_page) {
		changes->first_page = first_page;
		changes->end_page = first_page;
	}
	if (first_page < changes->first_page)
		changes->first_page = first_page;
	if (first_page + page_count > changes->end_page)
		changes->end_page = first_page + page_count;
	changes->must_flush |= was_valid || !(tables->config->mmu.flags & TABLES_CACHE_NO_INVALID);
}

static void write_given_down(struct table *table)
{
	if (!table->is_run)
		return;
	for (uint32_t i = 0; i < table->entry_count; i++)
		table->given[i] = table->run_first + i * table->run_step;
	table->is_run = false;
}

bool table_is_all_invalid(const struct table *table, uint32_t first_index, uint32_t count)
{
	uint64_t valid = 0;

	if (table->is_run)
		return table->run_first == 0 && table->run_step == 0;
	for (uint32_t i = 0; i < count; i++)
		valid |= table->given[first_index + i];
	return valid == 0;
}

/* Entries from `first` on, in steps. True when some of them were valid before. */
static bool give_run(struct table *table, uint32_t first_index, uint32_t count, uint64_t first,
		     uint64_t step)
{
	bool was_valid = !table_is_all_invalid(table, first_index, count);

	if (count == table->entry_count) {
		table_set_given(table, first, step);
		return was_valid;
	}
	write_given_down(table);
	for (uint32_t i = 0; i < count; i++)
		table->given[first_index + i] = first + i * step;
	return was_valid;
}

static bool give_entries(struct table *table, uint32_t first_index, uint32_t count,
			 const uint64_t *packed)
{
	bool was_valid = !table_is_all_invalid(table, first_index, count);

	write_given_down(table);
	for (uint32_t i = 0; i < count; i++)
		table->given[first_index + i] = packed[i];
	return was_valid;
}

/* The twin is what the GPU sees, until all of this one is written. */
static bool is_behind_twin(const struct page_tables *tables, const struct table *table)
{
	const struct table *above = table->above;

	return table->wide && !table->shows_wide && above &&
	       (table_given(above, table_index(tables, above, table->first_page)) &
		PACKED_TABLE_64K);
}

void table_update_op(const struct page_tables *tables, const struct table *table,
		     uint32_t first_index, uint32_t count, struct miniport_paging_op *op_out)
{
	struct table_scratch *scratch = tables->config->scratch;

	/* One by one, and not the whole of it: there are as many of these as tables. */
	op_out->kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE;
	op_out->subject = (struct miniport_subject){ 0 };
	op_out->target = pager_table_location(&table->memory);
	op_out->size_bytes = table->size_bytes;
	op_out->offset_bytes = 0;
	op_out->update_table.level = table->level;
	op_out->update_table.mode =
		(enum miniport_table_update_mode)tables->config->mmu.update_mode;
	op_out->update_table.entries = scratch->entries;
	op_out->update_table.first_index = first_index;
	op_out->update_table.count = count;
	op_out->update_table.is_repeated = false;
	op_out->update_table.is_run = false;
	op_out->update_table.is_initial = false;
	op_out->update_table.is_eviction = false;
	op_out->update_table.driver_protection = 0;
	op_out->update_table.driver_process = tables->driver_process;
	op_out->update_table.wide_entries = NULL;
	op_out->update_table.has_64k_pages = table->is_wide;
	op_out->update_table.needs_quiet = is_behind_twin(tables, table);
	op_out->update_table.first_address =
		(table->first_page + ((uint64_t)first_index << table->shift)) << GPUVA_PAGE_SHIFT;
}

static void note_entries(const struct page_tables *tables, const struct table *table,
			 uint32_t first_index, uint32_t count, bool was_valid,
			 struct table_changes *changes)
{
	/* Nothing led to a table before it was one. */
	if (!table->is_zeroes && (table->is_written || was_valid))
		note_change(tables, changes,
			    table->first_page + ((uint64_t)first_index << table->shift),
			    (uint64_t)count << table->shift, was_valid);
}

void table_give_locked(struct page_tables *tables, struct table *table, uint32_t first_index,
		       uint32_t count, const uint64_t *packed, struct table_changes *changes)
{
	bool was_valid = give_entries(table, first_index, count, packed);

	lock_assert_held(&tables->lock);
	note_entries(tables, table, first_index, count, was_valid, changes);
}

static void make_update(struct page_tables *tables, struct table *table, uint32_t first_index,
			uint32_t count, bool was_valid, struct table_changes *changes,
			struct miniport_paging_op *op_out)
{
	note_entries(tables, table, first_index, count, was_valid, changes);
	table_update_op(tables, table, first_index, count, op_out);
}

/* Different entries. */
void table_make_several_locked(struct page_tables *tables, struct table *table,
			       uint32_t first_index, uint32_t count, struct table_changes *changes,
			       struct miniport_paging_op *op_out)
{
	lock_assert_held(&tables->lock);
	table_give_locked(tables, table, first_index, count, tables->config->scratch->packed,
			  changes);
	table_update_op(tables, table, first_index, count, op_out);
}

/* The same entry all over. */
void table_make_repeated(struct page_tables *tables, struct table *table, uint32_t first_index,
			 uint32_t count, struct miniport_pte entry, struct table_changes *changes,
			 struct miniport_paging_op *op_out)
{
	bool was_valid = give_run(table, first_index, count, pte_pack(&entry), 0);

	tables->config->scratch->entries[0] = entry;
	make_update(tables, table, first_index, count, was_valid, changes, op_out);
	op_out->update_table.is_repeated = true;
}

/* Writes all of a new table: before that its memory holds anything. */
void table_make_initial(struct page_tables *tables, struct table *table, struct miniport_pte entry,
			struct table_changes *changes, struct miniport_paging_op *op_out)
{
	table_make_repeated(tables, table, 0, table->entry_count, entry, changes, op_out);
	op_out->update_table.is_initial = true;
	table->is_written = true;
	for (uint32_t i = 0; table->given_wide && i < table->entry_count; i++)
		table->given_wide[i] = 0;
}

/* Pages in a row, of which this is the first. */
void table_make_run(struct page_tables *tables, struct table *table, uint32_t first_index,
		    uint32_t count, struct miniport_pte entry, struct table_changes *changes,
		    struct miniport_paging_op *op_out)
{
	bool was_valid =
		give_run(table, first_index, count, pte_pack(&entry), 1 << PACKED_PAGE_SHIFT);

	tables->config->scratch->entries[0] = entry;
	make_update(tables, table, first_index, count, was_valid, changes, op_out);
	op_out->update_table.is_run = true;
}

void page_tables_flush_op(const struct page_tables *tables, uint64_t first_page, uint64_t end_page,
			  struct miniport_paging_op *op_out)
{
	*op_out = (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_FLUSH_TLB,
		.target = pager_table_location(&tables->root->memory),
		.flush_tlb = { .driver_process = tables->driver_process,
			       .first_address = first_page << GPUVA_PAGE_SHIFT,
			       .end_address = end_page << GPUVA_PAGE_SHIFT },
	};
}

/* The TLB, where what was written asks for it. */
bool table_make_flush(struct page_tables *tables, struct table_changes *changes,
		      struct miniport_paging_op *op_out)
{
	bool must_flush = changes->must_flush;

	if (must_flush)
		page_tables_flush_op(tables, changes->first_page, changes->end_page, op_out);
	*changes = (struct table_changes){ 0 };
	return must_flush;
}
