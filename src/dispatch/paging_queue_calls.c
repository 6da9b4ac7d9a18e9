/* SPDX-License-Identifier: MIT */
/*
 * paging_queue_calls.c - paging queues: create, destroy.
 */
#include "dispatch/dispatch.h"

static NTSTATUS check_create(const D3DKMT_CREATEPAGINGQUEUE *args)
{
	int32_t priority = (int32_t)args->Priority;

	if (priority < D3DDDI_PAGINGQUEUE_PRIORITY_BELOW_NORMAL ||
	    priority > D3DDDI_PAGINGQUEUE_PRIORITY_ABOVE_NORMAL)
		return invalid(RULE_API_VALUE, "Priority", "is %d, not -1 to 1", priority);
	if (args->PhysicalAdapterIndex != 0)
		return invalid(RULE_API_VALUE, "PhysicalAdapterIndex",
			       "is %u, and an unlinked adapter has only number 0",
			       args->PhysicalAdapterIndex);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_create_paging_queue(struct call *call, D3DKMT_CREATEPAGINGQUEUE *args)
{
	struct dxg_paging_queue *queue;
	NTSTATUS status = check_create(args);

	if (NT_SUCCESS(status))
		status = paging_queue_create(call_device(call, 0), (int32_t)args->Priority, &queue);
	if (!NT_SUCCESS(status))
		return status;
	args->hPagingQueue = queue->object.handle;
	args->hSyncObject = queue->fence->object.handle;
	args->FenceValueCPUVirtualAddress = (void *)sync_object_view(queue->fence);
	object_put(&queue->object);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_destroy_paging_queue(struct call *call, D3DDDI_DESTROYPAGINGQUEUE *args)
{
	return call_destroyed(paging_queue_destroy(object_as(paging_queue, call->objects[0])),
			      "hPagingQueue", args->hPagingQueue);
}
