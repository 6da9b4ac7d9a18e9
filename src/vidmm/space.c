/* SPDX-License-Identifier: MIT */
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

static unsigned zone_of(const struct space *space, uint64_t unit)
{
	return (unsigned)(unit >> space->zone_shift);
}

/* Free lists. */

static void range_link(struct space *space, struct space_range *range)
{
	struct space_zone *zone = &space->zones[zone_of(space, range->first)];
	struct list_index at = index_of(range->count);
	struct space_range **head = &zone->lists[at.row][at.column];

	range->is_free = true;
	range->previous = NULL;
	range->next = *head;
	if (*head)
		(*head)->previous = range;
	*head = range;
	zone->columns[at.row] |= UINT32_C(1) << at.column;
	zone->rows |= UINT64_C(1) << at.row;
}

static void range_unlink(struct space *space, struct space_range *range)
{
	struct space_zone *zone = &space->zones[zone_of(space, range->first)];
	struct list_index at = index_of(range->count);

	range->is_free = false;
	if (range->next)
		range->next->previous = range->previous;
	if (range->previous) {
		range->previous->next = range->next;
		return;
	}
	zone->lists[at.row][at.column] = range->next;
	if (range->next)
		return;
	zone->columns[at.row] &= ~(UINT32_C(1) << at.column);
	if (zone->columns[at.row] == 0)
		zone->rows &= ~(UINT64_C(1) << at.row);
}

/* Of the first list from `at` on that is not empty; NULL when there is none. */
static struct space_range *zone_first_from(const struct space_zone *zone, struct list_index at)
{
	uint32_t columns = zone->columns[at.row] >> at.column << at.column;

	if (columns == 0) {
		uint64_t rows = zone->rows & ~((UINT64_C(2) << at.row) - 1);

		if (rows == 0)
			return NULL;
		at.row = (unsigned)__builtin_ctzll(rows);
		columns = zone->columns[at.row];
	}
	return zone->lists[at.row][__builtin_ctz(columns)];
}

/* At least `count` units, from the first zone that has them; from the last one when asked to. */
static struct space_range *find_sized(const struct space *space, uint64_t count, bool is_from_end)
{
	struct list_index at = index_of(round_up_to_list(count));

	if (at.row >= space->row_count)
		return NULL;
	for (unsigned i = 0; i < space->zone_count; i++) {
		unsigned zone = is_from_end ? space->zone_count - 1 - i : i;
		struct space_range *found = zone_first_from(&space->zones[zone], at);

		if (found)
			return found;
	}
	return NULL;
}

/* What is asked for, and where: [first, end). */
struct wish {
	uint64_t count;
	uint64_t alignment;
	uint64_t first;
	uint64_t end;
	bool is_from_end;
};

/* Where in the range it can be; false when it cannot. */
static bool place_in(const struct space_range *range, const struct wish *wish, uint64_t *first_out)
{
	uint64_t first = range->first > wish->first ? range->first : wish->first;
	uint64_t end = range->first + range->count;

	end = end < wish->end ? end : wish->end;
	first = align_down(first + wish->alignment - 1, wish->alignment);
	if (first > end || end - first < wish->count)
		return false;
	*first_out = wish->is_from_end ? align_down(end - wish->count, wish->alignment) : first;
	return true;
}

/* Among all of the zone from the list of this size on, one by one. */
static struct space_range *zone_search(const struct space_zone *zone, const struct wish *wish,
				       uint64_t *first_out)
{
	struct list_index at = index_of(wish->count);

	for (uint64_t rows = zone->rows >> at.row << at.row; rows != 0; rows &= rows - 1) {
		unsigned row = (unsigned)__builtin_ctzll(rows);
		uint32_t columns = zone->columns[row];

		if (row == at.row)
			columns = columns >> at.column << at.column;
		for (; columns != 0; columns &= columns - 1) {
			struct space_range *found = zone->lists[row][__builtin_ctz(columns)];

			for (; found; found = found->next) {
				if (place_in(found, wish, first_out))
					return found;
			}
		}
	}
	return NULL;
}

static struct space_range *search(const struct space *space, const struct wish *wish,
				  uint64_t *first_out)
{
	unsigned last_zone = zone_of(space, wish->end - 1);

	for (unsigned i = 0; i <= last_zone; i++) {
		unsigned zone = wish->is_from_end ? last_zone - i : i;
		struct space_range *found = zone_search(&space->zones[zone], wish, first_out);

		if (found)
			return found;
	}
	return NULL;
}

static struct space_range *find_fitting(const struct space *space, const struct wish *wish,
					uint64_t *first_out)
{
	struct space_range *found = find_sized(space, wish->count, wish->is_from_end);

	if (found && place_in(found, wish, first_out))
		return found;
	/* Wherever a stretch of this size stands, it holds an aligned one. */
	if (wish->alignment > 1) {
		found = find_sized(space, wish->count + wish->alignment - 1, wish->is_from_end);
		if (found && place_in(found, wish, first_out))
			return found;
	}
	/* Nearly full: what is left of about this size, one by one. */
	return search(space, wish, first_out);
}

/* Taking and giving. */

static NTSTATUS lists_init(struct space *space)
{
	unsigned log2 = 63 - (unsigned)__builtin_clzll(space->unit_count);

	space->zone_shift = log2 + 1 > SPACE_ZONE_BITS ? log2 + 1 - SPACE_ZONE_BITS : 0;
	space->zone_count = zone_of(space, space->unit_count - 1) + 1;
	space->row_count = index_of(space->unit_count).row + 1;
	space->lists = mem_zalloc_array((size_t)space->zone_count * space->row_count,
					sizeof(*space->lists));
	if (!space->lists)
		return STATUS_NO_MEMORY;
	for (unsigned i = 0; i < space->zone_count; i++)
		space->zones[i].lists = &space->lists[(size_t)i * space->row_count];
	return STATUS_SUCCESS;
}

NTSTATUS space_init(struct space *space, uint64_t unit_count)
{
	struct space_range *all = mem_zalloc(sizeof(*all));

	assert(unit_count > 0 && unit_count <= UINT64_C(1) << 62);
	if (!all)
		return STATUS_NO_MEMORY;
	memset(space, 0, sizeof(*space));
	space->unit_count = unit_count;
	if (!NT_SUCCESS(lists_init(space))) {
		mem_free(all);
		return STATUS_NO_MEMORY;
	}
	all->count = unit_count;
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
	mem_free(space->lists);
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

/* [first, first + count) out of the free `range`; what is left of it stays free. */
static NTSTATUS range_take(struct space *space, struct space_range *range, uint64_t first,
			   uint64_t count, struct space_range **range_out)
{
	uint64_t head_units = first - range->first;
	uint64_t tail_units = range->count - head_units - count;
	struct space_range *body = NULL;
	struct space_range *tail = NULL;

	/* What is cut off needs a place to be written down, before anything changes. */
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

static NTSTATUS take_fitting(struct space *space, const struct wish *wish,
			     struct space_range **range_out)
{
	struct space_range *range;
	uint64_t first;

	assert(wish->count > 0 && is_power_of_two(wish->alignment));
	if (wish->count > space->unit_count || wish->alignment > space->unit_count)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	range = find_fitting(space, wish, &first);
	if (!range)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	return range_take(space, range, first, wish->count, range_out);
}

NTSTATUS space_take(struct space *space, uint64_t count, uint64_t alignment,
		    struct space_range **range_out)
{
	struct wish wish = { count, alignment, 0, space->unit_count, false };

	return take_fitting(space, &wish, range_out);
}

NTSTATUS space_take_from_end(struct space *space, uint64_t count, uint64_t alignment,
			     struct space_range **range_out)
{
	struct wish wish = { count, alignment, 0, space->unit_count, true };

	return take_fitting(space, &wish, range_out);
}

static NTSTATUS take_searched(struct space *space, const struct wish *wish,
			      struct space_range **range_out)
{
	struct space_range *range;
	uint64_t place;

	assert(wish->count > 0 && is_power_of_two(wish->alignment) &&
	       wish->end <= space->unit_count);
	if (wish->first >= wish->end || wish->count > wish->end - wish->first ||
	    wish->alignment > space->unit_count)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	range = search(space, wish, &place);
	if (!range)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	return range_take(space, range, place, wish->count, range_out);
}

NTSTATUS space_take_within(struct space *space, uint64_t count, uint64_t alignment, uint64_t first,
			   uint64_t end, struct space_range **range_out)
{
	struct wish wish = { count, alignment, first, end, false };

	return take_searched(space, &wish, range_out);
}

NTSTATUS space_take_from_end_within(struct space *space, uint64_t count, uint64_t alignment,
				    uint64_t first, uint64_t end, struct space_range **range_out)
{
	struct wish wish = { count, alignment, first, end, true };

	return take_searched(space, &wish, range_out);
}

static struct space_range *zone_largest(const struct space_zone *zone)
{
	unsigned row;

	if (zone->rows == 0)
		return NULL;
	row = 63 - (unsigned)__builtin_clzll(zone->rows);
	return zone->lists[row][31 - __builtin_clz(zone->columns[row])];
}

/* One from the list of the largest. */
static struct space_range *find_largest(const struct space *space, bool is_from_end)
{
	struct space_range *largest = NULL;

	for (unsigned i = 0; i < space->zone_count; i++) {
		unsigned zone = is_from_end ? space->zone_count - 1 - i : i;
		struct space_range *found = zone_largest(&space->zones[zone]);

		if (found && (!largest || found->count > largest->count))
			largest = found;
	}
	return largest;
}

NTSTATUS space_take_piece(struct space *space, uint64_t count, uint64_t granule, bool is_from_end,
			  struct space_range **range_out)
{
	struct wish wish = { granule, granule, 0, space->unit_count, is_from_end };
	struct space_range *range = find_largest(space, is_from_end);
	uint64_t first;
	uint64_t units;

	assert(count > 0 && is_power_of_two(granule) && is_aligned(count, granule));
	if (granule > space->unit_count)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	if (!range || !place_in(range, &wish, &first))
		range = find_fitting(space, &wish, &first);
	if (!range)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	wish.is_from_end = false;
	if (!place_in(range, &wish, &first))
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	units = align_down(range->first + range->count - first, granule);
	if (units > count) {
		first += is_from_end ? units - count : 0;
		units = count;
	}
	return range_take(space, range, first, units, range_out);
}

NTSTATUS space_split(struct space *space, struct space_range *range, uint64_t count,
		     struct space_range **rest_out)
{
	struct space_range *rest = mem_alloc(sizeof(*rest));

	assert(!range->is_free && count > 0 && count < range->count);
	if (!rest)
		return STATUS_NO_MEMORY;
	range_cut(range, count, rest);
	space->taken_ranges++;
	*rest_out = rest;
	return STATUS_SUCCESS;
}

uint64_t space_largest_free(const struct space *space)
{
	uint64_t largest = 0;

	/* The lists are coarser than sizes: their heads need not be the largest in them. */
	for (unsigned i = 0; i < space->zone_count; i++) {
		const struct space_range *range = zone_largest(&space->zones[i]);

		for (; range; range = range->next)
			largest = range->count > largest ? range->count : largest;
	}
	return largest;
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

static const char *zone_validate(const struct space *space, unsigned number, uint64_t *free_ranges)
{
	const struct space_zone *zone = &space->zones[number];

	for (unsigned row = 0; row < space->row_count; row++) {
		if ((zone->rows >> row & 1) != (zone->columns[row] != 0))
			return "a row's bit disagrees with its columns";
		for (unsigned column = 0; column < SPACE_COLUMNS; column++) {
			const struct space_range *head = zone->lists[row][column];

			if ((zone->columns[row] >> column & 1) != (head != NULL))
				return "a column's bit disagrees with its list";
			for (const struct space_range *range = head; range; range = range->next) {
				struct list_index at = index_of(range->count);

				if (!range->is_free || at.row != row || at.column != column ||
				    zone_of(space, range->first) != number)
					return "a range hangs in a wrong list";
				if ((*free_ranges)-- == 0)
					return "a list has more than there is";
			}
		}
	}
	return NULL;
}

static const char *lists_validate(const struct space *space, uint64_t free_ranges)
{
	for (unsigned i = 0; i < space->zone_count; i++) {
		const char *wrong = zone_validate(space, i, &free_ranges);

		if (wrong)
			return wrong;
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
