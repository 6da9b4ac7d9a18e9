/*
 * allocations.h - what the benchmarks of allocations share: devices, and allocations on them.
 */
#ifndef BENCH_ALLOCATIONS_H
#define BENCH_ALLOCATIONS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/refusal.h>
#include <opendxgk/softgpu.h>

static inline void fail(const char *what)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	fprintf(stderr, "%s: %s\n", what, DxgkLastRefusal(&why) ? why.reason : "failed");
	exit(1);
}

/* On the adapter of that number, or the one that many further round. */
static inline D3DKMT_HANDLE create_device_on(uint32_t adapter)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };

	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all)))
		fail("D3DKMTEnumAdapters2");
	if (all.NumAdapters == 0)
		fail("no adapter started");
	D3DKMT_CREATEDEVICE create = { .hAdapter = infos[adapter % all.NumAdapters].hAdapter };
	if (!NT_SUCCESS(D3DKMTCreateDevice(&create)))
		fail("D3DKMTCreateDevice");
	return create.hDevice;
}

static inline D3DKMT_HANDLE create_device(void)
{
	return create_device_on(0);
}

/*
 * From templates that the compiler knows nothing about, so that it copies them in a few moves: gcc
 * clears structs of this size with `rep stos`, which takes as long as a tenth of the call.
 */
static const D3DDDI_ALLOCATIONINFO2 plain_info = {
	.PrivateDriverDataSize = sizeof(struct softgpu_allocation),
};
static const D3DKMT_CREATEALLOCATION plain_creation = { .NumAllocations = 1 };

static inline D3DKMT_HANDLE create_allocation(D3DKMT_HANDLE device, uint64_t size_bytes)
{
	const D3DDDI_ALLOCATIONINFO2 *info_template = &plain_info;
	const D3DKMT_CREATEALLOCATION *creation_template = &plain_creation;

	__asm__("" : "+r"(info_template), "+r"(creation_template));
	struct softgpu_allocation wanted = { .version = SOFTGPU_ALLOCATION_VERSION,
					     .flags = SOFTGPU_CPU_VISIBLE,
					     .size_bytes = size_bytes };
	D3DDDI_ALLOCATIONINFO2 info = *info_template;
	D3DKMT_CREATEALLOCATION args = *creation_template;

	info.pPrivateDriverData = &wanted;
	args.hDevice = device;
	args.pAllocationInfo2 = &info;
	if (!NT_SUCCESS(D3DKMTCreateAllocation2(&args)))
		fail("D3DKMTCreateAllocation2");
	return info.hAllocation;
}

static inline void destroy_allocation(D3DKMT_HANDLE device, D3DKMT_HANDLE allocation)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device,
					   .phAllocationList = &allocation,
					   .AllocationCount = 1 };

	if (!NT_SUCCESS(D3DKMTDestroyAllocation2(&args)))
		fail("D3DKMTDestroyAllocation2");
}

#endif
