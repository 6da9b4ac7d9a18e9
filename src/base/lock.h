/*
 * lock.h - mutex and rwlock that know their rank.
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

struct lock {
	_Atomic uint32_t word; /* 0 free, 1 taken, 2 taken and somebody waits */
	uint32_t rank;         /* enum lock_rank */
	const char *name;
};

#define LOCK_INITIALIZER(lock_rank, lock_name)                                                     \
	{                                                                                          \
		.rank = (lock_rank), .name = (lock_name)                                           \
	}

void lock_init(struct lock *lock, enum lock_rank rank, const char *name);
void lock_finish(struct lock *lock);
MUST_CHECK bool lock_try_acquire(struct lock *lock);

/* Behind lock_acquire() and lock_release(). */
void lock_acquire_slowly(struct lock *lock);
void lock_release_slowly(struct lock *lock);
void lock_wake(struct lock *lock);
extern bool sim_on __attribute__((visibility("hidden"))); /* base/sim.h */

/* Does every thread keep a list of what it holds (lock_order.h)? */
#ifdef NDEBUG
#define LOCK_IS_WATCHED false
#else
#define LOCK_IS_WATCHED true
#endif

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

static inline void lock_release(struct lock *lock)
{
	if (LOCK_IS_WATCHED)
		lock_release_slowly(lock);
	else if (UNLIKELY(atomic_exchange_explicit(&lock->word, LOCK_FREE, memory_order_release) ==
			  LOCK_CONTENDED))
		lock_wake(lock);
}

/* Many readers or one writer; a waiting writer goes before new readers. Not recursive. */
struct rwlock {
	_Atomic uint32_t state; /* readers, or RWLOCK_WRITER */
	_Atomic uint32_t waiting_writers;
	_Atomic uint32_t turn; /* wait word: changes when somebody should look again */
	uint32_t rank;
	const char *name;
};

#define RWLOCK_INITIALIZER(lock_rank, lock_name)                                                   \
	{                                                                                          \
		.rank = (lock_rank), .name = (lock_name)                                           \
	}

void rwlock_init(struct rwlock *lock, enum lock_rank rank, const char *name);
void rwlock_finish(struct rwlock *lock);
MUST_CHECK bool rwlock_try_acquire_shared(struct rwlock *lock);

/*
 * Goes ahead of waiting writers: for whom a reader that is inside may be waiting, so that standing
 * behind a writer would be standing behind oneself. Who comes all the time starves the writers.
 */
void rwlock_acquire_shared_ahead(struct rwlock *lock);
void rwlock_acquire_exclusive(struct rwlock *lock);

/* False when the deadline (clock.h) came first; readers that stood behind go on. */
MUST_CHECK bool rwlock_acquire_exclusive_until(struct rwlock *lock, uint64_t deadline_ns);
void rwlock_release_exclusive(struct rwlock *lock);

/* Behind rwlock_acquire_shared() and rwlock_release_shared(). */
void rwlock_acquire_shared_slowly(struct rwlock *lock);
void rwlock_release_shared_slowly(struct rwlock *lock);
void rwlock_next_turn(struct rwlock *lock);

#define RWLOCK_WRITER UINT32_C(0x80000000)

static inline bool rwlock_take_shared(struct rwlock *lock, bool is_ahead)
{
	uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);

	while (!(state & RWLOCK_WRITER) && (is_ahead || atomic_load(&lock->waiting_writers) == 0)) {
		if (LIKELY(atomic_compare_exchange_weak(&lock->state, &state, state + 1)))
			return true;
	}
	return false;
}

static inline void rwlock_acquire_shared(struct rwlock *lock)
{
	if (UNLIKELY(LOCK_IS_WATCHED || sim_on || !rwlock_take_shared(lock, false)))
		rwlock_acquire_shared_slowly(lock);
}

static inline void rwlock_release_shared(struct rwlock *lock)
{
	if (LOCK_IS_WATCHED)
		rwlock_release_shared_slowly(lock);
	else if (UNLIKELY(atomic_fetch_sub(&lock->state, 1) == 1 &&
			  atomic_load(&lock->waiting_writers) != 0))
		rwlock_next_turn(lock);
}

#ifdef NDEBUG
#define lock_assert_held(lock)       ((void)(lock))
#define rwlock_assert_held(lock)     ((void)(lock))
#define lock_assert_none_held(where) ((void)(where))
#else
/* The calling thread holds it (a rwlock in either way). */
void lock_assert_held(const struct lock *lock);
void rwlock_assert_held(const struct rwlock *lock);
/* The calling thread holds nothing of a rank below LOCK_RANK_DEVICE or inner: where strangers are
 * called. */
void lock_assert_none_held(const char *where);
#endif

#endif
