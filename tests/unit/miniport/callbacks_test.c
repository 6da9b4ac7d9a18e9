/* SPDX-License-Identifier: MIT */
/*
 * callbacks_test.c - what a driver may ask, and how it is told off.
 *
 * The recorder driver makes the calls, from DxgkDdiEscape.
 */
#include "host.h"

#include "nt/dpc.h"
#include "nt/irql.h"
#include "nt/report.h"

static char last_report[512];
static enum rule last_rule;
static unsigned report_count;

static void listen(void *context, const struct nt_report_news *news)
{
	(void)context;
	report_count++;
	last_rule = news->rule;
	snprintf(last_report, sizeof(last_report), "%s", news->sentence);
}

static void begin(struct host *host)
{
	host_init(host);
	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	host_forget_notes(host);
	report_count = 0;
	nt_report_listen(listen, NULL);
}

/* What was reported is remembered by the NT side: that is not a leak of the miniport. */
static void end(struct host *host)
{
	host_stop(host);
	nt_report_listen(NULL, NULL);
	nt_report_reset();
	host->before = mem_usage();
	host_finish(host);
}

#define BEGUN_TEST(suite, claim) TEST_ON(host, begin(&host), end(&host), suite, claim)

static NTSTATUS command(struct host *host, enum recorder_command what, unsigned *result_out)
{
	struct recorder_escape escape = { .command = what };
	NTSTATUS status = host_escape(host, &escape);

	if (result_out)
		*result_out = escape.result;
	return status;
}

/* ---- handles ---- */

BEGUN_TEST(handle, the_device_handle_is_accepted)
{
	unsigned result = 0;

	EXPECT_EQ(command(host, RECORDER_INFORMATION, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, 1);
	EXPECT_EQ(report_count, 0);
}

BEGUN_TEST(handle, no_other_is)
{
	EXPECT_EQ(command(host, RECORDER_NULL_HANDLE, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(last_rule, RULE_DDI_CALLBACK_HANDLE);
	EXPECT_CONTAINS(last_report, "DxgkCbGetDeviceInformation was given");
	EXPECT_EQ(command(host, RECORDER_WRONG_HANDLE, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(last_rule, RULE_DDI_CALLBACK_HANDLE);
	EXPECT_EQ(report_count, 2);
}

BEGUN_TEST(handle, the_drivers_own_context_is_recognised)
{
	EXPECT_EQ(command(host, RECORDER_CONTEXT_AS_HANDLE, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(last_rule, RULE_DDI_CALLBACK_HANDLE_MIXED);
	EXPECT_CONTAINS(last_report, "MiniportDeviceContext");
}

/* ---- what is not built ---- */

BEGUN_TEST(unbuilt, a_callback_fails_honestly_and_says_which)
{
	EXPECT_EQ(command(host, RECORDER_UNBUILT, NULL), STATUS_NOT_IMPLEMENTED);
	EXPECT_EQ(last_rule, RULE_DDI_CALLBACK_NOT_BUILT);
	EXPECT_CONTAINS(last_report, "DxgkCbQueryServices");
}

/* ---- memory and firmware ---- */

TEST(memory, what_is_mapped_is_the_same_memory)
{
	struct host host;
	unsigned result = 0;

	begin(&host);
	EXPECT_EQ(command(&host, RECORDER_MAP_AND_UNMAP, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, 0x12345678);
	EXPECT_EQ(command(&host, RECORDER_CONTIGUOUS, &result), STATUS_SUCCESS);
	EXPECT_EQ(result, 3 * 4096);
	EXPECT_EQ(report_count, 0);
	end(&host);
	EXPECT_EQ(report_count, 0);
}

BEGUN_TEST(memory, what_stays_mapped_is_reported_and_unmapped)
{
	EXPECT_EQ(command(host, RECORDER_MAP_AND_FORGET, NULL), STATUS_SUCCESS);
	host_stop(host);
	EXPECT_EQ(last_rule, RULE_DDI_LEFT_BEHIND);
	EXPECT_CONTAINS(last_report, "8192 bytes");
}

TEST(memory, what_a_driver_leaves_in_the_pool_is_reported_and_freed)
{
	struct host host;

	host_init(&host);
	EXPECT_EQ(host_start(&host, NUMBER("LeakPool", 1)), STATUS_SUCCESS);
	report_count = 0;
	nt_report_listen(listen, NULL);
	host_stop(&host);
	EXPECT_EQ(last_rule, RULE_NT_POOL_LEAK);
	EXPECT(report_count > 0);
	end(&host);
}

BEGUN_TEST(firmware, methods_are_not_found_and_their_length_is_sane)
{
	unsigned length = 0;

	EXPECT_EQ(command(host, RECORDER_ACPI, &length), STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT(length > 0 && length <= 64);
	EXPECT_EQ(report_count, 0);
}

/* ---- levels ---- */

BEGUN_TEST(irql, a_driver_that_comes_back_raised_is_reported_and_lowered)
{
	EXPECT_EQ(command(host, RECORDER_RETURN_RAISED, NULL), STATUS_SUCCESS);
	EXPECT_EQ(last_rule, RULE_NT_IRQL_RETURN);
	EXPECT_CONTAINS(last_report, "DxgkDdiEscape");
	EXPECT_EQ(nt_irql_current(), 0);
}

BEGUN_TEST(irql, an_interrupt_is_not_reported_at_passive_level)
{
	EXPECT_EQ(command(host, RECORDER_NOTIFY_AT_PASSIVE, NULL), STATUS_SUCCESS);
	EXPECT(report_count > 0);
}

BEGUN_TEST(irql, synchronized_code_cannot_synchronize_again)
{
	unsigned inner = 0;

	EXPECT_EQ(command(host, RECORDER_SYNCHRONIZE_TWICE, &inner), STATUS_SUCCESS);
	EXPECT_EQ((int)inner, STATUS_INVALID_PARAMETER);
	EXPECT_EQ(last_rule, RULE_NT_IRQL_HIGH);
}

/* ---- interrupts ---- */

static void interrupt(struct host *host, enum recorder_command what, unsigned type, unsigned node,
		      unsigned fence, unsigned last)
{
	struct recorder_escape escape = {
		.command = what, .type = type, .node = node, .fence = fence, .last = last
	};

	EXPECT_EQ(host_escape(host, &escape), STATUS_SUCCESS);
	EXPECT_EQ(escape.result, 1); /* what the routine returned */
}

BEGUN_TEST(interrupt, completion_reaches_the_listener_through_the_dpc)
{
	interrupt(host, RECORDER_INTERRUPT, 1, 1, 42, 0);
	nt_dpc_flush();
	EXPECT_STR(host->notes, "interrupt irql=5 fence=42\nDpcRoutine irql=2\n");
	EXPECT_EQ(host->event_count, 1);
	EXPECT_EQ(host->events[0].kind, 'c');
	EXPECT_EQ(host->events[0].node, 1);
	EXPECT_EQ(host->events[0].fence, 42);
	EXPECT_EQ(host->events[0].irql, 2);
	EXPECT_EQ(report_count, 0);
}

BEGUN_TEST(interrupt, nothing_is_delivered_before_a_dpc)
{
	interrupt(host, RECORDER_INTERRUPT_NO_DPC, 1, 0, 1, 0);
	nt_dpc_flush();
	EXPECT_EQ(host->event_count, 0);
}

BEGUN_TEST(interrupt, several_reports_of_one_dpc_arrive_in_order)
{
	interrupt(host, RECORDER_INTERRUPT_NO_DPC, 1, 0, 5, 0);
	interrupt(host, RECORDER_INTERRUPT_NO_DPC, 1, 0, 6, 0); /* covers 5 */
	interrupt(host, RECORDER_INTERRUPT_NO_DPC, 1, 1, 9, 0);
	interrupt(host, RECORDER_INTERRUPT_NO_DPC, 2, 0, 77, 6);
	interrupt(host, RECORDER_INTERRUPT_NO_DPC, 1, 0, 7, 0);
	interrupt(host, RECORDER_INTERRUPT_NO_DPC, 4, 1, 10, 0);
	interrupt(host, RECORDER_INTERRUPT, 9, 0, 8, 0);
	nt_dpc_flush();
	EXPECT_EQ(host->event_count, 6);
	EXPECT(host->events[0].kind == 'c' && host->events[0].fence == 6);
	EXPECT(host->events[1].kind == 'c' && host->events[1].node == 1 &&
	       host->events[1].fence == 9);
	EXPECT(host->events[2].kind == 'p' && host->events[2].fence == 77 &&
	       host->events[2].last_completed == 6);
	EXPECT(host->events[3].kind == 'c' && host->events[3].fence == 7);
	EXPECT(host->events[4].kind == 'f' && host->events[4].node == 1 &&
	       host->events[4].fence == 10);
	EXPECT(host->events[5].kind == 'f' && host->events[5].node == 0 &&
	       host->events[5].fence == 8);
}

BEGUN_TEST(interrupt, nodes_and_types_that_do_not_exist_are_reported)
{
	interrupt(host, RECORDER_INTERRUPT, 1, 2, 1, 0);
	EXPECT_EQ(last_rule, RULE_DDI_INTERRUPT);
	EXPECT_CONTAINS(last_report, "NodeOrdinal 2");
	interrupt(host, RECORDER_INTERRUPT, 3, 0, 1, 0);
	EXPECT_CONTAINS(last_report, "InterruptType 3");
	nt_dpc_flush();
	EXPECT_EQ(host->event_count, 0);
}

BEGUN_TEST(interrupt, a_driver_that_never_queues_its_dpc_loses_reports)
{
	for (unsigned i = 0; i < 1024; i++)
		interrupt(host, RECORDER_INTERRUPT_NO_DPC, 2, 0, i, 0);
	EXPECT_EQ(report_count, 0);
	interrupt(host, RECORDER_INTERRUPT_NO_DPC, 2, 0, 1024, 0);
	EXPECT_EQ(last_rule, RULE_DDI_INTERRUPT);
	EXPECT_CONTAINS(last_report, "this one is lost");
}

/* ---- what clients do ---- */

TEST(object, handles_go_down_and_come_back)
{
	struct host host;
	int process_cookie;
	int device_cookie;
	int context_cookie;
	void *process = NULL;
	void *device = NULL;
	struct miniport_context_info context = { 0 };
	uint8_t blob[3] = { 1, 2, 3 };

	begin(&host);
	EXPECT_EQ(miniport_create_process(host.miniport, host.client, &process_cookie, "app",
					  &process),
		  STATUS_SUCCESS);
	EXPECT(process && process != &process_cookie);
	EXPECT_EQ(miniport_create_device(host.miniport, host.client, &device_cookie, process,
					 &device),
		  STATUS_SUCCESS);
	EXPECT(device && device != &device_cookie);
	EXPECT_EQ(miniport_create_context(host.miniport, host.client,
					  &(struct miniport_context_desc){
						  .kernel_handle = &context_cookie,
						  .driver_device = device,
						  .node = 0,
						  .engine_mask = 1,
						  .is_virtual = true,
					  },
					  &context),
		  STATUS_SUCCESS);
	EXPECT(context.driver_context && context.driver_context != &context_cookie);
	EXPECT_EQ(context.dma_buffer_bytes, 8192);
	EXPECT_EQ(context.dma_private_bytes, 32);
	EXPECT_EQ(context.allocation_list_entries, 64);
	EXPECT_EQ(context.patch_list_entries, 128);
	EXPECT_EQ(miniport_query_umd_private(host.miniport, host.client, blob, sizeof(blob)),
		  STATUS_SUCCESS);
	EXPECT(blob[0] == 2 && blob[1] == 3 && blob[2] == 4);
	miniport_destroy_context(host.miniport, host.client, context.driver_context);
	miniport_destroy_device(host.miniport, host.client, device);
	miniport_destroy_process(host.miniport, host.client, process);
	EXPECT_STR(host.notes, "CreateProcess irql=0 flags=0 name=3\n"
			       "CreateDevice irql=0 flags=0 process=1\n"
			       "CreateContext irql=0 node=0 flags=4\n"
			       "Query:UMDRIVERPRIVATE irql=0\n"
			       "DestroyContext irql=0\nDestroyDevice irql=0\n"
			       "DestroyProcess irql=0\n");
	end(&host);
}

TEST(object, a_failure_reaches_the_caller_unchanged)
{
	static const struct {
		const char *step;
		uint32_t at; /* 1 is the system's own */
		NTSTATUS status;
	} cases[] = {
		{ "CreateProcess", 2, STATUS_NO_MEMORY },
		{ "CreateDevice", 2, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE },
		{ "CreateContext", 2, (NTSTATUS)0xC0DEC0DE },
		{ "Escape", 1, STATUS_ACCESS_DENIED },
		{ "UMDRIVERPRIVATE", 1, STATUS_INVALID_PARAMETER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host;
		struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };
		struct miniport_context_info context;
		void *process = NULL;
		void *device = NULL;
		char byte;
		NTSTATUS status;
		bool has_context = false;

		host_init(&host);
		EXPECT_EQ(host_start(&host, TEXT("Fail", cases[i].step),
				     NUMBER("FailAt", cases[i].at),
				     NUMBER("FailStatus", cases[i].status)),
			  STATUS_SUCCESS);
		status =
			miniport_create_process(host.miniport, host.client, &host, "app", &process);
		if (NT_SUCCESS(status))
			status = miniport_create_device(host.miniport, host.client, &host, process,
							&device);
		if (NT_SUCCESS(status))
			status = miniport_create_context(
				host.miniport, host.client,
				&(struct miniport_context_desc){ .kernel_handle = &host,
								 .driver_device = device,
								 .engine_mask = 1,
								 .is_virtual = true },
				&context);
		has_context = NT_SUCCESS(status);
		if (NT_SUCCESS(status))
			status = host_escape(&host, &(struct recorder_escape){ 0 });
		if (NT_SUCCESS(status))
			status = miniport_query_umd_private(host.miniport, host.client, &byte, 1);
		EXPECT_EQ((uint32_t)status, (uint32_t)cases[i].status);
		EXPECT(refusal_last(&refusal));
		EXPECT_STR(refusal.rule, "DDI-STATUS");
		EXPECT_EQ((uint32_t)refusal.status, (uint32_t)cases[i].status);
		EXPECT_CONTAINS(refusal.reason, i == 4 ? "QueryAdapterInfo" : cases[i].step);
		if (has_context)
			miniport_destroy_context(host.miniport, host.client,
						 context.driver_context);
		if (device)
			miniport_destroy_device(host.miniport, host.client, device);
		if (process)
			miniport_destroy_process(host.miniport, host.client, process);
		host_finish(&host);
	}
}

TEST(object, a_context_with_an_illegal_answer_is_destroyed_again)
{
	struct host host;
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };
	struct miniport_context_info context;
	void *device = NULL;

	host_init(&host);
	EXPECT_EQ(host_start(&host, NUMBER("DmaBufferSegmentSet", 1)), STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_device(host.miniport, host.client, &host, NULL, &device),
		  STATUS_SUCCESS);
	host_forget_notes(&host);
	EXPECT_EQ(miniport_create_context(host.miniport, host.client,
					  &(struct miniport_context_desc){ .kernel_handle = &host,
									   .driver_device = device,
									   .engine_mask = 1 },
					  &context),
		  STATUS_GRAPHICS_INVALID_DRIVER_MODEL);
	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, "DDI-CONTEXT-INFO");
	EXPECT_STR(host.notes, "CreateContext irql=0 node=0 flags=0\nDestroyContext irql=0\n");
	miniport_destroy_device(host.miniport, host.client, device);
	host_finish(&host);
}

HOST_TEST(object, an_escape_without_an_entry_point_is_refused)
{
	EXPECT_EQ(host_start(host, TEXT("Missing", "Escape")), STATUS_SUCCESS);
	EXPECT_EQ(host_escape(host, &(struct recorder_escape){ 0 }), STATUS_NOT_SUPPORTED);
}

BEGUN_TEST(object, a_status_that_is_no_answer_becomes_a_failure)
{
	EXPECT_EQ(command(host, RECORDER_RETURN_PENDING, NULL), STATUS_DRIVER_INTERNAL_ERROR);
}

TEST_MAIN("miniport/callbacks")
