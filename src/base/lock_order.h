/* SPDX-License-Identifier: MIT */
/*
 * lock_order.h - which locks this thread holds, and the check against lock_ranks.h. For base/ only.
 */
#ifndef BASE_LOCK_ORDER_H
#define BASE_LOCK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef NDEBUG
static inline void lock_order_push(const void *lock, uint32_t rank, const char *name)
{
	(void)lock;
	(void)rank;
	(void)name;
}

static inline void lock_order_pop(const void *lock)
{
	(void)lock;
}
#else
/* Stops the process when a lock of the same or an inner rank is held. */
void lock_order_push(const void *lock, uint32_t rank, const char *name);
void lock_order_pop(const void *lock);
bool lock_order_holds(const void *lock);
#endif

#endif
