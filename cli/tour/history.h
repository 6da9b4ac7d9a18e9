/* SPDX-License-Identifier: MIT */
/*
 * history.h - what went into each segment and out of it, added up from a trace: the books beside D3DKMTQueryStatistics.
 *
 * The trace is exact: each step of an allocation is one event (src/trace/events.def).
 */
#ifndef CLI_TOUR_HISTORY_H
#define CLI_TOUR_HISTORY_H

#include "cli/tour/tour.h"

struct segment_history {
	uint64_t now_bytes; /* in it or on its way; at the end: what stayed */
	uint64_t most_bytes;
	uint64_t in_bytes;
	uint64_t in_count;
	uint64_t out_bytes;
	uint64_t out_count;
};

struct history {
	uint64_t events; /* of allocations */
	uint32_t allocations;
	struct segment_history segments[TOUR_SEGMENTS_MAX + 1]; /* by id; 0 is none */
};

/* From a binary trace. False, with why, when it cannot be read, is not complete, or there is no memory. */
MUST_CHECK bool history_read(const char *path, struct history *history, char *problem,
			     size_t problem_bytes);

#endif
