/* SPDX-License-Identifier: MIT */
/*
 * sink.h - records -> a trace file in the JSON form that Perfetto and Chrome read.
 *
 * One event per line, each beginning {"ph":"…","cat":"…", so that summary.c and a person with grep
 * can read it without a parser. For trace/ only.
 */
#ifndef TRACE_SINK_H
#define TRACE_SINK_H

#include <stdio.h>

#include "trace/record.h"

/*
 * begin, any number of events, end. `infos` says what the events are. The stream's own error flag
 * tells how it went.
 */
void sink_begin(FILE *out, const char *process_name);
void sink_event(FILE *out, const struct trace_event_info *infos, const struct trace_record *record);
void sink_end(FILE *out);

#endif
