/* SPDX-License-Identifier: MIT */
/*
 * sync_object_test.c - synchronization objects: what can be created, opened and shared.
 */
#include "api/sync.h"

/* ---- the first version ---- */

static NTSTATUS create_v1(D3DKMT_HANDLE on, unsigned type, D3DKMT_HANDLE *sync_out)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT args = { .hDevice = on };

	args.Info.Type = (D3DDDI_SYNCHRONIZATIONOBJECT_TYPE)type;
	args.hSyncObject = GARBAGE;
	NTSTATUS status = D3DKMTCreateSynchronizationObject(&args);
	EXPECT(status == STATUS_SUCCESS || args.hSyncObject == GARBAGE);
	*sync_out = args.hSyncObject;
	return status;
}

TEST(create_v1, refuses_no_struct_no_device_and_no_type)
{
	D3DKMT_HANDLE sync;

	begin();
	EXPECT_BAD(D3DKMTCreateSynchronizationObject(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD_HANDLE(create_v1(0, 0, &sync), "hDevice");
	EXPECT_BAD_HANDLE(create_v1(0, D3DDDI_SYNCHRONIZATION_MUTEX, &sync), "hDevice");
	EXPECT_BAD(create_v1(device, 0, &sync), "API-SYNC-KIND", "Info.Type");
}

TEST(create_v1, makes_mutexes_and_semaphores_with_handles_in_a_row)
{
	D3DKMT_HANDLE first, second, semaphore;

	begin();
	EXPECT_OK(create_v1(device, D3DDDI_SYNCHRONIZATION_MUTEX, &first));
	EXPECT_OK(create_v1(device, D3DDDI_SYNCHRONIZATION_MUTEX, &second));
	EXPECT(is_local_handle(first));
	EXPECT_EQ(second, first + 0x40);
	EXPECT_OK(destroy_sync(first));
	EXPECT_BAD_HANDLE(destroy_sync(first), "hSyncObject");
	EXPECT_OK(create_v1(device, D3DDDI_SEMAPHORE, &semaphore));
	EXPECT_OK(destroy_sync(semaphore));
	EXPECT_OK(destroy_sync(second));
}

TEST(create_v1, makes_no_other_kind)
{
	D3DKMT_HANDLE sync;

	begin();
	for (unsigned type = D3DDDI_FENCE; type <= D3DDDI_SYNCHRONIZATION_TYPE_LIMIT; type++)
		EXPECT_BAD(create_v1(device, type, &sync), "API-SYNC-KIND", "Info.Type");
}

/* ---- the second version ---- */

TEST(create, refuses_no_struct_no_device_and_no_type)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 zeros = { 0 };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 no_type = { 0 };

	begin();
	EXPECT_BAD(D3DKMTCreateSynchronizationObject2(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD_HANDLE(D3DKMTCreateSynchronizationObject2(&zeros), "hDevice");
	no_type.hDevice = device;
	EXPECT_BAD(D3DKMTCreateSynchronizationObject2(&no_type), "API-VALUE", "Info.Type");
	no_type.Info.Type = D3DDDI_SYNCHRONIZATION_TYPE_LIMIT;
	EXPECT_BAD(D3DKMTCreateSynchronizationObject2(&no_type), "API-VALUE", "Info.Type");
	zeros.Info.Type = D3DDDI_FENCE;
	EXPECT_BAD_HANDLE(D3DKMTCreateSynchronizationObject2(&zeros), "hDevice");
	zeros.hDevice = adapter;
	EXPECT_BAD(D3DKMTCreateSynchronizationObject2(&zeros), "API-HANDLE-KIND", "hDevice");
}

TEST(create, makes_every_kind_that_needs_no_display)
{
	static const unsigned types[] = { D3DDDI_SYNCHRONIZATION_MUTEX, D3DDDI_SEMAPHORE,
					  D3DDDI_FENCE, D3DDDI_MONITORED_FENCE };

	begin();
	for (unsigned i = 0; i < 4; i++) {
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(types[i], 0);
		args.Info.SharedHandle = GARBAGE;
		EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
		EXPECT(is_local_handle(args.hSyncObject));
		EXPECT_EQ(args.Info.SharedHandle, 0);
		expect_valid();
		EXPECT_OK(destroy_sync(args.hSyncObject));
	}
}

TEST(create, of_a_notification_needs_an_eventfd)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_CPU_NOTIFICATION, 0);
	static const char *const argument = "CPUNotification.Event";
	int event = new_event();

	begin();
	args.hDevice = device;
	EXPECT_REFUSED(D3DKMTCreateSynchronizationObject2(&args), STATUS_INVALID_HANDLE,
		       "API-EVENT", argument);
	args.Info.CPUNotification.Event = (HANDLE)(intptr_t)STDERR_FILENO;
	EXPECT_REFUSED(D3DKMTCreateSynchronizationObject2(&args), STATUS_INVALID_HANDLE,
		       "API-EVENT", argument);
	args.Info.CPUNotification.Event = (HANDLE)(uintptr_t)0x100000000;
	EXPECT_REFUSED(D3DKMTCreateSynchronizationObject2(&args), STATUS_INVALID_HANDLE,
		       "API-EVENT", argument);
	args.Info.CPUNotification.Event = (HANDLE)(intptr_t)event;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	close(event); /* the client's own; ours is a copy */
	EXPECT_OK(destroy_sync(args.hSyncObject));
}

TEST(create, of_a_periodic_fence_needs_a_display_and_says_so)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;

	begin();
	args = creation(D3DDDI_PERIODIC_MONITORED_FENCE, 0);
	EXPECT_BAD_HANDLE(D3DKMTCreateSynchronizationObject2(&args),
			  "PeriodicMonitoredFence.hAdapter");
	args.Info.PeriodicMonitoredFence.hAdapter = adapter;
	EXPECT_BAD(D3DKMTCreateSynchronizationObject2(&args), "API-VALUE",
		   "PeriodicMonitoredFence.VidPnTargetId");
}

TEST(create, of_a_semaphore_has_no_more_at_first_than_at_most)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;

	begin();
	args = creation(D3DDDI_SEMAPHORE, 0);
	args.Info.Semaphore.MaxCount = 2;
	args.Info.Semaphore.InitialCount = 3;
	EXPECT_BAD(D3DKMTCreateSynchronizationObject2(&args), "API-VALUE", "InitialCount");
	args.Info.Semaphore.InitialCount = 2;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
}

TEST(create, of_a_monitored_fence_shows_its_value_read_only)
{
	const volatile UINT64 *view;
	const volatile UINT64 *other;
	FILE *maps;
	char line[512];
	bool is_read_only = false;

	begin();
	D3DKMT_HANDLE fence = create_fence(77, 0, &view);
	D3DKMT_HANDLE second = create_fence(78, NO_GPU, &other);
	EXPECT_EQ((uintptr_t)view % 8, 0);
	EXPECT_EQ(*view, 77);
	EXPECT_EQ(*other, 78);
	EXPECT_OK(signal_fence(fence, 100));
	EXPECT_EQ(*view, 100);
	EXPECT_EQ(*other, 78);
	maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long first, last;
		char rights[8];
		EXPECT_EQ(sscanf(line, "%llx-%llx %7s", &first, &last, rights), 3);
		if ((uintptr_t)view >= first && (uintptr_t)view < last)
			is_read_only = rights[0] == 'r' && rights[1] == '-';
	}
	fclose(maps);
	EXPECT(is_read_only);
	EXPECT_OK(destroy_sync(fence));
	EXPECT_OK(destroy_sync(second));
}

TEST(create, of_a_fence_without_gpu_access_gives_no_gpu_address)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;

	begin();
	args = monitored(0, NO_GPU);
	args.Info.MonitoredFence.FenceValueGPUVirtualAddress = GARBAGE;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	EXPECT_EQ(args.Info.MonitoredFence.FenceValueGPUVirtualAddress, 0);
}

/* ---- flags ---- */

TEST(flags, that_are_reserved_are_refused)
{
	begin();
	for (unsigned bit = 9; bit < 32; bit++) {
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = monitored(0, 1u << bit);
		EXPECT_BAD(D3DKMTCreateSynchronizationObject2(&args), "API-RESERVED", "Info.Flags");
	}
}

TEST(flags, that_do_not_fit_each_other_are_refused)
{
	static const struct {
		unsigned type;
		unsigned flags;
		const char *rule;
	} bad[] = {
		{ D3DDDI_SYNCHRONIZATION_MUTEX, NT_SHARING, "API-VALUE" },
		{ D3DDDI_MONITORED_FENCE, NT_SHARING, "API-VALUE" },
		{ D3DDDI_MONITORED_FENCE, SHARED, "API-VALUE" },
		{ D3DDDI_MONITORED_FENCE, NO_SIGNAL | NO_WAIT, "API-VALUE" },
		{ D3DDDI_MONITORED_FENCE, BY_KMD, "API-SYNC-KIND" },
		{ D3DDDI_FENCE, NO_SIGNAL, "API-SYNC-KIND" },
		{ D3DDDI_SEMAPHORE, NO_WAIT, "API-SYNC-KIND" },
		{ D3DDDI_SYNCHRONIZATION_MUTEX, TOP_OF_PIPELINE, "API-SYNC-KIND" },
	};

	begin();
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(bad[i].type, bad[i].flags);
		EXPECT_BAD(D3DKMTCreateSynchronizationObject2(&args), bad[i].rule, "Info.Flags");
	}
}

TEST(flags, of_a_monitored_fence_can_be_combined)
{
	static const unsigned good[] = { 0,
					 SHARED_NT,
					 SHARED_NT | CROSS_ADAPTER,
					 NO_SIGNAL | NO_JUMP,
					 NO_WAIT | NO_GPU,
					 TOP_OF_PIPELINE };

	begin();
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		EXPECT_OK(destroy_sync(create_fence(0, good[i], NULL)));
}

TEST(engine_mask, beyond_the_only_engine_is_refused)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;

	begin();
	args = monitored(0, 0);
	args.Info.MonitoredFence.EngineAffinity = 2;
	EXPECT_BAD(D3DKMTCreateSynchronizationObject2(&args), "API-VALUE", "EngineAffinity");
	args.Info.MonitoredFence.EngineAffinity = 1;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
}

/* ---- destroy ---- */

TEST(destroy, takes_local_handles_of_sync_objects_only)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;

	begin();
	args = creation(D3DDDI_SYNCHRONIZATION_MUTEX, SHARED);
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	EXPECT_BAD(D3DKMTDestroySynchronizationObject(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD_HANDLE(destroy_sync(0), "hSyncObject");
	EXPECT_BAD_HANDLE(destroy_sync(args.Info.SharedHandle), "hSyncObject");
	EXPECT_BAD(destroy_sync(device), "API-HANDLE-KIND", "hSyncObject");
	EXPECT_OK(destroy_sync(args.hSyncObject));
}

TEST(device, takes_its_sync_objects_with_it)
{
	D3DKMT_HANDLE other, fence, mutex;

	begin();
	other = device;
	device = create_device(adapter);
	fence = create_fence(0, 0, NULL);
	mutex = create_kind(D3DDDI_SYNCHRONIZATION_MUTEX, 0);
	EXPECT_OK(destroy_device(device));
	EXPECT_BAD_HANDLE(destroy_sync(fence), "hSyncObject");
	EXPECT_BAD_HANDLE(destroy_sync(mutex), "hSyncObject");
	device = other;
	expect_valid();
}

TEST(process, takes_what_it_opened_by_global_handle_with_it)
{
	struct dxgk_test_memory before;
	D3DKMT_HANDLE opened;

	begin();
	D3DKMTCloseDxCoreDevice();
	before = dxgk_test_memory();
	begin();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_SEMAPHORE, SHARED);
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	EXPECT_OK(open_global_sync(args.Info.SharedHandle, &opened));
	/* The object is of the process: the device's end does not end it. */
	EXPECT_OK(destroy_device(device));
	EXPECT_BAD_HANDLE(destroy_sync(args.hSyncObject), "hSyncObject");
	expect_valid();
	D3DKMTCloseDxCoreDevice();
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
}

/* ---- global handles ---- */

TEST(global, handle_opens_until_the_last_local_one_is_destroyed)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;
	D3DKMT_OPENSYNCHRONIZATIONOBJECT with_local = { 0 };
	D3DKMT_HANDLE opened;

	begin();
	args = creation(D3DDDI_SYNCHRONIZATION_MUTEX, SHARED);
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	EXPECT(is_local_handle(args.hSyncObject));
	EXPECT(is_global_handle(args.Info.SharedHandle));
	EXPECT_BAD_HANDLE(open_global_sync(0x1eadbeed, &opened), "hSharedHandle");
	EXPECT_BAD_HANDLE(open_global_sync(0, &opened), "hSharedHandle");
	with_local.hSyncObject = args.hSyncObject;
	EXPECT_BAD_HANDLE(D3DKMTOpenSynchronizationObject(&with_local), "hSharedHandle");
	EXPECT_BAD_HANDLE(open_global_sync(args.hSyncObject, &opened), "hSharedHandle");

	EXPECT_OK(open_global_sync(args.Info.SharedHandle, &opened));
	EXPECT(is_local_handle(opened));
	expect_valid();
	EXPECT_OK(destroy_sync(opened));
	EXPECT_BAD_HANDLE(destroy_sync(opened), "hSyncObject");
	EXPECT_OK(open_global_sync(args.Info.SharedHandle, &opened));
	EXPECT_OK(destroy_sync(args.hSyncObject));
	EXPECT_OK(destroy_sync(opened));
	EXPECT_BAD_HANDLE(open_global_sync(args.Info.SharedHandle, &opened), "hSharedHandle");
}

TEST(global, handle_is_not_given_to_what_is_shared_by_nt_handles)
{
	static const unsigned types[] = { D3DDDI_SYNCHRONIZATION_MUTEX, D3DDDI_SEMAPHORE,
					  D3DDDI_FENCE, D3DDDI_MONITORED_FENCE };

	begin();
	for (unsigned i = 0; i < 4; i++) {
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(types[i], SHARED_NT);
		args.Info.SharedHandle = GARBAGE;
		EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
		EXPECT_EQ(args.Info.SharedHandle, 0);
		EXPECT_OK(destroy_sync(args.hSyncObject));
	}
}

TEST(global, handle_of_another_kind_opens_nothing)
{
	D3DKMT_CREATEKEYEDMUTEX mutex = { 0 };
	D3DKMT_HANDLE opened;

	begin();
	EXPECT_OK(D3DKMTCreateKeyedMutex(&mutex));
	EXPECT_BAD(open_global_sync(mutex.hSharedHandle, &opened), "API-HANDLE-KIND",
		   "hSharedHandle");
}

/* ---- NT handles ---- */

TEST(nt_handle, is_given_to_what_was_created_for_it_only)
{
	HANDLE handle = NULL;
	D3DKMT_HANDLE sync;

	begin();
	EXPECT_OK(create_v1(device, D3DDDI_SYNCHRONIZATION_MUTEX, &sync));
	EXPECT_BAD(share_sync(sync, 3, &handle), "API-SHARE-SCHEME", "ObjectHandleArray");
	sync = create_kind(D3DDDI_FENCE, 0);
	EXPECT_BAD(share_sync(sync, 3, &handle), "API-SHARE-SCHEME", "ObjectHandleArray");
	sync = create_kind(D3DDDI_FENCE, SHARED);
	EXPECT_BAD(share_sync(sync, 3, &handle), "API-SHARE-SCHEME", "ObjectHandleArray");
	EXPECT(!handle);
	sync = create_kind(D3DDDI_FENCE, SHARED_NT);
	EXPECT_OK(share_sync(sync, 3, &handle));
	EXPECT((uintptr_t)handle < 0x40000000);
	EXPECT_BAD_HANDLE(destroy_sync((D3DKMT_HANDLE)(uintptr_t)handle), "hSyncObject");
	close_nt(handle);
}

TEST(nt_handle, opens_after_the_creator_has_gone_and_can_be_shared_again)
{
	const volatile UINT64 *view;
	D3DKMT_HANDLE fence, opened, again;
	HANDLE handle, second;

	begin();
	fence = create_fence(5, SHARED_NT, NULL);
	EXPECT_OK(share_sync(fence, 3, &handle));
	EXPECT_OK(destroy_sync(fence));
	EXPECT_BAD_HANDLE(share_sync(fence, 3, &second), "ObjectHandleArray");
	EXPECT_OK(open_nt_sync(handle, 0, &opened, &view));
	EXPECT(is_local_handle(opened));
	EXPECT_EQ(*view, 5);
	EXPECT_OK(share_sync(opened, 3, &second));
	close_nt(handle);
	EXPECT_OK(open_nt_sync(second, 0, &again, &view));
	EXPECT_OK(signal_fence(opened, 6));
	EXPECT_EQ(*view, 6);
	EXPECT_OK(wait_fence(again, 6, 0));
	expect_valid();
	close_nt(second);
	EXPECT_OK(destroy_sync(opened));
	EXPECT_EQ(*view, 6);
	EXPECT_OK(destroy_sync(again));
}

TEST(nt_handle, opening_checks_what_it_is_given)
{
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 zeros = { 0 };
	D3DKMT_HANDLE fence, mutex, opened;
	HANDLE handle, mutex_handle;

	begin();
	fence = create_fence(5, SHARED_NT, NULL);
	mutex = create_kind(D3DDDI_SYNCHRONIZATION_MUTEX, SHARED_NT);
	EXPECT_OK(share_sync(fence, 3, &handle));
	EXPECT_OK(share_sync(mutex, 3, &mutex_handle));
	EXPECT_BAD_HANDLE(D3DKMTOpenSyncObjectFromNtHandle2(&zeros), "hDevice");
	zeros.hNtHandle = handle;
	EXPECT_BAD_HANDLE(D3DKMTOpenSyncObjectFromNtHandle2(&zeros), "hDevice");
	EXPECT_REFUSED(open_nt_sync(NULL, 0, &opened, NULL), STATUS_INVALID_HANDLE, "API-NT-HANDLE",
		       "hNtHandle");
	EXPECT_BAD(open_nt_sync(handle, 0x200, &opened, NULL), "API-RESERVED", "Flags");
	EXPECT_BAD(open_nt_sync(handle, NO_SIGNAL | NO_WAIT, &opened, NULL), "API-VALUE", "Flags");
	EXPECT_BAD(open_nt_sync(mutex_handle, NO_WAIT, &opened, NULL), "API-SYNC-KIND", "Flags");
	EXPECT_OK(open_nt_sync(mutex_handle, 0, &opened, NULL));
	close_nt(handle);
	EXPECT_REFUSED(open_nt_sync(handle, 0, &opened, NULL), STATUS_INVALID_HANDLE,
		       "API-NT-HANDLE", "hNtHandle");
	close_nt(mutex_handle);
}

TEST(nt_handle, without_a_right_opens_without_it)
{
	D3DKMT_HANDLE fence, waiter, signaller;
	HANDLE to_wait, to_signal;

	begin();
	fence = create_fence(5, SHARED_NT, NULL);
	EXPECT_OK(share_sync(fence, D3DDDI_SYNC_OBJECT_WAIT, &to_wait));
	EXPECT_OK(share_sync(fence, D3DDDI_SYNC_OBJECT_SIGNAL, &to_signal));
	EXPECT_OK(open_nt_sync(to_wait, 0, &waiter, NULL));
	EXPECT_OK(open_nt_sync(to_signal, 0, &signaller, NULL));
	EXPECT_OK(wait_fence(waiter, 5, 0));
	EXPECT_REFUSED(signal_fence(waiter, 6), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	EXPECT_REFUSED(wait_fence(signaller, 5, 0), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	EXPECT_OK(signal_fence(signaller, 6));
	EXPECT_OK(wait_fence(fence, 6, 0));
	close_nt(to_wait);
	close_nt(to_signal);
}

TEST(opening, has_flags_of_its_own)
{
	D3DKMT_HANDLE fence, waiter, signaller;
	HANDLE handle;

	begin();
	fence = create_fence(5, SHARED_NT | NO_SIGNAL, NULL);
	EXPECT_OK(share_sync(fence, D3DDDI_SYNC_OBJECT_ALL_ACCESS, &handle));
	EXPECT_OK(open_nt_sync(handle, NO_WAIT, &signaller, NULL));
	EXPECT_OK(open_nt_sync(handle, NO_SIGNAL, &waiter, NULL));
	EXPECT_REFUSED(signal_fence(fence, 6), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	EXPECT_OK(signal_fence(signaller, 6));
	EXPECT_OK(wait_fence(fence, 6, 0));
	EXPECT_OK(wait_fence(waiter, 6, 0));
	EXPECT_REFUSED(wait_fence(signaller, 6, 0), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	close_nt(handle);
}

/* ---- sharing again ---- */

enum { MAXIMUM = 0x02000000, READ_CONTROL_BIT = 0x20000 };

static const DWORD all_but_wait[] = { D3DDDI_SYNC_OBJECT_SIGNAL, GENERIC_WRITE, READ_CONTROL_BIT };
static const DWORD all_but_signal[] = { D3DDDI_SYNC_OBJECT_WAIT, GENERIC_READ, READ_CONTROL_BIT };
static const DWORD with_both[] = { D3DDDI_SYNC_OBJECT_ALL_ACCESS, GENERIC_ALL,
				   GENERIC_READ | GENERIC_WRITE,
				   D3DDDI_SYNC_OBJECT_WAIT | GENERIC_WRITE };

static void expect_not_shared(D3DKMT_HANDLE sync, DWORD access)
{
	HANDLE handle = (HANDLE)(uintptr_t)GARBAGE;

	EXPECT_REFUSED(share_sync(sync, access, &handle), STATUS_ACCESS_DENIED, "API-RIGHTS",
		       "DesiredAccess");
	EXPECT(handle == (HANDLE)(uintptr_t)GARBAGE);
}

/* What `sync` may not do it cannot give away; everything else it can. */
static void expect_rights_kept(D3DKMT_HANDLE sync, bool may_signal)
{
	const DWORD *granted = may_signal ? all_but_wait : all_but_signal;
	D3DKMT_HANDLE again;
	HANDLE handle;

	for (unsigned i = 0; i < ARRAYSIZE(with_both); i++) {
		expect_not_shared(sync, with_both[i]);
		expect_not_shared(sync, with_both[i] | MAXIMUM);
	}
	for (unsigned i = 0; i < 2; i++)
		expect_not_shared(sync, may_signal ? all_but_signal[i] : all_but_wait[i]);
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_OK(share_sync(sync, granted[i], &handle));
		close_nt(handle);
	}
	/* The most that it can. */
	EXPECT_OK(share_sync(sync, MAXIMUM, &handle));
	EXPECT_OK(open_nt_sync(handle, 0, &again, NULL));
	close_nt(handle);
	EXPECT_EQ(signal_fence(again, 100), may_signal ? STATUS_SUCCESS : STATUS_ACCESS_DENIED);
	EXPECT_EQ(wait_fence(again, 0, 0), may_signal ? STATUS_ACCESS_DENIED : STATUS_SUCCESS);
	/* And from there on. */
	expect_not_shared(again, D3DDDI_SYNC_OBJECT_ALL_ACCESS);
	EXPECT_OK(destroy_sync(again));
}

TEST(rights, that_an_nt_handle_did_not_give_are_not_shared_again)
{
	D3DKMT_HANDLE fence, waiter, signaller;
	HANDLE to_wait, to_signal;

	begin();
	fence = create_fence(5, SHARED_NT, NULL);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT_OK(share_sync(fence, all_but_signal[i], &to_wait));
		EXPECT_OK(share_sync(fence, all_but_wait[i], &to_signal));
		EXPECT_OK(open_nt_sync(to_wait, 0, &waiter, NULL));
		EXPECT_OK(open_nt_sync(to_signal, 0, &signaller, NULL));
		expect_rights_kept(waiter, false);
		expect_rights_kept(signaller, true);
		close_nt(to_wait);
		close_nt(to_signal);
	}
}

TEST(rights, that_an_opening_gave_up_are_not_shared_again)
{
	D3DKMT_HANDLE fence, waiter, signaller;
	HANDLE handle;

	begin();
	fence = create_fence(5, SHARED_NT, NULL);
	EXPECT_OK(share_sync(fence, D3DDDI_SYNC_OBJECT_ALL_ACCESS, &handle));
	EXPECT_OK(open_nt_sync(handle, NO_SIGNAL, &waiter, NULL));
	EXPECT_OK(open_nt_sync(handle, NO_WAIT, &signaller, NULL));
	expect_rights_kept(waiter, false);
	expect_rights_kept(signaller, true);
	close_nt(handle);
}

TEST(rights, of_other_sync_objects_are_not_shared_again_either)
{
	static const unsigned kinds[] = { D3DDDI_SYNCHRONIZATION_MUTEX, D3DDDI_SEMAPHORE,
					  D3DDDI_FENCE };

	for (unsigned i = 0; i < ARRAYSIZE(kinds); i++) {
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;
		D3DKMT_HANDLE opened;
		HANDLE handle;

		begin();
		args = creation(kinds[i], SHARED_NT);
		if (kinds[i] == D3DDDI_SEMAPHORE)
			args.Info.Semaphore.MaxCount = 1;
		EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
		EXPECT_OK(share_sync(args.hSyncObject, D3DDDI_SYNC_OBJECT_WAIT, &handle));
		EXPECT_OK(open_nt_sync(handle, 0, &opened, NULL));
		expect_not_shared(opened, D3DDDI_SYNC_OBJECT_SIGNAL);
		expect_not_shared(opened, D3DDDI_SYNC_OBJECT_ALL_ACCESS);
		close_nt(handle);
		EXPECT_OK(share_sync(opened, D3DDDI_SYNC_OBJECT_WAIT, &handle));
		close_nt(handle);
	}
}

/* ---- names ---- */

static OBJECT_ATTRIBUTES *name_of(const WCHAR *text)
{
	static UNICODE_STRING string;
	static OBJECT_ATTRIBUTES attributes;
	USHORT length = 0;

	while (text[length])
		length++;
	string = (UNICODE_STRING){ (USHORT)(length * sizeof(WCHAR)),
				   (USHORT)(length * sizeof(WCHAR)), (WCHAR *)text };
	attributes = (OBJECT_ATTRIBUTES){ .Length = sizeof(attributes), .ObjectName = &string };
	return &attributes;
}

static NTSTATUS open_name(const WCHAR *text, DWORD access, HANDLE *handle_out)
{
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME args = { .dwDesiredAccess = access,
						       .pObjAttrib = name_of(text) };
	NTSTATUS status = D3DKMTOpenSyncObjectNtHandleFromName(&args);

	*handle_out = args.hNtHandle;
	return status;
}

TEST(rights, that_the_one_who_gave_the_name_had_not_are_not_had_by_name)
{
	D3DKMT_HANDLE fence, waiter, opened;
	HANDLE to_wait, named, by_name;

	begin();
	fence = create_fence(5, SHARED_NT, NULL);
	EXPECT_OK(share_sync(fence, D3DDDI_SYNC_OBJECT_WAIT, &to_wait));
	EXPECT_OK(open_nt_sync(to_wait, 0, &waiter, NULL));
	EXPECT_OK(D3DKMTShareObjects(1, &waiter, name_of(L"narrow"), D3DDDI_SYNC_OBJECT_WAIT,
				     &named));
	for (unsigned i = 0; i < ARRAYSIZE(with_both); i++)
		EXPECT_REFUSED(open_name(L"narrow", with_both[i], &by_name), STATUS_ACCESS_DENIED,
			       "API-RIGHTS", "dwDesiredAccess");
	EXPECT_OK(open_name(L"narrow", MAXIMUM, &by_name));
	EXPECT_OK(open_nt_sync(by_name, 0, &opened, NULL));
	EXPECT_EQ(signal_fence(opened, 100), STATUS_ACCESS_DENIED);
	EXPECT_OK(wait_fence(opened, 5, 0));
	close_nt(by_name);
	close_nt(named);
	close_nt(to_wait);
}

TEST(name, opens_in_either_case_while_an_nt_handle_is_there)
{
	D3DKMT_HANDLE fence, opened;
	HANDLE handle, by_name, none;

	begin();
	fence = create_fence(5, SHARED_NT, NULL);
	EXPECT_OK(D3DKMTShareObjects(1, &fence, name_of(L"\\BaseNamedObjects\\Sync"), 3, &handle));
	EXPECT_REFUSED(open_name(L"\\BaseNamedObjects\\Other", 3, &none),
		       STATUS_OBJECT_NAME_NOT_FOUND, "API-NAME", "pObjAttrib");
	EXPECT_REFUSED(open_name(L"\\BaseNamedObjects\\Sync", 0, &none), STATUS_ACCESS_DENIED,
		       "API-ACCESS", "dwDesiredAccess");
	EXPECT_OK(open_name(L"\\basenamedobjects\\sync", 3, &by_name));
	close_nt(handle);
	EXPECT_OK(open_nt_sync(by_name, 0, &opened, NULL));
	EXPECT_OK(signal_fence(opened, 9));
	EXPECT_OK(wait_fence(fence, 9, 0));
	close_nt(by_name);
	EXPECT_REFUSED(open_name(L"\\BaseNamedObjects\\Sync", 3, &none),
		       STATUS_OBJECT_NAME_NOT_FOUND, "API-NAME", "pObjAttrib");
	EXPECT_OK(D3DKMTShareObjects(1, &fence, name_of(L"\\BaseNamedObjects\\Sync"), 3, &handle));
	EXPECT_OK(open_name(L"\\BaseNamedObjects\\Sync", 3, &by_name));
	close_nt(handle);
	close_nt(by_name);
}

/* ---- what is left ---- */

TEST(memory, may_fail_anywhere_and_nothing_is_left)
{
	static const unsigned flags[] = { 0, SHARED_NT };
	unsigned long long n = 0;
	int fired;

	begin();
	EXPECT_OK(destroy_sync(create_fence(0, 0, NULL)));
	(void)create_fence(0, 0, NULL); /* the one that was kept of that: the next is a new one */
	for (unsigned i = 0; i < 2; i++) {
		n = 0;
		do {
			struct dxgk_test_memory before = dxgk_test_memory();
			D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = monitored(3, flags[i]);
			dxgk_test_fail_nth_allocation(++n);
			NTSTATUS status = D3DKMTCreateSynchronizationObject2(&args);
			fired = dxgk_test_fail_stop();
			EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
			if (!fired)
				EXPECT_OK(destroy_sync(args.hSyncObject));
			/* One that could be used again is kept. */
			EXPECT_EQ(dxgk_test_memory().blocks,
				  before.blocks + (!fired && flags[i] == 0));
			expect_valid();
		} while (fired);
		EXPECT(n > 1);
	}
}

static void use_many_fences(void)
{
	enum { COUNT = 3000 };
	static D3DKMT_HANDLE fences[COUNT];
	static const volatile UINT64 *views[COUNT];

	for (unsigned i = 0; i < COUNT; i++)
		fences[i] = create_fence(i, 0, &views[i]);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT_EQ(*views[i], i);
		EXPECT_OK(signal_fence(fences[i], i + COUNT));
	}
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_EQ(*views[i], i + COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT_OK(destroy_sync(fences[(i * 7) % COUNT]));
}

TEST(fences, by_the_thousand_have_their_own_values)
{
	struct dxgk_test_memory before;

	begin();
	use_many_fences(); /* page tables for their GPU addresses stay with the process */
	before = dxgk_test_memory();
	use_many_fences();
	EXPECT(dxgk_test_memory().blocks <= before.blocks + 1); /* an empty chunk is kept */
}

TEST(fences, of_a_process_have_gpu_addresses_of_their_own)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 first;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 second;

	begin();
	first = monitored(0, 0);
	second = monitored(0, 0);
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&first));
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&second));
	UINT64 address = first.Info.MonitoredFence.FenceValueGPUVirtualAddress;
	EXPECT(address != 0 && address % sizeof(UINT64) == 0);
	EXPECT(second.Info.MonitoredFence.FenceValueGPUVirtualAddress != 0);
	EXPECT(second.Info.MonitoredFence.FenceValueGPUVirtualAddress != address);
}

API_TEST_MAIN("api/sync_object")
