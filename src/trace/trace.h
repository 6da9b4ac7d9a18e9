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
 * DXGK_TRACE=path turns it on when the library is loaded. A path that ends in ".json" gets the form
 * that ui.perfetto.dev and chrome://tracing read, when the trace ends: by trace_finish(), or when the
 * process ends through exit(). Every other one gets the binary form (docs/trace.md), as it happens.
 * A child of fork() does not trace.
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

/* How a trace is to be. */
enum trace_wishes {
	TRACE_AS_JSON = 1,
	TRACE_WITH_ARGUMENTS = 2, /* of all calls that it has, as text */
	TRACE_WITH_ADDRESSES = 4, /* where in its segment each allocation is */
	TRACE_WITH_LISTS = 8,     /* which allocations a packet lists */
	TRACE_WITH_DRIVER = 16,   /* calls into the driver, and from it */
	TRACE_WISHES = 31,
};

/* The same, to a file that is open, which is the trace's from now on, whatever comes of it. `name` is for messages. */
MUST_CHECK bool trace_start_to(int descriptor, const char *name, uint32_t wishes);

/*
 * Ends the trace and completes the file. Other threads may still emit; what they say from now on is
 * not kept. Does nothing when no trace is running.
 */
void trace_finish(void);

/* Which trace is running, counted from 1; 0 when none is. Hidden, so that reading it is one load.
 */
extern _Atomic uint32_t trace_session __attribute__((visibility("hidden")));

/* enum trace_wishes of the trace that is running; 0 when none is. */
extern _Atomic uint32_t trace_details __attribute__((visibility("hidden")));

/* Is a trace running that is to have this? */
static inline bool trace_has(enum trace_wishes wish)
{
	return UNLIKELY(atomic_load_explicit(&trace_details, memory_order_relaxed) & wish);
}

static inline bool trace_is_on(void)
{
	return UNLIKELY(atomic_load_explicit(&trace_session, memory_order_relaxed) != 0);
}

enum trace_event {
	TRACE_NOTHING,
	TRACE_thread, /* the first one of a thread: its name */
#define CATEGORY(name, title)
#define EVENT(kind, category, name, title, count, ...) TRACE_##name,
#include "trace/events.def"
#undef EVENT
	TRACE_EVENT_COUNT
};

enum { TRACE_FIELDS_MAX = 8 };

#define TRACE_TYPE_U32     uint32_t
#define TRACE_TYPE_U64     uint64_t
#define TRACE_TYPE_HEX     uint64_t
#define TRACE_TYPE_HANDLE  uint32_t
#define TRACE_TYPE_KEY     uint64_t
#define TRACE_TYPE_ID      uint64_t
#define TRACE_TYPE_STATUS  NTSTATUS
#define TRACE_TYPE_NAME    const char *
#define TRACE_TYPE_LITERAL const char *
#define TRACE_TYPE_TEXT    const char *

#define TRACE_PARAMETERS_1(type, field) TRACE_TYPE_##type field
#define TRACE_PARAMETERS_2(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_1(__VA_ARGS__)
#define TRACE_PARAMETERS_3(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_2(__VA_ARGS__)
#define TRACE_PARAMETERS_4(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_3(__VA_ARGS__)
#define TRACE_PARAMETERS_5(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_4(__VA_ARGS__)
#define TRACE_PARAMETERS_6(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_5(__VA_ARGS__)
#define TRACE_PARAMETERS_7(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_6(__VA_ARGS__)
#define TRACE_PARAMETERS_8(type, field, ...)                                                       \
	TRACE_TYPE_##type field, TRACE_PARAMETERS_7(__VA_ARGS__)

#define TRACE_ARGUMENTS_1(type, field)      field
#define TRACE_ARGUMENTS_2(type, field, ...) field, TRACE_ARGUMENTS_1(__VA_ARGS__)
#define TRACE_ARGUMENTS_3(type, field, ...) field, TRACE_ARGUMENTS_2(__VA_ARGS__)
#define TRACE_ARGUMENTS_4(type, field, ...) field, TRACE_ARGUMENTS_3(__VA_ARGS__)
#define TRACE_ARGUMENTS_5(type, field, ...) field, TRACE_ARGUMENTS_4(__VA_ARGS__)
#define TRACE_ARGUMENTS_6(type, field, ...) field, TRACE_ARGUMENTS_5(__VA_ARGS__)
#define TRACE_ARGUMENTS_7(type, field, ...) field, TRACE_ARGUMENTS_6(__VA_ARGS__)
#define TRACE_ARGUMENTS_8(type, field, ...) field, TRACE_ARGUMENTS_7(__VA_ARGS__)

/* trace_put_…(), in put.c: writes it. */
#define EVENT(kind, category, name, title, count, ...)                                             \
	void trace_put_##name(TRACE_PARAMETERS_##count(__VA_ARGS__));                              \
	static inline void trace_##name(TRACE_PARAMETERS_##count(__VA_ARGS__))                     \
	{                                                                                          \
		if (trace_is_on())                                                                 \
			trace_put_##name(TRACE_ARGUMENTS_##count(__VA_ARGS__));                    \
	}
#include "trace/events.def"
#undef EVENT
#undef CATEGORY

#endif
