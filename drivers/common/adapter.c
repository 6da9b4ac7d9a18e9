/* SPDX-License-Identifier: MIT */
/*
 * adapter.c - add, start, stop, remove; and the entry points of a display that we do not have.
 *
 *	AddDevice      the adapter object and its settings
 *	StartDevice    the kernel's callbacks, the GPU's memory, engines without threads
 *	StopDevice     no more threads, no more memory
 *	RemoveDevice   the adapter object
 *
 * All of it at PASSIVE_LEVEL and with nobody else in the driver. If StartDevice fails it has undone
 * its part, because the kernel then goes straight to RemoveDevice.
 */
#include "gpu.h"

PVOID gpu_pool_allocate(POOL_TYPE type, SIZE_T size_bytes)
{
	return ExAllocatePoolZero(type, size_bytes, GPU_POOL_TAG);
}

void gpu_pool_free(PVOID memory)
{
	if (memory)
		ExFreePoolWithTag(memory, GPU_POOL_TAG);
}

struct gpu_adapter *gpu_adapter_from(HANDLE handle)
{
	struct gpu_adapter *adapter = (struct gpu_adapter *)handle;

	return adapter && adapter->magic == GPU_MAGIC_ADAPTER ? adapter : NULL;
}

NTSTATUS APIENTRY gpu_add_device(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
				 OUT_PPVOID MiniportDeviceContext)
{
	PAGED_CODE();

	if (!PhysicalDeviceObject || !MiniportDeviceContext)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "AddDevice with device object %p and context %p: one is missing",
				  PhysicalDeviceObject, MiniportDeviceContext);
	struct gpu_adapter *adapter = gpu_pool_allocate(NonPagedPoolNx, sizeof(*adapter));
	if (!adapter)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for an adapter");

	adapter->magic = GPU_MAGIC_ADAPTER;
	adapter->settings = *gpu_driver_settings();
	adapter->node_count = gpu_settings_node_count(&adapter->settings);
	KeInitializeMutex(&adapter->start_lock, 0);
	KeInitializeMutex(&adapter->hw_lock, 0);
	InitializeListHead(&adapter->hw_queues);
	KeInitializeMutex(&adapter->devices_lock, 0);
	InitializeListHead(&adapter->devices);
	*MiniportDeviceContext = adapter;
	return STATUS_SUCCESS;
}

/* The kernel's table may be shorter or longer than the one we were compiled with. */
static void keep_callbacks(struct gpu_adapter *adapter, const DXGKRNL_INTERFACE *dxgk)
{
	SIZE_T size_bytes = dxgk->Size < sizeof(adapter->dxgk) ? dxgk->Size : sizeof(adapter->dxgk);

	RtlZeroMemory(&adapter->dxgk, sizeof(adapter->dxgk));
	RtlCopyMemory(&adapter->dxgk, dxgk, size_bytes);
}

/* A device that is on no bus has no configuration space, and no ids. */
static struct gpu_ids read_ids(const struct gpu_adapter *adapter)
{
	struct gpu_ids none = { 0 };
	UCHAR head[12] = { 0 }; /* vendor, device, command, status, revision … */
	ULONG read_bytes = 0;

	if (!adapter->dxgk.DxgkCbReadDeviceSpace ||
	    !NT_SUCCESS(adapter->dxgk.DxgkCbReadDeviceSpace(adapter->dxgk.DeviceHandle,
							    DXGK_WHICHSPACE_CONFIG, head, 0,
							    sizeof(head), &read_bytes)) ||
	    read_bytes != sizeof(head))
		return none;
	return (struct gpu_ids){ .vendor = (USHORT)(head[0] | head[1] << 8),
				 .device = (USHORT)(head[2] | head[3] << 8),
				 .revision = head[8] };
}

static void finish_engines(struct gpu_adapter *adapter, ULONG count)
{
	while (count > 0)
		gpu_engine_finish(&adapter->engines[--count]);
}

NTSTATUS APIENTRY gpu_start_device(IN_CONST_PVOID MiniportDeviceContext,
				   IN_PDXGK_START_INFO DxgkStartInfo,
				   IN_PDXGKRNL_INTERFACE DxgkInterface,
				   OUT_PULONG NumberOfVideoPresentSources,
				   OUT_PULONG NumberOfChildren)
{
	struct gpu_adapter *adapter = gpu_adapter_from(MiniportDeviceContext);
	ULONG started = 0;

	PAGED_CODE();

	if (!adapter || !DxgkStartInfo || !DxgkInterface || !NumberOfVideoPresentSources ||
	    !NumberOfChildren || adapter->is_started)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"StartDevice of adapter %p: it is started, or an argument is missing",
			MiniportDeviceContext);

	keep_callbacks(adapter, DxgkInterface);
	if (!adapter->dxgk.DxgkCbSynchronizeExecution || !adapter->dxgk.DxgkCbNotifyInterrupt ||
	    !adapter->dxgk.DxgkCbNotifyDpc || !adapter->dxgk.DxgkCbQueueDpc ||
	    !adapter->dxgk.DxgkCbGetHandleData)
		return gpu_refuse(STATUS_REVISION_MISMATCH,
				  "the kernel's interface (Size %u) lacks a callback we need",
				  DxgkInterface->Size);

	adapter->ids = read_ids(adapter);
	NTSTATUS status = gpu_hw_memory_start(&adapter->memory, &adapter->settings);
	if (!NT_SUCCESS(status))
		return status;
	status = gpu_windows_start(adapter);
	if (!NT_SUCCESS(status))
		goto stop_memory;

	for (; started < adapter->node_count; started++) {
		status = gpu_engine_init(&adapter->engines[started], adapter, started,
					 DxgkStartInfo->RequiredDmaQueueEntry);
		if (!NT_SUCCESS(status))
			goto finish_engines;
	}

	/* No display: nothing to present on, nothing to plug in. */
	*NumberOfVideoPresentSources = 0;
	*NumberOfChildren = 0;
	adapter->is_started = TRUE;
	return STATUS_SUCCESS;

finish_engines:
	finish_engines(adapter, started);
	gpu_windows_stop(adapter);
stop_memory:
	gpu_hw_memory_stop(&adapter->memory);
	return status;
}

NTSTATUS APIENTRY gpu_stop_device(IN_CONST_PVOID MiniportDeviceContext)
{
	struct gpu_adapter *adapter = gpu_adapter_from(MiniportDeviceContext);

	PAGED_CODE();

	if (!adapter || !adapter->is_started)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "StopDevice of adapter %p, which is not started",
				  MiniportDeviceContext);
	adapter->is_started = FALSE;
	finish_engines(adapter, adapter->node_count);
	gpu_windows_stop(adapter);
	gpu_hw_memory_stop(&adapter->memory);
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_remove_device(IN_CONST_PVOID MiniportDeviceContext)
{
	struct gpu_adapter *adapter = gpu_adapter_from(MiniportDeviceContext);

	PAGED_CODE();

	if (!adapter || adapter->is_started)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "RemoveDevice of adapter %p, which is none of ours or started",
				  MiniportDeviceContext);
	if (adapter->live_processes || adapter->live_devices || adapter->live_contexts ||
	    adapter->live_resources || adapter->live_allocations)
		DbgPrint(GPU_DRIVER
			 ": removed with %d processes, %d devices, %d contexts, %d resources, "
			 "%d allocations, %d openings left\n",
			 adapter->live_processes, adapter->live_devices, adapter->live_contexts,
			 adapter->live_resources, adapter->live_allocations,
			 gpu_count_openings(adapter));
	adapter->magic = GPU_MAGIC_DEAD;
	gpu_pool_free(adapter);
	return STATUS_SUCCESS;
}

/* DriverEntry keeps nothing that has to be given back. */
VOID APIENTRY gpu_unload(VOID)
{
	PAGED_CODE();
}

NTSTATUS APIENTRY gpu_dispatch_io_request(IN_CONST_PVOID MiniportDeviceContext,
					  IN_ULONG VidPnSourceId,
					  IN_PVIDEO_REQUEST_PACKET VideoRequestPacket)
{
	PAGED_CODE();
	return gpu_refuse(STATUS_NOT_SUPPORTED, "there are no I/O requests of a display");
}

/* The list ends with an entry of zeroes, and the kernel zeroed it. */
NTSTATUS APIENTRY gpu_query_child_relations(IN_CONST_PVOID MiniportDeviceContext,
					    INOUT_PDXGK_CHILD_DESCRIPTOR ChildRelations,
					    IN_ULONG ChildRelationsSize)
{
	PAGED_CODE();
	if (!gpu_adapter_from(MiniportDeviceContext))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "QueryChildRelations of adapter %p, which is none of ours",
				  MiniportDeviceContext);
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_query_child_status(IN_CONST_PVOID MiniportDeviceContext,
					 INOUT_PDXGK_CHILD_STATUS ChildStatus,
					 IN_BOOLEAN NonDestructiveOnly)
{
	PAGED_CODE();
	return gpu_refuse(STATUS_INVALID_PARAMETER, "there are no child devices to ask about");
}

NTSTATUS APIENTRY gpu_query_device_descriptor(IN_CONST_PVOID MiniportDeviceContext,
					      IN_ULONG ChildUid,
					      INOUT_PDXGK_DEVICE_DESCRIPTOR DeviceDescriptor)
{
	PAGED_CODE();
	return gpu_refuse(STATUS_INVALID_PARAMETER, "there is no child device %u", ChildUid);
}

/* Local memory is ordinary memory: it needs no power of its own and loses nothing. */
NTSTATUS APIENTRY gpu_set_power_state(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG DeviceUid,
				      IN_DEVICE_POWER_STATE PowerState, IN_POWER_ACTION ActionType)
{
	PAGED_CODE();
	if (!gpu_adapter_from(MiniportDeviceContext) || DeviceUid != DISPLAY_ADAPTER_HW_ID)
		return gpu_refuse(
			STATUS_INVALID_PARAMETER,
			"SetPowerState of adapter %p for device %u, which is not the adapter",
			MiniportDeviceContext, DeviceUid);
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY gpu_notify_acpi_event(IN_CONST_PVOID MiniportDeviceContext,
					IN_DXGK_EVENT_TYPE EventType, IN_ULONG Event,
					IN_PVOID Argument, OUT_PULONG AcpiFlags)
{
	PAGED_CODE();
	return gpu_refuse(STATUS_NOT_SUPPORTED, "ACPI event 0x%x means nothing to us", Event);
}

/* Any IRQL, on the way to a crash screen: there is no display to bring back. */
VOID APIENTRY gpu_reset_device(IN_CONST_PVOID MiniportDeviceContext)
{
}

NTSTATUS APIENTRY gpu_query_interface(IN_CONST_PVOID MiniportDeviceContext,
				      IN_PQUERY_INTERFACE QueryInterface)
{
	PAGED_CODE();
	return gpu_refuse(STATUS_NOT_SUPPORTED, "there are no interfaces to query");
}

/* We log no events, so there is nothing to switch. */
VOID APIENTRY gpu_control_etw_logging(IN_BOOLEAN Enable, IN_ULONG Flags, IN_UCHAR Level)
{
	PAGED_CODE();
}
