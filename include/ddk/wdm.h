/* SPDX-License-Identifier: MIT */
/*
 * wdm.h - the NT kernel as a Windows driver sees it, in the parts a display miniport uses.
 *
 * Every routine has its Windows signature and every struct its 64-bit Windows layout; the routines
 * are exported by libdxgk.so. Names that are macros on Windows may be functions here and the other
 * way round. No libc header is included.
 */
#ifndef OPENDXGK_DDK_WDM_H
#define OPENDXGK_DDK_WDM_H

#ifndef NTDDI_VERSION
#define NTDDI_VERSION 0x0A00000B /* WDDM 2.6 and later drivers test for this */
#endif
#ifndef WINVER
#define WINVER 0x0A00
#endif
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#define NTDDI_WIN2K        0x05000000
#define NTDDI_WINXP        0x05010000
#define NTDDI_VISTA        0x06000000
#define NTDDI_LONGHORN     NTDDI_VISTA
#define NTDDI_WIN7         0x06010000
#define NTDDI_WIN8         0x06020000
#define NTDDI_WINBLUE      0x06030000
#define NTDDI_WINTHRESHOLD 0x0A000000
#define NTDDI_WIN10        0x0A000000
#define NTDDI_WIN10_TH2    0x0A000001
#define NTDDI_WIN10_RS1    0x0A000002
#define NTDDI_WIN10_RS2    0x0A000003
#define NTDDI_WIN10_RS3    0x0A000004
#define NTDDI_WIN10_RS4    0x0A000005
#define NTDDI_WIN10_RS5    0x0A000006
#define NTDDI_WIN10_19H1   0x0A000007
#define NTDDI_WIN10_VB     0x0A000008
#define NTDDI_WIN10_MN     0x0A000009
#define NTDDI_WIN10_FE     0x0A00000A
#define NTDDI_WIN10_CO     0x0A00000B

#include "ntdef.h"
#include "guiddef.h"
#include "excpt.h"
#include "wdm_ke.h"
#include "wdm_ex.h"
#include "wdm_mm.h"
#include "wdm_rtl.h"
#include "wdm_ps.h"
#include "wdm_io.h"
#include "wdm_dma.h"
#include "bugcodes.h"

#endif
