/* SPDX-License-Identifier: MIT */
/*
 * watch_render.c - DMA buffers: nothing is written behind their end, patching stays within what is submitted, and a command
 * buffer that could not be read is not rendered.
 *
 *	buffer   |########|···············|~~|///////////|
 *	                                  │  └ a page of nobody's, out of reach during the call (nt/trap.h)
 *	                                  └ the rest of the last page: compared
 *
 * The kernel has that page behind each buffer while a driver is verified (miniport_info.buffer_guard_bytes). Private data and
 * patch lists have their guards in miniport/guarded_calls.c.
 *
 * Render runs on several threads at once, so what is kept for the time of a call belongs to the thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/checked.h"
#include "base/machine.h"
#include "base/thread.h"
#include "nt/seh.h"
#include "nt/trap.h"
#include "verify/render.h"

enum { OUTSIDE_MAX = 256 * 1024 };

struct render {
	struct render_patches patches;
};

/* Of the call that this thread is in. */
struct rendering {
	struct nt_trap guard;
	bool has_guard;
	unsigned char *slack; /* between the buffer and the next page */
	size_t slack_bytes;
	unsigned char slack_before[MACHINE_PAGE_BYTES];

	uint64_t faults_caught;
	struct render_copy *copy;
	unsigned char *patched; /* the whole buffer before DxgkDdiPatch; NULL: not looked at */
};

static _Thread_local void *rendering;

/* NULL: there is no memory, and nothing is looked at. */
static struct rendering *rendering_now(void)
{
	return thread_keep(&rendering, sizeof(struct rendering));
}

/* ---- behind the end ---- */

static void written_behind(struct nt_trap *trap, const void *address, bool is_write,
			   const struct nt_fault *fault)
{
	const struct verify_call *call = verify_call_innermost();
	const struct rendering *now = trap->context;
	const char *end = (const char *)trap->begin - now->slack_bytes;
	struct nt_stack stack;

	nt_stack_take_fault(&stack, fault);
	nt_report_from(RULE_DDI_DMA_OVERRUN, 0, &stack,
		       "%s %s %td bytes behind the end of its DMA buffer",
		       call ? ddi_infos[call->ddi].name : "The driver",
		       is_write ? "writes" : "reads", (const char *)address - end);
}

static void guard_begin(struct rendering *now, void *start, uint64_t size_bytes)
{
	uint64_t address;
	uint64_t whole_bytes = align_down(size_bytes + MACHINE_PAGE_BYTES - 1, MACHINE_PAGE_BYTES);

	now->has_guard = false;
	now->slack_bytes = 0;
	/* Only where the page behind belongs to the buffer. */
	if (!start || !machine_from_pointer(start, &address) ||
	    machine_run_bytes(address) < whole_bytes + MACHINE_PAGE_BYTES)
		return;
	now->slack = (unsigned char *)start + size_bytes;
	now->slack_bytes = whole_bytes - size_bytes;
	memcpy(now->slack_before, now->slack, now->slack_bytes);
	now->guard = (struct nt_trap){
		.begin = (char *)start + whole_bytes,
		.size_bytes = MACHINE_PAGE_BYTES,
		.thread = thread_id(),
		.touched = written_behind,
		.context = now,
	};
	now->has_guard = nt_trap_arm(&now->guard);
}

static void guard_end(struct rendering *now, const struct verify_call *call)
{
	if (now->has_guard)
		nt_trap_disarm(&now->guard);
	if (now->slack_bytes > 0 && memcmp(now->slack, now->slack_before, now->slack_bytes) != 0)
		nt_report(RULE_DDI_DMA_OVERRUN, "%s wrote behind the end of its DMA buffer",
			  ddi_infos[call->ddi].name);
	now->has_guard = false;
	now->slack_bytes = 0;
}

/* ---- Render ---- */

static void before_render(struct render *render, struct rendering *now,
			  const struct verify_call *call)
{
	const DXGKARG_RENDER *args = call->arguments;

	now->faults_caught = nt_seh_faults_caught();
	now->copy = render_copy_take(call);
	render_patches_forget(&render->patches, args->pDmaBuffer);
	guard_begin(now, args->pDmaBuffer, args->DmaSize);
}

static void check_null_elements(const DXGKARG_RENDER *args, const D3DDDI_PATCHLOCATIONLIST *first)
{
	for (const D3DDDI_PATCHLOCATIONLIST *entry = first; entry < args->pPatchLocationListOut;
	     entry++) {
		if (entry->AllocationIndex == 0 ||
		    entry->AllocationIndex >= args->AllocationListSize ||
		    args->pAllocationList[entry->AllocationIndex].hDeviceSpecificAllocation)
			continue;
		nt_report(
			RULE_DDI_RENDER_NULL_ELEMENT,
			"DxgkDdiRender wrote a patch for element %u of the list, which is NULL: to "
			"unbind something there is element 0",
			entry->AllocationIndex);
		return;
	}
}

/* From there on its commands need the allocation: cut behind the place, they would run without it. */
static void check_cuts(const DXGKARG_RENDER *args, const D3DDDI_PATCHLOCATIONLIST *first)
{
	for (const D3DDDI_PATCHLOCATIONLIST *entry = first; entry < args->pPatchLocationListOut;
	     entry++) {
		if (entry->SplitOffset <= entry->PatchOffset)
			continue;
		nt_report(
			RULE_DDI_PATCH_LIST,
			"DxgkDdiRender wrote a patch for byte %u of the DMA buffer that may be cut "
			"off from it, at byte %u",
			entry->PatchOffset, entry->SplitOffset);
		return;
	}
}

static void after_render(struct rendering *now, struct verify_call *call)
{
	const DXGKARG_RENDER *args = call->arguments;

	guard_end(now, call);
	bool is_rendered = call->status == STATUS_SUCCESS ||
			   call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	if (is_rendered && nt_seh_faults_caught() != now->faults_caught)
		nt_report(RULE_DDI_RENDER_PROBE,
			  "DxgkDdiRender could not read all of what the client gave it, and "
			  "returned %s",
			  status_name(call->status));
	if (is_rendered && args->pPatchLocationListOut && args->pAllocationList) {
		const D3DDDI_PATCHLOCATIONLIST *first =
			(const D3DDDI_PATCHLOCATIONLIST *)(uintptr_t)call->numbers[0];
		check_null_elements(args, first);
		check_cuts(args, first);
	}
	if (call->status == STATUS_SUCCESS && now->copy)
		render_check_again(call, now->copy);
	render_copy_free(now->copy);
	now->copy = NULL;
}

/* ---- Patch ---- */

static void before_patch(struct rendering *now, const DXGKARG_PATCH *args)
{
	guard_begin(now, args->pDmaBuffer, args->DmaBufferSize);
	now->patched = args->pDmaBuffer && args->DmaBufferSize <= OUTSIDE_MAX
			       ? malloc(args->DmaBufferSize + 1)
			       : NULL;
	if (now->patched)
		memcpy(now->patched, args->pDmaBuffer, args->DmaBufferSize);
}

/* The first byte of [begin, end) that is not as it was; `end`: there is none. */
static uint32_t first_changed(const unsigned char *before, const unsigned char *after,
			      uint32_t begin, uint32_t end)
{
	if (begin >= end || memcmp(before + begin, after + begin, end - begin) == 0)
		return end;
	while (before[begin] == after[begin])
		begin++;
	return begin;
}

static void check_in_place(const unsigned char *before, const DXGKARG_PATCH *args)
{
	const unsigned char *buffer = args->pDmaBuffer;
	uint32_t start = args->DmaBufferSubmissionStartOffset;
	uint32_t end = args->DmaBufferSubmissionEndOffset;
	uint32_t at;

	if (start > end || end > args->DmaBufferSize)
		return;
	at = first_changed(before, buffer, 0, start);
	if (at == start) {
		at = first_changed(before, buffer, end, args->DmaBufferSize);
		if (at == args->DmaBufferSize)
			return;
	}
	nt_report(
		RULE_DDI_PATCH_IN_PLACE,
		"DxgkDdiPatch changed byte %u of a DMA buffer, and submitted are the bytes from %u "
		"to %u",
		at, start, end);
}

static void after_patch(struct render *render, struct rendering *now, struct verify_call *call)
{
	const DXGKARG_PATCH *args = call->arguments;

	guard_end(now, call);
	if (now->patched) {
		check_in_place(now->patched, args);
		if (!args->Flags.Paging && NT_SUCCESS(call->status)) {
			render_patches_compare(&render->patches, args, now->patched);
			render_check_patch_again(call, now->patched);
		}
	}
	free(now->patched);
	now->patched = NULL;
}

/* ---- the watch ---- */

static void begin(struct verify_adapter *adapter, void *state)
{
	(void)adapter;
	render_patches_init(&((struct render *)state)->patches);
}

static void end(struct verify_adapter *adapter, void *state)
{
	(void)adapter;
	render_patches_finish(&((struct render *)state)->patches);
}

static void before(struct verify_call *call, void *state)
{
	struct rendering *now = rendering_now();

	if (!now)
		return;
	switch ((int)call->ddi) {
	case DDI_RENDER:
		call->numbers[0] = (uint64_t)(uintptr_t)((const DXGKARG_RENDER *)call->arguments)
					   ->pPatchLocationListOut;
		before_render(state, now, call);
		break;
	case DDI_PATCH:
		before_patch(now, call->arguments);
		break;
	case DDI_BUILD_PAGING_BUFFER: {
		const DXGKARG_BUILDPAGINGBUFFER *args = call->arguments;

		guard_begin(now,
			    args->pDmaBuffer ? (char *)args->pDmaBuffer - args->DmaBufferWriteOffset
					     : NULL,
			    (uint64_t)args->DmaSize + args->DmaBufferWriteOffset);
		break;
	}
	default:
		break;
	}
}

static void after(struct verify_call *call, void *state)
{
	struct rendering *now = rendering_now();

	if (!now)
		return;
	switch ((int)call->ddi) {
	case DDI_RENDER:
		after_render(now, call);
		break;
	case DDI_PATCH:
		after_patch(state, now, call);
		break;
	case DDI_BUILD_PAGING_BUFFER:
		guard_end(now, call);
		break;
	default:
		break;
	}
}

const struct verify_watching verify_watch_render = {
	.state_bytes = sizeof(struct render),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
};
