/* SPDX-License-Identifier: MIT */
/*
 * threads_test.c - fences and their memory under several threads, in real time and seeded.
 */
#include "support/test.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/notice.h"
#include "base/random.h"
#include "base/thread.h"
#include "sched/fence.h"
#include "sched/fence_page.h"

enum { THREADS = 4, ROUNDS = 300 };

static _Atomic uint64_t memory;
static struct fence fence;

static void begin(void)
{
	atomic_store(&memory, 0);
	fence_init(&fence, &memory);
}

static void run_threads(void (*run)(void *), void *arguments, size_t stride)
{
	struct thread *threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		EXPECT_EQ(thread_create("test", run, (char *)arguments + i * stride, &threads[i]),
			  STATUS_SUCCESS);
	for (unsigned i = 0; i < THREADS; i++)
		thread_join(threads[i]);
}

/* ---- no wake-up is lost ---- */

struct sleeper {
	struct fence_wait wait;
	struct notice released;
	_Atomic uint32_t is_released;
};

static void sleeper_reached(struct fence_wait *wait)
{
	struct sleeper *sleeper = container_of(wait, struct sleeper, wait);

	atomic_store(&sleeper->is_released, 1);
	notice_give(&sleeper->released);
}

/* In an array, each used once: who releases may still look at its notice when we have gone on. */
static struct sleeper sleepers[THREADS * ROUNDS];

static void sleep_until(uint64_t value)
{
	struct sleeper *sleeper = &sleepers[value];

	sleeper->wait = (struct fence_wait){ .value = value, .reached = sleeper_reached };
	if (!fence_wait_start(&fence, &sleeper->wait))
		return;
	for (;;) {
		uint32_t seen = notice_read(&sleeper->released);
		if (atomic_load(&sleeper->is_released))
			return;
		notice_wait(&sleeper->released, seen, CLOCK_FOREVER);
	}
}

struct player {
	uint64_t number;
};

/* Each in turn waits for its value and signals the next one's. */
static void player_run(void *argument)
{
	struct player *player = argument;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t turn = round * THREADS + player->number;
		sleep_until(turn);
		if (!fence_signal(&fence, turn + 1))
			abort();
	}
}

TEST(signal, and_wait_pass_a_token_round_without_losing_it)
{
	struct player players[THREADS];

	begin();
	for (unsigned i = 0; i < THREADS; i++)
		players[i].number = i;
	run_threads(player_run, players, sizeof(players[0]));
	EXPECT_EQ(fence_value(&fence), ROUNDS * THREADS);
	fence_finish(&fence);
}

/* ---- released or cancelled, exactly once ---- */

static _Atomic uint32_t releases;
static _Atomic uint32_t cancels;
static _Atomic uint32_t starts;
static struct fence_wait waits[THREADS][ROUNDS];

static void count_release(struct fence_wait *wait)
{
	atomic_fetch_add(&releases, 1);
}

static void mixer_run(void *argument)
{
	unsigned self = *(unsigned *)argument;
	struct random random;

	random_init(&random, self);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct fence_wait *wait = &waits[self][i];
		*wait = (struct fence_wait){ .value =
						     fence_value(&fence) + random_below(&random, 4),
					     .reached = count_release };
		if (fence_wait_start(&fence, wait))
			atomic_fetch_add(&starts, 1);
		if (random_below(&random, 2))
			(void)fence_signal(&fence, fence_value(&fence) + random_below(&random, 3));
		if (random_below(&random, 2) && fence_wait_cancel(&fence, wait))
			atomic_fetch_add(&cancels, 1);
	}
}

TEST(wait, is_released_or_cancelled_exactly_once)
{
	unsigned numbers[THREADS] = { 0, 1, 2, 3 };

	begin();
	releases = cancels = starts = 0;
	run_threads(mixer_run, numbers, sizeof(numbers[0]));
	fence_end(&fence);
	EXPECT_EQ(releases + cancels, starts);
	fence_finish(&fence);
}

/* ---- slots ---- */

static struct fence_pages *pages;

static void taker_run(void *argument)
{
	unsigned self = *(unsigned *)argument;
	struct fence_slot slots[8] = { 0 };

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct fence_slot *slot = &slots[i % 8];
		if (slot->value && *slot->view != self)
			abort();
		fence_slot_give(slot);
		if (!NT_SUCCESS(fence_slot_take(pages, self, slot)))
			abort();
	}
	for (unsigned i = 0; i < 8; i++)
		fence_slot_give(&slots[i]);
}

TEST(slots, of_several_threads_do_not_mix)
{
	unsigned numbers[THREADS] = { 1, 2, 3, 4 };

	pages = fence_pages_create(1, false);
	run_threads(taker_run, numbers, sizeof(numbers[0]));
	fence_pages_close(pages);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	machine_finish();
}

TEST_MAIN("sched/threads")
