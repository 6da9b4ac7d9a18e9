/* SPDX-License-Identifier: MIT */
/*
 * processor.h - where threads run.
 */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/*
 * The processor that the caller is on is the only one for it from now on, and for threads that it starts. Where a seed lets one
 * run at a time, a turn costs half as much there.
 */
void processor_stay(void);

/* The one that the caller is on, UINT32_MAX: the system does not say. It may be another the moment after. */
uint32_t processor_number(void);

/* Goes to another one than this, where there is one for it. */
MUST_CHECK bool processor_leave(uint32_t number);

#endif
