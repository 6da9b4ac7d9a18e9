/* SPDX-License-Identifier: MIT */
/*
 * work_fuzz.c - calls about queues, and about where memory is; see calls_fuzz.c.
 *
 * A queue may wait for what never comes; it is noted (has_gate), and from then on no call is made
 * that would wait for the queue.
 */
#include "fuzz/fuzz.h"

enum { PAGE_BYTES = 4096 };

static uint64_t take_address(struct input *input)
{
	uint8_t byte = take_byte(input);

	return byte < 224
		       ? world.addresses[byte % SLOTS] + (uint64_t)(byte / SLOTS % 4) * PAGE_BYTES
		       : (uint64_t)take_number(input) << 12;
}

static void keep_address(uint64_t address)
{
	world.addresses[world.addresses_made++ % SLOTS] = address;
}

static D3DKMT_HANDLE *take_syncs(struct input *input, uint32_t *count_out)
{
	*count_out = take_count(input, ELEMENTS);
	for (uint32_t i = 0; i < *count_out && i < ELEMENTS; i++) {
		buffers.list[i] = take_handle(input, SYNC);
		buffers.values[i] = take_byte(input);
	}
	return take_pointer(input, buffers.list);
}

static void note_gate(NTSTATUS status)
{
	world.has_gate |= NT_SUCCESS(status);
}

/* ---- places ---- */

void fuzz_paging_queue(struct input *input)
{
	D3DKMT_CREATEPAGINGQUEUE create = {
		.hDevice = take_handle(input, DEVICE),
		.Priority = (D3DDDI_PAGINGQUEUE_PRIORITY)(take_byte(input) % 4)
	};
	D3DDDI_DESTROYPAGINGQUEUE destroy = { take_handle(input, PAGING_QUEUE) };

	if ((take_byte(input) & 3) == 0)
		D3DKMTDestroyPagingQueue(&destroy);
	else if (NT_SUCCESS(D3DKMTCreatePagingQueue(&create)))
		keep(PAGING_QUEUE, create.hPagingQueue);
}

void fuzz_residency(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DDDI_MAKERESIDENT reside = { .hPagingQueue = take_handle(input, PAGING_QUEUE) };
	D3DKMT_EVICT evict = { .hDevice = take_handle(input, DEVICE) };
	D3DDDI_UPDATEALLOCPROPERTY update = { .hPagingQueue = reside.hPagingQueue };

	reside.AllocationList = take_list(input, &reside.NumAllocations);
	evict.AllocationList = reside.AllocationList;
	evict.NumAllocations = reside.NumAllocations;
	reside.Flags.Value = evict.Flags.Value =
		choice & 0x80 ? take_flags(input) : choice >> 5 & 3;
	switch (choice & 3) {
	case 0:
		D3DKMTEvict(&evict);
		break;
	case 1:
		update.hAllocation = take_handle(input, ALLOCATION);
		update.SupportedSegmentSet = take_byte(input);
		update.PreferredSegment.Value = take_byte(input);
		update.Flags.Value = take_flags(input);
		update.PropertyMaskValue = take_byte(input) & 0x1f;
		D3DKMTUpdateAllocationProperty(&update);
		break;
	default:
		D3DKMTMakeResident(&reside);
		break;
	}
}

void fuzz_offer(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_OFFERALLOCATIONS offer = { .hDevice = take_handle(input, DEVICE),
					  .Priority = (D3DKMT_OFFER_PRIORITY)(choice >> 2 & 7) };
	D3DKMT_RECLAIMALLOCATIONS2 reclaim = { .hPagingQueue = take_handle(input, PAGING_QUEUE) };
	D3DKMT_HANDLE *list = take_list(input, &offer.NumAllocations);

	for (uint32_t i = 0; (choice & 2) && i < ELEMENTS; i++)
		buffers.list[i] = take_handle(input, RESOURCE);
	if (choice & 2)
		offer.pResources = list;
	else
		offer.HandleList = list;
	reclaim.NumAllocations = offer.NumAllocations;
	reclaim.pResources = offer.pResources;
	reclaim.HandleList = offer.HandleList;
	reclaim.pResults = take_pointer(input, buffers.results);
	offer.Flags.Value = choice & 0x80 ? take_flags(input) : choice >> 5 & 3;
	if (choice & 1)
		D3DKMTReclaimAllocations2(&reclaim);
	else
		D3DKMTOfferAllocations(&offer);
}

/* ---- addresses ---- */

static void update_addresses(struct input *input)
{
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = take_handle(input, DEVICE),
						.hContext = take_handle(input, CONTEXT),
						.hFenceObject = take_handle(input, SYNC),
						.NumOperations = take_count(input, ELEMENTS),
						.FenceValue = take_byte(input) };

	args.Flags.Value = take_byte(input) & 3;
	args.Operations = take_pointer(input, buffers.operations);
	for (uint32_t i = 0; i < args.NumOperations && i < ELEMENTS; i++) {
		D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operation = &buffers.operations[i];

		memset(operation, 0, sizeof(*operation));
		operation->OperationType =
			(D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE)(take_byte(input) % 5);
		operation->Map.BaseAddress = take_address(input);
		operation->Map.SizeInBytes = (uint64_t)(take_byte(input) & 31) * PAGE_BYTES;
		if (operation->OperationType == D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY)
			operation->Copy.DestAddress = take_address(input);
		else
			operation->Map.hAllocation = take_handle(input, ALLOCATION);
	}
	D3DKMTUpdateGpuVirtualAddress(&args);
}

void fuzz_address(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = { .hPagingQueue =
							    take_handle(input, PAGING_QUEUE) };
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = reserve.hPagingQueue,
					    .hAllocation = take_handle(input, ALLOCATION) };
	D3DKMT_FREEGPUVIRTUALADDRESS end = { .hAdapter = take_handle(input, ADAPTER) };

	reserve.Size = (uint64_t)take_byte(input) * (choice & 0x80 ? 1000 : 65536);
	map.SizeInPages = take_byte(input) & 31;
	map.OffsetInPages = choice & 0x40 ? take_byte(input) & 31 : 0;
	map.Protection.Value = choice & 0x20 ? take_byte(input) : 1;
	map.BaseAddress = choice & 0x10 ? take_address(input) : 0;
	end.BaseAddress = take_address(input);
	end.Size = (uint64_t)(take_byte(input) & 31) * PAGE_BYTES;
	switch (choice & 7) {
	case 0:
		if (NT_SUCCESS(D3DKMTReserveGpuVirtualAddress(&reserve)))
			keep_address(reserve.VirtualAddress);
		break;
	case 1:
		D3DKMTFreeGpuVirtualAddress(&end);
		break;
	case 2:
		update_addresses(input);
		break;
	default:
		if (NT_SUCCESS(D3DKMTMapGpuVirtualAddress(&map)))
			keep_address(map.VirtualAddress);
		break;
	}
}

/* ---- queues of contexts ---- */

void fuzz_submit(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_SUBMITCOMMAND args = { .Commands = take_address(input),
				      .CommandLength = take_byte(input) * 8u,
				      .BroadcastContextCount = choice & 1 ? take_byte(input) : 1 };

	for (uint32_t i = 0; i < 4; i++)
		args.BroadcastContext[i] = take_handle(input, CONTEXT);
	memcpy(&args.Flags, &(uint32_t){ choice & 2 ? take_flags(input) : 0 }, sizeof(args.Flags));
	args.PrivateDriverDataSize = choice & 4 ? take_count(input, DATA_BYTES) : 0;
	args.pPrivateDriverData = take_pointer(input, buffers.first);
	args.NumPrimaries = choice & 8 ? take_byte(input) : 0;
	args.NumHistoryBuffers = choice & 16 ? take_byte(input) : 0;
	D3DKMTSubmitCommand(&args);
}

void fuzz_queue_sync(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = { .hContext =
								    take_handle(input, CONTEXT) };
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = { .hContext = wait.hContext };
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 together = { 0 };
	D3DKMT_HANDLE contexts[2] = { wait.hContext, take_handle(input, CONTEXT) };

	wait.ObjectHandleArray = take_syncs(input, &wait.ObjectCount);
	wait.MonitoredFenceValueArray = take_pointer(input, buffers.values);
	signal.ObjectCount = together.ObjectCount = wait.ObjectCount;
	signal.ObjectHandleArray = together.ObjectHandleArray = wait.ObjectHandleArray;
	signal.MonitoredFenceValueArray = wait.MonitoredFenceValueArray;
	together.MonitoredFenceValueArray = wait.MonitoredFenceValueArray;
	together.BroadcastContextCount = choice >> 4 & 1 ? 2 : 1;
	together.BroadcastContextArray = take_pointer(input, contexts);
	together.Flags.Value = choice & 0x80 ? take_flags(input) & ~2u : choice >> 5 & 1;
	if ((choice & 3) == 0)
		note_gate(D3DKMTWaitForSynchronizationObjectFromGpu(&wait));
	else if ((choice & 3) == 1)
		D3DKMTSignalSynchronizationObjectFromGpu(&signal);
	else
		D3DKMTSignalSynchronizationObjectFromGpu2(&together);
}

void fuzz_queue_sync_older(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2 wait = { .hContext = take_handle(input, CONTEXT) };
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 signal = { .hContext = wait.hContext };

	wait.ObjectCount = signal.ObjectCount = choice & 0x80 ? take_byte(input) : choice >> 4 & 3;
	for (uint32_t i = 0; i < 4; i++)
		wait.ObjectHandleArray[i] = signal.ObjectHandleArray[i] = take_handle(input, SYNC);
	wait.Fence.FenceValue = signal.Fence.FenceValue = take_byte(input);
	signal.Flags.Value = choice & 0x40 ? take_flags(input) & ~2u : 0;
	signal.BroadcastContextCount = choice & 2 ? take_byte(input) & 3 : 0;
	for (uint32_t i = 0; i < 3; i++)
		signal.BroadcastContext[i] = take_handle(input, CONTEXT);
	if (choice & 1)
		note_gate(D3DKMTWaitForSynchronizationObject2(&wait));
	else
		D3DKMTSignalSynchronizationObject2(&signal);
}

/* On contexts that are made for it, and on others. */
void fuzz_render(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_CREATECONTEXT create = { .hDevice = take_handle(input, DEVICE) };
	D3DKMT_RENDER args = { .hContext = take_handle(input, CONTEXT) };

	if ((choice & 3) == 0) {
		create.NodeOrdinal = choice >> 2 & 3;
		if (NT_SUCCESS(D3DKMTCreateContext(&create)))
			keep(CONTEXT, create.hContext);
		return;
	}
	args.CommandLength = take_byte(input) * 8u;
	args.CommandOffset = choice & 4 ? take_byte(input) : 0;
	args.AllocationCount = choice & 8 ? take_byte(input) : 0;
	args.PatchLocationCount = choice & 16 ? take_byte(input) : 0;
	memcpy(&args.Flags, &(uint32_t){ choice & 32 ? take_flags(input) : 0 }, sizeof(args.Flags));
	args.NewCommandBufferSize = take_byte(input) * 64u;
	args.NewAllocationListSize = take_byte(input);
	args.NewPatchLocationListSize = take_byte(input);
	D3DKMTRender(&args);
}

/* ---- hardware queues ---- */

void fuzz_hw_queue(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_CREATEHWCONTEXT context = { .hDevice = take_handle(input, DEVICE),
					   .NodeOrdinal = choice >> 4 & 3 };
	D3DKMT_DESTROYHWCONTEXT end_context = { take_handle(input, HW_CONTEXT) };
	D3DKMT_CREATEHWQUEUE queue = { .hHwContext = take_handle(input, HW_CONTEXT) };
	D3DKMT_DESTROYHWQUEUE end_queue = { take_handle(input, HW_QUEUE) };

	queue.Flags.Value = context.Flags.Value = choice & 0x80 ? take_flags(input) : 0;
	switch (choice & 7) {
	case 0:
		D3DKMTDestroyHwContext(&end_context);
		break;
	case 1:
		D3DKMTDestroyHwQueue(&end_queue);
		break;
	case 2:
	case 3:
	case 4:
		if (NT_SUCCESS(D3DKMTCreateHwContext(&context)))
			keep(HW_CONTEXT, context.hHwContext);
		break;
	default:
		if (NT_SUCCESS(D3DKMTCreateHwQueue(&queue))) {
			keep(HW_QUEUE, queue.hHwQueue);
			keep(SYNC, queue.hHwQueueProgressFence);
		}
		break;
	}
}

void fuzz_hw_work(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_HANDLE queues[2] = { take_handle(input, HW_QUEUE), take_handle(input, HW_QUEUE) };
	D3DKMT_SUBMITCOMMANDTOHWQUEUE work = { .hHwQueue = queues[0],
					       .HwQueueProgressFenceId = take_byte(input),
					       .CommandBuffer = take_address(input),
					       .CommandLength = take_byte(input) * 8u };
	D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE wait = { .hHwQueue = queues[0] };
	D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE signal = { 0 };

	wait.ObjectHandleArray = take_syncs(input, &wait.ObjectCount);
	wait.FenceValueArray = take_pointer(input, buffers.values);
	signal.ObjectCount = wait.ObjectCount;
	signal.ObjectHandleArray = wait.ObjectHandleArray;
	signal.FenceValueArray = wait.FenceValueArray;
	signal.BroadcastHwQueueCount = choice >> 4 & 1 ? 2 : 1;
	signal.BroadcastHwQueueArray = take_pointer(input, queues);
	signal.Flags.Value = choice & 0x80 ? take_flags(input) & ~2u : 0;
	if ((choice & 3) == 0)
		note_gate(D3DKMTSubmitWaitForSyncObjectsToHwQueue(&wait));
	else if ((choice & 3) == 1)
		D3DKMTSubmitSignalSyncObjectsToHwQueue(&signal);
	else
		D3DKMTSubmitCommandToHwQueue(&work);
}

void fuzz_priority(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_SETCONTEXTSCHEDULINGPRIORITY set = { take_handle(input, CONTEXT),
						    (INT)(choice >> 2) - 16 };
	D3DKMT_GETCONTEXTSCHEDULINGPRIORITY get = { .hContext = set.hContext };
	D3DKMT_SETCONTEXTINPROCESSSCHEDULINGPRIORITY inside = { set.hContext, choice >> 2 & 3 };

	if ((choice & 3) == 0)
		D3DKMTSetContextSchedulingPriority(&set);
	else if ((choice & 3) == 1)
		D3DKMTSetContextInProcessSchedulingPriority(&inside);
	else
		D3DKMTGetContextSchedulingPriority(&get);
}
