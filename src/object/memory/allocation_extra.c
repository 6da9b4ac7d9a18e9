/* SPDX-License-Identifier: MIT */
#include "base/section.h"
#include "object/memory/allocation_extra.h"

void allocation_extra_end(struct allocation_body *body)
{
	struct quota_ledger *ledger = body->extra.ledger;

	if (body->extra.section)
		section_unmap(body->extra.section);
	quota_give(ledger, QUOTA_SYSTEM_BYTES, body->extra.shared_bytes);
	quota_give(ledger, QUOTA_PRIVATE_BYTES, body->private_bytes);
	quota_give(ledger, QUOTA_ALLOCATIONS, ledger ? 1 : 0);
	quota_put(ledger);
}

void allocation_extra_begin(struct allocation_body *body, struct quota_ledger *ledger)
{
	body->has_extra = true;
	body->extra.section = NULL;
	body->extra.ledger = quota_get(ledger);
	body->extra.shared_bytes = 0;
}

NTSTATUS allocation_extra_take_shared(struct allocation_body *body, uint64_t size_bytes)
{
	struct quota_ledger *ledger = body->has_extra ? body->extra.ledger : NULL;
	NTSTATUS status = quota_take(ledger, QUOTA_SYSTEM_BYTES, size_bytes);

	if (ledger && NT_SUCCESS(status))
		body->extra.shared_bytes = size_bytes;
	return status;
}

NTSTATUS allocation_quota_take(struct quota_ledger *ledger, uint32_t private_bytes)
{
	NTSTATUS status = quota_take(ledger, QUOTA_ALLOCATIONS, 1);

	if (!NT_SUCCESS(status))
		return status;
	status = quota_take(ledger, QUOTA_PRIVATE_BYTES, private_bytes);
	if (!NT_SUCCESS(status))
		quota_give(ledger, QUOTA_ALLOCATIONS, 1);
	return status;
}

void allocation_quota_give(struct quota_ledger *ledger, uint32_t private_bytes)
{
	quota_give(ledger, QUOTA_PRIVATE_BYTES, private_bytes);
	quota_give(ledger, QUOTA_ALLOCATIONS, 1);
}
