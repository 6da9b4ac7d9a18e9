/* SPDX-License-Identifier: MIT */
/*
 * introduced_test.c - a driver is called where its version of WDDM has an entry point, and nowhere
 * else, whatever its table holds.
 *
 * The driver fills in the whole table of the newest interface and says that it is older. Which
 * version brought what is written down on its own (tests/drivers/recorder/introduced.def).
 */
#include "host.h"

#include "miniport/allocations.h"
#include "miniport/ddi.h"
#include "miniport/work.h"

enum { NEWEST_INTERFACE = 0x11007 };

static const struct introduced {
	const char *name;
	uint32_t version;
} introduced[] = {
#define ENTRY(member, version) { #member, version },
#include "drivers/recorder/introduced.def"
#undef ENTRY
};

static const uint32_t versions[] = { 1100, 1200, 1300, 2000, 2100, 2200, 2300, 2400,
				     2500, 2600, 2700, 2800, 2900, 3000, 3100, 3200 };

/* 2600 -> 0x2600 */
static uint32_t as_reported(uint32_t version)
{
	return version / 1000 << 12 | version / 100 % 10 << 8;
}

static bool was_called(const struct host *host, const char *entry)
{
	size_t length = strlen(entry);

	for (const char *line = host->notes; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, entry, length) == 0 && line[length] == ' ')
			return true;
		if (*line == '\0')
			break;
	}
	return false;
}

/* Before a driver has said how old it is, its table is all there is to go by. */
static bool is_called_before_that(const char *entry)
{
	return strcmp(entry, "ExchangePreStartInfo") == 0;
}

/* ---- everything that the kernel does with a driver ---- */

static void use_allocations(struct host *host)
{
	struct miniport_allocation allocation = { 0 };
	struct miniport_creation creation = { .count = 1, .allocations = &allocation };
	struct miniport_standard_data standard;

	EXPECT_EQ(miniport_create_allocations(host->miniport, host->client, &creation),
		  STATUS_SUCCESS);
	NTSTATUS status =
		miniport_validate_update(host->miniport, host->client,
					 &(struct miniport_property_update){
						 .driver_allocation = allocation.driver_allocation,
						 .sets_accessed_physically = true });
	EXPECT(status == STATUS_SUCCESS || status == STATUS_NOT_SUPPORTED);
	miniport_destroy_allocations(host->miniport, host->client, 1, &allocation.driver_allocation,
				     NULL, false);
	EXPECT_EQ(miniport_describe_existing_heap(host->miniport, host->client, 65536, &standard),
		  STATUS_SUCCESS);
	mem_free(standard.allocation_data);
	mem_free(standard.resource_data);
}

static void use_hw_queues(struct host *host, void *device)
{
	void *context = NULL;
	void *queue = NULL;

	if (!miniport_has_hw_queues(host->miniport))
		return;
	EXPECT_EQ(miniport_create_hw_context(host->miniport, host->client,
					     &(struct miniport_context_desc){
						     .kernel_handle = &context,
						     .driver_device = device,
						     .engine_mask = 1,
						     .has_hw_queues = true,
					     },
					     &context),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_hw_queue(host->miniport, host->client,
					   &(struct miniport_hw_queue_desc){
						   .kernel_handle = &queue,
						   .driver_context = context,
						   .is_hw_context = true,
					   },
					   &queue),
		  STATUS_SUCCESS);
	if (miniport_has_suspension(host->miniport)) {
		EXPECT(miniport_suspend_context(host->miniport, context, 1));
		miniport_resume_context(host->miniport, context);
	}
	if (miniport_has_hw_engine_reset(host->miniport)) {
		EXPECT_EQ(miniport_reset_hw_node(host->miniport, 0), STATUS_SUCCESS);
		EXPECT_EQ(miniport_resume_hw_node(host->miniport, 0), STATUS_SUCCESS);
	}
	miniport_destroy_hw_queue(host->miniport, host->client, queue);
	miniport_destroy_hw_context(host->miniport, host->client, context);
}

static void use_work(struct host *host, const struct host_context *context)
{
	const struct miniport_info *info = miniport_info(host->miniport);
	struct miniport_submission submission = { .driver_context = context->info.driver_context,
						  .driver_device = context->device,
						  .fence = 1 };
	uint8_t private_data[16] = { 0 };
	uint32_t last_aborted;

	EXPECT_EQ(miniport_validate_submission(
			  host->miniport, host->client,
			  &(struct miniport_validation){ .targets = &context->info.driver_context,
							 .target_count = 1,
							 .private_data = private_data,
							 .private_bytes = 16,
							 .client_private_bytes = 16 }),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_submit(host->miniport, info->supports_virtual_addressing, &submission),
		  STATUS_SUCCESS);
	miniport_cancel(host->miniport, &submission, NULL);
	miniport_preempt(host->miniport, 0, 2);
	EXPECT(miniport_dependent_nodes(host->miniport, 0) & 1);
	miniport_node_is_responsive(host->miniport, 0);
	if (info->supports_per_engine_tdr)
		EXPECT_EQ(miniport_reset_node(host->miniport, 0, &last_aborted), STATUS_SUCCESS);
}

static void use_addresses(struct host *host, const struct host_context *context)
{
	uint32_t page = 0;
	uint64_t segment_page = 0;
	uint32_t entries = 512;

	miniport_root_page_table_bytes(host->miniport, &entries);
	miniport_set_root_page_table(host->miniport, context->info.driver_context, 1, 0, 512);
	if (NT_SUCCESS(
		    miniport_map_host_aperture(host->miniport, NULL, 1, 1, &page, &segment_page)))
		miniport_unmap_host_aperture(host->miniport, 1, 1, &page);
}

static void use_everything(struct host *host)
{
	struct host_context context;
	void *process = NULL;

	EXPECT_EQ(miniport_create_process(host->miniport, host->client, host, "test", &process),
		  STATUS_SUCCESS);
	host_context_create(host, &context, 0,
			    miniport_info(host->miniport)->supports_virtual_addressing);
	use_allocations(host);
	use_hw_queues(host, context.device);
	use_work(host, &context);
	use_addresses(host, &context);
	miniport_notify_surprise_removal(host->miniport);
	host_context_destroy(host, &context);
	miniport_destroy_process(host->miniport, host->client, process);
}

static void start_as(struct host *host, uint32_t version, const char *model)
{
	host_init(host);
	EXPECT_EQ(host_start(host, NUMBER("Whole", 1), NUMBER("HwQueues", 1),
			     NUMBER("HwSuspend", 1), NUMBER("Version", NEWEST_INTERFACE),
			     NUMBER("SurpriseRemoval", 1), TEXT("Model", model),
			     NUMBER("WDDMVersion", as_reported(version))),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_info(host->miniport)->wddm_version, version);
}

TEST(introduced, nothing_newer_than_the_driver_is_called)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		for (int is_gpu_mmu = 0; is_gpu_mmu < 2; is_gpu_mmu++) {
			struct host host;

			start_as(&host, versions[i], is_gpu_mmu ? "gpummu" : "physical");
			use_everything(&host);
			for (size_t j = 0; j < ARRAY_SIZE(introduced); j++) {
				const struct introduced *entry = &introduced[j];

				if (entry->version <= versions[i] ||
				    is_called_before_that(entry->name) ||
				    !was_called(&host, entry->name))
					continue;
				print_error("%s is of %u, and a driver of %u was called\n",
					    entry->name, entry->version, versions[i]);
				wrong++;
			}
			host_finish(&host);
		}
	}
	EXPECT_EQ(wrong, 0);
}

/* Otherwise the test above would have nothing to find. */
TEST(introduced, what_a_driver_has_is_called)
{
	static const char *const wanted[] = {
		"CreateProcess",
		"DestroyProcess",
		"GetNodeMetadata",
		"CreateHwContext",
		"DestroyHwContext",
		"CreateHwQueue",
		"DestroyHwQueue",
		"SuspendContext",
		"ResumeContext",
		"ResetHwEngine",
		"ResumeHwEngine",
		"ValidateSubmitCommand",
		"CancelCommand",
		"ResetEngine",
		"QueryDependentEngineGroup",
		"QueryEngineStatus",
		"SetRootPageTable",
		"GetRootPageTableSize",
		"MapCpuHostAperture",
		"UnmapCpuHostAperture",
		"SubmitCommandVirtual",
		"ExchangePreStartInfo",
		"ValidateUpdateAllocationProperty",
		"NotifySurpriseRemoval",
	};
	struct host host;

	start_as(&host, 3200, "gpummu");
	use_everything(&host);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!was_called(&host, wanted[i]))
			print_error("%s was not called\n", wanted[i]);
		EXPECT(was_called(&host, wanted[i]));
	}
	host_finish(&host);
}

TEST(introduced, the_list_agrees_with_the_documentation_and_with_the_size_of_each_table)
{
	static const struct {
		uint32_t interface_version;
		uint32_t version;
	} tables[] = {
		{ 0x2005, 1100 },  { 0x300E, 1200 }, { 0x4002, 1300 }, { 0x5023, 2000 },
		{ 0x6003, 2100 },  { 0x700A, 2200 }, { 0x8001, 2300 }, { 0x9006, 2400 },
		{ 0xB004, 2600 },  { 0xC004, 2700 }, { 0xE003, 2900 }, { 0xF003, 3000 },
		{ 0x10004, 3100 },
	};

	EXPECT_EQ(ARRAY_SIZE(introduced), DDI_COUNT);
	for (size_t i = 0; i < DDI_COUNT; i++) {
		const struct ddi_info *info = &ddi_infos[i];

		EXPECT_STR(info->name + strlen("DxgkDdi"), introduced[i].name);
		EXPECT_EQ(info->since, introduced[i].version);
		for (size_t j = 0; j < ARRAY_SIZE(tables); j++)
			EXPECT_EQ(info->index < ddi_member_count(tables[j].interface_version),
				  info->since <= tables[j].version);
	}
}

TEST_MAIN("miniport/introduced")
