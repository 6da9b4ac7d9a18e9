/* SPDX-License-Identifier: MIT */
/*
 * keyed_mutex_calls.c - keyed mutexes. The second versions of the calls carry a blob of the
 * runtime's; otherwise the two are the same.
 */
#include <assert.h>

#include "base/checked.h"
#include "base/clock.h"
#include "dispatch/dispatch.h"

/* NT time counts 100 ns units from the year 1601. */
#define NS_PER_UNIT         UINT64_C(100)
#define UNITS_TO_UNIX_EPOCH INT64_C(116444736000000000)

/* Where the first version of a call has no blob. */
static const struct keyed_mutex_data no_data;

/* ---- create, open, destroy ---- */

static NTSTATUS create_mutex(struct call *call, uint64_t initial_key,
			     const struct keyed_mutex_data *data, enum share_scheme scheme,
			     D3DKMT_HANDLE *shared_out, D3DKMT_HANDLE *handle_out)
{
	struct dxg_keyed_mutex *mutex;
	NTSTATUS status = keyed_mutex_create(call->process, initial_key, data, scheme, &mutex);

	if (!NT_SUCCESS(status))
		return status;
	*shared_out = share_global_handle(&mutex->body->share);
	*handle_out = mutex->object.handle;
	object_put(&mutex->object);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_create_keyed_mutex(struct call *call, D3DKMT_CREATEKEYEDMUTEX *args)
{
	return create_mutex(call, args->InitialValue, &no_data, SHARE_GLOBAL, &args->hSharedHandle,
			    &args->hKeyedMutex);
}

NTSTATUS dispatch_create_keyed_mutex2(struct call *call, D3DKMT_CREATEKEYEDMUTEX2 *args)
{
	const struct keyed_mutex_data data = { args->pPrivateRuntimeData,
					       args->PrivateRuntimeDataSize };

	return create_mutex(call, args->InitialValue, &data,
			    args->Flags.NtSecuritySharing ? SHARE_NT : SHARE_GLOBAL,
			    &args->hSharedHandle, &args->hKeyedMutex);
}

static NTSTATUS open_mutex(struct call *call, D3DKMT_HANDLE shared,
			   const struct keyed_mutex_data *data, D3DKMT_HANDLE *handle_out)
{
	struct dxg_keyed_mutex *mutex;
	struct share *share;
	NTSTATUS status = share_find_global(call->process->shares, call->process->identity.user,
					    shared, SHARE_KEYED_MUTEX, "hSharedHandle", &share);

	if (!NT_SUCCESS(status))
		return status;
	status = keyed_mutex_open(call->process, share, data, &mutex);
	share_put(share);
	if (!NT_SUCCESS(status))
		return status;
	keyed_mutex_settle(mutex);
	*handle_out = mutex->object.handle;
	object_put(&mutex->object);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_open_keyed_mutex(struct call *call, D3DKMT_OPENKEYEDMUTEX *args)
{
	return open_mutex(call, args->hSharedHandle, &no_data, &args->hKeyedMutex);
}

NTSTATUS dispatch_open_keyed_mutex2(struct call *call, D3DKMT_OPENKEYEDMUTEX2 *args)
{
	const struct keyed_mutex_data data = { args->pPrivateRuntimeData,
					       args->PrivateRuntimeDataSize };

	return open_mutex(call, args->hSharedHandle, &data, &args->hKeyedMutex);
}

/*
 * No NT handle stands for a keyed mutex alone, and the one it travels in is its resource's. So the
 * answer is always no, as on Windows; D3DKMTOpenResourceFromNtHandle opens all three.
 */
NTSTATUS dispatch_open_keyed_mutex_from_nt_handle(struct call *call,
						  D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE *args)
{
	struct share_set set;
	NTSTATUS status = share_find_nt(call->process->shares, (uintptr_t)args->hNtHandle,
					SHARE_KEYED_MUTEX, "hNtHandle", &set);

	assert(!NT_SUCCESS(status));
	return status;
}

NTSTATUS dispatch_destroy_keyed_mutex(struct call *call, D3DKMT_DESTROYKEYEDMUTEX *args)
{
	return call_destroyed(keyed_mutex_destroy(object_as(keyed_mutex, call->objects[0])),
			      "hKeyedMutex", args->hKeyedMutex);
}

/* ---- acquire, release ---- */

/* A client's timeout as a deadline of ours; 0 says not to wait. */
static uint64_t deadline_of(const LARGE_INTEGER *timeout)
{
	uint64_t delay_ns;
	int64_t units;

	if (!timeout)
		return CLOCK_FOREVER;
	memcpy(&units, timeout, sizeof(units));
	if (units > 0) {
		/* A moment, of which the calendar and not our clock knows how far away it is. */
		units -= (int64_t)(clock_wall_ns() / NS_PER_UNIT) + UNITS_TO_UNIX_EPOCH;
		if (units < 0)
			units = 0;
	} else {
		units = -(units + 1);
		units += units != INT64_MAX; /* the smallest number has no opposite */
	}
	if (units == 0)
		return 0;
	if (!checked_mul((uint64_t)units, NS_PER_UNIT, &delay_ns))
		return CLOCK_FOREVER;
	return clock_deadline(delay_ns);
}

static NTSTATUS acquire(struct call *call, uint64_t key, const LARGE_INTEGER *timeout,
			const struct keyed_mutex_data *buffer, UINT64 *fence_value_out)
{
	uint64_t fence_value;
	NTSTATUS status = keyed_mutex_acquire(object_as(keyed_mutex, call->objects[0]), key,
					      deadline_of(timeout), buffer, &fence_value);

	if (NT_SUCCESS(status))
		*fence_value_out = fence_value;
	return status;
}

NTSTATUS dispatch_acquire_keyed_mutex(struct call *call, D3DKMT_ACQUIREKEYEDMUTEX *args)
{
	return acquire(call, args->Key, args->pTimeout, &no_data, &args->FenceValue);
}

NTSTATUS dispatch_acquire_keyed_mutex2(struct call *call, D3DKMT_ACQUIREKEYEDMUTEX2 *args)
{
	const struct keyed_mutex_data buffer = { args->pPrivateRuntimeData,
						 args->PrivateRuntimeDataSize };

	return acquire(call, args->Key, args->pTimeout, &buffer, &args->FenceValue);
}

NTSTATUS dispatch_release_keyed_mutex(struct call *call, D3DKMT_RELEASEKEYEDMUTEX *args)
{
	return keyed_mutex_release(object_as(keyed_mutex, call->objects[0]), args->Key,
				   args->FenceValue, &no_data);
}

NTSTATUS dispatch_release_keyed_mutex2(struct call *call, D3DKMT_RELEASEKEYEDMUTEX2 *args)
{
	const struct keyed_mutex_data data = { args->pPrivateRuntimeData,
					       args->PrivateRuntimeDataSize };

	return keyed_mutex_release(object_as(keyed_mutex, call->objects[0]), args->Key,
				   args->FenceValue, &data);
}
