/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/checked.h"
#include "base/machine.h"
#include "vidmm/segment.h"

#define GRANULE_64K_PAGES (UINT64_C(0x10000) / MACHINE_PAGE_BYTES)

NTSTATUS segment_init(struct vidmm_segment *segment, uint32_t id,
		      const struct vidmm_segment_config *config, const struct evict_policy *policy)
{
	*segment = (struct vidmm_segment){
		.id = id,
		.config = *config,
		.page_count = config->size_bytes / MACHINE_PAGE_BYTES,
		.granule_pages = config->uses_64k_pages ? GRANULE_64K_PAGES : 1,
		.is_system = config->is_aperture || config->is_implicit_system,
		.is_visible_memory = config->is_cpu_visible &&
				     machine_is_memory(config->cpu_address, config->size_bytes),
	};
	atomic_init(&segment->memory_address,
		    segment->is_visible_memory ? config->cpu_address : MACHINE_NOWHERE);
	list_init(&segment->held);
	list_init(&segment->parting);
	NTSTATUS status = evict_set_init(&segment->candidates, policy);
	if (!NT_SUCCESS(status) || config->is_implicit_system)
		return status;
	status = ranges_init(&segment->ranges, segment->page_count);
	if (NT_SUCCESS(status) && config->window_pages > 0)
		status = ranges_init(&segment->windows, config->window_pages);
	if (!NT_SUCCESS(status)) {
		ranges_finish(&segment->ranges);
		evict_set_finish(&segment->candidates);
	}
	return status;
}

void segment_finish(struct vidmm_segment *segment)
{
	evict_set_finish(&segment->candidates);
	ranges_finish(&segment->ranges);
	ranges_finish(&segment->windows);
}

static uint64_t wish_pages(const struct vidmm_segment *segment, const struct segment_wish *wish)
{
	uint64_t pages = wish->size_bytes / MACHINE_PAGE_BYTES;

	return align_down(pages + segment->granule_pages - 1, segment->granule_pages);
}

static uint64_t wish_alignment_pages(const struct vidmm_segment *segment,
				     const struct segment_wish *wish)
{
	uint64_t pages = wish->alignment_bytes / MACHINE_PAGE_BYTES;

	return pages > segment->granule_pages ? pages : segment->granule_pages;
}

static bool is_system_form(enum segment_form form)
{
	return form == FORM_MAPPED || form == FORM_SYSTEM;
}

uint64_t segment_bytes(const struct vidmm_segment *segment, const struct segment_wish *wish)
{
	if (wish->form == FORM_SYSTEM)
		return wish->size_bytes;
	return wish_pages(segment, wish) * MACHINE_PAGE_BYTES;
}

bool segment_could_hold(const struct vidmm_segment *segment, const struct segment_wish *wish)
{
	if (is_system_form(wish->form) && wish->size_bytes > segment->config.commit_limit_bytes)
		return false;
	return wish->form == FORM_SYSTEM || wish_pages(segment, wish) <= segment->page_count;
}

static uint64_t free_to_commit(const struct vidmm_segment *segment)
{
	return segment->config.commit_limit_bytes - segment->committed_bytes;
}

uint64_t segment_free_bytes(const struct vidmm_segment *segment, enum segment_form form)
{
	if (form == FORM_SYSTEM)
		return free_to_commit(segment);
	uint64_t free_bytes = ranges_free_units(&segment->ranges) * MACHINE_PAGE_BYTES;
	if (form == FORM_MAPPED && free_to_commit(segment) < free_bytes)
		free_bytes = free_to_commit(segment);
	return free_bytes;
}

static uint64_t bank_end_page(const struct vidmm_segment *segment, uint32_t index)
{
	/* The last end is implicit. */
	if (index + 1 >= segment->config.bank_count)
		return segment->page_count;
	return segment->config.bank_ends[index] / MACHINE_PAGE_BYTES;
}

static NTSTATUS take_in_bank(struct vidmm_segment *segment, const struct segment_wish *wish,
			     struct range **range_out)
{
	uint32_t index = wish->bank - 1;

	if (wish->bank == 0 || index >= segment->config.bank_count)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	return ranges_take_within(&segment->ranges, wish_pages(segment, wish),
				  wish_alignment_pages(segment, wish),
				  index > 0 ? bank_end_page(segment, index - 1) : 0,
				  bank_end_page(segment, index), range_out);
}

static NTSTATUS take_at(struct vidmm_segment *segment, const struct segment_wish *wish,
			uint64_t alignment_pages, struct range **range_out)
{
	if (wish->is_from_end)
		return ranges_take_from_end(&segment->ranges, wish_pages(segment, wish),
					    alignment_pages, range_out);
	return ranges_take(&segment->ranges, wish_pages(segment, wish), alignment_pages, range_out);
}

/* Where the largest pages can show it, if there is room. */
static NTSTATUS take_for_large_pages(struct vidmm_segment *segment, const struct segment_wish *wish,
				     struct range **range_out)
{
	NTSTATUS status = STATUS_GRAPHICS_NO_VIDEO_MEMORY;

	for (unsigned i = VIDMM_LARGE_PAGES; i-- > 0;) {
		uint64_t large_pages = segment->config.large_pages[i];

		/* Others need stretches, too: no gaps are left for its sake. */
		if (large_pages <= wish_alignment_pages(segment, wish) ||
		    !is_aligned(wish_pages(segment, wish), large_pages))
			continue;
		status = take_at(segment, wish, large_pages, range_out);
		if (status != STATUS_GRAPHICS_NO_VIDEO_MEMORY)
			break;
	}
	return status;
}

static struct page_set one_run(struct range *range)
{
	range->next = NULL;
	return (struct page_set){
		.one = { (uint32_t)range->first, (uint32_t)range->count },
		.run_count = 1,
		.ranges = range,
	};
}

static NTSTATUS take_contiguous(struct vidmm_segment *segment, const struct segment_wish *wish,
				struct page_set *pages)
{
	struct range *range = NULL;
	NTSTATUS status = take_in_bank(segment, wish, &range);

	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		status = take_for_large_pages(segment, wish, &range);
	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		status = take_at(segment, wish, wish_alignment_pages(segment, wish), &range);
	if (!NT_SUCCESS(status))
		return status;
	*pages = one_run(range);
	return STATUS_SUCCESS;
}

NTSTATUS segment_take(struct vidmm_segment *segment, const struct segment_wish *wish,
		      struct page_set *pages)
{
	NTSTATUS status = STATUS_SUCCESS;

	assert(pages->run_count == 0);
	if (is_system_form(wish->form) && wish->size_bytes > free_to_commit(segment))
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	if (wish->form == FORM_SCATTERED)
		status = page_pool_take(
			&segment->ranges, wish_pages(segment, wish), segment->granule_pages,
			segment->config.large_pages,
			wish->is_from_end ? PAGE_POOL_FROM_END : PAGE_POOL_FROM_START, pages);
	else if (wish->form != FORM_SYSTEM)
		status = take_contiguous(segment, wish, pages);
	if (!NT_SUCCESS(status))
		return status;
	if (is_system_form(wish->form))
		segment->committed_bytes += wish->size_bytes;
	segment->resident_bytes += segment_bytes(segment, wish);
	return STATUS_SUCCESS;
}

/* How many bytes of its pages are left to it; runs that others took over are not. */
static uint64_t pages_left_bytes(const struct segment_wish *wish, const struct page_set *pages)
{
	const struct page_run *runs = page_set_runs(pages);
	uint64_t bytes = 0;

	if (wish->form == FORM_SYSTEM)
		return wish->size_bytes;
	for (uint32_t i = 0; i < pages->run_count; i++)
		bytes += runs[i].count * MACHINE_PAGE_BYTES;
	return bytes;
}

void segment_give(struct vidmm_segment *segment, const struct segment_wish *wish,
		  struct page_set *pages)
{
	segment->resident_bytes -= pages_left_bytes(wish, pages);
	if (wish->form != FORM_SYSTEM)
		page_pool_give(&segment->ranges, pages);
	if (is_system_form(wish->form))
		segment->committed_bytes -= wish->size_bytes;
}

NTSTATUS segment_take_over(struct vidmm_segment *segment, const struct segment_wish *wish,
			   struct page_set *from, struct page_set *pages)
{
	uint64_t count = wish_pages(segment, wish);
	struct range *range = from->ranges;
	struct range *rest = NULL;
	NTSTATUS status = STATUS_SUCCESS;

	assert(pages->run_count == 0 && !segment->is_system);
	if (from->run_count != 1 || range->count < count ||
	    !is_aligned(range->first, wish_alignment_pages(segment, wish)))
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	if (range->count > count)
		status = ranges_split(&segment->ranges, range, count, &rest);
	if (!NT_SUCCESS(status))
		return status;
	*pages = one_run(range);
	*from = rest ? one_run(rest) : (struct page_set){ .run_count = 0 };
	return STATUS_SUCCESS;
}

/* ---- for what is there already ---- */

/* The alignment that it needs elsewhere so that large pages which show it now can show it there. */
static uint64_t alignment_again(const struct vidmm_segment *segment,
				const struct segment_wish *wish, const struct page_set *pages_now)
{
	uint64_t alignment = wish_alignment_pages(segment, wish);
	uint64_t first = page_set_runs(pages_now)[0].first_page;

	for (unsigned i = 0; i < VIDMM_LARGE_PAGES && pages_now->run_count == 1; i++) {
		uint64_t large_pages = segment->config.large_pages[i];

		if (large_pages > alignment && large_pages <= wish_pages(segment, wish) &&
		    is_aligned(first, large_pages))
			alignment = large_pages;
	}
	return alignment;
}

NTSTATUS segment_take_again(struct vidmm_segment *segment, const struct segment_wish *wish,
			    const struct page_set *pages_now, const struct segment_stretch *where,
			    struct page_set *pages)
{
	uint64_t alignment = alignment_again(segment, wish, pages_now);
	struct range *range = NULL;
	NTSTATUS status;

	assert(pages->run_count == 0 && !segment->is_system);
	if (where->is_from_end)
		status = ranges_take_from_end_within(&segment->ranges, wish_pages(segment, wish),
						     alignment, where->first, where->end, &range);
	else
		status = ranges_take_within(&segment->ranges, wish_pages(segment, wish), alignment,
					    where->first, where->end, &range);
	if (!NT_SUCCESS(status))
		return status;
	*pages = one_run(range);
	segment->resident_bytes += segment_bytes(segment, wish);
	return STATUS_SUCCESS;
}

uint64_t segment_first_in(const struct vidmm_segment *segment, const struct segment_wish *wish,
			  const struct page_set *pages_now, const struct segment_stretch *where)
{
	uint64_t alignment = alignment_again(segment, wish, pages_now);

	return where->is_from_end ? align_down(where->end - wish_pages(segment, wish), alignment)
				  : align_down(where->first + alignment - 1, alignment);
}

struct segment_stretch segment_bank_of(const struct vidmm_segment *segment,
				       const struct segment_wish *wish,
				       const struct page_set *pages_now)
{
	const struct page_run *run = page_set_runs(pages_now);
	struct segment_stretch bank = { .end = segment->page_count };
	uint32_t index = wish->bank - 1;

	if (wish->bank == 0 || index >= segment->config.bank_count)
		return bank;
	bank.first = index > 0 ? bank_end_page(segment, index - 1) : 0;
	bank.end = bank_end_page(segment, index);
	if (run->first_page < bank.first || run->first_page + run->count > bank.end)
		return (struct segment_stretch){ .end = segment->page_count };
	return bank;
}
