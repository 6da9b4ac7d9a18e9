/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/machine.h"
#include "pagetable/page_tables.h"
#include "ranges/ranges.h"
#include "vidmm/elsewhere.h"
#include "vidmm/states.h"
#include "vidmm/validate.h"

struct totals {
	uint64_t committed_bytes;
	uint64_t viewed_bytes;
	uint64_t views;
};

static const char *check_backing(const struct vidmm_allocation *allocation)
{
	const struct vidmm_backing *backing = &allocation->backing;
	const struct backing_run *runs = backing_runs(backing);

	bool has_memory = backing->run_count > 0 || backing->is_clients;
	/* In GPU memory it may keep a copy, or be on the way out (manager_validate.c knows). */
	bool may_have = allocation_content(allocation) != VIDMM_CONTENT_NONE;

	if ((has_memory && !may_have) ||
	    (!has_memory && allocation_content(allocation) == VIDMM_CONTENT_BACKED))
		return "says that it has system memory, or that it has none, and it is not so";
	if (backing->run_count == 0)
		return NULL;
	if (backing_page_count(backing) * MACHINE_PAGE_BYTES != allocation->size_bytes)
		return "has more or fewer pages than its size";
	for (uint32_t i = 0; i < backing->run_count; i++) {
		if (machine_run_bytes((uint64_t)runs[i].first_pfn << MACHINE_PAGE_SHIFT) !=
		    runs[i].count * MACHINE_PAGE_BYTES)
			return "has pages that the machine did not give it";
	}
	return NULL;
}

static const char *check_use(const struct vidmm_allocation *allocation)
{
	const struct cpu_view *view = &allocation->view;

	if (view->range && view->range->is_free)
		return "is seen at addresses that are free";
	if (view->range && view->range->count * MACHINE_PAGE_BYTES != allocation->size_bytes)
		return "has a view of another size";
	if (view->is_mapped &&
	    (!view->range || allocation_content(allocation) == VIDMM_CONTENT_NONE))
		return "shows pages that it does not have";
	if (allocation->lock_count > 0 && !view->is_mapped && !allocation->backing.is_clients &&
	    !(allocation->elsewhere && allocation->elsewhere->mappings.first))
		return "is locked and cannot be seen";
	if (allocation->lock_count > 0 && allocation->offer != VIDMM_NOT_OFFERED)
		return "is locked and offered";
	if (elsewhere_is_inside(allocation) &&
	    (allocation->backing.run_count == 0 || !elsewhere_is_possible(allocation)))
		return "is in a segment with pages that are not its own";
	if (allocation->life != VIDMM_LIVE &&
	    (view->range || allocation->lock_count > 0 ||
	     (allocation->elsewhere && allocation->elsewhere->mappings.first)))
		return "is dying and can be seen";
	if (allocation->life == VIDMM_DEAD)
		return "is dead";
	if (allocation->offer == VIDMM_DECOMMITTED && allocation->backing.run_count > 0)
		return "is decommitted and has memory";
	return NULL;
}

static void count_one(const struct vidmm_allocation *allocation, struct totals *totals)
{
	totals->committed_bytes += backing_page_count(&allocation->backing) * MACHINE_PAGE_BYTES;
	totals->viewed_bytes += cpu_view_page_count(&allocation->view) * MACHINE_PAGE_BYTES;
	totals->views += allocation->view.range != NULL;
}

static const char *check_one(const struct vidmm_allocation *allocation, struct totals *totals)
{
	const char *wrong = check_backing(allocation);

	struct mapped_memory *mapped = atomic_load(&allocation->mapped);

	if (!wrong)
		wrong = check_use(allocation);
	if (!wrong && mapped)
		wrong = mapped_memory_validate(mapped);
	count_one(allocation, totals);
	return wrong;
}

static const char *check_books(const struct vidmm_account *account, const struct totals *totals)
{
	if (atomic_load(&account->committed_bytes) != totals->committed_bytes)
		return "committed bytes were miscounted";
	if (atomic_load(&account->viewed_bytes) != totals->viewed_bytes)
		return "bytes of views were miscounted";
	return NULL;
}

static const char *check_arena(const struct totals *totals)
{
	struct cpu_map_usage usage = cpu_map_usage();
	uint64_t taken_pages = totals->viewed_bytes / MACHINE_PAGE_BYTES + usage.abandoned_pages;

	if (usage.taken_pages != taken_pages)
		return "addresses of views were miscounted";
	if (usage.abandoned_pages == 0 && usage.taken_ranges != totals->views)
		return "views were miscounted";
	return NULL;
}

static bool is_charged_to(const struct vidmm_account *payer, const struct vidmm_account *account)
{
	while (payer && payer != account)
		payer = payer->parent;
	return payer != NULL;
}

const char *vidmm_account_validate(const struct vidmm_account *account,
				   struct vidmm_allocation *const allocations[], size_t count)
{
	struct totals totals = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (!is_charged_to(allocations[i]->account, account))
			continue;
		lock_acquire(&allocations[i]->lock);
		count_one(allocations[i], &totals);
		lock_release(&allocations[i]->lock);
	}
	return check_books(account, &totals);
}

bool vidmm_validate(const struct vidmm_account *account,
		    struct vidmm_allocation *const allocations[], size_t count, char *wrong,
		    size_t wrong_size)
{
	struct totals totals = { 0 };
	const char *found;

	for (size_t i = 0; i < count; i++) {
		lock_acquire(&allocations[i]->lock);
		found = check_one(allocations[i], &totals);
		lock_release(&allocations[i]->lock);
		if (found) {
			snprintf(wrong, wrong_size, "allocation %" PRIx64 " %s", allocations[i]->id,
				 found);
			return false;
		}
	}
	found = cpu_map_validate();
	if (!found)
		found = check_books(account ? account : &vidmm_everything, &totals);
	if (!found && !account)
		found = check_arena(&totals);
	if (found)
		snprintf(wrong, wrong_size, "%s", found);
	return !found;
}
