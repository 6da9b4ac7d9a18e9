/* SPDX-License-Identifier: MIT */
/*
 * share_set_test.c - a resource, its keyed mutex and its sync object under one NT handle.
 */
#include "api/resource.h"

enum { MUTEX_BYTES = 6, GARBAGE = 0x1eadbeed };

struct set {
	struct shared shared;
	D3DKMT_HANDLE objects[3];
	const volatile UINT64 *view;
	HANDLE handle;
};

static const unsigned char mutex_data[MUTEX_BYTES] = { 1, 2, 3, 4, 5, 6 };

static D3DKMT_HANDLE create_mutex(bool is_nt)
{
	D3DKMT_CREATEKEYEDMUTEX2 args = { .pPrivateRuntimeData = (void *)mutex_data,
					  .PrivateRuntimeDataSize = MUTEX_BYTES,
					  .Flags.NtSecuritySharing = is_nt };

	EXPECT_OK(D3DKMTCreateKeyedMutex2(&args));
	return args.hKeyedMutex;
}

static D3DKMT_HANDLE create_fence(bool is_nt, const volatile UINT64 **view_out)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = creator };

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	args.Info.Flags.Shared = is_nt;
	args.Info.Flags.NtSecuritySharing = is_nt;
	args.Info.MonitoredFence.InitialFenceValue = 5;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	if (view_out)
		*view_out = args.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	return args.hSyncObject;
}

static NTSTATUS destroy_mutex(D3DKMT_HANDLE mutex)
{
	return D3DKMTDestroyKeyedMutex(&(D3DKMT_DESTROYKEYEDMUTEX){ mutex });
}

static NTSTATUS destroy_fence(D3DKMT_HANDLE fence)
{
	return D3DKMTDestroySynchronizationObject(&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){ fence });
}

static NTSTATUS share_set(unsigned count, const D3DKMT_HANDLE *objects, HANDLE *handle_out)
{
	return D3DKMTShareObjects(count, objects, NULL, SHARED_ALLOCATION_WRITE, handle_out);
}

static void begin(struct set *set)
{
	D3DKMTCloseDxCoreDevice();
	adapter = open_first_adapter();
	creator = create_device(adapter);
	opener = create_device(adapter);
	share(&set->shared, 1, SHARED_NT);
	set->objects[0] = set->shared.creation.args.hResource;
	set->objects[1] = create_mutex(true);
	set->objects[2] = create_fence(true, &set->view);
}

TEST(set, is_a_resource_a_mutex_and_a_fence_in_that_order_and_nothing_else)
{
	struct set set;
	HANDLE handle = NULL;

	begin(&set);
	const D3DKMT_HANDLE kinds[3] = { set.objects[0], set.objects[1], set.objects[2] };
	for (unsigned mix = 0; mix < 27; mix++) {
		const D3DKMT_HANDLE objects[3] = { kinds[mix % 3], kinds[mix / 3 % 3],
						   kinds[mix / 9] };
		bool is_the_one = mix == 0 + 1 * 3 + 2 * 9;
		EXPECT_REFUSED(share_set(2, objects, &handle), STATUS_INVALID_PARAMETER,
			       "API-SHARE-SET", "ObjectHandleArray");
		if (!is_the_one)
			EXPECT_REFUSED(share_set(3, objects, &handle), STATUS_INVALID_PARAMETER,
				       "API-SHARE-SET", "ObjectHandleArray");
	}
	EXPECT(!handle);
	EXPECT_OK(share_set(3, kinds, &handle));
	expect_valid();
	EXPECT_EQ(close((int)(intptr_t)handle), 0);
}

TEST(set, is_shared_the_same_way_when_the_arguments_come_in_a_struct)
{
	struct set set;
	HANDLE handle = NULL;

	begin(&set);
	D3DKMT_SHAREOBJECTS args = { 3, set.objects, NULL, SHARED_ALLOCATION_WRITE, &handle };
	EXPECT_OK(D3DKMTShareObjectsInternal(&args));
	EXPECT(handle);
	EXPECT_EQ(close((int)(intptr_t)handle), 0);
	args.ObjectCount = 2;
	EXPECT_REFUSED(D3DKMTShareObjectsInternal(&args), STATUS_INVALID_PARAMETER, "API-SHARE-SET",
		       "ObjectHandleArray");
	EXPECT_REFUSED(D3DKMTShareObjectsInternal(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	expect_valid();
}

TEST(set, needs_each_of_its_objects_to_be_made_for_nt_handles)
{
	struct set set;
	HANDLE handle;

	begin(&set);
	D3DKMT_HANDLE objects[3] = { set.objects[0], create_mutex(false), set.objects[2] };
	EXPECT_REFUSED(share_set(3, objects, &handle), STATUS_INVALID_PARAMETER, "API-SHARE-SCHEME",
		       "ObjectHandleArray");
	objects[1] = set.objects[1];
	objects[2] = create_fence(false, NULL);
	EXPECT_REFUSED(share_set(3, objects, &handle), STATUS_INVALID_PARAMETER, "API-SHARE-SCHEME",
		       "ObjectHandleArray");
}

/* The creator destroys all three; the NT handle has them. */
static void share_and_forget(struct set *set)
{
	begin(set);
	EXPECT_OK(share_set(3, set->objects, &set->handle));
	EXPECT_OK(destroy_resource(creator, set->objects[0]));
	EXPECT_OK(destroy_mutex(set->objects[1]));
	EXPECT_OK(destroy_fence(set->objects[2]));
}

TEST(set, gives_no_right_to_its_fence_that_its_maker_had_not)
{
	UINT64 value = 6;
	struct set set;
	struct opening opening;
	HANDLE to_wait;

	begin(&set);
	EXPECT_OK(D3DKMTShareObjects(1, &set.objects[2], NULL, D3DDDI_SYNC_OBJECT_WAIT, &to_wait));
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 narrow = { .hNtHandle = to_wait, .hDevice = creator };
	EXPECT_OK(D3DKMTOpenSyncObjectFromNtHandle2(&narrow));
	set.objects[2] = narrow.hSyncObject;
	EXPECT_OK(share_set(3, set.objects, &set.shared.nt_handle));
	opening_init(&opening, &set.shared);
	EXPECT_OK(open_by(BY_NT, &set.shared, &opening));
	EXPECT_REFUSED(signal_value(opener, opening.nt.hSyncObject, value), STATUS_ACCESS_DENIED,
		       "API-SYNC-ACCESS", "ObjectHandleArray");
	EXPECT_REFUSED(D3DKMTShareObjects(1, &opening.nt.hSyncObject, NULL,
					  D3DDDI_SYNC_OBJECT_ALL_ACCESS, &set.handle),
		       STATUS_ACCESS_DENIED, "API-RIGHTS", "DesiredAccess");
	EXPECT_EQ(close((int)(intptr_t)set.shared.nt_handle), 0);
	EXPECT_EQ(close((int)(intptr_t)to_wait), 0);
}

TEST(set, opens_all_three_after_their_creator_has_gone)
{
	struct set set;
	struct opening opening;
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE query = { .NumAllocations = GARBAGE };
	UINT64 value = 5;

	share_and_forget(&set);
	query.hDevice = opener;
	query.hNtHandle = set.handle;
	EXPECT_OK(D3DKMTQueryResourceInfoFromNtHandle(&query));
	EXPECT_EQ(query.NumAllocations, 1);
	EXPECT_EQ(query.PrivateRuntimeDataSize, RUNTIME_BYTES);
	opening_init(&opening, &set.shared);
	EXPECT_OK(open_nt(&opening, set.handle));
	EXPECT(is_local_handle(opening.resource));
	EXPECT(is_local_handle(opening.nt.hKeyedMutex));
	EXPECT(is_local_handle(opening.nt.hSyncObject));
	EXPECT(is_local_handle(opening.v2[0].hAllocation));
	EXPECT_EQ(opening.nt.KeyedMutexPrivateRuntimeDataSize, MUTEX_BYTES);
	expect_valid();

	/* They are what was shared: the mutex has its data, the fence its value. */
	unsigned char buffer[MUTEX_BYTES] = { 0 };
	D3DKMT_ACQUIREKEYEDMUTEX2 acquire = { .hKeyedMutex = opening.nt.hKeyedMutex,
					      .pPrivateRuntimeData = buffer,
					      .PrivateRuntimeDataSize = MUTEX_BYTES };
	EXPECT_OK(D3DKMTAcquireKeyedMutex2(&acquire));
	EXPECT(memcmp(buffer, mutex_data, MUTEX_BYTES) == 0);
	EXPECT_OK(wait_value(opener, opening.nt.hSyncObject, value));
	value = 6;
	EXPECT_OK(signal_value(opener, opening.nt.hSyncObject, value));

	EXPECT_EQ(close((int)(intptr_t)set.handle), 0);
	EXPECT_OK(destroy_resource(opener, opening.resource));
	EXPECT_OK(destroy_mutex(opening.nt.hKeyedMutex));
	EXPECT_OK(destroy_fence(opening.nt.hSyncObject));
	expect_valid();
}

TEST(set, that_cannot_be_opened_whole_opens_nothing)
{
	struct dxgk_test_memory before;
	struct set set;
	struct opening opening;

	share_and_forget(&set);
	before = dxgk_test_memory();
	opening_init(&opening, &set.shared);
	opening.runtime_bytes++;
	EXPECT_REFUSED(open_nt(&opening, set.handle), STATUS_INVALID_PARAMETER, "API-BUFFER",
		       "PrivateRuntimeDataSize");
	EXPECT_EQ(opening.nt.hKeyedMutex, GARBAGE);
	EXPECT_EQ(opening.nt.hSyncObject, GARBAGE);
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	expect_valid();
	EXPECT_EQ(close((int)(intptr_t)set.handle), 0);
}

TEST(set, checks_the_data_of_the_mutex)
{
	unsigned char data[2 * MUTEX_BYTES] = { 0 };
	D3DDDI_OPENALLOCATIONINFO2 element;
	unsigned char runtime[RUNTIME_BYTES];
	unsigned char total[1024];
	struct set set;

	share_and_forget(&set);
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = {
		.hDevice = opener,
		.hNtHandle = set.handle,
		.NumAllocations = 1,
		.pOpenAllocationInfo2 = &element,
		.PrivateRuntimeDataSize = RUNTIME_BYTES,
		.pPrivateRuntimeData = runtime,
		.TotalPrivateDriverDataBufferSize = sizeof(total),
		.pTotalPrivateDriverDataBuffer = total,
		.KeyedMutexPrivateRuntimeDataSize = MUTEX_BYTES,
	};
	EXPECT_REFUSED(D3DKMTOpenResourceFromNtHandle(&args), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pKeyedMutexPrivateRuntimeData");
	args.pKeyedMutexPrivateRuntimeData = data;
	args.KeyedMutexPrivateRuntimeDataSize = MUTEX_BYTES - 1;
	EXPECT_REFUSED(D3DKMTOpenResourceFromNtHandle(&args), STATUS_INVALID_PARAMETER,
		       "API-MUTEX-DATA", "KeyedMutexPrivateRuntimeDataSize");
	args.KeyedMutexPrivateRuntimeDataSize = sizeof(data);
	EXPECT_OK(D3DKMTOpenResourceFromNtHandle(&args));
	EXPECT_EQ(args.KeyedMutexPrivateRuntimeDataSize, MUTEX_BYTES);
	for (unsigned i = 0; i < sizeof(data); i++)
		EXPECT_EQ(data[i], 0);
	EXPECT_EQ(close((int)(intptr_t)set.handle), 0);
}

/* A mutex without data gets what comes with the first opening, if that is one. */
TEST(set, that_was_not_opened_leaves_its_mutex_without_data)
{
	unsigned char data[MUTEX_BYTES] = { 7, 8, 9 };
	D3DDDI_OPENALLOCATIONINFO2 element;
	unsigned char runtime[RUNTIME_BYTES];
	unsigned char total[1024];
	D3DKMT_CREATEKEYEDMUTEX2 empty = { .Flags.NtSecuritySharing = 1 };
	struct set set;

	begin(&set);
	EXPECT_OK(D3DKMTCreateKeyedMutex2(&empty));
	set.objects[1] = empty.hKeyedMutex;
	EXPECT_OK(share_set(3, set.objects, &set.handle));
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = {
		.hDevice = opener,
		.hNtHandle = set.handle,
		.NumAllocations = 2,
		.pOpenAllocationInfo2 = &element,
		.PrivateRuntimeDataSize = RUNTIME_BYTES,
		.pPrivateRuntimeData = runtime,
		.TotalPrivateDriverDataBufferSize = sizeof(total),
		.pTotalPrivateDriverDataBuffer = total,
		.pKeyedMutexPrivateRuntimeData = data,
		.KeyedMutexPrivateRuntimeDataSize = MUTEX_BYTES,
	};
	EXPECT_REFUSED(D3DKMTOpenResourceFromNtHandle(&args), STATUS_INVALID_PARAMETER, "API-COUNT",
		       "NumAllocations");
	args.NumAllocations = 1;
	args.KeyedMutexPrivateRuntimeDataSize = 3;
	EXPECT_OK(D3DKMTOpenResourceFromNtHandle(&args));
	EXPECT_EQ(args.KeyedMutexPrivateRuntimeDataSize, 3);
	unsigned char buffer[3] = { 0 };
	D3DKMT_ACQUIREKEYEDMUTEX2 acquire = { .hKeyedMutex = empty.hKeyedMutex,
					      .pPrivateRuntimeData = buffer,
					      .PrivateRuntimeDataSize = sizeof(buffer) };
	EXPECT_OK(D3DKMTAcquireKeyedMutex2(&acquire));
	EXPECT(memcmp(buffer, data, sizeof(buffer)) == 0);
	EXPECT_EQ(close((int)(intptr_t)set.handle), 0);
}

TEST(set, is_no_keyed_mutex_and_no_sync_object_to_those_who_open_one)
{
	D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE mutex = { 0 };
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 fence = { 0 };
	struct set set;

	share_and_forget(&set);
	mutex.hNtHandle = set.handle;
	EXPECT_REFUSED(D3DKMTOpenKeyedMutexFromNtHandle(&mutex), STATUS_OBJECT_TYPE_MISMATCH,
		       "API-NT-HANDLE-KIND", "hNtHandle");
	fence.hNtHandle = set.handle;
	fence.hDevice = opener;
	EXPECT_REFUSED(D3DKMTOpenSyncObjectFromNtHandle2(&fence), STATUS_OBJECT_TYPE_MISMATCH,
		       "API-NT-HANDLE-KIND", "hNtHandle");
	EXPECT_EQ(close((int)(intptr_t)set.handle), 0);
}

TEST(memory, may_fail_anywhere_and_nothing_is_opened)
{
	struct dxgk_test_memory before;
	struct set set;
	unsigned long long n = 0;
	int fired;

	share_and_forget(&set);
	do {
		struct opening opening;
		opening_init(&opening, &set.shared);
		before = dxgk_test_memory();
		dxgk_test_fail_nth_allocation(++n);
		NTSTATUS status = open_nt(&opening, set.handle);
		fired = dxgk_test_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		if (fired)
			EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
		expect_valid();
	} while (fired);
	EXPECT(n > 4);
	EXPECT_EQ(close((int)(intptr_t)set.handle), 0);
}

API_TEST_MAIN("api/share_set")
