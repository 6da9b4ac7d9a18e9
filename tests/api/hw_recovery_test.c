/* SPDX-License-Identifier: MIT */
/*
 * hw_recovery_test.c - hardware queues whose work faults or hangs, resets, and lost devices.
 *
 * What takes time (TdrDelay) runs in simulated runs only.
 */
#include "api/hw_queue.h"

/* DXGK_PAGE_FAULT_FLAGS */
enum {
	WRITE = 0x1,
	FENCE_INVALID = 0x2,
	NEEDS_ADAPTER_RESET = 0x4,
	NEEDS_ENGINE_RESET = 0x8,
	CONTEXT_VALID = 0x40,
	PROCESS_VALID = 0x80,
};

static void fault(unsigned which, unsigned flags, UINT64 progress)
{
	struct recorder_escape escape = { .command = RECORDER_HW_FAULT,
					  .handle = which,
					  .flags = flags,
					  .wide_fence = progress,
					  .address = 0x12345678000,
					  .level = 2,
					  .error_code = 77 };

	EXPECT_EQ(crank(&escape), 1);
}

/* Two devices with a queue each on node 0: queue 0 is of `device`, queue 1 of the other one. */
struct pair {
	D3DKMT_HANDLE other;
	struct hw_queue guilty;
	struct hw_queue innocent;
};

static struct pair begin_pair(unsigned which)
{
	struct pair pair;

	begin_on(which);
	pair.other = create_device(adapter);
	pair.guilty = create_hw_queue(0);
	pair.innocent = create_hw_queue_on(pair.other, 0);
	return pair;
}

/* The end of a reset may still be under way, and hold things back. */
static void submit_both(const struct pair *pair)
{
	EXPECT_OK(hw_submit(pair->guilty, 1, 1));
	EXPECT_OK(hw_submit(pair->innocent, 1, 2));
	AWAIT(hw_pending(0) == 1 && hw_pending(1) == 1);
}

static void expect_innocent_goes_on(const struct pair *pair)
{
	EXPECT_EQ(execution_state(pair->other), ACTIVE);
	EXPECT_STR(hw_pending_tags(1), "2 ");
	EXPECT_EQ(hw_complete(1), 2);
	AWAIT(*pair->innocent.view == 1);
	EXPECT_OK(hw_submit(pair->innocent, 2, 3));
	AWAIT(hw_pending(1) == 1);
	EXPECT_EQ(hw_complete(1), 3);
}

/* ---- faults ---- */

TEST(fault, of_a_queue_is_told_with_address_and_takes_down_its_device_only)
{
	struct pair pair = begin_pair(HW_BY_HAND);

	submit_both(&pair);
	fault(0, WRITE | NEEDS_ENGINE_RESET, 0);
	AWAIT(execution_state(device) == PAGE_FAULT);
	D3DKMT_GETDEVICESTATE asked = { .hDevice = device,
					.StateType = D3DKMT_DEVICESTATE_PAGE_FAULT };
	EXPECT_OK(D3DKMTGetDeviceState(&asked));
	EXPECT_EQ(asked.PageFaultState.FaultedVirtualAddress, 0x12345678000);
	AWAIT(notes_count("ResumeHwEngine irql=0 node=0") == 1);
	EXPECT(notes_in_order("ResetHwEngine irql=0 node=0", "ResumeHwEngine irql=0 node=0"));
	EXPECT_EQ(notes_count("ResetFromTimeout"), 0);
	expect_innocent_goes_on(&pair);
	expect_nothing_wrong();
}

#define PAIR_TEST(suite, claim, ...)                                                               \
	TEST_MADE(pair, pair, (__VA_ARGS__), expect_innocent_goes_on(&pair), suite, claim)

PAIR_TEST(fault, that_names_a_context_takes_down_its_device, begin_pair(HW_BY_HAND))
{
	submit_both(pair);
	fault(0, CONTEXT_VALID | NEEDS_ENGINE_RESET | FENCE_INVALID, 0);
	AWAIT(execution_state(device) == PAGE_FAULT);
	AWAIT(notes_count("ResumeHwEngine") == 1);
}

/* Nobody is named: the reset says whose it was. */
PAIR_TEST(fault, that_names_only_a_process_takes_down_whom_the_reset_hits, begin_pair(HW_BY_HAND))
{
	submit_both(pair);
	fault(0, PROCESS_VALID | NEEDS_ENGINE_RESET | FENCE_INVALID, 0);
	AWAIT(execution_state(device) == PAGE_FAULT);
	AWAIT(notes_count("ResumeHwEngine") == 1);
}

TEST(fault, that_needs_it_resets_the_adapter)
{
	struct pair pair = begin_pair(HW_BY_HAND);

	submit_both(&pair);
	fault(0, NEEDS_ADAPTER_RESET, 0);
	AWAIT(execution_state(pair.other) == RESET);
	EXPECT_EQ(execution_state(device), PAGE_FAULT);
	AWAIT(notes_count("RestartFromTimeout") == 1);
	EXPECT_EQ(notes_count("ResetHwEngine"), 0);
	/* What can release, does, and waits for nothing. */
	EXPECT_OK(destroy_hw_queue(pair.guilty.queue));
	EXPECT_OK(destroy_hw_queue(pair.innocent.queue));
	expect_nothing_wrong();
}

/* ---- hangs ---- */

PAIR_TEST(hang, that_the_hardware_reports_takes_down_whom_the_reset_hits, begin_pair(HW_BY_HAND))
{
	submit_both(pair);
	interrupt(ENGINE_TIMEOUT, 0);
	AWAIT(execution_state(device) == HUNG);
	AWAIT(notes_count("ResumeHwEngine") == 1);
}

TEST(hang, takes_down_those_beside_it_when_the_driver_says_so)
{
	struct pair pair = begin_pair(HW_COLLATERAL);

	submit_both(&pair);
	interrupt(ENGINE_TIMEOUT, 0);
	AWAIT(execution_state(device) == HUNG);
	AWAIT(execution_state(pair.other) == RESET);
	AWAIT(notes_count("ResumeHwEngine") == 1);
	EXPECT_EQ(notes_count("ResetFromTimeout"), 0);
	EXPECT_OK(destroy_hw_queue(pair.guilty.queue));
	EXPECT_OK(destroy_hw_queue(pair.innocent.queue));
	expect_nothing_wrong();
}

TEST(hang, without_a_reset_of_hardware_engines_resets_the_adapter)
{
	struct pair pair = begin_pair(HW_NO_RESET);

	EXPECT_OK(hw_submit(pair.guilty, 1, 1));
	AWAIT(hw_pending(0) == 1);
	interrupt(ENGINE_TIMEOUT, 0);
	AWAIT(notes_count("RestartFromTimeout") == 1);
	/* The only one who had something there is to blame. */
	AWAIT(execution_state(device) == HUNG);
	AWAIT(execution_state(pair.other) == RESET);
	EXPECT_OK(destroy_hw_queue(pair.guilty.queue));
}

TEST(hang, whose_engine_cannot_be_resumed_resets_the_adapter)
{
	struct pair pair = begin_pair(HW_RESUME_FAILS);

	submit_both(&pair);
	interrupt(ENGINE_TIMEOUT, 0);
	AWAIT(notes_count("RestartFromTimeout") == 1);
	EXPECT(notes_in_order("ResumeHwEngine", "ResetFromTimeout"));
	EXPECT_EQ(execution_state(device), HUNG);
	AWAIT(execution_state(pair.other) != ACTIVE);
	EXPECT_OK(destroy_hw_queue(pair.guilty.queue));
	EXPECT_OK(destroy_hw_queue(pair.innocent.queue));
}

TEST(hang, that_two_resets_find_nobody_for_resets_the_adapter)
{
	begin_on(HW_HITS_NOBODY);
	struct hw_queue queue = create_hw_queue(0);

	EXPECT_OK(hw_submit(queue, 1, 1));
	AWAIT(hw_pending(0) == 1);
	interrupt(ENGINE_TIMEOUT, 0);
	AWAIT(notes_count("ResumeHwEngine") == 1);
	/* What is said of a hang before the reset is over is about what was before it. */
	EXPECT_OK(hw_submit(queue, 2, 2));
	AWAIT(hw_pending(0) == 2);
	EXPECT_EQ(execution_state(device), ACTIVE);
	interrupt(ENGINE_TIMEOUT, 0);
	AWAIT(notes_count("RestartFromTimeout") == 1);
	AWAIT(execution_state(device) == RESET);
	EXPECT_OK(destroy_hw_queue(queue.queue));
}

TEST(hang, that_is_none_is_not_reset)
{
	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);

	interrupt(ENGINE_TIMEOUT, 0);
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_ENGINETDR, 0));
	settle();
	EXPECT_EQ(notes_count("ResetHwEngine"), 0);
	EXPECT_EQ(execution_state(device), ACTIVE);
	EXPECT_OK(hw_submit(queue, 1, 1));
	AWAIT(hw_pending(0) == 1);
	EXPECT_EQ(hw_complete(0), 1);
}

PAIR_TEST(forced, engine_reset_takes_what_hardware_queues_have, begin_pair(HW_BY_HAND))
{
	submit_both(pair);
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_ENGINETDR, 0));
	EXPECT_EQ(notes_count("ResetHwEngine"), 1);
	AWAIT(execution_state(device) == HUNG);
}

TEST(late, work_is_reset_and_an_innocent_goes_on)
{
	SKIP_UNLESS_SEEDED();

	struct pair pair = begin_pair(HW_BY_HAND);

	submit_both(&pair);
	let_time_pass(1);
	EXPECT_EQ(execution_state(device), ACTIVE);
	let_time_pass(2);
	AWAIT(execution_state(device) == HUNG);
	AWAIT(notes_count("ResumeHwEngine") == 1);
	expect_innocent_goes_on(&pair);
}

TEST(late, is_a_queue_of_which_nothing_is_done_while_another_gets_along)
{
	SKIP_UNLESS_SEEDED();

	struct pair pair = begin_pair(HW_BY_HAND);

	EXPECT_OK(hw_submit(pair.guilty, 1, 1));
	for (unsigned i = 1; i <= 5; i++) {
		EXPECT_OK(hw_submit(pair.innocent, i, 2));
		AWAIT(hw_pending(1) == 1);
		let_time_pass(1);
		EXPECT_EQ(hw_complete(1), 2);
		AWAIT(*pair.innocent.view == i);
		if (i == 1)
			EXPECT_EQ(execution_state(device), ACTIVE);
	}
	AWAIT(execution_state(device) == HUNG);
	EXPECT_EQ(execution_state(pair.other), ACTIVE);
	EXPECT_EQ(notes_count("ResetHwEngine"), 1);
}

TEST(late, is_no_queue_of_which_something_is_done)
{
	SKIP_UNLESS_SEEDED();

	struct pair pair = begin_pair(HW_BY_HAND);

	for (unsigned i = 1; i <= 5; i++)
		EXPECT_OK(hw_submit(pair.guilty, i, 1));
	for (unsigned i = 1; i <= 5; i++) {
		let_time_pass(1);
		EXPECT_EQ(hw_complete(0), 1);
		AWAIT(*pair.guilty.view == i);
	}
	EXPECT_EQ(execution_state(device), ACTIVE);
	EXPECT_EQ(notes_count("ResetHwEngine"), 0);
}

/* The fence says it, and nobody was told: that is no hang. */
TEST(late, work_whose_interrupt_was_lost_is_found_done)
{
	SKIP_UNLESS_SEEDED();

	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);

	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(hw_signal(queue, fence, 1));
	EXPECT_EQ(hw_complete_to(0, 1, true), 1);
	let_time_pass(3);
	EXPECT_EQ(*view, 1);
	EXPECT_EQ(execution_state(device), ACTIVE);
	EXPECT_EQ(notes_count("ResetHwEngine"), 0);
}

TEST(late, work_of_a_queue_with_no_timeout_may_run_as_long_as_it_likes)
{
	SKIP_UNLESS_SEEDED();

	enum { DISABLE_GPU_TIMEOUT = 1 };
	struct hw_queue queue;

	begin_on(HW_BY_HAND);
	EXPECT_OK(try_hw_queue(create_hw_context(device, 0), DISABLE_GPU_TIMEOUT, &queue));
	EXPECT_OK(hw_submit(queue, 1, 1));
	let_time_pass(100);
	EXPECT_EQ(execution_state(device), ACTIVE);
	EXPECT_EQ(notes_count("ResetHwEngine"), 0);
	EXPECT_EQ(hw_complete(0), 1);
	EXPECT_OK(wait_fence(queue.fence, 1, 0));
}

TEST(late, release_ends_when_the_work_was_reset)
{
	SKIP_UNLESS_SEEDED();

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);

	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(destroy_hw_queue(queue.queue));
	EXPECT(notes_in_order("ResetHwEngine", "DestroyHwQueue"));
	expect_nothing_wrong();
}

/* ---- a driver that says no ---- */

TEST(refused, submission_loses_the_device)
{
	begin_on(HW_REFUSES);
	struct hw_queue queue = create_hw_queue(0);

	EXPECT_OK(hw_submit(queue, 1, 1));
	AWAIT(execution_state(device) == DMA_FAULT);
	EXPECT_EQ(hw_pending(0), 0);
	/* The hardware has nothing of it. */
	AWAIT(*queue.view == UINT64_MAX);
	EXPECT_REFUSED(hw_submit(queue, 2, 2), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	EXPECT_OK(destroy_hw_queue(queue.queue));
}

/* ---- lost devices ---- */

HW_TEST(lost, device_refuses_what_is_new_and_releases_everything, begin_on(HW_BY_HAND))
{
	D3DKMT_HANDLE made;
	struct hw_queue new_queue;

	D3DKMT_HANDLE context = create_hw_context(device, 0);
	struct hw_queue queue = create_hw_queue_in(context);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(mark_as_error(device));
	EXPECT_REFUSED(try_hw_context(device, 0, &made), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE",
		       "");
	EXPECT_REFUSED(try_hw_queue(context, 0, &new_queue), STATUS_DEVICE_REMOVED,
		       "API-DEVICE-GONE", "");
	EXPECT_REFUSED(hw_submit(queue, 1, 1), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	EXPECT_REFUSED(hw_signal(queue, fence, 1), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	EXPECT_REFUSED(hw_wait(queue, fence, 1), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	EXPECT_OK(destroy_hw_queue(queue.queue));
	EXPECT_OK(destroy_hw_context(context));
}

HW_TEST(lost, progress_goes_to_its_maximum_when_the_hardware_has_let_go, begin_on(HW_BY_HAND))
{
	struct hw_queue busy = create_hw_queue(0);
	struct hw_queue idle = create_hw_queue(1);
	int event = new_event();

	EXPECT_OK(hw_submit(busy, 1, 1));
	EXPECT_OK(hw_submit(busy, 2, 2));
	AWAIT(hw_pending(0) == 2);
	EXPECT_OK(wait_fence(busy.fence, 9, event));
	EXPECT_OK(mark_as_error(device));
	AWAIT(*idle.view == UINT64_MAX);
	settle();
	/* The hardware still works on it, and says so in the fence. */
	EXPECT_EQ(*busy.view, 0);
	EXPECT_EQ(hw_complete(0), 1);
	settle();
	EXPECT_EQ(*busy.view, 1);
	EXPECT_EQ(hw_complete(0), 2);
	AWAIT(*busy.view == UINT64_MAX);
	AWAIT(event_count(event) == 1);
	close(event);
}

TEST(lost, device_keeps_its_memory_until_the_hardware_has_let_go)
{
	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE allocation = make_allocation(device);

	EXPECT_OK(hw_submit(queue, 1, 1));
	AWAIT(hw_pending(0) == 1);
	EXPECT_OK(mark_as_error(device));
	expect_destroyed_behind_work(allocation);
}

HW_TEST(lost, process_ends_without_waiting_for_what_is_only_queued, begin_on(HW_BY_HAND))
{
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);

	EXPECT_OK(hw_wait(queue, never, 1));
	EXPECT_OK(hw_submit(queue, 1, 1));
	D3DKMTCloseDxCoreDevice();
	EXPECT_EQ(notes_count("SubmitCommandToHwQueue"), 0);
	EXPECT_EQ(notes_count("DestroyHwQueue"), 1);
	EXPECT(notes_in_order("DestroyHwQueue", "DestroyHwContext"));
	EXPECT(notes_in_order("DestroyHwContext", "DestroyDevice"));
}

int main(int argc, char **argv)
{
	return hw_main("api/hw_recovery", argc, argv);
}
