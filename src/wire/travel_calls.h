/* SPDX-License-Identifier: MIT */
/*
 * travel_calls.h - what the arguments of a call lead to, where calls.def does not say it.
 *
 * Each walk follows what the call's handler in dispatch/ reads and writes by hand, under the same
 * conditions. A pointer that the handler does not follow is listed in travel_describe.c. For
 * travel_table.c, which makes of each walk one for every way.
 */
#ifndef WIRE_TRAVEL_CALLS_H
#define WIRE_TRAVEL_CALLS_H

#include <stddef.h>

#include "wire/travel_parts.h"

/* ---- lists of handles ---- */

SPECIALIZED void walk_handles(struct walk walk, const void *field, uint32_t count)
{
	travel_list(walk, (void *)field, count, sizeof(D3DKMT_HANDLE), CALL_MAX_LIST, TRAVEL_THERE);
}

/* Given by clients, and not looked at, or refused when it is not NULL. */
SPECIALIZED void walk_unread(struct walk walk, const void *field)
{
	travel_list(walk, (void *)field, 0, 1, 1, TRAVEL_THERE);
}

SPECIALIZED void walk_destroy_allocation(struct walk walk, void *arguments)
{
	D3DKMT_DESTROYALLOCATION *args = arguments;

	walk_handles(walk, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
}

SPECIALIZED void walk_destroy_allocation2(struct walk walk, void *arguments)
{
	D3DKMT_DESTROYALLOCATION2 *args = arguments;

	walk_handles(walk, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
}

SPECIALIZED void walk_unlock(struct walk walk, void *arguments)
{
	D3DKMT_UNLOCK *args = arguments;

	walk_handles(walk, &args->phAllocations, args->NumAllocations);
}

SPECIALIZED void walk_make_resident(struct walk walk, void *arguments)
{
	D3DDDI_MAKERESIDENT *args = arguments;

	walk_handles(walk, &args->AllocationList, args->NumAllocations);
	walk_unread(walk, &args->PriorityList);
}

SPECIALIZED void walk_evict(struct walk walk, void *arguments)
{
	D3DKMT_EVICT *args = arguments;

	walk_handles(walk, &args->AllocationList, args->NumAllocations);
}

/* With a resource, one number for all it has. */
SPECIALIZED void walk_numbers(struct walk walk, const void *field, D3DKMT_HANDLE resource,
			      uint32_t count, enum travel_way way)
{
	_Static_assert(sizeof(D3DKMT_ALLOCATIONRESIDENCYSTATUS) == sizeof(UINT), "one walk");
	travel_list(walk, (void *)field, resource ? 1 : count, sizeof(UINT), CALL_MAX_LIST, way);
}

SPECIALIZED void walk_set_allocation_priority(struct walk walk, void *arguments)
{
	D3DKMT_SETALLOCATIONPRIORITY *args = arguments;

	walk_handles(walk, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
	walk_numbers(walk, &args->pPriorities, args->hResource, args->AllocationCount,
		     TRAVEL_THERE);
}

SPECIALIZED void walk_get_allocation_priority(struct walk walk, void *arguments)
{
	D3DKMT_GETALLOCATIONPRIORITY *args = arguments;

	walk_handles(walk, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
	walk_numbers(walk, &args->pPriorities, args->hResource, args->AllocationCount,
		     TRAVEL_AND_BACK);
}

SPECIALIZED void walk_query_allocation_residency(struct walk walk, void *arguments)
{
	D3DKMT_QUERYALLOCATIONRESIDENCY *args = arguments;

	walk_handles(walk, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
	walk_numbers(walk, &args->pResidencyStatus, args->hResource, args->AllocationCount,
		     TRAVEL_AND_BACK);
}

/* Resources or allocations; with both, neither is read. */
SPECIALIZED void walk_either(struct walk walk, const void *resources, const void *handles,
			     uint32_t count)
{
	bool has_both = travel_pointer(resources) && travel_pointer(handles);

	walk_handles(walk, resources, has_both ? 0 : count);
	walk_handles(walk, handles, has_both ? 0 : count);
}

SPECIALIZED void walk_offer_allocations(struct walk walk, void *arguments)
{
	D3DKMT_OFFERALLOCATIONS *args = arguments;

	walk_either(walk, &args->pResources, &args->HandleList, args->NumAllocations);
}

SPECIALIZED void walk_reclaim_allocations(struct walk walk, void *arguments)
{
	D3DKMT_RECLAIMALLOCATIONS *args = arguments;

	walk_either(walk, &args->pResources, &args->HandleList, args->NumAllocations);
	walk_numbers(walk, &args->pDiscarded, 0, args->NumAllocations, TRAVEL_AND_BACK);
}

SPECIALIZED void walk_reclaim_allocations2(struct walk walk, void *arguments)
{
	D3DKMT_RECLAIMALLOCATIONS2 *args = arguments;

	walk_either(walk, &args->pResources, &args->HandleList, args->NumAllocations);
	walk_numbers(walk, &args->pResults, 0, args->NumAllocations, TRAVEL_AND_BACK);
}

SPECIALIZED void walk_update_gpu_virtual_address(struct walk walk, void *arguments)
{
	D3DKMT_UPDATEGPUVIRTUALADDRESS *args = arguments;

	travel_list(walk, &args->Operations, args->NumOperations, sizeof(*args->Operations),
		    CALL_MAX_LIST, TRAVEL_THERE);
}

/* ---- D3DKMTCreateAllocation, …2 ---- */

/* What the elements of one call have in common. */
struct elements {
	D3DKMT_CREATEALLOCATIONFLAGS flags;
	uint64_t heap_bytes; /* of the client's; 0: the driver says */
	size_t stride;
};

/* v1 is a prefix of v2, so the first fields of both are where v2 has them. */
SPECIALIZED void walk_element(struct walk walk, const struct elements *elements,
			      unsigned char *element)
{
	UINT private_bytes;

	memcpy(&private_bytes, element + offsetof(D3DDDI_ALLOCATIONINFO2, PrivateDriverDataSize),
	       sizeof(private_bytes));
	travel_list(walk, element + offsetof(D3DDDI_ALLOCATIONINFO2, pPrivateDriverData),
		    private_bytes, 1, CALL_MAX_PRIVATE_BYTES,
		    elements->flags.StandardAllocation ? TRAVEL_THERE : TRAVEL_AND_BACK);
	travel_thing(walk, element + offsetof(D3DDDI_ALLOCATIONINFO2, pSystemMem),
		     elements->flags.ExistingSection ? TRAVEL_SECTION : TRAVEL_MEMORY,
		     elements->heap_bytes);
	travel_result(walk, element + offsetof(D3DDDI_ALLOCATIONINFO2, hAllocation),
		      sizeof(D3DKMT_HANDLE));
	if (elements->stride == sizeof(D3DDDI_ALLOCATIONINFO2))
		travel_result(walk, element + offsetof(D3DDDI_ALLOCATIONINFO2, GpuVirtualAddress),
			      sizeof(D3DGPU_VIRTUAL_ADDRESS));
}

/* One slot has two names: what the driver is told, or a heap that the client has. */
SPECIALIZED uint64_t walk_heap(struct walk walk, D3DKMT_CREATEALLOCATION *args)
{
	D3DKMT_CREATESTANDARDALLOCATION standard;
	const void *heap;

	if (!args->Flags.StandardAllocation) {
		travel_list(walk, &args->pPrivateDriverData, args->PrivateDriverDataSize, 1,
			    CALL_MAX_PRIVATE_BYTES, TRAVEL_THERE);
		return 0;
	}
	heap = travel_list(walk, &args->pStandardAllocation, 1, sizeof(standard), 1, TRAVEL_THERE);
	if (!heap)
		return 0;
	memcpy(&standard, heap, sizeof(standard));
	return standard.ExistingHeapData.Size;
}

SPECIALIZED void walk_create(struct walk walk, D3DKMT_CREATEALLOCATION *args, size_t stride)
{
	struct elements elements = { .flags = args->Flags, .stride = stride };
	uint64_t count = walk.mode == TRAVEL_DESCRIBE ? 1 : args->NumAllocations;

	travel_list(walk, &args->pPrivateRuntimeData, args->PrivateRuntimeDataSize, 1,
		    CALL_MAX_PRIVATE_BYTES, TRAVEL_THERE);
	elements.heap_bytes = walk_heap(walk, args);
	unsigned char *element = travel_list(walk, &args->pAllocationInfo2, count, (uint32_t)stride,
					     CALL_MAX_LIST, TRAVEL_THERE);
	for (uint64_t i = 0; element && i < count && !walk.travel->has_failed; i++)
		walk_element(walk, &elements, element + i * stride);
}

SPECIALIZED void walk_create_allocation(struct walk walk, void *arguments)
{
	walk_create(walk, arguments, sizeof(D3DDDI_ALLOCATIONINFO));
}

SPECIALIZED void walk_create_allocation2(struct walk walk, void *arguments)
{
	walk_create(walk, arguments, sizeof(D3DDDI_ALLOCATIONINFO2));
}

SPECIALIZED void walk_query_resource_info(struct walk walk, void *arguments)
{
	D3DKMT_QUERYRESOURCEINFO *args = arguments;

	walk_unread(walk, &args->pPrivateRuntimeData);
}

/* ---- work ---- */

SPECIALIZED void walk_render(struct walk walk, void *arguments)
{
	D3DKMT_RENDER *args = arguments;

	walk_unread(walk, &args->pPrivateDriverData);
}

SPECIALIZED void walk_submit_command(struct walk walk, void *arguments)
{
	D3DKMT_SUBMITCOMMAND *args = arguments;

	walk_unread(walk, &args->HistoryBufferArray);
}

/* ---- NT handles ---- */

SPECIALIZED void walk_query_resource_info_from_nt_handle(struct walk walk, void *arguments)
{
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE *args = arguments;

	walk_unread(walk, &args->pPrivateRuntimeData);
	travel_thing(walk, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}

SPECIALIZED void walk_get_shared_resource_adapter_luid(struct walk walk, void *arguments)
{
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID *args = arguments;

	travel_thing(walk, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}

SPECIALIZED void walk_open_keyed_mutex_from_nt_handle(struct walk walk, void *arguments)
{
	D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE *args = arguments;

	travel_thing(walk, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}

/* Of what kind it is, is known when it is open. */
SPECIALIZED void walk_open_sync_object_from_nt_handle2(struct walk walk, void *arguments)
{
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *args = arguments;

	travel_note_values();
	travel_thing(walk, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}

SPECIALIZED void walk_name(struct walk walk, unsigned char *client_name)
{
	UNICODE_STRING name;

	memcpy(&name, client_name, sizeof(name));
	travel_list(walk, client_name + offsetof(UNICODE_STRING, Buffer),
		    name.Length % sizeof(WCHAR) == 0 ? name.Length : 0, 1, UINT16_MAX,
		    TRAVEL_THERE);
}

/* A name is read where the attributes are as they should be. */
SPECIALIZED void walk_attributes(struct walk walk, const void *field)
{
	unsigned char *client =
		travel_list(walk, (void *)field, 1, sizeof(OBJECT_ATTRIBUTES), 1, TRAVEL_THERE);
	OBJECT_ATTRIBUTES attributes;

	if (!client)
		return;
	memcpy(&attributes, client, sizeof(attributes));
	bool is_read = attributes.Length == sizeof(attributes) && !attributes.RootDirectory &&
		       !(attributes.Attributes & ~(ULONG)OBJ_VALID_ATTRIBUTES);
	travel_value(walk, client + offsetof(OBJECT_ATTRIBUTES, RootDirectory));
	travel_value(walk, client + offsetof(OBJECT_ATTRIBUTES, SecurityDescriptor));
	travel_value(walk, client + offsetof(OBJECT_ATTRIBUTES, SecurityQualityOfService));
	unsigned char *name = travel_list(walk, client + offsetof(OBJECT_ATTRIBUTES, ObjectName),
					  is_read ? 1 : 0, sizeof(UNICODE_STRING), 1, TRAVEL_THERE);
	if (name)
		walk_name(walk, name);
}

SPECIALIZED void walk_share_objects(struct walk walk, void *arguments)
{
	D3DKMT_SHAREOBJECTS *args = arguments;

	walk_attributes(walk, &args->pObjectAttributes);
	void *handle =
		travel_list(walk, &args->pSharedNtHandle, 1, sizeof(HANDLE), 1, TRAVEL_THERE);
	if (handle)
		travel_descriptor(walk, handle);
}

SPECIALIZED void walk_open_nt_handle_from_name(struct walk walk, void *arguments)
{
	D3DKMT_OPENNTHANDLEFROMNAME *args = arguments;

	walk_attributes(walk, &args->pObjAttrib);
	travel_descriptor(walk, &args->hNtHandle);
}

SPECIALIZED void walk_open_sync_object_nt_handle_from_name(struct walk walk, void *arguments)
{
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME *args = arguments;

	walk_attributes(walk, &args->pObjAttrib);
	travel_descriptor(walk, &args->hNtHandle);
}

SPECIALIZED void walk_create_sync_file(struct walk walk, void *arguments)
{
	D3DKMT_CREATESYNCFILE *args = arguments;

	travel_descriptor(walk, &args->hSyncFile);
}

/* One escape has a handle in its data, which comes back. */
SPECIALIZED void walk_escape(struct walk walk, void *arguments)
{
	D3DKMT_ESCAPE *args = arguments;
	unsigned char *data = args->pPrivateDriverData;
	D3DKMT_VIDMMESCAPETYPE kind;

	if (args->Type != D3DKMT_ESCAPE_VIDMM || !data || walk.mode > TRAVEL_OPEN ||
	    args->PrivateDriverDataSize < sizeof(D3DKMT_VIDMM_ESCAPE) ||
	    args->PrivateDriverDataSize > CALL_MAX_PRIVATE_BYTES || walk.travel->has_failed)
		return;
	memcpy(&kind, data + offsetof(D3DKMT_VIDMM_ESCAPE, Type), sizeof(kind));
	if (kind == D3DKMT_VIDMMESCAPETYPE_EVICT_BY_NT_HANDLE)
		travel_thing(walk, data + offsetof(D3DKMT_VIDMM_ESCAPE, EvictByNtHandle.NtHandle),
			     TRAVEL_NT_HANDLE, 0);
}

/* ---- fences, mutexes, events ---- */

SPECIALIZED void walk_acquire_keyed_mutex(struct walk walk, void *arguments)
{
	D3DKMT_ACQUIREKEYEDMUTEX *args = arguments;

	travel_list(walk, &args->pTimeout, 1, sizeof(*args->pTimeout), 1, TRAVEL_THERE);
}

SPECIALIZED void walk_acquire_keyed_mutex2(struct walk walk, void *arguments)
{
	D3DKMT_ACQUIREKEYEDMUTEX2 *args = arguments;

	travel_list(walk, &args->pTimeout, 1, sizeof(*args->pTimeout), 1, TRAVEL_THERE);
}

SPECIALIZED void walk_create_synchronization_object(struct walk walk, void *arguments)
{
	travel_note_values();
}

SPECIALIZED void walk_open_synchronization_object(struct walk walk, void *arguments)
{
	travel_note_values();
}

SPECIALIZED void walk_create_synchronization_object2(struct walk walk, void *arguments)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *args = arguments;

	if (args->Info.Type != D3DDDI_MONITORED_FENCE)
		travel_note_values();
	if (travel_if(walk, args->Info.Type == D3DDDI_CPU_NOTIFICATION))
		travel_thing(walk, &args->Info.CPUNotification.Event, TRAVEL_EVENT, 0);
}

SPECIALIZED void walk_wait_for_synchronization_object_from_cpu(struct walk walk, void *arguments)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *args = arguments;

	travel_thing(walk, &args->hAsyncEvent, TRAVEL_EVENT, 0);
}

SPECIALIZED void walk_signal_synchronization_object2(struct walk walk, void *arguments)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *args = arguments;

	if (travel_if(walk, args->Flags.EnqueueCpuEvent))
		travel_thing(walk, &args->CpuEventHandle, TRAVEL_EVENT, 0);
}

SPECIALIZED void walk_signal_synchronization_object_from_gpu(struct walk walk, void *arguments)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *args = arguments;

	travel_slot(walk, args->Reserved, args->ObjectCount);
}

SPECIALIZED void walk_signal_synchronization_object_from_gpu2(struct walk walk, void *arguments)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *args = arguments;

	if (args->Flags.EnqueueCpuEvent)
		travel_thing(walk, &args->CpuEventHandle, TRAVEL_EVENT, 0);
	travel_slot(walk, args->Reserved, args->Flags.EnqueueCpuEvent ? 0 : args->ObjectCount);
}

SPECIALIZED void walk_wait_for_synchronization_object_from_gpu(struct walk walk, void *arguments)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *args = arguments;

	travel_slot(walk, args->Reserved, args->ObjectCount);
}

SPECIALIZED void walk_values(struct walk walk, const void *field, uint32_t count)
{
	travel_list(walk, (void *)field, count, sizeof(UINT64), CALL_MAX_LIST, TRAVEL_THERE);
}

SPECIALIZED void walk_submit_signal_sync_objects_to_hw_queue(struct walk walk, void *arguments)
{
	D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *args = arguments;

	walk_values(walk, &args->FenceValueArray, args->ObjectCount);
}

SPECIALIZED void walk_submit_wait_for_sync_objects_to_hw_queue(struct walk walk, void *arguments)
{
	D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *args = arguments;

	walk_values(walk, &args->FenceValueArray, args->ObjectCount);
}

/* ---- the table ---- */

#define WALK(id) [CALL_##id] = walk_##id

/* Behind the fields of calls.def; NULL: they say all. */
static travel_walk *const travel_walks[CALL_COUNT] = {
	WALK(acquire_keyed_mutex),
	WALK(acquire_keyed_mutex2),
	WALK(create_allocation),
	WALK(create_allocation2),
	WALK(create_sync_file),
	WALK(create_synchronization_object),
	WALK(create_synchronization_object2),
	WALK(destroy_allocation),
	WALK(destroy_allocation2),
	WALK(escape),
	WALK(evict),
	WALK(get_allocation_priority),
	WALK(get_shared_resource_adapter_luid),
	WALK(make_resident),
	WALK(offer_allocations),
	WALK(open_keyed_mutex_from_nt_handle),
	WALK(open_nt_handle_from_name),
	[CALL_open_resource] = travel_open_resource,
	[CALL_open_resource2] = travel_open_resource2,
	[CALL_open_resource_from_nt_handle] = travel_open_resource_from_nt_handle,
	WALK(open_sync_object_from_nt_handle2),
	WALK(open_sync_object_nt_handle_from_name),
	WALK(open_synchronization_object),
	WALK(query_allocation_residency),
	WALK(query_resource_info),
	WALK(query_resource_info_from_nt_handle),
	WALK(reclaim_allocations),
	WALK(reclaim_allocations2),
	WALK(render),
	WALK(set_allocation_priority),
	WALK(share_objects),
	WALK(signal_synchronization_object2),
	WALK(signal_synchronization_object_from_gpu),
	WALK(signal_synchronization_object_from_gpu2),
	WALK(submit_command),
	WALK(submit_signal_sync_objects_to_hw_queue),
	WALK(submit_wait_for_sync_objects_to_hw_queue),
	WALK(unlock),
	WALK(update_gpu_virtual_address),
	WALK(wait_for_synchronization_object_from_cpu),
	WALK(wait_for_synchronization_object_from_gpu),
};

#endif
