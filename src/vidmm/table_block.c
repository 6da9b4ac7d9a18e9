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

/* ---- one room ---- */

static void *room_pointer(const struct vidmm_segment *segment, uint64_t offset_bytes)
{
	return segment->config.is_cpu_visible
		       ? machine_to_pointer(segment->config.cpu_address + offset_bytes)
		       : NULL;
}

struct pager_table table_block_where(struct vidmm_table_block *room)
{
	uint64_t offset_bytes = (uint64_t)page_set_runs(&room->pages)[0].first_page
				<< MACHINE_PAGE_SHIFT;

	return (struct pager_table){ .segment = room->segment->id,
				     .offset_bytes = offset_bytes,
				     .pointer = room->window
							? room->pointer
							: room_pointer(room->segment, offset_bytes),
				     .room = room };
}

static NTSTATUS refuse_memory(void)
{
	return refuse_no_memory("There is no memory for a page table");
}

struct vidmm_table_block *table_block_create(struct vidmm *manager, struct vidmm_process *process,
					     uint32_t segment_id, uint64_t size_bytes,
					     uint64_t align_bytes)
{
	struct vidmm_table_block *room = mem_zalloc(sizeof(*room));

	assert(segment_id > 0 && segment_id <= manager->segment_count);
	if (!room) {
		(void)!refuse_memory();
		return NULL;
	}
	list_init(&room->link);
	list_init(&room->tables_link);
	room->tables = process ? &process->tables : NULL;
	room->segment = &manager->segments[segment_id - 1];
	room->wish = (struct segment_wish){ .form = FORM_CONTIGUOUS,
					    .size_bytes = size_bytes,
					    .alignment_bytes = align_bytes,
					    .is_from_end = true };
	return room;
}

static NTSTATUS room_place_locked(struct vidmm *manager, struct vidmm_table_block *room)
{
	NTSTATUS status = segment_take(room->segment, &room->wish, &room->pages);

	lock_assert_held(&manager->lock);
	if (!NT_SUCCESS(status))
		return status;
	room->is_placed = true;
	budget_resize_locked(manager, room->segment, -(int64_t)table_block_bytes(room));
	return STATUS_SUCCESS;
}

void table_block_displace_locked(struct vidmm *manager, struct vidmm_table_block *room)
{
	lock_assert_held(&manager->lock);
	segment_give(room->segment, &room->wish, &room->pages);
	room->is_placed = false;
	budget_resize_locked(manager, room->segment, (int64_t)table_block_bytes(room));
}

NTSTATUS table_blocks_place_locked(struct vidmm *manager, struct list *rooms)
{
	struct list *link;
	struct list *undone;

	lock_assert_held(&manager->lock);
	list_for_each (link, rooms) {
		NTSTATUS status = room_place_locked(manager, table_block_of(link));

		if (NT_SUCCESS(status))
			continue;
		for (undone = rooms->next; undone != link; undone = undone->next)
			table_block_displace_locked(manager, table_block_of(undone));
		return status;
	}
	return STATUS_SUCCESS;
}

uint64_t table_blocks_bytes(const struct list *rooms, const struct vidmm_segment *segment)
{
	const struct list *link;
	uint64_t bytes = 0;

	list_for_each (link, rooms) {
		if (table_block_of(link)->segment == segment)
			bytes += table_block_bytes(table_block_of(link));
	}
	return bytes;
}

uint32_t table_blocks_segments(const struct list *rooms)
{
	const struct list *link;
	uint32_t segments = 0;

	list_for_each (link, rooms)
		segments |= UINT32_C(1) << (table_block_of(link)->segment->id - 1);
	return segments;
}

/* ---- with the room there is ---- */

NTSTATUS vidmm_take_room(void *manager_, struct vidmm_process *process, uint32_t segment,
			 uint64_t size_bytes, uint64_t align_bytes, struct pager_table *table_out)
{
	struct vidmm *manager = manager_;
	struct vidmm_table_block *room =
		table_block_create(manager, process, segment, size_bytes, align_bytes);

	if (!room)
		return STATUS_NO_MEMORY;
	lock_acquire(&manager->lock);
	/* More of what is out would be in: who needs it waits until all of it is. */
	NTSTATUS status = vidmm_tables_are_in(process) ? room_place_locked(manager, room)
						       : STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	if (NT_SUCCESS(status)) {
		list_push_back(&manager->rooms, &room->link);
		if (room->tables)
			list_push_back(&room->tables->rooms, &room->tables_link);
	}
	lock_release(&manager->lock);
	if (!NT_SUCCESS(status)) {
		mem_free(room);
		return status == STATUS_NO_MEMORY ? refuse_memory() : status;
	}
	*table_out = table_block_where(room);
	return STATUS_SUCCESS;
}

NTSTATUS vidmm_take_table(void *manager, uint32_t segment, uint64_t size_bytes,
			  uint64_t align_bytes, struct pager_table *table_out)
{
	NTSTATUS status =
		vidmm_take_room(manager, NULL, segment, size_bytes, align_bytes, table_out);

	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		return refuse(status, RULE_MM_TABLE_ROOM, NULL,
			      "a page table of %llu bytes has no room in segment %u",
			      (unsigned long long)size_bytes, segment);
	if (!NT_SUCCESS(status))
		return status;
	status = window_open_table(manager, table_out->room);
	if (!NT_SUCCESS(status)) {
		vidmm_give_table(manager, table_out, size_bytes);
		return refuse(status, RULE_MM_PAGING_TABLES, NULL,
			      "a page table of the kernel's own in segment %u is not seen through "
			      "its CPU host aperture: %s",
			      segment, status_name(status));
	}
	*table_out = table_block_where(table_out->room);
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
	struct vidmm_table_block *room = table->room;

	window_close_table(manager, room);
	lock_acquire(&manager->lock);
	list_remove(&room->link);
	list_remove(&room->tables_link);
	if (room->is_placed) {
		table_block_displace_locked(manager, room);
		manager->retry_generation++; /* who gave up tries again */
		if (!list_is_empty(&manager->waiters))
			room_look_again(manager, clock_now_ns());
	}
	if (room->tables)
		tables_lost_room_locked(room->tables);
	lock_release(&manager->lock);
	mem_free(room);
}

void vidmm_find_room(void *manager, struct pager_table *table)
{
	*table = table_block_where(table->room);
}

/* ---- how much there is ---- */

/* What stays in any case: the kernel's own, and what the process has. */
static uint64_t kept_bytes_locked(const struct vidmm *manager, const struct vidmm_process *process,
				  const struct vidmm_segment *segment)
{
	uint64_t bytes = process ? table_blocks_bytes(&process->tables.rooms, segment) : 0;

	lock_assert_held(&manager->lock);
	list_each (const struct vidmm_table_block, room, &manager->rooms, link) {
		if (room->segment == segment && !room->tables)
			bytes += table_block_bytes(room);
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

static const char *check_rooms(const struct vidmm_process *process, uint64_t leaving_bytes[],
			       uint64_t entering_bytes[])
{
	enum vidmm_tables_state state = tables_state(&process->tables);
	const struct list *link;

	list_for_each (link, &process->tables.rooms) {
		const struct vidmm_table_block *room = table_block_of(link);
		uint64_t bytes = table_block_bytes(room);

		if (room->is_placed == (state == VIDMM_TABLES_OUT))
			return "a page table is in and its process's are out, or the other way "
			       "round";
		if (state == VIDMM_TABLES_LEAVING)
			leaving_bytes[room->segment->id - 1] += bytes;
		if (state == VIDMM_TABLES_ENTERING)
			entering_bytes[room->segment->id - 1] += bytes;
	}
	return NULL;
}

const char *table_blocks_recount(const struct vidmm *manager, uint64_t resident_bytes[],
				 uint64_t page_count[], uint64_t range_count[],
				 uint64_t leaving_bytes[], uint64_t entering_bytes[])
{
	const char *wrong = NULL;

	list_each (const struct vidmm_table_block, room, &manager->rooms, link) {
		uint32_t at = room->segment->id - 1;
		uint64_t bytes = table_block_bytes(room);

		if (!room->is_placed)
			continue;
		resident_bytes[at] += bytes;
		page_count[at] += bytes >> MACHINE_PAGE_SHIFT;
		range_count[at] += 1;
	}
	list_each (struct vidmm_process, each, &manager->processes, link) {
		if (!wrong)
			wrong = check_rooms(each, leaving_bytes, entering_bytes);
	}
	return wrong;
}

uint64_t table_blocks_count_bytes(const struct vidmm *manager, const struct vidmm_segment *segment)
{
	uint64_t bytes = 0;

	list_each (const struct vidmm_table_block, room, &manager->rooms, link) {
		if (room->is_placed && room->segment == segment)
			bytes += table_block_bytes(room);
	}
	return bytes;
}
