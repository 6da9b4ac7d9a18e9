/* SPDX-License-Identifier: MIT */
/*
 * trace_file.c - see trace_file.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A pipe goes into a file without a name first. */
static bool copy_and_map(int fd, struct trace_file *file)
{
	int copy = memfd_create("dxgk-trace", MFD_CLOEXEC);
	char piece[65536];
	size_t size_bytes = 0;
	ssize_t length = copy < 0 ? -1 : 0;

	while (copy >= 0 && (length = read(fd, piece, sizeof(piece))) != 0) {
		if (length < 0 && errno == EINTR)
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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat facts;
	bool is_read;

	if (fd < 0)
		return false;
	if (fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode)) {
		errno = EISDIR;
		is_read = false;
	} else if (S_ISREG(facts.st_mode)) {
		is_read = map_file(fd, (size_t)facts.st_size, file_out);
	} else {
		is_read = copy_and_map(fd, file_out);
	}
	int saved_errno = errno;
	close(fd);
	errno = saved_errno;
	return is_read;
}

void trace_file_close(struct trace_file *file)
{
	if (file->bytes)
		munmap((void *)file->bytes, file->size_bytes);
	*file = (struct trace_file){ 0 };
}
