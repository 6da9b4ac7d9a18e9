/* SPDX-License-Identifier: MIT */
/*
 * printed.h - what a function with a format was given, as text.
 */
#ifndef TESTS_SUPPORT_PRINTED_H
#define TESTS_SUPPORT_PRINTED_H

#include <stdarg.h>
#include <stdio.h>

/* Into the array `text`, cut to its size. */
#define PRINT_INTO(text, format)                                                                   \
	do {                                                                                       \
		va_list printed_arguments;                                                         \
                                                                                                   \
		va_start(printed_arguments, format);                                               \
		vsnprintf(text, sizeof(text), format, printed_arguments);                          \
		va_end(printed_arguments);                                                         \
	} while (0)

#endif
