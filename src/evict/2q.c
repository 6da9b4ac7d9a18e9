/* SPDX-License-Identifier: MIT */
/*
 * 2q.c - 2Q (Johnson and Shasha, VLDB 1994), with its three queues.
 *
 *   in      a quarter of the segment; what is new, in order of arrival. It leaves and is a ghost.
 *   main    what came back as a ghost, the oldest use first
 *   ghosts  of half a segment
 */
#include "evict/capacity.h"
#include "evict/queues.h"

enum { IN, MAIN, QUEUE_COUNT };
enum { IN_PERCENT = 25, GHOST_PERCENT = 50 };

struct two_state {
	struct evict_queue queues[QUEUE_COUNT];
	struct evict_ghosts ghosts;
	struct evict_capacity capacity;
};

static void two_init(void *state)
{
	struct two_state *two = state;

	queues_init(two->queues, QUEUE_COUNT);
	ghosts_init(&two->ghosts);
	capacity_init(&two->capacity);
}

static void two_insert(void *state, struct evict_entry *entry)
{
	struct two_state *two = state;

	queues_push(two->queues, ghosts_take(entry) ? MAIN : IN, entry);
	capacity_insert(&two->capacity, entry->size_bytes);
}

/* A second use soon after the first says nothing: `in' is not changed by uses. */
static void two_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct two_state *two = state;

	(void)now;
	if (!entry->is_ordered || entry->list != MAIN)
		return;
	queues_take(two->queues, entry);
	queues_push(two->queues, MAIN, entry);
}

static void two_remove(void *state, struct evict_entry *entry)
{
	struct two_state *two = state;

	queues_take(two->queues, entry);
	capacity_remove(&two->capacity, entry->size_bytes);
	if (entry->list == IN) {
		ghosts_push(&two->ghosts, entry);
		ghosts_trim(&two->ghosts, capacity_percent(&two->capacity, GHOST_PERCENT));
	}
}

static void two_walk_begin(void *state, struct evict_walk *walk)
{
	struct two_state *two = state;

	capacity_is_reached(&two->capacity);
	queues_walk_begin(two->queues, QUEUE_COUNT, walk);
}

static struct evict_entry *two_walk_next(void *state, struct evict_walk *walk)
{
	struct two_state *two = state;
	bool is_in_full = two->queues[IN].bytes > capacity_percent(&two->capacity, IN_PERCENT);
	struct evict_entry *entry = is_in_full ? queues_next(two->queues, walk, IN) : NULL;

	if (!entry)
		entry = queues_next(two->queues, walk, MAIN);
	return entry ? entry : queues_next(two->queues, walk, IN);
}

static const char *two_validate(const void *state, struct evict_count *found)
{
	const struct two_state *two = state;

	return queues_validate(two->queues, QUEUE_COUNT, found);
}

const struct evict_policy evict_2q = {
	.name = "2q",
	.state_bytes = sizeof(struct two_state),
	.init = two_init,
	.use = two_use,
	.insert = two_insert,
	.remove = two_remove,
	.forget = ghosts_forget,
	.walk_begin = two_walk_begin,
	.walk_next = two_walk_next,
	.validate = two_validate,
};
