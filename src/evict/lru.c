/* SPDX-License-Identifier: MIT */
/*
 * lru.c - least recently used: one list, every use moves to its end.
 */
#include "evict/runs.h"

struct lru_state {
	struct list list; /* evict_entry.link, the oldest use first */
};

static void lru_init(void *state)
{
	struct lru_state *lru = state;

	list_init(&lru->list);
}

/* What was brought in and not used yet is as good as used at that moment: it goes to the end. */
static void lru_insert(void *state, struct evict_entry *entry)
{
	struct lru_state *lru = state;

	runs_push_back(&lru->list, entry);
}

static void lru_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct lru_state *lru = state;

	(void)now;
	if (!entry->is_ordered)
		return;
	runs_remove(&lru->list, entry);
	runs_push_back(&lru->list, entry);
}

static void lru_remove(void *state, struct evict_entry *entry)
{
	const struct lru_state *lru = state;

	runs_remove(&lru->list, entry);
}

static void lru_walk_begin(void *state, struct evict_walk *walk)
{
	struct lru_state *lru = state;

	walk->at = lru->list.next;
}

static struct evict_entry *lru_walk_next(void *state, struct evict_walk *walk)
{
	struct lru_state *lru = state;
	struct list *link = walk->at;

	if (link == &lru->list)
		return NULL;
	walk->at = link->next;
	return evict_entry_of(link);
}

static void lru_walk_skip(void *state, struct evict_walk *walk, struct evict_entry *entry)
{
	const struct lru_state *lru = state;
	struct list *last = runs_last(&lru->list, entry);

	if (last)
		walk->at = last->next;
}

static const char *lru_validate(const void *state, struct evict_count *found)
{
	const struct lru_state *lru = state;
	struct list *link;

	list_for_each (link, &lru->list) {
		found->bytes += evict_entry_of(link)->size_bytes;
		found->entries++;
	}
	return runs_validate(&lru->list);
}

const struct evict_policy evict_lru = {
	.name = "lru",
	.state_bytes = sizeof(struct lru_state),
	.init = lru_init,
	.use = lru_use,
	.insert = lru_insert,
	.remove = lru_remove,
	.walk_begin = lru_walk_begin,
	.walk_next = lru_walk_next,
	.walk_skip = lru_walk_skip,
	.validate = lru_validate,
};
