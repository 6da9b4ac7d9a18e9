/* SPDX-License-Identifier: MIT */
/*
 * host_aperture.c - local memory that the CPU sees through a window: as with hardware whose memory
 * is larger than what the bus shows of it.
 *
 *	CPU   |···|aperture: p0 p1 p2 …|···          the kernel says which page shows what
 *	             │     └──────────┐
 *	GPU   |local ▼ ···············▼ ······|
 *
 * The pages of the aperture have addresses and no bytes that anybody sees.
 *
 * Locks: none. The kernel changes a page while nobody looks at it.
 */
#include "soft.h"

NTSTATUS soft_host_aperture_start(struct gpu_memory *memory, const struct gpu_settings *settings)
{
	static const PHYSICAL_ADDRESS lowest = { .QuadPart = 0 };
	static const PHYSICAL_ADDRESS highest = { .QuadPart = -1 };
	static const PHYSICAL_ADDRESS no_boundary = { .QuadPart = 0 };

	PAGED_CODE();

	memory->host_aperture_bytes = (ULONGLONG)settings->host_aperture_mib << 20;
	if (memory->host_aperture_bytes == 0)
		return STATUS_SUCCESS;
	struct soft_memory *soft = soft_memory_of(memory);
	soft->host_aperture = MmAllocateContiguousMemorySpecifyCache(
		memory->host_aperture_bytes, lowest, highest, no_boundary, MmWriteCombined);
	if (!soft->host_aperture)
		return gpu_refuse(STATUS_NO_MEMORY,
				  "no %u MiB of contiguous memory for the CPU host aperture",
				  settings->host_aperture_mib);
	memory->host_aperture_physical = MmGetPhysicalAddress(soft->host_aperture);
	return STATUS_SUCCESS;
}

void soft_host_aperture_stop(struct gpu_memory *memory)
{
	PAGED_CODE();

	struct soft_memory *soft = soft_memory_of(memory);

	if (soft->host_aperture)
		MmFreeContiguousMemorySpecifyCache(soft->host_aperture, memory->host_aperture_bytes,
						   MmWriteCombined);
	soft->host_aperture = NULL;
}

/* As the kernel counts them: pages of the segment. */
static ULONG page_shift(const struct gpu_memory *memory)
{
	return memory->has_64k_pages ? GPU_64K_BITS : PAGE_SHIFT;
}

/* `shown` counts from the beginning of local memory; -1: nothing. */
static BOOLEAN show(const struct gpu_memory *memory, ULONGLONG page, LONGLONG shown)
{
	ULONG shift = page_shift(memory);
	BOOLEAN is_done = TRUE;

	for (ULONGLONG at = 0; at < 1ull << shift && is_done; at += PAGE_SIZE) {
		PHYSICAL_ADDRESS where = memory->host_aperture_physical;
		PHYSICAL_ADDRESS what = { .QuadPart = 0 };

		where.QuadPart += (LONGLONG)((page << shift) + at);
		if (shown >= 0)
			what.QuadPart =
				memory->local_physical.QuadPart + (shown << shift) + (LONGLONG)at;
		is_done = OpendxgkShowPage(where, what);
	}
	return is_done;
}

static BOOLEAN is_there(const struct gpu_memory *memory, ULONGLONG page, ULONGLONG shown)
{
	ULONG shift = page_shift(memory);

	return page < memory->host_aperture_bytes >> shift && shown < memory->local_bytes >> shift;
}

static void unmap(const struct gpu_memory *memory, const UINT32 *pages, UINT64 count)
{
	for (UINT64 i = 0; i < count; i++)
		(void)show(memory, pages[i], -1);
}

NTSTATUS APIENTRY soft_map_cpu_host_aperture(IN_CONST_HANDLE hAdapter,
					     IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE pArgs)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	if (!adapter || !pArgs || pArgs->SegmentId != SOFTGPU_SEGMENT_LOCAL)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "MapCpuHostAperture of segment %u, which has none",
				  pArgs ? pArgs->SegmentId : 0);
	for (UINT64 i = 0; i < pArgs->NumberOfPages; i++) {
		if (!is_there(&adapter->memory, pArgs->pCpuHostAperturePages[i],
			      pArgs->pMemorySegmentPages[i]))
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "page 0x%I64x of local memory cannot be shown at page "
					  "0x%x of the CPU "
					  "host aperture",
					  pArgs->pMemorySegmentPages[i],
					  pArgs->pCpuHostAperturePages[i]);
	}
	for (UINT64 i = 0; i < pArgs->NumberOfPages; i++) {
		if (show(&adapter->memory, pArgs->pCpuHostAperturePages[i],
			 (LONGLONG)pArgs->pMemorySegmentPages[i]))
			continue;
		unmap(&adapter->memory, pArgs->pCpuHostAperturePages, i + 1);
		return gpu_refuse(STATUS_NO_MEMORY,
				  "page 0x%x of the CPU host aperture could not be changed",
				  pArgs->pCpuHostAperturePages[i]);
	}
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY soft_unmap_cpu_host_aperture(IN_CONST_HANDLE hAdapter,
					       IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE pArgs)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);

	PAGED_CODE();

	if (!adapter || !pArgs || pArgs->SegmentId != SOFTGPU_SEGMENT_LOCAL)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "UnmapCpuHostAperture of segment %u, which has none",
				  pArgs ? pArgs->SegmentId : 0);
	for (UINT64 i = 0; i < pArgs->NumberOfPages; i++) {
		if (!is_there(&adapter->memory, pArgs->pCpuHostAperturePages[i], 0))
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "the CPU host aperture has no page 0x%x",
					  pArgs->pCpuHostAperturePages[i]);
	}
	unmap(&adapter->memory, pArgs->pCpuHostAperturePages, pArgs->NumberOfPages);
	return STATUS_SUCCESS;
}
