/* SPDX-License-Identifier: MIT */
/*
 * watch_fences.c - what a driver says about the packets it was given (fences.h), judged where it says it.
 *
 *	DMA_COMPLETED          of a packet the node has, in the order of submission     DDI-FENCE-RANGE, -MONOTONE
 *	DMA_PREEMPTED          the answer that was asked for; nothing of before after it     DDI-PREEMPT-ANSWER
 *	                       in a time that goes with what the driver claims          DDI-PREEMPT-GRANULARITY
 *	DMA_(PAGE_)FAULTED     of a packet the node has, and none of the kernel's       DDI-FAULT-PARAMETERS, -SYSTEM
 *	QueryCurrentFence      between what was reported and what was submitted         DDI-FENCE-QUERY
 *	                       also when an interrupt was lost                          DDI-INTERRUPT-LOST
 *
 * The kernel looks at the same news later, in its DPC, and by then the driver's line is gone. QueryCurrentFence is of
 * level 0, so the watch asks it now and then by itself.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "miniport/work.h"
#include "verify/blame.h"
#include "verify/fences.h"
#include "verify/verify.h"

struct fences {
	struct lock lock; /* LOCK_RANK_LEAF: guards the rest */
	struct fence_node nodes[MINIPORT_MAX_NODES];
	bool claims_fine_preemption;
	bool is_gone; /* surprise removal: nobody is asked any more */
	uint64_t preemption_limit_ns;
};

/* ---- submission ---- */

struct submission {
	uint32_t node;
	struct fence_packet packet;
};

static bool is_submission(const struct verify_call *call, struct submission *submission_out)
{
	const void *system = call->adapter->miniport->system_context.driver_context;

	if (call->ddi == DDI_SUBMIT_COMMAND) {
		const DXGKARG_SUBMITCOMMAND *args = call->arguments;

		*submission_out = (struct submission){
			args->NodeOrdinal,
			{ .fence = args->SubmissionFenceId,
			  .is_kernels = args->Flags.Paging ||
					(args->hContext && args->hContext == system) }
		};
		return true;
	}
	if (call->ddi == DDI_SUBMIT_COMMAND_VIRTUAL) {
		const DXGKARG_SUBMITCOMMANDVIRTUAL *args = call->arguments;

		*submission_out = (struct submission){
			args->NodeOrdinal,
			{ .fence = args->SubmissionFenceId,
			  .is_kernels = args->Flags.Paging ||
					(args->hContext && args->hContext == system) }
		};
		return true;
	}
	return false;
}

static struct fence_node *node_of(struct fences *fences, uint32_t node)
{
	return node < MINIPORT_MAX_NODES ? &fences->nodes[node] : NULL;
}

static void before_submission(struct fences *fences, const struct submission *submission)
{
	struct fence_node *node = node_of(fences, submission->node);
	uint32_t unanswered = 0;

	if (!node)
		return;
	lock_acquire(&fences->lock);
	if (node->preemption.is_pending)
		unanswered = node->preemption.fence;
	node->preemption.is_pending = false;
	fence_node_submit(node, &submission->packet);
	lock_release(&fences->lock);
	if (unanswered)
		nt_report(RULE_DDI_PREEMPT_ANSWER,
			  "DxgkDdiPreemptCommand(%u) of node %u was never answered by "
			  "DXGK_INTERRUPT_DMA_PREEMPTED",
			  unanswered, submission->node);
}

/* One that is refused as the client's fault keeps its turn, and nobody hears of it. */
static void after_submission(struct fences *fences, const struct verify_call *call,
			     const struct submission *submission)
{
	struct fence_node *node = node_of(fences, submission->node);

	if (!node || call->status == STATUS_SUCCESS)
		return;
	lock_acquire(&fences->lock);
	fence_node_refused(node, submission->packet.fence,
			   call->ddi == DDI_SUBMIT_COMMAND_VIRTUAL &&
				   call->status == STATUS_INVALID_PARAMETER);
	lock_release(&fences->lock);
}

/* ---- interrupts ---- */

#define NOTIFIED "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_"

/* In real time a machine may be slow. */
static bool is_late(const struct fences *fences, const struct fence_node *node, uint32_t fence)
{
	return fences->claims_fine_preemption && node->preemption.is_pending &&
	       node->preemption.ran == fence && thread_is_simulated() &&
	       clock_peek_ns() - node->preemption.since_ns > fences->preemption_limit_ns;
}

static void tell_completion(enum fence_verdict verdict, uint32_t node, uint32_t fence,
			    const struct fence_node *seen)
{
	switch (verdict) {
	case FENCE_UNKNOWN:
		nt_report(RULE_DDI_FENCE_RANGE,
			  NOTIFIED
			  "DMA_COMPLETED) named fence %u of node %u, which was not submitted "
			  "there; the last was %u",
			  fence, node, seen->submitted);
		break;
	case FENCE_OVER:
		nt_report(RULE_DDI_FENCE_MONOTONE,
			  NOTIFIED
			  "DMA_COMPLETED) named fence %u of node %u, which was over before; "
			  "the last reported was %u",
			  fence, node, seen->reported);
		break;
	case FENCE_PREEMPTED:
		nt_report(RULE_DDI_PREEMPT_ANSWER,
			  NOTIFIED
			  "DMA_COMPLETED) named fence %u of node %u, which was preempted and "
			  "was not submitted again",
			  fence, node);
		break;
	case FENCE_GOOD:
	case FENCE_NOT_JUDGED:
		break;
	}
}

static void on_completed(struct fences *fences, uint32_t number, uint32_t fence)
{
	struct fence_node *node = node_of(fences, number);

	if (!node)
		return;
	lock_acquire(&fences->lock);
	bool was_late = is_late(fences, node, fence);
	enum fence_verdict verdict = fence_node_complete(node, fence);
	struct fence_node seen = { .submitted = node->submitted, .reported = node->reported };
	lock_release(&fences->lock);
	tell_completion(verdict, number, fence, &seen);
	if (was_late)
		nt_report(
			RULE_DDI_PREEMPT_GRANULARITY,
			"Node %u was to be preempted and ran its packet, fence %u, to the end for "
			"more than %llu ms; the driver claims to preempt within a DMA buffer",
			number, fence,
			(unsigned long long)(fences->preemption_limit_ns / NS_PER_MS));
}

static void on_preempted(struct fences *fences, uint32_t number, uint32_t fence, uint32_t last)
{
	struct fence_node *node = node_of(fences, number);

	if (!node)
		return;
	lock_acquire(&fences->lock);
	bool is_asked = fence != 0 && fence == node->preemption.fence;
	uint32_t asked = node->preemption.fence;
	bool is_last_known = !is_asked || fence_node_preempt(node, last);
	uint32_t reported = node->reported;
	lock_release(&fences->lock);
	if (!is_asked)
		nt_report(RULE_DDI_PREEMPT_ANSWER,
			  NOTIFIED
			  "DMA_PREEMPTED) answered preemption %u of node %u; the last that "
			  "was asked for is %u",
			  fence, number, asked);
	else if (!is_last_known)
		nt_report(RULE_DDI_FENCE_RANGE,
			  NOTIFIED
			  "DMA_PREEMPTED) named fence %u of node %u as the last completed, "
			  "which it does not have; the last reported was %u",
			  last, number, reported);
}

static void on_faulted(struct fences *fences, uint32_t number, uint32_t fence)
{
	struct fence_node *node = node_of(fences, number);
	bool is_kernels = false;

	if (!node)
		return;
	lock_acquire(&fences->lock);
	enum fence_verdict verdict = fence_node_fault(node, fence, &is_kernels);
	lock_release(&fences->lock);
	if (is_kernels)
		nt_report(
			RULE_DDI_FAULT_SYSTEM,
			"DxgkCbNotifyInterrupt was told that fence %u of node %u faulted, and that "
			"is a packet of the kernel's own",
			fence, number);
	else if (verdict != FENCE_GOOD && verdict != FENCE_NOT_JUDGED)
		nt_report(
			RULE_DDI_FAULT_PARAMETERS,
			"DxgkCbNotifyInterrupt was told that fence %u of node %u faulted, and the "
			"hardware does not have it",
			fence, number);
}

static void callback_before(struct verify_callback *callback, void *state)
{
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->arguments;

	if (callback->id != VERIFY_CB_NotifyInterrupt || !data)
		return;
	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		on_completed(state, data->DmaCompleted.NodeOrdinal,
			     data->DmaCompleted.SubmissionFenceId);
		break;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		on_preempted(state, data->DmaPreempted.NodeOrdinal,
			     data->DmaPreempted.PreemptionFenceId,
			     data->DmaPreempted.LastCompletedFenceId);
		break;
	case DXGK_INTERRUPT_DMA_FAULTED:
		on_faulted(state, data->DmaFaulted.NodeOrdinal, data->DmaFaulted.FaultedFenceId);
		break;
	case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
		if (!(data->DmaPageFaulted.PageFaultFlags & DXGK_PAGE_FAULT_FENCE_INVALID))
			on_faulted(state, data->DmaPageFaulted.NodeOrdinal,
				   data->DmaPageFaulted.FaultedFenceId);
		break;
	default:
		break;
	}
}

/* Somebody kept it from the kernel: now the driver has to tell it when it is asked. */
static void callback_after(struct verify_callback *callback, void *state)
{
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->arguments;
	struct fences *fences = state;

	if (callback->id != VERIFY_CB_NotifyInterrupt || !callback->is_answered || !data ||
	    (int)data->InterruptType != DXGK_INTERRUPT_DMA_COMPLETED)
		return;
	struct fence_node *node = node_of(fences, data->DmaCompleted.NodeOrdinal);
	if (!node)
		return;
	lock_acquire(&fences->lock);
	node->is_swallowed = true;
	node->swallowed = data->DmaCompleted.SubmissionFenceId;
	lock_release(&fences->lock);
}

/* ---- questions ---- */

/* The answer is to blame on who gave it, also where it was asked for behind another entry point. */
static void judge_answer(const struct verify_adapter *adapter, struct fences *fences,
			 uint32_t number, uint32_t said, uint64_t told)
{
	struct fence_node *node = &fences->nodes[number];
	uint32_t floor = (uint32_t)told;
	uint32_t swallowed = (uint32_t)(told >> 32);

	lock_acquire(&fences->lock);
	uint32_t submitted = node->submitted;
	bool is_judged = submitted != 0 && !node->is_overrun;
	bool is_old = is_judged && floor != 0 && fence_is_after(floor, said);
	bool is_new = is_judged && said != 0 && fence_is_after(said, submitted);
	bool is_hidden = is_judged && swallowed != 0 && fence_is_after(swallowed, said);
	if (is_judged && node->is_swallowed && !fence_is_after(node->swallowed, said))
		node->is_swallowed = false;
	lock_release(&fences->lock);
	if (is_hidden)
		blame(adapter, DDI_QUERY_CURRENT_FENCE, RULE_DDI_INTERRUPT_LOST,
		      "DxgkDdiQueryCurrentFence said %u for node %u, and the interrupt for "
		      "fence %u, "
		      "which is over, was lost",
		      said, number, swallowed);
	else if (is_old || is_new)
		blame(adapter, DDI_QUERY_CURRENT_FENCE, RULE_DDI_FENCE_QUERY,
		      "DxgkDdiQueryCurrentFence said %u for node %u; the last reported was %u, "
		      "the "
		      "last submitted %u",
		      said, number, floor, submitted);
}

/* What the driver has told before it is asked: the last that was heard, and above it the last that was not, 0 for none. */
static uint64_t told_of(struct fences *fences, uint32_t number)
{
	struct fence_node *node = node_of(fences, number);

	if (!node)
		return 0;
	lock_acquire(&fences->lock);
	uint64_t told = node->reported | (uint64_t)(node->is_swallowed ? node->swallowed : 0) << 32;
	lock_release(&fences->lock);
	return told;
}

/* Where contexts come and go: often enough, and where the driver may be called. */
static void ask_ourselves(struct fences *fences, const struct verify_call *call)
{
	struct miniport *miniport = call->adapter->miniport;

	if (!miniport->ddi.DxgkDdiQueryCurrentFence || fences->is_gone || call->outer)
		return;
	for (uint32_t i = 0; i < miniport->info.node_count; i++) {
		DXGKARG_QUERYCURRENTFENCE args = { .NodeOrdinal = i };
		uint64_t told = told_of(fences, i);

		if (NT_SUCCESS(miniport->driver.DxgkDdiQueryCurrentFence(miniport->context, &args)))
			judge_answer(call->adapter, fences, i, args.CurrentFence, told);
	}
}

/* ---- preemption and resets ---- */

static void before_preemption(struct fences *fences, const DXGKARG_PREEMPTCOMMAND *args)
{
	struct fence_node *node = node_of(fences, args->NodeOrdinal);

	if (!node)
		return;
	lock_acquire(&fences->lock);
	fence_node_ask(node, args->PreemptionFenceId, clock_peek_ns());
	lock_release(&fences->lock);
}

static void reset(struct fences *fences, uint32_t number)
{
	struct fence_node *node = &fences->nodes[number];

	lock_acquire(&fences->lock);
	fence_node_reset(node);
	lock_release(&fences->lock);
}

static void reset_all(struct fences *fences)
{
	for (uint32_t i = 0; i < MINIPORT_MAX_NODES; i++)
		reset(fences, i);
}

/* The kernel's promise for level 2: the hardware has nothing. */
static void judge_idle(struct fences *fences, const struct verify_call *call)
{
	uint32_t busy = MINIPORT_MAX_NODES;

	if (call->ddi != DDI_ESCAPE || ddi_innermost->level != DDI_LEVEL_2)
		return;
	lock_acquire(&fences->lock);
	for (uint32_t i = 0; i < MINIPORT_MAX_NODES; i++) {
		if (fence_node_is_busy(&fences->nodes[i]))
			busy = i;
	}
	lock_release(&fences->lock);
	if (busy < MINIPORT_MAX_NODES)
		nt_report(RULE_DDI_LEVEL23_ALONE,
			  "DxgkDdiEscape with HardwareAccess is called while node %u has work: "
			  "this is "
			  "the kernel's mistake",
			  busy);
}

/* ---- every call ---- */

static void begin(struct verify_adapter *adapter, void *state)
{
	struct fences *fences = state;

	(void)adapter;
	lock_init(&fences->lock, LOCK_RANK_LEAF, "verified fences");
}

static void end(struct verify_adapter *adapter, void *state)
{
	struct fences *fences = state;

	(void)adapter;
	lock_finish(&fences->lock);
}

static void before(struct verify_call *call, void *state)
{
	struct fences *fences = state;
	struct submission submission;

	if (is_submission(call, &submission)) {
		before_submission(fences, &submission);
		return;
	}
	switch ((int)call->ddi) {
	case DDI_PREEMPT_COMMAND:
		before_preemption(fences, call->arguments);
		break;
	case DDI_QUERY_CURRENT_FENCE:
		call->kept[VERIFY_WATCH_fences] = told_of(
			fences, ((const DXGKARG_QUERYCURRENTFENCE *)call->arguments)->NodeOrdinal);
		break;
	case DDI_ESCAPE:
		judge_idle(fences, call);
		break;
	default:
		break;
	}
}

static void started(struct fences *fences, const struct verify_call *call)
{
	struct miniport_tdr_settings settings;

	miniport_tdr_settings(call->adapter->miniport, &settings);
	fences->preemption_limit_ns = settings.delay_s * NS_PER_S / 2;
	fences->is_gone = false;
	for (uint32_t i = 0; i < MINIPORT_MAX_NODES; i++)
		fences->nodes[i] = (struct fence_node){ 0 };
}

/* Which node is for drawing and which for computing the driver does not say here. */
static void read_claim(struct fences *fences, const DXGKARG_QUERYADAPTERINFO *args)
{
	const DXGK_DRIVERCAPS *caps = args->pOutputData;

	if (args->Type == DXGKQAITYPE_DRIVERCAPS && args->OutputDataSize >= sizeof(*caps))
		fences->claims_fine_preemption =
			caps->PreemptionCaps.GraphicsPreemptionGranularity >
				D3DKMDT_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY &&
			caps->PreemptionCaps.ComputePreemptionGranularity >
				D3DKMDT_COMPUTE_PREEMPTION_DMA_BUFFER_BOUNDARY;
}

static void after(struct verify_call *call, void *state)
{
	struct fences *fences = state;
	struct submission submission;

	if (is_submission(call, &submission)) {
		after_submission(fences, call, &submission);
		return;
	}
	if (call->ddi == DDI_NOTIFY_SURPRISE_REMOVAL)
		fences->is_gone = true;
	if (call->ddi == DDI_CREATE_CONTEXT || call->ddi == DDI_DESTROY_CONTEXT)
		ask_ourselves(fences, call);
	if (!NT_SUCCESS(call->status))
		return;
	switch ((int)call->ddi) {
	case DDI_START_DEVICE:
		started(fences, call);
		break;
	case DDI_QUERY_ADAPTER_INFO:
		read_claim(fences, call->arguments);
		break;
	case DDI_QUERY_CURRENT_FENCE: {
		const DXGKARG_QUERYCURRENTFENCE *args = call->arguments;

		if (node_of(fences, args->NodeOrdinal))
			judge_answer(call->adapter, fences, args->NodeOrdinal, args->CurrentFence,
				     call->kept[VERIFY_WATCH_fences]);
		break;
	}
	case DDI_RESET_ENGINE:
		if (node_of(fences, ((const DXGKARG_RESETENGINE *)call->arguments)->NodeOrdinal))
			reset(fences, ((const DXGKARG_RESETENGINE *)call->arguments)->NodeOrdinal);
		break;
	case DDI_RESET_FROM_TIMEOUT:
		reset_all(fences);
		break;
	default:
		break;
	}
}

const struct verify_watching verify_watch_fences = {
	.state_bytes = sizeof(struct fences),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
	.callback_before = callback_before,
	.callback_after = callback_after,
};
