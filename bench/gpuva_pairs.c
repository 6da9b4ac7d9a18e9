/* SPDX-License-Identifier: MIT */
/*
 * gpuva_pairs.c - GPU addresses are mapped and freed while `live` mappings stay.
 *
 * usage: gpuva_pairs map live pairs	mappings of 64 KiB, as bookkeeping: no page tables
 *        gpuva_pairs reserve bytes pairs	reserving and freeing so many bytes
 *
 * Each pair frees one of the living, at random, and maps 64 KiB anew at an address that the space
 * chooses. At first there are gaps of 64 KiB to 1 MiB between them. Nothing is measured here:
 * run.py runs it under callgrind, which counts the instructions of exchange_mappings() or
 * exchange_reservations() alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "gpuva/plan.h"

enum { PAGES_64K = 16, MAX_UNITS = 16 };

static struct gpuva_space space;
static struct gpuva_owner owner;

static void must_succeed(NTSTATUS status)
{
	if (!NT_SUCCESS(status)) {
		fprintf(stderr, "gpuva_pairs: a request failed: 0x%x\n", (unsigned)status);
		exit(1);
	}
}

static uint64_t map_pages(uint64_t page_count)
{
	struct gpuva_map_request request = {
		.owner = &owner,
		.page_count = page_count,
		.protection = GPUVA_WRITE,
	};
	struct gpuva_plan plan;
	uint64_t first_page;

	must_succeed(gpuva_plan_map(&space, &request, &plan));
	first_page = plan.first_page;
	gpuva_plan_apply(&plan);
	gpuva_plan_finish(&plan);
	return first_page;
}

static void free_pages(uint64_t first_page, uint64_t page_count)
{
	struct gpuva_plan plan;

	must_succeed(gpuva_plan_free(&space, first_page << GPUVA_PAGE_SHIFT,
				     page_count << GPUVA_PAGE_SHIFT, false, &plan));
	gpuva_plan_apply(&plan);
	gpuva_plan_finish(&plan);
}

__attribute__((noinline)) static void exchange_mappings(uint64_t *first_pages,
							const uint32_t *order, size_t pairs)
{
	for (size_t i = 0; i < pairs; i++) {
		free_pages(first_pages[order[i]], PAGES_64K);
		first_pages[order[i]] = map_pages(PAGES_64K);
	}
}

__attribute__((noinline)) static void exchange_reservations(uint64_t size_bytes, size_t pairs)
{
	struct gpuva_reserve_request request = { .size_bytes = size_bytes };

	for (size_t i = 0; i < pairs; i++) {
		struct gpuva_plan plan;
		uint64_t first_page;

		must_succeed(gpuva_plan_reserve(&space, &request, &plan));
		first_page = plan.first_page;
		gpuva_plan_apply(&plan);
		gpuva_plan_finish(&plan);
		free_pages(first_page, size_bytes >> GPUVA_PAGE_SHIFT);
	}
}

/* Live mappings of 64 KiB, and between them as many gaps of 64 KiB to 1 MiB. */
static void map_live(uint64_t *first_pages, size_t live, struct random *random)
{
	uint64_t *gaps = calloc(live, sizeof(*gaps));
	uint64_t *sizes = calloc(live, sizeof(*sizes));

	if (!gaps || !sizes)
		exit(1);
	for (size_t i = 0; i < live; i++) {
		first_pages[i] = map_pages(PAGES_64K);
		sizes[i] = PAGES_64K * (1 + random_below(random, MAX_UNITS));
		gaps[i] = map_pages(sizes[i]);
	}
	for (size_t i = 0; i < live; i++)
		free_pages(gaps[i], sizes[i]);
	free(gaps);
	free(sizes);
}

static void run_map(size_t live, size_t pairs)
{
	uint64_t *first_pages = calloc(live, sizeof(*first_pages));
	uint32_t *order = calloc(pairs, sizeof(*order));
	struct random random;

	if (!first_pages || !order) {
		fprintf(stderr, "gpuva_pairs: no memory\n");
		exit(1);
	}
	random_init(&random, 1);
	map_live(first_pages, live, &random);
	for (size_t i = 0; i < pairs; i++)
		order[i] = (uint32_t)random_below(&random, live);
	exchange_mappings(first_pages, order, pairs);
	free(order);
	free(first_pages);
}

int main(int argc, char **argv)
{
	uint64_t amount = argc == 4 ? strtoull(argv[2], NULL, 0) : 0;
	size_t pairs = argc == 4 ? strtoull(argv[3], NULL, 0) : 0;

	if (amount == 0 || pairs == 0) {
		fprintf(stderr, "usage: gpuva_pairs map live pairs\n"
				"       gpuva_pairs reserve bytes pairs\n");
		return 2;
	}
	gpuva_space_init(&space, UINT64_C(1) << (48 - GPUVA_PAGE_SHIFT), 512);
	gpuva_owner_init(&owner, (uint64_t)PAGES_64K * MAX_UNITS);
	if (strcmp(argv[1], "map") == 0)
		run_map(amount, pairs);
	else
		exchange_reservations(amount, pairs);
	if (gpuva_validate(&space)) {
		fprintf(stderr, "gpuva_pairs: %s\n", gpuva_validate(&space));
		return 1;
	}
	gpuva_space_finish(&space);
	return 0;
}
