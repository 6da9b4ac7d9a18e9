/* SPDX-License-Identifier: MIT */
/*
 * late_lock.c - preloaded into a server that starts: the file that it has opened to lock loses its name first, as when the
 * server that had it ends just then (TEST_LATE_LOCK names it).
 */
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int flock(int file, int operation)
{
	const char *name = getenv("TEST_LATE_LOCK");

	if (name) {
		unlink(name);
		unsetenv("TEST_LATE_LOCK");
	}
	return (int)syscall(SYS_flock, file, operation);
}
