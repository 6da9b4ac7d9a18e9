/* SPDX-License-Identifier: MIT */
/*
 * driver_memory.h - physical memory in the hands of drivers: who took it, and where.
 *
 * mm.c and mdl.c enter what they hand out; what is still entered when an image goes away was left
 * behind. LOCK_RANK_NT_OBJECTS guards the list.
 */
#ifndef NT_DRIVER_MEMORY_H
#define NT_DRIVER_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/*
 * `name` is what the driver frees it by: the pointer to a contiguous run, or an MDL. A run has its
 * first frame number in `pfns` and `is_run` set; otherwise there are `count` of them. False: no
 * memory for the entry.
 */
MUST_CHECK bool driver_memory_add(const void *name, bool is_run, const uint64_t pfns[],
				  uint64_t count, const void *site);

/* Frees what is entered under the name; false when nothing is. */
MUST_CHECK bool driver_memory_free(const void *name, bool is_run);

/* The image [begin, end) is being unloaded: reports what it left, per place, and frees it. */
void nt_driver_memory_report_left(const void *begin, const void *end);

#endif
