/* SPDX-License-Identifier: MIT */
/*
 * rights.h - what a process may do to itself, and what only a controller may do to others.
 *
 * Everybody may act on what is his own. What touches another process or the whole adapter takes a
 * controller: whoever made the process said whether it is one (process_identity). docs/control.md
 * lists the controls.
 */
#ifndef DISPATCH_RIGHTS_H
#define DISPATCH_RIGHTS_H

#include "dispatch/decode.h"

/* `argument` asks for it, and `what` says what that does: "resets the adapter". */
MUST_CHECK NTSTATUS call_check_controller(const struct call *call, const char *argument,
					  const char *what);

/* hProcess is the calling process, NULL or -1. Nobody names another. */
MUST_CHECK NTSTATUS call_check_own_process(const struct call *call, HANDLE process);

#endif
