/* SPDX-License-Identifier: MIT */
/*
 * guard.h - memory that a driver writes its answer into, with guard bytes behind it.
 *
 *	struct guard guard;
 *
 *	guard_open(&guard, &caps, sizeof(caps));
 *	args.pOutputData = guard.memory;
 *	status = …the driver…
 *	guard_close(&guard, "DxgkDdiQueryAdapterInfo", "DRIVERCAPS");
 *
 * The driver is given a copy; closing it brings back what the driver wrote, and reports what it
 * wrote behind the end (DDI-ANSWER-OVERRUN). Without memory for the copy it is given the buffer
 * itself. For calls that are made now and then: a copy each way, and an allocation.
 */
#ifndef MINIPORT_GUARD_H
#define MINIPORT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guard {
	void *memory; /* for the driver; NULL when there is no buffer */
	void *buffer;
	uint32_t bytes;
	bool is_copy;
};

void guard_open(struct guard *guard, void *buffer, uint32_t bytes);
/* `about` may be NULL: the entry point has one answer only. */
void guard_close(struct guard *guard, const char *entry, const char *about);

#endif
