/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/eventfd.h"

/* Needs no descriptor. */
static bool is_some_eventfd(int fd)
{
	static const char wanted[] = "anon_inode:[eventfd]";
	char path[64];
	char text[sizeof(wanted)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, text, sizeof(text)) == (ssize_t)strlen(wanted) &&
	       memcmp(text, wanted, strlen(wanted)) == 0;
}

bool eventfd_is(int fd, uint64_t id)
{
	uint64_t found;

	if (eventfd_identify(fd, &found))
		return found == id;
	return errno == EMFILE;
}

bool eventfd_identify(int fd, uint64_t *id_out)
{
	char path[64];
	char text[512];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0) {
		bool is_crowded = (errno == EMFILE || errno == ENFILE) && is_some_eventfd(fd);

		errno = is_crowded ? EMFILE : EBADF;
		return false;
	}
	ssize_t length = read(file, text, sizeof(text) - 1);
	close(file);
	text[length > 0 ? length : 0] = '\0';
	if (!strstr(text, "eventfd-count:")) {
		errno = EBADF;
		return false;
	}
	/* Hosts before Linux 5.2 do not number them. */
	const char *id = strstr(text, "eventfd-id:");
	*id_out = id ? strtoull(id + strlen("eventfd-id:"), NULL, 10) : 0;
	return true;
}
