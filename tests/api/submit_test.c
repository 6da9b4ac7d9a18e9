/* SPDX-License-Identifier: MIT */
/*
 * submit_test.c - D3DKMTSubmitCommand: order, nodes, priorities, what is refused, and contexts and
 * devices that end with work queued.
 */
#include "api/crank.h"

/* ---- order ---- */

HAND_TEST(submit, of_one_context_runs_in_order)
{
	D3DKMT_HANDLE context = create_virtual(0);
	for (unsigned tag = 1; tag <= 5; tag++)
		EXPECT_OK(submit(context, tag));
	EXPECT_STR(pending_tags(0), "1 2 3 4 5 ");
	for (unsigned tag = 1; tag <= 5; tag++)
		EXPECT_EQ(complete(0), tag);
	EXPECT_OK(destroy_context(context));
}

TEST(submit, gives_the_driver_address_length_and_private_data)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(1);
	D3DKMT_SUBMITCOMMAND args = submission(context, 48);
	args.Commands = 0x123450000;
	args.Flags.NullRendering = 1;
	EXPECT_OK(D3DKMTSubmitCommand(&args));
	struct recorder_fetch fetch = fetched(RECORDER_SUBMIT_COMMAND_VIRTUAL);
	/* DXGKARG_SUBMITCOMMANDVIRTUAL: address at 8, size at 16 */
	uint64_t address;
	uint32_t size;
	memcpy(&address, fetch.argument + 8, sizeof(address));
	memcpy(&size, fetch.argument + 16, sizeof(size));
	EXPECT_EQ(address, 0x123450000);
	EXPECT_EQ(size, 48);
	EXPECT_EQ(notes_count("SubmitCommandVirtual irql=2 node=1"), 1);
	EXPECT_EQ(complete(1), 48);
}

TEST(submit, on_two_nodes_runs_at_the_same_time)
{
	begin_by_hand();
	D3DKMT_HANDLE one = create_virtual(0);
	D3DKMT_HANDLE other = create_virtual(1);
	EXPECT_OK(submit(one, 1));
	EXPECT_OK(submit(other, 2));
	EXPECT_STR(pending_tags(0), "1 ");
	EXPECT_STR(pending_tags(1), "2 ");
	EXPECT_EQ(complete(1), 2);
	EXPECT_EQ(complete(0), 1);
}

TEST(submit, of_two_contexts_of_one_node_needs_no_order_between_them)
{
	begin_by_hand();
	D3DKMT_HANDLE stuck = create_virtual(0);
	D3DKMT_HANDLE free = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	EXPECT_OK(queue_wait(stuck, fence, 1));
	EXPECT_OK(submit(stuck, 1));
	EXPECT_OK(submit(free, 2));
	EXPECT_STR(pending_tags(0), "2 ");
	EXPECT_EQ(complete(0), 2);
	EXPECT_OK(signal_fence(fence, 1));
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 1);
}

HAND_TEST(submit, keeps_what_the_hardware_has_within_bounds)
{
	enum { MANY = 100 };

	D3DKMT_HANDLE context = create_virtual(0);
	for (unsigned tag = 1; tag <= MANY; tag++)
		EXPECT_OK(submit(context, tag));
	unsigned most = pending(0);
	EXPECT(most > 1 && most < 64);
	for (unsigned tag = 1; tag <= MANY; tag++) {
		AWAIT(pending(0) > 0);
		EXPECT(pending(0) <= most);
		EXPECT_EQ(complete(0), tag);
	}
}

TEST(submit, to_several_contexts_is_done_by_each)
{
	begin_by_hand();
	D3DKMT_SUBMITCOMMAND args = submission(create_virtual(0), 7);
	args.BroadcastContext[1] = create_virtual(1);
	args.BroadcastContextCount = 2;
	EXPECT_OK(D3DKMTSubmitCommand(&args));
	EXPECT_STR(pending_tags(0), "7 ");
	EXPECT_STR(pending_tags(1), "7 ");
	complete_all(0, 1);
	complete_all(1, 1);
}

/* ---- what never runs ---- */

/* DxgkDdiCancelCommand: packets that were still in the software queue when the device was lost. */
HAND_TEST(ending, of_a_device_tells_the_driver_what_will_never_run)
{
	uint64_t address;

	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_SUBMITCOMMAND last = submission(context, 3);
	EXPECT_OK(submit(context, 1));
	EXPECT_OK(queue_wait(context, create_fence(0, 0, NULL), 1));
	EXPECT_OK(submit(context, 2));
	last.Commands = 0x123450000;
	EXPECT_OK(D3DKMTSubmitCommand(&last));
	EXPECT_OK(mark_as_error(device));
	EXPECT_EQ(complete(0), 1);
	AWAIT(notes_count("CancelCommand") == 2);
	struct recorder_fetch fetch = fetched(RECORDER_CANCEL_COMMAND);
	memcpy(&address, fetch.argument + 96, sizeof(address)); /* DmaBufferVirtualAddress */
	EXPECT_EQ(address, 0x123450000);
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(notes_count("CancelCommand"), 2);
	EXPECT(notes_in_order("CancelCommand", "DestroyContext"));
}

TEST(ending, of_a_context_tells_the_driver_before_it_is_gone)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	EXPECT_OK(queue_wait(context, create_fence(0, 0, NULL), 1));
	EXPECT_OK(submit(context, 2));
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(notes_count("CancelCommand"), 1);
	EXPECT(notes_in_order("CancelCommand", "DestroyContext"));
}

/* ---- primaries ---- */

static void unmake_resident(D3DKMT_HANDLE primary)
{
	EXPECT_OK(D3DKMTEvict(&(D3DKMT_EVICT){
		.hDevice = device, .NumAllocations = 1, .AllocationList = &primary }));
}

/* D3DKMT_SUBMITCOMMAND.WrittenPrimaries; residency-overview: otherwise the reference is rejected. */
TEST(submit, writes_only_primaries_that_are_on_the_residency_list)
{
	begin_by_hand();
	D3DKMT_SUBMITCOMMAND args = submission(create_virtual(0), 7);
	D3DKMT_HANDLE primary = create_plain();
	args.NumPrimaries = 1;
	args.WrittenPrimaries[0] = primary;
	EXPECT_BAD(D3DKMTSubmitCommand(&args), "MM-LIST-RESIDENT", "WrittenPrimaries");
	EXPECT_EQ(pending(0), 0);
	make_resident(primary);
	EXPECT_OK(D3DKMTSubmitCommand(&args));
	EXPECT_EQ(complete(0), 7);
	unmake_resident(primary);
	EXPECT_BAD(D3DKMTSubmitCommand(&args), "MM-LIST-RESIDENT", "WrittenPrimaries");
}

/* ---- refusals ---- */

static NTSTATUS submit_args(D3DKMT_SUBMITCOMMAND args)
{
	return D3DKMTSubmitCommand(&args);
}

TEST(submit, refuses_what_its_page_does_not_allow)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_SUBMITCOMMAND args = submission(context, 8);

	EXPECT_BAD(D3DKMTSubmitCommand(NULL), "API-NULL-ARGUMENT", "");
	args.BroadcastContextCount = 0;
	EXPECT_BAD(submit_args(args), "API-COUNT", "BroadcastContextCount");
	args.BroadcastContextCount = 65;
	EXPECT_BAD(submit_args(args), "API-COUNT", "BroadcastContextCount");
	args = submission(context, 0);
	EXPECT_BAD(submit_args(args), "API-VALUE", "CommandLength");
	args = submission(0, 8);
	EXPECT_BAD_HANDLE(submit_args(args), "BroadcastContext");
	args = submission(device, 8);
	EXPECT_BAD(submit_args(args), "API-HANDLE-KIND", "BroadcastContext");
	args = submission(context, 8);
	args.Flags.Reserved = 1;
	EXPECT_BAD(submit_args(args), "API-RESERVED", "Flags");
	args.Flags.Reserved = 0;
	args.Flags.NoKmdAccess = 1;
	EXPECT_BAD(submit_args(args), "API-RESERVED", "Flags");
	args.Flags.NoKmdAccess = 0;
	args.Flags.PresentRedirected = 1;
	EXPECT_BAD(submit_args(args), "API-VALUE", "Flags");
	args = submission(context, 8);
	args.NumPrimaries = 17;
	EXPECT_BAD(submit_args(args), "API-COUNT", "NumPrimaries");
	args.NumPrimaries = 1;
	args.WrittenPrimaries[0] = context;
	EXPECT_BAD_HANDLE(submit_args(args), "WrittenPrimaries");
	args = submission(context, 8);
	args.NumHistoryBuffers = 1;
	EXPECT_BAD(submit_args(args), "API-RESERVED", "NumHistoryBuffers");
	EXPECT_EQ(pending(0), 0);
}

TEST(submit, takes_only_virtual_contexts_of_one_device)
{
	begin_by_hand();
	D3DKMT_SUBMITCOMMAND args = submission(create_virtual(0), 8);
	D3DKMT_HANDLE second = create_device(adapter);

	args.BroadcastContextCount = 2;
	args.BroadcastContext[1] = create_virtual_on(second, 0);
	EXPECT_BAD_HANDLE(submit_args(args), "BroadcastContext");
	args.BroadcastContext[1] = create_context(device);
	EXPECT_BAD(submit_args(args), "API-VALUE", "BroadcastContext");
	EXPECT_EQ(pending(0), 0); /* none of them */
}

TEST(submit, takes_no_more_private_data_than_the_driver_asked_for)
{
	static unsigned char data[4096];

	begin_by_hand();
	D3DKMT_SUBMITCOMMAND args = submission(create_virtual(0), 8);
	args.pPrivateDriverData = data;
	args.PrivateDriverDataSize = sizeof(data);
	EXPECT_BAD(submit_args(args), "API-VALUE", "PrivateDriverDataSize");
	args.pPrivateDriverData = NULL;
	EXPECT_BAD(submit_args(args), "API-NULL-ARGUMENT", "pPrivateDriverData");
}

TEST(submit, without_memory_queues_nothing)
{
	begin_by_hand();
	D3DKMT_SUBMITCOMMAND args = submission(create_virtual(0), 7);
	args.BroadcastContext[1] = create_virtual(1);
	args.BroadcastContextCount = 2;
	for (unsigned n = 1;; n++) {
		dxgk_test_fail_nth_allocation(n);
		NTSTATUS status = D3DKMTSubmitCommand(&args);
		if (!dxgk_test_fail_stop()) {
			EXPECT_OK(status);
			break;
		}
		EXPECT_EQ(status, STATUS_NO_MEMORY);
		EXPECT_EQ(pending(0) + pending(1), 0);
	}
	complete_all(0, 1);
	complete_all(1, 1);
}

/* ---- priorities ---- */

static int get_priority(D3DKMT_HANDLE context)
{
	D3DKMT_GETCONTEXTSCHEDULINGPRIORITY args = { .hContext = context, .Priority = 99 };

	EXPECT_OK(D3DKMTGetContextSchedulingPriority(&args));
	return args.Priority;
}

static NTSTATUS set_in_process(D3DKMT_HANDLE context, int priority)
{
	return D3DKMTSetContextInProcessSchedulingPriority(
		&(D3DKMT_SETCONTEXTINPROCESSSCHEDULINGPRIORITY){ context, priority });
}

TEST(priority, is_minus_seven_to_seven_and_what_was_set)
{
	D3DKMT_GETCONTEXTINPROCESSSCHEDULINGPRIORITY get = { .Priority = 99 };

	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	EXPECT_EQ(get_priority(context), 0);
	for (int priority = -7; priority <= 7; priority++) {
		EXPECT_OK(set_priority(context, priority));
		EXPECT_EQ(get_priority(context), priority);
	}
	EXPECT_BAD(set_priority(context, 8), "API-VALUE", "Priority");
	EXPECT_BAD(set_priority(context, -8), "API-VALUE", "Priority");
	EXPECT_EQ(get_priority(context), 7);
	EXPECT_OK(set_in_process(context, 1));
	EXPECT_BAD(set_in_process(context, 2), "API-VALUE", "Priority");
	EXPECT_BAD(set_in_process(context, -1), "API-VALUE", "Priority");
	get.hContext = context;
	EXPECT_OK(D3DKMTGetContextInProcessSchedulingPriority(&get));
	EXPECT_EQ(get.Priority, 1);
	EXPECT_BAD_HANDLE(set_priority(0, 0), "hContext");
}

/* Both are ready when the gate opens, and neither is with the hardware; `first` is queued first. */
static void expect_to_overtake(D3DKMT_HANDLE first, D3DKMT_HANDLE second)
{
	D3DKMT_HANDLE full = create_virtual(0);
	unsigned order[2] = { 0, 0 };
	unsigned filled = 0;

	EXPECT_OK(set_priority(full, 7)); /* nobody preempts it */
	do {
		EXPECT_OK(submit(full, 100));
		filled++;
	} while (pending(0) == filled);
	EXPECT_OK(submit(first, 1));
	EXPECT_OK(submit(second, 2));
	for (unsigned seen = 0, ended = 0; seen < 2; ended++) {
		EXPECT(ended < filled + 2);
		AWAIT(pending(0) > 0);
		unsigned tag = complete(0);
		if (tag != 100)
			order[seen++] = tag;
	}
	EXPECT_EQ(order[0], 2);
	EXPECT_EQ(order[1], 1);
}

TEST(priority, decides_who_is_submitted_first)
{
	begin_by_hand();
	D3DKMT_HANDLE low = create_virtual(0);
	D3DKMT_HANDLE high = create_virtual(0);

	EXPECT_OK(set_priority(low, -3));
	EXPECT_OK(set_priority(high, 3));
	expect_to_overtake(low, high);
}

TEST(priority, within_a_process_decides_among_equals)
{
	begin_by_hand();
	D3DKMT_HANDLE equal = create_virtual(0);
	D3DKMT_HANDLE ahead = create_virtual(0);

	EXPECT_OK(set_in_process(ahead, 1));
	expect_to_overtake(equal, ahead);
}

TEST(priority, of_a_newcomer_preempts_what_runs_and_it_comes_again)
{
	begin_by_hand();
	D3DKMT_HANDLE low = create_virtual(0);
	D3DKMT_HANDLE high = create_virtual(0);

	EXPECT_OK(set_priority(high, 5));
	EXPECT_OK(submit(low, 1));
	EXPECT_OK(submit(high, 2));
	AWAIT(strcmp(pending_tags(0), "2 1 ") == 0);
	EXPECT_EQ(notes_count("PreemptCommand irql=2 node=0"), 1);
	EXPECT_EQ(complete(0), 2);
	EXPECT_EQ(complete(0), 1);
}

/* ---- contexts and devices that end ---- */

struct ending {
	D3DKMT_HANDLE handle;
	NTSTATUS status;
};

static void end_context(void *argument)
{
	struct ending *ending = argument;

	ending->status = destroy_context(ending->handle);
	mark("context ended");
}

static void end_device(void *argument)
{
	struct ending *ending = argument;

	ending->status = destroy_device(ending->handle);
	mark("device ended");
}

HAND_TEST(ending, of_a_context_waits_for_what_the_hardware_has)
{
	struct ending ending = { .handle = create_virtual(0) };
	EXPECT_OK(submit(ending.handle, 1));
	EXPECT_OK(submit(ending.handle, 2));
	struct dxgk_test_thread *thread = begin_thread(end_context, &ending);
	for (unsigned i = 0; i < 50; i++)
		let_others();
	complete_all(0, 2);
	dxgk_test_thread_join(thread);
	EXPECT_OK(ending.status);
	EXPECT(notes_in_order("completing", "DestroyContext"));
}

HAND_TEST(ending, of_a_context_runs_what_is_in_front_of_a_wait_and_cancels_the_rest)
{
	struct ending ending = { .handle = create_virtual(0) };
	const volatile UINT64 *view;
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);
	D3DKMT_HANDLE said = create_fence(0, 0, &view);
	EXPECT_OK(submit(ending.handle, 1));
	EXPECT_OK(queue_signal(ending.handle, said, 1));
	EXPECT_OK(queue_wait(ending.handle, never, 1));
	EXPECT_OK(submit(ending.handle, 2));
	EXPECT_OK(queue_signal(ending.handle, said, 2));
	struct dxgk_test_thread *thread = begin_thread(end_context, &ending);
	complete_all(0, 1);
	dxgk_test_thread_join(thread);
	EXPECT_OK(ending.status);
	EXPECT_EQ(*view, 1);
	EXPECT_OK(signal_fence(never, 1));
	EXPECT_EQ(pending(0), 0);
	EXPECT_EQ(*view, 1);
}

TEST(ending, of_a_context_does_not_hang_on_a_wait_that_never_comes)
{
	begin_by_hand();
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);
	EXPECT_OK(queue_wait(context, never, 1));
	for (unsigned tag = 1; tag <= 20; tag++)
		EXPECT_OK(submit(context, tag));
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(submissions(), 0);
	EXPECT_OK(destroy_device(device));
}

struct broadcast {
	D3DKMT_HANDLE first;
	D3DKMT_HANDLE second;
	NTSTATUS status;
};

static void submit_to_both(void *argument)
{
	struct broadcast *broadcast = argument;
	D3DKMT_SUBMITCOMMAND args = submission(broadcast->first, 1000);

	args.BroadcastContext[1] = broadcast->second;
	args.BroadcastContextCount = 2;
	broadcast->status = D3DKMTSubmitCommand(&args);
	mark("submitted to both");
}

/* The second has no room, and ends while it is waited for. */
HAND_TEST(ending, of_one_context_keeps_what_is_for_several_from_all_of_them)
{
	enum { FULL = 256 };

	struct broadcast broadcast = { .first = create_virtual(0), .second = create_virtual(1) };
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);
	EXPECT_OK(queue_wait(broadcast.second, never, 1));
	for (unsigned tag = 1; tag < FULL; tag++)
		EXPECT_OK(submit(broadcast.second, tag));
	struct dxgk_test_thread *thread = begin_thread(submit_to_both, &broadcast);
	settle();
	EXPECT_EQ(notes_count("submitted to both"), 0);
	EXPECT_EQ(pending(0), 0);
	EXPECT_OK(destroy_context(broadcast.second));
	dxgk_test_thread_join(thread);
	EXPECT_EQ(broadcast.status, STATUS_INVALID_PARAMETER);
	settle();
	EXPECT_EQ(pending(0), 0);
	EXPECT_OK(submit(broadcast.first, 1));
	complete_all(0, 1);
	EXPECT_EQ(submissions(), 1);
}

HAND_TEST(ending, of_a_device_cancels_what_is_queued_and_waits_for_the_hardware)
{
	struct ending ending = { .handle = device };
	D3DKMT_HANDLE context = create_virtual(0);
	enum { MANY = 60 };
	for (unsigned tag = 1; tag <= MANY; tag++)
		EXPECT_OK(submit(context, tag));
	unsigned had = pending(0);
	struct dxgk_test_thread *thread = begin_thread(end_device, &ending);
	D3DKMT_GETCONTEXTSCHEDULINGPRIORITY ask = { .hContext = context };
	AWAIT(D3DKMTGetContextSchedulingPriority(&ask) != STATUS_SUCCESS); /* its handle ended */
	while (pending(0) > 0)
		(void)complete(0);
	dxgk_test_thread_join(thread);
	EXPECT_OK(ending.status);
	EXPECT(submissions() >= had);
	/* Completed, or preempted when simulated time passed: the hardware has said so. */
	EXPECT(notes_in_order("DpcRoutine", "DestroyContext"));
	/* Who asked for its priority may be the last to let go of it. */
	AWAIT(notes_count("DestroyDevice") == 1);
	EXPECT(notes_in_order("DestroyContext", "DestroyDevice"));
}

HAND_TEST(ending, of_a_process_with_a_wait_that_never_comes_takes_everything_along)
{
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);
	for (unsigned node = 0; node < 2; node++) {
		D3DKMT_HANDLE context = create_virtual(node);
		EXPECT_OK(queue_wait(context, never, 1));
		EXPECT_OK(submit(context, 1));
		EXPECT_OK(queue_signal(context, never, 1));
	}
	D3DKMTCloseDxCoreDevice();
	EXPECT_EQ(notes_count("DestroyContext"), 2);
	EXPECT_EQ(submissions(), 0);
}

/* ---- a full queue ---- */

enum { FULL = 256 };

static D3DKMT_HANDLE full_context;
static NTSTATUS full_status;
static struct dxgk_refusal full_refusal;

static void submit_more(void *argument)
{
	(void)argument;
	full_status = submit(full_context, 3);
	full_refusal = last_refusal();
	mark("submitted more");
}

static void fill(D3DKMT_HANDLE never)
{
	full_context = create_virtual(0);
	full_status = 1;
	EXPECT_OK(queue_wait(full_context, never, 1));
	for (unsigned i = 1; i < FULL; i++)
		EXPECT_OK(submit(full_context, 3));
}

/* A queue that is full behind `fence`, and a thread that would submit more. */
static struct dxgk_test_thread *begin_full(D3DKMT_HANDLE *fence_out)
{
	begin_by_hand();
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	fill(fence);
	struct dxgk_test_thread *thread = begin_thread(submit_more, NULL);
	for (unsigned i = 0; i < 50; i++)
		let_others();
	if (fence_out)
		*fence_out = fence;
	return thread;
}

TEST(full, queue_makes_its_client_wait_for_room)
{
	D3DKMT_HANDLE fence;
	struct dxgk_test_thread *thread = begin_full(&fence);

	EXPECT_EQ(notes_count("submitted more"), 0);
	mark("room");
	EXPECT_OK(signal_fence(fence, 1));
	complete_all(0, FULL);
	dxgk_test_thread_join(thread);
	EXPECT_OK(full_status);
	EXPECT(notes_in_order("room", "submitted more"));
}

TEST(full, queue_that_is_destroyed_lets_its_client_go)
{
	struct dxgk_test_thread *thread = begin_full(NULL);

	EXPECT_OK(destroy_context(full_context));
	dxgk_test_thread_join(thread);
	EXPECT_EQ(full_status, STATUS_INVALID_PARAMETER);
	EXPECT_STR(full_refusal.rule, "API-HANDLE");
	/* It may have come too late to find the context, but none of its fields is this one. */
	EXPECT(strcmp(full_refusal.argument, "hContext") != 0);
	EXPECT_OK(destroy_device(device));
}

TEST(full, queue_of_a_device_that_is_destroyed_lets_its_client_go)
{
	struct dxgk_test_thread *thread = begin_full(NULL);

	EXPECT_OK(destroy_device(device));
	dxgk_test_thread_join(thread);
	EXPECT(full_status == STATUS_INVALID_PARAMETER || full_status == STATUS_DEVICE_REMOVED);
}

TEST(full, queue_of_a_process_that_ends_lets_its_client_go)
{
	struct dxgk_test_thread *thread = begin_full(NULL);

	D3DKMTCloseDxCoreDevice();
	dxgk_test_thread_join(thread);
	/* Or it came only after the end, and has a handle of the process before. */
	EXPECT(full_status == STATUS_PROCESS_IS_TERMINATING ||
	       full_status == STATUS_INVALID_PARAMETER);
}

CRANK_TEST_MAIN("api/submit", "")
