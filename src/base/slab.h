/* SPDX-License-Identifier: MIT */
/*
 * slab.h - where blocks of a few sizes come from. For mem.c.
 *
 *	range   |  slab of shelf 4  |  slab of shelf 20  |  slab of shelf 4  |···· reserved ····
 *
 * All blocks lie in one range of addresses, those of a shelf have one size and stand close
 * together: whether a block begins at an address is arithmetic, and nothing there has to be read.
 * What was carved once is kept for its shelf.
 *
 * Locks: LOCK_RANK_SLAB guards carving and what was returned.
 */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/attributes.h"

enum {
	SLAB_SHIFT = 16,
	SLAB_STEP = 16,
	SLAB_SIZES = 34,               /* shelf n has blocks of n times SLAB_STEP bytes … */
	SLAB_SHELVES = 2 * SLAB_SIZES, /* … and so has shelf n + SLAB_SIZES, for other users */
	SLAB_NO_SHELF = 0,
};

struct slab_shape {
	uint32_t block_bytes;
	uint32_t block_count;
	uint64_t inverse; /* of block_bytes, times 2^32, rounded up */
};

struct slab_range {
	uintptr_t begin;
	_Atomic uintptr_t used_bytes;
	uint8_t *shelves; /* of each slab */
	struct slab_shape shapes[SLAB_SHELVES];
};
extern struct slab_range slab_range __attribute__((visibility("hidden")));

static inline size_t slab_block_bytes(unsigned shelf)
{
	return (size_t)(shelf % SLAB_SIZES) * SLAB_STEP;
}

/* The shelf whose block begins there, taken or not; SLAB_NO_SHELF for any other pointer. */
static inline unsigned slab_shelf_at(const void *pointer)
{
	uintptr_t offset = (uintptr_t)pointer - slab_range.begin;

	if (UNLIKELY(offset >= atomic_load_explicit(&slab_range.used_bytes, memory_order_acquire)))
		return SLAB_NO_SHELF;
	unsigned shelf = slab_range.shelves[offset >> SLAB_SHIFT];
	const struct slab_shape *shape = &slab_range.shapes[shelf];
	uint64_t within = offset & ((UINT64_C(1) << SLAB_SHIFT) - 1);
	uint64_t index = within * shape->inverse >> 32;
	if (UNLIKELY(index * shape->block_bytes != within || index >= shape->block_count))
		return SLAB_NO_SHELF;
	return shelf;
}

/* A block of the shelf; a new one is zeroed. NULL when there is no memory. */
void *slab_carve(unsigned shelf);

/* It can be carved again. Its first word is ours until then. */
void slab_return(unsigned shelf, void *block);

/* Every block of the shelf, those that were never carved included. */
void slab_visit(unsigned shelf, void (*visit)(void *context, void *block), void *context);

#endif
