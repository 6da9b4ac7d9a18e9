/* SPDX-License-Identifier: MIT */
/*
 * gdsf.c - GreedyDual-Size-Frequency (Cherkasova, 1998): the rank of an entry is
 *
 *	clock + uses / size
 *
 * where the clock is the rank of the last one that went: so what was used much once, and is not any
 * more, is overtaken. Every miss costs the same in it, whatever its size, as for a cache of web
 * pages; where bytes move, as here, it throws out large entries too early.
 */
#include "evict/ranked.h"

static const double page_bytes = 4096;

struct gdsf_state {
	struct rb_tree tree;
	double clock;
	const struct evict_entry *victim; /* returned last by a walk; only compared */
};

struct gdsf_memory {
	struct evict_ranked ranked; /* first */
	double uses;                /* since it came */
};

static struct gdsf_memory *memory_of(struct evict_entry *entry)
{
	return (struct gdsf_memory *)entry->memory;
}

static void gdsf_init(void *state)
{
	struct gdsf_state *gdsf = state;

	gdsf->tree.root = NULL;
}

static void rank(struct gdsf_state *gdsf, struct evict_entry *entry)
{
	double pages = (double)entry->size_bytes / page_bytes;

	ranked_insert(&gdsf->tree, entry, gdsf->clock + memory_of(entry)->uses / pages);
}

static void gdsf_insert(void *state, struct evict_entry *entry)
{
	memory_of(entry)->uses = 1;
	rank(state, entry);
}

static void gdsf_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct gdsf_state *gdsf = state;

	(void)now;
	if (!entry->is_ordered)
		return;
	ranked_remove(&gdsf->tree, entry);
	memory_of(entry)->uses += entry->is_fresh ? 0 : 1;
	rank(gdsf, entry);
}

static void gdsf_remove(void *state, struct evict_entry *entry)
{
	struct gdsf_state *gdsf = state;

	ranked_remove(&gdsf->tree, entry);
	if (entry == gdsf->victim)
		gdsf->clock = memory_of(entry)->ranked.rank;
}

static void gdsf_walk_begin(void *state, struct evict_walk *walk)
{
	struct gdsf_state *gdsf = state;

	ranked_walk_begin(&gdsf->tree, walk);
}

static struct evict_entry *gdsf_walk_next(void *state, struct evict_walk *walk)
{
	struct gdsf_state *gdsf = state;
	struct evict_entry *entry = ranked_walk_next(walk);

	gdsf->victim = entry;
	return entry;
}

static const char *gdsf_validate(const void *state, struct evict_count *found)
{
	const struct gdsf_state *gdsf = state;

	return ranked_validate(&gdsf->tree, found);
}

const struct evict_policy evict_gdsf = {
	.name = "gdsf",
	.state_bytes = sizeof(struct gdsf_state),
	.init = gdsf_init,
	.use = gdsf_use,
	.insert = gdsf_insert,
	.remove = gdsf_remove,
	.walk_begin = gdsf_walk_begin,
	.walk_next = gdsf_walk_next,
	.validate = gdsf_validate,
};
