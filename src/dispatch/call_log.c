/* SPDX-License-Identifier: MIT */
/*
 * call_log.c - a call, its arguments, what came of it: one line of the log, from the table of calls.
 *
 * Of arguments what the caller gave is shown: handles, flags, counts of buffers, and what calls.def
 * shows besides; of results, handles and numbers. Pointers say nothing to a reader.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "dispatch/path.h"
#include "trace/trace.h"

struct text {
	char bytes[640];
	size_t used;
};

PRINTF_LIKE(2, 3) static void put(struct text *text, const char *format, ...)
{
	size_t left = sizeof(text->bytes) - text->used;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(text->bytes + text->used, left, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->used += (size_t)length < left ? (size_t)length : left - 1;
}

/* As much of it as fits a number. */
static uint64_t read_number(const void *args, uint32_t offset, uint32_t size_bytes)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)args + offset, size_bytes < 8 ? size_bytes : 8);
	return value;
}

static void put_flags(struct text *text, const struct call_field *field, uint32_t flags)
{
	char bits[160];

	put(text, "%s 0x%x", field->name, flags);
	if (flags == 0)
		return;
	call_describe_bits(field->names, flags, bits, sizeof(bits));
	put(text, " [%s]", bits);
}

static void put_shown(struct text *text, const struct call_field *field, uint64_t value)
{
	const char *name = call_name_of(field->names, value);

	if (name)
		put(text, "%s %s", field->name, name);
	else if (field->kind == FIELD_SHOWN_HEX)
		put(text, "%s 0x%" PRIx64, field->name, value);
	else
		put(text, "%s %" PRIu64, field->name, value);
}

static void put_argument(struct text *text, const struct call_field *field, const void *args)
{
	uint64_t value = read_number(args, field->offset, field->size_bytes);

	if (field->kind == FIELD_OUT || field->kind == FIELD_OPAQUE)
		return;
	if (text->used > 0)
		put(text, ", ");
	switch ((enum call_field_kind)field->kind) {
	case FIELD_HANDLE:
	case FIELD_HANDLE_OR_0:
		put(text, "%s 0x%08" PRIx64, field->name, value);
		break;
	case FIELD_FLAGS:
		put_flags(text, field, (uint32_t)value);
		break;
	case FIELD_BYTES_IN:
	case FIELD_BYTES_INOUT:
	case FIELD_ARRAY_OUT:
		put(text, "%s %" PRIu64, field->count_name,
		    read_number(args, field->count_offset, sizeof(uint32_t)));
		break;
	case FIELD_SHOWN:
	case FIELD_SHOWN_HEX:
		put_shown(text, field, value);
		break;
	case FIELD_OPAQUE:
	case FIELD_OUT:
		break;
	}
}

static void put_result(struct text *text, const struct call_field *field, const void *args)
{
	bool is_number = field->size_bytes == 4 || field->size_bytes == 8;

	if (field->kind == FIELD_OUT && is_number)
		put(text, ", %s 0x%" PRIx64, field->name,
		    read_number(args, field->offset, field->size_bytes));
}

static void put_call(struct text *arguments, struct text *results, const struct call *call,
		     const void *client_args, NTSTATUS status)
{
	const struct call_description *description = call->description;

	for (unsigned i = 0; client_args && i < description->field_count; i++) {
		put_argument(arguments, &description->fields[i], call->args.bytes);
		if (NT_SUCCESS(status))
			put_result(results, &description->fields[i], call->args.bytes);
	}
}

static void tell_trace(const struct call *call, const void *client_args, NTSTATUS status)
{
	struct text text = { .used = 0 };
	struct text results = { .used = 0 };

	put_call(&text, &results, call, client_args, status);
	put(&text, "%s", results.bytes);
	trace_api_call_arguments(text.bytes);
}

static void tell_log(const struct call *call, const void *client_args, NTSTATUS status)
{
	const struct call_description *description = call->description;
	struct text arguments = { .used = 0 };
	struct text results = { .used = 0 };

	put_call(&arguments, &results, call, client_args, status);
	log_topic(LOG_CALLS, "%s(%s): %s%s", description->name, arguments.bytes,
		  status_name(status), results.bytes);
}

RARE static void tell_all(const struct call *call, const void *client_args, NTSTATUS status)
{
	if (trace_has(TRACE_WITH_ARGUMENTS))
		tell_trace(call, client_args, status);
	trace_api_call_end(status);
	if (log_is_on(LOG_CALLS))
		tell_log(call, client_args, status);
}

void call_tell(const struct call *call, const void *client_args, NTSTATUS status)
{
	if (trace_has(TRACE_WITH_ARGUMENTS) || UNLIKELY(log_is_on(LOG_CALLS)))
		tell_all(call, client_args, status);
	else
		trace_api_call_end(status);
}
