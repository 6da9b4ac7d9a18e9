/* SPDX-License-Identifier: MIT */
/*
 * travel_open.c - the arguments of D3DKMTOpenResource, …2 and …FromNtHandle: rooms that only a call that
 * succeeds fills, and elements that point into one of them.
 */
#include <stddef.h>

#include "base/checked.h"
#include "wire/travel_parts.h"

enum { MAX_BUFFER_BYTES = 16 << 20 }; /* for the data of all allocations of a resource */

/* Where a call has its rooms. */
struct buffers {
	void *elements;
	uint32_t count;
	size_t stride;
	void *runtime;
	uint32_t runtime_bytes;
	void *resource_private;
	uint32_t resource_private_bytes;
	void *total;
	UINT *total_bytes;
};

/* An element's data is a piece of the total, said in the reply as where it begins there, plus one. */
static void answer_elements(unsigned char *elements, const struct buffers *buffers)
{
	const size_t at = offsetof(D3DDDI_OPENALLOCATIONINFO2, pPrivateDriverData);
	const uintptr_t total = (uintptr_t)travel_pointer(buffers->total);

	for (uint32_t i = 0; i < buffers->count; i++) {
		unsigned char *field = elements + i * buffers->stride + at;
		uintptr_t data = (uintptr_t)travel_pointer(field);
		uint64_t offset = data ? data - total + 1 : 0;
		memcpy(field, &offset, sizeof(offset));
	}
}

static void apply_elements(struct walk walk, const struct buffers *buffers,
			   const unsigned char *elements)
{
	const size_t at = offsetof(D3DDDI_OPENALLOCATIONINFO2, pPrivateDriverData);
	unsigned char *client = travel_pointer(buffers->elements);
	unsigned char *total = travel_pointer(buffers->total);

	for (uint32_t i = 0; i < buffers->count; i++) {
		unsigned char element[sizeof(D3DDDI_OPENALLOCATIONINFO2)];
		uint64_t offset;

		memcpy(element, elements + i * buffers->stride, buffers->stride);
		memcpy(&offset, element + at, sizeof(offset));
		if (offset > (total ? *buffers->total_bytes : 0)) {
			walk.travel->has_failed = true;
			return;
		}
		void *data = offset != 0 ? total + offset - 1 : NULL;
		memcpy(element + at, &data, sizeof(data));
		travel_put(client + i * buffers->stride, element, buffers->stride);
	}
}

/* They come back from a call that succeeds, all of them, and from no other. */
static void return_elements(struct walk walk, const struct buffers *buffers, uint64_t bytes)
{
	void *elements = travel_pointer(buffers->elements);

	if (walk.mode == TRAVEL_ANSWER_MEASURE) {
		walk.travel->bytes += travel_rounded(bytes);
	} else if (walk.mode == TRAVEL_ANSWER) {
		unsigned char *copy = travel_write(walk.travel, elements, bytes);
		if (copy)
			answer_elements(copy, buffers);
	} else {
		const unsigned char *copy = travel_next(walk.travel, bytes);
		if (copy)
			apply_elements(walk, buffers, copy);
	}
}

static void walk_elements(struct walk walk, const struct buffers *buffers)
{
	const uint64_t bytes = buffers->count * (uint64_t)buffers->stride;
	const uint64_t limit = (uint64_t)CALL_MAX_LIST * buffers->stride;
	unsigned char *zeros;

	switch (walk.mode) {
	case TRAVEL_ANSWER_MEASURE:
	case TRAVEL_ANSWER:
	case TRAVEL_APPLY:
		if (walk.travel->has_success && travel_pointer(buffers->elements) && bytes != 0 &&
		    bytes <= limit)
			return_elements(walk, buffers, bytes);
		break;
	case TRAVEL_DESCRIBE:
		zeros = travel_tell_list(walk.travel, buffers->elements);
		if (zeros)
			travel_tell(
				walk.travel,
				zeros + offsetof(D3DDDI_OPENALLOCATIONINFO2, pPrivateDriverData),
				"result");
		break;
	case TRAVEL_MEASURE:
	case TRAVEL_WRITE:
	case TRAVEL_OPEN:
	case TRAVEL_VISIT:
		travel_buffer(walk, buffers->elements, bytes, limit, 0);
		break;
	}
}

static void walk_buffers(struct walk walk, const struct buffers *buffers)
{
	const bool is_full = walk.travel->has_success;
	uint64_t used = 0;

	/* No room for more than this is made here; less of it may still be enough. */
	if (walk.mode == TRAVEL_OPEN)
		*buffers->total_bytes = (UINT)lower_of(*buffers->total_bytes, MAX_BUFFER_BYTES);
	if (is_full && walk.travel->image) {
		memcpy(&used, travel_after(walk.travel, buffers->total_bytes), sizeof(UINT));
		used = lower_of(used, *buffers->total_bytes);
	}
	walk_elements(walk, buffers);
	travel_buffer(walk, buffers->runtime, buffers->runtime_bytes, CALL_MAX_PRIVATE_BYTES,
		      is_full ? buffers->runtime_bytes : 0);
	travel_buffer(walk, buffers->resource_private, buffers->resource_private_bytes,
		      CALL_MAX_PRIVATE_BYTES, is_full ? buffers->resource_private_bytes : 0);
	travel_buffer(walk, buffers->total, *buffers->total_bytes, UINT32_MAX, used);
}

/* What the structs of all calls that open name alike. */
#define OPEN_FIELDS(args)                                                                          \
	.elements = &(args)->pOpenAllocationInfo2, .count = (args)->NumAllocations,                \
	.runtime = &(args)->pPrivateRuntimeData, .runtime_bytes = (args)->PrivateRuntimeDataSize,  \
	.resource_private = &(args)->pResourcePrivateDriverData,                                   \
	.resource_private_bytes = (args)->ResourcePrivateDriverDataSize,                           \
	.total = &(args)->pTotalPrivateDriverDataBuffer,                                           \
	.total_bytes = &(args)->TotalPrivateDriverDataBufferSize

static void walk_open(struct walk walk, D3DKMT_OPENRESOURCE *args, size_t stride)
{
	const struct buffers buffers = { OPEN_FIELDS(args), .stride = stride };

	walk_buffers(walk, &buffers);
}

void travel_open_resource(struct walk walk, void *arguments)
{
	walk_open(walk, arguments, sizeof(D3DDDI_OPENALLOCATIONINFO));
}

void travel_open_resource2(struct walk walk, void *arguments)
{
	walk_open(walk, arguments, sizeof(D3DDDI_OPENALLOCATIONINFO2));
}

void travel_open_resource_from_nt_handle(struct walk walk, void *arguments)
{
	D3DKMT_OPENRESOURCEFROMNTHANDLE *args = arguments;
	const struct buffers buffers = {
		OPEN_FIELDS(args),
		.stride = sizeof(D3DDDI_OPENALLOCATIONINFO2),
	};

	travel_note_values(); /* it may bring a fence of another kind */
	walk_buffers(walk, &buffers);
	/* The mutex may have less of it, and then the rest is not looked at. */
	travel_list(walk, &args->pKeyedMutexPrivateRuntimeData,
		    lower_of(args->KeyedMutexPrivateRuntimeDataSize, CALL_MAX_PRIVATE_BYTES), 1,
		    CALL_MAX_PRIVATE_BYTES, TRAVEL_THERE);
	travel_thing(walk, &args->hNtHandle, TRAVEL_NT_HANDLE, 0);
}
