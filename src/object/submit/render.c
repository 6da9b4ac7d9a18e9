/* SPDX-License-Identifier: MIT */
/*
 * render.c - see render.h.
 *
 * A call translates everything first, pass by pass and piece by piece, and queues it in one go at
 * the end: whatever fails on the way leaves nothing behind.
 *
 * Locks: the device's `destroying`, so that the driver is shown no allocation that it closes at the
 * same time, and what is queued is queued before any later destruction looks for it. The scheduler
 * is not run under it.
 */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/client_call.h"
#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "base/notice.h"
#include "base/refusal.h"
#include "object/submit/render.h"
#include "object/submit/render_split.h"
#include "trace/trace.h"

/* ---- the client's buffers: whole pages that a client can be shown ---- */

static uint64_t pages_of(uint64_t size_bytes)
{
	return (size_bytes + MACHINE_PAGE_BYTES - 1) / MACHINE_PAGE_BYTES;
}

/* Of the bank of a client elsewhere, or of nobody's (NULL). NULL: no bytes, or no memory. */
static void *pages_take(struct machine_bank *bank, uint64_t size_bytes)
{
	uint64_t address;
	NTSTATUS status;

	if (size_bytes == 0)
		return NULL;
	if (bank)
		status = machine_bank_run(bank, pages_of(size_bytes), UINT64_MAX, &address);
	else
		status = machine_alloc_contiguous(pages_of(size_bytes) * MACHINE_PAGE_BYTES, 0, 0,
						  UINT64_MAX, 0, &address);
	return NT_SUCCESS(status) ? machine_to_pointer(address) : NULL;
}

static void pages_give(void *pages)
{
	uint64_t address;

	if (pages && machine_from_pointer(pages, &address))
		(void)!machine_free_contiguous(address);
}

/* Whole pages of what is asked for. */
static uint64_t buffers_bytes(const struct render_buffers *buffers)
{
	return (pages_of(buffers->command_bytes) +
		pages_of((uint64_t)buffers->list_entries * RENDER_LIST_ENTRY_BYTES) +
		pages_of((uint64_t)buffers->patch_entries * RENDER_PATCH_ENTRY_BYTES)) *
	       MACHINE_PAGE_BYTES;
}

static void buffers_free(struct render_buffers *buffers)
{
	quota_give(buffers->ledger, QUOTA_SYSTEM_BYTES, buffers_bytes(buffers));
	for (size_t i = 0; i < ARRAY_SIZE(buffers->mappings); i++)
		client_mappings_finish(&buffers->mappings[i]);
	pages_give(buffers->command);
	pages_give(buffers->list);
	pages_give(buffers->patches);
}

/* Its pages never change. */
static NTSTATUS buffer_show(const struct dxg_process *process, struct client_mappings *mappings,
			    const void *memory, void **client_out)
{
	uint64_t address;
	struct client_mapping *mapping;

	if (!memory || !machine_from_pointer(memory, &address))
		return STATUS_SUCCESS;
	uint64_t count = machine_run_bytes(address) / MACHINE_PAGE_BYTES;
	NTSTATUS status = client_mappings_find(mappings, process->arena, count, &mapping);
	if (NT_SUCCESS(status))
		status = client_call_add_run(machine_bank_file(process->bank),
					     machine_bank_page(address), count);
	if (NT_SUCCESS(status))
		status = client_mapping_note(mapping, 1, CLIENT_VIEW_WRITTEN);
	if (NT_SUCCESS(status))
		*client_out = (void *)(uintptr_t)client_mapping_address(mapping);
	return status;
}

NTSTATUS render_buffers_show(const struct dxg_process *process, struct render_buffers *buffers)
{
	struct render_addresses *client = &buffers->client;

	if (LIKELY(!process->arena)) {
		*client = (struct render_addresses){ buffers->command, buffers->list,
						     buffers->patches };
		return STATUS_SUCCESS;
	}
	NTSTATUS status =
		buffer_show(process, &buffers->mappings[0], buffers->command, &client->command);
	if (NT_SUCCESS(status))
		status = buffer_show(process, &buffers->mappings[1], buffers->list, &client->list);
	if (NT_SUCCESS(status))
		status = buffer_show(process, &buffers->mappings[2], buffers->patches,
				     &client->patches);
	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		return refuse(status, RULE_MM_NO_ADDRESSES, NULL,
			      "There are no addresses left to show a command buffer");
	return NT_SUCCESS(status) ? status : refuse_no_memory("no memory to show a command buffer");
}

static NTSTATUS buffers_make(const struct dxg_process *process, struct render_buffers *buffers,
			     uint32_t command_bytes, uint32_t list_entries, uint32_t patch_entries)
{
	struct machine_bank *bank = process->arena ? process->bank : NULL;

	*buffers = (struct render_buffers){ .command_bytes = command_bytes,
					    .list_entries = list_entries,
					    .patch_entries = patch_entries };
	NTSTATUS status = quota_take(process->ledger, QUOTA_SYSTEM_BYTES, buffers_bytes(buffers));
	if (!NT_SUCCESS(status)) {
		*buffers = (struct render_buffers){ 0 };
		return status;
	}
	buffers->ledger = process->ledger;
	buffers->command = pages_take(bank, command_bytes);
	buffers->list = pages_take(bank, (uint64_t)list_entries * RENDER_LIST_ENTRY_BYTES);
	buffers->patches = pages_take(bank, (uint64_t)patch_entries * RENDER_PATCH_ENTRY_BYTES);
	if (buffers->command && (buffers->list || list_entries == 0) &&
	    (buffers->patches || patch_entries == 0))
		status = render_buffers_show(process, buffers);
	else
		status = refuse_no_memory("no memory for a command buffer of %u bytes",
					  command_bytes);
	if (!NT_SUCCESS(status))
		buffers_free(buffers);
	return status;
}

/* ---- the stream ---- */

/* Where nothing is patched a list only says which primaries are written. */
enum { LIST_ENTRIES_WITHOUT_PATCHING = 16 };

static uint32_t list_entries_of(const struct miniport_context_info *info)
{
	return info->needs_no_patching ? LIST_ENTRIES_WITHOUT_PATCHING
				       : info->allocation_list_entries;
}

static uint32_t patch_entries_of(const struct miniport_context_info *info)
{
	return info->needs_no_patching ? 0 : info->patch_list_entries;
}

static void pool_init(struct render_stream *stream, const struct miniport_context_info *info)
{
	struct dxg_device *device = stream->context->device;
	const struct dma_pool_options options = {
		.private_bytes = info->dma_private_bytes,
		.highest_address = device->adapter->info->highest_acceptable_address,
		.segments = info->dma_buffer_segment_set,
		.guard_bytes = device->adapter->info->buffer_guard_bytes,
		.device = &device->memory,
		.adapter_id = device->adapter->id,
	};

	dma_pool_init(&stream->pool, &options);
}

/* One that never fits into the driver's segments is refused with the context, not in its work. */
static NTSTATUS pool_try(struct render_stream *stream, const struct miniport_context_info *info)
{
	if (info->dma_buffer_segment_set == 0)
		return STATUS_SUCCESS;
	struct dma_buffer *buffer;
	NTSTATUS status = dma_buffer_take(&stream->pool, info->dma_buffer_bytes,
					  patch_entries_of(info), &buffer);
	if (NT_SUCCESS(status))
		dma_buffer_put(buffer);
	return status;
}

NTSTATUS render_stream_create(struct dxg_context *context, struct render_stream **stream_out)
{
	const struct miniport_context_info *info = &context->info;
	struct render_stream *stream = mem_zalloc(sizeof(*stream));

	if (!stream)
		return refuse_no_memory("no memory for a context");
	NTSTATUS status =
		buffers_make(context->device->process, &stream->buffers, info->dma_buffer_bytes,
			     list_entries_of(info), patch_entries_of(info));
	if (!NT_SUCCESS(status)) {
		mem_free(stream);
		return status;
	}
	stream->context = context;
	pool_init(stream, info);
	status = pool_try(stream, info);
	if (!NT_SUCCESS(status)) {
		render_stream_destroy(stream);
		return status;
	}
	*stream_out = stream;
	return STATUS_SUCCESS;
}

void render_stream_destroy(struct render_stream *stream)
{
	if (!stream)
		return;
	word_wait_until_none(&stream->alive);
	dma_pool_finish(&stream->pool);
	buffers_free(&stream->buffers);
	mem_free(stream);
}

/* ---- one call ---- */

struct rendering {
	struct dxg_context *context;
	struct render_stream *stream;
	const struct render_request *request;
	struct render_list *list;
	struct miniport_list_entry *shown; /* the list as DxgkDdiRender sees it */
	bool fits;                         /* all of the list into memory at once */
	bool is_made_resident;             /* … because make-resident has seen to it */
	struct list packets;               /* render_packet.call_link, in order */

	/* What the driver reads: the client's buffers or, if that is elsewhere, copies. */
	const void *command;
	const void *patches;
	void *copy;
};

/*
 * A client elsewhere may write at any time, and whoever checks and then uses would use something else:
 * it is copied once. In this process the driver reads the buffers themselves, as WDDM has it.
 */
static NTSTATUS capture(struct rendering *rendering)
{
	const struct render_buffers *buffers = &rendering->stream->buffers;
	const struct render_request *request = rendering->request;
	uint64_t command_bytes = align_down((uint64_t)request->command_bytes + 15, 16);
	uint64_t patch_bytes = (uint64_t)request->patch_count * RENDER_PATCH_ENTRY_BYTES;

	rendering->command = (const char *)buffers->command + request->first_byte;
	rendering->patches = buffers->patches;
	if (LIKELY(!rendering->context->device->process->arena))
		return STATUS_SUCCESS;
	char *copy = mem_alloc(command_bytes + patch_bytes + 1);
	if (!copy)
		return refuse_no_memory("no memory for %u bytes of commands",
					request->command_bytes);
	memcpy(copy, rendering->command, request->command_bytes);
	if (patch_bytes > 0)
		memcpy(copy + command_bytes, buffers->patches, patch_bytes);
	rendering->copy = copy;
	rendering->command = copy;
	rendering->patches = copy + command_bytes;
	return STATUS_SUCCESS;
}

/* A call that found one of them before may come after its destruction has begun. */
static NTSTATUS check_not_going(struct dxg_device *device, const struct render_request *request)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&device->lock);
	for (uint32_t i = 0; i < request->item_count && NT_SUCCESS(status); i++) {
		if (request->items[i].allocation &&
		    request->items[i].allocation->is_being_destroyed)
			status = invalid_item(RULE_API_HANDLE, "AllocationList", i,
					      "was destroyed during the call");
	}
	lock_release(&device->lock);
	return status;
}

/* Since WDDM 2.0: one that is not gives the device up. */
static NTSTATUS check_resident(const struct rendering *rendering)
{
	const struct render_list *list = rendering->list;

	for (uint32_t i = 0; i < list->count; i++) {
		if (!list->items[i].allocation ||
		    vidmm_binding_count(list->entries[list->items[i].entry].binding) > 0)
			continue;
		device_lose(rendering->context->device, DEVICE_DMA_FAULT, NULL);
		return invalid_item(RULE_MM_LIST_RESIDENT, "AllocationList", i,
				    "was not made resident; the device is lost");
	}
	return STATUS_SUCCESS;
}

static NTSTATUS check_memory(struct rendering *rendering)
{
	struct dxg_device *device = rendering->context->device;
	struct vidmm_allocation_list all = {
		.device = &device->memory,
		.entries = rendering->list->entries,
		.count = rendering->list->entry_count,
	};
	uint32_t fits = 0;
	NTSTATUS status = vidmm_allocation_list_check(&all, &fits);

	rendering->fits = fits == all.count;
	if (!NT_SUCCESS(status) || device->adapter->info->wddm_version < 2000)
		return status;
	rendering->fits = true;
	rendering->is_made_resident = true;
	return check_resident(rendering);
}

/* ---- a DMA buffer becomes packets ---- */

static NTSTATUS add_packet(struct rendering *rendering, struct dma_buffer *buffer,
			   const struct render_piece *piece)
{
	struct render_packet *packet;
	NTSTATUS status = render_packet_create(rendering->stream, buffer, rendering->list, piece,
					       rendering->request->is_null, &packet);

	if (NT_SUCCESS(status))
		list_push_back(&rendering->packets, &packet->call_link);
	return status;
}

struct fitting {
	struct rendering *rendering;
	struct vidmm_binding *buffer; /* has to be in place as well; NULL: it is no matter */
	struct vidmm_allocation_list_entry *entries; /* room for it and the whole list */
};

static uint32_t how_many_fit(void *context, const uint32_t entries[], uint32_t count)
{
	struct fitting *fitting = context;
	uint32_t own = fitting->buffer ? 1 : 0; /* which always fits when it is alone */
	struct vidmm_allocation_list some = {
		.device = &fitting->rendering->context->device->memory,
		.entries = fitting->entries,
		.count = own + count,
	};

	some.entries[0].binding = fitting->buffer;
	for (uint32_t i = 0; i < count; i++)
		some.entries[own + i].binding =
			fitting->rendering->list->entries[entries[i]].binding;
	return vidmm_allocation_list_fits(&some) - own;
}

static NTSTATUS add_pieces(struct rendering *rendering, struct dma_buffer *buffer,
			   struct render_split *split)
{
	NTSTATUS status = STATUS_SUCCESS;
	struct render_piece piece;

	while (NT_SUCCESS(status) && render_split_next(split, &piece)) {
		if (piece.end_bytes == 0) {
			device_lose(rendering->context->device, DEVICE_OUT_OF_MEMORY, NULL);
			return refuse(STATUS_NO_MEMORY, RULE_MM_LIST_FITS, "AllocationList",
				      "has more than fits into memory between two places where the "
				      "commands can be split; the device is lost");
		}
		if (piece.end_bytes > piece.start_bytes)
			status = add_packet(rendering, buffer, &piece);
	}
	return status;
}

static NTSTATUS add_split(struct rendering *rendering, struct dma_buffer *buffer)
{
	struct fitting fitting = { .rendering = rendering, .buffer = dma_buffer_binding(buffer) };
	struct render_split split;

	if (buffer->patch_count == 0) { /* it refers to nothing */
		const uint32_t none[1] = { 0 };
		const struct render_piece all = { .end_bytes = buffer->used_bytes,
						  .entries = none };

		return add_packet(rendering, buffer, &all);
	}
	fitting.entries =
		mem_zalloc_array(rendering->list->entry_count + 1, sizeof(*fitting.entries));
	if (!fitting.entries)
		return refuse_no_memory("no memory to split a submission");
	NTSTATUS status =
		render_split_begin(&split, buffer, rendering->list, how_many_fit, &fitting);
	if (NT_SUCCESS(status)) {
		split.takes_all_cuts = rendering->context->device->adapter->splits_always;
		status = add_pieces(rendering, buffer, &split);
		render_split_end(&split);
	}
	mem_free(fitting.entries);
	return status;
}

/* The whole list, and the buffer beside it? */
static bool fits_whole(struct rendering *rendering, struct dma_buffer *buffer)
{
	struct render_list *list = rendering->list;
	struct vidmm_binding *binding = dma_buffer_binding(buffer);
	struct vidmm_allocation_list all = {
		.device = &rendering->context->device->memory,
		.entries = list->entries,
		.count = list->entry_count + 1,
	};

	if (!rendering->fits || !binding || rendering->is_made_resident)
		return rendering->fits;
	list->entries[list->entry_count].binding = binding;
	return vidmm_allocation_list_fits(&all) == all.count;
}

static NTSTATUS add_buffer(struct rendering *rendering, struct dma_buffer *buffer)
{
	const struct render_piece all = {
		.end_bytes = buffer->used_bytes,
		.patch_count = buffer->patch_count,
	};

	if (buffer->used_bytes == 0) /* the driver took note, and wrote nothing */
		return STATUS_SUCCESS;
	return fits_whole(rendering, buffer) && !rendering->context->device->adapter->splits_always
		       ? add_packet(rendering, buffer, &all)
		       : add_split(rendering, buffer);
}

/* ---- the driver translates ---- */

/* One pass. STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER: there is more. */
static NTSTATUS translate_pass(struct rendering *rendering, struct miniport_render *render)
{
	struct dxg_device *device = rendering->context->device;
	struct render_stream *stream = rendering->stream;
	const struct miniport_context_info *info = &rendering->context->info;
	struct dma_buffer *buffer;
	NTSTATUS status = dma_buffer_take(
		&stream->pool,
		(uint32_t)higher_of(info->dma_buffer_bytes, stream->buffers.command_bytes),
		(uint32_t)higher_of(patch_entries_of(info), stream->buffers.patch_entries),
		&buffer);

	if (!NT_SUCCESS(status))
		return status;
	render->buffer = buffer->memory;
	render->buffer_bytes = buffer->size_bytes;
	render->private_data = dma_buffer_private(buffer);
	render->private_bytes = stream->pool.options.private_bytes;
	render->patches_out = buffer->patches;
	render->patch_out_capacity = buffer->patch_capacity;
	status =
		miniport_render(device->adapter->miniport, device->process_adapter->client, render);
	if (status == STATUS_SUCCESS || status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER) {
		buffer->used_bytes = render->used_bytes;
		buffer->private_used_bytes = render->private_used_bytes;
		buffer->patch_count = render->patch_out_count;
		NTSTATUS added = add_buffer(rendering, buffer);
		if (!NT_SUCCESS(added))
			status = added;
	}
	dma_buffer_put(buffer);
	return status;
}

static void show_list(const struct rendering *rendering)
{
	const struct render_list *list = rendering->list;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct dxg_allocation *allocation = list->items[i].allocation;

		rendering->shown[i] = (struct miniport_list_entry){
			.driver_binding = allocation ? allocation->driver_binding : NULL,
			.is_written = list->items[i].is_written,
		};
	}
}

/* Nothing is said about where allocations are: that is known when it is patched. */
static NTSTATUS translate(struct rendering *rendering)
{
	struct dxg_device *device = rendering->context->device;
	const struct render_request *request = rendering->request;
	struct miniport_render render = {
		.driver_context = rendering->context->info.driver_context,
		.driver_device = device->driver_device,
		.command = rendering->command,
		.command_bytes = request->command_bytes,
		.allocations = rendering->shown,
		.allocation_count = request->item_count,
		.patches_in = rendering->patches,
		.patch_in_count = request->patch_count,
	};
	NTSTATUS status;

	show_list(rendering);
	do {
		status = translate_pass(rendering, &render);
	} while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	if (status == STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE)
		device_lose(device, DEVICE_DMA_FAULT, NULL);
	return status;
}

/* ---- into the queue ---- */

static void abandon_packets(struct rendering *rendering)
{
	list_drain (struct render_packet, each, &rendering->packets, call_link)
		render_packet_abandon(each);
}

/* Refused at the first, or the device is lost in between and all are cancelled. */
static NTSTATUS queue_packets(struct rendering *rendering)
{
	const struct work_target target = context_target(rendering->context);
	NTSTATUS status = STATUS_SUCCESS;
	struct list *link;

	work_target_hold(&target);
	while (NT_SUCCESS(status) && (link = list_pop_front(&rendering->packets))) {
		struct render_packet *packet = container_of(link, struct render_packet, call_link);

		atomic_fetch_add(&rendering->stream->queued, 1);
		if (trace_has(TRACE_WITH_LISTS))
			render_packet_trace_list(packet, rendering->context->device->adapter->id,
						 &rendering->context->queue);
		status = sched_queue_add(&rendering->context->queue, &packet->packet);
		if (!NT_SUCCESS(status)) {
			atomic_fetch_sub(&rendering->stream->queued, 1);
			render_packet_abandon(packet);
		}
	}
	if (NT_SUCCESS(status))
		vidmm_device_has_work(&rendering->context->device->memory);
	work_target_release(&target);
	return status;
}

/* ---- the next buffers ---- */

static uint32_t wanted(uint32_t wish, uint32_t floor, uint32_t ceiling, uint32_t now)
{
	if (wish == 0)
		return now;
	if (wish > ceiling)
		wish = ceiling;
	return (uint32_t)higher_of(wish, floor);
}

/* `*next_out` is what there is when nothing else is wanted. */
static NTSTATUS make_next(const struct rendering *rendering, struct render_buffers *next_out)
{
	const struct render_buffers *now = &rendering->stream->buffers;
	const struct miniport_context_info *info = &rendering->context->info;
	const struct render_request *request = rendering->request;
	uint32_t command_bytes = wanted(request->wanted_command_bytes, info->dma_buffer_bytes,
					RENDER_COMMAND_BYTES_MAX, now->command_bytes);
	uint32_t list_entries = wanted(request->wanted_list_entries, list_entries_of(info),
				       RENDER_ENTRIES_MAX, now->list_entries);
	uint32_t patch_entries = wanted(request->wanted_patch_entries, patch_entries_of(info),
					RENDER_ENTRIES_MAX, now->patch_entries);

	*next_out = *now;
	if (command_bytes == now->command_bytes && list_entries == now->list_entries &&
	    patch_entries == now->patch_entries)
		return STATUS_SUCCESS;
	return buffers_make(rendering->context->device->process, next_out, command_bytes,
			    list_entries, patch_entries);
}

static void buffers_replace(struct render_buffers *now, struct render_buffers *next)
{
	if (now->command == next->command)
		return;
	buffers_free(now);
	*now = *next;
}

/* ---- */

static NTSTATUS render_listed(struct rendering *rendering)
{
	NTSTATUS status = check_memory(rendering);

	if (NT_SUCCESS(status))
		status = capture(rendering);
	if (NT_SUCCESS(status))
		status = translate(rendering);
	mem_free(rendering->copy);
	if (NT_SUCCESS(status))
		status = queue_packets(rendering);
	abandon_packets(rendering);
	return status;
}

/* Between render_begin() and render_end(). */
static void rendering_assert_held(const struct dxg_context *context)
{
	lock_assert_held(&context->device->destroying);
}

NTSTATUS render_submit(struct dxg_context *context, const struct render_request *request)
{
	struct rendering rendering = { .context = context,
				       .stream = context->render,
				       .request = request };
	struct render_buffers next;
	NTSTATUS status = check_not_going(context->device, request);

	rendering_assert_held(context);
	list_init(&rendering.packets);
	if (NT_SUCCESS(status))
		status = make_next(&rendering, &next);
	if (!NT_SUCCESS(status))
		return status;
	rendering.shown = mem_zalloc_array(request->item_count + 1, sizeof(*rendering.shown));
	status = rendering.shown ? render_list_create(request, &rendering.list)
				 : refuse_no_memory("no memory for a list of %u allocations",
						    request->item_count);
	if (NT_SUCCESS(status)) {
		assert(rendering.list);
		status = render_listed(&rendering);
		render_list_put(rendering.list);
	}
	mem_free(rendering.shown);
	if (NT_SUCCESS(status))
		buffers_replace(&context->render->buffers, &next);
	else
		buffers_replace(&next, &context->render->buffers);
	return status;
}

NTSTATUS render_begin(struct dxg_context *context)
{
	struct dxg_device *device = context->device;
	NTSTATUS status = device_check_alive(device);

	if (!NT_SUCCESS(status))
		return status;
	if (context->is_virtual)
		return invalid(RULE_API_VALUE, "hContext",
			       "has GPU addresses; use D3DKMTSubmitCommand");
	if (!context->render)
		return refuse(STATUS_NOT_SUPPORTED, RULE_API_VALUE, "hContext",
			      "has no command buffer: the adapter has GPU addresses");
	status = sched_queue_await_slot(&context->queue);
	if (NT_SUCCESS(status))
		status = adapter_enter(device->adapter);
	if (NT_SUCCESS(status))
		lock_acquire(&device->destroying);
	return status;
}

void render_end(struct dxg_context *context)
{
	lock_release(&context->device->destroying);
	adapter_leave(context->device->adapter);
	sched_queue_run(&context->queue);
}
