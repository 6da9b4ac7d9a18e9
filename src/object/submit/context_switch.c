/* SPDX-License-Identifier: MIT */
/*
 * context_switch.c - see context_switch.h.
 *
 * One packet per node, made at the start: a switch takes no memory. Who asks while it is under way
 * has it go once more, because it may have been submitted before what is loaded now.
 *
 * Locks: LOCK_RANK_PACKET, one per node.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/work.h"
#include "object/submit/context_switch.h"

struct context_switch {
	/* Set at start. */
	struct dxg_adapter *adapter;
	struct sched_queue queue;

	struct lock lock; /* LOCK_RANK_PACKET */
	struct sched_packet packet;
	bool is_queued;
	struct list waiting; /* sched_wait.link: for the packet that is queued */
	struct list next;    /* … for the one after it */
};

static void switch_over(struct context_switch *each);

static void switch_post(struct context_switch *each)
{
	/* Refused: there is no hardware that could have anything loaded. */
	if (!NT_SUCCESS(sched_queue_post(&each->queue, &each->packet)))
		switch_over(each);
}

static void switch_over(struct context_switch *each)
{
	struct list over;

	list_init(&over);
	lock_acquire(&each->lock);
	list_splice_back(&over, &each->waiting);
	list_splice_back(&each->waiting, &each->next);
	each->is_queued = !list_is_empty(&each->waiting);
	bool goes_again = each->is_queued;
	lock_release(&each->lock);
	list_drain (struct sched_wait, wait, &over, link) {
		wait->over(wait);
	}
	if (goes_again)
		switch_post(each);
}

static NTSTATUS packet_submit(struct sched_packet *packet, const struct sched_submission *how)
{
	struct context_switch *each = container_of(packet, struct context_switch, packet);
	struct miniport *miniport = each->adapter->miniport;
	const struct miniport_submission what = {
		.node = how->node,
		.fence = how->fence,
		.is_context_switch = true,
		.is_resubmission = how->is_resubmission,
	};

	return miniport_submit(miniport, miniport_submits_virtually(miniport, false), &what);
}

static void packet_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	switch_over(container_of(packet, struct context_switch, packet));
}

static const struct sched_packet_ops packet_ops = {
	.submit = packet_submit,
	.retired = packet_retired,
};

NTSTATUS context_switches_start(struct dxg_adapter *adapter)
{
	uint32_t count = adapter->info->node_count;

	adapter->switches = mem_zalloc_array(count, sizeof(*adapter->switches));
	if (!adapter->switches)
		return refuse_no_memory("no memory to switch contexts with");
	for (uint32_t i = 0; i < count; i++) {
		struct context_switch *each = &adapter->switches[i];

		each->adapter = adapter;
		each->packet.kind = SCHED_WORK;
		each->packet.ops = &packet_ops;
		lock_init(&each->lock, LOCK_RANK_PACKET, "context switch");
		list_init(&each->waiting);
		list_init(&each->next);
		sched_queue_init(&each->queue, &adapter->system_work, i);
		sched_queue_name(&each->queue, 0, 0, "context switch");
	}
	return STATUS_SUCCESS;
}

void context_switches_stop(struct dxg_adapter *adapter)
{
	if (!adapter->switches)
		return;
	for (uint32_t i = 0; i < adapter->info->node_count; i++) {
		sched_queue_finish(&adapter->switches[i].queue, SCHED_RUN_OUT);
		lock_finish(&adapter->switches[i].lock);
	}
	mem_free(adapter->switches);
	adapter->switches = NULL;
}

void context_switch_request(struct dxg_adapter *adapter, uint32_t node, struct sched_wait *wait)
{
	struct context_switch *each = &adapter->switches[node];

	lock_acquire(&each->lock);
	bool is_queued = each->is_queued;
	each->is_queued = true;
	list_push_back(is_queued ? &each->next : &each->waiting, &wait->link);
	lock_release(&each->lock);
	if (!is_queued)
		switch_post(each);
}
