/* SPDX-License-Identifier: MIT */
/*
 * callbacks_test.c - the runtime's callbacks, each in the way it is meant, on a GPU with page tables.
 */
#include "umd/opened.h"

static unsigned there(const D3DDDI_DEVICECALLBACKS *table)
{
	void *const *pointers = (void *const *)table;
	unsigned count = 0;

	for (unsigned i = 0; i < sizeof(*table) / sizeof(void *); i++)
		count += pointers[i] != NULL;
	return count;
}

TEST(table, a_driver_finds_what_its_level_has)
{
	static const struct {
		UINT version;
		unsigned count;
	} levels[] = {
		{ D3D_UMD_INTERFACE_VERSION_VISTA, 22 },
		{ D3D_UMD_INTERFACE_VERSION_WIN7, 22 },
		{ D3D_UMD_INTERFACE_VERSION_WIN8, 27 },
		{ D3D_UMD_INTERFACE_VERSION_WDDM1_3, 29 },
		{ D3D_UMD_INTERFACE_VERSION_WDDM2_0, 51 },
		{ D3D_UMD_INTERFACE_VERSION_WDDM2_1, 66 },
	};

	for (unsigned i = 0; i < 6; i++) {
		open_probe(levels[i].version);
		EXPECT_EQ(there(cb), levels[i].count);
		/* They fill the table from its beginning. */
		EXPECT(((void *const *)cb)[levels[i].count - 1] != NULL);
		close_probe();
	}
}

TEST(table, the_pairs_are_in_the_order_of_the_table)
{
	EXPECT_STRING(DxgkUmdPair(0)->callback, "Allocate");
	EXPECT_STRING(DxgkUmdPair(0)->call, "D3DKMTCreateAllocation2");
	EXPECT_STRING(DxgkUmdPair(27)->callback, "PresentMultiPlaneOverlay");
	EXPECT_STRING(DxgkUmdPair(27)->call, "");
	EXPECT_STRING(DxgkUmdPair(28)->callback, "LogUMDMarker");
	EXPECT_STRING(DxgkUmdPair(37)->structure, "D3DDDICB_LOCK2");
	EXPECT_STRING(DxgkUmdPair(65)->callback, "CreateNativeFence");
	EXPECT(DxgkUmdPair(66) == NULL);
}

#define PROBE_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, close_probe(), suite, claim)

PROBE_TEST(adapter, tells_what_the_miniport_tells_and_nothing_of_a_screen,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	struct softgpu_adapter_info info = { 0 };
	D3DDDICB_QUERYADAPTERINFO args = { &info, sizeof(info) };
	D3DDDICB_QUERYADAPTERINFO2 args2 = { D3DDDI_QUERYADAPTERTYPE_DRIVERPRIVATE, &info,
					     sizeof(info) };
	D3DDDICB_GETMULTISAMPLEMETHODLIST methods = { 0 };

	EXPECT_S_OK(probe->adapter_callbacks->pfnQueryAdapterInfoCb(probe->adapter, &args));
	EXPECT_EQ(info.address_model, SOFTGPU_MODEL_GPUMMU);
	info.version = 0;
	EXPECT_S_OK(probe->adapter_callbacks->pfnQueryAdapterInfoCb2(probe->adapter, &args2));
	EXPECT_EQ(info.version, SOFTGPU_ADAPTER_INFO_VERSION);
	args2.QueryType = D3DDDI_QUERYADAPTERTYPE_QUERYREGISTRY;
	EXPECT_REPORTED(probe->adapter_callbacks->pfnQueryAdapterInfoCb2(probe->adapter, &args2),
			E_NOTIMPL, "UMD-NOT-BUILT", "QueryType");
	EXPECT_REPORTED(
		probe->adapter_callbacks->pfnGetMultisampleMethodListCb(probe->adapter, &methods),
		E_NOTIMPL, "UMD-DISPLAY", "VidPnSourceId");
	EXPECT_REPORTED(probe->adapter_callbacks->pfnQueryAdapterInfoCb(rt, &args), E_INVALIDARG,
			"UMD-HANDLE", "hAdapter");
}

/* ---- resources ---- */

PROBE_TEST(allocate, allocations_on_their_own_are_deallocated_by_list,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[3];

	unsigned before = live_allocations();
	EXPECT_S_OK(try_allocate(NULL, 3, handles));
	EXPECT_EQ(live_allocations(), before + 3);
	EXPECT_S_OK(deallocate(NULL, 3, handles));
	EXPECT_EQ(reported.count, 0);
}

PROBE_TEST(allocate, the_first_makes_the_resource_and_the_next_are_added_to_it,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[3];

	struct dxgk_umd_resource resource = make_resource();
	EXPECT_EQ(DxgkUmdKernelResource(device, &resource), 0);
	EXPECT_S_OK(try_allocate(resource.runtime, 1, handles));
	D3DKMT_HANDLE kernel = DxgkUmdKernelResource(device, &resource);
	EXPECT(is_local_handle(kernel));
	EXPECT_S_OK(try_allocate(resource.runtime, 2, handles + 1));
	EXPECT_EQ(DxgkUmdKernelResource(device, &resource), kernel);
	EXPECT_S_OK(deallocate(resource.runtime, 0, NULL));
	EXPECT_EQ(DxgkUmdKernelResource(device, &resource), 0);
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &resource));
	EXPECT_EQ(reported.count, 0);
}

PROBE_TEST(allocate, a_driver_of_windows_vista_has_the_short_elements,
	   open_probe(D3D_UMD_INTERFACE_VERSION_VISTA))
{
	struct softgpu_allocation wish[2] = {
		{ SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, SOME_BYTES, 0 },
		{ SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, SOME_BYTES, 0 },
	};
	D3DDDI_ALLOCATIONINFO short_elements[2] = {
		{ .pPrivateDriverData = &wish[0], .PrivateDriverDataSize = sizeof(wish[0]) },
		{ .pPrivateDriverData = &wish[1], .PrivateDriverDataSize = sizeof(wish[1]) },
	};
	D3DDDICB_ALLOCATE args = { .NumAllocations = 2, .pAllocationInfo = short_elements };

	EXPECT_S_OK(cb->pfnAllocateCb(rt, &args));
	D3DKMT_HANDLE handles[2] = { short_elements[0].hAllocation, short_elements[1].hAllocation };
	EXPECT(is_local_handle(handles[0]) && is_local_handle(handles[1]));
	EXPECT_S_OK(deallocate(NULL, 2, handles));
}

PROBE_TEST(deallocate, with_a_resource_the_list_is_ignored,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[2];
	D3DKMT_HANDLE other;

	struct dxgk_umd_resource resource = make_resource();
	EXPECT_S_OK(try_allocate(resource.runtime, 2, handles));
	EXPECT_S_OK(try_allocate(NULL, 1, &other));
	D3DKMT_HANDLE list[2] = { other, 0xdead };
	EXPECT_S_OK(deallocate(resource.runtime, 2, list));
	/* The other one is still there. */
	EXPECT_S_OK(deallocate(NULL, 1, &other));
	/* … and those of the resource are not. */
	EXPECT_HR(deallocate(NULL, 1, &handles[0]), E_INVALIDARG);
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &resource));
}

PROBE_TEST(deallocate, an_empty_resource_is_ended_by_a_second_call,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[2];

	struct dxgk_umd_resource resource = make_resource();
	EXPECT_S_OK(try_allocate(resource.runtime, 2, handles));
	EXPECT_S_OK(deallocate(NULL, 2, handles));
	EXPECT(DxgkUmdKernelResource(device, &resource) != 0);
	EXPECT_S_OK(deallocate(resource.runtime, 0, NULL));
	EXPECT_EQ(DxgkUmdKernelResource(device, &resource), 0);
	EXPECT_EQ(reported.count, 0);
	/* A third one has nothing to end. */
	EXPECT_REPORTED(deallocate(resource.runtime, 0, NULL), E_INVALIDARG, "UMD-HANDLE",
			"hResource");
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &resource));
}

PROBE_TEST(deallocate, one_bad_handle_in_the_list_changes_nothing,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[3];

	EXPECT_S_OK(try_allocate(NULL, 2, handles));
	handles[2] = 0x40ffff00;
	EXPECT_HR(deallocate(NULL, 3, handles), E_INVALIDARG);
	EXPECT_S_OK(deallocate(NULL, 2, handles));
}

PROBE_TEST(deallocate2, flags_go_through, open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handle;

	unsigned before = live_allocations();
	EXPECT_S_OK(try_allocate(NULL, 1, &handle));
	D3DDDICB_DEALLOCATE2 args = { .NumAllocations = 1, .HandleList = &handle };
	args.Flags.Value = 0x80000000; /* nobody in user mode sets this */
	EXPECT_HR(cb->pfnDeallocate2Cb(rt, &args), E_INVALIDARG);
	args.Flags.Value = 0;
	args.Flags.SynchronousDestroy = 1;
	EXPECT_S_OK(cb->pfnDeallocate2Cb(rt, &args));
	/* It is gone when the call is over. */
	EXPECT_EQ(live_allocations(), before);
}

TEST(resource, what_the_driver_forgets_is_reported_and_ended)
{
	D3DKMT_HANDLE handle;

	open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1);
	struct dxgk_umd_resource resource = make_resource();
	EXPECT_S_OK(try_allocate(resource.runtime, 1, &handle));
	EXPECT_REPORTED(DxgkUmdDestroyResource(device, &resource), S_OK, "UMD-LEFT", "hResource");
	EXPECT_HR(deallocate(NULL, 1, &handle), E_INVALIDARG);
	make_resource();
	EXPECT_REPORTED(DxgkUmdDestroyDevice(device), S_OK, "UMD-LEFT", "hDevice");
	EXPECT_S_OK(DxgkUmdCloseAdapter(adapter));
}

/* ---- the others, one after the other ---- */

PROBE_TEST(memory, lists_and_resources_have_priority_residency_and_locks,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[2];
	UINT priorities[2] = { D3DDDI_ALLOCATIONPRIORITY_HIGH, D3DDDI_ALLOCATIONPRIORITY_LOW };
	D3DDDI_RESIDENCYSTATUS status[2] = { 0 };

	struct dxgk_umd_resource resource = make_resource();
	EXPECT_S_OK(try_allocate(resource.runtime, 2, handles));
	D3DDDICB_SETPRIORITY by_list = { NULL, 2, handles, priorities };
	D3DDDICB_SETPRIORITY by_resource = { resource.runtime, 0, NULL, priorities };
	EXPECT_S_OK(cb->pfnSetPriorityCb(rt, &by_list));
	EXPECT_S_OK(cb->pfnSetPriorityCb(rt, &by_resource));
	D3DDDICB_QUERYRESIDENCY query = { NULL, 2, handles, status };
	EXPECT_S_OK(cb->pfnQueryResidencyCb(rt, &query));
	EXPECT_EQ(status[1], D3DDDI_RESIDENCYSTATUS_NOTRESIDENT);
	query = (D3DDDICB_QUERYRESIDENCY){ resource.runtime, 0, NULL, status };
	status[0] = (D3DDDI_RESIDENCYSTATUS)0;
	EXPECT_S_OK(cb->pfnQueryResidencyCb(rt, &query));
	EXPECT_EQ(status[0], D3DDDI_RESIDENCYSTATUS_NOTRESIDENT);

	D3DDDICB_LOCK lock = { .hAllocation = handles[0], .Flags.LockEntire = 1 };
	D3DDDICB_UNLOCK unlock = { 1, handles };
	EXPECT_S_OK(cb->pfnLockCb(rt, &lock));
	EXPECT_EQ(lock.hAllocation, handles[0]);
	memset(lock.pData, 0x5a, SOME_BYTES);
	EXPECT_S_OK(cb->pfnUnlockCb(rt, &unlock));
	D3DDDICB_LOCK2 lock2 = { .hAllocation = handles[0] };
	D3DDDICB_UNLOCK2 unlock2 = { handles[0] };
	EXPECT_S_OK(cb->pfnLock2Cb(rt, &lock2));
	EXPECT_EQ(((unsigned char *)lock2.pData)[SOME_BYTES - 1], 0x5a);
	D3DDDICB_INVALIDATECACHE invalidate = { handles[0], 0, PAGE };
	EXPECT_S_OK(cb->pfnInvalidateCacheCb(rt, &invalidate));
	EXPECT_S_OK(cb->pfnUnlock2Cb(rt, &unlock2));
	EXPECT_HR(cb->pfnUnlock2Cb(rt, &unlock2), E_INVALIDARG);
	EXPECT_S_OK(deallocate(resource.runtime, 0, NULL));
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &resource));
	EXPECT_EQ(reported.count, 0);
}

PROBE_TEST(memory, offers_take_resources_of_the_runtime_or_allocations_of_the_kernel,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[2];
	BOOL discarded[1] = { 7 };
	D3DDDI_RECLAIM_RESULT results[1] = { (D3DDDI_RECLAIM_RESULT)7 };

	struct dxgk_umd_resource resource = make_resource();
	EXPECT_S_OK(try_allocate(resource.runtime, 2, handles));
	D3DDDICB_OFFERALLOCATIONS offer = { .pResources = &resource.runtime,
					    .NumAllocations = 1,
					    .Priority = D3DDDI_OFFER_PRIORITY_LOW };
	D3DDDICB_RECLAIMALLOCATIONS reclaim = { .pResources = &resource.runtime,
						.pDiscarded = discarded,
						.NumAllocations = 1 };
	EXPECT_S_OK(cb->pfnOfferAllocationsCb(rt, &offer));
	EXPECT_S_OK(cb->pfnReclaimAllocationsCb(rt, &reclaim));
	EXPECT_EQ(discarded[0], FALSE);

	D3DDDICB_OFFERALLOCATIONS2 offer2 = { .HandleList = handles,
					      .NumAllocations = 1,
					      .Priority = D3DDDI_OFFER_PRIORITY_NORMAL };
	D3DDDICB_CREATEPAGINGQUEUE queue = { 0 };
	EXPECT_S_OK(cb->pfnCreatePagingQueueCb(rt, &queue));
	D3DDDICB_RECLAIMALLOCATIONS2 reclaim2 = { .PagingQueue = queue.hPagingQueue,
						  .NumAllocations = 1,
						  .HandleList = handles,
						  .pDiscarded = discarded,
						  .PagingFenceValue = 99 };
	D3DDDICB_RECLAIMALLOCATIONS3 reclaim3 = { .PagingQueue = queue.hPagingQueue,
						  .NumAllocations = 1,
						  .pResources = &resource.runtime,
						  .pResults = results };
	EXPECT_S_OK(cb->pfnOfferAllocations2Cb(rt, &offer2));
	discarded[0] = 7;
	EXPECT_S_OK(cb->pfnReclaimAllocations2Cb(rt, &reclaim2));
	EXPECT_EQ(discarded[0], FALSE);
	EXPECT_EQ(reclaim2.PagingFenceValue, 0);
	offer2 = (D3DDDICB_OFFERALLOCATIONS2){ .pResources = &resource.runtime,
					       .NumAllocations = 1,
					       .Priority = D3DDDI_OFFER_PRIORITY_NORMAL,
					       .Flags.AllowDecommit = 1 };
	EXPECT_S_OK(cb->pfnOfferAllocations2Cb(rt, &offer2));
	EXPECT_S_OK(cb->pfnReclaimAllocations3Cb(rt, &reclaim3));
	EXPECT(results[0] == D3DDDI_RECLAIM_RESULT_OK ||
	       results[0] == D3DDDI_RECLAIM_RESULT_NOT_COMMITTED);

	/* One bad resource: nothing is offered, so there is nothing to take back. */
	HANDLE two[2] = { resource.runtime, (HANDLE)(uintptr_t)handles[0] };
	offer = (D3DDDICB_OFFERALLOCATIONS){ .pResources = two,
					     .NumAllocations = 2,
					     .Priority = D3DDDI_OFFER_PRIORITY_LOW };
	EXPECT_REPORTED(cb->pfnOfferAllocationsCb(rt, &offer), E_INVALIDARG, "UMD-HANDLE-WORLD",
			"pResources");
	EXPECT_S_OK(deallocate(resource.runtime, 0, NULL));
	EXPECT_S_OK(DxgkUmdDestroyResource(device, &resource));
}

static HRESULT wait_for(D3DKMT_HANDLE fence, UINT64 value)
{
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = { .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .FenceValueArray = &value };

	return cb->pfnWaitForSynchronizationObjectFromCpuCb(rt, &args);
}

static void settled(HRESULT result, D3DKMT_HANDLE fence, UINT64 value)
{
	if (result != E_PENDING)
		EXPECT_HR(result, S_OK);
	EXPECT_S_OK(wait_for(fence, value));
}

PROBE_TEST(work, what_is_resident_and_mapped_is_filled_by_a_submission,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DKMT_HANDLE handles[2];
	D3DDDICB_CREATEPAGINGQUEUE queue = { 0 };
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };

	EXPECT_S_OK(cb->pfnCreatePagingQueueCb(rt, &queue));
	EXPECT_S_OK(cb->pfnCreateSynchronizationObject2Cb(rt, &fence));
	EXPECT(fence.Info.MonitoredFence.FenceValueCPUVirtualAddress != NULL);
	EXPECT_S_OK(try_allocate(NULL, 2, handles));
	D3DDDI_MAKERESIDENT resident = { .hPagingQueue = queue.hPagingQueue,
					 .NumAllocations = 2,
					 .AllocationList = handles };
	HRESULT result = cb->pfnMakeResidentCb(rt, &resident);
	settled(result, queue.hSyncObject, resident.PagingFenceValue);

	/* Reserved without a name for the adapter: the runtime knows it. */
	D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = { .Size = 2 * SOME_BYTES,
						    .ReservationType =
							    D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO };
	EXPECT_S_OK(cb->pfnReserveGpuVirtualAddressCb(rt, &reserve));
	EXPECT_EQ(reserve.hAdapter, 0);
	UINT64 base = reserve.VirtualAddress;
	for (unsigned i = 0; i < 2; i++) {
		D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = queue.hPagingQueue,
						    .BaseAddress = base + i * SOME_BYTES,
						    .hAllocation = handles[i],
						    .SizeInPages = SOME_BYTES / PAGE,
						    .Protection.Write = 1 };

		result = cb->pfnMapGpuVirtualAddressCb(rt, &map);
		settled(result, queue.hSyncObject, map.PagingFenceValue);
	}
	D3DDDICB_LOCK2 commands = { .hAllocation = handles[0] };
	D3DDDICB_LOCK2 pixels = { .hAllocation = handles[1] };
	EXPECT_S_OK(cb->pfnLock2Cb(rt, &commands));
	EXPECT_S_OK(cb->pfnLock2Cb(rt, &pixels));
	*(struct softgpu_fill *)commands.pData = (struct softgpu_fill){
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL, sizeof(struct softgpu_fill) },
		.destination.virtual_address = base + SOME_BYTES,
		.size_bytes = SOME_BYTES,
		.pattern = 0xfeedc0de,
	};
	HANDLE context = make_context();
	D3DDDICB_SUBMITCOMMAND submit = { .Commands = base,
					  .CommandLength = sizeof(struct softgpu_fill),
					  .BroadcastContextCount = 1,
					  .BroadcastContext = { context } };
	UINT64 value = 5;
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = {
		.hContext = context,
		.ObjectCount = 1,
		.ObjectHandleArray = &fence.hSyncObject,
		.MonitoredFenceValueArray = &value,
	};
	EXPECT_S_OK(cb->pfnSubmitCommandCb(rt, &submit));
	EXPECT_S_OK(cb->pfnSignalSynchronizationObjectFromGpuCb(rt, &signal));
	EXPECT_S_OK(wait_for(fence.hSyncObject, value));
	for (unsigned i = 0; i < SOME_BYTES / 4; i++)
		EXPECT_EQ(((uint32_t *)pixels.pData)[i], 0xfeedc0de);

	/* What nobody keeps is refused, not dropped. */
	submit.NumHistoryBuffers = 1;
	EXPECT_REPORTED(cb->pfnSubmitCommandCb(rt, &submit), E_INVALIDARG, "UMD-NOT-BUILT",
			"NumHistoryBuffers");
	submit.NumHistoryBuffers = 0;
	submit.BroadcastContextCount = 65;
	EXPECT_REPORTED(cb->pfnSubmitCommandCb(rt, &submit), E_INVALIDARG, "UMD-COUNT",
			"BroadcastContextCount");

	/* Addresses change in the order of rendering. */
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION unmap = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = base + SOME_BYTES,
			 .SizeInBytes = SOME_BYTES,
			 .hAllocation = handles[1] },
	};
	D3DDDICB_UPDATEGPUVIRTUALADDRESS update = { .hContext = context,
						    .hFenceObject = fence.hSyncObject,
						    .NumOperations = 1,
						    .Operations = &unmap,
						    .FenceValue = value,
						    .Flags.DoNotWait = 1 };
	EXPECT_S_OK(cb->pfnUpdateGpuVirtualAddressCb(rt, &update));
	EXPECT_S_OK(wait_for(fence.hSyncObject, value + 1));

	D3DDDICB_FREEGPUVIRTUALADDRESS freed = { base, 2 * SOME_BYTES };
	D3DDDICB_EVICT evict = { .NumAllocations = 2, .AllocationList = handles };
	D3DDDI_DESTROYPAGINGQUEUE done = { queue.hPagingQueue };
	D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT fence_done = { fence.hSyncObject };
	EXPECT_S_OK(cb->pfnFreeGpuVirtualAddressCb(rt, &freed));
	EXPECT_S_OK(cb->pfnEvictCb(rt, &evict));
	end_context(context);
	EXPECT_S_OK(cb->pfnDestroySynchronizationObjectCb(rt, &fence_done));
	EXPECT_S_OK(cb->pfnDestroyPagingQueueCb(rt, &done));
	EXPECT_S_OK(deallocate(NULL, 2, handles));
}

PROBE_TEST(work, fences_are_signalled_and_waited_for_from_either_side,
	   open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 packet = { .Info.Type = D3DDDI_FENCE };
	D3DDDICB_CREATESYNCHRONIZATIONOBJECT semaphore = { .Info.Type = D3DDDI_SEMAPHORE };
	UINT64 value = 3;

	HANDLE contexts[2] = { make_context(), make_context() };
	EXPECT_S_OK(cb->pfnCreateSynchronizationObject2Cb(rt, &fence));
	EXPECT_S_OK(cb->pfnCreateSynchronizationObject2Cb(rt, &packet));
	semaphore.Info.Semaphore.MaxCount = 1;
	EXPECT_S_OK(cb->pfnCreateSynchronizationObjectCb(rt, &semaphore));

	/* The context waits for the CPU, and the CPU for both contexts. */
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU gpu_wait = {
		.hContext = contexts[0],
		.ObjectCount = 1,
		.ObjectHandleArray = &fence.hSyncObject,
		.MonitoredFenceValueArray = &value,
	};
	UINT64 later = 4;
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 gpu_signal = {
		.ObjectCount = 1,
		.ObjectHandleArray = &fence.hSyncObject,
		.BroadcastContextCount = 2,
		.BroadcastContextArray = contexts,
		.MonitoredFenceValueArray = &later,
	};
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU cpu_signal = { 1, &fence.hSyncObject, &value };
	EXPECT_S_OK(cb->pfnWaitForSynchronizationObjectFromGpuCb(rt, &gpu_wait));
	EXPECT_S_OK(cb->pfnSignalSynchronizationObjectFromGpu2Cb(rt, &gpu_signal));
	volatile UINT64 *seen = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	EXPECT_EQ(*seen, 0);
	EXPECT_S_OK(cb->pfnSignalSynchronizationObjectFromCpuCb(rt, &cpu_signal));
	EXPECT_S_OK(wait_for(fence.hSyncObject, later));

	/* The older kinds, of which one context signals and the other waits. */
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2 signal2 = {
		.hContext = contexts[0],
		.ObjectCount = 1,
		.ObjectHandleArray = { packet.hSyncObject },
		.FenceValue = 9
	};
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT2 wait2 = {
		.hContext = contexts[1],
		.ObjectCount = 1,
		.ObjectHandleArray = { packet.hSyncObject },
		.FenceValue = 9
	};
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT signal1 = { .hContext = contexts[0],
							 .ObjectCount = 1,
							 .ObjectHandleArray = {
								 semaphore.hSyncObject } };
	D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT wait1 = { .hContext = contexts[1],
							.ObjectCount = 1,
							.ObjectHandleArray = {
								semaphore.hSyncObject } };
	EXPECT_S_OK(cb->pfnWaitForSynchronizationObject2Cb(rt, &wait2));
	EXPECT_S_OK(cb->pfnSignalSynchronizationObject2Cb(rt, &signal2));
	EXPECT_S_OK(cb->pfnWaitForSynchronizationObjectCb(rt, &wait1));
	EXPECT_S_OK(cb->pfnSignalSynchronizationObjectCb(rt, &signal1));
	UINT64 last = 10;
	D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU end = { .hContext = contexts[1],
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence.hSyncObject,
							    .MonitoredFenceValueArray = &last };
	EXPECT_S_OK(cb->pfnSignalSynchronizationObjectFromGpuCb(rt, &end));
	EXPECT_S_OK(wait_for(fence.hSyncObject, last));
	wait1.ObjectCount = 33;
	EXPECT_REPORTED(cb->pfnWaitForSynchronizationObjectCb(rt, &wait1), E_INVALIDARG,
			"UMD-COUNT", "ObjectCount");
	end_context(contexts[0]);
	end_context(contexts[1]);
}

PROBE_TEST(rest, escapes_markers_and_properties, open_probe(D3D_UMD_INTERFACE_VERSION_WDDM2_1))
{
	struct softgpu_escape_echo echo = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_ECHO, sizeof(echo), 0 },
		.value = 42,
	};
	D3DKMT_HANDLE handle;

	HANDLE context = make_context();
	D3DDDICB_ESCAPE escape = { .hDevice = rt,
				   .pPrivateDriverData = &echo,
				   .PrivateDriverDataSize = sizeof(echo),
				   .hContext = context };
	EXPECT_S_OK(cb->pfnEscapeCb(probe->adapter, &escape));
	EXPECT_EQ(echo.inverted, ~UINT64_C(42));
	EXPECT_EQ(echo.had, SOFTGPU_ECHO_HAD_DEVICE | SOFTGPU_ECHO_HAD_CONTEXT);
	/* It is the adapter's handle that it takes. */
	EXPECT_REPORTED(cb->pfnEscapeCb(rt, &escape), E_INVALIDARG, "UMD-HANDLE", "hAdapter");

	D3DDDICB_LOGUMDMARKER marker = { .hContext = context, .Index = -1, .Info = L"here" };
	EXPECT_S_OK(cb->pfnLogUMDMarkerCb(rt, &marker));
	D3DDDICB_LOGUMDMARKER silent = { .APISequenceNumber = UINT64_C(1) << 40,
					 .Index = 3,
					 .StringIndex = 4 };
	EXPECT_S_OK(cb->pfnLogUMDMarkerCb(rt, &silent));
	WCHAR many[300];
	wmemset(many, 0xe9, 299);
	many[299] = 0;
	D3DDDICB_LOGUMDMARKER loud = { .Info = many };
	EXPECT_S_OK(cb->pfnLogUMDMarkerCb(rt, &loud));
	marker.hContext = (HANDLE)(uintptr_t)0x1234;
	EXPECT_REPORTED(cb->pfnLogUMDMarkerCb(rt, &marker), E_INVALIDARG, "UMD-HANDLE-WORLD",
			"hContext");
	EXPECT_S_OK(cb->pfnSetAsyncCallbacksCb(rt, TRUE));
	EXPECT_S_OK(cb->pfnSetAsyncCallbacksCb(rt, FALSE));

	D3DDDICB_CREATEPAGINGQUEUE queue = { 0 };
	EXPECT_S_OK(cb->pfnCreatePagingQueueCb(rt, &queue));
	EXPECT_S_OK(try_allocate(NULL, 1, &handle));
	D3DDDI_UPDATEALLOCPROPERTY property = { .hPagingQueue = queue.hPagingQueue,
						.hAllocation = handle,
						.SupportedSegmentSet = 1,
						.SetSupportedSegmentSet = 1 };
	HRESULT result = cb->pfnUpdateAllocationPropertyCb(rt, &property);
	if (result != E_PENDING)
		EXPECT_HR(result, S_OK);
	EXPECT_S_OK(wait_for(queue.hSyncObject, property.PagingFenceValue));
	EXPECT_S_OK(deallocate(NULL, 1, &handle));
	end_context(context);
}

API_TEST_MAIN("umd/callbacks")
