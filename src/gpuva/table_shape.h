/* SPDX-License-Identifier: MIT */
/*
 * table_shape.h - page tables as a driver describes them: levels, index bits, sizes.
 *
 *	 address   |  index 3  |  index 2  |  index 1  |  index 0  |  offset  |
 *	            root                                leaf        12 bits
 *
 * Level 0 is the leaf: one of its entries covers one page of 4 KiB. An entry of a level above
 * covers what a table below it covers. Addresses are page numbers here. Arithmetic only.
 */
#ifndef GPUVA_TABLE_SHAPE_H
#define GPUVA_TABLE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

enum {
	GPUVA_MIN_LEVELS = 2,
	GPUVA_MAX_LEVELS = 6,
};

struct gpuva_level {
	uint32_t index_bits; /* of two levels the root's is its first size, and may be 0 */
	uint32_t table_bytes;
};

/* Filled in by whoever asked the driver; checked by gpuva_shape_init(). */
struct gpuva_shape_answer {
	uint32_t address_bits;
	uint32_t level_count;
	struct gpuva_level levels[GPUVA_MAX_LEVELS]; /* 0 is the leaf */
	uint32_t leaf_table_64k_bytes;               /* 0: there are no 64 KiB pages */
	bool has_large_pages;
	bool has_unaligned_large_pages; /* of physical memory; addresses are always aligned */
	bool has_dual_entries;          /* 4 KiB and 64 KiB tables side by side */
};

struct gpuva_shape {
	struct gpuva_shape_answer answer;
	uint64_t page_count; /* of the whole space */
	bool has_growing_root;
	uint8_t entry_shift[GPUVA_MAX_LEVELS +
			    1]; /* log2 of pages an entry covers; [n]: the space */
};

/* STATUS_INVALID_PARAMETER, with the reason recorded, when no tables can look like that. */
MUST_CHECK NTSTATUS gpuva_shape_init(struct gpuva_shape *shape,
				     const struct gpuva_shape_answer *answer);

static inline uint32_t gpuva_shape_root(const struct gpuva_shape *shape)
{
	return shape->answer.level_count - 1;
}

/* Pages that one entry, and one table, of a level cover; entries that a full table has. */
uint64_t gpuva_shape_entry_pages(const struct gpuva_shape *shape, uint32_t level);
uint64_t gpuva_shape_table_pages(const struct gpuva_shape *shape, uint32_t level);
uint64_t gpuva_shape_entry_count(const struct gpuva_shape *shape, uint32_t level);

/* Where a page is found: the how-manieth table of the level, and which of its entries. */
struct gpuva_entry {
	uint64_t table;
	uint64_t entry;
};

struct gpuva_entry gpuva_shape_entry(const struct gpuva_shape *shape, uint32_t level,
				     uint64_t page);

/* How many entries a growing root needs, so that it covers the pages below `end_page`. */
uint64_t gpuva_shape_root_entries(const struct gpuva_shape *shape, uint64_t end_page);

/* A run of pages on both sides: addresses, and the memory they are to show. */
struct gpuva_run {
	uint64_t page; /* of the address */
	uint64_t page_count;
	uint64_t memory_page; /* of the segment, or of system memory */
};

/* Whether all of it can be 64 KiB pages. The memory must be managed in those, too. */
bool gpuva_shape_fits_64k(const struct gpuva_shape *shape, const struct gpuva_run *run);

/*
 * The highest level where the first page of `run` can be that of a large page, which then covers
 * gpuva_shape_entry_pages() of it; 0 when there is none.
 */
uint32_t gpuva_shape_large_level(const struct gpuva_shape *shape, const struct gpuva_run *run);

/* What one entry of a leaf table of 64 KiB pages covers, and how many such a table has. */
enum { GPUVA_WIDE_SHIFT = 4, GPUVA_WIDE_PAGES = 1 << GPUVA_WIDE_SHIFT };
static inline uint64_t gpuva_shape_wide_count(const struct gpuva_shape *shape)
{
	return UINT64_C(1) << (shape->entry_shift[1] - GPUVA_WIDE_SHIFT);
}

/* From what multiple on `page_count` pages can be large ones, the largest there are; 0: never. */
uint64_t gpuva_shape_best_alignment(const struct gpuva_shape *shape, uint64_t page_count);

#endif
