/* SPDX-License-Identifier: MIT */
/*
 * residency_calls.c - what has to be in GPU memory: make resident, evict, properties.
 */
#include "dispatch/allocation_list.h"
#include "dispatch/dispatch.h"
#include "object/memory/residency.h"

/* A list of handles, and its allocations as the memory manager knows them. */
struct binding_list {
	struct allocation_list allocations; /* put when the call is over */
	struct vidmm_binding **bindings;
	uint64_t failed_bytes; /* of a list for which there was no memory */
};

static uint64_t bytes_of(const struct allocation_list *list)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < list->count; i++)
		bytes += vidmm_size_bytes(&list->allocations[i]->body->memory);
	return bytes;
}

static NTSTATUS decode_bindings(struct call *call, struct dxg_device *device,
				const D3DKMT_HANDLE *handles, uint32_t count,
				struct binding_list *list)
{
	NTSTATUS status = allocation_list_decode(call, device, "AllocationList", handles,
						 "NumAllocations", count, &list->allocations);

	if (!NT_SUCCESS(status) || count == 0)
		return status;
	list->bindings = call_take_buffer(call, (uint64_t)count * sizeof(*list->bindings));
	status = list->bindings
			 ? residency_bindings(list->allocations.allocations, count, list->bindings)
			 : STATUS_NO_MEMORY;
	if (!NT_SUCCESS(status)) {
		list->failed_bytes = bytes_of(&list->allocations);
		allocation_list_put(&list->allocations);
	}
	return status;
}

/* ---- make resident, evict ---- */

static NTSTATUS make_resident(struct call *call, struct dxg_paging_queue *queue,
			      D3DDDI_MAKERESIDENT *args)
{
	struct binding_list list = { 0 };
	NTSTATUS status = decode_bindings(call, queue->device, args->AllocationList,
					  args->NumAllocations, &list);

	args->NumBytesToTrim = list.failed_bytes;
	if (!NT_SUCCESS(status))
		return status;
	const struct residency_request request = {
		.bindings = list.bindings,
		.count = args->NumAllocations,
		.cant_trim_further = args->Flags.CantTrimFurther,
	};
	uint64_t fence_value = 0;
	uint64_t bytes_to_trim = 0;
	status = residency_make(queue, &request, &fence_value, &bytes_to_trim);
	args->PagingFenceValue = fence_value;
	args->NumBytesToTrim = bytes_to_trim;
	allocation_list_put(&list.allocations);
	return status;
}

/* PriorityList is not read: clients pass the address of one number, however long the list is. */
NTSTATUS dispatch_make_resident(struct call *call, D3DDDI_MAKERESIDENT *args)
{
	if (args->Flags.MustSucceed && !args->Flags.CantTrimFurther)
		return invalid(RULE_API_VALUE, "Flags", "has MustSucceed without CantTrimFurther");
	NTSTATUS status = make_resident(call, object_as(paging_queue, call->objects[0]), args);
	if (status == STATUS_NO_MEMORY && args->Flags.MustSucceed)
		residency_had_to_succeed(object_as(paging_queue, call->objects[0]));
	/* The one failure that has results. */
	if (status == STATUS_NO_MEMORY) {
		args->NumAllocations = 0;
		call_hand_back(call);
	}
	return status;
}

NTSTATUS dispatch_evict(struct call *call, D3DKMT_EVICT *args)
{
	struct dxg_device *device = call_device(call, 0);
	struct binding_list list = { 0 };
	uint32_t flags = (args->Flags.EvictOnlyIfNecessary ? VIDMM_EVICT_ONLY_IF_NECESSARY : 0) |
			 (args->Flags.NotWrittenTo ? VIDMM_EVICT_NOT_WRITTEN_TO : 0);
	/* Of a lost device, too: this only gives back. */
	NTSTATUS status =
		decode_bindings(call, device, args->AllocationList, args->NumAllocations, &list);

	if (!NT_SUCCESS(status))
		return status;
	uint64_t bytes_to_trim = 0;
	status = vidmm_evict(&device->memory, list.bindings, args->NumAllocations, flags,
			     &bytes_to_trim);
	args->NumBytesToTrim = bytes_to_trim;
	allocation_list_put(&list.allocations);
	return status;
}

/* ---- properties ---- */

NTSTATUS dispatch_update_allocation_property(struct call *call, D3DDDI_UPDATEALLOCPROPERTY *args)
{
	struct dxg_paging_queue *queue = object_as(paging_queue, call->objects[0]);
	struct dxg_allocation *allocation;

	if (args->SetPreferredSegment && args->PreferredSegment.Reserved != 0)
		return call_refuse_bits("PreferredSegment", NULL,
					(uint32_t)args->PreferredSegment.Reserved << 30);
	NTSTATUS status = call_find_allocation(call, queue->device, "hAllocation", -1,
					       args->hAllocation, &allocation);
	if (!NT_SUCCESS(status))
		return status;
	const struct vidmm_update update = {
		.sets_supported_segments = args->SetSupportedSegmentSet,
		.sets_preferred_segments = args->SetPreferredSegment,
		.sets_accessed_physically = args->SetAccessedPhysically,
		.sets_unmoveable = args->SetUnmoveable,
		.supported_segments = args->SupportedSegmentSet,
		.preferred_segments = args->PreferredSegment.Value,
		.is_accessed_physically = args->Flags.AccessedPhysically,
		.is_unmoveable = args->Flags.Unmoveable,
	};
	uint64_t fence_value = 0;
	status = residency_update(queue, allocation, &update, &fence_value);
	args->PagingFenceValue = fence_value;
	object_put(&allocation->object);
	return status;
}

/* Every move that a call has started is under way by then; it is over when this returns. */
NTSTATUS dispatch_flush_heap_transitions(struct call *call, D3DKMT_FLUSHHEAPTRANSITIONS *args)
{
	residency_drain(call_adapter(call, 0)->adapter);
	return STATUS_SUCCESS;
}
