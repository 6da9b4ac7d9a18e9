/* SPDX-License-Identifier: MIT */
/*
 * watch_time.c - how long a driver keeps a processor (DDI-TIME).
 *
 *	DISPATCH_LEVEL       100 us        an entry point, a DPC
 *	interrupt level       25 us        the routine of DxgkCbSynchronizeExecution
 *	PASSIVE_LEVEL        TdrDdiDelay
 *
 * DXGK_DDI_TIME_US="100 25" says other limits for the first two. Stalls (KeStallExecutionProcessor) count to the
 * microsecond. For what is computed there is no exact time: a virtual clock does not see it, and a real one sees the
 * machine's other work as well. A call that was short by the real clock did little. One that was not has the next calls
 * of its kind measured by what the thread itself did (base/effort.h): instructions, or time on a processor, far beyond
 * the limit each of several times in a row. Noise only adds to a time, and never to so many short ones one after the other.
 *
 * Callbacks are the kernel's time, and what the other watches do then is ours: a clock is stopped before they look (verify.c).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/effort.h"
#include "base/thread.h"
#include "miniport/work.h"
#include "nt/irql.h"
#include "nt/stall.h"
#include "verify/verify.h"

enum {
	DISPATCH_US = 100,
	INTERRUPT_US = 25,
	INSTRUCTIONS_PER_US = 10000, /* more than any processor does */
	NOISE = 20,                  /* how far beyond, where time is all there is … */
	IN_A_ROW = 6,                /* … and so often */
	MEASURED_CALLS = 16,         /* after one that took long */
};

/* One for each entry point, and one for routines at interrupt level. */
enum { KIND_ROUTINE = DDI_COUNT, KINDS };

struct times {
	_Atomic int measured[KINDS]; /* calls that are still to be measured */
	_Atomic int in_a_row[KINDS];
	uint64_t passive_ns;
};

/* A stretch of the driver's code on this thread. */
struct stretch {
	struct stretch *outer;
	unsigned kind;
	uint8_t irql;
	bool is_measured;
	bool is_going;
	bool has_stopped_outer;
	uint64_t since_glance;
	uint64_t spent_glance; /* by the real clock */
	uint64_t since_clock;
	uint64_t spent_clock; /* in virtual time */
	struct effort since;
	uint64_t spent; /* by the thread itself */

	/* When it began. */
	uint64_t stalled_ns;
	uint64_t reports;
};

enum { STRETCHES = 8 };

/* Of the calling thread; too large for what a library that is loaded late has of that. */
struct meter {
	struct stretch stretches[STRETCHES];
	unsigned depth;
};
static _Thread_local void *kept_meter;

static struct meter *meter_here(void)
{
	return thread_keep(&kept_meter, sizeof(struct meter));
}

static uint64_t limits_us[2] = { DISPATCH_US, INTERRUPT_US };

static void read_limits(void)
{
	const char *text = getenv("DXGK_DDI_TIME_US");
	char *end = NULL;

	if (!text)
		return;
	uint64_t dispatch = strtoull(text, &end, 10);
	uint64_t interrupt = strtoull(end, NULL, 10);
	if (dispatch > 0 && interrupt > 0) {
		limits_us[0] = dispatch;
		limits_us[1] = interrupt;
	}
}

static uint64_t limit_ns(const struct stretch *stretch)
{
	return limits_us[stretch->kind == KIND_ROUTINE] * NS_PER_US;
}

/* ---- the clocks ---- */

static void go(struct stretch *stretch)
{
	stretch->is_going = true;
	if (thread_is_simulated())
		stretch->since_clock = clock_peek_ns();
	stretch->since_glance = effort_glance_ns();
	if (stretch->is_measured)
		stretch->since = effort_now();
}

static void halt(struct stretch *stretch)
{
	if (!stretch->is_going)
		return;
	stretch->is_going = false;
	if (stretch->is_measured)
		stretch->spent += effort_now().amount - stretch->since.amount;
	stretch->spent_glance += effort_glance_ns() - stretch->since_glance;
	if (thread_is_simulated())
		stretch->spent_clock += clock_peek_ns() - stretch->since_clock;
}

static struct stretch *innermost(struct meter *meter)
{
	return meter && meter->depth > 0 && meter->depth <= STRETCHES
		       ? &meter->stretches[meter->depth - 1]
		       : NULL;
}

static void push(struct times *times, unsigned kind)
{
	struct meter *meter = meter_here();
	struct stretch *outer = innermost(meter);
	bool stops_outer = outer && outer->is_going;

	if (outer)
		halt(outer);
	if (meter)
		meter->depth++;
	struct stretch *stretch = innermost(meter);
	if (!stretch)
		return;
	*stretch = (struct stretch){
		.kind = kind,
		.irql = nt_irql_current(),
		.is_measured = atomic_load(&times->measured[kind]) > 0,
		.has_stopped_outer = stops_outer,
		.stalled_ns = nt_stalled_ns,
		.reports = nt_reports_here,
	};
	go(stretch);
}

/* ---- judging ---- */

static const char *name_of(unsigned kind)
{
	return kind == KIND_ROUTINE ? "The routine given to DxgkCbSynchronizeExecution"
				    : ddi_infos[kind].name;
}

static void judge_stalls(const struct stretch *stretch)
{
	uint64_t stalled_ns = nt_stalled_ns - stretch->stalled_ns;

	if (stalled_ns > limit_ns(stretch))
		nt_report(RULE_DDI_TIME,
			  "%s stalled the processor for %llu us at %s; %llu us are the limit",
			  name_of(stretch->kind), (unsigned long long)(stalled_ns / NS_PER_US),
			  nt_irql_name(stretch->irql),
			  (unsigned long long)(limit_ns(stretch) / NS_PER_US));
}

static void judge_effort(struct times *times, const struct stretch *stretch)
{
	uint64_t limit = stretch->since.is_counted
				 ? limit_ns(stretch) / NS_PER_US * INSTRUCTIONS_PER_US
				 : limit_ns(stretch) * NOISE;

	if (stretch->spent <= limit) {
		atomic_store(&times->in_a_row[stretch->kind], 0);
		return;
	}
	int in_a_row = atomic_fetch_add(&times->in_a_row[stretch->kind], 1) + 1;
	if (stretch->since.is_counted)
		nt_report(RULE_DDI_TIME,
			  "%s executed %llu instructions at %s; %llu us are the limit",
			  name_of(stretch->kind), (unsigned long long)stretch->spent,
			  nt_irql_name(stretch->irql),
			  (unsigned long long)(limit_ns(stretch) / NS_PER_US));
	else if (in_a_row == IN_A_ROW)
		nt_report(RULE_DDI_TIME,
			  "%s had a processor for %llu us at %s, %d times in a row; %llu us are "
			  "the limit",
			  name_of(stretch->kind), (unsigned long long)(stretch->spent / NS_PER_US),
			  nt_irql_name(stretch->irql), IN_A_ROW,
			  (unsigned long long)(limit_ns(stretch) / NS_PER_US));
}

static void judge_high(struct times *times, const struct stretch *stretch)
{
	judge_stalls(stretch);
	if (stretch->is_measured) {
		atomic_fetch_sub(&times->measured[stretch->kind], 1);
		judge_effort(times, stretch);
	} else if (stretch->spent_glance > limit_ns(stretch)) {
		atomic_store(&times->measured[stretch->kind], MEASURED_CALLS);
	}
}

/* By virtual time for who waits, and by what the thread did for who does not: a machine may be slow. */
static void judge_passive(struct times *times, const struct stretch *stretch)
{
	uint64_t spent_ns = stretch->spent_clock;

	if (stretch->is_measured) {
		atomic_fetch_sub(&times->measured[stretch->kind], 1);
		if (stretch->since.is_counted)
			spent_ns += stretch->spent / INSTRUCTIONS_PER_US * NS_PER_US;
		else
			spent_ns += stretch->spent;
	} else if (stretch->spent_glance > times->passive_ns) {
		atomic_store(&times->measured[stretch->kind], MEASURED_CALLS);
	}
	if (spent_ns > times->passive_ns)
		nt_report(RULE_DDI_TIME,
			  "%s returned after %llu ms; TdrDdiDelay, %llu ms, is the limit",
			  name_of(stretch->kind), (unsigned long long)(spent_ns / NS_PER_MS),
			  (unsigned long long)(times->passive_ns / NS_PER_MS));
}

static void pop(struct times *times)
{
	struct meter *meter = meter_here();
	struct stretch *stretch = innermost(meter);
	bool goes_on = !stretch || stretch->has_stopped_outer;

	if (stretch)
		halt(stretch);
	if (meter && meter->depth > 0)
		meter->depth--;
	if (stretch && stretch->reports == nt_reports_here) {
		if (stretch->irql >= DISPATCH_LEVEL)
			judge_high(times, stretch);
		else
			judge_passive(times, stretch);
	}
	if (innermost(meter) && goes_on)
		go(innermost(meter));
}

void verify_time_stop(void)
{
	struct stretch *stretch = innermost(meter_here());

	if (stretch)
		halt(stretch);
}

void verify_time_go_on(void)
{
	struct stretch *stretch = innermost(meter_here());

	if (stretch)
		go(stretch);
}

/* ---- every call ---- */

static void begin(struct verify_adapter *adapter, void *state)
{
	struct times *times = state;

	(void)adapter;
	read_limits();
	times->passive_ns = UINT64_MAX;
}

static void before(struct verify_call *call, void *state)
{
	push(state, call->ddi);
}

static void after(struct verify_call *call, void *state)
{
	struct times *times = state;

	pop(times);
	/* From then on the registry has it. */
	if (call->ddi == DDI_START_DEVICE) {
		struct miniport_tdr_settings settings;

		miniport_tdr_settings(call->adapter->miniport, &settings);
		times->passive_ns = settings.ddi_delay_s * NS_PER_S;
	}
}

static void routine_before(struct verify_callback *callback, void *state)
{
	(void)callback;
	push(state, KIND_ROUTINE);
}

static void routine_after(struct verify_callback *callback, void *state)
{
	(void)callback;
	pop(state);
}

const struct verify_watching verify_watch_time = {
	.state_bytes = sizeof(struct times),
	.begin = begin,
	.before = before,
	.after = after,
	.routine_before = routine_before,
	.routine_after = routine_after,
};
