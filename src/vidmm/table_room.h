/*
 * table_room.h - memory of segments that page tables are in.
 *
 * Locks: the manager's.
 */
#ifndef VIDMM_TABLE_ROOM_H
#define VIDMM_TABLE_ROOM_H

#include "vidmm/manager.h"
#include "vidmm/page_tables.h"

/*
 * Contiguous room in a memory segment that stays until it is given back; for page_tables_config and
 * pager_config, `manager` is a struct vidmm. Nobody is evicted for it:
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY.
 */
MUST_CHECK NTSTATUS vidmm_take_table(void *manager, uint32_t segment, uint64_t size_bytes,
				     uint64_t align_bytes, struct pager_table *table_out);
void vidmm_give_table(void *manager, const struct pager_table *table, uint64_t size_bytes);

#endif
