/* SPDX-License-Identifier: MIT */
/*
 * watch_statuses.c - what a driver may answer where its capabilities, or a lack of memory, say more than one call does.
 *
 *	NOT_SUPPORTED to what was promised                             DDI-STATUS-NOT-IMPLEMENTED
 *	no memory: another status, something left, no second try       DDI-STATUS-CREATE-OOM
 *	a context that is refused for another reason                   DDI-STATUS-CONTEXT
 *
 * What a creation took before it failed need not be free at once: a driver may have made a table larger. When the
 * adapter is removed it has to be.
 */
#include "verify/pool_events.h"
#include "verify/verify.h"

enum { FAILURES_MAX = 32, TRIES = 2 };

struct statuses {
	struct lock lock; /* LOCK_RANK_LEAF: guards the rest */

	/* Creations that failed for want of memory, and what they had not given back. */
	struct {
		enum ddi ddi;
		struct block_list *blocks;
	} failures[FAILURES_MAX];
	uint32_t failure_count;

	/* Of each entry point: it failed so, and how often again though there was memory. */
	bool was_short[DDI_COUNT];
	uint8_t failed_again[DDI_COUNT];
};

static void begin(struct verify_adapter *adapter, void *state)
{
	struct statuses *statuses = state;

	(void)adapter;
	lock_init(&statuses->lock, LOCK_RANK_LEAF, "verified statuses");
}

static bool is_creation(enum ddi ddi)
{
	return ddi == DDI_CREATE_PROCESS || ddi == DDI_CREATE_DEVICE || ddi == DDI_CREATE_CONTEXT ||
	       ddi == DDI_CREATE_HW_CONTEXT || ddi == DDI_CREATE_HW_QUEUE ||
	       ddi == DDI_CREATE_ALLOCATION || ddi == DDI_OPEN_ALLOCATION ||
	       ddi == DDI_CREATE_CPU_EVENT;
}

/* ---- promises ---- */

/* The kernel asks for these only of who has all of their family, or said that it has them. */
static bool is_promised(enum ddi ddi)
{
	return ddi_infos[ddi].need != DDI_NEED_OPTIONAL || ddi == DDI_CREATE_HW_CONTEXT ||
	       ddi == DDI_CREATE_HW_QUEUE || ddi == DDI_SUBMIT_COMMAND_TO_HW_QUEUE ||
	       ddi == DDI_SUSPEND_CONTEXT || ddi == DDI_RESUME_CONTEXT ||
	       ddi == DDI_RESET_HW_ENGINE || ddi == DDI_RESUME_HW_ENGINE ||
	       ddi == DDI_RESET_FROM_TIMEOUT || ddi == DDI_RESTART_FROM_TIMEOUT ||
	       ddi == DDI_NOTIFY_SURPRISE_REMOVAL || ddi == DDI_CREATE_PROCESS ||
	       ddi == DDI_CREATE_CPU_EVENT;
}

/* For GDI, with protection, or with hardware queues: not every driver has those. */
static bool is_special_context(const struct verify_call *call)
{
	const DXGKARG_CREATECONTEXT *args = call->arguments;

	return call->ddi == DDI_CREATE_CONTEXT &&
	       (args->Flags.GdiContext || args->Flags.SystemProtectedContext ||
		args->Flags.HwQueueSupported);
}

static void judge_promise(const struct verify_call *call)
{
	/* Of queries there are many that a driver need not know. */
	if (call->ddi == DDI_QUERY_ADAPTER_INFO || !is_promised(call->ddi) ||
	    is_special_context(call) ||
	    (call->status != STATUS_NOT_IMPLEMENTED && call->status != STATUS_NOT_SUPPORTED))
		return;
	nt_report(RULE_DDI_STATUS_NOT_IMPLEMENTED,
		  "%s returned %s; the driver has it, and what it said about itself promises it",
		  ddi_infos[call->ddi].name, status_name(call->status));
}

/* ---- memory ---- */

/* Kept until the adapter is removed; the first are the ones that matter. */
static void keep_failure(struct statuses *statuses, enum ddi ddi, struct block_list *blocks)
{
	lock_acquire(&statuses->lock);
	bool fits = statuses->failure_count < FAILURES_MAX;
	if (fits) {
		statuses->failures[statuses->failure_count].ddi = ddi;
		statuses->failures[statuses->failure_count].blocks = blocks;
		statuses->failure_count++;
	}
	lock_release(&statuses->lock);
	if (!fits)
		blocks_forget(blocks);
}

/* True: once more, with memory, and once too often. */
static bool count_try(struct statuses *statuses, const struct verify_call *call, bool is_short)
{
	enum ddi ddi = call->ddi;
	bool is_too_often = false;

	lock_acquire(&statuses->lock);
	if (NT_SUCCESS(call->status)) {
		statuses->was_short[ddi] = false;
		statuses->failed_again[ddi] = 0;
	} else if (is_short) {
		statuses->was_short[ddi] = true;
		statuses->failed_again[ddi] = 0;
	} else if (statuses->was_short[ddi] && verify_is_lack_of_memory(call->status)) {
		is_too_often = ++statuses->failed_again[ddi] == TRIES;
	}
	lock_release(&statuses->lock);
	return is_too_often;
}

static void judge_memory(struct statuses *statuses, const struct verify_call *call,
			 struct block_list *blocks)
{
	const char *name = ddi_infos[call->ddi].name;
	bool is_short = blocks_refusals(blocks) > 0;
	bool is_too_often = count_try(statuses, call, is_short);

	if (NT_SUCCESS(call->status) || !is_short) {
		blocks_forget(blocks);
		if (is_too_often)
			nt_report(RULE_DDI_STATUS_CREATE_OOM,
				  "%s had no memory once, and returns %s now that it has", name,
				  status_name(call->status));
		return;
	}
	keep_failure(statuses, call->ddi, blocks);
	if (!verify_is_lack_of_memory(call->status))
		nt_report(RULE_DDI_STATUS_CREATE_OOM,
			  "%s was refused memory and returned %s; that is STATUS_NO_MEMORY", name,
			  status_name(call->status));
}

static void tell_of_left(struct statuses *statuses, bool tells)
{
	for (uint32_t i = 0; i < statuses->failure_count; i++) {
		struct block_list *blocks = statuses->failures[i].blocks;
		struct block_left left = blocks_left(blocks);
		char where[256];

		if (tells && left.count > 0) {
			nt_report_where_called(left.site, where, sizeof(where));
			nt_report_about(RULE_DDI_STATUS_CREATE_OOM, (uint64_t)(uintptr_t)left.site,
					"%s failed for want of memory and left %llu block%s of "
					"%llu bytes, the first allocated at %s",
					ddi_infos[statuses->failures[i].ddi].name,
					(unsigned long long)left.count, left.count == 1 ? "" : "s",
					(unsigned long long)left.bytes, where);
		}
		blocks_forget(blocks);
	}
	statuses->failure_count = 0;
}

/* ---- contexts ---- */

/* Private data may be malformed, and a node may be none for clients; else there is no reason but memory. */
static void judge_context(const struct verify_call *call)
{
	if (NT_SUCCESS(call->status) || verify_is_lack_of_memory(call->status) ||
	    call->status == STATUS_INVALID_PARAMETER ||
	    call->status == STATUS_GRAPHICS_DRIVER_MISMATCH || is_special_context(call))
		return;
	nt_report(RULE_DDI_STATUS_CONTEXT,
		  "%s returned %s; a context is refused for want of memory, or for what the client "
		  "gave",
		  ddi_infos[call->ddi].name, status_name(call->status));
}

/* ---- every call ---- */

static void before(struct verify_call *call, void *state)
{
	(void)state;
	if (is_creation(call->ddi))
		call->kept[VERIFY_WATCH_statuses] = (uint64_t)(uintptr_t)blocks_begin();
}

static void after(struct verify_call *call, void *state)
{
	judge_promise(call);
	if (is_creation(call->ddi)) {
		struct block_list *blocks =
			(struct block_list *)(uintptr_t)call->kept[VERIFY_WATCH_statuses];

		blocks_end(blocks);
		if (blocks)
			judge_memory(state, call, blocks);
	}
	if (call->ddi == DDI_CREATE_CONTEXT || call->ddi == DDI_CREATE_HW_CONTEXT)
		judge_context(call);
	if (call->ddi == DDI_REMOVE_DEVICE)
		tell_of_left(state, true);
}

/* Memory that the kernel had to refuse is refused memory, too. */
static void callback_after(struct verify_callback *callback, void *state)
{
	(void)state;
	if (verify_is_lack_of_memory(callback->status))
		blocks_refuse();
}

static void end(struct verify_adapter *adapter, void *state)
{
	struct statuses *statuses = state;

	(void)adapter;
	tell_of_left(statuses, false);
	lock_finish(&statuses->lock);
}

const struct verify_watching verify_watch_statuses = {
	.state_bytes = sizeof(struct statuses),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
	.callback_after = callback_after,
};
