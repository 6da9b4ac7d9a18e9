/* SPDX-License-Identifier: MIT */
/*
 * clock.c - see clock.h. The virtual half lives in sim.c, with the threads that move it.
 */
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/sim.h"
#include "base/thread.h"

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return sim_is_on() ? sim_now_ns() : read_clock(CLOCK_MONOTONIC);
}

void clock_jump(uint64_t ns)
{
	if (sim_is_on())
		sim_jump(ns);
}

uint64_t clock_peek_ns(void)
{
	return sim_is_on() ? sim_peek_ns() : read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
	/* A fixed day, so that a seeded run says the same thing whenever it is repeated. */
	const uint64_t sim_epoch_ns = UINT64_C(1600000000) * NS_PER_S;

	return sim_is_on() ? sim_epoch_ns + sim_now_ns() : read_clock(CLOCK_REALTIME);
}

uint64_t clock_deadline(uint64_t delay_ns)
{
	uint64_t deadline;

	if (__builtin_add_overflow(clock_now_ns(), delay_ns, &deadline))
		return CLOCK_FOREVER;
	return deadline;
}

void clock_sleep_until(uint64_t deadline_ns)
{
	static _Atomic uint32_t never;

	/* Nobody wakes this word; only the deadline ends the wait. */
	while (clock_now_ns() < deadline_ns)
		thread_wait(&never, 0, deadline_ns);
}
