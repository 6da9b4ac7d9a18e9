/* SPDX-License-Identifier: MIT */
/*
 * page_pool.h - pages of a segment, wherever they are: what an allocation behind page tables needs.
 *
 * The pages come from the segment's ranges, where contiguous ranges live as well, as few runs as
 * there can be: all in one stretch if one is large enough, else from the largest ones down. So
 * every free page can be used, whatever its neighbours are. One run, the usual case, is kept in
 * place.
 *
 * Locks: those of the ranges.
 */
#ifndef RANGES_PAGE_POOL_H
#define RANGES_PAGE_POOL_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "ranges/ranges.h"

/* Neighbouring pages of a segment; a segment has less than 2^32 of them. */
struct page_run {
	uint32_t first_page;
	uint32_t count;
};

struct page_set {
	union {
		struct page_run one;   /* run_count is 1       */
		struct page_run *many; /* run_count is above 1 */
	};
	uint32_t run_count;   /* 0: empty */
	struct range *ranges; /* one for each run, linked by `next` */
};

enum page_pool_direction { PAGE_POOL_FROM_START, PAGE_POOL_FROM_END };

/*
 * `page_count` pages (not 0) in runs that begin at and are multiples of `granule_pages`: 1, or 16
 * where the page tables have 64 KiB pages. `page_count` is such a multiple. All or none:
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY when there are too few, STATUS_NO_MEMORY when there is no memory
 * to write them down. `set` is empty, and stays so then.
 *
 * Placed so that large pages can show it where that is possible: all in one stretch that begins at
 * a multiple of the largest of `large_pages` it fills (powers of two, ascending, 0 behind the last;
 * NULL: there are none); else of a smaller one; else anywhere, with the pieces that are such
 * multiples in front.
 */
MUST_CHECK NTSTATUS page_pool_take(struct ranges *from, uint64_t page_count, uint64_t granule_pages,
				   const uint64_t *large_pages, enum page_pool_direction direction,
				   struct page_set *set);

/* Empty afterwards. Accepts an empty one. */
void page_pool_give(struct ranges *from, struct page_set *set);

static inline const struct page_run *page_set_runs(const struct page_set *set)
{
	return set->run_count > 1 ? set->many : &set->one;
}

#endif
