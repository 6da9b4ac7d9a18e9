/* SPDX-License-Identifier: MIT */
/*
 * pool_block.h - what stands in front of pool memory, and the table of those blocks that are not
 * known by their address. For pool.c and pool_table.c.
 */
#ifndef NT_POOL_BLOCK_H
#define NT_POOL_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "nt/pool.h"

enum {
	POOL_ALIGNMENT = 16,
	/* From here on a block has pages of its own: what a driver does not touch of it takes no
	 * memory and no time. A sanitizer wants to see what is around a block. */
	POOL_LARGE_BYTES = IS_SANITIZED ? 1 << 30 : 1 << 20,
};

#define ORIGIN_SHIFT 48 /* code lies below that */

/* What `state` says; a block that was never used is 0. */
enum {
	STATE_FREED = 1,
	STATE_LIVE = 2,
	STATE_PAGED = 4, /* of a live one */
	STATE_APART = 8,
	STATE_USE = 16, /* from here on up: how often it was used, so that no two uses look alike */
};

struct pool_block {
	union {
		struct pool_block *next; /* in its bucket, of leaks; base/mem.h's when it is free */
		const struct nt_stack *stack; /* of a small one that is live; may be NULL */
	};
	_Atomic uint32_t state;
	uint32_t tag;

	/* Site of the allocation, or of the free; above ORIGIN_SHIFT the size. Who finds the state
	   unchanged after it has read this has read that use's. */
	_Atomic uint64_t origin;

	uint64_t canary;
};
_Static_assert(sizeof(struct pool_block) % POOL_ALIGNMENT == 0, "the payload is right behind it");

struct pool_apart {
	struct pool_block block;
	char *payload;
	size_t size_bytes;
	const struct nt_stack *stack; /* may be NULL */
	void *mapped;                 /* where the payload is, when it needs pages of its own */
	size_t mapped_bytes;          /* 0: behind this struct */
	bool is_guarded;              /* those of paged_guard.h */
};

static inline bool is_apart(const struct pool_block *block)
{
	return UNLIKELY(atomic_load_explicit(&block->state, memory_order_relaxed) & STATE_APART);
}

/* They come zeroed, and whoever touches them after the end faults. */
static inline bool pool_has_new_pages(const struct pool_apart *apart)
{
	return apart->mapped_bytes != 0 && !apart->is_guarded;
}

static inline char *payload_of(struct pool_block *block)
{
	return is_apart(block) ? ((struct pool_apart *)block)->payload : (char *)(block + 1);
}

static inline uint64_t origin_of(const struct pool_block *block)
{
	return atomic_load_explicit(&block->origin, memory_order_relaxed);
}

static inline size_t small_size(const struct pool_block *block)
{
	return origin_of(block) >> ORIGIN_SHIFT;
}

static inline size_t size_of(const struct pool_block *block)
{
	return is_apart(block) ? ((const struct pool_apart *)block)->size_bytes : small_size(block);
}

static inline const void *site_of(const struct pool_block *block)
{
	return (const void *)(uintptr_t)(origin_of(block) & ((UINT64_C(1) << ORIGIN_SHIFT) - 1));
}

static inline void set_origin(struct pool_block *block, const void *site, size_t small_bytes)
{
	atomic_store_explicit(&block->origin,
			      (uint64_t)(uintptr_t)site | (uint64_t)small_bytes << ORIGIN_SHIFT,
			      memory_order_relaxed);
}

/* The state of the same use with other flags. */
static inline uint32_t state_with(uint32_t state, uint32_t flags)
{
	return (state & ~(uint32_t)(STATE_USE - 1)) | flags;
}

/* The letters of a tag. */
const char *pool_tag_text(uint32_t tag, char text[5]);

struct freed_block {
	const void *payload;
	const void *site; /* of the free */
	uint32_t tag;
};

/* ---- pool_table.c: blocks that are apart, by the address of their payload ---- */

void pool_table_insert(struct pool_block *block);

/* The block is out of the table and remembered as freed; NULL when there is none. */
struct pool_block *pool_table_take(const void *payload, const void *site);

/* One of the last that were freed; zeroes when it is not. */
struct freed_block pool_table_find_freed(const void *payload);

/* A block of the table begins there. */
bool pool_table_has(const void *payload);

struct nt_pool_usage pool_table_usage(void);

/* Takes all that were allocated in [begin, end) and puts them in front of *first. */
void pool_table_take_all(uintptr_t begin, uintptr_t end, struct pool_block **first);

/* Who hears of what drivers allocate and free; NULL: nobody (pool_table.c). */
extern const struct nt_pool_watch *pool_watch __attribute__((visibility("hidden")));

#endif
