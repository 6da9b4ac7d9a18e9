/* SPDX-License-Identifier: MIT */
/*
 * plan.h - a request, worked out: which pages will show what, or why not.
 *
 *	in:   an address space and a request
 *	out:  a plan, or a status with its refusal recorded; the space is not changed
 *
 * A plan has taken all the memory it needs, so gpuva_plan_apply() cannot fail. Between the two the
 * space must not change (the same lock is held). A plan that is not applied is just finished.
 *
 * From a plan to page tables
 *
 *	status = gpuva_plan_map(space, &request, &plan);	nothing has changed
 *	… make sure of the page tables of every step; this may fail
 *	… write, or queue, the leaf entries of every step
 *	gpuva_plan_apply(&plan);				cannot fail
 *	gpuva_plan_finish(&plan);
 *
 * A step is at the same time the update of the leaf entries [first_page, first_page + page_count):
 *
 *	FREE, NO_ACCESS	invalid entries; tables that are not there need not be made
 *	ZERO		entries that read zeroes, as the GPU has them; maybe very many, so that
 *			one table of zeroes had better stand for all that are whole
 *	MAPPED		entries for the owner's pages as struct gpuva_state says, invalid while that
 *			memory is not resident; with period_pages the same entries repeat
 *
 * Steps ascend, do not overlap, and are the net result: what one operation of an update writes and
 * a later one overwrites is not among them. Which entries were valid before, and so have to leave
 * the TLB, gpuva_space_look() tells until the plan is applied.
 *
 * Entries that are written later than the plan was applied (paging queue) are best written as the
 * space shows them by then, run by run (gpuva_space_look()): what was freed meanwhile comes out
 * invalid, what was mapped anew comes out new. An update that waits for a fence is not applied
 * before: it is planned once to answer the client, finished, and planned again when its turn comes.
 * Then it is dropped when it is refused, or when `source` is another one: the addresses were freed.
 *
 * An allocation that moves or is evicted: for each range in its owner's list, the entries of
 * [first_page, page_count) with range->state. One that is destroyed: gpuva_plan_drop() for each.
 */
#ifndef GPUVA_PLAN_H
#define GPUVA_PLAN_H

#include <stddef.h>

#include "gpuva/space.h"

struct gpuva_step {
	uint64_t first_page;
	uint64_t page_count;
	struct gpuva_state state;
};

enum gpuva_action {
	GPUVA_ACTION_NONE,
	GPUVA_ACTION_TAKE,    /* a new area below `above` */
	GPUVA_ACTION_FREE,    /* areas and pieces go */
	GPUVA_ACTION_REMAP,   /* areas are replaced, still from `source` */
	GPUVA_ACTION_PIECE,   /* pieces of one reservation are replaced */
	GPUVA_ACTION_UNCOVER, /* a piece goes, its reservation shows through */
};

/* Stays where it was made: `steps` may point into it. */
struct gpuva_plan {
	/* For the caller. */
	uint64_t first_page; /* where: what the client is told */
	const struct gpuva_step *steps;
	size_t step_count;
	uint64_t source; /* the request that took the addresses, this one or an earlier one */

	/* The plan's own. */
	struct gpuva_space *space;
	uint64_t change_count;
	enum gpuva_action action;
	enum gpuva_origin origin;
	struct gpuva_range *above;
	struct gpuva_range *reservation;
	struct gpuva_range *whole; /* goes as it is */
	struct gpuva_range *fresh; /* storage: a new range … */
	struct gpuva_range *spare; /* … and for one that is cut in two */
	struct gpuva_step one;
	/* An update has more of everything. */
	struct gpuva_step *step_array;
	struct gpuva_range *stock; /* 2 for each step; range_after_in_stock() */
};

/* Addresses as the client says them, in bytes. */
struct gpuva_window {
	uint64_t base;    /* 0: anywhere in [minimum, maximum] */
	uint64_t minimum; /* counts without a base, and so does … */
	uint64_t maximum; /* the first byte behind (aligned), or the last one (…fff); 0: no limit */
};

struct gpuva_reserve_request {
	struct gpuva_window window;
	uint64_t size_bytes;
	bool is_zero; /* else no access */
	uint64_t driver_protection;
	bool is_from_driver;             /* whole leaf tables, never in the first */
	bool may_client_map;             /* of a driver's */
	uint64_t driver_alignment_bytes; /* of a driver's; 0 or a power of two */
};

struct gpuva_map_request {
	struct gpuva_window window;
	struct gpuva_owner *owner; /* NULL with GPUVA_ZERO or GPUVA_NO_ACCESS */
	uint64_t offset_pages;
	uint64_t page_count;
	uint64_t protection; /* GPUVA_… */
	uint64_t driver_protection;
	uint64_t alignment_pages; /* a wish when there is no base: 0, or a power of two */
	bool is_from_kernel;      /* at a base that is free, and no client's to change */
};

enum gpuva_operation_kind {
	GPUVA_OPERATION_MAP,
	GPUVA_OPERATION_UNMAP,
	GPUVA_OPERATION_COPY,
	GPUVA_OPERATION_MAP_PROTECT,
};

struct gpuva_operation {
	enum gpuva_operation_kind kind;
	uint64_t base; /* bytes; where to, in all of them */
	uint64_t size_bytes;
	uint64_t source_base;      /* copy */
	struct gpuva_owner *owner; /* map, map-protect, and so are the next two */
	uint64_t offset_bytes;
	uint64_t repeat_bytes;      /* 0: size_bytes; else this much of the owner repeats */
	uint64_t protection;        /* map-protect; unmap: GPUVA_ZERO or GPUVA_NO_ACCESS */
	uint64_t driver_protection; /* map-protect */
};

/*
 * What may be refused is in docs/rules.md under VA. STATUS_INVALID_PARAMETER for what is wrong,
 * STATUS_NO_MEMORY when there is no room in the space (VA-FULL) or for the plan (API-NO-MEMORY).
 * Whatever the status, gpuva_plan_finish() may follow.
 */
MUST_CHECK NTSTATUS gpuva_plan_reserve(struct gpuva_space *space,
				       const struct gpuva_reserve_request *request,
				       struct gpuva_plan *plan);
MUST_CHECK NTSTATUS gpuva_plan_map(struct gpuva_space *space,
				   const struct gpuva_map_request *request,
				   struct gpuva_plan *plan);
MUST_CHECK NTSTATUS gpuva_plan_free(struct gpuva_space *space, uint64_t base, uint64_t size_bytes,
				    bool is_from_driver, struct gpuva_plan *plan);

/* All operations or none. They apply in order; the plan is what comes out. In update.c. */
MUST_CHECK NTSTATUS gpuva_plan_update(struct gpuva_space *space,
				      const struct gpuva_operation *operations, size_t count,
				      struct gpuva_plan *plan);

/*
 * `range`, out of its owner's list, shows its memory no more: addresses that a map request found
 * become free, pages of a reservation show what it shows. Needs no memory.
 */
void gpuva_plan_drop(struct gpuva_space *space, struct gpuva_range *range, struct gpuva_plan *plan);

void gpuva_plan_apply(struct gpuva_plan *plan);

/* Accepts a zeroed struct. */
void gpuva_plan_finish(struct gpuva_plan *plan);

#endif
