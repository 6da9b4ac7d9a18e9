/*
 * dma_buffer.c - see dma_buffer.h.
 *
 * Private data is zeroed each time: drivers take what they find there for their own.
 */
#include <string.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "object/dma_buffer.h"

/* More than a node is given at once. */
enum { SPARE_MAX = 16 };

void dma_pool_init(struct dma_pool *pool, uint32_t private_bytes, uint64_t highest_address)
{
	pool->private_bytes = private_bytes;
	pool->highest_address = highest_address;
	lock_init(&pool->lock, LOCK_RANK_PACKET, "DMA buffers");
	list_init(&pool->spare);
	pool->spare_count = 0;
}

static void buffer_free(struct dma_buffer *buffer)
{
	if (buffer->memory)
		(void)!machine_free_contiguous(buffer->physical_address);
	mem_free(buffer->patches);
	mem_free(buffer);
}

void dma_pool_finish(struct dma_pool *pool)
{
	struct list *link;

	while ((link = list_pop_front(&pool->spare)))
		buffer_free(container_of(link, struct dma_buffer, link));
	lock_finish(&pool->lock);
}

static struct dma_buffer *pool_pop(struct dma_pool *pool)
{
	lock_acquire(&pool->lock);
	struct list *link = list_pop_front(&pool->spare);
	if (link)
		pool->spare_count--;
	lock_release(&pool->lock);
	return link ? container_of(link, struct dma_buffer, link) : NULL;
}

static bool buffer_fill_in(struct dma_buffer *buffer, uint32_t size_bytes, uint32_t patch_room)
{
	uint64_t whole_bytes =
		(size_bytes + MACHINE_PAGE_BYTES - 1) / MACHINE_PAGE_BYTES * MACHINE_PAGE_BYTES;

	if (patch_room > 0) {
		buffer->patches = mem_zalloc_array(patch_room, sizeof(*buffer->patches));
		if (!buffer->patches)
			return false;
	}
	if (!NT_SUCCESS(machine_alloc_contiguous(whole_bytes, 0, 0, buffer->pool->highest_address,
						 0, &buffer->physical_address)))
		return false;
	buffer->memory = machine_to_pointer(buffer->physical_address);
	buffer->size_bytes = size_bytes;
	buffer->patch_room = patch_room;
	return true;
}

static struct dma_buffer *buffer_make(struct dma_pool *pool, uint32_t size_bytes,
				      uint32_t patch_room)
{
	struct dma_buffer *buffer = mem_zalloc(sizeof(*buffer) + pool->private_bytes);

	if (!buffer)
		return NULL;
	buffer->pool = pool;
	list_init(&buffer->link);
	if (buffer_fill_in(buffer, size_bytes, patch_room))
		return buffer;
	buffer_free(buffer);
	return NULL;
}

struct dma_buffer *dma_buffer_take(struct dma_pool *pool, uint32_t size_bytes, uint32_t patch_room)
{
	struct dma_buffer *buffer;

	/* What was made for smaller command buffers has had its time. */
	while ((buffer = pool_pop(pool)) &&
	       (buffer->size_bytes < size_bytes || buffer->patch_room < patch_room))
		buffer_free(buffer);
	if (buffer)
		memset(buffer->private_data, 0, pool->private_bytes);
	else
		buffer = buffer_make(pool, size_bytes, patch_room);
	if (!buffer) {
		refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
		       "no memory for a DMA buffer of %u bytes", size_bytes);
		return NULL;
	}
	refcount_init(&buffer->refs);
	buffer->used_bytes = 0;
	buffer->private_used_bytes = 0;
	buffer->patch_count = 0;
	return buffer;
}

void dma_buffer_put(struct dma_buffer *buffer)
{
	struct dma_pool *pool = buffer->pool;

	if (!refcount_put(&buffer->refs))
		return;
	lock_acquire(&pool->lock);
	bool is_kept = pool->spare_count < SPARE_MAX;
	if (is_kept) {
		list_push_front(&pool->spare, &buffer->link);
		pool->spare_count++;
	}
	lock_release(&pool->lock);
	if (!is_kept)
		buffer_free(buffer);
}
