/* SPDX-License-Identifier: MIT */
/*
 * render.c - the physical model: DxgkDdiRender turns a client's commands into a DMA buffer,
 * DxgkDdiPatch writes addresses into it, DxgkDdiCancelCommand forgets it. And what a driver may say
 * about a submission by address beforehand: DxgkDdiValidateSubmitCommand.
 *
 * Lists of allocations are translated for the time of one call; a few fit on the stack.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/guarded_calls.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/report.h"

/* Patch lists travel as they are: what a client wrote, what a driver wrote. */
_Static_assert(sizeof(struct miniport_patch_entry) == sizeof(D3DDDI_PATCHLOCATIONLIST) &&
		       offsetof(struct miniport_patch_entry, slot) ==
			       offsetof(D3DDDI_PATCHLOCATIONLIST, Value) &&
		       offsetof(struct miniport_patch_entry, driver_id) ==
			       offsetof(D3DDDI_PATCHLOCATIONLIST, DriverId) &&
		       offsetof(struct miniport_patch_entry, allocation_offset) ==
			       offsetof(D3DDDI_PATCHLOCATIONLIST, AllocationOffset) &&
		       offsetof(struct miniport_patch_entry, patch_offset) ==
			       offsetof(D3DDDI_PATCHLOCATIONLIST, PatchOffset) &&
		       offsetof(struct miniport_patch_entry, split_offset) ==
			       offsetof(D3DDDI_PATCHLOCATIONLIST, SplitOffset),
	       "a patch entry is a D3DDDI_PATCHLOCATIONLIST");

enum { FEW = 16, MAX_SLOT = 0xffffff };

struct list_copy {
	DXGK_ALLOCATIONLIST few[FEW];
	DXGK_ALLOCATIONLIST *entries; /* NULL: none */
	bool is_taken;
};

_Static_assert(sizeof(DXGK_ALLOCATIONLIST) == MINIPORT_LIST_ENTRY_BYTES,
	       "callers know how much room a list takes");

/* `room` is the caller's, or NULL. */
static NTSTATUS list_copy_init(struct list_copy *copy, const struct miniport *miniport,
			       const struct miniport_list_entry *allocations, uint32_t count,
			       void *storage)
{
	copy->entries = count == 0 ? NULL : copy->few;
	copy->is_taken = count > FEW && !storage;
	if (count > FEW)
		copy->entries = storage ? storage : mem_zalloc_array(count, sizeof(*copy->entries));
	if (count > FEW && !copy->entries)
		return refuse_no_memory("There is no memory for a list of %u allocations", count);
	for (uint32_t i = 0; i < count; i++) {
		const struct miniport_list_entry *from = &allocations[i];

		copy->entries[i] = (DXGK_ALLOCATIONLIST){
			.hDeviceSpecificAllocation = from->driver_binding,
			.WriteOperation = from->is_written,
			.SegmentId = from->segment & 0x1f,
		};
		if (from->segment != 0)
			copy->entries[i].PhysicalAddress.QuadPart = (LONGLONG)segment_address(
				miniport, from->segment, from->offset_bytes);
	}
	return STATUS_SUCCESS;
}

static void list_copy_finish(struct list_copy *copy)
{
	if (copy->is_taken)
		mem_free(copy->entries);
}

/* ---- render ---- */

static const char render_entry[] = "DxgkDdiRender";

static NTSTATUS render_judge(NTSTATUS status, bool has_moved)
{
	switch (status) {
	case STATUS_SUCCESS:
		return status;
	case STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER:
		if (!has_moved)
			return driver_mistake(RULE_DDI_DMA_BUFFER, render_entry,
					      "asked for another buffer and left a fresh one as it "
					      "was: it would ask for ever");
		return status;
	case STATUS_NO_MEMORY:
	case STATUS_PRIVILEGED_INSTRUCTION:
	case STATUS_ILLEGAL_INSTRUCTION:
	case STATUS_INVALID_PARAMETER:
	case STATUS_INVALID_USER_BUFFER:
	case STATUS_INVALID_HANDLE:
	case STATUS_GRAPHICS_DRIVER_MISMATCH:
	case STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE:
		return refuse(status, RULE_DDI_STATUS, render_entry, "returned %s%s",
			      status_name(status), ddi_said().text);
	default:
		nt_report(RULE_DDI_STATUS_RENDER, "%s returned %s%s", render_entry,
			  status_name(status), ddi_said().text);
		return refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_STATUS_RENDER, render_entry,
			      "returned %s%s", status_name(status), ddi_said().text);
	}
}

/* Where split offsets go back the kernel could not cut the buffer in the order it is executed. */
static NTSTATUS patches_accept(const struct miniport_render *render, uint32_t count,
			       uint32_t used_bytes)
{
	uint32_t split_offset = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct miniport_patch_entry *patch = &render->patches_out[i];

		if (patch->allocation_index >= render->allocation_count)
			return driver_mistake(RULE_DDI_PATCH_LIST, render_entry,
					      "wrote a patch for an allocation that is not listed");
		if (patch->patch_offset >= used_bytes)
			return driver_mistake(RULE_DDI_PATCH_LIST, render_entry,
					      "wrote a patch for a place behind its commands");
		if (patch->slot > MAX_SLOT)
			return driver_mistake(RULE_DDI_PATCH_LIST, render_entry,
					      "wrote a patch with reserved bits");
		if (patch->split_offset < split_offset || patch->split_offset > used_bytes)
			return driver_mistake(RULE_DDI_PATCH_LIST, render_entry,
					      "wrote split offsets that go back or out of its "
					      "commands");
		split_offset = patch->split_offset;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS render_accept(struct miniport_render *render, const DXGKARG_RENDER *args,
			      NTSTATUS status)
{
	uint32_t used;
	uint32_t private_used;
	uint32_t patch_bytes;

	if (!pointer_moved(render->buffer, args->pDmaBuffer, render->buffer_bytes, &used))
		return driver_mistake(RULE_DDI_DMA_BUFFER, render_entry,
				      "moved pDmaBuffer out of the buffer or backwards");
	if (!pointer_moved(render->private_data, args->pDmaBufferPrivateData, render->private_bytes,
			   &private_used))
		return driver_mistake(RULE_DDI_DMA_BUFFER, render_entry,
				      "moved pDmaBufferPrivateData out of its room or backwards");
	if (!pointer_moved(render->patches_out, args->pPatchLocationListOut,
			   (uint64_t)render->patch_out_capacity * sizeof(*render->patches_out),
			   &patch_bytes) ||
	    patch_bytes % sizeof(*render->patches_out) != 0)
		return driver_mistake(RULE_DDI_DMA_BUFFER, render_entry,
				      "moved pPatchLocationListOut to where no entry begins");
	status = render_judge(status, used != 0 || args->MultipassOffset != render->multipass);
	if (status != STATUS_SUCCESS && status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
		return status;
	uint32_t patch_count = patch_bytes / (uint32_t)sizeof(*render->patches_out);
	NTSTATUS patch_status = patches_accept(render, patch_count, used);
	if (!NT_SUCCESS(patch_status))
		return patch_status;
	render->used_bytes = used;
	render->private_used_bytes = private_used;
	render->patch_out_count = patch_count;
	render->multipass = args->MultipassOffset;
	return status;
}

NTSTATUS miniport_render(struct miniport *miniport, struct miniport_client *client,
			 struct miniport_render *render)
{
	struct list_copy list;
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiRender)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING, render_entry,
			      "is missing: this driver has no physical addresses");
	NTSTATUS status = list_copy_init(&list, miniport, render->allocations,
					 render->allocation_count, NULL);
	if (!NT_SUCCESS(status))
		return status;
	DXGKARG_RENDER args = {
		.pCommand = render->command,
		.CommandLength = render->command_bytes,
		.pDmaBuffer = render->buffer,
		.DmaSize = render->buffer_bytes,
		.pDmaBufferPrivateData = render->private_data,
		.DmaBufferPrivateDataSize = render->private_bytes,
		.pAllocationList = list.entries,
		.AllocationListSize = render->allocation_count,
		.pPatchLocationListIn = (D3DDDI_PATCHLOCATIONLIST *)render->patches_in,
		.PatchLocationListInSize = render->patch_in_count,
		.pPatchLocationListOut = (D3DDDI_PATCHLOCATIONLIST *)render->patches_out,
		.PatchLocationListOutSize = render->patch_out_capacity,
		.MultipassOffset = render->multipass,
		.DmaBufferSegmentId = render->buffer_segment,
		.DmaBufferPhysicalAddress.QuadPart = (LONGLONG)segment_address(
			miniport, render->buffer_segment, render->buffer_physical_address),
	};

	void *handle = context_handle(miniport, render->driver_context, render->driver_device);
	ddi_enter(&crossing, miniport, client, DDI_RENDER);
	ddi_note(&crossing, handle, &args);
	status = UNLIKELY(miniport->guards_answers) ? guarded_render(miniport, handle, &args)
						    : miniport->ddi.DxgkDdiRender(handle, &args);
	ddi_leave_as_it_is(&crossing, status);

	list_copy_finish(&list);
	return render_accept(render, &args, status);
}

/* ---- patch and cancel ---- */

NTSTATUS miniport_patch(struct miniport *miniport, const struct miniport_patch *patch)
{
	const struct miniport_submission *submission = patch->submission;
	struct list_copy list;
	struct ddi_crossing crossing;

	if (!miniport->is_patching || !miniport->ddi.DxgkDdiPatch)
		return STATUS_SUCCESS;
	NTSTATUS status = list_copy_init(&list, miniport, patch->allocations,
					 patch->allocation_count, patch->list_storage);
	if (!NT_SUCCESS(status))
		return status;
	DXGKARG_PATCH args = {
		.hContext = submission_handle(miniport, submission),
		.DmaBufferSegmentId = submission->segment,
		.DmaBufferPhysicalAddress.QuadPart = (LONGLONG)segment_address(
			miniport, submission->segment, submission->physical_address),
		.pDmaBuffer = submission->memory,
		.DmaBufferSize = submission->buffer_bytes,
		SUBMITTED_RANGES(submission),
		.pAllocationList = list.entries,
		.AllocationListSize = patch->allocation_count,
		.pPatchLocationList = (const D3DDDI_PATCHLOCATIONLIST *)patch->patches,
		.PatchLocationListSize = patch->patch_count,
		.PatchLocationListSubmissionStart = patch->first_patch,
		.PatchLocationListSubmissionLength = patch->submitted_patches,
		.SubmissionFenceId = submission->fence,
		.Flags = { .Paging = submission->is_paging, .NullRendering = submission->is_null },
	};

	ddi_enter(&crossing, miniport, NULL, DDI_PATCH);
	ddi_note(&crossing, miniport->context, &args);
	status = miniport->ddi.DxgkDdiPatch(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	list_copy_finish(&list);
	return status == STATUS_SUCCESS ? status : STATUS_DRIVER_INTERNAL_ERROR;
}

void miniport_cancel(struct miniport *miniport, const struct miniport_submission *submission,
		     const struct miniport_patch *patch)
{
	static const struct miniport_patch no_lists;
	struct list_copy list;
	struct ddi_crossing crossing;

	if (!miniport->info.is_cancel_command_aware || !miniport->ddi.DxgkDdiCancelCommand)
		return;
	if (!patch)
		patch = &no_lists;
	/* Without memory for the list the driver is told without it: it has nothing to do there. */
	bool has_list = NT_SUCCESS(list_copy_init(&list, miniport, patch->allocations,
						  patch->allocation_count, patch->list_storage));
	DXGKARG_CANCELCOMMAND args = {
		.hContext = submission_handle(miniport, submission),
		.pDmaBuffer = submission->memory,
		.DmaBufferSize =
			submission->memory ? submission->buffer_bytes : submission->size_bytes,
		SUBMITTED_RANGES(submission),
		.pAllocationList = has_list ? list.entries : NULL,
		.AllocationListSize = has_list ? patch->allocation_count : 0,
		.pPatchLocationList = (const D3DDDI_PATCHLOCATIONLIST *)patch->patches,
		.PatchLocationListSize = patch->patch_count,
		.PatchLocationListSubmissionStart = patch->first_patch,
		.PatchLocationListSubmissionLength = patch->submitted_patches,
		.DmaBufferVirtualAddress = submission->gpu_address,
		.DmaBufferUmdPrivateDataSize = submission->client_private_bytes,
	};

	ddi_enter(&crossing, miniport, NULL, DDI_CANCEL_COMMAND);
	ddi_note(&crossing, miniport->context, &args);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiCancelCommand(miniport->context, &args));
	if (has_list)
		list_copy_finish(&list);
}

/* ---- validation ---- */

NTSTATUS miniport_validate_submission(struct miniport *miniport, struct miniport_client *client,
				      const struct miniport_validation *validation)
{
	static const char entry[] = "DxgkDdiValidateSubmitCommand";
	DXGKARG_VALIDATESUBMITCOMMAND args = {
		.Commands = validation->gpu_address,
		.CommandLength = validation->size_bytes,
		.Flags = { .HardwareQueueSubmission = validation->is_for_hw_queues },
		.ContextCount = validation->target_count,
		.pPrivateDriverData = validation->private_data,
		.PrivateDriverDataSize = validation->private_bytes,
		.UmdPrivateDataSize = validation->client_private_bytes,
		.HwQueueProgressFenceId = validation->progress_fence_value,
	};
	struct ddi_crossing crossing;

	/* It is about the private data. */
	if (!miniport->ddi.DxgkDdiValidateSubmitCommand || validation->client_private_bytes == 0)
		return STATUS_SUCCESS;
	assert(validation->target_count <= D3DDDI_MAX_BROADCAST_CONTEXT);
	for (uint32_t i = 0; i < validation->target_count; i++)
		args.Context[i] = validation->targets[i];
	ddi_enter(&crossing, miniport, client, DDI_VALIDATE_SUBMIT_COMMAND);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiValidateSubmitCommand(miniport->context, &args);
	ddi_leave_as_it_is(&crossing, status);

	if (status == STATUS_SUCCESS)
		return status;
	if (status == STATUS_INVALID_USER_BUFFER)
		return refuse(status, RULE_DDI_STATUS, entry, "found the private data malformed%s",
			      ddi_said().text);
	nt_report(RULE_DDI_STATUS_UNDOCUMENTED, "%s returned %s%s", entry, status_name(status),
		  ddi_said().text);
	return refuse(STATUS_DRIVER_INTERNAL_ERROR, RULE_DDI_STATUS_UNDOCUMENTED, entry,
		      "returned %s%s", status_name(status), ddi_said().text);
}
