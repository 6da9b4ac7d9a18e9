/* SPDX-License-Identifier: MIT */
/*
 * node.c - one engine: what it is given, and what it says is done.
 *
 * Who has the baton (is_busy) is the only one who gives this engine anything: waits are tried,
 * early signals act, work is prepared and submitted, in one order for everybody. It is taken by
 * whoever brings something to do when it is free; who finds it taken goes away, because the holder
 * looks again under the lock before letting go. A thread that came with one packet does not stay
 * for ever with everybody else's: after some steps the scheduler's thread goes on.
 *
 * A packet in hand (a function of it is being called, without the lock) may be completed, preempted
 * or lost meanwhile; it is not retired before the call has returned.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "sched/internal.h"
#include "sched/serial.h"
#include "trace/trace.h"

struct sched_packet *packet_of_node_link(struct list *link)
{
	return container_of(link, struct sched_packet, node_link);
}

struct sched_packet *node_running_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return list_is_empty(&node->submitted) ? NULL : packet_of_node_link(node->submitted.next);
}

bool node_is_free_locked(const struct sched_node *node)
{
	const struct sched *sched = node->sched;

	lock_assert_held(&node->sched->lock);
	return node->holds == 0 && sched->holds == 0 && !sched->broken && !sched->dead &&
	       !sched->is_stopped;
}

uint32_t node_counted_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return node->outstanding + (node->sched->counts_hw_queues ? node->hw_outstanding : 0);
}

static bool node_is_full_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return node_counted_locked(node) >= node->sched->config.outstanding_max;
}

static bool node_is_open_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return node_is_free_locked(node) && !node->preemption.is_awaited &&
	       !node_is_full_locked(node);
}

static bool node_is_hw_open_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return node_is_free_locked(node) &&
	       !(node->sched->counts_hw_queues && node_is_full_locked(node));
}

static void node_unload_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	node->loaded_queue = 0;
	node->loaded_owner = NULL;
}

/* ---- out: completed, given back, aborted ---- */

struct sched_packet_counts *node_counts_locked(struct sched_node *node,
					       const struct sched_packet *packet)
{
	lock_assert_held(&node->sched->lock);
	return packet->queue->owner->is_system ? &node->statistics.system
					       : &node->statistics.clients;
}

uint64_t node_running_ns_locked(const struct sched_node *node, const struct sched_process *process,
				uint64_t now_ns)
{
	const struct sched_packet *running = node_running_locked(node);
	uint64_t since_ns = node->running_since_ns;

	lock_assert_held(&node->sched->lock);
	if (!running || running->queue->owner->process != process)
		return 0;
	if (since_ns < node->charged_until_ns)
		since_ns = node->charged_until_ns; /* one that went in the same breath */
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

/* The first packet leaves. */
static void charge_process_locked(struct sched_node *node, struct sched_process *process)
{
	uint64_t now_ns = clock_peek_ns(); /* an observer's look: no step of a seeded run */

	lock_assert_held(&node->sched->lock);
	if (process)
		process->busy_ns += node_running_ns_locked(node, process, now_ns);
	node->charged_until_ns = now_ns;
}

/* The hardware does not have it any more. */
static void leave_locked(struct sched_node *node, struct sched_packet *packet, const char *how)
{
	lock_assert_held(&node->sched->lock);
	if (node->submitted.next == &packet->node_link)
		charge_process_locked(node, packet->queue->owner->process);
	list_remove(&packet->node_link);
	if (--node->outstanding == 0 && node->hw_outstanding == 0)
		node->statistics.busy_ns += clock_now_ns() - node->busy_since_ns;
	owner_submitted_ends_locked(packet->queue->owner, packet);
	trace_packet_left(node->sched->config.adapter_id, node->number, packet->fence, how);
}

void node_abort_packet_locked(struct sched_node *node, struct sched_packet *packet)
{
	lock_assert_held(&node->sched->lock);
	node_counts_locked(node, packet)->aborted++;
	leave_locked(node, packet, "aborted");
	packet_over_locked(packet, SCHED_ABORTED);
}

static void complete_first_locked(struct sched_node *node)
{
	struct sched_packet *packet = packet_of_node_link(node->submitted.next);
	bool is_done = !packet->is_refused && !packet->is_faulted;

	lock_assert_held(&node->sched->lock);
	node->completed_fence = packet->fence;
	node->completed_owner = packet->queue->owner;
	if (is_done)
		node_counts_locked(node, packet)->completed++;
	else
		node_counts_locked(node, packet)->aborted++;
	leave_locked(node, packet, is_done ? "completed" : "aborted");
	packet_over_locked(packet, is_done ? SCHED_DONE : SCHED_ABORTED);
}

/*
 * What the driver refused of the kernel's own comes back with the adapter's reset, which always
 * follows: whose it is knows of that first.
 */
static bool awaits_reset_locked(const struct sched_packet *packet)
{
	lock_assert_held(&packet->queue->sched->lock);
	return packet->is_refused && packet->queue->owner->is_system;
}

/* Packets that the driver refused count as completed as soon as they are the oldest. */
static void settle_refused_locked(struct sched_node *node)
{
	struct sched_packet *packet;

	lock_assert_held(&node->sched->lock);
	while ((packet = node_running_locked(node)) && packet->is_refused && !packet->is_in_hand &&
	       !awaits_reset_locked(packet)) {
		mistake_excuse_locked(node, packet->fence);
		complete_first_locked(node);
	}
}

/* After some have left: another one runs now, and there is room. */
static void node_moved_on_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	settle_refused_locked(node);
	if (node->outstanding > 0 || node->preemption.is_awaited)
		tdr_running_locked(node);
	node_invite_locked(node);
	sched_changed_locked(node->sched);
}

bool node_knows_locked(const struct sched_node *node, uint32_t fence)
{
	lock_assert_held(&node->sched->lock);
	return fence != 0 && node->outstanding > 0 &&
	       serial_is_within(fence, node->completed_fence,
				packet_of_node_link(node->submitted.prev)->fence);
}

void node_complete_locked(struct sched_node *node, uint32_t fence)
{
	struct sched_packet *packet = node_running_locked(node);

	lock_assert_held(&node->sched->lock);
	if (!packet || serial_is_after(packet->fence, fence))
		return;
	do {
		complete_first_locked(node);
		packet = node_running_locked(node);
	} while (packet && !serial_is_after(packet->fence, fence));
	node->futile_resets = 0;
	node_moved_on_locked(node);
}

static void give_back_packet_locked(struct sched_node *node, struct sched_packet *packet)
{
	struct sched_queue *queue = packet->queue;

	lock_assert_held(&node->sched->lock);
	node_counts_locked(node, packet)->preempted++;
	leave_locked(node, packet, "preempted");
	if (!awaits_reset_locked(packet) &&
	    (packet->is_refused || packet->is_faulted ||
	     (!packet->is_in_hand && queue_is_cancelled_locked(queue)))) {
		packet_over_locked(packet, SCHED_ABORTED);
	} else if (packet->keeps_fence) {
		packet->state = PACKET_RETURNED;
		list_push_front(&node->returned, &packet->node_link);
	} else {
		packet->state = PACKET_QUEUED;
		queue->next = &packet->link;
		queue->is_blocked = false;
	}
}

void node_give_back_locked(struct sched_node *node, struct sched_queue *ran)
{
	struct list given;

	lock_assert_held(&node->sched->lock);
	list_init(&given);
	/* Newest first: so the oldest is what its queue goes on with. */
	while (!list_is_empty(&node->submitted)) {
		struct sched_packet *packet = packet_of_node_link(node->submitted.prev);

		give_back_packet_locked(node, packet);
		if (packet->state == PACKET_QUEUED)
			list_push_front(&given, &packet->node_link);
	}
	/* Oldest first: so they line up as they were. */
	list_drain (struct sched_packet, packet, &given, node_link) {
		if (packet->queue != ran)
			queue_update_ready_locked(packet->queue);
	}
	if (ran) {
		queue_unready_locked(ran); /* it may stand there with what was not submitted yet */
		queue_update_ready_locked(ran);
	}
	node_unload_locked(node);
	node_moved_on_locked(node);
}

void node_abort_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	while (!list_is_empty(&node->submitted))
		node_abort_packet_locked(node, packet_of_node_link(node->submitted.next));
	list_drain (struct sched_packet, packet, &node->returned, node_link)
		packet_over_locked(packet, SCHED_ABORTED);
	hw_abort_locked(node);
	node->completed_fence = node->last_fence;
	mistake_excuse_locked(node, node->last_fence);
	node->completed_owner = NULL;
	node_unload_locked(node);
	node->has_timed_out = false;
	if (node->has_fault) {
		node->has_fault = false;
		node->holds--;
	}
	preempt_forget_locked(node);
	sched_changed_locked(node->sched);
}

/* ---- in: submission ---- */

void queue_trace_waits_locked(const struct sched_packet *packet)
{
	const struct sched_queue *queue = packet->queue;

	lock_assert_held(&queue->sched->lock);
	trace_queue_waits(queue->sched->config.adapter_id, queue->id, packet->ticket.number,
			  sched_packet_kind_name(packet->kind));
}

static void trace_submitted_locked(const struct sched_packet *packet, bool is_resubmission)
{
	const struct sched_queue *queue = packet->queue;

	lock_assert_held(&queue->sched->lock);
	trace_packet_submitted(queue->sched->config.adapter_id, queue->node, packet->fence,
			       queue->id, is_resubmission, packet->ticket.number);
}

void node_trace_packets_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	list_each (const struct sched_packet, packet, &node->submitted, node_link)
		trace_submitted_locked(packet, false);
}

/* A packet was not submitted after all (not prepared yet, or cancelled meanwhile). It stays the first of its queue. */
static void put_aside_locked(struct sched_packet *packet, bool is_pending)
{
	struct sched_queue *queue = packet->queue;

	lock_assert_held(&packet->queue->sched->lock);
	if (queue_is_cancelled_locked(queue)) {
		list_remove(&packet->node_link);
		packet_cancel_locked(packet);
	} else if (is_pending && !queue->was_kicked) {
		/* It may have been moved back to something else meanwhile. */
		queue->is_blocked =
			queue->next == &packet->link || packet->state == PACKET_RETURNED;
		if (queue->is_blocked)
			queue_trace_waits_locked(packet);
	}
	queue_update_ready_locked(queue);
}

/* The driver refused the packet: its owner is lost. */
static void refuse_packet_locked(struct sched_packet *packet, NTSTATUS status)
{
	struct sched_owner *owner = packet->queue->owner;

	lock_assert_held(&packet->queue->sched->lock);
	log_warn("adapter %u, node %u: a packet was refused with %s",
		 owner->sched->config.adapter_id, packet->queue->node, status_name(status));
	if (owner->is_system) {
		owner->sched->broken = "the driver refused a paging packet";
		sched_wake_thread_locked(owner->sched);
	} else {
		owner_lose_and_tell_locked(owner,
					   status == STATUS_NO_MEMORY ? SCHED_STATE_OUT_OF_MEMORY
								      : SCHED_STATE_DMA_FAULT,
					   NULL);
	}
}

/* False when something came in between while the packet was prepared: a reset, a preemption, a cancellation. */
static bool may_still_go_locked(const struct sched_node *node, const struct sched_packet *packet)
{
	const struct sched_queue *queue = packet->queue;

	lock_assert_held(&node->sched->lock);
	if (!(queue_is_hw(queue) ? node_is_hw_open_locked(node) : node_is_open_locked(node)) ||
	    queue_is_cancelled_locked(queue))
		return false;
	/* Suspended is what is new, not what has a fence id already. */
	if (packet->state == PACKET_RETURNED)
		return true;
	/* The hardware may have given back what is in front of it. */
	return queue->next == &packet->link && queue->suspensions == 0 &&
	       !owner_is_suspended_locked(queue->owner);
}

/*
 * Drops and retakes sched->lock: its queue may have been suspended or cancelled meanwhile, the
 * packet stays. True when it is to be submitted.
 */
static bool prepare_relock(struct sched_node *node, struct sched_packet *packet)
{
	struct sched *sched = node->sched;
	NTSTATUS status = STATUS_SUCCESS;

	lock_assert_held(&node->sched->lock);
	packet->is_in_hand = true;
	packet->queue->was_kicked = false;
	queue_unready_locked(packet->queue);
	owner_submits_locked(packet->queue->owner, packet);
	if (packet->ops->prepare) {
		sched_unlock(sched);
		lock_assert_none_held("a packet's prepare()");
		status = packet->ops->prepare(packet);
		sched_lock(sched);
	}
	if (status == STATUS_SUCCESS && may_still_go_locked(node, packet))
		return true;

	packet->is_in_hand = false;
	owner_submitted_ends_locked(packet->queue->owner, packet);
	if (status != STATUS_SUCCESS && status != STATUS_PENDING) {
		list_remove(&packet->node_link);
		packet_cancel_locked(packet);
		refuse_packet_locked(packet, status);
	}
	if (packet->state != PACKET_OVER)
		put_aside_locked(packet, status == STATUS_PENDING);
	else
		queue_update_ready_locked(packet->queue);
	return false;
}

static struct sched_submission enter_locked(struct sched_node *node, struct sched_packet *packet)
{
	struct sched_submission submission = { .node = node->number,
					       .is_resubmission = packet->was_submitted };

	lock_assert_held(&node->sched->lock);
	node->was_hw_last = queue_is_hw(packet->queue);
	if (node->was_hw_last) {
		hw_enter_locked(node, packet);
		return submission;
	}
	if (packet->state == PACKET_RETURNED) {
		list_remove(&packet->node_link);
	} else {
		node->last_fence = serial_next(node->last_fence);
		packet->fence = node->last_fence;
		packet->queue->next = packet->link.next;
	}
	submission.fence = packet->fence;
	packet->state = PACKET_SUBMITTED;
	packet->was_submitted = true;
	list_push_back(&node->submitted, &packet->node_link);
	node_counts_locked(node, packet)->submitted++;
	if (node->loaded_queue != packet->queue->id)
		node_counts_locked(node, packet)->switches++;
	node->loaded_queue = packet->queue->id;
	node->loaded_owner = packet->queue->owner;
	if (node->outstanding++ == 0) {
		tdr_running_locked(node);
		if (node->hw_outstanding == 0)
			node->busy_since_ns = node->running_since_ns;
	} else if (packet_of_node_link(node->submitted.next)->queue != packet->queue) {
		turns_watch_locked(node);
	}
	trace_submitted_locked(packet, submission.is_resubmission);
	return submission;
}

/*
 * Drops and retakes sched->lock: the packet may be completed when this returns, and then it is
 * retired next.
 */
static void submit_relock(struct sched_node *node, struct sched_packet *packet)
{
	struct sched *sched = node->sched;

	lock_assert_held(&node->sched->lock);
	if (!prepare_relock(node, packet))
		return;
	struct sched_submission submission = enter_locked(node, packet);
	sched_unlock(sched);
	lock_assert_none_held("a packet's submit()");
	NTSTATUS status = packet->ops->submit(packet, &submission);
	sched_lock(sched);
	packet->is_in_hand = false;
	if (UNLIKELY(sched->config.preempts_always) && !submission.is_resubmission &&
	    preempt_is_possible_locked(node)) {
		node->preemption.is_wanted = true;
		node->preemption.since_ns = clock_now_ns();
	}
	if (!NT_SUCCESS(status)) {
		packet->is_refused = true;
		refuse_packet_locked(packet, status);
		if (queue_is_hw(packet->queue))
			hw_refused_locked(node, packet);
	}
	if (packet->state == PACKET_OVER) {
		packet_over_locked(packet, packet->outcome);
	} else if (packet->state != PACKET_SUBMITTED && !awaits_reset_locked(packet) &&
		   (packet->is_refused || queue_is_cancelled_locked(packet->queue))) {
		list_remove(&packet->node_link);
		packet_over_locked(packet, SCHED_ABORTED);
	}
	settle_refused_locked(node);
	queue_update_ready_locked(packet->queue);
}

/*
 * Drops and retakes sched->lock: a wait is tried, an early signal acts. The queue may have got more
 * meanwhile, or been cancelled.
 */
static void step_relock(struct sched_node *node, struct sched_queue *queue)
{
	struct sched *sched = node->sched;
	struct sched_packet *packet = container_of(queue->next, struct sched_packet, link);
	bool is_over = true;

	lock_assert_held(&node->sched->lock);
	packet->is_in_hand = true;
	queue->was_kicked = false;
	queue_unready_locked(queue);
	sched_unlock(sched);
	if (packet->kind == SCHED_WAIT)
		is_over = packet->ops->try_wait(packet);
	else
		packet->ops->signal(packet);
	sched_lock(sched);
	packet->is_in_hand = false;
	if (is_over) {
		packet_over_locked(packet, SCHED_DONE);
		queue_update_ready_locked(queue);
	} else {
		put_aside_locked(packet, true);
		if (queue->ends_at_waits && queue->is_blocked)
			queue_cancel_rest_locked(queue);
	}
}

/* ---- the baton ---- */

static struct sched_packet *node_next_packet_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (!node_is_open_locked(node))
		return NULL;
	if (!list_is_empty(&node->returned)) {
		struct sched_packet *packet = packet_of_node_link(node->returned.next);
		return packet->queue->is_blocked ? NULL : packet;
	}
	struct sched_queue *queue = ready_set_best(&node->ready);
	return queue ? container_of(queue->next, struct sched_packet, link) : NULL;
}

static struct sched_packet *node_next_hw_packet_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (!node_is_hw_open_locked(node) || list_is_empty(&node->hw_ready))
		return NULL;
	return container_of(container_of(node->hw_ready.next, struct sched_queue, ready_link)->next,
			    struct sched_packet, link);
}

/* The kernel's own first; else hardware queues and others in turn, for they may share the room. */
static struct sched_packet *node_next_locked(const struct sched_node *node)
{
	struct sched_packet *packet = node_next_packet_locked(node);
	struct sched_packet *hw_packet = node_next_hw_packet_locked(node);

	lock_assert_held(&node->sched->lock);
	if (!packet || !hw_packet)
		return packet ? packet : hw_packet;
	return packet->queue->owner->is_system || node->was_hw_last ? packet : hw_packet;
}

static bool node_wants_preemption_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (node->preemption.is_wanted || preempt_is_needed_locked(node))
		return true;
	if (!node_is_free_locked(node))
		return false;
	const struct sched_queue *best = ready_set_best(&node->ready);
	return best && preempt_is_due_locked(node, best);
}

bool node_has_work_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	return !list_is_empty(&node->steps) || node_wants_preemption_locked(node) ||
	       node_next_locked(node);
}

void node_invite_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (!node->is_busy && node_has_work_locked(node))
		sched_wake_thread_locked(node->sched);
}

/*
 * Drops and retakes sched->lock: what is ready may be something else then. False when there is
 * nothing to do.
 */
static bool node_step_relock(struct sched_node *node)
{
	struct sched_packet *packet;

	lock_assert_held(&node->sched->lock);
	if (!list_is_empty(&node->steps)) {
		step_relock(node, container_of(node->steps.next, struct sched_queue, ready_link));
		return true;
	}
	if (node_wants_preemption_locked(node)) {
		preempt_request_relock(node);
		return true;
	}
	if (!(packet = node_next_locked(node)))
		return false;
	submit_relock(node, packet);
	return true;
}

void node_run_relock(struct sched_node *node, uint32_t steps)
{
	struct sched *sched = node->sched;

	lock_assert_held(&sched->lock);
	if (node_is_full_locked(node)) {
		hw_look_locked(node);
		turns_watch_locked(node);
	}
	if (node->is_busy || !node_has_work_locked(node))
		return;
	node->is_busy = true;
	while (steps > 0 && node_step_relock(node)) {
		sched_retire_relock(sched);
		steps--;
	}
	node->is_busy = false;
	if (node_has_work_locked(node))
		sched_wake_thread_locked(sched);
	sched_changed_locked(sched);
}

/* ---- news ---- */

void sched_on_completed(struct sched *sched, uint32_t node_number, uint32_t fence)
{
	struct sched_node *node = &sched->nodes[node_number];

	assert(node_number < sched->config.node_count);
	sched_lock(sched);
	if (!node->is_deaf) {
		mistake_judge_fence_locked(
			node, "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_DMA_COMPLETED)", fence);
		if (node_knows_locked(node, fence))
			node_complete_locked(node, fence);
	}
	sched_retire_relock(sched);
	sched_unlock(sched);
}
