/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/notice.h"
#include "base/refusal.h"
#include "miniport/allocations.h"
#include "object/memory/residency.h"

NTSTATUS residency_bindings(struct dxg_allocation *const allocations[], uint32_t count,
			    struct vidmm_binding *bindings[])
{
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		status = allocation_binding(allocations[i], &bindings[i]);
	return status;
}

bool residency_is_counted(struct dxg_allocation *allocation)
{
	struct vidmm_binding *binding = atomic_load(&allocation->binding);

	/* That of one which is being destroyed has no device. */
	return binding && binding->device && vidmm_binding_count(binding) > 0;
}

/* ---- a request of the manager as an operation of a queue ---- */

struct move {
	struct paging_operation operation;
	struct vidmm_request request;
};

static void move_free(struct paging_operation *operation)
{
	mem_free(container_of(operation, struct move, operation));
}

/* The call has said that it will be there: there is no other way left to say that it is not. */
static void move_done(struct vidmm_request *request, NTSTATUS status)
{
	struct paging_operation *operation =
		&container_of(request, struct move, request)->operation;

	if (!NT_SUCCESS(status))
		device_lose(operation->queue->device, DEVICE_OUT_OF_MEMORY, NULL);
	paging_operation_over(operation);
}

static NTSTATUS move_create(struct dxg_paging_queue *queue, struct move **move_out)
{
	struct move *move = mem_zalloc(sizeof(*move));

	if (!move)
		return refuse_no_memory("no memory for an operation of a paging queue");
	NTSTATUS status = paging_operation_init(&move->operation, queue, move_free);
	if (!NT_SUCCESS(status)) {
		mem_free(move);
		return status;
	}
	move->request.done = move_done;
	*move_out = move;
	return STATUS_SUCCESS;
}

/* After the manager has answered. */
static NTSTATUS move_settle(struct move *move, NTSTATUS status, uint64_t *fence_value_out)
{
	if (status == STATUS_PENDING) {
		*fence_value_out = paging_queue_add(&move->operation);
		return status;
	}
	/* It could not be brought in: whoever loses the device for that may not be there yet. */
	if (status == STATUS_DEVICE_REMOVED)
		device_lose(move->operation.queue->device, DEVICE_OUT_OF_MEMORY, NULL);
	paging_operation_abandon(&move->operation);
	mem_free(move);
	return status;
}

/* ---- make resident ---- */

static uint64_t bytes_of(const struct residency_request *request)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->count; i++)
		bytes += request->bindings[i]->allocation->size_bytes;
	return bytes;
}

NTSTATUS residency_make(struct dxg_paging_queue *queue, const struct residency_request *request,
			uint64_t *fence_value_out, uint64_t *bytes_to_trim_out)
{
	struct dxg_device *device = queue->device;
	NTSTATUS status = device_check_alive(device);

	*fence_value_out = 0;
	*bytes_to_trim_out = 0;
	if (!NT_SUCCESS(status) || request->count == 0)
		return status;
	if (LIKELY(vidmm_count_resident(&device->memory, request->bindings, request->count)))
		return STATUS_SUCCESS;
	struct move *move = NULL;
	status = move_create(queue, &move);
	if (!move) {
		*bytes_to_trim_out = bytes_of(request);
		return status;
	}
	status = vidmm_make_resident(&device->memory, request->bindings, request->count,
				     request->cant_trim_further ? VIDMM_CANT_TRIM_FURTHER : 0,
				     &move->request, bytes_to_trim_out);
	return move_settle(move, status, fence_value_out);
}

void residency_had_to_succeed(struct dxg_paging_queue *queue)
{
	device_lose(queue->device, DEVICE_OUT_OF_MEMORY, NULL);
}

/* ---- offer ---- */

/* What this call offered is taken back. */
static void offer_undo(const struct residency_offer *offer, uint32_t count)
{
	while (count-- > 0) {
		if (!offer->notes[count].was_offered)
			vidmm_unoffer(offer->bindings[count]);
	}
}

static RARE NTSTATUS offer_refuse(const struct residency_offer *offer, uint32_t index,
				  const char *obstacle)
{
	/* Another thread may have unlocked it since. */
	return invalid_item(RULE_MM_OFFER_IN_USE, offer->list_name,
			    offer->element_of ? offer->element_of[index] : index,
			    "is %s and cannot be offered", obstacle ? obstacle : "in use");
}

static NTSTATUS offer_alone(const struct residency_offer *offer)
{
	NTSTATUS status = vidmm_binding_offer(offer->bindings[0], offer->priority,
					      offer->may_decommit, offer->is_immediate);

	return status == STATUS_INVALID_PARAMETER
		       ? offer_refuse(offer, 0, vidmm_offer_obstacle(offer->bindings[0]))
		       : status;
}

/* All of it has what it needs for that. */
static NTSTATUS offer_list(struct dxg_device *device, const struct residency_offer *offer)
{
	NTSTATUS status = STATUS_SUCCESS;
	uint32_t done = 0;

	while (done < offer->count) {
		status = vidmm_binding_offer_of_list(offer->bindings[done], offer->priority,
						     offer->may_decommit, offer->is_immediate,
						     &offer->notes[done]);
		if (!NT_SUCCESS(status))
			break;
		done++;
	}
	if (!NT_SUCCESS(status))
		offer_undo(offer, done);
	if (done > 0)
		vidmm_offer_let_go(offer->bindings, offer->notes, done, offer->is_immediate);
	/* Another thread locked it in between. */
	return status == STATUS_INVALID_PARAMETER
		       ? offer_refuse(offer, done, vidmm_offer_obstacle(offer->bindings[done]))
		       : status;
}

NTSTATUS residency_offer(struct dxg_device *device, const struct residency_offer *offer)
{
	NTSTATUS status = STATUS_SUCCESS;

	/* One is all or nothing by itself. */
	if (offer->count == 1)
		return offer_alone(offer);
	for (uint32_t i = 0; i < offer->count; i++) {
		const char *obstacle = vidmm_offer_obstacle(offer->bindings[i]);
		if (obstacle)
			return offer_refuse(offer, i, obstacle);
	}
	for (uint32_t i = 0; NT_SUCCESS(status) && i < offer->count; i++)
		status = vidmm_offer_prepare(offer->bindings[i], offer->may_decommit,
					     offer->is_immediate);
	return NT_SUCCESS(status) ? offer_list(device, offer) : status;
}

/* ---- reclaim ---- */

NTSTATUS residency_reclaim(struct dxg_paging_queue *queue, struct vidmm_binding *const bindings[],
			   uint32_t count, enum vidmm_reclaim_result results[],
			   uint64_t *fence_value_out)
{
	*fence_value_out = 0;
	if (count == 0)
		return STATUS_SUCCESS;
	if (vidmm_reclaim_untouched(bindings, count, results))
		return STATUS_SUCCESS;
	struct move *move = NULL;
	NTSTATUS status = move_create(queue, &move);
	if (!move)
		return status;
	status = vidmm_reclaim_bindings(&queue->device->memory, bindings, count, results,
					&move->request);
	return move_settle(move, status, fence_value_out);
}

NTSTATUS residency_reclaim_now(struct dxg_device *device, struct vidmm_binding *const bindings[],
			       uint32_t count, enum vidmm_reclaim_result results[])
{
	if (count == 0)
		return STATUS_SUCCESS;
	NTSTATUS status = vidmm_reclaim_now(&device->memory, bindings, count, results);
	if (status == STATUS_DEVICE_REMOVED)
		device_lose(device, DEVICE_OUT_OF_MEMORY, NULL);
	/* Lost while this waited, it may have got nothing back. */
	return NT_SUCCESS(status) || status == STATUS_DEVICE_REMOVED ? device_check_alive(device)
								     : status;
}

/* ---- properties ---- */

static uint32_t all_segments(const struct miniport_info *info)
{
	uint32_t count = info->segment_count + (info->implicit_system_segment_id != 0);

	return count < 32 ? (UINT32_C(1) << count) - 1 : UINT32_MAX;
}

static NTSTATUS check_segments(const struct miniport_info *info, const struct vidmm_update *update)
{
	uint32_t all = all_segments(info);
	uint32_t set = update->supported_segments;

	if (update->sets_supported_segments && (set == 0 || (set & ~all) != 0))
		return invalid(RULE_API_VALUE, "SupportedSegmentSet",
			       "is 0x%x, and the segments are 0x%x", set, all);
	return STATUS_SUCCESS;
}

/* Unmoveable is the memory manager's business, and no bit of the driver's. */
static NTSTATUS ask_driver(struct dxg_device *device, const struct dxg_allocation *allocation,
			   const struct vidmm_update *update)
{
	const struct miniport_property_update asked = {
		.driver_allocation = allocation->body->driver_allocation,
		.sets_supported_segments = update->sets_supported_segments,
		.sets_preferred_segments = update->sets_preferred_segments,
		.sets_accessed_physically = update->sets_accessed_physically,
		.supported_segments = update->supported_segments,
		.preferred_segments = update->preferred_segments,
		.is_accessed_physically = update->is_accessed_physically,
	};
	NTSTATUS status = adapter_enter(device->adapter);

	if (!NT_SUCCESS(status))
		return status;
	status = miniport_validate_update(device->adapter->miniport,
					  device->process_adapter->client, &asked);
	adapter_leave(device->adapter);
	return status;
}

static NTSTATUS update_start(struct dxg_paging_queue *queue, struct vidmm_binding *binding,
			     const struct vidmm_update *update, uint64_t *fence_value_out)
{
	struct move *move = NULL;
	NTSTATUS status = move_create(queue, &move);

	if (!move)
		return status;
	status = vidmm_update_anywhere(binding, update, &move->request);
	return move_settle(move, status, fence_value_out);
}

NTSTATUS residency_update(struct dxg_paging_queue *queue, struct dxg_allocation *allocation,
			  const struct vidmm_update *update, uint64_t *fence_value_out)
{
	struct vidmm_binding *binding;
	NTSTATUS status = device_check_alive(queue->device);

	*fence_value_out = 0;
	if (NT_SUCCESS(status))
		status = check_segments(queue->device->adapter->info, update);
	if (NT_SUCCESS(status))
		status = allocation_binding(allocation, &binding);
	if (NT_SUCCESS(status))
		status = ask_driver(queue->device, allocation, update);
	if (NT_SUCCESS(status))
		status = update_start(queue, binding, update, fence_value_out);
	return status;
}

/* ---- all that moves ---- */

struct drain {
	struct sched_wait wait;
	struct notice over;
	_Atomic bool is_over;
};

static void drain_over(struct sched_wait *wait)
{
	struct drain *drain = container_of(wait, struct drain, wait);

	atomic_store(&drain->is_over, true);
	notice_give(&drain->over);
}

void residency_drain(struct dxg_adapter *adapter)
{
	struct drain drain = { .wait.over = drain_over };

	pager_after_all(adapter->pager, &drain.wait);
	notice_wait_until(&drain.over, &drain.is_over);
}
