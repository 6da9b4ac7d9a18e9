/* SPDX-License-Identifier: MIT */
/*
 * host.h - what the sources under test take of the host, and when they get none.
 *
 *	host_refuse(HOST_MAP, 2)        the second mapping from now on is refused, once
 *	host_refuse_all(HOST_MAP)       … and all of them
 *	host_may()                      nothing is refused any more; returns whether something was
 *
 * A program says which functions they are: compiled with -Dmmap=host_mmap, its sources call host_mmap(),
 * which is here (meson.build of tests/unit/base and tests/unit/thunk). The test itself calls the host's.
 */
#ifndef TESTS_SUPPORT_HOST_H
#define TESTS_SUPPORT_HOST_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own_fd.h"
#include "base/thread.h"

enum host_thing {
	HOST_MEMORY,  /* malloc, calloc */
	HOST_MAP,     /* mmap */
	HOST_REMAP,   /* mremap of pages that move */
	HOST_SHOW,    /* mremap of nothing: pages that are shown a second time */
	HOST_PROTECT, /* mprotect */
	HOST_FILE,    /* memfd_create */
	HOST_RESIZE,  /* ftruncate */
	HOST_SEAL,    /* fcntl */
	HOST_ADVISE,  /* madvise: pages that are punched out */
	HOST_WRITE,   /* pwrite */
	HOST_OPEN,    /* fopen */
	HOST_NUMBER,  /* own_fd_keep, own_fd_copy: numbers for descriptors */
	HOST_THREAD,  /* thread_create */
	HOST_THINGS
};

static struct {
	_Atomic int countdown[HOST_THINGS]; /* 0: it is given; -1: never */
	_Atomic unsigned refused;
	_Atomic uint64_t most_bytes; /* of one mapping; 0: as much as there is */
	void (*at_memory)(void); /* before each that is taken: what another thread does meanwhile */
	_Atomic(void (*)(int socket)) at_receive; /* before each recvmsg */
	const char *maps; /* what /proc/self/maps says; NULL: what it says */
} host;

static inline void host_refuse(enum host_thing thing, int nth)
{
	atomic_store(&host.countdown[thing], nth);
}

static inline void host_refuse_all(enum host_thing thing)
{
	host_refuse(thing, -1);
}

static inline bool host_may(void)
{
	for (int i = 0; i < HOST_THINGS; i++)
		host_refuse((enum host_thing)i, 0);
	atomic_store(&host.most_bytes, 0);
	return atomic_exchange(&host.refused, 0) > 0;
}

static inline bool host_gives(enum host_thing thing)
{
	int left = atomic_load(&host.countdown[thing]);

	while (left > 0 && !atomic_compare_exchange_weak(&host.countdown[thing], &left, left - 1))
		;
	if (left == 0 || left > 1)
		return true;
	atomic_fetch_add(&host.refused, 1);
	errno = ENOMEM;
	return false;
}

/* ---- those that the program names ---- */

#ifdef malloc
#undef malloc
void *malloc(size_t size_bytes);
void *host_malloc(size_t size_bytes)
{
	if (host.at_memory)
		host.at_memory();
	return host_gives(HOST_MEMORY) ? malloc(size_bytes) : NULL;
}
#endif

#ifdef calloc
#undef calloc
void *calloc(size_t count, size_t size_bytes);
void *host_calloc(size_t count, size_t size_bytes)
{
	if (host.at_memory)
		host.at_memory();
	return host_gives(HOST_MEMORY) ? calloc(count, size_bytes) : NULL;
}
#endif

#ifdef mmap
#undef mmap
void *mmap(void *at, size_t size_bytes, int rights, int flags, int file, off_t offset);
void *host_mmap(void *at, size_t size_bytes, int rights, int flags, int file, off_t offset)
{
	uint64_t most_bytes = atomic_load(&host.most_bytes);

	if ((most_bytes && size_bytes > most_bytes) || !host_gives(HOST_MAP)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return mmap(at, size_bytes, rights, flags, file, offset);
}
#endif

#ifdef mremap
#undef mremap
void *mremap(void *from, size_t old_bytes, size_t new_bytes, int flags, ...);
void *host_mremap(void *from, size_t old_bytes, size_t new_bytes, int flags, ...)
{
	void *at = NULL;
	va_list more;

	if (!host_gives(old_bytes == 0 ? HOST_SHOW : HOST_REMAP))
		return MAP_FAILED;
	if (flags & MREMAP_FIXED) {
		va_start(more, flags);
		at = va_arg(more, void *);
		va_end(more);
	}
	return mremap(from, old_bytes, new_bytes, flags, at);
}
#endif

#ifdef mprotect
#undef mprotect
int mprotect(void *at, size_t size_bytes, int rights);
int host_mprotect(void *at, size_t size_bytes, int rights)
{
	return host_gives(HOST_PROTECT) ? mprotect(at, size_bytes, rights) : -1;
}
#endif

#ifdef memfd_create
#undef memfd_create
int memfd_create(const char *name, unsigned flags);
int host_memfd_create(const char *name, unsigned flags)
{
	return host_gives(HOST_FILE) ? memfd_create(name, flags) : -1;
}
#endif

#ifdef ftruncate
#undef ftruncate
int ftruncate(int file, off_t size_bytes);
int host_ftruncate(int file, off_t size_bytes)
{
	return host_gives(HOST_RESIZE) ? ftruncate(file, size_bytes) : -1;
}
#endif

#ifdef fcntl
#undef fcntl
int fcntl(int file, int what, ...);
int host_fcntl(int file, int what, ...)
{
	va_list more;

	va_start(more, what);
	int value = va_arg(more, int);
	va_end(more);
	return host_gives(HOST_SEAL) ? fcntl(file, what, value) : -1;
}
#endif

#ifdef madvise
#undef madvise
int madvise(void *at, size_t size_bytes, int advice);
int host_madvise(void *at, size_t size_bytes, int advice)
{
	return host_gives(HOST_ADVISE) ? madvise(at, size_bytes, advice) : -1;
}
#endif

#ifdef pwrite
#undef pwrite
ssize_t pwrite(int file, const void *bytes, size_t size_bytes, off_t offset);
ssize_t host_pwrite(int file, const void *bytes, size_t size_bytes, off_t offset)
{
	return host_gives(HOST_WRITE) ? pwrite(file, bytes, size_bytes, offset) : -1;
}
#endif

#ifdef fopen
#undef fopen
FILE *fopen(const char *path, const char *mode);
FILE *host_fopen(const char *path, const char *mode)
{
	if (host.maps)
		return fmemopen((void *)(uintptr_t)host.maps, strlen(host.maps), "r");
	return host_gives(HOST_OPEN) ? fopen(path, mode) : NULL;
}
#endif

#ifdef recvmsg
#undef recvmsg
ssize_t recvmsg(int socket, struct msghdr *header, int flags);
ssize_t host_recvmsg(int socket, struct msghdr *header, int flags)
{
	void (*at_receive)(int) = atomic_load(&host.at_receive);

	if (at_receive)
		at_receive(socket);
	return recvmsg(socket, header, flags);
}
#endif

#ifdef own_fd_copy
#undef own_fd_copy
int own_fd_copy(int fd);
int host_own_fd_copy(int fd)
{
	return host_gives(HOST_NUMBER) ? own_fd_copy(fd) : -1;
}
#endif

#ifdef own_fd_keep
#undef own_fd_keep
bool own_fd_keep(int made, struct own_fd *fd_out);
bool host_own_fd_keep(int made, struct own_fd *fd_out)
{
	if (host_gives(HOST_NUMBER))
		return own_fd_keep(made, fd_out);
	if (made >= 0)
		close(made);
	*fd_out = (struct own_fd)OWN_FD_NONE;
	errno = EMFILE;
	return false;
}
#endif

#ifdef thread_create
#undef thread_create
NTSTATUS thread_create(const char *name, void (*run)(void *argument), void *argument,
		       struct thread **thread_out);
NTSTATUS host_thread_create(const char *name, void (*run)(void *argument), void *argument,
			    struct thread **thread_out)
{
	return host_gives(HOST_THREAD) ? thread_create(name, run, argument, thread_out)
				       : STATUS_NO_MEMORY;
}
#endif

#endif
