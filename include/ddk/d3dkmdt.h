/* SPDX-License-Identifier: MIT */
/*
 * d3dkmdt.h for drivers: the kernel-mode display types, on the basic types of ntdef.h instead of
 * the client's.
 */
#include "ntdef.h"
#include "../dxg/d3dkmdt.h"
