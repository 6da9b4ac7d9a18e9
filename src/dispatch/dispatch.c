/*
 * dispatch.c - calls.def turned into one table of handlers, and the path every call takes.
 */
#include <assert.h>

#include "base/log.h"
#include "base/refusal.h"
#include "dispatch/capture.h"
#include "dispatch/dispatch.h"
#include "trace/trace.h"
#include "wire/fields.h"

/* What the table holds: the whole of a call, from the client's struct and back. */
typedef NTSTATUS call_path(struct call *call, void *client_args);

#define CALL(id, name, type, constness, ...)                                                       \
	static NTSTATUS run_##id(struct call *call, void *client_args)                             \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		NTSTATUS status =                                                                  \
			call_capture(call, client_args, sizeof(T), fields, ARRAY_SIZE(fields));    \
		if (NT_SUCCESS(status))                                                            \
			status = dispatch_##id(call, (T *)call->args.bytes);                       \
		if (NT_SUCCESS(status))                                                            \
			call_hand_back_fields(call, fields, ARRAY_SIZE(fields));                   \
		call_finish(call);                                                                 \
		return status;                                                                     \
	}
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

static call_path *const paths[CALL_COUNT] = {
#define CALL(id, name, type, constness, ...) [CALL_##id] = run_##id,
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
};

NTSTATUS dispatch_call(struct dxg_kernel *kernel, struct dxg_process *process, uint32_t id,
		       void *client_args)
{
	const struct call_description *description = call_describe(id);
	struct refusal_scope scope;
	struct call call;

	assert(description);
	call.kernel = kernel;
	call.process = process;
	call.description = description;

	refusal_begin(&scope, description->name);
	trace_api_call_begin(description->name);
	NTSTATUS status = paths[id] ? paths[id](&call, client_args)
				    : refuse(STATUS_NOT_IMPLEMENTED, RULE_API_NOT_BUILT, NULL,
					     "the call is not built yet");
	trace_api_call_end(status);
	if (UNLIKELY(log_is_on(LOG_CALLS))) /* finding the name costs more than many a call */
		log_topic(LOG_CALLS, "%s: %s", description->name, status_name(status));
	bool has_refused = refusal_end(&scope);
	/* Every refusal has a reason: a failure without one is a mistake of ours. */
	assert(NT_SUCCESS(status) || has_refused);
	(void)has_refused;
	return status;
}
