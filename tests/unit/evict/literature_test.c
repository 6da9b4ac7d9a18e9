/* SPDX-License-Identifier: MIT */
/*
 * literature_test.c - the policies of the literature do what their papers say, on sequences small
 * enough to follow by hand.
 *
 * The segment has ten pages and every entry is one page, unless said otherwise. Letters are uses;
 * the row below says who had to leave for each, `.' for nobody.
 */
#include <string.h>

#include "evict/evict.h"
#include "support/test.h"

enum { PAGE = 4096, LETTERS = 26, NORMAL = 0x78000000 };

static struct evict_set set;
static struct evict_entry entries[LETTERS];
static uint64_t segment_pages;
static uint64_t used_pages;
static uint64_t now;

static void begin(const struct evict_policy *policy, uint64_t pages)
{
	memset(entries, 0, sizeof(entries));
	segment_pages = pages;
	used_pages = 0;
	now = 0;
	for (int i = 0; i < LETTERS; i++) {
		entries[i].size_bytes = PAGE;
		entries[i].priority = NORMAL;
		entries[i].class = EVICT_NEEDED;
	}
	EXPECT_EQ(evict_set_init(&set, policy), STATUS_SUCCESS);
}

static void end(void)
{
	EXPECT(!evict_set_validate(&set));
	for (int i = 0; i < LETTERS; i++) {
		if (entries[i].is_resident)
			evict_remove(&set, &entries[i]);
		evict_forget(&entries[i]);
	}
	evict_set_finish(&set);
}

/* Who had to leave, the last of them; '.': nobody. */
static char use(char letter)
{
	struct evict_entry *entry = &entries[letter - 'a'];
	uint64_t pages = entry->size_bytes / PAGE;
	struct evict_walk walk;
	char left = '.';

	evict_use(&set, entry, ++now);
	if (entry->is_resident)
		return left;
	if (used_pages + pages > segment_pages)
		evict_walk_begin(&walk, now);
	while (used_pages + pages > segment_pages) {
		struct evict_entry *victim = evict_walk_next(&set, &walk, NULL, NULL);

		evict_remove(&set, victim);
		used_pages -= victim->size_bytes / PAGE;
		left = (char)('a' + (victim - entries));
	}
	evict_insert(&set, entry);
	used_pages += pages;
	return left;
}

static void expect(const char *uses, const char *left)
{
	char seen[64] = { 0 };

	EXPECT(strlen(uses) < sizeof(seen));
	for (size_t i = 0; uses[i] != '\0'; i++)
		seen[i] = use(uses[i]);
	EXPECT_STR(seen, left);
	EXPECT(!evict_set_validate(&set));
}

/* The hand takes bits and does not move what it passes; what is new is at the other end. */
TEST(sieve, the_hand_stays_behind_the_one_that_went)
{
	begin(&evict_sieve, 4);
	/* b's bit is not set: a loses its own, b goes, the hand stands at c. */
	expect("abcd"
	       "ac"
	       "e",
	       "...."
	       ".."
	       "b");
	/* c loses its bit, d goes; the hand goes on to what is new, and a is never looked at. */
	expect("fgh", "def");
	end();
}

/* A tenth of ten pages is one: what is new passes by, unless it is used twice there. */
TEST(s3_fifo, what_is_not_used_twice_soon_leaves_from_the_small_queue)
{
	begin(&evict_s3_fifo, 10);
	expect("abcdefghij"
	       "aabb"
	       "klm",
	       ".........."
	       "...."
	       "cde");
	/* c is a ghost: it comes to the main queue, and stays while others that are new leave. */
	expect("c"
	       "nopq",
	       "f"
	       "ghij");
	end();
}

/* What was used in the main queue goes round once more for each use. */
TEST(s3_fifo, the_main_queue_goes_round)
{
	begin(&evict_s3_fifo, 10);
	/* All go on to the main queue, and what they were used before does not count there. */
	expect("abcdefghij"
	       "aabbccddeeffgghhiijj"
	       "k",
	       ".........."
	       "...................."
	       "a");
	/* One page is what the small queue may have: the main queue gives. */
	expect("b"
	       "l",
	       "."
	       "c");
	expect("mn", "kl");
	end();
}

/* A quarter of eight is two; a second use of what is new says nothing. */
TEST(two_queues, what_came_back_as_a_ghost_is_in_the_main_queue)
{
	begin(&evict_2q, 8);
	expect("abcdefgh"
	       "aaa"
	       "ij",
	       "........"
	       "..."
	       "ab");
	/* Half a segment of ghosts: they come back to the main queue. */
	expect("abcdef", "cdefgh");
	/* Two that are new are left, as many as may be: the main queue gives the oldest use. */
	expect("a"
	       "kl",
	       "."
	       "bi");
	end();
}

/* Ghosts say which of the two queues should have been longer. */
TEST(arc, what_was_used_again_stays_while_others_pass_by)
{
	begin(&evict_arc, 4);
	expect("abcd"
	       "ab"
	       "efgh",
	       "...."
	       ".."
	       "cdef");
	/* e comes back: what is used once gets a page, so one of the others goes for it. */
	expect("e", "g");
	/* So does f. Then a says that this was too much. */
	expect("fab", "ah.");
	end();
}

/* A loop a little too long: those that are near stay, the far ones pass through one page. */
TEST(lirs, in_a_loop_the_near_ones_stay)
{
	begin(&evict_lirs, 4);
	/* 99 of 100 of four pages are three whole ones. */
	expect("abcd"
	       "e",
	       "...."
	       "a");
	expect("bcd", "...");
	end();
}

TEST(lirs, what_comes_back_soon_is_near)
{
	begin(&evict_lirs, 4);
	expect("abcde", "....a");
	/* a is a ghost that is no longer in the stack; e still is when it is used again. */
	expect("e"
	       "f"
	       "b",
	       "."
	       "b"
	       "f");
	end();
}

/* Of two that were used as often the one not used for longest goes. */
TEST(lfu, every_use_counts_for_ever)
{
	begin(&evict_lfu, 3);
	expect("aaabbc"
	       "d"
	       "cc"
	       "d",
	       "......"
	       "c"
	       "d."
	       "b");
	end();
}

TEST(w_tinylfu, what_is_new_does_not_drive_out_what_is_used_more)
{
	begin(&evict_w_tinylfu, 4);
	expect("abcd"
	       "abcd"
	       "efgh",
	       "...."
	       "...."
	       "defg");
	/* Used more often than the first on probation, h goes on, and that one goes instead. */
	expect("hhh"
	       "i",
	       "..."
	       "a");
	end();
}

/* A large one goes before a small one that is used as often. */
TEST(gdsf, size_divides_and_the_clock_goes_on)
{
	begin(&evict_gdsf, 6);
	entries['b' - 'a'].size_bytes = 4 * PAGE;
	expect("ab"
	       "b"
	       "cd",
	       ".."
	       "."
	       ".b");
	/* b went at 2 / 4: what comes now begins there and is ahead of a and c at last. */
	expect("efgh"
	       "i",
	       "...a"
	       "c");
	end();
}

/* What is used at once again and again is worth more than what passes by, however much time there is between uses. */
TEST(lhd, learns_which_ages_are_hits)
{
	static const uint64_t steps[] = { 1, 1 << 22 };

	for (size_t i = 0; i < 2; i++) {
		unsigned kept = 0;

		begin(&evict_lhd, 10);
		for (int round = 0; round < 3000; round++) {
			for (char letter = 'a'; letter < 'f'; letter++, now += steps[i] - 1)
				use(letter);
			use((char)('f' + round % 20));
		}
		for (int j = 0; j < 5; j++)
			kept += entries[j].is_resident;
		EXPECT_EQ(kept, 5);
		end();
	}
}

/* A loop of twelve through ten: whoever goes by age misses all of them. */
TEST(lhd, in_a_loop_most_stay)
{
	unsigned misses = 0;

	begin(&evict_lhd, 10);
	for (int i = 0; i < 12 * 1000; i++) {
		bool is_late = i >= 12 * 500;
		bool was_resident = entries[i % 12].is_resident;

		use((char)('a' + i % 12));
		misses += is_late && !was_resident;
	}
	EXPECT(misses >= 2 * 500);
	EXPECT(misses < 5 * 500);
	end();
}

TEST_MAIN("evict/literature")
