/* SPDX-License-Identifier: MIT */
/*
 * process.c - see process.h. How a process ends is in teardown.c.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "object/owner/device.h"
#include "object/fence/keyed_mutex.h"
#include "miniport/handle_services.h"
#include "object/memory/gpu_addresses.h"
#include "object/memory/gpu_update.h"
#include "object/owner/notification.h"
#include "object/owner/process.h"
#include "object/fence/sync_wait.h"
#include "sched/fence_page.h"
#include "trace/trace.h"

#define ALONE_PATIENCE_NS (10 * NS_PER_MS)

NTSTATUS process_create(uint32_t id, struct share_space *shares, struct dxg_process **process_out)
{
	struct dxg_process *process = mem_zalloc_apart(sizeof(*process));

	if (!process)
		goto no_memory;
	if (!NT_SUCCESS(handle_table_init(&process->handles, HANDLE_TAG_LOCAL)))
		goto free_process;
	process->fence_pages = fence_pages_create(FENCE_CHUNK_PAGES);
	if (!process->fence_pages)
		goto finish_handles;
	process->bank = machine_bank_create();
	if (!process->bank)
		goto destroy_fence_pages;
	process->id = id;
	process->shares = shares;
	lock_init(&process->lock, LOCK_RANK_PROCESS, "process");
	list_init(&process->adapters);
	list_init(&process->opens);
	list_init(&process->devices);
	list_init(&process->keyed_mutexes);
	list_init(&process->sync_objects);
	list_init(&process->waits);
	trace_process_create(id);
	miniport_tell_process(true);
	*process_out = process;
	return STATUS_SUCCESS;

destroy_fence_pages:
	fence_pages_close(process->fence_pages);
finish_handles:
	handle_table_finish(&process->handles);
free_process:
	mem_free(process);
no_memory:
	return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, "no memory for a process");
}

/* One that could still have work, with a reference. */
static struct dxg_device *next_at_work(struct dxg_process *process)
{
	struct dxg_device *found = NULL;
	struct list *link;

	lock_acquire(&process->lock);
	list_for_each (link, &process->devices) {
		struct dxg_device *device = container_of(link, struct dxg_device, process_link);
		if (!found && !atomic_load(&device->work.is_lost)) {
			object_get(&device->object);
			found = device;
		}
	}
	lock_release(&process->lock);
	return found;
}

/*
 * Who waits for room in a queue, or for the end of what is queued, waits no more; nor does who waits
 * for memory to come in, or for a paging queue with that in it: only the client could let it.
 */
static void cancel_work(struct dxg_process *process)
{
	struct dxg_device *device;

	while ((device = next_at_work(process)) != NULL) {
		(void)sched_owner_lose(&device->work);
		vidmm_device_lose(&device->memory);
		object_put(&device->object);
	}
}

/* For calls that wait until fewer are queued. No adapter is left before all calls are over. */
static void cancel_updates(struct dxg_process *process)
{
	struct list *link = &process->adapters;

	for (;;) {
		lock_acquire(&process->lock);
		link = link->next;
		lock_release(&process->lock);
		if (link == &process->adapters)
			return;
		gpu_update_cancel_all(container_of(link, struct process_adapter, link));
	}
}

void process_cancel_waits(struct dxg_process *process)
{
	struct list *link;

	atomic_store(&process->is_dying, true);
	notifier_stop(process);
	cancel_work(process);
	cancel_updates(process);
	lock_acquire(&process->lock);
	list_for_each (link, &process->keyed_mutexes)
		keyed_mutex_wake(container_of(link, struct dxg_keyed_mutex, process_link));
	lock_release(&process->lock);
	sync_wait_end_process(process);
}

static struct process_adapter *find_process_adapter_locked(struct dxg_process *process,
							   const struct dxg_adapter *adapter)
{
	struct list *link;

	lock_assert_held(&process->lock);
	list_for_each (link, &process->adapters) {
		struct process_adapter *process_adapter =
			container_of(link, struct process_adapter, link);
		if (process_adapter->adapter == adapter)
			return process_adapter;
	}
	return NULL;
}

static struct process_adapter *join_adapter_locked(struct dxg_process *process,
						   struct dxg_adapter *adapter)
{
	struct process_adapter *process_adapter = mem_zalloc_apart(sizeof(*process_adapter));

	if (!process_adapter)
		return NULL;
	if (!NT_SUCCESS(miniport_client_create(adapter->miniport, &process_adapter->client))) {
		mem_free(process_adapter);
		return NULL;
	}
	miniport_client_set_owner(process_adapter->client, process_adapter);
	process_adapter->process = process;
	process_adapter->adapter = adapter;
	lock_init(&process_adapter->updates_lock, LOCK_RANK_PACKET, "updates of GPU addresses");
	list_init(&process_adapter->updates);
	list_init(&process_adapter->introduced);
	work_init(&process_adapter->root_work, gpu_addresses_tell_root);
	lock_init(&process_adapter->fence_lock, LOCK_RANK_PACKET, "GPU addresses of fences");
	list_init(&process_adapter->fence_addresses);
	lock_init(&process_adapter->watched_lock, LOCK_RANK_FENCES_WATCHED, "fences of a process");
	list_init(&process_adapter->watched);
	vidmm_process_init(&process_adapter->memory, adapter->memory, &adapter->account);
	process_adapter->memory.account.bank = process->bank;
	process_adapter->memory.id = process->id;
	list_push_back(&process->adapters, &process_adapter->link);
	return process_adapter;
}

NTSTATUS process_join_adapter(struct dxg_process *process, struct dxg_adapter *adapter,
			      struct process_adapter **process_adapter_out)
{
	lock_acquire(&process->lock);
	struct process_adapter *process_adapter = find_process_adapter_locked(process, adapter);
	if (!process_adapter)
		process_adapter = join_adapter_locked(process, adapter);
	lock_release(&process->lock);
	if (!process_adapter)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for the process on adapter %u", adapter->id);
	*process_adapter_out = process_adapter;
	return STATUS_SUCCESS;
}

NTSTATUS process_enter_adapter(struct dxg_process *process, struct dxg_adapter *adapter,
			       struct process_adapter **process_adapter_out)
{
	NTSTATUS status = process_join_adapter(process, adapter, process_adapter_out);

	return NT_SUCCESS(status) ? adapter_enter(adapter) : status;
}

struct process_adapter *process_next_adapter(struct dxg_process *process,
					     struct process_adapter *previous)
{
	lock_acquire(&process->lock);
	struct list *link = previous ? previous->link.next : process->adapters.next;
	bool is_end = link == &process->adapters;
	lock_release(&process->lock);
	return is_end ? NULL : container_of(link, struct process_adapter, link);
}

/* Addresses that the driver reserves are reserved while its process is made. */
static NTSTATUS introduce_to_driver(struct process_adapter *process_adapter)
{
	struct miniport *miniport = process_adapter->adapter->miniport;
	NTSTATUS status;

	gpu_addresses_open_to_driver(process_adapter, true);
	status = miniport_create_process(miniport, process_adapter->client, process_adapter,
					 "client", &process_adapter->driver_process);
	gpu_addresses_open_to_driver(process_adapter, false);
	if (!NT_SUCCESS(status))
		return status;
	status = gpu_addresses_start(process_adapter);
	if (!NT_SUCCESS(status))
		miniport_destroy_process(miniport, process_adapter->client,
					 process_adapter->driver_process);
	return status;
}

NTSTATUS process_introduce(struct dxg_process *process, struct process_adapter *process_adapter)
{
	lock_acquire(&process->lock);
	while (process_adapter->driver_knows == PROCESS_BEING_INTRODUCED)
		notice_wait_relock(&process->changed, &process->lock);
	bool is_known = process_adapter->driver_knows == PROCESS_KNOWN;
	if (!is_known)
		process_adapter->driver_knows = PROCESS_BEING_INTRODUCED;
	lock_release(&process->lock);
	if (is_known)
		return STATUS_SUCCESS;

	NTSTATUS status = gpu_addresses_create(process_adapter);
	if (NT_SUCCESS(status))
		status = introduce_to_driver(process_adapter);
	if (!NT_SUCCESS(status))
		gpu_addresses_destroy(process_adapter);

	lock_acquire(&process->lock);
	process_adapter->driver_knows = NT_SUCCESS(status) ? PROCESS_KNOWN : PROCESS_UNKNOWN;
	lock_release(&process->lock);
	notice_give(&process->changed);
	return status;
}

/*
 * Level two of the driver: alone, with an idle GPU. A thread that is in the driver may be waiting
 * for work of ours, which is not done meanwhile. So it is not waited for long, and between two
 * attempts the work goes on.
 */
static NTSTATUS escape_on_idle_gpu(struct dxg_adapter *adapter, struct miniport_client *client,
				   const struct miniport_escape_desc *desc)
{
	struct sched *sched = atomic_load(&adapter->sched);
	NTSTATUS status = STATUS_SUCCESS;
	bool is_done = false;

	while (!is_done) {
		sched_quiesce(sched);
		is_done = miniport_escape_until(adapter->miniport, client, desc,
						clock_deadline(ALONE_PATIENCE_NS), &status);
		sched_unquiesce(sched);
		if (!is_done)
			sched_settle(sched);
	}
	return status;
}

NTSTATUS process_escape(struct dxg_process *process, struct dxg_adapter *adapter,
			const struct miniport_escape_desc *desc)
{
	struct process_adapter *process_adapter = NULL;
	NTSTATUS status = process_enter_adapter(process, adapter, &process_adapter);

	if (!NT_SUCCESS(status))
		return status;
	if (miniport_escape_is_alone(desc))
		status = escape_on_idle_gpu(adapter, process_adapter->client, desc);
	else
		status = miniport_escape(adapter->miniport, process_adapter->client, desc);
	adapter_leave(adapter);
	return status;
}

NTSTATUS process_query_umd_private(struct dxg_process *process, struct dxg_adapter *adapter,
				   void *data, uint32_t size_bytes)
{
	struct process_adapter *process_adapter = NULL;
	NTSTATUS status = process_enter_adapter(process, adapter, &process_adapter);

	if (!NT_SUCCESS(status))
		return status;
	status = miniport_query_umd_private(adapter->miniport, process_adapter->client, data,
					    size_bytes);
	adapter_leave(adapter);
	return status;
}

NTSTATUS process_calibrate_clock(struct dxg_process *process, struct dxg_adapter *adapter,
				 uint32_t node, struct miniport_clock *clock_out)
{
	struct process_adapter *process_adapter = NULL;
	NTSTATUS status = process_enter_adapter(process, adapter, &process_adapter);

	if (!NT_SUCCESS(status))
		return status;
	status = miniport_calibrate_clock(adapter->miniport, process_adapter->client, node,
					  clock_out);
	adapter_leave(adapter);
	return status;
}
