/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;

	if (text->used >= text->size)
		return;
	va_start(arguments, format);
	int length = vsnprintf(text->at + text->used, text->size - text->used, format, arguments);
	va_end(arguments);
	text->used += length > 0 ? (size_t)length : 0;
}

bool text_read_number(const char *text, uint64_t *number_out, const char **end_out)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number_out = strtoull(text, &end, is_hex ? 16 : 10);
	*end_out = end;
	return errno == 0;
}

bool text_is_number(const char *text, uint64_t least, uint64_t most, uint64_t *number_out)
{
	const char *end;

	return text_read_number(text, number_out, &end) && *end == '\0' && *number_out >= least &&
	       *number_out <= most;
}

bool text_is_decimal(const char *text, double least, double most, double *number_out)
{
	static const char digits[] = "0123456789";
	size_t whole = strspn(text, digits);
	size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;

	if (whole == 0 || text[whole + (fraction > 0 ? 1 + fraction : 0)] != '\0')
		return false;
	*number_out = strtod(text, NULL);
	return *number_out >= least && *number_out <= most;
}
