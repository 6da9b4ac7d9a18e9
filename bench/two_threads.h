/* SPDX-License-Identifier: MIT */
/*
 * two_threads.h - two threads that wake each other by turns, with a mutex and condition variables:
 * what a turn that passes other threads is compared with.
 */
#ifndef BENCH_TWO_THREADS_H
#define BENCH_TWO_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#include "allocations.h"
#include "base/clock.h"

struct table {
	pthread_mutex_t lock;
	pthread_cond_t ball_is_here;
	pthread_cond_t ball_is_there;
	bool is_there;
	bool is_over;
};

static struct table table = { .lock = PTHREAD_MUTEX_INITIALIZER,
			      .ball_is_here = PTHREAD_COND_INITIALIZER,
			      .ball_is_there = PTHREAD_COND_INITIALIZER };

static inline void *other_side(void *context)
{
	(void)context;
	pthread_mutex_lock(&table.lock);
	for (;;) {
		while (!table.is_there)
			pthread_cond_wait(&table.ball_is_there, &table.lock);
		if (table.is_over)
			break;
		table.is_there = false;
		pthread_cond_signal(&table.ball_is_here);
	}
	pthread_mutex_unlock(&table.lock);
	return NULL;
}

static inline double threads_ns(unsigned count)
{
	uint64_t start = clock_now_ns();

	pthread_mutex_lock(&table.lock);
	for (unsigned i = 0; i < count; i++) {
		table.is_there = true;
		pthread_cond_signal(&table.ball_is_there);
		while (table.is_there)
			pthread_cond_wait(&table.ball_is_here, &table.lock);
	}
	pthread_mutex_unlock(&table.lock);
	return (double)(clock_now_ns() - start) / count;
}

static inline void end_other_side(pthread_t thread)
{
	pthread_mutex_lock(&table.lock);
	table.is_over = true;
	table.is_there = true;
	pthread_cond_signal(&table.ball_is_there);
	pthread_mutex_unlock(&table.lock);
	pthread_join(thread, NULL);
}

/* One line per round: nanoseconds per turn, ours and the threads'. The first round warms up. */
static inline void print_beside_threads(double (*ours_ns)(void *ours, unsigned count), void *ours,
					unsigned count, unsigned rounds)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, other_side, NULL) != 0)
		fail("pthread_create");
	for (unsigned i = 0; i <= rounds; i++) {
		double ours_now = ours_ns(ours, count);
		double theirs_now = threads_ns(count);
		if (i > 0)
			printf("%.1f %.1f\n", ours_now, theirs_now);
	}
	end_other_side(thread);
}

#endif
