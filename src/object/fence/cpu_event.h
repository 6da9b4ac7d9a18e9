/* SPDX-License-Identifier: MIT */
/*
 * cpu_event.h - CPU notifications that the driver sets (WDDM 3.0).
 *
 *	client ──SignalByKmd──▶ sync object ──DxgkDdiCreateCpuEvent──▶ the driver's event
 *	client's eventfd ◀──set── DxgkCbSignalEvent with CpuEventObject
 *
 * The driver names it by a number that no other ever has, so one that is signalled too late is
 * found out.
 */
#ifndef OBJECT_FENCE_CPU_EVENT_H
#define OBJECT_FENCE_CPU_EVENT_H

#include "base/attributes.h"
#include "base/status.h"
#include "object/fence/event.h"

struct cpu_event;
struct dxg_device;

/* The driver is told; `event` is set when it says so, and lives until cpu_event_destroy(). */
MUST_CHECK NTSTATUS cpu_event_create(struct dxg_device *device, const struct event *event,
				     struct cpu_event **cpu_event_out);

/* The driver forgets it. The device is still there, and no lock is held. Accepts NULL. */
void cpu_event_destroy(struct cpu_event *cpu_event);

/* What DxgkDdiCreateCpuEvent answered. */
void *cpu_event_of_driver(const struct cpu_event *cpu_event);

/* As miniport_context_services.signal_event. */
NTSTATUS cpu_event_signal(void *kernel_process, void *name, bool is_cpu_event);

#endif
