/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/checked.h"
#include "base/mem.h"
#include "ranges/page_pool.h"

/* What is taken, and how. */
struct taking {
	struct ranges *from;
	uint64_t granule_pages;
	const uint64_t *large_pages; /* ascending, 0 behind the last; NULL: there are none */
	enum page_pool_direction direction;
};

typedef NTSTATUS take_aligned(const struct taking *taking, uint64_t page_count, uint64_t alignment,
			      struct range **range_out);

static NTSTATUS take_whole(const struct taking *taking, uint64_t page_count, uint64_t alignment,
			   struct range **range_out)
{
	if (taking->direction == PAGE_POOL_FROM_END)
		return ranges_take_from_end(taking->from, page_count, alignment, range_out);
	return ranges_take(taking->from, page_count, alignment, range_out);
}

static NTSTATUS take_piece(const struct taking *taking, uint64_t page_count, uint64_t alignment,
			   struct range **range_out)
{
	return ranges_take_piece(taking->from, align_down(page_count, alignment), alignment,
				 taking->direction == PAGE_POOL_FROM_END, range_out);
}

/* So that it begins with the largest page it can have, if there is room for that. */
static NTSTATUS take_large(const struct taking *taking, take_aligned *take, uint64_t page_count,
			   struct range **range_out)
{
	NTSTATUS status = STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	unsigned count = 0;

	while (taking->large_pages && taking->large_pages[count] != 0)
		count++;
	while (count-- > 0 && status == STATUS_GRAPHICS_NO_VIDEO_MEMORY) {
		uint64_t alignment = taking->large_pages[count];

		if (alignment <= page_count && alignment > taking->granule_pages)
			status = take(taking, page_count, alignment, range_out);
	}
	return status;
}

static NTSTATUS take_next(const struct taking *taking, uint64_t page_count,
			  struct range **range_out)
{
	NTSTATUS status = take_large(taking, take_whole, page_count, range_out);

	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		status = take_whole(taking, page_count, taking->granule_pages, range_out);
	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		status = take_large(taking, take_piece, page_count, range_out);
	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		status = take_piece(taking, page_count, taking->granule_pages, range_out);
	return status;
}

static void give_ranges(struct ranges *from, struct range *ranges)
{
	for (struct range *next; ranges; ranges = next) {
		next = ranges->next;
		ranges_give(from, ranges);
	}
}

/*
 * The largest first; the last one is what fits. In this order: behind pieces of large pages the
 * next one begins with a large page, too.
 */
static NTSTATUS take_pieces(const struct taking *taking, uint64_t page_count, struct page_set *set)
{
	struct range **next = &set->ranges;

	while (page_count > 0) {
		struct range *range = NULL;
		NTSTATUS status = take_next(taking, page_count, &range);

		if (!NT_SUCCESS(status))
			return status;
		range->next = NULL;
		*next = range;
		next = &range->next;
		set->run_count++;
		page_count -= range->count;
	}
	return STATUS_SUCCESS;
}

static struct page_run run_of(const struct range *range)
{
	return (struct page_run){ (uint32_t)range->first, (uint32_t)range->count };
}

static NTSTATUS write_runs(struct page_set *set)
{
	const struct range *range = set->ranges;

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

NTSTATUS page_pool_take(struct ranges *from, uint64_t page_count, uint64_t granule_pages,
			const uint64_t *large_pages, enum page_pool_direction direction,
			struct page_set *set)
{
	const struct taking taking = { from, granule_pages, large_pages, direction };
	struct page_set taken = { .run_count = 0 };

	assert(set->run_count == 0 && from->unit_count <= UINT32_MAX);
	assert(page_count > 0 && is_aligned(page_count, granule_pages));
	if (page_count > ranges_free_units(from))
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	NTSTATUS status = take_pieces(&taking, page_count, &taken);
	if (NT_SUCCESS(status))
		status = write_runs(&taken);
	if (!NT_SUCCESS(status)) {
		give_ranges(from, taken.ranges);
		return status;
	}
	*set = taken;
	return STATUS_SUCCESS;
}

void page_pool_give(struct ranges *from, struct page_set *set)
{
	give_ranges(from, set->ranges);
	if (set->run_count > 1)
		mem_free(set->many);
	*set = (struct page_set){ .run_count = 0 };
}
