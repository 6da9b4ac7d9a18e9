/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what the calls of calls_fuzz.c and work_fuzz.c share: bytes, handles, buffers.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/softgpu.h>

enum {
	SLOTS = 8,
	ELEMENTS = 16,
	ROOM = 4096,
	DATA_BYTES = 64,
	MAX_CALLS = 64,
	VALIDATE_EVERY = 8,
	HUGE_COUNT = 0x100001, /* more than any list or private data may have */
};

enum kind {
	ADAPTER,
	DEVICE,
	CONTEXT,
	RESOURCE,
	ALLOCATION,
	MUTEX,
	GLOBAL,
	SHARED_MUTEX,
	SYNC,
	SHARED_SYNC,
	PAGING_QUEUE,
	HW_CONTEXT,
	HW_QUEUE,
	KIND_COUNT,
};

struct input {
	const uint8_t *data;
	size_t left;
};

struct fuzz_world {
	D3DKMT_HANDLE handles[KIND_COUNT][SLOTS];
	uint32_t made[KIND_COUNT];
	int files[SLOTS];
	uint32_t files_made;
	int event;
	bool has_gate; /* a queue waits for what may never come: nobody else may wait for it */
	uint64_t addresses[SLOTS]; /* of the GPU */
	uint32_t addresses_made;
};
extern struct fuzz_world world;

/* What calls may write into or read from. */
struct fuzz_buffers {
	D3DDDI_ALLOCATIONINFO elements[ELEMENTS];
	D3DDDI_ALLOCATIONINFO2 elements2[ELEMENTS];
	D3DDDI_OPENALLOCATIONINFO opened[ELEMENTS];
	D3DDDI_OPENALLOCATIONINFO2 opened2[ELEMENTS];
	struct softgpu_allocation described[ELEMENTS];
	D3DKMT_CREATESTANDARDALLOCATION standard;
	D3DKMT_HANDLE list[ELEMENTS];
	UINT64 values[ELEMENTS];
	UINT numbers[ELEMENTS];
	unsigned char first[ROOM];
	unsigned char second[ROOM];
	unsigned char third[ROOM];
	D3DKMT_ADAPTERINFO adapters[ELEMENTS];
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operations[ELEMENTS];
	D3DDDI_RECLAIM_RESULT results[ELEMENTS];
};
extern struct fuzz_buffers buffers;

/* ---- bytes ---- */

static inline void take(struct input *input, void *to, size_t size_bytes)
{
	size_t there = size_bytes < input->left ? size_bytes : input->left;

	memset(to, 0, size_bytes);
	memcpy(to, input->data, there);
	input->data += there;
	input->left -= there;
}

static inline uint8_t take_byte(struct input *input)
{
	uint8_t byte;

	take(input, &byte, sizeof(byte));
	return byte;
}

static inline uint32_t take_number(struct input *input)
{
	uint32_t number;

	take(input, &number, sizeof(number));
	return number;
}

/* Few of the bits of a flag word are ever set at once by who means it. */
static inline uint32_t take_flags(struct input *input)
{
	uint8_t byte = take_byte(input);

	return byte == 255 ? take_number(input) : byte >= 32 ? byte & 0x1f : UINT32_C(1) << byte;
}

static inline uint32_t take_count(struct input *input, uint32_t storage)
{
	uint8_t byte = take_byte(input);

	return byte == 255 ? HUGE_COUNT + take_number(input) % HUGE_COUNT : byte % (storage + 1);
}

static inline void *take_pointer(struct input *input, void *buffer)
{
	return take_byte(input) == 255 ? NULL : buffer;
}

static inline D3DKMT_HANDLE take_handle(struct input *input, enum kind kind)
{
	uint8_t byte = take_byte(input);

	if (byte < 224)
		return world.handles[kind][byte % SLOTS];
	if (byte < 240)
		return world.handles[byte % KIND_COUNT][take_byte(input) % SLOTS];
	return byte < 248 ? 0 : take_number(input);
}

static inline D3DKMT_HANDLE *take_list(struct input *input, uint32_t *count_out)
{
	*count_out = take_count(input, ELEMENTS);
	for (uint32_t i = 0; i < *count_out && i < ELEMENTS; i++)
		buffers.list[i] = take_handle(input, ALLOCATION);
	return take_pointer(input, buffers.list);
}

static inline HANDLE take_file(struct input *input)
{
	uint8_t byte = take_byte(input);

	return (HANDLE)(intptr_t)(byte < 224 ? world.files[byte % SLOTS] : (int)take_number(input));
}

static inline void keep(enum kind kind, D3DKMT_HANDLE handle)
{
	if (handle != 0)
		world.handles[kind][world.made[kind]++ % SLOTS] = handle;
}

static inline void keep_file(HANDLE file)
{
	int *slot = &world.files[world.files_made++ % SLOTS];

	if (*slot > 0)
		close(*slot);
	*slot = (int)(intptr_t)file;
}

/* ---- work_fuzz.c: queues, memory's places and addresses ---- */

void fuzz_paging_queue(struct input *input);
void fuzz_residency(struct input *input);
void fuzz_offer(struct input *input);
void fuzz_address(struct input *input);
void fuzz_submit(struct input *input);
void fuzz_queue_sync(struct input *input);
void fuzz_queue_sync_older(struct input *input);
void fuzz_render(struct input *input);
void fuzz_hw_queue(struct input *input);
void fuzz_hw_work(struct input *input);
void fuzz_priority(struct input *input);

#endif
