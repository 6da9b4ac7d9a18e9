/* SPDX-License-Identifier: MIT */
/*
 * workload.c - see workload.h. Arrays that grow.
 */
#include <string.h>

#include "base/mem.h"
#include "replay/workload.h"

void workload_finish(struct workload *workload)
{
	mem_free(workload->sizes);
	mem_free(workload->events);
	memset(workload, 0, sizeof(*workload));
}

NTSTATUS workload_add_allocation(struct workload *workload, uint64_t size_bytes,
				 uint32_t *allocation_out)
{
	if (workload->allocation_count == workload->allocation_capacity) {
		uint32_t capacity = workload->allocation_capacity * 2 + 1024;
		uint64_t *sizes = capacity > workload->allocation_capacity
					  ? mem_realloc(workload->sizes, capacity * sizeof(*sizes))
					  : NULL;

		if (!sizes)
			return STATUS_NO_MEMORY;
		workload->sizes = sizes;
		workload->allocation_capacity = capacity;
	}
	workload->sizes[workload->allocation_count] = size_bytes;
	*allocation_out = workload->allocation_count++;
	return STATUS_SUCCESS;
}

NTSTATUS workload_add_event(struct workload *workload, enum workload_event_kind kind,
			    uint32_t allocation)
{
	if (workload->event_count == workload->event_capacity) {
		size_t capacity = workload->event_capacity * 2 + 4096;
		struct workload_event *events =
			mem_realloc(workload->events, capacity * sizeof(*events));

		if (!events)
			return STATUS_NO_MEMORY;
		workload->events = events;
		workload->event_capacity = capacity;
	}
	workload->events[workload->event_count++] = (struct workload_event){ allocation, kind };
	return STATUS_SUCCESS;
}
