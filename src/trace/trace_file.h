/* SPDX-License-Identifier: MIT */
/*
 * trace_file.h - a trace file in memory, for whoever reads it.
 */
#ifndef TRACE_TRACE_FILE_H
#define TRACE_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/attributes.h"
#include "trace/reader.h"

struct trace_file {
	const void *bytes;
	size_t size_bytes;
};

/* False, with errno, when it cannot be read. What is not an ordinary file is read to its end. */
MUST_CHECK bool trace_file_open(const char *path, struct trace_file *file_out);
void trace_file_close(struct trace_file *file);

/* Two names of one ordinary file: what is written to one is gone from the other. */
bool trace_file_is_same(const char *one, const char *other);

#endif
