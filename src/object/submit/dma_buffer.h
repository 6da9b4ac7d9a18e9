/* SPDX-License-Identifier: MIT */
/*
 * dma_buffer.h - what DxgkDdiRender writes into: commands, patch list, the driver's private data.
 *
 * A buffer is with one call, or with the packets it was cut into, and goes back to its context's
 * pool with the last of them: not before the hardware has read it.
 *
 * It is contiguous system memory, and counts for its process's quota of that. Where the driver names segments for its buffers it is an
 * allocation, too, of which that memory is the content: a packet has it brought into one of them,
 * as it has what its list names, and the address is known then and not before.
 */
#ifndef OBJECT_SUBMIT_DMA_BUFFER_H
#define OBJECT_SUBMIT_DMA_BUFFER_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/refcount.h"
#include "miniport/work.h"
#include "vidmm/manager.h"

struct dma_pool_options {
	uint32_t private_bytes;
	uint64_t highest_address;
	uint32_t segments;    /* apertures, bit n-1 is segment n; 0: system memory as it is */
	uint32_t guard_bytes; /* whole pages that nobody uses, behind those in system memory */
	struct vidmm_device *device;
	uint32_t adapter_id; /* for traces */
};

struct dma_pool {
	struct dma_pool_options options; /* set at init */
	_Atomic uint32_t placed;         /* buffers that segments have to do with */

	struct lock lock;  /* LOCK_RANK_PACKET */
	struct list all;   /* dma_buffer.all_link: those */
	struct list spare; /* dma_buffer.link */
	uint32_t spare_count;
};

struct dma_buffer {
	/* Set at creation. */
	struct dma_pool *pool;
	uint64_t physical_address; /* of the system memory */
	void *memory;
	uint32_t size_bytes;
	uint32_t patch_capacity;
	struct miniport_patch_entry *patches; /* NULL: no room */

	bool is_placed; /* in a segment, when it is used */
	struct vidmm_allocation allocation;
	struct vidmm_binding binding;
	struct vidmm_departure departure;
	struct refcount holds; /* of the struct: one until it departed, and those who look at it */
	struct list all_link;  /* dma_pool.all, guarded by its lock */

	struct refcount refs;
	struct list link; /* dma_pool.spare, guarded by its lock */

	/* By whoever has it. */
	uint32_t used_bytes;
	uint32_t private_used_bytes;
	uint32_t patch_count;
	_Alignas(max_align_t) unsigned char private_data[];
};

void dma_pool_init(struct dma_pool *pool, const struct dma_pool_options *options);

/* Every buffer is back. Waits for the pager. */
void dma_pool_finish(struct dma_pool *pool);

/*
 * Those that are the memory manager's business. `visit` must call nobody, but may hold the buffer:
 * its allocation can be looked at until the release then, wherever the buffer goes.
 */
void dma_pool_for_each(struct dma_pool *pool,
		       void (*visit)(void *context, struct dma_buffer *buffer), void *context);
static inline void dma_buffer_hold(struct dma_buffer *buffer)
{
	refcount_get(&buffer->holds);
}
void dma_buffer_release(struct dma_buffer *buffer);

/*
 * At least as large as that. Refused when there is no memory, or its process may have no more, or there is
 * no segment that could ever hold it. Private data is zero.
 */
MUST_CHECK NTSTATUS dma_buffer_take(struct dma_pool *pool, uint32_t size_bytes,
				    uint32_t patch_capacity, struct dma_buffer **buffer_out);

/* One user fewer. Any thread, DPC included: it goes to the pool, and the next call frees what is too many there. */
void dma_buffer_put(struct dma_buffer *buffer);

static inline void *dma_buffer_private(struct dma_buffer *buffer)
{
	return buffer->pool->options.private_bytes > 0 ? buffer->private_data : NULL;
}

/* What has to be in place for it; NULL: nothing. */
static inline struct vidmm_binding *dma_buffer_binding(struct dma_buffer *buffer)
{
	return buffer->is_placed ? &buffer->binding : NULL;
}

#endif
