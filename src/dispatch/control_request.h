/* SPDX-License-Identifier: MIT */
/*
 * control_request.h - a request of the control socket, carried out on behalf of a process as if its
 * program had made the call.
 */
#ifndef DISPATCH_CONTROL_REQUEST_H
#define DISPATCH_CONTROL_REQUEST_H

#include "object/owner/kernel.h"
#include "wire/control.h"

/*
 * `body` has request->size_bytes, at most CONTROL_MOST_BYTES, and comes back as the call left it.
 * The reply is filled in whatever happens. `process` NULL: there is none now, and it is refused.
 */
void control_request_run(struct dxg_kernel *kernel, struct dxg_process *process,
			 const struct control_request *request, void *body,
			 struct control_reply *reply);

/* A reply to what is not even a request. */
void control_reply_refuse(struct control_reply *reply, NTSTATUS status, const char *reason);

#endif
