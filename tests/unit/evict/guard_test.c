/* SPDX-License-Identifier: MIT */
/*
 * guard_test.c - the account of what LRU would have moved.
 */
#include <string.h>

#include "support/test.h"
#include "evict/guard.h"

enum { ENTRIES = 40, SIZE = 4096 };

static struct guard guard;
static struct evict_entry entries[ENTRIES];

static void begin(uint64_t capacity_bytes)
{
	memset(entries, 0, sizeof(entries));
	for (int i = 0; i < ENTRIES; i++)
		entries[i].size_bytes = SIZE;
	guard_init(&guard);
	guard.capacity.bytes = capacity_bytes;
}

static void use(int i)
{
	guard_use(&guard, &entries[i]);
	EXPECT(!guard_validate(&guard));
}

static bool is_in_lru(int i)
{
	return ((const struct guard_memory *)entries[i].memory)->is_in_lru;
}

static void set_resident(int i, bool is_resident)
{
	entries[i].is_ordered = is_resident;
}

TEST(guard, lru_has_what_was_used_last_as_much_as_fits)
{
	begin(3 * SIZE);
	for (int i = 0; i < 5; i++)
		use(i);
	EXPECT(!is_in_lru(0) && !is_in_lru(1) && is_in_lru(2) && is_in_lru(3) && is_in_lru(4));
	use(2);
	use(0);
	EXPECT(is_in_lru(0) && !is_in_lru(3) && is_in_lru(4) && is_in_lru(2));
	EXPECT_EQ(guard.lru_bytes, 3 * SIZE);
}

TEST(guard, what_is_larger_than_the_segment_is_there_alone)
{
	begin(3 * SIZE);
	entries[1].size_bytes = 9 * SIZE;
	use(0);
	use(1);
	EXPECT(is_in_lru(1) && !is_in_lru(0));
	use(0);
	EXPECT(is_in_lru(0) && !is_in_lru(1));
}

TEST(guard, the_first_use_of_something_is_nobodys_fault)
{
	begin(4 * SIZE);
	for (int i = 0; i < ENTRIES; i++)
		use(i);
	EXPECT_EQ(guard.owed_bytes, 0);
}

TEST(guard, what_lru_would_have_kept_is_owed_and_lru_chooses_until_half_is_paid)
{
	begin((uint64_t)10 * SIZE);
	for (int i = 0; i < 10; i++)
		use(i);
	EXPECT(!guard.is_lru);
	use(9); /* LRU has it, and it is not there */
	EXPECT_EQ(guard.owed_bytes, SIZE);
	EXPECT(guard.is_lru);

	/* LRU brings back what is there. */
	set_resident(20, true);
	use(20);
	for (int i = 0; i < 12; i++) {
		set_resident(i, true);
		use(i);
	}
	EXPECT(guard.owed_bytes < 0);
	EXPECT(!guard.is_lru);
}

TEST(guard, a_miss_of_both_pays_a_twentieth)
{
	begin(2 * SIZE);
	use(0);
	use(1);
	use(2);
	use(0);
	EXPECT_EQ(guard.owed_bytes, -(SIZE / 20));
}

TEST(guard, what_came_for_the_use_was_missed)
{
	begin((uint64_t)10 * SIZE);
	use(0);
	set_resident(0, true);
	entries[0].is_fresh = true;
	use(0);
	EXPECT_EQ(guard.owed_bytes, SIZE);
}

TEST(guard, old_merits_count_up_to_one_segment)
{
	begin(4 * SIZE);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < ENTRIES; i++) {
			set_resident(i, true);
			use(i);
		}
	}
	EXPECT_EQ(guard.owed_bytes, -4 * SIZE);
}

TEST(guard, the_segment_is_as_large_as_what_was_in_it)
{
	begin(UINT64_MAX);
	for (int i = 0; i < 6; i++) {
		use(i);
		guard_insert(&guard, &entries[i]);
	}
	guard_is_full(&guard);
	EXPECT_EQ(guard.capacity.bytes, 6 * SIZE);
	guard_remove(&guard, &entries[0]);
	guard_remove(&guard, &entries[1]);
	guard_is_full(&guard);
	EXPECT_EQ(guard.capacity.bytes, 6 * SIZE);
	guard_is_full(&guard);
	EXPECT_EQ(guard.capacity.bytes, 4 * SIZE);
}

TEST(guard, who_ends_is_forgotten_wherever_it_stands)
{
	for (int gone = 0; gone < 5; gone++) {
		begin(3 * SIZE);
		for (int i = 0; i < 5; i++)
			use(i);
		guard_forget(&guard, &entries[gone]);
		EXPECT(!guard_validate(&guard));
		guard_forget(&guard, &entries[gone]);
		EXPECT_EQ(guard.lru_bytes, gone < 2 ? 3 * SIZE : 2 * SIZE);
		use(7);
		EXPECT(is_in_lru(7));
	}
}

TEST(guard, is_recounted)
{
	begin(3 * SIZE);
	for (int i = 0; i < 5; i++)
		use(i);
	guard.lru_bytes++;
	EXPECT_CONTAINS(guard_validate(&guard), "miscounted");
	guard.lru_bytes--;
	for (int i = 0; i < 5; i++) {
		struct guard_memory *memory = (struct guard_memory *)entries[i].memory;

		memory->is_in_lru = !memory->is_in_lru;
		EXPECT_CONTAINS(guard_validate(&guard), "used last");
		memory->is_in_lru = !memory->is_in_lru;
	}
	EXPECT(!guard_validate(&guard));
}

TEST_MAIN("evict/guard")
