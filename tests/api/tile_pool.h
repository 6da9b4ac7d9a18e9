/* SPDX-License-Identifier: MIT */
/*
 * tile_pool.h - for tests of updates whose entries the GPU copies, on the recorder: a reservation of
 * zeroes, pools to be shown there, and what the driver was asked to copy.
 */
#ifndef TESTS_API_TILE_POOL_H
#define TESTS_API_TILE_POOL_H

#include "api/gpuva_crank.h"

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

/* For updates. */
static inline D3DKMT_HANDLE begin_with_fence(const volatile UINT64 **seen_out)
{
	begin_with_queue_on(AT_ONCE);
	return create_fence(0, 0, seen_out);
}

static inline NTSTATUS update_in(D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value,
				 D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operations, UINT count)
{
	return D3DKMTUpdateGpuVirtualAddress(
		&(D3DKMT_UPDATEGPUVIRTUALADDRESS){ .hDevice = device,
						   .hContext = context,
						   .hFenceObject = fence,
						   .NumOperations = count,
						   .Operations = operations,
						   .FenceValue = value });
}

static inline NTSTATUS update(D3DKMT_HANDLE fence, UINT64 value,
			      D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operations, UINT count)
{
	return update_in(create_virtual(0), fence, value, operations, count);
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

static inline unsigned copies(void)
{
	return notes_count("BuildPagingBuffer irql=0 operation=14 ");
}

/* Updates behind `fence`, whose value is `*seen`, of a reservation at `address`. */
struct pool_update {
	const volatile UINT64 *seen;
	D3DKMT_HANDLE fence;
	UINT64 address;
};

static inline struct pool_update begin_pool_update(void)
{
	struct pool_update made = { 0 };

	made.fence = begin_with_fence(&made.seen);
	made.address = reserve_zero(65536);
	return made;
}

/* The fence gets to 7, for which an update waits that copies once and signals: it does, and not before. */
static inline void let_update_run(const struct pool_update *made)
{
	EXPECT_EQ(copies(), 0);
	mark("now");
	EXPECT_OK(signal_fence(made->fence, 7));
	AWAIT(*made->seen == 8);
	EXPECT_EQ(copies(), 1);
	EXPECT(notes_in_order("now", "operation=14 "));
}

#define POOL_TEST(suite, claim)                                                                    \
	TEST_MADE(pool_update, made, begin_pool_update(), expect_nothing_wrong(), suite, claim)

#endif
