/* SPDX-License-Identifier: MIT */
/*
 * spool.c - see spool.h.
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
#include "base/clock.h"
#include "base/file_size.h"
#include "trace/put.h"
#include "trace/spool.h"

static struct own_fd temporary = OWN_FD_NONE;
static struct own_fd *spool = &temporary;
static _Atomic uint64_t spool_size_bytes; /* given out to writers */
static _Atomic int spool_first_error;

void spool_begin(struct own_fd *file)
{
	spool = file;
	atomic_store(&spool_size_bytes, 0);
	atomic_store(&spool_first_error, 0);
}

bool spool_begin_temporary(void)
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
	if (!own_fd_keep(made, &temporary))
		return false;
	spool_begin(&temporary);
	return true;
}

void spool_close(void)
{
	own_fd_close(&temporary);
	spool = &temporary;
}

/* -1 with errno when it is lost. */
static int spool_number(void)
{
	int number = own_fd_use(spool, "it is the trace's, which misses events from here on");

	if (number < 0)
		errno = EBADF;
	return number;
}

static void spool_write(const void *memory, uint64_t left_bytes)
{
	const char *bytes = memory;
	uint64_t offset = atomic_fetch_add(&spool_size_bytes, left_bytes);
	int saved_errno = errno;
	int before = cancel_hold_off();

	while (left_bytes > 0) {
		int number = spool_number();
		bool may_write = number >= 0 && file_size_is_allowed(offset + left_bytes);
		ssize_t written = may_write ? pwrite(number, bytes, left_bytes, (off_t)offset) : -1;
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

void spool_write_file_header(void)
{
	const struct trace_file_header header = { .magic = TRACE_FILE_MAGIC,
						  .version = TRACE_FILE_VERSION };

	spool_write(&header, sizeof(header));
}

void spool_append(struct trace_block_header *block, uint32_t size_bytes)
{
	block->magic = TRACE_BLOCK_MAGIC;
	block->size_bytes = size_bytes;
	block->written_time = trace_time();
	block->written_ns = clock_peek_ns();
	block->checksum = trace_checksum((const char *)block + TRACE_CHECKED_FROM,
					 sizeof(*block) - TRACE_CHECKED_FROM + size_bytes);
	spool_write(block, sizeof(*block) + size_bytes);
}

int spool_error(void)
{
	return atomic_load(&spool_first_error);
}

bool spool_show(bool (*show)(void *context, const void *bytes, size_t size_bytes), void *context)
{
	int number = spool_number();
	struct stat facts;

	if (number < 0 || fstat(number, &facts) != 0)
		return false;
	size_t size_bytes = (size_t)facts.st_size;
	if (size_bytes == 0)
		return show(context, "", 0);
	void *bytes = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, number, 0);
	if (bytes == MAP_FAILED)
		return false;
	bool is_good = show(context, bytes, size_bytes);
	int saved_errno = errno;
	munmap(bytes, size_bytes);
	errno = saved_errno;
	return is_good;
}
