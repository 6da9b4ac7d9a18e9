/* SPDX-License-Identifier: MIT */
/*
 * render_resident_test.c - D3DKMTRender since WDDM 2.0, without GPU addresses: what a list names
 * was made resident before. On a GPU turned by hand that has 4 MiB.
 */
#define CRANK_PAGING_AT_ONCE "0"
#include "api/render.h"

#define SETTINGS                                                                                   \
	"\"Model\": \"physical\", \"Segment1.Size\": 4194304, \"Segment1.CommitLimit\": 4194304, " \
	"\"Allocation.SupportedReadSegmentSet\": 1, \"Allocation.SupportedWriteSegmentSet\": 1, "

static D3DKMT_CREATEPAGINGQUEUE queue;

static void open_queue(void)
{
	queue = (D3DKMT_CREATEPAGINGQUEUE){ .hDevice = device };
	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
}

static NTSTATUS ask_for(D3DKMT_HANDLE allocation, UINT64 *fence_out)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = queue.hPagingQueue,
				     .NumAllocations = 1,
				     .AllocationList = &allocation };
	NTSTATUS status = D3DKMTMakeResident(&args);

	*fence_out = args.PagingFenceValue;
	return status;
}

/* The pages turn until the fence is reached. */
static void page_to(UINT64 fence)
{
	const volatile UINT64 *value = queue.FenceValueCPUVirtualAddress;

	for (unsigned turns = 0; *value < fence; turns++) {
		EXPECT(turns < PATIENCE);
		if (pending(PAGING) > 0)
			complete(PAGING);
		else
			let_others();
	}
}

static void bring_in(D3DKMT_HANDLE allocation)
{
	UINT64 fence;
	NTSTATUS status = ask_for(allocation, &fence);

	EXPECT(status == STATUS_PENDING || status == STATUS_SUCCESS);
	if (status == STATUS_PENDING)
		page_to(fence);
	EXPECT(is_resident(allocation));
}

static void evict_it(D3DKMT_HANDLE allocation)
{
	EXPECT_OK(D3DKMTEvict(&(D3DKMT_EVICT){
		.hDevice = device, .NumAllocations = 1, .AllocationList = &allocation }));
}

PAINT_TEST(resident, what_was_made_so_is_submitted_at_once_and_patched_with_where_it_is)
{
	DXGK_ALLOCATIONLIST list[2];

	open_queue();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE one = allocate(MIB);
	D3DKMT_HANDLE other = allocate(MIB);
	bring_in(one);
	bring_in(other);
	unsigned paging = renders_submitted(PAGING);
	paint_with(&painter, one);
	paint_with(&painter, other);
	paint_at(&painter, 0, 0, 0);
	EXPECT_OK(paint(&painter, 8));
	EXPECT_STR(pending_tags(0), "8 ");
	EXPECT_EQ(renders_submitted(PAGING), paging);
	last_patch(list, 2);
	EXPECT(list[0].SegmentId == 1 && list[1].SegmentId == 1);
	EXPECT(list[0].PhysicalAddress.QuadPart != list[1].PhysicalAddress.QuadPart);
	EXPECT_EQ(complete(0), 8);
}

TEST(resident, what_was_not_made_so_is_rejected_and_the_device_is_lost)
{
	begin_painting();
	open_queue();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE one = allocate(MIB);
	bring_in(one);
	paint_with(&painter, one);
	paint_with(&painter, allocate(MIB));
	EXPECT_BAD_ENTRY(paint(&painter, 8), "MM-LIST-RESIDENT", 1);
	EXPECT_EQ(notes_count("Render"), 0);
	EXPECT_EQ(execution_state(device), LOST_FAULT);
	EXPECT_EQ(pending(0), 0);
}

TEST(resident, what_was_evicted_is_not)
{
	begin_painting();
	open_queue();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE one = allocate(MIB);
	bring_in(one);
	evict_it(one);
	paint_with(&painter, one);
	EXPECT_BAD_ENTRY(paint(&painter, 8), "MM-LIST-RESIDENT", 0);
	EXPECT_EQ(execution_state(device), LOST_FAULT);
	while (pending(PAGING) > 0)
		complete(PAGING);
}

PAINT_TEST(resident, an_eviction_behind_a_submission_waits_for_it)
{
	open_queue();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	D3DKMT_HANDLE one = allocate(MIB);
	DXGK_ALLOCATIONLIST list[1];
	bring_in(one);
	EXPECT_OK(queue_wait(painter.context, fence, 1));
	paint_with(&painter, one);
	EXPECT_OK(paint(&painter, 8));
	evict_it(one);
	for (unsigned i = 0; i < 50; i++)
		let_others();
	EXPECT_EQ(pending(PAGING), 0);
	EXPECT(is_resident(one));
	EXPECT_OK(signal_fence(fence, 1));
	AWAIT(pending(0) == 1);
	last_patch(list, 1);
	EXPECT_EQ(list[0].SegmentId, 1);
	EXPECT(is_resident(one));
	EXPECT_EQ(complete(0), 8);
	AWAIT(pending(PAGING) > 0 || !is_resident(one));
	while (pending(PAGING) > 0)
		complete(PAGING);
	EXPECT_EQ(execution_state(device), 1);
}

TEST(resident, before_the_paging_fence_is_reached_is_too_early)
{
	UINT64 value;

	begin_painting();
	open_queue();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE one = allocate(MIB);
	EXPECT_EQ(ask_for(one, &value), STATUS_PENDING);
	paint_with(&painter, one);
	EXPECT_OK(paint(&painter, 8));
	AWAIT(execution_state(device) == LOST_FAULT);
	EXPECT_EQ(renders_submitted(0), 0);
	EXPECT_EQ(pending(0), 0);
	page_to(value);
}

PAINT_TEST(resident, behind_a_wait_for_the_paging_fence_is_in_time)
{
	UINT64 value;

	open_queue();
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE one = allocate(MIB);
	EXPECT_EQ(ask_for(one, &value), STATUS_PENDING);
	EXPECT_OK(queue_wait(painter.context, queue.hSyncObject, value));
	paint_with(&painter, one);
	EXPECT_OK(paint(&painter, 8));
	for (unsigned i = 0; i < 50; i++)
		let_others();
	EXPECT_EQ(pending(0), 0);
	page_to(value);
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 8);
	EXPECT_EQ(execution_state(device), 1);
}

PAINTING_TEST_MAIN("api/render_resident", SETTINGS)
