/* SPDX-License-Identifier: MIT */
/*
 * shadow_work.c - operations from the buffer they are built into to the interrupt that says they were executed
 * (shadow.h).
 *
 *	build ─▶ buffer.operations ── packet with this buffer is completed ──▶ paging_executed(), tables_executed()
 *	                          └── the buffer is fresh again: it was dropped
 *
 * A packet that is preempted leaves the hardware, and its operations stay with the buffer for the next time it is
 * submitted. What a driver does without a command in the buffer counts as executed when nothing else is under way.
 */
#include <stdlib.h>

#include "base/machine.h"
#include "verify/bystanders.h"
#include "verify/shadow.h"
#include "verify/tables.h"

void shadow_work_init(struct shadow *shadow)
{
	for (uint32_t i = 0; i < MINIPORT_MAX_NODES; i++)
		list_init(&shadow->nodes[i]);
	for (uint32_t i = 0; i < SHADOW_BUFFERS; i++)
		list_init(&shadow->buffers[i].operations);
}

static void operations_free(struct list *operations)
{
	list_drain (struct shadow_operation, each, operations, link)
		shadow_operation_free(each);
}

/* ---- building ---- */

static void buffer_init(struct shadow_buffer *buffer, char *memory, uint64_t gpu_address)
{
	uint64_t address = 0;

	buffer->memory = memory;
	buffer->gpu_address = gpu_address;
	buffer->physical_address = machine_from_pointer(memory, &address) ? address : 0;
}

/* NULL: there are more than can be followed. */
static struct shadow_buffer *buffer_at_locked(struct shadow *shadow, char *memory,
					      uint64_t gpu_address)
{
	lock_assert_held(&shadow->lock);
	for (uint32_t i = 0; i < shadow->buffer_count; i++) {
		if (shadow->buffers[i].memory == memory)
			return &shadow->buffers[i];
	}
	if (shadow->buffer_count == SHADOW_BUFFERS)
		return NULL;
	struct shadow_buffer *buffer = &shadow->buffers[shadow->buffer_count++];
	buffer_init(buffer, memory, gpu_address);
	return buffer;
}

static void building_end(struct shadow *shadow)
{
	if (shadow->building.operation)
		shadow_operation_free(shadow->building.operation);
	shadow->building.operation = NULL;
	shadow->building.passes = 0;
	shadow->building.has_written = false;
}

void shadow_building(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	bool is_fresh = args->pDmaBuffer && args->DmaBufferWriteOffset == 0;

	shadow->building.dma_buffer = args->pDmaBuffer;
	shadow->building.write_offset = args->DmaBufferWriteOffset;
	shadow->building.multipass = args->MultipassOffset;
	lock_acquire(&shadow->lock);
	if (shadow->building.is_lost ||
	    (shadow->building.operation && shadow->building.operation->kind != args->Operation))
		building_end(shadow);
	shadow->building.is_lost = false;
	/* What was in it before was executed, or never will be. */
	struct shadow_buffer *buffer = is_fresh ? buffer_at_locked(shadow, args->pDmaBuffer,
								   args->DmaBufferGpuVirtualAddress)
						: NULL;
	if (buffer) {
		operations_free(&buffer->operations);
		buffer->part_of = 0;
	}
	if (!shadow->building.operation)
		shadow->building.operation = shadow_operation_create_locked(shadow, args);
	lock_release(&shadow->lock);
}

/* Where the operation waits to be executed; NULL: it is not followed. */
static struct shadow_buffer *buffer_built_locked(struct shadow *shadow,
						 const DXGKARG_BUILDPAGINGBUFFER *args)
{
	lock_assert_held(&shadow->lock);
	return shadow->building.dma_buffer ? buffer_at_locked(shadow,
							      shadow->building.dma_buffer -
								      shadow->building.write_offset,
							      args->DmaBufferGpuVirtualAddress)
					   : NULL;
}

bool shadow_is_idle_locked(const struct shadow *shadow)
{
	lock_assert_held(&shadow->lock);
	for (uint32_t i = 0; i < shadow->buffer_count; i++) {
		if (!list_is_empty(&shadow->buffers[i].operations))
			return false;
	}
	return shadow->in_flight == 0 && !shadow->has_hw_work;
}

static void executed(struct shadow *shadow, struct shadow_operation *operation,
		     const struct list *behind)
{
	paging_executed(shadow, operation, behind);
	tables_executed(shadow, operation);
	shadow_operation_free(operation);
}

/* NULL: it is in a buffer, or nobody can say when it is executed. */
static struct shadow_operation *place_operation_locked(struct shadow *shadow,
						       const DXGKARG_BUILDPAGINGBUFFER *args,
						       bool is_in_buffer)
{
	struct shadow_operation *operation = shadow->building.operation;
	struct shadow_buffer *buffer =
		is_in_buffer && !shadow->is_reset ? buffer_built_locked(shadow, args) : NULL;

	lock_assert_held(&shadow->lock);
	operation->has_passes = shadow->building.passes > 0;
	if (buffer) {
		list_push_back(&buffer->operations, &operation->link);
		shadow->building.operation = NULL;
		return NULL;
	}
	/* With no buffer at all it is the processor that does it, now, whatever the hardware is about. */
	if (is_in_buffer ||
	    (shadow->building.dma_buffer && (shadow->is_reset || !shadow_is_idle_locked(shadow))))
		return NULL;
	shadow->building.operation = NULL;
	return operation;
}

/* There was too little room: what was written of the operation is executed with this buffer, and the rest with another. */
static void part_built_locked(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const struct shadow_operation *operation = shadow->building.operation;
	struct shadow_buffer *buffer = buffer_built_locked(shadow, args);

	lock_assert_held(&shadow->lock);
	if (buffer && operation && operation->change &&
	    (char *)args->pDmaBuffer != shadow->building.dma_buffer)
		buffer->part_of = operation->change->table;
}

bool shadow_has_written(const struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	return (char *)args->pDmaBuffer != shadow->building.dma_buffer ||
	       shadow->building.has_written;
}

void shadow_built(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS status)
{
	bool is_in_buffer = shadow_has_written(shadow, args);
	struct shadow_operation *now = NULL;
	struct list nothing;

	list_init(&nothing);
	if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER) {
		shadow->building.passes++;
		shadow->building.has_written = is_in_buffer;
		lock_acquire(&shadow->lock);
		part_built_locked(shadow, args);
		lock_release(&shadow->lock);
		if (is_in_buffer && shadow->building.operation &&
		    shadow->building.operation->change)
			tables_part_built(shadow, shadow->building.operation->change);
		return;
	}
	lock_acquire(&shadow->lock);
	if (status == STATUS_SUCCESS && !shadow->building.is_lost) {
		shadow_places_follow(shadow, args, shadow->building.operation);
		if (shadow->building.operation)
			now = place_operation_locked(shadow, args, is_in_buffer);
	}
	lock_release(&shadow->lock);
	if (now)
		executed(shadow, now, &nothing);
	building_end(shadow);
}

/* ---- with the hardware ---- */

static struct shadow_buffer *buffer_of_locked(struct shadow *shadow,
					      const struct shadow_submission *submission)
{
	lock_assert_held(&shadow->lock);
	for (uint32_t i = 0; submission->is_paging && i < shadow->buffer_count; i++) {
		struct shadow_buffer *buffer = &shadow->buffers[i];

		if ((submission->physical_address != 0 &&
		     buffer->physical_address == submission->physical_address) ||
		    (submission->gpu_address != 0 &&
		     buffer->gpu_address == submission->gpu_address))
			return buffer;
	}
	return NULL;
}

static void packet_free_locked(struct shadow *shadow, struct shadow_packet *packet)
{
	lock_assert_held(&shadow->lock);
	list_remove(&packet->link);
	shadow->in_flight--;
	shadow->clients_in_flight -= packet->is_clients;
	free(packet->bystanders);
	free(packet);
}

void shadow_submitting(struct shadow *shadow, const struct shadow_submission *submission)
{
	struct shadow_packet *packet = calloc(1, sizeof(*packet));
	struct shadow_buffer *buffer = NULL;
	uint64_t table_changes = tables_changes(shadow);

	if (!packet || submission->node >= MINIPORT_MAX_NODES) {
		free(packet);
		return;
	}
	lock_acquire(&shadow->lock);
	buffer = buffer_of_locked(shadow, submission);
	*packet = (struct shadow_packet){
		.fence = submission->fence,
		.node = submission->node,
		.context = submission->context,
		.is_paging = submission->is_paging,
		.is_clients = !submission->is_paging && !submission->is_context_switch,
		.was_alone = shadow->in_flight == 0 && !shadow->has_hw_work,
		.table_changes = table_changes,
		.buffer = buffer,
	};
	shadow->in_flight++;
	shadow->clients_in_flight += packet->is_clients;
	shadow->submissions++;
	shadow->client_submissions += packet->is_clients;
	if (buffer)
		buffer->is_going = true;
	lock_release(&shadow->lock);
	/* It is not with the hardware yet, and nobody else knows of it. */
	if (packet->is_clients && packet->was_alone)
		packet->bystanders = bystanders_look(shadow, submission);
	lock_acquire(&shadow->lock);
	list_push_back(&shadow->nodes[submission->node], &packet->link);
	lock_release(&shadow->lock);
	if (!buffer)
		return;
	/* Nobody builds into a buffer that is on its way. */
	paging_going(shadow, &buffer->operations);
	tables_going(shadow, &buffer->operations);
	/* A reset or a removal may have come meanwhile. */
	lock_acquire(&shadow->lock);
	if (buffer->is_lost)
		operations_free(&buffer->operations);
	buffer->is_going = false;
	buffer->is_lost = false;
	lock_release(&shadow->lock);
}

static struct shadow_packet *packet_of_locked(struct shadow *shadow, uint32_t node, uint32_t fence)
{
	lock_assert_held(&shadow->lock);
	list_each (struct shadow_packet, each, &shadow->nodes[node], link) {
		if (each->fence == fence)
			return each;
	}
	return NULL;
}

void shadow_not_submitted(struct shadow *shadow, uint32_t node, uint32_t fence)
{
	if (node >= MINIPORT_MAX_NODES)
		return;
	lock_acquire(&shadow->lock);
	struct shadow_packet *packet = packet_of_locked(shadow, node, fence);
	if (packet)
		packet_free_locked(shadow, packet);
	lock_release(&shadow->lock);
}

/* The oldest, if the fence covers it; its operations and whom it passed by are the caller's. */
static bool complete_one(struct shadow *shadow, uint32_t node, uint32_t fence,
			 struct list *operations, struct shadow_bystanders **bystanders_out)
{
	bool is_over = false;

	lock_acquire(&shadow->lock);
	if (!list_is_empty(&shadow->nodes[node])) {
		struct shadow_packet *packet =
			container_of(shadow->nodes[node].next, struct shadow_packet, link);

		is_over = (int32_t)(packet->fence - fence) <= 0;
		if (is_over && packet->buffer)
			list_splice_back(operations, &packet->buffer->operations);
		if (is_over) {
			*bystanders_out = packet->bystanders;
			packet->bystanders = NULL;
			packet_free_locked(shadow, packet);
		}
	}
	lock_release(&shadow->lock);
	return is_over;
}

void shadow_completed(struct shadow *shadow, uint32_t node, uint32_t fence)
{
	struct shadow_bystanders *bystanders = NULL;
	struct list operations;

	if (node >= MINIPORT_MAX_NODES)
		return;
	list_init(&operations);
	while (complete_one(shadow, node, fence, &operations, &bystanders)) {
		list_drain (struct shadow_operation, each, &operations, link)
			executed(shadow, each, &operations);
		if (bystanders)
			bystanders_compare(shadow, bystanders);
		bystanders = NULL;
	}
}

void shadow_faulted(struct shadow *shadow, uint32_t node, uint32_t fence,
		    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	struct shadow_packet faulted = { 0 };

	if (node >= MINIPORT_MAX_NODES)
		return;
	shadow_completed(shadow, node, fence - 1);
	lock_acquire(&shadow->lock);
	struct shadow_packet *packet = packet_of_locked(shadow, node, fence);
	if (packet) {
		faulted = *packet;
		packet->bystanders = NULL;
		packet_free_locked(shadow, packet);
	}
	lock_release(&shadow->lock);
	if (faulted.bystanders)
		bystanders_compare(shadow, faulted.bystanders);
	if (packet && data)
		tables_faulted(shadow, &faulted, data);
}

void shadow_dropped(struct shadow *shadow, uint32_t node)
{
	if (node >= MINIPORT_MAX_NODES)
		return;
	lock_acquire(&shadow->lock);
	list_each_safe (struct shadow_packet, each, &shadow->nodes[node], link)
		packet_free_locked(shadow, each);
	lock_release(&shadow->lock);
}

void shadow_all_lost(struct shadow *shadow)
{
	for (uint32_t node = 0; node < MINIPORT_MAX_NODES; node++)
		shadow_dropped(shadow, node);
	lock_acquire(&shadow->lock);
	for (uint32_t i = 0; i < shadow->buffer_count; i++) {
		shadow->buffers[i].is_lost = shadow->buffers[i].is_going;
		if (!shadow->buffers[i].is_going)
			operations_free(&shadow->buffers[i].operations);
	}
	map_clear(&shadow->aperture);
	map_clear(&shadow->owners);
	/* Whoever builds has it in its hands. */
	shadow->building.is_lost = true;
	lock_release(&shadow->lock);
}

void shadow_work_finish(struct shadow *shadow)
{
	shadow_all_lost(shadow);
	lock_acquire(&shadow->lock);
	building_end(shadow);
	shadow->buffer_count = 0;
	shadow->has_hw_work = false;
	lock_release(&shadow->lock);
}

/* ---- questions ---- */

static bool writes(const struct list *operations, const struct shadow_range *range,
		   uint64_t after_number)
{
	list_each (struct shadow_operation, each, operations, link) {
		if (each->number <= after_number)
			continue;
		if (each->to.is_known ? shadow_range_overlaps(&each->to, range)
				      : each->to.size_bytes > 0)
			return true;
	}
	return false;
}

bool shadow_is_being_written(struct shadow *shadow, const struct shadow_range *range,
			     uint64_t after_number, const struct list *behind)
{
	bool is_written = behind && writes(behind, range, after_number);

	lock_acquire(&shadow->lock);
	for (uint32_t node = 0; node < MINIPORT_MAX_NODES && !is_written; node++) {
		list_each (struct shadow_packet, packet, &shadow->nodes[node], link)
			is_written |= packet->is_paging &&
				      (!packet->buffer ||
				       writes(&packet->buffer->operations, range, after_number));
	}
	lock_release(&shadow->lock);
	return is_written;
}
