/* SPDX-License-Identifier: MIT */
/*
 * rewrite.c - page tables that were lost with the memory they are in, or that a failed job
 * left nobody knows how. See address_space.h.
 *
 *	a reset ──▶ forgotten, in all spaces of the adapter ──▶ a job each: everything, from truth
 *	a failure ──▶ not trusted, in one space; who works there is told ──▶ the same job
 *
 * What is mapped, reserved or zero stays so for the process; only what it shows has gone out of GPU
 * memory meanwhile. A job that meets the next reset begins again.
 *
 * Locks: page_tables_config.lock guards which spaces there are, and is held while they forget.
 */
#include "address_space/parts.h"

void space_join(struct address_space *space)
{
	lock_acquire(&space->config->lock);
	list_push_back(&space->config->spaces, &space->config_link);
	lock_release(&space->config->lock);
}

void space_quit(struct address_space *space)
{
	lock_acquire(&space->config->lock);
	list_remove(&space->config_link);
	lock_release(&space->config->lock);
}

static struct address_space *space_of(struct paging_job *job)
{
	return container_of(job, struct address_space, rewrite_job);
}

static enum paging_step rewrite_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct address_space *space = space_of(job);

	if (space->must_rewrite) {
		space->must_rewrite = false;
		table_sync_init(&space->rewrite_sync, &space->tables, 0,
				space->tables.space.page_count);
	}
	return paging_step_of(table_sync_next(&space->rewrite_sync, op_out));
}

static void rewrite_done(struct paging_job *job, NTSTATUS status);

/* Nothing works there any more before its listeners hear that the job is over. */
static void space_tell_broken(struct address_space *space, NTSTATUS status)
{
	page_tables_distrust(&space->tables, 0, space->tables.space.page_count);
	atomic_store(&space->is_broken, true);
	if (space->watcher.done)
		space->watcher.done(space->watcher.context, status);
}

static void rewrite_start(struct address_space *space)
{
	paging_job_init(&space->rewrite_job, space->pager);
	space->rewrite_job.next = rewrite_next;
	space->rewrite_job.done = rewrite_done;
	space->rewrite_job.shares_tables = true;
	paging_job_queue(&space->rewrite_job);
}

static void rewrite_done(struct paging_job *job, NTSTATUS status)
{
	struct address_space *space = space_of(job);

	if (paging_job_is_stale(job)) {
		space->must_rewrite = true;
		rewrite_start(space);
		return;
	}
	space->is_rewriting = false;
	if (!NT_SUCCESS(status))
		space_tell_broken(space, status);
	else if (!space->must_rewrite)
		atomic_store(&space->is_broken, false);
	space_leave(space);
}

void space_break(struct address_space *space, NTSTATUS status)
{
	if (space->user) /* what was copied from here may be anything, too */
		space_break(space->user, status);
	space_tell_broken(space, status);
	space->must_rewrite = true;
	if (space->is_rewriting)
		return;
	space->is_rewriting = true;
	space_enter(space);
	rewrite_start(space);
}

void address_space_tables_failed(struct page_tables *tables, NTSTATUS status)
{
	space_break(container_of(tables, struct address_space, tables), status);
}

void address_space_watch(struct address_space *space, const struct space_listener *watcher)
{
	space->watcher = *watcher;
}

/* None of them gets to its end. */
static void space_forget_moves(struct address_space *space)
{
	lock_acquire(&space->tables.lock);
	list_each (struct space_memory, each, &space->memories, space_link)
		memory_view_end_move(&each->view);
	lock_release(&space->tables.lock);
}

void address_spaces_forget(struct page_tables_config *config)
{
	struct list starting;

	list_init(&starting);
	lock_acquire(&config->lock);
	list_each (struct address_space, space, &config->spaces, config_link) {
		page_tables_forget(&space->tables);
		space_forget_moves(space);
		space->must_rewrite = true;
		/* Those that are out are written when they come back. */
		if (space->is_rewriting || !atomic_load(&space->has_started) ||
		    space->tables.is_out)
			continue;
		space->is_rewriting = true;
		space_enter(space);
		list_push_back(&starting, &space->rewrite_link);
	}
	lock_release(&config->lock);
	list_drain (struct address_space, each, &starting, rewrite_link)
		rewrite_start(each);
}
