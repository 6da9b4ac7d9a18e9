/* SPDX-License-Identifier: MIT */
/*
 * mdl.c - pages of the machine, as a driver is shown them (work.h).
 */
#include "base/checked.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/mdl.h"

static NTSTATUS no_memory(void)
{
	return refuse_no_memory("There is no memory for a list of pages");
}

static bool count_pages(const struct miniport_page_run *runs, uint32_t run_count,
			uint64_t *count_out)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < run_count; i++) {
		if (!checked_add(count, runs[i].count, &count))
			return false;
	}
	*count_out = count;
	return true;
}

NTSTATUS miniport_mdl_create(const struct miniport_page_run *runs, uint32_t run_count,
			     struct miniport_mdl **mdl_out)
{
	uint64_t count;
	uint64_t at = 0;
	struct _MDL *mdl = NULL;

	if (!count_pages(runs, run_count, &count) || count > SIZE_MAX / sizeof(uint64_t))
		return no_memory();
	uint64_t *pfns = mem_zalloc_array(count, sizeof(*pfns));
	if (!pfns)
		return no_memory();
	for (uint32_t i = 0; i < run_count; i++) {
		for (uint64_t page = 0; page < runs[i].count; page++)
			pfns[at++] = runs[i].first_pfn + page;
	}
	NTSTATUS status = nt_mdl_create_for_pages(pfns, count, &mdl);

	mem_free(pfns);
	if (status == STATUS_NO_MEMORY)
		return no_memory();
	if (!NT_SUCCESS(status))
		return refuse(status, RULE_API_VALUE, "pages",
			      "are %llu, and an MDL describes 1 to 4 GiB of memory",
			      (unsigned long long)count);
	*mdl_out = (struct miniport_mdl *)mdl;
	return STATUS_SUCCESS;
}

void miniport_mdl_destroy(struct miniport_mdl *mdl)
{
	nt_mdl_destroy((struct _MDL *)mdl);
}

MDL *mdl_of(struct miniport_mdl *mdl)
{
	return (MDL *)mdl;
}
