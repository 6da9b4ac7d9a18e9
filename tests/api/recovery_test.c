/* SPDX-License-Identifier: MIT */
/*
 * recovery_test.c - what a client sees of work that faults or hangs, and of resets.
 *
 * What takes time (TdrDelay) runs in simulated runs only.
 */
#include "api/crank.h"

/* DXGK_INTERRUPT_TYPE */
enum {
	DMA_FAULTED = 4,
	DMA_PAGE_FAULTED = 9,
	FENCE_SIGNALED = 11,
	ENGINE_TIMEOUT = 16,
};

/* ---- ways to lose a device ---- */

static NTSTATUS mark_as(D3DKMT_HANDLE of, unsigned reason)
{
	return D3DKMTMarkDeviceAsError(
		&(D3DKMT_MARKDEVICEASERROR){ of, (D3DKMT_DEVICE_ERROR_REASON)reason });
}

static unsigned fault(unsigned type, unsigned node, unsigned flags)
{
	return crank(&(struct recorder_escape){ .command = RECORDER_FAULT,
						.type = type,
						.node = node,
						.flags = flags,
						.address = 0x12345678000,
						.level = 2,
						.error_code = 77,
						.status = STATUS_INVALID_PARAMETER });
}

/* Work on the new device is done at once, and seen. */
static void expect_new_device_works(void)
{
	const volatile UINT64 *view;
	D3DKMT_HANDLE lost = device;

	device = create_device(adapter);
	EXPECT_EQ(execution_state(device), ACTIVE);
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	EXPECT_OK(submit(context, 5));
	EXPECT_OK(queue_signal(context, fence, 1));
	AWAIT(pending(0) == 1);
	complete_all(0, 1);
	EXPECT_OK(wait_fence(fence, 1, 0));
	EXPECT_OK(destroy_device(device));
	device = lost;
}

/* ---- the device's own driver gives it up ---- */

TEST(mark, puts_the_device_in_error)
{
	static const unsigned reasons[] = { D3DKMT_DEVICE_ERROR_REASON_GENERIC,
					    D3DKMT_DEVICE_ERROR_REASON_DRIVER_ERROR };

	for (unsigned i = 0; i < 2; i++) {
		begin_by_hand();
		EXPECT_BAD(mark_as(device, 1), "API-VALUE", "Reason");
		EXPECT_BAD_HANDLE(mark_as(0, reasons[i]), "hDevice");
		EXPECT_EQ(execution_state(device), ACTIVE);
		EXPECT_OK(mark_as(device, reasons[i]));
		EXPECT_EQ(execution_state(device), DMA_FAULT);
		EXPECT_OK(mark_as(device, reasons[i]));
		expect_new_device_works();
	}
}

TEST(mark, cancels_what_is_queued_and_leaves_other_devices_alone)
{
	begin_by_hand();
	D3DKMT_HANDLE other = create_device(adapter);
	D3DKMT_HANDLE bad = create_virtual(0);
	D3DKMT_HANDLE good = create_virtual_on(other, 0);
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);

	EXPECT_OK(queue_wait(bad, never, 1));
	EXPECT_OK(submit(bad, 1));
	EXPECT_OK(submit(good, 2));
	EXPECT_OK(mark_as_error(device));
	EXPECT_REFUSED(submit(bad, 1), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	EXPECT_OK(submit(good, 3));
	EXPECT_STR(pending_tags(0), "2 3 ");
	complete_all(0, 2);
	EXPECT_EQ(execution_state(other), ACTIVE);
}

/* ---- what each call says of a lost device ---- */

struct things {
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	D3DKMT_HANDLE allocation;
	D3DKMT_HANDLE locked;
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE shared;
};

static NTSTATUS lock_allocation(D3DKMT_HANDLE allocation)
{
	return D3DKMTLock2(&(D3DKMT_LOCK2){ .hDevice = device, .hAllocation = allocation });
}

static struct things make_things(void)
{
	D3DDDI_ALLOCATIONINFO2 element = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element };
	struct things things = { .context = create_virtual(0),
				 .fence = create_fence(0, NO_JUMP, NULL) };

	EXPECT_OK(try_allocation(device, &things.allocation));
	EXPECT_OK(try_allocation(device, &things.locked));
	EXPECT_OK(lock_allocation(things.locked));
	args.Flags.CreateResource = 1;
	args.Flags.CreateShared = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	things.resource = args.hResource;
	things.shared = args.hGlobalShare;
	return things;
}

#define EXPECT_GONE(call)                                                                          \
	do {                                                                                       \
		NTSTATUS gone_status = (call);                                                     \
		if (gone_status != STATUS_DEVICE_REMOVED)                                          \
			print_error("%s:%d: %s gave 0x%08x\n", __FILE__, __LINE__, #call,          \
				    (unsigned)gone_status);                                        \
		EXPECT_EQ(gone_status, STATUS_DEVICE_REMOVED);                                     \
		EXPECT_STR(last_refusal().rule, "API-DEVICE-GONE");                                \
	} while (0)

static void expect_gone_for_new_things(const struct things *things)
{
	D3DKMT_HANDLE made;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 sync = creation(D3DDDI_MONITORED_FENCE, 0);
	D3DKMT_CREATESYNCHRONIZATIONOBJECT old_sync = { .hDevice = device };
	D3DDDI_OPENALLOCATIONINFO2 element = { 0 };
	D3DKMT_OPENRESOURCE open = { .hDevice = device,
				     .hGlobalShare = things->shared,
				     .NumAllocations = 1,
				     .pOpenAllocationInfo2 = &element };
	D3DKMT_QUERYRESOURCEINFO query = { .hDevice = device, .hGlobalShare = things->shared };

	EXPECT_GONE(try_create_context(device, &made));
	EXPECT_GONE(try_create_virtual(device, 0, &made));
	EXPECT_GONE(try_allocation(device, &made));
	EXPECT_GONE(D3DKMTCreateSynchronizationObject2(&sync));
	old_sync.Info.Type = D3DDDI_SYNCHRONIZATION_MUTEX;
	EXPECT_GONE(D3DKMTCreateSynchronizationObject(&old_sync));
	EXPECT_GONE(D3DKMTOpenResource2(&open));
	EXPECT_GONE(D3DKMTQueryResourceInfo(&query));
}

static void expect_gone_for_use(const struct things *things)
{
	UINT priority = 1;
	D3DKMT_SETALLOCATIONPRIORITY set = { .hDevice = device,
					     .phAllocationList = &things->allocation,
					     .AllocationCount = 1,
					     .pPriorities = &priority };
	D3DKMT_ALLOCATIONRESIDENCYSTATUS residency;
	D3DKMT_QUERYALLOCATIONRESIDENCY query = { .hDevice = device,
						  .phAllocationList = &things->allocation,
						  .AllocationCount = 1,
						  .pResidencyStatus = &residency };
	D3DKMT_LOCK lock = { .hDevice = device, .hAllocation = things->allocation };
	struct recorder_escape nothing = { .command = RECORDER_NOTHING };
	D3DKMT_ESCAPE escape = { .hAdapter = adapter,
				 .hDevice = device,
				 .pPrivateDriverData = &nothing,
				 .PrivateDriverDataSize = sizeof(nothing) };

	EXPECT_GONE(D3DKMTSetAllocationPriority(&set));
	EXPECT_GONE(D3DKMTQueryAllocationResidency(&query));
	EXPECT_GONE(lock_allocation(things->allocation));
	EXPECT_GONE(D3DKMTLock(&lock));
	EXPECT_GONE(D3DKMTEscape(&escape));
	EXPECT_GONE(submit(things->context, 1));
	EXPECT_GONE(queue_wait(things->context, things->fence, 1));
	EXPECT_GONE(queue_signal(things->context, things->fence, 1));
	EXPECT_GONE(signal_fence(things->fence, 1));
	EXPECT_GONE(wait_fence(things->fence, 1, 0));
	int event = new_event();
	EXPECT_GONE(wait_fence(things->fence, 1, event));
	close(event);
	for (unsigned type = D3DKMT_DEVICESTATE_PRESENT; type <= D3DKMT_DEVICESTATE_PRESENT_QUEUE;
	     type++) {
		D3DKMT_GETDEVICESTATE state = { .hDevice = device,
						.StateType = (D3DKMT_DEVICESTATE_TYPE)type };
		if (type != D3DKMT_DEVICESTATE_PAGE_FAULT || execution_state(device) != PAGE_FAULT)
			EXPECT_GONE(D3DKMTGetDeviceState(&state));
	}
}

static void expect_released(const struct things *things)
{
	D3DKMT_UNLOCK2 unlock = { .hDevice = device, .hAllocation = things->locked };
	const D3DKMT_HANDLE both[] = { things->locked, things->allocation };
	D3DKMT_UNLOCK unlock_both = { .hDevice = device,
				      .NumAllocations = 2,
				      .phAllocations = both };
	D3DKMT_DESTROYALLOCATION2 destroy = { .hDevice = device,
					      .phAllocationList = &things->allocation,
					      .AllocationCount = 1 };
	D3DKMT_DESTROYALLOCATION2 destroy_resource = { .hDevice = device,
						       .hResource = things->resource };

	/* One of them is not locked: then the other one stays so. */
	EXPECT_BAD(D3DKMTUnlock(&unlock_both), "API-VALUE", "phAllocations");
	EXPECT_OK(D3DKMTUnlock2(&unlock));
	destroy.Flags.SynchronousDestroy = 1;
	EXPECT_OK(D3DKMTDestroyAllocation2(&destroy));
	EXPECT_OK(D3DKMTDestroyAllocation2(&destroy_resource));
	EXPECT_OK(destroy_sync(things->fence));
	EXPECT_OK(destroy_context(things->context));
	EXPECT_OK(destroy_device(device)); /* with one that is left */
}

TEST(lost, device_takes_no_work_and_releases_everything)
{
	begin_by_hand();
	struct things things = make_things();

	EXPECT_OK(submit(things.context, 1));
	EXPECT_EQ(fault(DMA_FAULTED, 0, 0) != 0, true);
	AWAIT(execution_state(device) == DMA_FAULT);
	expect_gone_for_new_things(&things);
	expect_gone_for_use(&things);
	expect_released(&things);
	expect_nothing_wrong();
	AWAIT(notes_count("DestroyDevice") == 1);
}

/* The GPU still has work, and nobody turns it: nothing waits for it once it was reset. */
TEST(lost, adapter_reset_releases_everything_without_waiting)
{
	begin_by_hand();
	struct things things = make_things();

	EXPECT_OK(submit(things.context, 1));
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_GPUTDR, 0));
	EXPECT_EQ(execution_state(device), HUNG);
	expect_gone_for_new_things(&things);
	expect_gone_for_use(&things);
	expect_released(&things);
	AWAIT(notes_count("DestroyAllocation") == 3);
	expect_nothing_wrong();
}

/* ---- faults ---- */

TEST(fault, of_a_page_is_told_with_address_and_flags)
{
	D3DKMT_GETDEVICESTATE ask = { .StateType = D3DKMT_DEVICESTATE_PAGE_FAULT };

	begin_by_hand();
	ask.hDevice = device;
	EXPECT_OK(D3DKMTGetDeviceState(&ask));
	EXPECT_EQ(ask.PageFaultState.FaultedVirtualAddress, 0);
	EXPECT_OK(submit(create_virtual(0), 1));
	EXPECT(fault(DMA_PAGE_FAULTED, 0, DXGK_PAGE_FAULT_WRITE) != 0);
	AWAIT(execution_state(device) == PAGE_FAULT);
	EXPECT_OK(D3DKMTGetDeviceState(&ask));
	EXPECT_EQ(ask.PageFaultState.FaultedVirtualAddress, 0x12345678000);
	EXPECT_EQ(ask.PageFaultState.PageFaultFlags, DXGK_PAGE_FAULT_WRITE);
	EXPECT_EQ(ask.PageFaultState.FaultErrorCode.IsDeviceSpecificCode, 1);
	EXPECT_EQ(ask.PageFaultState.FaultErrorCode.DeviceSpecificCode, 77);
	EXPECT_OK(destroy_device(device));
}

TEST(fault, takes_down_its_device_only)
{
	begin_by_hand();
	const volatile UINT64 *view;
	D3DKMT_HANDLE guilty = device;
	D3DKMT_HANDLE bad = create_virtual(0);

	EXPECT_OK(submit(bad, 1));
	device = create_device(adapter);
	D3DKMT_HANDLE good = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	EXPECT_OK(submit(good, 2));
	EXPECT_OK(queue_signal(good, fence, 1));
	EXPECT(fault(DMA_PAGE_FAULTED, 0, 0) != 0);
	AWAIT(execution_state(guilty) == PAGE_FAULT);
	/* The engine was reset; the innocent's comes again. */
	AWAIT(notes_count("ResetEngine") == 1);
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 2);
	EXPECT_OK(wait_fence(fence, 1, 0));
	EXPECT_EQ(*view, 1);
	EXPECT_EQ(execution_state(device), ACTIVE);
	EXPECT_EQ(notes_count("ResetFromTimeout"), 0);
	expect_new_device_works();
	expect_nothing_wrong();
}

TEST(fault, that_needs_it_resets_the_adapter)
{
	begin_by_hand();
	D3DKMT_HANDLE innocent = create_device(adapter);

	EXPECT_OK(submit(create_virtual(0), 1));
	EXPECT(fault(DMA_PAGE_FAULTED, 0, DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED) != 0);
	AWAIT(execution_state(innocent) == RESET);
	EXPECT_EQ(execution_state(device), PAGE_FAULT);
	AWAIT(notes_count("RestartFromTimeout") == 1);
	EXPECT(notes_in_order("CollectDbgInfo", "ResetFromTimeout"));
	EXPECT(notes_in_order("ResetFromTimeout", "RestartFromTimeout"));
	expect_new_device_works();
}

TEST(fault, that_the_hardware_calls_a_hang_takes_down_its_device)
{
	begin_by_hand();
	EXPECT_OK(submit(create_virtual(1), 1));
	interrupt(ENGINE_TIMEOUT, 1);
	AWAIT(execution_state(device) == HUNG);
	AWAIT(notes_count("ResetEngine irql=0 node=1") == 1);
}

/* ---- fences ---- */

TEST(fences, of_a_lost_device_go_to_their_maximum)
{
	begin_by_hand();
	const volatile UINT64 *jumps, *stays, *foreign;
	D3DKMT_HANDLE fence = create_fence(3, 0, &jumps);
	create_fence(3, NO_JUMP, &stays);
	create_fence(3, NO_SIGNAL, &foreign);
	int event = new_event();

	EXPECT_OK(wait_fence(fence, 100, event));
	EXPECT_OK(mark_as_error(device));
	AWAIT(event_count(event) == 1);
	EXPECT_EQ(*jumps, UINT64_MAX);
	EXPECT_EQ(*stays, 3);
	EXPECT_EQ(*foreign, 3);
	EXPECT_OK(wait_fence(fence, 1000, 0)); /* reached */
	close(event);
}

static NTSTATUS waited;
static D3DKMT_HANDLE waited_fence;

static void wait_there(void *argument)
{
	(void)argument;
	waited = wait_fence(waited_fence, 100, 0);
	mark("waited");
}

TEST(fences, that_do_not_jump_let_who_waits_go_all_the_same)
{
	for (unsigned jumps = 0; jumps < 2; jumps++) {
		begin_by_hand();
		waited_fence = create_fence(3, jumps ? 0 : NO_JUMP, NULL);
		struct dxgk_test_thread *thread = begin_thread(wait_there, NULL);
		for (unsigned i = 0; i < 20; i++)
			let_others();
		EXPECT_OK(mark_as_error(device));
		dxgk_test_thread_join(thread);
		EXPECT(waited == STATUS_DEVICE_REMOVED || (jumps && waited == STATUS_SUCCESS));
	}
}

TEST(fences, of_a_lost_device_let_the_queues_of_others_go_on)
{
	begin_by_hand();
	HANDLE handle;
	D3DKMT_HANDLE opened;
	D3DKMT_HANDLE lost = device;
	D3DKMT_HANDLE fence = create_fence(0, SHARED_NT, NULL);

	EXPECT_OK(share_sync(fence, D3DDDI_SYNC_OBJECT_ALL_ACCESS, &handle));
	device = create_device(adapter);
	EXPECT_OK(open_nt_sync(handle, 0, &opened, NULL));
	D3DKMT_HANDLE context = create_virtual(0);
	EXPECT_OK(queue_wait(context, opened, 9));
	EXPECT_OK(submit(context, 1));
	EXPECT_EQ(pending(0), 0);
	EXPECT_OK(mark_as_error(lost));
	AWAIT(pending(0) == 1);
	complete_all(0, 1);
	close_nt(handle);
}

TEST(fences, that_the_hardware_says_it_wrote_are_looked_at)
{
	begin_by_hand();
	const volatile UINT64 *view;
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	void *page = (void *)((uintptr_t)view & ~(uintptr_t)4095);
	int event = new_event();

	EXPECT_OK(wait_fence(fence, 8, event));
	EXPECT_EQ(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
	*(volatile UINT64 *)(uintptr_t)view = 8;
	EXPECT_EQ(mprotect(page, 4096, PROT_READ), 0);
	EXPECT_EQ(event_count(event), 0);
	interrupt(FENCE_SIGNALED, 0);
	AWAIT(event_count(event) == 1);
	close(event);
}

/* ---- by hand ---- */

TEST(forced, engine_reset_takes_the_one_that_runs)
{
	begin_by_hand();
	D3DKMT_HANDLE other = create_device(adapter);

	EXPECT_OK(submit(create_virtual(0), 1));
	EXPECT_OK(submit(create_virtual_on(other, 1), 2));
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_ENGINETDR, 0));
	AWAIT(execution_state(device) == HUNG);
	EXPECT_EQ(execution_state(other), ACTIVE);
	EXPECT_EQ(complete(1), 2);
	EXPECT_EQ(notes_count("ResetEngine irql=0 node=0"), 1);
	EXPECT_EQ(notes_count("ResetEngine"), 1);
	expect_new_device_works();
}

TEST(forced, engine_reset_of_an_idle_engine_takes_nobody)
{
	begin_by_hand();
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_ENGINETDR, 1));
	EXPECT_EQ(notes_count("ResetEngine"), 0);
	EXPECT_EQ(execution_state(device), ACTIVE);
}

TEST(forced, adapter_reset_takes_everybody_and_a_new_device_works)
{
	static const unsigned controls[] = { D3DKMT_TDRDBGCTRLTYPE_FORCETDR,
					     D3DKMT_TDRDBGCTRLTYPE_UNCONDITIONAL };

	for (unsigned i = 0; i < 2; i++) {
		begin_on(BY_HAND_HOLDING); /* resets are counted per adapter */
		D3DKMT_HANDLE other = create_device(adapter);
		EXPECT_OK(submit(create_virtual(0), 1));
		EXPECT_OK(submit(create_virtual_on(other, 1), 2));
		EXPECT_OK(force(controls[i], 0));
		EXPECT_EQ(execution_state(device), HUNG);
		EXPECT_EQ(execution_state(other), RESET);
		EXPECT(notes_in_order("ResetFromTimeout", "RestartFromTimeout"));
		expect_new_device_works();
		EXPECT_OK(destroy_device(other));
	}
}

TEST(forced, resets_that_need_what_is_not_there_are_refused)
{
	static const unsigned controls[] = {
		D3DKMT_TDRDBGCTRLTYPE_DISABLEBREAK,     D3DKMT_TDRDBGCTRLTYPE_ENABLEBREAK,
		D3DKMT_TDRDBGCTRLTYPE_VSYNCTDR,         D3DKMT_TDRDBGCTRLTYPE_FORCEDODTDR,
		D3DKMT_TDRDBGCTRLTYPE_FORCEDODVSYNCTDR, 9,
	};
	D3DKMT_TDRDBGCTRL_ESCAPE tdr = { D3DKMT_TDRDBGCTRLTYPE_GPUTDR, 0 };
	D3DKMT_ESCAPE args = { .Type = D3DKMT_ESCAPE_TDRDBGCTRL,
			       .pPrivateDriverData = &tdr,
			       .PrivateDriverDataSize = sizeof(tdr) - 1 };

	begin_by_hand();
	for (unsigned i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		EXPECT_REFUSED(force(controls[i], 0), STATUS_NOT_SUPPORTED, "API-NOT-BUILT",
			       "TdrControl");
	EXPECT_BAD(force(D3DKMT_TDRDBGCTRLTYPE_ENGINETDR, 4), "API-VALUE", "NodeOrdinal");
	args.hAdapter = adapter;
	EXPECT_BAD(D3DKMTEscape(&args), "API-BUFFER", "PrivateDriverDataSize");
	EXPECT_EQ(execution_state(device), ACTIVE);
}

/* ---- time ---- */

TEST(late, work_that_lets_itself_be_preempted_may_run_for_ever)
{
	SKIP_UNLESS_SEEDED();

	begin_on(BY_HAND);
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(submit(context, 1));
	EXPECT_OK(queue_signal(context, fence, 1));
	let_time_pass(30);
	EXPECT(notes_count("PreemptCommand") >= 5);
	EXPECT_EQ(execution_state(device), ACTIVE);
	EXPECT_EQ(notes_count("ResetEngine"), 0);
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 1);
	EXPECT_OK(wait_fence(fence, 1, 0));
}

TEST(late, work_that_does_not_is_reset_and_an_innocent_goes_on)
{
	SKIP_UNLESS_SEEDED();

	begin_on(BY_HAND_HOLDING);
	D3DKMT_HANDLE guilty = device;
	D3DKMT_HANDLE guilty_fence = create_fence(0, 0, NULL);

	EXPECT_OK(submit(create_virtual(0), 1));
	device = create_device(adapter);
	D3DKMT_HANDLE good = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	EXPECT_OK(submit(good, 2));
	EXPECT_OK(queue_signal(good, fence, 1));
	D3DKMT_HANDLE innocent = device;
	device = guilty;
	EXPECT_OK(wait_fence(guilty_fence, 1, 0)); /* nothing else moves: time does */
	EXPECT_EQ(execution_state(guilty), HUNG);
	device = innocent;
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 2);
	EXPECT_OK(wait_fence(fence, 1, 0));
	EXPECT_EQ(execution_state(innocent), ACTIVE);
	EXPECT(notes_in_order("PreemptCommand", "QueryCurrentFence"));
	EXPECT(notes_in_order("QueryCurrentFence", "ResetEngine"));
}

TEST(late, release_ends_when_the_work_was_reset)
{
	SKIP_UNLESS_SEEDED();

	begin_on(BY_HAND_HOLDING);
	D3DKMT_HANDLE context = create_virtual(0);

	EXPECT_OK(submit(context, 1));
	EXPECT_OK(destroy_context(context)); /* waits until it is found to hang */
	EXPECT_EQ(notes_count("ResetEngine"), 1);
	EXPECT(notes_in_order("ResetEngine", "DestroyContext"));
	EXPECT_OK(destroy_device(device));
}

TEST(late, work_with_no_timeout_may_run_as_long_as_it_likes)
{
	SKIP_UNLESS_SEEDED();

	D3DKMT_CREATEDEVICE args = { 0 };

	begin_on(BY_HAND_HOLDING);
	D3DKMT_HANDLE timed = device;
	args.hAdapter = adapter;
	args.Flags.DisableGpuTimeout = 1;
	EXPECT_OK(D3DKMTCreateDevice(&args));
	EXPECT_OK(submit(create_virtual_on(args.hDevice, 0), 1));
	/* On another node something hangs, so time passes. */
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	EXPECT_OK(submit(create_virtual(1), 2));
	EXPECT_OK(wait_fence(fence, 1, 0));
	EXPECT_EQ(execution_state(timed), HUNG);
	EXPECT_EQ(execution_state(args.hDevice), ACTIVE);
	EXPECT_EQ(complete(0), 1);
	EXPECT_OK(destroy_device(args.hDevice));
}

/* A paging packet that hangs is nobody's in particular: the adapter is reset. */
TEST(late, paging_resets_the_adapter_and_a_new_device_pages)
{
	SKIP_UNLESS_SEEDED();

	begin_on(BY_HAND_HOLDING);
	struct recorder_escape hold = { .command = RECORDER_HOLD_PAGING, .flags = 1 };
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = device };
	D3DKMT_HANDLE allocation;
	D3DDDI_MAKERESIDENT resident = { .NumAllocations = 1, .AllocationList = &allocation };

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	EXPECT_OK(try_allocation(device, &allocation));
	resident.hPagingQueue = queue.hPagingQueue;
	(void)crank(&hold);
	EXPECT_EQ(D3DKMTMakeResident(&resident), STATUS_PENDING);
	AWAIT(pending(3) == 1);
	/* It is answered when it is found to hang. */
	(void)wait_fence(queue.hSyncObject, resident.PagingFenceValue, 0);
	AWAIT(execution_state(device) == RESET);
	AWAIT(notes_count("RestartFromTimeout") == 1);
	EXPECT(notes_in_order("ResetEngine irql=0 node=3", "ResetFromTimeout"));
	hold.flags = 0;
	(void)crank(&hold);
	while (pending(3) > 0)
		(void)complete(3);
	expect_new_device_works();
	EXPECT_OK(destroy_device(device));
}

/* ---- too much ---- */

TEST(too_many, adapter_resets_lose_the_adapter)
{
	begin_on(AT_ONCE);
	for (unsigned i = 0; i < 5; i++)
		EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_GPUTDR, 0));
	D3DKMT_HANDLE last = create_device(adapter);
	D3DKMT_HANDLE made;
	EXPECT_REFUSED(force(D3DKMT_TDRDBGCTRLTYPE_GPUTDR, 0), STATUS_DEVICE_REMOVED,
		       "API-ADAPTER-GONE", "");
	EXPECT_EQ(execution_state(last), D3DKMT_DEVICEEXECUTION_STOPPED);
	EXPECT_REFUSED(try_create_device(adapter, &made), STATUS_DEVICE_REMOVED, "API-ADAPTER-GONE",
		       "");
	EXPECT_OK(destroy_device(last));
	EXPECT_OK(destroy_device(device));
}

CRANK_TEST_MAIN("api/recovery", "\"TdrLimitCount\": 5, ")
