/* SPDX-License-Identifier: MIT */
/*
 * winddi.h - the shapes of GDI under the name that display drivers include. GDI itself stops where a
 * display miniport begins.
 */
#ifndef OPENDXGK_DDK_WINDDI_H
#define OPENDXGK_DDK_WINDDI_H

#include "windef.h"
#include "wingdi.h"

#endif
