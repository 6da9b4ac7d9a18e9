/* SPDX-License-Identifier: MIT */
/*
 * threads_test.c - one allocation, many threads.
 */
#include "base/thread.h"
#include "world.h"

enum { THREADS = 4, ROUNDS = 400 };

struct shared {
	struct vidmm_allocation allocation;
	_Atomic(char *) pointer;
	_Atomic uint32_t locked;
};

static void lock_and_unlock(void *argument)
{
	struct shared *shared = argument;

	for (int i = 0; i < ROUNDS; i++) {
		void *pointer = NULL;
		char *expected = NULL;

		EXPECT_EQ(vidmm_lock(&shared->allocation, true, &pointer), STATUS_SUCCESS);
		if (!atomic_compare_exchange_strong(&shared->pointer, &expected, (char *)pointer))
			EXPECT(expected == pointer);
		atomic_fetch_add((_Atomic uint32_t *)pointer, 1);
		atomic_fetch_add(&shared->locked, 1);
		EXPECT(vidmm_lock_count(&shared->allocation) >= 1);
		EXPECT(world_unlock(&shared->allocation));
	}
}

static void run_threads(void (*run)(void *), void *argument)
{
	struct thread *threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		EXPECT_EQ(thread_create("locker", run, argument, &threads[i]), STATUS_SUCCESS);
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
}

TEST(threads, all_see_the_same_bytes_at_the_same_place)
{
	struct world world;
	struct shared shared = { 0 };

	world_init(&world, 64);
	struct vidmm_wishes wishes = world_wishes(&world, MIB);
	vidmm_allocation_init(&shared.allocation, &wishes);
	run_threads(lock_and_unlock, &shared);
	EXPECT_EQ(shared.locked, THREADS * ROUNDS);
	EXPECT_EQ(*(uint32_t *)shared.pointer, THREADS * ROUNDS);
	EXPECT_EQ(vidmm_lock_count(&shared.allocation), 0);
	EXPECT(!world_unlock(&shared.allocation));
	world.allocations[world.count++] = &shared.allocation;
	world_check(&world);
	world.count = 0;
	vidmm_allocation_finish(&shared.allocation);
	world_finish(&world);
}

/* Each its own allocations; pages, addresses and accounts are everybody's. */
static void churn(void *argument)
{
	struct world *world = argument;

	for (int i = 0; i < ROUNDS; i++) {
		struct vidmm_allocation own[3];
		void *pointers[3];

		for (int k = 0; k < 3; k++) {
			struct vidmm_wishes wishes = {
				.size_bytes = (uint64_t)(1 + (i * 7 + k * 13) % 40) * PAGE,
				.alignment_bytes = PAGE,
				.account = &world->process,
			};

			vidmm_allocation_init(&own[k], &wishes);
			EXPECT_EQ(vidmm_lock(&own[k], false, &pointers[k]), STATUS_SUCCESS);
			EXPECT_EQ(*(uint64_t *)pointers[k], 0);
			*(uint64_t *)pointers[k] = (uintptr_t)&own[k];
		}
		for (int k = 0; k < 3; k++) {
			EXPECT_EQ(*(uint64_t *)pointers[k], (uintptr_t)&own[k]);
			vidmm_allocation_finish(&own[k]);
		}
	}
}

WORLD_TEST(threads, never_share_what_is_their_own)
{
	run_threads(churn, world);
	world_check(world);
	EXPECT_EQ(world->process.committed_bytes, 0);
}

/* One offers and reclaims, decommits when it may; the others lock when they can. */
static void offer_or_lock(void *argument)
{
	struct shared *shared = argument;
	bool is_offerer = atomic_fetch_add(&shared->locked, 1) == 0;

	for (int i = 0; i < ROUNDS; i++) {
		void *pointer;

		if (is_offerer) {
			if (NT_SUCCESS(world_offer(&shared->allocation, VIDMM_OFFER_LOW, true))) {
				(void)!world_decommit(&shared->allocation);
				EXPECT(world_reclaim(&shared->allocation) !=
				       VIDMM_RECLAIM_NOT_COMMITTED);
			}
		} else if (NT_SUCCESS(vidmm_lock(&shared->allocation, false, &pointer))) {
			/* Locked, it is neither offered nor taken away. */
			atomic_fetch_add((_Atomic uint32_t *)pointer, 1);
			EXPECT(world_unlock(&shared->allocation));
		}
	}
}

TEST(threads, an_offer_and_a_lock_exclude_each_other)
{
	struct world world;
	struct shared shared = { 0 };

	world_init(&world, 64);
	struct vidmm_wishes wishes = world_wishes(&world, 64 * KIB);
	vidmm_allocation_init(&shared.allocation, &wishes);
	run_threads(offer_or_lock, &shared);
	world.allocations[world.count++] = &shared.allocation;
	world_check(&world);
	world.count = 0;
	vidmm_allocation_finish(&shared.allocation);
	world_finish(&world);
}

TEST_MAIN("vidmm/threads")
