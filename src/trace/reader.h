/* SPDX-License-Identifier: MIT */
/*
 * reader.h - the binary form of a trace (docs/trace.md) as a row of events, in order of time.
 *
 * Reads memory, whatever is in it: a file that was damaged or cut gives what can be read of it, and a sentence about the
 * rest. Knows no file and no thread.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "trace/events.h"

struct trace_reader;

/* One event. Its strings are in the memory that is read. */
struct trace_entry {
	uint64_t time_ns;
	uint64_t sequence; /* order of what happened in the same nanosecond */
	uint32_t thread;
	enum trace_event event; /* TRACE_NOTHING: this program knows none of that name */
	/*
	 * What it is. Of an event that is known, this program's own idea of it, and the fields are in that order: what
	 * the file does not have is 0 or "".
	 */
	const struct trace_event_info *info;
	struct {
		uint64_t number;
		const char *text; /* of a string; never NULL then */
	} fields[TRACE_FIELDS_MAX];
};

struct trace_facts {
	const char *program;
	uint32_t pid;
	uint64_t wall_ns;  /* when it began, since 1970; 0 in a seeded run */
	uint64_t start_ns; /* the same moment on the clock of the events */
	bool is_complete;  /* whoever wrote it came to the end */
	uint64_t damaged_bytes;
};

/* Is this the beginning of a binary trace, of whichever version? */
bool trace_is_binary(const void *bytes, size_t size_bytes);

/* NULL, with a sentence in `problem`, when nothing can be read of it or there is no memory. */
MUST_CHECK struct trace_reader *trace_reader_open(const void *bytes, size_t size_bytes,
						  char *problem, size_t problem_bytes);
/* Accepts NULL. */
void trace_reader_close(struct trace_reader *reader);

/* False at the end. */
MUST_CHECK bool trace_reader_next(struct trace_reader *reader, struct trace_entry *entry_out);

const struct trace_facts *trace_reader_facts(const struct trace_reader *reader);

/*
 * After the last event: what is wrong with the file, in a sentence; false when nothing is.
 */
bool trace_reader_complain(const struct trace_reader *reader, char *problem, size_t problem_bytes);

#endif
