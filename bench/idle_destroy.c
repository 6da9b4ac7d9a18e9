/* SPDX-License-Identifier: MIT */
/*
 * idle_destroy.c - what an idle GPU adds to destroying an allocation.
 *
 * usage: idle_destroy bare|idle count    for callgrind: destroy_one(), on a device that never had
 *                                        work, or on one whose queue once ran
 */
#include <string.h>

#include "fences.h"

static void run_something(D3DKMT_HANDLE device)
{
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = device };
	D3DKMT_HANDLE fence = create_fence(device);
	UINT64 value = 1;

	if (!NT_SUCCESS(D3DKMTCreateContextVirtual(&context)))
		fail("D3DKMTCreateContextVirtual");
	D3DKMT_SUBMITCOMMAND submit = { .Commands = 0x10000,
					.CommandLength = 8,
					.BroadcastContextCount = 1 };
	submit.BroadcastContext[0] = context.hContext;
	submit.Flags.NullRendering = 1;
	if (!NT_SUCCESS(D3DKMTSubmitCommand(&submit)))
		fail("D3DKMTSubmitCommand");
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = { .hContext = context.hContext,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &fence,
							     .MonitoredFenceValueArray = &value };
	if (!NT_SUCCESS(D3DKMTSignalSynchronizationObjectFromGpu(&signal)))
		fail("D3DKMTSignalSynchronizationObjectFromGpu");
	wait_fence(device, fence, value);
}

__attribute__((noinline)) static void destroy_one(D3DKMT_HANDLE device, D3DKMT_HANDLE allocation)
{
	destroy_allocation(device, allocation);
}

int main(int argc, char **argv)
{
	unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;

	if (count == 0 || (strcmp(argv[1], "bare") != 0 && strcmp(argv[1], "idle") != 0)) {
		fprintf(stderr, "usage: idle_destroy bare|idle count\n");
		return 2;
	}
	D3DKMT_HANDLE device = create_device();
	if (strcmp(argv[1], "idle") == 0)
		run_something(device);
	for (unsigned i = 0; i < count; i++)
		destroy_one(device, create_allocation(device, 65536));
	return 0;
}
