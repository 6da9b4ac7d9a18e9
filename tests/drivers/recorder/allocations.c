/* SPDX-License-Identifier: MIT */
/*
 * allocations.c - allocations, the resources they come in, and their openings on devices.
 *
 *	CreateAllocation irql=0 count=2 resource=1      0: none, 1: a new one, 2: one it knows
 *	OpenAllocation irql=0 count=2 flags=1
 *	CloseAllocation irql=0 count=2
 *	DestroyAllocation irql=0 count=2 flags=1
 *
 * What it answers for element AnswerAt (all, when not given), from the AnswerFrom-th living
 * allocation on: Allocation.Size, .Alignment, …, see fill_answer(). FailElement refuses the group at
 * that element. NewResourceHandle gives a resource another handle whenever it may; NullResource
 * gives it none.
 */
#include "driver.h"

struct resource {
	ULONG magic;
	LONG allocations;
};

struct allocation {
	ULONG magic;
	struct adapter *adapter;
	LONG openings;
	ULONG has_resource;
};

struct opening {
	ULONG magic;
	HANDLE device;
	struct allocation *allocation;
};

/* ---- answers ---- */

static ULONG answer(const struct adapter *adapter, ULONG index, const char *name, ULONG otherwise)
{
	BOOLEAN is_wanted = setting("AnswerAt", index) == index &&
			    (ULONG)adapter->allocations >= setting("AnswerFrom", 0);

	return is_wanted ? setting(name, otherwise) : otherwise;
}

static const struct recorder_allocation *wish_of(const DXGK_ALLOCATIONINFO *info)
{
	return info->PrivateDriverDataSize >= sizeof(struct recorder_allocation)
		       ? info->pPrivateDriverData
		       : NULL;
}

static void fill_answer(const struct adapter *adapter, DXGK_ALLOCATIONINFO *info, ULONG index)
{
	const struct recorder_allocation *wish = wish_of(info);
	ULONG size = wish && wish->size_bytes ? wish->size_bytes : 65536;

	info->Size = ((SIZE_T)answer(adapter, index, "Allocation.SizeHigh", 0) << 32) +
		     answer(adapter, index, "Allocation.Size", size);
	info->Alignment = answer(adapter, index, "Allocation.Alignment", 4096);
	info->PitchAlignedSize = answer(adapter, index, "Allocation.PitchAlignedSize", 0);
	info->HintedBank.Value = 0;
	info->PreferredSegment.Value = answer(adapter, index, "Allocation.PreferredSegment", 1);
	info->SupportedReadSegmentSet =
		answer(adapter, index, "Allocation.SupportedReadSegmentSet", 3);
	info->SupportedWriteSegmentSet =
		answer(adapter, index, "Allocation.SupportedWriteSegmentSet", 3);
	info->EvictionSegmentSet = answer(adapter, index, "Allocation.EvictionSegmentSet", 0);
	info->Flags.Value =
		answer(adapter, index, "Allocation.Flags", wish && wish->flags ? wish->flags : 1);
	info->Flags2.Value = answer(adapter, index, "Allocation.Flags2", 0);
	info->AllocationPriority = answer(adapter, index, "Allocation.AllocationPriority",
					  D3DDDI_ALLOCATIONPRIORITY_NORMAL);
}

/* ---- resources ---- */

static struct resource *resource_create(struct adapter *adapter)
{
	struct resource *resource =
		ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*resource), RECORDER_TAG);

	if (resource) {
		resource->magic = MAGIC_RESOURCE;
		resource->allocations = 0;
		InterlockedIncrement(&adapter->resources);
	}
	return resource;
}

static void resource_free(struct adapter *adapter, struct resource *resource)
{
	resource->magic = MAGIC_GONE;
	ExFreePoolWithTag(resource, RECORDER_TAG);
	InterlockedDecrement(&adapter->resources);
}

static struct resource *resource_of(HANDLE handle)
{
	struct resource *resource = handle;

	if (resource && resource->magic != MAGIC_RESOURCE) {
		complain("a resource that is not the driver's (any more)");
		return NULL;
	}
	return resource;
}

/* Another handle for the same resource, when the test wants that; the old one is dead then. */
static struct resource *resource_rename(struct adapter *adapter, struct resource *resource)
{
	struct resource *renamed;

	if (!resource || !setting("NewResourceHandle", 0))
		return resource;
	renamed = resource_create(adapter);
	if (!renamed)
		return resource;
	renamed->allocations = resource->allocations;
	resource_free(adapter, resource);
	return renamed;
}

/* ---- create and destroy ---- */

static void allocation_free(struct allocation *allocation)
{
	struct adapter *adapter = allocation->adapter;

	allocation->magic = MAGIC_GONE;
	ExFreePoolWithTag(allocation, RECORDER_TAG);
	InterlockedDecrement(&adapter->allocations);
}

static NTSTATUS allocation_make(struct adapter *adapter, const DXGKARG_CREATEALLOCATION *args,
				ULONG index)
{
	DXGK_ALLOCATIONINFO *info = &args->pAllocationInfo[index];
	struct recorder_allocation *wish = (struct recorder_allocation *)wish_of(info);
	struct allocation *allocation;

	if (setting("FailElement", (ULONG)-1) == index)
		return (NTSTATUS)setting("FailStatus", (ULONG)STATUS_INVALID_PARAMETER);
	allocation = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*allocation), RECORDER_TAG);
	if (!allocation)
		return STATUS_NO_MEMORY;
	allocation->magic = MAGIC_ALLOCATION;
	allocation->adapter = adapter;
	allocation->openings = 0;
	allocation->has_resource = args->Flags.Resource;
	InterlockedIncrement(&adapter->allocations);
	fill_answer(adapter, info, index);
	info->hAllocation = allocation;
	if (wish)
		wish->created++;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY create_allocation(const HANDLE context, DXGKARG_CREATEALLOCATION *args)
{
	struct adapter *adapter = adapter_of(context);
	struct resource *resource = resource_of(args->hResource);
	BOOLEAN is_new = args->Flags.Resource && !args->hResource;
	NTSTATUS status = step("CreateAllocation");
	ULONG made = 0;

	note("CreateAllocation", "count", args->NumAllocations, "resource",
	     args->Flags.Resource + (args->hResource != NULL));
	if (args->PrivateDriverDataSize >= sizeof(ULONG))
		note("resource data", "value", *(const ULONG *)args->pPrivateDriverData, "size",
		     args->PrivateDriverDataSize);
	if (args->hResource && !args->Flags.Resource)
		complain("a resource handle without the resource flag");
	overrun("CreateAllocation", args->pAllocationInfo[0].pPrivateDriverData,
		args->pAllocationInfo[0].PrivateDriverDataSize);
	if (status != STATUS_SUCCESS)
		return status;
	if (is_new && !setting("NullResource", 0)) {
		resource = resource_create(adapter);
		if (!resource)
			return STATUS_NO_MEMORY;
	}
	while (NT_SUCCESS(status) && made < args->NumAllocations) {
		status = allocation_make(adapter, args, made);
		made += NT_SUCCESS(status);
	}
	if (!NT_SUCCESS(status)) {
		while (made > 0)
			allocation_free(args->pAllocationInfo[--made].hAllocation);
		if (is_new && resource)
			resource_free(adapter, resource);
		return status;
	}
	if (resource) {
		resource->allocations += (LONG)args->NumAllocations;
		args->hResource = is_new ? resource : resource_rename(adapter, resource);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_allocation(const HANDLE context,
					    const DXGKARG_DESTROYALLOCATION *args)
{
	struct adapter *adapter = adapter_of(context);
	struct resource *resource = resource_of(args->hResource);

	note("DestroyAllocation", "count", args->NumAllocations, "flags", args->Flags.Value);
	for (UINT i = 0; i < args->NumAllocations; i++) {
		struct allocation *allocation = args->pAllocationList[i];

		if (!allocation || allocation->magic != MAGIC_ALLOCATION) {
			complain("an allocation that is not the driver's (any more)");
			continue;
		}
		if (allocation->openings != 0)
			complain("an allocation is destroyed before it is closed");
		if (allocation->has_resource != (resource != NULL) && !setting("NullResource", 0))
			complain("an allocation is destroyed with another resource than its own");
		if (resource)
			resource->allocations--;
		allocation_free(allocation);
	}
	if (resource && args->Flags.DestroyResource) {
		if (resource->allocations != 0)
			complain("a resource is destroyed before what is in it");
		resource_free(adapter, resource);
	} else if (resource) {
		/* In and out, whatever the prototype says. */
		((DXGKARG_DESTROYALLOCATION *)args)->hResource = resource_rename(adapter, resource);
	}
	return step("DestroyAllocation");
}

/* ---- open and close ---- */

static PVOID handle_data(struct adapter *adapter, D3DKMT_HANDLE handle, DXGK_HANDLE_TYPE type,
			 ULONG flags)
{
	DXGKARGCB_GETHANDLEDATA data;

	data.hObject = handle;
	data.Type = type;
	data.Flags.Value = flags;
	return adapter->interface.DxgkCbGetHandleData(&data);
}

static NTSTATUS opening_make(HANDLE device, const DXGKARG_OPENALLOCATION *args, ULONG index)
{
	struct adapter *adapter = adapter_of_device(device);
	DXGK_OPENALLOCATIONINFO *info = &args->pOpenAllocation[index];
	struct recorder_allocation *wish = info->pPrivateDriverData;
	struct allocation *allocation =
		handle_data(adapter, info->hAllocation, DXGK_HANDLE_ALLOCATION, 0);
	struct opening *opening;

	if (!allocation || allocation->magic != MAGIC_ALLOCATION) {
		complain("a handle without data while it is opened");
		return STATUS_INVALID_HANDLE;
	}
	if (handle_data(adapter, info->hAllocation, DXGK_HANDLE_ALLOCATION, 1))
		complain("device specific data before the device has it open");
	if (setting("FailOpenElement", (ULONG)-1) == index)
		return STATUS_NO_MEMORY;
	if (setting("NullBindingAt", (ULONG)-1) == index) {
		info->hDeviceSpecificAllocation = NULL;
		return STATUS_SUCCESS;
	}
	opening = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*opening), RECORDER_TAG);
	if (!opening)
		return STATUS_NO_MEMORY;
	opening->magic = MAGIC_OPENING;
	opening->device = device;
	opening->allocation = allocation;
	InterlockedIncrement(&allocation->openings);
	InterlockedIncrement(&adapter->openings);
	info->hDeviceSpecificAllocation = opening;
	if (info->PrivateDriverDataSize >= sizeof(*wish) && args->Flags.Create)
		wish->opened++;
	return STATUS_SUCCESS;
}

static void opening_free(struct opening *opening)
{
	struct adapter *adapter = opening->allocation->adapter;

	InterlockedDecrement(&opening->allocation->openings);
	InterlockedDecrement(&adapter->openings);
	opening->magic = MAGIC_GONE;
	ExFreePoolWithTag(opening, RECORDER_TAG);
}

static NTSTATUS APIENTRY open_allocation(const HANDLE device, const DXGKARG_OPENALLOCATION *args)
{
	NTSTATUS status = step("OpenAllocation");
	ULONG made = 0;

	note("OpenAllocation", "count", args->NumAllocations, "flags", args->Flags.Value);
	if (args->PrivateDriverSize >= sizeof(ULONG))
		note("resource data", "value", *(const ULONG *)args->pPrivateDriverData, "size",
		     args->PrivateDriverSize);
	overrun("OpenAllocation", args->pOpenAllocation[0].pPrivateDriverData,
		args->pOpenAllocation[0].PrivateDriverDataSize);
	if (status != STATUS_SUCCESS)
		return status;
	while (NT_SUCCESS(status) && made < args->NumAllocations) {
		status = opening_make(device, args, made);
		made += NT_SUCCESS(status);
	}
	while (!NT_SUCCESS(status) && made > 0) {
		struct opening *opening = args->pOpenAllocation[--made].hDeviceSpecificAllocation;

		if (opening)
			opening_free(opening);
	}
	return status;
}

static NTSTATUS APIENTRY close_allocation(const HANDLE device, const DXGKARG_CLOSEALLOCATION *args)
{
	note("CloseAllocation", "count", args->NumAllocations, NULL, 0);
	adapter_of_device(device);
	for (UINT i = 0; i < args->NumAllocations; i++) {
		struct opening *opening = args->pOpenHandleList[i];

		if (!opening || opening->magic != MAGIC_OPENING)
			complain("an opening that is not the driver's (any more)");
		else if (opening->device != device)
			complain("an opening is closed on another device");
		else
			opening_free(opening);
	}
	return step("CloseAllocation");
}

void check_list(const DXGK_ALLOCATIONLIST *list, ULONG count)
{
	for (ULONG i = 0; i < count; i++) {
		const struct opening *opening = list[i].hDeviceSpecificAllocation;

		if (opening && opening->magic != MAGIC_OPENING)
			complain("a list with an opening that is not the driver's (any more)");
	}
}

static NTSTATUS APIENTRY get_standard_allocation_driver_data(
	const HANDLE context, DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args)
{
	struct recorder_allocation *wish = args->pAllocationPrivateDriverData;
	const D3DKMDT_GDISURFACEDATA *surface = args->pCreateGdiSurfaceData;
	NTSTATUS status = step("GetStandardAllocationDriverData");

	adapter_of(context);
	note("GetStandardAllocationDriverData", "type", args->StandardAllocationType, "width",
	     surface->Width);
	if (args->StandardAllocationType != D3DKMDT_STANDARDALLOCATION_GDISURFACE ||
	    surface->Height != 1 || surface->Type != D3DKMDT_GDISURFACE_TEXTURE_CROSSADAPTER)
		complain("a heap that does not look like a row of bytes");
	if (status != STATUS_SUCCESS)
		return status;
	args->AllocationPrivateDriverDataSize = setting("StandardAllocationBytes", sizeof(*wish));
	args->ResourcePrivateDriverDataSize = setting("StandardResourceBytes", 0);
	overrun("GetStandardAllocationDriverData", args->pResourcePrivateDriverData,
		args->ResourcePrivateDriverDataSize);
	if (wish) {
		wish->size_bytes = surface->Width;
		wish->flags = 0x11; /* CPU visible, existing memory */
	}
	return STATUS_SUCCESS;
}

/* ---- what a test asks about handles ---- */

static DXGKARG_RELEASE_HANDLE held;
static DXGKARG_RELEASE_HANDLE held_before; /* what the one in front of it was given */

/* 'A'llocation, 'O'pening, 'R'esource, 0 for nothing. */
static ULONG kind_of(const ULONG *data)
{
	if (!data)
		return 0;
	switch (*data) {
	case MAGIC_ALLOCATION:
		return 'A';
	case MAGIC_OPENING:
		return 'O';
	case MAGIC_RESOURCE:
		return 'R';
	default:
		return '?';
	}
}

static void release(struct adapter *adapter, ULONG type, DXGKARG_RELEASE_HANDLE hold)
{
	DXGKARGCB_RELEASEHANDLEDATA data;

	note("released", NULL, 0, NULL, 0);
	data.ReleaseHandle = hold;
	data.Type = (DXGK_HANDLE_TYPE)type;
	adapter->interface.DxgkCbReleaseHandleData(data);
}

static struct {
	struct adapter *adapter;
	ULONG type;
	PVOID thread;
} later;

/* Long enough for who waits to have begun it, when the time is virtual. */
static VOID NTAPI release_later(PVOID context)
{
	LARGE_INTEGER interval;

	interval.QuadPart = -10000;
	KeDelayExecutionThread(KernelMode, FALSE, &interval);
	release(later.adapter, later.type, held);
}

static void begin_release(struct adapter *adapter, ULONG type)
{
	HANDLE handle;

	later.adapter = adapter;
	later.type = type;
	if (!NT_SUCCESS(PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL,
					     release_later, NULL)))
		return;
	ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode,
				  &later.thread, NULL);
	ZwClose(handle);
}

void end_release(void)
{
	if (!later.thread)
		return;
	KeWaitForSingleObject(later.thread, Executive, KernelMode, FALSE, NULL);
	ObDereferenceObject(later.thread);
	later.thread = NULL;
}

static BOOLEAN do_command(struct adapter *adapter, struct recorder_escape *escape)
{
	DXGKARGCB_GETHANDLEDATA data;
	DXGKARGCB_ENUMHANDLECHILDREN children;

	switch (escape->command) {
	case RECORDER_GET_DATA:
		escape->result = kind_of(handle_data(
			adapter, escape->handle, (DXGK_HANDLE_TYPE)escape->type, escape->flags));
		return TRUE;
	case RECORDER_GET_PARENT:
		escape->result = adapter->interface.DxgkCbGetHandleParent(escape->handle);
		return TRUE;
	case RECORDER_GET_CHILD:
		children.hObject = escape->handle;
		children.Index = escape->flags;
		escape->result = adapter->interface.DxgkCbEnumHandleChildren(&children);
		return TRUE;
	case RECORDER_ACQUIRE:
		data.hObject = escape->handle;
		data.Type = (DXGK_HANDLE_TYPE)escape->type;
		data.Flags.Value = escape->flags;
		held_before = held;
		escape->result = kind_of(adapter->interface.DxgkCbAcquireHandleData(&data, &held));
		return TRUE;
	case RECORDER_RELEASE:
		release(adapter, escape->type, escape->flags ? held_before : held);
		return TRUE;
	case RECORDER_RELEASE_LATER:
		begin_release(adapter, escape->type);
		return TRUE;
	case RECORDER_COUNT:
		escape->allocations = (unsigned)adapter->allocations;
		escape->openings = (unsigned)adapter->openings;
		escape->resources = (unsigned)adapter->resources;
		return TRUE;
	default:
		return FALSE;
	}
}

BOOLEAN handle_command(struct adapter *adapter, struct recorder_escape *escape)
{
	BOOLEAN is_known;
	KIRQL irql;

	KeRaiseIrql((KIRQL)escape->irql, &irql);
	is_known = do_command(adapter, escape);
	KeLowerIrql(irql);
	return is_known;
}

void fill_in_allocations(DRIVER_INITIALIZATION_DATA *data)
{
	data->DxgkDdiCreateAllocation = create_allocation;
	data->DxgkDdiDestroyAllocation = destroy_allocation;
	data->DxgkDdiOpenAllocation = open_allocation;
	data->DxgkDdiCloseAllocation = close_allocation;
	data->DxgkDdiGetStandardAllocationDriverData = get_standard_allocation_driver_data;
}
