/* SPDX-License-Identifier: MIT */
/*
 * endings.h - THE order in which things end, kind by kind.
 *
 *	STAGE(what has to be over before it, what is done then, the same in words)
 *
 * The functions are in the file that is named with the kind; ending.h says who goes through them.
 */
#ifndef OBJECT_ENDINGS_H
#define OBJECT_ENDINGS_H

#define NOTHING NULL

/* clang-format off */

/*
 * Memory that a driver keeps for a context (context_allocation.c). The thread that destroys it; the reaper,
 * where that thread may not wait; who ends the owner, when it was leaked.
 */
#define ENDING_OF_CONTEXT_ALLOCATION(STAGE) \
	STAGE(await_submitted,   NOTHING,   "the owner stands still, and the hardware has none of its work") \
	STAGE(await_unloaded,    NOTHING,   "no context that uses it is loaded") \
	STAGE(await_unmapped,    NOTHING,   "GPU addresses, TLB") \
	STAGE(await_departed,    give_back, "its place is left; the owner goes on; backing store, budget")

/* clang-format on */

#endif
