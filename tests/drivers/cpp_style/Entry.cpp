/* SPDX-License-Identifier: MIT */
/*
 * Entry.cpp - DriverEntry, and one function per entry point that finds the object and calls it.
 */
#include "CppStyle.h"
#include "Adapter.h"
#include "Entry.tmh"

static const ULONG kDefaultVideoMemoryKiB = 4096;

static CsSettings s_Settings = { kDefaultVideoMemoryKiB };

extern "C" DRIVER_INITIALIZE DriverEntry;

static DXGKDDI_ADD_DEVICE CsDdiAddDevice;
static DXGKDDI_START_DEVICE CsDdiStartDevice;
static DXGKDDI_STOP_DEVICE CsDdiStopDevice;
static DXGKDDI_REMOVE_DEVICE CsDdiRemoveDevice;
static DXGKDDI_DISPATCH_IO_REQUEST CsDdiDispatchIoRequest;
static DXGKDDI_INTERRUPT_ROUTINE CsDdiInterruptRoutine;
static DXGKDDI_DPC_ROUTINE CsDdiDpcRoutine;
static DXGKDDI_QUERY_CHILD_RELATIONS CsDdiQueryChildRelations;
static DXGKDDI_QUERY_CHILD_STATUS CsDdiQueryChildStatus;
static DXGKDDI_QUERY_DEVICE_DESCRIPTOR CsDdiQueryDeviceDescriptor;
static DXGKDDI_SET_POWER_STATE CsDdiSetPowerState;
static DXGKDDI_NOTIFY_ACPI_EVENT CsDdiNotifyAcpiEvent;
static DXGKDDI_RESET_DEVICE CsDdiResetDevice;
static DXGKDDI_UNLOAD CsDdiUnload;
static DXGKDDI_QUERY_INTERFACE CsDdiQueryInterface;
static DXGKDDI_CONTROL_ETW_LOGGING CsDdiControlEtwLogging;
static DXGKDDI_QUERYADAPTERINFO CsDdiQueryAdapterInfo;
static DXGKDDI_CREATEDEVICE CsDdiCreateDevice;
static DXGKDDI_DESTROYDEVICE CsDdiDestroyDevice;
static DXGKDDI_CREATECONTEXT CsDdiCreateContext;
static DXGKDDI_DESTROYCONTEXT CsDdiDestroyContext;
static DXGKDDI_CREATEALLOCATION CsDdiCreateAllocation;
static DXGKDDI_DESTROYALLOCATION CsDdiDestroyAllocation;
static DXGKDDI_DESCRIBEALLOCATION CsDdiDescribeAllocation;
static DXGKDDI_GETSTANDARDALLOCATIONDRIVERDATA CsDdiGetStandardAllocationDriverData;
static DXGKDDI_OPENALLOCATIONINFO CsDdiOpenAllocation;
static DXGKDDI_CLOSEALLOCATION CsDdiCloseAllocation;
static DXGKDDI_RENDER CsDdiRender;
static DXGKDDI_PATCH CsDdiPatch;
static DXGKDDI_SUBMITCOMMAND CsDdiSubmitCommand;
static DXGKDDI_PREEMPTCOMMAND CsDdiPreemptCommand;
static DXGKDDI_BUILDPAGINGBUFFER CsDdiBuildPagingBuffer;
static DXGKDDI_QUERYCURRENTFENCE CsDdiQueryCurrentFence;
static DXGKDDI_RESETFROMTIMEOUT CsDdiResetFromTimeout;
static DXGKDDI_RESTARTFROMTIMEOUT CsDdiRestartFromTimeout;
static DXGKDDI_ESCAPE CsDdiEscape;
static DXGKDDI_COLLECTDBGINFO CsDdiCollectDbgInfo;
static DXGKDDI_QUERYDEPENDENTENGINEGROUP CsDdiQueryDependentEngineGroup;
static DXGKDDI_QUERYENGINESTATUS CsDdiQueryEngineStatus;
static DXGKDDI_RESETENGINE CsDdiResetEngine;
static DXGKDDI_GETNODEMETADATA CsDdiGetNodeMetadata;

CS_PAGED_SEGMENT_BEGIN

/* VideoMemoryKiB under the driver's key; without it the default stays. */
_Use_decl_annotations_ static NTSTATUS ReadSettings(PUNICODE_STRING RegistryPath)
{
	PAGED_CODE();

	OBJECT_ATTRIBUTES attributes;
	InitializeObjectAttributes(&attributes, RegistryPath,
				   OBJ_KERNEL_HANDLE | OBJ_CASE_INSENSITIVE, NULL, NULL);
	HANDLE key;
	NTSTATUS status = ZwOpenKey(&key, KEY_QUERY_VALUE, &attributes);
	if (!NT_SUCCESS(status)) {
		CS_LOG_ERROR("ZwOpenKey(%wZ) failed. (status=%!STATUS!)", RegistryPath, status);
		return status;
	}

	const ULONG size = sizeof(KEY_VALUE_PARTIAL_INFORMATION) + sizeof(ULONG);
	KEY_VALUE_PARTIAL_INFORMATION *value = static_cast<KEY_VALUE_PARTIAL_INFORMATION *>(
		ExAllocatePoolWithTag(PagedPool, size, CS_TAG_TEMPORARY));
	if (value == NULL) {
		ZwClose(key);
		return STATUS_NO_MEMORY;
	}
	DECLARE_CONST_UNICODE_STRING(name, L"VideoMemoryKiB");
	ULONG length = 0;
	if (NT_SUCCESS(ZwQueryValueKey(key, const_cast<UNICODE_STRING *>(&name),
				       KeyValuePartialInformation, value, size, &length)) &&
	    value->Type == REG_DWORD && value->DataLength == sizeof(ULONG))
		RtlCopyMemory(&s_Settings.VideoMemoryKiB, value->Data, sizeof(ULONG));

	ExFreePoolWithTag(value, CS_TAG_TEMPORARY);
	ZwClose(key);
	if (s_Settings.VideoMemoryKiB < 64) {
		CS_LOG_ERROR("VideoMemoryKiB = %u is too little", s_Settings.VideoMemoryKiB);
		return STATUS_INVALID_PARAMETER;
	}
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject,
						       PUNICODE_STRING RegistryPath)
{
	PAGED_CODE();

	WPP_INIT_TRACING(DriverObject, RegistryPath);
	RECORDER_CONFIGURE_PARAMS recorder;
	RECORDER_CONFIGURE_PARAMS_INIT(&recorder);
	WppRecorderConfigure(&recorder);
	WPP_RECORDER_LEVEL_FILTER(CS_TRACE_DEFAULT) = FALSE;
	CS_TRACE(TRACE_LEVEL_INFORMATION, CS_TRACE_DEFAULT, "%!FUNC! of %wZ", RegistryPath);

	NTSTATUS status = ReadSettings(RegistryPath);
	if (!NT_SUCCESS(status)) {
		WPP_CLEANUP(DriverObject);
		return status;
	}

	DRIVER_INITIALIZATION_DATA data = {};
	data.Version = DXGKDDI_INTERFACE_VERSION;
	data.DxgkDdiAddDevice = CsDdiAddDevice;
	data.DxgkDdiStartDevice = CsDdiStartDevice;
	data.DxgkDdiStopDevice = CsDdiStopDevice;
	data.DxgkDdiRemoveDevice = CsDdiRemoveDevice;
	data.DxgkDdiDispatchIoRequest = CsDdiDispatchIoRequest;
	data.DxgkDdiInterruptRoutine = CsDdiInterruptRoutine;
	data.DxgkDdiDpcRoutine = CsDdiDpcRoutine;
	data.DxgkDdiQueryChildRelations = CsDdiQueryChildRelations;
	data.DxgkDdiQueryChildStatus = CsDdiQueryChildStatus;
	data.DxgkDdiQueryDeviceDescriptor = CsDdiQueryDeviceDescriptor;
	data.DxgkDdiSetPowerState = CsDdiSetPowerState;
	data.DxgkDdiNotifyAcpiEvent = CsDdiNotifyAcpiEvent;
	data.DxgkDdiResetDevice = CsDdiResetDevice;
	data.DxgkDdiUnload = CsDdiUnload;
	data.DxgkDdiQueryInterface = CsDdiQueryInterface;
	data.DxgkDdiControlEtwLogging = CsDdiControlEtwLogging;
	data.DxgkDdiQueryAdapterInfo = CsDdiQueryAdapterInfo;
	data.DxgkDdiCreateDevice = CsDdiCreateDevice;
	data.DxgkDdiDestroyDevice = CsDdiDestroyDevice;
	data.DxgkDdiCreateContext = CsDdiCreateContext;
	data.DxgkDdiDestroyContext = CsDdiDestroyContext;
	data.DxgkDdiCreateAllocation = CsDdiCreateAllocation;
	data.DxgkDdiDestroyAllocation = CsDdiDestroyAllocation;
	data.DxgkDdiDescribeAllocation = CsDdiDescribeAllocation;
	data.DxgkDdiGetStandardAllocationDriverData = CsDdiGetStandardAllocationDriverData;
	data.DxgkDdiOpenAllocation = CsDdiOpenAllocation;
	data.DxgkDdiCloseAllocation = CsDdiCloseAllocation;
	data.DxgkDdiRender = CsDdiRender;
	data.DxgkDdiPatch = CsDdiPatch;
	data.DxgkDdiSubmitCommand = CsDdiSubmitCommand;
	data.DxgkDdiPreemptCommand = CsDdiPreemptCommand;
	data.DxgkDdiBuildPagingBuffer = CsDdiBuildPagingBuffer;
	data.DxgkDdiQueryCurrentFence = CsDdiQueryCurrentFence;
	data.DxgkDdiResetFromTimeout = CsDdiResetFromTimeout;
	data.DxgkDdiRestartFromTimeout = CsDdiRestartFromTimeout;
	data.DxgkDdiEscape = CsDdiEscape;
	data.DxgkDdiCollectDbgInfo = CsDdiCollectDbgInfo;
	data.DxgkDdiQueryDependentEngineGroup = CsDdiQueryDependentEngineGroup;
	data.DxgkDdiQueryEngineStatus = CsDdiQueryEngineStatus;
	data.DxgkDdiResetEngine = CsDdiResetEngine;
	data.DxgkDdiGetNodeMetadata = CsDdiGetNodeMetadata;

	status = DxgkInitialize(DriverObject, RegistryPath, &data);
	if (!NT_SUCCESS(status)) {
		CS_LOG_ERROR("DxgkInitialize failed. (status=%!STATUS!)", status);
		WPP_CLEANUP(DriverObject);
	}
	return status;
}

_Use_decl_annotations_ static void CsDdiUnload(void)
{
	PAGED_CODE();
	WPP_CLEANUP(NULL);
}

_Use_decl_annotations_ static NTSTATUS CsDdiAddDevice(PDEVICE_OBJECT const PhysicalDeviceObject,
						      PVOID *MiniportDeviceContext)
{
	PAGED_CODE();

	CsAdapter *adapter =
		new (NonPagedPoolNx, CS_TAG_ADAPTER) CsAdapter(PhysicalDeviceObject, s_Settings);
	if (adapter == NULL)
		return STATUS_NO_MEMORY;
	*MiniportDeviceContext = adapter->Handle();
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiStartDevice(PVOID const Context,
							PDXGK_START_INFO StartInfo,
							PDXGKRNL_INTERFACE Interface,
							PULONG NumberOfVideoPresentSources,
							PULONG NumberOfChildren)
{
	PAGED_CODE();

	*NumberOfVideoPresentSources = 0;
	*NumberOfChildren = 0;
	return CsObject::Cast<CsAdapter>(Context)->Start(StartInfo, Interface);
}

_Use_decl_annotations_ static NTSTATUS CsDdiStopDevice(PVOID const Context)
{
	PAGED_CODE();
	CsObject::Cast<CsAdapter>(Context)->Stop();
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiRemoveDevice(PVOID const Context)
{
	PAGED_CODE();
	delete CsObject::Cast<CsAdapter>(Context);
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiDispatchIoRequest(PVOID const, ULONG,
							      PVIDEO_REQUEST_PACKET)
{
	PAGED_CODE();
	return STATUS_NOT_SUPPORTED;
}

_Use_decl_annotations_ static NTSTATUS CsDdiQueryChildRelations(PVOID const, PDXGK_CHILD_DESCRIPTOR,
								ULONG)
{
	PAGED_CODE();
	return STATUS_SUCCESS; /* a compute-only adapter has none */
}

_Use_decl_annotations_ static NTSTATUS CsDdiQueryChildStatus(PVOID const, PDXGK_CHILD_STATUS,
							     BOOLEAN)
{
	PAGED_CODE();
	return STATUS_NOT_SUPPORTED;
}

_Use_decl_annotations_ static NTSTATUS CsDdiQueryDeviceDescriptor(PVOID const, ULONG,
								  PDXGK_DEVICE_DESCRIPTOR)
{
	PAGED_CODE();
	return STATUS_NOT_SUPPORTED;
}

_Use_decl_annotations_ static NTSTATUS CsDdiSetPowerState(PVOID const, ULONG,
							  DEVICE_POWER_STATE DevicePowerState,
							  POWER_ACTION ActionType)
{
	PAGED_CODE();
	CS_LOG_TRACE("D%d for action %d", DevicePowerState - PowerDeviceD0, ActionType);
	return STATUS_SUCCESS; /* memory and thread keep their state in every power state */
}

_Use_decl_annotations_ static NTSTATUS CsDdiNotifyAcpiEvent(PVOID const, DXGK_EVENT_TYPE, ULONG,
							    PVOID, PULONG)
{
	PAGED_CODE();
	return STATUS_NOT_SUPPORTED;
}

_Use_decl_annotations_ static NTSTATUS CsDdiQueryInterface(PVOID const, PQUERY_INTERFACE)
{
	PAGED_CODE();
	return STATUS_NOT_SUPPORTED;
}

_Use_decl_annotations_ static void CsDdiControlEtwLogging(BOOLEAN Enable, ULONG, UCHAR)
{
	PAGED_CODE();
	WPP_RECORDER_LEVEL_FILTER(CS_TRACE_DEFAULT) = Enable;
}

_Use_decl_annotations_ static NTSTATUS CsDdiQueryAdapterInfo(HANDLE const Adapter,
							     const DXGKARG_QUERYADAPTERINFO *Args)
{
	PAGED_CODE();
	return CsObject::Cast<CsAdapter>(Adapter)->QueryAdapterInfo(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiCreateDevice(HANDLE const Adapter,
							 DXGKARG_CREATEDEVICE *Args)
{
	PAGED_CODE();

	CsDevice *device =
		new (NonPagedPoolNx, CS_TAG_DEVICE) CsDevice(CsObject::Cast<CsAdapter>(Adapter));
	if (device == NULL)
		return STATUS_NO_MEMORY;
	Args->hDevice = device->Handle();
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiDestroyDevice(HANDLE const Device)
{
	PAGED_CODE();
	delete CsObject::Cast<CsDevice>(Device);
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiCreateContext(HANDLE const Device,
							  DXGKARG_CREATECONTEXT *Args)
{
	PAGED_CODE();

	NT_ASSERT(CsObject::Cast<CsDevice>(Device) != NULL);
	if (Args->NodeOrdinal != 0)
		return STATUS_INVALID_PARAMETER;

	CsContext *context = new (NonPagedPoolNx, CS_TAG_CONTEXT) CsContext();
	if (context == NULL)
		return STATUS_NO_MEMORY;
	Args->hContext = context->Handle();
	RtlZeroMemory(&Args->ContextInfo, sizeof(Args->ContextInfo));
	Args->ContextInfo.DmaBufferSize = PAGE_SIZE;
	Args->ContextInfo.AllocationListSize = 64;
	Args->ContextInfo.PatchLocationListSize = PAGE_SIZE / sizeof(CsPacket);
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiDestroyContext(HANDLE const Context)
{
	PAGED_CODE();
	delete CsObject::Cast<CsContext>(Context);
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiCreateAllocation(HANDLE const Adapter,
							     DXGKARG_CREATEALLOCATION *Args)
{
	PAGED_CODE();
	return CsObject::Cast<CsAdapter>(Adapter)->CreateAllocation(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiDestroyAllocation(HANDLE const,
							      const DXGKARG_DESTROYALLOCATION *Args)
{
	PAGED_CODE();
	return CsAdapter::DestroyAllocation(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiDescribeAllocation(HANDLE const,
							       DXGKARG_DESCRIBEALLOCATION *)
{
	PAGED_CODE();
	return STATUS_NOT_SUPPORTED; /* buffers have no width and no format */
}

_Use_decl_annotations_ static NTSTATUS CsDdiGetStandardAllocationDriverData(
	HANDLE const, DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *)
{
	PAGED_CODE();
	return STATUS_NOT_SUPPORTED;
}

_Use_decl_annotations_ static NTSTATUS CsDdiOpenAllocation(HANDLE const Device,
							   const DXGKARG_OPENALLOCATION *Args)
{
	PAGED_CODE();
	return CsObject::Cast<CsDevice>(Device)->OpenAllocations(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiCloseAllocation(HANDLE const,
							    const DXGKARG_CLOSEALLOCATION *Args)
{
	PAGED_CODE();
	return CsDevice::CloseAllocations(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiRender(HANDLE const Context, DXGKARG_RENDER *Args)
{
	PAGED_CODE();
	return CsObject::Cast<CsContext>(Context)->Render(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiPatch(HANDLE const Adapter, const DXGKARG_PATCH *Args)
{
	PAGED_CODE();
	return CsObject::Cast<CsAdapter>(Adapter)->Patch(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiBuildPagingBuffer(HANDLE const Adapter,
							      DXGKARG_BUILDPAGINGBUFFER *Args)
{
	PAGED_CODE();
	return CsObject::Cast<CsAdapter>(Adapter)->BuildPagingBuffer(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiQueryCurrentFence(HANDLE const Adapter,
							      DXGKARG_QUERYCURRENTFENCE *Args)
{
	PAGED_CODE();
	Args->CurrentFence = CsObject::Cast<CsAdapter>(Adapter)->CurrentFence();
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiResetFromTimeout(HANDLE const Adapter)
{
	PAGED_CODE();
	CsObject::Cast<CsAdapter>(Adapter)->ResetEngine();
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiRestartFromTimeout(HANDLE const)
{
	PAGED_CODE();
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiEscape(HANDLE const, const DXGKARG_ESCAPE *Args)
{
	PAGED_CODE();

	/* Sends the private data back with every byte inverted. */
	UCHAR *bytes = static_cast<UCHAR *>(Args->pPrivateDriverData);
	for (UINT i = 0; i < Args->PrivateDriverDataSize; i++)
		bytes[i] = static_cast<UCHAR>(~bytes[i]);
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiQueryDependentEngineGroup(
	HANDLE const, DXGKARG_QUERYDEPENDENTENGINEGROUP *Args)
{
	PAGED_CODE();
	Args->DependentNodeOrdinalMask = 1ULL << Args->NodeOrdinal;
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiQueryEngineStatus(HANDLE const,
							      DXGKARG_QUERYENGINESTATUS *Args)
{
	PAGED_CODE();
	Args->EngineStatus.Value = 0;
	Args->EngineStatus.Responsive = 1;
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiResetEngine(HANDLE const Adapter,
							DXGKARG_RESETENGINE *Args)
{
	PAGED_CODE();
	Args->LastAbortedFenceId = CsObject::Cast<CsAdapter>(Adapter)->ResetEngine();
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS CsDdiGetNodeMetadata(HANDLE const, UINT NodeOrdinal,
							    DXGKARG_GETNODEMETADATA *Args)
{
	PAGED_CODE();

	if (NodeOrdinal != 0)
		return STATUS_INVALID_PARAMETER;
	RtlZeroMemory(Args, sizeof(*Args));
	Args->EngineType = DXGK_ENGINE_TYPE_OTHER;
	return RtlStringCbCopyW(Args->FriendlyName, sizeof(Args->FriendlyName), L"Compute");
}

CS_PAGED_SEGMENT_END

CS_NONPAGED_SEGMENT_BEGIN

_Use_decl_annotations_ static BOOLEAN CsDdiInterruptRoutine(PVOID const, ULONG)
{
	return FALSE; /* never ours: the engine is a thread */
}

_Use_decl_annotations_ static void CsDdiDpcRoutine(PVOID const Context)
{
	CsObject::Cast<CsAdapter>(Context)->Dpc();
}

_Use_decl_annotations_ static NTSTATUS CsDdiSubmitCommand(HANDLE const Adapter,
							  const DXGKARG_SUBMITCOMMAND *Args)
{
	return CsObject::Cast<CsAdapter>(Adapter)->Submit(Args);
}

_Use_decl_annotations_ static NTSTATUS CsDdiPreemptCommand(HANDLE const Adapter,
							   const DXGKARG_PREEMPTCOMMAND *Args)
{
	CsObject::Cast<CsAdapter>(Adapter)->Preempt(Args);
	return STATUS_SUCCESS;
}

_Use_decl_annotations_ static void CsDdiResetDevice(PVOID const)
{
}

_Use_decl_annotations_ static NTSTATUS CsDdiCollectDbgInfo(HANDLE const,
							   const DXGKARG_COLLECTDBGINFO *)
{
	return STATUS_SUCCESS; /* nothing beyond what the host knows */
}

CS_NONPAGED_SEGMENT_END
