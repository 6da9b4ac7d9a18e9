/* SPDX-License-Identifier: MIT */
/*
 * thread_time.h - how long the calling thread has run, without what it waited for a processor.
 */
#ifndef BENCH_THREAD_TIME_H
#define BENCH_THREAD_TIME_H

#include <stdint.h>
#include <time.h>

static inline uint64_t thread_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
