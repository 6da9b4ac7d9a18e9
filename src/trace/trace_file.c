/* SPDX-License-Identifier: MIT */
/*
 * trace_file.c - see trace_file.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/trace_file.h"

static bool map_file(int fd, size_t size_bytes, struct trace_file *file)
{
	void *bytes =
		size_bytes == 0 ? NULL : mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);

	if (bytes == MAP_FAILED)
		return false;
	*file = (struct trace_file){ bytes, size_bytes };
	return true;
}

enum { WRITER_S = 5, LOOK_MS = 50 };

/* Nothing was read from a pipe yet, and nobody has it open for writing: somebody may be about to. */
static bool may_yet_come(int fd, uint64_t deadline_ns)
{
	struct pollfd look = { .fd = fd, .events = POLLIN };

	if (poll(&look, 1, 0) > 0 || clock_now_ns() >= deadline_ns)
		return false;
	clock_sleep_until(clock_now_ns() + LOOK_MS * NS_PER_MS);
	return true;
}

/* A pipe goes into a file without a name first. It was opened without waiting for who writes. */
static bool copy_and_map(int fd, struct trace_file *file)
{
	uint64_t deadline_ns = clock_now_ns() + WRITER_S * NS_PER_S;
	int copy = memfd_create("dxgk-trace", MFD_CLOEXEC);
	char piece[65536];
	size_t size_bytes = 0;
	ssize_t length = copy < 0 ? -1 : 0;

	while (copy >= 0 && ((length = read(fd, piece, sizeof(piece))) != 0 ||
			     (size_bytes == 0 && may_yet_come(fd, deadline_ns)))) {
		if (length == 0 || (length < 0 && errno == EINTR))
			continue;
		/* There is a writer now, who may take time. */
		if (length < 0 && errno == EAGAIN && fcntl(fd, F_SETFL, 0) == 0)
			continue;
		if (length < 0 || write(copy, piece, (size_t)length) != length)
			break;
		size_bytes += (size_t)length;
	}
	bool is_read = length == 0 && map_file(copy, size_bytes, file);
	if (copy >= 0)
		close(copy);
	return is_read;
}

bool trace_file_open(const char *path, struct trace_file *file_out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat facts;
	bool is_read;

	if (fd < 0)
		return false;
	if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) {
		errno = EISDIR;
		is_read = false;
	} else if (S_ISREG(facts.st_mode)) {
		is_read = map_file(fd, (size_t)facts.st_size, file_out);
	} else if (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode)) {
		errno = EOPNOTSUPP; /* some have no end */
		is_read = false;
	} else {
		is_read = copy_and_map(fd, file_out);
	}
	int saved_errno = errno;
	close(fd);
	errno = saved_errno;
	return is_read;
}

bool trace_file_is_same(const char *one, const char *other)
{
	struct stat of_one;
	struct stat of_other;

	return stat(one, &of_one) == 0 && stat(other, &of_other) == 0 && S_ISREG(of_one.st_mode) &&
	       of_one.st_dev == of_other.st_dev && of_one.st_ino == of_other.st_ino;
}

void trace_file_close(struct trace_file *file)
{
	if (file->bytes)
		munmap((void *)file->bytes, file->size_bytes);
	*file = (struct trace_file){ 0 };
}
