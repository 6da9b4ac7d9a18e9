/* SPDX-License-Identifier: MIT */
/*
 * debug.h - what a driver says to a debugger, seen from the host.
 *
 * DbgPrint goes to the log topic "driver". There is no debugger: a break point is logged and
 * counted, and stops the process (SIGTRAP) only with DXGK_BREAK=1. A failed assertion is reported
 * (NT-ASSERT), counted and survived. A bug check is the end.
 */
#ifndef NT_DEBUG_H
#define NT_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The last line that the driver printed on this thread, or what there is of it, since it was entered
 * (report.h); NULL: none. Good until it prints again.
 */
const char *nt_debug_said(void);

struct nt_bugcheck {
	uint32_t code;
	uint64_t parameters[4];
};

/* "VIDEO_TDR_FAILURE"; NULL when the code has no name we know. */
const char *nt_bugcheck_name(uint32_t code);

/*
 * Called instead of abort(), after the report. A hook that returns lets abort() happen; a test
 * leaves by longjmp(). NULL puts abort() back.
 */
void nt_bugcheck_hook(void (*hook)(const struct nt_bugcheck *bugcheck));

#endif
