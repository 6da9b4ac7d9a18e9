/* SPDX-License-Identifier: MIT */
/*
 * submission_test.c - DxgkDdiSubmitCommand, …Virtual, …ToHwQueue: what arrives, what its answers
 * mean, and what becomes of what was submitted to a driver that is turned by hand.
 */
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "miniport/work.h"
#include "nt/dpc.h"

static uint8_t private_data[32];

static struct miniport_submission physical_of(const struct host_context *context)
{
	return (struct miniport_submission){
		.driver_context = context->info.driver_context,
		.driver_device = context->device,
		.node = 0,
		.fence = 77,
		.segment = 2,
		.physical_address = 0x5000,
		.buffer_bytes = 8192,
		.start_bytes = 256,
		.end_bytes = 512,
		.private_data = private_data,
		.private_bytes = 32,
		.private_start_bytes = 4,
		.private_end_bytes = 12,
	};
}

/* ---- physical ---- */

TEST(physical, every_field_arrives)
{
	struct host host;
	struct host_context context;
	DXGKARG_SUBMITCOMMAND args;

	host_init(&host);
	EXPECT_EQ(host_start(&host, TEXT("Model", "physical")), STATUS_SUCCESS);
	host_context_create(&host, &context, 0, false);
	host_forget_notes(&host);
	EXPECT(!miniport_submits_virtually(host.miniport, false));
	struct miniport_submission submission = physical_of(&context);
	EXPECT_EQ(miniport_submit(host.miniport, false, &submission), STATUS_SUCCESS);
	EXPECT_CONTAINS(host.notes, "SubmitCommand irql=2 node=0 fence=77\n");
	EXPECT_EQ(host_fetch(&host, RECORDER_SUBMIT_COMMAND, &args, sizeof(args), NULL, 0), 1);
	EXPECT(args.hContext == context.info.driver_context);
	EXPECT_EQ(args.DmaBufferSegmentId, 2);
	EXPECT_EQ(args.DmaBufferPhysicalAddress.QuadPart, (UINT64_C(2) << 32) + 0x5000);
	EXPECT_EQ(args.DmaBufferSize, 8192);
	EXPECT_EQ(args.DmaBufferSubmissionStartOffset, 256);
	EXPECT_EQ(args.DmaBufferSubmissionEndOffset, 512);
	EXPECT(args.pDmaBufferPrivateData == private_data);
	EXPECT_EQ(args.DmaBufferPrivateDataSize, 32);
	EXPECT_EQ(args.DmaBufferPrivateDataSubmissionStartOffset, 4);
	EXPECT_EQ(args.DmaBufferPrivateDataSubmissionEndOffset, 12);
	EXPECT_EQ(args.SubmissionFenceId, 77);
	EXPECT_EQ(args.Flags.Value, 0);
	EXPECT_EQ(args.EngineOrdinal, 0);
	EXPECT_EQ(args.NodeOrdinal, 0);

	/* In system memory the address is the address. */
	submission.segment = 0;
	submission.physical_address = 0x123000;
	submission.fence = 78;
	submission.is_null = true;
	submission.is_resubmission = true;
	EXPECT_EQ(miniport_submit(host.miniport, false, &submission), STATUS_SUCCESS);
	EXPECT_EQ(host_fetch(&host, RECORDER_SUBMIT_COMMAND, &args, sizeof(args), NULL, 0), 2);
	EXPECT_EQ(args.DmaBufferPhysicalAddress.QuadPart, 0x123000);
	EXPECT_EQ(args.Flags.Value, 1 << 3 | 1 << 7);
	host_context_destroy(&host, &context);
	host_finish(&host);
}

TEST(physical, the_kernels_own_work_names_its_context_on_the_paging_node)
{
	struct host host;
	DXGKARG_SUBMITCOMMAND args;

	host_init(&host);
	EXPECT_EQ(host_start(&host, TEXT("Model", "physical")), STATUS_SUCCESS);
	EXPECT_EQ(miniport_submit(host.miniport, false,
				  &(struct miniport_submission){
					  .node = 1, .fence = 5, .is_paging = true }),
		  STATUS_SUCCESS);
	host_fetch(&host, RECORDER_SUBMIT_COMMAND, &args, sizeof(args), NULL, 0);
	EXPECT(args.hContext == miniport_system_context(host.miniport));
	EXPECT_EQ(args.NodeOrdinal, 1);
	EXPECT_EQ(args.Flags.Value, 1);
	/* The context that is loaded on another node leaves it, and nobody comes. */
	EXPECT_EQ(miniport_submit(host.miniport, false,
				  &(struct miniport_submission){
					  .node = 0, .fence = 6, .is_context_switch = true }),
		  STATUS_SUCCESS);
	host_fetch(&host, RECORDER_SUBMIT_COMMAND, &args, sizeof(args), NULL, 0);
	EXPECT(args.hContext == NULL);
	EXPECT_EQ(args.Flags.Value, 1 << 6);
	EXPECT_EQ(args.DmaBufferSubmissionStartOffset, args.DmaBufferSubmissionEndOffset);
	host_finish(&host);
}

TEST(physical, a_driver_without_contexts_gets_devices)
{
	struct host host;
	struct host_context context;
	DXGKARG_SUBMITCOMMAND args;

	host_init(&host);
	EXPECT_EQ(host_start(&host, TEXT("Model", "physical"), NUMBER("SchedulingCaps", 0)),
		  STATUS_SUCCESS);
	host_context_create(&host, &context, 0, false);
	struct miniport_submission submission = physical_of(&context);
	EXPECT_EQ(miniport_submit(host.miniport, false, &submission), STATUS_SUCCESS);
	host_fetch(&host, RECORDER_SUBMIT_COMMAND, &args, sizeof(args), NULL, 0);
	EXPECT(args.hDevice == context.device);
	host_context_destroy(&host, &context);
	host_finish(&host);
}

TEST(physical, old_drivers_know_neither_context_switches_nor_resubmissions)
{
	struct host host;
	DXGKARG_SUBMITCOMMAND args;
	struct miniport_submission submission = { .node = 0, .fence = 1, .is_resubmission = true };

	host_init(&host);
	EXPECT_EQ(host_start(&host, TEXT("Model", "physical"),
			     NUMBER("Version", DXGKDDI_INTERFACE_VERSION_WIN7)),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_submit(host.miniport, false, &submission), STATUS_SUCCESS);
	host_fetch(&host, RECORDER_SUBMIT_COMMAND, &args, sizeof(args), NULL, 0);
	EXPECT_EQ(args.Flags.Value, 0);
	submission.is_context_switch = true;
	EXPECT_EQ(miniport_submit(host.miniport, false, &submission), STATUS_NOT_SUPPORTED);
	host_finish(&host);
}

TEST(physical, it_must_succeed)
{
	struct host host;

	host_init(&host);
	EXPECT_EQ(host_start(&host, TEXT("Model", "physical"),
			     NUMBER("SubmitStatus", STATUS_INVALID_PARAMETER)),
		  STATUS_SUCCESS);
	host_listen();
	EXPECT_EQ(
		miniport_submit(host.miniport, false, &(struct miniport_submission){ .fence = 1 }),
		STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_SUBMIT);
	host_finish_reported(&host);
}

/* ---- virtual ---- */

TEST(virtual, every_field_arrives)
{
	struct host host;
	struct host_context context;
	DXGKARG_SUBMITCOMMANDVIRTUAL args;

	host_init(&host);
	EXPECT_EQ(host_start_settings(&host, NULL, 0), STATUS_SUCCESS);
	EXPECT(miniport_submits_virtually(host.miniport, true));
	EXPECT(!miniport_submits_virtually(host.miniport, false));
	host_context_create(&host, &context, 1, true);
	host_forget_notes(&host);
	EXPECT_EQ(miniport_submit(host.miniport, true,
				  &(struct miniport_submission){
					  .driver_context = context.info.driver_context,
					  .driver_device = context.device,
					  .node = 1,
					  .fence = 9,
					  .is_resubmission = true,
					  .gpu_address = 0x123456000,
					  .size_bytes = 640,
					  .private_data = private_data,
					  .private_bytes = 32,
					  .private_start_bytes = 8,
					  .private_end_bytes = 16,
					  .client_private_bytes = 20,
				  }),
		  STATUS_SUCCESS);
	EXPECT_CONTAINS(host.notes, "SubmitCommandVirtual irql=2 node=1 fence=9\n");
	EXPECT_EQ(host_fetch(&host, RECORDER_SUBMIT_COMMAND_VIRTUAL, &args, sizeof(args), NULL, 0),
		  1);
	EXPECT(args.hContext == context.info.driver_context);
	EXPECT_EQ(args.DmaBufferVirtualAddress, 0x123456000);
	EXPECT_EQ(args.DmaBufferSize, 640);
	EXPECT(args.pDmaBufferPrivateData == private_data + 8);
	EXPECT_EQ(args.DmaBufferPrivateDataSize, 24);
	EXPECT_EQ(args.DmaBufferUmdPrivateDataSize, 20);
	EXPECT_EQ(args.SubmissionFenceId, 9);
	EXPECT_EQ(args.Flags.Value, 1 << 7);
	EXPECT_EQ(args.EngineOrdinal, 0);
	EXPECT_EQ(args.NodeOrdinal, 1);
	host_context_destroy(&host, &context);
	host_finish(&host);
}

HOST_TEST(virtual, paging_goes_there_when_there_is_nothing_else)
{
	EXPECT_EQ(host_start(host, TEXT("Missing", "SubmitCommand")), STATUS_SUCCESS);
	EXPECT(miniport_submits_virtually(host->miniport, false));
	EXPECT_EQ(
		miniport_submit(host->miniport, false, &(struct miniport_submission){ .fence = 1 }),
		STATUS_NOT_SUPPORTED);
	host_expect_refusal("DDI-ENTRY-MISSING");
}

static void expect_virtual_status(NTSTATUS said, NTSTATUS expected, const char *rule,
				  unsigned reports)
{
	struct host host;

	host_init(&host);
	EXPECT_EQ(host_start(&host, NUMBER("SubmitStatus", said)), STATUS_SUCCESS);
	host_listen();
	EXPECT_EQ((uint32_t)miniport_submit(host.miniport, true,
					    &(struct miniport_submission){ .fence = 1 }),
		  (uint32_t)expected);
	host_expect_refusal(rule);
	EXPECT_EQ(host_reports.count, reports);
	host_finish_reported(&host);
}

TEST(virtual, malformed_private_data_is_the_clients_fault_and_all_else_the_drivers)
{
	expect_virtual_status(STATUS_INVALID_PARAMETER, STATUS_INVALID_PARAMETER, "DDI-STATUS", 0);
	expect_virtual_status(STATUS_NO_MEMORY, STATUS_DRIVER_INTERNAL_ERROR, "DDI-STATUS-SUBMIT",
			      1);
	expect_virtual_status(STATUS_PENDING, STATUS_DRIVER_INTERNAL_ERROR, "DDI-STATUS-SUBMIT", 1);
}

/* ---- by hand ---- */

static unsigned crank(struct host *host, struct recorder_escape escape)
{
	EXPECT_EQ(host_escape(host, &escape), STATUS_SUCCESS);
	nt_dpc_flush();
	return escape.result;
}

static void submit(struct host *host, uint32_t fence)
{
	EXPECT_EQ(miniport_submit(host->miniport, true,
				  &(struct miniport_submission){ .node = 0, .fence = fence }),
		  STATUS_SUCCESS);
	nt_dpc_flush();
}

HOST_TEST(crank, without_it_work_completes_at_once)
{
	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	submit(host, 3);
	EXPECT_EQ(host->event_count, 1);
	EXPECT(host->events[0].kind == 'c' && host->events[0].fence == 3);
}

TEST(crank, nothing_completes_until_the_test_says_so)
{
	struct host host;

	host_init(&host);
	EXPECT_EQ(host_start(&host, NUMBER("HandCranked", 1)), STATUS_SUCCESS);
	for (uint32_t fence = 1; fence <= 4; fence++)
		submit(&host, fence);
	EXPECT_EQ(host.event_count, 0);
	struct recorder_escape pending = { .command = RECORDER_PENDING };
	EXPECT_EQ(host_escape(&host, &pending), STATUS_SUCCESS);
	EXPECT(pending.result == 4 && pending.fence == 1 && pending.last == 4);
	EXPECT_EQ(crank(&host, (struct recorder_escape){ .command = RECORDER_COMPLETE }), 1);
	EXPECT(host.event_count == 1 && host.events[0].kind == 'c' && host.events[0].fence == 1);
	EXPECT_EQ(
		crank(&host, (struct recorder_escape){ .command = RECORDER_COMPLETE, .fence = 3 }),
		3);
	EXPECT(host.event_count == 2 && host.events[1].fence == 3);
	EXPECT_EQ(crank(&host, (struct recorder_escape){ .command = RECORDER_FAULT,
							 .type = DXGK_INTERRUPT_DMA_FAULTED,
							 .status = STATUS_UNSUCCESSFUL }),
		  4);
	EXPECT(host.event_count == 3 && host.events[2].kind == 'f' && host.events[2].fence == 4);
	EXPECT_EQ(crank(&host, (struct recorder_escape){ .command = RECORDER_COMPLETE }), 0);
	host_finish(&host);
}

TEST(crank, a_preemption_is_answered_at_once_or_when_the_test_says_so)
{
	for (uint32_t is_held = 0; is_held < 2; is_held++) {
		struct host host;

		host_init(&host);
		EXPECT_EQ(host_start(&host, NUMBER("HandCranked", 1),
				     NUMBER("HoldPreemption", is_held)),
			  STATUS_SUCCESS);
		submit(&host, 1);
		submit(&host, 2);
		EXPECT_EQ(crank(&host, (struct recorder_escape){ .command = RECORDER_COMPLETE }),
			  1);
		miniport_preempt(host.miniport, 0, 1000);
		nt_dpc_flush();
		if (is_held) {
			EXPECT_EQ(host.event_count, 1);
			EXPECT_EQ(crank(&host,
					(struct recorder_escape){ .command = RECORDER_PREEMPT }),
				  1000);
		}
		EXPECT_EQ(host.event_count, 2);
		EXPECT(host.events[1].kind == 'p' && host.events[1].fence == 1000 &&
		       host.events[1].last_completed == 1);
		EXPECT_EQ(crank(&host, (struct recorder_escape){ .command = RECORDER_PENDING }), 0);
		host_finish(&host);
	}
}

/* ---- hardware queues ---- */

TEST(hw_queue, every_field_arrives)
{
	struct host host;
	struct host_context context;
	void *hw_context = NULL;
	void *queue = NULL;
	int kernel_context;
	int kernel_queue;
	uint64_t fence = 0;
	DXGKARG_CREATEHWCONTEXT context_args;
	DXGKARG_CREATEHWQUEUE queue_args;
	DXGKARG_SUBMITCOMMANDTOHWQUEUE args;

	host_init(&host);
	EXPECT_EQ(host_start(&host, NUMBER("HwQueues", 1)), STATUS_SUCCESS);
	EXPECT(miniport_has_hw_queues(host.miniport));
	host_context_create(&host, &context, 0, true);
	EXPECT_EQ(miniport_create_hw_context(
			  host.miniport, host.client,
			  &(struct miniport_context_desc){ .kernel_handle = &kernel_context,
							   .driver_device = context.device,
							   .node = 1,
							   .engine_mask = 1,
							   .private_data = private_data,
							   .private_bytes = 5 },
			  &hw_context),
		  STATUS_SUCCESS);
	host_fetch(&host, RECORDER_CREATE_HW_CONTEXT, &context_args, sizeof(context_args), NULL, 0);
	EXPECT(context_args.hHwContext == &kernel_context && context_args.NodeOrdinal == 1 &&
	       context_args.EngineAffinity == 1 && context_args.PrivateDriverDataSize == 5 &&
	       context_args.pPrivateDriverData);
	EXPECT_EQ(miniport_create_hw_queue(
			  host.miniport, host.client,
			  &(struct miniport_hw_queue_desc){ .kernel_handle = &kernel_queue,
							    .driver_context = hw_context,
							    .is_hw_context = true,
							    .private_data = private_data,
							    .private_bytes = 6,
							    .flags = 2,
							    .progress_fence = 0x40000001,
							    .fence_gpu_address = 0x9000,
							    .fence_pointer = &fence },
			  &queue),
		  STATUS_SUCCESS);
	host_fetch(&host, RECORDER_CREATE_HW_QUEUE, &queue_args, sizeof(queue_args), NULL, 0);
	EXPECT(queue_args.hHwQueue == &kernel_queue && queue_args.Flags.Value == 2 &&
	       queue_args.PrivateDriverDataSize == 6 && queue_args.pPrivateDriverData &&
	       queue_args.hHwQueueProgressFence == 0x40000001 &&
	       queue_args.HwQueueProgressFenceCPUVirtualAddress == &fence &&
	       queue_args.HwQueueProgressFenceGPUVirtualAddress == 0x9000);
	EXPECT_EQ(miniport_submit_to_hw_queue(
			  host.miniport,
			  &(struct miniport_hw_submission){ .driver_queue = queue,
							    .progress_fence_value = 1ull << 33,
							    .gpu_address = 0xa000,
							    .size_bytes = 48,
							    .private_data = private_data,
							    .private_bytes = 7,
							    .fence_gpu_address = 0x9000,
							    .fence_pointer = &fence }),
		  STATUS_SUCCESS);
	host_fetch(&host, RECORDER_SUBMIT_COMMAND_TO_HW_QUEUE, &args, sizeof(args), NULL, 0);
	EXPECT(args.hHwQueue == queue && args.HwQueueProgressFenceId == 1ull << 33 &&
	       args.DmaBufferVirtualAddress == 0xa000 && args.DmaBufferSize == 48 &&
	       args.DmaBufferPrivateDataSize == 7 && args.pDmaBufferPrivateData == private_data &&
	       args.Flags.Value == 0 && args.HwQueueProgressFenceGpuVa == 0x9000 &&
	       args.HwQueueProgressFenceCpuVa == &fence);
	EXPECT_EQ(crank(&host, (struct recorder_escape){ .command = RECORDER_HW_COMPLETE }), 1);
	EXPECT_EQ(fence, 1ull << 33);
	miniport_destroy_hw_queue(host.miniport, host.client, queue);
	miniport_destroy_hw_context(host.miniport, host.client, hw_context);
	host_context_destroy(&host, &context);
	host_finish(&host);
}

/* Of the driver it is known only that it refused: the private data is what may be malformed. */
TEST(hw_queue, that_refuses_is_reported_unless_the_client_gave_data)
{
	static const struct {
		NTSTATUS status;
		uint32_t private_bytes;
		unsigned reports;
	} cases[] = {
		{ STATUS_INVALID_PARAMETER, 8, 0 },
		{ STATUS_INVALID_PARAMETER, 0, 1 },
		{ STATUS_INSUFFICIENT_RESOURCES, 8, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host;
		struct host_context context;
		void *hw_context;
		void *queue;
		uint64_t fence = 0;

		host_init(&host);
		EXPECT_EQ(host_start(&host, NUMBER("HwQueues", 1),
				     NUMBER("HwSubmitStatus", cases[i].status)),
			  STATUS_SUCCESS);
		host_context_create(&host, &context, 0, true);
		EXPECT_EQ(miniport_create_hw_context(
				  host.miniport, host.client,
				  &(struct miniport_context_desc){ .kernel_handle = &hw_context,
								   .driver_device = context.device,
								   .engine_mask = 1 },
				  &hw_context),
			  STATUS_SUCCESS);
		EXPECT_EQ(miniport_create_hw_queue(
				  host.miniport, host.client,
				  &(struct miniport_hw_queue_desc){ .kernel_handle = &queue,
								    .driver_context = hw_context,
								    .is_hw_context = true,
								    .fence_pointer = &fence },
				  &queue),
			  STATUS_SUCCESS);
		host_listen();
		EXPECT_EQ((uint32_t)miniport_submit_to_hw_queue(
				  host.miniport,
				  &(struct miniport_hw_submission){
					  .driver_queue = queue,
					  .fence_pointer = &fence,
					  .private_data = private_data,
					  .private_bytes = cases[i].private_bytes }),
			  (uint32_t)cases[i].status);
		EXPECT_EQ(host_reports.count, cases[i].reports);
		if (cases[i].reports)
			EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_SUBMIT);
		miniport_destroy_hw_queue(host.miniport, host.client, queue);
		miniport_destroy_hw_context(host.miniport, host.client, hw_context);
		host_context_destroy(&host, &context);
		host_finish_reported(&host);
	}
}

HOST_TEST(hw_queue, a_driver_without_them_says_so)
{
	void *queue = NULL;

	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	EXPECT(!miniport_has_hw_queues(host->miniport));
	EXPECT_EQ(miniport_create_hw_queue(host->miniport, host->client,
					   &(struct miniport_hw_queue_desc){ 0 }, &queue),
		  STATUS_NOT_SUPPORTED);
	EXPECT_EQ(miniport_create_hw_context(host->miniport, host->client,
					     &(struct miniport_context_desc){ 0 }, &queue),
		  STATUS_NOT_SUPPORTED);
	EXPECT_EQ(
		miniport_submit_to_hw_queue(host->miniport, &(struct miniport_hw_submission){ 0 }),
		STATUS_NOT_SUPPORTED);
	host_expect_refusal("DDI-ENTRY-MISSING");
}

TEST_MAIN("miniport/submission")
