/* SPDX-License-Identifier: MIT */
/*
 * fence_watch.h - which fences are worth a look when work of a process completes.
 *
 * A GPU writes fences without a word; only who waits for one has to be found. Devices of a process
 * have their GPU addresses in common, so work of one may write the fence of another. So a process
 * knows, for each adapter, those of its monitored fences that somebody waits for, through whichever
 * opening: they are put there when a wait begins, and let go when they are met without one.
 *
 *	fence_wait_start() ──▶ fence_watch_begin() ──▶ in the list of every process that has it open
 *
 * Locks: sync_body.openings_lock, inside it process_adapter.watched_lock.
 */
#ifndef OBJECT_FENCE_FENCE_WATCH_H
#define OBJECT_FENCE_FENCE_WATCH_H

#include "object/fence/sync_object.h"

/* An opening of a monitored fence on a device is about to be published, has ended. */
void fence_watch_join(struct dxg_sync_object *sync);
void fence_watch_join_first(struct dxg_sync_object *sync); /* of a body nobody else knows */
void fence_watch_leave(struct dxg_sync_object *sync);

/* fence_wait_start() of its fence said true; the wait may be over by now. */
void fence_watch_begin(struct sync_body *body);

#endif
