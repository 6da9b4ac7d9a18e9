/* SPDX-License-Identifier: MIT */
/*
 * pool_stack.c - see pool_stack.h. A table by the hash of the stack, which only grows.
 *
 * Locks: stack_lock guards the table; an entry never changes once it is filled.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/lock.h"
#include "nt/paged_guard.h"
#include "nt/pool_stack.h"
#include "nt/verify.h"

enum {
	STACKS_MAX = 2048, /* a power of two */
	PROBES_MAX = 16,
	KEPT_FIRST = 1024, /* allocations of a run that keep theirs */
	KEPT_ONE_OF = 16384,
};

_Thread_local uint16_t pool_stack_countdown;

static _Atomic uint32_t kept_count;

/* Guarded by stack_lock. */
static struct lock stack_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "nt pool stacks");
static struct nt_stack stacks[STACKS_MAX]; /* count 0: free */

static uint64_t hash_of(const struct nt_stack *stack)
{
	uint64_t hash = stack->count;

	for (uint32_t i = 0; i < stack->count; i++)
		hash = (hash ^ (uint64_t)(uintptr_t)stack->frames[i]) *
		       UINT64_C(0x9e3779b97f4a7c15);
	return hash >> 32;
}

static bool is_same(const struct nt_stack *one, const struct nt_stack *two)
{
	return one->count == two->count &&
	       memcmp(one->frames, two->frames, one->count * sizeof(one->frames[0])) == 0;
}

static const struct nt_stack *keep(const struct nt_stack *stack)
{
	const struct nt_stack *kept = NULL;
	uint64_t hash = hash_of(stack);

	lock_acquire(&stack_lock);
	for (uint64_t i = 0; i < PROBES_MAX && !kept; i++) {
		struct nt_stack *entry = &stacks[(hash + i) % STACKS_MAX];

		if (entry->count == 0)
			*entry = *stack;
		if (is_same(entry, stack))
			kept = entry;
	}
	lock_release(&stack_lock);
	return kept;
}

RARE const struct nt_stack *pool_stack_keep(void)
{
	struct nt_stack stack;
	bool is_early =
		atomic_fetch_add_explicit(&kept_count, 1, memory_order_relaxed) < KEPT_FIRST;

	/* While it is 0 every allocation goes the long way, where guarded memory comes from. */
	bool are_all = nt_verify_wants(NT_VERIFY_STACKS) || nt_paged_guard_is_on();

	pool_stack_countdown = is_early || are_all ? 0 : KEPT_ONE_OF - 1;
	nt_stack_take(&stack);
	return stack.has_driver ? keep(&stack) : NULL;
}
