/*
 * notice.h - "something changed, look again", without a lost wake-up.
 *
 *	lock_acquire(&queue->lock);
 *	while (list_is_empty(&queue->items)) {
 *		uint32_t seen = notice_read(&queue->changed);
 *		lock_release(&queue->lock);
 *		notice_wait(&queue->changed, seen, CLOCK_FOREVER);
 *		lock_acquire(&queue->lock);
 *	}
 */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/thread.h"

struct notice {
	_Atomic uint32_t count; /* of notices given */
};

static inline uint32_t notice_read(struct notice *notice)
{
	return atomic_load_explicit(&notice->count, memory_order_acquire);
}

/* Returns when a notice was given after `seen` was read, at the deadline, or for no reason. */
static inline enum thread_wait_result notice_wait(struct notice *notice, uint32_t seen,
						  uint64_t deadline_ns)
{
	return thread_wait(&notice->count, seen, deadline_ns);
}

static inline void notice_give(struct notice *notice)
{
	atomic_fetch_add_explicit(&notice->count, 1, memory_order_release);
	thread_wake_all(&notice->count);
}

#endif
