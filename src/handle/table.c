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

/* Nobody lives in it and nobody finds it, so that nothing has to be done in one step. */
static void chunk_fill(struct handle_chunk *chunk)
{
	for (unsigned i = 0; i < HANDLE_CHUNK; i++) {
		atomic_store_explicit(&chunk->slots[i].state, SLOT_READY, memory_order_relaxed);
		chunk->slots[i].object = NULL;
	}
	atomic_store_explicit(&chunk->tickets, HANDLE_CHUNK, memory_order_relaxed);
}

static struct handle_chunk *chunk_create_locked(struct handle_table *table)
{
	struct handle_chunk *chunk = table->spare;

	lock_assert_held(&table->lock);
	if (chunk) {
		table->spare = chunk->next_spare;
		return chunk;
	}
	chunk = mem_alloc(sizeof(*chunk));
	if (chunk) {
		chunk->next_all = table->all;
		table->all = chunk;
	}
	return chunk;
}

/* Somebody lives in it since the last time round: the free slots get tickets again. */
static void chunk_refill(struct handle_chunk *chunk)
{
	for (unsigned i = 0; i < HANDLE_CHUNK; i++) {
		uint64_t empty = 0;
		if (atomic_compare_exchange_strong(&chunk->slots[i].state, &empty, SLOT_READY))
			atomic_fetch_add(&chunk->tickets, 1);
	}
}

/* The sequence has reached this chunk for the `lap`-th time: give its free slots tickets. */
static struct handle_chunk *chunk_open(struct handle_table *table, uint32_t index, uint64_t lap)
{
	lock_acquire(&table->lock);
	struct handle_chunk *chunk =
		atomic_load_explicit(&table->directory[index], memory_order_relaxed);
	if (!chunk) {
		chunk = chunk_create_locked(table);
		if (chunk)
			chunk_fill(chunk);
	} else if (atomic_load_explicit(&chunk->lap, memory_order_relaxed) != lap) {
		chunk_refill(chunk);
	}
	if (chunk) {
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

NTSTATUS object_init_slowly(struct object *object, const struct object_class *class,
			    struct handle_table *table, struct handle_draw draw)
{
	for (uint32_t tries = 0; tries < HANDLE_ORDINALS; tries++) {
		uint32_t index = draw.ordinal / HANDLE_CHUNK;

		struct handle_chunk *chunk =
			atomic_load_explicit(&table->directory[index], memory_order_acquire);
		if (!chunk || atomic_load_explicit(&chunk->lap, memory_order_acquire) != draw.lap)
			chunk = chunk_open(table, index, draw.lap);
		if (!chunk)
			return STATUS_NO_MEMORY;
		/* If not, somebody lives here since the last time round. */
		if (handle_settle(table, chunk, draw.ordinal, object, class))
			return STATUS_SUCCESS;
		draw = handle_draw(table);
	}
	return STATUS_NO_MEMORY;
}

/* The object is gone; its ordinal rests until the sequence comes round. */
SPECIALIZED void slot_free(struct handle_table *table, uint32_t handle, struct handle_slot *slot)
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

void object_end(struct object *object)
{
	struct handle_slot *slot = object->slot;
	struct handle_table *table = object->table;
	uint32_t handle = object->handle;

	/* Retired before the last reference went. */
	assert(SLOT_HANDLE(atomic_load(&slot->state)) == 0);
	object->class->destroy(object);
	slot_free(table, handle, slot);
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
