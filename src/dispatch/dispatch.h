/* SPDX-License-Identifier: MIT */
/*
 * dispatch.h - the border: one function per call of calls.def.
 *
 * A handler sees a struct that was copied and checked (decode.h). It checks what the table cannot
 * say, then acts; its results are handed back when it succeeds.
 */
#ifndef DISPATCH_DISPATCH_H
#define DISPATCH_DISPATCH_H

#include "dispatch/decode.h"

#define CALL(id, name, type, constness, ...)                                                       \
	MUST_CHECK NTSTATUS dispatch_##id(struct call *call, type *args);
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

/* The whole of a call: capture, act, hand back, trace, and a refusal if it comes to one. */
NTSTATUS dispatch_call(struct dxg_kernel *kernel, struct dxg_process *process, uint32_t id,
		       void *client_args);

#endif
