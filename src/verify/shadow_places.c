/* SPDX-License-Identifier: MIT */
/*
 * shadow_places.c - which bytes an operation is about, and where this process sees them (shadow.h).
 *
 * Seen are pages of the machine, by themselves, through an aperture of the GPU, or as the memory of a segment that the
 * processor sees. A CPU host aperture is not looked through: who has it looked at may be showing something else in it at the
 * same moment. Nor is memory of clients that is none of the machine's: they may take it away.
 */
#include <stdlib.h>

#include "base/machine.h"
#include "verify/shadow.h"

_Static_assert(SHADOW_PAGE_BYTES == MACHINE_PAGE_BYTES, "a page is a page");

/* ---- segments ---- */

static const struct miniport_segment *segment_of(const struct shadow *shadow, uint32_t segment)
{
	const struct miniport_info *info = &shadow->adapter->miniport->info;

	return segment == 0 || segment > info->segment_count ? NULL : &info->segments[segment - 1];
}

uint32_t shadow_real_segment(const struct shadow *shadow, uint32_t segment)
{
	return segment_of(shadow, segment) ? segment : 0;
}

bool shadow_is_aperture(const struct shadow *shadow, uint32_t segment)
{
	const struct miniport_segment *found = segment_of(shadow, segment);

	return found && found->is_aperture;
}

uint64_t shadow_segment_offset(const struct shadow *shadow, uint32_t segment, uint64_t address)
{
	const struct miniport_segment *found = segment_of(shadow, segment);

	return found ? address - found->base_address : address;
}

static char *pointer_of(uint64_t address)
{
	return machine_is_foreign(address) || !machine_is_memory(address, MACHINE_PAGE_BYTES)
		       ? NULL
		       : machine_to_pointer(address);
}

char *shadow_pointer(const struct shadow *shadow, shadow_page page)
{
	const struct miniport_segment *segment = segment_of(shadow, shadow_segment(page));
	uint64_t offset_bytes = shadow_number(page) << SHADOW_PAGE_SHIFT;

	if (page == 0)
		return NULL;
	if (shadow_segment(page) == 0)
		return pointer_of(offset_bytes);
	if (!segment || segment->is_aperture || !segment->is_cpu_visible ||
	    offset_bytes >= segment->size_bytes)
		return NULL;
	return pointer_of(segment->cpu_translated_address + offset_bytes);
}

/* ---- ranges ---- */

static uint64_t pages_in(const struct shadow_range *range)
{
	return (range->offset_bytes + range->size_bytes + SHADOW_PAGE_BYTES - 1) >>
	       SHADOW_PAGE_SHIFT;
}

static void add_run(struct shadow_range *range, shadow_page first, uint64_t count)
{
	struct shadow_run *last = range->run_count > 0 ? &range->runs[range->run_count - 1] : NULL;

	range->is_known = range->is_known && first != 0;
	if (!range->is_known)
		return;
	if (last && first == last->first + last->count) {
		last->count += count;
		return;
	}
	/* Room for 1, 2, 4, … */
	if ((range->run_count & (range->run_count - 1)) == 0) {
		size_t capacity = range->run_count > 0 ? 2 * (size_t)range->run_count : 1;
		struct shadow_run *runs = realloc(range->runs, capacity * sizeof(*runs));

		if (!runs) {
			range->is_known = false;
			return;
		}
		range->runs = runs;
	}
	range->runs[range->run_count++] = (struct shadow_run){ first, count };
}

void shadow_range_segment(struct shadow *shadow, struct shadow_range *range, uint32_t segment,
			  uint64_t offset_bytes, uint64_t size_bytes)
{
	uint64_t first = offset_bytes >> SHADOW_PAGE_SHIFT;
	uint32_t real = shadow_real_segment(shadow, segment);

	*range = (struct shadow_range){
		.offset_bytes = (uint32_t)(offset_bytes % SHADOW_PAGE_BYTES),
		.size_bytes = size_bytes,
		.is_known = true,
		.is_through_aperture = shadow_is_aperture(shadow, real),
	};
	if (!range->is_through_aperture) {
		add_run(range, shadow_page_of(real, first), pages_in(range));
		return;
	}
	for (uint64_t i = 0; i < pages_in(range); i++)
		add_run(range, map_get(&shadow->aperture, shadow_page_of(real, first + i)), 1);
}

void shadow_range_mdl(struct shadow_range *range, MDL *mdl, uint64_t first_page,
		      uint64_t size_bytes)
{
	*range = (struct shadow_range){ .size_bytes = size_bytes, .is_known = mdl != NULL };
	if (!mdl)
		return;
	const PFN_NUMBER *pfns = MmGetMdlPfnArray(mdl) + first_page;
	for (uint64_t i = 0; i < pages_in(range); i++)
		add_run(range, shadow_page_of(0, pfns[i]), 1);
}

void shadow_range_addresses(struct shadow *shadow, struct shadow_range *range, uint64_t address,
			    uint64_t size_bytes)
{
	*range = (struct shadow_range){
		.offset_bytes = (uint32_t)(address % SHADOW_PAGE_BYTES),
		.size_bytes = size_bytes,
		.address = address,
		.is_known = shadow->has_paging_process,
	};
	for (uint64_t i = 0; range->is_known && i < pages_in(range); i++)
		add_run(range, map_get(&shadow->addresses, (address >> SHADOW_PAGE_SHIFT) + i), 1);
}

void shadow_range_finish(struct shadow_range *range)
{
	free(range->runs);
	*range = (struct shadow_range){ 0 };
}

static bool runs_overlap(const struct shadow_run *a, const struct shadow_run *b)
{
	return a->first < b->first + b->count && b->first < a->first + a->count;
}

bool shadow_range_overlaps(const struct shadow_range *a, const struct shadow_range *b)
{
	for (uint32_t i = 0; i < a->run_count; i++) {
		for (uint32_t j = 0; j < b->run_count; j++) {
			if (runs_overlap(&a->runs[i], &b->runs[j]))
				return true;
		}
	}
	return false;
}

bool shadow_range_has(const struct shadow_range *range, shadow_page page)
{
	for (uint32_t i = 0; i < range->run_count; i++) {
		if (page - range->runs[i].first < range->runs[i].count)
			return true;
	}
	return false;
}

/* ---- byte by byte ---- */

struct shadow_cursor shadow_cursor(const struct shadow_range *range)
{
	return (struct shadow_cursor){ .in_run_bytes = range->offset_bytes,
				       .left_bytes = range->size_bytes };
}

shadow_page shadow_cursor_page(const struct shadow_range *range, const struct shadow_cursor *cursor)
{
	return range->runs[cursor->run].first + (cursor->in_run_bytes >> SHADOW_PAGE_SHIFT);
}

uint64_t shadow_stretch(const struct shadow *shadow, const struct shadow_range *range,
			const struct shadow_cursor *cursor, char **pointer_out)
{
	if (!range->is_known || cursor->left_bytes == 0 || cursor->run >= range->run_count)
		return 0;
	uint64_t length =
		(range->runs[cursor->run].count << SHADOW_PAGE_SHIFT) - cursor->in_run_bytes;
	char *pointer = shadow_pointer(shadow, shadow_cursor_page(range, cursor));

	*pointer_out = pointer ? pointer + cursor->in_run_bytes % SHADOW_PAGE_BYTES : NULL;
	return length < cursor->left_bytes ? length : cursor->left_bytes;
}

void shadow_advance(const struct shadow_range *range, struct shadow_cursor *cursor, uint64_t bytes)
{
	cursor->in_run_bytes += bytes;
	cursor->left_bytes -= bytes;
	while (cursor->run < range->run_count &&
	       cursor->in_run_bytes >= range->runs[cursor->run].count << SHADOW_PAGE_SHIFT) {
		cursor->in_run_bytes -= range->runs[cursor->run].count << SHADOW_PAGE_SHIFT;
		cursor->run++;
	}
}
