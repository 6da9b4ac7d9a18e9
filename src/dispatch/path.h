/* SPDX-License-Identifier: MIT */
/*
 * path.h - the path every call takes, for whoever is its beginning.
 */
#ifndef DISPATCH_PATH_H
#define DISPATCH_PATH_H

#include <assert.h>
#include <stdatomic.h>

#include "base/attributes.h"
#include "base/gate.h"
#include "base/log.h"
#include "base/refusal.h"
#include "dispatch/decode.h"
#include "trace/trace.h"
#include "wire/call.h"
#include "wire/embed.h"

/* By which way calls come in: whose they are, and which gate they pass. */
struct call_door {
	_Atomic bool is_open; /* or they go elsewhere */
	NTSTATUS (*elsewhere)(uint32_t id, void *client_args);
	struct gate *gate; /* NULL: who comes has passed what there is to pass */
	struct dxg_kernel *kernel;
	struct dxg_process *process; /* guarded by the gate; NULL: they go elsewhere, too */
};

/* The whole of a call, from the client's struct and back; `door` is a call_door. */
extern dxgk_way *const dispatch_paths[CALL_COUNT];

SPECIALIZED void door_leave(const struct call_door *door, uint32_t seat)
{
	if (LIKELY(door->gate != NULL))
		gate_leave_from(door->gate, seat);
}

/* False: not inside, it is a call for elsewhere. `seat` is thread_own_seat. */
MUST_CHECK SPECIALIZED bool door_enter(const struct call_door *door, uint32_t seat)
{
	if (UNLIKELY(!atomic_load_explicit(&door->is_open, memory_order_relaxed)))
		return false;
	if (LIKELY(door->gate != NULL))
		gate_enter_from(door->gate, seat);
	if (LIKELY(door->process != NULL))
		return true;
	door_leave(door, seat);
	return false;
}

/*
 * "D3DKMTCreateDevice(hAdapter 0x40000040, Flags 0x0): STATUS_SUCCESS, hDevice 0x400000c0", to the log,
 * and to a trace. The call is over; without `client_args` its arguments were never read.
 */
void call_tell(const struct call *call, const void *client_args, NTSTATUS status);

/* For who runs a call, which is a constant here. */
SPECIALIZED void call_begin(struct refusal_scope *refusals, const struct dxg_process *process,
			    const char *name)
{
	refusal_begin(refusals, name);
	trace_api_call_begin(name, process->id);
}

/* Its end was told. */
SPECIALIZED void call_end(struct refusal_scope *refusals, NTSTATUS status)
{
	bool has_refused = refusal_end_call(refusals, status);

	/* Every refusal has a reason: a failure without one is a mistake of ours. */
	assert(NT_SUCCESS(status) || has_refused);
	(void)has_refused;
}

#endif
