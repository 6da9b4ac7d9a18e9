/* SPDX-License-Identifier: MIT */
/*
 * allocation_life.c - the life of an allocation, one line per step.
 *
 * Memory is made on one device, opened on a second one through an NT handle, written through the
 * first, read through the second, and destroyed twice: it goes with the last of the two. With
 * DXGK_LOG=calls the driver calls that each step causes appear above its line.
 */
#include <dxg/d3dkmthk.h>
#include <opendxgk/refusal.h>
#include <opendxgk/softgpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY_BYTES = 64 * 1024 };

static void check(const char *what, NTSTATUS status)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	if (NT_SUCCESS(status))
		return;
	fprintf(stderr, "%s: 0x%08x: %s\n", what, (unsigned)status,
		DxgkLastRefusal(&why) ? why.reason : "no reason");
	exit(1);
}

#define CHECK(call) check(#call, (call))

static D3DKMT_HANDLE create_device(D3DKMT_HANDLE adapter)
{
	D3DKMT_CREATEDEVICE args = { .hAdapter = adapter };

	CHECK(D3DKMTCreateDevice(&args));
	return args.hDevice;
}

/* A shared resource with one allocation in it; what it should be is said in the driver's words. */
static D3DKMT_HANDLE create(D3DKMT_HANDLE device, D3DKMT_HANDLE *allocation)
{
	struct softgpu_allocation wanted = { .version = SOFTGPU_ALLOCATION_VERSION,
					     .flags = SOFTGPU_CPU_VISIBLE,
					     .size_bytes = MEMORY_BYTES };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &wanted,
					.PrivateDriverDataSize = sizeof(wanted) };
	D3DKMT_CREATEALLOCATION args = {
		.hDevice = device,
		.NumAllocations = 1,
		.pAllocationInfo2 = &info,
		.Flags = { .CreateResource = 1, .CreateShared = 1, .NtSecuritySharing = 1 },
	};

	CHECK(D3DKMTCreateAllocation2(&args));
	*allocation = info.hAllocation;
	return args.hResource;
}

static D3DKMT_HANDLE open_shared(D3DKMT_HANDLE device, HANDLE shared, D3DKMT_HANDLE *allocation)
{
	struct softgpu_allocation found;
	D3DDDI_OPENALLOCATIONINFO2 info = { 0 };
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = {
		.hDevice = device,
		.hNtHandle = shared,
		.NumAllocations = 1,
		.pOpenAllocationInfo2 = &info,
		.pTotalPrivateDriverDataBuffer = &found,
		.TotalPrivateDriverDataBufferSize = sizeof(found),
	};

	CHECK(D3DKMTOpenResourceFromNtHandle(&args));
	*allocation = info.hAllocation;
	return args.hResource;
}

static char *lock(D3DKMT_HANDLE device, D3DKMT_HANDLE allocation)
{
	D3DKMT_LOCK2 args = { .hDevice = device, .hAllocation = allocation };

	CHECK(D3DKMTLock2(&args));
	return args.pData;
}

static void unlock(D3DKMT_HANDLE device, D3DKMT_HANDLE allocation)
{
	D3DKMT_UNLOCK2 args = { .hDevice = device, .hAllocation = allocation };

	CHECK(D3DKMTUnlock2(&args));
}

static void destroy(D3DKMT_HANDLE device, D3DKMT_HANDLE resource)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = device, .hResource = resource };

	CHECK(D3DKMTDestroyAllocation2(&args));
}

int main(void)
{
	D3DKMT_ADAPTERINFO adapters[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = adapters };
	D3DKMT_HANDLE first_allocation;
	D3DKMT_HANDLE second_allocation;
	HANDLE shared;

	/* Line by line, so that what the driver line logs comes in between. */
	setvbuf(stdout, NULL, _IONBF, 0);
	CHECK(D3DKMTEnumAdapters2(&all));
	if (all.NumAdapters == 0) {
		fprintf(stderr, "no adapter started\n");
		return 1;
	}
	D3DKMT_HANDLE first = create_device(adapters[0].hAdapter);
	D3DKMT_HANDLE second = create_device(adapters[0].hAdapter);
	printf("two devices             0x%08x and 0x%08x\n", first, second);

	D3DKMT_HANDLE resource = create(first, &first_allocation);
	printf("created on the first    resource 0x%08x, allocation 0x%08x, %d KiB\n", resource,
	       first_allocation, MEMORY_BYTES / 1024);

	CHECK(D3DKMTShareObjects(1, &resource, NULL, SHARED_ALLOCATION_WRITE, &shared));
	printf("shared                  NT handle: file descriptor %d\n", (int)(intptr_t)shared);

	D3DKMT_HANDLE opened = open_shared(second, shared, &second_allocation);
	close((int)(intptr_t)shared);
	printf("opened on the second    resource 0x%08x, allocation 0x%08x\n", opened,
	       second_allocation);

	strcpy(lock(first, first_allocation), "the same bytes");
	printf("locked, written         through 0x%08x\n", first_allocation);

	printf("locked, read            through 0x%08x: \"%s\"\n", second_allocation,
	       lock(second, second_allocation));

	unlock(first, first_allocation);
	unlock(second, second_allocation);
	printf("unlocked                on both\n");

	destroy(first, resource);
	printf("destroyed on the first  the second still has it\n");

	destroy(second, opened);
	printf("destroyed               with its last opening\n");
	return 0;
}
