/* SPDX-License-Identifier: MIT */
/*
 * clock.h - time, real or virtual.
 *
 * Nanoseconds since an arbitrary start, never backwards. With a seed (thread.h) the clock is
 * virtual: sleeping costs nothing, and time moves when every thread waits for it.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

#define CLOCK_FOREVER UINT64_MAX

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

uint64_t clock_now_ns(void);

/*
 * The same for observers. Reading the clock is a step of a seeded run, looking over its shoulder is
 * not: a run that is traced must go as it goes untraced.
 */
uint64_t clock_peek_ns(void);

/*
 * The counter that the processor has, for who notes the time of every little thing: a fraction of what asking for
 * nanoseconds costs. Only where clock_has_ticks(): there it goes at one speed, is the same on all processors, and the
 * kernel's own clock is made of it. An early one may have been read some tens of nanoseconds before its place in the
 * program, and so before what another thread did meanwhile.
 */
MUST_CHECK bool clock_has_ticks(void);

static inline uint64_t clock_tick_early(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static inline uint64_t clock_tick(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#endif
	return clock_tick_early();
}

/*
 * A moment, for who times every call: a tick where those can be told in nanoseconds, which takes
 * clock_learn_ticks(), twice, some milliseconds apart and before there are other threads.
 */
extern uint64_t clock_ns_per_tick
	__attribute__((visibility("hidden"))); /* times 2^32; 0: not known */
void clock_learn_ticks(void);

static inline uint64_t clock_moment(void)
{
	return LIKELY(clock_ns_per_tick != 0) ? clock_tick_early() : clock_peek_ns();
}

/* From one moment to another. */
static inline uint64_t clock_between_ns(uint64_t from, uint64_t to)
{
	if (UNLIKELY(to < from))
		return 0;
	if (UNLIKELY(clock_ns_per_tick == 0))
		return to - from;
	return (uint64_t)((unsigned __int128)(to - from) * clock_ns_per_tick >> 32);
}

/* Nanoseconds since 1970, for people; virtual too, and then always the same. */
uint64_t clock_wall_ns(void);

void clock_sleep_until(uint64_t deadline_ns);

/* Time has passed while nobody looked; a virtual clock only. */
void clock_jump(uint64_t ns);

/* now + delay, saturating at CLOCK_FOREVER. */
uint64_t clock_deadline(uint64_t delay_ns);

#endif
