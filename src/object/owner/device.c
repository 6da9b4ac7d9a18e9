/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/client_call.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "object/owner/context.h"
#include "object/ending/destruction.h"
#include "object/owner/device.h"
#include "object/ending/endings.h"
#include "object/memory/gpu_addresses.h"
#include "object/memory/gpu_update.h"
#include "object/owner/hw_context.h"
#include "object/owner/notification.h"
#include "object/memory/paging_queue.h"
#include "object/fence/sync_object.h"
#include "trace/trace.h"
#include "address_space/address_space.h"

static void device_tell_loss(struct work *work);

/* ---- its last stages (endings.h): no context is left, in our books or in the driver's ---- */

static void tell_driver_of_end(struct dxg_device *device)
{
	adapter_enter_to_release(device->adapter);
	miniport_destroy_device(device->adapter->miniport, device->process_adapter->client,
				device->driver_device);
	adapter_leave(device->adapter);
}

static void give_back(struct dxg_device *device)
{
	struct dxg_process *process = device->process;

	context_memory_end(&device->driver_memory);
	vidmm_device_finish(&device->memory);
	sched_owner_finish(&device->work);
	fence_slot_give(&device->shown);
	trace_device_destroy(process->id, device->object.handle);
	lock_finish(&device->lock);
	lock_finish(&device->destroying);
	mem_free(device);
	/* The process may be waiting for its last device, and has the table that we are in. */
	atomic_fetch_sub(&process->driver_devices, 1);
	notice_give(&process->changed);
}

static void device_finish(struct object *object)
{
	struct dxg_device *subject = object_as(device, object);

	ENDING_OF_DEVICE(ENDING_CALL)
}

/*
 * A client in another process sees whether it is lost without asking: one word among those of its fences.
 * Where there is no room for it the client asks.
 */
static void show_state(struct dxg_device *device)
{
	struct client_call *call = client_call_current();
	struct dxg_process *process = device->process;
	const uint64_t *view;

	if (LIKELY(!process->arena) || !call ||
	    !NT_SUCCESS(fence_slot_take(process->fence_pages, 0, &device->shown)))
		return;
	if (!NT_SUCCESS(fence_slot_show(&device->shown, process->arena, &view))) {
		fence_slot_give(&device->shown);
		return;
	}
	sched_owner_show(&device->work, device->shown.value);
	call->word = (uintptr_t)view;
}

const struct object_class device_class = { "a device", device_finish };

NTSTATUS device_create(struct dxg_process *process, struct dxg_adapter *adapter,
		       const struct device_options *options, struct dxg_device **device_out)
{
	struct dxg_device *device = mem_zalloc_apart(sizeof(*device));

	if (!device)
		return refuse_no_memory("no memory for a device");
	NTSTATUS status = object_init(&device->object, &device_class, &process->handles);
	if (!NT_SUCCESS(status)) {
		refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a device handle");
		goto free_device;
	}
	device->adapter = adapter;
	device->process = process;
	device->is_legacy = options->is_legacy;
	device->has_no_gpu_timeout = options->has_no_gpu_timeout;
	atomic_init(&device->state, DEVICE_ACTIVE);
	lock_init(&device->lock, LOCK_RANK_DEVICE, "device");
	lock_init(&device->destroying, LOCK_RANK_DESTROY, "destruction on a device");
	list_init(&device->contexts);
	list_init(&device->hw_contexts);
	list_init(&device->resources);
	list_init(&device->allocations);
	list_init(&device->sync_objects);
	list_init(&device->paging_queues);
	list_init(&device->endings);
	list_init(&device->ready_endings);
	work_init(&device->reap_work, endings_run);
	work_init(&device->loss, device_tell_loss);

	status = process_join_adapter(process, adapter, &device->process_adapter);
	if (NT_SUCCESS(status))
		status = gpu_addresses_hold(device->process_adapter);
	if (!NT_SUCCESS(status))
		goto give_back_number;
	status = adapter_enter(adapter);
	if (!NT_SUCCESS(status))
		goto release_tables;
	status = process_introduce(process, device->process_adapter);
	if (!NT_SUCCESS(status)) {
		adapter_leave(adapter);
		goto release_tables;
	}
	/* From here on a reset takes it along. */
	vidmm_device_init(&device->memory, &device->process_adapter->memory, &device->work, NULL);
	sched_owner_init(&device->work, adapter->sched, false);
	device->work.process = &device->process_adapter->work;
	vidmm_device_begin(&device->memory);
	/* Before the driver has it: it may want memory for the device at once. */
	context_memory_begin(&device->driver_memory, device, NULL, device);
	status = miniport_create_device(adapter->miniport, device->process_adapter->client, device,
					device->process_adapter->driver_process,
					&device->driver_device);
	adapter_leave(adapter);
	if (!NT_SUCCESS(status))
		goto forget_memory;

	show_state(device);
	gpu_addresses_release(device->process_adapter);
	device->memory.driver_device = device->driver_device;
	atomic_fetch_add(&process->driver_devices, 1);
	lock_acquire(&process->lock);
	list_push_back(&process->devices, &device->process_link);
	sched_owner_set_class(&device->work, process->scheduling_class);
	lock_release(&process->lock);
	trace_device_create(process->id, device->object.handle, adapter->id);
	/* In the list before: who breaks it from here on finds the device there. */
	if (device->process_adapter->addresses &&
	    address_space_is_broken(device->process_adapter->addresses))
		device_lose(device, DEVICE_DMA_FAULT, NULL);

	lock_acquire(&device->lock);
	device->is_published = true;
	/* With a reference for the caller: from now on another thread can end the device. */
	object_publish_and_get(&device->object);
	lock_release(&device->lock);
	*device_out = device;
	return STATUS_SUCCESS;

forget_memory:
	context_memory_end(&device->driver_memory);
	vidmm_device_finish(&device->memory);
	sched_owner_finish(&device->work);
release_tables:
	gpu_addresses_release(device->process_adapter);
give_back_number:
	object_abandon(&device->object);
free_device:
	mem_free(device);
	return status;
}

/* ---- the end of its handle ---- */

static void leave_process(struct dxg_device *device)
{
	vidmm_device_end(&device->memory);
	lock_acquire(&device->process->lock);
	list_remove(&device->process_link);
	lock_release(&device->process->lock);

	lock_acquire(&device->lock);
	device->is_dying = true;
	lock_release(&device->lock);
	notification_device_ends(device);
}

static void await_losers(struct dxg_device *device)
{
	struct dxg_process *process = device->process;

	lock_acquire(&process->lock);
	while (device->losers > 0)
		notice_wait_relock(&process->changed, &process->lock);
	lock_release(&process->lock);
}

/* Says whether the reaper has ever had to do with the device. */
static bool await_loss_told(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	while (device->is_loss_pending)
		notice_wait_relock(&device->reaped, &device->lock);
	device->is_loss_told = true;
	bool has_reap_work = device->has_reap_work;
	lock_release(&device->lock);
	return has_reap_work;
}

/*
 * What is over may not have been let go of yet. Calls are not waited for: one may be waiting for
 * what its client does after this.
 */
static void await_own_threads(struct dxg_device *device)
{
	await_losers(device);
	if (await_loss_told(device))
		worker_flush(&device->adapter->reaper);
}

bool device_destroy(struct dxg_device *subject)
{
	if (!object_retire(&subject->object))
		return false;
	ENDING_OF_DEVICE_HANDLE(ENDING_CALL)
	object_put(&subject->object);
	return true;
}

/* ---- loss ---- */

void device_lose(struct dxg_device *device, enum device_state state,
		 const struct miniport_fault *fault)
{
	lock_acquire(&device->lock);
	bool is_first = device_state(device) == DEVICE_ACTIVE;
	/* Who has no handle has no fences either, and cannot get any now. */
	bool has_fences = device->is_published && !device->is_loss_told;
	if (is_first) {
		const char *call = refusal_call();

		if (fault)
			device->fault = *fault;
		device->lost_at_ns = clock_now_ns();
		snprintf(device->lost_by, sizeof(device->lost_by), "%s%s",
			 call ? "" : "the kernel's thread ", call ? call : thread_name());
		atomic_store_explicit(&device->state, state, memory_order_release);
		device->is_loss_pending = has_fences;
	}
	lock_release(&device->lock);
	if (!is_first)
		return;
	trace_device_lost(device->process->id, device->object.handle, sched_state_words(state),
			  device->lost_by);
	(void)sched_owner_lose(&device->work);
	vidmm_device_lose(&device->memory);
	/* On the reaper: what waits is told by callbacks of others. */
	if (has_fences)
		(void)worker_post(&device->adapter->reaper, &device->loss);
}

void device_learn_of_loss(struct dxg_device *device)
{
	struct sched_loss loss;

	if (device_state(device) == DEVICE_ACTIVE && sched_owner_loss(&device->work, &loss))
		device_lose(device, (enum device_state)loss.device_state,
			    loss.has_fault ? &loss.fault : NULL);
}

static struct dxg_device *take_active(struct process_adapter *process_adapter)
{
	struct dxg_device *found = NULL;

	lock_acquire(&process_adapter->process->lock);
	list_each (struct dxg_device, device, &process_adapter->process->devices, process_link) {
		if (device->process_adapter == process_adapter &&
		    device_state(device) == DEVICE_ACTIVE) {
			device->losers++;
			found = device;
			break;
		}
	}
	lock_release(&process_adapter->process->lock);
	return found;
}

void device_lose_all(struct process_adapter *process_adapter, enum device_state state)
{
	struct dxg_device *device;

	while ((device = take_active(process_adapter)) != NULL) {
		device_lose(device, state, NULL);
		lock_acquire(&process_adapter->process->lock);
		device->losers--;
		lock_release(&process_adapter->process->lock);
		notice_give(&process_adapter->process->changed);
	}
}

/* Any thread. */
static void device_falls_silent(struct sched_wait *wait)
{
	struct dxg_device *device = container_of(wait, struct dxg_device, silence);

	lock_acquire(&device->lock);
	device->is_silent = true;
	list_each (struct dxg_sync_object, each, &device->sync_objects, owned.link)
		each->is_lost = false;
	lock_release(&device->lock);
	(void)worker_post(&device->adapter->reaper, &device->loss);
}

/* Who waits is not kept waiting; but what the hardware still has may write to a fence after that. */
static void device_tell_loss(struct work *work)
{
	struct dxg_device *device = container_of(work, struct dxg_device, loss);
	bool is_over = device->is_silent || sched_owner_is_idle(&device->work);

	sync_object_device_lost(device);
	hw_queue_device_lost(device);
	if (is_over) {
		/* Told under the lock: who waits for this ends the device. */
		lock_acquire(&device->lock);
		device->is_loss_pending = false;
		notice_give(&device->reaped);
		lock_release(&device->lock);
		return;
	}
	device->silence.over = device_falls_silent;
	sched_after_owner(&device->work, &device->silence);
}

/* ---- questions ---- */

NTSTATUS device_check_engine(const struct dxg_device *device, uint32_t node, uint32_t engine_mask)
{
	const struct miniport_info *info = device->adapter->info;

	if (node >= info->node_count)
		return invalid(RULE_API_VALUE, "NodeOrdinal", "is %u, and adapter %u has %u nodes",
			       node, device->adapter->id, info->node_count);
	if (engine_mask > 1)
		return invalid(RULE_API_VALUE, "EngineAffinity",
			       "is 0x%x, and an unlinked adapter has only engine 0 (mask 1)",
			       engine_mask);
	return STATUS_SUCCESS;
}

NTSTATUS device_refuse_dying(const struct dxg_device *device)
{
	return invalid(RULE_API_HANDLE, "hDevice", "0x%08x was destroyed during the call",
		       device->object.handle);
}

NTSTATUS device_join(struct dxg_device *device, struct list *siblings, struct owned *owned)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&device->lock);
	if (device->is_dying)
		status = device_refuse_dying(device);
	else
		owned_publish_locked(&device->lock, siblings, owned);
	lock_release(&device->lock);
	return status;
}

enum sched_ending device_work_ending(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	bool is_dying = device->is_dying;
	lock_release(&device->lock);
	return is_dying ? SCHED_CANCEL_ALL : SCHED_RUN_READY;
}

void device_describe_loss(const struct dxg_device *device, char *text, size_t size)
{
	uint32_t state = device_state(device);
	uint64_t ago_ms = (clock_now_ns() - device->lost_at_ns) / NS_PER_MS;

	snprintf(text, size, "%s (%u), %llu.%03llu s ago, by %s", sched_state_words(state), state,
		 (unsigned long long)(ago_ms / 1000), (unsigned long long)(ago_ms % 1000),
		 device->lost_by);
}

NTSTATUS device_refuse_lost(const struct dxg_device *device)
{
	char loss[DEVICE_LOSS_TEXT];

	device_describe_loss(device, loss, sizeof(loss));
	return refuse(STATUS_DEVICE_REMOVED, RULE_API_DEVICE_GONE, NULL,
		      "device 0x%08x is lost: %s", device->object.handle, loss);
}
