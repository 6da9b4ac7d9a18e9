/*
 * hold.h - how often the driver holds something (DxgkCbAcquireHandleData): it is looking at it, and
 * does not want it destroyed meanwhile.
 */
#ifndef OBJECT_HOLD_H
#define OBJECT_HOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/thread.h"

#define HOLD_AWAITED UINT32_C(0x80000000) /* destruction waits for the last one, who wakes it */
#define HOLD_ENDED   UINT32_MAX

struct hold_count {
	_Atomic uint32_t count; /* wait word, with HOLD_AWAITED from the beginning of the end */
};

/* False when it is being destroyed. */
MUST_CHECK static inline bool hold_take(struct hold_count *holds)
{
	uint32_t count = atomic_load(&holds->count);

	do {
		if (count >= HOLD_AWAITED - 1)
			return false;
	} while (!atomic_compare_exchange_weak(&holds->count, &count, count + 1));
	return true;
}

/* False when nobody holds it. */
MUST_CHECK static inline bool hold_give(struct hold_count *holds)
{
	uint32_t count = atomic_load(&holds->count);

	do {
		if ((count & ~HOLD_AWAITED) == 0 || count == HOLD_ENDED)
			return false;
	} while (!atomic_compare_exchange_weak(&holds->count, &count, count - 1));
	if (count - 1 == HOLD_AWAITED)
		thread_wake_all(&holds->count);
	return true;
}

/*
 * The end for what nobody can find any more: none comes, and the last may only go. False, and
 * nothing changed, when somebody holds it.
 */
MUST_CHECK static inline bool hold_end_hidden_unless_held(struct hold_count *holds)
{
	if (UNLIKELY(atomic_load_explicit(&holds->count, memory_order_acquire) != 0))
		return false;
	atomic_store_explicit(&holds->count, HOLD_ENDED, memory_order_relaxed);
	return true;
}

/*
 * The driver may still look at it from another thread. It lets go soon, or it has forgotten to:
 * then it is told so, and the thing goes all the same. Afterwards it is not held any more.
 */
void hold_end(struct hold_count *holds, const char *what, const void *driver_handle);

#endif
