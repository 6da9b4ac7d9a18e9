/* SPDX-License-Identifier: MIT */
/*
 * dpc.h - deferred procedure calls and work items, the host's side.
 */
#ifndef NT_DPC_H
#define NT_DPC_H

#include <stdbool.h>
#include <stdint.h>

#include <ddk/wdm.h>

#include "base/attributes.h"
#include "base/status.h"

/* Starts the thread that DPCs run on; it also starts by itself at the first DPC. */
MUST_CHECK NTSTATUS nt_dpc_start(void);

/* Runs what is queued, then ends the threads of DPCs and work items. */
void nt_dpc_stop(void);

/* Returns when the DPCs and work items queued before have run. At PASSIVE_LEVEL. */
void nt_dpc_flush(void);

/* The caller holds the dispatcher lock. False when it is queued already. */
bool nt_dpc_insert_locked(KDPC *dpc, void *argument1, void *argument2);

/*
 * At the end of an interrupt, below DISPATCH_LEVEL: runs it on this thread when no other DPC is
 * queued or runs, and queues it otherwise. The storage outlives nt_dpc_flush().
 */
void nt_dpc_run_or_insert(KDPC *dpc);

/* Part of nt_dispatcher_forget_memory(). */
bool nt_dpc_forget_memory_locked(const void *begin, const void *end);

static inline bool nt_is_within(const void *address, const void *begin, const void *end)
{
	return (uintptr_t)address >= (uintptr_t)begin && (uintptr_t)address < (uintptr_t)end;
}

#endif
