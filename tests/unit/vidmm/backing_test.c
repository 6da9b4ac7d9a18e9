/* SPDX-License-Identifier: MIT */
/*
 * backing_test.c - pages in runs, all or none.
 */
#include "base/machine_bank.h"
#include "world.h"

SMALL_WORLD_TEST(backing, a_fresh_machine_gives_one_run)
{
	struct vidmm_backing backing = { 0 };

	EXPECT_EQ(backing_take(&backing, NULL, 300, UINT64_MAX), STATUS_SUCCESS);
	EXPECT_EQ(backing.run_count, 1);
	EXPECT_EQ(backing_page_count(&backing), 300);
	EXPECT_EQ(mem_usage().blocks, world->usage.blocks + 2); /* the machine's own */
	backing_give(&backing);
	EXPECT_EQ(backing.run_count, 0);
	EXPECT_EQ(backing_page_count(&backing), 0);
}

SMALL_WORLD_TEST(backing, the_limit_of_a_device_is_kept)
{
	struct vidmm_backing backing = { 0 };
	uint64_t highest = MACHINE_FIRST + 2 * MIB - 1;

	EXPECT_EQ(backing_take(&backing, NULL, 2 * MIB / PAGE + 1, highest), STATUS_NO_MEMORY);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT_EQ(backing_take(&backing, NULL, 2 * MIB / PAGE, highest), STATUS_SUCCESS);
	for (uint32_t i = 0; i < backing.run_count; i++) {
		struct backing_run run = backing_runs(&backing)[i];

		EXPECT((uint64_t)(run.first_pfn + run.count) * PAGE <= highest + 1);
	}
	backing_give(&backing);
}

SMALL_WORLD_TEST(backing, many_runs_are_all_or_none)
{
	enum { SINGLES = 2000 };
	static uint64_t singles[SINGLES];
	struct vidmm_backing backing = { 0 };
	bool fired;
	unsigned fail_at = 0;

	for (int i = 0; i < SINGLES; i++)
		EXPECT_EQ(machine_bank_stretch(NULL, 1, UINT64_MAX, &singles[i]), 1);
	for (int i = 0; i < SINGLES; i += 2)
		EXPECT(machine_free_contiguous(singles[i]));
	uint64_t taken = machine_usage().taken_pages;
	uint64_t free_pages = machine_usage().total_pages - taken;

	EXPECT_EQ(backing_take(&backing, NULL, free_pages + 1, UINT64_MAX), STATUS_NO_MEMORY);
	EXPECT_EQ(machine_usage().taken_pages, taken);
	do {
		mem_fail_nth(++fail_at);
		NTSTATUS status = backing_take(&backing, NULL, free_pages, UINT64_MAX);
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT_EQ(machine_usage().taken_pages, taken + (fired ? 0 : free_pages));
		EXPECT_EQ(backing.run_count > 0, !fired);
	} while (fired);
	EXPECT(fail_at > 5);
	EXPECT(backing.run_count >= SINGLES / 2);
	EXPECT_EQ(backing_page_count(&backing), free_pages);
	backing_give(&backing);
	for (int i = 1; i < SINGLES; i += 2)
		EXPECT(machine_free_contiguous(singles[i]));
}

SMALL_WORLD_TEST(backing, forgotten_pages_stay_taken)
{
	struct vidmm_backing backing = { 0 };

	EXPECT_EQ(backing_take(&backing, NULL, 3, UINT64_MAX), STATUS_SUCCESS);
	uint64_t address = (uint64_t)backing.one.first_pfn * PAGE;
	backing_forget(&backing);
	EXPECT_EQ(backing.run_count, 0);
	EXPECT_EQ(machine_usage().taken_pages, 3);
	EXPECT(machine_free_contiguous(address));
}

TEST(backing, the_clients_memory_is_left_alone)
{
	char own[64] = "mine";
	struct vidmm_backing backing = { .clients = own, .is_clients = true };

	EXPECT_EQ(backing_page_count(&backing), 0);
	backing_give(&backing);
	EXPECT(!backing.is_clients);
	EXPECT_STR(own, "mine");
}

TEST_MAIN("vidmm/backing")
