/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c - calls.def turned into one path per call, and a table of them.
 */
#include <assert.h>

#include "dispatch/capture.h"
#include "dispatch/dispatch.h"
#include "dispatch/path.h"
#include "wire/fields.h"

RARE static NTSTATUS refuse_not_built(void)
{
	return refuse(STATUS_NOT_IMPLEMENTED, RULE_API_NOT_BUILT, NULL,
		      "the call is not built yet");
}

#define CALL(id, name, type, constness, ...)                                                       \
	static NTSTATUS run_##id(struct dxg_kernel *kernel, struct dxg_process *process,           \
				 void *client_args)                                                \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		struct call call;                                                                  \
		call_begin(&call, kernel, process, CALL_##id, #name);                              \
		NTSTATUS status =                                                                  \
			call_capture(&call, client_args, sizeof(T), fields, ARRAY_SIZE(fields));   \
		if (NT_SUCCESS(status))                                                            \
			status = dispatch_##id(&call, (T *)call.args.bytes);                       \
		if (NT_SUCCESS(status))                                                            \
			call_hand_back_fields(&call, fields, ARRAY_SIZE(fields));                  \
		call_finish(&call, fields, ARRAY_SIZE(fields));                                    \
		return call_end(&call, client_args, status);                                       \
	}
#define CALL_NOT_BUILT(name, type, constness)                                                      \
	static NTSTATUS run_##name(struct dxg_kernel *kernel, struct dxg_process *process,         \
				   void *client_args)                                              \
	{                                                                                          \
		struct call call;                                                                  \
		call_begin(&call, kernel, process, CALL_##name, #name);                            \
		(void)client_args;                                                                 \
		return call_end(&call, NULL, refuse_not_built());                                  \
	}
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

call_path *const dispatch_paths[CALL_COUNT] = {
#define CALL(id, name, type, constness, ...)  [CALL_##id] = run_##id,
#define CALL_NOT_BUILT(name, type, constness) [CALL_##name] = run_##name,
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
};

NTSTATUS dispatch_call(struct dxg_kernel *kernel, struct dxg_process *process, uint32_t id,
		       void *client_args)
{
	assert(id < CALL_COUNT);
	return dispatch_paths[id](kernel, process, client_args);
}
