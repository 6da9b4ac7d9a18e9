/* SPDX-License-Identifier: MIT */
/*
 * program.h - what Windows programs of these tests share: Windows' own types, our D3DKMT headers with them, and TAP.
 */
#ifndef TESTS_WINE_PROGRAM_H
#define TESTS_WINE_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "windows_d3dkmt.h"

#include <opendxgk/refusal.h>
#include <opendxgk/softgpu.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static unsigned problems; /* of the claim that is being tested */
static unsigned claims;
static unsigned failed;

/* One line per problem; the claim goes on, because what follows says more. */
#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
			problems++;                                                                \
		}                                                                                  \
	} while (0)

#define EXPECT_STATUS(call, wanted)                                                                \
	do {                                                                                       \
		NTSTATUS got_status = (call);                                                      \
		if (got_status != (NTSTATUS)(wanted)) {                                            \
			printf("# %s:%d: %s: 0x%08lx instead of 0x%08lx\n", __FILE__, __LINE__,    \
			       #call, (unsigned long)got_status, (unsigned long)(wanted));         \
			problems++;                                                                \
		}                                                                                  \
	} while (0)
#define EXPECT_OK(call) EXPECT_STATUS(call, 0)

static inline void claim(const char *text)
{
	claims++;
	failed += problems != 0;
	printf("%s %u - %s\n", problems ? "not ok" : "ok", claims, text);
	fflush(stdout);
	problems = 0;
}

static inline int end_of_claims(void)
{
	printf("1..%u\n", claims);
	fflush(stdout);
	return failed != 0;
}

/* ---- a client ---- */

struct client {
	D3DKMT_HANDLE adapter;
	LUID luid;
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE queue_fence;
	volatile UINT64 *queue_value;
};

static inline struct client client_open(void)
{
	D3DKMT_ADAPTERINFO adapters[34] = { 0 };
	D3DKMT_ENUMADAPTERS2 list = { 34, adapters };
	struct client client = { 0 };

	EXPECT_OK(D3DKMTEnumAdapters2(&list));
	EXPECT(list.NumAdapters >= 1);
	client.adapter = adapters[0].hAdapter;
	client.luid = adapters[0].AdapterLuid;
	D3DKMT_CREATEDEVICE device = { .hAdapter = client.adapter };
	EXPECT_OK(D3DKMTCreateDevice(&device));
	client.device = device.hDevice;
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client.device };
	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	client.queue = queue.hPagingQueue;
	client.queue_fence = queue.hSyncObject;
	client.queue_value = queue.FenceValueCPUVirtualAddress;
	return client;
}

static inline D3DKMT_HANDLE create(const struct client *client, UINT64 size_bytes, UINT flags,
				   UINT sharing, D3DKMT_HANDLE *resource_out)
{
	struct softgpu_allocation wish = { SOFTGPU_ALLOCATION_VERSION, flags, size_bytes, 0 };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &wish,
					.PrivateDriverDataSize = sizeof(wish) };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	args.Flags.CreateResource = resource_out != NULL;
	args.Flags.CreateShared = sharing != 0;
	args.Flags.NtSecuritySharing = sharing != 0;
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	if (resource_out)
		*resource_out = args.hResource;
	return info.hAllocation;
}

static inline NTSTATUS destroy(const struct client *client, D3DKMT_HANDLE allocation,
			       D3DKMT_HANDLE resource)
{
	return D3DKMTDestroyAllocation2(
		&(D3DKMT_DESTROYALLOCATION2){ .hDevice = client->device,
					      .hResource = resource,
					      .phAllocationList = resource ? NULL : &allocation,
					      .AllocationCount = resource ? 0 : 1 });
}

/* A shared resource, of one allocation; its handle here. */
static inline D3DKMT_HANDLE open_handle(const struct client *client, HANDLE handle,
					D3DKMT_HANDLE *memory_out)
{
	D3DDDI_OPENALLOCATIONINFO2 info = { 0 };
	unsigned char buffer[256];
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = { .hDevice = client->device,
						 .hNtHandle = handle,
						 .NumAllocations = 1,
						 .pOpenAllocationInfo2 = &info,
						 .TotalPrivateDriverDataBufferSize = sizeof(buffer),
						 .pTotalPrivateDriverDataBuffer = buffer };

	EXPECT_OK(D3DKMTOpenResourceFromNtHandle(&args));
	EXPECT(args.hNtHandle == handle);
	*memory_out = info.hAllocation;
	return args.hResource;
}

static inline void *lock(const struct client *client, D3DKMT_HANDLE allocation)
{
	D3DKMT_LOCK2 args = { .hDevice = client->device, .hAllocation = allocation };

	EXPECT_OK(D3DKMTLock2(&args));
	return args.pData;
}

static inline NTSTATUS unlock(const struct client *client, D3DKMT_HANDLE allocation)
{
	return D3DKMTUnlock2(
		&(D3DKMT_UNLOCK2){ .hDevice = client->device, .hAllocation = allocation });
}

static inline NTSTATUS wait_for(const struct client *client, D3DKMT_HANDLE fence, UINT64 value,
				HANDLE event)
{
	return D3DKMTWaitForSynchronizationObjectFromCpu(
		&(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){ .hDevice = client->device,
							       .ObjectCount = 1,
							       .ObjectHandleArray = &fence,
							       .FenceValueArray = &value,
							       .hAsyncEvent = event });
}

static inline void make_resident(const struct client *client, D3DKMT_HANDLE allocation)
{
	UINT priority = 0;
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->queue,
				     .NumAllocations = 1,
				     .AllocationList = &allocation,
				     .PriorityList = &priority };
	NTSTATUS status = D3DKMTMakeResident(&args);

	EXPECT(status == 0 || status == STATUS_PENDING);
	EXPECT_OK(wait_for(client, client->queue_fence, args.PagingFenceValue, NULL));
}

static inline D3DKMT_HANDLE create_fence(const struct client *client, UINT flags,
					 volatile UINT64 **value_out)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = client->device };

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	args.Info.Flags.Value = flags;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	if (value_out)
		*value_out = args.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	return args.hSyncObject;
}

static inline NTSTATUS signal_fence(const struct client *client, D3DKMT_HANDLE fence, UINT64 value)
{
	return D3DKMTSignalSynchronizationObjectFromCpu(
		&(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){ .hDevice = client->device,
							      .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .FenceValueArray = &value });
}

#endif
