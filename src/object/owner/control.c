/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/text.h"
#include "base/thread.h"
#include "object/owner/control.h"
#include "object/owner/kernel.h"
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

static void print_memory(struct text *text, struct dxg_process *process,
			 const struct dxg_adapter *adapter)
{
	struct process_adapter *process_adapter = NULL;

	while ((process_adapter = process_next_adapter(process, process_adapter))) {
		if (process_adapter->adapter != adapter)
			continue;
		for (int group = 0; group < VIDMM_GROUPS; group++) {
			struct vidmm_memory_info info = vidmm_process_memory_info(
				&process_adapter->memory, (enum vidmm_group)group);

			text_add(text, "  %s %" PRIu64 " of %" PRIu64 " KiB",
				 group == VIDMM_LOCAL ? "local" : "system", info.usage_bytes / 1024,
				 info.budget_bytes / 1024);
		}
	}
}

/* "  handles 7 of 100", or without a quota "  handles 7". */
static void print_quota(struct text *text, const struct dxg_process *process, enum quota_kind kind,
			const char *what, uint64_t used, const char *unit)
{
	uint64_t unit_bytes = *unit ? 1024 : 1;
	uint64_t most = process->ledger ? process->ledger->limits.most[kind] : QUOTA_UNLIMITED;

	text_add(text, "  %s %" PRIu64, what, used / unit_bytes);
	if (most != QUOTA_UNLIMITED)
		text_add(text, " of %" PRIu64, most / unit_bytes);
	text_add(text, "%s", unit);
}

/* Allocations are counted where there is a quota. */
static void print_process(struct text *text, struct dxg_process *process)
{
	static const char *const classes[] = { "idle",         "below normal", "normal",
					       "above normal", "high",         "real time" };
	const struct process_identity *who = &process->identity;

	text_add(text, "process %u  pid %u  user %u  %s%s  class %s", process->id, who->pid,
		 who->user, who->name, who->is_controller ? " (controller)" : "",
		 classes[process_class(process) - PROCESS_CLASS_LOWEST]);
	print_quota(text, process, QUOTA_HANDLES, "handles", handle_table_live(&process->handles),
		    "");
	if (process->ledger) {
		print_quota(text, process, QUOTA_ALLOCATIONS, "allocations",
			    quota_used(process->ledger, QUOTA_ALLOCATIONS), "");
		print_quota(text, process, QUOTA_PRIVATE_BYTES, "private",
			    quota_used(process->ledger, QUOTA_PRIVATE_BYTES), " KiB");
	}
	print_quota(text, process, QUOTA_SYSTEM_BYTES, "memory",
		    machine_bank_usage(process->bank).taken_pages * MACHINE_PAGE_BYTES, " KiB");
}

/* Nobody leaves the list meanwhile, and so nobody's memory goes. A line that does not fit is not begun. */
void control_print_processes(struct dxg_kernel *kernel, const struct dxg_adapter *adapter,
			     uint32_t after, char *at, size_t size)
{
	struct text text = text_begin(at, size);

	lock_acquire(&kernel->lock);
	list_each (struct dxg_process, process, &kernel->processes, kernel_link) {
		size_t before = text.used;

		if (process->id <= after)
			continue;
		print_process(&text, process);
		print_memory(&text, process, adapter);
		text_add(&text, "\n");
		if (text.used >= text.size) {
			at[before] = '\0';
			break;
		}
	}
	lock_release(&kernel->lock);
}

void control_wake(struct dxg_adapter *adapter, bool is_flush)
{
	vidmm_wake(adapter->memory);
	if (is_flush)
		residency_drain(adapter);
}

/* ---- the adapter as a whole ---- */

/* As escape_on_idle_gpu() of process.c: who is in the driver may wait for work, which goes on between two attempts. */
static NTSTATUS tell_power(struct dxg_adapter *adapter, bool is_on)
{
	const uint64_t patience_ns = 10 * NS_PER_MS;
	struct sched *sched = atomic_load(&adapter->sched);
	NTSTATUS status = STATUS_SUCCESS;
	bool is_told = false;

	while (!is_told) {
		sched_quiesce(sched);
		is_told = miniport_set_power(adapter->miniport, is_on, clock_deadline(patience_ns),
					     &status);
		/* It stays so while the power is off. */
		if (!is_told || is_on || !NT_SUCCESS(status))
			sched_unquiesce(sched);
		if (!is_told)
			sched_settle(sched);
	}
	return status;
}

NTSTATUS control_power(struct dxg_adapter *adapter, bool is_on)
{
	NTSTATUS status = adapter_enter(adapter);

	if (!NT_SUCCESS(status))
		return status;
	if (atomic_exchange(&adapter->is_asleep, !is_on) == !is_on) {
		status = refuse(STATUS_INVALID_DEVICE_STATE, RULE_API_VALUE, "state",
				"is the one that adapter %u is in", adapter->id);
		goto leave;
	}
	if (!is_on)
		vidmm_evict_selected(adapter->memory, &(struct vidmm_selection){ 0 });
	status = tell_power(adapter, is_on);
	if (is_on)
		sched_unquiesce(atomic_load(&adapter->sched));
	else if (!NT_SUCCESS(status))
		atomic_store(&adapter->is_asleep, false);
leave:
	adapter_leave(adapter);
	return status;
}

NTSTATUS control_reset_device(struct dxg_adapter *adapter)
{
	NTSTATUS status = adapter_enter(adapter);

	if (!NT_SUCCESS(status))
		return status;
	miniport_reset_device(adapter->miniport);
	adapter_leave(adapter);
	return status;
}

NTSTATUS control_collect_debug_info(struct dxg_adapter *adapter)
{
	enum { REASON_TIMEOUT = 0x117, BUFFER_BYTES = 0x10000 };
	NTSTATUS status = adapter_enter(adapter);

	if (!NT_SUCCESS(status))
		return status;
	void *buffer = mem_zalloc(BUFFER_BYTES);
	if (buffer)
		(void)miniport_collect_debug_info(adapter->miniport, REASON_TIMEOUT, buffer,
						  BUFFER_BYTES);
	else
		status = refuse_no_memory("There is no memory for %d bytes of debug information",
					  BUFFER_BYTES);
	mem_free(buffer);
	adapter_leave(adapter);
	return status;
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
	struct thread *thread;
	NTSTATUS status = delay_take_turn();

	if (!NT_SUCCESS(status))
		return status;
	struct delay *delay = mem_zalloc(sizeof(*delay));
	if (!delay)
		goto no_memory;
	status = paging_operation_init(&delay->operation, queue, delay_free);
	if (!NT_SUCCESS(status)) {
		mem_free(delay);
		atomic_fetch_sub(&delay_count, 1);
		return status;
	}
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
	return refuse_no_memory("no memory for a delay");
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
