/* SPDX-License-Identifier: MIT */
/*
 * render_placed_test.c - DMA buffers in a segment of the driver's choice: DmaBufferSegmentSet.
 *
 * On a GPU turned by hand, and so is its paging. Its aperture (segment 2) has 64 KiB, in which a
 * test's allocations are, too; a DMA buffer has 8 KiB.
 */
#define CRANK_PAGING_AT_ONCE "0"
#include "api/render.h"

#define SETTINGS_2                                                                                 \
	"\"Model\": \"physical\", \"DmaBufferSegmentSet\": 2, "                                    \
	"\"Segment2.Size\": 65536, \"Segment2.CommitLimit\": 65536, "                              \
	"\"Allocation.PreferredSegment\": 2, "                                                     \
	"\"Allocation.SupportedReadSegmentSet\": 2, \"Allocation.SupportedWriteSegmentSet\": 2, "

/* WDDM 1.3: what is in place says the list. */
#define SETTINGS SETTINGS_2 "\"Version\": 16386, "

#define SEGMENT_BASE (INT64_C(2) << 32)

enum { APERTURE = 2, BUFFER_BYTES = 8 * KIB, MAP = 5, UNMAP = 6 };

static unsigned paged(unsigned operation)
{
	char text[64];

	snprintf(text, sizeof(text), "BuildPagingBuffer irql=0 operation=%u ", operation);
	return notes_count(text);
}

static DXGKARG_BUILDPAGINGBUFFER last_paging(void)
{
	DXGKARG_BUILDPAGINGBUFFER args;

	fetch_arguments(RECORDER_BUILD_PAGING_BUFFER, &args, sizeof(args), NULL, 0);
	return args;
}

static DXGKARG_RENDER last_render(void)
{
	DXGKARG_RENDER args;

	fetch_arguments(RECORDER_RENDER, &args, sizeof(args), NULL, 0);
	return args;
}

/* ---- what the driver is told ---- */

PAINT_TEST(place, is_unknown_to_render_and_the_same_for_patch_and_submit)
{
	struct painter painter = painter_on(0);
	DXGK_ALLOCATIONLIST list[1];

	paint_with(&painter, allocate(4 * KIB));
	EXPECT_OK(paint(&painter, 8));
	DXGKARG_RENDER render = last_render();
	EXPECT(render.DmaBufferSegmentId == 0 && render.DmaBufferPhysicalAddress.QuadPart == 0);
	page_until(0, 1);
	DXGKARG_PATCH patch = last_patch(list, 1);
	DXGKARG_SUBMITCOMMAND submission = last_submission();
	EXPECT(patch.DmaBufferSegmentId == APERTURE && submission.DmaBufferSegmentId == APERTURE);
	EXPECT(submission.DmaBufferPhysicalAddress.QuadPart >= SEGMENT_BASE);
	EXPECT(submission.DmaBufferPhysicalAddress.QuadPart <=
	       SEGMENT_BASE + 64 * KIB - BUFFER_BYTES);
	EXPECT_EQ(patch.DmaBufferPhysicalAddress.QuadPart,
		  submission.DmaBufferPhysicalAddress.QuadPart);
	EXPECT(submission.DmaBufferPhysicalAddress.QuadPart != list[0].PhysicalAddress.QuadPart);
	EXPECT_EQ(complete(0), 8);
}

TEST(place, is_mapped_for_the_device_as_memory_that_the_driver_has_no_name_for)
{
	begin_painting();
	struct painter painter = painter_on(0);

	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	EXPECT_EQ(paged(MAP), 1);
	DXGKARG_BUILDPAGINGBUFFER map = last_paging();
	EXPECT_EQ(map.Operation, MAP);
	EXPECT(map.MapApertureSegment.hDevice && !map.MapApertureSegment.hAllocation);
	EXPECT_EQ(map.MapApertureSegment.SegmentId, APERTURE);
	EXPECT_EQ(map.MapApertureSegment.NumberOfPages, BUFFER_BYTES / 4096);
	EXPECT(map.MapApertureSegment.pMdl != NULL);
	EXPECT_EQ(last_submission().DmaBufferPhysicalAddress.QuadPart,
		  SEGMENT_BASE + (INT64)map.MapApertureSegment.OffsetInPages * 4096);
	EXPECT_EQ(complete(0), 8);
}

TEST(place, is_mapped_before_anything_is_submitted)
{
	begin_painting();
	struct painter painter = painter_on(0);

	EXPECT_OK(paint(&painter, 8));
	AWAIT(pending(PAGING) > 0);
	settle();
	EXPECT_EQ(pending(0), 0);
	EXPECT_EQ(notes_count("Patch irql=0"), 0);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 8);
}

TEST(place, is_kept_for_the_next_submission)
{
	begin_painting();
	struct painter painter = painter_on(0);

	for (unsigned i = 1; i <= 3; i++) {
		EXPECT_OK(paint(&painter, 8 * i));
		page_until(0, 1);
		EXPECT_EQ(complete(0), 8 * i);
		expect_done(&painter);
	}
	EXPECT_EQ(paged(MAP), 1);
	EXPECT_EQ(paged(UNMAP), 0);
}

PAINT_TEST(place, is_told_again_when_it_was_preempted)
{
	struct painter low = painter_on(0);
	struct painter high = painter_on(0);
	D3DKMT_SETCONTEXTSCHEDULINGPRIORITY priority = { high.context, 5 };

	EXPECT_OK(D3DKMTSetContextSchedulingPriority(&priority));
	EXPECT_OK(paint(&low, 8));
	page_until(0, 1);
	int64_t first = last_submission().DmaBufferPhysicalAddress.QuadPart;
	EXPECT_OK(paint(&high, 16));
	page_until(0, 2);
	AWAIT(strcmp(pending_tags(0), "16 8 ") == 0);
	EXPECT_EQ(last_submission().DmaBufferSegmentId, APERTURE);
	EXPECT_EQ(last_submission().DmaBufferPhysicalAddress.QuadPart, first);
	complete_all(0, 2);
}

/* ---- room ---- */

PAINT_TEST(room, for_more_buffers_comes_when_the_gpu_has_read_others)
{
	enum { COUNT = 12 }; /* and there is room for eight */

	struct painter painter = painter_on(0);

	for (unsigned i = 1; i <= COUNT; i++)
		EXPECT_OK(paint(&painter, 8 * i));
	for (unsigned i = 1; i <= COUNT; i++) {
		page_until(0, 1);
		EXPECT_EQ(complete(0), 8 * i);
	}
	expect_done(&painter);
	expect_sound("when all are read");
}

PAINT_TEST(room, is_made_by_allocations_that_nobody_needs_just_now)
{
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE large = allocate(56 * KIB);

	paint_with(&painter, large);
	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	EXPECT_OK(
		paint(&painter, 16)); /* refers to nothing, and there is no room beside the first */
	settle();
	EXPECT_STR(pending_tags(0), "8 ");
	EXPECT(is_resident(large));
	EXPECT_EQ(complete(0), 8);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 16);
}

PAINT_TEST(room, is_counted_when_a_list_is_split)
{
	struct painter painter = painter_on(0);

	/* Without the buffer they would be in place together. */
	for (unsigned i = 0; i < 2; i++) {
		paint_with(&painter, allocate(32 * KIB));
		paint_at(&painter, i, 0, i * 100);
	}
	EXPECT_OK(paint(&painter, 200));
	EXPECT_EQ(painter.args.QueuedBufferCount, 2);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 100);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 100);
	EXPECT_EQ(execution_state(device), 1);
}

TEST(room, that_never_comes_loses_the_device)
{
	begin_painting();
	struct painter painter = painter_on(0);

	paint_with(&painter, allocate(60 * KIB));
	paint_at(&painter, 0, 0, 0);
	EXPECT_REFUSED(paint(&painter, 8), STATUS_NO_MEMORY, "MM-LIST-FITS", "AllocationList");
	EXPECT_EQ(execution_state(device), LOST_OUT_OF_MEMORY);
	EXPECT_EQ(pending(0), 0);
}

TEST(room, for_larger_buffers_than_the_segment_is_refused_and_nothing_changes)
{
	begin_painting();
	struct painter painter = painter_on(0);

	painter.args.Flags.ResizeCommandBuffer = 1;
	painter.args.NewCommandBufferSize = 128 * KIB;
	EXPECT_OK(paint(&painter, 8)); /* of the client's buffer; the next one is to hold it */
	EXPECT_EQ(painter.command_bytes, 128 * KIB);
	EXPECT_REFUSED(paint(&painter, 16), STATUS_NO_MEMORY, "MM-LIST-FITS",
		       "DmaBufferSegmentSet");
	EXPECT_EQ(execution_state(device), 1);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 8);
	expect_sound("after the refusal");
}

CHILD(no_room_at_all)
{
	struct painter painter;

	crank_profile(SETTINGS "\"DmaBufferSize\": 131072, ");
	begin_painting();
	EXPECT_REFUSED(try_painter(&painter, 0, 0), STATUS_NO_MEMORY, "MM-LIST-FITS",
		       "DmaBufferSegmentSet");
	EXPECT_EQ(notes_count("CreateContext"), 1);
	EXPECT_EQ(notes_count("DestroyContext"), 1);
	expect_sound("without the context");
	return 0;
}

TEST(room, for_no_buffer_at_all_refuses_the_context)
{
	EXPECT_CHILD(run_child("no_room_at_all"), 0);
}

/* ---- ends ---- */

PAINT_TEST(end, of_a_context_unmaps_its_buffers)
{
	struct painter painter = painter_on(0);

	EXPECT_OK(paint(&painter, 8));
	EXPECT_OK(paint(&painter, 16));
	page_until(0, 2);
	expect_sound("with two buffers in the segment");
	complete_all(0, 2);
	expect_done(&painter);
	unsigned mapped = paged(MAP);
	EXPECT_EQ(mapped, 2);
	leave_device(device);
	device = 0;
	EXPECT_EQ(paged(UNMAP), mapped);
	EXPECT(notes_in_order("operation=6", "DestroyContext"));
}

TEST(end, by_a_reset_is_the_end_of_the_mapping_and_a_new_device_works)
{
	begin_painting();
	struct painter painter = painter_on(0);

	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	EXPECT_OK(paint(&painter, 16));
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_FORCETDR, 0));
	AWAIT(execution_state(device) != 1);
	AWAIT(notes_count("RestartFromTimeout") == 1);
	EXPECT(notes_in_order("operation=6", "RestartFromTimeout"));
	begin_painting();
	painter = painter_on(0);
	EXPECT_OK(paint(&painter, 24));
	page_until(0, 1);
	EXPECT_EQ(last_submission().DmaBufferSegmentId, APERTURE);
	EXPECT_EQ(complete(0), 24);
	expect_nothing_wrong();
}

TEST(memory, that_is_missing_makes_no_context_and_leaves_nothing)
{
	for (unsigned n = 1;; n++) {
		struct painter painter;

		EXPECT(n < 1000);
		begin_painting();
		struct dxgk_test_memory before = dxgk_test_memory();
		dxgk_test_fail_nth_allocation(n);
		NTSTATUS status = try_painter(&painter, 0, 0);
		if (!dxgk_test_fail_stop()) {
			EXPECT_OK(status);
			break;
		}
		/* There is memory that is only nice to have. */
		EXPECT(status == STATUS_NO_MEMORY || NT_SUCCESS(status));
		if (!NT_SUCCESS(status))
			AWAIT(dxgk_test_memory().blocks == before.blocks);
	}
}

TEST(memory, that_is_missing_for_a_submission_queues_nothing)
{
	bool was_short = true;

	for (unsigned n = 1; was_short; n++) {
		EXPECT(n < 1000);
		begin_painting();
		struct painter painter = painter_on(0);
		D3DKMT_HANDLE allocation = allocate(4 * KIB);

		/* The one that was made with the context is with the GPU. */
		EXPECT_OK(paint(&painter, 8));
		page_until(0, 1);
		paint_with(&painter, allocation);
		dxgk_test_fail_nth_allocation(n);
		NTSTATUS status = paint(&painter, 16);
		was_short = dxgk_test_fail_stop();
		if (NT_SUCCESS(status)) { /* what failed, if any, was paging's, which tries again */
			page_until(0, 2);
			complete_all(0, 2);
			continue;
		}
		EXPECT(was_short);
		EXPECT_EQ(status, STATUS_NO_MEMORY);
		EXPECT_EQ(execution_state(device), 1);
		complete_all(0, 1);
		expect_sound("after a failure");
	}
}

/* ---- since WDDM 2.0 ---- */

static void bring_in(D3DKMT_HANDLE allocation)
{
	make_resident(allocation);
	while (!is_resident(allocation))
		turn_everything();
}

CHILD(made_resident)
{
	DXGK_ALLOCATIONLIST list[1];

	crank_profile(SETTINGS_2);
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE allocation = allocate(16 * KIB);
	bring_in(allocation);
	paint_with(&painter, allocation);
	paint_at(&painter, 0, 0, 0);
	EXPECT_OK(paint(&painter, 8));
	page_until(0, 1);
	DXGKARG_PATCH patch = last_patch(list, 1);
	EXPECT(patch.DmaBufferSegmentId == APERTURE && list[0].SegmentId == APERTURE);
	EXPECT(patch.DmaBufferPhysicalAddress.QuadPart != list[0].PhysicalAddress.QuadPart);
	EXPECT_EQ(last_submission().DmaBufferPhysicalAddress.QuadPart,
		  patch.DmaBufferPhysicalAddress.QuadPart);
	EXPECT_EQ(complete(0), 8);
	expect_done(&painter);
	expect_sound("when it is over");
	expect_nothing_wrong();
	leave_device(device);
	device = 0;
	return 0;
}

TEST(made_resident, is_the_list_and_the_buffer_comes_beside_it)
{
	EXPECT_CHILD(run_child("made_resident"), 0);
}

CHILD(no_room_beside)
{
	crank_profile(SETTINGS_2);
	begin_painting();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE allocation = allocate(60 * KIB);
	bring_in(allocation);
	paint_with(&painter, allocation);
	NTSTATUS status = paint(&painter, 8);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_NO_MEMORY);
	for (unsigned turns = 0; execution_state(device) == 1; turns++) {
		EXPECT(turns < PATIENCE);
		turn_everything();
	}
	EXPECT_EQ(execution_state(device), LOST_OUT_OF_MEMORY);
	EXPECT_EQ(renders_submitted(0), 0);
	leave_device(device);
	device = 0;
	return 0;
}

TEST(made_resident, what_leaves_no_room_for_the_buffer_loses_the_device)
{
	EXPECT_CHILD(run_child("no_room_beside"), 0);
}

PAINTING_TEST_MAIN("api/render_placed", SETTINGS)
