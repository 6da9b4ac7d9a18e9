/* SPDX-License-Identifier: MIT */
/*
 * kept_bytes.c - see kept_bytes.h. Whose they are stands in front of them.
 */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "object/memory/kept_bytes.h"

struct kept_bytes {
	struct quota_ledger *ledger; /* with a reference; NULL: nobody counts */
	uint64_t size_bytes;
	_Alignas(max_align_t) unsigned char bytes[];
};

NTSTATUS kept_bytes_copy(struct quota_ledger *ledger, const void *data, uint32_t size_bytes,
			 void **copy_out)
{
	*copy_out = NULL;
	if (size_bytes == 0)
		return STATUS_SUCCESS;
	NTSTATUS status = quota_take(ledger, QUOTA_PRIVATE_BYTES, size_bytes);
	if (!NT_SUCCESS(status))
		return status;
	struct kept_bytes *kept = mem_alloc(sizeof(*kept) + size_bytes);
	if (!kept) {
		quota_give(ledger, QUOTA_PRIVATE_BYTES, size_bytes);
		return STATUS_NO_MEMORY;
	}
	kept->ledger = quota_get(ledger);
	kept->size_bytes = size_bytes;
	memcpy(kept->bytes, data, size_bytes);
	*copy_out = kept->bytes;
	return STATUS_SUCCESS;
}

void kept_bytes_free(void *copy)
{
	if (!copy)
		return;
	struct kept_bytes *kept =
		(struct kept_bytes *)((char *)copy - offsetof(struct kept_bytes, bytes));
	quota_give(kept->ledger, QUOTA_PRIVATE_BYTES, kept->size_bytes);
	quota_put(kept->ledger);
	mem_free(kept);
}
