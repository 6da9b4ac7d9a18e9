/* SPDX-License-Identifier: MIT */
#include "evict/queues.h"

void queues_init(struct evict_queue *queues, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		list_init(&queues[i].list);
}

void queues_push(struct evict_queue *queues, unsigned queue, struct evict_entry *entry)
{
	entry->list = (uint8_t)queue;
	list_push_back(&queues[queue].list, &entry->link);
	queues[queue].bytes += entry->size_bytes;
}

void queues_take(struct evict_queue *queues, struct evict_entry *entry)
{
	list_remove(&entry->link);
	queues[entry->list].bytes -= entry->size_bytes;
}

const char *queues_validate(const struct evict_queue *queues, unsigned count,
			    struct evict_count *found)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t bytes = 0;
		struct list *link;

		list_for_each (link, &queues[i].list) {
			if (evict_entry_of(link)->list != i)
				return "an entry hangs in a wrong list";
			bytes += evict_entry_of(link)->size_bytes;
			found->entries++;
		}
		if (bytes != queues[i].bytes)
			return "the bytes of a queue were miscounted";
		found->bytes += bytes;
	}
	return NULL;
}

void queues_walk_begin(const struct evict_queue *queues, unsigned count, struct evict_walk *walk)
{
	for (unsigned i = 0; i < count; i++)
		walk->stretches[i].oldest = queues[i].list.next;
}

struct evict_entry *queues_peek(const struct evict_queue *queues, const struct evict_walk *walk,
				unsigned queue)
{
	struct list *link = walk->stretches[queue].oldest;

	return link == &queues[queue].list ? NULL : evict_entry_of(link);
}

struct evict_entry *queues_next(const struct evict_queue *queues, struct evict_walk *walk,
				unsigned queue)
{
	struct evict_entry *entry = queues_peek(queues, walk, queue);

	if (entry)
		walk->stretches[queue].oldest = entry->link.next;
	return entry;
}

void queues_move_next(struct evict_queue *queues, struct evict_walk *walk, unsigned from,
		      unsigned to)
{
	struct list *link = walk->stretches[from].oldest;
	struct evict_entry *entry = evict_entry_of(link);

	walk->stretches[from].oldest = link->next;
	queues_take(queues, entry);
	queues_push(queues, to, entry);
	if (walk->stretches[to].oldest == &queues[to].list)
		walk->stretches[to].oldest = &entry->link;
}

/* Ghosts. */

static struct evict_ghost *ghost_of(struct evict_entry *entry)
{
	return (struct evict_ghost *)entry->memory;
}

void ghosts_init(struct evict_ghosts *ghosts)
{
	list_init(&ghosts->list);
	ghosts->bytes = 0;
}

void ghosts_push(struct evict_ghosts *ghosts, struct evict_entry *entry)
{
	struct evict_ghost *ghost = ghost_of(entry);

	ghost->of = ghosts;
	list_push_back(&ghosts->list, &ghost->link);
	ghosts->bytes += entry->size_bytes;
}

struct evict_ghosts *ghosts_take(struct evict_entry *entry)
{
	struct evict_ghost *ghost = ghost_of(entry);
	struct evict_ghosts *ghosts = ghost->of;

	if (!ghosts)
		return NULL;
	list_unlink(&ghost->link);
	ghosts->bytes -= entry->size_bytes;
	ghost->of = NULL;
	return ghosts;
}

void ghosts_trim(struct evict_ghosts *ghosts, uint64_t limit_bytes)
{
	while (ghosts->bytes > limit_bytes)
		ghosts_take(evict_entry_of_memory(ghosts->list.next));
}

void ghosts_forget(void *state, struct evict_entry *entry)
{
	(void)state;
	ghosts_take(entry);
}
