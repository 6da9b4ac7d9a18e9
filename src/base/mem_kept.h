/* SPDX-License-Identifier: MIT */
/*
 * mem_kept.h - blocks that a thread keeps at hand: the quick half of mem_take() and its like, for
 * who has another way to go when there is none.
 */
#ifndef BASE_MEM_KEPT_H
#define BASE_MEM_KEPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/slab.h"

enum {
	MEM_SHELF_PLAIN = 0,          /* the first of mem_take() */
	MEM_SHELF_KNOWN = SLAB_SIZES, /* of mem_take_known() */
	MEM_KEPT_MAX = 32,            /* on one shelf */
};

struct mem_kept_block {
	struct mem_kept_block *next;
};

/* What this thread has taken less what it has given is `drawn` less `kept`. */
struct mem_shelf {
	struct mem_kept_block *first;
	_Atomic uint64_t kept; /* blocks behind `first`; both are written by this thread alone */
	_Atomic int64_t drawn; /* carved less returned by this thread */
};

/* Of the calling thread; NULL until it needs some. */
extern _Thread_local struct mem_shelf *mem_own_shelves __attribute__((visibility("hidden")));

/* 0: no failure wanted. Otherwise the failure comes when it is counted down to 1. */
extern _Atomic uint64_t mem_fail_countdown __attribute__((visibility("hidden")));

static inline size_t mem_size_index(size_t size_bytes)
{
	return (size_bytes + SLAB_STEP - 1) / SLAB_STEP;
}

static inline uint64_t mem_shelf_kept(const struct mem_shelf *shelf)
{
	return atomic_load_explicit(&shelf->kept, memory_order_relaxed);
}

static inline void mem_shelf_set_kept(struct mem_shelf *shelf, uint64_t count)
{
	atomic_store_explicit(&shelf->kept, count, memory_order_relaxed);
}

/* NULL: there is none at hand, or a test wants to be asked. */
MUST_CHECK static inline void *mem_take_kept(size_t index)
{
	if (UNLIKELY(!mem_own_shelves ||
		     atomic_load_explicit(&mem_fail_countdown, memory_order_relaxed) != 0))
		return NULL;
	struct mem_shelf *shelf = &mem_own_shelves[index];
	struct mem_kept_block *block = shelf->first;
	if (UNLIKELY(!block))
		return NULL;
	shelf->first = block->next;
	mem_shelf_set_kept(shelf, mem_shelf_kept(shelf) - 1);
	return block;
}

/* False: there are enough of them. */
MUST_CHECK static inline bool mem_keep(void *memory, size_t index)
{
	struct mem_kept_block *block = memory;

	if (UNLIKELY(!mem_own_shelves))
		return false;
	struct mem_shelf *shelf = &mem_own_shelves[index];
	if (UNLIKELY(mem_shelf_kept(shelf) >= MEM_KEPT_MAX))
		return false;
	block->next = shelf->first;
	shelf->first = block;
	mem_shelf_set_kept(shelf, mem_shelf_kept(shelf) + 1);
	return true;
}

#endif
