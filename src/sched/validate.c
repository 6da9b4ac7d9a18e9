/* SPDX-License-Identifier: MIT */
/*
 * validate.c - recounts everything. Nothing is under way when it is asked.
 */
#include "sched/internal.h"
#include "sched/serial.h"

#define CHECK(condition, what)                                                                     \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return what;                                                               \
	} while (0)

/* Submitted, and neither completed nor given back nor aborted. */
static uint64_t with_hardware(const struct sched_packet_counts *counts)
{
	return counts->submitted - counts->completed - counts->preempted - counts->aborted;
}

/* What the hardware has in its own queues. */
static const char *validate_hw_queues(const struct sched_node *node)
{
	uint32_t outstanding = 0;
	uint32_t never_late = 0;

	list_each (const struct sched_queue, queue, &node->hw_queues, hw_link) {
		uint64_t newest = 0;

		CHECK(queue->hw.progress && queue->node == node->number,
		      "a hardware queue is none, or on another node");
		list_each (const struct sched_packet, packet, &queue->hw_submitted, node_link) {
			CHECK(packet->queue == queue && packet->state == PACKET_SUBMITTED,
			      "a hardware queue has a packet that is not submitted to it");
			CHECK(packet->progress > newest, "the progress of packets does not grow");
			CHECK(list_is_linked(&packet->hardware_ticket.link),
			      "a packet of a hardware queue is not with the hardware");
			newest = packet->progress;
			outstanding++;
			never_late += packet->is_never_late;
		}
		CHECK(newest <= queue->last_progress, "a progress was never queued");
	}
	CHECK(outstanding == node->hw_outstanding, "what hardware queues have is miscounted");
	CHECK(never_late == node->hw_never_late, "what stops the clock is miscounted");
	CHECK(!node->is_hw_resetting, "hardware queues are being reset");
	return NULL;
}

static const char *validate_node_locked(const struct sched_node *node)
{
	const struct sched_config *config = &node->sched->config;
	uint32_t newest = node->completed_fence;

	lock_assert_held(&node->sched->lock);
	CHECK(!node->is_busy, "somebody has a baton");
	CHECK(!node->is_deaf, "a node is being reset");
	CHECK(node->outstanding == list_length(&node->submitted), "outstanding is miscounted");
	CHECK(node_counted_locked(node) <= config->outstanding_max, "a node has too much");
	CHECK(node->outstanding + node->hw_outstanding ==
		      with_hardware(&node->statistics.clients) +
			      with_hardware(&node->statistics.system),
	      "the statistics of a node do not add up");
	list_each (const struct sched_packet, packet, &node->submitted, node_link) {
		CHECK(packet->state == PACKET_SUBMITTED, "a submitted packet is not submitted");
		CHECK(packet->queue->node == node->number, "a packet is on another node");
		CHECK(packet->fence != 0, "a packet has the id of nobody");
		CHECK(serial_is_after(packet->fence, newest), "fence ids do not grow");
		CHECK(list_is_linked(&packet->hardware_ticket.link),
		      "a submitted packet is not with the hardware");
		newest = packet->fence;
	}
	CHECK(!serial_is_after(newest, node->last_fence), "a fence id was never given");
	list_each (const struct sched_packet, packet, &node->returned, node_link) {
		CHECK(packet->state == PACKET_RETURNED && packet->keeps_fence,
		      "a returned packet does not keep its id");
		CHECK(serial_is_after(packet->fence, node->completed_fence),
		      "a returned packet is complete already");
	}
	for (uint32_t level = 0; level < PRIORITY_LEVELS; level++)
		CHECK((node->ready.used[level / 64] >> level % 64 & 1) ==
			      !list_is_empty(&node->ready.levels[level]),
		      "a level is marked wrongly");
	CHECK(!node_has_work_locked(node), "something ready was forgotten");
	return NULL;
}

static bool is_ready_locked(const struct sched_queue *queue)
{
	lock_assert_held(&queue->sched->lock);
	return queue->next != &queue->packets && !queue->is_blocked && queue->suspensions == 0 &&
	       !owner_is_suspended_locked(queue->owner);
}

/* What the queues of an owner have, together. */
struct packet_count {
	uint32_t queued;
	uint32_t submitted;
};

static const char *validate_queue_locked(const struct sched_queue *queue,
					 struct packet_count *count)
{
	bool is_behind_next = false;
	struct list *link;
	uint32_t length = 0;

	lock_assert_held(&queue->sched->lock);
	CHECK(!queue->is_retiring && !list_is_linked(&queue->retire_link),
	      "something to retire was forgotten");
	list_for_each (link, &queue->packets) {
		const struct sched_packet *packet = container_of(link, struct sched_packet, link);

		is_behind_next |= link == queue->next;
		length++;
		count->submitted += packet->state == PACKET_SUBMITTED;
		CHECK(packet->queue == queue, "a packet is in another queue");
		CHECK(!packet->is_in_hand, "a packet is in hand");
		CHECK(is_behind_next || packet->state != PACKET_QUEUED, "a packet was passed by");
		CHECK(!is_behind_next || packet->state != PACKET_SUBMITTED,
		      "a packet overtook another");
		CHECK(packet->state == PACKET_SUBMITTED ||
			      !list_is_linked(&packet->hardware_ticket.link),
		      "a packet is with the hardware and was not submitted");
		CHECK(link != queue->packets.next ||
			      (packet->state != PACKET_OVER && packet->state != PACKET_PASSED),
		      "the first packet is over and not retired");
	}
	CHECK(length == queue->length, "a queue's length is wrong");
	CHECK(is_ready_locked(queue) == list_is_linked(&queue->ready_link),
	      "a queue is not where its node looks for it");
	count->queued += length;
	return NULL;
}

static const char *validate_row(const struct list *row, const struct list *waits,
				uint64_t last_ticket)
{
	uint64_t newest = 0;

	list_each (const struct sched_ticket, ticket, row, link) {
		CHECK(ticket->number > newest, "tickets do not grow");
		newest = ticket->number;
	}
	CHECK(newest <= last_ticket, "a ticket was never given");
	CHECK(list_is_empty(waits) ||
		      (!list_is_empty(row) &&
		       container_of(row->next, struct sched_ticket, link)->number <=
			       container_of(waits->next, struct sched_wait, link)->ticket),
	      "a wait is over, and nobody was told");
	return NULL;
}

static const char *validate_owner_locked(const struct sched_owner *owner)
{
	const char *problem = NULL;
	struct packet_count count = { 0 };

	lock_assert_held(&owner->sched->lock);
	list_each (struct sched_queue, each, &owner->queues, owner_link) {
		problem = validate_queue_locked(each, &count);
		if (problem)
			return problem;
	}
	CHECK(count.queued == list_length(&owner->packets), "an owner's packets are miscounted");
	CHECK(count.queued == atomic_load(&owner->pending), "an owner's count is wrong");
	CHECK(count.submitted == list_length(&owner->submitted),
	      "what the hardware has of an owner is miscounted");
	CHECK(!list_is_linked(&owner->lost_link), "a loss was not told");
	problem = validate_row(&owner->packets, &owner->waits, atomic_load(&owner->last_ticket));
	if (problem)
		return problem;
	return validate_row(&owner->submitted, &owner->submitted_waits,
			    owner->last_submitted_ticket);
}

static const char *validate_locked(struct sched *sched)
{
	const char *problem = NULL;

	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count && !problem; i++) {
		/* First the counts that the node's own sums are made of. */
		problem = validate_hw_queues(&sched->nodes[i]);
		if (!problem)
			problem = validate_node_locked(&sched->nodes[i]);
	}
	list_each (struct sched_owner, each, &sched->owners, link) {
		if (!problem)
			problem = validate_owner_locked(each);
	}
	CHECK(problem || list_is_empty(&sched->over), "a wait is over, and nobody was told");
	CHECK(problem || list_is_empty(&sched->lost), "a loss was not told");
	CHECK(problem || list_is_empty(&sched->holding) || sched->client_holds > 0,
	      "somebody waits for clients to be held, and they are not");
	return problem;
}

const char *sched_validate(struct sched *sched)
{
	sched_lock(sched);
	const char *problem = validate_locked(sched);
	sched_unlock(sched);
	return problem;
}

uint32_t sched_owner_suspensions(struct sched_owner *owner)
{
	sched_lock(owner->sched);
	uint32_t suspensions = owner->suspensions;
	sched_unlock(owner->sched);
	return suspensions;
}

struct sched_holds sched_holds(struct sched *sched)
{
	sched_lock(sched);
	struct sched_holds holds =
		(struct sched_holds){ .nodes = sched->holds, .clients = sched->client_holds };
	if (sched->is_stopped || sched->dead)
		holds.nodes = 0;
	for (uint32_t i = 0; i < sched->config.node_count; i++)
		holds.nodes += sched->dead ? 0 : sched->nodes[i].holds;
	sched_unlock(sched);
	return holds;
}

void sched_owner_for_each_packet(struct sched_owner *owner,
				 void (*look)(void *context, struct sched_packet *packet),
				 void *context)
{
	sched_lock(owner->sched);
	list_each (struct sched_queue, queue, &owner->queues, owner_link) {
		list_each (struct sched_packet, each, &queue->packets, link)
			look(context, each);
	}
	sched_unlock(owner->sched);
}
