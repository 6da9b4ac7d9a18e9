/* SPDX-License-Identifier: MIT */
/*
 * history.h - where every allocation was and in which state, read from a trace.
 *
 * The trace is exact: each step of an allocation is one event (src/trace/events.def).
 */
#ifndef CLI_TOUR_HISTORY_H
#define CLI_TOUR_HISTORY_H

#include "cli/tour/tour.h"

enum place {
	PLACE_OUT,    /* in no segment: its bytes are in system memory, or it has none yet */
	PLACE_MOVING, /* on its way in or out; room in a segment is taken */
	PLACE_LOCAL,
	PLACE_APERTURE,
	PLACE_OFFERED,   /* out or in: nobody wants it now */
	PLACE_DISCARDED, /* offered, and thrown away */
	PLACE_COUNT
};

struct span {
	uint64_t from_ns;
	enum place place; /* until the next span begins, or the allocation ends */
};

struct life {
	uint64_t id;
	uint64_t size_bytes;
	uint32_t owner; /* enum tour_client_id; TOUR_CLIENTS: the kernel itself */
	uint64_t from_ns;
	uint64_t to_ns;
	struct span *spans;
	uint32_t span_count;
	uint32_t span_room;

	/* While it is read. */
	const char *place;
	uint32_t segment;
	uint64_t lent_bytes; /* of its room, to others */
	const char *offer;
	bool is_over;
};

struct level {
	uint64_t at_ns;
	uint64_t bytes; /* from here on */
};

struct segment_history {
	struct level *levels;
	uint32_t level_count;
	uint32_t level_room;
	uint64_t now_bytes; /* in it or on its way; at the end: what stayed */
	uint64_t most_bytes;
	uint64_t in_bytes;
	uint64_t in_count;
	uint64_t out_bytes;
	uint64_t out_count;
};

struct history {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t events; /* of allocations */
	uint64_t discards;
	struct life *lives;
	uint32_t life_count;
	uint32_t life_room;
	struct segment_history segments[TOUR_SEGMENTS_MAX + 1]; /* by id; 0 is none */
};

/* From a binary trace. False, with why, when it cannot be read, is not complete, or there is no memory. */
MUST_CHECK bool history_read(const char *path, const struct tour_counts *counts,
			     struct history *history, char *problem, size_t problem_bytes);
void history_finish(struct history *history);

#endif
