/* SPDX-License-Identifier: MIT */
/*
 * destroy_order_test.c - nothing is released while the GPU may touch it. The GPU never finishes by
 * itself, so what comes before the test says "completing" came too early.
 */
#include "api/crank.h"

/* ---- allocations, in short ---- */

enum { NOT_IN_USE = 1, SYNCHRONOUS = 2 };

struct made {
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE global;
	D3DKMT_HANDLE allocations[4];
};

static struct made make(D3DKMT_HANDLE on, unsigned count, bool is_resource, bool is_shared)
{
	D3DDDI_ALLOCATIONINFO2 elements[4] = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = on,
					 .NumAllocations = count,
					 .pAllocationInfo2 = elements };
	struct made made;

	args.Flags.CreateResource = is_resource;
	args.Flags.CreateShared = is_shared;
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	made.resource = args.hResource;
	made.global = args.hGlobalShare;
	for (unsigned i = 0; i < 4; i++)
		made.allocations[i] = elements[i].hAllocation;
	return made;
}

static NTSTATUS destroy_flags(D3DKMT_HANDLE on, D3DKMT_HANDLE resource,
			      const D3DKMT_HANDLE *allocations, unsigned count, unsigned flags)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = on,
					   .hResource = resource,
					   .phAllocationList = allocations,
					   .AllocationCount = count };

	args.Flags.AssumeNotInUse = (flags & NOT_IN_USE) != 0;
	args.Flags.SynchronousDestroy = (flags & SYNCHRONOUS) != 0;
	return D3DKMTDestroyAllocation2(&args);
}

static D3DKMT_HANDLE open_shared(D3DKMT_HANDLE on, D3DKMT_HANDLE global)
{
	D3DDDI_OPENALLOCATIONINFO2 element = { 0 };
	D3DKMT_OPENRESOURCE args = { .hDevice = on,
				     .hGlobalShare = global,
				     .NumAllocations = 1,
				     .pOpenAllocationInfo2 = &element };

	EXPECT_OK(D3DKMTOpenResource2(&args));
	return args.hResource;
}

struct later {
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE allocation;
	unsigned flags;
	NTSTATUS status;
};

static void destroy_later(void *argument)
{
	struct later *later = argument;

	later->status = destroy_flags(device, later->resource, &later->allocation,
				      later->allocation != 0, later->flags);
	mark("destroyed");
}

/* ---- the four ways to say it ---- */

HAND_TEST(destroy, returns_at_once_and_the_driver_is_told_after_the_work)
{
	D3DKMT_HANDLE context = create_virtual(0);
	struct made made = make(device, 1, false, false);

	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, 0));
	mark("returned");
	/* The handle is gone at once. */
	EXPECT_BAD_HANDLE(destroy_flags(device, 0, made.allocations, 1, 0), "phAllocationList");
	settle();
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT(notes_in_order("returned", "DestroyAllocation"));
	EXPECT(notes_in_order("completing", "CloseAllocation"));
	EXPECT(notes_in_order("CloseAllocation", "DestroyAllocation"));
}

/* In place for the device. */
static void bring_in(D3DKMT_HANDLE on, D3DKMT_HANDLE *allocation)
{
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = on };
	D3DKMT_HANDLE kept = device;

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = queue.hPagingQueue,
				     .NumAllocations = 1,
				     .AllocationList = allocation };
	NTSTATUS status = D3DKMTMakeResident(&args);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	device = on;
	EXPECT_OK(wait_fence(queue.hSyncObject, args.PagingFenceValue, 0));
	device = kept;
}

/* An offer or an eviction waits for the work; whoever says that it is not in use may not. */
TEST(destroy, of_what_waits_for_work_does_not_hold_up_other_devices)
{
	for (unsigned is_offer = 0; is_offer < 2; is_offer++) {
		begin_by_hand();
		D3DKMT_HANDLE other = create_device(adapter);
		struct made mine = make(device, 1, false, false);
		struct made others = make(other, 1, false, false);
		D3DKMT_OFFERALLOCATIONS offer = { .hDevice = device,
						  .HandleList = mine.allocations,
						  .NumAllocations = 1,
						  .Priority = D3DKMT_OFFER_PRIORITY_LOW };
		D3DKMT_EVICT evict = { .hDevice = device,
				       .NumAllocations = 1,
				       .AllocationList = mine.allocations };

		bring_in(device, mine.allocations);
		bring_in(other, others.allocations);
		EXPECT_OK(submit(create_virtual(0), 1));
		EXPECT_OK(is_offer ? D3DKMTOfferAllocations(&offer) : D3DKMTEvict(&evict));
		EXPECT_OK(destroy_flags(device, 0, mine.allocations, 1, NOT_IN_USE));
		EXPECT_OK(destroy_flags(other, 0, others.allocations, 1, 0));
		AWAIT(notes_count("DestroyAllocation") >= 1);
		EXPECT_EQ(complete(0), 1);
		AWAIT(notes_count("DestroyAllocation") == 2);
		expect_nothing_wrong();
	}
}

TEST(destroy, does_not_wait_for_what_is_queued_after_it)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	struct made made = make(device, 1, false, false);

	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, 0));
	EXPECT_OK(submit(context, 2));
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT_EQ(pending(0), 1);
	complete_all(0, 1);
}

TEST(destroy, waits_for_every_context_of_the_device_on_every_node)
{
	begin_by_hand();
	struct made made = make(device, 1, false, false);

	for (unsigned node = 0; node < 2; node++)
		EXPECT_OK(submit(create_virtual(node), 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, 0));
	EXPECT_EQ(complete(1), 1);
	settle();
	EXPECT_EQ(notes_count("DestroyAllocation"), 0);
	mark("the last");
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT(notes_in_order("the last", "DestroyAllocation"));
}

TEST(destroy, waits_for_work_that_stands_behind_a_wait)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	struct made made = make(device, 1, false, false);

	EXPECT_OK(queue_wait(context, fence, 1));
	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, 0));
	settle();
	EXPECT_EQ(notes_count("DestroyAllocation"), 0);
	EXPECT_OK(signal_fence(fence, 1));
	complete_all(0, 1);
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT(notes_in_order("completing", "DestroyAllocation"));
}

TEST(destroy, with_assume_not_in_use_does_not_wait_for_the_work)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	struct made made = make(device, 1, false, false);

	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, NOT_IN_USE));
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT_EQ(pending(0), 1);
	complete_all(0, 1);
}

TEST(destroy, that_is_synchronous_returns_when_the_memory_is_free)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	struct later later = { .flags = SYNCHRONOUS,
			       .allocation = make(device, 1, false, false).allocations[0] };

	EXPECT_OK(submit(context, 1));
	struct dxgk_test_thread *thread = begin_thread(destroy_later, &later);
	settle();
	EXPECT_EQ(notes_count("destroyed"), 0);
	EXPECT_EQ(complete(0), 1);
	dxgk_test_thread_join(thread);
	EXPECT_OK(later.status);
	EXPECT(notes_in_order("completing", "DestroyAllocation"));
	EXPECT(notes_in_order("DestroyAllocation", "destroyed"));
}

TEST(destroy, with_both_bits_returns_when_the_memory_is_free_and_waits_for_no_work)
{
	begin_by_hand();
	struct made made = make(device, 1, false, false);

	EXPECT_OK(submit(create_virtual(0), 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, NOT_IN_USE | SYNCHRONOUS));
	EXPECT_EQ(notes_count("DestroyAllocation"), 1);
	EXPECT_EQ(pending(0), 1);
	complete_all(0, 1);
}

/* What was destroyed before, and has to wait, is in nobody's way. */
HAND_TEST(destroy, with_assume_not_in_use_does_not_wait_for_what_was_destroyed_before)
{
	struct made first = make(device, 1, false, false);
	struct made second = make(device, 2, false, false);

	EXPECT_OK(submit(create_virtual(0), 1));
	EXPECT_OK(destroy_flags(device, 0, first.allocations, 1, 0));
	EXPECT_OK(destroy_flags(device, 0, second.allocations, 1, NOT_IN_USE));
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT_OK(destroy_flags(device, 0, second.allocations + 1, 1, NOT_IN_USE | SYNCHRONOUS));
	EXPECT_EQ(notes_count("DestroyAllocation"), 2);
	expect_sound("with one that waits");
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 3);
}

/* … unless it was a part of it. */
HAND_TEST(destroy, with_assume_not_in_use_of_a_resource_waits_for_what_was_in_it)
{
	struct made made = make(device, 2, true, false);
	struct made other = make(device, 1, true, false);

	EXPECT_OK(submit(create_virtual(0), 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, 0));
	EXPECT_OK(destroy_flags(device, made.resource, NULL, 0, NOT_IN_USE));
	EXPECT_OK(destroy_flags(device, other.resource, NULL, 0, NOT_IN_USE | SYNCHRONOUS));
	EXPECT_EQ(notes_count("DestroyAllocation"), 1);
	settle();
	EXPECT_EQ(notes_count("DestroyAllocation"), 1);
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 3);
}

TEST(destroy, by_the_first_version_waits_as_well)
{
	begin_by_hand();
	struct made made = make(device, 1, false, false);
	D3DKMT_DESTROYALLOCATION args = { .hDevice = device,
					  .phAllocationList = made.allocations,
					  .AllocationCount = 1 };

	EXPECT_OK(submit(create_virtual(0), 1));
	EXPECT_OK(D3DKMTDestroyAllocation(&args));
	settle();
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT(notes_in_order("completing", "DestroyAllocation"));
}

TEST(destroy, on_an_idle_gpu_is_done_when_it_returns)
{
	begin_by_hand();
	struct made made = make(device, 2, true, false);
	struct made alone = make(device, 1, false, false);

	EXPECT_OK(submit(create_virtual(0), 1));
	complete_all(0, 1);
	/* Over when its signal is. */
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	D3DKMT_HANDLE context = create_virtual(0);
	EXPECT_OK(queue_signal(context, fence, 1));
	EXPECT_OK(wait_fence(fence, 1, 0));
	AWAIT(pending(0) == 0);
	settle();
	EXPECT_OK(destroy_flags(device, 0, alone.allocations, 1, 0));
	EXPECT_EQ(notes_count("DestroyAllocation"), 1);
	EXPECT_OK(destroy_flags(device, made.resource, NULL, 0, 0));
	EXPECT_EQ(notes_count("DestroyAllocation"), 2);
}

TEST(destroy, with_work_on_another_device_waits_for_nothing)
{
	begin_by_hand();
	D3DKMT_HANDLE other = create_device(adapter);
	struct made made = make(device, 1, false, false);

	EXPECT_OK(submit(create_virtual_on(other, 0), 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, 0));
	EXPECT_EQ(notes_count("DestroyAllocation"), 1);
	complete_all(0, 1);
}

/* ---- order ---- */

HAND_TEST(order, of_a_resource_and_what_was_in_it_is_kept)
{
	struct made made = make(device, 2, true, false);

	EXPECT_OK(submit(create_virtual(0), 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, 0));
	/* It does not wait for work, but for the allocation that went before. */
	EXPECT_OK(destroy_flags(device, made.resource, NULL, 0, NOT_IN_USE));
	settle();
	EXPECT_EQ(notes_count("DestroyAllocation"), 0);
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 2);
}

TEST(order, of_a_device_that_is_destroyed_keeps_allocations_until_its_work_is_over)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);

	make(device, 1, false, false);
	make(device, 2, true, false);
	EXPECT_OK(submit(context, 1));
	mark("destroying");
	/* Work that the hardware has is asked to stop, or ends by itself; here it ends. */
	EXPECT_EQ(complete(0), 1);
	EXPECT_OK(destroy_device(device));
	EXPECT(notes_in_order("completing", "DestroyAllocation"));
	EXPECT(notes_in_order("DestroyContext", "DestroyAllocation"));
	EXPECT(notes_in_order("DestroyAllocation", "DestroyDevice"));
	EXPECT_EQ(notes_count("DestroyAllocation"), 2);
}

static void destroy_the_device(void *argument)
{
	NTSTATUS *status = argument;

	*status = destroy_device(device);
	mark("device ended");
}

HAND_TEST(order, of_a_deferred_destruction_and_its_device_is_kept)
{
	D3DKMT_HANDLE context = create_virtual(0);
	struct made made = make(device, 1, false, false);
	NTSTATUS status = 1;

	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy_flags(device, 0, made.allocations, 1, 0));
	make(device, 1, false, false);
	struct dxgk_test_thread *thread = begin_thread(destroy_the_device, &status);
	settle();
	EXPECT_EQ(complete(0), 1);
	dxgk_test_thread_join(thread);
	EXPECT_OK(status);
	EXPECT(notes_in_order("completing", "DestroyAllocation"));
	AWAIT(notes_count("DestroyDevice") == 1); /* the thread that destroyed lets go of it */
	EXPECT(notes_in_order("DestroyAllocation", "DestroyDevice"));
	EXPECT_EQ(notes_count("DestroyAllocation"), 2);
}

/* ---- shared ---- */

HAND_TEST(shared, memory_lives_until_its_last_openers_work_is_over)
{
	D3DKMT_HANDLE second = create_device(adapter);
	struct made made = make(device, 1, true, true);
	D3DKMT_HANDLE opened = open_shared(second, made.global);

	EXPECT_OK(submit(create_virtual_on(second, 0), 1));
	EXPECT_OK(submit(create_virtual(1), 2));
	EXPECT_OK(destroy_flags(second, opened, NULL, 0, 0));
	EXPECT_OK(destroy_flags(device, made.resource, NULL, 0, 0));
	settle();
	EXPECT_EQ(complete(1), 2);
	settle();
	EXPECT_EQ(notes_count("DestroyAllocation"), 0);
	mark("the opener's");
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 1);
	EXPECT(notes_in_order("the opener's", "DestroyAllocation"));
	EXPECT_EQ(notes_count("CloseAllocation"), 2);
}

TEST(shared, memory_of_a_creator_that_goes_lives_on_with_its_opener)
{
	begin_by_hand();
	D3DKMT_HANDLE second = create_device(adapter);
	struct made made = make(device, 1, true, true);
	D3DKMT_HANDLE opened = open_shared(second, made.global);

	EXPECT_OK(submit(create_virtual_on(second, 0), 1));
	EXPECT_OK(destroy_device(device));
	EXPECT_EQ(notes_count("DestroyAllocation"), 0);
	EXPECT_OK(destroy_flags(second, opened, NULL, 0, 0));
	settle();
	EXPECT_EQ(notes_count("DestroyAllocation"), 0);
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 1);
}

/* ---- without memory ---- */

TEST(memory, that_is_missing_destroys_nothing)
{
	begin_by_hand();
	struct made made = make(device, 2, true, false);
	struct made alone = make(device, 2, false, false);
	bool has_failed = true;

	EXPECT_OK(submit(create_virtual(0), 1));
	for (unsigned n = 1; has_failed; n++) {
		dxgk_test_fail_nth_allocation(n);
		NTSTATUS status = destroy_flags(device, 0, alone.allocations, 2, 0);
		has_failed = dxgk_test_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
	}
	has_failed = true;
	for (unsigned n = 1; has_failed; n++) {
		dxgk_test_fail_nth_allocation(n);
		NTSTATUS status = destroy_flags(device, made.resource, NULL, 0, 0);
		has_failed = dxgk_test_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
	}
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("DestroyAllocation") == 2);
}

/* ---- the end of a process ---- */

static void end_process(void *argument)
{
	(void)argument;
	D3DKMTCloseDxCoreDevice();
	mark("process ended");
}

HAND_TEST(process, that_ends_lets_a_synchronous_destroy_go)
{
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);
	D3DKMT_HANDLE context = create_virtual(0);
	struct later later = { .flags = SYNCHRONOUS,
			       .allocation = make(device, 1, false, false).allocations[0] };

	EXPECT_OK(queue_wait(context, never, 1));
	struct dxgk_test_thread *thread = begin_thread(destroy_later, &later);
	settle();
	struct dxgk_test_thread *end = begin_thread(end_process, NULL);
	dxgk_test_thread_join(thread);
	dxgk_test_thread_join(end);
	/* Or it came only after the end, and has a handle of the process before. */
	EXPECT(later.status == STATUS_SUCCESS || later.status == STATUS_INVALID_PARAMETER);
	EXPECT_EQ(notes_count("DestroyAllocation"), 1);
}

CRANK_TEST_MAIN("api/destroy_order", "")
