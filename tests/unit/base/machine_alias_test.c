/* SPDX-License-Identifier: MIT */
/*
 * machine_alias_test.c - what is seen at pages at which simulated hardware shows others.
 */
#include "base/machine_alias.h"
#include "base/mem.h"
#include "machine_pages.h"

/* Of all pages from there on: how many follow each other, and where. */
static uint64_t behind(uint64_t address, uint64_t *first_out)
{
	uint64_t pfn;
	uint64_t count = machine_behind(address >> MACHINE_PAGE_SHIFT, PAGES, &pfn);

	*first_out = pfn << MACHINE_PAGE_SHIFT;
	return count;
}

static void finish(uint64_t window, uint64_t memory)
{
	EXPECT(machine_free_contiguous(window));
	EXPECT(machine_free_contiguous(memory));
	machine_finish();
}

TEST(alias, pages_are_themselves_at_first)
{
	uint64_t window = take();
	uint64_t memory = take();
	uint64_t first;

	EXPECT_EQ(behind(window, &first), PAGES);
	EXPECT_EQ(first, window);
	finish(window, memory);
}

TEST(alias, neighbours_are_found_together)
{
	uint64_t window = take();
	uint64_t memory = take();
	uint64_t first;

	for (uint64_t i = 0; i < 3; i++)
		EXPECT(machine_alias(at(window, i), at(memory, 4 + i)));
	EXPECT(machine_alias(at(window, 3), memory));
	EXPECT_EQ(behind(window, &first), 3);
	EXPECT_EQ(first, at(memory, 4));
	EXPECT_EQ(behind(at(window, 3), &first), 1);
	EXPECT_EQ(first, memory);
	EXPECT_EQ(behind(memory, &first), PAGES);
	finish(window, memory);
}

TEST(alias, an_alias_is_changed_and_ended)
{
	uint64_t window = take();
	uint64_t memory = take();
	uint64_t first;

	EXPECT(machine_alias(window, memory));
	EXPECT(machine_alias(window, at(memory, 5)));
	EXPECT_EQ(behind(window, &first), 1);
	EXPECT_EQ(first, at(memory, 5));
	EXPECT(machine_alias(window, MACHINE_NOWHERE));
	EXPECT(machine_alias(window, MACHINE_NOWHERE));
	EXPECT_EQ(behind(window, &first), PAGES);
	EXPECT_EQ(first, window);
	finish(window, memory);
}

TEST(alias, only_pages_of_the_machine_have_one)
{
	uint64_t window = take();
	uint64_t memory = take();
	uint64_t end = MACHINE_FIRST + machine_usage().total_pages * MACHINE_PAGE_BYTES;

	EXPECT(!machine_alias(MACHINE_NOWHERE, memory));
	EXPECT(!machine_alias(end, memory));
	EXPECT(!machine_alias(window, end));
	EXPECT(!machine_alias(window, machine_foreign(&end)));
	EXPECT(!machine_alias(machine_foreign(&end), memory));
	finish(window, memory);
}

TEST(alias, without_memory_nothing_is_remembered)
{
	uint64_t window = take();
	uint64_t memory = take();
	uint64_t first;

	mem_fail_nth(1);
	EXPECT(!machine_alias(window, memory));
	mem_fail_nth(0);
	EXPECT_EQ(behind(window, &first), PAGES);
	EXPECT_EQ(first, window);
	finish(window, memory);
}

TEST_MAIN("base/machine_alias")
