/* SPDX-License-Identifier: MIT */
/*
 * quick.h - calls that are made all the time, in the form that nearly all of them have.
 *
 * A look at the client's struct says whether it is that form: then the call is done with what was
 * read, which stays in registers. Otherwise nothing has happened, and it goes the whole way, from the
 * beginning: so there is one place that refuses, the other one (capture.h). Each field is read once.
 */
#ifndef DISPATCH_QUICK_H
#define DISPATCH_QUICK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dxg/d3dkmthk.h>

#include "base/attributes.h"
#include "base/log.h"
#include "dispatch/decode.h"
#include "object/ending/destruction.h"
#include "object/fence/sync_object.h"
#include "object/memory/share.h"
#include "trace/trace.h"
#include "wire/call.h"

/* More private data than drivers have mostly goes the whole way. */
enum { QUICK_PRIVATE_BYTES = 128 };

/* A field of the client's struct, which may stand at any address. */
#define QUICK_U32(client, type, field)                                                             \
	client_read_u32((const char *)(client) + offsetof(type, field), 0)
#define QUICK_U64(client, type, field)                                                             \
	quick_read_u64((const char *)(client) + offsetof(type, field))
#define QUICK_POINTER(client, type, field) ((void *)(uintptr_t)QUICK_U64(client, type, field))
#define QUICK_WRITE_U32(client, type, field, value)                                                \
	client_write_u32((char *)(client) + offsetof(type, field), 0, (value))

#define QUICK_WRITE_U64(client, type, field, value)                                                \
	quick_write_u64((char *)(client) + offsetof(type, field), (value))

SPECIALIZED void quick_write_u64(void *client, uint64_t value)
{
	memcpy(client, &value, sizeof(value));
}

SPECIALIZED uint64_t quick_read_u64(const void *client)
{
	uint64_t value;

	memcpy(&value, client, sizeof(value));
	__asm__("" : "+r"(value)); /* or the compiler may read it again */
	return value;
}

/* Its object with a reference, or NULL. */
SPECIALIZED struct object *quick_find(struct dxg_process *process, uint32_t handle,
				      const struct object_class *class)
{
	const struct object_class *found;
	struct object *object;

	return LIKELY(handle_find(&process->handles, handle, class, &object, &found) ==
		      HANDLE_FOUND)
		       ? object
		       : NULL;
}

/* ---- allocations ---- */

/* But Zeroed, the answer to a call before, where a client asks with the same struct again. */
SPECIALIZED uint32_t quick_creation_flags(void)
{
	const D3DKMT_CREATEALLOCATIONFLAGS flags = { .Zeroed = true };
	uint32_t bits;

	_Static_assert(sizeof(flags) == sizeof(bits), "the flags are one word");
	memcpy(&bits, &flags, sizeof(bits));
	return bits;
}

/* One alone, of no memory that the client has, with its driver's private data. */
SPECIALIZED bool quick_create_allocation2(struct dxg_process *process, uint32_t seat, void *client,
					  NTSTATUS *status_out)
{
	typedef D3DKMT_CREATEALLOCATION T;
	typedef D3DDDI_ALLOCATIONINFO2 E;
	uint32_t handle;

	if (UNLIKELY(!client || !allocation_may_go_alone()))
		return false;
	uint32_t device_handle = QUICK_U32(client, T, hDevice);
	char *element = QUICK_POINTER(client, T, pAllocationInfo2);
	uint32_t unusual = QUICK_U32(client, T, hResource) |
			   QUICK_U32(client, T, PrivateRuntimeDataSize) |
			   QUICK_U32(client, T, PrivateDriverDataSize) |
			   (QUICK_U32(client, T, NumAllocations) ^ 1) |
			   (QUICK_U32(client, T, Flags) & ~quick_creation_flags());
	if (UNLIKELY(unusual != 0 || !element))
		return false;
	void *private_data = QUICK_POINTER(element, E, pPrivateDriverData);
	uint32_t private_bytes = QUICK_U32(element, E, PrivateDriverDataSize);
	/* Clients that show nothing leave the source uninitialised, by its name. */
	if (UNLIKELY(QUICK_POINTER(element, E, pSystemMem) || QUICK_U32(element, E, Flags) != 0 ||
		     QUICK_U32(element, E, VidPnSourceId) - D3DDDI_ID_UNINITIALIZED > 1 ||
		     !private_data || private_bytes - 1 >= QUICK_PRIVATE_BYTES))
		return false;
	struct object *device = quick_find(process, device_handle, &device_class);
	if (UNLIKELY(!device))
		return false;
	NTSTATUS status = allocation_create_single(object_as(device, device), seat, private_data,
						   private_bytes, &handle);
	if (LIKELY(NT_SUCCESS(status))) {
		QUICK_WRITE_U32(element, E, hAllocation, handle);
		memset(element + offsetof(E, GpuVirtualAddress), 0,
		       sizeof(((E *)0)->GpuVirtualAddress));
		QUICK_WRITE_U32(client, T, hResource, 0);
		QUICK_WRITE_U32(client, T, hGlobalShare, 0);
		QUICK_WRITE_U32(client, T, Flags, quick_creation_flags());
	}
	*status_out = status;
	return true;
}

/* Where there is nothing to wait for, a client may say that there is not. */
SPECIALIZED uint32_t quick_destruction_flags(void)
{
	const D3DDDICB_DESTROYALLOCATION2FLAGS flags = { .AssumeNotInUse = true };

	return flags.Value;
}

/* One that nothing and nobody is in the way of. */
SPECIALIZED bool quick_destroy_allocation2(struct dxg_process *process, uint32_t seat,
					   const void *client, NTSTATUS *status_out)
{
	typedef D3DKMT_DESTROYALLOCATION2 T;

	if (UNLIKELY(!client || !allocation_may_go_alone() || share_has_bundles(process->shares)))
		return false;
	uint32_t device_handle = QUICK_U32(client, T, hDevice);
	const void *list = QUICK_POINTER(client, T, phAllocationList);
	uint32_t unusual = QUICK_U32(client, T, hResource) |
			   (QUICK_U32(client, T, AllocationCount) ^ 1) |
			   (QUICK_U32(client, T, Flags) & ~quick_destruction_flags());
	if (UNLIKELY(unusual != 0 || !list))
		return false;
	struct object *found = quick_find(process, client_read_u32(list, 0), &allocation_class);
	if (UNLIKELY(!found))
		return false;
	struct dxg_allocation *allocation = object_as(allocation, found);
	allocation_prefetch(allocation);
	struct object *device = quick_find(process, device_handle, &device_class);
	if (UNLIKELY(!device || allocation->device != object_as(device, device) ||
		     !allocation_is_ready(allocation)))
		goto put;
	if (LIKELY(destruction_of_unreachable(object_as(device, device), seat, allocation))) {
		*status_out = STATUS_SUCCESS;
		return true;
	}
put:
	object_put(device);
	object_put(found);
	return false;
}

/* ---- fences ---- */

/* The log and the trace have no arguments of calls. */
SPECIALIZED bool quick_is_unwatched(void)
{
	return LIKELY(!trace_has(TRACE_WITH_ARGUMENTS) && !log_is_on(LOG_CALLS));
}

/* A monitored fence without flags, on a device of which one ended before. */
SPECIALIZED bool quick_create_fence(struct dxg_process *process, uint32_t seat, void *client,
				    NTSTATUS *status_out)
{
	typedef D3DKMT_CREATESYNCHRONIZATIONOBJECT2 T;
	struct sync_names names;

	if (UNLIKELY(!client || !quick_is_unwatched() || share_has_bundles(process->shares)))
		return false;
	uint32_t device_handle = QUICK_U32(client, T, hDevice);
	uint64_t value = QUICK_U64(client, T, Info.MonitoredFence.InitialFenceValue);
	uint32_t unusual = (QUICK_U32(client, T, Info.Type) ^ D3DDDI_MONITORED_FENCE) |
			   QUICK_U32(client, T, Info.Flags);
	if (UNLIKELY(unusual != 0 || QUICK_U32(client, T, Info.MonitoredFence.EngineAffinity) > 1))
		return false;
	struct object *device = quick_find(process, device_handle, &device_class);
	if (UNLIKELY(!device))
		return false;
	bool is_made = sync_object_create_again(object_as(device, device), seat, value, &names);
	object_put(device);
	if (UNLIKELY(!is_made))
		return false;
	QUICK_WRITE_U32(client, T, hSyncObject, names.handle);
	QUICK_WRITE_U32(client, T, Info.SharedHandle, 0);
	QUICK_WRITE_U64(client, T, Info.MonitoredFence.FenceValueCPUVirtualAddress,
			(uintptr_t)names.view);
	QUICK_WRITE_U64(client, T, Info.MonitoredFence.FenceValueGPUVirtualAddress,
			names.gpu_address);
	*status_out = STATUS_SUCCESS;
	return true;
}

/* One that no queue owns. */
SPECIALIZED bool quick_destroy_fence(struct dxg_process *process, uint32_t seat, const void *client,
				     NTSTATUS *status_out)
{
	if (UNLIKELY(!client || !quick_is_unwatched() || share_has_bundles(process->shares)))
		return false;
	uint32_t handle = QUICK_U32(client, D3DKMT_DESTROYSYNCHRONIZATIONOBJECT, hSyncObject);
	struct object *found = quick_find(process, handle, &sync_object_class);
	if (UNLIKELY(!found))
		return false;
	struct dxg_sync_object *fence = object_as(sync_object, found);
	if (UNLIKELY(fence->access.is_owned || !sync_object_destroy_and_put(fence, seat))) {
		object_put(found);
		return false;
	}
	*status_out = STATUS_SUCCESS;
	return true;
}

/* False: it has to go the whole way. For a call that is a constant here. */
SPECIALIZED bool quick_call(enum call_id id, struct dxg_process *process, uint32_t seat,
			    void *client, NTSTATUS *status_out)
{
	if (id == CALL_create_allocation2)
		return quick_create_allocation2(process, seat, client, status_out);
	if (id == CALL_destroy_allocation2)
		return quick_destroy_allocation2(process, seat, client, status_out);
	if (id == CALL_create_synchronization_object2)
		return quick_create_fence(process, seat, client, status_out);
	if (id == CALL_destroy_synchronization_object)
		return quick_destroy_fence(process, seat, client, status_out);
	return false;
}

#endif
