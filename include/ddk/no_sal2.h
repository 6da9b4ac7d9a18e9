/* SPDX-License-Identifier: MIT */
/*
 * no_sal2.h - annotations of the static analyser, which mean nothing to the compiler.
 */
#ifndef OPENDXGK_DDK_NO_SAL2_H
#define OPENDXGK_DDK_NO_SAL2_H

#include "../dxg/dxgsal.h"

#endif
