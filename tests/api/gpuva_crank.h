/* SPDX-License-Identifier: MIT */
/*
 * gpuva_crank.h - for tests of GPU addresses on a GPU that is turned by hand: a paging queue on its
 * device, and something to map.
 */
#ifndef TESTS_API_GPUVA_CRANK_H
#define TESTS_API_GPUVA_CRANK_H

#include "api/crank.h"

enum { PAGE = 4096 };

static D3DKMT_HANDLE paging_queue;
static const volatile UINT64 *paging_value;

static inline void begin_with_queue_on(unsigned which)
{
	D3DKMT_CREATEPAGINGQUEUE args = { 0 };

	begin_on(which);
	args.hDevice = device;
	EXPECT_OK(D3DKMTCreatePagingQueue(&args));
	paging_queue = args.hPagingQueue;
	paging_value = args.FenceValueCPUVirtualAddress;
}

/* The paging fence's value when it can be used. A `base` of 0 is no wish. */
static inline UINT64 map_at(D3DKMT_HANDLE allocation, UINT64 base, UINT64 pages)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = paging_queue,
					     .BaseAddress = base,
					     .hAllocation = allocation,
					     .SizeInPages = pages,
					     .Protection.Write = 1 };

	EXPECT_EQ(D3DKMTMapGpuVirtualAddress(&args), STATUS_PENDING);
	return args.PagingFenceValue;
}

/* How often the driver was asked to build an update of a page table. */
static inline unsigned table_updates(void)
{
	return notes_count("BuildPagingBuffer irql=0 operation=11 ");
}

#endif
