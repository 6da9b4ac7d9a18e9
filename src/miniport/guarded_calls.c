/* SPDX-License-Identifier: MIT */
/*
 * guarded_calls.c - entry points that are called often, with guard bytes behind what they write
 * (guard.h). Only with DXGK_VERIFY=answers: a copy each way, and memory for it, is too much for every
 * call of theirs.
 *
 * A driver that moves a pointer moves it in the copy; the caller finds it at the same distance in the
 * buffer.
 */
#include <stddef.h>

#include "base/mem.h"
#include "miniport/guard.h"
#include "miniport/guarded_calls.h"

NTSTATUS guarded_create_allocation(struct miniport *miniport, DXGKARG_CREATEALLOCATION *args)
{
	DXGK_ALLOCATIONINFO *infos = args->pAllocationInfo;
	uint32_t count = args->NumAllocations;
	struct guard *guards = mem_zalloc_array(count, sizeof(*guards));

	for (uint32_t i = 0; guards && i < count; i++) {
		guard_open(&guards[i], infos[i].pPrivateDriverData, infos[i].PrivateDriverDataSize);
		infos[i].pPrivateDriverData = guards[i].memory;
	}
	NTSTATUS status = miniport->ddi.DxgkDdiCreateAllocation(miniport->context, args);
	for (uint32_t i = 0; guards && i < count; i++) {
		guard_close(&guards[i], "DxgkDdiCreateAllocation", NULL);
		infos[i].pPrivateDriverData = guards[i].buffer;
	}
	mem_free(guards);
	return status;
}

NTSTATUS guarded_open_allocation(struct miniport *miniport, void *driver_device,
				 DXGKARG_OPENALLOCATION *args)
{
	DXGK_OPENALLOCATIONINFO *infos = args->pOpenAllocation;
	uint32_t count = args->NumAllocations;
	struct guard *guards = mem_zalloc_array(count, sizeof(*guards));

	for (uint32_t i = 0; guards && i < count; i++) {
		guard_open(&guards[i], infos[i].pPrivateDriverData, infos[i].PrivateDriverDataSize);
		infos[i].pPrivateDriverData = guards[i].memory;
	}
	NTSTATUS status = miniport->ddi.DxgkDdiOpenAllocation(driver_device, args);
	for (uint32_t i = 0; guards && i < count; i++) {
		guard_close(&guards[i], "DxgkDdiOpenAllocation", NULL);
		infos[i].pPrivateDriverData = guards[i].buffer;
	}
	mem_free(guards);
	return status;
}

/* Where a pointer into the copy is in the buffer; anywhere else it stays what it is. */
static void *moved_back(const struct guard *guard, void *pointer)
{
	ptrdiff_t distance = (char *)pointer - (char *)guard->memory;

	return guard->is_copy ? (char *)guard->buffer + distance : pointer;
}

NTSTATUS guarded_render(struct miniport *miniport, void *handle, DXGKARG_RENDER *args)
{
	struct guard data;
	struct guard patches;

	guard_open(&data, args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
	guard_open(&patches, args->pPatchLocationListOut,
		   args->PatchLocationListOutSize * (uint32_t)sizeof(*args->pPatchLocationListOut));
	args->pDmaBufferPrivateData = data.memory;
	args->pPatchLocationListOut = patches.memory;
	NTSTATUS status = miniport->ddi.DxgkDdiRender(handle, args);
	args->pDmaBufferPrivateData = moved_back(&data, args->pDmaBufferPrivateData);
	args->pPatchLocationListOut = moved_back(&patches, args->pPatchLocationListOut);
	guard_close(&data, "DxgkDdiRender", "pDmaBufferPrivateData");
	guard_close(&patches, "DxgkDdiRender", "pPatchLocationListOut");
	return status;
}

NTSTATUS guarded_build_paging_buffer(const struct miniport *miniport,
				     DXGKARG_BUILDPAGINGBUFFER *args)
{
	struct guard data;

	guard_open(&data, args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
	args->pDmaBufferPrivateData = data.memory;
	NTSTATUS status = miniport->ddi.DxgkDdiBuildPagingBuffer(miniport->context, args);
	args->pDmaBufferPrivateData = moved_back(&data, args->pDmaBufferPrivateData);
	guard_close(&data, "DxgkDdiBuildPagingBuffer", "pDmaBufferPrivateData");
	return status;
}
