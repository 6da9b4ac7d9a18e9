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
typedef NTSTATUS call_path(struct call *call, void *client_args);

extern call_path *const dispatch_paths[CALL_COUNT]; /* NULL: not built */

/*
 * "D3DKMTCreateDevice(hAdapter 0x40000040, Flags 0x0): STATUS_SUCCESS, hDevice 0x400000c0", to the log.
 * The call is over; without `client_args` its arguments were never read.
 */
RARE void call_log(const struct call *call, const void *client_args, NTSTATUS status);
/* The same text, for a trace that is to have it. */
RARE void call_trace(const struct call *call, const void *client_args, NTSTATUS status);

/* As dispatch_call(). */
SPECIALIZED NTSTATUS dispatch_call_here(struct dxg_kernel *kernel, struct dxg_process *process,
					uint32_t id, void *client_args)
{
	const struct call_description *description = call_describe(id);
	struct refusal_scope scope;
	struct call call;

	assert(description);
	call.kernel = kernel;
	call.process = process;
	call.description = description;

	refusal_begin(&scope, description->name);
	trace_api_call_begin(description->name, process->id);
	NTSTATUS status = LIKELY(dispatch_paths[id] != NULL)
				  ? dispatch_paths[id](&call, client_args)
				  : refuse(STATUS_NOT_IMPLEMENTED, RULE_API_NOT_BUILT, NULL,
					   "the call is not built yet");
	if (trace_has(TRACE_WITH_ARGUMENTS))
		call_trace(&call, dispatch_paths[id] ? client_args : NULL, status);
	trace_api_call_end(status);
	if (UNLIKELY(log_is_on(LOG_CALLS))) /* finding the name costs more than many a call */
		call_log(&call, dispatch_paths[id] ? client_args : NULL, status);
	bool has_refused = refusal_end_call(&scope, status);
	/* Every refusal has a reason: a failure without one is a mistake of ours. */
	assert(NT_SUCCESS(status) || has_refused);
	(void)has_refused;
	return status;
}

#endif
