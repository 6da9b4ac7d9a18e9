/* SPDX-License-Identifier: MIT */
/*
 * sched.c - making and ending a scheduler, its thread, stopping and quiescing.
 *
 * The thread does what those who bring news cannot: it enters the driver for packets that became
 * ready in a DPC, looks at the clock, resets, and tells the listener. It sleeps until somebody
 * hands it something, or until the next packet could be late.
 *
 * Wake-ups are given when the lock is let go: who is woken finds it free.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sched/internal.h"

enum { OUTSTANDING_DEFAULT = 16 };

/* ---- the lock, and being told ---- */

void sched_lock(struct sched *sched)
{
	lock_acquire(&sched->lock);
}

void sched_unlock(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	if (UNLIKELY(sched->mistake.is_there))
		mistake_tell_relock(sched);
	bool is_wake_due = sched->is_wake_due && sched->is_asleep;
	bool is_changed = sched->is_changed;

	sched->is_changed = false;
	if (is_wake_due)
		sched->is_asleep = false;
	lock_release(&sched->lock);
	if (is_wake_due)
		notice_give(&sched->wake);
	if (is_changed)
		notice_give(&sched->changed);
}

void sched_wake_thread_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	sched->is_wake_due = true;
}

void sched_changed_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	if (sched->waiters > 0)
		sched->is_changed = true;
}

/*
 * Drops and retakes sched->lock; false at the deadline. Everything that nobody keeps for the caller
 * may be gone. sched_unlock() also wakes who has to be.
 */
static bool wait_relock(struct sched *sched, struct notice *notice, uint64_t deadline_ns)
{
	uint32_t seen = notice_read(notice);

	lock_assert_held(&sched->lock);
	sched_unlock(sched);
	bool is_in_time = notice_wait(notice, seen, deadline_ns) != THREAD_TIMED_OUT;
	sched_lock(sched);
	return is_in_time;
}

bool sched_wait_relock(struct sched *sched, uint64_t deadline_ns)
{
	lock_assert_held(&sched->lock);
	sched->waiters++;
	bool is_in_time = wait_relock(sched, &sched->changed, deadline_ns);
	sched->waiters--;
	return is_in_time;
}

/* ---- the thread ---- */

void sched_tell_lost_relock(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	list_drain (struct sched_owner, owner, &sched->lost, lost_link) {
		sched->told = owner;
		sched_unlock(sched);
		if (sched->listener.owner_lost)
			sched->listener.owner_lost(sched->listener_context, owner,
						   owner->lost_state,
						   owner->has_fault ? &owner->fault : NULL);
		sched_lock(sched);
		sched->told = NULL;
		sched_changed_locked(sched);
	}
}

void sched_on_fence_written(struct sched *sched)
{
	sched_lock(sched);
	list_each (struct sched_owner, each, &sched->owners, link)
		each->has_written = true;
	sched->has_written = true;
	sched_wake_thread_locked(sched);
	for (uint32_t i = 0; i < sched->config.node_count; i++)
		hw_look_locked(&sched->nodes[i]);
	sched_retire_relock(sched);
	sched_unlock(sched);
}

static struct sched_owner *next_written_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	list_each (struct sched_owner, owner, &sched->owners, link) {
		if (owner->has_written)
			return owner;
	}
	sched->has_written = false;
	return NULL;
}

/*
 * Drops and retakes sched->lock: owners may have come and gone meanwhile, but not the one that is
 * told.
 */
static void sched_tell_written_relock(struct sched *sched)
{
	struct sched_owner *owner;

	lock_assert_held(&sched->lock);
	while (sched->has_written && (owner = next_written_locked(sched))) {
		owner->has_written = false;
		sched->told = owner;
		sched_unlock(sched);
		if (sched->listener.work_completed)
			sched->listener.work_completed(sched->listener_context, owner);
		sched_lock(sched);
		sched->told = NULL;
		sched_changed_locked(sched);
	}
}

/* Drops and retakes sched->lock: everything may have changed. */
static void sched_sleep_relock(struct sched *sched)
{
	uint64_t late_ns = tdr_deadline_locked(sched);
	uint64_t turn_ns = turns_deadline_locked(sched);

	lock_assert_held(&sched->lock);
	sched->is_asleep = true;
	sched_changed_locked(sched);
	(void)wait_relock(sched, &sched->wake, late_ns < turn_ns ? late_ns : turn_ns);
	sched->is_asleep = false;
}

static void sched_main(void *context)
{
	struct sched *sched = context;

	sched_lock(sched);
	while (!sched->is_ending) {
		sched->is_wake_due = false;
		sched_tell_lost_relock(sched);
		sched_tell_written_relock(sched);
		tdr_run_relock(sched);
		turns_run_locked(sched);
		for (uint32_t i = 0; i < sched->config.node_count; i++)
			node_run_relock(&sched->nodes[i], UINT32_MAX);
		sched_retire_relock(sched);
		if (!sched->is_wake_due && !sched->is_ending)
			sched_sleep_relock(sched);
	}
	sched_unlock(sched);
}

void sched_settle(struct sched *sched)
{
	sched_lock(sched);
	while (!sched->is_asleep || sched->is_wake_due)
		sched_wait_relock(sched, CLOCK_FOREVER);
	sched_unlock(sched);
}

/* ---- life ---- */

static void node_init(struct sched_node *node, struct sched *sched, uint32_t number)
{
	node->sched = sched;
	node->number = number;
	ready_set_init(&node->ready);
	list_init(&node->steps);
	list_init(&node->submitted);
	list_init(&node->returned);
	list_init(&node->hw_queues);
	list_init(&node->hw_ready);
	if (sched->config.first_fence > 0)
		node->last_fence = sched->config.first_fence - 1;
	node->completed_fence = node->last_fence;
}

static void sched_init(struct sched *sched, const struct sched_config *config,
		       const struct sched_listener *listener)
{
	sched->config = *config;
	sched->counts_hw_queues = config->outstanding_max > 0;
	if (!sched->counts_hw_queues)
		sched->config.outstanding_max = OUTSTANDING_DEFAULT;
	if (listener)
		sched->listener = *listener;
	lock_init(&sched->lock, LOCK_RANK_NODE, "scheduler");
	list_init(&sched->owners);
	list_init(&sched->retirable);
	list_init(&sched->over);
	list_init(&sched->holding);
	list_init(&sched->lost);
	list_init(&sched->forced);
	for (uint32_t i = 0; i < config->node_count; i++)
		node_init(&sched->nodes[i], sched, i);
}

NTSTATUS sched_create(const struct sched_config *config, const struct sched_gpu_ops *ops,
		      struct miniport *gpu, const struct sched_listener *listener,
		      void *listener_context, struct sched **sched_out)
{
	assert(config->node_count > 0 && config->node_count <= SCHED_NODES_MAX);
	struct sched *sched =
		mem_zalloc(sizeof(*sched) + config->node_count * sizeof(sched->nodes[0]));

	if (!sched)
		return STATUS_NO_MEMORY;
	sched->ops = ops;
	sched->gpu = gpu;
	sched->listener_context = listener_context;
	sched->reset_times_ns =
		mem_zalloc_array(config->tdr_limit_count + 1, sizeof(*sched->reset_times_ns));
	if (!sched->reset_times_ns)
		goto free_sched;
	sched_init(sched, config, listener);
	if (!NT_SUCCESS(thread_create("dxgk sched", sched_main, sched, &sched->thread)))
		goto free_times;
	*sched_out = sched;
	return STATUS_SUCCESS;

free_times:
	mem_free(sched->reset_times_ns);
free_sched:
	mem_free(sched);
	return STATUS_NO_MEMORY;
}

void sched_destroy(struct sched *sched)
{
	if (!sched)
		return;
	sched_lock(sched);
	assert(list_is_empty(&sched->owners));
	sched->is_ending = true;
	sched_wake_thread_locked(sched);
	sched_unlock(sched);
	thread_join(sched->thread);
	lock_finish(&sched->lock);
	mem_free(sched->reset_times_ns);
	mem_free(sched);
}

/* ---- stopping and quiescing ---- */

void sched_lose_owners_locked(struct sched *sched, struct sched_owner *guilty,
			      uint32_t guilty_state, uint32_t state)
{
	lock_assert_held(&sched->lock);
	list_each_safe (struct sched_owner, owner, &sched->owners, link) {
		owner_lose_and_tell_locked(owner, owner == guilty ? guilty_state : state, NULL);
	}
}

void sched_cancel_kernels_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	list_each (struct sched_owner, owner, &sched->owners, link) {
		if (!owner->is_system)
			continue;
		list_each (struct sched_queue, each, &owner->queues, owner_link)
			queue_cancel_locked(each);
	}
}

void sched_lose_all_locked(struct sched *sched, struct sched_owner *guilty, uint32_t guilty_state,
			   uint32_t state)
{
	lock_assert_held(&sched->lock);
	sched_lose_owners_locked(sched, guilty, guilty_state, state);
	sched_cancel_kernels_locked(sched);
}

/* Nobody is in the driver to give it something, and it has nothing. */
static bool is_idle_locked(const struct sched *sched)
{
	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		const struct sched_node *node = &sched->nodes[i];

		if (node->is_busy || node->outstanding > 0 || node->hw_outstanding > 0)
			return false;
	}
	return true;
}

void sched_stop(struct sched *sched)
{
	sched_lock(sched);
	sched->is_stopped = true;
	sched_lose_all_locked(sched, NULL, 0, SCHED_STATE_STOPPED);
	sched_wake_thread_locked(sched);
	sched_retire_relock(sched);
	while (!is_idle_locked(sched) || !list_is_empty(&sched->lost) || sched->told)
		sched_wait_relock(sched, CLOCK_FOREVER);
	sched_unlock(sched);
}

void sched_hardware_leaves(struct sched *sched)
{
	sched_lock(sched);
	sched->is_leaving = true;
	sched_unlock(sched);
}

void sched_retreat(struct sched *sched)
{
	sched_lock(sched);
	sched->holds++;
	sched_lose_all_locked(sched, NULL, 0, SCHED_STATE_STOPPED);
	sched_wake_thread_locked(sched);
	sched_retire_relock(sched);
	while (!is_idle_locked(sched))
		sched_wait_relock(sched, CLOCK_FOREVER);
	sched_unlock(sched);
}

static void sched_watch_turns_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++)
		turns_watch_locked(&sched->nodes[i]);
}

void sched_quiesce(struct sched *sched)
{
	sched_lock(sched);
	sched->holds++;
	sched_watch_turns_locked(sched); /* what runs may have to stop for it */
	sched_wake_thread_locked(sched);
	while (!is_idle_locked(sched))
		sched_wait_relock(sched, CLOCK_FOREVER);
	sched_unlock(sched);
}

void sched_unquiesce(struct sched *sched)
{
	sched_lock(sched);
	assert(sched->holds > 0);
	sched->holds--;
	sched_wake_thread_locked(sched);
	sched_unlock(sched);
}

struct sched_node_statistics sched_node_statistics(struct sched *sched, uint32_t number)
{
	struct sched_node *node = &sched->nodes[number];

	sched_lock(sched);
	struct sched_node_statistics statistics = node->statistics;
	if (node->outstanding > 0 || node->hw_outstanding > 0)
		statistics.busy_ns += clock_now_ns() - node->busy_since_ns;
	sched_unlock(sched);
	return statistics;
}

uint32_t sched_recovery_count(struct sched *sched)
{
	sched_lock(sched);
	uint32_t count = sched->recovery_count;
	sched_unlock(sched);
	return count;
}

uint64_t sched_reset_count(struct sched *sched, enum sched_reset what)
{
	sched_lock(sched);
	uint64_t count = sched->resets[what];
	sched_unlock(sched);
	return count;
}
