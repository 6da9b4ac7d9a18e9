/* SPDX-License-Identifier: MIT */
/*
 * sink_test.c - one event, one line. The events are the test's own, one of each kind and type.
 */
#include "support/test.h"
#include "trace/sink.h"

enum { CALL, CALL_END, MOMENT, LIFE, LIFE_END, CURVE, THREAD };

static const struct trace_event_info infos[] = {
	[CALL] = { TRACE_KIND_BEGIN,
		   "api",
		   "",
		   "call",
		   2,
		   { { TRACE_FIELD_NAME, "call" }, { TRACE_FIELD_U32, "irql" } } },
	[CALL_END] = { TRACE_KIND_END, "api", "", "call", 1, { { TRACE_FIELD_STATUS, "status" } } },
	[MOMENT] = { TRACE_KIND_INSTANT,
		     "fence",
		     "",
		     "moment",
		     5,
		     { { TRACE_FIELD_TEXT, "first" },
		       { TRACE_FIELD_U64, "number" },
		       { TRACE_FIELD_TEXT, "second" },
		       { TRACE_FIELD_HEX, "bits" },
		       { TRACE_FIELD_LITERAL, "literal" } } },
	[LIFE] = { TRACE_KIND_ASYNC_BEGIN,
		   "object",
		   "",
		   "device",
		   3,
		   { { TRACE_FIELD_KEY, "process_id" },
		     { TRACE_FIELD_KEY, "device_handle" },
		     { TRACE_FIELD_HANDLE, "adapter" } } },
	[LIFE_END] = { TRACE_KIND_ASYNC_END,
		       "object",
		       "",
		       "device",
		       1,
		       { { TRACE_FIELD_KEY, "process_id" } } },
	[CURVE] = { TRACE_KIND_COUNTER,
		    "paging",
		    "",
		    "segment",
		    3,
		    { { TRACE_FIELD_KEY, "segment" },
		      { TRACE_FIELD_U64, "resident" },
		      { TRACE_FIELD_U64, "offered" } } },
	[THREAD] = { .kind = TRACE_KIND_METADATA,
		     .title = "thread_name",
		     .field_count = 1,
		     .fields = { { TRACE_FIELD_TEXT, "name" } } },
};

/* The line of one event, valid until the next call. Texts lie one behind the other, in the order of the fields. */
static const char *line_of(uint16_t event, const uint64_t *fields, const char *texts,
			   size_t texts_bytes)
{
	static char line[4096];
	struct trace_entry entry = { .time_ns = 1234567,
				     .thread = 7,
				     .event = event == THREAD ? TRACE_thread : TRACE_NOTHING,
				     .info = &infos[event] };
	FILE *out = fmemopen(line, sizeof(line), "w");

	(void)texts_bytes;
	for (uint32_t i = 0; i < infos[event].field_count; i++) {
		entry.fields[i].number = fields ? fields[i] : 0;
		entry.fields[i].text = "";
		if (infos[event].fields[i].type == TRACE_FIELD_TEXT) {
			entry.fields[i].text = texts;
			texts += strlen(texts) + 1;
		} else if (fields && trace_field_is_string(infos[event].fields[i].type)) {
			entry.fields[i].text = (const char *)(uintptr_t)fields[i];
		}
	}
	struct sink sink = { .out = out, .pid = 1 };
	sink_event(&sink, &entry);
	fclose(out);
	return line + strlen(",\n");
}

TEST(sink, a_duration_is_named_after_its_call_and_ends_with_its_status)
{
	EXPECT_STR(line_of(CALL, (uint64_t[]){ (uintptr_t) "D3DKMTEscape", 2 }, NULL, 0),
		   "{\"ph\":\"B\",\"cat\":\"api\",\"pid\":1,\"tid\":7,\"ts\":1234.567,"
		   "\"name\":\"D3DKMTEscape\",\"args\":{\"irql\":2}}");
	EXPECT_STR(line_of(CALL_END, (uint64_t[]){ (uint32_t)STATUS_INVALID_PARAMETER }, NULL, 0),
		   "{\"ph\":\"E\",\"cat\":\"api\",\"pid\":1,\"tid\":7,\"ts\":1234.567,"
		   "\"args\":{\"status\":\"STATUS_INVALID_PARAMETER\"}}");
	EXPECT_CONTAINS(line_of(CALL_END, (uint64_t[]){ 0xc0ffee00 }, NULL, 0), "\"0xc0ffee00\"");
}

TEST(sink, a_moment_carries_its_fields_in_order)
{
	EXPECT_STR(
		line_of(MOMENT, (uint64_t[]){ 0, UINT64_MAX, 0, 0xab, (uintptr_t) "word" },
			"one\0two", 8),
		"{\"ph\":\"i\",\"cat\":\"fence\",\"pid\":1,\"tid\":7,\"ts\":1234.567,\"s\":\"t\","
		"\"name\":\"moment\",\"args\":{\"first\":\"one\","
		"\"number\":18446744073709551615,\"second\":\"two\",\"bits\":\"0xab\","
		"\"literal\":\"word\"}}");
}

TEST(sink, a_life_is_identified_by_all_its_keys)
{
	EXPECT_STR(line_of(LIFE, (uint64_t[]){ 1, 0x40000080, 0x40000040 }, NULL, 0),
		   "{\"ph\":\"b\",\"cat\":\"object\",\"pid\":1,\"tid\":7,\"ts\":1234.567,"
		   "\"name\":\"device\",\"id\":\"0x1:0x40000080\",\"args\":{\"process_id\":\"0x1\","
		   "\"device_handle\":\"0x40000080\",\"adapter\":\"0x40000040\"}}");
	EXPECT_CONTAINS(line_of(LIFE_END, (uint64_t[]){ 1 }, NULL, 0), "\"ph\":\"e\"");
	EXPECT_CONTAINS(line_of(LIFE_END, (uint64_t[]){ 1 }, NULL, 0), "\"id\":\"0x1\"");
}

TEST(sink, a_counter_has_numbers_only)
{
	EXPECT_STR(line_of(CURVE, (uint64_t[]){ 2, 4096, 0 }, NULL, 0),
		   "{\"ph\":\"C\",\"cat\":\"paging\",\"pid\":1,\"tid\":7,\"ts\":1234.567,"
		   "\"name\":\"segment\",\"id\":\"0x2\",\"args\":{\"resident\":4096,"
		   "\"offered\":0}}");
}

TEST(sink, a_thread_gets_its_name)
{
	EXPECT_STR(line_of(THREAD, NULL, "worker", 7),
		   "{\"ph\":\"M\",\"pid\":1,\"tid\":7,\"name\":\"thread_name\","
		   "\"args\":{\"name\":\"worker\"}}");
}

static const char *name_as_json(const char *name)
{
	static char text[4096];
	const char *line = line_of(THREAD, NULL, name, strlen(name) + 1);
	const char *start = strstr(line, "{\"name\":") + strlen("{\"name\":");

	snprintf(text, sizeof(text), "%.*s", (int)(strlen(start) - strlen("}}")), start);
	return text;
}

TEST(sink, strings_are_escaped)
{
	EXPECT_STR(name_as_json("plain /&'"), "\"plain /&'\"");
	EXPECT_STR(name_as_json("\"\\\n\x01\x1f\x7f"), "\"\\\"\\\\\\u000a\\u0001\\u001f\x7f\"");
	EXPECT_STR(name_as_json("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
		   "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST(sink, what_is_not_utf_8_is_replaced)
{
	EXPECT_STR(name_as_json("cut \xe2\x82"), "\"cut \\ufffd\\ufffd\"");
	EXPECT_STR(name_as_json("\xff\x80x"), "\"\\ufffd\\ufffdx\"");
	EXPECT_STR(name_as_json("\xc0\xaf"), "\"\\ufffd\\ufffd\"");            /* too long a form */
	EXPECT_STR(name_as_json("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* half a pair */
	EXPECT_STR(name_as_json("\xf4\x90\x80\x80"),
		   "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* beyond the last character */
}

TEST_MAIN("trace/sink")
