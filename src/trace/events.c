/* SPDX-License-Identifier: MIT */
/*
 * events.c - events.def as tables.
 */
#include <string.h>

#include "trace/events.h"

const char *const trace_category_titles[TRACE_CATEGORY_COUNT] = {
#define CATEGORY(name, title) [TRACE_CATEGORY_##name] = title,
#define EVENT(kind, category, name, title, count, ...)
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
};

#define CATEGORY(name, title) static const char category_##name[] = title;
#define EVENT(kind, category, name, title, count, ...)
#include "trace/events.def"
#undef EVENT
#undef CATEGORY

#define FIELDS_1(type, field)                                                                      \
	{                                                                                          \
		TRACE_FIELD_##type, #field                                                         \
	}
#define FIELDS_2(type, field, ...) FIELDS_1(type, field), FIELDS_1(__VA_ARGS__)
#define FIELDS_3(type, field, ...) FIELDS_1(type, field), FIELDS_2(__VA_ARGS__)
#define FIELDS_4(type, field, ...) FIELDS_1(type, field), FIELDS_3(__VA_ARGS__)
#define FIELDS_5(type, field, ...) FIELDS_1(type, field), FIELDS_4(__VA_ARGS__)
#define FIELDS_6(type, field, ...) FIELDS_1(type, field), FIELDS_5(__VA_ARGS__)
#define FIELDS_7(type, field, ...) FIELDS_1(type, field), FIELDS_6(__VA_ARGS__)
#define FIELDS_8(type, field, ...) FIELDS_1(type, field), FIELDS_7(__VA_ARGS__)

const struct trace_event_info trace_event_infos[TRACE_EVENT_COUNT] = {
	[TRACE_thread] = { .kind = TRACE_KIND_METADATA,
			   .name = "thread",
			   .title = "thread_name",
			   .field_count = 2,
			   .fields = { FIELDS_2(TEXT, name, U32, tid) } },
#define CATEGORY(name, title)
#define EVENT(kind, category, name, title, count, ...)                                             \
	[TRACE_##name] = { TRACE_KIND_##kind,                                                      \
			   category_##category,                                                    \
			   #name,                                                                  \
			   title,                                                                  \
			   count,                                                                  \
			   { FIELDS_##count(__VA_ARGS__) } },
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
};

const struct trace_short_info trace_short_infos[TRACE_SHORT_COUNT] = {
	[TRACE_SHORT_allocation_live - TRACE_EVENT_COUNT] = { TRACE_allocation_live, 1 },
	[TRACE_SHORT_allocation_dead - TRACE_EVENT_COUNT] = { TRACE_allocation_dead, 1 },
};

enum trace_category trace_category_find(const char *title)
{
	uint32_t at = 0;

	while (at < TRACE_CATEGORY_COUNT &&
	       (!title || strcmp(trace_category_titles[at], title) != 0))
		at++;
	return (enum trace_category)at;
}
