/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - disjoint ranges of pages in order: what each shows, and the gaps between them.
 *
 *	|<-- gap -->|<-- range -->|<-- range -->|<------ gap ------>|<-- range -->|   …
 *
 * A tree by address. Each range keeps the gap below it and the largest gap below any range of its
 * subtree, so a gap of some size is found without visiting the others.
 *
 * Ranges that show memory hang in the list of their owner: whoever destroys or moves memory finds
 * them there, and nothing else.
 *
 * Pure: the lock that guards the address space guards all of it.
 */
#ifndef GPUVA_RANGES_H
#define GPUVA_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/rbtree.h"
#include "base/status.h"

/* Page protection. The numbers are D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE's. */
#define GPUVA_WRITE     UINT64_C(0x1)
#define GPUVA_EXECUTE   UINT64_C(0x2)
#define GPUVA_ZERO      UINT64_C(0x4)
#define GPUVA_NO_ACCESS UINT64_C(0x8)

/* In a driver protection: every mapping of the same memory has the same one. */
#define GPUVA_UNIQUE (UINT64_C(1) << 63)

/*
 * Memory that can be mapped: embedded by whoever stands for it in ONE address space, and guarded by
 * that space's lock. `page_count` is set by gpuva_owner_init() and read freely.
 */
struct gpuva_owner {
	uint64_t page_count;
	struct list ranges; /* gpuva_range.owner_link */
	uint64_t range_count;
	uint64_t unique_count; /* of them, with a unique driver protection */
};

void gpuva_owner_init(struct gpuva_owner *owner, uint64_t page_count);

/* The first page is nobody's, so that a null pointer faults. No range has it, and no gap. */
enum { GPUVA_FIRST_PAGE = 1 };

enum gpuva_kind {
	GPUVA_KIND_FREE,      /* nobody's; an access faults */
	GPUVA_KIND_NO_ACCESS, /* reserved; an access faults */
	GPUVA_KIND_ZERO,      /* reads zeroes, drops writes */
	GPUVA_KIND_MAPPED,    /* shows memory */
};

/*
 * What a run of pages shows. Page i of the run shows of its owner the page
 *	offset_pages + i				when period_pages is 0
 *	offset_pages + (phase_pages + i) % period_pages	when the same memory repeats
 */
struct gpuva_state {
	enum gpuva_kind kind;
	uint32_t protection;        /* GPUVA_WRITE, GPUVA_EXECUTE; mapped pages only */
	uint64_t driver_protection; /* 0 when free */
	struct gpuva_owner *owner;  /* mapped pages only, and so are the others */
	uint64_t offset_pages;
	uint64_t period_pages;
	uint64_t phase_pages;
};

/* What the pages show that follow the first `pages` of it. */
struct gpuva_state gpuva_state_after(const struct gpuva_state *state, uint64_t pages);
bool gpuva_state_equal(const struct gpuva_state *a, const struct gpuva_state *b);

/* Whether a run of each has some page of the same owner in common. */
bool gpuva_state_shares_memory(const struct gpuva_state *a, uint64_t a_pages,
			       const struct gpuva_state *b, uint64_t b_pages);

/* Where a range came from. */
enum gpuva_origin {
	GPUVA_ORIGIN_MAP,             /* a map request found the addresses itself */
	GPUVA_ORIGIN_KERNEL,          /* the same, and no client asked for it */
	GPUVA_ORIGIN_RESERVE,         /* the client reserved them */
	GPUVA_ORIGIN_DRIVER,          /* the driver reserved them for itself */
	GPUVA_ORIGIN_DRIVER_MAPPABLE, /* the driver reserved them, the client may map there */
};

struct gpuva_range {
	struct rb_node node; /* the set's; its value is the gap right below first_page */

	uint64_t first_page;
	uint64_t page_count;
	struct gpuva_state state; /* of a reservation: what it shows where nothing was mapped */
	uint64_t source;          /* the request that took the addresses; ranges of one may join */
	enum gpuva_origin origin;

	/* The set's own. */
	struct list owner_link;
	struct range_chunk *chunk; /* the pool's */
};

/* How many pages right below it are free. */
static inline uint64_t range_gap(const struct gpuva_range *range)
{
	return range->node.value;
}

static inline uint64_t range_end(const struct gpuva_range *range)
{
	return range->first_page + range->page_count;
}

static inline struct gpuva_range *range_of_owner_link(struct list *link)
{
	return container_of(link, struct gpuva_range, owner_link);
}

struct range_set {
	struct rb_tree tree;
	struct range_pool *pool; /* where what is left over goes */
	bool links_owners;
	bool may_have_unique; /* for the user: some range had a unique driver protection */
	uint64_t range_count;
};

void range_set_init(struct range_set *set, struct range_pool *pool, bool links_owners);

/* All ranges leave their owners' lists and go back to the pool. */
void range_set_finish(struct range_set *set);

/* The range with this page, and the lowest one that ends above it; NULL when there is none. */
struct gpuva_range *range_set_at(const struct range_set *set, uint64_t page);
struct gpuva_range *range_set_from(const struct range_set *set, uint64_t page);
struct gpuva_range *range_next(const struct gpuva_range *range);

/*
 * `range` (first_page, page_count, state, source and origin are set) goes right below `above`, or
 * above all others when that is NULL.
 */
void range_set_insert(struct range_set *set, struct gpuva_range *range, struct gpuva_range *above);
void range_set_remove(struct range_set *set, struct gpuva_range *range);

/*
 * Nothing is left of [first_page, end_page). A range that loses its middle becomes two: the upper
 * one is written into *spare, which then is NULL. Without such a range *spare is not touched.
 */
void range_set_cut(struct range_set *set, uint64_t first_page, uint64_t end_page,
		   struct gpuva_range **spare);

/* `range` and its neighbours become one where the one continues the other. */
void range_set_join(struct range_set *set, struct gpuva_range *range);

/*
 * The lowest gap with `page_count` pages from a multiple of `alignment_pages` (a power of two)
 * within [from_page, end_page). False when there is none. `above_out` is the range above the gap,
 * NULL when it is the last.
 */
MUST_CHECK bool range_set_find_gap(const struct range_set *set, uint64_t from_page,
				   uint64_t end_page, uint64_t page_count, uint64_t alignment_pages,
				   uint64_t *first_page_out, struct gpuva_range **above_out);

/* Recounts everything. NULL when it adds up, else what does not. */
const char *range_set_validate(const struct range_set *set);

#endif
