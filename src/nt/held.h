/* SPDX-License-Identifier: MIT */
/*
 * held.h - the locks of drivers that the calling thread holds, and where it took them.
 *
 * A routine that a driver is entered by returns without any that it took (irql.h). What stays is
 * told by name and place, and released, so that the next who wants it does not wait for ever.
 */
#ifndef NT_HELD_H
#define NT_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/race.h"
#include "nt/irql.h"

enum nt_held_kind {
	NT_HELD_SPIN_LOCK,
	NT_HELD_SPIN_SHARED,
	NT_HELD_SPIN_EXCLUSIVE,
	NT_HELD_FAST_MUTEX,
	NT_HELD_RESOURCE,
	NT_HELD_PUSH_SHARED,
	NT_HELD_PUSH_EXCLUSIVE,
	NT_HELD_CRITICAL_REGION,
	NT_HELD_GUARDED_REGION,
	NT_HELD_MUTEX,
};

/* Those that are known by name; more are only counted, in nt_level.held. */
enum { NT_HELD_KNOWN = 8 };

struct nt_held_locks {
	void *locks[NT_HELD_KNOWN]; /* NULL for regions */
	const void *sites[NT_HELD_KNOWN];
	uint8_t kinds[NT_HELD_KNOWN];
};
extern _Thread_local struct nt_held_locks nt_held_locks __attribute__((visibility("hidden")));

static inline void nt_held_add(enum nt_held_kind kind, void *lock, const void *site)
{
	uint8_t index = nt_level.held;

	race_acquire(lock);
	if (LIKELY(index < NT_HELD_KNOWN)) {
		nt_held_locks.locks[index] = lock;
		nt_held_locks.sites[index] = site;
		nt_held_locks.kinds[index] = (uint8_t)kind;
	}
	nt_level.held = (uint8_t)(index + 1);
}

void nt_held_drop_inner(enum nt_held_kind kind, const void *lock);

/* Most are released in the opposite order. */
static inline void nt_held_drop(enum nt_held_kind kind, const void *lock)
{
	uint8_t last = (uint8_t)(nt_level.held - 1);

	race_release(lock);
	if (LIKELY(last < NT_HELD_KNOWN && nt_held_locks.locks[last] == lock &&
		   nt_held_locks.kinds[last] == (uint8_t)kind))
		nt_level.held = last;
	else
		nt_held_drop_inner(kind, lock);
}

/* A mutex is taken once however often it is acquired. */
void nt_held_add_mutex(void *mutex, const void *site);

/* The last lock, not region, that the thread took and holds. False: none that is known. */
struct nt_held_lock {
	const char *kind; /* "fast mutex" */
	const void *lock;
	const void *site;
};
bool nt_held_last(struct nt_held_lock *held_out);

/* A thread ends: what is told of mutexes and regions then is told by another rule. */
void nt_held_forget_ownership(void);

/* `routine` returned. Reports what it took and holds, and releases it. */
void nt_held_release(const struct nt_irql *scope, const char *routine);

#endif
