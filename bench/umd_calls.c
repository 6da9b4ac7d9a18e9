/* SPDX-License-Identifier: MIT */
/*
 * umd_calls.c - each of the runtime's callbacks that becomes a D3DKMT call, in its usual way.
 *
 * usage: umd_calls driver.so virtual|physical|queues count
 *
 * For callgrind: `count` rounds of all the callbacks that belong to one kind of GPU, which has virtual addresses, or contexts
 * with buffers (physical), or hardware queues, as its profile says. What is needed beside them comes from D3DKMT.
 */
#include <dlfcn.h>
#include <string.h>

#include <opendxgk/umd.h>

#include "fences.h"
#include "umd/probe.h"

enum { PAGE = 4096, SIZE_BYTES = 65536 };

static HANDLE rt, rt_adapter;
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
	rt_adapter = probe->adapter;
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

static void wait_here(D3DKMT_HANDLE object, UINT64 wanted)
{
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .ObjectCount = 1,
							      .ObjectHandleArray = &object,
							      .FenceValueArray = &wanted };

	CALL(WaitForSynchronizationObjectFromCpu, &wait);
}

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
	D3DDDICB_INVALIDATECACHE invalidate = { allocation, 0, PAGE };
	D3DDDICB_UNLOCK2 unlock = { allocation };
	D3DDDICB_EVICT evict = { .NumAllocations = 1, .AllocationList = &allocation };

	CALL(MakeResident, &resident);
	CALL(MapGpuVirtualAddress, &map);
	wait_here(paging_fence, map.PagingFenceValue);
	CALL(Lock2, &lock);
	CALL(InvalidateCache, &invalidate);
	CALL(Unlock2, &unlock);
	D3DDDICB_FREEGPUVIRTUALADDRESS unmap = { map.VirtualAddress, SIZE_BYTES };
	CALL(FreeGpuVirtualAddress, &unmap);
	CALL(Evict, &evict);
}

static void describe_memory(void)
{
	UINT priority = D3DDDI_ALLOCATIONPRIORITY_HIGH;
	D3DDDI_RESIDENCYSTATUS status;
	D3DDDICB_SETPRIORITY order = { NULL, 1, &allocation, &priority };
	D3DDDICB_QUERYRESIDENCY query = { NULL, 1, &allocation, &status };
	D3DDDI_UPDATEALLOCPROPERTY property = { .hPagingQueue = queue,
						.hAllocation = allocation,
						.SupportedSegmentSet = 1,
						.SetSupportedSegmentSet = 1 };

	CALL(SetPriority, &order);
	CALL(QueryResidency, &query);
	CALL(UpdateAllocationProperty, &property);
	wait_here(paging_fence, property.PagingFenceValue);
}

static void lend_memory(void)
{
	BOOL is_discarded;
	D3DDDI_RECLAIM_RESULT result;
	D3DDDICB_OFFERALLOCATIONS offer = { .HandleList = &allocation,
					    .NumAllocations = 1,
					    .Priority = D3DDDI_OFFER_PRIORITY_LOW };
	D3DDDICB_OFFERALLOCATIONS2 offer2 = { .HandleList = &allocation,
					      .NumAllocations = 1,
					      .Priority = D3DDDI_OFFER_PRIORITY_LOW };
	D3DDDICB_RECLAIMALLOCATIONS reclaim = { .HandleList = &allocation,
						.pDiscarded = &is_discarded,
						.NumAllocations = 1 };
	D3DDDICB_RECLAIMALLOCATIONS2 reclaim2 = { .PagingQueue = queue,
						  .NumAllocations = 1,
						  .HandleList = &allocation,
						  .pDiscarded = &is_discarded };
	D3DDDICB_RECLAIMALLOCATIONS3 reclaim3 = { .PagingQueue = queue,
						  .NumAllocations = 1,
						  .HandleList = &allocation,
						  .pResults = &result };

	CALL(OfferAllocations, &offer);
	CALL(ReclaimAllocations2, &reclaim2);
	CALL(OfferAllocations2, &offer2);
	CALL(ReclaimAllocations3, &reclaim3);
	CALL(OfferAllocations, &offer);
	CALL(ReclaimAllocations, &reclaim);
}

static void exchange_memory(void)
{
	struct creation creation;

	creation_init(&creation, device, SIZE_BYTES);
	D3DDDICB_ALLOCATE allocate = { .NumAllocations = 1, .pAllocationInfo2 = &creation.info };
	CALL(Allocate, &allocate);
	D3DDDICB_DEALLOCATE deallocate = { NULL, 1, &creation.info.hAllocation };
	CALL(Deallocate, &deallocate);
	CALL(Allocate, &allocate);
	D3DDDICB_DEALLOCATE2 deallocate2 = { NULL, 1, &creation.info.hAllocation, { { { 0 } } } };
	CALL(Deallocate2, &deallocate2);
}

/* ---- what comes and goes ---- */

static void exchange_objects(void)
{
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT first = { .Info.Type = D3DDDI_SYNCHRONIZATION_MUTEX };
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 second = { .Info.Type = D3DDDI_MONITORED_FENCE };
	D3DDDICB_CREATEPAGINGQUEUE paging = { 0 };

	CALL(CreateSynchronizationObject, &first);
	D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT end = { first.hSyncObject };
	CALL(DestroySynchronizationObject, &end);
	CALL(CreateSynchronizationObject2, &second);
	end.hSyncObject = second.hSyncObject;
	CALL(DestroySynchronizationObject, &end);
	CALL(CreatePagingQueue, &paging);
	D3DDDI_DESTROYPAGINGQUEUE end_paging = { paging.hPagingQueue };
	CALL(DestroyPagingQueue, &end_paging);
}

static void end_context(HANDLE context)
{
	D3DDDICB_DESTROYCONTEXT end = { context };

	CALL(DestroyContext, &end);
}

static void ask_driver(HANDLE context)
{
	struct softgpu_escape_echo echo = { .header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_ECHO,
							sizeof(echo), 0 } };
	D3DDDICB_ESCAPE escape = { .hDevice = rt,
				   .pPrivateDriverData = &echo,
				   .PrivateDriverDataSize = sizeof(echo),
				   .hContext = context };

	want("pfnEscapeCb", cb->pfnEscapeCb(rt_adapter, &escape));
}

/* ---- work ---- */

static void signal_here(void)
{
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
	wait_here(fence, value);
	signal_here();
}

/* Addresses that change in the order of rendering. */
static void move_addresses(HANDLE context)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = { .Size = SIZE_BYTES,
						    .ReservationType =
							    D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO };

	CALL(ReserveGpuVirtualAddress, &reserve);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = reserve.VirtualAddress,
			 .SizeInBytes = SIZE_BYTES,
			 .hAllocation = allocation },
	};
	D3DDDICB_UPDATEGPUVIRTUALADDRESS update = { .hContext = context,
						    .hFenceObject = fence,
						    .NumOperations = 1,
						    .Operations = &map,
						    .FenceValue = value++,
						    .Flags.DoNotWait = 1 };
	CALL(UpdateGpuVirtualAddress, &update);
	wait_here(fence, value);
	D3DDDICB_FREEGPUVIRTUALADDRESS unmap = { reserve.VirtualAddress, SIZE_BYTES };
	CALL(FreeGpuVirtualAddress, &unmap);
}

static void work_virtual(unsigned count)
{
	UINT64 commands = write_command();

	for (unsigned i = 0; i < count; i++) {
		D3DDDICB_CREATECONTEXTVIRTUAL context = { 0 };

		CALL(CreateContextVirtual, &context);
		use_memory();
		describe_memory();
		lend_memory();
		exchange_memory();
		exchange_objects();
		ask_driver(context.hContext);
		work_on(context.hContext, commands);
		move_addresses(context.hContext);
		end_context(context.hContext);
	}
}

/* The older kinds: both have to be signaled before they are waited for here, or nobody would go on. */
static void wait_in_order(HANDLE context, D3DKMT_HANDLE packets, D3DKMT_HANDLE semaphore,
			  UINT64 wanted)
{
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT signal = { .hContext = context,
							.ObjectCount = 1,
							.ObjectHandleArray = { semaphore } };
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT wait = { .hContext = context,
						       .ObjectCount = 1,
						       .ObjectHandleArray = { semaphore } };
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2 signal2 = { .hContext = context,
							  .ObjectCount = 1,
							  .ObjectHandleArray = { packets },
							  .FenceValue = wanted };
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT2 wait2 = { .hContext = context,
							 .ObjectCount = 1,
							 .ObjectHandleArray = { packets },
							 .FenceValue = wanted };

	CALL(SignalSynchronizationObject, &signal);
	CALL(WaitForSynchronizationObject, &wait);
	CALL(SignalSynchronizationObject2, &signal2);
	CALL(WaitForSynchronizationObject2, &wait2);
}

static void work_physical(unsigned count)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 packets = { .hDevice = device,
							.Info.Type = D3DDDI_FENCE };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT semaphore = { .hDevice = device,
							 .Info.Type = D3DDDI_SEMAPHORE };

	semaphore.Info.Semaphore.MaxCount = 1;
	if (!NT_SUCCESS(D3DKMTCreateSynchronizationObject2(&packets)) ||
	    !NT_SUCCESS(D3DKMTCreateSynchronizationObject(&semaphore)))
		fail("objects to wait for");
	for (unsigned i = 1; i <= count; i++) {
		D3DDDICB_CREATECONTEXT context = { 0 };

		CALL(CreateContext, &context);
		D3DDDICB_RENDER render = { .hContext = context.hContext };
		D3DDDICB_LOCK lock = { .hAllocation = allocation };
		D3DDDICB_UNLOCK unlock = { 1, &allocation };

		render.Flags.NullRendering = 1;
		CALL(Render, &render);
		wait_in_order(context.hContext, packets.hSyncObject, semaphore.hSyncObject, i);
		CALL(Lock, &lock);
		CALL(Unlock, &unlock);
		end_context(context.hContext);
	}
}

static void submit_to_queue(HANDLE hw_queue, UINT64 commands)
{
	D3DDDICB_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE wait = { hw_queue, 1, &fence, &value };
	D3DDDICB_SUBMITCOMMANDTOHWQUEUE submit = { .hHwQueue = hw_queue,
						   .HwQueueProgressFenceId = 1,
						   .Commands = commands,
						   .CommandLength =
							   sizeof(struct softgpu_command) };
	D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE signal = { .BroadcastHwQueueCount = 1,
							     .BroadcastHwQueueArray = &hw_queue,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &fence,
							     .FenceValueArray = &value };

	CALL(SubmitWaitForSyncObjectsToHwQueue, &wait);
	CALL(SubmitCommandToHwQueue, &submit);
	value++;
	CALL(SubmitSignalSyncObjectsToHwQueue, &signal);
	wait_here(fence, value);
}

static void work_queues(unsigned count)
{
	UINT64 commands = write_command();

	for (unsigned i = 0; i < count; i++) {
		D3DDDICB_CREATEHWCONTEXT context = { 0 };

		CALL(CreateHwContext, &context);
		D3DDDICB_CREATEHWQUEUE made = { .hHwContext = context.hHwContext };
		CALL(CreateHwQueue, &made);
		submit_to_queue(made.hHwQueue, commands);
		D3DDDICB_DESTROYHWQUEUE end = { made.hHwQueue };
		D3DDDICB_DESTROYHWCONTEXT end_context = { context.hHwContext };
		CALL(DestroyHwQueue, &end);
		CALL(DestroyHwContext, &end_context);
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
