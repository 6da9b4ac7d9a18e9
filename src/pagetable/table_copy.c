/* SPDX-License-Identifier: MIT */
/*
 * table_copy.c - leaf entries that the GPU copies from where tile pools are kept mapped.
 *
 *	pools    |.|aaaaaaaa|bbbbbbbbbbbb|…       follow their memory by themselves
 *	              └───┬──┘  COPY_PAGE_TABLE_ENTRIES
 *	space    |0000|aaaa|00|aaaa|0000|…
 *
 * What is copied is what was written there last: operations take effect in the order in which they
 * are built. Where that is not what is true by now (memory on its way, a job that failed) nothing is
 * copied, and whoever asked writes the entries instead.
 *
 * Locks: page_tables.lock, inside it that of the pools. On the pager's thread.
 */
#include <assert.h>

#include "base/checked.h"
#include "pagetable/table_tree.h"

/* Where the memory begins in the pools, as the view shows it; false: it is not there like that. */
static bool find_memory_locked(const struct page_tables *pools, const struct gpuva_view *view,
			       uint64_t *first_page_out)
{
	struct mapped_memory *memory =
		container_of(view->state.owner, struct memory_view, owner)->memory;
	bool is_found = false;

	lock_assert_held(&pools->lock);
	lock_acquire(&memory->lock);
	list_each (const struct memory_view, kept, &memory->views, memory_link) {
		const struct gpuva_range *range;

		if (kept->tables != pools || kept->owner.range_count != 1)
			continue;
		range = range_of_owner_link(kept->owner.ranges.next);
		if (range->state.protection != view->state.protection ||
		    range->state.driver_protection != view->state.driver_protection)
			continue;
		*first_page_out = range->first_page;
		is_found = true;
		break;
	}
	lock_release(&memory->lock);
	return is_found;
}

/* How many entries of `source` from `index` on are what `view` is to show; they go to `packed`. */
static uint32_t count_equal_locked(const struct page_tables *tables, const struct gpuva_view *view,
				   const struct table *source, uint32_t index, uint64_t *packed)
{
	struct gpuva_view rest = *view;
	uint32_t equal = 0;

	lock_assert_held(&tables->lock);
	while (rest.page_count > 0) {
		uint64_t count;
		struct miniport_pte entry = table_first_entry_locked(tables, &rest, &count);
		uint64_t step = entry.is_valid ? 1 << PACKED_PAGE_SHIFT : 0;
		uint64_t next = pte_pack(&entry);

		rest.state = gpuva_state_after(&rest.state, count);
		rest.page_count -= count;
		for (; count > 0; count--, equal++, next += step) {
			if (table_given(source, index + equal) != next)
				return equal;
			packed[equal] = next;
		}
	}
	return equal;
}

/* One range of the operation: where it is copied from, and how much. False: nothing is there. */
struct copy_source {
	const struct page_tables *pools;
	uint64_t memory_page; /* where the memory begins in them */
	const struct table *table;
};

static bool next_range_locked(struct page_tables *tables, struct copy_source *source,
			      const struct gpuva_view *view, uint32_t *index_out,
			      uint32_t *count_out)
{
	struct gpuva_view part = *view;
	uint64_t page = source->memory_page + table_view_offset(view, &part.page_count);
	const struct table *table = tables_at(source->pools, 0, page);

	lock_assert_held(&tables->lock);
	/* One operation names two tables. */
	if (!table || !table->is_written || table->shows_wide ||
	    (source->table && table != source->table))
		return false;
	part.page_count = lower_of(part.page_count, table_end(source->pools, table) - page);
	part.page_count = lower_of(part.page_count, TABLES_FEW_ENTRIES);
	*index_out = table_index(source->pools, table, page);
	*count_out = count_equal_locked(tables, &part, table, *index_out,
					tables->config->scratch->packed);
	source->table = table;
	return *count_out > 0;
}

/* Into the scratch. Returns how many. */
static uint32_t fill_copies_locked(struct page_tables *tables, struct table *table,
				   struct copy_source *source, const struct gpuva_view *view,
				   uint64_t *page, struct table_changes *changes)
{
	struct table_scratch *scratch = tables->config->scratch;
	struct gpuva_view rest = *view;
	uint32_t filled = 0;

	lock_assert_held(&tables->lock);
	while (filled < MINIPORT_FEW_ENTRIES && rest.page_count > 0) {
		uint32_t index = table_index(tables, table, *page);
		uint32_t source_index;
		uint32_t count;

		if (!next_range_locked(tables, source, &rest, &source_index, &count))
			break;
		table_give_locked(tables, table, index, count, scratch->packed, changes);
		scratch->copies[filled++] = (struct miniport_table_copy){
			.source_index = source_index,
			.destination_index = index,
			.count = count,
		};
		rest.state = gpuva_state_after(&rest.state, count);
		rest.page_count -= count;
		*page += count;
	}
	return filled;
}

static void make_copy(const struct page_tables *tables, const struct table *from,
		      const struct table *to, uint32_t filled, struct miniport_paging_op *op_out)
{
	assert(from->size_bytes == to->size_bytes);
	*op_out = (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES,
		.target = pager_table_location(&to->memory),
		.source = pager_table_location(&from->memory),
		.size_bytes = to->size_bytes,
		.copy_entries = { .copies = tables->config->scratch->copies, .count = filled },
	};
}

bool table_copy_locked(struct page_tables *tables, struct table *table,
		       const struct gpuva_view *view, uint64_t *page, struct table_changes *changes,
		       struct miniport_paging_op *op_out)
{
	struct page_tables *pools = tables->pools;
	struct copy_source source = { .pools = pools };
	uint32_t filled = 0;

	lock_assert_held(&tables->lock);
	lock_acquire(&pools->lock);
	if (find_memory_locked(pools, view, &source.memory_page))
		filled = fill_copies_locked(tables, table, &source, view, page, changes);
	if (filled > 0)
		make_copy(tables, source.table, table, filled, op_out);
	lock_release(&pools->lock);
	return filled > 0;
}

/* ---- pages of 64 KiB ---- */

/* The twin that shows the page; NULL: what the GPU finds there is no 64 KiB page. */
static const struct table *wide_at_locked(const struct page_tables *pools, uint64_t page)
{
	const struct table *leaf = tables_at(pools, 0, page);

	lock_assert_held(&pools->lock);
	if (!leaf || !leaf->is_written || !leaf->wide ||
	    !(leaf->shows_wide || tables_are_dual(pools)))
		return NULL;
	return leaf->wide->is_written ? leaf->wide : NULL;
}

static bool copy_wide_locked(struct page_tables *tables, struct table *wide,
			     const struct wide_part *part, uint64_t memory_page, uint64_t *page,
			     struct table_changes *changes, struct miniport_paging_op *op_out)
{
	const struct page_tables *pools = tables->pools;
	struct table_scratch *scratch = tables->config->scratch;
	uint64_t source_page = memory_page + part->offset_pages;
	const struct table *source = wide_at_locked(pools, source_page);
	uint32_t index = table_index(tables, wide, *page);
	uint32_t equal = 0;

	lock_assert_held(&tables->lock);
	if (!source || !is_aligned(source_page, GPUVA_WIDE_PAGES))
		return false;
	uint32_t source_index = table_index(pools, source, source_page);
	while (equal < part->count && source_index + equal < source->entry_count &&
	       table_given(source, source_index + equal) == scratch->packed[equal])
		equal++;
	if (equal == 0)
		return false;
	table_give_locked(tables, wide, index, equal, scratch->packed, changes);
	scratch->copies[0] = (struct miniport_table_copy){
		.source_index = source_index,
		.destination_index = index,
		.count = equal,
	};
	make_copy(tables, source, wide, 1, op_out);
	*page += (uint64_t)equal << GPUVA_WIDE_SHIFT;
	return true;
}

bool table_copy_wide_locked(struct page_tables *tables, struct table *wide,
			    const struct wide_part *part, uint64_t *page,
			    struct table_changes *changes, struct miniport_paging_op *op_out)
{
	struct page_tables *pools = tables->pools;
	struct gpuva_view view;
	uint64_t memory_page;

	lock_assert_held(&tables->lock);
	gpuva_space_look(&tables->space, *page, &view);
	lock_acquire(&pools->lock);
	bool is_copied = find_memory_locked(pools, &view, &memory_page) &&
			 copy_wide_locked(tables, wide, part, memory_page, page, changes, op_out);
	lock_release(&pools->lock);
	return is_copied;
}
