/* SPDX-License-Identifier: MIT */
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

/* What a client asks for again and again, written once: calls are measured, not their arguments. */
struct creation {
	D3DKMT_CREATEALLOCATION args;
	D3DDDI_ALLOCATIONINFO2 info;
	struct softgpu_allocation wanted;
};

static inline void creation_init(struct creation *creation, D3DKMT_HANDLE device,
				 uint64_t size_bytes)
{
	*creation = (struct creation){
		.args = { .hDevice = device,
			  .NumAllocations = 1,
			  .pAllocationInfo2 = &creation->info },
		.info = { .pPrivateDriverData = &creation->wanted,
			  .PrivateDriverDataSize = sizeof(creation->wanted) },
		.wanted = { .version = SOFTGPU_ALLOCATION_VERSION,
			    .flags = SOFTGPU_CPU_VISIBLE,
			    .size_bytes = size_bytes },
	};
}

static inline D3DKMT_HANDLE creation_run(struct creation *creation)
{
	if (!NT_SUCCESS(D3DKMTCreateAllocation2(&creation->args)))
		fail("D3DKMTCreateAllocation2");
	return creation->info.hAllocation;
}

static inline D3DKMT_HANDLE create_allocation(D3DKMT_HANDLE device, uint64_t size_bytes)
{
	struct creation creation;

	creation_init(&creation, device, size_bytes);
	return creation_run(&creation);
}

/* The same for the other end. */
struct destruction {
	D3DKMT_DESTROYALLOCATION2 args;
};

static inline void destruction_init(struct destruction *destruction, D3DKMT_HANDLE device)
{
	destruction->args = (D3DKMT_DESTROYALLOCATION2){ .hDevice = device, .AllocationCount = 1 };
}

static inline void destruction_run(struct destruction *destruction, const D3DKMT_HANDLE *allocation)
{
	destruction->args.phAllocationList = allocation;
	if (!NT_SUCCESS(D3DKMTDestroyAllocation2(&destruction->args)))
		fail("D3DKMTDestroyAllocation2");
}

static inline void destroy_allocation(D3DKMT_HANDLE device, D3DKMT_HANDLE allocation)
{
	struct destruction destruction;

	destruction_init(&destruction, device);
	destruction_run(&destruction, &allocation);
}

#endif
