/* SPDX-License-Identifier: MIT */
/*
 * watch_threads.c - who is in the driver together with whom, and what a thread may not have or do while it is there.
 *
 *	level 1        one thread of each class                                  DDI-LEVEL1-CLASS
 *	level 2 and 3  alone                                                     DDI-LEVEL23-ALONE
 *	a callback that leads into the driver again, under a lock of its own     DDI-LOCK-ACROSS
 *	DxgkDdiResetDevice that takes memory or waits                            DDI-RESETDEVICE
 *
 * The levels are the kernel's promise (miniport/ddi.c). It is watched here because a driver cannot keep any rule when
 * that one is broken.
 */
#include <stdatomic.h>

#include "nt/forbidden.h"
#include "nt/held.h"
#include "verify/verify.h"

struct threads {
	_Atomic int in_class[DDI_CLASS_COUNT];
	_Atomic int together; /* at level 0 and 1 */
	_Atomic int alone;    /* at level 2 and 3 */
};

/* A call inside of another is covered by what that one has. */
static bool is_outermost(const struct verify_call *call)
{
	return !call->outer;
}

static void report_company(const struct verify_call *call)
{
	nt_report(RULE_DDI_LEVEL23_ALONE,
		  "%s is called while another thread is in the driver, and one of them has to be "
		  "alone "
		  "there: this is the kernel's mistake",
		  ddi_infos[call->ddi].name);
}

static void enter_together(struct threads *threads, const struct verify_call *call)
{
	atomic_fetch_add(&threads->together, 1);
	if (atomic_load(&threads->alone) > 0)
		report_company(call);
}

static void enter_alone(struct threads *threads, const struct verify_call *call)
{
	if (atomic_fetch_add(&threads->alone, 1) > 0 || atomic_load(&threads->together) > 0)
		report_company(call);
}

static void enter_class(struct threads *threads, const struct verify_call *call)
{
	if (atomic_fetch_add(&threads->in_class[ddi_infos[call->ddi].class], 1) > 0)
		nt_report(
			RULE_DDI_LEVEL1_CLASS,
			"%s is called while another thread is in an entry point of its class: this "
			"is the kernel's mistake",
			ddi_infos[call->ddi].name);
}

static void before(struct verify_call *call, void *state)
{
	static const struct nt_forbidden at_bug_check = { RULE_DDI_RESETDEVICE,
							  "DxgkDdiResetDevice" };
	enum ddi_level level = ddi_innermost->level;

	call->kept[VERIFY_WATCH_threads] = level;
	if (level <= DDI_LEVEL_1 && is_outermost(call))
		enter_together(state, call);
	if (level == DDI_LEVEL_1)
		enter_class(state, call);
	if (level == DDI_LEVEL_2 || level == DDI_LEVEL_3)
		enter_alone(state, call);
	if (call->ddi == DDI_RESET_DEVICE)
		nt_forbidden = &at_bug_check;
}

static void after(struct verify_call *call, void *state)
{
	struct threads *threads = state;
	enum ddi_level level = (enum ddi_level)call->kept[VERIFY_WATCH_threads];

	if (call->ddi == DDI_RESET_DEVICE)
		nt_forbidden = NULL;
	if (level <= DDI_LEVEL_1 && is_outermost(call))
		atomic_fetch_sub(&threads->together, 1);
	if (level == DDI_LEVEL_1)
		atomic_fetch_sub(&threads->in_class[ddi_infos[call->ddi].class], 1);
	if (level == DDI_LEVEL_2 || level == DDI_LEVEL_3)
		atomic_fetch_sub(&threads->alone, 1);
}

/* They wait for the kernel's own threads, which build and submit; or wake who comes right back. */
static bool comes_back(enum verify_callback_id id)
{
	return id == VERIFY_CB_CreateContextAllocation || id == VERIFY_CB_MapContextAllocation ||
	       id == VERIFY_CB_UpdateContextAllocation ||
	       id == VERIFY_CB_DestroyContextAllocation || id == VERIFY_CB_SignalEvent;
}

static void callback_before(struct verify_callback *callback, void *state)
{
	struct nt_held_lock held;
	char where[256];

	(void)state;
	if (!comes_back(callback->id) || !nt_held_last(&held))
		return;
	nt_report_where_called(held.site, where, sizeof(where));
	nt_report(RULE_DDI_LOCK_ACROSS,
		  "%s was called while the %s %p is held, taken at %s; the driver may be entered "
		  "again "
		  "before it returns",
		  verify_callback_names[callback->id], held.kind, held.lock, where);
}

const struct verify_watching verify_watch_threads = {
	.state_bytes = sizeof(struct threads),
	.before = before,
	.after = after,
	.callback_before = callback_before,
};
