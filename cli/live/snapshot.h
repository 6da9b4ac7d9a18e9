/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - what a running kernel has and has counted, at one moment: for dxgk top and dxgk metrics.
 *
 * Asked for over the control socket, a question after the other, so the numbers are not of the very same instant.
 */
#ifndef CLI_LIVE_SNAPSHOT_H
#define CLI_LIVE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "cli/control_client.h"

enum {
	LIVE_SEGMENTS_MAX = 32,
	LIVE_NODES_MAX = 64,
	LIVE_GROUPS = 2,
	LIVE_NAME_BYTES = 64,
	LIVE_LEAVES_MAX = 32
};

struct live_segment {
	bool is_aperture;
	uint64_t size_bytes;
	uint64_t resident_bytes;
	uint64_t committed_bytes;
	uint64_t evicted_bytes; /* so far */
	uint32_t resident_allocations;
	uint64_t largest_gap_bytes; /* 0 of one without addresses */
	uint64_t offered_bytes;
	uint64_t discards; /* so far */
};

struct live_packets {
	uint64_t submitted, completed, preempted, faulted;
};

struct live_node {
	uint64_t busy_ns; /* so far */
	uint64_t context_switches;
	struct live_packets client;
	struct live_packets paging;
	uint64_t queued; /* packets that are not retired, of all queues for it */
	uint32_t hw_queues;
};

struct live_process {
	uint32_t id, pid, user;
	char name[LIVE_NAME_BYTES];
	char class[24];
	uint64_t handles;
	uint64_t system_bytes;
	uint64_t usage_bytes[LIVE_GROUPS];  /* local, system */
	uint64_t budget_bytes[LIVE_GROUPS]; /* likewise */

	/* On the adapter; zeroes and "" of one that has nothing there. */
	uint64_t moved_in_bytes, moved_out_bytes; /* so far, copies */
	uint64_t busy_ns; /* so far; each node and each hardware queue counts */
	uint64_t queued;  /* packets */
	uint64_t offered_bytes;
	uint32_t resident_allocations;
	char state[16]; /* active, suspended, lost */
};

/* Why allocations left. */
struct live_leaves {
	char reason[16];
	uint64_t times; /* so far */
};

struct live_refusal {
	char rule[32];
	uint64_t times; /* so far */
};

struct live_snapshot {
	uint64_t at_ns;
	uint64_t resets;
	uint64_t moved_in_bytes, moved_out_bytes, discarded_bytes; /* so far, likewise the rest */
	uint64_t moves_in, moves_out;
	uint64_t moves_within, moved_within_bytes; /* of their segments */
	uint32_t segment_count;
	struct live_segment segments[LIVE_SEGMENTS_MAX];
	uint32_t node_count;
	struct live_node nodes[LIVE_NODES_MAX];
	uint32_t refusal_count;
	struct live_refusal *refusals;
	uint64_t refused; /* by all rules */
	uint32_t process_count;
	struct live_process *processes;
	uint32_t leaves_count;
	struct live_leaves leaves[LIVE_LEAVES_MAX];
	char *details; /* lines about adapter, processes, and one of them (CONTROL_TEXT_DETAILS) */
	char *counts;  /* lines about what was counted (CONTROL_TEXT_COUNTS) */
};

/*
 * False when the kernel did not answer, or there is no memory, which was said. Of process `expanded` (0: none)
 * `details` tells devices, queues and the largest allocations.
 */
MUST_CHECK bool live_snapshot_take(const struct control_client *client, uint32_t expanded,
				   struct live_snapshot *snapshot);
/* Accepts a zeroed struct. */
void live_snapshot_finish(struct live_snapshot *snapshot);

/* A line of `details` or `counts`, in words. */
enum { LIVE_LINE_BYTES = 320, LIVE_WORDS_MAX = 16 };
struct live_line {
	char text[LIVE_LINE_BYTES];
	const char *words[LIVE_WORDS_MAX];
};

/* False when it does not begin with `kind` or has fewer words than `count`, of which the last one is all the rest. */
MUST_CHECK bool live_line_split(const char *line, const char *kind, uint32_t count,
				struct live_line *split);
/* 0 where the word is no number. */
uint64_t live_line_number(const struct live_line *line, uint32_t word);

#endif
