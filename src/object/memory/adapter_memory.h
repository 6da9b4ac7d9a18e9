/* SPDX-License-Identifier: MIT */
/*
 * adapter_memory.h - an adapter's memory: its manager, its pager, the tables behind its addresses.
 */
#ifndef OBJECT_MEMORY_ADAPTER_MEMORY_H
#define OBJECT_MEMORY_ADAPTER_MEMORY_H

#include "base/attributes.h"
#include "object/owner/adapter.h"

/* The driver has started, and so has the scheduler. */
MUST_CHECK NTSTATUS adapter_memory_start(struct dxg_adapter *adapter);

/*
 * No process is left on the adapter, and nothing is destroyed any more. What the GPU still has to do
 * for the kernel is done; the scheduler may still tell of a reset, or that the adapter is lost.
 * Accepts an adapter whose memory never started.
 */
void adapter_memory_stop(struct dxg_adapter *adapter);

/* After that, and after the scheduler has ended. */
void adapter_memory_finish(struct dxg_adapter *adapter);

/* The three moments of an adapter reset (sched.h), and its end for good. */
void adapter_memory_reset_begins(struct dxg_adapter *adapter);
void adapter_memory_was_reset(struct dxg_adapter *adapter);
void adapter_memory_reset_ended(struct dxg_adapter *adapter);
void adapter_memory_lost(struct dxg_adapter *adapter);

#endif
