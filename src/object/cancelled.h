/*
 * cancelled.h - submissions of a context that never ran, and a driver that wants to know.
 *
 * A packet is over on any thread, in a DPC perhaps, and DxgkDdiCancelCommand is for those who may
 * enter the driver: the adapter's undertaker tells it, and the context does not end before.
 */
#ifndef OBJECT_CANCELLED_H
#define OBJECT_CANCELLED_H

#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "base/worker.h"

struct dxg_adapter;
struct dxg_context;

/* Part of what was queued. */
struct cancelled {
	struct list link;
	void (*tell)(
		struct cancelled *cancelled); /* the driver, and frees it; the gate is passed */
};

/* Part of a context. */
struct cancellations {
	struct dxg_adapter *adapter;
	struct lock lock; /* LOCK_RANK_PACKET */
	struct list all;  /* cancelled.link */
	bool is_telling;  /* or is going to */
	struct notice changed;
	struct work work;
};

void cancellations_init(struct cancellations *cancellations, struct dxg_adapter *adapter);

/* Nothing more comes. Returns when the driver knows of all. */
void cancellations_finish(struct cancellations *cancellations);

/* Any thread, DPC included. */
void cancellations_add(struct cancellations *cancellations, struct cancelled *cancelled);

#endif
