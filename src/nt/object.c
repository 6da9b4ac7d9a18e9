/* SPDX-License-Identifier: MIT */
/*
 * object.c - references and handles, and the Ob, event and close routines on top of them.
 *
 * Handles are indices into one table, dressed as kernel handles (the upper half all ones, a
 * multiple of four). A closed slot goes to the end of the free list, so a stale handle stays
 * invalid for as long as possible. LOCK_RANK_NT_OBJECTS guards the table and nothing else;
 * destroy functions run without it.
 */
#include <stdbool.h>

#include "base/lock.h"
#include "base/mem.h"

#include <ddk/wdm.h>

#include "nt/irql.h"
#include "nt/object.h"
#include "nt/report.h"

#define OBJECT_MAGIC 0x4a624f4eu /* "NObJ" */
#define OBJECT_DEAD  0xdeadb0d1u

#define HANDLE_BASE 0xffffffff80000000ul

enum { HANDLE_LIMIT = 1 << 20, HANDLE_END = UINT32_MAX };

const struct nt_object_type nt_type_thread = { "thread" };
const struct nt_object_type nt_type_process = { "process" };
const struct nt_object_type nt_type_event = { "event" };
const struct nt_object_type nt_type_semaphore = { "semaphore" };
const struct nt_object_type nt_type_file = { "file" };
const struct nt_object_type nt_type_section = { "section" };
const struct nt_object_type nt_type_key = { "registry key" };
const struct nt_object_type nt_type_device = { "device" };
const struct nt_object_type nt_type_driver = { "driver" };

_Static_assert(sizeof(struct nt_object) % 16 == 0, "bodies are 16-byte aligned");

struct handle_slot {
	struct nt_object *object; /* NULL: free */
	uint32_t next_free;
};

static struct {
	struct lock lock;
	struct handle_slot *slots;
	uint32_t capacity;
	uint32_t first_free; /* taken here, given back at last_free; HANDLE_END: none */
	uint32_t last_free;
} table = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_NT_OBJECTS, "NT handles"),
	.first_free = HANDLE_END,
	.last_free = HANDLE_END,
};

/* Objects. */

void nt_object_init(struct nt_object *object, const struct nt_object_type *type,
		    void (*destroy)(struct nt_object *object))
{
	object->type = type;
	object->destroy = destroy;
	refcount_init(&object->refs);
	object->magic = OBJECT_MAGIC;
}

struct nt_object *nt_object_from_body(const void *body)
{
	if (!body || ((uintptr_t)body & 15) != 0)
		return NULL;
	struct nt_object *object = (struct nt_object *)body - 1;
	return object->magic == OBJECT_MAGIC ? object : NULL;
}

void nt_object_get(struct nt_object *object)
{
	refcount_get(&object->refs);
}

void nt_object_put(struct nt_object *object)
{
	if (!object || !refcount_put(&object->refs))
		return;
	object->magic = OBJECT_DEAD;
	object->destroy(object);
}

/* Handles. */

static bool handle_index(void *handle, uint32_t *index_out)
{
	uintptr_t value = (uintptr_t)handle;

	if (value < HANDLE_BASE || (value & 3) != 0)
		return false;
	value = (value - HANDLE_BASE) / 4;
	if (value == 0 || value > table.capacity)
		return false;
	*index_out = (uint32_t)value - 1;
	return true;
}

static bool table_grow_locked(void)
{
	uint32_t capacity = table.capacity == 0 ? 64 : table.capacity * 2;

	lock_assert_held(&table.lock);
	if (capacity > HANDLE_LIMIT)
		return false;
	struct handle_slot *slots = mem_realloc(table.slots, capacity * sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = table.capacity; i < capacity; i++)
		slots[i] =
			(struct handle_slot){ .next_free = i + 1 < capacity ? i + 1 : HANDLE_END };
	table.slots = slots;
	table.first_free = table.capacity;
	table.last_free = capacity - 1;
	table.capacity = capacity;
	return true;
}

NTSTATUS nt_handle_open(struct nt_object *object, void **handle_out)
{
	lock_acquire(&table.lock);
	if (table.first_free == HANDLE_END && !table_grow_locked()) {
		lock_release(&table.lock);
		return STATUS_INSUFFICIENT_RESOURCES;
	}
	uint32_t index = table.first_free;
	table.first_free = table.slots[index].next_free;
	if (table.first_free == HANDLE_END)
		table.last_free = HANDLE_END;
	nt_object_get(object);
	table.slots[index].object = object;
	lock_release(&table.lock);

	*handle_out = (void *)(HANDLE_BASE + ((uintptr_t)index + 1) * 4);
	return STATUS_SUCCESS;
}

NTSTATUS nt_handle_get(void *handle, const struct nt_object_type *type,
		       struct nt_object **object_out)
{
	NTSTATUS status = STATUS_INVALID_HANDLE;
	uint32_t index;

	lock_acquire(&table.lock);
	if (handle_index(handle, &index) && table.slots[index].object) {
		struct nt_object *object = table.slots[index].object;

		if (type && object->type != type) {
			status = STATUS_OBJECT_TYPE_MISMATCH;
		} else {
			nt_object_get(object);
			*object_out = object;
			status = STATUS_SUCCESS;
		}
	}
	lock_release(&table.lock);
	return status;
}

NTSTATUS nt_handle_close(void *handle)
{
	struct nt_object *object = NULL;
	uint32_t index;

	lock_acquire(&table.lock);
	if (handle_index(handle, &index) && table.slots[index].object) {
		object = table.slots[index].object;
		table.slots[index] = (struct handle_slot){ .next_free = HANDLE_END };
		if (table.last_free == HANDLE_END)
			table.first_free = index;
		else
			table.slots[table.last_free].next_free = index;
		table.last_free = index;
	}
	lock_release(&table.lock);

	if (!object)
		return STATUS_INVALID_HANDLE;
	nt_object_put(object);
	return STATUS_SUCCESS;
}

void nt_handle_finish(void)
{
	lock_acquire(&table.lock);
	struct handle_slot *slots = table.slots;
	uint32_t capacity = table.capacity;
	table.slots = NULL;
	table.capacity = 0;
	table.first_free = HANDLE_END;
	table.last_free = HANDLE_END;
	lock_release(&table.lock);

	for (uint32_t i = 0; i < capacity; i++)
		nt_object_put(slots[i].object);
	mem_free(slots);
}

/* What drivers call. */

#define OBJECT_TYPE(name, type)                                                                    \
	static POBJECT_TYPE name##_value = (POBJECT_TYPE) & (type);                                \
	POBJECT_TYPE *name = &name##_value

OBJECT_TYPE(PsThreadType, nt_type_thread);
OBJECT_TYPE(PsProcessType, nt_type_process);
OBJECT_TYPE(ExEventObjectType, nt_type_event);
OBJECT_TYPE(ExSemaphoreObjectType, nt_type_semaphore);
OBJECT_TYPE(IoFileObjectType, nt_type_file);
OBJECT_TYPE(MmSectionObjectType, nt_type_section);

static const char *type_name(POBJECT_TYPE type)
{
	return type ? ((const struct nt_object_type *)(void *)type)->name : "object";
}

NTSTATUS ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess,
				   POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode,
				   PVOID *Object, POBJECT_HANDLE_INFORMATION HandleInformation)
{
	struct nt_object *object;
	NTSTATUS status;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	*Object = NULL;
	if (Handle == NtCurrentThread() &&
	    (!ObjectType || ObjectType == (POBJECT_TYPE)&nt_type_thread)) {
		*Object = KeGetCurrentThread();
		ObfReferenceObject(*Object);
	} else {
		status = nt_handle_get(Handle, (const struct nt_object_type *)(void *)ObjectType,
				       &object);
		if (!NT_SUCCESS(status)) {
			nt_report(RULE_NT_HANDLE, "%s was given handle %p, which is not a%s %s",
				  __func__, Handle, ObjectType ? "" : "n", type_name(ObjectType));
			return status;
		}
		*Object = nt_object_body(object);
	}
	if (HandleInformation)
		*HandleInformation = (OBJECT_HANDLE_INFORMATION){ .GrantedAccess = DesiredAccess };
	return STATUS_SUCCESS;
}

NTSTATUS ObReferenceObjectByHandleWithTag(HANDLE Handle, ACCESS_MASK DesiredAccess,
					  POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode,
					  ULONG Tag, PVOID *Object,
					  POBJECT_HANDLE_INFORMATION HandleInformation)
{
	return ObReferenceObjectByHandle(Handle, DesiredAccess, ObjectType, AccessMode, Object,
					 HandleInformation);
}

static struct nt_object *object_from_driver(PVOID body, const char *routine)
{
	struct nt_object *object = nt_object_from_body(body);

	if (!object)
		nt_report(RULE_NT_OBJECT, "%s was given %p, which is not a live object", routine,
			  body);
	return object;
}

LONG_PTR ObfReferenceObject(PVOID Object)
{
	struct nt_object *object = object_from_driver(Object, "ObReferenceObject");

	if (!object)
		return 0;
	nt_object_get(object);
	return (LONG_PTR)atomic_load(&object->refs.count);
}

LONG_PTR ObfReferenceObjectWithTag(PVOID Object, ULONG Tag)
{
	return ObfReferenceObject(Object);
}

/* The answer is for people: with other threads around it is old when it arrives. */
LONG_PTR ObfDereferenceObject(PVOID Object)
{
	struct nt_object *object = object_from_driver(Object, "ObDereferenceObject");

	if (!object)
		return 0;
	LONG_PTR left = (LONG_PTR)atomic_load(&object->refs.count) - 1;
	nt_object_put(object);
	return left;
}

LONG_PTR ObfDereferenceObjectWithTag(PVOID Object, ULONG Tag)
{
	return ObfDereferenceObject(Object);
}

VOID ObDereferenceObjectDeferDelete(PVOID Object)
{
	ObfDereferenceObject(Object);
}

NTSTATUS ObReferenceObjectByPointer(PVOID Object, ACCESS_MASK DesiredAccess,
				    POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode)
{
	struct nt_object *object = object_from_driver(Object, __func__);

	if (!object)
		return STATUS_INVALID_PARAMETER;
	if (ObjectType && (const void *)object->type != (const void *)ObjectType)
		return STATUS_OBJECT_TYPE_MISMATCH;
	nt_object_get(object);
	return STATUS_SUCCESS;
}

NTSTATUS ObOpenObjectByPointer(PVOID Object, ULONG HandleAttributes, PVOID PassedAccessState,
			       ACCESS_MASK DesiredAccess, POBJECT_TYPE ObjectType,
			       KPROCESSOR_MODE AccessMode, PHANDLE Handle)
{
	struct nt_object *object = object_from_driver(Object, __func__);

	nt_irql_require(PASSIVE_LEVEL, __func__);
	*Handle = NULL;
	if (!object)
		return STATUS_INVALID_PARAMETER;
	if (ObjectType && (const void *)object->type != (const void *)ObjectType)
		return STATUS_OBJECT_TYPE_MISMATCH;
	return nt_handle_open(object, Handle);
}

NTSTATUS ZwClose(HANDLE Handle)
{
	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (Handle == NtCurrentThread() || Handle == NtCurrentProcess())
		return STATUS_SUCCESS;
	NTSTATUS status = nt_handle_close(Handle);
	if (!NT_SUCCESS(status))
		nt_report(RULE_NT_HANDLE, "%s was given handle %p, which is not open", __func__,
			  Handle);
	return status;
}

/* Events with handles. */

struct event_object {
	struct nt_object object;
	KEVENT event;
};

_Static_assert(offsetof(struct event_object, event) == sizeof(struct nt_object), "body");

static void event_destroy(struct nt_object *object)
{
	mem_free(container_of(object, struct event_object, object));
}

/* The handle holds the only reference. */
static NTSTATUS event_create(EVENT_TYPE type, BOOLEAN state, HANDLE *handle_out,
			     struct event_object **event_out)
{
	struct event_object *event = mem_zalloc(sizeof(*event));

	if (!event)
		return STATUS_INSUFFICIENT_RESOURCES;
	nt_object_init(&event->object, &nt_type_event, event_destroy);
	KeInitializeEvent(&event->event, type, state);
	NTSTATUS status = nt_handle_open(&event->object, handle_out);
	if (NT_SUCCESS(status))
		*event_out = event;
	nt_object_put(&event->object);
	return status;
}

NTSTATUS ZwCreateEvent(PHANDLE EventHandle, ACCESS_MASK DesiredAccess,
		       POBJECT_ATTRIBUTES ObjectAttributes, EVENT_TYPE EventType,
		       BOOLEAN InitialState)
{
	struct event_object *event;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	*EventHandle = NULL;
	if (EventType != NotificationEvent && EventType != SynchronizationEvent)
		return STATUS_INVALID_PARAMETER;
	if (ObjectAttributes && ObjectAttributes->ObjectName) {
		nt_report(RULE_NT_NOT_HOSTED,
			  "%s asks for a named event, and there is no object "
			  "namespace here",
			  __func__);
		return STATUS_NOT_SUPPORTED;
	}
	return event_create(EventType, InitialState, EventHandle, &event);
}

NTSTATUS ZwSetEvent(HANDLE EventHandle, PLONG PreviousState)
{
	struct nt_object *object;
	NTSTATUS status = nt_handle_get(EventHandle, &nt_type_event, &object);

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (!NT_SUCCESS(status)) {
		nt_report(RULE_NT_HANDLE, "%s was given handle %p, which is not an event", __func__,
			  EventHandle);
		return status;
	}
	LONG previous = KeSetEvent(nt_object_body(object), IO_NO_INCREMENT, FALSE);
	if (PreviousState)
		*PreviousState = previous;
	nt_object_put(object);
	return STATUS_SUCCESS;
}

NTSTATUS ZwWaitForSingleObject(HANDLE Handle, BOOLEAN Alertable, PLARGE_INTEGER Timeout)
{
	struct nt_object *object;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	NTSTATUS status = nt_handle_get(Handle, NULL, &object);

	if (!NT_SUCCESS(status)) {
		nt_report(RULE_NT_HANDLE, "%s was given handle %p, which is not open", __func__,
			  Handle);
		return status;
	}
	if (object->type == &nt_type_event || object->type == &nt_type_thread ||
	    object->type == &nt_type_semaphore)
		status = KeWaitForSingleObject(nt_object_body(object), Executive, KernelMode,
					       Alertable, Timeout);
	else
		status = STATUS_OBJECT_TYPE_MISMATCH;
	nt_object_put(object);
	return status;
}

/*
 * Named events are shared between drivers and with user mode. Here nobody else could open one, so
 * the name only tells two calls of one driver apart, which no driver does: each gets an event.
 */
static PKEVENT io_create_event(EVENT_TYPE type, PHANDLE handle, const char *routine)
{
	struct event_object *event;

	nt_irql_require(PASSIVE_LEVEL, routine);
	if (!NT_SUCCESS(event_create(type, TRUE, handle, &event)))
		return NULL;
	return &event->event;
}

PKEVENT IoCreateNotificationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle)
{
	return io_create_event(NotificationEvent, EventHandle, __func__);
}

PKEVENT IoCreateSynchronizationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle)
{
	return io_create_event(SynchronizationEvent, EventHandle, __func__);
}
