/*
 * mapped_memory.c - memory that moves, and the entries that follow it. See page_tables.h.
 *
 *	leaf entries, space by space ─▶ TLB, space by space
 *
 * Ranges come and go between two operations. They are visited by ascending addresses: whatever is
 * mapped below the cursor by then was written by a sync of its own, from the same truth.
 *
 * Locks: mapped_memory.lock guards the list of views; they leave it on the pager's thread alone,
 * which therefore may keep one in hand without.
 */
#include <assert.h>

#include "base/mem.h"
#include "vidmm/table_tree.h"

void mapped_memory_init(struct mapped_memory *memory, uint64_t page_count, void *driver_allocation,
			void *allocation)
{
	*memory = (struct mapped_memory){ .page_count = page_count,
					  .driver_allocation = driver_allocation,
					  .allocation = allocation,
					  .next_id = 1 };
	lock_init(&memory->lock, LOCK_RANK_LEAF, "views of an allocation");
	list_init(&memory->views);
}

void mapped_memory_init_fixed(struct mapped_memory *memory, uint64_t first_page,
			      uint64_t page_count)
{
	mapped_memory_init(memory, page_count, NULL, NULL);
	memory->fixed_page = first_page;
}

void mapped_memory_finish(struct mapped_memory *memory)
{
	assert(list_is_empty(&memory->views));
	lock_finish(&memory->lock);
}

void mapped_memory_free(struct mapped_memory *memory)
{
	if (!memory)
		return;
	mapped_memory_finish(memory);
	mem_free(memory);
}

void memory_view_init(struct memory_view *view, struct mapped_memory *memory,
		      struct page_tables *tables)
{
	*view = (struct memory_view){ .memory = memory, .tables = tables };
	gpuva_owner_init(&view->owner, memory->page_count);
	lock_acquire(&memory->lock);
	view->id = memory->next_id++;
	list_push_back(&memory->views, &view->memory_link);
	lock_release(&memory->lock);
	atomic_fetch_add(&memory->view_count, 1);
}

void memory_view_finish(struct memory_view *view)
{
	struct mapped_memory *memory = view->memory;

	assert(view->owner.range_count == 0);
	lock_acquire(&memory->lock);
	list_remove(&view->memory_link);
	lock_release(&memory->lock);
	atomic_fetch_sub(&memory->view_count, 1);
}

/* ---- a move ---- */

enum { MOVE_ENTRIES, MOVE_FLUSH };

/* The view with the lowest id from `id` on; NULL: there is none. */
static struct memory_view *view_from(struct mapped_memory *memory, uint64_t id)
{
	struct memory_view *found = NULL;
	struct list *link;

	lock_acquire(&memory->lock);
	list_for_each (link, &memory->views) {
		struct memory_view *view = container_of(link, struct memory_view, memory_link);

		if (view->id >= id) {
			found = view;
			break;
		}
	}
	lock_release(&memory->lock);
	return found;
}

/* The lowest range that ends above `page`. */
static const struct gpuva_range *range_from(const struct memory_view *view, uint64_t page)
{
	const struct gpuva_range *found = NULL;
	struct list *link;

	list_for_each (link, &view->owner.ranges) {
		const struct gpuva_range *range = range_of_owner_link(link);

		if (range_end(range) > page && (!found || range->first_page < found->first_page))
			found = range;
	}
	return found;
}

static bool next_entries(struct memory_view *view, uint64_t *page, struct paging_op *op_out)
{
	struct page_tables *tables = view->tables;
	const struct gpuva_range *range;

	while ((range = range_from(view, *page)) != NULL) {
		uint64_t stop_page = range_end(range);
		struct table *leaf;

		if (*page < range->first_page)
			*page = range->first_page;
		leaf = tables_at_locked(tables, 0, *page);
		assert(leaf);
		if (stop_page > table_end(tables, leaf))
			stop_page = table_end(tables, leaf);
		if (!leaf->is_written) /* whoever made it comes, and writes all of it */
			*page = stop_page;
		else if (table_write_leaf_locked(tables, leaf, page, stop_page, &view->changes,
						 op_out))
			return true;
	}
	return false;
}

static bool next_in_view(struct memory_view *view, struct mapped_memory_cursor *cursor,
			 struct paging_op *op_out)
{
	bool is_there;

	lock_acquire(&view->tables->lock);
	is_there = cursor->step == MOVE_ENTRIES ? next_entries(view, &cursor->page, op_out)
						: table_flush(view->tables, &view->changes, op_out);
	lock_release(&view->tables->lock);
	return is_there;
}

bool mapped_memory_must_settle(struct mapped_memory *memory)
{
	const struct memory_view *view = view_from(memory, 0);

	return view && view->tables->config->mmu.update_mode == MINIPORT_TABLE_CPU_VIRTUAL;
}

bool mapped_memory_next(struct mapped_memory *memory, struct mapped_memory_cursor *cursor,
			struct paging_op *op_out)
{
	for (; cursor->step <= MOVE_FLUSH; cursor->step++, cursor->view_id = 0) {
		struct memory_view *view;

		while ((view = view_from(memory, cursor->view_id)) != NULL) {
			if (next_in_view(view, cursor, op_out))
				return true;
			cursor->view_id = view->id + 1;
			cursor->page = 0;
		}
	}
	return false;
}
