/* SPDX-License-Identifier: MIT */
/*
 * render_test.c - a driver from before GPU addresses: its context comes with buffers, and each pfnRenderCb with the next ones.
 */
#include "umd/opened.h"

/* The buffers a driver writes into: those of its context, then those of its last pfnRenderCb. */
struct buffers {
	HANDLE context;
	VOID *commands;
	D3DDDI_ALLOCATIONLIST *allocations;
	UINT command_bytes, allocation_count;
};

static struct buffers open_context(void)
{
	D3DDDICB_CREATECONTEXT args = { 0 };

	EXPECT_S_OK(cb->pfnCreateContextCb(rt, &args));
	EXPECT(args.pCommandBuffer && args.pAllocationList && args.pPatchLocationList);
	EXPECT(args.CommandBufferSize >= sizeof(struct softgpu_fill));
	EXPECT(args.AllocationListSize > 0 && args.PatchLocationListSize > 0);
	/* The runtime's handle, not the kernel's. */
	EXPECT((uintptr_t)args.hContext > UINT32_MAX);
	return (struct buffers){ args.hContext, args.pCommandBuffer, args.pAllocationList,
				 args.CommandBufferSize, args.AllocationListSize };
}

/* The whole of an allocation, by one command. */
static HRESULT fill(struct buffers *buffers, D3DKMT_HANDLE allocation, UINT pattern_word)
{
	*(struct softgpu_fill *)buffers->commands = (struct softgpu_fill){
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL, sizeof(struct softgpu_fill) },
		.destination.reference = { 0, 0 },
		.size_bytes = SOME_BYTES,
		.pattern = pattern_word,
	};
	buffers->allocations[0] = (D3DDDI_ALLOCATIONLIST){ .hAllocation = allocation };
	buffers->allocations[0].WriteOperation = 1;
	D3DDDICB_RENDER args = { .CommandLength = sizeof(struct softgpu_fill),
				 .NumAllocations = 1,
				 .hContext = buffers->context };
	HRESULT result = cb->pfnRenderCb(rt, &args);

	if (SUCCEEDED(result)) {
		EXPECT(args.pNewCommandBuffer && args.pNewAllocationList);
		buffers->commands = args.pNewCommandBuffer;
		buffers->allocations = args.pNewAllocationList;
	}
	return result;
}

/* When everything before it has run. */
static void await_context(HANDLE context)
{
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };
	UINT64 value = 1;

	EXPECT_S_OK(cb->pfnCreateSynchronizationObject2Cb(rt, &fence));
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = {
		.hContext = context,
		.ObjectCount = 1,
		.ObjectHandleArray = &fence.hSyncObject,
		.MonitoredFenceValueArray = &value,
	};
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {
		.ObjectCount = 1, .ObjectHandleArray = &fence.hSyncObject, .FenceValueArray = &value
	};
	EXPECT_S_OK(cb->pfnSignalSynchronizationObjectFromGpuCb(rt, &signal));
	EXPECT_S_OK(cb->pfnWaitForSynchronizationObjectFromCpuCb(rt, &wait));
	D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT done = { fence.hSyncObject };
	EXPECT_S_OK(cb->pfnDestroySynchronizationObjectCb(rt, &done));
}

static UINT word_at(D3DKMT_HANDLE allocation, UINT offset)
{
	D3DDDICB_LOCK2 lock = { .hAllocation = allocation };
	D3DDDICB_UNLOCK2 unlock = { allocation };

	EXPECT_S_OK(cb->pfnLock2Cb(rt, &lock));
	UINT word = ((UINT *)lock.pData)[offset / 4];
	EXPECT_S_OK(cb->pfnUnlock2Cb(rt, &unlock));
	return word;
}

/* An allocation that a list may name. */
static D3DKMT_HANDLE bring_in(void)
{
	D3DDDICB_CREATEPAGINGQUEUE queue = { 0 };
	D3DKMT_HANDLE allocation;

	EXPECT_S_OK(try_allocate(NULL, 1, &allocation));
	EXPECT_S_OK(cb->pfnCreatePagingQueueCb(rt, &queue));
	D3DDDI_MAKERESIDENT resident = { .hPagingQueue = queue.hPagingQueue,
					 .NumAllocations = 1,
					 .AllocationList = &allocation };
	HRESULT result = cb->pfnMakeResidentCb(rt, &resident);
	EXPECT(result == S_OK || result == E_PENDING);
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {
		.ObjectCount = 1,
		.ObjectHandleArray = &queue.hSyncObject,
		.FenceValueArray = &resident.PagingFenceValue,
	};
	EXPECT_S_OK(cb->pfnWaitForSynchronizationObjectFromCpuCb(rt, &wait));
	return allocation;
}

#define PROBE_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, close_probe(), suite, claim)

PROBE_TEST(render, each_call_runs_its_commands_and_brings_the_next_buffers,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE allocation = bring_in();
	struct buffers buffers = open_context();
	for (UINT i = 1; i <= 5; i++) {
		EXPECT_S_OK(fill(&buffers, allocation, 0x1000 + i));
		await_context(buffers.context);
		EXPECT_EQ(word_at(allocation, 0), 0x1000 + i);
		EXPECT_EQ(word_at(allocation, SOME_BYTES - 4), 0x1000 + i);
	}
	EXPECT_EQ(reported.count, 0);
	end_context(buffers.context);
	EXPECT_S_OK(deallocate(NULL, 1, &allocation));
}

PROBE_TEST(render, is_refused_with_what_is_not_a_context_of_the_device,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DDDICB_RENDER args = { .CommandLength = 64 };

	struct buffers buffers = open_context();
	EXPECT_REPORTED(cb->pfnRenderCb(rt, &args), E_INVALIDARG, "UMD-HANDLE", "hContext");
	args.hContext = (HANDLE)(uintptr_t)(UINT)(uintptr_t)buffers.context;
	EXPECT_REPORTED(cb->pfnRenderCb(rt, &args), E_INVALIDARG, "UMD-HANDLE-WORLD", "hContext");
	struct dxgk_umd_resource resource = make_resource();
	args.hContext = resource.runtime;
	EXPECT_REPORTED(cb->pfnRenderCb(rt, &args), E_INVALIDARG, "UMD-HANDLE", "hContext");
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &resource));
	end_context(buffers.context);
	args.hContext = buffers.context;
	EXPECT_REPORTED(cb->pfnRenderCb(rt, &args), E_INVALIDARG, "UMD-HANDLE", "hContext");
}

PROBE_TEST(render, a_refusal_leaves_the_buffers_as_they_are,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE allocation = bring_in();
	struct buffers buffers = open_context();
	VOID *commands = buffers.commands;
	D3DDDICB_RENDER args = { .CommandLength = buffers.command_bytes + 1,
				 .hContext = buffers.context,
				 .pNewCommandBuffer = &args };
	EXPECT(FAILED(cb->pfnRenderCb(rt, &args)));
	EXPECT(args.pNewCommandBuffer == &args);
	EXPECT(FAILED(fill(&buffers, 0x40ffff00, 7)));
	/* The same buffers take the next attempt. */
	EXPECT(buffers.commands == commands);
	EXPECT_S_OK(fill(&buffers, allocation, 0x77));
	await_context(buffers.context);
	EXPECT_EQ(word_at(allocation, 0), 0x77);
	end_context(buffers.context);
	EXPECT_S_OK(deallocate(NULL, 1, &allocation));
}

TEST(context, that_is_made_to_fail_leaves_nothing)
{
	D3DDDICB_CREATECONTEXT args = { .hContext = &args };

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	EXPECT(DxgkUmdFailNth("CreateContext", 1, E_OUTOFMEMORY));
	EXPECT_HR(cb->pfnCreateContextCb(rt, &args), E_OUTOFMEMORY);
	EXPECT(DxgkUmdFailStop());
	EXPECT(args.hContext == &args);
	args = (D3DDDICB_CREATECONTEXT){ .NodeOrdinal = 99, .hContext = &args };
	EXPECT_HR(cb->pfnCreateContextCb(rt, &args), E_INVALIDARG);
	EXPECT(args.hContext == &args);
	close_probe();
	EXPECT_EQ(reported.count, 0);
}

API_TEST_MAIN("umd/render")
