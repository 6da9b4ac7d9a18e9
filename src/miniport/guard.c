/* SPDX-License-Identifier: MIT */
/*
 * guard.c - see guard.h.
 *
 *	copy   |### buffer ###|~~~~ GUARD_BYTES ~~~~|
 *
 * Drivers that write too much do so with the structs of newer headers than ours, or with a size of
 * their own: the guard is long enough for most, and then the process goes on.
 */
#include <string.h>

#include "base/mem.h"
#include "miniport/guard.h"
#include "nt/report.h"

enum { GUARD_BYTES = 512, GUARD_BYTE = 0xb9 };

void guard_open(struct guard *guard, void *buffer, uint32_t bytes)
{
	uint8_t *copy = NULL;

	*guard = (struct guard){ .memory = buffer, .buffer = buffer, .bytes = bytes };
	if (buffer)
		copy = mem_alloc((size_t)bytes + GUARD_BYTES);
	if (!copy)
		return;
	memcpy(copy, buffer, bytes);
	memset(copy + bytes, GUARD_BYTE, GUARD_BYTES);
	guard->memory = copy;
	guard->is_copy = true;
}

static uint32_t overrun_bytes(const uint8_t *behind)
{
	uint32_t bytes = GUARD_BYTES;

	while (bytes > 0 && behind[bytes - 1] == GUARD_BYTE)
		bytes--;
	return bytes;
}

static void report(const struct guard *guard, const char *entry, const char *about, uint32_t bytes)
{
	nt_report_about(RULE_DDI_ANSWER_OVERRUN, guard->bytes,
			"%s%s%s%s was given a buffer of %u bytes and wrote %s%u more behind it",
			entry, about ? "(" : "", about ? about : "", about ? ")" : "", guard->bytes,
			bytes == GUARD_BYTES ? "at least " : "", bytes);
}

void guard_close(struct guard *guard, const char *entry, const char *about)
{
	if (!guard->is_copy)
		return;
	uint32_t bytes = overrun_bytes((const uint8_t *)guard->memory + guard->bytes);

	if (bytes > 0)
		report(guard, entry, about, bytes);
	memcpy(guard->buffer, guard->memory, guard->bytes);
	mem_free(guard->memory);
}
