/* SPDX-License-Identifier: MIT */
/*
 * machine_exchange_test.c - pages change their address and are seen as before by who is shown them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/writer.h"
#include "base/machine_exchange.h"
#include "base/random.h"
#include "base/thread.h"
#include "machine_pages.h"

enum { ENOUGH = 64 };

static char *byte_at(uint64_t address, uint64_t page)
{
	return machine_to_pointer(at(address, page));
}

static void mark(uint64_t address, char first)
{
	for (unsigned i = 0; i < PAGES; i++)
		*byte_at(address, i) = (char)(first + (int)i);
}

/* Which ones are there. */
static void expect_marks(uint64_t address, const char *marks)
{
	for (unsigned i = 0; i < PAGES; i++)
		EXPECT_EQ(*byte_at(address, i), marks[i]);
}

struct pair {
	uint64_t a;
	uint64_t b;
};

static struct pair begin(void)
{
	struct pair pair = { .a = take(), .b = take() };

	mark(pair.a, 'a');
	mark(pair.b, 'A');
	EXPECT(machine_reserve_mappings(ENOUGH));
	return pair;
}

#define PAIR_TEST(suite, claim, ...)                                                               \
	TEST_MADE(pair, pair, (__VA_ARGS__), finish(pair), suite, claim)

/* With the last of them everything is where it was at first. */
static void finish(struct pair pair)
{
	EXPECT(machine_free_contiguous(pair.a));
	EXPECT(machine_free_contiguous(pair.b));
	EXPECT_EQ(machine_exchange_usage().displaced_pages, 0);
	EXPECT_EQ(machine_exchange_usage().mappings, 0);
	machine_release_mappings(ENOUGH);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	machine_finish();
	EXPECT_EQ(machine_exchange_usage().max_mappings, 0);
}

PAIR_TEST(exchange, addresses_show_the_other_pages_and_back, begin())
{
	EXPECT(machine_exchange(pair->a, pair->b, PAGES));
	expect_marks(pair->a, "ABCDEFGH");
	expect_marks(pair->b, "abcdefgh");
	EXPECT_EQ(machine_exchange_usage().displaced_pages, 2 * PAGES);
	EXPECT(machine_exchange(pair->b, pair->a, PAGES));
	expect_marks(pair->a, "abcdefgh");
	expect_marks(pair->b, "ABCDEFGH");
	EXPECT_EQ(machine_exchange_usage().displaced_pages, 0);
	EXPECT_EQ(machine_exchange_usage().mappings, 0);
}

PAIR_TEST(exchange, of_parts_leaves_the_rest, begin())
{
	EXPECT(machine_exchange(at(pair->a, 1), at(pair->b, 3), 2));
	expect_marks(pair->a, "aDEdefgh");
	expect_marks(pair->b, "ABCbcFGH");
	EXPECT(machine_exchange(at(pair->a, 2), at(pair->b, 0), 4));
	expect_marks(pair->a, "aDABCbgh");
	expect_marks(pair->b, "EdefcFGH");
}

/* A client's view: made before, during and after. */
PAIR_TEST(exchange, who_is_shown_a_page_keeps_seeing_it, begin())
{
	char *view = machine_show(NULL, pair->a, PAGES * MACHINE_PAGE_BYTES);

	EXPECT(view);
	EXPECT(machine_exchange(at(pair->a, 2), at(pair->b, 5), 3));
	for (unsigned i = 0; i < PAGES; i++)
		EXPECT_EQ(view[i * MACHINE_PAGE_BYTES], 'a' + (char)i);
	view[2 * MACHINE_PAGE_BYTES] = '2';
	EXPECT_EQ(*byte_at(pair->b, 5), '2');
	munmap(view, PAGES * MACHINE_PAGE_BYTES);

	view = machine_show(NULL, pair->a, PAGES * MACHINE_PAGE_BYTES);
	EXPECT(view);
	for (unsigned i = 0; i < PAGES; i++)
		EXPECT_EQ(view[i * MACHINE_PAGE_BYTES], "abFGHfgh"[i]);
	munmap(view, PAGES * MACHINE_PAGE_BYTES);
}

PAIR_TEST(exchange, freed_pages_are_zero_for_the_next_one_and_the_others_stay, begin())
{
	EXPECT(machine_exchange(pair->a, pair->b, PAGES));
	EXPECT(machine_free_contiguous(pair->b));
	expect_marks(pair->a, "ABCDEFGH");
	pair->b = take();
	for (unsigned i = 0; i < PAGES; i++)
		EXPECT_EQ(*byte_at(pair->b, i), 0);
	expect_marks(pair->a, "ABCDEFGH");
}

/* As a segment does, whose addresses are never freed. */
PAIR_TEST(exchange, settled_addresses_get_their_pages_back_from_where_nobody_is, begin())
{
	uint64_t third = take();

	mark(third, '1');
	EXPECT(machine_exchange(pair->a, pair->b, PAGES));
	EXPECT(machine_exchange(pair->a, third, PAGES));
	/* b is in use: what belongs to a is there, and what is at a belongs to the third. */
	machine_settle(pair->a, PAGES);
	expect_marks(pair->a, "12345678");
	expect_marks(third, "ABCDEFGH");
	expect_marks(pair->b, "abcdefgh");
	EXPECT(machine_free_contiguous(pair->b));
	EXPECT_EQ(machine_exchange_usage().displaced_pages, 3 * PAGES);
	machine_settle(pair->a, PAGES);
	EXPECT_EQ(machine_exchange_usage().displaced_pages, 2 * PAGES);
	pair->b = take();
	expect_marks(third, "ABCDEFGH");
	EXPECT(machine_free_contiguous(third));
}

static uint64_t mappings_of_the_window(void)
{
	uintptr_t first = (uintptr_t)machine_to_pointer(MACHINE_FIRST);
	uintptr_t end = first + machine_usage().total_pages * MACHINE_PAGE_BYTES;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t count = 0;

	EXPECT(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start = strtoull(line, NULL, 16);

		count += start >= first && start < end;
	}
	fclose(maps);
	return count;
}

/* What is written down against what the host has, and contents against a copy of the books. */
PAIR_TEST(exchange, any_number_of_them_is_kept_account_of, begin())
{
	char marks[2][PAGES + 1] = { "abcdefgh", "ABCDEFGH" };
	struct random random;

	random_init(&random, 7);
	for (unsigned i = 0; i < 300; i++) {
		uint64_t count = 1 + random_below(&random, PAGES);
		uint64_t from = random_below(&random, PAGES - count + 1);
		uint64_t to = random_below(&random, PAGES - count + 1);
		char kept[PAGES];

		EXPECT(machine_exchange(at(pair->a, from), at(pair->b, to), count));
		memcpy(kept, marks[0] + from, count);
		memcpy(marks[0] + from, marks[1] + to, count);
		memcpy(marks[1] + to, kept, count);
		expect_marks(pair->a, marks[0]);
		expect_marks(pair->b, marks[1]);
		EXPECT_EQ(machine_exchange_usage().mappings + 1, mappings_of_the_window());
	}
}

TEST(exchange, needs_mappings_of_which_there_is_a_limited_number)
{
	setenv("DXGK_EXCHANGE_MAPPINGS", "10", 1);
	uint64_t address = take();

	EXPECT(!machine_reserve_mappings(11));
	EXPECT(machine_reserve_mappings(6));
	EXPECT(!machine_reserve_mappings(5));
	EXPECT(machine_exchange(at(address, 1), at(address, 4), 1));
	EXPECT_EQ(machine_exchange_usage().mappings, 4);
	EXPECT(!machine_reserve_mappings(1));
	machine_release_mappings(6);
	EXPECT(machine_reserve_mappings(6));
	EXPECT(!machine_reserve_mappings(1));
	machine_release_mappings(6);
	EXPECT(machine_free_contiguous(address));
	machine_finish();
	unsetenv("DXGK_EXCHANGE_MAPPINGS");
}

/* ---- while somebody writes ---- */

PAIR_TEST(exchange, no_store_is_lost_while_pages_come_and_go, begin())
{
	struct writer writer = { .page_count = PAGES };
	uint64_t *words;

	memset(machine_to_pointer(pair->a), 0, PAGES * MACHINE_PAGE_BYTES);
	words = machine_show(NULL, pair->a, PAGES * MACHINE_PAGE_BYTES);
	EXPECT(words);
	writer_start(&writer, words);
	for (unsigned i = 0; i < 2000; i++)
		EXPECT(machine_exchange(pair->a, pair->b, PAGES));
	writer_stop(&writer);
	for (unsigned i = 0; i < PAGES; i++)
		EXPECT_EQ(*(uint64_t *)(void *)byte_at(pair->a, i), writer.count);
	munmap(words, PAGES * MACHINE_PAGE_BYTES);
}

TEST_MAIN("base/machine_exchange")
