/* SPDX-License-Identifier: MIT */
/*
 * kept_name_test.c - a driver took back what it called memory that the kernel keeps for it: no
 * operation names it from then on.
 */
#include "base/clock.h"
#include "miniport/kept_name.h"
#include "paging_world.h"

static int cookie;

static struct miniport_paging_op about(struct miniport_kept_name *name,
				       enum miniport_paging_kind kind)
{
	return (struct miniport_paging_op){
		.kind = kind,
		.subject = { .driver_allocation = &cookie, .kept = name },
	};
}

static struct miniport_paging_op discard_of(struct miniport_kept_name *name)
{
	struct miniport_paging_op op = about(name, MINIPORT_PAGING_DISCARD_CONTENT);

	op.target.segment = 1;
	return op;
}

TEST(name, is_told_until_it_is_taken_back)
{
	struct miniport_kept_name name = { 0 };
	struct miniport_paging_op op = discard_of(&name);
	struct pager pager;

	begin(&pager, NUMBER("PagingBytes", 64));
	EXPECT_EQ(build(&pager, &op), STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(&pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_DISCARD_CONTENT);
	EXPECT(args.DiscardContent.hAllocation == &cookie);

	miniport_name_end(&name, true);
	uint32_t used = pager.buffer.used_bytes;
	EXPECT_EQ(build(&pager, &op), STATUS_SUCCESS);
	EXPECT_EQ(pager.buffer.used_bytes, used);
	EXPECT_STR(pager.host.notes, "BuildPagingBuffer irql=0 operation=2 room=4096\n");
	EXPECT_EQ(host_reports.count, 0);
	end(&pager);
}

TEST(name, content_that_nobody_wants_is_not_moved)
{
	static const enum miniport_paging_kind kinds[] = {
		MINIPORT_PAGING_TRANSFER,         MINIPORT_PAGING_FILL,
		MINIPORT_PAGING_VIRTUAL_TRANSFER, MINIPORT_PAGING_VIRTUAL_FILL,
		MINIPORT_PAGING_NOTIFY_RESIDENCY,
	};
	struct miniport_kept_name name = { 0 };
	struct pager pager;

	begin(&pager, NUMBER("PagingBytes", 64));
	miniport_name_end(&name, true);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct miniport_paging_op op = about(&name, kinds[i]);

		EXPECT_EQ(build(&pager, &op), STATUS_SUCCESS);
	}
	EXPECT_EQ(pager.buffer.used_bytes, 0);
	EXPECT_STR(pager.host.notes, "");
	end(&pager);
}

TEST(name, the_hardware_is_told_without_it)
{
	struct miniport_kept_name name = { 0 };
	struct miniport_paging_op unmap = about(&name, MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT);
	struct miniport_pte entry = { 0 };
	struct miniport_paging_op update = about(&name, MINIPORT_PAGING_UPDATE_PAGE_TABLE);
	struct pager pager;

	begin(&pager, NUMBER("PagingBytes", 64));
	miniport_name_end(&name, true);
	unmap.target.segment = 2;
	unmap.size_bytes = 4096;
	EXPECT_EQ(build(&pager, &unmap), STATUS_SUCCESS);
	DXGKARG_BUILDPAGINGBUFFER args = seen(&pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
	EXPECT(!args.UnmapApertureSegment.hAllocation);

	pager.multipass = 0;
	update.update_table.mode = MINIPORT_TABLE_GPU_VIRTUAL;
	update.update_table.entries = &entry;
	update.update_table.count = 1;
	EXPECT_EQ(build(&pager, &update), STATUS_SUCCESS);
	args = seen(&pager, NULL, 0);
	EXPECT_EQ(args.Operation, DXGK_OPERATION_UPDATE_PAGE_TABLE);
	EXPECT(!args.UpdatePageTable.hAllocation);
	end(&pager);
}

/* ---- calls under way ---- */

static _Atomic bool has_ended;

static void end_it(void *argument)
{
	miniport_name_end(argument, true);
	has_ended = true;
}

TEST(name, is_taken_back_after_the_call_with_it)
{
	struct miniport_kept_name name = { 0 };
	struct thread *thread = NULL;

	has_ended = false;
	EXPECT(miniport_name_enter(&name));
	EXPECT_EQ(thread_create("destroyer", end_it, &name, &thread), STATUS_SUCCESS);
	while (!name.is_over)
		clock_sleep_until(clock_deadline(NS_PER_MS));
	EXPECT(!miniport_name_enter(&name));
	EXPECT(!has_ended);
	miniport_name_leave(&name);
	thread_join(thread);
	EXPECT(has_ended);
}

TEST(name, is_taken_back_inside_the_call_with_it)
{
	struct miniport_kept_name name = { 0 };

	EXPECT(miniport_name_enter(&name));
	miniport_name_end(&name, false);
	miniport_name_leave(&name);
	EXPECT(!miniport_name_enter(&name));
}

TEST_MAIN("miniport/kept_name")
