/*
 * process.c - see process.h. How a process ends is in teardown.c.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "object/device.h"
#include "object/keyed_mutex.h"
#include "miniport/handle_services.h"
#include "object/gpu_addresses.h"
#include "object/gpu_update.h"
#include "object/notification.h"
#include "object/process.h"
#include "object/sync_wait.h"
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
	*process_out = process;
	return STATUS_SUCCESS;

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

static struct process_adapter *find_joined_locked(struct dxg_process *process,
						  const struct dxg_adapter *adapter)
{
	struct list *link;

	lock_assert_held(&process->lock);
	list_for_each (link, &process->adapters) {
		struct process_adapter *joined = container_of(link, struct process_adapter, link);
		if (joined->adapter == adapter)
			return joined;
	}
	return NULL;
}

static struct process_adapter *join_adapter_locked(struct dxg_process *process,
						   struct dxg_adapter *adapter)
{
	struct process_adapter *joined = mem_zalloc_apart(sizeof(*joined));

	if (!joined)
		return NULL;
	if (!NT_SUCCESS(miniport_client_create(adapter->miniport, &joined->client))) {
		mem_free(joined);
		return NULL;
	}
	miniport_client_set_owner(joined->client, joined);
	joined->process = process;
	joined->adapter = adapter;
	lock_init(&joined->updates_lock, LOCK_RANK_PACKET, "updates of GPU addresses");
	list_init(&joined->updates);
	list_init(&joined->introduced);
	work_init(&joined->root_work, gpu_addresses_tell_root);
	lock_init(&joined->fence_lock, LOCK_RANK_PACKET, "GPU addresses of fences");
	list_init(&joined->fence_addresses);
	lock_init(&joined->watched_lock, LOCK_RANK_FENCES_WATCHED, "fences of a process");
	list_init(&joined->watched);
	vidmm_process_init(&joined->memory, adapter->memory, &adapter->account);
	joined->memory.id = process->id;
	list_push_back(&process->adapters, &joined->link);
	return joined;
}

NTSTATUS process_join_adapter(struct dxg_process *process, struct dxg_adapter *adapter,
			      struct process_adapter **joined_out)
{
	lock_acquire(&process->lock);
	struct process_adapter *joined = find_joined_locked(process, adapter);
	if (!joined)
		joined = join_adapter_locked(process, adapter);
	lock_release(&process->lock);
	if (!joined)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for the process on adapter %u", adapter->id);
	*joined_out = joined;
	return STATUS_SUCCESS;
}

NTSTATUS process_enter_adapter(struct dxg_process *process, struct dxg_adapter *adapter,
			       struct process_adapter **joined_out)
{
	NTSTATUS status = process_join_adapter(process, adapter, joined_out);

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
static NTSTATUS introduce_to_driver(struct process_adapter *joined)
{
	struct miniport *miniport = joined->adapter->miniport;
	NTSTATUS status;

	gpu_addresses_open_to_driver(joined, true);
	status = miniport_create_process(miniport, joined->client, joined, "client",
					 &joined->driver_process);
	gpu_addresses_open_to_driver(joined, false);
	if (!NT_SUCCESS(status))
		return status;
	status = gpu_addresses_start(joined);
	if (!NT_SUCCESS(status))
		miniport_destroy_process(miniport, joined->client, joined->driver_process);
	return status;
}

NTSTATUS process_introduce(struct dxg_process *process, struct process_adapter *joined)
{
	lock_acquire(&process->lock);
	while (joined->driver_knows == PROCESS_BEING_INTRODUCED) {
		uint32_t seen = notice_read(&process->changed);
		lock_release(&process->lock);
		notice_wait(&process->changed, seen, CLOCK_FOREVER);
		lock_acquire(&process->lock);
	}
	bool is_known = joined->driver_knows == PROCESS_KNOWN;
	if (!is_known)
		joined->driver_knows = PROCESS_BEING_INTRODUCED;
	lock_release(&process->lock);
	if (is_known)
		return STATUS_SUCCESS;

	NTSTATUS status = gpu_addresses_create(joined);
	if (NT_SUCCESS(status))
		status = introduce_to_driver(joined);
	if (!NT_SUCCESS(status))
		gpu_addresses_destroy(joined);

	lock_acquire(&process->lock);
	joined->driver_knows = NT_SUCCESS(status) ? PROCESS_KNOWN : PROCESS_UNKNOWN;
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
	struct process_adapter *joined = NULL;
	NTSTATUS status = process_enter_adapter(process, adapter, &joined);

	if (!NT_SUCCESS(status))
		return status;
	if (miniport_escape_is_alone(desc))
		status = escape_on_idle_gpu(adapter, joined->client, desc);
	else
		status = miniport_escape(adapter->miniport, joined->client, desc);
	adapter_leave(adapter);
	return status;
}

NTSTATUS process_query_umd_private(struct dxg_process *process, struct dxg_adapter *adapter,
				   void *data, uint32_t size_bytes)
{
	struct process_adapter *joined = NULL;
	NTSTATUS status = process_enter_adapter(process, adapter, &joined);

	if (!NT_SUCCESS(status))
		return status;
	status = miniport_query_umd_private(adapter->miniport, joined->client, data, size_bytes);
	adapter_leave(adapter);
	return status;
}
