/* SPDX-License-Identifier: MIT */
/*
 * mapped_memory.c - memory that moves, and the entries that follow it. See page_tables.h.
 *
 *	entries, space by space ─▶ TLB, space by space
 *
 * Ranges come and go between two operations. Those there are at the beginning are visited: whatever
 * is mapped later is written by a sync of its own, from the same truth.
 *
 * Locks: mapped_memory.lock guards the list of views; they leave it on the pager's thread alone,
 * which therefore may keep one in hand without.
 */
#include <assert.h>

#include "base/mem.h"
#include "pagetable/table_tree.h"

void mapped_memory_init(struct mapped_memory *memory, uint64_t page_count,
			struct miniport_subject subject, void *allocation)
{
	*memory = (struct mapped_memory){
		.page_count = page_count, .subject = subject, .allocation = allocation, .next_id = 1
	};
	lock_init(&memory->lock, LOCK_RANK_LEAF, "views of an allocation");
	list_init(&memory->views);
}

void mapped_memory_init_fixed(struct mapped_memory *memory, uint64_t first_page,
			      uint64_t page_count)
{
	mapped_memory_init(memory, page_count, (struct miniport_subject){ 0 }, NULL);
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

/* An operation of it may wait for its turn when it was made: the tables stay until the end. */
static void move_hold(struct memory_view *view)
{
	const struct page_tables *tables = view->tables;

	if (tables->config->hold)
		tables->config->hold(tables->process);
	view->move.is_holding = true;
}

void memory_view_end_move(struct memory_view *view)
{
	const struct page_tables *tables = view->tables;
	bool was_holding = view->move.is_holding;

	mem_free(view->move.ranges);
	view->move = (struct memory_move){ 0 };
	if (was_holding && tables->config->release)
		tables->config->release(tables->process);
}

void memory_view_finish(struct memory_view *view)
{
	struct mapped_memory *memory = view->memory;

	assert(view->owner.range_count == 0);
	memory_view_end_move(view);
	lock_acquire(&memory->lock);
	list_remove(&view->memory_link);
	lock_release(&memory->lock);
	atomic_fetch_sub(&memory->view_count, 1);
}

bool mapped_memory_is_in(struct mapped_memory *memory, const struct page_tables *tables)
{
	struct list *link;
	bool is_found = false;

	lock_acquire(&memory->lock);
	list_for_each (link, &memory->views)
		is_found |= container_of(link, struct memory_view, memory_link)->tables == tables;
	lock_release(&memory->lock);
	return is_found;
}

/* ---- a move ---- */

enum { MOVE_ENTRIES, MOVE_FLUSH };

/* The view with the lowest id from `id` on; NULL: there is none. */
static struct memory_view *view_from(struct mapped_memory *memory, uint64_t id)
{
	struct memory_view *found = NULL;

	lock_acquire(&memory->lock);
	list_each (struct memory_view, view, &memory->views, memory_link) {
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

static void write_ranges_down(struct memory_view *view)
{
	struct memory_move *move = &view->move;
	struct list *link;

	/* Without memory they are looked for one by one, which takes longer. */
	move->ranges = mem_zalloc_array(view->owner.range_count, sizeof(*move->ranges));
	if (!move->ranges)
		return;
	list_for_each (link, &view->owner.ranges) {
		const struct gpuva_range *range = range_of_owner_link(link);

		move->ranges[move->range_count++] =
			(struct moved_range){ range->first_page, range->page_count };
	}
}

static void move_begin(struct memory_view *view)
{
	memory_view_end_move(view);
	move_hold(view);
	table_sync_init(&view->move.sync, view->tables, 0, 0);
	lock_acquire(&view->tables->lock);
	if (view->owner.range_count > 0)
		write_ranges_down(view);
	lock_release(&view->tables->lock);
}

static bool next_unwritten_range(struct memory_view *view, struct moved_range *out)
{
	struct memory_move *move = &view->move;

	lock_acquire(&view->tables->lock);
	const struct gpuva_range *range = range_from(view, move->next_page);
	if (range) {
		*out = (struct moved_range){ range->first_page, range->page_count };
		move->next_page = range_end(range);
	}
	lock_release(&view->tables->lock);
	return range != NULL;
}

static bool next_range(struct memory_view *view, struct moved_range *out)
{
	struct memory_move *move = &view->move;

	if (!move->ranges)
		return next_unwritten_range(view, out);
	if (move->next == move->range_count)
		return false;
	*out = move->ranges[move->next++];
	return true;
}

static bool next_entries(struct memory_view *view, struct miniport_paging_op *op_out)
{
	struct memory_move *move = &view->move;
	struct moved_range range;

	for (;;) {
		if (move->has_range && table_sync_write(&move->sync, op_out))
			return true;
		if (!next_range(view, &range))
			return false;
		table_sync_again(&move->sync, range.first_page, range.page_count);
		move->has_range = true;
	}
}

static bool next_in_view(struct memory_view *view, struct mapped_memory_cursor *cursor,
			 struct miniport_paging_op *op_out)
{
	if (cursor->step == MOVE_FLUSH)
		return table_sync_flush(&view->move.sync, op_out);
	if (!cursor->has_begun)
		move_begin(view);
	cursor->has_begun = true;
	return next_entries(view, op_out);
}

bool mapped_memory_must_settle(struct mapped_memory *memory)
{
	const struct memory_view *view = view_from(memory, 0);

	return view && view->tables->config->mmu.update_mode == MINIPORT_TABLE_CPU_VIRTUAL;
}

bool mapped_memory_next(struct mapped_memory *memory, struct mapped_memory_cursor *cursor,
			struct miniport_paging_op *op_out)
{
	for (; cursor->step <= MOVE_FLUSH; cursor->step++, cursor->view_id = 0) {
		struct memory_view *view;

		while ((view = view_from(memory, cursor->view_id)) != NULL) {
			if (next_in_view(view, cursor, op_out))
				return true;
			if (cursor->step == MOVE_FLUSH)
				memory_view_end_move(view);
			cursor->view_id = view->id + 1;
			cursor->has_begun = false;
		}
	}
	return false;
}

void mapped_memory_failed(struct mapped_memory *memory, NTSTATUS status)
{
	struct memory_view *view;
	uint64_t next_id = 0;

	while ((view = view_from(memory, next_id)) != NULL) {
		next_id = view->id + 1;
		memory_view_end_move(view);
		if (view->tables->config->failed)
			view->tables->config->failed(view->tables, status);
	}
}

const char *mapped_memory_validate(struct mapped_memory *memory)
{
	uint32_t count = 0;
	struct list *link;

	lock_acquire(&memory->lock);
	list_for_each (link, &memory->views)
		count++;
	bool is_right = count == atomic_load(&memory->view_count);
	lock_release(&memory->lock);
	return is_right ? NULL : "is seen in more or fewer GPU address spaces than it counts";
}
