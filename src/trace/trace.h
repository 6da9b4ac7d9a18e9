/* SPDX-License-Identifier: MIT */
/*
 * trace.h - what happened, cheaply.
 *
 *	trace_device_create(process_id, device_handle, adapter_id);
 *
 * One function per line of events.def. Off, which is the normal case, it costs a relaxed load and a
 * branch. On, it writes a record into a ring of the calling thread, without a lock; any lock may be
 * held. Emitting is no step of a seeded run: with and without a trace a seed gives the same run,
 * and with one it gives the same file, byte for byte.
 *
 * DXGK_TRACE=path turns it on when the library is loaded. The file is complete after
 * trace_finish(), or when the process ends through exit(); it opens in ui.perfetto.dev and
 * chrome://tracing. A child of fork() does not trace.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

/*
 * From now on events go to `path`, which is created or overwritten. False, after a warning, when
 * that cannot be done or a trace is already running. Not from two threads at once.
 */
MUST_CHECK bool trace_start(const char *path);

/* The same, to a file that is open, which is the trace's from now on, whatever comes of it. `name` is for messages. */
MUST_CHECK bool trace_start_to(int descriptor, const char *name);

/*
 * Ends the trace and completes the file. Other threads may still emit; what they say from now on is
 * not kept. Does nothing when no trace is running.
 */
void trace_finish(void);

/* Which trace is running, counted from 1; 0 when none is. Hidden, so that reading it is one load.
 */
extern _Atomic uint32_t trace_session __attribute__((visibility("hidden")));

static inline bool trace_is_on(void)
{
	return UNLIKELY(atomic_load_explicit(&trace_session, memory_order_relaxed) != 0);
}

enum trace_event {
	TRACE_NOTHING,
	TRACE_THREAD, /* the first record of a thread: its name */
#define CATEGORY(name, title)
#define EVENT(kind, category, name, title, count, ...) TRACE_##name,
#include "trace/events.def"
#undef EVENT
	TRACE_EVENT_COUNT
};

enum { TRACE_FIELDS_MAX = 5 };

/* Behind the functions below. */
void trace_write(enum trace_event event, const uint64_t *fields);

#define TRACE_TYPE_U32     uint32_t
#define TRACE_TYPE_U64     uint64_t
#define TRACE_TYPE_HEX     uint64_t
#define TRACE_TYPE_HANDLE  uint32_t
#define TRACE_TYPE_KEY     uint64_t
#define TRACE_TYPE_STATUS  NTSTATUS
#define TRACE_TYPE_NAME    const char *
#define TRACE_TYPE_LITERAL const char *
#define TRACE_TYPE_TEXT    const char *

#define TRACE_VALUE_U32(value)     (value)
#define TRACE_VALUE_U64(value)     (value)
#define TRACE_VALUE_HEX(value)     (value)
#define TRACE_VALUE_HANDLE(value)  (value)
#define TRACE_VALUE_KEY(value)     (value)
#define TRACE_VALUE_STATUS(value)  ((uint32_t)(value))
#define TRACE_VALUE_NAME(value)    ((uintptr_t)(value))
#define TRACE_VALUE_LITERAL(value) ((uintptr_t)(value))
#define TRACE_VALUE_TEXT(value)    ((uintptr_t)(value))

#define TRACE_PARAMETERS_1(type, field) TRACE_TYPE_##type field
#define TRACE_PARAMETERS_2(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_1(__VA_ARGS__)
#define TRACE_PARAMETERS_3(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_2(__VA_ARGS__)
#define TRACE_PARAMETERS_4(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_3(__VA_ARGS__)
#define TRACE_PARAMETERS_5(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_4(__VA_ARGS__)

#define TRACE_VALUES_1(type, field)      TRACE_VALUE_##type(field)
#define TRACE_VALUES_2(type, field, ...) TRACE_VALUE_##type(field), TRACE_VALUES_1(__VA_ARGS__)
#define TRACE_VALUES_3(type, field, ...) TRACE_VALUE_##type(field), TRACE_VALUES_2(__VA_ARGS__)
#define TRACE_VALUES_4(type, field, ...) TRACE_VALUE_##type(field), TRACE_VALUES_3(__VA_ARGS__)
#define TRACE_VALUES_5(type, field, ...) TRACE_VALUE_##type(field), TRACE_VALUES_4(__VA_ARGS__)

#define EVENT(kind, category, name, title, count, ...)                                             \
	static inline void trace_##name(TRACE_PARAMETERS_##count(__VA_ARGS__))                     \
	{                                                                                          \
		if (trace_is_on())                                                                 \
			trace_write(TRACE_##name,                                                  \
				    (const uint64_t[]){ TRACE_VALUES_##count(__VA_ARGS__) });      \
	}
#include "trace/events.def"
#undef EVENT
#undef CATEGORY

#endif
