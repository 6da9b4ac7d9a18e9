/* SPDX-License-Identifier: MIT */
/*
 * job.c - jobs: what has to come first, who is told afterwards.
 *
 *   in:   jobs, what they come after, packets that are retired
 *   out:  pager.ready, done(), those who wait for all
 *
 * A job's number (ticket) is given when it is queued. Jobs end in any order, so "all of them so
 * far" is over when the oldest one that is left is younger.
 *
 * Locks: pager.lock, never held while calling a job or a waiter.
 */
#include <assert.h>

#include "base/clock.h"
#include "paging/internal.h"
#include "trace/trace.h"

/* ---- jobs, from outside ---- */

void paging_job_init(struct paging_job *job, struct pager *pager)
{
	*job = (struct paging_job){ .pager = pager };
	list_init(&job->link);
	list_init(&job->queued_link);
	list_init(&job->change_link);
	list_init(&job->yield_link);
	atomic_init(&job->pending, 1);
	atomic_init(&job->state, JOB_NEW);
}

/* What it had to wait for is over, all of it: true. */
static bool ready_locked(struct paging_job *job)
{
	lock_assert_held(&job->pager->lock);
	if (atomic_fetch_sub(&job->pending, 1) != 1)
		return false;
	atomic_store(&job->state, JOB_READY);
	list_push_back(&job->pager->ready, &job->link);
	return true;
}

static void job_release(struct paging_job *job)
{
	struct pager *pager = job->pager;

	lock_acquire(&pager->lock);
	if (ready_locked(job))
		notice_give(&pager->changed);
	lock_release(&pager->lock);
}

static void dependency_over(struct sched_wait *wait)
{
	struct paging_dependency *dependency = container_of(wait, struct paging_dependency, wait);

	job_release(dependency->job);
}

static void dependency_begin(struct paging_job *job, struct paging_dependency *dependency)
{
	assert(atomic_load(&job->state) == JOB_NEW);
	*dependency = (struct paging_dependency){ .job = job, .wait = { .over = dependency_over } };
	list_init(&dependency->wait.link);
	atomic_fetch_add(&job->pending, 1);
}

void paging_job_after_submitted(struct paging_job *job, struct sched_owner *owner,
				struct paging_dependency *dependency)
{
	dependency_begin(job, dependency);
	sched_after_submitted(owner, &dependency->wait);
}

struct sched_wait *paging_job_after_wait(struct paging_job *job,
					 struct paging_dependency *dependency)
{
	dependency_begin(job, dependency);
	return &dependency->wait;
}

uint64_t paging_job_last_packet(struct paging_job *built)
{
	lock_acquire(&built->pager->lock);
	uint64_t packet = built->last_sequence;
	lock_release(&built->pager->lock);
	return packet;
}

void paging_job_behind(struct paging_job *job, uint64_t packet)
{
	assert(atomic_load(&job->state) == JOB_NEW);
	job->last_sequence = packet;
}

bool pager_job_queue_locked(struct paging_job *job, uint64_t now_ns)
{
	struct pager *pager = job->pager;

	lock_assert_held(&pager->lock);
	assert(atomic_load(&job->state) == JOB_NEW);
	atomic_store(&job->state, JOB_WAITING);
	job->ticket = ++pager->last_ticket;
	job->queued_ns = now_ns;
	job->generation = atomic_load(&pager->generation);
	list_push_back(&pager->queued, &job->queued_link);
	if (job->changes_tables)
		list_push_back(&pager->changes, &job->change_link);
	atomic_fetch_add(&pager->outstanding, 1);
	trace_paging_job_queued(pager->own.node, job->ticket);
	return ready_locked(job);
}

void paging_job_queue(struct paging_job *job)
{
	struct pager *pager = job->pager;
	uint64_t now_ns = clock_peek_ns(); /* an observer's look: no step of a seeded run */

	lock_acquire(&pager->lock);
	if (pager_job_queue_locked(job, now_ns))
		notice_give(&pager->changed);
	lock_release(&pager->lock);
}

void paging_jobs_queue(struct pager *pager, struct list *jobs)
{
	bool is_any_ready = false;

	if (list_is_empty(jobs))
		return;
	uint64_t now_ns = clock_peek_ns();
	lock_acquire(&pager->lock);
	list_drain (struct paging_job, job, jobs, link)
		is_any_ready |= pager_job_queue_locked(job, now_ns);
	if (is_any_ready)
		notice_give(&pager->changed);
	lock_release(&pager->lock);
}

void pager_trace_jobs(struct pager *pager)
{
	lock_acquire(&pager->lock);
	list_each (const struct paging_job, job, &pager->queued, queued_link)
		trace_paging_job_queued(pager->own.node, job->ticket);
	list_each (const struct pager_buffer, buffer, &pager->sent, link) {
		if (!buffer->is_back)
			trace_paging_packet_submitted(buffer->stream->node, buffer->sequence,
						      buffer->memory.used_bytes,
						      buffer->work_bytes);
	}
	lock_release(&pager->lock);
}

const struct tally_spread *pager_times(const struct pager *pager)
{
	return &pager->took;
}

bool paging_job_is_stale(const struct paging_job *job)
{
	return job->generation != pager_generation(job->pager);
}

/* ---- following ---- */

void pager_job_follow(struct paging_job *job)
{
	struct pager *pager = job->pager;

	lock_acquire(&pager->lock);
	job->followed_ticket = pager->last_ticket;
	lock_release(&pager->lock);
}

bool pager_job_is_following_locked(const struct pager *pager, const struct paging_job *job)
{
	lock_assert_held(&pager->lock);
	list_each (const struct paging_job, change, &pager->changes, change_link) {
		if (change->ticket > job->followed_ticket)
			return false;
		if (!change->tables || !job->follows || job->follows(job, change->tables))
			return true;
	}
	return false;
}

bool pager_job_is_following(struct pager *pager, const struct paging_job *job)
{
	lock_acquire(&pager->lock);
	bool is_following = pager_job_is_following_locked(pager, job);
	lock_release(&pager->lock);
	return is_following;
}

/* ---- taking turns ---- */

static bool has_table_op(const struct paging_job *job)
{
	return job->shares_tables && job->step == PAGING_OPERATION &&
	       miniport_paging_is_on_tables(&job->op);
}

/* True while a stalled job has an operation on tables under way, which this one must not overwrite. Only the pager's
 * thread asks, and only it stalls jobs. */
bool pager_job_must_not_ask(const struct pager *pager, const struct paging_job *job)
{
	if (!job->shares_tables || job->step != PAGING_NONE)
		return false;
	list_each (struct paging_job, each, &pager->stalled, link) {
		if (has_table_op(each))
			return true;
	}
	return false;
}

/*
 * Tables that one job has begun to change nobody else changes before it is built: who gives up what
 * was shown there comes behind it.
 */
bool pager_job_is_behind_yielded_locked(const struct pager *pager, const struct paging_job *job)
{
	lock_assert_held(&pager->lock);
	list_each (const struct paging_job, yielded, &pager->yielded, yield_link) {
		if (yielded != job && job->changes_tables &&
		    (!job->tables || job->tables == yielded->tables))
			return true;
	}
	return false;
}

/* ---- being told ---- */

/* Are all jobs up to this ticket over? They end in any order, and one whose done() is being called is not over. */
static bool is_over_locked(const struct pager *pager, uint64_t ticket)
{
	lock_assert_held(&pager->lock);
	if (pager->finishing_ticket != 0 && pager->finishing_ticket <= ticket)
		return false;
	return list_is_empty(&pager->queued) ||
	       container_of(pager->queued.next, struct paging_job, queued_link)->ticket > ticket;
}

bool pager_is_idle(const struct pager *pager)
{
	return atomic_load(&pager->outstanding) == 0;
}

void pager_after_all(struct pager *pager, struct sched_wait *wait)
{
	bool is_over = atomic_load(&pager->outstanding) == 0;

	if (!is_over) {
		lock_acquire(&pager->lock);
		wait->ticket = pager->last_ticket;
		is_over = is_over_locked(pager, wait->ticket);
		if (!is_over)
			list_push_back(&pager->waits, &wait->link);
		lock_release(&pager->lock);
	}
	if (is_over)
		wait->over(wait);
}

struct flush {
	struct sched_wait wait;
	struct pager *pager;
	bool is_over; /* guarded by pager->lock */
};

static void flush_over(struct sched_wait *wait)
{
	struct flush *flush = container_of(wait, struct flush, wait);
	struct pager *pager = flush->pager;

	lock_acquire(&pager->lock);
	flush->is_over = true;
	notice_give(&pager->told);
	lock_release(&pager->lock);
}

void pager_flush(struct pager *pager)
{
	struct flush flush = { .wait = { .over = flush_over }, .pager = pager };

	assert(!pager_is_current_thread(pager));
	list_init(&flush.wait.link);
	pager_after_all(pager, &flush.wait);
	lock_acquire(&pager->lock);
	while (!flush.is_over)
		notice_wait_relock(&pager->told, &pager->lock);
	lock_release(&pager->lock);
}

bool pager_is_current_thread(const struct pager *pager)
{
	return thread_self() == pager->thread;
}

/* ---- the end of a job ---- */

void pager_job_written(struct pager *pager, struct paging_job *job)
{
	lock_acquire(&pager->lock);
	job->last_sequence = pager->submitted_sequence + 1;
	if (job->first_sequence == 0)
		job->first_sequence = job->last_sequence;
	lock_release(&pager->lock);
}

void pager_job_look_behind(struct pager *pager, struct paging_job *job)
{
	/* There is one, still. */
	if (pager->current && pager->current->memory.used_bytes > 0)
		return;
	lock_acquire(&pager->lock);
	if (job->last_sequence > pager->submitted_sequence)
		job->last_sequence = pager->submitted_sequence;
	lock_release(&pager->lock);
}

NTSTATUS pager_job_built(struct pager *pager, struct paging_job *job, NTSTATUS status)
{
	lock_acquire(&pager->lock);
	if (NT_SUCCESS(job->status))
		job->status = status;
	status = job->status;
	job->step = PAGING_NONE;
	atomic_store(&job->state, JOB_BUILT);
	list_remove(&job->change_link);
	list_remove(&job->yield_link);
	list_remove(&job->link);
	struct list *before = pager->built.prev;
	while (before != &pager->built &&
	       container_of(before, struct paging_job, link)->last_sequence > job->last_sequence)
		before = before->prev;
	list_insert_between(&job->link, before, before->next);
	lock_release(&pager->lock);
	return status;
}

static struct paging_job *first_finished_locked(const struct pager *pager)
{
	lock_assert_held(&pager->lock);
	if (list_is_empty(&pager->built))
		return NULL;
	struct paging_job *job = container_of(pager->built.next, struct paging_job, link);
	return job->last_sequence <= pager->retired_sequence ? job : NULL;
}

bool paging_job_is_followed(const struct paging_job *job)
{
	struct pager *pager = job->pager;

	assert(pager_is_current_thread(pager));
	lock_acquire(&pager->lock);
	const struct paging_job *next = first_finished_locked(pager);
	bool is_followed = next && next->done == job->done;
	lock_release(&pager->lock);
	return is_followed;
}

static struct paging_job *take_finished(struct pager *pager)
{
	lock_acquire(&pager->lock);
	struct paging_job *job = first_finished_locked(pager);
	if (job) {
		pager_expect(job->link.next);
		list_remove(&job->link);
		list_remove(&job->queued_link);
		pager->finishing_ticket = job->ticket;
		atomic_store(&job->state, JOB_DONE);
	}
	lock_release(&pager->lock);
	return job;
}

static void tell_waits(struct pager *pager)
{
	struct list over;

	list_init(&over);
	lock_acquire(&pager->lock);
	pager->finishing_ticket = 0;
	atomic_fetch_sub(&pager->outstanding, 1);
	while (!list_is_empty(&pager->waits)) {
		struct sched_wait *wait = container_of(pager->waits.next, struct sched_wait, link);

		if (!is_over_locked(pager, wait->ticket))
			break;
		list_remove(&wait->link);
		list_push_back(&over, &wait->link);
	}
	lock_release(&pager->lock);
	list_drain (struct sched_wait, wait, &over, link)
		wait->over(wait);
}

bool pager_finish_job(struct pager *pager)
{
	struct paging_job *job = take_finished(pager);

	if (!job)
		return false;
	uint64_t now_ns = clock_peek_ns();
	tally_spread_add(&pager->took, now_ns > job->queued_ns ? now_ns - job->queued_ns : 0);
	pager_quiet_end(pager, job);
	trace_paging_job_done(pager->own.node, job->ticket, job->status);
	job->done(job, job->status);
	tell_waits(pager);
	return true;
}
