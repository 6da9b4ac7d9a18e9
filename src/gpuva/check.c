/* SPDX-License-Identifier: MIT */
/*
 * check.c - what every request is asked: are its numbers in order, is the memory the owner's, do
 * unique driver protections agree. See plan_parts.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "gpuva/plan_parts.h"

NTSTATUS plan_refuse(int64_t index, enum rule rule, const char *argument, const char *format, ...)
{
	char sentence[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (index == NO_INDEX)
		return invalid(rule, argument, "%s", sentence);
	return invalid_item(rule, "Operations", (uint64_t)index, "is refused: %s %s", argument,
			    sentence);
}

NTSTATUS plan_refuse_memory(void)
{
	return refuse_no_memory("there is no memory to write GPU addresses down");
}

NTSTATUS plan_refuse_size(const struct gpuva_space *space, int64_t index, const char *argument,
			  uint64_t size_bytes, uint64_t unit_bytes)
{
	if (!is_aligned(size_bytes, unit_bytes))
		return plan_refuse(index, RULE_VA_ALIGNMENT, argument,
				   "is 0x%" PRIx64 ", which is no multiple of 0x%" PRIx64,
				   size_bytes, unit_bytes);
	return plan_refuse(index, RULE_VA_RANGE, argument,
			   "is 0x%" PRIx64 " bytes, and the space has 1 to 0x%" PRIx64 " pages",
			   size_bytes, space->page_count);
}

NTSTATUS plan_refuse_base(const struct gpuva_space *space, int64_t index, const char *argument,
			  uint64_t base, uint64_t unit_bytes, uint64_t page_count)
{
	if (!is_aligned(base, unit_bytes))
		return plan_refuse(index, RULE_VA_ALIGNMENT, argument,
				   "is 0x%" PRIx64 ", which is no multiple of 0x%" PRIx64, base,
				   unit_bytes);
	if (base == 0)
		return plan_refuse(index, RULE_VA_RANGE, argument, "is 0, which is no address");
	return plan_refuse(index, RULE_VA_RANGE, argument,
			   "is 0x%" PRIx64 ", and 0x%" PRIx64
			   " pages from there do not end within the 0x%" PRIx64
			   " pages of the space",
			   base, page_count, space->page_count);
}

NTSTATUS plan_refuse_memory_range(int64_t index, const struct gpuva_owner *owner,
				  const char *offset_argument, uint64_t offset_pages,
				  uint64_t page_count)
{
	return plan_refuse(index, RULE_VA_ALLOCATION, offset_argument,
			   "is page 0x%" PRIx64 ", and 0x%" PRIx64
			   " pages from there are not in an allocation of 0x%" PRIx64 " pages",
			   offset_pages, page_count, owner->page_count);
}

/* Unique driver protections. */

static bool disagree(const struct gpuva_state *a, const struct gpuva_state *b)
{
	return a->driver_protection != b->driver_protection &&
	       ((a->driver_protection | b->driver_protection) & GPUVA_UNIQUE) != 0;
}

/* Whether a part of `range` that nothing was written over shows memory of the run. */
static bool shares_unwritten(const struct gpuva_range *range, const struct range_set *written,
			     const struct gpuva_state *state, uint64_t page_count)
{
	const struct gpuva_range *over = range_set_from(written, range->first_page);
	uint64_t page = range->first_page;

	while (page < range_end(range)) {
		uint64_t end = over && over->first_page < range_end(range) ? over->first_page
									   : range_end(range);

		if (end > page) {
			struct gpuva_state part =
				gpuva_state_after(&range->state, page - range->first_page);

			if (gpuva_state_shares_memory(&part, end - page, state, page_count))
				return true;
		}
		if (!over)
			return false;
		page = range_end(over);
		over = range_next(over);
	}
	return false;
}

static bool disagrees_with_space(const struct gpuva_state *state, uint64_t page_count,
				 const struct range_set *written)
{
	struct list *link;

	list_for_each (link, &state->owner->ranges) {
		const struct gpuva_range *range = range_of_owner_link(link);

		if (!disagree(&range->state, state))
			continue;
		if (written ? shares_unwritten(range, written, state, page_count)
			    : gpuva_state_shares_memory(&range->state, range->page_count, state,
							page_count))
			return true;
	}
	return false;
}

static bool disagrees_with_written(const struct gpuva_state *state, uint64_t page_count,
				   const struct range_set *written)
{
	for (const struct gpuva_range *range = range_set_from(written, 0); range;
	     range = range_next(range)) {
		if (disagree(&range->state, state) &&
		    gpuva_state_shares_memory(&range->state, range->page_count, state, page_count))
			return true;
	}
	return false;
}

NTSTATUS plan_compare_unique(int64_t index, const struct gpuva_state *state, uint64_t page_count,
			     const struct range_set *written)
{
	bool is_unique = (state->driver_protection & GPUVA_UNIQUE) != 0;

	if (((is_unique || state->owner->unique_count > 0) &&
	     disagrees_with_space(state, page_count, written)) ||
	    (written && (is_unique || written->may_have_unique) &&
	     disagrees_with_written(state, page_count, written)))
		return plan_refuse(index, RULE_VA_UNIQUE, "DriverProtection",
				   "is 0x%" PRIx64
				   ", and the same memory is mapped with another value, one of "
				   "which is unique",
				   state->driver_protection);
	return STATUS_SUCCESS;
}
