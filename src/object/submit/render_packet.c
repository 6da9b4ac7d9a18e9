/* SPDX-License-Identifier: MIT */
/*
 * render_packet.c - see render_packet.h.
 *
 * Allocations need no references here: while one is in use (`uses`) its destruction waits for what
 * its device has queued, and a packet is over before that wait is; or it is held up until the driver
 * knows of a packet that never ran (cancelled.h).
 *
 * A packet that waits for memory is told by a request, perhaps only when it was cancelled already:
 * the request has a reference of its own, and the context's end waits for the last one.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "object/submit/render_packet.h"
#include "trace/trace.h"

/* ---- what a call listed ---- */

static uint32_t entry_of(struct render_list *list, struct vidmm_binding *binding)
{
	uint32_t entry = 0;

	while (entry < list->entry_count && list->entries[entry].binding != binding)
		entry++;
	if (entry == list->entry_count)
		list->entries[list->entry_count++].binding = binding;
	return entry;
}

static NTSTATUS list_add(struct render_list *list, const struct render_item *item)
{
	struct vidmm_binding *binding;
	NTSTATUS status = STATUS_SUCCESS;
	struct render_list_item *added = &list->items[list->count];

	if (item->allocation) {
		status = allocation_binding(item->allocation, &binding);
		if (!NT_SUCCESS(status))
			return status;
		added->entry = entry_of(list, binding);
		allocation_begin_use(item->allocation, item->is_written);
	}
	added->allocation = item->allocation;
	added->is_written = item->is_written;
	list->count++;
	return status;
}

NTSTATUS render_list_create(const struct render_request *request, struct render_list **list_out)
{
	struct render_list *list =
		mem_zalloc(sizeof(*list) + request->item_count * sizeof(list->items[0]));
	NTSTATUS status = STATUS_SUCCESS;

	if (list)
		list->entries = mem_zalloc_array(request->item_count + 1, sizeof(*list->entries));
	if (!list || !list->entries) {
		mem_free(list);
		return refuse_no_memory("no memory for a list of %u allocations",
					request->item_count);
	}
	refcount_init(&list->refs);
	for (uint32_t i = 0; i < request->item_count && NT_SUCCESS(status); i++)
		status = list_add(list, &request->items[i]);
	if (!NT_SUCCESS(status)) {
		render_list_put(list);
		return status;
	}
	*list_out = list;
	return STATUS_SUCCESS;
}

void render_list_put(struct render_list *list)
{
	if (!refcount_put(&list->refs))
		return;
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->items[i].allocation)
			allocation_end_use(list->items[i].allocation, list->items[i].is_written);
	}
	mem_free(list->entries);
	mem_free(list);
}

/* ---- the end of a packet ---- */

static void packet_put(struct render_packet *packet)
{
	struct render_stream *stream = packet->stream;

	if (!refcount_put(&packet->refs))
		return;
	work_discharge(stream->context->device, packet->size_bytes);
	mem_free(packet);
	/* The context may go with the last one: nothing is touched behind the count. */
	if (atomic_fetch_sub(&stream->alive, 1) == 1)
		thread_wake_all(&stream->alive);
}

void render_packet_trace_list(const struct render_packet *packet, uint32_t adapter_id,
			      const struct sched_queue *queue)
{
	for (uint32_t i = 0; packet->list && i < packet->list->count; i++) {
		const struct render_list_item *item = &packet->list->items[i];

		if (item->allocation)
			trace_packet_lists(adapter_id, queue->id, item->allocation->body->memory.id,
					   item->is_written);
	}
}

void render_packet_abandon(struct render_packet *packet)
{
	render_list_put(packet->list);
	dma_buffer_put(packet->buffer);
	packet_put(packet);
}

static bool driver_wants_to_know(const struct render_packet *packet, enum sched_outcome outcome)
{
	return outcome == SCHED_CANCELLED &&
	       packet->stream->context->device->adapter->info->is_cancel_command_aware;
}

static void packet_retired(struct sched_packet *base, enum sched_outcome outcome)
{
	struct render_packet *packet = container_of(base, struct render_packet, packet);

	if (packet->awaited.count > 0 && vidmm_allocation_list_release(&packet->awaited))
		(void)!refcount_put(&packet->refs); /* not the last one */
	atomic_fetch_sub(&packet->stream->queued, 1);
	if (driver_wants_to_know(packet, outcome))
		cancellations_add(&packet->stream->context->cancellations, &packet->cancelled);
	else
		render_packet_abandon(packet);
}

/* ---- its way ---- */

static void on_in_place(struct vidmm_request *request, NTSTATUS status)
{
	struct render_packet *packet = container_of(request, struct render_packet, awaited.request);

	(void)status; /* it is asked for again */
	atomic_store(&packet->has_request, false);
	sched_queue_kick(&packet->stream->context->queue);
	packet_put(packet);
}

static NTSTATUS packet_prepare(struct sched_packet *base)
{
	struct render_packet *packet = container_of(base, struct render_packet, packet);
	uint32_t fits;

	if (packet->awaited.count == 0)
		return STATUS_SUCCESS;
	if (atomic_load(&packet->has_request))
		return STATUS_PENDING;
	/* Before it is asked: the answer may be faster than the return. */
	atomic_store(&packet->has_request, true);
	refcount_get(&packet->refs);
	NTSTATUS status = vidmm_allocation_list_prepare(&packet->awaited, &fits);
	if (status != STATUS_PENDING) {
		atomic_store(&packet->has_request, false);
		(void)!refcount_put(&packet->refs); /* not the last one */
	}
	return status;
}

static struct miniport_submission describe(struct render_packet *packet)
{
	const struct dxg_context *context = packet->stream->context;
	struct dma_buffer *buffer = packet->buffer;
	const struct vidmm_allocation_list_entry *entry =
		dma_buffer_binding(buffer) ? &packet->entries[packet->entry_count] : NULL;

	return (struct miniport_submission){
		.driver_context = context->info.driver_context,
		.driver_device = context->device->driver_device,
		.node = context->node,
		.is_null = packet->is_null,
		.segment = entry ? entry->segment : 0,
		.physical_address = entry ? entry->offset_bytes : buffer->physical_address,
		.memory = buffer->memory,
		.buffer_bytes = buffer->size_bytes,
		.start_bytes = packet->piece.start_bytes,
		.end_bytes = packet->piece.end_bytes,
		.private_data = dma_buffer_private(buffer),
		.private_bytes = buffer->pool->options.private_bytes,
		.private_end_bytes = buffer->private_used_bytes,
	};
}

/* The driver sees what is listed, and that nothing of it is in a segment yet. */
static void list_openings(struct render_packet *packet)
{
	for (uint32_t i = 0; i < packet->list->count; i++) {
		const struct render_list_item *item = &packet->list->items[i];

		packet->list_copy[i] = (struct miniport_list_entry){
			.driver_binding =
				item->allocation ? item->allocation->driver_binding : NULL,
			.is_written = item->is_written,
		};
	}
}

/* What is not needed by this piece stays so. */
static void list_places(struct render_packet *packet)
{
	for (uint32_t i = 0; i < packet->list->count; i++) {
		const struct render_list_item *item = &packet->list->items[i];
		uint32_t entry = item->allocation ? packet->entry_of[item->entry] : 0;

		if (entry == 0)
			continue;
		packet->list_copy[i].segment = packet->entries[entry - 1].segment;
		packet->list_copy[i].offset_bytes = packet->entries[entry - 1].offset_bytes;
	}
}

static struct miniport_patch describe_lists(const struct render_packet *packet,
					    const struct miniport_submission *what)
{
	return (struct miniport_patch){
		.submission = what,
		.allocations = packet->list_copy,
		.allocation_count = packet->list->count,
		.patches = packet->buffer->patches,
		.patch_count = packet->buffer->patch_count,
		.first_patch = packet->piece.first_patch,
		.submitted_patches = packet->piece.patch_count,
		.list_storage = packet->list_storage,
	};
}

static NTSTATUS packet_submit(struct sched_packet *base, const struct sched_submission *how)
{
	struct render_packet *packet = container_of(base, struct render_packet, packet);
	struct miniport *miniport = packet->stream->context->device->adapter->miniport;
	struct miniport_submission what = describe(packet);
	const struct miniport_patch patch = describe_lists(packet, &what);

	what.fence = how->fence;
	what.is_resubmission = how->is_resubmission;
	/* Made resident, and used before the paging fence was reached: a use that is not allowed.
	 */
	if (!vidmm_allocation_list_locate(&packet->presumed))
		return STATUS_GRAPHICS_ALLOCATION_INVALID;
	list_openings(packet);
	list_places(packet);
	NTSTATUS status = miniport_patch(miniport, &patch);
	if (!NT_SUCCESS(status))
		return status;
	return miniport_submit(miniport, false, &what);
}

/* ---- what never ran ---- */

/* Where things were when it was prepared, if it was, says nothing any more. */
static void packet_tell(struct cancelled *cancelled)
{
	struct render_packet *packet = container_of(cancelled, struct render_packet, cancelled);
	const struct miniport_submission what = describe(packet);
	const struct miniport_patch lists = describe_lists(packet, &what);

	list_openings(packet);
	miniport_cancel(packet->stream->context->device->adapter->miniport, &what, &lists);
}

static void packet_forget(struct cancelled *cancelled)
{
	render_packet_abandon(container_of(cancelled, struct render_packet, cancelled));
}

static void packet_trace(const struct sched_packet *base)
{
	const struct render_packet *packet = container_of(base, const struct render_packet, packet);

	if (trace_has(TRACE_WITH_LISTS))
		render_packet_trace_list(packet, packet->stream->context->device->adapter->id,
					 base->queue);
}

static const struct sched_packet_ops packet_ops = {
	.prepare = packet_prepare,
	.submit = packet_submit,
	.retired = packet_retired,
	.trace = packet_trace,
};

struct render_list *render_packet_list(struct sched_packet *packet)
{
	return packet->ops == &packet_ops ? container_of(packet, struct render_packet, packet)->list
					  : NULL;
}

/* ---- making one ---- */

static uint32_t piece_entry(const struct render_piece *piece, uint32_t index)
{
	return piece->entries ? piece->entries[index] : index;
}

/* One block: the packet, then its four arrays, the widest first. */
static NTSTATUS packet_alloc(const struct dxg_device *device, uint32_t entry_count,
			     const struct render_list *list, struct render_packet **packet_out)
{
	uint64_t entries_bytes =
		((uint64_t)entry_count + 1) * sizeof(struct vidmm_allocation_list_entry);
	uint64_t copy_bytes = (uint64_t)list->count * sizeof(struct miniport_list_entry);
	uint64_t table_block_bytes = (uint64_t)list->count * MINIPORT_LIST_ENTRY_BYTES;
	uint64_t entry_of_bytes = (uint64_t)list->entry_count * sizeof(uint32_t);
	uint64_t size_bytes = sizeof(struct render_packet) + entries_bytes + copy_bytes +
			      table_block_bytes + entry_of_bytes;
	NTSTATUS status = work_charge(device, size_bytes);

	if (!NT_SUCCESS(status))
		return status;
	struct render_packet *packet = mem_zalloc(size_bytes);
	if (!packet) {
		work_discharge(device, size_bytes);
		return refuse_no_memory("no memory for a submission");
	}
	packet->size_bytes = size_bytes;
	char *rest = (char *)(packet + 1);
	packet->entries = (struct vidmm_allocation_list_entry *)(void *)rest;
	packet->list_copy = (struct miniport_list_entry *)(void *)(rest + entries_bytes);
	packet->list_storage = rest + entries_bytes + copy_bytes;
	packet->entry_of =
		(uint32_t *)(void *)(rest + entries_bytes + copy_bytes + table_block_bytes);
	*packet_out = packet;
	return STATUS_SUCCESS;
}

static void divide_entries(struct render_packet *packet, uint32_t count)
{
	struct dxg_device *device = packet->stream->context->device;
	bool is_by_list = device->adapter->info->wddm_version < 2000;
	uint32_t own = dma_buffer_binding(packet->buffer) ? 1 : 0;

	packet->entry_count = count;
	packet->entries[count].binding = dma_buffer_binding(packet->buffer);
	packet->awaited = (struct vidmm_allocation_list){
		.device = &device->memory,
		.entries = is_by_list ? packet->entries : packet->entries + count,
		.count = is_by_list ? count + own : own,
		.request.done = on_in_place,
	};
	packet->presumed = (struct vidmm_allocation_list){
		.device = &device->memory,
		.entries = packet->entries,
		.count = is_by_list ? 0 : count,
	};
}

NTSTATUS render_packet_create(struct render_stream *stream, struct dma_buffer *buffer,
			      struct render_list *list, const struct render_piece *piece,
			      bool is_null, struct render_packet **packet_out)
{
	struct dxg_context *context = stream->context;
	uint32_t count = piece->entries ? piece->entry_count : list->entry_count;
	struct render_packet *packet;
	NTSTATUS status = packet_alloc(context->device, count, list, &packet);

	if (!NT_SUCCESS(status))
		return status;
	packet->packet.kind = SCHED_WORK;
	packet->packet.ops = &packet_ops;
	packet->packet.is_never_late = context->has_no_gpu_timeout;
	refcount_init(&packet->refs);
	refcount_get(&buffer->refs);
	refcount_get(&list->refs);
	atomic_fetch_add(&stream->alive, 1);
	packet->stream = stream;
	packet->buffer = buffer;
	packet->list = list;
	packet->piece = *piece;
	packet->piece.entries = NULL;
	packet->is_null = is_null;
	packet->cancelled.tell = packet_tell;
	packet->cancelled.forget = packet_forget;
	list_init(&packet->call_link);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t entry = piece_entry(piece, i);

		packet->entries[i].binding = list->entries[entry].binding;
		packet->entry_of[entry] = i + 1;
	}
	divide_entries(packet, count);
	*packet_out = packet;
	return STATUS_SUCCESS;
}
