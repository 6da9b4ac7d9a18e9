/* SPDX-License-Identifier: MIT */
/*
 * crooked_driver.h - the driver's half of crooked.h.
 */
#ifndef TESTS_UNIT_VERIFY_CROOKED_DRIVER_H
#define TESTS_UNIT_VERIFY_CROOKED_DRIVER_H

#include "crooked.h"

#include "base/machine_alias.h"

#define CROOKED_LOCAL_BASE    UINT64_C(0x1000000000)
#define CROOKED_APERTURE_BASE UINT64_C(0x2000000000)
#define CROOKED_HIDDEN_BASE   UINT64_C(0x3000000000)

extern struct crooked *crooked_current;

void crooked_fill_in(DRIVER_INITIALIZATION_DATA *ddi);
VOID APIENTRY crooked_kernel_hears(IN_CONST_HANDLE handle,
				   IN_CONST_PDXGKARGCB_NOTIFY_INTERRUPT_DATA data);
void crooked_fresh_buffer(struct crooked *gpu);
void crooked_fill_in_rendering(DRIVER_INITIALIZATION_DATA *ddi);
void crooked_fill_in_recovery(DRIVER_INITIALIZATION_DATA *ddi);
/* All commands of [0, used) of the buffer. */
void crooked_execute(struct crooked *gpu);

#endif
