/* SPDX-License-Identifier: MIT */
/*
 * control.h - the control socket: a way to a running kernel for `dxgk ctl`.
 *
 * DXGK_CONTROL names the path of a Unix socket, which only the user who runs the program can
 * connect to. One thread serves one connection at a time, and each for a few seconds at most;
 * nobody in the kernel ever waits for it.
 */
#ifndef EMBED_CONTROL_H
#define EMBED_CONTROL_H

#include "wire/control.h"

/* Carries a request out; `body` as in dispatch/control_request.h. On the socket's thread. */
typedef void control_handler(const struct control_request *request, void *body,
			     struct control_reply *reply);

/* Without a path, or where it cannot listen there, it says so and does nothing. */
void control_start(const char *path, control_handler *handler);

/* No request is under way when it returns. Not from a handler. */
void control_stop(void);

#endif
