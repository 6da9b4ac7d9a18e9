/* SPDX-License-Identifier: MIT */
/*
 * forbidden.h - a routine of a driver that may neither take memory nor wait, whatever its level allows: while the thread
 * is in it, whatever does either is reported.
 */
#ifndef NT_FORBIDDEN_H
#define NT_FORBIDDEN_H

#include "base/attributes.h"
#include "base/refusal.h"

struct nt_forbidden {
	enum rule rule;
	const char *routine; /* "DxgkDdiResetDevice" */
};

/* Of the calling thread; NULL: it may. */
extern _Thread_local const struct nt_forbidden *nt_forbidden __attribute__((visibility("hidden")));

void nt_forbidden_report(const char *routine);

/* `routine` takes memory, or may wait. */
static inline void nt_forbidden_check(const char *routine)
{
	if (UNLIKELY(nt_forbidden != NULL))
		nt_forbidden_report(routine);
}

#endif
