/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "verify/blame.h"

enum { SENTENCE_MAX = 400 };

void blame(const struct verify_adapter *adapter, enum ddi ddi, enum rule rule, const char *format,
	   ...)
{
	const void *routine = ddi_routine(adapter->miniport, ddi);
	struct nt_stack stack = { .frames = { routine }, .count = 1, .has_driver = true };
	char sentence[SENTENCE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	nt_report_from(rule, 0, &stack, "%s", sentence);
}
