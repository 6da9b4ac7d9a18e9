/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "dispatch/capture.h"

/* In front of memory that did not fit the scratch. */
struct call_memory {
	struct call_memory *next;
	max_align_t bytes[];
};

void *call_take_memory(struct call *call, uint64_t size_bytes)
{
	struct call_memory *memory =
		size_bytes < SIZE_MAX / 2 ? mem_zalloc(sizeof(*memory) + size_bytes) : NULL;
	if (!memory) {
		refuse_no_memory("there is no memory to copy %llu bytes of arguments",
				 (unsigned long long)size_bytes);
		return NULL;
	}
	memory->next = call->taken;
	call->taken = memory;
	return memory->bytes;
}

NTSTATUS call_refuse_list(const char *name, const void *client, const char *count_name,
			  uint32_t count, uint32_t limit)
{
	if (!client)
		return invalid(RULE_API_NULL_ARGUMENT, name, "is NULL, and %s is %u", count_name,
			       count);
	return invalid(RULE_API_COUNT, count_name, "is %u, and at most %u are taken", count, limit);
}

NTSTATUS call_refuse_unknown(const struct call *call, NTSTATUS status, const char *name,
			     int64_t index, uint32_t handle, const char *wanted)
{
	const char *why = handle_past_words(handle_past(&call->process->handles, handle));

	if (index < 0)
		return refuse(status, RULE_API_HANDLE, name, "0x%08x is not %s: %s", handle, wanted,
			      why);
	return refuse_item(status, RULE_API_HANDLE, name, (uint64_t)index, "is 0x%08x, not %s: %s",
			   handle, wanted, why);
}

/* It is something else, which is known. */
static NTSTATUS refuse_kind(NTSTATUS status, enum rule rule, const char *name, int64_t index,
			    uint32_t handle, const char *found, const char *wanted)
{
	if (index < 0)
		return refuse(status, rule, name, "0x%08x is %s, not %s", handle, found, wanted);
	return refuse_item(status, rule, name, (uint64_t)index, "is 0x%08x, %s, not %s", handle,
			   found, wanted);
}

NTSTATUS call_refuse_object(const struct call *call, const struct object_class *wanted,
			    const struct object_class *found, const char *name, int64_t index,
			    uint32_t handle)
{
	if (found)
		return refuse_kind(STATUS_INVALID_PARAMETER, RULE_API_HANDLE_KIND, name, index,
				   handle, found->name, wanted->name);
	return call_refuse_unknown(call, STATUS_INVALID_PARAMETER, name, index, handle,
				   wanted->name);
}

NTSTATUS call_refuse_bits(const char *name, const struct call_name *names, uint32_t reserved)
{
	char bits[160];

	call_describe_bits(names, reserved, bits, sizeof(bits));
	return invalid(RULE_API_RESERVED, name, "has reserved bits 0x%x set: %s", reserved, bits);
}

NTSTATUS call_refuse_flags(const struct call_field *field, uint32_t reserved)
{
	return call_refuse_bits(field->name, field->names, reserved);
}

NTSTATUS call_refuse_no_struct(void)
{
	return invalid(RULE_API_NULL_ARGUMENT, NULL, "the argument struct is NULL");
}

static NTSTATUS refuse_buffer(const struct call_field *field, const void *client, uint32_t elements)
{
	return call_refuse_list(field->name, client, field->count_name, elements, field->limit);
}

/* The handler finds our copy where the client's pointer was. */
NTSTATUS call_capture_buffer(struct call *call, const struct call_field *field)
{
	uint32_t elements = call_read_u32(call, field->count_offset);
	struct call_buffer *buffer = &call->buffers[call->buffer_count];
	bool is_output = field->kind == FIELD_ARRAY_OUT;
	void *client;

	assert(call->buffer_count < CALL_MAX_BUFFERS);
	memcpy(&client, call->args.bytes + field->offset, sizeof(client));
	if (UNLIKELY(!client)) {
		/* Room that is not there is a question for the size; bytes that are not there are
		 * not. */
		if (!is_output && elements != 0)
			return refuse_buffer(field, client, elements);
		*buffer = (struct call_buffer){ 0 };
		call->buffer_count++;
		return STATUS_SUCCESS;
	}
	if (UNLIKELY(elements > field->limit)) {
		if (!is_output)
			return refuse_buffer(field, client, elements);
		elements = field->limit;
	}
	uint64_t size_bytes = (uint64_t)elements * field->element_bytes;
	void *copy = is_output ? call_take(call, size_bytes) : call_take_buffer(call, size_bytes);
	if (UNLIKELY(!copy))
		return STATUS_NO_MEMORY;
	*buffer = (struct call_buffer){ .client = client, .copy = copy, .elements = elements };
	call->buffer_count++;
	if (!is_output)
		bytes_copy(copy, client, size_bytes);
	memcpy(call->args.bytes + field->offset, &copy, sizeof(copy));
	return STATUS_SUCCESS;
}

void call_hand_back_buffer(const struct call *call, const struct call_field *field,
			   uint32_t position)
{
	const struct call_buffer *buffer = &call->buffers[position];
	uint32_t elements = buffer->elements;

	if (!buffer->copy)
		return;
	/* The handler left in the count how many elements there are. */
	if (field->kind == FIELD_ARRAY_OUT && call_read_u32(call, field->count_offset) < elements)
		elements = call_read_u32(call, field->count_offset);
	memcpy(buffer->client, buffer->copy, (size_t)elements * field->element_bytes);
}

void call_hand_back(struct call *call)
{
	call_hand_back_fields(call, call->description->fields, call->description->field_count);
}

void call_free_memory(struct call *call)
{
	while (call->taken) {
		struct call_memory *next = call->taken->next;
		mem_free(call->taken);
		call->taken = next;
	}
}

/*
 * Not one of this class that `device` has: it names nothing, something else, or one of another
 * device, `owner_of` says which.
 */
static NTSTATUS refuse_not_of_device(const struct call *call, const struct dxg_device *device,
				     const struct object_class *class, NTSTATUS status,
				     const char *name, int64_t index, uint32_t handle,
				     uint32_t (*owner_of)(struct object *object))
{
	const struct object_class *found = NULL;
	struct object *object = NULL;
	uint32_t owner = 0;

	switch (handle_find(&call->process->handles, handle, class, &object, &found)) {
	case HANDLE_OTHER_KIND:
		return refuse_kind(status, RULE_API_HANDLE, name, index, handle, found->name,
				   class->name);
	case HANDLE_UNKNOWN:
		return call_refuse_unknown(call, status, name, index, handle, class->name);
	case HANDLE_FOUND:
		owner = owner_of(object);
		object_put(object);
		break;
	}
	if (index < 0)
		return refuse(status, RULE_API_HANDLE, name,
			      "0x%08x is foreign, %s of device 0x%08x, not of 0x%08x", handle,
			      class->name, owner, device->object.handle);
	return refuse_item(status, RULE_API_HANDLE, name, (uint64_t)index,
			   "is 0x%08x, foreign: %s of device 0x%08x, not of 0x%08x", handle,
			   class->name, owner, device->object.handle);
}

static uint32_t allocation_owner(struct object *object)
{
	return object_as(allocation, object)->device->object.handle;
}

static uint32_t resource_owner(struct object *object)
{
	return object_as(resource, object)->device->object.handle;
}

NTSTATUS call_refuse_allocation(const struct call *call, const struct dxg_device *device,
				const char *name, int64_t index, uint32_t handle)
{
	return refuse_not_of_device(call, device, &allocation_class, STATUS_INVALID_PARAMETER, name,
				    index, handle, allocation_owner);
}

NTSTATUS call_find_resource(const struct call *call, const struct dxg_device *device,
			    const char *name, int64_t index, uint32_t handle,
			    NTSTATUS bad_handle_status, struct dxg_resource **resource_out)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;

	if (handle_find(&call->process->handles, handle, &resource_class, &object, &found) ==
	    HANDLE_FOUND) {
		struct dxg_resource *resource = object_as(resource, object);
		if (resource->device == device) {
			*resource_out = resource;
			return STATUS_SUCCESS;
		}
		object_put(object);
	}
	return refuse_not_of_device(call, device, &resource_class, bad_handle_status, name, index,
				    handle, resource_owner);
}

NTSTATUS call_find_adapter(const struct call *call, LUID luid, struct dxg_adapter **adapter_out)
{
	uint64_t number = (uint64_t)(uint32_t)luid.HighPart << 32 | luid.LowPart;

	*adapter_out = kernel_find_adapter(call->kernel, number);
	if (!*adapter_out)
		return invalid(RULE_API_VALUE, "AdapterLuid", "%08x:%08x is no adapter",
			       (unsigned)luid.HighPart, luid.LowPart);
	return STATUS_SUCCESS;
}

NTSTATUS call_destroyed(bool is_first, const char *name, uint32_t handle)
{
	return is_first ? STATUS_SUCCESS
			: invalid(RULE_API_HANDLE, name, "0x%08x was destroyed by another thread",
				  handle);
}

struct adapter_open *call_adapter(const struct call *call, uint32_t position)
{
	return object_cast(call->objects[position], &adapter_open_class, struct adapter_open,
			   object);
}

struct dxg_context *call_context(const struct call *call, uint32_t position)
{
	return call->objects[position] ? object_as(context, call->objects[position]) : NULL;
}
