/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/refusal.h"
#include "object/submit/hw_gate.h"
#include "object/submit/work_target.h"

NTSTATUS work_validate(struct dxg_device *device, const struct miniport_validation *validation)
{
	if (validation->client_private_bytes == 0)
		return STATUS_SUCCESS;
	NTSTATUS status = adapter_enter(device->adapter);
	if (!NT_SUCCESS(status))
		return status;
	status = miniport_validate_submission(device->adapter->miniport,
					      device->process_adapter->client, validation);
	adapter_leave(device->adapter);
	return status;
}

void work_target_hold(const struct work_target *target)
{
	vidmm_device_wake(&target->device->memory);
	vidmm_work_set_hold(&target->memory->set);
	vidmm_work_set_hold(&target->device->driver_memory.set);
}

void work_target_release(const struct work_target *target)
{
	vidmm_work_set_release(&target->device->driver_memory.set);
	vidmm_work_set_release(&target->memory->set);
}

static NTSTATUS queued(struct dxg_device *device, NTSTATUS status)
{
	if (NT_SUCCESS(status))
		return status;
	if (atomic_load(&device->process->is_dying))
		return refuse(STATUS_PROCESS_IS_TERMINATING, RULE_API_PROCESS_ENDING, NULL,
			      "the process ends");
	return status;
}

NTSTATUS work_target_queue(const struct work_target *target, struct sched_packet *packet)
{
	struct dxg_device *device = target->device;
	NTSTATUS status = device_check_alive(device);

	if (!NT_SUCCESS(status))
		return status;
	work_target_hold(target);
	if (target->hw_queue)
		status = hw_gate_enter(target->hw_queue);
	/* A wait may be one that the calling thread ends later, and what is behind it stays. */
	if (NT_SUCCESS(status) && target->hw_work && packet->kind == SCHED_WAIT)
		status = hw_gate_wait(target->hw_work, target->queue, packet);
	else if (NT_SUCCESS(status))
		status = sched_queue_submit(target->queue, packet, packet->kind == SCHED_WORK);
	if (NT_SUCCESS(status))
		vidmm_device_has_work(&device->memory);
	work_target_release(target);
	return queued(device, status);
}

NTSTATUS work_targets_queue(const struct work_target *targets, struct sched_packet *const packets[],
			    uint32_t count)
{
	struct dxg_device *device = targets[0].device;
	struct sched_queue *queues[WORK_TARGETS_MAX];
	NTSTATUS status = device_check_alive(device);

	if (!NT_SUCCESS(status))
		return status;
	assert(count > 0 && count <= WORK_TARGETS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		queues[i] = targets[i].queue;
		work_target_hold(&targets[i]);
	}
	status = sched_queues_submit(queues, packets, count);
	if (NT_SUCCESS(status))
		vidmm_device_has_work(&device->memory);
	for (uint32_t i = 0; i < count; i++)
		work_target_release(&targets[i]);
	return queued(device, status);
}

void work_target_emptied(const struct work_target *target)
{
	vidmm_work_set_look(&target->memory->set);
	vidmm_work_set_look(&target->device->driver_memory.set);
}
