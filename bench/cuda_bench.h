/* SPDX-License-Identifier: MIT */
/*
 * cuda_bench.h - what measurements of cuda.so have in common: the driver API itself, in a context of the
 * program's own, and a client of the first adapter (DXGK_PROFILE).
 *
 * A library in the place of libcuda.so.1 does as well, to see that a program works; its figures mean
 * nothing.
 */
#ifndef BENCH_CUDA_BENCH_H
#define BENCH_CUDA_BENCH_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include <dxg/d3dkmthk.h>
#include <opendxgk/softgpu.h>

#define MIB (UINT64_C(1) << 20)

/* ---- the driver API ---- */

typedef unsigned long long device_pointer;

static struct {
	int (*init)(unsigned);
	int (*context_create)(void **, unsigned, int);
	int (*context_set)(void *);
	int (*allocate)(device_pointer *, size_t);
	int (*release)(device_pointer);
	int (*host_allocate)(void **, size_t, unsigned);
	int (*stream_create)(void **, unsigned);
	int (*stream_wait)(void *);
	int (*to_device)(device_pointer, const void *, size_t, void *);
	int (*to_host)(void *, device_pointer, size_t, void *);
	int (*fill)(device_pointer, unsigned, size_t, void *);
	int (*copy)(device_pointer, device_pointer, size_t, void *);
	int (*memory_info)(size_t *, size_t *);
	int (*load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      void *, void **, void **);
	/* A library in the place of libcuda.so.1 may not have these. */
	int (*event_create)(void **, unsigned);
	int (*event_record)(void *, void *);
	int (*event_wait)(void *);
	int (*stream_wait_event)(void *, void *, unsigned);
	void *context;
	void *stream;
	void *other_stream;
} cuda;

static inline void did(int status, const char *what)
{
	if (status != 0) {
		fprintf(stderr, "cuda bench: %s: error %d\n", what, status);
		exit(1);
	}
}

static inline void require(NTSTATUS status, const char *what)
{
	if (!NT_SUCCESS(status)) {
		fprintf(stderr, "cuda bench: %s: 0x%08x\n", what, (unsigned)status);
		exit(1);
	}
}

static inline void *symbol(void *library, const char *name)
{
	return dlsym(library, name);
}

#define FIND(member, name) (*(void **)&cuda.member = symbol(library, name))

static inline void cuda_begin(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "cuda bench: %s\n", dlerror());
		exit(1);
	}
	FIND(init, "cuInit");
	FIND(context_create, "cuCtxCreate_v2");
	FIND(context_set, "cuCtxSetCurrent");
	FIND(allocate, "cuMemAlloc_v2");
	FIND(release, "cuMemFree_v2");
	FIND(host_allocate, "cuMemHostAlloc");
	FIND(stream_create, "cuStreamCreate");
	FIND(stream_wait, "cuStreamSynchronize");
	FIND(to_device, "cuMemcpyHtoDAsync_v2");
	FIND(to_host, "cuMemcpyDtoHAsync_v2");
	FIND(fill, "cuMemsetD32Async");
	FIND(copy, "cuMemcpyDtoDAsync_v2");
	FIND(memory_info, "cuMemGetInfo_v2");
	FIND(load, "cuModuleLoadData");
	FIND(function, "cuModuleGetFunction");
	FIND(launch, "cuLaunchKernel");
	FIND(event_create, "cuEventCreate");
	FIND(event_record, "cuEventRecord");
	FIND(event_wait, "cuEventSynchronize");
	FIND(stream_wait_event, "cuStreamWaitEvent");
	did(cuda.init(0), "cuInit");
	did(cuda.context_create(&cuda.context, 8, 0), "cuCtxCreate");
	did(cuda.stream_create(&cuda.stream, 1), "cuStreamCreate");
	did(cuda.stream_create(&cuda.other_stream, 1), "cuStreamCreate");
}

/* ---- a table ---- */

static inline double seconds(uint64_t since_ns)
{
	return (double)(clock_now_ns() - since_ns) / 1e9;
}

static inline double best(double a, double b)
{
	return a > b ? a : b;
}

static inline void header(void)
{
	printf("%-44s %12s %12s %-6s %8s\n", "what", "here", "CUDA", "", "ratio");
}

static inline void row(const char *what, double here, double there, const char *unit, double goal)
{
	double ratio = there > 0 ? here / there : 0;

	printf("%-44s %12.2f %12.2f %-6s %8.3f  (goal %.2f)\n", what, here, there, unit, ratio,
	       goal);
	fflush(stdout);
}

/* ---- a client ---- */

static struct {
	D3DKMT_HANDLE adapter;
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE queue_fence;
	const volatile UINT64 *queue_value;
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	const volatile UINT64 *value;
	UINT64 fence_address;
	UINT64 last;
	char *commands;
	UINT64 command_address;
} client;

static inline void paging_wait(UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hDevice = client.device,
							    .ObjectCount = 1,
							    .ObjectHandleArray =
								    &client.queue_fence,
							    .FenceValueArray = &value };

	require(D3DKMTWaitForSynchronizationObjectFromCpu(&wait), "wait");
}

/* The same by looking, as the driver API waits. */
static inline void paging_seen(UINT64 value)
{
	uint64_t start = clock_now_ns();

	while (*client.queue_value < value) {
		if (seconds(start) > 60) {
			fprintf(stderr, "cuda bench: memory does not come\n");
			exit(1);
		}
	}
}

/* Every move that was begun is over. */
static inline void moves_flush(void)
{
	require(D3DKMTFlushHeapTransitions(&(D3DKMT_FLUSHHEAPTRANSITIONS){ client.adapter }),
		"flush");
}

static inline D3DKMT_HANDLE create(UINT64 size_bytes, unsigned flags)
{
	struct softgpu_allocation wish = { SOFTGPU_ALLOCATION_VERSION, flags, size_bytes, 0 };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &wish,
					.PrivateDriverDataSize = sizeof(wish) };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client.device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	require(D3DKMTCreateAllocation2(&args), "create");
	return info.hAllocation;
}

static inline void destroy(const D3DKMT_HANDLE *handles, unsigned count)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = client.device,
					   .phAllocationList = handles,
					   .AllocationCount = count };

	require(D3DKMTDestroyAllocation2(&args), "destroy");
}

/* The value of the queue's fence behind it. */
static inline UINT64 resident_begin(const D3DKMT_HANDLE *handles, unsigned count)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client.queue,
				     .NumAllocations = count,
				     .AllocationList = handles };
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (status == STATUS_PENDING)
		return args.PagingFenceValue;
	require(status, "resident");
	return 0;
}

static inline void resident(const D3DKMT_HANDLE *handles, unsigned count)
{
	paging_seen(resident_begin(handles, count));
}

static inline void evict(const D3DKMT_HANDLE *handles, unsigned count)
{
	D3DKMT_EVICT args = { .hDevice = client.device,
			      .NumAllocations = count,
			      .AllocationList = handles };

	require(D3DKMTEvict(&args), "evict");
}

static inline UINT64 map(D3DKMT_HANDLE handle, UINT64 size_bytes)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = client.queue,
					     .hAllocation = handle,
					     .SizeInPages = size_bytes / 4096 };

	args.Protection.Write = 1;
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);
	if (status != STATUS_PENDING)
		require(status, "map");
	paging_wait(args.PagingFenceValue);
	return args.VirtualAddress;
}

static inline void client_begin(void)
{
	D3DKMT_ADAPTERINFO adapters[34] = { 0 };
	D3DKMT_ENUMADAPTERS2 all = { 34, adapters };

	require(D3DKMTEnumAdapters2(&all), "adapters");
	if (all.NumAdapters == 0) {
		fprintf(stderr, "cuda bench: no adapter started\n");
		exit(1);
	}
	client.adapter = adapters[0].hAdapter;
	D3DKMT_CREATEDEVICE device = { .hAdapter = client.adapter };
	require(D3DKMTCreateDevice(&device), "device");
	client.device = device.hDevice;
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client.device };
	require(D3DKMTCreatePagingQueue(&queue), "queue");
	client.queue = queue.hPagingQueue;
	client.queue_fence = queue.hSyncObject;
	client.queue_value = queue.FenceValueCPUVirtualAddress;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = client.device };
	fence.Info.Type = D3DDDI_MONITORED_FENCE;
	require(D3DKMTCreateSynchronizationObject2(&fence), "fence");
	client.fence = fence.hSyncObject;
	client.value = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	client.fence_address = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = client.device };
	require(D3DKMTCreateContextVirtual(&context), "context");
	client.context = context.hContext;
	D3DKMT_HANDLE commands = create(65536, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	resident(&commands, 1);
	client.command_address = map(commands, 65536);
	D3DKMT_LOCK2 lock = { .hDevice = client.device, .hAllocation = commands };
	require(D3DKMTLock2(&lock), "lock");
	client.commands = lock.pData;
}

/* Behind the command the fence is written by the GPU. */
static inline void submit(const void *command, unsigned size_bytes, unsigned at)
{
	struct softgpu_write64 write = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_WRITE64, sizeof(write) },
		.destination.virtual_address = client.fence_address,
		.value = ++client.last,
	};
	D3DKMT_SUBMITCOMMAND args = { .Commands = client.command_address + at,
				      .CommandLength = size_bytes + (unsigned)sizeof(write),
				      .BroadcastContextCount = 1 };

	if (size_bytes)
		memcpy(client.commands + at, command, size_bytes);
	memcpy(client.commands + at + size_bytes, &write, sizeof(write));
	args.BroadcastContext[0] = client.context;
	require(D3DKMTSubmitCommand(&args), "submit");
}

static inline void seen(void)
{
	uint64_t start = clock_now_ns();

	while (*client.value < client.last) {
		if (seconds(start) > 60) {
			fprintf(stderr, "cuda bench: a packet does not end\n");
			exit(1);
		}
	}
}

#endif
