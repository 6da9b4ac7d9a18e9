/* SPDX-License-Identifier: MIT */
/*
 * umd.h - a Direct3D runtime for user-mode drivers: libdxgkumd.so.
 *
 * Opens a user-mode display driver as the Direct3D 9 runtime does (OpenAdapter, CreateDevice), gives it the callback table
 * of <dxg/d3dumddi.h>, and calls D3DKMT for it. It draws nothing by itself: a program calls the driver's functions.
 *
 *	struct dxgk_umd_adapter *adapter;
 *	struct dxgk_umd_device *device;
 *
 *	DxgkUmdOpenAdapter("./driver.so", luid, &adapter);
 *	DxgkUmdCreateDevice(adapter, 0, &device);
 *	hr = DXGK_UMD_CALL(device, pfnFlush(DxgkUmdDriverDevice(device)));
 *
 * A driver that mixes up handles, or hides a failure, is reported (docs/umd.md).
 */
#ifndef OPENDXGK_UMD_H
#define OPENDXGK_UMD_H

#include <dxg/d3dkmthk.h>
#include <dxg/d3dumddi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dxgk_umd_adapter;
struct dxgk_umd_device;

/*
 * The driver is a shared object with the name OpenAdapter. The adapter is opened for the runtime's own use, and closed
 * with it. Closing wants all devices gone, else E_INVALIDARG.
 */
HRESULT DxgkUmdOpenAdapter(const char *driver_path, LUID adapter_luid,
			   struct dxgk_umd_adapter **adapter_out);
HRESULT DxgkUmdCloseAdapter(struct dxgk_umd_adapter *adapter);

/* Flags are D3DDDI_CREATEDEVICEFLAGS.Value. What the driver left behind is reported, and ends with the device. */
HRESULT DxgkUmdCreateDevice(struct dxgk_umd_adapter *adapter, UINT flags,
			    struct dxgk_umd_device **device_out);
HRESULT DxgkUmdDestroyDevice(struct dxgk_umd_device *device);

/* The driver's functions, and its own handle, for the first argument of each. */
const D3DDDI_DEVICEFUNCS *DxgkUmdDeviceFuncs(const struct dxgk_umd_device *device);
HANDLE DxgkUmdDriverDevice(const struct dxgk_umd_device *device);

/*
 * Calls one of them, `function(arguments)`, so that what it does in callbacks is known to be its: the result is the
 * driver's. One that the driver has not is E_NOTIMPL.
 */
void DxgkUmdEnter(struct dxgk_umd_device *device, const char *call);
HRESULT DxgkUmdLeave(struct dxgk_umd_device *device, HRESULT result);
#define DXGK_UMD_CALL(device, call)                                                                \
	(DxgkUmdEnter((device), #call), DxgkUmdLeave((device), DxgkUmdDeviceFuncs(device)->call))

/* A resource has two handles: the runtime's, which callbacks take, and the driver's, which its functions take. */
struct dxgk_umd_resource {
	HANDLE runtime;
	HANDLE driver;
};

/*
 * pfnCreateResource with a handle of the runtime; args->hResource is the driver's afterwards. With
 * Flags.SharedResource what is allocated for it can be shared by D3DKMTShareObjects.
 */
HRESULT DxgkUmdCreateResource(struct dxgk_umd_device *device, D3DDDIARG_CREATERESOURCE *args,
			      struct dxgk_umd_resource *resource_out);
/* pfnDestroyResource; a resource that the driver then has not deallocated is reported, and ended. */
HRESULT DxgkUmdDestroyResource(struct dxgk_umd_device *device, struct dxgk_umd_resource *resource);

/* The kernel's handles behind: of the device, and of a resource (0: nothing is allocated for it). */
D3DKMT_HANDLE DxgkUmdKernelDevice(const struct dxgk_umd_device *device);
D3DKMT_HANDLE DxgkUmdKernelResource(const struct dxgk_umd_device *device,
				    const struct dxgk_umd_resource *resource);

/*
 * The n-th call from now on of a callback ("Allocate"; any device and thread) does nothing and answers `result`. 0: there
 * is no such callback. "CreateDevice" and "DestroyDevice" are the runtime's own calls: the driver is not called then. Stop tells whether it came to that. DXGK_UMD_FAIL=Allocate:1:0x8007000e does the same from outside,
 * when an adapter is opened.
 */
int DxgkUmdFailNth(const char *callback, unsigned long long n, HRESULT result);
int DxgkUmdFailStop(void);

/* What a driver is reported for, on the thread that does it. Texts are the listener's until it returns. */
struct dxgk_umd_report {
	const char *rule;     /* "UMD-HANDLE-WORLD"; docs/rules.md */
	const char *callback; /* "pfnLock2Cb"; empty: none */
	const char *ddi;      /* "pfnLock", the driver's function the thread is in; empty: none */
	const char *argument; /* "hAllocation"; empty: it is not about one */
	const char *sentence;
};
/* NULL: reports are printed to stderr, as they are at first. Not while a driver is in a callback. */
void DxgkUmdListen(void (*listener)(void *context, const struct dxgk_umd_report *report),
		   void *context);

/* What a callback of the table is made of, in the order of the table; NULL behind the last. */
struct dxgk_umd_pair {
	const char *callback;  /* "Lock2" */
	const char *structure; /* "D3DDDICB_LOCK2" */
	const char *call;      /* "D3DKMTLock2"; empty: none, it is refused or answered here */
};
const struct dxgk_umd_pair *DxgkUmdPair(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
