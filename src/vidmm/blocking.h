/* SPDX-License-Identifier: MIT */
/*
 * blocking.h - waiting for the manager, for calls that return when it is over.
 *
 * What is waited for is on the stack of who waits, who may go on as soon as it is over: so the
 * notice is the manager's, and whoever ends it touches nothing behind the flag.
 *
 * Locks: none held. Not on the pager's thread.
 */
#ifndef VIDMM_BLOCKING_H
#define VIDMM_BLOCKING_H

#include "vidmm/place.h"

/* Returns when `*is_over` is set; manager->changed is given after that. */
void blocking_wait_until(struct vidmm *manager, _Atomic bool *is_over);

struct blocking_request {
	struct vidmm_request request;
	struct vidmm *manager;
	_Atomic bool is_over;
	NTSTATUS status;
};

void blocking_request_init(struct blocking_request *blocking, struct vidmm *manager);

/* After STATUS_PENDING: what became of it. */
MUST_CHECK NTSTATUS blocking_request_wait(struct blocking_request *blocking);

#endif
