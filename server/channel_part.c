/* SPDX-License-Identifier: MIT */
/*
 * channel_part.c - requests and replies that are longer than a channel.
 *
 * They travel in parts and are the server's memory meanwhile: also those that a client begins and never finishes. So
 * they are counted as what else it has (QUOTA_REQUEST_BYTES).
 */
#include <string.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "server/server.h"
#include "wire/travel.h"

static uint64_t capacity_for(const struct channel_part *part, uint64_t size_bytes)
{
	uint64_t capacity = part->capacity_bytes ? part->capacity_bytes : CHANNEL_BUFFER_BYTES;

	while (capacity < size_bytes)
		capacity *= 2;
	return capacity < TRAVEL_MAX_BYTES ? capacity : TRAVEL_MAX_BYTES;
}

static NTSTATUS part_grow(struct session *session, struct channel_part *part, uint64_t capacity)
{
	uint64_t more_bytes = capacity - part->capacity_bytes;
	NTSTATUS status = quota_take(session->ledger, QUOTA_REQUEST_BYTES, more_bytes);

	if (!NT_SUCCESS(status))
		return status;
	unsigned char *bytes = mem_alloc(capacity);
	if (!bytes) {
		quota_give(session->ledger, QUOTA_REQUEST_BYTES, more_bytes);
		return refuse_no_memory("the server has no memory for a request of %llu bytes",
					(unsigned long long)capacity);
	}
	if (part->bytes)
		memcpy(bytes, part->bytes, part->size_bytes);
	mem_free(part->bytes);
	part->bytes = bytes;
	part->capacity_bytes = capacity;
	return STATUS_SUCCESS;
}

NTSTATUS channel_part_append(struct session *session, struct channel_part *part,
			     const unsigned char *bytes, uint64_t size_bytes)
{
	uint64_t capacity = capacity_for(part, part->size_bytes + size_bytes);
	NTSTATUS status = STATUS_SUCCESS;

	if (capacity > part->capacity_bytes)
		status = part_grow(session, part, capacity);
	if (!NT_SUCCESS(status))
		return status;
	memcpy(part->bytes + part->size_bytes, bytes, size_bytes);
	part->size_bytes += size_bytes;
	return STATUS_SUCCESS;
}

bool channel_part_make(struct session *session, struct channel_part *part, uint64_t size_bytes)
{
	struct refusal_scope scope;

	/* The call is over, and its own status stands. */
	refusal_begin(&scope, "dxgkd");
	NTSTATUS status = part_grow(session, part, size_bytes);
	refusal_end_call(&scope, status);
	part->size_bytes = NT_SUCCESS(status) ? size_bytes : 0;
	return NT_SUCCESS(status);
}

void channel_part_forget(struct session *session, struct channel_part *part)
{
	mem_free(part->bytes);
	quota_give(session->ledger, QUOTA_REQUEST_BYTES, part->capacity_bytes);
	*part = (struct channel_part){ 0 };
}
