/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - paging buffers: where they are, and their way to the hardware and back.
 *
 *	free ──current()──▶ current ──submit()──▶ with the scheduler ──retired──▶ free
 *
 * A buffer is contiguous memory of the machine below 4 GiB. The driver is told exactly the size it
 * reported, because some recognise a fresh buffer by it, and the private data of a fresh one is
 * zero.
 *
 * Locks: pager.lock around the numbers and lists. Packets are retired on any thread.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "paging/internal.h"
#include "trace/trace.h"

/* Physical addresses that fit into 32 bits: drivers exist that keep them so. */
static const uint64_t highest_address = UINT64_C(0xFFFFFFFF);

static NTSTATUS memory_init(const struct pager *pager, struct miniport_paging_buffer *memory)
{
	uint64_t address;
	uint64_t size_bytes = pages_of(pager->config.buffer_bytes) << MACHINE_PAGE_SHIFT;
	NTSTATUS status = machine_alloc_contiguous(size_bytes + pager->config.buffer_guard_bytes, 0,
						   0, highest_address, 0, &address);

	if (!NT_SUCCESS(status))
		return status;
	*memory = (struct miniport_paging_buffer){
		.memory = machine_to_pointer(address),
		.physical_address = address,
		.size_bytes = pager->config.buffer_bytes,
		.private_bytes = pager->config.buffer_private_bytes,
	};
	if (memory->private_bytes == 0)
		return STATUS_SUCCESS;
	memory->private_data = mem_zalloc(memory->private_bytes);
	return memory->private_data ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static void memory_finish(struct miniport_paging_buffer *memory)
{
	mem_free(memory->private_data);
	if (memory->memory && !machine_free_contiguous(memory->physical_address))
		assert(!"the run is ours");
	*memory = (struct miniport_paging_buffer){ 0 };
}

void pager_buffer_refresh(struct miniport_paging_buffer *memory)
{
	memory->used_bytes = 0;
	memory->private_used_bytes = 0;
	if (memory->private_data)
		memset(memory->private_data, 0, memory->private_bytes);
}

/* ---- the packet's moments ---- */

static struct pager_buffer *buffer_of(struct sched_packet *packet)
{
	return container_of(packet, struct pager_buffer, packet);
}

/*
 * Built before a reset, for places and tables that are gone, and queued when the scheduler had
 * cancelled what it had: it stays where it is until the thread cancels it. To refuse it would mean
 * another reset.
 */
static NTSTATUS packet_prepare(struct sched_packet *packet)
{
	const struct pager_buffer *buffer = buffer_of(packet);

	return buffer->generation == atomic_load(&buffer->pager->generation) &&
			       pager_stream_is_turn(buffer->pager, buffer)
		       ? STATUS_SUCCESS
		       : STATUS_PENDING;
}

static NTSTATUS packet_submit(struct sched_packet *packet,
			      const struct sched_submission *submission)
{
	struct pager_buffer *buffer = buffer_of(packet);
	struct pager *pager = buffer->pager;
	struct miniport_paging_buffer *submitted = &buffer->submitted;

	*submitted = buffer->memory;
	/* Before there are tables, which the GPU is to write, nothing has an address there. */
	if (pager->has_space && !atomic_load(&pager->has_tables))
		submitted->gpu_address = 0;
	return pager->ops->submit(pager->driver, submission, submitted, 0, submitted->used_bytes, 0,
				  submitted->private_used_bytes);
}

static void fail_jobs_of_locked(struct pager *pager, uint64_t sequence)
{
	lock_assert_held(&pager->lock);
	list_each (struct paging_job, job, &pager->queued, queued_link) {
		if (job->first_sequence != 0 && job->first_sequence <= sequence &&
		    sequence <= job->last_sequence && NT_SUCCESS(job->status))
			job->status = STATUS_DEVICE_REMOVED;
	}
}

/*
 * Is there something that the thread waits for? Most of a long move's packets come back while it
 * has nothing to do with them, and to wake it takes the engine's thread longer than to go on.
 */
static bool must_tell_locked(const struct pager *pager, enum sched_outcome outcome)
{
	lock_assert_held(&pager->lock);
	if (outcome != SCHED_DONE || pager->is_building || !list_is_empty(&pager->stalled) ||
	    pager->retired_sequence == pager->submitted_sequence)
		return true;
	return !list_is_empty(&pager->built) &&
	       container_of(pager->built.next, struct paging_job, link)->last_sequence <=
		       pager->retired_sequence;
}

static void packet_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	struct pager_buffer *buffer = buffer_of(packet);
	struct pager *pager = buffer->pager;

	lock_acquire(&pager->lock);
	if (outcome != SCHED_DONE)
		fail_jobs_of_locked(pager, buffer->sequence);
	trace_paging_packet_retired(buffer->stream->node, buffer->sequence, (uint32_t)outcome);
	struct pager_stream *next = pager_stream_retire_locked(pager, buffer);
	/* Under the lock: once the last packet is seen to be back, the pager may end. */
	if (must_tell_locked(pager, outcome))
		notice_give(&pager->changed);
	lock_release(&pager->lock);
	if (next)
		pager_stream_kick(next);
}

static const struct sched_packet_ops packet_ops = {
	.prepare = packet_prepare,
	.submit = packet_submit,
	.retired = packet_retired,
};

/* ---- all of them ---- */

NTSTATUS pager_buffers_init(struct pager *pager)
{
	NTSTATUS status = STATUS_SUCCESS;

	pager->buffers = mem_zalloc_array(pager->config.buffer_count, sizeof(*pager->buffers));
	if (!pager->buffers)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; NT_SUCCESS(status) && i < pager->config.buffer_count; i++) {
		struct pager_buffer *buffer = &pager->buffers[i];

		buffer->pager = pager;
		status = memory_init(pager, &buffer->memory);
		list_push_back(&pager->free_buffers, &buffer->link);
	}
	if (NT_SUCCESS(status))
		status = memory_init(pager, &pager->spare);
	if (!NT_SUCCESS(status))
		pager_buffers_finish(pager);
	return status;
}

void pager_buffers_finish(struct pager *pager)
{
	if (!pager->buffers)
		return;
	for (uint32_t i = 0; i < pager->config.buffer_count; i++)
		memory_finish(&pager->buffers[i].memory);
	memory_finish(&pager->spare);
	mem_free(pager->buffers);
	pager->buffers = NULL;
}

static bool take_buffer(struct pager *pager)
{
	lock_acquire(&pager->lock);
	list_splice_back(&pager->free_buffers, &pager->retired_buffers);
	struct list *link = list_pop_front(&pager->free_buffers);
	lock_release(&pager->lock);
	if (!link)
		return false;
	pager->current = container_of(link, struct pager_buffer, link);
	pager->current->generation = pager->built_generation;
	pager->current->work_bytes = 0;
	pager->current->piece_count = 0;
	pager_buffer_refresh(&pager->current->memory);
	return true;
}

/* Makes sure that there is a buffer to build into for this stream; what was built for another is submitted first. */
bool pager_buffer_current(struct pager *pager, struct pager_stream *stream)
{
	if (pager->current && pager->current->stream != stream)
		pager_buffer_submit(pager);
	if (!pager->current && !take_buffer(pager))
		return false;
	if (pager->current->memory.used_bytes == 0) {
		pager->current->stream = stream;
		pager->current->memory.driver_context = stream->driver_context;
	}
	return true;
}

/* The current buffer is given up: jobs that were to be in it end with the last packet that was submitted. */
static void forget_packet_locked(struct pager *pager, NTSTATUS status)
{
	uint64_t last = pager->submitted_sequence;

	lock_assert_held(&pager->lock);
	list_each (struct paging_job, job, &pager->queued, queued_link) {
		if (job->last_sequence <= last)
			continue;
		job->last_sequence = last;
		if (job->first_sequence > last)
			job->first_sequence = last;
		if (NT_SUCCESS(job->status))
			job->status = status;
	}
}

static void forget_packet(struct pager *pager, struct pager_buffer *buffer, NTSTATUS status)
{
	lock_acquire(&pager->lock);
	forget_packet_locked(pager, status);
	uint64_t last = pager->submitted_sequence;
	list_push_back(&pager->free_buffers, &buffer->link);
	lock_release(&pager->lock);

	list_each (struct pager_mdl, mdl, &pager->mdls, link) {
		if (mdl->last_sequence > last)
			mdl->last_sequence = last;
	}
	if (pager->has_space)
		pager_space_forget(pager, last);
}

void pager_buffer_drop(struct pager *pager, NTSTATUS status)
{
	struct pager_buffer *buffer = pager->current;

	pager->current = NULL;
	if (buffer)
		forget_packet(pager, buffer, status);
}

/* STATUS_DEVICE_REMOVED: a reset has begun. Else one that begins waits until the packet is with the scheduler, where it
 * can be cancelled. */
static NTSTATUS begin_sending(struct pager *pager, struct pager_buffer *buffer)
{
	NTSTATUS status = STATUS_DEVICE_REMOVED;

	lock_acquire(&pager->lock);
	if (buffer->generation == atomic_load(&pager->generation)) {
		status = STATUS_SUCCESS;
		pager_stream_order_locked(pager, buffer);
		pager->is_sending = true;
		trace_paging_packet_submitted(buffer->stream->node, buffer->sequence,
					      buffer->memory.used_bytes, buffer->work_bytes);
	}
	lock_release(&pager->lock);
	return status;
}

static void end_sending(struct pager *pager, struct pager_buffer *buffer, NTSTATUS status)
{
	lock_acquire(&pager->lock);
	if (!NT_SUCCESS(status)) {
		list_remove(&buffer->link);
		pager->submitted_sequence--;
	}
	pager->is_sending = false;
	if (!pager_may_build(pager))
		notice_give(&pager->told);
	lock_release(&pager->lock);
}

void pager_buffer_submit(struct pager *pager)
{
	struct pager_buffer *buffer = pager->current;

	if (!buffer || buffer->memory.used_bytes == 0)
		return;
	pager->current = NULL;
	buffer->packet = (struct sched_packet){
		.kind = SCHED_WORK,
		.ops = &packet_ops,
		.keeps_fence = true,
	};
	NTSTATUS status = begin_sending(pager, buffer);
	if (NT_SUCCESS(status)) {
		status = sched_queue_submit(&buffer->stream->queue, &buffer->packet, false);
		end_sending(pager, buffer, status);
	}
	if (!NT_SUCCESS(status))
		forget_packet(pager, buffer, status);
}
