/* SPDX-License-Identifier: MIT */
/*
 * control.h - what a tester may ask of an adapter's memory: to do something now, or to do it in
 * another way from now on.
 *
 *	options    switches, of the adapter or of one process on it; none set at the start
 *	limits     budgets that are smaller than they would be
 *	actions    evict, put in order, recount
 *
 * Nothing here needs memory, so nothing fails for want of it. What is evicted and on somebody's
 * list comes back by itself as soon as there is room: nothing is lost, and its way out and in is
 * as real as under pressure.
 */
#ifndef VIDMM_CONTROL_H
#define VIDMM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "vidmm/manager.h"

/* ---- options ---- */

/* Of an adapter. */
enum {
	VIDMM_ALWAYS_DISCARD_OFFERS = 1 << 0,  /* as soon as the work before the offer is over */
	VIDMM_NEVER_DISCARD_OFFERS = 1 << 1,   /* what is offered is copied out like the rest */
	VIDMM_ALWAYS_DECOMMIT_OFFERS = 1 << 2, /* system memory, where the offer allows it */
	VIDMM_NO_DEMOTION = 1 << 3,            /* nothing goes to the group it did not ask for */
	VIDMM_NEVER_MOVE_TO_DEFRAG = 1 << 4,
	VIDMM_FAIL_DEFRAG = 1 << 5,
};

/* Of a process on it. */
enum {
	VIDMM_EVICT_SYNCHRONOUSLY = 1 << 0,    /* evict returns when what goes has gone */
	VIDMM_NEVER_DEFER_EVICTIONS = 1 << 1,  /* "only if necessary" does not count */
	VIDMM_FAIL_COMMIT_ON_RECLAIM = 1 << 2, /* what was decommitted stays so */
	VIDMM_ALWAYS_DEMOTE = 1 << 3,          /* to the non-local group, where it may be there */
};

uint32_t vidmm_options(const struct vidmm *manager);
/* Counts for what is there already, too. */
void vidmm_set_options(struct vidmm *manager, uint32_t options);

uint32_t vidmm_process_options(const struct vidmm_process *process);
void vidmm_process_set_options(struct vidmm_process *process, uint32_t options);

/* ---- limits ---- */

#define VIDMM_NO_LIMIT UINT64_MAX

struct vidmm_budget_limits {
	uint64_t bytes[VIDMM_GROUPS]; /* VIDMM_NO_LIMIT: the budget is what it is */
};

/* Of every process, and of one. The smaller counts. Who is over it now is told to trim. */
void vidmm_set_budget_limits(struct vidmm *manager, const struct vidmm_budget_limits *limits);
void vidmm_process_set_budget_limits(struct vidmm_process *process,
				     const struct vidmm_budget_limits *limits);
struct vidmm_budget_limits vidmm_process_budget_limits(struct vidmm_process *process);

/* Bytes that the process is above its budgets. */
uint64_t vidmm_process_bytes_to_trim(struct vidmm_process *process);

/* ---- suspension ---- */

/*
 * Nothing of the process is submitted any more, and what only it lists leaves; returns when it has
 * left. With `wakes_on_work`, the next submission lets it go on. Refused when it is as asked for
 * already.
 */
MUST_CHECK NTSTATUS vidmm_process_suspend(struct vidmm_process *process, bool wakes_on_work);
/* Its memory comes back, and it is told to start its periodic trims anew. */
MUST_CHECK NTSTATUS vidmm_process_resume(struct vidmm_process *process);

/* ---- actions ---- */

/* Those who wait for room are looked at now, also those who had given up. */
void vidmm_wake(struct vidmm *manager);

/* What is to leave: everything that fits each condition. */
struct vidmm_selection {
	uint32_t segment;                          /* 0: any */
	const struct vidmm_process *process;       /* made or listed by it; NULL: anybody's */
	const struct vidmm_allocation *allocation; /* NULL: any */
	uint64_t least_bytes;
	uint64_t most_bytes; /* 0: any */
};

/*
 * Returns when what was chosen has left. What is pinned or locked stays, and what the hardware uses
 * leaves when it is done with it.
 */
void vidmm_evict_selected(struct vidmm *manager, const struct vidmm_selection *selection);

struct vidmm_fragmentation {
	uint64_t taken_bytes;
	uint64_t free_bytes;
	uint64_t largest_gap_bytes;
};

/* False: there is no such segment, or it has no addresses of its own. */
MUST_CHECK bool vidmm_fragmentation(struct vidmm *manager, uint32_t segment,
				    struct vidmm_fragmentation *fragmentation_out);

struct vidmm_defragmentation {
	bool is_upward;   /* at the upper end */
	bool must_verify; /* the CPU compares each copy; what is not the same stays where it was */
};

/*
 * Puts what is in the segment together at its lower end, from page to page of it. What finds no
 * room there to stand aside leaves, and comes back in when it is on a list. Returns when it is
 * done: when the free memory is in one piece, or nothing is gained any more. Refused when a copy
 * was not the same, or cannot be looked at, and when there is no memory to plan it.
 */
MUST_CHECK NTSTATUS vidmm_defragment(struct vidmm *manager, uint32_t segment,
				     const struct vidmm_defragmentation *how);

/* Copies within segments that were not the same, since the start; and the last of them. */
struct vidmm_wrong_transfers {
	uint64_t count;
	uint64_t allocation_id;
	uint64_t offset_bytes;
};

/*
 * As vidmm_manager_validate() of a manager at work; what is in between two steps is looked at
 * again.
 */
MUST_CHECK bool vidmm_check_integrity(struct vidmm *manager, char *wrong, size_t wrong_size);

/* The states there are and what may follow each, with how many are in it now (state_tables.h). */
void vidmm_print_states(struct vidmm *manager, char *text, size_t size);

/* ---- inventory.c: for a trace that begins when there is something already ---- */

/* Segments, budgets, page tables, and where each allocation is. */
void vidmm_trace_inventory(struct vidmm *manager);

/* One allocation: that it lives, and its states. */
void vidmm_allocation_trace(struct vidmm_allocation *allocation);

#endif
