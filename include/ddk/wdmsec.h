/* SPDX-License-Identifier: MIT */
/*
 * wdmsec.h - secured device objects. A display miniport makes no device objects, so there is none of
 * its routines here.
 */
#ifndef OPENDXGK_DDK_WDMSEC_H
#define OPENDXGK_DDK_WDMSEC_H

#include "wdm.h"

#endif
