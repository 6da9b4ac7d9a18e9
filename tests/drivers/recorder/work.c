/* SPDX-License-Identifier: MIT */
/*
 * work.c - paging buffers, rendering and submission: recorded, checked, and done as the registry
 * says (recorder.c).
 */
#include "driver.h"

void enter_scheduler_class(struct adapter *adapter)
{
	if (InterlockedIncrement(&adapter->in_scheduler_class) != 1)
		complain("two threads in entry points of the scheduler class");
}

void leave_scheduler_class(struct adapter *adapter)
{
	InterlockedDecrement(&adapter->in_scheduler_class);
}

static BOOLEAN is_multi_engine_aware(void)
{
	return setting("SchedulingCaps", 0x15) & 1;
}

/* ---- paging ---- */

/* A new buffer has exactly the size that was reported, a page's alignment, and zeroes beside it. */
static void check_fresh(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const UCHAR *bytes = args->pDmaBufferPrivateData;

	if (args->DmaSize != setting("PagingBufferSize", 4096))
		complain("a fresh paging buffer of another size than reported");
	if ((ULONG_PTR)args->pDmaBuffer % PAGE_SIZE != 0)
		complain("a paging buffer that does not begin with a page");
	for (UINT i = 0; bytes && i < args->DmaBufferPrivateDataSize; i++) {
		if (bytes[i] != 0) {
			complain("private data that is not zeroed");
			break;
		}
	}
}

/* Tables begin at multiples of 64 KiB. */
static void note_copied_entries(const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copies)
{
	for (UINT i = 0; i < copies->NumRanges; i++) {
		const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &copies->pRanges[i];

		note("copied entries", "first", range->SrcStartPteIndex, "count",
		     range->NumPageTableEntries);
		note("copied entries", "to", range->DstStartPteIndex, NULL, 0);
		if ((range->SrcPageTableAddress | range->DstPageTableAddress) % 65536 != 0 ||
		    range->SrcPageTableAddress == range->DstPageTableAddress)
			complain("page tables for a copy where they cannot be");
	}
}

static void save_paging(struct adapter *adapter, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const void *list = NULL;
	ULONG list_bytes = 0;

	if (args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE) {
		UINT count = args->UpdatePageTable.Flags.Repeat
				     ? 1
				     : args->UpdatePageTable.NumPageTableEntries;

		list = args->UpdatePageTable.pPageTableEntries;
		list_bytes = count * sizeof(DXGK_PTE);
	} else if (args->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES) {
		note_copied_entries(&args->CopyPageTableEntries);
		list = args->CopyPageTableEntries.pRanges;
		list_bytes = args->CopyPageTableEntries.NumRanges *
			     sizeof(DXGK_BUILDPAGINGBUFFER_COPY_RANGE);
	}
	save_call(adapter, RECORDER_BUILD_PAGING_BUFFER, args, sizeof(*args), list, list_bytes);
}

static BOOLEAN make_a_mistake(DXGKARG_BUILDPAGINGBUFFER *args)
{
	if (setting_is("PagingMoves", "back"))
		args->pDmaBuffer = (UCHAR *)args->pDmaBuffer - 1;
	else if (setting_is("PagingMoves", "past"))
		args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + args->DmaSize + 1;
	else if (setting_is("PagingMoves", "private back"))
		args->pDmaBufferPrivateData = (UCHAR *)args->pDmaBufferPrivateData - 1;
	else if (setting_is("PagingMoves", "private past"))
		args->pDmaBufferPrivateData =
			(UCHAR *)args->pDmaBufferPrivateData + args->DmaBufferPrivateDataSize + 1;
	else
		return FALSE;
	return TRUE;
}

static NTSTATUS write_operation(DXGKARG_BUILDPAGINGBUFFER *args)
{
	ULONG bytes = setting("PagingBytes", 64);
	ULONG private_bytes = setting("PagingPrivateBytes", 0);
	ULONG passes = setting("PagingPasses", 1);

	if (setting_is("PagingMoves", "stuck"))
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	if (!args->pDmaBuffer || bytes == 0)
		return STATUS_SUCCESS;
	if (args->DmaSize < bytes || args->DmaBufferPrivateDataSize < private_bytes)
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	RtlFillMemory(args->pDmaBuffer, bytes, (UCHAR)(0x80 + args->Operation));
	/* As drivers do it: written, and the pointer left where it is. */
	if (args->pDmaBufferPrivateData && args->DmaBufferPrivateDataSize != 0)
		*(UCHAR *)args->pDmaBufferPrivateData = 0xcd;
	args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + bytes;
	args->pDmaBufferPrivateData = (UCHAR *)args->pDmaBufferPrivateData + private_bytes;
	if (++args->MultipassOffset < passes)
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY build_paging_buffer(const HANDLE context, DXGKARG_BUILDPAGINGBUFFER *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("BuildPagingBuffer");

	enter_scheduler_class(adapter);
	note("BuildPagingBuffer", "operation", args->Operation, "room", args->DmaSize);
	overrun("BuildPagingBuffer", args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
	save_paging(adapter, args);
	if (!args->hSystemContext)
		complain("a paging buffer without a system context");
	else if (adapter_of_object(args->hSystemContext,
				   is_multi_engine_aware() ? MAGIC_CONTEXT : MAGIC_DEVICE) &&
		 !is_kernels(args->hSystemContext))
		complain("a paging buffer for a client's context");
	note_companion(args->hSystemContext, "CompanionBuild", "operation", args->Operation);
	if (args->pDmaBuffer && args->DmaBufferWriteOffset == 0)
		check_fresh(args);
	if (status == STATUS_SUCCESS && !make_a_mistake(args))
		status = write_operation(args);
	leave_scheduler_class(adapter);
	return status;
}

/* ---- rendering ---- */

static NTSTATUS APIENTRY render(const HANDLE handle, DXGKARG_RENDER *args)
{
	struct adapter *adapter =
		adapter_of_object(handle, is_multi_engine_aware() ? MAGIC_CONTEXT : MAGIC_DEVICE);
	NTSTATUS status = step("Render");
	UINT left = args->CommandLength - args->MultipassOffset;
	UINT buffer = setting("RenderBytes", args->DmaSize);
	UINT bytes = left < buffer ? left : buffer;

	note("Render", "length", args->CommandLength, "allocations", args->AllocationListSize);
	overrun("Render", args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
	overrun("PatchLocationListOut", args->pPatchLocationListOut,
		args->PatchLocationListOutSize * sizeof(*args->pPatchLocationListOut));
	save_call(adapter, RECORDER_RENDER, args, sizeof(*args), args->pAllocationList,
		  args->AllocationListSize * sizeof(DXGK_ALLOCATIONLIST));
	if (status != STATUS_SUCCESS)
		return status;
	if (setting_is("RenderMoves", "back"))
		args->pDmaBuffer = (UCHAR *)args->pDmaBuffer - 1;
	if (setting_is("RenderMoves", "past"))
		args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + args->DmaSize + 1;
	if (setting_is("RenderMoves", "patch"))
		args->pPatchLocationListOut += args->PatchLocationListOutSize + 1;
	if (setting_is("RenderMoves", "stuck"))
		return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	if (setting_is("RenderMoves", "back") || setting_is("RenderMoves", "past") ||
	    setting_is("RenderMoves", "patch"))
		return STATUS_SUCCESS;
	RtlCopyMemory(args->pDmaBuffer, (const UCHAR *)args->pCommand + args->MultipassOffset,
		      bytes);
	args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + bytes;
	args->MultipassOffset += bytes;
	for (UINT i = 0; i < args->PatchLocationListInSize && i < args->PatchLocationListOutSize;
	     i++)
		*args->pPatchLocationListOut++ = args->pPatchLocationListIn[i];
	return bytes < left ? STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER : STATUS_SUCCESS;
}

static NTSTATUS APIENTRY patch(const HANDLE context, const DXGKARG_PATCH *args)
{
	struct adapter *adapter = adapter_of(context);

	enter_scheduler_class(adapter);
	if (args->Flags.Paging) {
		note("PatchPaging", "fence", args->SubmissionFenceId, "lists",
		     args->pAllocationList || args->pPatchLocationList);
		save_call(adapter, RECORDER_PATCH_PAGING, args, sizeof(*args), NULL, 0);
		leave_scheduler_class(adapter);
		return step("PatchPaging");
	}
	note("Patch", "fence", args->SubmissionFenceId, "patches",
	     args->PatchLocationListSubmissionLength);
	save_call(adapter, RECORDER_PATCH, args, sizeof(*args), args->pAllocationList,
		  args->AllocationListSize * sizeof(DXGK_ALLOCATIONLIST));
	leave_scheduler_class(adapter);
	return step("Patch");
}

static NTSTATUS APIENTRY cancel_command(const HANDLE context, const DXGKARG_CANCELCOMMAND *args)
{
	struct adapter *adapter = adapter_of(context);

	enter_scheduler_class(adapter);
	/* Before it is noted: who sees the note looks for it. */
	save_call(adapter, RECORDER_CANCEL_COMMAND, args, sizeof(*args), args->pAllocationList,
		  args->AllocationListSize * sizeof(DXGK_ALLOCATIONLIST));
	note("CancelCommand", "context", args->hContext != NULL, "allocations",
	     args->AllocationListSize);
	if (setting("ChecksLists", 0))
		check_list(args->pAllocationList, args->AllocationListSize);
	leave_scheduler_class(adapter);
	return step("CancelCommand");
}

static NTSTATUS APIENTRY validate_submit_command(const HANDLE context,
						 DXGKARG_VALIDATESUBMITCOMMAND *args)
{
	struct adapter *adapter = adapter_of(context);
	ULONG magic = args->Flags.HardwareQueueSubmission ? MAGIC_HW_QUEUE : MAGIC_CONTEXT;

	note("ValidateSubmitCommand", "length", args->CommandLength, "private",
	     args->PrivateDriverDataSize);
	for (UINT i = 0; i < args->ContextCount; i++)
		adapter_of_object(args->Context[i], magic);
	if (setting("ValidateWrites", 0))
		*(UCHAR *)args->pPrivateDriverData = (UCHAR)setting("ValidateWrites", 0);
	save_call(adapter, RECORDER_VALIDATE_SUBMIT_COMMAND, args, sizeof(*args), NULL, 0);
	return step("ValidateSubmitCommand");
}

/* ---- submission ---- */

static NTSTATUS APIENTRY submit_command(const HANDLE context, const DXGKARG_SUBMITCOMMAND *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status;

	enter_scheduler_class(adapter);
	note("SubmitCommand", "node", args->NodeOrdinal, "fence", args->SubmissionFenceId);
	if (args->Flags.ContextSwitch)
		note("ContextSwitch", "node", args->NodeOrdinal, "bytes",
		     args->DmaBufferSubmissionEndOffset - args->DmaBufferSubmissionStartOffset);
	save_call(adapter, RECORDER_SUBMIT_COMMAND, args, sizeof(*args), NULL, 0);
	status = crank_submit(adapter, args->NodeOrdinal, args->SubmissionFenceId,
			      args->DmaBufferSubmissionEndOffset -
				      args->DmaBufferSubmissionStartOffset,
			      args->Flags.Paging);
	leave_scheduler_class(adapter);
	return status;
}

static NTSTATUS APIENTRY submit_command_virtual(const HANDLE context,
						const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status;

	enter_scheduler_class(adapter);
	note("SubmitCommandVirtual", "node", args->NodeOrdinal, "fence", args->SubmissionFenceId);
	if (args->Flags.ContextSwitch)
		note("ContextSwitch", "node", args->NodeOrdinal, "bytes", args->DmaBufferSize);
	save_call(adapter, RECORDER_SUBMIT_COMMAND_VIRTUAL, args, sizeof(*args), NULL, 0);
	if (args->hContext && adapter_of_object(args->hContext, MAGIC_CONTEXT)) {
		if (node_of_object(args->hContext) != args->NodeOrdinal)
			complain("a submission on another node than its context's");
		if (args->Flags.Paging && !is_kernels(args->hContext))
			complain("paging in a client's context");
		note_companion(args->hContext, "CompanionSubmit", "paging", args->Flags.Paging);
	}
	status = crank_submit(adapter, args->NodeOrdinal, args->SubmissionFenceId,
			      args->DmaBufferSize, args->Flags.Paging);
	leave_scheduler_class(adapter);
	return status;
}

static NTSTATUS APIENTRY preempt_command(const HANDLE context, const DXGKARG_PREEMPTCOMMAND *args)
{
	struct adapter *adapter = adapter_of(context);

	enter_scheduler_class(adapter);
	note("PreemptCommand", "node", args->NodeOrdinal, "fence", args->PreemptionFenceId);
	save_call(adapter, RECORDER_PREEMPT_COMMAND, args, sizeof(*args), NULL, 0);
	crank_preempt(adapter, args->NodeOrdinal, args->PreemptionFenceId);
	leave_scheduler_class(adapter);
	return STATUS_SUCCESS;
}

void fill_in_work(DRIVER_INITIALIZATION_DATA *data)
{
	data->DxgkDdiBuildPagingBuffer = build_paging_buffer;
	data->DxgkDdiPatch = patch;
	data->DxgkDdiRender = render;
	data->DxgkDdiSubmitCommand = submit_command;
	data->DxgkDdiPreemptCommand = preempt_command;
	data->DxgkDdiCancelCommand = cancel_command;
	data->DxgkDdiValidateSubmitCommand = validate_submit_command;
	if (is_gpu_mmu())
		data->DxgkDdiSubmitCommandVirtual = submit_command_virtual;
}
