/* SPDX-License-Identifier: MIT */
/*
 * capture.h - calls.def compiled into one straight path per call.
 *
 * The table of a call's fields is a constant where these are called (dispatch.c), so that the
 * compiler leaves of each loop what this call needs: the loads, compares and stores themselves.
 * What is rare or long is in decode.c.
 */
#ifndef DISPATCH_CAPTURE_H
#define DISPATCH_CAPTURE_H

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "dispatch/decode.h"
#include "wire/fields.h"

/* Behind the functions below. */
RARE NTSTATUS call_refuse_no_struct(void);
RARE void call_free_memory(struct call *call);
RARE NTSTATUS call_refuse_flags(const struct call_field *field, uint32_t reserved);
MUST_CHECK NTSTATUS call_capture_buffer(struct call *call, const struct call_field *field);
void call_hand_back_buffer(const struct call *call, const struct call_field *field,
			   uint32_t position);

static const struct object_class *const call_classes[OBJECT_KIND_COUNT] = {
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

SPECIALIZED uint32_t call_read_u32(const struct call *call, uint16_t offset)
{
	uint32_t value;

	memcpy(&value, call->args.bytes + offset, sizeof(value));
	return value;
}

SPECIALIZED NTSTATUS capture_handle(struct call *call, const struct call_field *field)
{
	const struct object_class *wanted = call_classes[field->object_kind];
	const struct object_class *found = NULL;
	struct object *object = NULL;
	uint32_t handle = call_read_u32(call, field->offset);

	assert(call->object_count < CALL_MAX_HANDLES);
	if (field->kind == FIELD_HANDLE_OR_0 && handle == 0) {
		call->objects[call->object_count++] = NULL;
		return STATUS_SUCCESS;
	}
	if (UNLIKELY(handle_find(&call->process->handles, handle, wanted, &object, &found) !=
		     HANDLE_FOUND))
		return refused(call_refuse_object(call, wanted, found, field->name, -1, handle));
	call->objects[call->object_count++] = object;
	return STATUS_SUCCESS;
}

/* Most arrays that are read have one element. */
SPECIALIZED bool is_one_element(const struct call *call, const struct call_field *field)
{
	void *client;

	if (field->kind != FIELD_BYTES_IN || field->element_bytes == 1)
		return false;
	memcpy(&client, call->args.bytes + field->offset, sizeof(client));
	return LIKELY(client && call_read_u32(call, field->count_offset) == 1);
}

/* As call_capture_buffer() does it. */
SPECIALIZED NTSTATUS capture_one_element(struct call *call, const struct call_field *field)
{
	void *copy = call_take_buffer(call, field->element_bytes);
	void *client;

	if (UNLIKELY(!copy))
		return STATUS_NO_MEMORY;
	memcpy(&client, call->args.bytes + field->offset, sizeof(client));
	memcpy(copy, client, field->element_bytes);
	memcpy(call->args.bytes + field->offset, &copy, sizeof(copy));
	call->buffer_count++; /* nothing of it is handed back */
	return STATUS_SUCCESS;
}

SPECIALIZED NTSTATUS capture_field(struct call *call, const struct call_field *field)
{
	switch ((enum call_field_kind)field->kind) {
	case FIELD_HANDLE:
	case FIELD_HANDLE_OR_0:
		return capture_handle(call, field);
	case FIELD_FLAGS: {
		uint32_t reserved = call_read_u32(call, field->offset) & ~field->limit;
		return LIKELY(reserved == 0) ? STATUS_SUCCESS
					     : refused(call_refuse_flags(field, reserved));
	}
	case FIELD_BYTES_IN:
	case FIELD_BYTES_INOUT:
	case FIELD_ARRAY_OUT:
		return is_one_element(call, field) ? capture_one_element(call, field)
						   : call_capture_buffer(call, field);
	case FIELD_OPAQUE:
	case FIELD_OUT:
	case FIELD_SHOWN:
	case FIELD_SHOWN_HEX:
		break;
	}
	return STATUS_SUCCESS;
}

/* Copies and checks. On failure nothing but `call` was touched; finish it all the same. */
SPECIALIZED NTSTATUS call_capture(struct call *call, void *client_args, size_t args_bytes,
				  const struct call_field *fields, unsigned count)
{
	NTSTATUS status = STATUS_SUCCESS;

	call->client_args = client_args;
	call->object_count = 0;
	call->buffer_count = 0;
	call->scratch_used = 0;
	call->taken = NULL;
	if (UNLIKELY(!client_args))
		return refused(call_refuse_no_struct());
	bytes_copy_words(call->args.bytes, client_args, args_bytes,
			 fields_halved_words(fields, count));
	call_is_copied();
#pragma GCC unroll 16
	for (unsigned i = 0; i < count; i++) {
		status = capture_field(call, &fields[i]);
		if (!NT_SUCCESS(status))
			break;
	}
	return status;
}

/* Writes the results into the client's struct and buffers. */
SPECIALIZED void call_hand_back_fields(const struct call *call, const struct call_field *fields,
				       unsigned count)
{
	uint32_t buffer = 0;

#pragma GCC unroll 16
	for (unsigned i = 0; i < count; i++) {
		const struct call_field *field = &fields[i];
		switch ((enum call_field_kind)field->kind) {
		case FIELD_OUT:
			memcpy((char *)call->client_args + field->offset,
			       call->args.bytes + field->offset, field->size_bytes);
			break;
		case FIELD_BYTES_INOUT:
		case FIELD_ARRAY_OUT:
			call_hand_back_buffer(call, field, buffer++);
			break;
		case FIELD_BYTES_IN:
			buffer++;
			break;
		case FIELD_HANDLE:
		case FIELD_HANDLE_OR_0:
		case FIELD_FLAGS:
		case FIELD_OPAQUE:
		case FIELD_SHOWN:
		case FIELD_SHOWN_HEX:
			break;
		}
	}
}

/* Puts the objects that handles named, and frees copies. */
SPECIALIZED void call_finish(struct call *call, const struct call_field *fields, unsigned count)
{
	uint32_t position = 0;

	if (UNLIKELY(call->taken != NULL))
		call_free_memory(call);
#pragma GCC unroll 16
	for (unsigned i = 0; i < count; i++) {
		if (fields[i].kind != FIELD_HANDLE && fields[i].kind != FIELD_HANDLE_OR_0)
			continue;
		if (UNLIKELY(position == call->object_count)) /* none was found from here on */
			break;
		object_put(call->objects[position++]);
	}
}

#endif
