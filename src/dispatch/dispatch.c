/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c - calls.def turned into one path per call, and a table of them.
 */
#include <assert.h>

#include "dispatch/capture.h"
#include "dispatch/dispatch.h"
#include "dispatch/path.h"
#include "dispatch/quick.h"
#include "wire/fields.h"

RARE static NTSTATUS refuse_not_built(void)
{
	return refuse(STATUS_NOT_IMPLEMENTED, RULE_API_NOT_BUILT, NULL,
		      "the call is not built yet");
}

/* As the table says. */
SPECIALIZED void whole_begin(struct call *call, const struct call_door *door, enum call_id id)
{
	call->kernel = door->kernel;
	call->process = door->process;
	call->description = call_describe(id);
}

SPECIALIZED void whole_end(const struct call *call, const void *client_args, NTSTATUS status)
{
	if (trace_is_on() || UNLIKELY(log_is_on(LOG_CALLS)))
		call_tell(call, client_args, status);
}

/* One call of a thread of the process. */
SPECIALIZED NTSTATUS call_along(const struct call_door *door, void *client_args, enum call_id id,
				const char *name,
				NTSTATUS (*whole)(const struct call_door *door, void *client_args))
{
	uint32_t seat = thread_own_seat;
	struct refusal_scope refusals;
	NTSTATUS status;

	if (UNLIKELY(!door_enter(door, seat)))
		return door->elsewhere(id, client_args);
	call_begin(&refusals, door->process, name);
	if (quick_call(id, door->process, seat, client_args, &status))
		trace_api_call_end(status);
	else
		status = whole(door, client_args);
	call_end(&refusals, status);
	door_leave(door, seat);
	return status;
}

#define CALL(id, name, type, constness, ...)                                                       \
	static NTSTATUS whole_##id(const struct call_door *door, void *client_args)                \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		struct call call;                                                                  \
		whole_begin(&call, door, CALL_##id);                                               \
		NTSTATUS status =                                                                  \
			call_capture(&call, client_args, sizeof(T), fields, ARRAY_SIZE(fields));   \
		if (NT_SUCCESS(status))                                                            \
			status = dispatch_##id(&call, (T *)call.args.bytes);                       \
		if (NT_SUCCESS(status))                                                            \
			call_hand_back_fields(&call, fields, ARRAY_SIZE(fields));                  \
		call_finish(&call, fields, ARRAY_SIZE(fields));                                    \
		whole_end(&call, client_args, status);                                             \
		return status;                                                                     \
	}                                                                                          \
	PATH(id, #name)
#define CALL_NOT_BUILT(name, type, constness)                                                      \
	static NTSTATUS whole_##name(const struct call_door *door, void *client_args)              \
	{                                                                                          \
		struct call call;                                                                  \
		whole_begin(&call, door, CALL_##name);                                             \
		(void)client_args;                                                                 \
		NTSTATUS status = refuse_not_built();                                              \
		whole_end(&call, NULL, status);                                                    \
		return status;                                                                     \
	}                                                                                          \
	PATH(name, #name)
#define PATH(id, name)                                                                             \
	static NTSTATUS path_##id(void *door, void *client_args, uint32_t number)                  \
	{                                                                                          \
		(void)number;                                                                      \
		return call_along(door, client_args, CALL_##id, name, whole_##id);                 \
	}
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

dxgk_way *const dispatch_paths[CALL_COUNT] = {
#define CALL(id, name, type, constness, ...)  [CALL_##id] = path_##id,
#define CALL_NOT_BUILT(name, type, constness) [CALL_##name] = path_##name,
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
};

NTSTATUS dispatch_call(struct dxg_kernel *kernel, struct dxg_process *process, uint32_t id,
		       void *client_args)
{
	struct call_door door = { .is_open = true, .kernel = kernel, .process = process };

	assert(id < CALL_COUNT);
	return dispatch_paths[id](&door, client_args, id);
}
