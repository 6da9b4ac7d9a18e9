/* SPDX-License-Identifier: MIT */
/*
 * table_block.c - see table_block.h. Whose turn it is, and who goes for it, is decided in room.c.
 *
 * Locks: the manager's.
 */
#include <assert.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/place.h"
#include "vidmm/table_block.h"
#include "vidmm/table_states.h"

/* ---- one block ---- */

static void *block_pointer(const struct vidmm_segment *segment, uint64_t offset_bytes)
{
	return segment->config.is_cpu_visible
		       ? machine_to_pointer(segment->config.cpu_address + offset_bytes)
		       : NULL;
}

struct pager_table table_block_where(struct vidmm_table_block *block)
{
	uint64_t offset_bytes = (uint64_t)page_set_runs(&block->pages)[0].first_page
				<< MACHINE_PAGE_SHIFT;

	return (struct pager_table){ .segment = block->segment->id,
				     .offset_bytes = offset_bytes,
				     .pointer = block->window ? block->pointer
							      : block_pointer(block->segment,
									      offset_bytes),
				     .block = block };
}

static NTSTATUS refuse_memory(void)
{
	return refuse_no_memory("There is no memory for a page table");
}

struct vidmm_table_block *table_block_create(struct vidmm *manager, struct vidmm_process *process,
					     uint32_t segment_id, uint64_t size_bytes,
					     uint64_t align_bytes)
{
	struct vidmm_table_block *block = mem_zalloc(sizeof(*block));

	assert(segment_id > 0 && segment_id <= manager->segment_count);
	if (!block) {
		(void)!refuse_memory();
		return NULL;
	}
	list_init(&block->link);
	list_init(&block->tables_link);
	block->tables = process ? &process->tables : NULL;
	block->segment = &manager->segments[segment_id - 1];
	block->wish = (struct segment_wish){ .form = FORM_CONTIGUOUS,
					     .size_bytes = size_bytes,
					     .alignment_bytes = align_bytes,
					     .is_from_end = true };
	return block;
}

static NTSTATUS block_place_locked(struct vidmm *manager, struct vidmm_table_block *block)
{
	NTSTATUS status = segment_take(block->segment, &block->wish, &block->pages);

	lock_assert_held(&manager->lock);
	if (!NT_SUCCESS(status))
		return status;
	block->is_placed = true;
	budget_resize_locked(manager, block->segment, -(int64_t)table_block_bytes(block));
	return STATUS_SUCCESS;
}

void table_block_displace_locked(struct vidmm *manager, struct vidmm_table_block *block)
{
	lock_assert_held(&manager->lock);
	segment_give(block->segment, &block->wish, &block->pages);
	block->is_placed = false;
	budget_resize_locked(manager, block->segment, (int64_t)table_block_bytes(block));
}

NTSTATUS table_blocks_place_locked(struct vidmm *manager, struct list *blocks)
{
	struct list *link;
	struct list *undone;

	lock_assert_held(&manager->lock);
	list_for_each (link, blocks) {
		NTSTATUS status = block_place_locked(manager, table_block_of(link));

		if (NT_SUCCESS(status))
			continue;
		for (undone = blocks->next; undone != link; undone = undone->next)
			table_block_displace_locked(manager, table_block_of(undone));
		return status;
	}
	return STATUS_SUCCESS;
}

uint64_t table_blocks_bytes(const struct list *blocks, const struct vidmm_segment *segment)
{
	const struct list *link;
	uint64_t bytes = 0;

	list_for_each (link, blocks) {
		if (table_block_of(link)->segment == segment)
			bytes += table_block_bytes(table_block_of(link));
	}
	return bytes;
}

uint32_t table_blocks_segments(const struct list *blocks)
{
	const struct list *link;
	uint32_t segments = 0;

	list_for_each (link, blocks)
		segments |= UINT32_C(1) << (table_block_of(link)->segment->id - 1);
	return segments;
}

/* ---- with the room there is ---- */

NTSTATUS vidmm_take_block(void *manager_, struct vidmm_process *process, uint32_t segment,
			  uint64_t size_bytes, uint64_t align_bytes, struct pager_table *table_out)
{
	struct vidmm *manager = manager_;
	struct vidmm_table_block *block =
		table_block_create(manager, process, segment, size_bytes, align_bytes);

	if (!block)
		return STATUS_NO_MEMORY;
	lock_acquire(&manager->lock);
	/* More of what is out would be in: who needs it waits until all of it is. */
	NTSTATUS status = vidmm_tables_are_in(process) ? block_place_locked(manager, block)
						       : STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	if (NT_SUCCESS(status)) {
		list_push_back(&manager->blocks, &block->link);
		if (block->tables)
			list_push_back(&block->tables->blocks, &block->tables_link);
	}
	lock_release(&manager->lock);
	if (!NT_SUCCESS(status)) {
		mem_free(block);
		return status == STATUS_NO_MEMORY ? refuse_memory() : status;
	}
	*table_out = table_block_where(block);
	return STATUS_SUCCESS;
}

NTSTATUS vidmm_take_table(void *manager, uint32_t segment, uint64_t size_bytes,
			  uint64_t align_bytes, struct pager_table *table_out)
{
	NTSTATUS status =
		vidmm_take_block(manager, NULL, segment, size_bytes, align_bytes, table_out);

	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		return refuse(status, RULE_MM_TABLE_ROOM, NULL,
			      "a page table of %llu bytes has no room in segment %u",
			      (unsigned long long)size_bytes, segment);
	if (!NT_SUCCESS(status))
		return status;
	status = window_open_table(manager, table_out->block);
	if (!NT_SUCCESS(status)) {
		vidmm_give_table(manager, table_out, size_bytes);
		return refuse(status, RULE_MM_PAGING_TABLES, NULL,
			      "a page table of the kernel's own in segment %u is not seen through "
			      "its CPU host aperture: %s",
			      segment, status_name(status));
	}
	*table_out = table_block_where(table_out->block);
	return STATUS_SUCCESS;
}

/* Half of it stays for memory that clients lock. */
uint64_t vidmm_table_windows(void *manager_, uint32_t segment_id, uint64_t *page_bytes_out)
{
	struct vidmm *manager = manager_;
	const struct vidmm_segment *segment = &manager->segments[segment_id - 1];

	*page_bytes_out = segment->granule_pages * MACHINE_PAGE_BYTES;
	return segment->config.window_pages > 0 ? segment->config.window_pages / 2 : UINT64_MAX;
}

void vidmm_give_table(void *manager_, const struct pager_table *table, uint64_t size_bytes)
{
	struct vidmm *manager = manager_;
	struct vidmm_table_block *block = table->block;

	window_close_table(manager, block);
	lock_acquire(&manager->lock);
	list_remove(&block->link);
	list_remove(&block->tables_link);
	if (block->is_placed) {
		table_block_displace_locked(manager, block);
		manager->retry_generation++; /* who gave up tries again */
		if (!list_is_empty(&manager->waiters))
			room_look_again(manager, clock_now_ns());
	}
	if (block->tables)
		tables_lost_block_locked(block->tables);
	lock_release(&manager->lock);
	mem_free(block);
}

void vidmm_find_block(void *manager, struct pager_table *table)
{
	*table = table_block_where(table->block);
}

/* ---- how much there is ---- */

/* What stays in any case: the kernel's own, and what the process has. */
static uint64_t kept_bytes_locked(const struct vidmm *manager, const struct vidmm_process *process,
				  const struct vidmm_segment *segment)
{
	uint64_t bytes = process ? table_blocks_bytes(&process->tables.blocks, segment) : 0;

	lock_assert_held(&manager->lock);
	list_each (const struct vidmm_table_block, block, &manager->blocks, link) {
		if (block->segment == segment && !block->tables)
			bytes += table_block_bytes(block);
	}
	return bytes;
}

uint64_t vidmm_room_left(void *manager_, const struct vidmm_process *process, uint32_t segment_id,
			 bool is_ever)
{
	struct vidmm *manager = manager_;
	const struct vidmm_segment *segment = &manager->segments[segment_id - 1];
	uint64_t all_bytes = segment->page_count * MACHINE_PAGE_BYTES;
	uint64_t bytes;

	lock_acquire(&manager->lock);
	if (is_ever)
		bytes = all_bytes -
			lower_of(all_bytes, kept_bytes_locked(manager, process, segment));
	else
		bytes = segment_free_bytes(segment, FORM_CONTIGUOUS);
	lock_release(&manager->lock);
	return bytes;
}

/* ---- recounting ---- */

static const char *check_blocks(const struct vidmm_process *process, uint64_t leaving_bytes[],
				uint64_t entering_bytes[])
{
	enum vidmm_tables_state state = tables_state(&process->tables);
	const struct list *link;

	list_for_each (link, &process->tables.blocks) {
		const struct vidmm_table_block *block = table_block_of(link);
		uint64_t bytes = table_block_bytes(block);

		if (block->is_placed == (state == VIDMM_TABLES_OUT))
			return "a page table is in and its process's are out, or the other way "
			       "round";
		if (state == VIDMM_TABLES_LEAVING)
			leaving_bytes[block->segment->id - 1] += bytes;
		if (state == VIDMM_TABLES_ENTERING)
			entering_bytes[block->segment->id - 1] += bytes;
	}
	return NULL;
}

const char *table_blocks_recount(const struct vidmm *manager, uint64_t resident_bytes[],
				 uint64_t page_count[], uint64_t range_count[],
				 uint64_t leaving_bytes[], uint64_t entering_bytes[])
{
	const char *wrong = NULL;

	list_each (const struct vidmm_table_block, block, &manager->blocks, link) {
		uint32_t at = block->segment->id - 1;
		uint64_t bytes = table_block_bytes(block);

		if (!block->is_placed)
			continue;
		resident_bytes[at] += bytes;
		page_count[at] += bytes >> MACHINE_PAGE_SHIFT;
		range_count[at] += 1;
	}
	list_each (struct vidmm_process, each, &manager->processes, link) {
		if (!wrong)
			wrong = check_blocks(each, leaving_bytes, entering_bytes);
	}
	return wrong;
}

uint64_t table_blocks_count_bytes(const struct vidmm *manager, const struct vidmm_segment *segment)
{
	uint64_t bytes = 0;

	list_each (const struct vidmm_table_block, block, &manager->blocks, link) {
		if (block->is_placed && block->segment == segment)
			bytes += table_block_bytes(block);
	}
	return bytes;
}
