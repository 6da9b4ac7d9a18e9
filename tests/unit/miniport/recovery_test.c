/* SPDX-License-Identifier: MIT */
/*
 * recovery_test.c - preemption, engines that are late, resets, page tables, the CPU's window, and
 * the settings of recovery.
 */
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/clock.h"
#include "base/thread.h"
#include "miniport/context_services.h"
#include "miniport/work.h"
#include "nt/dpc.h"
#include "nt/registry.h"

#define begin(host, ...)                                                                           \
	do {                                                                                       \
		host_init(host);                                                                   \
		EXPECT_EQ(host_start(host, __VA_ARGS__), STATUS_SUCCESS);                          \
		host_forget_notes(host);                                                           \
		host_listen();                                                                     \
	} while (0)

static void submit(struct host *host, uint32_t fence)
{
	EXPECT_EQ(miniport_submit(host->miniport, true,
				  &(struct miniport_submission){ .node = 0, .fence = fence }),
		  STATUS_SUCCESS);
}

/* ---- engines ---- */

TEST(engine, preemption_is_asked_for_at_dispatch_level_and_answered_meanwhile)
{
	struct host host;
	DXGKARG_PREEMPTCOMMAND args;

	begin(&host, NUMBER("HandCranked", 1));
	submit(&host, 4);
	host_forget_notes(&host);
	miniport_preempt(host.miniport, 0, 99);
	nt_dpc_flush();
	EXPECT_STR(host.notes, "PreemptCommand irql=2 node=0 fence=99\nDpcRoutine irql=2\n");
	EXPECT(host.event_count == 1 && host.events[0].kind == 'p' && host.events[0].fence == 99);
	host_fetch(&host, RECORDER_PREEMPT_COMMAND, &args, sizeof(args), NULL, 0);
	EXPECT(args.PreemptionFenceId == 99 && args.NodeOrdinal == 0 && args.EngineOrdinal == 0 &&
	       args.Flags.Value == 0);
	EXPECT_EQ(host_reports.count, 0);
	host_finish_reported(&host);
}

TEST(engine, the_current_fence)
{
	struct host host;
	uint32_t fence = 0;

	begin(&host, NUMBER("PagingNode", 1));
	submit(&host, 6);
	host_forget_notes(&host);
	EXPECT(miniport_query_current_fence(host.miniport, 0, &fence));
	EXPECT_EQ(fence, 6);
	EXPECT_CONTAINS(host.notes, "QueryCurrentFence irql=0 node=0\n");
	host_finish_reported(&host);
	begin(&host, TEXT("Missing", "QueryCurrentFence"));
	EXPECT(!miniport_query_current_fence(host.miniport, 0, &fence));
	host_finish_reported(&host);
	begin(&host, TEXT("Fail", "QueryCurrentFence"));
	EXPECT(!miniport_query_current_fence(host.miniport, 0, &fence));
	host_finish_reported(&host);
}

TEST(engine, the_group_has_the_engine_itself_and_no_strangers)
{
	static const struct {
		uint32_t mask;
		uint64_t expected;
		unsigned reports;
	} cases[] = { { 2, 2, 0 }, { 3, 3, 0 }, { 1, 3, 1 }, { 6, 2, 1 }, { 0, 2, 1 } };
	struct host host;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(&host, NUMBER("DependentNodeOrdinalMask", cases[i].mask));
		EXPECT_EQ(miniport_dependent_nodes(host.miniport, 1), cases[i].expected);
		EXPECT_STR(host.notes, "QueryDependentEngineGroup irql=0 node=1\n");
		EXPECT_EQ(host_reports.count, cases[i].reports);
		if (host_reports.count)
			EXPECT_EQ(host_reports.rule, RULE_DDI_RECOVERY);
		host_finish_reported(&host);
	}
	begin(&host, TEXT("Fail", "QueryDependentEngineGroup"));
	EXPECT_EQ(miniport_dependent_nodes(host.miniport, 1), 2);
	EXPECT_EQ(host_reports.rule, RULE_DDI_MUST_SUCCEED);
	host_finish_reported(&host);
}

TEST(engine, responsive_or_not)
{
	struct host host;

	begin(&host, NUMBER("Responsive", 1));
	EXPECT(miniport_node_is_responsive(host.miniport, 1));
	EXPECT_STR(host.notes, "QueryEngineStatus irql=0 node=1\n");
	host_finish_reported(&host);
	begin(&host, NUMBER("Responsive", 0));
	EXPECT(!miniport_node_is_responsive(host.miniport, 1));
	host_finish_reported(&host);
	begin(&host, TEXT("Fail", "QueryEngineStatus"));
	EXPECT(!miniport_node_is_responsive(host.miniport, 1));
	EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_QUERYENGINE);
	host_finish_reported(&host);
}

TEST(engine, a_reset_says_which_packet_it_hit)
{
	struct host host;
	uint32_t aborted = 0;

	begin(&host, NUMBER("HandCranked", 1));
	submit(&host, 7);
	submit(&host, 8);
	host_forget_notes(&host);
	EXPECT_EQ(miniport_reset_node(host.miniport, 0, &aborted), STATUS_SUCCESS);
	EXPECT_EQ(aborted, 7);
	EXPECT_STR(host.notes, "ResetEngine irql=0 node=0\n");
	host_finish_reported(&host);
	begin(&host, TEXT("Fail", "ResetEngine"), NUMBER("FailStatus", STATUS_NO_MEMORY));
	aborted = 55;
	EXPECT_EQ(miniport_reset_node(host.miniport, 0, &aborted), STATUS_NO_MEMORY);
	EXPECT_EQ(aborted, 55);
	host_expect_refusal("DDI-STATUS");
	host_finish_reported(&host);
}

TEST(engine, of_hardware_queues_is_reset_and_resumed_if_the_driver_can)
{
	struct host host;

	host_init(&host);
	EXPECT_EQ(host_start(&host, NUMBER("HwQueues", 1)), STATUS_SUCCESS);
	EXPECT(miniport_has_hw_engine_reset(host.miniport));
	EXPECT_EQ(miniport_reset_hw_node(host.miniport, 1), STATUS_SUCCESS);
	EXPECT_EQ(miniport_resume_hw_node(host.miniport, 1), STATUS_SUCCESS);
	EXPECT(strstr(host.notes, "ResetHwEngine irql=0 node=1"));
	EXPECT(strstr(host.notes, "ResumeHwEngine irql=0 node=1"));
	host_finish(&host);

	host_init(&host);
	EXPECT_EQ(host_start_settings(&host, NULL, 0), STATUS_SUCCESS);
	EXPECT(!miniport_has_hw_engine_reset(host.miniport));
	EXPECT_EQ(miniport_reset_hw_node(host.miniport, 0), STATUS_NOT_SUPPORTED);
	host_expect_refusal("DDI-ENTRY-MISSING");
	/* What was never reset goes on by itself. */
	EXPECT_EQ(miniport_resume_hw_node(host.miniport, 0), STATUS_SUCCESS);
	host_finish(&host);
}

/* ---- the adapter ---- */

TEST(adapter, what_the_driver_tells_about_a_hang)
{
	struct host host;
	uint8_t buffer[64];
	DXGKARG_COLLECTDBGINFO args;

	begin(&host, NUMBER("PagingNode", 1));
	memset(buffer, 0xff, sizeof(buffer));
	EXPECT_EQ(miniport_collect_debug_info(host.miniport, 0x117, buffer, sizeof(buffer)), 3);
	EXPECT_EQ(memcmp(buffer, "why", 4), 0);
	EXPECT_STR(host.notes, "CollectDbgInfo irql=0 reason=279 room=64\n");
	host_fetch(&host, RECORDER_COLLECT_DBG_INFO, &args, sizeof(args), NULL, 0);
	EXPECT(args.Reason == 0x117 && args.pBuffer && args.BufferSize == 64 && args.pExtension);
	host_finish_reported(&host);
	begin(&host, TEXT("Fail", "CollectDbgInfo"));
	EXPECT_EQ(miniport_collect_debug_info(host.miniport, 0x141, buffer, sizeof(buffer)), 0);
	host_finish_reported(&host);
	begin(&host, TEXT("Missing", "CollectDbgInfo"));
	EXPECT_EQ(miniport_collect_debug_info(host.miniport, 0x141, buffer, sizeof(buffer)), 0);
	host_finish_reported(&host);
}

TEST(adapter, reset_and_restart)
{
	static const char *const steps[] = { "ResetFromTimeout", "RestartFromTimeout" };
	struct host host;

	begin(&host, NUMBER("HandCranked", 1));
	submit(&host, 3);
	host_forget_notes(&host);
	EXPECT(miniport_reset_from_timeout(host.miniport));
	EXPECT(miniport_restart_from_timeout(host.miniport));
	EXPECT_STR(host.notes, "ResetFromTimeout irql=0\nRestartFromTimeout irql=0\n");
	struct recorder_escape pending = { .command = RECORDER_PENDING };
	EXPECT_EQ(host_escape(&host, &pending), STATUS_SUCCESS);
	EXPECT_EQ(pending.result, 0);
	host_finish_reported(&host);

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		begin(&host, TEXT("Fail", steps[i]));
		EXPECT_EQ(miniport_reset_from_timeout(host.miniport), i != 0);
		EXPECT_EQ(miniport_restart_from_timeout(host.miniport), i != 1);
		EXPECT_EQ(host_reports.rule, RULE_DDI_MUST_SUCCEED);
		host_finish_reported(&host);
		begin(&host, TEXT("Missing", steps[i]));
		EXPECT_EQ(miniport_reset_from_timeout(host.miniport), i != 0);
		EXPECT_EQ(miniport_restart_from_timeout(host.miniport), i != 1);
		EXPECT_EQ(host_reports.rule, RULE_DDI_RECOVERY);
		host_finish_reported(&host);
	}
}

static _Atomic uint32_t stage;

static NTSTATUS update_and_stay(void *listener, void *allocation, void *data, uint32_t bytes,
				bool may_wait)
{
	atomic_store(&stage, 1);
	thread_wake_all(&stage);
	while (atomic_load(&stage) != 2)
		thread_wait(&stage, 1, CLOCK_FOREVER);
	return STATUS_SUCCESS;
}

static const struct miniport_context_services staying = { .update = update_and_stay };

static void stay_in_the_driver(void *argument)
{
	struct recorder_escape escape = { .command = RECORDER_CONTEXT_UPDATE, .values = { 1 } };

	if (!NT_SUCCESS(host_escape(argument, &escape)))
		abort();
}

TEST(adapter, a_thread_that_stays_in_the_driver_makes_a_reset_impossible)
{
	struct host host;
	struct thread *thread;

	begin(&host, NUMBER("TdrDdiDelay", 1));
	miniport_serve_contexts(&staying);
	atomic_store(&stage, 0);
	EXPECT_EQ(thread_create("stayer", stay_in_the_driver, &host, &thread), STATUS_SUCCESS);
	while (atomic_load(&stage) == 0)
		thread_wait(&stage, 0, CLOCK_FOREVER);
	EXPECT(!miniport_reset_from_timeout(host.miniport));
	EXPECT_EQ(host_reports.rule, RULE_DDI_DRAIN);
	EXPECT(strstr(host.notes, "ResetFromTimeout") == NULL);
	atomic_store(&stage, 2);
	thread_wake_all(&stage);
	thread_join(thread);
	EXPECT(miniport_reset_from_timeout(host.miniport));
	miniport_serve_contexts(NULL);
	host_finish_reported(&host);
}

/* ---- settings ---- */

TEST(settings, the_defaults_are_those_of_windows)
{
	struct host host;
	struct miniport_tdr_settings settings;

	begin(&host, NUMBER("HandCranked", 0));
	miniport_tdr_settings(host.miniport, &settings);
	EXPECT(settings.level == 3 && settings.delay_s == 2 && settings.ddi_delay_s == 5 &&
	       settings.limit_time_s == 60 && settings.limit_count == 5 &&
	       settings.enables_preemption);
	EXPECT_EQ(settings.quantum_ms, 20);
	host_finish_reported(&host);
}

TEST(settings, the_profile_can_set_them_for_an_adapter)
{
	struct host host;
	struct miniport_tdr_settings settings;

	begin(&host, NUMBER("TdrLevel", 1), NUMBER("TdrDelay", 10), NUMBER("TdrDdiDelay", 20),
	      NUMBER("TdrLimitTime", 30), NUMBER("TdrLimitCount", 0), NUMBER("EnablePreemption", 0),
	      NUMBER("QuantumMs", 1));
	miniport_tdr_settings(host.miniport, &settings);
	EXPECT(settings.level == 1 && settings.delay_s == 10 && settings.ddi_delay_s == 20 &&
	       settings.limit_time_s == 30 && settings.limit_count == 0 &&
	       !settings.enables_preemption);
	EXPECT_EQ(settings.quantum_ms, 1);
	host_finish_reported(&host);
}

TEST(settings, what_makes_no_sense_is_left_at_its_default)
{
	struct host host;
	struct miniport_tdr_settings settings;

	begin(&host, NUMBER("TdrLevel", 4), NUMBER("TdrDelay", 0), NUMBER("TdrDdiDelay", 86401),
	      TEXT("TdrLimitTime", "7"), NUMBER("TdrLimitCount", 0xffffffff),
	      NUMBER("EnablePreemption", 2), NUMBER("QuantumMs", 0));
	miniport_tdr_settings(host.miniport, &settings);
	EXPECT(settings.level == 3 && settings.delay_s == 2 && settings.ddi_delay_s == 5 &&
	       settings.limit_time_s == 60 && settings.limit_count == 5 &&
	       settings.enables_preemption && settings.quantum_ms == 20);
	host_finish_reported(&host);
	begin(&host, NUMBER("TdrLevel", 2));
	miniport_tdr_settings(host.miniport, &settings);
	EXPECT_EQ(settings.level, 3);
	host_finish_reported(&host);
}

TEST(settings, those_for_all_adapters_count_where_the_adapter_has_none)
{
	static const char path[] = NT_REGISTRY_CONTROL "\\GraphicsDrivers";
	struct host host;
	struct miniport_tdr_settings settings;

	begin(&host, NUMBER("TdrDelay", 9));
	EXPECT_EQ(nt_registry_set_dword(path, "TdrDelay", 7), STATUS_SUCCESS);
	EXPECT_EQ(nt_registry_set_dword(path, "TdrDdiDelay", 8), STATUS_SUCCESS);
	miniport_tdr_settings(host.miniport, &settings);
	EXPECT(settings.delay_s == 9 && settings.ddi_delay_s == 8);
	EXPECT_EQ(nt_registry_set_dword(NT_REGISTRY_CONTROL "\\GraphicsDrivers\\Scheduler",
					"EnablePreemption", 0),
		  STATUS_SUCCESS);
	miniport_tdr_settings(host.miniport, &settings);
	EXPECT(!settings.enables_preemption);
	nt_registry_delete_tree(path);
	host_finish_reported(&host);
}

/* ---- page tables and the CPU's window ---- */

TEST(page_table, the_root_is_told_to_an_idle_context)
{
	struct host host;
	struct host_context context;
	DXGKARG_SETROOTPAGETABLE args;

	begin(&host, NUMBER("HandCranked", 1));
	host_context_create(&host, &context, 0, true);
	host_forget_notes(&host);
	miniport_set_root_page_table(host.miniport, context.info.driver_context, 3, 0x7000, 1024);
	EXPECT_STR(host.notes, "SetRootPageTable irql=0 entries=1024\n");
	host_fetch(&host, RECORDER_SET_ROOT_PAGE_TABLE, &args, sizeof(args), NULL, 0);
	EXPECT(args.hContext == context.info.driver_context && args.Address.SegmentId == 3 &&
	       args.Address.SegmentOffset == 0x7000 && args.NumEntries == 1024);
	host_context_destroy(&host, &context);
	host_finish_reported(&host);
}

TEST(page_table, a_root_can_grow)
{
	struct host host;
	uint32_t count = 1000;
	DXGKARG_GETROOTPAGETABLESIZE args;

	begin(&host, NUMBER("RootPageTableSize", 65536));
	EXPECT_EQ(miniport_root_page_table_bytes(host.miniport, &count), 65536);
	EXPECT_EQ(count, 1024);
	host_fetch(&host, RECORDER_GET_ROOT_PAGE_TABLE_SIZE, &args, sizeof(args), NULL, 0);
	EXPECT(args.NumberOfPte == 1000 && args.PhysicalAdapterIndex == 0);
	host_finish_reported(&host);
	begin(&host, TEXT("Missing", "GetRootPageTableSize"));
	EXPECT_EQ(miniport_root_page_table_bytes(host.miniport, &count), 0);
	host_finish_reported(&host);
}

TEST(host_aperture, every_field_arrives)
{
	static const uint32_t window[] = { 4, 9 };
	static const uint64_t pages[] = { 100, 7000000000 };
	struct host host;
	int allocation;
	uint64_t listed[2];
	uint32_t unlisted[2];
	DXGKARG_MAPCPUHOSTAPERTURE map;
	DXGKARG_UNMAPCPUHOSTAPERTURE unmap;

	begin(&host, NUMBER("HandCranked", 1));
	EXPECT_EQ(miniport_map_host_aperture(host.miniport, &allocation, 1, 2, window, pages),
		  STATUS_SUCCESS);
	host_fetch(&host, RECORDER_MAP_CPU_HOST_APERTURE, &map, sizeof(map), listed,
		   sizeof(listed));
	EXPECT(map.hAllocation == &allocation && map.SegmentId == 1 &&
	       map.PhysicalAdapterIndex == 0 && map.NumberOfPages == 2 &&
	       map.pCpuHostAperturePages == window);
	EXPECT_EQ(memcmp(listed, pages, sizeof(pages)), 0);
	miniport_unmap_host_aperture(host.miniport, 1, 2, window);
	host_fetch(&host, RECORDER_UNMAP_CPU_HOST_APERTURE, &unmap, sizeof(unmap), unlisted,
		   sizeof(unlisted));
	EXPECT(unmap.SegmentId == 1 && unmap.NumberOfPages == 2 && unmap.PhysicalAdapterIndex == 0);
	EXPECT_EQ(memcmp(unlisted, window, sizeof(window)), 0);
	host_finish_reported(&host);
}

TEST(host_aperture, that_cannot_be_mapped_is_reported_and_none_is_refused)
{
	struct host host;
	uint32_t window = 0;
	uint64_t page = 0;

	begin(&host, TEXT("Fail", "MapCpuHostAperture"), NUMBER("FailStatus", STATUS_NO_MEMORY));
	EXPECT_EQ(miniport_map_host_aperture(host.miniport, NULL, 1, 1, &window, &page),
		  STATUS_NO_MEMORY);
	host_expect_refusal("DDI-STATUS");
	EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_HOSTAPERTURE);
	host_finish_reported(&host);
	begin(&host, TEXT("Fail", "UnmapCpuHostAperture"));
	miniport_unmap_host_aperture(host.miniport, 1, 1, &window);
	EXPECT_EQ(host_reports.rule, RULE_DDI_STATUS_HOSTAPERTURE);
	host_finish_reported(&host);
	begin(&host, TEXT("Missing", "MapCpuHostAperture"));
	EXPECT_EQ(miniport_map_host_aperture(host.miniport, NULL, 1, 1, &window, &page),
		  STATUS_NOT_SUPPORTED);
	host_expect_refusal("DDI-ENTRY-MISSING");
	host_finish_reported(&host);
}

TEST_MAIN("miniport/recovery")
