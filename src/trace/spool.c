/* SPDX-License-Identifier: MIT */
/*
 * spool.c - see spool.h.
 *
 * What a thread appends is sorted, so the file is a row of sorted runs. They are found by looking
 * for steps backwards, and merged through a heap of their first records:
 *
 *     file    |a1 a4 a9|b2 b3|a10 a11|b5 b8|
 *     heap      a1       b2    b5      a10
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/mem.h"
#include "base/own_fd.h"
#include "trace/spool.h"

static struct own_fd spool = OWN_FD_NONE;
static _Atomic uint64_t spool_size_bytes; /* given out to writers */
static _Atomic int spool_first_error;

struct run {
	const struct trace_record *next;
	const struct trace_record *end;
};

bool spool_open(void)
{
	const char *folder = secure_getenv("TMPDIR");
	char path[4096];
	int length = snprintf(path, sizeof(path), "%s/dxgk-trace-XXXXXX",
			      folder && *folder ? folder : P_tmpdir);

	if (length < 0 || (size_t)length >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	int made = mkostemp(path, O_CLOEXEC);
	if (made >= 0)
		unlink(path);
	if (!own_fd_keep(made, &spool))
		return false;
	atomic_store(&spool_size_bytes, 0);
	atomic_store(&spool_first_error, 0);
	return true;
}

void spool_close(void)
{
	own_fd_close(&spool);
}

/* -1 with errno when it is lost. */
static int spool_number(void)
{
	int number = own_fd_use(&spool, "it is the trace's, which misses events from here on");

	if (number < 0)
		errno = EBADF;
	return number;
}

void spool_append(const struct trace_record *records, uint32_t slots)
{
	const char *bytes = (const char *)records;
	uint64_t left_bytes = slots * sizeof(*records);
	uint64_t offset = atomic_fetch_add(&spool_size_bytes, left_bytes);
	int saved_errno = errno;
	int before = cancel_hold_off();

	while (left_bytes > 0) {
		int number = spool_number();
		ssize_t written =
			number < 0 ? -1 : pwrite(number, bytes, left_bytes, (off_t)offset);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int none = 0;
			atomic_compare_exchange_strong(&spool_first_error, &none,
						       written < 0 ? errno : ENOSPC);
			break;
		}
		bytes += written;
		offset += (uint64_t)written;
		left_bytes -= (uint64_t)written;
	}
	cancel_give_back(before);
	errno = saved_errno;
}

int spool_error(void)
{
	return atomic_load(&spool_first_error);
}

static bool is_before(const struct trace_record *a, const struct trace_record *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->sequence < b->sequence;
}

static const struct trace_record *record_after(const struct trace_record *record)
{
	return record + 1 + record->text_slots;
}

/* Tells the number of runs between first and end, and fills `runs` unless it is NULL. */
static size_t find_runs(const struct trace_record *first, const struct trace_record *end,
			struct run *runs)
{
	const struct trace_record *previous = NULL;
	size_t count = 0;

	for (const struct trace_record *record = first; record < end;
	     record = record_after(record)) {
		if (record->event == TRACE_NOTHING || record_after(record) > end) {
			previous = NULL; /* a hole, where writing failed */
			continue;
		}
		if (!previous || is_before(record, previous)) {
			if (runs)
				runs[count].next = record;
			count++;
		}
		if (runs)
			runs[count - 1].end = record_after(record);
		previous = record;
	}
	return count;
}

/* Restores the heap below `at`, whose run may have become too late for its place. */
static void heap_settle(struct run *runs, size_t count, size_t at)
{
	for (;;) {
		size_t first = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
			if (is_before(runs[child].next, runs[first].next))
				first = child;
		}
		if (first == at)
			return;
		struct run moved = runs[at];
		runs[at] = runs[first];
		runs[first] = moved;
		at = first;
	}
}

static void merge_runs(struct run *runs, size_t count,
		       void (*visit)(void *context, const struct trace_record *record),
		       void *context)
{
	for (size_t at = count / 2; at-- > 0;)
		heap_settle(runs, count, at);
	while (count > 0) {
		visit(context, runs[0].next);
		runs[0].next = record_after(runs[0].next);
		if (runs[0].next >= runs[0].end)
			runs[0] = runs[--count];
		heap_settle(runs, count, 0);
	}
}

bool spool_visit(void (*visit)(void *context, const struct trace_record *record), void *context)
{
	struct stat status;

	int number = spool_number();

	if (number < 0 || fstat(number, &status) != 0)
		return false;
	size_t size_bytes =
		(size_t)status.st_size - (size_t)status.st_size % sizeof(struct trace_record);
	if (size_bytes == 0)
		return true;

	const struct trace_record *first = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, number, 0);
	if (first == MAP_FAILED)
		return false;
	const struct trace_record *end = first + size_bytes / sizeof(*first);

	size_t count = find_runs(first, end, NULL);
	struct run *runs = mem_zalloc_array(count, sizeof(*runs));
	if (runs) {
		find_runs(first, end, runs);
		merge_runs(runs, count, visit, context);
	}
	mem_free(runs);
	munmap((void *)first, size_bytes);
	return runs != NULL;
}
