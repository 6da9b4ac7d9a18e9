/* SPDX-License-Identifier: MIT */
/*
 * sync_cpu_calls.c - the CPU signals monitored fences and waits for them.
 */
#include <unistd.h>

#include "dispatch/dispatch.h"
#include "object/fence/sync_wait.h"
#include "trace/trace.h"

enum purpose { TO_SIGNAL, TO_WAIT };

/* The fences of a call, with references, and their values. */
struct fence_list {
	uint32_t count;
	struct dxg_sync_object **fences;
	const uint64_t *values;
};

SPECIALIZED void fence_list_finish(struct fence_list *list)
{
	while (list->count > 0)
		object_put(&list->fences[--list->count]->object);
}

/* A monitored fence of this device, or of the process, that may be used so. */
static NTSTATUS check_fence(const struct dxg_device *device, const struct dxg_sync_object *fence,
			    uint32_t index, enum purpose purpose)
{
	if (fence->device && fence->device != device)
		return invalid_item(RULE_API_HANDLE, "ObjectHandleArray", index,
				    "is of another device than 0x%08x", device->object.handle);
	if (fence->body->kind != SYNC_MONITORED_FENCE)
		return invalid_item(RULE_API_SYNC_KIND, "ObjectHandleArray", index,
				    "is %s, and the CPU can only use monitored fences",
				    sync_kind_name(fence->body->kind));
	if (!(purpose == TO_SIGNAL ? fence->access.may_signal : fence->access.may_wait))
		return refuse_item(STATUS_ACCESS_DENIED, RULE_API_SYNC_ACCESS, "ObjectHandleArray",
				   index, "was opened without the right to %s",
				   purpose == TO_SIGNAL ? "signal" : "wait");
	return STATUS_SUCCESS;
}

SPECIALIZED NTSTATUS find_fence(const struct call *call, const struct dxg_device *device,
				D3DKMT_HANDLE handle, enum purpose purpose, struct fence_list *list)
{
	uint32_t index = list->count;
	struct object *found = NULL;
	NTSTATUS status = call_find_object(call, &sync_object_class, "ObjectHandleArray", index,
					   handle, &found);

	if (!NT_SUCCESS(status))
		return status;
	list->fences[list->count++] = object_as(sync_object, found);
	return check_fence(device, list->fences[index], index, purpose);
}

SPECIALIZED NTSTATUS find_fences(struct call *call, uint32_t count, const D3DKMT_HANDLE *handles,
				 const UINT64 *values, enum purpose purpose,
				 struct fence_list *list)
{
	const struct dxg_device *device = call_device(call, 0);
	NTSTATUS status = STATUS_SUCCESS;

	if (count == 0)
		return invalid(RULE_API_COUNT, "ObjectCount", "is 0");
	list->fences = call_take_buffer(call, (uint64_t)count * sizeof(*list->fences));
	list->values = (const uint64_t *)values; /* two names of one type */
	if (!list->fences)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		status = find_fence(call, device, handles[i], purpose, list);
	return status;
}

/* ---- signal ---- */

static NTSTATUS check_forward(const struct fence_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		uint64_t now = fence_value(&list->fences[i]->body->fence);
		if (list->values[i] < now)
			return invalid_item(RULE_API_FENCE_BACKWARDS, "FenceValueArray", i,
					    "is %llu, and the fence is at %llu; AllowFenceRewind "
					    "is not set",
					    (unsigned long long)list->values[i],
					    (unsigned long long)now);
	}
	return STATUS_SUCCESS;
}

/* Whoever overtakes us between the check and here came after us: both values were signalled. */
static void signal_all(const struct call *call, const struct fence_list *list, bool is_rewind)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct dxg_sync_object *fence = list->fences[i];
		trace_fence_signal_cpu(call->process->id, fence->object.handle, list->values[i]);
		(void)sync_body_signal(fence->body, list->values[i], is_rewind);
	}
}

NTSTATUS
dispatch_signal_synchronization_object_from_cpu(struct call *call,
						D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU *args)
{
	struct fence_list list = { 0 };

	if (args->Flags.SignalAtSubmission || args->Flags.EnqueueCpuEvent)
		return invalid(RULE_API_VALUE, "Flags", "has %s, which is for signals in a queue",
			       args->Flags.SignalAtSubmission ? "SignalAtSubmission"
							      : "EnqueueCpuEvent");
	NTSTATUS status = find_fences(call, args->ObjectCount, args->ObjectHandleArray,
				      args->FenceValueArray, TO_SIGNAL, &list);
	if (NT_SUCCESS(status))
		status = device_check_alive(call_device(call, 0));
	if (NT_SUCCESS(status) && !args->Flags.AllowFenceRewind)
		status = check_forward(&list);
	if (NT_SUCCESS(status))
		signal_all(call, &list, args->Flags.AllowFenceRewind);
	fence_list_finish(&list);
	return status;
}

/* ---- wait ---- */

static NTSTATUS wait_for(struct call *call, const struct fence_list *list, HANDLE event_handle,
			 bool is_any)
{
	const struct sync_wait_request request = {
		.process = call->process,
		.device = call_device(call, 0),
		.count = list->count,
		.objects = list->fences,
		.values = list->values,
		.is_any = is_any,
	};
	struct event event;

	for (uint32_t i = 0; i < list->count; i++)
		trace_fence_wait_cpu(call->process->id, list->fences[i]->object.handle,
				     list->values[i]);
	if (!event_handle)
		return sync_wait_here(&request);
	NTSTATUS status = event_capture(call->process->ledger, (uintptr_t)event_handle,
					"hAsyncEvent", &event);
	if (NT_SUCCESS(status))
		status = sync_wait_by_event(&request, &event, false);
	return status;
}

NTSTATUS
dispatch_wait_for_synchronization_object_from_cpu(struct call *call,
						  D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *args)
{
	struct fence_list list = { 0 };
	NTSTATUS status = find_fences(call, args->ObjectCount, args->ObjectHandleArray,
				      args->FenceValueArray, TO_WAIT, &list);

	if (NT_SUCCESS(status))
		status = wait_for(call, &list, args->hAsyncEvent, args->Flags.WaitAny);
	fence_list_finish(&list);
	return status;
}

NTSTATUS dispatch_create_sync_file(struct call *call, D3DKMT_CREATESYNCFILE *args)
{
	struct dxg_sync_object *fence = object_as(sync_object, call->objects[1]);
	struct dxg_device *device = call_device(call, 0);
	const uint64_t value = args->FenceValue;
	const struct sync_wait_request request = {
		.process = call->process,
		.device = device,
		.count = 1,
		.objects = &fence,
		.values = &value,
	};
	struct event event;
	int descriptor;

	if (fence->device && fence->device != device)
		return invalid(RULE_API_HANDLE, "hMonitoredFence",
			       "0x%08x is of another device than 0x%08x", fence->object.handle,
			       device->object.handle);
	if (fence->body->kind != SYNC_MONITORED_FENCE)
		return invalid(RULE_API_SYNC_KIND, "hMonitoredFence", "0x%08x is %s",
			       fence->object.handle, sync_kind_name(fence->body->kind));
	if (!fence->access.may_wait)
		return refuse(STATUS_ACCESS_DENIED, RULE_API_SYNC_ACCESS, "hMonitoredFence",
			      "0x%08x was opened without the right to wait", fence->object.handle);
	NTSTATUS status = event_create(call->process->ledger, &event, &descriptor);
	if (!NT_SUCCESS(status))
		return status;
	trace_fence_wait_cpu(call->process->id, fence->object.handle, value);
	status = sync_wait_by_event(&request, &event, true);
	if (!NT_SUCCESS(status)) {
		close(descriptor);
		return status;
	}
	args->hSyncFile = (UINT64)descriptor;
	return STATUS_SUCCESS;
}
