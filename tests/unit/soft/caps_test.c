/* SPDX-License-Identifier: MIT */
/* What the software GPU says about itself, in both address models. */
#include "support/test.h"

#include "gpu.h"

/* What caps.c reaches for and these tests do not ask. */
VOID NTAPI OpendxgkPagedCode(PCSTR File, ULONG Line)
{
}

ULONG __cdecl DbgPrint(PCSTR Format, ...)
{
	return 0;
}

LARGE_INTEGER NTAPI KeQueryPerformanceCounter(PLARGE_INTEGER PerformanceFrequency)
{
	PerformanceFrequency->QuadPart = 10000000;
	return (LARGE_INTEGER){ .QuadPart = 42 };
}

struct gpu_adapter *gpu_adapter_from(HANDLE handle)
{
	return handle;
}

struct gpu_engine *gpu_engine_from(HANDLE adapter, ULONG node, ULONG engine_ordinal)
{
	return NULL;
}

NTSTATUS gpu_memory_describe(const struct gpu_memory *memory, DXGK_QUERYSEGMENTOUT4 *out)
{
	return STATUS_UNSUCCESSFUL;
}

static struct gpu_adapter *adapter_of(ULONG model)
{
	static struct gpu_adapter adapter;
	PCSTR problem = NULL;

	memset(&adapter, 0, sizeof(adapter));
	gpu_settings_init(&adapter.settings);
	adapter.settings.model = model;
	EXPECT_EQ(gpu_settings_finish(&adapter.settings, &problem), STATUS_SUCCESS);
	adapter.node_count = gpu_settings_node_count(&adapter.settings);
	return &adapter;
}

static NTSTATUS query(struct gpu_adapter *adapter, ULONG type, void *in, UINT in_bytes, void *out,
		      UINT out_bytes)
{
	DXGKARG_QUERYADAPTERINFO args = {
		.Type = (DXGK_QUERYADAPTERINFOTYPE)type,
		.pInputData = in,
		.InputDataSize = in_bytes,
		.pOutputData = out,
		.OutputDataSize = out_bytes,
	};

	return gpu_query_adapter_info(adapter, &args);
}

TEST(caps, both_models_are_wddm_2_6_render_adapters)
{
	for (ULONG model = SOFTGPU_MODEL_GPUMMU; model <= SOFTGPU_MODEL_PHYSICAL; model++) {
		DXGK_DRIVERCAPS caps;

		memset(&caps, 0xcd, sizeof(caps));
		EXPECT_EQ(query(adapter_of(model), DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps,
				sizeof(caps)),
			  STATUS_SUCCESS);
		EXPECT_EQ(caps.WDDMVersion, DXGKDDI_WDDMv2_6);
		EXPECT_EQ(caps.HighestAcceptableAddress.QuadPart, -1);
		EXPECT_EQ(caps.GpuEngineTopology.NbAsymetricProcessingNodes, 4);
		EXPECT_EQ(caps.MemoryManagementCaps.PagingNode, 3);
		EXPECT_EQ(caps.SchedulingCaps.MultiEngineAware, 1);
		EXPECT_EQ(caps.SchedulingCaps.PreemptionAware, 1);
		EXPECT_EQ(caps.SchedulingCaps.CancelCommandAware, 0);
		EXPECT_EQ(caps.SupportPerEngineTDR, TRUE);
		EXPECT_EQ(caps.MiscCaps.ComputeOnly, 0);
		EXPECT_EQ(caps.MemoryManagementCaps.IoMmuSupported, 0);
	}
}

TEST(caps, only_the_gpummu_model_has_virtual_addresses)
{
	DXGK_DRIVERCAPS caps;
	DXGK_GPUMMUCAPS mmu;
	DXGK_PHYSICALADAPTERCAPS physical;
	struct gpu_adapter *adapter = adapter_of(SOFTGPU_MODEL_GPUMMU);

	gpu_caps_driver(&adapter->settings, &caps);
	EXPECT_EQ(caps.MemoryManagementCaps.VirtualAddressingSupported, 1);
	EXPECT_EQ(caps.MemoryManagementCaps.GpuMmuSupported, 1);
	EXPECT_EQ(query(adapter, DXGKQAITYPE_GPUMMUCAPS, NULL, 0, &mmu, sizeof(mmu)),
		  STATUS_SUCCESS);
	EXPECT_EQ(mmu.VirtualAddressBitCount, 48);
	EXPECT_EQ(mmu.PageTableLevelCount, 4);
	EXPECT_EQ(mmu.PageTableUpdateMode, DXGK_PAGETABLEUPDATE_GPU_PHYSICAL);
	EXPECT_EQ(query(adapter, DXGKQAITYPE_PHYSICALADAPTERCAPS, NULL, 0, &physical,
			sizeof(physical)),
		  STATUS_SUCCESS);
	EXPECT_EQ(physical.Flags.GpuMmuSupported, 1);
	EXPECT_EQ(physical.NumExecutionNodes, 4);
	EXPECT_EQ(physical.PagingNodeIndex, 3);

	adapter = adapter_of(SOFTGPU_MODEL_PHYSICAL);
	gpu_caps_driver(&adapter->settings, &caps);
	EXPECT_EQ(caps.MemoryManagementCaps.VirtualAddressingSupported, 0);
	EXPECT_EQ(caps.MemoryManagementCaps.GpuMmuSupported, 0);
	EXPECT_EQ(query(adapter, DXGKQAITYPE_GPUMMUCAPS, NULL, 0, &mmu, sizeof(mmu)),
		  STATUS_NOT_SUPPORTED);
}

TEST(caps, levels_add_up_to_the_address_space)
{
	struct gpu_adapter *adapter = adapter_of(SOFTGPU_MODEL_GPUMMU);
	UINT bits = 12;

	for (WORD level = 0; level < 4; level++) {
		DXGK_QUERYPAGETABLELEVELDESCIN in = { .LevelIndex = level };
		DXGK_PAGE_TABLE_LEVEL_DESC desc;

		EXPECT_EQ(query(adapter, DXGKQAITYPE_PAGETABLELEVELDESC, &in, sizeof(in), &desc,
				sizeof(desc)),
			  STATUS_SUCCESS);
		EXPECT_EQ(desc.PageTableSizeInBytes, 4096);
		EXPECT_EQ(desc.PageTableSegmentId, SOFTGPU_SEGMENT_LOCAL);
		bits += desc.PageTableIndexBitCount;
	}
	EXPECT_EQ(bits, 48);

	DXGK_QUERYPAGETABLELEVELDESCIN beyond = { .LevelIndex = 4 };
	DXGK_PAGE_TABLE_LEVEL_DESC desc;
	EXPECT_EQ(query(adapter, DXGKQAITYPE_PAGETABLELEVELDESC, &beyond, sizeof(beyond), &desc,
			sizeof(desc)),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(query(adapter, DXGKQAITYPE_PAGETABLELEVELDESC, NULL, 0, &desc, sizeof(desc)),
		  STATUS_INVALID_PARAMETER);
}

TEST(caps, tables_that_the_cpu_writes_are_in_system_memory)
{
	struct gpu_adapter *adapter = adapter_of(SOFTGPU_MODEL_GPUMMU);
	DXGK_PAGE_TABLE_LEVEL_DESC desc;
	DXGK_GPUMMUCAPS mmu;

	adapter->settings.update_mode = GPU_UPDATE_CPU;
	gpu_caps_gpummu(&adapter->settings, &mmu);
	EXPECT_EQ(mmu.PageTableUpdateMode, DXGK_PAGETABLEUPDATE_CPU_VIRTUAL);
	EXPECT_EQ(gpu_caps_level(&adapter->settings, 0, &desc), STATUS_SUCCESS);
	EXPECT_EQ(desc.PageTableSegmentId, SOFTGPU_SEGMENT_SYSTEM);
	EXPECT(desc.PageTableSizeInBytes <= 4096);
}

TEST(caps, tables_of_64k_pages_are_said_with_their_size)
{
	for (ULONG pages = GPU_64K_NONE; pages <= GPU_64K_DUAL; pages++) {
		struct gpu_settings settings;
		DXGK_PAGE_TABLE_LEVEL_DESC level;
		DXGK_GPUMMUCAPS caps;
		PCSTR problem = NULL;

		gpu_settings_init(&settings);
		settings.pages_64k = pages;
		settings.update_mode = GPU_UPDATE_CPU;
		EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
		gpu_caps_gpummu(&settings, &caps);
		EXPECT_EQ(caps.LeafPageTableSizeFor64KPagesInBytes,
			  pages == GPU_64K_NONE ? 0 : PAGE_SIZE);
		EXPECT_EQ(caps.DualPteSupported, pages == GPU_64K_DUAL);
		/* Two pointers are two pages, which are not in segment 0. */
		EXPECT_EQ(gpu_caps_level(&settings, 1, &level), STATUS_SUCCESS);
		EXPECT_EQ(level.PageTableSizeInBytes,
			  pages == GPU_64K_DUAL ? 2 * PAGE_SIZE : PAGE_SIZE);
		EXPECT_EQ(level.PageTableSegmentId,
			  pages == GPU_64K_DUAL ? GPU_SEGMENT_COUNT + 1 : 0);
	}
}

TEST(caps, a_client_learns_the_model_and_the_nodes)
{
	struct softgpu_adapter_info info;

	EXPECT_EQ(query(adapter_of(SOFTGPU_MODEL_PHYSICAL), DXGKQAITYPE_UMDRIVERPRIVATE, NULL, 0,
			&info, sizeof(info)),
		  STATUS_SUCCESS);
	EXPECT_EQ(info.version, SOFTGPU_ADAPTER_INFO_VERSION);
	EXPECT_EQ(info.address_model, SOFTGPU_MODEL_PHYSICAL);
	EXPECT_EQ(info.virtual_address_bits, 0);
	EXPECT_EQ(info.local_bytes, 256u << 20);
	EXPECT_EQ(info.aperture_bytes, 1024u << 20);
	EXPECT_EQ(info.node_count, 4);
	EXPECT_EQ(info.node_kinds[0], SOFTGPU_NODE_3D);
	EXPECT_EQ(info.node_kinds[1], SOFTGPU_NODE_COPY);
	EXPECT_EQ(info.node_kinds[3], SOFTGPU_NODE_PAGING);
	EXPECT_EQ(info.node_kinds[4], 0);
}

TEST(caps, a_buffer_that_is_too_small_is_not_written)
{
	struct gpu_adapter *adapter = adapter_of(SOFTGPU_MODEL_GPUMMU);
	DXGK_DRIVERCAPS caps;
	UINT number = 7;

	memset(&caps, 0xcd, sizeof(caps));
	EXPECT_EQ(query(adapter, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof(caps) - 1),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(caps.WDDMVersion, 0xcdcdcdcd);
	EXPECT_EQ(query(adapter, DXGKQAITYPE_DRIVERCAPS, NULL, 0, NULL, sizeof(caps)),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(query(adapter, DXGKQAITYPE_NUMPOWERCOMPONENTS, NULL, 0, &number, 4),
		  STATUS_SUCCESS);
	EXPECT_EQ(number, 0);
	EXPECT_EQ(query(adapter, DXGKQAITYPE_SCANOUT_CAPS, NULL, 0, &number, 4),
		  STATUS_NOT_SUPPORTED);
}

TEST(caps, every_node_has_a_name_and_a_kind)
{
	struct gpu_adapter *adapter = adapter_of(SOFTGPU_MODEL_GPUMMU);
	DXGKARG_GETNODEMETADATA node;

	EXPECT_EQ(gpu_get_node_metadata(adapter, 0, &node), STATUS_SUCCESS);
	EXPECT_EQ(node.EngineType, DXGK_ENGINE_TYPE_3D);
	EXPECT_EQ(node.FriendlyName[0], '3');
	EXPECT_EQ(node.GpuMmuSupported, TRUE);
	EXPECT_EQ(gpu_get_node_metadata(adapter, 1, &node), STATUS_SUCCESS);
	EXPECT_EQ(node.EngineType, DXGK_ENGINE_TYPE_COPY);
	EXPECT_EQ(gpu_get_node_metadata(adapter, 3, &node), STATUS_SUCCESS);
	EXPECT_EQ(node.FriendlyName[0], 'P');
	EXPECT_EQ(gpu_get_node_metadata(adapter, 4, &node), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(gpu_get_node_metadata(adapter, 0x10000, &node), STATUS_INVALID_PARAMETER);
}

TEST_MAIN("soft/caps")
