/* SPDX-License-Identifier: MIT */
/*
 * listener.c - where clients connect: a socket at a path, or the one that systemd handed over.
 *
 * A path at which somebody listens is not taken; one that a server left behind when it was killed is.
 * Two servers that start at the same moment are kept apart by a lock on a file beside the socket. Who has
 * the lock removes the file at his end; who opened it before and locks it then has a file without a name,
 * and begins again.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "server/server.h"

enum { BACKLOG = 64, FIRST_HANDED_OVER = 3 };

static struct {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": it is not ours to remove */
	struct stat socket;                                     /* what we made there */
	char lock_path[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
	int lock_file; /* -1: we do not have the lock */
} bound = { .lock_file = -1 };

/* ---- systemd ---- */

static bool is_listening_packets(int file)
{
	int value = 0;
	socklen_t size = sizeof(value);

	if (getsockopt(file, SOL_SOCKET, SO_TYPE, &value, &size) != 0 || value != SOCK_SEQPACKET)
		return false;
	size = sizeof(value);
	if (getsockopt(file, SOL_SOCKET, SO_DOMAIN, &value, &size) != 0 || value != AF_UNIX)
		return false;
	size = sizeof(value);
	return getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

/* The variables are for this process alone, and not for what it starts. */
static int take_handed_over(void)
{
	const char *process = getenv("LISTEN_PID");
	const char *count = getenv("LISTEN_FDS");
	bool is_ours = process && count && strtol(process, NULL, 10) == (long)getpid() &&
		       strtol(count, NULL, 10) == 1;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (!is_ours || !is_listening_packets(FIRST_HANDED_OVER)) {
		log_error("dxgkd: there is no --socket, and systemd handed over no socket of "
			  "sequenced packets (ListenSequentialPacket=)");
		return -1;
	}
	fcntl(FIRST_HANDED_OVER, F_SETFD, FD_CLOEXEC);
	fcntl(FIRST_HANDED_OVER, F_SETFL, O_NONBLOCK);
	return FIRST_HANDED_OVER;
}

/* ---- a path ---- */

/* -1 after saying why. */
static int open_lock(const char *path)
{
	snprintf(bound.lock_path, sizeof(bound.lock_path), "%s.lock", path);
	int file =
		open(bound.lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);

	if (file < 0) {
		log_error("dxgkd: %s: %s", bound.lock_path, strerror(errno));
		return -1;
	}
	if (flock(file, LOCK_EX | LOCK_NB) == 0)
		return file;
	log_error("dxgkd: %s: another server has it", path);
	close(file);
	return -1;
}

/* Whoever comes next finds this one? */
static bool is_at(const char *name, const struct stat *ours)
{
	struct stat named;

	return lstat(name, &named) == 0 && ours->st_dev == named.st_dev &&
	       ours->st_ino == named.st_ino;
}

static bool has_name(int file, const char *name)
{
	struct stat ours;

	return fstat(file, &ours) == 0 && is_at(name, &ours);
}

static bool lock_path(const char *path)
{
	int file = open_lock(path);

	while (file >= 0 && !has_name(file, bound.lock_path)) {
		close(file);
		file = open_lock(path);
	}
	bound.lock_file = file;
	return file >= 0;
}

/* Somebody may listen there without our lock. */
static bool is_answered(const struct sockaddr_un *address)
{
	int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_answered = file >= 0 && (connect(file, (const struct sockaddr *)address,
						 sizeof(*address)) == 0 ||
					 errno == EAGAIN);

	if (file >= 0)
		close(file);
	return is_answered;
}

static bool remove_left_behind(const struct sockaddr_un *address)
{
	struct stat found;

	if (lstat(address->sun_path, &found) != 0)
		return errno == ENOENT;
	if (!S_ISSOCK(found.st_mode)) {
		log_error("dxgkd: %s is there, and is no socket", address->sun_path);
		return false;
	}
	if (is_answered(address)) {
		log_error("dxgkd: %s: another server has it", address->sun_path);
		return false;
	}
	return unlink(address->sun_path) == 0;
}

static bool set_rights(const char *path, const struct server *server)
{
	if (!server->has_group)
		return true;
	return chown(path, (uid_t)-1, server->group) == 0 &&
	       chmod(path, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) == 0;
}

/* Nobody else can open it before its rights are set. */
static bool bind_there(int file, const struct sockaddr_un *address, const struct server *server)
{
	mode_t before = umask(S_IRWXG | S_IRWXO | S_IXUSR);
	bool is_bound = bind(file, (const struct sockaddr *)address, sizeof(*address)) == 0;

	umask(before);
	if (!is_bound || lstat(address->sun_path, &bound.socket) != 0)
		return false;
	memcpy(bound.path, address->sun_path, sizeof(bound.path));
	return set_rights(address->sun_path, server) && listen(file, BACKLOG) == 0;
}

static int listen_at(const char *path, const struct server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path)) {
		log_error("dxgkd: --socket %s: %s", path,
			  path[0] != '/' ? "the path must begin with /"
					 : "the path is longer than a socket's can be");
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (!lock_path(path) || !remove_left_behind(&address))
		return -1;
	int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (file >= 0 && bind_there(file, &address, server))
		return file;
	log_error("dxgkd: %s: %s", path, strerror(errno));
	if (file >= 0)
		close(file);
	return -1;
}

/* Its number in digits; the highest is no group's. */
static bool is_group_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0' && strlen(text) <= 10 &&
	       strtoull(text, NULL, 10) < (gid_t)-1;
}

static bool find_group(const char *name, struct server *server)
{
	const struct group *found = getgrnam(name);

	server->has_group = found || is_group_number(name);
	if (server->has_group)
		server->group = found ? found->gr_gid : (gid_t)strtoul(name, NULL, 10);
	if (!server->has_group)
		log_error("dxgkd: --group %s: there is no such group", name);
	return server->has_group;
}

int listener_open(const struct dxgk_serve_options *options, struct server *server)
{
	if (options->group && !find_group(options->group, server))
		return -1;
	int listener =
		options->socket_path ? listen_at(options->socket_path, server) : take_handed_over();

	if (listener < 0)
		listener_close(-1);
	return listener;
}

/* Somebody may have removed our files, and started another server there, whose files these are. */
void listener_close(int listener)
{
	if (bound.path[0] && is_at(bound.path, &bound.socket))
		unlink(bound.path);
	bound.path[0] = '\0';
	if (listener >= 0)
		close(listener);
	if (bound.lock_file >= 0) {
		if (has_name(bound.lock_file, bound.lock_path))
			unlink(bound.lock_path);
		close(bound.lock_file);
	}
	bound.lock_file = -1;
}
