/* SPDX-License-Identifier: MIT */
#include "base/checked.h"
#include "base/machine.h"
#include "paging/layout.h"

enum {
	FIRST_PAGE = 16, /* nothing is ever mapped at the first 64 KiB */
	ROW_PAGES = 16,
	BIG_PAGES = 2048, /* 8 MiB */
	BIG_SLOTS = 8,
	SMALL_PAGES = 16,
	SMALL_SLOTS = 512, /* copies of 64 KiB: as much as a packet has, twice */
	FEW_SMALL_SLOTS = 64,
	LEAST_SLOTS = 2, /* one is mapped while the other is in use */
	GPU_VIRTUAL = 1,
};

static uint64_t up(uint64_t page, uint64_t alignment)
{
	return align_down(page + alignment - 1, alignment);
}

static uint32_t table_pages_max(const struct miniport_gpu_mmu *mmu)
{
	uint32_t pages = SMALL_PAGES;

	if (pages < mmu->leaf_table_size_64k_bytes >> MACHINE_PAGE_SHIFT)
		pages = mmu->leaf_table_size_64k_bytes >> MACHINE_PAGE_SHIFT;
	for (uint32_t level = 0; level < mmu->level_count; level++) {
		uint32_t these = mmu->levels[level].table_size_bytes >> MACHINE_PAGE_SHIFT;

		if (these > pages)
			pages = these;
	}
	return (uint32_t)up(pages, ROW_PAGES);
}

/* The leaf tables are mapped by leaf tables, themselves included. */
static uint32_t leaf_count_of(const struct pager_layout *layout, bool is_mapping_tables)
{
	uint64_t count = 0;
	uint64_t needed = layout->end;

	for (;;) {
		uint64_t next = (needed + layout->leaf_entries - 1) / layout->leaf_entries;

		if (next == count || next > UINT32_MAX)
			return (uint32_t)next;
		count = next;
		if (is_mapping_tables)
			needed = layout->end + count * layout->table_pages;
	}
}

static void place_everything(struct pager_layout *layout, bool is_mapping_tables)
{
	uint64_t big_alignment =
		layout->big_pages >= layout->leaf_entries ? layout->leaf_entries : ROW_PAGES;

	layout->first_buffer = FIRST_PAGE;
	layout->first_small =
		up(FIRST_PAGE + (uint64_t)layout->buffer_pages * layout->buffer_count, ROW_PAGES);
	layout->first_big =
		up(layout->first_small + 2ULL * layout->small_pages * layout->small_count,
		   big_alignment);
	layout->end = layout->first_big + 2ULL * layout->big_pages * layout->big_count;
	layout->first_table = is_mapping_tables ? layout->end : 0;
	layout->leaf_count = leaf_count_of(layout, is_mapping_tables);
	if (is_mapping_tables)
		layout->end += (uint64_t)layout->leaf_count * layout->table_pages;
}

/*
 * Many small ones are for speed. Then fewer big ones in flight before smaller ones; small ones last,
 * they are what tables need.
 */
static bool shrink(struct pager_layout *layout)
{
	if (layout->small_count > FEW_SMALL_SLOTS)
		layout->small_count /= 2;
	else if (layout->big_count > LEAST_SLOTS)
		layout->big_count /= 2;
	else if (layout->big_pages > layout->small_pages)
		layout->big_pages /= 2;
	else if (layout->small_count > LEAST_SLOTS)
		layout->small_count /= 2;
	else
		return false;
	return true;
}

bool pager_layout_plan(const struct miniport_gpu_mmu *mmu, uint32_t buffer_pages,
		       uint32_t buffer_count, uint32_t most_leaves, struct pager_layout *layout_out)
{
	bool is_mapping_tables = mmu->update_mode == GPU_VIRTUAL;
	uint64_t limit = UINT64_C(1) << (mmu->address_bits - MACHINE_PAGE_SHIFT);
	struct pager_layout layout = {
		.buffer_pages = buffer_pages,
		.buffer_count = buffer_count,
		.small_pages = table_pages_max(mmu),
		.small_count = SMALL_SLOTS,
		.big_pages = BIG_PAGES,
		.big_count = BIG_SLOTS,
		.table_pages = mmu->levels[0].table_size_bytes >> MACHINE_PAGE_SHIFT,
		.leaf_entries = UINT32_C(1) << mmu->levels[0].index_bits,
	};

	if (is_mapping_tables && layout.table_pages >= layout.leaf_entries)
		return false; /* a table could not even map itself */
	for (;;) {
		place_everything(&layout, is_mapping_tables);
		if (layout.end <= limit && layout.leaf_count <= most_leaves)
			break;
		if (!shrink(&layout))
			return false;
	}
	*layout_out = layout;
	return true;
}
