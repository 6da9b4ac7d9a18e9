/* SPDX-License-Identifier: MIT */
/*
 * marker.h - what a client says to whoever looks at a trace, at the moment when it says it.
 *
 *	DXGK_MARKER marker = { .hDevice = device, .APISequenceNumber = frame, .Text = "shadow pass" };
 *	DxgkLogMarker(&marker);
 *
 * It is an event of a trace that is running (docs/trace.md), and nothing where none is. D3DKMT has no call for this; the members are
 * those of D3DDDICB_LOGUMDMARKER, and `pfnLogUMDMarkerCb` of a user-mode driver comes here (docs/umd.md). The kernel tells the
 * numbers as they are.
 */
#ifndef OPENDXGK_MARKER_H
#define OPENDXGK_MARKER_H

#include <dxg/d3dkmthk.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DXGK_MARKER_BYTES 256

typedef struct _DXGK_MARKER {
	D3DKMT_HANDLE hDevice;
	INT Index;
	UINT64 APISequenceNumber;
	INT StringIndex;
	char Text[DXGK_MARKER_BYTES]; /* UTF-8, with a zero at its end */
} DXGK_MARKER;

NTSTATUS APIENTRY DxgkLogMarker(CONST DXGK_MARKER *);

#ifdef __cplusplus
}
#endif

#endif
