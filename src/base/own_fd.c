/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own_fd.h"

enum {
	FIRST_NUMBER = 3,
	/* Behind what select() can name, where most loops over descriptors end; not much higher,
	   because the host's table of them is as long as the highest. */
	HIGH_NUMBER = 1024,
};

static int first_high_number(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return FIRST_NUMBER;
	if (limit.rlim_cur >= 2 * HIGH_NUMBER)
		return HIGH_NUMBER;
	return (int)(limit.rlim_cur - limit.rlim_cur / 4);
}

int own_fd_copy(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, first_high_number());

	return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_NUMBER);
}

void own_fd_prepare(void)
{
	int any = eventfd(0, EFD_CLOEXEC);
	int high = any < 0 ? -1 : own_fd_copy(any);

	if (high >= 0)
		close(high);
	if (any >= 0)
		close(any);
}

int own_fd_lift(int made)
{
	int copy = own_fd_copy(made);

	if (copy < 0 && made >= FIRST_NUMBER)
		return made;
	int saved_errno = errno;
	close(made);
	errno = saved_errno;
	return copy;
}

bool own_fd_keep(int made, struct own_fd *fd_out)
{
	struct stat facts;
	int number = made < 0 ? -1 : own_fd_lift(made);

	*fd_out = (struct own_fd)OWN_FD_NONE;
	if (number < 0)
		return false;
	if (fstat(number, &facts) != 0) {
		int saved_errno = errno;
		close(number);
		errno = saved_errno;
		return false;
	}
	*fd_out = (struct own_fd){ number, facts.st_dev, facts.st_ino };
	return true;
}

bool own_fd_is_ours(const struct own_fd *fd)
{
	int number = atomic_load_explicit(&fd->number, memory_order_relaxed);
	struct stat now;

	return number >= 0 && fstat(number, &now) == 0 && now.st_dev == fd->device &&
	       now.st_ino == fd->inode;
}

int own_fd_use(struct own_fd *fd, const char *what)
{
	int number = atomic_load_explicit(&fd->number, memory_order_relaxed);

	if (number < 0 || own_fd_is_ours(fd))
		return number;
	if (atomic_compare_exchange_strong(&fd->number, &number, -1))
		log_error("the program closed descriptor %d, which was not its own: %s", number,
			  what);
	return -1;
}

void own_fd_close(struct own_fd *fd)
{
	if (own_fd_is_ours(fd))
		close(atomic_load_explicit(&fd->number, memory_order_relaxed));
	*fd = (struct own_fd)OWN_FD_NONE;
}
