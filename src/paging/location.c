/* SPDX-License-Identifier: MIT */
/*
 * location.c - pages of a location. Pure.
 */
#include <assert.h>

#include "paging/internal.h"

/* Which run, and how far into it. */
static uint32_t find_run(const struct miniport_location *location, uint64_t offset_bytes,
			 uint64_t *page_out)
{
	uint64_t page = (location->offset_bytes + offset_bytes) >> MACHINE_PAGE_SHIFT;

	for (uint32_t i = 0; i < location->run_count; i++) {
		if (page < location->runs[i].count) {
			*page_out = page;
			return i;
		}
		page -= location->runs[i].count;
	}
	assert(!"the location ends before");
	*page_out = 0;
	return 0;
}

uint64_t location_page(const struct miniport_location *location, uint64_t offset_bytes,
		       uint64_t *pages_in_row_out)
{
	uint64_t page;

	if (location->run_count == 0) {
		*pages_in_row_out = UINT64_MAX;
		return (location->offset_bytes + offset_bytes) >> MACHINE_PAGE_SHIFT;
	}
	uint32_t i = find_run(location, offset_bytes, &page);
	uint64_t first = location->runs[i].first_pfn + page;
	uint64_t end = location->runs[i].first_pfn + location->runs[i].count;

	/* Runs may be neighbours. */
	while (++i < location->run_count && location->runs[i].first_pfn == end)
		end += location->runs[i].count;
	*pages_in_row_out = end - first;
	return first;
}

uint32_t location_run_count(const struct miniport_location *location, uint64_t offset_bytes,
			    uint64_t page_count)
{
	uint64_t page;
	uint32_t first = find_run(location, offset_bytes, &page);
	uint32_t i = first;

	for (uint64_t have = location->runs[i].count - page; have < page_count;)
		have += location->runs[++i].count;
	return i - first + 1;
}

void location_runs(const struct miniport_location *location, uint64_t offset_bytes,
		   uint64_t page_count, struct miniport_page_run runs_out[])
{
	uint64_t page;
	uint32_t i = find_run(location, offset_bytes, &page);

	for (uint32_t n = 0; page_count > 0; n++, i++, page = 0) {
		uint64_t count = location->runs[i].count - page;

		if (count > page_count)
			count = page_count;
		runs_out[n] =
			(struct miniport_page_run){ location->runs[i].first_pfn + page, count };
		page_count -= count;
	}
}
