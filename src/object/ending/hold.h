/* SPDX-License-Identifier: MIT */
/*
 * hold.h - how often the driver holds something (DxgkCbAcquireHandleData): it is looking at it, and
 * does not want it destroyed meanwhile.
 *
 * A hold has a name, which the driver gives back once. It is a number and not a place: what was held
 * may be gone when a driver comes with it too late, or twice.
 */
#ifndef OBJECT_ENDING_HOLD_H
#define OBJECT_ENDING_HOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "miniport/handle_services.h"

#define HOLD_AWAITED UINT32_C(0x80000000) /* destruction waits for the last one, who wakes it */
#define HOLD_ENDED   UINT32_MAX

struct hold_count {
	_Atomic uint32_t count; /* wait word, with HOLD_AWAITED from the beginning of the end */
};

/* The name of the hold. NULL when it is being destroyed, and when there is no memory. */
MUST_CHECK void *hold_take(struct hold_count *holds);

MUST_CHECK enum miniport_release hold_give(void *name);

/*
 * The end for what nobody can find any more: none comes, and the last may only go. False, and
 * nothing changed, when somebody holds it.
 */
MUST_CHECK static inline bool hold_end_unreachable_unless_held(struct hold_count *holds)
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

/* No driver is left. What they never gave back is forgotten. */
void holds_finish(void);

#endif
