/* SPDX-License-Identifier: MIT */
/*
 * table_entries.c - what entries are to be: from what is true of an address, and of its memory.
 *
 * Locks: page_tables.lock wherever a function ends in _locked.
 */
#include <assert.h>

#include "base/checked.h"
#include "base/machine.h"
#include "pagetable/table_tree.h"

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

struct miniport_pte table_memory_entry(const struct page_tables *tables,
				       const struct gpuva_view *view,
				       const struct resident_run *run)
{
	uint32_t flags = tables->config->mmu.flags;

	if (!run->is_resident)
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

struct resident_run table_look(const struct page_tables *tables, const struct mapped_memory *memory,
			       uint64_t offset_pages, uint64_t page_count)
{
	const struct page_tables_config *config = tables->config;
	struct resident_run run = { .page_count = page_count };

	config->look(config->look_context, memory, offset_pages, &run);
	assert(run.page_count > 0 && run.page_count <= page_count);
	return run;
}

struct miniport_pte table_first_entry_locked(const struct page_tables *tables,
					     const struct gpuva_view *view, uint64_t *count)
{
	uint64_t page_count;

	lock_assert_held(&tables->lock);
	*count = view->page_count;
	if (view->state.kind != GPUVA_KIND_MAPPED)
		return table_entry_of_kind(tables, view->state.kind);
	uint64_t offset = table_view_offset(view, &page_count);
	struct resident_run run = table_look(tables, table_view_memory(view), offset, page_count);
	*count = run.page_count;
	return table_memory_entry(tables, view, &run);
}

static struct miniport_pte entry_to(const struct table *table)
{
	return (struct miniport_pte){
		.page = table->memory.offset_bytes >> MACHINE_PAGE_SHIFT,
		.segment = (uint8_t)table->memory.segment,
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
		.is_table_64k = packed & PACKED_TABLE_64K,
	};
}

bool table_is_large_locked(const struct page_tables *tables, const struct table *table,
			   struct miniport_pte *entry_out)
{
	const struct page_tables_config *config = tables->config;
	uint64_t pages = gpuva_shape_table_pages(&config->shape, table->level);
	struct gpuva_view view;

	lock_assert_held(&tables->lock);
	if (!config->shape.answer.has_large_pages || tables->are_pools || table == tables->root ||
	    table->is_zeroes)
		return false;
	gpuva_space_look(&tables->space, table->first_page, &view);
	if (view.page_count < pages || view.state.kind != GPUVA_KIND_MAPPED ||
	    view.state.period_pages != 0 || view.state.driver_protection != 0)
		return false;
	struct resident_run run =
		table_look(tables, table_view_memory(&view), view.state.offset_pages, pages);
	if (!run.is_resident || run.page_count < pages ||
	    (run.segment == 0 && !(config->mmu.flags & TABLES_HAVE_LARGE_SYSTEM)))
		return false;
	if (gpuva_shape_large_level(&config->shape, &(struct gpuva_run){ table->first_page, pages,
									 run.first_page }) <=
	    table->level)
		return false;
	*entry_out = table_memory_entry(tables, &view, &run);
	entry_out->is_large = true;
	return true;
}

/*
 * Who made it is still to come, and nothing shows through it before; or it is a large page, or the
 * twin, until who makes that fall apart has written all of the table.
 */
static bool is_still_to_come(const struct table *below, uint64_t given)
{
	return !below->is_written ||
	       (below->is_behind && (given & (PACKED_LARGE | PACKED_TABLE_64K)));
}

/* Of an entry that a table hangs in. */
static struct miniport_pte entry_above_table_locked(const struct page_tables *tables,
						    const struct table *below, uint64_t given)
{
	struct miniport_pte entry;

	lock_assert_held(&tables->lock);
	if (table_is_large_locked(tables, below, &entry))
		return entry;
	if (is_still_to_come(below, given))
		return pte_unpack(given);
	entry = entry_to(below->shows_wide ? below->wide : below);
	entry.is_table_64k = below->shows_wide;
	return entry;
}

struct miniport_pte table_wide_entry_above_locked(const struct page_tables *tables,
						  const struct table *table, uint32_t index)
{
	const struct table *below = table->is_zeroes ? NULL : table->below[index];
	struct miniport_pte large;

	lock_assert_held(&tables->lock);
	if (!below || table_is_large_locked(tables, below, &large))
		return (struct miniport_pte){ 0 };
	if (is_still_to_come(below, table_given(table, index)))
		return pte_unpack(table->given_wide[index]);
	return below->wide->is_written ? entry_to(below->wide) : (struct miniport_pte){ 0 };
}

struct miniport_pte table_entry_above_locked(const struct page_tables *tables,
					     const struct table *table, uint32_t index)
{
	uint64_t pages = gpuva_shape_entry_pages(&tables->config->shape, table->level);
	const struct table *below = table->is_zeroes ? NULL : table->below[index];
	const struct table *zeroes = tables->zeroes[table->level - 1];

	lock_assert_held(&tables->lock);
	if (table->is_zeroes)
		return entry_to(zeroes);
	if (below)
		return entry_above_table_locked(tables, below, table_given(table, index));
	if (zeroes && zeroes->is_written &&
	    tables_is_zero_locked(tables, table->first_page + index * pages, pages))
		return entry_to(zeroes);
	return (struct miniport_pte){ 0 };
}
