/* SPDX-License-Identifier: MIT */
/*
 * put.h - of put.c, what is not in trace.h. For trace/ only.
 */
#ifndef TRACE_PUT_H
#define TRACE_PUT_H

#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "trace/format.h"

/* Before a trace begins: what its times are counted in. */
void trace_choose_clock(void);
enum trace_clock trace_clock(void);
/* Now, by that clock. */
uint64_t trace_time(void);

/* That of the next event, whoever says it; 0 where each thread counts its own. */
uint64_t trace_sequence(void);

/* By the highest bit of a number: how many bytes follow its first one, and what says so in that. */
struct trace_number_forms {
	uint8_t more[64];
	uint8_t first[64];
};
extern const struct trace_number_forms trace_number_forms __attribute__((visibility("hidden")));

/* A number, as a trace has it. Writes eight bytes behind the first at most; the place behind it. */
static inline uint8_t *trace_put_number(uint8_t *at, uint64_t number)
{
	if (LIKELY(number < 0x80)) {
		*at = (uint8_t)number;
		return at + 1;
	}
	uint32_t highest = 63U ^ (uint32_t)__builtin_clzll(number);
	uint32_t more = trace_number_forms.more[highest];
	/* In front of eight bytes all bits are ones, and none is left. */
	*at = (uint8_t)(trace_number_forms.first[highest] | number >> (8 * more & 63));
	memcpy(at + 1, &number, sizeof(number));
	return at + 1 + more;
}

/* The first event of a thread. */
void trace_put_thread(const char *name, uint32_t tid);

#endif
