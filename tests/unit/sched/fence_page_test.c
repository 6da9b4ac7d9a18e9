/* SPDX-License-Identifier: MIT */
/*
 * fence_page_test.c - slots of fence memory: apart, visible to the client for reading only, and
 * cheap to take again.
 */
#include "support/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/mem.h"
#include "sched/fence_page.h"

enum { SLOTS_PER_PAGE = 4096 / FENCE_SLOT_BYTES };

TEST(slot, has_the_value_it_was_taken_with_in_both_views)
{
	struct fence_pages *pages = fence_pages_create(FENCE_CHUNK_PAGES, false);
	struct fence_slot slot;

	EXPECT_EQ(fence_slot_take(pages, 77, &slot), STATUS_SUCCESS);
	EXPECT_EQ(*slot.view, 77);
	EXPECT((const void *)slot.view != (const void *)slot.value);
	atomic_store(slot.value, 78);
	EXPECT_EQ(*slot.view, 78);
	EXPECT((void *)slot.value == machine_to_pointer(slot.physical_address));
	EXPECT_EQ((uintptr_t)slot.view % 8, 0);
	fence_slot_give(&slot);
	EXPECT(!slot.value);
	fence_slot_give(&slot);
	fence_pages_close(pages);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	machine_finish();
}

TEST(view, cannot_be_written)
{
	struct fence_pages *pages = fence_pages_create(1, false);
	struct fence_slot slot;
	int status;

	EXPECT_EQ(fence_slot_take(pages, 1, &slot), STATUS_SUCCESS);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile uint64_t *)(uintptr_t)slot.view = 2;
		_exit(0);
	}
	EXPECT_EQ(waitpid(child, &status, 0), child);
	/* A sanitizer makes an exit of it. */
	EXPECT(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
	EXPECT_EQ(*slot.view, 1);
	fence_slot_give(&slot);
	fence_pages_close(pages);
	machine_finish();
}

TEST(slots, are_a_cache_line_apart_and_never_the_same)
{
	enum { COUNT = 3 * SLOTS_PER_PAGE };
	struct fence_pages *pages = fence_pages_create(1, false);
	struct fence_slot slots[COUNT];

	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_EQ(fence_slot_take(pages, i, &slots[i]), STATUS_SUCCESS);
	EXPECT_EQ(machine_usage().taken_pages, 3);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT_EQ(*slots[i].view, i);
		EXPECT_EQ(slots[i].physical_address % FENCE_SLOT_BYTES, 0);
	}
	for (unsigned i = 0; i < COUNT; i++)
		fence_slot_give(&slots[(i * 7) % COUNT]);
	fence_pages_close(pages);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	machine_finish();
}

TEST(pages, keep_one_empty_chunk_and_no_more)
{
	enum { COUNT = 4 * SLOTS_PER_PAGE };
	struct fence_pages *pages = fence_pages_create(1, false);
	struct fence_slot slots[COUNT];

	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_EQ(fence_slot_take(pages, 0, &slots[i]), STATUS_SUCCESS);
	for (unsigned i = 0; i < COUNT; i++)
		fence_slot_give(&slots[i]);
	EXPECT_EQ(machine_usage().taken_pages, 1);
	/* The same memory again, so nothing was unmapped and mapped. */
	EXPECT_EQ(fence_slot_take(pages, 0, &slots[0]), STATUS_SUCCESS);
	const uint64_t *view = slots[0].view;
	fence_slot_give(&slots[0]);
	EXPECT_EQ(fence_slot_take(pages, 0, &slots[0]), STATUS_SUCCESS);
	EXPECT(slots[0].view == view);
	fence_slot_give(&slots[0]);
	fence_pages_close(pages);
	machine_finish();
}

TEST(pages, outlive_their_owner_as_long_as_a_slot_is_taken)
{
	struct fence_pages *pages = fence_pages_create(1, false);
	struct fence_slot slots[2];

	for (unsigned i = 0; i < 2; i++)
		EXPECT_EQ(fence_slot_take(pages, 5, &slots[i]), STATUS_SUCCESS);
	fence_pages_close(pages);
	EXPECT_EQ(*slots[1].view, 5);
	fence_slot_give(&slots[0]);
	EXPECT_EQ(*slots[1].view, 5);
	EXPECT_EQ(machine_usage().taken_pages, 1);
	fence_slot_give(&slots[1]);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	fence_pages_close(NULL);
	machine_finish();
}

TEST(slot, is_all_or_nothing_when_memory_fails)
{
	struct mem_usage before = mem_usage();
	unsigned fail_at = 0;
	bool fired;

	do {
		struct fence_slot slot = { 0 };
		mem_fail_nth(++fail_at);
		struct fence_pages *pages = fence_pages_create(1, false);
		NTSTATUS status = pages ? fence_slot_take(pages, 1, &slot) : STATUS_NO_MEMORY;
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		fence_slot_give(&slot);
		fence_pages_close(pages);
		machine_finish();
		EXPECT_EQ(mem_usage().blocks, before.blocks);
	} while (fired);
}

TEST_MAIN("sched/fence_page")
