/* SPDX-License-Identifier: MIT */
/*
 * trace_events.c - what it costs to say something to a trace.
 *
 * usage: trace_events count      for callgrind: what twice as many cost more is what they cost
 *        trace_events clock      how long it takes to look at the clock that events have, a line for each of some rounds, in ns
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "trace/trace.h"

/* As many fields as most have, with an id as large as a process that is not the first has. */
__attribute__((noinline)) static void emit_events(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		trace_allocation_place((UINT64_C(3) << 32 | 0x40000000) + i, i % 2 ? "in" : "out",
				       1, 65536);
}

enum { LOOKS = 10000, ROUNDS = 100 };

static void time_clock(void)
{
	bool has_ticks = clock_has_ticks();

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_now_ns();
		for (int i = 0; i < LOOKS; i++) {
			uint64_t now = has_ticks ? clock_tick_early() : clock_peek_ns();
			__asm__ volatile("" : : "r"(now));
		}
		printf("%.2f\n", (double)(clock_now_ns() - start) / LOOKS);
	}
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/dxgk-trace-events-XXXXXX";
	int file = mkstemp(path);

	remove(path);
	if (argc == 2 && strcmp(argv[1], "clock") == 0) {
		time_clock();
		return 0;
	}
	if (argc != 2 || file < 0 || !trace_start_to(file, "events", 0)) {
		fprintf(stderr, "usage: trace_events count|clock\n");
		return 1;
	}
	trace_process_create(1); /* the thread has joined */
	emit_events((uint32_t)strtoul(argv[1], NULL, 10));
	trace_finish();
	return 0;
}
