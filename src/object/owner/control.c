/* SPDX-License-Identifier: MIT */
/*
 * control.c - see control.h.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "object/owner/control.h"
#include "object/memory/gpu_addresses.h"
#include "object/memory/residency.h"

/* ---- memory ---- */

NTSTATUS control_check_integrity(struct dxg_adapter *adapter)
{
	char wrong[160];

	if (vidmm_check_integrity(adapter->memory, wrong, sizeof(wrong)))
		return STATUS_SUCCESS;
	return refuse(STATUS_UNSUCCESSFUL, RULE_MM_INTEGRITY, NULL,
		      "The memory of adapter %u does not add up: %s", adapter->id, wrong);
}

NTSTATUS control_print_states(struct dxg_adapter *adapter, char *text, size_t size)
{
	NTSTATUS status = adapter_enter(adapter);

	if (!NT_SUCCESS(status))
		return status;
	vidmm_print_states(adapter->memory, text, size);
	adapter_leave(adapter);
	return STATUS_SUCCESS;
}

void control_wake(struct dxg_adapter *adapter, bool is_flush)
{
	vidmm_wake(adapter->memory);
	if (is_flush)
		residency_drain(adapter);
}

/* ---- delays ---- */

struct delay {
	struct paging_operation operation;
	uint64_t until_ns;
};

static _Atomic uint32_t delay_count;

static void delay_free(struct paging_operation *operation)
{
	mem_free(container_of(operation, struct delay, operation));
}

/* The operation keeps the queue; it is gone once it is over. */
static void delay_run(void *argument)
{
	struct delay *delay = argument;
	struct dxg_paging_queue *queue = delay->operation.queue;

	for (;;) {
		uint32_t seen = notice_read(&queue->ending);

		if (atomic_load(&queue->is_ending) || clock_now_ns() >= delay->until_ns)
			break;
		notice_wait(&queue->ending, seen, delay->until_ns);
	}
	paging_operation_over(&delay->operation);
	atomic_fetch_sub(&delay_count, 1);
}

static NTSTATUS delay_take_turn(void)
{
	if (atomic_fetch_add(&delay_count, 1) < CONTROL_MOST_DELAYS)
		return STATUS_SUCCESS;
	atomic_fetch_sub(&delay_count, 1);
	return refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_API_COUNT, "DelayExecution",
		      "would be one more than the %d delays there can be", CONTROL_MOST_DELAYS);
}

NTSTATUS control_delay(struct dxg_paging_queue *queue, uint32_t milliseconds,
		       uint64_t *fence_value_out)
{
	struct delay *delay;
	struct thread *thread;
	NTSTATUS status = delay_take_turn();

	if (!NT_SUCCESS(status))
		return status;
	delay = mem_zalloc(sizeof(*delay));
	if (!delay)
		goto no_memory;
	paging_operation_init(&delay->operation, queue, delay_free);
	delay->until_ns = clock_deadline(milliseconds * NS_PER_MS);
	status = thread_create("delay", delay_run, delay, &thread);
	if (!NT_SUCCESS(status)) {
		paging_operation_abandon(&delay->operation);
		mem_free(delay);
		goto no_memory;
	}
	thread_detach(thread);
	*fence_value_out = paging_queue_add(&delay->operation);
	return STATUS_SUCCESS;

no_memory:
	atomic_fetch_sub(&delay_count, 1);
	return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, "no memory for a delay");
}

/* ---- page tables ---- */

NTSTATUS control_table_shape(const struct dxg_adapter *adapter,
			     const struct gpuva_shape **shape_out)
{
	if (!adapter->tables)
		return refuse(STATUS_NOT_SUPPORTED, RULE_VA_NO_TABLES, NULL,
			      "adapter %u has no page tables of its own", adapter->id);
	*shape_out = &adapter->tables->shape;
	return STATUS_SUCCESS;
}

NTSTATUS control_read_table(struct dxg_process *process, struct dxg_adapter *adapter,
			    const struct control_table *table, struct miniport_pte *entries,
			    uint32_t *count_out)
{
	struct address_space *space = NULL;
	NTSTATUS status = gpu_addresses_of(process, adapter, &space);

	if (NT_SUCCESS(status))
		*count_out = page_tables_read(&space->tables, table->level, table->path,
					      table->is_wide, entries, table->count);
	return status;
}
