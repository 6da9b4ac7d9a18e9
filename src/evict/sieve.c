/* SPDX-License-Identifier: MIT */
/*
 * sieve.c - SIEVE (Zhang and others, NSDI 2024): one queue in order of arrival, a use sets a bit,
 * and a hand goes from the oldest to the newest. Whose bit is set loses it and stays where it is;
 * whose is not goes. The hand stays behind the one that went.
 */
#include "evict/evict.h"

struct sieve_state {
	struct list list;  /* evict_entry.link, in order of arrival */
	struct list *hand; /* the next it looks at; &list: from the oldest on */
	uint64_t count;
	uint64_t walk; /* the number of the last one */
};

struct sieve_memory {
	uint64_t walk; /* that returned it last */
	bool is_used;
};

static struct sieve_memory *memory_of(struct evict_entry *entry)
{
	return (struct sieve_memory *)entry->memory;
}

static void sieve_init(void *state)
{
	struct sieve_state *sieve = state;

	list_init(&sieve->list);
	sieve->hand = &sieve->list;
}

static void sieve_insert(void *state, struct evict_entry *entry)
{
	struct sieve_state *sieve = state;

	*memory_of(entry) = (struct sieve_memory){ 0 };
	list_push_back(&sieve->list, &entry->link);
	sieve->count++;
}

static void sieve_use(void *state, struct evict_entry *entry, uint64_t now)
{
	(void)state;
	(void)now;
	memory_of(entry)->is_used = !entry->is_fresh;
}

static void sieve_remove(void *state, struct evict_entry *entry)
{
	struct sieve_state *sieve = state;

	if (sieve->hand == &entry->link)
		sieve->hand = entry->link.next;
	list_remove(&entry->link);
	sieve->count--;
}

static void sieve_walk_begin(void *state, struct evict_walk *walk)
{
	struct sieve_state *sieve = state;

	(void)walk;
	sieve->walk++;
}

static struct evict_entry *sieve_walk_next(void *state, struct evict_walk *walk)
{
	struct sieve_state *sieve = state;

	(void)walk;
	/* Twice round, the head of the list passed as well: the first time takes all bits. */
	for (uint64_t steps = 0; steps < 2 * (sieve->count + 1); steps++) {
		struct list *link = sieve->hand;

		sieve->hand = link->next;
		if (link == &sieve->list)
			continue;

		struct evict_entry *entry = evict_entry_of(link);
		struct sieve_memory *memory = memory_of(entry);

		if (!memory->is_used && memory->walk != sieve->walk) {
			memory->walk = sieve->walk;
			return entry;
		}
		memory->is_used = false;
	}
	return NULL;
}

static const char *sieve_validate(const void *state, struct evict_count *found)
{
	const struct sieve_state *sieve = state;
	uint64_t count = found->entries;
	struct list *link;

	list_for_each (link, &sieve->list) {
		found->bytes += evict_entry_of(link)->size_bytes;
		found->entries++;
	}
	return found->entries - count == sieve->count ? NULL : "the queue was miscounted";
}

const struct evict_policy evict_sieve = {
	.name = "sieve",
	.state_bytes = sizeof(struct sieve_state),
	.init = sieve_init,
	.use = sieve_use,
	.insert = sieve_insert,
	.remove = sieve_remove,
	.walk_begin = sieve_walk_begin,
	.walk_next = sieve_walk_next,
	.validate = sieve_validate,
};
