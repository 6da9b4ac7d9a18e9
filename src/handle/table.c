/*
 * table.c - see table.h.
 *
 * Every ordinal of an open chunk is backed by a ticket, counted in the chunk: it is unclaimed (slot
 * ready) or belongs to a living object. When the last ticket comes back the chunk has left the
 * sequence and nobody lives in it: it is recycled for numbers further on. When the sequence comes
 * round to a chunk in which somebody still lives, the free slots get new tickets and the others are
 * skipped.
 *
 * A lookup may hold a pointer to a chunk that is recycled meanwhile. That is harmless: chunks are
 * never freed before the table, and a slot only matches the exact handle it publishes.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "handle/table.h"

/* How soon the end of the last object is noticed. */
#define LIVE_POLL_NS (100 * NS_PER_US)

#define HANDLE_FIRST       UINT32_C(0x40000000)
#define SLOT_READY         UINT64_C(0x80000000)
#define SLOT_REFS          UINT64_C(0x7fffffff)
#define SLOT_HANDLE(state) ((uint32_t)((state) >> 32))

struct handle_chunk {
	struct handle_chunk *next_spare;
	struct handle_chunk *next_all;
	_Atomic uint64_t lap; /* which time round the sequence it was opened for, from 1 */
	_Atomic uint32_t tickets;
	struct handle_slot slots[HANDLE_CHUNK];
};

NTSTATUS handle_table_init(struct handle_table *table, uint32_t tag)
{
	*table = (struct handle_table){ .tag = tag };
	table->directory = mem_zalloc_array(HANDLE_CHUNKS, sizeof(*table->directory));
	if (!table->directory)
		return STATUS_NO_MEMORY;
	lock_init(&table->lock, LOCK_RANK_HANDLE_TABLE, "handle table");
	return STATUS_SUCCESS;
}

void handle_table_finish(struct handle_table *table)
{
	struct handle_chunk *chunk = table->all;
	uint32_t live;

	/* Nobody tells us: the last thing they touch in here is the count. */
	while ((live = atomic_load(&table->live)) != 0)
		thread_wait(&table->live, live, clock_deadline(LIVE_POLL_NS));
	while (chunk) {
		struct handle_chunk *next = chunk->next_all;
#ifndef NDEBUG
		for (unsigned i = 0; i < HANDLE_CHUNK; i++)
			assert((atomic_load(&chunk->slots[i].state) & SLOT_REFS) == 0);
#endif
		mem_free(chunk);
		chunk = next;
	}
	mem_free(table->directory);
	*table = (struct handle_table){ 0 };
}

static struct handle_chunk *chunk_create_locked(struct handle_table *table)
{
	struct handle_chunk *chunk = table->spare;

	lock_assert_held(&table->lock);
	if (chunk) {
		table->spare = chunk->next_spare;
		return chunk;
	}
	chunk = mem_zalloc(sizeof(*chunk));
	if (chunk) {
		chunk->next_all = table->all;
		table->all = chunk;
	}
	return chunk;
}

/* The sequence has reached this chunk for the `lap`-th time: give its free slots tickets. */
static struct handle_chunk *chunk_open(struct handle_table *table, uint32_t index, uint64_t lap)
{
	lock_acquire(&table->lock);
	struct handle_chunk *chunk =
		atomic_load_explicit(&table->directory[index], memory_order_relaxed);
	if (!chunk)
		chunk = chunk_create_locked(table);
	if (chunk && atomic_load_explicit(&chunk->lap, memory_order_relaxed) != lap) {
		for (unsigned i = 0; i < HANDLE_CHUNK; i++) {
			uint64_t empty = 0;
			if (atomic_compare_exchange_strong(&chunk->slots[i].state, &empty,
							   SLOT_READY))
				atomic_fetch_add(&chunk->tickets, 1);
		}
		atomic_store_explicit(&chunk->lap, lap, memory_order_release);
		atomic_store_explicit(&table->directory[index], chunk, memory_order_release);
	}
	lock_release(&table->lock);
	return chunk;
}

static void chunk_close(struct handle_table *table, uint32_t index, struct handle_chunk *chunk)
{
	lock_acquire(&table->lock);
	if (atomic_load(&chunk->tickets) == 0 &&
	    atomic_load_explicit(&table->directory[index], memory_order_relaxed) == chunk) {
		atomic_store_explicit(&table->directory[index], NULL, memory_order_release);
		atomic_store_explicit(&chunk->lap, 0, memory_order_relaxed);
		chunk->next_spare = table->spare;
		table->spare = chunk;
	}
	lock_release(&table->lock);
}

NTSTATUS object_init(struct object *object, const struct object_class *class,
		     struct handle_table *table)
{
	for (uint32_t tries = 0; tries < HANDLE_ORDINALS; tries++) {
		uint64_t drawn =
			atomic_fetch_add_explicit(&table->drawn, 1, memory_order_relaxed) + 1;
		uint32_t ordinal = (uint32_t)(drawn % HANDLE_ORDINALS);
		uint64_t lap = drawn / HANDLE_ORDINALS + 1;
		uint32_t index = ordinal / HANDLE_CHUNK;

		struct handle_chunk *chunk =
			atomic_load_explicit(&table->directory[index], memory_order_acquire);
		if (!chunk || atomic_load_explicit(&chunk->lap, memory_order_acquire) != lap)
			chunk = chunk_open(table, index, lap);
		if (!chunk)
			return STATUS_NO_MEMORY;

		struct handle_slot *slot = &chunk->slots[ordinal % HANDLE_CHUNK];
		uint64_t ready = SLOT_READY;
		if (!atomic_compare_exchange_strong_explicit(
			    &slot->state, &ready, 1, memory_order_acquire, memory_order_relaxed))
			continue; /* somebody lives here since the last time round */

		atomic_fetch_add_explicit(&table->live, 1, memory_order_relaxed);
		slot->object = object;
		object->class = class;
		object->table = table;
		object->slot = slot;
		object->handle = HANDLE_FIRST + (ordinal << 6) + table->tag;
		return STATUS_SUCCESS;
	}
	return STATUS_NO_MEMORY;
}

/* The object is gone; its ordinal rests until the sequence comes round. */
static void slot_free(struct handle_table *table, uint32_t handle, struct handle_slot *slot)
{
	uint32_t index = ((handle - HANDLE_FIRST) >> 6) / HANDLE_CHUNK;
	struct handle_chunk *chunk =
		atomic_load_explicit(&table->directory[index], memory_order_acquire);

	slot->object = NULL;
	atomic_store_explicit(&slot->state, 0, memory_order_release);
	if (atomic_fetch_sub(&chunk->tickets, 1) == 1)
		chunk_close(table, index, chunk);
	atomic_fetch_sub_explicit(&table->live, 1, memory_order_release);
}

void object_abandon(struct object *object)
{
	assert(atomic_load(&object->slot->state) == 1);
	slot_free(object->table, object->handle, object->slot);
}

void object_get(struct object *object)
{
	uint64_t before = atomic_fetch_add_explicit(&object->slot->state, 1, memory_order_relaxed);

	assert((before & SLOT_REFS) != 0 && (before & SLOT_REFS) != SLOT_REFS);
	(void)before;
}

bool object_get_unless_gone(struct object *object)
{
	uint64_t state = atomic_load_explicit(&object->slot->state, memory_order_relaxed);

	while ((state & SLOT_REFS) != 0) {
		if (atomic_compare_exchange_weak_explicit(&object->slot->state, &state, state + 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

void object_put(struct object *object)
{
	if (!object)
		return;
	struct handle_slot *slot = object->slot;
	uint64_t before = atomic_fetch_sub_explicit(&slot->state, 1, memory_order_acq_rel);
	assert((before & SLOT_REFS) != 0);
	if ((before & SLOT_REFS) != 1)
		return;
	assert(SLOT_HANDLE(before) == 0); /* retired before the last reference went */

	struct handle_table *table = object->table;
	uint32_t handle = object->handle;
	object->class->destroy(object);
	slot_free(table, handle, slot);
}

static void publish(struct object *object, uint64_t references)
{
	uint64_t before = atomic_fetch_add_explicit(&object->slot->state,
						    ((uint64_t)object->handle << 32) + references,
						    memory_order_release);

	assert(SLOT_HANDLE(before) == 0);
	(void)before;
}

void object_publish(struct object *object)
{
	publish(object, 0);
}

void object_publish_and_get(struct object *object)
{
	publish(object, 1);
}

bool object_retire(struct object *object)
{
	uint64_t state = atomic_load_explicit(&object->slot->state, memory_order_relaxed);

	while (SLOT_HANDLE(state) != 0) {
		if (atomic_compare_exchange_weak_explicit(&object->slot->state, &state,
							  state & SLOT_REFS, memory_order_acq_rel,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

void object_assert_class(const struct object *object, const struct object_class *class)
{
	assert(object->class == class);
	(void)object;
	(void)class;
}

enum handle_verdict handle_find(struct handle_table *table, uint32_t handle,
				const struct object_class *class, struct object **object_out,
				const struct object_class **found_out)
{
	if (handle < HANDLE_FIRST || (handle & 0x3f) != table->tag)
		return HANDLE_UNKNOWN;
	uint32_t ordinal = (handle - HANDLE_FIRST) >> 6;
	struct handle_chunk *chunk = atomic_load_explicit(&table->directory[ordinal / HANDLE_CHUNK],
							  memory_order_acquire);
	if (!chunk)
		return HANDLE_UNKNOWN;

	struct handle_slot *slot = &chunk->slots[ordinal % HANDLE_CHUNK];
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
	do {
		if (SLOT_HANDLE(state) != handle)
			return HANDLE_UNKNOWN;
	} while (!atomic_compare_exchange_weak_explicit(
		&slot->state, &state, state + 1, memory_order_acquire, memory_order_relaxed));

	struct object *object = slot->object;
	if (class && object->class != class) {
		*found_out = object->class;
		object_put(object);
		return HANDLE_OTHER_KIND;
	}
	*object_out = object;
	return HANDLE_FOUND;
}
