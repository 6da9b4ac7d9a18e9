/* SPDX-License-Identifier: MIT */
/*
 * ctl_client.c - a program for ctl_test.py: a MiB resident and mapped, "ready ADDRESS QUEUE" on
 * standard output, and the end when standard input ends. Meanwhile other threads of it are in calls that
 * do not end, as its arguments say:
 *
 *	wait   for a fence, and for the key of a mutex
 *	fill   for room in a queue that a wait holds up
 *
 * and it has a hardware queue, where an argument is
 *
 *	queue
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/name.h>
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

/* ---- calls that do not end ---- */

static D3DKMT_HANDLE fence;
static D3DGPU_VIRTUAL_ADDRESS commands;
static _Atomic unsigned filled;

static void *wait_for_fence(void *unused)
{
	const UINT64 value = 1;
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hDevice = queue.hDevice,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .FenceValueArray = &value };

	(void)unused;
	D3DKMTWaitForSynchronizationObjectFromCpu(&wait);
	return NULL;
}

static void *wait_for_key(void *unused)
{
	D3DKMT_CREATEKEYEDMUTEX mutex = { .InitialValue = 0 };

	(void)unused;
	D3DKMTCreateKeyedMutex(&mutex);
	D3DKMTAcquireKeyedMutex(&(D3DKMT_ACQUIREKEYEDMUTEX){ mutex.hKeyedMutex, 1, NULL, 0 });
	return NULL;
}

static void *fill_queue(void *unused)
{
	UINT64 value = 1;
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = queue.hDevice };
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = { .ObjectCount = 1,
							    .ObjectHandleArray = &fence,
							    .MonitoredFenceValueArray = &value };

	(void)unused;
	D3DKMTCreateContextVirtual(&context);
	wait.hContext = context.hContext;
	D3DKMTWaitForSynchronizationObjectFromGpu(&wait);
	D3DKMT_SUBMITCOMMAND submit = { .Commands = commands,
					.CommandLength = 64,
					.BroadcastContextCount = 1,
					.BroadcastContext = { context.hContext } };
	submit.Flags.NullRendering = 1;
	while (D3DKMTSubmitCommand(&submit) == 0)
		filled++;
	return NULL;
}

static int make_hw_queue(void)
{
	D3DKMT_CREATEHWCONTEXT context = { .hDevice = queue.hDevice };

	CHECK(D3DKMTCreateHwContext(&context));
	D3DKMT_CREATEHWQUEUE create = { .hHwContext = context.hHwContext };
	CHECK(D3DKMTCreateHwQueue(&create));
	return 0;
}

static int begin_calls(int argc, char **argv)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = { .hDevice = queue.hDevice };
	pthread_t thread;
	unsigned seen = 0;

	create.Info.Type = D3DDDI_MONITORED_FENCE;
	CHECK(D3DKMTCreateSynchronizationObject2(&create));
	fence = create.hSyncObject;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "queue") == 0) {
			if (make_hw_queue() != 0)
				return 1;
			continue;
		}
		if (strcmp(argv[i], "fill") == 0) {
			pthread_create(&thread, NULL, fill_queue, NULL);
			continue;
		}
		pthread_create(&thread, NULL, wait_for_fence, NULL);
		pthread_create(&thread, NULL, wait_for_key, NULL);
	}
	/* It fills until there is no room any more. */
	while (argc > 1 && strcmp(argv[1], "fill") == 0 && (filled == 0 || filled != seen)) {
		seen = filled;
		nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
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
	DXGK_ALLOCATIONNAME name = { .hDevice = device.hDevice,
				     .hAllocation = info.hAllocation,
				     .Name = "the client's \"MiB\"" };
	CHECK(DxgkNameAllocation(&name));
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
	commands = map.VirtualAddress;
	if (begin_calls(argc, argv) != 0)
		return 1;
	printf("ready 0x%llx 0x%x\n", (unsigned long long)map.VirtualAddress, queue.hPagingQueue);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
