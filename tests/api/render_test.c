/* SPDX-License-Identifier: MIT */
/*
 * render_test.c - D3DKMTRender before WDDM 2.0: what is submitted is in place by its list. On
 * a GPU turned by hand; it has 4 MiB, and so has its paging.
 */
#define CRANK_PAGING_AT_ONCE "0"
#include "api/render.h"

/* WDDM 1.3; everything in local memory. */
#define SETTINGS                                                                                   \
	"\"Model\": \"physical\", \"Version\": 16386, \"Segment1.Size\": 4194304, "                \
	"\"Segment1.CommitLimit\": 4194304, "                                                      \
	"\"Allocation.SupportedReadSegmentSet\": 1, \"Allocation.SupportedWriteSegmentSet\": 1, "

/* ---- what is queued, recounted ---- */

TEST(recount, knows_what_lists_use)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE used = allocate(64 * KIB);
	D3DKMT_HANDLE other = allocate(64 * KIB);
	D3DKMT_DESTROYALLOCATION2 destroy = { .hDevice = device,
					      .phAllocationList = &used,
					      .AllocationCount = 1 };

	paint_with(&painter, used);
	paint_with(&painter, other);
	EXPECT_OK(paint(&painter, 8));
	paint_with(&painter, used);
	EXPECT_OK(paint(&painter, 16));
	page_until(0, 2);
	expect_sound("with two lists");
	EXPECT_OK(D3DKMTDestroyAllocation2(&destroy));
	expect_sound("with one that goes when they are over");
	complete_all(0, 2);
	expect_done(&painter);
	while (notes_count("DestroyAllocation") == 0)
		turn_everything();
	expect_sound("when they are over");
}

/* ---- buffers ---- */

TEST(buffers, are_as_large_as_the_driver_says)
{
	begin_painting();
	struct painter painter = painter_on(0);

	EXPECT(painter.commands && painter.list && painter.patches);
	EXPECT_EQ(painter.command_bytes, 8192);
	EXPECT_EQ(painter.list_entries, 64);
	EXPECT_EQ(painter.patch_entries, 128);
	memset(painter.commands, 0xaa, painter.command_bytes);
	memset(painter.list, 0, painter.list_entries * sizeof(*painter.list));
	memset(painter.patches, 0, painter.patch_entries * sizeof(*painter.patches));
	EXPECT_OK(destroy_context(painter.context));
}

TEST(buffers, grow_when_it_is_asked_for_and_are_never_smaller_than_the_driver_wants)
{
	begin_painting();
	struct painter painter = painter_on(0);

	painter.args.Flags.ResizeCommandBuffer = 1;
	painter.args.Flags.ResizeAllocationList = 1;
	painter.args.Flags.ResizePatchLocationList = 1;
	painter.args.NewCommandBufferSize = 20000;
	painter.args.NewAllocationListSize = 100;
	painter.args.NewPatchLocationListSize = 300;
	EXPECT_OK(paint(&painter, 8));
	EXPECT_EQ(painter.command_bytes, 20000);
	EXPECT_EQ(painter.list_entries, 100);
	EXPECT_EQ(painter.patch_entries, 300);
	memset(painter.commands, 0xaa, 20000);
	/* Without the flag nobody looks at the number. */
	painter.args.NewCommandBufferSize = 77;
	EXPECT_OK(paint(&painter, 20000));
	EXPECT_EQ(painter.command_bytes, 20000);
	painter.args.Flags.ResizeCommandBuffer = 1;
	painter.args.NewCommandBufferSize = 0;
	EXPECT_OK(paint(&painter, 16));
	EXPECT_EQ(painter.command_bytes, 8192);
	EXPECT_EQ(painter.list_entries, 100);
	painter.args.Flags.ResizeAllocationList = 1;
	painter.args.NewAllocationListSize = UINT32_MAX;
	EXPECT_OK(paint(&painter, 24));
	EXPECT(painter.list_entries >= 100 && painter.list_entries < UINT32_MAX);
	EXPECT_STR(pending_tags(0), "8 20000 16 24 ");
	complete_all(0, 4);
}

TEST(buffers, are_handed_back_by_a_call_that_fails_too)
{
	begin_painting();
	struct painter painter = painter_on(0);
	UCHAR *commands = painter.commands;

	painter.args.pNewCommandBuffer = NULL;
	painter.args.Flags.ResizeCommandBuffer = 1;
	painter.args.NewCommandBufferSize = 20000;
	EXPECT_BAD(paint(&painter, 8193), "API-VALUE", "CommandLength");
	EXPECT(painter.commands == commands);
	EXPECT_EQ(painter.command_bytes, 8192);
	EXPECT_EQ(painter.list_entries, 64);
	EXPECT_OK(paint(&painter, 8));
	complete_all(0, 1);
}

TEST(buffers, of_the_gpu_come_back_when_it_has_read_them)
{
	uint64_t first;
	uint64_t second;

	begin_painting();
	struct painter painter = painter_on(0);
	EXPECT_OK(paint(&painter, 8));
	first = (uint64_t)last_submission().DmaBufferPhysicalAddress.QuadPart;
	EXPECT_OK(paint(&painter, 16));
	second = (uint64_t)last_submission().DmaBufferPhysicalAddress.QuadPart;
	EXPECT(second != first);
	complete_all(0, 2);
	expect_done(&painter);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT_OK(paint(&painter, 24));
		uint64_t again = (uint64_t)last_submission().DmaBufferPhysicalAddress.QuadPart;
		EXPECT(again == first || again == second);
	}
	complete_all(0, 2);
}

TEST(buffers, that_are_queued_are_counted)
{
	begin_painting();
	struct painter painter = painter_on(0);
	for (unsigned i = 1; i <= 3; i++) {
		EXPECT_OK(paint(&painter, 8 * i));
		EXPECT_EQ(painter.args.QueuedBufferCount, i);
	}
	complete_all(0, 3);
	expect_done(&painter);
	EXPECT_OK(paint(&painter, 8));
	EXPECT_EQ(painter.args.QueuedBufferCount, 1);
	complete_all(0, 1);
}

/* ---- what the driver gets ---- */

PAINT_TEST(driver, is_asked_to_render_to_patch_and_to_submit_in_this_order)
{
	struct painter painter = painter_on(1);
	D3DKMT_HANDLE allocation = allocate(64 * KIB);
	DXGK_ALLOCATIONLIST list[2];

	memset(painter.commands, 0x5a, 48);
	paint_with(&painter, allocation);
	paint_with(&painter, 0);
	painter.list[0].WriteOperation = 1;
	paint_at(&painter, 0, 3, 16);
	painter.args.CommandOffset = 8;
	EXPECT_OK(paint(&painter, 48));
	page_until(1, 1);
	EXPECT(notes_in_order("Render irql=0 length=40 allocations=2", "Patch irql=0"));
	EXPECT(notes_in_order("Patch irql=0", "SubmitCommand irql=2 node=1"));
	DXGKARG_PATCH patch = last_patch(list, 2);
	DXGKARG_SUBMITCOMMAND submission = last_submission();
	EXPECT_EQ(patch.SubmissionFenceId, submission.SubmissionFenceId);
	EXPECT(patch.hContext && patch.hContext == submission.hContext);
	EXPECT(patch.DmaBufferSize == 8192 && submission.DmaBufferSize == 8192);
	EXPECT(patch.DmaBufferSegmentId == 0 && submission.DmaBufferSegmentId == 0);
	EXPECT_EQ(patch.DmaBufferPhysicalAddress.QuadPart,
		  submission.DmaBufferPhysicalAddress.QuadPart);
	EXPECT_EQ(submission.DmaBufferSubmissionStartOffset, 0);
	EXPECT_EQ(submission.DmaBufferSubmissionEndOffset, 40);
	EXPECT(patch.DmaBufferSubmissionStartOffset == 0 &&
	       patch.DmaBufferSubmissionEndOffset == 40);
	EXPECT_EQ(submission.DmaBufferPrivateDataSize, 32);
	EXPECT_EQ(submission.DmaBufferPrivateDataSubmissionStartOffset, 0);
	EXPECT(patch.PatchLocationListSize == 1 && patch.PatchLocationListSubmissionStart == 0 &&
	       patch.PatchLocationListSubmissionLength == 1);
	EXPECT(list[0].hDeviceSpecificAllocation && list[0].WriteOperation == 1);
	EXPECT_EQ(list[0].SegmentId, 1);
	/* Addresses include the segment's base. */
	EXPECT((uint64_t)list[0].PhysicalAddress.QuadPart >> 32 == 1);
	EXPECT(!list[1].hDeviceSpecificAllocation && list[1].SegmentId == 0);
	EXPECT_EQ(complete(1), 40);
}

TEST(driver, is_told_nothing_about_addresses_when_it_renders)
{
	struct recorder_fetch fetch;
	DXGK_ALLOCATIONLIST list[1];

	begin_painting();
	struct painter painter = painter_on(0);
	paint_with(&painter, allocate(64 * KIB));
	EXPECT_OK(paint(&painter, 8));
	fetch = fetched(RECORDER_RENDER);
	EXPECT_EQ(fetch.list_bytes, sizeof(list));
	memcpy(list, fetch.list, sizeof(list));
	EXPECT(list[0].hDeviceSpecificAllocation && list[0].SegmentId == 0);
	page_until(0, 1);
	complete_all(0, 1);
}

TEST(driver, hears_of_null_rendering_from_the_call_and_from_the_context)
{
	begin_painting();
	struct painter painter = painter_on(0);

	EXPECT_OK(paint(&painter, 8));
	EXPECT_EQ(last_submission().Flags.NullRendering, 0);
	painter.args.Flags.NullRendering = 1;
	EXPECT_OK(paint(&painter, 16));
	EXPECT_EQ(last_submission().Flags.NullRendering, 1);
	EXPECT_OK(try_painter(&painter, 0, 1));
	EXPECT_OK(paint(&painter, 24));
	EXPECT_EQ(last_submission().Flags.NullRendering, 1);
	complete_all(0, 3);
}

PAINT_TEST(driver, patches_again_what_was_preempted)
{
	struct painter low = painter_on(0);
	struct painter high = painter_on(0);
	D3DKMT_SETCONTEXTSCHEDULINGPRIORITY priority = { high.context, 5 };
	DXGK_ALLOCATIONLIST list[1];

	EXPECT_OK(D3DKMTSetContextSchedulingPriority(&priority));
	paint_with(&low, allocate(64 * KIB));
	paint_at(&low, 0, 0, 0);
	EXPECT_OK(paint(&low, 8));
	page_until(0, 1);
	unsigned first = last_submission().SubmissionFenceId;
	EXPECT_OK(paint(&high, 16));
	AWAIT(strcmp(pending_tags(0), "16 8 ") == 0);
	DXGKARG_PATCH patch = last_patch(list, 1);
	EXPECT(patch.SubmissionFenceId != first);
	EXPECT_EQ(patch.SubmissionFenceId, last_submission().SubmissionFenceId);
	EXPECT_EQ(list[0].SegmentId, 1);
	complete_all(0, 2);
}

/* Paging goes the same way, with nothing to patch. */
PAINT_TEST(driver, is_asked_to_patch_what_pages_with_empty_lists)
{
	struct painter painter = painter_on(0);

	paint_with(&painter, allocate(64 * KIB));
	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	complete_all(0, 1);
	EXPECT(notes_in_order("PatchPaging irql=0", "SubmitCommand irql=2 node=3"));
	EXPECT_EQ(notes_count("PatchPaging irql=0"), renders_submitted(PAGING));
	EXPECT_EQ(notes_count("lists=1"), 0);
}

/* ---- in place ---- */

PAINT_TEST(in_place, is_the_whole_list_before_anything_is_submitted)
{
	enum { COUNT = 3 };
	D3DKMT_HANDLE allocations[COUNT];
	DXGK_ALLOCATIONLIST list[COUNT];

	struct painter painter = painter_on(0);
	for (unsigned i = 0; i < COUNT; i++)
		allocations[i] = allocate(MIB);
	/* One more is there each time, and that is not enough. */
	for (unsigned some = 1; some <= COUNT; some++) {
		for (unsigned i = 0; i < some; i++) {
			paint_with(&painter, allocations[i]);
			paint_at(&painter, i, i, 0);
		}
		EXPECT_OK(paint(&painter, 8));
		settle();
		EXPECT_EQ(pending(0), 0);
		EXPECT_EQ(renders_submitted(0), some - 1);
		EXPECT(!is_resident(allocations[some - 1]));
		page_until(0, 1);
		for (unsigned i = 0; i < some; i++)
			EXPECT(is_resident(allocations[i]));
		last_patch(list, some);
		EXPECT_EQ(complete(0), 8);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t offset = (uint64_t)list[i].PhysicalAddress.QuadPart - (UINT64_C(1) << 32);

		EXPECT_EQ(list[i].SegmentId, 1);
		EXPECT(offset + MIB <= 4 * MIB);
		for (unsigned k = 0; k < i; k++)
			EXPECT(list[i].PhysicalAddress.QuadPart !=
			       list[k].PhysicalAddress.QuadPart);
	}
}

PAINT_TEST(in_place, it_stays_until_the_gpu_has_done_with_it)
{
	struct painter one = painter_on(0);
	struct painter other = painter_on(1);
	D3DKMT_HANDLE first = allocate(3 * MIB);
	D3DKMT_HANDLE second = allocate(3 * MIB);

	paint_with(&one, first);
	EXPECT_OK(paint(&one, 8));
	page_until(0, 1);
	paint_with(&other, second);
	EXPECT_OK(paint(&other, 16));
	settle();
	EXPECT_EQ(pending(PAGING), 0);
	EXPECT_EQ(pending(1), 0);
	EXPECT(is_resident(first));
	EXPECT_EQ(complete(0), 8);
	page_until(1, 1);
	EXPECT(!is_resident(first) && is_resident(second));
	EXPECT_EQ(complete(1), 16);
}

TEST(in_place, what_is_there_already_costs_nothing)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE allocation = allocate(MIB);

	paint_with(&painter, allocation);
	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	unsigned paging = renders_submitted(PAGING);
	/* The same one twice in a list is one. */
	paint_with(&painter, allocation);
	paint_with(&painter, allocation);
	EXPECT_OK(paint(&painter, 16));
	EXPECT_STR(pending_tags(0), "8 16 ");
	EXPECT_EQ(renders_submitted(PAGING), paging);
	complete_all(0, 2);
}

TEST(in_place, one_that_counts_twice_does_not_count_twice)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE allocation = allocate(3 * MIB);

	paint_with(&painter, allocation);
	paint_with(&painter, allocation);
	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	complete_all(0, 1);
	EXPECT_EQ(execution_state(device), 1);
}

TEST(in_place, offered_memory_is_refused)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE handles[2] = { allocate(64 * KIB), allocate(64 * KIB) };
	D3DKMT_OFFERALLOCATIONS offer = { .hDevice = device,
					  .HandleList = &handles[1],
					  .NumAllocations = 1,
					  .Priority = D3DKMT_OFFER_PRIORITY_LOW };

	EXPECT_OK(D3DKMTOfferAllocations(&offer));
	paint_with(&painter, handles[0]);
	paint_with(&painter, handles[1]);
	EXPECT_BAD_ENTRY(paint(&painter, 8), "MM-USE-OFFERED", 1);
	settle();
	EXPECT_EQ(pending(0) + pending(PAGING), 0);
}

TEST(in_place, an_offer_behind_a_submission_counts_from_its_end)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE handle = allocate(64 * KIB);
	D3DKMT_OFFERALLOCATIONS offer = { .hDevice = device,
					  .HandleList = &handle,
					  .NumAllocations = 1,
					  .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(queue_wait(painter.context, fence, 1));
	paint_with(&painter, handle);
	EXPECT_OK(paint(&painter, 8));
	EXPECT_OK(D3DKMTOfferAllocations(&offer));
	EXPECT_OK(signal_fence(fence, 1));
	page_until(0, 1);
	EXPECT_EQ(complete(0), 8);
	EXPECT_EQ(execution_state(device), 1);
}

/* ---- refusals ---- */

TEST(refusal, of_what_the_page_does_not_allow)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_RENDER args = painter.args;

	EXPECT_BAD(D3DKMTRender(NULL), "API-NULL-ARGUMENT", "");
	args.hContext = 0;
	EXPECT_BAD_HANDLE(D3DKMTRender(&args), "hContext");
	args.hContext = device;
	EXPECT_BAD(D3DKMTRender(&args), "API-HANDLE-KIND", "hContext");
	EXPECT_BAD(paint(&painter, 0), "API-VALUE", "CommandLength");
	EXPECT_BAD(paint(&painter, 8193), "API-VALUE", "CommandLength");
	painter.args.CommandOffset = 9;
	EXPECT_BAD(paint(&painter, 8), "API-VALUE", "CommandOffset");
	painter.args.CommandOffset = 8;
	EXPECT_BAD(paint(&painter, 8), "API-VALUE", "CommandLength");
	painter.args.AllocationCount = 65;
	EXPECT_BAD(paint(&painter, 8), "API-COUNT", "AllocationCount");
	painter.args.PatchLocationCount = 129;
	EXPECT_BAD(paint(&painter, 8), "API-COUNT", "PatchLocationCount");
	painter.args.Flags.Reserved = 1;
	EXPECT_BAD(paint(&painter, 8), "API-RESERVED", "Flags");
	painter = painter_on(0);
	painter.args.Flags.RenderKm = 1;
	EXPECT_BAD(paint(&painter, 8), "API-RESERVED", "Flags");
	painter.args.Flags.RenderKmReadback = 1;
	EXPECT_BAD(paint(&painter, 8), "API-RESERVED", "Flags");
	painter.args.Flags.PresentRedirected = 1;
	EXPECT_BAD(paint(&painter, 8), "API-VALUE", "Flags");
	painter.args.BroadcastContextCount = 1;
	EXPECT_BAD(paint(&painter, 8), "API-COUNT", "BroadcastContextCount");
	painter.args.BroadcastContextCount = 0;
	painter.args.PrivateDriverDataSize = 4;
	EXPECT_BAD(paint(&painter, 8), "API-RESERVED", "pPrivateDriverData");
	painter.args.PrivateDriverDataSize = 0;
	EXPECT_EQ(notes_count("Render"), 0);
	EXPECT_EQ(execution_state(device), 1);
}

TEST(refusal, of_a_list_names_the_entry_and_takes_none)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE good = allocate(64 * KIB);
	D3DKMT_HANDLE own = device;

	device = create_device(adapter);
	D3DKMT_HANDLE foreign = allocate(64 * KIB);
	EXPECT_OK(destroy_device(device));
	device = own;
	paint_with(&painter, good);
	paint_with(&painter, foreign);
	EXPECT_BAD_ENTRY(paint(&painter, 8), "API-HANDLE", 1);
	paint_with(&painter, painter.context);
	EXPECT_BAD_ENTRY(paint(&painter, 8), "API-HANDLE", 0);
	paint_with(&painter, good);
	painter.list[0].Reserved = 1;
	EXPECT_BAD_ENTRY(paint(&painter, 8), "API-RESERVED", 0);
	paint_with(&painter, good);
	painter.list[0].OfferPriority = 1;
	EXPECT_BAD_ENTRY(paint(&painter, 8), "API-RESERVED", 0);
	settle();
	EXPECT_EQ(notes_count("Render") + pending(0) + pending(PAGING), 0);
}

static void expect_bad_patch(struct painter *painter, D3DDDI_PATCHLOCATIONLIST patch)
{
	paint_with(painter, 0);
	paint_at(painter, 0, 0, 4);
	painter->patches[painter->args.PatchLocationCount++] = patch;
	EXPECT_REFUSED(paint(painter, 8), STATUS_DRIVER_INTERNAL_ERROR, "DDI-PATCH-LIST",
		       "DxgkDdiRender");
	EXPECT_EQ(pending(0), 0);
}

/* This driver copies what the client wrote; what comes out is the driver's answer. */
TEST(refusal, of_a_patch_list_that_makes_no_sense)
{
	begin_painting();
	struct painter painter = painter_on(0);
	static const D3DDDI_PATCHLOCATIONLIST bad[] = {
		{ .AllocationIndex = 1, .PatchOffset = 4, .SplitOffset = 4 },
		{ .PatchOffset = 8, .SplitOffset = 4 },
		{ .PatchOffset = 4, .SplitOffset = 3 },
		{ .PatchOffset = 4, .SplitOffset = 9 },
		{ .Value = 0x1000000, .PatchOffset = 4, .SplitOffset = 4 },
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_bad_patch(&painter, bad[i]);
	EXPECT_EQ(execution_state(device), 1);
}

PAINT_TEST(refusal, a_context_without_memory_is_none)
{
	for (unsigned n = 1;; n++) {
		struct painter painter;

		dxgk_test_fail_nth_allocation(n);
		NTSTATUS status = try_painter(&painter, 0, 0);
		if (!dxgk_test_fail_stop()) {
			EXPECT_OK(status);
			break;
		}
		/* There is memory that is only nice to have. */
		if (NT_SUCCESS(status))
			EXPECT_OK(destroy_context(painter.context));
	}
	/* The driver had it, and there were no buffers. */
	EXPECT(notes_count("DestroyContext") > 0);
}

/* ---- ends ---- */

static NTSTATUS destroy_listed(D3DKMT_HANDLE allocation, bool assume_not_in_use)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device,
					   .phAllocationList = &allocation,
					   .AllocationCount = 1 };

	args.Flags.AssumeNotInUse = assume_not_in_use;
	return D3DKMTDestroyAllocation2(&args);
}

static void expect_destruction_waits(bool assume_not_in_use)
{
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	D3DKMT_HANDLE allocation = allocate(64 * KIB);

	EXPECT_OK(queue_wait(painter.context, fence, 1));
	paint_with(&painter, allocation);
	paint_at(&painter, 0, 0, 0);
	EXPECT_OK(paint(&painter, 8));
	EXPECT_OK(destroy_listed(allocation, assume_not_in_use));
	settle();
	EXPECT_EQ(notes_count("CloseAllocation"), 0);
	EXPECT_OK(signal_fence(fence, 1));
	page_until(0, 1);
	settle();
	EXPECT_EQ(notes_count("CloseAllocation"), 0);
	EXPECT_EQ(complete(0), 8);
	for (unsigned i = 0; notes_count("CloseAllocation") == 0; i++) {
		EXPECT(i < PATIENCE);
		if (pending(PAGING) > 0)
			complete(PAGING);
		let_others();
	}
	EXPECT_EQ(execution_state(device), 1);
	expect_nothing_wrong();
}

TEST(ending, of_an_allocation_waits_for_what_lists_it)
{
	expect_destruction_waits(false);
}

TEST(ending, of_an_allocation_waits_whatever_the_client_assumes)
{
	expect_destruction_waits(true);
}

PAINT_TEST(ending, of_a_device_tells_the_driver_what_will_never_run)
{
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);

	EXPECT_OK(paint(&painter, 8));
	EXPECT_OK(queue_wait(painter.context, fence, 1));
	paint_with(&painter, allocate(64 * KIB));
	EXPECT_OK(paint(&painter, 16));
	EXPECT_OK(paint(&painter, 24));
	EXPECT_OK(mark_as_error(device));
	EXPECT_STR(pending_tags(0), "8 ");
	EXPECT_REFUSED(paint(&painter, 8), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
	EXPECT_EQ(complete(0), 8);
	AWAIT(notes_count("CancelCommand") == 2);
	EXPECT_OK(destroy_context(painter.context));
	EXPECT_EQ(notes_count("CancelCommand"), 2);
}

PAINT_TEST(ending, of_a_device_whose_work_waits_for_memory)
{
	struct painter holder = painter_on(0);
	struct painter waiter = painter_on(1);

	paint_with(&holder, allocate(3 * MIB));
	EXPECT_OK(paint(&holder, 8));
	page_until(0, 1);
	D3DKMT_HANDLE own = device;
	device = create_device(adapter);
	waiter = painter_on(1);
	paint_with(&waiter, allocate(3 * MIB));
	EXPECT_OK(paint(&waiter, 16));
	settle();
	EXPECT_EQ(pending(1), 0);
	leave_device(device);
	device = own;
}

TEST(ending, of_a_context_runs_out_what_is_ready)
{
	begin_painting();
	struct painter painter = painter_on(0);

	paint_with(&painter, allocate(64 * KIB));
	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	EXPECT_EQ(complete(0), 8);
	EXPECT_OK(destroy_context(painter.context));
	EXPECT(notes_in_order("SubmitCommand irql=2 node=0", "DestroyContext"));
}

TEST(ending, of_the_process_leaves_nothing)
{
	begin_painting_on(AT_ONCE);
	struct painter painter = painter_on(0);

	for (unsigned i = 0; i < 20; i++) {
		paint_with(&painter, allocate(MIB));
		paint_at(&painter, 0, 0, 0);
		EXPECT_OK(paint(&painter, 8 + i));
	}
	D3DKMTCloseDxCoreDevice();
	device = 0;
	expect_nothing_wrong();
}

PAINTING_TEST_MAIN("api/render", SETTINGS)
