/* SPDX-License-Identifier: MIT */
/*
 * queue.c - the packets of a context, in order.
 *
 *	         retired   │ over, or with the hardware │ not submitted
 *	packets  (gone)    │  DONE  SUBMITTED  PASSED   │  QUEUED  QUEUED  …
 *	                      first                        next
 *
 * `next` moves on when something was submitted, tried or signalled, and back when the hardware gave
 * something back; what is over by then is not done again. Packets leave at the front only, so they
 * are retired in order; one thread at a time does that for a queue, and looks again before it goes.
 */
#include <assert.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/refusal.h"
#include "sched/internal.h"
#include "trace/trace.h"

/* sched_queue.ready_level of those who stand in a row of their own. */
enum { READY_STEP = PRIORITY_LEVELS, READY_HW };

static struct sched_packet *packet_of_link(struct list *link)
{
	return container_of(link, struct sched_packet, link);
}

/* ---- what is next ---- */

bool queue_is_cancelled_locked(const struct sched_queue *queue)
{
	const struct sched *sched = queue->sched;

	lock_assert_held(&queue->sched->lock);
	return queue->is_cancelling || atomic_load(&queue->owner->is_lost) || sched->is_stopped ||
	       sched->dead;
}

static void queue_is_retirable_locked(struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	if (!queue->is_retiring && !list_is_linked(&queue->retire_link))
		list_push_back(&queue->sched->retirable, &queue->retire_link);
}

static bool is_late_signal(const struct sched_packet *packet)
{
	return packet->kind == SCHED_SIGNAL && !packet->signals_early;
}

/* Moves `next` on, past packets with which nothing has to be done before those behind them. */
static void queue_advance_locked(struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	for (; queue->next != &queue->packets; queue->next = queue->next->next) {
		struct sched_packet *packet = packet_of_link(queue->next);

		if (packet->state != PACKET_QUEUED)
			continue;
		if (!is_late_signal(packet))
			return;
		packet->state = PACKET_PASSED;
		if (queue->packets.next == queue->next)
			queue_is_retirable_locked(queue);
	}
}

void queue_unready_locked(struct sched_queue *queue)
{
	struct sched_node *node = sched_node_of(queue);

	lock_assert_held(&queue->sched->lock);
	if (!list_is_linked(&queue->ready_link))
		return;
	if (queue->ready_level < PRIORITY_LEVELS)
		ready_set_remove(&node->ready, queue);
	else
		list_remove(&queue->ready_link);
}

void queue_update_ready_locked(struct sched_queue *queue)
{
	struct sched_node *node = sched_node_of(queue);

	lock_assert_held(&queue->sched->lock);
	queue_advance_locked(queue);
	if (queue->next == &queue->packets || queue->is_blocked || queue->suspensions > 0 ||
	    owner_is_suspended_locked(queue->owner)) {
		queue_unready_locked(queue);
		return;
	}

	const struct sched_packet *packet = packet_of_link(queue->next);
	uint32_t level = READY_STEP;
	if (packet->kind == SCHED_WORK)
		level = queue_is_hw(queue) ? READY_HW : priority_level_of(queue);
	bool is_linked = list_is_linked(&queue->ready_link);

	/* Who stands right already keeps the turn. */
	if (!packet->is_in_hand && is_linked && queue->ready_level == level)
		return;
	queue_unready_locked(queue);
	if (packet->is_in_hand)
		return;
	if (level < PRIORITY_LEVELS) {
		ready_set_add(&node->ready, queue);
	} else {
		queue->ready_level = level;
		list_push_back(level == READY_HW ? &node->hw_ready : &node->steps,
			       &queue->ready_link);
	}
}

/* ---- how packets end ---- */

void packet_over_locked(struct sched_packet *packet, enum sched_outcome outcome)
{
	lock_assert_held(&packet->queue->sched->lock);
	packet->state = PACKET_OVER;
	packet->outcome = (uint8_t)outcome;
	queue_is_retirable_locked(packet->queue);
}

void packet_cancel_locked(struct sched_packet *packet)
{
	lock_assert_held(&packet->queue->sched->lock);
	packet_over_locked(packet, packet->was_submitted ? SCHED_ABORTED : SCHED_CANCELLED);
}

/* The hardware has it, and nobody is left who wants it to take its time: others wait for its end. */
static void packet_may_be_late_locked(struct sched_packet *packet)
{
	struct sched_node *node = sched_node_of(packet->queue);

	lock_assert_held(&packet->queue->sched->lock);
	if (!packet->is_never_late || packet->state != PACKET_SUBMITTED)
		return;
	packet->is_never_late = false;
	if (queue_is_hw(packet->queue))
		hw_may_be_late_locked(node);
	else if (node_running_locked(node) == packet)
		tdr_running_locked(node);
}

static void cancel_from_locked(struct sched_queue *queue, struct list *first)
{
	lock_assert_held(&queue->sched->lock);
	for (struct list *link = first; link != &queue->packets; link = link->next) {
		struct sched_packet *packet = packet_of_link(link);

		packet_may_be_late_locked(packet);
		/* What is in hand, whoever has it in hand cancels. */
		if (packet->is_in_hand || packet->state == PACKET_SUBMITTED ||
		    packet->state == PACKET_OVER)
			continue;
		if (packet->state == PACKET_RETURNED)
			list_remove(&packet->node_link);
		packet_cancel_locked(packet);
	}
	queue->is_blocked = false;
	queue_update_ready_locked(queue);
	sched_changed_locked(queue->sched);
}

void queue_cancel_locked(struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	cancel_from_locked(queue, queue->packets.next);
}

void queue_cancel_rest_locked(struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	cancel_from_locked(queue, queue->next);
}

/* The first packet, when it is over or a signal whose time has come. */
static struct sched_packet *queue_first_to_retire_locked(struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	if (list_is_empty(&queue->packets))
		return NULL;
	struct sched_packet *packet = packet_of_link(queue->packets.next);
	if (packet->is_in_hand || (packet->state != PACKET_OVER && packet->state != PACKET_PASSED))
		return NULL;
	return packet;
}

/*
 * Drops and retakes sched->lock: more may have been queued meanwhile. Nobody retires the packet: it
 * is in hand.
 */
static void signal_relock(struct sched *sched, struct sched_packet *packet)
{
	lock_assert_held(&sched->lock);
	packet->is_in_hand = true;
	sched_unlock(sched);
	packet->ops->signal(packet);
	sched_lock(sched);
	packet->is_in_hand = false;
	packet->state = PACKET_OVER;
	packet->outcome = SCHED_DONE;
}

/* Puts another ticket in a packet's place in the row, so that the packet can be given away. */
static void ticket_replace(struct sched_ticket *ticket, struct sched_ticket *with)
{
	with->number = ticket->number;
	list_insert_between(&with->link, &ticket->link, ticket->link.next);
	list_remove(&ticket->link);
}

/* Drops and retakes sched->lock: the packet is its maker's again, and may be gone. */
static void retire_first_relock(struct sched_queue *queue, struct sched_packet *packet)
{
	struct sched *sched = queue->sched;
	struct sched_owner *owner = queue->owner;
	enum sched_outcome outcome = packet->outcome;
	bool is_work_done = packet->kind == SCHED_WORK && outcome == SCHED_DONE;
	struct sched_ticket ticket;

	lock_assert_held(&queue->sched->lock);
	if (queue->next == &packet->link)
		queue->next = packet->link.next;
	list_remove(&packet->link);
	ticket_replace(&packet->ticket, &ticket);
	queue->length--;
	trace_packet_retired(sched->config.adapter_id, queue->id, ticket.number,
			     outcome == SCHED_DONE      ? "done"
			     : outcome == SCHED_ABORTED ? "aborted"
							: "cancelled");
	sched_unlock(sched);
	if (is_work_done && sched->listener.work_completed)
		sched->listener.work_completed(sched->listener_context, owner);
	packet->ops->retired(packet, outcome);
	sched_lock(sched);
	owner_retired_locked(owner, &ticket);
	sched_changed_locked(sched);
}

/* Drops and retakes sched->lock: it may have packets again then. */
static void tell_emptied_relock(struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	sched_unlock(queue->sched);
	queue->emptied(queue);
	sched_lock(queue->sched);
	sched_changed_locked(queue->sched);
}

/*
 * Drops and retakes sched->lock: its packets may be gone. The queue stays: who finishes it waits
 * for is_retiring.
 */
static void queue_retire_relock(struct sched_queue *queue)
{
	struct sched_packet *packet;

	lock_assert_held(&queue->sched->lock);
	queue->is_retiring = true;
	while ((packet = queue_first_to_retire_locked(queue))) {
		if (packet->state == PACKET_PASSED)
			signal_relock(queue->sched, packet);
		retire_first_relock(queue, packet);
		if (queue->emptied && list_is_empty(&queue->packets))
			tell_emptied_relock(queue);
	}
	queue->is_retiring = false;
}

void sched_retire_relock(struct sched *sched)
{
	struct list *link;

	lock_assert_held(&sched->lock);
	for (;;) {
		if ((link = list_pop_front(&sched->retirable))) {
			queue_retire_relock(container_of(link, struct sched_queue, retire_link));
		} else if ((link = list_pop_front(&sched->over))) {
			struct sched_wait *wait = container_of(link, struct sched_wait, link);
			sched_unlock(sched);
			wait->over(wait);
			sched_lock(sched);
		} else {
			return;
		}
	}
}

/* ---- queues ---- */

void sched_queue_init(struct sched_queue *queue, struct sched_owner *owner, uint32_t node)
{
	struct sched *sched = owner->sched;

	assert(node < sched->config.node_count);
	*queue = (struct sched_queue){ .sched = sched, .owner = owner, .node = node };
	list_init(&queue->packets);
	list_init(&queue->ready_link);
	list_init(&queue->retire_link);
	list_init(&queue->hw_link);
	list_init(&queue->hw_submitted);
	queue->next = &queue->packets;
	sched_lock(sched);
	queue->id = ++sched->last_queue_id;
	list_push_back(&owner->queues, &queue->owner_link);
	sched_unlock(sched);
}

void sched_queue_name(struct sched_queue *queue, uint32_t process_id, uint32_t handle,
		      const char *kind)
{
	queue->process_id = process_id;
	queue->handle = handle;
	atomic_store_explicit(&queue->kind, kind, memory_order_release);
	trace_queue_is(queue->sched->config.adapter_id, queue->id, process_id, handle, kind);
}

static void trace_packet_locked(const struct sched_packet *packet)
{
	const struct sched_queue *queue = packet->queue;

	lock_assert_held(&queue->sched->lock);
	trace_packet_queued(queue->sched->config.adapter_id, queue->id, packet->ticket.number,
			    sched_packet_kind_name(packet->kind));
}

/* For a late trace: what the queue stands at is the first packet that has to go to the hardware, maybe again. */
static void trace_standstill_locked(const struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	list_each (const struct sched_packet, packet, &queue->packets, link) {
		if (packet->state == PACKET_QUEUED || packet->state == PACKET_RETURNED) {
			queue_trace_waits_locked(packet);
			return;
		}
	}
}

static void trace_queues_locked(const struct sched_owner *owner)
{
	lock_assert_held(&owner->sched->lock);
	list_each (const struct sched_queue, queue, &owner->queues, owner_link) {
		const char *kind = atomic_load_explicit(&queue->kind, memory_order_acquire);

		if (kind)
			trace_queue_is(owner->sched->config.adapter_id, queue->id,
				       queue->process_id, queue->handle, kind);
		list_each (const struct sched_packet, packet, &queue->packets, link) {
			if (packet->ops->trace)
				packet->ops->trace(packet);
			trace_packet_locked(packet);
		}
		if (queue->is_blocked)
			trace_standstill_locked(queue);
	}
}

void sched_for_each_queue(struct sched *sched,
			  void (*look)(void *context, const struct sched_queue_facts *facts),
			  void *context)
{
	sched_lock(sched);
	list_each (const struct sched_owner, owner, &sched->owners, link) {
		list_each (const struct sched_queue, queue, &owner->queues, owner_link) {
			const struct sched_queue_facts facts = {
				.process_id = queue->process_id,
				.handle = queue->handle,
				.kind = atomic_load_explicit(&queue->kind, memory_order_acquire),
				.is_hw = queue_is_hw(queue),
				.node = queue->node,
				.length = queue->length,
			};

			if (facts.kind)
				look(context, &facts);
		}
	}
	sched_unlock(sched);
}

uint64_t sched_process_busy_ns(struct sched *sched, const struct sched_process *process)
{
	sched_lock(sched);
	uint64_t now_ns = clock_peek_ns();
	uint64_t busy_ns = process->busy_ns;
	for (uint32_t i = 0; i < sched->config.node_count; i++)
		busy_ns += node_running_ns_locked(&sched->nodes[i], process, now_ns) +
			   hw_running_ns_locked(&sched->nodes[i], process, now_ns);
	sched_unlock(sched);
	return busy_ns;
}

void sched_trace_queues(struct sched *sched)
{
	sched_lock(sched);
	list_each (const struct sched_owner, owner, &sched->owners, link)
		trace_queues_locked(owner);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		node_trace_packets_locked(&sched->nodes[i]);
		hw_trace_packets_locked(&sched->nodes[i]);
	}
	sched_unlock(sched);
}

/* True when the first packet that is not submitted is a wait that was tried and is not over. */
static bool queue_stands_at_wait_locked(const struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	return queue->is_blocked && queue->next != &queue->packets &&
	       container_of(queue->next, struct sched_packet, link)->kind == SCHED_WAIT;
}

/* Drops and retakes sched->lock: its packets may be gone then, and others are not taken. */
static void queue_end_relock(struct sched_queue *queue, enum sched_ending ending)
{
	lock_assert_held(&queue->sched->lock);
	queue->is_ending = true;
	sched_changed_locked(queue->sched); /* who waits for a slot */
	if (ending == SCHED_CANCEL_ALL) {
		queue->is_cancelling = true;
		queue_cancel_locked(queue);
	} else if (ending == SCHED_RUN_READY) {
		queue->ends_at_waits = true;
		if (queue_stands_at_wait_locked(queue))
			queue_cancel_rest_locked(queue);
	}
	sched_retire_relock(queue->sched);
}

void sched_queue_end(struct sched_queue *queue, enum sched_ending ending)
{
	sched_lock(queue->sched);
	queue_end_relock(queue, ending);
	sched_unlock(queue->sched);
}

void sched_queue_finish(struct sched_queue *queue, enum sched_ending ending)
{
	struct sched *sched = queue->sched;

	sched_lock(sched);
	queue_end_relock(queue, ending);
	while (!list_is_empty(&queue->packets) || queue->is_retiring)
		sched_wait_relock(sched, CLOCK_FOREVER);
	queue_unready_locked(queue);
	list_remove(&queue->retire_link);
	list_remove(&queue->owner_link);
	list_remove(&queue->hw_link);
	sched_unlock(sched);
}

static NTSTATUS queue_is_open_locked(const struct sched_queue *queue)
{
	const struct sched *sched = queue->sched;

	lock_assert_held(&queue->sched->lock);
	if (atomic_load(&queue->owner->is_lost) || sched->is_stopped || sched->dead)
		return refuse(STATUS_DEVICE_REMOVED, RULE_API_DEVICE_GONE, NULL,
			      "the device was lost%s%s, and accepts no work",
			      queue->owner->lost_state ? ": " : "",
			      queue->owner->lost_state ? sched_state_words(queue->owner->lost_state)
						       : "");
	if (queue->is_ending)
		return invalid(RULE_API_HANDLE, NULL, "the queue was destroyed during the call");
	return STATUS_SUCCESS;
}

static NTSTATUS queue_accepts_locked(const struct sched_queue *queue,
				     const struct sched_packet *packet)
{
	NTSTATUS status = queue_is_open_locked(queue);

	lock_assert_held(&queue->sched->lock);
	if (NT_SUCCESS(status) && queue_is_hw(queue) && packet->kind == SCHED_WORK &&
	    packet->progress <= queue->last_progress)
		return invalid(RULE_API_VALUE, "HwQueueProgressFenceId",
			       "is %" PRIu64 ", and %" PRIu64 " was submitted to this queue before",
			       packet->progress, queue->last_progress);
	return status;
}

static void queue_push_locked(struct sched_queue *queue, struct sched_packet *packet)
{
	struct sched_owner *owner = queue->owner;

	lock_assert_held(&queue->sched->lock);
	packet->queue = queue;
	packet->state = PACKET_QUEUED;
	packet->is_in_hand = false;
	packet->was_submitted = false;
	packet->is_refused = false;
	packet->is_faulted = false;
	list_init(&packet->node_link);
	list_init(&packet->hardware_ticket.link);
	list_push_back(&queue->packets, &packet->link);
	if (queue->next == &queue->packets)
		queue->next = &packet->link;
	queue->length++;
	if (packet->kind == SCHED_WORK)
		queue->last_progress = packet->progress;
	packet->ticket.number = ++owner->last_ticket;
	list_push_back(&owner->packets, &packet->ticket.link);
	atomic_fetch_add(&owner->pending, 1);
	trace_packet_locked(packet);
}

static NTSTATUS queue_add_locked(struct sched_queue *queue, struct sched_packet *packet)
{
	NTSTATUS status = queue_accepts_locked(queue, packet);

	lock_assert_held(&queue->sched->lock);
	if (NT_SUCCESS(status)) {
		queue_push_locked(queue, packet);
		queue_update_ready_locked(queue);
	}
	return status;
}

NTSTATUS sched_queue_add(struct sched_queue *queue, struct sched_packet *packet)
{
	sched_lock(queue->sched);
	NTSTATUS status = queue_add_locked(queue, packet);
	sched_unlock(queue->sched);
	return status;
}

NTSTATUS sched_queue_post(struct sched_queue *queue, struct sched_packet *packet)
{
	sched_lock(queue->sched);
	NTSTATUS status = queue_add_locked(queue, packet);
	if (NT_SUCCESS(status))
		sched_wake_thread_locked(queue->sched);
	sched_unlock(queue->sched);
	return status;
}

/* Drops and retakes sched->lock: the queue may have ended meanwhile, which is refused. */
static NTSTATUS queue_await_slot_relock(struct sched_queue *queue)
{
	NTSTATUS status = queue_is_open_locked(queue);

	lock_assert_held(&queue->sched->lock);
	while (NT_SUCCESS(status) && queue->length >= SCHED_QUEUE_FULL) {
		sched_wait_relock(queue->sched, CLOCK_FOREVER);
		status = queue_is_open_locked(queue);
	}
	return status;
}

NTSTATUS sched_queue_await_slot(struct sched_queue *queue)
{
	sched_lock(queue->sched);
	NTSTATUS status = queue_await_slot_relock(queue);
	sched_unlock(queue->sched);
	return status;
}

void sched_queue_run(struct sched_queue *queue)
{
	sched_lock(queue->sched);
	node_run_relock(sched_node_of(queue), NODE_STEPS);
	sched_retire_relock(queue->sched);
	sched_unlock(queue->sched);
}

NTSTATUS sched_queue_submit(struct sched_queue *queue, struct sched_packet *packet, bool may_block)
{
	struct sched *sched = queue->sched;

	sched_lock(sched);
	NTSTATUS status = may_block ? queue_await_slot_relock(queue) : STATUS_SUCCESS;
	if (NT_SUCCESS(status))
		status = queue_accepts_locked(queue, packet);
	if (NT_SUCCESS(status)) {
		queue_push_locked(queue, packet);
		queue_update_ready_locked(queue);
		node_run_relock(sched_node_of(queue), NODE_STEPS);
		sched_retire_relock(sched);
	}
	sched_unlock(sched);
	return status;
}

/*
 * Drops and retakes sched->lock: each of them may have filled up or ended meanwhile, so who waited
 * for one looks at all of them again.
 */
static NTSTATUS queues_await_slots_relock(struct sched_queue *const queues[], uint32_t count)
{
	uint32_t with_slot = 0;

	lock_assert_held(&queues[0]->sched->lock);
	while (with_slot < count) {
		NTSTATUS status = queue_is_open_locked(queues[with_slot]);

		if (!NT_SUCCESS(status))
			return status;
		if (queues[with_slot]->length < SCHED_QUEUE_FULL) {
			with_slot++;
		} else {
			sched_wait_relock(queues[with_slot]->sched, CLOCK_FOREVER);
			with_slot = 0;
		}
	}
	return STATUS_SUCCESS;
}

NTSTATUS sched_queues_submit(struct sched_queue *const queues[],
			     struct sched_packet *const packets[], uint32_t count)
{
	struct sched *sched = queues[0]->sched;

	sched_lock(sched);
	NTSTATUS status = queues_await_slots_relock(queues, count);
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		status = queue_accepts_locked(queues[i], packets[i]);
	if (NT_SUCCESS(status)) {
		for (uint32_t i = 0; i < count; i++) {
			queue_push_locked(queues[i], packets[i]);
			queue_update_ready_locked(queues[i]);
		}
		for (uint32_t i = 0; i < count; i++)
			node_run_relock(sched_node_of(queues[i]), NODE_STEPS);
		sched_retire_relock(sched);
	}
	sched_unlock(sched);
	return status;
}

void sched_queue_kick(struct sched_queue *queue)
{
	sched_lock(queue->sched);
	queue->was_kicked = true;
	if (queue->is_blocked) {
		queue->is_blocked = false;
		trace_queue_goes_on(queue->sched->config.adapter_id, queue->id);
		queue_update_ready_locked(queue);
		if (!sched_node_of(queue)->is_busy)
			sched_wake_thread_locked(queue->sched);
	}
	sched_unlock(queue->sched);
}

/* To be called when anything has changed on which the queue's turn depends, or what has to stop for it. */
static void queue_turn_changed_locked(struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	queue_update_ready_locked(queue);
	node_invite_locked(sched_node_of(queue));
	turns_watch_locked(sched_node_of(queue));
}

static void queue_turn_changed_unlock(struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	queue_turn_changed_locked(queue);
	sched_unlock(queue->sched);
}

void sched_owner_set_class(struct sched_owner *owner, int32_t process_class)
{
	assert(process_class >= PRIORITY_CLASS_LOWEST && process_class <= PRIORITY_CLASS_HIGHEST);
	sched_lock(owner->sched);
	if (owner->process_class != process_class) {
		owner->process_class = process_class;
		list_each (struct sched_queue, queue, &owner->queues, owner_link)
			queue_turn_changed_locked(queue);
	}
	sched_unlock(owner->sched);
}

void sched_queue_set_priority(struct sched_queue *queue, int32_t priority)
{
	assert(priority >= PRIORITY_LOWEST && priority <= PRIORITY_HIGHEST);
	sched_lock(queue->sched);
	queue->priority = priority;
	queue_turn_changed_unlock(queue);
}

int32_t sched_queue_priority(struct sched_queue *queue)
{
	lock_acquire(&queue->sched->lock);
	int32_t priority = queue->priority;
	lock_release(&queue->sched->lock);
	return priority;
}

int32_t sched_queue_in_process_priority(struct sched_queue *queue)
{
	lock_acquire(&queue->sched->lock);
	int32_t priority = queue->in_process_priority;
	lock_release(&queue->sched->lock);
	return priority;
}

void sched_queue_set_in_process_priority(struct sched_queue *queue, int32_t priority)
{
	sched_lock(queue->sched);
	queue->in_process_priority = priority;
	sched_unlock(queue->sched);
}

void sched_queue_suspend(struct sched_queue *queue)
{
	sched_lock(queue->sched);
	queue->suspensions++;
	queue_turn_changed_unlock(queue);
}

void sched_queue_resume(struct sched_queue *queue)
{
	sched_lock(queue->sched);
	assert(queue->suspensions > 0);
	queue->suspensions--;
	queue_turn_changed_unlock(queue);
}

uint32_t sched_queue_length(struct sched_queue *queue)
{
	sched_lock(queue->sched);
	uint32_t length = queue->length;
	sched_unlock(queue->sched);
	return length;
}

bool sched_queue_is_loaded(struct sched_queue *queue)
{
	sched_lock(queue->sched);
	bool is_loaded = sched_node_of(queue)->loaded_queue == queue->id;
	sched_unlock(queue->sched);
	return is_loaded;
}
