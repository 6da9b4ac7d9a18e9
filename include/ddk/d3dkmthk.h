/* SPDX-License-Identifier: MIT */
/*
 * d3dkmthk.h for drivers: the client's calls and structures, on the basic types of ntdef.h instead
 * of the client's.
 */
#include "ntdef.h"
#include "../dxg/d3dkmthk.h"
