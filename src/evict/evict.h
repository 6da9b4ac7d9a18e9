/* SPDX-License-Identifier: MIT */
/*
 * evict.h - who has to leave a segment first.
 *
 *   in:   what sits in the segment, and every use of it
 *   out:  the residents in the order in which they should go
 *
 * Cheapest loss first, whatever the policy:
 *   1. destroyed                     its end has not come yet; nothing is copied
 *   2. offered low, normal, high     the oldest offer first; nothing is copied
 *   3. leftovers                     evicted lazily, on nobody's residency list
 *   4. needed: on a residency list
 * Of both the lowest priority goes first, and among equals the policy decides: one that is let go and
 * wanted again in every frame is known by its uses, whether it is listed at the moment or not. Where
 * leftovers are rare, they go in the order in which they were let go: nobody looks for them among all others.
 *
 * A policy orders equals by their uses: a file with a struct evict_policy, and a line in
 * policies.def. The kernel takes
 *   adaptive   the one whose next use is expected last, see adaptive.c
 * unless a profile names another: lru, or one of those of the literature that people compare with.
 *
 * This only decides: nothing moves, nobody waits. Time is whatever number the caller counts uses
 * with; it never goes back. Locks: the caller's, who owns the set (the memory manager's).
 */
#ifndef EVICT_EVICT_H
#define EVICT_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/rbtree.h"
#include "base/status.h"

enum evict_class {
	EVICT_DESTROYED,
	EVICT_OFFERED_LOW,
	EVICT_OFFERED_NORMAL,
	EVICT_OFFERED_HIGH,
	EVICT_LEFTOVER,
	EVICT_NEEDED,
	EVICT_CLASS_COUNT,
};

/* Priorities in between count as the next lower one of these. */
enum evict_rank {
	EVICT_BAND_MINIMUM,
	EVICT_BAND_LOW,
	EVICT_BAND_NORMAL,
	EVICT_BAND_HIGH,
	EVICT_BAND_MAXIMUM,
	EVICT_BAND_COUNT,
};

enum { EVICT_MEMORY_WORDS = 8 };

/* Part of whoever can be resident. Zeroed: in no segment, and nobody remembers it. */
struct evict_entry {
	uint64_t size_bytes; /* the owner's while nobody remembers it, see evict_forget() */
	/* The owner's while it is in no set; evict_set_…() change them afterwards. */
	uint32_t priority;
	enum evict_class class;
	const void *
		owner; /* who may keep it, and all other needed ones that have the same; NULL: nobody does */

	struct evict_band *band; /* whose policy remembers it, resident or not */
	bool is_resident;
	bool is_ordered; /* resident, and the policy says when it goes                */
	bool is_fresh;   /* it came for a use that was not told yet: that is no second */
	bool is_awaited; /* it was used outside, and comes for that                    */

	struct list leftover_link; /* evict_set.leftovers, while it is resident and one of them */

	/* The policy's. */
	uint8_t list;         /* which of its lists */
	struct list link;     /* in the list that holds it */
	struct list *run_end; /* runs.h */
	uint64_t memory[EVICT_MEMORY_WORDS];
};

static inline struct evict_entry *evict_entry_of(struct list *link)
{
	return container_of(link, struct evict_entry, link);
}

/* From the beginning of entry->memory. */
static inline struct evict_entry *evict_entry_of_memory(void *memory)
{
	return container_of((uint64_t(*)[EVICT_MEMORY_WORDS])memory, struct evict_entry, memory);
}

/* Both ends of a list, as far as they were not walked yet. */
struct evict_stretch {
	struct list *oldest;
	struct list *newest;
};

enum { EVICT_LISTS_MAX = 192, EVICT_LIST_WORDS = EVICT_LISTS_MAX / 64 };

struct evict_walk {
	uint64_t now;
	enum evict_class class;
	enum evict_rank band;
	bool is_begun;                    /* the list or band it stands in      */
	uint64_t leftovers;               /* of which it has not come by yet    */
	bool are_rare;                    /* they are walked by themselves      */
	uint32_t refused;                 /* in a row: they may not go          */
	bool is_oldest;                   /* what it returned was at the old end */
	struct list *at;                  /* next, where there is one list only */
	struct rb_node *node;             /* next, where there is a tree        */
	uint64_t open[EVICT_LIST_WORDS];  /* lists of which something is left   */
	uint64_t begun[EVICT_LIST_WORDS]; /* those whose stretch is known       */
	struct evict_stretch stretches[EVICT_LISTS_MAX];
};

struct evict_count {
	uint64_t entries;
	uint64_t bytes;
};

/* What a policy thinks of an entry. */
struct evict_belief {
	const char *kind; /* of entry, in a word    */
	double wait;      /* ticks to its next use  */
};

/*
 * The order of equals; `state` is zeroed memory of state_bytes before init. What it remembers of an
 * entry stands in entry->memory, zeroed before the first use.
 */
struct evict_policy {
	const char *name;
	size_t state_bytes;
	void (*init)(void *state);
	/* A use of it; entry->is_ordered says whether it is one of those that may have to go. */
	void (*use)(void *state, struct evict_entry *entry, uint64_t now);
	/* From now on it may have to go, or not any more; it may come back later. */
	void (*insert)(void *state, struct evict_entry *entry);
	void (*remove)(void *state, struct evict_entry *entry);
	/*
	 * Nothing of the state may name one that is not ordered any more: it ends, or goes to
	 * another band with what its memory holds. NULL: nothing does.
	 */
	void (*forget)(void *state, struct evict_entry *entry);
	void (*walk_begin)(void *state, struct evict_walk *walk);
	/* NULL at the end. What it returned may leave before the next one is asked for. */
	struct evict_entry *(*walk_next)(void *state, struct evict_walk *walk);
	/*
	 * `entry`, which was returned last, stays with all that its owner has: those next to it need not be
	 * returned. NULL: all of them are.
	 */
	void (*walk_skip)(void *state, struct evict_walk *walk, struct evict_entry *entry);
	/* NULL: it goes by nothing but its order. */
	struct evict_belief (*believe)(const void *state, const struct evict_entry *entry,
				       uint64_t now);
	/* Adds what is there to `found`. NULL, or what is wrong. */
	const char *(*validate)(const void *state, struct evict_count *found);
};

#define POLICY(name) extern const struct evict_policy evict_##name;
#include "evict/policies.def"
#undef POLICY

/* All of them, a NULL behind the last. */
extern const struct evict_policy *const evict_policies[];
/* By its name; NULL when there is none. */
const struct evict_policy *evict_policy_find(const char *name);

/* Those of one priority, leftovers and needed ones. */
struct evict_band {
	const struct evict_policy *policy;
	uint64_t known_count; /* entries whose band it is */
	_Alignas(16) unsigned char state[];
};

struct evict_set {
	const struct evict_policy *policy;
	struct list plain[EVICT_LEFTOVER]; /* in order of arrival */
	struct evict_band *bands[EVICT_BAND_COUNT];
	struct list leftovers[EVICT_BAND_COUNT]; /* first let go first */
	uint64_t class_bytes[EVICT_CLASS_COUNT];
	uint64_t leftover_count;
	uint64_t entry_count;
};

MUST_CHECK NTSTATUS evict_set_init(struct evict_set *set, const struct evict_policy *policy);

/* Nothing is in it any more. Accepts a zeroed struct. */
void evict_set_finish(struct evict_set *set);

/* Arrived in the segment. That is no use of it: whoever needs it there says so as well. */
void evict_insert(struct evict_set *set, struct evict_entry *entry);
void evict_remove(struct evict_set *set, struct evict_entry *entry);

/* A use of it at `now`, resident or not; `set` is where it is, or would be. */
void evict_use(struct evict_set *set, struct evict_entry *entry, uint64_t now);

/* Offered, evicted lazily, listed again: the youngest of its new class. */
void evict_set_class(struct evict_set *set, struct evict_entry *entry, enum evict_class class);
void evict_set_priority(struct evict_set *set, struct evict_entry *entry, uint32_t priority);
/* Among equals it is as if it had come now. */
void evict_set_owner(struct evict_set *set, struct evict_entry *entry, const void *owner);

/* The number of the band of a priority. */
enum evict_rank evict_rank_of(uint32_t priority);

/* It ends, or will be in another set: nobody remembers it. It is not resident. */
void evict_forget(struct evict_entry *entry);

/* What an offer with priority AUTO is. */
enum evict_class evict_class_of_auto_offer(uint32_t priority);

/*
 * Victims, first to go first. `may_go` says no to those that are busy or pinned; they are left out
 * and stay where they are. Of an owner that keeps all that is needed of its own, and does so until the walk is
 * over, it is asked again about few, however many there are. Between two calls nothing may happen to the set, except that the one
 * returned last leaves. NULL at the end.
 */
enum evict_answer { EVICT_STAYS, EVICT_GOES, EVICT_OWNER_KEEPS };
typedef enum evict_answer evict_may_go(const struct evict_entry *entry, void *context);
void evict_walk_begin(struct evict_walk *walk, uint64_t now);
struct evict_entry *evict_walk_next(struct evict_set *set, struct evict_walk *walk,
				    evict_may_go *may_go, void *context);

/* Recounts everything. NULL when it adds up, else what does not. */
const char *evict_set_validate(const struct evict_set *set);

#endif
