/* SPDX-License-Identifier: MIT */
/*
 * refcount.h - how many still need this; the last one to let go destroys it.
 */
#ifndef BASE_REFCOUNT_H
#define BASE_REFCOUNT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct refcount {
	_Atomic uint32_t count;
};

static inline void refcount_init(struct refcount *refs)
{
	*refs = (struct refcount){ 1 };
}

/* For who is born with several owners. */
static inline void refcount_init_to(struct refcount *refs, uint32_t count)
{
	*refs = (struct refcount){ count };
}

static inline void refcount_get(struct refcount *refs)
{
	uint32_t before = atomic_fetch_add_explicit(&refs->count, 1, memory_order_relaxed);

	assert(before != 0 && before != UINT32_MAX);
	(void)before;
}

/* For lookups that race with the last put: false when the object is already going away. */
MUST_CHECK static inline bool refcount_get_unless_zero(struct refcount *refs)
{
	uint32_t count = atomic_load_explicit(&refs->count, memory_order_relaxed);

	while (count != 0) {
		if (atomic_compare_exchange_weak_explicit(&refs->count, &count, count + 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

/* For who has one: what others did before they let go of theirs is seen when this is true. */
static inline bool refcount_is_last(const struct refcount *refs)
{
	return atomic_load_explicit(&refs->count, memory_order_acquire) == 1;
}

/* True for exactly one caller: the one that has to destroy. */
MUST_CHECK static inline bool refcount_put(struct refcount *refs)
{
	uint32_t before = atomic_fetch_sub_explicit(&refs->count, 1, memory_order_acq_rel);

	assert(before != 0);
	return before == 1;
}

/* The same where nobody uses refcount_get_unless_zero(): who has the last one is alone with it. */
MUST_CHECK static inline bool refcount_put_quickly(struct refcount *refs)
{
	if (LIKELY(atomic_load_explicit(&refs->count, memory_order_acquire) == 1)) {
		atomic_store_explicit(&refs->count, 0, memory_order_relaxed);
		return true;
	}
	return refcount_put(refs);
}

/* The same for one of two that the caller has; the other one it keeps. */
static inline void refcount_put_one_of_two(struct refcount *refs)
{
	if (LIKELY(atomic_load_explicit(&refs->count, memory_order_acquire) == 2))
		atomic_store_explicit(&refs->count, 1, memory_order_relaxed);
	else
		(void)!refcount_put(refs);
}

/* Both at once. True: they were the last. */
MUST_CHECK static inline bool refcount_put_both(struct refcount *refs)
{
	if (LIKELY(atomic_load_explicit(&refs->count, memory_order_acquire) == 2)) {
		atomic_store_explicit(&refs->count, 0, memory_order_relaxed);
		return true;
	}
	refcount_put_one_of_two(refs);
	return refcount_put_quickly(refs);
}

#endif
