/* SPDX-License-Identifier: MIT */
/*
 * vad_escape.c - D3DKMT_VIDMMESCAPETYPE_GET_VAD_INFO: what segments and page tables look like, and
 * entries of a table of the calling process. `dxgk ctl walk` is made of these.
 */
#include "base/refusal.h"
#include "dispatch/escapes.h"
#include "object/owner/control.h"

enum { PAGE_BYTES = 4096, PAGE_BYTES_64K = 65536 };

static NTSTATUS check_adapter_index(UINT index)
{
	if (index != 0)
		return invalid(RULE_API_VALUE, "PhysicalAdapterIndex",
			       "is %u, and an unlinked adapter has only number 0", index);
	return STATUS_SUCCESS;
}

static D3DKMT_PAGE_TABLE_LEVEL_DESC level_of(const struct gpuva_shape *shape, uint32_t level)
{
	uint64_t pages = gpuva_shape_entry_pages(shape, level);
	uint64_t shift = (uint64_t)shape->entry_shift[level] + 12;

	return (D3DKMT_PAGE_TABLE_LEVEL_DESC){
		.IndexBitCount = (UINT)(shape->entry_shift[level + 1] - shape->entry_shift[level]),
		.IndexMask = (gpuva_shape_entry_count(shape, level) - 1) << shift,
		.IndexShift = shift,
		.LowerLevelsMask = (UINT64_C(1) << shift) - 1,
		.EntryCoverageInPages = pages,
	};
}

static NTSTATUS get_mmu_caps(const struct escape *escape, D3DKMT_GET_GPUMMU_CAPS *answer)
{
	const struct gpuva_shape *shape;
	uint32_t flags = escape->adapter->info->gpu_mmu.flags;
	NTSTATUS status = check_adapter_index(answer->PhysicalAdapterIndex);

	if (NT_SUCCESS(status))
		status = control_table_shape(escape->adapter, &shape);
	if (!NT_SUCCESS(status))
		return status;
	answer->GpuMmuCaps = (DXGK_ESCAPE_GPUMMUCAPS){
		/* DXGK_GPUMMUCAPS, bit for bit. */
		.ReadOnlyMemorySupported = flags & 1,
		.NoExecuteMemorySupported = flags >> 1 & 1,
		.ZeroInPteSupported = flags >> 2 & 1,
		.CacheCoherentMemorySupported = flags >> 4 & 1,
		.LargePageSupported = shape->answer.has_large_pages,
		.DualPteSupported = shape->answer.has_dual_entries,
		.AllowNonAlignedLargePageAddress = shape->answer.has_unaligned_large_pages,
		.VirtualAddressBitCount = shape->answer.address_bits,
		.PageTableLevelCount = shape->answer.level_count,
	};
	for (uint32_t level = 0; level < shape->answer.level_count; level++)
		answer->GpuMmuCaps.PageTableLevelDesk[level] = level_of(shape, level);
	return STATUS_SUCCESS;
}

/* ---- entries ---- */

static DXGK_PTE pte_of(const struct miniport_pte *entry)
{
	DXGK_PTE pte = { .Flags = 0 };

	pte.Valid = entry->is_valid;
	pte.Zero = entry->is_zero;
	pte.CacheCoherent = entry->is_cache_coherent;
	pte.ReadOnly = entry->is_read_only;
	pte.NoExecute = entry->is_no_execute;
	pte.Segment = entry->segment;
	pte.LargePage = entry->is_large;
	pte.PageTablePageSize =
		entry->is_table_64k ? DXGK_PTE_PAGE_TABLE_PAGE_64KB : DXGK_PTE_PAGE_TABLE_PAGE_4KB;
	pte.PageAddress = entry->page;
	return pte;
}

static NTSTATUS check_path(const struct gpuva_shape *shape, const D3DKMT_GET_PTE *args)
{
	if (args->PageTableLevel >= shape->answer.level_count)
		return invalid(RULE_API_VALUE, "PageTableLevel", "is %u, and there are %u levels",
			       args->PageTableLevel, shape->answer.level_count);
	if (args->b64KBPte &&
	    (shape->answer.leaf_table_64k_bytes == 0 || args->PageTableLevel > 1 ||
	     (args->PageTableLevel == 1 && !shape->answer.has_dual_entries)))
		return invalid(RULE_API_VALUE, "b64KBPte",
			       "is set, and tables of level %u have no entries for 64 KiB pages",
			       args->PageTableLevel);
	if (args->NumPtes == 0 || args->NumPtes > D3DKMT_GET_PTE_MAX)
		return invalid(RULE_API_COUNT, "NumPtes", "is %u, not 1 to %d", args->NumPtes,
			       D3DKMT_GET_PTE_MAX);
	for (uint32_t level = args->PageTableLevel; level < shape->answer.level_count; level++) {
		uint64_t count = level == 0 && args->b64KBPte
					 ? gpuva_shape_wide_count(shape)
					 : gpuva_shape_entry_count(shape, level);

		if (args->PageTableIndex[level] >= count)
			return invalid_item(RULE_API_VALUE, "PageTableIndex", level,
					    "is %u, and a table of that level has %llu entries",
					    args->PageTableIndex[level], (unsigned long long)count);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS get_pte(const struct escape *escape, D3DKMT_GET_PTE *args)
{
	struct miniport_pte entries[D3DKMT_GET_PTE_MAX];
	const struct gpuva_shape *shape;
	const struct control_table table = { args->PageTableLevel, args->PageTableIndex,
					     args->NumPtes, args->b64KBPte };
	uint32_t count = 0;
	NTSTATUS status = check_adapter_index(args->PhysicalAdapterIndex);

	if (NT_SUCCESS(status))
		status = control_table_shape(escape->adapter, &shape);
	if (NT_SUCCESS(status))
		status = check_path(shape, args);
	if (NT_SUCCESS(status))
		status = control_read_table(escape->call->process, escape->adapter, &table, entries,
					    &count);
	if (!NT_SUCCESS(status))
		return status;
	args->NumPtes = count;
	args->NumValidEntries = 0;
	for (uint32_t i = 0; i < count; i++) {
		args->Pte[i] = pte_of(&entries[i]);
		args->NumValidEntries += entries[i].is_valid;
	}
	return STATUS_SUCCESS;
}

/* ---- segments ---- */

static NTSTATUS get_segment_caps(const struct escape *escape, D3DKMT_GET_SEGMENT_CAPS *answer)
{
	const struct miniport_info *info = escape->adapter->info;
	NTSTATUS status = check_adapter_index(answer->PhysicalAdapterIndex);

	if (!NT_SUCCESS(status))
		return status;
	answer->NumSegments = info->counted_segment_count;
	for (uint32_t i = 0; i < info->counted_segment_count; i++) {
		const struct miniport_segment *segment = &info->segments[i];
		struct vidmm_segment_usage usage = { 0 };

		(void)!vidmm_segment_usage(escape->adapter->memory, i + 1, &usage);
		answer->SegmentCaps[i] = (D3DKMT_SEGMENT_CAPS){
			.Size = segment->size_bytes,
			.PageSize = segment->uses_64k_pages ? PAGE_BYTES_64K : PAGE_BYTES,
			.SegmentId = i + 1,
			.bAperture = segment->is_aperture,
			.bReservedSysMem = segment->is_populated_from_system_memory,
			.BudgetGroup = usage.group == VIDMM_LOCAL
					       ? D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL
					       : D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL,
		};
	}
	return STATUS_SUCCESS;
}

NTSTATUS escape_vad(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args)
{
	NTSTATUS status;

	switch (args->GetVads.Command) {
	case D3DKMT_VAD_ESCAPE_GET_PTE:
		status = get_pte(escape, &args->GetVads.GetPte);
		break;
	case D3DKMT_VAD_ESCAPE_GET_GPUMMU_CAPS:
		status = get_mmu_caps(escape, &args->GetVads.GetGpuMmuCaps);
		break;
	case D3DKMT_VAD_ESCAPE_GET_SEGMENT_CAPS:
		status = get_segment_caps(escape, &args->GetVads.GetSegmentCaps);
		break;
	case D3DKMT_VAD_ESCAPE_GETNUMVADS:
	case D3DKMT_VAD_ESCAPE_GETVAD:
	case D3DKMT_VAD_ESCAPE_GETVADRANGE:
		status = refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "GetVads.Command",
				"is %u; ranges of addresses are not listed, only the tables are "
				"read (GET_PTE)",
				(unsigned)args->GetVads.Command);
		break;
	default:
		status = invalid(RULE_API_VALUE, "GetVads.Command", "is %u, not 0 to 5",
				 (unsigned)args->GetVads.Command);
		break;
	}
	args->GetVads.Status = status;
	return status;
}
