/* SPDX-License-Identifier: MIT */
/*
 * render_test.c - DxgkDdiRender, Patch, CancelCommand and ValidateSubmitCommand.
 */
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "miniport/work.h"
#include "support/render_answers.h"

enum { COMMAND_BYTES = 100, BUFFER_BYTES = 256, PATCHES = 4 };

struct scene {
	struct host host;
	struct host_context context;
	uint8_t command[COMMAND_BYTES];
	uint8_t buffer[BUFFER_BYTES];
	uint8_t private_data[32];
	int bindings[3];
	struct miniport_list_entry allocations[3];
	struct miniport_patch_entry patches_in[2];
	struct miniport_patch_entry patches_out[PATCHES];
	struct miniport_render render;
};

static void begin_settings(struct scene *scene, const struct miniport_setting *settings,
			   size_t count)
{
	host_init(&scene->host);
	EXPECT_EQ(host_start_settings(&scene->host, settings, count), STATUS_SUCCESS);
	host_context_create(&scene->host, &scene->context, 0, false);
	for (size_t i = 0; i < COMMAND_BYTES; i++)
		scene->command[i] = (uint8_t)i;
	scene->allocations[0] =
		(struct miniport_list_entry){ &scene->bindings[0], true, 1, 0x3000 };
	scene->allocations[1] = (struct miniport_list_entry){ &scene->bindings[1], false, 0, 0 };
	scene->allocations[2] =
		(struct miniport_list_entry){ &scene->bindings[2], false, 2, 0x4000 };
	scene->patches_in[0] = (struct miniport_patch_entry){ 0, 1, 2, 3, 4, 5 };
	scene->patches_in[1] = (struct miniport_patch_entry){ 2, 7, 8, 9, 10, 11 };
	scene->render = (struct miniport_render){
		.driver_context = scene->context.info.driver_context,
		.driver_device = scene->context.device,
		.command = scene->command,
		.command_bytes = COMMAND_BYTES,
		.allocations = scene->allocations,
		.allocation_count = 3,
		.patches_in = scene->patches_in,
		.patch_in_count = 2,
		.buffer = scene->buffer,
		.buffer_physical_address = 0x8000,
		.buffer_segment = 2,
		.buffer_bytes = BUFFER_BYTES,
		.private_data = scene->private_data,
		.private_bytes = 32,
		.patches_out = scene->patches_out,
		.patch_out_capacity = PATCHES,
	};
	host_forget_notes(&scene->host);
	host_listen();
}

#define begin(scene, ...)                                                                          \
	begin_settings(                                                                            \
		scene,                                                                             \
		(const struct miniport_setting[]){ TEXT("Model", "physical"), __VA_ARGS__ },       \
		sizeof((const struct miniport_setting[]){ TEXT("Model", "physical"),               \
							  __VA_ARGS__ }) /                         \
			sizeof(struct miniport_setting))

static void end(struct scene *scene)
{
	host_context_destroy(&scene->host, &scene->context);
	host_finish_reported(&scene->host);
}

static NTSTATUS render(struct scene *scene)
{
	return miniport_render(scene->host.miniport, scene->host.client, &scene->render);
}

static void expect_list(const DXGK_ALLOCATIONLIST *list, const struct scene *scene)
{
	EXPECT(list[0].hDeviceSpecificAllocation == &scene->bindings[0]);
	EXPECT(list[0].WriteOperation == 1 && list[0].SegmentId == 1 && list[0].Reserved == 0);
	EXPECT_EQ(list[0].PhysicalAddress.QuadPart, (UINT64_C(1) << 32) + 0x3000);
	EXPECT(list[1].hDeviceSpecificAllocation == &scene->bindings[1]);
	EXPECT(list[1].WriteOperation == 0 && list[1].SegmentId == 0);
	EXPECT_EQ(list[1].PhysicalAddress.QuadPart, 0);
	EXPECT(list[2].SegmentId == 2);
	EXPECT_EQ(list[2].PhysicalAddress.QuadPart, (UINT64_C(2) << 32) + 0x4000);
}

TEST(render, every_field_arrives_and_what_was_written_is_counted)
{
	struct scene scene;
	DXGKARG_RENDER args;
	DXGK_ALLOCATIONLIST list[3];

	begin(&scene, NUMBER("HandCranked", 1));
	EXPECT_EQ(render(&scene), STATUS_SUCCESS);
	EXPECT_STR(scene.host.notes, "Render irql=0 length=100 allocations=3\n");
	EXPECT_EQ(scene.render.used_bytes, COMMAND_BYTES);
	EXPECT_EQ(scene.render.private_used_bytes, 0);
	EXPECT_EQ(scene.render.patch_out_count, 2);
	EXPECT_EQ(memcmp(scene.patches_out, scene.patches_in, sizeof(scene.patches_in)), 0);
	EXPECT_EQ(scene.buffer[99], 99);
	host_fetch(&scene.host, RECORDER_RENDER, &args, sizeof(args), list, sizeof(list));
	EXPECT(args.pCommand == scene.command && args.CommandLength == COMMAND_BYTES);
	EXPECT(args.pDmaBuffer == scene.buffer && args.DmaSize == BUFFER_BYTES);
	EXPECT(args.pDmaBufferPrivateData == scene.private_data &&
	       args.DmaBufferPrivateDataSize == 32);
	EXPECT_EQ(args.AllocationListSize, 3);
	EXPECT((const void *)args.pPatchLocationListIn == scene.patches_in);
	EXPECT_EQ(args.PatchLocationListInSize, 2);
	EXPECT((void *)args.pPatchLocationListOut == scene.patches_out);
	EXPECT_EQ(args.PatchLocationListOutSize, PATCHES);
	EXPECT_EQ(args.MultipassOffset, 0);
	EXPECT_EQ(args.DmaBufferSegmentId, 2);
	EXPECT_EQ(args.DmaBufferPhysicalAddress.QuadPart, (UINT64_C(2) << 32) + 0x8000);
	expect_list(list, &scene);
	end(&scene);
}

TEST(render, a_command_takes_as_many_buffers_as_it_needs)
{
	struct scene scene;

	begin(&scene, NUMBER("HandCranked", 1));
	scene.render.buffer_bytes = 40;
	EXPECT_EQ(render(&scene), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT(scene.render.used_bytes == 40 && scene.render.multipass == 40);
	EXPECT_EQ(render(&scene), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(scene.render.multipass, 80);
	EXPECT_EQ(render(&scene), STATUS_SUCCESS);
	EXPECT_EQ(scene.render.used_bytes, 20);
	EXPECT_EQ(scene.buffer[0], 80);
	EXPECT_EQ(host_reports.count, 0);
	end(&scene);
}

TEST(render, a_driver_without_contexts_gets_the_device)
{
	struct scene scene;

	/* The driver complains when it is anything else. */
	begin(&scene, NUMBER("SchedulingCaps", 0));
	EXPECT_EQ(render(&scene), STATUS_SUCCESS);
	end(&scene);
}

TEST(render, mistakes_with_pointers_are_refused)
{
	static const char *const moves[] = { "back", "past", "patch", "stuck" };

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		struct scene scene;

		begin(&scene, TEXT("RenderMoves", moves[i]));
		EXPECT_EQ(render(&scene), STATUS_DRIVER_INTERNAL_ERROR);
		host_expect_refusal("DDI-DMA-BUFFER");
		EXPECT_EQ(host_reports.count, 1);
		EXPECT_EQ(scene.render.used_bytes, 0);
		end(&scene);
	}
}

TEST(render, documented_failures_reach_the_caller_and_others_do_not)
{
	struct scene scene;

	for (size_t i = 0; i < ARRAY_SIZE(render_answers); i++) {
		begin(&scene, TEXT("Fail", "Render"), NUMBER("FailStatus", render_answers[i]));
		EXPECT_EQ((uint32_t)render(&scene), (uint32_t)render_answers[i]);
		host_expect_refusal("DDI-STATUS");
		EXPECT_EQ(host_reports.count, 0);
		end(&scene);
	}
	begin(&scene, TEXT("Fail", "Render"), NUMBER("FailStatus", STATUS_ACCESS_DENIED));
	EXPECT_EQ(render(&scene), STATUS_DRIVER_INTERNAL_ERROR);
	host_expect_refusal("DDI-STATUS-RENDER");
	EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_RENDER);
	end(&scene);
}

TEST(render, long_lists_need_memory)
{
	enum { MANY = 40 };
	struct scene scene;
	struct miniport_list_entry many[MANY] = { 0 };

	begin(&scene, NUMBER("HandCranked", 1));
	scene.render.allocations = many;
	scene.render.allocation_count = MANY;
	struct mem_usage before = mem_usage();
	mem_fail_nth(1);
	EXPECT_EQ(render(&scene), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT_STR(scene.host.notes, ""); /* the driver was not asked */
	EXPECT_EQ(render(&scene), STATUS_SUCCESS);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
	end(&scene);
}

/* ---- patch and cancel ---- */

static struct miniport_submission submission_of(struct scene *scene)
{
	return (struct miniport_submission){
		.driver_context = scene->context.info.driver_context,
		.driver_device = scene->context.device,
		.fence = 12,
		.segment = 2,
		.physical_address = 0x8000,
		.memory = scene->buffer,
		.buffer_bytes = BUFFER_BYTES,
		.start_bytes = 16,
		.end_bytes = 100,
		.private_data = scene->private_data,
		.private_bytes = 32,
		.private_start_bytes = 1,
		.private_end_bytes = 2,
		.gpu_address = 0x77000,
		.client_private_bytes = 3,
	};
}

static struct miniport_patch patch_of(struct scene *scene,
				      const struct miniport_submission *submission)
{
	return (struct miniport_patch){
		.submission = submission,
		.allocations = scene->allocations,
		.allocation_count = 3,
		.patches = scene->patches_in,
		.patch_count = 2,
		.first_patch = 1,
		.submitted_patches = 1,
	};
}

TEST(patch, every_field_arrives)
{
	struct scene scene;
	DXGKARG_PATCH args;
	DXGK_ALLOCATIONLIST list[3];

	begin(&scene, NUMBER("SchedulingCaps", 0x15));
	struct miniport_submission submission = submission_of(&scene);
	struct miniport_patch patch = patch_of(&scene, &submission);
	submission.is_null = true;
	EXPECT_EQ(miniport_patch(scene.host.miniport, &patch), STATUS_SUCCESS);
	EXPECT_STR(scene.host.notes, "Patch irql=0 fence=12 patches=1\n");
	host_fetch(&scene.host, RECORDER_PATCH, &args, sizeof(args), list, sizeof(list));
	EXPECT(args.hContext == scene.context.info.driver_context);
	EXPECT_EQ(args.DmaBufferSegmentId, 2);
	EXPECT_EQ(args.DmaBufferPhysicalAddress.QuadPart, (UINT64_C(2) << 32) + 0x8000);
	EXPECT(args.pDmaBuffer == scene.buffer && args.DmaBufferSize == BUFFER_BYTES);
	EXPECT(args.DmaBufferSubmissionStartOffset == 16 &&
	       args.DmaBufferSubmissionEndOffset == 100);
	EXPECT(args.pDmaBufferPrivateData == scene.private_data &&
	       args.DmaBufferPrivateDataSize == 32);
	EXPECT(args.DmaBufferPrivateDataSubmissionStartOffset == 1 &&
	       args.DmaBufferPrivateDataSubmissionEndOffset == 2);
	EXPECT_EQ(args.AllocationListSize, 3);
	EXPECT((const void *)args.pPatchLocationList == scene.patches_in);
	EXPECT(args.PatchLocationListSize == 2 && args.PatchLocationListSubmissionStart == 1 &&
	       args.PatchLocationListSubmissionLength == 1);
	EXPECT_EQ(args.SubmissionFenceId, 12);
	EXPECT_EQ(args.Flags.Value, 1 << 3);
	EXPECT_EQ(args.EngineOrdinal, 0);
	expect_list(list, &scene);
	end(&scene);
}

TEST(patch, paging_buffers_have_no_lists)
{
	struct scene scene;
	DXGKARG_PATCH args;

	begin(&scene, NUMBER("SchedulingCaps", 0x15));
	struct miniport_submission submission = { .node = 1, .fence = 2, .is_paging = true };
	EXPECT_EQ(miniport_patch(scene.host.miniport,
				 &(struct miniport_patch){ .submission = &submission }),
		  STATUS_SUCCESS);
	host_fetch(&scene.host, RECORDER_PATCH_PAGING, &args, sizeof(args), NULL, 0);
	EXPECT(!args.pAllocationList && !args.pPatchLocationList);
	EXPECT(args.AllocationListSize == 0 && args.PatchLocationListSize == 0);
	EXPECT_EQ(args.Flags.Value, 1);
	EXPECT(args.hContext == miniport_system_context(scene.host.miniport));
	end(&scene);
}

TEST(patch, a_driver_that_does_not_patch_is_not_asked)
{
	struct scene scene;

	begin(&scene, NUMBER("SchedulingCaps", 0x1d)); /* NoDmaPatching */
	struct miniport_submission submission = submission_of(&scene);
	struct miniport_patch patch = patch_of(&scene, &submission);
	EXPECT_EQ(miniport_patch(scene.host.miniport, &patch), STATUS_SUCCESS);
	EXPECT_STR(scene.host.notes, "");
	end(&scene);
}

TEST(patch, it_must_succeed)
{
	struct scene scene;

	begin(&scene, TEXT("Fail", "Patch"));
	struct miniport_submission submission = submission_of(&scene);
	struct miniport_patch patch = patch_of(&scene, &submission);
	EXPECT_EQ(miniport_patch(scene.host.miniport, &patch), STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_PATCH);
	end(&scene);
}

TEST(cancel, every_field_arrives)
{
	struct scene scene;
	DXGKARG_CANCELCOMMAND args;
	DXGK_ALLOCATIONLIST list[3];

	begin(&scene, NUMBER("SchedulingCaps", 0x15));
	struct miniport_submission submission = submission_of(&scene);
	struct miniport_patch patch = patch_of(&scene, &submission);
	miniport_cancel(scene.host.miniport, &submission, &patch);
	EXPECT_STR(scene.host.notes, "CancelCommand irql=0 context=1 allocations=3\n");
	host_fetch(&scene.host, RECORDER_CANCEL_COMMAND, &args, sizeof(args), list, sizeof(list));
	EXPECT(args.hContext == scene.context.info.driver_context);
	EXPECT(args.pDmaBuffer == scene.buffer && args.DmaBufferSize == BUFFER_BYTES);
	EXPECT(args.DmaBufferSubmissionStartOffset == 16 &&
	       args.DmaBufferSubmissionEndOffset == 100);
	EXPECT(args.pDmaBufferPrivateData == scene.private_data &&
	       args.DmaBufferPrivateDataSize == 32 &&
	       args.DmaBufferPrivateDataSubmissionStartOffset == 1 &&
	       args.DmaBufferPrivateDataSubmissionEndOffset == 2);
	EXPECT(args.AllocationListSize == 3 && args.PatchLocationListSize == 2 &&
	       args.PatchLocationListSubmissionStart == 1 &&
	       args.PatchLocationListSubmissionLength == 1);
	EXPECT_EQ(args.DmaBufferVirtualAddress, 0x77000);
	EXPECT_EQ(args.DmaBufferUmdPrivateDataSize, 3);
	expect_list(list, &scene);
	miniport_cancel(scene.host.miniport, &submission, NULL);
	host_fetch(&scene.host, RECORDER_CANCEL_COMMAND, &args, sizeof(args), NULL, 0);
	EXPECT(args.AllocationListSize == 0 && !args.pPatchLocationList);
	end(&scene);
}

TEST(cancel, it_must_succeed)
{
	struct scene scene;

	begin(&scene, NUMBER("SchedulingCaps", 0x15), TEXT("Fail", "CancelCommand"));
	struct miniport_submission submission = submission_of(&scene);
	miniport_cancel(scene.host.miniport, &submission, NULL);
	EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_CANCEL);
	end(&scene);
}

TEST(cancel, who_does_not_want_to_know_is_not_told)
{
	struct scene scene;

	begin(&scene, NUMBER("SchedulingCaps", 0x05));
	struct miniport_submission submission = submission_of(&scene);
	miniport_cancel(scene.host.miniport, &submission, NULL);
	EXPECT_STR(scene.host.notes, "");
	end(&scene);
}

/* ---- validation ---- */

static struct miniport_validation validation_of(struct scene *scene)
{
	return (struct miniport_validation){
		.targets = &scene->context.info.driver_context,
		.target_count = 1,
		.gpu_address = 0x5000,
		.size_bytes = 64,
		.private_data = scene->private_data,
		.private_bytes = 32,
		.client_private_bytes = 8,
	};
}

TEST(validate, every_field_arrives)
{
	struct scene scene;
	DXGKARG_VALIDATESUBMITCOMMAND args;

	begin(&scene, NUMBER("SchedulingCaps", 0x15));
	void *context = scene.context.info.driver_context;
	void *contexts[2] = { context, context };
	struct miniport_validation validation = validation_of(&scene);
	validation.targets = contexts;
	validation.target_count = 2;
	EXPECT_EQ(miniport_validate_submission(scene.host.miniport, scene.host.client, &validation),
		  STATUS_SUCCESS);
	EXPECT_STR(scene.host.notes, "ValidateSubmitCommand irql=0 length=64 private=32\n");
	host_fetch(&scene.host, RECORDER_VALIDATE_SUBMIT_COMMAND, &args, sizeof(args), NULL, 0);
	EXPECT(args.Commands == 0x5000 && args.CommandLength == 64 && args.Flags.Value == 0);
	EXPECT(args.ContextCount == 2 && args.Context[0] == context && args.Context[1] == context);
	EXPECT(args.pPrivateDriverData == scene.private_data && args.PrivateDriverDataSize == 32 &&
	       args.UmdPrivateDataSize == 8);
	EXPECT_EQ(args.HwQueueProgressFenceId, 0);
	/* Only private data of the client is there to be judged. */
	host_forget_notes(&scene.host);
	validation.client_private_bytes = 0;
	EXPECT_EQ(miniport_validate_submission(scene.host.miniport, scene.host.client, &validation),
		  STATUS_SUCCESS);
	EXPECT_STR(scene.host.notes, "");
	end(&scene);
}

TEST(validate, it_fails_for_the_buffer_only)
{
	static const struct {
		NTSTATUS said;
		NTSTATUS expected;
		unsigned reports;
	} cases[] = {
		{ STATUS_INVALID_USER_BUFFER, STATUS_INVALID_USER_BUFFER, 0 },
		{ STATUS_INVALID_PARAMETER, STATUS_DRIVER_INTERNAL_ERROR, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene;

		begin(&scene, TEXT("Fail", "ValidateSubmitCommand"),
		      NUMBER("FailStatus", cases[i].said));
		struct miniport_validation validation = validation_of(&scene);
		EXPECT_EQ((uint32_t)miniport_validate_submission(scene.host.miniport,
								 scene.host.client, &validation),
			  (uint32_t)cases[i].expected);
		EXPECT_EQ(host_reports.count, cases[i].reports);
		end(&scene);
	}
}

TEST(validate, a_driver_that_does_not_validate_accepts)
{
	struct scene scene;

	begin(&scene, TEXT("Missing", "ValidateSubmitCommand"));
	struct miniport_validation validation = validation_of(&scene);
	EXPECT_EQ(miniport_validate_submission(scene.host.miniport, scene.host.client, &validation),
		  STATUS_SUCCESS);
	end(&scene);
}

HOST_TEST(render, a_driver_without_physical_addresses_has_none)
{
	EXPECT_EQ(host_start(host, TEXT("Missing", "Render")), STATUS_SUCCESS);
	EXPECT_EQ(miniport_render(host->miniport, host->client, &(struct miniport_render){ 0 }),
		  STATUS_NOT_SUPPORTED);
	host_expect_refusal("DDI-ENTRY-MISSING");
}

TEST_MAIN("miniport/render")
