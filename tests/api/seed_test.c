/* SPDX-License-Identifier: MIT */
/*
 * seed_test.c - DXGK_SEED: one seed, one run.
 *
 * The children make threads through <opendxgk/testing.h>, which take part in the seeded run; the
 * trace of a run is what is compared. Those of pthread_create() are as a client's own: what
 * opendxgk(7) says of them under SIMULATED RUNS is shown here.
 */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "api/soft_work.h"

enum { THREADS = 4, ROUNDS = 6 };

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE shared_device;
static unsigned winners;

static void come_and_go(void *context)
{
	(void)context;
	for (unsigned i = 0; i < ROUNDS; i++) {
		D3DKMT_HANDLE device = child_create_device(adapter);
		child_create_context(device);
		D3DKMT_HANDLE second = child_create_context(device);
		CHILD_EXPECT(destroy_context(second) == STATUS_SUCCESS);
		CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
	}
}

static void run_threads(void (*run)(void *context))
{
	struct dxgk_test_thread *threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		threads[i] = dxgk_test_thread_create(run, NULL);
		CHILD_EXPECT(threads[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		dxgk_test_thread_join(threads[i]);
}

CHILD(seeded_run)
{
	adapter = child_open_adapter();
	run_threads(come_and_go);
	CHILD_EXPECT(close_adapter(adapter) == STATUS_SUCCESS);
	return 0;
}

static void race(void *context)
{
	D3DKMT_HANDLE made;

	(void)context;
	for (unsigned i = 0; i < 3; i++)
		(void)try_create_context(shared_device, &made);
	if (destroy_device(shared_device) == STATUS_SUCCESS)
		winners++; /* one thread at a time runs */
}

CHILD(seeded_race)
{
	adapter = child_open_adapter();
	for (unsigned i = 0; i < ROUNDS; i++) {
		shared_device = child_create_device(adapter);
		winners = 0;
		run_threads(race);
		CHILD_EXPECT(winners == 1);
	}
	return 0;
}

/* The trace of `name` under this seed; ours to free. */
static char *trace_of(const char *name, unsigned seed, size_t *length_out)
{
	char path[] = "/tmp/dxgk-trace-XXXXXX";
	char trace_setting[64];
	char seed_setting[64];
	int file = mkstemp(path);

	EXPECT(file >= 0);
	snprintf(trace_setting, sizeof(trace_setting), "DXGK_TRACE=%s", path);
	snprintf(seed_setting, sizeof(seed_setting), "DXGK_SEED=%u", seed);
	const struct child_result *child = run_child(name, seed_setting, trace_setting);
	if (child->exit_status != 0)
		print_error("seed %u:\n", seed);
	EXPECT_CHILD(child, 0);
	off_t length = lseek(file, 0, SEEK_END);
	char *text = malloc((size_t)length + 1);
	EXPECT(text && length > 0);
	EXPECT_EQ(pread(file, text, (size_t)length, 0), length);
	text[length] = '\0';
	close(file);
	unlink(path);
	*length_out = (size_t)length;
	return text;
}

static bool same_trace(const char *name, unsigned one_seed, unsigned other_seed)
{
	size_t one_length;
	size_t other_length;
	char *one = trace_of(name, one_seed, &one_length);
	char *other = trace_of(name, other_seed, &other_length);
	bool is_same = one_length == other_length && memcmp(one, other, one_length) == 0;

	static const char call[] = "D3DKMTCreateContext";
	EXPECT(memmem(one, one_length, call, sizeof(call)) != NULL);
	free(one);
	free(other);
	return is_same;
}

TEST(seed, the_same_seed_gives_the_same_trace_byte_for_byte)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		EXPECT(same_trace("seeded_run", seed, seed));
		EXPECT(same_trace("seeded_race", seed, seed));
	}
}

TEST(seed, other_seeds_take_other_turns)
{
	unsigned same = 0;

	for (unsigned seed = 1; seed <= 5; seed++)
		same += same_trace("seeded_run", seed, seed + 100);
	EXPECT_EQ(same, 0);
}

TEST(seed, fifty_races_end_with_one_winner_each)
{
	for (unsigned seed = 1; seed <= 50; seed++) {
		char setting[32];
		snprintf(setting, sizeof(setting), "DXGK_SEED=%u", seed);
		const struct child_result *child = run_child("seeded_race", setting);
		if (child->exit_status != 0)
			print_error("seed %u:\n", seed);
		EXPECT_CHILD(child, 0);
		EXPECT_STR(child->err, "");
	}
}

/* ---- a client's own threads, which look at a fence ---- */

static double real_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Looks without a call, for so much real time at most. Does the work come to its end meanwhile? */
static bool sees_its_end(const struct worker *worker, double seconds)
{
	double until = real_seconds() + seconds;

	while (*worker->value < worker->last_value && real_seconds() < until)
		;
	return *worker->value >= worker->last_value;
}

/* Work that takes a while of virtual time. */
static void begin_work(struct worker *worker)
{
	struct row row = { 0 };
	struct softgpu_busy busy = { .header = command(SOFTGPU_BUSY, sizeof(busy)),
				     .microseconds = 2000 };

	worker_open(worker, adapter);
	row_add(&row, &busy, sizeof(busy));
	worker_run(worker, &row);
}

CHILD(looks_alone)
{
	struct worker worker;

	adapter = child_open_adapter();
	begin_work(&worker);
	CHILD_EXPECT(!sees_its_end(&worker, 0.3));
	worker_wait(&worker);
	CHILD_EXPECT(*worker.value == worker.last_value);
	worker_close(&worker);
	return 0;
}

CHILD(looks_and_calls)
{
	struct worker worker;

	adapter = child_open_adapter();
	begin_work(&worker);
	while (*worker.value < worker.last_value)
		CHILD_EXPECT(state_of(&worker) == D3DKMT_DEVICEEXECUTION_ACTIVE);
	worker_close(&worker);
	return 0;
}

static sem_t second_called;
static sem_t second_may_end;

static void *calls_once(void *context)
{
	(void)context;
	D3DKMT_HANDLE device = child_create_device(adapter);
	CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
	sem_post(&second_called);
	sem_wait(&second_may_end);
	return NULL;
}

CHILD(looks_beside_another_thread)
{
	struct worker worker;
	pthread_t second;

	adapter = child_open_adapter();
	sem_init(&second_called, 0, 0);
	sem_init(&second_may_end, 0, 0);
	CHILD_EXPECT(pthread_create(&second, NULL, calls_once, NULL) == 0);
	sem_wait(&second_called);
	begin_work(&worker);
	CHILD_EXPECT(sees_its_end(&worker, 30));
	sem_post(&second_may_end);
	pthread_join(second, NULL);

	/* Alone again. */
	struct worker again;
	begin_work(&again);
	CHILD_EXPECT(!sees_its_end(&again, 0.3));
	worker_wait(&again);
	return 0;
}

static void expect_seeded(const char *child_name)
{
	for (unsigned seed = 1; seed <= 3; seed++) {
		char setting[32];
		snprintf(setting, sizeof(setting), "DXGK_SEED=%u", seed);
		const struct child_result *child = run_child(child_name, setting);
		EXPECT_CHILD(child, 0);
	}
}

TEST(seed, nobody_runs_while_the_only_thread_of_a_client_looks_at_a_fence)
{
	expect_seeded("looks_alone");
}

TEST(seed, any_call_in_such_a_loop_lets_others_run)
{
	expect_seeded("looks_and_calls");
}

TEST(seed, of_several_threads_one_may_look_while_the_kernel_goes_on)
{
	expect_seeded("looks_beside_another_thread");
}

API_TEST_MAIN("api/seed")
