/* SPDX-License-Identifier: MIT */
/*
 * paging_queue_test.c - paging queues and their fences. What they are used for is in the tests of
 * the calls that take one.
 */
#include "api/sync.h"

static D3DKMT_CREATEPAGINGQUEUE queue_of(D3DKMT_HANDLE owner, int priority)
{
	return (D3DKMT_CREATEPAGINGQUEUE){
		.hDevice = owner,
		.Priority = (D3DDDI_PAGINGQUEUE_PRIORITY)priority,
		.hPagingQueue = GARBAGE,
		.hSyncObject = GARBAGE,
	};
}

static D3DKMT_CREATEPAGINGQUEUE create_queue(void)
{
	D3DKMT_CREATEPAGINGQUEUE queue = queue_of(device, 0);

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	return queue;
}

static NTSTATUS destroy_queue(D3DKMT_HANDLE queue)
{
	return D3DKMTDestroyPagingQueue(&(D3DDDI_DESTROYPAGINGQUEUE){ queue });
}

TEST(create, gives_a_queue_a_fence_and_a_view_of_its_value)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = create_queue();

	EXPECT(is_local_handle(queue.hPagingQueue));
	EXPECT(is_local_handle(queue.hSyncObject));
	EXPECT(queue.hPagingQueue != queue.hSyncObject);
	EXPECT_EQ(*(const volatile UINT64 *)queue.FenceValueCPUVirtualAddress, 0);
	expect_valid();
	EXPECT_OK(destroy_queue(queue.hPagingQueue));
	expect_valid();
}

TEST(create, refuses_what_is_no_device)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = queue_of(0, 0);

	EXPECT_REFUSED(D3DKMTCreatePagingQueue(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_BAD_HANDLE(D3DKMTCreatePagingQueue(&queue), "hDevice");
	queue.hDevice = adapter;
	EXPECT_BAD(D3DKMTCreatePagingQueue(&queue), "API-HANDLE-KIND", "hDevice");
	EXPECT_EQ(queue.hPagingQueue, GARBAGE);
	EXPECT_EQ(queue.hSyncObject, GARBAGE);
}

TEST(create, takes_three_priorities)
{
	begin();
	for (int priority = -1; priority <= 1; priority++) {
		D3DKMT_CREATEPAGINGQUEUE queue = queue_of(device, priority);
		EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	}
	D3DKMT_CREATEPAGINGQUEUE low = queue_of(device, -2);
	D3DKMT_CREATEPAGINGQUEUE high = queue_of(device, 2);
	EXPECT_BAD(D3DKMTCreatePagingQueue(&low), "API-VALUE", "Priority");
	EXPECT_BAD(D3DKMTCreatePagingQueue(&high), "API-VALUE", "Priority");
}

TEST(create, refuses_a_second_physical_adapter)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = queue_of(device, 0);

	queue.PhysicalAdapterIndex = 1;
	EXPECT_BAD(D3DKMTCreatePagingQueue(&queue), "API-VALUE", "PhysicalAdapterIndex");
}

TEST(create, changes_nothing_when_there_is_no_memory)
{
	begin();
	bool has_succeeded = false;

	for (unsigned long long nth = 1; !has_succeeded; nth++) {
		D3DKMT_CREATEPAGINGQUEUE queue = queue_of(device, 0);
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = D3DKMTCreatePagingQueue(&queue);
		(void)dxgk_test_fail_stop();
		has_succeeded = status == STATUS_SUCCESS;
		EXPECT(has_succeeded || status == STATUS_NO_MEMORY);
		EXPECT(has_succeeded || queue.hPagingQueue == GARBAGE);
		EXPECT(nth < 100);
		expect_valid();
	}
}

TEST(destroy, ends_queue_and_fence_together_and_once)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = create_queue();

	EXPECT_BAD_HANDLE(destroy_queue(0), "hPagingQueue");
	EXPECT_BAD(destroy_queue(queue.hSyncObject), "API-HANDLE-KIND", "hPagingQueue");
	EXPECT_OK(destroy_queue(queue.hPagingQueue));
	EXPECT_BAD_HANDLE(destroy_queue(queue.hPagingQueue), "hPagingQueue");
	EXPECT_BAD_HANDLE(destroy_sync(queue.hSyncObject), "hSyncObject");
}

TEST(destroy, comes_with_the_device)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = create_queue();

	EXPECT_OK(destroy_device(device));
	EXPECT_BAD_HANDLE(destroy_queue(queue.hPagingQueue), "hPagingQueue");
	EXPECT_BAD_HANDLE(destroy_sync(queue.hSyncObject), "hSyncObject");
	expect_valid();
}

TEST(destroy, lets_go_of_who_waits_for_the_fence)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = create_queue();
	int event = new_event();

	EXPECT_OK(wait_fence(queue.hSyncObject, 1, event));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_OK(destroy_queue(queue.hPagingQueue));
	expect_valid();
	close(event);
}

TEST(fence, may_be_waited_for_and_not_signalled)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = create_queue();

	EXPECT_OK(wait_fence(queue.hSyncObject, 0, 0));
	EXPECT_REFUSED(signal_fence(queue.hSyncObject, 1), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	EXPECT_EQ(*(const volatile UINT64 *)queue.FenceValueCPUVirtualAddress, 0);
}

/* As clients do before work that uses what they made resident. */
TEST(fence, may_be_waited_for_in_a_context_and_not_signalled_there)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = create_queue();
	UINT64 value = 0;
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = {
		.hContext = create_context(device),
		.ObjectCount = 1,
		.ObjectHandleArray = &queue.hSyncObject,
		.MonitoredFenceValueArray = &value,
	};
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = {
		.hContext = wait.hContext,
		.ObjectCount = 1,
		.ObjectHandleArray = &queue.hSyncObject,
		.MonitoredFenceValueArray = &value,
	};

	EXPECT_OK(D3DKMTWaitForSynchronizationObjectFromGpu(&wait));
	value = 1;
	EXPECT_REFUSED(D3DKMTSignalSynchronizationObjectFromGpu(&signal), STATUS_ACCESS_DENIED,
		       "API-SYNC-ACCESS", "ObjectHandleArray");
	EXPECT_EQ(*(const volatile UINT64 *)queue.FenceValueCPUVirtualAddress, 0);
	EXPECT_OK(destroy_context(wait.hContext));
	EXPECT_OK(destroy_queue(queue.hPagingQueue));
}

TEST(fence, is_not_destroyed_by_itself)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = create_queue();

	EXPECT_BAD(destroy_sync(queue.hSyncObject), "API-SYNC-OWNED", "hSyncObject");
	EXPECT_OK(wait_fence(queue.hSyncObject, 0, 0));
	EXPECT_OK(destroy_queue(queue.hPagingQueue));
}

TEST(fence, cannot_be_shared)
{
	begin();
	D3DKMT_CREATEPAGINGQUEUE queue = create_queue();
	HANDLE handle;

	EXPECT_BAD(share_sync(queue.hSyncObject, GENERIC_ALL, &handle), "API-SHARE-SCHEME",
		   "ObjectHandleArray");
}

API_TEST_MAIN("api/paging_queue")
