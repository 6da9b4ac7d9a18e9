/* SPDX-License-Identifier: MIT */
/*
 * crooked_driver.c - the entry points of crooked.h, and the hardware behind them.
 *
 * A command is what BuildPagingBuffer was given, with a copy of the entries behind it.
 */
#include "crooked_driver.h"

#include "base/machine.h"

struct command {
	uint32_t size_bytes;
	uint32_t is_lost;
	DXGKARG_BUILDPAGINGBUFFER args;
	DXGK_PTE entries[]; /* or copy ranges: as many bytes */
};

enum { PAGE = 4096, ENTRY = 8, VALID = 1 };

/* ---- where memory is ---- */

static char *at_physical(uint64_t address)
{
	return machine_to_pointer(address);
}

static char *at_segment(struct crooked *gpu, uint32_t segment, uint64_t address)
{
	switch (segment) {
	case 1:
		return at_physical(gpu->local + address - CROOKED_LOCAL_BASE);
	case 2:
		address -= CROOKED_APERTURE_BASE;
		return at_physical(gpu->aperture[address / PAGE] * PAGE) + address % PAGE;
	case 3:
		return at_physical(gpu->hidden + address - CROOKED_HIDDEN_BASE);
	default:
		return at_physical(address);
	}
}

static char *at_page(struct crooked *gpu, uint32_t segment, uint64_t page)
{
	uint64_t base = segment == 1   ? CROOKED_LOCAL_BASE
			: segment == 2 ? CROOKED_APERTURE_BASE
			: segment == 3 ? CROOKED_HIDDEN_BASE
				       : 0;

	return at_segment(gpu, segment, base + page * PAGE);
}

static uint64_t encode(const DXGK_PTE *pte)
{
	return pte->Valid ? VALID | (uint64_t)pte->Segment << 56 | pte->PageAddress << 12 : 0;
}

/* An address of the paging process: its leaf, and a memory of it that is asked first. */
static char *at_address(struct crooked *gpu, uint64_t address)
{
	uint64_t page = address / PAGE;
	uint64_t *remembered = &gpu->tlb[page];

	if (*remembered == 0)
		memcpy(remembered, at_physical(gpu->leaves[page / 512]) + page % 512 * ENTRY,
		       ENTRY);
	return at_page(gpu, (uint32_t)(*remembered >> 56), (*remembered >> 12) & 0xfffffffffff) +
	       address % PAGE;
}

/* ---- what commands do ---- */

struct side {
	struct crooked *gpu;
	uint32_t segment;
	uint64_t address; /* of the segment, or virtual */
	const PFN_NUMBER *pfns;
	bool is_virtual;
};

static char *side_at(const struct side *side, uint64_t offset)
{
	if (side->pfns)
		return at_physical(side->pfns[offset / PAGE] * PAGE) + offset % PAGE;
	return side->is_virtual ? at_address(side->gpu, side->address + offset)
				: at_segment(side->gpu, side->segment, side->address + offset);
}

static void copy_bytes(struct crooked *gpu, const struct side *to, const struct side *from,
		       uint64_t size_bytes)
{
	uint64_t last = size_bytes - (gpu->bend == BEND_COPY_SHORT);

	for (uint64_t i = 0; i < last; i++)
		*side_at(to, i) = *side_at(from, gpu->bend == BEND_COPY_SWIZZLED ? i ^ 1 : i);
	for (uint64_t i = 0; gpu->bend == BEND_COPY_TOO_LONG && i < 8; i++)
		*side_at(to, size_bytes + i) = 0x77;
	if (gpu->bend == BEND_COPY_LOSSY && (to->segment == 3 || from->segment == 3))
		*side_at(to, 5) ^= 1;
}

static void transfer(struct crooked *gpu, const struct command *command)
{
	const DXGKARG_BUILDPAGINGBUFFER *args = &command->args;
	uint64_t offset = gpu->bend == BEND_COPY_SHIFTED ? 0 : args->Transfer.TransferOffset;
	struct side to = { gpu, args->Transfer.Destination.SegmentId,
			   (uint64_t)args->Transfer.Destination.SegmentAddress.QuadPart + offset,
			   NULL, false };
	struct side from = { gpu, args->Transfer.Source.SegmentId,
			     (uint64_t)args->Transfer.Source.SegmentAddress.QuadPart + offset, NULL,
			     false };

	if (to.segment == 0)
		to.pfns = MmGetMdlPfnArray(args->Transfer.Destination.pMdl) +
			  args->Transfer.MdlOffset;
	if (from.segment == 0)
		from.pfns = MmGetMdlPfnArray(args->Transfer.Source.pMdl) + args->Transfer.MdlOffset;
	copy_bytes(gpu, &to, &from, args->Transfer.TransferSize);
}

static void virtual_transfer(struct crooked *gpu,
			     const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *args)
{
	copy_bytes(gpu, &(struct side){ gpu, 0, args->DestinationVirtualAddress, NULL, true },
		   &(struct side){ gpu, 0, args->SourceVirtualAddress, NULL, true },
		   args->TransferSizeInBytes);
}

static void fill(struct crooked *gpu, const struct side *to, uint64_t size_bytes, uint32_t pattern)
{
	uint64_t end = size_bytes;

	end -= gpu->bend == BEND_FILL_SHORT ? 4 : 0;
	end += gpu->bend == BEND_FILL_TOO_LONG ? 4 : 0;
	for (uint64_t i = 0; i < end; i += sizeof(pattern)) {
		uint32_t word = pattern + (gpu->bend == BEND_FILL_OTHER && i == 512);

		memcpy(side_at(to, i), &word, sizeof(word));
	}
}

static void aperture(struct crooked *gpu, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	bool is_map = args->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT;

	for (uint64_t i = 0; i < args->MapApertureSegment.NumberOfPages; i++) {
		uint64_t page = args->MapApertureSegment.OffsetInPages + i;
		uint64_t from = i + (is_map && gpu->bend == BEND_APERTURE_SHIFTED);

		gpu->aperture[page] =
			is_map ? MmGetMdlPfnArray(args->MapApertureSegment.pMdl)
					 [from % args->MapApertureSegment.NumberOfPages]
			       : (uint64_t)args->UnmapApertureSegment.DummyPage.QuadPart / PAGE;
	}
}

static void write_entries(struct crooked *gpu, char *table,
			  const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
			  const DXGK_PTE *entries)
{
	uint32_t count = update->NumPageTableEntries + (gpu->bend == BEND_ENTRY_BEHIND);

	for (uint32_t i = 0; gpu->bend != BEND_ENTRY_NONE && i < count; i++) {
		uint64_t entry = encode(
			&entries[update->Flags.Repeat || i >= update->NumPageTableEntries ? 0 : i]);
		uint32_t index = update->StartIndex + i + (gpu->bend == BEND_ENTRY_SHIFTED);

		if (i >= update->NumPageTableEntries)
			entry = ~entry;
		if (gpu->bend == BEND_REPEAT_ONCE && i == 1 && update->Flags.Repeat)
			entry ^= UINT64_C(1) << 20;
		if (index < 512)
			memcpy(table + index * ENTRY, &entry, ENTRY);
	}
}

static void update_table(struct crooked *gpu, const struct command *command)
{
	const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &command->args.UpdatePageTable;
	char *table = update->UpdateMode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL
			      ? at_address(gpu, update->PageTableAddress.GpuVirtual)
			      : at_page(gpu, update->PageTableAddress.GpuPhysical.SegmentId,
					update->PageTableAddress.GpuPhysical.SegmentOffset / PAGE);

	write_entries(gpu, table, update, command->entries);
}

static void copy_entries(struct crooked *gpu, const struct command *command)
{
	const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *ranges = (const void *)command->entries;

	for (uint32_t i = 0; i < command->args.CopyPageTableEntries.NumRanges; i++) {
		uint32_t count =
			ranges[i].NumPageTableEntries - (gpu->bend == BEND_COPY_OF_ENTRIES_SHORT);

		memcpy(at_address(gpu, ranges[i].DstPageTableAddress) +
			       ranges[i].DstStartPteIndex * ENTRY,
		       at_address(gpu, ranges[i].SrcPageTableAddress) +
			       ranges[i].SrcStartPteIndex * ENTRY,
		       (size_t)count * ENTRY);
	}
}

static void update_context(struct crooked *gpu,
			   const DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION *args)
{
	uint64_t end = args->ContextAllocationSize + (gpu->bend == BEND_CONTEXT_TOO_LONG ? 8 : 0);

	for (uint64_t i = 0; i < end; i++)
		*at_address(gpu, args->ContextAllocation + i) = 0x5c;
}

static void execute(struct crooked *gpu, const struct command *command)
{
	const DXGKARG_BUILDPAGINGBUFFER *args = &command->args;

	if (command->is_lost)
		return;
	switch ((int)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
		transfer(gpu, command);
		break;
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		virtual_transfer(gpu, &args->TransferVirtual);
		break;
	case DXGK_OPERATION_FILL:
		fill(gpu,
		     &(struct side){ gpu, args->Fill.Destination.SegmentId,
				     (uint64_t)args->Fill.Destination.SegmentAddress.QuadPart, NULL,
				     false },
		     args->Fill.FillSize, args->Fill.FillPattern);
		break;
	case DXGK_OPERATION_VIRTUAL_FILL:
		fill(gpu,
		     &(struct side){ gpu, 0, args->FillVirtual.DestinationVirtualAddress, NULL,
				     true },
		     args->FillVirtual.FillSizeInBytes, args->FillVirtual.FillPattern);
		break;
	case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
	case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
		aperture(gpu, args);
		break;
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		update_table(gpu, command);
		break;
	case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
		copy_entries(gpu, command);
		break;
	case DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION:
		update_context(gpu, &args->UpdateContextAllocation);
		break;
	case DXGK_OPERATION_FLUSH_TLB:
		if (gpu->bend != BEND_NO_FLUSH)
			memset(gpu->tlb, 0, sizeof(gpu->tlb));
		break;
	default:
		break;
	}
}

void crooked_execute(struct crooked *gpu)
{
	const char *at = gpu->buffer.memory;
	const char *end = at + gpu->buffer.used_bytes;

	while (at < end) {
		const struct command *command = (const void *)at;

		execute(gpu, command);
		at += command->size_bytes;
	}
}

/* ---- entry points ---- */

static uint32_t behind_bytes(const DXGKARG_BUILDPAGINGBUFFER *args, const void **behind_out)
{
	*behind_out = NULL;
	if (args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE) {
		*behind_out = args->UpdatePageTable.pPageTableEntries;
		return (args->UpdatePageTable.Flags.Repeat
				? 1
				: args->UpdatePageTable.NumPageTableEntries) *
		       (uint32_t)sizeof(DXGK_PTE);
	}
	if (args->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES) {
		*behind_out = args->CopyPageTableEntries.pRanges;
		return args->CopyPageTableEntries.NumRanges *
		       (uint32_t)sizeof(DXGK_BUILDPAGINGBUFFER_COPY_RANGE);
	}
	return 0;
}

static bool is_idle(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	return args->Operation == DXGK_OPERATION_TRANSFER && args->Transfer.Flags.AllocationIsIdle;
}

static NTSTATUS ask_for_room(struct crooked *gpu, DXGKARG_BUILDPAGINGBUFFER *args,
			     struct command *command)
{
	/* Something is in the buffer for each pass. */
	command->is_lost = !gpu->passes_work;
	if (gpu->bend == BEND_GOES_BACK && args->MultipassOffset > 0)
		args->MultipassOffset--;
	else
		args->MultipassOffset += 2;
	if (gpu->bend != BEND_ASKS_FOR_EVER)
		args->pDmaBuffer = (char *)args->pDmaBuffer + command->size_bytes;
	gpu->passes_left--;
	return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static void do_at_once(struct crooked *gpu, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	struct command command = { .args = *args };
	bool is_fill = args->Operation == DXGK_OPERATION_FILL ||
		       args->Operation == DXGK_OPERATION_VIRTUAL_FILL;

	if (gpu->bend == (is_fill ? BEND_FILLS_AT_ONCE : BEND_COPIES_AT_ONCE))
		execute(gpu, &command);
}

static NTSTATUS APIENTRY build_paging_buffer(IN_CONST_HANDLE adapter,
					     IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
	struct crooked *gpu = crooked_current;
	const void *behind;
	uint32_t bytes = behind_bytes(args, &behind);
	uint32_t size_bytes = ((uint32_t)sizeof(struct command) + bytes + 15) & ~15u;

	(void)adapter;
	if (!args->pDmaBuffer) {
		write_entries(gpu, args->UpdatePageTable.PageTableAddress.CpuVirtual,
			      &args->UpdatePageTable, args->UpdatePageTable.pPageTableEntries);
		if (gpu->meanwhile)
			crooked_interrupt(gpu, gpu->meanwhile);
		return STATUS_SUCCESS;
	}
	if (gpu->bend == BEND_BUSY_FOR_EVER && args->Operation == DXGK_OPERATION_TRANSFER &&
	    (is_idle(args) || args->MultipassOffset == 0))
		return STATUS_GRAPHICS_ALLOCATION_BUSY;
	if (args->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT &&
	    gpu->bend == BEND_APERTURE_KEPT)
		return STATUS_SUCCESS;
	if (args->DmaSize < size_bytes)
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	struct command *command = args->pDmaBuffer;
	*command = (struct command){ .size_bytes = size_bytes, .args = *args };
	if (bytes > 0)
		memcpy(command->entries, behind, bytes);
	if (gpu->passes_left > 0)
		return ask_for_room(gpu, args, command);
	command->is_lost = gpu->bend == BEND_SECOND_PASS_LOST && args->MultipassOffset > 0;
	do_at_once(gpu, args);
	if (gpu->bend == BEND_NOTICE_TOUCHES && args->Transfer.TransferSize == 0)
		((volatile char *)crooked_local(gpu, 8))[0] = 1;
	if (gpu->bend == BEND_BUILD_BEHIND)
		((volatile char *)args->pDmaBuffer)[args->DmaSize] = 1;
	args->pDmaBuffer = (char *)args->pDmaBuffer + size_bytes;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY create_allocation(IN_CONST_HANDLE adapter,
					   INOUT_PDXGKARG_CREATEALLOCATION args)
{
	static uintptr_t next = 0x1000;

	(void)adapter;
	for (UINT i = 0; i < args->NumAllocations; i++)
		args->pAllocationInfo[i].hAllocation = (HANDLE)(next += 0x100);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY create_process(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_CREATEPROCESS args)
{
	(void)adapter;
	args->hKmdProcess = args->hDxgkProcess;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY create_device(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
	static uintptr_t next = 0x200000;

	(void)adapter;
	args->hDevice = (HANDLE)(next += 0x100);
	return crooked_current->bend == BEND_NO_DEVICE_AFTER && crooked_current->resets > 0
		       ? STATUS_UNSUCCESSFUL
		       : STATUS_SUCCESS;
}

static NTSTATUS APIENTRY create_context(IN_CONST_HANDLE device, INOUT_PDXGKARG_CREATECONTEXT args)
{
	static uintptr_t next = 0x300000;

	(void)device;
	args->hContext = (HANDLE)(next += 0x100);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY submit_command(IN_CONST_HANDLE adapter,
					IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
	(void)adapter;
	(void)args;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY submit_command_virtual(IN_CONST_HANDLE adapter,
						IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL args)
{
	(void)adapter;
	(void)args;
	return STATUS_SUCCESS;
}

static VOID APIENTRY set_root_page_table(IN_CONST_HANDLE adapter,
					 IN_CONST_PDXGKARG_SETROOTPAGETABLE args)
{
	(void)adapter;
	(void)args;
}

static SIZE_T APIENTRY get_root_page_table_size(IN_CONST_HANDLE adapter,
						INOUT_PDXGKARG_GETROOTPAGETABLESIZE args)
{
	SIZE_T bytes = (args->NumberOfPte * ENTRY + PAGE - 1) / PAGE * PAGE;

	(void)adapter;
	if (crooked_current->bend == BEND_ROOT_SMALLER && args->NumberOfPte > 1024)
		bytes = PAGE;
	if (crooked_current->bend == BEND_ROOT_ODD)
		bytes = args->NumberOfPte * ENTRY;
	return bytes;
}

static NTSTATUS APIENTRY map_cpu_host_aperture(IN_CONST_HANDLE adapter,
					       IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE args)
{
	struct crooked *gpu = crooked_current;

	(void)adapter;
	for (UINT64 i = 0; i < args->NumberOfPages; i++) {
		uint64_t page = args->pMemorySegmentPages[i] + (gpu->bend == BEND_WINDOW_SHIFTED);

		EXPECT(machine_alias(gpu->windows + args->pCpuHostAperturePages[i] * PAGE,
				     gpu->hidden + page * PAGE));
	}
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY unmap_cpu_host_aperture(IN_CONST_HANDLE adapter,
						 IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE args)
{
	const struct crooked *gpu = crooked_current;

	(void)adapter;
	for (UINT64 i = 0; i < args->NumberOfPages && gpu->bend != BEND_WINDOW_STAYS; i++)
		EXPECT(machine_alias(gpu->windows + args->pCpuHostAperturePages[i] * PAGE,
				     MACHINE_NOWHERE));
	return STATUS_SUCCESS;
}

VOID APIENTRY crooked_kernel_hears(IN_CONST_HANDLE handle,
				   IN_CONST_PDXGKARGCB_NOTIFY_INTERRUPT_DATA data)
{
	(void)handle;
	(void)data;
}

void crooked_fill_in(DRIVER_INITIALIZATION_DATA *ddi)
{
	*ddi = (DRIVER_INITIALIZATION_DATA){
		.DxgkDdiBuildPagingBuffer = build_paging_buffer,
		.DxgkDdiCreateAllocation = create_allocation,
		.DxgkDdiCreateProcess = create_process,
		.DxgkDdiCreateDevice = create_device,
		.DxgkDdiCreateContext = create_context,
		.DxgkDdiSubmitCommand = submit_command,
		.DxgkDdiSubmitCommandVirtual = submit_command_virtual,
		.DxgkDdiSetRootPageTable = set_root_page_table,
		.DxgkDdiGetRootPageTableSize = get_root_page_table_size,
		.DxgkDdiMapCpuHostAperture = map_cpu_host_aperture,
		.DxgkDdiUnmapCpuHostAperture = unmap_cpu_host_aperture,
	};
	crooked_fill_in_rendering(ddi);
	crooked_fill_in_recovery(ddi);
}
