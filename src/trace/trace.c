/* SPDX-License-Identifier: MIT */
/*
 * trace.c - see trace.h. Turns tracing on and off, and makes records of events.
 *
 *   a thread  ->  its ring (ring.c)  ->  the spool (spool.c)  ->  the file (sink.c), at the end
 *
 * Locks: none. `trace_session` says whether there is a trace; ring.c explains how its end and the
 * threads that still write agree.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own_fd.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "trace/ring.h"
#include "trace/sink.h"
#include "trace/spool.h"

enum {
	TEXT_MAX_BYTES = 512, /* a longer text is cut */
	RINGS_TO_SPARE = 8,   /* for threads of clients that are inside when a trace begins */
};

_Atomic uint32_t trace_session;

static _Atomic bool is_file_open; /* from trace_start() until trace_finish() has written it */
static _Atomic uint64_t last_sequence;
static uint32_t last_session;
static struct own_fd file = OWN_FD_NONE;
static char *file_path; /* not counted as memory: malloc */

static size_t text_bytes(uint64_t field)
{
	const char *text = (const char *)(uintptr_t)field;

	return text ? strnlen(text, TEXT_MAX_BYTES - 1) + 1 : 1;
}

static uint32_t count_text_slots(const struct trace_event_info *info, const uint64_t *fields)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < info->field_count; i++) {
		if (info->fields[i].type == TRACE_FIELD_TEXT)
			bytes += text_bytes(fields[i]);
	}
	return (uint32_t)((bytes + sizeof(struct trace_record) - 1) / sizeof(struct trace_record));
}

static void fill_in(struct trace_record *record, const struct trace_event_info *info,
		    const uint64_t *fields)
{
	char *text = (char *)(record + 1);

	for (uint32_t i = 0; i < info->field_count; i++) {
		if (info->fields[i].type != TRACE_FIELD_TEXT) {
			record->fields[i] = fields[i];
			continue;
		}
		size_t bytes = text_bytes(fields[i]);
		memcpy(text, fields[i] ? (const char *)(uintptr_t)fields[i] : "", bytes - 1);
		text[bytes - 1] = '\0';
		text += bytes;
	}
}

static void write_record(struct ring *ring, enum trace_event event, const uint64_t *fields)
{
	const struct trace_event_info *info = &trace_event_infos[event];
	uint32_t text_slots = count_text_slots(info, fields);
	struct trace_record *record = ring_reserve(ring, 1 + text_slots);

	uint32_t thread =
		thread_id(); /* first: a new client thread may have to wait for its turn */

	if (!record)
		return;
	*record = (struct trace_record){
		.time_ns = clock_peek_ns(),
		.sequence = atomic_fetch_add_explicit(&last_sequence, 1, memory_order_relaxed),
		.thread = thread,
		.event = (uint16_t)event,
		.text_slots = (uint16_t)text_slots,
	};
	fill_in(record, info, fields);
	ring_commit(ring, 1 + text_slots);
}

void trace_write(enum trace_event event, const uint64_t *fields)
{
	uint32_t session = atomic_load(&trace_session);
	bool is_new;

	if (session == 0)
		return;
	struct ring *ring = ring_get(session, &is_new);
	if (!ring)
		return;
	if (UNLIKELY(is_new)) {
		uint64_t name[TRACE_FIELDS_MAX] = { (uintptr_t)thread_name() };
		write_record(ring, TRACE_THREAD, name);
	}
	write_record(ring, event, fields);
}

static void tell_refusal(const struct dxgk_refusal *refusal)
{
	trace_refusal(refusal->call, refusal->rule, refusal->reason, refusal->status);
}

/* Empties and keeps it; false with errno, and it is closed. Only one process writes to a file at a time. */
static bool keep_file(int descriptor)
{
	if (descriptor < 0)
		return false;
	if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 ||
	    (ftruncate(descriptor, 0) != 0 && errno != EINVAL)) {
		int saved_errno = errno;
		close(descriptor);
		errno = saved_errno;
		return false;
	}
	return own_fd_keep(descriptor, &file);
}

static void warn_start(const char *path)
{
	log_warn("trace: %s: %s; not tracing", path,
		 errno == EWOULDBLOCK ? "another process is tracing to this file"
				      : strerror(errno));
}

static bool start_to(int descriptor, const char *name)
{
	file_path = strdup(name);
	if (!keep_file(descriptor) || !file_path) {
		warn_start(name);
		goto close_file;
	}
	if (!spool_open()) {
		warn_start("temporary file");
		goto close_file;
	}
	ring_prepare(thread_count() + RINGS_TO_SPARE);
	atomic_store(&trace_session, ++last_session);
	return true;

close_file:
	own_fd_close(&file);
	free(file_path);
	file_path = NULL;
	atomic_store(&is_file_open, false);
	return false;
}

static bool is_first(const char *name)
{
	bool is_running = atomic_exchange(&is_file_open, true);

	if (is_running)
		log_warn("trace: %s: a trace is already running", name);
	return !is_running;
}

bool trace_start(const char *path)
{
	return is_first(path) && start_to(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666), path);
}

bool trace_start_to(int descriptor, const char *name)
{
	if (is_first(name))
		return start_to(descriptor, name);
	close(descriptor);
	return false;
}

static void visit_record(void *context, const struct trace_record *record)
{
	sink_event(context, trace_event_infos, record);
}

/* False with errno. */
static bool write_file(void)
{
	int fd = own_fd_use(&file, "it is the trace's, and no trace is written");
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		own_fd_close(&file);
		errno = fd < 0 ? EBADF : errno;
		return false;
	}
	file = (struct own_fd)OWN_FD_NONE; /* the stream closes it */
	errno = 0;
	sink_begin(out, program_invocation_short_name);
	bool is_good = spool_visit(visit_record, out);
	sink_end(out);
	is_good = !ferror(out) && is_good;
	return fclose(out) == 0 && is_good;
}

void trace_finish(void)
{
	uint32_t session = atomic_exchange(&trace_session, 0);

	if (session == 0)
		return;
	ring_collect(session);
	if (!write_file())
		log_warn("trace: %s: %s; the file is not complete", file_path, strerror(errno));
	if (spool_error() != 0)
		log_warn("trace: temporary file: %s; events are missing", strerror(spool_error()));
	spool_close();
	free(file_path);
	file_path = NULL;
	atomic_store(&is_file_open, false);
}

/* The file and the rings are the parent's business. */
static void leave_trace_to_parent(void)
{
	atomic_store(&trace_session, 0);
	ring_forget_all();
	spool_close();
	own_fd_close(&file);
	free(file_path);
	file_path = NULL;
	atomic_store(&is_file_open, false);
}

static void join_trace(void)
{
	uint32_t session = atomic_load(&trace_session);

	if (session != 0)
		ring_take_own(session);
}

__attribute__((constructor)) static void trace_start_from_environment(void)
{
	const char *path = secure_getenv("DXGK_TRACE");

	thread_on_begin(join_trace);
	thread_on_fork(leave_trace_to_parent);
	refusal_listen(tell_refusal);
	if (path && *path && !trace_start(path))
		return; /* it has said why */
}

/* The last destructor of the library: an embedded kernel that stops in one is still in the trace.
 */
__attribute__((destructor(101))) static void trace_finish_at_exit(void)
{
	trace_finish();
}
