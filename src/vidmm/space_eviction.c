/*
 * space_eviction.c - page tables leave their memory while nothing of the process runs, and are
 * written anew elsewhere before something does. See table_states.h for who decides that.
 *
 *	leave   the hardware has nothing of the process ─▶ from now on nobody writes them
 *	        ─▶ each leads nowhere, and the driver hears that it goes ─▶ TLB
 *	        ─▶ their room is others'
 *
 *	enter   room was found ─▶ everything, from truth ─▶ TLB ─▶ all contexts are told the root
 *
 * Whoever writes tables holds them for as long as an operation of his may still be under way. So a
 * way out that meets a hold is none: the tables stay. What is changed while they are out changes
 * what is true, and writes nothing.
 *
 * Jobs are built on one thread, and what they built is run in their order: behind the leave's TLB
 * nothing comes that writes to where the tables were.
 *
 * Locks: page_tables.lock, for each operation.
 */
#include <assert.h>

#include "vidmm/address_space_parts.h"
#include "vidmm/table_states.h"

static struct address_space *space_of(struct paging_job *job)
{
	return container_of(job, struct address_space, tables_job);
}

/* ---- in again ---- */

static bool enter_next(struct paging_job *job, struct paging_op *op_out)
{
	struct address_space *space = space_of(job);

	if (!space->has_tables_begun) {
		space->has_tables_begun = true;
		page_tables_come_in(&space->tables);
		table_sync_init(&space->tables_sync, &space->tables, 0,
				space->tables.space.page_count);
	}
	return table_sync_next(&space->tables_sync, op_out);
}

static void enter_done(struct paging_job *job, NTSTATUS status);

static void enter_start(struct address_space *space)
{
	space->has_tables_begun = false;
	paging_job_init(&space->tables_job, space->pager);
	space->tables_job.next = enter_next;
	space->tables_job.done = enter_done;
	paging_job_queue(&space->tables_job);
}

void address_space_root_told(struct address_space *space)
{
	if (space->has_leave_failed)
		vidmm_tables_stayed(space->tables.process, true);
	else
		vidmm_tables_entered(space->tables.process);
	/* Any thread: who ends the space takes the lock before it goes. */
	lock_acquire(&space->tables.lock);
	space_uncount(space);
	lock_release(&space->tables.lock);
}

static void enter_done(struct paging_job *job, NTSTATUS status)
{
	struct address_space *space = space_of(job);

	if (paging_job_is_stale(job)) {
		enter_start(space);
		return;
	}
	if (!space->has_tables_begun) /* it failed before it came that far */
		page_tables_come_in(&space->tables);
	if (!NT_SUCCESS(status))
		space_break(space, status);
	if (NT_SUCCESS(status) && space->root_listener.moved && !space->has_leave_failed)
		space->root_listener.moved(space->root_listener.context);
	else
		address_space_root_told(space);
}

static void enter(void *context)
{
	struct address_space *space = context;

	space_count(space);
	space->has_leave_failed = false;
	enter_start(space);
}

/* ---- out ---- */

static bool flush_root(struct address_space *space, struct paging_op *op_out)
{
	struct page_tables_root root = page_tables_root(&space->tables);

	*op_out = (struct paging_op){
		.kind = PAGING_AS_IT_IS,
		.as_it_is = { .kind = MINIPORT_PAGING_FLUSH_TLB,
			      .flush_tlb = { .root_segment = root.segment,
					     .root_offset_bytes = root.offset_bytes,
					     .driver_process = space->tables.driver_process } },
	};
	return true;
}

static bool leave_begins(struct address_space *space)
{
	if (vidmm_tables_are_held(space->tables.process))
		return false;
	lock_acquire(&space->tables.lock);
	space->tables.is_out = true;
	lock_release(&space->tables.lock);
	table_sync_init(&space->tables_sync, &space->tables, 0, 0);
	space->tables_sync.is_ending = true;
	space->tables_sync.is_leaving = true;
	return true;
}

static bool leave_next(struct paging_job *job, struct paging_op *op_out)
{
	struct address_space *space = space_of(job);

	if (!space->has_tables_begun && !leave_begins(space))
		return false;
	space->has_tables_begun = true;
	if (table_sync_write(&space->tables_sync, op_out))
		return true;
	if (space->is_root_flushed)
		return false;
	space->is_root_flushed = true;
	return flush_root(space, op_out);
}

/* Without an answer from the hardware, after a reset, there is nothing left that could use them. */
static void leave_done(struct paging_job *job, NTSTATUS status)
{
	struct address_space *space = space_of(job);
	struct vidmm_process *process = space->tables.process;
	bool is_lost = status == STATUS_DEVICE_REMOVED;

	if (!space->has_tables_begun && !is_lost) {
		vidmm_tables_stayed(process, !NT_SUCCESS(status));
		space_uncount(space);
		return;
	}
	page_tables_go_out(&space->tables);
	if (!NT_SUCCESS(status) && !is_lost) {
		space->has_leave_failed = true;
		enter_start(space);
		return;
	}
	vidmm_tables_left(process);
	space_uncount(space);
}

static void leave(void *context)
{
	struct address_space *space = context;

	space_count(space);
	space->has_tables_begun = false;
	space->is_root_flushed = false;
	paging_job_init(&space->tables_job, space->pager);
	space->tables_job.next = leave_next;
	space->tables_job.done = leave_done;
	vidmm_tables_order(space->tables.process, &space->tables_job);
	paging_job_queue(&space->tables_job);
}

static const struct vidmm_tables_ops tables_ops = { .leave = leave, .enter = enter };

/* ---- from when on, until when ---- */

void space_may_leave(struct address_space *space)
{
	if (space->tables.process)
		vidmm_tables_attach(space->tables.process, &tables_ops, space);
}

void space_stays(struct address_space *space)
{
	if (space->tables.process)
		vidmm_tables_detach(space->tables.process);
}
