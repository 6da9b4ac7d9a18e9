/* SPDX-License-Identifier: MIT */
/*
 * calls_fuzz.c - bytes become calls, as libFuzzer invents them.
 *
 *   in:   any bytes: which call, then what goes into its struct
 *   out:  nothing, or the end of the program: a sanitizer's report, an assertion, or a kernel whose
 *         books do not agree (dxgk_test_validate)
 *
 * A struct is filled with bytes as they come; then its handles and pointers are set. Handles are
 * mostly ones that calls before handed out, of the right kind or not. Pointers are NULL or buffers
 * of at least the size that is stated, because in the embedded kernel a wild pointer is the
 * client's own crash. Every input begins with a new process and one device, and leaves nothing
 * behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <opendxgk/testing.h>

#include "fuzz/fuzz.h"

struct fuzz_world world;
struct fuzz_buffers buffers;

static _Alignas(4096) unsigned char heap[65536];

/* ---- calls ---- */

static void create_device(struct input *input)
{
	D3DKMT_CREATEDEVICE args = { .hAdapter = take_handle(input, ADAPTER) };

	memcpy(&args.Flags, &(uint32_t){ take_flags(input) }, sizeof(args.Flags));
	if (NT_SUCCESS(D3DKMTCreateDevice(&args)))
		keep(DEVICE, args.hDevice);
}

static void destroy_device(struct input *input)
{
	D3DKMT_DESTROYDEVICE args = { take_handle(input, DEVICE) };

	D3DKMTDestroyDevice(&args);
}

static void create_context(struct input *input)
{
	D3DKMT_CREATECONTEXTVIRTUAL args;

	take(input, &args, sizeof(args) < 40 ? sizeof(args) : 40);
	args.hDevice = take_handle(input, DEVICE);
	args.pPrivateDriverData = take_pointer(input, buffers.first);
	args.PrivateDriverDataSize = take_count(input, DATA_BYTES);
	args.NodeOrdinal %= 8;
	if (NT_SUCCESS(D3DKMTCreateContextVirtual(&args)))
		keep(CONTEXT, args.hContext);
}

static void destroy_context(struct input *input)
{
	D3DKMT_DESTROYCONTEXT args = { take_handle(input, CONTEXT) };

	D3DKMTDestroyContext(&args);
}

/* Small mostly, and sometimes more than there is. */
static uint64_t take_size(struct input *input)
{
	uint8_t byte = take_byte(input);

	return byte == 255 ? (uint64_t)take_number(input) << 20 : (uint64_t)byte * 1000;
}

static void fill_element(struct input *input, D3DDDI_ALLOCATIONINFO2 *element,
			 struct softgpu_allocation *described)
{
	static const uint32_t versions[] = { SOFTGPU_ALLOCATION_VERSION, SOFTGPU_SURFACE_VERSION };
	uint8_t choice = take_byte(input);

	*described = (struct softgpu_allocation){ .version = versions[choice == 0],
						  .flags = take_byte(input) & 0x1f,
						  .size_bytes = take_size(input) };
	*element = (D3DDDI_ALLOCATIONINFO2){
		.pPrivateDriverData = choice == 1 ? NULL : described,
		.PrivateDriverDataSize = choice == 2 ? choice : sizeof(*described),
	};
	if (choice >= 224) {
		element->Flags.Value = take_flags(input);
		element->VidPnSourceId = take_byte(input) & 1;
		element->Priority = take_number(input);
		element->pSystemMem = choice == 225 ? heap + 1 : heap;
	}
}

static void create_allocation(struct input *input)
{
	uint8_t choice = take_byte(input);
	bool is_v2 = choice & 1;
	D3DKMT_CREATEALLOCATION args = { .hDevice = take_handle(input, DEVICE) };

	args.hResource = choice & 2 ? take_handle(input, RESOURCE) : 0;
	memcpy(&args.Flags, &(uint32_t){ take_flags(input) }, sizeof(args.Flags));
	args.Flags.CreateShared |= (choice & 4) != 0;
	args.Flags.NtSecuritySharing |= (choice & 8) != 0;
	args.PrivateRuntimeDataSize = take_count(input, DATA_BYTES);
	args.pPrivateRuntimeData = take_pointer(input, buffers.first);
	args.PrivateDriverDataSize = take_count(input, DATA_BYTES);
	args.pPrivateDriverData = take_pointer(input, buffers.second);
	if (choice & 16) {
		buffers.standard = (D3DKMT_CREATESTANDARDALLOCATION){
			.Type = (D3DKMT_STANDARDALLOCATIONTYPE)(choice >> 7 ? choice : 1),
			.ExistingHeapData = { .Size = 4096 * (take_byte(input) % 17) },
		};
		args.pStandardAllocation = &buffers.standard;
		args.PrivateDriverDataSize = 0;
		args.Flags.StandardAllocation = args.Flags.ExistingSysMem = 1;
	}
	args.NumAllocations = take_count(input, choice & 16 ? 1 : ELEMENTS);
	for (uint32_t i = 0; i < args.NumAllocations && i < ELEMENTS; i++) {
		fill_element(input, &buffers.elements2[i], &buffers.described[i]);
		if (choice & 16)
			buffers.elements2[i].pSystemMem = heap;
		memcpy(&buffers.elements[i], &buffers.elements2[i], sizeof(buffers.elements[i]));
	}
	args.pAllocationInfo =
		take_pointer(input, is_v2 ? (void *)buffers.elements2 : (void *)buffers.elements);
	NTSTATUS status = is_v2 ? D3DKMTCreateAllocation2(&args) : D3DKMTCreateAllocation(&args);
	if (!NT_SUCCESS(status))
		return;
	keep(RESOURCE, args.hResource);
	keep(GLOBAL, args.hGlobalShare);
	for (uint32_t i = 0; i < args.NumAllocations; i++)
		keep(ALLOCATION,
		     is_v2 ? buffers.elements2[i].hAllocation : buffers.elements[i].hAllocation);
}

static void destroy_allocation(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = take_handle(input, DEVICE) };

	args.hResource = choice & 1 ? take_handle(input, RESOURCE) : 0;
	if (!(choice & 1) || (choice & 0x70) == 0x70)
		args.phAllocationList = take_list(input, &args.AllocationCount);
	args.Flags.Value = choice & 0x80 ? take_flags(input) : choice >> 1 & 3;
	if (world.has_gate)
		args.Flags.SynchronousDestroy = 0;
	D3DKMTDestroyAllocation2(&args);
}

static void open_resource(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_OPENRESOURCEFROMNTHANDLE nt = {
		.hDevice = take_handle(input, DEVICE),
		.hNtHandle = take_file(input),
		.pOpenAllocationInfo2 = take_pointer(input, buffers.opened2),
		.pPrivateRuntimeData = take_pointer(input, buffers.first),
		.pResourcePrivateDriverData = take_pointer(input, buffers.second),
		.pTotalPrivateDriverDataBuffer = take_pointer(input, buffers.third),
	};
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE query_nt = { .hDevice = nt.hDevice,
							  .hNtHandle = nt.hNtHandle };
	D3DKMT_QUERYRESOURCEINFO query = { .hDevice = nt.hDevice,
					   .hGlobalShare = take_handle(input, GLOBAL) };

	/* Who asks first has the right sizes; who does not, perhaps. */
	if (choice & 1) {
		D3DKMTQueryResourceInfoFromNtHandle(&query_nt);
		memcpy(&query.PrivateRuntimeDataSize, &query_nt.PrivateRuntimeDataSize,
		       4 * sizeof(UINT));
	} else {
		D3DKMTQueryResourceInfo(&query);
	}
	nt.NumAllocations = query.NumAllocations;
	nt.PrivateRuntimeDataSize = query.PrivateRuntimeDataSize;
	nt.ResourcePrivateDriverDataSize = query.ResourcePrivateDriverDataSize;
	nt.TotalPrivateDriverDataBufferSize = query.TotalPrivateDriverDataSize;
	if (choice & 2)
		nt.NumAllocations = take_count(input, ELEMENTS);
	if (choice & 4)
		nt.PrivateRuntimeDataSize = take_count(input, DATA_BYTES);
	if (choice & 8)
		nt.TotalPrivateDriverDataBufferSize = take_count(input, ROOM);
	D3DKMT_OPENRESOURCE global = {
		.hDevice = nt.hDevice,
		.hGlobalShare = query.hGlobalShare,
		.NumAllocations = nt.NumAllocations,
		.pOpenAllocationInfo2 = nt.pOpenAllocationInfo2,
		.pPrivateRuntimeData = nt.pPrivateRuntimeData,
		.PrivateRuntimeDataSize = nt.PrivateRuntimeDataSize,
		.pResourcePrivateDriverData = nt.pResourcePrivateDriverData,
		.ResourcePrivateDriverDataSize = nt.ResourcePrivateDriverDataSize,
		.pTotalPrivateDriverDataBuffer = nt.pTotalPrivateDriverDataBuffer,
		.TotalPrivateDriverDataBufferSize = nt.TotalPrivateDriverDataBufferSize,
	};
	NTSTATUS status =
		choice & 1 ? D3DKMTOpenResourceFromNtHandle(&nt) : D3DKMTOpenResource2(&global);
	if (!NT_SUCCESS(status))
		return;
	keep(RESOURCE, choice & 1 ? nt.hResource : global.hResource);
	for (uint32_t i = 0; i < nt.NumAllocations; i++)
		keep(ALLOCATION, buffers.opened2[i].hAllocation);
}

/* What is locked is written to, as long as it is. */
static void lock(struct input *input)
{
	if (world.has_gate)
		return; /* what has to move first waits for work */
	uint8_t choice = take_byte(input);
	D3DKMT_LOCK2 newer = { .hDevice = take_handle(input, DEVICE),
			       .hAllocation = take_handle(input, ALLOCATION) };
	D3DKMT_LOCK older = { .hDevice = newer.hDevice, .hAllocation = newer.hAllocation };

	if (choice & 1) {
		newer.Flags.Value = choice & 0x80 ? take_flags(input) : 0;
		if (NT_SUCCESS(D3DKMTLock2(&newer)))
			memset(newer.pData, choice, 16);
		return;
	}
	older.Flags.Value = choice & 0x80 ? take_flags(input) : 0;
	older.NumPages = take_count(input, ELEMENTS);
	older.pPages = take_pointer(input, buffers.numbers);
	for (uint32_t i = 0; i < ELEMENTS; i++)
		buffers.numbers[i] = take_byte(input) & 3;
	if (NT_SUCCESS(D3DKMTLock(&older)))
		memset(older.pData, choice, 16);
}

static void unlock(struct input *input)
{
	D3DKMT_UNLOCK2 newer = { .hDevice = take_handle(input, DEVICE) };
	D3DKMT_UNLOCK older = { .hDevice = newer.hDevice };

	if (take_byte(input) & 1) {
		newer.hAllocation = take_handle(input, ALLOCATION);
		D3DKMTUnlock2(&newer);
		return;
	}
	older.phAllocations = take_list(input, &older.NumAllocations);
	D3DKMTUnlock(&older);
}

static void use_properties(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_SETALLOCATIONPRIORITY set = { .hDevice = take_handle(input, DEVICE) };
	D3DKMT_INVALIDATECACHE invalidate = { .hDevice = set.hDevice };

	if (choice & 4)
		set.hResource = take_handle(input, RESOURCE);
	if (!(choice & 4) || choice & 8)
		set.phAllocationList = take_list(input, &set.AllocationCount);
	set.pPriorities = take_pointer(input, buffers.numbers);
	D3DKMT_GETALLOCATIONPRIORITY get = { set.hDevice, set.hResource, set.phAllocationList,
					     set.AllocationCount, (UINT *)set.pPriorities };
	D3DKMT_QUERYALLOCATIONRESIDENCY residency = {
		set.hDevice, set.hResource, set.phAllocationList, set.AllocationCount,
		(D3DKMT_ALLOCATIONRESIDENCYSTATUS *)set.pPriorities
	};
	switch (choice & 3) {
	case 0:
		D3DKMTSetAllocationPriority(&set);
		break;
	case 1:
		D3DKMTGetAllocationPriority(&get);
		break;
	case 2:
		D3DKMTQueryAllocationResidency(&residency);
		break;
	default:
		invalidate.hAllocation = take_handle(input, ALLOCATION);
		invalidate.Offset = take_number(input);
		invalidate.Length = take_number(input);
		D3DKMTInvalidateCache(&invalidate);
		break;
	}
}

static void share(struct input *input)
{
	wchar_t text[ELEMENTS];
	UNICODE_STRING name = { .Buffer = text };
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &name };
	uint8_t choice = take_byte(input);
	UINT count = choice & 8 ? take_count(input, 3) : 1;
	HANDLE made;

	take(input, text, 2 * sizeof(text[0]));
	name.Length = (USHORT)(choice & 16 ? take_byte(input) % sizeof(text) : sizeof(text[0]));
	if (choice & 32)
		attributes.Attributes = take_flags(input);
	if (choice & 1) {
		D3DKMT_OPENNTHANDLEFROMNAME open_args = { .dwDesiredAccess = choice >> 6,
							  .pObjAttrib = &attributes };
		if (NT_SUCCESS(D3DKMTOpenNtHandleFromName(&open_args)))
			keep_file(open_args.hNtHandle);
		return;
	}
	for (uint32_t i = 0; i < 3; i++)
		buffers.list[i] = take_handle(input, i == 0 && !(choice & 4) ? RESOURCE
						     : i == 1                ? MUTEX
									     : SYNC);
	if (NT_SUCCESS(D3DKMTShareObjects(count, take_pointer(input, buffers.list),
					  choice & 2 ? &attributes : NULL, choice >> 6, &made)))
		keep_file(made);
}

static void close_file(struct input *input)
{
	int *slot = &world.files[take_byte(input) % SLOTS];

	if (*slot > 0)
		close(*slot);
	*slot = 0;
}

static void make_mutex(struct input *input)
{
	D3DKMT_CREATEKEYEDMUTEX2 create = { .InitialValue = take_byte(input) & 1 };
	D3DKMT_OPENKEYEDMUTEX2 open_args = { .hSharedHandle = take_handle(input, SHARED_MUTEX) };
	uint8_t choice = take_byte(input);

	create.PrivateRuntimeDataSize = open_args.PrivateRuntimeDataSize =
		take_count(input, DATA_BYTES);
	create.pPrivateRuntimeData = open_args.pPrivateRuntimeData =
		take_pointer(input, buffers.first);
	create.Flags.Value = choice & 2 ? take_flags(input) : 0;
	if (choice & 1) {
		if (NT_SUCCESS(D3DKMTOpenKeyedMutex2(&open_args)))
			keep(MUTEX, open_args.hKeyedMutex);
	} else if (NT_SUCCESS(D3DKMTCreateKeyedMutex2(&create))) {
		keep(MUTEX, create.hKeyedMutex);
		keep(SHARED_MUTEX, create.hSharedHandle);
	}
}

/* Never without a timeout of nothing: nobody else is there to release it. */
static void use_mutex(struct input *input)
{
	LARGE_INTEGER at_once = { .QuadPart = 0 };
	uint8_t choice = take_byte(input);
	D3DKMT_ACQUIREKEYEDMUTEX2 acquire = { .hKeyedMutex = take_handle(input, MUTEX),
					      .Key = choice >> 2 & 1,
					      .pTimeout = &at_once };
	D3DKMT_RELEASEKEYEDMUTEX2 release = { .hKeyedMutex = acquire.hKeyedMutex,
					      .Key = choice >> 3 & 1 };
	D3DKMT_DESTROYKEYEDMUTEX destroy = { acquire.hKeyedMutex };

	acquire.PrivateRuntimeDataSize = release.PrivateRuntimeDataSize =
		take_count(input, DATA_BYTES);
	acquire.pPrivateRuntimeData = release.pPrivateRuntimeData =
		take_pointer(input, buffers.first);
	switch (choice & 3) {
	case 0:
		D3DKMTDestroyKeyedMutex(&destroy);
		break;
	case 1:
		D3DKMTReleaseKeyedMutex2(&release);
		break;
	default:
		D3DKMTAcquireKeyedMutex2(&acquire);
		break;
	}
}

static void make_sync(struct input *input)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = { .hDevice = take_handle(input, DEVICE) };
	D3DKMT_OPENSYNCHRONIZATIONOBJECT by_global = { .hSharedHandle =
							       take_handle(input, SHARED_SYNC) };
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 by_file = { .hDevice = create.hDevice };
	uint8_t choice = take_byte(input);

	create.Info.Type = choice & 7;
	create.Info.Flags.Value = choice & 8 ? take_flags(input) : choice & 16 ? 3 : 0;
	take(input, &create.Info.Semaphore, 16);
	if (create.Info.Type == D3DDDI_CPU_NOTIFICATION && (choice & 32))
		create.Info.CPUNotification.Event = (HANDLE)(intptr_t)world.event;
	if ((choice & 0xc0) == 0x40) {
		if (NT_SUCCESS(D3DKMTOpenSynchronizationObject(&by_global)))
			keep(SYNC, by_global.hSyncObject);
	} else if ((choice & 0xc0) == 0x80) {
		by_file.hNtHandle = take_file(input);
		by_file.Flags.Value = create.Info.Flags.Value;
		if (NT_SUCCESS(D3DKMTOpenSyncObjectFromNtHandle2(&by_file)))
			keep(SYNC, by_file.hSyncObject);
	} else if (NT_SUCCESS(D3DKMTCreateSynchronizationObject2(&create))) {
		keep(SYNC, create.hSyncObject);
		keep(SHARED_SYNC, create.Info.SharedHandle);
	}
}

/* Waits always by an event: nobody else is there to signal. */
static void use_sync(struct input *input)
{
	uint8_t choice = take_byte(input);
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT destroy = { take_handle(input, SYNC) };
	D3DKMT_HANDLE on = take_handle(input, DEVICE);
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hDevice = on,
							    .hAsyncEvent =
								    (HANDLE)(intptr_t)world.event };
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU signal = { .hDevice = on };
	D3DKMT_CREATESYNCFILE file = { on, destroy.hSyncObject, take_byte(input), 0 };

	if ((choice & 7) == 0) {
		D3DKMTDestroySynchronizationObject(&destroy);
		return;
	}
	if ((choice & 7) == 1) {
		if (NT_SUCCESS(D3DKMTCreateSyncFile(&file)))
			keep_file((HANDLE)(uintptr_t)file.hSyncFile);
		return;
	}
	wait.ObjectCount = signal.ObjectCount = take_count(input, ELEMENTS);
	for (uint32_t i = 0; i < signal.ObjectCount && i < ELEMENTS; i++) {
		buffers.list[i] = take_handle(input, SYNC);
		buffers.values[i] = take_byte(input);
	}
	wait.ObjectHandleArray = signal.ObjectHandleArray = take_pointer(input, buffers.list);
	wait.FenceValueArray = signal.FenceValueArray = take_pointer(input, buffers.values);
	wait.Flags.Value = choice & 8 ? take_flags(input) : 0;
	signal.Flags.Value = choice & 16 ? 4 : wait.Flags.Value;
	if (choice & 32)
		D3DKMTWaitForSynchronizationObjectFromCpu(&wait);
	else
		D3DKMTSignalSynchronizationObjectFromCpu(&signal);
}

static void ask(struct input *input)
{
	D3DKMT_QUERYADAPTERINFO query = { .hAdapter = take_handle(input, ADAPTER),
					  .Type = (KMTQUERYADAPTERINFOTYPE)(take_byte(input) % 90),
					  .pPrivateDriverData = take_pointer(input, buffers.first),
					  .PrivateDriverDataSize = take_count(input, 200) };
	D3DKMT_GETDEVICESTATE state = { .hDevice = take_handle(input, DEVICE),
					.StateType =
						(D3DKMT_DEVICESTATE_TYPE)(take_byte(input) % 9) };
	D3DKMT_ESCAPE escape = { .hAdapter = query.hAdapter,
				 .hDevice = state.hDevice,
				 .hContext = take_handle(input, CONTEXT),
				 .Type = (D3DKMT_ESCAPETYPE)(take_byte(input) % 40),
				 .pPrivateDriverData = buffers.first,
				 .PrivateDriverDataSize = query.PrivateDriverDataSize };

	take(input, buffers.first, 32);
	D3DKMTQueryAdapterInfo(&query);
	D3DKMTGetDeviceState(&state);
	if (world.has_gate)
		escape.Type = D3DKMT_ESCAPE_DRIVERPRIVATE;
	D3DKMTEscape(&escape);
}

static void use_adapter(struct input *input)
{
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = take_count(input, ELEMENTS),
				     .pAdapters = take_pointer(input, buffers.adapters) };
	D3DKMT_CLOSEADAPTER done = { take_handle(input, ADAPTER) };

	if (take_byte(input) & 1) {
		D3DKMTCloseAdapter(&done);
	} else if (NT_SUCCESS(D3DKMTEnumAdapters2(&all)) && all.pAdapters) {
		for (uint32_t i = 0; i < all.NumAdapters; i++)
			keep(ADAPTER, buffers.adapters[i].hAdapter);
	}
}

/* ---- one input ---- */

static void check(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "calls_fuzz: %s\n", what);
	abort();
}

static void validate(void)
{
	char problem[256] = "";

	/* Other threads may be about to let go of something. */
	for (int i = 0; i < 2000; i++) {
		if (dxgk_test_validate(problem, sizeof(problem)))
			return;
		usleep(i < 20 ? 10 : 1000);
	}
	check(false, problem);
}

static void begin(void)
{
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = ELEMENTS, .pAdapters = buffers.adapters };

	memset(&world, 0, sizeof(world));
	check(NT_SUCCESS(D3DKMTEnumAdapters2(&all)) && all.NumAdapters > 0, "no adapter started");
	keep(ADAPTER, buffers.adapters[0].hAdapter);
	D3DKMT_CREATEDEVICE device = { .hAdapter = buffers.adapters[0].hAdapter };
	world.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	check(world.event > 0, "no event");
	check(NT_SUCCESS(D3DKMTCreateDevice(&device)), "no device");
	keep(DEVICE, device.hDevice);
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = device.hDevice };
	check(NT_SUCCESS(D3DKMTCreatePagingQueue(&queue)), "no paging queue");
	keep(PAGING_QUEUE, queue.hPagingQueue);
}

/* The process ends, and the next one finds nothing of it. */
static void end(void)
{
	struct softgpu_escape_info info = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_GET_INFO, sizeof(info), 0 },
	};
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = ELEMENTS, .pAdapters = buffers.adapters };

	validate();
	for (int i = 0; i < SLOTS; i++) {
		if (world.files[i] > 0)
			close(world.files[i]);
	}
	close(world.event);
	D3DKMTCloseDxCoreDevice();
	check(NT_SUCCESS(D3DKMTEnumAdapters2(&all)) && all.NumAdapters > 0, "no adapter is left");
	D3DKMT_ESCAPE escape = { .hAdapter = buffers.adapters[0].hAdapter,
				 .pPrivateDriverData = &info,
				 .PrivateDriverDataSize = sizeof(info) };
	check(NT_SUCCESS(D3DKMTEscape(&escape)), "no escape");
	check(info.live_allocations == 0 && info.live_openings == 0 && info.live_resources == 0,
	      "the driver has allocations of a process that ended");
	check(dxgk_test_report_count("DDI-MUST-SUCCEED") == 0, "the driver was asked wrong things");
	validate();
	D3DKMTCloseDxCoreDevice();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static void (*const calls[])(struct input * input) = {
		create_allocation,
		create_allocation,
		create_allocation,
		destroy_allocation,
		destroy_allocation,
		open_resource,
		open_resource,
		lock,
		lock,
		unlock,
		use_properties,
		share,
		share,
		close_file,
		make_mutex,
		use_mutex,
		make_sync,
		use_sync,
		use_sync,
		create_device,
		destroy_device,
		create_context,
		destroy_context,
		ask,
		use_adapter,
		fuzz_paging_queue,
		fuzz_residency,
		fuzz_residency,
		fuzz_offer,
		fuzz_offer,
		fuzz_address,
		fuzz_address,
		fuzz_submit,
		fuzz_submit,
		fuzz_queue_sync,
		fuzz_queue_sync_older,
		fuzz_render,
		fuzz_hw_queue,
		fuzz_hw_work,
		fuzz_priority,
	};
	struct input input = { data, size_bytes };

	begin();
	for (int i = 1; input.left > 0 && i <= MAX_CALLS; i++) {
		calls[take_byte(&input) % (sizeof(calls) / sizeof(calls[0]))](&input);
		if (i % VALIDATE_EVERY == 0)
			validate();
	}
	end();
	return 0;
}
