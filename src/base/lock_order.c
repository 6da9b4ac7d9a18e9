/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/lock.h"
#include "base/lock_order.h"
#include "base/mem.h"
#include "base/thread.h"

#ifndef NDEBUG

enum { HELD_MAX = 32 };

struct held_lock {
	const void *lock;
	uint32_t rank;
	const char *name;
};

static _Thread_local void *own_held; /* struct held_lock[HELD_MAX], from the first one on */
static _Thread_local unsigned held_count;

void lock_order_push(const void *lock, uint32_t rank, const char *name)
{
	struct held_lock *held = thread_keep(&own_held, HELD_MAX * sizeof(*held));

	if (!held)
		abort();
	if (rank == LOCK_RANK_MACHINE || rank == LOCK_RANK_CPU_MAP)
		mem_assert_permitted(name);
	if (held_count > 0 && held[held_count - 1].rank >= rank) {
		const struct held_lock *outer = &held[held_count - 1];
		fprintf(stderr,
			"dxgk: lock order: taking \"%s\" (rank %u) while holding \"%s\" (rank "
			"%u)\n",
			name, rank, outer->name, outer->rank);
		abort();
	}
	assert(held_count < HELD_MAX);
	held[held_count++] = (struct held_lock){ lock, rank, name };
}

/* Locks may be released in any order; the rest of the stack keeps its own. */
void lock_order_pop(const void *lock)
{
	struct held_lock *held = own_held;
	unsigned i = held_count;

	while (i > 0 && held[i - 1].lock != lock)
		i--;
	assert(i > 0);
	for (; i < held_count; i++)
		held[i - 1] = held[i];
	held_count--;
}

bool lock_order_holds(const void *lock)
{
	const struct held_lock *held = own_held;

	for (unsigned i = 0; i < held_count; i++) {
		if (held[i].lock == lock)
			return true;
	}
	return false;
}

void lock_assert_none_held(const char *where)
{
	const struct held_lock *held = own_held;

	for (unsigned i = 0; i < held_count; i++) {
		if (held[i].rank >= LOCK_RANK_DEVICE) {
			fprintf(stderr, "dxgk: \"%s\" (rank %u) is held while entering %s\n",
				held[i].name, held[i].rank, where);
			abort();
		}
	}
}

#endif
