/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/mem.h"
#include "object/ending/endings.h"
#include "object/owner/adapter.h"
#include "object/memory/adapter_memory.h"
#include "object/submit/adapter_work.h"
#include "object/memory/context_allocation.h"
#include "object/owner/process.h"

static void adapter_open_destroy(struct object *object)
{
	mem_free(object_cast(object, &adapter_open_class, struct adapter_open, object));
}

const struct object_class adapter_open_class = { "an adapter", adapter_open_destroy };

/* ---- its stages (endings.h) ---- */

/* From here on calls are refused; the gate opens again, because the driver's callbacks may need it. */
static void turn_calls_away(struct dxg_adapter *adapter)
{
	gate_close(&adapter->gate);
	adapter->is_stopped = true;
	gate_open(&adapter->gate);
	/* What is still to be done needs the hardware. */
	if (atomic_exchange(&adapter->is_asleep, false))
		sched_unquiesce(atomic_load(&adapter->sched));
}

static void end_reaper(struct dxg_adapter *adapter)
{
	worker_finish(&adapter->reaper);
}

static void end_work_and_memory(struct dxg_adapter *subject)
{
	ENDING_OF_ADAPTER_WORK(ENDING_CALL)
}

static void stop_driver(struct dxg_adapter *adapter)
{
	miniport_stop(adapter->miniport);
}

static void give_back(struct dxg_adapter *adapter)
{
	context_books_finish(&adapter->books);
	mem_free(adapter);
}

void adapter_destroy(struct dxg_adapter *subject)
{
	if (!subject)
		return;
	ENDING_OF_ADAPTER(ENDING_CALL)
}

/* ---- start ---- */

NTSTATUS adapter_create(const struct miniport_config *config, struct dxg_adapter **adapter_out)
{
	struct dxg_adapter *adapter = mem_zalloc_apart(sizeof(*adapter));

	if (!adapter)
		return refuse_no_memory("no memory for an adapter");
	adapter->id = config->adapter_id;
	adapter->luid = config->luid;
	adapter->eviction = config->eviction;
	gate_init(&adapter->gate, LOCK_RANK_ADAPTER, "adapter gate");
	context_books_init(&adapter->books);

	NTSTATUS status = miniport_start(config, &adapter_work_events, adapter, &adapter->miniport);
	if (!NT_SUCCESS(status))
		goto free_adapter;
	adapter->info = miniport_info(adapter->miniport);
	status = adapter_work_start(adapter);
	if (!NT_SUCCESS(status))
		goto stop_miniport;
	status = adapter_memory_start(adapter);
	if (!NT_SUCCESS(status))
		goto stop_memory;
	*adapter_out = adapter;
	return STATUS_SUCCESS;

stop_memory:
	end_work_and_memory(adapter);
stop_miniport:
	stop_driver(adapter);
free_adapter:
	give_back(adapter);
	return status;
}

NTSTATUS adapter_refuse_gone(struct dxg_adapter *adapter)
{
	bool is_stopped = adapter->is_stopped;

	gate_leave(&adapter->gate);
	if (is_stopped)
		return refuse(STATUS_DEVICE_REMOVED, RULE_API_ADAPTER_GONE, NULL,
			      "adapter %u was stopped", adapter->id);

	uint64_t ago_ms = (clock_now_ns() - atomic_load(&adapter->lost_at_ns)) / NS_PER_MS;
	return refuse(STATUS_DEVICE_REMOVED, RULE_API_ADAPTER_GONE, NULL,
		      "adapter %u is lost: %s, %llu.%03llu s ago", adapter->id,
		      atomic_load(&adapter->lost_why), (unsigned long long)(ago_ms / 1000),
		      (unsigned long long)(ago_ms % 1000));
}

NTSTATUS adapter_check_present(struct dxg_adapter *adapter)
{
	NTSTATUS status = adapter_enter(adapter);

	if (NT_SUCCESS(status))
		adapter_leave(adapter);
	return status;
}

NTSTATUS adapter_open_create(struct dxg_process *process, struct dxg_adapter *adapter,
			     struct adapter_open **open_out)
{
	struct adapter_open *open = mem_zalloc(sizeof(*open));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!open)
		goto no_memory;
	status = object_init(&open->object, &adapter_open_class, &process->handles);
	if (!NT_SUCCESS(status))
		goto free_open;
	open->adapter = adapter;
	open->process = process;

	lock_acquire(&process->lock);
	list_push_back(&process->opens, &open->process_link);
	lock_release(&process->lock);
	object_publish(&open->object);
	*open_out = open;
	return STATUS_SUCCESS;

free_open:
	mem_free(open);
no_memory:
	return refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for an adapter handle");
}

bool adapter_open_close(struct adapter_open *open)
{
	if (!object_retire(&open->object))
		return false;
	lock_acquire(&open->process->lock);
	list_remove(&open->process_link);
	lock_release(&open->process->lock);
	object_put(&open->object);
	return true;
}
