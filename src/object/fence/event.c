/* SPDX-License-Identifier: MIT */
/*
 * event.c - see event.h.
 *
 * All anonymous inodes are one to fstat(), so an eventfd is known by what /proc says of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/own_fd.h"
#include "base/refusal.h"
#include "object/fence/event.h"

enum { FIRST_DESCRIPTOR = 3 }; /* 0 is no handle, and all three have a meaning to every program */

/* False when the descriptor is no eventfd. */
static bool read_id(int fd, uint64_t *id_out)
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

static bool is_still_ours(const struct event *event)
{
	uint64_t id;

	return read_id(event->fd, &id) && id == event->id;
}

static NTSTATUS refuse_descriptors(void)
{
	return refuse(STATUS_TOO_MANY_OPENED_FILES, RULE_API_DESCRIPTORS, NULL,
		      "no file descriptor for an event: %s", strerror(errno));
}

NTSTATUS event_capture(uintptr_t handle, const char *argument, struct event *event_out)
{
	uint64_t id;

	*event_out = EVENT_NONE;
	if (handle == 0 || handle > INT_MAX || !read_id((int)handle, &id))
		return refuse(STATUS_INVALID_HANDLE, RULE_API_EVENT, argument,
			      "0x%zx is no descriptor of an eventfd", handle);
	int fd = own_fd_copy((int)handle);
	if (fd < 0)
		return refuse_descriptors();
	*event_out = (struct event){ fd, id };
	return STATUS_SUCCESS;
}

NTSTATUS event_create(struct event *event_out, int *descriptor_out)
{
	int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct event event = EVENT_NONE;

	if (made < 0)
		return refuse_descriptors();
	int client = fcntl(made, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	event.fd = own_fd_lift(made);
	if (client >= 0 && event.fd >= 0 && read_id(event.fd, &event.id)) {
		*event_out = event;
		*descriptor_out = client;
		return STATUS_SUCCESS;
	}
	NTSTATUS status = refuse_descriptors();
	if (client >= 0)
		close(client);
	if (event.fd >= 0)
		close(event.fd);
	return status;
}

void event_set(const struct event *event)
{
	struct pollfd room = { .fd = event->fd, .events = POLLOUT };
	const uint64_t one = 1;

	if (event->fd < 0)
		return;
	int before = cancel_hold_off();
	/* A client can have counted it up so far that writing would wait; then it is set anyway. */
	if (is_still_ours(event) && poll(&room, 1, 0) == 1 && (room.revents & POLLOUT))
		(void)!write(event->fd, &one, sizeof(one));
	cancel_give_back(before);
}

void event_close(struct event *event)
{
	if (event->fd < 0)
		return;
	int before = cancel_hold_off();
	if (is_still_ours(event))
		close(event->fd);
	*event = EVENT_NONE;
	cancel_give_back(before);
}
