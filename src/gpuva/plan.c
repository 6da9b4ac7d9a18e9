/* SPDX-License-Identifier: MIT */
/*
 * plan.c - see plan.h: reserve, map, free and drop, and how a plan comes into force.
 */
#include <assert.h>
#include <inttypes.h>

#include "base/checked.h"
#include "base/mem.h"
#include "gpuva/plan_parts.h"

static const uint64_t unit_64k_bytes = (uint64_t)GPUVA_PAGES_PER_64K << GPUVA_PAGE_SHIFT;

/* Life. */

void plan_begin(struct gpuva_plan *plan, struct gpuva_space *space)
{
	/* One by one: this is on every way, and `one` is not read before it is written. */
	plan->steps = NULL;
	plan->step_count = 0;
	plan->source = 0;
	plan->space = space;
	plan->change_count = space->change_count;
	plan->action = GPUVA_ACTION_NONE;
	plan->reservation = NULL;
	plan->whole = NULL;
	plan->fresh = NULL;
	plan->spare = NULL;
	plan->step_array = NULL;
	plan->stock = NULL;
	space->open_plans++;
}

static void give_storage_back(struct gpuva_plan *plan)
{
	struct range_pool *pool = &plan->space->pool;

	range_pool_give(pool, plan->fresh);
	range_pool_give(pool, plan->spare);
	while (plan->stock) {
		struct gpuva_range *range = plan->stock;

		plan->stock = range_after_in_stock(range);
		range_pool_give(pool, range);
	}
	mem_free(plan->step_array);
}

void gpuva_plan_finish(struct gpuva_plan *plan)
{
	if (!plan->space)
		return;
	/* Most have used what they took. */
	if (UNLIKELY(plan->fresh || plan->spare || plan->stock || plan->step_array))
		give_storage_back(plan);
	plan->space->open_plans--;
	plan->space = NULL;
}

void plan_set_reservation(struct gpuva_plan *plan, struct gpuva_range *area)
{
	plan->action = GPUVA_ACTION_PIECE;
	plan->reservation = area;
	plan->source = area->source;
	plan->origin = area->origin;
}

NTSTATUS plan_abandon(struct gpuva_plan *plan, NTSTATUS status)
{
	gpuva_plan_finish(plan);
	return status;
}

/* One step; its state is in plan->one already. */
static void plan_set_step(struct gpuva_plan *plan, const struct page_range *where)
{
	plan->first_page = where->first_page;
	plan->one.first_page = where->first_page;
	plan->one.page_count = where->page_count;
	plan->steps = &plan->one;
	plan->step_count = 1;
}

/* The last that can fail: storage for a new range, and for one that may be cut in two. */
static NTSTATUS plan_take_storage(struct gpuva_plan *plan, bool needs_fresh, bool needs_spare)
{
	if (needs_fresh && !(plan->fresh = range_pool_take(&plan->space->pool)))
		return plan_refuse_memory();
	if (needs_spare && !(plan->spare = range_pool_take(&plan->space->pool)))
		return plan_refuse_memory();
	return STATUS_SUCCESS;
}

/* Where a new range goes. */

/* [from_page, end_page) of the window; without a base. */
static NTSTATUS window_limits(const struct gpuva_space *space, const struct gpuva_window *window,
			      uint64_t unit_bytes, struct page_range *limits_out)
{
	uint64_t end_page = space->page_count;
	uint64_t from_page = window->minimum >> GPUVA_PAGE_SHIFT;

	*limits_out = (struct page_range){ GPUVA_FIRST_PAGE, end_page - GPUVA_FIRST_PAGE };
	if (LIKELY((window->minimum | window->maximum) == 0))
		return STATUS_SUCCESS;
	if (!is_aligned(window->minimum, unit_bytes))
		return plan_refuse(NO_INDEX, RULE_VA_ALIGNMENT, "MinimumAddress",
				   "is 0x%" PRIx64 ", which is no multiple of 0x%" PRIx64,
				   window->minimum, unit_bytes);
	if (window->maximum != 0) {
		/* Clients also name the last byte they mean. */
		bool is_last_byte = is_aligned(window->maximum + 1, GPUVA_PAGE_BYTES);

		if (!is_last_byte && !is_aligned(window->maximum, unit_bytes))
			return plan_refuse(NO_INDEX, RULE_VA_ALIGNMENT, "MaximumAddress",
					   "is 0x%" PRIx64
					   ", which is neither a multiple of 0x%" PRIx64
					   " nor the last byte of a page",
					   window->maximum, unit_bytes);
		end_page = (window->maximum >> GPUVA_PAGE_SHIFT) + (is_last_byte ? 1 : 0);
	}
	if (end_page > space->page_count)
		end_page = space->page_count;
	if (from_page < GPUVA_FIRST_PAGE)
		from_page = GPUVA_FIRST_PAGE;
	if (from_page >= end_page)
		return plan_refuse(NO_INDEX, RULE_VA_LIMITS, "MinimumAddress",
				   "is 0x%" PRIx64 ", and no page lies between it and 0x%" PRIx64,
				   window->minimum, end_page << GPUVA_PAGE_SHIFT);
	*limits_out = (struct page_range){ from_page, end_page - from_page };
	return STATUS_SUCCESS;
}

/* Room for `pages`, at an address of the kernel's choice. Sets plan->above. */
static NTSTATUS choose_place(struct gpuva_plan *plan, const struct page_range *limits,
			     uint64_t pages, uint64_t alignment_pages, uint64_t *first_page_out)
{
	if (range_set_find_gap(&plan->space->areas, limits->first_page, page_range_end(limits),
			       pages, alignment_pages, first_page_out, &plan->above))
		return STATUS_SUCCESS;
	return refuse(STATUS_NO_MEMORY, RULE_VA_FULL, NULL,
		      "no 0x%" PRIx64 " bytes are free between 0x%" PRIx64 " and 0x%" PRIx64,
		      pages << GPUVA_PAGE_SHIFT, limits->first_page << GPUVA_PAGE_SHIFT,
		      page_range_end(limits) << GPUVA_PAGE_SHIFT);
}

static NTSTATUS refuse_used_base(const struct gpuva_plan *plan, uint64_t base)
{
	return plan_refuse(NO_INDEX, RULE_VA_IN_USE, "BaseAddress",
			   "is 0x%" PRIx64 ", and from 0x%" PRIx64 " on something is in use", base,
			   plan->above->first_page << GPUVA_PAGE_SHIFT);
}

static NTSTATUS refuse_kernels(void)
{
	return plan_refuse(NO_INDEX, RULE_VA_DRIVER, "BaseAddress",
			   "lies in a range that the kernel or the driver mapped");
}

/* Reserve. */

static NTSTATUS reserve_place(struct gpuva_plan *plan, const struct gpuva_reserve_request *request,
			      uint64_t unit_bytes, struct page_range *where)
{
	struct gpuva_space *space = plan->space;
	const struct gpuva_window *window = &request->window;
	uint64_t unit_pages = unit_bytes >> GPUVA_PAGE_SHIFT;
	uint64_t alignment_pages = request->driver_alignment_bytes >> GPUVA_PAGE_SHIFT;
	struct page_range limits;
	NTSTATUS status;

	if (window->base == 0) {
		status = window_limits(space, window, unit_bytes, &limits);
		if (!NT_SUCCESS(status))
			return status;
		if (alignment_pages < unit_pages)
			alignment_pages = unit_pages;
		return choose_place(plan, &limits, where->page_count, alignment_pages,
				    &where->first_page);
	}
	status = plan_check_base(space, NO_INDEX, "BaseAddress", window->base, unit_bytes,
				 where->page_count, &where->first_page);
	if (!NT_SUCCESS(status))
		return status;
	plan->above = range_set_from(&space->areas, where->first_page);
	if (plan->above && plan->above->first_page < page_range_end(where))
		return refuse_used_base(plan, window->base);
	return STATUS_SUCCESS;
}

NTSTATUS gpuva_plan_reserve(struct gpuva_space *space, const struct gpuva_reserve_request *request,
			    struct gpuva_plan *plan)
{
	uint64_t unit_bytes = request->is_from_driver ? space->driver_unit_pages << GPUVA_PAGE_SHIFT
						      : unit_64k_bytes;
	struct page_range where;

	plan_begin(plan, space);
	if (request->driver_alignment_bytes != 0 &&
	    !is_power_of_two(request->driver_alignment_bytes))
		return plan_abandon(plan, plan_refuse(NO_INDEX, RULE_VA_ALIGNMENT, "Alignment",
						      "is 0x%" PRIx64 ", which is no power of two",
						      request->driver_alignment_bytes));
	NTSTATUS status = plan_check_size(space, NO_INDEX, "Size", request->size_bytes, unit_bytes,
					  &where.page_count);
	if (NT_SUCCESS(status))
		status = reserve_place(plan, request, unit_bytes, &where);
	if (NT_SUCCESS(status))
		status = plan_take_storage(plan, true, false);
	if (!NT_SUCCESS(status))
		return plan_abandon(plan, status);

	plan->action = GPUVA_ACTION_TAKE;
	plan->origin = !request->is_from_driver  ? GPUVA_ORIGIN_RESERVE
		       : request->may_client_map ? GPUVA_ORIGIN_DRIVER_MAPPABLE
						 : GPUVA_ORIGIN_DRIVER;
	plan->source = space->next_source;
	plan->one.state = (struct gpuva_state){
		.kind = request->is_zero ? GPUVA_KIND_ZERO : GPUVA_KIND_NO_ACCESS,
		.driver_protection = request->driver_protection,
	};
	plan_set_step(plan, &where);
	return STATUS_SUCCESS;
}

/* Ranges that are there already. */

/*
 * The areas of `where` came from one request and have no gap: one reservation, or one map
 * request's. The first of them, or NULL with a refusal.
 */
static struct gpuva_range *find_areas(const struct gpuva_space *space,
				      const struct page_range *where, enum rule rule)
{
	struct gpuva_range *first = range_set_at(&space->areas, where->first_page);
	struct gpuva_range *area = first;
	struct gpuva_range *above;
	uint64_t end_page = page_range_end(where);

	if (!first) {
		(void)plan_refuse(NO_INDEX, rule, "BaseAddress",
				  "is 0x%" PRIx64 ", and that is free",
				  where->first_page << GPUVA_PAGE_SHIFT);
		return NULL;
	}
	while (range_end(area) < end_page) {
		above = range_next(area);
		if (!above || range_gap(above) != 0 || above->source != first->source) {
			(void)plan_refuse(NO_INDEX, RULE_VA_ONE_RANGE, "BaseAddress",
					  "is 0x%" PRIx64 ", and the range there ends at 0x%" PRIx64
					  ", before 0x%" PRIx64,
					  where->first_page << GPUVA_PAGE_SHIFT,
					  range_end(area) << GPUVA_PAGE_SHIFT,
					  end_page << GPUVA_PAGE_SHIFT);
			return NULL;
		}
		area = above;
	}
	return first;
}

/* Map. */

static NTSTATUS map_check(const struct gpuva_space *space, const struct gpuva_map_request *request)
{
	bool is_bare = (request->protection & (GPUVA_ZERO | GPUVA_NO_ACCESS)) != 0;

	if (request->protection & ~(GPUVA_WRITE | GPUVA_EXECUTE | GPUVA_ZERO | GPUVA_NO_ACCESS))
		return plan_refuse(NO_INDEX, RULE_VA_PROTECTION, "Protection",
				   "is 0x%" PRIx64 ", with bits that no client may set",
				   request->protection);
	if ((request->protection & GPUVA_ZERO) && (request->protection & GPUVA_NO_ACCESS))
		return plan_refuse(NO_INDEX, RULE_VA_PROTECTION, "Protection",
				   "says both Zero and NoAccess");
	if (is_bare && request->owner)
		return plan_refuse(NO_INDEX, RULE_VA_ALLOCATION, "hAllocation",
				   "is given, and with Zero or NoAccess nothing is mapped");
	if (!is_bare && !request->owner)
		return plan_refuse(NO_INDEX, RULE_VA_ALLOCATION, "hAllocation",
				   "is 0, and only Zero and NoAccess map nothing");
	if (request->page_count == 0 || request->page_count > space->page_count)
		return plan_refuse(NO_INDEX, RULE_VA_RANGE, "SizeInPages",
				   "is 0x%" PRIx64 ", and the space has 1 to 0x%" PRIx64 " pages",
				   request->page_count, space->page_count);
	if (is_bare)
		return STATUS_SUCCESS;
	return plan_check_memory(NO_INDEX, request->owner, "OffsetInPages", request->offset_pages,
				 request->page_count);
}

static void map_state(const struct gpuva_map_request *request, struct gpuva_state *state_out)
{
	*state_out = (struct gpuva_state){ .driver_protection = request->driver_protection };
	if (request->protection & (GPUVA_ZERO | GPUVA_NO_ACCESS)) {
		state_out->kind =
			request->protection & GPUVA_ZERO ? GPUVA_KIND_ZERO : GPUVA_KIND_NO_ACCESS;
		return;
	}
	state_out->kind = GPUVA_KIND_MAPPED;
	state_out->protection = (uint32_t)request->protection;
	state_out->owner = request->owner;
	state_out->offset_pages = request->offset_pages;
}

static NTSTATUS map_take(struct gpuva_plan *plan, const struct gpuva_map_request *request)
{
	plan->action = GPUVA_ACTION_TAKE;
	plan->origin = request->is_from_kernel ? GPUVA_ORIGIN_KERNEL : GPUVA_ORIGIN_MAP;
	plan->source = plan->space->next_source;
	return plan_take_storage(plan, true, false);
}

/*
 * Clients choose their addresses themselves, mostly from below, and those who share pointers with
 * the processor in all of its half. So the kernel begins near the top, unless it was told.
 */
static uint64_t map_from(const struct gpuva_space *space, const struct gpuva_map_request *request,
			 const struct page_range *limits)
{
	uint64_t top_page = space->kernel_end_page - space->kernel_end_page / 8;

	if (!request->is_from_kernel || request->window.minimum != 0 ||
	    top_page >= page_range_end(limits))
		return limits->first_page;
	return top_page;
}

/* No base: somewhere between minimum and maximum. */
static NTSTATUS map_anywhere(struct gpuva_plan *plan, const struct gpuva_map_request *request,
			     struct page_range *where)
{
	uint64_t alignment_pages = request->alignment_pages;
	struct page_range limits;

	if (!request->owner)
		return plan_refuse(NO_INDEX, RULE_VA_RESERVED_ONLY, "BaseAddress",
				   "is 0, and Zero and NoAccess need an address that was reserved");
	NTSTATUS status = window_limits(plan->space, &request->window, GPUVA_PAGE_BYTES, &limits);
	if (!NT_SUCCESS(status))
		return status;
	/* Where 64 KiB pages are possible they should be; they are not worth a refusal. */
	if (alignment_pages == 0)
		alignment_pages = where->page_count < GPUVA_PAGES_PER_64K ? 1 : GPUVA_PAGES_PER_64K;
	assert(is_power_of_two(alignment_pages));
	if (!range_set_find_gap(&plan->space->areas, map_from(plan->space, request, &limits),
				page_range_end(&limits), where->page_count, alignment_pages,
				&where->first_page, &plan->above)) {
		status = choose_place(plan, &limits, where->page_count, 1, &where->first_page);
		if (!NT_SUCCESS(status))
			return status;
	}
	return map_take(plan, request);
}

static NTSTATUS map_on_reservation(struct gpuva_plan *plan, struct gpuva_range *area)
{
	if (area->origin == GPUVA_ORIGIN_DRIVER)
		return plan_refuse(NO_INDEX, RULE_VA_DRIVER, "BaseAddress",
				   "lies in a range that the driver keeps for itself");
	plan_set_reservation(plan, area);
	return plan_take_storage(plan, true, true);
}

static NTSTATUS map_at_base(struct gpuva_plan *plan, const struct gpuva_map_request *request,
			    struct page_range *where)
{
	struct gpuva_space *space = plan->space;

	NTSTATUS status = plan_check_base(space, NO_INDEX, "BaseAddress", request->window.base,
					  GPUVA_PAGE_BYTES, where->page_count, &where->first_page);
	if (!NT_SUCCESS(status))
		return status;
	plan->above = range_set_from(&space->areas, where->first_page);
	if (!plan->above || plan->above->first_page >= page_range_end(where)) {
		if (request->owner)
			return map_take(plan, request);
		return plan_refuse(NO_INDEX, RULE_VA_RESERVED_ONLY, "BaseAddress",
				   "is free, and Zero and NoAccess need an address that was "
				   "reserved");
	}
	if (request->is_from_kernel)
		return refuse_used_base(plan, request->window.base);
	struct gpuva_range *area = find_areas(space, where, RULE_VA_ONE_RANGE);
	if (!area)
		return STATUS_INVALID_PARAMETER;
	if (area->origin == GPUVA_ORIGIN_KERNEL)
		return refuse_kernels();
	if (gpuva_is_reservation(area))
		return map_on_reservation(plan, area);
	if (!request->owner)
		return plan_refuse(
			NO_INDEX, RULE_VA_RESERVED_ONLY, "BaseAddress",
			"came from a map call, and Zero and NoAccess need an address that "
			"was reserved");
	plan->action = GPUVA_ACTION_REMAP;
	plan->origin = GPUVA_ORIGIN_MAP;
	plan->source = area->source;
	return plan_take_storage(plan, true, true);
}

NTSTATUS gpuva_plan_map(struct gpuva_space *space, const struct gpuva_map_request *request,
			struct gpuva_plan *plan)
{
	struct page_range where = { .page_count = request->page_count };

	plan_begin(plan, space);
	map_state(request, &plan->one.state);
	NTSTATUS status = map_check(space, request);
	if (NT_SUCCESS(status))
		status = plan_check_unique(NO_INDEX, &plan->one.state, request->page_count, NULL);
	if (NT_SUCCESS(status))
		status = request->window.base == 0 ? map_anywhere(plan, request, &where)
						   : map_at_base(plan, request, &where);
	if (!NT_SUCCESS(status))
		return plan_abandon(plan, status);
	plan_set_step(plan, &where);
	return STATUS_SUCCESS;
}

/* Free and drop. */

static NTSTATUS free_areas(struct gpuva_plan *plan, const struct page_range *where,
			   bool is_from_driver)
{
	struct gpuva_range *area = find_areas(plan->space, where, RULE_VA_NOT_THERE);

	if (!area)
		return STATUS_INVALID_PARAMETER;
	if (area->origin == GPUVA_ORIGIN_KERNEL)
		return refuse_kernels();
	bool is_drivers =
		area->origin == GPUVA_ORIGIN_DRIVER || area->origin == GPUVA_ORIGIN_DRIVER_MAPPABLE;
	if (is_drivers != is_from_driver)
		return plan_refuse(NO_INDEX, RULE_VA_DRIVER, "BaseAddress",
				   "lies in a range that the %s reserved",
				   is_drivers ? "driver" : "client");
	bool is_whole =
		area->first_page == where->first_page && area->page_count == where->page_count;
	plan->action = GPUVA_ACTION_FREE;
	plan->source = area->source;
	if (is_whole)
		plan->whole = area;
	if (gpuva_is_reservation(area))
		plan->reservation = area;
	return plan_take_storage(plan, !is_whole, plan->reservation && !is_whole);
}

NTSTATUS gpuva_plan_free(struct gpuva_space *space, uint64_t base, uint64_t size_bytes,
			 bool is_from_driver, struct gpuva_plan *plan)
{
	struct page_range where;

	plan_begin(plan, space);
	NTSTATUS status = plan_check_size(space, NO_INDEX, "Size", size_bytes, GPUVA_PAGE_BYTES,
					  &where.page_count);
	if (NT_SUCCESS(status))
		status = plan_check_base(space, NO_INDEX, "BaseAddress", base, GPUVA_PAGE_BYTES,
					 where.page_count, &where.first_page);
	if (NT_SUCCESS(status))
		status = free_areas(plan, &where, is_from_driver);
	if (!NT_SUCCESS(status))
		return plan_abandon(plan, status);
	plan->one.state = (struct gpuva_state){ .kind = GPUVA_KIND_FREE };
	plan_set_step(plan, &where);
	return STATUS_SUCCESS;
}

void gpuva_plan_drop(struct gpuva_space *space, struct gpuva_range *range, struct gpuva_plan *plan)
{
	struct page_range where = { range->first_page, range->page_count };

	assert(range->state.kind == GPUVA_KIND_MAPPED);
	plan_begin(plan, space);
	plan->whole = range;
	plan->source = range->source;
	if (gpuva_is_reservation(range)) {
		plan->action = GPUVA_ACTION_UNCOVER;
		plan->one.state = range_set_at(&space->areas, range->first_page)->state;
	} else {
		plan->action = GPUVA_ACTION_FREE;
		plan->one.state = (struct gpuva_state){ .kind = GPUVA_KIND_FREE };
	}
	plan_set_step(plan, &where);
}

/* Coming into force. */

/* The plan's storage, filled in, becomes part of `set`. */
static void insert_fresh(struct gpuva_plan *plan, struct range_set *set,
			 const struct gpuva_step *step, struct gpuva_range *above)
{
	struct gpuva_range *range = plan->fresh;

	plan->fresh = NULL;
	range->first_page = step->first_page;
	range->page_count = step->page_count;
	range->state = step->state;
	range->source = plan->source;
	range->origin = plan->origin;
	range_set_insert(set, range, above);
}

static void replace(struct gpuva_plan *plan, struct range_set *set, const struct gpuva_step *step)
{
	uint64_t end_page = step->first_page + step->page_count;
	struct gpuva_range *range = plan->fresh;

	range_set_cut(set, step->first_page, end_page, &plan->spare);
	insert_fresh(plan, set, step, range_set_from(set, end_page));
	range_set_join(set, range);
}

static struct gpuva_range *pop_stock(struct gpuva_plan *plan)
{
	struct gpuva_range *range = plan->stock;

	plan->stock = range_after_in_stock(range);
	return range;
}

static void apply_pieces(struct gpuva_plan *plan)
{
	struct range_set *pieces = &plan->space->pieces;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct gpuva_step *step = &plan->steps[i];

		if (plan->stock && !plan->fresh)
			plan->fresh = pop_stock(plan);
		if (plan->stock && !plan->spare)
			plan->spare = pop_stock(plan);
		if (gpuva_state_equal(&step->state, &plan->reservation->state))
			range_set_cut(pieces, step->first_page, step->first_page + step->page_count,
				      &plan->spare);
		else
			replace(plan, pieces, step);
	}
}

static void remove_whole(struct gpuva_plan *plan, struct range_set *set)
{
	range_set_remove(set, plan->whole);
	range_pool_give(&plan->space->pool, plan->whole);
}

static void apply_free(struct gpuva_plan *plan)
{
	struct gpuva_space *space = plan->space;
	uint64_t first_page = plan->one.first_page;
	uint64_t end_page = first_page + plan->one.page_count;

	if (plan->reservation)
		range_set_cut(&space->pieces, first_page, end_page, &plan->spare);
	if (plan->whole)
		remove_whole(plan, &space->areas);
	else
		range_set_cut(&space->areas, first_page, end_page, &plan->fresh);
}

void gpuva_plan_apply(struct gpuva_plan *plan)
{
	struct gpuva_space *space = plan->space;

	assert(plan->change_count == space->change_count);
	space->change_count++;
	switch (plan->action) {
	case GPUVA_ACTION_NONE:
		break;
	case GPUVA_ACTION_TAKE:
		space->next_source++;
		insert_fresh(plan, &space->areas, &plan->one, plan->above);
		break;
	case GPUVA_ACTION_FREE:
		apply_free(plan);
		break;
	case GPUVA_ACTION_REMAP:
		replace(plan, &space->areas, &plan->one);
		break;
	case GPUVA_ACTION_PIECE:
		apply_pieces(plan);
		break;
	case GPUVA_ACTION_UNCOVER:
		remove_whole(plan, &space->pieces);
		break;
	}
	plan->action = GPUVA_ACTION_NONE;
}
