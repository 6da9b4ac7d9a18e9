/* SPDX-License-Identifier: MIT */
/*
 * visit.h - what of a driver runs on the calling thread, where it is no entry point of the
 * graphics kernel: a DPC, a work item, a system thread.
 */
#ifndef NT_VISIT_H
#define NT_VISIT_H

struct nt_visit {
	const char *what; /* "a DPC routine" */
	const void *routine;
	struct nt_visit *outer;
};

extern _Thread_local struct nt_visit *nt_visit_innermost __attribute__((visibility("hidden")));

static inline void nt_visit_begin(struct nt_visit *visit, const char *what, const void *routine)
{
	*visit = (struct nt_visit){ what, routine, nt_visit_innermost };
	nt_visit_innermost = visit;
}

static inline void nt_visit_end(const struct nt_visit *visit)
{
	nt_visit_innermost = visit->outer;
}

#endif
