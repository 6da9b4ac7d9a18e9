/* SPDX-License-Identifier: MIT */
/*
 * convert.h - from the binary form of a trace to JSON.
 */
#ifndef TRACE_CONVERT_H
#define TRACE_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/attributes.h"
#include "trace/trace_file.h"

/* The rule for DXGK_TRACE and for every other name of a trace: "….json" is JSON. */
bool trace_name_is_json(const char *name);

/* "arguments,addresses" as enum trace_wishes, added to what is there; false when a word is neither. */
MUST_CHECK bool trace_wishes_read(const char *words, uint32_t *wishes);

/*
 * Everything that can be read of it. False, with why, when that is nothing. The stream's own error flag tells whether it
 * could be written.
 */
MUST_CHECK bool trace_write_json(const struct trace_file *file, FILE *out, char *problem,
				 size_t problem_bytes);

/*
 * From a binary trace to a new file. False, with a sentence, when there is none then; a sentence comes, too, when not all of
 * it could be read, else "".
 */
MUST_CHECK bool trace_convert(const char *from, const char *to, char *problem,
			      size_t problem_bytes);

#endif
