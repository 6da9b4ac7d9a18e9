/* SPDX-License-Identifier: MIT */
/* The registry values that the software GPU takes, and those it refuses. */
#include "support/test.h"

#include "settings.h"

enum { TEXT = 1, BINARY = 3, DWORD_VALUE = 4, QWORD_VALUE = 11 };

static const struct gpu_setting *find(const char *name)
{
	for (ULONG i = 0; i < gpu_setting_count; i++) {
		if (strcmp(gpu_setting_table[i].print_name, name) == 0)
			return &gpu_setting_table[i];
	}
	fail_msg("no setting %s", name);
	return NULL;
}

static NTSTATUS set_number(struct gpu_settings *settings, const char *name, ULONG value)
{
	return gpu_settings_set(settings, find(name), DWORD_VALUE, &value, sizeof(value));
}

static NTSTATUS set_text(struct gpu_settings *settings, const char *name, const WCHAR *text,
			 ULONG characters)
{
	return gpu_settings_set(settings, find(name), TEXT, text, characters * sizeof(WCHAR));
}

static struct gpu_settings defaults(void)
{
	struct gpu_settings settings;

	gpu_settings_init(&settings);
	return settings;
}

TEST(settings, an_empty_key_gives_the_default_adapter)
{
	struct gpu_settings settings = defaults();
	PCSTR problem = NULL;

	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
	EXPECT_EQ(settings.local_mib, 256);
	EXPECT_EQ(settings.aperture_mib, 1024);
	EXPECT_EQ(settings.model, SOFTGPU_MODEL_GPUMMU);
	EXPECT_EQ(settings.page_table_levels, 4);
	EXPECT_EQ(settings.address_bits, 48);
	EXPECT_EQ(gpu_settings_node_count(&settings), 4);
}

TEST(settings, hardware_addresses_need_virtual_addresses)
{
	struct gpu_settings settings = defaults();
	PCSTR problem = NULL;

	EXPECT_EQ(set_number(&settings, "HardwareAddresses", 2), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_number(&settings, "HardwareAddresses", 1), STATUS_SUCCESS);
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
	settings.model = SOFTGPU_MODEL_PHYSICAL;
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_INVALID_PARAMETER);
	EXPECT(strstr(problem, "HardwareAddresses") != NULL);
}

TEST(settings, hardware_queues_need_virtual_addresses)
{
	struct gpu_settings settings = defaults();
	PCSTR problem = NULL;

	EXPECT_EQ(settings.hw_queues, 0);
	EXPECT_EQ(set_number(&settings, "HwQueues", 2), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_number(&settings, "HwQueues", 1), STATUS_SUCCESS);
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
	settings = defaults();
	EXPECT_EQ(set_number(&settings, "HwQueues", 1), STATUS_SUCCESS);
	EXPECT_EQ(set_text(&settings, "AddressModel", L"physical", 8), STATUS_SUCCESS);
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_INVALID_PARAMETER);
	EXPECT(problem);
}

TEST(settings, wide_names_and_printed_names_are_the_same)
{
	for (ULONG i = 0; i < gpu_setting_count; i++) {
		const struct gpu_setting *setting = &gpu_setting_table[i];
		size_t k = 0;

		while (setting->name[k] && setting->name[k] == (WCHAR)setting->print_name[k])
			k++;
		EXPECT(setting->name[k] == 0 && setting->print_name[k] == 0);
	}
}

TEST(settings, sizes_are_taken_from_one_to_64_gib)
{
	struct gpu_settings settings = defaults();

	EXPECT_EQ(set_number(&settings, "LocalMemoryMiB", 1), STATUS_SUCCESS);
	EXPECT_EQ(settings.local_mib, 1);
	EXPECT_EQ(set_number(&settings, "LocalMemoryMiB", 65536), STATUS_SUCCESS);
	EXPECT_EQ(set_number(&settings, "ApertureMiB", 7), STATUS_SUCCESS);
	EXPECT_EQ(settings.aperture_mib, 7);
}

TEST(settings, a_refused_value_changes_nothing)
{
	struct gpu_settings settings = defaults();
	ULONGLONG wide = 64;

	EXPECT_EQ(set_number(&settings, "LocalMemoryMiB", 0), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_number(&settings, "LocalMemoryMiB", 65537), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_number(&settings, "LocalMemoryMiB", 0xffffffff), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_number(&settings, "CopyEngines", 5), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_number(&settings, "PageTableLevels", 1), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_number(&settings, "PageTableLevels", 6), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(gpu_settings_set(&settings, find("LocalMemoryMiB"), QWORD_VALUE, &wide,
				   sizeof(wide)),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(gpu_settings_set(&settings, find("LocalMemoryMiB"), DWORD_VALUE, &wide, 2),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(settings.local_mib, 256);
	EXPECT_EQ(settings.copy_engines, 2);
	EXPECT_EQ(settings.page_table_levels, 4);
}

TEST(settings, a_number_is_not_taken_where_a_word_belongs_nor_the_other_way_round)
{
	struct gpu_settings settings = defaults();

	EXPECT_EQ(set_number(&settings, "AddressModel", 1), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_text(&settings, "LocalMemoryMiB", L"64", 3), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(gpu_settings_set(&settings, find("AddressModel"), BINARY, L"physical", 18),
		  STATUS_INVALID_PARAMETER);
}

TEST(settings, the_address_model_is_one_of_two_words)
{
	struct gpu_settings settings = defaults();

	EXPECT_EQ(set_text(&settings, "AddressModel", L"physical", 9), STATUS_SUCCESS);
	EXPECT_EQ(settings.model, SOFTGPU_MODEL_PHYSICAL);
	EXPECT_EQ(set_text(&settings, "AddressModel", L"gpummu", 7), STATUS_SUCCESS);
	EXPECT_EQ(settings.model, SOFTGPU_MODEL_GPUMMU);
	EXPECT_EQ(set_text(&settings, "AddressModel", L"iommu", 6), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_text(&settings, "AddressModel", L"", 1), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_text(&settings, "AddressModel", L"", 0), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_text(&settings, "AddressModel", L"physicals", 10), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(set_text(&settings, "AddressModel", L"physica", 8), STATUS_INVALID_PARAMETER);
}

TEST(settings, a_text_is_recognised_without_its_terminator)
{
	struct gpu_settings settings = defaults();

	EXPECT_EQ(set_text(&settings, "AddressModel", L"physical", 8), STATUS_SUCCESS);
	EXPECT_EQ(settings.model, SOFTGPU_MODEL_PHYSICAL);
	EXPECT_EQ(gpu_settings_set(&settings, find("AddressModel"), TEXT, L"gpummu", 13),
		  STATUS_INVALID_PARAMETER);
}

TEST(settings, address_bits_follow_from_the_levels)
{
	static const ULONG bits[] = { [2] = 30, [3] = 39, [4] = 48, [5] = 57 };

	for (ULONG levels = 2; levels <= 5; levels++) {
		struct gpu_settings settings = defaults();
		PCSTR problem = NULL;
		ULONG sum = GPU_PAGE_BITS;

		EXPECT_EQ(set_number(&settings, "PageTableLevels", levels), STATUS_SUCCESS);
		EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
		EXPECT_EQ(settings.address_bits, bits[levels]);
		for (ULONG level = 0; level < levels; level++)
			sum += gpu_settings_index_bits(&settings, level);
		EXPECT_EQ(sum, settings.address_bits);
	}
}

TEST(settings, the_root_takes_between_one_and_twelve_bits)
{
	static const struct {
		ULONG levels;
		ULONG bits;
		NTSTATUS status;
	} rows[] = {
		{ 2, 32, STATUS_SUCCESS },           { 2, 22, STATUS_SUCCESS },
		{ 2, 33, STATUS_SUCCESS },           { 2, 34, STATUS_INVALID_PARAMETER },
		{ 4, 39, STATUS_INVALID_PARAMETER }, { 4, 40, STATUS_SUCCESS },
		{ 4, 51, STATUS_SUCCESS },           { 4, 52, STATUS_INVALID_PARAMETER },
		{ 5, 57, STATUS_SUCCESS },           { 5, 48, STATUS_INVALID_PARAMETER },
	};

	for (size_t i = 0; i < RTL_NUMBER_OF(rows); i++) {
		struct gpu_settings settings = defaults();
		PCSTR problem = NULL;

		EXPECT_EQ(set_number(&settings, "PageTableLevels", rows[i].levels), STATUS_SUCCESS);
		EXPECT_EQ(set_number(&settings, "VirtualAddressBits", rows[i].bits),
			  STATUS_SUCCESS);
		EXPECT_EQ(gpu_settings_finish(&settings, &problem), rows[i].status);
		EXPECT((problem != NULL) == !NT_SUCCESS(rows[i].status));
	}
}

TEST(settings, tables_that_the_cpu_writes_are_no_larger_than_a_page)
{
	struct gpu_settings settings = defaults();
	PCSTR problem = NULL;

	EXPECT_EQ(set_text(&settings, "PageTableUpdateMode", L"cpu_virtual", 12), STATUS_SUCCESS);
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
	settings = defaults();
	EXPECT_EQ(set_text(&settings, "PageTableUpdateMode", L"cpu_virtual", 12), STATUS_SUCCESS);
	EXPECT_EQ(set_number(&settings, "VirtualAddressBits", 49), STATUS_SUCCESS);
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_INVALID_PARAMETER);
	EXPECT_CONTAINS(problem, "cpu_virtual");
}

TEST(settings, pages_of_64k_beside_others_need_a_table_below_the_root)
{
	struct gpu_settings settings;
	PCSTR problem = NULL;

	gpu_settings_init(&settings);
	EXPECT_EQ(settings.pages_64k, GPU_64K_NONE);
	settings.pages_64k = GPU_64K_SINGLE;
	settings.page_table_levels = 2;
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
	settings.pages_64k = GPU_64K_DUAL;
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_INVALID_PARAMETER);
	EXPECT(problem && strstr(problem, "Pages64KiB"));
	gpu_settings_init(&settings);
	settings.pages_64k = GPU_64K_DUAL;
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
}

TEST(settings, a_cpu_host_aperture_needs_virtual_addresses)
{
	struct gpu_settings settings;
	PCSTR problem = NULL;

	gpu_settings_init(&settings);
	EXPECT_EQ(settings.host_aperture_mib, 0);
	settings.host_aperture_mib = 1;
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
	settings.model = SOFTGPU_MODEL_PHYSICAL;
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_INVALID_PARAMETER);
	EXPECT_CONTAINS(problem, "CpuHostApertureMiB");
}

TEST(settings, nodes_are_3d_then_copy_then_paging)
{
	struct gpu_settings settings = defaults();

	EXPECT_EQ(set_number(&settings, "CopyEngines", 4), STATUS_SUCCESS);
	EXPECT_EQ(gpu_settings_node_count(&settings), 6);
	EXPECT_EQ(gpu_settings_node_kind(&settings, 0), SOFTGPU_NODE_3D);
	for (ULONG node = 1; node <= 4; node++)
		EXPECT_EQ(gpu_settings_node_kind(&settings, node), SOFTGPU_NODE_COPY);
	EXPECT_EQ(gpu_settings_node_kind(&settings, 5), SOFTGPU_NODE_PAGING);
}

TEST_MAIN("soft/settings")
