/* SPDX-License-Identifier: MIT */
/*
 * teardown.c - the end of a process, in the order of endings.h.
 *
 * A process ends in four ways (a normal exit, D3DKMTCloseDxCoreDevice, the end of a client's
 * connection to a server, and the end of the kernel); all of them come through here, with no call
 * of the process under way.
 */
#include "base/tally.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "object/owner/device.h"
#include "object/ending/endings.h"
#include "object/fence/fence_address.h"
#include "object/memory/gpu_update.h"
#include "object/fence/keyed_mutex.h"
#include "object/owner/kernel.h"
#include "object/owner/notification.h"
#include "object/owner/process.h"
#include "object/fence/sync_object.h"
#include "ranges/client_arena.h"
#include "trace/trace.h"

static void leave_list(struct dxg_process *process)
{
	lock_acquire(&process->kernel->lock);
	list_remove(&process->kernel_link);
	lock_release(&process->kernel->lock);
}

static void destroy_devices(struct dxg_process *process)
{
	lock_acquire(&process->lock);
	while (!list_is_empty(&process->devices)) {
		struct dxg_device *device =
			container_of(process->devices.prev, struct dxg_device, process_link);
		object_get(&device->object);
		lock_release(&process->lock);
		(void)!device_destroy(device);
		object_put(&device->object);
		lock_acquire(&process->lock);
	}
	lock_release(&process->lock);
}

static void destroy_keyed_mutexes(struct dxg_process *process)
{
	while (!list_is_empty(&process->keyed_mutexes)) {
		struct dxg_keyed_mutex *mutex = container_of(process->keyed_mutexes.next,
							     struct dxg_keyed_mutex, process_link);
		(void)!keyed_mutex_destroy(mutex);
	}
}

static void destroy_sync_objects(struct dxg_process *process)
{
	while (!list_is_empty(&process->sync_objects)) {
		struct dxg_sync_object *sync = container_of(process->sync_objects.next,
							    struct dxg_sync_object, owned.link);
		(void)!sync_object_destroy(sync);
	}
}

/* Devices leave the process's list with their handles, and the driver with the last references: this waits for those. */
static void await_devices(struct dxg_process *process)
{
	notice_wait_until_none(&process->changed, &process->driver_devices);
}

static void tell_driver_of_end(struct process_adapter *process_adapter)
{
	struct dxg_adapter *adapter = process_adapter->adapter;

	adapter_enter_to_release(adapter);
	miniport_destroy_process(adapter->miniport, process_adapter->client,
				 process_adapter->driver_process);
	adapter_leave(adapter);
}

static void leave_adapters(struct dxg_process *process)
{
	list_drain (struct process_adapter, subject, &process->adapters, link) {
		if (subject->driver_knows == PROCESS_KNOWN) {
			ENDING_OF_DRIVER_PROCESS(ENDING_CALL)
		}
		vidmm_process_finish(&subject->memory);
		lock_finish(&subject->updates_lock);
		lock_finish(&subject->fence_lock);
		lock_finish(&subject->watched_lock);
		miniport_client_destroy(subject->client);
		mem_free(subject);
	}
}

static void close_adapters(struct dxg_process *process)
{
	while (!list_is_empty(&process->opens)) {
		struct adapter_open *open =
			container_of(process->opens.next, struct adapter_open, process_link);
		(void)!adapter_open_close(open);
	}
}

static void give_back(struct dxg_process *process)
{
	miniport_process_end(process->nt);
	share_sweep(process->shares);
	trace_process_destroy(process->id);
	fence_pages_close(process->fence_pages);
	machine_bank_destroy(process->bank);
	client_arena_put(process->arena);
	handle_table_finish(&process->handles);
	quota_put(process->ledger);
	lock_finish(&process->lock);
	mem_free(process);
}

/* Counts processes that ended with devices still there: they did not finish what they had begun. */
static void count_death(struct dxg_process *process)
{
	static struct tally deaths;

	lock_acquire(&process->lock);
	bool had_devices = !list_is_empty(&process->devices);
	lock_release(&process->lock);
	if (had_devices)
		tally_count(&deaths, "client_deaths", "");
}

void process_destroy(struct dxg_process *subject)
{
	if (!subject)
		return;
	count_death(subject);
	ENDING_OF_PROCESS(ENDING_CALL)
}
