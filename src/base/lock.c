/* SPDX-License-Identifier: MIT */
/*
 * lock.c - see lock.h.
 *
 * A lock waits through thread_wait(), so a seeded run decides who gets a contended one, and
 * every acquisition is a place where it may change threads. A release is none, but for who is to be
 * parked there: what comes behind it is done without the lock.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/lock_order.h"
#include "base/thread.h"

enum { SPINS = 250 };

static _Atomic uint64_t wait_count;

uint64_t lock_waits(void)
{
	return atomic_load_explicit(&wait_count, memory_order_relaxed);
}

static void push(const struct lock *lock)
{
#ifdef NDEBUG
	(void)lock;
#else
	lock_order_push(lock, lock->rank, lock->name);
#endif
}

#ifndef NDEBUG
void lock_assert_held_in(const struct lock *lock, const char *function)
{
	if (lock_order_holds(lock))
		return;
	fprintf(stderr, "dxgk: %s() is called without \"%s\"\n", function, lock->name);
	abort();
}
#endif

void lock_finish(struct lock *lock)
{
	assert(atomic_load_explicit(&lock->word, memory_order_relaxed) == LOCK_FREE);
	(void)lock;
}

/* What is held is held shortly: a look or two costs less than going to sleep. */
static bool lock_take_soon(struct lock *lock)
{
	for (unsigned i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&lock->word, memory_order_relaxed) == LOCK_FREE &&
		    lock_take(lock))
			return true;
		thread_relax();
	}
	return false;
}

RARE static void lock_wait(struct lock *lock)
{
	if (!sim_on && lock_take_soon(lock))
		return;
	atomic_fetch_add_explicit(&wait_count, 1, memory_order_relaxed);
	/* Whoever waits leaves the word CONTENDED, so that the release knows to wake. */
	while (atomic_exchange_explicit(&lock->word, LOCK_CONTENDED, memory_order_acquire) !=
	       LOCK_FREE)
		thread_wait(&lock->word, LOCK_CONTENDED, CLOCK_FOREVER);
}

void lock_acquire_slowly(struct lock *lock)
{
	push(lock);
	thread_point();
	if (!lock_take(lock))
		lock_wait(lock);
}

RARE void lock_wake(struct lock *lock)
{
	thread_wake_one(&lock->word);
}

void lock_release_slowly(struct lock *lock)
{
	lock_order_pop(lock);
	if (atomic_exchange_explicit(&lock->word, LOCK_FREE, memory_order_release) ==
	    LOCK_CONTENDED)
		lock_wake(lock);
	else
		thread_park_point();
}

bool lock_try_acquire(struct lock *lock)
{
	if (!lock_take(lock))
		return false;
	push(lock);
	return true;
}
