/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what is in a trace file of either form, in numbers.
 */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "trace/events.h"

struct trace_summary {
	uint64_t events;
	uint64_t by_category[TRACE_CATEGORY_COUNT];
	bool is_complete;  /* the end of the file was reached by whoever wrote it */
	char problem[256]; /* of a binary one: what is wrong with it, or "" */
};

/* False, with errno, when the file cannot be read. */
MUST_CHECK bool trace_summary_read(const char *path, struct trace_summary *summary_out);

#endif
