/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "vidmm/backing.h"

/* Room for one more run. The capacity is the run count, rounded up to a power of two. */
static bool backing_grow(struct vidmm_backing *backing)
{
	if (!is_power_of_two(backing->run_count))
		return true;
	struct backing_run *runs = mem_realloc(backing->run_count > 1 ? backing->many : NULL,
					       (size_t)backing->run_count * 2 * sizeof(*runs));
	if (!runs)
		return false;
	if (backing->run_count == 1)
		runs[0] = backing->one;
	backing->many = runs;
	return true;
}

static void run_give(struct backing_run run, bool is_wanted_soon)
{
	uint64_t address = (uint64_t)run.first_pfn << MACHINE_PAGE_SHIFT;
	bool was_there =
		is_wanted_soon ? machine_free_filled(address) : machine_free_contiguous(address);

	assert(was_there);
	(void)was_there;
}

static bool backing_add(struct vidmm_backing *backing, struct backing_run run)
{
	if (backing->run_count == 0) {
		backing->one = run;
	} else if (backing_grow(backing)) {
		backing->many[backing->run_count] = run;
	} else {
		run_give(run, false);
		return false;
	}
	backing->run_count++;
	return true;
}

static NTSTATUS take(struct vidmm_backing *backing, struct machine_bank *bank, uint64_t page_count,
		     uint64_t highest,
		     uint64_t (*alloc)(struct machine_bank *bank, uint64_t count, uint64_t highest,
				       uint64_t *address_out))
{
	assert(backing->run_count == 0 && !backing->is_clients);
	/* What cannot be had is not even begun, so that others are not starved meanwhile. */
	if (!machine_set_up())
		return STATUS_NO_MEMORY;
	struct machine_usage usage = machine_usage();
	if (page_count > usage.total_pages - usage.taken_pages)
		return STATUS_NO_MEMORY;

	while (page_count > 0) {
		uint64_t address;
		uint64_t got = alloc(bank, page_count, highest, &address);

		if (got == 0 ||
		    !backing_add(backing, (struct backing_run){
						  (uint32_t)(address >> MACHINE_PAGE_SHIFT),
						  (uint32_t)got,
					  })) {
			backing_give(backing);
			return STATUS_NO_MEMORY;
		}
		page_count -= got;
	}
	return STATUS_SUCCESS;
}

NTSTATUS backing_take(struct vidmm_backing *backing, struct machine_bank *bank, uint64_t page_count,
		      uint64_t highest)
{
	NTSTATUS status = machine_bank_check_quota(bank, page_count);

	return NT_SUCCESS(status) ? take(backing, bank, page_count, highest, machine_bank_stretch)
				  : status;
}

NTSTATUS backing_take_to_fill(struct vidmm_backing *backing, struct machine_bank *bank,
			      uint64_t page_count, uint64_t highest)
{
	return take(backing, bank, page_count, highest, machine_bank_to_fill);
}

void backing_forget(struct vidmm_backing *backing)
{
	if (backing->run_count > 1)
		mem_free(backing->many);
	*backing = (struct vidmm_backing){ 0 };
}

static void give(struct vidmm_backing *backing, bool is_wanted_soon)
{
	const struct backing_run *runs = backing_runs(backing);

	for (uint32_t i = 0; i < backing->run_count; i++)
		run_give(runs[i], is_wanted_soon);
	backing_forget(backing);
}

void backing_give(struct vidmm_backing *backing)
{
	give(backing, false);
}

void backing_give_filled(struct vidmm_backing *backing)
{
	give(backing, true);
}

uint64_t backing_page_count(const struct vidmm_backing *backing)
{
	const struct backing_run *runs = backing_runs(backing);
	uint64_t count = 0;

	for (uint32_t i = 0; i < backing->run_count; i++)
		count += runs[i].count;
	return count;
}
