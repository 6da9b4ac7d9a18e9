/* SPDX-License-Identifier: MIT */
/*
 * hw_queue_order_test.c - waits and signals in hardware queues, threads that share them, and queues
 * that end with work under way.
 */
#include <stdatomic.h>

#include "api/hw_queue.h"

/* ---- signals and waits ---- */

TEST(signal, acts_when_what_is_in_front_of_it_is_done)
{
	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	EXPECT_OK(hw_signal(queue, fence, 1));
	EXPECT_EQ(*view, 1);
	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(hw_signal(queue, fence, 2));
	EXPECT_OK(hw_submit(queue, 2, 2));
	/* It holds nothing back. */
	EXPECT_STR(hw_pending_tags(0), "1 2 ");
	EXPECT_EQ(*view, 1);
	EXPECT_EQ(hw_complete(0), 1);
	AWAIT(*view == 2);
	EXPECT_EQ(hw_complete(0), 2);
}

TEST(signal, at_submission_acts_when_the_hardware_has_what_is_in_front)
{
	enum { SIGNAL_AT_SUBMISSION = 1 };
	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(hw_signal_flags(queue, fence, 1, SIGNAL_AT_SUBMISSION));
	AWAIT(*view == 1);
	EXPECT_EQ(*queue.view, 0);
	EXPECT_EQ(hw_complete(0), 1);
}

TEST(signal, with_allow_fence_rewind_goes_backwards)
{
	enum { ALLOW_FENCE_REWIND = 4 };
	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE fence = create_fence(9, 0, &view);
	EXPECT_OK(hw_signal(queue, fence, 5));
	EXPECT_EQ(*view, 9);
	EXPECT_OK(hw_signal_flags(queue, fence, 5, ALLOW_FENCE_REWIND));
	EXPECT_EQ(*view, 5);
}

TEST(signal, in_several_queues_acts_when_all_have_come_to_it)
{
	const volatile UINT64 *view;
	UINT64 value = 1;

	begin_on(HW_BY_HAND);
	struct hw_queue queues[2] = { create_hw_queue(0), create_hw_queue(1) };
	D3DKMT_HANDLE handles[2] = { queues[0].queue, queues[1].queue };
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE args = { .BroadcastHwQueueCount = 2,
							 .BroadcastHwQueueArray = handles,
							 .ObjectCount = 1,
							 .ObjectHandleArray = &fence,
							 .FenceValueArray = &value };

	EXPECT_OK(hw_submit(queues[0], 1, 1));
	EXPECT_OK(hw_submit(queues[1], 1, 2));
	EXPECT_OK(D3DKMTSubmitSignalSyncObjectsToHwQueue(&args));
	EXPECT_EQ(hw_complete(1), 2);
	settle();
	EXPECT_EQ(*view, 0);
	EXPECT_EQ(hw_complete(0), 1);
	AWAIT(*view == 1);
}

TEST(wait, holds_what_is_behind_it_and_nothing_else)
{
	begin_on(HW_BY_HAND);
	struct hw_queue stuck = create_hw_queue(0);
	struct hw_queue free = create_hw_queue(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(hw_submit(stuck, 1, 1));
	EXPECT_OK(hw_wait(stuck, fence, 1));
	EXPECT_OK(hw_submit(stuck, 2, 2));
	EXPECT_OK(hw_submit(free, 1, 3));
	EXPECT_STR(hw_pending_tags(0), "1 ");
	EXPECT_STR(hw_pending_tags(1), "3 ");
	EXPECT_EQ(hw_complete(0), 1);
	settle();
	EXPECT_EQ(hw_pending(0), 0);
	EXPECT_OK(signal_fence(fence, 1));
	AWAIT(hw_pending(0) == 1);
	EXPECT_EQ(hw_complete(0), 2);
	EXPECT_EQ(hw_complete(1), 3);
}

TEST(wait, for_the_progress_of_another_queue_is_legal)
{
	begin_on(HW_BY_HAND);
	struct hw_queue first = create_hw_queue(0);
	struct hw_queue second = create_hw_queue(1);

	EXPECT_OK(hw_submit(first, 1, 1));
	EXPECT_OK(hw_wait(second, first.fence, 1));
	EXPECT_OK(hw_submit(second, 1, 2));
	EXPECT_EQ(hw_pending(1), 0);
	EXPECT_EQ(hw_complete(0), 1);
	AWAIT(hw_pending(1) == 1);
	EXPECT_EQ(hw_complete(1), 2);
}

TEST(wait, orders_hardware_queues_and_contexts)
{
	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE context = create_virtual(1);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(queue_wait(context, queue.fence, 1));
	EXPECT_OK(submit(context, 1));
	EXPECT_OK(queue_signal(context, fence, 1));
	EXPECT_OK(hw_submit(queue, 1, 2));
	EXPECT_OK(hw_wait(queue, fence, 1));
	EXPECT_OK(hw_submit(queue, 2, 3));
	EXPECT_EQ(pending(1), 0);
	EXPECT_EQ(hw_complete(0), 2);
	AWAIT(pending(1) == 1);
	EXPECT_EQ(hw_pending(0), 0);
	EXPECT_EQ(complete(1), 1);
	AWAIT(hw_pending(0) == 1);
	EXPECT_EQ(hw_complete(0), 3);
}

TEST(wait, and_signal_refuse_what_their_pages_do_not_allow)
{
	enum { ENQUEUE_CPU_EVENT = 2 };
	UINT64 value = 1;

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	struct hw_queue foreign = create_hw_queue_on(create_device(adapter), 0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	D3DKMT_HANDLE mutex = create_kind(D3DDDI_SYNCHRONIZATION_MUTEX, 0);
	D3DKMT_HANDLE both[2] = { queue.queue, foreign.queue };
	D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE signal = { .BroadcastHwQueueCount = 1,
							   .BroadcastHwQueueArray = &queue.queue,
							   .ObjectCount = 1,
							   .ObjectHandleArray = &fence,
							   .FenceValueArray = &value };
	D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE bad;
	D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE wait = { .hHwQueue = queue.queue,
							  .ObjectHandleArray = &fence,
							  .FenceValueArray = &value };

	EXPECT_BAD(D3DKMTSubmitSignalSyncObjectsToHwQueue(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD(D3DKMTSubmitWaitForSyncObjectsToHwQueue(NULL), "API-NULL-ARGUMENT", "");
	/* only monitored fences */
	EXPECT_BAD(hw_signal(queue, mutex, 1), "API-SYNC-KIND", "ObjectHandleArray");
	EXPECT_BAD(hw_wait(queue, mutex, 1), "API-SYNC-KIND", "ObjectHandleArray");
	EXPECT_BAD_HANDLE(hw_wait(queue, 0, 1), "ObjectHandleArray");
	EXPECT_BAD_HANDLE(hw_wait((struct hw_queue){ 0 }, fence, 1), "hHwQueue");
	EXPECT_BAD(hw_wait((struct hw_queue){ device, 0, NULL }, fence, 1), "API-HANDLE-KIND",
		   "hHwQueue");
	EXPECT_BAD_HANDLE(hw_signal((struct hw_queue){ 0 }, fence, 1), "BroadcastHwQueueArray");
	EXPECT_BAD(D3DKMTSubmitWaitForSyncObjectsToHwQueue(&wait), "API-COUNT", "ObjectCount");
	bad = signal;
	bad.BroadcastHwQueueCount = 0;
	EXPECT_BAD(D3DKMTSubmitSignalSyncObjectsToHwQueue(&bad), "API-COUNT",
		   "BroadcastHwQueueCount");
	bad.BroadcastHwQueueCount = 65;
	EXPECT(D3DKMTSubmitSignalSyncObjectsToHwQueue(&bad) == STATUS_INVALID_PARAMETER);
	bad = signal;
	bad.ObjectCount = 0;
	EXPECT_BAD(D3DKMTSubmitSignalSyncObjectsToHwQueue(&bad), "API-COUNT", "ObjectCount");
	bad = signal;
	bad.FenceValueArray = NULL;
	EXPECT(D3DKMTSubmitSignalSyncObjectsToHwQueue(&bad) == STATUS_INVALID_PARAMETER);
	bad = signal;
	bad.BroadcastHwQueueCount = 2;
	bad.BroadcastHwQueueArray = both;
	EXPECT_BAD_HANDLE(D3DKMTSubmitSignalSyncObjectsToHwQueue(&bad), "BroadcastHwQueueArray");
	EXPECT_BAD(hw_signal_flags(queue, fence, 1, ENQUEUE_CPU_EVENT), "API-VALUE", "Flags");
	EXPECT_BAD(hw_signal_flags(queue, fence, 1, 8), "API-RESERVED", "Flags");
	EXPECT_BAD_HANDLE(hw_signal(foreign, fence, 1), "ObjectHandleArray");
	/* None of them did anything. */
	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_EQ(hw_complete(0), 1);
	EXPECT_OK(signal_fence(fence, 1));
}

/* ---- in the context that queues are of: before what they are given later, behind what they have ---- */

static D3DKMT_HANDLE create_context_of_queues(void)
{
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = device, .Flags.HwQueueSupported = 1 };

	EXPECT_OK(D3DKMTCreateContextVirtual(&args));
	return args.hContext;
}

TEST(context, a_wait_in_it_holds_what_its_queues_are_given_later)
{
	begin_on(HW_BY_HAND);
	D3DKMT_HANDLE context = create_context_of_queues();
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	struct hw_queue one = create_hw_queue_in(context);
	struct hw_queue other = create_hw_queue_in(context);
	struct hw_queue foreign = create_hw_queue(0);

	EXPECT_OK(hw_submit(one, 1, 1));
	EXPECT_OK(queue_wait(context, fence, 1));
	EXPECT_OK(hw_submit(one, 2, 2));
	EXPECT_OK(hw_submit(one, 3, 3));
	EXPECT_OK(hw_submit(other, 1, 4));
	EXPECT_OK(hw_submit(foreign, 1, 5));
	struct hw_queue late = create_hw_queue_in(context);
	EXPECT_OK(hw_submit(late, 1, 6));
	EXPECT_STR(hw_pending_tags(0), "1 ");
	EXPECT_STR(hw_pending_tags(2), "5 ");
	EXPECT_EQ(hw_complete(0), 1);
	settle();
	EXPECT_EQ(hw_pending(0) + hw_pending(1) + hw_pending(3), 0);
	EXPECT_OK(signal_fence(fence, 1));
	AWAIT(hw_pending(0) == 2 && hw_pending(1) == 1 && hw_pending(3) == 1);
	EXPECT_STR(hw_pending_tags(0), "2 3 ");
	EXPECT_EQ(hw_complete(0), 2);
	EXPECT_EQ(hw_complete(0), 3);
	EXPECT_EQ(hw_complete(1), 4);
	EXPECT_EQ(hw_complete(2), 5);
	EXPECT_EQ(hw_complete(3), 6);
	expect_nothing_wrong();
	expect_valid();
}

TEST(context, waits_in_it_are_over_one_after_the_other)
{
	begin_on(HW_BY_HAND);
	D3DKMT_HANDLE context = create_context_of_queues();
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	struct hw_queue queue = create_hw_queue_in(context);

	EXPECT_OK(queue_wait(context, fence, 1));
	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(queue_wait(context, fence, 2));
	EXPECT_OK(hw_submit(queue, 2, 2));
	EXPECT_EQ(hw_pending(0), 0);
	EXPECT_OK(signal_fence(fence, 1));
	AWAIT(hw_pending(0) == 1);
	settle();
	EXPECT_EQ(hw_complete(0), 1);
	settle();
	EXPECT_EQ(hw_pending(0), 0);
	EXPECT_OK(signal_fence(fence, 2));
	AWAIT(hw_pending(0) == 1);
	EXPECT_EQ(hw_complete(0), 2);
}

TEST(context, a_signal_in_it_acts_when_what_its_queues_have_is_done)
{
	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	D3DKMT_HANDLE context = create_context_of_queues();
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	EXPECT_OK(queue_signal(context, fence, 1)); /* there are none */
	EXPECT_EQ(*view, 1);
	struct hw_queue one = create_hw_queue_in(context);
	struct hw_queue other = create_hw_queue_in(context);

	EXPECT_OK(hw_submit(one, 1, 1));
	EXPECT_OK(hw_submit(other, 1, 2));
	EXPECT_OK(queue_signal(context, fence, 2));
	EXPECT_EQ(hw_complete(1), 2);
	settle();
	EXPECT_EQ(*view, 1);
	EXPECT_EQ(hw_complete(0), 1);
	AWAIT(*view == 2);
	expect_valid();
}

TEST(context, a_signal_in_it_comes_behind_a_wait_in_it)
{
	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	D3DKMT_HANDLE context = create_context_of_queues();
	D3DKMT_HANDLE awaited = create_fence(0, 0, NULL);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	struct hw_queue queue = create_hw_queue_in(context);

	EXPECT_OK(queue_wait(context, awaited, 1));
	EXPECT_OK(queue_signal(context, fence, 1));
	EXPECT_OK(hw_signal(queue, fence, 1));
	settle();
	EXPECT_EQ(*view, 0);
	EXPECT_OK(signal_fence(awaited, 1));
	AWAIT(*view == 1);
	expect_valid();
}

TEST(context, and_queue_end_though_a_wait_in_it_is_not_over)
{
	begin_on(HW_BY_HAND);
	D3DKMT_HANDLE context = create_context_of_queues();
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);
	struct hw_queue one = create_hw_queue_in(context);
	struct hw_queue other = create_hw_queue_in(context);

	EXPECT_OK(queue_wait(context, never, 1));
	EXPECT_OK(hw_submit(one, 1, 1));
	EXPECT_OK(hw_submit(other, 1, 2));
	EXPECT_OK(destroy_hw_queue(one.queue));
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(notes_count("SubmitCommandToHwQueue"), 0);
	EXPECT_EQ(notes_count("DestroyHwQueue"), 2);
	expect_nothing_wrong();
	expect_valid();
}

/* ---- the end of a queue ---- */

struct ending {
	D3DKMT_HANDLE handle;
	NTSTATUS (*end)(D3DKMT_HANDLE handle);
	NTSTATUS status;
};

static void end_it(void *argument)
{
	struct ending *ending = argument;

	ending->status = ending->end(ending->handle);
	mark("ended");
}

HW_TEST(destroy, of_a_queue_waits_for_what_the_hardware_has, begin_on(HW_BY_HAND))
{
	struct hw_queue queue = create_hw_queue(0);
	struct ending ending = { .handle = queue.queue, .end = destroy_hw_queue };

	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(hw_submit(queue, 2, 2));
	struct dxgk_test_thread *thread = begin_thread(end_it, &ending);
	settle();
	EXPECT_EQ(notes_count("DestroyHwQueue"), 0);
	EXPECT_EQ(hw_complete(0), 1);
	settle();
	EXPECT_EQ(notes_count("DestroyHwQueue"), 0);
	mark("the last");
	EXPECT_EQ(hw_complete(0), 2);
	dxgk_test_thread_join(thread);
	EXPECT_OK(ending.status);
	EXPECT(notes_in_order("the last", "DestroyHwQueue"));
}

TEST(destroy, of_a_queue_cancels_what_waits_for_what_has_not_come)
{
	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);

	EXPECT_OK(hw_wait(queue, never, 1));
	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(hw_signal(queue, fence, 1));
	EXPECT_OK(destroy_hw_queue(queue.queue));
	EXPECT_EQ(notes_count("SubmitCommandToHwQueue"), 0);
	EXPECT_EQ(*view, 0);
	expect_nothing_wrong();
	expect_valid();
}

TEST(destroy, of_a_hardware_context_ends_its_queues_first)
{
	begin_on(HW_BY_HAND);
	D3DKMT_HANDLE context = create_hw_context(device, 0);
	struct hw_queue one = create_hw_queue_in(context);
	struct hw_queue other = create_hw_queue_in(context);

	EXPECT_OK(hw_submit(one, 1, 1));
	EXPECT_EQ(hw_complete(0), 1);
	EXPECT_OK(destroy_hw_context(context));
	EXPECT_EQ(notes_count("DestroyHwQueue"), 2);
	EXPECT(notes_in_order("DestroyHwQueue", "DestroyHwContext"));
	EXPECT_BAD_HANDLE(destroy_hw_queue(one.queue), "hHwQueue");
	EXPECT_BAD_HANDLE(destroy_hw_queue(other.queue), "hHwQueue");
	expect_nothing_wrong();
	expect_valid();
}

HW_TEST(destroy, of_a_device_cancels_what_is_queued_and_waits_for_the_hardware,
	begin_on(HW_BY_HAND))
{
	struct hw_queue queue = create_hw_queue(0);
	struct hw_queue stuck = create_hw_queue(1);
	D3DKMT_HANDLE never = create_fence(0, 0, NULL);
	struct ending ending = { .handle = device, .end = destroy_device };

	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(hw_wait(stuck, never, 1));
	EXPECT_OK(hw_submit(stuck, 1, 2));
	struct dxgk_test_thread *thread = begin_thread(end_it, &ending);
	settle();
	EXPECT_EQ(notes_count("DestroyDevice"), 0);
	EXPECT_EQ(hw_complete(0), 1);
	dxgk_test_thread_join(thread);
	EXPECT_OK(ending.status);
	EXPECT_EQ(notes_count("SubmitCommandToHwQueue"), 1);
	EXPECT_EQ(notes_count("DestroyHwQueue"), 2);
	EXPECT_EQ(notes_count("DestroyHwContext"), 2);
	EXPECT(notes_in_order("DestroyHwQueue", "DestroyHwContext"));
	/* Who completed the last of it may have the device a moment longer. */
	AWAIT(notes_count("DestroyDevice") == 1);
	EXPECT(notes_in_order("DestroyHwContext", "DestroyDevice"));
}

TEST(destroy, of_a_queue_lets_go_who_waits_for_its_progress)
{
	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	struct hw_queue other = create_hw_queue(1);

	EXPECT_OK(hw_wait(other, queue.fence, 7));
	EXPECT_OK(hw_submit(other, 1, 1));
	EXPECT_EQ(hw_pending(1), 0);
	EXPECT_OK(destroy_hw_queue(queue.queue));
	/* Nothing could ever bring it there. */
	AWAIT(hw_pending(1) == 1);
	EXPECT_EQ(hw_complete(1), 1);
	EXPECT_OK(wait_fence(other.fence, 1, 0));
}

HW_TEST(destroy, of_memory_waits_for_hardware_queues, begin_on(HW_BY_HAND))
{
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE allocation = make_allocation(device);

	EXPECT_OK(hw_submit(queue, 1, 1));
	expect_destroyed_behind_work(allocation);
}

/* What the hardware has may write its value. */
HW_TEST(destroy, of_a_fence_waits_for_hardware_queues, begin_on(HW_BY_HAND))
{
	enum { LATER = 24 };
	const volatile UINT64 *ended_view;
	const volatile UINT64 *view;

	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE ended = create_fence(0, 0, &ended_view);
	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(destroy_sync(ended));
	for (unsigned i = 0; i < LATER; i++) {
		(void)create_fence(0, 0, &view);
		EXPECT(view != ended_view);
	}
	expect_valid();
	EXPECT_EQ(hw_complete(0), 1);
	expect_valid();
}

/* ---- without memory ---- */

static bool is_valid(void)
{
	char problem[256];

	return dxgk_test_validate(problem, sizeof(problem));
}

/* The driver of the test reads its registry as it goes, and gets along without. */
static unsigned sweep(NTSTATUS (*make)(void), NTSTATUS (*undo)(void))
{
	unsigned refused = 0;

	for (unsigned n = 1;; n++) {
		dxgk_test_fail_nth_allocation(n);
		NTSTATUS status = make();
		bool has_failed = dxgk_test_fail_stop();
		EXPECT(status == STATUS_SUCCESS || (has_failed && status == STATUS_NO_MEMORY));
		/* Soon: who completes what is in front lets go of it last. */
		AWAIT(is_valid());
		refused += status != STATUS_SUCCESS;
		if (!has_failed)
			return refused;
		if (status == STATUS_SUCCESS)
			EXPECT_OK(undo());
	}
}

static struct hw_queue swept;
static D3DKMT_HANDLE swept_context;
static D3DKMT_HANDLE swept_fence;
static UINT64 swept_value;

static NTSTATUS make_context(void)
{
	return try_hw_context(device, 0, &swept_context);
}

static NTSTATUS undo_context(void)
{
	return destroy_hw_context(swept_context);
}

static NTSTATUS make_queue(void)
{
	return try_hw_queue(swept_context, 0, &swept);
}

static NTSTATUS undo_queue(void)
{
	return destroy_hw_queue(swept.queue);
}

static NTSTATUS make_submission(void)
{
	return hw_submit(swept, ++swept_value, 1);
}

static NTSTATUS make_signal(void)
{
	return hw_signal(swept, swept_fence, 1);
}

static NTSTATUS make_wait(void)
{
	return hw_wait(swept, swept_fence, 0);
}

static NTSTATUS undo_nothing(void)
{
	return STATUS_SUCCESS;
}

HW_TEST(memory, that_is_missing_leaves_everything_as_it_was, begin_on(HW_BY_HAND))
{
	swept_fence = create_fence(0, 0, NULL);
	EXPECT(sweep(make_context, undo_context) >= 2);
	EXPECT(sweep(make_queue, undo_queue) >= 3);
	EXPECT(sweep(make_submission, undo_nothing) >= 1);
	while (hw_pending(0) > 0)
		EXPECT_EQ(hw_complete(0), 1);
	EXPECT_OK(wait_fence(swept.fence, swept_value, 0));
	EXPECT(sweep(make_signal, undo_nothing) >= 3);
	EXPECT(sweep(make_wait, undo_nothing) >= 1);
	EXPECT_OK(destroy_hw_queue(swept.queue));
	EXPECT_OK(destroy_hw_context(swept_context));
	expect_valid();
}

static NTSTATUS make_gated_submission(void)
{
	swept_value++;
	NTSTATUS status = queue_wait(swept_context, swept_fence, swept_value);

	return status == STATUS_SUCCESS ? hw_submit(swept, swept_value, 1) : status;
}

static D3DKMT_HANDLE swept_signal;

static NTSTATUS make_context_signal(void)
{
	return queue_signal(swept_context, swept_signal, 1);
}

HW_TEST(memory, that_is_missing_when_a_context_waits_leaves_everything_as_it_was,
	begin_on(HW_BY_HAND))
{
	swept_fence = create_fence(0, 0, NULL);
	swept_signal = create_fence(0, 0, NULL);
	swept_context = create_context_of_queues();
	swept = create_hw_queue_in(swept_context);
	swept_value = 0;
	EXPECT(sweep(make_gated_submission, undo_nothing) >= 3);
	EXPECT(sweep(make_context_signal, undo_nothing) >= 3);
	EXPECT_EQ(hw_pending(0), 0);
	EXPECT_OK(signal_fence(swept_fence, swept_value));
	AWAIT(hw_pending(0) == 1);
	EXPECT_EQ(hw_complete(0), 1);
	EXPECT_OK(destroy_context(swept_context));
	expect_valid();
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 60 };

struct runner {
	struct dxgk_test_thread *thread;
	D3DKMT_HANDLE shared; /* a fence that everybody signals */
	NTSTATUS status;
};

static void step(struct runner *runner, NTSTATUS status)
{
	if (NT_SUCCESS(runner->status))
		runner->status = status;
}

/* Queues come and go, with work under way. */
static void run_queues(void *argument)
{
	struct runner *runner = argument;
	D3DKMT_HANDLE context;

	step(runner, try_hw_context(device, 0, &context));
	for (unsigned round = 1; round <= ROUNDS / 10; round++) {
		struct hw_queue queue;
		struct hw_queue other;

		step(runner, try_hw_queue(context, 0, &queue));
		step(runner, try_hw_queue(context, 0, &other));
		for (unsigned i = 1; i <= 10; i++) {
			step(runner, hw_submit(queue, i, i));
			step(runner, hw_signal(queue, runner->shared, i));
			step(runner, hw_wait(other, queue.fence, i));
			step(runner, hw_submit(other, i, i));
		}
		step(runner, wait_fence(other.fence, 10, 0));
		step(runner, destroy_hw_queue(queue.queue));
		step(runner, destroy_hw_queue(other.queue));
	}
	step(runner, destroy_hw_context(context));
}

HW_TEST(threads, each_with_queues_of_its_own_get_along, begin_on(HW_AT_ONCE))
{
	struct runner runners[THREADS] = { 0 };

	D3DKMT_HANDLE shared = create_fence(0, 0, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		runners[i].shared = shared;
		runners[i].thread = begin_thread(run_queues, &runners[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		dxgk_test_thread_join(runners[i].thread);
		EXPECT_OK(runners[i].status);
	}
	AWAIT(is_valid());
}

struct racer {
	struct hw_queue queue;
	unsigned accepted;
};

static _Atomic uint64_t next_value;

static void race(void *argument)
{
	struct racer *racer = argument;

	for (unsigned i = 0; i < ROUNDS; i++)
		racer->accepted += hw_submit(racer->queue, atomic_fetch_add(&next_value, 1), 1) ==
				   STATUS_SUCCESS;
}

/* Whoever comes too late with a value is refused; what the hardware gets only grows. */
/* Each of them holds the queues of all, and lets them go. */
static void run_gates(void *argument)
{
	struct runner *runner = argument;
	struct hw_queue queue;

	step(runner, try_hw_queue(swept_context, 0, &queue));
	for (unsigned round = 1; round <= ROUNDS; round++) {
		D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

		step(runner, queue_wait(swept_context, fence, 1));
		step(runner, hw_submit(queue, round, 1));
		step(runner, queue_signal(swept_context, runner->shared, round));
		step(runner, signal_fence(fence, 1));
		step(runner, destroy_sync(fence));
		/* Who submits to a full queue waits, and nobody else would let it go. */
		step(runner, wait_fence(queue.fence, round, 0));
	}
	step(runner, destroy_hw_queue(queue.queue));
}

TEST(threads, that_wait_in_a_context_for_its_queues_get_along)
{
	struct runner runners[THREADS] = { 0 };
	const volatile UINT64 *view;

	begin_on(HW_AT_ONCE);
	D3DKMT_HANDLE shared = create_fence(0, 0, &view);
	swept_context = create_context_of_queues();
	for (unsigned i = 0; i < THREADS; i++) {
		runners[i].shared = shared;
		runners[i].thread = begin_thread(run_gates, &runners[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		dxgk_test_thread_join(runners[i].thread);
		EXPECT_OK(runners[i].status);
	}
	AWAIT(*view == ROUNDS);
	EXPECT_OK(destroy_context(swept_context));
	expect_nothing_wrong();
	expect_valid();
}

TEST(threads, in_one_queue_are_ordered_by_progress)
{
	struct racer racers[THREADS] = { 0 };
	struct dxgk_test_thread *threads[THREADS];
	unsigned accepted = 0;

	begin_on(HW_AT_ONCE);
	struct hw_queue queue = create_hw_queue(0);
	atomic_store(&next_value, 1);
	for (unsigned i = 0; i < THREADS; i++) {
		racers[i].queue = queue;
		threads[i] = begin_thread(race, &racers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		dxgk_test_thread_join(threads[i]);
		accepted += racers[i].accepted;
	}
	EXPECT(accepted > 0);
	/* Who found another thread at it left the rest to that one, or to the scheduler. */
	AWAIT(notes_count("SubmitCommandToHwQueue") == accepted);
	EXPECT_OK(destroy_hw_queue(queue.queue));
	expect_nothing_wrong();
	AWAIT(is_valid());
}

int main(int argc, char **argv)
{
	return hw_main("api/hw_queue_order", argc, argv);
}
