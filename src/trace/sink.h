/* SPDX-License-Identifier: MIT */
/*
 * sink.h - events -> a trace file in the JSON form that Perfetto and Chrome read.
 *
 * One event per line, each beginning {"ph":"…","cat":"…", so that summary.c and a person with grep
 * can read it without a parser.
 */
#ifndef TRACE_SINK_H
#define TRACE_SINK_H

#include <stdbool.h>
#include <stdio.h>

#include "trace/reader.h"

enum { SINK_NODES = 32, SINK_PACKETS = 64, SINK_PROCESSES = 256, SINK_WAYS = 1024 };

/* A packet that the hardware has. */
struct sink_packet {
	uint64_t fence;
	uint64_t flow;
	uint32_t queue;
};

/* A node, which does one packet after the other. The first one of its row is a stretch of the node's track. */
struct sink_node {
	uint32_t adapter;
	uint32_t node;
	uint32_t count;
	struct sink_packet packets[SINK_PACKETS];
};

/* Work or a signal that was queued, until it is retired. */
struct sink_way {
	uint64_t flow;
	bool is_signal;
};

struct sink {
	FILE *out;
	uint32_t pid;
	struct sink_node nodes[SINK_NODES];
	uint64_t named_adapters; /* bit n: the nodes of adapter n have names */
	uint32_t node_count;
	uint32_t pids[SINK_PROCESSES]; /* by number of a process; 0: not known */

	/* Of two that fall together the later one is kept, and an arrow is missing. */
	struct sink_way ways[SINK_WAYS];
	uint64_t last_work
		[SINK_WAYS]; /* the flow of what each queue retired last; 0: it was signalled */
};

/*
 * One event of several in one file. The stream's own error flag tells how it went. What a viewer draws: threads of the
 * program with calls, entry points and moments; lives and curves of each process, by its pid; for each adapter a process
 * of its own with a track for each node; arrows from where a packet is queued to where it runs, to where it is retired, and on to the fence
 * that is signalled behind it.
 */
void sink_event(struct sink *sink, const struct trace_entry *entry);

/* All of them, from a reader that has not shown any. */
void sink_write(FILE *out, struct trace_reader *reader);

#endif
