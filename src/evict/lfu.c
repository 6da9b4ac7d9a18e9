/* SPDX-License-Identifier: MIT */
/*
 * lfu.c - least frequently used: every use counts for ever, also of what is in no segment; among
 * equals the one not used for longest goes. Nobody who does not know the rates does better on
 * independent draws; everywhere else old merits keep what nobody wants.
 */
#include "evict/ranked.h"

struct lfu_state {
	struct rb_tree tree;
};

struct lfu_memory {
	struct evict_ranked ranked; /* first; its rank stays when it leaves */
};

static double *uses_of(struct evict_entry *entry)
{
	return &((struct lfu_memory *)entry->memory)->ranked.rank;
}

static void lfu_init(void *state)
{
	struct lfu_state *lfu = state;

	lfu->tree.root = NULL;
}

static void lfu_insert(void *state, struct evict_entry *entry)
{
	struct lfu_state *lfu = state;

	ranked_insert(&lfu->tree, entry, *uses_of(entry));
}

static void lfu_remove(void *state, struct evict_entry *entry)
{
	struct lfu_state *lfu = state;

	ranked_remove(&lfu->tree, entry);
}

static void lfu_use(void *state, struct evict_entry *entry, uint64_t now)
{
	(void)now;
	if (entry->is_ordered)
		lfu_remove(state, entry);
	*uses_of(entry) += 1;
	if (entry->is_ordered)
		lfu_insert(state, entry);
}

static void lfu_walk_begin(void *state, struct evict_walk *walk)
{
	struct lfu_state *lfu = state;

	ranked_walk_begin(&lfu->tree, walk);
}

static struct evict_entry *lfu_walk_next(void *state, struct evict_walk *walk)
{
	(void)state;
	return ranked_walk_next(walk);
}

static const char *lfu_validate(const void *state, struct evict_count *found)
{
	const struct lfu_state *lfu = state;

	return ranked_validate(&lfu->tree, found);
}

const struct evict_policy evict_lfu = {
	.name = "lfu",
	.state_bytes = sizeof(struct lfu_state),
	.init = lfu_init,
	.use = lfu_use,
	.insert = lfu_insert,
	.remove = lfu_remove,
	.walk_begin = lfu_walk_begin,
	.walk_next = lfu_walk_next,
	.validate = lfu_validate,
};
