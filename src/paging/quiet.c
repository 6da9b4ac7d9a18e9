/* SPDX-License-Identifier: MIT */
/*
 * quiet.c - page tables that must not change while a context runs: all of a GPU that says so
 * (PageTableUpdateRequireAddressSpaceIdle), else those that become others (64 KiB pages that become
 * pages of 4 KiB).
 *
 *	the first job that changes tables ─▶ ASKED: nothing new of any client is submitted
 *	the hardware has nothing of theirs ─▶ REACHED: such jobs are built
 *	the last of them is done, its TLB flushed ─▶ NONE
 *
 * Contexts of other processes stand still, too; that is more than is asked for, and there is one
 * place that lets them go on, whatever became of the job.
 *
 * Who has something else to do while nothing runs holds them itself (pager_hold_clients).
 *
 * The kernel's own tables are not meant: they change for the kernel's own context, in order.
 *
 * Locks: pager.lock guards all of it. Nobody is called with it held.
 */
#include <assert.h>

#include "paging/internal.h"

enum { CAPS_REQUIRE_IDLE = 1 << 5 };

/* Must clients' contexts stand still for this operation? For some changes they must whatever the GPU says. */
static bool needs_quiet(const struct pager *pager, const struct paging_job *job)
{
	const struct miniport_paging_op *op = &job->op;

	if (!pager->has_space || !miniport_paging_is_on_tables(op) || job == &pager->space.job)
		return false;
	return (pager->space.mmu.flags & CAPS_REQUIRE_IDLE) ||
	       (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE && op->update_table.needs_quiet);
}

/* True when nobody wants it any more: the caller releases. */
static bool is_unwanted_locked(struct pager *pager)
{
	lock_assert_held(&pager->lock);
	if (pager->quiet != QUIET_REACHED || pager->quiet_jobs > 0)
		return false;
	pager->quiet = QUIET_NONE;
	return true;
}

static void reached(struct sched_wait *wait)
{
	struct pager *pager = container_of(wait, struct pager, quiet_wait);
	struct sched *sched = pager->sched;

	lock_acquire(&pager->lock);
	pager->quiet = QUIET_REACHED;
	bool is_unwanted = is_unwanted_locked(pager); /* who asked failed meanwhile */
	notice_give(&pager->changed);
	lock_release(&pager->lock);
	if (is_unwanted)
		sched_release_clients(sched);
}

bool pager_is_quiet_for(struct pager *pager, struct paging_job *job)
{
	bool must_ask = false;

	if (!needs_quiet(pager, job))
		return true;
	lock_acquire(&pager->lock);
	if (!job->needs_quiet) {
		job->needs_quiet = true;
		pager->quiet_jobs++;
		must_ask = pager->quiet == QUIET_NONE;
		if (must_ask)
			pager->quiet = QUIET_ASKED;
	}
	lock_release(&pager->lock);
	if (must_ask) {
		pager->quiet_wait = (struct sched_wait){ .over = reached };
		list_init(&pager->quiet_wait.link);
		sched_hold_clients(pager->sched, &pager->quiet_wait);
	}
	lock_acquire(&pager->lock);
	bool is_quiet = pager->quiet == QUIET_REACHED;
	lock_release(&pager->lock);
	return is_quiet;
}

void pager_quiet_end(struct pager *pager, struct paging_job *job)
{
	if (!job->needs_quiet)
		return;
	lock_acquire(&pager->lock);
	assert(pager->quiet_jobs > 0);
	job->needs_quiet = false;
	pager->quiet_jobs--;
	bool is_unwanted = is_unwanted_locked(pager);
	lock_release(&pager->lock);
	if (is_unwanted)
		sched_release_clients(pager->sched);
}

void pager_hold_clients(struct pager *pager)
{
	struct sched_thread_wait waiter;

	sched_thread_wait_begin(&waiter, pager->owner);
	sched_hold_clients(pager->sched, &waiter.wait);
	bool is_over = sched_thread_wait_until_over(&waiter, false);
	assert(is_over);
	(void)is_over;
}

void pager_release_clients(struct pager *pager)
{
	sched_release_clients(pager->sched);
}
