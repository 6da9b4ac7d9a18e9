/* SPDX-License-Identifier: MIT */
/*
 * basetsd.h - the integer types of known size, which are part of ntdef.h here.
 */
#ifndef OPENDXGK_DDK_BASETSD_H
#define OPENDXGK_DDK_BASETSD_H

#include "ntdef.h"

#endif
