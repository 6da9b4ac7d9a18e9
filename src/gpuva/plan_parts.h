/* SPDX-License-Identifier: MIT */
/*
 * plan_parts.h - what plan.c and update.c have in common. For them alone.
 */
#ifndef GPUVA_PLAN_PARTS_H
#define GPUVA_PLAN_PARTS_H

#include "base/checked.h"
#include "base/refusal.h"
#include "gpuva/plan.h"

/* Who is refused: the call itself, or one element of its Operations. */
enum { NO_INDEX = -1 };

/* STATUS_INVALID_PARAMETER. */
NTSTATUS plan_refuse(int64_t index, enum rule rule, const char *argument, const char *format, ...)
	PRINTF_LIKE(4, 5);
NTSTATUS plan_refuse_memory(void);

struct page_range {
	uint64_t first_page;
	uint64_t page_count;
};

static inline uint64_t page_range_end(const struct page_range *range)
{
	return range->first_page + range->page_count;
}

/*
 * Checks of what a client said. The answer is nearly always yes, and given in line; whoever says no
 * has time to find out why.
 */

NTSTATUS plan_refuse_size(const struct gpuva_space *space, int64_t index, const char *argument,
			  uint64_t size_bytes, uint64_t unit_bytes);
NTSTATUS plan_refuse_base(const struct gpuva_space *space, int64_t index, const char *argument,
			  uint64_t base, uint64_t unit_bytes, uint64_t page_count);
NTSTATUS plan_refuse_memory_range(int64_t index, const struct gpuva_owner *owner,
				  const char *offset_argument, uint64_t offset_pages,
				  uint64_t page_count);

/* Sizes and addresses in bytes: multiples of `unit_bytes`, not empty, within the space. */
MUST_CHECK static inline NTSTATUS plan_check_size(const struct gpuva_space *space, int64_t index,
						  const char *argument, uint64_t size_bytes,
						  uint64_t unit_bytes, uint64_t *pages_out)
{
	*pages_out = size_bytes >> GPUVA_PAGE_SHIFT;
	if (LIKELY(is_aligned(size_bytes, unit_bytes) && *pages_out != 0 &&
		   *pages_out <= space->page_count))
		return STATUS_SUCCESS;
	return plan_refuse_size(space, index, argument, size_bytes, unit_bytes);
}

MUST_CHECK static inline NTSTATUS plan_check_base(const struct gpuva_space *space, int64_t index,
						  const char *argument, uint64_t base,
						  uint64_t unit_bytes, uint64_t page_count,
						  uint64_t *first_page_out)
{
	uint64_t first_page = base >> GPUVA_PAGE_SHIFT;

	*first_page_out = first_page;
	if (LIKELY(is_aligned(base, unit_bytes) && first_page >= GPUVA_FIRST_PAGE &&
		   first_page < space->page_count && page_count <= space->page_count - first_page))
		return STATUS_SUCCESS;
	return plan_refuse_base(space, index, argument, base, unit_bytes, page_count);
}

/* That the pages [offset, offset + count) are the owner's. */
MUST_CHECK static inline NTSTATUS plan_check_memory(int64_t index, const struct gpuva_owner *owner,
						    const char *offset_argument,
						    uint64_t offset_pages, uint64_t page_count)
{
	if (LIKELY(offset_pages <= owner->page_count &&
		   page_count <= owner->page_count - offset_pages))
		return STATUS_SUCCESS;
	return plan_refuse_memory_range(index, owner, offset_argument, offset_pages, page_count);
}

/*
 * That a run of `state` agrees with all other mappings of the same memory about a unique driver
 * protection. `written` (may be NULL) lies over the space: pages that an earlier operation changed.
 */
MUST_CHECK NTSTATUS plan_compare_unique(int64_t index, const struct gpuva_state *state,
					uint64_t page_count, const struct range_set *written);

MUST_CHECK static inline NTSTATUS plan_check_unique(int64_t index, const struct gpuva_state *state,
						    uint64_t page_count,
						    const struct range_set *written)
{
	if (!state->owner)
		return STATUS_SUCCESS;
	if (LIKELY((state->driver_protection & GPUVA_UNIQUE) == 0 &&
		   state->owner->unique_count == 0 && !written))
		return STATUS_SUCCESS;
	return plan_compare_unique(index, state, page_count, written);
}

/* Ranges that are in no set can hang together by a field of the set. */
static inline void range_push_stock(struct gpuva_range **stock, struct gpuva_range *range)
{
	range->node.right = *stock ? &(*stock)->node : NULL;
	*stock = range;
}

static inline struct gpuva_range *range_after_in_stock(const struct gpuva_range *range)
{
	return range->node.right ? container_of(range->node.right, struct gpuva_range, node) : NULL;
}

/* An empty plan for the space as it is; and back to nothing, with `status`. */
void plan_begin(struct gpuva_plan *plan, struct gpuva_space *space);
void plan_set_reservation(struct gpuva_plan *plan, struct gpuva_range *area);
NTSTATUS plan_abandon(struct gpuva_plan *plan, NTSTATUS status);

#endif
