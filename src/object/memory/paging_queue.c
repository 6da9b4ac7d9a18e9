/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "object/ending/endings.h"
#include "object/memory/paging_queue.h"
#include "trace/trace.h"

/* ---- its stages (endings.h) ---- */

static void await_operations(struct dxg_paging_queue *queue)
{
	atomic_store(&queue->is_ending, true);
	notice_give(&queue->ending);
	lock_acquire(&queue->lock);
	while (queue->held > 0)
		notice_wait_relock(&queue->emptied, &queue->lock);
	lock_release(&queue->lock);
}

static void end_fence(struct dxg_paging_queue *queue)
{
	(void)!sync_object_destroy(queue->fence);
}

static void end_handle(struct dxg_paging_queue *subject)
{
	ENDING_OF_PAGING_QUEUE_HANDLE(ENDING_CALL)
	object_put(&subject->object);
}

static void give_back(struct dxg_paging_queue *queue)
{
	struct dxg_device *device = queue->device;

	assert(list_is_empty(&queue->operations));
	trace_paging_queue_destroy(device->process->id, queue->object.handle);
	share_put(&queue->body->share);
	lock_finish(&queue->lock);
	mem_free(queue);
	object_put(&device->object);
}

static void paging_queue_finish(struct object *object)
{
	struct dxg_paging_queue *subject = object_as(paging_queue, object);

	ENDING_OF_PAGING_QUEUE(ENDING_CALL)
}

const struct object_class paging_queue_class = { "a paging queue", paging_queue_finish };

/* ---- create ---- */

NTSTATUS paging_queue_create(struct dxg_device *device, int32_t priority,
			     struct dxg_paging_queue **queue_out)
{
	struct dxg_paging_queue *queue = mem_zalloc(sizeof(*queue));

	if (!queue)
		return refuse_no_memory("no memory for a paging queue");
	NTSTATUS status =
		object_init(&queue->object, &paging_queue_class, &device->process->handles);
	if (!NT_SUCCESS(status)) {
		refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a paging queue handle");
		goto free_queue;
	}
	queue->device = device;
	queue->priority = priority;
	owned_init(&queue->owned, &queue->object);
	list_init(&queue->operations);
	lock_init(&queue->lock, LOCK_RANK_PACKET, "paging queue");
	status = sync_object_create_of_queue(device, false, &queue->fence, &queue->body);
	if (!NT_SUCCESS(status))
		goto give_back_number;
	object_get(&device->object);
	trace_paging_queue_create(device->process->id, queue->object.handle, device->object.handle,
				  queue->fence->object.handle);
	status = device_join(device, &device->paging_queues, &queue->owned);
	if (!NT_SUCCESS(status)) {
		end_handle(queue);
		return status;
	}
	*queue_out = queue;
	return STATUS_SUCCESS;

give_back_number:
	lock_finish(&queue->lock);
	object_abandon(&queue->object);
free_queue:
	mem_free(queue);
	return status;
}

/* ---- destroy ---- */

bool paging_queue_destroy(struct dxg_paging_queue *queue)
{
	if (!object_retire(&queue->object))
		return false;
	owned_leave(&queue->device->lock, &queue->owned);
	end_handle(queue);
	return true;
}

static bool destroy_owned(struct object *object)
{
	return paging_queue_destroy(object_as(paging_queue, object));
}

void paging_queue_destroy_all(struct dxg_device *device)
{
	owned_end_all(&device->lock, &device->paging_queues, destroy_owned);
}

/* ---- operations ---- */

/* What one takes, all in all: its own record, and the memory manager's or the pager's. */
enum { OPERATION_BYTES = 512 };

NTSTATUS paging_operation_init(struct paging_operation *operation, struct dxg_paging_queue *queue,
			       void (*free)(struct paging_operation *operation))
{
	NTSTATUS status =
		quota_take(queue->device->process->ledger, QUOTA_QUEUED_BYTES, OPERATION_BYTES);

	if (!NT_SUCCESS(status))
		return status;
	*operation = (struct paging_operation){ .free = free, .queue = queue };
	list_init(&operation->link);
	/* Whoever ends the queue waits for this one, or has begun to before. */
	lock_acquire(&queue->lock);
	bool is_ending = atomic_load(&queue->is_ending);
	queue->held += !is_ending;
	lock_release(&queue->lock);
	if (!is_ending)
		return STATUS_SUCCESS;
	quota_give(queue->device->process->ledger, QUOTA_QUEUED_BYTES, OPERATION_BYTES);
	return invalid(RULE_API_HANDLE, "hPagingQueue", "0x%08x was destroyed during the call",
		       queue->object.handle);
}

/* Nobody touches the queue behind the last one, who is told under the lock. */
static void let_go_of_queue(struct dxg_paging_queue *queue, uint32_t count)
{
	quota_give(queue->device->process->ledger, QUOTA_QUEUED_BYTES,
		   (uint64_t)count * OPERATION_BYTES);
	lock_acquire(&queue->lock);
	assert(queue->held >= count);
	queue->held -= count;
	if (queue->held == 0)
		notice_give(&queue->emptied);
	lock_release(&queue->lock);
}

void paging_operation_abandon(struct paging_operation *operation)
{
	assert(operation->value == 0);
	let_go_of_queue(operation->queue, 1);
}

/* The oldest ones, as far as they are over; the value that is reached with them, or 0. */
static uint64_t take_over_locked(struct dxg_paging_queue *queue, struct list *over)
{
	uint64_t value = 0;

	lock_assert_held(&queue->lock);
	while (!list_is_empty(&queue->operations)) {
		struct paging_operation *oldest =
			container_of(queue->operations.next, struct paging_operation, link);
		if (!oldest->is_over)
			break;
		list_remove(&oldest->link);
		list_push_back(over, &oldest->link);
		value = oldest->value;
	}
	return value;
}

static uint32_t free_over(struct list *over)
{
	uint32_t count = 0;

	list_drain (struct paging_operation, operation, over, link) {
		operation->free(operation);
		count++;
	}
	return count;
}

/*
 * Shows what is reached. Signalled out of order by two threads, the fence keeps the larger value.
 * Whoever destroys the queue waits for the last value to be shown.
 */
static void show_unlock(struct dxg_paging_queue *queue)
{
	struct list over;

	lock_assert_held(&queue->lock);
	list_init(&over);
	uint64_t value = take_over_locked(queue, &over);
	if (value == 0) {
		lock_release(&queue->lock);
		return;
	}
	lock_release(&queue->lock);
	trace_paging_queue_reached(queue->device->process->id, queue->object.handle, value);
	(void)sync_body_signal(queue->body, value, false);
	let_go_of_queue(queue, free_over(&over));
}

uint64_t paging_queue_add(struct paging_operation *operation)
{
	struct dxg_paging_queue *queue = operation->queue;

	lock_acquire(&queue->lock);
	uint64_t value = ++queue->last_value;
	operation->value = value;
	list_push_back(&queue->operations, &operation->link);
	trace_paging_queue_added(queue->device->process->id, queue->object.handle, value);
	show_unlock(queue);
	return value;
}

void paging_operation_over(struct paging_operation *operation)
{
	struct dxg_paging_queue *queue = operation->queue;

	lock_acquire(&queue->lock);
	operation->is_over = true;
	show_unlock(queue);
}
