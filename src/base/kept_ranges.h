/* SPDX-License-Identifier: MIT */
/*
 * kept_ranges.h - free pages whose bytes the host still has, to be used again before others. Pure.
 *
 * Taking fresh pages from the host and giving them back costs more than copying as many bytes, so
 * what moves in and out all the time keeps a bounded number of them. Newest first out.
 */
#ifndef BASE_KEPT_RANGES_H
#define BASE_KEPT_RANGES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	KEPT_RANGES_MAX = 16,
	KEPT_PAGES_MAX = 128 << (20 - 12), /* 128 MiB */
};

struct page_range {
	uint64_t first;
	uint64_t count;
};

/* Oldest first, disjoint. Zeroed is empty. */
struct kept_ranges {
	struct page_range ranges[KEPT_RANGES_MAX];
	uint32_t count;
	uint64_t pages; /* in all of them */
};

/* False when it is too large to be kept. Room has to be made first. */
bool kept_ranges_add(struct kept_ranges *kept, struct page_range range);

/* The oldest one, or what has to go of it, taken off as long as `page_count` more would be too many. */
bool kept_ranges_overflow(struct kept_ranges *kept, uint64_t page_count,
			  struct page_range *range_out);

/* These pages are not free any more. Of a range that is cut in two one half may be forgotten. */
void kept_ranges_cut(struct kept_ranges *kept, struct page_range taken);

/* At most `count` pages of the newest that has some in [0, end); they stay until they are cut. */
bool kept_ranges_find(const struct kept_ranges *kept, uint64_t count, uint64_t end,
		      struct page_range *range_out);

#endif
