/* SPDX-License-Identifier: MIT */
/*
 * kept_name.h - what a driver calls memory that it lets the kernel keep, until it takes the name
 * back.
 *
 *	operations ──▶ enter ─▶ the driver is called with the name ─▶ leave
 *	the driver destroys it ──▶ end: whoever is inside leaves first, and nobody enters any more
 *
 * The memory may be there for a while after that (object/memory/context_allocation.h). The driver may have
 * given the name to something else by then, so nothing of it is told but what the hardware has to
 * know, about nothing in particular.
 */
#ifndef MINIPORT_KEPT_NAME_H
#define MINIPORT_KEPT_NAME_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "base/notice.h"

/* All zero at first. */
struct miniport_kept_name {
	_Atomic uint32_t inside; /* calls of the driver with it */
	_Atomic bool is_over;
	struct notice left;
};

/* With the driver's level taken, because who waits for a call may have kept others from it. */
MUST_CHECK bool miniport_name_enter(struct miniport_kept_name *name);
void miniport_name_leave(struct miniport_kept_name *name);

/* Without `may_wait` calls that are under way may end later: the caller may be in one of them. */
void miniport_name_end(struct miniport_kept_name *name, bool may_wait);

#endif
