/* SPDX-License-Identifier: MIT */
/* The claims of seh_claims.inc, compiled as C++ the way a driver is. */
#include "ntddk.h"
#include "seh_claims.inc"
