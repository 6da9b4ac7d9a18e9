/*
 * space.c - see space.h.
 */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/mem.h"
#include "vidmm/space.h"

/* A list holds the free stretches from its size up to the next list's. */
struct list_index {
	unsigned row;
	unsigned column;
};

static struct list_index index_of(uint64_t count)
{
	unsigned log2 = 63 - (unsigned)__builtin_clzll(count);

	if (log2 < SPACE_COLUMN_BITS)
		return (struct list_index){ 0, (unsigned)count };
	return (struct list_index){
		.row = log2 - SPACE_COLUMN_BITS + 1,
		.column = (unsigned)(count >> (log2 - SPACE_COLUMN_BITS)) & (SPACE_COLUMNS - 1),
	};
}

/* The smallest size of the first list in which everything is at least `count`. */
static uint64_t round_up_to_list(uint64_t count)
{
	unsigned log2 = 63 - (unsigned)__builtin_clzll(count);

	return log2 < SPACE_COLUMN_BITS ? count
					: count + (UINT64_C(1) << (log2 - SPACE_COLUMN_BITS)) - 1;
}

/* Free lists. */

static void range_link(struct space *space, struct space_range *range)
{
	struct list_index at = index_of(range->count);
	struct space_range **head = &space->lists[at.row][at.column];

	range->is_free = true;
	range->previous = NULL;
	range->next = *head;
	if (*head)
		(*head)->previous = range;
	*head = range;
	space->columns[at.row] |= (uint16_t)(1U << at.column);
	space->rows |= UINT64_C(1) << at.row;
}

static void range_unlink(struct space *space, struct space_range *range)
{
	struct list_index at = index_of(range->count);

	range->is_free = false;
	if (range->next)
		range->next->previous = range->previous;
	if (range->previous) {
		range->previous->next = range->next;
		return;
	}
	space->lists[at.row][at.column] = range->next;
	if (range->next)
		return;
	space->columns[at.row] &= (uint16_t) ~(1U << at.column);
	if (space->columns[at.row] == 0)
		space->rows &= ~(UINT64_C(1) << at.row);
}

/* The first list from `at` on that is not empty; NULL when there is none. */
static struct space_range *first_from(const struct space *space, struct list_index at)
{
	unsigned columns = (unsigned)space->columns[at.row] >> at.column << at.column;
	uint64_t rows;

	if (columns == 0) {
		rows = space->rows & ~((UINT64_C(2) << at.row) - 1);
		if (rows == 0)
			return NULL;
		at.row = (unsigned)__builtin_ctzll(rows);
		columns = space->columns[at.row];
	}
	return space->lists[at.row][__builtin_ctz(columns)];
}

static bool range_fits(const struct space_range *range, uint64_t count, uint64_t alignment)
{
	uint64_t first = align_down(range->first + alignment - 1, alignment);

	return first - range->first <= range->count &&
	       range->count - (first - range->first) >= count;
}

static struct space_range *find_fitting(const struct space *space, uint64_t count,
					uint64_t alignment)
{
	struct space_range *found = first_from(space, index_of(round_up_to_list(count)));
	struct list_index at = index_of(count);

	if (found && range_fits(found, count, alignment))
		return found;
	/* Wherever a stretch of this size stands, it holds an aligned one. */
	found = first_from(space, index_of(round_up_to_list(count + alignment - 1)));
	if (found)
		return found;
	/* Nearly full: what is left of about this size, one by one. */
	for (uint64_t rows = space->rows >> at.row << at.row; rows != 0; rows &= rows - 1) {
		unsigned row = (unsigned)__builtin_ctzll(rows);

		for (unsigned column = 0; column < SPACE_COLUMNS; column++) {
			for (found = space->lists[row][column]; found; found = found->next) {
				if (range_fits(found, count, alignment))
					return found;
			}
		}
	}
	return NULL;
}

/* Taking and giving. */

NTSTATUS space_init(struct space *space, uint64_t unit_count)
{
	struct space_range *all = mem_zalloc(sizeof(*all));

	assert(unit_count > 0 && unit_count <= UINT64_C(1) << 62);
	if (!all)
		return STATUS_NO_MEMORY;
	memset(space, 0, sizeof(*space));
	all->count = unit_count;
	space->unit_count = unit_count;
	space->lowest = all;
	range_link(space, all);
	return STATUS_SUCCESS;
}

void space_finish(struct space *space)
{
	for (struct space_range *range = space->lowest, *upper; range; range = upper) {
		upper = range->upper;
		mem_free(range);
	}
	memset(space, 0, sizeof(*space));
}

/* `rest` becomes the part of `range` above its first `count` units. */
static void range_cut(struct space_range *range, uint64_t count, struct space_range *rest)
{
	*rest = (struct space_range){
		.first = range->first + count,
		.count = range->count - count,
		.lower = range,
		.upper = range->upper,
	};
	if (rest->upper)
		rest->upper->lower = rest;
	range->upper = rest;
	range->count = count;
}

NTSTATUS space_take(struct space *space, uint64_t count, uint64_t alignment,
		    struct space_range **range_out)
{
	struct space_range *range;
	struct space_range *body = NULL;
	struct space_range *tail = NULL;
	uint64_t head_units;
	uint64_t tail_units;

	assert(count > 0 && is_power_of_two(alignment));
	if (count > space->unit_count || alignment > space->unit_count)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	range = find_fitting(space, count, alignment);
	if (!range)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;

	/* What is cut off needs a place to be written down, before anything changes. */
	head_units = align_down(range->first + alignment - 1, alignment) - range->first;
	tail_units = range->count - head_units - count;
	if (head_units > 0 && !(body = mem_alloc(sizeof(*body))))
		return STATUS_NO_MEMORY;
	if (tail_units > 0 && !(tail = mem_alloc(sizeof(*tail)))) {
		mem_free(body);
		return STATUS_NO_MEMORY;
	}

	range_unlink(space, range);
	if (body) {
		range_cut(range, head_units, body);
		range_link(space, range);
		range = body;
	}
	if (tail) {
		range_cut(range, count, tail);
		range_link(space, tail);
	}
	space->taken_units += count;
	space->taken_ranges++;
	*range_out = range;
	return STATUS_SUCCESS;
}

/* `lower` takes over its upper neighbour, which is in no list. */
static void range_join(struct space_range *lower)
{
	struct space_range *upper = lower->upper;

	lower->count += upper->count;
	lower->upper = upper->upper;
	if (lower->upper)
		lower->upper->lower = lower;
	mem_free(upper);
}

void space_give(struct space *space, struct space_range *range)
{
	assert(!range->is_free);
	space->taken_units -= range->count;
	space->taken_ranges--;
	if (range->upper && range->upper->is_free) {
		range_unlink(space, range->upper);
		range_join(range);
	}
	if (range->lower && range->lower->is_free) {
		range = range->lower;
		range_unlink(space, range);
		range_join(range);
	}
	range_link(space, range);
}

/* Recounting. */

static const char *lists_validate(const struct space *space, uint64_t free_ranges)
{
	for (unsigned row = 0; row < SPACE_ROWS; row++) {
		if ((space->rows >> row & 1) != (space->columns[row] != 0))
			return "a row's bit disagrees with its columns";
		for (unsigned column = 0; column < SPACE_COLUMNS; column++) {
			const struct space_range *head = space->lists[row][column];

			if ((space->columns[row] >> column & 1) != (head != NULL))
				return "a column's bit disagrees with its list";
			for (const struct space_range *range = head; range; range = range->next) {
				struct list_index at = index_of(range->count);

				if (!range->is_free || at.row != row || at.column != column)
					return "a range hangs in a wrong list";
				if (free_ranges-- == 0)
					return "a list has more than there is";
			}
		}
	}
	return free_ranges == 0 ? NULL : "a free range hangs in no list";
}

const char *space_validate(const struct space *space)
{
	uint64_t next_first = 0;
	uint64_t taken_units = 0;
	uint64_t taken_ranges = 0;
	uint64_t free_ranges = 0;

	for (const struct space_range *range = space->lowest; range; range = range->upper) {
		if (range->first != next_first || range->count == 0)
			return "ranges do not follow each other";
		if (range->upper && range->upper->lower != range)
			return "neighbours do not know each other";
		if (range->is_free && range->upper && range->upper->is_free)
			return "free neighbours were not joined";
		next_first += range->count;
		if (range->is_free) {
			free_ranges++;
		} else {
			taken_units += range->count;
			taken_ranges++;
		}
	}
	if (next_first != space->unit_count)
		return "ranges do not cover the space";
	if (taken_units != space->taken_units || taken_ranges != space->taken_ranges)
		return "what is taken was miscounted";
	return lists_validate(space, free_ranges);
}
