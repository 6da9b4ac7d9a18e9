/* SPDX-License-Identifier: MIT */
/*
 * sync_wait.h - a CPU waits for monitored fences: for all of them or for any, in the call or by an
 * event.
 *
 *	pending ──┬── satisfied                     the call succeeds, the event is set
 *	          └── ended                         the call is refused, the event is let go unset
 *	               an opening it waits through was destroyed, its process ends, or its device
 *	               was lost
 *
 * Whoever decides first has decided. A wait with an event outlives its call and is ended with the
 * openings it waits through; a file (D3DKMTCreateSyncFile) is set at any end, because nobody who
 * polls it could be told otherwise that nothing comes any more.
 */
#ifndef OBJECT_FENCE_SYNC_WAIT_H
#define OBJECT_FENCE_SYNC_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "object/fence/sync_object.h"

struct sync_wait_request {
	struct dxg_process *process;
	struct dxg_device *device;
	uint32_t count;
	struct dxg_sync_object *const *objects; /* monitored fences that may be waited for */
	const uint64_t *values;
	bool is_any;
};

/* Returns when the wait is satisfied, at once when it is already, or refuses. */
MUST_CHECK NTSTATUS sync_wait_here(const struct sync_wait_request *request);

/* Sets `event` when the wait is satisfied. Takes the event over in any case. */
MUST_CHECK NTSTATUS sync_wait_by_event(const struct sync_wait_request *request, struct event *event,
				       bool is_file);

/* The opening is closed: ends the waits through it, those under way and those to come. */
void sync_wait_end_all(struct dxg_sync_object *object);

/* The opening's device was lost: ends those that sit in a call. */
void sync_wait_end_blocked(struct dxg_sync_object *object);

/* The process ends: ends every wait of it that sits in a call. */
void sync_wait_end_process(struct dxg_process *process);

#endif
