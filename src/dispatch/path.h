/* SPDX-License-Identifier: MIT */
/*
 * path.h - the path every call takes, for whoever is its beginning.
 */
#ifndef DISPATCH_PATH_H
#define DISPATCH_PATH_H

#include <assert.h>

#include "base/attributes.h"
#include "base/log.h"
#include "base/refusal.h"
#include "dispatch/decode.h"
#include "trace/trace.h"
#include "wire/call.h"

/* The whole of a call, from the client's struct and back. */
typedef NTSTATUS call_path(struct dxg_kernel *kernel, struct dxg_process *process,
			   void *client_args);

extern call_path *const dispatch_paths[CALL_COUNT];

/*
 * "D3DKMTCreateDevice(hAdapter 0x40000040, Flags 0x0): STATUS_SUCCESS, hDevice 0x400000c0", to the log,
 * and to a trace. The call is over; without `client_args` its arguments were never read.
 */
void call_tell(const struct call *call, const void *client_args, NTSTATUS status);

/* For who runs a call, which is a constant here. */
SPECIALIZED void call_begin(struct call *call, struct dxg_kernel *kernel,
			    struct dxg_process *process, enum call_id id, const char *name)
{
	call->kernel = kernel;
	call->process = process;
	call->description = call_describe(id);
	refusal_begin(&call->refusals, name);
	trace_api_call_begin(name, process->id);
}

SPECIALIZED NTSTATUS call_end(struct call *call, const void *client_args, NTSTATUS status)
{
	if (trace_is_on() || UNLIKELY(log_is_on(LOG_CALLS)))
		call_tell(call, client_args, status);
	bool has_refused = refusal_end_call(&call->refusals, status);
	/* Every refusal has a reason: a failure without one is a mistake of ours. */
	assert(NT_SUCCESS(status) || has_refused);
	(void)has_refused;
	return status;
}

#endif
