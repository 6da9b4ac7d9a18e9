/*
 * table_room.c - see table_room.h.
 *
 * Locks: the manager's.
 */
#include <assert.h>

#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/place.h"
#include "vidmm/table_room.h"

/* Memory of a segment that no allocation has. */
struct vidmm_room {
	struct list link; /* vidmm.rooms */
	struct vidmm_segment *segment;
	struct segment_wish wish;
	struct page_set pages;
};

static void *room_pointer(const struct vidmm_segment *segment, uint64_t offset_bytes)
{
	return segment->config.is_cpu_visible
		       ? machine_to_pointer(segment->config.cpu_address + offset_bytes)
		       : NULL;
}

NTSTATUS vidmm_take_table(void *manager_, uint32_t segment_id, uint64_t size_bytes,
			  uint64_t align_bytes, struct pager_table *table_out)
{
	struct vidmm *manager = manager_;
	struct vidmm_room *room = mem_zalloc(sizeof(*room));
	NTSTATUS status;

	assert(segment_id > 0 && segment_id <= manager->segment_count);
	if (!room)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "There is no memory for a page table");
	list_init(&room->link);
	room->segment = &manager->segments[segment_id - 1];
	room->wish = (struct segment_wish){ .form = FORM_CONTIGUOUS,
					    .size_bytes = size_bytes,
					    .alignment_bytes = align_bytes,
					    .is_from_end = true };
	lock_acquire(&manager->lock);
	status = segment_take(room->segment, &room->wish, &room->pages);
	if (NT_SUCCESS(status)) {
		list_push_back(&manager->rooms, &room->link);
		budget_resize_locked(manager, room->segment,
				     -(int64_t)segment_bytes(room->segment, &room->wish));
	}
	lock_release(&manager->lock);
	if (!NT_SUCCESS(status)) {
		mem_free(room);
		return refuse(status, RULE_MM_TABLE_ROOM, NULL,
			      "a page table of %llu bytes has no room in segment %u",
			      (unsigned long long)size_bytes, segment_id);
	}
	uint64_t offset_bytes = (uint64_t)page_set_runs(&room->pages)[0].first_page
				<< MACHINE_PAGE_SHIFT;
	*table_out = (struct pager_table){ .segment = segment_id,
					   .offset_bytes = offset_bytes,
					   .pointer = room_pointer(room->segment, offset_bytes),
					   .room = room };
	return STATUS_SUCCESS;
}

void vidmm_give_table(void *manager_, const struct pager_table *table, uint64_t size_bytes)
{
	struct vidmm *manager = manager_;
	struct vidmm_room *room = table->room;

	(void)size_bytes;
	lock_acquire(&manager->lock);
	list_remove(&room->link);
	segment_give(room->segment, &room->wish, &room->pages);
	budget_resize_locked(manager, room->segment,
			     (int64_t)segment_bytes(room->segment, &room->wish));
	manager->epoch++; /* hope for those who gave up */
	lock_release(&manager->lock);
	mem_free(room);
}

void rooms_recount(const struct vidmm *manager, uint64_t resident_bytes[], uint64_t page_count[],
		   uint64_t range_count[])
{
	const struct list *link;

	list_for_each (link, &manager->rooms) {
		const struct vidmm_room *room = container_of(link, struct vidmm_room, link);
		uint32_t at = room->segment->id - 1;
		uint64_t bytes = segment_bytes(room->segment, &room->wish);

		resident_bytes[at] += bytes;
		page_count[at] += bytes >> MACHINE_PAGE_SHIFT;
		range_count[at] += 1;
	}
}
