/* SPDX-License-Identifier: MIT */
/*
 * own_fd.h - a descriptor that the kernel keeps.
 *
 * It lives among the client's, and clients close numbers they do not know (daemons do) and open
 * files of their own, which get the same numbers. So what is kept is moved to numbers that a
 * program seldom comes to, remembers which file it is, and is asked for by own_fd_use() each time
 * before it is written to, mapped or accepted from: a stranger's file is left alone.
 *
 * Not for eventfds and epolls: all of them are one inode (see object/fence/event.c, object/memory/share.c).
 */
#ifndef BASE_OWN_FD_H
#define BASE_OWN_FD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"

struct own_fd {
	_Atomic int number; /* -1: none, or lost */
	dev_t device;
	ino_t inode;
};

#define OWN_FD_NONE                                                                                \
	{                                                                                          \
		.number = -1                                                                       \
	}

/*
 * Another number for the same, out of a program's way as far as there is room, never one of the
 * three that have a meaning to every program, and closed at exec(). -1 with errno.
 */
MUST_CHECK int own_fd_copy(int fd);

/*
 * Numbers of that kind are there afterwards, as far as they can be, and none is in use. A host makes who lengthens a table that
 * several threads share wait for all processors, for some milliseconds; for a process of one thread that costs nothing.
 */
void own_fd_prepare(void);

/* Moves `made` to such a number. -1 with errno, and `made` is closed. */
MUST_CHECK int own_fd_lift(int made);

/* Lifts and remembers `made`, which may be -1. False with errno; nothing is open then. */
MUST_CHECK bool own_fd_keep(int made, struct own_fd *fd_out);

/*
 * The number, if it still is the same file. Else -1, for ever: the first one who asks leaves a line
 * in the log about `what` was lost.
 */
MUST_CHECK int own_fd_use(struct own_fd *fd, const char *what);

/* The same question without the line. */
bool own_fd_is_ours(const struct own_fd *fd);

/* Closes it, unless the number is a stranger's by now. Accepts OWN_FD_NONE. */
void own_fd_close(struct own_fd *fd);

#endif
