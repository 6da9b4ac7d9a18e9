/* SPDX-License-Identifier: MIT */
/*
 * clock.c - see clock.h. The virtual half lives in sim.c, with the threads that move it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* Whoever made the machine's clock of another source had a reason. */
bool clock_has_ticks(void)
{
#if defined(__x86_64__)
	static const char tsc[] = "tsc\n";
	char name[sizeof(tsc)];
	int saved_errno = errno;
	int file = sim_is_on() ? -1
			       : open("/sys/devices/system/clocksource/clocksource0/"
				      "current_clocksource",
				      O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, name, sizeof(name));

	if (file >= 0)
		close(file);
	errno = saved_errno;
	return length == (ssize_t)strlen(tsc) && memcmp(name, tsc, strlen(tsc)) == 0;
#else
	return false;
#endif
}

uint64_t clock_ns_per_tick;

void clock_learn_ticks(void)
{
	static uint64_t first_ns, first_tick;
	uint64_t now_ns = clock_peek_ns();
	uint64_t now_tick = clock_tick();

	if (first_ns == 0) {
		first_ns = now_ns;
		first_tick = now_tick;
	} else if (clock_ns_per_tick == 0 && now_ns - first_ns >= NS_PER_MS && clock_has_ticks()) {
		clock_ns_per_tick = (uint64_t)(((unsigned __int128)(now_ns - first_ns) << 32) /
					       (now_tick - first_tick));
	}
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
