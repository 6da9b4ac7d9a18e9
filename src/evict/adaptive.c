/* SPDX-License-Identifier: MIT */
/*
 * adaptive.c - first goes what will be used last, as far as the past tells.
 *
 * Frames use the same things in the same order again and again. Whoever goes by age then throws out
 * just what comes next: when the set is a little too large for the segment, everything moves in
 * every frame. So each entry's next use is expected instead, from what evict_history learned:
 *
 *	uses      | | | | |                         | | | | |
 *	           interval      gap                          interval
 *	           `active'      `idle'             `active'
 *
 *   active   last use + interval; as that time passes, less and less likely
 *   idle     last use + gap; the same
 *   unknown  used once, or idle without ever having come back: as long again as it was quiet so far
 *
 * With no pattern in the uses this comes to favouring what is used often, with frames to Belady's
 * choice, with things that are used once and never again to LRU.
 *
 * Entries hang in lists by the size of the interval (or gap), each in order of last use. The
 * largest expectation of a list is at one of its ends: the newest is the farthest before its next
 * use, the oldest the longest overdue. A use costs the same however many entries there are, and so
 * does a victim: there are at most 130 lists. Who becomes idle changes lists when victims are asked
 * for, once per row of uses.
 */
#include "evict/evict.h"

enum {
	LENGTHS = 64, /* two lists for each power of two that fits 32 bits */
	LIST_ACTIVE = 0,
	LIST_IDLE = LIST_ACTIVE + LENGTHS,
	LIST_ONCE = LIST_IDLE + LENGTHS,
	LIST_QUIET, /* idle, and nobody knows for how long */
	LIST_COUNT,
};

_Static_assert((int)LIST_COUNT <= (int)EVICT_LISTS_MAX, "a walk has room for all lists");

struct adaptive_state {
	uint64_t filled[EVICT_LIST_WORDS]; /* which lists are not empty */
	struct list lists[LIST_COUNT];     /* evict_entry.link, the oldest use first */
};

static uint64_t bit_of(unsigned list)
{
	return UINT64_C(1) << list % 64;
}

static unsigned length_of(uint32_t ticks)
{
	unsigned log2 = 31 - (unsigned)__builtin_clz(ticks);
	unsigned half = log2 == 0 ? 0 : ticks >> (log2 - 1) & 1;

	return 2 * log2 + half;
}

static void adaptive_init(void *state)
{
	struct adaptive_state *adaptive = state;

	for (unsigned i = 0; i < LIST_COUNT; i++)
		list_init(&adaptive->lists[i]);
}

static void join_list(struct adaptive_state *adaptive, struct evict_entry *entry, unsigned list)
{
	entry->list = (uint8_t)list;
	list_push_back(&adaptive->lists[list], &entry->link);
	adaptive->filled[list / 64] |= bit_of(list);
}

static void adaptive_insert(void *state, struct evict_entry *entry)
{
	const struct evict_history *history = &entry->history;

	join_list(state, entry,
		  history->interval ? LIST_ACTIVE + length_of(history->interval) : LIST_ONCE);
}

static void adaptive_remove(void *state, struct evict_entry *entry)
{
	struct adaptive_state *adaptive = state;

	list_remove(&entry->link);
	if (list_is_empty(&adaptive->lists[entry->list]))
		adaptive->filled[entry->list / 64] &= ~bit_of(entry->list);
}

/* Ticks until its next use. Overdue counts double: each tick makes a return less likely. */
static uint64_t expected_wait(const struct evict_entry *entry, uint64_t now)
{
	const struct evict_history *history = &entry->history;
	uint64_t age = now - history->last_use;
	uint64_t due = 0;
	uint64_t slack = 0;

	if (entry->list < LIST_IDLE) {
		due = history->interval;
		slack = UINT64_C(2) * history->deviation;
	} else if (entry->list < LIST_ONCE) {
		due = history->gap;
	} else {
		return age;
	}
	if (age <= due)
		return due - age;
	return age > due + slack ? 2 * (age - due - slack) : 0;
}

/* Those at the head of a list whose row of uses is over. */
static void retire_idle(struct adaptive_state *adaptive, unsigned list, uint64_t now)
{
	while (!list_is_empty(&adaptive->lists[list])) {
		struct evict_entry *entry = evict_entry_of(adaptive->lists[list].next);

		if (!evict_history_is_lapsed(&entry->history, now))
			return;
		adaptive_remove(adaptive, entry);
		join_list(adaptive, entry,
			  entry->history.gap ? LIST_IDLE + length_of(entry->history.gap)
					     : LIST_QUIET);
	}
}

static void adaptive_walk_begin(void *state, struct evict_walk *walk)
{
	struct adaptive_state *adaptive = state;

	for (uint64_t active = adaptive->filled[0]; active != 0; active &= active - 1)
		retire_idle(adaptive, LIST_ACTIVE + (unsigned)__builtin_ctzll(active), walk->now);
	for (unsigned i = 0; i < EVICT_LIST_WORDS; i++) {
		walk->open[i] = adaptive->filled[i];
		walk->begun[i] = 0;
	}
}

static struct evict_stretch *stretch_of(struct adaptive_state *adaptive, struct evict_walk *walk,
					unsigned list)
{
	struct evict_stretch *stretch = &walk->stretches[list];

	if (!(walk->begun[list / 64] & bit_of(list))) {
		stretch->oldest = adaptive->lists[list].next;
		stretch->newest = adaptive->lists[list].prev;
		walk->begun[list / 64] |= bit_of(list);
	}
	return stretch;
}

struct choice {
	struct list *link;
	uint64_t wait;
	unsigned list;
};

static void consider(struct choice *best, struct list *link, unsigned list, uint64_t now)
{
	uint64_t wait = expected_wait(evict_entry_of(link), now);

	if (!best->link || wait > best->wait)
		*best = (struct choice){ link, wait, list };
}

static struct evict_entry *adaptive_walk_next(void *state, struct evict_walk *walk)
{
	struct choice best = { NULL, 0, 0 };

	for (unsigned word = 0; word < EVICT_LIST_WORDS; word++) {
		for (uint64_t open = walk->open[word]; open != 0; open &= open - 1) {
			unsigned list = 64 * word + (unsigned)__builtin_ctzll(open);
			struct evict_stretch *stretch = stretch_of(state, walk, list);

			consider(&best, stretch->oldest, list, walk->now);
			consider(&best, stretch->newest, list, walk->now);
		}
	}
	if (!best.link)
		return NULL;

	struct evict_stretch *stretch = &walk->stretches[best.list];

	if (stretch->oldest == stretch->newest)
		walk->open[best.list / 64] &= ~bit_of(best.list);
	else if (best.link == stretch->oldest)
		stretch->oldest = stretch->oldest->next;
	else
		stretch->newest = stretch->newest->prev;
	return evict_entry_of(best.link);
}

static const char *adaptive_validate(const void *state, struct evict_count *found)
{
	const struct adaptive_state *adaptive = state;

	for (unsigned i = 0; i < LIST_COUNT; i++) {
		bool is_filled = adaptive->filled[i / 64] & bit_of(i);
		struct list *link;

		if (is_filled == list_is_empty(&adaptive->lists[i]))
			return "a list's bit disagrees with it";
		list_for_each (link, &adaptive->lists[i]) {
			const struct evict_entry *entry = evict_entry_of(link);

			if (entry->list != i || !entry->is_resident)
				return "an entry hangs in a wrong list";
			found->bytes += entry->size_bytes;
			found->entries++;
		}
	}
	return NULL;
}

const struct evict_policy evict_adaptive = {
	.name = "adaptive",
	.state_bytes = sizeof(struct adaptive_state),
	.init = adaptive_init,
	.insert = adaptive_insert,
	.remove = adaptive_remove,
	.walk_begin = adaptive_walk_begin,
	.walk_next = adaptive_walk_next,
	.validate = adaptive_validate,
};
