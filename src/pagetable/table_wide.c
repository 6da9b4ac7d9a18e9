/* SPDX-License-Identifier: MIT */
/*
 * table_wide.c - which addresses are 64 KiB pages, and what their entries are.
 *
 *	in:   what a row of addresses shows, and where that memory is by now
 *	out:  entries of 64 KiB each, as many as go on; or that the next one is none
 *
 * One entry stands for sixteen pages of 4 KiB at a multiple of 64 KiB. They show the same kind of
 * thing with one protection: memory in a row, from a multiple of 64 KiB on, in a segment that is
 * managed in such pages; memory that is nowhere, mapped so that it could be one; zeroes, where
 * entries can say zero; or nothing.
 *
 * Locks: page_tables.lock.
 */
#include <assert.h>

#include "base/checked.h"
#include "pagetable/table_tree.h"

static uint64_t blocks_of(uint64_t page_count)
{
	return page_count >> GPUVA_WIDE_SHIFT;
}

static bool is_nothing(const struct gpuva_view *view)
{
	return view->state.kind != GPUVA_KIND_ZERO && view->state.kind != GPUVA_KIND_MAPPED;
}

/* Free, and reserved without access: it does not matter which. */
static uint64_t nothing_pages(const struct page_tables *tables, uint64_t page, uint64_t end_page)
{
	uint64_t at = page;

	while (at < end_page) {
		struct gpuva_view view;

		gpuva_space_look(&tables->space, at, &view);
		if (!is_nothing(&view))
			break;
		at += lower_of(view.page_count, end_page - at);
	}
	return at - page;
}

static bool is_in_64k_pages(const struct page_tables_config *config, const struct resident_run *run)
{
	if (!gpuva_shape_fits_64k(&config->shape,
				  &(struct gpuva_run){ 0, GPUVA_WIDE_PAGES, run->first_page }))
		return false;
	if (run->segment == 0)
		return config->mmu.flags & TABLES_HAVE_64K_SYSTEM;
	return config->segments_of_64k_pages >> (run->segment - 1) & 1;
}

/* How many entries the first run of memory makes, into the scratch from `filled` on. */
static uint64_t fill_run(const struct page_tables *tables, const struct gpuva_view *view,
			 struct resident_run run, uint32_t filled)
{
	struct table_scratch *scratch = tables->config->scratch;
	uint64_t count = lower_of(blocks_of(run.page_count), TABLES_FEW_ENTRIES - filled);

	if (run.is_resident && !is_in_64k_pages(tables->config, &run))
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		struct miniport_pte entry = table_memory_entry(tables, view, &run);

		scratch->entries[filled + i] = entry;
		scratch->packed[filled + i] = pte_pack(&entry);
		run.first_page += GPUVA_WIDE_PAGES;
	}
	return count;
}

static void memory_part(const struct page_tables *tables, const struct gpuva_view *view,
			struct wide_part *part)
{
	const struct mapped_memory *memory = table_view_memory(view);
	uint64_t page_count;
	uint64_t offset = table_view_offset(view, &page_count);
	bool was_resident = false;

	part->memory = memory;
	part->offset_pages = offset;
	page_count = blocks_of(page_count) << GPUVA_WIDE_SHIFT;
	for (uint64_t done = 0; done < page_count && part->count < TABLES_FEW_ENTRIES;) {
		struct resident_run run =
			table_look(tables, memory, offset + done, page_count - done);

		if ((done > 0 && run.is_resident != was_resident) ||
		    (!run.is_resident && !is_aligned(offset, GPUVA_WIDE_PAGES)))
			return;
		was_resident = run.is_resident;
		uint64_t count = fill_run(tables, view, run, part->count);
		if (count == 0)
			return;
		part->count += (uint32_t)count;
		part->is_invalid = !run.is_resident;
		done += count << GPUVA_WIDE_SHIFT;
	}
}

void table_wide_part_locked(const struct page_tables *tables, uint64_t page, uint64_t end_page,
			    struct wide_part *part_out)
{
	struct table_scratch *scratch = tables->config->scratch;
	struct gpuva_view view;

	lock_assert_held(&tables->lock);
	assert(is_aligned(page | end_page, GPUVA_WIDE_PAGES) && page < end_page);
	*part_out = (struct wide_part){ 0 };
	gpuva_space_look(&tables->space, page, &view);
	view.page_count = lower_of(view.page_count, end_page - page);
	part_out->driver_protection = view.state.driver_protection;
	if (view.state.kind == GPUVA_KIND_MAPPED) {
		memory_part(tables, &view, part_out);
		return;
	}
	part_out->is_repeated = true;
	part_out->is_invalid = is_nothing(&view);
	if (part_out->is_invalid)
		part_out->count = (uint32_t)blocks_of(nothing_pages(tables, page, end_page));
	else if (tables->config->mmu.flags & TABLES_HAVE_ZERO)
		part_out->count = (uint32_t)blocks_of(view.page_count);
	scratch->entries[0] = table_entry_of_kind(tables, view.state.kind);
	scratch->packed[0] = pte_pack(&scratch->entries[0]);
}
