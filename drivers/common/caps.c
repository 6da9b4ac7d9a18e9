/* SPDX-License-Identifier: MIT */
/*
 * caps.c - what the driver says about itself.
 *
 *   in:   the settings
 *   out:  capabilities, address model, nodes
 *
 * Everything here is a promise that another file keeps; the comments say which.
 * PASSIVE_LEVEL unless noted, any number of threads, nothing is changed.
 */
#include "gpu.h"

void gpu_caps_driver(const struct gpu_settings *settings, DXGK_DRIVERCAPS *caps_out)
{
	ULONG node_count = gpu_settings_node_count(settings);
	BOOLEAN is_gpummu = settings->model == SOFTGPU_MODEL_GPUMMU;

	*caps_out = (DXGK_DRIVERCAPS){
		.HighestAcceptableAddress.QuadPart = -1,
		.ApertureSegmentCommitLimit = (SIZE_T)settings->aperture_mib << 20,
		.GpuEngineTopology.NbAsymetricProcessingNodes = node_count,
		.WDDMVersion = DXGKDDI_WDDMv2_6,
		/* execute.c stops between commands, and inside the long ones. */
		.PreemptionCaps.GraphicsPreemptionGranularity =
			D3DKMDT_GRAPHICS_PREEMPTION_PRIMITIVE_BOUNDARY,
		.PreemptionCaps.ComputePreemptionGranularity =
			D3DKMDT_COMPUTE_PREEMPTION_DISPATCH_BOUNDARY,
		.SupportNonVGA = TRUE,
		.SupportPerEngineTDR = TRUE, /* recover.c */
		.SupportSurpriseRemoval = TRUE,
	};
	caps_out->SchedulingCaps.MultiEngineAware = 1;
	caps_out->SchedulingCaps.PreemptionAware = 1; /* engine.c */
	caps_out->MemoryManagementCaps.VirtualAddressingSupported = is_gpummu;
	caps_out->MemoryManagementCaps.GpuMmuSupported = is_gpummu; /* page_table.c */
	caps_out->MemoryManagementCaps.PagingNode = node_count - 1;
}

void gpu_caps_gpummu(const struct gpu_settings *settings, DXGK_GPUMMUCAPS *caps_out)
{
	static const DXGK_PAGETABLEUPDATEMODE modes[] = {
		[GPU_UPDATE_GPU_PHYSICAL] = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
		[GPU_UPDATE_GPU_VIRTUAL] = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL,
		[GPU_UPDATE_CPU] = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL,
	};

	*caps_out = (DXGK_GPUMMUCAPS){
		.PageTableUpdateMode = modes[settings->update_mode],
		.VirtualAddressBitCount = settings->address_bits,
		.PageTableLevelCount = settings->page_table_levels,
	};
	caps_out->ReadOnlyMemorySupported = 1;
	caps_out->ZeroInPteSupported = 1;
	caps_out->CacheCoherentMemorySupported = 1;
	caps_out->LargePageSupported = 1;
	caps_out->InvalidTlbEntriesNotCached = 1; /* no translation is kept at all */
	if (settings->pages_64k != GPU_64K_NONE)
		caps_out->LeafPageTableSizeFor64KPagesInBytes = PAGE_SIZE;
	caps_out->DualPteSupported = settings->pages_64k == GPU_64K_DUAL;
}

NTSTATUS gpu_caps_level(const struct gpu_settings *settings, ULONG level,
			DXGK_PAGE_TABLE_LEVEL_DESC *desc_out)
{
	/* The CPU cannot be asked to write tables that may move in local memory. */
	ULONG segment = settings->update_mode == GPU_UPDATE_CPU ? SOFTGPU_SEGMENT_SYSTEM
								: SOFTGPU_SEGMENT_LOCAL;
	BOOLEAN is_double = level == 1 && settings->pages_64k == GPU_64K_DUAL;

	if (level >= settings->page_table_levels)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "there is no page table level %u, but %u levels", level,
				  settings->page_table_levels);
	ULONG index_bits = gpu_settings_index_bits(settings, level);
	/* A root of two levels begins with a page, and grows (gpu_get_root_page_table_size). */
	if (settings->page_table_levels == 2 && index_bits > GPU_TABLE_BITS)
		index_bits = GPU_TABLE_BITS;
	/* Two pages of system memory have to be asked for by the name that WDDM 2 adds. */
	if (is_double && segment == SOFTGPU_SEGMENT_SYSTEM)
		segment = GPU_SEGMENT_COUNT + 1;
	*desc_out = (DXGK_PAGE_TABLE_LEVEL_DESC){
		.PageTableIndexBitCount = index_bits,
		.PageTableSegmentId = segment,
		.PagingProcessPageTableSegmentId = segment,
		.PageTableSizeInBytes = (UINT)ROUND_TO_PAGES(sizeof(ULONGLONG) << index_bits)
					<< is_double,
		.PageTableAlignmentInBytes = PAGE_SIZE,
	};
	return STATUS_SUCCESS;
}

void gpu_caps_adapter_info(const struct gpu_settings *settings,
			   struct softgpu_adapter_info *info_out)
{
	BOOLEAN is_gpummu = settings->model == SOFTGPU_MODEL_GPUMMU;

	*info_out = (struct softgpu_adapter_info){
		.version = SOFTGPU_ADAPTER_INFO_VERSION,
		.address_model = settings->model,
		.local_bytes = (ULONGLONG)settings->local_mib << 20,
		.aperture_bytes = (ULONGLONG)settings->aperture_mib << 20,
		.virtual_address_bits = is_gpummu ? settings->address_bits : 0,
		.page_table_levels = is_gpummu ? settings->page_table_levels : 0,
		.max_command_bytes = SOFTGPU_MAX_COMMAND_BYTES,
		.node_count = gpu_settings_node_count(settings),
	};
	for (ULONG node = 0; node < info_out->node_count; node++)
		info_out->node_kinds[node] = gpu_settings_node_kind(settings, node);
}

/* One answer of DxgkDdiQueryAdapterInfo; the output is large enough. */
typedef NTSTATUS answer_query(const struct gpu_adapter *adapter,
			      const DXGKARG_QUERYADAPTERINFO *args);

static NTSTATUS answer_umd_private(const struct gpu_adapter *adapter,
				   const DXGKARG_QUERYADAPTERINFO *args)
{
	struct softgpu_device_info *info = args->pOutputData;

	gpu_caps_adapter_info(&adapter->settings, &info->adapter);
	if (args->OutputDataSize < sizeof(*info))
		return STATUS_SUCCESS;
	info->commands = adapter->settings.commands;
	info->vendor_id = adapter->ids.vendor;
	info->device_id = adapter->ids.device;
	info->revision = adapter->ids.revision;
	info->reserved = 0;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_driver_caps(const struct gpu_adapter *adapter,
				   const DXGKARG_QUERYADAPTERINFO *args)
{
	gpu_caps_driver(&adapter->settings, args->pOutputData);
	return STATUS_SUCCESS;
}

/* Nothing that could be switched off by itself. */
static NTSTATUS answer_power_components(const struct gpu_adapter *adapter,
					const DXGKARG_QUERYADAPTERINFO *args)
{
	*(UINT *)args->pOutputData = 0;
	return STATUS_SUCCESS;
}

/* One element per node: the clock of gpu_calibrate_gpu_clock(). */
static NTSTATUS answer_history_precision(const struct gpu_adapter *adapter,
					 const DXGKARG_QUERYADAPTERINFO *args)
{
	DXGKARG_HISTORYBUFFERPRECISION *precision = args->pOutputData;

	for (ULONG i = 0; i < args->OutputDataSize / sizeof(*precision); i++)
		precision[i].PrecisionBits = 64;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_segments(const struct gpu_adapter *adapter,
				const DXGKARG_QUERYADAPTERINFO *args)
{
	return gpu_memory_describe(&adapter->memory, args->pOutputData);
}

static NTSTATUS answer_gpummu(const struct gpu_adapter *adapter,
			      const DXGKARG_QUERYADAPTERINFO *args)
{
	gpu_caps_gpummu(&adapter->settings, args->pOutputData);
	return STATUS_SUCCESS;
}

static NTSTATUS answer_level(const struct gpu_adapter *adapter,
			     const DXGKARG_QUERYADAPTERINFO *args)
{
	const DXGK_QUERYPAGETABLELEVELDESCIN *in = args->pInputData;

	if (!in || args->InputDataSize < sizeof(*in) || in->PhysicalAdapterIndex != 0)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"PAGETABLELEVELDESC has %u bytes of input for a level of adapter 0",
			args->InputDataSize);
	return gpu_caps_level(&adapter->settings, in->LevelIndex, args->pOutputData);
}

static NTSTATUS answer_physical_adapter(const struct gpu_adapter *adapter,
					const DXGKARG_QUERYADAPTERINFO *args)
{
	DXGK_PHYSICALADAPTERCAPS *caps = args->pOutputData;

	*caps = (DXGK_PHYSICALADAPTERCAPS){
		.NumExecutionNodes = (WORD)adapter->node_count,
		.PagingNodeIndex = (WORD)(adapter->node_count - 1),
		.VirtualCopyNodeIndex = adapter->node_count - 1,
	};
	caps->Flags.GpuMmuSupported = adapter->settings.model == SOFTGPU_MODEL_GPUMMU;
	return STATUS_SUCCESS;
}

static const struct {
	ULONG type;
	ULONG minimum_bytes;
	BOOLEAN is_gpummu_only;
	answer_query *answer;
} queries[] = {
	{ DXGKQAITYPE_UMDRIVERPRIVATE, sizeof(struct softgpu_adapter_info), FALSE,
	  answer_umd_private },
	{ DXGKQAITYPE_DRIVERCAPS, sizeof(DXGK_DRIVERCAPS), FALSE, answer_driver_caps },
	{ DXGKQAITYPE_NUMPOWERCOMPONENTS, sizeof(UINT), FALSE, answer_power_components },
	{ DXGKQAITYPE_HISTORYBUFFERPRECISION, sizeof(DXGKARG_HISTORYBUFFERPRECISION), FALSE,
	  answer_history_precision },
	{ DXGKQAITYPE_QUERYSEGMENT4, sizeof(DXGK_QUERYSEGMENTOUT4), FALSE, answer_segments },
	{ DXGKQAITYPE_GPUMMUCAPS, sizeof(DXGK_GPUMMUCAPS), TRUE, answer_gpummu },
	{ DXGKQAITYPE_PAGETABLELEVELDESC, sizeof(DXGK_PAGE_TABLE_LEVEL_DESC), TRUE, answer_level },
	{ DXGKQAITYPE_PHYSICALADAPTERCAPS, sizeof(DXGK_PHYSICALADAPTERCAPS), FALSE,
	  answer_physical_adapter },
};

NTSTATUS APIENTRY gpu_query_adapter_info(IN_CONST_HANDLE hAdapter,
					 IN_CONST_PDXGKARG_QUERYADAPTERINFO pQueryAdapterInfo)
{
	const struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	if (!adapter || !pQueryAdapterInfo)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"QueryAdapterInfo for adapter %p with arguments %p: one is missing",
			hAdapter, pQueryAdapterInfo);
	for (ULONG i = 0; i < RTL_NUMBER_OF(queries); i++) {
		if (queries[i].type != (ULONG)pQueryAdapterInfo->Type ||
		    (queries[i].is_gpummu_only && adapter->settings.model != SOFTGPU_MODEL_GPUMMU))
			continue;
		if (!pQueryAdapterInfo->pOutputData)
			return gpu_refuse(STATUS_INVALID_PARAMETER, "query %u has no output buffer",
					  (ULONG)pQueryAdapterInfo->Type);
		if (pQueryAdapterInfo->OutputDataSize < queries[i].minimum_bytes)
			return gpu_refuse(STATUS_BUFFER_TOO_SMALL,
					  "query %u has %u bytes of output, and needs %u",
					  (ULONG)pQueryAdapterInfo->Type,
					  pQueryAdapterInfo->OutputDataSize,
					  queries[i].minimum_bytes);
		return queries[i].answer(adapter, pQueryAdapterInfo);
	}
	return gpu_refuse(STATUS_NOT_SUPPORTED, "query %u is unknown, or not for this model",
			  (ULONG)pQueryAdapterInfo->Type);
}

NTSTATUS APIENTRY gpu_get_node_metadata(IN_CONST_HANDLE hAdapter, UINT NodeOrdinal,
					OUT_PDXGKARG_GETNODEMETADATA pGetNodeMetadata)
{
	static const WCHAR names[][DXGK_MAX_METADATA_NAME_LENGTH] = {
		[SOFTGPU_NODE_3D] = L"3D",
		[SOFTGPU_NODE_COPY] = L"Copy",
		[SOFTGPU_NODE_PAGING] = L"Paging",
	};
	const struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	/* The upper half is the adapter in a link, of which there is one. */
	if (!adapter || !pGetNodeMetadata || NodeOrdinal >= adapter->node_count)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "GetNodeMetadata of adapter %p for node %u, which does not exist",
				  hAdapter, NodeOrdinal);

	ULONG kind = gpu_settings_node_kind(&adapter->settings, NodeOrdinal);
	*pGetNodeMetadata = (DXGKARG_GETNODEMETADATA){
		.EngineType = kind == SOFTGPU_NODE_3D ? DXGK_ENGINE_TYPE_3D : DXGK_ENGINE_TYPE_COPY,
		.GpuMmuSupported = adapter->settings.model == SOFTGPU_MODEL_GPUMMU,
	};
	RtlCopyMemory(pGetNodeMetadata->FriendlyName, names[kind], sizeof(names[kind]));
	return STATUS_SUCCESS;
}

/* DISPATCH_LEVEL. The engines live by the processor's clock. */
NTSTATUS APIENTRY gpu_calibrate_gpu_clock(IN_CONST_HANDLE hAdapter, UINT32 NodeOrdinal,
					  UINT32 EngineOrdinal,
					  OUT_PDXGKARG_CALIBRATEGPUCLOCK pClockCalibration)
{
	LARGE_INTEGER frequency;

	if (!gpu_engine_from(hAdapter, NodeOrdinal, EngineOrdinal) || !pClockCalibration)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "CalibrateGpuClock of node %u, engine %u, which does not exist",
				  NodeOrdinal, EngineOrdinal);
	LARGE_INTEGER now = KeQueryPerformanceCounter(&frequency);
	*pClockCalibration = (DXGKARG_CALIBRATEGPUCLOCK){
		.GpuFrequency = (ULONGLONG)frequency.QuadPart,
		.GpuClockCounter = (ULONGLONG)now.QuadPart,
		.CpuClockCounter = (ULONGLONG)now.QuadPart,
	};
	return STATUS_SUCCESS;
}
