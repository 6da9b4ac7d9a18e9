/* SPDX-License-Identifier: MIT */
/*
 * recorder.c - a display miniport that does as its registry says and writes down what happens.
 *
 * Which answers it gives:
 *
 *   Model                "physical" or "gpummu" (the default)
 *   Version              DRIVER_INITIALIZATION_DATA.Version
 *   the name of a field  its value: WDDMVersion, NbSegment, PagingBufferSize, Segment1.Flags,
 *                        Level0.PageTableIndexBitCount, …; see the calls of setting()
 *
 * How it fails:
 *
 *   Fail                 the step that fails: "DriverEntry", "AddDevice", "CreateContext", …, or a
 *                        query: "DRIVERCAPS", "QUERYSEGMENT4", …
 *   FailAt               at its how-manieth call, 1 when not given
 *   FailStatus           with this status, STATUS_UNSUCCESSFUL when not given
 *   Says                 1: and prints why, in its last line; 2: without ending it
 *   Missing              the entry point that is left NULL: "AddDevice"
 *   Overrun              the query or entry point that writes OverrunBytes (3) behind its buffer
 *   KeepContext          1: RemoveDevice leaves the context to Unload
 *   Whole                1: no other is; what the driver knows nothing about is not supported
 *
 * How it works (crank.c, work.c, recovery.c):
 *
 *   HandCranked          1: what is submitted stays until an escape says what becomes of it
 *   PagingAtOnce         1: but what pages completes by itself, on a node of its own
 *   HoldPreemption       1: so does a preemption
 *   SubmitStatus         what SubmitCommand and SubmitCommandVirtual return, SubmitFailAt when
 *   PagingBytes          how much a paging operation writes, 64 when not given; 0: done at once
 *   PagingPrivateBytes   how far it moves the private pointer, 0 when not given
 *   PagingPasses         in how many passes, 1 when not given
 *   PagingMoves          "back", "past", "private back", "private past", "stuck": mistakes
 *   RenderBytes          how much of a command one pass takes, as much as fits when not given
 *   RenderMoves          "back", "past", "patch": mistakes
 *   HwQueues             1: it has hardware queues; what they are given stays as with HandCranked
 *   HwAtOnce             1: it does not
 *   HwSubmitStatus       what SubmitCommandToHwQueue returns, HwSubmitFailAt when
 *   HwEngineReset        0: there is no ResetHwEngine
 *   HwCollateral         1: it hits all contexts of the node that have something, not only one
 *   HwHitsNobody         1: nobody
 *   HwSuspend            1: a context is suspended at once; 2: when an escape says so
 *   CpuEvents            1: it has events of clients that it sets (cpu_events.c)
 *   Clock                1: it tells of a clock, which has the GpuFrequency, 0 when not given
 *   ReserveMiB           DxgkCbReserveGpuVirtualAddressRange in CreateProcess
 *   the name of a field  DependentNodeOrdinalMask, Responsive, …
 *
 *   Initialize           "never", "twice", "ignored" (its failure), "displayonly", "other object"
 *
 * It is written as C in the style of a driver, and uses nothing a driver has not.
 */
#include "driver.h"

/* One adapter per image: the statics of a driver are its own. */
static ULONG adapter_count;
static PVOID volatile leaked;
static PVOID kept_context;
static WCHAR registry_path_buffer[256];
UNICODE_STRING registry_path;

/* ---- plug and play ---- */

static NTSTATUS APIENTRY add_device(const PDEVICE_OBJECT device_object, PVOID *context)
{
	NTSTATUS status = step("AddDevice");
	struct adapter *adapter;

	note("AddDevice", "adapters", ++adapter_count, NULL, 0);
	if (!NT_SUCCESS(status))
		return status;
	if (setting("NullContext", 0)) {
		*context = NULL;
		return STATUS_SUCCESS;
	}
	adapter = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*adapter), RECORDER_TAG);
	if (!adapter)
		return STATUS_NO_MEMORY;
	RtlZeroMemory(adapter, sizeof(*adapter));
	adapter->magic = MAGIC_ADAPTER;
	adapter->device_object = device_object;
	*context = adapter;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY start_device(const PVOID context, PDXGK_START_INFO start_info,
				      PDXGKRNL_INTERFACE interface, PULONG sources, PULONG children)
{
	struct adapter *adapter = adapter_of(context);
	NTSTATUS status = step("StartDevice");

	note("StartDevice", "queue", start_info->RequiredDmaQueueEntry, "luid",
	     start_info->AdapterLuid.LowPart);
	/* That of WDDM 2.0 is the smallest there is. */
	if (interface->Size < FIELD_OFFSET(DXGKRNL_INTERFACE, DxgkCbMultiPlaneOverlayDisabled))
		complain("an interface that is too small");
	if (!NT_SUCCESS(status))
		return status;
	adapter->interface = *interface;
	status = crank_create(adapter);
	if (NT_SUCCESS(status))
		status = hw_crank_create(adapter);
	if (!NT_SUCCESS(status))
		return status;
	*sources = 0;
	*children = 0;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY stop_device(const PVOID context)
{
	struct adapter *adapter = adapter_of(context);

	end_release();
	note("StopDevice", "left",
	     (ULONG)(adapter->processes + adapter->devices + adapter->contexts +
		     adapter->resources + adapter->allocations + adapter->openings),
	     NULL, 0);
	return step("StopDevice");
}

static NTSTATUS APIENTRY remove_device(const PVOID context)
{
	struct adapter *adapter = adapter_of(context);

	note("RemoveDevice", NULL, 0, NULL, 0);
	crank_destroy(adapter);
	hw_crank_destroy(adapter);
	adapter->magic = MAGIC_GONE;
	if (setting("KeepContext", 0))
		kept_context = adapter;
	else
		ExFreePoolWithTag(adapter, RECORDER_TAG);
	return step("RemoveDevice");
}

static VOID APIENTRY unload(void)
{
	note("Unload", NULL, 0, NULL, 0);
	if (kept_context)
		ExFreePoolWithTag(kept_context, RECORDER_TAG);
	if (setting("LeakPool", 0))
		leaked = ExAllocatePoolWithTag(NonPagedPoolNx, 100, RECORDER_TAG);
}

static BOOLEAN APIENTRY interrupt_routine(const PVOID context, ULONG message)
{
	note("InterruptRoutine", "message", message, NULL, 0);
	return FALSE;
}

static VOID APIENTRY dpc_routine(const PVOID context)
{
	struct adapter *adapter = adapter_of(context);

	note("DpcRoutine", NULL, 0, NULL, 0);
	adapter->interface.DxgkCbNotifyDpc(adapter->interface.DeviceHandle);
}

/* ---- load ---- */

static void leave_out(DRIVER_INITIALIZATION_DATA *data)
{
#define LEAVE_OUT(name)                                                                            \
	if (setting_is("Missing", #name))                                                          \
	data->DxgkDdi##name = NULL
	LEAVE_OUT(AddDevice);
	LEAVE_OUT(StartDevice);
	LEAVE_OUT(StopDevice);
	LEAVE_OUT(RemoveDevice);
	LEAVE_OUT(DpcRoutine);
	LEAVE_OUT(Unload);
	LEAVE_OUT(QueryAdapterInfo);
	LEAVE_OUT(CreateDevice);
	LEAVE_OUT(DestroyDevice);
	LEAVE_OUT(CreateContext);
	LEAVE_OUT(DestroyContext);
	LEAVE_OUT(CreateAllocation);
	LEAVE_OUT(DestroyAllocation);
	LEAVE_OUT(OpenAllocation);
	LEAVE_OUT(CloseAllocation);
	LEAVE_OUT(BuildPagingBuffer);
	LEAVE_OUT(Patch);
	LEAVE_OUT(Render);
	LEAVE_OUT(SubmitCommand);
	LEAVE_OUT(SubmitCommandVirtual);
	LEAVE_OUT(SetRootPageTable);
	LEAVE_OUT(GetRootPageTableSize);
	LEAVE_OUT(PreemptCommand);
	LEAVE_OUT(CancelCommand);
	LEAVE_OUT(ResetEngine);
	LEAVE_OUT(QueryEngineStatus);
	LEAVE_OUT(QueryDependentEngineGroup);
	LEAVE_OUT(CreateProcess);
	LEAVE_OUT(DestroyProcess);
	LEAVE_OUT(GetNodeMetadata);
	LEAVE_OUT(Escape);
	LEAVE_OUT(GetStandardAllocationDriverData);
	LEAVE_OUT(ValidateSubmitCommand);
	LEAVE_OUT(QueryCurrentFence);
	LEAVE_OUT(CollectDbgInfo);
	LEAVE_OUT(ResetFromTimeout);
	LEAVE_OUT(RestartFromTimeout);
	LEAVE_OUT(MapCpuHostAperture);
	LEAVE_OUT(UnmapCpuHostAperture);
#undef LEAVE_OUT
}

static void fill_in(DRIVER_INITIALIZATION_DATA *data)
{
	RtlZeroMemory(data, sizeof(*data));
	data->Version = version();
	data->DxgkDdiAddDevice = add_device;
	data->DxgkDdiStartDevice = start_device;
	data->DxgkDdiStopDevice = stop_device;
	data->DxgkDdiRemoveDevice = remove_device;
	data->DxgkDdiInterruptRoutine = interrupt_routine;
	data->DxgkDdiDpcRoutine = dpc_routine;
	data->DxgkDdiUnload = unload;
	fill_in_queries(data);
	fill_in_objects(data);
	fill_in_allocations(data);
	fill_in_commands(data);
	fill_in_work(data);
	fill_in_hw_queues(data);
	fill_in_cpu_events(data);
	fill_in_recovery(data);
	fill_in_the_rest(data);
	leave_out(data);
}

__attribute__((visibility("default"))) DRIVER_INITIALIZE DriverEntry;

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT driver_object, PUNICODE_STRING path)
{
	DRIVER_INITIALIZATION_DATA data;
	KMDDOD_INITIALIZATION_DATA display_only;
	DRIVER_OBJECT other;
	NTSTATUS status;

	registry_path.Buffer = registry_path_buffer;
	registry_path.MaximumLength = sizeof(registry_path_buffer);
	RtlCopyUnicodeString(&registry_path, path);
	note("DriverEntry", NULL, 0, NULL, 0);

	status = step("DriverEntry");
	if (!NT_SUCCESS(status))
		return status;
	if (setting_is("Initialize", "never"))
		return STATUS_SUCCESS;
	if (setting_is("Initialize", "displayonly")) {
		RtlZeroMemory(&display_only, sizeof(display_only));
		return DxgkInitializeDisplayOnlyDriver(driver_object, path, &display_only);
	}
	fill_in(&data);
	if (setting_is("Initialize", "other object"))
		return DxgkInitialize(&other, path, &data);
	if (setting_is("Initialize", "null"))
		return DxgkInitialize(driver_object, path, NULL);
	status = DxgkInitialize(driver_object, path, &data);
	if (setting_is("Initialize", "twice"))
		status = DxgkInitialize(driver_object, path, &data);
	if (setting_is("Initialize", "undone") && NT_SUCCESS(status)) {
		DxgkUnInitialize(driver_object);
		return STATUS_NO_MEMORY;
	}
	if (setting_is("Initialize", "ignored"))
		return STATUS_SUCCESS;
	return status;
}
