/* SPDX-License-Identifier: MIT */
/*
 * control_client.h - one question to a running kernel, over its control socket.
 */
#ifndef CLI_CONTROL_CLIENT_H
#define CLI_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/control.h"

struct control_client {
	const char *path;
	uint64_t luid; /* 0: the first adapter */
};

/*
 * Sends `body` and gets it back as the kernel left it. False when it did not come to a reply, which
 * was said on standard error; else reply->status tells.
 */
bool control_ask(const struct control_client *client, enum control_kind kind, uint32_t type,
		 void *body, uint32_t size_bytes, struct control_reply *reply);

/* "dxgk ctl: …: why", for a reply that is a refusal. */
void control_print_refusal(const char *what, const struct control_reply *reply);

#endif
