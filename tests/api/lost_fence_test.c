/* SPDX-License-Identifier: MIT */
/*
 * lost_fence_test.c - what a lost device leaves to those who wait: the fences that it could signal
 * go to their maximum, of every kind, and who waits on the CPU is let go.
 *
 * The GPU is turned by hand. What is queued stands behind a fence that nobody signals.
 */
#include "api/crank.h"

/* ---- ways to lose a device ---- */

enum way { MARKED, ENGINE_RESET, ADAPTER_RESET, WAYS };

/* `device` has work with the GPU, or a reset would not be its fault; what is left of it ends. */
static void lose(enum way way)
{
	if (way == MARKED)
		EXPECT_OK(mark_as_error(device));
	else
		EXPECT_OK(force(way == ENGINE_RESET ? D3DKMT_TDRDBGCTRLTYPE_ENGINETDR
						    : D3DKMT_TDRDBGCTRLTYPE_GPUTDR,
				1));
	AWAIT(execution_state(device) != D3DKMT_DEVICEEXECUTION_ACTIVE);
	if (way == MARKED)
		EXPECT_EQ(complete(1), 7);
}

static void begin_with_work(void)
{
	begin_by_hand();
	EXPECT_OK(submit(create_virtual(1), 7));
	AWAIT(pending(1) == 1);
}

/* ---- packets ---- */

static D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create_packet_fence(unsigned flags)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_FENCE, flags);

	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	return args;
}

static NTSTATUS packet_wait(D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2 args = { context, 1, { fence } };

	args.Fence.FenceValue = value;
	return D3DKMTWaitForSynchronizationObject2(&args);
}

static NTSTATUS packet_signal(D3DKMT_HANDLE context, D3DKMT_HANDLE object, UINT64 value)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 args = { context, 1, { object } };

	args.Fence.FenceValue = value;
	return D3DKMTSignalSynchronizationObject2(&args);
}

/* A queue of the device in which nothing that is queued from now on comes to its turn. */
static D3DKMT_HANDLE create_stuck(void)
{
	D3DKMT_HANDLE context = create_virtual(0);

	EXPECT_OK(queue_wait(context, create_fence(0, NO_JUMP, NULL), 1));
	return context;
}

/* A device of its own that waits for the fence, and then has work for the GPU. */
struct other {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE context;
};

static struct other create_waiting(D3DKMT_HANDLE global, UINT64 value)
{
	struct other other = { create_device(adapter), 0 };
	D3DKMT_HANDLE opened;

	other.context = create_virtual_on(other.device, 2);
	EXPECT_OK(open_global_sync(global, &opened));
	EXPECT_OK(packet_wait(other.context, opened, value));
	EXPECT_OK(submit(other.context, 5));
	settle();
	EXPECT_EQ(pending(2), 0);
	return other;
}

/* ---- fences that only packets signal ---- */

TEST(packet_fence, of_a_lost_device_lets_the_queues_of_others_go_on)
{
	for (enum way way = MARKED; way <= ENGINE_RESET; way++) {
		begin_with_work();
		create_waiting(create_packet_fence(SHARED).Info.SharedHandle, 9);
		lose(way);
		AWAIT(pending(2) == 1);
		complete_all(2, 1);
		expect_sound("after a loss");
	}
}

TEST(packet_fence, that_was_made_not_to_jump_stays_where_it_is)
{
	begin_with_work();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = create_packet_fence(SHARED | NO_JUMP);

	create_waiting(fence.Info.SharedHandle, 9);
	EXPECT_OK(packet_signal(create_stuck(), fence.hSyncObject, 9));
	lose(MARKED);
	settle();
	EXPECT_EQ(pending(2), 0);
}

/* Of a device that stays; the one that is lost opens it. */
static D3DKMT_HANDLE open_on_lost(D3DKMT_HANDLE *opened_out)
{
	D3DKMT_HANDLE lost = device;

	device = create_device(adapter);
	D3DKMT_HANDLE global = create_packet_fence(SHARED).Info.SharedHandle;
	device = lost;
	EXPECT_OK(open_global_sync(global, opened_out));
	return global;
}

/* Opened by its global handle it belongs to no device. That one could signal it, it has said. */
TEST(packet_fence, that_a_lost_device_was_to_signal_lets_the_queues_of_others_go_on)
{
	for (enum way way = MARKED; way <= ENGINE_RESET; way++) {
		begin_with_work();
		D3DKMT_HANDLE opened;
		D3DKMT_HANDLE global = open_on_lost(&opened);

		EXPECT_OK(packet_signal(create_stuck(), opened, 9));
		create_waiting(global, 9);
		lose(way);
		AWAIT(pending(2) == 1);
		complete_all(2, 1);
	}
}

TEST(packet_fence, that_a_lost_device_had_nothing_to_do_with_stays_where_it_is)
{
	begin_with_work();
	D3DKMT_HANDLE opened;

	create_waiting(open_on_lost(&opened), 9);
	lose(MARKED);
	settle();
	EXPECT_EQ(pending(2), 0);
}

/* What was queued holds it, though the handle is gone. */
TEST(fence, that_was_closed_with_a_signal_queued_goes_to_its_maximum)
{
	for (unsigned jumps = 0; jumps < 2; jumps++) {
		begin_with_work();
		D3DKMT_HANDLE lost = device;
		D3DKMT_HANDLE fence = create_fence(0, SHARED_NT | (jumps ? 0 : NO_JUMP), NULL);
		const volatile UINT64 *view;
		D3DKMT_HANDLE opened;
		HANDLE handle;

		EXPECT_OK(share_sync(fence, D3DDDI_SYNC_OBJECT_ALL_ACCESS, &handle));
		device = create_device(adapter);
		EXPECT_OK(open_nt_sync(handle, 0, &opened, &view));
		close_nt(handle);
		device = lost;
		EXPECT_OK(queue_signal(create_stuck(), fence, 3));
		EXPECT_OK(destroy_sync(fence));
		lose(MARKED);
		if (jumps)
			AWAIT(*view == UINT64_MAX);
		settle();
		EXPECT_EQ(*view, jumps ? UINT64_MAX : 0);
	}
}

/* ---- events ---- */

static D3DKMT_HANDLE create_notification(int event)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_CPU_NOTIFICATION, 0);

	args.Info.CPUNotification.Event = (HANDLE)(intptr_t)event;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	return args.hSyncObject;
}

static NTSTATUS enqueue_event(D3DKMT_HANDLE context, int event)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 args = { .hContext = context };

	args.Flags.EnqueueCpuEvent = 1;
	args.CpuEventHandle = (HANDLE)(intptr_t)event;
	return D3DKMTSignalSynchronizationObject2(&args);
}

static NTSTATUS enqueue_notification(D3DKMT_HANDLE context, int event)
{
	return packet_signal(context, create_notification(event), 0);
}

static void expect_set_by_loss(NTSTATUS (*enqueue)(D3DKMT_HANDLE context, int event))
{
	for (enum way way = MARKED; way < WAYS; way++) {
		begin_with_work();
		int event = new_event();

		EXPECT_OK(enqueue(create_stuck(), event));
		settle();
		EXPECT_EQ(event_count(event), 0);
		lose(way);
		AWAIT(event_count(event) == 1);
		close(event);
	}
}

TEST(notification, that_was_queued_comes_when_the_device_is_lost)
{
	expect_set_by_loss(enqueue_notification);
}

TEST(event, that_was_queued_is_set_when_the_device_is_lost)
{
	expect_set_by_loss(enqueue_event);
}

/* A client that ends its own context waits for nothing in it. */
TEST(event, that_was_queued_stays_unset_when_the_context_is_destroyed)
{
	begin_with_work();
	int event = new_event();
	D3DKMT_HANDLE context = create_stuck();

	EXPECT_OK(enqueue_event(context, event));
	EXPECT_OK(packet_signal(context, create_notification(event), 0));
	EXPECT_OK(destroy_context(context));
	settle();
	EXPECT_EQ(event_count(event), 0);
	EXPECT_EQ(complete(1), 7);
	close(event);
}

TEST(event, of_a_call_that_is_refused_stays_unset)
{
	begin_with_work();
	int event = new_event();
	D3DKMT_HANDLE context = create_stuck();

	lose(MARKED);
	EXPECT_REFUSED(enqueue_event(context, event), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	settle();
	EXPECT_EQ(event_count(event), 0);
	close(event);
}

/* ---- paging queues ---- */

TEST(paging_fence, of_a_lost_device_goes_to_its_maximum)
{
	for (enum way way = MARKED; way < WAYS; way++) {
		begin_with_work();
		D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = device };
		int event = new_event();

		EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
		const volatile UINT64 *view = queue.FenceValueCPUVirtualAddress;
		EXPECT_OK(wait_fence(queue.hSyncObject, 100, event));
		lose(way);
		AWAIT(event_count(event) == 1);
		EXPECT_EQ(*view, UINT64_MAX);
		EXPECT_OK(wait_fence(queue.hSyncObject, 1000, 0));
		expect_sound("after a loss");
		close(event);
	}
}

CRANK_TEST_MAIN("api/lost_fence", "")
