/* SPDX-License-Identifier: MIT */
/*
 * page_tables.c - judging the shape of a GPU's page tables. Pure.
 *
 * A virtual address is 12 bits of offset and then the index bits of each level, the leaf's first.
 * With exactly two levels the root grows with the address space: its description is its first
 * size, which may be nothing.
 */
#include "base/checked.h"
#include "base/refusal.h"
#include "miniport/answers.h"
#include "miniport/internal.h"

enum { HOST_PAGE_SIZE = 4096, OFFSET_BITS = 12 };

NTSTATUS gpu_mmu_accept(const DXGK_GPUMMUCAPS *caps, struct miniport_info *info)
{
	struct miniport_gpu_mmu *mmu = &info->gpu_mmu;

	if ((uint32_t)caps->PageTableUpdateMode > DXGK_PAGETABLEUPDATE_GPU_PHYSICAL)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_CAPS,
			      "DXGK_GPUMMUCAPS.PageTableUpdateMode",
			      "is %u, which is no way to update a page table",
			      (uint32_t)caps->PageTableUpdateMode);
	if (caps->VirtualAddressBitCount <= OFFSET_BITS || caps->VirtualAddressBitCount > 64)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_CAPS,
			      "DXGK_GPUMMUCAPS.VirtualAddressBitCount",
			      "is %u, an address has 13 to 64 bits", caps->VirtualAddressBitCount);
	if (caps->LeafPageTableSizeFor64KPagesInBytes % HOST_PAGE_SIZE != 0)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_TABLE,
			      "DXGK_GPUMMUCAPS.LeafPageTableSizeFor64KPagesInBytes",
			      "is %u, which is no number of %d-byte pages",
			      caps->LeafPageTableSizeFor64KPagesInBytes, HOST_PAGE_SIZE);
	if (caps->PageTableLevelCount < 2 ||
	    caps->PageTableLevelCount > MINIPORT_MAX_PAGE_TABLE_LEVELS)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_LEVELS,
			      "DXGK_GPUMMUCAPS.PageTableLevelCount",
			      "is %u, page tables have 2 to %d levels", caps->PageTableLevelCount,
			      MINIPORT_MAX_PAGE_TABLE_LEVELS);

	*mmu = (struct miniport_gpu_mmu){
		.flags = caps->Value,
		.update_mode = (uint32_t)caps->PageTableUpdateMode,
		.address_bits = caps->VirtualAddressBitCount,
		.leaf_table_size_64k_bytes = caps->LeafPageTableSizeFor64KPagesInBytes,
		.level_count = caps->PageTableLevelCount,
	};
	return STATUS_SUCCESS;
}

static NTSTATUS segment_accept(const char *field, uint32_t id, uint32_t level,
			       const struct miniport_info *info)
{
	if (id > info->segment_count && id != info->implicit_system_segment_id)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_SEGMENT, field,
			      "of level %u is %u, and there is no such segment", level, id);
	return STATUS_SUCCESS;
}

static bool is_local(const struct miniport_info *info, uint32_t id)
{
	return id != 0 && id != info->implicit_system_segment_id &&
	       !info->segments[id - 1].is_aperture;
}

static NTSTATUS level_accept(const DXGK_PAGE_TABLE_LEVEL_DESC *desc, uint32_t level,
			     struct miniport_info *info)
{
	bool may_be_empty = info->gpu_mmu.level_count == 2 && level == 1;

	if (desc->PageTableIndexBitCount > 32 ||
	    (desc->PageTableIndexBitCount == 0 && !may_be_empty))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_BITS, "PageTableIndexBitCount",
			      "of level %u is %u", level, desc->PageTableIndexBitCount);
	if (desc->PageTableSizeInBytes % HOST_PAGE_SIZE != 0 ||
	    (desc->PageTableSizeInBytes == 0 && !may_be_empty))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_TABLE, "PageTableSizeInBytes",
			      "of level %u is %u, which is no number of %d-byte pages", level,
			      desc->PageTableSizeInBytes, HOST_PAGE_SIZE);
	if (desc->PageTableSegmentId == 0 && desc->PageTableSizeInBytes > HOST_PAGE_SIZE)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_TABLE, "PageTableSizeInBytes",
			      "of level %u is %u, and in system memory a table is one page", level,
			      desc->PageTableSizeInBytes);
	if (desc->PageTableAlignmentInBytes != 0 &&
	    !is_power_of_two(desc->PageTableAlignmentInBytes))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_TABLE,
			      "PageTableAlignmentInBytes",
			      "of level %u is %u, which is no power of two", level,
			      desc->PageTableAlignmentInBytes);

	NTSTATUS status =
		segment_accept("PageTableSegmentId", desc->PageTableSegmentId, level, info);
	if (NT_SUCCESS(status))
		status = segment_accept("PagingProcessPageTableSegmentId",
					desc->PagingProcessPageTableSegmentId, level, info);
	if (!NT_SUCCESS(status))
		return status;
	if (info->gpu_mmu.update_mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL && level > 0 &&
	    is_local(info, desc->PageTableSegmentId))
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_SEGMENT, "PageTableSegmentId",
			      "of level %u is memory segment %u, which the processor cannot update "
			      "(CPU_VIRTUAL)",
			      level, desc->PageTableSegmentId);

	info->gpu_mmu.levels[level] = (struct miniport_page_table_level){
		.index_bits = desc->PageTableIndexBitCount,
		.segment_id = desc->PageTableSegmentId,
		.paging_process_segment_id = desc->PagingProcessPageTableSegmentId,
		.table_size_bytes = desc->PageTableSizeInBytes,
		.alignment_bytes = desc->PageTableAlignmentInBytes,
	};
	return STATUS_SUCCESS;
}

NTSTATUS page_table_levels_accept(const DXGK_PAGE_TABLE_LEVEL_DESC *levels,
				  struct miniport_info *info)
{
	const struct miniport_gpu_mmu *mmu = &info->gpu_mmu;
	uint32_t bits = OFFSET_BITS;
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t level = 0; NT_SUCCESS(status) && level < mmu->level_count; level++) {
		status = level_accept(&levels[level], level, info);
		bits += levels[level].PageTableIndexBitCount;
	}
	if (!NT_SUCCESS(status))
		return status;

	if (mmu->level_count == 2 ? bits > mmu->address_bits : bits != mmu->address_bits)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_MMU_BITS,
			      "DXGK_GPUMMUCAPS.VirtualAddressBitCount",
			      "is %u, and the page table levels make %u", mmu->address_bits, bits);
	return STATUS_SUCCESS;
}
