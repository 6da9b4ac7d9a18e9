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

static NTSTATUS destroy(D3DKMT_HANDLE resource, const D3DKMT_HANDLE *allocations, unsigned count)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device,
					   .hResource = resource,
					   .phAllocationList = allocations,
					   .AllocationCount = count };

	return D3DKMTDestroyAllocation2(&args);
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

CRANK_TEST_MAIN("api/recount", "")
