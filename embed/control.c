/* SPDX-License-Identifier: MIT */
/*
 * control.c - see control.h.
 *
 *	listen ──▶ accept ──▶ same user? ──▶ request ──▶ handler ──▶ reply ──▶ close
 *	               every step that waits also waits for the end, and for its deadline
 *
 * Before each step that takes or gives bytes the number is looked at: a program that closes
 * descriptors it does not know ends the control, and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own_fd.h"
#include "base/thread.h"
#include "embed/control.h"
#include "dispatch/control_request.h"

/* For a client to send its request, and to take its reply. */
#define PATIENCE_NS (2 * NS_PER_S)

enum { BACKLOG = 8 };

/* Said when one of them is found closed by the program. */
#define LOST_LISTENER   "it is the control socket's, and nobody can control the kernel any more"
#define LOST_CONNECTION "it is a control client's, which gets no answer"

static struct {
	struct sockaddr_un address;
	bool is_bound; /* the socket is in its folder */
	struct own_fd listener;
	struct own_fd stop_read; /* readable when it is to end */
	struct own_fd stop_write;
	struct thread *thread;
	control_handler *handler;
	union {
		max_align_t alignment;
		unsigned char bytes[CONTROL_MOST_BYTES];
	} body; /* the thread's */
} control = { .listener = OWN_FD_NONE, .stop_read = OWN_FD_NONE, .stop_write = OWN_FD_NONE };

/* ---- a connection ---- */

static int milliseconds_until(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_now_ns();

	return deadline_ns <= now_ns ? 0
				     : (int)((deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* False at the deadline (CLOCK_FOREVER: none), and when it is to end. */
static bool wait_for(const struct own_fd *file, short events, uint64_t deadline_ns)
{
	struct pollfd files[] = { { .fd = control.stop_read.number, .events = POLLIN },
				  { .fd = file->number, .events = events } };
	int count;

	do {
		int timeout = deadline_ns == CLOCK_FOREVER ? -1 : milliseconds_until(deadline_ns);

		count = poll(files, 2, timeout);
	} while (count < 0 && errno == EINTR);
	return count > 0 && files[0].revents == 0;
}

static bool receive(struct own_fd *file, void *bytes, size_t size_bytes, uint64_t deadline_ns)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t got;

		if (!wait_for(file, POLLIN, deadline_ns))
			return false;
		got = recv(own_fd_use(file, LOST_CONNECTION), (char *)bytes + done,
			   size_bytes - done, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static bool send_all(struct own_fd *file, const void *bytes, size_t size_bytes,
		     uint64_t deadline_ns)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t sent;

		if (!wait_for(file, POLLOUT, deadline_ns))
			return false;
		sent = send(own_fd_use(file, LOST_CONNECTION), (const char *)bytes + done,
			    size_bytes - done, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		done += sent > 0 ? (size_t)sent : 0;
	}
	return true;
}

static bool is_same_user(int file)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

/* What cannot be understood, and is not read on. */
static const char *wrong_with(const struct control_request *request)
{
	if (request->magic != CONTROL_MAGIC)
		return "This is no control request";
	if (request->version != CONTROL_VERSION)
		return "The control request is of another version";
	if (request->size_bytes > CONTROL_MOST_BYTES)
		return "The control request is larger than any can be";
	return NULL;
}

static void serve(struct own_fd *file)
{
	uint64_t deadline_ns = clock_deadline(PATIENCE_NS);
	struct control_request request;
	struct control_reply reply;
	const char *wrong;

	if (!is_same_user(file->number) || !receive(file, &request, sizeof(request), deadline_ns))
		return;
	wrong = wrong_with(&request);
	if (wrong) {
		control_reply_refuse(&reply, STATUS_INVALID_PARAMETER, wrong);
	} else {
		if (!receive(file, control.body.bytes, request.size_bytes, deadline_ns))
			return;
		control.handler(&request, control.body.bytes, &reply);
	}
	deadline_ns = clock_deadline(PATIENCE_NS);
	if (send_all(file, &reply, sizeof(reply), deadline_ns))
		(void)send_all(file, control.body.bytes, reply.size_bytes, deadline_ns);
}

static void run(void *argument)
{
	(void)argument;
	while (wait_for(&control.listener, POLLIN, CLOCK_FOREVER)) {
		int listener = own_fd_use(&control.listener, LOST_LISTENER);
		struct own_fd file;

		if (listener < 0)
			return;
		if (!own_fd_keep(accept4(listener, NULL, NULL, SOCK_CLOEXEC), &file))
			continue;
		serve(&file);
		own_fd_close(&file);
	}
	(void)!own_fd_use(&control.stop_read, LOST_LISTENER);
}

/* ---- start and stop ---- */

/* Nobody listens at a path that a program left behind when it was killed. */
static bool is_left_behind(void)
{
	struct stat found;
	int file;
	bool is_refused;

	if (lstat(control.address.sun_path, &found) != 0 || !S_ISSOCK(found.st_mode))
		return false;
	file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (file < 0)
		return false;
	is_refused = connect(file, (const struct sockaddr *)&control.address,
			     sizeof(control.address)) != 0 &&
		     errno == ECONNREFUSED;
	close(file);
	return is_refused;
}

static bool bind_there(int file)
{
	const struct sockaddr *address = (const struct sockaddr *)&control.address;

	/* Before it has a name: nobody else can ever open it. */
	if (fchmod(file, S_IRUSR | S_IWUSR) != 0)
		return false;
	if (bind(file, address, sizeof(control.address)) == 0)
		return true;
	if (errno != EADDRINUSE)
		return false;
	if (!is_left_behind()) {
		errno = EADDRINUSE;
		return false;
	}
	return unlink(control.address.sun_path) == 0 &&
	       bind(file, address, sizeof(control.address)) == 0;
}

static bool listen_there(void)
{
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (file < 0)
		return false;
	if (!bind_there(file) || listen(file, BACKLOG) != 0) {
		int problem = errno;

		close(file);
		errno = problem;
		return false;
	}
	control.is_bound = true;
	return own_fd_keep(file, &control.listener);
}

/* Not an eventfd, which cannot be told from another. */
static bool make_stop(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	bool is_read_kept = own_fd_keep(ends[0], &control.stop_read);
	return own_fd_keep(ends[1], &control.stop_write) && is_read_kept;
}

static void close_files(void)
{
	if (control.is_bound)
		unlink(control.address.sun_path);
	control.is_bound = false;
	own_fd_close(&control.listener);
	own_fd_close(&control.stop_read);
	own_fd_close(&control.stop_write);
}

void control_start(const char *path, control_handler *handler)
{
	if (!path || !*path || control.thread)
		return;
	if (thread_is_simulated()) {
		log_warn("DXGK_CONTROL: a simulated run (DXGK_SEED) has no control socket");
		return;
	}
	if (strlen(path) >= sizeof(control.address.sun_path)) {
		log_warn("DXGK_CONTROL: %s: the path is longer than a socket's can be", path);
		return;
	}
	control.handler = handler;
	control.address.sun_family = AF_UNIX;
	memcpy(control.address.sun_path, path, strlen(path) + 1);
	if (!make_stop() || !listen_there()) {
		log_warn("DXGK_CONTROL: %s: %s", path, strerror(errno));
		close_files();
		return;
	}
	if (!NT_SUCCESS(thread_create("control", run, NULL, &control.thread))) {
		log_warn("DXGK_CONTROL: %s: no memory for a thread", path);
		close_files();
	}
}

void control_stop(void)
{
	int stop;

	if (!control.thread)
		return;
	stop = own_fd_use(&control.stop_write, LOST_LISTENER);
	if (stop >= 0 && own_fd_is_ours(&control.stop_read) && write(stop, "", 1) == 1)
		thread_join(control.thread);
	else
		thread_detach(control.thread); /* it may sleep for as long as the program lives */
	control.thread = NULL;
	close_files();
}
