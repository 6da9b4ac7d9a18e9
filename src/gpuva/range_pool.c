/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/mem.h"
#include "gpuva/range_pool.h"

enum { CHUNK_RANGES = 62 };

struct range_chunk {
	struct list link; /* in chunks_with_free, while it has a free range */
	struct gpuva_range *unused;
	uint32_t unused_count;
	struct gpuva_range ranges[CHUNK_RANGES];
};

/* Unused ranges of a chunk hang together by a field that means something else in use. */
static struct gpuva_range *next_unused(const struct gpuva_range *range)
{
	return range->node.left ? container_of(range->node.left, struct gpuva_range, node) : NULL;
}

static void push_unused(struct range_chunk *chunk, struct gpuva_range *range)
{
	range->node.left = chunk->unused ? &chunk->unused->node : NULL;
	chunk->unused = range;
	chunk->unused_count++;
}

void range_pool_init(struct range_pool *pool)
{
	*pool = (struct range_pool){ 0 };
	list_init(&pool->chunks_with_free);
}

void range_pool_belong(struct range_pool *pool, struct quota_ledger *ledger)
{
	assert(!pool->ledger);
	pool->ledger = ledger;
	quota_force(ledger, QUOTA_GPU_RANGES, pool->chunk_count * CHUNK_RANGES);
}

void range_pool_finish(struct range_pool *pool)
{
	assert(pool->taken_count == 0);
	quota_give(pool->ledger, QUOTA_GPU_RANGES, pool->chunk_count * CHUNK_RANGES);
	list_drain (struct range_chunk, each, &pool->chunks_with_free, link)
		mem_free(each);
	pool->chunk_count = 0;
}

static struct range_chunk *chunk_create(struct range_pool *pool)
{
	struct range_chunk *chunk = mem_alloc(sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->unused = NULL;
	chunk->unused_count = 0;
	for (int i = CHUNK_RANGES - 1; i >= 0; i--) {
		chunk->ranges[i].chunk = chunk;
		push_unused(chunk, &chunk->ranges[i]);
	}
	list_push_front(&pool->chunks_with_free, &chunk->link);
	pool->chunk_count++;
	quota_force(pool->ledger, QUOTA_GPU_RANGES, CHUNK_RANGES);
	return chunk;
}

struct gpuva_range *range_pool_take(struct range_pool *pool)
{
	struct range_chunk *chunk;

	if (LIKELY(!list_is_empty(&pool->chunks_with_free)))
		chunk = container_of(pool->chunks_with_free.next, struct range_chunk, link);
	else if (!(chunk = chunk_create(pool)))
		return NULL;
	struct gpuva_range *range = chunk->unused;
	chunk->unused = next_unused(range);
	if (--chunk->unused_count == 0)
		list_remove(&chunk->link);
	pool->taken_count++;
	return range;
}

void range_pool_give(struct range_pool *pool, struct gpuva_range *range)
{
	if (!range)
		return;
	struct range_chunk *chunk = range->chunk;
	push_unused(chunk, range);
	pool->taken_count--;
	if (chunk->unused_count == 1)
		list_push_front(&pool->chunks_with_free, &chunk->link);
	/* Not the last one with room: the next one who takes would need it again. */
	if (UNLIKELY(chunk->unused_count == CHUNK_RANGES) &&
	    pool->chunks_with_free.next != pool->chunks_with_free.prev) {
		list_remove(&chunk->link);
		mem_free(chunk);
		pool->chunk_count--;
		quota_give(pool->ledger, QUOTA_GPU_RANGES, CHUNK_RANGES);
	}
}
