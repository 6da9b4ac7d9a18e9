/* SPDX-License-Identifier: MIT */
/*
 * evict_test.c - in which order residents go, from the contract, for every policy.
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support/failing.h"
#include "support/test.h"
#include "evict/evict.h"
#include "evict/ranked.h"

enum { ENTRIES = 60, NORMAL = 0x78000000 };

static struct evict_set set;
static struct evict_entry entries[ENTRIES];
static uint64_t now;

static void begin(const struct evict_policy *policy)
{
	now = 0;
	memset(entries, 0, sizeof(entries));
	for (int i = 0; i < ENTRIES; i++) {
		entries[i].size_bytes = 4096 * (uint64_t)(i + 1);
		entries[i].priority = NORMAL;
		entries[i].class = EVICT_NEEDED;
	}
	EXPECT_EQ(evict_set_init(&set, policy), STATUS_SUCCESS);
}

static void end(void)
{
	EXPECT(!evict_set_validate(&set));
	for (int i = 0; i < ENTRIES; i++) {
		if (entries[i].is_resident)
			evict_remove(&set, &entries[i]);
		evict_forget(&entries[i]);
	}
	EXPECT_EQ(set.entry_count, 0);
	evict_set_finish(&set);
}

static void use(int i)
{
	evict_use(&set, &entries[i], ++now);
	if (!entries[i].is_resident)
		evict_insert(&set, &entries[i]);
}

static const char owners[3]; /* the last one gives nothing to who asks for what is not busy */

static enum evict_answer is_not_busy(const struct evict_entry *entry, void *context)
{
	const bool *is_busy = context;

	if (entry->class == EVICT_NEEDED && entry->owner == &owners[2])
		return EVICT_OWNER_KEEPS;
	return is_busy[entry - entries] ? EVICT_STAYS : EVICT_GOES;
}

/* The order in which they would go; returns how many. */
static int victims(int order[ENTRIES], const bool *is_busy)
{
	struct evict_walk walk;
	struct evict_entry *entry;
	int count = 0;

	evict_walk_begin(&walk, now);
	while ((entry = evict_walk_next(&set, &walk, is_busy ? is_not_busy : NULL,
					(void *)(uintptr_t)is_busy))) {
		EXPECT(count < ENTRIES);
		order[count++] = (int)(entry - entries);
	}
	EXPECT(!evict_walk_next(&set, &walk, NULL, NULL));
	return count;
}

static void expect_order(const int *expected, int count)
{
	int order[ENTRIES];

	EXPECT_EQ(victims(order, NULL), count);
	for (int i = 0; i < count; i++)
		EXPECT_EQ(order[i], expected[i]);
	EXPECT(!evict_set_validate(&set));
}

/* Whatever the policy. */

TEST(evict, an_empty_segment_has_no_victims)
{
	for (size_t p = 0; evict_policies[p]; p++) {
		begin(evict_policies[p]);
		expect_order(NULL, 0);
		end();
	}
}

TEST(evict, offers_go_before_leftovers_and_those_before_listed_ones)
{
	static const enum evict_class classes[] = { EVICT_NEEDED, EVICT_LEFTOVER,
						    EVICT_OFFERED_HIGH, EVICT_OFFERED_NORMAL,
						    EVICT_OFFERED_LOW };

	for (size_t p = 0; evict_policies[p]; p++) {
		begin(evict_policies[p]);
		for (int i = 0; i < 5; i++)
			use(i);
		for (int i = 0; i < 5; i++)
			evict_set_class(&set, &entries[i], classes[i]);
		expect_order((const int[]){ 4, 3, 2, 1, 0 }, 5);
		end();
	}
}

TEST(evict, the_oldest_offer_of_a_class_goes_first_however_it_was_used)
{
	for (size_t p = 0; evict_policies[p]; p++) {
		begin(evict_policies[p]);
		for (int i = 0; i < 4; i++)
			use(i);
		evict_set_class(&set, &entries[2], EVICT_OFFERED_NORMAL);
		evict_set_class(&set, &entries[0], EVICT_OFFERED_NORMAL);
		evict_set_class(&set, &entries[3], EVICT_OFFERED_NORMAL);
		evict_set_class(&set, &entries[1], EVICT_LEFTOVER);
		use(2);
		expect_order((const int[]){ 2, 0, 3, 1 }, 4);
		/* Offered again: its offer is the youngest. */
		evict_set_class(&set, &entries[2], EVICT_OFFERED_NORMAL);
		expect_order((const int[]){ 0, 3, 2, 1 }, 4);
		end();
	}
}

TEST(evict, lower_priority_goes_first_whatever_the_use)
{
	static const uint32_t priorities[] = { 0xc8000000, 0x28000000, 0xa0000000, 0x50000000,
					       0x78000000 };

	for (size_t p = 0; evict_policies[p]; p++) {
		begin(evict_policies[p]);
		for (int i = 0; i < 5; i++) {
			entries[i].priority = priorities[i];
			use(i);
		}
		expect_order((const int[]){ 1, 3, 4, 2, 0 }, 5);
		evict_set_priority(&set, &entries[1], 0xffffffff);
		evict_set_priority(&set, &entries[4], 0x28000001);
		evict_remove(&set, &entries[0]);
		expect_order((const int[]){ 4, 3, 2, 1 }, 4);
		end();
	}
}

TEST(evict, busy_ones_are_left_out_and_stay_where_they_are)
{
	for (size_t p = 0; evict_policies[p]; p++) {
		bool is_busy[ENTRIES] = { false };
		int order[ENTRIES];

		begin(evict_policies[p]);
		for (int i = 0; i < 6; i++)
			use(i);
		evict_set_class(&set, &entries[5], EVICT_OFFERED_LOW);
		is_busy[5] = is_busy[0] = is_busy[2] = true;
		EXPECT_EQ(victims(order, is_busy), 3);
		for (int i = 0; i < 3; i++)
			EXPECT(!is_busy[order[i]]);
		EXPECT_EQ(victims(order, NULL), 6);
		EXPECT_EQ(order[0], 5);
		end();
	}
}

TEST(evict, the_one_returned_may_leave_before_the_next_is_asked_for)
{
	for (size_t p = 0; evict_policies[p]; p++) {
		struct evict_walk walk;
		int left = 0;

		begin(evict_policies[p]);
		for (int round = 0; round < 3; round++) {
			for (int i = 0; i < ENTRIES; i++)
				use(i);
		}
		for (int i = 0; i < 20; i++)
			evict_set_class(&set, &entries[i], (enum evict_class)(i % 4));
		evict_walk_begin(&walk, now);
		for (struct evict_entry *entry;
		     (entry = evict_walk_next(&set, &walk, NULL, NULL)) != NULL; left++) {
			if (left % 3 != 0)
				evict_remove(&set, entry);
		}
		EXPECT_EQ(left, ENTRIES);
		EXPECT_EQ(set.entry_count, ENTRIES / 3);
		end();
	}
}

#define EVICT_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, end(), suite, claim)

/* Offered ones hang in the set, needed ones with the policy. */
EVICT_TEST(evict, who_hangs_where_it_does_not_belong_is_found, begin(&evict_adaptive))
{
	use(0);
	use(1);
	evict_set_class(&set, &entries[1], EVICT_OFFERED_HIGH);
	for (int i = 0; i < 2; i++) {
		entries[i].is_resident = false;
		EXPECT_CONTAINS(evict_set_validate(&set), "wrong list");
		entries[i].is_resident = true;
	}
	entries[0].list++;
	EXPECT_CONTAINS(evict_set_validate(&set), "wrong list");
	entries[0].list--;
	entries[1].class = EVICT_OFFERED_LOW;
	EXPECT_CONTAINS(evict_set_validate(&set), "wrong list");
	entries[1].class = EVICT_OFFERED_HIGH;
}

EVICT_TEST(evict, leftovers_that_hang_where_they_do_not_belong_are_found, begin(&evict_adaptive))
{
	struct evict_entry *leftover = &entries[0];

	use(0);
	evict_set_class(&set, leftover, EVICT_LEFTOVER);
	EXPECT(!evict_set_validate(&set));
	leftover->is_resident = false;
	EXPECT_CONTAINS(evict_set_validate(&set), "wrong list of leftovers");
	leftover->is_resident = true;
	leftover->class = EVICT_NEEDED;
	EXPECT_CONTAINS(evict_set_validate(&set), "wrong list of leftovers");
	leftover->class = EVICT_LEFTOVER;
	leftover->priority = 0;
	EXPECT_CONTAINS(evict_set_validate(&set), "wrong list of leftovers");
	leftover->priority = NORMAL;
	set.leftover_count++;
	EXPECT_CONTAINS(evict_set_validate(&set), "miscounted");
	set.leftover_count--;
}

TEST(evict, a_size_that_changed_behind_a_policy_is_found)
{
	for (size_t p = 0; evict_policies[p]; p++) {
		begin(evict_policies[p]);
		for (int i = 0; i < 6; i++)
			use(i % 3);
		for (int i = 0; i < 3; i++) {
			entries[i].size_bytes++;
			EXPECT(evict_set_validate(&set));
			entries[i].size_bytes--;
		}
		end();
	}
}

TEST(evict, who_left_a_list_behind_its_policy_is_found)
{
	for (size_t p = 0; evict_policies[p]; p++) {
		begin(evict_policies[p]);
		use(0);
		if (entries[0].link.next) {
			list_unlink(&entries[0].link);
			EXPECT(evict_set_validate(&set));
			list_insert_between(&entries[0].link, entries[0].link.prev,
					    entries[0].link.next);
		}
		end();
	}
}

EVICT_TEST(evict, ranks_out_of_order_are_found, begin(&evict_lfu))
{
	struct evict_ranked *first = (struct evict_ranked *)entries[0].memory;

	use(0);
	use(1);
	use(1);
	double rank = first->rank;
	first->rank = 1000;
	EXPECT_CONTAINS(evict_set_validate(&set), "not in order");
	first->rank = rank;
}

/* Three of one owner next to each other: the first and the last know where the others end. */
EVICT_TEST(evict, runs_whose_ends_are_wrong_are_found, begin(&evict_adaptive))
{
	for (int i = 0; i < 3; i++) {
		entries[i].owner = &owners[0];
		use(i);
	}
	for (int i = 0; i < 3; i += 2) {
		struct list *end = entries[i].run_end;

		entries[i].run_end = &entries[1].link;
		EXPECT_CONTAINS(evict_set_validate(&set), "ends of a run");
		entries[i].run_end = end;
	}
}

static enum evict_answer is_kept_by_its_owner(const struct evict_entry *entry, void *context)
{
	(void)entry;
	++*(int *)context;
	return EVICT_OWNER_KEEPS;
}

/* What an owner keeps is what it needs: of its leftovers that says nothing. */
EVICT_TEST(evict, of_an_owner_that_keeps_its_own_each_leftover_is_asked_for, begin(&evict_adaptive))
{
	struct evict_walk walk;
	int asked = 0;

	for (int i = 0; i < 20; i++) {
		entries[i].owner = &owners[0];
		use(i);
		if (i >= 10)
			evict_set_class(&set, &entries[i], EVICT_LEFTOVER);
	}
	evict_walk_begin(&walk, now);
	EXPECT(!evict_walk_next(&set, &walk, is_kept_by_its_owner, &asked));
	EXPECT_EQ(asked, 10 + 1);
}

static struct evict_belief belief_of(int i)
{
	return evict_adaptive.believe(entries[i].band->state, &entries[i], now);
}

/* What comes in is no use of it; what cost more than LRU would have is not believed for a while. */
EVICT_TEST(belief, of_what_was_never_used_and_of_what_was_paid_for_is_its_age,
	   begin(&evict_adaptive))
{
	struct evict_walk walk;

	for (int i = 0; i < 10; i++)
		use(i);
	evict_insert(&set, &entries[10]);
	EXPECT_STR(belief_of(10).kind, "new");
	EXPECT(belief_of(10).wait == (double)now);
	EXPECT_STR(belief_of(9).kind, "once");
	evict_walk_begin(&walk, now); /* somebody needs room: it is full */
	EXPECT(evict_walk_next(&set, &walk, NULL, NULL) != NULL);
	evict_remove(&set, &entries[9]);
	use(9); /* LRU would have kept it */
	EXPECT_STR(belief_of(9).kind, "by age");
	EXPECT(belief_of(0).wait == (double)(now - 1));
}

EVICT_TEST(evict, bytes_of_each_class_are_counted, begin(&evict_adaptive))
{
	use(0);
	use(1);
	EXPECT_EQ(set.class_bytes[EVICT_NEEDED], 3 * 4096);
	evict_set_class(&set, &entries[1], EVICT_OFFERED_HIGH);
	EXPECT_EQ(set.class_bytes[EVICT_NEEDED], 4096);
	EXPECT_EQ(set.class_bytes[EVICT_OFFERED_HIGH], 2 * 4096);
	set.class_bytes[EVICT_OFFERED_HIGH]++;
	EXPECT(evict_set_validate(&set));
	set.class_bytes[EVICT_OFFERED_HIGH]--;
	set.class_bytes[EVICT_NEEDED]--;
	EXPECT(evict_set_validate(&set));
	set.class_bytes[EVICT_NEEDED]++;
	set.entry_count++;
	EXPECT(evict_set_validate(&set));
	set.entry_count--;
}

EVICT_TEST(evict, what_is_in_no_segment_can_be_used_offered_and_ranked, begin(&evict_adaptive))
{
	evict_use(&set, &entries[0], 5);
	evict_set_class(&set, &entries[0], EVICT_OFFERED_LOW);
	evict_set_priority(&set, &entries[0], 1);
	EXPECT_EQ(set.entry_count, 0);
}

TEST(evict, an_automatic_offer_is_as_urgent_as_its_priority)
{
	EXPECT_EQ(evict_class_of_auto_offer(0x28000000), EVICT_OFFERED_LOW);
	EXPECT_EQ(evict_class_of_auto_offer(0x77ffffff), EVICT_OFFERED_LOW);
	EXPECT_EQ(evict_class_of_auto_offer(0x78000000), EVICT_OFFERED_NORMAL);
	EXPECT_EQ(evict_class_of_auto_offer(0x78000001), EVICT_OFFERED_HIGH);
	EXPECT_EQ(evict_class_of_auto_offer(0xc8000000), EVICT_OFFERED_HIGH);
}

TEST(evict, policies_have_names)
{
	EXPECT(evict_policy_find("lru") == &evict_lru);
	EXPECT(evict_policy_find("adaptive") == &evict_adaptive);
	EXPECT(evict_policy_find("s3-fifo") == &evict_s3_fifo);
	for (size_t p = 0; evict_policies[p]; p++)
		EXPECT(evict_policy_find(evict_policies[p]->name) == evict_policies[p]);
	EXPECT(!evict_policy_find("LRU"));
}

TEST(evict, no_memory_is_a_status)
{
	EXPECT_EACH_FAILURE_TOLD(EVICT_BAND_COUNT, evict_set_init(&set, &evict_adaptive),
				 evict_set_finish(&set));
}

/* Each policy's own. */

EVICT_TEST(lru, what_was_not_used_for_longest_goes_first, begin(&evict_lru))
{
	for (int i = 0; i < 5; i++)
		use(i);
	use(1);
	use(0);
	expect_order((const int[]){ 2, 3, 4, 1, 0 }, 5);
}

EVICT_TEST(adaptive, without_a_pattern_the_oldest_goes_first, begin(&evict_adaptive))
{
	for (int i = 0; i < 5; i++)
		use(i);
	expect_order((const int[]){ 0, 1, 2, 3, 4 }, 5);
}

EVICT_TEST(adaptive, in_a_cycle_what_was_just_used_goes_first, begin(&evict_adaptive))
{
	for (int frame = 0; frame < 4; frame++) {
		for (int i = 0; i < 6; i++)
			use(i);
	}
	expect_order((const int[]){ 5, 4, 3, 2, 1, 0 }, 6);
}

EVICT_TEST(adaptive, what_is_let_go_after_each_use_goes_by_its_next_one, begin(&evict_adaptive))
{
	int order[ENTRIES];

	for (int frame = 0; frame < 8; frame++) {
		for (int i = 0; i < 20; i++) {
			evict_set_class(&set, &entries[i], EVICT_NEEDED);
			use(i);
			evict_set_class(&set, &entries[i], EVICT_LEFTOVER);
		}
	}
	/* The last of a frame is needed again last. */
	EXPECT_EQ(victims(order, NULL), 20);
	EXPECT_EQ(order[0], 19);
	EXPECT_EQ(order[19], 0);
	/* What is listed goes behind all of them. */
	evict_set_class(&set, &entries[19], EVICT_NEEDED);
	EXPECT_EQ(victims(order, NULL), 20);
	EXPECT_EQ(order[0], 18);
	EXPECT_EQ(order[19], 19);
}

EVICT_TEST(adaptive, what_fell_out_of_the_cycle_goes_before_the_rest, begin(&evict_adaptive))
{
	int order[ENTRIES];

	for (int frame = 0; frame < 8; frame++) {
		for (int i = 0; i < 20; i++) {
			if (i != 7 || frame < 4)
				use(i);
		}
	}
	EXPECT_EQ(victims(order, NULL), 20);
	EXPECT_EQ(order[0], 7);
}

EVICT_TEST(adaptive, what_was_used_once_goes_before_what_is_used_often, begin(&evict_adaptive))
{
	int order[ENTRIES];

	for (int frame = 0; frame < 10; frame++) {
		for (int i = 0; i < 10; i++)
			use(i);
		use(10 + frame);
	}
	EXPECT_EQ(victims(order, NULL), 20);
	EXPECT_EQ(order[0], 10);
}

TEST(adaptive, who_comes_back_after_a_while_is_expected_then)
{
	int order[ENTRIES];

	/* 0 to 9 rest while 10 to 19 are used, and the other way round. */
	begin(&evict_adaptive);
	for (int turn = 0; turn < 6; turn++) {
		for (int frame = 0; frame < 10; frame++) {
			for (int i = 0; i < 10; i++)
				use(turn % 2 * 10 + i);
		}
	}
	/* It was the turn of 10 to 19; they would go on, were it not over. */
	for (int i = 0; i < 20; i++)
		use(i % 10);
	EXPECT_EQ(victims(order, NULL), 20);
	for (int i = 0; i < 10; i++)
		EXPECT(order[i] >= 10);
	end();
}

/* Random use against a model that sorts everything anew each time. */

static struct {
	bool is_resident;
	uint64_t arrival; /* in its class, or last use */
} model[ENTRIES];

static int band_of(uint32_t priority)
{
	static const uint32_t bands[] = { 0x50000000, 0x78000000, 0xa0000000, 0xc8000000 };
	int band = 0;

	while (band < 4 && priority >= bands[band])
		band++;
	return band;
}

/* Leftovers and needed ones are in the policy's order. */
static bool is_ordered(int i)
{
	return entries[i].class >= EVICT_LEFTOVER;
}

static int rank_of(int i)
{
	return (int)entries[i].class * 8 + (is_ordered(i) ? band_of(entries[i].priority) : 0);
}

static int compare_model(const void *a, const void *b)
{
	int left = *(const int *)a;
	int right = *(const int *)b;

	if (rank_of(left) != rank_of(right))
		return rank_of(left) - rank_of(right);
	return model[left].arrival < model[right].arrival ? -1 : 1;
}

static void random_owner(struct random *random, int i)
{
	const void *owner = &owners[random_below(random, ARRAY_SIZE(owners))];

	if (entries[i].owner != owner && is_ordered(i))
		model[i].arrival = now;
	evict_set_owner(&set, &entries[i], owner);
}

static void random_step(struct random *random)
{
	int i = (int)random_below(random, ENTRIES);
	bool was_ordered = is_ordered(i);
	int rank = rank_of(i);

	now++;
	switch (random_below(random, 8)) {
	case 0:
		random_owner(random, i);
		break;
	case 3:
		if (entries[i].is_resident)
			evict_remove(&set, &entries[i]);
		model[i].is_resident = false;
		break;
	case 1:
		evict_set_class(&set, &entries[i],
				(enum evict_class)random_below(random, EVICT_CLASS_COUNT));
		if (!was_ordered || !is_ordered(i))
			model[i].arrival = now;
		break;
	case 2:
		evict_set_priority(&set, &entries[i], (uint32_t)random_next(random));
		if (was_ordered && rank_of(i) != rank)
			model[i].arrival = now;
		break;
	default:
		evict_use(&set, &entries[i], now);
		if (was_ordered || !model[i].is_resident)
			model[i].arrival = now;
		if (!entries[i].is_resident)
			evict_insert(&set, &entries[i]);
		model[i].is_resident = true;
		break;
	}
}

static bool is_kept(int i)
{
	return entries[i].class == EVICT_NEEDED && entries[i].owner == &owners[2];
}

static void check_against_model(struct random *random)
{
	bool is_busy[ENTRIES];
	bool is_seen[ENTRIES] = { false };
	int order[ENTRIES];
	int expected[ENTRIES];
	int count = 0;

	for (int i = 0; i < ENTRIES; i++) {
		is_busy[i] = random_below(random, 4) == 0 || is_kept(i);
		if (model[i].is_resident && !is_busy[i])
			expected[count++] = i;
	}
	qsort(expected, (size_t)count, sizeof(expected[0]), compare_model);
	EXPECT_EQ(victims(order, is_busy), count);
	for (int i = 0; i < count; i++) {
		EXPECT(!is_seen[order[i]] && model[order[i]].is_resident && !is_busy[order[i]]);
		is_seen[order[i]] = true;
		EXPECT_EQ(rank_of(order[i]), rank_of(expected[i]));
		if (set.policy == &evict_lru || !is_ordered(order[i]))
			EXPECT_EQ(order[i], expected[i]);
	}
	EXPECT(!evict_set_validate(&set));
}

TEST(evict, random_use_agrees_with_a_model_that_sorts)
{
	for (size_t p = 0; evict_policies[p]; p++) {
		struct random random;

		random_init(&random, 11 + p);
		memset(model, 0, sizeof(model));
		begin(evict_policies[p]);
		for (int step = 0; step < 20000; step++) {
			random_step(&random);
			if (step % 7 == 0)
				check_against_model(&random);
		}
		end();
	}
}

TEST_MAIN("evict/evict")
