/* SPDX-License-Identifier: MIT */
/*
 * many_test.c - very many entries: what a victim costs does not grow with them. Steps of the policy's walk are counted.
 */
#include "support/test.h"

#include <stdlib.h>

#include "evict/evict.h"

enum { MANY = 20000, STEPS_MOST = 300, NORMAL = 0x78000000 };

static struct evict_set set;
static struct evict_entry *entries;
static const struct evict_policy *policy;
static struct evict_policy counted;
static uint64_t now;
static unsigned steps;

static struct evict_entry *count_walk_next(void *state, struct evict_walk *walk)
{
	steps++;
	return policy->walk_next(state, walk);
}

static void use(unsigned i)
{
	evict_use(&set, &entries[i], ++now);
}

/* Used in a circle: who was used last is the one that is used again last. */
static void begin_as(const struct evict_policy *judge)
{
	now = 0;
	policy = judge;
	counted = *judge;
	counted.walk_next = count_walk_next;
	entries = calloc(MANY, sizeof(*entries));
	EXPECT(entries);
	EXPECT_EQ(evict_set_init(&set, &counted), STATUS_SUCCESS);
	for (unsigned i = 0; i < MANY; i++) {
		entries[i] = (struct evict_entry){ .size_bytes = 4096,
						   .priority = NORMAL,
						   .class = EVICT_NEEDED };
		use(i);
		evict_insert(&set, &entries[i]);
	}
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < MANY; i++)
			use(i);
	}
	steps = 0;
}

static void begin(void)
{
	begin_as(&evict_adaptive);
}

static void end(void)
{
	EXPECT(!evict_set_validate(&set));
	for (unsigned i = 0; i < MANY; i++) {
		if (entries[i].is_resident)
			evict_remove(&set, &entries[i]);
		evict_forget(&entries[i]);
	}
	evict_set_finish(&set);
	free(entries);
}

#define MANY_TEST(claim) TEST_BETWEEN(begin(), end(), many, claim)

static unsigned next_victim(struct evict_walk *walk, evict_may_go *may_go)
{
	const struct evict_entry *entry = evict_walk_next(&set, walk, may_go, NULL);

	return entry ? (unsigned)(entry - entries) : MANY;
}

MANY_TEST(leftovers_that_are_rare_go_first_and_nobody_else_is_looked_at)
{
	static const unsigned let_go[] = { 12345, 7, 19999 };
	struct evict_walk walk;

	for (unsigned i = 0; i < 3; i++)
		evict_set_class(&set, &entries[let_go[i]], EVICT_LEFTOVER);
	evict_set_priority(&set, &entries[19999], 0x28000000); /* before all others */
	EXPECT(!evict_set_validate(&set));
	evict_walk_begin(&walk, now);
	EXPECT_EQ(next_victim(&walk, NULL), 19999);
	evict_remove(&set, &entries[19999]);
	EXPECT_EQ(next_victim(&walk, NULL), 12345);
	EXPECT_EQ(next_victim(&walk, NULL), 7);
	EXPECT_EQ(steps, 0);
	EXPECT(entries[next_victim(&walk, NULL)].class == EVICT_NEEDED);
	EXPECT(steps < STEPS_MOST);
}

/* The half that was used last is in the hands of who asks. */
static enum evict_answer is_of_others(const struct evict_entry *entry, void *context)
{
	(void)context;
	return entry < &entries[MANY / 2] ? EVICT_GOES : EVICT_STAYS;
}

MANY_TEST(who_may_not_have_what_was_used_last_is_not_offered_all_of_it)
{
	struct evict_walk walk;
	unsigned found = 1;

	evict_walk_begin(&walk, now);
	EXPECT(next_victim(&walk, is_of_others) < MANY / 2);
	EXPECT(steps < STEPS_MOST);
	while (next_victim(&walk, is_of_others) < MANY)
		found++;
	EXPECT_EQ(found, MANY / 2);
}

/* What was used first and what was used last is of who asks, and somebody else's is between. */
static const char asking;
static const char other;
static unsigned asked;

static enum evict_answer is_not_of_who_asks(const struct evict_entry *entry, void *context)
{
	(void)context;
	asked++;
	return entry->owner == &asking ? EVICT_OWNER_KEEPS : EVICT_GOES;
}

static void own_both_ends(void)
{
	for (unsigned i = 0; i < MANY; i++)
		evict_set_owner(&set, &entries[i],
				i < MANY / 4 || i >= MANY / 2 ? &asking : &other);
	asked = 0;
	steps = 0;
}

static void expect_few_are_asked_about(void)
{
	struct evict_walk walk;
	unsigned victims = 0;

	own_both_ends();
	for (unsigned i = 0; i < 100; i++) {
		evict_walk_begin(&walk, now);
		unsigned victim = next_victim(&walk, is_not_of_who_asks);
		EXPECT(victim >= MANY / 4 && victim < MANY / 2);
		evict_remove(&set, &entries[victim]);
	}
	EXPECT(asked < 5 * 100);
	EXPECT(steps < 5 * 100);
	evict_walk_begin(&walk, now);
	while (next_victim(&walk, is_not_of_who_asks) < MANY)
		victims++;
	EXPECT_EQ(victims, MANY / 4 - 100);
}

MANY_TEST(who_asks_is_asked_about_little_of_its_own_wherever_that_stands)
{
	expect_few_are_asked_about();
}

TEST_BETWEEN(begin_as(&evict_lru), end(), many, likewise_by_age)
{
	expect_few_are_asked_about();
}

TEST_MAIN("evict/many")
