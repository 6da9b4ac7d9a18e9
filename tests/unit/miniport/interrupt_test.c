/* SPDX-License-Identifier: MIT */
/*
 * interrupt_test.c - what a driver says by interrupt, and what reaches the listener.
 */
#include "host.h"
#include "unit/base/child.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "miniport/work.h"
#include "nt/dpc.h"

static void begin(struct host *host)
{
	host_init(host);
	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	host_forget_notes(host);
	host_listen();
}

#define REPORTED_TEST(suite, claim)                                                                \
	TEST_ON(host, begin(&host), host_finish_reported(&host), suite, claim)

static void interrupt(struct host *host, struct recorder_escape escape)
{
	if (escape.command == RECORDER_NOTHING)
		escape.command = RECORDER_INTERRUPT;
	EXPECT_EQ(host_escape(host, &escape), STATUS_SUCCESS);
	if (escape.command == RECORDER_INTERRUPT)
		nt_dpc_flush();
}

/* ---- completions ---- */

static void complete(struct host *host, uint32_t fence, bool has_dpc)
{
	interrupt(host, (struct recorder_escape){ .command = has_dpc ? RECORDER_INTERRUPT
								     : RECORDER_INTERRUPT_NO_DPC,
						  .type = DXGK_INTERRUPT_DMA_COMPLETED,
						  .node = 1,
						  .fence = fence });
}

REPORTED_TEST(completion, of_what_follows_is_one_with_the_one_before)
{
	complete(host, 4, false);
	complete(host, 5, false);
	complete(host, 6, true);
	EXPECT_EQ(host->event_count, 1);
	EXPECT_EQ(host->events[0].fence, 6);
	complete(host, 9, false); /* it may cover those between */
	complete(host, 12, true);
	EXPECT_EQ(host->events[host->event_count - 1].fence, 12);
	EXPECT_EQ(host_reports.count, 0);
}

/* Before the DPC, where one would have hidden the other. */
TEST(completion, that_does_not_grow_is_reported_and_hides_nothing)
{
	static const uint32_t again[] = { 7, 5 };

	for (size_t i = 0; i < ARRAY_SIZE(again); i++) {
		struct host host;
		char said[64];

		begin(&host);
		complete(&host, 7, false);
		complete(&host, again[i], true);
		EXPECT_EQ(host.event_count, 1);
		EXPECT_EQ(host.events[0].fence, 7);
		EXPECT_EQ(host_reports.count, 1);
		EXPECT_EQ(host_reports.rule, RULE_DDI_COMPLETION_DOUBLED);
		snprintf(said, sizeof(said), "fence %u of node 1 right after fence 7", again[i]);
		EXPECT_CONTAINS(host_reports.sentence, said);
		host_finish_reported(&host);
	}
}

/* Nonsense is for who knows what there is; what was true before it stays. */
REPORTED_TEST(completion, of_what_makes_no_sense_hides_nothing)
{
	complete(host, 7, false);
	complete(host, 0xdeadbeef, true);
	EXPECT_EQ(host->event_count, 2);
	EXPECT_EQ(host->events[0].fence, 7);
	EXPECT_EQ(host->events[1].fence, 0xdeadbeef);
}

/* ---- faults ---- */

REPORTED_TEST(fault, of_the_commands)
{
	interrupt(host, (struct recorder_escape){ .type = DXGK_INTERRUPT_DMA_FAULTED,
						  .node = 1,
						  .fence = 12,
						  .status = STATUS_ILLEGAL_INSTRUCTION });
	EXPECT_EQ(host->event_count, 1);
	const struct miniport_fault *fault = &host->events[0].fault;
	EXPECT(host->events[0].kind == 'f' && host->events[0].irql == 2);
	EXPECT(fault->node == 1 && fault->fence == 12 && fault->is_fence_valid);
	EXPECT(!fault->is_page_fault && !fault->needs_engine_reset && !fault->needs_adapter_reset);
	EXPECT_EQ((uint32_t)fault->status, (uint32_t)STATUS_ILLEGAL_INSTRUCTION);
	EXPECT(!fault->driver_process && !fault->driver_queue);
	EXPECT_EQ(host_reports.count, 0);
}

REPORTED_TEST(fault, of_a_page)
{
	int process;

	interrupt(host, (struct recorder_escape){ .type = DXGK_INTERRUPT_DMA_PAGE_FAULTED,
						  .node = 1,
						  .fence = 13,
						  .flags = DXGK_PAGE_FAULT_WRITE,
						  .address = 0x123456789000,
						  .level = 2,
						  .error_code = 5,
						  .object = (uintptr_t)&process });
	EXPECT_EQ(host->event_count, 1);
	const struct miniport_fault *fault = &host->events[0].fault;
	EXPECT(fault->node == 1 && fault->fence == 13 && fault->is_fence_valid);
	EXPECT(fault->is_page_fault && fault->is_write);
	EXPECT(!fault->needs_engine_reset && !fault->needs_adapter_reset);
	EXPECT_EQ(fault->address, 0x123456789000);
	EXPECT_EQ(fault->level, 2);
	EXPECT_EQ(fault->error_code, 5 << 1 | 1); /* as it was: bit 0 says whose number it is */
	EXPECT(fault->driver_process == &process);
	EXPECT_EQ(host_reports.count, 0);
}

TEST(fault, what_a_page_fault_asks_for)
{
	static const struct {
		uint32_t flags;
		bool is_fence_valid;
		bool needs_engine_reset;
		bool needs_adapter_reset;
		unsigned reports;
	} cases[] = {
		{ 0, true, false, false, 0 },
		{ DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED, true, true, false, 0 },
		{ DXGK_PAGE_FAULT_FENCE_INVALID | DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED, false,
		  true, false, 0 },
		{ DXGK_PAGE_FAULT_FENCE_INVALID | DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED, false,
		  false, true, 0 },
		/* Not what its page allows: the engine is reset all the same. */
		{ DXGK_PAGE_FAULT_FENCE_INVALID, false, true, false, 1 },
		/* Where Windows stops. */
		{ DXGK_PAGE_FAULT_FATAL_HARDWARE_ERROR, true, false, true, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host;

		begin(&host);
		interrupt(&host, (struct recorder_escape){ .type = DXGK_INTERRUPT_DMA_PAGE_FAULTED,
							   .fence = 1,
							   .flags = cases[i].flags });
		const struct miniport_fault *fault = &host.events[0].fault;
		EXPECT_EQ(fault->is_fence_valid, cases[i].is_fence_valid);
		EXPECT_EQ(fault->needs_engine_reset, cases[i].needs_engine_reset);
		EXPECT_EQ(fault->needs_adapter_reset, cases[i].needs_adapter_reset);
		EXPECT_EQ(host_reports.count, cases[i].reports);
		if (cases[i].flags & DXGK_PAGE_FAULT_FATAL_HARDWARE_ERROR)
			EXPECT_EQ(host_reports.rule, RULE_DDI_FAULT_FATAL);
		host_finish_reported(&host);
	}
}

REPORTED_TEST(fault, of_a_hardware_queue_names_the_queue_and_its_fence)
{
	int object;

	struct recorder_escape escape = { .type = DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED,
					  .node = 1,
					  .flags = DXGK_PAGE_FAULT_WRITE,
					  .wide_fence = UINT64_C(1) << 40,
					  .address = 0x5000,
					  .level = 1,
					  .object = (uintptr_t)&object };
	interrupt(host, escape);
	const struct miniport_fault *fault = &host->events[0].fault;
	EXPECT(fault->node == 1 && fault->is_page_fault && fault->is_write);
	EXPECT(fault->is_hw_queue && !fault->is_fence_valid); /* no packet of the node */
	EXPECT(fault->driver_queue == &object && !fault->driver_process);
	EXPECT_EQ(fault->queue_fence, UINT64_C(1) << 40);
	EXPECT(fault->address == 0x5000 && fault->level == 1);

	escape.flags = DXGK_PAGE_FAULT_PROCESS_HANDLE_VALID | DXGK_PAGE_FAULT_FENCE_INVALID |
		       DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
	interrupt(host, escape);
	fault = &host->events[1].fault;
	EXPECT(fault->is_hw_queue && !fault->driver_queue && fault->driver_process == &object);
	EXPECT(fault->queue_fence == 0 && fault->needs_engine_reset);
	EXPECT_EQ(host_reports.count, 0);
}

/* ---- other news ---- */

REPORTED_TEST(news, fences_that_hardware_wrote_and_engines_that_ask_for_a_reset)
{
	struct recorder_escape written = { .command = RECORDER_INTERRUPT_NO_DPC,
					   .type = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED,
					   .node = 1 };

	interrupt(host, written);
	interrupt(host, written); /* one look is enough for both */
	interrupt(host,
		  (struct recorder_escape){ .type = DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT, .node = 1 });
	EXPECT_EQ(host->event_count, 2);
	EXPECT(host->events[0].kind == 'w' && host->events[0].node == 1);
	EXPECT(host->events[1].kind == 't' && host->events[1].node == 1);
	EXPECT_EQ(host_reports.count, 0);
}

/* It says which by its fence, and belongs to no node. */
TEST(news, of_a_suspended_context_come_whoever_is_ignored)
{
	struct host host;

	begin(&host);
	miniport_ignore_node_events(host.miniport, 0, true);
	interrupt(&host, (struct recorder_escape){ .type = DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED,
						   .wide_fence = UINT64_C(0x100000002) });
	EXPECT_EQ(host.event_count, 1);
	EXPECT_EQ(host.events[0].kind, 's');
	EXPECT_EQ(host.events[0].fence, UINT64_C(0x100000002));
	EXPECT_EQ(host.events[0].irql, DISPATCH_LEVEL);
	miniport_ignore_node_events(host.miniport, 0, false);
	host_finish(&host);
}

TEST(news, that_makes_no_sense_here_is_reported_with_the_reason)
{
	static const struct {
		uint32_t type;
		const char *why;
	} cases[] = {
		{ DXGK_INTERRUPT_CRTC_VSYNC, "there is no display" },
		{ DXGK_INTERRUPT_DISPLAYONLY_VSYNC, "there is no display" },
		{ DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY2, "there is no display" },
		{ DXGK_INTERRUPT_PERIODIC_MONITORED_FENCE_SIGNALED, "there is no display" },
		{ DXGK_INTERRUPT_HWCONTEXTLIST_SWITCH_COMPLETED, "not asked to schedule" },
		{ DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT, "not asked to schedule" },
		{ DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED, "native fences" },
		{ 77, "no such type" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host;

		begin(&host);
		interrupt(&host, (struct recorder_escape){ .type = cases[i].type });
		EXPECT_EQ(host.event_count, 0);
		EXPECT_EQ(host_reports.rule, strstr(cases[i].why, "display")
						     ? RULE_DDI_INTERRUPT_RENDER_ONLY
						     : RULE_DDI_INTERRUPT);
		EXPECT_CONTAINS(host_reports.sentence, cases[i].why);
		host_finish_reported(&host);
	}
}

TEST(news, of_an_engine_that_does_not_exist_is_reported)
{
	static const uint32_t types[] = { 1, 2, 4, 9, 11, 12, 16 };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct host host;

		begin(&host);
		interrupt(&host, (struct recorder_escape){ .type = types[i], .engine = 1 });
		EXPECT_EQ(host.event_count, 0);
		EXPECT_CONTAINS(host_reports.sentence, "EngineOrdinal 1");
		host_finish_reported(&host);
	}
}

/* ---- before a reset ---- */

static struct recorder_escape completed(uint32_t node, uint32_t fence)
{
	return (struct recorder_escape){
		.command = RECORDER_INTERRUPT_NO_DPC, .type = 1, .node = node, .fence = fence
	};
}

REPORTED_TEST(flush, delivers_what_no_dpc_has_delivered)
{
	interrupt(host, completed(0, 5));
	interrupt(host, completed(1, 6));
	EXPECT_EQ(host->event_count, 0);
	miniport_flush_events(host->miniport);
	EXPECT_EQ(host->event_count, 2);
	EXPECT(host->events[0].fence == 5 && host->events[0].irql == 2);
	EXPECT_EQ(host->events[1].fence, 6);
	miniport_flush_events(host->miniport);
	EXPECT_EQ(host->event_count, 2);
}

static _Atomic uint32_t stage; /* 1: the listener is inside, 2: it may go */
static _Atomic bool is_told;

static void listen_long(void *listener, uint32_t node, uint64_t fence)
{
	atomic_store(&stage, 1);
	thread_wake_all(&stage);
	while (atomic_load(&stage) != 2)
		thread_wait(&stage, 1, CLOCK_FOREVER);
	atomic_store(&is_told, true);
}

static void flush(void *argument)
{
	miniport_flush_events(argument);
	if (!atomic_load(&is_told))
		abort();
}

static void host_begin_with(struct host *host, const struct miniport_events *events)
{
	const struct miniport_config config = { .driver = RECORDER_PATH, .adapter_id = 7 };

	host_init(host);
	EXPECT_EQ(miniport_start(&config, events, NULL, &host->miniport), STATUS_SUCCESS);
	EXPECT_EQ(miniport_client_create(nt_process_begin((uint32_t)getpid()), &host->client),
		  STATUS_SUCCESS);
}

TEST(flush, waits_for_a_listener_that_is_being_told)
{
	struct host host;
	struct thread *thread;

	host_begin_with(&host, &(struct miniport_events){ .fence_completed = listen_long });
	atomic_store(&stage, 0);
	atomic_store(&is_told, false);
	struct recorder_escape escape = completed(0, 1);
	escape.command = RECORDER_INTERRUPT;
	EXPECT_EQ(host_escape(&host, &escape), STATUS_SUCCESS);
	while (atomic_load(&stage) == 0)
		thread_wait(&stage, 0, CLOCK_FOREVER);
	EXPECT_EQ(thread_create("flusher", flush, host.miniport, &thread), STATUS_SUCCESS);
	clock_sleep_until(clock_deadline(NS_PER_MS)); /* a chance to be too early */
	atomic_store(&stage, 2);
	thread_wake_all(&stage);
	thread_join(thread);
	host_finish(&host);
}

#ifndef NDEBUG

static struct child_result taken;

static void take(void *argument)
{
	mem_free(mem_alloc(1));
}

static void listen_and_take(void *listener, uint32_t node, uint64_t fence)
{
	child_run(&taken, take, NULL);
}

TEST(listener, that_takes_memory_is_stopped)
{
	struct host host;

	host_begin_with(&host, &(struct miniport_events){ .fence_completed = listen_and_take });
	struct recorder_escape escape = completed(0, 1);
	EXPECT_EQ(host_escape(&host, &escape), STATUS_SUCCESS);
	miniport_flush_events(host.miniport);
	EXPECT_EQ(taken.signal, SIGABRT);
	EXPECT_CONTAINS(taken.err, "memory is taken where nothing may be wanting");
	take(NULL);
	host_finish(&host);
}

#endif

REPORTED_TEST(ignore, what_a_node_says_meanwhile_is_dropped_and_what_it_said_before_is_not)
{
	interrupt(host, completed(0, 5));
	miniport_ignore_node_events(host->miniport, 0, true);
	interrupt(host, completed(0, 6));
	interrupt(host, completed(1, 7));
	interrupt(host, (struct recorder_escape){ .command = RECORDER_INTERRUPT_NO_DPC,
						  .type = DXGK_INTERRUPT_DMA_FAULTED });
	miniport_flush_events(host->miniport);
	EXPECT_EQ(host->event_count, 2);
	EXPECT(host->events[0].node == 0 && host->events[0].fence == 5);
	EXPECT(host->events[1].node == 1 && host->events[1].fence == 7);
	miniport_ignore_node_events(host->miniport, 0, false);
	interrupt(host, completed(0, 8));
	miniport_flush_events(host->miniport);
	EXPECT(host->event_count == 3 && host->events[2].fence == 8);
	EXPECT_EQ(host_reports.count, 0);
}

TEST_MAIN("miniport/interrupt")
