/*
 * refusal.c - see refusal.h. One record per thread; the newest replaces the one before.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/refusal.h"
#include "base/refusal_carry.h"
#include "base/thread.h"

static const char *const rule_ids[RULE_COUNT] = {
#define RULE(name, id) [RULE_##name] = id,
#include "base/rules.def"
#undef RULE
};

static _Thread_local void *kept_last; /* struct dxgk_refusal, from the first one on */
static _Thread_local struct refusal_scope *innermost;
static _Atomic uint64_t refusal_count;
static void (*refusal_listener)(const struct dxgk_refusal *refusal);

const char *rule_id(enum rule rule)
{
	return rule_ids[rule];
}

PRINTF_LIKE(5, 0)
static void refusal_record(NTSTATUS status, enum rule rule, const char *argument, int64_t index,
			   const char *format, va_list arguments)
{
	struct dxgk_refusal record = {
		.size_bytes = sizeof(record),
		.status = status,
		.sequence = atomic_fetch_add_explicit(&refusal_count, 1, memory_order_relaxed) + 1,
		.index = index,
	};
	int used = 0;

	snprintf(record.call, sizeof(record.call), "%s", innermost ? innermost->call : "opendxgk");
	snprintf(record.argument, sizeof(record.argument), "%s", argument ? argument : "");
	snprintf(record.rule, sizeof(record.rule), "%s", rule_id(rule));
	if (argument && index >= 0)
		used = snprintf(record.reason, sizeof(record.reason), "%s[%lld] ", argument,
				(long long)index);
	else if (argument)
		used = snprintf(record.reason, sizeof(record.reason), "%s ", argument);
	if (used >= 0 && (size_t)used < sizeof(record.reason))
		vsnprintf(record.reason + used, sizeof(record.reason) - (size_t)used, format,
			  arguments);

	struct dxgk_refusal *last = thread_keep(&kept_last, sizeof(*last));
	if (last)
		*last = record;
	log_topic(LOG_REFUSALS, "%s: %s (%s, %s)", record.call, record.reason, record.rule,
		  status_name(status));
	if (refusal_listener)
		refusal_listener(&record);
}

PRINTF_LIKE(5, 0)
static void refusal_note(NTSTATUS status, enum rule rule, const char *argument, int64_t index,
			 const char *format, va_list arguments)
{
	if (innermost && innermost->has_refused)
		return;
	if (innermost)
		innermost->has_refused = true;
	refusal_record(status, rule, argument, index, format, arguments);
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

void refusal_begin(struct refusal_scope *scope, const char *call)
{
	*scope = (struct refusal_scope){ .call = call, .outer = innermost };
	innermost = scope;
}

bool refusal_end(struct refusal_scope *scope)
{
	innermost = scope->outer;
	return scope->has_refused;
}

void refusal_carry(const struct dxgk_refusal *refusal)
{
	struct dxgk_refusal *last = thread_keep(&kept_last, sizeof(*last));

	if (last)
		*last = *refusal;
	if (innermost)
		innermost->has_refused = true;
}

void refusal_listen(void (*listener)(const struct dxgk_refusal *refusal))
{
	refusal_listener = listener;
}

bool refusal_last(struct dxgk_refusal *refusal)
{
	const struct dxgk_refusal *last = kept_last;

	/* The first version of the record is the whole of it today. */
	if (!refusal || refusal->size_bytes < sizeof(*last) || !last)
		return false;
	memcpy(refusal, last, sizeof(*last));
	return true;
}
