/* SPDX-License-Identifier: MIT */
/*
 * arc.c - ARC (Megiddo and Modha, FAST 2003): one queue of what was used once, one of what was used
 * again, both the oldest use first, and ghosts of each. How much of the segment the first one may
 * have is learned: a ghost of it that comes back says more, one of the other says less.
 */
#include "evict/capacity.h"
#include "evict/queues.h"

enum { ONCE, AGAIN, QUEUE_COUNT };

struct arc_state {
	struct evict_queue queues[QUEUE_COUNT];
	struct evict_ghosts ghosts[QUEUE_COUNT];
	struct evict_capacity capacity;
	uint64_t once_bytes; /* that ONCE may have */
};

struct arc_memory {
	struct evict_ghost ghost; /* first */
	bool is_back;             /* it was a ghost when it was asked for */
};

static struct arc_memory *memory_of(struct evict_entry *entry)
{
	return (struct arc_memory *)entry->memory;
}

static void arc_init(void *state)
{
	struct arc_state *arc = state;

	queues_init(arc->queues, QUEUE_COUNT);
	for (unsigned i = 0; i < QUEUE_COUNT; i++)
		ghosts_init(&arc->ghosts[i]);
	capacity_init(&arc->capacity);
}

/* By its size, times how much shorter its queue of ghosts is than the other. */
static uint64_t lesson(const struct evict_ghosts *ghosts, const struct evict_ghosts *others,
		       uint64_t size_bytes)
{
	if (others->bytes <= ghosts->bytes)
		return size_bytes;
	return (uint64_t)((double)size_bytes * (double)others->bytes / (double)ghosts->bytes);
}

static void learn(struct arc_state *arc, struct evict_entry *entry)
{
	struct evict_ghosts *ghosts = memory_of(entry)->ghost.of;
	uint64_t capacity_bytes = arc->capacity.bytes;
	uint64_t size_bytes = entry->size_bytes;

	if (!ghosts)
		return;
	if (ghosts == &arc->ghosts[ONCE]) {
		uint64_t more = lesson(ghosts, &arc->ghosts[AGAIN], size_bytes);
		uint64_t left = capacity_bytes - arc->once_bytes;

		arc->once_bytes += more < left ? more : left;
	} else {
		uint64_t less = lesson(ghosts, &arc->ghosts[ONCE], size_bytes);

		arc->once_bytes -= less < arc->once_bytes ? less : arc->once_bytes;
	}
	ghosts_take(entry);
	memory_of(entry)->is_back = true;
}

static void arc_insert(void *state, struct evict_entry *entry)
{
	struct arc_state *arc = state;

	learn(arc, entry);
	queues_push(arc->queues, memory_of(entry)->is_back ? AGAIN : ONCE, entry);
	memory_of(entry)->is_back = false;
	capacity_insert(&arc->capacity, entry->size_bytes);
}

static void arc_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct arc_state *arc = state;

	(void)now;
	if (!entry->is_ordered) {
		learn(arc, entry);
	} else if (!entry->is_fresh) {
		queues_take(arc->queues, entry);
		queues_push(arc->queues, AGAIN, entry);
	}
}

/* A queue and its ghosts have a segment's bytes at most, all four those of two. */
static void trim(struct arc_state *arc)
{
	uint64_t capacity_bytes = arc->capacity.bytes;
	uint64_t once_bytes = arc->queues[ONCE].bytes;
	uint64_t used_bytes = once_bytes + arc->queues[AGAIN].bytes;

	if (capacity_bytes > UINT64_MAX / 2)
		return;
	ghosts_trim(&arc->ghosts[ONCE],
		    once_bytes < capacity_bytes ? capacity_bytes - once_bytes : 0);
	used_bytes += arc->ghosts[ONCE].bytes;
	ghosts_trim(&arc->ghosts[AGAIN],
		    used_bytes < 2 * capacity_bytes ? 2 * capacity_bytes - used_bytes : 0);
}

static void arc_remove(void *state, struct evict_entry *entry)
{
	struct arc_state *arc = state;

	queues_take(arc->queues, entry);
	capacity_remove(&arc->capacity, entry->size_bytes);
	ghosts_push(&arc->ghosts[entry->list], entry);
	trim(arc);
}

static void arc_walk_begin(void *state, struct evict_walk *walk)
{
	struct arc_state *arc = state;

	capacity_is_reached(&arc->capacity);
	if (arc->once_bytes > arc->capacity.bytes)
		arc->once_bytes = arc->capacity.bytes;
	queues_walk_begin(arc->queues, QUEUE_COUNT, walk);
}

static struct evict_entry *arc_walk_next(void *state, struct evict_walk *walk)
{
	struct arc_state *arc = state;
	unsigned queue = arc->queues[ONCE].bytes > arc->once_bytes ? ONCE : AGAIN;
	struct evict_entry *entry = queues_next(arc->queues, walk, queue);

	return entry ? entry : queues_next(arc->queues, walk, queue == ONCE ? AGAIN : ONCE);
}

static const char *arc_validate(const void *state, struct evict_count *found)
{
	const struct arc_state *arc = state;

	return queues_validate(arc->queues, QUEUE_COUNT, found);
}

const struct evict_policy evict_arc = {
	.name = "arc",
	.state_bytes = sizeof(struct arc_state),
	.init = arc_init,
	.use = arc_use,
	.insert = arc_insert,
	.remove = arc_remove,
	.forget = ghosts_forget,
	.walk_begin = arc_walk_begin,
	.walk_next = arc_walk_next,
	.validate = arc_validate,
};
