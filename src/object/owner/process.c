/* SPDX-License-Identifier: MIT */
/*
 * process.c - see process.h. How a process ends is in teardown.c.
 */

#include "base/clock.h"
#include "base/gate.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "object/owner/device.h"
#include "object/fence/keyed_mutex.h"
#include "object/owner/kernel.h"
#include "miniport/handle_services.h"
#include "object/memory/gpu_addresses.h"
#include "object/memory/gpu_update.h"
#include "object/owner/notification.h"
#include "object/owner/process.h"
#include "object/fence/sync_wait.h"
#include "ranges/client_arena.h"
#include "sched/fence_page.h"
#include "sched/priority.h"
#include "trace/trace.h"

#define ALONE_PATIENCE_NS (10 * NS_PER_MS)

NTSTATUS process_make_bank(enum machine_bank_viewers viewers, struct quota_ledger *ledger,
			   struct machine_bank **bank_out)
{
	NTSTATUS status = machine_bank_create_for_clients(viewers, bank_out);

	if (NT_SUCCESS(status)) {
		status = machine_bank_charge(*bank_out, ledger);
		if (!NT_SUCCESS(status)) {
			machine_bank_destroy(*bank_out);
			*bank_out = NULL;
		}
		return status;
	}
	if (status == STATUS_INSUFFICIENT_RESOURCES)
		return refuse(
			status, RULE_MM_NO_BANKS, NULL,
			"There are %u files of memory that processes map, or no descriptor is left",
			machine_banks_max());
	return refuse_no_memory("no memory for a bank");
}

static NTSTATUS make_bank(struct dxg_process *process)
{
	if (process->arena)
		return process_make_bank(MACHINE_BANK_WRITTEN, process->ledger, &process->bank);
	process->bank = machine_bank_create();
	return process->bank ? STATUS_SUCCESS : refuse_no_memory("no memory for a bank");
}

bool process_shares_elsewhere(const struct dxg_process *process)
{
	return atomic_load_explicit(&process->kernel->has_elsewhere, memory_order_relaxed);
}

NTSTATUS process_create(struct dxg_kernel *kernel, const struct process_identity *identity,
			const struct process_arena *arena, struct dxg_process **process_out)
{
	struct dxg_process *process = mem_zalloc_apart(sizeof(*process));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!process)
		goto no_memory;
	if (!NT_SUCCESS(quota_open(&kernel->quotas, identity->pid, identity->user, identity->limits,
				   &process->ledger)))
		goto free_process;
	if (!NT_SUCCESS(handle_table_init(&process->handles, HANDLE_TAG_LOCAL)))
		goto put_ledger;
	handle_table_limit(&process->handles, process->ledger);
	if (arena) {
		process->arena = client_arena_create(arena->address, arena->size_bytes);
		if (!process->arena)
			goto finish_handles;
		client_arena_belong(process->arena, (uint64_t)(uintptr_t)identity->port);
	}
	process->fence_pages = fence_pages_create(FENCE_CHUNK_PAGES, arena != NULL);
	if (!process->fence_pages)
		goto put_arena;
	fence_pages_charge(process->fence_pages, process->ledger);
	status = make_bank(process);
	if (!NT_SUCCESS(status))
		goto destroy_fence_pages;
	process->nt = miniport_process_begin(identity->pid);
	if (!process->nt) {
		status = STATUS_NO_MEMORY;
		goto destroy_bank;
	}
	process->identity = *identity;
	process->identity.limits = NULL; /* the ledger has them */
	process->kernel = kernel;
	process->shares = &kernel->shares;
	lock_init(&process->lock, LOCK_RANK_PROCESS, "process");
	list_init(&process->adapters);
	list_init(&process->opens);
	list_init(&process->devices);
	list_init(&process->keyed_mutexes);
	list_init(&process->sync_objects);
	list_init(&process->waits);
	list_init(&process->rests);
	lock_acquire(&kernel->lock);
	process->id = ++kernel->last_process_id;
	if (arena)
		atomic_store(&kernel->has_elsewhere, true);
	list_push_back(&kernel->processes, &process->kernel_link);
	lock_release(&kernel->lock);
	trace_process_create(process->id);
	trace_process_is(process->id, identity->pid, identity->user, identity->name);
	*process_out = process;
	return STATUS_SUCCESS;

destroy_bank:
	machine_bank_destroy(process->bank);
destroy_fence_pages:
	fence_pages_close(process->fence_pages);
put_arena:
	client_arena_put(process->arena);
finish_handles:
	handle_table_finish(&process->handles);
put_ledger:
	quota_put(process->ledger);
free_process:
	mem_free(process);
no_memory:
	if (status == STATUS_NO_MEMORY)
		return refuse_no_memory("no memory for a process");
	return status;
}

/*
 * The first one, with a reference; it is the last one afterwards. So each has its turn once, and all of them
 * are in the order that they were in when as many have had it as there are.
 */
static struct dxg_device *next_device(struct dxg_process *process)
{
	lock_acquire(&process->lock);
	struct dxg_device *device = list_pop(struct dxg_device, &process->devices, process_link);
	if (device) {
		list_push_back(&process->devices, &device->process_link);
		object_get(&device->object);
	}
	lock_release(&process->lock);
	return device;
}

static uint32_t count_devices(struct dxg_process *process)
{
	lock_acquire(&process->lock);
	uint32_t count = list_length(&process->devices);
	lock_release(&process->lock);
	return count;
}

/* Was it still at work? */
static bool cancel_next(struct dxg_process *process)
{
	struct dxg_device *device = next_device(process);

	if (!device)
		return false; /* they were destroyed meanwhile */
	bool was_at_work = sched_owner_lose(&device->work);
	vidmm_device_lose(&device->memory);
	object_put(&device->object);
	return was_at_work;
}

/*
 * Who waits for a slot in a queue, or for the end of what is queued, waits no more; nor does who waits
 * for memory to come in, or for a paging queue with that in it: only the client could let it.
 */
static void cancel_work(struct dxg_process *process)
{
	bool is_any = true;

	/* Until a round finds nothing: a call may have been about to make one. */
	while (is_any) {
		is_any = false;
		for (uint32_t left = count_devices(process); left > 0; left--)
			is_any |= cancel_next(process);
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
	atomic_store(&process->is_dying, true);
	notifier_stop(process);
	cancel_work(process);
	cancel_updates(process);
	lock_acquire(&process->lock);
	list_each (struct dxg_keyed_mutex, each, &process->keyed_mutexes, process_link)
		keyed_mutex_wake(each);
	lock_release(&process->lock);
	sync_wait_end_process(process);
}

void process_rest_begin(struct dxg_process *process, struct process_rest *rest)
{
	lock_acquire(&process->lock);
	list_push_back(&process->rests, &rest->link);
	lock_release(&process->lock);
	for (size_t i = 0; i < ARRAY_SIZE(process->identity.calls); i++) {
		if (process->identity.calls[i])
			gate_rest(process->identity.calls[i]);
	}
}

void process_rest_end(struct dxg_process *process, struct process_rest *rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(process->identity.calls); i++) {
		if (process->identity.calls[i])
			gate_resume(process->identity.calls[i]);
	}
	lock_acquire(&process->lock);
	list_remove(&rest->link);
	lock_release(&process->lock);
}

_Static_assert((int)PROCESS_CLASS_LOWEST == (int)PRIORITY_CLASS_LOWEST &&
		       (int)PROCESS_CLASS_HIGHEST == (int)PRIORITY_CLASS_HIGHEST,
	       "the scheduler has the same classes");

void process_set_class(struct dxg_process *process, int32_t scheduling_class)
{
	lock_acquire(&process->lock);
	process->scheduling_class = scheduling_class;
	list_each (struct dxg_device, device, &process->devices, process_link)
		sched_owner_set_class(&device->work, scheduling_class);
	lock_release(&process->lock);
}

int32_t process_class(struct dxg_process *process)
{
	lock_acquire(&process->lock);
	int32_t scheduling_class = process->scheduling_class;
	lock_release(&process->lock);
	return scheduling_class;
}

static struct process_adapter *find_process_adapter_locked(struct dxg_process *process,
							   const struct dxg_adapter *adapter)
{
	lock_assert_held(&process->lock);
	list_each (struct process_adapter, process_adapter, &process->adapters, link) {
		if (process_adapter->adapter == adapter)
			return process_adapter;
	}
	return NULL;
}

static struct process_adapter *join_adapter_locked(struct dxg_process *process,
						   struct dxg_adapter *adapter)
{
	struct process_adapter *process_adapter = mem_zalloc_apart(sizeof(*process_adapter));

	lock_assert_held(&process->lock);
	if (!process_adapter)
		return NULL;
	if (!NT_SUCCESS(miniport_client_create(process->nt, &process_adapter->client))) {
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
	process_adapter->memory.account.ledger = process->ledger;
	process_adapter->memory.id = process->id;
	process_adapter->work.id = process->id;
	process_adapter->memory.pid = process->identity.pid;
	process_adapter->memory.name = process->identity.name;
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
		return refuse_no_memory("no memory for the process on adapter %u", adapter->id);
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

	gpu_addresses_open_to_driver(process_adapter, true);
	NTSTATUS status = miniport_create_process(
		miniport, process_adapter->client, process_adapter,
		process_adapter->process->identity.name, &process_adapter->driver_process);
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
