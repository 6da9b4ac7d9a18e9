/* SPDX-License-Identifier: MIT */
/*
 * render_split_test.c - D3DKMTRender before WDDM 2.0 with a list that does not fit: its commands are
 * done piece by piece, where they can be split. On a GPU turned by hand; it has 4 MiB.
 */
#define CRANK_PAGING_AT_ONCE "0"
#include "api/render.h"

/* WDDM 1.3; everything in local memory. */
#define SETTINGS                                                                                   \
	"\"Model\": \"physical\", \"Version\": 16386, \"Segment1.Size\": 4194304, "                \
	"\"Segment1.CommitLimit\": 4194304, "                                                      \
	"\"Allocation.SupportedReadSegmentSet\": 1, \"Allocation.SupportedWriteSegmentSet\": 1, "

enum { CUTTING = BY_HAND + 1 }; /* every buffer, wherever it can be (SplitAlways) */

PAINT_TEST(split, a_list_that_does_not_fit_is_done_piece_by_piece)
{
	D3DKMT_HANDLE allocations[3];
	DXGK_ALLOCATIONLIST list[3];

	struct painter painter = painter_on(0);
	for (unsigned i = 0; i < 3; i++) {
		allocations[i] = allocate(2 * MIB);
		paint_with(&painter, allocations[i]);
		paint_at(&painter, i, 0, i * 100);
	}
	EXPECT_OK(paint(&painter, 1000));
	EXPECT_EQ(painter.args.QueuedBufferCount, 2);
	page_until(0, 1);
	settle();
	EXPECT_STR(pending_tags(0), "200 ");
	EXPECT_EQ(last_submission().DmaBufferSubmissionStartOffset, 0);
	DXGKARG_PATCH patch = last_patch(list, 3);
	EXPECT(patch.PatchLocationListSubmissionStart == 0 &&
	       patch.PatchLocationListSubmissionLength == 2 && patch.PatchLocationListSize == 3);
	EXPECT(list[0].SegmentId == 1 && list[1].SegmentId == 1 && list[2].SegmentId == 0);
	EXPECT(is_resident(allocations[0]) && is_resident(allocations[1]) &&
	       !is_resident(allocations[2]));
	EXPECT_EQ(complete(0), 200);
	page_until(0, 1);
	EXPECT_STR(pending_tags(0), "800 ");
	EXPECT_EQ(last_submission().DmaBufferSubmissionStartOffset, 200);
	EXPECT_EQ(last_submission().DmaBufferSubmissionEndOffset, 1000);
	patch = last_patch(list, 3);
	EXPECT(patch.PatchLocationListSubmissionStart == 2 &&
	       patch.PatchLocationListSubmissionLength == 1);
	EXPECT(list[2].SegmentId == 1 && is_resident(allocations[2]));
	EXPECT_EQ(complete(0), 800);
	EXPECT_EQ(execution_state(device), 1);
}

TEST(split, is_not_made_where_something_stays_bound)
{
	begin_painting();
	struct painter painter = painter_on(0);

	/* The one in slot 7 is needed to the end. */
	for (unsigned i = 0; i < 3; i++)
		paint_with(&painter, allocate(2 * MIB));
	paint_at(&painter, 0, 7, 0);
	paint_at(&painter, 1, 0, 100);
	paint_at(&painter, 2, 0, 200);
	EXPECT_REFUSED(paint(&painter, 1000), STATUS_NO_MEMORY, "MM-LIST-FITS", "AllocationList");
	EXPECT_EQ(execution_state(device), LOST_OUT_OF_MEMORY);
	settle();
	EXPECT_EQ(pending(0) + pending(PAGING), 0);
}

static void complete_both_pieces(void)
{
	page_until(0, 1);
	EXPECT_EQ(complete(0), 200);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 800);
}

TEST(split, what_is_unbound_stays_bound_no_more)
{
	begin_painting();
	struct painter painter = painter_on(0);

	for (unsigned i = 0; i < 3; i++)
		paint_with(&painter, allocate(2 * MIB));
	paint_with(&painter, 0);
	paint_at(&painter, 0, 7, 0);
	paint_at(&painter, 1, 0, 100);
	paint_at(&painter, 3, 7, 200);
	paint_at(&painter, 2, 0, 200);
	EXPECT_OK(paint(&painter, 1000));
	complete_both_pieces();
	EXPECT_EQ(execution_state(device), 1);
}

TEST(split, commands_that_refer_to_nothing_need_nothing_of_their_list)
{
	begin_painting();
	struct painter painter = painter_on(0);

	for (unsigned i = 0; i < 3; i++)
		paint_with(&painter, allocate(2 * MIB));
	EXPECT_OK(paint(&painter, 1000));
	page_until(0, 1);
	EXPECT_EQ(complete(0), 1000);
	EXPECT_EQ(execution_state(device), 1);
}

TEST(split, what_never_fits_loses_the_device)
{
	begin_painting();
	struct painter painter = painter_on(0);

	paint_with(&painter, allocate(MIB));
	paint_with(&painter, allocate(3 * MIB));
	paint_with(&painter, allocate(2 * MIB));
	for (unsigned i = 0; i < 3; i++)
		paint_at(&painter, i, i, 0);
	EXPECT_REFUSED(paint(&painter, 8), STATUS_NO_MEMORY, "MM-LIST-FITS", "AllocationList");
	EXPECT_EQ(execution_state(device), LOST_OUT_OF_MEMORY);
	EXPECT_REFUSED(paint(&painter, 8), STATUS_DEVICE_REMOVED, "API-DEVICE-GONE", "");
}

/* Others go in between, the pieces stay in order. */
PAINT_TEST(split, pieces_stay_in_order_with_what_is_behind_them)
{
	struct painter painter = painter_on(0);

	for (unsigned i = 0; i < 4; i++) {
		paint_with(&painter, allocate(3 * MIB));
		paint_at(&painter, i, 0, i * 100);
	}
	EXPECT_OK(paint(&painter, 450));
	EXPECT_EQ(painter.args.QueuedBufferCount, 4);
	EXPECT_OK(paint(&painter, 7));
	static const unsigned order[] = { 100, 100, 100, 150, 7 };
	for (unsigned i = 0; i < 5; i++) {
		page_until(0, 1);
		EXPECT_EQ(complete(0), order[i]);
	}
}

PAINT_TEST(split, for_want_of_memory_leaves_nothing)
{
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE allocations[3];
	bool was_short = true;
	unsigned refusals = 0;

	for (unsigned i = 0; i < 3; i++)
		allocations[i] = allocate(2 * MIB);
	for (unsigned n = 1; was_short; n++) {
		UINT had_bytes = painter.command_bytes;

		for (unsigned i = 0; i < 3; i++) {
			paint_with(&painter, allocations[i]);
			paint_at(&painter, i, 0, i * 100);
		}
		painter.args.Flags.ResizeCommandBuffer = 1;
		painter.args.NewCommandBufferSize = 20000 + n;
		dxgk_test_fail_nth_allocation(n);
		NTSTATUS status = paint(&painter, 1000);
		was_short = dxgk_test_fail_stop();
		if (NT_SUCCESS(status)) { /* what failed, if any, was paging's, which tries again */
			EXPECT_EQ(painter.command_bytes, 20000 + n);
			complete_both_pieces();
			expect_done(&painter);
			continue;
		}
		EXPECT(was_short);
		EXPECT_EQ(status, STATUS_NO_MEMORY);
		EXPECT_EQ(painter.args.QueuedBufferCount, 0);
		EXPECT_EQ(painter.command_bytes, had_bytes);
		EXPECT_EQ(execution_state(device), 1);
		refusals++;
	}
	EXPECT(refusals > 5);
}

/* There is room for all of it, and nothing that stays bound. */
TEST(split, always_is_at_each_place_where_it_can_be)
{
	begin_painting_on(CUTTING);
	struct painter painter = painter_on(0);

	for (unsigned i = 0; i < 3; i++) {
		paint_with(&painter, allocate(MIB / 4));
		paint_at(&painter, i, 0, i * 100);
	}
	EXPECT_OK(paint(&painter, 1000));
	EXPECT_EQ(painter.args.QueuedBufferCount, 3);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 100);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 100);
	page_until(0, 1);
	EXPECT_EQ(complete(0), 800);
	EXPECT_EQ(execution_state(device), 1);
}

int main(int argc, char **argv)
{
	static const char *const registries[] = {
		[BY_HAND] = "\"HandCranked\": 1",
		[CUTTING] = "\"HandCranked\": 1, \"SplitAlways\": 1",
	};

	crank_profile_of(registries, CUTTING + 1, SETTINGS);
	int result = api_main("api/render_split", argc, argv);
	if (device != 0)
		leave_device(device);
	return result;
}
