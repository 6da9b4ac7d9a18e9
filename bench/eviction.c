/* SPDX-License-Identifier: MIT */
/*
 * eviction.c - how many bytes the policies of eviction move.
 *
 * usage: eviction seeds
 *        eviction cost kind
 *
 * Every kind of workload that the generator knows, in segments of which 1.10, 1.25 and 1.50 times
 * are used. A line for each: kind, times, LRU and adaptive as multiples of page-granular Belady
 * (medians of the seeds), and the worst adaptive / LRU among the seeds. Or one kind through adaptive
 * alone, in replay_alone(), for whoever counts instructions: prints how many uses that were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

enum { SEEDS_MAX = 99, PAGE_BYTES = 4096 };

static void check(NTSTATUS status)
{
	if (NT_SUCCESS(status))
		return;
	fprintf(stderr, "eviction: no memory\n");
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

static uint64_t segment_of(const struct workload *workload, double times)
{
	return (uint64_t)((double)workload->reference_bytes / times) / PAGE_BYTES * PAGE_BYTES;
}

static void measure(const char *kind, double times, unsigned seeds)
{
	double lru[SEEDS_MAX];
	double adaptive[SEEDS_MAX];
	double worst = 0;

	for (unsigned i = 0; i < seeds; i++) {
		struct replay_result least, by_age, by_guess;
		struct workload workload;
		uint64_t segment_bytes;

		check(workload_generate(kind, i + 1, &workload));
		segment_bytes = segment_of(&workload, times);
		check(replay_belady(&workload, segment_bytes, &least));
		check(replay_run(&workload, &evict_lru, segment_bytes, NULL, &by_age));
		check(replay_run(&workload, &evict_adaptive, segment_bytes, NULL, &by_guess));
		workload_finish(&workload);
		lru[i] = (double)by_age.bytes_in / (double)least.bytes_in;
		adaptive[i] = (double)by_guess.bytes_in / (double)least.bytes_in;
		if (adaptive[i] / lru[i] > worst)
			worst = adaptive[i] / lru[i];
	}
	printf("%s %.2f %.4f %.4f %.4f\n", kind, times, median(lru, seeds), median(adaptive, seeds),
	       worst);
}

__attribute__((noinline)) static void replay_alone(const struct workload *workload,
						   struct replay_result *result)
{
	check(replay_run(workload, &evict_adaptive, segment_of(workload, 1.25), NULL, result));
}

static int print_cost(const char *kind)
{
	struct replay_result result;
	struct workload workload;

	check(workload_generate(kind, 1, &workload));
	replay_alone(&workload, &result);
	printf("%llu\n", (unsigned long long)result.uses);
	workload_finish(&workload);
	return 0;
}

int main(int argc, char **argv)
{
	static const double times[] = { 1.10, 1.25, 1.50 };
	unsigned long seeds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (argc == 3 && strcmp(argv[1], "cost") == 0)
		return print_cost(argv[2]);
	if (seeds < 1 || seeds > SEEDS_MAX) {
		fprintf(stderr, "usage: eviction seeds | cost kind\n");
		return 2;
	}
	for (unsigned i = 0; workload_kind_at(i); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(times); k++)
			measure(workload_kind_at(i)->name, times[k], (unsigned)seeds);
	}
	return 0;
}
