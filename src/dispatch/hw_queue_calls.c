/* SPDX-License-Identifier: MIT */
/*
 * hw_queue_calls.c - hardware contexts and queues: create, destroy, submit.
 */
#include "dispatch/allocation_list.h"
#include "dispatch/dispatch.h"

/* ---- hardware contexts ---- */

NTSTATUS dispatch_create_hw_context(struct call *call, D3DKMT_CREATEHWCONTEXT *args)
{
	const struct hw_context_options options = {
		.node = args->NodeOrdinal,
		.engine_mask = args->EngineAffinity,
		.private_data = args->pPrivateDriverData,
		.private_bytes = args->PrivateDriverDataSize,
	};
	struct dxg_hw_context *context;
	NTSTATUS status = hw_context_create(call_device(call, 0), &options, &context);

	if (!NT_SUCCESS(status))
		return status;
	args->hHwContext = context->object.handle;
	object_put(&context->object);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_destroy_hw_context(struct call *call, D3DKMT_DESTROYHWCONTEXT *args)
{
	return call_destroyed(hw_context_destroy(object_as(hw_context, call->objects[0])),
			      "hHwContext", args->hHwContext);
}

/* ---- hardware queues ---- */

static struct hw_queue_parent *parent_of_context(struct object *object)
{
	struct dxg_context *context = object_as(context, object);

	if (context->has_hw_queues)
		return &context->hw_queues;
	invalid(RULE_API_VALUE, "hHwContext",
		"0x%08x is a context that was made without HwQueueSupported", object->handle);
	object_put(object);
	return NULL;
}

/*
 * A hardware context, or a context made for hardware queues, with a reference on its object. NULL,
 * refused with STATUS_INVALID_PARAMETER, when it is neither.
 */
static struct hw_queue_parent *find_parent(const struct call *call, D3DKMT_HANDLE handle)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;

	if (handle_find(&call->process->handles, handle, &hw_context_class, &object, &found) ==
	    HANDLE_FOUND)
		return &object_as(hw_context, object)->hw_queues;
	if (handle_find(&call->process->handles, handle, &context_class, &object, &found) ==
	    HANDLE_FOUND)
		return parent_of_context(object);
	if (found)
		invalid(RULE_API_HANDLE_KIND, "hHwContext",
			"0x%08x is %s, not a hardware context or a context", handle, found->name);
	else
		call_refuse_unknown(call, STATUS_INVALID_PARAMETER, "hHwContext", -1, handle,
				    "a hardware context or a context");
	return NULL;
}

NTSTATUS dispatch_create_hw_queue(struct call *call, D3DKMT_CREATEHWQUEUE *args)
{
	const struct hw_queue_options options = {
		.flags = args->Flags.Value,
		.has_no_gpu_timeout = args->Flags.DisableGpuTimeout,
		.private_data = args->pPrivateDriverData,
		.private_bytes = args->PrivateDriverDataSize,
	};
	struct dxg_hw_queue *queue;

	if (args->Flags.NoKmdAccess)
		return invalid(RULE_API_RESERVED, "Flags",
			       "has NoKmdAccess, which is the system's");
	struct hw_queue_parent *parent = find_parent(call, args->hHwContext);
	if (!parent)
		return STATUS_INVALID_PARAMETER;
	NTSTATUS status = hw_queue_create(parent, &options, &queue);
	object_put(parent->object);
	if (!NT_SUCCESS(status))
		return status;
	args->hHwQueue = queue->object.handle;
	args->hHwQueueProgressFence = queue->fence->object.handle;
	args->HwQueueProgressFenceCPUVirtualAddress = (void *)sync_object_view(queue->fence);
	args->HwQueueProgressFenceGPUVirtualAddress = queue->fence->gpu_address;
	object_put(&queue->object);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_destroy_hw_queue(struct call *call, D3DKMT_DESTROYHWQUEUE *args)
{
	return call_destroyed(hw_queue_destroy(object_as(hw_queue, call->objects[0])), "hHwQueue",
			      args->hHwQueue);
}

/* ---- work ---- */

NTSTATUS dispatch_submit_command_to_hw_queue(struct call *call, D3DKMT_SUBMITCOMMANDTOHWQUEUE *args)
{
	const struct hw_submission_request request = {
		.progress = args->HwQueueProgressFenceId,
		.gpu_address = args->CommandBuffer,
		.size_bytes = args->CommandLength,
		.private_data = args->pPrivateDriverData,
		.private_bytes = args->PrivateDriverDataSize,
	};
	struct dxg_hw_queue *queue = object_as(hw_queue, call->objects[0]);

	if (args->CommandLength == 0)
		return invalid(RULE_API_VALUE, "CommandLength", "is 0");
	if (args->HwQueueProgressFenceId == UINT64_MAX)
		return invalid(RULE_API_VALUE, "HwQueueProgressFenceId",
			       "is the maximum, which the fence has when the queue has ended");
	NTSTATUS status = allocation_list_check_primaries(
		call, queue->device, args->WrittenPrimaries, args->NumPrimaries);
	return NT_SUCCESS(status) ? hw_queue_submit(queue, &request) : status;
}
