/* SPDX-License-Identifier: MIT */
/*
 * hw_gate.c - see hw_gate.h.
 *
 * Waits of a context are over in their order, so two numbers say which. One that is cancelled is
 * never over, nor is what comes behind it: its context ends, and the queues with it.
 *
 * Locks: gate_lock (LOCK_RANK_PACKET), so that waits are numbered as they are queued. The device's
 * keeps the queues there while they are kicked.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "object/submit/hw_gate.h"

struct gate_packet {
	struct sched_packet packet;
	struct hw_queue_parent *parent; /* its queue holds it */
	uint64_t wait;                  /* the number of the last one that has to be over */
};

static struct gate_packet *gate_of(struct sched_packet *packet)
{
	return container_of(packet, struct gate_packet, packet);
}

static bool gate_try(struct sched_packet *packet)
{
	const struct gate_packet *gate = gate_of(packet);

	return atomic_load(&gate->parent->waits_over) >= gate->wait;
}

static void gate_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	mem_free(gate_of(packet));
}

static const struct sched_packet_ops gate_ops = { .try_wait = gate_try, .retired = gate_retired };

void hw_gate_init(struct hw_queue_parent *parent)
{
	lock_init(&parent->gate_lock, LOCK_RANK_PACKET, "waits in a context of hardware queues");
}

void hw_gate_finish(struct hw_queue_parent *parent)
{
	lock_finish(&parent->gate_lock);
}

NTSTATUS hw_gate_wait(struct hw_queue_parent *parent, struct sched_queue *queue,
		      struct sched_packet *wait)
{
	lock_acquire(&parent->gate_lock);
	NTSTATUS status = sched_queue_add(queue, wait);
	if (NT_SUCCESS(status))
		atomic_fetch_add(&parent->waits_queued, 1);
	lock_release(&parent->gate_lock);
	if (NT_SUCCESS(status))
		sched_queue_run(queue);
	return status;
}

void hw_gate_pass(struct hw_queue_parent *parent)
{
	atomic_fetch_add(&parent->waits_over, 1);
	lock_acquire(&parent->device->lock);
	list_each (struct dxg_hw_queue, each, &parent->queues, owned.link)
		sched_queue_kick(&each->queue);
	lock_release(&parent->device->lock);
}

NTSTATUS hw_gate_enter(struct dxg_hw_queue *queue)
{
	struct hw_queue_parent *parent = queue->parent;
	uint64_t wait = atomic_load(&parent->waits_queued);

	if (LIKELY(atomic_load(&parent->waits_over) >= wait || atomic_load(&queue->gate) >= wait))
		return STATUS_SUCCESS;
	struct gate_packet *gate = mem_zalloc(sizeof(*gate));
	if (!gate)
		return refuse_no_memory("no memory for a hardware queue to wait for its context");
	gate->packet.kind = SCHED_WAIT;
	gate->packet.ops = &gate_ops;
	gate->parent = parent;
	gate->wait = wait;
	NTSTATUS status = sched_queue_submit(&queue->queue, &gate->packet, false);
	if (!NT_SUCCESS(status)) {
		mem_free(gate);
		return status;
	}
	/* Who comes from here on is behind it. */
	atomic_store(&queue->gate, wait);
	return STATUS_SUCCESS;
}
