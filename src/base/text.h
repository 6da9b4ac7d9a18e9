/* SPDX-License-Identifier: MIT */
/*
 * text.h - a text that is put together piece by piece in a place of the caller's; what does not fit is
 * cut.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

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

#endif
