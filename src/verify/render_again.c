/* SPDX-License-Identifier: MIT */
/*
 * render_again.c - the driver as its own judge: what it rendered or patched is held against what it makes of the same in
 * memory of ours (render.h).
 *
 *	user-memory-changes   A client that changes its commands while they are read gains nothing by it. What came out is
 *	                      what comes out of the commands as they were, up to words that may be anything: those of which
 *	                      another value is accepted too.
 *	repatch-always        Where an address stands in what was rendered there is a patch for it: rendered with other
 *	                      addresses, only such places are different. And patched twice is as patched once.
 *
 * Only in runs with these plans, which show the driver such calls anyway, and only of drivers that make the same of the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "verify/faults.h"
#include "verify/render.h"

enum {
	COMMAND_MAX = 2048, /* words are tried one by one */
	OUTPUT_MAX = 256 * 1024,
	ADDRESS_BYTES = 8, /* from a patch offset on */
	BUFFER_ALIGNMENT = 4096,
	SLACK_BYTES =
		4096, /* behind what a driver writes into, which may be one that writes too much */
};

struct render_copy {
	DXGKARG_RENDER args; /* as the driver was given them */
	unsigned char *command;
	DXGK_ALLOCATIONLIST *list;
};

/* What comes out. */
struct output {
	NTSTATUS status;
	unsigned char *dma;
	uint32_t dma_bytes;
	D3DDDI_PATCHLOCATIONLIST *patches;
	uint32_t patch_count;
	unsigned char *private_data;
};

static void *copy_of(const void *bytes, size_t size_bytes)
{
	void *copy = malloc(size_bytes + SLACK_BYTES);

	if (copy && size_bytes > 0)
		memcpy(copy, bytes, size_bytes);
	return copy;
}

struct render_copy *render_copy_take(const struct verify_call *call)
{
	const DXGKARG_RENDER *args = call->arguments;
	struct render_copy *copy;

	if ((!fault_planned(FAULT_USER_MEMORY_CHANGES) && !fault_planned(FAULT_REPATCH_ALWAYS)) ||
	    args->MultipassOffset != 0 || args->CommandLength == 0 ||
	    args->CommandLength > COMMAND_MAX || args->DmaSize > OUTPUT_MAX)
		return NULL;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return NULL;
	copy->args = *args;
	copy->command = copy_of(args->pCommand, args->CommandLength);
	copy->list = copy_of(args->pAllocationList, args->AllocationListSize * sizeof(*copy->list));
	if (copy->command && copy->list)
		return copy;
	render_copy_free(copy);
	return NULL;
}

void render_copy_free(struct render_copy *copy)
{
	if (!copy)
		return;
	free(copy->command);
	free(copy->list);
	free(copy);
}

/* ---- once more ---- */

static void output_free(struct output *output)
{
	free(output->dma);
	free(output->patches);
	free(output->private_data);
	*output = (struct output){ 0 };
}

static bool output_init(struct output *output, const DXGKARG_RENDER *args)
{
	size_t capacity = ((size_t)args->DmaSize + SLACK_BYTES + BUFFER_ALIGNMENT) /
			  BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;

	*output = (struct output){
		.dma = aligned_alloc(BUFFER_ALIGNMENT, capacity),
		.patches = calloc(1, (size_t)args->PatchLocationListOutSize *
						     sizeof(*output->patches) +
					     SLACK_BYTES),
		.private_data = calloc(1, (size_t)args->DmaBufferPrivateDataSize + SLACK_BYTES),
	};
	if (!output->dma || !output->patches || !output->private_data) {
		output_free(output);
		return false;
	}
	memset(output->dma, 0, capacity);
	return true;
}

/* False: there is no memory for it. */
static bool render_again(const struct verify_call *call, const struct render_copy *copy,
			 struct output *output)
{
	DXGKARG_RENDER args = copy->args;

	if (!output_init(output, &args))
		return false;
	args.pCommand = copy->command;
	args.pAllocationList = copy->list;
	args.pDmaBuffer = output->dma;
	args.pPatchLocationListOut = output->patches;
	args.pDmaBufferPrivateData = output->private_data;
	output->status = call->adapter->miniport->driver.DxgkDdiRender((HANDLE)call->handle, &args);
	output->dma_bytes = (uint32_t)((unsigned char *)args.pDmaBuffer - output->dma);
	output->patch_count = (uint32_t)(args.pPatchLocationListOut - output->patches);
	if (output->dma_bytes > copy->args.DmaSize ||
	    output->patch_count > copy->args.PatchLocationListOutSize)
		output->status = STATUS_BUFFER_TOO_SMALL;
	return true;
}

/* What the call itself has made. */
static struct output output_of(const struct verify_call *call, const struct render_copy *copy)
{
	const DXGKARG_RENDER *args = call->arguments;

	return (struct output){
		.status = call->status,
		.dma = copy->args.pDmaBuffer,
		.dma_bytes = (uint32_t)((unsigned char *)args->pDmaBuffer -
					(unsigned char *)copy->args.pDmaBuffer),
		.patches = copy->args.pPatchLocationListOut,
		.patch_count =
			(uint32_t)(args->pPatchLocationListOut - copy->args.pPatchLocationListOut),
	};
}

static bool has_same_shape(const struct output *a, const struct output *b)
{
	return a->status == b->status && a->dma_bytes == b->dma_bytes &&
	       a->patch_count == b->patch_count;
}

static bool is_same(const struct output *a, const struct output *b)
{
	return has_same_shape(a, b) && memcmp(a->dma, b->dma, a->dma_bytes) == 0 &&
	       memcmp(a->patches, b->patches, a->patch_count * sizeof(*a->patches)) == 0;
}

/* ---- commands that change ---- */

/* The bytes that any value of some word may change; false: nothing can be said. */
static bool find_free_bytes(const struct verify_call *call, const struct render_copy *copy,
			    const struct output *plain, unsigned char *is_free)
{
	for (uint32_t at = 0; at + sizeof(uint32_t) <= copy->args.CommandLength;
	     at += sizeof(uint32_t)) {
		struct output other;
		uint32_t word;

		memcpy(&word, copy->command + at, sizeof(word));
		uint32_t changed = word ^ UINT32_C(0x7f7f7f7f);
		memcpy(copy->command + at, &changed, sizeof(changed));
		bool is_rendered = render_again(call, copy, &other);
		memcpy(copy->command + at, &word, sizeof(word));
		if (!is_rendered)
			return false;
		bool is_accepted = other.status == STATUS_SUCCESS;
		bool has_shape = has_same_shape(&other, plain);
		for (uint32_t i = 0; is_accepted && has_shape && i < plain->dma_bytes; i++)
			is_free[i] |= other.dma[i] != plain->dma[i];
		output_free(&other);
		if (is_accepted && !has_shape)
			return false;
	}
	return true;
}

static void check_changed(const struct verify_call *call, const struct render_copy *copy,
			  const struct output *plain)
{
	const struct output made = output_of(call, copy);
	unsigned char *is_free = is_same(&made, plain) ? NULL : calloc(1, plain->dma_bytes + 1);
	uint32_t at = 0;

	if (!is_free)
		return;
	bool is_known = find_free_bytes(call, copy, plain, is_free);
	if (made.dma_bytes == plain->dma_bytes) {
		while (at < made.dma_bytes && (is_free[at] || made.dma[at] == plain->dma[at]))
			at++;
	}
	bool is_bad = made.dma_bytes != plain->dma_bytes || at < made.dma_bytes ||
		      made.patch_count != plain->patch_count;
	free(is_free);
	if (is_known && is_bad)
		nt_report(RULE_DDI_RENDER_TOCTOU,
			  "DxgkDdiRender read a command buffer twice that changed in between: at "
			  "byte "
			  "%u of the DMA buffer it wrote what it refuses when it is shown it at "
			  "first",
			  at);
}

/* ---- addresses ---- */

static bool is_patched(const struct output *output, uint32_t at)
{
	for (uint32_t i = 0; i < output->patch_count; i++) {
		if (at - output->patches[i].PatchOffset < ADDRESS_BYTES)
			return true;
	}
	return false;
}

/* What is nowhere yet is put somewhere: at the beginning of the first segment that has memory. */
static void place_all(const struct verify_call *call, const struct render_copy *copy)
{
	const struct miniport_info *info = &call->adapter->miniport->info;
	uint32_t segment = 0;

	while (segment < info->segment_count && info->segments[segment].is_aperture)
		segment++;
	for (UINT i = 0; segment < info->segment_count && i < copy->args.AllocationListSize; i++) {
		DXGK_ALLOCATIONLIST *entry = &copy->list[i];

		if (!entry->hDeviceSpecificAllocation || entry->SegmentId != 0)
			continue;
		entry->SegmentId = segment + 1;
		entry->PhysicalAddress.QuadPart = (LONGLONG)info->segments[segment].base_address;
	}
}

static void move_all(const struct render_copy *copy)
{
	for (UINT i = 0; i < copy->args.AllocationListSize; i++) {
		if (copy->list[i].SegmentId != 0)
			copy->list[i].PhysicalAddress.QuadPart += PAGE_SIZE;
	}
}

static void compare_addresses(const struct output *here, const struct output *moved)
{
	for (uint32_t i = 0; has_same_shape(moved, here) && i < here->dma_bytes; i++) {
		if (moved->dma[i] == here->dma[i] || is_patched(here, i))
			continue;
		nt_report(RULE_DDI_PATCH_ALL,
			  "DxgkDdiRender wrote an address of an allocation at byte %u of the DMA "
			  "buffer, "
			  "and there is no patch for it in its list",
			  i);
		break;
	}
}

static void check_patched(const struct verify_call *call, const struct render_copy *copy)
{
	struct output here;
	struct output moved;

	place_all(call, copy);
	if (!render_again(call, copy, &here))
		return;
	move_all(copy);
	if (render_again(call, copy, &moved)) {
		compare_addresses(&here, &moved);
		output_free(&moved);
	}
	output_free(&here);
}

void render_check_again(struct verify_call *call, const struct render_copy *copy)
{
	struct output plain;
	struct output again;

	if (!render_again(call, copy, &plain))
		return;
	if (render_again(call, copy, &again)) {
		bool is_repeatable = plain.status == STATUS_SUCCESS && is_same(&plain, &again);

		if (is_repeatable && fault_planned(FAULT_USER_MEMORY_CHANGES))
			check_changed(call, copy, &plain);
		if (is_repeatable && fault_planned(FAULT_REPATCH_ALWAYS))
			check_patched(call, copy);
		output_free(&again);
	}
	output_free(&plain);
}

/* ---- patches ---- */

void render_check_patch_again(struct verify_call *call, const unsigned char *before)
{
	const DXGKARG_PATCH *args = call->arguments;
	DXGKARG_PATCH once = *args;
	uint64_t end = (uint64_t)args->PatchLocationListSubmissionStart +
		       args->PatchLocationListSubmissionLength;

	if (!fault_planned(FAULT_REPATCH_ALWAYS))
		return;
	once.pDmaBuffer = copy_of(before, args->DmaBufferSize);
	once.pDmaBufferPrivateData =
		copy_of(args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
	if (once.pDmaBuffer && once.pDmaBufferPrivateData)
		(void)call->adapter->miniport->driver.DxgkDdiPatch((HANDLE)call->handle, &once);
	else
		end = 0;
	for (uint64_t i = args->PatchLocationListSubmissionStart;
	     i < end && i < args->PatchLocationListSize; i++) {
		uint32_t at = args->pPatchLocationList[i].PatchOffset;

		if ((uint64_t)at + sizeof(uint32_t) > args->DmaBufferSize ||
		    memcmp((char *)once.pDmaBuffer + at, (char *)args->pDmaBuffer + at,
			   sizeof(uint32_t)) == 0)
			continue;
		nt_report(RULE_DDI_PATCH_IDEMPOTENT,
			  "DxgkDdiPatch left something else at byte %u of a DMA buffer that was "
			  "patched "
			  "before than of one that was not",
			  at);
		break;
	}
	free(once.pDmaBuffer);
	free(once.pDmaBufferPrivateData);
}
