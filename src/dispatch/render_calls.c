/* SPDX-License-Identifier: MIT */
/*
 * render_calls.c - work for contexts without GPU addresses: D3DKMTRender.
 *
 * The lists are in memory that the client fills and the kernel made; the allocation list is copied
 * here, the commands and the patch list the driver reads itself, or a copy (object/submit/render.c).
 */
#include "dispatch/dispatch.h"
#include "object/submit/render.h"

_Static_assert(sizeof(D3DDDI_ALLOCATIONLIST) == RENDER_LIST_ENTRY_BYTES &&
		       sizeof(D3DDDI_PATCHLOCATIONLIST) == RENDER_PATCH_ENTRY_BYTES,
	       "a client's lists are as large as object/ makes them");

static NTSTATUS check_flags(const D3DKMT_RENDER *args)
{
	if (args->Flags.RenderKm || args->Flags.RenderKmReadback)
		return invalid(RULE_API_RESERVED, "Flags",
			       "has RenderKm or RenderKmReadback, which are the system's");
	if (args->Flags.PresentRedirected || args->PresentHistoryToken != 0)
		return invalid(RULE_API_VALUE, "Flags",
			       "has PresentRedirected, and nothing is presented here");
	if (args->BroadcastContextCount != 0)
		return invalid(RULE_API_COUNT, "BroadcastContextCount",
			       "is %u, and the adapter is not linked to another one",
			       (unsigned)args->BroadcastContextCount);
	if (args->pPrivateDriverData || args->PrivateDriverDataSize != 0)
		return invalid(RULE_API_RESERVED, "pPrivateDriverData", "is reserved, and not 0");
	return STATUS_SUCCESS;
}

/* CommandLength counts from the start of the buffer, as its page says. */
static NTSTATUS check_extents(const D3DKMT_RENDER *args, const struct render_buffers *buffers)
{
	if (args->CommandLength > buffers->command_bytes)
		return invalid(RULE_API_VALUE, "CommandLength",
			       "is %u, and the command buffer has %u bytes", args->CommandLength,
			       buffers->command_bytes);
	if (args->CommandOffset > args->CommandLength)
		return invalid(RULE_API_VALUE, "CommandOffset",
			       "is %u, behind the end of the commands at %u", args->CommandOffset,
			       args->CommandLength);
	if (args->CommandOffset == args->CommandLength && !args->Flags.NullRendering)
		return invalid(RULE_API_VALUE, "CommandLength",
			       "is %u, and no commands are left behind CommandOffset",
			       args->CommandLength);
	if (args->AllocationCount > buffers->list_entries)
		return invalid(RULE_API_COUNT, "AllocationCount",
			       "is %u, and the allocation list has room for %u",
			       args->AllocationCount, buffers->list_entries);
	if (args->PatchLocationCount > buffers->patch_entries)
		return invalid(RULE_API_COUNT, "PatchLocationCount",
			       "is %u, and the patch list has room for %u",
			       args->PatchLocationCount, buffers->patch_entries);
	return STATUS_SUCCESS;
}

/* Offers in a list came with WDDM 1.2 and went with 2.0; the call for it serves both. */
static NTSTATUS decode_item(const struct call *call, const struct dxg_device *device,
			    const D3DDDI_ALLOCATIONLIST *entry, uint32_t index,
			    struct render_item *item)
{
	item->is_written = entry->WriteOperation;
	if (entry->Reserved != 0 || entry->OfferPriority != 0)
		return invalid_item(RULE_API_RESERVED, "AllocationList", index,
				    "has bits 0x%x; offers go by D3DKMTOfferAllocations",
				    entry->Value);
	if (entry->hAllocation == 0) /* what was in its slot is unbound */
		return STATUS_SUCCESS;
	NTSTATUS status = call_find_allocation(call, device, "AllocationList", index,
					       entry->hAllocation, &item->allocation);
	if (NT_SUCCESS(status) && item->is_written)
		status = allocation_check_writable(item->allocation, "AllocationList", index);
	return status;
}

/* Those that were found have references, on failure, too. */
static NTSTATUS decode_list(struct call *call, const struct dxg_device *device,
			    const struct render_buffers *buffers, uint32_t count,
			    struct render_item **items_out)
{
	void *entries;
	NTSTATUS status = call_copy_list(call, "AllocationList", buffers->list, "AllocationCount",
					 count, sizeof(D3DDDI_ALLOCATIONLIST), &entries);

	if (!NT_SUCCESS(status) || count == 0)
		return status;
	*items_out = call_take(call, (uint64_t)count * sizeof(**items_out));
	if (!*items_out)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < count && NT_SUCCESS(status); i++)
		status = decode_item(call, device, (const D3DDDI_ALLOCATIONLIST *)entries + i, i,
				     &(*items_out)[i]);
	return status;
}

/* No buffer is smaller than the driver wants it, so 1 asks for that. */
static uint32_t wanted(bool resizes, uint32_t size)
{
	return !resizes ? 0 : size == 0 ? 1 : size;
}

static NTSTATUS submit(struct dxg_context *context, const D3DKMT_RENDER *args,
		       const struct render_item *items)
{
	const struct render_request request = {
		.first_byte = args->CommandOffset,
		.command_bytes = args->CommandLength - args->CommandOffset,
		.items = items,
		.item_count = args->AllocationCount,
		.patch_count = args->PatchLocationCount,
		.is_null = args->Flags.NullRendering || context->is_null_rendering,
		.wanted_command_bytes =
			wanted(args->Flags.ResizeCommandBuffer, args->NewCommandBufferSize),
		.wanted_list_entries =
			wanted(args->Flags.ResizeAllocationList, args->NewAllocationListSize),
		.wanted_patch_entries =
			wanted(args->Flags.ResizePatchLocationList, args->NewPatchLocationListSize),
	};

	return render_submit(context, &request);
}

static void fill_results(D3DKMT_RENDER *args, const struct render_stream *stream)
{
	args->pNewCommandBuffer = stream->buffers.client.command;
	args->NewCommandBufferSize = stream->buffers.command_bytes;
	args->pNewAllocationList = stream->buffers.client.list;
	args->NewAllocationListSize = stream->buffers.list_entries;
	args->pNewPatchLocationList = stream->buffers.client.patches;
	args->NewPatchLocationListSize = stream->buffers.patch_entries;
	args->QueuedBufferCount = atomic_load(&stream->queued);
	args->NewCommandBuffer = 0;
}

NTSTATUS dispatch_render(struct call *call, D3DKMT_RENDER *args)
{
	struct dxg_context *context = call_context(call, 0);
	struct render_item *items = NULL;
	uint32_t count = args->AllocationCount;
	NTSTATUS status = render_begin(context);

	if (!NT_SUCCESS(status))
		return status;
	struct render_buffers *buffers = &context->render->buffers;
	status = render_buffers_show(call->process, buffers);
	if (NT_SUCCESS(status))
		status = check_flags(args);
	if (NT_SUCCESS(status))
		status = check_extents(args, buffers);
	if (NT_SUCCESS(status))
		status = decode_list(call, context->device, buffers, count, &items);
	if (NT_SUCCESS(status))
		status = submit(context, args, items);
	fill_results(args, context->render);
	render_end(context);
	for (uint32_t i = 0; items && i < count; i++) {
		if (items[i].allocation)
			object_put(&items[i].allocation->object);
	}
	/* Clients go on with what is handed back whatever became of the call. */
	if (!NT_SUCCESS(status))
		call_hand_back(call);
	return status;
}
