/* SPDX-License-Identifier: MIT */
/*
 * render.c - command buffers of physical contexts -> DMA buffers.
 *
 *	Render   copies whole commands out of the client's memory, checks each against the
 *	         allocation list, and says in the patch list where addresses go
 *	Patch    puts the addresses in, as often as the kernel moves something
 *
 * A command in a DMA buffer looks as the client wrote it, but its references have become GPU
 * addresses. What does not fit into one DMA buffer, or its patch list, goes into the next:
 * MultipassOffset counts the bytes of the command buffer that are done.
 *
 * The client's memory is read once, into the DMA buffer, and checked there. PASSIVE_LEVEL.
 */
#include "gpu.h"

/* One call of Render. */
struct render {
	const struct gpu_context *context;
	DXGKARG_RENDER *args;
	PUCHAR dma;      /* start of this pass */
	ULONG available; /* bytes of it that hold the client's commands */
	ULONG used;      /* bytes that were checked */
	UINT patch_in;   /* next entry of the client's patch list */
	UINT patches;    /* entries written to the output list */
};

/* The only two places where client memory is touched. */
static NTSTATUS copy_commands(struct render *render)
{
	const DXGKARG_RENDER *args = render->args;

	__try {
		RtlCopyMemory(render->dma, (const UCHAR *)args->pCommand + args->MultipassOffset,
			      render->available);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		return gpu_refuse(STATUS_INVALID_USER_BUFFER, "%u bytes of commands cannot be read",
				  render->available);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS copy_patch(const DXGKARG_RENDER *args, UINT index, D3DDDI_PATCHLOCATIONLIST *out)
{
	__try {
		RtlCopyMemory(out, &args->pPatchLocationListIn[index], sizeof(*out));
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		return gpu_refuse(STATUS_INVALID_USER_BUFFER,
				  "entry %u of the patch list cannot be read", index);
	}
	return STATUS_SUCCESS;
}

/* A client that brings a patch list has to mean the same by it as by its commands. */
static NTSTATUS compare_patch(struct render *render, const D3DDDI_PATCHLOCATIONLIST *expected)
{
	D3DDDI_PATCHLOCATIONLIST given = { 0 };

	if (render->args->PatchLocationListInSize == 0)
		return STATUS_SUCCESS;
	if (render->patch_in >= render->args->PatchLocationListInSize)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"the patch list has %u entries, and the commands have more places",
			render->args->PatchLocationListInSize);
	NTSTATUS status = copy_patch(render->args, render->patch_in++, &given);
	if (!NT_SUCCESS(status))
		return status;
	if (given.AllocationIndex != expected->AllocationIndex ||
	    given.AllocationOffset != expected->AllocationOffset ||
	    given.PatchOffset != expected->PatchOffset + render->args->MultipassOffset ||
	    given.Value != 0 || given.DriverId != 0 || given.SplitOffset != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "entry %u of the patch list names byte 0x%x of allocation %u at "
				  "0x%x; the command "
				  "names byte 0x%x of allocation %u at 0x%x",
				  render->patch_in - 1, given.AllocationOffset,
				  given.AllocationIndex, given.PatchOffset,
				  expected->AllocationOffset, expected->AllocationIndex,
				  expected->PatchOffset + render->args->MultipassOffset);
	return STATUS_SUCCESS;
}

static NTSTATUS check_reference(const struct render *render, const struct gpu_operand *operand,
				const struct softgpu_reference *reference)
{
	if (reference->allocation_index >= render->args->AllocationListSize)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a command names allocation %u of a list of %u",
				  reference->allocation_index, render->args->AllocationListSize);
	const DXGK_ALLOCATIONLIST *entry =
		&render->args->pAllocationList[reference->allocation_index];
	const struct gpu_opening *opening = gpu_opening_from(entry->hDeviceSpecificAllocation);
	if (!opening || opening->device != render->context->device)
		return gpu_refuse(STATUS_INVALID_HANDLE,
				  "allocation %u of the list is not open on the context's device",
				  reference->allocation_index);

	ULONGLONG size_bytes = opening->allocation->size_bytes;
	if (reference->offset_bytes > size_bytes ||
	    operand->size_bytes > size_bytes - reference->offset_bytes ||
	    reference->offset_bytes % operand->alignment != 0)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a command names 0x%I64x bytes at 0x%x of allocation %u, which "
				  "has 0x%I64x, in "
				  "steps of %u",
				  (ULONGLONG)operand->size_bytes, (ULONG)reference->offset_bytes,
				  reference->allocation_index, size_bytes,
				  (ULONG)operand->alignment);
	if (operand->is_write && (!entry->WriteOperation || opening->is_read_only))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a command writes allocation %u, which the list or its opening "
				  "says is read",
				  reference->allocation_index);
	return STATUS_SUCCESS;
}

/* Offset in the allocation -> GPU address. Segment addresses include the segment's base. */
static void patch(PUCHAR field, const DXGK_ALLOCATIONLIST *entry, ULONG offset_bytes)
{
	ULONGLONG address = (ULONGLONG)entry->PhysicalAddress.QuadPart + offset_bytes;

	RtlCopyMemory(field, &address, sizeof(address));
}

static NTSTATUS render_operand(struct render *render, const struct gpu_command *command,
			       const struct gpu_operand *operand)
{
	PUCHAR field = render->dma + render->used + operand->field_offset;
	struct softgpu_reference reference;

	RtlCopyMemory(&reference, field, sizeof(reference));
	NTSTATUS status = check_reference(render, operand, &reference);
	if (!NT_SUCCESS(status))
		return status;

	D3DDDI_PATCHLOCATIONLIST location = {
		.AllocationIndex = reference.allocation_index,
		.AllocationOffset = reference.offset_bytes,
		.PatchOffset = render->used + operand->field_offset,
	};
	status = compare_patch(render, &location);
	if (!NT_SUCCESS(status))
		return status;
	location.DriverId = command->opcode;
	location.SplitOffset = render->used; /* the kernel may cut in front of the command */
	render->args->pPatchLocationListOut[render->patches++] = location;

	/* Where the kernel already knows the place it may never call Patch. */
	const DXGK_ALLOCATIONLIST *entry =
		&render->args->pAllocationList[reference.allocation_index];
	if (entry->SegmentId != 0)
		patch(field, entry, reference.offset_bytes);
	return STATUS_SUCCESS;
}

/* Is the command that starts at `used` cut off by the end of the DMA buffer? */
static BOOLEAN is_cut_off(const struct render *render, BOOLEAN is_last_pass)
{
	const struct softgpu_command *header =
		(const struct softgpu_command *)(render->dma + render->used);
	ULONG left = render->available - render->used;

	return !is_last_pass && (left < sizeof(*header) || header->size_bytes > left);
}

static NTSTATUS render_commands(struct render *render, BOOLEAN is_last_pass)
{
	while (render->used < render->available && !is_cut_off(render, is_last_pass)) {
		struct gpu_command command;

		NTSTATUS status =
			gpu_command_decode(render->dma + render->used,
					   render->available - render->used, FALSE, &command);
		if (!NT_SUCCESS(status))
			return gpu_refuse(status, "byte 0x%x of the commands begins no command",
					  render->args->MultipassOffset + render->used);
		/* Kernels go by virtual addresses. */
		if (command.opcode == SOFTGPU_DISPATCH)
			return gpu_refuse(STATUS_NOT_SUPPORTED,
					  "byte 0x%x of the commands launches a kernel, and the "
					  "context has no addresses",
					  render->args->MultipassOffset + render->used);
		if (command.operand_count >
		    render->args->PatchLocationListOutSize - render->patches)
			return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
		for (ULONG i = 0; i < command.operand_count; i++) {
			status = render_operand(render, &command, &command.operands[i]);
			if (!NT_SUCCESS(status))
				return status;
		}
		render->used += command.size_bytes;
	}
	return render->used == render->available && is_last_pass
		       ? STATUS_SUCCESS
		       : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

/* How many entries of the client's list belong to earlier passes. */
static NTSTATUS skip_patches(struct render *render)
{
	const DXGKARG_RENDER *args = render->args;
	D3DDDI_PATCHLOCATIONLIST given = { 0 };

	while (args->MultipassOffset > 0 && render->patch_in < args->PatchLocationListInSize) {
		NTSTATUS status = copy_patch(args, render->patch_in, &given);
		if (!NT_SUCCESS(status))
			return status;
		if (given.PatchOffset >= args->MultipassOffset)
			break;
		render->patch_in++;
	}
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_render(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_RENDER pRender)
{
	struct render render = { .context = gpu_context_from(hContext), .args = pRender };

	PAGED_CODE();

	if (!render.context || render.context->is_virtual || !pRender || !pRender->pCommand ||
	    !pRender->pDmaBuffer || pRender->MultipassOffset > pRender->CommandLength)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "Render for context %p with arguments %p: it has addresses, or "
				  "one is missing",
				  hContext, pRender);

	ULONG left = pRender->CommandLength - pRender->MultipassOffset;
	BOOLEAN is_last_pass = left <= pRender->DmaSize;
	render.dma = pRender->pDmaBuffer;
	render.available = is_last_pass ? left : pRender->DmaSize;

	NTSTATUS status = copy_commands(&render);
	if (NT_SUCCESS(status))
		status = skip_patches(&render);
	if (NT_SUCCESS(status))
		status = render_commands(&render, is_last_pass);
	if (NT_SUCCESS(status) && pRender->PatchLocationListInSize > 0 &&
	    render.patch_in != pRender->PatchLocationListInSize)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "the patch list has %u entries, and the commands have %u places",
				  pRender->PatchLocationListInSize, render.patch_in);
	if (!NT_SUCCESS(status) && status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
		return status;

	pRender->pDmaBuffer = render.dma + render.used;
	pRender->pPatchLocationListOut += render.patches;
	pRender->MultipassOffset += render.used;
	return status;
}

/* The kernel may not be refused here; what is wrong with its arguments is a bug on one side. */
NTSTATUS APIENTRY gpu_patch(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PATCH pPatch)
{
	PAGED_CODE();

	if (!gpu_adapter_from(hAdapter) || !pPatch)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "Patch for adapter %p with arguments %p: one is missing",
				  hAdapter, pPatch);
	if (pPatch->Flags.Paging)
		return STATUS_SUCCESS;

	for (UINT i = 0; i < pPatch->PatchLocationListSubmissionLength; i++) {
		const D3DDDI_PATCHLOCATIONLIST *location =
			&pPatch->pPatchLocationList[pPatch->PatchLocationListSubmissionStart + i];

		if (location->AllocationIndex >= pPatch->AllocationListSize ||
		    location->PatchOffset > pPatch->DmaBufferSize ||
		    pPatch->DmaBufferSize - location->PatchOffset < sizeof(ULONGLONG))
			return gpu_refuse(
				STATUS_INVALID_PARAMETER,
				"patch %u is of allocation %u at byte 0x%x, which do not exist", i,
				location->AllocationIndex, location->PatchOffset);
		const DXGK_ALLOCATIONLIST *entry =
			&pPatch->pAllocationList[location->AllocationIndex];
		if (entry->SegmentId == 0)
			return gpu_refuse(STATUS_INVALID_PARAMETER,
					  "patch %u is of allocation %u, which is nowhere", i,
					  location->AllocationIndex);
		patch((PUCHAR)pPatch->pDmaBuffer + location->PatchOffset, entry,
		      location->AllocationOffset);
	}
	return STATUS_SUCCESS;
}
