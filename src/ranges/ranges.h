/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - which ranges of numbers are free.
 *
 * The numbers are units of whatever the owner divides: pages of an address range, of a segment.
 * Pure arithmetic: nothing behind the numbers is touched, and the owner's lock guards it all.
 *
 *	|<------ taken ------>|<- free ->|<-- taken -->|<----------- free ------------>|
 *	 struct range          struct range  …      `lower` and `upper` link them
 *
 * Free stretches hang in lists: by the sixteenth of all units they begin in (their zone), and there
 * by size, 32 lists for each power of two. Two levels of bits say which lists are not empty, so
 * taking and giving cost the same however many ranges there are.
 *
 * A range comes from the lowest zone that has one large enough, and there from the list that fits
 * best. That packs as well as first fit, which keeps the upper end free for what is large; the best
 * fit of the whole would litter it.
 */
#ifndef RANGES_RANGES_H
#define RANGES_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

enum {
	RANGE_ZONE_BITS = 4,
	RANGE_ZONES = 1 << RANGE_ZONE_BITS,
	RANGE_COLUMN_BITS = 5,
	RANGE_COLUMNS = 1 << RANGE_COLUMN_BITS,
	RANGE_ROWS = 64 - RANGE_COLUMN_BITS + 1,
};

struct range {
	/* Read by whoever took it; constant while it is taken. */
	uint64_t first;
	uint64_t count;

	/* Its own; `next` is the taker's while it is taken. */
	struct range *lower;
	struct range *upper;
	struct range *previous; /* in its list; free ones only */
	struct range *next;
	bool is_free;
};

struct range_zone {
	uint64_t rows; /* which rows have a list that is not empty */
	uint32_t columns[RANGE_ROWS];
	struct range *(*lists)[RANGE_COLUMNS]; /* one array for each row there can be */
};

struct ranges {
	uint64_t unit_count;
	uint64_t taken_units;
	uint64_t taken_ranges;
	struct range *lowest;

	unsigned zone_shift; /* units of a zone, as a power of two */
	unsigned zone_count;
	unsigned row_count;
	struct range *(*lists)[RANGE_COLUMNS]; /* of all zones */
	struct range_zone zones[RANGE_ZONES];
};

/* All of it free. `unit_count` is not 0. */
MUST_CHECK NTSTATUS ranges_init(struct ranges *ranges, uint64_t unit_count);

/* Ranges that are still taken go with it. Accepts a zeroed struct. */
void ranges_finish(struct ranges *ranges);

/*
 * `count` units (not 0) whose first is a multiple of `alignment` (a power of two).
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY when there is no such stretch, STATUS_NO_MEMORY when there is no
 * memory to write it down; nothing changed then.
 */
MUST_CHECK NTSTATUS ranges_take(struct ranges *ranges, uint64_t count, uint64_t alignment,
				struct range **range_out);

/* The same, as near to the end as the highest zone with room allows. */
MUST_CHECK NTSTATUS ranges_take_from_end(struct ranges *ranges, uint64_t count, uint64_t alignment,
					 struct range **range_out);

/*
 * The same, inside [first, end) only: a bank. Lowest first. Looks at the free stretches of those
 * zones one by one.
 */
MUST_CHECK NTSTATUS ranges_take_within(struct ranges *ranges, uint64_t count, uint64_t alignment,
				       uint64_t first, uint64_t end, struct range **range_out);
/* The same, highest first. */
MUST_CHECK NTSTATUS ranges_take_from_end_within(struct ranges *ranges, uint64_t count,
						uint64_t alignment, uint64_t first, uint64_t end,
						struct range **range_out);

/*
 * As much as one of the largest stretches has, at most `count`: a piece of something scattered.
 * Its first and its count are multiples of `granule` (a power of two); `count` is one, too.
 */
MUST_CHECK NTSTATUS ranges_take_piece(struct ranges *ranges, uint64_t count, uint64_t granule,
				      bool is_from_end, struct range **range_out);

/* A taken range becomes two: it keeps the first `count` units, and the rest is another. */
MUST_CHECK NTSTATUS ranges_split(struct ranges *ranges, struct range *range, uint64_t count,
				 struct range **rest_out);

/* Free again, joined with its free neighbours. Never fails. */
void ranges_give(struct ranges *ranges, struct range *range);

static inline uint64_t ranges_free_units(const struct ranges *ranges)
{
	return ranges->unit_count - ranges->taken_units;
}

/* Units of the largest free stretch; 0 when there is none. */
uint64_t ranges_largest_free(const struct ranges *ranges);

/* Recounts everything. NULL when it adds up, else what does not. */
const char *ranges_validate(const struct ranges *ranges);

#endif
