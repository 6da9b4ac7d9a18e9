/* SPDX-License-Identifier: MIT */
/*
 * blame.h - a report about an entry point, made when the driver is elsewhere: what a paging buffer does shows when the
 * hardware has executed it, on the thread that tells of it.
 */
#ifndef VERIFY_BLAME_H
#define VERIFY_BLAME_H

#include "base/attributes.h"
#include "verify/verify.h"

/* As nt_report(), with the driver's routine behind the entry point in place of the call stack. */
void blame(const struct verify_adapter *adapter, enum ddi ddi, enum rule rule, const char *format,
	   ...) PRINTF_LIKE(4, 5);

#endif
