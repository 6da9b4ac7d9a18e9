/* SPDX-License-Identifier: MIT */
/*
 * event.h - a client's event: an eventfd, of which we keep a copy.
 *
 * The client may close its own at any time; ours lives until event_close(). In embedded use our
 * copy is among the client's descriptors, and a client that closes them all takes it with it:
 * before it is written to or closed, its number is looked at, whether it still is the same eventfd.
 */
#ifndef OBJECT_FENCE_EVENT_H
#define OBJECT_FENCE_EVENT_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct event {
	int fd;      /* -1: none */
	uint64_t id; /* the host's number of the eventfd, not of the descriptor */
};

#define EVENT_NONE ((struct event){ .fd = -1 })

/* `handle` is any pointer-sized number of a client's; `argument` names it in a refusal. */
MUST_CHECK NTSTATUS event_capture(uintptr_t handle, const char *argument, struct event *event_out);

/* A new event, and the client's descriptor of it, which polls readable once the event is set. */
MUST_CHECK NTSTATUS event_create(struct event *event_out, int *descriptor_out);

/* Adds 1, which wakes whoever reads or polls. */
void event_set(const struct event *event);

/* Accepts EVENT_NONE. */
void event_close(struct event *event);

#endif
