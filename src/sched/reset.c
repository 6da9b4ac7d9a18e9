/* SPDX-License-Identifier: MIT */
/*
 * reset.c - resetting an engine, or the adapter. On the scheduler's thread.
 *
 * An engine, and those that depend on it:
 *
 *	debug information 0x141 ▶ nobody submits ▶ dependent engines have 500 ms to be preempted ▶
 *	by ordinal, where the hardware has work: events ignored, those of before delivered ▶ reset ▶
 *	the aborted packet's owner is lost, what was behind it comes again
 *
 * For hardware queues the driver is asked for another reset, says itself which contexts it hit, and
 * lets the others go on (hw_queue.c).
 *
 * A paging packet that was aborted, or an engine that cannot be reset, is the adapter's affair:
 *
 *	debug information 0x117 ▶ nobody submits ▶ every owner is lost ▶ the pager knows, and has
 *	its packets back ▶ reset ▶ what the hardware had is aborted, fences are where the last
 *	submission was ▶ restart
 *
 * Where Windows stops with a bug check, the adapter is lost: nothing else would ever end.
 */

#include "base/clock.h"
#include "base/log.h"
#include "sched/internal.h"
#include "sched/serial.h"
#include "trace/trace.h"

enum {
	BUGCHECK_ADAPTER = 0x117,
	BUGCHECK_ENGINE = 0x141,
	FUTILE_RESETS_MAX = 2, /* then it is not the engine alone */
};

#define DEPENDENT_DELAY_NS (500 * NS_PER_MS)

static void reset_step(const struct sched *sched, uint32_t node, const char *step)
{
	trace_reset_step(sched->config.adapter_id, node, step);
}

/* ---- the adapter is lost ---- */

void reset_give_up_relock(struct sched *sched, struct sched_owner *guilty, const char *why)
{
	lock_assert_held(&sched->lock);
	if (sched->dead)
		return;
	log_error("adapter %u is lost: %s", sched->config.adapter_id, why);
	reset_step(sched, 0, "given up");
	sched->dead = why;
	sched_lose_all_locked(sched, guilty, SCHED_STATE_HUNG, SCHED_STATE_STOPPED);
	for (uint32_t i = 0; i < sched->config.node_count; i++)
		node_abort_locked(&sched->nodes[i]);
	sched_retire_relock(sched);
	sched_tell_lost_relock(sched);
	sched_unlock(sched);
	if (sched->listener.adapter_lost)
		sched->listener.adapter_lost(sched->listener_context, why);
	sched_lock(sched);
}

/* ---- the batons ---- */

static void give_batons_locked(struct sched *sched, uint64_t nodes)
{
	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		if (nodes >> i & 1) {
			sched->nodes[i].holds--;
			sched->nodes[i].is_busy = false;
		}
	}
	sched_wake_thread_locked(sched);
	sched_changed_locked(sched);
}

/*
 * Drops and retakes sched->lock: work may have completed meanwhile. Then nobody submits on these
 * nodes, and this thread alone enters the driver for them. False: somebody does not give a baton
 * back in time.
 */
static bool take_batons_relock(struct sched *sched, uint64_t nodes)
{
	uint64_t deadline_ns = clock_deadline(sched->config.tdr_ddi_delay_ns);

	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		struct sched_node *node = &sched->nodes[i];

		if (!(nodes >> i & 1))
			continue;
		node->holds++;
		while (node->is_busy) {
			bool is_in_time = sched_wait_relock(sched, deadline_ns);

			if (!is_in_time && node->is_busy) {
				node->holds--;
				give_batons_locked(sched, nodes & ((UINT64_C(1) << i) - 1));
				return false;
			}
		}
		node->is_busy = true;
	}
	return true;
}

static uint64_t all_nodes(const struct sched *sched)
{
	return UINT64_MAX >> (SCHED_NODES_MAX - sched->config.node_count);
}

/* ---- an engine ---- */

/*
 * Drops and retakes sched->lock: dependent engines that have work are asked to stop, and may have
 * none then.
 */
static void preempt_dependents_relock(struct sched_node *node, uint64_t nodes)
{
	struct sched *sched = node->sched;

	lock_assert_held(&node->sched->lock);
	if (!sched->config.is_preemption_aware)
		return;
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		if ((nodes >> i & 1) && i != node->number && sched->nodes[i].outstanding > 0) {
			reset_step(sched, i, "preempt a dependent engine");
			preempt_request_relock(&sched->nodes[i]);
		}
	}
	uint64_t deadline_ns = clock_deadline(DEPENDENT_DELAY_NS);
	for (uint32_t i = 0; i < sched->config.node_count; i++) {
		const struct sched_node *other = &sched->nodes[i];

		if (!(nodes >> i & 1) || other == node)
			continue;
		while (other->outstanding > 0 && sched_wait_relock(sched, deadline_ns))
			;
	}
}

struct blame {
	struct sched_owner *owner; /* or NULL */
	bool was_aborted;          /* a packet, by this reset */
	bool is_paging;
};

/* Finds whose packet a reset has aborted, which may have completed in the last moment. */
static void blame_locked(struct sched_node *node, uint32_t aborted, struct blame *blame)
{
	lock_assert_held(&node->sched->lock);
	*blame = (struct blame){ .owner = node->completed_owner };
	if (aborted == node->completed_fence)
		return;
	node_complete_locked(node, serial_before(aborted));
	blame->owner = NULL;
	struct sched_packet *packet = node_running_locked(node);
	if (packet && packet->fence == aborted) {
		blame->owner = packet->queue->owner;
		blame->was_aborted = true;
		blame->is_paging = packet->keeps_fence;
		/* The adapter's reset, which follows, ends it with everything else. */
		if (blame->is_paging)
			return;
		node_abort_packet_locked(node, packet);
	}
	node->completed_fence = aborted;
	node->completed_owner = blame->owner;
}

static enum engine_result engine_was_reset_locked(struct sched_node *node, uint32_t aborted,
						  const struct miniport_fault *fault)
{
	uint32_t futile_resets = node->futile_resets;
	struct blame blame;

	lock_assert_held(&node->sched->lock);
	if (!serial_is_within(aborted, node->completed_fence, node->last_fence))
		return ENGINE_INSANE;
	mistake_excuse_locked(node, node->last_fence);
	blame_locked(node, aborted, &blame);
	if (blame.is_paging)
		return ENGINE_NOT_ENOUGH;
	bool is_new =
		blame.owner && owner_lose_and_tell_locked(blame.owner, tdr_state_of(fault), fault);
	node->futile_resets = is_new || blame.was_aborted ? 0 : futile_resets + 1;
	node_give_back_locked(node, NULL);
	return node->futile_resets < FUTILE_RESETS_MAX ? ENGINE_RECOVERED : ENGINE_NOT_ENOUGH;
}

/*
 * Drops and retakes sched->lock, with the baton: work may have completed before the driver resets,
 * and then nothing does.
 */
static enum engine_result reset_packets_relock(struct sched_node *node,
					       const struct miniport_fault *fault)
{
	struct sched *sched = node->sched;
	enum engine_result result = ENGINE_RECOVERED;
	uint32_t aborted = 0;

	lock_assert_held(&node->sched->lock);
	sched_unlock(sched);
	sched->ops->flush_events(sched->gpu);
	sched_lock(sched);
	if (node->outstanding == 0)
		return result;
	/* Not a moment sooner: the answer to a preemption that no reset makes meaningless must be heard. */
	node->is_deaf = true;
	sched->resets[SCHED_RESET_ENGINE]++;
	reset_step(sched, node->number, "reset engine");
	sched_unlock(sched);
	sched->ops->ignore_events(sched->gpu, node->number, true);
	sched->ops->flush_events(sched->gpu);
	NTSTATUS status = sched->ops->reset_node(sched->gpu, node->number, &aborted);
	sched_lock(sched);
	if (NT_SUCCESS(status)) {
		preempt_forget_locked(node);
		result = engine_was_reset_locked(node, aborted, fault);
	} else {
		log_warn("adapter %u, node %u: the engine's reset failed with %s",
			 sched->config.adapter_id, node->number, status_name(status));
		result = ENGINE_FAILED;
	}
	node->is_deaf = false;
	sched_unlock(sched);
	sched->ops->ignore_events(sched->gpu, node->number, false);
	/* Hardware queues of the node went on, and were not heard. */
	sched_on_fence_written(sched);
	sched_lock(sched);
	return result;
}

/*
 * Drops and retakes sched->lock, with the baton: work may have completed before the driver resets.
 */
static enum engine_result reset_one_relock(struct sched_node *node, enum reset_scope scope,
					   const struct miniport_fault *fault)
{
	enum engine_result result = ENGINE_RECOVERED;
	bool is_all = (node->outstanding == 0 || (scope & RESET_PACKETS)) &&
		      (node->hw_outstanding == 0 || (scope & RESET_HW_QUEUES));

	lock_assert_held(&node->sched->lock);
	if (scope & RESET_PACKETS)
		result = reset_packets_relock(node, fault);
	if (result == ENGINE_RECOVERED && (scope & RESET_HW_QUEUES))
		result = hw_reset_relock(node, fault);
	/* What the hardware said until now was about what it had then. */
	if (is_all)
		node->has_timed_out = false;
	return result;
}

/* Drops and retakes sched->lock, with the batons: owners may have been lost. */
static enum engine_result reset_group_relock(struct sched_node *node, uint64_t nodes,
					     const struct reset_cause *cause)
{
	struct sched *sched = node->sched;
	enum engine_result result = ENGINE_RECOVERED;

	lock_assert_held(&node->sched->lock);
	preempt_dependents_relock(node, nodes);
	for (uint32_t i = 0; i < sched->config.node_count && result == ENGINE_RECOVERED; i++) {
		if (i == node->number)
			result = reset_one_relock(node, cause->scope, cause->fault);
		else if (nodes >> i & 1)
			result = reset_one_relock(&sched->nodes[i], RESET_BOTH, NULL);
	}
	return result;
}

/*
 * Drops and retakes sched->lock, without a baton: the whole adapter may have been reset, or given
 * up.
 */
static void reset_follows_relock(struct sched_node *node, enum engine_result result,
				 const struct reset_cause *cause)
{
	struct reset_cause promoted = { .why = cause->why,
					.scope = cause->scope,
					.fault = cause->fault,
					.is_nobodys = result == ENGINE_NOT_ENOUGH };

	lock_assert_held(&node->sched->lock);
	if (result == ENGINE_INSANE)
		reset_give_up_relock(node->sched, NULL,
				     "the driver names an aborted packet that it did not have");
	else if (result != ENGINE_RECOVERED)
		reset_adapter_relock(node->sched, node->number, &promoted);
}

void reset_engine_relock(struct sched_node *node, const struct reset_cause *cause)
{
	struct sched *sched = node->sched;

	lock_assert_held(&node->sched->lock);
	reset_step(sched, node->number, "engine");
	sched_unlock(sched);
	sched->ops->collect_debug_info(sched->gpu, BUGCHECK_ENGINE, node->number);
	bool is_responsive = sched->ops->is_responsive(sched->gpu, node->number);
	uint64_t nodes = sched->ops->dependent_nodes(sched->gpu, node->number);
	sched_lock(sched);
	reset_step(sched, node->number, is_responsive ? "responsive" : "not responsive");

	nodes = (nodes | UINT64_C(1) << node->number) & all_nodes(sched);
	if (!take_batons_relock(sched, nodes)) {
		reset_give_up_relock(sched, NULL, "a thread does not leave the driver");
		return;
	}
	enum engine_result result = reset_group_relock(node, nodes, cause);
	/* What would begin now, and complete, would say that what was aborted is done. */
	if (result != ENGINE_RECOVERED)
		sched->broken = cause->why;
	give_batons_locked(sched, nodes);
	reset_follows_relock(node, result, cause);
	sched_tell_lost_relock(sched);
}

/* ---- the adapter ---- */

/* Counts one more adapter reset; false: there were too many within the limit's time. */
static bool is_within_limit(struct sched *sched)
{
	uint32_t limit = sched->config.tdr_limit_count;
	uint64_t now_ns = clock_now_ns();

	if (limit == 0)
		return false;
	uint64_t *slot = &sched->reset_times_ns[sched->reset_count % limit];
	if (sched->reset_count >= limit && now_ns - *slot < sched->config.tdr_limit_time_ns)
		return false;
	*slot = now_ns;
	sched->reset_count++;
	return true;
}

static struct sched_owner *guilty_locked(const struct sched_node *node,
					 const struct reset_cause *cause)
{
	const struct sched_packet *running = node_running_locked(node);

	lock_assert_held(&node->sched->lock);
	if (cause->is_nobodys)
		return NULL;
	if (running && (cause->scope & RESET_PACKETS))
		return running->queue->owner;
	return cause->scope & RESET_HW_QUEUES ? hw_guilty_locked(node) : NULL;
}

static void call_listener(struct sched *sched, void (*function)(void *listener))
{
	if (function)
		function(sched->listener_context);
}

static void set_deaf_locked(struct sched *sched, bool is_deaf)
{
	lock_assert_held(&sched->lock);
	for (uint32_t i = 0; i < sched->config.node_count; i++)
		sched->nodes[i].is_deaf = is_deaf;
}

/*
 * Drops and retakes sched->lock; the batons are ours and everybody was told. What the hardware had
 * may be gone. NULL, or what went wrong.
 */
static const char *reset_and_restart_relock(struct sched *sched, uint32_t node)
{
	lock_assert_held(&sched->lock);
	sched->resets[SCHED_RESET_ADAPTER]++;
	sched_unlock(sched);
	sched->ops->flush_events(sched->gpu);
	reset_step(sched, node, "reset adapter");
	bool was_reset = sched->ops->reset_adapter(sched->gpu);
	sched_lock(sched);
	if (!was_reset)
		return "the driver could not reset its adapter";

	for (uint32_t i = 0; i < sched->config.node_count; i++)
		node_abort_locked(&sched->nodes[i]);
	sched_retire_relock(sched);
	sched_unlock(sched);
	call_listener(sched, sched->listener.adapter_was_reset);
	reset_step(sched, node, "restart adapter");
	bool is_running = sched->ops->restart_adapter(sched->gpu);
	sched_lock(sched);
	return is_running ? NULL : "the driver could not restart its adapter";
}

void reset_adapter_relock(struct sched *sched, uint32_t node, const struct reset_cause *cause)
{
	struct sched_owner *guilty = guilty_locked(&sched->nodes[node], cause);
	uint64_t nodes = all_nodes(sched);

	lock_assert_held(&sched->lock);
	log_warn("adapter %u: reset, because %s", sched->config.adapter_id, cause->why);
	reset_step(sched, node, "adapter");
	if (!is_within_limit(sched)) {
		reset_give_up_relock(sched, guilty, "too many resets in TdrLimitTime");
		return;
	}
	sched_unlock(sched);
	sched->ops->collect_debug_info(sched->gpu, BUGCHECK_ADAPTER, node);
	sched_lock(sched);
	if (!take_batons_relock(sched, nodes)) {
		reset_give_up_relock(sched, guilty, "a thread does not leave the driver");
		return;
	}
	set_deaf_locked(sched, true);
	guilty = guilty_locked(&sched->nodes[node], cause);
	if (guilty)
		owner_lose_and_tell_locked(guilty, tdr_state_of(cause->fault), cause->fault);
	/* Everybody knows before a byte of theirs is gone, the pager before its packets come back.
	 */
	sched_lose_owners_locked(sched, guilty, SCHED_STATE_HUNG, SCHED_STATE_RESET);
	sched_retire_relock(sched);
	sched_tell_lost_relock(sched);
	sched_unlock(sched);
	call_listener(sched, sched->listener.adapter_reset_begins);
	sched_lock(sched);
	sched_cancel_kernels_locked(sched);
	sched->broken = NULL;
	sched_retire_relock(sched);
	const char *failure = reset_and_restart_relock(sched, node);
	set_deaf_locked(sched, false);
	give_batons_locked(sched, nodes);
	if (failure) {
		reset_give_up_relock(sched, NULL, failure);
		return;
	}
	sched_unlock(sched);
	call_listener(sched, sched->listener.adapter_reset_ended);
	sched_lock(sched);
}
