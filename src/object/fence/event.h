/* SPDX-License-Identifier: MIT */
/*
 * event.h - a client's event: an eventfd, of which we keep a copy, or the number of one that a client in
 * another process keeps for us.
 *
 * A thread that writes to an eventfd can be made to wait, by whoever has a descriptor of it; so those of
 * other processes are written to there (client_port.h).
 *
 * The client may close its own at any time; ours lives until event_close(). In embedded use our
 * copy is among the client's descriptors, and a client that closes them all takes it with it:
 * before it is written to or closed, its number is looked at, whether it still is the same eventfd.
 */
#ifndef OBJECT_FENCE_EVENT_H
#define OBJECT_FENCE_EVENT_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/quota.h"
#include "base/status.h"
#include "object/owner/client_port.h"

struct event {
	int fd;      /* -1: none, or the client's own */
	uint64_t id; /* the host's number of the eventfd, or the client's number of the event */
	struct client_port *port; /* NULL: the client is in this process */
	struct quota_ledger
		*ledger; /* whose quota it counts for, with a reference; NULL: nobody's */
};

#define EVENT_NONE ((struct event){ .fd = -1 })

/* `handle` is any pointer-sized number of a client's; `argument` names it in a refusal. */
MUST_CHECK NTSTATUS event_capture(struct quota_ledger *ledger, uintptr_t handle,
				  const char *argument, struct event *event_out);

/*
 * A new event, and the client's descriptor of it, which polls readable once the event is set. For a client
 * in another process it is one end of a pipe: nobody there can make a writer wait.
 */
MUST_CHECK NTSTATUS event_create(struct quota_ledger *ledger, struct event *event_out,
				 int *descriptor_out);

/* Adds 1, which wakes whoever reads or polls. Accepts EVENT_NONE. */
void event_set(const struct event *event);

/* Accepts EVENT_NONE. */
void event_close(struct event *event);

#endif
