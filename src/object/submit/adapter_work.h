/* SPDX-License-Identifier: MIT */
/*
 * adapter_work.h - an adapter at work: its scheduler, and the news from its driver.
 *
 *	driver ──DPC──▶ miniport events ──▶ scheduler ──▶ who waits: packets, fences, destructions
 *	                                       └──▶ a device is lost (hang, fault, reset, stop)
 */
#ifndef OBJECT_SUBMIT_ADAPTER_WORK_H
#define OBJECT_SUBMIT_ADAPTER_WORK_H

#include "base/attributes.h"
#include "miniport/events.h"
#include "object/owner/adapter.h"

/* What miniport_start() is given; the listener is the dxg_adapter. */
extern const struct miniport_events adapter_work_events;

/* The driver has started. */
MUST_CHECK NTSTATUS adapter_work_start(struct dxg_adapter *adapter);

/*
 * Resets a node of the GPU, or all of it, as if it hung. Returns when it works again; refused when
 * the adapter is lost, before or by it. An engine that has nothing to do is not reset.
 */
MUST_CHECK NTSTATUS adapter_force_recovery(struct dxg_adapter *adapter, enum sched_forced what,
					   uint32_t node);

/*
 * The adapter goes, with everything clients have on it: nothing new begins, every device is
 * stopped, what was queued is over. What they hold they can release, and the driver hears of it; it
 * stops with the kernel. Of a surprise the driver is told first, when it wants to be; else what the
 * hardware has is waited for. Once; later ones change nothing.
 */
void adapter_remove(struct dxg_adapter *adapter, bool is_surprise);

/*
 * No device is left, the reaper has ended, and the memory has stopped. Accepts an adapter whose
 * work never started.
 */
void adapter_work_stop(struct dxg_adapter *adapter);

#endif
