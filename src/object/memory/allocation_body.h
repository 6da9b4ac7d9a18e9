/* SPDX-License-Identifier: MIT */
/*
 * allocation_body.h - the body of an allocation and its maker's part, built and given back: for who makes groups
 * (allocation.c), and for who makes and ends one alone (allocation_single.c).
 */
#ifndef OBJECT_MEMORY_ALLOCATION_BODY_H
#define OBJECT_MEMORY_ALLOCATION_BODY_H

#include "base/bytes.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/allocations.h"
#include "object/memory/allocation.h"
#include "object/memory/allocation_extra.h"
#include "object/memory/resource.h"
#include "trace/trace.h"

/* In the place of a binding that nobody needed before the end. */
extern struct vidmm_binding allocation_ended_binding;

static inline size_t allocation_body_bytes(uint32_t private_bytes)
{
	return sizeof(struct allocation_body) + private_bytes;
}

/* Its memory is over. */
SPECIALIZED void allocation_body_give(struct allocation_body *body)
{
	if (UNLIKELY(body->has_extra))
		allocation_extra_end(body);
	allocation_end_name(body);
	mem_give(body, allocation_body_bytes(body->private_bytes));
}

/*
 * A body with one reference, and its maker's binding with another. It has the caller's reference to
 * the device from now on, unless this fails.
 */
SPECIALIZED NTSTATUS allocation_body_build(struct dxg_device *device, uint32_t seat,
					   struct dxg_resource *resource, const void *private_data,
					   uint32_t private_bytes,
					   struct allocation_body **body_out)
{
	struct quota_ledger *ledger = device->process->ledger;
	NTSTATUS status;

	if (UNLIKELY(ledger)) {
		status = allocation_quota_take(ledger, private_bytes);
		if (!NT_SUCCESS(status))
			return status;
	}
	struct allocation_body *body = mem_take(allocation_body_bytes(private_bytes));
	if (UNLIKELY(!body)) {
		status = STATUS_NO_MEMORY;
		goto give_quota;
	}
	struct dxg_allocation *allocation = &body->maker;
	/* By pieces: to wipe it all takes the processor longer. The object is object_init()'s, and
	   whoever puts it into a list sets the links. */
	allocation->device = device;
	allocation->resource = resource;
	allocation->body = body;
	bytes_wipe_from(allocation, driver_binding);
	status = object_init_from(&allocation->object, &allocation_class, &device->process->handles,
				  seat);
	if (UNLIKELY(!NT_SUCCESS(status)))
		goto give_body;
	if (UNLIKELY(resource))
		object_get(&resource->object);

	refcount_init(&body->refs);
	refcount_init_to(&body->lookers, 2);
	body->resource = NULL;
	body->private_bytes = private_bytes;
	body->has_extra = false;
	atomic_init(&body->name, NULL);
	if (UNLIKELY(ledger))
		allocation_extra_begin(body, ledger);
	body->holds = (struct hold_count){ 0 };
	if (LIKELY(private_bytes))
		bytes_copy(body + 1, private_data, private_bytes);
	vidmm_allocation_init_empty(&body->memory);
	*body_out = body;
	return STATUS_SUCCESS;

give_body:
	mem_give(body, allocation_body_bytes(private_bytes));
give_quota:
	if (ledger)
		allocation_quota_give(ledger, private_bytes);
	return refused(refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for an allocation"));
}

/* `priority` is the client's word, or the driver's. */
SPECIALIZED void allocation_body_take_answer(struct allocation_body *body,
					     const struct dxg_device *device,
					     const struct miniport_allocation *answer,
					     uint32_t priority, struct vidmm_account *account,
					     void *existing_memory)
{
	const struct vidmm_wishes wishes = {
		/* The handle, as its client has it; those of further processes are told apart by
		   what is above it. */
		.id = (uint64_t)(device->process->id - 1) << 32 | body->maker.object.handle,
		.size_bytes = answer->size_bytes,
		.alignment_bytes = answer->alignment_bytes,
		.supported_segments = answer->supported_segments,
		.preferred_segments = answer->preferred_segments,
		.eviction_segments = answer->eviction_segments,
		.priority = priority,
		.account = account,
		.hinted_banks = answer->hinted_banks,
		.traits.bits = answer->traits.bits,
		.existing_memory = existing_memory,
	};

	body->driver_allocation = answer->driver_allocation;
	if (trace_is_on())
		allocation_trace_live(&body->maker, wishes.id, wishes.size_bytes,
				      wishes.supported_segments);
	vidmm_allocation_init(&body->memory, &wishes);
}

/* Nobody was told of it. With its maker's part goes the reference on the device. */
void allocation_body_abandon(struct allocation_body *body);

#endif
