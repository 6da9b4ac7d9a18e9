/* SPDX-License-Identifier: MIT */
/*
 * queue_sync.c - see queue_sync.h.
 *
 * Locks: queue_wait.lock (LOCK_RANK_PACKET) keeps a queue there while it is kicked: whoever is told
 * by a sync object may come after the packet is over and its context gone.
 */
#include "base/lock.h"
#include "base/mem.h"
#include "base/refcount.h"
#include "base/refusal.h"
#include "object/submit/hw_gate.h"
#include "object/submit/queue_sync.h"
#include "trace/trace.h"

static NTSTATUS no_memory(const char *what)
{
	return refuse_no_memory("no memory for %s in a queue", what);
}

/* ---- waits ---- */

struct wait_item {
	struct sync_body *body; /* with a reference */
	uint64_t value;
	uint32_t handle; /* for traces, of the opening, which may be closed by then */
};

struct queue_wait {
	struct sched_packet packet;
	struct refcount refs; /* the queue's, and the watch's while it is out */
	struct sync_watch watch;
	_Atomic(struct wait_item *) watched; /* for whom the watch is out; NULL: for nobody */

	struct lock lock; /* LOCK_RANK_PACKET */
	bool is_over;
	struct hw_queue_parent
		*hw_work;          /* of the context, which stays until it is retired; or NULL */
	struct dxg_device *device; /* stays until then, too */

	uint32_t count;
	struct wait_item items[];
};

static uint64_t wait_bytes(uint32_t count)
{
	return sizeof(struct queue_wait) + (uint64_t)count * sizeof(struct wait_item);
}

static void wait_put(struct queue_wait *wait)
{
	if (!refcount_put(&wait->refs))
		return;
	for (uint32_t i = 0; i < wait->count; i++)
		share_put(&wait->items[i].body->share);
	lock_finish(&wait->lock);
	mem_free(wait);
}

static void wait_try_again(struct sync_watch *watch)
{
	struct queue_wait *wait = container_of(watch, struct queue_wait, watch);

	lock_acquire(&wait->lock);
	atomic_store(&wait->watched, NULL);
	if (!wait->is_over)
		sched_queue_kick(wait->packet.queue);
	lock_release(&wait->lock);
	wait_put(wait);
}

/* Those that are taken by waiting come last, so that they are taken when nothing else is missing.
 */
static struct wait_item *first_missing(struct queue_wait *wait)
{
	uint32_t i;

	for (i = 0; i < wait->count; i++) {
		if (!sync_body_try_wait(wait->items[i].body, wait->items[i].value))
			break;
	}
	if (i == wait->count)
		return NULL;
	struct wait_item *missing = &wait->items[i];
	while (i-- > 0) {
		if (!sync_body_is_fence(wait->items[i].body))
			(void)sync_body_signal(wait->items[i].body, 0, false);
	}
	return missing;
}

static bool wait_try(struct sched_packet *packet)
{
	struct queue_wait *wait = container_of(packet, struct queue_wait, packet);
	struct wait_item *missing;

	/* Tried again without a kick: work before it was preempted, and has been submitted again. */
	if (atomic_load(&wait->watched))
		return false;
	while ((missing = first_missing(wait)) != NULL) {
		refcount_get(&wait->refs);
		atomic_store(&wait->watched, missing);
		if (sync_body_watch(missing->body, missing->value, &wait->watch))
			return false;
		atomic_store(&wait->watched, NULL);
		wait_put(wait); /* it came meanwhile */
	}
	return true;
}

static void wait_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	struct queue_wait *wait = container_of(packet, struct queue_wait, packet);

	lock_acquire(&wait->lock);
	wait->is_over = true;
	lock_release(&wait->lock);
	if (wait->hw_work && outcome == SCHED_DONE)
		hw_gate_pass(wait->hw_work);
	/* It is told no more; who is telling right now holds the watch's reference. */
	struct wait_item *watched = atomic_load(&wait->watched);
	if (watched && sync_body_watch_cancel(watched->body, &wait->watch))
		wait_put(wait);
	work_discharge(wait->device, wait_bytes(wait->count));
	wait_put(wait);
}

static void wait_trace(const struct sched_packet *packet)
{
	const struct queue_wait *wait = container_of(packet, const struct queue_wait, packet);

	for (uint32_t i = 0; i < wait->count && trace_is_on(); i++)
		trace_queue_wait_for(wait->device->adapter->id, wait->device->process->id,
				     wait->items[i].handle, wait->items[i].value);
}

static const struct sched_packet_ops wait_ops = {
	.try_wait = wait_try,
	.retired = wait_retired,
	.trace = wait_trace,
};

static void wait_take_items(struct queue_wait *wait, const struct queue_sync_item *items,
			    uint32_t count)
{
	for (int is_fence = 1; is_fence >= 0; is_fence--) {
		for (uint32_t i = 0; i < count; i++) {
			struct sync_body *body = items[i].object->body;
			if (sync_body_is_fence(body) != is_fence)
				continue;
			share_get(&body->share);
			wait->items[wait->count++] =
				(struct wait_item){ body, items[i].value,
						    items[i].object->object.handle };
		}
	}
}

NTSTATUS queue_sync_wait(const struct work_target *target, const struct queue_sync_item *items,
			 uint32_t count)
{
	struct queue_wait *wait;
	NTSTATUS status = work_charge(target->device, wait_bytes(count));

	if (!NT_SUCCESS(status))
		return status;
	wait = mem_zalloc(wait_bytes(count));
	if (!wait) {
		work_discharge(target->device, wait_bytes(count));
		return no_memory("a wait");
	}
	wait->packet.kind = SCHED_WAIT;
	wait->packet.ops = &wait_ops;
	wait->watch.try_again = wait_try_again;
	wait->hw_work = target->hw_work;
	wait->device = target->device;
	refcount_init(&wait->refs);
	lock_init(&wait->lock, LOCK_RANK_PACKET, "wait in a queue");
	wait_take_items(wait, items, count);
	wait_trace(&wait->packet);
	status = work_target_queue(target, &wait->packet);
	if (!NT_SUCCESS(status)) {
		work_discharge(target->device, wait_bytes(count));
		wait_put(wait);
	}
	return status;
}

/* ---- signals ---- */

struct signal_item {
	struct sync_body *body; /* with a reference */
	uint64_t value;
	uint32_t handle;      /* for traces, of the opening, which may be closed by then */
	bool jumps_when_lost; /* as that has it */
};

/* What happens when the last of the queues has come to it. */
struct signal_group {
	struct refcount refs;     /* packets */
	_Atomic uint32_t missing; /* packets whose turn has not come */
	_Atomic bool is_lost;     /* … and will not come: the device is */
	bool is_rewind;
	struct event event;
	uint32_t count;
	struct signal_item items[];
};

struct queue_signal {
	struct sched_packet packet;
	struct signal_group *group;
	struct dxg_device *device; /* stays until it is retired */
};

static uint64_t signal_bytes(const struct signal_group *group)
{
	return sizeof(struct queue_signal) + sizeof(*group) +
	       (uint64_t)group->count * sizeof(group->items[0]);
}

/* Nobody else would let go who waits for it. */
static void group_signal_lost(struct signal_group *group)
{
	for (uint32_t i = 0; i < group->count; i++) {
		const struct signal_item *item = &group->items[i];

		if (sync_body_is_fence(item->body) && item->jumps_when_lost)
			fence_end(&item->body->fence);
		if (item->body->kind == SYNC_CPU_NOTIFICATION)
			event_set(&item->body->event);
	}
	event_set(&group->event);
}

static void group_put(struct signal_group *group)
{
	if (!refcount_put(&group->refs))
		return;
	if (atomic_load(&group->is_lost))
		group_signal_lost(group);
	for (uint32_t i = 0; i < group->count; i++)
		share_put(&group->items[i].body->share);
	event_close(&group->event);
	mem_free(group);
}

static void signal_act(struct sched_packet *packet)
{
	struct signal_group *group = container_of(packet, struct queue_signal, packet)->group;

	if (atomic_fetch_sub(&group->missing, 1) != 1)
		return;
	for (uint32_t i = 0; i < group->count; i++)
		(void)sync_body_signal(group->items[i].body, group->items[i].value,
				       group->is_rewind);
	event_set(&group->event);
}

static void signal_free(struct queue_signal *signal)
{
	work_discharge(signal->device, signal_bytes(signal->group));
	group_put(signal->group);
	mem_free(signal);
}

/* The scheduler may know it before the device does. A process that ends loses work, and no device. */
static bool is_of_lost_device(const struct sched_packet *packet)
{
	struct dxg_device *device = container_of(packet->queue->owner, struct dxg_device, work);
	struct sched_loss loss;

	return device_state(device) != DEVICE_ACTIVE || sched_owner_loss(&device->work, &loss);
}

static void signal_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	struct queue_signal *signal = container_of(packet, struct queue_signal, packet);

	if (outcome != SCHED_DONE && is_of_lost_device(packet))
		atomic_store(&signal->group->is_lost, true);
	signal_free(signal);
}

static void signal_trace(const struct sched_packet *packet)
{
	const struct queue_signal *signal = container_of(packet, const struct queue_signal, packet);
	const struct signal_group *group = signal->group;

	for (uint32_t i = 0; i < group->count && trace_is_on(); i++)
		trace_queue_signal_of(signal->device->adapter->id, signal->device->process->id,
				      group->items[i].handle, group->items[i].value);
}

static const struct sched_packet_ops signal_ops = {
	.signal = signal_act,
	.retired = signal_retired,
	.trace = signal_trace,
};

static struct signal_group *group_create(const struct queue_sync_signal *signal,
					 uint32_t packet_count)
{
	struct signal_group *group =
		mem_zalloc(sizeof(*group) + (uint64_t)signal->item_count * sizeof(group->items[0]));

	if (!group)
		return NULL;
	refcount_init(&group->refs);
	group->missing = packet_count;
	group->is_rewind = signal->is_rewind;
	group->event = EVENT_NONE; /* the caller's until it succeeds */
	group->count = signal->item_count;
	for (uint32_t i = 0; i < group->count; i++) {
		const struct queue_sync_item *item = &signal->items[i];

		group->items[i] = (struct signal_item){ item->object->body, item->value,
							item->object->object.handle,
							item->object->access.jumps_when_lost };
		share_get(&group->items[i].body->share);
	}
	return group;
}

static NTSTATUS build_packet(struct signal_group *group, struct dxg_device *device,
			     struct queue_signal **signal_out)
{
	NTSTATUS status = work_charge(device, signal_bytes(group));

	if (!NT_SUCCESS(status))
		return status;
	struct queue_signal *signal = mem_zalloc(sizeof(*signal));
	if (!signal) {
		work_discharge(device, signal_bytes(group));
		return no_memory("a signal");
	}
	signal->device = device;
	signal->group = group;
	refcount_get(&group->refs);
	*signal_out = signal;
	return STATUS_SUCCESS;
}

static NTSTATUS build_packets(struct signal_group *group, const struct work_target *targets,
			      struct queue_signal **packets, uint32_t count, bool is_early)
{
	for (uint32_t i = 0; i < count; i++) {
		struct queue_signal *signal = NULL;
		NTSTATUS status = build_packet(group, targets[i].device, &signal);

		if (!signal) {
			while (i-- > 0)
				signal_free(packets[i]);
			return status;
		}
		signal->packet.kind = SCHED_SIGNAL;
		signal->packet.ops = &signal_ops;
		signal->packet.signals_early = is_early;
		packets[i] = signal;
	}
	return STATUS_SUCCESS;
}

/* A device that is lost in between takes the rest with it: nothing of it happens any more. */
static NTSTATUS queue_packets(const struct work_target *targets, struct queue_signal **packets,
			      uint32_t count)
{
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 0; i < count; i++) {
		if (NT_SUCCESS(status))
			signal_trace(&packets[i]->packet);
		if (NT_SUCCESS(status))
			status = work_target_queue(&targets[i], &packets[i]->packet);
		if (NT_SUCCESS(status))
			continue;
		/* One that ends meanwhile is none of those that it has to come behind. */
		if (targets[i].may_be_gone && status == STATUS_INVALID_PARAMETER) {
			signal_act(&packets[i]->packet);
			status = STATUS_SUCCESS;
		}
		signal_free(packets[i]);
	}
	return status;
}

NTSTATUS queue_sync_signal(const struct work_target *targets, uint32_t target_count,
			   const struct queue_sync_signal *signal)
{
	struct signal_group *group = group_create(signal, target_count);
	struct queue_signal **packets = mem_zalloc_array(target_count, sizeof(*packets));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!group || !packets) {
		no_memory("a signal");
		goto free_all;
	}
	status = build_packets(group, targets, packets, target_count, signal->is_early);
	if (!NT_SUCCESS(status))
		goto free_all;
	group->event = signal->event;
	status = queue_packets(targets, packets, target_count);
	if (!NT_SUCCESS(status))
		group->event = EVENT_NONE;
free_all:
	mem_free(packets);
	if (group)
		group_put(group);
	return status;
}

/* ---- recounting ---- */

void *queue_sync_group(struct sched_packet *packet)
{
	return packet->ops == &signal_ops ? container_of(packet, struct queue_signal, packet)->group
					  : NULL;
}

void queue_sync_for_each_body(struct sched_packet *packet,
			      void (*look)(void *context, struct sync_body *body), void *context)
{
	if (packet->ops == &wait_ops) {
		const struct queue_wait *wait = container_of(packet, struct queue_wait, packet);

		for (uint32_t i = 0; i < wait->count; i++)
			look(context, wait->items[i].body);
	} else if (packet->ops == &signal_ops) {
		const struct signal_group *group =
			container_of(packet, struct queue_signal, packet)->group;

		for (uint32_t i = 0; i < group->count; i++)
			look(context, group->items[i].body);
	}
}
