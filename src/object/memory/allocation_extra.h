/* SPDX-License-Identifier: MIT */
/*
 * allocation_extra.h - what most allocations have not: a section behind them, quotas that they count for,
 * and a name. Whoever makes one that has none of it does not come here.
 */
#ifndef OBJECT_MEMORY_ALLOCATION_EXTRA_H
#define OBJECT_MEMORY_ALLOCATION_EXTRA_H

#include "base/mem.h"
#include "object/memory/allocation.h"

/* One more allocation, and its private data: before the body is there. */
MUST_CHECK RARE NTSTATUS allocation_quota_take(struct quota_ledger *ledger, uint32_t private_bytes);
RARE void allocation_quota_give(struct quota_ledger *ledger, uint32_t private_bytes);

/* The body has `extra` from now on, and gives back what was taken for it. `ledger` may be NULL. */
RARE void allocation_extra_begin(struct allocation_body *body, struct quota_ledger *ledger);
RARE void allocation_extra_end(struct allocation_body *body);
/* Of one that has come to no use, and has no handle any more: it counts for no quota from now on. */
RARE void allocation_uncount(struct dxg_allocation *allocation);

/* Of one that nobody else has: its number, which may have been uncounted before. */
SPECIALIZED void allocation_abandon_handle(struct dxg_allocation *allocation, uint32_t seat)
{
	if (UNLIKELY(allocation->body->has_extra && allocation->body->extra.is_uncounted))
		object_abandon_uncounted(&allocation->object);
	else
		object_abandon_from(&allocation->object, seat);
}

/* What is shared is charged to the adapter, whose it may become; the quota is its maker's. */
MUST_CHECK NTSTATUS allocation_extra_take_shared(struct allocation_body *body, uint64_t size_bytes);

/* Of a body that ends. */
static inline void allocation_end_name(struct allocation_body *body)
{
	char *name = atomic_load_explicit(&body->name, memory_order_relaxed);

	if (UNLIKELY(name))
		mem_free(name);
}

/* NULL: none. */
static inline struct section *allocation_section(const struct allocation_body *body)
{
	return body->has_extra ? body->extra.section : NULL;
}

#endif
