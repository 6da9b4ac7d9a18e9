/* SPDX-License-Identifier: MIT */
/*
 * lock.h - a mutex that knows its rank. Many readers and a rare writer: gate.h.
 *
 * Uncontended: one atomic operation, no system call. Unless NDEBUG is set, every thread keeps a
 * stack of the locks it holds and stops on the first step against lock_ranks.h, naming both.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/lock_ranks.h"

/* Does every way in and out lead through lock.c, where what a thread holds is written down
 * (lock_order.h) and a thread of a simulated run can be parked? */
#if defined(NDEBUG) && defined(__OPTIMIZE__)
#define LOCK_IS_WATCHED false
#else
#define LOCK_IS_WATCHED true
#endif

struct lock {
	_Atomic uint32_t word; /* 0 free, 1 taken, 2 taken and somebody waits */
#ifndef NDEBUG
	uint32_t rank; /* enum lock_rank */
	const char *name;
#endif
};

#ifdef NDEBUG
#define LOCK_INITIALIZER(lock_rank, lock_name)                                                     \
	{                                                                                          \
		0                                                                                  \
	}
#else
#define LOCK_INITIALIZER(lock_rank, lock_name)                                                     \
	{                                                                                          \
		.rank = (lock_rank), .name = (lock_name)                                           \
	}
#endif

static inline void lock_init(struct lock *lock, enum lock_rank rank, const char *name)
{
	*lock = (struct lock)LOCK_INITIALIZER((uint32_t)rank, name);
	(void)rank;
	(void)name;
}

void lock_finish(struct lock *lock);

/* How often somebody has slept for one since the start, of all there are. */
uint64_t lock_waits(void);
MUST_CHECK bool lock_try_acquire(struct lock *lock);

/* Behind lock_acquire() and lock_release(). */
void lock_acquire_slowly(struct lock *lock);
void lock_release_slowly(struct lock *lock);
void lock_wake(struct lock *lock);
extern bool sim_on __attribute__((visibility("hidden"))); /* base/sim.h */

enum { LOCK_FREE, LOCK_TAKEN, LOCK_CONTENDED };

static inline bool lock_take(struct lock *lock)
{
	uint32_t expected = LOCK_FREE;

	return atomic_compare_exchange_strong_explicit(&lock->word, &expected, LOCK_TAKEN,
						       memory_order_acquire, memory_order_relaxed);
}

static inline void lock_acquire(struct lock *lock)
{
	if (UNLIKELY(LOCK_IS_WATCHED || sim_on || !lock_take(lock)))
		lock_acquire_slowly(lock);
}

/* The same for who has a seat (thread_own_seat), whom no seeded run has: it knows that already. */
SPECIALIZED void lock_acquire_from(struct lock *lock, uint32_t seat)
{
	if (seat == 0)
		lock_acquire(lock);
	else if (UNLIKELY(LOCK_IS_WATCHED || !lock_take(lock)))
		lock_acquire_slowly(lock);
}

static inline void lock_release(struct lock *lock)
{
	if (LOCK_IS_WATCHED)
		lock_release_slowly(lock);
	else if (UNLIKELY(atomic_exchange_explicit(&lock->word, LOCK_FREE, memory_order_release) ==
			  LOCK_CONTENDED))
		lock_wake(lock);
}

#ifdef NDEBUG
#define lock_assert_held(lock)       ((void)(lock))
#define lock_assert_none_held(where) ((void)(where))
#else
/* The calling thread holds it. */
#define lock_assert_held(lock) lock_assert_held_in(lock, __func__)
void lock_assert_held_in(const struct lock *lock, const char *function);
/* The calling thread holds nothing of a rank below LOCK_RANK_DEVICE or inner: where strangers are
 * called. */
void lock_assert_none_held(const char *where);
#endif

#endif
