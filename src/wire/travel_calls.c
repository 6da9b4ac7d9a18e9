/* SPDX-License-Identifier: MIT */
/*
 * travel_calls.c - what the arguments of a call lead to, where calls.def does not say it.
 *
 * Each walk follows what the call's handler in dispatch/ reads and writes by hand, under the same
 * conditions. A pointer that the handler does not follow is listed at the end.
 */
#include <stddef.h>

#include "base/attributes.h"
#include "base/checked.h"
#include "wire/travel_walk.h"

/* ---- lists of handles ---- */

static void walk_handles(struct travel *travel, const void *field, uint32_t count)
{
	travel_list(travel, (void *)field, count, sizeof(D3DKMT_HANDLE), CALL_MAX_LIST,
		    TRAVEL_THERE);
}

/* Given by clients, and not looked at, or refused when it is not NULL. */
static void walk_unread(struct travel *travel, const void *field)
{
	travel_list(travel, (void *)field, 0, 1, 1, TRAVEL_THERE);
}

static void walk_destroy_allocation(struct travel *travel, void *arguments)
{
	D3DKMT_DESTROYALLOCATION *args = arguments;

	walk_handles(travel, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
}

static void walk_destroy_allocation2(struct travel *travel, void *arguments)
{
	D3DKMT_DESTROYALLOCATION2 *args = arguments;

	walk_handles(travel, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
}

static void walk_unlock(struct travel *travel, void *arguments)
{
	D3DKMT_UNLOCK *args = arguments;

	walk_handles(travel, &args->phAllocations, args->NumAllocations);
}

static void walk_make_resident(struct travel *travel, void *arguments)
{
	D3DDDI_MAKERESIDENT *args = arguments;

	walk_handles(travel, &args->AllocationList, args->NumAllocations);
	walk_unread(travel, &args->PriorityList);
}

static void walk_evict(struct travel *travel, void *arguments)
{
	D3DKMT_EVICT *args = arguments;

	walk_handles(travel, &args->AllocationList, args->NumAllocations);
}

/* With a resource, one number for all it has. */
static void walk_numbers(struct travel *travel, const void *field, D3DKMT_HANDLE resource,
			 uint32_t count, enum travel_way way)
{
	_Static_assert(sizeof(D3DKMT_ALLOCATIONRESIDENCYSTATUS) == sizeof(UINT), "one walk");
	travel_list(travel, (void *)field, resource ? 1 : count, sizeof(UINT), CALL_MAX_LIST, way);
}

static void walk_set_allocation_priority(struct travel *travel, void *arguments)
{
	D3DKMT_SETALLOCATIONPRIORITY *args = arguments;

	walk_handles(travel, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
	walk_numbers(travel, &args->pPriorities, args->hResource, args->AllocationCount,
		     TRAVEL_THERE);
}

static void walk_get_allocation_priority(struct travel *travel, void *arguments)
{
	D3DKMT_GETALLOCATIONPRIORITY *args = arguments;

	walk_handles(travel, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
	walk_numbers(travel, &args->pPriorities, args->hResource, args->AllocationCount,
		     TRAVEL_AND_BACK);
}

static void walk_query_allocation_residency(struct travel *travel, void *arguments)
{
	D3DKMT_QUERYALLOCATIONRESIDENCY *args = arguments;

	walk_handles(travel, &args->phAllocationList, args->hResource ? 0 : args->AllocationCount);
	walk_numbers(travel, &args->pResidencyStatus, args->hResource, args->AllocationCount,
		     TRAVEL_AND_BACK);
}

/* Resources or allocations; with both, neither is read. */
static void walk_either(struct travel *travel, const void *resources, const void *handles,
			uint32_t count)
{
	bool has_both = travel_pointer(resources) && travel_pointer(handles);

	walk_handles(travel, resources, has_both ? 0 : count);
	walk_handles(travel, handles, has_both ? 0 : count);
}

static void walk_offer_allocations(struct travel *travel, void *arguments)
{
	D3DKMT_OFFERALLOCATIONS *args = arguments;

	walk_either(travel, &args->pResources, &args->HandleList, args->NumAllocations);
}

static void walk_reclaim_allocations(struct travel *travel, void *arguments)
{
	D3DKMT_RECLAIMALLOCATIONS *args = arguments;

	walk_either(travel, &args->pResources, &args->HandleList, args->NumAllocations);
	walk_numbers(travel, &args->pDiscarded, 0, args->NumAllocations, TRAVEL_AND_BACK);
}

static void walk_reclaim_allocations2(struct travel *travel, void *arguments)
{
	D3DKMT_RECLAIMALLOCATIONS2 *args = arguments;

	walk_either(travel, &args->pResources, &args->HandleList, args->NumAllocations);
	walk_numbers(travel, &args->pResults, 0, args->NumAllocations, TRAVEL_AND_BACK);
}

static void walk_update_gpu_virtual_address(struct travel *travel, void *arguments)
{
	D3DKMT_UPDATEGPUVIRTUALADDRESS *args = arguments;

	travel_list(travel, &args->Operations, args->NumOperations, sizeof(*args->Operations),
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
static void walk_element(struct travel *travel, const struct elements *elements,
			 unsigned char *element)
{
	UINT private_bytes;

	memcpy(&private_bytes, element + offsetof(D3DDDI_ALLOCATIONINFO2, PrivateDriverDataSize),
	       sizeof(private_bytes));
	travel_list(travel, element + offsetof(D3DDDI_ALLOCATIONINFO2, pPrivateDriverData),
		    private_bytes, 1, CALL_MAX_PRIVATE_BYTES,
		    elements->flags.StandardAllocation ? TRAVEL_THERE : TRAVEL_AND_BACK);
	travel_thing(travel, element + offsetof(D3DDDI_ALLOCATIONINFO2, pSystemMem),
		     elements->flags.ExistingSection ? TRAVEL_SECTION : TRAVEL_MEMORY,
		     elements->heap_bytes);
	travel_result(travel, element + offsetof(D3DDDI_ALLOCATIONINFO2, hAllocation),
		      sizeof(D3DKMT_HANDLE));
	if (elements->stride == sizeof(D3DDDI_ALLOCATIONINFO2))
		travel_result(travel, element + offsetof(D3DDDI_ALLOCATIONINFO2, GpuVirtualAddress),
			      sizeof(D3DGPU_VIRTUAL_ADDRESS));
}

/* One slot has two names: what the driver is told, or a heap that the client has. */
static uint64_t walk_heap(struct travel *travel, D3DKMT_CREATEALLOCATION *args)
{
	D3DKMT_CREATESTANDARDALLOCATION standard;
	const void *heap;

	if (!args->Flags.StandardAllocation) {
		travel_list(travel, &args->pPrivateDriverData, args->PrivateDriverDataSize, 1,
			    CALL_MAX_PRIVATE_BYTES, TRAVEL_THERE);
		return 0;
	}
	heap = travel_list(travel, &args->pStandardAllocation, 1, sizeof(standard), 1,
			   TRAVEL_THERE);
	if (!heap)
		return 0;
	memcpy(&standard, heap, sizeof(standard));
	return standard.ExistingHeapData.Size;
}

static void walk_create(struct travel *travel, D3DKMT_CREATEALLOCATION *args, size_t stride)
{
	struct elements elements = { .flags = args->Flags, .stride = stride };
	uint64_t count = travel->mode == TRAVEL_DESCRIBE ? 1 : args->NumAllocations;

	travel_list(travel, &args->pPrivateRuntimeData, args->PrivateRuntimeDataSize, 1,
		    CALL_MAX_PRIVATE_BYTES, TRAVEL_THERE);
	elements.heap_bytes = walk_heap(travel, args);
	unsigned char *element = travel_list(travel, &args->pAllocationInfo2, count,
					     (uint32_t)stride, CALL_MAX_LIST, TRAVEL_THERE);
	for (uint64_t i = 0; element && i < count && !travel->has_failed; i++)
		walk_element(travel, &elements, element + i * stride);
}

static void walk_create_allocation(struct travel *travel, void *arguments)
{
	walk_create(travel, arguments, sizeof(D3DDDI_ALLOCATIONINFO));
}

static void walk_create_allocation2(struct travel *travel, void *arguments)
{
	walk_create(travel, arguments, sizeof(D3DDDI_ALLOCATIONINFO2));
}

static void walk_query_resource_info(struct travel *travel, void *arguments)
{
	D3DKMT_QUERYRESOURCEINFO *args = arguments;

	walk_unread(travel, &args->pPrivateRuntimeData);
}

/* ---- work ---- */

static void walk_render(struct travel *travel, void *arguments)
{
	D3DKMT_RENDER *args = arguments;

	walk_unread(travel, &args->pPrivateDriverData);
}

static void walk_submit_command(struct travel *travel, void *arguments)
{
	D3DKMT_SUBMITCOMMAND *args = arguments;

	walk_unread(travel, &args->HistoryBufferArray);
}

/* ---- NT handles ---- */

static void walk_query_resource_info_from_nt_handle(struct travel *travel, void *arguments)
{
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE *args = arguments;

	walk_unread(travel, &args->pPrivateRuntimeData);
	travel_thing(travel, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}

static void walk_get_shared_resource_adapter_luid(struct travel *travel, void *arguments)
{
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID *args = arguments;

	travel_thing(travel, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}

static void walk_open_keyed_mutex_from_nt_handle(struct travel *travel, void *arguments)
{
	D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE *args = arguments;

	travel_thing(travel, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}

/* Of what kind it is, is known when it is open. */
static void walk_open_sync_object_from_nt_handle2(struct travel *travel, void *arguments)
{
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *args = arguments;

	travel_note_values();
	travel_thing(travel, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}

static void walk_name(struct travel *travel, unsigned char *client_name)
{
	UNICODE_STRING name;

	memcpy(&name, client_name, sizeof(name));
	travel_list(travel, client_name + offsetof(UNICODE_STRING, Buffer),
		    name.Length % sizeof(WCHAR) == 0 ? name.Length : 0, 1, UINT16_MAX,
		    TRAVEL_THERE);
}

/* A name is read where the attributes are as they should be. */
static void walk_attributes(struct travel *travel, const void *field)
{
	unsigned char *client =
		travel_list(travel, (void *)field, 1, sizeof(OBJECT_ATTRIBUTES), 1, TRAVEL_THERE);
	OBJECT_ATTRIBUTES attributes;

	if (!client)
		return;
	memcpy(&attributes, client, sizeof(attributes));
	bool is_read = attributes.Length == sizeof(attributes) && !attributes.RootDirectory &&
		       !(attributes.Attributes & ~(ULONG)OBJ_VALID_ATTRIBUTES);
	travel_value(travel, client + offsetof(OBJECT_ATTRIBUTES, RootDirectory));
	travel_value(travel, client + offsetof(OBJECT_ATTRIBUTES, SecurityDescriptor));
	travel_value(travel, client + offsetof(OBJECT_ATTRIBUTES, SecurityQualityOfService));
	unsigned char *name = travel_list(travel, client + offsetof(OBJECT_ATTRIBUTES, ObjectName),
					  is_read ? 1 : 0, sizeof(UNICODE_STRING), 1, TRAVEL_THERE);
	if (name)
		walk_name(travel, name);
}

static void walk_share_objects(struct travel *travel, void *arguments)
{
	D3DKMT_SHAREOBJECTS *args = arguments;

	walk_attributes(travel, &args->pObjectAttributes);
	void *handle =
		travel_list(travel, &args->pSharedNtHandle, 1, sizeof(HANDLE), 1, TRAVEL_THERE);
	if (handle)
		travel_descriptor(travel, handle);
}

static void walk_open_nt_handle_from_name(struct travel *travel, void *arguments)
{
	D3DKMT_OPENNTHANDLEFROMNAME *args = arguments;

	walk_attributes(travel, &args->pObjAttrib);
	travel_descriptor(travel, &args->hNtHandle);
}

static void walk_open_sync_object_nt_handle_from_name(struct travel *travel, void *arguments)
{
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME *args = arguments;

	walk_attributes(travel, &args->pObjAttrib);
	travel_descriptor(travel, &args->hNtHandle);
}

static void walk_create_sync_file(struct travel *travel, void *arguments)
{
	D3DKMT_CREATESYNCFILE *args = arguments;

	travel_descriptor(travel, &args->hSyncFile);
}

/* One escape has a handle in its data, which comes back. */
static void walk_escape(struct travel *travel, void *arguments)
{
	D3DKMT_ESCAPE *args = arguments;
	unsigned char *data = args->pPrivateDriverData;
	D3DKMT_VIDMMESCAPETYPE kind;

	if (args->Type != D3DKMT_ESCAPE_VIDMM || !data || travel->mode > TRAVEL_OPEN ||
	    args->PrivateDriverDataSize < sizeof(D3DKMT_VIDMM_ESCAPE) ||
	    args->PrivateDriverDataSize > CALL_MAX_PRIVATE_BYTES || travel->has_failed)
		return;
	memcpy(&kind, data + offsetof(D3DKMT_VIDMM_ESCAPE, Type), sizeof(kind));
	if (kind == D3DKMT_VIDMMESCAPETYPE_EVICT_BY_NT_HANDLE)
		travel_thing(travel, data + offsetof(D3DKMT_VIDMM_ESCAPE, EvictByNtHandle.NtHandle),
			     TRAVEL_NT_HANDLE, 0);
}

/* ---- fences, mutexes, events ---- */

static void walk_acquire_keyed_mutex(struct travel *travel, void *arguments)
{
	D3DKMT_ACQUIREKEYEDMUTEX *args = arguments;

	travel_list(travel, &args->pTimeout, 1, sizeof(*args->pTimeout), 1, TRAVEL_THERE);
}

static void walk_acquire_keyed_mutex2(struct travel *travel, void *arguments)
{
	D3DKMT_ACQUIREKEYEDMUTEX2 *args = arguments;

	travel_list(travel, &args->pTimeout, 1, sizeof(*args->pTimeout), 1, TRAVEL_THERE);
}

static void walk_create_synchronization_object(struct travel *travel, void *arguments)
{
	travel_note_values();
}

static void walk_open_synchronization_object(struct travel *travel, void *arguments)
{
	travel_note_values();
}

static void walk_create_synchronization_object2(struct travel *travel, void *arguments)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *args = arguments;

	if (args->Info.Type != D3DDDI_MONITORED_FENCE)
		travel_note_values();
	if (travel_if(travel, args->Info.Type == D3DDDI_CPU_NOTIFICATION))
		travel_thing(travel, &args->Info.CPUNotification.Event, TRAVEL_EVENT, 0);
}

static void walk_wait_for_synchronization_object_from_cpu(struct travel *travel, void *arguments)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *args = arguments;

	travel_thing(travel, &args->hAsyncEvent, TRAVEL_EVENT, 0);
}

static void walk_signal_synchronization_object2(struct travel *travel, void *arguments)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *args = arguments;

	if (travel_if(travel, args->Flags.EnqueueCpuEvent))
		travel_thing(travel, &args->CpuEventHandle, TRAVEL_EVENT, 0);
}

static void walk_signal_synchronization_object_from_gpu(struct travel *travel, void *arguments)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *args = arguments;

	travel_slot(travel, args->Reserved, args->ObjectCount);
}

static void walk_signal_synchronization_object_from_gpu2(struct travel *travel, void *arguments)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *args = arguments;

	if (args->Flags.EnqueueCpuEvent)
		travel_thing(travel, &args->CpuEventHandle, TRAVEL_EVENT, 0);
	travel_slot(travel, args->Reserved, args->Flags.EnqueueCpuEvent ? 0 : args->ObjectCount);
}

static void walk_wait_for_synchronization_object_from_gpu(struct travel *travel, void *arguments)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *args = arguments;

	travel_slot(travel, args->Reserved, args->ObjectCount);
}

static void walk_values(struct travel *travel, const void *field, uint32_t count)
{
	travel_list(travel, (void *)field, count, sizeof(UINT64), CALL_MAX_LIST, TRAVEL_THERE);
}

static void walk_submit_signal_sync_objects_to_hw_queue(struct travel *travel, void *arguments)
{
	D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *args = arguments;

	walk_values(travel, &args->FenceValueArray, args->ObjectCount);
}

static void walk_submit_wait_for_sync_objects_to_hw_queue(struct travel *travel, void *arguments)
{
	D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *args = arguments;

	walk_values(travel, &args->FenceValueArray, args->ObjectCount);
}

/* ---- the table ---- */

#define WALK(id) [CALL_##id] = walk_##id

travel_walk *const travel_walks[CALL_COUNT] = {
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

/* ---- what stays a value ---- */

#define PLAIN(call, type, field)                                                                   \
	{                                                                                          \
		CALL_##call, offsetof(type, field)                                                 \
	}

const struct travel_plain travel_plain[] = {
	/* Processes are named by NULL or -1. */
	PLAIN(query_statistics, D3DKMT_QUERYSTATISTICS, hProcess),
	PLAIN(query_video_memory_info, D3DKMT_QUERYVIDEOMEMORYINFO, hProcess),
	PLAIN(change_video_memory_reservation, D3DKMT_CHANGEVIDEOMEMORYRESERVATION, hProcess),
	PLAIN(query_process_offer_info, D3DKMT_QUERYPROCESSOFFERINFO, hProcess),
	PLAIN(trim_process_commitment, D3DKMT_TRIMPROCESSCOMMITMENT, hProcess),
	/* Functions of the client, and what they are called with: for who tells the client. */
	PLAIN(register_trim_notification, D3DKMT_REGISTERTRIMNOTIFICATION, Callback),
	PLAIN(register_trim_notification, D3DKMT_REGISTERTRIMNOTIFICATION, Context),
	PLAIN(unregister_trim_notification, D3DKMT_UNREGISTERTRIMNOTIFICATION, Callback),
	PLAIN(register_budget_change_notification, D3DKMT_REGISTERBUDGETCHANGENOTIFICATION,
	      Callback),
	PLAIN(register_budget_change_notification, D3DKMT_REGISTERBUDGETCHANGENOTIFICATION,
	      Context),
	/* Never looked at. */
	PLAIN(create_allocation, D3DKMT_CREATEALLOCATION, hPrivateRuntimeResourceHandle),
	PLAIN(create_allocation2, D3DKMT_CREATEALLOCATION, hPrivateRuntimeResourceHandle),
	PLAIN(create_device, D3DKMT_CREATEDEVICE, pAdapter),
	PLAIN(create_synchronization_object2, D3DKMT_CREATESYNCHRONIZATIONOBJECT2,
	      Info.PeriodicMonitoredFence.FenceValueCPUVirtualAddress),
};

const uint32_t travel_plain_count = ARRAY_SIZE(travel_plain);
