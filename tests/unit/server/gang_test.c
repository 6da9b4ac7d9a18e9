/* SPDX-License-Identifier: MIT */
/*
 * gang_test.c - who has processors for itself, when there are more who would like to.
 */
#include "support/test.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/notice.h"
#include "base/thread.h"
#include "server/gang.h"

static const _Atomic bool never;

TEST(gang, has_a_place_as_long_as_there_are_processors_for_two)
{
	struct gang gangs[3] = { 0 };

	gangs_start(5);
	for (unsigned i = 0; i < 2; i++) {
		gang_begin(&gangs[i], &never);
		EXPECT(gangs[i].runs);
	}
	gang_begin(&gangs[2], &never); /* served, with what it has of credit */
	EXPECT(!gangs[2].runs);
	gang_end(&gangs[0]);
	gang_end(&gangs[0]); /* it has none any more */
	gang_resume(&gangs[2]);
	EXPECT(gangs[2].runs);
	gang_resume(&gangs[0]);
	EXPECT(!gangs[0].runs);
	gang_end(&gangs[1]);
	gang_end(&gangs[2]);
}

TEST(gang, of_one_processor_is_none_and_nobody_waits)
{
	struct gang gang = { 0 };

	gangs_start(1);
	for (unsigned i = 0; i < 1000; i++) {
		gang_begin(&gang, &never);
		gang_resume(&gang);
		EXPECT(!gang.runs);
	}
}

TEST(gang, that_is_over_does_not_wait)
{
	static const _Atomic bool over = true;
	struct gang first = { 0 };
	struct gang second = { 0 };

	gangs_start(2);
	gang_begin(&first, &never);
	for (unsigned i = 0; i < 1000; i++) /* more than its credit */
		gang_begin(&second, &over);
	EXPECT(!second.runs);
	EXPECT(first.runs);
	gang_end(&first);
}

/* ---- a client that is woken, and does not come ---- */

/* Its calls were more than a turn is long. */
static void be_due(struct gang *gang)
{
	gang_begin(gang, &never);
	EXPECT(gang->runs);
	gang_wait(gang, &never);
	EXPECT(gang->runs);
}

TEST(gang, of_a_client_that_calls_now_and_then_is_kept_for_nobody)
{
	struct gang gang = { 0 };

	gangs_start(2);
	EXPECT_EQ(gang_linger_ns(&gang), 0); /* it has none */
	gang_begin(&gang, &never);
	EXPECT(gang.runs);
	EXPECT_EQ(gang_linger_ns(&gang), 0);
	gang_end(&gang);
}

TEST(gang, of_a_client_that_goes_on_is_kept_once_in_a_turn)
{
	struct gang gang = { 0 };

	gangs_start(2);
	be_due(&gang);
	uint64_t for_ns = gang_linger_ns(&gang);
	EXPECT(for_ns > 0 && for_ns < 2 * NS_PER_MS); /* less than a turn */
	EXPECT_EQ(gang_linger_ns(&gang), 0);
	gang_end(&gang);
	EXPECT_EQ(gang_linger_ns(&gang), 0); /* it has none any more */
	gang_begin(&gang, &never);
	EXPECT_EQ(gang_linger_ns(&gang),
		  for_ns); /* its client came in time, or it would not go on */
	gang_end(&gang);
}

TEST(gang, takes_turns_when_it_has_waited_or_others_do)
{
	struct gang gang = { 0 };

	gangs_start(2);
	EXPECT(!gang_takes_turns(&gang));
	gang_begin(&gang, &never);
	EXPECT(!gang_takes_turns(&gang)); /* it is alone */
	atomic_fetch_add(&gangs_waiting, 1);
	EXPECT(gang_takes_turns(&gang));
	atomic_fetch_sub(&gangs_waiting, 1);
	gang_wait(&gang, &never);
	EXPECT(gang_takes_turns(&gang));
	gang_end(&gang);
	EXPECT(!gang_takes_turns(&gang));
}

/* ---- several threads ---- */

enum { WORKERS = 6 };

static struct {
	_Atomic uint32_t running; /* at once, of those that have a place */
	_Atomic uint32_t most;
	_Atomic uint32_t served[WORKERS];
	_Atomic bool is_over;
	struct gang gangs[WORKERS];
} crowd;

static void count_in(void)
{
	uint32_t now = atomic_fetch_add(&crowd.running, 1) + 1;
	uint32_t most = atomic_load(&crowd.most);

	while (now > most && !atomic_compare_exchange_weak(&crowd.most, &most, now))
		;
}

/* A worker whose client calls all the time. Each call takes some microseconds. */
static void churn(void *argument)
{
	struct gang *gang = argument;
	_Atomic uint32_t *served = &crowd.served[gang - crowd.gangs];

	while (!atomic_load(&crowd.is_over)) {
		if (gang->runs && gang_must_wait(gang))
			gang_wait(gang, &crowd.is_over);
		else if (!gang->runs)
			gang_begin(gang, &crowd.is_over);
		bool runs = gang->runs;
		if (runs)
			count_in();
		for (unsigned i = 0; i < 100; i++)
			thread_relax();
		if (runs)
			atomic_fetch_sub(&crowd.running, 1);
		atomic_fetch_add(served, runs);
	}
	gang_end(gang);
}

static bool everybody_had(uint32_t calls)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		if (atomic_load(&crowd.served[i]) < calls)
			return false;
	}
	return true;
}

static void crowd_begin(struct thread **threads, void (*run)(void *argument))
{
	memset(&crowd, 0, sizeof(crowd));
	gangs_start(4);
	for (unsigned i = 0; i < WORKERS; i++)
		EXPECT(NT_SUCCESS(thread_create("worker", run, &crowd.gangs[i], &threads[i])));
}

static void crowd_end(struct thread **threads)
{
	atomic_store(&crowd.is_over, true);
	for (unsigned i = 0; i < WORKERS; i++) {
		gang_wake(&crowd.gangs[i]);
		thread_join(threads[i]);
		EXPECT(!crowd.gangs[i].runs);
	}
	EXPECT_EQ(atomic_load(&gangs_waiting), 0);
}

TEST(gang, takes_turns_with_all_others_that_call_all_the_time)
{
	struct thread *threads[WORKERS];

	crowd_begin(threads, churn);
	uint64_t deadline_ns = clock_deadline(60 * NS_PER_S);
	while (!everybody_had(100) && clock_now_ns() < deadline_ns)
		clock_sleep_until(clock_deadline(NS_PER_MS));
	EXPECT(everybody_had(100));
	EXPECT(atomic_load(&crowd.most) <= 2);
	crowd_end(threads);
	/* Every place is free again. */
	gang_begin(&crowd.gangs[0], &never);
	gang_begin(&crowd.gangs[1], &never);
	EXPECT(crowd.gangs[0].runs && crowd.gangs[1].runs);
	gang_end(&crowd.gangs[0]);
	gang_end(&crowd.gangs[1]);
}

/* One that waits in its call for something that another one's call does. */
static struct notice answered;
static _Atomic uint32_t waiting_calls;

static void wait_in_call(void *argument)
{
	struct gang *gang = argument;
	uint32_t seen = notice_read(&answered);

	gang_begin(gang, &never);
	atomic_fetch_add(&waiting_calls, 1);
	(void)notice_wait(&answered, seen, clock_deadline(60 * NS_PER_S));
	atomic_store(&crowd.served[gang - crowd.gangs], gang->runs);
	gang_end(gang);
}

TEST(gang, gives_its_place_up_while_it_waits_in_a_call)
{
	struct gang gang = { 0 };
	struct thread *threads[WORKERS];

	atomic_store(&waiting_calls, 0);
	crowd_begin(threads, wait_in_call);
	while (atomic_load(&waiting_calls) < WORKERS)
		clock_sleep_until(clock_deadline(NS_PER_MS));
	gang.credit_ns = clock_now_ns(); /* it has none */
	gang_begin(&gang, &never);       /* those before it are in their calls, for a minute */
	EXPECT(gang.runs);
	gang_end(&gang);
	notice_give(&answered);
	crowd_end(threads);
	for (unsigned i = 0; i < WORKERS; i++)
		EXPECT_EQ(atomic_load(&crowd.served[i]), 0);
}

TEST_MAIN("server/gang")
