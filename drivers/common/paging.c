/* SPDX-License-Identifier: MIT */
/*
 * paging.c - paging operations -> commands for the paging engine.
 *
 *   in:   one operation, and room in a DMA buffer
 *   out:  commands of command.h; STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER when the room ran out,
 * with MultipassOffset saying how far it came
 *
 * Nothing moves here, with one exception: page tables that the CPU is told to write (no DMA buffer)
 * are written at once. Everything else happens in order on the paging engine, also the changes of
 * the aperture, so that work packed in front of them still finds what it was built for. Where the
 * hardware is told places (windows.c), the kernel's own addresses are gone after this.
 *
 * PASSIVE_LEVEL; the kernel calls this for one operation at a time.
 */
#include "gpu.h"

/* What is left of the DMA buffer. The kernel goes by how far pDmaBuffer was moved. */
static PVOID reserve(DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start, ULONG opcode,
		     ULONG size_bytes)
{
	ULONG used = (ULONG)((PUCHAR)args->pDmaBuffer - (const UCHAR *)start);
	struct softgpu_command *header = args->pDmaBuffer;

	if (!header || args->DmaSize - used < size_bytes)
		return NULL;
	RtlZeroMemory(header, size_bytes);
	header->magic = SOFTGPU_COMMAND_MAGIC;
	header->opcode = (uint16_t)opcode;
	header->size_bytes = size_bytes;
	args->pDmaBuffer = (PUCHAR)args->pDmaBuffer + size_bytes;
	return header;
}

static struct gpu_place place_virtual(D3DGPU_VIRTUAL_ADDRESS address)
{
	return (struct gpu_place){ .segment = GPU_PLACE_VIRTUAL, .offset = address };
}

/*
 * What the kernel's own address shows, and how far. Of what shows nothing the address is left, and
 * its use a page fault.
 */
static struct gpu_place place_shown(const struct gpu_adapter *adapter,
				    D3DGPU_VIRTUAL_ADDRESS address, ULONGLONG wanted,
				    BOOLEAN is_write, ULONGLONG *size_out)
{
	struct gpu_place place = place_virtual(address);

	*size_out = wanted;
	if (adapter->windows)
		(void)gpu_windows_find(adapter->windows, address, wanted, is_write, &place,
				       size_out);
	return place;
}

/* SegmentAddress counts from the segment's base address. */
static BOOLEAN place_segment(const struct gpu_adapter *adapter, ULONG segment,
			     LARGE_INTEGER address, ULONGLONG offset, struct gpu_place *place_out)
{
	return gpu_memory_decode(&adapter->memory, (ULONGLONG)address.QuadPart + offset,
				 place_out) &&
	       place_out->segment == segment;
}

static NTSTATUS emit_copy(DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start,
			  const struct gpu_place *destination, const struct gpu_place *source,
			  ULONGLONG size_bytes)
{
	struct gpu_paging_copy *command = reserve(args, start, GPU_PAGING_COPY, sizeof(*command));

	if (!command)
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	command->destination = *destination;
	command->source = *source;
	command->size_bytes = size_bytes;
	return STATUS_SUCCESS;
}

static NTSTATUS build_transfer(const struct gpu_adapter *adapter, DXGKARG_BUILDPAGINGBUFFER *args,
			       const VOID *start)
{
	ULONGLONG size_bytes = args->Transfer.TransferSize;
	ULONGLONG offset = args->Transfer.TransferOffset;
	BOOLEAN is_to_mdl = args->Transfer.Destination.SegmentId == 0;
	BOOLEAN is_from_mdl = args->Transfer.Source.SegmentId == 0;
	struct gpu_place source = { 0 };
	struct gpu_place destination = { 0 };

	if (size_bytes == 0) /* after a reset: the content is gone, and we keep no note of it */
		return STATUS_SUCCESS;
	if ((is_to_mdl && !args->Transfer.Destination.pMdl) ||
	    (is_from_mdl && !args->Transfer.Source.pMdl))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "DXGK_OPERATION_TRANSFER %s system memory without an MDL",
				  is_to_mdl ? "to" : "from");
	if ((is_to_mdl && is_from_mdl) || args->Transfer.Flags.Swizzle ||
	    args->Transfer.Flags.Unswizzle ||
	    (!is_from_mdl &&
	     !place_segment(adapter, args->Transfer.Source.SegmentId,
			    args->Transfer.Source.SegmentAddress, offset, &source)) ||
	    (!is_to_mdl &&
	     !place_segment(adapter, args->Transfer.Destination.SegmentId,
			    args->Transfer.Destination.SegmentAddress, offset, &destination)))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "DXGK_OPERATION_TRANSFER from segment %u to segment %u with "
				  "flags 0x%x: not between "
				  "these places, or swizzled",
				  args->Transfer.Source.SegmentId,
				  args->Transfer.Destination.SegmentId, args->Transfer.Flags.Value);

	if (!is_to_mdl && !is_from_mdl)
		return emit_copy(args, start, &destination, &source, size_bytes);

	struct gpu_paging_mdl_copy *command =
		reserve(args, start, GPU_PAGING_MDL_COPY, sizeof(*command));
	if (!command)
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	command->segment_side = is_to_mdl ? source : destination;
	command->mdl = (uint64_t)(ULONG_PTR)(is_to_mdl ? args->Transfer.Destination.pMdl
						       : args->Transfer.Source.pMdl);
	command->mdl_offset_bytes = (uint64_t)args->Transfer.MdlOffset << PAGE_SHIFT;
	command->size_bytes = size_bytes;
	command->is_to_mdl = is_to_mdl;
	return STATUS_SUCCESS;
}

static NTSTATUS emit_fill(DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start,
			  const struct gpu_place *destination, ULONGLONG size_bytes, ULONG pattern)
{
	struct gpu_paging_fill *command = reserve(args, start, GPU_PAGING_FILL, sizeof(*command));

	if (!command)
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	command->destination = *destination;
	command->size_bytes = size_bytes;
	command->pattern = pattern;
	return STATUS_SUCCESS;
}

static NTSTATUS build_fill(const struct gpu_adapter *adapter, DXGKARG_BUILDPAGINGBUFFER *args,
			   const VOID *start)
{
	struct gpu_place destination;

	if (!place_segment(adapter, args->Fill.Destination.SegmentId,
			   args->Fill.Destination.SegmentAddress, 0, &destination) ||
	    args->Fill.FillSize % sizeof(uint32_t) != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "DXGK_OPERATION_FILL of 0x%I64x bytes in segment %u: not a "
				  "number of four bytes, "
				  "or not there",
				  (ULONGLONG)args->Fill.FillSize, args->Fill.Destination.SegmentId);
	return emit_fill(args, start, &destination, args->Fill.FillSize, args->Fill.FillPattern);
}

/* Passes count steps of four bytes. */
enum { STEP_BYTES = sizeof(uint32_t) };

static NTSTATUS build_virtual_fill(const struct gpu_adapter *adapter,
				   DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start)
{
	D3DGPU_VIRTUAL_ADDRESS address = args->FillVirtual.DestinationVirtualAddress;
	ULONGLONG total = args->FillVirtual.FillSizeInBytes;

	if ((total | address) % STEP_BYTES != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "DXGK_OPERATION_VIRTUAL_FILL of 0x%I64x bytes at 0x%I64x: not "
				  "in steps of four",
				  total, address);
	NTSTATUS status = STATUS_SUCCESS;
	ULONGLONG done = (ULONGLONG)args->MultipassOffset * STEP_BYTES;
	while (done < total) {
		ULONGLONG size_bytes;
		struct gpu_place destination =
			place_shown(adapter, address + done, total - done, TRUE, &size_bytes);

		status = emit_fill(args, start, &destination, size_bytes,
				   args->FillVirtual.FillPattern);
		if (!NT_SUCCESS(status))
			break;
		done += size_bytes;
	}
	args->MultipassOffset = (UINT)(done / STEP_BYTES);
	return status;
}

/* From *done on, which is how far it came. */
static NTSTATUS emit_virtual_copy(const struct gpu_adapter *adapter,
				  DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start,
				  D3DGPU_VIRTUAL_ADDRESS destination, D3DGPU_VIRTUAL_ADDRESS source,
				  ULONGLONG total, ULONGLONG *done)
{
	while (*done < total) {
		ULONGLONG size_bytes = total - *done;
		struct gpu_place from =
			place_shown(adapter, source + *done, size_bytes, FALSE, &size_bytes);
		struct gpu_place to =
			place_shown(adapter, destination + *done, size_bytes, TRUE, &size_bytes);
		NTSTATUS status = emit_copy(args, start, &to, &from, size_bytes);

		if (!NT_SUCCESS(status))
			return status;
		*done += size_bytes;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS build_virtual_transfer(const struct gpu_adapter *adapter,
				       DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start)
{
	const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *transfer = &args->TransferVirtual;
	ULONGLONG done = (ULONGLONG)args->MultipassOffset * STEP_BYTES;

	if (adapter->windows &&
	    (transfer->SourceVirtualAddress | transfer->DestinationVirtualAddress) % STEP_BYTES)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "DXGK_OPERATION_VIRTUAL_TRANSFER from 0x%I64x to 0x%I64x: not "
				  "in steps of four",
				  transfer->SourceVirtualAddress,
				  transfer->DestinationVirtualAddress);
	NTSTATUS status = emit_virtual_copy(
		adapter, args, start, transfer->DestinationVirtualAddress,
		transfer->SourceVirtualAddress, transfer->TransferSizeInBytes, &done);
	args->MultipassOffset = (UINT)(done / STEP_BYTES);
	return status;
}

static NTSTATUS emit_entries(DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start,
			     const struct gpu_place *table, ULONGLONG count, ULONGLONG value,
			     ULONGLONG stride)
{
	struct gpu_paging_entries *command =
		reserve(args, start, GPU_PAGING_ENTRIES, sizeof(*command));

	if (!command)
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	command->table = *table;
	command->count = count;
	command->value = value;
	command->stride = stride;
	return STATUS_SUCCESS;
}

/* ---- aperture ---- */

static NTSTATUS check_aperture(const struct gpu_adapter *adapter, ULONG segment, ULONGLONG first,
			       ULONGLONG count)
{
	ULONGLONG pages = adapter->memory.aperture_pages;

	if (segment != SOFTGPU_SEGMENT_APERTURE || first > pages || count > pages - first)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "pages 0x%I64x and 0x%I64x more of segment %u: the aperture is "
				  "segment %u, with "
				  "0x%I64x pages",
				  first, count, segment, SOFTGPU_SEGMENT_APERTURE, pages);
	return STATUS_SUCCESS;
}

/* An entry is the physical address with the lowest bit set. */
static ULONGLONG aperture_entry(PFN_NUMBER pfn)
{
	return (ULONGLONG)pfn << PAGE_SHIFT | 1;
}

static NTSTATUS build_map_aperture(const struct gpu_adapter *adapter,
				   DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start)
{
	ULONGLONG first = args->MapApertureSegment.OffsetInPages;
	ULONGLONG count = args->MapApertureSegment.NumberOfPages;

	NTSTATUS status = check_aperture(adapter, args->MapApertureSegment.SegmentId, first, count);
	if (!NT_SUCCESS(status))
		return status;
	if (!args->MapApertureSegment.pMdl)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "DXGK_OPERATION_MAP_APERTURE_SEGMENT without an MDL");
	const PFN_NUMBER *pfns = MmGetMdlPfnArray(args->MapApertureSegment.pMdl) +
				 args->MapApertureSegment.MdlOffset;

	/* Pages that lie next to each other go into one command. */
	while (args->MultipassOffset < count) {
		ULONGLONG done = args->MultipassOffset;
		ULONGLONG length = 1;
		struct gpu_place table = { .segment = GPU_PLACE_APERTURE_TABLE,
					   .offset = first + done };

		while (done + length < count && pfns[done + length] == pfns[done] + length)
			length++;
		status = emit_entries(args, start, &table, length, aperture_entry(pfns[done]),
				      PAGE_SIZE);
		if (!NT_SUCCESS(status))
			return status;
		args->MultipassOffset += (UINT)length;
	}
	return STATUS_SUCCESS;
}

/* Stray accesses land in the kernel's dummy page, which it looks at later. */
static NTSTATUS build_unmap_aperture(const struct gpu_adapter *adapter,
				     DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start)
{
	struct gpu_place table = { .segment = GPU_PLACE_APERTURE_TABLE,
				   .offset = args->UnmapApertureSegment.OffsetInPages };
	PHYSICAL_ADDRESS dummy = args->UnmapApertureSegment.DummyPage;

	NTSTATUS status = check_aperture(adapter, args->UnmapApertureSegment.SegmentId,
					 table.offset, args->UnmapApertureSegment.NumberOfPages);
	if (!NT_SUCCESS(status))
		return status;
	return emit_entries(args, start, &table, args->UnmapApertureSegment.NumberOfPages,
			    aperture_entry((PFN_NUMBER)dummy.QuadPart >> PAGE_SHIFT), 0);
}

/* ---- page tables ---- */

/* Those to tables of 64 KiB pages, behind all others: NULL where an entry has one pointer. */
static const DXGK_PTE *second_pointers(const struct gpu_adapter *adapter,
				       const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
	BOOLEAN has_two =
		adapter->settings.pages_64k == GPU_64K_DUAL && update->PageTableLevel == 1;

	return has_two ? update->pPageTableEntries64KB : NULL;
}

static void update_now(const struct gpu_adapter *adapter,
		       const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
	ULONGLONG *table = (ULONGLONG *)update->PageTableAddress.CpuVirtual + update->StartIndex;
	const DXGK_PTE *second = second_pointers(adapter, update);

	if (second)
		gpu_pte_store(table + (1u << GPU_TABLE_BITS), second, update->NumPageTableEntries,
			      update->Flags.Repeat != 0);
	gpu_pte_store(table, update->pPageTableEntries, update->NumPageTableEntries,
		      update->Flags.Repeat != 0);
}

/* As many entries as are left from `done` on, of those that are at `table`. */
static NTSTATUS emit_run(DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start,
			 const struct gpu_place *table, const DXGK_PTE *ptes, ULONGLONG done,
			 ULONGLONG *length_out)
{
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;
	struct gpu_place first = *table;
	ULONGLONG stride = 0;
	ULONGLONG value;

	*length_out = update->NumPageTableEntries;
	if (update->Flags.Repeat)
		value = gpu_pte_encode(ptes);
	else
		*length_out = gpu_pte_run(&ptes[done], update->NumPageTableEntries - done, &value,
					  &stride);
	first.offset += done * sizeof(ULONGLONG);
	return emit_entries(args, start, &first, *length_out, value, stride);
}

/* Passes count the entries of both kinds, one after the other. */
static NTSTATUS emit_update(DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start,
			    const struct gpu_place *table, const DXGK_PTE *second)
{
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;
	ULONGLONG count = update->NumPageTableEntries;
	ULONGLONG total = second ? 2 * count : count;
	struct gpu_place behind = *table;

	behind.offset += sizeof(ULONGLONG) << GPU_TABLE_BITS;
	while (args->MultipassOffset < total) {
		BOOLEAN is_second = args->MultipassOffset >= count;
		ULONGLONG length;
		NTSTATUS status =
			emit_run(args, start, is_second ? &behind : table,
				 is_second ? second : update->pPageTableEntries,
				 args->MultipassOffset - (is_second ? count : 0), &length);

		if (!NT_SUCCESS(status))
			return status;
		args->MultipassOffset += (UINT)length;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS build_update_page_table(const struct gpu_adapter *adapter,
					DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start)
{
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;
	struct gpu_place table = { 0 };

	if (!update->pPageTableEntries)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "DXGK_OPERATION_UPDATE_PAGE_TABLE of %u entries without entries",
				  update->NumPageTableEntries);
	if (update->Flags.Use64KBPages && adapter->settings.pages_64k == GPU_64K_NONE)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "DXGK_OPERATION_UPDATE_PAGE_TABLE for pages of 64 KiB, which "
				  "this adapter does not have");
	if (adapter->windows && update->PageTableLevel == 0) {
		const struct gpu_process *process = gpu_process_from(update->hProcess);

		if (process && process->is_system)
			return gpu_windows_note(adapter->windows, update);
	}
	switch ((ULONG)update->UpdateMode) {
	case DXGK_PAGETABLEUPDATE_CPU_VIRTUAL:
		update_now(adapter, update);
		return STATUS_SUCCESS;
	case DXGK_PAGETABLEUPDATE_GPU_VIRTUAL:
		table = place_virtual(update->PageTableAddress.GpuVirtual);
		break;
	case DXGK_PAGETABLEUPDATE_GPU_PHYSICAL:
		table.segment = update->PageTableAddress.GpuPhysical.SegmentId;
		table.offset = update->PageTableAddress.GpuPhysical.SegmentOffset;
		break;
	default:
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"DXGK_OPERATION_UPDATE_PAGE_TABLE with update mode %u, which is unknown",
			(ULONG)update->UpdateMode);
	}
	table.offset += update->StartIndex * sizeof(ULONGLONG);
	return emit_update(args, start, &table, second_pointers(adapter, update));
}

/* A range that does not fit in the buffer as a whole is for the next one. */
static NTSTATUS build_copy_entries(const struct gpu_adapter *adapter,
				   DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start)
{
	const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copies = &args->CopyPageTableEntries;
	const ULONGLONG entry_bytes = sizeof(ULONGLONG);

	for (; args->MultipassOffset < copies->NumRanges; args->MultipassOffset++) {
		const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range =
			&copies->pRanges[args->MultipassOffset];
		PVOID before = args->pDmaBuffer;
		ULONGLONG done = 0;
		NTSTATUS status = emit_virtual_copy(
			adapter, args, start,
			range->DstPageTableAddress + range->DstStartPteIndex * entry_bytes,
			range->SrcPageTableAddress + range->SrcStartPteIndex * entry_bytes,
			range->NumPageTableEntries * entry_bytes, &done);

		if (!NT_SUCCESS(status)) {
			args->pDmaBuffer = before;
			return status;
		}
	}
	return STATUS_SUCCESS;
}

static NTSTATUS build_signal_fence(const struct gpu_adapter *adapter,
				   DXGKARG_BUILDPAGINGBUFFER *args, const VOID *start)
{
	D3DGPU_VIRTUAL_ADDRESS address = args->SignalMonitoredFence.MonitoredFenceGpuVa;
	ULONGLONG size_bytes;

	if (address % sizeof(ULONGLONG) != 0)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"DXGK_OPERATION_SIGNAL_MONITORED_FENCE at 0x%I64x, which is not aligned",
			address);
	struct gpu_place fence =
		place_shown(adapter, address, sizeof(ULONGLONG), TRUE, &size_bytes);
	/* One entry is one store of eight bytes, after everything in front of it. */
	return emit_entries(args, start, &fence, 1, args->SignalMonitoredFence.MonitoredFenceValue,
			    0);
}

NTSTATUS APIENTRY gpu_build_paging_buffer(IN_CONST_HANDLE hAdapter,
					  IN_PDXGKARG_BUILDPAGINGBUFFER pBuildPagingBuffer)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);
	DXGKARG_BUILDPAGINGBUFFER *args = pBuildPagingBuffer;

	PAGED_CODE();

	if (!adapter || !args)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"BuildPagingBuffer for adapter %p with arguments %p: one is missing",
			hAdapter, args);
	const VOID *start = args->pDmaBuffer;

	switch ((ULONG)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
		return build_transfer(adapter, args, start);
	case DXGK_OPERATION_FILL:
		return build_fill(adapter, args, start);
	case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
		return build_map_aperture(adapter, args, start);
	case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
		return build_unmap_aperture(adapter, args, start);
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		return build_virtual_transfer(adapter, args, start);
	case DXGK_OPERATION_VIRTUAL_FILL:
		return build_virtual_fill(adapter, args, start);
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		return build_update_page_table(adapter, args, start);
	case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
		return build_copy_entries(adapter, args, start);
	case DXGK_OPERATION_SIGNAL_MONITORED_FENCE:
		return build_signal_fence(adapter, args, start);
	case DXGK_OPERATION_DISCARD_CONTENT: /* we keep no note of contents */
	case DXGK_OPERATION_FLUSH_TLB:       /* we keep no translations */
		return STATUS_SUCCESS;
	default:
		/* What we never asked for: no context allocations, no residency notices, no
		 * swizzling, no AGP. */
		return gpu_refuse(STATUS_NOT_SUPPORTED, "paging operation %u was not asked for",
				  (ULONG)args->Operation);
	}
}
