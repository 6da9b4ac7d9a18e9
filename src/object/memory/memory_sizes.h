/* SPDX-License-Identifier: MIT */
/*
 * memory_sizes.h - how much graphics memory an adapter can be said to have.
 *
 * Pure arithmetic on what the driver reported (calculating-graphics-memory).
 */
#ifndef OBJECT_MEMORY_MEMORY_SIZES_H
#define OBJECT_MEMORY_MEMORY_SIZES_H

#include <stdint.h>

#include "miniport/miniport.h"

struct memory_sizes {
	uint64_t dedicated_video_bytes;  /* memory segments of the adapter's own */
	uint64_t dedicated_system_bytes; /* memory segments made of system memory */
	uint64_t shared_system_bytes;    /* system memory reachable through apertures */
	uint64_t local_bytes;            /* the LOCAL budget group */
	uint64_t non_local_bytes;        /* the NON_LOCAL budget group */
	uint64_t non_budget_bytes;       /* segments that no application budget counts */
};

/* `ram_bytes` is the machine's. */
void memory_sizes_compute(const struct miniport_info *info, uint64_t ram_bytes,
			  struct memory_sizes *sizes_out);

#endif
