/* SPDX-License-Identifier: MIT */
/*
 * adapter.c - a driver is loaded, and opened on an adapter.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "umd/runtime.h"

struct dxgk_umd_adapter *_Atomic umd_adapters[UMD_OWNERS];

/* The interface that is spoken, and the newest version of it that is known. */
enum { INTERFACE = 9, RUNTIME_VERSION = D3D_UMD_INTERFACE_VERSION_WDDM2_1 };

static struct dxgk_umd_adapter *take_adapter(void)
{
	for (unsigned i = 0; i < UMD_OWNERS; i++) {
		struct dxgk_umd_adapter *adapter = atomic_load(&umd_adapters[i]);

		if (!adapter) {
			struct dxgk_umd_adapter *made = calloc(1, sizeof(*made));
			if (!made)
				return NULL;
			made->owner = i;
			if (atomic_compare_exchange_strong(&umd_adapters[i], &adapter, made))
				adapter = made;
			else
				free(made);
		}
		if (!atomic_exchange(&adapter->is_taken, true))
			return adapter;
	}
	return NULL;
}

static void leave_adapter(struct dxgk_umd_adapter *adapter)
{
	D3DKMT_CLOSEADAPTER close = { adapter->kernel };

	atomic_store(&adapter->handle, 0);
	if (adapter->kernel)
		(void)D3DKMTCloseAdapter(&close);
	if (adapter->library)
		dlclose(adapter->library);
	adapter->kernel = 0;
	adapter->library = NULL;
	memset(&adapter->funcs, 0, sizeof(adapter->funcs));
	atomic_store(&adapter->is_taken, false);
}

/* ---- what a driver asks about its adapter ---- */

static HRESULT query(HANDLE handle, VOID *data, UINT size_bytes)
{
	struct dxgk_umd_adapter *adapter = umd_adapter_find(handle);

	if (!adapter) {
		umd_report_handle(UMD_NO_CALLBACK, "hAdapter", handle, UMD_ADAPTER, NULL);
		return E_INVALIDARG;
	}
	D3DKMT_QUERYADAPTERINFO kernel = {
		.hAdapter = adapter->kernel,
		.Type = KMTQAITYPE_UMDRIVERPRIVATE,
		.pPrivateDriverData = data,
		.PrivateDriverDataSize = size_bytes,
	};
	return umd_answer(D3DKMTQueryAdapterInfo(&kernel), PLAIN);
}

static HRESULT APIENTRY query_adapter_info(HANDLE handle, CONST D3DDDICB_QUERYADAPTERINFO *args)
{
	return args ? query(handle, args->pPrivateDriverData, args->PrivateDriverDataSize)
		    : E_INVALIDARG;
}

static HRESULT APIENTRY query_adapter_info2(HANDLE handle, D3DDDICB_QUERYADAPTERINFO2 *args)
{
	if (!args)
		return E_INVALIDARG;
	if (args->QueryType == D3DDDI_QUERYADAPTERTYPE_DRIVERPRIVATE)
		return query(handle, args->pPrivateDriverData, args->PrivateDriverDataSize);
	umd_report(RULE_UMD_NOT_BUILT, UMD_NO_CALLBACK, "QueryType",
		   "is %d; only what the miniport tells is there, no registry",
		   (int)args->QueryType);
	return E_NOTIMPL;
}

static HRESULT APIENTRY get_multisample_methods(HANDLE handle,
						D3DDDICB_GETMULTISAMPLEMETHODLIST *args)
{
	(void)args;
	if (!umd_adapter_find(handle)) {
		umd_report_handle(UMD_NO_CALLBACK, "hAdapter", handle, UMD_ADAPTER, NULL);
		return E_INVALIDARG;
	}
	umd_report(RULE_UMD_DISPLAY, UMD_NO_CALLBACK, "VidPnSourceId",
		   "is asked about; there is no screen");
	return E_NOTIMPL;
}

void umd_fill_adapter_callbacks(D3DDDI_ADAPTERCALLBACKS *table)
{
	table->pfnQueryAdapterInfoCb = query_adapter_info;
	table->pfnGetMultisampleMethodListCb = get_multisample_methods;
	table->pfnQueryAdapterInfoCb2 = query_adapter_info2;
}

/* ---- open and close ---- */

/* What has ended stays where it was, so that this can be said of it. */
bool umd_is_open(const struct dxgk_umd_adapter *adapter)
{
	if (adapter && atomic_load(&adapter->handle) != 0)
		return true;
	umd_report(RULE_UMD_HANDLE, UMD_NO_CALLBACK, "adapter", "%s",
		   adapter ? "is closed" : "is NULL");
	return false;
}

static HRESULT load(struct dxgk_umd_adapter *adapter, const char *path,
		    PFND3DDDI_OPENADAPTER *open_out)
{
	adapter->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!adapter->library) {
		umd_report(RULE_UMD_OPEN, UMD_NO_CALLBACK, "driver_path", "is not loaded: %s",
			   dlerror());
		return E_INVALIDARG;
	}
	/* dlsym() returns what a function pointer cannot be cast from. */
	void *symbol = dlsym(adapter->library, "OpenAdapter");
	memcpy(open_out, &symbol, sizeof(symbol));
	if (symbol)
		return S_OK;
	umd_report(RULE_UMD_OPEN, UMD_NO_CALLBACK, "driver_path",
		   "is %s, which has no function OpenAdapter", path);
	return E_INVALIDARG;
}

/* Of a driver that succeeded: what is wanting all the same. */
static void report_opened(const struct dxgk_umd_adapter *adapter, UINT version)
{
	if (version < D3D_UMD_INTERFACE_VERSION_VISTA)
		umd_report(RULE_UMD_OPEN, UMD_NO_CALLBACK, "DriverVersion",
			   "is 0x%x; Windows Vista's, the oldest, is 0x%x", version,
			   D3D_UMD_INTERFACE_VERSION_VISTA);
	else
		umd_report(RULE_UMD_OPEN, UMD_NO_CALLBACK, "pAdapterFuncs", "has no %s",
			   adapter->funcs.pfnCreateDevice ? "pfnCloseAdapter" : "pfnCreateDevice");
}

static HRESULT open_driver(struct dxgk_umd_adapter *adapter, PFND3DDDI_OPENADAPTER open)
{
	D3DDDIARG_OPENADAPTER args = {
		.hAdapter = (HANDLE)(uintptr_t)atomic_load(&adapter->handle),
		.Interface = INTERFACE,
		.Version = RUNTIME_VERSION,
		.pAdapterCallbacks = &adapter->callbacks,
		.pAdapterFuncs = &adapter->funcs,
	};

	umd_enter_ddi("OpenAdapter");
	HRESULT result = umd_leave_ddi(open(&args));
	if (FAILED(result))
		return result;
	adapter->driver = args.hAdapter;
	adapter->version = args.DriverVersion;
	if (adapter->funcs.pfnCreateDevice && adapter->funcs.pfnCloseAdapter &&
	    args.DriverVersion >= D3D_UMD_INTERFACE_VERSION_VISTA)
		return S_OK;
	report_opened(adapter, args.DriverVersion);
	return E_FAIL;
}

EXPORTED HRESULT DxgkUmdOpenAdapter(const char *driver_path, LUID adapter_luid,
				    struct dxgk_umd_adapter **adapter_out)
{
	D3DKMT_OPENADAPTERFROMLUID kernel = { .AdapterLuid = adapter_luid };
	PFND3DDDI_OPENADAPTER open;

	umd_read_environment();
	if (!driver_path || !adapter_out) {
		umd_report(RULE_UMD_OPEN, UMD_NO_CALLBACK,
			   driver_path ? "adapter_out" : "driver_path", "is NULL");
		return E_INVALIDARG;
	}
	struct dxgk_umd_adapter *adapter = take_adapter();
	if (!adapter)
		return E_OUTOFMEMORY;
	adapter->luid = adapter_luid;
	umd_fill_adapter_callbacks(&adapter->callbacks);
	HRESULT result = umd_answer(D3DKMTOpenAdapterFromLuid(&kernel), PLAIN);
	if (FAILED(result))
		goto leave;
	adapter->kernel = kernel.hAdapter;
	result = load(adapter, driver_path, &open);
	if (FAILED(result))
		goto leave;
	atomic_store(&adapter->handle,
		     umd_handle(UMD_ADAPTER, adapter->owner, ++adapter->generation, 0));
	result = open_driver(adapter, open);
	if (FAILED(result))
		goto leave;
	*adapter_out = adapter;
	return S_OK;

leave:
	leave_adapter(adapter);
	return result;
}

EXPORTED HRESULT DxgkUmdCloseAdapter(struct dxgk_umd_adapter *adapter)
{
	if (!umd_is_open(adapter))
		return E_INVALIDARG;
	uint32_t count = atomic_load(&adapter->device_count);
	if (count > 0) {
		umd_report(RULE_UMD_LEFT, UMD_NO_CALLBACK, "adapter", "still has %u device%s",
			   count, count == 1 ? "" : "s");
		return E_INVALIDARG;
	}
	umd_enter_ddi("pfnCloseAdapter");
	HRESULT result = umd_leave_ddi(adapter->funcs.pfnCloseAdapter(adapter->driver));
	leave_adapter(adapter);
	return result;
}
