/* SPDX-License-Identifier: MIT */
/*
 * tdr.c - the clock, and what is done when it has run out.
 *
 *	runs for TdrDelay ──▶ asked to stop ──▶ answers: comes again, and may go on
 *	                             └── TdrDelay without an answer, or progress ──▶ late
 *
 *	late ──▶ the driver is asked what it completed ──▶ engine reset, else adapter reset
 *
 * Without preemption a packet that runs for TdrDelay is late. A packet that is never late stops the
 * clock while it runs. Faults, and hardware that says itself that it hangs, need no clock.
 *
 * The clock costs the submitting threads nothing but a look: the thread, once it watches, wakes up
 * when the first packet could be late and then finds out what became of it.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "sched/internal.h"
#include "sched/serial.h"
#include "trace/trace.h"

enum { TDR_LEVEL_OFF = 0, TDR_LEVEL_RECOVER = 3 };

/* ---- the clock ---- */

void tdr_running_locked(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	node->running_since_ns = clock_now_ns();
	tdr_watch_locked(node->sched);
}

void tdr_watch_locked(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	if (!sched->is_watching && sched->config.tdr_level != TDR_LEVEL_OFF) {
		sched->is_watching = true;
		sched_wake_thread_locked(sched);
	}
}

static uint64_t after(uint64_t since_ns, uint64_t delay_ns)
{
	return since_ns > CLOCK_FOREVER - delay_ns ? CLOCK_FOREVER : since_ns + delay_ns;
}

/* When this node needs attention. */
static uint64_t node_deadline_locked(const struct sched_node *node)
{
	const struct sched_packet *running = node_running_locked(node);
	const struct sched_preemption *preemption = &node->preemption;
	uint64_t since_ns = node->running_since_ns;

	lock_assert_held(&node->sched->lock);
	if (running ? running->is_never_late : !preemption->is_awaited)
		return CLOCK_FOREVER;
	if ((preemption->is_awaited || preemption->is_wanted) &&
	    (!running || preemption->since_ns > since_ns))
		since_ns = preemption->since_ns;
	return after(since_ns, node->sched->config.tdr_delay_ns);
}

uint64_t tdr_deadline_locked(struct sched *sched)
{
	uint64_t deadline_ns = CLOCK_FOREVER;

	lock_assert_held(&sched->lock);
	if (sched->config.tdr_level == TDR_LEVEL_OFF)
		return CLOCK_FOREVER;
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		uint64_t node_ns = node_deadline_locked(&sched->nodes[i]);
		uint64_t hw_ns = hw_deadline_locked(&sched->nodes[i]);

		if (node_ns < deadline_ns)
			deadline_ns = node_ns;
		if (hw_ns < deadline_ns)
			deadline_ns = hw_ns;
	}
	/* Who had work a moment ago has some again soon, and need not wake the thread for it. */
	if (deadline_ns != CLOCK_FOREVER)
		sched->watched_until_ns = deadline_ns;
	else if (sched->is_watching && sched->watched_until_ns > clock_now_ns())
		return sched->watched_until_ns;
	sched->is_watching = deadline_ns != CLOCK_FOREVER;
	return deadline_ns;
}

/* ---- late ---- */

enum { HEARING_NS = 10 * NS_PER_MS };

/* True when the driver says, on being asked, that the running packet is complete: its interrupt was lost. */
static bool is_lost_locked(const struct sched_node *node, uint32_t fence)
{
	lock_assert_held(&node->sched->lock);
	return node_knows_locked(node, fence) && fence != node->completed_fence &&
	       !serial_is_after(node_running_locked(node)->fence, fence);
}

/*
 * Drops and retakes sched->lock: what is being said at this moment is heard before it counts as
 * lost, so that work may have completed.
 */
static void hear_out_relock(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	sched_unlock(sched);
	clock_sleep_until(clock_now_ns() + HEARING_NS);
	sched->ops->flush_events(sched->gpu);
	sched_lock(sched);
}

/*
 * Drops and retakes sched->lock. It is over, as the driver says when it is asked, and no interrupt
 * came; others may have completed meanwhile.
 */
static void complete_lost_relock(struct sched_node *node, uint32_t fence)
{
	lock_assert_held(&node->sched->lock);
	if (!is_lost_locked(node, fence))
		return;
	hear_out_relock(node->sched);
	if (node->is_deaf || !is_lost_locked(node, fence))
		return;
	mistake_locked(
		node, RULE_DDI_COMPLETION_LOST,
		"DxgkCbNotifyInterrupt was never told that fence %u of node %u is completed, "
		"and DxgkDdiQueryCurrentFence says %u",
		node_running_locked(node)->fence, node->number, fence);
	mistake_excuse_locked(node, fence);
	node_complete_locked(node, fence);
	sched_retire_relock(node->sched);
}

/* Drops and retakes sched->lock. The driver may have completed it, and not said so. */
static bool is_still_late_relock(struct sched_node *node)
{
	struct sched *sched = node->sched;
	uint32_t fence;

	lock_assert_held(&node->sched->lock);
	sched_unlock(sched);
	bool is_known = sched->ops->query_current_fence(sched->gpu, node->number, &fence);
	sched->ops->flush_events(sched->gpu);
	sched_lock(sched);
	if (is_known)
		complete_lost_relock(node, fence);
	return node_deadline_locked(node) <= clock_now_ns();
}

static bool can_reset_engine(const struct sched *sched, enum reset_scope scope)
{
	return (!(scope & RESET_PACKETS) || sched->config.has_engine_reset) &&
	       (!(scope & RESET_HW_QUEUES) || sched->config.has_hw_engine_reset);
}

/* What the hardware has of a node; ordinary packets when it has nothing. */
static enum reset_scope scope_locked(const struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (node->hw_outstanding == 0)
		return RESET_PACKETS;
	return node->outstanding > 0 ? RESET_BOTH : RESET_HW_QUEUES;
}

/*
 * Drops and retakes sched->lock: the node may have been reset, or the adapter, or it is given up.
 */
static void recover_relock(struct sched_node *node, const struct reset_cause *cause)
{
	struct sched *sched = node->sched;

	lock_assert_held(&node->sched->lock);
	if (sched->dead)
		return;
	sched->recovery_count++;
	if (!cause->needs_adapter_reset && can_reset_engine(sched, cause->scope))
		reset_engine_relock(node, cause);
	else
		reset_adapter_relock(sched, node->number, cause);
}

/* Drops and retakes sched->lock: the adapter may be given up then. */
static void node_is_late_relock(struct sched_node *node, enum reset_scope scope, const char *why)
{
	struct sched *sched = node->sched;
	const struct sched_packet *running = node_running_locked(node);
	struct sched_owner *guilty = running ? running->queue->owner : NULL;

	lock_assert_held(&node->sched->lock);
	if (scope == RESET_HW_QUEUES)
		guilty = hw_guilty_locked(node);
	log_warn("adapter %u, node %u: %s", sched->config.adapter_id, node->number, why);
	trace_reset_step(sched->config.adapter_id, node->number, "late");
	if (sched->config.tdr_level < TDR_LEVEL_RECOVER)
		reset_give_up_relock(sched, guilty,
				     "TdrLevel says not to recover from work that hangs");
	else
		recover_relock(node, &(struct reset_cause){ .why = why, .scope = scope });
}

/* Drops and retakes sched->lock when something is late: it may have completed meanwhile. */
static void node_check_clock_relock(struct sched_node *node)
{
	struct sched_preemption *preemption = &node->preemption;

	lock_assert_held(&node->sched->lock);
	if (node_deadline_locked(node) > clock_now_ns())
		return;
	if (!preemption->is_wanted && !preemption->is_unanswered &&
	    node->sched->config.is_preemption_aware) {
		preemption->is_wanted = true; /* whoever has the baton asks */
		preemption->since_ns = clock_now_ns();
	} else if (node->outstanding == 0) {
		mistake_locked(
			node, RULE_DDI_COMPLETION_LOST,
			"DxgkCbNotifyInterrupt was never told that preemption %u of node %u is "
			"done, and the hardware has nothing",
			preemption->last_fence, node->number);
		preemption->is_awaited = false;
	} else if (is_still_late_relock(node) && node->outstanding > 0) {
		node_is_late_relock(node, RESET_PACKETS,
				    preemption->is_awaited ? "work does not let itself be preempted"
							   : "work does not end");
	}
}

/*
 * Drops and retakes sched->lock: the interrupt may have been lost, and the fence says it all the
 * same.
 */
static void node_check_hw_clock_relock(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (hw_deadline_locked(node) > clock_now_ns())
		return;
	if (hw_is_unseen_locked(node))
		hear_out_relock(node->sched);
	hw_complete_lost_locked(node);
	sched_retire_relock(node->sched);
	if (hw_deadline_locked(node) <= clock_now_ns())
		node_is_late_relock(node, RESET_HW_QUEUES, "work of a hardware queue does not end");
}

/* ---- faults, and hardware that knows itself ---- */

void sched_on_timed_out(struct sched *sched, uint32_t node_number)
{
	assert(node_number < sched->config.node_count);
	sched_lock(sched);
	sched->nodes[node_number].has_timed_out = true;
	sched_wake_thread_locked(sched);
	sched_unlock(sched);
}

uint32_t tdr_state_of(const struct miniport_fault *fault)
{
	if (!fault)
		return SCHED_STATE_HUNG;
	return fault->is_page_fault ? SCHED_STATE_PAGE_FAULT : SCHED_STATE_DMA_FAULT;
}

/* Those before it are complete; it stays with the hardware until that is reset. */
static void fault_packet_locked(struct sched_node *node, const struct miniport_fault *fault)
{
	lock_assert_held(&node->sched->lock);
	if (!node_knows_locked(node, fault->fence))
		return;
	mistake_excuse_locked(node, serial_before(fault->fence));
	node_complete_locked(node, serial_before(fault->fence));
	struct sched_packet *packet = node_running_locked(node);
	if (packet && packet->fence == fault->fence) {
		packet->is_faulted = true;
		owner_lose_and_tell_locked(packet->queue->owner, tdr_state_of(fault), fault);
	}
}

/* Whose work has faulted; NULL: the fault does not say, or it was nobody's. */
static const struct sched_owner *faulted_owner_locked(const struct sched_node *node,
						      const struct miniport_fault *fault)
{
	lock_assert_held(&node->sched->lock);
	if (fault->is_hw_queue)
		return hw_faulted_owner_locked(node, fault);
	list_each (const struct sched_packet, packet, &node->submitted, node_link) {
		if (fault->is_fence_valid && packet->fence == fault->fence)
			return packet->queue->owner;
	}
	return NULL;
}

static void say_fault_locked(const struct sched_node *node, const struct miniport_fault *fault)
{
	const struct sched_owner *owner = faulted_owner_locked(node, fault);
	uint32_t adapter_id = node->sched->config.adapter_id;
	uint64_t packet = fault->is_hw_queue      ? fault->queue_fence
			  : fault->is_fence_valid ? fault->fence
						  : 0;
	char access[64];
	char whose[32] = "nobody known";

	lock_assert_held(&node->sched->lock);
	if (owner && owner->is_system)
		snprintf(whose, sizeof(whose), "the kernel");
	else if (owner && owner->process)
		snprintf(whose, sizeof(whose), "process %u", owner->process->id);
	snprintf(access, sizeof(access), "%s by %s",
		 !fault->is_page_fault ? "work"
		 : fault->is_write     ? "write"
				       : "read",
		 whose);
	trace_gpu_fault(adapter_id, node->number, packet, fault->address, access);
	if (fault->is_page_fault)
		log_warn("adapter %u, node %u: page fault at 0x%" PRIx64 " (%s, packet %" PRIu64
			 ", error %u)",
			 adapter_id, node->number, fault->address, access, packet,
			 fault->error_code);
	else
		log_warn("adapter %u, node %u: %s faulted (packet %" PRIu64 ", %s)", adapter_id,
			 node->number, access, packet, status_name(fault->status));
}

/* True for a fault that names a packet which the hardware does not have, and asks for no reset: it is ignored. */
static bool is_of_nothing_locked(struct sched_node *node, const struct miniport_fault *fault)
{
	lock_assert_held(&node->sched->lock);
	if (fault->is_hw_queue || !fault->is_fence_valid)
		return false;
	mistake_judge_fence_locked(
		node,
		fault->is_page_fault ? "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_DMA_PAGE_FAULTED)"
				     : "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_DMA_FAULTED)",
		fault->fence);
	return !fault->needs_engine_reset && !fault->needs_adapter_reset &&
	       !node_knows_locked(node, fault->fence);
}

void sched_on_faulted(struct sched *sched, const struct miniport_fault *fault)
{
	struct sched_node *node = &sched->nodes[fault->node];

	assert(fault->node < sched->config.node_count);
	sched_lock(sched);
	if (!node->is_deaf && !sched->dead && !(fault->is_hw_queue && node->is_hw_resetting) &&
	    !is_of_nothing_locked(node, fault)) {
		say_fault_locked(node, fault);
		if (fault->is_hw_queue)
			hw_fault_locked(node, fault);
		else if (fault->is_fence_valid)
			fault_packet_locked(node, fault);
		/* The first one is the cause of the others. */
		if (!node->has_fault) {
			node->has_fault = true;
			node->fault = *fault;
			node->holds++;
		}
		sched_wake_thread_locked(sched);
	}
	sched_retire_relock(sched);
	sched_unlock(sched);
}

/* Drops and retakes sched->lock when there is news: the adapter may be given up then. */
static void node_check_news_relock(struct sched_node *node)
{
	lock_assert_held(&node->sched->lock);
	if (node->has_fault) {
		struct miniport_fault fault = node->fault;
		/* When it says whose it is, that owner is lost already. */
		struct reset_cause cause = {
			.why = "work faulted",
			.scope = fault.is_hw_queue ? RESET_HW_QUEUES : RESET_PACKETS,
			.needs_adapter_reset = fault.needs_adapter_reset,
			.fault = fault.is_fence_valid ? NULL : &fault,
		};
		node->has_fault = false;
		recover_relock(node, &cause);
		node->holds--;
	}
	if (node->has_timed_out) {
		node->has_timed_out = false;
		if (node->outstanding > 0 || node->hw_outstanding > 0)
			node_is_late_relock(node, scope_locked(node),
					    "the hardware says that work hangs");
	}
}

/* ---- by hand ---- */

struct forced {
	struct list link;
	enum sched_forced what;
	uint32_t node;
	bool is_done;
};

void sched_force_recovery(struct sched *sched, enum sched_forced what, uint32_t node)
{
	struct forced forced = { .what = what, .node = node };

	assert(node < sched->config.node_count);
	sched_lock(sched);
	list_push_back(&sched->forced, &forced.link);
	sched_wake_thread_locked(sched);
	while (!forced.is_done)
		sched_wait_relock(sched, CLOCK_FOREVER);
	sched_unlock(sched);
}

/* Drops and retakes sched->lock: the adapter may be given up then. */
static void run_forced_relock(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	list_drain (struct forced, forced, &sched->forced, link) {
		struct reset_cause cause = { .why = "a reset was asked for",
					     .scope = scope_locked(&sched->nodes[forced->node]) };

		if (forced->what == SCHED_FORCE_LOSS) {
			reset_give_up_relock(sched, NULL, "it was removed");
		} else if (forced->what == SCHED_FORCE_ENGINE_RESET) {
			recover_relock(&sched->nodes[forced->node], &cause);
		} else if (!sched->dead) {
			sched->recovery_count++;
			reset_adapter_relock(sched, forced->node, &cause);
		}
		forced->is_done = true;
		sched_changed_locked(sched);
	}
}

/* ---- the thread's turn ---- */

void tdr_run_relock(struct sched *sched)
{
	lock_assert_held(&sched->lock);
	run_forced_relock(sched);
	for (uint32_t i = 0; i < sched->config.node_count; i++)
		node_check_news_relock(&sched->nodes[i]);
	if (sched->broken && !sched->dead) {
		struct reset_cause cause = { .why = sched->broken,
					     .scope = RESET_PACKETS,
					     .is_nobodys = true };

		sched->recovery_count++;
		/* Forgets it; what is refused after that is a cause of its own. */
		reset_adapter_relock(sched, sched->config.paging_node, &cause);
	}
	if (sched->config.tdr_level == TDR_LEVEL_OFF)
		return;
	for (uint32_t i = 0; i < sched->config.node_count && !sched->dead; i++)
		node_check_clock_relock(&sched->nodes[i]);
	for (uint32_t i = 0; i < sched->config.node_count && !sched->dead; i++)
		node_check_hw_clock_relock(&sched->nodes[i]);
}
