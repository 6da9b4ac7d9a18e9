/* SPDX-License-Identifier: MIT */
/*
 * gpuva_quiet_test.c - a GPU whose page tables must not change while a context runs
 * (PageTableUpdateRequireAddressSpaceIdle), turned by hand. What pages completes by itself.
 */
#include "api/gpuva_crank.h"

TEST(quiet, a_table_changes_when_no_context_runs_and_none_begins_before_it_has)
{
	begin_with_queue_on(BY_HAND);
	D3DKMT_HANDLE running = create_virtual(0);
	D3DKMT_HANDLE next = create_virtual(1);
	D3DKMT_HANDLE allocation = create_plain();

	EXPECT_OK(submit(running, 1));
	AWAIT(pending(0) == 1);
	unsigned before = table_updates();
	UINT64 value = map_at(allocation, 0, 1);
	/* What comes before the pager has asked still runs. */
	do {
		EXPECT_OK(submit(next, 2));
		for (unsigned i = 0; i < 20; i++)
			let_others();
	} while (pending(1) > 0 && complete(1) == 2);
	EXPECT_EQ(table_updates(), before);
	EXPECT(*paging_value < value);
	EXPECT_EQ(complete(0), 1);
	AWAIT(*paging_value >= value);
	EXPECT(table_updates() > before);
	AWAIT(pending(1) == 1);
	EXPECT_EQ(complete(1), 2);
	expect_nothing_wrong();
}

TEST(quiet, contexts_run_when_the_tables_have_changed)
{
	begin_with_queue_on(BY_HAND);
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE allocation = create_plain();

	for (unsigned i = 1; i <= 5; i++) {
		UINT64 value = map_at(allocation, 0, 1);

		EXPECT_OK(submit(context, i));
		AWAIT(pending(0) == 1); /* before it, or after it */
		EXPECT_EQ(complete(0), i);
		AWAIT(*paging_value >= value);
	}
	expect_nothing_wrong();
}

/* ---- addresses that are given up ---- */

static void make_resident_here(D3DKMT_HANDLE allocation)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = paging_queue,
				     .NumAllocations = 1,
				     .AllocationList = &allocation };
	NTSTATUS status = D3DKMTMakeResident(&args);

	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	if (status == STATUS_PENDING)
		AWAIT(*paging_value >= args.PagingFenceValue);
}

static void evict_here(D3DKMT_HANDLE allocation)
{
	EXPECT_OK(D3DKMTEvict(&(D3DKMT_EVICT){
		.hDevice = device, .NumAllocations = 1, .AllocationList = &allocation }));
}

enum { BASE = 1 << 24 };

/* Returns when the entries are written. */
static void free_address(void *context)
{
	D3DKMT_FREEGPUVIRTUALADDRESS args = { .hAdapter = adapter,
					      .BaseAddress = BASE,
					      .Size = PAGE };

	*(NTSTATUS *)context = D3DKMTFreeGpuVirtualAddress(&args);
}

/* What another device of the process runs still gets there by the old entries. */
TEST(quiet, memory_does_not_leave_while_entries_of_a_freed_address_show_it)
{
	NTSTATUS freed = STATUS_PENDING;

	begin_with_queue_on(BY_HAND);
	D3DKMT_HANDLE running = create_virtual_on(create_device(adapter), 0);
	D3DKMT_HANDLE allocation = create_plain();
	UINT64 value = map_at(allocation, BASE, 1);

	AWAIT(*paging_value >= value);
	make_resident_here(allocation);
	EXPECT_OK(submit(running, 1));
	AWAIT(pending(0) == 1);
	struct dxgk_test_thread *thread = begin_thread(free_address, &freed);
	settle();
	evict_here(allocation);
	settle();
	EXPECT(is_resident(allocation));
	EXPECT_EQ(complete(0), 1);
	AWAIT(!is_resident(allocation));
	dxgk_test_thread_join(thread);
	EXPECT_OK(freed);
	expect_nothing_wrong();
}

CRANK_TEST_MAIN("api/gpuva_quiet", "\"GpuMmuCaps\": 52, ")
