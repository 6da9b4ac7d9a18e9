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

OPENDXGK_EXTERN_C_END

#endif
