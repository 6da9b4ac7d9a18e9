/* SPDX-License-Identifier: MIT */
/*
 * queue_sync_test.c - waits and signals in the queues of contexts, through each of the seven calls.
 */
#include "api/crank.h"

/* ---- every call with one shape ---- */

enum way { V1, V2, GPU, GPU2, WAYS };

struct list {
	unsigned count;
	D3DKMT_HANDLE objects[4];
	UINT64 values[4];
};

static struct list one(D3DKMT_HANDLE object, UINT64 value)
{
	return (struct list){ 1, { object }, { value } };
}

/* GPU2 has no wait; GPU's stands in. */
static NTSTATUS wait_by(enum way way, D3DKMT_HANDLE context, struct list list)
{
	if (way == V1) {
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECT args = { context, list.count };
		memcpy(args.ObjectHandleArray, list.objects, sizeof(list.objects));
		return D3DKMTWaitForSynchronizationObject(&args);
	}
	if (way == V2) {
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2 args = { context, list.count };
		memcpy(args.ObjectHandleArray, list.objects, sizeof(list.objects));
		args.Fence.FenceValue = list.values[0];
		return D3DKMTWaitForSynchronizationObject2(&args);
	}
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = context,
							    .ObjectCount = list.count,
							    .ObjectHandleArray = list.objects };
	args.MonitoredFenceValueArray = list.values;
	return D3DKMTWaitForSynchronizationObjectFromGpu(&args);
}

static NTSTATUS signal_by(enum way way, D3DKMT_HANDLE context, struct list list, unsigned flags)
{
	if (way == V1) {
		D3DKMT_SIGNALSYNCHRONIZATIONOBJECT args = { context, list.count };
		memcpy(args.ObjectHandleArray, list.objects, sizeof(list.objects));
		args.Flags.Value = flags;
		return D3DKMTSignalSynchronizationObject(&args);
	}
	if (way == V2) {
		D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 args = { context, list.count };
		memcpy(args.ObjectHandleArray, list.objects, sizeof(list.objects));
		args.Flags.Value = flags;
		args.Fence.FenceValue = list.values[0];
		return D3DKMTSignalSynchronizationObject2(&args);
	}
	if (way == GPU) {
		D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = context,
								   .ObjectCount = list.count };
		args.ObjectHandleArray = list.objects;
		args.MonitoredFenceValueArray = list.values;
		return D3DKMTSignalSynchronizationObjectFromGpu(&args);
	}
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 args = { .ObjectCount = list.count,
							    .ObjectHandleArray = list.objects,
							    .Flags.Value = flags,
							    .BroadcastContextCount = 1,
							    .BroadcastContextArray = &context };
	args.MonitoredFenceValueArray = list.values;
	return D3DKMTSignalSynchronizationObjectFromGpu2(&args);
}

static D3DKMT_HANDLE packet_fence(UINT64 value)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_FENCE, 0);

	args.Info.Fence.FenceValue = value;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	return args.hSyncObject;
}

static D3DKMT_HANDLE semaphore(unsigned count, unsigned max)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_SEMAPHORE, 0);

	args.Info.Semaphore.MaxCount = max;
	args.Info.Semaphore.InitialCount = count;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	return args.hSyncObject;
}

static D3DKMT_HANDLE mutex(bool is_taken)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_SYNCHRONIZATION_MUTEX, 0);

	args.Info.SynchronizationMutex.InitialState = is_taken;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	return args.hSyncObject;
}

/* A kind of object this way can wait for and signal, not signalled yet. */
static D3DKMT_HANDLE object_for(enum way way)
{
	if (way == V1)
		return mutex(true);
	return way == V2 ? packet_fence(0) : create_fence(0, 0, NULL);
}

/* ---- signal then wait, between two contexts ---- */

TEST(wait, holds_what_is_behind_it_until_another_context_signals)
{
	for (enum way way = V1; way < WAYS; way++) {
		begin_by_hand();
		D3DKMT_HANDLE waiter = create_virtual(0);
		D3DKMT_HANDLE signaller = create_virtual(1);
		D3DKMT_HANDLE object = object_for(way);

		EXPECT_OK(submit(waiter, 1));
		EXPECT_OK(wait_by(way, waiter, one(object, 5)));
		EXPECT_OK(submit(waiter, 2));
		EXPECT_OK(submit(signaller, 3));
		EXPECT_OK(signal_by(way, signaller, one(object, 5), 0));
		EXPECT_STR(pending_tags(0), "1 ");
		EXPECT_EQ(complete(0), 1);
		EXPECT_EQ(pending(0), 0);
		EXPECT_EQ(complete(1), 3);
		AWAIT(pending(0) == 1);
		EXPECT_EQ(complete(0), 2);
		expect_nothing_wrong();
	}
}

TEST(wait, for_what_is_there_already_holds_nothing)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	EXPECT_OK(wait_by(V1, context, one(mutex(false), 0)));
	EXPECT_OK(wait_by(V1, context, one(semaphore(1, 1), 0)));
	EXPECT_OK(wait_by(V2, context, one(packet_fence(7), 7)));
	EXPECT_OK(wait_by(GPU, context, one(create_fence(9, 0, NULL), 9)));
	EXPECT_OK(submit(context, 1));
	EXPECT_STR(pending_tags(0), "1 ");
	complete_all(0, 1);
}

TEST(wait, for_several_holds_until_the_last_has_come)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	struct list list = { 2, { create_fence(0, 0, NULL), create_fence(0, 0, NULL) }, { 1, 4 } };
	EXPECT_OK(wait_by(GPU, context, list));
	EXPECT_OK(submit(context, 1));
	EXPECT_OK(signal_fence(list.objects[0], 1));
	EXPECT_OK(signal_fence(list.objects[1], 3));
	for (unsigned i = 0; i < 20; i++)
		let_others();
	EXPECT_EQ(pending(0), 0);
	EXPECT_OK(signal_fence(list.objects[1], 4));
	AWAIT(pending(0) == 1);
	complete_all(0, 1);
}

TEST(wait, for_a_fence_and_a_semaphore_takes_the_semaphore_only_with_the_fence)
{
	begin_by_hand();
	D3DKMT_HANDLE both = create_virtual(0);
	D3DKMT_HANDLE other = create_virtual(1);
	D3DKMT_HANDLE fence = packet_fence(0);
	D3DKMT_HANDLE counted = semaphore(1, 1);
	struct list list = { 2, { counted, fence }, { 1, 1 } };

	EXPECT_OK(wait_by(V2, both, list));
	EXPECT_OK(submit(both, 1));
	/* The semaphore is still there for somebody else. */
	EXPECT_OK(wait_by(V1, other, one(counted, 0)));
	EXPECT_OK(submit(other, 2));
	AWAIT(pending(1) == 1);
	EXPECT_OK(signal_by(V2, other, one(fence, 1), 0));
	EXPECT_EQ(complete(1), 2);
	for (unsigned i = 0; i < 20; i++)
		let_others();
	EXPECT_EQ(pending(0), 0); /* taken */
	EXPECT_OK(signal_by(V1, other, one(counted, 0), 0));
	AWAIT(pending(0) == 1);
	complete_all(0, 1);
}

TEST(wait, for_a_mutex_lets_one_through_at_a_time)
{
	begin_by_hand();
	D3DKMT_HANDLE lock = mutex(false);
	D3DKMT_HANDLE contexts[2] = { create_virtual(0), create_virtual(1) };

	for (unsigned i = 0; i < 2; i++) {
		EXPECT_OK(wait_by(V1, contexts[i], one(lock, 0)));
		EXPECT_OK(submit(contexts[i], i + 1));
		EXPECT_OK(signal_by(V1, contexts[i], one(lock, 0), 0));
	}
	EXPECT_EQ(pending(0), 1);
	EXPECT_EQ(pending(1), 0);
	EXPECT_EQ(complete(0), 1);
	AWAIT(pending(1) == 1);
	EXPECT_EQ(complete(1), 2);
}

TEST(wait, for_a_semaphore_lets_as_many_through_as_it_counts)
{
	begin_by_hand();
	D3DKMT_HANDLE counted = semaphore(2, 8);
	D3DKMT_HANDLE contexts[3];

	for (unsigned i = 0; i < 3; i++) {
		contexts[i] = create_virtual(0);
		EXPECT_OK(wait_by(V2, contexts[i], one(counted, 0)));
		EXPECT_OK(submit(contexts[i], i + 1));
	}
	AWAIT(pending(0) == 2);
	EXPECT_STR(pending_tags(0), "1 2 ");
	EXPECT_OK(signal_by(V2, contexts[0], one(counted, 0), 0));
	EXPECT_EQ(complete(0), 1);
	AWAIT(strcmp(pending_tags(0), "2 3 ") == 0);
	complete_all(0, 2);
}

/* ---- signals ---- */

TEST(signal, comes_when_everything_in_front_is_over)
{
	begin_by_hand();
	const volatile UINT64 *view;
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	int event = new_event();

	EXPECT_OK(submit(context, 1));
	EXPECT_OK(queue_signal(context, fence, 1));
	EXPECT_OK(submit(context, 2));
	EXPECT_OK(queue_signal(context, fence, 2));
	EXPECT_OK(wait_fence(fence, 2, event));
	EXPECT_EQ(*view, 0);
	EXPECT_EQ(complete(0), 1);
	EXPECT_OK(wait_fence(fence, 1, 0));
	EXPECT_EQ(*view, 1);
	EXPECT_EQ(event_count(event), 0);
	EXPECT_EQ(complete(0), 2);
	EXPECT_OK(wait_fence(fence, 2, 0));
	EXPECT_EQ(*view, 2);
	AWAIT(event_count(event) == 1);
	close(event);
}

TEST(signal, in_an_empty_queue_comes_at_once)
{
	begin_by_hand();
	const volatile UINT64 *view;
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	EXPECT_OK(queue_signal(create_virtual(0), fence, 3));
	EXPECT_EQ(*view, 3);
}

TEST(signal, at_submission_comes_before_the_work_is_over)
{
	static const enum way ways[] = { V2, GPU2 };

	for (unsigned i = 0; i < 2; i++) {
		begin_by_hand();
		const volatile UINT64 *view;
		D3DKMT_HANDLE context = create_virtual(0);
		D3DKMT_HANDLE gate = create_fence(0, 0, NULL);
		D3DKMT_HANDLE fence = create_fence(0, 0, &view);

		EXPECT_OK(queue_wait(context, gate, 1));
		EXPECT_OK(submit(context, 1));
		if (ways[i] == GPU2) {
			EXPECT_OK(signal_by(GPU2, context, one(fence, 1), 1));
		} else {
			D3DKMT_HANDLE old = packet_fence(0);
			EXPECT_OK(signal_by(V2, context, one(old, 1), 1));
			D3DKMT_HANDLE next = create_virtual(1);
			EXPECT_OK(wait_by(V2, next, one(old, 1)));
			EXPECT_OK(queue_signal(next, fence, 1));
		}
		EXPECT_EQ(*view, 0); /* not submitted */
		EXPECT_OK(signal_fence(gate, 1));
		EXPECT_OK(wait_fence(fence, 1, 0));
		EXPECT_EQ(pending(0), 1); /* and not over */
		complete_all(0, 1);
	}
}

TEST(signal, of_a_notification_sets_its_event)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	int event = new_event();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_CPU_NOTIFICATION, 0);

	args.Info.CPUNotification.Event = (HANDLE)(intptr_t)event;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	EXPECT_OK(submit(context, 1));
	EXPECT_OK(signal_by(V2, context, one(args.hSyncObject, 0), 0));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_EQ(complete(0), 1);
	AWAIT(event_count(event) == 1);
	EXPECT_BAD(wait_by(V2, context, one(args.hSyncObject, 0)), "API-SYNC-KIND",
		   "ObjectHandleArray");
	close(event);
}

static NTSTATUS broadcast_v2(const D3DKMT_HANDLE *contexts, unsigned count, D3DKMT_HANDLE object)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 args = { .hContext = contexts[0], .ObjectCount = 1 };

	args.ObjectHandleArray[0] = object;
	args.BroadcastContextCount = count - 1;
	for (unsigned i = 1; i < count; i++)
		args.BroadcastContext[i - 1] = contexts[i];
	args.Fence.FenceValue = 1;
	return D3DKMTSignalSynchronizationObject2(&args);
}

static NTSTATUS broadcast_gpu2(const D3DKMT_HANDLE *contexts, unsigned count, D3DKMT_HANDLE object)
{
	UINT64 value = 1;
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 args = { .ObjectCount = 1,
							    .ObjectHandleArray = &object,
							    .BroadcastContextCount = count,
							    .BroadcastContextArray = contexts };

	args.MonitoredFenceValueArray = &value;
	return D3DKMTSignalSynchronizationObjectFromGpu2(&args);
}

TEST(signal, to_several_contexts_comes_when_the_last_has_come_to_it)
{
	for (unsigned is_new = 0; is_new < 2; is_new++) {
		begin_by_hand();
		D3DKMT_HANDLE contexts[3] = { create_virtual(0), create_virtual(1),
					      create_virtual(0) };
		D3DKMT_HANDLE waiter = create_virtual(2);
		D3DKMT_HANDLE object = is_new ? create_fence(0, 0, NULL) : packet_fence(0);
		NTSTATUS(*broadcast)
		(const D3DKMT_HANDLE *contexts, unsigned count, D3DKMT_HANDLE object) =
			is_new ? broadcast_gpu2 : broadcast_v2;

		EXPECT_OK(wait_by(is_new ? GPU : V2, waiter, one(object, 1)));
		EXPECT_OK(submit(waiter, 9));
		EXPECT_OK(submit(contexts[0], 1));
		EXPECT_OK(submit(contexts[1], 2));
		EXPECT_OK(broadcast(contexts, 3, object));
		EXPECT_EQ(complete(0), 1);
		for (unsigned i = 0; i < 20; i++)
			let_others();
		EXPECT_EQ(pending(2), 0);
		EXPECT_EQ(complete(1), 2);
		AWAIT(pending(2) == 1);
		complete_all(2, 1);
	}
}

TEST(signal, of_an_event_comes_when_all_contexts_have_come_to_it)
{
	begin_by_hand();
	D3DKMT_HANDLE contexts[2] = { create_virtual(0), create_virtual(1) };
	int event = new_event();
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 args = { .hContext = contexts[0],
						     .BroadcastContextCount = 1,
						     .BroadcastContext = { contexts[1] } };

	args.Flags.EnqueueCpuEvent = 1;
	args.CpuEventHandle = (HANDLE)(intptr_t)event;
	EXPECT_OK(submit(contexts[0], 1));
	EXPECT_OK(submit(contexts[1], 2));
	EXPECT_OK(D3DKMTSignalSynchronizationObject2(&args));
	EXPECT_EQ(complete(1), 2);
	for (unsigned i = 0; i < 20; i++)
		let_others();
	EXPECT_EQ(event_count(event), 0);
	EXPECT_EQ(complete(0), 1);
	AWAIT(event_count(event) == 1);

	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 again = { .BroadcastContextCount = 2,
							     .BroadcastContextArray = contexts };
	again.Flags.EnqueueCpuEvent = 1;
	again.CpuEventHandle = (HANDLE)(intptr_t)event;
	EXPECT_OK(D3DKMTSignalSynchronizationObjectFromGpu2(&again));
	AWAIT(event_count(event) == 1);

	args.ObjectCount = 1;
	args.ObjectHandleArray[0] = create_fence(0, 0, NULL);
	EXPECT_BAD(D3DKMTSignalSynchronizationObject2(&args), "API-COUNT", "ObjectCount");
	args.ObjectCount = 0;
	args.CpuEventHandle = NULL;
	EXPECT_REFUSED(D3DKMTSignalSynchronizationObject2(&args), STATUS_INVALID_HANDLE,
		       "API-EVENT", "CpuEventHandle");
	args.CpuEventHandle = (HANDLE)(intptr_t)STDERR_FILENO;
	EXPECT_REFUSED(D3DKMTSignalSynchronizationObject2(&args), STATUS_INVALID_HANDLE,
		       "API-EVENT", "CpuEventHandle");
	close(event);
}

TEST(signal, of_a_smaller_value_does_nothing_and_with_rewind_goes_back)
{
	begin_by_hand();
	const volatile UINT64 *view;
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(10, 0, &view);

	EXPECT_OK(signal_by(GPU2, context, one(fence, 4), 0));
	EXPECT_EQ(*view, 10);
	EXPECT_OK(signal_by(GPU2, context, one(fence, 4), 4));
	EXPECT_EQ(*view, 4);
}

/* ---- handles that end ---- */

TEST(destroyed, objects_go_on_in_the_queues_that_have_them)
{
	for (enum way way = V1; way < WAYS; way++) {
		begin_by_hand();
		D3DKMT_HANDLE waiter = create_virtual(0);
		D3DKMT_HANDLE signaller = create_virtual(1);
		D3DKMT_HANDLE object = object_for(way);

		EXPECT_OK(wait_by(way, waiter, one(object, 5)));
		EXPECT_OK(submit(waiter, 1));
		EXPECT_OK(submit(signaller, 2));
		EXPECT_OK(signal_by(way, signaller, one(object, 5), 0));
		EXPECT_OK(destroy_sync(object));
		EXPECT_BAD_HANDLE(wait_by(way, waiter, one(object, 5)), "ObjectHandleArray");
		EXPECT_EQ(pending(0), 0);
		EXPECT_EQ(complete(1), 2);
		AWAIT(pending(0) == 1);
		EXPECT_EQ(complete(0), 1);
	}
}

TEST(destroyed, fence_that_is_awaited_leaves_the_context_to_be_destroyed)
{
	begin_by_hand();
	/* Page tables for the GPU addresses of fences stay with the process. */
	EXPECT_OK(destroy_sync(create_fence(0, 0, NULL)));
	long long before = dxgk_test_memory().blocks;
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(queue_wait(context, fence, 1));
	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy_sync(fence));
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(submissions(), 0);
	EXPECT_OK(destroy_device(device));
	EXPECT(dxgk_test_memory().blocks <= before);
}

TEST(destroyed, fence_that_work_could_write_goes_when_its_device_is_lost)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE gate = create_fence(0, 0, NULL);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(submit(context, 1));
	EXPECT_OK(queue_wait(context, gate, 1));
	EXPECT_OK(submit(context, 2));
	EXPECT_OK(destroy_sync(fence));
	expect_valid();
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_FORCETDR, 0));
	expect_valid();
	EXPECT_OK(destroy_sync(gate));
	expect_valid();
}

/* ---- what the GPU writes itself ---- */

/* The client may only read it, but it is the page that the GPU would write. */
static void gpu_writes(const volatile UINT64 *view, UINT64 value)
{
	void *page = (void *)((uintptr_t)view & ~(uintptr_t)4095);

	EXPECT_EQ(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
	*(volatile UINT64 *)(uintptr_t)view = value;
	EXPECT_EQ(mprotect(page, 4096, PROT_READ), 0);
}

TEST(gpu, written_fence_is_seen_when_the_work_is_over)
{
	begin_by_hand();
	const volatile UINT64 *view;
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE waiter = create_virtual(1);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	int event = new_event();

	EXPECT_OK(queue_wait(waiter, fence, 8));
	EXPECT_OK(submit(waiter, 2));
	EXPECT_OK(wait_fence(fence, 8, event));
	EXPECT_OK(submit(context, 1));
	gpu_writes(view, 8);
	EXPECT_EQ(complete(0), 1);
	AWAIT(event_count(event) == 1);
	AWAIT(pending(1) == 1);
	complete_all(1, 1);
	close(event);
}

/* ---- access ---- */

TEST(access, of_an_opening_without_signal_or_wait_is_refused)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE no_signal = create_fence(0, NO_SIGNAL, NULL);
	D3DKMT_HANDLE no_wait = create_fence(0, NO_WAIT, NULL);

	EXPECT_REFUSED(queue_signal(context, no_signal, 1), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	EXPECT_REFUSED(signal_by(GPU2, context, one(no_signal, 1), 0), STATUS_ACCESS_DENIED,
		       "API-SYNC-ACCESS", "ObjectHandleArray");
	EXPECT_REFUSED(queue_wait(context, no_wait, 1), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	EXPECT_OK(queue_signal(context, no_wait, 1));
	EXPECT_OK(queue_wait(context, no_signal, 0));
	EXPECT_OK(submit(context, 1));
	complete_all(0, 1);
}

/* ---- refusals ---- */

TEST(refused, are_contexts_that_are_none)
{
	begin_by_hand();
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	for (enum way way = V1; way < GPU2; way++) {
		EXPECT_BAD_HANDLE(wait_by(way, 0, one(fence, 1)), "hContext");
		EXPECT_BAD_HANDLE(signal_by(way, 0, one(fence, 1), 0), "hContext");
		EXPECT_BAD(signal_by(way, device, one(fence, 1), 0), "API-HANDLE-KIND", "hContext");
	}
	EXPECT_BAD_HANDLE(signal_by(GPU2, 0, one(fence, 1), 0), "BroadcastContextArray");
	EXPECT_BAD(D3DKMTSignalSynchronizationObject(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTSignalSynchronizationObject2(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTSignalSynchronizationObjectFromGpu(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTSignalSynchronizationObjectFromGpu2(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTWaitForSynchronizationObject(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTWaitForSynchronizationObject2(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTWaitForSynchronizationObjectFromGpu(NULL), "API-NULL-ARGUMENT", "");
}

TEST(refused, are_objects_that_are_none_or_of_another_device)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE first = device;
	device = create_device(adapter);
	D3DKMT_HANDLE foreign = create_fence(0, 0, NULL);
	device = first;

	for (enum way way = V1; way < WAYS; way++) {
		EXPECT_BAD_HANDLE(wait_by(way, context, one(0, 1)), "ObjectHandleArray");
		EXPECT_BAD_HANDLE(signal_by(way, context, one(0, 1), 0), "ObjectHandleArray");
		EXPECT_BAD(signal_by(way, context, one(context, 1), 0), "API-HANDLE-KIND",
			   "ObjectHandleArray");
		EXPECT_BAD_HANDLE(wait_by(way, context, one(foreign, 1)), "ObjectHandleArray");
		EXPECT_BAD_HANDLE(signal_by(way, context, one(foreign, 1), 0), "ObjectHandleArray");
	}
}

TEST(refused, are_kinds_that_a_call_has_no_value_for)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE old = packet_fence(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	struct list mixed = { 2, { fence, old }, { 1, 1 } };

	EXPECT_BAD(wait_by(V1, context, one(old, 0)), "API-SYNC-KIND", "ObjectHandleArray");
	EXPECT_BAD(signal_by(V1, context, one(fence, 0), 0), "API-SYNC-KIND", "ObjectHandleArray");
	EXPECT_BAD(signal_by(GPU, context, one(old, 0), 0), "API-SYNC-KIND", "ObjectHandleArray");
	EXPECT_BAD(signal_by(GPU2, context, mixed, 0), "API-SYNC-KIND", "ObjectHandleArray");
	EXPECT_BAD(wait_by(GPU, context, mixed), "API-SYNC-KIND", "ObjectHandleArray");
}

TEST(refused, are_counts_outside_the_arrays)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2 wait = { .hContext = context, .ObjectCount = 33 };
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 signal = { .hContext = context, .ObjectCount = 33 };

	EXPECT_BAD(D3DKMTWaitForSynchronizationObject2(&wait), "API-COUNT", "ObjectCount");
	wait.ObjectCount = 0;
	EXPECT_BAD(D3DKMTWaitForSynchronizationObject2(&wait), "API-COUNT", "ObjectCount");
	EXPECT_BAD(D3DKMTSignalSynchronizationObject2(&signal), "API-COUNT", "ObjectCount");
	signal.ObjectCount = 0; /* allowed: nothing is signalled */
	EXPECT_OK(D3DKMTSignalSynchronizationObject2(&signal));
	signal.BroadcastContextCount = 65;
	EXPECT_BAD(D3DKMTSignalSynchronizationObject2(&signal), "API-COUNT",
		   "BroadcastContextCount");
	for (enum way way = V1; way < WAYS; way++) {
		if (way != GPU)
			EXPECT_BAD(signal_by(way, context, one(create_fence(0, 0, NULL), 1), 8),
				   "API-RESERVED", "Flags");
	}
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 none = { 0 };
	EXPECT_BAD(D3DKMTSignalSynchronizationObjectFromGpu2(&none), "API-COUNT",
		   "BroadcastContextCount");
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU no_values = { .hContext = context,
								 .ObjectCount = 1,
								 .ObjectHandleArray = &fence };
	EXPECT_BAD(D3DKMTWaitForSynchronizationObjectFromGpu(&no_values), "API-NULL-ARGUMENT",
		   "MonitoredFenceValueArray");
}

TEST(refused, are_contexts_of_two_devices_together)
{
	begin_by_hand();
	D3DKMT_HANDLE contexts[2] = { create_virtual(0) };
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	contexts[1] = create_virtual_on(create_device(adapter), 0);
	EXPECT_BAD_HANDLE(broadcast_gpu2(contexts, 2, fence), "BroadcastContextArray");
	EXPECT_EQ(last_refusal().index, 1);
}

/* ---- memory ---- */

TEST(memory, that_is_missing_leaves_nothing_queued)
{
	begin_by_hand();
	D3DKMT_HANDLE contexts[2] = { create_virtual(0), create_virtual(1) };
	const volatile UINT64 *view;
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	D3DKMT_HANDLE gate = create_fence(0, 0, NULL);
	int event = new_event();

	for (unsigned step = 0; step < 3; step++) {
		bool has_failed = true;
		for (unsigned n = 1; has_failed; n++) {
			D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 set = { .hContext = contexts[0],
								    .BroadcastContextCount = 1,
								    .BroadcastContext = {
									    contexts[1] } };
			set.Flags.EnqueueCpuEvent = 1;
			set.CpuEventHandle = (HANDLE)(intptr_t)event;
			dxgk_test_fail_nth_allocation(n);
			NTSTATUS status = step == 0   ? broadcast_gpu2(contexts, 2, fence)
					  : step == 1 ? D3DKMTSignalSynchronizationObject2(&set)
						      : queue_wait(contexts[0], gate, 1);
			has_failed = dxgk_test_fail_stop();
			EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
			if (has_failed) {
				EXPECT_EQ(*view, step > 0);
				EXPECT_EQ(event_count(event), 0);
			}
		}
		if (step == 1)
			AWAIT(event_count(event) == 1);
	}
	EXPECT_OK(submit(contexts[0], 1));
	EXPECT_EQ(pending(0), 0);
	EXPECT_OK(signal_fence(gate, 1));
	complete_all(0, 1);
	close(event);
}

/* ---- a wait that stands behind what is preempted ---- */

TEST(wait, behind_preempted_work_is_over_once_and_ends_where_it_waits)
{
	const volatile UINT64 *view;

	for (int is_destroyed = 0; is_destroyed < 2; is_destroyed++) {
		begin_by_hand();
		D3DKMT_HANDLE low = create_virtual(0);
		D3DKMT_HANDLE high = create_virtual(0);
		D3DKMT_HANDLE gates[2] = { create_fence(0, 0, &view), create_fence(0, 0, &view) };
		const struct list both = { 2, { gates[0], gates[1] }, { 1, 1 } };

		EXPECT_OK(set_priority(high, 5));
		EXPECT_OK(submit(low, 1));
		EXPECT_OK(wait_by(GPU, low, both));
		EXPECT_OK(submit(low, 2));
		EXPECT_OK(signal_fence(gates[0], 1)); /* from now on it waits for the other one */
		EXPECT_OK(submit(high, 7));
		AWAIT(strcmp(pending_tags(0), "7 1 ") == 0);
		EXPECT_EQ(complete(0), 7);
		if (is_destroyed) {
			EXPECT_EQ(complete(0), 1);
			EXPECT_OK(destroy_context(low));
			EXPECT_OK(signal_fence(gates[1], 1));
		} else {
			EXPECT_OK(signal_fence(gates[1], 1));
			complete_all(0, 2);
		}
		EXPECT_OK(signal_fence(gates[1], 2));
	}
}

/* Their values are for the fence that was there, whatever is made after it. */
TEST(signal, that_is_queued_for_a_fence_that_ended_reaches_no_later_one)
{
	enum { LATER = 24, OLD_VALUE = 1000 };
	const volatile UINT64 *views[LATER];

	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE gate = create_fence(0, 0, NULL);
	D3DKMT_HANDLE ended = create_fence(0, 0, NULL);
	EXPECT_OK(queue_wait(context, gate, 1));
	EXPECT_OK(queue_signal(context, ended, OLD_VALUE));
	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy_sync(ended));
	for (unsigned i = 0; i < LATER; i++)
		(void)create_fence(i, 0, &views[i]);
	EXPECT_OK(signal_fence(gate, 1));
	complete_all(0, 1); /* behind the signal */
	for (unsigned i = 0; i < LATER; i++)
		EXPECT_EQ(*views[i], i);
	expect_nothing_wrong();
}

CRANK_TEST_MAIN("api/queue_sync", "")
