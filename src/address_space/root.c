/* SPDX-License-Identifier: MIT */
/*
 * root.c - the root of an address space: which contexts begin there, and how it grows.
 *
 *	addresses above it are asked for ─▶ a larger table is made, when there is room for it
 *	─▶ clients are held: the hardware has nothing of theirs
 *	─▶ job: the larger one is written ─▶ every context is told
 *	─▶ clients go on, the old one goes
 *
 * On the thread of whoever asks, not the pager's: a driver may answer a new root with a request to
 * the pager, and wait for it (DxgkCbUpdateContextAllocation).
 *
 * Locks: root_lock, from the beginning to the end, driver included; so a context that comes or goes
 * meanwhile waits. Room is waited for without: tables that come back for it tell all contexts where
 * the root is.
 */
#include <assert.h>

#include "base/refusal.h"
#include "address_space/parts.h"

/* ---- contexts ---- */

static void tell(const struct address_space *space, const struct space_context *context)
{
	const struct page_tables_config *config = space->config;
	struct page_tables_root root = page_tables_root(&space->tables);

	config->set_root(config->driver, context->driver_context, &root);
}

void address_space_add_context(struct address_space *space, struct space_context *context,
			       void *driver_context)
{
	context->driver_context = driver_context;
	lock_acquire(&space->root_lock);
	list_push_back(&space->contexts, &context->link);
	tell(space, context);
	lock_release(&space->root_lock);
}

void address_space_remove_context(struct address_space *space, struct space_context *context)
{
	lock_acquire(&space->root_lock);
	list_remove(&context->link);
	lock_release(&space->root_lock);
}

static void tell_all(struct address_space *space)
{
	list_each (struct space_context, each, &space->contexts, link)
		tell(space, each);
}

void address_space_tell_contexts(struct address_space *space)
{
	lock_acquire(&space->root_lock);
	tell_all(space);
	lock_release(&space->root_lock);
}

/* ---- jobs ---- */

static struct space_root_job *root_job_of(struct paging_job *job)
{
	return container_of(job, struct space_root_job, job);
}

static enum paging_step root_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct space_root_job *root = root_job_of(job);

	return paging_step_of(root->is_last ? root_change_last(&root->change, op_out)
					    : root_change_next(&root->change, op_out));
}

static void root_done(struct paging_job *job, NTSTATUS status);

static void root_start(struct space_root_job *root, struct pager *pager)
{
	paging_job_init(&root->job, pager);
	root->job.next = root_next;
	root->job.done = root_done;
	root->job.shares_tables = true;
	paging_job_queue(&root->job);
}

static void root_done(struct paging_job *job, NTSTATUS status)
{
	struct space_root_job *root = root_job_of(job);
	struct address_space *space = container_of(root, struct address_space, root);

	/* An old root that was lost leads nowhere. */
	if (paging_job_is_stale(job) && !root->is_last) {
		root_change_rewind(&root->change);
		root_start(root, space->pager);
		return;
	}
	if (!NT_SUCCESS(status) && root->change.state == ROOT_WAS_UNDONE)
		space_break(space, status);
	root->status = status;
	atomic_store(&root->is_done, true);
	notice_give(&space->changed);
}

static NTSTATUS run_job(struct address_space *space, bool is_last)
{
	struct space_root_job *root = &space->root;

	root->is_last = is_last;
	atomic_store(&root->is_done, false);
	root_start(root, space->pager);
	notice_wait_until(&space->changed, &root->is_done);
	return root->status;
}

/* ---- growing ---- */

static NTSTATUS grow(struct address_space *space, uint64_t end_page,
		     struct table_block_wants *wants)
{
	struct root_change *change = &space->root.change;
	NTSTATUS status = root_change_begin(change, &space->tables, end_page, wants);

	if (!NT_SUCCESS(status))
		return status;
	pager_hold_clients(space->pager);
	status = run_job(space, false);
	if (NT_SUCCESS(status)) {
		tell_all(space);
	} else {
		root_change_undo(change);
		(void)run_job(space, false);
	}
	pager_release_clients(space->pager);
	if (NT_SUCCESS(status))
		(void)run_job(space, true);
	root_change_end(change);
	return NT_SUCCESS(status) ? status : address_space_refuse(status);
}

/* STATUS_GRAPHICS_NO_VIDEO_MEMORY: there has to be room for it first. */
static NTSTATUS try_to_grow(struct address_space *space, uint64_t end_page,
			    struct table_block_wants *wants)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&space->root_lock);
	lock_acquire(&space->tables.lock);
	bool must_grow = end_page > space->tables.end_page;
	lock_release(&space->tables.lock);
	if (must_grow)
		status = grow(space, end_page, wants);
	lock_release(&space->root_lock);
	return status;
}

NTSTATUS space_grow_root(struct address_space *space, uint64_t end_page)
{
	struct table_block_wants wants = { 0 };
	NTSTATUS status;

	assert(!pager_is_current_thread(space->pager));
	do {
		status = try_to_grow(space, end_page, &wants);
		if (status != STATUS_GRAPHICS_NO_VIDEO_MEMORY)
			break;
		status = table_block_wants_await(&wants, space->config, space->tables.process);
	} while (NT_SUCCESS(status));
	table_block_wants_finish(&wants, space->config);
	return status;
}
