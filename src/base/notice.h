/* SPDX-License-Identifier: MIT */
/*
 * notice.h - "something changed, look again", without a lost wake-up.
 *
 *	lock_acquire(&queue->lock);
 *	while (list_is_empty(&queue->items))
 *		notice_wait_relock(&queue->changed, &queue->lock);
 */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"

/* Of one that nobody waits for the system is told nothing: that takes longer than all else here. */
struct notice {
	_Atomic uint32_t count; /* of notices given, times NOTICE_STEP; and NOTICE_AWAITED */
};

enum {
	NOTICE_AWAITED = 1, /* somebody may sleep until the next one */
	NOTICE_STEP = 2,
};

static inline uint32_t notice_read(struct notice *notice)
{
	return atomic_load_explicit(&notice->count, memory_order_acquire) & ~NOTICE_AWAITED;
}

/* Returns when a notice was given after `seen` was read, at the deadline, or for no reason. */
static inline enum thread_wait_result notice_wait(struct notice *notice, uint32_t seen,
						  uint64_t deadline_ns)
{
	uint32_t awaited = seen | NOTICE_AWAITED;
	uint32_t now = seen;

	if (!atomic_compare_exchange_strong(&notice->count, &now, awaited) && now != awaited)
		return THREAD_WOKEN;
	return thread_wait(&notice->count, awaited, deadline_ns);
}

/* Looks for so long, without sleeping. True: a notice was given. */
static inline bool notice_look(struct notice *notice, uint32_t seen, uint64_t for_ns)
{
	enum { LOOKS = 16 };
	uint64_t until_ns = clock_deadline(for_ns);

	do {
		for (unsigned i = 0; i < LOOKS; i++) {
			if (notice_read(notice) != seen)
				return true;
			thread_relax();
		}
	} while (clock_now_ns() < until_ns);
	return false;
}

/*
 * Drops and retakes the lock, when a notice is given or at the deadline: look again at what it guards,
 * all of which may have changed.
 */
static inline void notice_wait_until_relock(struct notice *notice, struct lock *lock,
					    uint64_t deadline_ns)
{
	uint32_t seen = notice_read(notice);

	lock_assert_held(lock);
	lock_release(lock);
	notice_wait(notice, seen, deadline_ns);
	lock_acquire(lock);
}

/* Drops and retakes the lock, likewise, however long that takes: all that it guards may have changed. */
static inline void notice_wait_relock(struct notice *notice, struct lock *lock)
{
	lock_assert_held(lock);
	notice_wait_until_relock(notice, lock, CLOCK_FOREVER);
}

/* Returns when the word is 0; who makes it so wakes those who wait for it. */
static inline void word_wait_until_none(_Atomic uint32_t *word)
{
	uint32_t seen;

	while ((seen = atomic_load(word)) > 0)
		thread_wait(word, seen, CLOCK_FOREVER);
}

/* Returns when it is 0; who makes it so gives notice afterwards. */
static inline void notice_wait_until_none(struct notice *notice, const _Atomic uint32_t *count)
{
	for (;;) {
		uint32_t seen = notice_read(notice);
		if (atomic_load(count) == 0)
			return;
		notice_wait(notice, seen, CLOCK_FOREVER);
	}
}

/* Returns when it is true; who sets it gives notice afterwards. */
static inline void notice_wait_until(struct notice *notice, const _Atomic bool *is_over)
{
	for (;;) {
		uint32_t seen = notice_read(notice);

		if (atomic_load(is_over))
			return;
		notice_wait(notice, seen, CLOCK_FOREVER);
	}
}

static inline void notice_give(struct notice *notice)
{
	uint32_t before = atomic_load_explicit(&notice->count, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&notice->count, &before,
						      (before & ~NOTICE_AWAITED) + NOTICE_STEP,
						      memory_order_release, memory_order_relaxed))
		;
	/* A wake is a step of a seeded run, whoever waits. */
	if ((before & NOTICE_AWAITED) || thread_is_simulated())
		thread_wake_all(&notice->count);
}

/* One of those who wait is woken. Returns what notice_read() would. */
static inline uint32_t notice_give_to_one(struct notice *notice)
{
	uint32_t before =
		atomic_fetch_add_explicit(&notice->count, NOTICE_STEP, memory_order_release);

	/* Others still wait for the next one. */
	if ((before & NOTICE_AWAITED) || thread_is_simulated())
		thread_wake_one(&notice->count);
	return (before & ~NOTICE_AWAITED) + NOTICE_STEP;
}

#endif
