/* SPDX-License-Identifier: MIT */
/*
 * sync_cpu_test.c - the CPU signals and waits for monitored fences; nobody blocks.
 */
#include "api/sync.h"

TEST(call, refuses_other_kinds_of_object)
{
	static const unsigned types[] = { D3DDDI_SYNCHRONIZATION_MUTEX, D3DDDI_SEMAPHORE,
					  D3DDDI_FENCE };

	begin();
	for (unsigned i = 0; i < 3; i++) {
		D3DKMT_HANDLE sync = create_kind(types[i], 0);
		EXPECT_BAD(wait_fence(sync, 0, 0), "API-SYNC-KIND", "ObjectHandleArray");
		EXPECT_BAD(signal_fence(sync, 1), "API-SYNC-KIND", "ObjectHandleArray");
	}
	EXPECT_BAD(wait_fence(device, 0, 0), "API-HANDLE-KIND", "ObjectHandleArray");
	EXPECT_BAD_HANDLE(signal_fence(0, 0), "ObjectHandleArray");
}

TEST(call, refuses_no_objects_no_arrays_and_unknown_flags)
{
	D3DKMT_HANDLE fence;
	UINT64 value = 1;

	begin();
	fence = create_fence(0, 0, NULL);
	EXPECT_BAD(wait_many(&fence, &value, 0, 0, false), "API-COUNT", "ObjectCount");
	EXPECT_BAD(wait_many(NULL, &value, 1, 0, false), "API-NULL-ARGUMENT", "ObjectHandleArray");
	EXPECT_BAD(wait_many(&fence, NULL, 1, 0, false), "API-NULL-ARGUMENT", "FenceValueArray");
	EXPECT_BAD(wait_many(&fence, &value, 0x10001, 0, false), "API-COUNT", "ObjectCount");
	for (unsigned bit = 3; bit < 32; bit++)
		EXPECT_BAD(signal_flags(fence, 1, 1u << bit), "API-RESERVED", "Flags");
	EXPECT_BAD(signal_flags(fence, 1, 1), "API-VALUE", "Flags");
	EXPECT_BAD(signal_flags(fence, 1, 2), "API-VALUE", "Flags");
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = device,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .FenceValueArray = &value,
							    .Flags.Value = 2 };
	EXPECT_BAD(D3DKMTWaitForSynchronizationObjectFromCpu(&args), "API-RESERVED", "Flags");
	args.Flags.Value = 0;
	args.hDevice = 0;
	EXPECT_BAD_HANDLE(D3DKMTWaitForSynchronizationObjectFromCpu(&args), "hDevice");
}

TEST(call, refuses_a_fence_of_another_device)
{
	D3DKMT_HANDLE fence;

	begin();
	fence = create_fence(0, 0, NULL);
	device = create_device(adapter);
	EXPECT_BAD_HANDLE(wait_fence(fence, 0, 0), "ObjectHandleArray");
	EXPECT_BAD_HANDLE(signal_fence(fence, 1), "ObjectHandleArray");
}

/* The story that was observed on Windows. */
TEST(event, is_set_when_the_value_is_reached_and_rewinding_makes_it_wait_again)
{
	int event = new_event();
	D3DKMT_HANDLE fence;

	begin();
	fence = create_fence(1, 0, NULL);
	EXPECT_OK(wait_fence(fence, 0, event));
	EXPECT_EQ(event_count(event), 1);
	EXPECT_OK(wait_fence(fence, 1, event));
	EXPECT_EQ(event_count(event), 1);
	EXPECT_OK(wait_fence(fence, 2, event));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_OK(signal_fence(fence, 2));
	EXPECT_EQ(event_count(event), 1);
	EXPECT_BAD(signal_fence(fence, 1), "API-FENCE-BACKWARDS", "FenceValueArray");
	EXPECT_OK(signal_flags(fence, 1, 4));
	EXPECT_OK(wait_fence(fence, 2, event));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_OK(signal_fence(fence, 2));
	EXPECT_EQ(event_count(event), 1);
	close(event);
	EXPECT_OK(destroy_sync(fence));
}

TEST(event, that_is_no_eventfd_is_refused_and_nothing_waits)
{
	D3DKMT_HANDLE fence;
	int ends[2];

	begin();
	fence = create_fence(1, 0, NULL);
	EXPECT_EQ(pipe(ends), 0);
	const int bad[] = { ends[1], 12345, -1 };
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_REFUSED(wait_fence(fence, 1, bad[i]), STATUS_INVALID_HANDLE, "API-EVENT",
			       "hAsyncEvent");
		EXPECT_REFUSED(wait_fence(fence, 2, bad[i]), STATUS_INVALID_HANDLE, "API-EVENT",
			       "hAsyncEvent");
	}
	EXPECT_OK(signal_fence(fence, 5));
	EXPECT(!polls_readable(ends[0]));
	close(ends[0]);
	close(ends[1]);
}

TEST(event, may_be_closed_by_the_client_while_somebody_else_has_a_copy)
{
	int event = new_event();
	int copy = dup(event);
	D3DKMT_HANDLE fence;

	begin();
	fence = create_fence(1, 0, NULL);
	EXPECT_OK(wait_fence(fence, 2, event));
	close(event);
	EXPECT_OK(signal_fence(fence, 2));
	EXPECT_EQ(event_count(copy), 1);
	close(copy);
}

TEST(event, is_set_once_for_each_wait)
{
	int event = new_event();
	D3DKMT_HANDLE fence;

	begin();
	fence = create_fence(0, 0, NULL);
	for (unsigned i = 1; i <= 5; i++)
		EXPECT_OK(wait_fence(fence, i, event));
	EXPECT_OK(signal_fence(fence, 3));
	EXPECT_EQ(event_count(event), 3);
	EXPECT_OK(signal_fence(fence, 9));
	EXPECT_EQ(event_count(event), 2);
	close(event);
}

TEST(event, that_is_full_is_left_as_it_is)
{
	const uint64_t most = UINT64_MAX - 1;
	int event = eventfd(0, EFD_CLOEXEC);
	D3DKMT_HANDLE fence;

	begin();
	fence = create_fence(0, 0, NULL);
	EXPECT_EQ(write(event, &most, sizeof(most)), sizeof(most));
	EXPECT_OK(wait_fence(fence, 1, event));
	EXPECT_OK(signal_fence(fence, 1)); /* does not block */
	close(event);
}

TEST(event, is_let_go_unset_when_the_fence_is_destroyed)
{
	struct dxgk_test_memory before;
	int event = new_event();
	D3DKMT_HANDLE fence;

	begin();
	for (unsigned i = 0; i < 2; i++) { /* the first time things are made that stay */
		before = dxgk_test_memory();
		fence = create_fence(0, 0, NULL);
		EXPECT_OK(wait_fence(fence, 1, event));
		EXPECT_OK(destroy_sync(fence));
		EXPECT_EQ(event_count(event), 0);
	}
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	fence = create_fence(0, 0, NULL);
	EXPECT_OK(wait_fence(fence, 1, event));
	D3DKMTCloseDxCoreDevice();
	EXPECT_EQ(event_count(event), 0);
	close(event);
}

/* ---- several ---- */

static const UINT64 one_two_three[3] = { 1, 2, 3 };

static void begin_with_three(D3DKMT_HANDLE fences[3])
{
	begin();
	for (unsigned i = 0; i < 3; i++)
		fences[i] = create_fence(0, 0, NULL);
}

TEST(wait_all, is_satisfied_by_the_last_of_them)
{
	int event = new_event();
	D3DKMT_HANDLE fences[3];

	begin_with_three(fences);
	EXPECT_OK(wait_many(fences, one_two_three, 3, event, false));
	EXPECT_OK(signal_fence(fences[2], 3));
	EXPECT_OK(signal_fence(fences[0], 1));
	EXPECT_OK(signal_fence(fences[1], 1));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_OK(signal_fence(fences[1], 2));
	EXPECT_EQ(event_count(event), 1);
	EXPECT_OK(wait_many(fences, one_two_three, 3, 0, false));
	close(event);
}

TEST(wait_any, is_satisfied_by_the_first_of_them_once)
{
	int event = new_event();
	D3DKMT_HANDLE fences[3];

	begin_with_three(fences);
	EXPECT_OK(wait_many(fences, one_two_three, 3, event, true));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_OK(signal_fence(fences[1], 2));
	EXPECT_EQ(event_count(event), 1);
	EXPECT_OK(signal_fence(fences[0], 1));
	EXPECT_OK(signal_fence(fences[2], 3));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_OK(wait_many(fences, one_two_three, 3, 0, true));
	close(event);
}

TEST(wait, on_one_fence_twice_is_satisfied_by_the_larger_value)
{
	int event = new_event();
	const UINT64 values[2] = { 4, 2 };
	D3DKMT_HANDLE fences[2];

	begin();
	fences[0] = fences[1] = create_fence(0, 0, NULL);
	EXPECT_OK(wait_many(fences, values, 2, event, false));
	EXPECT_OK(signal_fence(fences[0], 2));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_OK(signal_fence(fences[0], 4));
	EXPECT_EQ(event_count(event), 1);
	close(event);
}

TEST(wait, through_a_destroyed_handle_ends_for_all_of_its_objects)
{
	struct dxgk_test_memory before;
	const UINT64 values[2] = { 1, 1 };
	D3DKMT_HANDLE fences[2];
	int event = new_event();

	begin();
	fences[0] = create_fence(0, 0, NULL);
	before = dxgk_test_memory();
	fences[1] = create_fence(0, 0, NULL);
	EXPECT_OK(wait_many(fences, values, 2, event, false));
	EXPECT_OK(destroy_sync(fences[1]));
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	EXPECT_OK(signal_fence(fences[0], 1));
	EXPECT_EQ(event_count(event), 0);
	close(event);
}

TEST(signal, of_a_list_with_one_backwards_changes_nothing)
{
	const UINT64 values[3] = { 10, 1, 10 };
	const volatile UINT64 *views[3];
	D3DKMT_HANDLE fences[3];

	begin();
	for (unsigned i = 0; i < 3; i++)
		fences[i] = create_fence(5, 0, &views[i]);
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = device,
							   .ObjectCount = 3,
							   .ObjectHandleArray = fences,
							   .FenceValueArray = values };
	EXPECT_BAD(D3DKMTSignalSynchronizationObjectFromCpu(&args), "API-FENCE-BACKWARDS",
		   "FenceValueArray");
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(*views[i], 5);
	args.Flags.AllowFenceRewind = 1;
	EXPECT_OK(D3DKMTSignalSynchronizationObjectFromCpu(&args));
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(*views[i], values[i]);
}

TEST(wait, through_one_opening_ends_with_it_and_not_with_another)
{
	int event = new_event();
	D3DKMT_HANDLE fence, opened;

	begin();
	fence = create_opened_fence(&opened);
	EXPECT_OK(wait_fence(opened, 1, event));
	EXPECT_OK(wait_fence(fence, 1, event));
	EXPECT_OK(destroy_sync(fence));
	EXPECT_OK(signal_fence(opened, 1));
	EXPECT_EQ(event_count(event), 1);
	close(event);
}

/* ---- files ---- */

static NTSTATUS create_file(D3DKMT_HANDLE fence, UINT64 value, int *file_out)
{
	D3DKMT_CREATESYNCFILE args = { device, fence, value, GARBAGE };
	NTSTATUS status = D3DKMTCreateSyncFile(&args);

	EXPECT(status == STATUS_SUCCESS || args.hSyncFile == GARBAGE);
	*file_out = (int)args.hSyncFile;
	return status;
}

TEST(file, polls_readable_when_the_value_is_reached_and_stays_so)
{
	D3DKMT_HANDLE fence;
	int reached, file;

	begin();
	fence = create_fence(5, 0, NULL);
	EXPECT_OK(create_file(fence, 5, &reached));
	EXPECT(polls_readable(reached));
	EXPECT_OK(create_file(fence, 6, &file));
	EXPECT(file >= 3);
	EXPECT(fcntl(file, F_GETFD) & FD_CLOEXEC);
	EXPECT(!polls_readable(file));
	EXPECT_OK(signal_fence(fence, 7));
	EXPECT(polls_readable(file));
	EXPECT_OK(signal_flags(fence, 1, 4));
	EXPECT(polls_readable(file));
	close(reached);
	close(file);
}

TEST(file, polls_readable_when_nothing_can_come_any_more)
{
	D3DKMT_HANDLE fence;
	int file;

	begin();
	fence = create_fence(5, 0, NULL);
	EXPECT_OK(create_file(fence, 6, &file));
	EXPECT_OK(destroy_sync(fence));
	EXPECT(polls_readable(file));
	close(file);
}

TEST(file, needs_a_monitored_fence_of_the_device_that_may_be_waited_for)
{
	D3DKMT_HANDLE fence;
	int file;

	begin();
	EXPECT_BAD_HANDLE(create_file(0, 1, &file), "hMonitoredFence");
	EXPECT_BAD(create_file(create_kind(D3DDDI_SEMAPHORE, 0), 1, &file), "API-SYNC-KIND",
		   "hMonitoredFence");
	fence = create_fence(0, NO_WAIT, NULL);
	EXPECT_REFUSED(create_file(fence, 1, &file), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "hMonitoredFence");
	fence = create_fence(0, 0, NULL);
	device = create_device(adapter);
	EXPECT_BAD_HANDLE(create_file(fence, 1, &file), "hMonitoredFence");
}

TEST(memory, may_fail_anywhere_and_no_descriptor_is_left)
{
	int event = new_event();
	D3DKMT_HANDLE fence;
	unsigned long long n = 0;
	int fired;

	begin();
	fence = create_fence(0, 0, NULL);
	do {
		struct dxgk_test_memory before = dxgk_test_memory();
		int next = dup(event);
		int file;
		close(next);
		dxgk_test_fail_nth_allocation(++n);
		NTSTATUS status = wait_fence(fence, n + 1, event);
		if (status == STATUS_SUCCESS)
			status = create_file(fence, n + 1, &file);
		fired = dxgk_test_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		if (!fired)
			close(file);
		EXPECT_OK(signal_fence(fence, n + 1));
		EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
		int again = dup(event);
		EXPECT_EQ(again, next);
		close(again);
	} while (fired);
	EXPECT(n > 2);
	close(event);
}

API_TEST_MAIN("api/sync_cpu")
