/* SPDX-License-Identifier: MIT */
/*
 * queues.h - what the policies of the literature are made of: queues of entries that may have to
 * go, and queues of ghosts, which left and are remembered for a while. Both count bytes, because
 * entries differ in size.
 */
#ifndef EVICT_QUEUES_H
#define EVICT_QUEUES_H

#include <stdint.h>

#include "base/list.h"
#include "evict/evict.h"

/* A policy has an array of them; entry->list says in which an entry is. */
struct evict_queue {
	struct list list; /* evict_entry.link, the first to go first */
	uint64_t bytes;
};

void queues_init(struct evict_queue *queues, unsigned count);
/* Becomes the last of that queue. */
void queues_push(struct evict_queue *queues, unsigned queue, struct evict_entry *entry);
void queues_take(struct evict_queue *queues, struct evict_entry *entry);
const char *queues_validate(const struct evict_queue *queues, unsigned count,
			    struct evict_count *found);

/*
 * A walk goes through each queue once: those it has returned and that stayed are behind it. What is
 * moved meanwhile comes to it again.
 */
void queues_walk_begin(const struct evict_queue *queues, unsigned count, struct evict_walk *walk);
/* The next of that queue; NULL at its end. */
struct evict_entry *queues_peek(const struct evict_queue *queues, const struct evict_walk *walk,
				unsigned queue);
/* The same, and the walk goes on to the one behind it. */
struct evict_entry *queues_next(const struct evict_queue *queues, struct evict_walk *walk,
				unsigned queue);
/* The next of `from` becomes the last of `to`. */
void queues_move_next(struct evict_queue *queues, struct evict_walk *walk, unsigned from,
		      unsigned to);

struct evict_ghosts {
	struct list list; /* evict_ghost.link, the oldest first */
	uint64_t bytes;
};

/* Stands first in the memory of each entry. Zeroed: it is none. */
struct evict_ghost {
	struct list link;
	struct evict_ghosts *of;
};

void ghosts_init(struct evict_ghosts *ghosts);
void ghosts_push(struct evict_ghosts *ghosts, struct evict_entry *entry);
/* It is none any more. Returns of whom it was, NULL when it was none. */
struct evict_ghosts *ghosts_take(struct evict_entry *entry);
/* The oldest are forgotten until no more than so many bytes are left. */
void ghosts_trim(struct evict_ghosts *ghosts, uint64_t limit_bytes);

/* An evict_policy.forget for policies that have nothing but ghosts. */
void ghosts_forget(void *state, struct evict_entry *entry);

#endif
