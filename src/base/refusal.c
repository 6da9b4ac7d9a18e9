/* SPDX-License-Identifier: MIT */
/*
 * refusal.c - see refusal.h. One record per thread; the newest replaces the one before.
 *
 * What is refused inside of a call is written down beside it, and told to nobody before the call is
 * over: a call that found another way and succeeds was not refused.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/refusal.h"
#include "base/thread.h"

static const char *const rule_ids[RULE_COUNT] = {
#define RULE(name, id) [RULE_##name] = id,
#include "base/rules.def"
#undef RULE
};

/* A record, and whose answer it is about. */
struct told {
	struct dxgk_refusal record;
	enum rule rule; /* RULE_COUNT: another process counts it */
	char whose[256];
};

struct records {
	struct dxgk_refusal last; /* with size_bytes 0: there was none yet */
	struct told pending;
};

static _Thread_local void *kept_records; /* struct records, from the first one on */
_Thread_local struct refusal_scope *refusal_innermost;
static _Atomic uint64_t refusal_count;
static _Atomic uint64_t counts_by_rule[RULE_COUNT];
static void (*refusal_listener)(const struct dxgk_refusal *refusal);
static const struct refusal_comments *_Atomic refusal_commented;

const char *rule_id(enum rule rule)
{
	return rule_ids[rule];
}

uint64_t refusal_told(enum rule rule)
{
	return atomic_load_explicit(&counts_by_rule[rule], memory_order_relaxed);
}

static void refusal_tell(struct told *told)
{
	struct dxgk_refusal *record = &told->record;

	record->sequence = atomic_fetch_add_explicit(&refusal_count, 1, memory_order_relaxed) + 1;
	if (told->rule < RULE_COUNT)
		atomic_fetch_add_explicit(&counts_by_rule[told->rule], 1, memory_order_relaxed);
	log_topic(LOG_REFUSALS, "%s: %s (%s, %s)", record->call, record->reason, record->rule,
		  status_name(record->status));
	if (told->whose[0])
		log_topic(LOG_REFUSALS, "  after %s", told->whose);
	if (refusal_listener)
		refusal_listener(record);
}

PRINTF_LIKE(6, 0)
static void refusal_compose(struct dxgk_refusal *record, NTSTATUS status, enum rule rule,
			    const char *argument, int64_t index, const char *format,
			    va_list arguments)
{
	int used = 0;

	*record = (struct dxgk_refusal){
		.size_bytes = sizeof(*record),
		.status = status,
		.index = index,
	};
	snprintf(record->call, sizeof(record->call), "%s",
		 refusal_innermost ? refusal_innermost->call : "opendxgk");
	snprintf(record->argument, sizeof(record->argument), "%s", argument ? argument : "");
	snprintf(record->rule, sizeof(record->rule), "%s", rule_id(rule));
	if (argument && index >= 0)
		used = snprintf(record->reason, sizeof(record->reason), "%s[%lld] ", argument,
				(long long)index);
	else if (argument)
		used = snprintf(record->reason, sizeof(record->reason), "%s ", argument);
	if (used >= 0 && (size_t)used < sizeof(record->reason))
		vsnprintf(record->reason + used, sizeof(record->reason) - (size_t)used, format,
			  arguments);
}

PRINTF_LIKE(5, 0)
static void refusal_note(NTSTATUS status, enum rule rule, const char *argument, int64_t index,
			 const char *format, va_list arguments)
{
	const struct refusal_comments *comments =
		atomic_load_explicit(&refusal_commented, memory_order_acquire);
	struct told told = { .rule = rule, .whose = "" };

	if (refusal_innermost && refusal_innermost->has_refused)
		return;
	if (refusal_innermost)
		refusal_innermost->has_refused = true;
	refusal_compose(&told.record, status, rule, argument, index, format, arguments);
	if (comments) {
		comments->explain(rule, told.record.reason, sizeof(told.record.reason));
		if (log_is_on(LOG_REFUSALS))
			comments->whose(rule, told.whose, sizeof(told.whose));
	}

	/* The call around this one was refused already, which is what its caller is to hear. */
	bool is_kept = !refusal_innermost || !refusal_innermost->is_aside;
	struct records *records = is_kept ? thread_keep(&kept_records, sizeof(*records)) : NULL;
	if (refusal_innermost && records) {
		refusal_innermost->is_untold = true;
		records->pending = told;
		return;
	}
	refusal_tell(&told);
	if (records)
		records->last = told.record;
}

void refusal_say(NTSTATUS status, enum rule rule, const char *argument, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	refusal_note(status, rule, argument, -1, format, arguments);
	va_end(arguments);
}

void refusal_say_item(NTSTATUS status, enum rule rule, const char *argument, uint64_t index,
		      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	refusal_note(status, rule, argument, (int64_t)index, format, arguments);
	va_end(arguments);
}

void refusal_tell_pending(void)
{
	struct records *records = kept_records;

	refusal_tell(&records->pending);
	records->last = records->pending.record;
}

const char *refusal_call(void)
{
	return refusal_innermost ? refusal_innermost->call : NULL;
}

void refusal_repeat(const struct dxgk_refusal *refusal)
{
	struct told told = { .record = *refusal, .rule = RULE_COUNT, .whose = "" };

	refusal_tell(&told);
	refusal_carry(&told.record);
}

void refusal_carry(const struct dxgk_refusal *refusal)
{
	struct records *records = thread_keep(&kept_records, sizeof(*records));

	if (records)
		records->last = *refusal;
	if (refusal_innermost)
		refusal_innermost->has_refused = true;
}

void refusal_listen(void (*listener)(const struct dxgk_refusal *refusal))
{
	refusal_listener = listener;
}

void refusal_comment(const struct refusal_comments *comments)
{
	atomic_store_explicit(&refusal_commented, comments, memory_order_release);
}

bool refusal_last(struct dxgk_refusal *refusal)
{
	const struct records *records = kept_records;

	if (!records)
		return false;
	const struct dxgk_refusal *last = refusal_innermost && refusal_innermost->is_untold
						  ? &records->pending.record
						  : &records->last;
	/* The first version of the record is the whole of it today. */
	if (!refusal || refusal->size_bytes < sizeof(*last) || last->size_bytes == 0)
		return false;
	memcpy(refusal, last, sizeof(*last));
	return true;
}
