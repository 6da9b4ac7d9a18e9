/* SPDX-License-Identifier: MIT */
/*
 * guarded_calls_test.c - with DXGK_VERIFY=answers a driver that writes behind its answer is reported in
 * calls that are made often, too. The run sets that.
 */
#include "base/thread.h"
#include "paging_world.h"

#include "miniport/allocations.h"

static void expect_overrun(const char *entry)
{
	EXPECT_EQ(host_reports.count, 1);
	EXPECT_STR(rule_id(host_reports.rule), "DDI-ANSWER-OVERRUN");
	EXPECT_CONTAINS(host_reports.sentence, entry);
	EXPECT_CONTAINS(host_reports.sentence, "wrote 3 more behind it");
}

/* Room behind the data, so that what is written there would harm nobody without the guard. */
struct data {
	struct recorder_allocation said;
	uint8_t behind[16];
};

static void create_and_open(struct host *host, struct data *data)
{
	struct miniport_allocation allocation = { .private_data = &data->said,
						  .private_bytes = sizeof(data->said) };
	struct miniport_binding binding = { .private_data = &data->said,
					    .private_bytes = sizeof(data->said),
					    .handle = 0x40000040 };
	struct miniport_visit visit;
	void *device;

	EXPECT_EQ(miniport_create_device(host->miniport, host->client, host, NULL, &device),
		  STATUS_SUCCESS);
	EXPECT(miniport_can_visit());
	EXPECT_EQ(miniport_visit_create(&visit, host->miniport, host->client, thread_seat(),
					&allocation),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_visit_open(&visit, thread_seat(), device, allocation.driver_allocation,
				      &binding),
		  STATUS_SUCCESS);
	miniport_close_allocations(host->miniport, host->client, device, 1,
				   &binding.driver_binding);
	miniport_destroy_allocations(host->miniport, host->client, 1, &allocation.driver_allocation,
				     NULL, false);
	miniport_destroy_device(host->miniport, host->client, device);
}

TEST(overrun, of_an_allocations_private_data_is_reported_and_kept_off)
{
	static const char *const entries[] = { "CreateAllocation", "OpenAllocation" };

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct data data = { .behind = { 1, 2, 3 } };
		struct host host;

		host_init(&host);
		host_listen();
		EXPECT_EQ(host_start(&host, TEXT("Overrun", entries[i])), STATUS_SUCCESS);
		create_and_open(&host, &data);
		expect_overrun(entries[i]);
		EXPECT(data.behind[0] == 1 && data.behind[1] == 2 && data.behind[2] == 3);
		/* What it wrote into its answer is there. */
		EXPECT_EQ(data.said.created, 1);
		EXPECT_EQ(data.said.opened, 1);
		host_finish_reported(&host);
	}
}

TEST(overrun, of_a_list_of_allocations_is_reported_for_each)
{
	struct data data[2] = { { .behind = { 1 } }, { .behind = { 2 } } };
	struct miniport_allocation allocations[2];
	struct miniport_creation creation = { .count = 2, .allocations = allocations };
	struct host host;

	for (int i = 0; i < 2; i++)
		allocations[i] =
			(struct miniport_allocation){ .private_data = &data[i].said,
						      .private_bytes = sizeof(data[i].said) };
	host_init(&host);
	host_listen();
	EXPECT_EQ(host_start(&host, TEXT("Overrun", "CreateAllocation")), STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_allocations(host.miniport, host.client, &creation),
		  STATUS_SUCCESS);
	expect_overrun("DxgkDdiCreateAllocation");
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(data[i].said.created, 1);
		EXPECT_EQ(data[i].behind[0], i + 1);
		miniport_destroy_allocations(host.miniport, host.client, 1,
					     &allocations[i].driver_allocation, NULL, false);
	}
	host_finish_reported(&host);
}

TEST(overrun, of_what_rendering_writes_is_reported_and_pointers_are_moved_as_ever)
{
	static const char *const entries[] = { "Render", "PatchLocationListOut" };
	static uint8_t memory[4096];

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct host host;
		struct host_context context;
		struct miniport_patch_entry patches[8];
		uint8_t private_data[64];

		host_init(&host);
		host_listen();
		EXPECT_EQ(host_start(&host, TEXT("Model", "physical"), TEXT("Overrun", entries[i])),
			  STATUS_SUCCESS);
		host_context_create(&host, &context, 0, false);
		struct miniport_render render = {
			.driver_context = context.info.driver_context,
			.driver_device = context.device,
			.command = (const uint8_t *)"commands",
			.command_bytes = 8,
			.buffer = memory,
			.buffer_segment = 2,
			.buffer_bytes = sizeof(memory),
			.private_data = private_data,
			.private_bytes = 32,
			.patches_out = patches,
			.patch_out_capacity = 4,
		};
		EXPECT_EQ(miniport_render(host.miniport, host.client, &render), STATUS_SUCCESS);
		expect_overrun(i == 0 ? "DxgkDdiRender(pDmaBufferPrivateData)"
				      : "DxgkDdiRender(pPatchLocationListOut)");
		host_context_destroy(&host, &context);
		host_finish_reported(&host);
	}
}

TEST(overrun, of_a_paging_buffers_private_data_is_reported)
{
	struct pager pager;

	begin(&pager, TEXT("Overrun", "BuildPagingBuffer"));
	EXPECT_EQ(build(&pager, &fill), STATUS_SUCCESS);
	expect_overrun("DxgkDdiBuildPagingBuffer(pDmaBufferPrivateData)");
	end(&pager);
}

TEST_MAIN("miniport/guarded_calls")
