/*
 * lock.c - see lock.h.
 *
 * Both locks wait through thread_wait(), so a seeded run decides who gets a contended one, and
 * every acquisition is a place where it may change threads.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"

enum { LOCK_FREE, LOCK_TAKEN, LOCK_CONTENDED };

#define RWLOCK_WRITER UINT32_C(0x80000000)

/* ---- order checking ---- */

#ifndef NDEBUG

enum { HELD_MAX = 32 };

struct held_lock {
	const void *lock;
	uint32_t rank;
	const char *name;
};

static _Thread_local struct held_lock held[HELD_MAX];
static _Thread_local unsigned held_count;

NORETURN static void order_violation(const struct held_lock *outer, const char *name, uint32_t rank)
{
	fprintf(stderr,
		"dxgk: lock order: taking \"%s\" (rank %u) while holding \"%s\" (rank %u)\n", name,
		rank, outer->name, outer->rank);
	abort();
}

static void order_push(const void *lock, uint32_t rank, const char *name)
{
	if (held_count > 0 && held[held_count - 1].rank >= rank)
		order_violation(&held[held_count - 1], name, rank);
	assert(held_count < HELD_MAX);
	held[held_count++] = (struct held_lock){ lock, rank, name };
}

/* Locks may be released in any order; the rest of the stack keeps its own. */
static void order_pop(const void *lock)
{
	unsigned i = held_count;

	while (i > 0 && held[i - 1].lock != lock)
		i--;
	assert(i > 0);
	for (; i < held_count; i++)
		held[i - 1] = held[i];
	held_count--;
}

static bool order_holds(const void *lock)
{
	for (unsigned i = 0; i < held_count; i++) {
		if (held[i].lock == lock)
			return true;
	}
	return false;
}

void lock_assert_held(const struct lock *lock)
{
	assert(order_holds(lock));
}

void rwlock_assert_held(const struct rwlock *lock)
{
	assert(order_holds(lock));
}

void lock_assert_none_held(const char *where)
{
	for (unsigned i = 0; i < held_count; i++) {
		if (held[i].rank >= LOCK_RANK_DEVICE) {
			fprintf(stderr, "dxgk: \"%s\" (rank %u) is held while entering %s\n",
				held[i].name, held[i].rank, where);
			abort();
		}
	}
}

#else

static inline void order_push(const void *lock, uint32_t rank, const char *name)
{
	(void)lock;
	(void)rank;
	(void)name;
}

static inline void order_pop(const void *lock)
{
	(void)lock;
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

static bool lock_take(struct lock *lock)
{
	uint32_t expected = LOCK_FREE;

	return atomic_compare_exchange_strong_explicit(&lock->word, &expected, LOCK_TAKEN,
						       memory_order_acquire, memory_order_relaxed);
}

void lock_acquire(struct lock *lock)
{
	order_push(lock, lock->rank, lock->name);
	thread_point();
	if (LIKELY(lock_take(lock)))
		return;
	/* Whoever waits leaves the word CONTENDED, so that the release knows to wake. */
	while (atomic_exchange_explicit(&lock->word, LOCK_CONTENDED, memory_order_acquire) !=
	       LOCK_FREE)
		thread_wait(&lock->word, LOCK_CONTENDED, CLOCK_FOREVER);
}

bool lock_try_acquire(struct lock *lock)
{
	if (!lock_take(lock))
		return false;
	order_push(lock, lock->rank, lock->name);
	return true;
}

void lock_release(struct lock *lock)
{
	order_pop(lock);
	if (atomic_exchange_explicit(&lock->word, LOCK_FREE, memory_order_release) ==
	    LOCK_CONTENDED)
		thread_wake_one(&lock->word);
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

static void rwlock_next_turn(struct rwlock *lock)
{
	atomic_fetch_add(&lock->turn, 1);
	thread_wake_all(&lock->turn);
}

static bool rwlock_enter_shared(struct rwlock *lock)
{
	uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);

	while (!(state & RWLOCK_WRITER) && atomic_load(&lock->waiting_writers) == 0) {
		if (atomic_compare_exchange_weak(&lock->state, &state, state + 1))
			return true;
	}
	return false;
}

void rwlock_acquire_shared(struct rwlock *lock)
{
	order_push(lock, lock->rank, lock->name);
	thread_point();
	for (;;) {
		/* The turn is read before the state, so a change in between is not slept through.
		 */
		uint32_t turn = atomic_load(&lock->turn);
		if (LIKELY(rwlock_enter_shared(lock)))
			return;
		thread_wait(&lock->turn, turn, CLOCK_FOREVER);
	}
}

bool rwlock_try_acquire_shared(struct rwlock *lock)
{
	if (!rwlock_enter_shared(lock))
		return false;
	order_push(lock, lock->rank, lock->name);
	return true;
}

void rwlock_release_shared(struct rwlock *lock)
{
	order_pop(lock);
	uint32_t before = atomic_fetch_sub(&lock->state, 1);
	assert(before != 0 && before != RWLOCK_WRITER);
	if (before == 1 && atomic_load(&lock->waiting_writers) != 0)
		rwlock_next_turn(lock);
}

void rwlock_acquire_exclusive(struct rwlock *lock)
{
	order_push(lock, lock->rank, lock->name);
	thread_point();
	atomic_fetch_add(&lock->waiting_writers, 1);
	for (;;) {
		uint32_t turn = atomic_load(&lock->turn);
		uint32_t expected = 0;
		if (atomic_compare_exchange_strong(&lock->state, &expected, RWLOCK_WRITER))
			break;
		thread_wait(&lock->turn, turn, CLOCK_FOREVER);
	}
	atomic_fetch_sub(&lock->waiting_writers, 1);
}

void rwlock_release_exclusive(struct rwlock *lock)
{
	order_pop(lock);
	assert(atomic_load(&lock->state) == RWLOCK_WRITER);
	atomic_store(&lock->state, 0);
	rwlock_next_turn(lock);
}
