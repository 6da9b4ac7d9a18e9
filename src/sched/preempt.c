/* SPDX-License-Identifier: MIT */
/*
 * preempt.c - asking an engine to stop, and what becomes of what it had.
 *
 * Asked for when something more important is ready than what runs, when a packet had its turn and
 * others wait (turns.c), when one runs long (tdr.c), and when one that may run for ever is in the
 * way of who needs the engine without it. Until the answer nothing is submitted: it says which
 * packet was the last to complete, and everything after it comes again, the kernel's own with its
 * old ids and first, the rest with new ids when its turn comes. What ran had its turn: it comes
 * behind its equals, or it would keep them out by being preempted for ever.
 *
 * A request that was given up (the engine has nothing, and says nothing) may still be answered,
 * and the answer still counts: what it stopped would otherwise never complete.
 */
#include <assert.h>

#include "base/clock.h"
#include "sched/internal.h"
#include "sched/serial.h"
#include "trace/trace.h"

#define PREEMPTED "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_DMA_PREEMPTED)"

bool preempt_is_possible_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return node->outstanding > 0 && node->sched->config.is_preemption_aware &&
	       !node->preemption.is_unanswered;
}

bool preempt_is_due_locked(const struct sched_node *node, const struct sched_queue *next)
{
	lock_assert_held(&node->sched->lock);
	return preempt_is_possible_locked(node) &&
	       priority_level_of(next) > priority_level_of(node_running_locked(node)->queue);
}

bool preempt_is_awaited_locked(const struct sched_node *node)
{
	const struct sched_packet *running = node_running_locked(node);
	const struct sched *sched = node->sched;

	lock_assert_held(&node->sched->lock);
	if (!running || node->holds > 0 || sched->broken || sched->dead)
		return false;
	return sched->holds > 0 || running->queue->suspensions > 0 ||
	       owner_is_suspended_locked(running->queue->owner);
}

bool preempt_is_needed_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	/* All else ends in time, by itself or by a clock. */
	return preempt_is_possible_locked(node) && node_running_locked(node)->is_never_late &&
	       preempt_is_awaited_locked(node);
}

void preempt_request_relock(struct sched_node *node)
{
	struct sched *sched = node->sched;
	struct sched_preemption *preemption = &node->preemption;

	lock_assert_held(&node->sched->lock);
	assert(node->is_busy);
	preemption->is_wanted = false;
	if (preemption->is_unanswered || node->outstanding == 0)
		return;
	node->statistics.preemption_requests++;
	preemption->last_fence = serial_next(preemption->last_fence);
	preemption->ran_fence = node_running_locked(node)->fence;
	preemption->since_ns = clock_now_ns();
	preemption->is_unanswered = true;
	preemption->is_awaited = true;
	uint32_t fence = preemption->last_fence;
	trace_preemption(sched->config.adapter_id, node->number, fence);
	sched_unlock(sched);
	/* The answer may come before this returns. */
	lock_assert_none_held("the hardware's preempt()");
	sched->ops->preempt(sched->gpu, node->number, fence);
	sched_lock(sched);
}

void preempt_forget_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	node->preemption.is_wanted = false;
	node->preemption.is_unanswered = false;
	node->preemption.is_awaited = false;
}

static bool is_answer_locked(struct sched_node *node, uint32_t preemption_fence)
{
	lock_assert_held(&node->sched->lock);
	/* While it is reset, it gives back everything anyway. */
	if (node->is_deaf)
		return false;
	if (node->preemption.is_unanswered && preemption_fence == node->preemption.last_fence)
		return true;
	/* One that a reset made meaningless may still be answered. */
	if (preemption_fence == 0 || preemption_fence != node->preemption.last_fence)
		mistake_locked(node, RULE_DDI_COMPLETION_FENCE,
			       PREEMPTED " answered preemption %u of node %u, which nobody asked "
					 "for; the last was %u",
			       preemption_fence, node->number, node->preemption.last_fence);
	else if (preemption_fence == node->preemption.answered_fence)
		mistake_locked(node, RULE_DDI_COMPLETION_DOUBLED,
			       PREEMPTED " answered preemption %u of node %u again",
			       preemption_fence, node->number);
	return false;
}

/* The queue of the packet that ran when the preemption was asked for; NULL: that packet is complete. */
static struct sched_queue *queue_that_ran_locked(const struct sched_node *node)
{
	const struct sched_packet *first = node_running_locked(node);

	lock_assert_held(&node->sched->lock);
	return first && first->fence == node->preemption.ran_fence ? first->queue : NULL;
}

/* The newest that is over, or the newest that the driver said was: both are the truth. */
static void judge_last_completed_locked(struct sched_node *node, uint32_t last_completed)
{
	lock_assert_held(&node->sched->lock);
	if (last_completed != 0 && serial_is_after(last_completed, node->completed_fence) &&
	    !node_knows_locked(node, last_completed))
		mistake_locked(node, RULE_DDI_COMPLETION_FENCE,
			       PREEMPTED " named fence %u of node %u as the last completed, which "
					 "the hardware does not have; it was %u",
			       last_completed, node->number, node->completed_fence);
}

void sched_on_preempted(struct sched *sched, uint32_t node_number, uint32_t preemption_fence,
			uint32_t last_completed)
{
	struct sched_node *node = &sched->nodes[node_number];

	assert(node_number < sched->config.node_count);
	sched_lock(sched);
	if (is_answer_locked(node, preemption_fence)) {
		preempt_forget_locked(node);
		node->preemption.answered_fence = preemption_fence;
		judge_last_completed_locked(node, last_completed);
		if (node_knows_locked(node, last_completed)) {
			mistake_excuse_locked(node, last_completed);
			node_complete_locked(node, last_completed);
		}
		node_give_back_locked(node, queue_that_ran_locked(node));
	}
	sched_retire_relock(sched);
	sched_unlock(sched);
}
