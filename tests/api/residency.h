/* SPDX-License-Identifier: MIT */
/*
 * residency.h - the calls of residency in short, for their tests.
 */
#ifndef TESTS_API_RESIDENCY_H
#define TESTS_API_RESIDENCY_H

#include "api/allocation.h"

enum { GARBAGE = 0x1eadbeed, KIB = 1024, MIB = 1024 * KIB };
enum { ONLY_IF_NECESSARY = 1, NOT_WRITTEN_TO = 2 };         /* of D3DDDI_EVICT_FLAGS */
enum { CANT_TRIM = 1, MUST_SUCCEED = 2 };                   /* of D3DDDI_MAKERESIDENT_FLAGS */
enum { OFFER_NOW = 1, ALLOW_DECOMMIT = 2 };                 /* of D3DKMT_OFFER_FLAGS */
enum { IN_GPU_MEMORY = 1, IN_SHARED_MEMORY, NOT_RESIDENT }; /* of QueryAllocationResidency */

/* A client with one device and one paging queue. */
struct client {
	D3DKMT_HANDLE adapter;
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE fence;
	const volatile UINT64 *value;
};

static inline void client_open(struct client *client, D3DKMT_HANDLE adapter)
{
	*client = (struct client){ .adapter = adapter, .device = create_device(adapter) };
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client->device };

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	client->queue = queue.hPagingQueue;
	client->fence = queue.hSyncObject;
	client->value = queue.FenceValueCPUVirtualAddress;
}

/* A new process with one of them. */
static inline struct client begin(void)
{
	struct client client;

	D3DKMTCloseDxCoreDevice();
	client_open(&client, open_first_adapter());
	return client;
}

/*
 * Everything fits together, once what a call left to others is over: a fence is seen before the
 * operation behind it has let go of its queue, a destruction may come after its call.
 */
static inline NTSTATUS try_create_sized(const struct client *client, uint64_t size_bytes,
					unsigned flags, D3DKMT_HANDLE *handle_out)
{
	struct creation creation;

	creation_init(&creation, client->device, 1);
	creation.data[0].size_bytes = size_bytes;
	creation.data[0].flags = flags;
	NTSTATUS status = create(&creation);
	*handle_out = creation.elements[0].hAllocation;
	return status;
}

static inline D3DKMT_HANDLE create_sized(const struct client *client, uint64_t size_bytes,
					 unsigned flags)
{
	D3DKMT_HANDLE handle;

	EXPECT_OK(try_create_sized(client, size_bytes, flags, &handle));
	return handle;
}

static inline D3DDDI_MAKERESIDENT residency_of(const struct client *client,
					       const D3DKMT_HANDLE *handles, unsigned count,
					       unsigned flags)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->queue,
				     .NumAllocations = count,
				     .AllocationList = handles };

	args.Flags.Value = flags;
	return args;
}

static inline void wait_for(const struct client *client, UINT64 value)
{
	EXPECT_OK(wait_value(client->device, client->fence, value));
	EXPECT(*client->value >= value);
}

static inline NTSTATUS destroy_now(const struct client *client, D3DKMT_HANDLE handle)
{
	return D3DKMTDestroyAllocation2(
		&(D3DKMT_DESTROYALLOCATION2){ .hDevice = client->device,
					      .phAllocationList = &handle,
					      .AllocationCount = 1,
					      .Flags.SynchronousDestroy = 1 });
}

/* Waits when it has to; what else comes back is the caller's. */
static inline NTSTATUS make_resident(const struct client *client, const D3DKMT_HANDLE *handles,
				     unsigned count, unsigned flags)
{
	D3DDDI_MAKERESIDENT args = residency_of(client, handles, count, flags);
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (status == STATUS_PENDING) {
		EXPECT(args.PagingFenceValue > 0);
		wait_for(client, args.PagingFenceValue);
		status = STATUS_SUCCESS;
	}
	if (status == STATUS_SUCCESS)
		EXPECT_EQ(args.NumAllocations, count);
	if (status == STATUS_NO_MEMORY) {
		EXPECT_EQ(args.NumAllocations, 0);
		EXPECT(args.NumBytesToTrim > 0);
	}
	return status;
}

static inline NTSTATUS evict(const struct client *client, const D3DKMT_HANDLE *handles,
			     unsigned count, unsigned flags)
{
	D3DKMT_EVICT args = { .hDevice = client->device,
			      .NumAllocations = count,
			      .AllocationList = handles };

	args.Flags.Value = flags;
	return D3DKMTEvict(&args);
}

static inline unsigned residency_status(const struct client *client, D3DKMT_HANDLE handle)
{
	D3DKMT_ALLOCATIONRESIDENCYSTATUS status = 0;
	D3DKMT_QUERYALLOCATIONRESIDENCY args = { .hDevice = client->device,
						 .phAllocationList = &handle,
						 .AllocationCount = 1,
						 .pResidencyStatus = &status };

	EXPECT_OK(D3DKMTQueryAllocationResidency(&args));
	return status;
}

/* Everything that moves has arrived. */
static inline void flush(const struct client *client)
{
	EXPECT_OK(D3DKMTFlushHeapTransitions(&(D3DKMT_FLUSHHEAPTRANSITIONS){ client->adapter }));
}

static inline D3DKMT_QUERYVIDEOMEMORYINFO memory_info(const struct client *client, unsigned group)
{
	D3DKMT_QUERYVIDEOMEMORYINFO args = {
		.hAdapter = client->adapter,
		.MemorySegmentGroup = (D3DKMT_MEMORY_SEGMENT_GROUP)group,
	};

	EXPECT_OK(D3DKMTQueryVideoMemoryInfo(&args));
	return args;
}

static inline NTSTATUS offer(const struct client *client, const D3DKMT_HANDLE *handles,
			     unsigned count, unsigned priority, unsigned flags)
{
	D3DKMT_OFFERALLOCATIONS args = { .hDevice = client->device,
					 .HandleList = handles,
					 .NumAllocations = count,
					 .Priority = (D3DKMT_OFFER_PRIORITY)priority };

	args.Flags.Value = flags;
	return D3DKMTOfferAllocations(&args);
}

/* Waits when it has to. */
static inline NTSTATUS reclaim(const struct client *client, const D3DKMT_HANDLE *handles,
			       unsigned count, D3DDDI_RECLAIM_RESULT *results)
{
	D3DKMT_RECLAIMALLOCATIONS2 args = { .hPagingQueue = client->queue,
					    .NumAllocations = count,
					    .HandleList = handles,
					    .pResults = results };
	NTSTATUS status = D3DKMTReclaimAllocations2(&args);

	if (status == STATUS_PENDING) {
		wait_for(client, args.PagingFenceValue);
		status = STATUS_SUCCESS;
	}
	return status;
}

static inline NTSTATUS reclaim_now(const struct client *client, const D3DKMT_HANDLE *handles,
				   unsigned count, BOOL *discarded)
{
	return D3DKMTReclaimAllocations(&(D3DKMT_RECLAIMALLOCATIONS){ .hDevice = client->device,
								      .HandleList = handles,
								      .pDiscarded = discarded,
								      .NumAllocations = count });
}

/* ---- content ---- */

static inline uint64_t pattern(uint64_t seed, uint64_t at)
{
	uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + at * UINT64_C(0xbf58476d1ce4e5b9);

	return x ^ x >> 29;
}

static inline void fill(const struct client *client, D3DKMT_HANDLE handle, uint64_t size_bytes,
			uint64_t seed)
{
	void *pointer;

	EXPECT_OK(lock2(client->device, handle, &pointer));
	for (uint64_t i = 0; i < size_bytes / 8; i++)
		((uint64_t *)pointer)[i] = pattern(seed, i);
	EXPECT_OK(unlock2(client->device, handle));
}

/* The first byte that is not as it was written, or the size. */
static inline uint64_t first_difference(const struct client *client, D3DKMT_HANDLE handle,
					uint64_t size_bytes, uint64_t seed)
{
	void *pointer;
	uint64_t at = 0;

	EXPECT_OK(lock2(client->device, handle, &pointer));
	while (at < size_bytes / 8 && ((const uint64_t *)pointer)[at] == pattern(seed, at))
		at++;
	EXPECT_OK(unlock2(client->device, handle));
	return at * 8;
}

#define EXPECT_CONTENT(client, handle, size_bytes, seed)                                           \
	EXPECT_EQ(first_difference(client, handle, size_bytes, seed), size_bytes)

#define EXPECT_BAD(call, rule, argument)                                                           \
	EXPECT_REFUSED(call, STATUS_INVALID_PARAMETER, rule, argument)

static inline NTSTATUS bring(const struct client *client, D3DDDI_ALLOCATIONINFO2 element,
			     bool is_section, UINT64 size_bytes, D3DKMT_HANDLE *handle_out)
{
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP,
		.ExistingHeapData.Size = size_bytes,
	};
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element,
					 .pStandardAllocation = &standard };

	args.Flags.StandardAllocation = 1;
	args.Flags.ExistingSection = is_section;
	args.Flags.ExistingSysMem = !is_section;
	NTSTATUS status = D3DKMTCreateAllocation2(&args);
	*handle_out = element.hAllocation;
	return status;
}

/* Memory that a section (a sealed memfd) is made of. */
static inline NTSTATUS bring_section(const struct client *client, int section, UINT64 size_bytes,
				     D3DKMT_HANDLE *handle_out)
{
	D3DDDI_ALLOCATIONINFO2 element = { .hSection = (HANDLE)(intptr_t)section };

	return bring(client, element, true, size_bytes, handle_out);
}

/* Memory of the client's own. */
static inline NTSTATUS bring_heap(const struct client *client, void *memory, UINT64 size_bytes,
				  D3DKMT_HANDLE *handle_out)
{
	D3DDDI_ALLOCATIONINFO2 element = { .pSystemMem = memory };

	return bring(client, element, false, size_bytes, handle_out);
}

/* What is in local memory is moved about, or only compared. */
static inline void put_in_order(const struct client *client,
				D3DKMT_DEFRAG_ESCAPE_OPERATION operation)
{
	D3DKMT_VIDMM_ESCAPE order = { .Type = D3DKMT_VIDMMESCAPETYPE_DEFRAG };
	D3DKMT_ESCAPE args = { .hAdapter = client->adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &order,
			       .PrivateDriverDataSize = sizeof(order) };

	order.Defrag.Operation = operation;
	order.Defrag.SegmentId = 1;
	NTSTATUS status = D3DKMTEscape(&args);
	if (status == STATUS_NOT_SUPPORTED) /* the CPU does not see it */
		EXPECT_STR(last_refusal().rule, "MM-VERIFY-TRANSFER");
	else
		EXPECT_OK(status);
}

#define CLIENT_TEST(suite, claim, ...)                                                             \
	TEST_MADE(client, client, (__VA_ARGS__), expect_valid(), suite, claim)

#endif
