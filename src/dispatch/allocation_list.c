/* SPDX-License-Identifier: MIT */
#include "base/refusal.h"
#include "dispatch/allocation_list.h"
#include "object/memory/residency.h"

void allocation_list_put(struct allocation_list *list)
{
	while (list->count > 0)
		object_put(&list->allocations[--list->count]->object);
}

NTSTATUS allocation_list_decode(struct call *call, struct dxg_device *device, const char *name,
				const D3DKMT_HANDLE *client_handles, const char *count_name,
				uint32_t count, struct allocation_list *list)
{
	NTSTATUS status = call_check_list(name, client_handles, count_name, count);

	if (!NT_SUCCESS(status) || count == 0)
		return status;
	list->allocations = call_take_buffer(call, (uint64_t)count * sizeof(*list->allocations));
	if (!list->allocations)
		return STATUS_NO_MEMORY;
	for (; list->count < count; list->count++) {
		status = call_find_allocation(call, device, name, list->count,
					      client_read_u32(client_handles, list->count),
					      &list->allocations[list->count]);
		if (!NT_SUCCESS(status)) {
			allocation_list_put(list);
			return status;
		}
	}
	return STATUS_SUCCESS;
}

/* What a resource holds now. */
NTSTATUS allocation_list_of_resource(struct call *call, struct dxg_resource *resource,
				     struct allocation_list *list)
{
	struct dxg_device *device = resource->device;

	lock_acquire(&device->lock);
	uint32_t capacity = resource->allocation_count;
	lock_release(&device->lock);
	list->allocations = call_take(call, (uint64_t)capacity * sizeof(*list->allocations));
	if (!list->allocations)
		return STATUS_NO_MEMORY;
	lock_acquire(&device->lock);
	list_each (struct dxg_allocation, allocation, &resource->allocations, owner_link) {
		if (list->count == capacity) /* somebody adds at the same time; those come later */
			break;
		object_get(&allocation->object);
		list->allocations[list->count++] = allocation;
	}
	lock_release(&device->lock);
	return STATUS_SUCCESS;
}

/* Nothing is scanned out: that they are there when it runs is all there is to it. */
NTSTATUS allocation_list_check_primaries(const struct call *call, const struct dxg_device *device,
					 const D3DKMT_HANDLE *handles, uint32_t count)
{
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++) {
		struct dxg_allocation *primary;

		status = call_find_allocation(call, device, "WrittenPrimaries", i, handles[i],
					      &primary);
		if (!NT_SUCCESS(status))
			break;
		if (!residency_is_counted(primary))
			status = invalid_item(RULE_MM_LIST_RESIDENT, "WrittenPrimaries", i,
					      "was not made resident");
		object_put(&primary->object);
	}
	return status;
}
