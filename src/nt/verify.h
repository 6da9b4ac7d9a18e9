/* SPDX-License-Identifier: MIT */
/*
 * verify.h - checks that cost more than a run should pay unasked: DXGK_VERIFY, words separated by
 * commas, is asked once. They are what Driver Verifier calls force IRQL checking and pool tracking.
 */
#ifndef NT_VERIFY_H
#define NT_VERIFY_H

#include <stdbool.h>

enum nt_verify {
	NT_VERIFY_IRQL = 1, /* "irql": paged pool is out of reach above APC_LEVEL (paged_guard.h) */
	NT_VERIFY_STACKS = 2,  /* "stacks": every allocation keeps its call stack (pool_stack.h) */
	NT_VERIFY_ANSWERS = 4, /* "answers": guard bytes in calls that are made often, too */
	NT_VERIFY_RULES = 8,   /* "rules": what only a look at each call tells (verify/verify.h) */
	NT_VERIFY_REFILL = 16, /* "refill": fresh pool has other bytes in it; no part of "all" */
};

bool nt_verify_wants(enum nt_verify check);

#endif
