/* SPDX-License-Identifier: MIT */
/*
 * callbacks.h - the kernel's own callbacks, for watches that have a question themselves. Nobody is asked about those.
 */
#ifndef VERIFY_CALLBACKS_H
#define VERIFY_CALLBACKS_H

#include "verify/verify.h"

const DXGKRNL_INTERFACE *verify_kernel_callbacks(void);

#endif
