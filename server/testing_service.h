/* SPDX-License-Identifier: MIT */
/*
 * testing_service.h - <opendxgk/testing.h> for programs that test through a server: what it asks of the
 * kernel in its own process is asked of the server's.
 */
#ifndef SERVER_TESTING_SERVICE_H
#define SERVER_TESTING_SERVICE_H

#include <stdbool.h>

#include "server/server.h"
#include "wire/control.h"

/* False: it is no request of a test. Refused unless the server was started with DXGK_TESTING=1. */
MUST_CHECK bool testing_service_run(struct server *server, const struct control_request *request,
				    void *body, struct control_reply *reply);

#endif
