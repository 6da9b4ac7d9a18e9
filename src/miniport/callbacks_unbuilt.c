/* SPDX-License-Identifier: MIT */
/*
 * callbacks_unbuilt.c - the callbacks that exist and are not served yet.
 *
 * A driver may call any member of DXGKRNL_INTERFACE, so none is NULL. These fail honestly, and the
 * report says which one was missed.
 */
#include "miniport/callbacks.h"
#include "nt/report.h"

static NTSTATUS unbuilt(HANDLE handle, const char *name)
{
	callback_begin(handle, name, HIGH_LEVEL);
	nt_report(RULE_DDI_CALLBACK_NOT_BUILT, "%s was called, and it is not built yet", name);
	return callback_end(STATUS_NOT_IMPLEMENTED);
}

/* clang-format off */
#define UNBUILT_STATUS(name, handle, ...)                                                          \
	static NTSTATUS APIENTRY cb_##name(__VA_ARGS__)                                            \
	{                                                                                          \
		return unbuilt(handle, "DxgkCb" #name);                                            \
	}
#define UNBUILT_VOID(name, handle, ...)                                                            \
	static VOID APIENTRY cb_##name(__VA_ARGS__)                                                \
	{                                                                                          \
		unbuilt(handle, "DxgkCb" #name);                                                   \
	}
#define NONE CALLBACK_NO_HANDLE

UNBUILT_STATUS(IndicateChildStatus, h, HANDLE h, PDXGK_CHILD_STATUS a)
UNBUILT_STATUS(QueryServices, h, HANDLE h, DXGK_SERVICES a, PINTERFACE b)
UNBUILT_STATUS(QueryVidPnInterface, NONE, D3DKMDT_HVIDPN a, const DXGK_VIDPN_INTERFACE_VERSION b, const DXGK_VIDPN_INTERFACE **c)
UNBUILT_STATUS(QueryMonitorInterface, h, IN_CONST_HANDLE h, const DXGK_MONITOR_INTERFACE_VERSION a, const DXGK_MONITOR_INTERFACE **b)
UNBUILT_STATUS(GetCaptureAddress, NONE, DXGKARGCB_GETCAPTUREADDRESS *a)
UNBUILT_STATUS(ExcludeAdapterAccess, h, HANDLE h, ULONG a, PDXGKDDI_PROTECTED_CALLBACK b, PVOID c)

/* WDDM 1.2 */
UNBUILT_STATUS(PowerRuntimeControlRequest, h, IN_CONST_HANDLE h, LPCGUID a, PVOID b, SIZE_T c, PVOID d, SIZE_T e, PSIZE_T f)

/* WDDM 2.0 */
UNBUILT_VOID(HardwareContentProtectionTeardown, h, IN_CONST_HANDLE h, UINT a)

/* WDDM 2.1 */
UNBUILT_VOID(MultiPlaneOverlayDisabled, h, IN_CONST_HANDLE h, const UINT a)
UNBUILT_STATUS(MitigatedRangeUpdate, h, HANDLE h, ULONG a, ULONGLONG b)

/* WDDM 2.2 */
UNBUILT_STATUS(IndicateConnectorChange, h, IN_CONST_HANDLE h)
UNBUILT_STATUS(UnblockUEFIFrameBufferRanges, h, IN_CONST_HANDLE h, const DXGK_QUERYSEGMENTMEMORYSTATE *a)

/* WDDM 2.3 */
UNBUILT_STATUS(SetProtectedSessionStatus, NONE, const DXGKARGCB_PROTECTEDSESSIONSTATUS *a)

/* WDDM 2.4 */
UNBUILT_STATUS(PinFrameBufferForSave, h, IN_CONST_HANDLE h, DXGKARGCB_PINFRAMEBUFFERFORSAVE *a)
UNBUILT_STATUS(UnpinFrameBufferForSave, h, IN_CONST_HANDLE h, const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE *a)
UNBUILT_STATUS(MapFrameBufferPointer, h, IN_CONST_HANDLE h, DXGKARGCB_MAPFRAMEBUFFERPOINTER *a)
UNBUILT_STATUS(UnmapFrameBufferPointer, h, IN_CONST_HANDLE h, const DXGKARGCB_UNMAPFRAMEBUFFERPOINTER *a)
UNBUILT_STATUS(MapMdlToIoMmu, h, IN_CONST_HANDLE h, DXGKARGCB_MAPMDLTOIOMMU *a)
UNBUILT_VOID(UnmapMdlFromIoMmu, h, IN_CONST_HANDLE h, const DXGKARGCB_UNMAPMDLFROMIOMMU *a)
UNBUILT_STATUS(ReportDiagnostic, h, HANDLE h, PDXGK_DIAGNOSTIC_HEADER a)

/* WDDM 2.6 */
UNBUILT_STATUS(SaveMemoryForHotUpdate, h, IN_CONST_HANDLE h, const DXGKARGCB_SAVEMEMORYFORHOTUPDATE *a)

/* WDDM 2.8 */
UNBUILT_STATUS(NotifyCursorSupportChange, a ? a->DeviceHandle : NULL, const DXGKARGCB_NOTIFYCURSORSUPPORTCHANGE *a)

/* WDDM 2.9 */
UNBUILT_STATUS(CreatePhysicalMemoryObject, a ? a->hAdapter : NULL, DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *a)
UNBUILT_VOID(DestroyPhysicalMemoryObject, NONE, const DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT *a)
UNBUILT_STATUS(MapPhysicalMemory, NONE, DXGKARGCB_MAP_PHYSICAL_MEMORY *a)
UNBUILT_VOID(UnmapPhysicalMemory, NONE, const DXGKARGCB_UNMAP_PHYSICAL_MEMORY *a)
UNBUILT_STATUS(AllocateAdl, NONE, DXGKARGCB_ALLOCATE_ADL *a)
UNBUILT_VOID(FreeAdl, NONE, const DXGKARGCB_FREE_ADL *a)
UNBUILT_STATUS(OpenPhysicalMemoryObject, a ? a->hAdapter : NULL, DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT *a)
UNBUILT_VOID(ClosePhysicalMemoryObject, NONE, const DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT *a)
UNBUILT_STATUS(PinFrameBufferForSave2, h, IN_CONST_HANDLE h, DXGKARGCB_PINFRAMEBUFFERFORSAVE2 *a)

/* WDDM 3.1 */
UNBUILT_STATUS(DisconnectDoorbell, NONE, const DXGKARGCB_DISCONNECTDOORBELL *a)
/* clang-format on */

void callbacks_fill_unbuilt(DXGKRNL_INTERFACE *interface)
{
	*interface = (DXGKRNL_INTERFACE){
		.DxgkCbIndicateChildStatus = cb_IndicateChildStatus,
		.DxgkCbQueryServices = cb_QueryServices,
		.DxgkCbQueryVidPnInterface = cb_QueryVidPnInterface,
		.DxgkCbQueryMonitorInterface = cb_QueryMonitorInterface,
		.DxgkCbGetCaptureAddress = cb_GetCaptureAddress,
		.DxgkCbExcludeAdapterAccess = cb_ExcludeAdapterAccess,
		.DxgkCbPowerRuntimeControlRequest = cb_PowerRuntimeControlRequest,
		.DxgkCbHardwareContentProtectionTeardown = cb_HardwareContentProtectionTeardown,
		.DxgkCbMultiPlaneOverlayDisabled = cb_MultiPlaneOverlayDisabled,
		.DxgkCbMitigatedRangeUpdate = cb_MitigatedRangeUpdate,
		.DxgkCbIndicateConnectorChange = cb_IndicateConnectorChange,
		.DxgkCbUnblockUEFIFrameBufferRanges = cb_UnblockUEFIFrameBufferRanges,
		.DxgkCbSetProtectedSessionStatus = cb_SetProtectedSessionStatus,
		.DxgkCbPinFrameBufferForSave = cb_PinFrameBufferForSave,
		.DxgkCbUnpinFrameBufferForSave = cb_UnpinFrameBufferForSave,
		.DxgkCbMapFrameBufferPointer = cb_MapFrameBufferPointer,
		.DxgkCbUnmapFrameBufferPointer = cb_UnmapFrameBufferPointer,
		.DxgkCbMapMdlToIoMmu = cb_MapMdlToIoMmu,
		.DxgkCbUnmapMdlFromIoMmu = cb_UnmapMdlFromIoMmu,
		.DxgkCbReportDiagnostic = cb_ReportDiagnostic,
		.DxgkCbSaveMemoryForHotUpdate = cb_SaveMemoryForHotUpdate,
		.DxgkCbNotifyCursorSupportChange = cb_NotifyCursorSupportChange,
		.DxgkCbCreatePhysicalMemoryObject = cb_CreatePhysicalMemoryObject,
		.DxgkCbDestroyPhysicalMemoryObject = cb_DestroyPhysicalMemoryObject,
		.DxgkCbMapPhysicalMemory = cb_MapPhysicalMemory,
		.DxgkCbUnmapPhysicalMemory = cb_UnmapPhysicalMemory,
		.DxgkCbAllocateAdl = cb_AllocateAdl,
		.DxgkCbFreeAdl = cb_FreeAdl,
		.DxgkCbOpenPhysicalMemoryObject = cb_OpenPhysicalMemoryObject,
		.DxgkCbClosePhysicalMemoryObject = cb_ClosePhysicalMemoryObject,
		.DxgkCbPinFrameBufferForSave2 = cb_PinFrameBufferForSave2,
		.DxgkCbDisconnectDoorbell = cb_DisconnectDoorbell,
	};
}
