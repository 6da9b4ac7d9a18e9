/*
 * dma_buffer.h - what DxgkDdiRender writes into: commands, patch list, the driver's private data.
 *
 * A buffer is with one call, or with the packets it was cut into, and goes back to its context's
 * pool with the last of them: not before the hardware has read it.
 */
#ifndef OBJECT_DMA_BUFFER_H
#define OBJECT_DMA_BUFFER_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/refcount.h"
#include "miniport/work.h"

struct dma_pool {
	/* Set at init. */
	uint32_t private_bytes;
	uint64_t highest_address;

	struct lock lock;  /* LOCK_RANK_PACKET */
	struct list spare; /* dma_buffer.link */
	uint32_t spare_count;
};

struct dma_buffer {
	/* Set at creation. */
	struct dma_pool *pool;
	uint64_t physical_address; /* contiguous system memory */
	void *memory;
	uint32_t size_bytes;
	uint32_t patch_room;
	struct miniport_patch_entry *patches; /* NULL: no room */

	struct refcount refs;
	struct list link; /* dma_pool.spare, guarded by its lock */

	/* By whoever has it. */
	uint32_t used_bytes;
	uint32_t private_used_bytes;
	uint32_t patch_count;
	_Alignas(max_align_t) unsigned char private_data[];
};

void dma_pool_init(struct dma_pool *pool, uint32_t private_bytes, uint64_t highest_address);

/* Every buffer is back. */
void dma_pool_finish(struct dma_pool *pool);

/* At least as large as that; NULL, refused, when there is no memory. Private data is zero. */
MUST_CHECK struct dma_buffer *dma_buffer_take(struct dma_pool *pool, uint32_t size_bytes,
					      uint32_t patch_room);

/* One user fewer. Must not block. */
void dma_buffer_put(struct dma_buffer *buffer);

static inline void *dma_buffer_private(struct dma_buffer *buffer)
{
	return buffer->pool->private_bytes > 0 ? buffer->private_data : NULL;
}

#endif
