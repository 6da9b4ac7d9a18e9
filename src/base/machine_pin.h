/* SPDX-License-Identifier: MIT */
/*
 * machine_pin.h - memory of the machine that a device of the host has been told of.
 *
 * Such a device keeps the host's pages that were at an address when it was told: when the window
 * shows others there, or the host is given the pages back, it goes on with the old ones. So whoever
 * changes what is at an address asks first, and the pins on it are taken away; pages that are pinned
 * are not given back to the host, but zeroed when they are handed out next.
 *
 * Locks: LOCK_RANK_LEAF, for the list; a pinner is called without it, by any thread.
 */
#ifndef BASE_MACHINE_PIN_H
#define BASE_MACHINE_PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"

struct machine_pinner {
	/*
	 * Tells the device of `size_bytes` at `pointer`, or that it shall forget them; in this case
	 * it may be asked again soon when it returns false, because the device is at it.
	 */
	bool (*tell)(void *context, bool is_pinned, uint64_t address, void *pointer,
		     uint64_t size_bytes);
	void *context;
};

/*
 * All of it is memory of the machine, taken or not, and not pinned by this pinner. False: it was not,
 * or somebody changes what is there: worth another try.
 */
MUST_CHECK bool machine_pin(const struct machine_pinner *pinner, uint64_t address,
			    uint64_t size_bytes);

/* All that it has pinned. Its tell() has to return true now. */
void machine_unpin_all(const struct machine_pinner *pinner);

/*
 * Around a change of what is at these pages, counted from MACHINE_FIRST. False: it must not be made,
 * because a device does not let go of them; then there is no end either.
 */
MUST_CHECK bool machine_change_begin(uint64_t first, uint64_t count);
/* The same, and nobody is asked: pinned pages stay as they are. */
MUST_CHECK bool machine_change_begin_unpinned(uint64_t first, uint64_t count);
void machine_change_end(void);

#endif
