/* SPDX-License-Identifier: MIT */
/*
 * allocation.c - our side of allocations, of the resources they come in, and of their openings on
 * devices.
 *
 *	CreateAllocation   struct softgpu_allocation -> size, alignment, segments and so on
 *	OpenAllocation     the same allocation on one device
 *	CloseAllocation, DestroyAllocation          backwards
 *
 * Allocations belong to the adapter and may outlive the device that made them, so they hold no
 * pointer to one. The kernel owns every order in here: closed before destroyed, each exactly once.
 * PASSIVE_LEVEL, one thread of a process at a time: the counts of a device, which is one process's,
 * are not interlocked, others are.
 */
#include "gpu.h"

static struct gpu_allocation *allocation_from(HANDLE handle)
{
	struct gpu_allocation *allocation = (struct gpu_allocation *)handle;

	return allocation && allocation->magic == GPU_MAGIC_ALLOCATION ? allocation : NULL;
}

static struct gpu_resource *resource_from(HANDLE handle)
{
	struct gpu_resource *resource = (struct gpu_resource *)handle;

	return resource && resource->magic == GPU_MAGIC_RESOURCE ? resource : NULL;
}

struct gpu_opening *gpu_opening_from(HANDLE handle)
{
	struct gpu_opening *opening = (struct gpu_opening *)handle;

	return opening && opening->magic == GPU_MAGIC_OPENING ? opening : NULL;
}

/* What is asked for, read where it stands: in memory of the kernel's, which nobody changes. */
struct wish {
	const struct softgpu_allocation *allocation;
	const struct softgpu_surface *surface; /* NULL: plain bytes, without a shape */
};

static NTSTATUS read_private_data(const DXGK_ALLOCATIONINFO *info, struct wish *wish_out)
{
	const ULONG exclusive = SOFTGPU_LOCAL_ONLY | SOFTGPU_SYSTEM_ONLY;
	const ULONG hardware = SOFTGPU_HARDWARE_ADDRESS | SOFTGPU_SYSTEM_ONLY;
	const struct softgpu_allocation *allocation = info->pPrivateDriverData;
	const struct softgpu_surface *surface = NULL;

	if (!allocation || info->PrivateDriverDataSize < sizeof(*allocation))
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"an allocation has %u bytes of private data, softgpu_allocation has %u",
			info->PrivateDriverDataSize, (UINT)sizeof(*allocation));

	switch (allocation->version) {
	case SOFTGPU_ALLOCATION_VERSION:
		if (info->PrivateDriverDataSize != sizeof(*allocation))
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "an allocation has %u bytes of private data, "
					  "softgpu_allocation has %u",
					  info->PrivateDriverDataSize, (UINT)sizeof(*allocation));
		break;
	case SOFTGPU_DESCRIBED_VERSION:
		break;
	case SOFTGPU_SURFACE_VERSION:
		surface = info->pPrivateDriverData;
		if (info->PrivateDriverDataSize != sizeof(*surface))
			return gpu_refuse(
				STATUS_INVALID_PARAMETER,
				"a surface has %u bytes of private data, softgpu_surface has %u",
				info->PrivateDriverDataSize, (UINT)sizeof(*surface));
		if (surface->reserved != 0 ||
		    (surface->surface_flags & ~SOFTGPU_SURFACE_EXISTING_MEMORY))
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "a surface has surface_flags 0x%x, reserved 0x%x",
					  surface->surface_flags, surface->reserved);
		break;
	default:
		return gpu_refuse(
			STATUS_GRAPHICS_DRIVER_MISMATCH,
			"private data of an allocation has version %u, which is not from %u to %u",
			allocation->version, SOFTGPU_ALLOCATION_VERSION, SOFTGPU_DESCRIBED_VERSION);
	}

	if ((allocation->flags & ~SOFTGPU_ALLOCATION_FLAGS) ||
	    (allocation->flags & exclusive) == exclusive ||
	    (allocation->flags & hardware) == hardware ||
	    ((allocation->flags & SOFTGPU_CACHED) && !(allocation->flags & SOFTGPU_CPU_VISIBLE)))
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"an allocation has flags 0x%x, which are unknown or contradict each other",
			allocation->flags);
	if (allocation->size_bytes == 0 || allocation->size_bytes > SOFTGPU_MAX_ALLOCATION_BYTES)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"an allocation has size_bytes 0x%I64x, which is not from 1 to 0x%I64x",
			allocation->size_bytes, (ULONGLONG)SOFTGPU_MAX_ALLOCATION_BYTES);
	if (allocation->alignment > SOFTGPU_MAX_ALIGNMENT ||
	    (allocation->alignment & (allocation->alignment - 1)) != 0)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"an allocation has alignment 0x%x, which is no power of two up to 0x%x",
			(ULONG)allocation->alignment, (ULONG)SOFTGPU_MAX_ALIGNMENT);
	*wish_out = (struct wish){ allocation, surface };
	return STATUS_SUCCESS;
}

/* Where it may live and how: what the kernel's memory manager goes by. */
static void fill_info(const struct gpu_adapter *adapter, const struct wish *wish,
		      DXGK_ALLOCATIONINFO *info)
{
	const ULONG local = 1u << (SOFTGPU_SEGMENT_LOCAL - 1);
	const ULONG aperture = 1u << (SOFTGPU_SEGMENT_APERTURE - 1);
	ULONG flags = wish->allocation->flags;
	ULONG segments = local | aperture;
	DXGK_SEGMENTPREFERENCE preferred = { .SegmentId0 = SOFTGPU_SEGMENT_LOCAL,
					     .SegmentId1 = SOFTGPU_SEGMENT_APERTURE };

	if (flags & SOFTGPU_SYSTEM_ONLY) {
		segments = aperture;
		preferred.Value = SOFTGPU_SEGMENT_APERTURE;
	} else if (flags & (SOFTGPU_LOCAL_ONLY | SOFTGPU_HARDWARE_ADDRESS)) {
		segments = local;
		preferred.Value = SOFTGPU_SEGMENT_LOCAL;
	}
	info->PreferredSegment.Value = preferred.Value;

	UINT page_bytes = (segments & local) && adapter->settings.pages_64k != GPU_64K_NONE
				  ? 1u << GPU_64K_BITS
				  : PAGE_SIZE;
	if (flags & SOFTGPU_HARDWARE_ADDRESS)
		page_bytes = (UINT)SOFTGPU_LARGE_PAGE_BYTES;
	info->Alignment = wish->allocation->alignment > page_bytes
				  ? (UINT)wish->allocation->alignment
				  : page_bytes;
	info->Size = wish->allocation->size_bytes;
	if (flags & SOFTGPU_HARDWARE_ADDRESS)
		info->Size = (info->Size + page_bytes - 1) / page_bytes * page_bytes;
	info->PitchAlignedSize = 0;
	info->HintedBank.Value = 0;
	info->SupportedReadSegmentSet = segments;
	info->SupportedWriteSegmentSet = segments;
	info->EvictionSegmentSet = 0; /* eviction goes to the pages themselves */
	info->PhysicalAdapterIndex = 0;
	info->pAllocationUsageHint = NULL;
	info->AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
	info->Flags2.Value = 0;

	const DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 kind = {
		.CpuVisible = (flags & SOFTGPU_CPU_VISIBLE) != 0,
		.Cached = (flags & SOFTGPU_CACHED) != 0,
		.ExistingSysMem = wish->surface && (wish->surface->surface_flags &
						    SOFTGPU_SURFACE_EXISTING_MEMORY) != 0,
		/* Without page tables everything is reached by one physical address. */
		.AccessedPhysically =
			(flags & (SOFTGPU_CONTIGUOUS | SOFTGPU_HARDWARE_ADDRESS)) != 0 ||
			adapter->settings.model == SOFTGPU_MODEL_PHYSICAL,
	};
	info->FlagsWddm2.Value = kind.Value; /* at once, as it is read next */
}

/*
 * Intel's runtime tells its client what memory the device has, and does not look whether what it was
 * granted can be locked. So there is no more than that, and who asks for more hears of it here. What
 * is never in local memory may be memory that the client brought, and is not counted. The status is
 * one that the runtime knows: it ends what it has put off, and asks once more.
 */
static LONG64 counted_bytes(const struct gpu_adapter *adapter, ULONG flags, ULONGLONG size_bytes)
{
	if (adapter->settings.commands != SOFTGPU_COMMANDS_INTEL || (flags & SOFTGPU_SYSTEM_ONLY))
		return 0;
	return (LONG64)ROUND_TO_PAGES(size_bytes);
}

static NTSTATUS memory_grant(struct gpu_adapter *adapter, const struct softgpu_allocation *wish)
{
	const struct gpu_settings *settings = &adapter->settings;
	LONG64 most = (LONG64)((ULONGLONG)settings->local_mib + settings->aperture_mib) << 20;
	LONG64 wanted = counted_bytes(adapter, wish->flags, wish->size_bytes);

	if (wanted == 0)
		return STATUS_SUCCESS;
	LONG64 before = InterlockedExchangeAdd64(&adapter->granted_bytes, wanted);
	if (wanted <= most - before)
		return STATUS_SUCCESS;
	InterlockedExchangeAdd64(&adapter->granted_bytes, -wanted);
	return gpu_refuse(STATUS_GRAPHICS_NO_VIDEO_MEMORY,
			  "an allocation of 0x%I64x bytes, and of 0x%I64x that there are 0x%I64x "
			  "are granted",
			  wish->size_bytes, most, before);
}

static void memory_return(struct gpu_adapter *adapter, ULONG flags, ULONGLONG size_bytes)
{
	LONG64 counted = counted_bytes(adapter, flags, size_bytes);

	if (counted != 0)
		InterlockedExchangeAdd64(&adapter->granted_bytes, -counted);
}

static void allocation_free(struct gpu_adapter *adapter, struct gpu_allocation *allocation)
{
	memory_return(adapter, allocation->flags, allocation->size_bytes);
	if (allocation->resource)
		InterlockedDecrement(&allocation->resource->live_allocations);
	allocation->magic = GPU_MAGIC_DEAD;
	gpu_pool_free(allocation);
	InterlockedDecrement(&adapter->live_allocations);
}

static NTSTATUS allocation_make(struct gpu_adapter *adapter, struct gpu_resource *resource,
				DXGK_ALLOCATIONINFO *info)
{
	struct wish wish;

	NTSTATUS status = read_private_data(info, &wish);
	if (NT_SUCCESS(status))
		status = memory_grant(adapter, wish.allocation);
	if (!NT_SUCCESS(status))
		return status;
	struct gpu_allocation *allocation = gpu_pool_allocate(PagedPool, sizeof(*allocation));
	if (!allocation) {
		memory_return(adapter, wish.allocation->flags, wish.allocation->size_bytes);
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for an allocation");
	}

	allocation->magic = GPU_MAGIC_ALLOCATION;
	allocation->flags = wish.allocation->flags;
	allocation->size_bytes = wish.allocation->size_bytes;
	if (wish.surface) {
		allocation->width = wish.surface->width;
		allocation->height = wish.surface->height;
		allocation->format = wish.surface->format;
	}
	allocation->resource = resource;
	if (resource)
		InterlockedIncrement(&resource->live_allocations);
	InterlockedIncrement(&adapter->live_allocations);

	fill_info(adapter, &wish, info);
	info->hAllocation = allocation;
	return STATUS_SUCCESS;
}

/* The resource that the kernel named, a new one, or none at all. */
static NTSTATUS resource_find(struct gpu_adapter *adapter, const DXGKARG_CREATEALLOCATION *args,
			      struct gpu_resource **resource_out)
{
	*resource_out = NULL;
	if (!args->Flags.Resource && !args->hResource)
		return STATUS_SUCCESS;
	if (!args->Flags.Resource)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "allocations without Flags.Resource have hResource %p",
				  args->hResource);
	if (args->hResource) {
		*resource_out = resource_from(args->hResource);
		if (!*resource_out)
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "hResource %p is no resource of ours", args->hResource);
		return STATUS_SUCCESS;
	}
	struct gpu_resource *resource = gpu_pool_allocate(PagedPool, sizeof(*resource));
	if (!resource)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for a resource");
	resource->magic = GPU_MAGIC_RESOURCE;
	InterlockedIncrement(&adapter->live_resources);
	*resource_out = resource;
	return STATUS_SUCCESS;
}

static void resource_free(struct gpu_adapter *adapter, struct gpu_resource *resource)
{
	resource->magic = GPU_MAGIC_DEAD;
	gpu_pool_free(resource);
	InterlockedDecrement(&adapter->live_resources);
}

/* In a resource, or more than one: all or none. */
static DECLSPEC_NOINLINE NTSTATUS create_several(struct gpu_adapter *adapter,
						 DXGKARG_CREATEALLOCATION *args)
{
	struct gpu_resource *resource;
	UINT made = 0;

	NTSTATUS status = resource_find(adapter, args, &resource);
	if (!NT_SUCCESS(status))
		return status;
	for (; made < args->NumAllocations; made++) {
		status = allocation_make(adapter, resource, &args->pAllocationInfo[made]);
		if (!NT_SUCCESS(status))
			goto free_allocations;
	}
	args->hResource = resource;
	return STATUS_SUCCESS;

free_allocations:
	while (made > 0) {
		made--;
		allocation_free(adapter, args->pAllocationInfo[made].hAllocation);
		args->pAllocationInfo[made].hAllocation = NULL;
	}
	if (resource && !args->hResource)
		resource_free(adapter, resource);
	return status;
}

/* A resource's own private data is the client's business: it is not looked at. */
NTSTATUS APIENTRY gpu_create_allocation(IN_CONST_HANDLE hAdapter,
					INOUT_PDXGKARG_CREATEALLOCATION pCreateAllocation)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);
	DXGKARG_CREATEALLOCATION *args = pCreateAllocation;

	PAGED_CODE();

	if (!adapter || !args || (args->NumAllocations > 0 && !args->pAllocationInfo))
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"CreateAllocation for adapter %p with arguments %p: one is missing",
			hAdapter, args);
	if (args->NumAllocations == 1 && !args->Flags.Resource && !args->hResource)
		return allocation_make(adapter, NULL, args->pAllocationInfo);
	return create_several(adapter, args);
}

static BOOLEAN may_end(const struct gpu_allocation *allocation, const struct gpu_resource *resource)
{
	return allocation && allocation->resource == resource &&
	       allocation->first.magic != GPU_MAGIC_OPENING && allocation->live_other_openings == 0;
}

static NTSTATUS destroy_one(struct gpu_adapter *adapter, HANDLE handle)
{
	struct gpu_allocation *allocation = allocation_from(handle);

	if (!may_end(allocation, NULL))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "allocation %p cannot be destroyed: it is none of ours, of a "
				  "resource, or open",
				  handle);
	allocation_free(adapter, allocation);
	return STATUS_SUCCESS;
}

static DECLSPEC_NOINLINE NTSTATUS destroy_several(struct gpu_adapter *adapter,
						  const DXGKARG_DESTROYALLOCATION *args)
{
	struct gpu_resource *resource = NULL;

	if (args->hResource) {
		resource = resource_from(args->hResource);
		if (!resource)
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "hResource %p is no resource of ours", args->hResource);
	}
	for (UINT i = 0; i < args->NumAllocations; i++) {
		if (!may_end(allocation_from(args->pAllocationList[i]), resource))
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "allocation %u, %p, cannot be destroyed: it is none of "
					  "ours, of another "
					  "resource, or open",
					  i, args->pAllocationList[i]);
	}
	if (args->Flags.DestroyResource && resource &&
	    (UINT)resource->live_allocations != args->NumAllocations)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "resource %p cannot be destroyed with %u of its %d allocations",
				  args->hResource, args->NumAllocations,
				  resource->live_allocations);

	for (UINT i = 0; i < args->NumAllocations; i++)
		allocation_free(adapter, args->pAllocationList[i]);
	if (args->Flags.DestroyResource && resource)
		resource_free(adapter, resource);
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_destroy_allocation(IN_CONST_HANDLE hAdapter,
					 IN_CONST_PDXGKARG_DESTROYALLOCATION pDestroyAllocation)
{
	struct gpu_adapter *adapter = gpu_adapter_from(hAdapter);
	const DXGKARG_DESTROYALLOCATION *args = pDestroyAllocation;

	PAGED_CODE();

	if (!adapter || !args || (args->NumAllocations > 0 && !args->pAllocationList))
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"DestroyAllocation for adapter %p with arguments %p: one is missing",
			hAdapter, args);
	if (args->NumAllocations == 1 && !args->hResource)
		return destroy_one(adapter, args->pAllocationList[0]);
	return destroy_several(adapter, args);
}

/* Plain memory is one row of bytes. */
NTSTATUS APIENTRY gpu_describe_allocation(IN_CONST_HANDLE hAdapter,
					  INOUT_PDXGKARG_DESCRIBEALLOCATION pDescribeAllocation)
{
	PAGED_CODE();

	if (!gpu_adapter_from(hAdapter) || !pDescribeAllocation)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"DescribeAllocation for adapter %p with arguments %p: one is missing",
			hAdapter, pDescribeAllocation);
	const struct gpu_allocation *allocation = allocation_from(pDescribeAllocation->hAllocation);
	if (!allocation)
		return gpu_refuse(STATUS_INVALID_PARAMETER, "allocation %p is none of ours",
				  pDescribeAllocation->hAllocation);

	pDescribeAllocation->Width = allocation->width;
	pDescribeAllocation->Height = allocation->height;
	if (allocation->width == 0) {
		if (allocation->size_bytes > MAXULONG)
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "an allocation of 0x%I64x bytes has no width of 32 bits",
					  allocation->size_bytes);
		pDescribeAllocation->Width = (UINT)allocation->size_bytes;
		pDescribeAllocation->Height = 1;
	}
	pDescribeAllocation->Format = (D3DDDIFORMAT)allocation->format;
	pDescribeAllocation->MultisampleMethod = (D3DDDI_MULTISAMPLINGMETHOD){ 0 };
	pDescribeAllocation->RefreshRate = (D3DDDI_RATIONAL){ 0 };
	pDescribeAllocation->PrivateDriverFormatAttribute = 0;
	pDescribeAllocation->Rotation = D3DDDI_ROTATION_IDENTITY;
	return STATUS_SUCCESS;
}

/* Whoever made it opens it first, and that opening needs no memory of its own. */
static struct gpu_opening *opening_take(struct gpu_allocation *allocation, BOOLEAN is_first)
{
	if (is_first && !allocation->first.allocation)
		return &allocation->first;
	struct gpu_opening *opening = gpu_pool_allocate(PagedPool, sizeof(*opening));
	if (opening)
		InterlockedIncrement(&allocation->live_other_openings);
	return opening;
}

static void opening_give(struct gpu_opening *opening)
{
	struct gpu_allocation *allocation = opening->allocation;

	opening->magic = GPU_MAGIC_DEAD;
	if (opening == &allocation->first)
		return;
	gpu_pool_free(opening);
	InterlockedDecrement(&allocation->live_other_openings);
}

static void count_openings(struct gpu_device *device, LONG change)
{
	WriteNoFence(&device->live_openings, ReadNoFence(&device->live_openings) + change);
}

/* The kernel's handle -> ours. Nobody destroys what is only being opened. */
static NTSTATUS opening_make(struct gpu_device *device, const DXGK_OPENALLOCATIONFLAGS *flags,
			     DXGK_OPENALLOCATIONINFO *info)
{
	DXGKARGCB_GETHANDLEDATA query = { .hObject = info->hAllocation,
					  .Type = DXGK_HANDLE_ALLOCATION };
	struct gpu_allocation *allocation =
		allocation_from(device->adapter->dxgk.DxgkCbGetHandleData(&query));

	if (!allocation)
		return gpu_refuse(STATUS_INVALID_HANDLE,
				  "handle 0x%x is no allocation that we made", info->hAllocation);
	struct gpu_opening *opening = opening_take(allocation, flags->Create);
	if (!opening)
		return gpu_refuse(STATUS_NO_MEMORY,
				  "there is no pool for an opening of handle 0x%x",
				  info->hAllocation);
	opening->magic = GPU_MAGIC_OPENING;
	opening->is_read_only = flags->ReadOnly;
	opening->allocation = allocation;
	opening->device = device;
	count_openings(device, 1);
	info->hDeviceSpecificAllocation = opening;
	return STATUS_SUCCESS;
}

static void opening_free(struct gpu_opening *opening)
{
	count_openings(opening->device, -1);
	opening_give(opening);
}

static DECLSPEC_NOINLINE NTSTATUS open_several(struct gpu_device *device,
					       const DXGKARG_OPENALLOCATION *args)
{
	UINT made = 0;

	for (; made < args->NumAllocations; made++) {
		NTSTATUS status = opening_make(device, &args->Flags, &args->pOpenAllocation[made]);
		if (!NT_SUCCESS(status)) {
			while (made > 0) {
				made--;
				opening_free(args->pOpenAllocation[made].hDeviceSpecificAllocation);
				args->pOpenAllocation[made].hDeviceSpecificAllocation = NULL;
			}
			return status;
		}
	}
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_open_allocation(IN_CONST_HANDLE hDevice,
				      IN_CONST_PDXGKARG_OPENALLOCATION pOpenAllocation)
{
	struct gpu_device *device = gpu_device_from(hDevice);
	const DXGKARG_OPENALLOCATION *args = pOpenAllocation;

	PAGED_CODE();

	if (!device || !args || (args->NumAllocations > 0 && !args->pOpenAllocation))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "OpenAllocation for device %p with arguments %p: one is missing",
				  hDevice, args);
	if (args->NumAllocations == 1)
		return opening_make(device, &args->Flags, args->pOpenAllocation);
	return open_several(device, args);
}

NTSTATUS APIENTRY gpu_close_allocation(IN_CONST_HANDLE hDevice,
				       IN_CONST_PDXGKARG_CLOSEALLOCATION pCloseAllocation)
{
	struct gpu_device *device = gpu_device_from(hDevice);
	const DXGKARG_CLOSEALLOCATION *args = pCloseAllocation;

	PAGED_CODE();

	if (!device || !args || (args->NumAllocations > 0 && !args->pOpenHandleList))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "CloseAllocation for device %p with arguments %p: one is missing",
				  hDevice, args);
	for (UINT i = 0; i < args->NumAllocations; i++) {
		struct gpu_opening *opening = gpu_opening_from(args->pOpenHandleList[i]);

		if (!opening || opening->device != device)
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "opening %u, %p, is none of device %p", i,
					  args->pOpenHandleList[i], hDevice);
	}
	for (UINT i = 0; i < args->NumAllocations; i++)
		opening_free(args->pOpenHandleList[i]);
	return STATUS_SUCCESS;
}
