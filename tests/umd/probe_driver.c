/* SPDX-License-Identifier: MIT */
#include "umd/probe.h"

__attribute__((visibility("default"))) extern struct probe probe;
__attribute__((visibility("default"))) HRESULT APIENTRY OpenAdapter(D3DDDIARG_OPENADAPTER *args);

struct probe probe = { .version = D3D_UMD_INTERFACE_VERSION_WDDM2_1 };

/* Addresses, as those of real drivers are. */
static char my_adapter, my_device;

static HRESULT APIENTRY create_resource(HANDLE hDevice, D3DDDIARG_CREATERESOURCE *args)
{
	return hDevice == &my_device && args->hResource ? S_OK : E_INVALIDARG;
}

static HRESULT APIENTRY destroy_resource(HANDLE hDevice, HANDLE hResource)
{
	if (hDevice != &my_device)
		return E_INVALIDARG;
	return probe.in_destroy ? probe.in_destroy(hResource) : S_OK;
}

static HRESULT APIENTRY flush(HANDLE hDevice)
{
	if (hDevice != &my_device)
		return E_INVALIDARG;
	return probe.in_flush ? probe.in_flush() : S_OK;
}

static HRESULT APIENTRY trim(HANDLE hDevice, D3DDDIARG_TRIMRESIDENCYSET *args)
{
	if (hDevice != &my_device)
		return E_INVALIDARG;
	probe.trim = *args;
	probe.trim_count++;
	return S_OK;
}

static HRESULT APIENTRY destroy_device(HANDLE hDevice)
{
	probe.destroy_count++;
	return hDevice == &my_device ? S_OK : E_INVALIDARG;
}

static HRESULT APIENTRY create_device(HANDLE hAdapter, D3DDDIARG_CREATEDEVICE *args)
{
	if (hAdapter != &my_adapter || args->Interface != 9)
		return E_INVALIDARG;
	probe.device = args->hDevice;
	probe.callbacks = args->pCallbacks;
	probe.create_count++;
	args->hDevice = &my_device;
	args->pDeviceFuncs->pfnCreateResource = create_resource;
	args->pDeviceFuncs->pfnDestroyResource = destroy_resource;
	args->pDeviceFuncs->pfnFlush = flush;
	args->pDeviceFuncs->pfnTrimResidencySet = trim;
	if (probe.forgets != FORGETS_DESTROY_DEVICE)
		args->pDeviceFuncs->pfnDestroyDevice = destroy_device;
	return S_OK;
}

static HRESULT APIENTRY close_adapter(HANDLE hAdapter)
{
	return hAdapter == &my_adapter ? S_OK : E_INVALIDARG;
}

HRESULT APIENTRY OpenAdapter(D3DDDIARG_OPENADAPTER *args)
{
	probe.adapter = args->hAdapter;
	probe.adapter_callbacks = args->pAdapterCallbacks;
	args->hAdapter = &my_adapter;
	if (probe.forgets != FORGETS_CREATE_DEVICE)
		args->pAdapterFuncs->pfnCreateDevice = create_device;
	if (probe.forgets != FORGETS_CLOSE_ADAPTER)
		args->pAdapterFuncs->pfnCloseAdapter = close_adapter;
	args->DriverVersion = probe.version;
	return S_OK;
}
