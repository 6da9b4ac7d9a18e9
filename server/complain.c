/* SPDX-License-Identifier: MIT */
/*
 * complain.c - what the server says about clients that do wrong, which they may do as often as they like.
 *
 * So many lines in a second; of the others the next line says how many they were.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/server.h"

enum { LINES_PER_S = 20, LINE_BYTES = 512 };

static _Atomic uint64_t said_in_s; /* which second that was */
static _Atomic uint32_t said;
static _Atomic uint32_t unsaid;

static bool may_say(void)
{
	uint64_t now_s = clock_now_ns() / NS_PER_S;

	if (atomic_exchange(&said_in_s, now_s) != now_s)
		atomic_store(&said, 0);
	return atomic_fetch_add(&said, 1) < LINES_PER_S;
}

void complain_of_the_rest(void)
{
	uint32_t left_out = atomic_exchange(&unsaid, 0);

	if (left_out > 0)
		log_warn("%u more lines about clients were left out", left_out);
}

void complain(const char *format, ...)
{
	char line[LINE_BYTES];
	va_list arguments;

	if (!may_say()) {
		atomic_fetch_add(&unsaid, 1);
		return;
	}
	complain_of_the_rest();
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	log_warn("%s", line);
}
