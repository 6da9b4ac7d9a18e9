/* SPDX-License-Identifier: MIT */
/*
 * probe.h - callbacks from inside entry points, to see that nothing is held that they need.
 */
#ifndef TESTS_DRIVERS_LEVELS_PROBE_H
#define TESTS_DRIVERS_LEVELS_PROBE_H

#include "inside.h"

/* Before the driver starts: what it is given, with our own routines in front. */
NTSTATUS probe_start(DXGKRNL_INTERFACE *interface);

/* Callbacks may be made, until probe_stop(). */
void probe_go(void);

void probe_stop(void);

/* An allocation, of which the process on whose behalf we are called may be asked. */
void probe_remember(D3DKMT_HANDLE allocation);

/* Inside an entry point, at whatever IRQL that is. */
void probe(enum levels_entry entry);

/* PASSIVE_LEVEL: waits until another thread has interrupted, and the DPC has run. */
void probe_meet(void);

#endif
