/* SPDX-License-Identifier: MIT */
/*
 * spool.h - records on disk, between the rings and the finished file. For trace/ only.
 *
 * An unlinked temporary file: it needs no memory, nobody else sees it, and it is gone with the
 * process. One per process.
 */
#ifndef TRACE_SPOOL_H
#define TRACE_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "trace/record.h"

/* False, with errno, when there is no temporary file to be had. */
MUST_CHECK bool spool_open(void);
void spool_close(void);

/*
 * A piece of the trace, in the order it happened on one thread. Any number of threads at once;
 * changes no errno. What cannot be written is lost, and spool_error() says so.
 */
void spool_append(const struct trace_record *records, uint32_t slots);

/* The errno of the first write that failed, or 0. */
int spool_error(void);

/*
 * Shows everything, in order of time and sequence. When nobody appends any more. False without
 * memory or when the file cannot be read.
 */
MUST_CHECK bool spool_visit(void (*visit)(void *context, const struct trace_record *record),
			    void *context);

#endif
