/* SPDX-License-Identifier: MIT */
/*
 * space.h - which addresses of one GPU address space are taken, and what each page shows.
 *
 *	areas    |<--- reservation --->|<- map ->|  free  |<-- reservation -->|
 *	pieces     |<- A ->|<- zero ->|                     |<- B ->|
 *	shows    --|AAAAAAA|0000000000||CCCCCCCCC|........|-|BBBBBBB|---------|
 *
 * An area is what one request took: addresses that were reserved, or that a map request found
 * itself. The second kind shows its memory; when part of it is mapped anew it becomes several
 * areas, which still know that they came from one request (`source`). A reservation stays whole
 * and has a state of its own (`-`: no access; or zero); pieces lie on it where something else was
 * mapped. So taking 2^46 bytes costs what taking 64 KiB costs, and unmapping is taking the piece
 * away.
 *
 * Everything is counted in pages of 4 KiB. Changes are made by plans (plan.h) and by nothing else.
 * Pure: the lock of the address space guards all of it.
 */
#ifndef GPUVA_SPACE_H
#define GPUVA_SPACE_H

#include "gpuva/range_pool.h"
#include "gpuva/ranges.h"

enum {
	GPUVA_PAGE_SHIFT = 12,
	GPUVA_PAGE_BYTES = 1 << GPUVA_PAGE_SHIFT,
	GPUVA_PAGES_PER_64K = 16,
};

struct gpuva_space {
	/* Set by init. */
	uint64_t page_count;
	uint64_t driver_unit_pages; /* what a driver reserves is a multiple of this */

	/* The kernel chooses its own addresses near this end: page_count, until it is set. */
	uint64_t kernel_end_page;

	struct range_pool pool;
	struct range_set areas;
	struct range_set pieces;
	uint64_t next_source;
	uint64_t change_count; /* a plan counts for the space it was made for */
	uint64_t open_plans;
};

/*
 * All of it free. `driver_unit_pages`, a power of two, is what one leaf table covers: a driver
 * reserves whole tables, so that it can hang in its own. Takes no memory.
 */
void gpuva_space_init(struct gpuva_space *space, uint64_t page_count, uint64_t driver_unit_pages);

/* What is still taken goes, and leaves its owners' lists. All plans are finished. */
void gpuva_space_finish(struct gpuva_space *space);

/* A run of pages that show the same, as far as it goes. */
struct gpuva_view {
	uint64_t first_page;
	uint64_t page_count;
	struct gpuva_state state;
	const struct gpuva_range *area; /* NULL where it is free */
};

/*
 * What `page` (below page_count) and those after it show; first_page is `page`. The next run is
 * found at first_page + page_count, so a loop over it visits all.
 */
void gpuva_space_look(const struct gpuva_space *space, uint64_t page, struct gpuva_view *view_out);

static inline bool gpuva_is_reservation(const struct gpuva_range *area)
{
	return area->origin != GPUVA_ORIGIN_MAP && area->origin != GPUVA_ORIGIN_KERNEL;
}

/* Recounts everything. NULL when it adds up, else what does not. */
const char *gpuva_validate(const struct gpuva_space *space);

#endif
