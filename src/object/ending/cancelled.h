/* SPDX-License-Identifier: MIT */
/*
 * cancelled.h - submissions of a context that never ran, and a driver that wants to know.
 *
 * A packet is over on any thread, in a DPC perhaps, and DxgkDdiCancelCommand is for those who may
 * enter the driver: the adapter's reaper tells it. The context does not end before, and nothing
 * of its device is destroyed: the driver is shown the allocations that a packet listed.
 */
#ifndef OBJECT_ENDING_CANCELLED_H
#define OBJECT_ENDING_CANCELLED_H

#include "object/ending/ending.h"

/* Part of what was queued. */
struct cancelled {
	struct ending ending;
	struct cancellations *of;
	void (*tell)(struct cancelled *cancelled);   /* the driver; the gate is passed */
	void (*forget)(struct cancelled *cancelled); /* it knows; the gate is not passed */
};

/* Part of a context. */
struct cancellations {
	struct dxg_device *device;
	uint32_t count; /* that the driver is still to be told of; guarded by the device's lock */
};

/* Nothing more comes. Returns when the driver knows of all. */
void cancellations_finish(struct cancellations *cancellations);

/* Any thread, DPC included. */
void cancellations_add(struct cancellations *cancellations, struct cancelled *cancelled);

#endif
