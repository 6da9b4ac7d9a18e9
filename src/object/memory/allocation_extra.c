/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/refusal.h"
#include "base/section.h"
#include "object/memory/allocation_extra.h"
#include "object/memory/resource.h"
#include "trace/trace.h"

static void quotas_give(const struct allocation_body *body)
{
	struct quota_ledger *ledger = body->extra.ledger;

	quota_give(ledger, QUOTA_SYSTEM_BYTES, body->extra.shared_bytes);
	allocation_quota_give(ledger, body->private_bytes);
}

void allocation_extra_end(struct allocation_body *body)
{
	if (body->extra.section)
		section_unmap(body->extra.section);
	if (!body->extra.is_uncounted)
		quotas_give(body);
	quota_put(body->extra.ledger);
}

void allocation_uncount(struct dxg_allocation *allocation)
{
	struct allocation_body *body = allocation->body;

	if (!body->has_extra)
		return;
	object_uncount(&allocation->object);
	quotas_give(body);
	body->extra.is_uncounted = true;
}

void allocation_extra_begin(struct allocation_body *body, struct quota_ledger *ledger)
{
	body->has_extra = true;
	body->extra.section = NULL;
	body->extra.ledger = quota_get(ledger);
	body->extra.shared_bytes = 0;
	body->extra.is_uncounted = false;
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

NTSTATUS allocation_set_name(struct dxg_allocation *allocation, const char *name)
{
	struct allocation_body *body = allocation->body;
	char *copy = *name ? mem_strdup(name) : NULL;

	if (*name && !copy)
		return refuse_no_memory("no memory for the name of an allocation");
	trace_allocation_name(body->memory.id, name);
	mem_free(atomic_exchange(&body->name, copy));
	return STATUS_SUCCESS;
}

void allocation_trace_live(const struct dxg_allocation *allocation, uint64_t id,
			   uint64_t size_bytes, uint32_t supported_segments)
{
	const struct dxg_device *device = allocation->device;

	trace_put_allocation_live(id, size_bytes, supported_segments, device->process->id,
				  device->object.handle,
				  allocation->resource ? allocation->resource->object.handle : 0,
				  device->adapter->id);
}

void allocation_trace_opened(const struct dxg_allocation *allocation)
{
	const struct dxg_device *device = allocation->device;

	trace_allocation_opened(device->process->id, allocation->object.handle,
				allocation->body->memory.id, device->object.handle,
				allocation->resource->object.handle);
}
