/* SPDX-License-Identifier: MIT */
/*
 * ctl_client.c - a program for ctl_test.py: a MiB resident and mapped, "ready ADDRESS QUEUE" on
 * standard output, and the end when standard input ends.
 */
#include <stdio.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/softgpu.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		NTSTATUS check_status = (call);                                                    \
		if (!NT_SUCCESS(check_status)) {                                                   \
			fprintf(stderr, "%s gave 0x%x\n", #call, (unsigned)check_status);          \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

enum { SIZE_BYTES = 1 << 20, PAGES = SIZE_BYTES / 4096 };

static D3DKMT_CREATEPAGINGQUEUE queue;

static int wait_for(UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hDevice = queue.hDevice,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &queue.hSyncObject,
							    .FenceValueArray = &value };

	CHECK(D3DKMTWaitForSynchronizationObjectFromCpu(&wait));
	return 0;
}

int main(void)
{
	D3DKMT_ADAPTERINFO adapters[16];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 16, .pAdapters = adapters };
	struct softgpu_allocation data = { SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE,
					   SIZE_BYTES, 0 };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &data,
					.PrivateDriverDataSize = sizeof(data) };

	CHECK(D3DKMTEnumAdapters2(&all));
	D3DKMT_CREATEDEVICE device = { .hAdapter = adapters[0].hAdapter };
	CHECK(D3DKMTCreateDevice(&device));
	queue.hDevice = device.hDevice;
	CHECK(D3DKMTCreatePagingQueue(&queue));
	D3DKMT_CREATEALLOCATION create = { .hDevice = device.hDevice,
					   .NumAllocations = 1,
					   .pAllocationInfo2 = &info };
	CHECK(D3DKMTCreateAllocation2(&create));
	D3DDDI_MAKERESIDENT make = { .hPagingQueue = queue.hPagingQueue,
				     .NumAllocations = 1,
				     .AllocationList = &info.hAllocation };
	CHECK(D3DKMTMakeResident(&make));
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = queue.hPagingQueue,
					    .hAllocation = info.hAllocation,
					    .SizeInPages = PAGES };
	CHECK(D3DKMTMapGpuVirtualAddress(&map));
	if (wait_for(map.PagingFenceValue) != 0)
		return 1;
	printf("ready 0x%llx 0x%x\n", (unsigned long long)map.VirtualAddress, queue.hPagingQueue);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
