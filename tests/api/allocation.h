/* SPDX-License-Identifier: MIT */
/*
 * allocation.h - what tests of allocations share: requests that are right until a test spoils one
 * thing.
 */
#ifndef TESTS_API_ALLOCATION_H
#define TESTS_API_ALLOCATION_H

#include "api/support.h"

enum { MOST = 16, PAGE = 4096, SOME_BYTES = 65536 };

/* ---- create ---- */

struct creation {
	D3DKMT_CREATEALLOCATION args;
	D3DDDI_ALLOCATIONINFO2 elements[MOST];
	struct softgpu_allocation data[MOST];
};

/* `count` allocations that the software GPU likes: 64 KiB, CPU visible. */
static inline void creation_init(struct creation *creation, D3DKMT_HANDLE device, unsigned count)
{
	memset(creation, 0, sizeof(*creation));
	creation->args.hDevice = device;
	creation->args.NumAllocations = count;
	creation->args.pAllocationInfo2 = creation->elements;
	for (unsigned i = 0; i < count; i++) {
		creation->data[i] =
			(struct softgpu_allocation){ SOFTGPU_ALLOCATION_VERSION,
						     SOFTGPU_CPU_VISIBLE, SOME_BYTES, 0 };
		creation->elements[i].pPrivateDriverData = &creation->data[i];
		creation->elements[i].PrivateDriverDataSize = sizeof(creation->data[i]);
	}
}

/* The same for a driver that needs no private data. */
static inline void creation_init_plain(struct creation *creation, D3DKMT_HANDLE device,
				       unsigned count)
{
	creation_init(creation, device, count);
	for (unsigned i = 0; i < count; i++) {
		creation->elements[i].pPrivateDriverData = NULL;
		creation->elements[i].PrivateDriverDataSize = 0;
	}
}

/* Where the CPU does not see local memory, what it has to see may be elsewhere, too. */
static inline void creation_may_move(struct creation *creation)
{
	const unsigned both = SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY;

	for (unsigned i = 0; getenv("TEST_HIDDEN_LOCAL") && i < creation->args.NumAllocations;
	     i++) {
		if ((creation->data[i].flags & both) == both)
			creation->data[i].flags &= ~SOFTGPU_LOCAL_ONLY;
	}
}

static inline NTSTATUS create(struct creation *creation)
{
	creation_may_move(creation);
	return D3DKMTCreateAllocation2(&creation->args);
}

enum {
	SHARED_NOT = 0,
	SHARED_GLOBAL = 1,
	SHARED_NT = 2,
};

static inline void creation_init_resource(struct creation *creation, D3DKMT_HANDLE device,
					  unsigned count, int sharing)
{
	creation_init(creation, device, count);
	creation->args.Flags.CreateResource = 1;
	creation->args.Flags.CreateShared = sharing != SHARED_NOT;
	creation->args.Flags.NtSecuritySharing = sharing == SHARED_NT;
}

static inline D3DKMT_HANDLE create_one(D3DKMT_HANDLE device)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	EXPECT_OK(create(&creation));
	return creation.elements[0].hAllocation;
}

/* ---- destroy ---- */

static inline NTSTATUS destroy_list(D3DKMT_HANDLE device, const D3DKMT_HANDLE *handles,
				    unsigned count)
{
	return D3DKMTDestroyAllocation2(&(D3DKMT_DESTROYALLOCATION2){
		.hDevice = device, .phAllocationList = handles, .AllocationCount = count });
}

static inline NTSTATUS destroy_one(D3DKMT_HANDLE device, D3DKMT_HANDLE handle)
{
	return destroy_list(device, &handle, 1);
}

static inline NTSTATUS destroy_resource(D3DKMT_HANDLE device, D3DKMT_HANDLE resource)
{
	return D3DKMTDestroyAllocation2(
		&(D3DKMT_DESTROYALLOCATION2){ .hDevice = device, .hResource = resource });
}

/* ---- use ---- */

static inline NTSTATUS lock2(D3DKMT_HANDLE device, D3DKMT_HANDLE allocation, void **pointer_out)
{
	D3DKMT_LOCK2 args = { .hDevice = device, .hAllocation = allocation };
	NTSTATUS status = D3DKMTLock2(&args);

	*pointer_out = args.pData;
	return status;
}

static inline NTSTATUS unlock2(D3DKMT_HANDLE device, D3DKMT_HANDLE allocation)
{
	return D3DKMTUnlock2(&(D3DKMT_UNLOCK2){ .hDevice = device, .hAllocation = allocation });
}

/* Does this device have an allocation of this name? */
static inline bool is_alive(D3DKMT_HANDLE device, D3DKMT_HANDLE allocation)
{
	D3DKMT_INVALIDATECACHE args = { .hDevice = device, .hAllocation = allocation };

	return D3DKMTInvalidateCache(&args) == STATUS_SUCCESS;
}

/* ---- what is left ---- */

struct census {
	long long blocks;
	unsigned allocations;
	unsigned openings;
	unsigned resources;
};

static inline struct census census_of(D3DKMT_HANDLE adapter)
{
	struct softgpu_escape_info info = soft_info(adapter);

	return (struct census){ dxgk_test_memory().blocks, info.live_allocations,
				info.live_openings, info.live_resources };
}

#define EXPECT_CENSUS(adapter, wanted)                                                             \
	do {                                                                                       \
		struct census census_now = census_of(adapter);                                     \
		EXPECT_EQ(census_now.allocations, (wanted).allocations);                           \
		EXPECT_EQ(census_now.openings, (wanted).openings);                                 \
		EXPECT_EQ(census_now.resources, (wanted).resources);                               \
		EXPECT_EQ(census_now.blocks, (wanted).blocks);                                     \
	} while (0)

#endif
