/* SPDX-License-Identifier: MIT */
/*
 * allocation_calls.c - what a client does with allocations it has: destroy, lock, properties.
 */
#include <assert.h>
#include <string.h>

#include "dispatch/allocation_list.h"
#include "dispatch/dispatch.h"
#include "object/ending/destruction.h"
#include "trace/trace.h"

/* ---- destroy ---- */

/* If one is in a resource, all are in that one. */
static NTSTATUS check_one_resource(const struct allocation_list *list)
{
	for (uint32_t i = 1; i < list->count; i++) {
		if (list->allocations[i]->resource != list->allocations[0]->resource)
			return invalid_item(RULE_API_VALUE, "phAllocationList", i,
					    "is not of the resource that the first one is of");
	}
	return STATUS_SUCCESS;
}

static NTSTATUS destroy_resource(struct call *call, struct dxg_device *device,
				 const D3DKMT_DESTROYALLOCATION2 *args,
				 const struct destruction_options *options)
{
	struct dxg_resource *resource;

	/* A list of none, or a count without a list, may be left from another call. */
	if (args->phAllocationList && args->AllocationCount != 0)
		return invalid(RULE_API_VALUE, "phAllocationList",
			       "is given together with hResource");
	NTSTATUS status = call_find_resource(call, device, "hResource", -1, args->hResource,
					     STATUS_INVALID_PARAMETER, &resource);
	if (!NT_SUCCESS(status))
		return status;
	status = destruction_of_resource(resource, options);
	object_put(&resource->object);
	return status;
}

static NTSTATUS destroy_list(struct call *call, struct dxg_device *device,
			     const D3DKMT_DESTROYALLOCATION2 *args,
			     const struct destruction_options *options)
{
	struct allocation_list list = { 0 };
	NTSTATUS status =
		allocation_list_decode(call, device, "phAllocationList", args->phAllocationList,
				       "AllocationCount", args->AllocationCount, &list);

	if (!NT_SUCCESS(status))
		return status;
	status = check_one_resource(&list);
	if (NT_SUCCESS(status))
		status = destruction_of_list(device, list.count, list.allocations, options);
	if (NT_SUCCESS(status))
		list.count = 0; /* the references went with them */
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

	share_sweep(call->process->shares);
	return args->hResource ? destroy_resource(call, device, args, &options)
			       : destroy_list(call, device, args, &options);
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
	status = allocation_lock(allocation, 0, &args->pData);
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
		status = invalid(RULE_API_VALUE, "hAllocation", "0x%08x is not locked",
				 args->hAllocation);
	object_put(&allocation->object);
	return status;
}

/* ---- names ---- */

NTSTATUS dispatch_name_allocation(struct call *call, DXGK_ALLOCATIONNAME *args)
{
	struct dxg_allocation *allocation;
	NTSTATUS status = call_find_allocation(call, call_device(call, 0), "hAllocation", -1,
					       args->hAllocation, &allocation);

	if (!NT_SUCCESS(status))
		return status;
	if (memchr(args->Name, '\0', sizeof(args->Name)))
		status = allocation_set_name(allocation, args->Name);
	else
		status = invalid(RULE_API_VALUE, "Name", "has no zero within its %zu bytes",
				 sizeof(args->Name));
	object_put(&allocation->object);
	return status;
}

/* ---- CPU access of the older model ---- */

/* Flags of D3DDDICB_LOCKFLAGS that exclude each other, and those this model of memory cannot do. */
static NTSTATUS check_lock_flags(const D3DKMT_LOCK *args)
{
	D3DDDICB_LOCKFLAGS flags = args->Flags;

	if (flags.ReadOnly && flags.WriteOnly)
		return invalid(RULE_API_VALUE, "Flags", "has ReadOnly and WriteOnly");
	if (flags.AcquireAperture || flags.UseAlternateVA)
		return invalid(RULE_API_VALUE, "Flags",
			       "asks for a swizzling range, and the driver reports none");
	if (flags.LockEntire && args->NumPages != 0)
		return invalid(RULE_API_VALUE, "NumPages", "is %u together with LockEntire",
			       args->NumPages);
	return STATUS_SUCCESS;
}

/* The address of the first page of a list, or of the whole allocation. */
static NTSTATUS first_page(const D3DKMT_LOCK *args, const struct dxg_allocation *allocation,
			   uint64_t *offset_out)
{
	uint64_t pages = vidmm_size_bytes(&allocation->body->memory) / 4096;

	*offset_out = 0;
	if (args->NumPages == 0)
		return STATUS_SUCCESS;
	const UINT *list = args->pPages; /* copied by the table */
	for (UINT i = 0; i < args->NumPages; i++) {
		if (list[i] >= pages)
			return invalid_item(RULE_API_VALUE, "pPages", i, "is page %u of %llu",
					    list[i], (unsigned long long)pages);
	}
	*offset_out = (uint64_t)list[0] * 4096;
	return STATUS_SUCCESS;
}

static NTSTATUS check_creator(const struct call *call, const struct dxg_allocation *allocation)
{
	const struct resource_body *resource = allocation->body->resource;

	if (resource && resource->is_shared && resource->creator_id != call->process->id)
		return invalid(RULE_MM_LOCK_SHARED, "hAllocation",
			       "0x%08x is shared, and another process created it",
			       allocation->object.handle);
	return STATUS_SUCCESS;
}

/*
 * Discard allows another piece of memory instead of waiting. There is one of each here, so it waits,
 * and the flags that would keep it from waiting have no effect with it.
 */
static NTSTATUS await_gpu(const D3DKMT_LOCK *args, struct dxg_allocation *allocation)
{
	D3DDDICB_LOCKFLAGS flags = args->Flags;

	if (flags.IgnoreSync && !flags.Discard)
		return STATUS_SUCCESS;
	return allocation_await_idle(allocation, flags.IgnoreReadSync && !flags.Discard,
				     !flags.DonotWait || flags.Discard);
}

NTSTATUS dispatch_lock(struct call *call, D3DKMT_LOCK *args)
{
	struct dxg_allocation *allocation;
	uint64_t offset_bytes = 0;
	void *pointer = NULL;
	NTSTATUS status = check_lock_flags(args);

	if (!NT_SUCCESS(status))
		return status;
	status = call_find_allocation(call, call_device(call, 0), "hAllocation", -1,
				      args->hAllocation, &allocation);
	if (!NT_SUCCESS(status))
		return status;
	status = check_creator(call, allocation);
	if (NT_SUCCESS(status))
		status = first_page(args, allocation, &offset_bytes);
	if (NT_SUCCESS(status))
		status = await_gpu(args, allocation);
	if (NT_SUCCESS(status))
		status = allocation_lock(allocation,
					 VIDMM_LOCK_NEEDS_VISIBLE |
						 (args->Flags.DonotEvict ? VIDMM_LOCK_IN_PLACE : 0),
					 &pointer);
	if (NT_SUCCESS(status)) {
		args->pData = (char *)pointer + offset_bytes;
		args->GpuVirtualAddress = 0;
	}
	object_put(&allocation->object);
	return status;
}

NTSTATUS dispatch_unlock(struct call *call, D3DKMT_UNLOCK *args)
{
	struct allocation_list list = { 0 };
	NTSTATUS status = allocation_list_decode(call, call_device(call, 0), "phAllocations",
						 args->phAllocations, "NumAllocations",
						 args->NumAllocations, &list);

	if (!NT_SUCCESS(status))
		return status;
	uint32_t unlocked = 0;
	while (unlocked < list.count && allocation_unlock_begin(list.allocations[unlocked]))
		unlocked++;
	if (unlocked < list.count)
		status = invalid_item(RULE_API_VALUE, "phAllocations", unlocked, "is not locked");
	while (unlocked-- > 0) {
		if (NT_SUCCESS(status))
			(void)!allocation_unlock_end(list.allocations[unlocked]);
		else
			allocation_unlock_undo(list.allocations[unlocked]);
	}
	allocation_list_put(&list);
	return status;
}

/* ---- properties ---- */

/* "hResource or list": the allocations of a resource, or those that are named. */
static NTSTATUS decode_targets(struct call *call, D3DKMT_HANDLE resource_handle,
			       const D3DKMT_HANDLE *client_handles, uint32_t count,
			       struct allocation_list *list)
{
	struct dxg_device *device = call_device(call, 0);
	struct dxg_resource *resource;

	if (resource_handle == 0)
		return allocation_list_decode(call, device, "phAllocationList", client_handles,
					      "AllocationCount", count, list);
	if (client_handles || count != 0)
		return invalid(RULE_API_VALUE,
			       client_handles ? "phAllocationList" : "AllocationCount",
			       "is given together with hResource");
	NTSTATUS status = call_find_resource(call, device, "hResource", -1, resource_handle,
					     STATUS_INVALID_PARAMETER, &resource);
	if (!NT_SUCCESS(status))
		return status;
	status = allocation_list_of_resource(call, resource, list);
	object_put(&resource->object);
	return status;
}

NTSTATUS dispatch_set_allocation_priority(struct call *call, D3DKMT_SETALLOCATIONPRIORITY *args)
{
	uint32_t count = args->hResource ? 1 : args->AllocationCount;
	struct allocation_list list = { 0 };
	void *priorities;
	NTSTATUS status = call_copy_list(call, "pPriorities", args->pPriorities, "AllocationCount",
					 count, sizeof(UINT), &priorities);

	if (NT_SUCCESS(status))
		status = device_check_alive(call_device(call, 0));
	if (NT_SUCCESS(status))
		status = decode_targets(call, args->hResource, args->phAllocationList,
					args->AllocationCount, &list);
	if (!NT_SUCCESS(status))
		return status;
	assert(priorities || list.count == 0);
	for (uint32_t i = 0; i < list.count; i++)
		vidmm_set_priority_anywhere(call_device(call, 0)->adapter->memory,
					    &list.allocations[i]->body->memory,
					    ((const UINT *)priorities)[args->hResource ? 0 : i]);
	allocation_list_put(&list);
	return STATUS_SUCCESS;
}

/* With a resource one value comes back; a resource has no priority of its own: its first one's. */
NTSTATUS dispatch_get_allocation_priority(struct call *call, D3DKMT_GETALLOCATIONPRIORITY *args)
{
	struct allocation_list list = { 0 };

	if (!args->pPriorities)
		return invalid(RULE_API_NULL_ARGUMENT, "pPriorities", "is NULL");
	NTSTATUS status = decode_targets(call, args->hResource, args->phAllocationList,
					 args->AllocationCount, &list);
	if (!NT_SUCCESS(status))
		return status;
	for (uint32_t i = 0; i < list.count && (i == 0 || !args->hResource); i++)
		client_write_u32(args->pPriorities, i,
				 vidmm_priority(&list.allocations[i]->body->memory));
	allocation_list_put(&list);
	return STATUS_SUCCESS;
}

/* The weakest of all: a resource is as resident as its least resident allocation. */
NTSTATUS dispatch_query_allocation_residency(struct call *call,
					     D3DKMT_QUERYALLOCATIONRESIDENCY *args)
{
	struct allocation_list list = { 0 };
	enum vidmm_residency weakest = VIDMM_RESIDENT_IN_GPU_MEMORY;

	if (!args->pResidencyStatus)
		return invalid(RULE_API_NULL_ARGUMENT, "pResidencyStatus", "is NULL");
	NTSTATUS status = device_check_alive(call_device(call, 0));
	if (NT_SUCCESS(status))
		status = decode_targets(call, args->hResource, args->phAllocationList,
					args->AllocationCount, &list);
	if (!NT_SUCCESS(status))
		return status;
	for (uint32_t i = 0; i < list.count; i++) {
		enum vidmm_residency residency = vidmm_where(call_device(call, 0)->adapter->memory,
							     &list.allocations[i]->body->memory);
		if (residency > weakest)
			weakest = residency;
		if (!args->hResource)
			client_write_u32(args->pResidencyStatus, i, (uint32_t)residency);
	}
	if (args->hResource)
		client_write_u32(args->pResidencyStatus, 0, (uint32_t)weakest);
	allocation_list_put(&list);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_invalidate_cache(struct call *call, D3DKMT_INVALIDATECACHE *args)
{
	struct dxg_allocation *allocation;
	NTSTATUS status = call_find_allocation(call, call_device(call, 0), "hAllocation", -1,
					       args->hAllocation, &allocation);

	if (!NT_SUCCESS(status))
		return status;
	status = vidmm_invalidate_cache(&allocation->body->memory, args->Offset, args->Length);
	object_put(&allocation->object);
	return status;
}
