/* SPDX-License-Identifier: MIT */
/*
 * text.h - a text that is put together piece by piece in a place of the caller's (what does not fit is
 * cut), and numbers that people typed.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct text {
	char *at;
	size_t size;
	size_t used; /* of it, or more: then it was cut */
};

static inline struct text text_begin(char *at, size_t size)
{
	if (size > 0)
		at[0] = '\0';
	return (struct text){ .at = at, .size = size };
}

void text_add(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);

/* Digits, hexadecimal behind 0x; what is behind them is the caller's. False: none, or too many. */
MUST_CHECK bool text_read_number(const char *text, uint64_t *number_out, const char **end_out);

/* All of the text is a number from `least` to `most`. */
MUST_CHECK bool text_is_number(const char *text, uint64_t least, uint64_t most,
			       uint64_t *number_out);

/* The same with a fraction: digits, perhaps a point and more of them. */
MUST_CHECK bool text_is_decimal(const char *text, double least, double most, double *number_out);

#endif
