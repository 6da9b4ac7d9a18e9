/* SPDX-License-Identifier: MIT */
/*
 * hw_queue.c - queues that the hardware orders itself: what it has of them, and what it has done.
 *
 *	queue ──▶ hw_submitted: progress 5, 6, 9 ──▶ the fence says 6: 5 and 6 are over
 *
 * A packet that is ready is submitted at once: there is no row of fence ids, no preemption, no room
 * to run out of but the queue's own (SCHED_QUEUE_FULL) and what the driver says a node can take of
 * all there is. What is done stands in memory, so news is only a reason to look, and a look can
 * never come too often.
 *
 * Which of several queues runs, nobody but the hardware knows, and it is to serve them all: each
 * has a clock, which runs while the hardware has something of it and finishes nothing of it. When
 * one has run out, the driver resets what hangs and names the contexts it hit
 * (sched_on_hw_context_hit()); the others go on. Work that is never late stops the clocks of its
 * node: the others may have to wait for it.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "sched/internal.h"
#include "trace/trace.h"

enum { FUTILE_HW_RESETS_MAX = 2 }; /* then it is not the engine alone */

void sched_hw_queue_init(struct sched_queue *queue, struct sched_owner *owner, uint32_t node,
			 const struct sched_hw_identity *identity)
{
	assert(identity->progress);
	sched_queue_init(queue, owner, node);
	sched_lock(owner->sched);
	queue->hw = *identity;
	queue->hw_seen = atomic_load(identity->progress);
	queue->hw_given = queue->hw_seen;
	list_push_back(&sched_node_of(queue)->hw_queues, &queue->hw_link);
	sched_unlock(owner->sched);
}

/* ---- the clocks ---- */

static uint64_t queue_deadline_locked(const struct sched_queue *queue)
{
	uint64_t delay_ns = queue->sched->config.tdr_delay_ns;

	lock_assert_held(&queue->sched->lock);
	if (list_is_empty(&queue->hw_submitted) || sched_node_of(queue)->hw_never_late > 0 ||
	    queue->hw_moved_ns > CLOCK_FOREVER - delay_ns)
		return CLOCK_FOREVER;
	return queue->hw_moved_ns + delay_ns;
}

static bool is_late_locked(const struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	return queue_deadline_locked(queue) <= clock_now_ns();
}

uint64_t hw_deadline_locked(const struct sched_node *node)
{
	uint64_t deadline_ns = CLOCK_FOREVER;

	lock_assert_held(&node->sched->lock);
	if (node->hw_outstanding == 0)
		return CLOCK_FOREVER;
	list_each (struct sched_queue, each, &node->hw_queues, hw_link) {
		uint64_t queue_ns = queue_deadline_locked(each);

		if (queue_ns < deadline_ns)
			deadline_ns = queue_ns;
	}
	return deadline_ns;
}

/* Starts the clocks of all hardware queues of the node anew: time in which the hardware could do nothing does not count. */
static void restart_clocks_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	list_each (struct sched_queue, each, &node->hw_queues, hw_link)
		each->hw_moved_ns = clock_now_ns();
	if (node->hw_outstanding > 0)
		tdr_watch_locked(node->sched);
}

void hw_may_be_late_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (--node->hw_never_late == 0)
		restart_clocks_locked(node);
}

/* ---- who had it ---- */

static uint64_t uncharged_ns_locked(const struct sched_queue *queue, uint64_t now_ns)
{
	lock_assert_held(&queue->sched->lock);
	return list_is_empty(&queue->hw_submitted) || now_ns < queue->hw_charged_ns
		       ? 0
		       : now_ns - queue->hw_charged_ns;
}

uint64_t hw_running_ns_locked(const struct sched_node *node, const struct sched_process *process,
			      uint64_t now_ns)
{
	uint64_t running_ns = 0;

	lock_assert_held(&node->sched->lock);
	list_each (const struct sched_queue, queue, &node->hw_queues, hw_link) {
		if (queue->owner->process == process)
			running_ns += uncharged_ns_locked(queue, now_ns);
	}
	return running_ns;
}

/* One of its packets leaves: the node may have nothing then. */
static void charge_locked(struct sched_node *node, struct sched_queue *queue)
{
	uint64_t now_ns = clock_peek_ns(); /* an observer's look: no step of a seeded run */

	lock_assert_held(&node->sched->lock);
	if (queue->owner->process)
		queue->owner->process->busy_ns += uncharged_ns_locked(queue, now_ns);
	queue->hw_charged_ns = now_ns;
	if (node->hw_outstanding == 1 && node->outstanding == 0 && now_ns > node->busy_since_ns)
		node->statistics.busy_ns += now_ns - node->busy_since_ns;
}

/* ---- in and out ---- */

static void trace_submitted_locked(const struct sched_packet *packet)
{
	const struct sched_queue *queue = packet->queue;

	lock_assert_held(&queue->sched->lock);
	trace_hw_packet_submitted(queue->sched->config.adapter_id, queue->id, packet->progress,
				  queue->node);
}

void hw_enter_locked(struct sched_node *node, struct sched_packet *packet)
{
	struct sched_queue *queue = packet->queue;

	lock_assert_held(&node->sched->lock);
	queue->next = packet->link.next;
	queue->hw_given = packet->progress;
	packet->state = PACKET_SUBMITTED;
	packet->was_submitted = true;
	if (list_is_empty(&queue->hw_submitted)) {
		queue->hw_moved_ns = clock_now_ns();
		queue->hw_charged_ns = queue->hw_moved_ns;
		tdr_watch_locked(node->sched);
	}
	list_push_back(&queue->hw_submitted, &packet->node_link);
	node->hw_never_late += packet->is_never_late;
	node_counts_locked(node, packet)->submitted++;
	if (node->hw_outstanding++ == 0 && node->outstanding == 0)
		node->busy_since_ns = queue->hw_moved_ns;
	trace_submitted_locked(packet);
}

void hw_trace_packets_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	list_each (const struct sched_queue, queue, &node->hw_queues, hw_link) {
		list_each (const struct sched_packet, packet, &queue->hw_submitted, node_link)
			trace_submitted_locked(packet);
	}
}

static void leave_locked(struct sched_node *node, struct sched_packet *packet, bool is_done)
{
	lock_assert_held(&node->sched->lock);
	charge_locked(node, packet->queue);
	list_remove(&packet->node_link);
	node->hw_outstanding--;
	if (is_done)
		node_counts_locked(node, packet)->completed++;
	else
		node_counts_locked(node, packet)->aborted++;
	if (packet->is_never_late)
		hw_may_be_late_locked(node);
	owner_submitted_ends_locked(packet->queue->owner, packet);
	trace_hw_packet_left(node->sched->config.adapter_id, packet->queue->id, packet->progress,
			     is_done ? "completed" : "aborted");
	packet_over_locked(packet, is_done ? SCHED_DONE : SCHED_ABORTED);
	node_invite_locked(node);
	sched_changed_locked(node->sched);
}

void hw_refused_locked(struct sched_node *node, struct sched_packet *packet)
{
	lock_assert_held(&node->sched->lock);
	/* It may have been over before the driver came back. */
	if (packet->state == PACKET_SUBMITTED)
		leave_locked(node, packet, false);
}

static void complete_to_locked(struct sched_node *node, struct sched_queue *queue,
			       uint64_t progress)
{
	lock_assert_held(&node->sched->lock);
	while (!list_is_empty(&queue->hw_submitted)) {
		struct sched_packet *packet = packet_of_node_link(queue->hw_submitted.next);

		if (packet->progress > progress)
			return;
		leave_locked(node, packet, !packet->is_faulted);
		queue->hw_moved_ns = clock_now_ns();
		queue->hw_futile_resets = 0;
	}
}

/* Judges a progress fence that has changed: it only grows, up to what was given. */
RARE static void judge_progress_locked(struct sched_queue *queue, uint64_t progress)
{
	struct sched_node *node = sched_node_of(queue);
	unsigned long long seen = queue->hw_seen;
	unsigned long long given = queue->hw_given;

	lock_assert_held(&queue->sched->lock);
	if (atomic_load(&queue->owner->is_lost))
		return;
	if (progress > given)
		mistake_locked(node, RULE_DDI_COMPLETION_FENCE,
			       "The progress fence of hardware queue %u on node %u says %llu; the "
			       "newest that was submitted is %llu",
			       queue->id, node->number, (unsigned long long)progress, given);
	else
		mistake_locked(node, RULE_DDI_COMPLETION_FENCE,
			       "The progress fence of hardware queue %u on node %u went back to "
			       "%llu; it was %llu",
			       queue->id, node->number, (unsigned long long)progress, seen);
}

void hw_look_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (node->hw_outstanding == 0)
		return;
	list_each (struct sched_queue, queue, &node->hw_queues, hw_link) {
		uint64_t progress = atomic_load(queue->hw.progress);

		if (UNLIKELY(progress < queue->hw_seen || progress > queue->hw_given))
			judge_progress_locked(queue, progress);
		queue->hw_seen = progress;
		complete_to_locked(node, queue, progress);
	}
}

/* A queue whose fence says that its first packet is over, which nobody has noticed yet; NULL: none. */
static struct sched_queue *find_unseen_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	list_each (struct sched_queue, queue, &node->hw_queues, hw_link) {
		if (!list_is_empty(&queue->hw_submitted) &&
		    packet_of_node_link(queue->hw_submitted.next)->progress <=
			    atomic_load(queue->hw.progress))
			return queue;
	}
	return NULL;
}

bool hw_is_unseen_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return find_unseen_locked(node) != NULL;
}

void hw_complete_lost_locked(struct sched_node *node)
{
	const struct sched_queue *queue = find_unseen_locked(node);

	lock_assert_held(&node->sched->lock);
	if (queue)
		mistake_locked(
			node, RULE_DDI_COMPLETION_LOST,
			"DxgkCbNotifyInterrupt was never told that a fence was written, and "
			"the one of hardware queue %u on node %u says %llu; %llu was awaited",
			queue->id, node->number,
			(unsigned long long)atomic_load(queue->hw.progress),
			(unsigned long long)packet_of_node_link(queue->hw_submitted.next)
				->progress);
	hw_look_locked(node);
}

static void abort_queue_locked(struct sched_node *node, struct sched_queue *queue)
{
	lock_assert_held(&node->sched->lock);
	while (!list_is_empty(&queue->hw_submitted))
		leave_locked(node, packet_of_node_link(queue->hw_submitted.next), false);
}

void hw_abort_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	list_each (struct sched_queue, each, &node->hw_queues, hw_link)
		abort_queue_locked(node, each);
}

/* ---- whose ---- */

static bool is_among(const void *name, const void *const names[2])
{
	return name && (name == names[0] || name == names[1]);
}

static struct sched_queue *find_locked(const struct sched_node *node, const void *name)
{
	lock_assert_held(&node->sched->lock);
	list_each (struct sched_queue, queue, &node->hw_queues, hw_link) {
		if (is_among(name, queue->hw.queue_names))
			return queue;
	}
	/* Of a context with several queues: one that has something. */
	list_each (struct sched_queue, queue, &node->hw_queues, hw_link) {
		if (is_among(name, queue->hw.context_names) && !list_is_empty(&queue->hw_submitted))
			return queue;
	}
	return NULL;
}

const struct sched_owner *hw_faulted_owner_locked(const struct sched_node *node,
						  const struct miniport_fault *fault)
{
	const struct sched_queue *queue = find_locked(node, fault->driver_queue);

	lock_assert_held(&node->sched->lock);
	return queue ? queue->owner : NULL;
}

/* A packet of a hardware queue faulted: those before it are complete, and it stays with the hardware until a reset. */
void hw_fault_locked(struct sched_node *node, const struct miniport_fault *fault)
{
	struct sched_queue *queue = find_locked(node, fault->driver_queue);

	lock_assert_held(&node->sched->lock);
	if (!queue && fault->driver_queue)
		mistake_locked(node, RULE_DDI_COMPLETION_FENCE,
			       "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED) named a "
			       "hardware queue or context that has nothing on node %u",
			       node->number);
	if (!queue)
		return;
	if (fault->queue_fence > queue->hw_given)
		mistake_locked(node, RULE_DDI_COMPLETION_FENCE,
			       "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED) named "
			       "progress %llu of hardware queue %u on node %u; the newest that was "
			       "submitted is %llu",
			       (unsigned long long)fault->queue_fence, queue->id, node->number,
			       (unsigned long long)queue->hw_given);
	if (fault->queue_fence > 0 && is_among(fault->driver_queue, queue->hw.queue_names))
		complete_to_locked(node, queue, fault->queue_fence - 1);
	if (!list_is_empty(&queue->hw_submitted))
		packet_of_node_link(queue->hw_submitted.next)->is_faulted = true;
	owner_lose_and_tell_locked(queue->owner, tdr_state_of(fault), fault);
}

static struct sched_owner *only_owner_locked(const struct sched_node *node, bool is_late)
{
	struct sched_owner *owner = NULL;

	lock_assert_held(&node->sched->lock);
	list_each (struct sched_queue, queue, &node->hw_queues, hw_link) {
		if (list_is_empty(&queue->hw_submitted) || queue->owner->is_system ||
		    (is_late && !is_late_locked(queue)))
			continue;
		if (owner && owner != queue->owner)
			return NULL;
		owner = queue->owner;
	}
	return owner;
}

struct sched_owner *hw_guilty_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return only_owner_locked(node, hw_deadline_locked(node) <= clock_now_ns());
}

/* ---- reset ---- */

static void hit_queue_locked(struct sched_queue *queue)
{
	struct sched_node *node = sched_node_of(queue);

	lock_assert_held(&queue->sched->lock);
	queue->is_hit = true;
	/* Said out of turn: when the hardware still has something, it is made to let go. */
	if (!node->is_hw_resetting && !list_is_empty(&queue->hw_submitted))
		node->has_timed_out = true;
}

static const struct miniport_fault *blamed_fault_locked(const struct sched *sched)
{
	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		if (sched->nodes[i].is_hw_resetting)
			return sched->nodes[i].hw_fault;
	}
	return NULL;
}

void sched_on_hw_context_hit(struct sched_owner *owner, const void *context, bool is_collateral)
{
	struct sched *sched = owner->sched;

	sched_lock(sched);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		list_each (struct sched_queue, each, &sched->nodes[i].hw_queues, hw_link) {
			if (is_among(context, each->hw.context_names))
				hit_queue_locked(each);
		}
	}
	const struct miniport_fault *fault = is_collateral ? NULL : blamed_fault_locked(sched);
	owner_lose_and_tell_locked(owner, is_collateral ? SCHED_STATE_RESET : tdr_state_of(fault),
				   fault);
	sched_wake_thread_locked(sched);
	sched_retire_relock(sched);
	sched_unlock(sched);
}

static void abort_hit_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	list_each (struct sched_queue, queue, &node->hw_queues, hw_link) {
		if (!queue->is_hit || list_is_empty(&queue->hw_submitted))
			continue;
		node->was_hw_hit = true;
		abort_queue_locked(node, queue);
	}
}

static void note_late_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	list_each (struct sched_queue, each, &node->hw_queues, hw_link)
		each->was_hw_late = is_late_locked(each);
}

/*
 * True when a queue was late, or nobody was hit, and it still has what it had, once too often. One
 * that only had to wait behind what was hit gets along now.
 */
static bool is_futile_locked(struct sched_node *node)
{
	bool is_futile = false;

	lock_assert_held(&node->sched->lock);
	list_each (struct sched_queue, queue, &node->hw_queues, hw_link) {
		if (list_is_empty(&queue->hw_submitted) ||
		    (node->was_hw_hit && !queue->was_hw_late))
			continue;
		is_futile |= ++queue->hw_futile_resets >= FUTILE_HW_RESETS_MAX;
	}
	return is_futile;
}

/*
 * Drops and retakes sched->lock: packets may have completed meanwhile. Nothing of these queues runs on the node when this returns, until
 * it is resumed.
 */
static NTSTATUS ask_for_reset_relock(struct sched_node *node, const struct miniport_fault *fault)
{
	struct sched *sched = node->sched;

	lock_assert_held(&node->sched->lock);
	note_late_locked(node);
	node->is_hw_resetting = true;
	node->was_hw_hit = false;
	node->hw_fault = fault;
	sched->resets[SCHED_RESET_HW_QUEUES]++;
	trace_reset_step(sched->config.adapter_id, node->number, "reset hardware queues");
	sched_unlock(sched);
	NTSTATUS status = sched->ops->reset_hw_node(sched->gpu, node->number);
	sched_lock(sched);
	if (NT_SUCCESS(status)) {
		hw_look_locked(node);
		abort_hit_locked(node);
	}
	node->is_hw_resetting = false;
	node->hw_fault = NULL;
	return status;
}

enum engine_result hw_reset_relock(struct sched_node *node, const struct miniport_fault *fault)
{
	struct sched *sched = node->sched;

	lock_assert_held(&node->sched->lock);
	if (node->hw_outstanding == 0)
		return ENGINE_RECOVERED;
	sched_unlock(sched);
	sched->ops->flush_events(sched->gpu);
	sched_lock(sched);
	hw_look_locked(node);
	if (node->hw_outstanding == 0)
		return ENGINE_RECOVERED;
	NTSTATUS status = ask_for_reset_relock(node, fault);
	if (NT_SUCCESS(status)) {
		trace_reset_step(sched->config.adapter_id, node->number, "resume hardware queues");
		sched_unlock(sched);
		status = sched->ops->resume_hw_node(sched->gpu, node->number);
		sched_lock(sched);
	}
	if (!NT_SUCCESS(status)) {
		log_warn("adapter %u, node %u: the reset of hardware queues failed with %s",
			 sched->config.adapter_id, node->number, status_name(status));
		return ENGINE_FAILED;
	}
	bool is_futile = is_futile_locked(node);
	restart_clocks_locked(node);
	sched_retire_relock(sched);
	return is_futile ? ENGINE_NOT_ENOUGH : ENGINE_RECOVERED;
}
