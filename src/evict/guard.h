/* SPDX-License-Identifier: MIT */
/*
 * guard.h - never much worse than least recently used.
 *
 * What is expected from the past can be wrong for long: who does something else each minute makes
 * fools of all that learn. LRU is never clever, and for the same reason never fooled. So the guard
 * plays LRU beside the real segment. That takes no memory: of all entries in the order of their last
 * use, LRU would have the latest ones, as many as fit.
 *
 *	oldest use                   first                     latest use
 *	e  e  e  e  e  e  e  e  e  e |  e  e  e  e  e  e  e  e  e  e  e
 *	      LRU has evicted these  |  LRU has these
 *
 * It keeps an account of bytes. What really has to come back is owed; what LRU would have had to
 * bring back is paid, and a twentieth more. While more than a 256th of the segment is owed LRU
 * chooses the victims, and learning goes on; once half of that is paid the policy tries again.
 * Whatever the policy does, it moves 1.05 times the bytes of LRU at most, and what the changes from
 * one order to the other cost. What was saved counts up to one segment: old merits end.
 */
#ifndef EVICT_GUARD_H
#define EVICT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "evict/capacity.h"
#include "evict/evict.h"

/* Stands first in the memory of each entry. Zeroed: not known. */
struct guard_memory {
	struct list link; /* guard.known               */
	bool is_in_lru;   /* LRU would have it resident */
};

struct guard {
	struct list known;  /* guard_memory.link of all that are used, the oldest use first */
	struct list *first; /* of those that LRU has; &known: none   */
	uint64_t lru_bytes; /* that it has */
	struct evict_capacity capacity;
	int64_t owed_bytes;
	bool is_lru; /* LRU chooses the victims */
};

static inline struct evict_entry *guard_entry(struct list *link)
{
	return evict_entry_of_memory(link);
}

void guard_init(struct guard *guard);

/* Before the entry's history learns of it. */
void guard_use(struct guard *guard, struct evict_entry *entry);
void guard_forget(struct guard *guard, struct evict_entry *entry);

/* It is, or is no more, one of those that may have to go. */
void guard_insert(struct guard *guard, const struct evict_entry *entry);
void guard_remove(struct guard *guard, const struct evict_entry *entry);

/* Somebody has to go: the segment is full. */
void guard_is_full(struct guard *guard);

/* Recounts. NULL, or what is wrong. */
const char *guard_validate(const struct guard *guard);

#endif
