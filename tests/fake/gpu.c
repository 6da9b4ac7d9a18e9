/* SPDX-License-Identifier: MIT */
/*
 * gpu.c - see gpu.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fake/gpu.h"
#include "support/printed.h"

static void require(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "fake gpu: %s\n", what);
	abort();
}

/* ---- the log ---- */

static void note_locked(struct fake_gpu *gpu, const char *word)
{
	size_t length = strlen(word);

	if (gpu->is_silent)
		return;
	require(gpu->log_length + length + 2 < sizeof(gpu->log), "the log is full");
	memcpy(gpu->log + gpu->log_length, word, length);
	gpu->log_length += length;
	gpu->log[gpu->log_length++] = ' ';
	gpu->log[gpu->log_length] = '\0';
}

void fake_gpu_note(struct fake_gpu *gpu, const char *format, ...)
{
	char word[64];

	PRINT_INTO(word, format);
	lock_acquire(&gpu->lock);
	note_locked(gpu, word);
	lock_release(&gpu->lock);
}

const char *fake_gpu_log(struct fake_gpu *gpu)
{
	static char text[FAKE_LOG_BYTES];

	lock_acquire(&gpu->lock);
	memcpy(text, gpu->log, gpu->log_length);
	text[gpu->log_length > 0 ? gpu->log_length - 1 : 0] = '\0';
	gpu->log_length = 0;
	lock_release(&gpu->lock);
	return text;
}

/* ---- packets ---- */

static struct fake_packet *fake_of(struct sched_packet *packet)
{
	return container_of(packet, struct fake_packet, packet);
}

static NTSTATUS fake_prepare(struct sched_packet *packet)
{
	struct fake_packet *fake = fake_of(packet);

	atomic_fetch_add(&fake->prepared, 1);
	if (fake->on_prepared)
		fake->on_prepared(fake);
	return fake->prepare_status;
}

static void forget_oldest_locked(struct fake_node *node, uint32_t count)
{
	require(count <= node->count, "it does not have so many");
	node->count -= count;
	memmove(node->held, node->held + count, node->count * sizeof(node->held[0]));
	memmove(node->fences, node->fences + count, node->count * sizeof(node->fences[0]));
}

static void take_locked(struct fake_gpu *gpu, struct fake_packet *fake,
			const struct sched_submission *submission)
{
	struct fake_node *node = &gpu->nodes[submission->node];
	char word[32];

	require(node->count < FAKE_HELD_MAX, "it has too many");
	require(submission->fence != 0, "0 is no fence id");
	require(node->preemption == 0 || node->is_stuck, "nothing comes after a preemption");
	require(node->count == 0 ||
			(int32_t)(submission->fence - node->fences[node->count - 1]) > 0,
		"fence ids do not grow");
	node->held[node->count] = fake;
	node->fences[node->count++] = submission->fence;
	node->last_submitted = submission->fence;
	snprintf(word, sizeof(word), "%u:%c%u%s", submission->node, fake->name, submission->fence,
		 submission->is_resubmission ? "+" : "");
	note_locked(gpu, word);
}

static NTSTATUS fake_submit(struct sched_packet *packet, const struct sched_submission *submission)
{
	struct fake_packet *fake = fake_of(packet);
	struct fake_gpu *gpu = fake->gpu;
	uint32_t one = UINT32_C(1) << submission->node * 8;

	/* One thread at a time gives a node something. */
	if ((atomic_fetch_add(&gpu->entered, one) >> submission->node * 8 & 0xff) != 0)
		require(false, "two threads submit to a node");
	atomic_fetch_add(&fake->submitted, 1);
	thread_point();
	if (NT_SUCCESS(fake->submit_status)) {
		lock_acquire(&gpu->lock);
		take_locked(gpu, fake, submission);
		lock_release(&gpu->lock);
		if (fake->completes_at_once)
			fake_gpu_complete(gpu, submission->node,
					  fake_gpu_held(gpu, submission->node));
		require(!atomic_load(&fake->is_retired), "retired while it was in hand");
	}
	atomic_fetch_sub(&gpu->entered, one);
	return fake->submit_status;
}

static bool fake_try_wait(struct sched_packet *packet)
{
	struct fake_packet *fake = fake_of(packet);

	atomic_fetch_add(&fake->tried, 1);
	bool is_reached = atomic_load(&fake->is_reached);
	if (fake->on_tried)
		fake->on_tried(fake);
	return is_reached;
}

static void fake_signal(struct sched_packet *packet)
{
	fake_gpu_note(fake_of(packet)->gpu, "%c^", fake_of(packet)->name);
}

static void fake_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	struct fake_packet *fake = fake_of(packet);

	require(!atomic_load(&fake->is_retired), "retired twice");
	fake->outcome = outcome;
	fake_gpu_note(fake->gpu, "%c%c", fake->name, ".!-"[outcome]);
	void (*on_retired)(struct fake_packet *) = fake->on_retired;
	atomic_store(&fake->is_retired, true);
	if (on_retired)
		on_retired(fake);
}

static const struct sched_packet_ops fake_packet_ops = {
	.prepare = fake_prepare,
	.submit = fake_submit,
	.try_wait = fake_try_wait,
	.signal = fake_signal,
	.retired = fake_retired,
};

void fake_packet_init(struct fake_gpu *gpu, struct fake_packet *packet, char name,
		      enum sched_packet_kind kind)
{
	*packet = (struct fake_packet){ .gpu = gpu, .name = name };
	packet->packet.kind = kind;
	packet->packet.ops = &fake_packet_ops;
}

/* ---- what the scheduler asks the hardware ---- */

/* The scheduler only ever hands it back. */
static struct fake_gpu *gpu_of(struct miniport *miniport)
{
	return (struct fake_gpu *)(void *)miniport;
}

static void gpu_preempt(struct miniport *miniport, uint32_t node_number, uint32_t fence)
{
	struct fake_gpu *gpu = gpu_of(miniport);
	struct fake_node *node = &gpu->nodes[node_number];

	fake_gpu_note(gpu, "P%u:%u", node_number, fence);
	lock_acquire(&gpu->lock);
	require(node->preemption == 0 || node->is_stuck, "one preemption at a time");
	node->preemption = fence;
	bool answers_at_once = node->answers_at_once;
	lock_release(&gpu->lock);
	if (answers_at_once)
		fake_gpu_preempted(gpu, node_number, 0);
}

static bool gpu_query_current_fence(struct miniport *miniport, uint32_t node_number,
				    uint32_t *fence_out)
{
	struct fake_gpu *gpu = gpu_of(miniport);
	struct fake_node *node = &gpu->nodes[node_number];

	fake_gpu_note(gpu, "Q%u", node_number);
	lock_acquire(&gpu->lock);
	*fence_out = node->completed;
	bool tells_now = node->hides_completion && !node->is_mute;
	lock_release(&gpu->lock);
	if (tells_now)
		sched_on_completed(gpu->sched, node_number, *fence_out);
	return true;
}

static uint64_t gpu_dependent_nodes(struct miniport *miniport, uint32_t node)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	return gpu->dependents[node] | UINT64_C(1) << node;
}

static bool gpu_is_responsive(struct miniport *miniport, uint32_t node)
{
	(void)miniport;
	(void)node;
	return false;
}

static NTSTATUS gpu_reset_node(struct miniport *miniport, uint32_t node_number,
			       uint32_t *last_aborted_out)
{
	struct fake_gpu *gpu = gpu_of(miniport);
	struct fake_node *node = &gpu->nodes[node_number];

	fake_gpu_note(gpu, "E%u", node_number);
	if (gpu->on_reset)
		gpu->on_reset(node_number);
	lock_acquire(&gpu->lock);
	require(node->is_ignored, "its events are not ignored");
	NTSTATUS status = node->reset_status;
	if (NT_SUCCESS(status)) {
		*last_aborted_out = node->names_abort ? node->aborted
				    : node->count > 0 ? node->fences[0]
						      : node->completed;
		node->completed = *last_aborted_out;
		node->count = 0;
		node->preemption = 0;
	}
	lock_release(&gpu->lock);
	return status;
}

static NTSTATUS gpu_reset_hw_node(struct miniport *miniport, uint32_t node)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	fake_gpu_note(gpu, "H%u", node);
	if (NT_SUCCESS(gpu->hw_reset_status) && gpu->on_hw_reset)
		gpu->on_hw_reset(node);
	return gpu->hw_reset_status;
}

static NTSTATUS gpu_resume_hw_node(struct miniport *miniport, uint32_t node)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	fake_gpu_note(gpu, "R%u", node);
	return gpu->hw_resume_status;
}

static void gpu_collect_debug_info(struct miniport *miniport, uint32_t reason, uint32_t node)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	fake_gpu_note(gpu, "D%x@%u", reason, node);
	if (gpu->on_debug_info)
		gpu->on_debug_info(reason);
}

static bool gpu_reset_adapter(struct miniport *miniport)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	fake_gpu_note(gpu, "A");
	if (gpu->fails_reset)
		return false;
	lock_acquire(&gpu->lock);
	for (uint32_t i = 0; i < FAKE_NODES; i++) {
		gpu->nodes[i].completed = gpu->nodes[i].last_submitted;
		gpu->nodes[i].count = 0;
		gpu->nodes[i].preemption = 0;
	}
	lock_release(&gpu->lock);
	return true;
}

static bool gpu_restart_adapter(struct miniport *miniport)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	fake_gpu_note(gpu, "restart");
	return !gpu->fails_restart;
}

static void gpu_ignore_events(struct miniport *miniport, uint32_t node, bool is_ignored)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	lock_acquire(&gpu->lock);
	gpu->nodes[node].is_ignored = is_ignored;
	lock_release(&gpu->lock);
	if (is_ignored && gpu->on_ignored)
		gpu->on_ignored(node);
}

static void gpu_flush_events(struct miniport *miniport)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	lock_acquire(&gpu->lock);
	while (gpu->telling > 0)
		notice_wait_relock(&gpu->told, &gpu->lock);
	lock_release(&gpu->lock);
}

static void gpu_report(struct miniport *miniport, enum rule rule, uint32_t node,
		       const char *sentence)
{
	struct fake_gpu *gpu = gpu_of(miniport);

	lock_acquire(&gpu->lock);
	gpu->reports++;
	gpu->report_rule = rule;
	gpu->report_node = node;
	snprintf(gpu->report, sizeof(gpu->report), "%s", sentence);
	lock_release(&gpu->lock);
}

static const struct sched_gpu_ops gpu_ops = {
	.preempt = gpu_preempt,
	.query_current_fence = gpu_query_current_fence,
	.dependent_nodes = gpu_dependent_nodes,
	.is_responsive = gpu_is_responsive,
	.reset_node = gpu_reset_node,
	.reset_hw_node = gpu_reset_hw_node,
	.resume_hw_node = gpu_resume_hw_node,
	.collect_debug_info = gpu_collect_debug_info,
	.reset_adapter = gpu_reset_adapter,
	.restart_adapter = gpu_restart_adapter,
	.ignore_events = gpu_ignore_events,
	.flush_events = gpu_flush_events,
	.report = gpu_report,
};

/* ---- what the scheduler tells ---- */

static char owner_name(const struct sched_owner *owner)
{
	return owner->process ? (char)owner->process->id : '?';
}

void fake_gpu_name_owner(struct sched_owner *owner, char name)
{
	static struct sched_process processes[256];
	struct sched_process *process = &processes[(unsigned char)name];

	process->id = (unsigned char)name;
	owner->process = process;
}

static void owner_lost(void *context, struct sched_owner *owner, uint32_t device_state,
		       const struct miniport_fault *fault)
{
	fake_gpu_note(context, "%c%u%s", owner_name(owner), device_state, fault ? "f" : "");
}

static void adapter_reset_begins(void *context)
{
	fake_gpu_note(context, "begin");
}

static void adapter_was_reset(void *context)
{
	fake_gpu_note(context, "lost");
}

static void adapter_reset_ended(void *context)
{
	struct fake_gpu *gpu = context;

	fake_gpu_note(gpu, "end");
	if (gpu->on_reset_ended)
		gpu->on_reset_ended();
}

static void adapter_lost(void *context, const char *why)
{
	require(why && *why, "it says why");
	fake_gpu_note(context, "dead");
}

static void work_completed(void *context, struct sched_owner *owner)
{
	struct fake_gpu *gpu = context;

	(void)owner;
	atomic_fetch_add(&gpu->completions, 1);
}

static const struct sched_listener gpu_listener = {
	.owner_lost = owner_lost,
	.adapter_reset_begins = adapter_reset_begins,
	.adapter_was_reset = adapter_was_reset,
	.adapter_reset_ended = adapter_reset_ended,
	.adapter_lost = adapter_lost,
	.work_completed = work_completed,
};

/* ---- the crank ---- */

struct sched_config fake_gpu_config(void)
{
	return (struct sched_config){
		.adapter_id = 7,
		.node_count = FAKE_NODES,
		.is_preemption_aware = true,
		.has_engine_reset = true,
		.has_hw_engine_reset = true,
		.tdr_level = 3,
		.tdr_delay_ns = 2 * NS_PER_S,
		.tdr_ddi_delay_ns = 5 * NS_PER_S,
		.tdr_limit_time_ns = 60 * NS_PER_S,
		.tdr_limit_count = 5,
	};
}

void fake_gpu_start(struct fake_gpu *gpu, const struct sched_config *config)
{
	memset(gpu, 0, sizeof(*gpu));
	lock_init(&gpu->lock, LOCK_RANK_LEAF, "fake gpu");
	for (uint32_t i = 0; i < FAKE_NODES; i++)
		gpu->nodes[i].completed = config->first_fence ? config->first_fence - 1 : 0;
	require(NT_SUCCESS(sched_create(config, &gpu_ops, (struct miniport *)(void *)gpu,
					&gpu_listener, gpu, &gpu->sched)),
		"no scheduler");
}

void fake_gpu_finish(struct fake_gpu *gpu)
{
	sched_destroy(gpu->sched);
	lock_finish(&gpu->lock);
}

void fake_gpu_complete(struct fake_gpu *gpu, uint32_t node_number, uint32_t count)
{
	struct fake_node *node = &gpu->nodes[node_number];

	if (count == 0)
		return;
	lock_acquire(&gpu->lock);
	require(count <= node->count, "it does not have so many");
	node->completed = node->fences[count - 1];
	uint32_t fence = node->completed;
	bool hides_completion = node->hides_completion;
	forget_oldest_locked(node, count);
	lock_release(&gpu->lock);
	if (!hides_completion)
		sched_on_completed(gpu->sched, node_number, fence);
}

void fake_gpu_preempted(struct fake_gpu *gpu, uint32_t node_number, uint32_t completed)
{
	struct fake_node *node = &gpu->nodes[node_number];

	lock_acquire(&gpu->lock);
	require(node->preemption != 0, "nobody asked it to stop");
	if (completed > 0)
		node->completed = node->fences[completed - 1];
	uint32_t preemption = node->preemption;
	uint32_t last_completed = node->completed;
	node->preemption = 0;
	node->count = 0;
	lock_release(&gpu->lock);
	sched_on_preempted(gpu->sched, node_number, preemption, last_completed);
}

static void tell_completed_locked(struct fake_gpu *gpu, uint32_t node_number, uint32_t count)
{
	struct fake_node *node = &gpu->nodes[node_number];

	node->completed = node->fences[count - 1];
	uint32_t fence = node->completed;
	forget_oldest_locked(node, count);
	lock_release(&gpu->lock);
	sched_on_completed(gpu->sched, node_number, fence);
	lock_acquire(&gpu->lock);
}

static void tell_preempted_locked(struct fake_gpu *gpu, uint32_t node_number)
{
	struct fake_node *node = &gpu->nodes[node_number];
	uint32_t preemption = node->preemption;
	uint32_t completed = node->completed;

	node->preemption = 0;
	node->count = 0;
	lock_release(&gpu->lock);
	sched_on_preempted(gpu->sched, node_number, preemption, completed);
	lock_acquire(&gpu->lock);
}

bool fake_gpu_turn(struct fake_gpu *gpu, uint32_t node_number, uint32_t most)
{
	struct fake_node *node = &gpu->nodes[node_number];

	lock_acquire(&gpu->lock);
	bool has_work = !node->is_ignored && (node->preemption != 0 || node->count > 0);
	if (has_work) {
		gpu->telling++;
		if (node->preemption != 0)
			tell_preempted_locked(gpu, node_number);
		else
			tell_completed_locked(gpu, node_number,
					      most < node->count ? most : node->count);
		gpu->telling--;
	}
	lock_release(&gpu->lock);
	notice_give(&gpu->told);
	return has_work;
}

void fake_gpu_page_fault(struct fake_gpu *gpu, uint32_t node, bool needs_adapter_reset)
{
	struct miniport_fault fault = { .node = node,
					.is_fence_valid = true,
					.is_page_fault = true,
					.is_write = true,
					.needs_adapter_reset = needs_adapter_reset,
					.address = 0x123000 };

	lock_acquire(&gpu->lock);
	require(gpu->nodes[node].count > 0, "it has nothing that could fault");
	fault.fence = gpu->nodes[node].fences[0];
	lock_release(&gpu->lock);
	sched_on_faulted(gpu->sched, &fault);
}

uint32_t fake_gpu_held(struct fake_gpu *gpu, uint32_t node)
{
	lock_acquire(&gpu->lock);
	uint32_t count = gpu->nodes[node].count;
	lock_release(&gpu->lock);
	return count;
}
