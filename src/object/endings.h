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
 * Allocations of a device that end together, alone or of a resource, which may go with them; the memory of a
 * shared resource that nobody has open any more, which has no bindings (destruction.c). The handles are retired
 * before. The caller's thread when nothing has to be waited for, else the reaper.
 */
#define ENDING_OF_ALLOCATIONS(STAGE) \
	STAGE(await_use,         batch_enter,      "work queued before and paging are over; the gate, one destruction at a time on a device") \
	STAGE(NOTHING,           batch_end_use,    "CPU views, GPU addresses, TLB, residency and the place in a segment") \
	STAGE(NOTHING,           batch_close,      "DxgkDdiCloseAllocation, once for all bindings") \
	STAGE(NOTHING,           batch_destroy,    "DxgkDdiDestroyAllocation, once for the memory whose last binding went") \
	STAGE(NOTHING,           batch_give_back,  "backing store, budget, private data; references")

/*
 * One allocation alone, of no work, no paging and no other thread (destruction.c): the same in short. The caller's
 * thread, which has passed the gate and retired the handle.
 */
#define ENDING_OF_UNREACHABLE_ALLOCATION(STAGE) \
	STAGE(NOTHING,           end_unreachable_use,           "CPU view, GPU addresses, residency and the place in a segment") \
	STAGE(NOTHING,           close_and_destroy_unreachable, "DxgkDdiCloseAllocation, DxgkDdiDestroyAllocation, on one visit") \
	STAGE(NOTHING,           give_unreachable_back,         "backing store, budget, private data; references")

/*
 * An opening of a sync object (sync_object.c), whose handle is retired and through which nobody waits. The
 * caller's thread when no queued work can write it, else the reaper.
 */
#define ENDING_OF_SYNC_OBJECT(STAGE) \
	STAGE(await_queued_work, give_address_back, "work queued before is over; GPU address, TLB") \
	STAGE(NOTHING,           put_opening,       "references; with the last one the value's slot")

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
