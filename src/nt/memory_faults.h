/* SPDX-License-Identifier: MIT */
/*
 * memory_faults.h - allocations of drivers that fail on purpose: pool, contiguous memory, pages, MDLs, threads, work items. The
 * routine then does what it does when there is no memory.
 */
#ifndef NT_MEMORY_FAULTS_H
#define NT_MEMORY_FAULTS_H

#include <stdbool.h>

#include "base/attributes.h"

/* Asked once for each allocation; NULL: none fails. Before the first driver is loaded. */
void nt_memory_fail_by(bool (*fails)(void));

extern bool (*nt_memory_judge)(void) __attribute__((visibility("hidden")));

static inline bool nt_memory_fails(void)
{
	return UNLIKELY(nt_memory_judge != NULL) && nt_memory_judge();
}

#endif
