/* SPDX-License-Identifier: MIT */
/*
 * offer_calls.c - content that may be thrown away, and whether it was.
 */
#include "dispatch/allocation_list.h"
#include "dispatch/dispatch.h"
#include "object/memory/residency.h"

/*
 * What a call names: allocations, or resources with all of theirs. element_of[i] says to which
 * element of the client's list the i-th allocation belongs; without it, to the i-th.
 */
struct target_list {
	uint32_t count;
	struct allocation_list *parts; /* one per resource; one in all for allocations */
	struct allocation_list whole;  /* that one */
	uint32_t part_count;
	struct vidmm_binding **bindings;
	uint32_t *element_of;
};

static void targets_put(struct target_list *targets)
{
	while (targets->part_count > 0)
		allocation_list_put(&targets->parts[--targets->part_count]);
}

static NTSTATUS find_resources(struct call *call, struct dxg_device *device,
			       const D3DKMT_HANDLE *client_handles, uint32_t count,
			       struct target_list *targets)
{
	void *handles;
	NTSTATUS status = call_copy_list(call, "pResources", client_handles, "NumAllocations",
					 count, sizeof(D3DKMT_HANDLE), &handles);

	if (!NT_SUCCESS(status) || !handles) /* an empty list */
		return status;
	targets->parts = call_take(call, (uint64_t)count * sizeof(*targets->parts));
	if (!targets->parts)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++) {
		struct dxg_resource *resource;
		status = call_find_resource(call, device, "pResources", i,
					    ((const D3DKMT_HANDLE *)handles)[i],
					    STATUS_INVALID_PARAMETER, &resource);
		if (!NT_SUCCESS(status))
			break;
		status = allocation_list_of_resource(call, resource, &targets->parts[i]);
		object_put(&resource->object);
		if (NT_SUCCESS(status))
			targets->part_count++;
	}
	return status;
}

static NTSTATUS find_allocations(struct call *call, struct dxg_device *device,
				 const D3DKMT_HANDLE *handles, uint32_t count,
				 struct target_list *targets)
{
	targets->parts = &targets->whole;
	NTSTATUS status = allocation_list_decode(call, device, "HandleList", handles,
						 "NumAllocations", count, targets->parts);
	if (NT_SUCCESS(status))
		targets->part_count = 1;
	return status;
}

/* Which element each came from, where that is not one for one. */
static bool flatten_elements(struct call *call, uint64_t total, struct target_list *targets)
{
	uint32_t at = 0;

	targets->element_of = call_take_buffer(call, total * sizeof(*targets->element_of));
	if (!targets->element_of)
		return false;
	for (uint32_t i = 0; i < targets->part_count; i++) {
		for (uint32_t j = 0; j < targets->parts[i].count; j++)
			targets->element_of[at++] = i;
	}
	return true;
}

static NTSTATUS flatten(struct call *call, bool is_by_resource, struct target_list *targets)
{
	NTSTATUS status = STATUS_SUCCESS;
	uint64_t total = 0;

	for (uint32_t i = 0; i < targets->part_count; i++)
		total += targets->parts[i].count;
	if (total == 0)
		return STATUS_SUCCESS;
	targets->bindings = call_take_buffer(call, total * sizeof(*targets->bindings));
	if (!targets->bindings || (is_by_resource && !flatten_elements(call, total, targets)))
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; NT_SUCCESS(status) && i < targets->part_count; i++) {
		const struct allocation_list *part = &targets->parts[i];
		status = residency_bindings(part->allocations, part->count,
					    targets->bindings + targets->count);
		targets->count += part->count;
	}
	return status;
}

static NTSTATUS decode_targets(struct call *call, struct dxg_device *device,
			       const D3DKMT_HANDLE *resources, const D3DKMT_HANDLE *handles,
			       uint32_t count, struct target_list *targets)
{
	if (resources && handles)
		return invalid(RULE_API_VALUE, "HandleList", "is given together with pResources");
	if (!resources && !handles)
		return invalid(RULE_API_NULL_ARGUMENT, "HandleList",
			       "is NULL, and so is pResources");
	if (count == 0)
		return invalid(RULE_API_COUNT, "NumAllocations", "is 0");
	NTSTATUS status = resources ? find_resources(call, device, resources, count, targets)
				    : find_allocations(call, device, handles, count, targets);
	if (NT_SUCCESS(status))
		status = flatten(call, resources != NULL, targets);
	if (!NT_SUCCESS(status))
		targets_put(targets);
	return status;
}

/* ---- offer ---- */

NTSTATUS dispatch_offer_allocations(struct call *call, D3DKMT_OFFERALLOCATIONS *args)
{
	struct dxg_device *device = call_device(call, 0);
	struct target_list targets = { 0 };
	uint32_t priority = (uint32_t)args->Priority;

	if (priority < VIDMM_OFFER_LOW || priority > VIDMM_OFFER_AUTO)
		return invalid(RULE_API_VALUE, "Priority", "is %u, not 1 to 4", priority);
	NTSTATUS status = device_check_alive(device);
	if (NT_SUCCESS(status))
		status = decode_targets(call, device, args->pResources, args->HandleList,
					args->NumAllocations, &targets);
	if (!NT_SUCCESS(status))
		return status;
	const struct residency_offer offer = {
		.bindings = targets.bindings,
		.count = targets.count,
		.priority = (enum vidmm_offer_priority)priority,
		.may_decommit = args->Flags.AllowDecommit,
		.is_immediate = args->Flags.OfferImmediately,
		.notes = call_take_buffer(call, (uint64_t)targets.count *
							sizeof(struct vidmm_offer_note)),
		.list_name = args->pResources ? "pResources" : "HandleList",
		.element_of = targets.element_of,
	};
	status = offer.notes ? residency_offer(device, &offer) : STATUS_NO_MEMORY;
	targets_put(&targets);
	return status;
}

/* ---- reclaim ---- */

/* What both calls have in common: the list, and room for what became of each. */
static NTSTATUS decode_reclaim(struct call *call, struct dxg_device *device,
			       const D3DKMT_HANDLE *resources, const D3DKMT_HANDLE *handles,
			       uint32_t count, struct target_list *targets,
			       enum vidmm_reclaim_result **results_out)
{
	NTSTATUS status = device_check_alive(device);

	if (NT_SUCCESS(status))
		status = decode_targets(call, device, resources, handles, count, targets);
	if (!NT_SUCCESS(status))
		return status;
	*results_out = call_take_buffer(call, (uint64_t)targets->count * sizeof(**results_out));
	if (!*results_out) {
		targets_put(targets);
		return STATUS_NO_MEMORY;
	}
	return STATUS_SUCCESS;
}

/* A resource is as well off as the worst of its allocations, and well off without any. */
static void hand_back_results(void *client, uint32_t elements, const struct target_list *targets,
			      const enum vidmm_reclaim_result *results)
{
	if (!client)
		return;
	if (targets->parts == &targets->whole) {
		for (uint32_t i = 0; i < targets->count; i++)
			client_write_u32(client, i, (uint32_t)results[i]);
		return;
	}
	for (uint32_t i = 0; i < elements; i++)
		client_write_u32(client, i, VIDMM_RECLAIM_OK);
	for (uint32_t i = 0; i < targets->count; i++) {
		uint32_t element = targets->element_of[i];
		if ((uint32_t)results[i] > client_read_u32(client, element))
			client_write_u32(client, element, (uint32_t)results[i]);
	}
}

NTSTATUS dispatch_reclaim_allocations2(struct call *call, D3DKMT_RECLAIMALLOCATIONS2 *args)
{
	struct dxg_paging_queue *queue = object_as(paging_queue, call->objects[0]);
	struct target_list targets = { 0 };
	enum vidmm_reclaim_result *results;
	uint64_t fence_value = 0;
	NTSTATUS status = decode_reclaim(call, queue->device, args->pResources, args->HandleList,
					 args->NumAllocations, &targets, &results);

	if (!NT_SUCCESS(status))
		return status;
	status = residency_reclaim(queue, targets.bindings, targets.count, results, &fence_value);
	args->PagingFenceValue = fence_value;
	if (NT_SUCCESS(status))
		hand_back_results(args->pResults, args->NumAllocations, &targets, results);
	targets_put(&targets);
	return status;
}

/* As a BOOL says it. */
static void results_become_bools(enum vidmm_reclaim_result *results, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (results[i] != VIDMM_RECLAIM_OK)
			results[i] = VIDMM_RECLAIM_DISCARDED;
	}
}

NTSTATUS dispatch_reclaim_allocations(struct call *call, D3DKMT_RECLAIMALLOCATIONS *args)
{
	struct dxg_device *device = call_device(call, 0);
	struct target_list targets = { 0 };
	enum vidmm_reclaim_result *results;
	NTSTATUS status = decode_reclaim(call, device, args->pResources, args->HandleList,
					 args->NumAllocations, &targets, &results);

	if (!NT_SUCCESS(status))
		return status;
	status = residency_reclaim_now(device, targets.bindings, targets.count, results);
	if (NT_SUCCESS(status)) {
		results_become_bools(results, targets.count);
		hand_back_results(args->pDiscarded, args->NumAllocations, &targets, results);
	}
	targets_put(&targets);
	return status;
}
