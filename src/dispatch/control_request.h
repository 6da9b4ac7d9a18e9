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

/* How a kernel is kept still. */
struct control_doors {
	/* Every call that is under way rests, nobody comes in, no process comes or goes; false: a
	   call goes on. */
	bool (*close)(void);
	void (*open)(void);
	/* As a call does: the kernel does not end meanwhile. */
	void (*go_in)(void);
	void (*come_out)(void);
	/* Whose calls go on. */
	void (*name_busy)(char *names, size_t size_bytes);
};

/* CONTROL_CHECK. Where a call goes on for long only what needs no stillness is looked at, and said. */
void control_check(struct dxg_kernel *kernel, const struct control_doors *doors,
		   const struct control_request *request, char *body, struct control_reply *reply);

/* A reply to what was done; `size_bytes` of the body go back with it. */
void control_reply_accept(struct control_reply *reply, uint32_t size_bytes);

/* A reply to what is not even a request. */
void control_reply_refuse(struct control_reply *reply, NTSTATUS status, const char *reason);

#endif
