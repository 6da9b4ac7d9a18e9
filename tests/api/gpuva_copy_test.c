/*
 * gpuva_copy_test.c - updates of GPU addresses on a GPU that writes its page tables itself: entries
 * of tile pools are copied (COPY_PAGE_TABLE_ENTRIES) when the fence allows it.
 */
#include "api/crank.h"

enum { PAGE = 4096 };

static D3DKMT_HANDLE paging_queue;
static const volatile UINT64 *paging_value;

static void begin_with_queue(void)
{
	D3DKMT_CREATEPAGINGQUEUE args = { 0 };

	begin_on(AT_ONCE);
	args.hDevice = device;
	EXPECT_OK(D3DKMTCreatePagingQueue(&args));
	paging_queue = args.hPagingQueue;
	paging_value = args.FenceValueCPUVirtualAddress;
}

/* 64 KiB, as the driver makes them when nothing else is said. */
static D3DKMT_HANDLE create_pool(void)
{
	D3DDDI_ALLOCATIONINFO2 info = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	return info.hAllocation;
}

static UINT64 reserve_zero(UINT64 size_bytes)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = {
		.hPagingQueue = paging_queue,
		.BaseAddress = 0x4000000,
		.Size = size_bytes,
		.ReservationType = D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO,
	};

	EXPECT_EQ(D3DKMTReserveGpuVirtualAddress(&args), STATUS_PENDING);
	AWAIT(*paging_value >= args.PagingFenceValue);
	return args.VirtualAddress;
}

static NTSTATUS update(D3DKMT_HANDLE fence, UINT64 value,
		       D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operations, UINT count)
{
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = device,
						.hContext = create_virtual(0),
						.hFenceObject = fence,
						.NumOperations = count,
						.Operations = operations,
						.FenceValue = value };

	return D3DKMTUpdateGpuVirtualAddress(&args);
}

static D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map_pool(D3DKMT_HANDLE pool, UINT64 address,
							 UINT64 pages, UINT64 first_page)
{
	return (D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION){
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = address,
			 .SizeInBytes = pages * PAGE,
			 .hAllocation = pool,
			 .AllocationOffsetInBytes = first_page * PAGE },
	};
}

/* The fence is seen before whoever signalled it has let go of everything. */
static void expect_valid_soon(void)
{
	char problem[256];

	AWAIT(dxgk_test_validate(problem, sizeof(problem)));
}

static unsigned copies(void)
{
	return notes_count("BuildPagingBuffer irql=0 operation=14 ");
}

TEST(copy, entries_are_copied_when_the_fence_says_so_and_it_is_signaled_then)
{
	const volatile UINT64 *seen;

	begin_with_queue();
	D3DKMT_HANDLE fence = create_fence(0, 0, &seen);
	UINT64 address = reserve_zero(65536);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map = map_pool(create_pool(), address, 3, 5);

	EXPECT_OK(update(fence, 7, &map, 1));
	settle();
	EXPECT_EQ(copies(), 0);
	mark("now");
	EXPECT_OK(signal_fence(fence, 7));
	AWAIT(*seen == 8);
	EXPECT_EQ(copies(), 1);
	/* The pool lies where addresses begin, and the reservation at the beginning of a table. */
	EXPECT_EQ(notes_count("copied entries irql=0 first=21 count=3"), 1);
	EXPECT_EQ(notes_count("copied entries irql=0 to=0"), 1);
	EXPECT(notes_in_order("now", "operation=14 "));
	expect_valid_soon();
	expect_nothing_wrong();
}

/* In array order; what is copied overlaps, as memmove() allows. */
TEST(copy, a_copy_operation_is_copied_from_where_the_pool_is_kept)
{
	const volatile UINT64 *seen;

	begin_with_queue();
	D3DKMT_HANDLE fence = create_fence(0, 0, &seen);
	UINT64 address = reserve_zero(65536);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operations[2] = {
		map_pool(create_pool(), address, 4, 0),
		{ .OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY,
		  .Copy = { .SourceAddress = address,
			    .SizeInBytes = 4 * PAGE,
			    .DestAddress = address + 2 * PAGE } },
	};

	EXPECT_OK(update(fence, 0, operations, 2));
	AWAIT(*seen == 1);
	EXPECT(notes_count("copied entries irql=0 first=16 count=2") > 0);
	EXPECT(notes_count("copied entries irql=0 first=16 count=4") > 0);
	expect_valid_soon();
	expect_nothing_wrong();
}

CRANK_TEST_MAIN("api/gpuva_copy", "\"PageTableUpdateMode\": 2, ")
