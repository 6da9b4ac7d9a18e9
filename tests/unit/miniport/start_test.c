/* SPDX-License-Identifier: MIT */
/*
 * start_test.c - the life of a driver: order, unwinding, and what is refused on the way.
 */
#include "host.h"

static const char *const start_notes = "DriverEntry irql=0\n"
				       "AddDevice irql=0 adapters=1\n"
				       "StartDevice irql=0 queue=16 luid=4660\n"
				       "Query:DRIVERCAPS irql=0\n"
				       "Query:QUERYSEGMENT4 irql=0\n"
				       "Query:QUERYSEGMENT4 irql=0\n"
				       "Query:GPUMMUCAPS irql=0\n"
				       "Query:PAGETABLELEVELDESC irql=0\n"
				       "Query:PAGETABLELEVELDESC irql=0\n"
				       "Query:PAGETABLELEVELDESC irql=0\n"
				       "Query:PHYSICALADAPTERCAPS irql=0\n"
				       "Query:NUMPOWERCOMPONENTS irql=0\n"
				       "Query:POWERCOMPONENTINFO irql=0\n"
				       "Query:HISTORYBUFFERPRECISION irql=0\n"
				       "GetNodeMetadata irql=0 node=0\n"
				       "GetNodeMetadata irql=0 node=1\n"
				       "CreateProcess irql=0 flags=1 name=6\n"
				       "CreateDevice irql=0 flags=1 process=1\n"
				       "CreateContext irql=0 node=1 flags=5\n";

static const char *const stop_notes = "DestroyContext irql=0\n"
				      "DestroyDevice irql=0\n"
				      "DestroyProcess irql=0\n"
				      "StopDevice irql=0 left=0\n"
				      "RemoveDevice irql=0\n"
				      "Unload irql=0\n";

static bool ends_with(const char *text, const char *end)
{
	size_t text_length = strlen(text);
	size_t end_length = strlen(end);

	return text_length >= end_length && strcmp(text + text_length - end_length, end) == 0;
}

HOST_TEST(start, goes_through_every_step_in_order_and_back)
{
	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	EXPECT_STR(host->notes, start_notes);
	host_forget_notes(host);
	host_stop(host);
	EXPECT_STR(host->notes, stop_notes);
}

HOST_TEST(start, a_driver_says_what_it_is)
{
	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	const struct miniport_info *info = miniport_info(host->miniport);

	EXPECT_STR(info->driver_path, RECORDER_PATH);
	EXPECT_STR(info->description, "Recorder");
	EXPECT_CONTAINS(info->registry_path, "\\Services\\recorder7");
	EXPECT_EQ(info->interface_version, 0xB004);
	EXPECT_EQ(info->wddm_version, 2600);
	EXPECT(info->is_multi_engine_aware && info->is_preemption_aware);
	EXPECT(info->is_cancel_command_aware && info->supports_per_engine_tdr);
	EXPECT(info->is_compute_only && info->supports_non_vga && info->supports_cross_adapter);
	EXPECT(info->supports_virtual_addressing && info->supports_gpu_mmu);
	EXPECT(!info->supports_io_mmu);
	EXPECT_EQ(info->highest_acceptable_address, UINT64_MAX);
	EXPECT_EQ(info->segment_count, 2);
	EXPECT_EQ(info->segments[0].size_bytes, 64 << 20);
	EXPECT_EQ(info->segments[0].base_address, 1ull << 32);
	EXPECT_EQ(info->segments[0].cpu_translated_address, 17ull << 32);
	EXPECT(info->segments[0].is_cpu_visible && info->segments[0].is_application_target);
	EXPECT(info->segments[1].is_aperture && !info->segments[1].is_cpu_visible);
	EXPECT_EQ(info->implicit_system_segment_id, 3);
	EXPECT(info->segments[2].is_implicit_system);
	EXPECT_EQ(info->segments[2].id, 3);
	EXPECT_EQ(info->paging_buffer_size_bytes, 4096);
	EXPECT_EQ(info->paging_buffer_private_bytes, 64);
	EXPECT_EQ(info->paging_node, 1);
	EXPECT_EQ(info->node_count, 2);
	EXPECT_EQ(info->nodes[0].engine_type, 1);
	EXPECT_STR(info->nodes[0].name, "3D");
	EXPECT_EQ(info->nodes[1].engine_type, 6);
	EXPECT_STR(info->nodes[1].name, "Copy \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
	EXPECT(info->nodes[0].has_gpu_mmu);
	EXPECT_EQ(info->gpu_mmu.address_bits, 40);
	EXPECT_EQ(info->gpu_mmu.level_count, 3);
	EXPECT_EQ(info->gpu_mmu.levels[2].index_bits, 10);
	EXPECT_EQ(info->gpu_mmu.levels[0].table_size_bytes, 16384);
	EXPECT_EQ(info->power_component_count, 1);
}

HOST_TEST(start, a_physical_driver_has_no_page_tables)
{
	EXPECT_EQ(host_start(host, TEXT("Model", "physical")), STATUS_SUCCESS);
	EXPECT(!miniport_info(host->miniport)->supports_virtual_addressing);
	EXPECT(strstr(host->notes, "GPUMMUCAPS") == NULL);
	EXPECT_CONTAINS(host->notes, "CreateContext irql=0 node=1 flags=1\n");
}

TEST(start, each_version_is_asked_what_it_knows)
{
	static const struct {
		uint32_t version;
		uint32_t wddm_version;
		const char *segments;
		bool has_nodes;
		bool has_processes;
	} versions[] = {
		{ 0x2005, 1100, "Query:QUERYSEGMENT irql", false, false },
		{ 0x300E, 1200, "Query:QUERYSEGMENT3 irql", false, false },
		{ 0x4002, 1300, "Query:QUERYSEGMENT3 irql", true, false },
		{ 0x5023, 2000, "Query:QUERYSEGMENT4 irql", true, true },
		{ 0x9006, 2000, "Query:QUERYSEGMENT4 irql", true, true },
		{ 0xB004, 2600, "Query:QUERYSEGMENT4 irql", true, true },
		{ 0xE003, 2600, "Query:QUERYSEGMENT4 irql", true, true },
		{ 0x11007, 2600, "Query:QUERYSEGMENT4 irql", true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct host host;

		host_init(&host);
		EXPECT_EQ(host_start(&host, NUMBER("Version", versions[i].version),
				     TEXT("Model", "physical")),
			  STATUS_SUCCESS);
		EXPECT_EQ(miniport_info(host.miniport)->wddm_version, versions[i].wddm_version);
		EXPECT_EQ(miniport_info(host.miniport)->interface_version, versions[i].version);
		EXPECT_CONTAINS(host.notes, versions[i].segments);
		EXPECT_EQ(strstr(host.notes, "GetNodeMetadata") != NULL, versions[i].has_nodes);
		EXPECT_EQ(strstr(host.notes, "CreateProcess") != NULL, versions[i].has_processes);
		/* From WDDM 2.9 on, between AddDevice and StartDevice. */
		EXPECT_EQ(strstr(host.notes, "adapters=1\nQuery:PHYSICAL_MEMORY_CAPS irql=0\n"
					     "Query:IOMMU_CAPS irql=0\nStartDevice") != NULL,
			  versions[i].version >= 0xE003);
		EXPECT_EQ(strstr(host.notes, "IOMMU_CAPS") != NULL, versions[i].version >= 0xE003);
		if (!versions[i].has_nodes)
			EXPECT_STR(miniport_info(host.miniport)->nodes[0].name, "3D 0");
		host_finish(&host);
	}
}

HOST_TEST(start, unknown_versions_are_refused)
{
	EXPECT_REFUSED(host, STATUS_REVISION_MISMATCH, "DDI-VERSION", "is 0x1234",
		       NUMBER("Version", 0x1234));
	EXPECT_STR(host->notes, "DriverEntry irql=0\n");
	EXPECT_REFUSED(host, STATUS_REVISION_MISMATCH, "DDI-VERSION", "is 0x1052",
		       NUMBER("Version", 0x1052));
	EXPECT_REFUSED(host, STATUS_REVISION_MISMATCH, "DDI-VERSION", "is 0x0",
		       NUMBER("Version", 0));
}

/* ---- steps that fail ---- */

HOST_TEST(unwind, a_failing_driver_entry_ends_it_there)
{
	EXPECT_REFUSED(host, STATUS_UNSUCCESSFUL, "DDI-STATUS",
		       "DriverEntry returned STATUS_UNSUCCESSFUL", TEXT("Fail", "DriverEntry"));
	EXPECT_STR(host->notes, "DriverEntry irql=0\n");
	EXPECT_STR(host->refusal.call, "adapter 7 (recorder)");
}

HOST_TEST(unwind, a_driver_has_to_call_dxgk_initialize_once)
{
	EXPECT_REFUSED(host, STATUS_FAILED_DRIVER_ENTRY, "DDI-INITIALIZE", "without DxgkInitialize",
		       TEXT("Initialize", "never"));
	EXPECT_REFUSED(host, STATUS_INVALID_DEVICE_STATE, "DDI-INITIALIZE", "twice",
		       TEXT("Initialize", "twice"));
	EXPECT_REFUSED(host, STATUS_INVALID_PARAMETER, "DDI-INITIALIZE", "not this driver's",
		       TEXT("Initialize", "other object"));
	EXPECT_REFUSED(host, STATUS_INVALID_PARAMETER, "DDI-INITIALIZE", "NULL",
		       TEXT("Initialize", "null"));
	EXPECT_REFUSED(host, STATUS_NOT_SUPPORTED, "DDI-DISPLAY-ONLY", "not hosted",
		       TEXT("Initialize", "displayonly"));
	EXPECT_REFUSED(host, STATUS_NO_MEMORY, "DDI-STATUS", "DriverEntry returned",
		       TEXT("Initialize", "undone"));
	EXPECT(strstr(host->notes, "AddDevice") == NULL);
	EXPECT(strstr(host->notes, "Unload") == NULL);
}

HOST_TEST(unwind, a_failure_of_dxgk_initialize_counts_also_when_the_driver_ignores_it)
{
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-ENTRY-MISSING",
		       "DxgkDdiAddDevice is NULL", TEXT("Initialize", "ignored"),
		       TEXT("Missing", "AddDevice"));
	EXPECT_STR(host->notes, "DriverEntry irql=0\n");
}

TEST(unwind, entry_points_that_every_driver_needs_are_missed_at_once)
{
	static const char *const required[] = {
		"AddDevice",         "StartDevice",    "StopDevice",       "RemoveDevice",
		"DpcRoutine",        "Unload",         "QueryAdapterInfo", "CreateDevice",
		"DestroyDevice",     "CreateContext",  "DestroyContext",   "CreateAllocation",
		"DestroyAllocation", "OpenAllocation", "CloseAllocation",  "BuildPagingBuffer",
	};

	for (size_t i = 0; i < ARRAY_SIZE(required); i++) {
		struct host host;

		host_init(&host);
		EXPECT_REFUSED(&host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-ENTRY-MISSING",
			       required[i], TEXT("Missing", required[i]));
		EXPECT_STR(host.notes, "DriverEntry irql=0\n");
		host_finish(&host);
	}
}

TEST(unwind, entry_points_that_a_capability_needs_are_missed_after_start)
{
	static const struct {
		const char *missing;
		const char *model;
	} cases[] = {
		{ "SubmitCommandVirtual", "gpummu" },
		{ "SetRootPageTable", "gpummu" },
		{ "Patch", "physical" },
		{ "Render", "physical" },
		{ "SubmitCommand", "physical" },
		{ "PreemptCommand", "gpummu" },
		{ "CancelCommand", "gpummu" },
		{ "ResetEngine", "gpummu" },
		{ "QueryEngineStatus", "physical" },
		{ "QueryDependentEngineGroup", "physical" },
		{ "CreateProcess", "gpummu" },
		{ "DestroyProcess", "gpummu" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host;

		host_init(&host);
		EXPECT_REFUSED(&host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-ENTRY-MISSING",
			       cases[i].missing, TEXT("Missing", cases[i].missing),
			       TEXT("Model", cases[i].model));
		EXPECT(ends_with(host.notes, "StopDevice irql=0 left=0\nRemoveDevice irql=0\n"
					     "Unload irql=0\n"));
		host_finish(&host);
	}
}

HOST_TEST(unwind, entry_points_of_the_other_model_may_be_missing)
{
	EXPECT_EQ(host_start(host, TEXT("Missing", "SubmitCommand")), STATUS_SUCCESS);
	host_stop(host);
	EXPECT_EQ(host_start(host, TEXT("Missing", "GetRootPageTableSize")), STATUS_SUCCESS);
}

HOST_TEST(unwind, a_root_that_grows_needs_to_know_its_size)
{
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-ENTRY-MISSING",
		       "DxgkDdiGetRootPageTableSize", TEXT("Missing", "GetRootPageTableSize"),
		       NUMBER("PageTableLevelCount", 2), NUMBER("VirtualAddressBitCount", 30));
}

HOST_TEST(unwind, a_failing_add_device_is_not_removed)
{
	EXPECT_REFUSED(host, STATUS_DEVICE_DOES_NOT_EXIST, "DDI-STATUS",
		       "DxgkDdiAddDevice returned STATUS_DEVICE_DOES_NOT_EXIST",
		       TEXT("Fail", "AddDevice"),
		       NUMBER("FailStatus", STATUS_DEVICE_DOES_NOT_EXIST));
	EXPECT_STR(host->notes, "DriverEntry irql=0\nAddDevice irql=0 adapters=1\nUnload irql=0\n");
}

HOST_TEST(unwind, a_driver_without_a_context_has_no_use_for_the_adapter)
{
	EXPECT_REFUSED(host, STATUS_NO_SUCH_DEVICE, "DDI-NO-CONTEXT",
		       "MiniportDeviceContext is NULL", NUMBER("NullContext", 1));
	EXPECT_STR(host->notes, "DriverEntry irql=0\nAddDevice irql=0 adapters=1\nUnload irql=0\n");
}

HOST_TEST(unwind, a_failing_start_device_is_removed_and_not_stopped)
{
	EXPECT_REFUSED(host, STATUS_INSUFFICIENT_RESOURCES, "DDI-STATUS",
		       "DxgkDdiStartDevice returned", TEXT("Fail", "StartDevice"),
		       NUMBER("FailStatus", STATUS_INSUFFICIENT_RESOURCES));
	EXPECT_STR(host->notes, "DriverEntry irql=0\nAddDevice irql=0 adapters=1\n"
				"StartDevice irql=0 queue=16 luid=4660\nRemoveDevice irql=0\n"
				"Unload irql=0\n");
}

TEST(unwind, a_failing_query_stops_removes_and_unloads)
{
	static const struct {
		const char *query;
		uint32_t at;
	} queries[] = {
		{ "DRIVERCAPS", 1 },         { "QUERYSEGMENT4", 1 },
		{ "QUERYSEGMENT4", 2 },      { "GPUMMUCAPS", 1 },
		{ "PAGETABLELEVELDESC", 1 }, { "PAGETABLELEVELDESC", 3 },
		{ "POWERCOMPONENTINFO", 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct host host;

		host_init(&host);
		EXPECT_REFUSED(&host, STATUS_IO_DEVICE_ERROR, "DDI-STATUS", queries[i].query,
			       TEXT("Fail", queries[i].query), NUMBER("FailAt", queries[i].at),
			       NUMBER("FailStatus", STATUS_IO_DEVICE_ERROR));
		EXPECT_CONTAINS(host.refusal.reason, "DxgkDdiQueryAdapterInfo returned");
		EXPECT(ends_with(host.notes, "StopDevice irql=0 left=0\nRemoveDevice irql=0\n"
					     "Unload irql=0\n"));
		host_finish(&host);
	}
}

TEST(unwind, a_query_a_driver_need_not_know_may_fail)
{
	static const char *const queries[] = { "PHYSICALADAPTERCAPS", "NUMPOWERCOMPONENTS",
					       "HISTORYBUFFERPRECISION" };

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct host host;

		host_init(&host);
		EXPECT_EQ(host_start(&host, TEXT("Fail", queries[i])), STATUS_SUCCESS);
		host_finish(&host);
	}
}

HOST_TEST(unwind, older_segment_queries_fail_as_well)
{
	EXPECT_REFUSED(host, STATUS_UNSUCCESSFUL, "DDI-STATUS", "QUERYSEGMENT3",
		       NUMBER("Version", 0x300E), TEXT("Fail", "QUERYSEGMENT3"),
		       NUMBER("FailAt", 2));
	EXPECT_REFUSED(host, STATUS_UNSUCCESSFUL, "DDI-STATUS", "QUERYSEGMENT",
		       NUMBER("Version", 0x2005), TEXT("Fail", "QUERYSEGMENT"),
		       NUMBER("FailAt", 1));
}

#define REST "StopDevice irql=0 left=0\nRemoveDevice irql=0\nUnload irql=0\n"

HOST_TEST(unwind, failing_node_metadata_ends_the_start)
{
	EXPECT_REFUSED(host, STATUS_UNSUCCESSFUL, "DDI-STATUS", "DxgkDdiGetNodeMetadata",
		       TEXT("Fail", "GetNodeMetadata"), NUMBER("FailAt", 2));
	EXPECT(ends_with(host->notes, REST));
}

HOST_TEST(unwind, system_objects_go_in_reverse)
{
	static const struct text_case cases[] = {
		{ "DxgkDdiCreateProcess", "CreateProcess irql=0 flags=1 name=6\n" REST },
		{ "DxgkDdiCreateDevice",
		  "CreateDevice irql=0 flags=1 process=1\nDestroyProcess irql=0\n" REST },
		{ "DxgkDdiCreateContext", "CreateContext irql=0 node=1 flags=5\n"
					  "DestroyDevice irql=0\nDestroyProcess irql=0\n" REST },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_REFUSED(host, STATUS_NO_MEMORY, "DDI-STATUS", cases[i].given,
			       TEXT("Fail", cases[i].given + strlen("DxgkDdi")),
			       NUMBER("FailStatus", STATUS_NO_MEMORY));
		EXPECT(ends_with(host->notes, cases[i].said));
	}
}

HOST_TEST(unwind, an_illegal_answer_stops_removes_and_unloads)
{
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-CAPS-SCHEDULING",
		       "PreemptionAware without MultiEngineAware", NUMBER("SchedulingCaps", 4));
	EXPECT_STR(host->refusal.argument, "DXGK_DRIVERCAPS.SchedulingCaps");
	EXPECT_STR(host->notes, "DriverEntry irql=0\nAddDevice irql=0 adapters=1\n"
				"StartDevice irql=0 queue=16 luid=4660\nQuery:DRIVERCAPS irql=0\n"
				"StopDevice irql=0 left=0\nRemoveDevice irql=0\nUnload irql=0\n");
}

/* ---- answers that only the driver itself can give ---- */

HOST_TEST(query, the_count_of_segments_stays_what_it_was)
{
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-SEGMENT-COUNT",
		       "NbSegment was 2 and then 1", NUMBER("NbSegmentAgain", 1));
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-SEGMENT-COUNT",
		       "NbSegment is 31", NUMBER("NbSegment", 31));
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-SEGMENT-COUNT",
		       "NbSegment is 4294967295", NUMBER("NbSegment", UINT32_MAX));
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-SEGMENT-COUNT",
		       "SegmentDescriptorStride was changed",
		       NUMBER("SegmentDescriptorStride", 64));
}

HOST_TEST(query, thirty_segments_are_allowed)
{
	EXPECT_EQ(host_start(host, NUMBER("NbSegment", 30), NUMBER("Level0.PageTableSegmentId", 31),
			     NUMBER("Level1.PageTableSegmentId", 31),
			     NUMBER("Level2.PageTableSegmentId", 31)),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_info(host->miniport)->implicit_system_segment_id, 31);
	EXPECT_EQ(miniport_info(host->miniport)->gpu_mmu.levels[0].segment_id, 31);
}

HOST_TEST(query, memory_with_holes_is_not_hosted)
{
	EXPECT_REFUSED(host, STATUS_NOT_SUPPORTED, "DDI-NOT-BUILT", "NumInvalidMemoryRanges",
		       NUMBER("Segment1.NumInvalidMemoryRanges", 3));
}

HOST_TEST(query, banks_are_copied)
{
	EXPECT_EQ(host_start(host, NUMBER("Version", 0x300E), NUMBER("Segment1.Flags", 0xC),
			     NUMBER("Segment1.NbOfBanks", 3)),
		  STATUS_SUCCESS);
	const struct miniport_segment *segment = &miniport_info(host->miniport)->segments[0];

	EXPECT_EQ(segment->bank_count, 3);
	EXPECT_EQ(segment->bank_ends[0], 16 << 20);
	EXPECT_EQ(segment->bank_ends[1], 32 << 20);
	EXPECT_EQ(segment->bank_ends[2], 64 << 20);
	host_stop(host);
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-SEGMENT-BANKS",
		       "pBankRangeTable", NUMBER("Version", 0x300E), NUMBER("Segment1.Flags", 0xC),
		       NUMBER("Segment1.NbOfBanks", 3), NUMBER("NoBankTable", 1));
}

HOST_TEST(query, the_physical_adapter_names_the_paging_node)
{
	EXPECT_EQ(host_start(host, NUMBER("HasPhysicalAdapterCaps", 1)), STATUS_SUCCESS);
	EXPECT_EQ(miniport_info(host->miniport)->paging_node, 0);
	host_stop(host);
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-CAPS-NODES",
		       "PagingNodeIndex is 2", NUMBER("HasPhysicalAdapterCaps", 1),
		       NUMBER("PagingNodeIndex", 2));
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-CAPS-NODES",
		       "NumExecutionNodes is 3", NUMBER("HasPhysicalAdapterCaps", 1),
		       NUMBER("NumExecutionNodes", 3));
}

HOST_TEST(query, power_and_history_answers_are_checked)
{
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-POWER",
		       "NUMPOWERCOMPONENTS is 4294967295", NUMBER("PowerComponents", UINT32_MAX));
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-POWER", "StateCount",
		       NUMBER("StateCount", 9));
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-NODE-METADATA",
		       "PrecisionBits[0] is 65", NUMBER("PrecisionBits", 65));
	EXPECT_REFUSED(host, STATUS_GRAPHICS_INVALID_DRIVER_MODEL, "DDI-NODE-METADATA",
		       "EngineType is 99 for node 1", NUMBER("Node1.EngineType", 99));
}

/* ---- statuses ---- */

HOST_TEST(status, a_success_that_is_none_is_refused)
{
	EXPECT_REFUSED(host, STATUS_DRIVER_INTERNAL_ERROR, "DDI-STATUS-CLASS",
		       "DxgkDdiCreateDevice returned STATUS_PENDING", TEXT("Fail", "CreateDevice"),
		       NUMBER("FailStatus", STATUS_PENDING));
}

TEST(status, failures_of_stopping_are_survived)
{
	static const char *const steps[] = { "DestroyContext", "DestroyDevice", "DestroyProcess",
					     "StopDevice", "RemoveDevice" };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct host host;

		host_init(&host);
		EXPECT_EQ(host_start(&host, TEXT("Fail", steps[i])), STATUS_SUCCESS);
		host_forget_notes(&host);
		host_stop(&host);
		EXPECT_STR(host.notes, stop_notes);
		host.miniport = NULL;
		host.before = mem_usage(); /* the first report of a place is remembered */
		host_finish(&host);
	}
}

/* ---- settings and registry ---- */

HOST_TEST(registry, settings_can_be_read_back)
{
	char data[64];
	size_t needed = 0;
	enum miniport_value_type type;

	EXPECT_EQ(host_start(host, TEXT("Colour", "gr\xC3\xBCn"), NUMBER("Size", 0xFFFFFFFF)),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_query_registry(host->miniport, "colour", &type, data, sizeof(data),
					  &needed),
		  STATUS_SUCCESS);
	EXPECT_EQ(type, MINIPORT_VALUE_TEXT);
	EXPECT_STR(data, "gr\xC3\xBCn");
	EXPECT_EQ(needed, 6);
	EXPECT_EQ(miniport_query_registry(host->miniport, "Size", &type, data, 4, &needed),
		  STATUS_SUCCESS);
	EXPECT_EQ(type, MINIPORT_VALUE_DWORD);
	EXPECT_EQ(*(uint32_t *)data, 0xFFFFFFFF);
	EXPECT_EQ(miniport_query_registry(host->miniport, "Size", &type, data, 3, &needed),
		  STATUS_BUFFER_OVERFLOW);
	EXPECT_EQ(needed, 4);
	EXPECT_EQ(miniport_query_registry(host->miniport, "Weight", &type, data, 4, &needed),
		  STATUS_OBJECT_NAME_NOT_FOUND);
	EXPECT_EQ(miniport_query_registry(host->miniport, "DriverDesc", &type, data, sizeof(data),
					  &needed),
		  STATUS_SUCCESS);
	EXPECT_STR(data, "Recorder");
}

/* ---- memory ---- */

TEST(memory, every_allocation_of_a_start_may_fail)
{
	host_start_without_memory(&(struct miniport_config){
		.driver = RECORDER_PATH, .name = "Recorder", .adapter_id = 7 });
}

TEST(memory, stopping_nothing_does_nothing)
{
	miniport_stop(NULL);
	miniport_client_destroy(NULL);
}

TEST_MAIN("miniport/start")
