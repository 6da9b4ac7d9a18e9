/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/kept_ranges.h"

static void range_remove(struct kept_ranges *kept, uint32_t index)
{
	kept->pages -= kept->ranges[index].count;
	kept->count--;
	memmove(&kept->ranges[index], &kept->ranges[index + 1],
		(kept->count - index) * sizeof(kept->ranges[0]));
}

/* Neighbours of the newest, which come and go together mostly, become one with it. */
static bool range_join(struct kept_ranges *kept, struct page_range range)
{
	struct page_range *newest = kept->count > 0 ? &kept->ranges[kept->count - 1] : NULL;

	if (newest && newest->first + newest->count == range.first)
		newest->count += range.count;
	else if (newest && range.first + range.count == newest->first)
		*newest = (struct page_range){ range.first, range.count + newest->count };
	else
		return false;
	return true;
}

bool kept_ranges_add(struct kept_ranges *kept, struct page_range range)
{
	if (range.count == 0 || range.count > KEPT_PAGES_MAX - kept->pages)
		return false;
	if (!range_join(kept, range)) {
		if (kept->count == KEPT_RANGES_MAX)
			return false;
		kept->ranges[kept->count++] = range;
	}
	kept->pages += range.count;
	return true;
}

bool kept_ranges_overflow(struct kept_ranges *kept, uint64_t page_count,
			  struct page_range *range_out)
{
	if (page_count > KEPT_PAGES_MAX || kept->count == 0 ||
	    (kept->pages + page_count <= KEPT_PAGES_MAX && kept->count < KEPT_RANGES_MAX))
		return false;
	uint64_t excess = kept->pages + page_count > KEPT_PAGES_MAX
				  ? kept->pages + page_count - KEPT_PAGES_MAX
				  : UINT64_MAX; /* too many ranges */
	struct page_range *oldest = &kept->ranges[0];

	*range_out = *oldest;
	if (oldest->count <= excess) {
		range_remove(kept, 0);
		return true;
	}
	range_out->count = excess;
	oldest->first += excess;
	oldest->count -= excess;
	kept->pages -= excess;
	return true;
}

/* What is left in front of `taken` and behind it; the longer one first, in case only one fits. */
static void range_cut(struct kept_ranges *kept, uint32_t index, struct page_range taken)
{
	const struct page_range old = kept->ranges[index];
	uint64_t taken_end = taken.first + taken.count;
	uint64_t old_end = old.first + old.count;
	struct page_range front = { old.first, 0 };
	struct page_range back = { taken_end, 0 };

	if (taken.first > old.first)
		front.count = taken.first - old.first;
	if (taken_end < old_end)
		back.count = old_end - taken_end;
	range_remove(kept, index);
	if (front.count < back.count) {
		struct page_range longer = back;

		back = front;
		front = longer;
	}
	(void)kept_ranges_add(kept, front);
	(void)kept_ranges_add(kept, back);
}

void kept_ranges_cut(struct kept_ranges *kept, struct page_range taken)
{
	for (uint32_t i = 0; i < kept->count;) {
		const struct page_range *range = &kept->ranges[i];

		if (taken.first < range->first + range->count &&
		    range->first < taken.first + taken.count)
			range_cut(kept, i, taken); /* what is left of it is at the end now */
		else
			i++;
	}
}

bool kept_ranges_find(const struct kept_ranges *kept, uint64_t count, uint64_t end,
		      struct page_range *range_out)
{
	for (uint32_t i = kept->count; i-- > 0;) {
		struct page_range range = kept->ranges[i];

		if (range.first >= end)
			continue;
		if (range.count > end - range.first)
			range.count = end - range.first;
		if (range.count > count)
			range.count = count;
		*range_out = range;
		return true;
	}
	return false;
}
