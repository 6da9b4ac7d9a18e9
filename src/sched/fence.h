/* SPDX-License-Identifier: MIT */
/*
 * fence.h - a 64-bit value in memory, and those who wait for it to get there.
 *
 * The value is somewhere that others see, too: a client reads it, a GPU may write it. Whoever
 * writes it by other means than fence_signal() has to be followed by a fence_look(), or nobody is
 * released.
 *
 * A wait is reached when the value is as large or larger. Values move forward; fence_rewind() is
 * the exception, and who was released before it stays released.
 *
 * Signalling with nobody to release, and asking for a value that is reached, take no lock and make
 * no system call. Waits are kept in the order of their values, so that a signal costs what it
 * releases and no more. A new wait is put in from the far end: timelines grow, and the newest value
 * is mostly the largest.
 *
 * Locks: fence->lock guards the waits. reached() is called with no lock of the fence held; whoever
 * signals holds none that a reached() could need.
 */
#ifndef SCHED_FENCE_H
#define SCHED_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"

#define FENCE_MAX UINT64_MAX /* where a fence goes when it ends: everything is reached */

struct fence {
	/* Set by fence_init(). Read freely afterwards. */
	_Atomic uint64_t *value;

	/* The lowest value that is waited for; FENCE_MAX when none is. Written under lock. */
	_Atomic uint64_t lowest;

	struct lock lock;  /* LOCK_RANK_FENCE */
	struct list waits; /* fence_wait.link, lowest value first; equal ones as they came */
};

/* Storage of whoever waits; at rest again when reached() is called or a cancel says true. */
struct fence_wait {
	uint64_t value;
	void (*reached)(struct fence_wait *wait); /* once, on any thread */

	/* The fence's. */
	struct list link;
	bool is_queued;
};

/* `value` is where the value lives, for as long as the fence does, and is set already. */
void fence_init(struct fence *fence, _Atomic uint64_t *value);

/* From now on the value lives there, and is what it was. Nobody else knows the fence yet. */
static inline void fence_move(struct fence *fence, _Atomic uint64_t *value)
{
	atomic_store_explicit(value, atomic_load_explicit(fence->value, memory_order_relaxed),
			      memory_order_relaxed);
	fence->value = value;
}

/* Nobody waits any more. */
void fence_finish(struct fence *fence);

static inline uint64_t fence_value(const struct fence *fence)
{
	return atomic_load(fence->value);
}

static inline bool fence_is_reached(const struct fence *fence, uint64_t value)
{
	return fence_value(fence) >= value;
}

/*
 * True: reached() will be called, unless a cancel comes first. False: it is reached already, and
 * reached() is not called.
 */
MUST_CHECK bool fence_wait_start(struct fence *fence, struct fence_wait *wait);

/*
 * True: it waited, and does not any more. False: it did not wait, or reached() has been called or
 * is about to be on another thread.
 */
bool fence_wait_cancel(struct fence *fence, struct fence_wait *wait);

/* Moves the value forward and releases who is reached. False, and nothing happens, for a value
 * below the present one. */
bool fence_signal(struct fence *fence, uint64_t value);

/* Sets the value, be it backwards; releases who is reached by it. */
void fence_rewind(struct fence *fence, uint64_t value);

/* A look: does somebody wait? */
static inline bool fence_has_waits(const struct fence *fence)
{
	return atomic_load(&fence->lowest) != FENCE_MAX;
}

/* A look: is there somebody whom fence_look() would release? */
static inline bool fence_has_reached_waits(const struct fence *fence)
{
	uint64_t lowest = atomic_load(&fence->lowest);

	return lowest != FENCE_MAX && fence_is_reached(fence, lowest);
}

/* Somebody else wrote the value: releases who is reached by now. */
void fence_look(struct fence *fence);

/* To the maximum: releases everybody, for good unless it is rewound. */
void fence_end(struct fence *fence);

#endif
