/* SPDX-License-Identifier: MIT */
/*
 * ntddvdeo.h - device interface classes and brightness control of display devices.
 */
#ifndef OPENDXGK_DDK_NTDDVDEO_H
#define OPENDXGK_DDK_NTDDVDEO_H

#include "wdm.h"

OPENDXGK_EXTERN_C_BEGIN

DEFINE_GUID(GUID_DEVINTERFACE_DISPLAY_ADAPTER, 0x5b45201d, 0xf2f2, 0x4f3b, 0x85, 0xbb, 0x30, 0xff,
	    0x1f, 0x95, 0x35, 0x99);
DEFINE_GUID(GUID_DEVINTERFACE_MONITOR, 0xe6f07b5f, 0xee97, 0x4a90, 0xb0, 0x76, 0x33, 0xf5, 0x7b,
	    0xf4, 0xea, 0xa7);
DEFINE_GUID(GUID_DISPLAY_DEVICE_ARRIVAL, 0x1ca05180, 0xa699, 0x450a, 0x9a, 0x0c, 0xde, 0x4f, 0xbe,
	    0x3d, 0xdd, 0x89);

typedef struct _DISPLAY_BRIGHTNESS {
	UCHAR ucDisplayPolicy;
	UCHAR ucACBrightness;
	UCHAR ucDCBrightness;
} DISPLAY_BRIGHTNESS, *PDISPLAY_BRIGHTNESS;

#define DISPLAYPOLICY_AC   0x00000001
#define DISPLAYPOLICY_DC   0x00000002
#define DISPLAYPOLICY_BOTH (DISPLAYPOLICY_AC | DISPLAYPOLICY_DC)

#define IOCTL_VIDEO_QUERY_SUPPORTED_BRIGHTNESS                                                     \
	CTL_CODE(FILE_DEVICE_VIDEO, 0x125, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_VIDEO_QUERY_DISPLAY_BRIGHTNESS                                                       \
	CTL_CODE(FILE_DEVICE_VIDEO, 0x126, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_VIDEO_SET_DISPLAY_BRIGHTNESS                                                         \
	CTL_CODE(FILE_DEVICE_VIDEO, 0x127, METHOD_BUFFERED, FILE_ANY_ACCESS)

/* Modes, as video miniports list them. */

typedef LONG VP_STATUS, *PVP_STATUS;

typedef struct _VIDEO_MODE {
	ULONG RequestedMode;
} VIDEO_MODE, *PVIDEO_MODE;

#define VIDEO_MODE_NO_ZERO_MEMORY 0x80000000
#define VIDEO_MODE_MAP_MEM_LINEAR 0x40000000

typedef struct _VIDEO_MODE_INFORMATION {
	ULONG Length;
	ULONG ModeIndex;
	ULONG VisScreenWidth;
	ULONG VisScreenHeight;
	ULONG ScreenStride;
	ULONG NumberOfPlanes;
	ULONG BitsPerPlane;
	ULONG Frequency;
	ULONG XMillimeter;
	ULONG YMillimeter;
	ULONG NumberRedBits;
	ULONG NumberGreenBits;
	ULONG NumberBlueBits;
	ULONG RedMask;
	ULONG GreenMask;
	ULONG BlueMask;
	ULONG AttributeFlags;
	ULONG VideoMemoryBitmapWidth;
	ULONG VideoMemoryBitmapHeight;
	ULONG DriverSpecificAttributeFlags;
} VIDEO_MODE_INFORMATION, *PVIDEO_MODE_INFORMATION;

#define VIDEO_MODE_COLOR            0x0001
#define VIDEO_MODE_GRAPHICS         0x0002
#define VIDEO_MODE_PALETTE_DRIVEN   0x0004
#define VIDEO_MODE_MANAGED_PALETTE  0x0008
#define VIDEO_MODE_INTERLACED       0x0010
#define VIDEO_MODE_NO_OFF_SCREEN    0x0020
#define VIDEO_MODE_NO_64_BIT_ACCESS 0x0040
#define VIDEO_MODE_BANKED           0x0080
#define VIDEO_MODE_LINEAR           0x0100

typedef struct _VIDEO_NUM_MODES {
	ULONG NumModes;
	ULONG ModeInformationLength;
} VIDEO_NUM_MODES, *PVIDEO_NUM_MODES;

typedef struct _VIDEO_MEMORY {
	PVOID RequestedVirtualAddress;
} VIDEO_MEMORY, *PVIDEO_MEMORY;

typedef struct _VIDEO_MEMORY_INFORMATION {
	PVOID VideoRamBase;
	ULONG VideoRamLength;
	PVOID FrameBufferBase;
	ULONG FrameBufferLength;
} VIDEO_MEMORY_INFORMATION, *PVIDEO_MEMORY_INFORMATION;

OPENDXGK_EXTERN_C_END

#endif
