/* SPDX-License-Identifier: MIT */
/*
 * table.h - 32-bit handle <-> object.
 *
 * What clients expect of the numbers (observed on Windows): bits 31..30 not both zero, low six bits
 * zero (2 in the global namespace), the next handle 0x40 above the one before, nothing reused at
 * once.
 *
 *	31 30 29                                  6 5      0
 *	+----------------------------------------+--------+
 *	|  0x40000000 + ordinal * 0x40           |  tag   |      3 * 2^24 ordinals
 *	+----------------------------------------+--------+
 *
 * A thread draws a chunk of HANDLE_CHUNK ordinals and hands them out in sequence, without an atomic
 * operation; chunks are drawn in sequence, too, and come round after fifty million ordinals. Until
 * then a stale handle matches nothing, because a slot compares the whole handle. Two threads write
 * no cache line in turn as long as each ends what it made.
 *
 * In a table with a quota all seats are the first: every number is drawn, counted and given back
 * there, slower and exactly.
 *
 * Lookup takes no lock and makes no system call. Costs do not depend on how many handles live.
 */
#ifndef HANDLE_TABLE_H
#define HANDLE_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/quota.h"
#include "base/thread.h"
#include "handle/object.h"

enum {
	HANDLE_CHUNK = 4096,
	HANDLE_ORDINALS = 3 << 24,
	HANDLE_CHUNKS = HANDLE_ORDINALS / HANDLE_CHUNK,
	HANDLE_TAG_LOCAL = 0,
	HANDLE_TAG_GLOBAL = 2,
};

#define HANDLE_FIRST UINT32_C(0x40000000)
#define HANDLE_GAP   UINT32_C(0x40)
_Static_assert(HANDLE_FIRST % (HANDLE_GAP * HANDLE_CHUNK) == 0 &&
		       HANDLE_GAP % sizeof(struct handle_slot) == 0,
	       "where a slot is in its chunk stands in the handle's bits");

/*
 * Of the slots that were handed out, those that came back are counted by who brought them: the seat
 * for which the chunk was filled alone, and all others together.
 */
struct handle_chunk {
	_Atomic uint32_t freed_here;
	_Atomic uint32_t freed_elsewhere;
	uint32_t seat;             /* 0: none; changes only while nobody lives in it */
	uint32_t handed;           /* guarded by the table's lock, as what follows */
	uint32_t index;            /* in the directory */
	struct handle_chunk *next; /* in the ring of all */
	struct handle_slot slots[HANDLE_CHUNK];
};

/* The thread's that has the seat; of seat 0 under the table's lock. */
struct handle_seat {
	struct handle_slot *next; /* up to `end`: drawn, and not handed out */
	struct handle_slot *end;
	struct handle_chunk *chunk; /* where they are; guarded by the table's lock */
	uint32_t next_handle;
	/* Objects that were numbered here less those that went here: the sum over all counts. */
	_Atomic int32_t live;
	char apart[96];
};
_Static_assert(sizeof(struct handle_seat) == 128, "no line in common, wherever the table lies");

struct handle_table {
	uint32_t tag;

	/* Written under `lock`, read without. Chunks are recycled, and freed only with the table.
	 */
	struct handle_chunk *_Atomic *directory;
	struct lock lock;          /* LOCK_RANK_HANDLE_TABLE */
	_Atomic uint64_t drawn;    /* ordinals, ever; under `lock` */
	uint64_t first_ordinal;    /* those before it were another table's; set at its beginning */
	struct handle_chunk *ring; /* all chunks; where to look next for an empty one */
	struct quota_ledger
		*ledger; /* set at its beginning; whose handles they are; NULL: no quota */

	struct handle_seat seats[THREAD_SEATS + 1];
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
	table->first_ordinal = drawn;
	atomic_store_explicit(&table->drawn, drawn, memory_order_relaxed);
}

/* Before anything is numbered. The ledger outlives the table. */
static inline void handle_table_limit(struct handle_table *table, struct quota_ledger *ledger)
{
	table->ledger = ledger;
}

/* A look: how many objects have a number. */
uint32_t handle_table_live(const struct handle_table *table);

/* Waits for objects whose last reference is being given back right now. Accepts a zeroed struct. */
void handle_table_finish(struct handle_table *table);

/*
 * Recounts: who lives, what was handed out and came back, who answers to which number. NULL, or what
 * does not add up; *published_out is how many can be found. Nothing is numbered or ended meanwhile.
 */
const char *handle_table_validate(struct handle_table *table, uint32_t *published_out);

/* Who has no seat shares the first. */
SPECIALIZED void handle_count(struct handle_table *table, uint32_t own_seat, int32_t change)
{
	_Atomic int32_t *live = &table->seats[own_seat].live;

	if (LIKELY(own_seat != 0))
		atomic_store_explicit(live,
				      atomic_load_explicit(live, memory_order_relaxed) + change,
				      memory_order_release);
	else
		atomic_fetch_add_explicit(live, change, memory_order_release);
}

/* The next slot of the seat, which is ready. */
SPECIALIZED void handle_settle(struct handle_table *table, uint32_t own_seat, struct object *object,
			       const struct object_class *class)
{
	struct handle_seat *seat = &table->seats[own_seat];
	struct handle_slot *slot = seat->next++;

	/* Nobody else looks at a slot that has no handle. */
	atomic_store_explicit(&slot->state, 1, memory_order_relaxed);
	atomic_store_explicit(&slot->object, object, memory_order_relaxed);
	object->class = class;
	object->table = table;
	object->slot = slot;
	object->handle = seat->next_handle;
	seat->next_handle += HANDLE_GAP;
	handle_count(table, own_seat, 1);
}

static inline bool handle_slot_is_ready(const struct handle_slot *slot)
{
	return atomic_load_explicit(&slot->state, memory_order_relaxed) == SLOT_READY;
}

/* Behind object_init(): draws a chunk where that is needed. */
MUST_CHECK NTSTATUS object_init_slowly(struct object *object, const struct object_class *class,
				       struct handle_table *table);

/* Numbers the object, with one reference, not yet findable. For who knows its seat. */
MUST_CHECK SPECIALIZED NTSTATUS object_init_from(struct object *object,
						 const struct object_class *class,
						 struct handle_table *table, uint32_t own_seat)
{
	const struct handle_seat *seat = &table->seats[own_seat];

	if (UNLIKELY(own_seat == 0 || seat->next == seat->end ||
		     !handle_slot_is_ready(seat->next) || table->ledger))
		return object_init_slowly(object, class, table);
	handle_settle(table, own_seat, object, class);
	return STATUS_SUCCESS;
}

MUST_CHECK SPECIALIZED NTSTATUS object_init(struct object *object, const struct object_class *class,
					    struct handle_table *table)
{
	return object_init_from(object, class, table, thread_own_seat);
}

/* The object is gone; its ordinal rests until the sequence comes round. */
SPECIALIZED void handle_slot_free(struct handle_table *table, uint32_t handle,
				  struct handle_slot *slot, uint32_t own_seat, bool is_counted)
{
	uint32_t index = ((handle - HANDLE_FIRST) / HANDLE_GAP) / HANDLE_CHUNK;
	struct handle_chunk *chunk =
		atomic_load_explicit(&table->directory[index], memory_order_acquire);

	atomic_store_explicit(&slot->object, NULL, memory_order_relaxed);
	atomic_store_explicit(&slot->state, 0, memory_order_release);
	if (LIKELY(own_seat != 0 && own_seat == chunk->seat))
		atomic_store_explicit(
			&chunk->freed_here,
			atomic_load_explicit(&chunk->freed_here, memory_order_relaxed) + 1,
			memory_order_release);
	else
		atomic_fetch_add_explicit(&chunk->freed_elsewhere, 1, memory_order_release);
	if (is_counted)
		quota_give(table->ledger, QUOTA_HANDLES, 1);
	handle_count(table, own_seat, -1);
}

/* object_abandon(), for who knows its seat. */
SPECIALIZED void object_abandon_from(struct object *object, uint32_t own_seat)
{
	assert(atomic_load(&object->slot->state) == 1);
	handle_slot_free(object->table, object->handle, object->slot, own_seat, true);
}

enum handle_verdict { HANDLE_FOUND, HANDLE_UNKNOWN, HANDLE_OTHER_KIND };

/* Why a number finds nothing, for the refusal. In doubt it is stale. */
enum handle_past {
	HANDLE_NEVER,
	HANDLE_STALE,
	HANDLE_OF_OTHER_PROCESS,
	HANDLE_OF_OTHER_SPACE, /* a global one where a process's own is due, or the other way */
};
enum handle_past handle_past(const struct handle_table *table, uint32_t handle);
const char *handle_past_words(enum handle_past past);

/* Where the handle would be; NULL when nothing is there. */
static inline struct handle_slot *handle_slot_of(const struct handle_table *table, uint32_t handle)
{
	uint32_t ordinal = (handle - HANDLE_FIRST) / HANDLE_GAP;

	if (UNLIKELY(handle < HANDLE_FIRST))
		return NULL;
	struct handle_chunk *chunk = atomic_load_explicit(&table->directory[ordinal / HANDLE_CHUNK],
							  memory_order_acquire);
	/* Of slots[ordinal % HANDLE_CHUNK], as the handle's own bits have it. */
	uint32_t offset = handle / (HANDLE_GAP / sizeof(struct handle_slot)) &
			  (HANDLE_CHUNK - 1) * sizeof(struct handle_slot);
	return LIKELY(chunk) ? (struct handle_slot *)((char *)chunk->slots + offset) : NULL;
}

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
	struct handle_slot *slot = handle_slot_of(table, handle);

	if (UNLIKELY(!slot))
		return HANDLE_UNKNOWN;
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
	do {
		/* The whole of it, the tag too. */
		if (UNLIKELY(SLOT_HANDLE(state) != handle))
			return HANDLE_UNKNOWN;
	} while (UNLIKELY(!atomic_compare_exchange_weak_explicit(
		&slot->state, &state, state + 1, memory_order_acquire, memory_order_relaxed)));

	struct object *object = atomic_load_explicit(&slot->object, memory_order_relaxed);
	if (UNLIKELY(class && object->class != class)) {
		*found_out = object->class;
		object_put(object);
		return HANDLE_OTHER_KIND;
	}
	*object_out = object;
	return HANDLE_FOUND;
}

#endif
