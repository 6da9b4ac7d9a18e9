/* SPDX-License-Identifier: MIT */
/*
 * validate.c - recounts what the pager believes of itself.
 */
#include "paging/internal.h"

static const char *check_jobs_locked(const struct pager *pager)
{
	uint32_t in_state[JOB_DONE + 1] = { 0 };
	uint64_t ticket = 0;
	uint32_t count = 0;
	uint32_t changes = 0;
	uint32_t quiet_jobs = 0;

	lock_assert_held(&pager->lock);
	list_each (const struct paging_job, job, &pager->queued, queued_link) {
		if (job->ticket <= ticket || job->ticket > pager->last_ticket)
			return "jobs are not in the order of their tickets";
		if (job->last_sequence > pager->submitted_sequence + 1 ||
		    job->first_sequence > job->last_sequence)
			return "a job is carried by a packet that there is not";
		ticket = job->ticket;
		in_state[atomic_load(&job->state)]++;
		changes += list_is_linked(&job->change_link);
		quiet_jobs += job->needs_quiet;
		count++;
	}
	if (in_state[JOB_NEW] != 0 || in_state[JOB_DONE] != 0)
		return "a queued job is in a state of one that is not";
	/* A job is taken off the list of all before it counts as over. */
	if (atomic_load(&pager->outstanding) != count + (pager->finishing_ticket != 0))
		return "the number of outstanding jobs is wrong";
	if (list_length(&pager->stalled) != in_state[JOB_STALLED] ||
	    list_length(&pager->built) != in_state[JOB_BUILT] || in_state[JOB_BUILDING] > 1)
		return "a job is not in the list of its state";
	if (list_length(&pager->ready) != in_state[JOB_READY])
		return "a ready job is not in the list";
	if (list_length(&pager->changes) != changes)
		return "a change of tables is of no queued job";
	/* … and before it needs no quiet any more. */
	if (pager->quiet_jobs != quiet_jobs &&
	    (pager->finishing_ticket == 0 || pager->quiet_jobs != quiet_jobs + 1))
		return "jobs that need clients to stand still are miscounted";
	return NULL;
}

static const char *check_built_locked(const struct pager *pager)
{
	uint64_t sequence = 0;

	lock_assert_held(&pager->lock);
	list_each (const struct paging_job, job, &pager->built, link) {
		if (job->last_sequence < sequence)
			return "built jobs are not in the order of their packets";
		sequence = job->last_sequence;
	}
	return NULL;
}

static const char *check_buffers_locked(const struct pager *pager)
{
	uint64_t at_hardware = pager->submitted_sequence - pager->retired_sequence;
	uint64_t counted = list_length(&pager->free_buffers) +
			   list_length(&pager->retired_buffers) + at_hardware;

	lock_assert_held(&pager->lock);
	if (pager->retired_sequence > pager->submitted_sequence)
		return "more packets came back than were submitted";
	if (list_length(&pager->sent) != at_hardware)
		return "a packet is neither under way nor back";
	/* One may be in the hands of the thread. */
	if (counted != pager->config.buffer_count && counted + 1 != pager->config.buffer_count)
		return "a paging buffer is lost, or in two places";
	return NULL;
}

static const char *check_waits_locked(const struct pager *pager)
{
	uint64_t ticket = 0;

	lock_assert_held(&pager->lock);
	list_each (const struct sched_wait, wait, &pager->waits, link) {
		if (wait->ticket < ticket || wait->ticket > pager->last_ticket)
			return "waits are not in the order of their tickets";
		ticket = wait->ticket;
	}
	if (!list_is_empty(&pager->waits) && atomic_load(&pager->outstanding) == 0)
		return "somebody waits, and there is nothing to wait for";
	return NULL;
}

/* ASKED without a job is right: the job may have failed meanwhile, and the standstill is then given back when it comes. */
static const char *check_quiet_locked(const struct pager *pager)
{
	lock_assert_held(&pager->lock);
	if (pager->quiet_jobs > 0 && pager->quiet == QUIET_NONE)
		return "a job needs clients to stand still, and nobody asked for that";
	if (pager->quiet_jobs == 0 && pager->quiet == QUIET_REACHED)
		return "clients stand still for nobody";
	return NULL;
}

bool pager_holds_clients(struct pager *pager)
{
	lock_acquire(&pager->lock);
	bool is_holding = pager->quiet != QUIET_NONE;
	lock_release(&pager->lock);
	return is_holding;
}

const char *pager_validate(struct pager *pager)
{
	lock_acquire(&pager->lock);
	const char *problem = check_jobs_locked(pager);
	if (!problem)
		problem = check_built_locked(pager);
	if (!problem)
		problem = check_buffers_locked(pager);
	if (!problem)
		problem = check_waits_locked(pager);
	if (!problem)
		problem = check_quiet_locked(pager);
	lock_release(&pager->lock);
	return problem;
}
