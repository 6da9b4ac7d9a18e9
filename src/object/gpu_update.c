/*
 * gpu_update.c - see gpu_update.h.
 *
 * Locks: process_adapter.updates_lock guards who waits. Fences call with no lock of theirs held.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "object/fence_watch.h"
#include "object/gpu_update.h"
#include "vidmm/keep.h"

struct gpu_update {
	struct space_update *update;
	struct vidmm_keep *keep;
	struct process_adapter *joined;
	const struct dxg_device *device; /* whose it is; not followed */
	struct sync_body *body;          /* with a reference */
	uint64_t value;
	struct fence_wait wait;
	struct list link; /* process_adapter.updates */
};

static void update_free(struct gpu_update *update)
{
	vidmm_keep_end(update->keep);
	share_put(&update->body->share);
	mem_free(update);
}

/* Whatever became of it, what is behind it in the fence's order goes on. */
static void update_done(void *context, NTSTATUS status)
{
	struct gpu_update *update = context;

	if (status == STATUS_NO_MEMORY) /* it never came to be, and nobody else is told */
		device_lose_all(update->joined, DEVICE_OUT_OF_MEMORY);
	/* Before the fence says that it is over. */
	vidmm_keep_end(update->keep);
	update->keep = NULL;
	(void)sync_body_signal(update->body, update->value + 1, false);
	update_free(update);
}

/* Off the list of those that wait; false: it was not on it any more. */
static bool stop_waiting(struct gpu_update *update)
{
	bool was_waiting;

	lock_acquire(&update->joined->updates_lock);
	was_waiting = list_is_linked(&update->link);
	list_remove(&update->link);
	lock_release(&update->joined->updates_lock);
	return was_waiting;
}

static void reached(struct fence_wait *wait)
{
	struct gpu_update *update = container_of(wait, struct gpu_update, wait);

	(void)stop_waiting(update);
	space_update_run(update->update);
}

/* True: it waits. From there on it may be over, and gone. */
static bool start(struct gpu_update *update, bool is_now)
{
	struct process_adapter *joined = update->joined;
	struct sync_body *body = update->body;

	if (is_now) {
		space_update_run(update->update);
		return false;
	}
	lock_acquire(&joined->updates_lock);
	list_push_back(&joined->updates, &update->link);
	lock_release(&joined->updates_lock);
	if (!fence_wait_start(&body->fence, &update->wait)) {
		reached(&update->wait);
		return false;
	}
	fence_watch_begin(body);
	return true;
}

static bool is_dying(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	bool is_dying = device->is_dying || atomic_load(&device->process->is_dying);
	lock_release(&device->lock);
	return is_dying;
}

NTSTATUS gpu_update_queue(struct dxg_device *device, struct dxg_sync_object *fence, uint64_t value,
			  bool is_now, const struct gpu_update_list *list)
{
	struct gpu_update *update = mem_zalloc(sizeof(*update));
	NTSTATUS status;

	if (update)
		update->keep = vidmm_keep_create(&device->memory, list->bindings, list->count);
	if (!update || !update->keep) {
		mem_free(update);
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for an update of GPU addresses");
	}
	update->joined = device->joined;
	update->device = device;
	update->body = fence->body;
	share_get(&update->body->share);
	update->value = value;
	update->wait.value = value;
	update->wait.reached = reached;
	list_init(&update->link);
	status = address_space_update(device->joined->addresses, list->operations, list->count,
				      &(struct space_listener){ update_done, update },
				      &update->update);
	if (!NT_SUCCESS(status)) {
		update_free(update);
		return status;
	}
	/* Who ends the device, or the process, may have looked before it was there. */
	if (start(update, is_now) && is_dying(device))
		gpu_update_cancel_device(device);
	return STATUS_SUCCESS;
}

/*
 * Of one device, or of all. One that is reached at this moment is not on the list any more, or
 * cannot be cancelled.
 */
static struct gpu_update *take_waiting(struct process_adapter *joined,
				       const struct dxg_device *device)
{
	struct gpu_update *found = NULL;
	struct list *link;

	lock_acquire(&joined->updates_lock);
	list_for_each (link, &joined->updates) {
		struct gpu_update *update = container_of(link, struct gpu_update, link);

		if ((!device || update->device == device) &&
		    fence_wait_cancel(&update->body->fence, &update->wait)) {
			list_remove(link);
			found = update;
			break;
		}
	}
	lock_release(&joined->updates_lock);
	return found;
}

static void cancel(struct process_adapter *joined, const struct dxg_device *device)
{
	struct gpu_update *update;

	while ((update = take_waiting(joined, device)) != NULL) {
		space_update_cancel(update->update);
		update_free(update);
	}
}

void gpu_update_cancel_all(struct process_adapter *joined)
{
	cancel(joined, NULL);
}

void gpu_update_cancel_device(struct dxg_device *device)
{
	cancel(device->joined, device);
}

void gpu_update_for_each_body(struct process_adapter *joined,
			      void (*look)(void *context, struct sync_body *body), void *context)
{
	struct list *link;

	lock_acquire(&joined->updates_lock);
	list_for_each (link, &joined->updates)
		look(context, container_of(link, struct gpu_update, link)->body);
	lock_release(&joined->updates_lock);
}
