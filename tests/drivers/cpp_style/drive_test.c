/* SPDX-License-Identifier: MIT */
/*
 * drive_test.c - takes the C++ driver through work: render, patch, submit, paging, preempt, reset.
 *
 * A host of the size of one file: it calls the entry points at the IRQL that WDDM promises and
 * gives the callbacks the driver needs; the NT routines are the real ones of libdxgk.so.
 * DxgkInitialize and IoGetDeviceProperty are defined here, in front of the library's, because there
 * is no adapter behind them. What this proves is that the driver is right, so that a later failure
 * under the real scheduler is the scheduler's.
 */
#include <dlfcn.h>

#include "support/test.h"

#define OPENDXGK_BUILD_KERNEL
#include "ntddk.h"
#include "dispmprt.h"
#include "cpp_style_commands.h"

enum { DEVICE_LEVEL = 5, SEGMENT = 1, HANDLE_OF_ALLOCATION = 0x40000040 };

static DRIVER_INITIALIZATION_DATA ddi;
static DRIVER_OBJECT driver_object;
static DEVICE_OBJECT device_object;
static HANDLE adapter, device, context, allocation, open_allocation;

/* Written in the callbacks, read by the test after `told` was signalled. */
static DXGKARGCB_NOTIFY_INTERRUPT_DATA last_interrupt;
static KEVENT told;
static KDPC dpc;

DECLSPEC_EXPORT NTSTATUS DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
					PDRIVER_INITIALIZATION_DATA DriverInitializationData)
{
	EXPECT(DriverObject == &driver_object && RegistryPath != NULL);
	ddi = *DriverInitializationData;
	return STATUS_SUCCESS;
}

DECLSPEC_EXPORT NTSTATUS NTAPI IoGetDeviceProperty(PDEVICE_OBJECT DeviceObject,
						   DEVICE_REGISTRY_PROPERTY DeviceProperty,
						   ULONG BufferLength, PVOID PropertyBuffer,
						   PULONG ResultLength)
{
	static const WCHAR id[] = L"ROOT\\test\0";

	EXPECT(DeviceObject == &device_object && DeviceProperty == DevicePropertyHardwareID);
	EXPECT(BufferLength >= sizeof(id));
	memcpy(PropertyBuffer, id, sizeof(id));
	*ResultLength = sizeof(id);
	return STATUS_SUCCESS;
}

static NTSTATUS get_device_information(HANDLE handle, PDXGK_DEVICE_INFO info)
{
	EXPECT(handle == &device_object);
	info->PhysicalDeviceObject = &device_object;
	return STATUS_SUCCESS;
}

static NTSTATUS synchronize_execution(HANDLE handle, PKSYNCHRONIZE_ROUTINE routine, PVOID argument,
				      ULONG message, PBOOLEAN result)
{
	KIRQL old;

	EXPECT(handle == &device_object && message == 0);
	KeRaiseIrql(DEVICE_LEVEL, &old);
	*result = routine(argument);
	KeLowerIrql(old);
	return STATUS_SUCCESS;
}

static void notify_interrupt(HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	EXPECT(handle == &device_object && KeGetCurrentIrql() == DEVICE_LEVEL);
	last_interrupt = *data;
}

static BOOLEAN queue_dpc(HANDLE handle)
{
	EXPECT(handle == &device_object);
	return KeInsertQueueDpc(&dpc, NULL, NULL);
}

static void run_dpc(PKDPC self, PVOID argument, PVOID unused1, PVOID unused2)
{
	EXPECT(self == &dpc && !argument && !unused1 && !unused2);
	EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
	ddi.DxgkDdiDpcRoutine(adapter);
}

static void notify_dpc(HANDLE handle)
{
	EXPECT(handle == &device_object);
	KeSetEvent(&told, 0, FALSE);
}

static VOID *acquire_handle_data(const DXGKARGCB_GETHANDLEDATA *query, HANDLE *release_out)
{
	EXPECT(query->hObject == HANDLE_OF_ALLOCATION && query->Type == DXGK_HANDLE_ALLOCATION);
	*release_out = allocation;
	return allocation;
}

static void release_handle_data(DXGKARGCB_RELEASEHANDLEDATA data)
{
	EXPECT(data.ReleaseHandle == allocation);
}

static void wait_until_told(void)
{
	LARGE_INTEGER timeout = { .QuadPart = -10LL * 10000000 };

	EXPECT_EQ(KeWaitForSingleObject(&told, Executive, KernelMode, FALSE, &timeout),
		  STATUS_SUCCESS);
}

/* A buffer the engine can find by physical address, as the host would give it. */
static void *dma_buffer(PHYSICAL_ADDRESS *address_out)
{
	void *memory = MmAllocateContiguousMemory(PAGE_SIZE, (PHYSICAL_ADDRESS){ .QuadPart = -1 });

	EXPECT(memory != NULL);
	memset(memory, 0, PAGE_SIZE);
	*address_out = MmGetPhysicalAddress(memory);
	return memory;
}

static void submit_and_wait(PHYSICAL_ADDRESS address, UINT length, UINT fence, BOOLEAN is_paging)
{
	DXGKARG_SUBMITCOMMAND submit = {
		.hContext = is_paging ? NULL : context,
		.DmaBufferPhysicalAddress = address,
		.DmaBufferSize = PAGE_SIZE,
		.DmaBufferSubmissionEndOffset = length,
		.SubmissionFenceId = fence,
		.Flags.Paging = is_paging,
	};
	KIRQL old;

	KeRaiseIrql(DISPATCH_LEVEL, &old);
	NTSTATUS status = ddi.DxgkDdiSubmitCommand(adapter, &submit);
	KeLowerIrql(old);
	EXPECT_EQ(status, STATUS_SUCCESS);
	wait_until_told();
	EXPECT_EQ(last_interrupt.InterruptType, DXGK_INTERRUPT_DMA_COMPLETED);
	EXPECT_EQ(last_interrupt.DmaCompleted.SubmissionFenceId, fence);
}

static void start(void)
{
	static WCHAR path[] = L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\drive";
	static DXGKRNL_INTERFACE interface;
	static UNICODE_STRING name;
	OBJECT_ATTRIBUTES attributes;
	HANDLE key;
	ULONG sources = 9, children = 9;

	/* ZwCreateKey makes one key at a time, as on Windows. */
	RtlInitUnicodeString(&name, path);
	for (USHORT end = 0; end <= name.MaximumLength / sizeof(WCHAR) - 1; end++) {
		UNICODE_STRING part = { (USHORT)(end * sizeof(WCHAR)), name.MaximumLength, path };

		if (end == 0 || (path[end] != '\\' && path[end] != 0))
			continue;
		InitializeObjectAttributes(&attributes, &part, OBJ_CASE_INSENSITIVE, NULL, NULL);
		EXPECT_EQ(ZwCreateKey(&key, KEY_ALL_ACCESS, &attributes, 0, NULL, 0, NULL),
			  STATUS_SUCCESS);
		ZwClose(key);
	}

	void *image = dlopen(getenv("CPP_STYLE_DRIVER"), RTLD_NOW);
	if (!image)
		print_error("%s\n", dlerror());
	EXPECT(image != NULL);
	PDRIVER_INITIALIZE entry;
	*(void **)&entry = dlsym(image, "DriverEntry");
	EXPECT_EQ(entry(&driver_object, &name), STATUS_SUCCESS);
	EXPECT_EQ(ddi.Version, DXGKDDI_INTERFACE_VERSION);

	interface = (DXGKRNL_INTERFACE){
		.Size = sizeof(interface),
		.Version = DXGKDDI_INTERFACE_VERSION,
		.DeviceHandle = &device_object,
		.DxgkCbGetDeviceInformation = get_device_information,
		.DxgkCbSynchronizeExecution = synchronize_execution,
		.DxgkCbNotifyInterrupt = notify_interrupt,
		.DxgkCbQueueDpc = queue_dpc,
		.DxgkCbNotifyDpc = notify_dpc,
		.DxgkCbAcquireHandleData = acquire_handle_data,
		.DxgkCbReleaseHandleData = release_handle_data,
	};
	KeInitializeEvent(&told, SynchronizationEvent, FALSE);
	KeInitializeDpc(&dpc, run_dpc, NULL);
	EXPECT_EQ(ddi.DxgkDdiAddDevice(&device_object, &adapter), STATUS_SUCCESS);
	EXPECT_EQ(ddi.DxgkDdiStartDevice(adapter, &(DXGK_START_INFO){ 0 }, &interface, &sources,
					 &children),
		  STATUS_SUCCESS);
	EXPECT(sources == 0 && children == 0);

	DXGKARG_CREATEDEVICE create_device = { 0 };
	EXPECT_EQ(ddi.DxgkDdiCreateDevice(adapter, &create_device), STATUS_SUCCESS);
	device = create_device.hDevice;
	DXGKARG_CREATECONTEXT create_context = { 0 };
	EXPECT_EQ(ddi.DxgkDdiCreateContext(device, &create_context), STATUS_SUCCESS);
	context = create_context.hContext;

	struct cpp_style_allocation private = { CPP_STYLE_ALLOCATION_MAGIC, 0, 0x10000 };
	DXGK_ALLOCATIONINFO info = { .pPrivateDriverData = &private,
				     .PrivateDriverDataSize = sizeof(private) };
	DXGKARG_CREATEALLOCATION create = { .NumAllocations = 1, .pAllocationInfo = &info };
	EXPECT_EQ(ddi.DxgkDdiCreateAllocation(adapter, &create), STATUS_SUCCESS);
	EXPECT_EQ(info.Size, 0x10000);
	allocation = info.hAllocation;

	DXGK_OPENALLOCATIONINFO open_info = { .hAllocation = HANDLE_OF_ALLOCATION };
	DXGKARG_OPENALLOCATION open = { .NumAllocations = 1, .pOpenAllocation = &open_info };
	EXPECT_EQ(ddi.DxgkDdiOpenAllocation(device, &open), STATUS_SUCCESS);
	open_allocation = open_info.hDeviceSpecificAllocation;
}

static void stop(void)
{
	DXGKARG_CLOSEALLOCATION close = { .NumAllocations = 1,
					  .pOpenHandleList = &open_allocation };
	DXGKARG_DESTROYALLOCATION destroy = { .NumAllocations = 1, .pAllocationList = &allocation };

	EXPECT_EQ(ddi.DxgkDdiCloseAllocation(device, &close), STATUS_SUCCESS);
	EXPECT_EQ(ddi.DxgkDdiDestroyAllocation(adapter, &destroy), STATUS_SUCCESS);
	EXPECT_EQ(ddi.DxgkDdiDestroyContext(context), STATUS_SUCCESS);
	EXPECT_EQ(ddi.DxgkDdiDestroyDevice(device), STATUS_SUCCESS);
	EXPECT_EQ(ddi.DxgkDdiStopDevice(adapter), STATUS_SUCCESS);
	EXPECT_EQ(ddi.DxgkDdiRemoveDevice(adapter), STATUS_SUCCESS);
	ddi.DxgkDdiUnload();
}

/* Renders one fill of 64 bytes at 0x100 of the allocation, which sits at `place` in its segment. */
static void render_fill(UINT place, UINT value, UINT fence)
{
	struct cpp_style_command command = {
		.opcode = CPP_STYLE_FILL, .offset_bytes = 0x100, .size_bytes = 64, .value = value
	};
	DXGK_ALLOCATIONLIST list = { .hDeviceSpecificAllocation = open_allocation };
	D3DDDI_PATCHLOCATIONLIST patches[4];
	PHYSICAL_ADDRESS address;
	char *dma = dma_buffer(&address);
	DXGKARG_RENDER render = {
		.pCommand = &command,
		.CommandLength = sizeof(command),
		.pDmaBuffer = dma,
		.DmaSize = PAGE_SIZE,
		.pAllocationList = &list,
		.AllocationListSize = 1,
		.pPatchLocationListOut = patches,
		.PatchLocationListOutSize = 4,
	};

	EXPECT_EQ(ddi.DxgkDdiRender(context, &render), STATUS_SUCCESS);
	UINT length = (UINT)((char *)render.pDmaBuffer - dma);
	EXPECT_EQ(length, 32);
	EXPECT_EQ(render.pPatchLocationListOut - patches, 1);

	list.SegmentId = SEGMENT;
	list.PhysicalAddress.QuadPart = place;
	DXGKARG_PATCH patch = {
		.hContext = context,
		.pDmaBuffer = dma,
		.DmaBufferSize = PAGE_SIZE,
		.DmaBufferSubmissionEndOffset = length,
		.pAllocationList = &list,
		.AllocationListSize = 1,
		.pPatchLocationList = patches,
		.PatchLocationListSize = 1,
		.PatchLocationListSubmissionLength = 1,
	};
	EXPECT_EQ(ddi.DxgkDdiPatch(adapter, &patch), STATUS_SUCCESS);
	submit_and_wait(address, length, fence, FALSE);
	MmFreeContiguousMemory(dma);
}

TEST(cpp_style, a_rendered_fill_can_be_paged_out)
{
	PHYSICAL_ADDRESS address;

	start();
	render_fill(0x20000, 0xA5A5A5A5, 1);

	/* Out again, through a paging buffer and an MDL. */
	char *system = MmAllocateContiguousMemory(0x10000, (PHYSICAL_ADDRESS){ .QuadPart = -1 });
	PMDL mdl = IoAllocateMdl(system, 0x10000, FALSE, FALSE, NULL);
	MmBuildMdlForNonPagedPool(mdl);
	memset(system, 0, 0x10000);

	char *paging = dma_buffer(&address);
	DXGKARG_BUILDPAGINGBUFFER build = {
		.pDmaBuffer = paging,
		.DmaSize = PAGE_SIZE,
		.Operation = DXGK_OPERATION_TRANSFER,
		.Transfer = { .hAllocation = allocation,
			      .TransferSize = 0x10000,
			      .Source = { .SegmentId = SEGMENT,
					  .SegmentAddress.QuadPart = 0x20000 },
			      .Destination = { .SegmentId = 0, .pMdl = mdl } },
	};
	EXPECT_EQ(ddi.DxgkDdiBuildPagingBuffer(adapter, &build), STATUS_SUCCESS);
	submit_and_wait(address, (UINT)((char *)build.pDmaBuffer - paging), 2, TRUE);

	for (unsigned i = 0; i < 0x10000; i++) {
		unsigned char expected = i >= 0x100 && i < 0x140 ? 0xA5 : (unsigned char)system[i];
		if ((unsigned char)system[i] != expected)
			EXPECT_EQ((unsigned char)system[i], expected);
	}
	EXPECT_EQ((unsigned char)system[0x100], 0xA5);
	EXPECT_EQ((unsigned char)system[0x13f], 0xA5);

	IoFreeMdl(mdl);
	MmFreeContiguousMemory(system);
	MmFreeContiguousMemory(paging);
	stop();
}

TEST(cpp_style, commands_at_a_bad_address_are_refused_and_the_driver_lives)
{
	char dma[64];
	D3DDDI_PATCHLOCATIONLIST patches[1];
	DXGKARG_RENDER render = {
		.pCommand = (void *)0x40,
		.CommandLength = sizeof(struct cpp_style_command),
		.pDmaBuffer = dma,
		.DmaSize = sizeof(dma),
		.pPatchLocationListOut = patches,
		.PatchLocationListOutSize = 1,
	};

	start();
	EXPECT_EQ(ddi.DxgkDdiRender(context, &render), STATUS_INVALID_USER_BUFFER);
	render_fill(0, 1, 1);
	stop();
}

TEST(cpp_style, a_preemption_is_answered_with_the_last_fence)
{
	DXGKARG_PREEMPTCOMMAND preempt = { .PreemptionFenceId = 77 };
	DXGKARG_RESETENGINE reset = { 0 };
	DXGKARG_QUERYCURRENTFENCE current = { 0 };
	KIRQL old;

	start();
	render_fill(0, 1, 5);
	KeRaiseIrql(DISPATCH_LEVEL, &old);
	EXPECT_EQ(ddi.DxgkDdiPreemptCommand(adapter, &preempt), STATUS_SUCCESS);
	KeLowerIrql(old);
	wait_until_told();
	EXPECT_EQ(last_interrupt.InterruptType, DXGK_INTERRUPT_DMA_PREEMPTED);
	EXPECT_EQ(last_interrupt.DmaPreempted.PreemptionFenceId, 77);
	EXPECT_EQ(last_interrupt.DmaPreempted.LastCompletedFenceId, 5);

	EXPECT_EQ(ddi.DxgkDdiResetEngine(adapter, &reset), STATUS_SUCCESS);
	EXPECT_EQ(reset.LastAbortedFenceId, 5);
	EXPECT_EQ(ddi.DxgkDdiQueryCurrentFence(adapter, &current), STATUS_SUCCESS);
	EXPECT_EQ(current.CurrentFence, 5);
	stop();
}

TEST_MAIN("drivers/cpp_style")
