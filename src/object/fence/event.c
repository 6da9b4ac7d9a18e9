/* SPDX-License-Identifier: MIT */
/*
 * event.c - see event.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/eventfd.h"
#include "base/own_fd.h"
#include "base/refusal.h"
#include "object/fence/event.h"

_Thread_local struct client_port *client_port_current;

/* In the place of an eventfd's number: it is a pipe. */
#define EVENT_IS_PIPE UINT64_MAX

enum { FIRST_DESCRIPTOR = 3 }; /* 0 is no handle, and all three have a meaning to every program */

static bool is_still_ours(const struct event *event)
{
	return event->id == EVENT_IS_PIPE || eventfd_is(event->fd, event->id);
}

static NTSTATUS refuse_descriptors(void)
{
	return refuse(STATUS_TOO_MANY_OPENED_FILES, RULE_API_DESCRIPTORS, NULL,
		      "no file descriptor for an event: %s", strerror(errno));
}

static NTSTATUS refuse_handle(uintptr_t handle, const char *argument)
{
	return refuse(STATUS_INVALID_HANDLE, RULE_API_EVENT, argument,
		      "0x%zx is no descriptor of an eventfd", handle);
}

/* Of a client in another process: the number that came in the place of its descriptor. */
static NTSTATUS capture_there(struct client_port *port, uintptr_t handle, const char *argument,
			      struct event *event_out)
{
	if (handle == 0 || handle > UINT32_MAX ||
	    !port->services->take_event(port, (uint32_t)handle))
		return refuse_handle(handle & ~CLIENT_PORT_NO_EVENT, argument);
	*event_out = (struct event){ .fd = -1, .id = handle, .port = port };
	return STATUS_SUCCESS;
}

static NTSTATUS capture_here(uintptr_t handle, const char *argument, struct event *event_out)
{
	uint64_t id;

	if (handle == 0 || handle > INT_MAX)
		return refuse_handle(handle, argument);
	if (!eventfd_identify((int)handle, &id))
		return errno == EMFILE ? refuse_descriptors() : refuse_handle(handle, argument);
	int fd = own_fd_copy((int)handle);
	if (fd < 0)
		return refuse_descriptors();
	*event_out = (struct event){ .fd = fd, .id = id };
	return STATUS_SUCCESS;
}

NTSTATUS event_capture(struct quota_ledger *ledger, uintptr_t handle, const char *argument,
		       struct event *event_out)
{
	*event_out = EVENT_NONE;
	NTSTATUS status = quota_take(ledger, QUOTA_EVENTS, 1);
	if (!NT_SUCCESS(status))
		return status;
	int before = cancel_hold_off();
	status = client_port_current
			 ? capture_there(client_port_current, handle, argument, event_out)
			 : capture_here(handle, argument, event_out);
	cancel_give_back(before);
	if (NT_SUCCESS(status))
		event_out->ledger = quota_get(ledger);
	else
		quota_give(ledger, QUOTA_EVENTS, 1);
	return status;
}

/* Nobody else has the end that is written to, so that it is ours needs no look. */
static NTSTATUS create_pipe(struct event *event_out, int *descriptor_out)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return refuse_descriptors();
	*event_out = (struct event){ .fd = ends[1], .id = EVENT_IS_PIPE };
	*descriptor_out = ends[0];
	return STATUS_SUCCESS;
}

static NTSTATUS event_make(struct event *event_out, int *descriptor_out)
{
	if (client_port_current)
		return create_pipe(event_out, descriptor_out);
	int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct event event = EVENT_NONE;

	if (made < 0)
		return refuse_descriptors();
	int client = fcntl(made, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	event.fd = own_fd_lift(made);
	if (client >= 0 && event.fd >= 0 && eventfd_identify(event.fd, &event.id)) {
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

NTSTATUS event_create(struct quota_ledger *ledger, struct event *event_out, int *descriptor_out)
{
	NTSTATUS status = quota_take(ledger, QUOTA_EVENTS, 1);

	if (!NT_SUCCESS(status))
		return status;
	status = event_make(event_out, descriptor_out);
	if (NT_SUCCESS(status))
		event_out->ledger = quota_get(ledger);
	else
		quota_give(ledger, QUOTA_EVENTS, 1);
	return status;
}

void event_set(const struct event *event)
{
	struct pollfd writable = { .fd = event->fd, .events = POLLOUT };
	const uint64_t one = 1;

	if (event->port)
		event->port->services->set_event(event->port, (uint32_t)event->id);
	if (event->fd < 0)
		return;
	int before = cancel_hold_off();
	/* A client can have counted it up so far that writing would wait; then it is set anyway. */
	if (is_still_ours(event) && poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT))
		(void)!write(event->fd, &one, sizeof(one));
	cancel_give_back(before);
}

void event_close(struct event *event)
{
	if (event->fd < 0 && !event->port)
		return;
	int before = cancel_hold_off();
	if (event->port)
		event->port->services->close_event(event->port, (uint32_t)event->id);
	else if (is_still_ours(event))
		close(event->fd);
	quota_give(event->ledger, QUOTA_EVENTS, 1);
	quota_put(event->ledger);
	*event = EVENT_NONE;
	cancel_give_back(before);
}
