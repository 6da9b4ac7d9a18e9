/* SPDX-License-Identifier: MIT */
/* Command buffers of physical contexts: checked against the allocation list, patched, executed. */
#include "host.h"

enum { PAGE = 4096, MAX_PATCHES = 16 };

static const struct host_setting physical[] = { { "AddressModel", "physical", 0 }, { 0 } };

/* Two allocations of two pages each, opened on the client's device. */
static HANDLE context;
static DXGK_ALLOCATIONINFO infos[2];
static DXGK_OPENALLOCATIONINFO openings[2];
static DXGK_ALLOCATIONLIST list[2];
static struct softgpu_allocation blobs[2];

static void setup(void)
{
	DXGKARG_CREATEALLOCATION create = { .NumAllocations = 2, .pAllocationInfo = infos };
	DXGKARG_OPENALLOCATION open = { .NumAllocations = 2,
					.pOpenAllocation = openings,
					.Flags.Create = 1 };

	host_start(physical);
	for (UINT i = 0; i < 2; i++) {
		blobs[i] = (struct softgpu_allocation){ .version = 1, .size_bytes = 2 * PAGE };
		infos[i] = (DXGK_ALLOCATIONINFO){ .pPrivateDriverData = &blobs[i],
						  .PrivateDriverDataSize = sizeof(blobs[i]) };
	}
	EXPECT_EQ(host.ddi.DxgkDdiCreateAllocation(host.adapter, &create), STATUS_SUCCESS);
	for (UINT i = 0; i < 2; i++) {
		host.handles[1 + i] = infos[i].hAllocation;
		openings[i] = (DXGK_OPENALLOCATIONINFO){ .hAllocation = 1 + i };
	}
	EXPECT_EQ(host.ddi.DxgkDdiOpenAllocation(host.device, &open), STATUS_SUCCESS);
	for (UINT i = 0; i < 2; i++)
		list[i] = (DXGK_ALLOCATIONLIST){
			.hDeviceSpecificAllocation = openings[i].hDeviceSpecificAllocation,
			.WriteOperation = 1,
		};
	context = host_create_context(HOST_NODE_3D, FALSE);
}

static void teardown(void)
{
	HANDLE handles[2];
	DXGKARG_CLOSEALLOCATION close = { .NumAllocations = 2, .pOpenHandleList = handles };
	DXGKARG_DESTROYALLOCATION destroy = { .NumAllocations = 2, .pAllocationList = handles };

	host_destroy_context(context);
	for (UINT i = 0; i < 2; i++)
		handles[i] = openings[i].hDeviceSpecificAllocation;
	EXPECT_EQ(host.ddi.DxgkDdiCloseAllocation(host.device, &close), STATUS_SUCCESS);
	for (UINT i = 0; i < 2; i++)
		handles[i] = infos[i].hAllocation;
	EXPECT_EQ(host.ddi.DxgkDdiDestroyAllocation(host.adapter, &destroy), STATUS_SUCCESS);
	host_stop();
}

/* fill allocation 0, copy part of it to allocation 1, write a value at its end */
struct three {
	struct softgpu_fill fill;
	struct softgpu_copy copy;
	struct softgpu_write64 write;
};

static struct three three_commands(void)
{
	struct three three = {
		.fill = { .header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL,
				      sizeof(struct softgpu_fill) },
			  .destination.reference = { 0, 0 },
			  .size_bytes = 2 * PAGE,
			  .pattern = 0xc0ffee00 },
		.copy = { .header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_COPY,
				      sizeof(struct softgpu_copy) },
			  .destination.reference = { 1, 16 },
			  .source.reference = { 0, 32 },
			  .size_bytes = PAGE },
		.write = { .header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_WRITE64,
				       sizeof(struct softgpu_write64) },
			   .destination.reference = { 1, 2 * PAGE - 8 },
			   .value = 0x1234567890abcdefULL },
	};

	return three;
}

static D3DDDI_PATCHLOCATIONLIST patches[MAX_PATCHES];
static PUCHAR dma;

static NTSTATUS render(const void *commands, UINT size_bytes, DXGKARG_RENDER *args)
{
	args->pCommand = commands;
	args->CommandLength = size_bytes;
	args->pDmaBuffer = dma;
	if (args->DmaSize == 0)
		args->DmaSize = PAGE;
	args->pAllocationList = list;
	args->AllocationListSize = 2;
	args->pPatchLocationListOut = patches;
	if (args->PatchLocationListOutSize == 0)
		args->PatchLocationListOutSize = MAX_PATCHES;
	return host.ddi.DxgkDdiRender(context, args);
}

static NTSTATUS patch_all(UINT count, UINT size_bytes)
{
	DXGKARG_PATCH args = {
		.hContext = context,
		.pDmaBuffer = dma,
		.DmaBufferSize = size_bytes,
		.DmaBufferSubmissionEndOffset = size_bytes,
		.pAllocationList = list,
		.AllocationListSize = 2,
		.pPatchLocationList = patches,
		.PatchLocationListSize = count,
		.PatchLocationListSubmissionLength = count,
	};

	return host.ddi.DxgkDdiPatch(host.adapter, &args);
}

static void place(UINT index, ULONGLONG offset)
{
	list[index].SegmentId = SOFTGPU_SEGMENT_LOCAL;
	list[index].PhysicalAddress.QuadPart = (LONGLONG)host_local_address(offset);
}

static void check_contents(ULONGLONG first, ULONGLONG second)
{
	EXPECT_EQ(*(ULONG *)(host.local + first), 0xc0ffee00);
	EXPECT_EQ(*(ULONG *)(host.local + first + 2 * PAGE - 4), 0xc0ffee00);
	EXPECT_EQ(*(ULONG *)(host.local + second), 0);
	EXPECT_EQ(*(ULONG *)(host.local + second + 16), 0xc0ffee00);
	EXPECT_EQ(*(ULONG *)(host.local + second + 16 + PAGE), 0);
	EXPECT_EQ(*(ULONGLONG *)(host.local + second + 2 * PAGE - 8), 0x1234567890abcdefULL);
}

/* The first one: cmocka takes the signals back for each test, and the host asks for them once. */
TEST(render, a_pointer_to_nowhere_is_the_clients_mistake)
{
	DXGKARG_RENDER args = { 0 };

	setup();
	dma = host_contiguous(PAGE);
	EXPECT_EQ(render((const void *)0x10, 64, &args), STATUS_INVALID_USER_BUFFER);
	MmFreeContiguousMemory(dma);
	teardown();
}

TEST(render, commands_run_where_the_kernel_put_the_allocations)
{
	struct three three = three_commands();
	DXGKARG_RENDER args = { 0 };

	setup();
	dma = host_contiguous(PAGE);
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_SUCCESS);
	EXPECT_EQ((PUCHAR)args.pDmaBuffer - dma, sizeof(three));
	EXPECT_EQ(args.pPatchLocationListOut - patches, 4);
	EXPECT_EQ(patches[2].AllocationIndex, 0);
	EXPECT_EQ(patches[2].AllocationOffset, 32);
	EXPECT_EQ(patches[2].PatchOffset, offsetof(struct three, copy.source));
	EXPECT_EQ(patches[2].SplitOffset, offsetof(struct three, copy));

	place(0, 0x10000);
	place(1, 0x20000);
	EXPECT_EQ(patch_all(4, sizeof(three)), STATUS_SUCCESS);
	host_wait_completed(HOST_NODE_3D, host_submit(context, dma, sizeof(three)));
	check_contents(0x10000, 0x20000);

	/* Moved, patched again, run again. */
	place(0, 0x80000);
	place(1, 0x90000);
	EXPECT_EQ(patch_all(4, sizeof(three)), STATUS_SUCCESS);
	host_wait_completed(HOST_NODE_3D, host_submit(context, dma, sizeof(three)));
	check_contents(0x80000, 0x90000);
	MmFreeContiguousMemory(dma);
	teardown();
}

TEST(render, a_known_place_needs_no_patch)
{
	struct three three = three_commands();
	DXGKARG_RENDER args = { 0 };

	setup();
	dma = host_contiguous(PAGE);
	place(0, 0x10000);
	place(1, 0x20000);
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_SUCCESS);
	host_wait_completed(HOST_NODE_3D, host_submit(context, dma, sizeof(three)));
	check_contents(0x10000, 0x20000);
	MmFreeContiguousMemory(dma);
	teardown();
}

TEST(render, an_unpatched_reference_is_a_fault)
{
	struct three three = three_commands();
	DXGKARG_RENDER args = { 0 };
	DXGKARG_RESETENGINE reset = { .NodeOrdinal = HOST_NODE_3D };

	setup();
	dma = host_contiguous(PAGE);
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_SUCCESS);
	host_submit(context, dma, sizeof(three));
	host_wait_faults(1);
	EXPECT_EQ(host.fault.InterruptType, DXGK_INTERRUPT_DMA_FAULTED);
	EXPECT_EQ(host.fault.DmaFaulted.Status, STATUS_ACCESS_VIOLATION);
	EXPECT_EQ(host.ddi.DxgkDdiResetEngine(host.adapter, &reset), STATUS_SUCCESS);
	MmFreeContiguousMemory(dma);
	teardown();
}

TEST(render, a_short_dma_buffer_takes_whole_commands_and_asks_for_more)
{
	struct three three = three_commands();
	DXGKARG_RENDER args = { .DmaSize = 72 }; /* the fill and the copy, not the write */

	setup();
	dma = host_contiguous(PAGE);
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(args.MultipassOffset, 64);
	EXPECT_EQ((PUCHAR)args.pDmaBuffer - dma, 64);
	EXPECT_EQ(args.pPatchLocationListOut - patches, 3);
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_SUCCESS);
	EXPECT_EQ(args.MultipassOffset, sizeof(three));
	EXPECT_EQ(args.pPatchLocationListOut - patches, 1);
	EXPECT_EQ(patches[0].PatchOffset, offsetof(struct softgpu_write64, destination));

	DXGKARG_RENDER few = { .PatchLocationListOutSize = 2 };
	EXPECT_EQ(render(&three, sizeof(three), &few), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(few.MultipassOffset, 32);
	EXPECT_EQ(render(&three, sizeof(three), &few), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(few.MultipassOffset, 64);
	EXPECT_EQ(render(&three, sizeof(three), &few), STATUS_SUCCESS);
	MmFreeContiguousMemory(dma);
	teardown();
}

TEST(render, a_clients_patch_list_has_to_agree_with_its_commands)
{
	struct three three = three_commands();
	D3DDDI_PATCHLOCATIONLIST in[5] = {
		{ .AllocationIndex = 0, .PatchOffset = offsetof(struct three, fill.destination) },
		{ .AllocationIndex = 1,
		  .AllocationOffset = 16,
		  .PatchOffset = offsetof(struct three, copy.destination) },
		{ .AllocationIndex = 0,
		  .AllocationOffset = 32,
		  .PatchOffset = offsetof(struct three, copy.source) },
		{ .AllocationIndex = 1,
		  .AllocationOffset = 2 * PAGE - 8,
		  .PatchOffset = offsetof(struct three, write.destination) },
	};

	setup();
	dma = host_contiguous(PAGE);
	DXGKARG_RENDER good = { .pPatchLocationListIn = in, .PatchLocationListInSize = 4 };
	EXPECT_EQ(render(&three, sizeof(three), &good), STATUS_SUCCESS);
	DXGKARG_RENDER passes = { .pPatchLocationListIn = in,
				  .PatchLocationListInSize = 4,
				  .DmaSize = 72 };
	EXPECT_EQ(render(&three, sizeof(three), &passes), STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	EXPECT_EQ(render(&three, sizeof(three), &passes), STATUS_SUCCESS);

	for (UINT count = 1; count < 6; count++) {
		DXGKARG_RENDER args = { .pPatchLocationListIn = in,
					.PatchLocationListInSize = count };

		if (count != 4)
			EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_INVALID_PARAMETER);
	}
	in[2].AllocationOffset = 33;
	DXGKARG_RENDER bad = { .pPatchLocationListIn = in, .PatchLocationListInSize = 4 };
	EXPECT_EQ(render(&three, sizeof(three), &bad), STATUS_INVALID_PARAMETER);
	MmFreeContiguousMemory(dma);
	teardown();
}

TEST(render, references_stay_inside_their_allocation_and_its_rights)
{
	struct three three;
	DXGKARG_RENDER args;

	setup();
	dma = host_contiguous(PAGE);
	three = three_commands();
	three.fill.size_bytes = 2 * PAGE + 4;
	args = (DXGKARG_RENDER){ 0 };
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_INVALID_PARAMETER);
	three.fill.size_bytes = 0xfffffffffffffffcULL;
	args = (DXGKARG_RENDER){ 0 };
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_INVALID_PARAMETER);
	three = three_commands();
	three.copy.source.reference.allocation_index = 2;
	args = (DXGKARG_RENDER){ 0 };
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_INVALID_PARAMETER);
	three = three_commands();
	three.write.destination.reference.offset_bytes = 4;
	args = (DXGKARG_RENDER){ 0 };
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_INVALID_PARAMETER);
	three = three_commands();
	list[1].WriteOperation = 0;
	args = (DXGKARG_RENDER){ 0 };
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_INVALID_PARAMETER);
	list[1].WriteOperation = 1;
	list[0].hDeviceSpecificAllocation = infos[0].hAllocation; /* the wrong kind of handle */
	args = (DXGKARG_RENDER){ 0 };
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_INVALID_HANDLE);
	MmFreeContiguousMemory(dma);
	teardown();
}

TEST(render, what_is_not_a_command_is_said_to_be_none)
{
	struct three three = three_commands();
	DXGKARG_RENDER args = { 0 };

	setup();
	dma = host_contiguous(PAGE);
	EXPECT_EQ(render(&three, sizeof(three) - 8, &args), STATUS_ILLEGAL_INSTRUCTION);
	three.copy.header.opcode = 77;
	args = (DXGKARG_RENDER){ 0 };
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_ILLEGAL_INSTRUCTION);
	three.copy.header.opcode = 0x101;
	three.copy.header.size_bytes = 48;
	args = (DXGKARG_RENDER){ 0 };
	EXPECT_EQ(render(&three, sizeof(three), &args), STATUS_PRIVILEGED_INSTRUCTION);
	MmFreeContiguousMemory(dma);
	teardown();
}

TEST_MAIN("soft/render")
