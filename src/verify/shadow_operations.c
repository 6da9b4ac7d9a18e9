/* SPDX-License-Identifier: MIT */
/*
 * shadow_operations.c - DXGKARG_BUILDPAGINGBUFFER -> what it reads and writes, and what it changes of who is where
 * (shadow.h).
 */
#include <stdlib.h>
#include <string.h>

#include "verify/shadow.h"
#include "verify/tables.h"

enum { WIDE_PAGES = 16 }; /* of a page of 64 KiB */

/* What an operation is about; NULL: none, or it is a kind that has none. */
static const void *subject_of(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	switch ((int)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
		return args->Transfer.hAllocation;
	case DXGK_OPERATION_FILL:
		return args->Fill.hAllocation;
	case DXGK_OPERATION_DISCARD_CONTENT:
		return args->DiscardContent.hAllocation;
	case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
	case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
		return args->MapApertureSegment.hAllocation;
	case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
		return args->SpecialLockTransfer.hAllocation;
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		return args->TransferVirtual.hAllocation;
	case DXGK_OPERATION_VIRTUAL_FILL:
		return args->FillVirtual.hAllocation;
	case DXGK_OPERATION_INIT_CONTEXT_RESOURCE:
		return args->InitContextResource.hAllocation;
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		return args->UpdatePageTable.hAllocation;
	case DXGK_OPERATION_NOTIFY_RESIDENCY:
		return args->NotifyResidency.hAllocation;
	default:
		return NULL;
	}
}

/* ---- what it reads and writes ---- */

/* The offset is for the segment's side alone; pages of an MDL begin where the part does. */
#define FILL_SIDE(shadow, range, args, side)                                                       \
	do {                                                                                       \
		if ((args)->Transfer.side.SegmentId == 0)                                          \
			shadow_range_mdl(range, (args)->Transfer.side.pMdl,                        \
					 (args)->Transfer.MdlOffset,                               \
					 (args)->Transfer.TransferSize);                           \
		else                                                                               \
			shadow_range_segment(                                                      \
				shadow, range, (args)->Transfer.side.SegmentId,                    \
				shadow_segment_offset(                                             \
					shadow, (args)->Transfer.side.SegmentId,                   \
					(uint64_t)(args)->Transfer.side.SegmentAddress.QuadPart) + \
					(args)->Transfer.TransferOffset,                           \
				(args)->Transfer.TransferSize);                                    \
	} while (0)

static void find_transfer(struct shadow *shadow, struct shadow_operation *operation,
			  const DXGKARG_BUILDPAGINGBUFFER *args)
{
	operation->allocation_offset = args->Transfer.TransferOffset;
	operation->is_part =
		!args->Transfer.Flags.TransferStart || !args->Transfer.Flags.TransferEnd;
	FILL_SIDE(shadow, &operation->to, args, Destination);
	FILL_SIDE(shadow, &operation->from, args, Source);
}

static void find_virtual_transfer(struct shadow *shadow, struct shadow_operation *operation,
				  const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *transfer)
{
	operation->allocation_offset = transfer->AllocationOffsetInBytes;
	operation->is_part = transfer->AllocationOffsetInBytes != 0;
	shadow_range_addresses(shadow, &operation->to, transfer->DestinationVirtualAddress,
			       transfer->TransferSizeInBytes);
	shadow_range_addresses(shadow, &operation->from, transfer->SourceVirtualAddress,
			       transfer->TransferSizeInBytes);
}

static void find_fill(struct shadow *shadow, struct shadow_operation *operation,
		      const DXGKARG_BUILDPAGINGBUFFER *args)
{
	operation->pattern = args->Fill.FillPattern;
	shadow_range_segment(
		shadow, &operation->to, args->Fill.Destination.SegmentId,
		shadow_segment_offset(shadow, args->Fill.Destination.SegmentId,
				      (uint64_t)args->Fill.Destination.SegmentAddress.QuadPart),
		args->Fill.FillSize);
}

static void find_virtual_fill(struct shadow *shadow, struct shadow_operation *operation,
			      const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *fill)
{
	operation->pattern = fill->FillPattern;
	operation->allocation_offset = fill->AllocationOffsetInBytes;
	operation->is_part = fill->AllocationOffsetInBytes != 0;
	shadow_range_addresses(shadow, &operation->to, fill->DestinationVirtualAddress,
			       fill->FillSizeInBytes);
}

static void find_ranges_locked(struct shadow *shadow, struct shadow_operation *operation,
			       const DXGKARG_BUILDPAGINGBUFFER *args)
{
	lock_assert_held(&shadow->lock);
	switch ((int)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
		find_transfer(shadow, operation, args);
		break;
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		find_virtual_transfer(shadow, operation, &args->TransferVirtual);
		break;
	case DXGK_OPERATION_FILL:
		find_fill(shadow, operation, args);
		break;
	case DXGK_OPERATION_VIRTUAL_FILL:
		find_virtual_fill(shadow, operation, &args->FillVirtual);
		break;
	case DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION:
		shadow_range_addresses(shadow, &operation->to,
				       args->UpdateContextAllocation.ContextAllocation,
				       args->UpdateContextAllocation.ContextAllocationSize);
		break;
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
	case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
		operation->change = tables_change_create_locked(shadow, args);
		break;
	default:
		break;
	}
}

struct shadow_operation *shadow_operation_create_locked(struct shadow *shadow,
							const DXGKARG_BUILDPAGINGBUFFER *args)
{
	struct shadow_operation *operation = calloc(1, sizeof(*operation));

	lock_assert_held(&shadow->lock);
	if (!operation)
		return NULL;
	list_init(&operation->link);
	operation->number = ++shadow->built;
	operation->kind = args->Operation;
	operation->allocation = subject_of(args);
	find_ranges_locked(shadow, operation, args);
	return operation;
}

void shadow_operation_free(struct shadow_operation *operation)
{
	shadow_range_finish(&operation->to);
	shadow_range_finish(&operation->from);
	tables_change_free(operation->change);
	free(operation->neighbours);
	free(operation);
}

/* ---- who is where then ---- */

static void follow_aperture(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	bool is_map = args->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT;
	MDL *mdl = is_map ? args->MapApertureSegment.pMdl : NULL;
	const PFN_NUMBER *pfns =
		mdl ? MmGetMdlPfnArray(mdl) + args->MapApertureSegment.MdlOffset : NULL;
	struct shadow_allocation *allocation =
		map_get_pointer(&shadow->allocations, args->MapApertureSegment.hAllocation);

	if (allocation && is_map)
		allocation->is_in_aperture = true;
	for (uint64_t i = 0; i < args->MapApertureSegment.NumberOfPages; i++) {
		shadow_page page = shadow_page_of(args->MapApertureSegment.SegmentId,
						  args->MapApertureSegment.OffsetInPages + i);

		if (pfns)
			map_set(&shadow->aperture, page, shadow_page_of(0, pfns[i]));
		else
			map_take(&shadow->aperture, page);
	}
}

static void set_owner(struct shadow *shadow, shadow_page page, const void *allocation)
{
	if (page == 0 || shadow_segment(page) == 0)
		return;
	map_take(&shadow->owners, page);
	if (allocation)
		map_set(&shadow->owners, page, (uint64_t)(uintptr_t)allocation);
}

static void set_owners(struct shadow *shadow, const struct shadow_range *range,
		       const void *allocation)
{
	for (uint32_t i = 0; range->is_known && i < range->run_count; i++) {
		for (uint64_t j = 0; j < range->runs[i].count; j++)
			set_owner(shadow, range->runs[i].first + j, allocation);
	}
}

/* A leaf table says where addresses of its process lead from now on. */
static void follow_entries(struct shadow *shadow,
			   const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
	bool is_pagers = shadow->has_paging_process && update->hProcess == shadow->paging_process;
	uint32_t pages = update->Flags.Use64KBPages ? WIDE_PAGES : 1;
	uint64_t first = update->FirstPteVirtualAddress >> SHADOW_PAGE_SHIFT;
	struct shadow_allocation *allocation =
		map_get_pointer(&shadow->allocations, update->hAllocation);

	if (allocation && !is_pagers)
		allocation->mapped_by |= shadow_process_bit(shadow, update->hProcess);
	for (uint64_t i = 0; i < (uint64_t)update->NumPageTableEntries * pages; i++) {
		const DXGK_PTE *entry =
			&update->pPageTableEntries[update->Flags.Repeat ? 0 : i / pages];
		shadow_page page = 0;

		if (entry->Valid && !entry->Zero)
			page = shadow_page_of(shadow_real_segment(shadow, (uint32_t)entry->Segment),
					      entry->PageAddress + i % pages);
		if (!is_pagers) {
			if (update->hAllocation)
				set_owner(shadow, page, update->hAllocation);
			continue;
		}
		uint64_t before = map_take(&shadow->addresses, first + i);
		if (before != 0)
			map_set(&shadow->addresses_before, first + i, before);
		if (page != 0)
			map_set(&shadow->addresses, first + i, page);
	}
}

/* What leaves memory of a segment is nobody's any more; what comes is its. */
static void follow_move(struct shadow *shadow, const struct shadow_operation *operation)
{
	const struct shadow_range *to = &operation->to;

	struct shadow_allocation *allocation =
		map_get_pointer(&shadow->allocations, operation->allocation);

	if (to->run_count > 0 && shadow_segment(to->runs[0].first) != 0) {
		set_owners(shadow, to, operation->allocation);
		if (allocation)
			allocation->is_in_aperture = false;
	}
	if (operation->from.run_count > 0 && to->run_count > 0 &&
	    shadow_segment(to->runs[0].first) == 0)
		set_owners(shadow, &operation->from, NULL);
}

static void follow_discard(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const struct shadow_allocation *allocation =
		map_get_pointer(&shadow->allocations, args->DiscardContent.hAllocation);
	struct shadow_range range;

	if (!allocation)
		return;
	shadow_range_segment(
		shadow, &range, args->DiscardContent.SegmentId,
		shadow_segment_offset(shadow, args->DiscardContent.SegmentId,
				      (uint64_t)args->DiscardContent.SegmentAddress.QuadPart),
		allocation->size_bytes);
	set_owners(shadow, &range, NULL);
	shadow_range_finish(&range);
}

void shadow_places_follow(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args,
			  const struct shadow_operation *operation)
{
	switch ((int)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
	case DXGK_OPERATION_FILL:
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
	case DXGK_OPERATION_VIRTUAL_FILL:
		if (operation)
			follow_move(shadow, operation);
		break;
	case DXGK_OPERATION_DISCARD_CONTENT:
		follow_discard(shadow, args);
		break;
	case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
	case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
		follow_aperture(shadow, args);
		break;
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		if (args->UpdatePageTable.PageTableLevel == 0 &&
		    args->UpdatePageTable.pPageTableEntries)
			follow_entries(shadow, &args->UpdatePageTable);
		break;
	default:
		break;
	}
}
