/* SPDX-License-Identifier: MIT */
/*
 * standard.c - surfaces that the operating system wants to make by itself.
 *
 *   in:   what kind of surface, how large
 *   out:  the private data a client would have written for it; DxgkDdiCreateAllocation reads it
 *
 * The kernel asks twice, first without buffers for the sizes; only the second time the surface
 * description may be written. There is no display here, so there are no primaries. PASSIVE_LEVEL.
 */
#include "gpu.h"

enum {
	PITCH_ALIGNMENT = 128, /* what surfaces that cross adapters need; it does for all */
	HEIGHT_ALIGNMENT = 4,
	MAX_SIDE = 1 << 16,
};

/* 0: not a format we lay out. */
static ULONG bytes_per_pixel(ULONG format)
{
	switch (format) {
	case D3DDDIFMT_A8R8G8B8:
	case D3DDDIFMT_X8R8G8B8:
	case D3DDDIFMT_A8B8G8R8:
	case D3DDDIFMT_X8B8G8R8:
	case D3DDDIFMT_A2B10G10R10:
	case D3DDDIFMT_A2R10G10B10:
		return 4;
	case D3DDDIFMT_A16B16G16R16:
		return 8;
	case D3DDDIFMT_R5G6B5:
		return 2;
	case D3DDDIFMT_A8:
	case D3DDDIFMT_UNKNOWN: /* bytes */
		return 1;
	default:
		return 0;
	}
}

static NTSTATUS lay_out(ULONG width, ULONG height, ULONG format, ULONG flags,
			struct softgpu_surface *surface_out)
{
	ULONG pixel_bytes = bytes_per_pixel(format);

	if (pixel_bytes == 0 || width == 0 || height == 0 || height > MAX_SIDE)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a surface of %u by %u in format %u: no size, too high, or an "
				  "unknown format",
				  width, height, format);
	ULONGLONG pitch = ((ULONGLONG)width * pixel_bytes + PITCH_ALIGNMENT - 1) &
			  ~(ULONGLONG)(PITCH_ALIGNMENT - 1);
	/* One row of bytes is plain memory, and may be there already: nothing is behind it. */
	ULONG rows = height;
	if (height > 1 || format != D3DDDIFMT_UNKNOWN)
		rows = (height + HEIGHT_ALIGNMENT - 1) & ~(ULONG)(HEIGHT_ALIGNMENT - 1);
	if (pitch > MAXULONG)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"a surface %u wide has a pitch of 0x%I64x bytes, more than 32 bits", width,
			pitch);

	*surface_out = (struct softgpu_surface){
		.allocation = { .version = SOFTGPU_SURFACE_VERSION,
				.flags = flags,
				.size_bytes = pitch * rows,
				.alignment = PAGE_SIZE },
		.width = width,
		.height = height,
		.pitch_bytes = (ULONG)pitch,
		.format = format,
	};
	return STATUS_SUCCESS;
}

static NTSTATUS lay_out_gdi(const D3DKMDT_GDISURFACEDATA *data, struct softgpu_surface *surface_out)
{
	const ULONG system = SOFTGPU_SYSTEM_ONLY | SOFTGPU_CPU_VISIBLE;
	BOOLEAN is_existing = FALSE;
	ULONG flags;

	switch ((ULONG)data->Type) {
	case D3DKMDT_GDISURFACE_TEXTURE:
	case D3DKMDT_GDISURFACE_STAGING:
	case D3DKMDT_GDISURFACE_LOOKUPTABLE:
		flags = 0;
		break;
	case D3DKMDT_GDISURFACE_TEXTURE_CPUVISIBLE:
		flags = SOFTGPU_CPU_VISIBLE;
		break;
	case D3DKMDT_GDISURFACE_STAGING_CPUVISIBLE:
		flags = system | SOFTGPU_CACHED;
		break;
	case D3DKMDT_GDISURFACE_EXISTINGSYSMEM:
		flags = system | SOFTGPU_CACHED;
		is_existing = TRUE;
		break;
	case D3DKMDT_GDISURFACE_TEXTURE_CROSSADAPTER:
	case D3DKMDT_GDISURFACE_TEXTURE_CPUVISIBLE_CROSSADAPTER:
		flags = system; /* write-combined */
		break;
	default:
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a GDI surface of type %u, which is unknown", (ULONG)data->Type);
	}
	NTSTATUS status =
		lay_out(data->Width, data->Height, (ULONG)data->Format, flags, surface_out);
	if (NT_SUCCESS(status) && is_existing)
		surface_out->surface_flags = SOFTGPU_SURFACE_EXISTING_MEMORY;
	return status;
}

static NTSTATUS lay_out_virtual_gpu(const D3DKMDT_VIRTUALGPUSURFACEDATA *data,
				    struct softgpu_surface *surface_out)
{
	ULONG flags;

	switch (data->DriverSegmentId) {
	case SOFTGPU_SEGMENT_LOCAL:
		flags = SOFTGPU_LOCAL_ONLY;
		break;
	case SOFTGPU_SEGMENT_APERTURE:
		flags = SOFTGPU_SYSTEM_ONLY;
		break;
	default:
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a surface of a virtual GPU in segment %u, which does not exist",
				  data->DriverSegmentId);
	}
	if (data->Size == 0 || data->Size > SOFTGPU_MAX_ALLOCATION_BYTES)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a surface of a virtual GPU of 0x%I64x bytes, which is not from "
				  "1 to 0x%I64x",
				  (ULONGLONG)data->Size, (ULONGLONG)SOFTGPU_MAX_ALLOCATION_BYTES);
	*surface_out = (struct softgpu_surface){
		.allocation = { .version = SOFTGPU_SURFACE_VERSION,
				.flags = flags,
				.size_bytes = data->Size,
				.alignment = PAGE_SIZE },
	};
	return STATUS_SUCCESS;
}

static NTSTATUS lay_out_standard(const DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args,
				 struct softgpu_surface *surface_out, UINT **pitch_out)
{
	const ULONG system = SOFTGPU_SYSTEM_ONLY | SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED;

	*pitch_out = NULL;
	/* The members of the union are pointers: one test does for all. */
	if (!args->pCreateShadowSurfaceData)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a standard allocation of type %u without data",
				  (ULONG)args->StandardAllocationType);

	switch ((ULONG)args->StandardAllocationType) {
	case D3DKMDT_STANDARDALLOCATION_SHADOWSURFACE:
		*pitch_out = &args->pCreateShadowSurfaceData->Pitch;
		return lay_out(args->pCreateShadowSurfaceData->Width,
			       args->pCreateShadowSurfaceData->Height,
			       (ULONG)args->pCreateShadowSurfaceData->Format, system, surface_out);
	case D3DKMDT_STANDARDALLOCATION_STAGINGSURFACE:
		*pitch_out = &args->pCreateStagingSurfaceData->Pitch;
		return lay_out(args->pCreateStagingSurfaceData->Width,
			       args->pCreateStagingSurfaceData->Height, D3DDDIFMT_X8R8G8B8, system,
			       surface_out);
	case D3DKMDT_STANDARDALLOCATION_GDISURFACE:
		*pitch_out = &args->pCreateGdiSurfaceData->Pitch;
		return lay_out_gdi(args->pCreateGdiSurfaceData, surface_out);
	case D3DKMDT_STANDARDALLOCATION_VGPU:
		return lay_out_virtual_gpu(args->pCreateVirtualGpuSurfaceData, surface_out);
	default:
		return gpu_refuse(STATUS_NOT_SUPPORTED,
				  "a standard allocation of type %u, which we do not make",
				  (ULONG)args->StandardAllocationType);
	}
}

NTSTATUS APIENTRY gpu_get_standard_allocation_driver_data(
	IN_CONST_HANDLE hAdapter,
	INOUT_PDXGKARG_GETSTANDARDALLOCATIONDRIVERDATA pGetStandardAllocationDriverData)
{
	DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args = pGetStandardAllocationDriverData;
	struct softgpu_surface surface;
	UINT *pitch;

	PAGED_CODE();

	if (!gpu_adapter_from(hAdapter) || !args || args->PhysicalAdapterIndex != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "GetStandardAllocationDriverData for adapter %p, or its part "
				  "%u, which does not "
				  "exist",
				  hAdapter, args ? args->PhysicalAdapterIndex : 0);
	NTSTATUS status = lay_out_standard(args, &surface, &pitch);
	if (!NT_SUCCESS(status))
		return status;

	if (!args->pAllocationPrivateDriverData) {
		args->AllocationPrivateDriverDataSize = sizeof(surface);
		args->ResourcePrivateDriverDataSize = 0;
		return STATUS_SUCCESS;
	}
	if (args->AllocationPrivateDriverDataSize < sizeof(surface))
		return gpu_refuse(
			STATUS_BUFFER_TOO_SMALL,
			"private data of a standard allocation has %u bytes, and needs %u",
			args->AllocationPrivateDriverDataSize, (UINT)sizeof(surface));
	RtlCopyMemory(args->pAllocationPrivateDriverData, &surface, sizeof(surface));
	if (pitch)
		*pitch = surface.pitch_bytes;
	return STATUS_SUCCESS;
}
