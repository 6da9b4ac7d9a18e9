/*
 * page_pool.c - see page_pool.h.
 */
#include <assert.h>

#include "base/checked.h"
#include "base/mem.h"
#include "vidmm/page_pool.h"

static NTSTATUS take_whole(struct space *space, uint64_t page_count, uint64_t granule_pages,
			   enum page_pool_direction direction, struct space_range **range_out)
{
	if (direction == PAGE_POOL_FROM_END)
		return space_take_from_end(space, page_count, granule_pages, range_out);
	return space_take(space, page_count, granule_pages, range_out);
}

static void give_ranges(struct space *space, struct space_range *ranges)
{
	for (struct space_range *next; ranges; ranges = next) {
		next = ranges->next;
		space_give(space, ranges);
	}
}

/* The largest first; the last one is what fits. */
static NTSTATUS take_pieces(struct space *space, uint64_t page_count, uint64_t granule_pages,
			    enum page_pool_direction direction, struct page_set *set)
{
	while (page_count > 0) {
		struct space_range *range = NULL;
		NTSTATUS status = take_whole(space, page_count, granule_pages, direction, &range);

		if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
			status = space_take_piece(space, page_count, granule_pages,
						  direction == PAGE_POOL_FROM_END, &range);
		if (!NT_SUCCESS(status))
			return status;
		range->next = set->ranges;
		set->ranges = range;
		set->run_count++;
		page_count -= range->count;
	}
	return STATUS_SUCCESS;
}

static struct page_run run_of(const struct space_range *range)
{
	return (struct page_run){ (uint32_t)range->first, (uint32_t)range->count };
}

static NTSTATUS write_runs(struct page_set *set)
{
	const struct space_range *range = set->ranges;

	if (set->run_count == 1) {
		set->one = run_of(range);
		return STATUS_SUCCESS;
	}
	set->many = mem_zalloc_array(set->run_count, sizeof(*set->many));
	if (!set->many)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < set->run_count; i++, range = range->next)
		set->many[i] = run_of(range);
	return STATUS_SUCCESS;
}

NTSTATUS page_pool_take(struct space *space, uint64_t page_count, uint64_t granule_pages,
			enum page_pool_direction direction, struct page_set *set)
{
	struct page_set taken = { .run_count = 0 };
	NTSTATUS status;

	assert(set->run_count == 0 && space->unit_count <= UINT32_MAX);
	assert(page_count > 0 && is_aligned(page_count, granule_pages));
	if (page_count > space_free_units(space))
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	status = take_pieces(space, page_count, granule_pages, direction, &taken);
	if (NT_SUCCESS(status))
		status = write_runs(&taken);
	if (!NT_SUCCESS(status)) {
		give_ranges(space, taken.ranges);
		return status;
	}
	*set = taken;
	return STATUS_SUCCESS;
}

void page_pool_give(struct space *space, struct page_set *set)
{
	give_ranges(space, set->ranges);
	if (set->run_count > 1)
		mem_free(set->many);
	*set = (struct page_set){ .run_count = 0 };
}
