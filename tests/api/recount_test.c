/* SPDX-License-Identifier: MIT */
/*
 * recount_test.c - the kernel's recount (dxgk_test_validate) while the GPU has work that does not
 * end: what packets hold, and what waits to be destroyed behind them, is known and adds up.
 */
#include "api/crank.h"

static D3DKMT_HANDLE make(unsigned count, bool is_resource, D3DKMT_HANDLE *allocations)
{
	D3DDDI_ALLOCATIONINFO2 elements[4] = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = count,
					 .pAllocationInfo2 = elements };

	args.Flags.CreateResource = is_resource;
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	for (unsigned i = 0; i < count; i++)
		allocations[i] = elements[i].hAllocation;
	return args.hResource;
}

static NTSTATUS destroy_with(D3DKMT_HANDLE resource, const D3DKMT_HANDLE *allocations,
			     unsigned count, bool is_synchronous)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device,
					   .hResource = resource,
					   .phAllocationList = allocations,
					   .AllocationCount = count };

	args.Flags.SynchronousDestroy = is_synchronous;
	return D3DKMTDestroyAllocation2(&args);
}

static NTSTATUS destroy(D3DKMT_HANDLE resource, const D3DKMT_HANDLE *allocations, unsigned count)
{
	return destroy_with(resource, allocations, count, false);
}

TEST(recount, knows_what_waits_and_signals_in_queues_hold)
{
	begin_by_hand();
	D3DKMT_HANDLE first = create_virtual(0);
	D3DKMT_HANDLE second = create_virtual(1);
	D3DKMT_HANDLE gate = create_fence(0, 0, NULL);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	D3DKMT_HANDLE both[2] = { first, second };
	UINT64 value = 2;
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 together = {
		.ObjectCount = 1,
		.ObjectHandleArray = &fence,
		.BroadcastContextCount = 2,
		.BroadcastContextArray = both,
		.MonitoredFenceValueArray = &value,
	};

	EXPECT_OK(queue_wait(first, gate, 1));
	expect_sound("with a wait");
	EXPECT_OK(submit(first, 1));
	EXPECT_OK(queue_signal(first, fence, 1));
	EXPECT_OK(D3DKMTSignalSynchronizationObjectFromGpu2(&together));
	expect_sound("with signals");
	EXPECT_OK(destroy_sync(fence));
	expect_sound("with the signals of a handle that is gone");
	EXPECT_OK(signal_fence(gate, 1));
	complete_all(0, 1);
	expect_sound("when all is over");
}

TEST(recount, knows_what_waits_to_be_destroyed)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE lone[2];
	D3DKMT_HANDLE members[3];
	D3DKMT_HANDLE others[2];

	(void)make(2, false, lone);
	D3DKMT_HANDLE resource = make(3, true, members);
	D3DKMT_HANDLE whole = make(2, true, others);
	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy(0, lone, 2));
	expect_sound("with two alone");
	EXPECT_OK(destroy(0, members, 1));
	expect_sound("with one of a resource");
	EXPECT_OK(destroy(whole, NULL, 0));
	expect_sound("with a resource");
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 3);
	expect_sound("when all is over");
	EXPECT_OK(destroy(resource, NULL, 0));
	expect_sound("at the end");
}

/* ---- calls that wait ---- */

struct waiting {
	struct dxgk_test_thread *thread;
	NTSTATUS (*call)(const struct waiting *waiting);
	D3DKMT_HANDLE object;
	D3DKMT_HANDLE more[2];
	_Atomic bool is_over;
	NTSTATUS status;
};

static void waiting_run(void *argument)
{
	struct waiting *waiting = argument;

	waiting->status = waiting->call(waiting);
	waiting->is_over = true;
}

static void begin_waiting(struct waiting *waiting)
{
	waiting->thread = begin_thread(waiting_run, waiting);
	settle();
	EXPECT(!waiting->is_over);
}

static void end_waiting(struct waiting *waiting)
{
	AWAIT(waiting->is_over);
	dxgk_test_thread_join(waiting->thread);
	EXPECT_OK(waiting->status);
}

static NTSTATUS wait_for_fences(const struct waiting *waiting)
{
	const D3DKMT_HANDLE fences[] = { waiting->object, waiting->more[0], waiting->object };
	const UINT64 values[] = { 1, 1, 1 };
	return D3DKMTWaitForSynchronizationObjectFromCpu(
		&(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){ .hDevice = device,
							       .ObjectCount = 3,
							       .ObjectHandleArray = fences,
							       .FenceValueArray = values });
}

static NTSTATUS acquire_key(const struct waiting *waiting)
{
	return D3DKMTAcquireKeyedMutex(
		&(D3DKMT_ACQUIREKEYEDMUTEX){ .hKeyedMutex = waiting->object, .Key = 1 });
}

static NTSTATUS destroy_now(const struct waiting *waiting)
{
	return destroy_with(waiting->object, waiting->object ? NULL : waiting->more,
			    waiting->object ? 0 : 2, true);
}

TEST(recount, goes_on_while_calls_wait_for_what_clients_do)
{
	begin_by_hand();
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	D3DKMT_HANDLE other = create_fence(0, 0, NULL);
	D3DKMT_CREATEKEYEDMUTEX mutex = { .InitialValue = 0 };
	D3DKMT_DESTROYKEYEDMUTEX end = { 0 };

	EXPECT_OK(D3DKMTCreateKeyedMutex(&mutex));
	struct waiting first = { .call = wait_for_fences, .object = fence, .more = { other } };
	struct waiting second = { .call = wait_for_fences, .object = other, .more = { fence } };
	struct waiting third = { .call = acquire_key, .object = mutex.hKeyedMutex };
	struct waiting fourth = { .call = acquire_key, .object = mutex.hKeyedMutex };
	begin_waiting(&first);
	expect_sound("while one waits for fences");
	begin_waiting(&second);
	expect_sound("while two wait for fences");
	begin_waiting(&third);
	begin_waiting(&fourth);
	expect_sound("while two wait for a key");
	EXPECT_OK(signal_fence(fence, 1));
	expect_sound("with one fence at its value");
	EXPECT_OK(signal_fence(other, 1));
	end_waiting(&first);
	end_waiting(&second);
	expect_sound("when two are over");
	end.hKeyedMutex = mutex.hKeyedMutex;
	EXPECT_OK(D3DKMTDestroyKeyedMutex(&end));
	AWAIT(third.is_over && fourth.is_over);
	dxgk_test_thread_join(third.thread);
	dxgk_test_thread_join(fourth.thread);
	EXPECT_EQ(third.status, STATUS_INVALID_PARAMETER);
	expect_sound("when all is over");
}

TEST(recount, goes_on_while_calls_wait_for_the_gpu)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE gate = create_fence(0, 0, NULL);
	D3DKMT_HANDLE members[2];
	struct waiting lone = { .call = destroy_now };

	(void)make(2, false, lone.more);
	struct waiting whole = { .call = destroy_now, .object = make(2, true, members) };
	EXPECT_OK(queue_wait(context, gate, 1));
	EXPECT_OK(submit(context, 1));
	begin_waiting(&lone);
	expect_sound("while two are destroyed");
	begin_waiting(&whole);
	expect_sound("while a resource is destroyed");
	EXPECT_OK(signal_fence(gate, 1));
	complete_all(0, 1);
	end_waiting(&lone);
	end_waiting(&whole);
	expect_sound("when all is over");
}

CRANK_TEST_MAIN("api/recount", "")
