/* SPDX-License-Identifier: MIT */
/*
 * gpu_update.c - see gpu_update.h.
 *
 * Locks: process_adapter.updates_lock guards who waits. Fences call with no lock of theirs held.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "object/fence/fence_watch.h"
#include "object/memory/gpu_request.h"
#include "object/memory/gpu_update.h"
#include "vidmm/keep.h"

struct gpu_update {
	struct space_update *update;
	struct vidmm_keep *keep;
	struct process_adapter *process_adapter;
	const struct dxg_device *device; /* whose it is; not followed */
	struct dxg_context *context;     /* kept by the use of its companion */
	struct pager_stream *stream;     /* which is this; NULL: there is no need of one */
	struct sync_body *body;          /* with a reference */
	uint64_t value;
	struct fence_wait wait;
	struct list link; /* process_adapter.updates */
};

static void update_end(struct gpu_update *update, bool was_run)
{
	struct dxg_context *context = update->context;

	/* Before the fence says that it is over. */
	vidmm_keep_end(update->keep);
	if (was_run)
		(void)sync_body_signal(update->body, update->value + 1, false);
	share_put(&update->body->share);
	mem_free(update);
	companion_release(context);
}

/* Whatever became of it, what is behind it in the fence's order goes on. */
static void update_done(void *context, NTSTATUS status)
{
	struct gpu_update *update = context;

	if (status == STATUS_NO_MEMORY) /* it never came to be, and nobody else is told */
		device_lose_all(update->process_adapter, DEVICE_OUT_OF_MEMORY);
	update_end(update, true);
}

/* Off the list of those that wait; false: it was not on it any more. */
static bool stop_waiting(struct gpu_update *update)
{
	lock_acquire(&update->process_adapter->updates_lock);
	bool was_waiting = list_is_linked(&update->link);
	list_remove(&update->link);
	lock_release(&update->process_adapter->updates_lock);
	return was_waiting;
}

static void reached(struct fence_wait *wait)
{
	struct gpu_update *update = container_of(wait, struct gpu_update, wait);

	(void)stop_waiting(update);
	space_update_run_in(update->update, update->stream);
}

/* True: it waits. From there on it may be over, and gone. */
static bool start(struct gpu_update *update, bool is_now)
{
	struct process_adapter *process_adapter = update->process_adapter;
	struct sync_body *body = update->body;

	if (is_now) {
		space_update_run_in(update->update, update->stream);
		return false;
	}
	lock_acquire(&process_adapter->updates_lock);
	list_push_back(&process_adapter->updates, &update->link);
	lock_release(&process_adapter->updates_lock);
	if (!fence_wait_start(&body->fence, &update->wait)) {
		reached(&update->wait);
		return false;
	}
	fence_watch_begin(body);
	return true;
}

static bool is_dying(const struct dxg_context *context)
{
	struct dxg_device *device = context->device;

	lock_acquire(&device->lock);
	bool is_dying = device->is_dying || context->companion.is_ending ||
			atomic_load(&device->process->is_dying);
	lock_release(&device->lock);
	return is_dying;
}

static NTSTATUS update_create(struct dxg_context *context, const struct gpu_update_list *list,
			      struct gpu_update **update_out)
{
	struct dxg_device *device = context->device;
	struct gpu_update *update = mem_zalloc(sizeof(*update));
	NTSTATUS status;

	if (update)
		update->keep = vidmm_keep_create(&device->memory, list->bindings, list->count);
	if (!update || !update->keep)
		status = refuse_no_memory("no memory for an update of GPU addresses");
	else
		status = companion_use(context, &update->stream);
	if (!NT_SUCCESS(status)) {
		vidmm_keep_end(update ? update->keep : NULL);
		mem_free(update);
		return status;
	}
	update->context = context;
	update->device = device;
	update->process_adapter = device->process_adapter;
	*update_out = update;
	return STATUS_SUCCESS;
}

NTSTATUS gpu_update_queue(struct dxg_context *context, struct dxg_sync_object *fence,
			  uint64_t value, bool is_now, const struct gpu_update_list *list)
{
	struct dxg_device *device = context->device;
	struct gpu_update *update;
	NTSTATUS status = gpu_ranges_check(device, list->count);

	if (NT_SUCCESS(status))
		status = update_create(context, list, &update);
	if (!NT_SUCCESS(status))
		return status;
	update->body = fence->body;
	share_get(&update->body->share);
	update->value = value;
	update->wait.value = value;
	update->wait.reached = reached;
	list_init(&update->link);
	status = address_space_update(device->process_adapter->addresses, list->operations,
				      list->count, &(struct space_listener){ update_done, update },
				      &update->update);
	if (!NT_SUCCESS(status)) {
		update_end(update, false);
		return status;
	}
	/* Who ends the context, the device or the process may have looked before it was there. */
	if (start(update, is_now) && is_dying(context))
		gpu_update_cancel_context(context);
	return STATUS_SUCCESS;
}

/*
 * Of one context or device, or of all. One that is reached at this moment is not on the list any
 * more, or cannot be cancelled.
 */
static struct gpu_update *take_waiting(struct process_adapter *process_adapter,
				       const struct dxg_device *device,
				       const struct dxg_context *context)
{
	struct gpu_update *found = NULL;
	struct list *link;

	lock_acquire(&process_adapter->updates_lock);
	list_for_each (link, &process_adapter->updates) {
		struct gpu_update *update = container_of(link, struct gpu_update, link);

		if ((!device || update->device == device) &&
		    (!context || update->context == context) &&
		    fence_wait_cancel(&update->body->fence, &update->wait)) {
			list_remove(link);
			found = update;
			break;
		}
	}
	lock_release(&process_adapter->updates_lock);
	return found;
}

static void cancel(struct process_adapter *process_adapter, const struct dxg_device *device,
		   const struct dxg_context *context)
{
	struct gpu_update *update;

	while ((update = take_waiting(process_adapter, device, context)) != NULL) {
		space_update_cancel(update->update);
		update_end(update, false);
	}
}

void gpu_update_cancel_all(struct process_adapter *process_adapter)
{
	cancel(process_adapter, NULL, NULL);
}

void gpu_update_cancel_device(struct dxg_device *device)
{
	cancel(device->process_adapter, device, NULL);
}

void gpu_update_cancel_context(struct dxg_context *context)
{
	cancel(context->device->process_adapter, NULL, context);
}

uint32_t gpu_update_count(const struct dxg_context *context)
{
	struct process_adapter *process_adapter = context->device->process_adapter;
	uint32_t count = 0;
	struct list *link;

	lock_acquire(&process_adapter->updates_lock);
	list_for_each (link, &process_adapter->updates)
		count += container_of(link, struct gpu_update, link)->context == context;
	lock_release(&process_adapter->updates_lock);
	return count;
}

void gpu_update_for_each_body(struct process_adapter *process_adapter,
			      void (*look)(void *context, struct sync_body *body), void *context)
{
	lock_acquire(&process_adapter->updates_lock);
	list_each (struct gpu_update, each, &process_adapter->updates, link)
		look(context, each->body);
	lock_release(&process_adapter->updates_lock);
}
