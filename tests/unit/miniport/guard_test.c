/* SPDX-License-Identifier: MIT */
/*
 * guard_test.c - a driver that writes behind its answer is reported, and so is one that finds a
 * documented buffer too small.
 */
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "miniport/allocations.h"
#include "miniport/work.h"

static void expect_overrun(const char *entry, const char *by)
{
	EXPECT_EQ(host_reports.count, 1);
	EXPECT_STR(rule_id(host_reports.rule), "DDI-ANSWER-OVERRUN");
	EXPECT_CONTAINS(host_reports.sentence, entry);
	EXPECT_CONTAINS(host_reports.sentence, by);
}

#define begin(host, ...)                                                                           \
	do {                                                                                       \
		host_init(host);                                                                   \
		host_listen();                                                                     \
		EXPECT_EQ(host_start(host, NUMBER("HwQueues", 1), __VA_ARGS__), STATUS_SUCCESS);   \
	} while (0)

/* What a driver of that version is asked, and for how much. */
struct query {
	const char *query;
	uint32_t version;
	uint32_t bytes;
};

TEST(overrun, of_every_query_at_start_is_reported_with_its_type_and_size)
{
	static const struct query queries[] = {
		{ "DRIVERCAPS", 0xB004, sizeof(DXGK_DRIVERCAPS) },
		{ "GPUMMUCAPS", 0xB004, sizeof(DXGK_GPUMMUCAPS) },
		{ "PHYSICALADAPTERCAPS", 0xB004, sizeof(DXGK_PHYSICALADAPTERCAPS) },
		{ "NUMPOWERCOMPONENTS", 0xB004, sizeof(UINT) },
		{ "POWERCOMPONENTINFO", 0xB004, sizeof(DXGK_POWER_RUNTIME_COMPONENT) },
		{ "HISTORYBUFFERPRECISION", 0xB004, 2 * sizeof(DXGKARG_HISTORYBUFFERPRECISION) },
		{ "PHYSICAL_MEMORY_CAPS", 0xE003, sizeof(DXGK_PHYSICAL_MEMORY_CAPS) },
		{ "IOMMU_CAPS", 0xE003, sizeof(DXGK_IOMMU_CAPS) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct host host;
		char sentence[128];

		begin(&host, TEXT("Overrun", queries[i].query),
		      NUMBER("Version", queries[i].version));
		snprintf(sentence, sizeof(sentence),
			 "DxgkDdiQueryAdapterInfo(%s) was given a buffer of %u bytes",
			 queries[i].query, queries[i].bytes);
		expect_overrun(sentence, "wrote 3 more behind it");
		host_finish_reported(&host);
	}
}

/* Those are asked more than once. */
TEST(overrun, of_segments_and_page_table_levels_is_reported)
{
	static const struct query queries[] = {
		{ "QUERYSEGMENT", 0x2005 },
		{ "QUERYSEGMENT3", 0x300E },
		{ "QUERYSEGMENT4", 0xB004 },
		{ "PAGETABLELEVELDESC", 0xB004 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct host host;
		char sentence[64];

		begin(&host, TEXT("Overrun", queries[i].query),
		      NUMBER("Version", queries[i].version));
		snprintf(sentence, sizeof(sentence), "DxgkDdiQueryAdapterInfo(%s) was given",
			 queries[i].query);
		EXPECT(host_reports.count >= 2);
		EXPECT_CONTAINS(host_reports.sentence, sentence);
		host_finish_reported(&host);
	}
}

TEST(overrun, of_descriptions_of_segments_is_reported)
{
	static const struct query queries[] = {
		{ "QUERYSEGMENT,", 0x2005, sizeof(DXGK_SEGMENTDESCRIPTOR) },
		{ "QUERYSEGMENT3,", 0x300E, sizeof(DXGK_SEGMENTDESCRIPTOR3) },
		{ "QUERYSEGMENT4,", 0xB004, sizeof(DXGK_SEGMENTDESCRIPTOR4) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct host host;
		char bytes[32];

		begin(&host, TEXT("Overrun", "pSegmentDescriptor"),
		      NUMBER("Version", queries[i].version));
		snprintf(bytes, sizeof(bytes), "buffer of %u bytes", 2 * queries[i].bytes);
		expect_overrun(queries[i].query, bytes);
		EXPECT_EQ(miniport_info(host.miniport)->segments[1].size_bytes, 64 << 20);
		host_finish_reported(&host);
	}
}

TEST(overrun, says_how_far_it_can_be_seen)
{
	struct host host;

	begin(&host, TEXT("Overrun", "DRIVERCAPS"), NUMBER("OverrunBytes", 1));
	expect_overrun("DRIVERCAPS", "wrote 1 more behind it");
	host_finish_reported(&host);
	begin(&host, TEXT("Overrun", "DRIVERCAPS"), NUMBER("OverrunBytes", 512));
	expect_overrun("DRIVERCAPS", "wrote at least 512 more behind it");
	host_finish_reported(&host);
}

TEST(overrun, of_everything_else_that_is_answered_into_a_buffer_is_reported)
{
	static const char *const entries[] = {
		"GetNodeMetadata", "CreateContext",
		"CreateHwContext", "CreateHwQueue",
		"Escape",          "GetStandardAllocationDriverData",
		"CollectDbgInfo",  "GetRootPageTableSize",
		"UMDRIVERPRIVATE",
	};

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct host host;
		struct recorder_escape escape = { .command = RECORDER_NOTHING };
		uint8_t private_data[16] = { 1, 2, 3 };
		uint8_t debug_info[32];
		uint32_t table_entries = 64;
		struct miniport_standard_data standard;
		struct miniport_context_info info;
		void *device;
		void *context;
		void *queue;
		struct miniport_context_desc desc = {
			.kernel_handle = &host,
			.engine_mask = 1,
			.private_data = private_data,
			.private_bytes = sizeof(private_data),
		};

		begin(&host, TEXT("Overrun", entries[i]), NUMBER("NbAsymetricProcessingNodes", 1),
		      NUMBER("PagingNode", 0), NUMBER("StandardResourceBytes", 24));
		EXPECT_EQ(miniport_create_device(host.miniport, host.client, &host, NULL, &device),
			  STATUS_SUCCESS);
		desc.driver_device = device;
		EXPECT_EQ(miniport_create_context(host.miniport, host.client, &desc, &info),
			  STATUS_SUCCESS);
		EXPECT_EQ(miniport_create_hw_context(host.miniport, host.client, &desc, &context),
			  STATUS_SUCCESS);
		EXPECT_EQ(private_data[0], 1 ^ 0xff); /* what is within arrives */
		EXPECT_EQ(miniport_create_hw_queue(host.miniport, host.client,
						   &(struct miniport_hw_queue_desc){
							   .kernel_handle = &queue,
							   .driver_context = context,
							   .is_hw_context = true,
							   .private_data = private_data,
							   .private_bytes = sizeof(private_data),
						   },
						   &queue),
			  STATUS_SUCCESS);
		EXPECT_EQ(host_escape(&host, &escape), STATUS_SUCCESS);
		EXPECT_EQ(miniport_describe_existing_heap(host.miniport, host.client, 65536,
							  &standard),
			  STATUS_SUCCESS);
		mem_free(standard.allocation_data);
		mem_free(standard.resource_data);
		miniport_collect_debug_info(host.miniport, 0x117, debug_info, sizeof(debug_info));
		miniport_root_page_table_bytes(host.miniport, &table_entries);
		EXPECT_EQ(miniport_query_umd_private(host.miniport, host.client, private_data,
						     sizeof(private_data)),
			  STATUS_SUCCESS);
		expect_overrun(entries[i], "wrote 3 more behind it");
		miniport_destroy_hw_queue(host.miniport, host.client, queue);
		miniport_destroy_hw_context(host.miniport, host.client, context);
		miniport_destroy_context(host.miniport, host.client, info.driver_context);
		miniport_destroy_device(host.miniport, host.client, device);
		host_finish_reported(&host);
	}
}

TEST(overrun, is_not_what_a_driver_does_that_keeps_to_its_buffers)
{
	struct host host;

	begin(&host, NUMBER("StandardResourceBytes", 24));
	EXPECT_EQ(host_reports.count, 0);
	host_finish_reported(&host);
}

TEST(too_small, is_no_answer_to_what_every_driver_is_asked)
{
	static const struct query queries[] = {
		{ "DRIVERCAPS", 0xB004, sizeof(DXGK_DRIVERCAPS) },
		{ "QUERYSEGMENT", 0x2005, sizeof(DXGK_QUERYSEGMENTOUT) },
		{ "QUERYSEGMENT3", 0x300E, sizeof(DXGK_QUERYSEGMENTOUT3) },
		{ "QUERYSEGMENT4", 0xB004, sizeof(DXGK_QUERYSEGMENTOUT4) },
		{ "GPUMMUCAPS", 0xB004, sizeof(DXGK_GPUMMUCAPS) },
		{ "PAGETABLELEVELDESC", 0xB004, sizeof(DXGK_PAGE_TABLE_LEVEL_DESC) },
		{ "POWERCOMPONENTINFO", 0xB004, sizeof(DXGK_POWER_RUNTIME_COMPONENT) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct host host;
		char bytes[32];

		host_init(&host);
		host_listen();
		snprintf(bytes, sizeof(bytes), "%u bytes", queries[i].bytes);
		EXPECT_REFUSED(&host, STATUS_BUFFER_TOO_SMALL, "DDI-ANSWER-TOO-SMALL",
			       queries[i].query, TEXT("Fail", queries[i].query),
			       NUMBER("FailStatus", STATUS_BUFFER_TOO_SMALL),
			       NUMBER("Version", queries[i].version));
		EXPECT_CONTAINS(host.refusal.reason, bytes);
		EXPECT_EQ(host_reports.count, 1);
		EXPECT_STR(rule_id(host_reports.rule), "DDI-ANSWER-TOO-SMALL");
		EXPECT_CONTAINS(host_reports.sentence, queries[i].query);
		EXPECT_CONTAINS(host_reports.sentence, bytes);
		host_finish_reported(&host);
	}
}

/* A driver may not know the question, and a client may ask with any size. */
TEST(too_small, is_an_answer_where_nobody_has_to_know)
{
	struct host host;
	uint8_t data[4] = { 0 };

	begin(&host, TEXT("Fail", "NUMPOWERCOMPONENTS"),
	      NUMBER("FailStatus", STATUS_BUFFER_TOO_SMALL));
	EXPECT_EQ(host_reports.count, 0);
	host_finish_reported(&host);
	begin(&host, TEXT("Fail", "UMDRIVERPRIVATE"),
	      NUMBER("FailStatus", STATUS_BUFFER_TOO_SMALL));
	EXPECT_EQ(miniport_query_umd_private(host.miniport, host.client, data, sizeof(data)),
		  STATUS_BUFFER_TOO_SMALL);
	host_expect_refusal("DDI-STATUS");
	EXPECT_EQ(host_reports.count, 0);
	host_finish_reported(&host);
}

TEST_MAIN("miniport/guard")
