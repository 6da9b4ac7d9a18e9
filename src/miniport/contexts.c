/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - judging DXGK_CONTEXTINFO. Pure.
 *
 * A context that addresses memory virtually needs no buffers of ours, and drivers leave those
 * fields at zero; what is said there anyway is held to the same rules.
 */
#include "base/refusal.h"
#include "miniport/answers.h"
#include "miniport/internal.h"

static NTSTATUS segment_set_accept(uint32_t set, const struct miniport_info *info)
{
	for (uint32_t i = 0; i < 32; i++) {
		if ((set & (1u << i)) == 0)
			continue;
		if (i >= info->segment_count || !info->segments[i].is_aperture)
			return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CONTEXT_INFO,
				      "DXGK_CONTEXTINFO.DmaBufferSegmentSet",
				      "has segment %u, which is no aperture", i + 1);
	}
	return STATUS_SUCCESS;
}

NTSTATUS context_info_accept(const DXGK_CONTEXTINFO *answer, bool is_virtual,
			     const struct miniport_info *info,
			     struct miniport_context_info *info_out)
{
	NTSTATUS status = segment_set_accept(answer->DmaBufferSegmentSet, info);

	if (!NT_SUCCESS(status))
		return status;
	if (!is_virtual && answer->DmaBufferSize == 0)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CONTEXT_INFO,
			      "DXGK_CONTEXTINFO.DmaBufferSize", "is 0");

	*info_out = (struct miniport_context_info){
		.dma_buffer_bytes = answer->DmaBufferSize,
		.dma_buffer_segment_set = answer->DmaBufferSegmentSet,
		.dma_private_bytes = answer->DmaBufferPrivateDataSize,
		.allocation_list_entries = answer->AllocationListSize,
		.patch_list_entries = answer->PatchLocationListSize,
	};
	if (info->wddm_version < 2000)
		return STATUS_SUCCESS;

	if (answer->Caps.UseIoMmu && !info->supports_io_mmu)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CONTEXT_INFO, "DXGK_CONTEXTINFO.Caps",
			      "has UseIoMmu, and the adapter does not support it");
	if (answer->PagingCompanionNodeId >= info->node_count)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CONTEXT_INFO,
			      "DXGK_CONTEXTINFO.PagingCompanionNodeId",
			      "is %u, and there are %u nodes", answer->PagingCompanionNodeId,
			      info->node_count);
	info_out->needs_no_patching = answer->Caps.NoPatchingRequired;
	info_out->paging_companion_node = answer->PagingCompanionNodeId;
	return STATUS_SUCCESS;
}
