/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/eventfd.h"

bool eventfd_identify(int fd, uint64_t *id_out)
{
	char path[64];
	char text[512];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	ssize_t length = read(file, text, sizeof(text) - 1);
	close(file);
	text[length > 0 ? length : 0] = '\0';
	if (!strstr(text, "eventfd-count:"))
		return false;
	/* Hosts before Linux 5.2 do not number them. */
	const char *id = strstr(text, "eventfd-id:");
	*id_out = id ? strtoull(id + strlen("eventfd-id:"), NULL, 10) : 0;
	return true;
}
