/* SPDX-License-Identifier: MIT */
/*
 * control_client.h - one question to a running kernel: a server's, or that in a program with a control socket.
 */
#ifndef CLI_CONTROL_CLIENT_H
#define CLI_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/control.h"

struct control_client {
	const char *command; /* of dxgk that asks: what is said begins with it */
	char path[4096];
	bool is_server; /* else a program that was started with DXGK_CONTROL=path */
	int server;    /* the connection, for all questions; -1: it was not to be, which was said */
	uint64_t luid; /* 0: the first adapter */
};

/*
 * Of a server, by what --socket or DXGK_SOCKET says ("auto" is the first of the usual ones); or of a program, when
 * it is a control socket that is at the path. False: "auto", and nobody listens.
 */
bool control_find_server(struct control_client *client, const char *said);
/*
 * Who asks now and then is connected for one question's time, so that a server may end when it is idle, and another
 * one may have taken its place. False after saying why not.
 */
bool control_connect(struct control_client *client);
void control_disconnect(struct control_client *client);
void control_of_program(struct control_client *client, const char *path);

/*
 * A trace of the server, from now until the end, in the file at `path`. False after saying why for `verb`; then
 * what was there is as it was. The file is complete when control_trace_end() returns.
 */
bool control_trace_begin(const struct control_client *client, const char *verb, const char *path,
			 uint32_t wishes);
bool control_trace_end(const struct control_client *client, const char *verb);

/*
 * Sends `body` and gets it back as the kernel left it. False when it did not come to a reply, which
 * was said on standard error; else reply->status tells.
 */
bool control_ask(const struct control_client *client, enum control_kind kind, uint32_t type,
		 void *body, uint32_t size_bytes, struct control_reply *reply);

/* "dxgk COMMAND: what: why", for a reply that is a refusal. NULL: there is nothing to say but the command. */
void control_print_refusal(const struct control_client *client, const char *what,
			   const struct control_reply *reply);

#endif
