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
 * Entries that were invalid need no flush when the GPU does not remember invalid ones.
 *
 * Called by the pager's thread.
 */
#include <assert.h>

#include "base/refusal.h"
#include "paging/internal.h"

enum {
	CAPS_CACHE_COHERENT = 1 << 4,
	CAPS_INVALID_NOT_CACHED = 1 << 10,
};

/* ---- slots ---- */

static struct pager_slot *slot_take(struct pager *pager, bool is_big)
{
	struct pager_space *space = &pager->space;
	uint32_t *next = is_big ? &space->next_big : &space->next_small;
	uint32_t count = is_big ? space->layout.big_count : space->layout.small_count;
	struct pager_slot *slot = is_big ? &space->big[*next] : &space->small[*next];

	lock_acquire(&pager->lock);
	bool is_free = slot->last_sequence <= pager->retired_sequence;
	lock_release(&pager->lock);
	if (!is_free)
		return NULL;
	*next = (*next + 1) % count;
	return slot;
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
				    const struct paging_place *place, uint64_t page)
{
	return (struct miniport_pte){
		.page = page,
		.segment = (uint8_t)place->segment,
		.is_valid = true,
		.is_cache_coherent =
			place->segment == 0 && (space->mmu.flags & CAPS_CACHE_COHERENT),
	};
}

/* Into the room for those of one update. True: they are pages in a row, and one entry says so. */
static bool fill_entries(const struct pager_space *space, const struct paging_place *place,
			 uint64_t offset_bytes, uint64_t page_count)
{
	struct miniport_pte *entries = space->entries;
	uint64_t in_row;
	uint64_t page = place_page(place, offset_bytes, &in_row);

	entries[0] = entry_of(space, place, page);
	if (in_row >= page_count)
		return true;
	for (;;) {
		for (uint64_t i = 0; i < in_row; i++)
			*entries++ = entry_of(space, place, page + i);
		page_count -= in_row;
		if (page_count == 0)
			return false;
		offset_bytes += in_row << MACHINE_PAGE_SHIFT;
		page = place_page(place, offset_bytes, &in_row);
		if (in_row > page_count)
			in_row = page_count;
	}
}

static void add_window(struct pager *pager, const struct paging_place *place, uint64_t offset_bytes,
		       uint64_t page_count, uint64_t address)
{
	struct pager_build *build = &pager->build;

	build->windows[build->window_count++] = (struct pager_window){
		.address = address,
		.page_count = page_count,
		.place = place,
		.offset_bytes = offset_bytes,
	};
}

static void use_slot(struct pager *pager, struct pager_slot *slot)
{
	struct pager_build *build = &pager->build;

	build->slot = slot;
	build->window_count = 0;
	build->needs_flush = slot->was_used || !(pager->space.mmu.flags & CAPS_INVALID_NOT_CACHED);
	slot->was_used = true;
}

/* One place into one window, which may be as large as both of a slot. */
static enum build_result map_one(struct pager *pager, const struct paging_place *place,
				 uint64_t offset_bytes, uint64_t page_count)
{
	const struct pager_layout *layout = &pager->space.layout;
	bool is_big = page_count > 2ULL * layout->small_pages;
	struct pager_slot *slot = slot_take(pager, is_big);

	if (!slot)
		return BUILD_BLOCKED;
	use_slot(pager, slot);
	add_window(pager, place, offset_bytes, page_count, slot->address);
	return BUILD_DONE;
}

static enum build_result map_whole(struct pager *pager, const struct paging_place *place,
				   uint64_t page_count)
{
	if (page_count > 2ULL * pager->space.layout.big_pages) {
		pager->build.status =
			refuse(STATUS_NOT_SUPPORTED, RULE_MM_PAGING_WINDOW, NULL,
			       "%llu pages have to be seen at once, and a window has %u",
			       (unsigned long long)page_count, 2 * pager->space.layout.big_pages);
		return BUILD_FAILED;
	}
	return map_one(pager, place, 0, page_count);
}

/* ---- pieces ---- */

static enum build_result begin_copy(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;
	const struct pager_layout *layout = &pager->space.layout;
	uint64_t pages = pages_of(op->copy.size_bytes - build->done_bytes);
	bool is_big = pages > layout->small_pages;
	uint32_t window_pages = is_big ? layout->big_pages : layout->small_pages;
	struct pager_slot *slot = slot_take(pager, is_big);

	assert(op->copy.source.segment != 0 || op->copy.destination.segment != 0);
	if (!slot)
		return BUILD_BLOCKED;
	if (pages > window_pages)
		pages = window_pages;
	build->piece_bytes = pages << MACHINE_PAGE_SHIFT;
	if (build->piece_bytes > op->copy.size_bytes - build->done_bytes)
		build->piece_bytes = op->copy.size_bytes - build->done_bytes;
	use_slot(pager, slot);
	add_window(pager, &op->copy.source, build->done_bytes, pages, slot->address);
	add_window(pager, &op->copy.destination, build->done_bytes, pages,
		   slot->address + ((uint64_t)window_pages << MACHINE_PAGE_SHIFT));
	return BUILD_DONE;
}

static enum build_result begin_fill(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;
	uint64_t left = op->fill.size_bytes - build->done_bytes;
	uint64_t most = 2ULL * pager->space.layout.big_pages << MACHINE_PAGE_SHIFT;

	build->piece_bytes = left < most ? left : most;
	return map_one(pager, &op->fill.destination, build->done_bytes,
		       pages_of(build->piece_bytes));
}

static enum build_result begin_context(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;
	uint64_t pages = pages_of(op->context.size_bytes);
	enum build_result result = map_whole(pager, &op->context.place, pages);

	if (result != BUILD_DONE || op->kind != PAGING_INIT_CONTEXT ||
	    op->context.place.segment != 0)
		return result;
	build->status = pager_build_mdl(pager, &op->context.place, 0, pages);
	return NT_SUCCESS(build->status) ? BUILD_DONE : BUILD_FAILED;
}

static enum build_result begin_update_table(struct pager *pager)
{
	const struct paging_place *table = &pager->build.job->op.update_table.table;
	uint64_t pages = 0;

	if (pager->space.mmu.update_mode != MINIPORT_TABLE_GPU_VIRTUAL)
		return BUILD_DONE;
	for (uint32_t i = 0; i < table->run_count; i++)
		pages += table->runs[i].count;
	return map_whole(pager, table, pages - (table->first_byte >> MACHINE_PAGE_SHIFT));
}

/* Each in a window of its own, which begins at a multiple of 64 KiB as the driver expects. */
static enum build_result begin_copy_entries(struct pager *pager)
{
	const struct paging_op *op = &pager->build.job->op;
	const struct paging_place *source = &op->copy_entries.source;
	const struct paging_place *destination = &op->copy_entries.destination;
	uint32_t window_pages = pager->space.layout.small_pages;
	struct pager_slot *slot;

	assert(source->run_count == 1 && source->runs[0].count <= window_pages);
	assert(destination->run_count == 1 && destination->runs[0].count <= window_pages);
	assert(op->copy_entries.count > 0 && op->copy_entries.count <= MINIPORT_FEW_ENTRIES);
	slot = slot_take(pager, false);
	if (!slot)
		return BUILD_BLOCKED;
	use_slot(pager, slot);
	add_window(pager, source, 0, source->runs[0].count, slot->address);
	add_window(pager, destination, 0, destination->runs[0].count,
		   slot->address + ((uint64_t)window_pages << MACHINE_PAGE_SHIFT));
	return BUILD_DONE;
}

enum build_result space_begin_piece(struct pager *pager)
{
	switch (pager->build.job->op.kind) {
	case PAGING_COPY:
		return begin_copy(pager);
	case PAGING_FILL:
		return begin_fill(pager);
	case PAGING_UPDATE_TABLE:
		return begin_update_table(pager);
	case PAGING_COPY_ENTRIES:
		return begin_copy_entries(pager);
	case PAGING_INIT_CONTEXT:
	case PAGING_UPDATE_CONTEXT:
		return begin_context(pager);
	case PAGING_MAP_APERTURE:
	case PAGING_SETTLE:
	case PAGING_FOLLOW:
	case PAGING_AS_IT_IS:
		break;
	}
	assert(!"handled by the builder");
	return BUILD_FAILED;
}

/* ---- steps ---- */

/* What of a window is in one leaf table. */
struct window_part {
	const struct pager_window *window;
	uint64_t first; /* page of the address space */
	uint32_t count;
};

/* The n-th part of the windows; false when there are fewer. */
static bool find_part(const struct pager *pager, uint32_t n, struct window_part *part_out)
{
	uint32_t entries = pager->space.layout.leaf_entries;

	for (uint32_t i = 0; i < pager->build.window_count; i++) {
		const struct pager_window *at = &pager->build.windows[i];
		uint64_t first = at->address >> MACHINE_PAGE_SHIFT;
		uint64_t end = first + at->page_count;

		while (first < end) {
			uint64_t next = (first / entries + 1) * entries;

			if (next > end)
				next = end;
			if (n-- == 0) {
				*part_out =
					(struct window_part){ at, first, (uint32_t)(next - first) };
				return true;
			}
			first = next;
		}
	}
	return false;
}

static uint32_t part_count(const struct pager *pager)
{
	struct window_part part;
	uint32_t count = 0;

	while (find_part(pager, count, &part))
		count++;
	return count;
}

static uint64_t mapped_table(const struct pager_space *space, uint64_t page)
{
	const struct pager_layout *layout = &space->layout;

	if (layout->first_table == 0)
		return 0;
	return (layout->first_table + page / layout->leaf_entries * layout->table_pages)
	       << MACHINE_PAGE_SHIFT;
}

/* Where in the allocation the operation begins. */
static uint64_t first_byte_of(const struct paging_op *op)
{
	if (op->kind == PAGING_COPY)
		return op->copy.offset_bytes;
	return op->kind == PAGING_FILL ? op->fill.offset_bytes : 0;
}

static struct miniport_paging_op write_entries(const struct pager *pager,
					       const struct window_part *part)
{
	const struct pager_space *space = &pager->space;
	const struct paging_op *op = &pager->build.job->op;
	const struct pager_window *window = part->window;
	uint64_t address = part->first << MACHINE_PAGE_SHIFT;
	uint64_t offset_bytes = window->offset_bytes + address - window->address;
	const struct pager_table *table =
		&space->levels[0].tables[part->first / space->layout.leaf_entries];
	bool is_run = fill_entries(space, window->place, offset_bytes, part->count);

	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE,
		.subject = op->kind == PAGING_UPDATE_TABLE || op->kind == PAGING_COPY_ENTRIES
				   ? (struct miniport_subject){ 0 }
				   : op->subject,
		.update_table = {
			.mode = (enum miniport_table_update_mode)space->mmu.update_mode,
			.cpu_table = table->pointer,
			.gpu_table = mapped_table(space, part->first),
			.segment = table->segment,
			.offset_bytes = table->offset_bytes,
			.entries = space->entries,
			.first_index = (uint32_t)(part->first % space->layout.leaf_entries),
			.count = part->count,
			.is_run = is_run,
			.offset_in_allocation_bytes = first_byte_of(op) + offset_bytes,
			.driver_process = pager->config.driver_process,
			.first_address = address,
		},
	};
}

static struct miniport_paging_op flush(const struct pager *pager)
{
	const struct pager_build *build = &pager->build;
	const struct pager_window *last = &build->windows[build->window_count - 1];
	const struct pager_table *root =
		&pager->space.levels[pager->space.mmu.level_count - 1].tables[0];

	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_FLUSH_TLB,
		.flush_tlb = { .root_segment = root->segment,
			       .root_offset_bytes = root->offset_bytes,
			       .driver_process = pager->config.driver_process,
			       .first_address = build->windows[0].address,
			       .end_address =
				       last->address + (last->page_count << MACHINE_PAGE_SHIFT) },
	};
}

static enum miniport_transfer_direction direction_of(const struct paging_op *op)
{
	if (op->copy.source.segment == 0)
		return MINIPORT_SYSTEM_TO_LOCAL;
	return op->copy.destination.segment == 0 ? MINIPORT_LOCAL_TO_SYSTEM
						 : MINIPORT_LOCAL_TO_LOCAL;
}

static void make_copy(const struct pager *pager, struct miniport_paging_op *op_out)
{
	const struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;
	uint64_t source = build->windows[0].address;
	uint64_t destination = build->windows[1].address;

	op_out->kind = MINIPORT_PAGING_VIRTUAL_TRANSFER;
	op_out->virtual_transfer.source = source;
	op_out->virtual_transfer.destination = destination;
	op_out->virtual_transfer.offset_bytes = op->copy.offset_bytes + build->done_bytes;
	op_out->virtual_transfer.size_bytes = build->piece_bytes;
	op_out->virtual_transfer.direction = direction_of(op);
	op_out->virtual_transfer.source_table =
		mapped_table(&pager->space, source >> MACHINE_PAGE_SHIFT);
	op_out->virtual_transfer.destination_table =
		mapped_table(&pager->space, destination >> MACHINE_PAGE_SHIFT);
}

static void make_update_table(const struct pager *pager, struct miniport_paging_op *op_out)
{
	const struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;
	const struct paging_place *table = &op->update_table.table;
	uint64_t pages;
	uint64_t offset_bytes = place_page(table, 0, &pages) << MACHINE_PAGE_SHIFT;
	enum miniport_table_update_mode mode =
		(enum miniport_table_update_mode)pager->space.mmu.update_mode;

	op_out->kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE;
	op_out->update_table.level = op->update_table.level;
	op_out->update_table.mode = mode;
	if (mode == MINIPORT_TABLE_CPU_VIRTUAL) {
		assert(op->update_table.pointer || table->segment == 0);
		op_out->update_table.cpu_table = op->update_table.pointer
							 ? op->update_table.pointer
							 : machine_to_pointer(offset_bytes);
	} else if (mode == MINIPORT_TABLE_GPU_VIRTUAL) {
		op_out->update_table.gpu_table = build->windows[0].address;
	}
	op_out->update_table.segment = table->segment;
	op_out->update_table.offset_bytes = offset_bytes;
	op_out->update_table.entries = op->update_table.entries;
	op_out->update_table.first_index = op->update_table.first_index;
	op_out->update_table.count = op->update_table.count;
	op_out->update_table.is_repeated = op->update_table.is_repeated;
	op_out->update_table.is_run = op->update_table.is_run;
	op_out->update_table.is_initial = op->update_table.is_initial;
	op_out->update_table.is_eviction = op->update_table.is_eviction;
	op_out->update_table.wide_entries = op->update_table.wide_entries;
	op_out->update_table.has_64k_pages = op->update_table.has_64k_pages;
	op_out->update_table.driver_protection = op->update_table.driver_protection;
	op_out->update_table.offset_in_allocation_bytes =
		op->update_table.offset_in_allocation_bytes;
	op_out->update_table.driver_process = op->update_table.driver_process;
	op_out->update_table.first_address = op->update_table.first_address;
}

static void make_copy_entries(struct pager *pager, struct miniport_paging_op *op_out)
{
	const struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;

	for (uint32_t i = 0; i < op->copy_entries.count; i++) {
		struct miniport_table_copy *copy = &pager->space.copies[i];

		*copy = op->copy_entries.copies[i];
		copy->source_table = build->windows[0].address;
		copy->destination_table = build->windows[1].address;
	}
	op_out->kind = MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES;
	op_out->copy_entries.copies = pager->space.copies;
	op_out->copy_entries.count = op->copy_entries.count;
}

static void make_init_context(const struct pager *pager, struct miniport_paging_op *op_out)
{
	const struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;
	uint64_t pages;

	op_out->kind = MINIPORT_PAGING_INIT_CONTEXT_RESOURCE;
	op_out->init_context.pointer = op->context.pointer;
	op_out->init_context.gpu_address = build->windows[0].address;
	if (op->context.place.segment == 0) {
		op_out->init_context.destination.mdl = build->mdl->mdl;
	} else {
		op_out->init_context.destination.segment = op->context.place.segment;
		op_out->init_context.destination.offset_bytes =
			place_page(&op->context.place, 0, &pages) << MACHINE_PAGE_SHIFT;
	}
}

/* What all the mapping was for. */
static void make_last(struct pager *pager, struct miniport_paging_op *op_out)
{
	const struct pager_build *build = &pager->build;
	const struct paging_op *op = &build->job->op;

	*op_out = (struct miniport_paging_op){ .subject = op->subject };
	switch (op->kind) {
	case PAGING_COPY:
		make_copy(pager, op_out);
		break;
	case PAGING_FILL:
		op_out->kind = MINIPORT_PAGING_VIRTUAL_FILL;
		op_out->virtual_fill.destination = build->windows[0].address;
		op_out->virtual_fill.offset_bytes = op->fill.offset_bytes + build->done_bytes;
		op_out->virtual_fill.size_bytes = build->piece_bytes;
		op_out->virtual_fill.pattern = op->fill.pattern;
		break;
	case PAGING_UPDATE_TABLE:
		make_update_table(pager, op_out);
		break;
	case PAGING_COPY_ENTRIES:
		make_copy_entries(pager, op_out);
		break;
	case PAGING_INIT_CONTEXT:
		make_init_context(pager, op_out);
		break;
	case PAGING_UPDATE_CONTEXT:
		op_out->kind = MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION;
		op_out->update_context.gpu_address = build->windows[0].address;
		op_out->update_context.size_bytes = op->context.size_bytes;
		op_out->update_context.private_data = op->context.private_data;
		op_out->update_context.private_bytes = op->context.private_bytes;
		break;
	case PAGING_MAP_APERTURE:
	case PAGING_SETTLE:
	case PAGING_FOLLOW:
	case PAGING_AS_IT_IS:
		assert(!"handled by the builder");
	}
}

bool space_step(struct pager *pager, struct miniport_paging_op *op_out)
{
	uint32_t step = pager->build.step;
	struct window_part part;

	if (find_part(pager, step, &part)) {
		*op_out = write_entries(pager, &part);
		return true;
	}
	step -= part_count(pager);
	if (pager->build.needs_flush && step-- == 0) {
		*op_out = flush(pager);
		return true;
	}
	if (step > 0)
		return false;
	make_last(pager, op_out);
	return true;
}
