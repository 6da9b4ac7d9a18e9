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
 * Called by the pager's thread; page_tables.lock is taken for one operation at a time.
 */
#include <assert.h>

#include "base/checked.h"
#include "base/machine.h"
#include "vidmm/table_tree.h"

/* ---- what entries are ---- */

struct miniport_pte table_entry_of_kind(const struct page_tables *tables, enum gpuva_kind kind)
{
	const struct page_tables_config *config = tables->config;

	if (kind != GPUVA_KIND_ZERO)
		return (struct miniport_pte){ 0 };
	if (config->mmu.flags & TABLES_HAVE_ZERO)
		return (struct miniport_pte){ .is_zero = true };
	return (struct miniport_pte){
		.page = config->zero_page >> MACHINE_PAGE_SHIFT,
		.is_valid = true,
		.is_read_only = config->mmu.flags & TABLES_HAVE_READ_ONLY,
	};
}

uint64_t table_view_offset(const struct gpuva_view *view, uint64_t *page_count_out)
{
	const struct gpuva_state *state = &view->state;

	*page_count_out = view->page_count;
	if (state->period_pages == 0)
		return state->offset_pages;
	*page_count_out = lower_of(view->page_count, state->period_pages - state->phase_pages);
	return state->offset_pages + state->phase_pages;
}

const struct mapped_memory *table_view_memory(const struct gpuva_view *view)
{
	return container_of(view->state.owner, struct memory_view, owner)->memory;
}

static struct miniport_pte memory_entry(const struct page_tables *tables,
					const struct gpuva_view *view, const struct shown_run *run)
{
	uint32_t flags = tables->config->mmu.flags;

	if (!run->is_shown)
		return (struct miniport_pte){ 0 };
	return (struct miniport_pte){
		.page = run->first_page,
		.segment = (uint8_t)run->segment,
		.is_valid = true,
		.is_read_only =
			(flags & TABLES_HAVE_READ_ONLY) && !(view->state.protection & GPUVA_WRITE),
		.is_no_execute = (flags & TABLES_HAVE_NO_EXECUTE) &&
				 !(view->state.protection & GPUVA_EXECUTE),
		.is_cache_coherent = (flags & TABLES_HAVE_CACHE_COHERENT) && run->segment == 0,
	};
}

static struct shown_run look(const struct page_tables *tables, const struct mapped_memory *memory,
			     uint64_t offset_pages, uint64_t page_count)
{
	const struct page_tables_config *config = tables->config;
	struct shown_run run = { .page_count = page_count };

	config->look(config->look_context, memory, offset_pages, &run);
	assert(run.page_count > 0 && run.page_count <= page_count);
	return run;
}

struct miniport_pte table_first_entry_locked(const struct page_tables *tables,
					     const struct gpuva_view *view, uint64_t *count)
{
	uint64_t page_count;
	uint64_t offset;
	struct shown_run run;

	*count = view->page_count;
	if (view->state.kind != GPUVA_KIND_MAPPED)
		return table_entry_of_kind(tables, view->state.kind);
	offset = table_view_offset(view, &page_count);
	run = look(tables, table_view_memory(view), offset, page_count);
	*count = run.page_count;
	return memory_entry(tables, view, &run);
}

static struct miniport_pte entry_to(const struct table *table)
{
	return (struct miniport_pte){
		.page = table->place.offset_bytes >> MACHINE_PAGE_SHIFT,
		.segment = (uint8_t)table->place.segment,
		.is_valid = true,
	};
}

struct miniport_pte pte_unpack(uint64_t packed)
{
	return (struct miniport_pte){
		.page = packed >> PACKED_PAGE_SHIFT,
		.segment = (uint8_t)(packed >> PACKED_SEGMENT_SHIFT & 31),
		.is_valid = packed & PACKED_VALID,
		.is_zero = packed & PACKED_ZERO,
		.is_read_only = packed & PACKED_READ_ONLY,
		.is_no_execute = packed & PACKED_NO_EXECUTE,
		.is_cache_coherent = packed & PACKED_CACHE_COHERENT,
		.is_large = packed & PACKED_LARGE,
	};
}

bool table_is_large_locked(const struct page_tables *tables, const struct table *table,
			   struct miniport_pte *entry_out)
{
	const struct page_tables_config *config = tables->config;
	uint64_t pages = gpuva_shape_table_pages(&config->shape, table->level);
	struct gpuva_view view;
	struct shown_run run;

	if (!config->shape.answer.has_large_pages || tables->are_pools || table == tables->root ||
	    table->is_zeroes)
		return false;
	gpuva_space_look(&tables->space, table->first_page, &view);
	if (view.page_count < pages || view.state.kind != GPUVA_KIND_MAPPED ||
	    view.state.period_pages != 0 || view.state.driver_protection != 0)
		return false;
	run = look(tables, table_view_memory(&view), view.state.offset_pages, pages);
	if (!run.is_shown || run.page_count < pages ||
	    (run.segment == 0 && !(config->mmu.flags & TABLES_HAVE_LARGE_SYSTEM)))
		return false;
	if (gpuva_shape_large_level(&config->shape, &(struct gpuva_run){ table->first_page, pages,
									 run.first_page }) <=
	    table->level)
		return false;
	*entry_out = memory_entry(tables, &view, &run);
	entry_out->is_large = true;
	return true;
}

/* Of an entry that a table hangs in. */
static struct miniport_pte entry_above_table(const struct page_tables *tables,
					     const struct table *below, uint64_t given)
{
	struct miniport_pte entry;

	if (table_is_large_locked(tables, below, &entry))
		return entry;
	/* Who made it is still to come, and nothing shows through it before; or it is a large page
	 * until who makes it fall apart has written all of the table. */
	if (!below->is_written || (below->is_behind && (given & PACKED_LARGE)))
		return pte_unpack(given);
	return entry_to(below);
}

struct miniport_pte table_entry_above_locked(const struct page_tables *tables,
					     const struct table *table, uint32_t index)
{
	uint64_t pages = gpuva_shape_entry_pages(&tables->config->shape, table->level);
	const struct table *below = table->is_zeroes ? NULL : table->below[index];
	const struct table *zeroes = tables->zeroes[table->level - 1];

	if (table->is_zeroes)
		return entry_to(zeroes);
	if (below)
		return entry_above_table(tables, below, table_given(table, index));
	if (zeroes && zeroes->is_written &&
	    tables_is_zero_locked(tables, table->first_page + index * pages, pages))
		return entry_to(zeroes);
	return (struct miniport_pte){ 0 };
}

/* ---- operations ---- */

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

/* ---- what the driver is given ---- */

static void write_given_down(struct table *table)
{
	if (!table->is_run)
		return;
	for (uint32_t i = 0; i < table->entry_count; i++)
		table->given[i] = table->run_first + i * table->run_step;
	table->is_run = false;
}

static bool is_all_invalid(const struct table *table, uint32_t first_index, uint32_t count)
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
	bool was_valid = !is_all_invalid(table, first_index, count);

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
	bool was_valid = !is_all_invalid(table, first_index, count);

	write_given_down(table);
	for (uint32_t i = 0; i < count; i++)
		table->given[first_index + i] = packed[i];
	return was_valid;
}

struct paging_place table_place(const struct table *table, struct miniport_page_run *run)
{
	*run = (struct miniport_page_run){
		.first_pfn = table->place.offset_bytes >> MACHINE_PAGE_SHIFT,
		.count = table->size_bytes >> MACHINE_PAGE_SHIFT,
	};
	return (struct paging_place){ .segment = table->place.segment,
				      .run_count = 1,
				      .runs = run };
}

void table_update_op(const struct page_tables *tables, const struct table *table,
		     uint32_t first_index, uint32_t count, struct paging_op *op_out)
{
	struct table_scratch *scratch = tables->config->scratch;
	uint64_t pages = gpuva_shape_entry_pages(&tables->config->shape, table->level);

	/* One by one, and not the whole of it: there are as many of these as tables. */
	op_out->kind = PAGING_UPDATE_TABLE;
	op_out->driver_allocation = NULL;
	op_out->update_table.table = table_place(table, &scratch->run);
	op_out->update_table.pointer = table->place.pointer;
	op_out->update_table.level = table->level;
	op_out->update_table.entries = scratch->entries;
	op_out->update_table.first_index = first_index;
	op_out->update_table.count = count;
	op_out->update_table.is_repeated = false;
	op_out->update_table.is_run = false;
	op_out->update_table.is_initial = false;
	op_out->update_table.is_eviction = false;
	op_out->update_table.driver_protection = 0;
	op_out->update_table.offset_in_allocation_bytes = 0;
	op_out->update_table.driver_process = tables->driver_process;
	op_out->update_table.first_address = (table->first_page + first_index * pages)
					     << GPUVA_PAGE_SHIFT;
}

static void note_entries(const struct page_tables *tables, const struct table *table,
			 uint32_t first_index, uint32_t count, bool was_valid,
			 struct table_changes *changes)
{
	uint64_t pages = gpuva_shape_entry_pages(&tables->config->shape, table->level);

	/* Nothing led to a table before it was one. */
	if (!table->is_zeroes && (table->is_written || was_valid))
		note_change(tables, changes, table->first_page + first_index * pages, count * pages,
			    was_valid);
}

void table_give_locked(struct page_tables *tables, struct table *table, uint32_t first_index,
		       uint32_t count, const uint64_t *packed, struct table_changes *changes)
{
	bool was_valid = give_entries(table, first_index, count, packed);

	note_entries(tables, table, first_index, count, was_valid, changes);
}

static void make_update(struct page_tables *tables, struct table *table, uint32_t first_index,
			uint32_t count, bool was_valid, struct table_changes *changes,
			struct paging_op *op_out)
{
	note_entries(tables, table, first_index, count, was_valid, changes);
	table_update_op(tables, table, first_index, count, op_out);
}

/* Different entries. */
static void make_several(struct page_tables *tables, struct table *table, uint32_t first_index,
			 uint32_t count, struct table_changes *changes, struct paging_op *op_out)
{
	table_give_locked(tables, table, first_index, count, tables->config->scratch->packed,
			  changes);
	table_update_op(tables, table, first_index, count, op_out);
}

/* The same entry all over. */
static void make_repeated(struct page_tables *tables, struct table *table, uint32_t first_index,
			  uint32_t count, struct miniport_pte entry, struct table_changes *changes,
			  struct paging_op *op_out)
{
	bool was_valid = give_run(table, first_index, count, pte_pack(&entry), 0);

	tables->config->scratch->entries[0] = entry;
	make_update(tables, table, first_index, count, was_valid, changes, op_out);
	op_out->update_table.is_repeated = true;
}

/* Pages in a row, of which this is the first. */
static void make_run(struct page_tables *tables, struct table *table, uint32_t first_index,
		     uint32_t count, struct miniport_pte entry, struct table_changes *changes,
		     struct paging_op *op_out)
{
	bool was_valid =
		give_run(table, first_index, count, pte_pack(&entry), 1 << PACKED_PAGE_SHIFT);

	tables->config->scratch->entries[0] = entry;
	make_update(tables, table, first_index, count, was_valid, changes, op_out);
	op_out->update_table.is_run = true;
}

/* The TLB, where what was written asks for it. */
static bool make_flush(struct page_tables *tables, struct table_changes *changes,
		       struct paging_op *op_out)
{
	bool must_flush = changes->must_flush;

	if (must_flush)
		*op_out = (struct paging_op){
			.kind = PAGING_AS_IT_IS,
			.as_it_is = {
				.kind = MINIPORT_PAGING_FLUSH_TLB,
				.flush_tlb = {
					.root_segment = tables->root->place.segment,
					.root_offset_bytes = tables->root->place.offset_bytes,
					.driver_process = tables->driver_process,
					.first_address = changes->first_page << GPUVA_PAGE_SHIFT,
					.end_address = changes->end_page << GPUVA_PAGE_SHIFT,
				},
			},
		};
	*changes = (struct table_changes){ 0 };
	return must_flush;
}

/* ---- leaves ---- */

static uint32_t fill_run(struct page_tables *tables, const struct gpuva_view *view,
			 const struct shown_run *run, uint32_t filled)
{
	struct table_scratch *scratch = tables->config->scratch;
	struct miniport_pte entry = memory_entry(tables, view, run);
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
			     uint64_t offset_pages, uint64_t count, const struct shown_run *first)
{
	struct shown_run run = *first;
	uint32_t filled = 0;

	if (count > TABLES_FEW_ENTRIES)
		count = TABLES_FEW_ENTRIES;
	run.page_count = lower_of(run.page_count, count);
	for (;;) {
		filled = fill_run(tables, view, &run, filled);
		if (filled == count)
			return filled;
		run = look(tables, table_view_memory(view), offset_pages + filled, count - filled);
		if (!run.is_shown) /* left meanwhile: the next operation says so */
			return filled;
	}
}

static void make_memory(struct page_tables *tables, struct table *table,
			const struct gpuva_view *view, uint64_t *page,
			struct table_changes *changes, struct paging_op *op_out)
{
	const struct mapped_memory *memory = table_view_memory(view);
	uint64_t count;
	uint64_t offset = table_view_offset(view, &count);
	struct shown_run run = look(tables, memory, offset, count);
	uint32_t index = table_index(tables, table, *page);

	if (!run.is_shown || view->state.period_pages == 1) {
		count = view->state.period_pages == 1 ? view->page_count : run.page_count;
		make_repeated(tables, table, index, (uint32_t)count,
			      memory_entry(tables, view, &run), changes, op_out);
	} else if (run.page_count >= lower_of(count, TABLES_FEW_ENTRIES)) {
		count = lower_of(count, TABLES_FEW_ENTRIES);
		make_run(tables, table, index, (uint32_t)count, memory_entry(tables, view, &run),
			 changes, op_out);
	} else {
		count = fill_entries(tables, view, offset, count, &run);
		make_several(tables, table, index, (uint32_t)count, changes, op_out);
	}
	op_out->driver_allocation = memory->driver_allocation;
	op_out->update_table.offset_in_allocation_bytes = offset << GPUVA_PAGE_SHIFT;
	*page += count;
}

/* The next operation for leaf entries of the table that is at turn. False: nothing is left to be
 * written there. */
static bool write_leaf(struct table_sync *sync, struct paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *table = sync->table;
	struct table_changes *changes = &sync->changes;
	uint64_t *page = &sync->page;
	uint64_t stop_page = sync->stop_page;

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
			make_memory(tables, table, &view, page, changes, op_out);
		} else {
			*page += view.page_count;
			if (view.state.kind != GPUVA_KIND_ZERO &&
			    is_all_invalid(table, index, (uint32_t)view.page_count))
				continue;
			make_repeated(tables, table, index, (uint32_t)view.page_count,
				      table_entry_of_kind(tables, view.state.kind), changes,
				      op_out);
		}
		op_out->update_table.driver_protection = view.state.driver_protection;
		return true;
	}
	return false;
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
	table->is_written = false;
	table->is_behind = false;
	table_set_given(table, 0, 0);
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

/* Entries that are not what they should be, in a row. */
static bool write_above(struct table_sync *sync, struct paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *table = sync->table;
	struct table_scratch *scratch = tables->config->scratch;
	uint64_t pages = gpuva_shape_entry_pages(&tables->config->shape, table->level);
	uint32_t index = table_index(tables, table, sync->page);
	uint32_t end_index = table_index(tables, table, sync->stop_page - 1) + 1;
	uint32_t count = 0;

	for (; index < end_index && count < TABLES_FEW_ENTRIES; index++) {
		struct miniport_pte entry = table_entry_above_locked(tables, table, index);

		if (was_left_out(sync, table->below[index], &entry))
			sync->must_begin_again = true;
		see_to_tables_below(sync, table->below[index], &entry);
		scratch->entries[count] = entry;
		scratch->packed[count] = pte_pack(&entry);
		if (scratch->packed[count] == table_given(table, index)) {
			if (count > 0)
				break;
			continue;
		}
		if (entry.is_large)
			note_unreachable(table->below[index]);
		count++;
	}
	sync->page = lower_of(table->first_page + index * pages, sync->stop_page);
	if (count > 0)
		make_several(tables, table, index - count, count, &sync->changes, op_out);
	return count > 0;
}

/* ---- the row ---- */

void table_sync_init(struct table_sync *sync, struct page_tables *tables, uint64_t first_page,
		     uint64_t page_count)
{
	*sync = (struct table_sync){ .tables = tables,
				     .first_page = first_page,
				     .end_page = first_page + page_count };
}

static void make_initial(struct page_tables *tables, struct table *table, struct miniport_pte entry,
			 struct table_changes *changes, struct paging_op *op_out)
{
	make_repeated(tables, table, 0, table->entry_count, entry, changes, op_out);
	op_out->update_table.is_initial = true;
	table->is_written = true;
}

/* The table of zeroes of this level, once. */
static bool write_zeroes(struct table_sync *sync, struct paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *zeroes = tables->zeroes[sync->level];

	if (!zeroes || zeroes->is_written)
		return false;
	make_initial(tables, zeroes,
		     zeroes->level == 0 ? table_entry_of_kind(tables, GPUVA_KIND_ZERO)
					: table_entry_above_locked(tables, zeroes, 0),
		     &sync->changes, op_out);
	return true;
}

/* Turns to the next table of the level; true with the operation that makes it a table. */
static bool begin_table(struct table_sync *sync, struct paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	struct table *table = sync->table;
	uint64_t end_page = table_end(tables, table);
	struct miniport_pte large;

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
		make_initial(tables, table, (struct miniport_pte){ 0 }, &sync->changes, op_out);
		table->is_behind = true;
		return true;
	}
	if (table->is_behind)
		return false;
	if (sync->page < sync->first_page)
		sync->page = sync->first_page;
	sync->stop_page = lower_of(sync->end_page, end_page);
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
static struct table *next_table(const struct table_sync *sync)
{
	const struct page_tables *tables = sync->tables;
	const struct table *before = sync->before;

	if (before && before->level == sync->level && before->above &&
	    sync->next_page < sync->end_page && sync->next_page == table_end(tables, before)) {
		const struct table *above = before->above;
		uint32_t index = table_index(tables, above, before->first_page) + 1;

		if (index < above->entry_count && above->below[index])
			return above->below[index];
	}
	return tables_next_locked(tables, sync->level, sync->next_page, sync->end_page);
}

static bool write_level(struct table_sync *sync, struct paging_op *op_out)
{
	if (write_zeroes(sync, op_out))
		return true;
	for (;;) {
		if (!sync->table) {
			sync->table = next_table(sync);
			if (!sync->table)
				return false;
			if (begin_table(sync, op_out))
				return true;
		}
		if (sync->page < sync->stop_page &&
		    (sync->level == 0 ? write_leaf(sync, op_out) : write_above(sync, op_out)))
			return true;
		if (sync->page >= sync->stop_page)
			end_of_table(sync);
	}
}

/* With ExplicitPageTableInvalidation: what is given back shows nothing. */
static bool end_table(struct page_tables *tables, struct table *table, struct paging_op *op_out)
{
	struct table_changes changes = { 0 };

	if (!table || !table->is_written)
		return false;
	make_repeated(tables, table, 0, table->entry_count, (struct miniport_pte){ 0 }, &changes,
		      op_out);
	table->is_written = false;
	return true;
}

static bool end_level(struct table_sync *sync, struct paging_op *op_out)
{
	struct page_tables *tables = sync->tables;

	if (end_table(tables, tables->zeroes[sync->level], op_out))
		return true;
	for (;;) {
		struct table *table = tables_next_locked(tables, sync->level, sync->next_page,
							 tables->space.page_count);

		if (!table)
			return false;
		sync->next_page = table_end(tables, table);
		if (end_table(tables, table, op_out))
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

bool table_sync_flush(struct table_sync *sync, struct paging_op *op_out)
{
	return make_flush(sync->tables, &sync->changes, op_out);
}

bool table_sync_next(struct table_sync *sync, struct paging_op *op_out)
{
	return table_sync_write(sync, op_out) || table_sync_flush(sync, op_out);
}

bool table_sync_write(struct table_sync *sync, struct paging_op *op_out)
{
	struct page_tables *tables = sync->tables;
	uint32_t level_count = tables->config->shape.answer.level_count;
	bool is_there = false;

	lock_acquire(&tables->lock);
	if (!sync->has_begun)
		sync->next_page = sync->first_page;
	sync->has_begun = true;
	while (!is_there && sync->level < level_count) {
		is_there = sync->is_ending ? end_level(sync, op_out) : write_level(sync, op_out);
		if (is_there)
			break;
		sync->level = sync->must_begin_again ? 0 : sync->level + 1;
		sync->must_begin_again = false;
		sync->next_page = sync->first_page;
	}
	lock_release(&tables->lock);
	return is_there;
}

static void distrust(struct page_tables *tables, uint32_t level, uint64_t first_page,
		     uint64_t end_page)
{
	for (uint64_t page = first_page; page < end_page;) {
		struct table *table = tables_next_locked(tables, level, page, end_page);

		if (!table)
			return;
		table->is_written = false;
		page = table_end(tables, table);
	}
}

void page_tables_distrust(struct page_tables *tables, uint64_t first_page, uint64_t page_count)
{
	lock_acquire(&tables->lock);
	for (uint32_t level = 0; level < tables->config->shape.answer.level_count; level++) {
		distrust(tables, level, first_page, first_page + page_count);
		if (tables->zeroes[level])
			tables->zeroes[level]->is_written = false;
	}
	lock_release(&tables->lock);
}
