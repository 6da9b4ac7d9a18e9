/* SPDX-License-Identifier: MIT */
/*
 * misaligned_test.c - a client's structs and arrays may stand at any address.
 *
 * Every struct is handed over at an odd address, and so is every array that a call reads or
 * writes. What comes back is looked at; that no one of them is read or written as if it were
 * aligned, the undefined-behaviour sanitizer sees.
 */
#include "api/residency.h"

#include <wchar.h>

enum { COUNT = 3 };

/* Room for copies at odd addresses; starts again with every test. */
static unsigned char buffer[65536];
static size_t used;

static void *odd(const void *bytes, size_t size)
{
	unsigned char *place = buffer + used + 1;

	used += (size + 17) & ~(size_t)15;
	EXPECT(used <= sizeof(buffer));
	memcpy(place, bytes, size);
	return place;
}

#define ODD(object) odd(&(object), sizeof(object))

#define CALL_ODD(call, args)                                                                       \
	do {                                                                                       \
		void *odd_args = ODD(args);                                                        \
		EXPECT_OK(call(odd_args));                                                         \
		memcpy(&(args), odd_args, sizeof(args));                                           \
	} while (0)

static struct client client;
static D3DKMT_HANDLE handles[COUNT];

static void begin_odd(void)
{
	used = 0;
	client = begin();
	for (unsigned i = 0; i < COUNT; i++)
		handles[i] = create_sized(&client, SOME_BYTES, 0);
}

TEST(misaligned, lists_of_what_is_created_and_destroyed)
{
	struct creation creation;

	begin_odd();
	for (unsigned count = 1; count <= COUNT; count++) {
		creation_init(&creation, client.device, count);
		for (unsigned i = 0; i < count; i++)
			creation.elements[i].pPrivateDriverData =
				odd(&creation.data[i], sizeof(creation.data[i]));
		D3DDDI_ALLOCATIONINFO2 *elements =
			odd(creation.elements, count * sizeof(creation.elements[0]));
		creation.args.pAllocationInfo2 = elements;
		CALL_ODD(D3DKMTCreateAllocation2, creation.args);
		memcpy(creation.elements, elements, count * sizeof(creation.elements[0]));
		D3DKMT_HANDLE made[COUNT];
		for (unsigned i = 0; i < count; i++) {
			made[i] = creation.elements[i].hAllocation;
			EXPECT(is_local_handle(made[i]));
		}
		D3DKMT_DESTROYALLOCATION2 destroy = { .hDevice = client.device,
						      .phAllocationList = ODD(made),
						      .AllocationCount = count };
		CALL_ODD(D3DKMTDestroyAllocation2, destroy);
	}
}

TEST(misaligned, priorities_and_residency)
{
	const UINT wanted[COUNT] = { 0x28000000, 0x50000000, 0x78000000 };
	UINT priorities[COUNT] = { 0 };
	UINT statuses[COUNT] = { 0 };

	begin_odd();
	D3DKMT_SETALLOCATIONPRIORITY set = { .hDevice = client.device,
					     .phAllocationList = ODD(handles),
					     .AllocationCount = COUNT,
					     .pPriorities = ODD(wanted) };
	CALL_ODD(D3DKMTSetAllocationPriority, set);
	D3DKMT_GETALLOCATIONPRIORITY get = { .hDevice = client.device,
					     .phAllocationList = ODD(handles),
					     .AllocationCount = COUNT,
					     .pPriorities = ODD(priorities) };
	CALL_ODD(D3DKMTGetAllocationPriority, get);
	EXPECT(memcmp(get.pPriorities, wanted, sizeof(wanted)) == 0);

	D3DDDI_MAKERESIDENT resident = residency_of(&client, ODD(handles), COUNT, 0);
	void *odd_resident = ODD(resident);
	NTSTATUS status = D3DKMTMakeResident(odd_resident);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	memcpy(&resident, odd_resident, sizeof(resident));
	wait_for(&client, resident.PagingFenceValue);
	D3DKMT_QUERYALLOCATIONRESIDENCY query = { .hDevice = client.device,
						  .phAllocationList = ODD(handles),
						  .AllocationCount = COUNT,
						  .pResidencyStatus = ODD(statuses) };
	CALL_ODD(D3DKMTQueryAllocationResidency, query);
	memcpy(statuses, query.pResidencyStatus, sizeof(statuses));
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(statuses[i] == IN_GPU_MEMORY || statuses[i] == IN_SHARED_MEMORY);
	D3DKMT_EVICT away = { .hDevice = client.device,
			      .NumAllocations = COUNT,
			      .AllocationList = ODD(handles) };
	CALL_ODD(D3DKMTEvict, away);
}

TEST(misaligned, what_is_offered_and_reclaimed)
{
	UINT results[COUNT] = { GARBAGE, GARBAGE, GARBAGE };

	begin_odd();
	D3DKMT_OFFERALLOCATIONS give = { .hDevice = client.device,
					 .HandleList = ODD(handles),
					 .NumAllocations = COUNT,
					 .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	CALL_ODD(D3DKMTOfferAllocations, give);
	D3DKMT_RECLAIMALLOCATIONS2 take = { .hPagingQueue = client.queue,
					    .NumAllocations = COUNT,
					    .HandleList = ODD(handles),
					    .pResults = ODD(results) };
	void *odd_take = ODD(take);
	NTSTATUS status = D3DKMTReclaimAllocations2(odd_take);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	memcpy(results, take.pResults, sizeof(results));
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(results[i] <= D3DDDI_RECLAIM_RESULT_NOT_COMMITTED);
}

static D3DKMT_HANDLE create_odd_fence(void)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = client.device };

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	args.Info.Flags.Shared = 1;
	args.Info.Flags.NtSecuritySharing = 1;
	CALL_ODD(D3DKMTCreateSynchronizationObject2, args);
	return args.hSyncObject;
}

TEST(misaligned, fences_and_their_values)
{
	const UINT64 values[COUNT] = { 3, 4, 5 };
	D3DKMT_HANDLE fences[COUNT];

	begin_odd();
	for (unsigned i = 0; i < COUNT; i++)
		fences[i] = create_odd_fence();
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU up = { .hDevice = client.device,
							 .ObjectCount = COUNT,
							 .ObjectHandleArray = ODD(fences),
							 .FenceValueArray = ODD(values) };
	CALL_ODD(D3DKMTSignalSynchronizationObjectFromCpu, up);
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hDevice = client.device,
							    .ObjectCount = COUNT,
							    .ObjectHandleArray = ODD(fences),
							    .FenceValueArray = ODD(values) };
	CALL_ODD(D3DKMTWaitForSynchronizationObjectFromCpu, wait);

	D3DKMT_HANDLE context = create_context(client.device);
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 later = {
		.ObjectCount = COUNT,
		.ObjectHandleArray = ODD(fences),
		.BroadcastContextCount = 1,
		.BroadcastContextArray = ODD(context),
		.MonitoredFenceValueArray = odd((const UINT64[]){ 6, 7, 8 }, sizeof(values)),
	};
	CALL_ODD(D3DKMTSignalSynchronizationObjectFromGpu2, later);
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU then = {
		.hContext = context,
		.ObjectCount = COUNT,
		.ObjectHandleArray = ODD(fences),
		.MonitoredFenceValueArray = ODD(values),
	};
	CALL_ODD(D3DKMTWaitForSynchronizationObjectFromGpu, then);
}

TEST(misaligned, what_is_shared_by_name)
{
	static const WCHAR text[] = L"odd";
	HANDLE handle = NULL;

	begin_odd();
	const D3DKMT_HANDLE fence = create_odd_fence();
	UNICODE_STRING string = { sizeof(text) - sizeof(text[0]), sizeof(text), ODD(text) };
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = ODD(string) };
	HANDLE *odd_handle = ODD(handle);
	EXPECT_OK(D3DKMTShareObjects(1, ODD(fence), ODD(attributes), GENERIC_ALL, odd_handle));
	memcpy(&handle, odd_handle, sizeof(handle));
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME by_name = { .dwDesiredAccess = GENERIC_ALL,
							  .pObjAttrib = ODD(attributes) };
	CALL_ODD(D3DKMTOpenSyncObjectNtHandleFromName, by_name);
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 again = { .hNtHandle = by_name.hNtHandle,
						     .hDevice = client.device };
	CALL_ODD(D3DKMTOpenSyncObjectFromNtHandle2, again);
	EXPECT_EQ(close((int)(intptr_t)handle), 0);
	EXPECT_EQ(close((int)(intptr_t)by_name.hNtHandle), 0);
}

TEST(misaligned, a_time_to_wait)
{
	const LARGE_INTEGER moment = { .QuadPart = -10000 };
	D3DKMT_CREATEKEYEDMUTEX create_it = { .InitialValue = 0 };

	begin_odd();
	CALL_ODD(D3DKMTCreateKeyedMutex, create_it);
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { .hKeyedMutex = create_it.hKeyedMutex,
					     .Key = 1,
					     .pTimeout = ODD(moment) };
	EXPECT_EQ(D3DKMTAcquireKeyedMutex(ODD(acquire)), STATUS_TIMEOUT);
	acquire.Key = 0;
	CALL_ODD(D3DKMTAcquireKeyedMutex, acquire);
}

TEST(misaligned, answers_of_any_shape)
{
	D3DKMT_ADAPTERINFO infos[4] = { 0 };
	D3DKMT_SEGMENTSIZEINFO sizes = { 0 };
	struct softgpu_escape_info info = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_GET_INFO, sizeof(info), 0 },
	};

	begin_odd();
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 4, .pAdapters = ODD(infos) };
	CALL_ODD(D3DKMTEnumAdapters2, all);
	memcpy(infos, all.pAdapters, sizeof(infos));
	EXPECT(is_local_handle(infos[0].hAdapter));
	D3DKMT_QUERYADAPTERINFO query = { client.adapter, KMTQAITYPE_GETSEGMENTSIZE, ODD(sizes),
					  sizeof(sizes) };
	CALL_ODD(D3DKMTQueryAdapterInfo, query);
	memcpy(&sizes, query.pPrivateDriverData, sizeof(sizes));
	EXPECT(sizes.DedicatedVideoMemorySize > 0);
	D3DKMT_ESCAPE escape = { .hAdapter = client.adapter,
				 .pPrivateDriverData = ODD(info),
				 .PrivateDriverDataSize = sizeof(info) };
	CALL_ODD(D3DKMTEscape, escape);
	D3DKMT_QUERYVIDEOMEMORYINFO memory = { .hAdapter = client.adapter };
	CALL_ODD(D3DKMTQueryVideoMemoryInfo, memory);
	EXPECT(memory.Budget > 0);
}

TEST(misaligned, a_shared_resource)
{
	enum { RUNTIME = 5 };
	struct creation creation;
	char runtime[RUNTIME] = "abcd";
	char total[256] = { 0 };

	begin_odd();
	creation_init_resource(&creation, client.device, COUNT, SHARED_GLOBAL);
	creation.args.pPrivateRuntimeData = ODD(runtime);
	creation.args.PrivateRuntimeDataSize = RUNTIME;
	EXPECT_OK(create(&creation));
	for (int version = 1; version <= 2; version++) {
		D3DDDI_OPENALLOCATIONINFO2 elements[COUNT] = { 0 };
		D3DKMT_OPENRESOURCE open_it = { .hDevice = client.device,
						.hGlobalShare = creation.args.hGlobalShare,
						.NumAllocations = COUNT,
						.pOpenAllocationInfo2 = ODD(elements),
						.pPrivateRuntimeData = ODD(total),
						.PrivateRuntimeDataSize = RUNTIME,
						.pTotalPrivateDriverDataBuffer = ODD(total),
						.TotalPrivateDriverDataBufferSize = 256 };
		if (version == 1)
			CALL_ODD(D3DKMTOpenResource, open_it);
		else
			CALL_ODD(D3DKMTOpenResource2, open_it);
		EXPECT(memcmp(open_it.pPrivateRuntimeData, "abcd", RUNTIME) == 0);
	}
}

TEST(misaligned, gpu_addresses)
{
	begin_odd();
	EXPECT_OK(make_resident(&client, handles, COUNT, 0));
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = client.queue,
					    .hAllocation = handles[0],
					    .SizeInPages = SOME_BYTES / PAGE,
					    .Protection = { .Write = 1 } };
	void *odd_map = ODD(map);
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(odd_map);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	memcpy(&map, odd_map, sizeof(map));
	EXPECT(map.VirtualAddress != 0);
	wait_for(&client, map.PagingFenceValue);

	D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = { .hPagingQueue = client.queue,
						    .Size = SOME_BYTES,
						    .ReservationType =
							    D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO };
	void *odd_reserve = ODD(reserve);
	status = D3DKMTReserveGpuVirtualAddress(odd_reserve);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	memcpy(&reserve, odd_reserve, sizeof(reserve));
	wait_for(&client, reserve.PagingFenceValue);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = reserve.VirtualAddress,
			 .SizeInBytes = SOME_BYTES,
			 .hAllocation = handles[1],
			 .AllocationOffsetInBytes = 0,
			 .AllocationSizeInBytes = SOME_BYTES },
	};
	D3DKMT_HANDLE fence = create_odd_fence();
	D3DKMT_UPDATEGPUVIRTUALADDRESS update = { .hDevice = client.device,
						  .hContext = create_context(client.device),
						  .hFenceObject = fence,
						  .NumOperations = 1,
						  .Operations = ODD(operation),
						  .FenceValue = 1 };
	CALL_ODD(D3DKMTUpdateGpuVirtualAddress, update);
}

API_TEST_MAIN("api/misaligned")
