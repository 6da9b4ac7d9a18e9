/* SPDX-License-Identifier: MIT */
/*
 * trace.c - see trace.h. Turns tracing on and off.
 *
 *   a thread (put.c)  ->  its ring (ring.c)  ->  the thread that writes  ->  the file (spool.c)
 *                                                                         or a temporary one  ->  the file
 *                                                                         (reader.c, sink.c), at the end
 *
 * Locks: none. `trace_session` says whether there is a trace; ring.c explains how its end and the
 * threads that still write agree.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own_fd.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "trace/convert.h"
#include "trace/events.h"
#include "trace/put.h"
#include "trace/ring.h"
#include "trace/spool.h"

enum { RINGS_TO_SPARE = 8 /* for threads of clients that are inside when a trace begins */ };

_Atomic uint32_t trace_session;
_Atomic uint32_t trace_details;

static _Atomic bool is_file_open; /* from trace_start() until trace_finish() has written it */
static uint32_t last_session;
static struct own_fd file = OWN_FD_NONE;
static char *file_path; /* not counted as memory: malloc */
static bool is_json;
static bool is_spooled; /* the file is made at the end, of a temporary one */

/* ---- blocks that no thread's events are in ---- */

struct other_block {
	struct trace_block_header header;
	uint8_t bytes[TRACE_BLOCK_MAX_BYTES / 2];
	uint32_t used;
};

static void add_number(struct other_block *block, uint64_t number)
{
	block->used =
		(uint32_t)(trace_put_number(block->bytes + block->used, number) - block->bytes);
}

static void add_text(struct other_block *block, const char *text)
{
	size_t bytes = text ? strnlen(text, TRACE_TEXT_MAX_BYTES - 1) : 0;

	memcpy(block->bytes + block->used, text ? text : "", bytes);
	block->used += (uint32_t)bytes;
	block->bytes[block->used++] = '\0';
}

static void write_block(struct other_block *block, enum trace_block_kind kind)
{
	block->header.kind = kind;
	block->header.time = trace_time();
	block->header.sequence = trace_sequence();
	spool_append(&block->header, block->used);
}

/* Who is traced, and which events there are. */
static void write_schema(void)
{
	static struct other_block
		block; /* of one trace at a time, and too large for a client's stack */

	block.used = 0;
	add_text(&block, program_invocation_short_name);
	/* To ask for the date would be a step of a seeded run. */
	add_number(&block, thread_is_simulated() ? 1 : (uint64_t)getpid());
	add_number(&block, thread_is_simulated() ? 0 : clock_wall_ns());
	add_number(&block, trace_clock());
	add_number(&block, TRACE_EVENT_COUNT);
	for (uint32_t event = 0; event < TRACE_EVENT_COUNT; event++) {
		const struct trace_event_info *info = &trace_event_infos[event];
		add_number(&block, info->kind);
		add_text(&block, info->category);
		add_text(&block, info->name);
		add_text(&block, info->title);
		add_number(&block, info->field_count);
		for (uint32_t i = 0; i < info->field_count; i++) {
			add_number(&block, info->fields[i].type);
			add_text(&block, info->fields[i].name);
		}
	}
	add_number(&block, TRACE_SHORT_COUNT);
	for (uint32_t i = 0; i < TRACE_SHORT_COUNT; i++) {
		add_number(&block, trace_short_infos[i].event);
		add_number(&block, trace_short_infos[i].field_count);
	}
	assert(block.used < sizeof(block.bytes));
	write_block(&block, TRACE_BLOCK_SCHEMA);
}

static void write_end(void)
{
	struct {
		struct trace_block_header header;
		uint8_t has_lost;
	} block = { .header = { .kind = TRACE_BLOCK_END,
				.time = trace_time(),
				.sequence = trace_sequence() },
		    .has_lost = spool_error() != 0 };

	spool_append(&block.header, sizeof(block.has_lost));
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

/* Blocks have their places in an ordinary file; a pipe gets it in one piece. */
static bool is_ordinary(struct own_fd *fd)
{
	struct stat facts;

	return fstat(atomic_load(&fd->number), &facts) == 0 && S_ISREG(facts.st_mode);
}

static bool start_to(int descriptor, const char *name, uint32_t wishes)
{
	file_path = strdup(name);
	if (!keep_file(descriptor) || !file_path) {
		warn_start(name);
		goto close_file;
	}
	is_json = wishes & TRACE_AS_JSON;
	is_spooled = is_json || !is_ordinary(&file);
	if (!is_spooled) {
		spool_begin(&file);
	} else if (!spool_begin_temporary()) {
		warn_start("temporary file");
		goto close_file;
	}
	trace_choose_clock();
	spool_write_file_header();
	write_schema();
	ring_writer_start();
	ring_prepare(thread_count() + RINGS_TO_SPARE);
	atomic_store(&trace_details, wishes);
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
	uint32_t wishes = trace_name_is_json(path) ? TRACE_AS_JSON : 0;
	const char *with = secure_getenv("DXGK_TRACE_WITH");

	if (!is_first(path))
		return false;
	if (with && !trace_wishes_read(with, &wishes))
		log_warn("trace: DXGK_TRACE_WITH=%s: it knows arguments, addresses, lists "
			 "and driver",
			 with);
	return start_to(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666), path, wishes);
}

bool trace_start_to(int descriptor, const char *name, uint32_t wishes)
{
	if (is_first(name))
		return start_to(descriptor, name, wishes);
	close(descriptor);
	return false;
}

/* ---- the end ---- */

static bool write_file(void *context, const void *bytes, size_t size_bytes)
{
	const struct trace_file trace = { bytes, size_bytes };
	char problem[256];

	errno = 0;
	if (!is_json)
		return fwrite(bytes, 1, size_bytes, context) == size_bytes;
	if (trace_write_json(&trace, context, problem, sizeof(problem)))
		return true;
	log_warn("trace: temporary file: %s", problem);
	return false;
}

/* False with errno. */
static bool make_file(void)
{
	int fd = own_fd_use(&file, "it is the trace's, and no trace is written");
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		own_fd_close(&file);
		errno = fd < 0 ? EBADF : errno;
		return false;
	}
	file = (struct own_fd)OWN_FD_NONE; /* the stream closes it */
	bool is_good = spool_show(write_file, out) && !ferror(out);
	return fclose(out) == 0 && is_good;
}

void trace_finish(void)
{
	uint32_t session = atomic_exchange(&trace_session, 0);

	if (session == 0)
		return;
	atomic_store(&trace_details, 0);
	ring_collect(session);
	ring_writer_stop();
	write_end();
	if (is_spooled && !make_file())
		log_warn("trace: %s: %s; the file is not complete", file_path, strerror(errno));
	if (spool_error() != 0)
		log_warn("trace: %s: %s; events are missing",
			 is_spooled ? "temporary file" : file_path, strerror(spool_error()));
	spool_close();
	own_fd_close(&file);
	free(file_path);
	file_path = NULL;
	atomic_store(&is_file_open, false);
}

/* The file and the rings are the parent's business. */
static void leave_trace_to_parent(void)
{
	atomic_store(&trace_session, 0);
	atomic_store(&trace_details, 0);
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
