/* SPDX-License-Identifier: MIT */
/*
 * update.c - a batch of operations on one reservation, worked out as one plan (see plan.h).
 *
 *	in:   the space, and operations that apply in order
 *	out:  what the pages show when all of them have applied
 *
 * A later operation sees what an earlier one did: a copy may read it, a map may agree or disagree
 * with it. So results are collected in a set of ranges of its own (`written`), which lies over the
 * space like a sheet of glass; the space is read where nothing was written.
 */
#include <inttypes.h>

#include "base/checked.h"
#include "base/mem.h"
#include "gpuva/plan_parts.h"

struct update {
	struct gpuva_space *space;
	struct gpuva_range *reservation; /* all destinations; NULL before the first */
	struct gpuva_range *copied_from; /* all sources */
	struct range_set written;
};

/* The reservation that holds all of `where`, or NULL with a refusal. */
static struct gpuva_range *find_reservation(const struct update *update, int64_t index,
					    const char *argument, const struct page_range *where)
{
	struct gpuva_range *area = range_set_at(&update->space->areas, where->first_page);
	uint64_t address = where->first_page << GPUVA_PAGE_SHIFT;

	if (!area || !gpuva_is_reservation(area)) {
		(void)plan_refuse(index, RULE_VA_RESERVED_ONLY, argument,
				  "is 0x%" PRIx64 ", which was not reserved", address);
		return NULL;
	}
	if (area->origin == GPUVA_ORIGIN_DRIVER) {
		(void)plan_refuse(index, RULE_VA_DRIVER, argument,
				  "is 0x%" PRIx64 ", which the driver keeps for itself", address);
		return NULL;
	}
	if (range_end(area) < page_range_end(where)) {
		(void)plan_refuse(index, RULE_VA_ONE_RANGE, argument,
				  "is 0x%" PRIx64 ", and the reservation ends at 0x%" PRIx64
				  ", before 0x%" PRIx64,
				  address, range_end(area) << GPUVA_PAGE_SHIFT,
				  page_range_end(where) << GPUVA_PAGE_SHIFT);
		return NULL;
	}
	return area;
}

/* Checks an address of an operation, and that all in its role lie in one reservation (*chosen). */
static NTSTATUS check_place(struct update *update, int64_t index, const char *argument,
			    uint64_t base, struct page_range *where, struct gpuva_range **chosen)
{
	NTSTATUS status = plan_check_base(update->space, index, argument, base, GPUVA_PAGE_BYTES,
					  where->page_count, &where->first_page);

	if (!NT_SUCCESS(status))
		return status;
	struct gpuva_range *area = find_reservation(update, index, argument, where);
	if (!area)
		return STATUS_INVALID_PARAMETER;
	if (*chosen && *chosen != area)
		return plan_refuse(index, RULE_VA_ONE_RESERVATION, argument,
				   "is 0x%" PRIx64
				   ", in another reservation than that of an operation before",
				   base);
	*chosen = area;
	return STATUS_SUCCESS;
}

static NTSTATUS check_destination(struct update *update, int64_t index,
				  const struct gpuva_operation *operation, struct page_range *where)
{
	const char *argument =
		operation->kind == GPUVA_OPERATION_COPY ? "DestAddress" : "BaseAddress";
	NTSTATUS status =
		plan_check_size(update->space, index, "SizeInBytes", operation->size_bytes,
				GPUVA_PAGE_BYTES, &where->page_count);

	if (NT_SUCCESS(status))
		status = check_place(update, index, argument, operation->base, where,
				     &update->reservation);
	if (NT_SUCCESS(status) && update->reservation->state.kind != GPUVA_KIND_ZERO)
		return plan_refuse(index, RULE_VA_UPDATE_ZERO, argument,
				   "is 0x%" PRIx64 ", which was not reserved as zero pages",
				   operation->base);
	return status;
}

/* Writing on the glass. */

/* The ranges of the list (range_push_stock(), highest first) replace what was written there. */
static NTSTATUS write_ranges(struct update *update, const struct page_range *where,
			     struct gpuva_range *list)
{
	struct gpuva_range *spare = range_pool_take(&update->space->pool);

	if (!spare) {
		while (list) {
			struct gpuva_range *next = range_after_in_stock(list);

			range_pool_give(&update->space->pool, list);
			list = next;
		}
		return plan_refuse_memory();
	}
	range_set_cut(&update->written, where->first_page, page_range_end(where), &spare);
	range_pool_give(&update->space->pool, spare);
	struct gpuva_range *above = range_set_from(&update->written, page_range_end(where));
	while (list) {
		struct gpuva_range *range = list;

		list = range_after_in_stock(range);
		range_set_insert(&update->written, range, above);
		above = range;
	}
	/* From below: joining keeps the lower one. */
	above = range_set_at(&update->written, where->first_page);
	while (above && above->first_page < page_range_end(where)) {
		struct gpuva_range *range = above;
		uint64_t end_page = range_end(range);

		range_set_join(&update->written, range);
		above = range_set_from(&update->written, end_page);
		if (above && above->first_page < end_page)
			above = range_next(above);
	}
	return STATUS_SUCCESS;
}

/* A range of the destination that is in no set yet; NULL when there is no memory. */
static struct gpuva_range *make_range(struct update *update, uint64_t first_page,
				      uint64_t page_count, const struct gpuva_state *state)
{
	struct gpuva_range *range = range_pool_take(&update->space->pool);

	if (!range)
		return NULL;
	range->first_page = first_page;
	range->page_count = page_count;
	range->state = *state;
	range->source = update->reservation->source;
	range->origin = update->reservation->origin;
	if (state->driver_protection & GPUVA_UNIQUE)
		update->written.may_have_unique = true;
	return range;
}

static NTSTATUS write_run(struct update *update, const struct page_range *where,
			  const struct gpuva_state *state)
{
	struct gpuva_range *list = NULL;
	struct gpuva_range *range = make_range(update, where->first_page, where->page_count, state);

	if (!range)
		return plan_refuse_memory();
	range_push_stock(&list, range);
	return write_ranges(update, where, list);
}

/* The operations. */

static NTSTATUS check_repeat(const struct gpuva_operation *operation, int64_t index,
			     uint64_t *pages_out)
{
	uint64_t repeat_bytes =
		operation->repeat_bytes ? operation->repeat_bytes : operation->size_bytes;

	if (!is_aligned(repeat_bytes, GPUVA_PAGE_BYTES))
		return plan_refuse(index, RULE_VA_ALIGNMENT, "AllocationSizeInBytes",
				   "is 0x%" PRIx64 ", which is no number of pages", repeat_bytes);
	if (operation->size_bytes % repeat_bytes != 0)
		return plan_refuse(index, RULE_VA_REPEAT, "AllocationSizeInBytes",
				   "is 0x%" PRIx64 ", of which SizeInBytes 0x%" PRIx64
				   " is no multiple",
				   repeat_bytes, operation->size_bytes);
	*pages_out = repeat_bytes >> GPUVA_PAGE_SHIFT;
	return STATUS_SUCCESS;
}

static NTSTATUS check_map(const struct gpuva_operation *operation, int64_t index,
			  uint64_t *repeat_pages_out)
{
	if (!operation->owner)
		return plan_refuse(index, RULE_VA_ALLOCATION, "hAllocation", "is 0");
	if (operation->kind == GPUVA_OPERATION_MAP_PROTECT &&
	    (operation->protection & ~(GPUVA_WRITE | GPUVA_EXECUTE)) != 0)
		return plan_refuse(index, RULE_VA_PROTECTION, "Protection",
				   "is 0x%" PRIx64 ", and memory has Write and Execute only",
				   operation->protection);
	if (!is_aligned(operation->offset_bytes, GPUVA_PAGE_BYTES))
		return plan_refuse(index, RULE_VA_ALIGNMENT, "AllocationOffsetInBytes",
				   "is 0x%" PRIx64 ", which is no number of pages",
				   operation->offset_bytes);
	NTSTATUS status = check_repeat(operation, index, repeat_pages_out);
	if (!NT_SUCCESS(status))
		return status;
	return plan_check_memory(index, operation->owner, "AllocationOffsetInBytes",
				 operation->offset_bytes >> GPUVA_PAGE_SHIFT, *repeat_pages_out);
}

/* MAP writes, and takes over the driver protection of the reservation; MAP_PROTECT says both. */
static NTSTATUS update_map(struct update *update, int64_t index,
			   const struct gpuva_operation *operation, const struct page_range *where)
{
	bool is_explicit = operation->kind == GPUVA_OPERATION_MAP_PROTECT;
	uint64_t repeat_pages = 0;
	NTSTATUS status = check_map(operation, index, &repeat_pages);

	if (!NT_SUCCESS(status))
		return status;
	struct gpuva_state state = {
		.kind = GPUVA_KIND_MAPPED,
		.protection = is_explicit ? (uint32_t)operation->protection : GPUVA_WRITE,
		.driver_protection = is_explicit ? operation->driver_protection
						 : update->reservation->state.driver_protection,
		.owner = operation->owner,
		.offset_pages = operation->offset_bytes >> GPUVA_PAGE_SHIFT,
		.period_pages = repeat_pages == where->page_count ? 0 : repeat_pages,
	};
	status = plan_check_unique(index, &state, where->page_count, &update->written);
	return NT_SUCCESS(status) ? write_run(update, where, &state) : status;
}

static NTSTATUS update_unmap(struct update *update, int64_t index,
			     const struct gpuva_operation *operation,
			     const struct page_range *where)
{
	struct gpuva_state state = {
		.kind = operation->protection == GPUVA_ZERO ? GPUVA_KIND_ZERO
							    : GPUVA_KIND_NO_ACCESS,
		.driver_protection = update->reservation->state.driver_protection,
	};

	if (operation->protection != GPUVA_ZERO && operation->protection != GPUVA_NO_ACCESS)
		return plan_refuse(index, RULE_VA_PROTECTION, "Protection",
				   "is 0x%" PRIx64 ", and what is unmapped is Zero or NoAccess",
				   operation->protection);
	return write_run(update, where, &state);
}

/* What `page` shows by now, and how far, at most to `end_page`. */
static void look(const struct update *update, uint64_t page, uint64_t end_page,
		 struct gpuva_view *view_out)
{
	const struct gpuva_range *over = range_set_from(&update->written, page);

	if (over && over->first_page <= page) {
		view_out->state = gpuva_state_after(&over->state, page - over->first_page);
		view_out->page_count = range_end(over) - page;
	} else {
		gpuva_space_look(update->space, page, view_out);
		if (over && over->first_page < end_page)
			end_page = over->first_page;
	}
	if (view_out->page_count > end_page - page)
		view_out->page_count = end_page - page;
}

/* All that the source shows is noted before anything is written: the two may overlap. */
static NTSTATUS update_copy(struct update *update, int64_t index,
			    const struct gpuva_operation *operation, const struct page_range *where)
{
	struct page_range source = { .page_count = where->page_count };
	struct gpuva_range *list = NULL;
	NTSTATUS status = check_place(update, index, "SourceAddress", operation->source_base,
				      &source, &update->copied_from);
	struct gpuva_view view;

	if (!NT_SUCCESS(status))
		return status;
	for (uint64_t done = 0; done < source.page_count; done += view.page_count) {
		look(update, source.first_page + done, page_range_end(&source), &view);
		struct gpuva_range *range =
			make_range(update, where->first_page + done, view.page_count, &view.state);
		if (!range) {
			status = plan_refuse_memory();
			break;
		}
		range_push_stock(&list, range);
	}
	if (NT_SUCCESS(status))
		return write_ranges(update, where, list);
	while (list) {
		struct gpuva_range *next = range_after_in_stock(list);

		range_pool_give(&update->space->pool, list);
		list = next;
	}
	return status;
}

static NTSTATUS update_operation(struct update *update, int64_t index,
				 const struct gpuva_operation *operation)
{
	struct page_range where;
	NTSTATUS status = check_destination(update, index, operation, &where);

	if (!NT_SUCCESS(status))
		return status;
	switch (operation->kind) {
	case GPUVA_OPERATION_MAP:
	case GPUVA_OPERATION_MAP_PROTECT:
		return update_map(update, index, operation, &where);
	case GPUVA_OPERATION_UNMAP:
		return update_unmap(update, index, operation, &where);
	case GPUVA_OPERATION_COPY:
		return update_copy(update, index, operation, &where);
	}
	return plan_refuse(index, RULE_API_VALUE, "OperationType", "is %d, which is none",
			   (int)operation->kind);
}

/* What was written becomes the steps; its ranges, and as many again, the plan's storage. */
static NTSTATUS take_steps(struct update *update, struct gpuva_plan *plan)
{
	struct range_set *written = &update->written;
	size_t count = (size_t)written->range_count;
	struct gpuva_range *range;

	if (count == 0)
		return STATUS_SUCCESS;
	plan->step_array = mem_zalloc_array(count, sizeof(*plan->step_array));
	if (!plan->step_array)
		return plan_refuse_memory();
	for (size_t i = 0; i < count; i++) {
		range = range_pool_take(&update->space->pool);
		if (!range)
			return plan_refuse_memory();
		range_push_stock(&plan->stock, range);
	}
	for (size_t i = 0; i < count; i++) {
		range = range_set_from(written, 0);
		plan->step_array[i] = (struct gpuva_step){
			.first_page = range->first_page,
			.page_count = range->page_count,
			.state = range->state,
		};
		range_set_remove(written, range);
		range_push_stock(&plan->stock, range);
	}
	plan_set_reservation(plan, update->reservation);
	plan->first_page = plan->step_array[0].first_page;
	plan->steps = plan->step_array;
	plan->step_count = count;
	return STATUS_SUCCESS;
}

NTSTATUS gpuva_plan_update(struct gpuva_space *space, const struct gpuva_operation *operations,
			   size_t count, struct gpuva_plan *plan)
{
	struct update update = { .space = space };
	NTSTATUS status = STATUS_SUCCESS;

	plan_begin(plan, space);
	range_set_init(&update.written, &space->pool, false);
	for (size_t i = 0; i < count && NT_SUCCESS(status); i++)
		status = update_operation(&update, (int64_t)i, &operations[i]);
	if (NT_SUCCESS(status))
		status = take_steps(&update, plan);
	range_set_finish(&update.written);
	return NT_SUCCESS(status) ? STATUS_SUCCESS : plan_abandon(plan, status);
}
