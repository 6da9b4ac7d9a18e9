/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c - kernels of one's own, on cuda.so: a product of matrices, and a saxpy over arrays that are
 * together half as large again as the GPU's memory.
 *
 *	profile    {"adapters": [{"driver": "cuda", "registry": {"LocalMemoryMiB": 64, "HardwareAddresses": 1}}]}
 *	module     arithmetic.c as PTX, loaded by an escape
 *	memory     SOFTGPU_HARDWARE_ADDRESS, each mapped at an address of our choice: kernels use the same
 *	a kernel   a command as any other: memory that is resident may be named in it
 *
 * Bytes come and go through a buffer in system memory, copied by the GPU. Everything is compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/softgpu.h>

extern const char arithmetic_ptx[];

/* In the process where kernels run the host's own memory is elsewhere. */
#define FIRST_ADDRESS UINT64_C(0x200000000000)

#define LARGE_PAGE    SOFTGPU_LARGE_PAGE_BYTES
#define STAGING_BYTES (4 * LARGE_PAGE)
#define COMMAND_BYTES UINT64_C(65536)

static D3DKMT_HANDLE adapter, device, queue, queue_fence, context, fence;
static const volatile UINT64 *fence_value;
static UINT64 last_value;
static UINT64 next_address = FIRST_ADDRESS;

struct memory {
	D3DKMT_HANDLE handle;
	UINT64 address;
	void *pointer; /* what the CPU sees */
};
static struct memory staging;
static struct memory commands;

static void need(NTSTATUS status, const char *what)
{
	if (NT_SUCCESS(status))
		return;
	fprintf(stderr, "%s: 0x%08x\n", what, (unsigned)status);
	exit(1);
}

static void wait_for(D3DKMT_HANDLE object, UINT64 value)
{
	need(D3DKMTWaitForSynchronizationObjectFromCpu(
		     &(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){ .hDevice = device,
								    .ObjectCount = 1,
								    .ObjectHandleArray = &object,
								    .FenceValueArray = &value }),
	     "wait");
}

/* ---- memory ---- */

static void make_resident(const D3DKMT_HANDLE *handles, unsigned count)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = queue,
				     .NumAllocations = count,
				     .AllocationList = handles };
	NTSTATUS status = D3DKMTMakeResident(&args);

	need(status, "MakeResident");
	if (status == STATUS_PENDING)
		wait_for(queue_fence, args.PagingFenceValue);
}

static void evict(const D3DKMT_HANDLE *handles, unsigned count)
{
	need(D3DKMTEvict(&(D3DKMT_EVICT){
		     .hDevice = device, .NumAllocations = count, .AllocationList = handles }),
	     "Evict");
}

/* Mapped at the next address; not resident. */
static struct memory create(UINT64 size_bytes, unsigned flags)
{
	struct softgpu_allocation wish = { SOFTGPU_ALLOCATION_VERSION, flags, size_bytes, 0 };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &wish,
					.PrivateDriverDataSize = sizeof(wish) };
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	need(D3DKMTCreateAllocation2(&args), "CreateAllocation2");
	D3DDDI_MAPGPUVIRTUALADDRESS map = { .hPagingQueue = queue,
					    .hAllocation = info.hAllocation,
					    .BaseAddress = next_address,
					    .SizeInPages = size_bytes / 4096 };
	map.Protection.Write = 1;
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&map);
	need(status, "MapGpuVirtualAddress");
	if (status == STATUS_PENDING)
		wait_for(queue_fence, map.PagingFenceValue);
	next_address += (size_bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
	return (struct memory){ .handle = info.hAllocation, .address = map.VirtualAddress };
}

static struct memory create_seen(UINT64 size_bytes)
{
	struct memory memory = create(size_bytes, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	D3DKMT_LOCK2 lock = { .hDevice = device, .hAllocation = memory.handle };

	make_resident(&memory.handle, 1);
	need(D3DKMTLock2(&lock), "Lock2");
	memory.pointer = lock.pData;
	return memory;
}

/* ---- commands ---- */

static void run(const void *command, unsigned size_bytes)
{
	D3DKMT_SUBMITCOMMAND submit = { .Commands = commands.address,
					.CommandLength = size_bytes,
					.BroadcastContextCount = 1,
					.BroadcastContext = { context } };
	UINT64 value = ++last_value;
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = { .hContext = context,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &fence,
							     .MonitoredFenceValueArray = &value };

	memcpy(commands.pointer, command, size_bytes);
	need(D3DKMTSubmitCommand(&submit), "SubmitCommand");
	need(D3DKMTSignalSynchronizationObjectFromGpu(&signal), "SignalSynchronizationObject");
	wait_for(fence, value);
	if (*fence_value < value) {
		fprintf(stderr, "the device was lost\n");
		exit(1);
	}
}

static void copy(UINT64 to, UINT64 from, UINT64 size_bytes)
{
	struct softgpu_copy command = { { SOFTGPU_COMMAND_MAGIC, SOFTGPU_COPY, sizeof(command) },
					{ to },
					{ from },
					size_bytes };

	run(&command, sizeof(command));
}

static void upload(UINT64 to, const void *from, UINT64 size_bytes)
{
	for (UINT64 at = 0; at < size_bytes; at += STAGING_BYTES) {
		UINT64 part = size_bytes - at < STAGING_BYTES ? size_bytes - at : STAGING_BYTES;

		memcpy(staging.pointer, (const char *)from + at, part);
		copy(to + at, staging.address, part);
	}
}

static void download(void *to, UINT64 from, UINT64 size_bytes)
{
	for (UINT64 at = 0; at < size_bytes; at += STAGING_BYTES) {
		UINT64 part = size_bytes - at < STAGING_BYTES ? size_bytes - at : STAGING_BYTES;

		copy(staging.address, from + at, part);
		memcpy((char *)to + at, staging.pointer, part);
	}
}

/* ---- kernels ---- */

static void escape(void *request, unsigned size_bytes, const char *what)
{
	need(D3DKMTEscape(&(D3DKMT_ESCAPE){ .hAdapter = adapter,
					    .hDevice = device,
					    .Type = D3DKMT_ESCAPE_DRIVERPRIVATE,
					    .pPrivateDriverData = request,
					    .PrivateDriverDataSize = size_bytes }),
	     what);
}

static uint32_t load_module(const char *ptx)
{
	uint32_t image_bytes = (uint32_t)strlen(ptx) + 1;
	uint32_t size_bytes = (uint32_t)sizeof(struct softgpu_escape_module) + image_bytes;
	struct softgpu_escape_module *request = calloc(1, size_bytes);

	if (!request)
		exit(1);
	request->header = (struct softgpu_escape){ SOFTGPU_ESCAPE_VERSION,
						   SOFTGPU_ESCAPE_LOAD_MODULE, size_bytes, 0 };
	request->image_bytes = image_bytes;
	memcpy(request + 1, ptx, image_bytes);
	escape(request, size_bytes, "load of a module");
	uint32_t module = request->module;
	free(request);
	return module;
}

static uint32_t find_kernel(uint32_t module, const char *name)
{
	struct softgpu_escape_kernel request = { { SOFTGPU_ESCAPE_VERSION,
						   SOFTGPU_ESCAPE_FIND_KERNEL, sizeof(request), 0 },
						 .module = module };

	snprintf(request.name, sizeof(request.name), "%s", name);
	escape(&request, sizeof(request), name);
	return request.kernel;
}

/* The first of them is written, the others are read. */
static void dispatch(uint32_t kernel, const struct memory *memories, unsigned count,
		     UINT64 size_bytes, const void *parameters, uint32_t parameter_bytes)
{
	struct softgpu_dispatch command = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_DISPATCH, sizeof(command) },
		.kernel = kernel,
		.groups = { 256, 1, 1 },
		.threads = { 256, 1, 1 },
		.arguments = commands.address + sizeof(command),
		.range_count = count,
		.parameter_bytes = parameter_bytes,
	};
	char *arguments = (char *)commands.pointer + sizeof(command);

	for (unsigned i = 0; i < count; i++) {
		struct softgpu_range range = { .address = memories[i].address,
					       .size_bytes = size_bytes,
					       .flags = i == 0 ? SOFTGPU_RANGE_WRITTEN : 0 };

		memcpy(arguments + i * sizeof(range), &range, sizeof(range));
	}
	memcpy(arguments + count * sizeof(struct softgpu_range), parameters, parameter_bytes);
	run(&command, sizeof(command));
}

/* ---- what is computed ---- */

static void multiply_matrices(uint32_t kernel)
{
	enum { N = 256 };
	const UINT64 size_bytes = (UINT64)N * N * sizeof(float);
	struct memory m[3];
	D3DKMT_HANDLE handles[3];
	float *a = malloc(size_bytes);
	float *b = malloc(size_bytes);
	float *c = malloc(size_bytes);
	unsigned wrong = 0;

	for (unsigned i = 0; i < 3; i++) {
		m[i] = create(LARGE_PAGE, SOFTGPU_HARDWARE_ADDRESS);
		handles[i] = m[i].handle;
	}
	make_resident(handles, 3);
	for (unsigned i = 0; i < N * N; i++) {
		a[i] = (float)(i % 7);
		b[i] = (float)(i % 5) - 2;
	}
	upload(m[1].address, a, size_bytes);
	upload(m[2].address, b, size_bytes);
	struct {
		uint64_t c, a, b, n;
	} parameters = { m[0].address, m[1].address, m[2].address, N };
	dispatch(kernel, m, 3, LARGE_PAGE, &parameters, sizeof(parameters));
	download(c, m[0].address, size_bytes);
	for (unsigned i = 0; i < N * N; i++) {
		float sum = 0;

		for (unsigned k = 0; k < N; k++)
			sum += a[i / N * N + k] * b[k * N + i % N];
		wrong += c[i] != sum;
	}
	printf("multiply  %u x %u matrices: %u of %u elements are wrong\n", N, N, wrong, N * N);
	evict(handles, 3);
	free(a);
	free(b);
	free(c);
	if (wrong)
		exit(1);
}

/* Pairs of arrays, of which some fit at a time; each pass needs all of them. */
static void saxpy_over_all(uint32_t kernel, UINT64 local_bytes)
{
	enum { PASSES = 3 };
	UINT64 each = local_bytes / 32 / LARGE_PAGE * LARGE_PAGE;
	if (each == 0)
		each = LARGE_PAGE;
	unsigned pairs = (unsigned)(local_bytes * 3 / 2 / (2 * each)) + 1;
	UINT64 count = each / sizeof(float);
	struct memory(*m)[2] = calloc(pairs, sizeof(*m)); /* y, x */
	float *numbers = malloc(each);
	UINT64 wrong = 0;

	if (!m || !numbers)
		exit(1);
	for (unsigned pair = 0; pair < pairs; pair++) {
		for (unsigned i = 0; i < 2; i++) {
			m[pair][i] = create(each, SOFTGPU_HARDWARE_ADDRESS);
			make_resident(&m[pair][i].handle, 1);
			for (UINT64 at = 0; at < count; at++)
				numbers[at] = (float)(at % 1000 + (i ? 3 * pair : pair));
			upload(m[pair][i].address, numbers, each);
			evict(&m[pair][i].handle, 1);
		}
	}
	for (unsigned pass = 0; pass < PASSES; pass++) {
		for (unsigned pair = 0; pair < pairs; pair++) {
			D3DKMT_HANDLE handles[2] = { m[pair][0].handle, m[pair][1].handle };
			struct {
				uint64_t y, x, count;
				float a;
			} __attribute__((packed))
			parameters = { m[pair][0].address, m[pair][1].address, count, 2 };

			make_resident(handles, 2);
			dispatch(kernel, m[pair], 2, each, &parameters, sizeof(parameters));
			evict(handles, 2);
		}
	}
	for (unsigned pair = 0; pair < pairs; pair++) {
		make_resident(&m[pair][0].handle, 1);
		download(numbers, m[pair][0].address, each);
		evict(&m[pair][0].handle, 1);
		for (UINT64 at = 0; at < count; at++)
			wrong += numbers[at] != (float)(at % 1000 + pair) +
							PASSES * 2 * (float)(at % 1000 + 3 * pair);
	}
	printf("saxpy     %u arrays of %llu MiB in %llu MiB of memory, %u passes: %llu of %llu "
	       "elements "
	       "are wrong\n",
	       2 * pairs, (unsigned long long)each >> 20, (unsigned long long)local_bytes >> 20,
	       PASSES, (unsigned long long)wrong, (unsigned long long)count * pairs);
	free(numbers);
	free(m);
	if (wrong)
		exit(1);
}

int main(void)
{
	D3DKMT_ADAPTERINFO adapters[34] = { 0 };
	D3DKMT_ENUMADAPTERS2 all = { 34, adapters };
	struct softgpu_adapter_info info = { 0 };

	need(D3DKMTEnumAdapters2(&all), "EnumAdapters2");
	if (all.NumAdapters == 0) {
		fprintf(stderr, "there is no adapter\n");
		return 1;
	}
	adapter = adapters[0].hAdapter;
	if (getenv("DISPATCH_ADDRESS"))
		next_address = strtoull(getenv("DISPATCH_ADDRESS"), NULL, 0);
	need(D3DKMTQueryAdapterInfo(
		     &(D3DKMT_QUERYADAPTERINFO){ .hAdapter = adapter,
						 .Type = KMTQAITYPE_UMDRIVERPRIVATE,
						 .pPrivateDriverData = &info,
						 .PrivateDriverDataSize = sizeof(info) }),
	     "QueryAdapterInfo");
	D3DKMT_CREATEDEVICE make_device = { .hAdapter = adapter };
	need(D3DKMTCreateDevice(&make_device), "CreateDevice");
	device = make_device.hDevice;
	D3DKMT_CREATEPAGINGQUEUE make_queue = { .hDevice = device };
	need(D3DKMTCreatePagingQueue(&make_queue), "CreatePagingQueue");
	queue = make_queue.hPagingQueue;
	queue_fence = make_queue.hSyncObject;
	D3DKMT_CREATECONTEXTVIRTUAL make_context = { .hDevice = device };
	need(D3DKMTCreateContextVirtual(&make_context), "CreateContextVirtual");
	context = make_context.hContext;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 make_fence = { .hDevice = device };
	make_fence.Info.Type = D3DDDI_MONITORED_FENCE;
	need(D3DKMTCreateSynchronizationObject2(&make_fence), "CreateSynchronizationObject2");
	fence = make_fence.hSyncObject;
	fence_value = make_fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;

	staging = create_seen(STAGING_BYTES);
	commands = create_seen(COMMAND_BYTES);
	uint32_t module = load_module(arithmetic_ptx);
	multiply_matrices(find_kernel(module, "multiply"));
	saxpy_over_all(find_kernel(module, "saxpy"), info.local_bytes);
	D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){ device });
	return 0;
}
