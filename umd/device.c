/* SPDX-License-Identifier: MIT */
/*
 * device.c - a device of a driver, its resources, and memory that it is asked to give up.
 */
#include <stdlib.h>
#include <string.h>

#include "umd/runtime.h"

/* Nobody's handle is 0, and not found but in the first place; there is never a device, and one that has not even that. */
static struct dxgk_umd_device nobody;
static struct dxgk_umd_device not_even_null = { .handle = ~UINT64_C(0),
						.plain_handle = ~UINT64_C(0) };
struct dxgk_umd_device *_Atomic umd_devices[UMD_OWNERS] = { &not_even_null,
							    [1 ... UMD_OWNERS - 1] = &nobody };

/* Of another owner: found nowhere. */
static void hide_from_callbacks(struct dxgk_umd_device *device)
{
	atomic_store(&device->plain_handle, ~umd_handle(UMD_DEVICE, device->owner, 0, 0));
}

/* Who begins to watch says so first, and then comes here: one of the two sees the other. */
static void show_to_callbacks(struct dxgk_umd_device *device)
{
	uint64_t number = umd_handle(UMD_DEVICE, device->owner, ++device->generation, 0);

	atomic_store(&device->handle, number);
	atomic_store(&device->plain_handle, number);
	if (atomic_load(&umd_watched))
		hide_from_callbacks(device);
}

void umd_watch_devices(void)
{
	for (unsigned i = 1; i < UMD_OWNERS; i++) {
		struct dxgk_umd_device *device = atomic_load(&umd_devices[i]);

		if (device != &nobody)
			hide_from_callbacks(device);
	}
}

static struct dxgk_umd_device *take_device(void)
{
	for (unsigned i = 1; i < UMD_OWNERS; i++) {
		struct dxgk_umd_device *device = atomic_load(&umd_devices[i]);

		if (device == &nobody) {
			struct dxgk_umd_device *made = calloc(1, sizeof(*made));
			if (!made)
				return NULL;
			made->owner = i;
			if (atomic_compare_exchange_strong(&umd_devices[i], &device, made))
				device = made;
			else
				free(made);
		}
		if (!atomic_exchange(&device->is_taken, true))
			return device;
	}
	return NULL;
}

/* What is behind it ends with the kernel's device: so many resources, contexts and queues. */
static unsigned leave_device(struct dxgk_umd_device *device)
{
	D3DKMT_DESTROYDEVICE destroy = { device->kernel };

	atomic_store(&device->handle, 0);
	hide_from_callbacks(device);
	unsigned left = umd_handles_clear(&device->handles);
	if (device->kernel)
		(void)D3DKMTDestroyDevice(&destroy);
	device->kernel = 0;
	memset(&device->funcs, 0, sizeof(device->funcs));
	atomic_fetch_sub(&device->adapter->device_count, 1);
	atomic_store(&device->is_taken, false);
	return left;
}

/* ---- memory is short: the kernel tells the runtime, and that the driver ---- */

static VOID APIENTRY trim(D3DKMT_TRIMNOTIFICATION *notification)
{
	struct dxgk_umd_device *device = notification->Context;
	D3DDDIARG_TRIMRESIDENCYSET args = { .TrimFlags = notification->Flags,
					    .NumBytesToTrim = notification->NumBytesToTrim };

	umd_enter_ddi("pfnTrimResidencySet");
	(void)umd_leave_ddi(device->funcs.pfnTrimResidencySet(device->driver, &args));
}

static HRESULT register_trim(struct dxgk_umd_device *device)
{
	D3DKMT_REGISTERTRIMNOTIFICATION args = { .AdapterLuid = device->adapter->luid,
						 .hDevice = device->kernel,
						 .Callback = trim,
						 .Context = device };

	device->trim = NULL;
	if (device->adapter->version < D3D_UMD_INTERFACE_VERSION_WDDM2_0 ||
	    !device->funcs.pfnTrimResidencySet)
		return S_OK;
	HRESULT result = umd_answer(D3DKMTRegisterTrimNotification(&args), PLAIN);
	if (SUCCEEDED(result))
		device->trim = args.Handle;
	return result;
}

static void unregister_trim(struct dxgk_umd_device *device)
{
	D3DKMT_UNREGISTERTRIMNOTIFICATION args = { .Handle = device->trim };

	if (device->trim)
		(void)D3DKMTUnregisterTrimNotification(&args);
	device->trim = NULL;
}

/* ---- create and destroy ---- */

static HRESULT create_driver_device(struct dxgk_umd_device *device, UINT flags)
{
	D3DDDIARG_CREATEDEVICE args = {
		.hDevice = (HANDLE)(uintptr_t)atomic_load(&device->handle),
		.Interface = 9,
		.Version = D3D_UMD_INTERFACE_VERSION_WDDM2_1,
		.pCallbacks = &device->callbacks,
		.pDeviceFuncs = &device->funcs,
		.Flags.Value = flags,
	};

	umd_enter_ddi("pfnCreateDevice");
	HRESULT result = umd_leave_ddi(
		device->adapter->funcs.pfnCreateDevice(device->adapter->driver, &args));
	if (FAILED(result))
		return result;
	device->driver = args.hDevice;
	if (device->funcs.pfnDestroyDevice)
		return S_OK;
	umd_report(RULE_UMD_OPEN, UMD_NO_CALLBACK, "pDeviceFuncs", "has no pfnDestroyDevice");
	return E_FAIL;
}

static HRESULT destroy_driver_device(struct dxgk_umd_device *device)
{
	umd_enter_ddi("pfnDestroyDevice");
	return umd_leave_ddi(device->funcs.pfnDestroyDevice(device->driver));
}

EXPORTED HRESULT DxgkUmdCreateDevice(struct dxgk_umd_adapter *adapter, UINT flags,
				     struct dxgk_umd_device **device_out)
{
	if (!umd_is_open(adapter))
		return E_INVALIDARG;
	if (!device_out) {
		umd_report(RULE_UMD_OPEN, UMD_NO_CALLBACK, "device_out", "is NULL");
		return E_INVALIDARG;
	}
	D3DKMT_CREATEDEVICE kernel = { .hAdapter = adapter->kernel };
	struct dxgk_umd_device *device = take_device();
	if (!device)
		return E_OUTOFMEMORY;
	device->adapter = adapter;
	device->kernel_adapter = adapter->kernel;
	atomic_fetch_add(&adapter->device_count, 1);
	HRESULT result = E_OUTOFMEMORY;
	if (!umd_handles_init(&device->handles, device->owner))
		goto leave;
	if (umd_is_to_fail(UMD_CREATE_DEVICE, &result))
		goto leave;
	result = umd_answer(D3DKMTCreateDevice(&kernel), PLAIN);
	if (FAILED(result))
		goto leave;
	device->kernel = kernel.hDevice;
	umd_fill_callbacks(&device->callbacks, adapter->version);
	/* Before the driver's: it calls back from in there. */
	show_to_callbacks(device);
	result = create_driver_device(device, flags);
	if (FAILED(result))
		goto leave;
	result = register_trim(device);
	if (FAILED(result))
		goto destroy;
	*device_out = device;
	return S_OK;

destroy:
	(void)destroy_driver_device(device);
leave:
	(void)leave_device(device);
	return result;
}

EXPORTED HRESULT DxgkUmdDestroyDevice(struct dxgk_umd_device *device)
{
	HRESULT result;

	if (!device || atomic_load(&device->handle) == 0) {
		umd_report(RULE_UMD_HANDLE, UMD_NO_CALLBACK, "device", "%s",
			   device ? "is destroyed" : "is NULL");
		return E_INVALIDARG;
	}
	if (umd_is_to_fail(UMD_DESTROY_DEVICE, &result))
		return result;
	/* First: it is told nothing more while it goes. */
	unregister_trim(device);
	result = destroy_driver_device(device);
	unsigned left = leave_device(device);

	if (left > 0)
		umd_report(RULE_UMD_LEFT, UMD_NO_CALLBACK, "hDevice",
			   "has ended with %u resource%s, contexts or queues of it left", left,
			   left == 1 ? "" : "s");
	return result;
}

EXPORTED const D3DDDI_DEVICEFUNCS *DxgkUmdDeviceFuncs(const struct dxgk_umd_device *device)
{
	return &device->funcs;
}

EXPORTED HANDLE DxgkUmdDriverDevice(const struct dxgk_umd_device *device)
{
	return device->driver;
}

EXPORTED D3DKMT_HANDLE DxgkUmdKernelDevice(const struct dxgk_umd_device *device)
{
	return device->kernel;
}

EXPORTED void DxgkUmdEnter(struct dxgk_umd_device *device, const char *call)
{
	(void)device;
	umd_enter_ddi(call);
}

EXPORTED HRESULT DxgkUmdLeave(struct dxgk_umd_device *device, HRESULT result)
{
	(void)device;
	return umd_leave_ddi(result);
}

/* ---- resources ---- */

EXPORTED HRESULT DxgkUmdCreateResource(struct dxgk_umd_device *device,
				       D3DDDIARG_CREATERESOURCE *args,
				       struct dxgk_umd_resource *resource_out)
{
	struct umd_slot *slot;
	HANDLE handle;

	if (!device->funcs.pfnCreateResource)
		return E_NOTIMPL;
	slot = umd_slot_reserve(&device->handles, UMD_RESOURCE);
	if (!slot)
		return E_OUTOFMEMORY;
	atomic_store(&slot->next, args->Flags.SharedResource);
	handle = umd_slot_publish(slot, 0);
	args->hResource = handle;
	umd_enter_ddi("pfnCreateResource");
	HRESULT result = umd_leave_ddi(device->funcs.pfnCreateResource(device->driver, args));
	if (SUCCEEDED(result)) {
		*resource_out = (struct dxgk_umd_resource){ handle, args->hResource };
		return result;
	}
	/* What the driver allocated before it failed, it had to give back. */
	if (atomic_load(&slot->kernel) != 0)
		umd_report(RULE_UMD_LEFT, UMD_NO_CALLBACK, "hResource",
			   "was not created, and is not deallocated");
	if (umd_slot_claim(slot, handle))
		umd_slot_end(&device->handles, slot, UMD_RESOURCE);
	return result;
}

/* What the driver has forgotten. False: another thread is about it. */
static bool end_forgotten(struct dxgk_umd_device *device, const struct umd_slot *slot)
{
	D3DKMT_DESTROYALLOCATION2 kernel = { .hDevice = device->kernel,
					     .hResource = atomic_load(&slot->kernel) };

	if (kernel.hResource == 0)
		return true;
	if (kernel.hResource == UMD_KERNEL_BUSY) {
		umd_report(RULE_UMD_RESOURCE_BUSY, UMD_NO_CALLBACK, "resource",
			   "is being made, or ended, by another thread");
		return false;
	}
	umd_report(RULE_UMD_LEFT, UMD_NO_CALLBACK, "hResource",
		   "is destroyed, and the driver has not deallocated it");
	(void)D3DKMTDestroyAllocation2(&kernel);
	return true;
}

static HRESULT not_a_resource(const struct dxgk_umd_device *device,
			      const struct dxgk_umd_resource *resource)
{
	umd_report_handle(UMD_NO_CALLBACK, "resource", resource->runtime, UMD_RESOURCE, device);
	return E_INVALIDARG;
}

EXPORTED HRESULT DxgkUmdDestroyResource(struct dxgk_umd_device *device,
					struct dxgk_umd_resource *resource)
{
	if (!umd_slot_find(&device->handles, resource->runtime, UMD_RESOURCE) ||
	    !device->funcs.pfnDestroyResource)
		return not_a_resource(device, resource);
	umd_enter_ddi("pfnDestroyResource");
	HRESULT result =
		umd_leave_ddi(device->funcs.pfnDestroyResource(device->driver, resource->driver));
	if (FAILED(result))
		return result;
	/* Not before: the driver has named it to callbacks until now. */
	struct umd_slot *slot = umd_slot_at(&device->handles, resource->runtime, UMD_RESOURCE);
	if (!umd_slot_claim(slot, resource->runtime))
		return not_a_resource(device, resource);
	if (!end_forgotten(device, slot)) {
		umd_slot_put_back(slot);
		return E_INVALIDARG;
	}
	umd_slot_end(&device->handles, slot, UMD_RESOURCE);
	*resource = (struct dxgk_umd_resource){ NULL, NULL };
	return result;
}

EXPORTED D3DKMT_HANDLE DxgkUmdKernelResource(const struct dxgk_umd_device *device,
					     const struct dxgk_umd_resource *resource)
{
	const struct umd_slot *slot =
		umd_slot_find(&device->handles, resource->runtime, UMD_RESOURCE);
	uint32_t kernel = slot ? atomic_load(&slot->kernel) : 0;

	return kernel == UMD_KERNEL_BUSY ? 0 : kernel;
}
