/* SPDX-License-Identifier: MIT */
/*
 * inventory.h - what there is, for a trace that begins late: events as they were when all of it was made.
 */
#ifndef OBJECT_CHECK_INVENTORY_H
#define OBJECT_CHECK_INVENTORY_H

#include <stdbool.h>

#include "object/owner/kernel.h"

/*
 * A trace has begun. `is_still`: no call of a client is under way and no process comes or goes; else devices and what
 * they have stay untold. The kernel's own threads go on: what they say meanwhile is told once more, or once.
 */
void kernel_trace_inventory(struct dxg_kernel *kernel, bool is_still);

#endif
