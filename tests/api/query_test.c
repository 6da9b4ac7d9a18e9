/* SPDX-License-Identifier: MIT */
/*
 * query_test.c - D3DKMTQueryAdapterInfo and D3DKMTQueryStatistics on the software GPU.
 *
 * Runs once in each address model; TEST_MODEL says in which ("gpummu" unless set).
 */
#include "api/support.h"

#include <wchar.h>

#define MIB (UINT64_C(1) << 20)

static D3DKMT_ADAPTERINFO adapter;

static uint64_t local_bytes(void)
{
	return (is_physical() ? 64 : 256) * MIB;
}

static uint64_t aperture_bytes(void)
{
	return (is_physical() ? 128 : 1024) * MIB;
}

static NTSTATUS query(unsigned type, void *data, size_t size_bytes)
{
	return query_adapter(adapter.hAdapter, type, data, size_bytes);
}

/* Every type that has an answer, with the least room it needs. */
static const struct {
	unsigned type;
	unsigned least_bytes;
} answered[] = {
	{ KMTQAITYPE_GETSEGMENTSIZE, 24 },
	{ KMTQAITYPE_ADAPTERGUID, 16 },
	{ KMTQAITYPE_ADAPTERGUID_RENDER, 16 },
	{ KMTQAITYPE_ADAPTERADDRESS, 12 },
	{ KMTQAITYPE_ADAPTERADDRESS_RENDER, 12 },
	{ KMTQAITYPE_ADAPTERREGISTRYINFO, 4160 },
	{ KMTQAITYPE_ADAPTERREGISTRYINFO_RENDER, 4160 },
	{ KMTQAITYPE_CHECKDRIVERUPDATESTATUS, 4 },
	{ KMTQAITYPE_CHECKDRIVERUPDATESTATUS_RENDER, 4 },
	{ KMTQAITYPE_VIRTUALADDRESSINFO, 4 },
	{ KMTQAITYPE_DRIVERVERSION, 4 },
	{ KMTQAITYPE_DRIVERVERSION_RENDER, 4 },
	{ KMTQAITYPE_UMD_DRIVER_VERSION, 8 },
	{ KMTQAITYPE_KMD_DRIVER_VERSION, 8 },
	{ KMTQAITYPE_ADAPTERTYPE, 4 },
	{ KMTQAITYPE_ADAPTERTYPE_RENDER, 4 },
	{ KMTQAITYPE_WDDM_1_2_CAPS, 12 },
	{ KMTQAITYPE_WDDM_1_2_CAPS_RENDER, 12 },
	{ KMTQAITYPE_WDDM_1_3_CAPS, 4 },
	{ KMTQAITYPE_WDDM_1_3_CAPS_RENDER, 4 },
	{ KMTQAITYPE_WDDM_2_0_CAPS, 4 },
	{ KMTQAITYPE_WDDM_2_7_CAPS, 4 },
	{ KMTQAITYPE_NODEMETADATA, 142 },
	{ KMTQAITYPE_PHYSICALADAPTERCOUNT, 4 },
	{ KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, 28 },
	{ KMTQAITYPE_QUERY_GPUMMU_CAPS, 12 },
	{ KMTQAITYPE_GETSEGMENTGROUPSIZE, 56 },
	{ KMTQAITYPE_QUERYREGISTRY, 1072 },
	{ KMTQAITYPE_QUERY_ADAPTER_UNIQUE_GUID, 160 },
	{ KMTQAITYPE_DRIVER_DESCRIPTION, 16384 },
	{ KMTQAITYPE_DRIVER_DESCRIPTION_RENDER, 16384 },
	{ KMTQAITYPE_CROSSADAPTERRESOURCE_SUPPORT, 4 },
};

enum { ANSWERED = sizeof(answered) / sizeof(answered[0]) };

static bool is_answered(unsigned type)
{
	for (unsigned i = 0; i < ANSWERED; i++) {
		if (answered[i].type == type)
			return true;
	}
	/* And those whose answer depends on more than the buffer. */
	return type == KMTQAITYPE_UMDRIVERPRIVATE || type == KMTQAITYPE_UMDRIVERNAME ||
	       type == KMTQAITYPE_UMOPENGLINFO;
}

/* ---- rules of every type ---- */

TEST(query, null_and_bad_handles_are_refused)
{
	uint32_t answer;

	EXPECT_REFUSED(D3DKMTQueryAdapterInfo(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_REFUSED(query_adapter(0, KMTQAITYPE_ADAPTERTYPE, &answer, 4),
		       STATUS_INVALID_PARAMETER, "API-HANDLE", "hAdapter");
	D3DKMT_HANDLE device = create_device(adapter.hAdapter);
	EXPECT_REFUSED(query_adapter(device, KMTQAITYPE_ADAPTERTYPE, &answer, 4),
		       STATUS_INVALID_PARAMETER, "API-HANDLE-KIND", "hAdapter");
	EXPECT_OK(destroy_device(device));
}

TEST(query, the_exact_size_is_enough_for_each_type)
{
	for (unsigned i = 0; i < ANSWERED; i++) {
		unsigned char buffer[16384] = { 0 };
		EXPECT_OK(query(answered[i].type, buffer, answered[i].least_bytes));
	}
}

TEST(query, one_byte_short_is_refused_for_each_type_and_writes_nothing)
{
	for (unsigned i = 0; i < ANSWERED; i++) {
		unsigned char buffer[16384] = { 0 };
		EXPECT_REFUSED(query(answered[i].type, buffer, answered[i].least_bytes - 1),
			       STATUS_INVALID_PARAMETER, "API-BUFFER", "PrivateDriverDataSize");
		for (unsigned at = 0; at < sizeof(buffer); at++)
			EXPECT_EQ(buffer[at], 0);
	}
}

TEST(query, a_null_buffer_is_refused_for_each_type)
{
	for (unsigned i = 0; i < ANSWERED; i++) {
		EXPECT_REFUSED(query(answered[i].type, NULL, answered[i].least_bytes),
			       STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT", "pPrivateDriverData");
		EXPECT_REFUSED(query(answered[i].type, NULL, 0), STATUS_INVALID_PARAMETER,
			       "API-NULL-ARGUMENT", "pPrivateDriverData");
	}
}

TEST(query, a_larger_buffer_is_fine_and_its_rest_stays)
{
	for (unsigned i = 0; i < ANSWERED; i++) {
		unsigned char buffer[20000] = { 0 };
		if (answered[i].type == KMTQAITYPE_QUERYREGISTRY)
			continue; /* its answer grows with the buffer */
		memset(buffer + answered[i].least_bytes, 0xee,
		       sizeof(buffer) - answered[i].least_bytes);
		EXPECT_OK(query(answered[i].type, buffer, sizeof(buffer)));
		for (unsigned at = answered[i].least_bytes; at < sizeof(buffer); at++)
			EXPECT_EQ(buffer[at], 0xee);
	}
}

TEST(query, sizes_beyond_a_megabyte_are_refused_without_being_read)
{
	static const UINT sizes[] = { (1 << 20) + 1, 0x7fffffff, 0x80000000, 0xffffffff };
	uint32_t answer;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		EXPECT_REFUSED(query(KMTQAITYPE_ADAPTERTYPE, &answer, sizes[i]),
			       STATUS_INVALID_PARAMETER, "API-COUNT", "PrivateDriverDataSize");
}

TEST(query, a_type_without_an_answer_says_so)
{
	for (unsigned type = 0; type <= 77; type++) {
		unsigned char buffer[20000] = { 0 };
		if (is_answered(type))
			continue;
		EXPECT_REFUSED(query(type, buffer, sizeof(buffer)), STATUS_NOT_SUPPORTED,
			       "API-NOT-BUILT", "Type");
	}
}

TEST(query, a_number_that_is_no_type_is_refused)
{
	static const unsigned types[] = { 78, 1000, 0x7fffffff, 0x80000000, 0xffffffff };

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		uint32_t answer = 0;
		EXPECT_REFUSED(query(types[i], &answer, sizeof(answer)), STATUS_INVALID_PARAMETER,
			       "API-VALUE", "Type");
	}
}

/* ---- what it is ---- */

TEST(query, adapter_type_is_a_render_adapter_of_hardware_kind)
{
	D3DKMT_ADAPTERTYPE type = { .Value = 0xffffffff };

	EXPECT_OK(query(KMTQAITYPE_ADAPTERTYPE, &type, sizeof(type)));
	EXPECT_EQ(type.Value, 1); /* RenderSupported and nothing else */
}

TEST(query, driver_version_is_wddm_2_6)
{
	uint32_t version = 0;

	EXPECT_OK(query(KMTQAITYPE_DRIVERVERSION, &version, sizeof(version)));
	EXPECT_EQ(version, 2600);
	EXPECT_OK(query(KMTQAITYPE_DRIVERVERSION_RENDER, &version, sizeof(version)));
	EXPECT_EQ(version, 2600);
}

TEST(query, an_adapter_on_no_bus_has_no_numbers)
{
	D3DKMT_QUERY_DEVICE_IDS ids;

	memset(&ids, 0xee, sizeof(ids));
	ids.PhysicalAdapterIndex = 0;
	EXPECT_OK(query(KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof(ids)));
	EXPECT(ids.DeviceIds.VendorID == 0 && ids.DeviceIds.DeviceID == 0);
	EXPECT(ids.DeviceIds.SubVendorID == 0 && ids.DeviceIds.SubSystemID == 0);
	EXPECT(ids.DeviceIds.RevisionID == 0 && ids.DeviceIds.BusType == 0);
}

TEST(query, names_of_user_mode_drivers_are_not_there_when_the_registry_has_none)
{
	static D3DKMT_UMDFILENAMEINFO name;
	static D3DKMT_OPENGLINFO opengl;

	for (unsigned version = 0; version < 4; version++) {
		name.Version = (KMTUMDVERSION)version;
		EXPECT_REFUSED(query(KMTQAITYPE_UMDRIVERNAME, &name, sizeof(name)),
			       STATUS_OBJECT_NAME_NOT_FOUND, "API-VALUE", "Version");
	}
	name.Version = (KMTUMDVERSION)4;
	EXPECT_REFUSED(query(KMTQAITYPE_UMDRIVERNAME, &name, sizeof(name)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "Version");
	EXPECT_REFUSED(query(KMTQAITYPE_UMOPENGLINFO, &opengl, sizeof(opengl)),
		       STATUS_OBJECT_NAME_NOT_FOUND, "API-VALUE", "Type");
}

TEST(query, no_driver_update_is_under_way)
{
	BOOL is_updating = TRUE;

	EXPECT_OK(query(KMTQAITYPE_CHECKDRIVERUPDATESTATUS, &is_updating, sizeof(is_updating)));
	EXPECT_EQ(is_updating, FALSE);
}

TEST(query, description_is_the_name_of_the_profile)
{
	static D3DKMT_DRIVER_DESCRIPTION answer;

	EXPECT_OK(query(KMTQAITYPE_DRIVER_DESCRIPTION, &answer, sizeof(answer)));
	EXPECT(wcscmp(answer.DriverDescription, L"opendxgk Soft GPU") == 0);
}

TEST(query, registry_info_names_the_adapter)
{
	static D3DKMT_ADAPTERREGISTRYINFO answer;

	memset(&answer, 0xee, sizeof(answer));
	EXPECT_OK(query(KMTQAITYPE_ADAPTERREGISTRYINFO, &answer, sizeof(answer)));
	EXPECT(wcscmp(answer.AdapterString, L"opendxgk Soft GPU") == 0);
	EXPECT(wcslen(answer.BiosString) == 0 && wcslen(answer.DacType) == 0);
}

TEST(query, guids_are_the_same_each_time_and_as_text)
{
	GUID one = { 0 };
	GUID two = { 0 };
	D3DKMT_QUERY_ADAPTER_UNIQUE_GUID text = { 0 };

	EXPECT_OK(query(KMTQAITYPE_ADAPTERGUID, &one, sizeof(one)));
	EXPECT_OK(query(KMTQAITYPE_ADAPTERGUID_RENDER, &two, sizeof(two)));
	EXPECT(memcmp(&one, &two, sizeof(one)) == 0);
	EXPECT_OK(query(KMTQAITYPE_QUERY_ADAPTER_UNIQUE_GUID, &text, sizeof(text)));
	EXPECT_EQ(wcslen(text.AdapterUniqueGUID), 38);
	EXPECT(text.AdapterUniqueGUID[0] == L'{' && text.AdapterUniqueGUID[37] == L'}');
}

TEST(query, there_is_one_physical_adapter_and_no_other_index)
{
	D3DKMT_PHYSICAL_ADAPTER_COUNT count = { 0 };
	D3DKMT_QUERY_DEVICE_IDS ids = { .PhysicalAdapterIndex = 1 };
	D3DKMT_QUERY_GPUMMU_CAPS mmu = { .PhysicalAdapterIndex = 99 };
	D3DKMT_SEGMENTGROUPSIZEINFO sizes = { .PhysicalAdapterIndex = 0xffffffff };
	D3DKMT_NODEMETADATA node = { .NodeOrdinalAndAdapterIndex = 0x10000 };

	EXPECT_OK(query(KMTQAITYPE_PHYSICALADAPTERCOUNT, &count, sizeof(count)));
	EXPECT_EQ(count.Count, 1);
	EXPECT_REFUSED(query(KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof(ids)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "PhysicalAdapterIndex");
	EXPECT_REFUSED(query(KMTQAITYPE_QUERY_GPUMMU_CAPS, &mmu, sizeof(mmu)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "PhysicalAdapterIndex");
	EXPECT_REFUSED(query(KMTQAITYPE_GETSEGMENTGROUPSIZE, &sizes, sizeof(sizes)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "PhysicalAdapterIndex");
	EXPECT_REFUSED(query(KMTQAITYPE_NODEMETADATA, &node, sizeof(node)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "PhysicalAdapterIndex");
}

/* ---- what it can do ---- */

TEST(query, the_address_model_is_said_in_every_place_the_same)
{
	D3DKMT_WDDM_2_0_CAPS caps = { .Value = 0xffffffff };
	D3DKMT_VIRTUALADDRESSINFO info;
	D3DKMT_QUERY_GPUMMU_CAPS mmu = { 0 };

	memset(&info, 0xff, sizeof(info));
	EXPECT_OK(query(KMTQAITYPE_WDDM_2_0_CAPS, &caps, sizeof(caps)));
	EXPECT_OK(query(KMTQAITYPE_VIRTUALADDRESSINFO, &info, sizeof(info)));
	EXPECT_OK(query(KMTQAITYPE_QUERY_GPUMMU_CAPS, &mmu, sizeof(mmu)));
	EXPECT_EQ(caps.GpuMmuSupported, !is_physical());
	EXPECT_EQ(caps.IoMmuSupported, 0);
	EXPECT_EQ(caps.Support64BitAtomics, 1);
	EXPECT_EQ(caps.Value & ~0x3fu, 0);
	EXPECT_EQ(info.VirtualAddressFlags.VirtualAddressSupported, !is_physical());
	EXPECT_EQ(info.VirtualAddressFlags.Reserved, 0);
	EXPECT_EQ(mmu.Caps.VirtualAddressBitCount, is_physical() ? 0 : 48);
	EXPECT_EQ(mmu.Caps.Flags.ReadOnlyMemorySupported, !is_physical());
	EXPECT_EQ(mmu.Caps.Flags.CacheCoherentMemorySupported, !is_physical());
	EXPECT_EQ(mmu.Caps.Flags.NoExecuteMemorySupported, 0);
}

TEST(query, preemption_is_as_the_driver_says)
{
	D3DKMT_WDDM_1_2_CAPS caps = { 0 };

	EXPECT_OK(query(KMTQAITYPE_WDDM_1_2_CAPS, &caps, sizeof(caps)));
	EXPECT_EQ(caps.PreemptionCaps.GraphicsPreemptionGranularity,
		  D3DKMDT_GRAPHICS_PREEMPTION_PRIMITIVE_BOUNDARY);
	EXPECT_EQ(caps.PreemptionCaps.ComputePreemptionGranularity,
		  D3DKMDT_COMPUTE_PREEMPTION_DISPATCH_BOUNDARY);
	EXPECT_EQ(caps.SupportPerEngineTDR, 1);
}

TEST(query, nodes_are_found_by_asking_until_refused)
{
	unsigned count = 0;
	unsigned engines_3d = 0;
	unsigned engines_copy = 0;

	for (;; count++) {
		D3DKMT_NODEMETADATA node = { .NodeOrdinalAndAdapterIndex = count };
		if (query(KMTQAITYPE_NODEMETADATA, &node, sizeof(node)) != STATUS_SUCCESS)
			break;
		engines_3d += node.NodeData.EngineType == DXGK_ENGINE_TYPE_3D;
		engines_copy += node.NodeData.EngineType == DXGK_ENGINE_TYPE_COPY;
		EXPECT_EQ(node.NodeData.GpuMmuSupported, !is_physical());
		EXPECT_EQ(node.NodeData.IoMmuSupported, FALSE);
		EXPECT_EQ(node.NodeOrdinalAndAdapterIndex, count);
		WCHAR name[DXGK_MAX_METADATA_NAME_LENGTH];
		memcpy(name, node.NodeData.FriendlyName, sizeof(name));
		EXPECT(wcsnlen(name, DXGK_MAX_METADATA_NAME_LENGTH) > 0);
		EXPECT(wcsnlen(name, DXGK_MAX_METADATA_NAME_LENGTH) <
		       DXGK_MAX_METADATA_NAME_LENGTH);
	}
	EXPECT_EQ(engines_3d, 1);
	EXPECT(engines_copy >= 2);
	EXPECT_EQ(count, engines_3d + engines_copy);
	EXPECT_STR(last_refusal().argument, "NodeOrdinalAndAdapterIndex");

	D3DKMT_NODEMETADATA last = { .NodeOrdinalAndAdapterIndex = 0xffff };
	EXPECT_REFUSED(query(KMTQAITYPE_NODEMETADATA, &last, sizeof(last)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "NodeOrdinalAndAdapterIndex");
}

/* ---- memory ---- */

TEST(query, segment_sizes_follow_the_formulas)
{
	D3DKMT_SEGMENTSIZEINFO sizes = { 0 };
	D3DKMT_SEGMENTGROUPSIZEINFO groups = { 0 };
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t graphics_ram = ram / 2 > 64 * MIB ? ram / 2 : 64 * MIB;
	uint64_t shared = aperture_bytes() < graphics_ram ? aperture_bytes() : graphics_ram;

	EXPECT_OK(query(KMTQAITYPE_GETSEGMENTSIZE, &sizes, sizeof(sizes)));
	EXPECT_OK(query(KMTQAITYPE_GETSEGMENTGROUPSIZE, &groups, sizeof(groups)));
	EXPECT_EQ(sizes.DedicatedVideoMemorySize, local_bytes());
	EXPECT_EQ(sizes.DedicatedSystemMemorySize, 0);
	EXPECT_EQ(sizes.SharedSystemMemorySize, shared);
	EXPECT(memcmp(&sizes, &groups.LegacyInfo, sizeof(sizes)) == 0);
	EXPECT_EQ(groups.LocalMemory, local_bytes());
	EXPECT_EQ(groups.NonLocalMemory, shared);
	EXPECT_EQ(groups.NonBudgetMemory, 0);
}

/* ---- the driver's private answer ---- */

TEST(query, umd_private_goes_to_the_driver_and_comes_back)
{
	struct softgpu_adapter_info info = { 0 };

	EXPECT_OK(query(KMTQAITYPE_UMDRIVERPRIVATE, &info, sizeof(info)));
	EXPECT_EQ(info.version, SOFTGPU_ADAPTER_INFO_VERSION);
	EXPECT_EQ(info.address_model,
		  is_physical() ? SOFTGPU_MODEL_PHYSICAL : SOFTGPU_MODEL_GPUMMU);
	EXPECT_EQ(info.local_bytes, local_bytes());
	EXPECT_EQ(info.aperture_bytes, aperture_bytes());
	EXPECT_EQ(info.node_kinds[0], SOFTGPU_NODE_3D);
	EXPECT_EQ(info.node_kinds[info.node_count - 1], SOFTGPU_NODE_PAGING);
}

TEST(query, umd_private_of_the_wrong_size_is_refused_by_the_driver)
{
	struct softgpu_adapter_info info;

	EXPECT_REFUSED(query(KMTQAITYPE_UMDRIVERPRIVATE, &info, sizeof(info) - 1),
		       STATUS_BUFFER_TOO_SMALL, "DDI-STATUS", "DxgkDdiQueryAdapterInfo");
	EXPECT_REFUSED(query(KMTQAITYPE_UMDRIVERPRIVATE, NULL, 0), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pPrivateDriverData");
	EXPECT_REFUSED(query(KMTQAITYPE_UMDRIVERPRIVATE, &info, 0), STATUS_INVALID_PARAMETER,
		       "API-BUFFER", "PrivateDriverDataSize");
}

/* ---- the registry ---- */

struct registry_query {
	D3DDDI_QUERYREGISTRY_INFO info;
	unsigned char more[16384];
};

static void name_value(struct registry_query *query, unsigned type, const WCHAR *name)
{
	memset(query, 0, sizeof(*query));
	query->info.QueryType = (D3DDDI_QUERYREGISTRY_TYPE)type;
	wcscpy(query->info.ValueName, name);
}

/* As compute-runtime does it: ask with the bare struct, then with as much more as it said. */
TEST(registry, the_driver_store_path_takes_two_steps)
{
	static struct registry_query first;
	static struct registry_query second;

	name_value(&first, D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH, L"");
	EXPECT_EQ(sizeof(first.info), 1072);
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &first.info, sizeof(first.info)));
	EXPECT_EQ(first.info.Status, D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW);
	EXPECT(first.info.OutputValueSize > sizeof(WCHAR));
	EXPECT_EQ(first.info.OutputValueSize % sizeof(WCHAR), 0);
	EXPECT_EQ(first.info.OutputQword, 0); /* what does not fit is not begun */

	name_value(&second, D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH, L"");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &second.info,
			sizeof(second.info) + first.info.OutputValueSize));
	EXPECT_EQ(second.info.Status, D3DDDI_QUERYREGISTRY_STATUS_SUCCESS);
	EXPECT_EQ(second.info.OutputValueSize, first.info.OutputValueSize);
	EXPECT_EQ(second.info.OutputString[0], L'/');
	size_t length = wcslen(second.info.OutputString);
	EXPECT_EQ((length + 1) * sizeof(WCHAR), second.info.OutputValueSize);
	EXPECT(second.info.OutputString[length - 1] != L'/');
}

TEST(registry, the_image_path_is_a_file_in_that_folder)
{
	static struct registry_query folder;
	static struct registry_query image;

	name_value(&folder, D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH, L"");
	name_value(&image, D3DDDI_QUERYREGISTRY_DRIVERIMAGEPATH, L"");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &folder, sizeof(folder)));
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &image, sizeof(image)));
	size_t length = wcslen(folder.info.OutputString);
	EXPECT(wcsncmp(folder.info.OutputString, image.info.OutputString, length) == 0);
	EXPECT(wcscmp(image.info.OutputString + length, L"/soft.so") == 0);
}

TEST(registry, a_number_is_four_bytes)
{
	static struct registry_query number;

	name_value(&number, D3DDDI_QUERYREGISTRY_ADAPTERKEY, L"LocalMemoryMiB");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &number.info, sizeof(number.info)));
	EXPECT_EQ(number.info.Status, D3DDDI_QUERYREGISTRY_STATUS_SUCCESS);
	EXPECT_EQ(number.info.OutputValueSize, 4);
	EXPECT_EQ(number.info.OutputDword, local_bytes() / MIB);
}

TEST(registry, a_text_is_wide_and_ends_with_zero)
{
	static struct registry_query text;
	const WCHAR *expected = is_physical() ? L"physical" : L"gpummu";

	name_value(&text, D3DDDI_QUERYREGISTRY_SERVICEKEY, L"AddressModel");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &text.info, sizeof(text.info)));
	EXPECT_EQ(text.info.Status, D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW);
	EXPECT_EQ(text.info.OutputValueSize, (wcslen(expected) + 1) * sizeof(WCHAR));

	/* One byte less than it needs, then exactly as much. */
	size_t needed =
		offsetof(D3DDDI_QUERYREGISTRY_INFO, OutputString) + text.info.OutputValueSize;
	name_value(&text, D3DDDI_QUERYREGISTRY_SERVICEKEY, L"AddressModel");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &text, needed - 1));
	EXPECT_EQ(text.info.Status, D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW);
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &text, needed));
	EXPECT_EQ(text.info.Status, D3DDDI_QUERYREGISTRY_STATUS_SUCCESS);
	EXPECT(wcscmp(text.info.OutputString, expected) == 0);
}

TEST(registry, names_do_not_mind_case)
{
	static struct registry_query number;

	name_value(&number, D3DDDI_QUERYREGISTRY_ADAPTERKEY, L"localmemorymib");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &number.info, sizeof(number.info)));
	EXPECT_EQ(number.info.Status, D3DDDI_QUERYREGISTRY_STATUS_SUCCESS);
	EXPECT_EQ(number.info.OutputDword, local_bytes() / MIB);
}

TEST(registry, a_missing_value_is_an_answer_not_an_error)
{
	static struct registry_query missing;

	name_value(&missing, D3DDDI_QUERYREGISTRY_ADAPTERKEY, L"NoSuchValue");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &missing.info, sizeof(missing.info)));
	EXPECT_EQ(missing.info.Status, D3DDDI_QUERYREGISTRY_STATUS_FAIL);
	EXPECT_EQ(missing.info.OutputValueSize, 0);
}

TEST(registry, a_name_without_an_end_is_refused)
{
	static struct registry_query endless;

	name_value(&endless, D3DDDI_QUERYREGISTRY_ADAPTERKEY, L"");
	for (unsigned i = 0; i < MAX_PATH; i++)
		endless.info.ValueName[i] = L'a';
	EXPECT_REFUSED(query(KMTQAITYPE_QUERYREGISTRY, &endless, sizeof(endless)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "ValueName");
}

TEST(registry, a_name_of_the_greatest_length_is_only_missing)
{
	static struct registry_query longest;

	/* Characters of four bytes in UTF-8, so that every limit on the way is met. */
	name_value(&longest, D3DDDI_QUERYREGISTRY_ADAPTERKEY, L"");
	for (unsigned i = 0; i < MAX_PATH - 1; i++)
		longest.info.ValueName[i] = (WCHAR)0x1f600;
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &longest, sizeof(longest)));
	EXPECT_EQ(longest.info.Status, D3DDDI_QUERYREGISTRY_STATUS_FAIL);
}

TEST(registry, what_is_no_character_is_refused)
{
	static const uint32_t wrong[] = { 0xd800, 0xdfff, 0x110000, 0xffffffff };

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		static struct registry_query bad;
		name_value(&bad, D3DDDI_QUERYREGISTRY_ADAPTERKEY, L"a");
		bad.info.ValueName[0] = (WCHAR)wrong[i];
		EXPECT_REFUSED(query(KMTQAITYPE_QUERYREGISTRY, &bad, sizeof(bad)),
			       STATUS_INVALID_PARAMETER, "API-VALUE", "ValueName");
	}
}

TEST(registry, other_kinds_and_other_adapters_are_refused)
{
	static struct registry_query wrong;

	name_value(&wrong, 4, L"LocalMemoryMiB");
	EXPECT_REFUSED(query(KMTQAITYPE_QUERYREGISTRY, &wrong, sizeof(wrong)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "QueryType");
	name_value(&wrong, D3DDDI_QUERYREGISTRY_ADAPTERKEY, L"LocalMemoryMiB");
	wrong.info.PhysicalAdapterIndex = 1;
	EXPECT_REFUSED(query(KMTQAITYPE_QUERYREGISTRY, &wrong, sizeof(wrong)),
		       STATUS_INVALID_PARAMETER, "API-VALUE", "PhysicalAdapterIndex");
}

/* ---- statistics ---- */

static NTSTATUS statistics(D3DKMT_QUERYSTATISTICS *args, unsigned type)
{
	memset(args, 0xee, sizeof(*args));
	args->Type = (D3DKMT_QUERYSTATISTICS_TYPE)type;
	args->AdapterLuid = adapter.AdapterLuid;
	args->QuerySegment.SegmentId = 0;
	return D3DKMTQueryStatistics(args);
}

TEST(statistics, adapter_counts_nodes_and_segments)
{
	D3DKMT_QUERYSTATISTICS args;
	struct softgpu_adapter_info info = { 0 };

	EXPECT_OK(query(KMTQAITYPE_UMDRIVERPRIVATE, &info, sizeof(info)));
	EXPECT_OK(statistics(&args, D3DKMT_QUERYSTATISTICS_ADAPTER));
	EXPECT_EQ(args.QueryResult.AdapterInformation.NodeCount, info.node_count);
	EXPECT_EQ(args.QueryResult.AdapterInformation.NbSegments, 2);
	EXPECT_EQ(args.QueryResult.AdapterInformation.VidPnSourceCount, 0);
	EXPECT_EQ(args.QueryResult.AdapterInformation.TdrDetectedCount, 0);
}

TEST(statistics, segments_count_from_zero)
{
	D3DKMT_QUERYSTATISTICS args;

	EXPECT_OK(statistics(&args, D3DKMT_QUERYSTATISTICS_SEGMENT));
	EXPECT_EQ(args.QueryResult.SegmentInformation.CommitLimit, local_bytes());
	EXPECT_EQ(args.QueryResult.SegmentInformation.Aperture, FALSE);
	EXPECT_EQ(args.QueryResult.SegmentInformation.BytesCommitted,
		  args.QueryResult.SegmentInformation.BytesResident);
	args.QuerySegment.SegmentId = 1;
	EXPECT_OK(D3DKMTQueryStatistics(&args));
	EXPECT_EQ(args.QueryResult.SegmentInformation.CommitLimit, aperture_bytes());
	EXPECT_EQ(args.QueryResult.SegmentInformation.Aperture, TRUE);
	args.QuerySegment.SegmentId = 2;
	EXPECT_REFUSED(D3DKMTQueryStatistics(&args), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "QuerySegment.SegmentId");
}

TEST(statistics, null_unknown_types_and_unknown_adapters_are_refused)
{
	D3DKMT_QUERYSTATISTICS args;

	EXPECT_REFUSED(D3DKMTQueryStatistics(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_REFUSED(statistics(&args, 11), STATUS_INVALID_PARAMETER, "API-VALUE", "Type");
	EXPECT_EQ(args.QueryResult.AdapterInformation.NodeCount, 0xeeeeeeee);
	EXPECT_REFUSED(statistics(&args, D3DKMT_QUERYSTATISTICS_VIDPNSOURCE), STATUS_NOT_SUPPORTED,
		       "API-NOT-BUILT", "Type");
	args.Type = D3DKMT_QUERYSTATISTICS_ADAPTER;
	args.AdapterLuid.LowPart++;
	EXPECT_REFUSED(D3DKMTQueryStatistics(&args), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "AdapterLuid");
}

int main(int argc, char **argv)
{
	adapter = first_adapter();
	return api_main("api/query", argc, argv);
}
