/*
 * decode.c - see decode.h.
 */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "dispatch/decode.h"

static const struct object_class *const class_of_kind[OBJECT_KIND_COUNT] = {
	[OBJECT_KIND_ADAPTER] = &adapter_open_class,
	[OBJECT_KIND_DEVICE] = &device_class,
	[OBJECT_KIND_CONTEXT] = &context_class,
	[OBJECT_KIND_HW_CONTEXT] = &hw_context_class,
	[OBJECT_KIND_HW_QUEUE] = &hw_queue_class,
	[OBJECT_KIND_KEYED_MUTEX] = &keyed_mutex_class,
	[OBJECT_KIND_SYNC_OBJECT] = &sync_object_class,
	[OBJECT_KIND_ALLOCATION] = &allocation_class,
	[OBJECT_KIND_PAGING_QUEUE] = &paging_queue_class,
};

/* In front of memory that did not fit the scratch. */
struct call_memory {
	struct call_memory *next;
	max_align_t bytes[];
};

/* Most of what is copied is one number or one handle. */
static inline void copy_bytes(void *to, const void *from, uint64_t size_bytes)
{
	if (size_bytes == sizeof(uint64_t))
		memcpy(to, from, sizeof(uint64_t));
	else if (size_bytes == sizeof(uint32_t))
		memcpy(to, from, sizeof(uint32_t));
	else
		memcpy(to, from, size_bytes);
}

/* Zeroed, as new memory is. */
static void *take_memory(struct call *call, uint64_t size_bytes)
{
	struct call_memory *memory =
		size_bytes < SIZE_MAX / 2 ? mem_zalloc(sizeof(*memory) + size_bytes) : NULL;
	if (!memory) {
		refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
		       "there is no memory to copy %llu bytes of arguments",
		       (unsigned long long)size_bytes);
		return NULL;
	}
	memory->next = call->taken;
	call->taken = memory;
	return memory->bytes;
}

void *call_take(struct call *call, uint64_t size_bytes)
{
	if (size_bytes > CALL_SCRATCH_BYTES ||
	    call->scratch_used + ((size_bytes + 15) & ~UINT64_C(15)) > CALL_SCRATCH_BYTES)
		return take_memory(call, size_bytes);
	return memset(call_take_room(call, size_bytes), 0, size_bytes);
}

static NTSTATUS check_in(const char *name, const void *client, const char *count_name,
			 uint32_t count, uint32_t limit)
{
	if (count == 0)
		return STATUS_SUCCESS;
	if (!client)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_NULL_ARGUMENT, name,
			      "is NULL, and %s is %u", count_name, count);
	if (count > limit)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_COUNT, count_name,
			      "is %u, and at most %u are taken", count, limit);
	return STATUS_SUCCESS;
}

NTSTATUS call_check_list(const char *name, const void *client, const char *count_name,
			 uint32_t count)
{
	return check_in(name, client, count_name, count, CALL_MAX_LIST);
}

static NTSTATUS copy_in(struct call *call, const char *name, const void *client,
			const char *count_name, uint32_t count, uint32_t element_bytes,
			uint32_t limit, void **copy_out)
{
	NTSTATUS status = check_in(name, client, count_name, count, limit);

	*copy_out = NULL;
	if (!NT_SUCCESS(status) || count == 0)
		return status;
	uint64_t size_bytes = (uint64_t)count * element_bytes;
	void *copy = call_take_room(call, size_bytes);
	if (!copy)
		return STATUS_NO_MEMORY;
	copy_bytes(copy, client, size_bytes);
	*copy_out = copy;
	return STATUS_SUCCESS;
}

NTSTATUS call_copy_list(struct call *call, const char *name, const void *client,
			const char *count_name, uint32_t count, uint32_t element_bytes,
			void **copy_out)
{
	return copy_in(call, name, client, count_name, count, element_bytes, CALL_MAX_LIST,
		       copy_out);
}

NTSTATUS call_copy_bytes(struct call *call, const char *name, const void *client,
			 const char *count_name, uint32_t size_bytes, void **copy_out)
{
	return copy_in(call, name, client, count_name, size_bytes, 1, CALL_MAX_PRIVATE_BYTES,
		       copy_out);
}

static uint32_t read_u32(const struct call *call, uint16_t offset)
{
	uint32_t value;

	memcpy(&value, call->args.bytes + offset, sizeof(value));
	return value;
}

static void *read_pointer(const struct call *call, uint16_t offset)
{
	void *value;

	memcpy(&value, call->args.bytes + offset, sizeof(value));
	return value;
}

static NTSTATUS capture_handle(struct call *call, const struct call_field *field)
{
	const struct object_class *wanted = class_of_kind[field->object_kind];
	const struct object_class *found = NULL;
	struct object *object = NULL;
	uint32_t handle = read_u32(call, field->offset);

	if (handle == 0 && field->kind == FIELD_HANDLE_OR_0) {
		call->objects[call->object_count++] = NULL;
		return STATUS_SUCCESS;
	}
	switch (handle_find(&call->process->handles, handle, wanted, &object, &found)) {
	case HANDLE_FOUND:
		call->objects[call->object_count++] = object;
		return STATUS_SUCCESS;
	case HANDLE_OTHER_KIND:
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_HANDLE_KIND, field->name,
			      "0x%08x is %s, not %s", handle, found->name, wanted->name);
	case HANDLE_UNKNOWN:
		break;
	}
	return refuse(STATUS_INVALID_PARAMETER, RULE_API_HANDLE, field->name,
		      "0x%08x is not %s of this process", handle, wanted->name);
}

static NTSTATUS capture_flags(struct call *call, const struct call_field *field)
{
	uint32_t reserved = read_u32(call, field->offset) & ~field->limit;

	if (reserved != 0)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_RESERVED, field->name,
			      "has reserved bits 0x%x set", reserved);
	return STATUS_SUCCESS;
}

static NTSTATUS refuse_buffer(const struct call_field *field, const void *client, uint32_t elements)
{
	if (!client)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_NULL_ARGUMENT, field->name,
			      "is NULL, and %s is %u", field->count_name, elements);
	return refuse(STATUS_INVALID_PARAMETER, RULE_API_COUNT, field->count_name,
		      "is %u, and at most %u are taken", elements, field->limit);
}

/* The handler finds our copy where the client's pointer was. */
static NTSTATUS capture_buffer(struct call *call, const struct call_field *field)
{
	uint32_t elements = read_u32(call, field->count_offset);
	void *client = read_pointer(call, field->offset);
	bool is_room = field->kind == FIELD_ARRAY_OUT;

	assert(call->buffer_count < CALL_MAX_BUFFERS);
	struct call_buffer *buffer = &call->buffers[call->buffer_count];
	if (UNLIKELY(!client)) {
		/* Room that is not there is a question for the size; bytes that are not there are
		 * not. */
		if (!is_room && elements != 0)
			return refuse_buffer(field, client, elements);
		*buffer = (struct call_buffer){ 0 };
		call->buffer_count++;
		return STATUS_SUCCESS;
	}
	if (UNLIKELY(elements > field->limit)) {
		if (!is_room)
			return refuse_buffer(field, client, elements);
		elements = field->limit;
	}
	uint64_t size_bytes = (uint64_t)elements * field->element_bytes;
	void *copy = is_room ? call_take(call, size_bytes) : call_take_room(call, size_bytes);
	if (UNLIKELY(!copy))
		return STATUS_NO_MEMORY;
	*buffer = (struct call_buffer){ .client = client, .copy = copy, .elements = elements };
	call->buffer_count++;
	if (!is_room)
		copy_bytes(copy, client, size_bytes);
	memcpy(call->args.bytes + field->offset, &copy, sizeof(copy));
	return STATUS_SUCCESS;
}

static NTSTATUS capture_field(struct call *call, const struct call_field *field)
{
	switch ((enum call_field_kind)field->kind) {
	case FIELD_HANDLE:
	case FIELD_HANDLE_OR_0:
		assert(call->object_count < CALL_MAX_HANDLES);
		return capture_handle(call, field);
	case FIELD_FLAGS:
		return capture_flags(call, field);
	case FIELD_BYTES_IN:
	case FIELD_BYTES_INOUT:
	case FIELD_ARRAY_OUT:
		return capture_buffer(call, field);
	case FIELD_OUT:
		break;
	}
	return STATUS_SUCCESS;
}

NTSTATUS call_capture(struct call *call, void *client_args)
{
	const struct call_description *description = call->description;

	call->client_args = client_args;
	call->object_count = 0;
	call->buffer_count = 0;
	call->scratch_used = 0;
	call->taken = NULL;
	if (!client_args)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_NULL_ARGUMENT, NULL,
			      "the argument struct is NULL");
	memcpy(call->args.bytes, client_args, description->args_bytes);
	for (unsigned i = 0; i < description->field_count; i++) {
		NTSTATUS status = capture_field(call, &description->fields[i]);
		if (!NT_SUCCESS(status))
			return status;
	}
	return STATUS_SUCCESS;
}

static void hand_back_buffer(const struct call *call, const struct call_field *field,
			     const struct call_buffer *buffer)
{
	uint32_t elements = buffer->elements;

	if (!buffer->copy)
		return;
	/* The handler left in the count how many elements there are. */
	if (field->kind == FIELD_ARRAY_OUT && read_u32(call, field->count_offset) < elements)
		elements = read_u32(call, field->count_offset);
	memcpy(buffer->client, buffer->copy, (size_t)elements * field->element_bytes);
}

void call_hand_back(struct call *call)
{
	const struct call_description *description = call->description;
	unsigned buffer = 0;

	if (!description->hands_back)
		return;
	for (unsigned i = 0; i < description->field_count; i++) {
		const struct call_field *field = &description->fields[i];
		switch ((enum call_field_kind)field->kind) {
		case FIELD_OUT:
			copy_bytes((char *)call->client_args + field->offset,
				   call->args.bytes + field->offset, field->size_bytes);
			break;
		case FIELD_BYTES_INOUT:
		case FIELD_ARRAY_OUT:
			hand_back_buffer(call, field, &call->buffers[buffer++]);
			break;
		case FIELD_BYTES_IN:
			buffer++;
			break;
		case FIELD_HANDLE:
		case FIELD_HANDLE_OR_0:
		case FIELD_FLAGS:
			break;
		}
	}
}

void call_finish(struct call *call)
{
	while (call->taken) {
		struct call_memory *next = call->taken->next;
		mem_free(call->taken);
		call->taken = next;
	}
	while (call->object_count > 0)
		object_put(call->objects[--call->object_count]);
}

NTSTATUS call_find_allocation(const struct call *call, const struct dxg_device *device,
			      const char *name, int64_t index, uint32_t handle,
			      struct dxg_allocation **allocation_out)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;

	if (handle_find(&call->process->handles, handle, &allocation_class, &object, &found) ==
	    HANDLE_FOUND) {
		struct dxg_allocation *allocation =
			object_cast(object, &allocation_class, struct dxg_allocation, object);
		if (allocation->device == device && allocation_is_ready(allocation)) {
			*allocation_out = allocation;
			return STATUS_SUCCESS;
		}
		object_put(object);
	}
	if (index < 0)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_HANDLE, name,
			      "0x%08x is not an allocation of device 0x%08x", handle,
			      device->object.handle);
	return refuse_item(STATUS_INVALID_PARAMETER, RULE_API_HANDLE, name, (uint64_t)index,
			   "is not an allocation of device 0x%08x", device->object.handle);
}

/* An object of the process, of this class; -1 is the index of what is in no list. */
static NTSTATUS find_by_class(const struct call *call, const struct object_class *class,
			      const char *name, int64_t index, uint32_t handle,
			      struct object **object_out)
{
	const struct object_class *found = NULL;
	enum rule rule = RULE_API_HANDLE;
	const char *what = "nothing this process has";

	switch (handle_find(&call->process->handles, handle, class, object_out, &found)) {
	case HANDLE_FOUND:
		return STATUS_SUCCESS;
	case HANDLE_OTHER_KIND:
		rule = RULE_API_HANDLE_KIND;
		what = found->name;
		break;
	case HANDLE_UNKNOWN:
		break;
	}
	if (index < 0)
		return refuse(STATUS_INVALID_PARAMETER, rule, name, "0x%08x is %s, not %s", handle,
			      what, class->name);
	return refuse_item(STATUS_INVALID_PARAMETER, rule, name, (uint64_t)index,
			   "is 0x%08x, %s, not %s", handle, what, class->name);
}

NTSTATUS call_find_context(const struct call *call, const char *name, int64_t index,
			   uint32_t handle, struct dxg_context **context_out)
{
	struct object *object = NULL;
	NTSTATUS status = find_by_class(call, &context_class, name, index, handle, &object);

	if (NT_SUCCESS(status))
		*context_out = object_cast(object, &context_class, struct dxg_context, object);
	return status;
}

NTSTATUS call_find_hw_queue(const struct call *call, const char *name, int64_t index,
			    uint32_t handle, struct dxg_hw_queue **queue_out)
{
	struct object *object = NULL;
	NTSTATUS status = find_by_class(call, &hw_queue_class, name, index, handle, &object);

	if (NT_SUCCESS(status))
		*queue_out = object_cast(object, &hw_queue_class, struct dxg_hw_queue, object);
	return status;
}

NTSTATUS call_find_sync_object(const struct call *call, const char *name, int64_t index,
			       uint32_t handle, struct dxg_sync_object **object_out)
{
	struct object *object = NULL;
	NTSTATUS status = find_by_class(call, &sync_object_class, name, index, handle, &object);

	if (NT_SUCCESS(status))
		*object_out =
			object_cast(object, &sync_object_class, struct dxg_sync_object, object);
	return status;
}

NTSTATUS call_find_paging_queue(const struct call *call, const char *name, uint32_t handle,
				struct dxg_paging_queue **queue_out)
{
	struct object *object = NULL;
	NTSTATUS status = find_by_class(call, &paging_queue_class, name, -1, handle, &object);

	if (NT_SUCCESS(status))
		*queue_out =
			object_cast(object, &paging_queue_class, struct dxg_paging_queue, object);
	return status;
}

NTSTATUS call_find_resource(const struct call *call, const struct dxg_device *device,
			    uint32_t handle, NTSTATUS bad_handle_status,
			    struct dxg_resource **resource_out)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;

	if (handle_find(&call->process->handles, handle, &resource_class, &object, &found) ==
	    HANDLE_FOUND) {
		struct dxg_resource *resource =
			object_cast(object, &resource_class, struct dxg_resource, object);
		if (resource->device == device) {
			*resource_out = resource;
			return STATUS_SUCCESS;
		}
		object_put(object);
	}
	return refuse(bad_handle_status, RULE_API_HANDLE, "hResource",
		      "0x%08x is not a resource of device 0x%08x", handle, device->object.handle);
}

NTSTATUS call_find_adapter(const struct call *call, LUID luid, struct dxg_adapter **adapter_out)
{
	uint64_t number = (uint64_t)(uint32_t)luid.HighPart << 32 | luid.LowPart;

	*adapter_out = kernel_find_adapter(call->kernel, number);
	if (!*adapter_out)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "AdapterLuid",
			      "%08x:%08x is no adapter", (unsigned)luid.HighPart, luid.LowPart);
	return STATUS_SUCCESS;
}

struct adapter_open *call_adapter(const struct call *call, uint32_t position)
{
	return object_cast(call->objects[position], &adapter_open_class, struct adapter_open,
			   object);
}

struct dxg_device *call_device(const struct call *call, uint32_t position)
{
	return call->objects[position] ? object_cast(call->objects[position], &device_class,
						     struct dxg_device, object)
				       : NULL;
}

struct dxg_context *call_context(const struct call *call, uint32_t position)
{
	return call->objects[position] ? object_cast(call->objects[position], &context_class,
						     struct dxg_context, object)
				       : NULL;
}

struct dxg_hw_context *call_hw_context(const struct call *call, uint32_t position)
{
	return object_cast(call->objects[position], &hw_context_class, struct dxg_hw_context,
			   object);
}

struct dxg_hw_queue *call_hw_queue(const struct call *call, uint32_t position)
{
	return object_cast(call->objects[position], &hw_queue_class, struct dxg_hw_queue, object);
}

struct dxg_keyed_mutex *call_keyed_mutex(const struct call *call, uint32_t position)
{
	return object_cast(call->objects[position], &keyed_mutex_class, struct dxg_keyed_mutex,
			   object);
}

struct dxg_sync_object *call_sync_object(const struct call *call, uint32_t position)
{
	return object_cast(call->objects[position], &sync_object_class, struct dxg_sync_object,
			   object);
}

struct dxg_paging_queue *call_paging_queue(const struct call *call, uint32_t position)
{
	return call->objects[position] ? object_cast(call->objects[position], &paging_queue_class,
						     struct dxg_paging_queue, object)
				       : NULL;
}
