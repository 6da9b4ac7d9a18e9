/* SPDX-License-Identifier: MIT */
/*
 * render_driver_test.c - D3DKMTRender and what DxgkDdiRender answers: passes, and failures.
 */
#include "api/render.h"
#include "support/render_answers.h"

#define SETTINGS "\"Model\": \"physical\", \"Version\": 16386, "

static void begin_with(const char *more)
{
	char settings[512];

	snprintf(settings, sizeof(settings), SETTINGS "%s", more);
	crank_profile(settings);
	begin_painting();
}

CHILD(commands_in_passes)
{
	DXGKARG_SUBMITCOMMAND submission;

	begin_with("\"RenderBytes\": 100, ");
	struct painter painter = painter_on(0);
	for (unsigned i = 0; i < 250; i++)
		painter.commands[i] = (UCHAR)i;
	EXPECT_OK(paint(&painter, 250));
	EXPECT_EQ(painter.args.QueuedBufferCount, 3);
	EXPECT_STR(pending_tags(0), "100 100 50 ");
	EXPECT_EQ(notes_count("Render irql=0 length=250"), 3);
	EXPECT(notes_in_order("Render", "SubmitCommand irql=2 node=0"));
	submission = last_submission();
	EXPECT_EQ(submission.DmaBufferSubmissionStartOffset, 0);
	EXPECT_EQ(submission.DmaBufferSubmissionEndOffset, 50);
	complete_all(0, 3);
	expect_nothing_wrong();
	return 0;
}

TEST(pass, a_command_becomes_as_many_packets_as_it_takes_buffers)
{
	EXPECT_CHILD(run_child("commands_in_passes"), 0);
}

/* Before WDDM 2.0 an allocation may be such that the GPU only reads it. */
CHILD(read_segments)
{
	begin_with("\"Allocation.SupportedReadSegmentSet\": 1, "
		   "\"Allocation.SupportedWriteSegmentSet\": 0, ");
	struct painter painter = painter_on(0);
	D3DKMT_HANDLE allocation = allocate(64 * KIB);

	paint_with(&painter, allocation);
	EXPECT_OK(paint(&painter, 8));
	complete_all(0, 1);
	EXPECT_EQ(execution_state(device), 1);
	EXPECT(is_resident(allocation));
	expect_nothing_wrong();
	return 0;
}

TEST(place, of_what_is_only_read_is_where_it_may_be_read)
{
	EXPECT_CHILD(run_child("read_segments"), 0);
}

/* What may be read in more places than written is where both is possible. */
CHILD(read_and_write_segments)
{
	DXGK_ALLOCATIONLIST list[1];

	begin_with("\"Allocation.SupportedReadSegmentSet\": 3, "
		   "\"Allocation.SupportedWriteSegmentSet\": 2, "
		   "\"Allocation.PreferredSegment\": 1, ");
	struct painter painter = painter_on(0);
	paint_with(&painter, allocate(64 * KIB));
	EXPECT_OK(paint(&painter, 8));
	complete_all(0, 1);
	(void)last_patch(list, 1);
	EXPECT_EQ(list[0].SegmentId, 2);
	expect_nothing_wrong();
	return 0;
}

TEST(place, of_what_is_also_written_is_where_it_may_be_written)
{
	EXPECT_CHILD(run_child("read_and_write_segments"), 0);
}

CHILD(failure_in_a_later_pass)
{
	begin_with("\"RenderBytes\": 100, \"Fail\": \"Render\", \"FailAt\": 3, "
		   "\"FailStatus\": 3221225501, "); /* STATUS_ILLEGAL_INSTRUCTION */
	struct painter painter = painter_on(0);
	EXPECT_REFUSED(paint(&painter, 250), STATUS_ILLEGAL_INSTRUCTION, "DDI-STATUS",
		       "DxgkDdiRender");
	EXPECT_EQ(notes_count("Render"), 3);
	EXPECT_EQ(pending(0), 0);
	EXPECT_EQ(painter.args.QueuedBufferCount, 0);
	EXPECT_OK(paint(&painter, 250));
	EXPECT_STR(pending_tags(0), "100 100 50 ");
	complete_all(0, 3);
	return 0;
}

TEST(pass, a_failure_in_a_later_one_leaves_nothing_of_the_earlier_ones)
{
	EXPECT_CHILD(run_child("failure_in_a_later_pass"), 0);
}

CHILD(answer)
{
	NTSTATUS answer = render_answers[atoi(getenv("TEST_ANSWER"))];
	char settings[128];

	snprintf(settings, sizeof(settings), "\"Fail\": \"Render\", \"FailStatus\": %u, ",
		 (unsigned)answer);
	begin_with(settings);
	struct painter painter = painter_on(0);
	EXPECT_REFUSED(paint(&painter, 8), answer, "DDI-STATUS", "DxgkDdiRender");
	EXPECT_EQ(pending(0), 0);
	bool is_lost = answer == STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE;
	EXPECT_EQ(execution_state(device), is_lost ? LOST_FAULT : 1);
	if (!is_lost) {
		EXPECT_OK(paint(&painter, 16));
		EXPECT_EQ(complete(0), 16);
	}
	return 0;
}

TEST(answer, of_the_driver_reaches_the_client_and_an_exception_loses_the_device)
{
	for (unsigned i = 0; i < sizeof(render_answers) / sizeof(render_answers[0]); i++) {
		char which[32];

		snprintf(which, sizeof(which), "TEST_ANSWER=%u", i);
		EXPECT_CHILD(run_child("answer", which), 0);
	}
}

CHILD(mistake)
{
	begin_with("\"RenderMoves\": \"past\", ");
	struct painter painter = painter_on(0);
	EXPECT_REFUSED(paint(&painter, 8), STATUS_DRIVER_INTERNAL_ERROR, "DDI-DMA-BUFFER",
		       "DxgkDdiRender");
	EXPECT_EQ(pending(0), 0);
	EXPECT_EQ(painter.args.QueuedBufferCount, 0);
	return 0;
}

TEST(answer, that_is_a_mistake_queues_nothing)
{
	EXPECT_CHILD(run_child("mistake"), 0);
}

CHILD(patch_fails)
{
	begin_with("\"Fail\": \"Patch\", ");
	struct painter painter = painter_on(0);
	EXPECT_OK(paint(&painter, 8));
	AWAIT(execution_state(device) == LOST_FAULT);
	EXPECT_EQ(pending(0), 0);
	return 0;
}

TEST(answer, of_a_patch_that_fails_loses_the_device)
{
	EXPECT_CHILD(run_child("patch_fails"), 0);
}

CHILD(addresses)
{
	crank_profile("");
	begin_painting();
	struct painter painter = painter_on(0);
	EXPECT(!painter.commands && !painter.list && !painter.patches);
	EXPECT_REFUSED(paint(&painter, 8), STATUS_NOT_SUPPORTED, "API-VALUE", "hContext");
	painter.args.hContext = create_virtual(0);
	EXPECT_BAD(paint(&painter, 8), "API-VALUE", "hContext");
	return 0;
}

TEST(model, with_gpu_addresses_has_nothing_to_render_by_list)
{
	EXPECT_CHILD(run_child("addresses"), 0);
}

int main(int argc, char **argv)
{
	return api_main("api/render_driver", argc, argv);
}
