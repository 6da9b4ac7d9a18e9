/* SPDX-License-Identifier: MIT */
/*
 * request.c - addresses that are reserved, mapped and freed. See address_space.h.
 *
 *	planned ─▶ tables made ─▶ applied ─▶ a row that writes them
 *	   ▲           │
 *	   └───────────┴── the root is too small, or there is no room for a table: that first
 *
 * Tables that are out are not waited for unless there have to be more of them: what is true then is
 * written when they come back.
 *
 * Locks: page_tables.lock.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "address_space/parts.h"

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
				   struct space_row *row, struct table_block_wants *wants)
{
	lock_assert_held(&space->tables.lock);
	for (size_t i = 0; i < plan->step_count; i++)
		row->ranges[i] = (struct space_range_of_pages){ plan->steps[i].first_page,
								plan->steps[i].page_count };
	row->range_count = plan->step_count;
	return page_tables_make_steps_locked(&space->tables, plan->steps, plan->step_count,
					     TABLES_NOW, wants);
}

/* What is asked for: one of these. */
struct space_request {
	const struct gpuva_reserve_request *reserve;
	const struct gpuva_map_request *map;
	uint64_t free_base;
	uint64_t free_bytes;
	bool is_in_driver; /* and waits for nobody */
};

NTSTATUS space_check_owner_locked(const struct gpuva_owner *owner)
{
	if (!owner)
		return STATUS_SUCCESS;
	const struct space_memory *memory = container_of(owner, struct space_memory, view.owner);
	lock_assert_held(&memory->space->tables.lock);
	if (!memory->is_gone)
		return STATUS_SUCCESS;
	return invalid(RULE_API_HANDLE, "hAllocation", "was destroyed during the call");
}

static NTSTATUS plan_map_locked(struct page_tables *tables, const struct gpuva_map_request *map,
				struct gpuva_plan *plan)
{
	NTSTATUS status = space_check_owner_locked(map->owner);

	lock_assert_held(&tables->lock);
	*plan = (struct gpuva_plan){ 0 };
	return NT_SUCCESS(status) ? gpuva_plan_map(&tables->space, map, plan) : status;
}

static NTSTATUS plan_locked(struct page_tables *tables, const struct space_request *request,
			    struct gpuva_plan *plan)
{
	lock_assert_held(&tables->lock);
	if (request->reserve)
		return gpuva_plan_reserve(&tables->space, request->reserve, plan);
	if (request->map)
		return plan_map_locked(tables, request->map, plan);
	return gpuva_plan_free(&tables->space, request->free_base, request->free_bytes,
			       request->is_in_driver, plan);
}

bool space_is_above_root_locked(const struct address_space *space, const struct gpuva_plan *plan,
				uint64_t *end_page_out)
{
	lock_assert_held(&space->tables.lock);
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

NTSTATUS space_carry_out_unlock(struct address_space *space, struct gpuva_plan *plan,
				NTSTATUS status, bool is_change, struct table_block_wants *wants,
				const struct space_listener *listener, uint64_t *address_out)
{
	struct space_row *row = NULL;
	bool is_written = false;

	lock_assert_held(&space->tables.lock);
	if (NT_SUCCESS(status)) {
		row = space_row_create(space, plan->step_count);
		status = row ? make_tables_locked(space, plan, row, wants) : STATUS_NO_MEMORY;
	}
	if (NT_SUCCESS(status)) {
		is_written = must_be_written(plan, is_change);
		*address_out = plan->first_page << GPUVA_PAGE_SHIFT;
		gpuva_plan_apply(plan);
	}
	gpuva_plan_finish(plan);
	/*
	 * Before anybody finds that an address is free: who gives up what was mapped there waits
	 * for the jobs that are queued.
	 */
	if (is_written)
		space_row_queue(row, listener);
	lock_release(&space->tables.lock);
	if (is_written)
		return STATUS_PENDING;
	mem_free(row);
	return status;
}

/* STATUS_RETRY, with an end: the root does not reach so far. */
static NTSTATUS try_to_carry_out(struct address_space *space, const struct space_request *request,
				 struct table_block_wants *wants,
				 const struct space_listener *listener, uint64_t *address_out,
				 uint64_t *end_page_out)
{
	struct gpuva_plan plan;

	lock_acquire(&space->tables.lock);
	NTSTATUS status = plan_locked(&space->tables, request, &plan);
	if (NT_SUCCESS(status) && space_is_above_root_locked(space, &plan, end_page_out))
		status = STATUS_RETRY;
	return space_carry_out_unlock(space, &plan, status, !request->reserve, wants, listener,
				      address_out);
}

/* Nothing was planned that would still be true. */
static NTSTATUS grow_root(struct address_space *space, uint64_t end_page, bool is_in_driver)
{
	if (is_in_driver)
		return refuse(STATUS_NO_MEMORY, RULE_VA_ROOT, "BaseAddress",
			      "is above the root page table, which does not grow while a driver "
			      "waits for it");
	return space_grow_root(space, end_page);
}

/* There was no room: there is when it returns, and the tables are in. They are held. */
static NTSTATUS await_blocks(struct address_space *space, struct table_block_wants *wants,
			     bool is_in_driver)
{
	return is_in_driver ? table_block_wants_refuse()
			    : table_block_wants_await(wants, space->config, space->tables.process);
}

static NTSTATUS carry_out(struct address_space *space, const struct space_request *request,
			  const struct space_listener *listener, uint64_t *address_out)
{
	struct table_block_wants wants = { 0 };
	uint64_t end_page = 0;
	NTSTATUS status;

	space_enter(space);
	do {
		status = try_to_carry_out(space, request, &wants, listener, address_out, &end_page);
		if (status == STATUS_RETRY)
			status = grow_root(space, end_page, request->is_in_driver);
		else if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
			status = await_blocks(space, &wants, request->is_in_driver);
		else
			break;
	} while (NT_SUCCESS(status));
	table_block_wants_finish(&wants, space->config);
	space_leave(space);
	return status;
}

NTSTATUS address_space_reserve(struct address_space *space,
			       const struct gpuva_reserve_request *request,
			       const struct space_listener *listener, uint64_t *address_out)
{
	return carry_out(space,
			 &(struct space_request){ .reserve = request,
						  .is_in_driver = request->is_from_driver },
			 listener, address_out);
}

NTSTATUS address_space_map(struct address_space *space, const struct gpuva_map_request *request,
			   const struct space_listener *listener, uint64_t *address_out)
{
	return carry_out(space, &(struct space_request){ .map = request }, listener, address_out);
}

NTSTATUS address_space_map_from_driver(struct address_space *space,
				       const struct gpuva_map_request *request,
				       const struct space_listener *listener, uint64_t *address_out)
{
	struct gpuva_map_request within = *request;

	lock_acquire(&space->tables.lock);
	uint64_t end_page = space->tables.end_page;
	lock_release(&space->tables.lock);
	if (end_page < space->tables.space.page_count &&
	    (within.window.maximum == 0 || within.window.maximum > end_page << GPUVA_PAGE_SHIFT))
		within.window.maximum = end_page << GPUVA_PAGE_SHIFT;
	return carry_out(space, &(struct space_request){ .map = &within, .is_in_driver = true },
			 listener, address_out);
}

uint64_t address_space_best_alignment(const struct address_space *space, uint64_t page_count)
{
	return gpuva_shape_best_alignment(&space->tables.config->shape, page_count);
}

NTSTATUS address_space_free(struct address_space *space, uint64_t base, uint64_t size_bytes,
			    bool is_from_driver, const struct space_listener *listener)
{
	uint64_t address;
	NTSTATUS status = carry_out(space,
				    &(struct space_request){ .free_base = base,
							     .free_bytes = size_bytes,
							     .is_in_driver = is_from_driver },
				    listener, &address);

	return status == STATUS_PENDING && !listener ? STATUS_SUCCESS : status;
}
