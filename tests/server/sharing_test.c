/* SPDX-License-Identifier: MIT */
/*
 * sharing_test.c - what two processes share, by descriptors that one sends to the other: a resource with a keyed
 * mutex and a fence, and a sync file. What one has shared lives on when it is killed.
 */
#include "api/soft_work.h"
#include "server/house.h"

enum { HERE = 1, GO, DONE };
enum { SHARED_BYTES = 64 * KIB };

static D3DKMT_HANDLE opened_device;

static void send_shared(D3DKMT_HANDLE object, DWORD access)
{
	HANDLE handle;

	CHILD_EXPECT(D3DKMTShareObjects(1, &object, NULL, access, &handle) == STATUS_SUCCESS);
	CHILD_EXPECT(talk_send(TALK_FD, (struct talk){ HERE, 0 }, (int)(intptr_t)handle));
	close((int)(intptr_t)handle);
}

/* ---- resources ---- */

CHILD(resource_maker)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	struct creation creation;
	void *pointer;

	creation_init_resource(&creation, device, 1, SHARED_NT);
	creation.data[0].size_bytes = SHARED_BYTES;
	CHILD_EXPECT(create(&creation) == STATUS_SUCCESS);
	send_shared(creation.args.hResource, SHARED_ALLOCATION_WRITE);
	CHILD_EXPECT(lock2(device, creation.elements[0].hAllocation, &pointer) == STATUS_SUCCESS);
	memset(pointer, 0x31, SHARED_BYTES);
	test_say(DONE, 0);
	test_hear(); /* the other has written */
	for (unsigned i = 0; i < SHARED_BYTES; i++)
		CHILD_EXPECT(((unsigned char *)pointer)[i] == 0x32);
	test_say(DONE, 0);
	test_hear(); /* is killed */
	return 0;
}

static D3DKMT_HANDLE open_resource(HANDLE handle)
{
	D3DDDI_OPENALLOCATIONINFO2 info = { 0 };
	unsigned char total[1024];
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = { .hDevice = opened_device,
						 .hNtHandle = handle,
						 .NumAllocations = 1,
						 .pOpenAllocationInfo2 = &info,
						 .TotalPrivateDriverDataBufferSize = sizeof(total),
						 .pTotalPrivateDriverDataBuffer = total };

	CHILD_EXPECT(D3DKMTOpenResourceFromNtHandle(&args) == STATUS_SUCCESS);
	return info.hAllocation;
}

CHILD(resource_opener)
{
	int descriptor;
	void *pointer;

	opened_device = child_create_device(child_open_adapter());
	test_hear_with(&descriptor);
	D3DKMT_HANDLE memory = open_resource((HANDLE)(intptr_t)descriptor);
	close(descriptor);
	CHILD_EXPECT(lock2(opened_device, memory, &pointer) == STATUS_SUCCESS);
	for (unsigned i = 0; i < SHARED_BYTES; i++)
		CHILD_EXPECT(((unsigned char *)pointer)[i] == 0x31);
	memset(pointer, 0x32, SHARED_BYTES);
	test_say(DONE, 0);
	test_hear(); /* its maker is dead */
	for (unsigned i = 0; i < SHARED_BYTES; i++)
		CHILD_EXPECT(((unsigned char *)pointer)[i] == 0x32);
	CHILD_EXPECT(unlock2(opened_device, memory) == STATUS_SUCCESS);
	test_say(DONE, 0);
	return 0;
}

/* What a child sends goes to another. */
static void pass_on(const struct lodger *from, const struct lodger *to)
{
	int descriptor;

	EXPECT_EQ(lodger_hear_with(from, &descriptor).word, HERE);
	EXPECT(descriptor >= 0);
	EXPECT(talk_send(to->talk, (struct talk){ HERE, 0 }, descriptor));
	close(descriptor);
}

HOUSE_TEST(resource, is_the_same_memory_for_two_processes_and_outlives_the_one_that_made_it)
{
	struct lodger maker = lodger_start("resource_maker");
	struct lodger opener = lodger_start("resource_opener");
	int descriptor;
	EXPECT_EQ(lodger_hear_with(&maker, &descriptor).word, HERE);
	lodger_hear(&maker, DONE);
	EXPECT(talk_send(opener.talk, (struct talk){ HERE, 0 }, descriptor));
	close(descriptor);
	lodger_hear(&opener, DONE);
	lodger_say(&maker, GO, 0);
	lodger_hear(&maker, DONE);
	lodger_kill(&maker);
	expect_valid();
	lodger_say(&opener, GO, 0);
	lodger_hear(&opener, DONE);
	lodger_end(&opener);
}

/* ---- fences ---- */

CHILD(fence_maker)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;

	CHILD_EXPECT(try_monitored_fence(device, true, &fence) == STATUS_SUCCESS);
	send_shared(fence.hSyncObject, 0x10000000 /* GENERIC_ALL */);
	test_hear();
	CHILD_EXPECT(signal_value(device, fence.hSyncObject, 5) == STATUS_SUCCESS);
	CHILD_EXPECT(wait_value(device, fence.hSyncObject, 6) == STATUS_SUCCESS);
	CHILD_EXPECT(*(volatile UINT64 *)fence.Info.MonitoredFence.FenceValueCPUVirtualAddress >=
		     6);
	test_say(DONE, 0);
	return 0;
}

CHILD(fence_opener)
{
	int descriptor;

	opened_device = child_create_device(child_open_adapter());
	test_hear_with(&descriptor);
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 args = { .hNtHandle = (HANDLE)(intptr_t)descriptor,
						    .hDevice = opened_device };
	CHILD_EXPECT(D3DKMTOpenSyncObjectFromNtHandle2(&args) == STATUS_SUCCESS);
	close(descriptor);
	test_say(DONE, 0);
	CHILD_EXPECT(wait_value(opened_device, args.hSyncObject, 5) == STATUS_SUCCESS);
	CHILD_EXPECT(*(volatile UINT64 *)args.MonitoredFence.FenceValueCPUVirtualAddress >= 5);
	CHILD_EXPECT(signal_value(opened_device, args.hSyncObject, 6) == STATUS_SUCCESS);
	return 0;
}

HOUSE_TEST(fence, is_waited_for_and_signalled_across_processes)
{
	struct lodger maker = lodger_start("fence_maker");
	struct lodger opener = lodger_start("fence_opener");
	pass_on(&maker, &opener);
	lodger_hear(&opener, DONE);
	lodger_say(&maker, GO, 0);
	lodger_hear(&maker, DONE);
	lodger_end(&maker);
	lodger_end(&opener);
}

CHILD(file_maker)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;
	D3DKMT_CREATESYNCFILE file = { .hDevice = device, .FenceValue = 3 };

	CHILD_EXPECT(try_monitored_fence(device, false, &fence) == STATUS_SUCCESS);
	file.hMonitoredFence = fence.hSyncObject;
	CHILD_EXPECT(D3DKMTCreateSyncFile(&file) == STATUS_SUCCESS);
	CHILD_EXPECT(talk_send(TALK_FD, (struct talk){ HERE, 0 }, (int)file.hSyncFile));
	close((int)file.hSyncFile);
	test_hear();
	CHILD_EXPECT(signal_value(device, fence.hSyncObject, 3) == STATUS_SUCCESS);
	test_say(DONE, 0);
	test_hear();
	return 0;
}

static bool is_readable(int file, int timeout_ms)
{
	struct pollfd one = { .fd = file, .events = POLLIN };

	return poll(&one, 1, timeout_ms) == 1;
}

HOUSE_TEST(sync_file, is_polled_by_a_process_that_is_no_client)
{
	int file;

	struct lodger maker = lodger_start("file_maker");
	EXPECT_EQ(lodger_hear_with(&maker, &file).word, HERE);
	EXPECT(!is_readable(file, 0));
	lodger_say(&maker, GO, 0);
	lodger_hear(&maker, DONE);
	EXPECT(is_readable(file, PATIENCE_MS));
	lodger_kill(&maker);
	EXPECT(is_readable(file, 0));
	close(file);
}

HOUSE_TEST(sync_file, of_one_that_is_killed_is_not_waited_for_in_vain)
{
	int file;

	struct lodger maker = lodger_start("file_maker");
	EXPECT_EQ(lodger_hear_with(&maker, &file).word, HERE);
	lodger_kill(&maker);
	EXPECT(is_readable(file, PATIENCE_MS));
	close(file);
}

/* ---- keyed mutexes ---- */

CHILD(mutex_holder)
{
	test_say(HERE, child_hold_mutex().hSharedHandle);
	test_hear();
	return 0;
}

CHILD(mutex_waiter)
{
	D3DKMT_HANDLE global = (D3DKMT_HANDLE)test_hear().value;

	test_say(DONE, (uint32_t)child_want_mutex(global, 0, 0, HERE));
	return 0;
}

HOUSE_TEST(keyed_mutex, is_abandoned_when_its_holder_is_killed)
{
	struct lodger holder = lodger_start("mutex_holder");
	struct lodger waiter = lodger_start("mutex_waiter");
	lodger_say(&waiter, GO, lodger_hear(&holder, HERE));
	lodger_hear(&waiter, HERE);
	lodger_kill(&holder);
	EXPECT_EQ(lodger_hear(&waiter, DONE), (uint32_t)STATUS_ABANDONED);
	lodger_end(&waiter);
}

API_TEST_MAIN("server/sharing")
