/*
 * table.h - 32-bit handle <-> object.
 *
 * What clients expect of the numbers (observed on Windows): bits 31..30 not both zero, low six bits
 * zero (2 in the global namespace), the next handle 0x40 above the one before, nothing reused at
 *once.
 *
 *	31 30 29                                  6 5      0
 *	+----------------------------------------+--------+
 *	|  0x40000000 + ordinal * 0x40           |  tag   |      3 * 2^24 ordinals
 *	+----------------------------------------+--------+
 *
 * Ordinals are handed out in sequence and come round after fifty million others; until then a stale
 * handle matches nothing, because a slot compares the whole handle.
 *
 * Lookup takes no lock and makes no system call. Handing out and giving back a number is a few
 *atomic operations; the lock is taken once per chunk of HANDLE_CHUNK numbers. Costs do not depend
 *on how many handles live.
 */
#ifndef HANDLE_TABLE_H
#define HANDLE_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"
#include "handle/object.h"

enum {
	HANDLE_CHUNK = 4096,
	HANDLE_ORDINALS = 3 << 24,
	HANDLE_CHUNKS = HANDLE_ORDINALS / HANDLE_CHUNK,
	HANDLE_TAG_LOCAL = 0,
	HANDLE_TAG_GLOBAL = 2,
};

/* Guarded by the state word itself; `object` is stable while references are held. */
struct handle_slot {
	/*
	 * 63..32  the handle while published, else 0
	 * 31      ready: the ordinal may be handed out
	 * 30..0   references
	 */
	_Atomic uint64_t state;
	struct object *object;
};

struct handle_chunk;

struct handle_table {
	uint32_t tag;

	_Atomic uint64_t drawn; /* how many ordinals were handed out or skipped, ever */
	_Atomic uint32_t live;  /* objects that have a number */

	/* Written under `lock`, read without. Chunks are recycled, and freed only with the table.
	 */
	struct handle_chunk *_Atomic *directory;
	struct lock lock; /* LOCK_RANK_HANDLE_TABLE */
	struct handle_chunk *spare;
	struct handle_chunk *all; /* to free them */
};

MUST_CHECK NTSTATUS handle_table_init(struct handle_table *table, uint32_t tag);

/*
 * Where the sequence is, and to go on from there in a new table: handles of the table before it
 * stay stale.
 */
static inline uint64_t handle_table_drawn(const struct handle_table *table)
{
	return atomic_load_explicit(&table->drawn, memory_order_relaxed);
}
static inline void handle_table_continue(struct handle_table *table, uint64_t drawn)
{
	atomic_store_explicit(&table->drawn, drawn, memory_order_relaxed);
}

/* Waits for objects whose last reference is being given back right now. Accepts a zeroed struct. */
void handle_table_finish(struct handle_table *table);

enum handle_verdict { HANDLE_FOUND, HANDLE_UNKNOWN, HANDLE_OTHER_KIND };

/*
 * The object with a reference, when `handle` is published and of `class` (NULL: of any). On
 * HANDLE_OTHER_KIND nothing is referenced; *found_out names the kind it is of, for the refusal.
 */
MUST_CHECK enum handle_verdict handle_find(struct handle_table *table, uint32_t handle,
					   const struct object_class *class,
					   struct object **object_out,
					   const struct object_class **found_out);

#endif
