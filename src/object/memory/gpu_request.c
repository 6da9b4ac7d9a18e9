/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/refusal.h"
#include "object/memory/gpu_request.h"

/* A new one, and two for one that it is cut out of. */
enum { RANGES_PER_REQUEST = 3 };

static void operation_free(struct paging_operation *operation)
{
	mem_free(operation);
}

static void operation_done(void *context, NTSTATUS status)
{
	(void)status; /* after a reset it goes again; who lost the device by it knows already */
	paging_operation_over(context);
}

NTSTATUS gpu_ranges_check(const struct dxg_device *device, uint32_t count)
{
	return quota_check(device->process->ledger, QUOTA_GPU_RANGES,
			   (uint64_t)count * RANGES_PER_REQUEST);
}

static NTSTATUS operation_create(struct dxg_paging_queue *queue,
				 struct paging_operation **operation_out)
{
	NTSTATUS status = device_check_alive(queue->device);

	if (!NT_SUCCESS(status))
		return status;
	if (!queue->device->process_adapter->addresses)
		return refuse(STATUS_NOT_SUPPORTED, RULE_VA_NO_TABLES, NULL,
			      "adapter %u has no page tables of its own",
			      queue->device->adapter->id);
	status = gpu_ranges_check(queue->device, 1);
	if (!NT_SUCCESS(status))
		return status;
	*operation_out = mem_zalloc(sizeof(**operation_out));
	if (!*operation_out)
		return refuse_no_memory("no memory for an operation of a paging queue");
	status = paging_operation_init(*operation_out, queue, operation_free);
	if (!NT_SUCCESS(status)) {
		mem_free(*operation_out);
		*operation_out = NULL;
	}
	return status;
}

/* It was started, or there was nothing to start. */
static NTSTATUS operation_add(struct paging_operation *operation, NTSTATUS status,
			      struct gpu_answer *answer)
{
	answer->fence_value = 0;
	if (status == STATUS_PENDING) {
		answer->fence_value = paging_queue_add(operation);
		return status;
	}
	paging_operation_abandon(operation);
	mem_free(operation);
	return status;
}

NTSTATUS gpu_reserve(struct dxg_paging_queue *queue, const struct gpuva_reserve_request *request,
		     struct gpu_answer *answer_out)
{
	struct paging_operation *operation = NULL;
	NTSTATUS status = operation_create(queue, &operation);

	if (!operation)
		return status;
	status = address_space_reserve(queue->device->process_adapter->addresses, request,
				       &(struct space_listener){ operation_done, operation },
				       &answer_out->address);
	return operation_add(operation, status, answer_out);
}

NTSTATUS gpu_map(struct dxg_paging_queue *queue, struct dxg_allocation *allocation,
		 struct gpuva_map_request *request, struct gpu_answer *answer_out)
{
	struct paging_operation *operation = NULL;
	struct space_memory *memory = NULL;
	NTSTATUS status = operation_create(queue, &operation);

	if (!operation)
		return status;
	if (allocation)
		status = allocation_addresses(allocation, &memory);
	if (NT_SUCCESS(status)) {
		request->owner = memory ? &memory->view.owner : NULL;
		request->alignment_pages = address_space_best_alignment(
			queue->device->process_adapter->addresses, request->page_count);
		status = address_space_map(queue->device->process_adapter->addresses, request,
					   &(struct space_listener){ operation_done, operation },
					   &answer_out->address);
	}
	if (memory)
		space_memory_put(memory);
	return operation_add(operation, status, answer_out);
}
