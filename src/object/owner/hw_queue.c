/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/work.h"
#include "object/ending/endings.h"
#include "object/owner/context.h"
#include "object/memory/gpu_addresses.h"
#include "object/owner/hw_context.h"
#include "object/owner/hw_queue.h"
#include "trace/trace.h"

/* ---- its stages (endings.h) ---- */

static void end_work(struct dxg_hw_queue *queue)
{
	sched_queue_finish(&queue->queue, device_work_ending(queue->device));
}

static void end_fence(struct dxg_hw_queue *queue)
{
	(void)!sync_object_destroy(queue->fence);
	fence_end(&queue->body->fence);
}

static void end_handle(struct dxg_hw_queue *subject)
{
	ENDING_OF_HW_QUEUE_HANDLE(ENDING_CALL)
	object_put(&subject->object);
}

static void tell_driver_of_end(struct dxg_hw_queue *queue)
{
	const struct dxg_device *device = queue->device;

	adapter_enter_to_release(device->adapter);
	miniport_destroy_hw_queue(device->adapter->miniport, device->process_adapter->client,
				  queue->driver_queue);
	adapter_leave(device->adapter);
}

static void give_back(struct dxg_hw_queue *queue)
{
	struct object *parent = queue->parent->object;

	trace_hw_queue_destroy(queue->device->process->id, queue->object.handle);
	share_put(&queue->body->share);
	mem_free(queue);
	object_put(parent);
}

static void hw_queue_finish(struct object *object)
{
	struct dxg_hw_queue *subject = object_as(hw_queue, object);

	ENDING_OF_HW_QUEUE(ENDING_CALL)
}

const struct object_class hw_queue_class = { "a hardware queue", hw_queue_finish };

/* ---- create ---- */

static NTSTATUS tell_driver(struct dxg_hw_queue *queue, const struct hw_queue_options *options)
{
	struct dxg_device *device = queue->device;
	const struct miniport_hw_queue_desc desc = {
		.kernel_handle = queue,
		.driver_context = queue->parent->driver_context,
		.is_hw_context = queue->parent->is_hw_context,
		.private_data = options->private_data,
		.private_bytes = options->private_bytes,
		.flags = options->flags,
		.progress_fence = queue->fence->object.handle,
		.fence_gpu_address = queue->fence->gpu_address,
		.fence_pointer = (void *)queue->body->slot.value,
	};
	NTSTATUS status = adapter_enter(device->adapter);

	if (!NT_SUCCESS(status))
		return status;
	status =
		miniport_create_hw_queue(device->adapter->miniport, device->process_adapter->client,
					 &desc, &queue->driver_queue);
	adapter_leave(device->adapter);
	return status;
}

static void hw_queue_emptied(struct sched_queue *queue)
{
	struct dxg_hw_queue *hw_queue = container_of(queue, struct dxg_hw_queue, queue);
	const struct work_target target = hw_queue_target(hw_queue);

	work_target_emptied(&target);
	if (device_state(hw_queue->device) != DEVICE_ACTIVE)
		fence_end(&hw_queue->body->fence);
}

static void begin_queue(struct dxg_hw_queue *queue)
{
	const struct sched_hw_identity identity = {
		.progress = queue->body->slot.value,
		.queue_names = { queue, queue->driver_queue },
		.context_names = { queue->parent->object, queue->parent->driver_context },
	};

	sched_hw_queue_init(&queue->queue, &queue->device->work, queue->parent->node, &identity);
	queue->queue.emptied = hw_queue_emptied;
}

/* The last step of making it: from here on others find it. */
static NTSTATUS join_parent(struct dxg_hw_queue *queue)
{
	struct dxg_device *device = queue->device;
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&device->lock);
	if (device->is_dying || queue->parent->is_ending)
		status = invalid(RULE_API_HANDLE, "hHwContext",
				 "0x%08x was destroyed during the call",
				 queue->parent->object->handle);
	else
		status = device_check_alive(device); /* or hw_queue_device_lost() misses it */
	if (NT_SUCCESS(status)) {
		trace_hw_queue_create(device->process->id, queue->object.handle,
				      queue->parent->object->handle, queue->fence->object.handle);
		sched_queue_name(&queue->queue, device->process->id, queue->object.handle,
				 "hardware queue");
		owned_publish_locked(&device->lock, &queue->parent->queues, &queue->owned);
	}
	lock_release(&device->lock);
	return status;
}

/* The page tables are held: the driver may want to map memory for the queue. */
static NTSTATUS hw_queue_make(struct hw_queue_parent *parent,
			      const struct hw_queue_options *options,
			      struct dxg_hw_queue **queue_out)
{
	struct dxg_device *device = parent->device;
	struct dxg_hw_queue *queue = mem_zalloc(sizeof(*queue));

	if (!queue)
		return refuse_no_memory("no memory for a hardware queue");
	NTSTATUS status = object_init(&queue->object, &hw_queue_class, &device->process->handles);
	if (!NT_SUCCESS(status)) {
		refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a hardware queue handle");
		goto free_queue;
	}
	queue->parent = parent;
	queue->device = device;
	queue->has_no_gpu_timeout = options->has_no_gpu_timeout || parent->has_no_gpu_timeout;
	owned_init(&queue->owned, &queue->object);
	status = sync_object_create_of_queue(queue->device, true, &queue->fence, &queue->body);
	if (!NT_SUCCESS(status))
		goto give_back_number;
	status = tell_driver(queue, options);
	if (!NT_SUCCESS(status))
		goto give_back_fence;
	begin_queue(queue);
	object_get(parent->object);
	status = join_parent(queue);
	if (!NT_SUCCESS(status)) {
		end_handle(queue); /* tells the driver, gives back the context */
		return status;
	}
	*queue_out = queue;
	return STATUS_SUCCESS;

give_back_fence:
	end_fence(queue);
	share_put(&queue->body->share);
give_back_number:
	object_abandon(&queue->object);
free_queue:
	mem_free(queue);
	return status;
}

NTSTATUS hw_queue_create(struct hw_queue_parent *parent, const struct hw_queue_options *options,
			 struct dxg_hw_queue **queue_out)
{
	struct process_adapter *process_adapter = parent->device->process_adapter;
	NTSTATUS status = device_check_alive(parent->device);

	if (NT_SUCCESS(status))
		status = gpu_addresses_hold(process_adapter);
	if (!NT_SUCCESS(status))
		return status;
	status = hw_queue_make(parent, options, queue_out);
	gpu_addresses_release(process_adapter);
	return status;
}

/* ---- destroy ---- */

bool hw_queue_destroy(struct dxg_hw_queue *queue)
{
	if (!object_retire(&queue->object))
		return false;
	owned_leave(&queue->device->lock, &queue->owned);
	end_handle(queue);
	return true;
}

static bool destroy_owned(struct object *object)
{
	return hw_queue_destroy(object_as(hw_queue, object));
}

void hw_queue_destroy_all(struct hw_queue_parent *parent)
{
	struct dxg_device *device = parent->device;

	lock_acquire(&device->lock);
	parent->is_ending = true;
	lock_release(&device->lock);
	owned_end_all(&device->lock, &parent->queues, destroy_owned);
	hw_suspension_end(&parent->suspension);
}

uint32_t hw_queue_targets(struct hw_queue_parent *parent, struct work_target *targets,
			  struct object **holders, uint32_t capacity)
{
	uint32_t count = 0;

	lock_acquire(&parent->device->lock);
	list_each (struct dxg_hw_queue, queue, &parent->queues, owned.link) {
		if (count < capacity) {
			object_get(&queue->object);
			targets[count] = hw_queue_target(queue);
			targets[count].may_be_gone = true;
			holders[count] = &queue->object;
		}
		count++;
	}
	lock_release(&parent->device->lock);
	return count;
}

/* ---- a lost device ---- */

static struct dxg_hw_queue *unlost_of_locked(struct hw_queue_parent *parent)
{
	lock_assert_held(&parent->device->lock);
	list_each (struct dxg_hw_queue, queue, &parent->queues, owned.link) {
		if (!queue->is_lost)
			return queue;
	}
	return NULL;
}

/*
 * The fence of one that was not seen yet, with a reference. None on the queue: whoever destroys it is
 * to be the last who has it.
 */
static struct sync_body *next_unlost(struct dxg_device *device, bool *is_empty_out)
{
	struct dxg_hw_queue *queue = NULL;
	struct sync_body *body = NULL;

	lock_acquire(&device->lock);
	list_each (struct dxg_hw_context, each, &device->hw_contexts, owned.link) {
		if (!queue)
			queue = unlost_of_locked(&each->hw_queues);
	}
	list_each (struct dxg_context, each, &device->contexts, owned.link) {
		if (!queue)
			queue = unlost_of_locked(&each->hw_queues);
	}
	if (queue) {
		queue->is_lost = true;
		*is_empty_out = sched_queue_length(&queue->queue) == 0;
		body = queue->body;
		share_get(&body->share);
	}
	lock_release(&device->lock);
	return body;
}

void hw_queue_device_lost(struct dxg_device *device)
{
	struct sync_body *body;
	bool is_empty;

	assert(device_state(device) != DEVICE_ACTIVE);
	while ((body = next_unlost(device, &is_empty)) != NULL) {
		/* Otherwise hw_queue_emptied() comes, and does it. */
		if (is_empty)
			fence_end(&body->fence);
		share_put(&body->share);
	}
}

/* ---- work ---- */

struct hw_submission {
	struct sched_packet packet;
	struct dxg_hw_queue *queue; /* outlives its packets */
	uint64_t gpu_address;
	uint32_t size_bytes;
	uint32_t private_bytes;
	_Alignas(max_align_t) unsigned char private_data[];
};

static struct hw_submission *submission_of(struct sched_packet *packet)
{
	return container_of(packet, struct hw_submission, packet);
}

static NTSTATUS submission_submit(struct sched_packet *packet, const struct sched_submission *how)
{
	struct hw_submission *submission = submission_of(packet);
	const struct dxg_hw_queue *queue = submission->queue;
	const struct miniport_hw_submission what = {
		.driver_queue = queue->driver_queue,
		.progress_fence_value = packet->progress,
		.gpu_address = submission->gpu_address,
		.size_bytes = submission->size_bytes,
		.private_data = submission->private_bytes ? submission->private_data : NULL,
		.private_bytes = submission->private_bytes,
		.fence_gpu_address = queue->fence->gpu_address,
		.fence_pointer = (void *)queue->body->slot.value,
	};

	hw_suspension_before_work(&queue->parent->suspension);
	return miniport_submit_to_hw_queue(queue->device->adapter->miniport, &what);
}

static void submission_free(struct hw_submission *submission)
{
	work_discharge(submission->queue->device, sizeof(*submission) + submission->private_bytes);
	mem_free(submission);
}

static void submission_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	submission_free(submission_of(packet));
}

static const struct sched_packet_ops submission_ops = {
	.submit = submission_submit,
	.retired = submission_retired,
};

static NTSTATUS validate(struct hw_submission *submission)
{
	struct dxg_hw_queue *queue = submission->queue;
	const struct miniport_validation validation = {
		.targets = &queue->driver_queue,
		.target_count = 1,
		.is_for_hw_queues = true,
		.progress_fence_value = submission->packet.progress,
		.gpu_address = submission->gpu_address,
		.size_bytes = submission->size_bytes,
		.private_data = submission->private_data,
		.private_bytes = submission->private_bytes,
		.client_private_bytes = submission->private_bytes,
	};

	return work_validate(queue->device, &validation);
}

NTSTATUS hw_queue_submit(struct dxg_hw_queue *queue, const struct hw_submission_request *request)
{
	const struct work_target target = hw_queue_target(queue);
	uint64_t size_bytes = sizeof(struct hw_submission) + (uint64_t)request->private_bytes;
	NTSTATUS status = work_charge(queue->device, size_bytes);

	if (!NT_SUCCESS(status))
		return status;
	struct hw_submission *submission = mem_zalloc(size_bytes);
	if (!submission) {
		work_discharge(queue->device, size_bytes);
		return refuse_no_memory("no memory for a submission");
	}
	submission->packet.kind = SCHED_WORK;
	submission->packet.ops = &submission_ops;
	submission->packet.is_never_late = queue->has_no_gpu_timeout;
	submission->packet.progress = request->progress;
	submission->queue = queue;
	submission->gpu_address = request->gpu_address;
	submission->size_bytes = request->size_bytes;
	submission->private_bytes = request->private_bytes;
	if (request->private_bytes)
		memcpy(submission->private_data, request->private_data, request->private_bytes);
	status = validate(submission);
	if (NT_SUCCESS(status))
		status = work_target_queue(&target, &submission->packet);
	if (!NT_SUCCESS(status))
		submission_free(submission);
	return status;
}
