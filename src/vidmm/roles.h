/* SPDX-License-Identifier: MIT */
/*
 * roles.h - memory that the CPU has locked moves without a copy: its pages change their role.
 *
 *	           view of the client
 *	                  │  never changes
 *	pages        ┌────▼────┐
 *	             │ content │
 *	             └────▲────┘
 *	                  │  either, or
 *	   address in     │     addresses in
 *	   the segment ───┴──── system memory (its backing)
 *
 * Whoever has it locked writes whenever he likes, and nobody can make him stop: a copy could miss a
 * store. So where a segment is memory of the machine that the CPU sees, the addresses of the segment
 * and those of the backing exchange their pages (base/machine_exchange.h) instead. Elsewhere, in
 * memory that the CPU does not see or in a device's own, what is locked stays in system memory, or
 * where it was locked.
 *
 * Between the two is memory that the CPU sees through windows of a CPU host aperture (host_aperture.h).
 * Where such a window shows memory of the machine, what is locked enters and leaves in the same way. It
 * has a window for as long as it is inside, because the driver is to know what the CPU sees; where none
 * is left, or the driver opens none, it stays in system memory.
 *
 * What was locked inside has the segment's own pages, and takes them along. That is good for a client
 * that is in this process; what others are shown keeps its own (elsewhere.h).
 *
 * A driver sees the same sequence as for any move, but for the transfer: its page tables and its
 * notices, and without page tables a discard of the range that was left. It reaches the memory of
 * such a segment through our mapping of the machine, so it has no cache that could be stale.
 *
 * Locks: none of its own; the move that it is part of is its caller's.
 */
#ifndef VIDMM_ROLES_H
#define VIDMM_ROLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct vidmm;
struct vidmm_allocation;
struct vidmm_place;
struct vidmm_segment;

/* Can it be in this memory segment, enter it and leave it while it is locked, without a window? */
bool roles_can_change(const struct vidmm_allocation *allocation,
		      const struct vidmm_segment *segment);

/* Where it may be: everywhere, or, if the CPU has it locked, where that is no obstacle. */
uint32_t roles_allowed_segments(const struct vidmm_place *place, bool is_locked);

/* Where it could be if the CPU had it locked, and nobody waited for it to be out; with the windows that
   there are now. */
uint32_t roles_locked_segments(const struct vidmm_place *place);
/* … and without any. */
uint32_t roles_open_segments(const struct vidmm_place *place);

/* Can who lists it now have it in before an unlock? Statuses of window_promise_locked(). */
MUST_CHECK NTSTATUS roles_let_in_locked(struct vidmm_place *place);

/* In a memory segment, and kept there by a lock. */
bool roles_hold(const struct vidmm_place *place);

/* … at these pages of it: it may leave, and cannot be at others. */
bool roles_hold_pages(const struct vidmm_place *place);

/* Of a move whose runs are made: what the exchange needs. False: no mapping is left for it. */
MUST_CHECK bool roles_reserve(struct vidmm_place *place);
void roles_release(struct vidmm_place *place);

/* Of a move whose pages of the segment are nobody's and nothing reads: they are their own again. */
void roles_settle(const struct vidmm_place *place);

/*
 * The same for all that nobody has: a process is about to end, and where it was lost or destroyed in
 * the middle of a move, pages of its bank may have stayed in a segment.
 */
void roles_settle_free_locked(struct vidmm *manager);

/* The pages are where the move goes to, or back. False: the host does not let us; as before. */
MUST_CHECK bool roles_change(struct vidmm_place *place, bool is_moved);

#endif
