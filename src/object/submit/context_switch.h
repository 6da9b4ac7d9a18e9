/* SPDX-License-Identifier: MIT */
/*
 * context_switch.h - making the hardware leave the context that it has loaded.
 *
 * The context that ran last stays loaded, and what the driver keeps for it in use: memory that has
 * to go waits for an empty packet of the kernel's own on that node, which switches away.
 */
#ifndef OBJECT_SUBMIT_CONTEXT_SWITCH_H
#define OBJECT_SUBMIT_CONTEXT_SWITCH_H

#include "object/owner/adapter.h"

/* The scheduler has started. */
MUST_CHECK NTSTATUS context_switches_start(struct dxg_adapter *adapter);

/* Nobody waits for one. Accepts an adapter that never had any. */
void context_switches_stop(struct dxg_adapter *adapter);

/*
 * Calls wait->over() when the node has left what was loaded, or there is no hardware any more. Any
 * thread, no lock held; must not be waited for on the scheduler's own.
 */
void context_switch_request(struct dxg_adapter *adapter, uint32_t node, struct sched_wait *wait);

#endif
