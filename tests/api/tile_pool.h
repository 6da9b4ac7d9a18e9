/*
 * tile_pool.h - for tests of updates whose entries the GPU copies, on the recorder: a reservation of
 * zeroes, pools to be shown there, and what the driver was asked to copy.
 */
#ifndef TESTS_API_TILE_POOL_H
#define TESTS_API_TILE_POOL_H

#include "api/crank.h"

enum { PAGE = 4096 };

static D3DKMT_HANDLE paging_queue;
static const volatile UINT64 *paging_value;

static inline void begin_with_queue(void)
{
	D3DKMT_CREATEPAGINGQUEUE args = { 0 };

	begin_on(AT_ONCE);
	args.hDevice = device;
	EXPECT_OK(D3DKMTCreatePagingQueue(&args));
	paging_queue = args.hPagingQueue;
	paging_value = args.FenceValueCPUVirtualAddress;
}

/* 64 KiB, as the driver makes them when nothing else is said. */
static inline D3DKMT_HANDLE create_pool(void)
{
	D3DDDI_ALLOCATIONINFO2 info = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	return info.hAllocation;
}

static inline UINT64 reserve_zero(UINT64 size_bytes)
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

static inline NTSTATUS update(D3DKMT_HANDLE fence, UINT64 value,
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

static inline D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map_pool(D3DKMT_HANDLE pool, UINT64 address,
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
static inline void expect_valid_soon(void)
{
	char problem[256];

	AWAIT(dxgk_test_validate(problem, sizeof(problem)));
}

static inline unsigned copies(void)
{
	return notes_count("BuildPagingBuffer irql=0 operation=14 ");
}

#endif
