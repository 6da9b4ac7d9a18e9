/* SPDX-License-Identifier: MIT */
/*
 * queue_calls.c - waits and signals in the queues of contexts, and in hardware queues.
 *
 * Nine calls say the same in different structs: which queues, which objects, which values. Each is
 * turned into a queue_list; after that there is one way.
 */
#include <assert.h>
#include <string.h>

#include "dispatch/dispatch.h"
#include "object/owner/hw_queue.h"
#include "object/submit/queue_sync.h"
#include "wire/travel.h"

enum purpose { TO_SIGNAL, TO_WAIT };

/* Where the values of fences come from. */
enum value_source {
	NO_VALUE,        /* the first version: fences have none, so there are none */
	ONE_VALUE,       /* one for all */
	BY_KIND,         /* a pointer to an array for monitored fences, one value for others */
	ARRAY_OF_VALUES, /* a pointer to an array; only monitored fences have one */
	ONLY_MONITORED,  /* the same, and there is nothing else */
};

struct queue_list {
	struct call *call;
	struct dxg_device *device; /* of the queues */
	uint32_t target_count;
	struct work_target *targets;
	struct object **holders; /* with references: whose they are */
	uint32_t item_count;
	struct queue_sync_item *items; /* with references */
};

static void list_finish(struct queue_list *list)
{
	while (list->target_count > 0)
		object_put(list->holders[--list->target_count]);
	while (list->item_count > 0)
		object_put(&list->items[--list->item_count].object->object);
}

/* ---- queues ---- */

static NTSTATUS list_reserve(struct queue_list *list, const char *count_name, uint32_t count)
{
	if (count > D3DDDI_MAX_BROADCAST_CONTEXT) {
		invalid(RULE_API_COUNT, count_name, "is %u, and %u are possible", count,
			D3DDDI_MAX_BROADCAST_CONTEXT);
		return STATUS_INVALID_PARAMETER; /* here, for the analyser: it is no success */
	}
	list->targets = call_take(list->call, (count + 1ull) * sizeof(*list->targets));
	list->holders = call_take(list->call, (count + 1ull) * sizeof(struct object *));
	return list->targets && list->holders ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

/* Takes the reference over. */
static NTSTATUS take_target(struct queue_list *list, const char *name, uint32_t index,
			    struct work_target target, struct object *holder)
{
	const struct dxg_device *device = list->device;

	list->targets[list->target_count] = target;
	list->holders[list->target_count++] = holder;
	list->device = target.device;
	if (device && device != target.device)
		return invalid_item(RULE_API_HANDLE, name, index,
				    "is of another device than the first");
	return STATUS_SUCCESS;
}

static NTSTATUS add_context(struct queue_list *list, const char *name, uint32_t index,
			    D3DKMT_HANDLE handle)
{
	struct object *found = NULL;
	NTSTATUS status = call_find_object(list->call, &context_class, name, index, handle, &found);

	if (!NT_SUCCESS(status))
		return status;
	return take_target(list, name, index, context_target(object_as(context, found)), found);
}

/* Work of some contexts goes to hardware queues: what comes behind it is for all of those to say. */
static NTSTATUS add_queues_of_contexts(struct queue_list *list)
{
	const uint32_t context_count = list->target_count;
	uint32_t capacity = 0;

	for (uint32_t i = 0; i < context_count; i++) {
		if (list->targets[i].hw_work)
			capacity += hw_queue_targets(list->targets[i].hw_work, NULL, NULL, 0);
	}
	if (capacity == 0)
		return STATUS_SUCCESS;
	struct work_target *targets =
		call_take(list->call, (context_count + (uint64_t)capacity) * sizeof(*targets));
	struct object **holders = call_take(list->call, (context_count + (uint64_t)capacity) *
								sizeof(struct object *));
	if (!targets || !holders)
		return STATUS_NO_MEMORY;
	memcpy(targets, list->targets, context_count * sizeof(*targets));
	memcpy(holders, list->holders, context_count * sizeof(struct object *));
	list->targets = targets;
	list->holders = holders;
	/* Those that came meanwhile have nothing yet that it could come behind. */
	for (uint32_t i = 0; i < context_count; i++) {
		if (!targets[i].hw_work)
			continue;
		uint32_t count = hw_queue_targets(targets[i].hw_work, targets + list->target_count,
						  holders + list->target_count, capacity);
		count = count < capacity ? count : capacity;
		list->target_count += count;
		capacity -= count;
	}
	return STATUS_SUCCESS;
}

/* `first` comes on its own in some calls; NULL: it is in the list with the others. */
static NTSTATUS add_contexts(struct queue_list *list, struct dxg_context *first,
			     const D3DKMT_HANDLE *handles, uint32_t count)
{
	const char *name = first ? "BroadcastContext" : "BroadcastContextArray";
	NTSTATUS status = list_reserve(list, "BroadcastContextCount", count);

	if (NT_SUCCESS(status) && first) {
		object_get(&first->object);
		status = take_target(list, "hContext", 0, context_target(first), &first->object);
	}
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		status = add_context(list, name, i, handles[i]);
	return status;
}

static NTSTATUS add_hw_queues(struct queue_list *list, const D3DKMT_HANDLE *handles, uint32_t count)
{
	static const char name[] = "BroadcastHwQueueArray";
	NTSTATUS status = list_reserve(list, "BroadcastHwQueueCount", count);

	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++) {
		struct object *found = NULL;

		status = call_find_object(list->call, &hw_queue_class, name, i, handles[i], &found);
		if (NT_SUCCESS(status))
			status = take_target(list, name, i,
					     hw_queue_target(object_as(hw_queue, found)), found);
	}
	return status;
}

/* ---- objects ---- */

static NTSTATUS check_object(const struct queue_list *list, const struct dxg_sync_object *object,
			     uint32_t index, enum purpose purpose, enum value_source source)
{
	const char *name = "ObjectHandleArray";

	if (object->device && object->device != list->device)
		return invalid_item(RULE_API_HANDLE, name, index,
				    "is of another device than the queue");
	if (source == ONLY_MONITORED && object->body->kind != SYNC_MONITORED_FENCE)
		return invalid_item(RULE_API_SYNC_KIND, name, index,
				    "is %s, and hardware queues know only monitored fences",
				    sync_kind_name(object->body->kind));
	if (purpose == TO_WAIT && object->body->kind == SYNC_CPU_NOTIFICATION)
		return invalid_item(RULE_API_SYNC_KIND, name, index,
				    "is a CPU notification, which nobody can wait for");
	if (object->body->cpu_event)
		return invalid_item(RULE_API_SYNC_KIND, name, index,
				    "was created with SignalByKmd: the driver sets it, no queue");
	if ((source == NO_VALUE && sync_body_is_fence(object->body)) ||
	    (source == ARRAY_OF_VALUES && object->body->kind == SYNC_FENCE))
		return invalid_item(RULE_API_SYNC_KIND, name, index,
				    "is %s, and this call has no value for it",
				    sync_kind_name(object->body->kind));
	if (!(purpose == TO_SIGNAL ? object->access.may_signal : object->access.may_wait))
		return refuse_item(STATUS_ACCESS_DENIED, RULE_API_SYNC_ACCESS, name, index,
				   "was opened without the right to %s",
				   purpose == TO_SIGNAL ? "signal" : "wait");
	return STATUS_SUCCESS;
}

static NTSTATUS add_objects(struct queue_list *list, const D3DKMT_HANDLE *handles, uint32_t count,
			    uint32_t max, enum purpose purpose, enum value_source source)
{
	NTSTATUS status = STATUS_SUCCESS;

	if (count > max)
		return invalid(RULE_API_COUNT, "ObjectCount", "is %u, and %u are possible", count,
			       max);
	list->items = call_take(list->call, (count + 1ull) * sizeof(*list->items));
	if (!list->items)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++) {
		struct queue_sync_item *item = &list->items[i];
		struct object *found = NULL;
		status = call_find_object(list->call, &sync_object_class, "ObjectHandleArray", i,
					  handles[i], &found);
		if (!NT_SUCCESS(status))
			break;
		item->object = object_as(sync_object, found);
		list->item_count++;
		status = check_object(list, item->object, i, purpose, source);
	}
	return status;
}

/* ---- values ---- */

static bool has_kind(const struct queue_list *list, enum sync_kind kind)
{
	for (uint32_t i = 0; i < list->item_count; i++) {
		if (list->items[i].object->body->kind == kind)
			return true;
	}
	return false;
}

static NTSTATUS take_array(struct queue_list *list, const char *name, const void *client)
{
	void *values;
	NTSTATUS status = call_copy_list(list->call, name, client, "ObjectCount", list->item_count,
					 sizeof(uint64_t), &values);

	assert(!NT_SUCCESS(status) || values || list->item_count == 0);
	for (uint32_t i = 0; NT_SUCCESS(status) && i < list->item_count; i++)
		list->items[i].value = ((const uint64_t *)values)[i];
	return status;
}

/* What a call has for the values of fences. */
struct value_slot {
	uint64_t value;
	const void *array; /* where it leads, if it is a pointer */
};

/* One slot holds a value or a pointer to values: the kind of the objects says which. */
static struct value_slot slot_of(const UINT64 *words)
{
	return (struct value_slot){ .value = words[0], .array = travel_slot_values(words) };
}

static NTSTATUS take_values(struct queue_list *list, enum value_source source,
			    struct value_slot slot)
{
	bool is_monitored = has_kind(list, SYNC_MONITORED_FENCE);

	if (source == BY_KIND && is_monitored && has_kind(list, SYNC_FENCE))
		return invalid(RULE_API_SYNC_KIND, "ObjectHandleArray",
			       "has monitored fences and others, and one slot for their values");
	if (source == ONLY_MONITORED)
		return take_array(list, "FenceValueArray", slot.array);
	if (is_monitored && (source == BY_KIND || source == ARRAY_OF_VALUES))
		return take_array(list, "MonitoredFenceValueArray", slot.array);
	for (uint32_t i = 0; i < list->item_count; i++)
		list->items[i].value = slot.value;
	return STATUS_SUCCESS;
}

/* ---- signal ---- */

struct signal_args {
	struct dxg_context *first;
	const D3DKMT_HANDLE *contexts;
	uint32_t context_count;
	const D3DKMT_HANDLE *objects;
	uint32_t object_count;
	uint32_t object_max;
	D3DDDICB_SIGNALFLAGS flags;
	enum value_source source;
	struct value_slot slot;
};

static NTSTATUS signal_event(struct queue_list *list, const struct signal_args *args)
{
	struct queue_sync_signal signal = { .is_early = args->flags.SignalAtSubmission };

	if (args->object_count != 0)
		return invalid(RULE_API_COUNT, "ObjectCount",
			       "is %u with EnqueueCpuEvent, which signals an event only",
			       args->object_count);
	NTSTATUS status = event_capture(list->call->process->ledger, (uintptr_t)args->slot.value,
					"CpuEventHandle", &signal.event);
	if (!NT_SUCCESS(status))
		return status;
	status = queue_sync_signal(list->targets, list->target_count, &signal);
	if (!NT_SUCCESS(status))
		event_close(&signal.event);
	return status;
}

static NTSTATUS signal_objects(struct queue_list *list, const struct signal_args *args)
{
	NTSTATUS status = add_objects(list, args->objects, args->object_count, args->object_max,
				      TO_SIGNAL, args->source);

	if (NT_SUCCESS(status))
		status = take_values(list, args->source, args->slot);
	if (!NT_SUCCESS(status))
		return status;
	const struct queue_sync_signal signal = {
		.items = list->items,
		.item_count = list->item_count,
		.event = EVENT_NONE,
		.is_early = args->flags.SignalAtSubmission,
		.is_rewind = args->flags.AllowFenceRewind,
	};
	return queue_sync_signal(list->targets, list->target_count, &signal);
}

static NTSTATUS signal_in_queues(struct call *call, const struct signal_args *args)
{
	struct queue_list list = { .call = call };
	NTSTATUS status = add_contexts(&list, args->first, args->contexts, args->context_count);

	if (NT_SUCCESS(status) && list.target_count == 0)
		status = invalid(RULE_API_COUNT, "BroadcastContextCount", "is 0");
	if (NT_SUCCESS(status))
		status = add_queues_of_contexts(&list);
	if (NT_SUCCESS(status))
		status = args->flags.EnqueueCpuEvent ? signal_event(&list, args)
						     : signal_objects(&list, args);
	list_finish(&list);
	return status;
}

NTSTATUS dispatch_signal_synchronization_object(struct call *call,
						D3DKMT_SIGNALSYNCHRONIZATIONOBJECT *args)
{
	return signal_in_queues(call, &(struct signal_args){
					      .first = call_context(call, 0),
					      .objects = args->ObjectHandleArray,
					      .object_count = args->ObjectCount,
					      .object_max = D3DDDI_MAX_OBJECT_SIGNALED,
					      .flags = args->Flags,
					      .source = NO_VALUE,
				      });
}

NTSTATUS dispatch_signal_synchronization_object2(struct call *call,
						 D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *args)
{
	return signal_in_queues(call, &(struct signal_args){
					      .first = call_context(call, 0),
					      .contexts = args->BroadcastContext,
					      .context_count = args->BroadcastContextCount,
					      .objects = args->ObjectHandleArray,
					      .object_count = args->ObjectCount,
					      .object_max = D3DDDI_MAX_OBJECT_SIGNALED,
					      .flags = args->Flags,
					      .source = ONE_VALUE,
					      .slot = { .value = args->Fence.FenceValue },
				      });
}

NTSTATUS
dispatch_signal_synchronization_object_from_gpu(struct call *call,
						D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *args)
{
	return signal_in_queues(call, &(struct signal_args){
					      .first = call_context(call, 0),
					      .objects = args->ObjectHandleArray,
					      .object_count = args->ObjectCount,
					      .object_max = CALL_MAX_LIST,
					      .source = ARRAY_OF_VALUES,
					      .slot = slot_of(args->Reserved),
				      });
}

NTSTATUS
dispatch_signal_synchronization_object_from_gpu2(struct call *call,
						 D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *args)
{
	return signal_in_queues(call, &(struct signal_args){
					      .contexts = args->BroadcastContextArray,
					      .context_count = args->BroadcastContextCount,
					      .objects = args->ObjectHandleArray,
					      .object_count = args->ObjectCount,
					      .object_max = CALL_MAX_LIST,
					      .flags = args->Flags,
					      .source = BY_KIND,
					      .slot = slot_of(args->Reserved),
				      });
}

/*
 * The struct has room for values and none for an event: an event that is to be set has nowhere to
 * come from.
 */
NTSTATUS
dispatch_submit_signal_sync_objects_to_hw_queue(struct call *call,
						D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *args)
{
	struct queue_list list = { .call = call };
	const struct signal_args signal = {
		.objects = args->ObjectHandleArray,
		.object_count = args->ObjectCount,
		.object_max = CALL_MAX_LIST,
		.flags = args->Flags,
		.source = ONLY_MONITORED,
		.slot = { .array = args->FenceValueArray },
	};

	if (args->Flags.EnqueueCpuEvent)
		return invalid(RULE_API_VALUE, "Flags",
			       "has EnqueueCpuEvent, and this call has no event");
	if (args->BroadcastHwQueueCount == 0)
		return invalid(RULE_API_COUNT, "BroadcastHwQueueCount", "is 0");
	if (args->ObjectCount == 0)
		return invalid(RULE_API_COUNT, "ObjectCount", "is 0");
	NTSTATUS status =
		add_hw_queues(&list, args->BroadcastHwQueueArray, args->BroadcastHwQueueCount);
	if (NT_SUCCESS(status))
		status = signal_objects(&list, &signal);
	list_finish(&list);
	return status;
}

/* ---- wait ---- */

static NTSTATUS wait_in_list(struct queue_list *list, const D3DKMT_HANDLE *objects, uint32_t count,
			     uint32_t max, enum value_source source, struct value_slot slot)
{
	if (count == 0)
		return invalid(RULE_API_COUNT, "ObjectCount", "is 0");
	NTSTATUS status = add_objects(list, objects, count, max, TO_WAIT, source);
	if (NT_SUCCESS(status))
		status = take_values(list, source, slot);
	if (NT_SUCCESS(status))
		status = queue_sync_wait(&list->targets[0], list->items, list->item_count);
	return status;
}

static NTSTATUS wait_in_queue(struct call *call, const D3DKMT_HANDLE *objects, uint32_t count,
			      uint32_t max, enum value_source source, struct value_slot slot)
{
	struct queue_list list = { .call = call };
	NTSTATUS status = add_contexts(&list, call_context(call, 0), NULL, 0);

	if (NT_SUCCESS(status))
		status = wait_in_list(&list, objects, count, max, source, slot);
	list_finish(&list);
	return status;
}

NTSTATUS dispatch_wait_for_synchronization_object(struct call *call,
						  D3DKMT_WAITFORSYNCHRONIZATIONOBJECT *args)
{
	return wait_in_queue(call, args->ObjectHandleArray, args->ObjectCount,
			     D3DDDI_MAX_OBJECT_WAITED_ON, NO_VALUE, (struct value_slot){ 0 });
}

NTSTATUS dispatch_wait_for_synchronization_object2(struct call *call,
						   D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2 *args)
{
	return wait_in_queue(call, args->ObjectHandleArray, args->ObjectCount,
			     D3DDDI_MAX_OBJECT_WAITED_ON, ONE_VALUE,
			     (struct value_slot){ .value = args->Fence.FenceValue });
}

NTSTATUS
dispatch_wait_for_synchronization_object_from_gpu(struct call *call,
						  D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *args)
{
	return wait_in_queue(call, args->ObjectHandleArray, args->ObjectCount, CALL_MAX_LIST,
			     BY_KIND, slot_of(args->Reserved));
}

NTSTATUS dispatch_submit_wait_for_sync_objects_to_hw_queue(
	struct call *call, D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *args)
{
	struct queue_list list = { .call = call };
	struct dxg_hw_queue *queue = object_as(hw_queue, call->objects[0]);
	NTSTATUS status = list_reserve(&list, "ObjectCount", 1);

	if (NT_SUCCESS(status)) {
		object_get(&queue->object);
		status = take_target(&list, "hHwQueue", 0, hw_queue_target(queue), &queue->object);
	}
	if (NT_SUCCESS(status))
		status = wait_in_list(&list, args->ObjectHandleArray, args->ObjectCount,
				      CALL_MAX_LIST, ONLY_MONITORED,
				      (struct value_slot){ .array = args->FenceValueArray });
	list_finish(&list);
	return status;
}
