/* SPDX-License-Identifier: MIT */
/*
 * softumd.c - a user-mode driver for the software GPU, small enough to read: surfaces of 32-bit pixels, filled rectangle by
 * rectangle. It speaks to the runtime only, through the callbacks of <dxg/d3dumddi.h>, and links to nothing.
 *
 *	CreateResource   memory, resident, at a GPU address
 *	Clear, ColorFill commands into a buffer, one fill for each row of a rectangle
 *	Flush            the buffer is submitted; a fence is written behind it
 *	Lock             waits for that fence, then the bytes
 *	DestroyResource  waits, gives back the address, then the memory
 */
#include <dxg/d3dumddi.h>
#include <opendxgk/softgpu.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, COMMAND_BYTES = 65536 };

struct adapter {
	HANDLE runtime;
};

struct resource {
	HANDLE runtime;
	D3DKMT_HANDLE allocation;
	UINT64 address;
	UINT64 size_bytes;
	UINT width, height, pitch;
};

struct device {
	HANDLE runtime;
	const D3DDDI_DEVICECALLBACKS *callbacks;
	HANDLE context;
	D3DKMT_HANDLE paging_queue, paging_fence;

	/* What is written behind each submission, and by which one last. */
	D3DKMT_HANDLE fence;
	UINT64 fence_address;
	UINT64 submitted;

	D3DKMT_HANDLE commands;
	UINT64 commands_address;
	unsigned char *bytes;
	UINT used;

	struct resource *target;
};

/* ---- memory ---- */

static HRESULT wait_for(struct device *device, D3DKMT_HANDLE fence, UINT64 value)
{
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .FenceValueArray = &value };

	return device->callbacks->pfnWaitForSynchronizationObjectFromCpuCb(device->runtime, &wait);
}

/* Of these two the GPU may see the memory when the paging queue has come that far. */
static HRESULT paged(struct device *device, HRESULT result, UINT64 value)
{
	return result == E_PENDING ? wait_for(device, device->paging_fence, value) : result;
}

static HRESULT show_to_gpu(struct device *device, D3DKMT_HANDLE allocation, UINT64 size_bytes,
			   UINT64 *address_out)
{
	D3DDDI_MAKERESIDENT resident = { .hPagingQueue = device->paging_queue,
					 .NumAllocations = 1,
					 .AllocationList = &allocation };
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = device->paging_queue,
					    .hAllocation = allocation,
					    .SizeInPages = size_bytes / PAGE,
					    .Protection.Write = 1 };
	HRESULT result = device->callbacks->pfnMakeResidentCb(device->runtime, &resident);

	result = paged(device, result, resident.PagingFenceValue);
	if (FAILED(result))
		return result;
	result = device->callbacks->pfnMapGpuVirtualAddressCb(device->runtime, &map);
	result = paged(device, result, map.PagingFenceValue);
	if (SUCCEEDED(result))
		*address_out = map.VirtualAddress;
	return result;
}

static HRESULT deallocate(struct device *device, HANDLE resource, const D3DKMT_HANDLE *allocation)
{
	D3DDDICB_DEALLOCATE args = { .hResource = resource,
				     .NumAllocations = resource ? 0 : 1,
				     .HandleList = resource ? NULL : allocation };

	return device->callbacks->pfnDeallocateCb(device->runtime, &args);
}

/* A whole number of pages, for a resource of the runtime or (NULL) for the driver itself. */
static HRESULT allocate(struct device *device, HANDLE resource, UINT64 size_bytes, UINT flags,
			D3DKMT_HANDLE *allocation_out, UINT64 *address_out)
{
	struct softgpu_allocation wanted = { .version = SOFTGPU_ALLOCATION_VERSION,
					     .flags = SOFTGPU_CPU_VISIBLE | flags,
					     .size_bytes = size_bytes };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &wanted,
					.PrivateDriverDataSize = sizeof(wanted) };
	D3DDDICB_ALLOCATE args = { .hResource = resource,
				   .NumAllocations = 1,
				   .pAllocationInfo2 = &info };
	HRESULT result = device->callbacks->pfnAllocateCb(device->runtime, &args);

	if (FAILED(result))
		return result;
	result = show_to_gpu(device, info.hAllocation, size_bytes, address_out);
	if (FAILED(result)) {
		(void)deallocate(device, resource, &info.hAllocation);
		return result;
	}
	*allocation_out = info.hAllocation;
	return result;
}

/* ---- commands ---- */

static HRESULT submit(struct device *device)
{
	struct softgpu_write64 end = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_WRITE64, sizeof(end) },
		.destination.virtual_address = device->fence_address,
		.value = device->submitted + 1,
	};
	D3DDDICB_SUBMITCOMMAND args = { .Commands = device->commands_address,
					.BroadcastContextCount = 1,
					.BroadcastContext = { device->context } };

	if (device->used == 0)
		return S_OK;
	memcpy(device->bytes + device->used, &end, sizeof(end));
	args.CommandLength = device->used + (UINT)sizeof(end);
	device->used = 0;
	HRESULT result = device->callbacks->pfnSubmitCommandCb(device->runtime, &args);
	if (SUCCEEDED(result))
		device->submitted++;
	return result;
}

static HRESULT finish(struct device *device)
{
	HRESULT result = submit(device);

	return SUCCEEDED(result) ? wait_for(device, device->fence, device->submitted) : result;
}

static HRESULT put_fill(struct device *device, UINT64 address, UINT64 size_bytes, UINT color)
{
	struct softgpu_fill fill = { .header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL,
						 sizeof(fill) },
				     .destination.virtual_address = address,
				     .size_bytes = size_bytes,
				     .pattern = color };
	HRESULT result = S_OK;

	/* There is one buffer: what the GPU still reads is not written over. */
	if (device->used == 0)
		result = wait_for(device, device->fence, device->submitted);
	else if (device->used + sizeof(fill) + sizeof(struct softgpu_write64) > COMMAND_BYTES)
		result = finish(device);
	if (FAILED(result))
		return result;
	memcpy(device->bytes + device->used, &fill, sizeof(fill));
	device->used += (UINT)sizeof(fill);
	return S_OK;
}

static HRESULT fill_rectangle(struct device *device, const struct resource *resource,
			      const RECT *rectangle, UINT color)
{
	HRESULT result = S_OK;

	if (rectangle->left < 0 || rectangle->top < 0 || rectangle->left > rectangle->right ||
	    rectangle->right > (LONG)resource->width || rectangle->bottom > (LONG)resource->height)
		return E_INVALIDARG;
	if (rectangle->left == rectangle->right)
		return S_OK;
	for (LONG y = rectangle->top; y < rectangle->bottom && SUCCEEDED(result); y++)
		result = put_fill(device,
				  resource->address + (UINT64)y * resource->pitch +
					  (UINT64)rectangle->left * 4,
				  (UINT64)(rectangle->right - rectangle->left) * 4, color);
	return result;
}

/* ---- what the runtime calls ---- */

static HRESULT APIENTRY create_resource(HANDLE hDevice, D3DDDIARG_CREATERESOURCE *args)
{
	struct device *device = hDevice;

	if (args->SurfCount != 1 || args->pSurfList->Width == 0 || args->pSurfList->Height == 0 ||
	    args->pSurfList->Width > 16384 || args->pSurfList->Height > 16384 ||
	    (args->Format != D3DDDIFMT_A8R8G8B8 && args->Format != D3DDDIFMT_X8R8G8B8))
		return E_INVALIDARG;
	struct resource *resource = calloc(1, sizeof(*resource));
	if (!resource)
		return E_OUTOFMEMORY;
	resource->runtime = args->hResource;
	resource->width = args->pSurfList->Width;
	resource->height = args->pSurfList->Height;
	resource->pitch = resource->width * 4;
	resource->size_bytes =
		((UINT64)resource->pitch * resource->height + PAGE - 1) / PAGE * PAGE;
	HRESULT result = allocate(device, resource->runtime, resource->size_bytes, 0,
				  &resource->allocation, &resource->address);
	if (FAILED(result)) {
		free(resource);
		return result;
	}
	args->hResource = resource;
	return S_OK;
}

static HRESULT APIENTRY destroy_resource(HANDLE hDevice, HANDLE hResource)
{
	struct device *device = hDevice;
	struct resource *resource = hResource;
	D3DDDICB_FREEGPUVIRTUALADDRESS address = { resource->address, resource->size_bytes };

	HRESULT result = finish(device);
	if (SUCCEEDED(result) && resource->address) {
		result = device->callbacks->pfnFreeGpuVirtualAddressCb(device->runtime, &address);
		if (SUCCEEDED(result))
			resource->address = 0;
	}
	if (SUCCEEDED(result))
		result = deallocate(device, resource->runtime, NULL);
	if (FAILED(result))
		return result;
	if (device->target == resource)
		device->target = NULL;
	free(resource);
	return result;
}

static HRESULT APIENTRY set_render_target(HANDLE hDevice, const D3DDDIARG_SETRENDERTARGET *args)
{
	struct device *device = hDevice;

	if (args->RenderTargetIndex != 0 || args->SubResourceIndex != 0)
		return E_INVALIDARG;
	device->target = args->hRenderTarget;
	return S_OK;
}

static HRESULT APIENTRY clear(HANDLE hDevice, const D3DDDIARG_CLEAR *args, UINT count,
			      const RECT *rectangles)
{
	struct device *device = hDevice;
	HRESULT result = S_OK;

	if (!device->target || args->Flags != 1)
		return E_INVALIDARG;
	RECT all = { 0, 0, (LONG)device->target->width, (LONG)device->target->height };
	if (count == 0)
		return fill_rectangle(device, device->target, &all, args->FillColor);
	for (UINT i = 0; i < count && SUCCEEDED(result); i++)
		result = fill_rectangle(device, device->target, &rectangles[i], args->FillColor);
	return result;
}

static HRESULT APIENTRY color_fill(HANDLE hDevice, const D3DDDIARG_COLORFILL *args)
{
	return args->SubResourceIndex == 0
		       ? fill_rectangle(hDevice, args->hResource, &args->DstRect, args->Color)
		       : E_INVALIDARG;
}

static HRESULT APIENTRY flush(HANDLE hDevice)
{
	return submit(hDevice);
}

static HRESULT APIENTRY lock(HANDLE hDevice, D3DDDIARG_LOCK *args)
{
	struct device *device = hDevice;
	struct resource *resource = args->hResource;
	D3DDDICB_LOCK2 lock2 = { .hAllocation = resource->allocation };

	HRESULT result = finish(device);
	if (SUCCEEDED(result))
		result = device->callbacks->pfnLock2Cb(device->runtime, &lock2);
	if (FAILED(result))
		return result;
	args->pSurfData = lock2.pData;
	args->Pitch = resource->pitch;
	args->SlicePitch = resource->pitch * resource->height;
	return S_OK;
}

static HRESULT APIENTRY unlock(HANDLE hDevice, const D3DDDIARG_UNLOCK *args)
{
	struct device *device = hDevice;
	struct resource *resource = args->hResource;
	D3DDDICB_UNLOCK2 unlock2 = { resource->allocation };

	return device->callbacks->pfnUnlock2Cb(device->runtime, &unlock2);
}

static HRESULT APIENTRY destroy_device(HANDLE hDevice)
{
	struct device *device = hDevice;
	D3DDDICB_DESTROYCONTEXT context = { device->context };
	D3DDDI_DESTROYPAGINGQUEUE queue = { device->paging_queue };
	D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT fence = { device->fence };
	D3DDDICB_FREEGPUVIRTUALADDRESS address = { device->commands_address, COMMAND_BYTES };
	HRESULT first = S_OK;
	HRESULT result;

	/* In the order opposite to the one it was made in; the first failure is told, the rest goes on. */
#define STEP(is_there, call)                                                                       \
	if (is_there) {                                                                            \
		result = (call);                                                                   \
		first = FAILED(first) ? first : result;                                            \
	}
	STEP(device->bytes, finish(device))
	STEP(device->commands,
	     device->callbacks->pfnFreeGpuVirtualAddressCb(device->runtime, &address))
	STEP(device->commands, deallocate(device, NULL, &device->commands))
	STEP(device->fence,
	     device->callbacks->pfnDestroySynchronizationObjectCb(device->runtime, &fence))
	STEP(device->context, device->callbacks->pfnDestroyContextCb(device->runtime, &context))
	STEP(device->paging_queue,
	     device->callbacks->pfnDestroyPagingQueueCb(device->runtime, &queue))
#undef STEP
	free(device);
	return first;
}

static HRESULT begin_device(struct device *device)
{
	D3DDDICB_CREATEPAGINGQUEUE queue = { 0 };
	D3DDDICB_CREATECONTEXTVIRTUAL context = { 0 };
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };
	D3DDDICB_LOCK2 lock2 = { 0 };

	HRESULT result = device->callbacks->pfnCreatePagingQueueCb(device->runtime, &queue);
	if (FAILED(result))
		return result;
	device->paging_queue = queue.hPagingQueue;
	device->paging_fence = queue.hSyncObject;
	result = device->callbacks->pfnCreateContextVirtualCb(device->runtime, &context);
	if (FAILED(result))
		return result;
	device->context = context.hContext;
	result = device->callbacks->pfnCreateSynchronizationObject2Cb(device->runtime, &fence);
	if (FAILED(result))
		return result;
	device->fence = fence.hSyncObject;
	device->fence_address = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
	result = allocate(device, NULL, COMMAND_BYTES, SOFTGPU_SYSTEM_ONLY, &device->commands,
			  &device->commands_address);
	if (FAILED(result))
		return result;
	lock2.hAllocation = device->commands;
	result = device->callbacks->pfnLock2Cb(device->runtime, &lock2);
	device->bytes = lock2.pData;
	return result;
}

static HRESULT APIENTRY create_device(HANDLE hAdapter, D3DDDIARG_CREATEDEVICE *args)
{
	struct device *device = calloc(1, sizeof(*device));

	(void)hAdapter;
	if (!device)
		return E_OUTOFMEMORY;
	device->runtime = args->hDevice;
	device->callbacks = args->pCallbacks;
	HRESULT result = begin_device(device);
	if (FAILED(result)) {
		(void)destroy_device(device);
		return result;
	}
	args->hDevice = device;
	args->pDeviceFuncs->pfnCreateResource = create_resource;
	args->pDeviceFuncs->pfnDestroyResource = destroy_resource;
	args->pDeviceFuncs->pfnSetRenderTarget = set_render_target;
	args->pDeviceFuncs->pfnClear = clear;
	args->pDeviceFuncs->pfnColorFill = color_fill;
	args->pDeviceFuncs->pfnFlush = flush;
	args->pDeviceFuncs->pfnLock = lock;
	args->pDeviceFuncs->pfnUnlock = unlock;
	args->pDeviceFuncs->pfnDestroyDevice = destroy_device;
	return S_OK;
}

static HRESULT APIENTRY close_adapter(HANDLE hAdapter)
{
	free(hAdapter);
	return S_OK;
}

__attribute__((visibility("default"))) HRESULT APIENTRY OpenAdapter(D3DDDIARG_OPENADAPTER *args);

HRESULT APIENTRY OpenAdapter(D3DDDIARG_OPENADAPTER *args)
{
	struct softgpu_adapter_info info;
	D3DDDICB_QUERYADAPTERINFO query = { &info, sizeof(info) };
	HRESULT result = args->pAdapterCallbacks->pfnQueryAdapterInfoCb(args->hAdapter, &query);

	if (FAILED(result))
		return result;
	/* Commands have addresses: a GPU with page tables is needed. */
	if (info.version != SOFTGPU_ADAPTER_INFO_VERSION ||
	    info.address_model != SOFTGPU_MODEL_GPUMMU)
		return E_FAIL;
	struct adapter *adapter = calloc(1, sizeof(*adapter));
	if (!adapter)
		return E_OUTOFMEMORY;
	adapter->runtime = args->hAdapter;
	args->hAdapter = adapter;
	args->pAdapterFuncs->pfnCreateDevice = create_device;
	args->pAdapterFuncs->pfnCloseAdapter = close_adapter;
	args->DriverVersion = D3D_UMD_INTERFACE_VERSION_WDDM2_0;
	return S_OK;
}
