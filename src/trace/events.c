/* SPDX-License-Identifier: MIT */
/*
 * events.c - events.def as tables.
 */
#include "trace/record.h"

const char *const trace_category_titles[TRACE_CATEGORY_COUNT] = {
#define CATEGORY(name, title) [TRACE_CATEGORY_##name] = title,
#define EVENT(kind, category, name, title, count, ...)
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
};

#define FIELDS_1(type, field)                                                                      \
	{                                                                                          \
		TRACE_FIELD_##type, #field                                                         \
	}
#define FIELDS_2(type, field, ...) FIELDS_1(type, field), FIELDS_1(__VA_ARGS__)
#define FIELDS_3(type, field, ...) FIELDS_1(type, field), FIELDS_2(__VA_ARGS__)
#define FIELDS_4(type, field, ...) FIELDS_1(type, field), FIELDS_3(__VA_ARGS__)
#define FIELDS_5(type, field, ...) FIELDS_1(type, field), FIELDS_4(__VA_ARGS__)

const struct trace_event_info trace_event_infos[TRACE_EVENT_COUNT] = {
	[TRACE_THREAD] = { .kind = TRACE_KIND_METADATA,
			   .title = "thread_name",
			   .field_count = 1,
			   .fields = { FIELDS_1(TEXT, name) } },
#define CATEGORY(name, title)
#define EVENT(kind, category, name, title, count, ...)                                             \
	[TRACE_##name] = { TRACE_KIND_##kind,                                                      \
			   TRACE_CATEGORY_##category,                                              \
			   title,                                                                  \
			   count,                                                                  \
			   { FIELDS_##count(__VA_ARGS__) } },
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
};
