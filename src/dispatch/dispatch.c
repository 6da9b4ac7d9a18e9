/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c - calls.def turned into one table of handlers.
 */
#include "dispatch/capture.h"
#include "dispatch/dispatch.h"
#include "dispatch/path.h"
#include "wire/fields.h"

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
		call_finish(call, fields, ARRAY_SIZE(fields));                                     \
		return status;                                                                     \
	}
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

call_path *const dispatch_paths[CALL_COUNT] = {
#define CALL(id, name, type, constness, ...) [CALL_##id] = run_##id,
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
};

NTSTATUS dispatch_call(struct dxg_kernel *kernel, struct dxg_process *process, uint32_t id,
		       void *client_args)
{
	return dispatch_call_here(kernel, process, id, client_args);
}
