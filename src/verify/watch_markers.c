/* SPDX-License-Identifier: MIT */
/*
 * watch_markers.c - what a packet writes is there when the driver says that it is over.
 *
 *	verify_expect()          by who knows the commands: "then these bytes are all that"
 *	the packet is submitted  its fence is known
 *	its end is reported      the bytes are compared, at that moment    DDI-FENCE-NO-EARLY
 *	                         and it was preempted meanwhile            DDI-PREEMPT-RESUBMIT
 *
 * A client that waits for the end looks too late for that: by then even a completion that came too early is true. What is said of
 * hardware that was pulled out is about nothing.
 */
#include <stdatomic.h>
#include <string.h>

#include "verify/fences.h"
#include "verify/handles.h"
#include "verify/start.h"
#include "verify/verify.h"

enum { EXPECTATIONS = 256 };

struct expectation {
	enum { FREE, WAITING, RUNNING, RUNNING_IN_QUEUE } state;
	struct verify_expected expected;
	uint64_t serial; /* the oldest is meant first */
	bool was_preempted;

	/* Of one that runs. */
	const struct verify_adapter *adapter;
	uint32_t node;
	uint32_t fence;
	const _Atomic uint64_t *progress;
	uint64_t value;
};

/* Guarded by markers_lock. */
static struct lock markers_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "verified markers");
static struct expectation expectations[EXPECTATIONS];
static uint64_t serials;
static _Atomic int expectation_count; /* read without the lock: mostly there is none */

/* Of an adapter; guarded by markers_lock. */
struct markers {
	bool is_gone;
};

static bool are_there_any(void)
{
	return atomic_load_explicit(&expectation_count, memory_order_relaxed) > 0;
}

bool verify_expect(const struct verify_expected *expected)
{
	bool has_slot = false;

	lock_acquire(&markers_lock);
	for (size_t i = 0; i < EXPECTATIONS && !has_slot; i++) {
		has_slot = expectations[i].state == FREE;
		if (has_slot)
			expectations[i] = (struct expectation){ .state = WAITING,
								.expected = *expected,
								.serial = ++serials };
	}
	if (has_slot)
		atomic_fetch_add(&expectation_count, 1);
	lock_release(&markers_lock);
	return has_slot;
}

static void drop_locked(struct expectation *expectation)
{
	lock_assert_held(&markers_lock);
	expectation->state = FREE;
	atomic_fetch_sub(&expectation_count, 1);
}

void verify_expect_nothing(const volatile void *from, uint64_t size_bytes)
{
	lock_acquire(&markers_lock);
	for (size_t i = 0; i < EXPECTATIONS; i++) {
		if (expectations[i].state != FREE &&
		    (uintptr_t)expectations[i].expected.place - (uintptr_t)from < size_bytes)
			drop_locked(&expectations[i]);
	}
	lock_release(&markers_lock);
}

/* ---- submission ---- */

static struct expectation *oldest_locked(const void *kernel, uint64_t commands)
{
	struct expectation *found = NULL;

	lock_assert_held(&markers_lock);
	for (size_t i = 0; i < EXPECTATIONS; i++) {
		struct expectation *each = &expectations[i];

		if (each->state == WAITING && each->expected.kernel == kernel &&
		    each->expected.commands == commands && (!found || each->serial < found->serial))
			found = each;
	}
	return found;
}

static void on_submission(const struct verify_call *call, enum handle_kind kind, const void *handle,
			  uint64_t commands, const struct expectation *runs)
{
	const struct markers *markers = call->adapter->states[VERIFY_WATCH_markers];
	struct handle_record record;

	if (!handles_find(call->adapter, kind, handle, &record))
		return;
	lock_acquire(&markers_lock);
	struct expectation *expectation = oldest_locked(record.kernel, commands);
	if (expectation && markers->is_gone) {
		drop_locked(expectation);
	} else if (expectation) {
		expectation->state = runs->state;
		expectation->adapter = call->adapter;
		expectation->node = runs->node;
		expectation->fence = runs->fence;
		expectation->progress = runs->progress;
		expectation->value = runs->value;
	}
	lock_release(&markers_lock);
}

/* ---- the end ---- */

/* What is not there; `is_wrong` false: it is all there. */
struct difference {
	bool is_wrong;
	uint64_t offset_bytes;
	uint32_t there;
};

/* Under the lock, because the memory may go when nothing is expected there. */
static struct difference compare_locked(const struct expectation *expectation)
{
	const volatile uint32_t *words = expectation->expected.place;
	uint64_t count = expectation->expected.size_bytes / sizeof(*words);

	lock_assert_held(&markers_lock);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t there = words[i];

		if (there != expectation->expected.value)
			return (struct difference){ true, i * sizeof(*words), there };
	}
	return (struct difference){ .is_wrong = false };
}

static void report(const struct expectation *expectation, const struct difference *difference)
{
	if (!difference->is_wrong)
		return;
	nt_report(expectation->was_preempted ? RULE_DDI_PREEMPT_RESUBMIT : RULE_DDI_FENCE_NO_EARLY,
		  "A packet was reported to be over%s, and the bytes it writes at offset %llu are "
		  "0x%x instead of 0x%x",
		  expectation->was_preempted ? " after it was preempted and submitted again" : "",
		  (unsigned long long)difference->offset_bytes, difference->there,
		  expectation->expected.value);
}

/* One that is over by now is looked at and taken out; false: there is none. */
static bool look_at_next(bool (*is_over)(const struct expectation *expectation,
					 const void *context),
			 const void *context)
{
	struct difference difference = { .is_wrong = false };
	struct expectation taken;
	bool is_found = false;

	lock_acquire(&markers_lock);
	for (size_t i = 0; i < EXPECTATIONS && !is_found; i++) {
		is_found = is_over(&expectations[i], context);
		if (is_found) {
			taken = expectations[i];
			difference = compare_locked(&taken);
			drop_locked(&expectations[i]);
		}
	}
	lock_release(&markers_lock);
	if (is_found)
		report(&taken, &difference);
	return is_found;
}

struct news {
	const struct verify_adapter *adapter;
	uint32_t node;
	uint32_t fence; /* it and all before it are over */
};

static bool is_of_node(const struct expectation *expectation, const struct news *news)
{
	return expectation->state == RUNNING && expectation->adapter == news->adapter &&
	       expectation->node == news->node;
}

static bool is_completed(const struct expectation *expectation, const void *context)
{
	const struct news *news = context;

	return is_of_node(expectation, news) && !fence_is_after(expectation->fence, news->fence);
}

static bool has_progressed(const struct expectation *expectation, const void *context)
{
	const struct news *news = context;

	return expectation->state == RUNNING_IN_QUEUE && expectation->adapter == news->adapter &&
	       atomic_load(expectation->progress) >= expectation->value;
}

static void on_completed(const struct news *news)
{
	while (look_at_next(is_completed, news))
		;
}

/* They come again. */
static void on_given_back(const struct news *news, bool is_preempted)
{
	lock_acquire(&markers_lock);
	for (size_t i = 0; i < EXPECTATIONS; i++) {
		if (!is_of_node(&expectations[i], news))
			continue;
		expectations[i].state = WAITING;
		expectations[i].was_preempted |= is_preempted;
	}
	lock_release(&markers_lock);
}

static void callback_before(struct verify_callback *callback, void *state)
{
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->arguments;
	struct news news = { .adapter = callback->adapter };

	(void)state;
	if (callback->id != VERIFY_CB_NotifyInterrupt || !data || !are_there_any())
		return;
	switch ((int)data->InterruptType) {
	case DXGK_INTERRUPT_DMA_COMPLETED:
		news.node = data->DmaCompleted.NodeOrdinal;
		news.fence = data->DmaCompleted.SubmissionFenceId;
		on_completed(&news);
		break;
	case DXGK_INTERRUPT_DMA_PREEMPTED:
		news.node = data->DmaPreempted.NodeOrdinal;
		news.fence = data->DmaPreempted.LastCompletedFenceId;
		if (news.fence != 0)
			on_completed(&news);
		on_given_back(&news, true);
		break;
	case DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED:
		while (look_at_next(has_progressed, &news))
			;
		break;
	default:
		break;
	}
}

/* ---- every call ---- */

/* What ran there has no end any more. */
static void forget_running_locked(const struct verify_adapter *adapter)
{
	lock_assert_held(&markers_lock);
	for (size_t i = 0; i < EXPECTATIONS; i++) {
		if ((expectations[i].state == RUNNING ||
		     expectations[i].state == RUNNING_IN_QUEUE) &&
		    expectations[i].adapter == adapter)
			drop_locked(&expectations[i]);
	}
}

static void on_removal(const struct verify_adapter *adapter, struct markers *markers)
{
	lock_acquire(&markers_lock);
	markers->is_gone = true;
	forget_running_locked(adapter);
	lock_release(&markers_lock);
}

static void end(struct verify_adapter *adapter, void *state)
{
	(void)state;
	lock_acquire(&markers_lock);
	forget_running_locked(adapter);
	lock_release(&markers_lock);
}

static void before(struct verify_call *call, void *state)
{
	if (call->ddi == DDI_NOTIFY_SURPRISE_REMOVAL)
		on_removal(call->adapter, state);
	if (!are_there_any())
		return;
	if (call->ddi == DDI_SUBMIT_COMMAND_VIRTUAL) {
		const DXGKARG_SUBMITCOMMANDVIRTUAL *args = call->arguments;

		on_submission(call, HANDLE_CONTEXT, args->hContext, args->DmaBufferVirtualAddress,
			      &(struct expectation){ .state = RUNNING,
						     .node = args->NodeOrdinal,
						     .fence = args->SubmissionFenceId });
	} else if (call->ddi == DDI_SUBMIT_COMMAND_TO_HW_QUEUE) {
		const DXGKARG_SUBMITCOMMANDTOHWQUEUE *args = call->arguments;

		if (args->HwQueueProgressFenceCpuVa)
			on_submission(
				call, HANDLE_HW_QUEUE, args->hHwQueue,
				args->DmaBufferVirtualAddress,
				&(struct expectation){ .state = RUNNING_IN_QUEUE,
						       .progress = args->HwQueueProgressFenceCpuVa,
						       .value = args->HwQueueProgressFenceId });
	}
}

/* What was aborted may come again, or never: nobody can tell by its end. */
static void after(struct verify_call *call, void *state)
{
	struct news news = { .adapter = call->adapter };

	(void)state;
	if (!are_there_any() || !NT_SUCCESS(call->status))
		return;
	if (call->ddi == DDI_RESET_ENGINE) {
		news.node = ((const DXGKARG_RESETENGINE *)call->arguments)->NodeOrdinal;
		on_given_back(&news, false);
	} else if (call->ddi == DDI_RESET_FROM_TIMEOUT) {
		for (news.node = 0; news.node < MINIPORT_MAX_NODES; news.node++)
			on_given_back(&news, false);
	}
}

const struct verify_watching verify_watch_markers = {
	.state_bytes = sizeof(struct markers),
	.end = end,
	.before = before,
	.after = after,
	.callback_before = callback_before,
};
