/* SPDX-License-Identifier: MIT */
/*
 * map.h - who is where in a segment, at one moment.
 */
#ifndef VIDMM_MAP_H
#define VIDMM_MAP_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "vidmm/manager.h"

/* A run of addresses that somebody has. */
struct vidmm_map_entry {
	uint64_t offset_bytes;
	uint64_t size_bytes;
	uint64_t allocation_id; /* 0: page tables */
	uint32_t process_id;    /* 0: the kernel's own */
	const char *state;      /* as traces call it */
};

struct vidmm_map {
	uint64_t size_bytes;
	uint64_t resident_bytes;
	uint64_t largest_gap_bytes;
	bool is_aperture;
	uint32_t count;
	struct vidmm_map_entry *entries; /* by address */
};

/* Refused: there is no such segment, it has no addresses, or there is no memory to write it down. */
MUST_CHECK NTSTATUS vidmm_map_take(struct vidmm *manager, uint32_t segment_id,
				   struct vidmm_map *map_out);
void vidmm_map_finish(struct vidmm_map *map);

/* The largest allocations of a process, wherever they are, largest first. Returns how many, at most `most`. */
struct vidmm_large_one {
	uint64_t allocation_id;
	uint64_t size_bytes;
	uint32_t segment; /* 0: none */
	const char *state;
};
uint32_t vidmm_largest_of(struct vidmm *manager, uint32_t process_id, uint32_t most,
			  struct vidmm_large_one *largest);

/* What is told of a process beside its budgets. */
struct vidmm_process_facts {
	uint64_t moved_in_bytes; /* so far, copies */
	uint64_t moved_out_bytes;
	uint64_t offered_bytes; /* now, in segments */
	uint32_t resident_count;
	bool is_suspended;
};
struct vidmm_process_facts vidmm_process_facts(struct vidmm_process *process);

/* Why something leaves; traces have each by its name. */
enum vidmm_leave_reason {
	VIDMM_LEAVES_FOR_ROOM,
	VIDMM_LEAVES_FOR_BUDGET,
	VIDMM_LEAVES_TO_COMPACT,
	VIDMM_LEAVES_BY_EVICT_CALL,
	VIDMM_LEAVES_OFFERED,
	VIDMM_LEAVES_DESTROYED,
	VIDMM_LEAVES_MISPLACED,
	VIDMM_LEAVES_FOR_LOCK,
	VIDMM_LEAVES_SUSPENDED,
	VIDMM_LEAVES_BY_CONTROL,
	VIDMM_LEAVES_TO_DEFRAGMENT,
	VIDMM_LEAVES_DECOMMITTED,
	VIDMM_LEAVES_BY_RESET,
	VIDMM_LEAVE_REASONS
};

/* How often something left, in that order. */
struct vidmm_leave_count {
	const char *reason;
	uint64_t times;
};
void vidmm_leave_counts(struct vidmm *manager,
			struct vidmm_leave_count counts[VIDMM_LEAVE_REASONS]);

#endif
