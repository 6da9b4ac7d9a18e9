/* SPDX-License-Identifier: MIT */
/*
 * range_pool.h - storage for ranges, in chunks.
 *
 * Taking and giving back a range costs the same whether there are ten or a million, and takes
 * memory from the system once in a while. A chunk goes back when it is empty and another one has
 * room. Whoever asks for ranges looks at the quota first; here they are counted, and not refused, because
 * a range may be needed where nobody can be refused any more.
 */
#ifndef GPUVA_RANGE_POOL_H
#define GPUVA_RANGE_POOL_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/quota.h"
#include "gpuva/ranges.h"

struct range_pool {
	struct list chunks_with_free; /* range_chunk.link */
	uint64_t chunk_count;
	uint64_t taken_count;
	struct quota_ledger *ledger; /* whose ranges they are, whole chunks; NULL: nobody's */
};

void range_pool_init(struct range_pool *pool);

/* They count for this one's quota from now on; once. */
void range_pool_belong(struct range_pool *pool, struct quota_ledger *ledger);

/* Everything was given back. */
void range_pool_finish(struct range_pool *pool);

/* NULL when there is no memory. What is in it is left over from its last use. */
MUST_CHECK struct gpuva_range *range_pool_take(struct range_pool *pool);

/* Accepts NULL. */
void range_pool_give(struct range_pool *pool, struct gpuva_range *range);

#endif
