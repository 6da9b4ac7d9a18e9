/* SPDX-License-Identifier: MIT */
/*
 * lhd.c - LHD (Beckmann, Chen and Cidon, NSDI 2018): first goes what has the least density of hits.
 *
 *	density = hits that are expected of it / time it will still be there
 *
 * for its class and age, learned from what happened to others: at which ages they were used again,
 * at which they left. Classes are by the age at the last use that found it there. As bytes count
 * here, and not misses, size plays no part. A victim is the least dense of 64: the entries hang in
 * as many rings, and each walk begins one further in each.
 */
#include "base/random.h"
#include "evict/queues.h"

enum {
	RINGS = 64,
	CLASSES = 18,   /* never used again; then by powers of two */
	BINS = 96,      /* of ages: quarters of a power of two     */
	CLASS_LOG2 = 4, /* of the ages of the first class          */
	USES_TO_LEARN = 2048,
};

static const float fading = 0.9F;

struct lhd_state {
	struct evict_queue rings[RINGS];
	float hits[CLASSES][BINS];
	float ends[CLASSES][BINS]; /* hits, and those that left */
	float density[CLASSES][BINS];
	uint64_t now;
	uint32_t uses;
	uint8_t ring; /* for the next that comes */
	struct random random;
};

struct lhd_memory {
	uint64_t last_use;
	uint8_t class;
};

static struct lhd_memory *memory_of(const struct evict_entry *entry)
{
	return (struct lhd_memory *)entry->memory;
}

/* Ages. */

static unsigned log2_of(uint64_t number)
{
	return 63 - (unsigned)__builtin_clzll(number);
}

/* Ages below 4 are bins of their own; then four for each power of two. */
static unsigned bin_of(uint64_t age)
{
	if (age < 4)
		return (unsigned)age;

	unsigned log2 = log2_of(age);
	unsigned bin = 4 * (log2 - 1) + (unsigned)(age >> (log2 - 2) & 3);

	return bin < BINS ? bin : BINS - 1;
}

static float width_of(unsigned bin)
{
	return bin < 8 ? 1 : (float)(UINT64_C(1) << (bin / 4 - 1));
}

static uint8_t class_of(uint64_t age)
{
	unsigned log2 = log2_of(age | 1);
	unsigned class = 1 + (log2 > CLASS_LOG2 ? log2 - CLASS_LOG2 : 0);

	return (uint8_t)(class < CLASSES ? class : CLASSES - 1);
}

static uint64_t age_of(const struct lhd_state *lhd, const struct evict_entry *entry)
{
	return lhd->now - memory_of(entry)->last_use;
}

/* Learning. */

/* Until something is known the older goes first. */
static void lhd_init(void *state)
{
	struct lhd_state *lhd = state;

	queues_init(lhd->rings, RINGS);
	random_init(&lhd->random, 1);
	for (unsigned class = 0; class < CLASSES; class ++) {
		for (unsigned bin = 0; bin < BINS; bin++)
			lhd->density[class][bin] = 1 / (float)(bin + 1);
	}
}

/* Of those that reach an age: how many are used again, and how long are they there until then? */
static void learn_class(struct lhd_state *lhd, unsigned class)
{
	float hits = 0;
	float ends = 0;
	float time = 0;

	for (unsigned bin = BINS; bin-- > 0;) {
		hits += lhd->hits[class][bin];
		ends += lhd->ends[class][bin];
		time += ends * width_of(bin);
		if (ends > 0.5F)
			lhd->density[class][bin] = hits / time;
		else
			lhd->density[class][bin] = 0;
		lhd->hits[class][bin] *= fading;
		lhd->ends[class][bin] *= fading;
	}
}

static void count_end(struct lhd_state *lhd, const struct evict_entry *entry, float hit)
{
	unsigned bin = bin_of(age_of(lhd, entry));
	unsigned class = memory_of(entry)->class;

	lhd->hits[class][bin] += hit;
	lhd->ends[class][bin] += 1;
}

static void lhd_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct lhd_state *lhd = state;
	struct lhd_memory *memory = memory_of(entry);

	lhd->now = now;
	if (entry->is_ordered && !entry->is_fresh) {
		count_end(lhd, entry, 1);
		memory->class = class_of(age_of(lhd, entry));
	}
	memory->last_use = now;
	if (++lhd->uses % USES_TO_LEARN == 0) {
		for (unsigned class = 0; class < CLASSES; class ++)
			learn_class(lhd, class);
	}
}

/* The rings. */

/* So it is the first of its ring when the next walk begins: most that are new should go at once. */
static void put_second(struct list *ring, struct list *link)
{
	list_unlink(link);
	list_insert_between(link, ring->next, ring->next->next);
}

static void lhd_insert(void *state, struct evict_entry *entry)
{
	struct lhd_state *lhd = state;

	memory_of(entry)->class = 0;
	memory_of(entry)->last_use = lhd->now;
	queues_push(lhd->rings, lhd->ring % RINGS, entry);
	put_second(&lhd->rings[lhd->ring++ % RINGS].list, &entry->link);
}

static void lhd_remove(void *state, struct evict_entry *entry)
{
	struct lhd_state *lhd = state;

	queues_take(lhd->rings, entry);
	count_end(lhd, entry, 0);
}

static void lhd_walk_begin(void *state, struct evict_walk *walk)
{
	struct lhd_state *lhd = state;

	lhd->now = walk->now;
	for (unsigned i = 0; i < RINGS; i++) {
		struct list *ring = &lhd->rings[i].list;
		struct list *first = ring->next;

		list_unlink(first);
		list_push_back(ring, first);
	}
	queues_walk_begin(lhd->rings, RINGS, walk);
}

static float density_of(const struct lhd_state *lhd, const struct evict_entry *entry)
{
	return lhd->density[memory_of(entry)->class][bin_of(age_of(lhd, entry))];
}

static struct evict_entry *lhd_walk_next(void *state, struct evict_walk *walk)
{
	struct lhd_state *lhd = state;
	struct evict_entry *best = NULL;
	/* Among equals chance decides: any order of their own would be that of some loop. */
	unsigned first = (unsigned)random_below(&lhd->random, RINGS);

	for (unsigned i = 0; i < RINGS; i++) {
		struct evict_entry *entry = queues_peek(lhd->rings, walk, (first + i) % RINGS);

		if (entry && (!best || density_of(lhd, entry) < density_of(lhd, best)))
			best = entry;
	}
	return best ? queues_next(lhd->rings, walk, best->list) : NULL;
}

static const char *lhd_validate(const void *state, struct evict_count *found)
{
	const struct lhd_state *lhd = state;

	return queues_validate(lhd->rings, RINGS, found);
}

const struct evict_policy evict_lhd = {
	.name = "lhd",
	.state_bytes = sizeof(struct lhd_state),
	.init = lhd_init,
	.use = lhd_use,
	.insert = lhd_insert,
	.remove = lhd_remove,
	.walk_begin = lhd_walk_begin,
	.walk_next = lhd_walk_next,
	.validate = lhd_validate,
};
