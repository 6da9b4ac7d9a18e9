/* SPDX-License-Identifier: MIT */
/*
 * trace_events.c - what it costs to say something to a trace.
 *
 * usage: trace_events count      for callgrind: what twice as many cost more is what they cost
 */
#include <stdio.h>
#include <stdlib.h>

#include "trace/trace.h"

/* As many fields as most have, with an id as large as a process that is not the first has. */
__attribute__((noinline)) static void emit_events(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		trace_allocation_place((UINT64_C(3) << 32 | 0x40000000) + i, i % 2 ? "in" : "out",
				       1, 65536);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/dxgk-trace-events-XXXXXX";
	int file = mkstemp(path);

	remove(path);
	if (argc != 2 || file < 0 || !trace_start_to(file, "events", 0)) {
		fprintf(stderr, "usage: trace_events count\n");
		return 1;
	}
	trace_process_create(1); /* the thread has joined */
	emit_events((uint32_t)strtoul(argv[1], NULL, 10));
	trace_finish();
	return 0;
}
