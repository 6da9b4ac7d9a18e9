/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/mem.h"
#include "ranges/ranges.h"

/* A list holds the free stretches from its size up to the next list's. */
struct list_index {
	unsigned row;
	unsigned column;
};

static struct list_index index_of(uint64_t count)
{
	unsigned log2 = 63 - (unsigned)__builtin_clzll(count);

	if (log2 < RANGE_COLUMN_BITS)
		return (struct list_index){ 0, (unsigned)count };
	return (struct list_index){
		.row = log2 - RANGE_COLUMN_BITS + 1,
		.column = (unsigned)(count >> (log2 - RANGE_COLUMN_BITS)) & (RANGE_COLUMNS - 1),
	};
}

/* The smallest size of the first list in which everything is at least `count`. */
static uint64_t round_up_to_list(uint64_t count)
{
	unsigned log2 = 63 - (unsigned)__builtin_clzll(count);

	return log2 < RANGE_COLUMN_BITS ? count
					: count + (UINT64_C(1) << (log2 - RANGE_COLUMN_BITS)) - 1;
}

static unsigned zone_of(const struct ranges *ranges, uint64_t unit)
{
	return (unsigned)(unit >> ranges->zone_shift);
}

/* Free lists. */

static void range_link(struct ranges *ranges, struct range *range)
{
	struct range_zone *zone = &ranges->zones[zone_of(ranges, range->first)];
	struct list_index at = index_of(range->count);
	struct range **head = &zone->lists[at.row][at.column];

	range->is_free = true;
	range->previous = NULL;
	range->next = *head;
	if (*head)
		(*head)->previous = range;
	*head = range;
	zone->columns[at.row] |= UINT32_C(1) << at.column;
	zone->rows |= UINT64_C(1) << at.row;
}

static void range_unlink(struct ranges *ranges, struct range *range)
{
	struct range_zone *zone = &ranges->zones[zone_of(ranges, range->first)];
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
static struct range *zone_first_from(const struct range_zone *zone, struct list_index at)
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
static struct range *find_sized(const struct ranges *ranges, uint64_t count, bool is_from_end)
{
	struct list_index at = index_of(round_up_to_list(count));

	if (at.row >= ranges->row_count)
		return NULL;
	for (unsigned i = 0; i < ranges->zone_count; i++) {
		unsigned zone = is_from_end ? ranges->zone_count - 1 - i : i;
		struct range *found = zone_first_from(&ranges->zones[zone], at);

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
static bool fits_in(const struct range *range, const struct wish *wish, uint64_t *first_out)
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
static struct range *zone_search(const struct range_zone *zone, const struct wish *wish,
				 uint64_t *first_out)
{
	struct list_index at = index_of(wish->count);

	for (uint64_t rows = zone->rows >> at.row << at.row; rows != 0; rows &= rows - 1) {
		unsigned row = (unsigned)__builtin_ctzll(rows);
		uint32_t columns = zone->columns[row];

		if (row == at.row)
			columns = columns >> at.column << at.column;
		for (; columns != 0; columns &= columns - 1) {
			struct range *found = zone->lists[row][__builtin_ctz(columns)];

			for (; found; found = found->next) {
				if (fits_in(found, wish, first_out))
					return found;
			}
		}
	}
	return NULL;
}

static struct range *search(const struct ranges *ranges, const struct wish *wish,
			    uint64_t *first_out)
{
	unsigned last_zone = zone_of(ranges, wish->end - 1);

	for (unsigned i = 0; i <= last_zone; i++) {
		unsigned zone = wish->is_from_end ? last_zone - i : i;
		struct range *found = zone_search(&ranges->zones[zone], wish, first_out);

		if (found)
			return found;
	}
	return NULL;
}

static struct range *find_fitting(const struct ranges *ranges, const struct wish *wish,
				  uint64_t *first_out)
{
	struct range *found = find_sized(ranges, wish->count, wish->is_from_end);

	if (found && fits_in(found, wish, first_out))
		return found;
	/* Wherever a stretch of this size stands, it holds an aligned one. */
	if (wish->alignment > 1) {
		found = find_sized(ranges, wish->count + wish->alignment - 1, wish->is_from_end);
		if (found && fits_in(found, wish, first_out))
			return found;
	}
	/* Nearly full: what is left of about this size, one by one. */
	return search(ranges, wish, first_out);
}

/* Taking and giving. */

static NTSTATUS lists_init(struct ranges *ranges)
{
	unsigned log2 = 63 - (unsigned)__builtin_clzll(ranges->unit_count);

	ranges->zone_shift = log2 + 1 > RANGE_ZONE_BITS ? log2 + 1 - RANGE_ZONE_BITS : 0;
	ranges->zone_count = zone_of(ranges, ranges->unit_count - 1) + 1;
	ranges->row_count = index_of(ranges->unit_count).row + 1;
	ranges->lists = mem_zalloc_array((size_t)ranges->zone_count * ranges->row_count,
					 sizeof(*ranges->lists));
	if (!ranges->lists)
		return STATUS_NO_MEMORY;
	for (unsigned i = 0; i < ranges->zone_count; i++)
		ranges->zones[i].lists = &ranges->lists[(size_t)i * ranges->row_count];
	return STATUS_SUCCESS;
}

NTSTATUS ranges_init(struct ranges *ranges, uint64_t unit_count)
{
	struct range *all = mem_zalloc(sizeof(*all));

	assert(unit_count > 0 && unit_count <= UINT64_C(1) << 62);
	if (!all)
		return STATUS_NO_MEMORY;
	memset(ranges, 0, sizeof(*ranges));
	ranges->unit_count = unit_count;
	if (!NT_SUCCESS(lists_init(ranges))) {
		mem_free(all);
		return STATUS_NO_MEMORY;
	}
	all->count = unit_count;
	ranges->lowest = all;
	range_link(ranges, all);
	return STATUS_SUCCESS;
}

void ranges_finish(struct ranges *ranges)
{
	for (struct range *range = ranges->lowest, *upper; range; range = upper) {
		upper = range->upper;
		mem_free(range);
	}
	mem_free(ranges->lists);
	memset(ranges, 0, sizeof(*ranges));
}

/* `rest` becomes the part of `range` above its first `count` units. */
static void range_cut(struct range *range, uint64_t count, struct range *rest)
{
	*rest = (struct range){
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
static NTSTATUS range_take(struct ranges *ranges, struct range *range, uint64_t first,
			   uint64_t count, struct range **range_out)
{
	uint64_t head_units = first - range->first;
	uint64_t tail_units = range->count - head_units - count;
	struct range *body = NULL;
	struct range *tail = NULL;

	/* What is cut off needs a place to be written down, before anything changes. */
	if (head_units > 0 && !(body = mem_alloc(sizeof(*body))))
		return STATUS_NO_MEMORY;
	if (tail_units > 0 && !(tail = mem_alloc(sizeof(*tail)))) {
		mem_free(body);
		return STATUS_NO_MEMORY;
	}

	range_unlink(ranges, range);
	if (body) {
		range_cut(range, head_units, body);
		range_link(ranges, range);
		range = body;
	}
	if (tail) {
		range_cut(range, count, tail);
		range_link(ranges, tail);
	}
	ranges->taken_units += count;
	ranges->taken_ranges++;
	*range_out = range;
	return STATUS_SUCCESS;
}

static NTSTATUS take_fitting(struct ranges *ranges, const struct wish *wish,
			     struct range **range_out)
{
	uint64_t first;

	assert(wish->count > 0 && is_power_of_two(wish->alignment));
	if (wish->count > ranges->unit_count || wish->alignment > ranges->unit_count)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	struct range *range = find_fitting(ranges, wish, &first);
	if (!range)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	return range_take(ranges, range, first, wish->count, range_out);
}

NTSTATUS ranges_take(struct ranges *ranges, uint64_t count, uint64_t alignment,
		     struct range **range_out)
{
	struct wish wish = { count, alignment, 0, ranges->unit_count, false };

	return take_fitting(ranges, &wish, range_out);
}

NTSTATUS ranges_take_from_end(struct ranges *ranges, uint64_t count, uint64_t alignment,
			      struct range **range_out)
{
	struct wish wish = { count, alignment, 0, ranges->unit_count, true };

	return take_fitting(ranges, &wish, range_out);
}

static NTSTATUS take_searched(struct ranges *ranges, const struct wish *wish,
			      struct range **range_out)
{
	uint64_t first;

	assert(wish->count > 0 && is_power_of_two(wish->alignment) &&
	       wish->end <= ranges->unit_count);
	if (wish->first >= wish->end || wish->count > wish->end - wish->first ||
	    wish->alignment > ranges->unit_count)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	struct range *range = search(ranges, wish, &first);
	if (!range)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	return range_take(ranges, range, first, wish->count, range_out);
}

NTSTATUS ranges_take_within(struct ranges *ranges, uint64_t count, uint64_t alignment,
			    uint64_t first, uint64_t end, struct range **range_out)
{
	struct wish wish = { count, alignment, first, end, false };

	return take_searched(ranges, &wish, range_out);
}

NTSTATUS ranges_take_from_end_within(struct ranges *ranges, uint64_t count, uint64_t alignment,
				     uint64_t first, uint64_t end, struct range **range_out)
{
	struct wish wish = { count, alignment, first, end, true };

	return take_searched(ranges, &wish, range_out);
}

static struct range *zone_largest(const struct range_zone *zone)
{
	if (zone->rows == 0)
		return NULL;
	unsigned row = 63 - (unsigned)__builtin_clzll(zone->rows);
	return zone->lists[row][31 - __builtin_clz(zone->columns[row])];
}

/* One from the list of the largest. */
static struct range *find_largest(const struct ranges *ranges, bool is_from_end)
{
	struct range *largest = NULL;

	for (unsigned i = 0; i < ranges->zone_count; i++) {
		unsigned zone = is_from_end ? ranges->zone_count - 1 - i : i;
		struct range *found = zone_largest(&ranges->zones[zone]);

		if (found && (!largest || found->count > largest->count))
			largest = found;
	}
	return largest;
}

NTSTATUS ranges_take_piece(struct ranges *ranges, uint64_t count, uint64_t granule,
			   bool is_from_end, struct range **range_out)
{
	struct wish wish = { granule, granule, 0, ranges->unit_count, is_from_end };
	struct range *range = find_largest(ranges, is_from_end);
	uint64_t first;

	assert(count > 0 && is_power_of_two(granule) && is_aligned(count, granule));
	if (granule > ranges->unit_count)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	if (!range || !fits_in(range, &wish, &first))
		range = find_fitting(ranges, &wish, &first);
	if (!range)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	wish.is_from_end = false;
	if (!fits_in(range, &wish, &first))
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	uint64_t units = align_down(range->first + range->count - first, granule);
	if (units > count) {
		first += is_from_end ? units - count : 0;
		units = count;
	}
	return range_take(ranges, range, first, units, range_out);
}

NTSTATUS ranges_split(struct ranges *ranges, struct range *range, uint64_t count,
		      struct range **rest_out)
{
	struct range *rest = mem_alloc(sizeof(*rest));

	assert(!range->is_free && count > 0 && count < range->count);
	if (!rest)
		return STATUS_NO_MEMORY;
	range_cut(range, count, rest);
	ranges->taken_ranges++;
	*rest_out = rest;
	return STATUS_SUCCESS;
}

uint64_t ranges_largest_free(const struct ranges *ranges)
{
	uint64_t largest = 0;

	/* The lists are coarser than sizes: their heads need not be the largest in them. */
	for (unsigned i = 0; i < ranges->zone_count; i++) {
		const struct range *range = zone_largest(&ranges->zones[i]);

		for (; range; range = range->next)
			largest = range->count > largest ? range->count : largest;
	}
	return largest;
}

/* `lower` takes over its upper neighbour, which is in no list. */
static void range_join(struct range *lower)
{
	struct range *upper = lower->upper;

	lower->count += upper->count;
	lower->upper = upper->upper;
	if (lower->upper)
		lower->upper->lower = lower;
	mem_free(upper);
}

void ranges_give(struct ranges *ranges, struct range *range)
{
	assert(!range->is_free);
	ranges->taken_units -= range->count;
	ranges->taken_ranges--;
	if (range->upper && range->upper->is_free) {
		range_unlink(ranges, range->upper);
		range_join(range);
	}
	if (range->lower && range->lower->is_free) {
		range = range->lower;
		range_unlink(ranges, range);
		range_join(range);
	}
	range_link(ranges, range);
}

/* Recounting. */

static const char *zone_validate(const struct ranges *ranges, unsigned number,
				 uint64_t *free_ranges)
{
	const struct range_zone *zone = &ranges->zones[number];

	for (unsigned row = 0; row < ranges->row_count; row++) {
		if ((zone->rows >> row & 1) != (zone->columns[row] != 0))
			return "a row's bit disagrees with its columns";
		for (unsigned column = 0; column < RANGE_COLUMNS; column++) {
			const struct range *head = zone->lists[row][column];

			if ((zone->columns[row] >> column & 1) != (head != NULL))
				return "a column's bit disagrees with its list";
			for (const struct range *range = head; range; range = range->next) {
				struct list_index at = index_of(range->count);

				if (!range->is_free || at.row != row || at.column != column ||
				    zone_of(ranges, range->first) != number)
					return "a range hangs in a wrong list";
				if ((*free_ranges)-- == 0)
					return "a list has more than there is";
			}
		}
	}
	return NULL;
}

static const char *lists_validate(const struct ranges *ranges, uint64_t free_ranges)
{
	for (unsigned i = 0; i < ranges->zone_count; i++) {
		const char *wrong = zone_validate(ranges, i, &free_ranges);

		if (wrong)
			return wrong;
	}
	return free_ranges == 0 ? NULL : "a free range hangs in no list";
}

const char *ranges_validate(const struct ranges *ranges)
{
	uint64_t next_first = 0;
	uint64_t taken_units = 0;
	uint64_t taken_ranges = 0;
	uint64_t free_ranges = 0;

	for (const struct range *range = ranges->lowest; range; range = range->upper) {
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
	if (next_first != ranges->unit_count)
		return "ranges do not cover all of it";
	if (taken_units != ranges->taken_units || taken_ranges != ranges->taken_ranges)
		return "what is taken was miscounted";
	return lists_validate(ranges, free_ranges);
}
