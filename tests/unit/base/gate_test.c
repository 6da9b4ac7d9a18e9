/* SPDX-License-Identifier: MIT */
/*
 * gate_test.c - many inside, or one who closed.
 */
#include "base/clock.h"
#include "base/gate.h"
#include "base/thread.h"
#include "support/test.h"
#include "child.h"

enum { THREADS = 40, ROUNDS = 200 }; /* more threads than the gate has counters */
_Static_assert((int)THREADS > (int)THREAD_SEATS, "some share a count");

static struct gate gate = GATE_INITIALIZER(LOCK_RANK_ADAPTER, "the gate");
static uint64_t value; /* plain: only a closed gate keeps it right */

static void pass_and_close(void *argument)
{
	for (uintptr_t i = (uintptr_t)argument; i < (uintptr_t)argument + ROUNDS; i++) {
		if (i % 10 == 0) {
			gate_close(&gate);
			value++;
			gate_open(&gate);
		} else {
			gate_enter(&gate);
			if (value > THREADS * ROUNDS)
				abort();
			gate_leave(&gate);
		}
	}
}

static void pass_with_threads(void)
{
	struct thread *threads[THREADS];

	value = 0;
	for (uintptr_t i = 0; i < THREADS; i++) {
		if (!NT_SUCCESS(thread_create("pass", pass_and_close, (void *)i, &threads[i])))
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	if (value != THREADS * ROUNDS / 10)
		abort();
}

TEST(gate, nobody_is_inside_a_closed_one)
{
	pass_with_threads();
}

TEST(gate, nobody_is_forgotten_whatever_the_seed)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, pass_with_threads);
}

static void pass_once(void *argument)
{
	(void)argument;
	gate_enter(&gate);
	gate_leave(&gate);
}

TEST(gate, many_are_inside_together)
{
	struct thread *thread;

	gate_enter(&gate);
	EXPECT(NT_SUCCESS(thread_create("pass", pass_once, NULL, &thread)));
	thread_join(thread);
	gate_leave(&gate);
}

static char happened[8];

static void happen(char what)
{
	happened[strlen(happened)] = what;
}

static void close_it(void *argument)
{
	(void)argument;
	gate_close(&gate);
	happen('c');
	clock_sleep_until(clock_deadline(NS_PER_S));
	happen('o');
	gate_open(&gate);
}

static void enter_it(void *argument)
{
	(void)argument;
	gate_enter(&gate);
	happen('e');
	gate_leave(&gate);
}

static void let_others_run(void)
{
	clock_sleep_until(clock_deadline(NS_PER_MS));
}

static void closing_waits_and_makes_wait(void)
{
	struct thread *closer, *passer;

	gate_enter(&gate);
	CHILD_EXPECT(NT_SUCCESS(thread_create("closer", close_it, NULL, &closer)));
	let_others_run();
	CHILD_EXPECT(NT_SUCCESS(thread_create("passer", enter_it, NULL, &passer)));
	let_others_run();
	CHILD_EXPECT(happened[0] == '\0'); /* the closer for us, the passer for the closer */
	gate_leave(&gate);
	thread_join(closer);
	thread_join(passer);
	CHILD_EXPECT(strcmp(happened, "coe") == 0);
}

TEST(gate, closing_waits_for_those_inside_and_newcomers_wait_for_it)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, closing_waits_and_makes_wait);
}

static void go_ahead(void *argument)
{
	(void)argument;
	gate_enter_ahead(&gate);
	happen('a');
	gate_leave(&gate);
}

static void ahead_of_who_waits(void)
{
	struct thread *closer, *ahead, *passer;

	gate_enter(&gate);
	CHILD_EXPECT(NT_SUCCESS(thread_create("closer", close_it, NULL, &closer)));
	let_others_run();
	CHILD_EXPECT(NT_SUCCESS(thread_create("passer", enter_it, NULL, &passer)));
	CHILD_EXPECT(NT_SUCCESS(thread_create("ahead", go_ahead, NULL, &ahead)));
	thread_join(ahead); /* who is inside may wait for it */
	CHILD_EXPECT(strcmp(happened, "a") == 0);
	gate_leave(&gate);
	thread_join(closer);
	thread_join(passer);
	CHILD_EXPECT(strcmp(happened, "acoe") == 0);

	/* Who has closed it is waited for. */
	memset(happened, 0, sizeof(happened));
	gate_close(&gate);
	CHILD_EXPECT(NT_SUCCESS(thread_create("ahead", go_ahead, NULL, &ahead)));
	let_others_run();
	CHILD_EXPECT(happened[0] == '\0');
	gate_open(&gate);
	thread_join(ahead);
	CHILD_EXPECT(strcmp(happened, "a") == 0);
}

TEST(gate, some_go_ahead_of_who_waits_to_close_it)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, ahead_of_who_waits);
}

static _Atomic bool is_racing;

static void race_ahead(void *argument)
{
	while (atomic_load(&is_racing)) {
		gate_enter_ahead(&gate);
		if (value % 2 != 0) /* somebody has closed it */
			abort();
		gate_leave(&gate);
		clock_sleep_until(clock_deadline(NS_PER_US));
	}
	(void)argument;
}

static void close_against_those_ahead(void)
{
	struct thread *threads[4];

	value = 0;
	atomic_store(&is_racing, true);
	for (int i = 0; i < 4; i++) {
		if (!NT_SUCCESS(thread_create("ahead", race_ahead, NULL, &threads[i])))
			abort();
	}
	for (int i = 0; i < ROUNDS; i++) {
		gate_close(&gate);
		value++;
		thread_point();
		value++;
		gate_open(&gate);
	}
	atomic_store(&is_racing, false);
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
}

TEST(gate, who_went_ahead_is_not_inside_a_closed_one)
{
	close_against_those_ahead();
	for (uint64_t seed = 0; seed < 5; seed++)
		EXPECT_SEEDED_OK(seed, close_against_those_ahead);
}

static void close_in_time(void)
{
	struct thread *passer;

	gate_enter(&gate);
	CHILD_EXPECT(NT_SUCCESS(thread_create("passer", enter_it, NULL, &passer)));
	thread_join(passer);
	gate_leave(&gate);
	CHILD_EXPECT(gate_close_until(&gate, clock_deadline(NS_PER_MS)));
	gate_open(&gate);
}

static void give_up(void *argument)
{
	if (gate_close_until(&gate, clock_deadline(NS_PER_S)))
		gate_open(&gate);
	else
		*(bool *)argument = true;
	happen('g');
}

static void close_too_late(void)
{
	struct thread *closer, *passer;
	bool has_given_up = false;

	gate_enter(&gate);
	CHILD_EXPECT(NT_SUCCESS(thread_create("closer", give_up, &has_given_up, &closer)));
	let_others_run();
	CHILD_EXPECT(NT_SUCCESS(thread_create("passer", enter_it, NULL, &passer)));
	let_others_run();
	CHILD_EXPECT(happened[0] == '\0'); /* it stands behind the closer … */
	thread_join(closer);
	CHILD_EXPECT(has_given_up);
	thread_join(passer); /* … who gave up, and is not in the way any more */
	gate_leave(&gate);
	gate_close(&gate);
	gate_open(&gate);
}

TEST(gate, who_closes_waits_as_long_as_it_was_told)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		EXPECT_SEEDED_OK(seed, close_in_time);
		EXPECT_SEEDED_OK(seed, close_too_late);
	}
}

static void several_behind_who_closed(void)
{
	struct thread *threads[3];

	gate_close(&gate);
	CHILD_EXPECT(NT_SUCCESS(thread_create("passer", enter_it, NULL, &threads[0])));
	CHILD_EXPECT(NT_SUCCESS(thread_create("closer", close_it, NULL, &threads[1])));
	CHILD_EXPECT(NT_SUCCESS(thread_create("passer", enter_it, NULL, &threads[2])));
	let_others_run();
	CHILD_EXPECT(happened[0] == '\0');
	gate_open(&gate);
	for (int i = 0; i < 3; i++)
		thread_join(threads[i]);
	CHILD_EXPECT(strlen(happened) == 4);
}

TEST(gate, nobody_is_forgotten_behind_who_closed_it)
{
	for (uint64_t seed = 0; seed < 50; seed++)
		EXPECT_SEEDED_OK(seed, several_behind_who_closed);
}

#ifndef NDEBUG

static void enter_twice(void *argument)
{
	(void)argument;
	gate_enter(&gate);
	gate_enter(&gate);
}

TEST(gate, has_a_rank_like_a_lock)
{
	struct child_result result;

	child_run(&result, enter_twice, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	EXPECT_CONTAINS(result.err, "\"the gate\"");
}

#endif

static _Atomic uint32_t is_told;

static void leave_when_told(void *argument)
{
	(void)argument;
	gate_enter(&gate);
	happen('i');
	while (!is_told)
		thread_wait(&is_told, 0, CLOCK_FOREVER);
	happen('l');
	gate_leave(&gate);
}

static void shutting_comes_before_waiting(void)
{
	struct thread *inside, *passer;

	CHILD_EXPECT(NT_SUCCESS(thread_create("inside", leave_when_told, NULL, &inside)));
	let_others_run();
	gate_shut(&gate);
	CHILD_EXPECT(NT_SUCCESS(thread_create("passer", enter_it, NULL, &passer)));
	let_others_run();
	CHILD_EXPECT(strcmp(happened, "i") == 0); /* one is still inside, the other stays out */
	is_told = 1;
	thread_wake_all(&is_told);
	gate_drain(&gate);
	CHILD_EXPECT(strcmp(happened, "il") == 0);
	gate_open(&gate);
	thread_join(inside);
	thread_join(passer);
	CHILD_EXPECT(strcmp(happened, "ile") == 0);
}

TEST(gate, who_shuts_it_can_tell_those_inside_to_leave)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, shutting_comes_before_waiting);
}

static _Atomic uint32_t passed;

static void pass_at_the_end(struct thread_end *end)
{
	(void)end;
	gate_enter(&gate);
	gate_leave(&gate);
	passed++;
}

static void pass_and_once_more_at_the_end(void *argument)
{
	struct thread_end *end = argument;

	end->run = pass_at_the_end;
	thread_on_end(end);
	pass_once(NULL);
}

TEST(gate, is_passed_by_threads_that_come_to_their_end)
{
	struct thread_end end;
	struct thread *thread;

	for (uint32_t i = 1; i <= 2 * THREAD_SEATS; i++) {
		EXPECT(NT_SUCCESS(
			thread_create("end", pass_and_once_more_at_the_end, &end, &thread)));
		thread_join(thread);
		EXPECT_EQ(passed, i);
	}
	gate_close(&gate); /* nobody was left behind */
	gate_open(&gate);
}

static void close_in_child(void *argument)
{
	(void)argument;
	gate_close(&gate);
	gate_open(&gate);
	gate_enter(&gate);
	gate_leave(&gate);
	pass_with_threads();
}

TEST(gate, works_in_a_child_of_fork)
{
	struct child_result result;

	pass_once(NULL);
	child_run(&result, close_in_child, NULL);
	EXPECT_EQ(result.signal, 0);
	EXPECT_EQ(result.exit_status, 0);
}

/* ---- resting ---- */

static void rest_until_looked_at(void *argument)
{
	struct notice *looked = argument;
	uint32_t seen = notice_read(looked);

	gate_enter(&gate);
	gate_rest(&gate);
	happen('r');
	notice_wait(looked, seen, CLOCK_FOREVER);
	gate_resume(&gate);
	happen('m');
	gate_leave(&gate);
}

static void look_at_who_rests(void)
{
	struct notice looked = { 0 };
	struct thread *sleeper;

	CHILD_EXPECT(NT_SUCCESS(thread_create("rest", rest_until_looked_at, &looked, &sleeper)));
	let_others_run();
	CHILD_EXPECT(!gate_close_until(&gate, clock_deadline(NS_PER_MS)));
	CHILD_EXPECT(!gate_is_busy(&gate));
	CHILD_EXPECT(gate_close_to_look_until(&gate, clock_deadline(NS_PER_MS)));
	notice_give(&looked);
	let_others_run();
	happen('o');
	gate_open(&gate);
	thread_join(sleeper);
	CHILD_EXPECT(strcmp(happened, "rom") == 0);
	gate_close(&gate);
	gate_open(&gate);
}

TEST(gate, who_rests_inside_is_looked_at_and_resumes_afterwards)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, look_at_who_rests);
}

static void enter_and_stay(void *argument)
{
	(void)argument;
	gate_enter(&gate);
	happen('e');
	clock_sleep_until(clock_deadline(NS_PER_S));
	gate_leave(&gate);
}

static void look_at_who_does_not_rest(void)
{
	struct thread *passer;

	CHILD_EXPECT(NT_SUCCESS(thread_create("pass", enter_and_stay, NULL, &passer)));
	let_others_run();
	CHILD_EXPECT(gate_is_busy(&gate));
	CHILD_EXPECT(!gate_close_to_look_until(&gate, clock_deadline(NS_PER_MS)));
	thread_join(passer);
}

TEST(gate, who_does_not_rest_keeps_others_from_looking)
{
	for (uint64_t seed = 0; seed < 5; seed++)
		EXPECT_SEEDED_OK(seed, look_at_who_does_not_rest);
}

static void rest_often(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		gate_enter(&gate);
		if (value > THREADS * ROUNDS)
			abort();
		gate_rest(&gate);
		thread_point();
		gate_resume(&gate);
		if (value > THREADS * ROUNDS)
			abort();
		gate_leave(&gate);
		if (i % 10 == (int)(uintptr_t)argument % 10) {
			if (i % 20 < 10)
				gate_close(&gate);
			else
				gate_close_to_look(&gate);
			value++;
			gate_open(&gate);
		}
	}
}

static void rest_with_threads(void)
{
	struct thread *threads[THREADS];

	value = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_EXPECT(NT_SUCCESS(thread_create("rest", rest_often, (void *)i, &threads[i])));
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	CHILD_EXPECT(value == THREADS * ROUNDS / 10);
}

/* The thread sanitizer sees whoever moves in a gate that is closed to look. */
TEST(gate, nobody_moves_in_one_that_is_closed_to_look)
{
	rest_with_threads();
	for (uint64_t seed = 0; seed < 5; seed++)
		EXPECT_SEEDED_OK(seed, rest_with_threads);
}

TEST_MAIN("base/gate")
