/* SPDX-License-Identifier: MIT */
/*
 * submit_calls.c - work for contexts, and how important it is.
 */
#include <assert.h>

#include "dispatch/allocation_list.h"
#include "dispatch/dispatch.h"
#include "dispatch/rights.h"
#include "object/submit/submission.h"

/* ---- D3DKMTSubmitCommand ---- */

static NTSTATUS check_submit(const D3DKMT_SUBMITCOMMAND *args)
{
	if (args->BroadcastContextCount == 0 ||
	    args->BroadcastContextCount > D3DDDI_MAX_BROADCAST_CONTEXT)
		return invalid(RULE_API_COUNT, "BroadcastContextCount", "is %u, not 1 to %u",
			       args->BroadcastContextCount, D3DDDI_MAX_BROADCAST_CONTEXT);
	if (args->NumPrimaries > D3DDDI_MAX_WRITTEN_PRIMARIES)
		return invalid(RULE_API_COUNT, "NumPrimaries", "is %u, and %u are possible",
			       args->NumPrimaries, D3DDDI_MAX_WRITTEN_PRIMARIES);
	if (args->NumHistoryBuffers != 0 || args->HistoryBufferArray)
		return invalid(RULE_API_RESERVED, "NumHistoryBuffers", "is reserved, and not 0");
	if (args->Flags.PresentRedirected || args->PresentHistoryToken != 0)
		return invalid(RULE_API_VALUE, "Flags",
			       "has PresentRedirected, and nothing is presented here");
	if (args->Flags.NoKmdAccess)
		return invalid(RULE_API_RESERVED, "Flags",
			       "has NoKmdAccess, which is the system's");
	if (args->CommandLength == 0 && !args->Flags.NullRendering)
		return invalid(RULE_API_VALUE, "CommandLength", "is 0");
	return STATUS_SUCCESS;
}

static NTSTATUS check_context(const struct dxg_context *context, const struct dxg_device *device,
			      uint32_t index)
{
	if (context->device != device)
		return invalid_item(RULE_API_HANDLE, "BroadcastContext", index,
				    "is of another device than the first");
	if (context->has_hw_queues)
		return invalid_item(RULE_API_VALUE, "BroadcastContext", index,
				    "has hardware queues; use D3DKMTSubmitCommandToHwQueue");
	if (!context->is_virtual)
		return invalid_item(RULE_API_VALUE, "BroadcastContext", index,
				    "submits by allocation list; use D3DKMTRender");
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_submit_command(struct call *call, D3DKMT_SUBMITCOMMAND *args)
{
	_Static_assert(D3DDDI_MAX_BROADCAST_CONTEXT == SUBMISSION_CONTEXTS_MAX, "one list");
	struct dxg_context *contexts[SUBMISSION_CONTEXTS_MAX];
	uint32_t count = 0;
	NTSTATUS status = check_submit(args);

	while (NT_SUCCESS(status) && count < args->BroadcastContextCount) {
		struct object *found = NULL;
		status = call_find_object(call, &context_class, "BroadcastContext", count,
					  args->BroadcastContext[count], &found);
		if (!NT_SUCCESS(status))
			break;
		contexts[count++] = object_as(context, found);
		status = check_context(contexts[count - 1], contexts[0]->device, count - 1);
	}
	assert(count > 0 || !NT_SUCCESS(status));
	if (NT_SUCCESS(status))
		status = allocation_list_check_primaries(
			call, contexts[0]->device, args->WrittenPrimaries, args->NumPrimaries);
	if (NT_SUCCESS(status)) {
		const struct submission_request request = {
			.gpu_address = args->Commands,
			.size_bytes = args->CommandLength,
			.is_null = args->Flags.NullRendering || contexts[0]->is_null_rendering,
			.private_data = args->pPrivateDriverData,
			.private_bytes = args->PrivateDriverDataSize,
		};
		status = submission_queue(contexts, count, &request);
	}
	while (count > 0)
		object_put(&contexts[--count]->object);
	return status;
}

/* ---- priorities ---- */

static NTSTATUS check_priority(INT priority, INT lowest, INT highest)
{
	if (priority < lowest || priority > highest)
		return invalid(RULE_API_VALUE, "Priority", "is %d, not %d to %d", priority, lowest,
			       highest);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_set_context_scheduling_priority(struct call *call,
						  D3DKMT_SETCONTEXTSCHEDULINGPRIORITY *args)
{
	NTSTATUS status = check_priority(args->Priority, -7, 7);

	if (NT_SUCCESS(status))
		sched_queue_set_priority(&call_context(call, 0)->queue, args->Priority);
	return status;
}

NTSTATUS dispatch_get_context_scheduling_priority(struct call *call,
						  D3DKMT_GETCONTEXTSCHEDULINGPRIORITY *args)
{
	args->Priority = sched_queue_priority(&call_context(call, 0)->queue);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_set_context_in_process_scheduling_priority(
	struct call *call, D3DKMT_SETCONTEXTINPROCESSSCHEDULINGPRIORITY *args)
{
	NTSTATUS status = check_priority(args->Priority, 0, 1);

	if (NT_SUCCESS(status))
		sched_queue_set_in_process_priority(&call_context(call, 0)->queue, args->Priority);
	return status;
}

/* ---- the class of a process ---- */

_Static_assert(D3DKMT_SCHEDULINGPRIORITYCLASS_NORMAL + PROCESS_CLASS_LOWEST ==
		       D3DKMT_SCHEDULINGPRIORITYCLASS_IDLE,
	       "the scheduler's classes are the public ones, counted from NORMAL");
_Static_assert(D3DKMT_SCHEDULINGPRIORITYCLASS_NORMAL + PROCESS_CLASS_HIGHEST ==
		       D3DKMT_SCHEDULINGPRIORITYCLASS_REALTIME,
	       "the scheduler's classes are the public ones, counted from NORMAL");

NTSTATUS dispatch_set_process_scheduling_priority_class(struct call *call,
							struct wire_process_class *args)
{
	NTSTATUS status = call_check_own_process(call, args->hProcess);

	if (!NT_SUCCESS(status))
		return status;
	if ((uint32_t)args->Class > D3DKMT_SCHEDULINGPRIORITYCLASS_REALTIME)
		return invalid(RULE_API_VALUE, "Class", "is %u, not 0 (idle) to 5 (real time)",
			       (unsigned)args->Class);
	if (args->Class == D3DKMT_SCHEDULINGPRIORITYCLASS_REALTIME)
		status = call_check_controller(call, "Class",
					       "is REALTIME, before which nobody else's work runs");
	if (NT_SUCCESS(status))
		process_set_class(call->process,
				  (int32_t)args->Class - D3DKMT_SCHEDULINGPRIORITYCLASS_NORMAL);
	return status;
}

NTSTATUS dispatch_get_process_scheduling_priority_class(struct call *call,
							struct wire_process_class *args)
{
	NTSTATUS status = call_check_own_process(call, args->hProcess);

	if (NT_SUCCESS(status))
		args->Class =
			(D3DKMT_SCHEDULINGPRIORITYCLASS)(process_class(call->process) +
							 D3DKMT_SCHEDULINGPRIORITYCLASS_NORMAL);
	return status;
}

NTSTATUS dispatch_get_context_in_process_scheduling_priority(
	struct call *call, D3DKMT_GETCONTEXTINPROCESSSCHEDULINGPRIORITY *args)
{
	args->Priority = sched_queue_in_process_priority(&call_context(call, 0)->queue);
	return STATUS_SUCCESS;
}
