/* SPDX-License-Identifier: MIT */
/*
 * clock.h - time, real or virtual.
 *
 * Nanoseconds since an arbitrary start, never backwards. With a seed (thread.h) the clock is
 * virtual: sleeping costs nothing, and time moves when every thread waits for it.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

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

/* Nanoseconds since 1970, for people; virtual too, and then always the same. */
uint64_t clock_wall_ns(void);

void clock_sleep_until(uint64_t deadline_ns);

/* Time has passed while nobody looked; a virtual clock only. */
void clock_jump(uint64_t ns);

/* now + delay, saturating at CLOCK_FOREVER. */
uint64_t clock_deadline(uint64_t delay_ns);

#endif
