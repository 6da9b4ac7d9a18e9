/* SPDX-License-Identifier: MIT */
/*
 * hw_queue_test.c - hardware contexts and queues by the runtime's callbacks: handles of both worlds, work, fences.
 */
#include "umd/opened.h"

static HANDLE create_hw_context(void)
{
	D3DDDICB_CREATEHWCONTEXT args = { 0 };

	EXPECT_S_OK(cb->pfnCreateHwContextCb(rt, &args));
	EXPECT((uintptr_t)args.hHwContext > UINT32_MAX);
	return args.hHwContext;
}

static D3DDDICB_CREATEHWQUEUE create_hw_queue(HANDLE context)
{
	D3DDDICB_CREATEHWQUEUE args = { .hHwContext = context };

	EXPECT_S_OK(cb->pfnCreateHwQueueCb(rt, &args));
	EXPECT((uintptr_t)args.hHwQueue > UINT32_MAX);
	EXPECT(is_local_handle(args.hHwQueueProgressFence));
	EXPECT(args.HwQueueProgressFenceCPUVirtualAddress != NULL);
	return args;
}

static void end_hw_queue(HANDLE queue)
{
	D3DDDICB_DESTROYHWQUEUE args = { queue };

	EXPECT_S_OK(cb->pfnDestroyHwQueueCb(rt, &args));
	EXPECT_REPORTED(cb->pfnDestroyHwQueueCb(rt, &args), E_INVALIDARG, "UMD-HANDLE", "hHwQueue");
	reported.count = 0;
}

static void end_hw_context(HANDLE context)
{
	D3DDDICB_DESTROYHWCONTEXT args = { context };

	EXPECT_S_OK(cb->pfnDestroyHwContextCb(rt, &args));
	EXPECT_REPORTED(cb->pfnDestroyHwContextCb(rt, &args), E_INVALIDARG, "UMD-HANDLE",
			"hHwContext");
	reported.count = 0;
}

static void wait_for(D3DKMT_HANDLE fence, UINT64 value)
{
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = { .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .FenceValueArray = &value };

	EXPECT_S_OK(cb->pfnWaitForSynchronizationObjectFromCpuCb(rt, &args));
}

/* Memory with an address, which both sides see. */
struct memory {
	D3DKMT_HANDLE allocation;
	UINT64 address;
	unsigned char *bytes;
};

static struct memory make_memory(void)
{
	D3DDDICB_CREATEPAGINGQUEUE queue = { 0 };
	struct memory memory;

	EXPECT_S_OK(try_allocate(NULL, 1, &memory.allocation));
	EXPECT_S_OK(cb->pfnCreatePagingQueueCb(rt, &queue));
	D3DDDI_MAKERESIDENT resident = { .hPagingQueue = queue.hPagingQueue,
					 .NumAllocations = 1,
					 .AllocationList = &memory.allocation };
	HRESULT result = cb->pfnMakeResidentCb(rt, &resident);
	EXPECT(result == S_OK || result == E_PENDING);
	wait_for(queue.hSyncObject, resident.PagingFenceValue);
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = queue.hPagingQueue,
					    .hAllocation = memory.allocation,
					    .SizeInPages = SOME_BYTES / PAGE,
					    .Protection.Write = 1 };
	result = cb->pfnMapGpuVirtualAddressCb(rt, &map);
	EXPECT(result == S_OK || result == E_PENDING);
	wait_for(queue.hSyncObject, map.PagingFenceValue);
	memory.address = map.VirtualAddress;
	D3DDDICB_LOCK2 lock = { .hAllocation = memory.allocation };
	EXPECT_S_OK(cb->pfnLock2Cb(rt, &lock));
	memory.bytes = lock.pData;
	return memory;
}

TEST(hw_queue, runs_work_between_a_wait_and_a_signal)
{
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };
	UINT64 begin = 1, end = 2;

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	struct memory memory = make_memory();
	HANDLE context = create_hw_context();
	D3DDDICB_CREATEHWQUEUE queue = create_hw_queue(context);
	EXPECT_S_OK(cb->pfnCreateSynchronizationObject2Cb(rt, &fence));
	*(struct softgpu_write64 *)memory.bytes = (struct softgpu_write64){
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_WRITE64,
			    sizeof(struct softgpu_write64) },
		.destination.virtual_address = memory.address + PAGE,
		.value = 0x1234,
	};
	D3DDDICB_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE wait = { queue.hHwQueue, 1, &fence.hSyncObject,
							    &begin };
	D3DDDICB_SUBMITCOMMANDTOHWQUEUE submit = { .hHwQueue = queue.hHwQueue,
						   .HwQueueProgressFenceId = 1,
						   .Commands = memory.address,
						   .CommandLength =
							   sizeof(struct softgpu_write64) };
	D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE signal = { .BroadcastHwQueueCount = 1,
							     .BroadcastHwQueueArray =
								     &queue.hHwQueue,
							     .ObjectCount = 1,
							     .ObjectHandleArray =
								     &fence.hSyncObject,
							     .FenceValueArray = &end };
	EXPECT_S_OK(cb->pfnSubmitWaitForSyncObjectsToHwQueueCb(rt, &wait));
	EXPECT_S_OK(cb->pfnSubmitCommandToHwQueueCb(rt, &submit));
	EXPECT_S_OK(cb->pfnSubmitSignalSyncObjectsToHwQueueCb(rt, &signal));
	EXPECT_EQ(*(volatile UINT64 *)queue.HwQueueProgressFenceCPUVirtualAddress, 0);
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU go = { 1, &fence.hSyncObject, &begin };
	EXPECT_S_OK(cb->pfnSignalSynchronizationObjectFromCpuCb(rt, &go));
	wait_for(fence.hSyncObject, end);
	EXPECT_EQ(*(UINT64 *)(memory.bytes + PAGE), 0x1234);
	EXPECT_EQ(*(volatile UINT64 *)queue.HwQueueProgressFenceCPUVirtualAddress, 1);
	EXPECT_EQ(reported.count, 0);
	end_hw_queue(queue.hHwQueue);
	end_hw_context(context);
	EXPECT_S_OK(deallocate(NULL, 1, &memory.allocation));
	close_probe();
}

TEST(hw_queue, handles_of_other_kinds_are_told_apart)
{
	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	HANDLE context = create_hw_context();
	D3DDDICB_CREATEHWQUEUE queue = create_hw_queue(context);
	D3DDDICB_CREATEHWQUEUE wrong = { .hHwContext = queue.hHwQueue, .hHwQueue = &wrong };
	EXPECT_REPORTED(cb->pfnCreateHwQueueCb(rt, &wrong), E_INVALIDARG, "UMD-HANDLE",
			"hHwContext");
	EXPECT(wrong.hHwQueue == &wrong);
	D3DDDICB_SUBMITCOMMANDTOHWQUEUE submit = { .hHwQueue = context };
	EXPECT_REPORTED(cb->pfnSubmitCommandToHwQueueCb(rt, &submit), E_INVALIDARG, "UMD-HANDLE",
			"hHwQueue");
	submit.hHwQueue = (HANDLE)(uintptr_t)queue.hHwQueueProgressFence;
	EXPECT_REPORTED(cb->pfnSubmitCommandToHwQueueCb(rt, &submit), E_INVALIDARG,
			"UMD-HANDLE-WORLD", "hHwQueue");
	submit = (D3DDDICB_SUBMITCOMMANDTOHWQUEUE){ .hHwQueue = queue.hHwQueue, .Flags.Value = 1 };
	EXPECT_REPORTED(cb->pfnSubmitCommandToHwQueueCb(rt, &submit), E_INVALIDARG, "UMD-NOT-BUILT",
			"Flags.Value");
	HANDLE two[2] = { queue.hHwQueue, context };
	D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE signal = { .BroadcastHwQueueCount = 2,
							     .BroadcastHwQueueArray = two };
	EXPECT_REPORTED(cb->pfnSubmitSignalSyncObjectsToHwQueueCb(rt, &signal), E_INVALIDARG,
			"UMD-HANDLE", "BroadcastHwQueueArray");
	D3DDDICB_DESTROYCONTEXT end = { context };
	EXPECT_REPORTED(cb->pfnDestroyContextCb(rt, &end), E_INVALIDARG, "UMD-HANDLE", "hContext");
	end_hw_queue(queue.hHwQueue);
	end_hw_context(context);
	close_probe();
}

TEST(hw_queue, that_is_made_to_fail_leaves_nothing)
{
	D3DDDICB_CREATEHWCONTEXT context_args = { 0 };

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	EXPECT(DxgkUmdFailNth("CreateHwContext", 1, E_OUTOFMEMORY));
	EXPECT_HR(cb->pfnCreateHwContextCb(rt, &context_args), E_OUTOFMEMORY);
	EXPECT(DxgkUmdFailStop());
	HANDLE context = create_hw_context();
	D3DDDICB_CREATEHWQUEUE queue_args = { .hHwContext = context };
	EXPECT(DxgkUmdFailNth("CreateHwQueue", 1, E_OUTOFMEMORY));
	EXPECT_HR(cb->pfnCreateHwQueueCb(rt, &queue_args), E_OUTOFMEMORY);
	EXPECT(DxgkUmdFailStop());
	end_hw_context(context);
	close_probe();
	EXPECT_EQ(reported.count, 0);
}

API_TEST_MAIN("umd/hw_queue")
