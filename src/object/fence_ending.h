/* SPDX-License-Identifier: MIT */
/*
 * fence_ending.h - fences whose handle ended while queued work may still write them.
 *
 * A command that was queued before the end knows the fence by its address and holds nothing of it.
 * So the value keeps its place, and the GPU its way there, until everything that the device of the
 * opening had queued by then is over, as with memory (destruction.h). Who waits for the fence in a
 * queue goes on hearing what the GPU writes to it.
 *
 *	handle ended ──▶ no address, or nothing queued ─────────────────────────▶ gone
 *	            └──▶ dxg_device.ending_fences ──▶ work over ──▶ reaper ──▶ gone
 *
 * Work of other devices does not count: who has it write a fence has that open on its device.
 *
 * Locks: the device's guards the list. It is not held while the pager is waited for.
 */
#ifndef OBJECT_FENCE_ENDING_H
#define OBJECT_FENCE_ENDING_H

#include "object/device.h"
#include "object/sync_object.h"

/* A look: work that was queued before now may come to its address. */
static inline bool fence_is_in_use(const struct dxg_sync_object *sync)
{
	return sync->address && !sched_owner_is_idle(&sync->device->work);
}

/*
 * The opening of any sync object is retired, in no list of its owner, and nobody waits through it:
 * its address goes, and one reference, now or when work is over. No lock is held.
 */
void fence_end_opening(struct dxg_sync_object *sync);

/* Returns when all that began before are gone. The device's work is over. */
void fence_endings_wait(struct dxg_device *device);

#endif
