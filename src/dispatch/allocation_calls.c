/*
 * allocation_calls.c - what a client does with allocations it has: destroy, lock, properties.
 */
#include <string.h>

#include "base/refusal.h"
#include "dispatch/dispatch.h"
#include "object/destruction.h"

/* The allocations a call is about: a list, or all of a resource. With references. */
struct allocation_list {
	uint32_t count;
	struct dxg_allocation **allocations;
};

static void allocation_list_put(struct allocation_list *list)
{
	while (list->count > 0)
		object_put(&list->allocations[--list->count]->object);
}

static NTSTATUS decode_list(struct call *call, struct dxg_device *device,
			    const D3DKMT_HANDLE *client_handles, uint32_t count,
			    struct allocation_list *list)
{
	void *handles;
	NTSTATUS status = call_copy_list(call, "phAllocationList", client_handles,
					 "AllocationCount", count, sizeof(D3DKMT_HANDLE), &handles);

	if (!NT_SUCCESS(status) || count == 0)
		return status;
	list->allocations = call_take(call, (uint64_t)count * sizeof(*list->allocations));
	if (!list->allocations)
		return STATUS_NO_MEMORY;
	for (; list->count < count; list->count++) {
		status = call_find_allocation(call, device, "phAllocationList", list->count,
					      ((const D3DKMT_HANDLE *)handles)[list->count],
					      &list->allocations[list->count]);
		if (!NT_SUCCESS(status)) {
			allocation_list_put(list);
			return status;
		}
	}
	return STATUS_SUCCESS;
}

/* ---- destroy ---- */

/* If one is in a resource, all are in that one. */
static NTSTATUS check_one_resource(const struct allocation_list *list)
{
	for (uint32_t i = 1; i < list->count; i++) {
		if (list->allocations[i]->resource != list->allocations[0]->resource)
			return refuse_item(STATUS_INVALID_PARAMETER, RULE_API_VALUE,
					   "phAllocationList", i,
					   "is not of the resource that the first one is of");
	}
	return STATUS_SUCCESS;
}

static NTSTATUS destroy_resource(struct call *call, struct dxg_device *device,
				 const D3DKMT_DESTROYALLOCATION2 *args,
				 const struct destruction_options *options)
{
	struct dxg_resource *resource;

	if (args->phAllocationList)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "phAllocationList",
			      "is given together with hResource");
	NTSTATUS status = call_find_resource(call, device, args->hResource,
					     STATUS_INVALID_PARAMETER, &resource);
	if (!NT_SUCCESS(status))
		return status;
	if (!destruction_of_resource(resource, options))
		status = refuse(STATUS_INVALID_PARAMETER, RULE_API_HANDLE, "hResource",
				"0x%08x was destroyed by another thread", args->hResource);
	object_put(&resource->object);
	return status;
}

static NTSTATUS destroy_list(struct call *call, struct dxg_device *device,
			     const D3DKMT_DESTROYALLOCATION2 *args,
			     const struct destruction_options *options)
{
	struct allocation_list list = { 0 };
	NTSTATUS status =
		decode_list(call, device, args->phAllocationList, args->AllocationCount, &list);

	if (!NT_SUCCESS(status))
		return status;
	status = check_one_resource(&list);
	if (NT_SUCCESS(status))
		status = destruction_of_list(device, list.count, list.allocations, options);
	allocation_list_put(&list);
	return status;
}

NTSTATUS dispatch_destroy_allocation2(struct call *call, D3DKMT_DESTROYALLOCATION2 *args)
{
	const struct destruction_options options = {
		.is_not_in_use = args->Flags.AssumeNotInUse,
		.is_synchronous = args->Flags.SynchronousDestroy,
	};
	struct dxg_device *device = call_device(call, 0);

	return args->hResource ? destroy_resource(call, device, args, &options) :
				 destroy_list(call, device, args, &options);
}

NTSTATUS dispatch_destroy_allocation(struct call *call, D3DKMT_DESTROYALLOCATION *args)
{
	/* Field by field: what stands behind the v1 struct are not flags. */
	D3DKMT_DESTROYALLOCATION2 same = {
		.hDevice = args->hDevice,
		.hResource = args->hResource,
		.phAllocationList = args->phAllocationList,
		.AllocationCount = args->AllocationCount,
	};

	return dispatch_destroy_allocation2(call, &same);
}

/* ---- CPU access ---- */

NTSTATUS dispatch_lock2(struct call *call, D3DKMT_LOCK2 *args)
{
	struct dxg_allocation *allocation;
	NTSTATUS status = call_find_allocation(call, call_device(call, 0), "hAllocation", -1,
					       args->hAllocation, &allocation);

	if (!NT_SUCCESS(status))
		return status;
	status = allocation_lock(allocation, false, &args->pData);
	object_put(&allocation->object);
	return status;
}

NTSTATUS dispatch_unlock2(struct call *call, D3DKMT_UNLOCK2 *args)
{
	struct dxg_allocation *allocation;
	NTSTATUS status = call_find_allocation(call, call_device(call, 0), "hAllocation", -1,
					       args->hAllocation, &allocation);

	if (!NT_SUCCESS(status))
		return status;
	if (!allocation_unlock(allocation))
		status = refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "hAllocation",
				"0x%08x is not locked", args->hAllocation);
	object_put(&allocation->object);
	return status;
}
