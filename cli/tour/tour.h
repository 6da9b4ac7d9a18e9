/* SPDX-License-Identifier: MIT */
/*
 * tour.h - what the clients of a tour share, and what is left of them when they are done.
 *
 * The clients run in a process of their own, or each in one: the trace is complete when the kernel has ended, and whoever
 * started it draws the picture from that. What they count is in memory that all processes see.
 */
#ifndef CLI_TOUR_TOUR_H
#define CLI_TOUR_TOUR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/softgpu.h>

#include "base/attributes.h"

enum { TOUR_CLIENTS = 3, TOUR_SEGMENTS_MAX = 4, TOUR_LOCAL_MIB = 64 };

/* Local memory is this many units; what the clients want, three times as many. */
enum { TOUR_LOCAL_UNITS = 32, TOUR_TEXTURES = 48, TOUR_KEPT = 32, TOUR_CHUNKS = 16 };
_Static_assert(TOUR_TEXTURES + TOUR_KEPT + TOUR_CHUNKS == 3 * TOUR_LOCAL_UNITS,
	       "three times the local memory");

enum tour_client_id { TOUR_FRAMES, TOUR_STREAM, TOUR_IDLE };

struct tour_settings {
	uint32_t frames;
	uint64_t seed;
	bool is_quiet;
	bool is_spoiled; /* one byte is written wrong, for whoever doubts that it would be found */
	bool is_apart;   /* each client is a process of its own */
	bool is_shared;  /* … in a server that others use, too */
};

struct tour_segment {
	bool is_aperture;
	uint64_t limit_bytes;
	uint64_t resident_bytes; /* page tables among them */
	uint64_t resident_count; /* allocations */
};

struct tour_counts {
	/* The adapter, and what was wanted of it. */
	bool is_shared; /* others use it: what the trace has of the clients is not all that happens */
	bool is_virtual; /* GPU virtual addresses, else allocation lists */
	uint64_t local_bytes;
	uint64_t wanted_bytes;
	uint32_t segment_count;
	struct tour_segment segments[TOUR_SEGMENTS_MAX];

	/* How the clients keep step. */
	_Atomic uint32_t reached[TOUR_CLIENTS]; /* how far each is, in frames */
	_Atomic uint32_t steps;                 /* changes with any of them */
	_Atomic uint32_t running;               /* clients that are not done */
	_Atomic bool is_failed;
	_Atomic bool has_complained;
	_Atomic bool is_spoiling; /* the wrong byte is still to be written */

	/* Of the clients, while they run. */
	_Atomic uint64_t frames;
	_Atomic uint64_t uses;
	_Atomic uint64_t hits; /* … of a texture that was in local memory */
	_Atomic uint64_t repaints;
	_Atomic uint64_t chunks;
	_Atomic uint64_t chunk_bytes;
	_Atomic uint64_t offers;
	_Atomic uint64_t kept;
	_Atomic uint64_t discarded;
	_Atomic uint64_t written_bytes;  /* by the CPU */
	_Atomic uint64_t copied_bytes;   /* by the GPU */
	_Atomic uint64_t verified_bytes; /* … or were wrong */
	_Atomic uint64_t wrong_bytes;

	/* At the end, as D3DKMTQueryStatistics has it. */
	uint64_t in_bytes;
	uint64_t out_bytes;
	uint64_t duration_ns;
	bool is_complete;    /* every client came to its end */
	char complaint[384]; /* the first thing that went wrong */
};

/* A process's own. */
struct tour {
	const struct tour_settings *settings;
	struct tour_counts *counts;
	D3DKMT_HANDLE adapter;
	LUID luid;
	uint64_t unit_bytes;
};

/* Remembers the first one, and ends the tour early. */
void tour_complain(struct tour *tour, const char *format, ...) PRINTF_LIKE(2, 3);

/* They keep step: nobody is more than this many frames ahead of who it waits for. */
enum { TOUR_SLACK = 4, TOUR_ROUND = 12 /* from one offer of the idle client to the next */ };

/* The client is done with what it has to do in frames before this one. */
void tour_reach(struct tour *tour, enum tour_client_id id, uint32_t frame);

/* Until it is; false when the tour failed meanwhile. */
MUST_CHECK bool tour_wait(struct tour *tour, enum tour_client_id id, uint32_t frame);

/* Looks after clients that are processes: one that died is one that complained. */
void tour_look_after(struct tour *tour);

/* The three clients, each on a thread or in a process of its own. */
void tour_play_frames(struct tour *tour);
void tour_play_stream(struct tour *tour);
void tour_play_idle(struct tour *tour);

/* The whole of it; returns when nothing of it is left in the kernel. False: counts->complaint. */
MUST_CHECK bool tour_run(const struct tour_settings *settings, struct tour_counts *counts);

#endif
