/* SPDX-License-Identifier: MIT */
/*
 * probe.h - a user-mode driver that does nothing by itself: it shows its test what the runtime gave it.
 */
#ifndef TESTS_UMD_PROBE_H
#define TESTS_UMD_PROBE_H

#include <dxg/d3dumddi.h>

struct probe {
	UINT version; /* in: what the driver says it was built for */
	enum probe_forgets {
		FORGETS_NOTHING,
		FORGETS_CREATE_DEVICE,
		FORGETS_CLOSE_ADAPTER,
		FORGETS_DESTROY_DEVICE,
	} forgets; /* in: what is not in its tables */

	HANDLE adapter; /* the runtime's */
	HANDLE device;
	const D3DDDI_ADAPTERCALLBACKS *adapter_callbacks;
	const D3DDDI_DEVICECALLBACKS *callbacks;
	unsigned create_count, destroy_count;

	HRESULT (*in_flush)(void);               /* in: what pfnFlush does */
	HRESULT (*in_destroy)(HANDLE hResource); /* in: what pfnDestroyResource does */
	_Atomic unsigned trim_count;             /* read while it may be told */
	D3DDDIARG_TRIMRESIDENCYSET trim;
};

#endif
