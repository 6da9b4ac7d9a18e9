/* SPDX-License-Identifier: MIT */
/*
 * cuda_pairs.c - what cuda.so does, beside the CUDA driver API itself, in one run.
 *
 *	cuda_pairs            a table: what, here, the driver API, the ratio
 *
 * The adapter is the first one (DXGK_PROFILE). A library in the place of libcuda.so.1 does as well,
 * to see that the program works; its figures mean nothing.
 */
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
	void *context;
	void *stream;
	void *other_stream;
} cuda;

static void did(int status, const char *what)
{
	if (status != 0) {
		fprintf(stderr, "cuda_pairs: %s: error %d\n", what, status);
		exit(1);
	}
}

static void require(NTSTATUS status, const char *what)
{
	if (!NT_SUCCESS(status)) {
		fprintf(stderr, "cuda_pairs: %s: 0x%08x\n", what, (unsigned)status);
		exit(1);
	}
}

static void *symbol(void *library, const char *name)
{
	return dlsym(library, name);
}

#define FIND(member, name) (*(void **)&cuda.member = symbol(library, name))

static void cuda_begin(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "cuda_pairs: %s\n", dlerror());
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
	did(cuda.init(0), "cuInit");
	did(cuda.context_create(&cuda.context, 8, 0), "cuCtxCreate");
	did(cuda.stream_create(&cuda.stream, 1), "cuStreamCreate");
	did(cuda.stream_create(&cuda.other_stream, 1), "cuStreamCreate");
}

/* ---- a table ---- */

static double seconds(uint64_t since_ns)
{
	return (double)(clock_now_ns() - since_ns) / 1e9;
}

static void row(const char *what, double here, double there, const char *unit, double goal)
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
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	const volatile UINT64 *value;
	UINT64 fence_address;
	UINT64 last;
	char *commands;
	UINT64 command_address;
} client;

static void paging_wait(UINT64 value)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hDevice = client.device,
							    .ObjectCount = 1,
							    .ObjectHandleArray =
								    &client.queue_fence,
							    .FenceValueArray = &value };

	require(D3DKMTWaitForSynchronizationObjectFromCpu(&wait), "wait");
}

static D3DKMT_HANDLE create(UINT64 size_bytes, unsigned flags)
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

static void destroy(const D3DKMT_HANDLE *handles, unsigned count)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = client.device,
					   .phAllocationList = handles,
					   .AllocationCount = count };

	require(D3DKMTDestroyAllocation2(&args), "destroy");
}

static void resident(const D3DKMT_HANDLE *handles, unsigned count)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client.queue,
				     .NumAllocations = count,
				     .AllocationList = handles };
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (status == STATUS_PENDING)
		paging_wait(args.PagingFenceValue);
	else
		require(status, "resident");
}

static void evict(const D3DKMT_HANDLE *handles, unsigned count)
{
	D3DKMT_EVICT args = { .hDevice = client.device,
			      .NumAllocations = count,
			      .AllocationList = handles };

	require(D3DKMTEvict(&args), "evict");
}

static UINT64 map(D3DKMT_HANDLE handle, UINT64 size_bytes)
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

static void client_begin(void)
{
	D3DKMT_ADAPTERINFO adapters[34] = { 0 };
	D3DKMT_ENUMADAPTERS2 all = { 34, adapters };

	require(D3DKMTEnumAdapters2(&all), "adapters");
	if (all.NumAdapters == 0) {
		fprintf(stderr, "cuda_pairs: no adapter started\n");
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
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = client.device };
	require(D3DKMTCreateContextVirtual(&context), "context");
	client.context = context.hContext;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = client.device };
	fence.Info.Type = D3DDDI_MONITORED_FENCE;
	require(D3DKMTCreateSynchronizationObject2(&fence), "fence");
	client.fence = fence.hSyncObject;
	client.value = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	client.fence_address = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
	D3DKMT_HANDLE commands = create(65536, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	resident(&commands, 1);
	client.command_address = map(commands, 65536);
	D3DKMT_LOCK2 lock = { .hDevice = client.device, .hAllocation = commands };
	require(D3DKMTLock2(&lock), "lock");
	client.commands = lock.pData;
}

/* Behind the command the fence is written by the GPU. */
static void submit(const void *command, unsigned size_bytes, unsigned at)
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

static void seen(void)
{
	uint64_t start = clock_now_ns();

	while (*client.value < client.last) {
		if (seconds(start) > 60) {
			fprintf(stderr, "cuda_pairs: a packet does not end\n");
			exit(1);
		}
	}
}

/* ---- what is measured ---- */

static double best(double a, double b)
{
	return a > b ? a : b;
}

static void measure_pairs(void)
{
	enum { PAIRS = 2000 };
	D3DKMT_HANDLE handle;
	device_pointer pointer;

	uint64_t start = clock_now_ns();
	for (unsigned i = 0; i < PAIRS; i++) {
		handle = create(65536, 0);
		destroy(&handle, 1);
	}
	double here = PAIRS / seconds(start);
	start = clock_now_ns();
	for (unsigned i = 0; i < 200; i++) {
		did(cuda.allocate(&pointer, 65536), "cuMemAlloc");
		did(cuda.release(pointer), "cuMemFree");
	}
	row("create + destroy of 64 KiB, a second", here, 200 / seconds(start), "/s", 100);
}

static void measure_paging(UINT64 each, unsigned count, double goal_in, const char *what)
{
	D3DKMT_HANDLE *handles = calloc(count, sizeof(*handles));
	UINT64 bytes = each * count;
	device_pointer device;
	double in = 0;
	double out = 0;
	double cuda_in = 0;
	double cuda_out = 0;
	char name[80];
	void *host;

	for (unsigned i = 0; i < count; i++)
		handles[i] = create(each, SOFTGPU_LOCAL_ONLY | SOFTGPU_CPU_VISIBLE);
	/* What was never written would only be zeroed. */
	for (unsigned i = 0; i < count; i++) {
		D3DKMT_LOCK2 lock = { .hDevice = client.device, .hAllocation = handles[i] };
		D3DKMT_UNLOCK2 unlock = { .hDevice = client.device, .hAllocation = handles[i] };

		require(D3DKMTLock2(&lock), "lock");
		memset(lock.pData, (int)i + 1, each);
		require(D3DKMTUnlock2(&unlock), "unlock");
	}
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t start = clock_now_ns();
		resident(handles, count);
		if (turn > 0)
			in = best(in, (double)bytes / seconds(start) / 1e9);
		start = clock_now_ns();
		evict(handles, count);
		require(D3DKMTFlushHeapTransitions(
				&(D3DKMT_FLUSHHEAPTRANSITIONS){ client.adapter }),
			"flush");
		out = best(out, (double)bytes / seconds(start) / 1e9);
	}
	did(cuda.allocate(&device, bytes), "cuMemAlloc");
	did(cuda.host_allocate(&host, bytes, 0), "cuMemHostAlloc");
	memset(host, 1, bytes);
	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t start = clock_now_ns();
		for (UINT64 at = 0; at < bytes; at += each)
			did(cuda.to_device(device + at, (char *)host + at, each, cuda.stream),
			    "cuMemcpyHtoD");
		did(cuda.stream_wait(cuda.stream), "wait");
		cuda_in = best(cuda_in, (double)bytes / seconds(start) / 1e9);
		start = clock_now_ns();
		for (UINT64 at = 0; at < bytes; at += each)
			did(cuda.to_host((char *)host + at, device + at, each, cuda.stream),
			    "cuMemcpyDtoH");
		did(cuda.stream_wait(cuda.stream), "wait");
		cuda_out = best(cuda_out, (double)bytes / seconds(start) / 1e9);
	}
	did(cuda.release(device), "cuMemFree");
	snprintf(name, sizeof(name), "page in, %s", what);
	row(name, in, cuda_in, "GB/s", goal_in);
	snprintf(name, sizeof(name), "page out, %s", what);
	row(name, out, cuda_out, "GB/s", goal_in);
	destroy(handles, count);
	free(handles);
}

static void measure_transfers(UINT64 size_bytes)
{
	D3DKMT_HANDLE handles[2] = { create(size_bytes, SOFTGPU_LOCAL_ONLY),
				     create(size_bytes, SOFTGPU_LOCAL_ONLY) };
	device_pointer device[2];
	double fill_here = 0;
	double copy_here = 0;
	double fill_there = 0;
	double copy_there = 0;

	resident(handles, 2);
	struct softgpu_fill fill = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL, sizeof(fill) },
		.destination.virtual_address = map(handles[0], size_bytes),
		.size_bytes = size_bytes,
		.pattern = 0x12345678,
	};
	struct softgpu_copy copy = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_COPY, sizeof(copy) },
		.destination.virtual_address = map(handles[1], size_bytes),
		.source.virtual_address = fill.destination.virtual_address,
		.size_bytes = size_bytes,
	};
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t start = clock_now_ns();
		submit(&fill, sizeof(fill), 0);
		seen();
		fill_here = best(fill_here, (double)size_bytes / seconds(start) / 1e9);
		start = clock_now_ns();
		submit(&copy, sizeof(copy), 0);
		seen();
		copy_here = best(copy_here, (double)size_bytes / seconds(start) / 1e9);
	}
	destroy(handles, 2);
	did(cuda.allocate(&device[0], size_bytes), "cuMemAlloc");
	did(cuda.allocate(&device[1], size_bytes), "cuMemAlloc");
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t start = clock_now_ns();
		did(cuda.fill(device[0], 1, size_bytes / 4, cuda.stream), "cuMemsetD32");
		did(cuda.stream_wait(cuda.stream), "wait");
		fill_there = best(fill_there, (double)size_bytes / seconds(start) / 1e9);
		start = clock_now_ns();
		if (cuda.copy)
			did(cuda.copy(device[1], device[0], size_bytes, cuda.stream),
			    "cuMemcpyDtoD");
		did(cuda.stream_wait(cuda.stream), "wait");
		copy_there = best(copy_there, (double)size_bytes / seconds(start) / 1e9);
	}
	did(cuda.release(device[0]), "cuMemFree");
	did(cuda.release(device[1]), "cuMemFree");
	row("fill through page tables", fill_here, fill_there, "GB/s", 0.75);
	row("copy through page tables", copy_here, copy_there, "GB/s", 0.85);
}

static void measure_packets(void)
{
	enum { TURNS = 2000, IN_FLIGHT = 64 };
	double fastest = 0;

	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t start = clock_now_ns();
		for (unsigned i = 0; i < TURNS; i++) {
			submit(NULL, 0, 0);
			seen();
		}
		fastest = best(fastest, TURNS / seconds(start));
	}
	/* A launch that writes the word takes 6.4 µs on an H200 (measured apart). */
	row("submit until seen, us (beside 6.4)", 1e6 / fastest, 6.4, "us", 1.3);
	fastest = 0;
	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t start = clock_now_ns();
		for (unsigned i = 0; i < TURNS; i++) {
			submit(NULL, 0, i % IN_FLIGHT * 64);
			while (*client.value + IN_FLIGHT <= client.last)
				;
		}
		seen();
		fastest = best(fastest, TURNS / seconds(start));
	}
	row("64 packets in flight, k/s (beside 238)", fastest / 1e3, 238, "k/s", 0.8);
}

int main(void)
{
	UINT64 large =
		getenv("CUDA_PAIRS_MIB") ? strtoull(getenv("CUDA_PAIRS_MIB"), NULL, 10) : 4096;

	client_begin();
	cuda_begin();
	printf("%-44s %12s %12s %-6s %8s\n", "what", "here", "CUDA", "", "ratio");
	measure_pairs();
	measure_packets();
	measure_transfers(large * MIB);
	measure_paging(64 * MIB, 1, 0.95, "64 MiB");
	measure_paging(65536, 2048, 0.85, "64 KiB each");
	return 0;
}
