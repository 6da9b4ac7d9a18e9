/* SPDX-License-Identifier: MIT */
/* The claims of layout.inc and inline_claims.inc, compiled as C++ the way a driver is. */
#include "initguid.h"
#include "ntddk.h"
#include "acpiioct.h"
#include "ntddvdeo.h"
#include "ntintsafe.h"
#include "ntstrsafe.h"
#include "layout.inc"
#include "inline_claims.inc"
