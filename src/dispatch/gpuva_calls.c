/* SPDX-License-Identifier: MIT */
/*
 * gpuva_calls.c - GPU addresses: reserve, map, free, update.
 *
 * What may be taken, mapped and freed is for gpuva/ to say (docs/rules.md, VA); here are the
 * handles and what a struct has that a request has not.
 */
#include "dispatch/dispatch.h"
#include "object/memory/gpu_request.h"
#include "object/memory/gpu_update.h"

/* ---- D3DKMTReserveGpuVirtualAddress ---- */

static NTSTATUS reservation_of(const D3DDDI_RESERVEGPUVIRTUALADDRESS *args,
			       struct gpuva_reserve_request *request)
{
	if (args->ReservationType != D3DDDIGPUVIRTUALADDRESS_RESERVE_NO_ACCESS &&
	    args->ReservationType != D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO)
		return invalid(RULE_API_VALUE, "ReservationType",
			       "is %d, neither NO_ACCESS nor ZERO", (int)args->ReservationType);
	*request = (struct gpuva_reserve_request){
		.window = { .base = args->BaseAddress,
			    .minimum = args->MinimumAddress,
			    .maximum = args->MaximumAddress },
		.size_bytes = args->Size,
		.is_zero = args->ReservationType == D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO,
		.driver_protection = args->DriverProtection,
	};
	return STATUS_SUCCESS;
}

/* By adapter: there is no queue, hence no fence, and it is usable when the call returns. */
static NTSTATUS reserve_by_adapter(struct call *call, struct dxg_adapter *adapter,
				   const struct gpuva_reserve_request *request,
				   struct gpu_answer *answer)
{
	struct address_space *space = NULL;
	NTSTATUS status = gpu_addresses_of(call->process, adapter, &space);

	if (!NT_SUCCESS(status))
		return status;
	answer->fence_value = 0;
	return gpu_addresses_reserve_now(space, request, &answer->address);
}

/* One slot of the struct has two names; what the handle names decides. */
static NTSTATUS reserve(struct call *call, D3DKMT_HANDLE handle,
			const struct gpuva_reserve_request *request, struct gpu_answer *answer)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;
	NTSTATUS status;

	if (handle_find(&call->process->handles, handle, &adapter_open_class, &object, &found) ==
	    HANDLE_FOUND) {
		struct adapter_open *open =
			object_cast(object, &adapter_open_class, struct adapter_open, object);
		status = reserve_by_adapter(call, open->adapter, request, answer);
		object_put(object);
		return status;
	}
	if (handle_find(&call->process->handles, handle, &paging_queue_class, &object, &found) ==
	    HANDLE_FOUND) {
		status = gpu_reserve(object_as(paging_queue, object), request, answer);
		object_put(object);
		return status;
	}
	if (!found)
		return call_refuse_unknown(call, STATUS_INVALID_PARAMETER, "hPagingQueue", -1,
					   handle, "a paging queue or an adapter");
	return invalid(RULE_API_HANDLE_KIND, "hPagingQueue",
		       "0x%08x is %s, not a paging queue or an adapter", handle, found->name);
}

NTSTATUS dispatch_reserve_gpu_virtual_address(struct call *call,
					      D3DDDI_RESERVEGPUVIRTUALADDRESS *args)
{
	struct gpuva_reserve_request request;
	struct gpu_answer answer = { 0 };
	NTSTATUS status = reservation_of(args, &request);

	if (NT_SUCCESS(status))
		status = reserve(call, args->hPagingQueue, &request, &answer);
	args->VirtualAddress = answer.address;
	args->PagingFenceValue = answer.fence_value;
	return status;
}

/* ---- D3DKMTMapGpuVirtualAddress ---- */

static NTSTATUS mapping_of(const D3DDDI_MAPGPUVIRTUALADDRESS *args,
			   struct gpuva_map_request *request)
{
	if (args->Reserved0 != 0)
		return invalid(RULE_API_RESERVED, "Reserved0", "is reserved, and not 0");
	if (args->Reserved1 != 0)
		return invalid(RULE_API_RESERVED, "Reserved1", "is reserved, and not 0");
	*request = (struct gpuva_map_request){
		.window = { .base = args->BaseAddress,
			    .minimum = args->MinimumAddress,
			    .maximum = args->MaximumAddress },
		.offset_pages = args->OffsetInPages,
		.page_count = args->SizeInPages,
		.protection = args->Protection.Value,
		.driver_protection = args->DriverProtection,
	};
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_map_gpu_virtual_address(struct call *call, D3DDDI_MAPGPUVIRTUALADDRESS *args)
{
	struct dxg_paging_queue *queue = object_as(paging_queue, call->objects[0]);
	struct dxg_allocation *allocation = NULL;
	struct gpuva_map_request request;
	struct gpu_answer answer = { 0 };
	NTSTATUS status = mapping_of(args, &request);

	if (NT_SUCCESS(status) && args->hAllocation != 0)
		status = call_find_allocation(call, queue->device, "hAllocation", -1,
					      args->hAllocation, &allocation);
	if (NT_SUCCESS(status) && allocation && args->Protection.Write)
		status = allocation_check_writable(allocation, "Protection", -1);
	/* With NoAccess nothing of it is mapped; clients name what was there. */
	if (NT_SUCCESS(status))
		status = gpu_map(queue, args->Protection.NoAccess ? NULL : allocation, &request,
				 &answer);
	if (allocation)
		object_put(&allocation->object);
	args->VirtualAddress = answer.address;
	args->PagingFenceValue = answer.fence_value;
	return status;
}

/* ---- D3DKMTFreeGpuVirtualAddress ---- */

NTSTATUS dispatch_free_gpu_virtual_address(struct call *call, D3DKMT_FREEGPUVIRTUALADDRESS *args)
{
	struct dxg_adapter *adapter = call_adapter(call, 0)->adapter;
	struct address_space *space = gpu_addresses_find(call->process, adapter);
	NTSTATUS status = STATUS_SUCCESS;

	if (!space)
		status = gpu_addresses_of(call->process, adapter, &space);
	if (!NT_SUCCESS(status))
		return status;
	return gpu_addresses_free_now(space, args->BaseAddress, args->Size);
}

/* ---- D3DKMTUpdateGpuVirtualAddress ---- */

struct update_list {
	struct gpuva_operation *operations;
	struct dxg_allocation **allocations; /* with references; NULL where there is none */
	struct space_memory **memories;      /* likewise */
	struct vidmm_binding **bindings;     /* of the allocations */
	uint32_t count;
};

static void list_finish(struct update_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->memories[i])
			space_memory_put(list->memories[i]);
		if (list->allocations[i])
			object_put(&list->allocations[i]->object);
	}
}

static NTSTATUS find_memory(struct call *call, struct dxg_device *device, struct update_list *list,
			    uint32_t index, D3DKMT_HANDLE handle)
{
	NTSTATUS status = call_find_allocation(call, device, "Operations", index, handle,
					       &list->allocations[index]);
	const struct gpuva_operation *operation = &list->operations[index];

	/* MAP writes; MAP_PROTECT says whether. */
	if (NT_SUCCESS(status) &&
	    (operation->kind == GPUVA_OPERATION_MAP || (operation->protection & GPUVA_WRITE)))
		status = allocation_check_writable(list->allocations[index], "Operations", index);
	if (NT_SUCCESS(status))
		status = allocation_addresses(list->allocations[index], &list->memories[index]);
	if (NT_SUCCESS(status))
		status = allocation_binding(list->allocations[index], &list->bindings[index]);
	if (NT_SUCCESS(status))
		list->operations[index].owner = &list->memories[index]->view.owner;
	return status;
}

static NTSTATUS operation_of(struct call *call, struct dxg_device *device, struct update_list *list,
			     uint32_t index, const D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *from)
{
	struct gpuva_operation *to = &list->operations[index];

	switch (from->OperationType) {
	case D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP:
	case D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP_PROTECT:
		*to = (struct gpuva_operation){
			.kind = GPUVA_OPERATION_MAP,
			.base = from->Map.BaseAddress,
			.size_bytes = from->Map.SizeInBytes,
			.offset_bytes = from->Map.AllocationOffsetInBytes,
			.repeat_bytes = from->Map.AllocationSizeInBytes,
		};
		if (from->OperationType == D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP_PROTECT) {
			to->kind = GPUVA_OPERATION_MAP_PROTECT;
			to->protection = from->MapProtect.Protection.Value;
			to->driver_protection = from->MapProtect.DriverProtection;
		}
		return find_memory(call, device, list, index, from->Map.hAllocation);
	case D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP:
		*to = (struct gpuva_operation){ .kind = GPUVA_OPERATION_UNMAP,
						.base = from->Unmap.BaseAddress,
						.size_bytes = from->Unmap.SizeInBytes,
						.protection = from->Unmap.Protection.Value };
		return STATUS_SUCCESS;
	case D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY:
		*to = (struct gpuva_operation){ .kind = GPUVA_OPERATION_COPY,
						.base = from->Copy.DestAddress,
						.size_bytes = from->Copy.SizeInBytes,
						.source_base = from->Copy.SourceAddress };
		return STATUS_SUCCESS;
	}
	return invalid_item(RULE_API_VALUE, "Operations", index,
			    "has OperationType %d, which there is not", (int)from->OperationType);
}

/* It is waited for, unless DoNotWait says no, and signalled. */
static NTSTATUS check_fence(const struct dxg_device *device, const struct dxg_sync_object *fence,
			    bool is_awaited)
{
	if (fence->device && fence->device != device)
		return invalid(RULE_API_HANDLE, "hFenceObject",
			       "is of another device than hDevice");
	if (fence->body->kind != SYNC_MONITORED_FENCE)
		return invalid(RULE_API_VALUE, "hFenceObject", "is %s, not a monitored fence",
			       sync_kind_name(fence->body->kind));
	if (!fence->access.may_signal || (is_awaited && !fence->access.may_wait))
		return refuse(STATUS_ACCESS_DENIED, RULE_API_SYNC_ACCESS, "hFenceObject",
			      "was opened without the right to %s",
			      fence->access.may_signal ? "wait" : "signal");
	return STATUS_SUCCESS;
}

static NTSTATUS check_update(const D3DKMT_UPDATEGPUVIRTUALADDRESS *args,
			     const struct dxg_device *device, const struct dxg_context *context,
			     const struct dxg_sync_object *fence)
{
	if (context->device != device)
		return invalid(RULE_API_HANDLE, "hContext", "is of another device than hDevice");
	NTSTATUS status = check_fence(device, fence, !args->Flags.DoNotWait);
	if (!NT_SUCCESS(status))
		return status;
	if (args->NumOperations == 0)
		return invalid(RULE_API_COUNT, "NumOperations", "is 0");
	if (args->Reserved0 != 0)
		return invalid(RULE_API_RESERVED, "Reserved0", "is reserved, and not 0");
	if (args->Reserved1 != 0)
		return invalid(RULE_API_RESERVED, "Reserved1", "is reserved, and not 0");
	if (args->FenceValue == UINT64_MAX)
		return invalid(RULE_API_VALUE, "FenceValue",
			       "is the highest, and nothing comes after it");
	return STATUS_SUCCESS;
}

static NTSTATUS collect_operations(struct call *call, struct dxg_device *device,
				   const D3DKMT_UPDATEGPUVIRTUALADDRESS *args,
				   struct update_list *list)
{
	const uint32_t count = args->NumOperations;
	void *copy = NULL;
	NTSTATUS status =
		call_copy_list(call, "Operations", args->Operations, "NumOperations", count,
			       sizeof(D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION), &copy);

	if (!NT_SUCCESS(status))
		return status;
	const D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *from = copy;
	list->operations = call_take(call, (uint64_t)count * sizeof(*list->operations));
	list->allocations = call_take(call, (uint64_t)count * sizeof(*list->allocations));
	list->memories = call_take(call, (uint64_t)count * sizeof(*list->memories));
	list->bindings = call_take(call, (uint64_t)count * sizeof(*list->bindings));
	if (!list->operations || !list->allocations || !list->memories || !list->bindings)
		return STATUS_NO_MEMORY;
	list->count = count;
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		status = operation_of(call, device, list, i, &from[i]);
	return status;
}

NTSTATUS dispatch_update_gpu_virtual_address(struct call *call,
					     D3DKMT_UPDATEGPUVIRTUALADDRESS *args)
{
	struct dxg_device *device = call_device(call, 0);
	struct dxg_context *context = object_as(context, call->objects[1]);
	struct update_list list = { 0 };
	struct object *found = NULL;
	NTSTATUS status = call_find_object(call, &sync_object_class, "hFenceObject", -1,
					   args->hFenceObject, &found);

	if (!NT_SUCCESS(status))
		return status;
	struct dxg_sync_object *fence = object_as(sync_object, found);
	status = check_update(args, device, context, fence);
	if (NT_SUCCESS(status))
		status = device_check_alive(device);
	if (NT_SUCCESS(status) && !device->process_adapter->addresses)
		status = refuse(STATUS_NOT_SUPPORTED, RULE_VA_NO_TABLES, NULL,
				"adapter %u has no page tables of its own", device->adapter->id);
	if (NT_SUCCESS(status))
		status = collect_operations(call, device, args, &list);
	if (NT_SUCCESS(status))
		status = gpu_update_queue(context, fence, args->FenceValue, args->Flags.DoNotWait,
					  &(struct gpu_update_list){ .operations = list.operations,
								     .bindings = list.bindings,
								     .count = list.count });
	list_finish(&list);
	object_put(&fence->object);
	return status;
}
