/* SPDX-License-Identifier: MIT */
/*
 * crooked_render.c - rendering of crooked.h: both halves.
 */
#include "crooked_driver.h"

#include "base/machine.h"

enum { PAGE = 4096 };

/* ---- the driver ---- */

static uint64_t address_of(const DXGK_ALLOCATIONLIST *entry)
{
	return entry->SegmentId ? (uint64_t)entry->PhysicalAddress.QuadPart : 0;
}

/* The client's word, read here and now. */
static uint32_t read_word(const volatile uint32_t *word)
{
	return *word;
}

static NTSTATUS render_one(struct crooked *gpu, DXGKARG_RENDER *args,
			   const struct crooked_command *command, char *start)
{
	uint32_t magic = read_word(&command->magic);
	uint32_t index = read_word(&command->index);
	uint32_t value = read_word(&command->value);
	struct crooked_dma *dma = args->pDmaBuffer;

	if (magic != CROOKED_COMMAND_MAGIC)
		return STATUS_ILLEGAL_INSTRUCTION;
	if (index >= args->AllocationListSize)
		return STATUS_INVALID_PARAMETER;
	if (gpu->bend == BEND_RENDER_CHECKS_FIRST)
		index = read_word(&command->index);
	if (gpu->bend == BEND_RENDER_READS_VALUE_TWICE)
		value = read_word(&command->value);
	*dma = (struct crooked_dma){ .value = value, .index = index };
	if (index < args->AllocationListSize)
		dma->address = address_of(&args->pAllocationList[index]);
	if (gpu->bend != BEND_RENDER_UNPATCHED)
		*args->pPatchLocationListOut++ = (D3DDDI_PATCHLOCATIONLIST){
			.AllocationIndex = gpu->bend == BEND_RENDER_NULL
						   ? args->AllocationListSize - 1
						   : index % args->AllocationListSize,
			.PatchOffset = (UINT)((char *)dma - start),
			.SplitOffset =
				(UINT)((char *)(dma + (gpu->bend == BEND_RENDER_CUT)) - start),
		};
	args->pDmaBuffer = dma + 1;
	return STATUS_SUCCESS;
}

static NTSTATUS render_all(struct crooked *gpu, DXGKARG_RENDER *args)
{
	const struct crooked_command *commands = args->pCommand;
	char *start = args->pDmaBuffer;
	NTSTATUS status = STATUS_SUCCESS;

	if (gpu->bend == BEND_RENDER_BEHIND)
		((volatile char *)start)[2 * PAGE] = 1;
	if (gpu->bend == BEND_RENDER_JUST_BEHIND)
		((volatile char *)start)[args->DmaSize] ^= 1;
	for (UINT i = 0; NT_SUCCESS(status) && i < args->CommandLength / sizeof(*commands); i++)
		status = render_one(gpu, args, &commands[i], start);
	return status;
}

static NTSTATUS APIENTRY render(IN_CONST_HANDLE context, INOUT_PDXGKARG_RENDER args)
{
	struct crooked *gpu = crooked_current;
	volatile NTSTATUS status = STATUS_SUCCESS;

	(void)context;
	__try {
		status = render_all(gpu, args);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		status = gpu->bend == BEND_RENDER_IGNORES_FAULTS ? STATUS_SUCCESS
								 : STATUS_INVALID_USER_BUFFER;
	}
	return status;
}

static void patch_one(struct crooked *gpu, const DXGKARG_PATCH *args,
		      const D3DDDI_PATCHLOCATIONLIST *entry)
{
	struct crooked_dma *dma =
		(struct crooked_dma *)((char *)args->pDmaBuffer + entry->PatchOffset);
	uint64_t address = address_of(&args->pAllocationList[entry->AllocationIndex]);

	if (gpu->bend == BEND_PATCH_ADDS)
		dma->address += address;
	else if (gpu->bend != BEND_PATCH_ONCE || dma->address == 0)
		dma->address = address;
}

static NTSTATUS APIENTRY patch(IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_PATCH args)
{
	struct crooked *gpu = crooked_current;
	volatile char *buffer = args->pDmaBuffer;

	(void)adapter;
	for (UINT i = 0; i < args->PatchLocationListSubmissionLength; i++)
		patch_one(gpu, args,
			  &args->pPatchLocationList[args->PatchLocationListSubmissionStart + i]);
	if (gpu->bend == BEND_PATCH_BEHIND)
		buffer[2 * PAGE] = 1;
	if (gpu->bend == BEND_PATCH_BEFORE_IT)
		buffer[args->DmaBufferSubmissionStartOffset - 1] = 0x5a;
	if (gpu->bend == BEND_PATCH_AFTER_IT)
		buffer[args->DmaBufferSubmissionEndOffset] = 0x5a;
	return STATUS_SUCCESS;
}

void crooked_fill_in_rendering(DRIVER_INITIALIZATION_DATA *ddi)
{
	ddi->DxgkDdiRender = render;
	ddi->DxgkDdiPatch = patch;
}

/* ---- the kernel ---- */

void crooked_rendering_init(struct crooked *gpu, struct crooked_rendering *rendering)
{
	*rendering = (struct crooked_rendering){ 0 };
	EXPECT_EQ(machine_alloc_contiguous(3 * PAGE, 0, 0, UINT64_MAX, 0,
					   &rendering->physical_address),
		  STATUS_SUCCESS);
	rendering->render = (struct miniport_render){
		.driver_context = gpu,
		.buffer = machine_to_pointer(rendering->physical_address),
		.buffer_bytes = CROOKED_DMA_BYTES,
		.private_data = rendering->private_data,
		.private_bytes = sizeof(rendering->private_data),
		.patches_out = rendering->patches,
		.patch_out_capacity = ARRAY_SIZE(rendering->patches),
	};
}

void crooked_rendering_finish(struct crooked_rendering *rendering)
{
	(void)!machine_free_contiguous(rendering->physical_address);
}

NTSTATUS crooked_render(struct crooked *gpu, struct crooked_rendering *rendering,
			const struct crooked_command *commands, uint32_t count,
			struct miniport_list_entry *list, uint32_t list_count)
{
	rendering->render.command = commands;
	rendering->render.command_bytes = count * (uint32_t)sizeof(*commands);
	rendering->render.allocations = list;
	rendering->render.allocation_count = list_count;
	rendering->render.multipass = 0;
	return miniport_render(&gpu->miniport, &gpu->client, &rendering->render);
}

NTSTATUS crooked_patch(struct crooked *gpu, struct crooked_rendering *rendering,
		       const struct miniport_list_entry *list, uint32_t list_count,
		       uint32_t start_bytes, uint32_t end_bytes)
{
	const struct miniport_submission submission = {
		.driver_context = gpu,
		.node = 1,
		.fence = ++gpu->fence,
		.physical_address = rendering->physical_address,
		.memory = rendering->render.buffer,
		.buffer_bytes = CROOKED_DMA_BYTES,
		.start_bytes = start_bytes,
		.end_bytes = end_bytes,
		.private_data = rendering->private_data,
		.private_bytes = sizeof(rendering->private_data),
	};

	return miniport_patch(&gpu->miniport,
			      &(struct miniport_patch){
				      .submission = &submission,
				      .allocations = list,
				      .allocation_count = list_count,
				      .patches = rendering->patches,
				      .patch_count = rendering->render.patch_out_count,
				      .submitted_patches = rendering->render.patch_out_count,
			      });
}
