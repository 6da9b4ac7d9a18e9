/* SPDX-License-Identifier: MIT */
/*
 * record.h - an event on its way from a thread to the file, and what is known about each kind.
 */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include <stdint.h>

#include "trace/trace.h"

/*
 * One slot of a ring and of the spool file. Copied texts follow in `text_slots` slots of bytes,
 * each text closed by a zero, in the order of the fields.
 */
struct trace_record {
	uint64_t time_ns;
	uint64_t sequence; /* order of events that happened in the same nanosecond */
	uint32_t thread;   /* thread_id() */
	uint16_t event;    /* enum trace_event; TRACE_NOTHING where a write to the spool failed */
	uint16_t text_slots;
	uint64_t fields[TRACE_FIELDS_MAX];
};
_Static_assert(sizeof(struct trace_record) == 64, "a record is one cache line");

enum trace_kind {
	TRACE_KIND_METADATA,
	TRACE_KIND_INSTANT,
	TRACE_KIND_BEGIN,
	TRACE_KIND_END,
	TRACE_KIND_ASYNC_BEGIN,
	TRACE_KIND_ASYNC_END,
	TRACE_KIND_COUNTER,
};

enum trace_category {
#define CATEGORY(name, title) TRACE_CATEGORY_##name,
#define EVENT(kind, category, name, title, count, ...)
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
	TRACE_CATEGORY_COUNT
};

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
};

struct trace_event_info {
	enum trace_kind kind;
	enum trace_category category;
	const char *title;
	uint32_t field_count;
	struct {
		enum trace_field_type type;
		const char *name;
	} fields[TRACE_FIELDS_MAX];
};

/* By enum trace_event. */
extern const struct trace_event_info trace_event_infos[TRACE_EVENT_COUNT];

extern const char *const trace_category_titles[TRACE_CATEGORY_COUNT];

#endif
