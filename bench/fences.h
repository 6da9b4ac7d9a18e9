/* SPDX-License-Identifier: MIT */
/*
 * fences.h - what the benchmarks of fences share: monitored fences, signalled and waited for.
 */
#ifndef BENCH_FENCES_H
#define BENCH_FENCES_H

#include "allocations.h"

/* Written once, as struct creation of allocations.h: calls are measured, not their arguments. */
static const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 plain_fence = {
	.Info = { .Type = D3DDDI_MONITORED_FENCE },
};

static inline D3DKMT_HANDLE create_fence(D3DKMT_HANDLE device)
{
	const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *fence_template = &plain_fence;

	__asm__("" : "+r"(fence_template));
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = *fence_template;
	args.hDevice = device;
	if (!NT_SUCCESS(D3DKMTCreateSynchronizationObject2(&args)))
		fail("D3DKMTCreateSynchronizationObject2");
	return args.hSyncObject;
}

static inline void destroy_fence(D3DKMT_HANDLE fence)
{
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT args = { fence };

	if (!NT_SUCCESS(D3DKMTDestroySynchronizationObject(&args)))
		fail("D3DKMTDestroySynchronizationObject");
}

static inline void signal_fence(D3DKMT_HANDLE device, D3DKMT_HANDLE fence, UINT64 value)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = device,
							   .ObjectCount = 1,
							   .ObjectHandleArray = &fence,
							   .FenceValueArray = &value };

	if (!NT_SUCCESS(D3DKMTSignalSynchronizationObjectFromCpu(&args)))
		fail("D3DKMTSignalSynchronizationObjectFromCpu");
}

static inline void wait_fence(D3DKMT_HANDLE device, D3DKMT_HANDLE fence, UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = { .hDevice = device,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .FenceValueArray = &value };

	if (!NT_SUCCESS(D3DKMTWaitForSynchronizationObjectFromCpu(&args)))
		fail("D3DKMTWaitForSynchronizationObjectFromCpu");
}

#endif
