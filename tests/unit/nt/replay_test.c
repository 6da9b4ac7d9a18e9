/* SPDX-License-Identifier: MIT */
/*
 * replay_test.c - one seed, one run: threads, spin locks, events, timers, DPCs and work items.
 *
 * Each run is a child process that begins a simulation, lets several NT threads write what they do
 * into one record, and sends the record back.
 */
#include "unit/nt/nt_harness.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/sim.h"
#include "support/counted.h"

enum { THREADS = 4, ROUNDS = 25, RECORD_MAX = 65536 };

static struct {
	KSPIN_LOCK lock;
	KEVENT turn;
	KEVENT all_done;
	KSEMAPHORE ticks;
	KTIMER timer;
	KDPC dpc;
	WORK_QUEUE_ITEM work;
	LONG running;
	char record[RECORD_MAX];
	size_t length;
} run;

static void note(const char *what, unsigned who)
{
	KIRQL old;
	ULONGLONG now = KeQueryInterruptTime();

	KeAcquireSpinLock(&run.lock, &old);
	run.length += (size_t)snprintf(run.record + run.length, RECORD_MAX - run.length,
				       "%llu %s %u by %u\n", now, what, who,
				       HandleToULong(PsGetCurrentThreadId()));
	KeReleaseSpinLock(&run.lock, old);
}

static VOID NTAPI on_tick(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
	(void)dpc;
	(void)context;
	(void)first;
	(void)second;
	note("tick", 0);
	KeReleaseSemaphore(&run.ticks, 0, 1, FALSE);
}

static VOID NTAPI on_work(PVOID context)
{
	(void)context;
	note("work", 0);
}

static VOID NTAPI play(PVOID context)
{
	unsigned who = HandleToULong(context);
	PVOID objects[2] = { &run.turn, &run.ticks };

	for (unsigned i = 0; i < ROUNDS; i++) {
		LARGE_INTEGER timeout = nt_test_us(40 + 10 * who);
		NTSTATUS status = KeWaitForMultipleObjects(2, objects, WaitAny, Executive,
							   KernelMode, FALSE, &timeout, NULL);
		note(status == STATUS_WAIT_0   ? "turn"
		     : status == STATUS_WAIT_1 ? "saw tick"
					       : "waited",
		     who);
		KeSetEvent(&run.turn, 0, FALSE);
	}
	if (InterlockedDecrement(&run.running) == 0)
		KeSetEvent(&run.all_done, 0, FALSE);
}

static void play_all(uint64_t seed)
{
	PKTHREAD threads[THREADS];

	sim_start(seed);
	KeInitializeSpinLock(&run.lock);
	KeInitializeEvent(&run.turn, SynchronizationEvent, FALSE);
	KeInitializeEvent(&run.all_done, NotificationEvent, FALSE);
	KeInitializeSemaphore(&run.ticks, 0, 1000000);
	KeInitializeTimer(&run.timer);
	KeInitializeDpc(&run.dpc, on_tick, NULL);
	ExInitializeWorkItem(&run.work, on_work, NULL);
	run.running = THREADS;
	KeSetTimerEx(&run.timer, nt_test_us(30), 1, &run.dpc);
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = nt_test_start(play, ULongToHandle(i));
	ExQueueWorkItem(&run.work, DelayedWorkQueue);
	KeSetEvent(&run.turn, 0, FALSE);
	nt_test_wait(&run.all_done);
	KeCancelTimer(&run.timer);
	for (unsigned i = 0; i < THREADS; i++)
		nt_test_join(threads[i]);
	nt_stop();
}

/* The record of one run, from a process of its own. */
static size_t record_of(uint64_t seed, char *record)
{
	int pipes[2];
	int status;
	size_t length = 0;
	ssize_t got;

	fflush(NULL);
	EXPECT_EQ(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		play_all(seed);
		size_t sent = 0;
		while (sent < run.length)
			sent += (size_t)write(pipes[1], run.record + sent, run.length - sent);
		counts_write();
		_exit(0);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], record + length, RECORD_MAX - length)) > 0)
		length += (size_t)got;
	close(pipes[0]);
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(status, 0);
	EXPECT(length > 1000);
	return length;
}

TEST(replay, the_same_seed_gives_the_same_run_byte_for_byte)
{
	static char first[RECORD_MAX], second[RECORD_MAX];

	for (uint64_t seed = 1; seed <= 5; seed++) {
		size_t first_length = record_of(seed, first);
		size_t second_length = record_of(seed, second);
		EXPECT_EQ(first_length, second_length);
		EXPECT_EQ(memcmp(first, second, first_length), 0);
	}
}

TEST(replay, different_seeds_give_different_runs)
{
	enum { SEEDS = 6 };
	static char records[SEEDS][RECORD_MAX];
	size_t lengths[SEEDS];

	for (unsigned i = 0; i < SEEDS; i++)
		lengths[i] = record_of(100 + i, records[i]);
	for (unsigned i = 0; i < SEEDS; i++) {
		for (unsigned j = 0; j < i; j++)
			EXPECT(lengths[i] != lengths[j] ||
			       memcmp(records[i], records[j], lengths[i]) != 0);
	}
}

TEST_MAIN("nt/replay")
