/* SPDX-License-Identifier: MIT */
/*
 * query_calls.c - D3DKMTQueryAdapterInfo: one small function per question.
 *
 * A question has a smallest buffer; a larger one is fine. The answer is written into our copy and
 * handed back as a whole, so parts of the buffer that belong to the question come back as they
 * were.
 */
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "dispatch/dispatch.h"
#include "dispatch/query.h"
#include "dispatch/text.h"
#include "object/memory/memory_sizes.h"

/* As INTERFACE_TYPE counts them. */
enum { BUS_TYPE_INTERNAL = 0, BUS_TYPE_PCI = 5 };

/* ---- who it is ---- */

static NTSTATUS answer_description(const struct query *query)
{
	D3DKMT_DRIVER_DESCRIPTION *answer = query->data;

	text_to_wide(answer->DriverDescription, ARRAY_SIZE(answer->DriverDescription),
		     query->info->description);
	return STATUS_SUCCESS;
}

static GUID adapter_guid(const struct query *query)
{
	/* Names this adapter for as long as it lives: the LUID in the last bytes. */
	GUID guid = { 0x0d788c00, 0x6b1d, 0x4f0c, { 0 } };

	for (unsigned i = 0; i < 8; i++)
		guid.Data4[i] = (UCHAR)(query->adapter->luid >> (8 * (7 - i)));
	return guid;
}

static NTSTATUS answer_guid(const struct query *query)
{
	*(GUID *)query->data = adapter_guid(query);
	return STATUS_SUCCESS;
}

static NTSTATUS answer_unique_guid(const struct query *query)
{
	D3DKMT_QUERY_ADAPTER_UNIQUE_GUID *answer = query->data;
	GUID guid = adapter_guid(query);
	char text[40];

	snprintf(text, sizeof(text), "{%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X}",
		 (unsigned)guid.Data1, guid.Data2, guid.Data3, guid.Data4[0], guid.Data4[1],
		 guid.Data4[2], guid.Data4[3], guid.Data4[4], guid.Data4[5], guid.Data4[6],
		 guid.Data4[7]);
	text_to_wide(answer->AdapterUniqueGUID, ARRAY_SIZE(answer->AdapterUniqueGUID), text);
	return STATUS_SUCCESS;
}

static NTSTATUS answer_address(const struct query *query)
{
	const struct miniport_pci_address *address = &query->info->pci_address;
	D3DKMT_ADAPTERADDRESS *answer = query->data;

	if (query->info->is_on_pci)
		*answer = (D3DKMT_ADAPTERADDRESS){ address->bus, address->slot, address->function };
	else /* on no bus: the number in the profile is a place, too */
		*answer = (D3DKMT_ADAPTERADDRESS){ .DeviceNumber = query->adapter->id };
	return STATUS_SUCCESS;
}

NTSTATUS query_check_single_adapter(uint32_t index)
{
	if (index != 0)
		return invalid(RULE_API_VALUE, "PhysicalAdapterIndex",
			       "is %u, and adapters are not linked", index);
	return STATUS_SUCCESS;
}

static NTSTATUS check_node(const struct miniport_info *info, uint32_t node, const char *argument)
{
	if (node >= info->node_count)
		return invalid(RULE_API_VALUE, argument, "asks for node %u of %u", node,
			       info->node_count);
	return STATUS_SUCCESS;
}

static NTSTATUS answer_physical_adapter_count(const struct query *query)
{
	((D3DKMT_PHYSICAL_ADAPTER_COUNT *)query->data)->Count = 1;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_device_ids(const struct query *query)
{
	D3DKMT_QUERY_DEVICE_IDS *answer = query->data;
	NTSTATUS status = query_check_single_adapter(answer->PhysicalAdapterIndex);

	if (!NT_SUCCESS(status))
		return status;
	/* On no bus nobody gave it numbers: they are zero. */
	const struct miniport_pci_ids *ids = &query->info->pci_ids;
	answer->DeviceIds = (D3DKMT_DEVICE_IDS){
		.VendorID = ids->vendor,
		.DeviceID = ids->device,
		.SubVendorID = ids->subsystem_vendor,
		.SubSystemID = ids->subsystem,
		.RevisionID = ids->revision,
		.BusType = query->info->is_on_pci ? BUS_TYPE_PCI : BUS_TYPE_INTERNAL,
	};
	return STATUS_SUCCESS;
}

/* One image is both: there is no user-mode driver that could be of another version. */
static NTSTATUS answer_file_version(const struct query *query)
{
	_Static_assert(sizeof(D3DKMT_UMD_DRIVER_VERSION) == sizeof(D3DKMT_KMD_DRIVER_VERSION), "");
	((D3DKMT_KMD_DRIVER_VERSION *)query->data)->DriverVersion.QuadPart =
		(LONGLONG)query->info->driver_version;
	return STATUS_SUCCESS;
}

/* ---- what it can do ---- */

static NTSTATUS answer_adapter_type(const struct query *query)
{
	D3DKMT_ADAPTERTYPE *answer = query->data;

	answer->Value = 0;
	answer->RenderSupported = 1;
	answer->DisplaySupported = query->info->video_present_sources > 0;
	answer->ComputeOnly = query->info->is_compute_only;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_driver_version(const struct query *query)
{
	uint32_t level = query->info->wddm_version;

	/* 1102 was its prerelease; all others are the level times 1,000. */
	*(D3DKMT_DRIVERVERSION *)query->data =
		level == 1100 ? KMT_DRIVERVERSION_WDDM_1_1 : (D3DKMT_DRIVERVERSION)level;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_update_status(const struct query *query)
{
	*(BOOL *)query->data = FALSE;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_virtual_address_info(const struct query *query)
{
	D3DKMT_VIRTUALADDRESSINFO *answer = query->data;

	answer->VirtualAddressFlags = (D3DKMT_VIRTUALADDRESSFLAGS){ 0 };
	answer->VirtualAddressFlags.VirtualAddressSupported =
		query->info->supports_virtual_addressing;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_wddm_1_2_caps(const struct query *query)
{
	D3DKMT_WDDM_1_2_CAPS *answer = query->data;

	*answer = (D3DKMT_WDDM_1_2_CAPS){ 0 };
	answer->PreemptionCaps.GraphicsPreemptionGranularity =
		(D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY)query->info->graphics_preemption;
	answer->PreemptionCaps.ComputePreemptionGranularity =
		(D3DKMDT_COMPUTE_PREEMPTION_GRANULARITY)query->info->compute_preemption;
	answer->SupportNonVGA = query->info->supports_non_vga;
	answer->SupportPerEngineTDR = query->info->supports_per_engine_tdr;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_wddm_1_3_caps(const struct query *query)
{
	D3DKMT_WDDM_1_3_CAPS *answer = query->data;

	answer->Value = 0;
	answer->SupportCrossAdapterResource = query->info->supports_cross_adapter;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_wddm_2_0_caps(const struct query *query)
{
	D3DKMT_WDDM_2_0_CAPS *answer = query->data;

	answer->Value = 0;
	answer->Support64BitAtomics = !query->info->has_no_64bit_atomics;
	answer->GpuMmuSupported = query->info->supports_gpu_mmu;
	answer->IoMmuSupported = query->info->supports_io_mmu;
	answer->SupportSurpriseRemoval = query->info->supports_surprise_removal;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_wddm_2_7_caps(const struct query *query)
{
	D3DKMT_WDDM_2_7_CAPS *answer = query->data;
	/* There is no switch: hardware queues that are there can be used. */
	bool has_queues = miniport_has_hw_queues(query->adapter->miniport);

	answer->Value = 0;
	answer->HwSchSupported = has_queues;
	answer->HwSchEnabled = has_queues;
	answer->HwSchEnabledByDefault = has_queues;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_node_metadata(const struct query *query)
{
	D3DKMT_NODEMETADATA *answer = query->data;
	uint32_t node = answer->NodeOrdinalAndAdapterIndex & 0xffff;
	NTSTATUS status = query_check_single_adapter(answer->NodeOrdinalAndAdapterIndex >> 16);

	if (NT_SUCCESS(status))
		status = check_node(query->info, node, "NodeOrdinalAndAdapterIndex");
	if (!NT_SUCCESS(status))
		return status;

	const struct miniport_node *known = &query->info->nodes[node];
	WCHAR name[DXGK_MAX_METADATA_NAME_LENGTH] = { 0 };
	text_to_wide(name, ARRAY_SIZE(name), known->name);
	/* The struct is packed, so its name is not where a WCHAR pointer could point. */
	memcpy(answer->NodeData.FriendlyName, name, sizeof(name));
	answer->NodeData.EngineType = (DXGK_ENGINE_TYPE)known->engine_type;
	answer->NodeData.Flags.Value = known->flags;
	answer->NodeData.GpuMmuSupported = known->has_gpu_mmu;
	answer->NodeData.IoMmuSupported = known->has_io_mmu;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_gpu_mmu_caps(const struct query *query)
{
	D3DKMT_QUERY_GPUMMU_CAPS *answer = query->data;
	NTSTATUS status = query_check_single_adapter(answer->PhysicalAdapterIndex);

	if (!NT_SUCCESS(status))
		return status;
	answer->Caps.Flags.Value = 0;
	answer->Caps.VirtualAddressBitCount = 0;
	if (!query->info->supports_gpu_mmu)
		return STATUS_SUCCESS;
	/* DXGK_GPUMMUCAPS has these three at bits 0, 1 and 4. */
	uint32_t flags = query->info->gpu_mmu.flags;
	answer->Caps.Flags.ReadOnlyMemorySupported = flags & 1;
	answer->Caps.Flags.NoExecuteMemorySupported = flags >> 1 & 1;
	answer->Caps.Flags.CacheCoherentMemorySupported = flags >> 4 & 1;
	answer->Caps.VirtualAddressBitCount = query->info->gpu_mmu.address_bits;
	return STATUS_SUCCESS;
}

static NTSTATUS answer_cross_adapter(const struct query *query)
{
	((D3DKMT_CROSSADAPTERRESOURCE_SUPPORT *)query->data)->SupportTier =
		query->info->supports_cross_adapter ? D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER_COPY
						    : D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER_NONE;
	return STATUS_SUCCESS;
}

/* ---- how much memory it has ---- */

static struct memory_sizes sizes_of(const struct query *query)
{
	struct memory_sizes sizes;

	memory_sizes_compute(query->info, machine_size_bytes(), &sizes);
	return sizes;
}

static D3DKMT_SEGMENTSIZEINFO legacy_sizes(const struct memory_sizes *sizes)
{
	return (D3DKMT_SEGMENTSIZEINFO){
		.DedicatedVideoMemorySize = sizes->dedicated_video_bytes,
		.DedicatedSystemMemorySize = sizes->dedicated_system_bytes,
		.SharedSystemMemorySize = sizes->shared_system_bytes,
	};
}

static NTSTATUS answer_segment_size(const struct query *query)
{
	struct memory_sizes sizes = sizes_of(query);

	*(D3DKMT_SEGMENTSIZEINFO *)query->data = legacy_sizes(&sizes);
	return STATUS_SUCCESS;
}

static NTSTATUS answer_segment_group_size(const struct query *query)
{
	D3DKMT_SEGMENTGROUPSIZEINFO *answer = query->data;
	NTSTATUS status = query_check_single_adapter(answer->PhysicalAdapterIndex);

	if (!NT_SUCCESS(status))
		return status;
	struct memory_sizes sizes = sizes_of(query);
	answer->LegacyInfo = legacy_sizes(&sizes);
	answer->LocalMemory = sizes.local_bytes;
	answer->NonLocalMemory = sizes.non_local_bytes;
	answer->NonBudgetMemory = sizes.non_budget_bytes;
	return STATUS_SUCCESS;
}

/* ---- what the driver says privately ---- */

static NTSTATUS answer_umd_private(const struct query *query)
{
	return process_query_umd_private(query->call->process, query->adapter, query->data,
					 query->size_bytes);
}

/* ---- the table ---- */

static const struct {
	uint32_t type;
	uint32_t least_bytes;
	NTSTATUS (*answer)(const struct query *query);
} answers[] = {
	{ KMTQAITYPE_UMDRIVERPRIVATE, 1, answer_umd_private },
	{ KMTQAITYPE_UMDRIVERNAME, sizeof(D3DKMT_UMDFILENAMEINFO), query_answer_umd_name },
	{ KMTQAITYPE_UMOPENGLINFO, sizeof(D3DKMT_OPENGLINFO), query_answer_opengl },
	{ KMTQAITYPE_GETSEGMENTSIZE, sizeof(D3DKMT_SEGMENTSIZEINFO), answer_segment_size },
	{ KMTQAITYPE_ADAPTERGUID, sizeof(GUID), answer_guid },
	{ KMTQAITYPE_ADAPTERGUID_RENDER, sizeof(GUID), answer_guid },
	{ KMTQAITYPE_ADAPTERADDRESS, sizeof(D3DKMT_ADAPTERADDRESS), answer_address },
	{ KMTQAITYPE_ADAPTERADDRESS_RENDER, sizeof(D3DKMT_ADAPTERADDRESS), answer_address },
	{ KMTQAITYPE_ADAPTERREGISTRYINFO, sizeof(D3DKMT_ADAPTERREGISTRYINFO),
	  query_answer_registry_info },
	{ KMTQAITYPE_ADAPTERREGISTRYINFO_RENDER, sizeof(D3DKMT_ADAPTERREGISTRYINFO),
	  query_answer_registry_info },
	{ KMTQAITYPE_CHECKDRIVERUPDATESTATUS, sizeof(BOOL), answer_update_status },
	{ KMTQAITYPE_CHECKDRIVERUPDATESTATUS_RENDER, sizeof(BOOL), answer_update_status },
	{ KMTQAITYPE_VIRTUALADDRESSINFO, sizeof(D3DKMT_VIRTUALADDRESSINFO),
	  answer_virtual_address_info },
	{ KMTQAITYPE_DRIVERVERSION, sizeof(D3DKMT_DRIVERVERSION), answer_driver_version },
	{ KMTQAITYPE_DRIVERVERSION_RENDER, sizeof(D3DKMT_DRIVERVERSION), answer_driver_version },
	{ KMTQAITYPE_UMD_DRIVER_VERSION, sizeof(D3DKMT_UMD_DRIVER_VERSION), answer_file_version },
	{ KMTQAITYPE_KMD_DRIVER_VERSION, sizeof(D3DKMT_KMD_DRIVER_VERSION), answer_file_version },
	{ KMTQAITYPE_ADAPTERTYPE, sizeof(D3DKMT_ADAPTERTYPE), answer_adapter_type },
	{ KMTQAITYPE_ADAPTERTYPE_RENDER, sizeof(D3DKMT_ADAPTERTYPE), answer_adapter_type },
	{ KMTQAITYPE_WDDM_1_2_CAPS, sizeof(D3DKMT_WDDM_1_2_CAPS), answer_wddm_1_2_caps },
	{ KMTQAITYPE_WDDM_1_2_CAPS_RENDER, sizeof(D3DKMT_WDDM_1_2_CAPS), answer_wddm_1_2_caps },
	{ KMTQAITYPE_WDDM_1_3_CAPS, sizeof(D3DKMT_WDDM_1_3_CAPS), answer_wddm_1_3_caps },
	{ KMTQAITYPE_WDDM_1_3_CAPS_RENDER, sizeof(D3DKMT_WDDM_1_3_CAPS), answer_wddm_1_3_caps },
	{ KMTQAITYPE_WDDM_2_0_CAPS, sizeof(D3DKMT_WDDM_2_0_CAPS), answer_wddm_2_0_caps },
	{ KMTQAITYPE_WDDM_2_7_CAPS, sizeof(D3DKMT_WDDM_2_7_CAPS), answer_wddm_2_7_caps },
	{ KMTQAITYPE_NODEMETADATA, sizeof(D3DKMT_NODEMETADATA), answer_node_metadata },
	{ KMTQAITYPE_PHYSICALADAPTERCOUNT, sizeof(D3DKMT_PHYSICAL_ADAPTER_COUNT),
	  answer_physical_adapter_count },
	{ KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, sizeof(D3DKMT_QUERY_DEVICE_IDS), answer_device_ids },
	{ KMTQAITYPE_QUERY_GPUMMU_CAPS, sizeof(D3DKMT_QUERY_GPUMMU_CAPS), answer_gpu_mmu_caps },
	{ KMTQAITYPE_GETSEGMENTGROUPSIZE, sizeof(D3DKMT_SEGMENTGROUPSIZEINFO),
	  answer_segment_group_size },
	{ KMTQAITYPE_QUERYREGISTRY, sizeof(D3DDDI_QUERYREGISTRY_INFO), query_answer_registry },
	{ KMTQAITYPE_QUERY_ADAPTER_UNIQUE_GUID, sizeof(D3DKMT_QUERY_ADAPTER_UNIQUE_GUID),
	  answer_unique_guid },
	{ KMTQAITYPE_DRIVER_DESCRIPTION, sizeof(D3DKMT_DRIVER_DESCRIPTION), answer_description },
	{ KMTQAITYPE_DRIVER_DESCRIPTION_RENDER, sizeof(D3DKMT_DRIVER_DESCRIPTION),
	  answer_description },
	{ KMTQAITYPE_CROSSADAPTERRESOURCE_SUPPORT, sizeof(D3DKMT_CROSSADAPTERRESOURCE_SUPPORT),
	  answer_cross_adapter },
};

NTSTATUS dispatch_query_adapter_info(struct call *call, D3DKMT_QUERYADAPTERINFO *args)
{
	struct dxg_adapter *adapter = call_adapter(call, 0)->adapter;
	const struct query query = { call, adapter, adapter->info, args->pPrivateDriverData,
				     args->PrivateDriverDataSize };
	unsigned i = 0;

	while (i < ARRAY_SIZE(answers) && answers[i].type != (uint32_t)args->Type)
		i++;
	if (i == ARRAY_SIZE(answers)) {
		if ((uint32_t)args->Type > KMTQAITYPE_WDDM_3_0_CAPS)
			return invalid(RULE_API_VALUE, "Type", "is %u, and the last one is %u",
				       (unsigned)args->Type, (unsigned)KMTQAITYPE_WDDM_3_0_CAPS);
		return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "Type",
			      "%u has no answer here", (unsigned)args->Type);
	}
	if (!query.data)
		return invalid(RULE_API_NULL_ARGUMENT, "pPrivateDriverData", "is NULL");
	if (query.size_bytes < answers[i].least_bytes)
		return invalid(RULE_API_BUFFER, "PrivateDriverDataSize",
			       "is %u, and type %u needs %u bytes", query.size_bytes,
			       (unsigned)args->Type, answers[i].least_bytes);
	return answers[i].answer(&query);
}

/* ---- clocks ---- */

NTSTATUS dispatch_query_clock_calibration(struct call *call, D3DKMT_QUERYCLOCKCALIBRATION *args)
{
	struct dxg_adapter *adapter = call_adapter(call, 0)->adapter;
	struct miniport_clock clock;
	NTSTATUS status = query_check_single_adapter(args->PhysicalAdapterIndex);

	if (NT_SUCCESS(status))
		status = check_node(adapter->info, args->NodeOrdinal, "NodeOrdinal");
	if (NT_SUCCESS(status))
		status = process_calibrate_clock(call->process, adapter, args->NodeOrdinal, &clock);
	if (!NT_SUCCESS(status))
		return status;
	args->ClockData = (DXGK_GPUCLOCKDATA){
		.GpuFrequency = clock.gpu_frequency,
		.GpuClockCounter = clock.gpu_counter,
		.CpuClockCounter = clock.cpu_counter,
		.Flags.Value = clock.flags,
	};
	return STATUS_SUCCESS;
}
