/* SPDX-License-Identifier: MIT */
/*
 * name.h - what a client calls its allocations, for who looks at a trace.
 *
 *	DXGK_ALLOCATIONNAME name = { .hDevice = device, .hAllocation = memory, .Name = "shadow map" };
 *	DxgkNameAllocation(&name);
 *
 * Nothing else is done with it: it is told to a trace that is running (docs/trace.md), and kept for one that begins later.
 * D3DKMT has no call for this. A name may be given again; the last one counts, an empty one takes it back.
 */
#ifndef OPENDXGK_NAME_H
#define OPENDXGK_NAME_H

#include <dxg/d3dkmthk.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DXGK_ALLOCATIONNAME_BYTES 64

typedef struct _DXGK_ALLOCATIONNAME {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hAllocation;
	char Name[DXGK_ALLOCATIONNAME_BYTES]; /* UTF-8, with a zero at its end */
} DXGK_ALLOCATIONNAME;

NTSTATUS APIENTRY DxgkNameAllocation(CONST DXGK_ALLOCATIONNAME *);

#ifdef __cplusplus
}
#endif

#endif
