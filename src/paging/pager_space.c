/* SPDX-License-Identifier: MIT */
/*
 * pager_space.c - pieces of an operation where addresses are the kernel's own (GpuMmu).
 *
 *	take a slot ─▶ entries of its windows ─▶ FLUSH_TLB ─▶ VIRTUAL_TRANSFER, VIRTUAL_FILL, …
 *
 * Entries of a window are not written again before the packet that used it last is retired: where
 * the CPU writes them that happens at once, and whoever still copies would end up elsewhere.
 * Several slots of each size go round, so several copies are with the hardware at a time.
 *
 * Entries that were invalid need no flush when the GPU does not remember invalid ones. So a row of small
 * windows is made invalid at once, when nobody uses them any more, with one flush for all.
 *
 * Called by the pager's thread.
 */

#include "base/checked.h"
#include "base/refusal.h"
#include "paging/internal.h"

enum {
	CAPS_CACHE_COHERENT = 1 << 4,
	CAPS_INVALID_NOT_CACHED = 1 << 10,
	ROW_SLOTS = 64, /* small ones whose entries go together */
};

/* ---- slots ---- */

/* The slots that a job takes turns with. Each way has half of the big ones, so that neither has all of them. */
struct slot_row {
	struct pager_slot *slots;
	uint32_t count;
	uint32_t *next;
};

static struct slot_row slots_for(struct pager_space *space, bool is_big, enum paging_way way)
{
	uint32_t half = space->layout.big_count / 2;

	if (!is_big)
		return (struct slot_row){ space->small, space->layout.small_count,
					  &space->next_small };
	if (way == PAGING_WAY_IN)
		return (struct slot_row){ space->big, half, &space->next_big[0] };
	return (struct slot_row){ &space->big[half], space->layout.big_count - half,
				  &space->next_big[1] };
}

static bool is_next_free(struct pager *pager, const struct slot_row *row)
{
	uint64_t last_sequence = row->slots[*row->next].last_sequence;

	if (last_sequence <= pager->space.retired_sequence)
		return true;
	lock_acquire(&pager->lock);
	pager->space.retired_sequence = pager->retired_sequence;
	lock_release(&pager->lock);
	return last_sequence <= pager->space.retired_sequence;
}

static struct pager_slot *slot_take(struct pager *pager, bool is_big, enum paging_way way)
{
	struct slot_row row = slots_for(&pager->space, is_big, way);
	struct pager_slot *slot = &row.slots[*row.next];

	if (!is_next_free(pager, &row))
		return NULL;
	*row.next = (*row.next + 1) % row.count;
	return slot;
}

bool space_has_window(struct pager *pager, enum paging_way way)
{
	struct slot_row row = slots_for(&pager->space, true, way);

	return is_next_free(pager, &row);
}

void pager_space_forget(struct pager *pager, uint64_t last_sequence)
{
	struct pager_space *space = &pager->space;

	for (uint32_t i = 0; i < space->layout.small_count; i++) {
		if (space->small[i].last_sequence > last_sequence)
			space->small[i].last_sequence = last_sequence;
	}
	for (uint32_t i = 0; i < space->layout.big_count; i++) {
		if (space->big[i].last_sequence > last_sequence)
			space->big[i].last_sequence = last_sequence;
	}
}

/* ---- windows ---- */

static struct miniport_pte entry_of(const struct pager_space *space,
				    const struct miniport_location *location, uint64_t page)
{
	return (struct miniport_pte){
		.page = page,
		.segment = (uint8_t)location->segment,
		.is_valid = true,
		.is_cache_coherent =
			location->segment == 0 && (space->mmu.flags & CAPS_CACHE_COHERENT),
	};
}

/* Fills in the entries of one update. True: the pages are in a row, and the first entry stands for all. */
static bool fill_entries(const struct pager_space *space, const struct miniport_location *location,
			 uint64_t offset_bytes, uint64_t page_count)
{
	struct miniport_pte *entries = space->entries;
	uint64_t in_row;
	uint64_t page = location_page(location, offset_bytes, &in_row);

	entries[0] = entry_of(space, location, page);
	if (in_row >= page_count)
		return true;
	for (;;) {
		for (uint64_t i = 0; i < in_row; i++)
			*entries++ = entry_of(space, location, page + i);
		page_count -= in_row;
		if (page_count == 0)
			return false;
		offset_bytes += in_row << MACHINE_PAGE_SHIFT;
		page = location_page(location, offset_bytes, &in_row);
		if (in_row > page_count)
			in_row = page_count;
	}
}

static uint64_t mapped_table(const struct pager_space *space, uint64_t address)
{
	const struct pager_layout *layout = &space->layout;
	uint64_t table = (address >> MACHINE_PAGE_SHIFT) / layout->leaf_entries;

	if (layout->first_table == 0)
		return 0;
	return (layout->first_table + table * layout->table_pages) << MACHINE_PAGE_SHIFT;
}

/* In how many leaf tables the window is: each is an update of its own. */
static uint32_t parts_of(const struct pager_space *space, uint64_t address, uint64_t page_count)
{
	uint32_t entries = space->layout.leaf_entries;
	uint64_t first = address >> MACHINE_PAGE_SHIFT;

	return (uint32_t)((first + page_count - 1) / entries - first / entries + 1);
}

/* NULL: nothing, the entries are invalid. */
static void show(struct pager *pager, const struct miniport_location *shown, uint64_t page_count,
		 uint64_t address)
{
	struct pager_build *build = &pager->build;

	build->windows[build->window_count++] = (struct pager_window){
		.address = address,
		.page_count = page_count,
		.location = shown,
		.offset_bytes = build->job->done_bytes,
	};
	build->part_count += parts_of(&pager->space, address, page_count);
}

static void map(struct pager *pager, const struct miniport_location *shown, uint64_t page_count,
		uint64_t address, struct miniport_location *location)
{
	show(pager, shown, page_count, address);
	location->gpu_address = address;
	location->gpu_table = mapped_table(&pager->space, address);
}

/* Slots from this one on whose entries go together: none, unless a row of small ones begins here. */
static uint32_t slots_to_clear(struct pager *pager, const struct pager_slot *slot)
{
	const struct pager_space *space = &pager->space;
	bool is_small = slot >= space->small &&
			slot + ROW_SLOTS <= space->small + space->layout.small_count;
	uint32_t free = 0;

	if (!slot->was_used || !(space->mmu.flags & CAPS_INVALID_NOT_CACHED) || !is_small ||
	    (slot - space->small) % ROW_SLOTS != 0)
		return 0;
	lock_acquire(&pager->lock);
	while (free < ROW_SLOTS && slot[free].last_sequence <= pager->retired_sequence)
		free++;
	lock_release(&pager->lock);
	return free == ROW_SLOTS ? ROW_SLOTS : 0;
}

static void use_slot(struct pager *pager, struct pager_slot *slot)
{
	struct pager_build *build = &pager->build;
	uint64_t slot_pages = 2ULL * pager->space.layout.small_pages;

	build->slot = slot;
	build->window_count = 0;
	build->part_count = 0;
	build->needs_flush = slot->was_used || !(pager->space.mmu.flags & CAPS_INVALID_NOT_CACHED);
	build->cleared_slots = slots_to_clear(pager, slot);
	slot->was_used = true;
	if (build->cleared_slots > 0)
		show(pager, NULL, build->cleared_slots * slot_pages, slot->address);
}

/* They have been made invalid, and the TLB knows it. */
static void slots_are_cleared(struct pager_build *build)
{
	for (uint32_t i = 1; i < build->cleared_slots; i++)
		build->slot[i].was_used = false;
	build->cleared_slots = 0;
}

/* ---- pieces ---- */

static enum build_result refuse_size(struct pager *pager, uint64_t page_count)
{
	pager->build.status =
		refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_WINDOW, NULL,
		       "%llu pages have to be seen at once, and a window has %u",
		       (unsigned long long)page_count, 2 * pager->space.layout.big_pages);
	return BUILD_FAILED;
}

static void divide(struct pager_build *build, uint64_t most_bytes)
{
	struct miniport_paging_op *op = &build->op;

	build->piece_bytes = lower_of(op->size_bytes - build->job->done_bytes, most_bytes);
	op->offset_bytes += build->job->done_bytes;
	op->size_bytes = build->piece_bytes;
	op->kind = op->kind == MINIPORT_PAGING_FILL ? MINIPORT_PAGING_VIRTUAL_FILL
						    : MINIPORT_PAGING_VIRTUAL_TRANSFER;
}

/*
 * Two places have a window each, which begins at a multiple of 64 KiB as the driver expects it of
 * tables. One place has both of a slot.
 */
enum build_result space_begin_piece(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	const struct pager_layout *layout = &pager->space.layout;
	const struct miniport_paging_op *whole = &build->job->op;
	struct miniport_paging_op *op = &build->op;
	bool has_source = op->kind == MINIPORT_PAGING_TRANSFER ||
			  op->kind == MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES;
	uint64_t windows_each = has_source ? 1 : 2;
	uint64_t pages = pages_of(op->size_bytes - build->job->done_bytes);
	bool is_big = pages > windows_each * layout->small_pages;
	uint64_t most_pages = windows_each * (is_big ? layout->big_pages : layout->small_pages);

	if (pages > most_pages && !pager_op_has_pieces(op))
		return refuse_size(pager, pages);
	pages = lower_of(pages, most_pages);
	struct pager_slot *slot = slot_take(pager, is_big, build->job->way);
	if (!slot)
		return BUILD_BLOCKED;
	use_slot(pager, slot);
	if (has_source)
		map(pager, &whole->source, pages, slot->address, &op->source);
	map(pager, &whole->target, pages,
	    slot->address + (has_source ? most_pages << MACHINE_PAGE_SHIFT : 0), &op->target);
	if (pager_op_has_pieces(op))
		divide(build, pages << MACHINE_PAGE_SHIFT);
	if (op->kind != MINIPORT_PAGING_INIT_CONTEXT_RESOURCE)
		return BUILD_DONE;
	build->status = pager_build_location(pager, op->size_bytes, &op->target);
	return NT_SUCCESS(build->status) ? BUILD_DONE : BUILD_FAILED;
}

/* ---- steps ---- */

/* What of a window is in one leaf table. */
struct window_part {
	const struct pager_window *window;
	uint64_t first; /* page of the address space */
	uint32_t count;
};

/* The n-th part of the windows. */
static struct window_part part_at(const struct pager *pager, uint32_t n)
{
	const struct pager_window *window = pager->build.windows;
	uint32_t entries = pager->space.layout.leaf_entries;
	uint32_t here;

	while (n >= (here = parts_of(&pager->space, window->address, window->page_count))) {
		n -= here;
		window++;
	}
	uint64_t first = window->address >> MACHINE_PAGE_SHIFT;
	uint64_t end = first + window->page_count;
	if (n > 0)
		first = (first / entries + n) * entries;
	uint64_t next = (first / entries + 1) * entries;
	return (struct window_part){ window, first, (uint32_t)(lower_of(next, end) - first) };
}

static struct miniport_paging_op write_entries(const struct pager *pager,
					       const struct window_part *part)
{
	const struct pager_space *space = &pager->space;
	const struct miniport_paging_op *op = &pager->build.job->op;
	const struct pager_window *window = part->window;
	bool is_nobodys = miniport_paging_is_on_tables(op) || !window->location;
	uint64_t address = part->first << MACHINE_PAGE_SHIFT;
	uint64_t offset_bytes = window->offset_bytes + address - window->address;
	const struct pager_table *table =
		&space->levels[0].tables[part->first / space->layout.leaf_entries];
	bool is_run = false;

	if (window->location)
		is_run = fill_entries(space, window->location, offset_bytes, part->count);
	else
		space->entries[0] = (struct miniport_pte){ 0 };

	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE,
		.subject = is_nobodys ? (struct miniport_subject){ 0 } : op->subject,
		.target = { .segment = table->segment,
			   .offset_bytes = table->offset_bytes,
			   .pointer = table->pointer,
			   .gpu_address = mapped_table(space, address) },
		.offset_bytes = is_nobodys ? offset_bytes : op->offset_bytes + offset_bytes,
		.update_table = {
			.mode = (enum miniport_table_update_mode)space->mmu.update_mode,
			.entries = space->entries,
			.first_index = (uint32_t)(part->first % space->layout.leaf_entries),
			.count = part->count,
			.is_repeated = !window->location,
			.is_run = is_run,
			.driver_process = pager->config.driver_process,
			.first_address = address,
		},
	};
}

static struct miniport_paging_op flush(const struct pager *pager)
{
	const struct pager_build *build = &pager->build;
	const struct pager_window *first = &build->windows[0];
	/* What is cleared has all others in it. */
	const struct pager_window *last =
		first->location ? &build->windows[build->window_count - 1] : first;
	const struct pager_table *root =
		&pager->space.levels[pager->space.mmu.level_count - 1].tables[0];

	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_FLUSH_TLB,
		.target = pager_table_location(root),
		.flush_tlb = { .driver_process = pager->config.driver_process,
			       .first_address = first->address,
			       .end_address =
				       last->address + (last->page_count << MACHINE_PAGE_SHIFT) },
	};
}

bool space_step(struct pager *pager, struct miniport_paging_op *op_out)
{
	struct pager_build *build = &pager->build;

	if (build->step < build->part_count) {
		struct window_part part = part_at(pager, build->step);

		*op_out = write_entries(pager, &part);
		return true;
	}
	if (!build->needs_flush || build->step > build->part_count) {
		slots_are_cleared(build);
		return false;
	}
	*op_out = flush(pager);
	return true;
}
