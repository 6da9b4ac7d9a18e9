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
static struct evict_policy counted;
static uint64_t now;
static unsigned steps;

static struct evict_entry *count_walk_next(void *state, struct evict_walk *walk)
{
	steps++;
	return evict_adaptive.walk_next(state, walk);
}

static void use(unsigned i)
{
	evict_use(&set, &entries[i], ++now);
}

/* Used in a circle: who was used last is the one that is used again last. */
static void begin(void)
{
	now = 0;
	counted = evict_adaptive;
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

static unsigned next_victim(struct evict_walk *walk,
			    bool (*may_go)(const struct evict_entry *entry, void *context))
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
static bool is_of_others(const struct evict_entry *entry, void *context)
{
	(void)context;
	return entry < &entries[MANY / 2];
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

TEST_MAIN("evict/many")
