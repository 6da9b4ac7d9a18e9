/* SPDX-License-Identifier: MIT */
/*
 * space.h - which stretches of a range of numbers are free.
 *
 * The numbers are units of whatever the owner divides: pages of an address range, of a segment.
 * Pure arithmetic: nothing behind the numbers is touched, and the owner's lock guards it all.
 *
 *	|<------ taken ------>|<- free ->|<-- taken -->|<----------- free ------------>|
 *	 space_range           space_range              …      `lower` and `upper` link them
 *
 * Free stretches hang in lists: by the sixteenth of the space they begin in (their zone), and there
 * by size, 32 lists for each power of two. Two levels of bits say which lists are not empty, so
 * taking and giving cost the same however many ranges there are.
 *
 * A range comes from the lowest zone that has one large enough, and there from the list that fits
 * best. That packs as well as first fit, which keeps the upper end free for what is large; the best
 * fit of the whole space would litter it.
 */
#ifndef VIDMM_SPACE_H
#define VIDMM_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

enum {
	SPACE_ZONE_BITS = 4,
	SPACE_ZONES = 1 << SPACE_ZONE_BITS,
	SPACE_COLUMN_BITS = 5,
	SPACE_COLUMNS = 1 << SPACE_COLUMN_BITS,
	SPACE_ROWS = 64 - SPACE_COLUMN_BITS + 1,
};

struct space_range {
	/* Read by whoever took it; constant while it is taken. */
	uint64_t first;
	uint64_t count;

	/* The space's own; `next` is the taker's while it is taken. */
	struct space_range *lower;
	struct space_range *upper;
	struct space_range *previous; /* in its list; free ones only */
	struct space_range *next;
	bool is_free;
};

struct space_zone {
	uint64_t rows; /* which rows have a list that is not empty */
	uint32_t columns[SPACE_ROWS];
	struct space_range *(*lists)[SPACE_COLUMNS]; /* one array for each row there can be */
};

struct space {
	uint64_t unit_count;
	uint64_t taken_units;
	uint64_t taken_ranges;
	struct space_range *lowest;

	unsigned zone_shift; /* units of a zone, as a power of two */
	unsigned zone_count;
	unsigned row_count;
	struct space_range *(*lists)[SPACE_COLUMNS]; /* of all zones */
	struct space_zone zones[SPACE_ZONES];
};

/* All of it free. `unit_count` is not 0. */
MUST_CHECK NTSTATUS space_init(struct space *space, uint64_t unit_count);

/* Ranges that are still taken go with it. Accepts a zeroed struct. */
void space_finish(struct space *space);

/*
 * `count` units (not 0) whose first is a multiple of `alignment` (a power of two).
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY when there is no such stretch, STATUS_NO_MEMORY when there is no
 * memory to write it down; nothing changed then.
 */
MUST_CHECK NTSTATUS space_take(struct space *space, uint64_t count, uint64_t alignment,
			       struct space_range **range_out);

/* The same, as near to the end as the highest zone with room allows. */
MUST_CHECK NTSTATUS space_take_from_end(struct space *space, uint64_t count, uint64_t alignment,
					struct space_range **range_out);

/*
 * The same, inside [first, end) only: a bank. Lowest first. Looks at the free stretches of those
 * zones one by one.
 */
MUST_CHECK NTSTATUS space_take_within(struct space *space, uint64_t count, uint64_t alignment,
				      uint64_t first, uint64_t end, struct space_range **range_out);
/* The same, highest first. */
MUST_CHECK NTSTATUS space_take_from_end_within(struct space *space, uint64_t count,
					       uint64_t alignment, uint64_t first, uint64_t end,
					       struct space_range **range_out);

/*
 * As much as one of the largest stretches has, at most `count`: a piece of something scattered.
 * Its first and its count are multiples of `granule` (a power of two); `count` is one, too.
 */
MUST_CHECK NTSTATUS space_take_piece(struct space *space, uint64_t count, uint64_t granule,
				     bool is_from_end, struct space_range **range_out);

/* A taken range becomes two: it keeps the first `count` units, and the rest is another. */
MUST_CHECK NTSTATUS space_split(struct space *space, struct space_range *range, uint64_t count,
				struct space_range **rest_out);

/* Free again, joined with its free neighbours. Never fails. */
void space_give(struct space *space, struct space_range *range);

static inline uint64_t space_free_units(const struct space *space)
{
	return space->unit_count - space->taken_units;
}

/* Units of the largest free stretch; 0 when there is none. */
uint64_t space_largest_free(const struct space *space);

/* Recounts everything. NULL when it adds up, else what does not. */
const char *space_validate(const struct space *space);

#endif
