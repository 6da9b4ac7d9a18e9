/* SPDX-License-Identifier: MIT */
/*
 * ntverp.h - the version that resource scripts and version checks of drivers name.
 */
#ifndef OPENDXGK_DDK_NTVERP_H
#define OPENDXGK_DDK_NTVERP_H

#define VER_PRODUCTBUILD        22000
#define VER_PRODUCTBUILD_QFE    1
#define VER_PRODUCTMAJORVERSION 10
#define VER_PRODUCTMINORVERSION 0
#define VER_PRODUCTVERSION                                                                         \
	VER_PRODUCTMAJORVERSION, VER_PRODUCTMINORVERSION, VER_PRODUCTBUILD, VER_PRODUCTBUILD_QFE
#define VER_PRODUCTVERSION_W   (0x0A00)
#define VER_PRODUCTVERSION_DW  (0x0A000000 | VER_PRODUCTBUILD)
#define VER_PRODUCTVERSION_STR "10.0.22000.1"

#endif
