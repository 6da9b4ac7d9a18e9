/*
 * hw_queue.c - queues that the hardware orders itself: what it has of them, and what it has done.
 *
 *	queue ──▶ hw_submitted: progress 5, 6, 9 ──▶ the fence says 6: 5 and 6 are over
 *
 * A packet that is ready is submitted at once, whatever the node has: there is no row of fence ids,
 * no preemption, no room to run out of but the queue's own (SCHED_QUEUE_FULL). What is done stands
 * in memory, so news is only a reason to look, and a look can never come too often.
 *
 * Which of several queues runs, nobody but the hardware knows. So the clock is the node's: it runs
 * while the hardware has something and finishes nothing. When it has run out, the driver resets
 * what hangs and names the contexts it hit (sched_on_hw_context_hit()); the others go on.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "sched/internal.h"
#include "trace/trace.h"

enum { FUTILE_HW_RESETS_MAX = 2 };

static struct sched_queue *queue_of_hw_link(struct list *link)
{
	return container_of(link, struct sched_queue, hw_link);
}

void sched_hw_queue_init(struct sched_queue *queue, struct sched_owner *owner, uint32_t node,
			 const struct sched_hw_identity *identity)
{
	assert(identity->progress);
	sched_queue_init(queue, owner, node);
	sched_lock(owner->sched);
	queue->hw = *identity;
	list_push_back(&sched_node_of(queue)->hw_queues, &queue->hw_link);
	sched_unlock(owner->sched);
}

/* ---- in and out ---- */

void hw_enter_locked(struct sched_node *node, struct sched_packet *packet)
{
	struct sched_queue *queue = packet->queue;

	queue->next = packet->link.next;
	packet->state = PACKET_SUBMITTED;
	packet->was_submitted = true;
	list_push_back(&queue->hw_submitted, &packet->node_link);
	node->hw_never_late += packet->is_never_late;
	if (node->hw_outstanding++ == 0)
		tdr_hw_running_locked(node);
	trace_hw_packet_submitted(node->sched->config.adapter_id, queue->id, packet->progress,
				  node->number);
}

static void leave_locked(struct sched_node *node, struct sched_packet *packet, bool is_done)
{
	list_remove(&packet->node_link);
	node->hw_outstanding--;
	node->hw_never_late -= packet->is_never_late;
	owner_submitted_ends_locked(packet->queue->owner, packet);
	trace_hw_packet_left(node->sched->config.adapter_id, packet->queue->id, packet->progress,
			     is_done ? "completed" : "aborted");
	packet_over_locked(packet, is_done ? SCHED_DONE : SCHED_ABORTED);
	sched_changed_locked(node->sched);
}

void hw_refused_locked(struct sched_node *node, struct sched_packet *packet)
{
	/* It may have been over before the driver came back. */
	if (packet->state == PACKET_SUBMITTED)
		leave_locked(node, packet, false);
}

static void complete_to_locked(struct sched_node *node, struct sched_queue *queue,
			       uint64_t progress)
{
	while (!list_is_empty(&queue->hw_submitted)) {
		struct sched_packet *packet = packet_of_node_link(queue->hw_submitted.next);

		if (packet->progress > progress)
			return;
		leave_locked(node, packet, !packet->is_faulted);
		node->hw_moved_ns = clock_now_ns();
		node->hw_futile_resets = 0;
	}
}

void hw_look_locked(struct sched_node *node)
{
	struct list *link;

	if (node->hw_outstanding == 0)
		return;
	list_for_each (link, &node->hw_queues) {
		struct sched_queue *queue = queue_of_hw_link(link);

		complete_to_locked(node, queue, atomic_load(queue->hw.progress));
	}
}

static void abort_queue_locked(struct sched_node *node, struct sched_queue *queue)
{
	while (!list_is_empty(&queue->hw_submitted))
		leave_locked(node, packet_of_node_link(queue->hw_submitted.next), false);
}

void hw_abort_locked(struct sched_node *node)
{
	struct list *link;

	list_for_each (link, &node->hw_queues)
		abort_queue_locked(node, queue_of_hw_link(link));
}

/* ---- whose ---- */

static bool is_among(const void *name, const void *const names[2])
{
	return name && (name == names[0] || name == names[1]);
}

static struct sched_queue *find_locked(const struct sched_node *node, const void *name)
{
	struct list *link;

	list_for_each (link, &node->hw_queues) {
		struct sched_queue *queue = queue_of_hw_link(link);

		if (is_among(name, queue->hw.queue_names))
			return queue;
	}
	/* Of a context with several queues: one that has something. */
	list_for_each (link, &node->hw_queues) {
		struct sched_queue *queue = queue_of_hw_link(link);

		if (is_among(name, queue->hw.context_names) && !list_is_empty(&queue->hw_submitted))
			return queue;
	}
	return NULL;
}

/* Those before it are complete; it stays with the hardware until that is reset. */
void hw_fault_locked(struct sched_node *node, const struct sched_fault *fault)
{
	struct sched_queue *queue = find_locked(node, fault->hw_name);

	if (!queue)
		return;
	if (fault->hw_progress > 0 && is_among(fault->hw_name, queue->hw.queue_names))
		complete_to_locked(node, queue, fault->hw_progress - 1);
	if (!list_is_empty(&queue->hw_submitted))
		packet_of_node_link(queue->hw_submitted.next)->is_faulted = true;
	owner_lose_and_tell_locked(queue->owner, tdr_state_of(fault), fault);
}

struct sched_owner *hw_only_owner_locked(const struct sched_node *node)
{
	struct sched_owner *owner = NULL;
	struct list *link;

	list_for_each (link, &node->hw_queues) {
		struct sched_queue *queue = queue_of_hw_link(link);

		if (list_is_empty(&queue->hw_submitted))
			continue;
		if (owner && owner != queue->owner)
			return NULL;
		owner = queue->owner;
	}
	return owner;
}

/* ---- late, and reset ---- */

uint64_t hw_deadline_locked(const struct sched_node *node)
{
	uint64_t delay_ns = node->sched->config.tdr_delay_ns;

	if (node->hw_outstanding == 0 || node->hw_never_late > 0 ||
	    node->hw_moved_ns > CLOCK_FOREVER - delay_ns)
		return CLOCK_FOREVER;
	return node->hw_moved_ns + delay_ns;
}

static void hit_queue_locked(struct sched_queue *queue)
{
	struct sched_node *node = sched_node_of(queue);

	queue->is_hit = true;
	/* Said out of turn: when the hardware still has something, it is made to let go. */
	if (!node->is_hw_resetting && !list_is_empty(&queue->hw_submitted))
		node->has_timed_out = true;
}

static const struct sched_fault *blamed_fault_locked(const struct sched *sched)
{
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		if (sched->nodes[i].is_hw_resetting)
			return sched->nodes[i].hw_fault;
	}
	return NULL;
}

void sched_on_hw_context_hit(struct sched_owner *owner, const void *context, bool is_collateral)
{
	struct sched *sched = owner->sched;
	const struct sched_fault *fault;
	struct list *link;

	sched_lock(sched);
	list_for_each (link, &owner->queues) {
		struct sched_queue *queue = container_of(link, struct sched_queue, owner_link);

		if (queue_is_hw(queue) && is_among(context, queue->hw.context_names))
			hit_queue_locked(queue);
	}
	fault = is_collateral ? NULL : blamed_fault_locked(sched);
	owner_lose_and_tell_locked(owner, is_collateral ? SCHED_STATE_RESET : tdr_state_of(fault),
				   fault);
	sched_wake_thread_locked(sched);
	sched_retire_locked(sched);
	sched_unlock(sched);
}

static void abort_hit_locked(struct sched_node *node)
{
	struct list *link;

	list_for_each (link, &node->hw_queues) {
		struct sched_queue *queue = queue_of_hw_link(link);

		if (!queue->is_hit || list_is_empty(&queue->hw_submitted))
			continue;
		node->was_hw_hit = true;
		abort_queue_locked(node, queue);
	}
}

/* Lets go. Nothing of these queues runs on the node when this returns, until it is resumed. */
static NTSTATUS ask_for_reset_locked(struct sched_node *node, const struct sched_fault *fault)
{
	struct sched *sched = node->sched;

	node->is_hw_resetting = true;
	node->was_hw_hit = false;
	node->hw_fault = fault;
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

enum engine_result hw_reset_locked(struct sched_node *node, const struct sched_fault *fault)
{
	struct sched *sched = node->sched;

	if (node->hw_outstanding == 0)
		return ENGINE_RECOVERED;
	sched_unlock(sched);
	sched->ops->flush_events(sched->gpu);
	sched_lock(sched);
	hw_look_locked(node);
	if (node->hw_outstanding == 0)
		return ENGINE_RECOVERED;
	NTSTATUS status = ask_for_reset_locked(node, fault);
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
	node->hw_futile_resets = node->was_hw_hit ? 0 : node->hw_futile_resets + 1;
	if (node->hw_outstanding > 0)
		tdr_hw_running_locked(node);
	sched_retire_locked(sched);
	return node->hw_futile_resets < FUTILE_HW_RESETS_MAX ? ENGINE_RECOVERED : ENGINE_NOT_ENOUGH;
}
