/* SPDX-License-Identifier: MIT */
/*
 * replay_test.c - bytes moved, against models that do it page by page; and what the policies
 * promise.
 */
#include <string.h>

#include "base/random.h"
#include "replay/replay.h"
#include "support/failing.h"
#include "support/test.h"

enum { PAGE = 4096 };

static struct workload workload;

static void allocate(uint64_t pages)
{
	uint32_t allocation;

	EXPECT_EQ(workload_add_allocation(&workload, pages * PAGE, &allocation), STATUS_SUCCESS);
}

static void use(uint32_t allocation)
{
	EXPECT_EQ(workload_add_event(&workload, WORKLOAD_USE, allocation), STATUS_SUCCESS);
}

static void destroy(uint32_t allocation)
{
	EXPECT_EQ(workload_add_event(&workload, WORKLOAD_DESTROY, allocation), STATUS_SUCCESS);
}

static struct replay_result run(const struct evict_policy *policy, uint64_t pages)
{
	struct replay_result result;

	EXPECT_EQ(replay_run(&workload, policy, pages * PAGE, NULL, &result), STATUS_SUCCESS);
	return result;
}

static struct replay_result belady(uint64_t pages)
{
	struct replay_result result;

	EXPECT_EQ(replay_belady(&workload, pages * PAGE, &result), STATUS_SUCCESS);
	return result;
}

TEST(replay, what_fits_moves_once)
{
	for (int i = 0; i < 3; i++)
		allocate(10);
	for (int i = 0; i < 30; i++)
		use((uint32_t)i % 3);
	EXPECT_EQ(belady(30).bytes_in, 30 * PAGE);
	EXPECT_EQ(run(&evict_lru, 30).bytes_in, 30 * PAGE);
	EXPECT_EQ(run(&evict_adaptive, 30).bytes_in, 30 * PAGE);
	EXPECT_EQ(run(&evict_lru, 30).misses, 3);
	EXPECT_EQ(run(&evict_lru, 30).uses, 30);
	workload_finish(&workload);
}

TEST(replay, lru_moves_everything_in_a_cycle_that_is_a_little_too_large)
{
	for (int i = 0; i < 5; i++)
		allocate(10);
	for (int i = 0; i < 50; i++)
		use((uint32_t)i % 5);
	EXPECT_EQ(run(&evict_lru, 45).bytes_in, 500 * PAGE);
	/* Who knows the future moves five pages a round: two or three of each half. */
	EXPECT(belady(45).bytes_in < 120 * PAGE);
	workload_finish(&workload);
}

TEST(replay, belady_moves_pages_and_not_allocations)
{
	allocate(10);
	allocate(10);
	use(0);
	use(1);
	use(0);
	EXPECT_EQ(belady(19).bytes_in, 21 * PAGE);
	EXPECT_EQ(run(&evict_lru, 19).bytes_in, 30 * PAGE);
	workload_finish(&workload);
}

TEST(replay, what_is_destroyed_makes_room_and_leaves_nothing)
{
	allocate(10);
	allocate(10);
	use(0);
	destroy(0);
	use(1);
	use(1);
	EXPECT_EQ(run(&evict_adaptive, 10).bytes_in, 20 * PAGE);
	EXPECT_EQ(belady(10).bytes_in, 20 * PAGE);
	EXPECT_EQ(belady(10).misses, 2);
	workload_finish(&workload);
}

TEST(replay, what_is_larger_than_the_segment_is_left_out_and_said)
{
	allocate(10);
	allocate(11);
	use(0);
	use(1);
	use(1);
	EXPECT_EQ(run(&evict_lru, 10).bytes_in, 10 * PAGE);
	EXPECT_EQ(run(&evict_lru, 10).too_large, 2);
	EXPECT_EQ(run(&evict_lru, 10).uses, 1);
	EXPECT_EQ(belady(10).too_large, 2);
	EXPECT_EQ(belady(10).bytes_in, 10 * PAGE);
	workload_finish(&workload);
}

TEST(replay, no_memory_is_a_status)
{
	struct replay_result result;

	EXPECT_EACH_FAILURE_TOLD(2, workload_generate("zipf-0.8", 1, &workload),
				 workload_finish(&workload));
	EXPECT_EQ(workload_generate("zipf-0.8", 1, &workload), STATUS_SUCCESS);
	EXPECT_EACH_FAILURE_TOLD(
		1, replay_run(&workload, &evict_adaptive, UINT64_C(1) << 30, NULL, &result),
		(void)0);
	EXPECT_EACH_FAILURE_TOLD(1, replay_belady(&workload, UINT64_C(1) << 30, &result), (void)0);
	workload_finish(&workload);
}

/* Models: everything is looked for anew, one page after the other. */

enum { ALLOCATIONS = 12, EVENTS = 300 };

static size_t next_use_of(uint32_t allocation, size_t after)
{
	for (size_t i = after + 1; i < workload.event_count; i++) {
		if (workload.events[i].allocation == allocation)
			return workload.events[i].kind == WORKLOAD_USE ? i : SIZE_MAX;
	}
	return SIZE_MAX;
}

static uint64_t model_pages_in(uint64_t segment_pages, bool knows_future)
{
	uint64_t resident[ALLOCATIONS] = { 0 };
	size_t last_use[ALLOCATIONS] = { 0 };
	uint64_t used = 0;
	uint64_t moved = 0;

	for (size_t i = 0; i < workload.event_count; i++) {
		uint32_t at = workload.events[i].allocation;
		uint64_t pages = workload.sizes[at] / PAGE;

		used -= resident[at];
		if (workload.events[i].kind == WORKLOAD_DESTROY) {
			resident[at] = 0;
			continue;
		}
		moved += pages - resident[at];
		resident[at] = 0;
		while (used + pages > segment_pages) {
			uint32_t victim = ALLOCATIONS;
			size_t worst = 0;

			for (uint32_t k = 0; k < ALLOCATIONS; k++) {
				size_t wait = knows_future ? next_use_of(k, i) : i - last_use[k];

				if (resident[k] > 0 && (victim == ALLOCATIONS || wait > worst)) {
					victim = k;
					worst = wait;
				}
			}
			used -= knows_future ? 1 : resident[victim];
			resident[victim] -= knows_future ? 1 : resident[victim];
		}
		resident[at] = pages;
		used += pages;
		last_use[at] = i;
	}
	return moved;
}

TEST(replay, random_workloads_agree_with_models_that_go_page_by_page)
{
	struct random random;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t least;

		random_init(&random, seed);
		for (int i = 0; i < ALLOCATIONS; i++)
			allocate(1 + random_below(&random, 20));
		for (int i = 0; i < EVENTS; i++) {
			uint32_t at = (uint32_t)random_below(&random, ALLOCATIONS);

			if (random_below(&random, 20) == 0)
				destroy(at);
			else
				use(at);
		}
		uint64_t pages = 20 + random_below(&random, 80);
		least = belady(pages).bytes_in;
		EXPECT_EQ(least, model_pages_in(pages, true) * PAGE);
		EXPECT_EQ(run(&evict_lru, pages).bytes_in, model_pages_in(pages, false) * PAGE);
		EXPECT(run(&evict_adaptive, pages).bytes_in >= least);
		workload_finish(&workload);
	}
}

/* What the adaptive policy promises. */

static double ratio(const struct evict_policy *policy, double times)
{
	uint64_t pages = (uint64_t)((double)workload.reference_bytes / times / PAGE);

	return (double)run(policy, pages).bytes_in / (double)belady(pages).bytes_in;
}

static const double over[] = { 1.10, 1.25, 1.50 };

TEST(adaptive, each_kind_of_work_moves_little_more_than_it_must)
{
	static const struct {
		const char *kind;
		double most[ARRAY_SIZE(over)];
	} rows[] = {
		{ "cyclic", { 1.02, 1.02, 1.02 } },   { "shuffled", { 1.12, 1.12, 1.12 } },
		{ "passes", { 1.10, 1.10, 1.10 } },   { "drift", { 1.15, 1.15, 1.15 } },
		{ "apps", { 1.15, 1.15, 1.15 } },     { "phases", { 1.12, 1.12, 1.12 } },
		{ "mixed", { 1.25, 1.40, 1.50 } },    { "zipf-0.8", { 1.47, 1.85, 2.00 } },
		{ "training", { 1.15, 1.15, 1.15 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		EXPECT_EQ(workload_generate(rows[i].kind, 2, &workload), STATUS_SUCCESS);
		for (size_t k = 0; k < ARRAY_SIZE(over); k++)
			EXPECT(ratio(&evict_adaptive, over[k]) <= rows[i].most[k]);
		workload_finish(&workload);
	}
}

TEST(adaptive, nothing_moves_much_more_than_with_lru)
{
	for (unsigned i = 0; workload_kind_at(i); i++) {
		EXPECT_EQ(workload_generate(workload_kind_at(i)->name, 4, &workload),
			  STATUS_SUCCESS);
		for (size_t k = 0; k < ARRAY_SIZE(over); k++)
			EXPECT(ratio(&evict_adaptive, over[k]) <=
			       1.12 * ratio(&evict_lru, over[k]));
		workload_finish(&workload);
	}
}

TEST(lru, the_frames_are_as_hard_as_those_that_were_measured)
{
	EXPECT_EQ(workload_generate("cyclic", 1, &workload), STATUS_SUCCESS);
	EXPECT(ratio(&evict_lru, 1.10) > 9.3 && ratio(&evict_lru, 1.10) < 9.6);
	EXPECT(ratio(&evict_lru, 1.25) > 4.6 && ratio(&evict_lru, 1.25) < 4.8);
	EXPECT(ratio(&evict_lru, 1.50) > 2.8 && ratio(&evict_lru, 1.50) < 3.0);
	workload_finish(&workload);
	EXPECT_EQ(workload_generate("drift", 1, &workload), STATUS_SUCCESS);
	EXPECT(ratio(&evict_lru, 1.25) > 2.3 && ratio(&evict_lru, 1.25) < 2.5);
	workload_finish(&workload);
	EXPECT_EQ(workload_generate("zipf-0.8", 1, &workload), STATUS_SUCCESS);
	EXPECT(ratio(&evict_lru, 1.25) > 1.8 && ratio(&evict_lru, 1.25) < 2.0);
	workload_finish(&workload);
}

TEST_MAIN("replay/replay")
