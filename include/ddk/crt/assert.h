/* SPDX-License-Identifier: MIT */
/*
 * assert.h - a driver's assertions go to the host.
 */
#include "../ntdef.h"

#undef assert
#ifdef NDEBUG
#define assert(expression) ((void)0)
#else
#define assert(expression) ((void)NT_VERIFY(expression))
#endif
