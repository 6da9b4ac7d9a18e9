/*
 * space_rewrite.c - page tables that were lost with the memory they are in. See address_space.h.
 *
 *	a reset ──▶ forgotten, in all spaces of the adapter ──▶ a job each: everything, from truth
 *
 * What is mapped, reserved or zero stays so for the process; only what it shows has gone out of GPU
 * memory meanwhile. A job that meets the next reset begins again.
 *
 * Locks: page_tables_config.lock guards which spaces there are, and is held while they forget.
 */
#include "vidmm/address_space_parts.h"

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

static bool rewrite_next(struct paging_job *job, struct paging_op *op_out)
{
	struct address_space *space = space_of(job);

	if (space->must_rewrite) {
		space->must_rewrite = false;
		table_sync_init(&space->rewrite_sync, &space->tables, 0,
				space->tables.space.page_count);
	}
	return table_sync_next(&space->rewrite_sync, op_out);
}

static void rewrite_done(struct paging_job *job, NTSTATUS status);

static void rewrite_start(struct address_space *space)
{
	paging_job_init(&space->rewrite_job, space->pager);
	space->rewrite_job.next = rewrite_next;
	space->rewrite_job.done = rewrite_done;
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
	if (!NT_SUCCESS(status))
		page_tables_distrust(&space->tables, 0, space->tables.space.page_count);
	space->is_rewriting = false;
	space_leave(space);
}

void address_spaces_forget(struct page_tables_config *config)
{
	struct list starting;
	struct list *link;

	list_init(&starting);
	lock_acquire(&config->lock);
	list_for_each (link, &config->spaces) {
		struct address_space *space = container_of(link, struct address_space, config_link);

		page_tables_forget(&space->tables);
		space->must_rewrite = true;
		if (space->is_rewriting || !atomic_load(&space->has_started))
			continue;
		space->is_rewriting = true;
		space_enter(space);
		list_push_back(&starting, &space->rewrite_link);
	}
	lock_release(&config->lock);
	while ((link = list_pop_front(&starting)) != NULL)
		rewrite_start(container_of(link, struct address_space, rewrite_link));
}
