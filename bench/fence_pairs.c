/* SPDX-License-Identifier: MIT */
/*
 * fence_pairs.c - monitored fences that are signalled and waited for, or come and go.
 *
 * usage: fence_pairs strict count    how many of each pair a thread made that may make no system
 *                                    call
 *        fence_pairs count           for callgrind: signal_and_wait(), create_and_destroy()
 */
#include <string.h>

#include "fences.h"
#include "strict.h"

struct run {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE fence;
	UINT64 value;
	unsigned count;
};

__attribute__((noinline)) static void signal_and_wait(struct run *run)
{
	signal_fence(run->device, run->fence, ++run->value);
	wait_fence(run->device, run->fence, run->value);
}

__attribute__((noinline)) static void create_and_destroy(const struct run *run)
{
	destroy_fence(create_fence(run->device));
}

static void make_pairs(void *context)
{
	struct run *run = context;

	for (unsigned i = 0; i < run->count; i++) {
		signal_and_wait(run);
		create_and_destroy(run);
	}
}

int main(int argc, char **argv)
{
	bool is_strict = argc == 3 && strcmp(argv[1], "strict") == 0;
	struct run run = { .count = argc > 1 ? (unsigned)strtoul(argv[argc - 1], NULL, 0) : 0 };

	if (run.count == 0 || (argc == 3 && !is_strict) || argc > 3) {
		fprintf(stderr, "usage: fence_pairs [strict] count\n");
		return 2;
	}
	run.device = create_device();
	run.fence = create_fence(run.device);
	if (!is_strict) {
		make_pairs(&run);
		return 0;
	}
	bool is_done = strict_run(make_pairs, &run);
	printf("%u\n", is_done ? run.count : 0);
	return is_done ? 0 : 1;
}
