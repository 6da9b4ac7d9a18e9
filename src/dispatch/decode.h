/* SPDX-License-Identifier: MIT */
/*
 * decode.h - from a client's struct to arguments that can be trusted.
 *
 * The struct is copied once, its buffers are copied once, every handle is resolved with a reference
 * and every reserved bit is checked, all from calls.def. Nothing behind this line reads client
 * memory again. What the table cannot say, the call's own handler checks before it changes
 * anything.
 */
#ifndef DISPATCH_DECODE_H
#define DISPATCH_DECODE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/refusal.h"
#include "object/memory/allocation.h"
#include "object/owner/context.h"
#include "object/owner/device.h"
#include "object/owner/hw_context.h"
#include "object/owner/hw_queue.h"
#include "object/owner/kernel.h"
#include "object/fence/keyed_mutex.h"
#include "object/memory/paging_queue.h"
#include "object/memory/resource.h"
#include "object/fence/sync_object.h"
#include "wire/call.h"

struct call_buffer {
	void *client;      /* where it came from and goes back to */
	void *copy;        /* ours; NULL when the client gave none */
	uint32_t elements; /* how many the copy has room for */
};

/* One call under way, on the stack of the thread that makes it. */
struct call {
	struct dxg_kernel *kernel;
	struct dxg_process *process;
	const struct call_description *description;

	void *client_args;
	union {
		max_align_t alignment;
		unsigned char bytes[CALL_MAX_ARGS_BYTES];
	} args; /* the copy that handlers see */

	/* All zero at first, and set at once. */
	uint16_t object_count;
	uint16_t buffer_count;
	uint32_t scratch_used;
	struct call_memory *taken;

	/* In the order of the table; NULL for a zero handle. */
	struct object *objects[CALL_MAX_HANDLES];
	struct call_buffer buffers[CALL_MAX_BUFFERS];

	/* Memory that lives as long as the call: the first bytes are here, the rest is taken. */
	union {
		max_align_t alignment;
		unsigned char bytes[CALL_SCRATCH_BYTES];
	} scratch;
};

/* From here on the compiler does not look at the client's memory again for what it has copied. */
SPECIALIZED void call_is_copied(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* Writes the results into the client's struct and buffers. */
void call_hand_back(struct call *call);

/* Memory that did not fit the scratch, zeroed; NULL, refused, when there is none. */
MUST_CHECK RARE void *call_take_memory(struct call *call, uint64_t size_bytes);

/* Memory until the end of the call, for who fills it; NULL, refused, when there is none. */
MUST_CHECK static inline void *call_take_buffer(struct call *call, uint64_t size_bytes)
{
	uint64_t rounded = (size_bytes + 15) & ~UINT64_C(15);

	if (UNLIKELY(size_bytes > CALL_SCRATCH_BYTES - call->scratch_used))
		return call_take_memory(call, size_bytes);
	void *memory = call->scratch.bytes + call->scratch_used;
	call->scratch_used += (uint32_t)rounded;
	return memory;
}

/* The same, zeroed. */
MUST_CHECK static inline void *call_take(struct call *call, uint64_t size_bytes)
{
	void *memory = call_take_buffer(call, size_bytes);

	return memory ? memset(memory, 0, size_bytes) : NULL;
}

/* A list that is not there, or too long. */
RARE NTSTATUS call_refuse_list(const char *name, const void *client, const char *count_name,
			       uint32_t count, uint32_t limit);

SPECIALIZED NTSTATUS call_copy_in(struct call *call, const char *name, const void *client,
				  const char *count_name, uint32_t count, uint32_t element_bytes,
				  uint32_t limit, void **copy_out)
{
	*copy_out = NULL;
	if (count == 0)
		return STATUS_SUCCESS;
	if (UNLIKELY(!client || count > limit))
		return refused(call_refuse_list(name, client, count_name, count, limit));
	uint64_t size_bytes = (uint64_t)count * element_bytes;
	void *buffer = call_take_buffer(call, size_bytes);
	if (UNLIKELY(!buffer))
		return STATUS_NO_MEMORY;
	/* Most lists have one element. */
	if (element_bytes > 1 && count == 1)
		memcpy(buffer, client, element_bytes);
	else
		bytes_copy(buffer, client, size_bytes);
	*copy_out = buffer;
	return STATUS_SUCCESS;
}

/*
 * An element of a client's array, which may stand at any address. It is read once: what another
 * thread of the client writes there later is too late.
 */
SPECIALIZED uint32_t client_read_u32(const void *array, uint32_t index)
{
	uint32_t value;

	memcpy(&value, (const char *)array + (size_t)index * sizeof(value), sizeof(value));
	__asm__("" : "+r"(value)); /* or the compiler may read it again */
	return value;
}

SPECIALIZED void client_write_u32(void *array, uint32_t index, uint32_t value)
{
	memcpy((char *)array + (size_t)index * sizeof(value), &value, sizeof(value));
}

/*
 * A list that the call's struct points to is there and not too long. Each element is then to be
 * read once. `name` and `count_name` are for the refusal.
 */
MUST_CHECK static inline NTSTATUS call_check_list(const char *name, const void *client,
						  const char *count_name, uint32_t count)
{
	if (UNLIKELY(count != 0 && (!client || count > CALL_MAX_LIST)))
		return refused(call_refuse_list(name, client, count_name, count, CALL_MAX_LIST));
	return STATUS_SUCCESS;
}

/*
 * A list that the call's struct points to: `count` elements of `element_bytes`, copied. `name` and
 * `count_name` are for the refusal. A NULL list is fine when count is 0.
 */
MUST_CHECK SPECIALIZED NTSTATUS call_copy_list(struct call *call, const char *name,
					       const void *client, const char *count_name,
					       uint32_t count, uint32_t element_bytes,
					       void **copy_out)
{
	return call_copy_in(call, name, client, count_name, count, element_bytes, CALL_MAX_LIST,
			    copy_out);
}

/* Bytes of at most CALL_MAX_PRIVATE_BYTES, copied. */
MUST_CHECK SPECIALIZED NTSTATUS call_copy_bytes(struct call *call, const char *name,
						const void *client, const char *count_name,
						uint32_t size_bytes, void **copy_out)
{
	return call_copy_in(call, name, client, count_name, size_bytes, 1, CALL_MAX_PRIVATE_BYTES,
			    copy_out);
}

RARE NTSTATUS call_refuse_allocation(const struct call *call, const struct dxg_device *device,
				     const char *name, int64_t index, uint32_t handle);

/* Bits that mean nothing here, by number and, where the headers have one, by name. */
RARE NTSTATUS call_refuse_bits(const char *name, const struct call_name *names, uint32_t reserved);

/* A handle finds nothing: it is stale, foreign, or never existed. `wanted` is "a device". */
RARE NTSTATUS call_refuse_unknown(const struct call *call, NTSTATUS status, const char *name,
				  int64_t index, uint32_t handle, const char *wanted);

/*
 * An allocation of `device`, with a reference, by the handle at `index` of the list called `name`
 * (index -1: it is no list).
 */
MUST_CHECK SPECIALIZED NTSTATUS call_find_allocation(const struct call *call,
						     const struct dxg_device *device,
						     const char *name, int64_t index,
						     uint32_t handle,
						     struct dxg_allocation **allocation_out)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;

	if (LIKELY(handle_find(&call->process->handles, handle, &allocation_class, &object,
			       &found) == HANDLE_FOUND)) {
		struct dxg_allocation *allocation = object_as(allocation, object);
		if (LIKELY(allocation->device == device && allocation_is_ready(allocation))) {
			*allocation_out = allocation;
			return STATUS_SUCCESS;
		}
		object_put(object);
	}
	return refused(call_refuse_allocation(call, device, name, index, handle));
}

/* It was not found; `found`, where it is of another kind. */
RARE NTSTATUS call_refuse_object(const struct call *call, const struct object_class *wanted,
				 const struct object_class *found, const char *name, int64_t index,
				 uint32_t handle);

/* An object of the process, of this class, with a reference; `name` and `index` as above. */
MUST_CHECK static inline NTSTATUS call_find_object(const struct call *call,
						   const struct object_class *class,
						   const char *name, int64_t index, uint32_t handle,
						   struct object **object_out)
{
	const struct object_class *found = NULL;

	if (LIKELY(handle_find(&call->process->handles, handle, class, object_out, &found) ==
		   HANDLE_FOUND))
		return STATUS_SUCCESS;
	return refused(call_refuse_object(call, class, found, name, index, handle));
}

/*
 * A resource of `device`, with a reference; `name` and `index` as above. Another handle gives
 * `bad_handle_status`.
 */
MUST_CHECK NTSTATUS call_find_resource(const struct call *call, const struct dxg_device *device,
				       const char *name, int64_t index, uint32_t handle,
				       NTSTATUS bad_handle_status,
				       struct dxg_resource **resource_out);

/* The adapter a LUID names. */
MUST_CHECK NTSTATUS call_find_adapter(const struct call *call, LUID luid,
				      struct dxg_adapter **adapter_out);

/* What a call answers that has destroyed something, unless another thread was first. */
MUST_CHECK NTSTATUS call_destroyed(bool is_first, const char *name, uint32_t handle);

/* The handle fields by position; NULL for a zero handle. */
struct adapter_open *call_adapter(const struct call *call, uint32_t position);
static inline struct dxg_device *call_device(const struct call *call, uint32_t position)
{
	return object_as(device, call->objects[position]);
}
struct dxg_context *call_context(const struct call *call, uint32_t position);

#endif
