/* SPDX-License-Identifier: MIT */
/*
 * callbacks_own.c - callbacks of which more than fields change: resources, lists of the runtime's handles, and what an adapter
 * is asked for.
 */
#include <dxg/ntstatus.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "umd/runtime.h"

/* ---- resources ---- */

SPECIALIZED NTSTATUS create(struct dxgk_umd_device *device, D3DDDICB_ALLOCATE *args,
			    D3DKMT_HANDLE *resource, D3DKMT_CREATEALLOCATIONFLAGS flags)
{
	D3DKMT_CREATEALLOCATION kernel;

	umd_clear(&kernel, 0, sizeof(kernel));
	kernel.hDevice = device->kernel;
	kernel.hResource = *resource;
	kernel.pPrivateDriverData = args->pPrivateDriverData;
	kernel.PrivateDriverDataSize = args->PrivateDriverDataSize;
	kernel.NumAllocations = args->NumAllocations;
	kernel.Flags = flags;
	kernel.hPrivateRuntimeResourceHandle = args->hResource;
	bool has_elements = args->NumAllocations > 0 && args->pAllocationInfo;
	NTSTATUS status;

	/* The elements of a driver from before Windows 7 are the short ones. */
	if (device->adapter->version < D3D_UMD_INTERFACE_VERSION_WIN7) {
		kernel.pAllocationInfo = args->pAllocationInfo;
		kernel.Flags.ExistingSysMem = has_elements && args->pAllocationInfo->pSystemMem;
		status = D3DKMTCreateAllocation(&kernel);
	} else {
		kernel.pAllocationInfo2 = args->pAllocationInfo2;
		kernel.Flags.ExistingSysMem = has_elements && args->pAllocationInfo2->pSystemMem;
		status = D3DKMTCreateAllocation2(&kernel);
	}
	if (NT_SUCCESS(status))
		*resource = kernel.hResource;
	return status;
}

/*
 * The first allocations of a resource make the kernel's; nobody else can use it until then. Two threads at once would make
 * two: the second is refused rather than kept waiting inside the runtime.
 */
static RARE HRESULT allocate_first(struct dxgk_umd_device *device, D3DDDICB_ALLOCATE *args,
				   struct umd_slot *slot)
{
	bool is_shared = atomic_load(&slot->next) != 0;
	D3DKMT_CREATEALLOCATIONFLAGS flags = { .CreateResource = 1,
					       .CreateShared = is_shared,
					       .NtSecuritySharing = is_shared };
	D3DKMT_HANDLE kernel = 0;
	NTSTATUS status = create(device, args, &kernel, flags);

	if (NT_SUCCESS(status))
		args->hKMResource = kernel;
	atomic_store(&slot->kernel, kernel);
	return umd_answer(status, PLAIN);
}

HRESULT APIENTRY umd_callback_Allocate(HANDLE hDevice, D3DDDICB_ALLOCATE *args)
{
	D3DKMT_CREATEALLOCATIONFLAGS flags = { 0 };
	D3DKMT_HANDLE kernel = 0;
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_Allocate, &result);

	if (!device)
		return result;
	if (!args->hResource)
		return umd_answer(create(device, args, &kernel, flags), PLAIN);

	struct umd_slot *slot = umd_slot_find(&device->handles, args->hResource, UMD_RESOURCE);
	if (!slot) {
		umd_report_handle(UMD_Allocate, "hResource", args->hResource, UMD_RESOURCE, device);
		return E_INVALIDARG;
	}
	if (atomic_compare_exchange_strong(&slot->kernel, &kernel, UMD_KERNEL_BUSY))
		return allocate_first(device, args, slot);
	if (kernel == UMD_KERNEL_BUSY) {
		umd_report(RULE_UMD_RESOURCE_BUSY, UMD_Allocate, "hResource",
			   "is being made, or ended, by another thread");
		return E_INVALIDARG;
	}
	NTSTATUS status = create(device, args, &kernel, flags);
	if (NT_SUCCESS(status))
		args->hKMResource = kernel;
	return umd_answer(status, PLAIN);
}

/* With a resource the list does not count, whatever is in it; all its allocations may be gone already. */
static RARE HRESULT deallocate_resource(struct dxgk_umd_device *device, enum umd_callback callback,
					const D3DDDICB_DEALLOCATE2 *args)
{
	D3DKMT_DESTROYALLOCATION2 kernel = { .hDevice = device->kernel, .Flags = args->Flags };

	if (!umd_mapped(device, callback, "hResource", args->hResource, UMD_RESOURCE,
			&kernel.hResource))
		return E_INVALIDARG;
	struct umd_slot *slot = umd_slot_find(&device->handles, args->hResource, UMD_RESOURCE);
	uint32_t expected = kernel.hResource;
	if (!slot || !atomic_compare_exchange_strong(&slot->kernel, &expected, UMD_KERNEL_BUSY)) {
		umd_report(RULE_UMD_RESOURCE_BUSY, callback, "hResource",
			   "is being ended by another thread");
		return E_INVALIDARG;
	}
	HRESULT result = umd_answer(D3DKMTDestroyAllocation2(&kernel), RELEASES);
	atomic_store(&slot->kernel, SUCCEEDED(result) ? 0 : kernel.hResource);
	return result;
}

SPECIALIZED HRESULT deallocate(struct dxgk_umd_device *device, enum umd_callback callback,
			       const D3DDDICB_DEALLOCATE2 *args)
{
	if (args->hResource)
		return deallocate_resource(device, callback, args);
	D3DKMT_DESTROYALLOCATION2 kernel = { .hDevice = device->kernel,
					     .phAllocationList = args->HandleList,
					     .AllocationCount = args->NumAllocations,
					     .Flags = args->Flags };
	NTSTATUS status = D3DKMTDestroyAllocation2(&kernel);
	if (UNLIKELY(!NT_SUCCESS(status)))
		umd_blame_list(callback, "HandleList", args->HandleList, args->NumAllocations);
	return umd_answer(status, RELEASES);
}

HRESULT APIENTRY umd_callback_Deallocate(HANDLE hDevice, CONST D3DDDICB_DEALLOCATE *args)
{
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_Deallocate, &result);

	if (UNLIKELY(!device))
		return result;
	D3DDDICB_DEALLOCATE2 same = { .hResource = args->hResource,
				      .NumAllocations = args->NumAllocations,
				      .HandleList = args->HandleList };
	return deallocate(device, UMD_Deallocate, &same);
}

HRESULT APIENTRY umd_callback_Deallocate2(HANDLE hDevice, CONST D3DDDICB_DEALLOCATE2 *args)
{
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_Deallocate2, &result);

	return LIKELY(device) ? deallocate(device, UMD_Deallocate2, args) : result;
}

/* ---- lists of the runtime's handles ---- */

/*
 * Each in two ways: with no list, or one of a single handle, as they are as a rule; and with any other, of which all are
 * changed to the kernel's or nothing is called: one bad handle changes nothing.
 */

enum { FEW = 64, MOST = 65536 };

struct mapped_list {
	D3DKMT_HANDLE *handles;
	D3DKMT_HANDLE few[FEW];
};

static RARE HRESULT map_list(struct dxgk_umd_device *device, enum umd_callback callback,
			     const char *argument, const HANDLE *list, UINT count, unsigned kinds,
			     struct mapped_list *mapped)
{
	if (count > MOST) {
		umd_report(RULE_UMD_COUNT, callback, argument, "has %u elements; %d are the most",
			   count, MOST);
		return E_INVALIDARG;
	}
	mapped->handles = count <= FEW ? mapped->few : malloc(count * sizeof(*mapped->handles));
	if (!mapped->handles)
		return E_OUTOFMEMORY;
	for (UINT i = 0; i < count; i++)
		if (!umd_mapped(device, callback, argument, list[i], kinds, &mapped->handles[i])) {
			if (mapped->handles != mapped->few)
				free(mapped->handles);
			return E_INVALIDARG;
		}
	return S_OK;
}

static RARE HRESULT mapped_done(struct mapped_list *mapped, HRESULT result)
{
	if (mapped->handles != mapped->few)
		free(mapped->handles);
	return result;
}

/* Of a call with a list of the kernel's handles. */
SPECIALIZED HRESULT answer_list(NTSTATUS status, enum umd_callback callback, const char *argument,
				const D3DKMT_HANDLE *list, UINT count)
{
	if (LIKELY(status == STATUS_SUCCESS))
		return S_OK;
	if (!NT_SUCCESS(status))
		umd_blame_list(callback, argument, list, count);
	return umd_answer_slow(status, PLAIN);
}

/* ---- offers ---- */

SPECIALIZED HRESULT offer_to_kernel(struct dxgk_umd_device *device, enum umd_callback callback,
				    const D3DDDICB_OFFERALLOCATIONS2 *args,
				    D3DKMT_HANDLE *resources)
{
	D3DKMT_OFFERALLOCATIONS kernel = {
		.hDevice = device->kernel,
		.pResources = resources,
		.HandleList = args->HandleList,
		.NumAllocations = args->NumAllocations,
		.Priority = (D3DKMT_OFFER_PRIORITY)args->Priority,
		.Flags.AllowDecommit = args->Flags.AllowDecommit,
	};

	return answer_list(D3DKMTOfferAllocations(&kernel), callback, "HandleList",
			   args->HandleList, args->NumAllocations);
}

static RARE HRESULT offer_resources(struct dxgk_umd_device *device, enum umd_callback callback,
				    const D3DDDICB_OFFERALLOCATIONS2 *args)
{
	struct mapped_list mapped;
	HRESULT result = map_list(device, callback, "pResources", args->pResources,
				  args->NumAllocations, UMD_RESOURCE, &mapped);

	if (FAILED(result))
		return result;
	return mapped_done(&mapped, offer_to_kernel(device, callback, args, mapped.handles));
}

SPECIALIZED HRESULT offer(struct dxgk_umd_device *device, enum umd_callback callback,
			  const D3DDDICB_OFFERALLOCATIONS2 *args)
{
	return UNLIKELY(args->pResources) ? offer_resources(device, callback, args)
					  : offer_to_kernel(device, callback, args, NULL);
}

HRESULT APIENTRY umd_callback_OfferAllocations(HANDLE hDevice,
					       CONST D3DDDICB_OFFERALLOCATIONS *args)
{
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_OfferAllocations, &result);

	if (UNLIKELY(!device))
		return result;
	D3DDDICB_OFFERALLOCATIONS2 same = { .pResources = args->pResources,
					    .HandleList = args->HandleList,
					    .NumAllocations = args->NumAllocations,
					    .Priority = args->Priority };
	return offer(device, UMD_OfferAllocations, &same);
}

HRESULT APIENTRY umd_callback_OfferAllocations2(HANDLE hDevice,
						CONST D3DDDICB_OFFERALLOCATIONS2 *args)
{
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_OfferAllocations2, &result);

	return LIKELY(device) ? offer(device, UMD_OfferAllocations2, args) : result;
}

static HRESULT reclaim_first(struct dxgk_umd_device *device,
			     const D3DDDICB_RECLAIMALLOCATIONS *args, D3DKMT_HANDLE *resources)
{
	D3DKMT_RECLAIMALLOCATIONS kernel = {
		.hDevice = device->kernel,
		.pResources = resources,
		.HandleList = args->HandleList,
		.pDiscarded = args->pDiscarded,
		.NumAllocations = args->NumAllocations,
	};

	return answer_list(D3DKMTReclaimAllocations(&kernel), UMD_ReclaimAllocations, "HandleList",
			   args->HandleList, args->NumAllocations);
}

HRESULT APIENTRY umd_callback_ReclaimAllocations(HANDLE hDevice,
						 CONST D3DDDICB_RECLAIMALLOCATIONS *args)
{
	struct mapped_list mapped;
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_ReclaimAllocations, &result);

	if (UNLIKELY(!device))
		return result;
	if (!args->pResources)
		return reclaim_first(device, args, NULL);
	result = map_list(device, UMD_ReclaimAllocations, "pResources", args->pResources,
			  args->NumAllocations, UMD_RESOURCE, &mapped);
	if (FAILED(result))
		return result;
	return mapped_done(&mapped, reclaim_first(device, args, mapped.handles));
}

/* The kernel has one call and one place for both kinds of answers: the newer one has a third value. */
SPECIALIZED HRESULT reclaim_from_kernel(enum umd_callback callback,
					D3DDDICB_RECLAIMALLOCATIONS3 *args,
					D3DKMT_HANDLE *resources)
{
	D3DKMT_RECLAIMALLOCATIONS2 kernel = {
		.hPagingQueue = args->PagingQueue,
		.NumAllocations = args->NumAllocations,
		.pResources = resources,
		.HandleList = args->HandleList,
		.pResults = args->pResults,
	};
	NTSTATUS status = D3DKMTReclaimAllocations2(&kernel);

	if (UNLIKELY(!NT_SUCCESS(status)))
		umd_blame(callback, "PagingQueue", args->PagingQueue, -1);
	else
		args->PagingFenceValue = kernel.PagingFenceValue;
	return answer_list(status, callback, "HandleList", args->HandleList, args->NumAllocations);
}

static RARE HRESULT reclaim_resources(struct dxgk_umd_device *device, enum umd_callback callback,
				      D3DDDICB_RECLAIMALLOCATIONS3 *args)
{
	struct mapped_list mapped;
	HRESULT result = map_list(device, callback, "pResources", args->pResources,
				  args->NumAllocations, UMD_RESOURCE, &mapped);

	if (FAILED(result))
		return result;
	return mapped_done(&mapped, reclaim_from_kernel(callback, args, mapped.handles));
}

SPECIALIZED HRESULT reclaim(struct dxgk_umd_device *device, enum umd_callback callback,
			    D3DDDICB_RECLAIMALLOCATIONS3 *args)
{
	return UNLIKELY(args->pResources) ? reclaim_resources(device, callback, args)
					  : reclaim_from_kernel(callback, args, NULL);
}

_Static_assert(sizeof(BOOL) == sizeof(D3DDDI_RECLAIM_RESULT) &&
		       sizeof(D3DDDICB_RECLAIMALLOCATIONS2) ==
			       sizeof(D3DDDICB_RECLAIMALLOCATIONS3) &&
		       offsetof(D3DDDICB_RECLAIMALLOCATIONS2, pDiscarded) ==
			       offsetof(D3DDDICB_RECLAIMALLOCATIONS3, pResults),
	       "one structure for both, and one array");

HRESULT APIENTRY umd_callback_ReclaimAllocations2(HANDLE hDevice,
						  D3DDDICB_RECLAIMALLOCATIONS2 *args)
{
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_ReclaimAllocations2, &result);

	if (UNLIKELY(!device))
		return result;
	result = reclaim(device, UMD_ReclaimAllocations2, (D3DDDICB_RECLAIMALLOCATIONS3 *)args);
	if (UNLIKELY(FAILED(result)))
		return result;
	for (UINT i = 0; args->pDiscarded && i < args->NumAllocations; i++)
		args->pDiscarded[i] = args->pDiscarded[i] != D3DDDI_RECLAIM_RESULT_OK;
	return result;
}

HRESULT APIENTRY umd_callback_ReclaimAllocations3(HANDLE hDevice,
						  D3DDDICB_RECLAIMALLOCATIONS3 *args)
{
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_ReclaimAllocations3, &result);

	return LIKELY(device) ? reclaim(device, UMD_ReclaimAllocations3, args) : result;
}

/* ---- signals to several ---- */

SPECIALIZED HRESULT signal_contexts(const D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *args,
				    const D3DKMT_HANDLE *contexts)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 kernel;

	/* The union's reserved words, too: they travel. */
	memset(&kernel.Reserved, 0, sizeof(kernel.Reserved));
	kernel.ObjectCount = args->ObjectCount;
	kernel.ObjectHandleArray = args->ObjectHandleArray;
	kernel.Flags = args->Flags;
	kernel.BroadcastContextCount = args->BroadcastContextCount;
	kernel.BroadcastContextArray = contexts;
	kernel.FenceValue = args->FenceValue;
	return answer_list(D3DKMTSignalSynchronizationObjectFromGpu2(&kernel),
			   UMD_SignalSynchronizationObjectFromGpu2, "ObjectHandleArray",
			   args->ObjectHandleArray, args->ObjectCount);
}

static RARE HRESULT signal_several_contexts(
	struct dxgk_umd_device *device, const D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *args)
{
	struct mapped_list mapped;

	if (!args->BroadcastContextArray)
		return signal_contexts(args, NULL);
	HRESULT result = map_list(device, UMD_SignalSynchronizationObjectFromGpu2,
				  "BroadcastContextArray", args->BroadcastContextArray,
				  args->BroadcastContextCount, UMD_CONTEXT, &mapped);
	return FAILED(result) ? result
			      : mapped_done(&mapped, signal_contexts(args, mapped.handles));
}

HRESULT APIENTRY umd_callback_SignalSynchronizationObjectFromGpu2(
	HANDLE hDevice, CONST D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *args)
{
	const enum umd_callback callback = UMD_SignalSynchronizationObjectFromGpu2;
	D3DKMT_HANDLE context;
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, callback, &result);

	if (UNLIKELY(!device))
		return result;
	if (UNLIKELY(args->BroadcastContextCount != 1 || !args->BroadcastContextArray))
		return signal_several_contexts(device, args);
	if (UNLIKELY(!umd_mapped(device, callback, "BroadcastContextArray",
				 args->BroadcastContextArray[0], UMD_CONTEXT, &context)))
		return E_INVALIDARG;
	return signal_contexts(args, &context);
}

SPECIALIZED HRESULT signal_queues(const D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *args,
				  const D3DKMT_HANDLE *queues)
{
	D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE kernel = {
		.Flags = args->Flags,
		.BroadcastHwQueueCount = args->BroadcastHwQueueCount,
		.BroadcastHwQueueArray = queues,
		.ObjectCount = args->ObjectCount,
		.ObjectHandleArray = args->ObjectHandleArray,
		.FenceValueArray = args->FenceValueArray,
	};

	return answer_list(D3DKMTSubmitSignalSyncObjectsToHwQueue(&kernel),
			   UMD_SubmitSignalSyncObjectsToHwQueue, "ObjectHandleArray",
			   args->ObjectHandleArray, args->ObjectCount);
}

static RARE HRESULT signal_several_queues(struct dxgk_umd_device *device,
					  const D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *args)
{
	struct mapped_list mapped;

	if (!args->BroadcastHwQueueArray)
		return signal_queues(args, NULL);
	HRESULT result = map_list(device, UMD_SubmitSignalSyncObjectsToHwQueue,
				  "BroadcastHwQueueArray", args->BroadcastHwQueueArray,
				  args->BroadcastHwQueueCount, UMD_HWQUEUE, &mapped);
	return FAILED(result) ? result : mapped_done(&mapped, signal_queues(args, mapped.handles));
}

HRESULT APIENTRY umd_callback_SubmitSignalSyncObjectsToHwQueue(
	HANDLE hDevice, CONST D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *args)
{
	const enum umd_callback callback = UMD_SubmitSignalSyncObjectsToHwQueue;
	D3DKMT_HANDLE queue;
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, callback, &result);

	if (UNLIKELY(!device))
		return result;
	if (UNLIKELY(args->BroadcastHwQueueCount != 1 || !args->BroadcastHwQueueArray))
		return signal_several_queues(device, args);
	if (UNLIKELY(!umd_mapped(device, callback, "BroadcastHwQueueArray",
				 args->BroadcastHwQueueArray[0], UMD_HWQUEUE, &queue)))
		return E_INVALIDARG;
	return signal_queues(args, &queue);
}

/* ---- the rest ---- */

/* A reservation names a paging queue or the adapter; a driver does not know the kernel's handle of that, and says 0. */
HRESULT APIENTRY umd_callback_ReserveGpuVirtualAddress(HANDLE hDevice,
						       D3DDDI_RESERVEGPUVIRTUALADDRESS *args)
{
	HRESULT result;
	struct dxgk_umd_device *device =
		umd_begin(hDevice, args, UMD_ReserveGpuVirtualAddress, &result);

	if (!device)
		return result;
	D3DKMT_HANDLE wanted = args->hPagingQueue;
	if (!wanted)
		args->hAdapter = device->kernel_adapter;
	NTSTATUS status = D3DKMTReserveGpuVirtualAddress(args);
	args->hPagingQueue = wanted;
	if (!NT_SUCCESS(status))
		umd_blame(UMD_ReserveGpuVirtualAddress, "hPagingQueue", wanted, -1);
	return umd_answer(status, PLAIN);
}

/* Asked of the adapter, and what it is about comes with it. */
HRESULT APIENTRY umd_callback_Escape(HANDLE hAdapter, CONST D3DDDICB_ESCAPE *args)
{
	struct dxgk_umd_adapter *adapter = umd_adapter_find(hAdapter);
	struct dxgk_umd_device *device = NULL;
	HRESULT result;

	if (!adapter || !args) {
		if (!adapter)
			umd_report_handle(UMD_Escape, "hAdapter", hAdapter, UMD_ADAPTER, NULL);
		else
			umd_report(RULE_UMD_HANDLE, UMD_Escape, "pData", "is NULL");
		return E_INVALIDARG;
	}
	if (umd_is_to_fail(UMD_Escape, &result))
		return result;
	D3DKMT_HANDLE context = 0;
	if (args->hDevice || args->hContext) {
		device = umd_device_find(args->hDevice);
		if (!device) {
			umd_report_handle(UMD_Escape, "hDevice", args->hDevice, UMD_DEVICE, NULL);
			return E_INVALIDARG;
		}
	}
	if (args->hContext &&
	    !umd_mapped(device, UMD_Escape, "hContext", args->hContext, UMD_ANY_CONTEXT, &context))
		return E_INVALIDARG;
	D3DKMT_ESCAPE kernel = {
		.hAdapter = adapter->kernel,
		.hDevice = device ? device->kernel : 0,
		.Type = D3DKMT_ESCAPE_DRIVERPRIVATE,
		.Flags = args->Flags,
		.pPrivateDriverData = args->pPrivateDriverData,
		.PrivateDriverDataSize = args->PrivateDriverDataSize,
		.hContext = context,
	};
	return umd_answer(D3DKMTEscape(&kernel), PLAIN);
}

/* As much of it as there is room for. */
static void write_text(LPCWSTR text, char *out, size_t room)
{
	size_t used = 0;

	for (const WCHAR *at = text; at && *at && used + 4 < room; at++)
		used += utf8_encode((uint32_t)*at & 0x1fffff, out + used);
	out[used] = '\0';
}

/* To the trace; and to the log of callbacks, for who asked for that. It succeeds whatever becomes of the device. */
HRESULT APIENTRY umd_callback_LogUMDMarker(HANDLE hDevice, CONST D3DDDICB_LOGUMDMARKER *args)
{
	HRESULT result;
	struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_LogUMDMarker, &result);

	if (!device)
		return result;
	D3DKMT_HANDLE context;
	if (args->hContext && !umd_mapped(device, UMD_LogUMDMarker, "hContext", args->hContext,
					  UMD_ANY_CONTEXT, &context))
		return E_INVALIDARG;
	DXGK_MARKER marker = { .hDevice = device->kernel,
			       .Index = args->Index,
			       .APISequenceNumber = args->APISequenceNumber,
			       .StringIndex = args->StringIndex };
	write_text(args->Info, marker.Text, sizeof(marker.Text));
	umd_tell_marker(&marker);
	(void)DxgkLogMarker(&marker);
	return S_OK;
}

/* Callbacks may come from any thread at any time, whatever is said here. */
HRESULT APIENTRY umd_callback_SetAsyncCallbacks(HANDLE hDevice, BOOL value)
{
	HRESULT result;
	struct dxgk_umd_device *device =
		umd_begin(hDevice, hDevice, UMD_SetAsyncCallbacks, &result);

	if (!device)
		return result;
	atomic_store(&device->is_async, value != FALSE);
	return S_OK;
}
