/* SPDX-License-Identifier: MIT */
/*
 * dderror.h - the Win32 error codes of video miniports: what VP_STATUS holds.
 */
#ifndef OPENDXGK_DDK_DDERROR_H
#define OPENDXGK_DDK_DDERROR_H

#include "winerror.h"

#endif
