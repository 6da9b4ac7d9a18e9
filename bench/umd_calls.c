/* SPDX-License-Identifier: MIT */
/*
 * umd_calls.c - the runtime's callbacks that a driver calls for every frame, or more often.
 *
 * usage: umd_calls driver.so virtual|physical|queues count
 *
 * For callgrind: each callback is called `count` times, and for nothing else. What is needed for them comes from D3DKMT. A GPU
 * has virtual addresses, or contexts with buffers (physical), or hardware queues, as its profile says.
 */
#include <dlfcn.h>
#include <string.h>

#include <opendxgk/umd.h>

#include "fences.h"
#include "umd/probe.h"

enum { PAGE = 4096, SIZE_BYTES = 65536 };

static HANDLE rt;
static const D3DDDI_DEVICECALLBACKS *cb;
static D3DKMT_HANDLE device, allocation, queue, paging_fence, fence;
static UINT64 value;

static void open_driver(const char *path)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	struct dxgk_umd_adapter *opened;
	struct dxgk_umd_device *made;
	void *library = dlopen(path, RTLD_NOW);
	const struct probe *probe = library ? dlsym(library, "probe") : NULL;

	if (!probe)
		fail("the driver has no `probe`");
	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all)) || all.NumAdapters == 0)
		fail("no adapter started");
	if (FAILED(DxgkUmdOpenAdapter(path, infos[0].AdapterLuid, &opened)) ||
	    FAILED(DxgkUmdCreateDevice(opened, 0, &made)))
		fail("the driver was not opened");
	rt = probe->device;
	cb = probe->callbacks;
	device = DxgkUmdKernelDevice(made);
}

static void make_things(void)
{
	D3DKMT_CREATEPAGINGQUEUE paging = { .hDevice = device };

	if (!NT_SUCCESS(D3DKMTCreatePagingQueue(&paging)))
		fail("D3DKMTCreatePagingQueue");
	queue = paging.hPagingQueue;
	paging_fence = paging.hSyncObject;
	fence = create_fence(device);
	allocation = create_allocation(device, SIZE_BYTES);
}

/* Of one that does nothing. */
static UINT64 write_command(void)
{
	D3DDDI_MAKERESIDENT resident = { .hPagingQueue = queue, .NumAllocations = 1 };
	D3DKMT_HANDLE commands = create_allocation(device, SIZE_BYTES);
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = queue,
					    .hAllocation = commands,
					    .SizeInPages = SIZE_BYTES / PAGE };
	D3DKMT_LOCK2 lock = { .hDevice = device, .hAllocation = commands };

	resident.AllocationList = &commands;
	if (!NT_SUCCESS(D3DKMTMakeResident(&resident)) ||
	    !NT_SUCCESS(D3DKMTMapGpuVirtualAddress(&map)) || !NT_SUCCESS(D3DKMTLock2(&lock)))
		fail("memory for a command");
	wait_fence(device, paging_fence, map.PagingFenceValue);
	*(struct softgpu_command *)lock.pData =
		(struct softgpu_command){ SOFTGPU_COMMAND_MAGIC, SOFTGPU_NOP,
					  sizeof(struct softgpu_command) };
	return map.VirtualAddress;
}

static void want(const char *what, HRESULT result)
{
	if (result != S_OK && result != E_PENDING)
		fail(what);
}
#define CALL(name, args) want("pfn" #name "Cb", cb->pfn##name##Cb(rt, args))

/* ---- memory ---- */

static void use_memory(void)
{
	D3DDDI_MAKERESIDENT resident = { .hPagingQueue = queue,
					 .NumAllocations = 1,
					 .AllocationList = &allocation };
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = queue,
					    .hAllocation = allocation,
					    .SizeInPages = SIZE_BYTES / PAGE,
					    .Protection.Write = 1 };
	D3DDDICB_LOCK2 lock = { .hAllocation = allocation };
	D3DDDICB_UNLOCK2 unlock = { allocation };
	D3DDDICB_EVICT evict = { .NumAllocations = 1, .AllocationList = &allocation };

	CALL(MakeResident, &resident);
	CALL(MapGpuVirtualAddress, &map);
	wait_fence(device, paging_fence, map.PagingFenceValue);
	CALL(Lock2, &lock);
	CALL(Unlock2, &unlock);
	D3DDDICB_FREEGPUVIRTUALADDRESS unmap = { map.VirtualAddress, SIZE_BYTES };
	CALL(FreeGpuVirtualAddress, &unmap);
	CALL(Evict, &evict);
}

static void lend_memory(void)
{
	BOOL is_discarded;
	D3DDDICB_OFFERALLOCATIONS offer = { .HandleList = &allocation,
					    .NumAllocations = 1,
					    .Priority = D3DDDI_OFFER_PRIORITY_LOW };
	D3DDDICB_RECLAIMALLOCATIONS2 reclaim = { .PagingQueue = queue,
						 .NumAllocations = 1,
						 .HandleList = &allocation,
						 .pDiscarded = &is_discarded };

	CALL(OfferAllocations, &offer);
	CALL(ReclaimAllocations2, &reclaim);
}

static void exchange_memory(void)
{
	struct creation creation;

	creation_init(&creation, device, SIZE_BYTES);
	D3DDDICB_ALLOCATE allocate = { .NumAllocations = 1, .pAllocationInfo2 = &creation.info };
	CALL(Allocate, &allocate);
	D3DDDICB_DEALLOCATE deallocate = { NULL, 1, &creation.info.hAllocation };
	CALL(Deallocate, &deallocate);
}

/* ---- work ---- */

/* What all kinds of queues are waited for by, and the CPU signals. */
static void wait_here(void)
{
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .FenceValueArray = &value };

	CALL(WaitForSynchronizationObjectFromCpu, &wait);
	value++;
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU signal = { 1, &fence, &value };
	CALL(SignalSynchronizationObjectFromCpu, &signal);
}

static void work_on(HANDLE context, UINT64 commands)
{
	D3DDDICB_SUBMITCOMMAND submit = { .Commands = commands,
					  .CommandLength = sizeof(struct softgpu_command),
					  .BroadcastContextCount = 1,
					  .BroadcastContext = { context } };
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = { .hContext = context,
							      .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .MonitoredFenceValueArray = &value };
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = { .hContext = context,
							       .ObjectCount = 1,
							       .ObjectHandleArray = &fence,
							       .MonitoredFenceValueArray = &value };
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 signal2 = { .ObjectCount = 1,
								 .ObjectHandleArray = &fence,
								 .BroadcastContextCount = 1,
								 .BroadcastContextArray = &context,
								 .MonitoredFenceValueArray =
									 &value };

	CALL(WaitForSynchronizationObjectFromGpu, &wait);
	CALL(SubmitCommand, &submit);
	value++;
	CALL(SignalSynchronizationObjectFromGpu, &signal);
	value++;
	CALL(SignalSynchronizationObjectFromGpu2, &signal2);
	wait_here();
}

static void work_virtual(unsigned count)
{
	D3DDDICB_CREATECONTEXTVIRTUAL context = { 0 };
	UINT64 commands = write_command();

	CALL(CreateContextVirtual, &context);
	for (unsigned i = 0; i < count; i++) {
		use_memory();
		lend_memory();
		exchange_memory();
		work_on(context.hContext, commands);
	}
}

static void work_physical(unsigned count)
{
	D3DDDICB_CREATECONTEXT context = { 0 };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 packets = { .hDevice = device,
							.Info.Type = D3DDDI_FENCE };

	CALL(CreateContext, &context);
	if (!NT_SUCCESS(D3DKMTCreateSynchronizationObject2(&packets)))
		fail("D3DKMTCreateSynchronizationObject2");
	for (unsigned i = 1; i <= count; i++) {
		D3DDDICB_RENDER render = { .CommandLength = 0, .hContext = context.hContext };
		D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2 signal = {
			.hContext = context.hContext,
			.ObjectCount = 1,
			.ObjectHandleArray = { packets.hSyncObject },
			.FenceValue = i
		};
		D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT2 wait = {
			.hContext = context.hContext,
			.ObjectCount = 1,
			.ObjectHandleArray = { packets.hSyncObject },
			.FenceValue = i
		};
		D3DDDICB_LOCK lock = { .hAllocation = allocation };
		D3DDDICB_UNLOCK unlock = { 1, &allocation };

		render.Flags.NullRendering = 1;
		CALL(Render, &render);
		CALL(SignalSynchronizationObject2, &signal);
		CALL(WaitForSynchronizationObject2, &wait);
		CALL(Lock, &lock);
		CALL(Unlock, &unlock);
	}
}

static void work_queues(unsigned count)
{
	D3DDDICB_CREATEHWCONTEXT context = { 0 };
	UINT64 commands = write_command();

	CALL(CreateHwContext, &context);
	D3DDDICB_CREATEHWQUEUE made = { .hHwContext = context.hHwContext };
	CALL(CreateHwQueue, &made);
	for (unsigned i = 1; i <= count; i++) {
		D3DDDICB_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE wait = { made.hHwQueue, 1, &fence,
								    &value };
		D3DDDICB_SUBMITCOMMANDTOHWQUEUE submit = { .hHwQueue = made.hHwQueue,
							   .HwQueueProgressFenceId = i,
							   .Commands = commands,
							   .CommandLength =
								   sizeof(struct softgpu_command) };
		D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE signal = { .BroadcastHwQueueCount = 1,
								     .BroadcastHwQueueArray =
									     &made.hHwQueue,
								     .ObjectCount = 1,
								     .ObjectHandleArray = &fence,
								     .FenceValueArray = &value };

		CALL(SubmitWaitForSyncObjectsToHwQueue, &wait);
		CALL(SubmitCommandToHwQueue, &submit);
		value++;
		CALL(SubmitSignalSyncObjectsToHwQueue, &signal);
		wait_fence(device, fence, value);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*work)(unsigned count);
	} gpus[] = {
		{ "virtual", work_virtual },
		{ "physical", work_physical },
		{ "queues", work_queues },
	};
	unsigned count = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 0) : 0;

	for (size_t i = 0; count > 0 && i < sizeof(gpus) / sizeof(gpus[0]); i++)
		if (strcmp(argv[2], gpus[i].name) == 0) {
			open_driver(argv[1]);
			make_things();
			gpus[i].work(count);
			return 0;
		}
	fprintf(stderr, "usage: umd_calls driver.so virtual|physical|queues count\n");
	return 2;
}
