/* SPDX-License-Identifier: MIT */
/*
 * d3dukmdt.h for drivers: the types user mode and kernel mode share, on the basic types of ntdef.h
 * instead of the client's.
 */
#include "ntdef.h"
#include "../dxg/d3dukmdt.h"
