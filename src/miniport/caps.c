/* SPDX-License-Identifier: MIT */
/*
 * caps.c - judging DXGK_DRIVERCAPS, DXGK_PHYSICALADAPTERCAPS and node metadata. Pure.
 *
 * Combinations of capabilities that Windows refuses at start are refused here: an aware driver is
 * aware of the engines it is aware for.
 */
#include <stdio.h>

#include "base/refusal.h"
#include "miniport/answers.h"
#include "miniport/ddi.h"
#include "miniport/internal.h"
#include "nt/unicode.h"

#define CAPS "DXGK_DRIVERCAPS."

/* 0x2600 -> 2600, the way D3DKMT counts versions. */
static uint32_t version_number(uint32_t wddm_version)
{
	return (wddm_version >> 12) * 1000 + ((wddm_version >> 8) & 0xF) * 100;
}

/* What the driver registered for, what it says it is and what is offered: the oldest counts. */
static NTSTATUS version_accept(const DXGK_DRIVERCAPS *caps, struct miniport_info *info)
{
	uint32_t registered = ddi_wddm_version(info->interface_version);
	uint32_t reported = (uint32_t)caps->WDDMVersion;

	if (reported == 0) {
		info->wddm_version = level_of(info, registered);
		return STATUS_SUCCESS;
	}
	if (reported < 0x1000 || reported > 0x3F00 || (reported & 0xFF) != 0)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_VERSION, CAPS "WDDMVersion",
			      "is 0x%x, which is no version of WDDM", reported);
	if (version_number(reported) > registered)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_VERSION, CAPS "WDDMVersion",
			      "is 0x%x, newer than the registered interface 0x%x (WDDM %u.%u)",
			      reported, info->interface_version, registered / 1000,
			      registered / 100 % 10);
	info->wddm_version = level_of(info, version_number(reported));
	return STATUS_SUCCESS;
}

static NTSTATUS scheduling_accept(const DXGK_DRIVERCAPS *caps, struct miniport_info *info)
{
	const DXGK_VIDSCHCAPS *scheduling = &caps->SchedulingCaps;

	if (scheduling->PreemptionAware && !scheduling->MultiEngineAware)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_SCHEDULING,
			      CAPS "SchedulingCaps",
			      "has PreemptionAware without MultiEngineAware");
	if (scheduling->NoDmaPatching &&
	    (!scheduling->MultiEngineAware || !scheduling->PreemptionAware))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_SCHEDULING,
			      CAPS "SchedulingCaps",
			      "has NoDmaPatching without MultiEngineAware and PreemptionAware");
	if (scheduling->CancelCommandAware && !scheduling->MultiEngineAware)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_SCHEDULING,
			      CAPS "SchedulingCaps",
			      "has CancelCommandAware without MultiEngineAware");

	info->is_multi_engine_aware = scheduling->MultiEngineAware;
	info->is_preemption_aware = scheduling->PreemptionAware;
	info->is_cancel_command_aware =
		info->wddm_version >= 1200 && scheduling->CancelCommandAware;
	info->has_no_64bit_atomics = info->wddm_version >= 2000 && scheduling->No64BitAtomics;
	if (info->wddm_version >= 2000)
		info->packets_per_node_max = scheduling->HwQueuePacketCap;
	return STATUS_SUCCESS;
}

static NTSTATUS addressing_accept(const DXGK_DRIVERCAPS *caps, struct miniport_info *info)
{
	const DXGK_VIDMMCAPS *memory = &caps->MemoryManagementCaps;

	info->supports_cross_adapter = info->wddm_version >= 1300 && memory->CrossAdapterResource;

	/* These bits do not exist before WDDM 2. */
	if (info->wddm_version < 2000)
		return STATUS_SUCCESS;
	if (memory->GpuMmuSupported && memory->IoMmuSupported)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_ADDRESSING,
			      CAPS "MemoryManagementCaps",
			      "has both GpuMmuSupported and IoMmuSupported");
	if ((memory->GpuMmuSupported || memory->IoMmuSupported) &&
	    !memory->VirtualAddressingSupported)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_ADDRESSING,
			      CAPS "MemoryManagementCaps",
			      "has %s without VirtualAddressingSupported",
			      memory->GpuMmuSupported ? "GpuMmuSupported" : "IoMmuSupported");
	if (memory->VirtualAddressingSupported && !memory->GpuMmuSupported &&
	    !memory->IoMmuSupported)
		return refuse(
			STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_ADDRESSING,
			CAPS "MemoryManagementCaps",
			"has VirtualAddressingSupported without GpuMmuSupported or IoMmuSupported");

	info->supports_virtual_addressing = memory->VirtualAddressingSupported;
	info->supports_gpu_mmu = memory->GpuMmuSupported;
	info->supports_io_mmu = memory->IoMmuSupported;
	return STATUS_SUCCESS;
}

static NTSTATUS node_count_accept(const char *field, uint32_t count, struct miniport_info *info)
{
	if (count == 0 || count > MINIPORT_MAX_NODES)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_NODES, field,
			      "is %u, an adapter has 1 to %d nodes", count, MINIPORT_MAX_NODES);
	info->node_count = count;
	return STATUS_SUCCESS;
}

static NTSTATUS paging_node_accept(const char *field, uint32_t node, struct miniport_info *info)
{
	if (node >= info->node_count)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_NODES, field,
			      "is %u, and there are %u nodes", node, info->node_count);
	info->paging_node = node;
	return STATUS_SUCCESS;
}

NTSTATUS caps_accept(const DXGK_DRIVERCAPS *caps, struct miniport_info *info)
{
	NTSTATUS status = version_accept(caps, info);

	if (NT_SUCCESS(status))
		status = scheduling_accept(caps, info);
	if (NT_SUCCESS(status))
		status = addressing_accept(caps, info);
	if (NT_SUCCESS(status))
		status =
			node_count_accept(CAPS "GpuEngineTopology.NbAsymetricProcessingNodes",
					  caps->GpuEngineTopology.NbAsymetricProcessingNodes, info);
	/* PagingNode means nothing to a driver that knows of one engine only. */
	if (NT_SUCCESS(status) && info->is_multi_engine_aware)
		status = paging_node_accept(CAPS "MemoryManagementCaps.PagingNode",
					    caps->MemoryManagementCaps.PagingNode, info);
	if (!NT_SUCCESS(status))
		return status;

	info->highest_acceptable_address = (uint64_t)caps->HighestAcceptableAddress.QuadPart;
	info->aperture_commit_limit_bytes = caps->ApertureSegmentCommitLimit;
	if (info->wddm_version >= 1200) {
		info->graphics_preemption =
			(uint32_t)caps->PreemptionCaps.GraphicsPreemptionGranularity;
		info->compute_preemption =
			(uint32_t)caps->PreemptionCaps.ComputePreemptionGranularity;
		info->supports_non_vga = caps->SupportNonVGA;
		info->supports_per_engine_tdr = caps->SupportPerEngineTDR;
	}
	if (info->wddm_version >= 2100)
		info->supports_surprise_removal = caps->SupportSurpriseRemoval;
	if (info->wddm_version >= 2600)
		info->is_compute_only = caps->MiscCaps.ComputeOnly;
	return STATUS_SUCCESS;
}

NTSTATUS physical_caps_accept(const DXGK_PHYSICALADAPTERCAPS *caps, struct miniport_info *info)
{
	if (caps->NumExecutionNodes != info->node_count)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CAPS_NODES,
			      "DXGK_PHYSICALADAPTERCAPS.NumExecutionNodes",
			      "is %u, and DXGK_DRIVERCAPS says %u nodes", caps->NumExecutionNodes,
			      info->node_count);
	NTSTATUS status = paging_node_accept("DXGK_PHYSICALADAPTERCAPS.PagingNodeIndex",
					     caps->PagingNodeIndex, info);
	return status;
}

static const char *const engine_names[] = {
	[DXGK_ENGINE_TYPE_OTHER] = "Other",
	[DXGK_ENGINE_TYPE_3D] = "3D",
	[DXGK_ENGINE_TYPE_VIDEO_DECODE] = "Video Decode",
	[DXGK_ENGINE_TYPE_VIDEO_ENCODE] = "Video Encode",
	[DXGK_ENGINE_TYPE_VIDEO_PROCESSING] = "Video Processing",
	[DXGK_ENGINE_TYPE_SCENE_ASSEMBLY] = "Scene Assembly",
	[DXGK_ENGINE_TYPE_COPY] = "Copy",
	[DXGK_ENGINE_TYPE_OVERLAY] = "Overlay",
	[DXGK_ENGINE_TYPE_CRYPTO] = "Crypto",
};

void node_default(uint32_t node, struct miniport_info *info)
{
	info->nodes[node] = (struct miniport_node){
		.engine_type = node == 0 ? DXGK_ENGINE_TYPE_3D : DXGK_ENGINE_TYPE_OTHER,
		.has_gpu_mmu = info->supports_gpu_mmu,
		.has_io_mmu = info->supports_io_mmu,
	};
	snprintf(info->nodes[node].name, sizeof(info->nodes[node].name), "%s %u",
		 engine_names[info->nodes[node].engine_type], node);
}

NTSTATUS node_accept(const DXGKARG_GETNODEMETADATA *metadata, uint32_t node,
		     struct miniport_info *info)
{
	struct miniport_node *answer = &info->nodes[node];
	uint32_t type = (uint32_t)metadata->EngineType;

	if (type >= ARRAY_SIZE(engine_names))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_NODE_METADATA,
			      "DXGKARG_GETNODEMETADATA.EngineType",
			      "is %u for node %u, which is no type of engine", type, node);

	*answer = (struct miniport_node){ .engine_type = type, .flags = metadata->Flags.Value };
	if (info->wddm_version >= 2000) {
		answer->has_gpu_mmu = metadata->GpuMmuSupported;
		answer->has_io_mmu = metadata->IoMmuSupported;
	}
	/* A name is asked for where the type says nothing; elsewhere the type is a name too. */
	size_t length = nt_utf16_length((const uint16_t *)metadata->FriendlyName,
					ARRAY_SIZE(metadata->FriendlyName));
	size_t used = nt_utf8_from_utf16(answer->name, sizeof(answer->name) - 1,
					 (const uint16_t *)metadata->FriendlyName, length);

	answer->name[used < sizeof(answer->name) ? used : sizeof(answer->name) - 1] = '\0';
	if (used == 0)
		snprintf(answer->name, sizeof(answer->name), "%s", engine_names[type]);
	return STATUS_SUCCESS;
}

NTSTATUS power_count_accept(uint32_t count, struct miniport_info *info)
{
	/* Not documented; more than any adapter has, and few enough to ask about each. */
	enum { MOST = 256 };

	if (count > MOST)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_POWER, "NUMPOWERCOMPONENTS",
			      "is %u, more than %d", count, MOST);
	info->power_component_count = count;
	return STATUS_SUCCESS;
}

NTSTATUS power_component_accept(const DXGK_POWER_RUNTIME_COMPONENT *component, uint32_t index)
{
	if (component->StateCount == 0 || component->StateCount > DXGK_MAX_F_STATES)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_POWER, "StateCount",
			      "of power component %u is %u, a component has 1 to %d states", index,
			      component->StateCount, DXGK_MAX_F_STATES);
	return STATUS_SUCCESS;
}
