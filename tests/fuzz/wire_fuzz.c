/* SPDX-License-Identifier: MIT */
/*
 * wire_fuzz.c - bytes become a request to a server, and the reply that a client gets.
 *
 *   in:   the number of a call, flags, then its struct and what that leads to
 *   out:  nothing, or the end of the program: a sanitizer's report, or a request that leads outside of
 *         itself
 *
 * Few bytes are a request of the right length. So as many zeros are added as there are missing, which
 * the refusals tell.
 */
#include <stdlib.h>
#include <string.h>

#include "base/refusal.h"
#include "wire/travel_walk.h"

enum { ZEROS_MAX = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_good)
{
	if (!is_good)
		abort();
}

static uint64_t send(struct travel_hooks *hooks, enum travel_thing thing, uintptr_t value,
		     uint64_t size_bytes)
{
	return value;
}

static uintptr_t arrive(struct travel_hooks *hooks, enum travel_thing thing, uint64_t token,
			uintptr_t value, uint64_t size_bytes)
{
	return token;
}

static uint64_t send_back(struct travel_hooks *hooks, int descriptor)
{
	return 1;
}

static int arrive_back(struct travel_hooks *hooks, uint64_t token)
{
	return token == 1 ? 3 : -1;
}

static struct travel_hooks hooks = { send, arrive, send_back, arrive_back };

/* As a handler reads it: the sanitizer knows whether it may. */
static void read_all(void *context, const void *memory, uint64_t size_bytes)
{
	static volatile unsigned char sink;

	/* Its ends are as good as all of it, where it is long. */
	for (uint64_t i = 0; i < size_bytes;
	     i += i == 4096 && size_bytes > 8192 ? size_bytes - 8192 : 1)
		sink = ((const unsigned char *)memory)[i];
	(void)sink;
}

/* Calls with a slot say by the mark where its values are. */
static bool has_slot(uint32_t id)
{
	return id == CALL_signal_synchronization_object_from_gpu ||
	       id == CALL_signal_synchronization_object_from_gpu2 ||
	       id == CALL_wait_for_synchronization_object_from_gpu;
}

static void answer(struct travel_image *image, NTSTATUS status, const uint8_t *data, size_t size)
{
	const uint32_t id = image->id;
	uint64_t reply_bytes = travel_reply_bytes(image, status);
	void *reply = malloc(reply_bytes);
	void *forged = malloc(size + 1);

	if (reply && forged) {
		travel_reply_write(image, status, reply, &hooks);
		/* What came of it fits who asked; what somebody else says need not. */
		expect(!image->arguments ||
		       travel_reply_apply(id, image->arguments, reply, reply_bytes, &hooks));
		memcpy(forged, data, size);
		(void)!travel_reply_apply(id, image->arguments, forged, size, &hooks);
	}
	free(reply);
	free(forged);
}

/* NULL: it was opened; else why not. */
static const char *open_block(uint32_t id, uint32_t flags, const uint8_t *data, size_t size,
			      size_t buffer)
{
	const uint32_t header[2] = { id, flags & 3 };
	const char *why = "";
	struct travel_image image;
	struct refusal_scope scope;
	unsigned char *block = calloc(1, buffer);

	if (!block)
		return "";
	memcpy(block, header, sizeof(header));
	memcpy(block + sizeof(header), data, size);
	refusal_begin(&scope, "wire_fuzz");
	bool is_open = travel_request_open(&image, id, block, buffer, &hooks, &why);
	refusal_end(&scope);
	expect(is_open || !why || *why);
	if (is_open) {
		if (image.arguments && !has_slot(id))
			travel_visit(id, image.arguments, read_all, NULL);
		answer(&image, flags & 4 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER, data, size);
		travel_image_close(&image);
	}
	free(block);
	return is_open ? NULL : why ? why : "";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t low = 8 + ((size - 2 + 7) & ~(size_t)7);
	size_t high = low + ZEROS_MAX;

	while (low <= high) {
		size_t buffer = low + (high - low) / 16 * 8;
		const char *why = open_block(data[0], data[1], data + 2, size - 2, buffer);
		if (!why)
			break;
		if (strstr(why, "longer"))
			high = buffer - 8;
		else
			low = buffer + 8;
	}
	return 0;
}
