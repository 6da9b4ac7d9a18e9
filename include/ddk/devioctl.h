/* SPDX-License-Identifier: MIT */
/*
 * devioctl.h - control codes, which are part of wdm.h here.
 */
#ifndef OPENDXGK_DDK_DEVIOCTL_H
#define OPENDXGK_DDK_DEVIOCTL_H

#include "wdm.h"

#endif
