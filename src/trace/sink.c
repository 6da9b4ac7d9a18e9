/* SPDX-License-Identifier: MIT */
/*
 * sink.c - see sink.h. The format is described in "Trace Event Format" of the Chromium project.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "trace/sink.h"

static const char kind_phases[] = {
	[TRACE_KIND_INSTANT] = 'i',     [TRACE_KIND_BEGIN] = 'B',     [TRACE_KIND_END] = 'E',
	[TRACE_KIND_ASYNC_BEGIN] = 'b', [TRACE_KIND_ASYNC_END] = 'e', [TRACE_KIND_COUNTER] = 'C',
};

/* Length of the UTF-8 character that `text` starts with; 0 when it is not one. */
static size_t utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high;
		size_t length;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (text[0] < 0x80)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (text[0] < forms[i].first_low || text[0] > forms[i].first_high)
			continue;
		if (text[1] < forms[i].second_low || text[1] > forms[i].second_high)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++) {
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].length;
	}
	return 0;
}

/* Names come from strangers and may be cut in the middle of a character; the file stays valid. */
static void put_string(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)(text ? text : "");

	fputc('"', out);
	while (*at) {
		size_t length = utf8_length(at);
		if (length == 0) {
			fputs("\\ufffd", out);
			length = 1;
		} else if (*at == '"' || *at == '\\') {
			fprintf(out, "\\%c", *at);
		} else if (*at < 0x20) {
			fprintf(out, "\\u%04x", *at);
		} else {
			fwrite(at, 1, length, out);
		}
		at += length;
	}
	fputc('"', out);
}

static void put_value(FILE *out, const struct trace_entry *entry, uint32_t field)
{
	uint64_t value = entry->fields[field].number;

	switch (entry->info->fields[field].type) {
	case TRACE_FIELD_U32:
	case TRACE_FIELD_U64:
		fprintf(out, "%" PRIu64, value);
		break;
	case TRACE_FIELD_HEX:
	case TRACE_FIELD_HANDLE:
	case TRACE_FIELD_KEY:
		fprintf(out, "\"0x%" PRIx64 "\"", value);
		break;
	case TRACE_FIELD_STATUS:
		put_string(out, status_name((NTSTATUS)(uint32_t)value));
		break;
	case TRACE_FIELD_NAME:
	case TRACE_FIELD_LITERAL:
	case TRACE_FIELD_TEXT:
	case TRACE_FIELD_TYPE_COUNT:
		put_string(out, entry->fields[field].text);
		break;
	}
}

static void put_title(FILE *out, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;
	const char *title = info->title;

	for (uint32_t i = 0; i < info->field_count; i++) {
		if (info->fields[i].type == TRACE_FIELD_NAME && *entry->fields[i].text)
			title = entry->fields[i].text;
	}
	fputs(",\"name\":", out);
	put_string(out, title);
}

/* "id":"0x1:0x40000080" from the keys, if there are any. */
static void put_id(FILE *out, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;
	bool is_first = true;

	for (uint32_t i = 0; i < info->field_count; i++) {
		if (info->fields[i].type != TRACE_FIELD_KEY)
			continue;
		fprintf(out, "%s0x%" PRIx64, is_first ? ",\"id\":\"" : ":",
			entry->fields[i].number);
		is_first = false;
	}
	if (!is_first)
		fputc('"', out);
}

static void put_arguments(FILE *out, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;
	bool is_first = true;

	for (uint32_t i = 0; i < info->field_count; i++) {
		enum trace_field_type type = info->fields[i].type;
		/* Every argument of a counter is a curve. */
		if (type == TRACE_FIELD_NAME ||
		    (type == TRACE_FIELD_KEY && info->kind == TRACE_KIND_COUNTER))
			continue;
		fputs(is_first ? ",\"args\":{" : ",", out);
		put_string(out, info->fields[i].name);
		fputc(':', out);
		put_value(out, entry, i);
		is_first = false;
	}
	if (!is_first)
		fputc('}', out);
}

void sink_begin(FILE *out, const char *process_name)
{
	fputs("{\"traceEvents\":[\n"
	      "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":",
	      out);
	put_string(out, process_name);
	fputs("}}", out);
}

/* Viewers take the name of a thread from an event of their own. */
static void put_thread(FILE *out, const struct trace_entry *entry)
{
	fprintf(out,
		",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%" PRIu32
		",\"name\":\"thread_name\",\"args\":{\"name\":",
		entry->thread);
	put_string(out, entry->fields[0].text);
	fputs("}}", out);
}

void sink_event(FILE *out, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;

	if (entry->event == TRACE_thread)
		put_thread(out, entry);
	if (info->kind == TRACE_KIND_METADATA)
		return;
	fprintf(out, ",\n{\"ph\":\"%c\",\"cat\":", kind_phases[info->kind]);
	put_string(out, info->category);
	fprintf(out, ",\"pid\":1,\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03" PRIu64, entry->thread,
		entry->time_ns / NS_PER_US, entry->time_ns % NS_PER_US);
	if (info->kind == TRACE_KIND_INSTANT)
		fputs(",\"s\":\"t\"", out); /* as tall as its thread */
	/* An end closes the newest begin of its thread; by another name a viewer would not find it.
	 */
	if (info->kind != TRACE_KIND_END)
		put_title(out, entry);
	put_id(out, entry);
	put_arguments(out, entry);
	fputc('}', out);
}

void sink_end(FILE *out)
{
	fputs("\n],\"displayTimeUnit\":\"ns\"}\n", out);
}

void sink_write(FILE *out, struct trace_reader *reader)
{
	struct trace_entry entry;

	sink_begin(out, trace_reader_facts(reader)->program);
	while (trace_reader_next(reader, &entry))
		sink_event(out, &entry);
	sink_end(out);
}
