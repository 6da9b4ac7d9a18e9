/* SPDX-License-Identifier: MIT */
/*
 * table_block.h - memory of segments that page tables are in.
 *
 *	the kernel's own    taken when the adapter starts, stays
 *	a process's         comes and goes, all of it together (table_states.h)
 *
 * Locks: the manager's.
 */
#ifndef VIDMM_TABLE_BLOCK_H
#define VIDMM_TABLE_BLOCK_H

#include "vidmm/manager.h"
#include "pagetable/page_tables.h"

/*
 * Contiguous room in a memory segment that stays until it is given back; for pager_config,
 * `manager` is a struct vidmm. Nobody is evicted for it: STATUS_GRAPHICS_NO_VIDEO_MEMORY. Where the
 * segment has a CPU host aperture the CPU sees it, or it is refused.
 */
MUST_CHECK NTSTATUS vidmm_take_table(void *manager, uint32_t segment, uint64_t size_bytes,
				     uint64_t align_bytes, struct pager_table *table_out);
void vidmm_give_table(void *manager, const struct pager_table *table, uint64_t size_bytes);

/* Pages of the segment's CPU host aperture that such tables may have; UINT64_MAX: it has none. */
uint64_t vidmm_table_windows(void *manager, uint32_t segment, uint64_t *page_bytes_out);

/* The same as part of what a process has; for page_tables_config. Refuses nothing by itself. */
MUST_CHECK NTSTATUS vidmm_take_block(void *manager, struct vidmm_process *process, uint32_t segment,
				     uint64_t size_bytes, uint64_t align_bytes,
				     struct pager_table *table_out);
void vidmm_find_block(void *manager, struct pager_table *table);
uint64_t vidmm_room_left(void *manager, const struct vidmm_process *process, uint32_t segment,
			 bool is_ever);

#endif
