/* SPDX-License-Identifier: MIT */
/*
 * travel_parts.c - see travel_walk.h: what the rarer parts of a walk do in each of its modes.
 */
#include <assert.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "wire/travel_parts.h"

/* In front of room that the request has no bytes for. */
struct travel_memory {
	struct travel_memory *next;
	uint64_t bytes[];
};

/* ---- bytes ---- */

void *travel_write(struct travel *travel, const void *bytes, uint64_t size_bytes)
{
	unsigned char *to = travel_next(travel, size_bytes);

	if (UNLIKELY(!to))
		return NULL;
	if (travel_rounded(size_bytes) != size_bytes)
		memset(to + travel_rounded(size_bytes) - TRAVEL_ALIGN_BYTES, 0, TRAVEL_ALIGN_BYTES);
	bytes_copy(to, bytes, size_bytes);
	return to;
}

/* ---- room for results ---- */

/* NULL, and failed: there is none. */
static void *take_buffer(struct travel *travel, uint64_t size_bytes)
{
	struct travel_image *image = travel->image;

	if (travel_rounded(size_bytes) <= TRAVEL_BUFFER_BYTES - image->buffer_used) {
		void *buffer = image->buffer.bytes + image->buffer_used;
		image->buffer_used += (uint32_t)travel_rounded(size_bytes);
		return memset(buffer, 0, size_bytes);
	}
	struct travel_memory *memory = mem_zalloc(sizeof(*memory) + size_bytes);

	if (!memory) {
		refuse_no_memory("there is no memory for %llu bytes of results",
				 (unsigned long long)size_bytes);
		travel->has_failed = true;
		travel->why = NULL;
		return NULL;
	}
	memory->next = image->taken;
	image->taken = memory;
	return memory->bytes;
}

/* How many bytes there are is not to be known at the other end: it is said. */
static void *answer_buffer(struct travel *travel, const void *buffer, uint64_t used_bytes)
{
	travel_write(travel, &used_bytes, sizeof(used_bytes));
	return used_bytes != 0 ? travel_write(travel, buffer, used_bytes) : NULL;
}

static void *open_buffer(struct travel *travel, void *field, uint64_t size_bytes)
{
	void *buffer = travel->has_failed ? NULL : take_buffer(travel, size_bytes);

	travel->image->is_measured = false; /* how much comes back, the call decides */
	travel_set_pointer(field, buffer ? buffer : TRAVEL_NOWHERE);
	return buffer;
}

void *travel_buffer(struct walk walk, void *field, uint64_t size_bytes, uint64_t limit_bytes,
		    uint64_t used_bytes)
{
	struct travel *travel = walk.travel;
	void *pointer = travel_pointer(field);
	const uint64_t *said;
	const void *there;

	if (walk.mode == TRAVEL_DESCRIBE) {
		travel_tell(travel, field, "room");
		return NULL;
	}
	if (!pointer || size_bytes == 0 || size_bytes > limit_bytes) {
		if (pointer && walk.mode == TRAVEL_OPEN)
			travel_set_pointer(field, TRAVEL_NOWHERE);
		return NULL;
	}
	switch (walk.mode) {
	case TRAVEL_OPEN:
		return open_buffer(travel, field, size_bytes);
	case TRAVEL_ANSWER_MEASURE:
		travel->bytes += sizeof(used_bytes) + travel_rounded(used_bytes);
		return pointer;
	case TRAVEL_ANSWER:
		return answer_buffer(travel, pointer, used_bytes);
	case TRAVEL_APPLY:
		said = travel_next(travel, sizeof(*said));
		if (!said || *said == 0 || *said > size_bytes) {
			travel->has_failed |= said && *said != 0;
			return NULL;
		}
		there = travel_next(travel, *said);
		if (there)
			travel_put(pointer, there, *said);
		return NULL;
	case TRAVEL_VISIT:
		travel->visit(travel->context, pointer, size_bytes);
		return NULL;
	case TRAVEL_MEASURE:
	case TRAVEL_WRITE:
	case TRAVEL_DESCRIBE:
		break;
	}
	return NULL;
}

void travel_image_close(struct travel_image *image)
{
	while (image->taken) {
		struct travel_memory *next = image->taken->next;
		mem_free(image->taken);
		image->taken = next;
	}
	image->arguments = NULL;
}

/* ---- what is no bytes ---- */

/* It comes back as the client has it, wherever it stands in what comes back. */
static void keep(struct travel_image *image, void *field, uint64_t value)
{
	image->kept_at = field;
	image->kept = value;
	image->kept_bytes = sizeof(value);
}

void travel_thing_there(struct walk walk, void *field, enum travel_thing thing, uint64_t size_bytes)
{
	struct travel *travel = walk.travel;
	const uint64_t *said;
	uint64_t token;
	uint64_t value;

	memcpy(&value, field, sizeof(value));
	if (walk.mode == TRAVEL_MEASURE) {
		travel->bytes += sizeof(token);
	} else if (walk.mode == TRAVEL_WRITE && !travel->has_failed) {
		/* What does not fit is written again, elsewhere. */
		token = travel->hooks->send(travel->hooks, thing, value, size_bytes);
		travel_write(travel, &token, sizeof(token));
	} else if (walk.mode == TRAVEL_OPEN &&
		   (said = travel_next(travel, sizeof(*said))) != NULL) {
		keep(travel->image, field, value);
		value = travel->hooks->arrive(travel->hooks, thing, *said, value, size_bytes);
		memcpy(field, &value, sizeof(value));
	}
}

const void *travel_after(const struct travel *travel, const void *field)
{
	uintptr_t offset = (uintptr_t)field - (uintptr_t)travel->image->before.bytes;

	if (offset >= sizeof(travel->image->before))
		return field;
	return (const char *)travel->image->arguments + offset;
}

/* The number of the server's goes no further. */
static uint64_t send_descriptor(struct travel *travel, void *field)
{
	void *made_at = (void *)travel_after(travel, field);
	const int64_t none = -1;
	int64_t descriptor;

	if (!travel->has_success)
		return 0;
	memcpy(&descriptor, made_at, sizeof(descriptor));
	memcpy(made_at, &none, sizeof(none));
	return travel->hooks->send_back(travel->hooks, (int)descriptor);
}

static void receive_descriptor(struct travel *travel, void *field)
{
	const uint64_t *token = travel_next(travel, sizeof(*token));

	if (!token || !travel->has_success)
		return;
	travel->descriptor_at = field;
	travel->descriptor = travel->hooks->arrive_back(travel->hooks, *token);
	travel->has_failed |= travel->descriptor < 0;
}

void travel_descriptor(struct walk walk, void *field)
{
	struct travel *travel = walk.travel;
	uint64_t token = 0;

	switch (walk.mode) {
	case TRAVEL_OPEN:
	case TRAVEL_ANSWER_MEASURE:
		travel->bytes += sizeof(token);
		break;
	case TRAVEL_ANSWER:
		token = send_descriptor(travel, field);
		travel_write(travel, &token, sizeof(token));
		break;
	case TRAVEL_APPLY:
		receive_descriptor(travel, field);
		break;
	case TRAVEL_DESCRIBE:
		travel_tell(travel, field, "descriptor");
		break;
	case TRAVEL_MEASURE:
	case TRAVEL_WRITE:
	case TRAVEL_VISIT:
		break;
	}
}

/* ---- a value, or a pointer to values ---- */

/* No memory of a program is below, or above. */
#define LOWEST_ADDRESS  UINT64_C(0x10000)
#define HIGHEST_ADDRESS (UINT64_C(1) << 47)

/* Said once the client asks for an object whose slot holds a value. */
static _Atomic bool may_be_value;

void travel_note_values(void)
{
	if (!atomic_load_explicit(&may_be_value, memory_order_relaxed))
		atomic_store_explicit(&may_be_value, true, memory_order_relaxed);
}

/* The kernel of the machine reads what it can, and does not fall over the rest. */
static bool is_readable(uint64_t address, uint64_t size_bytes)
{
	char ends[2];
	struct iovec here = { ends, sizeof(ends) };
	struct iovec there[2] = { { (void *)(uintptr_t)address, 1 },
				  { (void *)(uintptr_t)(address + size_bytes - 1), 1 } };

	return process_vm_readv(getpid(), &here, 1, there, 2, 0) == sizeof(ends);
}

/* Does the client's slot lead to values? With only monitored fences it can be nothing else. */
static bool leads_to_values(uint64_t slot, uint64_t size_bytes)
{
	if (slot < LOWEST_ADDRESS || slot > HIGHEST_ADDRESS - size_bytes)
		return false;
	return !atomic_load_explicit(&may_be_value, memory_order_relaxed) ||
	       is_readable(slot, size_bytes);
}

/* Of a client's slot: does it go along? */
static bool has_values(const UINT64 *words, uint64_t count)
{
	uint64_t slot;

	memcpy(&slot, words, sizeof(slot));
	return count != 0 && count <= CALL_MAX_LIST &&
	       leads_to_values(slot, count * sizeof(uint64_t));
}

static void open_slot(struct travel *travel, UINT64 *words, uint64_t count)
{
	void *values = NULL;

	if (travel->has_values && (count == 0 || count > CALL_MAX_LIST))
		travel->has_failed = true;
	else if (travel->has_values)
		values = travel_next(travel, count * sizeof(uint64_t));
	words[TRAVEL_SLOT_MARK_AT] = TRAVEL_SLOT_MARK;
	words[TRAVEL_SLOT_POINTER_AT] = (uintptr_t)values;
	travel->has_values = false; /* they are found */
}

void travel_slot(struct walk walk, UINT64 *words, uint64_t count)
{
	uint64_t slot = words[0];

	if (walk.mode == TRAVEL_DESCRIBE) {
		travel_tell(walk.travel, words, "slot");
	} else if (walk.mode == TRAVEL_OPEN) {
		open_slot(walk.travel, words, count);
	} else if ((walk.mode <= TRAVEL_WRITE || walk.mode == TRAVEL_VISIT) &&
		   has_values(words, count)) {
		travel_list(walk, &slot, count, sizeof(slot), CALL_MAX_LIST, TRAVEL_THERE);
		walk.travel->has_values = true;
	}
}
