/* SPDX-License-Identifier: MIT */
/*
 * segments.c - the memory of the GPU, as the kernel is told of it.
 *
 *	segment 1, local      memory of the GPU's own; the CPU sees it, sees it through a window, or
 *	                      does not
 *	segment 2, aperture   a window of page entries onto system memory; no bytes of its own
 *	segment 0             system memory by physical address (page-table entries, DMA buffers)
 *
 *	GPU address   0x10_0000_0000          0x100_0000_0000
 *	              |local ...              |aperture ...
 *	                                       └ entry per page ─▶ system memory
 *
 * Locks: none.
 */
#include "gpu.h"

/* As the kernel counts them: pages of the segment. */
static ULONG page_shift(const struct gpu_memory *memory)
{
	return memory->has_64k_pages ? GPU_64K_BITS : PAGE_SHIFT;
}

static void describe_host_aperture(const struct gpu_memory *memory, DXGK_SEGMENTDESCRIPTOR4 *local)
{
	if (memory->host_aperture_bytes == 0)
		return;
	local->Flags.CpuVisible = 0;
	local->Flags.SupportsCpuHostAperture = 1;
	local->Flags.SupportsCachedCpuHostAperture = 1;
	local->CpuHostAperture = (DXGK_CPUHOSTAPERTURE){
		.PhysicalAddress = (UINT64)memory->host_aperture_physical.QuadPart,
		.SizeInPages = (UINT32)(memory->host_aperture_bytes >> page_shift(memory)),
	};
}

NTSTATUS gpu_memory_describe(const struct gpu_memory *memory, DXGK_QUERYSEGMENTOUT4 *out)
{
	PAGED_CODE();

	/* First call: how many. Nothing else is written. */
	if (out->NbSegment == 0 || !out->pSegmentDescriptor) {
		out->NbSegment = GPU_SEGMENT_COUNT;
		return STATUS_SUCCESS;
	}
	if (out->NbSegment != GPU_SEGMENT_COUNT ||
	    out->SegmentDescriptorStride < sizeof(DXGK_SEGMENTDESCRIPTOR4))
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"there are %u segments, described by %u bytes each; asked for are %u of %u",
			GPU_SEGMENT_COUNT, (UINT)sizeof(DXGK_SEGMENTDESCRIPTOR4), out->NbSegment,
			(UINT)out->SegmentDescriptorStride);

	DXGK_SEGMENTDESCRIPTOR4 *local = (DXGK_SEGMENTDESCRIPTOR4 *)out->pSegmentDescriptor;
	*local = (DXGK_SEGMENTDESCRIPTOR4){
		.BaseAddress.QuadPart = GPU_LOCAL_BASE,
		.Size = memory->local_bytes,
		.CommitLimit = memory->local_bytes,
		.CpuTranslatedAddress = memory->local_physical,
	};
	local->Flags.CpuVisible = memory->is_local_visible;
	local->Flags.ApplicationTarget = 1;
	local->Flags.LocalBudgetGroup = 1;
	local->Flags.Use64KBPages = memory->has_64k_pages;
	describe_host_aperture(memory, local);

	DXGK_SEGMENTDESCRIPTOR4 *aperture =
		(DXGK_SEGMENTDESCRIPTOR4 *)(out->pSegmentDescriptor + out->SegmentDescriptorStride);
	*aperture = (DXGK_SEGMENTDESCRIPTOR4){
		.BaseAddress.QuadPart = GPU_APERTURE_BASE,
		.Size = memory->aperture_pages << PAGE_SHIFT,
		.CommitLimit = memory->aperture_pages << PAGE_SHIFT,
	};
	aperture->Flags.Aperture = 1;
	aperture->Flags.CacheCoherent = 1;
	aperture->Flags.ApplicationTarget = 1;
	aperture->Flags.NonLocalBudgetGroup = 1;

	out->PagingBufferSegmentId = SOFTGPU_SEGMENT_SYSTEM;
	out->PagingBufferSize = GPU_PAGING_BUFFER_BYTES;
	out->PagingBufferPrivateDataSize = 0;
	return STATUS_SUCCESS;
}

BOOLEAN gpu_memory_decode(const struct gpu_memory *memory, ULONGLONG address,
			  struct gpu_place *place_out)
{
	*place_out = (struct gpu_place){ .segment = SOFTGPU_SEGMENT_LOCAL,
					 .offset = address - GPU_LOCAL_BASE };
	if (place_out->offset < memory->local_bytes)
		return TRUE;
	*place_out = (struct gpu_place){ .segment = SOFTGPU_SEGMENT_APERTURE,
					 .offset = address - GPU_APERTURE_BASE };
	return place_out->offset < memory->aperture_pages << PAGE_SHIFT;
}
