/* SPDX-License-Identifier: MIT */
/*
 * queries.c - DxgkDdiQueryAdapterInfo and DxgkDdiGetNodeMetadata: every field is a setting.
 */
#include "driver.h"

static const char *query_name(DXGK_QUERYADAPTERINFOTYPE type)
{
	switch ((int)type) {
	case DXGKQAITYPE_UMDRIVERPRIVATE:
		return "UMDRIVERPRIVATE";
	case DXGKQAITYPE_DRIVERCAPS:
		return "DRIVERCAPS";
	case DXGKQAITYPE_QUERYSEGMENT:
		return "QUERYSEGMENT";
	case DXGKQAITYPE_QUERYSEGMENT3:
		return "QUERYSEGMENT3";
	case DXGKQAITYPE_QUERYSEGMENT4:
		return "QUERYSEGMENT4";
	case DXGKQAITYPE_GPUMMUCAPS:
		return "GPUMMUCAPS";
	case DXGKQAITYPE_PAGETABLELEVELDESC:
		return "PAGETABLELEVELDESC";
	case DXGKQAITYPE_PHYSICALADAPTERCAPS:
		return "PHYSICALADAPTERCAPS";
	case DXGKQAITYPE_NUMPOWERCOMPONENTS:
		return "NUMPOWERCOMPONENTS";
	case DXGKQAITYPE_POWERCOMPONENTINFO:
		return "POWERCOMPONENTINFO";
	case DXGKQAITYPE_HISTORYBUFFERPRECISION:
		return "HISTORYBUFFERPRECISION";
	case DXGKQAITYPE_PHYSICAL_MEMORY_CAPS:
		return "PHYSICAL_MEMORY_CAPS";
	case DXGKQAITYPE_IOMMU_CAPS:
		return "IOMMU_CAPS";
	default:
		return "unknown";
	}
}

/* WDDM version as a driver of that interface would report it. */
static ULONG default_wddm_version(void)
{
	ULONG registered = version();

	if (registered < DXGKDDI_INTERFACE_VERSION_WIN8)
		return 0x1100;
	if (registered < DXGKDDI_INTERFACE_VERSION_WDDM1_3)
		return 0x1200;
	if (registered < DXGKDDI_INTERFACE_VERSION_WDDM2_0)
		return 0x1300;
	return registered < DXGKDDI_INTERFACE_VERSION_WDDM2_6 ? 0x2000 : 0x2600;
}

static NTSTATUS query_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_DRIVERCAPS *caps = query->pOutputData;
	BOOLEAN is_virtual = is_gpu_mmu() && version() >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;

	caps->HighestAcceptableAddress.QuadPart = -1;
	caps->WDDMVersion = (DXGK_WDDMVERSION)setting("WDDMVersion", default_wddm_version());
	caps->SchedulingCaps.Value = setting("SchedulingCaps", 0x15);
	caps->MemoryManagementCaps.Value =
		setting("MemoryManagementCaps", is_virtual ? 0x70 : 0x10);
	caps->MemoryManagementCaps.PagingNode = setting("PagingNode", 1);
	caps->GpuEngineTopology.NbAsymetricProcessingNodes =
		setting("NbAsymetricProcessingNodes", 2);
	caps->SupportNonVGA = TRUE;
	caps->SupportPerEngineTDR = setting("SupportPerEngineTDR", 1) != 0;
	caps->SupportSurpriseRemoval = (BOOLEAN)setting("SurpriseRemoval", 0);
	caps->MiscCaps.ComputeOnly = 1;
	caps->PreemptionCaps.GraphicsPreemptionGranularity =
		D3DKMDT_GRAPHICS_PREEMPTION_PRIMITIVE_BOUNDARY;
	caps->PreemptionCaps.ComputePreemptionGranularity =
		D3DKMDT_COMPUTE_PREEMPTION_DISPATCH_BOUNDARY;
	return STATUS_SUCCESS;
}

/* Segment 1 is local memory, segment 2 the aperture; more are local memory. */
struct segment {
	ULONG flags;
	ULONGLONG base;
	ULONGLONG size;
	ULONGLONG commit_limit;
	ULONGLONG cpu_address;
	ULONG banks;
};

static struct segment segment_of(ULONG id)
{
	struct segment segment;

	segment.flags = indexed("Segment", id, "Flags", id == 2 ? 0x1 : 0x8004);
	segment.base = ((ULONGLONG)indexed("Segment", id, "BaseHigh", id) << 32) +
		       indexed("Segment", id, "Base", 0);
	segment.size = indexed("Segment", id, "Size", 64 << 20);
	segment.commit_limit = indexed("Segment", id, "CommitLimit", 64 << 20);
	segment.cpu_address =
		((ULONGLONG)indexed("Segment", id, "CpuTranslatedAddressHigh", 16 + id) << 32) +
		indexed("Segment", id, "CpuTranslatedAddress", 0);
	segment.banks = indexed("Segment", id, "NbOfBanks", 0);
	return segment;
}

static SIZE_T bank_table[2];

/* The first question is how many there are; the second has room for them. */
#define ANSWER_COUNT(out, count)                                                                   \
	do {                                                                                       \
		if (!(out)->pSegmentDescriptor) {                                                  \
			(out)->NbSegment = (count);                                                \
			return STATUS_SUCCESS;                                                     \
		}                                                                                  \
		overrun("pSegmentDescriptor", (out)->pSegmentDescriptor,                           \
			(count) * sizeof(*(out)->pSegmentDescriptor));                             \
	} while (0)

#define DESCRIBE(descriptor, segment)                                                              \
	do {                                                                                       \
		(descriptor)->Flags.Value = (segment).flags;                                       \
		(descriptor)->BaseAddress.QuadPart = (LONGLONG)(segment).base;                     \
		(descriptor)->CpuTranslatedAddress.QuadPart = (LONGLONG)(segment).cpu_address;     \
		(descriptor)->Size = (segment).size;                                               \
		(descriptor)->CommitLimit = (segment).commit_limit;                                \
	} while (0)

static NTSTATUS query_segments_4(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;
	ULONG count = setting("NbSegment", 2);

	if (!out->pSegmentDescriptor) {
		if (out->NbSegment != 0)
			complain("a first pass that has segments already");
		out->NbSegment = count;
		return STATUS_SUCCESS;
	}
	if (out->NbSegment != count)
		complain("a second pass with another count");
	overrun("pSegmentDescriptor", out->pSegmentDescriptor,
		count * out->SegmentDescriptorStride);
	for (ULONG i = 0; i < count; i++) {
		DXGK_SEGMENTDESCRIPTOR4 *descriptor =
			(DXGK_SEGMENTDESCRIPTOR4 *)(out->pSegmentDescriptor +
						    i * out->SegmentDescriptorStride);
		struct segment segment = segment_of(i + 1);

		descriptor->Flags.Value = segment.flags;
		descriptor->BaseAddress.QuadPart = (LONGLONG)segment.base;
		descriptor->Size = segment.size;
		descriptor->CommitLimit = segment.commit_limit;
		if (descriptor->Flags.SupportsCpuHostAperture) {
			descriptor->CpuHostAperture.PhysicalAddress = segment.cpu_address;
			descriptor->CpuHostAperture.SizeInPages =
				indexed("Segment", i + 1, "SizeInPages", 256);
		} else {
			descriptor->CpuTranslatedAddress.QuadPart = (LONGLONG)segment.cpu_address;
		}
		descriptor->NumInvalidMemoryRanges =
			indexed("Segment", i + 1, "NumInvalidMemoryRanges", 0);
	}
	out->NbSegment = setting("NbSegmentAgain", count);
	out->PagingBufferSegmentId = setting("PagingBufferSegmentId", 0);
	out->PagingBufferSize = setting("PagingBufferSize", 4096);
	out->PagingBufferPrivateDataSize = setting("PagingBufferPrivateDataSize", 64);
	if (setting("SegmentDescriptorStride", 0))
		out->SegmentDescriptorStride = setting("SegmentDescriptorStride", 0);
	return STATUS_SUCCESS;
}

static NTSTATUS query_segments_3(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;
	ULONG count = setting("NbSegment", 2);

	ANSWER_COUNT(out, count);
	for (ULONG i = 0; i < count; i++) {
		DXGK_SEGMENTDESCRIPTOR3 *descriptor = &out->pSegmentDescriptor[i];
		struct segment segment = segment_of(i + 1);

		bank_table[0] = setting("Bank0", 16 << 20);
		bank_table[1] = setting("Bank1", 32 << 20);
		DESCRIBE(descriptor, segment);
		descriptor->NbOfBanks = segment.banks;
		descriptor->pBankRangeTable = setting("NoBankTable", 0) ? NULL : bank_table;
	}
	out->PagingBufferSegmentId = setting("PagingBufferSegmentId", 0);
	out->PagingBufferSize = setting("PagingBufferSize", 4096);
	out->PagingBufferPrivateDataSize = setting("PagingBufferPrivateDataSize", 64);
	return STATUS_SUCCESS;
}

static NTSTATUS query_segments_1(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_QUERYSEGMENTOUT *out = query->pOutputData;
	ULONG count = setting("NbSegment", 2);

	ANSWER_COUNT(out, count);
	for (ULONG i = 0; i < count; i++) {
		DXGK_SEGMENTDESCRIPTOR *descriptor = &out->pSegmentDescriptor[i];
		struct segment segment = segment_of(i + 1);

		DESCRIBE(descriptor, segment);
	}
	out->PagingBufferSize = setting("PagingBufferSize", 4096);
	return STATUS_SUCCESS;
}

static NTSTATUS query_gpu_mmu_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_GPUMMUCAPS *caps = query->pOutputData;

	caps->Value = setting("GpuMmuCaps", 0x14);
	caps->PageTableUpdateMode = (DXGK_PAGETABLEUPDATEMODE)setting(
		"PageTableUpdateMode", DXGK_PAGETABLEUPDATE_CPU_VIRTUAL);
	caps->VirtualAddressBitCount = setting("VirtualAddressBitCount", 40);
	caps->LeafPageTableSizeFor64KPagesInBytes =
		setting("LeafPageTableSizeFor64KPagesInBytes", 0);
	caps->PageTableLevelCount = setting("PageTableLevelCount", 3);
	return STATUS_SUCCESS;
}

/* Three levels: 9 + 9 + 10 index bits and the offset are 40. */
static NTSTATUS query_page_table_level(const DXGKARG_QUERYADAPTERINFO *query)
{
	const DXGK_QUERYPAGETABLELEVELDESCIN *in = query->pInputData;
	DXGK_PAGE_TABLE_LEVEL_DESC *level = query->pOutputData;
	ULONG index = in->LevelIndex;

	level->PageTableIndexBitCount =
		indexed("Level", index, "PageTableIndexBitCount", index == 2 ? 10 : 9);
	level->PageTableSegmentId = indexed("Level", index, "PageTableSegmentId", 3);
	level->PagingProcessPageTableSegmentId =
		indexed("Level", index, "PagingProcessPageTableSegmentId", 3);
	level->PageTableSizeInBytes = indexed("Level", index, "PageTableSizeInBytes", 16384);
	level->PageTableAlignmentInBytes = indexed("Level", index, "PageTableAlignmentInBytes", 0);
	return STATUS_SUCCESS;
}

static NTSTATUS query_physical_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_PHYSICALADAPTERCAPS *caps = query->pOutputData;

	if (!setting("HasPhysicalAdapterCaps", 0))
		return STATUS_NOT_SUPPORTED;
	caps->NumExecutionNodes = (WORD)setting("NumExecutionNodes", 2);
	caps->PagingNodeIndex = (WORD)setting("PagingNodeIndex", 0);
	return STATUS_SUCCESS;
}

static NTSTATUS query_power_count(const DXGKARG_QUERYADAPTERINFO *query)
{
	if (query->OutputDataSize != sizeof(UINT))
		complain("NUMPOWERCOMPONENTS with another size than 4");
	*(UINT *)query->pOutputData = setting("PowerComponents", 1);
	return STATUS_SUCCESS;
}

static NTSTATUS query_power_component(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGK_POWER_RUNTIME_COMPONENT *component = query->pOutputData;

	component->StateCount = setting("StateCount", 1);
	return STATUS_SUCCESS;
}

static NTSTATUS query_history(const DXGKARG_QUERYADAPTERINFO *query)
{
	DXGKARG_HISTORYBUFFERPRECISION *precision = query->pOutputData;

	for (ULONG i = 0; i < query->OutputDataSize / sizeof(*precision); i++)
		precision[i].PrecisionBits = setting("PrecisionBits", 64);
	return STATUS_SUCCESS;
}

static NTSTATUS query_umd_private(const DXGKARG_QUERYADAPTERINFO *query)
{
	UCHAR *bytes = query->pOutputData;

	for (ULONG i = 0; i < query->OutputDataSize; i++)
		bytes[i] = (UCHAR)(bytes[i] + 1);
	return STATUS_SUCCESS;
}

/* What is documented has its documented size; 0: what the question asks for. */
static ULONG least_bytes(DXGK_QUERYADAPTERINFOTYPE type)
{
	switch ((int)type) {
	case DXGKQAITYPE_DRIVERCAPS:
		return sizeof(DXGK_DRIVERCAPS);
	case DXGKQAITYPE_QUERYSEGMENT:
		return sizeof(DXGK_QUERYSEGMENTOUT);
	case DXGKQAITYPE_QUERYSEGMENT3:
		return sizeof(DXGK_QUERYSEGMENTOUT3);
	case DXGKQAITYPE_QUERYSEGMENT4:
		return sizeof(DXGK_QUERYSEGMENTOUT4);
	case DXGKQAITYPE_GPUMMUCAPS:
		return sizeof(DXGK_GPUMMUCAPS);
	case DXGKQAITYPE_PAGETABLELEVELDESC:
		return sizeof(DXGK_PAGE_TABLE_LEVEL_DESC);
	case DXGKQAITYPE_PHYSICALADAPTERCAPS:
		return sizeof(DXGK_PHYSICALADAPTERCAPS);
	case DXGKQAITYPE_NUMPOWERCOMPONENTS:
		return sizeof(UINT);
	case DXGKQAITYPE_POWERCOMPONENTINFO:
		return sizeof(DXGK_POWER_RUNTIME_COMPONENT);
	case DXGKQAITYPE_HISTORYBUFFERPRECISION:
		return sizeof(DXGKARG_HISTORYBUFFERPRECISION);
	default:
		return 0;
	}
}

static NTSTATUS APIENTRY query_adapter_info(const HANDLE context,
					    const DXGKARG_QUERYADAPTERINFO *query)
{
	const char *name = query_name(query->Type);
	NTSTATUS status = step(name);
	char line[64];
	ULONG used = 0;

	adapter_of(context);
	append(line, sizeof(line), &used, "Query:");
	append(line, sizeof(line), &used, name);
	note(line, NULL, 0, NULL, 0);
	if (status != STATUS_SUCCESS)
		return status;
	if (query->OutputDataSize < least_bytes(query->Type))
		return STATUS_BUFFER_TOO_SMALL;
	overrun(name, query->pOutputData, query->OutputDataSize);
	switch ((int)query->Type) {
	case DXGKQAITYPE_UMDRIVERPRIVATE:
		return query_umd_private(query);
	case DXGKQAITYPE_DRIVERCAPS:
		return query_caps(query);
	case DXGKQAITYPE_QUERYSEGMENT:
		return query_segments_1(query);
	case DXGKQAITYPE_QUERYSEGMENT3:
		return query_segments_3(query);
	case DXGKQAITYPE_QUERYSEGMENT4:
		return query_segments_4(query);
	case DXGKQAITYPE_GPUMMUCAPS:
		return query_gpu_mmu_caps(query);
	case DXGKQAITYPE_PAGETABLELEVELDESC:
		return query_page_table_level(query);
	case DXGKQAITYPE_PHYSICALADAPTERCAPS:
		return query_physical_caps(query);
	case DXGKQAITYPE_NUMPOWERCOMPONENTS:
		return query_power_count(query);
	case DXGKQAITYPE_POWERCOMPONENTINFO:
		return query_power_component(query);
	case DXGKQAITYPE_HISTORYBUFFERPRECISION:
		return query_history(query);
	default:
		return STATUS_NOT_SUPPORTED;
	}
}

static NTSTATUS APIENTRY get_node_metadata(const HANDLE context, UINT node,
					   DXGKARG_GETNODEMETADATA *metadata)
{
	/* Two bytes, three bytes, and a pair of surrogates. */
	static const WCHAR copy_name[] = {
		'C', 'o', 'p', 'y', ' ', 0xE9, 0x20AC, 0xD83D, 0xDE00, 0
	};
	NTSTATUS status = step("GetNodeMetadata");

	adapter_of(context);
	note("GetNodeMetadata", "node", node, NULL, 0);
	if (!NT_SUCCESS(status))
		return status;
	overrun("GetNodeMetadata", metadata, sizeof(*metadata));
	metadata->EngineType =
		(DXGK_ENGINE_TYPE)indexed("Node", node, "EngineType",
					  node == 0 ? DXGK_ENGINE_TYPE_3D : DXGK_ENGINE_TYPE_COPY);
	metadata->GpuMmuSupported = is_gpu_mmu();
	if (node == 1)
		RtlCopyMemory(metadata->FriendlyName, copy_name, sizeof(copy_name));
	return STATUS_SUCCESS;
}

/* DISPATCH_LEVEL: no registry here. */
static ULONG gpu_frequency;

static NTSTATUS APIENTRY calibrate_gpu_clock(const HANDLE context, UINT32 node, UINT32 engine,
					     DXGKARG_CALIBRATEGPUCLOCK *clock)
{
	note("CalibrateGpuClock", "node", node, "engine", engine);
	RtlZeroMemory(clock, sizeof(*clock));
	clock->GpuFrequency = gpu_frequency;
	clock->GpuClockCounter = 1234;
	clock->CpuClockCounter = 5678;
	return STATUS_SUCCESS;
}

void fill_in_queries(DRIVER_INITIALIZATION_DATA *data)
{
	gpu_frequency = setting("GpuFrequency", 0);
	if (setting("Clock", 0))
		data->DxgkDdiCalibrateGpuClock = calibrate_gpu_clock;
	data->DxgkDdiQueryAdapterInfo = query_adapter_info;
	/* Also where the version does not reach: the host must not look there. */
	data->DxgkDdiGetNodeMetadata = get_node_metadata;
}
