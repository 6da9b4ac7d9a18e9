/* SPDX-License-Identifier: MIT */
/*
 * address_space.c - see address_space.h. Requests are in request.c, updates in update.c.
 *
 * Locks: page_tables.lock.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "address_space/parts.h"
#include "vidmm/table_states.h"

/* ---- counting ---- */

void space_count(struct address_space *space)
{
	atomic_fetch_add(&space->pending, 1);
}

void space_uncount(struct address_space *space)
{
	/* Nobody reads the space after the last one left, but for the notice. */
	if (atomic_fetch_sub(&space->pending, 1) == 1)
		notice_give(&space->changed);
}

void space_enter(struct address_space *space)
{
	vidmm_tables_hold(space->tables.process);
	space_count(space);
}

void space_leave(struct address_space *space)
{
	vidmm_tables_release(space->tables.process);
	space_uncount(space);
}

static void wait_until_idle(struct address_space *space)
{
	notice_wait_until_none(&space->changed, &space->pending);
}

/* ---- a row of ranges ---- */

struct space_row *space_row_create(struct address_space *space, size_t range_count)
{
	struct space_row *row =
		mem_zalloc(sizeof(*row) + range_count * sizeof(struct space_range_of_pages));

	if (!row) {
		(void)refuse_no_memory("There is no memory for a change of page tables");
		return NULL;
	}
	row->space = space;
	return row;
}

static struct space_row *row_of(struct paging_job *job)
{
	return container_of(job, struct space_row, job);
}

bool space_row_next(struct space_row *row, struct miniport_paging_op *op_out)
{
	if (row->next_range == 0 && row->range_count > 0) {
		table_sync_init(&row->sync, &row->space->tables, row->ranges[0].first_page,
				row->ranges[0].page_count);
		row->sync.may_copy = row->may_copy;
		row->next_range = 1;
	}
	for (;;) {
		if (row->next_range == 0)
			return false;
		if (table_sync_write(&row->sync, op_out))
			return true;
		if (row->next_range >= row->range_count)
			return table_sync_flush(&row->sync, op_out);
		table_sync_again(&row->sync, row->ranges[row->next_range].first_page,
				 row->ranges[row->next_range].page_count);
		row->next_range++;
	}
}

void space_row_rewind(struct space_row *row)
{
	row->next_range = 0;
}

static enum paging_step row_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	return paging_step_of(space_row_next(row_of(job), op_out));
}

static void row_done(struct paging_job *job, NTSTATUS status);

static void row_start(struct space_row *row)
{
	paging_job_init(&row->job, row->space->pager);
	row->job.next = row_next;
	row->job.done = row_done;
	row->job.changes_tables = true;
	row->job.shares_tables = true;
	row->job.tables = &row->space->tables;
	paging_job_queue(&row->job);
}

/* After a reset it goes again: what is to be seen there has not changed. */
static void row_done(struct paging_job *job, NTSTATUS status)
{
	struct space_row *row = row_of(job);
	struct address_space *space = row->space;
	struct space_listener listener = row->listener;

	if (paging_job_is_stale(job)) {
		space_row_rewind(row);
		row_start(row);
		return;
	}
	if (!NT_SUCCESS(status))
		space_break(space, status);
	mem_free(row);
	if (listener.done)
		listener.done(listener.context, status);
	space_leave(space);
}

void space_row_queue(struct space_row *row, const struct space_listener *listener)
{
	struct address_space *space = row->space;

	if (listener)
		row->listener = *listener;
	space_enter(space);
	row_start(row);
}

/* ---- memory ---- */

/* The short list: spaces that show this memory. */
static struct space_memory *find_view(struct address_space *space, struct mapped_memory *memory)
{
	struct space_memory *found = NULL;

	lock_acquire(&memory->lock);
	list_each (struct memory_view, view, &memory->views, memory_link) {
		if (view->tables == &space->tables)
			found = container_of(view, struct space_memory, view);
	}
	lock_release(&memory->lock);
	return found;
}

struct space_memory *space_add_memory_locked(struct address_space *space,
					     struct mapped_memory *memory)
{
	struct space_memory *added = mem_zalloc(sizeof(*added));

	lock_assert_held(&space->tables.lock);
	if (!added)
		return NULL;
	/* Before it is in the memory's list: who drops the memory finds it there. */
	added->space = space;
	added->references = 1;
	memory_view_init(&added->view, memory, &space->tables);
	list_push_back(&space->memories, &added->space_link);
	return added;
}

/* What is going is nobody's any more: there may be another one beside it. */
static struct space_memory *memory_locked(struct address_space *space, struct mapped_memory *memory)
{
	struct space_memory *found = find_view(space, memory);

	lock_assert_held(&space->tables.lock);
	return found && !found->is_gone ? found : space_add_memory_locked(space, memory);
}

static NTSTATUS memory_or_none(struct space_memory *found, struct space_memory **memory_out)
{
	*memory_out = found;
	return found ? STATUS_SUCCESS
		     : refuse_no_memory("There is no memory for an allocation's GPU addresses");
}

NTSTATUS address_space_memory(struct address_space *space, struct mapped_memory *memory,
			      struct space_memory **memory_out)
{
	lock_acquire(&space->tables.lock);
	struct space_memory *found = memory_locked(space, memory);
	lock_release(&space->tables.lock);
	return memory_or_none(found, memory_out);
}

NTSTATUS address_space_open(struct address_space *space, struct mapped_memory *memory,
			    struct space_memory **memory_out)
{
	lock_acquire(&space->tables.lock);
	struct space_memory *found = memory_locked(space, memory);
	if (found) {
		found->openings++;
		found->references++;
	}
	lock_release(&space->tables.lock);
	return memory_or_none(found, memory_out);
}

bool space_memory_close(struct space_memory *memory)
{
	struct lock *lock = &memory->space->tables.lock;

	lock_acquire(lock);
	bool is_last = --memory->openings == 0;
	memory->is_gone |= is_last;
	lock_release(lock);
	return is_last;
}

/* The last one frees it: the view left its memory's list before. */
void space_memory_put(struct space_memory *memory)
{
	struct address_space *space = memory->space;

	lock_acquire(&space->tables.lock);
	bool is_last = --memory->references == 0;
	if (is_last)
		list_remove(&memory->space_link);
	lock_release(&space->tables.lock);
	if (is_last)
		mem_free(memory);
}

static struct space_memory *memory_of(struct paging_job *job)
{
	return container_of(job, struct space_memory, job);
}

/* Takes the next range away; false: there is none. */
static bool drop_range(struct space_memory *memory)
{
	struct page_tables *tables = &memory->space->tables;
	struct gpuva_plan plan;

	lock_acquire(&tables->lock);
	bool is_there = memory->view.owner.range_count > 0;
	if (is_there) {
		gpuva_plan_drop(&tables->space, range_of_owner_link(memory->view.owner.ranges.next),
				&plan);
		if (memory->has_range)
			table_sync_again(&memory->sync, plan.steps[0].first_page,
					 plan.steps[0].page_count);
		else
			table_sync_init(&memory->sync, tables, plan.steps[0].first_page,
					plan.steps[0].page_count);
		memory->has_range = true;
		gpuva_plan_apply(&plan);
		gpuva_plan_finish(&plan);
	}
	lock_release(&tables->lock);
	return is_there;
}

static enum paging_step drop_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct space_memory *memory = memory_of(job);

	for (;;) {
		if (memory->has_range && table_sync_write(&memory->sync, op_out))
			return PAGING_OPERATION;
		if (!drop_range(memory))
			return paging_step_of(memory->has_range &&
					      table_sync_flush(&memory->sync, op_out));
	}
}

static void drop_done(struct paging_job *job, NTSTATUS status);

static void drop_start(struct space_memory *memory)
{
	memory->has_range = false;
	paging_job_init(&memory->job, memory->space->pager);
	memory->job.next = drop_next;
	memory->job.done = drop_done;
	memory->job.changes_tables = true;
	memory->job.shares_tables = true;
	memory->job.tables = &memory->space->tables;
	paging_job_queue(&memory->job);
}

static void drop_done(struct paging_job *job, NTSTATUS status)
{
	struct space_memory *memory = memory_of(job);
	struct address_space *space = memory->space;

	/* What it had taken away is written with everything else, before it goes again. */
	if (paging_job_is_stale(job)) {
		drop_start(memory);
		return;
	}
	while (drop_range(memory)) /* a job that failed may not have come that far */
		;
	if (!NT_SUCCESS(status))
		space_break(space, status);
	memory_view_finish(&memory->view);
	if (memory->dropped)
		memory->dropped(memory->dropped_context);
	space_memory_put(memory);
	space_leave(space);
}

static void drop_count_down(void *context)
{
	struct memory_drop *drop = context;

	if (atomic_fetch_sub(&drop->pending, 1) == 1)
		drop->done(drop);
}

/*
 * Which views go: of one space and its pools, or of all; of that space perhaps only one. Its number is not
 * used again; once it is dropped, its memory may be that of the next one.
 */
struct drop_scope {
	const struct address_space *space;
	uint64_t one_id; /* 0: all of them */
};

static bool is_in_scope(const struct space_memory *candidate, const struct drop_scope *scope)
{
	if (!scope->space || candidate->space->user == scope->space)
		return true;
	return candidate->space == scope->space &&
	       (scope->one_id == 0 || candidate->view.id == scope->one_id);
}

/* The next view that nobody has begun to drop. */
static struct space_memory *take_view(struct mapped_memory *memory, const struct drop_scope *scope)
{
	struct space_memory *found = NULL;

	lock_acquire(&memory->lock);
	list_each (struct space_memory, candidate, &memory->views, view.memory_link) {
		if (!candidate->dropped && is_in_scope(candidate, scope)) {
			candidate->dropped = drop_count_down;
			found = candidate;
			break;
		}
	}
	lock_release(&memory->lock);
	return found;
}

static bool drop_views(struct mapped_memory *memory, const struct drop_scope *scope,
		       struct memory_drop *drop)
{
	struct space_memory *next;

	atomic_store(&drop->pending, 1);
	while ((next = take_view(memory, scope)) != NULL) {
		struct address_space *space = next->space;

		next->dropped_context = drop;
		atomic_fetch_add(&drop->pending, 1);
		lock_acquire(&space->tables.lock);
		next->is_gone = true;
		lock_release(&space->tables.lock);
		space_enter(space);
		drop_start(next);
	}
	return atomic_fetch_sub(&drop->pending, 1) == 1;
}

bool address_space_drop(struct address_space *only, struct mapped_memory *memory,
			struct memory_drop *drop)
{
	return drop_views(memory, &(struct drop_scope){ .space = only }, drop);
}

bool address_space_drop_opened(struct space_memory *memory, struct memory_drop *drop)
{
	const struct drop_scope scope = { .space = memory->space, .one_id = memory->view.id };

	return drop_views(memory->view.memory, &scope, drop);
}

/* ---- life ---- */

/* Everything goes: what is mapped, and with TABLES_END_INVALID all entries. */
struct space_end {
	struct paging_job job;
	struct address_space *space;
	struct table_sync sync;
	bool is_ending;
	bool is_flushed;
};

static enum paging_step end_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct space_end *end = container_of(job, struct space_end, job);

	if (end->is_ending && table_sync_write(&end->sync, op_out))
		return PAGING_OPERATION;
	if (end->is_flushed)
		return PAGING_NONE;
	end->is_flushed = true;
	page_tables_flush_op(&end->space->tables, 0, 0, op_out);
	return PAGING_OPERATION;
}

static void forget_memories(struct address_space *space)
{
	list_drain (struct space_memory, memory, &space->memories, space_link) {
		assert(!memory->dropped && memory->references == 1);
		memory_view_finish(&memory->view);
		mem_free(memory);
	}
}

static void end_done(struct paging_job *job, NTSTATUS status)
{
	struct space_end *end = container_of(job, struct space_end, job);
	struct address_space *space = end->space;

	lock_acquire(&space->tables.lock);
	gpuva_space_finish(&space->tables.space);
	lock_release(&space->tables.lock);
	forget_memories(space);
	space_leave(space);
}

void address_space_destroy(struct address_space *space)
{
	if (!space)
		return;
	assert(!pager_is_current_thread(space->pager));
	space_quit(space);
	wait_until_idle(space);
	space_stays(space);
	space->tables.pools = NULL;
	address_space_destroy(space->pools);
	wait_until_idle(space); /* a job of theirs may have failed, and broken this one */
	struct space_end end = {
		.space = space,
		/* No entry of a root alone ever led anywhere; nor does one that is nowhere. */
		.is_flushed = !space->has_started || space->tables.table_count == 1 ||
			      space->tables.is_out,
		.is_ending = space->tables.config->mmu.flags & TABLES_END_INVALID
	};
	paging_job_init(&end.job, space->pager);
	table_sync_init(&end.sync, &space->tables, 0, 0);
	end.sync.is_ending = true;
	end.job.next = end_next;
	end.job.done = end_done;
	end.job.shares_tables = true;
	space_enter(space);
	paging_job_queue(&end.job);
	wait_until_idle(space);
	pager_flush(space->pager); /* the job itself is on this stack */
	page_tables_finish(&space->tables);
	assert(list_is_empty(&space->contexts));
	lock_finish(&space->root_lock);
	mem_free(space);
}

NTSTATUS address_space_refuse(NTSTATUS status)
{
	if (status == STATUS_NO_MEMORY)
		return refuse(status, RULE_API_NO_MEMORY, NULL,
			      "There is no memory to write page tables");
	if (status == STATUS_DEVICE_REMOVED)
		return refuse(status, RULE_API_DEVICE_GONE, NULL,
			      "the adapter whose page tables were to be written was reset");
	if (status == STATUS_NOT_SUPPORTED)
		return refuse(status, RULE_MM_PAGING_WINDOW, NULL,
			      "a page table is larger than what the kernel can map to write it");
	return refuse(status, RULE_DDI_PAGING_ANSWER, NULL,
		      "page tables could not be written, for the driver answered with a mistake");
}

static void root_done(void *context, NTSTATUS status)
{
	*(NTSTATUS *)context = status;
}

/* The root, with nothing in it. */
NTSTATUS address_space_start(struct address_space *space, void *driver_process,
			     const struct space_root_listener *root)
{
	struct space_row *row = space_row_create(space, 1);
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!row)
		return STATUS_NO_MEMORY;
	space->tables.driver_process = driver_process;
	space->has_started = true;
	row->ranges[0] = (struct space_range_of_pages){ 0, 1 };
	row->range_count = 1;
	space_row_queue(row, &(struct space_listener){ root_done, &status });
	wait_until_idle(space);
	pager_flush(space->pager); /* an idle pager is one with nothing to do */
	if (NT_SUCCESS(status)) {
		space->root_listener = *root;
		space_may_leave(space);
	}
	return status;
}

static NTSTATUS init_tables(struct address_space *space, struct vidmm_process *process,
			    struct table_block_wants *wants)
{
	return space->user ? page_tables_init_pools(&space->tables, &space->user->tables, wants)
			   : page_tables_init(&space->tables, space->config, process, NULL, wants);
}

/* There may have to be room for the root first. */
static NTSTATUS make_root(struct address_space *space, struct vidmm_process *process)
{
	struct page_tables_config *config = space->config;
	struct table_block_wants wants = { 0 };
	NTSTATUS status;

	do {
		status = init_tables(space, process, &wants);
		if (status != STATUS_GRAPHICS_NO_VIDEO_MEMORY)
			break;
		status = table_block_wants_await(&wants, config, process);
	} while (NT_SUCCESS(status));
	table_block_wants_finish(&wants, config);
	return status;
}

/* The tables of the process are held. */
static NTSTATUS space_create(struct page_tables_config *config, struct pager *pager,
			     struct vidmm_process *process, struct address_space *user,
			     struct address_space **space_out)
{
	struct address_space *space = mem_zalloc(sizeof(*space));

	if (!space)
		return refuse_no_memory("There is no memory for an address space");
	space->pager = pager;
	space->config = config;
	space->user = user;
	list_init(&space->memories);
	list_init(&space->contexts);
	NTSTATUS status = make_root(space, process);
	if (!NT_SUCCESS(status)) {
		mem_free(space);
		return status;
	}
	range_pool_belong(&space->tables.space.pool, process->account.ledger);
	lock_init(&space->root_lock, LOCK_RANK_VA_ROOT, "root of gpu addresses");
	space_join(space);
	*space_out = space;
	return STATUS_SUCCESS;
}

NTSTATUS address_space_create(struct page_tables_config *config, struct pager *pager,
			      struct vidmm_process *process, struct address_space **space_out)
{
	vidmm_tables_hold(process);
	NTSTATUS status = space_create(config, pager, process, NULL, space_out);
	vidmm_tables_release(process);
	return status;
}

NTSTATUS space_create_pools(struct address_space *user, struct address_space **pools_out)
{
	NTSTATUS status =
		space_create(user->config, user->pager, user->tables.process, user, pools_out);

	/* Its root is written with the first pool, and no context begins there. */
	if (NT_SUCCESS(status))
		atomic_store(&(*pools_out)->has_started, true);
	return status;
}
