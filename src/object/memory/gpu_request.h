/* SPDX-License-Identifier: MIT */
/*
 * gpu_request.h - requests for GPU addresses that a paging queue orders.
 *
 * STATUS_PENDING: `fence_value_out` is the value of the queue's fence from which on the GPU may use
 * the addresses. STATUS_SUCCESS: it may at once, and the value is 0.
 */
#ifndef OBJECT_MEMORY_GPU_REQUEST_H
#define OBJECT_MEMORY_GPU_REQUEST_H

#include "object/memory/gpu_addresses.h"
#include "object/memory/paging_queue.h"

struct gpu_answer {
	uint64_t address;
	uint64_t fence_value;
};

/* May the process have the ranges that so many requests can take? Refused. */
MUST_CHECK NTSTATUS gpu_ranges_check(const struct dxg_device *device, uint32_t count);

MUST_CHECK NTSTATUS gpu_reserve(struct dxg_paging_queue *queue,
				const struct gpuva_reserve_request *request,
				struct gpu_answer *answer_out);

/* `allocation` is of the queue's device; NULL for a range without memory. */
MUST_CHECK NTSTATUS gpu_map(struct dxg_paging_queue *queue, struct dxg_allocation *allocation,
			    struct gpuva_map_request *request, struct gpu_answer *answer_out);

#endif
