/* SPDX-License-Identifier: MIT */
/*
 * sim_test.c - seeded runs: repeatable, thorough, honest about getting stuck, and polite to threads
 * that the client made.
 */
#include <pthread.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/notice.h"
#include "base/thread.h"
#include "base/worker.h"
#include "support/test.h"
#include "child.h"

enum { THREADS = 4, ROUNDS = 15 };

static struct lock lock = LOCK_INITIALIZER(LOCK_RANK_DEVICE, "sim test");
static struct notice changed;
static char order[1024];
static size_t order_length;

static struct thread *start(const char *name, void (*run)(void *), void *argument)
{
	struct thread *thread;

	if (!NT_SUCCESS(thread_create(name, run, argument, &thread)))
		abort();
	return thread;
}

static void note_locked(char what)
{
	lock_assert_held(&lock);
	CHILD_EXPECT(order_length < sizeof(order) - 1);
	order[order_length++] = what;
}

/* ---- repeatable ---- */

static void lock_wait_and_wake(void *argument)
{
	uintptr_t number = (uintptr_t)argument;

	for (int round = 0; round < ROUNDS; round++) {
		lock_acquire(&lock);
		note_locked((char)('a' + number));
		lock_release(&lock);
		uint32_t seen = notice_read(&changed);
		if ((round + number) % 3 == 0)
			notice_give(&changed);
		else if (notice_wait(&changed, seen, clock_deadline(number * NS_PER_US)) ==
			 THREAD_TIMED_OUT)
			thread_point();
	}
}

static void print_interleaving(void)
{
	struct thread *threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		threads[i] = start("mixer", lock_wait_and_wake, (void *)i);
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	printf("%s %llu", order, (unsigned long long)clock_now_ns());
}

TEST(sim, the_same_seed_gives_the_same_run_and_others_give_others)
{
	static struct child_result results[20], again;

	for (uint64_t seed = 0; seed < 20; seed++) {
		child_run_seeded(&results[seed], seed, print_interleaving);
		EXPECT_EQ(results[seed].exit_status, 0);
		EXPECT(strlen(results[seed].out) > THREADS * ROUNDS);
		child_run_seeded(&again, seed, print_interleaving);
		EXPECT_STR(again.out, results[seed].out);
		for (uint64_t other = 0; other < seed; other++)
			EXPECT(strcmp(results[other].out, results[seed].out) != 0);
	}
}

/* ---- thorough ---- */

enum { QUEUE_MAX = 2, ITEMS = 40 };

static int queued;
static int produced;
static int consumed;
static struct notice queue_changed;

static void produce(void *argument)
{
	(void)argument;
	for (int i = 0; i < ITEMS; i++) {
		lock_acquire(&lock);
		while (queued == QUEUE_MAX)
			notice_wait_relock(&queue_changed, &lock);
		queued++;
		produced++;
		lock_release(&lock);
		notice_give(&queue_changed);
	}
}

static void consume(void *argument)
{
	(void)argument;
	for (int i = 0; i < ITEMS; i++) {
		lock_acquire(&lock);
		while (queued == 0)
			notice_wait_relock(&queue_changed, &lock);
		queued--;
		consumed++;
		CHILD_EXPECT(consumed <= produced);
		lock_release(&lock);
		notice_give(&queue_changed);
	}
}

static void produce_and_consume(void)
{
	struct thread *threads[4];

	threads[0] = start("producer 1", produce, NULL);
	threads[1] = start("consumer 1", consume, NULL);
	threads[2] = start("producer 2", produce, NULL);
	threads[3] = start("consumer 2", consume, NULL);
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	CHILD_EXPECT(consumed == 2 * ITEMS && queued == 0);
}

TEST(sim, producers_and_consumers_never_hang)
{
	for (uint64_t seed = 0; seed < 200; seed++)
		EXPECT_SEEDED_OK(seed, produce_and_consume);
}

/* The classic mistake: the flag is looked at before the notice is. */
static _Atomic bool is_done;

static void wait_carelessly(void *argument)
{
	(void)argument;
	while (!is_done) {
		thread_point();
		uint32_t seen = notice_read(&changed);
		notice_wait(&changed, seen, CLOCK_FOREVER);
	}
}

static void wake_the_careless(void)
{
	struct thread *thread = start("careless", wait_carelessly, NULL);

	is_done = true;
	notice_give(&changed);
	thread_join(thread);
}

TEST(sim, finds_a_lost_wake_up)
{
	struct child_result result;
	int stuck = 0;
	int fine = 0;

	for (uint64_t seed = 0; seed < 50; seed++) {
		child_run_seeded(&result, seed, wake_the_careless);
		stuck += result.signal == SIGABRT;
		fine += result.exit_status == 0;
	}
	EXPECT(stuck > 0);
	EXPECT(fine > 0);
	EXPECT_EQ(stuck + fine, 50);
}

/* A plain counter that two threads change without a lock, with a point in the middle. */
static int unguarded;

static void add_carelessly(void *argument)
{
	(void)argument;
	for (int i = 0; i < 5; i++) {
		int value = unguarded;
		thread_point();
		unguarded = value + 1;
	}
}

static void print_unguarded(void)
{
	struct thread *a = start("a", add_carelessly, NULL);
	struct thread *b = start("b", add_carelessly, NULL);

	thread_join(a);
	thread_join(b);
	printf("%d", unguarded);
}

TEST(sim, finds_a_race)
{
	struct child_result result;
	int lost = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		child_run_seeded(&result, seed, print_unguarded);
		lost += atoi(result.out) < 10;
	}
	EXPECT(lost > 0);
}

/* ---- honest ---- */

static struct notice never;

static void wait_for_ever(void *argument)
{
	(void)argument;
	notice_wait(&never, notice_read(&never), CLOCK_FOREVER);
}

static void get_stuck(void)
{
	struct thread *anna = start("anna", wait_for_ever, NULL);

	start("bert", wait_for_ever, NULL);
	thread_join(anna);
}

TEST(sim, a_deadlock_is_reported_with_the_seed_and_the_threads)
{
	struct child_result result;

	child_run_seeded(&result, 77, get_stuck);
	EXPECT_EQ(result.signal, SIGABRT);
	EXPECT_CONTAINS(result.err, "stuck");
	EXPECT_CONTAINS(result.err, "DXGK_SEED=77");
	EXPECT_CONTAINS(result.err, "(anna)");
	EXPECT_CONTAINS(result.err, "(bert)");
	EXPECT_CONTAINS(result.err, "(client)");
}

TEST(sim, the_environment_chooses_the_seed)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "test `DXGK_SEED=0x10 %s clock` = `DXGK_SEED=16 %s clock`", BASE_RUN, BASE_RUN);
	EXPECT_EQ(system(command), 0);
	snprintf(command, sizeof(command),
		 "DXGK_SEED=12x %s clock 2>&1 | grep -q 'DXGK_SEED=12x is not a number'", BASE_RUN);
	EXPECT_EQ(system(command), 0);
	snprintf(command, sizeof(command), "test -z \"`DXGK_SEED= %s clock 2>&1 >/dev/null`\"",
		 BASE_RUN);
	EXPECT_EQ(system(command), 0);
}

/* ---- polite ---- */

static void in_kernel(void (*run)(void *), void *argument)
{
	thread_enter_kernel();
	run(argument);
	thread_leave_kernel();
}

static void idle_run(struct work *work)
{
	(void)work;
}

static struct worker worker;
static struct work idle = { .run = idle_run };

static void start_worker(void *argument)
{
	(void)argument;
	CHILD_EXPECT(NT_SUCCESS(worker_init(&worker, "kernel worker")));
	list_init(&idle.link);
}

static void use_worker(void *argument)
{
	(void)argument;
	worker_post(&worker, &idle);
	worker_flush(&worker);
	clock_sleep_until(clock_deadline(NS_PER_MS));
}

static void stop_worker(void *argument)
{
	(void)argument;
	worker_finish(&worker);
}

static void *native_calls(void *argument)
{
	for (uintptr_t i = 0; i < (uintptr_t)argument; i++)
		in_kernel(use_worker, NULL);
	return NULL;
}

static void call_from_many_threads(void)
{
	pthread_t natives[3];

	in_kernel(start_worker, NULL);
	for (int i = 0; i < 3; i++)
		CHILD_EXPECT(pthread_create(&natives[i], NULL, native_calls, (void *)5) == 0);
	/* Outside, and waiting for threads that sleep inside: time has to go on. */
	for (int i = 0; i < 3; i++)
		pthread_join(natives[i], NULL);
	in_kernel(use_worker, NULL);
	in_kernel(stop_worker, NULL);
}

TEST(sim, client_threads_come_and_go_while_another_is_outside)
{
	for (uint64_t seed = 0; seed < 10; seed++)
		EXPECT_SEEDED_OK(seed, call_from_many_threads);
}

static void *native_whole_life(void *argument)
{
	in_kernel(start_worker, argument);
	in_kernel(use_worker, argument);
	return NULL;
}

static void the_first_caller_ends(void)
{
	pthread_t native;

	/* This thread has not called yet; the worker is idle when the caller ends. */
	CHILD_EXPECT(pthread_create(&native, NULL, native_whole_life, NULL) == 0);
	pthread_join(native, NULL);
	in_kernel(use_worker, NULL);
	in_kernel(stop_worker, NULL);
}

TEST(sim, a_kernel_without_callers_is_idle_and_not_stuck)
{
	for (uint64_t seed = 0; seed < 10; seed++)
		EXPECT_SEEDED_OK(seed, the_first_caller_ends);
}

static _Atomic bool has_ended;

static void *native_waits_inside(void *argument)
{
	thread_enter_kernel();
	while (!is_done)
		notice_wait(&changed, notice_read(&changed), clock_deadline(NS_PER_S));
	thread_leave_kernel();
	has_ended = true;
	return argument;
}

static void give_notice(void *argument)
{
	(void)argument;
	is_done = true;
	notice_give(&changed);
}

static void one_waits_for_another(void)
{
	pthread_t native;

	in_kernel(give_notice, NULL);
	is_done = false;
	CHILD_EXPECT(pthread_create(&native, NULL, native_waits_inside, NULL) == 0);
	in_kernel(give_notice, NULL);
	pthread_join(native, NULL);
	CHILD_EXPECT(has_ended);
}

TEST(sim, a_client_thread_wakes_another)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, one_waits_for_another);
}

static void *native_looks_in(void *argument)
{
	in_kernel(give_notice, NULL);
	return argument;
}

static void the_last_hope_ends(void)
{
	pthread_t native;

	/* Two callers, so that neither keeps the turn while it is outside. */
	in_kernel(give_notice, NULL);
	CHILD_EXPECT(pthread_create(&native, NULL, native_looks_in, NULL) == 0);
	thread_enter_kernel();
	notice_wait(&never, notice_read(&never), CLOCK_FOREVER);
}

TEST(sim, it_is_stuck_when_the_last_client_outside_has_ended)
{
	struct child_result result;

	for (uint64_t seed = 0; seed < 10; seed++) {
		child_run_seeded(&result, seed, the_last_hope_ends);
		EXPECT_EQ(result.signal, SIGABRT);
		EXPECT_CONTAINS(result.err, "stuck");
	}
}

static void lone_client(void)
{
	in_kernel(start_worker, NULL);
	for (int i = 0; i < 5; i++) {
		in_kernel(use_worker, NULL);
		printf("%llu ", (unsigned long long)clock_now_ns());
	}
	in_kernel(stop_worker, NULL);
}

TEST(sim, a_client_with_one_thread_is_repeatable)
{
	struct child_result first, second;

	for (uint64_t seed = 0; seed < 10; seed++) {
		child_run_seeded(&first, seed, lone_client);
		child_run_seeded(&second, seed, lone_client);
		EXPECT_EQ(first.exit_status, 0);
		EXPECT(strlen(first.out) > 0);
		EXPECT_STR(second.out, first.out);
	}
}

/* ---- parked ---- */

enum { STEPS = 3, POINTS = 3 * STEPS }; /* a step takes the lock, lets it go and wakes somebody */

static void step_on(void *argument)
{
	const char *mark = argument;

	for (int i = 0; i < STEPS; i++) {
		lock_acquire(&lock);
		note_locked(*mark);
		lock_release(&lock);
		notice_give(&changed);
	}
	if (*mark == 'a')
		sim_park_end();
}

static void stay(void *argument)
{
	(void)argument;
	notice_wait(&never, notice_read(&never), clock_deadline(NS_PER_S));
}

/* "a" is parked while "b", which is made then, goes all its way. */
static uint64_t park_at;

static void park_one(void)
{
	sim_park("a", park_at);
	struct thread *a = start("a", step_on, "a");
	sim_park_await();
	struct thread *b = start("b", step_on, "b");
	thread_join(b);
	thread_join(a);
	printf("%s", order);
}

TEST(park, stops_a_thread_at_each_of_its_points_while_the_others_go_on)
{
	SKIP_UNLESS(LOCK_IS_WATCHED, "letting a lock go is no point to park at");

	static const char *const wanted[POINTS + 1] = {
		"bbbaaa", "abbbaa", "abbbaa", "abbbaa", "aabbba",
		"aabbba", "aabbba", "aaabbb", "aaabbb", "aaabbb",
	};
	struct child_result result;

	for (uint64_t seed = 0; seed < 10; seed++) {
		for (park_at = 1; park_at <= POINTS + 1; park_at++) {
			child_run_seeded(&result, seed, park_one);
			EXPECT_EQ(result.exit_status, 0);
			EXPECT_STR(result.out, wanted[park_at - 1]);
		}
	}
}

static void park_and_count(void)
{
	bool has_parked = true;

	for (park_at = 0; has_parked;) {
		sim_park("a", ++park_at);
		struct thread *a =
			start("a", step_on, "b"); /* it does not end the parking itself */
		thread_join(a);
		has_parked = sim_park_end();
	}
	printf("%llu", (unsigned long long)park_at);
}

TEST(park, says_when_there_was_no_such_point)
{
	SKIP_UNLESS(LOCK_IS_WATCHED, "letting a lock go is no point to park at");

	struct child_result result;

	child_run_seeded(&result, 5, park_and_count);
	EXPECT_EQ(atoi(result.out), POINTS + 1);
}

static struct lock inner = LOCK_INITIALIZER(LOCK_RANK_PROCESS, "sim test, inner");

static void hold_two(void *argument)
{
	(void)argument;
	lock_acquire(&lock);
	lock_acquire(&inner);
	note_locked('a');
	lock_release(&inner);
	lock_release(&lock);
	sim_park_end();
}

static void park_a_holder(void)
{
	sim_park("a", 2);
	struct thread *a = start("a", hold_two, NULL);
	sim_park_await();
	uint64_t parked_ns = clock_now_ns();
	struct thread *b = start("b", step_on, "b");
	struct thread *sleeper = start("sleeper", stay, NULL);
	thread_join(b);
	thread_join(a);
	CHILD_EXPECT(clock_now_ns() - parked_ns < NS_PER_MS);
	thread_join(sleeper);
	printf("%s", order);
}

TEST(park, ends_when_the_others_wait_and_before_time_passes)
{
	struct child_result result;

	for (uint64_t seed = 0; seed < 10; seed++) {
		child_run_seeded(&result, seed, park_a_holder);
		EXPECT_EQ(result.exit_status, 0);
		EXPECT_STR(result.out, "abbb");
	}
}

static void spin(void *argument)
{
	(void)argument;
	while (!is_done)
		thread_point();
}

static void finish_the_spinner(void *argument)
{
	(void)argument;
	thread_point();
	is_done = true;
}

static void park_who_is_waited_for_in_a_loop(void)
{
	sim_park("a", 1);
	struct thread *a = start("a", finish_the_spinner, NULL);
	sim_park_await();
	struct thread *spinner = start("spinner", spin, NULL);
	thread_join(spinner);
	thread_join(a);
	CHILD_EXPECT(sim_park_end());
}

TEST(park, ends_when_somebody_waits_for_it_in_a_loop)
{
	EXPECT_SEEDED_OK(3, park_who_is_waited_for_in_a_loop);
}

/* A lock that is dropped between choosing and acting: what was chosen may be gone. */
static int purse = 1;

static void pay(void *argument)
{
	const char *who = argument;

	lock_acquire(&lock);
	bool can_pay = purse > 0;
	lock_release(&lock);
	lock_acquire(&lock);
	if (can_pay)
		purse--;
	lock_release(&lock);
	if (*who == 'a')
		sim_park_end();
}

static void pay_twice(void)
{
	sim_park("a", park_at);
	struct thread *a = start("a", pay, "a");
	sim_park_await();
	pay("b");
	thread_join(a);
	printf("%d", purse);
}

TEST(park, finds_a_lock_that_is_dropped_between_choosing_and_acting)
{
	SKIP_UNLESS(LOCK_IS_WATCHED, "letting a lock go is no point to park at");

	static const char *const wanted[] = { "0", "-1", "-1", "0", "0" };
	struct child_result result;

	for (park_at = 1; park_at <= 5; park_at++) {
		child_run_seeded(&result, park_at, pay_twice);
		EXPECT_STR(result.out, wanted[park_at - 1]);
	}
}

static void park_and_mix(void)
{
	sim_park("mixer", 20);
	print_interleaving();
	CHILD_EXPECT(sim_park_end());
}

TEST(park, is_the_same_again_with_the_same_seed)
{
	static struct child_result first, second, free_run;
	int others = 0;

	for (uint64_t seed = 0; seed < 10; seed++) {
		child_run_seeded(&first, seed, park_and_mix);
		child_run_seeded(&second, seed, park_and_mix);
		child_run_seeded(&free_run, seed, print_interleaving);
		EXPECT_EQ(first.exit_status, 0);
		EXPECT_STR(second.out, first.out);
		others += strcmp(free_run.out, first.out) != 0;
	}
	EXPECT(others > 0);
}

static void *park_in_a_call(void *argument)
{
	(void)argument;
	in_kernel(use_worker, NULL);
	return NULL;
}

static void park_beside_a_client(void)
{
	pthread_t native;

	in_kernel(start_worker, NULL);
	sim_park("kernel worker", 1);
	CHILD_EXPECT(pthread_create(&native, NULL, park_in_a_call, NULL) == 0);
	/* Outside, and waiting for a call that waits for who is parked. */
	pthread_join(native, NULL);
	CHILD_EXPECT(sim_park_end());
	in_kernel(stop_worker, NULL);
}

TEST(park, ends_though_a_client_is_outside)
{
	for (uint64_t seed = 0; seed < 10; seed++)
		EXPECT_SEEDED_OK(seed, park_beside_a_client);
}

TEST_MAIN("base/sim")
