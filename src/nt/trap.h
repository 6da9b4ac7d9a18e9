/* SPDX-License-Identifier: MIT */
/*
 * trap.h - pages that are put out of reach for a while, and who is asked when somebody touches them.
 *
 *	struct nt_trap trap = { .begin = page, .size_bytes = 4096, .thread = thread_id(), .touched = tell };
 *
 *	if (nt_trap_arm(&trap)) {
 *		…the driver…
 *		nt_trap_disarm(&trap);
 *	}
 *
 * Who touches a page faults and finds all of the trap within reach again; then `touched` says what there is to say, and
 * the access is made as if nothing had been. Protection belongs to the process and not to a thread: an access that is
 * nobody's mistake opens a trap, too, and hides one that is until it is armed again. No mistake is made up.
 */
#ifndef NT_TRAP_H
#define NT_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct nt_fault;

struct nt_trap {
	char *begin; /* whole pages */
	size_t size_bytes;
	bool may_be_read;
	uint32_t
		thread; /* who is asked about (thread_id()); 0: all, and the trap's memory stays when it is disarmed */
	void (*touched)(struct nt_trap *trap, const void *address, bool is_write,
			const struct nt_fault *fault);
	void *context;

	/* Of trap.c. */
	struct nt_trap *next;
	bool is_open;
};

/* False: the host does not do it, and nothing was changed. */
MUST_CHECK bool nt_trap_arm(struct nt_trap *trap);
void nt_trap_disarm(struct nt_trap *trap);

/* Once more out of reach, after somebody came. */
void nt_trap_close(struct nt_trap *trap);

/* In a signal handler: true when the address was out of reach and is no longer. */
bool nt_trap_fault(const void *address, bool is_write, const struct nt_fault *fault);

#endif
