/* SPDX-License-Identifier: MIT */
/*
 * eviction.c - page tables leave their memory while nothing of the process runs, and are
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
 * Neither way takes memory, so neither can fail for want of it: room is taken when it is decided that
 * they come back, and what the driver is told is written where the pager has kept memory for it.
 *
 * Jobs are built on one thread, and what they built is run in their order: behind the leave's TLB
 * nothing comes that writes to where the tables were.
 *
 * Where tile pools are kept mapped (pools.c) goes and comes in the same jobs: from when on one
 * is out the other is, so that nothing is copied from there to here while either is nowhere.
 *
 * Locks: page_tables.lock, for each operation.
 */

#include "address_space/parts.h"
#include "vidmm/table_states.h"

static struct address_space *space_of(struct paging_job *job)
{
	return container_of(job, struct address_space, tables_job);
}

static struct address_space *pools_of(struct address_space *space)
{
	lock_acquire(&space->tables.lock);
	struct page_tables *pools = space->tables.pools;
	lock_release(&space->tables.lock);
	return pools ? container_of(pools, struct address_space, tables) : NULL;
}

/* What is on the way: where entries are copied from, and what is copied there. */
static void way_begin(struct address_space *space)
{
	struct address_space *pools = pools_of(space);
	struct space_way *way = &space->way;

	*way = (struct space_way){ .has_begun = true };
	if (pools)
		way->parts[way->count++] = &pools->tables;
	way->parts[way->count++] = &space->tables;
}

/* ---- in again ---- */

static void come_in(struct address_space *space)
{
	way_begin(space);
	for (uint32_t i = 0; i < space->way.count; i++)
		page_tables_come_in(space->way.parts[i]);
}

static enum paging_step enter_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct address_space *space = space_of(job);
	struct space_way *way = &space->way;

	if (!way->has_begun)
		come_in(space);
	for (; way->written < way->count; way->written++, way->has_sync = false) {
		struct page_tables *tables = way->parts[way->written];

		if (!way->has_sync)
			table_sync_init(&way->sync, tables, 0, tables->space.page_count);
		way->has_sync = true;
		if (table_sync_next(&way->sync, op_out))
			return PAGING_OPERATION;
	}
	return PAGING_NONE;
}

static void enter_done(struct paging_job *job, NTSTATUS status);

static void enter_start(struct address_space *space)
{
	space->way.has_begun = false;
	paging_job_init(&space->tables_job, space->pager);
	space->tables_job.next = enter_next;
	space->tables_job.done = enter_done;
	space->tables_job.shares_tables = true;
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
	if (!space->way.has_begun) /* it failed before it came that far */
		come_in(space);
	if (!NT_SUCCESS(status)) {
		struct address_space *pools = pools_of(space);

		space_break(pools ? pools : space, status); /* and with them their user */
	}
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

static bool leave_begins(struct address_space *space)
{
	if (vidmm_tables_are_held(space->tables.process))
		return false;
	way_begin(space);
	for (uint32_t i = 0; i < space->way.count; i++) {
		struct page_tables *tables = space->way.parts[i];

		lock_acquire(&tables->lock);
		tables->is_out = true;
		lock_release(&tables->lock);
	}
	return true;
}

/* All tables, and then the TLB of each root. */
static enum paging_step leave_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct address_space *space = space_of(job);
	struct space_way *way = &space->way;

	if (!way->has_begun && !leave_begins(space))
		return PAGING_NONE;
	for (; way->written < way->count; way->written++, way->has_sync = false) {
		if (!way->has_sync) {
			table_sync_init(&way->sync, way->parts[way->written], 0, 0);
			way->sync.is_ending = true;
			way->sync.is_leaving = true;
		}
		way->has_sync = true;
		if (table_sync_write(&way->sync, op_out))
			return PAGING_OPERATION;
	}
	if (way->flushed == way->count)
		return PAGING_NONE;
	page_tables_flush_op(way->parts[way->flushed++], 0, 0, op_out);
	return PAGING_OPERATION;
}

/* Without an answer from the hardware, after a reset, there is nothing left that could use them. */
static void leave_done(struct paging_job *job, NTSTATUS status)
{
	struct address_space *space = space_of(job);
	struct vidmm_process *process = space->tables.process;
	bool is_lost = status == STATUS_DEVICE_REMOVED;

	if (!space->way.has_begun && !is_lost) {
		vidmm_tables_stayed(process, !NT_SUCCESS(status));
		space_uncount(space);
		return;
	}
	if (!space->way.has_begun)
		way_begin(space);
	for (uint32_t i = 0; i < space->way.count; i++)
		page_tables_go_out(space->way.parts[i]);
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
	space->way.has_begun = false;
	paging_job_init(&space->tables_job, space->pager);
	space->tables_job.next = leave_next;
	space->tables_job.done = leave_done;
	space->tables_job.shares_tables = true;
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

/* Tile pools leave with their user, and stay with it. */
void space_stays(struct address_space *space)
{
	if (space->tables.process && !space->user)
		vidmm_tables_detach(space->tables.process);
}
