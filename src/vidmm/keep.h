/* SPDX-License-Identifier: MIT */
/*
 * keep.h - what a device has asked for is not given up while somebody counts on it.
 *
 *	begins ──▶ an eviction takes it off the client's count, not off the device's list ──▶ ends
 *
 * For updates of GPU addresses that are queued: the tile pools they show stay what the device's
 * work needs until the update was executed, whatever the client evicts meanwhile. They are not held
 * in place, for then two who need each other's room would wait for ever: like everything on a list
 * they may go for others while the device waits, and come back. Nobody pays for them: the client
 * has said that it does not want them any more.
 *
 * A keep asks for nothing. Memory need not be resident for its entries to be written, so what was
 * never asked for, or was evicted before, does not come in because of an update; asked for later,
 * while the update is still queued, it is kept like the rest. Nor does a keep take back an offer:
 * what is offered counts as nobody's need.
 */
#ifndef VIDMM_KEEP_H
#define VIDMM_KEEP_H

#include "vidmm/manager.h"

struct vidmm_keep {
	struct vidmm *manager;

	/* Guarded by the manager's lock. */
	struct list link; /* vidmm_device.keeps */
	uint32_t count;
	struct vidmm_binding *bindings[]; /* NULL: it has ended */
};

/*
 * All are of `device`; NULLs are left out. One may be there several times. NULL: there is no
 * memory.
 */
MUST_CHECK struct vidmm_keep *vidmm_keep_create(struct vidmm_device *device,
						struct vidmm_binding *const bindings[],
						uint32_t count);

/* What was evicted meanwhile may go now. Any thread, no lock held. Accepts NULL. */
void vidmm_keep_end(struct vidmm_keep *keep);

/* Its keeps forget it. */
void keep_forget_binding_locked(struct vidmm_binding *binding);

#endif
