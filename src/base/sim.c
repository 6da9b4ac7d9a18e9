/* SPDX-License-Identifier: MIT */
/*
 * sim.c - one thread at a time, chosen by a seed, in virtual time.
 *
 *   holder     the thread that runs; NULL only while no thread of ours is ready and there is a
 *              client thread outside, or none at all
 *   READY      could run, waits for the baton
 *   BLOCKED    waits for a wake on `blocked_on`, or for `deadline_ns` of virtual time
 *   PARKED     could run, and a test wants to see what the others do meanwhile (sim_park())
 *
 * Time moves a little at every point and, when nobody is ready, jumps to the next deadline; after a
 * moment of real time when a client could still come in. When nobody is ready, no deadline is set
 * and all clients are inside, the run can never go on: that is reported as a deadlock with the list
 * of threads, and the process stops.
 *
 * A pthread mutex guards the state and each thread sleeps on a word of its own; nothing else in the
 * project blocks for real during a seeded run. Who is next is woken when the mutex is free: else it
 * would wake only to wait for that, and a run is made of such turns.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/race.h"
#include "base/random.h"
#include "base/sim.h"

enum {
	SIM_POINT_NS = 100,  /* what one step costs in virtual time */
	SIM_SWITCH_ODDS = 4, /* at a point, one time in so many somebody else may run */
	SIM_PATIENCE_NS =
		10000000,         /* of real time, that a client has before virtual time goes on */
	SIM_PARK_POINTS = 1000000 /* of others, that may be waiting for who is parked in a loop */
};

bool sim_on;

static struct {
	pthread_mutex_t mutex;
	struct random random;
	uint64_t seed;
	uint64_t now_ns;
	uint64_t switches_left; /* at points where the thread could go on */
	struct list threads;    /* sim_thread.link, in order of registration */
	struct sim_thread *holder;
	_Atomic uint32_t
		*called; /* sim_thread.turns of who is to be woken when the mutex is free */
	uint32_t foreign_count;
	uint32_t last_foreign;
	pthread_key_t foreign_key;

	/* sim_park() */
	const char *park_name;
	uint64_t park_point;       /* so many more; 0: nobody is to be parked */
	struct sim_thread *parked; /* NULL: nobody is */
	uint64_t park_patience;    /* points of others before it goes on all the same */
	bool has_parked;
	_Atomic uint32_t park_awaits; /* 1: it may come to that */
} sim = { .mutex = PTHREAD_MUTEX_INITIALIZER, .switches_left = UINT64_MAX };

static _Thread_local struct sim_thread *self;

NORETURN static void sim_deadlock(void)
{
	fprintf(stderr,
		"dxgk: simulated run is stuck: every thread waits and no deadline is set "
		"(DXGK_SEED=%" PRIu64 ", %" PRIu64 " ns)\n",
		sim.seed, sim.now_ns);
	list_each (struct sim_thread, thread, &sim.threads, link) {
		fprintf(stderr, "dxgk:   thread %" PRIu32 " (%s)%s\n", thread->ordinal,
			thread->name, thread == self ? ", the last to run" : "");
	}
	abort();
}

/* Every client thread we know waits in here, and there is one: only time can help them. */
static bool sim_clients_wait(void)
{
	bool has_client = false;

	list_each (struct sim_thread, thread, &sim.threads, link) {
		if (thread->is_outside)
			return false;
		has_client |= thread->is_foreign;
	}
	return has_client;
}

/* Everybody whose deadline has come is ready. */
static void sim_expire(void)
{
	list_each (struct sim_thread, thread, &sim.threads, link) {
		if (thread->state == SIM_BLOCKED && thread->deadline_ns <= sim.now_ns) {
			thread->state = SIM_READY;
			thread->timed_out = true;
		}
	}
}

static struct sim_thread *sim_pick_ready(void)
{
	uint64_t ready = 0;

	list_each (struct sim_thread, thread, &sim.threads, link) {
		ready += thread->state == SIM_READY && !thread->is_outside;
	}
	if (ready == 0)
		return NULL;

	uint64_t chosen = random_below(&sim.random, ready);
	list_each (struct sim_thread, thread, &sim.threads, link) {
		if (thread->state == SIM_READY && !thread->is_outside && chosen-- == 0)
			return thread;
	}
	return NULL;
}

/* That one thread runs at a time orders nothing of theirs. */
static void sim_lock(void)
{
	race_pause();
	pthread_mutex_lock(&sim.mutex);
	race_go_on();
}

/* Somebody has it: whether that is the caller, a mutex does not say. */
static void sim_assert_held(void)
{
	assert(pthread_mutex_trylock(&sim.mutex) == EBUSY);
}

static void sim_unpark_locked(void)
{
	sim_assert_held();
	if (sim.parked)
		sim.parked->state = SIM_READY;
	sim.parked = NULL;
}

/* The thread whose deadline comes first; NULL when nobody has one. Who is parked needs no time. */
static struct sim_thread *sim_earliest(void)
{
	struct sim_thread *earliest = sim.parked;
	uint64_t next_ns = earliest ? 0 : CLOCK_FOREVER;

	list_each (struct sim_thread, thread, &sim.threads, link) {
		if (thread->state == SIM_BLOCKED && thread->deadline_ns < next_ns) {
			next_ns = thread->deadline_ns;
			earliest = thread;
		}
	}
	return earliest;
}

/* Nobody is ready: who is parked goes on, or time jumps to the next deadline. */
static struct sim_thread *sim_pass_time_locked(const struct sim_thread *earliest)
{
	sim_assert_held();
	if (sim.parked)
		sim_unpark_locked();
	else
		sim.now_ns = earliest->deadline_ns;
	sim_expire();
	return sim_pick_ready();
}

/*
 * Who runs now. NULL: nobody of ours, until a client thread comes in. One that is busy with itself,
 * or that we have not met yet, may still act before any deadline.
 */
static struct sim_thread *sim_choose_locked(void)
{
	sim_assert_held();
	sim_expire();
	struct sim_thread *next = sim_pick_ready();
	if (next || !sim_clients_wait())
		return next;

	struct sim_thread *earliest = sim_earliest();
	if (!earliest)
		sim_deadlock();
	return sim_pass_time_locked(earliest);
}

/* ---- turns ---- */

static void futex(_Atomic uint32_t *word, int operation, uint32_t value,
		  const struct timespec *until)
{
	syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, until, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

static void sim_unlock(void)
{
	_Atomic uint32_t *called = sim.called;

	sim_assert_held();
	sim.called = NULL;
	race_pause();
	pthread_mutex_unlock(&sim.mutex);
	race_go_on();
	/* Its thread may have seen it and be gone: the word is not looked at. */
	if (called)
		futex(called, FUTEX_WAKE, 1, NULL);
}

static void sim_call(struct sim_thread *thread)
{
	if (sim.called && sim.called != &thread->turns)
		futex(sim.called, FUTEX_WAKE, 1, NULL);
	atomic_fetch_add(&thread->turns, 1);
	sim.called = &thread->turns;
}

/* Drops and retakes sim.mutex until it is called; false: it was not, by then. Others may have run. */
static bool sim_sleep_relock(struct sim_thread *thread, const struct timespec *until)
{
	uint32_t turns = atomic_load(&thread->turns);
	int kept =
		errno; /* a lock that is taken between a failure and its report changes nothing */

	sim_assert_held();
	sim_unlock();
	errno = 0;
	futex(&thread->turns, FUTEX_WAIT_BITSET, turns, until);
	bool is_late = errno == ETIMEDOUT;
	errno = kept;
	sim_lock();
	return !is_late;
}

static void sim_hand_over_locked(void)
{
	sim_assert_held();
	sim.holder = sim_choose_locked();
	/* When nobody runs, the earliest is the one to keep the time. */
	struct sim_thread *next = sim.holder ? sim.holder : sim_earliest();
	if (next && next != self)
		sim_call(next);
}

/*
 * Nobody runs and `thread` has the next deadline. The client gets a little real time to come in; it
 * may itself be waiting for a thread that sleeps in here, so after that time goes on without it.
 * Drops and retakes sim.mutex: others may have run.
 */
static void sim_be_patient_relock(struct sim_thread *thread)
{
	struct timespec until;

	sim_assert_held();
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += SIM_PATIENCE_NS;
	if (until.tv_nsec >= (long)NS_PER_S) {
		until.tv_nsec -= (long)NS_PER_S;
		until.tv_sec++;
	}
	if (!sim_sleep_relock(thread, &until) && !sim.holder) {
		sim.holder = sim_pass_time_locked(thread);
		if (sim.holder != thread)
			sim_call(sim.holder);
	}
}

/* Drops and retakes sim.mutex until `thread` has the turn: others may have run. */
static void sim_await_turn_relock(struct sim_thread *thread)
{
	sim_assert_held();
	while (sim.holder != thread) {
		if (!sim.holder && sim_earliest() == thread)
			sim_be_patient_relock(thread);
		else
			sim_sleep_relock(thread, NULL);
	}
}

static void sim_register_locked(struct sim_thread *thread)
{
	sim_assert_held();
	thread->turns = 0;
	thread->state = SIM_READY;
	thread->deadline_ns = CLOCK_FOREVER;
	list_push_back(&sim.threads, &thread->link);
}

static void sim_unregister_locked(struct sim_thread *thread)
{
	sim_assert_held();
	list_remove(&thread->link);
	/* Nobody may run because of a client that was outside and is now gone. */
	if (sim.holder == thread || !sim.holder)
		sim_hand_over_locked();
}

/* A client thread has ended. */
static void sim_foreign_gone(void *context)
{
	struct sim_thread *thread = context;

	sim_lock();
	sim.foreign_count--;
	self = NULL;
	sim_unregister_locked(thread);
	sim_unlock();
	free(thread);
}

/* A thread we did not make takes part from now on. Returns with the baton. */
static void sim_adopt_locked(void)
{
	struct sim_thread *thread = calloc(1, sizeof(*thread));

	sim_assert_held();
	if (!thread)
		abort();
	thread->name = "client";
	thread->ordinal = ++sim.last_foreign;
	thread->is_foreign = true;
	sim.foreign_count++;
	sim_register_locked(thread);
	self = thread;
	pthread_setspecific(sim.foreign_key, thread);
}

/* Takes the baton if nobody uses it. Otherwise drops and retakes sim.mutex until it has it: others may have run. */
static void sim_come_in_relock(void)
{
	sim_assert_held();
	self->is_outside = false;
	self->state = SIM_READY;
	if (!sim.holder || sim.holder->is_outside)
		sim.holder = self;
	sim_await_turn_relock(self);
}

static void sim_lock_as_holder(void)
{
	sim_lock();
	if (!self)
		sim_adopt_locked();
	if (sim.holder != self)
		sim_come_in_relock();
}

void sim_start(uint64_t seed)
{
	random_init(&sim.random, seed);
	sim.seed = seed;
	sim.now_ns = NS_PER_S;
	list_init(&sim.threads);
	pthread_key_create(&sim.foreign_key, sim_foreign_gone);
	sim_on = true;
}

void sim_abandon(void)
{
	sim_on = false;
}

/* Before anybody else asks for the time. */
__attribute__((constructor(102))) static void sim_start_from_environment(void)
{
	const char *text = getenv("DXGK_SEED");
	char *end = NULL;

	if (!text || !*text)
		return;
	uint64_t seed = strtoull(text, &end, 0);
	if (*end != '\0') {
		fprintf(stderr, "dxgk: DXGK_SEED=%s is not a number; running in real time\n", text);
		return;
	}
	sim_start(seed);
	text = getenv("DXGK_SWITCHES");
	if (text && *text)
		sim.switches_left = strtoull(text, NULL, 10);
}

uint64_t sim_now_ns(void)
{
	sim_lock_as_holder();
	uint64_t now_ns = sim.now_ns;
	sim.now_ns += SIM_POINT_NS; /* a loop that waits for the clock must end */
	sim_unlock();
	return now_ns;
}

uint64_t sim_peek_ns(void)
{
	sim_lock();
	uint64_t now_ns = sim.now_ns;
	sim_unlock();
	return now_ns;
}

void sim_jump(uint64_t ns)
{
	sim_lock_as_holder();
	sim.now_ns += ns;
	sim_unlock();
}

void sim_take_turn(void)
{
	sim_lock_as_holder();
	sim_unlock();
}

static void sim_wake_locked(const void *word, uint32_t count);

/* The caller has the baton, and comes back with it. Drops and retakes sim.mutex where it parks: others may have run. */
static void sim_park_relock(void)
{
	sim_assert_held();
	if (sim.parked && --sim.park_patience == 0)
		sim_unpark_locked();
	if (LIKELY(sim.park_point == 0) ||
	    strncmp(self->name, sim.park_name, strlen(sim.park_name)) != 0 || --sim.park_point > 0)
		return;
	self->state = SIM_PARKED;
	sim.parked = self;
	sim.park_patience = SIM_PARK_POINTS;
	sim.has_parked = true;
	atomic_store(&sim.park_awaits, 0);
	sim_wake_locked(&sim.park_awaits, UINT32_MAX);
	sim_hand_over_locked();
	sim_await_turn_relock(self);
}

void sim_park_point(void)
{
	sim_lock_as_holder();
	sim_park_relock();
	sim_unlock();
}

void sim_park(const char *name, uint64_t point)
{
	sim_lock_as_holder();
	random_init(&sim.random, sim.seed);
	sim_unpark_locked();
	sim.park_name = name;
	sim.park_point = point;
	sim.has_parked = false;
	atomic_store(&sim.park_awaits, 1);
	sim_unlock();
}

void sim_park_await(void)
{
	while (atomic_load(&sim.park_awaits) != 0)
		sim_wait(&sim.park_awaits, 1, CLOCK_FOREVER);
}

bool sim_park_end(void)
{
	sim_lock_as_holder();
	bool has_parked = sim.has_parked;
	sim_unpark_locked();
	sim.park_point = 0;
	atomic_store(&sim.park_awaits, 0);
	sim_wake_locked(&sim.park_awaits, UINT32_MAX);
	sim_unlock();
	return has_parked;
}

enum thread_wait_result sim_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
	sim_lock_as_holder();
	sim_park_relock();
	self->timed_out = false;
	if (atomic_load(word) == expected) {
		self->state = SIM_BLOCKED;
		self->blocked_on = word;
		self->deadline_ns = deadline_ns;
		sim_hand_over_locked();
		sim_await_turn_relock(self);
		self->blocked_on = NULL;
		self->deadline_ns = CLOCK_FOREVER;
	}
	bool timed_out = self->timed_out;
	sim_unlock();
	return timed_out ? THREAD_TIMED_OUT : THREAD_WOKEN;
}

/* Which of several waiters wakes first is the seed's choice. */
static struct sim_thread *sim_pick_waiter(const void *word)
{
	struct sim_thread *chosen = NULL;
	uint64_t seen = 0;

	list_each (struct sim_thread, thread, &sim.threads, link) {
		if (thread->state != SIM_BLOCKED || thread->blocked_on != word)
			continue;
		if (random_below(&sim.random, ++seen) == 0)
			chosen = thread;
	}
	return chosen;
}

static void sim_wake_locked(const void *word, uint32_t count)
{
	struct sim_thread *waiter;

	sim_assert_held();
	while (count-- > 0 && (waiter = sim_pick_waiter(word)) != NULL)
		waiter->state = SIM_READY;
}

void sim_wake(const void *word, uint32_t count)
{
	sim_lock_as_holder();
	sim_wake_locked(word, count);
	sim_unlock();
	sim_point();
}

void sim_point(void)
{
	sim_lock_as_holder();
	sim_park_relock();
	sim.now_ns += SIM_POINT_NS;
	if (random_below(&sim.random, SIM_SWITCH_ODDS) == 0 && sim.switches_left > 0) {
		sim.switches_left--;
		sim_hand_over_locked();
		sim_await_turn_relock(self);
	}
	sim_unlock();
}

void sim_thread_register(struct sim_thread *thread, const char *name, uint32_t ordinal)
{
	sim_lock_as_holder();
	thread->name = name;
	thread->ordinal = ordinal;
	sim_register_locked(thread);
	sim_unlock();
}

void sim_thread_begin(struct sim_thread *thread)
{
	sim_lock();
	self = thread;
	sim_await_turn_relock(thread);
	sim_unlock();
}

/* Wakes and goes in one step: a joiner that had the turn in between would wait for us in vain. */
void sim_thread_end(struct sim_thread *thread, const void *wake_word)
{
	sim_lock();
	sim_wake_locked(wake_word, UINT32_MAX);
	self = NULL;
	sim_unregister_locked(thread);
	sim_unlock();
}

void sim_thread_forget(struct sim_thread *thread)
{
	sim_lock();
	list_remove(&thread->link);
	sim_unlock();
}

void sim_before_fork(void)
{
	if (sim_on)
		sim_lock();
}

void sim_after_fork(void)
{
	if (sim_on)
		sim_unlock();
}

/* The threads that were registered are the parent's, and so is what they wait for. */
void sim_after_fork_in_child(void)
{
	if (!sim_on)
		return;
	pthread_mutex_init(&sim.mutex, NULL);
	list_init(&sim.threads);
	sim.holder = NULL;
	sim.called = NULL;
	sim.foreign_count = 0;
	sim.last_foreign = 0;
	sim.now_ns = NS_PER_S;
	random_init(&sim.random, sim.seed);
	self = NULL;
	pthread_setspecific(sim.foreign_key, NULL);
}

void sim_enter(void)
{
	sim_lock_as_holder();
	self->is_outside = false;
	sim_unlock();
}

void sim_leave(void)
{
	if (!self || !self->is_foreign)
		return;
	sim_lock();
	self->is_outside = true;
	/* Alone, it keeps the baton: what it does next is the next step of the run. */
	if (sim.holder == self && sim.foreign_count > 1)
		sim_hand_over_locked();
	sim_unlock();
}
