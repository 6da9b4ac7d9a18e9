/* SPDX-License-Identifier: MIT */
/*
 * ntddk.h - what wdm.h declares, under the name that legacy and display drivers include.
 */
#ifndef OPENDXGK_DDK_NTDDK_H
#define OPENDXGK_DDK_NTDDK_H

#include "wdm.h"

#endif
