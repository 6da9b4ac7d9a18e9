/* SPDX-License-Identifier: MIT */
/*
 * ddi.c - see ddi.h.
 *
 * The levels of WDDM, as locks, outermost first:
 *
 *   client->entry      levels 0 and 1: no two threads of one process in the driver
 *   level_gate         shared by levels 0 and 1, exclusive for levels 2 and 3: alone in the driver
 *   class_locks[]      level 1: one thread per class
 *
 * An entry point may wait, in a callback, until the kernel's own threads have built and submitted
 * something (DxgkCbUpdateContextAllocation). So those threads never stand behind one that waits to
 * be alone in the driver, and none of theirs is in the way of another: what they enter at level 1
 * belongs to no process and takes no `entry`. And when the thread in the callback enters the driver
 * again itself, it has its process and its level already.
 *
 * Level 2 also promises an idle GPU and level 3 evicted memory; that is arranged by whoever decides
 * to go there, before it comes here. Interrupts and DPCs (level NONE) take none of these locks, so
 * an entry point may wait for a thread that is in a callback.
 *
 * A level is a mutex even where the driver runs at DISPATCH_LEVEL: locks are taken before the IRQL
 * goes up, as the scheduler thread would do it on NT.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/refusal.h"
#include "miniport/ddi_arguments.h"
#include "miniport/internal.h"
#include "nt/fault.h"
#include "nt/report.h"
#include "trace/trace.h"

const struct ddi_info ddi_infos[DDI_COUNT] = {
#define DDI(ddi_name, member, ddi_index, ddi_since, ddi_need, ddi_irql, ddi_level, ddi_class,      \
	    ddi_result)                                                                            \
	[DDI_##ddi_name] = {                                                                       \
		.name = "DxgkDdi" #member,                                                         \
		.index = (ddi_index),                                                              \
		.since = (ddi_since),                                                              \
		.need = DDI_NEED_##ddi_need,                                                       \
		.irql = DDI_IRQL_##ddi_irql,                                                       \
		.level = DDI_LEVEL_##ddi_level,                                                    \
		.class = DDI_CLASS_##ddi_class,                                                    \
		.result = DDI_RESULT_##ddi_result,                                                 \
	},
#include "miniport/ddi.def"
#undef DDI
};

/* The struct is Version and then pointers only: a member's index is its place. */
#define DDI(name, member, index, since, need, irql, level, class, result)                          \
	_Static_assert(offsetof(DRIVER_INITIALIZATION_DATA, DxgkDdi##member) ==                    \
			       (index) * sizeof(void *),                                           \
		       "ddi.def and the header disagree about DxgkDdi" #member);
#include "miniport/ddi.def"
#undef DDI

static const struct {
	uint32_t interface_version;
	uint32_t wddm_version;
	uint32_t member_count;
} known_versions[] = {
	{ DXGKDDI_INTERFACE_VERSION_WIN7, 1100, 71 },
	{ DXGKDDI_INTERFACE_VERSION_WIN8, 1200, 83 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM1_3, 1300, 89 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM1_3_PATH_INDEPENDENT_ROTATION, 1300, 89 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_0, 2000, 104 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_1, 2100, 110 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_1_5, 2100, 110 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_1_6, 2100, 110 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_2, 2200, 129 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_3, 2300, 132 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_4, 2400, 144 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_5, 2500, 149 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_6, 2600, 153 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_7, 2700, 154 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_8, 2800, 154 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM2_9, 2900, 158 },
	{ DXGKDDI_INTERFACE_VERSION_WDDM3_0, 3000, 162 },
	{ 0x10004, 3100, 172 },
	/* What 3.2 adds is not documented: its drivers are read as far as 3.1 goes. */
	{ 0x11007, 3200, 172 },
};

uint32_t ddi_member_count(uint32_t interface_version)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_versions); i++) {
		if (known_versions[i].interface_version == interface_version)
			return known_versions[i].member_count;
	}
	return 0;
}

uint32_t ddi_wddm_version(uint32_t interface_version)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_versions); i++) {
		if (known_versions[i].interface_version == interface_version)
			return known_versions[i].wddm_version;
	}
	return 0;
}

_Thread_local struct ddi_crossing *ddi_innermost;

struct miniport_client *ddi_current_client(void)
{
	return ddi_innermost ? ddi_innermost->client : NULL;
}

static uint8_t irql_of(enum ddi_irql irql)
{
	switch (irql) {
	case DDI_IRQL_PASSIVE:
		return PASSIVE_LEVEL;
	case DDI_IRQL_DISPATCH:
		return DISPATCH_LEVEL;
	case DDI_IRQL_DIRQL:
		return DDI_DEVICE_IRQL;
	case DDI_IRQL_ANY:
		break;
	}
	return nt_irql_current();
}

/* ---- for who tells of crashes and bad answers ---- */

static const char *innermost_name(void)
{
	return ddi_innermost ? ddi_infos[ddi_innermost->ddi].name : NULL;
}

static void innermost_arguments(char *text, size_t size_bytes)
{
	ddi_describe_arguments(ddi_innermost, text, size_bytes);
}

/* About an answer of a driver, by the name of the rule. */
static bool is_about_driver(enum rule rule)
{
	return strncmp(rule_id(rule), "DDI-", 4) == 0;
}

/* An answer that succeeded, and that no driver may give: of one that is verified it is a finding, at the routine. */
static bool is_illegal_answer(enum rule rule)
{
	return rule == RULE_DDI_ALLOCATION || rule == RULE_DDI_CONTEXT_INFO;
}

static void explain_refusal(enum rule rule, char *reason, size_t size_bytes)
{
	struct nt_stack stack = { .frames = { nt_entered.routine },
				  .count = 1,
				  .has_driver = true };

	if (is_about_driver(rule))
		nt_report_explain_values(reason, size_bytes);
	if (miniport_verifier && nt_entered.routine && is_illegal_answer(rule))
		nt_report_from(rule, 0, &stack, "%s", reason);
}

static void whose_answer(enum rule rule, char *text, size_t size_bytes)
{
	if (is_about_driver(rule) && nt_entered.routine)
		nt_report_where(nt_entered.routine, text, size_bytes);
}

void ddi_tell_reports(void)
{
	static const struct nt_entry_source source = { .name = innermost_name,
						       .arguments = innermost_arguments };
	static const struct refusal_comments comments = { .explain = explain_refusal,
							  .whose = whose_answer };

	nt_faults_ask(&source);
	refusal_comment(&comments);
}

bool ddi_is_inside(void)
{
	return ddi_innermost != NULL;
}

bool ddi_is_in(const struct miniport *miniport, enum ddi ddi)
{
	return ddi_innermost && ddi_innermost->miniport == miniport && ddi_innermost->ddi == ddi;
}

static const struct ddi_crossing *outer_of(const struct ddi_crossing *crossing)
{
	return crossing->is_simple ? NULL : crossing->outer;
}

bool ddi_is_in_class(const struct miniport *miniport, enum ddi_class class)
{
	const struct ddi_crossing *crossing = ddi_innermost;

	while (crossing && (crossing->miniport != miniport || !crossing->has_class ||
			    ddi_infos[crossing->ddi].class != class))
		crossing = outer_of(crossing);
	return crossing != NULL;
}

/* The crossing, further out on this thread, that holds the level of this driver; or NULL. */
static const struct ddi_crossing *holder_of_level(const struct miniport *miniport)
{
	const struct ddi_crossing *crossing = ddi_innermost;

	while (crossing && (crossing->miniport != miniport || !crossing->has_level))
		crossing = outer_of(crossing);
	return crossing;
}

static bool is_for_system(const struct ddi_crossing *crossing)
{
	return !crossing->client || crossing->client == &crossing->miniport->system_client;
}

static void take_entry(struct ddi_crossing *crossing, const struct ddi_crossing *holder)
{
	if (crossing->level == DDI_LEVEL_1 && is_for_system(crossing))
		return;
	if (holder) {
		/* One thread, two processes: then the inner one could meet its own thread. */
		assert(crossing->client == holder->client || !holder->client);
		return;
	}
	lock_acquire(&crossing->client->entry);
	crossing->has_entry = true;
}

static void take_shared_level(struct ddi_crossing *crossing)
{
	struct gate *level = &crossing->miniport->level_gate;

	if (is_for_system(crossing))
		gate_enter_ahead(level);
	else
		gate_enter(level);
	crossing->has_level = true;
}

static bool locks_acquire(struct ddi_crossing *crossing, uint64_t deadline_ns)
{
	const struct ddi_info *info = &ddi_infos[crossing->ddi];
	const struct ddi_crossing *holder = holder_of_level(crossing->miniport);

	switch (crossing->level) {
	case DDI_LEVEL_0:
	case DDI_LEVEL_1:
		take_entry(crossing, holder);
		if (!holder)
			take_shared_level(crossing);
		if (crossing->level == DDI_LEVEL_1) {
			lock_acquire(&crossing->miniport->class_locks[info->class]);
			crossing->has_class = true;
		}
		break;
	case DDI_LEVEL_2:
	case DDI_LEVEL_3:
		assert(!holder); /* it would wait for itself */
		crossing->has_level =
			gate_close_until(&crossing->miniport->level_gate, deadline_ns);
		return crossing->has_level;
	case DDI_LEVEL_NONE:
		break;
	}
	return true;
}

static void locks_release(struct ddi_crossing *crossing)
{
	struct miniport *miniport = crossing->miniport;

	if (crossing->has_class)
		lock_release(&miniport->class_locks[ddi_infos[crossing->ddi].class]);
	if (crossing->has_level && crossing->level <= DDI_LEVEL_1)
		gate_leave(&miniport->level_gate);
	else if (crossing->has_level)
		gate_open(&miniport->level_gate);
	if (crossing->has_entry)
		lock_release(&crossing->client->entry);
}

static bool enter(struct ddi_crossing *crossing, uint64_t deadline_ns)
{
	const struct ddi_info *info = &ddi_infos[crossing->ddi];
	uint8_t irql = irql_of(info->irql);

	lock_assert_none_held(info->name);
	if (!locks_acquire(crossing, deadline_ns))
		return false;
	crossing->outer = ddi_innermost;
	ddi_innermost = crossing;
	nt_entered.has_said = false;
	ddi_trace_begin(info->name, irql);
	nt_irql_enter(&crossing->irql, irql);
	crossing->behalf_before = nt_thread_act_for(crossing->client ? crossing->client->process
								     : nt_process_of_system());
	return true;
}

void ddi_enter_level(struct ddi_crossing *crossing, struct miniport *miniport,
		     struct miniport_client *client, enum ddi ddi, enum ddi_level level)
{
	*crossing = (struct ddi_crossing){
		.miniport = miniport,
		.client = client,
		.ddi = ddi,
		.level = level,
	};
	enter(crossing, CLOCK_FOREVER);
}

void ddi_enter(struct ddi_crossing *crossing, struct miniport *miniport,
	       struct miniport_client *client, enum ddi ddi)
{
	ddi_enter_level(crossing, miniport, client, ddi, ddi_infos[ddi].level);
}

bool ddi_enter_until(struct ddi_crossing *crossing, struct miniport *miniport,
		     struct miniport_client *client, enum ddi ddi, enum ddi_level level,
		     uint64_t deadline_ns)
{
	*crossing = (struct ddi_crossing){
		.miniport = miniport,
		.client = client,
		.ddi = ddi,
		.level = level,
	};
	return enter(crossing, deadline_ns);
}

static void say(const struct ddi_crossing *crossing, NTSTATUS status)
{
	char arguments[DDI_ARGUMENTS_TEXT];

	ddi_describe_arguments(crossing, arguments, sizeof(arguments));
	log_topic(LOG_CALLS, "%s(%s): %s", ddi_infos[crossing->ddi].name, arguments,
		  status_name(status));
}

void ddi_trace_arguments(const struct ddi_crossing *crossing)
{
	char arguments[DDI_ARGUMENTS_TEXT];

	ddi_describe_arguments(crossing, arguments, sizeof(arguments));
	trace_ddi_call_arguments(arguments);
}

static void cross_back(struct ddi_crossing *crossing, NTSTATUS status)
{
	const char *name = ddi_infos[crossing->ddi].name;

	nt_entered.routine = ddi_routine(crossing->miniport, crossing->ddi);
	nt_thread_act_for(crossing->behalf_before);
	nt_irql_leave(&crossing->irql, name);
	ddi_trace_end(crossing, status);
	ddi_innermost = crossing->outer;
	locks_release(crossing);
	if (UNLIKELY(log_is_on(LOG_CALLS)))
		say(crossing, status);
}

struct ddi_said ddi_said(void)
{
	const char *line = nt_debug_said();
	struct ddi_said said = { "" };

	if (line)
		snprintf(said.text, sizeof(said.text), ": \"%.*s\"", (int)sizeof(said.text) - 5,
			 line);
	return said;
}

static NTSTATUS judge_class(const struct ddi_crossing *crossing, NTSTATUS status)
{
	if (status > 0)
		return refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_STATUS_CLASS,
			      ddi_infos[crossing->ddi].name,
			      "returned %s, which is neither success nor failure",
			      status_name(status));
	return status;
}

NTSTATUS ddi_leave_quietly(struct ddi_crossing *crossing, NTSTATUS status)
{
	cross_back(crossing, status);
	return judge_class(crossing, status);
}

/* Some have a rule of their own: there is a page that says what becomes of their failure. */
static enum rule rule_of_success(enum ddi ddi)
{
	static const struct {
		enum ddi ddi;
		enum rule rule;
	} rules[] = {
		{ DDI_QUERY_ENGINE_STATUS, RULE_DDI_STATUS_QUERYENGINE },
		{ DDI_SUBMIT_COMMAND, RULE_DDI_STATUS_SUBMIT },
		{ DDI_PATCH, RULE_DDI_STATUS_PATCH },
		{ DDI_CANCEL_COMMAND, RULE_DDI_STATUS_CANCEL },
		{ DDI_UNMAP_CPU_HOST_APERTURE, RULE_DDI_STATUS_HOSTAPERTURE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].ddi == ddi)
			return rules[i].rule;
	}
	return RULE_DDI_MUST_SUCCEED;
}

static NTSTATUS judge(const struct ddi_crossing *crossing, NTSTATUS status)
{
	const struct ddi_info *info = &ddi_infos[crossing->ddi];

	if (info->result == DDI_RESULT_MUST_SUCCEED) {
		if (status != STATUS_SUCCESS)
			nt_report(rule_of_success(crossing->ddi),
				  "%s returned %s, and nothing can be done%s", info->name,
				  status_name(status), ddi_said().text);
		return status;
	}
	NTSTATUS judged = judge_class(crossing, status);

	if (!NT_SUCCESS(status))
		refuse(status, RULE_DDI_STATUS, info->name, "returned %s%s", status_name(status),
		       ddi_said().text);
	return judged;
}

NTSTATUS ddi_leave(struct ddi_crossing *crossing, NTSTATUS status)
{
	cross_back(crossing, status);
	return judge(crossing, status);
}

RARE NTSTATUS ddi_level_0_judge(struct ddi_crossing *crossing, NTSTATUS status)
{
	if (log_is_on(LOG_CALLS))
		say(crossing, status);
	return judge(crossing, status);
}

void ddi_leave_as_it_is(struct ddi_crossing *crossing, NTSTATUS status)
{
	cross_back(crossing, status);
}

void ddi_leave_void(struct ddi_crossing *crossing)
{
	cross_back(crossing, STATUS_SUCCESS);
}
