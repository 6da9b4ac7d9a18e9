/* SPDX-License-Identifier: MIT */
/*
 * dma_buffer.c - see dma_buffer.h.
 *
 * Private data is zeroed each time: drivers take what they find there for their own.
 */
#include <string.h>

#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/notice.h"
#include "object/submit/dma_buffer.h"

/* How many the next call leaves: more than a node is given at once. */
enum { SPARE_MAX = 16 };

void dma_pool_init(struct dma_pool *pool, const struct dma_pool_options *options)
{
	pool->options = *options;
	atomic_init(&pool->placed, 0);
	lock_init(&pool->lock, LOCK_RANK_PACKET, "DMA buffers");
	list_init(&pool->all);
	list_init(&pool->spare);
	pool->spare_count = 0;
}

/* ---- in segments ---- */

/* Its memory is the allocation's from here on, whatever is returned. */
static NTSTATUS buffer_place(struct dma_buffer *buffer, uint64_t whole_bytes)
{
	struct dma_pool *pool = buffer->pool;
	struct vidmm_device *device = pool->options.device;
	const struct vidmm_wishes wishes = {
		.size_bytes = whole_bytes,
		.alignment_bytes = MACHINE_PAGE_BYTES,
		.supported_segments = pool->options.segments,
		.priority = VIDMM_PRIORITY_NORMAL,
		.account = &device->process->account,
		.traits = { .is_accessed_physically = true },
	};
	struct vidmm_allocation_list_entry entry = { .binding = &buffer->binding };
	struct vidmm_allocation_list alone = { .device = device, .entries = &entry, .count = 1 };
	uint32_t fits = 0;

	trace_allocation_live(wishes.id, wishes.size_bytes, wishes.supported_segments,
			      device->process->id, 0, 0, pool->options.adapter_id);
	vidmm_allocation_init(&buffer->allocation, &wishes);
	vidmm_allocation_take_run(&buffer->allocation, buffer->physical_address);
	/* The driver has no name for it. */
	vidmm_binding_init(&buffer->binding, device, &buffer->allocation, NULL);
	refcount_init(&buffer->holds);
	buffer->is_placed = true;
	atomic_fetch_add(&pool->placed, 1);
	lock_acquire(&pool->lock);
	list_push_back(&pool->all, &buffer->all_link);
	lock_release(&pool->lock);
	NTSTATUS status = vidmm_allocation_list_check(&alone, &fits);
	if (NT_SUCCESS(status) && fits == 0)
		status = refuse(STATUS_NO_MEMORY, RULE_MM_LIST_FITS, "DmaBufferSegmentSet",
				"has no segment that could hold a DMA buffer of %llu bytes",
				(unsigned long long)whole_bytes);
	return status;
}

void dma_buffer_release(struct dma_buffer *buffer)
{
	struct dma_pool *pool = buffer->pool;

	if (!refcount_put(&buffer->holds))
		return;
	vidmm_allocation_finish(&buffer->allocation); /* the memory, too */
	mem_free(buffer->patches);
	mem_free(buffer);
	/* The pool may go with the last one: nothing is touched behind the count. */
	if (atomic_fetch_sub(&pool->placed, 1) == 1)
		thread_wake_all(&pool->placed);
}

static void buffer_departed(struct vidmm_departure *departure)
{
	struct dma_buffer *buffer = container_of(departure, struct dma_buffer, departure);

	lock_acquire(&buffer->pool->lock);
	list_remove(&buffer->all_link);
	lock_release(&buffer->pool->lock);
	dma_buffer_release(buffer);
}

/* No work uses it any more, so it may leave whenever the pager comes to it. */
static void buffer_depart(struct dma_buffer *buffer)
{
	buffer->departure.done = buffer_departed;
	vidmm_binding_finish(&buffer->binding);
	vidmm_allocation_retire(&buffer->allocation);
	if (vidmm_allocation_depart(&buffer->allocation, &buffer->departure))
		buffer_departed(&buffer->departure);
}

void dma_pool_for_each(struct dma_pool *pool,
		       void (*visit)(void *context, struct dma_buffer *buffer), void *context)
{
	lock_acquire(&pool->lock);
	list_each (struct dma_buffer, each, &pool->all, all_link)
		visit(context, each);
	lock_release(&pool->lock);
}

/* ---- one buffer ---- */

static struct vidmm_account *buffer_account(const struct dma_buffer *buffer)
{
	return &buffer->pool->options.device->process->account;
}

static uint64_t buffer_whole_bytes(uint32_t size_bytes)
{
	return ((uint64_t)size_bytes + MACHINE_PAGE_BYTES - 1) / MACHINE_PAGE_BYTES *
	       MACHINE_PAGE_BYTES;
}

static void buffer_free(struct dma_buffer *buffer)
{
	if (buffer->is_placed) {
		buffer_depart(buffer);
		return;
	}
	if (buffer->memory) {
		(void)!machine_free_contiguous(buffer->physical_address);
		account_give(buffer_account(buffer), buffer_whole_bytes(buffer->size_bytes));
	}
	mem_free(buffer->patches);
	mem_free(buffer);
}

void dma_pool_finish(struct dma_pool *pool)
{
	list_drain (struct dma_buffer, each, &pool->spare, link)
		buffer_free(each);
	word_wait_until_none(&pool->placed);
	lock_finish(&pool->lock);
}

/* The one that came back last, if there are more than `kept`. */
static struct dma_buffer *pool_pop(struct dma_pool *pool, uint32_t kept)
{
	lock_acquire(&pool->lock);
	struct list *link = pool->spare_count > kept ? list_pop_front(&pool->spare) : NULL;
	if (link)
		pool->spare_count--;
	lock_release(&pool->lock);
	return link ? container_of(link, struct dma_buffer, link) : NULL;
}

static NTSTATUS no_memory(uint32_t size_bytes)
{
	return refuse_no_memory("no memory for a DMA buffer of %u bytes", size_bytes);
}

static NTSTATUS buffer_fill_in(struct dma_buffer *buffer, uint32_t size_bytes,
			       uint32_t patch_capacity)
{
	uint64_t whole_bytes = buffer_whole_bytes(size_bytes);
	const struct dma_pool_options *options = &buffer->pool->options;
	/* What is placed is an allocation of exactly its size. */
	uint64_t guard_bytes = options->segments == 0 ? options->guard_bytes : 0;
	NTSTATUS status;

	if (patch_capacity > 0) {
		buffer->patches = mem_zalloc_array(patch_capacity, sizeof(*buffer->patches));
		if (!buffer->patches)
			return no_memory(size_bytes);
	}
	status = account_take(buffer_account(buffer), whole_bytes);
	if (!NT_SUCCESS(status))
		return status;
	if (!NT_SUCCESS(machine_alloc_contiguous(whole_bytes + guard_bytes, 0, 0,
						 options->highest_address, 0,
						 &buffer->physical_address))) {
		account_give(buffer_account(buffer), whole_bytes);
		return no_memory(size_bytes);
	}
	buffer->memory = machine_to_pointer(buffer->physical_address);
	buffer->size_bytes = size_bytes;
	buffer->patch_capacity = patch_capacity;
	if (options->segments == 0)
		return STATUS_SUCCESS;
	/* The allocation counts it from here on. */
	status = buffer_place(buffer, whole_bytes);
	account_give(buffer_account(buffer), whole_bytes);
	return status;
}

static NTSTATUS buffer_make(struct dma_pool *pool, uint32_t size_bytes, uint32_t patch_capacity,
			    struct dma_buffer **buffer_out)
{
	struct dma_buffer *buffer = mem_zalloc(sizeof(*buffer) + pool->options.private_bytes);

	if (!buffer)
		return no_memory(size_bytes);
	buffer->pool = pool;
	list_init(&buffer->link);
	list_init(&buffer->all_link);
	NTSTATUS status = buffer_fill_in(buffer, size_bytes, patch_capacity);
	if (NT_SUCCESS(status))
		*buffer_out = buffer;
	else
		buffer_free(buffer);
	return status;
}

NTSTATUS dma_buffer_take(struct dma_pool *pool, uint32_t size_bytes, uint32_t patch_capacity,
			 struct dma_buffer **buffer_out)
{
	struct dma_buffer *buffer;
	NTSTATUS status = STATUS_SUCCESS;

	while ((buffer = pool_pop(pool, SPARE_MAX)))
		buffer_free(buffer);
	/* What was made for smaller command buffers has had its time. */
	while ((buffer = pool_pop(pool, 0)) &&
	       (buffer->size_bytes < size_bytes || buffer->patch_capacity < patch_capacity))
		buffer_free(buffer);
	if (buffer)
		memset(buffer->private_data, 0, pool->options.private_bytes);
	else
		status = buffer_make(pool, size_bytes, patch_capacity, &buffer);
	if (!NT_SUCCESS(status))
		return status;
	refcount_init(&buffer->refs);
	buffer->used_bytes = 0;
	buffer->private_used_bytes = 0;
	buffer->patch_count = 0;
	*buffer_out = buffer;
	return STATUS_SUCCESS;
}

/* Frees nothing, however many there are: a driver's DPC brings them back. */
void dma_buffer_put(struct dma_buffer *buffer)
{
	struct dma_pool *pool = buffer->pool;

	if (!refcount_put(&buffer->refs))
		return;
	lock_acquire(&pool->lock);
	list_push_front(&pool->spare, &buffer->link);
	pool->spare_count++;
	lock_release(&pool->lock);
}
