/*
 * lock.c - see lock.h.
 *
 * Both locks wait through thread_wait(), so a seeded run decides who gets a contended one, and
 * every acquisition is a place where it may change threads.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/lock_order.h"
#include "base/thread.h"

enum { SPINS = 100 };

#ifndef NDEBUG
void lock_assert_held(const struct lock *lock)
{
	assert(lock_order_holds(lock));
}

void rwlock_assert_held(const struct rwlock *lock)
{
	assert(lock_order_holds(lock));
}
#endif

/* ---- mutex ---- */

void lock_init(struct lock *lock, enum lock_rank rank, const char *name)
{
	*lock = (struct lock)LOCK_INITIALIZER((uint32_t)rank, name);
}

void lock_finish(struct lock *lock)
{
	assert(atomic_load_explicit(&lock->word, memory_order_relaxed) == LOCK_FREE);
	(void)lock;
}

/* What is held is held shortly: a look or two costs less than going to sleep. */
static bool lock_take_soon(struct lock *lock)
{
	for (unsigned i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&lock->word, memory_order_relaxed) == LOCK_FREE)
			return lock_take(lock);
		thread_relax();
	}
	return false;
}

RARE static void lock_wait(struct lock *lock)
{
	if (!sim_on && lock_take_soon(lock))
		return;
	/* Whoever waits leaves the word CONTENDED, so that the release knows to wake. */
	while (atomic_exchange_explicit(&lock->word, LOCK_CONTENDED, memory_order_acquire) !=
	       LOCK_FREE)
		thread_wait(&lock->word, LOCK_CONTENDED, CLOCK_FOREVER);
}

void lock_acquire_slowly(struct lock *lock)
{
	lock_order_push(lock, lock->rank, lock->name);
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
}

bool lock_try_acquire(struct lock *lock)
{
	if (!lock_take(lock))
		return false;
	lock_order_push(lock, lock->rank, lock->name);
	return true;
}

/* ---- readers and writers ---- */

void rwlock_init(struct rwlock *lock, enum lock_rank rank, const char *name)
{
	*lock = (struct rwlock)RWLOCK_INITIALIZER((uint32_t)rank, name);
}

void rwlock_finish(struct rwlock *lock)
{
	assert(atomic_load_explicit(&lock->state, memory_order_relaxed) == 0);
	(void)lock;
}

RARE void rwlock_next_turn(struct rwlock *lock)
{
	atomic_fetch_add(&lock->turn, 1);
	thread_wake_all(&lock->turn);
}

RARE static void rwlock_wait_shared(struct rwlock *lock, bool is_ahead)
{
	for (;;) {
		/* The turn is read before the state, so a change in between is not slept through.
		 */
		uint32_t turn = atomic_load(&lock->turn);
		if (rwlock_take_shared(lock, is_ahead))
			return;
		thread_wait(&lock->turn, turn, CLOCK_FOREVER);
	}
}

void rwlock_acquire_shared_slowly(struct rwlock *lock)
{
	lock_order_push(lock, lock->rank, lock->name);
	thread_point();
	if (UNLIKELY(!rwlock_take_shared(lock, false)))
		rwlock_wait_shared(lock, false);
}

void rwlock_acquire_shared_ahead(struct rwlock *lock)
{
	lock_order_push(lock, lock->rank, lock->name);
	thread_point();
	if (UNLIKELY(!rwlock_take_shared(lock, true)))
		rwlock_wait_shared(lock, true);
}

bool rwlock_try_acquire_shared(struct rwlock *lock)
{
	if (!rwlock_take_shared(lock, false))
		return false;
	lock_order_push(lock, lock->rank, lock->name);
	return true;
}

void rwlock_release_shared_slowly(struct rwlock *lock)
{
	lock_order_pop(lock);
	uint32_t before = atomic_fetch_sub(&lock->state, 1);
	assert(before != 0 && before != RWLOCK_WRITER);
	if (before == 1 && atomic_load(&lock->waiting_writers) != 0)
		rwlock_next_turn(lock);
}

bool rwlock_acquire_exclusive_until(struct rwlock *lock, uint64_t deadline_ns)
{
	bool is_late = false;

	lock_order_push(lock, lock->rank, lock->name);
	thread_point();
	atomic_fetch_add(&lock->waiting_writers, 1);
	for (;;) {
		uint32_t turn = atomic_load(&lock->turn);
		uint32_t expected = 0;
		if (atomic_compare_exchange_strong(&lock->state, &expected, RWLOCK_WRITER)) {
			atomic_fetch_sub(&lock->waiting_writers, 1);
			return true;
		}
		if (is_late)
			break;
		is_late = thread_wait(&lock->turn, turn, deadline_ns) == THREAD_TIMED_OUT;
	}
	atomic_fetch_sub(&lock->waiting_writers, 1);
	lock_order_pop(lock);
	rwlock_next_turn(lock); /* whoever stood behind us */
	return false;
}

void rwlock_acquire_exclusive(struct rwlock *lock)
{
	bool is_ours = rwlock_acquire_exclusive_until(lock, CLOCK_FOREVER);

	assert(is_ours);
	(void)is_ours;
}

void rwlock_release_exclusive(struct rwlock *lock)
{
	lock_order_pop(lock);
	assert(atomic_load(&lock->state) == RWLOCK_WRITER);
	atomic_store(&lock->state, 0);
	rwlock_next_turn(lock);
}
