/*
 * space.h - which stretches of a range of numbers are free.
 *
 * The numbers are units of whatever the owner divides: pages of an address range, of a segment.
 * Pure arithmetic: nothing behind the numbers is touched, and the owner's lock guards it all.
 *
 *	|<------ taken ------>|<- free ->|<-- taken -->|<----------- free ------------>|
 *	 space_range           space_range              …      `lower` and `upper` link them in
 *order
 *
 * Free stretches hang in lists by size: 16 lists for each power of two, and two levels of bits say
 * which lists are not empty, so taking and giving cost the same however many ranges there are.
 */
#ifndef VIDMM_SPACE_H
#define VIDMM_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

enum {
	SPACE_COLUMN_BITS = 4,
	SPACE_COLUMNS = 1 << SPACE_COLUMN_BITS,
	SPACE_ROWS = 64 - SPACE_COLUMN_BITS + 1,
};

struct space_range {
	/* Read by whoever took it; constant while it is taken. */
	uint64_t first;
	uint64_t count;

	/* The space's own. */
	struct space_range *lower;
	struct space_range *upper;
	struct space_range *previous; /* in its list; free ones only */
	struct space_range *next;
	bool is_free;
};

struct space {
	uint64_t unit_count;
	uint64_t taken_units;
	uint64_t taken_ranges;
	struct space_range *lowest;

	uint64_t rows; /* which rows have a list that is not empty */
	uint16_t columns[SPACE_ROWS];
	struct space_range *lists[SPACE_ROWS][SPACE_COLUMNS];
};

/* All of it free. `unit_count` is not 0. */
MUST_CHECK NTSTATUS space_init(struct space *space, uint64_t unit_count);

/* Ranges that are still taken go with it. Accepts a zeroed struct. */
void space_finish(struct space *space);

/*
 * `count` units (not 0) whose first is a multiple of `alignment` (a power of two). A stretch that
 * fits well, not the best. STATUS_GRAPHICS_NO_VIDEO_MEMORY when there is none, STATUS_NO_MEMORY
 * when there is no memory to write it down; nothing changed then.
 */
MUST_CHECK NTSTATUS space_take(struct space *space, uint64_t count, uint64_t alignment,
			       struct space_range **range_out);

/* Free again, joined with its free neighbours. Never fails. */
void space_give(struct space *space, struct space_range *range);

/* Recounts everything. NULL when it adds up, else what does not. */
const char *space_validate(const struct space *space);

#endif
