/* SPDX-License-Identifier: MIT */
/*
 * update.c - updates that wait for their turn. See address_space.h.
 *
 *	made ─▶ planned, to refuse it; tables made ─▶ … ─▶ its turn: planned again, applied ─▶ done
 *
 * What is planned the second time may be refused: addresses were freed, memory is gone. Then it is
 * dropped, as documented, and counts as done. So it does when the addresses were freed and taken by
 * another request: the plan says by which one.
 *
 * The second plan is made on the pager's thread, in its order among all other changes of tables.
 * When there is no memory for it the update waits for some, and fails if none comes.
 *
 * Where the GPU writes tables, memory that an update shows is kept mapped elsewhere from the first
 * plan on, and its entries are copied from there (pools.c).
 *
 * Between the two the tables may leave, and come back: nothing of it was written.
 *
 * Locks: page_tables.lock.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "address_space/parts.h"
#include "vidmm/table_states.h"

/* How often, and how far apart, an update looks for memory to be planned with. */
enum { PLANS_MAX = 200 };
#define PLAN_PAUSE_NS NS_PER_MS

struct space_update {
	struct space_row *row;
	struct paging_job job;
	struct address_space *space;
	struct pager_stream *stream;
	struct space_listener listener;
	uint64_t source;     /* who took the addresses it is for */
	NTSTATUS status;     /* of the second plan */
	bool has_planned;    /* … which was made */
	uint32_t plan_count; /* how often there was no memory for it */
	uint32_t count;
	struct gpuva_operation operations[];
};

static struct space_memory *operation_memory(const struct gpuva_operation *operation)
{
	return operation->owner ? container_of(operation->owner, struct space_memory, view.owner)
				: NULL;
}

static void update_free(struct space_update *update)
{
	struct address_space *space = update->space;

	for (uint32_t i = 0; i < update->count; i++) {
		struct space_memory *memory = operation_memory(&update->operations[i]);

		if (memory)
			space_memory_put(memory);
	}
	atomic_fetch_sub(&space->queued_operations, update->count);
	notice_give(&space->changed);
	mem_free(update->row);
	mem_free(update);
	space_uncount(space);
}

/* ---- its turn ---- */

static bool is_without_memory_locked(const struct space_update *update)
{
	lock_assert_held(&update->space->tables.lock);
	for (uint32_t i = 0; i < update->count; i++) {
		const struct space_memory *memory = operation_memory(&update->operations[i]);

		if (memory && memory->is_gone)
			return true;
	}
	return false;
}

static void apply(struct space_update *update)
{
	struct page_tables *tables = &update->space->tables;
	struct gpuva_plan plan = { 0 };
	NTSTATUS status = STATUS_INVALID_PARAMETER;

	lock_acquire(&tables->lock);
	if (!is_without_memory_locked(update))
		status =
			gpuva_plan_update(&tables->space, update->operations, update->count, &plan);
	if (NT_SUCCESS(status) && plan.source != update->source)
		status = STATUS_INVALID_PARAMETER;
	if (NT_SUCCESS(status))
		gpuva_plan_apply(&plan);
	else if (status != STATUS_NO_MEMORY)
		update->row->range_count = 0; /* nothing is to be written */
	gpuva_plan_finish(&plan);
	lock_release(&tables->lock);
	update->status = status == STATUS_INVALID_PARAMETER ? STATUS_SUCCESS : status;
}

static enum paging_step update_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct space_update *update = container_of(job, struct space_update, job);

	if (!update->has_planned)
		apply(update);
	update->has_planned = true;
	return paging_step_of(update->status != STATUS_NO_MEMORY &&
			      space_row_next(update->row, op_out));
}

static bool must_plan_again(struct space_update *update)
{
	if (update->status != STATUS_NO_MEMORY || ++update->plan_count == PLANS_MAX)
		return false;
	update->status = STATUS_SUCCESS;
	update->has_planned = false;
	clock_sleep_until(clock_deadline(PLAN_PAUSE_NS));
	return true;
}

static void update_start(struct space_update *update);

static void update_done(struct paging_job *job, NTSTATUS status)
{
	struct space_update *update = container_of(job, struct space_update, job);
	struct space_listener listener = update->listener;

	if (paging_job_is_stale(job) || must_plan_again(update)) {
		space_row_rewind(update->row);
		update_start(update);
		return;
	}
	if (!NT_SUCCESS(status))
		space_break(update->space, status);
	else
		status = update->status;
	vidmm_tables_release(update->space->tables.process);
	if (listener.done)
		listener.done(listener.context, status);
	update_free(update);
}

static void update_start(struct space_update *update)
{
	paging_job_init(&update->job, update->space->pager);
	update->job.next = update_next;
	update->job.done = update_done;
	update->job.changes_tables = true;
	update->job.shares_tables = true;
	update->job.tables = &update->space->tables;
	update->job.stream = update->stream;
	paging_job_queue(&update->job);
}

void space_update_run_in(struct space_update *update, struct pager_stream *stream)
{
	update->stream = stream;
	space_update_run(update);
}

void space_update_run(struct space_update *update)
{
	vidmm_tables_hold(update->space->tables.process);
	update_start(update);
}

void space_update_cancel(struct space_update *update)
{
	update_free(update);
}

/* ---- being made ---- */

static void wait_for_slots(struct address_space *space, uint32_t count)
{
	for (;;) {
		uint32_t seen = notice_read(&space->changed);
		uint32_t queued = atomic_load(&space->queued_operations);

		/* One that is too large by itself comes alone. */
		if ((queued == 0 || queued + count <= SPACE_QUEUED_OPERATIONS) &&
		    atomic_compare_exchange_strong(&space->queued_operations, &queued,
						   queued + count))
			return;
		if (queued != 0 && queued + count > SPACE_QUEUED_OPERATIONS)
			notice_wait(&space->changed, seen, CLOCK_FOREVER);
	}
}

static struct space_update *update_create(struct address_space *space,
					  const struct gpuva_operation *operations, uint32_t count)
{
	struct space_update *update =
		mem_zalloc(sizeof(*update) + count * sizeof(update->operations[0]));
	struct space_row *row = update ? space_row_create(space, count) : NULL;

	if (!row) {
		mem_free(update);
		(void)refuse_no_memory("There is no memory for an update of GPU addresses");
		return NULL;
	}
	update->row = row;
	update->space = space;
	for (uint32_t i = 0; i < count; i++) {
		update->operations[i] = operations[i];
		row->ranges[i] = (struct space_range_of_pages){
			operations[i].base >> GPUVA_PAGE_SHIFT,
			operations[i].size_bytes >> GPUVA_PAGE_SHIFT,
		};
	}
	row->range_count = count;
	row->may_copy = true;
	return update;
}

/*
 * What its steps show is what they show when their turn comes, but for copies: those show what their
 * source shows by then.
 */
static enum table_time time_of(const struct space_update *update)
{
	for (uint32_t i = 0; i < update->count; i++) {
		if (update->operations[i].kind == GPUVA_OPERATION_COPY)
			return TABLES_LATER_UNKNOWN;
	}
	return TABLES_LATER;
}

/*
 * As things are now; tables for whatever it will show, and places to copy it from.
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY: there is no room for those.
 */
static NTSTATUS check_locked(struct space_update *update, struct table_block_wants *wants,
			     uint64_t *end_page_out)
{
	struct page_tables *tables = &update->space->tables;
	enum table_time time = time_of(update);
	struct gpuva_plan plan;
	NTSTATUS status =
		gpuva_plan_update(&tables->space, update->operations, update->count, &plan);

	lock_assert_held(&tables->lock);
	*end_page_out = 0;
	update->source = plan.source;
	if (NT_SUCCESS(status))
		status = page_tables_count_steps_locked(tables, plan.steps, plan.step_count, time,
							wants);
	if (NT_SUCCESS(status))
		status = space_pools_keep_locked(update->space, &plan, wants, end_page_out);
	if (NT_SUCCESS(status))
		status = page_tables_make_steps_locked(tables, plan.steps, plan.step_count, time,
						       wants);
	gpuva_plan_finish(&plan);
	return status;
}

static void hold_memory_locked(struct space_update *update)
{
	lock_assert_held(&update->space->tables.lock);
	for (uint32_t i = 0; i < update->count; i++) {
		struct space_memory *memory = operation_memory(&update->operations[i]);

		if (memory)
			memory->references++;
	}
}

static bool shows_memory(const struct space_update *update)
{
	for (uint32_t i = 0; i < update->count; i++) {
		if (update->operations[i].kind != GPUVA_OPERATION_UNMAP)
			return true;
	}
	return false;
}

/* Once, with the room there is. */
static NTSTATUS try_to_prepare(struct space_update *update, struct table_block_wants *wants,
			       uint64_t *end_page_out)
{
	struct address_space *space = update->space;
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&space->tables.lock);
	for (uint32_t i = 0; NT_SUCCESS(status) && i < update->count; i++)
		status = space_check_owner_locked(update->operations[i].owner);
	/* What it may show lies in a reservation of zeroes, and those the root reaches. */
	if (NT_SUCCESS(status))
		status = check_locked(update, wants, end_page_out);
	if (NT_SUCCESS(status) && *end_page_out == 0)
		hold_memory_locked(update);
	lock_release(&space->tables.lock);
	return status;
}

/* With the room there is, or can be made. */
static NTSTATUS prepare(struct space_update *update)
{
	struct address_space *space = update->space;
	struct table_block_wants wants = { 0 };
	NTSTATUS status = STATUS_SUCCESS;
	uint64_t end_page = 0;

	vidmm_tables_hold(space->tables.process);
	if (shows_memory(update))
		status = space_pools_begin(space);
	while (NT_SUCCESS(status)) {
		status = try_to_prepare(update, &wants, &end_page);
		if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
			status = table_block_wants_await(&wants, space->config,
							 space->tables.process);
		else if (NT_SUCCESS(status) && end_page > 0)
			status = space_grow_root(space->pools, end_page);
		else
			break;
	}
	table_block_wants_finish(&wants, space->config);
	vidmm_tables_release(space->tables.process);
	return status;
}

NTSTATUS address_space_update(struct address_space *space, const struct gpuva_operation *operations,
			      uint32_t count, const struct space_listener *listener,
			      struct space_update **update_out)
{
	struct space_update *update = update_create(space, operations, count);

	if (!update)
		return STATUS_NO_MEMORY;
	if (listener)
		update->listener = *listener;
	update->count = count;
	wait_for_slots(space, count);
	space_count(space);
	NTSTATUS status = prepare(update);
	if (NT_SUCCESS(status)) {
		*update_out = update;
		return STATUS_SUCCESS;
	}
	for (uint32_t i = 0; i < count; i++)
		update->operations[i].owner = NULL; /* never held */
	update_free(update);
	return status;
}
