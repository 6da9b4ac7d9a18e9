/* SPDX-License-Identifier: MIT */
/*
 * layout.h - what is where in the kernel's own address space on a GPU. Pure.
 *
 *	page 0     1          buffers    small windows   big windows      leaf tables
 *	| invalid | invalid … | ▦ ▦ ▦ ▦ | ▢▢ ▢▢ ▢▢ …    | ▭▭ ▭▭ ▭▭ …    | ▤ ▤ ▤ … |
 *
 * Paging buffers and, where the GPU writes tables by address, the leaf tables are mapped for
 * good. Windows come in pairs (slots): one for the source, one for the destination, which
 * next to each other also make one large window. The rest of the tree maps just this.
 */
#ifndef PAGING_LAYOUT_H
#define PAGING_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "miniport/miniport.h"

/* All in pages, and addresses as page numbers. */
struct pager_layout {
	uint64_t first_buffer;
	uint32_t buffer_pages; /* of one */
	uint32_t buffer_count;
	uint64_t first_small;
	uint32_t small_pages; /* of one window */
	uint32_t small_count; /* of slots */
	uint64_t first_big;
	uint32_t big_pages;
	uint32_t big_count;
	uint64_t first_table; /* 0: tables are not mapped */
	uint32_t table_pages; /* of one leaf table */
	uint32_t leaf_entries;
	uint32_t leaf_count;
	uint64_t end;
};

/*
 * Makes windows smaller and fewer until all fits, in the addresses there are and in so many leaf
 * tables; false when not even the smallest do.
 */
bool pager_layout_plan(const struct miniport_gpu_mmu *mmu, uint32_t buffer_pages,
		       uint32_t buffer_count, uint32_t most_leaves,
		       struct pager_layout *layout_out);

#endif
