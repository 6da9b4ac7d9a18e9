/* SPDX-License-Identifier: MIT */
/*
 * pool_stack.h - who called for a block of pool, all the way down to how the driver was entered.
 *
 * Walking a stack takes longer than an allocation does. So the first allocations of a run keep
 * theirs, and after them one of many: what is leaked again and again is met soon. Equal stacks are
 * kept once. DXGK_VERIFY=stacks keeps all.
 */
#ifndef NT_POOL_STACK_H
#define NT_POOL_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "nt/report.h"

/* Allocations of this thread until the next that keeps its stack. */
extern _Thread_local uint16_t pool_stack_countdown __attribute__((visibility("hidden")));

/* NULL when the stack shows no driver, or too many are kept. */
const struct nt_stack *pool_stack_keep(void);

static inline bool pool_stack_is_due(void)
{
	return UNLIKELY(pool_stack_countdown == 0);
}

/* For an allocation that keeps none. */
static inline void pool_stack_pass(void)
{
	pool_stack_countdown--;
}

static inline const struct nt_stack *pool_stack_if_due(void)
{
	if (pool_stack_is_due())
		return pool_stack_keep();
	pool_stack_pass();
	return NULL;
}

#endif
