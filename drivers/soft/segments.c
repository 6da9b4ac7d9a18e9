/* SPDX-License-Identifier: MIT */
/*
 * segments.c - the memory of the GPU.
 *
 *	segment 1, local      one piece of contiguous memory, visible to the CPU, or through a
 *	                      window only (host_aperture.c)
 *	segment 2, aperture   a window of page entries onto system memory; no bytes of its own
 *	segment 0             system memory by physical address (page-table entries, DMA buffers)
 *
 *	GPU address   0x10_0000_0000          0x20_0000_0000
 *	              |local ...              |aperture ...
 *	                                       └ entry per page ─▶ system memory
 *
 * Locks: none. The pieces are made and freed while nothing runs; aperture entries change with one
 * store each, and the kernel keeps engines away from a range that is being changed.
 */
#include "soft.h"

enum { APERTURE_VALID = 1 };

NTSTATUS soft_memory_start(struct soft_memory *memory, const struct soft_settings *settings)
{
	static const PHYSICAL_ADDRESS lowest = { .QuadPart = 0 };
	static const PHYSICAL_ADDRESS highest = { .QuadPart = -1 };
	static const PHYSICAL_ADDRESS no_boundary = { .QuadPart = 0 };

	PAGED_CODE();

	*memory = (struct soft_memory){
		.local_bytes = (ULONGLONG)settings->local_mib << 20,
		.aperture_pages = ((ULONGLONG)settings->aperture_mib << 20) >> PAGE_SHIFT,
		.has_64k_pages = settings->pages_64k != SOFT_64K_NONE,
	};
	/* The system hands this out untouched; pages come into being when somebody writes. */
	memory->local = MmAllocateContiguousMemorySpecifyCache(memory->local_bytes, lowest, highest,
							       no_boundary, MmWriteCombined);
	if (!memory->local)
		return soft_refuse(STATUS_NO_MEMORY, "no %u MiB of contiguous memory",
				   settings->local_mib);
	memory->local_physical = MmGetPhysicalAddress(memory->local);

	memory->aperture = soft_pool_allocate(NonPagedPoolNx,
					      memory->aperture_pages * sizeof(*memory->aperture));
	NTSTATUS status = memory->aperture
				  ? soft_host_aperture_start(memory, settings)
				  : soft_refuse(STATUS_NO_MEMORY,
						"there is no pool for the aperture's table");
	if (!NT_SUCCESS(status))
		soft_memory_stop(memory);
	return status;
}

void soft_memory_stop(struct soft_memory *memory)
{
	PAGED_CODE();

	soft_host_aperture_stop(memory);
	soft_pool_free(memory->aperture);
	if (memory->local)
		MmFreeContiguousMemorySpecifyCache(memory->local, memory->local_bytes,
						   MmWriteCombined);
	RtlZeroMemory(memory, sizeof(*memory));
}

NTSTATUS soft_memory_describe(const struct soft_memory *memory, DXGK_QUERYSEGMENTOUT4 *out)
{
	PAGED_CODE();

	/* First call: how many. Nothing else is written. */
	if (out->NbSegment == 0 || !out->pSegmentDescriptor) {
		out->NbSegment = SOFT_SEGMENT_COUNT;
		return STATUS_SUCCESS;
	}
	if (out->NbSegment != SOFT_SEGMENT_COUNT ||
	    out->SegmentDescriptorStride < sizeof(DXGK_SEGMENTDESCRIPTOR4))
		return soft_refuse(
			STATUS_INVALID_PARAMETER,
			"there are %u segments, described by %u bytes each; asked for are %u of %u",
			SOFT_SEGMENT_COUNT, (UINT)sizeof(DXGK_SEGMENTDESCRIPTOR4), out->NbSegment,
			(UINT)out->SegmentDescriptorStride);

	DXGK_SEGMENTDESCRIPTOR4 *local = (DXGK_SEGMENTDESCRIPTOR4 *)out->pSegmentDescriptor;
	*local = (DXGK_SEGMENTDESCRIPTOR4){
		.BaseAddress.QuadPart = SOFT_LOCAL_BASE,
		.Size = memory->local_bytes,
		.CommitLimit = memory->local_bytes,
		.CpuTranslatedAddress = memory->local_physical,
	};
	local->Flags.CpuVisible = 1;
	local->Flags.ApplicationTarget = 1;
	local->Flags.LocalBudgetGroup = 1;
	local->Flags.Use64KBPages = memory->has_64k_pages;
	soft_host_aperture_describe(memory, local);

	DXGK_SEGMENTDESCRIPTOR4 *aperture =
		(DXGK_SEGMENTDESCRIPTOR4 *)(out->pSegmentDescriptor + out->SegmentDescriptorStride);
	*aperture = (DXGK_SEGMENTDESCRIPTOR4){
		.BaseAddress.QuadPart = SOFT_APERTURE_BASE,
		.Size = memory->aperture_pages << PAGE_SHIFT,
		.CommitLimit = memory->aperture_pages << PAGE_SHIFT,
	};
	aperture->Flags.Aperture = 1;
	aperture->Flags.CacheCoherent = 1;
	aperture->Flags.ApplicationTarget = 1;
	aperture->Flags.NonLocalBudgetGroup = 1;

	out->PagingBufferSegmentId = SOFTGPU_SEGMENT_SYSTEM;
	out->PagingBufferSize = SOFT_PAGING_BUFFER_BYTES;
	out->PagingBufferPrivateDataSize = 0;
	return STATUS_SUCCESS;
}

BOOLEAN soft_memory_decode(const struct soft_memory *memory, ULONGLONG address,
			   struct soft_place *place_out)
{
	*place_out = (struct soft_place){ .segment = SOFTGPU_SEGMENT_LOCAL,
					  .offset = address - SOFT_LOCAL_BASE };
	if (place_out->offset < memory->local_bytes)
		return TRUE;
	*place_out = (struct soft_place){ .segment = SOFTGPU_SEGMENT_APERTURE,
					  .offset = address - SOFT_APERTURE_BASE };
	return place_out->offset < memory->aperture_pages << PAGE_SHIFT;
}

static BOOLEAN window_map(ULONGLONG physical, ULONGLONG size_bytes, struct soft_window *window)
{
	PHYSICAL_ADDRESS address = { .QuadPart = (LONGLONG)physical };

	window->bytes = MmMapIoSpace(address, size_bytes, MmCached);
	window->size_bytes = size_bytes;
	window->is_mapped = TRUE;
	return window->bytes != NULL;
}

/* As many pages as lie next to each other behind the aperture too. */
static BOOLEAN window_open_aperture(const struct soft_memory *memory, ULONGLONG offset,
				    ULONGLONG wanted, struct soft_window *window)
{
	ULONGLONG page = offset >> PAGE_SHIFT;
	ULONGLONG in_page = offset & PAGE_MASK;
	ULONGLONG first;
	ULONGLONG size_bytes = PAGE_SIZE - in_page;

	if (page >= memory->aperture_pages)
		return FALSE;
	first = soft_entry_load(&memory->aperture[page]);
	if (!(first & APERTURE_VALID))
		return FALSE;
	for (ULONGLONG next = 1; size_bytes < wanted && page + next < memory->aperture_pages;
	     next++) {
		if (soft_entry_load(&memory->aperture[page + next]) != first + next * PAGE_SIZE)
			break;
		size_bytes += PAGE_SIZE;
	}
	return window_map((first & ~(ULONGLONG)PAGE_MASK) + in_page,
			  size_bytes < wanted ? size_bytes : wanted, window);
}

BOOLEAN soft_window_open(const struct soft_memory *memory, ULONG segment, ULONGLONG offset,
			 ULONGLONG wanted, struct soft_window *window_out)
{
	*window_out = (struct soft_window){ .bytes = NULL };
	switch (segment) {
	case SOFTGPU_SEGMENT_LOCAL:
		if (offset >= memory->local_bytes)
			return FALSE;
		window_out->bytes = memory->local + offset;
		window_out->size_bytes = memory->local_bytes - offset;
		if (window_out->size_bytes > wanted)
			window_out->size_bytes = wanted;
		return TRUE;
	case SOFTGPU_SEGMENT_APERTURE:
		return window_open_aperture(memory, offset, wanted, window_out);
	case SOFTGPU_SEGMENT_SYSTEM:
	case SOFT_SEGMENT_COUNT + 1: /* the system memory that WDDM 2 adds after our segments */
		return window_map(offset, wanted, window_out);
	default:
		return FALSE;
	}
}

void soft_window_close(struct soft_window *window)
{
	if (window->is_mapped && window->bytes)
		MmUnmapIoSpace(window->bytes, window->size_bytes);
	window->bytes = NULL;
}

BOOLEAN soft_memory_read_entry(void *reader_context, ULONG segment, ULONGLONG offset,
			       ULONGLONG *entry_out)
{
	const struct soft_memory *memory = (const struct soft_memory *)reader_context;
	struct soft_window window;

	if (!soft_window_open(memory, segment, offset, sizeof(*entry_out), &window))
		return FALSE;
	BOOLEAN is_whole = window.size_bytes >= sizeof(*entry_out);
	if (is_whole)
		*entry_out = soft_entry_load(window.bytes);
	soft_window_close(&window);
	return is_whole;
}
