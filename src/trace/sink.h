/* SPDX-License-Identifier: MIT */
/*
 * sink.h - events -> a trace file in the JSON form that Perfetto and Chrome read.
 *
 * One event per line, each beginning {"ph":"…","cat":"…", so that summary.c and a person with grep
 * can read it without a parser.
 */
#ifndef TRACE_SINK_H
#define TRACE_SINK_H

#include <stdio.h>

#include "trace/reader.h"

/* begin, any number of events, end. The stream's own error flag tells how it went. */
void sink_begin(FILE *out, const char *process_name);
void sink_event(FILE *out, const struct trace_entry *entry);
void sink_end(FILE *out);

/* All of them, from a reader that has not shown any. */
void sink_write(FILE *out, struct trace_reader *reader);

#endif
