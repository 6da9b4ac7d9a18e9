/* SPDX-License-Identifier: MIT */
/*
 * interlocked_test.c - lists that several threads use at once.
 */
#include "unit/nt/nt_harness.h"

enum { THREADS = 4, ROUNDS = 200, ITEMS = 16 };

struct item {
	LIST_ENTRY link;
	SINGLE_LIST_ENTRY single;
};

NT_TEST(list, inserting_returns_the_entry_that_was_there_and_null_for_an_empty_list)
{
	LIST_ENTRY head;
	struct item first, second, third;
	KSPIN_LOCK lock = 0;

	InitializeListHead(&head);
	EXPECT(!ExInterlockedRemoveHeadList(&head, &lock));
	EXPECT(!ExInterlockedInsertTailList(&head, &first.link, &lock));
	EXPECT(ExInterlockedInsertTailList(&head, &second.link, &lock) == &first.link);
	EXPECT(ExInterlockedInsertHeadList(&head, &third.link, &lock) == &first.link);
	EXPECT(ExInterlockedRemoveHeadList(&head, &lock) == &third.link);
	EXPECT(ExInterlockedRemoveHeadList(&head, &lock) == &first.link);
	EXPECT(ExInterlockedRemoveHeadList(&head, &lock) == &second.link);
	EXPECT(!ExInterlockedRemoveHeadList(&head, &lock));
	EXPECT_EQ(lock, 0);
	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
	EXPECT_NO_REPORT();
}

NT_TEST(list, works_at_any_level)
{
	struct nt_irql scope;
	LIST_ENTRY head;
	struct item item;
	KSPIN_LOCK lock = 0;

	InitializeListHead(&head);
	nt_irql_enter(&scope, 11);
	ExInterlockedInsertTailList(&head, &item.link, &lock);
	EXPECT_EQ(KeGetCurrentIrql(), 11);
	EXPECT(ExInterlockedRemoveHeadList(&head, &lock) == &item.link);
	nt_irql_leave(&scope, "DxgkDdiInterruptRoutine");
	EXPECT_NO_REPORT();
}

NT_TEST(list, single_lists_are_stacks)
{
	SINGLE_LIST_ENTRY head = { NULL };
	struct item first, second;
	KSPIN_LOCK lock = 0;

	EXPECT(!ExInterlockedPopEntryList(&head, &lock));
	EXPECT(!ExInterlockedPushEntryList(&head, &first.single, &lock));
	EXPECT(ExInterlockedPushEntryList(&head, &second.single, &lock) == &first.single);
	EXPECT(ExInterlockedPopEntryList(&head, &lock) == &second.single);
	EXPECT(ExInterlockedPopEntryList(&head, &lock) == &first.single);
	EXPECT(!ExInterlockedPopEntryList(&head, &lock));
	EXPECT_NO_REPORT();
}

NT_TEST(list, numbers_are_added_under_the_lock_and_the_old_one_returned)
{
	LARGE_INTEGER large = { .QuadPart = 40 }, two = { .QuadPart = 2 };
	ULONG number = 7;
	KSPIN_LOCK lock = 0;

	EXPECT_EQ(ExInterlockedAddLargeInteger(&large, two, &lock).QuadPart, 40);
	EXPECT_EQ(large.QuadPart, 42);
	EXPECT_EQ(ExInterlockedAddUlong(&number, 3, &lock), 7);
	EXPECT_EQ(number, 10);
	EXPECT_EQ(lock, 0);
	EXPECT_NO_REPORT();
}

struct slist_item {
	SLIST_ENTRY entry;
	unsigned users;
};

struct lists {
	SLIST_HEADER stack;
	struct slist_item items[ITEMS];
};

NT_TEST(slist, knows_its_depth_and_flushes_everything)
{
	struct lists *lists;

	lists = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*lists), 1);
	InitializeSListHead(&lists->stack);
	EXPECT_EQ(ExQueryDepthSList(&lists->stack), 0);
	EXPECT(!InterlockedPopEntrySList(&lists->stack));
	EXPECT(!InterlockedPushEntrySList(&lists->stack, &lists->items[0].entry));
	EXPECT(InterlockedPushEntrySList(&lists->stack, &lists->items[1].entry) ==
	       &lists->items[0].entry);
	EXPECT_EQ(ExQueryDepthSList(&lists->stack), 2);
	EXPECT(InterlockedPopEntrySList(&lists->stack) == &lists->items[1].entry);
	InterlockedPushEntrySList(&lists->stack, &lists->items[2].entry);
	PSLIST_ENTRY all = InterlockedFlushSList(&lists->stack);
	EXPECT(all == &lists->items[2].entry && all->Next == &lists->items[0].entry);
	EXPECT_EQ(ExQueryDepthSList(&lists->stack), 0);
	ExFreePool(lists);
	EXPECT_NO_REPORT();
}

static VOID NTAPI borrow_items(PVOID context)
{
	struct lists *lists = context;

	for (int i = 0; i < ROUNDS; i++) {
		PSLIST_ENTRY entry = InterlockedPopEntrySList(&lists->stack);
		if (!entry)
			continue;
		struct slist_item *item = CONTAINING_RECORD(entry, struct slist_item, entry);
		EXPECT_EQ(item->users++, 0);
		item->users--;
		InterlockedPushEntrySList(&lists->stack, entry);
	}
}

NT_TEST(slist, gives_an_entry_to_one_thread_at_a_time)
{
	PKTHREAD threads[THREADS];
	struct lists *lists;

	lists = ExAllocatePoolZero(NonPagedPoolNx, sizeof(*lists), 1);
	InitializeSListHead(&lists->stack);
	for (int i = 0; i < 3; i++)
		InterlockedPushEntrySList(&lists->stack, &lists->items[i].entry);
	for (int i = 0; i < THREADS; i++)
		threads[i] = nt_test_start(borrow_items, lists);
	for (int i = 0; i < THREADS; i++)
		nt_test_join(threads[i]);
	EXPECT_EQ(ExQueryDepthSList(&lists->stack), 3);
	ExFreePool(lists);
	EXPECT_NO_REPORT();
}

TEST_MAIN("nt/interlocked")
