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

#define HANDLE_FIRST UINT32_C(0x40000000)

struct handle_chunk {
	struct handle_chunk *next_spare;
	struct handle_chunk *next_all;
	_Atomic uint64_t lap; /* which time round the sequence it was opened for, from 1 */
	_Atomic uint32_t tickets;
	struct handle_slot slots[HANDLE_CHUNK];
};

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

/* The next number of the sequence, and which time round it is. */
struct handle_draw {
	uint32_t ordinal;
	uint64_t lap; /* from 1 */
};

static inline struct handle_draw handle_draw(struct handle_table *table)
{
	uint64_t drawn = atomic_fetch_add_explicit(&table->drawn, 1, memory_order_relaxed) + 1;

	return (struct handle_draw){ (uint32_t)(drawn % HANDLE_ORDINALS),
				     drawn / HANDLE_ORDINALS + 1 };
}

/* False when the slot is not free. */
static inline bool handle_settle(struct handle_table *table, struct handle_chunk *chunk,
				 uint32_t ordinal, struct object *object,
				 const struct object_class *class)
{
	struct handle_slot *slot = &chunk->slots[ordinal % HANDLE_CHUNK];
	uint64_t ready = SLOT_READY;

	if (!atomic_compare_exchange_strong_explicit(&slot->state, &ready, 1, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	atomic_fetch_add_explicit(&table->live, 1, memory_order_relaxed);
	slot->object = object;
	object->class = class;
	object->table = table;
	object->slot = slot;
	object->handle = HANDLE_FIRST + (ordinal << 6) + table->tag;
	return true;
}

/* Behind object_init(), with a number that was drawn. */
MUST_CHECK NTSTATUS object_init_slowly(struct object *object, const struct object_class *class,
				       struct handle_table *table, struct handle_draw draw);

/* Numbers the object, with one reference, not yet findable. */
MUST_CHECK static inline NTSTATUS object_init(struct object *object,
					      const struct object_class *class,
					      struct handle_table *table)
{
	struct handle_draw draw = handle_draw(table);
	struct handle_chunk *chunk = atomic_load_explicit(
		&table->directory[draw.ordinal / HANDLE_CHUNK], memory_order_acquire);

	if (LIKELY(chunk && atomic_load_explicit(&chunk->lap, memory_order_acquire) == draw.lap &&
		   handle_settle(table, chunk, draw.ordinal, object, class)))
		return STATUS_SUCCESS;
	return object_init_slowly(object, class, table, draw);
}

enum handle_verdict { HANDLE_FOUND, HANDLE_UNKNOWN, HANDLE_OTHER_KIND };

/*
 * The object with a reference, when `handle` is published and of `class` (NULL: of any). On
 * HANDLE_OTHER_KIND nothing is referenced; *found_out names the kind it is of, for the refusal.
 */
MUST_CHECK static inline enum handle_verdict handle_find(struct handle_table *table,
							 uint32_t handle,
							 const struct object_class *class,
							 struct object **object_out,
							 const struct object_class **found_out)
{
	if (UNLIKELY(handle < HANDLE_FIRST || (handle & 0x3f) != table->tag))
		return HANDLE_UNKNOWN;
	uint32_t ordinal = (handle - HANDLE_FIRST) >> 6;
	struct handle_chunk *chunk = atomic_load_explicit(&table->directory[ordinal / HANDLE_CHUNK],
							  memory_order_acquire);
	if (UNLIKELY(!chunk))
		return HANDLE_UNKNOWN;

	struct handle_slot *slot = &chunk->slots[ordinal % HANDLE_CHUNK];
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
	do {
		if (UNLIKELY(SLOT_HANDLE(state) != handle))
			return HANDLE_UNKNOWN;
	} while (UNLIKELY(!atomic_compare_exchange_weak_explicit(
		&slot->state, &state, state + 1, memory_order_acquire, memory_order_relaxed)));

	struct object *object = slot->object;
	if (UNLIKELY(class && object->class != class)) {
		*found_out = object->class;
		object_put(object);
		return HANDLE_OTHER_KIND;
	}
	*object_out = object;
	return HANDLE_FOUND;
}

#endif
