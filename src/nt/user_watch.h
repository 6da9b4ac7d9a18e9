/* SPDX-License-Identifier: MIT */
/*
 * user_watch.h - memory of a client as a driver sees it that reads it in place: each access is noticed, and what was read
 * can be changed before the next one.
 *
 * The memory is out of reach. An access faults, the page is opened for that one instruction (the processor stops
 * behind it), the watcher is told, and it is out of reach again. On x86-64; elsewhere memory is within reach and nobody is told.
 */
#ifndef NT_USER_WATCH_H
#define NT_USER_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct nt_user_watch {
	void *begin; /* whole pages */
	size_t size_bytes;
	/* In a signal handler, when the instruction is done: what it touched, within reach. */
	void (*touched)(struct nt_user_watch *watch, void *address);

	void *address; /* of the instruction that is under way; NULL: none is */
};

/* For what the calling thread does until the end; one at a time. */
void nt_user_watch_begin(struct nt_user_watch *watch);
void nt_user_watch_end(void);

/* In a signal handler: true when it was such an access, and the instruction is to be done. */
bool nt_user_watch_fault(void *address, void *context);

#endif
