/* SPDX-License-Identifier: MIT */
/*
 * effort.c - see effort.h. One counter for each thread that asks, closed when the thread ends.
 */
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/effort.h"
#include "base/thread.h"

static _Atomic bool is_refused; /* once, and for all threads */

static _Thread_local struct {
	bool is_open;
	int descriptor;
	struct thread_end end;
} counter;

static void close_counter(struct thread_end *end)
{
	(void)end;
	close(counter.descriptor);
	counter.is_open = false;
}

/* Of this thread, outside of the system. */
static bool open_counter(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	if (counter.is_open)
		return true;
	if (atomic_load(&is_refused))
		return false;
	counter.descriptor =
		(int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (counter.descriptor < 0) {
		atomic_store(&is_refused, true);
		return false;
	}
	counter.is_open = true;
	counter.end.run = close_counter;
	thread_on_end(&counter.end);
	return true;
}

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t effort_glance_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

struct effort effort_now(void)
{
	uint64_t count;

	if (open_counter() && read(counter.descriptor, &count, sizeof(count)) == sizeof(count))
		return (struct effort){ .is_counted = true, .amount = count };
	return (struct effort){ .amount = read_ns(CLOCK_THREAD_CPUTIME_ID) };
}
