/* SPDX-License-Identifier: MIT */
/*
 * pool_test.c - what the pool promises, and what it notices.
 */
#include "unit/nt/nt_harness.h"
#include "support/failing.h"

#include "nt/dispatcher.h"

#define TAG 0x74736554 /* "Test" */

static bool is_filled(const unsigned char *memory, size_t size, unsigned char byte)
{
	for (size_t i = 0; i < size; i++) {
		if (memory[i] != byte)
			return false;
	}
	return true;
}

NT_TEST(pool, blocks_are_aligned_to_16_bytes_and_from_a_page_on_to_pages)
{
	static const size_t sizes[] = { 1, 15, 16, 17, 100, 4095, 4096, 4097, 70000, 3 << 20 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *memory = ExAllocatePoolWithTag(NonPagedPoolNx, sizes[i], TAG);
		size_t alignment = sizes[i] >= PAGE_SIZE ? PAGE_SIZE : 16;
		EXPECT(memory != NULL);
		EXPECT_EQ((uintptr_t)memory % alignment, 0);
		memset(memory, 0x5a, sizes[i]);
		ExFreePoolWithTag(memory, TAG);
	}
	void *aligned = ExAllocatePoolWithTag(NonPagedPoolNxCacheAligned, 40, TAG);
	EXPECT_EQ((uintptr_t)aligned % 64, 0);
	ExFreePool(aligned);
	EXPECT_NO_REPORT();
}

NT_TEST(pool, fresh_memory_is_poisoned_unless_zeros_were_promised)
{
	unsigned char *memory = ExAllocatePoolWithTag(PagedPool, 64, TAG);
	EXPECT(is_filled(memory, 64, 0xcd));
	ExFreePool(memory);
	memory = ExAllocatePoolUninitialized(NonPagedPoolNx, 64, TAG);
	EXPECT(is_filled(memory, 64, 0xcd));
	ExFreePool(memory);
	memory = ExAllocatePoolZero(NonPagedPoolNx, 64, TAG);
	EXPECT(is_filled(memory, 64, 0));
	ExFreePool(memory);
	memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, TAG);
	EXPECT(is_filled(memory, 64, 0));
	ExFreePool(memory);
	memory = ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_UNINITIALIZED, 64, TAG);
	EXPECT(is_filled(memory, 64, 0xcd));
	ExFreePool(memory);
	EXPECT_NO_REPORT();
}

/* Large ones have pages of their own, which come zeroed and are not kept: two of a kind, one after the other. */
NT_TEST(pool, large_memory_is_as_fresh_and_as_closely_watched_as_small)
{
	enum { LARGE = 3 << 20 };

	for (unsigned i = 0; i < 2; i++) {
		unsigned char *memory = ExAllocatePoolZero(NonPagedPoolNx, LARGE, TAG);
		EXPECT(is_filled(memory, LARGE, 0));
		memset(memory, 0x5a, LARGE);
		ExFreePool(memory);
		memory = ExAllocatePoolUninitialized(NonPagedPoolNx, LARGE, TAG);
		EXPECT(is_filled(memory, LARGE, 0xcd));
		ExFreePool(memory);
		ExFreePool(memory);
		EXPECT_REPORTS(RULE_NT_POOL_DOUBLE_FREE, i + 1);
	}
}

/* Blocks of pages stand in a table, which grows with them, and is small again without them. */
NT_TEST(pool, many_blocks_of_pages_are_all_known)
{
	enum { MANY = 3 * 8192 };
	static void *blocks[MANY];

	for (unsigned round = 0; round < 2; round++) {
		/* The table need not grow: it is only slower. */
		for (unsigned i = 0; i < MANY; i++) {
			if (round == 1 && i == 8192)
				mem_fail_nth(2);
			blocks[i] = ExAllocatePoolWithTag(NonPagedPoolExecute, 16, TAG);
			(void)mem_fail_stop();
			if (round == 0 || i != 8192)
				EXPECT(blocks[i]);
		}
		for (unsigned i = MANY; i-- > 0;) {
			if (blocks[i])
				ExFreePoolWithTag(blocks[i], TAG);
		}
		EXPECT_EQ(nt_pool_usage().blocks, 0);
	}
	EXPECT_NO_REPORT();
}

TEST(pool, type_zero_holds_code_that_runs)
{
#if defined(__x86_64__)
	static const unsigned char code[] = { 0xb8, 0x2a, 0x00, 0x00, 0x00, 0xc3 }; /* return 42 */
	int (*run)(void);

	nt_test_begin();
	void *memory = ExAllocatePoolWithTag(NonPagedPoolExecute, sizeof(code), TAG);
	memcpy(memory, code, sizeof(code));
	*(void **)&run = memory;
	EXPECT_EQ(run(), 42);
	ExFreePoolWithTag(memory, TAG);

	memory = ExAllocatePool2(POOL_FLAG_NON_PAGED_EXECUTE, 4096, TAG);
	EXPECT_EQ((uintptr_t)memory % PAGE_SIZE, 0);
	memcpy(memory, code, sizeof(code));
	*(void **)&run = memory;
	EXPECT_EQ(run(), 42);
	ExFreePool(memory);
	EXPECT_NO_REPORT();
	nt_test_finish();
#endif
}

/* The line of the call, not the one it returns to. */
static void expect_line_behind(const char *words, int line)
{
	const char *at = strstr(nt_test_log, words);
	char place[64];

	EXPECT(at);
	snprintf(place, sizeof(place), "pool_test.c:%d) in ", line);
	EXPECT_CONTAINS(at, place);
}

NT_TEST(pool, a_second_free_is_reported_and_does_no_harm)
{
	void *memory = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
	int line = __LINE__ + 1;
	ExFreePoolWithTag(memory, TAG);
	ExFreePoolWithTag(memory, TAG);
	EXPECT_REPORTS(RULE_NT_POOL_DOUBLE_FREE, 1);
	EXPECT_CONTAINS(nt_test_log, "tag 'Test'; it was freed at ");
	expect_line_behind("it was freed at ", line);
}

NT_TEST(pool, freeing_what_is_no_block_is_reported)
{
	int local;

	ExFreePool(&local);
	ExFreePool(NULL);
	char *memory = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
	ExFreePool(memory + 16);
	EXPECT_REPORTS(RULE_NT_POOL_BAD_FREE, 3);
	ExFreePool(memory);
}

NT_TEST(pool, the_wrong_tag_is_reported_and_the_block_freed)
{
	void *memory = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
	ExFreePoolWithTag(memory, 0x72657254);
	EXPECT_REPORTS(RULE_NT_POOL_TAG, 1);
	EXPECT_CONTAINS(nt_test_log, "frees a block of tag 'Test' with tag 'Trer'");
	EXPECT_EQ(nt_pool_usage().blocks, 0);
	memory = ExAllocatePoolWithTag(NonPagedPoolNx, 64, 0);
	ExFreePool(memory);
	EXPECT_REPORTS(RULE_NT_POOL_TAG, 2);
}

NT_TEST(pool, writing_over_either_end_is_found_at_the_free)
{
	int line = __LINE__ + 1;
	char *memory = ExAllocatePoolWithTag(NonPagedPoolNx, 33, TAG);
	memory[33] = 1;
	ExFreePool(memory);
	EXPECT_REPORTS(RULE_NT_POOL_OVERRUN, 1);
	expect_line_behind("allocated at ", line);
	EXPECT_CONTAINS(nt_test_log, "behind a block of 33 bytes overwritten, tag 'Test', "
				     "allocated at ");
	memory = ExAllocatePoolWithTag(NonPagedPoolExecute, 33, TAG);
	memory[-1] = 1;
	ExFreePool(memory);
	EXPECT_REPORTS(RULE_NT_POOL_OVERRUN, 2);
	EXPECT_CONTAINS(nt_test_log, "in front of a block of 33 bytes");
}

TEST(pool, no_bytes_and_bad_flags_are_reported)
{
	nt_test_begin();
	void *memory = ExAllocatePoolWithTag(NonPagedPoolNx, 0, TAG);
	EXPECT(memory != NULL);
	ExFreePool(memory);
	EXPECT_REPORTS(RULE_NT_POOL_SIZE, 1);
	nt_test_finish();

	nt_test_begin();
	EXPECT(!ExAllocatePool2(0, 16, TAG));
	EXPECT(!ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_NON_PAGED, 16, TAG));
	EXPECT(!ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_RESERVED2, 16, TAG));
	EXPECT_REPORTS(RULE_NT_POOL_TYPE, 3);
	/* Optional flags that are not known are ignored. */
	memory = ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_SPECIAL_POOL, 16, TAG);
	EXPECT(memory != NULL);
	ExFreePool(memory);
	EXPECT_REPORTS(RULE_NT_POOL_TYPE, 3);
	nt_test_finish();
}

NT_TEST(pool, paged_pool_at_dispatch_level_is_reported_both_ways)
{
	KIRQL old = KeRaiseIrqlToDpcLevel();
	void *memory = ExAllocatePoolWithTag(NonPagedPoolNx, 16, TAG);
	ExFreePool(memory);
	EXPECT_NO_REPORT();
	memory = ExAllocatePoolWithTag(PagedPool, 16, TAG);
	EXPECT_REPORTS(RULE_NT_IRQL_PAGED, 1);
	ExFreePool(memory);
	EXPECT_REPORTS(RULE_NT_IRQL_PAGED, 2);
	KeLowerIrql(old);
}

NT_TEST(pool, sizes_that_cannot_be_are_refused)
{
	EXPECT(!ExAllocatePoolWithTag(NonPagedPoolNx, SIZE_MAX, TAG));
	EXPECT(!ExAllocatePoolWithTag(NonPagedPoolNx, SIZE_MAX - 4096, TAG));
	EXPECT(!ExAllocatePoolWithTag(NonPagedPoolExecute, SIZE_MAX / 2, TAG));
	EXPECT_NO_REPORT();
}

TEST(pool, failing_memory_gives_null_and_leaks_nothing)
{
	static const POOL_TYPE types[] = { NonPagedPoolNx, NonPagedPoolExecute, PagedPool };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		EACH_FAILURE (failing, 1) {
			nt_test_begin();
			failing_start(&failing);
			void *memory = ExAllocatePoolWithTag(types[i], 100, TAG);
			bool fired = failing_stop(&failing);
			EXPECT(memory || fired);
			if (memory)
				ExFreePool(memory);
			EXPECT_NO_REPORT();
			nt_test_finish();
		}
	}
}

static VOID NTAPI not_reached(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
	(void)dpc;
	(void)context;
	(void)first;
	(void)second;
	fail();
}

NT_TEST(pool, freeing_a_block_with_an_armed_timer_is_reported_and_the_timer_forgotten)
{
	KTIMER outside;

	KTIMER *timer = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*timer), TAG);
	KDPC *dpc = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*dpc), TAG);
	KeInitializeDpc(dpc, not_reached, NULL);
	KeInitializeTimer(timer);
	KeInitializeTimer(&outside);
	KeSetTimer(timer, nt_test_us(60000000), NULL);
	ExFreePool(ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*timer), TAG));
	EXPECT_NO_REPORT();
	ExFreePool(timer);
	EXPECT_REPORTS(RULE_NT_POOL_IN_USE, 1);
	/* The timer is elsewhere; its DPC goes. */
	KeSetTimer(&outside, nt_test_us(60000000), dpc);
	ExFreePool(dpc);
	EXPECT_REPORTS(RULE_NT_POOL_IN_USE, 2);
	EXPECT(!KeCancelTimer(&outside));
	EXPECT_EQ(nt_dispatcher_queued, 0);
}

NT_TEST(pool, many_blocks_are_found_again)
{
	enum { COUNT = 3000 };
	static void *blocks[COUNT];

	for (int i = 0; i < COUNT; i++)
		blocks[i] = ExAllocatePoolWithTag(NonPagedPoolNx, (size_t)i % 97 + 1, TAG);
	EXPECT_EQ(nt_pool_usage().blocks, COUNT);
	for (int i = 0; i < COUNT; i++)
		ExFreePoolWithTag(blocks[(i * 7) % COUNT], TAG);
	EXPECT_EQ(nt_pool_usage().blocks, 0);
	EXPECT_EQ(nt_pool_usage().bytes, 0);
	EXPECT_NO_REPORT();
}

NT_TEST(pool, blocks_of_all_sizes_keep_what_is_written_up_to_their_ends)
{
	enum { SIZES = 700 };
	static unsigned char *blocks[SIZES];

	for (size_t i = 1; i < SIZES; i++) {
		blocks[i] = ExAllocatePoolWithTag(NonPagedPoolNx, i, TAG);
		memset(blocks[i], (int)(i % 251), i);
	}
	for (size_t i = 1; i < SIZES; i++) {
		EXPECT(is_filled(blocks[i], i, (unsigned char)(i % 251)));
		ExFreePoolWithTag(blocks[i], TAG);
	}
	EXPECT_NO_REPORT();
}

NT_TEST(pool, a_block_used_again_has_a_second_end)
{
	for (int i = 0; i < 3; i++) {
		void *memory = ExAllocatePoolWithTag(NonPagedPoolNx, 48, TAG);
		ExFreePoolWithTag(memory, TAG);
		ExFreePoolWithTag(memory, TAG);
		EXPECT_REPORTS(RULE_NT_POOL_DOUBLE_FREE, i + 1);
	}
}

/* ---- lookaside lists ---- */

static unsigned own_allocations;

static PVOID NTAPI own_allocate(POOL_TYPE type, SIZE_T size, ULONG tag)
{
	own_allocations++;
	return ExAllocatePoolWithTag(type, size, tag);
}

static VOID NTAPI own_free(PVOID memory)
{
	own_allocations--;
	ExFreePool(memory);
}

NT_TEST(lookaside, entries_have_the_size_and_tag_of_the_list)
{
	NPAGED_LOOKASIDE_LIST list;
	PAGED_LOOKASIDE_LIST paged;

	ExInitializeNPagedLookasideList(&list, NULL, NULL, (ULONG)NonPagedPoolNx, 48, TAG, 0);
	char *first = ExAllocateFromNPagedLookasideList(&list);
	char *second = ExAllocateFromNPagedLookasideList(&list);
	EXPECT(first && second && first != second);
	memset(first, 1, 48);
	memset(second, 2, 48);
	EXPECT_EQ(nt_pool_usage().bytes, 96);
	ExFreeToNPagedLookasideList(&list, first);
	ExFreeToNPagedLookasideList(&list, second);
	ExDeleteNPagedLookasideList(&list);
	EXPECT_EQ(nt_pool_usage().blocks, 0);

	ExInitializePagedLookasideList(&paged, own_allocate, own_free, 0, 10, TAG, 0);
	first = ExAllocateFromPagedLookasideList(&paged);
	EXPECT_EQ(own_allocations, 1);
	ExFreeToPagedLookasideList(&paged, first);
	EXPECT_EQ(own_allocations, 0);
	ExDeletePagedLookasideList(&paged);
	EXPECT_NO_REPORT();
}

static PVOID NTAPI extended_allocate(POOL_TYPE type, SIZE_T size, ULONG tag,
				     PLOOKASIDE_LIST_EX list)
{
	EXPECT_EQ(list->L.Size, size);
	return ExAllocatePoolWithTag(type, size, tag);
}

static VOID NTAPI extended_free(PVOID memory, PLOOKASIDE_LIST_EX list)
{
	EXPECT_EQ(list->L.Tag, TAG);
	ExFreePool(memory);
}

NT_TEST(lookaside, extended_lists_call_the_drivers_routines)
{
	LOOKASIDE_LIST_EX list;

	EXPECT_EQ(ExInitializeLookasideListEx(&list, NULL, NULL, NonPagedPoolNx, 0, 32, TAG, 7),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(ExInitializeLookasideListEx(&list, extended_allocate, extended_free,
					      NonPagedPoolNx, 0, 32, TAG, 0),
		  STATUS_SUCCESS);
	void *entry = ExAllocateFromLookasideListEx(&list);
	EXPECT(entry != NULL);
	ExFreeToLookasideListEx(&list, entry);
	ExFlushLookasideListEx(&list);
	ExDeleteLookasideListEx(&list);
	EXPECT_NO_REPORT();
}

NT_TEST(lookaside, extended_lists_without_routines_use_the_pool)
{
	LOOKASIDE_LIST_EX list;

	EXPECT_EQ(ExInitializeLookasideListEx(&list, NULL, NULL, NonPagedPoolNx, 0, 32, TAG, 0),
		  STATUS_SUCCESS);
	void *entry = ExAllocateFromLookasideListEx(&list);
	EXPECT(entry != NULL);
	memset(entry, 1, 32);
	EXPECT_EQ(nt_pool_usage().blocks, 1);
	ExFreeToLookasideListEx(&list, entry);
	ExDeleteLookasideListEx(&list);
	EXPECT_NO_REPORT();
}

NT_TEST(pool, every_older_door_leads_to_the_same_pool)
{
	PVOID blocks[] = {
		ExAllocatePool(NonPagedPoolNx, 100),
		ExAllocatePoolWithTagPriority(NonPagedPoolNx, 100, TAG, NormalPoolPriority),
		ExAllocatePoolWithQuotaTag(NonPagedPoolNx, 100, TAG),
	};
	for (size_t i = 0; i < ARRAYSIZE(blocks); i++)
		EXPECT(blocks[i]);
	EXPECT_EQ(nt_pool_usage().blocks, ARRAYSIZE(blocks));
	for (size_t i = 0; i < ARRAYSIZE(blocks); i++)
		ExFreePool(blocks[i]);
	EXPECT_NO_REPORT();
}

TEST(pool, asked_for_quota_without_raising_no_memory_is_null)
{
	const ULONG type = (ULONG)NonPagedPoolNx | POOL_QUOTA_FAIL_INSTEAD_OF_RAISE;

	nt_test_begin();
	mem_fail_nth(1);
	EXPECT(!ExAllocatePoolWithQuotaTag((POOL_TYPE)type, 3 * PAGE_SIZE, TAG));
	EXPECT(mem_fail_stop());
	nt_test_finish();
}

TEST(pool, a_secure_pool_is_refused_unless_it_is_optional)
{
	POOL_EXTENDED_PARAMETER secure = { .Type = PoolExtendedParameterSecurePool };
	POOL_EXTENDED_PARAMETER optional = { .Type = PoolExtendedParameterSecurePool,
					     .Optional = 1 };
	POOL_EXTENDED_PARAMETER priority = { .Type = PoolExtendedParameterPriority };

	nt_test_begin();
	EXPECT(!ExAllocatePool3(POOL_FLAG_NON_PAGED, 100, TAG, &secure, 1));
	PVOID block = ExAllocatePool3(POOL_FLAG_NON_PAGED, 100, TAG, &optional, 1);
	EXPECT(block);
	ExFreePool2(block, TAG, NULL, 0);
	block = ExAllocatePool3(POOL_FLAG_NON_PAGED, 100, TAG, &priority, 1);
	EXPECT(block);
	ExFreePool2(block, TAG, &priority, 1);
	EXPECT_NO_REPORT();
	nt_test_finish();
}

/* ---- who watches ---- */

static struct {
	unsigned allocated;
	unsigned refused;
	unsigned freed;
	const void *last;
	bool was_whole; /* when it was told */
} told;

static void on_allocated(void *payload, size_t size_bytes, const void *site)
{
	EXPECT(size_bytes != 0 && site);
	told.allocated++;
	told.last = payload;
}

static void on_refused(size_t size_bytes, const void *site)
{
	EXPECT(size_bytes != 0 && site);
	told.refused++;
}

static void on_freed(void *payload, size_t size_bytes, const void *site)
{
	EXPECT(size_bytes != 0 && site);
	told.freed++;
	told.last = payload;
	told.was_whole = *(const uint8_t *)payload == 0x5a;
}

NT_TEST(watch, is_told_of_every_block)
{
	static const struct nt_pool_watch watch = { on_allocated, on_refused, on_freed };
	static const size_t sizes[] = { 24, 3 * PAGE_SIZE };

	nt_pool_watch_with(&watch);
	for (size_t i = 0; i < 2; i++) {
		memset(&told, 0, sizeof(told));
		uint8_t *block = ExAllocatePoolWithTag(NonPagedPoolNx, sizes[i], TAG);
		EXPECT(block && told.allocated == 1 && told.last == block);
		EXPECT(nt_pool_is_live(block) && !nt_pool_is_live(block + 16));
		*block = 0x5a;
		ExFreePoolWithTag(block, TAG);
		EXPECT(told.freed == 1 && told.last == block && told.was_whole);
		EXPECT(!nt_pool_is_live(block));
	}
	/* Above what pool can ever have: a sanitizer's allocator is not asked. */
	EXPECT(!ExAllocatePoolWithTag(NonPagedPoolNx, ~(SIZE_T)0 / 2, TAG));
	EXPECT_EQ(told.refused, 1);
	nt_pool_watch_with(NULL);
	memset(&told, 0, sizeof(told));
	ExFreePoolWithTag(ExAllocatePoolWithTag(NonPagedPoolNx, 24, TAG), TAG);
	EXPECT_EQ(told.allocated + told.freed, 0);
	EXPECT(!nt_pool_is_live(NULL) && !nt_pool_is_live(&told));
}

TEST_MAIN("nt/pool")
