/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

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
