/* SPDX-License-Identifier: MIT */
/*
 * windef.h - the basic types under the name that D3D headers and drivers include.
 */
#ifndef OPENDXGK_DDK_WINDEF_H
#define OPENDXGK_DDK_WINDEF_H

#include "ntdef.h"

/* As on Windows, in both languages; NOMINMAX keeps them out. */
#ifndef NOMINMAX
#ifndef max
#define max(a, b) (((a) > (b)) ? (a) : (b))
#endif
#ifndef min
#define min(a, b) (((a) < (b)) ? (a) : (b))
#endif
#endif

#endif
