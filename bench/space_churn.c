/* SPDX-License-Identifier: MIT */
/*
 * space_churn.c - ranges come and go in a segment, as allocations of many sizes do.
 *
 * usage: space_churn pairs live pairs
 *        space_churn contiguous|scattered gigabytes
 *
 * Sizes are log-uniform from 4 KiB to 64 MiB, rounded up to 64 KiB and aligned to that.
 *
 *   pairs       the space is so large that `live` ranges fill 0.80 of it. After a long warm-up each
 *               pair gives one back, at random, and takes another: exchange_ranges(), which run.py
 *               counts under callgrind.
 *   otherwise   a segment of that size is kept full: what does not fit pushes out random ones until
 *               it does. 40,000 allocations; prints the mean share in use over the last 30,000, the
 *               median of nine seeds, and how many runs an allocation has.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "ranges/page_pool.h"
#include "ranges/ranges.h"

enum {
	PAGE_BYTES = 4096,
	GRANULE_PAGES = 16,
	CHURN_TAKES = 40000,
	CHURN_SEEDS = 9,
	WARM_UP_LEAST = 200000,
};

#define MEAN_PAGES 1697 /* of rounded sizes */
#define FILL       0.80

static uint64_t random_pages(struct random *random)
{
	double u = (double)(random_next(random) >> 11) * 0x1p-53;
	uint64_t bytes = (uint64_t)exp2(12 + 14 * u);

	return (bytes + GRANULE_PAGES * PAGE_BYTES - 1) / (GRANULE_PAGES * PAGE_BYTES) *
	       GRANULE_PAGES;
}

static void *array_of(size_t count, size_t size_bytes)
{
	void *array = calloc(count, size_bytes);

	if (!array) {
		fprintf(stderr, "space_churn: no memory\n");
		exit(1);
	}
	return array;
}

static void begin(struct ranges *space, uint64_t page_count)
{
	if (!NT_SUCCESS(ranges_init(space, page_count))) {
		fprintf(stderr, "space_churn: no memory\n");
		exit(1);
	}
}

/* Cost. */

__attribute__((noinline)) static void exchange_ranges(struct ranges *space, struct range **ranges,
						      const uint32_t *order, const uint64_t *sizes,
						      size_t pairs)
{
	for (size_t i = 0; i < pairs; i++) {
		struct range **range = &ranges[order[i]];

		if (*range)
			ranges_give(space, *range);
		*range = NULL;
		if (!NT_SUCCESS(ranges_take(space, sizes[i], GRANULE_PAGES, range)))
			*range = NULL; /* full for once */
	}
}

/* The same, where nobody counts. */
__attribute__((noinline)) static void warm_up(struct ranges *space, struct range **ranges,
					      size_t live, size_t pairs, struct random *random)
{
	for (size_t i = 0; i < pairs; i++) {
		struct range **range = &ranges[i < live ? i : random_below(random, live)];

		if (*range)
			ranges_give(space, *range);
		if (!NT_SUCCESS(ranges_take(space, random_pages(random), GRANULE_PAGES, range)))
			*range = NULL;
	}
}

static void run_pairs(size_t live, size_t pairs)
{
	struct range **ranges = array_of(live, sizeof(struct range *));
	uint32_t *order = array_of(pairs, sizeof(*order));
	uint64_t *sizes = array_of(pairs, sizeof(*sizes));
	struct random random;
	struct ranges space;

	random_init(&random, 1);
	for (size_t i = 0; i < pairs; i++) {
		order[i] = (uint32_t)random_below(&random, live);
		sizes[i] = random_pages(&random);
	}
	begin(&space, (uint64_t)((double)live * MEAN_PAGES / FILL));
	warm_up(&space, ranges, live, 3 * live > WARM_UP_LEAST ? 3 * live : WARM_UP_LEAST, &random);
	exchange_ranges(&space, ranges, order, sizes, pairs);
	printf("%.4f\n", (double)space.taken_units / (double)space.unit_count);
	ranges_finish(&space);
	free(sizes);
	free(order);
	free(ranges);
}

/* Packing. */

struct resident {
	struct range *range;
	struct page_set pages;
};

static bool take(struct ranges *space, bool is_scattered, uint64_t page_count, struct resident *at)
{
	return NT_SUCCESS(is_scattered ? page_pool_take(space, page_count, GRANULE_PAGES, NULL,
							PAGE_POOL_FROM_START, &at->pages)
				       : ranges_take(space, page_count, GRANULE_PAGES, &at->range));
}

static void give(struct ranges *space, bool is_scattered, struct resident *at)
{
	if (is_scattered)
		page_pool_give(space, &at->pages);
	else
		ranges_give(space, at->range);
}

static double churn(bool is_scattered, uint64_t page_count, uint64_t seed, double *runs_out)
{
	struct resident *residents = array_of(CHURN_TAKES, sizeof(*residents));
	struct random random;
	struct ranges space;
	size_t live = 0;
	double used = 0;
	double runs = 0;

	random_init(&random, seed);
	begin(&space, page_count);
	for (int i = 0; i < CHURN_TAKES; i++) {
		uint64_t wanted = random_pages(&random);
		struct resident at = { 0 };

		while (!take(&space, is_scattered, wanted, &at)) {
			size_t victim = random_below(&random, live);

			give(&space, is_scattered, &residents[victim]);
			residents[victim] = residents[--live];
		}
		residents[live++] = at;
		if (i < CHURN_TAKES / 4)
			continue;
		used += (double)space.taken_units / (double)page_count;
		runs += is_scattered ? at.pages.run_count : 1;
	}
	while (live > 0)
		give(&space, is_scattered, &residents[--live]);
	ranges_finish(&space);
	free(residents);
	*runs_out = runs / (CHURN_TAKES - CHURN_TAKES / 4);
	return used / (CHURN_TAKES - CHURN_TAKES / 4);
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

static void run_churn(bool is_scattered, uint64_t gigabytes)
{
	double shares[CHURN_SEEDS];
	double runs[CHURN_SEEDS];

	for (int seed = 0; seed < CHURN_SEEDS; seed++)
		shares[seed] =
			churn(is_scattered, gigabytes << 18, (uint64_t)seed + 1, &runs[seed]);
	qsort(shares, CHURN_SEEDS, sizeof(shares[0]), compare);
	qsort(runs, CHURN_SEEDS, sizeof(runs[0]), compare);
	printf("%.5f %.3f\n", shares[CHURN_SEEDS / 2], runs[CHURN_SEEDS / 2]);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "pairs") == 0) {
		run_pairs(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
		return 0;
	}
	if (argc == 3 &&
	    (strcmp(argv[1], "contiguous") == 0 || strcmp(argv[1], "scattered") == 0)) {
		run_churn(strcmp(argv[1], "scattered") == 0, strtoull(argv[2], NULL, 0));
		return 0;
	}
	fprintf(stderr, "usage: space_churn pairs live pairs\n"
			"       space_churn contiguous|scattered gigabytes\n");
	return 2;
}
