/* SPDX-License-Identifier: MIT */
/*
 * events.h - what is known about each kind of event.
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include <stdint.h>

#include "trace/trace.h"

/* Numbers of a trace file (docs/trace.md): they stay what they are. */
enum trace_kind {
	TRACE_KIND_METADATA,
	TRACE_KIND_INSTANT,
	TRACE_KIND_BEGIN,
	TRACE_KIND_END,
	TRACE_KIND_ASYNC_BEGIN,
	TRACE_KIND_ASYNC_END,
	TRACE_KIND_COUNTER,
	TRACE_KIND_COUNT
};

enum trace_category {
#define CATEGORY(name, title) TRACE_CATEGORY_##name,
#define EVENT(kind, category, name, title, count, ...)
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
	TRACE_CATEGORY_COUNT
};

/* Numbers of a trace file, too. */
enum trace_field_type {
	TRACE_FIELD_U32,
	TRACE_FIELD_U64,
	TRACE_FIELD_HEX,
	TRACE_FIELD_HANDLE,
	TRACE_FIELD_KEY,
	TRACE_FIELD_STATUS,
	TRACE_FIELD_NAME,
	TRACE_FIELD_LITERAL,
	TRACE_FIELD_TEXT,
	TRACE_FIELD_ID,
	TRACE_FIELD_TYPE_COUNT
};

struct trace_event_info {
	enum trace_kind kind;
	const char *category; /* its title; NULL of metadata */
	const char *name;     /* as in events.def */
	const char *title;
	uint32_t field_count;
	struct {
		enum trace_field_type type;
		const char *name;
	} fields[TRACE_FIELDS_MAX];
};

/* By enum trace_event. */
extern const struct trace_event_info trace_event_infos[TRACE_EVENT_COUNT];

/* Short forms (docs/trace.md). Their places in a table of events are behind these. */
enum trace_short_form {
	TRACE_SHORT_allocation_live = TRACE_EVENT_COUNT,
	TRACE_SHORT_allocation_dead,
	TRACE_SHORT_END
};
enum { TRACE_SHORT_COUNT = (int)TRACE_SHORT_END - (int)TRACE_EVENT_COUNT };

struct trace_short_info {
	enum trace_event event;
	uint32_t field_count; /* of its own: the first ones */
};
extern const struct trace_short_info trace_short_infos[TRACE_SHORT_COUNT];

extern const char *const trace_category_titles[TRACE_CATEGORY_COUNT];

/* TRACE_CATEGORY_COUNT when there is none of that title. */
enum trace_category trace_category_find(const char *title);

static inline bool trace_field_is_key(enum trace_field_type type)
{
	return type == TRACE_FIELD_KEY || type == TRACE_FIELD_ID;
}

static inline bool trace_field_is_string(enum trace_field_type type)
{
	return type == TRACE_FIELD_NAME || type == TRACE_FIELD_LITERAL || type == TRACE_FIELD_TEXT;
}

#endif
