/* SPDX-License-Identifier: MIT */
/*
 * server_link.h - a connection to the server: finding it, and the first two messages.
 */
#ifndef WIRE_SERVER_LINK_H
#define WIRE_SERVER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "wire/control.h"
#include "wire/message.h"

/* More than the path of a socket can have: one that is too long stays too long. */
enum { SERVER_PATH_BYTES = 128 };

/*
 * Where the server is, by what DXGK_SOCKET or --socket says: a path, or "auto" for the first of the usual
 * ones where somebody listens. None: nothing was said, or "auto", and nobody listens.
 */
enum server_choice { SERVER_NONE, SERVER_AT_PATH };
enum server_choice server_link_choose(const char *said, char *path_out, size_t size_bytes);

/*
 * Connects and is greeted, as what `hello` says of itself; the rest of it is filled in. -1: it was not
 * to be, and `welcome` has status, rule and reason.
 */
MUST_CHECK int server_link_open(const char *path, struct wire_message *hello,
				struct wire_message *welcome);

/* A request of wire/control.h over a connection for that, and its reply. False with errno. */
MUST_CHECK bool server_link_ask(int socket, const struct control_request *request, void *body,
				struct control_reply *reply);
/* The same with a descriptor, which stays the caller's; -1: none. */
MUST_CHECK bool server_link_ask_with(int socket, const struct control_request *request, void *body,
				     int descriptor, struct control_reply *reply);

#endif
