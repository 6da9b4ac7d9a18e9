/* SPDX-License-Identifier: MIT */
/*
 * s3_fifo.c - S3-FIFO (Yang and others, SOSP 2023): two queues in order of arrival, and ghosts.
 *
 *   small   a tenth of the segment; what is new. Used twice there, it goes on to `main', else it
 *           leaves and is a ghost.
 *   main    the rest; what is used goes round again, once for each of its last three uses.
 *
 * A ghost that comes back goes to `main' at once. There are as many bytes of ghosts as of `main'.
 */
#include "evict/capacity.h"
#include "evict/queues.h"

enum { SMALL, MAIN, QUEUE_COUNT };
enum { SMALL_PERCENT = 10, GHOST_PERCENT = 90, USES_MAX = 3, USES_TO_STAY = 2 };

struct s3_state {
	struct evict_queue queues[QUEUE_COUNT];
	struct evict_ghosts ghosts;
	struct evict_capacity capacity;
};

struct s3_memory {
	struct evict_ghost ghost; /* first */
	uint8_t uses;             /* since it came, or went on */
};

static struct s3_memory *memory_of(struct evict_entry *entry)
{
	return (struct s3_memory *)entry->memory;
}

static void s3_init(void *state)
{
	struct s3_state *s3 = state;

	queues_init(s3->queues, QUEUE_COUNT);
	ghosts_init(&s3->ghosts);
	capacity_init(&s3->capacity);
}

static void s3_insert(void *state, struct evict_entry *entry)
{
	struct s3_state *s3 = state;

	memory_of(entry)->uses = 0;
	queues_push(s3->queues, ghosts_take(entry) ? MAIN : SMALL, entry);
	capacity_insert(&s3->capacity, entry->size_bytes);
}

static void s3_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct s3_memory *memory = memory_of(entry);

	(void)state;
	(void)now;
	if (entry->is_ordered && !entry->is_fresh && memory->uses < USES_MAX)
		memory->uses++;
}

static void s3_remove(void *state, struct evict_entry *entry)
{
	struct s3_state *s3 = state;

	queues_take(s3->queues, entry);
	capacity_remove(&s3->capacity, entry->size_bytes);
	if (entry->list == SMALL) {
		ghosts_push(&s3->ghosts, entry);
		ghosts_trim(&s3->ghosts, capacity_percent(&s3->capacity, GHOST_PERCENT));
	}
}

static void s3_walk_begin(void *state, struct evict_walk *walk)
{
	struct s3_state *s3 = state;

	capacity_is_reached(&s3->capacity);
	queues_walk_begin(s3->queues, QUEUE_COUNT, walk);
}

/* NULL: all that were there were used enough to stay. */
static struct evict_entry *next_of_small(struct s3_state *s3, struct evict_walk *walk)
{
	struct evict_entry *entry;

	while ((entry = queues_peek(s3->queues, walk, SMALL))) {
		if (memory_of(entry)->uses < USES_TO_STAY)
			return queues_next(s3->queues, walk, SMALL);
		memory_of(entry)->uses = 0;
		queues_move_next(s3->queues, walk, SMALL, MAIN);
	}
	return NULL;
}

static struct evict_entry *next_of_main(struct s3_state *s3, struct evict_walk *walk)
{
	struct evict_entry *entry;

	while ((entry = queues_peek(s3->queues, walk, MAIN))) {
		if (memory_of(entry)->uses == 0)
			return queues_next(s3->queues, walk, MAIN);
		memory_of(entry)->uses--;
		queues_move_next(s3->queues, walk, MAIN, MAIN);
	}
	return NULL;
}

static struct evict_entry *s3_walk_next(void *state, struct evict_walk *walk)
{
	struct s3_state *s3 = state;
	bool is_small_full =
		s3->queues[SMALL].bytes > capacity_percent(&s3->capacity, SMALL_PERCENT);
	struct evict_entry *entry = is_small_full ? next_of_small(s3, walk) : NULL;

	if (!entry)
		entry = next_of_main(s3, walk);
	if (!entry)
		entry = next_of_small(s3, walk);
	/* Those that went on just now. */
	return entry ? entry : next_of_main(s3, walk);
}

static const char *s3_validate(const void *state, struct evict_count *found)
{
	const struct s3_state *s3 = state;

	return queues_validate(s3->queues, QUEUE_COUNT, found);
}

const struct evict_policy evict_s3_fifo = {
	.name = "s3-fifo",
	.state_bytes = sizeof(struct s3_state),
	.init = s3_init,
	.use = s3_use,
	.insert = s3_insert,
	.remove = s3_remove,
	.forget = ghosts_forget,
	.walk_begin = s3_walk_begin,
	.walk_next = s3_walk_next,
	.validate = s3_validate,
};
