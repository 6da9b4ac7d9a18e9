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

/* try_open_…() and open_…(), which differ in the call, and in what is opened. */
#define DEFINE_OPEN(name, handle_type, member, arguments, call)                                    \
	static inline NTSTATUS try_open_##name(const struct client *client, handle_type handle,    \
					       struct pair *pair_out)                              \
	{                                                                                          \
		D3DDDI_OPENALLOCATIONINFO2 info = { 0 };                                           \
		unsigned char buffer[256];                                                         \
		arguments args = {                                                                 \
			.hDevice = client->device,                                                 \
			.member = handle,                                                          \
			.NumAllocations = 1,                                                       \
			.pOpenAllocationInfo2 = &info,                                             \
			.TotalPrivateDriverDataBufferSize = sizeof(buffer),                        \
			.pTotalPrivateDriverDataBuffer = buffer,                                   \
		};                                                                                 \
		NTSTATUS status = call(&args);                                                     \
                                                                                                   \
		*pair_out = (struct pair){ args.hResource, info.hAllocation };                     \
		return status;                                                                     \
	}                                                                                          \
                                                                                                   \
	static inline struct pair open_##name(const struct client *client, handle_type handle)     \
	{                                                                                          \
		struct pair pair;                                                                  \
                                                                                                   \
		EXPECT_OK(try_open_##name(client, handle, &pair));                                 \
		return pair;                                                                       \
	}

DEFINE_OPEN(nt, HANDLE, hNtHandle, D3DKMT_OPENRESOURCEFROMNTHANDLE, D3DKMTOpenResourceFromNtHandle)
DEFINE_OPEN(global, D3DKMT_HANDLE, hGlobalShare, D3DKMT_OPENRESOURCE, D3DKMTOpenResource2)

#endif
