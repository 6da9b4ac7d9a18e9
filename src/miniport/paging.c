/* SPDX-License-Identifier: MIT */
/*
 * paging.c - DxgkDdiBuildPagingBuffer: one operation, one pass (work.h).
 *
 *   buffer   |############|.............................|
 *            memory       + used_bytes                  + size_bytes
 *                         pDmaBuffer ── the driver moves it ──▶
 *
 * What the driver wrote is how far it moved pDmaBuffer, and pDmaBufferPrivateData; the sizes beside
 * them drivers leave alone. A fresh buffer is recognised by drivers by its DmaSize, which is then
 * exactly what they reported, and they find its private data zeroed.
 */
#include <assert.h>
#include <string.h>

#include "base/refusal.h"
#include "miniport/guarded_calls.h"
#include "miniport/internal.h"
#include "miniport/kept_name.h"
#include "miniport/pte.h"
#include "miniport/work.h"
#include "nt/report.h"

/* What an argument struct points to, for the time of one call. */
union arrays {
	DXGK_PTE entries[MINIPORT_FEW_ENTRIES];
	DXGK_BUILDPAGINGBUFFER_COPY_RANGE copies[MINIPORT_FEW_ENTRIES];
};

_Static_assert(sizeof(DXGK_PTE) == MINIPORT_ENTRY_BYTES, "as the pager takes memory for them");

uint64_t segment_address(const struct miniport *miniport, uint32_t segment, uint64_t offset_bytes)
{
	const struct miniport_info *info = &miniport->info;

	if (segment == 0 || segment > info->segment_count)
		return offset_bytes;
	return info->segments[segment - 1].base_address + offset_bytes;
}

static LONGLONG location_address(const struct miniport *miniport,
				 const struct miniport_location *location)
{
	return (LONGLONG)segment_address(miniport, location->segment, location->offset_bytes);
}

static D3DGPU_PHYSICAL_ADDRESS gpu_physical(const struct miniport_location *location)
{
	return (D3DGPU_PHYSICAL_ADDRESS){ .SegmentId = location->segment,
					  .SegmentOffset = location->offset_bytes };
}

/* ---- one function per kind of argument ---- */

/* The two sides of a copy have the same layout, and no name for it. */
#define FILL_LOCATION(side, miniport, location)                                                    \
	do {                                                                                       \
		(side).SegmentId = (location)->segment;                                            \
		if ((location)->segment == 0)                                                      \
			(side).pMdl = mdl_of((location)->mdl);                                     \
		else                                                                               \
			(side).SegmentAddress.QuadPart = location_address(miniport, location);     \
	} while (0)

static void fill_transfer(const struct miniport *miniport, const struct miniport_paging_op *op,
			  DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->Transfer.hAllocation = op->subject.driver_allocation;
	args->Transfer.TransferOffset = (UINT)op->offset_bytes;
	args->Transfer.TransferSize = op->size_bytes;
	FILL_LOCATION(args->Transfer.Source, miniport, &op->source);
	FILL_LOCATION(args->Transfer.Destination, miniport, &op->target);
	args->Transfer.Flags = (DXGK_TRANSFERFLAGS){
		.AllocationIsIdle = op->is_idle,
		.TransferStart = op->transfer.is_start,
		.TransferEnd = op->transfer.is_end,
	};
}

static void fill_fill(const struct miniport *miniport, const struct miniport_paging_op *op,
		      DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->Fill.hAllocation = op->subject.driver_allocation;
	args->Fill.FillSize = op->size_bytes;
	args->Fill.FillPattern = op->fill.pattern;
	args->Fill.Destination.SegmentId = op->target.segment;
	args->Fill.Destination.SegmentAddress.QuadPart = location_address(miniport, &op->target);
}

static void fill_discard(const struct miniport *miniport, const struct miniport_paging_op *op,
			 DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->DiscardContent.hAllocation = op->subject.driver_allocation;
	args->DiscardContent.Flags.AllocationIsIdle = op->is_idle;
	args->DiscardContent.SegmentId = op->target.segment;
	args->DiscardContent.SegmentAddress.QuadPart = location_address(miniport, &op->target);
}

/* Pages of an aperture count from its start: no base address. */
static void fill_aperture(const struct miniport_paging_op *op, DXGKARG_BUILDPAGINGBUFFER *args)
{
	/* Drivers look at an unmap through the other struct: the first five members agree. */
	args->MapApertureSegment.hDevice = op->aperture.driver_device;
	args->MapApertureSegment.hAllocation = op->subject.driver_allocation;
	args->MapApertureSegment.SegmentId = op->target.segment;
	args->MapApertureSegment.OffsetInPages = op->target.offset_bytes >> PAGE_SHIFT;
	args->MapApertureSegment.NumberOfPages = op->size_bytes >> PAGE_SHIFT;
	if (op->kind == MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT) {
		args->UnmapApertureSegment.DummyPage.QuadPart =
			(LONGLONG)op->aperture.dummy_address;
		return;
	}
	args->MapApertureSegment.pMdl = mdl_of(op->source.mdl);
	args->MapApertureSegment.Flags.CacheCoherent = op->aperture.is_cache_coherent;
}

static DXGK_MEMORY_TRANSFER_DIRECTION direction_of(const struct miniport_paging_op *op)
{
	if (op->source.segment == 0)
		return DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL;
	return op->target.segment == 0 ? DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM
				       : DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL;
}

static void fill_virtual_transfer(const struct miniport_paging_op *op,
				  DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->TransferVirtual = (DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL){
		.hAllocation = op->subject.driver_allocation,
		.AllocationOffsetInBytes = op->offset_bytes,
		.TransferSizeInBytes = op->size_bytes,
		.SourceVirtualAddress = op->source.gpu_address,
		.DestinationVirtualAddress = op->target.gpu_address,
		.SourcePageTable = op->source.gpu_table,
		.TransferDirection = direction_of(op),
		.DestinationPageTable = op->target.gpu_table,
	};
}

static void fill_virtual_fill(const struct miniport_paging_op *op, DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->FillVirtual = (DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL){
		.hAllocation = op->subject.driver_allocation,
		.AllocationOffsetInBytes = op->offset_bytes,
		.FillSizeInBytes = op->size_bytes,
		.FillPattern = op->fill.pattern,
		.DestinationVirtualAddress = op->target.gpu_address,
	};
}

static void fill_init_context(const struct miniport *miniport, const struct miniport_paging_op *op,
			      DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->InitContextResource.hAllocation = op->subject.driver_allocation;
	FILL_LOCATION(args->InitContextResource.Destination, miniport, &op->target);
	args->InitContextResource.Destination.VirtualAddress = op->target.pointer;
	args->InitContextResource.Destination.GpuVirtualAddress = op->target.gpu_address;
}

static DXGK_PAGETABLEUPDATEADDRESS table_address(const struct miniport_paging_op *op)
{
	switch (op->update_table.mode) {
	case MINIPORT_TABLE_CPU_VIRTUAL:
		return (DXGK_PAGETABLEUPDATEADDRESS){ .CpuVirtual = op->target.pointer };
	case MINIPORT_TABLE_GPU_VIRTUAL:
		return (DXGK_PAGETABLEUPDATEADDRESS){ .GpuVirtual = op->target.gpu_address };
	case MINIPORT_TABLE_GPU_PHYSICAL:
		break;
	}
	return (DXGK_PAGETABLEUPDATEADDRESS){ .GpuPhysical = gpu_physical(&op->target) };
}

/* Two pointers in each entry: to a table of 4 KiB pages, and to one of 64 KiB pages. */
static bool has_two_pointers(const struct miniport *miniport, const struct miniport_paging_op *op)
{
	const struct miniport_gpu_mmu *mmu = &miniport->info.gpu_mmu;
	const DXGK_GPUMMUCAPS caps = { .Value = mmu->flags };

	return op->update_table.level == 1 && caps.DualPteSupported &&
	       mmu->leaf_table_size_64k_bytes != 0;
}

static void fill_entries(const struct miniport_paging_op *op, uint32_t count, DXGK_PTE *entries,
			 DXGK_PTE *wide_entries)
{
	if (op->update_table.is_run)
		pte_write_run(op->update_table.entries, count, entries);
	else
		for (uint32_t i = 0; i < count; i++)
			entries[i] = pte_from(&op->update_table.entries[i]);
	for (uint32_t i = 0; wide_entries && i < count; i++)
		wide_entries[i] = op->update_table.wide_entries
					  ? pte_from(&op->update_table.wide_entries[i])
					  : (DXGK_PTE){ .Flags = 0 };
}

/* The entries of both kinds are one behind the other. */
static void fill_update_table(const struct miniport *miniport, const struct miniport_paging_op *op,
			      const struct miniport_paging_buffer *buffer, union arrays *few,
			      DXGKARG_BUILDPAGINGBUFFER *args)
{
	uint32_t count = op->update_table.is_repeated ? 1 : op->update_table.count;
	bool is_double = has_two_pointers(miniport, op);
	uint32_t all = is_double ? 2 * count : count;
	DXGK_PTE *entries = all <= MINIPORT_FEW_ENTRIES ? few->entries : buffer->entry_memory;
	DXGK_PTE *wide_entries = is_double ? entries + count : NULL;

	assert(all <= MINIPORT_FEW_ENTRIES || all <= buffer->entry_max);
	fill_entries(op, count, entries, wide_entries);
	args->UpdatePageTable = (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){
		.PageTableLevel = op->update_table.level,
		.hAllocation = op->subject.driver_allocation,
		.PageTableAddress = table_address(op),
		.pPageTableEntries = entries,
		.StartIndex = op->update_table.first_index,
		.NumPageTableEntries = op->update_table.count,
		.Flags = { .Repeat = op->update_table.is_repeated,
			   .InitialUpdate = op->update_table.is_initial,
			   .NotifyEviction = op->update_table.is_eviction,
			   .Use64KBPages = op->update_table.has_64k_pages },
		.DriverProtection = op->update_table.driver_protection,
		.AllocationOffsetInBytes = op->offset_bytes,
		.hProcess = op->update_table.driver_process,
		.UpdateMode = (DXGK_PAGETABLEUPDATEMODE)op->update_table.mode,
		.pPageTableEntries64KB = wide_entries,
		.FirstPteVirtualAddress = op->update_table.first_address,
	};
}

static void fill_flush_tlb(const struct miniport_paging_op *op, DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->FlushTlb = (DXGK_BUILDPAGINGBUFFER_FLUSHTLB){
		.RootPageTableAddress = gpu_physical(&op->target),
		.hProcess = op->flush_tlb.driver_process,
		.StartVirtualAddress = op->flush_tlb.first_address,
		.EndVirtualAddress = op->flush_tlb.end_address,
	};
}

static void fill_update_context(const struct miniport_paging_op *op,
				DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->UpdateContextAllocation = (DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION){
		.ContextAllocation = op->target.gpu_address,
		.ContextAllocationSize = op->size_bytes,
		.pDriverPrivateData = op->update_context.private_data,
		.DriverPrivateDataSize = op->update_context.private_bytes,
	};
}

static void fill_copy_entries(const struct miniport_paging_op *op, union arrays *few,
			      DXGKARG_BUILDPAGINGBUFFER *args)
{
	assert(op->copy_entries.count <= MINIPORT_FEW_ENTRIES);
	for (uint32_t i = 0; i < op->copy_entries.count; i++) {
		const struct miniport_table_copy *copy = &op->copy_entries.copies[i];

		few->copies[i] = (DXGK_BUILDPAGINGBUFFER_COPY_RANGE){
			.NumPageTableEntries = copy->count,
			.SrcPageTableAddress = op->source.gpu_address,
			.DstPageTableAddress = op->target.gpu_address,
			.SrcStartPteIndex = copy->source_index,
			.DstStartPteIndex = copy->destination_index,
		};
	}
	args->CopyPageTableEntries.NumRanges = op->copy_entries.count;
	args->CopyPageTableEntries.pRanges = few->copies;
}

/* An eviction names no place: (0, 0). */
static void fill_notify_residency(const struct miniport_paging_op *op,
				  DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->NotifyResidency.hAllocation = op->subject.driver_allocation;
	if (!op->notify_residency.is_resident)
		return;
	args->NotifyResidency.PhysicalAddress = gpu_physical(&op->target);
	args->NotifyResidency.Resident = 1;
}

static void fill_operation(const struct miniport *miniport, const struct miniport_paging_op *op,
			   const struct miniport_paging_buffer *buffer, union arrays *few,
			   DXGKARG_BUILDPAGINGBUFFER *args)
{
	static const DXGK_BUILDPAGINGBUFFER_OPERATION operations[] = {
#define KIND(name) DXGK_OPERATION_##name,
#include "miniport/paging_kinds.def"
#undef KIND
	};

	args->Operation = operations[op->kind];
	switch (op->kind) {
	case MINIPORT_PAGING_TRANSFER:
		fill_transfer(miniport, op, args);
		break;
	case MINIPORT_PAGING_FILL:
		fill_fill(miniport, op, args);
		break;
	case MINIPORT_PAGING_DISCARD_CONTENT:
		fill_discard(miniport, op, args);
		break;
	case MINIPORT_PAGING_MAP_APERTURE_SEGMENT:
	case MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT:
		fill_aperture(op, args);
		break;
	case MINIPORT_PAGING_VIRTUAL_TRANSFER:
		fill_virtual_transfer(op, args);
		break;
	case MINIPORT_PAGING_VIRTUAL_FILL:
		fill_virtual_fill(op, args);
		break;
	case MINIPORT_PAGING_INIT_CONTEXT_RESOURCE:
		fill_init_context(miniport, op, args);
		break;
	case MINIPORT_PAGING_UPDATE_PAGE_TABLE:
		fill_update_table(miniport, op, buffer, few, args);
		break;
	case MINIPORT_PAGING_FLUSH_TLB:
		fill_flush_tlb(op, args);
		break;
	case MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION:
		fill_update_context(op, args);
		break;
	case MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES:
		fill_copy_entries(op, few, args);
		break;
	case MINIPORT_PAGING_NOTIFY_RESIDENCY:
		fill_notify_residency(op, args);
		break;
	}
}

/* ---- the buffer ---- */

static void *at(void *start, uint32_t used_bytes)
{
	return start ? (char *)start + used_bytes : NULL;
}

static void fill_buffer(const struct miniport *miniport,
			const struct miniport_paging_buffer *buffer,
			DXGKARG_BUILDPAGINGBUFFER *args)
{
	args->hSystemContext =
		buffer->driver_context
			? buffer->driver_context
			: context_handle(miniport, miniport->system_context.driver_context,
					 miniport->system_device);
	if (!buffer->memory)
		return;
	assert(buffer->size_bytes == miniport->info.paging_buffer_size_bytes);
	if (buffer->used_bytes == 0 && buffer->private_used_bytes == 0 && buffer->private_data)
		memset(buffer->private_data, 0, buffer->private_bytes);
	args->pDmaBuffer = at(buffer->memory, buffer->used_bytes);
	args->DmaSize = buffer->size_bytes - buffer->used_bytes;
	args->pDmaBufferPrivateData = at(buffer->private_data, buffer->private_used_bytes);
	args->DmaBufferPrivateDataSize = buffer->private_bytes - buffer->private_used_bytes;
	args->DmaBufferGpuVirtualAddress = buffer->gpu_address;
	args->DmaBufferWriteOffset = buffer->used_bytes;
}

bool pointer_moved(const void *start, const void *moved, uint64_t table_block_bytes,
		   uint32_t *bytes_out)
{
	uintptr_t distance = (uintptr_t)moved - (uintptr_t)start;

	if ((uintptr_t)moved < (uintptr_t)start || distance > table_block_bytes)
		return false;
	*bytes_out = (uint32_t)distance;
	return true;
}

NTSTATUS driver_mistake(enum rule rule, const char *entry, const char *what)
{
	nt_report(rule, "%s %s", entry, what);
	return refuse(STATUS_DRIVER_INTERNAL_ERROR, rule, entry, "%s", what);
}

static const char entry[] = "DxgkDdiBuildPagingBuffer";

static NTSTATUS mistake(const struct miniport_paging_op *op, enum rule rule, const char *what)
{
	nt_report(rule, "%s %s in %s", entry, what, miniport_paging_name(op));
	return refuse(STATUS_DRIVER_INTERNAL_ERROR, rule, entry, "%s in %s", what,
		      miniport_paging_name(op));
}

static bool may_be_busy(const struct miniport_paging_op *op)
{
	return !op->is_idle && (op->kind == MINIPORT_PAGING_TRANSFER ||
				op->kind == MINIPORT_PAGING_DISCARD_CONTENT);
}

/* `has_moved`: the driver wrote something, or counted up its passes. */
static NTSTATUS judge(const struct miniport_paging_op *op,
		      const struct miniport_paging_buffer *before, bool has_moved, NTSTATUS status)
{
	bool is_fresh = before->used_bytes == 0 && before->private_used_bytes == 0;

	switch (status) {
	case STATUS_SUCCESS:
		return STATUS_SUCCESS;
	case STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER:
		if (is_fresh && !has_moved)
			return mistake(op, RULE_DDI_DMA_BUFFER,
				       "would ask for another buffer for ever: it left a fresh one "
				       "as it was,");
		return status;
	case STATUS_GRAPHICS_ALLOCATION_BUSY:
		if (may_be_busy(op))
			return status;
		return mistake(op, RULE_DDI_STATUS_UNDOCUMENTED,
			       "returned STATUS_GRAPHICS_ALLOCATION_BUSY where nothing is in use,");
	default:
		nt_report(RULE_DDI_STATUS_UNDOCUMENTED, "%s returned %s for %s%s", entry,
			  status_name(status), miniport_paging_name(op), ddi_said().text);
		return refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_STATUS_UNDOCUMENTED, entry,
			      "returned %s for %s%s", status_name(status), miniport_paging_name(op),
			      ddi_said().text);
	}
}

static NTSTATUS accept(const struct miniport_paging_op *op, const DXGKARG_BUILDPAGINGBUFFER *args,
		       struct miniport_paging_buffer *buffer, uint32_t *multipass, NTSTATUS status)
{
	const struct miniport_paging_buffer before = *buffer;
	const void *memory = at(before.memory, before.used_bytes);
	const void *private_data =
		before.memory ? at(before.private_data, before.private_used_bytes) : NULL;
	uint32_t written = 0;
	uint32_t private_written = 0;

	if (!pointer_moved(memory, args->pDmaBuffer,
			   before.memory ? before.size_bytes - before.used_bytes : 0, &written))
		return mistake(op, RULE_DDI_DMA_BUFFER,
			       "moved pDmaBuffer out of the buffer or backwards");
	if (!pointer_moved(private_data, args->pDmaBufferPrivateData,
			   private_data ? before.private_bytes - before.private_used_bytes : 0,
			   &private_written))
		return mistake(op, RULE_DDI_DMA_BUFFER,
			       "moved pDmaBufferPrivateData out of its room or backwards");
	status = judge(op, &before, written != 0 || args->MultipassOffset != *multipass, status);
	if (status == STATUS_DRIVER_INTERNAL_ERROR)
		return status;
	buffer->used_bytes += written;
	buffer->private_used_bytes += private_written;
	*multipass = args->MultipassOffset;
	return status;
}

/* With the level taken: a reset, which is alone at its level, is over or cannot begin. */
static bool is_of_before(const struct miniport_paging_buffer *buffer)
{
	return buffer->generation.now &&
	       atomic_load(buffer->generation.now) != buffer->generation.mine;
}

/* False: there is nothing to say of it without a name. */
static bool is_said_without_name(DXGKARG_BUILDPAGINGBUFFER *args)
{
	switch ((int)args->Operation) {
	case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
		args->UnmapApertureSegment.hAllocation = NULL;
		return true;
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		args->UpdatePageTable.hAllocation = NULL;
		return true;
	default:
		break;
	}
	return false;
}

static NTSTATUS call(const struct miniport *miniport, struct miniport_kept_name *kept,
		     DXGKARG_BUILDPAGINGBUFFER *args)
{
	bool is_inside = kept && miniport_name_enter(kept);
	NTSTATUS status = STATUS_SUCCESS;

	if (!kept || is_inside || is_said_without_name(args))
		status = UNLIKELY(miniport->guards_answers)
				 ? guarded_build_paging_buffer(miniport, args)
				 : miniport->ddi.DxgkDdiBuildPagingBuffer(miniport->context, args);
	if (is_inside)
		miniport_name_leave(kept);
	return status;
}

NTSTATUS miniport_build_paging(struct miniport *miniport, const struct miniport_paging_op *op,
			       struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	DXGKARG_BUILDPAGINGBUFFER args;
	union arrays few;
	struct ddi_crossing crossing;

	memset(&args, 0, sizeof(args));
	fill_operation(miniport, op, buffer, &few, &args);
	fill_buffer(miniport, buffer, &args);
	args.MultipassOffset = *multipass;

	ddi_enter(&crossing, miniport, NULL, DDI_BUILD_PAGING_BUFFER);
	ddi_note(&crossing, miniport->context, &args);
	trace_paging_operation(miniport_paging_name(op), args.MultipassOffset);
	bool is_late = is_of_before(buffer);
	NTSTATUS status = is_late ? STATUS_DEVICE_REMOVED : call(miniport, op->subject.kept, &args);
	ddi_leave_as_it_is(&crossing, status);
	return is_late ? status : accept(op, &args, buffer, multipass, status);
}
