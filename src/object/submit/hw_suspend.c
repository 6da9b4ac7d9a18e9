/* SPDX-License-Identifier: MIT */
/*
 * hw_suspend.c - see hw_suspend.h.
 *
 * One packet per context: whoever asks while it is under way waits for the same one, because no
 * work of the context begins as long as somebody waits.
 */
#include "miniport/work.h"
#include "object/memory/context_allocation.h"
#include "object/owner/device.h"
#include "object/owner/hw_queue.h"
#include "object/submit/hw_suspend.h"

void hw_suspensions_init(struct hw_suspensions *all)
{
	lock_init(&all->lock, LOCK_RANK_PACKET, "suspensions");
	list_init(&all->all);
}

void hw_suspensions_finish(struct hw_suspensions *all)
{
	lock_finish(&all->lock);
}

static struct dxg_adapter *adapter_of(const struct hw_suspension *suspension)
{
	return suspension->parent->device->adapter;
}

static struct hw_suspension *suspension_of(struct sched_packet *packet)
{
	return container_of(packet, struct hw_suspension, packet);
}

/* ---- the packet ---- */

static NTSTATUS packet_submit(struct sched_packet *packet, const struct sched_submission *how)
{
	struct hw_suspension *suspension = suspension_of(packet);
	struct dxg_adapter *adapter = adapter_of(suspension);

	suspension->is_suspended = true;
	if (miniport_suspend_context(adapter->miniport, suspension->parent->driver_context,
				     packet->progress))
		hw_suspend_reached(adapter, packet->progress);
	return STATUS_SUCCESS;
}

/* Suspended, or reset, or there is no hardware any more. */
static void packet_over(struct hw_suspension *suspension)
{
	struct hw_suspensions *all = &adapter_of(suspension)->suspensions;
	struct list over;

	list_init(&over);
	atomic_store(&suspension->is_loaded, false);
	lock_acquire(&all->lock);
	list_splice_back(&over, &suspension->waiting);
	suspension->is_queued = false;
	/* From here on it may be gone. */
	notice_give(&all->changed);
	lock_release(&all->lock);
	list_drain (struct sched_wait, wait, &over, link) {
		wait->over(wait);
	}
}

static void packet_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	packet_over(suspension_of(packet));
}

static const struct sched_packet_ops packet_ops = {
	.submit = packet_submit,
	.retired = packet_retired,
};

/* `is_queued` was set by the caller, so that it stays. */
static void suspension_post(struct hw_suspension *suspension)
{
	/* Refused: there is no hardware that could have anything loaded. */
	if (!NT_SUCCESS(sched_queue_post(&suspension->queue, &suspension->packet)))
		packet_over(suspension);
}

static void prepare_locked(struct hw_suspensions *all, struct hw_suspension *suspension)
{
	lock_assert_held(&all->lock);
	suspension->is_queued = true;
	suspension->packet = (struct sched_packet){
		.kind = SCHED_WORK,
		.ops = &packet_ops,
		.progress = ++all->last_fence,
	};
}

/* ---- begin and end ---- */

void hw_suspension_begin(struct hw_suspension *suspension, const struct hw_queue_parent *parent)
{
	struct dxg_adapter *adapter = parent->device->adapter;
	const struct sched_hw_identity identity = {
		.progress = &suspension->reached,
		.queue_names = { suspension },
		.context_names = { parent->object, parent->driver_context },
	};

	if (!miniport_has_suspension(adapter->miniport))
		return;
	suspension->parent = parent;
	list_init(&suspension->link);
	list_init(&suspension->waiting);
	sched_hw_queue_init(&suspension->queue, &adapter->system_work, parent->node, &identity);
	sched_queue_name(&suspension->queue, 0, 0, "suspension");
	lock_acquire(&adapter->suspensions.lock);
	list_push_back(&adapter->suspensions.all, &suspension->link);
	lock_release(&adapter->suspensions.lock);
}

/* Drops and retakes all->lock until it is not queued: others may have been queued meanwhile. */
static void await_over_relock(struct hw_suspensions *all, const struct hw_suspension *suspension)
{
	lock_assert_held(&all->lock);
	while (suspension->is_queued)
		notice_wait_relock(&all->changed, &all->lock);
}

void hw_suspension_end(struct hw_suspension *suspension)
{
	if (!suspension->parent)
		return;

	struct hw_suspensions *all = &adapter_of(suspension)->suspensions;

	lock_acquire(&all->lock);
	await_over_relock(all, suspension);
	bool is_needed = atomic_load(&suspension->is_loaded);
	if (is_needed)
		prepare_locked(all, suspension);
	lock_release(&all->lock);
	if (is_needed)
		suspension_post(suspension);
	lock_acquire(&all->lock);
	await_over_relock(all, suspension);
	list_remove(&suspension->link);
	lock_release(&all->lock);
	sched_queue_finish(&suspension->queue, SCHED_RUN_OUT);
	suspension->parent = NULL;
}

/* ---- in use ---- */

void hw_suspension_before_work(struct hw_suspension *suspension)
{
	if (!suspension->parent)
		return;
	atomic_store(&suspension->is_loaded, true);
	if (!suspension->is_suspended)
		return;
	suspension->is_suspended = false;
	miniport_resume_context(adapter_of(suspension)->miniport,
				suspension->parent->driver_context);
}

static bool uses(const struct hw_suspension *suspension, const struct context_memory *memory)
{
	const struct hw_queue_parent *parent = suspension->parent;

	if (memory->is_context ? parent->memory != memory : parent->device != memory->device)
		return false;
	return suspension->is_queued || atomic_load(&suspension->is_loaded);
}

bool hw_suspend_next(struct dxg_adapter *adapter, const struct context_memory *memory,
		     struct sched_wait *wait)
{
	struct hw_suspensions *all = &adapter->suspensions;
	struct hw_suspension *found = NULL;
	bool is_new = false;
	struct list *link;

	lock_acquire(&all->lock);
	list_for_each (link, &all->all) {
		found = container_of(link, struct hw_suspension, link);
		if (uses(found, memory))
			break;
		found = NULL;
	}
	if (found) {
		is_new = !found->is_queued;
		if (is_new)
			prepare_locked(all, found);
		list_push_back(&found->waiting, &wait->link);
	}
	lock_release(&all->lock);
	if (is_new)
		suspension_post(found);
	return found != NULL;
}

void hw_suspend_reached(struct dxg_adapter *adapter, uint64_t fence)
{
	struct hw_suspensions *all = &adapter->suspensions;
	bool is_known = false;

	lock_acquire(&all->lock);
	list_each (struct hw_suspension, each, &all->all, link) {
		if (each->is_queued && each->packet.progress == fence) {
			atomic_store(&each->reached, fence);
			is_known = true;
		}
	}
	bool was_asked = fence != 0 && fence <= all->last_fence;
	lock_release(&all->lock);
	if (!was_asked)
		miniport_report(adapter->miniport, RULE_DDI_COMPLETION_FENCE, 0,
				"DxgkCbNotifyInterrupt(DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED) "
				"named a ContextSuspendFence that no context was suspended with");
	/* Whatever else it says is about nothing that is waited for. */
	struct sched *sched = atomic_load(&adapter->sched);
	if (is_known && sched)
		sched_on_fence_written(sched);
}
