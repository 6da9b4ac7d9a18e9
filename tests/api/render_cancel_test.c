/* SPDX-License-Identifier: MIT */
/*
 * render_cancel_test.c - D3DKMTRender, and what the driver hears of packets that never run: of each
 * once, with its lists, while it has open what is in them.
 */
#define CRANK_PAGING_AT_ONCE "0"
#include "api/render.h"

/* WDDM 1.3; everything in local memory. */
#define SETTINGS                                                                                   \
	"\"Model\": \"physical\", \"Version\": 16386, \"ChecksLists\": 1, "                        \
	"\"Allocation.SupportedReadSegmentSet\": 1, \"Allocation.SupportedWriteSegmentSet\": 1, "

/* Behind what never comes, with a list of two and a patch of the second. */
static struct painter hold_up(D3DKMT_HANDLE one, D3DKMT_HANDLE other)
{
	struct painter painter = painter_on(0);

	EXPECT_OK(queue_wait(painter.context, create_fence(0, 0, NULL), 1));
	paint_with(&painter, one);
	paint_with(&painter, other);
	painter.list[1].WriteOperation = 1;
	paint_at(&painter, 1, 7, 4);
	EXPECT_OK(paint(&painter, 16));
	return painter;
}

static DXGKARG_CANCELCOMMAND last_cancelled(DXGK_ALLOCATIONLIST *list, unsigned count)
{
	DXGKARG_CANCELCOMMAND args;

	fetch_arguments(RECORDER_CANCEL_COMMAND, &args, sizeof(args), list, count * sizeof(*list));
	return args;
}

PAINT_TEST(cancelled, packets_are_told_with_their_lists)
{
	DXGK_ALLOCATIONLIST rendered[2];
	DXGK_ALLOCATIONLIST list[2];
	DXGKARG_CANCELCOMMAND args;

	(void)hold_up(allocate(64 * KIB), allocate(64 * KIB));
	memcpy(rendered, fetched(RECORDER_RENDER).list, sizeof(rendered));
	EXPECT_OK(mark_as_error(device));
	AWAIT(notes_count("CancelCommand") == 1);
	expect_sound("when the driver was told");
	args = last_cancelled(list, 2);
	EXPECT(args.hContext && args.pDmaBuffer);
	EXPECT_EQ(args.DmaBufferSubmissionEndOffset - args.DmaBufferSubmissionStartOffset, 16);
	EXPECT_EQ(args.AllocationListSize, 2);
	EXPECT_EQ(args.PatchLocationListSize, 1);
	EXPECT_EQ(args.PatchLocationListSubmissionStart, 0);
	EXPECT_EQ(args.PatchLocationListSubmissionLength, 1);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT(rendered[i].hDeviceSpecificAllocation &&
		       list[i].hDeviceSpecificAllocation == rendered[i].hDeviceSpecificAllocation);
		EXPECT_EQ(list[i].WriteOperation, i);
		EXPECT_EQ(list[i].SegmentId, 0);
	}
}

enum { ASSUME_NOT_IN_USE = 1, SYNCHRONOUS_DESTROY = 2 };

static void destroy_with_flags(D3DKMT_HANDLE allocation, unsigned flags)
{
	EXPECT_OK(D3DKMTDestroyAllocation2(
		&(D3DKMT_DESTROYALLOCATION2){ .hDevice = device,
					      .phAllocationList = &allocation,
					      .AllocationCount = 1,
					      .Flags.Value = flags }));
}

/* The driver hears of the packet while it has open what is in its list. */
static void expect_told_first(unsigned closed)
{
	while (notes_count("CloseAllocation") < closed)
		turn_everything();
	EXPECT_EQ(notes_count("CancelCommand"), 1);
	expect_nothing_wrong();
}

TEST(cancelled, packets_are_told_before_what_they_list_is_destroyed)
{
	static const unsigned flags[] = { 0, SYNCHRONOUS_DESTROY, ASSUME_NOT_IN_USE };

	for (unsigned i = 0; i < 3; i++) {
		begin_painting();
		D3DKMT_HANDLE one = allocate(64 * KIB);
		D3DKMT_HANDLE other = allocate(64 * KIB);

		(void)hold_up(one, other);
		EXPECT_OK(mark_as_error(device));
		destroy_with_flags(one, flags[i]);
		destroy_with_flags(other, flags[i]);
		expect_told_first(2);
	}
}

/* Both become ready while something else is destroyed already, which does not wait for work. */
TEST(cancelled, packets_are_told_before_what_waits_for_them_is_destroyed)
{
	enum { ROUNDS = 50 };

	for (unsigned i = 0; i < ROUNDS; i++) {
		begin_painting();
		D3DKMT_HANDLE one = allocate(64 * KIB);
		D3DKMT_HANDLE other = allocate(64 * KIB);
		D3DKMT_HANDLE unused = allocate(64 * KIB);

		(void)hold_up(one, other);
		destroy_with_flags(one, 0);
		destroy_with_flags(other, 0);
		destroy_with_flags(unused, ASSUME_NOT_IN_USE);
		EXPECT_OK(mark_as_error(device));
		expect_told_first(3);
	}
}

TEST(cancelled, packets_are_told_before_their_device_ends)
{
	begin_painting();
	(void)hold_up(allocate(64 * KIB), allocate(64 * KIB));
	EXPECT_OK(mark_as_error(device));
	leave_device(device);
	device = 0;
	expect_told_first(2);
}

PAINTING_TEST_MAIN("api/render_cancel", SETTINGS)
