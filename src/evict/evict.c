/* SPDX-License-Identifier: MIT */
/*
 * evict.c - see evict.h. The order of classes and priorities.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "evict/evict.h"

enum {
	PRIORITY_LOW = 0x50000000,
	PRIORITY_NORMAL = 0x78000000,
};
enum { RARE_SHARE = 64 /* one of so many, or less */ };
static const uint32_t priority_high = 0xa0000000;
static const uint32_t priority_maximum = 0xc8000000;

/* Priorities. */

enum evict_rank evict_rank_of(uint32_t priority)
{
	if (priority < PRIORITY_LOW)
		return EVICT_BAND_MINIMUM;
	if (priority < PRIORITY_NORMAL)
		return EVICT_BAND_LOW;
	if (priority < priority_high)
		return EVICT_BAND_NORMAL;
	return priority < priority_maximum ? EVICT_BAND_HIGH : EVICT_BAND_MAXIMUM;
}

enum evict_class evict_class_of_auto_offer(uint32_t priority)
{
	if (priority < PRIORITY_NORMAL)
		return EVICT_OFFERED_LOW;
	return priority == PRIORITY_NORMAL ? EVICT_OFFERED_NORMAL : EVICT_OFFERED_HIGH;
}

/* The set. */

NTSTATUS evict_set_init(struct evict_set *set, const struct evict_policy *policy)
{
	memset(set, 0, sizeof(*set));
	set->policy = policy;
	for (unsigned i = 0; i < ARRAY_SIZE(set->plain); i++)
		list_init(&set->plain[i]);
	for (unsigned i = 0; i < EVICT_BAND_COUNT; i++)
		list_init(&set->leftovers[i]);
	for (unsigned i = 0; i < EVICT_BAND_COUNT; i++) {
		set->bands[i] = mem_zalloc(sizeof(*set->bands[i]) + policy->state_bytes);
		if (!set->bands[i]) {
			evict_set_finish(set);
			return STATUS_NO_MEMORY;
		}
		set->bands[i]->policy = policy;
		policy->init(set->bands[i]->state);
	}
	return STATUS_SUCCESS;
}

void evict_set_finish(struct evict_set *set)
{
	assert(set->entry_count == 0);
	for (unsigned i = 0; i < EVICT_BAND_COUNT; i++) {
		assert(!set->bands[i] || set->bands[i]->known_count == 0);
		mem_free(set->bands[i]);
	}
	memset(set, 0, sizeof(*set));
}

/* Who remembers it: the band of its priority, where it is or would be. */

void evict_forget(struct evict_entry *entry)
{
	struct evict_band *band = entry->band;

	assert(!entry->is_ordered);
	if (!band)
		return;
	if (band->policy->forget)
		band->policy->forget(band->state, entry);
	band->known_count--;
	entry->band = NULL;
}

static void *band_state(struct evict_set *set, struct evict_entry *entry)
{
	struct evict_band *band = set->bands[evict_rank_of(entry->priority)];

	if (entry->band != band) {
		evict_forget(entry);
		entry->band = band;
		band->known_count++;
	}
	return band->state;
}

static bool is_for_policy(enum evict_class class)
{
	return class >= EVICT_LEFTOVER;
}

static void link_entry(struct evict_set *set, struct evict_entry *entry)
{
	if (is_for_policy(entry->class)) {
		set->policy->insert(band_state(set, entry), entry);
		entry->is_ordered = true;
	} else {
		list_push_back(&set->plain[entry->class], &entry->link);
	}
}

static void unlink_entry(struct evict_set *set, struct evict_entry *entry)
{
	if (entry->is_ordered)
		set->policy->remove(entry->band->state, entry);
	else
		list_remove(&entry->link);
	entry->is_ordered = false;
}

static void count_entry(struct evict_set *set, struct evict_entry *entry)
{
	set->class_bytes[entry->class] += entry->size_bytes;
	if (entry->class == EVICT_LEFTOVER) {
		list_push_back(&set->leftovers[evict_rank_of(entry->priority)],
			       &entry->leftover_link);
		set->leftover_count++;
	}
}

static void uncount_entry(struct evict_set *set, struct evict_entry *entry)
{
	set->class_bytes[entry->class] -= entry->size_bytes;
	if (entry->class == EVICT_LEFTOVER) {
		list_remove(&entry->leftover_link);
		set->leftover_count--;
	}
}

void evict_insert(struct evict_set *set, struct evict_entry *entry)
{
	assert(!entry->is_resident && entry->class < EVICT_CLASS_COUNT);
	entry->is_fresh = !entry->is_awaited;
	entry->is_awaited = false;
	link_entry(set, entry);
	entry->is_resident = true;
	count_entry(set, entry);
	set->entry_count++;
}

void evict_remove(struct evict_set *set, struct evict_entry *entry)
{
	assert(entry->is_resident);
	unlink_entry(set, entry);
	entry->is_resident = false;
	uncount_entry(set, entry);
	set->entry_count--;
}

void evict_set_class(struct evict_set *set, struct evict_entry *entry, enum evict_class class)
{
	bool is_resident = entry->is_resident;

	/* Its place in the policy's order does not change by that. */
	if (entry->is_ordered && is_for_policy(class)) {
		uncount_entry(set, entry);
		entry->class = class;
		count_entry(set, entry);
		return;
	}
	if (is_resident)
		evict_remove(set, entry);
	entry->class = class;
	if (is_resident)
		evict_insert(set, entry);
}

void evict_set_priority(struct evict_set *set, struct evict_entry *entry, uint32_t priority)
{
	bool is_moving =
		entry->is_ordered && evict_rank_of(entry->priority) != evict_rank_of(priority);

	if (is_moving) {
		unlink_entry(set, entry);
		uncount_entry(set, entry);
	}
	entry->priority = priority;
	if (is_moving) {
		link_entry(set, entry);
		count_entry(set, entry);
	}
}

void evict_set_owner(struct evict_set *set, struct evict_entry *entry, const void *owner)
{
	bool is_moving = entry->is_ordered && entry->owner != owner;

	if (is_moving)
		unlink_entry(set, entry);
	entry->owner = owner;
	if (is_moving)
		link_entry(set, entry);
}

/* Uses. */

void evict_use(struct evict_set *set, struct evict_entry *entry, uint64_t now)
{
	set->policy->use(band_state(set, entry), entry, now);
	entry->is_awaited = !entry->is_resident;
	entry->is_fresh = false;
}

/* Victims. */

void evict_walk_begin(struct evict_walk *walk, uint64_t now)
{
	walk->now = now;
	walk->class = 0;
	walk->band = 0;
	walk->is_begun = false;
	walk->leftovers = 0;
	walk->are_rare = false;
	walk->refused = 0;
}

static struct evict_entry *plain_next(struct evict_set *set, struct evict_walk *walk)
{
	struct list *head = &set->plain[walk->class];
	struct list *link = walk->is_begun ? walk->at : head->next;

	walk->is_begun = true;
	if (link == head)
		return NULL;
	walk->at = link->next;
	return evict_entry_of(link);
}

static struct evict_entry *band_next(struct evict_set *set, struct evict_walk *walk)
{
	if (!walk->is_begun)
		set->policy->walk_begin(set->bands[walk->band]->state, walk);
	walk->is_begun = true;
	return set->policy->walk_next(set->bands[walk->band]->state, walk);
}

/* The next of walk->class; the others of a band are in its order, too. */
static struct evict_entry *bands_next(struct evict_set *set, struct evict_walk *walk)
{
	while (walk->band < EVICT_BAND_COUNT) {
		struct evict_entry *entry;

		do {
			/* Mostly there are none, and then nothing is looked at for them. */
			if (walk->class == EVICT_LEFTOVER && walk->leftovers == 0)
				return NULL;
			entry = band_next(set, walk);
		} while (entry && entry->class != walk->class);
		if (entry) {
			walk->leftovers -= entry->class == EVICT_LEFTOVER;
			return entry;
		}
		walk->band++;
		walk->is_begun = false;
	}
	return NULL;
}

/* The next leftover, where they are rare. */
static struct evict_entry *rare_next(struct evict_set *set, struct evict_walk *walk)
{
	for (; walk->band < EVICT_BAND_COUNT; walk->band++) {
		struct list *head = &set->leftovers[walk->band];
		struct list *link = walk->is_begun ? walk->at : head->next;

		walk->is_begun = link != head;
		if (link != head) {
			walk->at = link->next;
			return container_of(link, struct evict_entry, leftover_link);
		}
	}
	return NULL;
}

static struct evict_entry *class_next(struct evict_set *set, struct evict_walk *walk)
{
	if (walk->class == EVICT_LEFTOVER && walk->are_rare)
		return rare_next(set, walk);
	return is_for_policy(walk->class) ? bands_next(set, walk) : plain_next(set, walk);
}

static struct evict_entry *walk_step(struct evict_set *set, struct evict_walk *walk)
{
	while (walk->class < EVICT_CLASS_COUNT) {
		struct evict_entry *entry = class_next(set, walk);

		if (entry)
			return entry;
		walk->class ++;
		walk->band = 0;
		walk->is_begun = false;
		walk->leftovers = set->leftover_count;
		walk->are_rare = set->leftover_count < set->entry_count / RARE_SHARE;
	}
	return NULL;
}

struct evict_entry *evict_walk_next(struct evict_set *set, struct evict_walk *walk,
				    evict_may_go *may_go, void *context)
{
	struct evict_entry *entry;

	walk->refused = 0;
	while ((entry = walk_step(set, walk)) && may_go) {
		enum evict_answer answer = may_go(entry, context);

		if (answer == EVICT_GOES)
			break;
		if (answer == EVICT_OWNER_KEEPS && walk->class == EVICT_NEEDED &&
		    set->policy->walk_skip)
			set->policy->walk_skip(entry->band->state, walk, entry);
		walk->refused++;
	}
	return entry;
}

/* Recounting. */

static const char *plain_validate(const struct evict_set *set, enum evict_class class,
				  struct evict_count *found)
{
	struct list *link;

	list_for_each (link, &set->plain[class]) {
		const struct evict_entry *entry = evict_entry_of(link);

		if (!entry->is_resident || entry->class != class)
			return "an entry hangs in a wrong list";
		found->bytes += entry->size_bytes;
		found->entries++;
	}
	return NULL;
}

static const char *class_validate(const struct evict_set *set, enum evict_class class,
				  struct evict_count *found)
{
	const char *wrong = NULL;

	if (!is_for_policy(class))
		return plain_validate(set, class, found);
	for (unsigned band = 0; !wrong && band < EVICT_BAND_COUNT; band++)
		wrong = set->policy->validate(set->bands[band]->state, found);
	return wrong;
}

static const char *leftovers_validate(const struct evict_set *set)
{
	uint64_t found = 0;

	for (unsigned band = 0; band < EVICT_BAND_COUNT; band++) {
		list_each (const struct evict_entry, entry, &set->leftovers[band], leftover_link) {
			if (!entry->is_resident || entry->class != EVICT_LEFTOVER ||
			    evict_rank_of(entry->priority) != band)
				return "an entry hangs in a wrong list of leftovers";
			found++;
		}
	}
	return found == set->leftover_count ? NULL : "the leftovers were miscounted";
}

const char *evict_set_validate(const struct evict_set *set)
{
	uint64_t entries = 0;
	const char *problem = leftovers_validate(set);

	if (problem)
		return problem;

	/* A policy has leftovers and needed ones in one order. */
	for (unsigned class = 0; class <= EVICT_LEFTOVER; class ++) {
		struct evict_count found = { 0 };
		uint64_t bytes = set->class_bytes[class];
		const char *wrong = class_validate(set, class, &found);

		if (wrong)
			return wrong;
		if (class == EVICT_LEFTOVER)
			bytes += set->class_bytes[EVICT_NEEDED];
		if (found.bytes != bytes)
			return "the bytes of a class were miscounted";
		entries += found.entries;
	}
	return entries == set->entry_count ? NULL : "the entries were miscounted";
}
