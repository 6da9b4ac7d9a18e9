/* SPDX-License-Identifier: MIT */
/*
 * turns.c - the clock of those who wait for what runs.
 *
 *	runs for a quantum, and somebody waits ──▶ asked to stop ──▶ the others, then the rest of it
 *
 * Who waits: an equal or more important queue, whether the hardware has its work already, behind
 * what runs, or has no room for it; and whoever needs the engine without what runs, to move its
 * memory or to change page tables. Nobody less important: that one has to wait for idle moments.
 *
 * Submitting threads only say once that somebody may wait. The thread then looks after each quantum
 * until it finds nobody, so that work that comes and goes fast wakes it no more often than that.
 */
#include "base/clock.h"
#include "sched/internal.h"

void turns_watch_locked(struct sched_node *node)
{
	const struct sched_config *config = &node->sched->config;

	lock_assert_held(&node->sched->lock);
	if (node->is_contended || node->outstanding == 0 || config->quantum_ns == 0 ||
	    !config->is_preemption_aware)
		return;
	node->is_contended = true;
	node->contended_until_ns = CLOCK_FOREVER; /* the thread says when */
	sched_wake_thread_locked(node->sched);
}

/* The hardware has work of an equal, behind what runs. */
static bool has_equal_behind_locked(const struct sched_node *node, const struct sched_queue *runs)
{
	uint32_t level = priority_level_of(runs);

	lock_assert_held(&node->sched->lock);
	list_each (const struct sched_packet, packet, &node->submitted, node_link) {
		if (packet->queue != runs && priority_level_of(packet->queue) >= level)
			return true;
	}
	return false;
}

/* Hardware queues that have to wait for a slot. */
static bool has_hw_waiting_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return node->sched->counts_hw_queues && !list_is_empty(&node->hw_ready);
}

static bool somebody_waits_locked(const struct sched_node *node)
{
	const struct sched_packet *running = node_running_locked(node);

	lock_assert_held(&node->sched->lock);
	if (!preempt_is_possible_locked(node) || node->preemption.is_wanted)
		return false;
	if (preempt_is_awaited_locked(node))
		return true;
	return node_is_free_locked(node) &&
	       (ready_set_has_equal(&node->ready, running->queue) ||
		has_equal_behind_locked(node, running->queue) || has_hw_waiting_locked(node));
}

static uint64_t turn_end_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return node->running_since_ns + node->sched->config.quantum_ns;
}

static uint64_t node_deadline_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (!node->is_contended)
		return CLOCK_FOREVER;
	if (somebody_waits_locked(node))
		return turn_end_locked(node);
	uint64_t now_ns = clock_now_ns();
	if (node->contended_until_ns == CLOCK_FOREVER)
		node->contended_until_ns = now_ns + node->sched->config.quantum_ns;
	if (node->contended_until_ns > now_ns)
		return node->contended_until_ns;
	node->is_contended = false;
	return CLOCK_FOREVER;
}

uint64_t turns_deadline_locked(struct sched *sched)
{
	uint64_t deadline_ns = CLOCK_FOREVER;

	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		uint64_t node_ns = node_deadline_locked(&sched->nodes[i]);

		if (node_ns < deadline_ns)
			deadline_ns = node_ns;
	}
	return deadline_ns;
}

void turns_run_locked(struct sched *sched)
{
	uint64_t now_ns;

	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		struct sched_node *node = &sched->nodes[i];

		if (!node->is_contended || !somebody_waits_locked(node))
			continue;
		now_ns = clock_now_ns();
		if (turn_end_locked(node) > now_ns)
			continue;
		node->preemption.is_wanted = true; /* whoever has the baton asks */
		node->preemption.since_ns = now_ns;
	}
}
