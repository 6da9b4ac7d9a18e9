/* SPDX-License-Identifier: MIT */
/*
 * watch_hw_queues.c - what the hardware says of queues that it orders itself.
 *
 *	the progress fence     grows, to values that were submitted        DDI-HWQ-PROGRESS
 *	a suspended context    is named by a fence that was given out      DDI-HWQ-SUSPEND-FENCE
 *
 * Progress stands in memory, so it is looked at when DxgkCbNotifyInterrupt says that a fence of the node was written:
 * then the driver's line is at hand.
 */
#include <stdatomic.h>

#include "base/list.h"
#include "base/mem.h"
#include "verify/handles.h"
#include "verify/verify.h"

enum { VALUES = 64, SUSPENSIONS = 64, FINDINGS = 4 };

struct queue {
	struct list link;
	const void *handle;
	uint32_t node;
	const _Atomic uint64_t *progress;
	uint64_t seen;
	uint64_t submitted;      /* the last */
	uint64_t values[VALUES]; /* the last that were submitted: a ring */
	uint32_t value_count;    /* ever */
};

struct hw_queues {
	struct lock lock; /* LOCK_RANK_LEAF: guards the rest */
	struct list queues;
	uint64_t suspensions[SUSPENSIONS]; /* fences that are not answered; 0: free */
};

static void begin(struct verify_adapter *adapter, void *state)
{
	struct hw_queues *hw_queues = state;

	(void)adapter;
	lock_init(&hw_queues->lock, LOCK_RANK_LEAF, "verified queues");
	list_init(&hw_queues->queues);
}

static struct queue *find_locked(struct hw_queues *hw_queues, const void *handle)
{
	lock_assert_held(&hw_queues->lock);
	list_each (struct queue, queue, &hw_queues->queues, link) {
		if (queue->handle == handle)
			return queue;
	}
	return NULL;
}

/* ---- queues ---- */

static void add(struct hw_queues *hw_queues, const struct verify_call *call)
{
	const DXGKARG_CREATEHWQUEUE *args = call->arguments;
	struct queue *queue = mem_zalloc_aside(sizeof(*queue));
	struct handle_record context;

	if (!queue)
		return;
	/* Its context is a hardware context, or stands in for one. */
	if (!args->HwQueueProgressFenceCPUVirtualAddress ||
	    (!handles_find(call->adapter, HANDLE_HW_CONTEXT, call->handle, &context) &&
	     !handles_find(call->adapter, HANDLE_CONTEXT, call->handle, &context))) {
		mem_free_aside(queue);
		return;
	}
	queue->handle = args->hHwQueue;
	queue->node = context.node;
	queue->progress = args->HwQueueProgressFenceCPUVirtualAddress;
	queue->seen = atomic_load(queue->progress);
	queue->submitted = queue->seen;
	lock_acquire(&hw_queues->lock);
	list_push_back(&hw_queues->queues, &queue->link);
	lock_release(&hw_queues->lock);
}

static void forget(struct hw_queues *hw_queues, const void *handle)
{
	lock_acquire(&hw_queues->lock);
	struct queue *queue = find_locked(hw_queues, handle);
	if (queue)
		list_remove(&queue->link);
	lock_release(&hw_queues->lock);
	mem_free_aside(queue);
}

static void submit(struct hw_queues *hw_queues, const DXGKARG_SUBMITCOMMANDTOHWQUEUE *args)
{
	lock_acquire(&hw_queues->lock);
	struct queue *queue = find_locked(hw_queues, args->hHwQueue);
	if (queue) {
		queue->submitted = args->HwQueueProgressFenceId;
		queue->values[queue->value_count++ % VALUES] = args->HwQueueProgressFenceId;
	}
	lock_release(&hw_queues->lock);
}

/* ---- progress ---- */

struct finding {
	const char *what;
	const void *handle;
	uint64_t said;
	uint64_t seen;
	uint64_t submitted;
};

static bool was_submitted(const struct queue *queue, uint64_t value)
{
	/* Older ones are not remembered. */
	for (uint32_t i = 0; i < VALUES && i < queue->value_count; i++) {
		if (queue->values[i] == value)
			return true;
	}
	return queue->value_count > VALUES;
}

static const char *what_is_wrong(const struct queue *queue, uint64_t said)
{
	if (said < queue->seen)
		return "went back";
	if (said > queue->submitted)
		return "is beyond what was submitted";
	if (said != queue->seen && !was_submitted(queue, said))
		return "is a value that was never submitted";
	return NULL;
}

static void look(struct hw_queues *hw_queues, uint32_t node)
{
	struct finding findings[FINDINGS];
	uint32_t count = 0;

	lock_acquire(&hw_queues->lock);
	list_each (struct queue, queue, &hw_queues->queues, link) {
		uint64_t said = atomic_load(queue->progress);
		const char *what;

		/* The kernel says so itself that there will be nothing more. */
		if (queue->node != node || said == UINT64_MAX)
			continue;
		what = what_is_wrong(queue, said);

		if (what && count < FINDINGS)
			findings[count++] = (struct finding){ what, queue->handle, said,
							      queue->seen, queue->submitted };
		queue->seen = said;
	}
	lock_release(&hw_queues->lock);
	for (uint32_t i = 0; i < count; i++)
		nt_report(RULE_DDI_HWQ_PROGRESS,
			  "The progress fence of the hardware queue %p %s: it says %llu, was %llu, "
			  "and "
			  "the newest submitted is %llu",
			  findings[i].handle, findings[i].what,
			  (unsigned long long)findings[i].said,
			  (unsigned long long)findings[i].seen,
			  (unsigned long long)findings[i].submitted);
}

/* ---- suspension ---- */

static bool replace_suspension(struct hw_queues *hw_queues, uint64_t old, uint64_t new)
{
	bool is_there = false;

	lock_acquire(&hw_queues->lock);
	for (uint32_t i = 0; i < SUSPENSIONS && !is_there; i++) {
		is_there = hw_queues->suspensions[i] == old;
		if (is_there)
			hw_queues->suspensions[i] = new;
	}
	lock_release(&hw_queues->lock);
	return is_there;
}

static void on_suspended(struct hw_queues *hw_queues, uint64_t fence)
{
	if (fence == 0 || !replace_suspension(hw_queues, fence, 0))
		nt_report(RULE_DDI_HWQ_SUSPEND_FENCE,
			  "DxgkCbNotifyInterrupt(DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED) named "
			  "fence "
			  "%llu, and no context is being suspended with that",
			  (unsigned long long)fence);
}

/* ---- every call ---- */

static void before(struct verify_call *call, void *state)
{
	struct hw_queues *hw_queues = state;

	if (call->ddi == DDI_DESTROY_HW_QUEUE)
		forget(hw_queues, call->handle);
	else if (call->ddi == DDI_SUBMIT_COMMAND_TO_HW_QUEUE)
		submit(hw_queues, call->arguments);
	else if (call->ddi == DDI_SUSPEND_CONTEXT)
		(void)replace_suspension(
			hw_queues, 0,
			((const DXGKARG_SUSPENDCONTEXT *)call->arguments)->contextSuspendFence);
}

static void after(struct verify_call *call, void *state)
{
	struct hw_queues *hw_queues = state;

	if (call->ddi == DDI_CREATE_HW_QUEUE && NT_SUCCESS(call->status))
		add(hw_queues, call);
	/* It is suspended already, and nothing more is said of it. */
	else if (call->ddi == DDI_SUSPEND_CONTEXT && call->status != STATUS_PENDING)
		(void)replace_suspension(
			hw_queues,
			((const DXGKARG_SUSPENDCONTEXT *)call->arguments)->contextSuspendFence, 0);
}

static void callback_before(struct verify_callback *callback, void *state)
{
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->arguments;

	if (callback->id != VERIFY_CB_NotifyInterrupt || !data)
		return;
	if ((int)data->InterruptType == DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED)
		look(state, data->MonitoredFenceSignaled.NodeOrdinal);
	else if ((int)data->InterruptType == DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED)
		on_suspended(state, data->SuspendContextCompleted.ContextSuspendFence);
}

static void end(struct verify_adapter *adapter, void *state)
{
	struct hw_queues *hw_queues = state;

	(void)adapter;
	while (!list_is_empty(&hw_queues->queues)) {
		struct queue *queue = container_of(hw_queues->queues.next, struct queue, link);

		list_remove(&queue->link);
		mem_free_aside(queue);
	}
	lock_finish(&hw_queues->lock);
}

const struct verify_watching verify_watch_hw_queues = {
	.state_bytes = sizeof(struct hw_queues),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
	.callback_before = callback_before,
};
