/* SPDX-License-Identifier: MIT */
/*
 * adaptive.c - first goes what will be used last, as far as the past tells.
 *
 * Frames use the same things in the same order again and again. Whoever goes by age then throws out
 * just what comes next: when the set is a little too large for the segment, everything moves in
 * every frame. So each entry's next use is expected instead, from what its history learned:
 *
 *	uses      | | | | |                         | | | | |
 *	           interval      gap                          interval
 *	           `active'      `idle'             `active'
 *
 *   active     last use + interval; as that time passes, less and less likely
 *   idle       its row of uses is over, and it came back from such a gap before
 *   irregular  neither interval nor gap tells when it comes back: by how often it is used
 *   once       used once so far
 *   quiet      its row of uses is over, for the first time
 *
 * When something active comes back it tells itself. For the others the past of all of them does: a
 * curve for each kind says which part of those that were quiet for so long came back, and after how
 * long (curve.h). It is learned from every return, also of what had to leave, because the kernel
 * sees those as well: so it is the same whoever chose the victims. What does not come back is
 * counted by a hand that goes round all entries, a few at each use.
 *
 * With no pattern in the uses this comes to keeping what is used often, with frames to Belady's
 * choice, with things that are used once and never again to LRU. And where all that is wrong for a
 * while, LRU chooses (guard.h).
 *
 * Entries hang in lists by the size of the interval, gap or mean, each in order of last use. The
 * largest expectation of a list is at one of its ends: the newest is the farthest before its next
 * use, the oldest the longest overdue. A use costs the same however many entries there are, and so
 * does a victim: there are at most 192 lists, and when who asks may not have what was used last, because
 * it is its own, the oldest are offered instead of all of that. Who becomes idle changes lists when the hand comes by,
 * or when victims are asked for.
 */
#include "evict/curve.h"
#include "evict/evict.h"
#include "evict/guard.h"
#include "evict/history.h"
#include "evict/runs.h"

/* What its next use is expected from. */
enum kind { KIND_NEW, KIND_ACTIVE, KIND_ONCE, KIND_QUIET, KIND_IDLE, KIND_IRREGULAR, KIND_COUNT };

enum {
	LENGTHS = 64, /* two lists for each power of two that fits 32 bits */
	MEANS = 62,   /* the last for all above */
	LIST_ACTIVE = 0,
	LIST_IDLE = LIST_ACTIVE + LENGTHS,
	LIST_IRREGULAR = LIST_IDLE + LENGTHS,
	LIST_ONCE = LIST_IRREGULAR + MEANS,
	LIST_QUIET,
	LIST_COUNT,

	IN_VAIN = 64,        /* refused in a row: the newest of the lists are in use */
	LOOKED_AT = 4,       /* by the hand, at each use            */
	USES_TO_LEARN = 512, /* a curve decides from what it counted */
	PARTS = 256,         /* of a gap or mean: the unit of curves */
};

_Static_assert((int)LIST_COUNT <= (int)EVICT_LISTS_MAX, "a walk has room for all lists");

struct adaptive_memory {
	struct guard_memory guard; /* first */
	struct evict_history history;
	uint8_t kind; /* enum kind */
	uint8_t bin;  /* of the kind's curve; the last it is counted in */
};

_Static_assert(sizeof(struct adaptive_memory) <= sizeof(((struct evict_entry *)0)->memory),
	       "an entry has room for it");

struct adaptive_state {
	uint64_t filled[EVICT_LIST_WORDS]; /* which lists are not empty */
	struct list lists[LIST_COUNT];     /* evict_entry.link, the oldest use first */
	struct curve curves[KIND_COUNT];   /* of those from KIND_ONCE on */
	struct guard guard;
	struct list *hand; /* in guard.known */
	uint32_t uses;
};

static struct adaptive_memory *memory_of(const struct evict_entry *entry)
{
	return (struct adaptive_memory *)entry->memory;
}

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
	curve_init(&adaptive->curves[KIND_ONCE], &curve_of_ages);
	curve_init(&adaptive->curves[KIND_QUIET], &curve_of_ages);
	curve_init(&adaptive->curves[KIND_IDLE], &curve_of_sixteenths);
	curve_init(&adaptive->curves[KIND_IRREGULAR], &curve_of_eighths);
	guard_init(&adaptive->guard);
	adaptive->hand = &adaptive->guard.known;
}

/* The lists. */

static unsigned list_of(const struct adaptive_memory *memory)
{
	unsigned length;

	switch (memory->kind) {
	case KIND_ACTIVE:
		return LIST_ACTIVE + length_of(memory->history.interval);
	case KIND_IDLE:
		return LIST_IDLE + length_of(memory->history.gap);
	case KIND_IRREGULAR:
		length = length_of(memory->history.mean);
		return LIST_IRREGULAR + (length < MEANS ? length : MEANS - 1);
	case KIND_QUIET:
		return LIST_QUIET;
	default:
		return LIST_ONCE;
	}
}

static void join_list(struct adaptive_state *adaptive, struct evict_entry *entry)
{
	unsigned list = list_of(memory_of(entry));

	entry->list = (uint8_t)list;
	runs_push_back(&adaptive->lists[list], entry);
	adaptive->filled[list / 64] |= bit_of(list);
}

static void leave_list(struct adaptive_state *adaptive, struct evict_entry *entry)
{
	runs_remove(&adaptive->lists[entry->list], entry);
	if (list_is_empty(&adaptive->lists[entry->list]))
		adaptive->filled[entry->list / 64] &= ~bit_of(entry->list);
}

static void adaptive_insert(void *state, struct evict_entry *entry)
{
	struct adaptive_state *adaptive = state;

	join_list(adaptive, entry);
	guard_insert(&adaptive->guard, entry);
}

static void adaptive_remove(void *state, struct evict_entry *entry)
{
	struct adaptive_state *adaptive = state;

	leave_list(adaptive, entry);
	guard_remove(&adaptive->guard, entry);
}

/* Kinds, and what their curves count. */

/* How long it was quiet, in the units of its curve. */
static uint64_t quiet_of(const struct adaptive_memory *memory, uint64_t now)
{
	uint64_t age = now - memory->history.last_use;

	if (memory->kind == KIND_IDLE)
		return age * PARTS / memory->history.gap;
	return memory->kind == KIND_IRREGULAR ? age * PARTS / memory->history.mean : age;
}

static void become(struct adaptive_state *adaptive, struct adaptive_memory *memory, enum kind kind,
		   uint64_t now)
{
	struct curve *curve = &adaptive->curves[kind];

	memory->kind = (uint8_t)kind;
	if (kind < KIND_ONCE)
		return;
	memory->bin = (uint8_t)curve_bin(curve->shape, quiet_of(memory, now));
	curve_enter(curve, memory->bin);
}

static void lapse(struct adaptive_state *adaptive, struct evict_entry *entry, uint64_t now)
{
	struct adaptive_memory *memory = memory_of(entry);

	if (entry->is_ordered)
		leave_list(adaptive, entry);
	become(adaptive, memory, memory->history.gap ? KIND_IDLE : KIND_QUIET, now);
	if (entry->is_ordered)
		join_list(adaptive, entry);
}

/* Time has passed: its row of uses may be over, or it is in a later bin of its curve. */
static void bring_up_to_date(struct adaptive_state *adaptive, struct evict_entry *entry,
			     uint64_t now)
{
	struct adaptive_memory *memory = memory_of(entry);
	struct curve *curve = &adaptive->curves[memory->kind];

	if (memory->kind >= KIND_ONCE) {
		unsigned bin = curve_bin(curve->shape, quiet_of(memory, now));

		while (memory->bin < bin)
			curve_enter(curve, ++memory->bin);
	} else if (evict_history_is_lapsed(&memory->history, now)) {
		lapse(adaptive, entry, now);
	}
}

static void turn_hand(struct adaptive_state *adaptive, uint64_t now)
{
	for (unsigned i = 0; i < LOOKED_AT; i++) {
		if (adaptive->hand != &adaptive->guard.known)
			bring_up_to_date(adaptive, guard_entry(adaptive->hand), now);
		adaptive->hand = adaptive->hand->next;
	}
}

static void skip_hand(struct adaptive_state *adaptive, const struct adaptive_memory *memory)
{
	if (adaptive->hand == &memory->guard.link)
		adaptive->hand = memory->guard.link.next;
}

static void come_back(struct adaptive_state *adaptive, struct evict_entry *entry, uint64_t now)
{
	struct adaptive_memory *memory = memory_of(entry);

	bring_up_to_date(adaptive, entry, now);
	if (memory->kind >= KIND_ONCE)
		curve_return(&adaptive->curves[memory->kind], memory->bin);
}

/* What it is after a use. */
static enum kind kind_of(const struct adaptive_memory *memory)
{
	if (memory->history.interval == 0)
		return KIND_ONCE;
	if (memory->kind != KIND_ONCE && evict_history_is_irregular(&memory->history))
		return KIND_IRREGULAR;
	return KIND_ACTIVE;
}

static void adaptive_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct adaptive_state *adaptive = state;
	struct adaptive_memory *memory = memory_of(entry);

	skip_hand(adaptive, memory);
	guard_use(&adaptive->guard, entry);
	if (memory->kind != KIND_NEW)
		come_back(adaptive, entry, now);
	if (entry->is_ordered)
		leave_list(adaptive, entry);
	evict_history_use(&memory->history, now);
	become(adaptive, memory, kind_of(memory), now);
	if (entry->is_ordered)
		join_list(adaptive, entry);
	turn_hand(adaptive, now);
	if (++adaptive->uses % USES_TO_LEARN == 0) {
		for (unsigned kind = KIND_ONCE; kind < KIND_COUNT; kind++)
			curve_learn(&adaptive->curves[kind]);
	}
}

static void adaptive_forget(void *state, struct evict_entry *entry)
{
	struct adaptive_state *adaptive = state;

	skip_hand(adaptive, memory_of(entry));
	guard_forget(&adaptive->guard, entry);
}

/* Victims. */

/* Overdue counts double: each tick makes a return less likely. */
static float active_wait(const struct evict_history *history, uint64_t age)
{
	uint64_t due = history->interval;
	uint64_t slack = UINT64_C(2) * history->deviation;

	if (age <= due)
		return (float)(due - age);
	return age > due + slack ? 2 * (float)(age - due - slack) : 0;
}

/* Ticks until its next use. */
static float expected_wait(const struct adaptive_state *adaptive, const struct evict_entry *entry,
			   uint64_t now)
{
	const struct adaptive_memory *memory = memory_of(entry);
	const struct evict_history *history = &memory->history;
	const struct curve *curve = &adaptive->curves[memory->kind];
	uint64_t age = now - history->last_use;

	if (adaptive->guard.is_lru)
		return (float)age;
	switch (memory->kind) {
	case KIND_ACTIVE:
		return active_wait(history, age);
	case KIND_IDLE:
		return curve_wait(curve, quiet_of(memory, now)) * (float)history->gap / PARTS;
	case KIND_IRREGULAR:
		return curve_wait(curve, quiet_of(memory, now)) * (float)history->mean / PARTS;
	case KIND_ONCE:
	case KIND_QUIET:
		return curve_wait(curve, age);
	default:
		return (float)age; /* never used: it was brought in for nobody */
	}
}

static struct evict_belief adaptive_believe(const void *state, const struct evict_entry *entry,
					    uint64_t now)
{
	static const char *const kinds[KIND_COUNT] = { "new",   "active", "once",
						       "quiet", "idle",   "irregular" };
	const struct adaptive_state *adaptive = state;

	return (struct evict_belief){
		.kind = adaptive->guard.is_lru ? "by age" : kinds[memory_of(entry)->kind],
		.wait = (double)expected_wait(adaptive, entry, now),
	};
}

/* Those at the head of a list whose row of uses is over. */
static void retire_idle(struct adaptive_state *adaptive, unsigned list, uint64_t now)
{
	while (!list_is_empty(&adaptive->lists[list])) {
		struct evict_entry *entry = evict_entry_of(adaptive->lists[list].next);

		if (!evict_history_is_lapsed(&memory_of(entry)->history, now))
			return;
		lapse(adaptive, entry, now);
	}
}

static void adaptive_walk_begin(void *state, struct evict_walk *walk)
{
	struct adaptive_state *adaptive = state;

	guard_is_full(&adaptive->guard);
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
	float wait;
	unsigned list;
};

static void consider(const struct adaptive_state *adaptive, struct choice *best, struct list *link,
		     unsigned list, uint64_t now)
{
	float wait = expected_wait(adaptive, evict_entry_of(link), now);

	if (!best->link || wait > best->wait)
		*best = (struct choice){ link, wait, list };
}

/* From the end that it has come from up to `link`, which is between both. */
static void pass_until(struct evict_walk *walk, unsigned list, struct list *link)
{
	struct evict_stretch *stretch = &walk->stretches[list];

	if (link == (walk->is_oldest ? stretch->newest : stretch->oldest))
		walk->open[list / 64] &= ~bit_of(list);
	else if (walk->is_oldest)
		stretch->oldest = link->next;
	else
		stretch->newest = link->prev;
}

static struct evict_entry *adaptive_walk_next(void *state, struct evict_walk *walk)
{
	struct choice best = { NULL, 0, 0 };

	for (unsigned word = 0; word < EVICT_LIST_WORDS; word++) {
		for (uint64_t open = walk->open[word]; open != 0; open &= open - 1) {
			unsigned list = 64 * word + (unsigned)__builtin_ctzll(open);
			struct evict_stretch *stretch = stretch_of(state, walk, list);

			consider(state, &best, stretch->oldest, list, walk->now);
			if (walk->refused < IN_VAIN)
				consider(state, &best, stretch->newest, list, walk->now);
		}
	}
	if (!best.link)
		return NULL;

	walk->is_oldest = best.link == walk->stretches[best.list].oldest;
	pass_until(walk, best.list, best.link);
	return evict_entry_of(best.link);
}

/* Its owner may have changed its mind in the middle of the walk: then the other end stands within a run of it. */
static void adaptive_walk_skip(void *state, struct evict_walk *walk, struct evict_entry *entry)
{
	const struct adaptive_state *adaptive = state;
	const struct list *head = &adaptive->lists[entry->list];
	const struct evict_stretch *stretch = &walk->stretches[entry->list];
	struct evict_entry *oldest = evict_entry_of(stretch->oldest);
	struct evict_entry *newest = evict_entry_of(stretch->newest);
	struct list *end = walk->is_oldest ? runs_last(head, entry) : runs_first(head, entry);
	bool is_within = walk->is_oldest
				 ? newest->owner == entry->owner && !runs_first(head, newest)
				 : oldest->owner == entry->owner && !runs_last(head, oldest);

	if (end && end != &entry->link && !is_within)
		pass_until(walk, entry->list, end);
}

static const char *adaptive_validate(const void *state, struct evict_count *found)
{
	const struct adaptive_state *adaptive = state;
	const char *wrong = NULL;

	for (unsigned i = 0; !wrong && i < LIST_COUNT; i++) {
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
		wrong = runs_validate(&adaptive->lists[i]);
	}
	return wrong ? wrong : guard_validate(&adaptive->guard);
}

const struct evict_policy evict_adaptive = {
	.name = "adaptive",
	.state_bytes = sizeof(struct adaptive_state),
	.init = adaptive_init,
	.use = adaptive_use,
	.insert = adaptive_insert,
	.remove = adaptive_remove,
	.forget = adaptive_forget,
	.believe = adaptive_believe,
	.walk_begin = adaptive_walk_begin,
	.walk_next = adaptive_walk_next,
	.walk_skip = adaptive_walk_skip,
	.validate = adaptive_validate,
};
