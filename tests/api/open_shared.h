/* SPDX-License-Identifier: MIT */
/*
 * open_shared.h - a shared resource of one allocation is opened, by either kind of handle.
 */
#ifndef TESTS_API_OPEN_SHARED_H
#define TESTS_API_OPEN_SHARED_H

#include "api/residency.h"

struct pair {
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE memory;
};

static inline NTSTATUS try_open_nt(const struct client *client, HANDLE handle,
				   struct pair *pair_out)
{
	D3DDDI_OPENALLOCATIONINFO2 info = { 0 };
	unsigned char room[256];
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = {
		.hDevice = client->device,
		.hNtHandle = handle,
		.NumAllocations = 1,
		.pOpenAllocationInfo2 = &info,
		.TotalPrivateDriverDataBufferSize = sizeof(room),
		.pTotalPrivateDriverDataBuffer = room,
	};
	NTSTATUS status = D3DKMTOpenResourceFromNtHandle(&args);

	*pair_out = (struct pair){ args.hResource, info.hAllocation };
	return status;
}

static inline struct pair open_nt(const struct client *client, HANDLE handle)
{
	struct pair pair;

	EXPECT_OK(try_open_nt(client, handle, &pair));
	return pair;
}

static inline NTSTATUS try_open_global(const struct client *client, D3DKMT_HANDLE global,
				       struct pair *pair_out)
{
	D3DDDI_OPENALLOCATIONINFO2 info = { 0 };
	unsigned char room[256];
	D3DKMT_OPENRESOURCE args = {
		.hDevice = client->device,
		.hGlobalShare = global,
		.NumAllocations = 1,
		.pOpenAllocationInfo2 = &info,
		.TotalPrivateDriverDataBufferSize = sizeof(room),
		.pTotalPrivateDriverDataBuffer = room,
	};
	NTSTATUS status = D3DKMTOpenResource2(&args);

	*pair_out = (struct pair){ args.hResource, info.hAllocation };
	return status;
}

static inline struct pair open_global(const struct client *client, D3DKMT_HANDLE global)
{
	struct pair pair;

	EXPECT_OK(try_open_global(client, global, &pair));
	return pair;
}

#endif
