/*
 * space_request.c - addresses that are reserved, mapped and freed. See address_space.h.
 *
 * Locks: page_tables.lock.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/address_space_parts.h"

/* What was free and is reserved without access is invalid, and was. */
static bool must_be_written(const struct gpuva_plan *plan, bool is_change)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		if (is_change || plan->steps[i].state.kind == GPUVA_KIND_ZERO ||
		    plan->steps[i].state.kind == GPUVA_KIND_MAPPED)
			return true;
	}
	return false;
}

static NTSTATUS make_tables_locked(struct address_space *space, const struct gpuva_plan *plan,
				   struct space_row *row)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct gpuva_step *step = &plan->steps[i];
		NTSTATUS status = page_tables_make_locked(&space->tables, step->first_page,
							  step->page_count, &step->state);

		if (!NT_SUCCESS(status))
			return status;
		row->ranges[i] =
			(struct space_range_of_pages){ step->first_page, step->page_count };
	}
	row->range_count = plan->step_count;
	return STATUS_SUCCESS;
}

NTSTATUS space_carry_out_locked(struct address_space *space, struct gpuva_plan *plan,
				NTSTATUS status, bool is_change,
				const struct space_listener *listener, uint64_t *address_out)
{
	struct space_row *row = NULL;
	bool is_written = false;

	if (NT_SUCCESS(status)) {
		row = space_row_create(space, plan->step_count);
		status = row ? make_tables_locked(space, plan, row) : STATUS_NO_MEMORY;
	}
	if (NT_SUCCESS(status)) {
		is_written = must_be_written(plan, is_change);
		*address_out = plan->first_page << GPUVA_PAGE_SHIFT;
		gpuva_plan_apply(plan);
	}
	gpuva_plan_finish(plan);
	lock_release(&space->tables.lock);
	if (!is_written) {
		mem_free(row);
		return status;
	}
	space_row_queue(row, listener);
	return STATUS_PENDING;
}

bool space_is_above_root_locked(const struct address_space *space, const struct gpuva_plan *plan,
				uint64_t *end_page_out)
{
	*end_page_out = 0;
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct gpuva_step *step = &plan->steps[i];
		uint64_t end_page = step->first_page + step->page_count;

		if ((step->state.kind == GPUVA_KIND_MAPPED ||
		     step->state.kind == GPUVA_KIND_ZERO) &&
		    end_page > *end_page_out)
			*end_page_out = end_page;
	}
	return *end_page_out > space->tables.end_page;
}

/* Without the lock meanwhile: what was planned is not true any more, and the plan is gone. */
static NTSTATUS grow_for_plan_locked(struct address_space *space, struct gpuva_plan *plan,
				     uint64_t end_page)
{
	NTSTATUS status;

	gpuva_plan_finish(plan);
	lock_release(&space->tables.lock);
	status = space_grow_root(space, end_page);
	lock_acquire(&space->tables.lock);
	return status;
}

NTSTATUS address_space_reserve(struct address_space *space,
			       const struct gpuva_reserve_request *request,
			       const struct space_listener *listener, uint64_t *address_out)
{
	struct gpuva_plan plan;
	uint64_t end_page;
	NTSTATUS status;

	lock_acquire(&space->tables.lock);
	do {
		status = gpuva_plan_reserve(&space->tables.space, request, &plan);
		if (!NT_SUCCESS(status) || !space_is_above_root_locked(space, &plan, &end_page))
			break;
		status = grow_for_plan_locked(space, &plan, end_page);
	} while (NT_SUCCESS(status));
	return space_carry_out_locked(space, &plan, status, false, listener, address_out);
}

NTSTATUS address_space_map(struct address_space *space, const struct gpuva_map_request *request,
			   const struct space_listener *listener, uint64_t *address_out)
{
	struct gpuva_plan plan;
	uint64_t end_page;
	NTSTATUS status;

	lock_acquire(&space->tables.lock);
	do {
		status = gpuva_plan_map(&space->tables.space, request, &plan);
		if (!NT_SUCCESS(status) || !space_is_above_root_locked(space, &plan, &end_page))
			break;
		status = grow_for_plan_locked(space, &plan, end_page);
	} while (NT_SUCCESS(status));
	return space_carry_out_locked(space, &plan, status, true, listener, address_out);
}

NTSTATUS address_space_map_from_driver(struct address_space *space,
				       const struct gpuva_map_request *request,
				       const struct space_listener *listener, uint64_t *address_out)
{
	struct gpuva_map_request within = *request;
	struct gpuva_plan plan;
	uint64_t end_page;
	NTSTATUS status;

	lock_acquire(&space->tables.lock);
	end_page = space->tables.end_page;
	if (end_page < space->tables.space.page_count &&
	    (within.window.maximum == 0 || within.window.maximum > end_page << GPUVA_PAGE_SHIFT))
		within.window.maximum = end_page << GPUVA_PAGE_SHIFT;
	status = gpuva_plan_map(&space->tables.space, &within, &plan);
	if (NT_SUCCESS(status) && space_is_above_root_locked(space, &plan, &end_page))
		status = refuse(STATUS_NO_MEMORY, RULE_VA_ROOT, "BaseAddress",
				"is above the root page table, which does not grow while a driver "
				"waits for it");
	return space_carry_out_locked(space, &plan, status, true, listener, address_out);
}

uint64_t address_space_best_alignment(const struct address_space *space, uint64_t page_count)
{
	return gpuva_shape_best_alignment(&space->tables.config->shape, page_count);
}

NTSTATUS address_space_free(struct address_space *space, uint64_t base, uint64_t size_bytes,
			    bool is_from_driver, const struct space_listener *listener)
{
	struct gpuva_plan plan;
	uint64_t address;
	NTSTATUS status;

	lock_acquire(&space->tables.lock);
	status = space_carry_out_locked(
		space, &plan,
		gpuva_plan_free(&space->tables.space, base, size_bytes, is_from_driver, &plan),
		true, listener, &address);
	return status == STATUS_PENDING && !listener ? STATUS_SUCCESS : status;
}
