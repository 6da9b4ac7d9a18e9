/* SPDX-License-Identifier: MIT */
/*
 * pager.c - the thread that builds jobs, from creation to the end, resets included.
 *
 *	queue() ─▶ waiting ─▶ ready ─▶ building ─▶ built ─▶ done()
 *	                        ▲          │
 *	                        ├─ stalled ┤    an operation that has to wait for the job's own
 *	                        └──────────┘    many operations on tables: others have a turn
 *
 * One job is built at a time. When a buffer or window is missing the thread waits in the middle of
 * it, and goes on there.
 *
 * A reset moves the pager into its next generation. Jobs of an older one fail when the thread meets
 * them; packets of an older one do not get further than the scheduler's queue (buffer.c), and are
 * cancelled there.
 *
 * Locks: pager.lock, never held while calling a job, a waiter, the driver or the scheduler.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "paging/internal.h"

enum {
	CAPS_EXPLICIT_INVALIDATION = 1 << 3,
	WAYS_LOOKED_AT = 64,    /* jobs, for one that moves the other way */
	TOLD_PASSES_MAX = 1024, /* of what is only told, and does nothing */
	FEW_PROCESSORS = 2,
};

#define LOOK_NS             (50 * NS_PER_US)
#define LOOK_FOR_PACKETS_NS NS_PER_MS

/* How long a job waits for memory of ours, and how often it looks. */
#define NO_MEMORY_PATIENCE_NS (200 * NS_PER_MS)
#define NO_MEMORY_PAUSE_NS    NS_PER_MS

/* ---- the kernel's own tables ---- */

static void tables_done(struct paging_job *job, NTSTATUS status)
{
	struct pager *pager = job->pager;

	lock_acquire(&pager->lock);
	if (job->generation == atomic_load(&pager->generation)) {
		pager->has_tables = NT_SUCCESS(status);
		if (!NT_SUCCESS(status))
			pager->broken = status;
	}
	notice_give(&pager->told);
	lock_release(&pager->lock);
}

/* The pager's own tables are written only when the hardware has nothing that might go through them. */
static bool tables_may_begin_locked(const struct pager *pager)
{
	uint8_t state = atomic_load(&pager->space.job.state);

	lock_assert_held(&pager->lock);
	return pager->needs_tables && !pager->is_suspended &&
	       (state == JOB_NEW || state == JOB_DONE) &&
	       pager->retired_sequence == pager->submitted_sequence;
}

/* Of the generation that is now: one that begins before it is queued would find tables of its own, and write them twice. */
static void queue_tables_locked(struct pager *pager, bool is_ending)
{
	struct paging_job *job = &pager->space.job;

	lock_assert_held(&pager->lock);
	paging_job_init(job, pager);
	job->done = tables_done;
	pager_space_rewind(pager, is_ending);
	(void)!pager_job_queue_locked(job, clock_peek_ns()); /* by the thread itself */
}

static bool begin_tables(struct pager *pager)
{
	if (!atomic_load_explicit(&pager->needs_tables, memory_order_relaxed))
		return false;
	lock_acquire(&pager->lock);
	bool may_begin = tables_may_begin_locked(pager);
	if (may_begin) {
		pager->needs_tables = false;
		queue_tables_locked(pager, false);
	}
	lock_release(&pager->lock);
	return may_begin;
}

/* At the end the tables are made invalid once, for GPUs that would follow entries of tables that are gone. */
static bool begin_last_tables(struct pager *pager)
{
	if (!pager->has_space || !(pager->space.mmu.flags & CAPS_EXPLICIT_INVALIDATION) ||
	    pager->space.is_ending)
		return false;
	lock_acquire(&pager->lock);
	bool has_tables = pager->has_tables;
	if (has_tables)
		queue_tables_locked(pager, true);
	lock_release(&pager->lock);
	return has_tables;
}

/* ---- the thread ---- */

bool pager_may_build(struct pager *pager)
{
	return pager->built_generation == atomic_load(&pager->generation);
}

static struct paging_job *first_stalled_locked(struct pager *pager)
{
	lock_assert_held(&pager->lock);
	list_each (struct paging_job, job, &pager->stalled, link) {
		if (job->last_sequence <= pager->retired_sequence &&
		    !pager_job_is_following_locked(pager, job) &&
		    !pager_job_must_not_ask(pager, job) &&
		    (!job->needs_quiet || pager->quiet == QUIET_REACHED))
			return job;
	}
	return NULL;
}

static bool is_tables_job(const struct pager *pager, const struct paging_job *job)
{
	return pager->has_space && job == &pager->space.job;
}

/* STATUS_SUCCESS, or why the job fails without being built (further), and without waiting for its turn. */
static NTSTATUS fate_locked(const struct pager *pager, const struct paging_job *job)
{
	lock_assert_held(&pager->lock);
	if (job->generation != atomic_load(&pager->generation) ||
	    (pager->is_suspended && pager->is_stopping)) /* there will be no restart */
		return STATUS_DEVICE_REMOVED;
	if (!NT_SUCCESS(pager->broken) && !is_tables_job(pager, job))
		return pager->broken;
	return job->status; /* a packet of it came back undone */
}

/* Until the tables are written, nobody else is built. */
static bool may_be_built_locked(const struct pager *pager, const struct paging_job *job)
{
	bool is_open = !pager->is_suspended && (!pager->has_space || pager->has_tables);

	lock_assert_held(&pager->lock);
	return !NT_SUCCESS(fate_locked(pager, job)) ||
	       (is_open && !pager_job_is_behind_yielded_locked(pager, job)) ||
	       (is_tables_job(pager, job) && !pager->is_suspended);
}

/* The first that moves the other way. NULL: there is none among those that are next. */
static struct paging_job *other_way_locked(const struct pager *pager, enum paging_way way)
{
	uint32_t looked_at = 0;

	lock_assert_held(&pager->lock);
	list_each (struct paging_job, job, &pager->ready, link) {
		if (job->way != PAGING_SOME_WAY && job->way != way &&
		    may_be_built_locked(pager, job))
			return job;
		if (++looked_at == WAYS_LOOKED_AT)
			break;
	}
	return NULL;
}

static struct paging_job *next_ready_locked(const struct pager *pager)
{
	struct paging_job *first = NULL;

	lock_assert_held(&pager->lock);
	list_each (struct paging_job, job, &pager->ready, link) {
		if (may_be_built_locked(pager, job)) {
			first = job;
			break;
		}
	}
	if (!first || first->way == PAGING_SOME_WAY || first->way != pager->last_way)
		return first;
	struct paging_job *other = other_way_locked(pager, first->way);
	return other ? other : first;
}

bool pager_has_other_way(struct pager *pager, const struct paging_job *job)
{
	lock_acquire(&pager->lock);
	bool has_other = other_way_locked(pager, job->way) != NULL;
	lock_release(&pager->lock);
	return has_other;
}

/* Puts the job to be built next into pager->build; true when there is one. */
static bool pick_job(struct pager *pager, NTSTATUS *status_out)
{
	struct paging_job *job = pager->build.job;

	*status_out = STATUS_SUCCESS;
	lock_acquire(&pager->lock);
	if (!job) {
		job = first_stalled_locked(pager);
		if (!job)
			job = next_ready_locked(pager);
		if (job) {
			pager_expect(job->link.next);
			list_remove(&job->link);
			atomic_store(&job->state, JOB_BUILDING);
			pager->build = (struct pager_build){ .job = job };
			pager->last_way = job->way;
		}
	}
	pager->is_building = job != NULL;
	if (job)
		*status_out = fate_locked(pager, job);
	lock_release(&pager->lock);
	return job != NULL;
}

static void end_build(struct pager *pager, NTSTATUS status)
{
	struct paging_job *job = pager->build.job;

	pager_build_abandon(pager);
	pager_job_look_behind(pager, job);
	status = pager_job_built(pager, job, status);
	if (NT_SUCCESS(status) && job->built)
		job->built(job);
}

/* The job goes to the end of the row, and on at once when no other is ready. */
static void yield_job(struct pager *pager)
{
	struct paging_job *job = pager->build.job;

	pager_build_abandon(pager);
	lock_acquire(&pager->lock);
	atomic_store(&job->state, JOB_READY);
	list_push_back(&pager->ready, &job->link);
	if (!list_is_linked(&job->yield_link))
		list_push_back(&pager->yielded, &job->yield_link);
	lock_release(&pager->lock);
}

/* The job makes way for one that moves the other way, and stays the first of its own. */
static void turn_job(struct pager *pager)
{
	struct paging_job *job = pager->build.job;

	pager_build_abandon(pager);
	lock_acquire(&pager->lock);
	atomic_store(&job->state, JOB_READY);
	list_push_front(&pager->ready, &job->link);
	lock_release(&pager->lock);
}

static void stall_job(struct pager *pager)
{
	struct paging_job *job = pager->build.job;

	pager_build_abandon(pager);
	lock_acquire(&pager->lock);
	atomic_store(&job->state, JOB_STALLED);
	list_push_back(&pager->stalled, &job->link);
	lock_release(&pager->lock);
}

/*
 * Memory of ours that is not there may be there soon; what would be left half done costs somebody
 * his device. The operation goes again from where it stood.
 */
static bool must_try_again(struct pager *pager)
{
	struct pager_build *build = &pager->build;
	uint64_t now_ns = clock_now_ns();

	if (build->status != STATUS_NO_MEMORY)
		return false;
	if (build->give_up_ns == 0)
		build->give_up_ns = now_ns + NO_MEMORY_PATIENCE_NS;
	if (now_ns >= build->give_up_ns)
		return false;
	pager_build_again(pager);
	clock_sleep_until(now_ns + NO_MEMORY_PAUSE_NS);
	return true;
}

static void build_some(struct pager *pager)
{
	struct refusal_scope scope;

	refusal_begin(&scope, "paging");
	enum build_result result = pager_build_job(pager);
	(void)refusal_end_call(&scope,
			       result == BUILD_FAILED ? pager->build.status : STATUS_SUCCESS);

	switch (result) {
	case BUILD_DONE:
		end_build(pager, STATUS_SUCCESS);
		break;
	case BUILD_FAILED:
		if (!must_try_again(pager))
			end_build(pager, pager->build.status);
		break;
	case BUILD_STALLED:
		stall_job(pager);
		break;
	case BUILD_YIELDED:
		yield_job(pager);
		break;
	case BUILD_TURNED:
		turn_job(pager);
		break;
	case BUILD_BLOCKED:
	case BUILD_STALE: /* pick_job() sees to it */
		break;
	}
}

/* A reset began: what is in the buffer must never run. */
static void enter_generation(struct pager *pager)
{
	uint32_t generation = atomic_load(&pager->generation);

	if (pager->built_generation == generation)
		return;
	pager_buffer_drop(pager, STATUS_DEVICE_REMOVED);
	pager->built_generation = generation;
	lock_acquire(&pager->lock);
	/* They have nothing left to wait for: to fail they need no turn. */
	list_each_safe (struct paging_job, job, &pager->stalled, link) {
		list_remove(&job->link);
		atomic_store(&job->state, JOB_READY);
		list_push_back(&pager->ready, &job->link);
	}
	lock_release(&pager->lock);
	if (pager->config.forget)
		pager->config.forget(pager->config.forget_context);
}

/* After a reset, or at the end: cancels packets of before, and waits until the hardware has none of them. */
static void cancel_stale_packets(struct pager *pager)
{
	if (pager->queue_generation == pager->built_generation)
		return;
	lock_acquire(&pager->lock);
	bool is_time = !pager->is_suspended || pager->is_stopping;
	bool has_packets = pager->retired_sequence != pager->submitted_sequence;
	lock_release(&pager->lock);
	if (!is_time)
		return;
	pager->queue_generation = pager->built_generation;
	if (!has_packets)
		return;
	pager_streams_cancel(pager);
}

static bool is_over(struct pager *pager)
{
	lock_acquire(&pager->lock);
	bool is_over =
		pager->is_stopping && !pager->needs_tables && list_is_empty(&pager->queued) &&
		pager->retired_sequence == pager->submitted_sequence && pager->own.kicks == 0;
	lock_release(&pager->lock);
	return is_over;
}

/* True when there was something to do. */
static bool pager_turn(struct pager *pager)
{
	NTSTATUS status;

	enter_generation(pager);
	cancel_stale_packets(pager);
	pager_mdls_reclaim(pager);
	if (pager_finish_job(pager))
		return true;
	if (pager->has_space && begin_tables(pager))
		return true;
	if (!pick_job(pager, &status)) {
		bool has_sent = pager->current && pager->current->memory.used_bytes > 0;

		pager_buffer_submit(pager);
		return has_sent;
	}
	if (!NT_SUCCESS(status)) {
		end_build(pager, status);
		return true;
	}
	build_some(pager);
	if (!pager->build.job || pager->build.is_tried_again)
		return true;
	/* In the middle of it: what is there has to come back first. */
	pager_buffer_submit(pager);
	return !pager_may_build(pager);
}

/*
 * Who waits for a move waits for this thread, and to be woken takes it as long as a megabyte takes on a bus. So it
 * looks for a while before it sleeps, longer while packets are with the hardware; not where processors are few.
 */
static void wait_for_change(struct pager *pager, uint32_t seen, bool may_look)
{
	lock_acquire(&pager->lock);
	bool has_packets = pager->retired_sequence != pager->submitted_sequence;
	lock_release(&pager->lock);
	if (may_look &&
	    notice_look(&pager->changed, seen, has_packets ? LOOK_FOR_PACKETS_NS : LOOK_NS))
		return;
	notice_wait(&pager->changed, seen, CLOCK_FOREVER);
}

static void pager_main(void *context)
{
	struct pager *pager = context;
	bool may_look = thread_processors() > FEW_PROCESSORS && !thread_is_simulated();

	for (;;) {
		uint32_t seen = notice_read(&pager->changed);

		if (pager_turn(pager))
			continue;
		if (is_over(pager)) {
			if (begin_last_tables(pager))
				continue;
			break;
		}
		wait_for_change(pager, seen, may_look);
	}
	pager_buffer_drop(pager, STATUS_SUCCESS);
	pager_mdls_reclaim(pager);
}

/* ---- life ---- */

static void pager_init_lists(struct pager *pager)
{
	lock_init(&pager->lock, LOCK_RANK_PAGER, "pager");
	list_init(&pager->queued);
	list_init(&pager->changes);
	list_init(&pager->ready);
	list_init(&pager->yielded);
	list_init(&pager->stalled);
	list_init(&pager->built);
	list_init(&pager->waits);
	list_init(&pager->mdls);
	list_init(&pager->streams);
	list_init(&pager->sent);
	list_init(&pager->free_buffers);
	list_init(&pager->retired_buffers);
}

static void stop_thread(struct pager *pager)
{
	lock_acquire(&pager->lock);
	pager->is_stopping = true;
	notice_give(&pager->changed);
	lock_release(&pager->lock);
	thread_join(pager->thread);
}

static NTSTATUS wait_for_tables(struct pager *pager)
{
	lock_acquire(&pager->lock);
	while (!pager->has_tables && NT_SUCCESS(pager->broken))
		notice_wait_relock(&pager->told, &pager->lock);
	NTSTATUS status = pager->broken;
	lock_release(&pager->lock);
	return status;
}

/*
 * On the calling thread, because a driver may answer a new root with a request to the pager. A
 * root that only the GPU can write is set before: the packets that write it need one.
 */
static NTSTATUS write_first_tables(struct pager *pager)
{
	bool is_visible = pager_space_is_visible(pager);

	if (!is_visible)
		pager_space_set_root(pager, &pager->own);
	lock_acquire(&pager->lock);
	pager->needs_tables = true;
	notice_give(&pager->changed);
	lock_release(&pager->lock);
	NTSTATUS status = wait_for_tables(pager);
	if (NT_SUCCESS(status) && is_visible)
		pager_space_set_root(pager, &pager->own);
	return status;
}

NTSTATUS pager_create(const struct pager_config *config, const struct pager_driver_ops *ops,
		      void *driver, struct sched_owner *system_owner, struct pager **pager_out)
{
	struct pager *pager = mem_zalloc(sizeof(*pager));

	if (!pager)
		return STATUS_NO_MEMORY;
	pager->ops = ops;
	pager->driver = driver;
	pager->config = *config;
	pager->config.gpu_mmu = NULL; /* the caller's; ours is in pager->space */
	if (pager->config.buffer_count == 0)
		pager->config.buffer_count = PAGING_BUFFERS;
	pager_init_lists(pager);

	NTSTATUS status = pager_buffers_init(pager);
	if (NT_SUCCESS(status) && config->gpu_mmu)
		status = pager_space_init(pager, config);
	if (!NT_SUCCESS(status))
		goto finish_space;
	pager->sched = system_owner->sched;
	pager->owner = system_owner;
	pager_stream_begin(pager, &pager->own, config->node, NULL);
	status = thread_create("pager", pager_main, pager, &pager->thread);
	if (!NT_SUCCESS(status))
		goto finish_queue;
	if (pager->has_space)
		status = write_first_tables(pager);
	if (!NT_SUCCESS(status))
		goto stop_thread;
	*pager_out = pager;
	return STATUS_SUCCESS;

stop_thread:
	stop_thread(pager);
finish_queue:
	pager_stream_end(&pager->own);
finish_space:
	if (pager->has_space)
		pager_space_finish(pager);
	pager_buffers_finish(pager);
	lock_finish(&pager->lock);
	mem_free(pager);
	return status;
}

void pager_stop(struct pager *pager)
{
	if (!pager || pager->is_stopped)
		return;
	stop_thread(pager);
	pager_stream_end(&pager->own);
	assert(list_is_empty(&pager->streams));
	pager->is_stopped = true;
}

void pager_destroy(struct pager *pager)
{
	if (!pager)
		return;
	pager_stop(pager);
	if (pager->has_space)
		pager_space_finish(pager);
	pager_buffers_finish(pager);
	lock_finish(&pager->lock);
	mem_free(pager);
}

/* ---- recovery ---- */

/*
 * Drops and retakes pager->lock, until nobody sends what was built before. Jobs may have been queued and
 * have ended meanwhile.
 */
static void next_generation_relock(struct pager *pager)
{
	lock_assert_held(&pager->lock);
	pager->has_tables = false;
	pager->needs_tables = false;
	atomic_fetch_add(&pager->generation, 1);
	notice_give(&pager->changed);
	/* What was built before must not be queued after: whoever resets cancels what is there. */
	while (pager->is_sending)
		notice_wait_relock(&pager->told, &pager->lock);
}

void pager_suspend(struct pager *pager)
{
	lock_acquire(&pager->lock);
	pager->is_suspended = true;
	next_generation_relock(pager);
	lock_release(&pager->lock);
}

void pager_give_up(struct pager *pager)
{
	lock_acquire(&pager->lock);
	pager->broken = STATUS_DEVICE_REMOVED;
	pager->is_suspended = false;
	next_generation_relock(pager);
	lock_release(&pager->lock);
}

void pager_restart(struct pager *pager)
{
	lock_acquire(&pager->lock);
	if (!pager->is_suspended) {
		pager->is_suspended = true;
		next_generation_relock(pager);
	}
	lock_release(&pager->lock);

	if (pager->has_space)
		pager_streams_set_root(pager);
	lock_acquire(&pager->lock);
	pager->is_suspended = false;
	pager->needs_tables = pager->has_space;
	pager->broken = STATUS_SUCCESS;
	notice_give(&pager->changed);
	lock_release(&pager->lock);
}

uint32_t pager_generation(const struct pager *pager)
{
	return atomic_load(&pager->generation);
}

NTSTATUS pager_tell(struct pager *pager, const struct miniport_paging_op *op)
{
	uint32_t multipass = 0;
	uint32_t passes = 0;
	NTSTATUS status;

	do {
		uint32_t before = multipass;

		pager_buffer_refresh(&pager->spare);
		status = pager->ops->build(pager->driver, op, &pager->spare, &multipass);
		if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER &&
		    pager->spare.used_bytes == 0 && multipass == before)
			break;
	} while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER && ++passes < TOLD_PASSES_MAX);
	if (status == STATUS_SUCCESS)
		return status;
	return refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_PAGING_ANSWER, NULL,
		      "%s, which was only to be told, was answered with %s",
		      miniport_paging_name(op), status_name(status));
}
