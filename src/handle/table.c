/* SPDX-License-Identifier: MIT */
/*
 * table.c - see table.h.
 *
 * When a chunk is drawn its free slots are ready, and count as handed out. When all of them have
 * come back nobody lives in it and its thread has left it: it is recycled for ordinals further on.
 * When the sequence comes round to a chunk in which somebody still lives, the free slots become
 * ready again and the others are stepped over.
 *
 * A lookup may hold a pointer to a chunk that is recycled meanwhile. That is harmless: chunks are
 * never freed before the table, and a slot only matches the exact handle it publishes.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "handle/table.h"

/* How soon the end of the last object is noticed. */
#define LIVE_POLL_NS (100 * NS_PER_US)

/* Chunks looked at before another one is made: with one in four empty, none is made for long. */
enum { CHUNKS_TRIED = 4 };

NTSTATUS handle_table_init(struct handle_table *table, uint32_t tag)
{
	*table = (struct handle_table){ .tag = tag };
	table->directory = mem_zalloc_array(HANDLE_CHUNKS, sizeof(*table->directory));
	if (!table->directory)
		return STATUS_NO_MEMORY;
	lock_init(&table->lock, LOCK_RANK_HANDLE_TABLE, "handle table");
	return STATUS_SUCCESS;
}

uint32_t handle_table_live(const struct handle_table *table)
{
	int64_t live = 0;

	for (unsigned i = 0; i <= THREAD_SEATS; i++)
		live += atomic_load(&table->seats[i].live);
	return (uint32_t)live;
}

static void chunks_free(struct handle_chunk *ring)
{
	struct handle_chunk *chunk = ring;

	while (chunk) {
		struct handle_chunk *next = chunk->next == ring ? NULL : chunk->next;
#ifndef NDEBUG
		for (unsigned i = 0; i < HANDLE_CHUNK; i++)
			assert((atomic_load(&chunk->slots[i].state) & SLOT_REFS) == 0);
#endif
		mem_free(chunk);
		chunk = next;
	}
}

void handle_table_finish(struct handle_table *table)
{
	_Atomic uint32_t nothing = 0;

	/* Nobody tells us: the last thing they touch in here is the count. */
	/* Nothing is numbered any more: each part only falls, and a sum of 0 is true. */
	while (handle_table_live(table) != 0)
		thread_wait(&nothing, 0, clock_deadline(LIVE_POLL_NS));
	chunks_free(table->ring);
	mem_free(table->directory);
	*table = (struct handle_table){ 0 };
}

/* ---- drawing a chunk ---- */

static bool chunk_is_empty_locked(const struct handle_table *table,
				  const struct handle_chunk *chunk)
{
	lock_assert_held(&table->lock);
	return atomic_load(&chunk->freed_here) + atomic_load(&chunk->freed_elsewhere) ==
	       chunk->handed;
}

static struct handle_chunk *chunk_recycle_locked(struct handle_table *table)
{
	lock_assert_held(&table->lock);
	for (unsigned i = 0; table->ring && i < CHUNKS_TRIED; i++) {
		struct handle_chunk *chunk = table->ring;

		table->ring = chunk->next;
		if (chunk_is_empty_locked(table, chunk)) {
			atomic_store_explicit(&table->directory[chunk->index], NULL,
					      memory_order_release);
			return chunk;
		}
	}
	return NULL;
}

/* Into the ring behind the one that is looked at next, so that it is the last to be looked at. */
static struct handle_chunk *chunk_create_locked(struct handle_table *table)
{
	struct handle_chunk *chunk = mem_alloc(sizeof(*chunk));

	lock_assert_held(&table->lock);
	if (!chunk)
		return NULL;
	for (unsigned i = 0; i < HANDLE_CHUNK; i++)
		atomic_init(&chunk->slots[i].object, NULL);
	if (table->ring) {
		chunk->next = table->ring->next;
		table->ring->next = chunk;
		table->ring = chunk->next;
	} else {
		chunk->next = chunk;
		table->ring = chunk;
	}
	return chunk;
}

/*
 * Nobody lives in it and nobody finds it, so that nothing has to be done in one step. It names no
 * object, new or used.
 */
static void chunk_fill_locked(const struct handle_table *table, struct handle_chunk *chunk,
			      uint32_t index, uint32_t seat)
{
	lock_assert_held(&table->lock);
	for (unsigned i = 0; i < HANDLE_CHUNK; i++) {
		assert(!atomic_load_explicit(&chunk->slots[i].object, memory_order_relaxed));
		atomic_store_explicit(&chunk->slots[i].state, SLOT_READY, memory_order_relaxed);
	}
	atomic_store_explicit(&chunk->freed_here, 0, memory_order_relaxed);
	atomic_store_explicit(&chunk->freed_elsewhere, 0, memory_order_relaxed);
	chunk->handed = HANDLE_CHUNK;
	chunk->index = index;
	chunk->seat = seat;
}

/* Somebody lives in it since the last time round. */
static void chunk_refill_locked(const struct handle_table *table, struct handle_chunk *chunk)
{
	lock_assert_held(&table->lock);
	for (unsigned i = 0; i < HANDLE_CHUNK; i++) {
		uint64_t empty = 0;
		if (atomic_compare_exchange_strong(&chunk->slots[i].state, &empty, SLOT_READY))
			chunk->handed++;
	}
}

/* The very first ordinal is left out: clients have seen no handle 0x40000000 at the start. */
static void leave_out_first(struct handle_chunk *chunk)
{
	atomic_store_explicit(&chunk->slots[0].state, 0, memory_order_relaxed);
	chunk->handed--;
}

/* Another thread still hands it out; that it began to is fifty million ordinals ago. */
static bool is_in_hand_locked(const struct handle_table *table, const struct handle_chunk *chunk)
{
	lock_assert_held(&table->lock);
	for (unsigned i = 0; i <= THREAD_SEATS; i++) {
		if (table->seats[i].chunk == chunk)
			return true;
	}
	return false;
}

/* The chunk of these ordinals, which may be there, its free slots ready; NULL: no memory. */
static struct handle_chunk *chunk_open_locked(struct handle_table *table, uint32_t index,
					      struct handle_chunk *chunk, uint32_t seat)
{
	lock_assert_held(&table->lock);
	if (chunk) {
		chunk_refill_locked(table, chunk);
		return chunk;
	}
	chunk = chunk_recycle_locked(table);
	if (!chunk)
		chunk = chunk_create_locked(table);
	if (!chunk)
		return NULL;
	chunk_fill_locked(table, chunk, index, seat);
	if (atomic_load_explicit(&table->drawn, memory_order_relaxed) == 0)
		leave_out_first(chunk);
	atomic_store_explicit(&table->directory[index], chunk, memory_order_release);
	return chunk;
}

static bool draw_locked(struct handle_table *table, struct handle_seat *seat)
{
	uint64_t drawn = atomic_load_explicit(&table->drawn, memory_order_relaxed);
	uint32_t index = (uint32_t)(drawn / HANDLE_CHUNK % HANDLE_CHUNKS);
	struct handle_chunk *chunk =
		atomic_load_explicit(&table->directory[index], memory_order_relaxed);

	lock_assert_held(&table->lock);
	seat->chunk = NULL;
	if (!chunk || !is_in_hand_locked(table, chunk)) {
		chunk = chunk_open_locked(table, index, chunk, (uint32_t)(seat - table->seats));
		if (!chunk)
			return false;
		seat->chunk = chunk;
		seat->next = chunk->slots;
		seat->end = chunk->slots + HANDLE_CHUNK;
		seat->next_handle = HANDLE_FIRST + index * HANDLE_CHUNK * HANDLE_GAP + table->tag;
	}
	atomic_store_explicit(&table->drawn, drawn + HANDLE_CHUNK, memory_order_relaxed);
	return true;
}

static void step_over(struct handle_seat *seat)
{
	while (seat->next != seat->end && !handle_slot_is_ready(seat->next)) {
		seat->next++;
		seat->next_handle += HANDLE_GAP;
	}
}

/* One slot that is ready is next; false when there is no memory, or everybody still lives. */
static bool seat_prepare_locked(struct handle_table *table, struct handle_seat *seat)
{
	lock_assert_held(&table->lock);
	step_over(seat);
	for (uint32_t tries = 0; seat->next == seat->end; tries++) {
		if (tries == HANDLE_CHUNKS || !draw_locked(table, seat))
			return false;
		step_over(seat);
	}
	return true;
}

NTSTATUS object_init_slowly(struct object *object, const struct object_class *class,
			    struct handle_table *table)
{
	uint32_t own_seat = thread_seat();
	struct handle_seat *seat = &table->seats[own_seat];
	NTSTATUS status = quota_take(table->ledger, QUOTA_HANDLES, 1);

	if (!NT_SUCCESS(status))
		return status;
	/* It came here for its quota alone. */
	if (LIKELY(seat != table->seats && seat->next != seat->end &&
		   handle_slot_is_ready(seat->next))) {
		handle_settle(table, own_seat, object, class);
		return STATUS_SUCCESS;
	}
	lock_acquire(&table->lock);
	bool is_ready = seat_prepare_locked(table, seat);
	if (is_ready)
		handle_settle(table, own_seat, object, class);
	lock_release(&table->lock);
	if (is_ready)
		return STATUS_SUCCESS;
	quota_give(table->ledger, QUOTA_HANDLES, 1);
	return STATUS_NO_MEMORY;
}

/* ---- giving back ---- */

void object_abandon(struct object *object)
{
	assert(atomic_load(&object->slot->state) == 1);
	handle_slot_free(object->table, object->handle, object->slot, thread_own_seat, true);
}

void object_uncount(struct object *object)
{
	quota_give(object->table->ledger, QUOTA_HANDLES, 1);
}

void object_abandon_uncounted(struct object *object)
{
	assert(atomic_load(&object->slot->state) == 1);
	handle_slot_free(object->table, object->handle, object->slot, thread_own_seat, false);
}

void object_end(struct object *object)
{
	struct handle_slot *slot = object->slot;
	struct handle_table *table = object->table;
	uint32_t handle = object->handle;

	/* Retired before the last reference went. */
	assert(SLOT_HANDLE(atomic_load(&slot->state)) == 0);
	object->class->destroy(object);
	handle_slot_free(table, handle, slot, thread_own_seat, true);
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
}

/* ---- what became of a number ---- */

enum handle_past handle_past(const struct handle_table *table, uint32_t handle)
{
	uint64_t drawn = handle_table_drawn(table);
	uint64_t ordinal = (handle - HANDLE_FIRST) / HANDLE_GAP;
	bool has_come_round = drawn > HANDLE_ORDINALS;

	if (handle < HANDLE_FIRST || ordinal == 0 ||
	    (handle % HANDLE_GAP != HANDLE_TAG_LOCAL && handle % HANDLE_GAP != HANDLE_TAG_GLOBAL))
		return HANDLE_NEVER;
	if (handle % HANDLE_GAP != table->tag)
		return HANDLE_OF_OTHER_SPACE;
	if (has_come_round)
		return HANDLE_STALE;
	if (ordinal < table->first_ordinal)
		return HANDLE_OF_OTHER_PROCESS;
	if (ordinal >= drawn)
		return HANDLE_NEVER;
	const struct handle_slot *slot = handle_slot_of(table, handle);
	return slot && handle_slot_is_ready(slot) ? HANDLE_NEVER : HANDLE_STALE;
}

const char *handle_past_words(enum handle_past past)
{
	static const char *const words[] = {
		[HANDLE_NEVER] = "such a handle was never given out",
		[HANDLE_STALE] = "it is stale, what it named was destroyed",
		[HANDLE_OF_OTHER_PROCESS] = "it is foreign, of a process that has ended",
		[HANDLE_OF_OTHER_SPACE] =
			"it is foreign, of the other kind of handles (global or of a process)",
	};

	return words[past];
}

/* ---- recounting ---- */

struct slot_count {
	uint32_t outside; /* ready, or somebody's */
	int64_t live;
	uint32_t published;
};

static const char *slots_count(const struct handle_table *table, const struct handle_chunk *chunk,
			       struct slot_count *count)
{
	uint32_t handle = HANDLE_FIRST + chunk->index * HANDLE_CHUNK * HANDLE_GAP + table->tag;

	for (unsigned i = 0; i < HANDLE_CHUNK; i++, handle += HANDLE_GAP) {
		uint64_t state = atomic_load(&chunk->slots[i].state);

		count->outside += state != 0;
		count->live += (state & SLOT_REFS) != 0;
		count->published += SLOT_HANDLE(state) != 0;
		if (SLOT_HANDLE(state) != 0 && SLOT_HANDLE(state) != handle)
			return "an object answers to the handle of another place";
		if (SLOT_HANDLE(state) != 0 && (state & SLOT_REFS) == 0)
			return "a handle finds what nobody has a reference on";
		if ((state & SLOT_REFS) != 0 && !atomic_load(&chunk->slots[i].object))
			return "a handle was handed out and names nothing";
	}
	return NULL;
}

static const char *chunk_validate_locked(const struct handle_table *table,
					 const struct handle_chunk *chunk, struct slot_count *count)
{
	uint32_t before = count->outside;
	const char *wrong = slots_count(table, chunk, count);
	uint32_t freed = atomic_load(&chunk->freed_here) + atomic_load(&chunk->freed_elsewhere);

	lock_assert_held(&table->lock);
	if (!wrong && atomic_load(&table->directory[chunk->index]) != chunk)
		return "a chunk of handles is not where its numbers lead";
	if (!wrong && chunk->handed - freed != count->outside - before)
		return "handles that were handed out or came back are miscounted";
	return wrong;
}

const char *handle_table_validate(struct handle_table *table, uint32_t *published_out)
{
	struct slot_count count = { 0 };
	const char *wrong = NULL;
	int64_t live = 0;

	lock_acquire(&table->lock);
	const struct handle_chunk *chunk = table->ring;
	for (bool is_over = !chunk; !is_over && !wrong; is_over = chunk == table->ring) {
		wrong = chunk_validate_locked(table, chunk, &count);
		chunk = chunk->next;
	}
	for (unsigned i = 0; i <= THREAD_SEATS; i++)
		live += atomic_load(&table->seats[i].live);
	if (!wrong && live != count.live)
		wrong = "objects that have a handle are miscounted";
	lock_release(&table->lock);
	*published_out = count.published;
	return wrong;
}
