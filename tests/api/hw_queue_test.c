/* SPDX-License-Identifier: MIT */
/*
 * hw_queue_test.c - hardware contexts and queues: what the driver is told, the progress fence, what
 * is submitted and completed, what is refused.
 */
#include "api/hw_queue.h"

/* ---- create ---- */

HW_TEST(hw_context, is_made_by_the_driver_with_private_data_in_both_directions,
	begin_on(HW_BY_HAND))
{
	unsigned char data[5] = { 1, 2, 3, 4, 5 };
	D3DKMT_CREATEHWCONTEXT args = { .NodeOrdinal = 1,
					.EngineAffinity = 1,
					.PrivateDriverDataSize = sizeof(data),
					.pPrivateDriverData = data };

	args.hDevice = device;
	EXPECT_OK(D3DKMTCreateHwContext(&args));
	EXPECT(args.hHwContext != 0);
	EXPECT_EQ(notes_count("CreateHwContext irql=0 node=1 private=5"), 1);
	EXPECT_EQ(data[0], 1 ^ 0xff);
	EXPECT_EQ(data[4], 5);
	expect_valid();
	EXPECT_OK(destroy_hw_context(args.hHwContext));
	EXPECT_EQ(notes_count("DestroyHwContext"), 1);
	EXPECT_BAD_HANDLE(destroy_hw_context(args.hHwContext), "hHwContext");
}

TEST(hw_context, refuses_what_its_page_does_not_allow)
{
	D3DKMT_CREATEHWCONTEXT good;
	D3DKMT_CREATEHWCONTEXT args;

	begin_on(HW_BY_HAND);
	good = (D3DKMT_CREATEHWCONTEXT){ .hDevice = device };
	EXPECT_BAD(D3DKMTCreateHwContext(NULL), "API-NULL-ARGUMENT", "");
	args = good;
	args.hDevice = 0;
	EXPECT_BAD_HANDLE(D3DKMTCreateHwContext(&args), "hDevice");
	args = good;
	args.hDevice = adapter;
	EXPECT_BAD(D3DKMTCreateHwContext(&args), "API-HANDLE-KIND", "hDevice");
	args = good;
	args.NodeOrdinal = 4;
	EXPECT_BAD(D3DKMTCreateHwContext(&args), "API-VALUE", "NodeOrdinal");
	args = good;
	args.EngineAffinity = 2;
	EXPECT_BAD(D3DKMTCreateHwContext(&args), "API-VALUE", "EngineAffinity");
	for (unsigned bit = 0; bit < 32; bit++) {
		args = good;
		args.Flags.Value = 1u << bit;
		EXPECT_BAD(D3DKMTCreateHwContext(&args), "API-RESERVED", "Flags");
	}
	EXPECT_BAD_HANDLE(destroy_hw_context(0), "hHwContext");
	EXPECT_BAD(destroy_hw_context(device), "API-HANDLE-KIND", "hHwContext");
	EXPECT_EQ(notes_count("CreateHwContext"), 0);
}

TEST(hw_context, of_a_driver_that_has_none_is_refused)
{
	D3DKMT_HANDLE context;

	begin_on(HW_NONE);
	EXPECT_REFUSED(try_hw_context(device, 0, &context), STATUS_NOT_SUPPORTED,
		       "DDI-ENTRY-MISSING", "DxgkDdiCreateHwContext");
}

HW_TEST(hw_queue, has_a_progress_fence_that_starts_at_zero, begin_on(HW_BY_HAND))
{
	struct recorder_fetch call;
	D3DKMT_HANDLE fence;

	D3DKMT_HANDLE context = create_hw_context(device, 0);
	struct hw_queue queue;
	EXPECT_OK(try_hw_queue(context, 0x6, &queue));
	EXPECT(queue.queue != 0 && queue.fence != 0 && queue.queue != queue.fence);
	EXPECT_EQ(*queue.view, 0);
	EXPECT_EQ(notes_count("CreateHwQueue irql=0 flags=6 private=0"), 1);
	/* DXGKARG_CREATEHWQUEUE: the fence's handle at 24 */
	call = fetched(RECORDER_CREATE_HW_QUEUE);
	memcpy(&fence, call.argument + 24, sizeof(fence));
	EXPECT_EQ(fence, queue.fence);
	expect_valid();
	EXPECT_OK(destroy_hw_queue(queue.queue));
	EXPECT_EQ(notes_count("DestroyHwQueue"), 1);
	/* The fence went with it. */
	EXPECT_BAD_HANDLE(wait_fence(queue.fence, 1, 0), "ObjectHandleArray");
	EXPECT_BAD_HANDLE(destroy_hw_queue(queue.queue), "hHwQueue");
	EXPECT_OK(destroy_hw_context(context));
}

static NTSTATUS context_for_hw_queues(unsigned flags, D3DKMT_HANDLE *context_out)
{
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = device, .Flags.Value = flags };
	NTSTATUS status = D3DKMTCreateContextVirtual(&args);

	*context_out = args.hContext;
	return status;
}

enum { HW_QUEUE_SUPPORTED = 0x10 };

HW_TEST(hw_queue, of_a_context_made_for_them_works_like_one_of_a_hardware_context,
	begin_on(HW_BY_HAND))
{
	D3DKMT_HANDLE context;

	EXPECT_OK(context_for_hw_queues(HW_QUEUE_SUPPORTED, &context));
	struct hw_queue queue = create_hw_queue_in(context);
	expect_valid();
	EXPECT_OK(hw_submit(queue, 1, 7));
	EXPECT_STR(hw_pending_tags(0), "7 ");
	EXPECT_EQ(hw_complete(0), 7);
	EXPECT_OK(wait_fence(queue.fence, 1, 0));
	/* Its queues end with it. */
	EXPECT_OK(destroy_context(context));
	EXPECT(notes_in_order("DestroyHwQueue", "DestroyContext"));
	EXPECT_BAD_HANDLE(hw_submit(queue, 2, 8), "hHwQueue");
}

TEST(hw_queue, context_made_for_them_takes_no_work_of_its_own)
{
	D3DKMT_HANDLE context;

	begin_on(HW_BY_HAND);
	EXPECT_OK(context_for_hw_queues(HW_QUEUE_SUPPORTED, &context));
	EXPECT_BAD(submit(context, 1), "API-VALUE", "BroadcastContext");
}

TEST(hw_queue, refuses_what_its_page_does_not_allow)
{
	struct hw_queue queue;
	D3DKMT_HANDLE ordinary;

	begin_on(HW_BY_HAND);
	D3DKMT_HANDLE context = create_hw_context(device, 0);
	EXPECT_OK(context_for_hw_queues(0, &ordinary));
	EXPECT_BAD(D3DKMTCreateHwQueue(NULL), "API-NULL-ARGUMENT", "");
	EXPECT_BAD_HANDLE(try_hw_queue(0, 0, &queue), "hHwContext");
	EXPECT_BAD(try_hw_queue(device, 0, &queue), "API-HANDLE-KIND", "hHwContext");
	EXPECT_BAD(try_hw_queue(ordinary, 0, &queue), "API-VALUE", "hHwContext");
	for (unsigned bit = 3; bit < 32; bit++)
		EXPECT_BAD(try_hw_queue(context, 1u << bit, &queue), "API-RESERVED", "Flags");
	EXPECT_BAD_HANDLE(destroy_hw_queue(0), "hHwQueue");
	EXPECT_BAD(destroy_hw_queue(context), "API-HANDLE-KIND", "hHwQueue");
	EXPECT_EQ(notes_count("CreateHwQueue"), 0);
	expect_valid();
}

/* ---- the progress fence ---- */

TEST(progress, cannot_be_signalled_or_destroyed_by_a_client)
{
	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	struct hw_queue other = create_hw_queue(0);
	D3DKMT_HANDLE context = create_virtual(1);

	EXPECT_REFUSED(signal_fence(queue.fence, 1), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	EXPECT_REFUSED(queue_signal(context, queue.fence, 1), STATUS_ACCESS_DENIED,
		       "API-SYNC-ACCESS", "ObjectHandleArray");
	EXPECT_REFUSED(hw_signal(other, queue.fence, 1), STATUS_ACCESS_DENIED, "API-SYNC-ACCESS",
		       "ObjectHandleArray");
	EXPECT_BAD(destroy_sync(queue.fence), "API-SYNC-OWNED", "hSyncObject");
	EXPECT(!strstr(last_refusal().reason, "paging"));
	EXPECT_EQ(*queue.view, 0);
}

TEST(progress, is_seen_by_the_client_and_reaches_who_waits)
{
	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	int event = new_event();

	EXPECT_OK(hw_submit(queue, 5, 1));
	EXPECT_OK(wait_fence(queue.fence, 5, event));
	EXPECT_EQ(event_count(event), 0);
	EXPECT_EQ(hw_complete(0), 1);
	EXPECT_EQ(*queue.view, 5);
	AWAIT(event_count(event) == 1);
	EXPECT_OK(wait_fence(queue.fence, 5, 0));
	close(event);
}

TEST(progress, has_to_grow)
{
	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);

	EXPECT_BAD(hw_submit(queue, 0, 1), "API-VALUE", "HwQueueProgressFenceId");
	EXPECT_OK(hw_submit(queue, 3, 1));
	EXPECT_BAD(hw_submit(queue, 3, 2), "API-VALUE", "HwQueueProgressFenceId");
	EXPECT_BAD(hw_submit(queue, 2, 2), "API-VALUE", "HwQueueProgressFenceId");
	EXPECT_BAD(hw_submit(queue, UINT64_MAX, 2), "API-VALUE", "HwQueueProgressFenceId");
	EXPECT_OK(hw_submit(queue, 1000000000000, 2));
	EXPECT_STR(hw_pending_tags(0), "1 2 ");
	EXPECT_EQ(hw_complete(0), 1);
	EXPECT_EQ(hw_complete(0), 2);
	/* What is done counts as well. */
	EXPECT_BAD(hw_submit(queue, 4, 3), "API-VALUE", "HwQueueProgressFenceId");
}

/* ---- submission ---- */

static D3DKMT_SUBMITCOMMANDTOHWQUEUE with_data(struct hw_queue queue, UINT64 progress,
					       unsigned char *data, unsigned size)
{
	return (D3DKMT_SUBMITCOMMANDTOHWQUEUE){ .hHwQueue = queue.queue,
						.HwQueueProgressFenceId = progress,
						.CommandBuffer = 0x123450000,
						.CommandLength = 48,
						.PrivateDriverDataSize = size,
						.pPrivateDriverData = data };
}

HW_TEST(submit, gives_the_driver_everything_as_it_came, begin_on(HW_BY_HAND))
{
	unsigned char data[] = "private";
	struct recorder_fetch call;
	uint64_t wide;
	uint32_t narrow;

	struct hw_queue queue = create_hw_queue(2);
	D3DKMT_SUBMITCOMMANDTOHWQUEUE args = with_data(queue, 1ull << 33, data, sizeof(data));
	EXPECT_OK(D3DKMTSubmitCommandToHwQueue(&args));
	call = fetched(RECORDER_SUBMIT_COMMAND_TO_HW_QUEUE);
	/* DXGKARG_SUBMITCOMMANDTOHWQUEUE: fence 8, address 16, size 24, private size 28 */
	memcpy(&wide, call.argument + 8, sizeof(wide));
	EXPECT_EQ(wide, 1ull << 33);
	memcpy(&wide, call.argument + 16, sizeof(wide));
	EXPECT_EQ(wide, 0x123450000);
	memcpy(&narrow, call.argument + 24, sizeof(narrow));
	EXPECT_EQ(narrow, 48);
	memcpy(&narrow, call.argument + 28, sizeof(narrow));
	EXPECT_EQ(narrow, sizeof(data));
	EXPECT_EQ(call.list_bytes, sizeof(data));
	EXPECT_STR((char *)call.list, "private");
	EXPECT_EQ(hw_complete(0), 48);
}

/* DXGKARG_VALIDATESUBMITCOMMAND, as far as it is looked at. */
struct judged {
	uint64_t address;
	uint32_t length;
	uint32_t flags;
	uint32_t target_count;
	void *targets[64];
	void *data;
	uint32_t bytes;
	uint32_t client_bytes;
	uint64_t progress;
};

/* compute-runtime hands over a page, however little of it is meant. */
HW_TEST(submit, takes_a_page_of_private_data, begin_on(HW_BY_HAND))
{
	unsigned char data[4096] = "private";
	struct recorder_fetch call;
	uint32_t bytes;

	struct hw_queue queue = create_hw_queue(2);
	D3DKMT_SUBMITCOMMANDTOHWQUEUE args = with_data(queue, 1, data, sizeof(data));
	EXPECT_OK(D3DKMTSubmitCommandToHwQueue(&args));
	call = fetched(RECORDER_SUBMIT_COMMAND_TO_HW_QUEUE);
	memcpy(&bytes, call.argument + 28, sizeof(bytes));
	EXPECT_EQ(bytes, sizeof(data));
	EXPECT_EQ(hw_complete(0), 48);
}

HW_TEST(validate, is_asked_before_it_is_queued_with_the_queue_and_its_progress,
	begin_on(HW_BY_HAND))
{
	unsigned char data[] = "private";
	struct judged judged;

	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_SUBMITCOMMANDTOHWQUEUE args = with_data(queue, 7, data, sizeof(data));
	EXPECT_OK(D3DKMTSubmitCommandToHwQueue(&args));
	EXPECT_EQ(notes_count("ValidateSubmitCommand irql=0 length=48 private=8"), 1);
	EXPECT(notes_in_order("ValidateSubmitCommand", "SubmitCommandToHwQueue"));
	struct recorder_fetch call = fetched(RECORDER_VALIDATE_SUBMIT_COMMAND);
	EXPECT_EQ(call.argument_bytes, sizeof(judged));
	memcpy(&judged, call.argument, sizeof(judged));
	EXPECT(judged.address == 0x123450000 && judged.length == 48);
	EXPECT_EQ(judged.flags, 1);        /* HardwareQueueSubmission */
	EXPECT_EQ(judged.target_count, 1); /* the driver says when it is no queue of its own */
	EXPECT(judged.data && judged.data != data);
	EXPECT(judged.bytes == sizeof(data) && judged.client_bytes == sizeof(data));
	EXPECT_EQ(judged.progress, 7);
	EXPECT_EQ(hw_complete(0), 48);
	/* Without private data there is nothing to judge. */
	EXPECT_OK(hw_submit(queue, 8, 49));
	EXPECT_EQ(notes_count("ValidateSubmitCommand"), 1);
	EXPECT_EQ(hw_complete(0), 49);
}

HW_TEST(validate, that_finds_something_malformed_queues_nothing, begin_on(HW_JUDGES))
{
	unsigned char data[] = "private";

	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_SUBMITCOMMANDTOHWQUEUE args = with_data(queue, 1, data, sizeof(data));
	EXPECT_REFUSED(D3DKMTSubmitCommandToHwQueue(&args), STATUS_INVALID_USER_BUFFER,
		       "DDI-STATUS", "DxgkDdiValidateSubmitCommand");
	EXPECT_EQ(hw_pending(0), 0);
	EXPECT_EQ(execution_state(device), 1);
	/* It did not use up the value. What the driver writes arrives with the submission. */
	EXPECT_OK(D3DKMTSubmitCommandToHwQueue(&args));
	struct recorder_fetch call = fetched(RECORDER_SUBMIT_COMMAND_TO_HW_QUEUE);
	EXPECT_STR((char *)call.list, "Private");
	EXPECT_STR((char *)data, "private");
	EXPECT_EQ(hw_complete(0), 48);
}

HW_TEST(validate, of_a_context_beside_it_is_asked_once_for_all_that_a_call_names,
	begin_on(HW_BY_HAND))
{
	unsigned char data[] = "private";
	struct judged judged;

	D3DKMT_SUBMITCOMMAND args = submission(create_virtual(0), 48);
	args.BroadcastContext[1] = create_virtual(1);
	args.BroadcastContextCount = 2;
	args.pPrivateDriverData = data;
	args.PrivateDriverDataSize = sizeof(data);
	EXPECT_OK(D3DKMTSubmitCommand(&args));
	EXPECT_EQ(notes_count("ValidateSubmitCommand irql=0 length=48 private=32"), 1);
	struct recorder_fetch call = fetched(RECORDER_VALIDATE_SUBMIT_COMMAND);
	memcpy(&judged, call.argument, sizeof(judged));
	EXPECT(judged.flags == 0 && judged.target_count == 2 && judged.progress == 0);
	EXPECT(judged.targets[0] && judged.targets[1] && judged.targets[0] != judged.targets[1]);
	EXPECT(judged.bytes == 32 && judged.client_bytes == sizeof(data));
	complete_all(0, 1);
	complete_all(1, 1);
}

HW_TEST(submit, goes_straight_to_the_hardware_in_the_order_of_the_queue, begin_on(HW_BY_HAND))
{
	enum { MANY = 100 };

	struct hw_queue queue = create_hw_queue(0);
	for (unsigned i = 1; i <= MANY; i++) {
		EXPECT_OK(hw_submit(queue, i, i));
		EXPECT_EQ(hw_pending(0), i);
	}
	for (unsigned i = 1; i <= MANY; i++)
		EXPECT_EQ(hw_complete(0), i);
	EXPECT_OK(wait_fence(queue.fence, MANY, 0));
}

TEST(submit, to_two_queues_of_a_node_needs_no_order_between_them)
{
	begin_on(HW_BY_HAND);
	D3DKMT_HANDLE context = create_hw_context(device, 0);
	struct hw_queue one = create_hw_queue_in(context);
	struct hw_queue other = create_hw_queue_in(context);

	EXPECT_OK(hw_submit(one, 1, 11));
	EXPECT_OK(hw_submit(other, 1, 12));
	EXPECT_EQ(hw_complete(1), 12);
	EXPECT_OK(wait_fence(other.fence, 1, 0));
	EXPECT_EQ(*one.view, 0);
	EXPECT_EQ(hw_complete(0), 11);
	EXPECT_OK(wait_fence(one.fence, 1, 0));
}

/* Neither fence ids nor room are shared with what the kernel orders. */
HW_TEST(submit, beside_a_context_of_the_same_node_goes_its_own_way, begin_on(HW_BY_HAND))
{
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE context = create_virtual(0);

	for (unsigned i = 1; i <= 40; i++)
		EXPECT_OK(submit(context, i));
	EXPECT_OK(hw_submit(queue, 1, 99));
	EXPECT_STR(hw_pending_tags(0), "99 ");
	EXPECT_EQ(hw_complete(0), 99);
	EXPECT_OK(wait_fence(queue.fence, 1, 0));
	for (unsigned i = 1; i <= 40; i++) {
		AWAIT(pending(0) > 0);
		EXPECT_EQ(complete(0), i);
	}
}

TEST(submit, refuses_what_its_page_does_not_allow)
{
	D3DKMT_HANDLE primaries[17] = { 0 };

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	const D3DKMT_SUBMITCOMMANDTOHWQUEUE good = { .hHwQueue = queue.queue,
						     .HwQueueProgressFenceId = 1,
						     .CommandBuffer = 0x10000,
						     .CommandLength = 8 };
	D3DKMT_SUBMITCOMMANDTOHWQUEUE args = good;

	EXPECT_BAD(D3DKMTSubmitCommandToHwQueue(NULL), "API-NULL-ARGUMENT", "");
	args.hHwQueue = 0;
	EXPECT_BAD_HANDLE(D3DKMTSubmitCommandToHwQueue(&args), "hHwQueue");
	args.hHwQueue = queue.fence;
	EXPECT_BAD(D3DKMTSubmitCommandToHwQueue(&args), "API-HANDLE-KIND", "hHwQueue");
	args = good;
	args.CommandLength = 0;
	EXPECT_BAD(D3DKMTSubmitCommandToHwQueue(&args), "API-VALUE", "CommandLength");
	args = good;
	args.PrivateDriverDataSize = 8;
	EXPECT(D3DKMTSubmitCommandToHwQueue(&args) == STATUS_INVALID_PARAMETER);
	args = good;
	args.NumPrimaries = 17;
	args.WrittenPrimaries = primaries;
	EXPECT(D3DKMTSubmitCommandToHwQueue(&args) == STATUS_INVALID_PARAMETER);
	args.NumPrimaries = 1;
	EXPECT_BAD_HANDLE(D3DKMTSubmitCommandToHwQueue(&args), "WrittenPrimaries");
	primaries[0] = create_plain(); /* which is not on the residency list */
	EXPECT_BAD(D3DKMTSubmitCommandToHwQueue(&args), "MM-LIST-RESIDENT", "WrittenPrimaries");
	EXPECT_EQ(hw_pending(0), 0);
	/* None of them used up the value. */
	EXPECT_OK(D3DKMTSubmitCommandToHwQueue(&good));
	EXPECT_EQ(hw_complete(0), 8);
}

/* ---- completion ---- */

TEST(completion, of_several_packets_is_one_look_at_the_fence)
{
	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	for (unsigned i = 1; i <= 4; i++) {
		EXPECT_OK(hw_submit(queue, 10 * i, i));
		EXPECT_OK(hw_signal(queue, fence, i));
	}
	EXPECT_EQ(hw_complete_to(0, 30, false), 3);
	AWAIT(*view == 3);
	EXPECT_STR(hw_pending_tags(0), "4 ");
	EXPECT_EQ(hw_complete(0), 4);
	AWAIT(*view == 4);
}

TEST(completion, is_noticed_with_the_next_interrupt_of_any_fence)
{
	const volatile UINT64 *view;

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, &view);
	EXPECT_OK(hw_submit(queue, 1, 1));
	EXPECT_OK(hw_signal(queue, fence, 1));
	EXPECT_EQ(hw_complete_to(0, 1, true), 1);
	EXPECT_EQ(*queue.view, 1);
	settle();
	EXPECT_EQ(*view, 0);
	interrupt(FENCE_SIGNALED, 0);
	AWAIT(*view == 1);
}

/* Written down at interrupt level, told by one DPC, each to whom it concerns. */
TEST(completion, of_several_nodes_comes_with_one_dpc)
{
	const volatile UINT64 *views[3];
	D3DKMT_HANDLE fences[3];
	struct recorder_escape escape = { .command = RECORDER_INTERRUPT_NO_DPC };

	begin_on(HW_BY_HAND);
	struct hw_queue queue = create_hw_queue(2);
	for (unsigned i = 0; i < 3; i++)
		fences[i] = create_fence(0, 0, &views[i]);
	for (unsigned node = 0; node < 2; node++) {
		D3DKMT_HANDLE context = create_virtual(node);
		EXPECT_OK(submit(context, 1 + node));
		EXPECT_OK(submit(context, 3 + node));
		EXPECT_OK(queue_signal(context, fences[node], 1));
	}
	EXPECT_OK(hw_submit(queue, 1, 5));
	EXPECT_OK(hw_signal(queue, fences[2], 1));
	/* The DPC of what mapped the fences would take along what it finds. */
	flush_dpcs();
	/* Two per node, and the write of a fence; nobody is told yet. */
	escape.type = DMA_COMPLETED;
	for (unsigned node = 0; node < 2; node++) {
		struct recorder_escape what = { .command = RECORDER_PENDING, .node = node };

		EXPECT_EQ(crank(&what), 2);
		escape.node = node;
		escape.fence = what.fence;
		(void)crank(&escape);
		escape.fence = what.last;
		(void)crank(&escape);
	}
	EXPECT_EQ(hw_complete_to(0, 1, true), 1);
	settle();
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(*views[i], 0);
	interrupt(FENCE_SIGNALED, 2);
	for (unsigned i = 0; i < 3; i++)
		AWAIT(*views[i] == 1);
	expect_nothing_wrong();
	/* The driver of the test still has them; it is told nothing new. */
	complete_all(0, 2);
	complete_all(1, 2);
}

int main(int argc, char **argv)
{
	return hw_main("api/hw_queue", argc, argv);
}
