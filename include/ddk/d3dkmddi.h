/* SPDX-License-Identifier: MIT */
/*
 * d3dkmddi.h: what Dxgkrnl and a display miniport driver say to each other about memory, work and
 * pictures. dispmprt.h puts these calls into the two tables that are exchanged at start.
 *
 * Names, field orders and values are those of the Windows driver reference. Every structure is the
 * newest one, whatever DXGKDDI_INTERFACE_VERSION a driver names: drivers are compiled from source
 * here, so an older driver sees members it never asks for, and the host alone has to look at the
 * version that was registered. A comment "WDDM x.y" marks the first version that knows a member.
 *
 * At members of arguments stands who writes them, as who is called sees it: "in" the caller, "out"
 * the other side. Behind the brace of a structure it stands for all members that say nothing. Above an entry point stands the IRQL at which it is called, and who else is in the
 * driver meanwhile: level 0, other processes; level 1, other processes and classes; level 2, nobody, and
 * the hardware is idle; level 3, nothing is in its memory either. Above a callback stands the IRQL
 * at which a driver may call it.
 *
 * No libc header is included, directly or through another header.
 */
#ifndef OPENDXGK_DDK_D3DKMDDI_H
#define OPENDXGK_DDK_D3DKMDDI_H

#include "wdm.h"
#include "d3dukmdt.h"
#include "d3dkmdt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Interface versions that d3dukmdt.h does not name: no user-mode program meets them. */

#define DXGKDDI_INTERFACE_VERSION_WDDM1_3_M1 0x4000
#define DXGKDDI_INTERFACE_VERSION_WDDM3_1    0x10004
#define DXGKDDI_INTERFACE_VERSION_WDDM3_2    0x11007

/* Annotations that only a static analyser of another system reads. */

#ifndef _Function_class_DXGK_
#define _Function_class_DXGK_(x)
#endif
#ifndef _IRQL_requires_DXGK_
#define _IRQL_requires_DXGK_(x)
#endif
#ifndef _Field_size_bytes_DXGK_
#define _Field_size_bytes_DXGK_(x)
#endif

/*
 * Parameter types are spelled with their direction in front, and drivers declare their functions
 * with these names. CONST binds to what is named: IN_CONST_HANDLE is a constant handle,
 * IN_CONST_PDXGKARG_X points to a constant structure.
 */
typedef CONST HANDLE IN_CONST_HANDLE;
typedef CONST PVOID IN_CONST_PVOID;
typedef PVOID IN_PVOID;
typedef PVOID *OUT_PPVOID;
typedef ULONG IN_ULONG;
typedef PULONG OUT_PULONG;
typedef UINT IN_UINT;
typedef UCHAR IN_UCHAR;
typedef BOOLEAN IN_BOOLEAN;
typedef PBOOLEAN OUT_PBOOLEAN;
typedef SIZE_T IN_SIZE_T;
typedef LPCGUID IN_LPCGUID;
typedef D3DDDI_VIDEO_PRESENT_SOURCE_ID IN_D3DDDI_VIDEO_PRESENT_SOURCE_ID;
typedef CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID IN_CONST_D3DDDI_VIDEO_PRESENT_SOURCE_ID;
typedef D3DDDI_VIDEO_PRESENT_TARGET_ID IN_D3DDDI_VIDEO_PRESENT_TARGET_ID;
typedef CONST D3DDDI_VIDEO_PRESENT_TARGET_ID IN_CONST_D3DDDI_VIDEO_PRESENT_TARGET_ID;

#define DXGK_MAX_ASYMETRICAL_PROCESSING_NODES 64
#define DXGK_ALLOCATION_LIST_SIZE_GDICONTEXT  256
#define DXGK_MIN_PAGE_TABLE_LEVEL_COUNT       2
#define DXGK_MAX_PAGE_TABLE_LEVEL_COUNT       6
#define DXGK_MAX_F_STATES                     8
#define DXGK_POWER_COMPONENT_NAME_SIZE        40
#define DXGK_MAX_POWER_COMPONENT_PROVIDERS    16

/* ---- capabilities: DxgkDdiQueryAdapterInfo ---- */

typedef enum _DXGK_QUERYADAPTERINFOTYPE {
	DXGKQAITYPE_UMDRIVERPRIVATE = 0,
	DXGKQAITYPE_DRIVERCAPS = 1,
	DXGKQAITYPE_QUERYSEGMENT = 2,
	DXGKQAITYPE_RESERVED = 3,
	DXGKQAITYPE_ALLOCATIONGROUP = 3,
	DXGKQAITYPE_QUERYSEGMENT2 = 4,
	DXGKQAITYPE_QUERYSEGMENT3 = 5,
	DXGKQAITYPE_NUMPOWERCOMPONENTS = 6,
	DXGKQAITYPE_POWERCOMPONENTINFO = 7,
	DXGKQAITYPE_PREFERREDGPUNODE = 8,
	DXGKQAITYPE_POWERCOMPONENTPSTATEINFO = 9,
	DXGKQAITYPE_HISTORYBUFFERPRECISION = 10,
	DXGKQAITYPE_QUERYSEGMENT4 = 11,
	DXGKQAITYPE_SEGMENTMEMORYSTATE = 12,
	DXGKQAITYPE_GPUMMUCAPS = 13,
	DXGKQAITYPE_PAGETABLELEVELDESC = 14,
	DXGKQAITYPE_PHYSICALADAPTERCAPS = 15,
	DXGKQAITYPE_DISPLAY_DRIVERCAPS_EXTENSION = 16,
	DXGKQAITYPE_INTEGRATED_DISPLAY_DESCRIPTOR = 17,
	DXGKQAITYPE_UEFIFRAMEBUFFERRANGES = 18,
	DXGKQAITYPE_QUERYCOLORIMETRYOVERRIDES = 19,
	DXGKQAITYPE_DISPLAYID_DESCRIPTOR = 20,
	DXGKQAITYPE_FRAMEBUFFERSAVESIZE = 21,
	DXGKQAITYPE_HARDWARERESERVEDRANGES = 22,
	DXGKQAITYPE_INTEGRATED_DISPLAY_DESCRIPTOR2 = 23,
	DXGKQAITYPE_NODEPERFDATA = 24,
	DXGKQAITYPE_ADAPTERPERFDATA = 25,
	DXGKQAITYPE_ADAPTERPERFDATA_CAPS = 26,
	DXGKQAITYPE_GPUVERSION = 27,
	DXGKQAITYPE_DEVICE_TYPE_CAPS = 28,
	DXGKQAITYPE_WDDMDEVICECAPS = 29,
	DXGKQAITYPE_GPUPCAPS = 30,
	DXGKQAITYPE_QUERYTARGETGAMMACAPS = 31,
	DXGKQAITYPE_SCANOUT_CAPS = 33,
	DXGKQAITYPE_PHYSICAL_MEMORY_CAPS = 34,
	DXGKQAITYPE_IOMMU_CAPS = 35,
	DXGKQAITYPE_HARDWARERESERVEDRANGES2 = 36,
	DXGKQAITYPE_NATIVE_FENCE_CAPS = 37,
	DXGKQAITYPE_USERMODESUBMISSION_CAPS = 38,
	DXGKQAITYPE_DIRTYBITTRACKINGCAPS = 39,
	DXGKQAITYPE_DIRTYBITTRACKINGSEGMENTCAPS = 40,
	DXGKQAITYPE_SCATTER_RESERVE = 41,
	DXGKQAITYPE_QUERYPAGINGBUFFERINFO = 42,
	DXGKQAITYPE_QUERYSEGMENTCOUNT = 43,
	DXGKQAITYPE_QUERYSEGMENT5 = 44,
	DXGKQAITYPE_QUERYMMUCOUNT = 45,
	DXGKQAITYPE_QUERYMMUS = 46,
	DXGKQAITYPE_64BITONLYCAPS = 47,
	DXGKQAITYPE_PAGINGPROCESSGPUVASIZE = 48,
} DXGK_QUERYADAPTERINFOTYPE;

typedef struct _DXGK_QUERYADAPTERINFOFLAGS {
	union {
		struct {
			UINT VirtualMachineData : 1;
			UINT SecureVirtualMachine : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_QUERYADAPTERINFOFLAGS;

typedef struct _DXGKARG_QUERYADAPTERINFO {
	DXGK_QUERYADAPTERINFOTYPE Type;   /* in */
	VOID *pInputData;                 /* in */
	UINT InputDataSize;               /* in */
	VOID *pOutputData;                /* out */
	UINT OutputDataSize;              /* in */
	DXGK_QUERYADAPTERINFOFLAGS Flags; /* in; WDDM 2.4 */
	HANDLE hKmdProcessHandle;         /* in; WDDM 2.4 */
} DXGKARG_QUERYADAPTERINFO;
typedef CONST DXGKARG_QUERYADAPTERINFO *IN_CONST_PDXGKARG_QUERYADAPTERINFO;

typedef enum _DXGK_WDDMVERSION {
	DXGKDDI_WDDMv1 = 0x1000,
	DXGKDDI_WDDMv1_2 = 0x1200,
	DXGKDDI_WDDMv1_3 = 0x1300,
	DXGKDDI_WDDMv2 = 0x2000,
	DXGKDDI_WDDMv2_1 = 0x2100,
	DXGKDDI_WDDMv2_1_5 = 0x2105,
	DXGKDDI_WDDMv2_1_6 = 0x2106,
	DXGKDDI_WDDMv2_2 = 0x2200,
	DXGKDDI_WDDMv2_3 = 0x2300,
	DXGKDDI_WDDMv2_4 = 0x2400,
	DXGKDDI_WDDMv2_5 = 0x2500,
	DXGKDDI_WDDMv2_6 = 0x2600,
	DXGKDDI_WDDMv2_7 = 0x2700,
	DXGKDDI_WDDMv2_8 = 0x2800,
	DXGKDDI_WDDMv2_9 = 0x2900,
	DXGKDDI_WDDMv3_0 = 0x3000,
	DXGKDDI_WDDMv3_1 = 0x3100,
	DXGKDDI_WDDMv3_2 = 0x3200,
	DXGKDDI_WDDM_LATEST = 0x3200,
} DXGK_WDDMVERSION;

typedef struct _DXGK_POINTERFLAGS {
	union {
		struct {
			UINT Monochrome : 1;
			UINT Color : 1;
			UINT MaskedColor : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	};
} DXGK_POINTERFLAGS;

typedef struct _DXGK_GAMMARAMPCAPS {
	union {
		struct {
			UINT Gamma_Rgb256x3x16 : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_GAMMARAMPCAPS;

typedef struct _DXGK_COLORTRANSFORMCAPS {
	union {
		struct {
			UINT Gamma_Rgb256x3x16 : 1;
			UINT Gamma_Dxgi1 : 1;
			UINT Transform_3x4Matrix : 1;
			UINT Transform_3x4Matrix_WideColor : 1;
			UINT Transform_3x4Matrix_HighColor : 1;
			UINT Transform_Matrix_V2 : 1;
			UINT Reserved : 26;
		};
		UINT Value;
	};
} DXGK_COLORTRANSFORMCAPS;

typedef DXGK_COLORTRANSFORMCAPS *PDXGK_COLORTRANSFORMCAPS;

typedef struct _DXGK_PRESENTATIONCAPS {
	union {
		struct {
			UINT NoScreenToScreenBlt : 1;
			UINT NoOverlapScreenBlt : 1;
			UINT SupportKernelModeCommandBuffer : 1;
			UINT NoSameBitmapAlphaBlend : 1;
			UINT NoSameBitmapStretchBlt : 1;
			UINT NoSameBitmapTransparentBlt : 1;
			UINT NoSameBitmapOverlappedAlphaBlend : 1;
			UINT NoSameBitmapOverlappedStretchBlt : 1;
			UINT DriverSupportsCddDwmInterop : 1;
			UINT Reserved0 : 1;
			UINT AlignmentShift : 4;
			UINT MaxTextureWidthShift : 3;
			UINT MaxTextureHeightShift : 3;
			UINT SupportAllBltRops : 1;
			UINT SupportMirrorStretchBlt : 1;
			UINT SupportMonoStretchBltModes : 1;
			UINT StagingRectStartPitchAligned : 1;
			UINT NoSameBitmapBitBlt : 1;
			UINT NoSameBitmapOverlappedBitBlt : 1;
			UINT Reserved1 : 1;
			UINT NoTempSurfaceForClearTypeBlend : 1;
			UINT SupportSoftwareDeviceBitmaps : 1;
			UINT NoCacheCoherentApertureMemory : 1;
			UINT SupportLinearHeap : 1;
			UINT Reserved : 1;
		};
		UINT Value;
	};
} DXGK_PRESENTATIONCAPS;

typedef struct _DXGK_FLIPCAPS {
	union {
		struct {
			UINT FlipOnVSyncWithNoWait : 1;
			UINT FlipOnVSyncMmIo : 1;
			UINT FlipInterval : 1;
			UINT FlipImmediateMmIo : 1;
			UINT FlipIndependent : 1;
			UINT DdiPresentForIFlip : 1;
			UINT FlipImmediateOnHSync : 1;
			UINT Reserved : 25;
		};
		UINT Value;
	};
} DXGK_FLIPCAPS;

typedef struct _DXGK_VIDSCHCAPS {
	union {
		struct {
			UINT MultiEngineAware : 1;
			UINT VSyncPowerSaveAware : 1;
			UINT PreemptionAware : 1;
			UINT NoDmaPatching : 1;
			UINT CancelCommandAware : 1;
			UINT No64BitAtomics : 1;
			UINT LowIrqlPreemptCommand : 1;
			UINT HwQueuePacketCap : 4;
			UINT NativeGpuFence : 1;
			UINT OptimizedNativeFenceSignaledInterrupt : 1;
			UINT Reserved : 19;
		};
		UINT Value;
	};
} DXGK_VIDSCHCAPS;

typedef struct _DXGK_VIDMMCAPS { /* out */
	union {
		struct {
			UINT OutOfOrderLock : 1;
			UINT DedicatedPagingEngine : 1;
			UINT PagingEngineCanSwizzle : 1;
			UINT SectionBackedPrimary : 1;       /* WDDM 1.2 */
			UINT CrossAdapterResource : 1;       /* WDDM 1.3 */
			UINT VirtualAddressingSupported : 1; /* WDDM 2.0 */
			UINT GpuMmuSupported : 1;
			UINT IoMmuSupported : 1;
			UINT ReplicateGdiContent : 1;
			UINT NonCpuVisiblePrimary : 1;        /* WDDM 2.1 */
			UINT ParavirtualizationSupported : 1; /* WDDM 2.2 */
			UINT IoMmuSecureModeSupported : 1;    /* WDDM 2.4 */
			UINT DisableSelfRefreshVRAMInS3 : 1;
			UINT IoMmuSecureModeRequired : 1; /* WDDM 2.7 */
			UINT MapAperture2Supported : 1;   /* WDDM 2.9 */
			UINT CrossAdapterResourceTexture : 1;
			UINT CrossAdapterResourceScanout : 1;
			UINT AlwaysPoweredVRAM : 1;
			UINT Reserved : 14;
		};
		UINT Value;
	};
	UINT PagingNode;
} DXGK_VIDMMCAPS;

typedef struct _DXGK_GPUENGINETOPOLOGY { /* out */
	UINT NbAsymetricProcessingNodes;
	UINT Reserved[DXGK_MAX_ASYMETRICAL_PROCESSING_NODES];
} DXGK_GPUENGINETOPOLOGY;

/* Space kept for two WDDM 1.1 structures that no driver fills in any more. */
typedef struct _DXGK_VIRTUALADDRESSCAPS_DEPRECATED { /* out */
	union {
		struct {
			UINT PrivilegedMemorySupported : 1;
			UINT ReadOnlyMemorySupported : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
	UINT VirtualAddressBitCount;
	UINT PageTableCoverageBitCount;
	UINT PageDirectoryEntrySize;
	UINT PageDirectorySegment;
	UINT PageTableSegment;
	UINT IdealGPUPageSize;
} DXGK_VIRTUALADDRESSCAPS_DEPRECATED;

typedef struct _DXGK_DMABUFFERCAPS_DEPRECATED { /* out */
	struct {
		UINT Size;
		UINT PrivateDriverDataSize;
		UINT SegmentId;
		UINT Reserved1;
		UINT Reserved[16];
	} PresentDmaBuffer, PagingDmaBuffer;
} DXGK_DMABUFFERCAPS_DEPRECATED;

typedef struct _DXGK_HWQUEUEDFLIP_CAPS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} DXGK_HWQUEUEDFLIP_CAPS;

typedef struct _DXGK_DRIVERCAPS { /* out */
	PHYSICAL_ADDRESS HighestAcceptableAddress;
	UINT MaxAllocationListSlotId;
	SIZE_T ApertureSegmentCommitLimit;
	UINT MaxPointerWidth;
	UINT MaxPointerHeight;
	DXGK_POINTERFLAGS PointerCaps;
	UINT InterruptMessageNumber;
	UINT NumberOfSwizzlingRanges;
	UINT MaxOverlays;
	union {
		DXGK_GAMMARAMPCAPS GammaRampCaps;
		DXGK_COLORTRANSFORMCAPS ColorTransformCaps; /* WDDM 2.2 */
	};
	DXGK_PRESENTATIONCAPS PresentationCaps;
	UINT MaxQueuedFlipOnVSync;
	DXGK_FLIPCAPS FlipCaps;
	DXGK_VIDSCHCAPS SchedulingCaps;
	DXGK_VIDMMCAPS MemoryManagementCaps;
	DXGK_GPUENGINETOPOLOGY GpuEngineTopology;
	DXGK_WDDMVERSION WDDMVersion; /* WDDM 1.1 */
	DXGK_VIRTUALADDRESSCAPS_DEPRECATED Reserved;
	DXGK_DMABUFFERCAPS_DEPRECATED Reserved1;
	D3DKMDT_PREEMPTION_CAPS PreemptionCaps; /* WDDM 1.2 */
	BOOLEAN SupportNonVGA;
	BOOLEAN SupportSmoothRotation;
	BOOLEAN SupportPerEngineTDR;
	BOOLEAN SupportDirectFlip;
	BOOLEAN SupportMultiPlaneOverlay;
	BOOLEAN SupportRuntimePowerManagement;
	BOOLEAN SupportSurpriseRemovalInHibernation;
	BOOLEAN HybridDiscrete; /* WDDM 1.3 */
	UINT MaxOverlayPlanes;
	BOOLEAN HybridIntegrated; /* WDDM 2.0 */
	D3DGPU_VIRTUAL_ADDRESS InternalGpuVirtualAddressRangeStart;
	D3DGPU_VIRTUAL_ADDRESS InternalGpuVirtualAddressRangeEnd;
	BOOLEAN SupportSurpriseRemoval; /* WDDM 2.1 */
	BOOLEAN SupportMultiPlaneOverlayImmediateFlip;
	BOOLEAN CursorScaledWithMultiPlaneOverlayPlane0;
	BOOLEAN HybridAcpiChainingRequired; /* WDDM 2.2 */
	UINT MaxQueuedMultiPlaneOverlayFlipVSync;
	union {
		struct {
			UINT SupportContextlessPresent : 1;
			UINT Detachable : 1;
			UINT VirtualGpuOnly : 1;                  /* WDDM 2.5 */
			UINT ComputeOnly : 1;                     /* WDDM 2.6 */
			UINT IndependentVidPnVSyncControl : 1;    /* WDDM 2.7 */
			UINT NoHybridDiscreteDListDllSupport : 1; /* WDDM 2.8 */
			UINT DisplayableSupport : 1;              /* WDDM 3.0 */
			UINT NoHybridDiscreteDListDllMuxSupport : 1;
			UINT CursorDoesNotSupportXorBlendWithMultiPlaneOverlay : 1;
			UINT Reserved : 23;
		};
		UINT Value;
	} MiscCaps;            /* WDDM 2.4 */
	UINT MaxHwQueuedFlips; /* WDDM 2.9 */
	DXGK_HWQUEUEDFLIP_CAPS HwQueuedFlipCaps;
} DXGK_DRIVERCAPS;

typedef struct _DXGK_DISPLAY_DRIVERCAPS_EXTENSION {
	union {
		struct {
			UINT SecureDisplaySupport : 1;
			UINT VirtualModeSupport : 1;
			UINT HdrFP16ScanoutSupport : 1;
			UINT HdrARGB10ScanoutSupport : 1;
			UINT Hdr10MetadataSupport : 1;
			UINT VirtualRefreshRateSupport : 1;
			UINT SupportUsb4Targets : 1;
			UINT Reserved : 25;
		};
		UINT Value;
	};
} DXGK_DISPLAY_DRIVERCAPS_EXTENSION;

typedef struct _DXGK_DEVICE_TYPE_CAPS {
	union {
		struct {
			UINT Discrete : 1;
			UINT Detachable : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_DEVICE_TYPE_CAPS;

typedef struct _DXGK_WDDMDEVICECAPSIN { /* in */
	ULONG DxgkrnlInterfaceVersion;
} DXGK_WDDMDEVICECAPSIN;

typedef struct _DXGK_WDDMDEVICECAPS { /* out */
	DXGK_WDDMVERSION WDDMVersion;
} DXGK_WDDMDEVICECAPS;

typedef struct _DXGK_GPUPCAPS { /* out */
	union {
		struct {
			UINT VirtualMachineHibernation : 1;
			UINT HotDriverUpdate : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	} Caps;
} DXGK_GPUPCAPS;

typedef struct _DXGK_QUERY_SCANOUT_CAPS_OUT { /* out */
	UINT Caps;
} DXGK_QUERY_SCANOUT_CAPS_OUT;

typedef struct _DXGK_FRAMEBUFFERSAVEAREA { /* out */
	SIZE_T MaximumSize;
} DXGK_FRAMEBUFFERSAVEAREA;

typedef struct _DXGK_PHYSICAL_MEMORY_RANGE { /* out */
	PHYSICAL_ADDRESS BaseAddress;
	LARGE_INTEGER NumberOfBytes;
} DXGK_PHYSICAL_MEMORY_RANGE;

typedef struct _DXGK_HARDWARERESERVEDRANGES { /* out */
	UINT NumRanges;
	DXGK_PHYSICAL_MEMORY_RANGE *pPhysicalRanges;
} DXGK_HARDWARERESERVEDRANGES;

typedef struct _DXGK_PHYSICAL_MEMORY_CAPS { /* out */
	PHYSICAL_ADDRESS HighestVisibleAddress;
} DXGK_PHYSICAL_MEMORY_CAPS;

typedef struct _DXGK_IOMMU_CAPS {
	union {
		struct {
			UINT IommuIsolationSupported : 1;
			UINT IommuIsolationRequired : 1;
			UINT DmaRemappingSupported : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	};
} DXGK_IOMMU_CAPS;

typedef struct _DXGK_PHYSICALADAPTERFLAGS {
	union {
		struct {
			UINT IoMmuSupported : 1;
			UINT GpuMmuSupported : 1;
			UINT MovePagingSupported : 1;
			UINT VPRPagingContextRequired : 1;
			UINT AllowHardwareProtectedNoVpr : 1;
			UINT VirtualCopyEngineSupported : 1;
			UINT GpuVaIommuRequired : 1;
			UINT GpuVaIommuGlobalRequired : 1;
			UINT GpuVaIommuCacheCoherent : 1;
			UINT Reserved : 23;
		};
		UINT Value;
	};
} DXGK_PHYSICALADAPTERFLAGS;

typedef struct _DXGK_QUERYPHYSICALADAPTERCAPSIN { /* in */
	UINT PhysicalAdapterIndex;
} DXGK_QUERYPHYSICALADAPTERCAPSIN;

typedef struct _DXGK_PHYSICALADAPTERCAPS { /* out */
	WORD NumExecutionNodes;
	WORD PagingNodeIndex;
	HANDLE DxgkPhysicalAdapterHandle;
	DXGK_PHYSICALADAPTERFLAGS Flags;
	UINT VPRPagingNode;        /* WDDM 2.1 */
	UINT VirtualCopyNodeIndex; /* WDDM 2.7 */
} DXGK_PHYSICALADAPTERCAPS;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_QUERYADAPTERINFO(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_QUERYADAPTERINFO pQueryAdapterInfo);
typedef DXGKDDI_QUERYADAPTERINFO *PDXGKDDI_QUERYADAPTERINFO;

/* Nodes: DXGK_NODEMETADATA is shared with user mode. */

typedef DXGK_NODEMETADATA DXGKARG_GETNODEMETADATA;
typedef DXGKARG_GETNODEMETADATA *OUT_PDXGKARG_GETNODEMETADATA;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_GETNODEMETADATA(IN_CONST_HANDLE hAdapter, UINT NodeOrdinal,
						  OUT_PDXGKARG_GETNODEMETADATA pGetNodeMetadata);
typedef DXGKDDI_GETNODEMETADATA *PDXGKDDI_GETNODEMETADATA;

/* ---- segments ---- */

typedef struct _DXGK_SEGMENTFLAGS {
	union {
		struct {
			UINT Aperture : 1;
			UINT Agp : 1;
			UINT CpuVisible : 1;
			UINT UseBanking : 1;
			UINT CacheCoherent : 1;
			UINT PitchAlignment : 1;
			UINT PopulatedFromSystemMemory : 1;
			UINT PreservedDuringStandby : 1; /* WDDM 1.2 */
			UINT PreservedDuringHibernate : 1;
			UINT PartiallyPreservedDuringHibernate : 1;
			UINT DirectFlip : 1;
			UINT Use64KBPages : 1;   /* WDDM 2.0 */
			UINT ReservedSysMem : 1; /* set by the host alone */
			UINT SupportsCpuHostAperture : 1;
			UINT SupportsCachedCpuHostAperture : 1;
			UINT ApplicationTarget : 1;
			UINT VprSupported : 1; /* WDDM 2.1 */
			UINT VprPreservedDuringStandby : 1;
			UINT EncryptedPagingSupported : 1;
			UINT LocalBudgetGroup : 1;
			UINT NonLocalBudgetGroup : 1;
			UINT PopulatedByReservedDDRByFirmware : 1; /* WDDM 2.9 */
			UINT Reserved : 10;
		};
		UINT Value;
	};
} DXGK_SEGMENTFLAGS;

typedef struct _DXGK_QUERYSEGMENTIN { /* in */
	PHYSICAL_ADDRESS AgpApertureBase;
	LARGE_INTEGER AgpApertureSize;
	DXGK_SEGMENTFLAGS AgpFlags;
} DXGK_QUERYSEGMENTIN;

typedef struct _DXGK_SEGMENTDESCRIPTOR { /* out */
	PHYSICAL_ADDRESS BaseAddress;
	PHYSICAL_ADDRESS CpuTranslatedAddress;
	SIZE_T Size;
	UINT NbOfBanks;
	SIZE_T *pBankRangeTable;
	SIZE_T CommitLimit;
	DXGK_SEGMENTFLAGS Flags;
} DXGK_SEGMENTDESCRIPTOR;

typedef struct _DXGK_QUERYSEGMENTOUT {
	UINT NbSegment;                             /* in/out */
	DXGK_SEGMENTDESCRIPTOR *pSegmentDescriptor; /* in; NULL: the number only */
	UINT PagingBufferSegmentId;                 /* out */
	UINT PagingBufferSize;                      /* out */
	UINT PagingBufferPrivateDataSize;           /* out */
} DXGK_QUERYSEGMENTOUT;

typedef struct _DXGK_SEGMENTDESCRIPTOR3 { /* out */
	DXGK_SEGMENTFLAGS Flags;
	PHYSICAL_ADDRESS BaseAddress;
	PHYSICAL_ADDRESS CpuTranslatedAddress;
	SIZE_T Size;
	UINT NbOfBanks;
	SIZE_T *pBankRangeTable;
	SIZE_T CommitLimit;
	SIZE_T SystemMemoryEndAddress;
	SIZE_T Reserved;
} DXGK_SEGMENTDESCRIPTOR3;

typedef struct _DXGK_QUERYSEGMENTOUT3 {
	UINT NbSegment;                              /* in/out */
	DXGK_SEGMENTDESCRIPTOR3 *pSegmentDescriptor; /* in; NULL: the number only */
	UINT PagingBufferSegmentId;                  /* out */
	UINT PagingBufferSize;                       /* out */
	UINT PagingBufferPrivateDataSize;            /* out */
} DXGK_QUERYSEGMENTOUT3;

typedef struct _DXGK_QUERYSEGMENTIN4 { /* in */
	UINT PhysicalAdapterIndex;
} DXGK_QUERYSEGMENTIN4;

typedef struct _DXGK_CPUHOSTAPERTURE { /* out */
	UINT64 PhysicalAddress;
	UINT32 SizeInPages;
} DXGK_CPUHOSTAPERTURE;

typedef struct _DXGK_SEGMENTDESCRIPTOR4 { /* out */
	DXGK_SEGMENTFLAGS Flags;
	PHYSICAL_ADDRESS BaseAddress;
	SIZE_T Size;
	SIZE_T CommitLimit;
	SIZE_T SystemMemoryEndAddress;
	union {
		PHYSICAL_ADDRESS CpuTranslatedAddress;
		DXGK_CPUHOSTAPERTURE CpuHostAperture; /* Flags.SupportsCpuHostAperture */
	};
	UINT NumInvalidMemoryRanges;
	SIZE_T VprRangeStartOffset; /* WDDM 2.1 */
	SIZE_T VprRangeSize;
	UINT VprAlignment;
	UINT NumVprSupported;
	UINT VprReserveSize;
	UINT NumUEFIFrameBufferRanges; /* WDDM 2.2 */
} DXGK_SEGMENTDESCRIPTOR4;

/* Step through pSegmentDescriptor by SegmentDescriptorStride, never by a sizeof. */
typedef struct _DXGK_QUERYSEGMENTOUT4 {
	UINT NbSegment;                   /* in/out */
	BYTE *pSegmentDescriptor;         /* in; NULL: the number only */
	UINT PagingBufferSegmentId;       /* out */
	UINT PagingBufferSize;            /* out */
	UINT PagingBufferPrivateDataSize; /* out */
	SIZE_T SegmentDescriptorStride;   /* in */
} DXGK_QUERYSEGMENTOUT4;

typedef struct _DXGK_MEMORYRANGE { /* out */
	UINT64 SegmentOffset;
	UINT64 SizeInBytes;
} DXGK_MEMORYRANGE;

typedef struct _DXGK_QUERYSEGMENTMEMORYSTATE {
	WORD DriverSegmentId;      /* in */
	WORD PhysicalAdapterIndex; /* in */
	union {
		UINT NumInvalidMemoryRanges;   /* in */
		UINT NumUEFIFrameBufferRanges; /* in; WDDM 2.2 */
	};
	DXGK_MEMORYRANGE *pMemoryRanges; /* out */
} DXGK_QUERYSEGMENTMEMORYSTATE;

typedef struct _DXGKARG_MAPCPUHOSTAPERTURE {
	HANDLE hAllocation;            /* in */
	WORD SegmentId;                /* in */
	WORD PhysicalAdapterIndex;     /* in */
	UINT64 NumberOfPages;          /* in */
	UINT32 *pCpuHostAperturePages; /* in */
	UINT64 *pMemorySegmentPages;   /* in */
} DXGKARG_MAPCPUHOSTAPERTURE;
typedef CONST DXGKARG_MAPCPUHOSTAPERTURE *IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE;

typedef struct _DXGKARG_UNMAPCPUHOSTAPERTURE {
	UINT64 NumberOfPages;          /* in */
	UINT32 *pCpuHostAperturePages; /* in */
	WORD SegmentId;                /* in */
	WORD PhysicalAdapterIndex;     /* in */
} DXGKARG_UNMAPCPUHOSTAPERTURE;
typedef CONST DXGKARG_UNMAPCPUHOSTAPERTURE *IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_MAPCPUHOSTAPERTURE(IN_CONST_HANDLE hAdapter,
						     IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE pArgs);
typedef DXGKDDI_MAPCPUHOSTAPERTURE *PDXGKDDI_MAPCPUHOSTAPERTURE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_UNMAPCPUHOSTAPERTURE(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE pArgs);
typedef DXGKDDI_UNMAPCPUHOSTAPERTURE *PDXGKDDI_UNMAPCPUHOSTAPERTURE;

typedef struct _DXGKARG_ACQUIRESWIZZLINGRANGE {
	HANDLE hAllocation;                    /* in */
	UINT PrivateDriverData;                /* in */
	UINT RangeId;                          /* in */
	UINT SegmentId;                        /* in */
	SIZE_T RangeSize;                      /* in */
	PHYSICAL_ADDRESS CPUTranslatedAddress; /* in/out */
} DXGKARG_ACQUIRESWIZZLINGRANGE;
typedef DXGKARG_ACQUIRESWIZZLINGRANGE *INOUT_PDXGKARG_ACQUIRESWIZZLINGRANGE;

typedef struct _DXGKARG_RELEASESWIZZLINGRANGE {
	HANDLE hAllocation;     /* in */
	UINT PrivateDriverData; /* in */
	UINT RangeId;           /* in */
} DXGKARG_RELEASESWIZZLINGRANGE;
typedef CONST DXGKARG_RELEASESWIZZLINGRANGE *IN_CONST_PDXGKARG_RELEASESWIZZLINGRANGE;

/* PASSIVE_LEVEL, level 1, the class of swizzling ranges */
typedef NTSTATUS APIENTRY DXGKDDI_ACQUIRESWIZZLINGRANGE(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_ACQUIRESWIZZLINGRANGE pAcquireSwizzlingRange);
typedef DXGKDDI_ACQUIRESWIZZLINGRANGE *PDXGKDDI_ACQUIRESWIZZLINGRANGE;

/* PASSIVE_LEVEL, level 1, the class of swizzling ranges */
typedef NTSTATUS APIENTRY DXGKDDI_RELEASESWIZZLINGRANGE(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_RELEASESWIZZLINGRANGE pReleaseSwizzlingRange);
typedef DXGKDDI_RELEASESWIZZLINGRANGE *PDXGKDDI_RELEASESWIZZLINGRANGE;

typedef struct _DXGKARG_SETVIDEOPROTECTEDREGION {
	UINT PhysicalAdapterIndex; /* in */
	UINT SegmentIndex;         /* in */
	UINT VprIndex;             /* in */
	SIZE_T CurrentStartOffset; /* in */
	SIZE_T CurrentSize;        /* in */
	SIZE_T NewStartOffset;     /* in */
	SIZE_T NewSize;            /* in */
} DXGKARG_SETVIDEOPROTECTEDREGION;
typedef CONST DXGKARG_SETVIDEOPROTECTEDREGION *IN_CONST_PDXGKARG_SETVIDEOPROTECTEDREGION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETVIDEOPROTECTEDREGION(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETVIDEOPROTECTEDREGION pArgs);
typedef DXGKDDI_SETVIDEOPROTECTEDREGION *PDXGKDDI_SETVIDEOPROTECTEDREGION;

/* ---- GPU virtual addressing (WDDM 2.0) ---- */

typedef enum _DXGK_PAGETABLEUPDATEMODE {
	DXGK_PAGETABLEUPDATE_CPU_VIRTUAL = 0,
	DXGK_PAGETABLEUPDATE_GPU_VIRTUAL = 1,
	DXGK_PAGETABLEUPDATE_GPU_PHYSICAL = 2,
} DXGK_PAGETABLEUPDATEMODE;

typedef struct _DXGK_QUERYGPUMMUCAPSIN { /* in */
	UINT PhysicalAdapterIndex;
} DXGK_QUERYGPUMMUCAPSIN;

typedef struct _DXGK_GPUMMUCAPS { /* out */
	union {
		struct {
			UINT ReadOnlyMemorySupported : 1;
			UINT NoExecuteMemorySupported : 1;
			UINT ZeroInPteSupported : 1;
			UINT ExplicitPageTableInvalidation : 1;
			UINT CacheCoherentMemorySupported : 1;
			UINT PageTableUpdateRequireAddressSpaceIdle : 1;
			UINT LargePageSupported : 1;
			UINT DualPteSupported : 1;
			UINT AllowNonAlignedLargePageAddress : 1; /* WDDM 2.1 */
			UINT SysMem64KBPageSupported : 1;
			UINT InvalidTlbEntriesNotCached : 1; /* WDDM 2.6 */
			UINT SysMemLargePageSupported : 1;   /* WDDM 2.9 */
			UINT CachedPageTables : 1;           /* WDDM 3.1 */
			UINT Reserved : 19;
		};
		UINT Value;
	};
	DXGK_PAGETABLEUPDATEMODE PageTableUpdateMode; /* out */
	UINT VirtualAddressBitCount;                  /* out */
	UINT LeafPageTableSizeFor64KPagesInBytes;     /* out */
	UINT PageTableLevelCount;                     /* out */
	struct {
		UINT SourcePageTableVaInTransfer : 1;
		UINT Reserved : 31;
	} LegacyBehaviors;
} DXGK_GPUMMUCAPS;

typedef struct _DXGK_QUERYPAGETABLELEVELDESCIN { /* in */
	WORD LevelIndex;
	WORD PhysicalAdapterIndex;
} DXGK_QUERYPAGETABLELEVELDESCIN;

typedef struct _DXGK_PAGE_TABLE_LEVEL_DESC {
	UINT PageTableIndexBitCount;          /* out */
	UINT PageTableSegmentId;              /* out */
	UINT PagingProcessPageTableSegmentId; /* out */
	UINT PageTableSizeInBytes;            /* out */
	UINT PageTableAlignmentInBytes;       /* out */
} DXGK_PAGE_TABLE_LEVEL_DESC;

typedef struct _DXGKARG_GETROOTPAGETABLESIZE {
	UINT NumberOfPte;          /* in/out */
	UINT PhysicalAdapterIndex; /* in */
} DXGKARG_GETROOTPAGETABLESIZE;
typedef DXGKARG_GETROOTPAGETABLESIZE *INOUT_PDXGKARG_GETROOTPAGETABLESIZE;

typedef struct _DXGKARG_SETROOTPAGETABLE {
	HANDLE hContext;                 /* in */
	D3DGPU_PHYSICAL_ADDRESS Address; /* in */
	UINT NumEntries;                 /* in */
} DXGKARG_SETROOTPAGETABLE;
typedef CONST DXGKARG_SETROOTPAGETABLE *IN_CONST_PDXGKARG_SETROOTPAGETABLE;

/* PASSIVE_LEVEL, level 0 */
typedef SIZE_T APIENTRY DXGKDDI_GETROOTPAGETABLESIZE(IN_CONST_HANDLE hAdapter,
						     INOUT_PDXGKARG_GETROOTPAGETABLESIZE pArgs);
typedef DXGKDDI_GETROOTPAGETABLESIZE *PDXGKDDI_GETROOTPAGETABLESIZE;

/* PASSIVE_LEVEL, level 1, the class of the memory manager */
typedef VOID APIENTRY DXGKDDI_SETROOTPAGETABLE(IN_CONST_HANDLE hAdapter,
					       IN_CONST_PDXGKARG_SETROOTPAGETABLE pSetPageTable);
typedef DXGKDDI_SETROOTPAGETABLE *PDXGKDDI_SETROOTPAGETABLE;

/* ---- processes, devices, contexts ---- */

typedef struct _DXGK_CREATEPROCESSFLAGS {
	union {
		struct {
			UINT SystemProcess : 1;
			UINT GdiProcess : 1;
			UINT VirtualMachineProcess : 1;
			UINT VirtualMachineWorkerProcess : 1;
			UINT SessionIsolatedContainer : 1;
			UINT Reserved : 27;
		};
		UINT Value;
	};
} DXGK_CREATEPROCESSFLAGS;

typedef struct _DXGKARG_CREATEPROCESS {
	HANDLE hDxgkProcess;           /* in */
	HANDLE hKmdProcess;            /* out */
	DXGK_CREATEPROCESSFLAGS Flags; /* in */
	UINT NumPasid;                 /* in */
	ULONG *pPasid;                 /* in */
	HANDLE hKmdVmWorkerProcess;    /* in; WDDM 2.5 */
	UINT ProcessNameLength;        /* in */
	WCHAR *pProcessName;           /* in */
} DXGKARG_CREATEPROCESS;
typedef DXGKARG_CREATEPROCESS *INOUT_PDXGKARG_CREATEPROCESS;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEPROCESS(IN_CONST_HANDLE hAdapter,
						INOUT_PDXGKARG_CREATEPROCESS pArgs);
typedef DXGKDDI_CREATEPROCESS *PDXGKDDI_CREATEPROCESS;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYPROCESS(IN_CONST_HANDLE hAdapter,
						 IN_CONST_HANDLE hKmdProcess);
typedef DXGKDDI_DESTROYPROCESS *PDXGKDDI_DESTROYPROCESS;

typedef struct _DXGK_CREATEDEVICEFLAGS {
	union {
		struct {
			UINT SystemDevice : 1;
			UINT GdiDevice : 1;
			UINT Reserved : 29;
			UINT DXGK_DEVICE_RESERVED0 : 1;
		};
		UINT Value;
	};
} DXGK_CREATEDEVICEFLAGS;

typedef struct _DXGK_DEVICEINFOFLAGS {
	union {
		struct {
			UINT GuaranteedDmaBufferContract : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_DEVICEINFOFLAGS;

typedef struct _DXGK_DEVICEINFO { /* out */
	UINT DmaBufferSize;
	UINT DmaBufferSegmentSet;
	UINT DmaBufferPrivateDataSize;
	UINT AllocationListSize;
	UINT PatchLocationListSize;
	DXGK_DEVICEINFOFLAGS Flags;
} DXGK_DEVICEINFO;

/* hDevice carries the host's handle in and the driver's handle out. */
typedef struct _DXGKARG_CREATEDEVICE {
	HANDLE hDevice; /* in: the kernel's, out: the driver's */
	union {
		DXGK_CREATEDEVICEFLAGS Flags; /* in */
		DXGK_DEVICEINFO *pInfo;       /* out */
	};
	ULONG Pasid;        /* in; WDDM 2.0 */
	HANDLE hKmdProcess; /* in */
} DXGKARG_CREATEDEVICE;
typedef DXGKARG_CREATEDEVICE *INOUT_PDXGKARG_CREATEDEVICE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEDEVICE(IN_CONST_HANDLE hAdapter,
					       INOUT_PDXGKARG_CREATEDEVICE pCreateDevice);
typedef DXGKDDI_CREATEDEVICE *PDXGKDDI_CREATEDEVICE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYDEVICE(IN_CONST_HANDLE hDevice);
typedef DXGKDDI_DESTROYDEVICE *PDXGKDDI_DESTROYDEVICE;

typedef struct _DXGK_CREATECONTEXTFLAGS {
	union {
		struct {
			UINT SystemContext : 1;
			UINT GdiContext : 1;
			UINT VirtualAddressing : 1;
			UINT SystemProtectedContext : 1;
			UINT HwQueueSupported : 1;
			UINT TestContext : 1;
			UINT Reserved : 26;
		};
		UINT Value;
	};
} DXGK_CREATECONTEXTFLAGS;

typedef struct _DXGK_CONTEXTINFO_CAPS {
	union {
		struct {
			UINT NoPatchingRequired : 1;
			UINT DriverManagesResidency : 1;
			UINT UseIoMmu : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	};
} DXGK_CONTEXTINFO_CAPS;

typedef struct _DXGK_CONTEXTINFO {     /* out */
	UINT DmaBufferSize;            /* out */
	UINT DmaBufferSegmentSet;      /* out */
	UINT DmaBufferPrivateDataSize; /* out */
	UINT AllocationListSize;       /* out */
	UINT PatchLocationListSize;    /* out */
	UINT Reserved;                 /* WDDM 1.1 */
	DXGK_CONTEXTINFO_CAPS Caps;    /* out; WDDM 2.0 */
	ULONG PagingCompanionNodeId;   /* out */
} DXGK_CONTEXTINFO;

/* hContext carries the host's handle in and the driver's handle out. */
typedef struct _DXGKARG_CREATECONTEXT {
	HANDLE hContext;               /* in: the kernel's, out: the driver's */
	UINT NodeOrdinal;              /* in */
	UINT EngineAffinity;           /* in */
	DXGK_CREATECONTEXTFLAGS Flags; /* in */
	VOID *pPrivateDriverData;      /* in */
	UINT PrivateDriverDataSize;    /* in */
	DXGK_CONTEXTINFO ContextInfo;  /* out */
} DXGKARG_CREATECONTEXT;
typedef DXGKARG_CREATECONTEXT *INOUT_PDXGKARG_CREATECONTEXT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATECONTEXT(IN_CONST_HANDLE hDevice,
						INOUT_PDXGKARG_CREATECONTEXT pCreateContext);
typedef DXGKDDI_CREATECONTEXT *PDXGKDDI_CREATECONTEXT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYCONTEXT(IN_CONST_HANDLE hContext);
typedef DXGKDDI_DESTROYCONTEXT *PDXGKDDI_DESTROYCONTEXT;

/* ---- allocations ---- */

typedef D3DDDI_SEGMENTPREFERENCE DXGK_SEGMENTPREFERENCE, *PDXGK_SEGMENTPREFERENCE;

typedef struct _DXGK_SEGMENTBANKPREFERENCE {
	union {
		struct {
			UINT Bank0 : 7;
			UINT Direction0 : 1;
			UINT Bank1 : 7;
			UINT Direction1 : 1;
			UINT Bank2 : 7;
			UINT Direction2 : 1;
			UINT Bank3 : 7;
			UINT Direction3 : 1;
		};
		UINT Value;
	};
} DXGK_SEGMENTBANKPREFERENCE;

typedef struct _DXGK_ALLOCATIONINFOFLAGS {
	union {
		struct {
			UINT CpuVisible : 1;
			UINT PermanentSysMem : 1;
			UINT Cached : 1;
			UINT Protected : 1;
			UINT ExistingSysMem : 1;
			UINT ExistingKernelSysMem : 1;
			UINT FromEndOfSegment : 1;
			UINT Swizzled : 1;
			UINT Overlay : 1;
			UINT Capture : 1;
			UINT UseAlternateVA : 1;
			UINT SynchronousPaging : 1;
			UINT LinkMirrored : 1;
			UINT LinkInstanced : 1;
			UINT HistoryBuffer : 1;      /* WDDM 1.3 */
			UINT AccessedPhysically : 1; /* WDDM 2.0 */
			UINT ExplicitResidencyNotification : 1;
			UINT HardwareProtected : 1;
			UINT CpuVisibleOnDemand : 1;
			UINT DXGK_ALLOC_RESERVED16 : 1;
			UINT DXGK_ALLOC_RESERVED15 : 1;
			UINT DXGK_ALLOC_RESERVED14 : 1;
			UINT DXGK_ALLOC_RESERVED13 : 1;
			UINT DXGK_ALLOC_RESERVED12 : 1;
			UINT DXGK_ALLOC_RESERVED11 : 1;
			UINT DXGK_ALLOC_RESERVED10 : 1;
			UINT DXGK_ALLOC_RESERVED9 : 1;
			UINT DXGK_ALLOC_RESERVED4 : 1;
			UINT DXGK_ALLOC_RESERVED3 : 1;
			UINT DXGK_ALLOC_RESERVED2 : 1;
			UINT DXGK_ALLOC_RESERVED1 : 1;
			UINT DXGK_ALLOC_RESERVED0 : 1;
		};
		UINT Value;
	};
} DXGK_ALLOCATIONINFOFLAGS;

/* The same word as WDDM 2.0 reads it: four bits changed their meaning. */
typedef struct _DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 {
	union {
		struct {
			UINT CpuVisible : 1;
			UINT PermanentSysMem : 1;
			UINT Cached : 1;
			UINT Protected : 1;
			UINT ExistingSysMem : 1;
			UINT ExistingKernelSysMem : 1;
			UINT FromEndOfSegment : 1;
			UINT DisableLargePageMapping : 1; /* WDDM 2.1 */
			UINT Overlay : 1;
			UINT Capture : 1;
			UINT CreateInVpr : 1; /* WDDM 2.1 */
			UINT DXGK_ALLOC_RESERVED17 : 1;
			UINT Reserved02 : 1;
			UINT MapApertureCpuVisible : 1; /* WDDM 2.9 */
			UINT HistoryBuffer : 1;
			UINT AccessedPhysically : 1;
			UINT ExplicitResidencyNotification : 1;
			UINT HardwareProtected : 1;
			UINT CpuVisibleOnDemand : 1;
			UINT DXGK_ALLOC_RESERVED16 : 1;
			UINT DXGK_ALLOC_RESERVED15 : 1;
			UINT DXGK_ALLOC_RESERVED14 : 1;
			UINT DXGK_ALLOC_RESERVED13 : 1;
			UINT DXGK_ALLOC_RESERVED12 : 1;
			UINT DXGK_ALLOC_RESERVED11 : 1;
			UINT DXGK_ALLOC_RESERVED10 : 1;
			UINT DXGK_ALLOC_RESERVED9 : 1;
			UINT DXGK_ALLOC_RESERVED4 : 1;
			UINT DXGK_ALLOC_RESERVED3 : 1;
			UINT DXGK_ALLOC_RESERVED2 : 1;
			UINT DXGK_ALLOC_RESERVED1 : 1;
			UINT DXGK_ALLOC_RESERVED0 : 1;
		};
		UINT Value;
	};
} DXGK_ALLOCATIONINFOFLAGS_WDDM2_0;

typedef struct _DXGK_ALLOCATIONINFOFLAGS2 {
	union {
		struct {
			UINT ShareBackingStoreWithKmd : 1;
			UINT NoImplicitSynchronization : 1;
			UINT DisablePartialResidency : 1;
			UINT RestrictedToSingleSegment : 1;
			UINT NotifyEviction : 1;
			UINT NotifyIoMmuUnmap : 1;
			UINT Reserved : 26;
		};
		UINT Value;
	};
} DXGK_ALLOCATIONINFOFLAGS2;

typedef struct _DXGK_ALLOCATIONUSAGEINFO1 { /* out */
	union {
		struct {
			UINT PrivateFormat : 1;
			UINT Swizzled : 1;
			UINT MipMap : 1;
			UINT Cube : 1;
			UINT Volume : 1;
			UINT Vertex : 1;
			UINT Index : 1;
			UINT Reserved : 25;
		};
		UINT Value;
	} Flags;
	union {
		D3DDDIFORMAT Format;
		UINT PrivateFormat;
	};
	UINT SwizzledFormat;
	UINT ByteOffset;
	UINT Width;
	UINT Height;
	UINT Pitch;
	UINT Depth;
	UINT SlicePitch;
} DXGK_ALLOCATIONUSAGEINFO1;

typedef struct _DXGK_ALLOCATIONUSAGEHINT { /* out */
	UINT Version;
	DXGK_ALLOCATIONUSAGEINFO1 v1;
} DXGK_ALLOCATIONUSAGEHINT;

typedef struct _DXGK_ALLOCATIONINFO {
	VOID *pPrivateDriverData;                /* in */
	UINT PrivateDriverDataSize;              /* in */
	UINT Alignment;                          /* out */
	SIZE_T Size;                             /* out */
	SIZE_T PitchAlignedSize;                 /* out */
	DXGK_SEGMENTBANKPREFERENCE HintedBank;   /* out */
	DXGK_SEGMENTPREFERENCE PreferredSegment; /* out */
	UINT SupportedReadSegmentSet;            /* out */
	UINT SupportedWriteSegmentSet;           /* out */
	UINT EvictionSegmentSet;                 /* out */
	union {
		UINT MaximumRenamingListLength; /* out */
		UINT PhysicalAdapterIndex;      /* out; WDDM 2.0 */
	};
	HANDLE hAllocation; /* out */
	union {
		DXGK_ALLOCATIONINFOFLAGS Flags;              /* out */
		DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 FlagsWddm2; /* out */
	};
	DXGK_ALLOCATIONUSAGEHINT *pAllocationUsageHint; /* out */
	UINT AllocationPriority;                        /* out */
	DXGK_ALLOCATIONINFOFLAGS2 Flags2; /* out; WDDM 3.0, in what was padding before */
} DXGK_ALLOCATIONINFO;

typedef struct _DXGK_CREATEALLOCATIONFLAGS {
	union {
		struct {
			UINT Resource : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_CREATEALLOCATIONFLAGS;

typedef struct _DXGKARG_CREATEALLOCATION {
	CONST VOID *pPrivateDriverData;       /* in */
	UINT PrivateDriverDataSize;           /* in */
	UINT NumAllocations;                  /* in */
	DXGK_ALLOCATIONINFO *pAllocationInfo; /* in/out */
	HANDLE hResource;                     /* in/out */
	DXGK_CREATEALLOCATIONFLAGS Flags;     /* in */
} DXGKARG_CREATEALLOCATION;
typedef DXGKARG_CREATEALLOCATION *INOUT_PDXGKARG_CREATEALLOCATION;

typedef struct _DXGK_DESTROYALLOCATIONFLAGS {
	union {
		struct {
			UINT DestroyResource : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_DESTROYALLOCATIONFLAGS;

typedef struct _DXGKARG_DESTROYALLOCATION {
	UINT NumAllocations;               /* in */
	CONST HANDLE *pAllocationList;     /* in */
	HANDLE hResource;                  /* in/out */
	DXGK_DESTROYALLOCATIONFLAGS Flags; /* in */
} DXGKARG_DESTROYALLOCATION;
typedef CONST DXGKARG_DESTROYALLOCATION *IN_CONST_PDXGKARG_DESTROYALLOCATION;

typedef struct _DXGK_DESCRIBEALLOCATIONFLAGS {
	union {
		struct {
			UINT CheckDisplayMode : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_DESCRIBEALLOCATIONFLAGS;

typedef struct _DXGKARG_DESCRIBEALLOCATION {
	HANDLE hAllocation;                           /* in */
	UINT Width;                                   /* out */
	UINT Height;                                  /* out */
	D3DDDIFORMAT Format;                          /* out */
	D3DDDI_MULTISAMPLINGMETHOD MultisampleMethod; /* out */
	D3DDDI_RATIONAL RefreshRate;                  /* out */
	UINT PrivateDriverFormatAttribute;            /* out */
	DXGK_DESCRIBEALLOCATIONFLAGS Flags;           /* in; WDDM 1.2 */
	D3DDDI_ROTATION Rotation;                     /* out */
} DXGKARG_DESCRIBEALLOCATION;
typedef DXGKARG_DESCRIBEALLOCATION *INOUT_PDXGKARG_DESCRIBEALLOCATION;

typedef struct _DXGK_OPENALLOCATIONINFO {
	D3DKMT_HANDLE hAllocation;        /* in */
	VOID *pPrivateDriverData;         /* in; out with Flags.Create */
	UINT PrivateDriverDataSize;       /* in */
	HANDLE hDeviceSpecificAllocation; /* out */
} DXGK_OPENALLOCATIONINFO;

typedef struct _DXGK_OPENALLOCATIONFLAGS {
	union {
		struct {
			UINT Create : 1;
			UINT ReadOnly : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_OPENALLOCATIONFLAGS;

typedef struct _DXGKARG_OPENALLOCATION {
	UINT NumAllocations;                      /* in */
	DXGK_OPENALLOCATIONINFO *pOpenAllocation; /* in/out */
	VOID *pPrivateDriverData;                 /* in */
	UINT PrivateDriverSize;                   /* in */
	DXGK_OPENALLOCATIONFLAGS Flags;           /* in */
	UINT SubresourceIndex;                    /* in; WDDM 1.2 */
	SIZE_T SubresourceOffset;                 /* out */
	UINT Pitch;                               /* out */
} DXGKARG_OPENALLOCATION;
typedef CONST DXGKARG_OPENALLOCATION *IN_CONST_PDXGKARG_OPENALLOCATION;

typedef struct _DXGKARG_CLOSEALLOCATION {
	UINT NumAllocations;           /* in */
	CONST HANDLE *pOpenHandleList; /* in */
} DXGKARG_CLOSEALLOCATION;
typedef CONST DXGKARG_CLOSEALLOCATION *IN_CONST_PDXGKARG_CLOSEALLOCATION;

typedef struct _DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA {
	D3DKMDT_STANDARDALLOCATION_TYPE StandardAllocationType; /* in */
	union {
		D3DKMDT_SHAREDPRIMARYSURFACEDATA *pCreateSharedPrimarySurfaceData; /* in/out */
		D3DKMDT_SHADOWSURFACEDATA *pCreateShadowSurfaceData;               /* in/out */
		D3DKMDT_STAGINGSURFACEDATA *pCreateStagingSurfaceData;             /* in/out */
		D3DKMDT_GDISURFACEDATA *pCreateGdiSurfaceData;               /* in/out; WDDM 1.1 */
		D3DKMDT_VIRTUALGPUSURFACEDATA *pCreateVirtualGpuSurfaceData; /* in/out; WDDM 2.1 */
	};
	VOID *pAllocationPrivateDriverData;   /* out; NULL: sizes only */
	UINT AllocationPrivateDriverDataSize; /* in/out */
	VOID *pResourcePrivateDriverData;     /* out */
	UINT ResourcePrivateDriverDataSize;   /* in/out */
	UINT PhysicalAdapterIndex;            /* in; WDDM 2.0 */
} DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA;
typedef DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *INOUT_PDXGKARG_GETSTANDARDALLOCATIONDRIVERDATA;

typedef struct _DXGKARG_VALIDATEUPDATEALLOCPROPERTY {
	HANDLE hAllocation;                        /* in */
	UINT SupportedSegmentSet;                  /* in */
	D3DDDI_SEGMENTPREFERENCE PreferredSegment; /* in */
	D3DDDI_UPDATEALLOCPROPERTY_FLAGS Flags;    /* in */
	union {
		struct {
			UINT SetAccessedPhysically : 1;
			UINT SetSupportedSegmentSet : 1;
			UINT SetPreferredSegment : 1;
			UINT Reserved : 29;
		};
		UINT PropertyMaskValue; /* in */
	};
} DXGKARG_VALIDATEUPDATEALLOCPROPERTY;
typedef CONST DXGKARG_VALIDATEUPDATEALLOCPROPERTY *IN_CONST_PDXGKARG_VALIDATEUPDATEALLOCPROPERTY;

typedef struct _DXGKARG_SETALLOCATIONBACKINGSTORE {
	HANDLE hDriverAllocation; /* in */
	PVOID pBackingStore;      /* in */
} DXGKARG_SETALLOCATIONBACKINGSTORE;
typedef CONST DXGKARG_SETALLOCATIONBACKINGSTORE *IN_CONST_PDXGKARG_SETALLOCATIONBACKINGSTORE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEALLOCATION(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEALLOCATION pCreateAllocation);
typedef DXGKDDI_CREATEALLOCATION *PDXGKDDI_CREATEALLOCATION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYALLOCATION(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_DESTROYALLOCATION pDestroyAllocation);
typedef DXGKDDI_DESTROYALLOCATION *PDXGKDDI_DESTROYALLOCATION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESCRIBEALLOCATION(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_DESCRIBEALLOCATION pDescribeAllocation);
typedef DXGKDDI_DESCRIBEALLOCATION *PDXGKDDI_DESCRIBEALLOCATION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_GETSTANDARDALLOCATIONDRIVERDATA(
	IN_CONST_HANDLE hAdapter,
	INOUT_PDXGKARG_GETSTANDARDALLOCATIONDRIVERDATA pGetStandardAllocationDriverData);
typedef DXGKDDI_GETSTANDARDALLOCATIONDRIVERDATA *PDXGKDDI_GETSTANDARDALLOCATIONDRIVERDATA;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_OPENALLOCATIONINFO(
	IN_CONST_HANDLE hDevice, IN_CONST_PDXGKARG_OPENALLOCATION pOpenAllocation);
typedef DXGKDDI_OPENALLOCATIONINFO *PDXGKDDI_OPENALLOCATIONINFO;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CLOSEALLOCATION(
	IN_CONST_HANDLE hDevice, IN_CONST_PDXGKARG_CLOSEALLOCATION pCloseAllocation);
typedef DXGKDDI_CLOSEALLOCATION *PDXGKDDI_CLOSEALLOCATION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_VALIDATEUPDATEALLOCATIONPROPERTY(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_VALIDATEUPDATEALLOCPROPERTY pValidateUpdateAllocationProperty);
typedef DXGKDDI_VALIDATEUPDATEALLOCATIONPROPERTY *PDXGKDDI_VALIDATEUPDATEALLOCATIONPROPERTY;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETALLOCATIONBACKINGSTORE(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETALLOCATIONBACKINGSTORE pArgs);
typedef DXGKDDI_SETALLOCATIONBACKINGSTORE *PDXGKDDI_SETALLOCATIONBACKINGSTORE;

/* ---- paging: DxgkDdiBuildPagingBuffer ---- */

typedef enum _DXGK_BUILDPAGINGBUFFER_OPERATION {
	DXGK_OPERATION_TRANSFER = 0,
	DXGK_OPERATION_FILL = 1,
	DXGK_OPERATION_DISCARD_CONTENT = 2,
	DXGK_OPERATION_READ_PHYSICAL = 3,
	DXGK_OPERATION_WRITE_PHYSICAL = 4,
	DXGK_OPERATION_MAP_APERTURE_SEGMENT = 5,
	DXGK_OPERATION_UNMAP_APERTURE_SEGMENT = 6,
	DXGK_OPERATION_SPECIAL_LOCK_TRANSFER = 7,
	DXGK_OPERATION_VIRTUAL_TRANSFER = 8,
	DXGK_OPERATION_VIRTUAL_FILL = 9,
	DXGK_OPERATION_INIT_CONTEXT_RESOURCE = 10,
	DXGK_OPERATION_UPDATE_PAGE_TABLE = 11,
	DXGK_OPERATION_FLUSH_TLB = 12,
	DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION = 13,
	DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES = 14,
	DXGK_OPERATION_NOTIFY_RESIDENCY = 15,
	DXGK_OPERATION_SIGNAL_MONITORED_FENCE = 16,
	DXGK_OPERATION_MAP_APERTURE_SEGMENT2 = 17,
	DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY = 18,
	DXGK_OPERATION_MAP_MMU = 19,
	DXGK_OPERATION_UNMAP_MMU = 20,
	DXGK_OPERATION_NOTIFY_RESIDENCY2 = 21,
	DXGK_OPERATION_NOTIFY_ALLOC = 22,
} DXGK_BUILDPAGINGBUFFER_OPERATION;

typedef struct _DXGK_TRANSFERFLAGS {
	union {
		struct {
			UINT Swizzle : 1;
			UINT Unswizzle : 1;
			UINT AllocationIsIdle : 1;
			UINT TransferStart : 1;
			UINT TransferEnd : 1;
			UINT Reserved : 27;
		};
		UINT Value;
	};
} DXGK_TRANSFERFLAGS;

typedef struct _DXGK_DISCARDCONTENTFLAGS {
	union {
		struct {
			UINT AllocationIsIdle : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_DISCARDCONTENTFLAGS;

typedef struct _DXGK_MAPAPERTUREFLAGS {
	union {
		struct {
			UINT CacheCoherent : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_MAPAPERTUREFLAGS;

typedef struct _DXGK_TRANSFERVIRTUALFLAGS {
	union {
		struct {
			UINT Src64KBPages : 1;
			UINT Dst64KBPages : 1;
			UINT Reserved : 30;
		};
		UINT Flags;
	};
} DXGK_TRANSFERVIRTUALFLAGS;

typedef struct _DXGK_UPDATEPAGETABLEFLAGS {
	UINT Repeat : 1;
	UINT InitialUpdate : 1;
	UINT NotifyEviction : 1;
	UINT Use64KBPages : 1;
	UINT Reserved : 28;
} DXGK_UPDATEPAGETABLEFLAGS;

typedef enum _DXGK_MEMORY_TRANSFER_DIRECTION {
	DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM = 0,
	DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL = 1,
	DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL = 2,
} DXGK_MEMORY_TRANSFER_DIRECTION;

typedef struct _DXGK_PAGETABLEUPDATEADDRESS { /* in */
	union {
		PVOID CpuVirtual;
		D3DGPU_PHYSICAL_ADDRESS GpuPhysical;
		D3DGPU_VIRTUAL_ADDRESS GpuVirtual;
	};
} DXGK_PAGETABLEUPDATEADDRESS;

typedef struct _DXGK_ADL_FLAGS {
	union {
		struct {
			UINT Contiguous : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_ADL_FLAGS;

/* Address descriptor list: pages as the device sees them, never to be mapped by the CPU. */
typedef struct _DXGK_ADL {
	UINT PageCount;
	DXGK_ADL_FLAGS Flags;
	union {
		UINT64 BasePageNumber;
		UINT64 *Pages;
	};
} DXGK_ADL, *PDXGK_ADL;

typedef struct _DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL {
	HANDLE hAllocation;                               /* in */
	UINT64 AllocationOffsetInBytes;                   /* in */
	UINT64 TransferSizeInBytes;                       /* in */
	D3DGPU_VIRTUAL_ADDRESS SourceVirtualAddress;      /* in */
	D3DGPU_VIRTUAL_ADDRESS DestinationVirtualAddress; /* in */
	D3DGPU_VIRTUAL_ADDRESS SourcePageTable;           /* in */
	DXGK_MEMORY_TRANSFER_DIRECTION TransferDirection; /* in */
	DXGK_TRANSFERVIRTUALFLAGS Flags;                  /* in */
	D3DGPU_VIRTUAL_ADDRESS DestinationPageTable;      /* in */
} DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL;

typedef struct _DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL {
	HANDLE hAllocation;                               /* in */
	UINT64 AllocationOffsetInBytes;                   /* in */
	UINT64 FillSizeInBytes;                           /* in */
	UINT FillPattern;                                 /* in */
	D3DGPU_VIRTUAL_ADDRESS DestinationVirtualAddress; /* in */
} DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL;

typedef struct _DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE { /* in */
	UINT PageTableLevel;                             /* in */
	HANDLE hAllocation;                              /* in */
	DXGK_PAGETABLEUPDATEADDRESS PageTableAddress;    /* in */
	DXGK_PTE *pPageTableEntries;                     /* in */
	UINT StartIndex;                                 /* in */
	UINT NumPageTableEntries;                        /* in */
	UINT Reserved0;
	DXGK_UPDATEPAGETABLEFLAGS Flags;               /* in */
	UINT64 DriverProtection;                       /* in */
	UINT64 AllocationOffsetInBytes;                /* in */
	HANDLE hProcess;                               /* in */
	DXGK_PAGETABLEUPDATEMODE UpdateMode;           /* in */
	DXGK_PTE *pPageTableEntries64KB;               /* in */
	D3DGPU_VIRTUAL_ADDRESS FirstPteVirtualAddress; /* in */
} DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE;

typedef struct _DXGK_BUILDPAGINGBUFFER_FLUSHTLB {
	D3DGPU_PHYSICAL_ADDRESS RootPageTableAddress; /* in */
	HANDLE hProcess;                              /* in */
	D3DGPU_VIRTUAL_ADDRESS StartVirtualAddress;   /* in */
	D3DGPU_VIRTUAL_ADDRESS EndVirtualAddress;     /* in */
} DXGK_BUILDPAGINGBUFFER_FLUSHTLB;

typedef struct _DXGK_BUILDPAGINGBUFFER_COPY_RANGE {
	UINT NumPageTableEntries;                   /* in */
	D3DGPU_VIRTUAL_ADDRESS SrcPageTableAddress; /* in */
	D3DGPU_VIRTUAL_ADDRESS DstPageTableAddress; /* in */
	UINT SrcStartPteIndex;                      /* in */
	UINT DstStartPteIndex;                      /* in */
} DXGK_BUILDPAGINGBUFFER_COPY_RANGE;

typedef struct _DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES {
	UINT NumRanges;                             /* in */
	DXGK_BUILDPAGINGBUFFER_COPY_RANGE *pRanges; /* in */
} DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES;

typedef struct _DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION {
	D3DGPU_VIRTUAL_ADDRESS ContextAllocation; /* in */
	UINT64 ContextAllocationSize;             /* in */
	PVOID pDriverPrivateData;                 /* in */
	UINT DriverPrivateDataSize;               /* in */
} DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION;

typedef struct _DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY {
	HANDLE hAllocation;                      /* in */
	D3DGPU_PHYSICAL_ADDRESS PhysicalAddress; /* in */
	union {
		UINT Resident : 1;
		UINT Reserved : 31;
	};
} DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY;

typedef struct _DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE {
	D3DGPU_VIRTUAL_ADDRESS MonitoredFenceGpuVa; /* in */
	UINT64 MonitoredFenceValue;                 /* in */
} DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE;

typedef struct _DXGKARG_BUILDPAGINGBUFFER {         /* in */
	VOID *pDmaBuffer;                           /* in/out */
	UINT DmaSize;                               /* in */
	VOID *pDmaBufferPrivateData;                /* in/out */
	UINT DmaBufferPrivateDataSize;              /* in */
	DXGK_BUILDPAGINGBUFFER_OPERATION Operation; /* in */
	UINT MultipassOffset;                       /* in/out */
	union {
		struct {
			HANDLE hAllocation;
			UINT TransferOffset;
			SIZE_T TransferSize;
			struct {
				UINT SegmentId;
				union {
					LARGE_INTEGER SegmentAddress;
					MDL *pMdl;
				};
			} Source;
			struct {
				UINT SegmentId;
				union {
					LARGE_INTEGER SegmentAddress;
					MDL *pMdl;
				};
			} Destination;
			DXGK_TRANSFERFLAGS Flags;
			UINT MdlOffset;
		} Transfer;
		struct {
			HANDLE hAllocation;
			SIZE_T FillSize;
			UINT FillPattern;
			struct {
				UINT SegmentId;
				LARGE_INTEGER SegmentAddress;
			} Destination;
		} Fill;
		struct {
			HANDLE hAllocation;
			DXGK_DISCARDCONTENTFLAGS Flags;
			UINT SegmentId;
			PHYSICAL_ADDRESS SegmentAddress;
		} DiscardContent;
		struct {
			UINT SegmentId;
			PHYSICAL_ADDRESS PhysicalAddress;
		} ReadPhysical;
		struct {
			UINT SegmentId;
			PHYSICAL_ADDRESS PhysicalAddress;
		} WritePhysical;
		struct {
			HANDLE hDevice;
			HANDLE hAllocation;
			UINT SegmentId;
			SIZE_T OffsetInPages;
			SIZE_T NumberOfPages;
			PMDL pMdl;
			DXGK_MAPAPERTUREFLAGS Flags;
			ULONG MdlOffset;
		} MapApertureSegment;
		struct {
			HANDLE hDevice;
			HANDLE hAllocation;
			UINT SegmentId;
			SIZE_T OffsetInPages;
			SIZE_T NumberOfPages;
			PHYSICAL_ADDRESS DummyPage;
		} UnmapApertureSegment;
		struct {
			HANDLE hAllocation;
			UINT TransferOffset;
			SIZE_T TransferSize;
			struct {
				UINT SegmentId;
				union {
					LARGE_INTEGER SegmentAddress;
					MDL *pMdl;
				};
			} Source;
			struct {
				UINT SegmentId;
				union {
					LARGE_INTEGER SegmentAddress;
					MDL *pMdl;
				};
			} Destination;
			DXGK_TRANSFERFLAGS Flags;
			UINT SwizzlingRangeId;
			UINT SwizzlingRangeData;
		} SpecialLockTransfer;
		struct {
			HANDLE hAllocation;
			struct {
				UINT SegmentId;
				union {
					LARGE_INTEGER SegmentAddress;
					MDL *pMdl;
				};
				PVOID VirtualAddress;
				D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddress; /* WDDM 2.0 */
			} Destination;
		} InitContextResource;                                            /* WDDM 1.2 */
		DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL TransferVirtual;           /* in; WDDM 2.0 */
		DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL FillVirtual;                   /* in */
		DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE UpdatePageTable;           /* in */
		DXGK_BUILDPAGINGBUFFER_FLUSHTLB FlushTlb;                         /* in */
		DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES CopyPageTableEntries; /* in */
		DXGK_BUILDPAGINGBUFFER_UPDATECONTEXTALLOCATION UpdateContextAllocation; /* in */
		DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY NotifyResidency;                 /* in */
		DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE SignalMonitoredFence; /* in; WDDM 2.2 */
		struct {
			HANDLE hDevice;
			HANDLE hAllocation;
			UINT SegmentId;
			SIZE_T OffsetInPages;
			SIZE_T NumberOfPages;
			DXGK_ADL Adl;
			DXGK_MAPAPERTUREFLAGS Flags;
			ULONG AdlOffset;
			PVOID CpuVisibleAddress;
		} MapApertureSegment2; /* WDDM 2.9 */
		struct {
			UINT Reserved[64];
		} Reserved;
	};
	HANDLE hSystemContext;                             /* in */
	D3DGPU_VIRTUAL_ADDRESS DmaBufferGpuVirtualAddress; /* in; WDDM 2.0 */
	UINT DmaBufferWriteOffset;                         /* in */
} DXGKARG_BUILDPAGINGBUFFER;
typedef DXGKARG_BUILDPAGINGBUFFER *IN_PDXGKARG_BUILDPAGINGBUFFER;

/* PASSIVE_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_BUILDPAGINGBUFFER(
	IN_CONST_HANDLE hAdapter, IN_PDXGKARG_BUILDPAGINGBUFFER pBuildPagingBuffer);
typedef DXGKDDI_BUILDPAGINGBUFFER *PDXGKDDI_BUILDPAGINGBUFFER;

/* ---- rendering and submission ---- */

typedef struct _DXGK_ALLOCATIONLIST { /* in/out */
	HANDLE hDeviceSpecificAllocation;
	struct {
		UINT WriteOperation : 1;
		UINT SegmentId : 5;
		UINT Reserved : 26;
	};
	union {
		PHYSICAL_ADDRESS PhysicalAddress;
		D3DGPU_VIRTUAL_ADDRESS VirtualAddress; /* WDDM 2.0 */
	};
} DXGK_ALLOCATIONLIST;

/*
 * pCommand and CommandLength are constant members in the reference; they are not here, so that
 * the host can fill the structure member by member. A driver cannot tell the difference.
 */
typedef struct _DXGKARG_RENDER {
	CONST VOID *pCommand;                            /* in, the client's memory */
	UINT CommandLength;                              /* in */
	VOID *pDmaBuffer;                                /* in/out */
	UINT DmaSize;                                    /* in */
	VOID *pDmaBufferPrivateData;                     /* in/out */
	UINT DmaBufferPrivateDataSize;                   /* in */
	DXGK_ALLOCATIONLIST *pAllocationList;            /* in */
	UINT AllocationListSize;                         /* in */
	D3DDDI_PATCHLOCATIONLIST *pPatchLocationListIn;  /* in, the client's memory */
	UINT PatchLocationListInSize;                    /* in */
	D3DDDI_PATCHLOCATIONLIST *pPatchLocationListOut; /* in/out */
	UINT PatchLocationListOutSize;                   /* in */
	UINT MultipassOffset;                            /* in/out */
	UINT DmaBufferSegmentId;                         /* in */
	PHYSICAL_ADDRESS DmaBufferPhysicalAddress;       /* in */
} DXGKARG_RENDER;
typedef DXGKARG_RENDER *INOUT_PDXGKARG_RENDER;

typedef struct _DXGKARG_RENDERGDI {
	CONST VOID *pCommand;                              /* in */
	UINT CommandLength;                                /* in */
	VOID *pDmaBuffer;                                  /* in/out */
	D3DGPU_VIRTUAL_ADDRESS DmaBufferGpuVirtualAddress; /* in */
	UINT DmaSize;                                      /* in */
	VOID *pDmaBufferPrivateData;                       /* in/out */
	UINT DmaBufferPrivateDataSize;                     /* in */
	DXGK_ALLOCATIONLIST *pAllocationList;              /* in */
	UINT AllocationListSize;                           /* in */
	UINT MultipassOffset;                              /* in/out */
} DXGKARG_RENDERGDI;
typedef DXGKARG_RENDERGDI *INOUT_PDXGKARG_RENDERGDI;

typedef struct _DXGK_PATCHFLAGS {
	union {
		struct {
			UINT Paging : 1;
			UINT Present : 1;
			UINT RedirectedPresent : 1;
			UINT NullRendering : 1;
			UINT Reserved : 28;
		};
		UINT Value;
	};
} DXGK_PATCHFLAGS;

typedef struct _DXGKARG_PATCH {
	union {
		HANDLE hDevice;  /* in */
		HANDLE hContext; /* in */
	};
	UINT DmaBufferSegmentId;                            /* in */
	PHYSICAL_ADDRESS DmaBufferPhysicalAddress;          /* in */
	VOID *pDmaBuffer;                                   /* in; its contents out */
	UINT DmaBufferSize;                                 /* in */
	UINT DmaBufferSubmissionStartOffset;                /* in */
	UINT DmaBufferSubmissionEndOffset;                  /* in */
	VOID *pDmaBufferPrivateData;                        /* in; its contents in/out */
	UINT DmaBufferPrivateDataSize;                      /* in */
	UINT DmaBufferPrivateDataSubmissionStartOffset;     /* in */
	UINT DmaBufferPrivateDataSubmissionEndOffset;       /* in */
	CONST DXGK_ALLOCATIONLIST *pAllocationList;         /* in */
	UINT AllocationListSize;                            /* in */
	CONST D3DDDI_PATCHLOCATIONLIST *pPatchLocationList; /* in */
	UINT PatchLocationListSize;                         /* in */
	UINT PatchLocationListSubmissionStart;              /* in */
	UINT PatchLocationListSubmissionLength;             /* in */
	UINT SubmissionFenceId;                             /* in */
	DXGK_PATCHFLAGS Flags;                              /* in */
	UINT EngineOrdinal;                                 /* in */
} DXGKARG_PATCH;
typedef CONST DXGKARG_PATCH *IN_CONST_PDXGKARG_PATCH;

typedef struct _DXGK_SUBMITCOMMANDFLAGS {
	union {
		struct {
			UINT Paging : 1;
			UINT Present : 1;
			UINT RedirectedPresent : 1;
			UINT NullRendering : 1;
			UINT Flip : 1;
			UINT FlipWithNoWait : 1;
			UINT ContextSwitch : 1;
			UINT Resubmission : 1;
			UINT VirtualMachineData : 1;
			UINT Reserved : 23;
		};
		UINT Value;
	};
} DXGK_SUBMITCOMMANDFLAGS;

typedef struct _DXGKARG_SUBMITCOMMAND {
	union {
		HANDLE hDevice;  /* in */
		HANDLE hContext; /* in */
	};
	UINT DmaBufferSegmentId;                        /* in */
	PHYSICAL_ADDRESS DmaBufferPhysicalAddress;      /* in */
	UINT DmaBufferSize;                             /* in */
	UINT DmaBufferSubmissionStartOffset;            /* in */
	UINT DmaBufferSubmissionEndOffset;              /* in */
	VOID *pDmaBufferPrivateData;                    /* in */
	UINT DmaBufferPrivateDataSize;                  /* in */
	UINT DmaBufferPrivateDataSubmissionStartOffset; /* in */
	UINT DmaBufferPrivateDataSubmissionEndOffset;   /* in */
	UINT SubmissionFenceId;                         /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;   /* in */
	D3DDDI_FLIPINTERVAL_TYPE FlipInterval;          /* in */
	DXGK_SUBMITCOMMANDFLAGS Flags;                  /* in */
	UINT EngineOrdinal;                             /* in */
	D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress; /* in; WDDM 1.1 */
	UINT NodeOrdinal;                               /* in; WDDM 1.2 */
} DXGKARG_SUBMITCOMMAND;
typedef CONST DXGKARG_SUBMITCOMMAND *IN_CONST_PDXGKARG_SUBMITCOMMAND;

typedef struct _DXGKARG_SUBMITCOMMANDVIRTUAL {
	HANDLE hContext;                                /* in */
	D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress; /* in */
	UINT DmaBufferSize;                             /* in */
	VOID *pDmaBufferPrivateData;                    /* in */
	UINT DmaBufferPrivateDataSize;                  /* in */
	UINT DmaBufferUmdPrivateDataSize;               /* in */
	UINT SubmissionFenceId;                         /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;   /* in */
	D3DDDI_FLIPINTERVAL_TYPE FlipInterval;          /* in */
	DXGK_SUBMITCOMMANDFLAGS Flags;                  /* in */
	UINT EngineOrdinal;                             /* in */
	UINT NodeOrdinal;                               /* in */
} DXGKARG_SUBMITCOMMANDVIRTUAL;
typedef CONST DXGKARG_SUBMITCOMMANDVIRTUAL *IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL;

typedef struct _DXGK_VALIDATESUBMITCOMMANDFLAGS {
	union {
		struct {
			UINT HardwareQueueSubmission : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_VALIDATESUBMITCOMMANDFLAGS;

typedef struct _DXGKARG_VALIDATESUBMITCOMMAND {
	D3DGPU_VIRTUAL_ADDRESS Commands;              /* in */
	UINT CommandLength;                           /* in */
	DXGK_VALIDATESUBMITCOMMANDFLAGS Flags;        /* in */
	UINT ContextCount;                            /* in */
	HANDLE Context[D3DDDI_MAX_BROADCAST_CONTEXT]; /* in */
	VOID *pPrivateDriverData;                     /* in/out */
	UINT PrivateDriverDataSize;                   /* in */
	UINT UmdPrivateDataSize;                      /* in */
	UINT64 HwQueueProgressFenceId;                /* in */
} DXGKARG_VALIDATESUBMITCOMMAND;
typedef DXGKARG_VALIDATESUBMITCOMMAND *INOUT_PDXGKARG_VALIDATESUBMITCOMMAND;

typedef struct _DXGKARG_CANCELCOMMAND {
	HANDLE hContext;                                    /* in */
	VOID *pDmaBuffer;                                   /* in */
	UINT DmaBufferSize;                                 /* in */
	UINT DmaBufferSubmissionStartOffset;                /* in */
	UINT DmaBufferSubmissionEndOffset;                  /* in */
	VOID *pDmaBufferPrivateData;                        /* in */
	UINT DmaBufferPrivateDataSize;                      /* in */
	UINT DmaBufferPrivateDataSubmissionStartOffset;     /* in */
	UINT DmaBufferPrivateDataSubmissionEndOffset;       /* in */
	CONST DXGK_ALLOCATIONLIST *pAllocationList;         /* in */
	UINT AllocationListSize;                            /* in */
	CONST D3DDDI_PATCHLOCATIONLIST *pPatchLocationList; /* in */
	UINT PatchLocationListSize;                         /* in */
	UINT PatchLocationListSubmissionStart;              /* in */
	UINT PatchLocationListSubmissionLength;             /* in */
	D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress;     /* in; WDDM 2.0 */
	UINT DmaBufferUmdPrivateDataSize;                   /* in */
} DXGKARG_CANCELCOMMAND;
typedef CONST DXGKARG_CANCELCOMMAND *IN_CONST_PDXGKARG_CANCELCOMMAND;

typedef struct _DXGK_PREEMPTCOMMANDFLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} DXGK_PREEMPTCOMMANDFLAGS;

typedef struct _DXGKARG_PREEMPTCOMMAND {
	UINT PreemptionFenceId;         /* in */
	UINT NodeOrdinal;               /* in */
	UINT EngineOrdinal;             /* in */
	DXGK_PREEMPTCOMMANDFLAGS Flags; /* in */
} DXGKARG_PREEMPTCOMMAND;
typedef CONST DXGKARG_PREEMPTCOMMAND *IN_CONST_PDXGKARG_PREEMPTCOMMAND;

typedef struct _DXGKARG_QUERYCURRENTFENCE {
	UINT CurrentFence;  /* out */
	UINT NodeOrdinal;   /* in */
	UINT EngineOrdinal; /* in */
} DXGKARG_QUERYCURRENTFENCE;
typedef DXGKARG_QUERYCURRENTFENCE *INOUT_PDXGKARG_QUERYCURRENTFENCE;

typedef enum _DXGK_KERNEL_SUBMISSION_TYPE {
	DXGK_KERNEL_SUBMISSION_BUILD_PAGING_BUFFER = 0,
	DXGK_KERNEL_SUBMISSION_RENDERGDI = 1,
	DXGK_KERNEL_SUBMISSION_PRESENTBLT = 2,
} DXGK_KERNEL_SUBMISSION_TYPE;

typedef struct _DXGKARG_SIGNALMONITOREDFENCE {
	DXGK_KERNEL_SUBMISSION_TYPE KernelSubmissionType;  /* in */
	VOID *pDmaBuffer;                                  /* in/out */
	D3DGPU_VIRTUAL_ADDRESS DmaBufferGpuVirtualAddress; /* in */
	UINT DmaSize;                                      /* in */
	VOID *pDmaBufferPrivateData;                       /* in/out */
	UINT DmaBufferPrivateDataSize;                     /* in */
	UINT MultipassOffset;                              /* in/out */
	D3DGPU_VIRTUAL_ADDRESS MonitoredFenceGpuVa;        /* in */
	UINT64 MonitoredFenceValue;                        /* in */
	VOID *MonitoredFenceCpuVa;                         /* in */
	HANDLE hHwQueue;                                   /* in */
} DXGKARG_SIGNALMONITOREDFENCE;
typedef DXGKARG_SIGNALMONITOREDFENCE *INOUT_PDXGKARG_SIGNALMONITOREDFENCE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RENDER(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_RENDER pRender);
typedef DXGKDDI_RENDER *PDXGKDDI_RENDER;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RENDERKM(IN_CONST_HANDLE hContext,
					   INOUT_PDXGKARG_RENDER pRenderKmArgs);
typedef DXGKDDI_RENDERKM *PDXGKDDI_RENDERKM;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RENDERGDI(IN_CONST_HANDLE hContext,
					    INOUT_PDXGKARG_RENDERGDI pRenderGdi);
typedef DXGKDDI_RENDERGDI *PDXGKDDI_RENDERGDI;

/* PASSIVE_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_PATCH(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PATCH pPatch);
typedef DXGKDDI_PATCH *PDXGKDDI_PATCH;

/* DISPATCH_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_SUBMITCOMMAND(IN_CONST_HANDLE hAdapter,
						IN_CONST_PDXGKARG_SUBMITCOMMAND pSubmitCommand);
typedef DXGKDDI_SUBMITCOMMAND *PDXGKDDI_SUBMITCOMMAND;

/* DISPATCH_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_SUBMITCOMMANDVIRTUAL(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL pSubmitCommand);
typedef DXGKDDI_SUBMITCOMMANDVIRTUAL *PDXGKDDI_SUBMITCOMMANDVIRTUAL;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_VALIDATESUBMITCOMMAND(IN_CONST_HANDLE hContext,
							INOUT_PDXGKARG_VALIDATESUBMITCOMMAND pArgs);
typedef DXGKDDI_VALIDATESUBMITCOMMAND *PDXGKDDI_VALIDATESUBMITCOMMAND;

/* PASSIVE_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_CANCELCOMMAND(IN_CONST_HANDLE hAdapter,
						IN_CONST_PDXGKARG_CANCELCOMMAND pCancelCommand);
typedef DXGKDDI_CANCELCOMMAND *PDXGKDDI_CANCELCOMMAND;

/* DISPATCH_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_PREEMPTCOMMAND(IN_CONST_HANDLE hAdapter,
						 IN_CONST_PDXGKARG_PREEMPTCOMMAND pPreemptCommand);
typedef DXGKDDI_PREEMPTCOMMAND *PDXGKDDI_PREEMPTCOMMAND;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_QUERYCURRENTFENCE(IN_CONST_HANDLE hAdapter,
						    INOUT_PDXGKARG_QUERYCURRENTFENCE pCurrentFence);
typedef DXGKDDI_QUERYCURRENTFENCE *PDXGKDDI_QUERYCURRENTFENCE;

/* PASSIVE_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_SIGNALMONITOREDFENCE(
	IN_CONST_HANDLE hContext, INOUT_PDXGKARG_SIGNALMONITOREDFENCE pSignalMonitoredFence);
typedef DXGKDDI_SIGNALMONITOREDFENCE *PDXGKDDI_SIGNALMONITOREDFENCE;

/* What a GDI command stream for DxgkDdiRenderKm is made of. */

typedef enum _DXGK_RENDERKM_OPERATION {
	DXGK_GDIOP_BITBLT = 1,
	DXGK_GDIOP_COLORFILL = 2,
	DXGK_GDIOP_ALPHABLEND = 3,
	DXGK_GDIOP_STRETCHBLT = 4,
	DXGK_GDIOP_ESCAPE = 5,
	DXGK_GDIOP_TRANSPARENTBLT = 6,
	DXGK_GDIOP_CLEARTYPEBLEND = 7,
} DXGK_RENDERKM_OPERATION;

typedef enum _DXGK_GDIROP_BITBLT {
	DXGK_GDIROP_INVALID = 0,
	DXGK_GDIROP_SRCCOPY = 1,
	DXGK_GDIROP_SRCINVERT = 2,
	DXGK_GDIROP_SRCAND = 3,
	DXGK_GDIROP_SRCOR = 4,
	DXGK_GDIROP_ROP3 = 5,
} DXGK_GDIROP_BITBLT;

typedef enum _DXGK_GDIROP_COLORFILL {
	DXGK_GDIROPCF_INVALID = 0,
	DXGK_GDIROPCF_PATCOPY = 1,
	DXGK_GDIROPCF_PATINVERT = 2,
	DXGK_GDIROPCF_PDXN = 3,
	DXGK_GDIROPCF_DSTINVERT = 4,
	DXGK_GDIROPCF_PATAND = 5,
	DXGK_GDIROPCF_PATOR = 6,
	DXGK_GDIROPCF_ROP3 = 7,
} DXGK_GDIROP_COLORFILL;

typedef struct _DXGK_GDIARG_BITBLT { /* in */
	RECT SrcRect;
	RECT DstRect;
	UINT SrcAllocationIndex;
	UINT DstAllocationIndex;
	UINT NumSubRects;
	RECT *pSubRects;
	WORD Rop;
	WORD Rop3;
	UINT SrcPitch;
	UINT DstPitch;
} DXGK_GDIARG_BITBLT;

typedef struct _DXGK_GDIARG_COLORFILL { /* in */
	RECT DstRect;
	UINT DstAllocationIndex;
	UINT NumSubRects;
	RECT *pSubRects;
	UINT Color;
	WORD Rop;
	WORD Rop3;
} DXGK_GDIARG_COLORFILL;

typedef struct _DXGK_GDIARG_ALPHABLEND { /* in */
	RECT SrcRect;
	RECT DstRect;
	UINT SrcAllocationIndex;
	UINT DstAllocationIndex;
	UINT NumSubRects;
	RECT *pSubRects;
	BYTE SourceConstantAlpha;
	BOOLEAN SourceHasAlpha;
	UINT SrcPitch;
} DXGK_GDIARG_ALPHABLEND;

typedef struct _DXGK_GDIARG_STRETCHBLT { /* in */
	RECT SrcRect;
	RECT DstRect;
	UINT DstAllocationIndex;
	UINT SrcAllocationIndex;
	UINT NumSubRects;
	RECT *pSubRects;
	union {
		struct {
			UINT Mode : 16;
			UINT MirrorX : 1;
			UINT MirrorY : 1;
		};
		UINT Flags;
	};
	UINT SrcPitch;
} DXGK_GDIARG_STRETCHBLT;

typedef struct _D3DKM_TRANSPARENTBLTFLAGS {
	union {
		struct {
			UINT HonorAlpha : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DKM_TRANSPARENTBLTFLAGS;

typedef struct _DXGK_GDIARG_TRANSPARENTBLT { /* in */
	RECT SrcRect;
	RECT DstRect;
	UINT SrcAllocationIndex;
	UINT DstAllocationIndex;
	UINT Color;
	UINT NumSubRects;
	RECT *pSubRects;
	D3DKM_TRANSPARENTBLTFLAGS Flags;
	UINT SrcPitch;
} DXGK_GDIARG_TRANSPARENTBLT;

typedef struct _DXGK_GDIARG_CLEARTYPEBLEND { /* in */
	RECT DstRect;
	UINT TmpSurfAllocationIndex;
	UINT GammaSurfAllocationIndex;
	UINT AlphaSurfAllocationIndex;
	UINT DstAllocationIndex;
	INT DstToAlphaOffsetX;
	INT DstToAlphaOffsetY;
	UINT Color;
	UINT Gamma;
	UINT NumSubRects;
	RECT *pSubRects;
	UINT AlphaSurfPitch;
	UINT Color2;
} DXGK_GDIARG_CLEARTYPEBLEND;

typedef struct _DXGK_RENDERKM_COMMAND { /* in */
	DXGK_RENDERKM_OPERATION OpCode;
	UINT CommandSize;
	union {
		DXGK_GDIARG_BITBLT BitBlt;
		DXGK_GDIARG_COLORFILL ColorFill;
		DXGK_GDIARG_ALPHABLEND AlphaBlend;
		DXGK_GDIARG_STRETCHBLT StretchBlt;
		DXGK_GDIARG_TRANSPARENTBLT TransparentBlt;
		DXGK_GDIARG_CLEARTYPEBLEND ClearTypeBlend;
	} Command;
} DXGK_RENDERKM_COMMAND;

/* ---- hardware queues and hardware scheduling (WDDM 2.2 and later) ---- */

typedef struct _DXGK_HWCONTEXT_CAPS {
	union {
		struct {
			UINT UseIoMmu : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_HWCONTEXT_CAPS;

typedef struct _DXGKARG_CREATEHWCONTEXT {
	HANDLE hHwContext;                 /* in: the kernel's, out: the driver's */
	UINT NodeOrdinal;                  /* in */
	UINT EngineAffinity;               /* in */
	D3DDDI_CREATEHWCONTEXTFLAGS Flags; /* in */
	UINT PrivateDriverDataSize;        /* in */
	VOID *pPrivateDriverData;          /* in */
	DXGK_HWCONTEXT_CAPS ContextCaps;   /* out */
} DXGKARG_CREATEHWCONTEXT;
typedef DXGKARG_CREATEHWCONTEXT *INOUT_PDXGKARG_CREATEHWCONTEXT;

typedef struct _DXGKARG_CREATEHWQUEUE {
	HANDLE hHwQueue;                                              /* out */
	D3DDDI_CREATEHWQUEUEFLAGS Flags;                              /* in */
	UINT PrivateDriverDataSize;                                   /* in */
	VOID *pPrivateDriverData;                                     /* in */
	D3DKMT_HANDLE hHwQueueProgressFence;                          /* in */
	VOID *HwQueueProgressFenceCPUVirtualAddress;                  /* in */
	D3DGPU_VIRTUAL_ADDRESS HwQueueProgressFenceGPUVirtualAddress; /* in */
} DXGKARG_CREATEHWQUEUE;
typedef DXGKARG_CREATEHWQUEUE *INOUT_PDXGKARG_CREATEHWQUEUE;

typedef struct _DXGKARG_SUBMITCOMMANDTOHWQUEUE {
	HANDLE hHwQueue;                                  /* in */
	UINT64 HwQueueProgressFenceId;                    /* in */
	D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress;   /* in */
	UINT DmaBufferSize;                               /* in */
	UINT DmaBufferPrivateDataSize;                    /* in */
	VOID *pDmaBufferPrivateData;                      /* in */
	DXGK_SUBMITCOMMANDFLAGS Flags;                    /* in */
	D3DGPU_VIRTUAL_ADDRESS HwQueueProgressFenceGpuVa; /* in; WDDM 2.4 */
	VOID *HwQueueProgressFenceCpuVa;                  /* in */
} DXGKARG_SUBMITCOMMANDTOHWQUEUE;
typedef CONST DXGKARG_SUBMITCOMMANDTOHWQUEUE *IN_CONST_PDXGKARG_SUBMITCOMMANDTOHWQUEUE;

typedef struct _DXGKARG_SWITCHTOHWCONTEXTLIST {
	HANDLE hHwContextFirst;  /* in */
	HANDLE hHwContextSecond; /* in */
	UINT NodeOrdinal;        /* in */
	UINT EngineOrdinal;      /* in */
} DXGKARG_SWITCHTOHWCONTEXTLIST;
typedef CONST DXGKARG_SWITCHTOHWCONTEXTLIST *IN_CONST_PDXGKARG_SWITCHTOHWCONTEXTLIST;

typedef struct _DXGK_UPDATEHWCONTEXTSTATE_FLAGS {
	union {
		struct {
			UINT Suspended : 1;
			UINT InterruptOnSwitchCompletion : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_UPDATEHWCONTEXTSTATE_FLAGS;

typedef struct _DXGKARG_UPDATEHWCONTEXTSTATE {
	HANDLE hHwContext;                     /* in */
	UINT64 ContextSwitchFence;             /* in */
	UINT Priority;                         /* in */
	DXGK_UPDATEHWCONTEXTSTATE_FLAGS Flags; /* in */
} DXGKARG_UPDATEHWCONTEXTSTATE;
typedef CONST DXGKARG_UPDATEHWCONTEXTSTATE *IN_CONST_PDXGKARG_UPDATEHWCONTEXTSTATE;

typedef struct _DXGKARG_SUSPENDCONTEXT {
	HANDLE hContext;            /* in */
	UINT64 contextSuspendFence; /* in */
} DXGKARG_SUSPENDCONTEXT;
typedef CONST DXGKARG_SUSPENDCONTEXT *IN_CONST_PDXGKARG_SUSPENDCONTEXT;

typedef struct _DXGKARG_RESUMECONTEXT {
	HANDLE hContext; /* in */
} DXGKARG_RESUMECONTEXT;
typedef CONST DXGKARG_RESUMECONTEXT *IN_CONST_PDXGKARG_RESUMECONTEXT;

typedef enum _DXGK_SCHEDULING_PRIORITY_BAND {
	DXGK_SCHEDULING_PRIORITY_BAND_IDLE = 0,
	DXGK_SCHEDULING_PRIORITY_BAND_NORMAL = 1,
	DXGK_SCHEDULING_PRIORITY_BAND_FOCUS = 2,
	DXGK_SCHEDULING_PRIORITY_BAND_REALTIME = 3,
	DXGK_SCHEDULING_PRIORITY_BAND_COUNT = 4,
} DXGK_SCHEDULING_PRIORITY_BAND;

typedef struct _DXGKARG_SETUPPRIORITYBANDS {
	UINT64 gracePeriodForBand[DXGK_SCHEDULING_PRIORITY_BAND_COUNT];        /* in */
	UINT64 processQuantumForBand[DXGK_SCHEDULING_PRIORITY_BAND_COUNT];     /* in */
	UINT64 processGracePeriodForBand[DXGK_SCHEDULING_PRIORITY_BAND_COUNT]; /* in */
	UINT targetNormalBandPercentage;                                       /* in */
} DXGKARG_SETUPPRIORITYBANDS;
typedef CONST DXGKARG_SETUPPRIORITYBANDS *IN_CONST_PDXGKARG_SETUPPRIORITYBANDS;

typedef struct _DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES { /* in */
	HANDLE hContext;
	DXGK_SCHEDULING_PRIORITY_BAND priorityBand;
	INT realtimeBandPriorityLevel;
	INT inProcessPriority;
	UINT64 quantum;
	UINT64 gracePeriodSamePriority;
	UINT64 gracePeriodLowerPriority;
} DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES;
typedef CONST DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES
	*IN_CONST_PDXGKARG_SETCONTEXTSCHEDULINGPROPERTIES;

typedef enum _DXGK_SCHEDULING_LOG_OPERATION {
	DXGK_SCHEDULING_LOG_OPERATION_CONTEXT_STATE_CHANGE = 0,
} DXGK_SCHEDULING_LOG_OPERATION;

typedef enum _DXGK_SCHEDULING_LOG_CONTEXT_STATE {
	DXGK_SCHEDULING_LOG_CONTEXT_STATE_IDLE = 0,
	DXGK_SCHEDULING_LOG_CONTEXT_STATE_RUNNING = 1,
	DXGK_SCHEDULING_LOG_CONTEXT_STATE_READY = 2,
	DXGK_SCHEDULING_LOG_CONTEXT_STATE_READY_STANDBY = 3,
} DXGK_SCHEDULING_LOG_CONTEXT_STATE;

typedef struct _DXGK_SCHEDULING_LOG_CONTEXT_STATE_CHANGE {
	HANDLE hKmdContext;
	DXGK_SCHEDULING_LOG_CONTEXT_STATE newContextState;
} DXGK_SCHEDULING_LOG_CONTEXT_STATE_CHANGE;

typedef struct _DXGK_SCHEDULING_LOG_ENTRY {
	UINT64 GpuTimeStamp;
	UINT OperationType; /* DXGK_SCHEDULING_LOG_OPERATION */
	UINT ReservedOperationTypeBits;
	union {
		DXGK_SCHEDULING_LOG_CONTEXT_STATE_CHANGE ContextStateChange;
		UINT64 ReservedOperationData[2];
	};
} DXGK_SCHEDULING_LOG_ENTRY;

typedef struct _DXGK_SCHEDULING_LOG_HEADER {
	union {
		struct {
			UINT FirstFreeEntryIndex;
			UINT WraparoundCount;
		};
		UINT64 AtomicWraparoundAndEntryIndex;
	};
	UINT64 NumberOfEntries;
	UINT64 Reserved[2];
} DXGK_SCHEDULING_LOG_HEADER;

typedef struct _DXGK_SCHEDULING_LOG_BUFFER {
	DXGK_SCHEDULING_LOG_HEADER Header;
	DXGK_SCHEDULING_LOG_ENTRY Entries[1];
} DXGK_SCHEDULING_LOG_BUFFER;

typedef struct _DXGKARG_SETSCHEDULINGLOGBUFFER {
	UINT NodeOrdinal;                           /* in */
	UINT EngineOrdinal;                         /* in */
	UINT NumberOfEntries;                       /* in */
	DXGK_SCHEDULING_LOG_BUFFER *LogBufferCpuVa; /* in */
	D3DGPU_VIRTUAL_ADDRESS LogBufferGpuVa;      /* in */
	UINT InterruptEntry;                        /* in */
} DXGKARG_SETSCHEDULINGLOGBUFFER;
typedef CONST DXGKARG_SETSCHEDULINGLOGBUFFER *IN_CONST_PDXGKARG_SETSCHEDULINGLOGBUFFER;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEHWCONTEXT(IN_CONST_HANDLE hDevice,
						  INOUT_PDXGKARG_CREATEHWCONTEXT pCreateHwContext);
typedef DXGKDDI_CREATEHWCONTEXT *PDXGKDDI_CREATEHWCONTEXT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYHWCONTEXT(IN_CONST_HANDLE hHwContext);
typedef DXGKDDI_DESTROYHWCONTEXT *PDXGKDDI_DESTROYHWCONTEXT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEHWQUEUE(IN_CONST_HANDLE hHwContext,
						INOUT_PDXGKARG_CREATEHWQUEUE pCreateHwQueue);
typedef DXGKDDI_CREATEHWQUEUE *PDXGKDDI_CREATEHWQUEUE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYHWQUEUE(IN_CONST_HANDLE hHwQueue);
typedef DXGKDDI_DESTROYHWQUEUE *PDXGKDDI_DESTROYHWQUEUE;

/* PASSIVE_LEVEL or DISPATCH_LEVEL, level 0, one thread per queue */
typedef NTSTATUS APIENTRY DXGKDDI_SUBMITCOMMANDTOHWQUEUE(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMANDTOHWQUEUE pSubmitCommandToHwQueue);
typedef DXGKDDI_SUBMITCOMMANDTOHWQUEUE *PDXGKDDI_SUBMITCOMMANDTOHWQUEUE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SWITCHTOHWCONTEXTLIST(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SWITCHTOHWCONTEXTLIST pHwContextList);
typedef DXGKDDI_SWITCHTOHWCONTEXTLIST *PDXGKDDI_SWITCHTOHWCONTEXTLIST;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_UPDATEHWCONTEXTSTATE(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_UPDATEHWCONTEXTSTATE pUpdateHwContextState);
typedef DXGKDDI_UPDATEHWCONTEXTSTATE *PDXGKDDI_UPDATEHWCONTEXTSTATE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SUSPENDCONTEXT(IN_CONST_HANDLE hAdapter,
						 IN_CONST_PDXGKARG_SUSPENDCONTEXT pSuspendContext);
typedef DXGKDDI_SUSPENDCONTEXT *PDXGKDDI_SUSPENDCONTEXT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RESUMECONTEXT(IN_CONST_HANDLE hAdapter,
						IN_CONST_PDXGKARG_RESUMECONTEXT pResumeContext);
typedef DXGKDDI_RESUMECONTEXT *PDXGKDDI_RESUMECONTEXT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETUPPRIORITYBANDS(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETUPPRIORITYBANDS pSetupPriorityBands);
typedef DXGKDDI_SETUPPRIORITYBANDS *PDXGKDDI_SETUPPRIORITYBANDS;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETCONTEXTSCHEDULINGPROPERTIES(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_SETCONTEXTSCHEDULINGPROPERTIES pSetContextSchedulingProperties);
typedef DXGKDDI_SETCONTEXTSCHEDULINGPROPERTIES *PDXGKDDI_SETCONTEXTSCHEDULINGPROPERTIES;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETSCHEDULINGLOGBUFFER(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETSCHEDULINGLOGBUFFER pSetSchedulingLogBuffer);
typedef DXGKDDI_SETSCHEDULINGLOGBUFFER *PDXGKDDI_SETSCHEDULINGLOGBUFFER;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_NOTIFYFOCUSPRESENT(IN_CONST_HANDLE hAdapter);
typedef DXGKDDI_NOTIFYFOCUSPRESENT *PDXGKDDI_NOTIFYFOCUSPRESENT;

/* User-mode submission and native fences (WDDM 3.1). */

typedef struct _DXGKARG_CREATEDOORBELL_FLAGS {
	union {
		struct {
			UINT ResizeRingBufferOperation : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGKARG_CREATEDOORBELL_FLAGS;

typedef struct _DXGKARG_CONNECTDOORBELL_FLAGS {
	union {
		struct {
			UINT RequireSecondaryAddress : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGKARG_CONNECTDOORBELL_FLAGS;

typedef struct _DXGKARG_DISCONNECTDOORBELL_FLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} DXGKARG_DISCONNECTDOORBELL_FLAGS;

typedef struct _DXGKARG_NOTIFYWORKSUBMISSION_FLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} DXGKARG_NOTIFYWORKSUBMISSION_FLAGS;

typedef struct _DXGKARG_CREATEDOORBELL {
	HANDLE hHwQueue;                    /* in */
	HANDLE hDoorbell;                   /* in/out */
	UINT PrivateDriverDataSize;         /* in */
	VOID *PrivateDriverData;            /* in/out */
	HANDLE hRingBuffer;                 /* in */
	HANDLE hRingBufferControl;          /* in */
	DXGKARG_CREATEDOORBELL_FLAGS Flags; /* in */
} DXGKARG_CREATEDOORBELL;
typedef DXGKARG_CREATEDOORBELL *INOUT_PDXGKARG_CREATEDOORBELL;

/* Status is a D3DDDI_DOORBELLSTATUS. */
typedef struct _DXGKARG_CONNECTDOORBELL {
	HANDLE hDoorbell;                       /* in */
	DXGKARG_CONNECTDOORBELL_FLAGS Flags;    /* in */
	VOID *KernelCpuVirtualAddress;          /* out */
	VOID *SecondaryKernelCpuVirtualAddress; /* out */
	UINT Status;                            /* out */
} DXGKARG_CONNECTDOORBELL;
typedef DXGKARG_CONNECTDOORBELL *INOUT_PDXGKARG_CONNECTDOORBELL;

typedef struct _DXGKARG_DISCONNECTDOORBELL { /* in */
	HANDLE hDoorbell;
	DXGKARG_DISCONNECTDOORBELL_FLAGS Flags;
} DXGKARG_DISCONNECTDOORBELL;
typedef DXGKARG_DISCONNECTDOORBELL *INOUT_PDXGKARG_DISCONNECTDOORBELL;

typedef struct _DXGKARG_DESTROYDOORBELL { /* in */
	HANDLE hDoorbell;
} DXGKARG_DESTROYDOORBELL;
typedef DXGKARG_DESTROYDOORBELL *INOUT_PDXGKARG_DESTROYDOORBELL;

typedef struct _DXGKARG_NOTIFYWORKSUBMISSION {
	HANDLE hHwQueue;                          /* in */
	DXGKARG_NOTIFYWORKSUBMISSION_FLAGS Flags; /* in */
} DXGKARG_NOTIFYWORKSUBMISSION;
typedef CONST DXGKARG_NOTIFYWORKSUBMISSION *IN_CONST_PDXGKARG_NOTIFYWORKSUBMISSION;

typedef struct _DXGK_CREATECPUEVENTFLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} DXGK_CREATECPUEVENTFLAGS;

typedef struct _DXGKARG_CREATECPUEVENT {
	HANDLE hKmdDevice;              /* in */
	HANDLE hDxgCpuEvent;            /* in */
	DXGK_CREATECPUEVENTFLAGS Flags; /* in */
	HANDLE hKmdCpuEvent;            /* out */
} DXGKARG_CREATECPUEVENT;
typedef DXGKARG_CREATECPUEVENT *INOUT_PDXGKARG_CREATECPUEVENT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEDOORBELL(INOUT_PDXGKARG_CREATEDOORBELL pArgs);
typedef DXGKDDI_CREATEDOORBELL *PDXGKDDI_CREATEDOORBELL;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CONNECTDOORBELL(INOUT_PDXGKARG_CONNECTDOORBELL pArgs);
typedef DXGKDDI_CONNECTDOORBELL *PDXGKDDI_CONNECTDOORBELL;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DISCONNECTDOORBELL(INOUT_PDXGKARG_DISCONNECTDOORBELL pArgs);
typedef DXGKDDI_DISCONNECTDOORBELL *PDXGKDDI_DISCONNECTDOORBELL;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYDOORBELL(INOUT_PDXGKARG_DESTROYDOORBELL pArgs);
typedef DXGKDDI_DESTROYDOORBELL *PDXGKDDI_DESTROYDOORBELL;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY
DXGKDDI_NOTIFYWORKSUBMISSION(IN_CONST_PDXGKARG_NOTIFYWORKSUBMISSION pArgs);
typedef DXGKDDI_NOTIFYWORKSUBMISSION *PDXGKDDI_NOTIFYWORKSUBMISSION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATECPUEVENT(IN_CONST_HANDLE hAdapter,
						 INOUT_PDXGKARG_CREATECPUEVENT pArgs);
typedef DXGKDDI_CREATECPUEVENT *PDXGKDDI_CREATECPUEVENT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYCPUEVENT(IN_CONST_HANDLE hAdapter,
						  IN_CONST_HANDLE hKmdCpuEvent);
typedef DXGKDDI_DESTROYCPUEVENT *PDXGKDDI_DESTROYCPUEVENT;

/* ---- timeout, reset and debugging ---- */

typedef struct _DXGKARG_QUERYDEPENDENTENGINEGROUP {
	UINT NodeOrdinal;                   /* in */
	UINT EngineOrdinal;                 /* in */
	ULONGLONG DependentNodeOrdinalMask; /* out */
} DXGKARG_QUERYDEPENDENTENGINEGROUP;
typedef DXGKARG_QUERYDEPENDENTENGINEGROUP *INOUT_PDXGKARG_QUERYDEPENDENTENGINEGROUP;

/* The reference leaves the P out of this one name; both spellings are in use. */
typedef DXGKARG_QUERYDEPENDENTENGINEGROUP *INOUT_DXGKARG_QUERYDEPENDENTENGINEGROUP;

typedef struct _DXGK_ENGINESTATUS {
	union {
		struct {
			UINT Responsive : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_ENGINESTATUS;

typedef struct _DXGKARG_QUERYENGINESTATUS {
	UINT NodeOrdinal;               /* in */
	UINT EngineOrdinal;             /* in */
	DXGK_ENGINESTATUS EngineStatus; /* out */
} DXGKARG_QUERYENGINESTATUS;
typedef DXGKARG_QUERYENGINESTATUS *INOUT_PDXGKARG_QUERYENGINESTATUS;

typedef struct _DXGKARG_RESETENGINE {
	UINT NodeOrdinal;        /* in */
	UINT EngineOrdinal;      /* in */
	UINT LastAbortedFenceId; /* out */
} DXGKARG_RESETENGINE;
typedef DXGKARG_RESETENGINE *INOUT_PDXGKARG_RESETENGINE;

typedef struct _DXGKARG_RESETHWENGINE {
	UINT NodeOrdinal;   /* in */
	UINT EngineOrdinal; /* in */
} DXGKARG_RESETHWENGINE;
typedef DXGKARG_RESETHWENGINE *INOUT_PDXGKARG_RESETHWENGINE;

typedef struct _DXGKARG_RESUMEHWENGINE {
	UINT NodeOrdinal;   /* in */
	UINT EngineOrdinal; /* in */
} DXGKARG_RESUMEHWENGINE;
typedef DXGKARG_RESUMEHWENGINE *INOUT_PDXGKARG_RESUMEHWENGINE;

/* In front of a report that a bucket of its own was given: "MsSb" in memory. */
#define DXGK_SECONDARY_BUCKETING_TAG ((DWORD)0x6253734D)

typedef struct _DXGKARG_COLLECTDBGINFO_EXT { /* out */
	UINT BucketingKey;
	UINT CurrentDmaBufferOffset;
	UINT Reserved2;
	UINT Reserved3;
	UINT Reserved4;
	UINT Reserved5;
	UINT Reserved6;
	UINT Reserved7;
} DXGKARG_COLLECTDBGINFO_EXT;

typedef struct _DXGKARG_COLLECTDBGINFO {
	UINT Reason;                            /* in */
	VOID *pBuffer;                          /* out */
	SIZE_T BufferSize;                      /* in */
	DXGKARG_COLLECTDBGINFO_EXT *pExtension; /* out */
} DXGKARG_COLLECTDBGINFO;
typedef CONST DXGKARG_COLLECTDBGINFO *IN_CONST_PDXGKARG_COLLECTDBGINFO;

/* PASSIVE_LEVEL, level 3 */
typedef NTSTATUS APIENTRY DXGKDDI_RESETFROMTIMEOUT(IN_CONST_HANDLE hAdapter);
typedef DXGKDDI_RESETFROMTIMEOUT *PDXGKDDI_RESETFROMTIMEOUT;

/* PASSIVE_LEVEL, level 3 */
typedef NTSTATUS APIENTRY DXGKDDI_RESTARTFROMTIMEOUT(IN_CONST_HANDLE hAdapter);
typedef DXGKDDI_RESTARTFROMTIMEOUT *PDXGKDDI_RESTARTFROMTIMEOUT;

/* PASSIVE_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_QUERYDEPENDENTENGINEGROUP(
	IN_CONST_HANDLE hAdapter,
	INOUT_DXGKARG_QUERYDEPENDENTENGINEGROUP pQueryDependentEngineGroup);
typedef DXGKDDI_QUERYDEPENDENTENGINEGROUP *PDXGKDDI_QUERYDEPENDENTENGINEGROUP;

/* PASSIVE_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_QUERYENGINESTATUS(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_QUERYENGINESTATUS pQueryEngineStatus);
typedef DXGKDDI_QUERYENGINESTATUS *PDXGKDDI_QUERYENGINESTATUS;

/* PASSIVE_LEVEL, level 1, the class of the scheduler */
typedef NTSTATUS APIENTRY DXGKDDI_RESETENGINE(IN_CONST_HANDLE hAdapter,
					      INOUT_PDXGKARG_RESETENGINE pResetEngine);
typedef DXGKDDI_RESETENGINE *PDXGKDDI_RESETENGINE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RESETHWENGINE(IN_CONST_HANDLE hAdapter,
						INOUT_PDXGKARG_RESETHWENGINE pResetHwEngine);
typedef DXGKDDI_RESETHWENGINE *PDXGKDDI_RESETHWENGINE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RESUMEHWENGINE(IN_CONST_HANDLE hAdapter,
						 INOUT_PDXGKARG_RESUMEHWENGINE pResumeHwEngine);
typedef DXGKDDI_RESUMEHWENGINE *PDXGKDDI_RESUMEHWENGINE;

/* any IRQL, PASSIVE_LEVEL for a timeout; level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_COLLECTDBGINFO(IN_CONST_HANDLE hAdapter,
						 IN_CONST_PDXGKARG_COLLECTDBGINFO pCollectDbgInfo);
typedef DXGKDDI_COLLECTDBGINFO *PDXGKDDI_COLLECTDBGINFO;

/* ---- escape ---- */

typedef struct _DXGKARG_ESCAPE {
	HANDLE hDevice;             /* in */
	D3DDDI_ESCAPEFLAGS Flags;   /* in */
	VOID *pPrivateDriverData;   /* in/out */
	UINT PrivateDriverDataSize; /* in */
	HANDLE hContext;            /* in */
	HANDLE hKmdProcessHandle;   /* in; WDDM 2.4 */
} DXGKARG_ESCAPE;
typedef CONST DXGKARG_ESCAPE *IN_CONST_PDXGKARG_ESCAPE;

/* PASSIVE_LEVEL, level 0; 2 with HardwareAccess */
typedef NTSTATUS APIENTRY DXGKDDI_ESCAPE(IN_CONST_HANDLE hAdapter,
					 IN_CONST_PDXGKARG_ESCAPE pEscape);
typedef DXGKDDI_ESCAPE *PDXGKDDI_ESCAPE;

/* ---- power, clocks, history buffers, virtual machines ---- */

typedef enum _DXGK_POWER_COMPONENT_TYPE {
	DXGK_POWER_COMPONENT_ENGINE = 0,
	DXGK_POWER_COMPONENT_MONITOR = 1,
	DXGK_POWER_COMPONENT_MONITOR_REFRESH = 2,
	DXGK_POWER_COMPONENT_MEMORY = 3,
	DXGK_POWER_COMPONENT_MEMORY_REFRESH = 4,
	DXGK_POWER_COMPONENT_OTHER = 5,
	DXGK_POWER_COMPONENT_D3_TRANSITION = 6,
	DXGK_POWER_COMPONENT_SHARED = 7,
	DXGK_POWER_COMPONENT_MAX = 8,
} DXGK_POWER_COMPONENT_TYPE;

typedef struct _DXGK_POWER_COMPONENT_MAPPING { /* out */
	DXGK_POWER_COMPONENT_TYPE ComponentType;
	union {
		struct {
			UINT NodeIndex;
		} EngineDesc;
		struct {
			UINT VidPnSourceID;
		} MonitorRefreshDesc;
		struct {
			UINT VidPnTargetID;
		} MonitorDesc;
		struct {
			UINT SegmentID;
		} MemoryDesc;
		struct {
			union {
				struct {
					UINT16 SharedTypeFlag;
					UINT16 DriverCustomValueSet;
				};
				UINT SharedType;
			};
		} SharedDesc;
	};
} DXGK_POWER_COMPONENT_MAPPING;

typedef struct _DXGK_POWER_COMPONENT_FLAGS {
	union {
		struct {
			UINT Reserved0 : 1;
			UINT DriverCompletesFStateTransition : 1;
			UINT TransitionTo_F0_OnDx : 1;
			UINT NoDebounce : 1;
			UINT ActiveInD3 : 1;
			UINT Reserved : 27;
		};
		UINT Value;
	};
} DXGK_POWER_COMPONENT_FLAGS;

typedef struct _DXGK_POWER_RUNTIME_STATE { /* out */
	ULONGLONG TransitionLatency;
	ULONGLONG ResidencyRequirement;
	ULONG NominalPower;
} DXGK_POWER_RUNTIME_STATE;

typedef struct _DXGK_POWER_RUNTIME_COMPONENT { /* out */
	ULONG StateCount;
	DXGK_POWER_RUNTIME_STATE States[DXGK_MAX_F_STATES];
	DXGK_POWER_COMPONENT_MAPPING ComponentMapping;
	DXGK_POWER_COMPONENT_FLAGS Flags;
	GUID ComponentGuid;
	UCHAR ComponentName[DXGK_POWER_COMPONENT_NAME_SIZE];
	ULONG ProviderCount;
	ULONG Providers[DXGK_MAX_POWER_COMPONENT_PROVIDERS];
} DXGK_POWER_RUNTIME_COMPONENT;

typedef struct _DXGKARG_SETSTABLEPOWERSTATE {
	BOOL Enabled; /* in */
} DXGKARG_SETSTABLEPOWERSTATE;
typedef CONST DXGKARG_SETSTABLEPOWERSTATE *IN_CONST_PDXGKARG_SETSTABLEPOWERSTATE;

typedef struct _DXGK_TRACKEDWORKLOAD_STATE_FLAGS {
	union {
		struct {
			UINT Saturated : 1;
			UINT OptimalLevel : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_TRACKEDWORKLOAD_STATE_FLAGS;

typedef struct _DXGKARG_SETTRACKEDWORKLOADPOWERLEVEL {
	UINT PowerLevel;                        /* in */
	UINT EffectivePowerLevel;               /* out */
	DXGK_TRACKEDWORKLOAD_STATE_FLAGS Flags; /* in */
} DXGKARG_SETTRACKEDWORKLOADPOWERLEVEL;
typedef DXGKARG_SETTRACKEDWORKLOADPOWERLEVEL *INOUT_PDXGKARG_SETTRACKEDWORKLOADPOWERLEVEL;

/*
 * What DxgkDdiPowerRuntimeControlRequest is told about. The public pages give these three names and
 * no values; the values here are this header's own, and both sides take them from it.
 */
DEFINE_GUID(GUID_DXGKDDI_POWER_MANAGEMENT_PREPARE_TO_START, 0x5c3d7b52, 0x8f1e, 0x4a6b, 0x9d, 0x20,
	    0x31, 0xe4, 0x07, 0xa8, 0x6c, 0x11);
DEFINE_GUID(GUID_DXGKDDI_POWER_MANAGEMENT_STARTED, 0x5c3d7b53, 0x8f1e, 0x4a6b, 0x9d, 0x20, 0x31,
	    0xe4, 0x07, 0xa8, 0x6c, 0x11);
DEFINE_GUID(GUID_DXGKDDI_POWER_MANAGEMENT_STOPPED, 0x5c3d7b54, 0x8f1e, 0x4a6b, 0x9d, 0x20, 0x31,
	    0xe4, 0x07, 0xa8, 0x6c, 0x11);

/* These four names have no underscore after DXGKDDI. */
/* DISPATCH_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDISETPOWERCOMPONENTFSTATE(IN_CONST_HANDLE DriverContext,
							 UINT ComponentIndex, UINT FState);
typedef DXGKDDISETPOWERCOMPONENTFSTATE *PDXGKDDISETPOWERCOMPONENTFSTATE;
/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDISETPOWERPSTATE(IN_CONST_HANDLE DriverContext, UINT ComponentIndex,
						UINT PState);
typedef DXGKDDISETPOWERPSTATE *PDXGKDDISETPOWERPSTATE;
/* DISPATCH_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDIPOWERRUNTIMECONTROLREQUEST(IN_CONST_HANDLE DriverContext,
							    IN_LPCGUID PowerControlCode,
							    PVOID InBuffer, SIZE_T InBufferSize,
							    PVOID OutBuffer, SIZE_T OutBufferSize,
							    PSIZE_T BytesReturned);
typedef DXGKDDIPOWERRUNTIMECONTROLREQUEST *PDXGKDDIPOWERRUNTIMECONTROLREQUEST;
/* Both spellings are in use. */
typedef DXGKDDIPOWERRUNTIMECONTROLREQUEST DXGKDDI_POWERRUNTIMECONTROLREQUEST;
typedef DXGKDDIPOWERRUNTIMECONTROLREQUEST *PDXGKDDI_POWERRUNTIMECONTROLREQUEST;
/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDIPOWERRUNTIMESETDEVICEHANDLE(IN_CONST_HANDLE DriverContext,
							     PVOID PoFxDeviceHandle);
typedef DXGKDDIPOWERRUNTIMESETDEVICEHANDLE *PDXGKDDIPOWERRUNTIMESETDEVICEHANDLE;
typedef DXGKDDIPOWERRUNTIMESETDEVICEHANDLE DXGKDDI_POWERRUNTIMESETDEVICEHANDLE;
typedef DXGKDDIPOWERRUNTIMESETDEVICEHANDLE *PDXGKDDI_POWERRUNTIMESETDEVICEHANDLE;

/* PASSIVE_LEVEL, level 0 */
typedef VOID APIENTRY DXGKDDI_SETSTABLEPOWERSTATE(IN_CONST_HANDLE hAdapter,
						  IN_CONST_PDXGKARG_SETSTABLEPOWERSTATE pArgs);
typedef DXGKDDI_SETSTABLEPOWERSTATE *PDXGKDDI_SETSTABLEPOWERSTATE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETTRACKEDWORKLOADPOWERLEVEL(
	IN_CONST_HANDLE hContext,
	INOUT_PDXGKARG_SETTRACKEDWORKLOADPOWERLEVEL pTrackedWorkloadPowerLevel);
typedef DXGKDDI_SETTRACKEDWORKLOADPOWERLEVEL *PDXGKDDI_SETTRACKEDWORKLOADPOWERLEVEL;

typedef DXGK_GPUCLOCKDATA DXGKARG_CALIBRATEGPUCLOCK;
typedef DXGKARG_CALIBRATEGPUCLOCK *OUT_PDXGKARG_CALIBRATEGPUCLOCK;

/* DISPATCH_LEVEL, level 0 */
typedef NTSTATUS APIENTRY
DXGKDDI_CALIBRATEGPUCLOCK(IN_CONST_HANDLE hAdapter, UINT32 NodeOrdinal, UINT32 EngineOrdinal,
			  OUT_PDXGKARG_CALIBRATEGPUCLOCK pClockCalibration);
typedef DXGKDDI_CALIBRATEGPUCLOCK *PDXGKDDI_CALIBRATEGPUCLOCK;

typedef struct _DXGK_HISTORY_BUFFER_HEADER {
	UINT32 RenderCbSequence;
	UINT32 NumTimestamps;
	UINT32 PrivateDataSize;
	UINT32 Reserved;
} DXGK_HISTORY_BUFFER_HEADER;

typedef struct _DXGK_HISTORY_BUFFER {
	DXGK_HISTORY_BUFFER_HEADER Header;
	UINT8 DriverPrivateData[1];
} DXGK_HISTORY_BUFFER;

typedef struct _DXGK_QUERYHISTORYBUFFERPRECISIONIN { /* in */
	UINT PhysicalAdapterIndex;                   /* WDDM 2.0 */
} DXGK_QUERYHISTORYBUFFERPRECISIONIN;

typedef struct _DXGKARG_HISTORYBUFFERPRECISION { /* out */
	UINT32 PrecisionBits;
} DXGKARG_HISTORYBUFFERPRECISION;

typedef struct _DXGKARG_FORMATHISTORYBUFFER {
	DXGK_HISTORY_BUFFER *pHistoryBuffer;      /* in */
	UINT32 HistoryBufferSize;                 /* in */
	PVOID pFormattedBuffer;                   /* out */
	UINT32 FormattedBufferSize;               /* in */
	UINT32 NumTimestamps;                     /* out */
	DXGKARG_HISTORYBUFFERPRECISION Precision; /* out */
	UINT32 Offset;                            /* in/out */
} DXGKARG_FORMATHISTORYBUFFER;
typedef DXGKARG_FORMATHISTORYBUFFER *IN_PDXGKARG_FORMATHISTORYBUFFER;
typedef DXGKARG_FORMATHISTORYBUFFER *INOUT_PDXGKARG_FORMATHISTORYBUFFER;

/* DISPATCH_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_FORMATHISTORYBUFFER(IN_CONST_HANDLE hContext,
						      IN_PDXGKARG_FORMATHISTORYBUFFER pFormatData);
typedef DXGKDDI_FORMATHISTORYBUFFER *PDXGKDDI_FORMATHISTORYBUFFER;

typedef struct _DXGK_VIRTUALMACHINEDATAFLAGS {
	union {
		struct {
			UINT SecureVirtualMachine : 1;
			UINT LinuxVirtualMachine : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_VIRTUALMACHINEDATAFLAGS;

typedef struct _DXGKARG_SETVIRTUALMACHINEDATA {
	HANDLE hKmdVmWorkerProcess;         /* in */
	CONST GUID *pVmGuid;                /* in */
	DXGK_VIRTUALMACHINEDATAFLAGS Flags; /* in */
} DXGKARG_SETVIRTUALMACHINEDATA;
typedef CONST DXGKARG_SETVIRTUALMACHINEDATA *IN_CONST_PDXGKARG_SETVIRTUALMACHINEDATA;

typedef struct _DXGKARG_BEGINEXCLUSIVEACCESS { /* in */
	UINT Reserved;
} DXGKARG_BEGINEXCLUSIVEACCESS;
typedef DXGKARG_BEGINEXCLUSIVEACCESS *IN_PDXGKARG_BEGINEXCLUSIVEACCESS;

typedef struct _DXGKARG_ENDEXCLUSIVEACCESS { /* in */
	UINT Reserved;
} DXGKARG_ENDEXCLUSIVEACCESS;
typedef DXGKARG_ENDEXCLUSIVEACCESS *IN_PDXGKARG_ENDEXCLUSIVEACCESS;

typedef struct _DXGK_SAVEMEMORYFORHOTUPDATEFLAGS {
	union {
		struct {
			UINT CancelHotUpdate : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_SAVEMEMORYFORHOTUPDATEFLAGS;

typedef struct _DXGK_RESTOREMEMORYFORHOTUPDATEFLAGS {
	union {
		struct {
			UINT RestoreComplete : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_RESTOREMEMORYFORHOTUPDATEFLAGS;

typedef struct _DXGKARG_SAVEMEMORYFORHOTUPDATE {
	DXGK_SAVEMEMORYFORHOTUPDATEFLAGS Flags; /* in */
} DXGKARG_SAVEMEMORYFORHOTUPDATE;
typedef CONST DXGKARG_SAVEMEMORYFORHOTUPDATE *IN_CONST_PDXGKARG_SAVEMEMORYFORHOTUPDATE;

typedef struct _DXGKARG_RESTOREMEMORYFORHOTUPDATE {
	DXGK_RESTOREMEMORYFORHOTUPDATEFLAGS Flags; /* in */
	PMDL pDataMdl;                             /* in */
	UINT MetaDataSize;                         /* in */
	VOID *pMetaData;                           /* in */
} DXGKARG_RESTOREMEMORYFORHOTUPDATE;
typedef CONST DXGKARG_RESTOREMEMORYFORHOTUPDATE *IN_CONST_PDXGKARG_RESTOREMEMORYFORHOTUPDATE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETVIRTUALMACHINEDATA(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETVIRTUALMACHINEDATA Args);
typedef DXGKDDI_SETVIRTUALMACHINEDATA *PDXGKDDI_SETVIRTUALMACHINEDATA;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_BEGINEXCLUSIVEACCESS(
	IN_CONST_HANDLE hAdapter, IN_PDXGKARG_BEGINEXCLUSIVEACCESS pBeginExclusiveAccess);
typedef DXGKDDI_BEGINEXCLUSIVEACCESS *PDXGKDDI_BEGINEXCLUSIVEACCESS;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_ENDEXCLUSIVEACCESS(
	IN_CONST_HANDLE hAdapter, IN_PDXGKARG_ENDEXCLUSIVEACCESS pEndExclusiveAccess);
typedef DXGKDDI_ENDEXCLUSIVEACCESS *PDXGKDDI_ENDEXCLUSIVEACCESS;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SAVEMEMORYFORHOTUPDATE(
	IN_CONST_HANDLE hContext, IN_CONST_PDXGKARG_SAVEMEMORYFORHOTUPDATE pArgs);
typedef DXGKDDI_SAVEMEMORYFORHOTUPDATE *PDXGKDDI_SAVEMEMORYFORHOTUPDATE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RESTOREMEMORYFORHOTUPDATE(
	IN_CONST_HANDLE hContext, IN_CONST_PDXGKARG_RESTOREMEMORYFORHOTUPDATE pArgs);
typedef DXGKDDI_RESTOREMEMORYFORHOTUPDATE *PDXGKDDI_RESTOREMEMORYFORHOTUPDATE;

/* ---- presenting ---- */

typedef struct _DXGK_PRIMARYDATA { /* in */
	HANDLE hAllocation;
	WORD SegmentId;
	PHYSICAL_ADDRESS SegmentAddress;
} DXGK_PRIMARYDATA;

typedef struct _DXGK_PRIMARYCONTEXTDATA { /* in */
	HANDLE hContext;
	HANDLE hAllocation;
	WORD SegmentId;
	PHYSICAL_ADDRESS SegmentAddress;
} DXGK_PRIMARYCONTEXTDATA;

typedef struct _DXGK_PRESENTALLOCATIONINFO { /* in */
	HANDLE hDeviceSpecificAllocation;
	D3DGPU_VIRTUAL_ADDRESS AllocationVirtualAddress;
	PHYSICAL_ADDRESS PhysicalAddress;
	WORD SegmentId;
	WORD PhysicalAdapterIndex;
} DXGK_PRESENTALLOCATIONINFO;

typedef struct _DXGK_PRESENTMULTIPLANEOVERLAYLIST { /* in */
	UINT LayerIndex;
	BOOL Enabled;
	HANDLE hDeviceSpecificAllocation;
	struct {
		UINT SegmentId : 5;
		UINT Reserved : 27;
	};
	PHYSICAL_ADDRESS PhysicalAddress;
} DXGK_PRESENTMULTIPLANEOVERLAYLIST;

typedef struct _DXGK_PRESENTMULTIPLANEOVERLAYINFO { /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT PlaneListCount;
	DXGK_PRESENTMULTIPLANEOVERLAYLIST *pPlaneList;
} DXGK_PRESENTMULTIPLANEOVERLAYINFO;

/* Where DxgkDdiPresent finds its allocations in pAllocationList. */
#define DXGK_PRESENT_SOURCE_INDEX      1
#define DXGK_PRESENT_DESTINATION_INDEX 2

typedef struct _DXGK_PRESENTFLAGS {
	union {
		struct {
			UINT Blt : 1;
			UINT ColorFill : 1;
			UINT Flip : 1;
			UINT FlipWithNoWait : 1;
			UINT SrcColorKey : 1;
			UINT DstColorKey : 1;
			UINT LinearToSrgb : 1;
			UINT Rotate : 1;
			UINT FlipStereo : 1;
			UINT FlipStereoTemporaryMono : 1;
			UINT FlipStereoPreferRight : 1;
			UINT BltStereoUseRight : 1;
			UINT FlipWithMultiPlaneOverlay : 1;
			UINT RedirectedFlip : 1;
			UINT Reserved : 18;
		};
		UINT Value;
	};
} DXGK_PRESENTFLAGS;

typedef struct _DXGKARG_PRESENT {      /* in */
	VOID *pDmaBuffer;              /* in/out */
	UINT DmaSize;                  /* in */
	VOID *pDmaBufferPrivateData;   /* in/out */
	UINT DmaBufferPrivateDataSize; /* in */
	union {
		DXGK_ALLOCATIONLIST *pAllocationList;                             /* in */
		DXGK_PRESENTALLOCATIONINFO *pAllocationInfo;                      /* in; WDDM 2.0 */
		DXGK_PRESENTMULTIPLANEOVERLAYINFO *pPresentMultiPlaneOverlayInfo; /* in; WDDM 1.2 */
	};
	D3DDDI_PATCHLOCATIONLIST *pPatchLocationListOut;   /* in/out */
	UINT PatchLocationListOutSize;                     /* in */
	UINT MultipassOffset;                              /* in/out */
	UINT Color;                                        /* in */
	RECT DstRect;                                      /* in */
	RECT SrcRect;                                      /* in */
	UINT SubRectCnt;                                   /* in */
	CONST RECT *pDstSubRects;                          /* in */
	D3DDDI_FLIPINTERVAL_TYPE FlipInterval;             /* in */
	DXGK_PRESENTFLAGS Flags;                           /* in */
	UINT DmaBufferSegmentId;                           /* in */
	PHYSICAL_ADDRESS DmaBufferPhysicalAddress;         /* in */
	UINT Reserved;                                     /* WDDM 1.3 */
	D3DGPU_VIRTUAL_ADDRESS DmaBufferGpuVirtualAddress; /* in; WDDM 2.0 */
	UINT NumSrcAllocations;                            /* in */
	UINT NumDstAllocations;                            /* in */
	UINT PrivateDriverDataSize;                        /* in */
	PVOID pPrivateDriverData;                          /* in */
} DXGKARG_PRESENT;
typedef DXGKARG_PRESENT *INOUT_PDXGKARG_PRESENT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_PRESENT(IN_CONST_HANDLE hContext,
					  INOUT_PDXGKARG_PRESENT pPresent);
typedef DXGKDDI_PRESENT *PDXGKDDI_PRESENT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_PRESENTTOHWQUEUE(IN_CONST_HANDLE hHwQueue,
						   INOUT_PDXGKARG_PRESENT pPresent);
typedef DXGKDDI_PRESENTTOHWQUEUE *PDXGKDDI_PRESENTTOHWQUEUE;

typedef enum _DXGK_PRESENT_DISPLAY_ONLY_PROGRESS_ID {
	DXGK_PRESENT_DISPLAYONLY_PROGRESS_ID_COMPLETE = 0,
	DXGK_PRESENT_DISPLAYONLY_PROGRESS_ID_FAILED = 1,
} DXGK_PRESENT_DISPLAY_ONLY_PROGRESS_ID;

typedef struct _DXGKARGCB_PRESENT_DISPLAYONLY_PROGRESS { /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	DXGK_PRESENT_DISPLAY_ONLY_PROGRESS_ID ProgressId;
} DXGKARGCB_PRESENT_DISPLAYONLY_PROGRESS;

typedef VOID(APIENTRY *DXGKCB_PRESENT_DISPLAYONLY_PROGRESS)(
	IN_CONST_HANDLE hAdapter, CONST DXGKARGCB_PRESENT_DISPLAYONLY_PROGRESS *pProgress);

typedef struct _D3DKMT_PRESENT_DISPLAY_ONLY_FLAGS {
	union {
		struct {
			UINT Rotate : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DKMT_PRESENT_DISPLAY_ONLY_FLAGS;

typedef struct _DXGKARG_PRESENT_DISPLAYONLY {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;                      /* in */
	VOID *pSource;                                                     /* in */
	ULONG BytesPerPixel;                                               /* in */
	LONG Pitch;                                                        /* in */
	D3DKMT_PRESENT_DISPLAY_ONLY_FLAGS Flags;                           /* in */
	ULONG NumMoves;                                                    /* in */
	D3DKMT_MOVE_RECT *pMoves;                                          /* in */
	ULONG NumDirtyRects;                                               /* in */
	RECT *pDirtyRect;                                                  /* in */
	DXGKCB_PRESENT_DISPLAYONLY_PROGRESS pfnPresentDisplayOnlyProgress; /* in */
} DXGKARG_PRESENT_DISPLAYONLY;
typedef CONST DXGKARG_PRESENT_DISPLAYONLY *IN_CONST_PDXGKARG_PRESENT_DISPLAYONLY;

/* PASSIVE_LEVEL */
typedef NTSTATUS APIENTRY DXGKDDI_PRESENTDISPLAYONLY(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PRESENT_DISPLAYONLY pPresentDisplayOnly);
typedef DXGKDDI_PRESENTDISPLAYONLY *PDXGKDDI_PRESENTDISPLAYONLY;

/* ---- pointer, palette, overlay, capture ---- */

typedef struct _DXGK_SETPOINTERPOSITIONFLAGS {
	union {
		struct {
			UINT Visible : 1;
			UINT Procedural : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_SETPOINTERPOSITIONFLAGS;

typedef struct _DXGKARG_SETPOINTERPOSITION {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	INT X;                                        /* in */
	INT Y;                                        /* in */
	DXGK_SETPOINTERPOSITIONFLAGS Flags;           /* in */
} DXGKARG_SETPOINTERPOSITION;
typedef CONST DXGKARG_SETPOINTERPOSITION *IN_CONST_PDXGKARG_SETPOINTERPOSITION;

typedef struct _DXGKARG_SETPOINTERSHAPE {
	DXGK_POINTERFLAGS Flags;                      /* in */
	UINT Width;                                   /* in */
	UINT Height;                                  /* in */
	UINT Pitch;                                   /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	CONST VOID *pPixels;                          /* in */
	UINT XHot;                                    /* in */
	UINT YHot;                                    /* in */
} DXGKARG_SETPOINTERSHAPE;
typedef CONST DXGKARG_SETPOINTERSHAPE *IN_CONST_PDXGKARG_SETPOINTERSHAPE;

typedef CONST DXGKARG_SETPALETTE *IN_CONST_PDXGKARG_SETPALETTE;

typedef struct _DXGK_OVERLAYINFO { /* in */
	HANDLE hAllocation;
	PHYSICAL_ADDRESS PhysicalAddress;
	UINT SegmentId;
	RECT DstRect;
	RECT SrcRect;
	VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
} DXGK_OVERLAYINFO;

typedef struct _DXGKARG_CREATEOVERLAY {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	DXGK_OVERLAYINFO OverlayInfo;                 /* in */
	HANDLE hOverlay;                              /* out */
} DXGKARG_CREATEOVERLAY;
typedef DXGKARG_CREATEOVERLAY *INOUT_PDXGKARG_CREATEOVERLAY;

typedef struct _DXGKARG_UPDATEOVERLAY {
	DXGK_OVERLAYINFO OverlayInfo; /* in */
} DXGKARG_UPDATEOVERLAY;
typedef CONST DXGKARG_UPDATEOVERLAY *IN_CONST_PDXGKARG_UPDATEOVERLAY;

typedef struct _DXGKARG_FLIPOVERLAY {
	HANDLE hSource;                      /* in */
	PHYSICAL_ADDRESS SrcPhysicalAddress; /* in */
	UINT SrcSegmentId;                   /* in */
	VOID *pPrivateDriverData;            /* in */
	UINT PrivateDriverDataSize;          /* in */
} DXGKARG_FLIPOVERLAY;
typedef CONST DXGKARG_FLIPOVERLAY *IN_CONST_PDXGKARG_FLIPOVERLAY;

typedef struct _DXGKARG_STOPCAPTURE {
	HANDLE hAllocation; /* in */
} DXGKARG_STOPCAPTURE;
typedef CONST DXGKARG_STOPCAPTURE *IN_CONST_PDXGKARG_STOPCAPTURE;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_SETPALETTE(IN_CONST_HANDLE hAdapter,
					     IN_CONST_PDXGKARG_SETPALETTE pSetPalette);
typedef DXGKDDI_SETPALETTE *PDXGKDDI_SETPALETTE;

/* PASSIVE_LEVEL, level 1, the class of the pointer */
typedef NTSTATUS APIENTRY DXGKDDI_SETPOINTERPOSITION(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETPOINTERPOSITION pSetPointerPosition);
typedef DXGKDDI_SETPOINTERPOSITION *PDXGKDDI_SETPOINTERPOSITION;

/* PASSIVE_LEVEL, level 1, the class of the pointer */
typedef NTSTATUS APIENTRY DXGKDDI_SETPOINTERSHAPE(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETPOINTERSHAPE pSetPointerShape);
typedef DXGKDDI_SETPOINTERSHAPE *PDXGKDDI_SETPOINTERSHAPE;

/* PASSIVE_LEVEL, level 1, the class of overlays */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEOVERLAY(IN_CONST_HANDLE hAdapter,
						INOUT_PDXGKARG_CREATEOVERLAY pCreateOverlay);
typedef DXGKDDI_CREATEOVERLAY *PDXGKDDI_CREATEOVERLAY;

/* PASSIVE_LEVEL, level 1, the class of overlays */
typedef NTSTATUS APIENTRY DXGKDDI_UPDATEOVERLAY(IN_CONST_HANDLE hOverlay,
						IN_CONST_PDXGKARG_UPDATEOVERLAY pUpdateOverlay);
typedef DXGKDDI_UPDATEOVERLAY *PDXGKDDI_UPDATEOVERLAY;

/* PASSIVE_LEVEL, level 1, the class of overlays */
typedef NTSTATUS APIENTRY DXGKDDI_FLIPOVERLAY(IN_CONST_HANDLE hOverlay,
					      IN_CONST_PDXGKARG_FLIPOVERLAY pFlipOverlay);
typedef DXGKDDI_FLIPOVERLAY *PDXGKDDI_FLIPOVERLAY;

/* PASSIVE_LEVEL, level 1, the class of overlays */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYOVERLAY(IN_CONST_HANDLE hOverlay);
typedef DXGKDDI_DESTROYOVERLAY *PDXGKDDI_DESTROYOVERLAY;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_STOPCAPTURE(IN_CONST_HANDLE hAdapter,
					      IN_CONST_PDXGKARG_STOPCAPTURE pStopCapture);
typedef DXGKDDI_STOPCAPTURE *PDXGKDDI_STOPCAPTURE;

/* ---- VidPN: the interfaces the host hands out ---- */

typedef enum _DXGK_VIDPN_INTERFACE_VERSION {
	DXGK_VIDPN_INTERFACE_VERSION_UNINITIALIZED = 0,
	DXGK_VIDPN_INTERFACE_VERSION_V1 = 1,
	DXGK_VIDPN_INTERFACE_VERSION_V2 = 2,
} DXGK_VIDPN_INTERFACE_VERSION;

typedef enum _DXGK_MONITOR_INTERFACE_VERSION {
	DXGK_MONITOR_INTERFACE_VERSION_UNINITIALIZED = 0,
	DXGK_MONITOR_INTERFACE_VERSION_V1 = 1,
	DXGK_MONITOR_INTERFACE_VERSION_V2 = 2,
} DXGK_MONITOR_INTERFACE_VERSION;

typedef struct _DXGK_VIDPNSOURCEMODESET_INTERFACE DXGK_VIDPNSOURCEMODESET_INTERFACE;
typedef struct _DXGK_VIDPNTARGETMODESET_INTERFACE DXGK_VIDPNTARGETMODESET_INTERFACE;
typedef struct _DXGK_VIDPNTOPOLOGY_INTERFACE DXGK_VIDPNTOPOLOGY_INTERFACE;
typedef struct _DXGK_MONITORSOURCEMODESET_INTERFACE DXGK_MONITORSOURCEMODESET_INTERFACE;
typedef struct _DXGK_MONITORFREQUENCYRANGESET_INTERFACE DXGK_MONITORFREQUENCYRANGESET_INTERFACE;
typedef struct _DXGK_MONITORDESCRIPTORSET_INTERFACE DXGK_MONITORDESCRIPTORSET_INTERFACE;

typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_GETTOPOLOGY)(
	CONST D3DKMDT_HVIDPN hVidPn, D3DKMDT_HVIDPNTOPOLOGY *phVidPnTopology,
	CONST DXGK_VIDPNTOPOLOGY_INTERFACE **ppVidPnTopologyInterface);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_ACQUIRESOURCEMODESET)(
	CONST D3DKMDT_HVIDPN hVidPn, CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId,
	D3DKMDT_HVIDPNSOURCEMODESET *phVidPnSourceModeSet,
	CONST DXGK_VIDPNSOURCEMODESET_INTERFACE **ppVidPnSourceModeSetInterface);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_RELEASESOURCEMODESET)(
	CONST D3DKMDT_HVIDPN hVidPn, CONST D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_CREATENEWSOURCEMODESET)(
	CONST D3DKMDT_HVIDPN hVidPn, CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId,
	D3DKMDT_HVIDPNSOURCEMODESET *phNewVidPnSourceModeSet,
	CONST DXGK_VIDPNSOURCEMODESET_INTERFACE **ppVidPnSourceModeSetInterface);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_ASSIGNSOURCEMODESET)(
	D3DKMDT_HVIDPN hVidPn, CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId,
	CONST D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_ASSIGNMULTISAMPLINGMETHODSET)(
	D3DKMDT_HVIDPN hVidPn, CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId,
	CONST SIZE_T NumMethods, CONST D3DDDI_MULTISAMPLINGMETHOD *pSupportedMethodSet);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_ACQUIRETARGETMODESET)(
	CONST D3DKMDT_HVIDPN hVidPn, CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
	D3DKMDT_HVIDPNTARGETMODESET *phVidPnTargetModeSet,
	CONST DXGK_VIDPNTARGETMODESET_INTERFACE **ppVidPnTargetModeSetInterface);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_RELEASETARGETMODESET)(
	CONST D3DKMDT_HVIDPN hVidPn, CONST D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_CREATENEWTARGETMODESET)(
	CONST D3DKMDT_HVIDPN hVidPn, CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
	D3DKMDT_HVIDPNTARGETMODESET *phNewVidPnTargetModeSet,
	CONST DXGK_VIDPNTARGETMODESET_INTERFACE **ppVidPnTargetModeSetInterface);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPN_ASSIGNTARGETMODESET)(
	D3DKMDT_HVIDPN hVidPn, CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
	CONST D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet);

typedef struct _DXGK_VIDPN_INTERFACE {
	DXGK_VIDPN_INTERFACE_VERSION Version;
	DXGKDDI_VIDPN_GETTOPOLOGY pfnGetTopology;
	DXGKDDI_VIDPN_ACQUIRESOURCEMODESET pfnAcquireSourceModeSet;
	DXGKDDI_VIDPN_RELEASESOURCEMODESET pfnReleaseSourceModeSet;
	DXGKDDI_VIDPN_CREATENEWSOURCEMODESET pfnCreateNewSourceModeSet;
	DXGKDDI_VIDPN_ASSIGNSOURCEMODESET pfnAssignSourceModeSet;
	DXGKDDI_VIDPN_ASSIGNMULTISAMPLINGMETHODSET pfnAssignMultisamplingMethodSet;
	DXGKDDI_VIDPN_ACQUIRETARGETMODESET pfnAcquireTargetModeSet;
	DXGKDDI_VIDPN_RELEASETARGETMODESET pfnReleaseTargetModeSet;
	DXGKDDI_VIDPN_CREATENEWTARGETMODESET pfnCreateNewTargetModeSet;
	DXGKDDI_VIDPN_ASSIGNTARGETMODESET pfnAssignTargetModeSet;
} DXGK_VIDPN_INTERFACE;

typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_GETNUMPATHS)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology, SIZE_T *pNumPaths);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_GETNUMPATHSFROMSOURCE)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId, SIZE_T *pNumPathsFromSource);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_ENUMPATHTARGETSFROMSOURCE)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId,
	CONST D3DKMDT_VIDPN_PRESENT_PATH_INDEX VidPnPresentPathIndex,
	D3DDDI_VIDEO_PRESENT_TARGET_ID *pVidPnTargetId);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_GETPATHSOURCEFROMTARGET)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
	D3DDDI_VIDEO_PRESENT_SOURCE_ID *pVidPnSourceId);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_ACQUIREPATHINFO)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId,
	CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId,
	CONST D3DKMDT_VIDPN_PRESENT_PATH **pVidPnPresentPathInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_ACQUIREFIRSTPATHINFO)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DKMDT_VIDPN_PRESENT_PATH **ppFirstVidPnPresentPathInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_ACQUIRENEXTPATHINFO)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DKMDT_VIDPN_PRESENT_PATH *CONST pVidPnPresentPathInfo,
	CONST D3DKMDT_VIDPN_PRESENT_PATH **ppNextVidPnPresentPathInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_UPDATEPATHSUPPORTINFO)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DKMDT_VIDPN_PRESENT_PATH *pVidPnPresentPathInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_RELEASEPATHINFO)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DKMDT_VIDPN_PRESENT_PATH *CONST pVidPnPresentPathInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_CREATENEWPATHINFO)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	D3DKMDT_VIDPN_PRESENT_PATH **ppNewVidPnPresentPathInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_ADDPATH)(
	D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology, D3DKMDT_VIDPN_PRESENT_PATH *CONST pVidPnPresentPath);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTOPOLOGY_REMOVEPATH)(
	CONST D3DKMDT_HVIDPNTOPOLOGY hVidPnTopology,
	CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId,
	CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId);

struct _DXGK_VIDPNTOPOLOGY_INTERFACE {
	DXGKDDI_VIDPNTOPOLOGY_GETNUMPATHS pfnGetNumPaths;
	DXGKDDI_VIDPNTOPOLOGY_GETNUMPATHSFROMSOURCE pfnGetNumPathsFromSource;
	DXGKDDI_VIDPNTOPOLOGY_ENUMPATHTARGETSFROMSOURCE pfnEnumPathTargetsFromSource;
	DXGKDDI_VIDPNTOPOLOGY_GETPATHSOURCEFROMTARGET pfnGetPathSourceFromTarget;
	DXGKDDI_VIDPNTOPOLOGY_ACQUIREPATHINFO pfnAcquirePathInfo;
	DXGKDDI_VIDPNTOPOLOGY_ACQUIREFIRSTPATHINFO pfnAcquireFirstPathInfo;
	DXGKDDI_VIDPNTOPOLOGY_ACQUIRENEXTPATHINFO pfnAcquireNextPathInfo;
	DXGKDDI_VIDPNTOPOLOGY_UPDATEPATHSUPPORTINFO pfnUpdatePathSupportInfo;
	DXGKDDI_VIDPNTOPOLOGY_RELEASEPATHINFO pfnReleasePathInfo;
	DXGKDDI_VIDPNTOPOLOGY_CREATENEWPATHINFO pfnCreateNewPathInfo;
	DXGKDDI_VIDPNTOPOLOGY_ADDPATH pfnAddPath;
	DXGKDDI_VIDPNTOPOLOGY_REMOVEPATH pfnRemovePath;
};

typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNSOURCEMODESET_GETNUMMODES)(
	CONST D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet, SIZE_T *pNumSourceModes);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNSOURCEMODESET_ACQUIREFIRSTMODEINFO)(
	CONST D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet,
	CONST D3DKMDT_VIDPN_SOURCE_MODE **ppFirstVidPnSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNSOURCEMODESET_ACQUIRENEXTMODEINFO)(
	CONST D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet,
	CONST D3DKMDT_VIDPN_SOURCE_MODE *CONST pVidPnSourceModeInfo,
	CONST D3DKMDT_VIDPN_SOURCE_MODE **ppNextVidPnSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNSOURCEMODESET_ACQUIREPINNEDMODEINFO)(
	CONST D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet,
	CONST D3DKMDT_VIDPN_SOURCE_MODE **ppPinnedVidPnSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNSOURCEMODESET_RELEASEMODEINFO)(
	CONST D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet,
	CONST D3DKMDT_VIDPN_SOURCE_MODE *CONST pVidPnSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNSOURCEMODESET_CREATENEWMODEINFO)(
	CONST D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet,
	D3DKMDT_VIDPN_SOURCE_MODE **ppNewVidPnSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNSOURCEMODESET_ADDMODE)(
	D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet,
	D3DKMDT_VIDPN_SOURCE_MODE *CONST pVidPnSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNSOURCEMODESET_PINMODE)(
	D3DKMDT_HVIDPNSOURCEMODESET hVidPnSourceModeSet,
	CONST D3DKMDT_VIDEO_PRESENT_SOURCE_MODE_ID VidPnSourceModeId);

struct _DXGK_VIDPNSOURCEMODESET_INTERFACE {
	DXGKDDI_VIDPNSOURCEMODESET_GETNUMMODES pfnGetNumModes;
	DXGKDDI_VIDPNSOURCEMODESET_ACQUIREFIRSTMODEINFO pfnAcquireFirstModeInfo;
	DXGKDDI_VIDPNSOURCEMODESET_ACQUIRENEXTMODEINFO pfnAcquireNextModeInfo;
	DXGKDDI_VIDPNSOURCEMODESET_ACQUIREPINNEDMODEINFO pfnAcquirePinnedModeInfo;
	DXGKDDI_VIDPNSOURCEMODESET_RELEASEMODEINFO pfnReleaseModeInfo;
	DXGKDDI_VIDPNSOURCEMODESET_CREATENEWMODEINFO pfnCreateNewModeInfo;
	DXGKDDI_VIDPNSOURCEMODESET_ADDMODE pfnAddMode;
	DXGKDDI_VIDPNSOURCEMODESET_PINMODE pfnPinMode;
};

typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTARGETMODESET_GETNUMMODES)(
	CONST D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet, SIZE_T *pNumTargetModes);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTARGETMODESET_ACQUIREFIRSTMODEINFO)(
	CONST D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet,
	CONST D3DKMDT_VIDPN_TARGET_MODE **ppFirstVidPnTargetModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTARGETMODESET_ACQUIRENEXTMODEINFO)(
	CONST D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet,
	CONST D3DKMDT_VIDPN_TARGET_MODE *CONST pVidPnTargetModeInfo,
	CONST D3DKMDT_VIDPN_TARGET_MODE **ppNextVidPnTargetModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTARGETMODESET_ACQUIREPINNEDMODEINFO)(
	CONST D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet,
	CONST D3DKMDT_VIDPN_TARGET_MODE **ppPinnedVidPnTargetModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTARGETMODESET_RELEASEMODEINFO)(
	CONST D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet,
	CONST D3DKMDT_VIDPN_TARGET_MODE *CONST pVidPnTargetModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTARGETMODESET_CREATENEWMODEINFO)(
	CONST D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet,
	D3DKMDT_VIDPN_TARGET_MODE **ppNewVidPnTargetModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTARGETMODESET_ADDMODE)(
	D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet,
	D3DKMDT_VIDPN_TARGET_MODE *CONST pVidPnTargetModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_VIDPNTARGETMODESET_PINMODE)(
	D3DKMDT_HVIDPNTARGETMODESET hVidPnTargetModeSet,
	CONST D3DKMDT_VIDEO_PRESENT_TARGET_MODE_ID VidPnTargetModeId);

struct _DXGK_VIDPNTARGETMODESET_INTERFACE {
	DXGKDDI_VIDPNTARGETMODESET_GETNUMMODES pfnGetNumModes;
	DXGKDDI_VIDPNTARGETMODESET_ACQUIREFIRSTMODEINFO pfnAcquireFirstModeInfo;
	DXGKDDI_VIDPNTARGETMODESET_ACQUIRENEXTMODEINFO pfnAcquireNextModeInfo;
	DXGKDDI_VIDPNTARGETMODESET_ACQUIREPINNEDMODEINFO pfnAcquirePinnedModeInfo;
	DXGKDDI_VIDPNTARGETMODESET_RELEASEMODEINFO pfnReleaseModeInfo;
	DXGKDDI_VIDPNTARGETMODESET_CREATENEWMODEINFO pfnCreateNewModeInfo;
	DXGKDDI_VIDPNTARGETMODESET_ADDMODE pfnAddMode;
	DXGKDDI_VIDPNTARGETMODESET_PINMODE pfnPinMode;
};

typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORSOURCEMODESET_GETNUMMODES)(
	CONST D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet, SIZE_T *pNumMonitorSourceModes);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORSOURCEMODESET_ACQUIREPREFERREDMODEINFO)(
	CONST D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet,
	CONST D3DKMDT_MONITOR_SOURCE_MODE **ppFirstMonitorSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORSOURCEMODESET_ACQUIREFIRSTMODEINFO)(
	CONST D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet,
	CONST D3DKMDT_MONITOR_SOURCE_MODE **ppFirstMonitorSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORSOURCEMODESET_ACQUIRENEXTMODEINFO)(
	CONST D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet,
	CONST D3DKMDT_MONITOR_SOURCE_MODE *CONST pMonitorSourceModeInfo,
	CONST D3DKMDT_MONITOR_SOURCE_MODE **ppNextMonitorSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORSOURCEMODESET_CREATENEWMODEINFO)(
	CONST D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet,
	D3DKMDT_MONITOR_SOURCE_MODE **ppNewMonitorSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORSOURCEMODESET_ADDMODE)(
	CONST D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet,
	D3DKMDT_MONITOR_SOURCE_MODE *CONST pMonitorSourceModeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORSOURCEMODESET_RELEASEMODEINFO)(
	CONST D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet,
	CONST D3DKMDT_MONITOR_SOURCE_MODE *CONST pMonitorSourceModeInfo);

struct _DXGK_MONITORSOURCEMODESET_INTERFACE {
	DXGKDDI_MONITORSOURCEMODESET_GETNUMMODES pfnGetNumModes;
	DXGKDDI_MONITORSOURCEMODESET_ACQUIREPREFERREDMODEINFO pfnAcquirePreferredModeInfo;
	DXGKDDI_MONITORSOURCEMODESET_ACQUIREFIRSTMODEINFO pfnAcquireFirstModeInfo;
	DXGKDDI_MONITORSOURCEMODESET_ACQUIRENEXTMODEINFO pfnAcquireNextModeInfo;
	DXGKDDI_MONITORSOURCEMODESET_CREATENEWMODEINFO pfnCreateNewModeInfo;
	DXGKDDI_MONITORSOURCEMODESET_ADDMODE pfnAddMode;
	DXGKDDI_MONITORSOURCEMODESET_RELEASEMODEINFO pfnReleaseModeInfo;
};

typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORFREQUENCYRANGESET_GETNUMFREQUENCYRANGES)(
	CONST D3DKMDT_HMONITORFREQUENCYRANGESET hMonitorFrequencyRangeSet,
	SIZE_T *pNumMonitorFrequencyRanges);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORFREQUENCYRANGESET_ACQUIREFIRSTFREQUENCYRANGEINFO)(
	CONST D3DKMDT_HMONITORFREQUENCYRANGESET hMonitorFrequencyRangeSet,
	CONST D3DKMDT_MONITOR_FREQUENCY_RANGE **ppFirstMonitorFrequencyRangeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORFREQUENCYRANGESET_ACQUIRENEXTFREQUENCYRANGEINFO)(
	CONST D3DKMDT_HMONITORFREQUENCYRANGESET hMonitorFrequencyRangeSet,
	CONST D3DKMDT_MONITOR_FREQUENCY_RANGE *CONST pMonitorFrequencyRangeInfo,
	CONST D3DKMDT_MONITOR_FREQUENCY_RANGE **ppNextMonitorFrequencyRangeInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORFREQUENCYRANGESET_RELEASEFREQUENCYRANGEINFO)(
	CONST D3DKMDT_HMONITORFREQUENCYRANGESET hMonitorFrequencyRangeSet,
	CONST D3DKMDT_MONITOR_FREQUENCY_RANGE *CONST pMonitorFrequencyRangeInfo);

struct _DXGK_MONITORFREQUENCYRANGESET_INTERFACE {
	DXGKDDI_MONITORFREQUENCYRANGESET_GETNUMFREQUENCYRANGES pfnGetNumFrequencyRanges;
	DXGKDDI_MONITORFREQUENCYRANGESET_ACQUIREFIRSTFREQUENCYRANGEINFO
	pfnAcquireFirstFrequencyRangeInfo;
	DXGKDDI_MONITORFREQUENCYRANGESET_ACQUIRENEXTFREQUENCYRANGEINFO
	pfnAcquireNextFrequencyRangeInfo;
	DXGKDDI_MONITORFREQUENCYRANGESET_RELEASEFREQUENCYRANGEINFO pfnReleaseFrequencyRangeInfo;
};

typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORDESCRIPTORSET_GETNUMDESCRIPTORS)(
	CONST D3DKMDT_HMONITORDESCRIPTORSET hMonitorDescriptorSet, SIZE_T *pNumMonitorDescriptors);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORDESCRIPTORSET_ACQUIREFIRSTDESCRIPTORINFO)(
	CONST D3DKMDT_HMONITORDESCRIPTORSET hMonitorDescriptorSet,
	CONST D3DKMDT_MONITOR_DESCRIPTOR **ppFirstMonitorDescriptorInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORDESCRIPTORSET_ACQUIRENEXTDESCRIPTORINFO)(
	CONST D3DKMDT_HMONITORDESCRIPTORSET hMonitorDescriptorSet,
	CONST D3DKMDT_MONITOR_DESCRIPTOR *CONST pMonitorDescriptorInfo,
	CONST D3DKMDT_MONITOR_DESCRIPTOR **ppNextMonitorDescriptorInfo);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITORDESCRIPTORSET_RELEASEDESCRIPTORINFO)(
	CONST D3DKMDT_HMONITORDESCRIPTORSET hMonitorDescriptorSet,
	CONST D3DKMDT_MONITOR_DESCRIPTOR *CONST pMonitorDescriptorInfo);

struct _DXGK_MONITORDESCRIPTORSET_INTERFACE {
	DXGKDDI_MONITORDESCRIPTORSET_GETNUMDESCRIPTORS pfnGetNumDescriptors;
	DXGKDDI_MONITORDESCRIPTORSET_ACQUIREFIRSTDESCRIPTORINFO pfnAcquireFirstDescriptorInfo;
	DXGKDDI_MONITORDESCRIPTORSET_ACQUIRENEXTDESCRIPTORINFO pfnAcquireNextDescriptorInfo;
	DXGKDDI_MONITORDESCRIPTORSET_RELEASEDESCRIPTORINFO pfnReleaseDescriptorInfo;
};

typedef NTSTATUS(APIENTRY *DXGKDDI_MONITOR_ACQUIREMONITORSOURCEMODESET)(
	CONST D3DKMDT_ADAPTER hAdapter, CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VideoPresentTargetId,
	D3DKMDT_HMONITORSOURCEMODESET *phMonitorSourceModeSet,
	CONST DXGK_MONITORSOURCEMODESET_INTERFACE **ppMonitorSourceModeSetInterface);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITOR_RELEASEMONITORSOURCEMODESET)(
	CONST D3DKMDT_ADAPTER hAdapter, CONST D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITOR_GETMONITORFREQUENCYRANGESET)(
	CONST D3DKMDT_ADAPTER hAdapter, CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VideoPresentTargetId,
	D3DKMDT_HMONITORFREQUENCYRANGESET *phMonitorFrequencyRangeSet,
	CONST DXGK_MONITORFREQUENCYRANGESET_INTERFACE **ppMonitorFrequencyRangeSetInterface);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITOR_GETMONITORDESCRIPTORSET)(
	CONST D3DKMDT_ADAPTER hAdapter, CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VideoPresentTargetId,
	D3DKMDT_HMONITORDESCRIPTORSET *phMonitorDescriptorSet,
	CONST DXGK_MONITORDESCRIPTORSET_INTERFACE **ppMonitorDescriptorSetInterface);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITOR_GETADDITIONALMONITORMODESET)(
	CONST D3DKMDT_ADAPTER hAdapter, CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VideoPresentTargetId,
	UINT *pNumberModes, DXGK_TARGETMODE_DETAIL_TIMING **ppAdditionalModesSet);
typedef NTSTATUS(APIENTRY *DXGKDDI_MONITOR_RELEASEADDITIONALMONITORMODESET)(
	CONST D3DKMDT_ADAPTER hAdapter, CONST D3DDDI_VIDEO_PRESENT_TARGET_ID VideoPresentTargetId,
	CONST DXGK_TARGETMODE_DETAIL_TIMING *pAdditionalModesSet);

typedef struct _DXGK_MONITOR_INTERFACE {
	DXGK_MONITOR_INTERFACE_VERSION Version;
	DXGKDDI_MONITOR_ACQUIREMONITORSOURCEMODESET pfnAcquireMonitorSourceModeSet;
	DXGKDDI_MONITOR_RELEASEMONITORSOURCEMODESET pfnReleaseMonitorSourceModeSet;
	DXGKDDI_MONITOR_GETMONITORFREQUENCYRANGESET pfnGetMonitorFrequencyRangeSet;
	DXGKDDI_MONITOR_GETMONITORDESCRIPTORSET pfnGetMonitorDescriptorSet;
} DXGK_MONITOR_INTERFACE;

typedef struct _DXGK_MONITOR_INTERFACE_V2 {
	DXGK_MONITOR_INTERFACE_VERSION Version;
	DXGKDDI_MONITOR_ACQUIREMONITORSOURCEMODESET pfnAcquireMonitorSourceModeSet;
	DXGKDDI_MONITOR_RELEASEMONITORSOURCEMODESET pfnReleaseMonitorSourceModeSet;
	DXGKDDI_MONITOR_GETMONITORFREQUENCYRANGESET pfnGetMonitorFrequencyRangeSet;
	DXGKDDI_MONITOR_GETMONITORDESCRIPTORSET pfnGetMonitorDescriptorSet;
	DXGKDDI_MONITOR_GETADDITIONALMONITORMODESET pfnGetAdditionalMonitorModeSet;
	DXGKDDI_MONITOR_RELEASEADDITIONALMONITORMODESET pfnReleaseAdditionalMonitorModeSet;
} DXGK_MONITOR_INTERFACE_V2;

/* ---- VidPN: what the host asks of the driver ---- */

typedef struct _DXGKARG_ISSUPPORTEDVIDPN {
	D3DKMDT_HVIDPN hDesiredVidPn; /* in */
	BOOLEAN IsVidPnSupported;     /* out */
} DXGKARG_ISSUPPORTEDVIDPN;
typedef DXGKARG_ISSUPPORTEDVIDPN *INOUT_PDXGKARG_ISSUPPORTEDVIDPN;

typedef enum _DXGK_RECOMMENDFUNCTIONALVIDPN_REASON {
	DXGK_RFVR_UNINITIALIZED = 0,
	DXGK_RFVR_HOTKEY = 1,
	DXGK_RFVR_USERMODE = 2,
	DXGK_RFVR_FIRMWARE = 3,
} DXGK_RECOMMENDFUNCTIONALVIDPN_REASON;

typedef enum _DXGK_ACTIVE_VIDPN_INVALIDATION_REASON {
	DXGK_AVIR_UNINITIALIZED = DXGK_RFVR_UNINITIALIZED,
	DXGK_AVIR_HOTKEY = DXGK_RFVR_HOTKEY,
	DXGK_AVIR_USERMODE = DXGK_RFVR_USERMODE,
} DXGK_ACTIVE_VIDPN_INVALIDATION_REASON;

typedef struct _DXGKARG_RECOMMENDFUNCTIONALVIDPN { /* in */
	UINT NumberOfVidPnTargets;
	CONST D3DDDI_VIDEO_PRESENT_TARGET_ID *pVidPnTargetPrioritizationVector;
	D3DKMDT_HVIDPN hRecommendedFunctionalVidPn;
	DXGK_RECOMMENDFUNCTIONALVIDPN_REASON RequestReason;
	VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
} DXGKARG_RECOMMENDFUNCTIONALVIDPN;
typedef CONST DXGKARG_RECOMMENDFUNCTIONALVIDPN *CONST
	IN_CONST_PDXGKARG_RECOMMENDFUNCTIONALVIDPN_CONST;

typedef struct _DXGK_ENUM_PIVOT { /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
} DXGK_ENUM_PIVOT;

typedef struct _DXGKARG_ENUMVIDPNCOFUNCMODALITY { /* in */
	D3DKMDT_HVIDPN hConstrainingVidPn;
	D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE EnumPivotType;
	DXGK_ENUM_PIVOT EnumPivot;
} DXGKARG_ENUMVIDPNCOFUNCMODALITY;
typedef CONST DXGKARG_ENUMVIDPNCOFUNCMODALITY *CONST
	IN_CONST_PDXGKARG_ENUMVIDPNCOFUNCMODALITY_CONST;

typedef struct _DXGK_SETVIDPNSOURCEADDRESS_FLAGS {
	union {
		struct {
			UINT ModeChange : 1;
			UINT FlipImmediate : 1;
			UINT FlipOnNextVSync : 1;
			UINT FlipStereo : 1;
			UINT FlipStereoTemporaryMono : 1;
			UINT FlipStereoPreferRight : 1;
			UINT SharedPrimaryTransition : 1;
			UINT IndependentFlipExclusive : 1;
			UINT MoveFlip : 1;
			UINT Reserved : 23;
		};
		UINT Value;
	};
} DXGK_SETVIDPNSOURCEADDRESS_FLAGS;

typedef struct _DXGKARG_SETVIDPNSOURCEADDRESS {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;               /* in */
	UINT PrimarySegment;                                        /* in */
	PHYSICAL_ADDRESS PrimaryAddress;                            /* in */
	HANDLE hAllocation;                                         /* in */
	UINT ContextCount;                                          /* in */
	HANDLE Context[1 + D3DDDI_MAX_BROADCAST_CONTEXT];           /* in */
	DXGK_SETVIDPNSOURCEADDRESS_FLAGS Flags;                     /* in */
	UINT Duration;                                              /* in; WDDM 1.3 */
	DXGK_PRIMARYDATA PrimaryData[D3DDDI_MAX_BROADCAST_CONTEXT]; /* in; WDDM 2.0 */
	UINT DriverPrivateDataSize;                                 /* in */
	PVOID pDriverPrivateData;                                   /* in */
} DXGKARG_SETVIDPNSOURCEADDRESS;
typedef CONST DXGKARG_SETVIDPNSOURCEADDRESS *IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESS;

typedef struct _DXGKARG_SETVIDPNSOURCEVISIBILITY {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	BOOLEAN Visible;                              /* in */
} DXGKARG_SETVIDPNSOURCEVISIBILITY;
typedef CONST DXGKARG_SETVIDPNSOURCEVISIBILITY *IN_CONST_PDXGKARG_SETVIDPNSOURCEVISIBILITY;

typedef struct _DXGKARG_COMMITVIDPN_FLAGS {
	UINT PathPowerTransition : 1;
	UINT PathPoweredOff : 1;
	UINT Reserved : 30;
} DXGKARG_COMMITVIDPN_FLAGS;

typedef struct _DXGKARG_COMMITVIDPN { /* in */
	D3DKMDT_HVIDPN hFunctionalVidPn;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID AffectedVidPnSourceId;
	D3DKMDT_MONITOR_CONNECTIVITY_CHECKS MonitorConnectivityChecks;
	HANDLE hPrimaryAllocation;
	DXGKARG_COMMITVIDPN_FLAGS Flags;
} DXGKARG_COMMITVIDPN;
typedef CONST DXGKARG_COMMITVIDPN *CONST IN_CONST_PDXGKARG_COMMITVIDPN_CONST;

typedef struct _DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH { /* in */
	D3DKMDT_VIDPN_PRESENT_PATH VidPnPresentPathInfo;
} DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH;
typedef CONST DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH *CONST
	IN_CONST_PDXGKARG_UPDATEACTIVEVIDPNPRESENTPATH_CONST;

typedef struct _DXGKARG_RECOMMENDMONITORMODES { /* in */
	D3DDDI_VIDEO_PRESENT_TARGET_ID VideoPresentTargetId;
	D3DKMDT_HMONITORSOURCEMODESET hMonitorSourceModeSet;
	CONST DXGK_MONITORSOURCEMODESET_INTERFACE *pMonitorSourceModeSetInterface;
} DXGKARG_RECOMMENDMONITORMODES;
typedef CONST DXGKARG_RECOMMENDMONITORMODES *CONST IN_CONST_PDXGKARG_RECOMMENDMONITORMODES_CONST;

typedef enum _DXGK_RECOMMENDVIDPNTOPOLOGY_REASON {
	DXGK_RVT_UNINITIALIZED = 0,
	DXGK_RVT_INITIALIZATION_NOLKG = 1,
	DXGK_RVT_AUGMENTATION_NOLKG = 2,
	DXGK_RVT_AUGMENTATION_LKGOVERRIDE = 3,
	DXGK_RVT_INITIALIZATION_LKGOVERRIDE = 4,
} DXGK_RECOMMENDVIDPNTOPOLOGY_REASON;

typedef struct _DXGKARG_RECOMMENDVIDPNTOPOLOGY { /* in */
	D3DKMDT_HVIDPN hVidPn;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	DXGK_RECOMMENDVIDPNTOPOLOGY_REASON RequestReason;
	D3DKMDT_HVIDPNTOPOLOGY hFallbackTopology;
} DXGKARG_RECOMMENDVIDPNTOPOLOGY;
typedef CONST DXGKARG_RECOMMENDVIDPNTOPOLOGY *CONST IN_CONST_PDXGKARG_RECOMMENDVIDPNTOPOLOGY_CONST;

typedef struct _DXGKARG_GETSCANLINE {
	D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId; /* in */
	BOOLEAN InVerticalBlank;                      /* out */
	UINT ScanLine;                                /* out */
} DXGKARG_GETSCANLINE;
typedef DXGKARG_GETSCANLINE *INOUT_PDXGKARG_GETSCANLINE;

typedef struct _DXGKARG_QUERYVIDPNHWCAPABILITY {
	D3DKMDT_HVIDPN hFunctionalVidPn;         /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID SourceId; /* in */
	D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId; /* in */
	D3DKMDT_VIDPN_HW_CAPABILITY VidPnHWCaps; /* out */
} DXGKARG_QUERYVIDPNHWCAPABILITY;
typedef DXGKARG_QUERYVIDPNHWCAPABILITY *INOUT_PDXGKARG_QUERYVIDPNHWCAPABILITY;

typedef struct _DXGKARG_SETDISPLAYPRIVATEDRIVERFORMAT { /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	HANDLE PrimaryAllocation;
	UINT PrivateDriverFormatAttribute;
} DXGKARG_SETDISPLAYPRIVATEDRIVERFORMAT;
typedef CONST DXGKARG_SETDISPLAYPRIVATEDRIVERFORMAT
	*IN_CONST_PDXGKARG_SETDISPLAYPRIVATEDRIVERFORMAT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_ISSUPPORTEDVIDPN(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_ISSUPPORTEDVIDPN pIsSupportedVidPn);
typedef DXGKDDI_ISSUPPORTEDVIDPN *PDXGKDDI_ISSUPPORTEDVIDPN;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RECOMMENDFUNCTIONALVIDPN(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_RECOMMENDFUNCTIONALVIDPN_CONST pRecommendFunctionalVidPn);
typedef DXGKDDI_RECOMMENDFUNCTIONALVIDPN *PDXGKDDI_RECOMMENDFUNCTIONALVIDPN;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_ENUMVIDPNCOFUNCMODALITY(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_ENUMVIDPNCOFUNCMODALITY_CONST pEnumCofuncModality);
typedef DXGKDDI_ENUMVIDPNCOFUNCMODALITY *PDXGKDDI_ENUMVIDPNCOFUNCMODALITY;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_SETVIDPNSOURCEADDRESS(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESS pSetVidPnSourceAddress);
typedef DXGKDDI_SETVIDPNSOURCEADDRESS *PDXGKDDI_SETVIDPNSOURCEADDRESS;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_SETVIDPNSOURCEVISIBILITY(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_SETVIDPNSOURCEVISIBILITY pSetVidPnSourceVisibility);
typedef DXGKDDI_SETVIDPNSOURCEVISIBILITY *PDXGKDDI_SETVIDPNSOURCEVISIBILITY;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_COMMITVIDPN(IN_CONST_HANDLE hAdapter,
					      IN_CONST_PDXGKARG_COMMITVIDPN_CONST pCommitVidPn);
typedef DXGKDDI_COMMITVIDPN *PDXGKDDI_COMMITVIDPN;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_UPDATEACTIVEVIDPNPRESENTPATH(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_UPDATEACTIVEVIDPNPRESENTPATH_CONST pUpdateActiveVidPnPresentPath);
typedef DXGKDDI_UPDATEACTIVEVIDPNPRESENTPATH *PDXGKDDI_UPDATEACTIVEVIDPNPRESENTPATH;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY
DXGKDDI_RECOMMENDMONITORMODES(IN_CONST_HANDLE hAdapter,
			      IN_CONST_PDXGKARG_RECOMMENDMONITORMODES_CONST pRecommendMonitorModes);
typedef DXGKDDI_RECOMMENDMONITORMODES *PDXGKDDI_RECOMMENDMONITORMODES;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_RECOMMENDVIDPNTOPOLOGY(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_RECOMMENDVIDPNTOPOLOGY_CONST pRecommendVidPnTopology);
typedef DXGKDDI_RECOMMENDVIDPNTOPOLOGY *PDXGKDDI_RECOMMENDVIDPNTOPOLOGY;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_GETSCANLINE(IN_CONST_HANDLE hAdapter,
					      INOUT_PDXGKARG_GETSCANLINE pGetScanLine);
typedef DXGKDDI_GETSCANLINE *PDXGKDDI_GETSCANLINE;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_QUERYVIDPNHWCAPABILITY(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_QUERYVIDPNHWCAPABILITY pVidPnHWCaps);
typedef DXGKDDI_QUERYVIDPNHWCAPABILITY *PDXGKDDI_QUERYVIDPNHWCAPABILITY;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETDISPLAYPRIVATEDRIVERFORMAT(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_SETDISPLAYPRIVATEDRIVERFORMAT pSetDisplayPrivateDriverFormat);
typedef DXGKDDI_SETDISPLAYPRIVATEDRIVERFORMAT *PDXGKDDI_SETDISPLAYPRIVATEDRIVERFORMAT;

/* ---- timing, connection and colour of targets (WDDM 2.1 and later) ---- */

typedef enum _DXGK_CONNECTION_STATUS {
	ConnectionStatusUninitialized = 0,
	TargetStatusDisconnected = 4,
	TargetStatusConnected,
	TargetStatusJoined,
	MonitorStatusDisconnected = 8,
	MonitorStatusUnknown,
	MonitorStatusConnected,
	LinkConfigurationStarted = 12,
	LinkConfigurationFailed,
	LinkConfigurationSucceeded,
} DXGK_CONNECTION_STATUS;

typedef struct _DXGK_CONNECTION_MONITOR_CONNECT_FLAGS {
	union {
		struct {
			UINT Usb4DisplayPortMonitor : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_CONNECTION_MONITOR_CONNECT_FLAGS;

typedef struct _DXGK_CONNECTION_CHANGE { /* out */
	ULONGLONG ConnectionChangeId;
	D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId : 24;
	UINT ConnectionStatus : 4; /* DXGK_CONNECTION_STATUS */
	UINT Reserved : 4;
	union {
		struct {
			D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY LinkTargetType;
			DXGK_CONNECTION_MONITOR_CONNECT_FLAGS MonitorConnectFlags;
		} MonitorConnect;
		struct {
			D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY BaseTargetType;
			D3DDDI_VIDEO_PRESENT_TARGET_ID NewTargetId;
		} TargetConnect;
		struct {
			D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY BaseTargetType;
			D3DDDI_VIDEO_PRESENT_TARGET_ID NewTargetId;
		} TargetJoin;
	};
} DXGK_CONNECTION_CHANGE, *PDXGK_CONNECTION_CHANGE;

typedef struct _DXGK_CONNECTION_USB4_INFO { /* out */
	UINT Dpcd_DP_IN_Adapter_Number;
	UINT Dpcd_USB4_Driver_ID;
	BYTE Dpcd_USB4_ROUTER_TOPOLOGY_ID[5];
} DXGK_CONNECTION_USB4_INFO, *PDXGK_CONNECTION_USB4_INFO;

typedef struct _DXGKARG_QUERYCONNECTIONCHANGE { /* out */
	DXGK_CONNECTION_CHANGE ConnectionChange;
	DXGK_CONNECTION_USB4_INFO Usb4MonitorInfo; /* WDDM 3.0 */
} DXGKARG_QUERYCONNECTIONCHANGE;
typedef DXGKARG_QUERYCONNECTIONCHANGE *PDXGKARG_QUERYCONNECTIONCHANGE;
typedef DXGKARG_QUERYCONNECTIONCHANGE *IN_PDXGKARG_QUERYCONNECTIONCHANGE;

typedef enum _DXGK_DISPLAYDETECTCONTROLTYPE {
	DXGK_DDCT_UNINITIALIZED = 0,
	DXGK_DDCT_POLLONE,
	DXGK_DDCT_POLLALL,
	DXGK_DDCT_ENABLEHPD,
	DXGK_DDCT_DISABLEHPD,
} DXGK_DISPLAYDETECTCONTROLTYPE;

typedef struct _DXGKARG_DISPLAYDETECTCONTROL {
	D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId : 24;
	UINT Type : 4; /* DXGK_DISPLAYDETECTCONTROLTYPE */
	UINT NonDestructiveOnly : 1;
	UINT Reserved : 3;
} DXGKARG_DISPLAYDETECTCONTROL;
typedef DXGKARG_DISPLAYDETECTCONTROL *PDXGKARG_DISPLAYDETECTCONTROL;
typedef CONST DXGKARG_DISPLAYDETECTCONTROL *IN_CONST_PDXGKARG_DISPLAYDETECTCONTROL;

typedef enum _DXGK_PATH_UPDATE {
	DXGK_PATH_UPDATE_UNMODIFIED = 0,
	DXGK_PATH_UPDATE_ADDED = 1,
	DXGK_PATH_UPDATE_MODIFIED = 2,
	DXGK_PATH_UPDATE_REMOVED = 3,
} DXGK_PATH_UPDATE;

typedef enum _DXGK_SYNC_LOCK_STYLE {
	DXGK_SYNC_LOCK_STYLE_NONE = 0,
	DXGK_SYNC_LOCK_STYLE_IDENTICAL = 1,
} DXGK_SYNC_LOCK_STYLE;

/* Each of the three is stored in one byte. */
typedef UINT8 DXGK_GLITCH_CAUSE, DXGK_GLITCH_EFFECT, DXGK_GLITCH_DURATION;

enum {
	DXGK_GLITCH_CAUSE_DRIVER_ERROR = 0,
	DXGK_GLITCH_CAUSE_TIMING_CHANGE = 1,
	DXGK_GLITCH_CAUSE_PIPELINE_CHANGE = 2,
	DXGK_GLITCH_CAUSE_MEMORY_TIMING = 3,
	DXGK_GLITCH_CAUSE_ENCODER_RECONFIG = 4,
	DXGK_GLITCH_CAUSE_MODIFIED_WIRE_USAGE = 5,
	DXGK_GLITCH_CAUSE_METADATA_CHANGE = 6,
	DXGK_GLITCH_CAUSE_NONE = 255,

	DXGK_GLITCH_EFFECT_SYNC_LOSS = 0,
	DXGK_GLITCH_EFFECT_GARBAGE_CONTENT = 1,
	DXGK_GLITCH_EFFECT_STALE_CONTENT = 2,
	DXGK_GLITCH_EFFECT_BLACK_CONTENT = 3,
	DXGK_GLITCH_EFFECT_DEGRADED_CONTENT = 4,
	DXGK_GLITCH_EFFECT_SEAMLESS = 255,

	DXGK_GLITCH_DURATION_INDEFINITE = 0,
	DXGK_GLITCH_DURATION_MULTI_FRAME = 1,
	DXGK_GLITCH_DURATION_SINGLE_FRAME = 2,
	DXGK_GLITCH_DURATION_MULTI_LINE = 3,
	DXGK_GLITCH_DURATION_SINGLE_LINE = 4,
	DXGK_GLITCH_DURATION_NONE = 255,
};

typedef struct _DXGK_INHERITED_TIMING_INFO { /* out */
	union {
		D3DDDI_COLOR_SPACE_TYPE OutputColorSpace;
		D3DDDI_OUTPUT_WIRE_COLOR_SPACE_TYPE OutputWireColorSpace; /* WDDM 2.3 */
	};
	D3DKMDT_WIRE_FORMAT_AND_PREFERENCE SelectedWireFormat;
	union {
		struct {
			DXGK_GLITCH_CAUSE GlitchCause;
			DXGK_GLITCH_EFFECT GlitchEffect;
			DXGK_GLITCH_DURATION GlitchDuration;
			UINT8 Reserved;
		};
		UINT DiagnosticInfo;
	};
} DXGK_INHERITED_TIMING_INFO, *PDXGK_INHERITED_TIMING_INFO;

typedef struct _DXGK_SET_TIMING_FLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} DXGK_SET_TIMING_FLAGS;

typedef struct _DXGK_SET_TIMING_RESULTS {
	union {
		struct {
			UINT ConnectionStatusChanges : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_SET_TIMING_RESULTS;

typedef struct _DXGK_SET_TIMING_PATH_INFO {
	D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId; /* in */
	union {
		D3DDDI_COLOR_SPACE_TYPE OutputColorSpace;                 /* in */
		D3DDDI_OUTPUT_WIRE_COLOR_SPACE_TYPE OutputWireColorSpace; /* in; WDDM 2.3 */
	};
	D3DKMDT_WIRE_FORMAT_AND_PREFERENCE SelectedWireFormat; /* in */
	union {
		struct {
			UINT VidPnPathUpdates : 2; /* DXGK_PATH_UPDATE */
			UINT Active : 1;
			UINT IgnoreConnectivity : 1;
			UINT PreserveInherited : 1;
			UINT SyncLockGroup : 3; /* WDDM 2.4 */
			UINT SyncLockStyle : 4; /* DXGK_SYNC_LOCK_STYLE */
			UINT Reserved : 20;
		} Input;         /* in */
		UINT InputFlags; /* in */
	};
	union {
		struct {
			UINT RecheckMPO : 1;
			UINT Reserved : 31;
		} Output;         /* out */
		UINT OutputFlags; /* out */
	};
	DXGK_CONNECTION_CHANGE TargetState; /* out */
	union {
		struct {
			DXGK_GLITCH_CAUSE GlitchCause;       /* out */
			DXGK_GLITCH_EFFECT GlitchEffect;     /* out */
			DXGK_GLITCH_DURATION GlitchDuration; /* out */
			UINT8 Reserved;                      /* out */
		};
		UINT DiagnosticInfo; /* out */
	};
} DXGK_SET_TIMING_PATH_INFO, *PDXGK_SET_TIMING_PATH_INFO;

typedef struct _DXGKARG_SETTIMINGSFROMVIDPN {
	D3DKMDT_HVIDPN hFunctionalVidPn;               /* in */
	DXGK_SET_TIMING_FLAGS SetFlags;                /* in */
	DXGK_SET_TIMING_RESULTS *pResultsFlags;        /* out */
	UINT PathCount;                                /* in */
	DXGK_SET_TIMING_PATH_INFO *pSetTimingPathInfo; /* in/out */
} DXGKARG_SETTIMINGSFROMVIDPN;
typedef DXGKARG_SETTIMINGSFROMVIDPN *PDXGKARG_SETTIMINGSFROMVIDPN;
typedef DXGKARG_SETTIMINGSFROMVIDPN *IN_OUT_PDXGKARG_SETTIMINGSFROMVIDPN;

typedef struct _DXGKARG_SETTARGETGAMMA {
	D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId; /* in */
	D3DKMDT_GAMMA_RAMP GammaRamp;            /* in */
} DXGKARG_SETTARGETGAMMA;
typedef DXGKARG_SETTARGETGAMMA *PDXGKARG_SETTARGETGAMMA;
typedef CONST DXGKARG_SETTARGETGAMMA *IN_CONST_PDXGKARG_SETTARGETGAMMA;

typedef struct _DXGKARG_SETTARGETCONTENTTYPE {
	D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId;        /* in */
	D3DKMDT_VIDPN_PRESENT_PATH_CONTENT ContentType; /* in */
} DXGKARG_SETTARGETCONTENTTYPE;
typedef DXGKARG_SETTARGETCONTENTTYPE *PDXGKARG_SETTARGETCONTENTTYPE;
typedef CONST DXGKARG_SETTARGETCONTENTTYPE *IN_CONST_PDXGKARG_SETTARGETCONTENTTYPE;

typedef struct _DXGKARG_SETTARGETANALOGCOPYPROTECTION { /* in */
	D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId;
	D3DKMDT_VIDPN_PRESENT_PATH_COPYPROTECTION_TYPE CopyProtectionType;
	UINT APSTriggerBits;
	D3DKMDT_VIDPN_PRESENT_PATH_COPYPROTECTION_SUPPORT CopyProtectionSupport;
} DXGKARG_SETTARGETANALOGCOPYPROTECTION;
typedef DXGKARG_SETTARGETANALOGCOPYPROTECTION *PDXGKARG_SETTARGETANALOGCOPYPROTECTION;
typedef CONST DXGKARG_SETTARGETANALOGCOPYPROTECTION
	*IN_CONST_PDXGKARG_SETTARGETANALOGCOPYPROTECTION;

typedef union _DXGK_STANDARD_COLORIMETRY_FLAGS {
	struct {
		UINT BT2020YCC : 1;
		UINT BT2020RGB : 1;
		UINT ST2084 : 1;
		UINT Reserved : 29;
	};
	UINT Value;
} DXGK_STANDARD_COLORIMETRY_FLAGS, *PDXGK_STANDARD_COLORIMETRY_FLAGS;

typedef struct _DXGK_COLORIMETRY {
	D3DKMDT_2DOFFSET RedPoint;
	D3DKMDT_2DOFFSET GreenPoint;
	D3DKMDT_2DOFFSET BluePoint;
	D3DKMDT_2DOFFSET WhitePoint;
	ULONG MinLuminance;
	ULONG MaxLuminance;
	ULONG MaxFullFrameLuminance;
	D3DKMDT_WIRE_FORMAT_AND_PREFERENCE FormatBitDepths;
	DXGK_STANDARD_COLORIMETRY_FLAGS StandardColorimetryFlags;
} DXGK_COLORIMETRY, *PDXGK_COLORIMETRY;

typedef union _DXGK_MODE_BEHAVIOR_FLAGS {
	struct {
		UINT PrioritizeHDR : 1;
		UINT ColorimetricControl : 1;
		UINT Reserved : 30;
	};
	UINT Value;
} DXGK_MODE_BEHAVIOR_FLAGS;

typedef struct _DXGKARG_CONTROLMODEBEHAVIOR {
	DXGK_MODE_BEHAVIOR_FLAGS Request;      /* in */
	DXGK_MODE_BEHAVIOR_FLAGS Satisfied;    /* out */
	DXGK_MODE_BEHAVIOR_FLAGS NotSatisfied; /* out */
} DXGKARG_CONTROLMODEBEHAVIOR;
typedef DXGKARG_CONTROLMODEBEHAVIOR *PDXGKARG_CONTROLMODEBEHAVIOR;
typedef DXGKARG_CONTROLMODEBEHAVIOR *INOUT_PDXGKARG_CONTROLMODEBEHAVIOR;

typedef union _DXGK_MONITORLINKINFO_USAGEHINTS {
	struct {
		UINT Hidden : 1;
		UINT Reserved : 31;
	};
	UINT Value;
} DXGK_MONITORLINKINFO_USAGEHINTS, *PDXGK_MONITORLINKINFO_USAGEHINTS;

typedef union _DXGK_MONITORLINKINFO_CAPABILITIES {
	struct {
		UINT Stereo : 1;
		UINT WideColorSpace : 1;
		UINT HighColorSpace : 1;
		UINT DynamicColorSpace : 1; /* WDDM 2.2 */
		UINT DynamicBitsPerColorChannel : 1;
		UINT DynamicColorEncodingFormat : 1;
		UINT DedicatedTimingGeneration : 1;
		UINT TargetIndependentPrimary : 1; /* WDDM 2.4 */
		UINT SyncLockIdentical : 1;
		UINT Hdr10Plus : 1;
		UINT DolbyVisionLowLatency : 1; /* WDDM 2.5 */
		UINT VariableRefresh : 1;       /* WDDM 2.6 */
		UINT Reserved : 20;
	};
	UINT Value;
} DXGK_MONITORLINKINFO_CAPABILITIES, *PDXGK_MONITORLINKINFO_CAPABILITIES;

typedef struct _DXGK_MONITORLINKINFO {
	DXGK_MONITORLINKINFO_USAGEHINTS UsageHints;          /* in */
	DXGK_MONITORLINKINFO_CAPABILITIES Capabilities;      /* out */
	D3DKMDT_WIRE_FORMAT_AND_PREFERENCE DitheringSupport; /* out; WDDM 2.4 */
} DXGK_MONITORLINKINFO, *PDXGK_MONITORLINKINFO;

typedef struct _DXGKARG_UPDATEMONITORLINKINFO {
	D3DDDI_VIDEO_PRESENT_TARGET_ID VideoPresentTargetId; /* in */
	DXGK_MONITORLINKINFO MonitorLinkInfo;                /* in/out */
} DXGKARG_UPDATEMONITORLINKINFO;
typedef DXGKARG_UPDATEMONITORLINKINFO *PDXGKARG_UPDATEMONITORLINKINFO;
typedef DXGKARG_UPDATEMONITORLINKINFO *INOUT_PDXGKARG_UPDATEMONITORLINKINFO;

typedef struct _DXGKARG_CREATEPERIODICFRAMENOTIFICATION {
	HANDLE hAdapter;                              /* in */
	D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId; /* in */
	UINT64 Time;                                  /* in */
	UINT NotificationID;                          /* in */
	HANDLE hNotification;                         /* out */
} DXGKARG_CREATEPERIODICFRAMENOTIFICATION;
typedef DXGKARG_CREATEPERIODICFRAMENOTIFICATION *PDXGKARG_CREATEPERIODICFRAMENOTIFICATION;
typedef DXGKARG_CREATEPERIODICFRAMENOTIFICATION *INOUT_PDXGKARG_CREATEPERIODICFRAMENOTIFICATION;

typedef struct _DXGKARG_DESTROYPERIODICFRAMENOTIFICATION { /* in */
	HANDLE hNotification;
	HANDLE hAdapter;
} DXGKARG_DESTROYPERIODICFRAMENOTIFICATION;
typedef DXGKARG_DESTROYPERIODICFRAMENOTIFICATION *PDXGKARG_DESTROYPERIODICFRAMENOTIFICATION;
typedef CONST DXGKARG_DESTROYPERIODICFRAMENOTIFICATION
	*IN_CONST_PDXGKARG_DESTROYPERIODICFRAMENOTIFICATION;

typedef struct _DXGKARG_CREATEPROTECTEDSESSION { /* in */
	HANDLE hProtectedSession;
	PVOID pPrivateDriverData;
	UINT PrivateDriverDataSize;
} DXGKARG_CREATEPROTECTEDSESSION;
typedef DXGKARG_CREATEPROTECTEDSESSION *PDXGKARG_CREATEPROTECTEDSESSION;
typedef DXGKARG_CREATEPROTECTEDSESSION *INOUT_PDXGKARG_CREATEPROTECTEDSESSION;

typedef struct _DXGK_QAITARGETIN { /* in */
	D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId;
} DXGK_QAITARGETIN;

typedef enum _DXGK_DISPLAYPANELORIENTATION {
	DXGK_DPO_0 = 0,
	DXGK_DPO_90 = 1,
	DXGK_DPO_180 = 2,
	DXGK_DPO_270 = 3,
} DXGK_DISPLAYPANELORIENTATION;

typedef union _DXGK_INTEGRATEDDISPLAYFLAGS {
	struct {
		UINT UndockedOrientation : 2; /* DXGK_DISPLAYPANELORIENTATION */
		UINT DockedOrientation : 2;
		UINT Reserved : 28;
	};
	UINT Value;
} DXGK_INTEGRATEDDISPLAYFLAGS;

typedef enum _DXGK_DISPLAY_TECHNOLOGY {
	DXGK_DT_INVALID = 0,
	DXGK_DT_OTHER = 1,
	DXGK_DT_LCD = 2,
	DXGK_DT_OLED = 3,
	DXGK_DT_PROJECTOR = 4,
	DXGK_DT_MAX = 5,
} DXGK_DISPLAY_TECHNOLOGY;

typedef enum _DXGK_DISPLAY_USAGE {
	DXGK_DU_INVALID = 0,
	DXGK_DU_GENERIC = 1,
	DXGK_DU_AR = 2,
	DXGK_DU_VR = 3,
	DXGK_DU_MEDICAL_IMAGING = 4,
	DXGK_DU_ACCESSORY = 5,
	DXGK_DU_MAX = 6,
} DXGK_DISPLAY_USAGE;

typedef enum _DXGK_DISPLAY_DESCRIPTOR_TYPE {
	DXGK_DDT_INVALID = 0,
	DXGK_DDT_EDID = 1,
	DXGK_DDT_DISPLAYID = 2,
} DXGK_DISPLAY_DESCRIPTOR_TYPE;

typedef struct _DXGK_QUERYINTEGRATEDDISPLAYOUT { /* out */
	DXGK_INTEGRATEDDISPLAYFLAGS Flags;
	D3DKMDT_VIDEO_SIGNAL_INFO NativeTiming;
	DXGK_MONITORLINKINFO_CAPABILITIES LinkCapabilities;
	DXGK_COLORIMETRY Colorimetry;
	DXGK_DISPLAY_TECHNOLOGY DisplayTechnology;
	DXGK_DISPLAY_USAGE IntendedUsage;
	BYTE Instance;
	DXGK_DISPLAY_DESCRIPTOR_TYPE DescriptorType;
	BYTE Descriptor[1];
} DXGK_QUERYINTEGRATEDDISPLAYOUT, *PDXGK_QUERYINTEGRATEDDISPLAYOUT;

typedef struct _DXGK_QUERYINTEGRATEDDISPLAYOUT2 { /* out */
	DXGK_INTEGRATEDDISPLAYFLAGS Flags;
	D3DKMDT_VIDEO_SIGNAL_INFO NativeTiming;
	DXGK_MONITORLINKINFO_CAPABILITIES LinkCapabilities;
	DXGK_COLORIMETRY Colorimetry;
	DXGK_DISPLAY_TECHNOLOGY DisplayTechnology;
	DXGK_DISPLAY_USAGE IntendedUsage;
	BYTE Instance;
	DXGK_DISPLAY_DESCRIPTOR_TYPE DescriptorType;
	D3DKMDT_WIRE_FORMAT_AND_PREFERENCE DitheringSupport;
} DXGK_QUERYINTEGRATEDDISPLAYOUT2, *PDXGK_QUERYINTEGRATEDDISPLAYOUT2;

typedef enum _DXGK_GAMMA_DATA_TYPE {
	DXGK_GAMMA_DATA_TYPE_FIXED_POINT = 0,
	DXGK_GAMMA_DATA_TYPE_FLOAT = 1,
} DXGK_GAMMA_DATA_TYPE;

typedef struct _DKGK_GAMMA_DATA_CAP { /* out */
	DXGK_GAMMA_DATA_TYPE DataType;
	union {
		struct {
			UINT BitCountOfInteger : 6;
			UINT BitCountOfFraction : 6;
		};
		struct {
			UINT BitCountOfExponent : 6;
			UINT BitCountOfMantissa : 6;
		};
		UINT Value;
	};
	float NumericRangeMin;
	float NumericRangeMax;
} DKGK_GAMMA_DATA_CAP; /* the reference spells it so */

typedef struct _DXGK_GAMMA_1DLUT_CAP { /* out */
	UINT NumberOfLUTEntries;
	DKGK_GAMMA_DATA_CAP GammaDataCap;
} DXGK_GAMMA_1DLUT_CAP, *PDXGK_GAMMA_1DLUT_CAP;

typedef struct _DXGK_GAMMA_MATRIX_CAP { /* out */
	union {
		struct {
			UINT MatrixSizeX : 10;
			UINT MatrixSizeY : 10;
		};
		UINT Value;
	};
	DKGK_GAMMA_DATA_CAP GammaDataCap;
} DXGK_GAMMA_MATRIX_CAP, *PDXGK_GAMMA_MATRIX_CAP;

typedef enum _DXGK_TARGET_GAMMA_CAPS_VERSION {
	DXGK_TARGET_GAMMA_CAPS_VERSION_DEFALUT = 0,
	DXGK_TARGET_GAMMA_CAPS_VERSION_1 = 1,
} DXGK_TARGET_GAMMA_CAPS_VERSION;

typedef struct _DXGK_TARGET_GAMMA_CAPS { /* out */
	DXGK_TARGET_GAMMA_CAPS_VERSION Version;
	DXGK_GAMMA_1DLUT_CAP LookupTable1DDegammaCap;
	DXGK_GAMMA_MATRIX_CAP ColorMatrix3x3Cap;
	DXGK_GAMMA_1DLUT_CAP LookupTable1DRegammaCap;
} DXGK_TARGET_GAMMA_CAPS, *PDXGK_TARGET_GAMMA_CAPS;

typedef struct _DXGK_QUERYDISPLAYIDIN { /* in */
	D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId;
} DXGK_QUERYDISPLAYIDIN;

typedef struct _DXGK_QUERYDISPLAYIDOUT {
	UINT Length;       /* in/out */
	BYTE *pDescriptor; /* out */
} DXGK_QUERYDISPLAYIDOUT;

/* PASSIVE_LEVEL, level 1, the class of child devices */
typedef NTSTATUS APIENTRY DXGKDDI_QUERYCONNECTIONCHANGE(
	IN_CONST_HANDLE hAdapter, PDXGKARG_QUERYCONNECTIONCHANGE pQueryConnectionChange);
typedef DXGKDDI_QUERYCONNECTIONCHANGE *PDXGKDDI_QUERYCONNECTIONCHANGE;

/* PASSIVE_LEVEL, level 1, the class of child devices */
typedef NTSTATUS APIENTRY DXGKDDI_DISPLAYDETECTCONTROL(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_DISPLAYDETECTCONTROL pDisplayDetectControl);
typedef DXGKDDI_DISPLAYDETECTCONTROL *PDXGKDDI_DISPLAYDETECTCONTROL;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_SETTIMINGSFROMVIDPN(IN_CONST_HANDLE hAdapter,
						      PDXGKARG_SETTIMINGSFROMVIDPN pSetTimings);
typedef DXGKDDI_SETTIMINGSFROMVIDPN *PDXGKDDI_SETTIMINGSFROMVIDPN;

/* PASSIVE_LEVEL, level 1, the class of the display */
typedef NTSTATUS APIENTRY DXGKDDI_SETTARGETGAMMA(IN_CONST_HANDLE hAdapter,
						 IN_CONST_PDXGKARG_SETTARGETGAMMA pSetTargetGamma);
typedef DXGKDDI_SETTARGETGAMMA *PDXGKDDI_SETTARGETGAMMA;

/* PASSIVE_LEVEL, level 1, the class of the display */
typedef NTSTATUS APIENTRY DXGKDDI_SETTARGETCONTENTTYPE(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETTARGETCONTENTTYPE pSetTargetContentType);
typedef DXGKDDI_SETTARGETCONTENTTYPE *PDXGKDDI_SETTARGETCONTENTTYPE;

/* PASSIVE_LEVEL, level 1, the class of the display */
typedef NTSTATUS APIENTRY DXGKDDI_SETTARGETANALOGCOPYPROTECTION(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_SETTARGETANALOGCOPYPROTECTION pSetTargetAnalogCopyProtection);
typedef DXGKDDI_SETTARGETANALOGCOPYPROTECTION *PDXGKDDI_SETTARGETANALOGCOPYPROTECTION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CONTROLMODEBEHAVIOR(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CONTROLMODEBEHAVIOR pControlModeBehavior);
typedef DXGKDDI_CONTROLMODEBEHAVIOR *PDXGKDDI_CONTROLMODEBEHAVIOR;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_UPDATEMONITORLINKINFO(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_UPDATEMONITORLINKINFO pUpdateMonitorLinkInfo);
typedef DXGKDDI_UPDATEMONITORLINKINFO *PDXGKDDI_UPDATEMONITORLINKINFO;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEPERIODICFRAMENOTIFICATION(
	INOUT_PDXGKARG_CREATEPERIODICFRAMENOTIFICATION pCreatePeriodicFrameNotification);
typedef DXGKDDI_CREATEPERIODICFRAMENOTIFICATION *PDXGKDDI_CREATEPERIODICFRAMENOTIFICATION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYPERIODICFRAMENOTIFICATION(
	IN_CONST_PDXGKARG_DESTROYPERIODICFRAMENOTIFICATION pDestroyPeriodicFrameNotification);
typedef DXGKDDI_DESTROYPERIODICFRAMENOTIFICATION *PDXGKDDI_DESTROYPERIODICFRAMENOTIFICATION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CREATEPROTECTEDSESSION(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEPROTECTEDSESSION pCreateProtectedSession);
typedef DXGKDDI_CREATEPROTECTEDSESSION *PDXGKDDI_CREATEPROTECTEDSESSION;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_DESTROYPROTECTEDSESSION(IN_CONST_HANDLE hAdapter,
							  IN_CONST_HANDLE hProtectedSession);
typedef DXGKDDI_DESTROYPROTECTEDSESSION *PDXGKDDI_DESTROYPROTECTEDSESSION;

/* ---- multi-plane overlays ---- */

typedef struct _DXGK_MULTIPLANE_OVERLAY_FLAGS {
	union {
		struct {
			UINT VerticalFlip : 1;
			UINT HorizontalFlip : 1;
			UINT PanelFitterPostComposition : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	};
} DXGK_MULTIPLANE_OVERLAY_FLAGS;

typedef struct _DXGK_MULTIPLANE_OVERLAY_BLEND {
	union {
		struct {
			UINT AlphaBlend : 1;
			UINT ColorKey : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_MULTIPLANE_OVERLAY_BLEND;

typedef struct _DXGK_MULTIPLANE_OVERLAY_YCbCr_FLAGS {
	union {
		struct {
			UINT NominalRange : 1;
			UINT Bt709 : 1;
			UINT xvYCC : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	};
} DXGK_MULTIPLANE_OVERLAY_YCbCr_FLAGS;

typedef enum _DXGK_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT {
	DXGK_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT_PROGRESSIVE = 0,
	DXGK_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT_INTERLACED_TOP_FIELD_FIRST = 1,
	DXGK_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT_INTERLACED_BOTTOM_FIELD_FIRST = 2,
} DXGK_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT;

typedef enum _DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT {
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT_MONO = 0,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT_HORIZONTAL = 1,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT_VERTICAL = 2,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT_SEPARATE = 3,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT_MONO_OFFSET = 4,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT_ROW_INTERLEAVED = 5,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT_COLUMN_INTERLEAVED = 6,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT_CHECKERBOARD = 7,
} DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT;

typedef enum _DXGK_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE {
	DXGK_MULTIPLANE_OVERLAY_STEREO_FLIP_NONE = 0,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FLIP_FRAME0 = 1,
	DXGK_MULTIPLANE_OVERLAY_STEREO_FLIP_FRAME1 = 2,
} DXGK_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE;

typedef enum _DXGK_MULTIPLANE_OVERLAY_STRETCH_QUALITY {
	DXGK_MULTIPLANE_OVERLAY_STRETCH_QUALITY_BILINEAR = 1,
	DXGK_MULTIPLANE_OVERLAY_STRETCH_QUALITY_HIGH = 2,
} DXGK_MULTIPLANE_OVERLAY_STRETCH_QUALITY;

typedef struct _DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES {
	DXGK_MULTIPLANE_OVERLAY_FLAGS Flags;
	RECT SrcRect;
	RECT DstRect;
	RECT ClipRect; /* WDDM 1.3 */
	D3DDDI_ROTATION Rotation;
	DXGK_MULTIPLANE_OVERLAY_BLEND Blend;
	DXGK_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT VideoFrameFormat;
	DXGK_MULTIPLANE_OVERLAY_YCbCr_FLAGS YCbCrFlags;
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT StereoFormat;
	BOOL StereoLeftViewFrame0;
	BOOL StereoBaseViewFrame0;
	DXGK_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE StereoFlipMode;
	DXGK_MULTIPLANE_OVERLAY_STRETCH_QUALITY StretchQuality; /* WDDM 1.3 */
} DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES;

typedef struct _DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES2 {
	DXGK_MULTIPLANE_OVERLAY_FLAGS Flags;
	RECT SrcRect;
	RECT DstRect;
	RECT ClipRect;
	D3DDDI_ROTATION Rotation;
	DXGK_MULTIPLANE_OVERLAY_BLEND Blend;
	DXGK_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT VideoFrameFormat;
	D3DDDI_COLOR_SPACE_TYPE ColorSpaceType;
	DXGK_MULTIPLANE_OVERLAY_STEREO_FORMAT StereoFormat;
	BOOL StereoLeftViewFrame0;
	BOOL StereoBaseViewFrame0;
	DXGK_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE StereoFlipMode;
	DXGK_MULTIPLANE_OVERLAY_STRETCH_QUALITY StretchQuality;
	UINT Reserved1; /* the colour key of an early WDDM 2.0 */
} DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES2;

typedef struct _DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES3 {
	DXGK_MULTIPLANE_OVERLAY_FLAGS Flags;
	RECT SrcRect;
	RECT DstRect;
	RECT ClipRect;
	D3DDDI_ROTATION Rotation;
	DXGK_MULTIPLANE_OVERLAY_BLEND Blend;
	D3DDDI_COLOR_SPACE_TYPE ColorSpaceType;
	DXGK_MULTIPLANE_OVERLAY_STRETCH_QUALITY StretchQuality;
	UINT SDRWhiteLevel; /* WDDM 2.5 */
	UINT DirtyRectCnt;  /* WDDM 2.6 */
	RECT *pDirtyRects;
} DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES3;

typedef struct _DXGK_CHECK_MULTIPLANE_OVERLAY_SUPPORT_PLANE { /* in */
	HANDLE hAllocation;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES PlaneAttributes;
} DXGK_CHECK_MULTIPLANE_OVERLAY_SUPPORT_PLANE;

typedef struct _DXGK_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO {
	union {
		struct {
			UINT FailingPlane : 4;
			UINT TryAgain : 1;
			UINT Reserved : 27;
		};
		UINT Value;
	};
} DXGK_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO;

typedef struct _DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT {
	UINT PlaneCount;                                              /* in */
	DXGK_CHECK_MULTIPLANE_OVERLAY_SUPPORT_PLANE *pPlanes;         /* in */
	BOOL Supported;                                               /* out */
	DXGK_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO ReturnInfo; /* out */
} DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT *PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT *INOUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT *IN_OUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT;

typedef struct _DXGK_MULTIPLANE_OVERLAY_PLANE_WITH_SOURCE { /* in */
	HANDLE hAllocation;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT LayerIndex;
	DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES2 PlaneAttributes;
} DXGK_MULTIPLANE_OVERLAY_PLANE_WITH_SOURCE;

typedef struct _DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2 {
	UINT PlaneCount;                                              /* in */
	DXGK_MULTIPLANE_OVERLAY_PLANE_WITH_SOURCE *pPlanes;           /* in */
	BOOL Supported;                                               /* out */
	DXGK_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO ReturnInfo; /* out */
} DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2 *PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2 *INOUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2 *IN_OUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2;

typedef struct _DXGK_MULTIPLANE_OVERLAY_PLANE_WITH_SOURCE2 { /* in */
	HANDLE hAllocation;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT LayerIndex;
	DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES3 PlaneAttributes;
} DXGK_MULTIPLANE_OVERLAY_PLANE_WITH_SOURCE2;

typedef struct _DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION_FLAGS {
	union {
		struct {
			UINT VerticalFlip : 1;
			UINT HorizontalFlip : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION_FLAGS;

typedef struct _DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION { /* in */
	DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION_FLAGS Flags;
	RECT SrcRect;
	RECT DstRect;
	D3DDDI_ROTATION Rotation;
} DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION;

typedef struct _DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION_WITH_SOURCE { /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION PostComposition;
} DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION_WITH_SOURCE;

typedef struct _DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3 {
	UINT PlaneCount;                                                          /* in */
	DXGK_MULTIPLANE_OVERLAY_PLANE_WITH_SOURCE2 **ppPlanes;                    /* in */
	UINT PostCompositionCount;                                                /* in */
	DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION_WITH_SOURCE **ppPostComposition; /* in */
	BOOL Supported;                                                           /* out */
	DXGK_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO ReturnInfo;             /* out */
} DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3 *PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3 *INOUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3;
typedef DXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3 *IN_OUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3;

typedef struct _DXGK_MULTIPLANE_OVERLAY_PLANE { /* in */
	UINT LayerIndex;
	BOOL Enabled;
	UINT AllocationSegment;
	PHYSICAL_ADDRESS AllocationAddress;
	HANDLE hAllocation;
	DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES PlaneAttributes;
} DXGK_MULTIPLANE_OVERLAY_PLANE;

typedef struct _DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY { /* in */
	UINT ContextCount;
	HANDLE Context[1 + D3DDDI_MAX_BROADCAST_CONTEXT];
	DXGK_SETVIDPNSOURCEADDRESS_FLAGS Flags;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT PlaneCount;
	DXGK_MULTIPLANE_OVERLAY_PLANE *pPlanes;
	UINT Duration; /* WDDM 1.3 */
} DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY;
typedef CONST DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY
	*IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY;

typedef struct _DXGK_MULTIPLANE_OVERLAY_PLANE2 { /* in */
	UINT LayerIndex;
	BOOL Enabled;
	UINT AllocationSegment;
	PHYSICAL_ADDRESS AllocationAddress;
	HANDLE hAllocation;
	DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES2 PlaneAttributes;
} DXGK_MULTIPLANE_OVERLAY_PLANE2;

typedef struct _DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY2 { /* in */
	UINT ContextCount;
	HANDLE Context[1 + D3DDDI_MAX_BROADCAST_CONTEXT];
	DXGK_SETVIDPNSOURCEADDRESS_FLAGS Flags;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT PlaneCount;
	DXGK_MULTIPLANE_OVERLAY_PLANE2 *pPlanes;
	UINT Duration;
} DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY2;
typedef CONST DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY2
	*IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY2;

typedef struct _DXGK_PLANE_SPECIFIC_INPUT_FLAGS {
	union {
		struct {
			UINT Enabled : 1;
			UINT FlipImmediate : 1;
			UINT FlipOnNextVSync : 1;
			UINT SharedPrimaryTransition : 1;
			UINT IndependentFlipExclusive : 1;
			UINT FlipImmediateNoTearing : 1;
			UINT Reserved : 26;
		};
		UINT Value;
	};
} DXGK_PLANE_SPECIFIC_INPUT_FLAGS;

typedef struct _DXGK_PLANE_SPECIFIC_OUTPUT_FLAGS {
	union {
		struct {
			UINT FlipConvertedToImmediate : 1;
			UINT PostPresentNeeded : 1;
			UINT HsyncInterruptCompletion : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	};
} DXGK_PLANE_SPECIFIC_OUTPUT_FLAGS;

typedef struct _DXGK_SETVIDPNSOURCEADDRESS_INPUT_FLAGS {
	union {
		struct {
			UINT FlipStereo : 1;
			UINT FlipStereoTemporaryMono : 1;
			UINT FlipStereoPreferRight : 1;
			UINT RetryAtLowerIrql : 1;
			UINT Reserved : 28;
		};
		UINT Value;
	};
} DXGK_SETVIDPNSOURCEADDRESS_INPUT_FLAGS;

typedef struct _DXGK_SETVIDPNSOURCEADDRESS_OUTPUT_FLAGS {
	union {
		struct {
			UINT PrePresentNeeded : 1;
			UINT HwFlipQueueDrainNeeded : 1;
			UINT HwFlipQueueDrainAllPlanes : 1;
			UINT HwFlipQueueDrainAllSources : 1;
			UINT Reserved : 28;
		};
		UINT Value;
	};
} DXGK_SETVIDPNSOURCEADDRESS_OUTPUT_FLAGS;

typedef struct _DXGK_MULTIPLANE_OVERLAY_PLANE3 {
	UINT LayerIndex;                                     /* in */
	ULONGLONG PresentId;                                 /* in */
	DXGK_PLANE_SPECIFIC_INPUT_FLAGS InputFlags;          /* in */
	DXGK_PLANE_SPECIFIC_OUTPUT_FLAGS OutputFlags;        /* out */
	UINT MaxImmediateFlipLine;                           /* in */
	UINT ContextCount;                                   /* in */
	DXGK_PRIMARYCONTEXTDATA **ppContextData;             /* in */
	UINT DriverPrivateDataSize;                          /* in */
	PVOID pDriverPrivateData;                            /* in */
	DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES3 PlaneAttributes; /* in */
} DXGK_MULTIPLANE_OVERLAY_PLANE3;

typedef struct _DXGK_HDR_METADATA { /* in */
	D3DDDI_HDR_METADATA_TYPE Type;
	UINT Size;
	VOID *pMetaData;
} DXGK_HDR_METADATA;

typedef struct _DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3 {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;               /* in */
	DXGK_SETVIDPNSOURCEADDRESS_INPUT_FLAGS InputFlags;          /* in */
	DXGK_SETVIDPNSOURCEADDRESS_OUTPUT_FLAGS OutputFlags;        /* out */
	UINT PlaneCount;                                            /* in */
	DXGK_MULTIPLANE_OVERLAY_PLANE3 **ppPlanes;                  /* in/out */
	DXGK_MULTIPLANE_OVERLAY_POST_COMPOSITION *pPostComposition; /* in */
	UINT Duration;                                              /* in */
	DXGK_HDR_METADATA *pHDRMetaData;                            /* in */
	ULONGLONG TargetFlipTime;                                   /* in; WDDM 2.9 */
} DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3;
typedef DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3
	*PDXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3;
typedef DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3
	*IN_OUT_PDXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3;
typedef CONST DXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3
	*IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3;

typedef struct _DXGKARG_POSTMULTIPLANEOVERLAYPRESENT {
	D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId; /* in */
	UINT PhysicalAdapterMask;                     /* in */
	DWORD LayerIndex;                             /* in */
	ULONGLONG PresentID;                          /* in */
} DXGKARG_POSTMULTIPLANEOVERLAYPRESENT;
typedef DXGKARG_POSTMULTIPLANEOVERLAYPRESENT *PDXGKARG_POSTMULTIPLANEOVERLAYPRESENT;
typedef CONST DXGKARG_POSTMULTIPLANEOVERLAYPRESENT *IN_CONST_PDXGKARG_POSTMULTIPLANEOVERLAYPRESENT;

typedef struct _DXGK_MULTIPLANEOVERLAYCAPS {
	union {
		struct {
			UINT Rotation : 1;
			UINT RotationWithoutIndependentFlip : 1;
			UINT VerticalFlip : 1;
			UINT HorizontalFlip : 1;
			UINT StretchRGB : 1;
			UINT StretchYUV : 1;
			UINT BilinearFilter : 1;
			UINT HighFilter : 1;
			UINT Shared : 1;
			UINT Immediate : 1;
			UINT Plane0ForVirtualModeOnly : 1;
			UINT Reserved : 21;
		};
		UINT Value;
	};
} DXGK_MULTIPLANEOVERLAYCAPS;

typedef struct _DXGKARG_GETMULTIPLANEOVERLAYCAPS {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	UINT MaxPlanes;                               /* out */
	UINT MaxRGBPlanes;                            /* out */
	UINT MaxYUVPlanes;                            /* out */
	DXGK_MULTIPLANEOVERLAYCAPS OverlayCaps;       /* out */
	float MaxStretchFactor;                       /* out */
	float MaxShrinkFactor;                        /* out */
} DXGKARG_GETMULTIPLANEOVERLAYCAPS;
typedef DXGKARG_GETMULTIPLANEOVERLAYCAPS *PDXGKARG_GETMULTIPLANEOVERLAYCAPS;
typedef DXGKARG_GETMULTIPLANEOVERLAYCAPS *INOUT_PDXGKARG_GETMULTIPLANEOVERLAYCAPS;
typedef DXGKARG_GETMULTIPLANEOVERLAYCAPS *IN_OUT_PDXGKARG_GETMULTIPLANEOVERLAYCAPS;

typedef struct _DXGKARG_GETPOSTCOMPOSITIONCAPS {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	float MaxStretchFactor;                       /* out */
	float MaxShrinkFactor;                        /* out */
} DXGKARG_GETPOSTCOMPOSITIONCAPS;
typedef DXGKARG_GETPOSTCOMPOSITIONCAPS *PDXGKARG_GETPOSTCOMPOSITIONCAPS;
typedef DXGKARG_GETPOSTCOMPOSITIONCAPS *INOUT_PDXGKARG_GETPOSTCOMPOSITIONCAPS;
typedef DXGKARG_GETPOSTCOMPOSITIONCAPS *IN_OUT_PDXGKARG_GETPOSTCOMPOSITIONCAPS;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT(
	IN_CONST_HANDLE hAdapter,
	INOUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT pCheckMultiPlaneOverlaySupport);
typedef DXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT *PDXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT2(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT2 pData);
typedef DXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT2 *PDXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT2;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT3(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CHECKMULTIPLANEOVERLAYSUPPORT3 pCheckSupport);
typedef DXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT3 *PDXGKDDI_CHECKMULTIPLANEOVERLAYSUPPORT3;

/* interrupt level, at any moment */
typedef NTSTATUS APIENTRY DXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY pSetVidPnSourceAddress);
typedef DXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY
	*PDXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY;

/* interrupt level, at any moment */
typedef NTSTATUS APIENTRY DXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY2(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY2 pData);
typedef DXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY2
	*PDXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY2;

/* interrupt level, at any moment */
typedef NTSTATUS APIENTRY DXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3(
	IN_CONST_HANDLE hAdapter,
	PDXGKARG_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3 pSetVidPnSourceAddress);
typedef DXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3
	*PDXGKDDI_SETVIDPNSOURCEADDRESSWITHMULTIPLANEOVERLAY3;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_POSTMULTIPLANEOVERLAYPRESENT(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_POSTMULTIPLANEOVERLAYPRESENT pPostPresent);
typedef DXGKDDI_POSTMULTIPLANEOVERLAYPRESENT *PDXGKDDI_POSTMULTIPLANEOVERLAYPRESENT;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY
DXGKDDI_GETMULTIPLANEOVERLAYCAPS(IN_CONST_HANDLE hAdapter,
				 INOUT_PDXGKARG_GETMULTIPLANEOVERLAYCAPS pGetMultiPlaneOverlayCaps);
typedef DXGKDDI_GETMULTIPLANEOVERLAYCAPS *PDXGKDDI_GETMULTIPLANEOVERLAYCAPS;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_GETPOSTCOMPOSITIONCAPS(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_GETPOSTCOMPOSITIONCAPS pGetPostCompositionCaps);
typedef DXGKDDI_GETPOSTCOMPOSITIONCAPS *PDXGKDDI_GETPOSTCOMPOSITIONCAPS;

/* Flip queues in hardware (WDDM 2.9). */

typedef struct _DXGK_FLIPQUEUE_LOG_ENTRY {
	ULONGLONG PresentId;
	ULONGLONG PresentTimestamp;
} DXGK_FLIPQUEUE_LOG_ENTRY;

typedef struct _DXGKARG_SETFLIPQUEUELOGBUFFER {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	UINT LayerIndex;                              /* in */
	UINT NumberOfEntries;                         /* in */
	DXGK_FLIPQUEUE_LOG_ENTRY *LogBufferAddress;   /* in */
} DXGKARG_SETFLIPQUEUELOGBUFFER;
typedef DXGKARG_SETFLIPQUEUELOGBUFFER *PDXGKARG_SETFLIPQUEUELOGBUFFER;
typedef CONST DXGKARG_SETFLIPQUEUELOGBUFFER *IN_CONST_PDXGKARG_SETFLIPQUEUELOGBUFFER;

typedef struct _DXGKARG_UPDATEFLIPQUEUELOG {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	UINT LayerIndex;                              /* in */
	UINT FirstFreeFlipQueueLogEntryIndex;         /* out */
} DXGKARG_UPDATEFLIPQUEUELOG;
typedef DXGKARG_UPDATEFLIPQUEUELOG *PDXGKARG_UPDATEFLIPQUEUELOG;
typedef DXGKARG_UPDATEFLIPQUEUELOG *INOUT_PDXGKARG_UPDATEFLIPQUEUELOG;

typedef struct _DXGKARG_CANCELQUEUEDFLIPS {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	UINT LayerIndex;                              /* in */
	ULONGLONG PresentIdCancelRequested;           /* in */
	ULONGLONG PresentIdCancelled;                 /* out */
} DXGKARG_CANCELQUEUEDFLIPS;
typedef DXGKARG_CANCELQUEUEDFLIPS *PDXGKARG_CANCELQUEUEDFLIPS;
typedef DXGKARG_CANCELQUEUEDFLIPS *INOUT_PDXGKARG_CANCELQUEUEDFLIPS;

typedef struct _DXGK_CANCELFLIPS_PLANE {
	ULONGLONG PresentIdCancelRequested; /* in */
	ULONGLONG PresentIdCancelled;       /* out */
	UINT LayerIndex;                    /* in */
} DXGK_CANCELFLIPS_PLANE;

typedef struct _DXGKARG_CANCELFLIPS {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	UINT PlaneCount;                              /* in */
	DXGK_CANCELFLIPS_PLANE **ppPlanes;            /* in/out */
} DXGKARG_CANCELFLIPS;
typedef DXGKARG_CANCELFLIPS *PDXGKARG_CANCELFLIPS;
typedef DXGKARG_CANCELFLIPS *INOUT_PDXGKARG_CANCELFLIPS;

typedef struct _DXGKARG_SETINTERRUPTTARGETPRESENTID {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	UINT LayerIndex;                              /* in */
	ULONGLONG InterruptTargetPresentId;           /* in */
} DXGKARG_SETINTERRUPTTARGETPRESENTID;
typedef DXGKARG_SETINTERRUPTTARGETPRESENTID *PDXGKARG_SETINTERRUPTTARGETPRESENTID;
typedef CONST DXGKARG_SETINTERRUPTTARGETPRESENTID *IN_CONST_PDXGKARG_SETINTERRUPTTARGETPRESENTID;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_SETFLIPQUEUELOGBUFFER(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SETFLIPQUEUELOGBUFFER pSetFlipQueueLogBuffer);
typedef DXGKDDI_SETFLIPQUEUELOGBUFFER *PDXGKDDI_SETFLIPQUEUELOGBUFFER;

/* interrupt level, at any moment */
typedef NTSTATUS APIENTRY DXGKDDI_UPDATEFLIPQUEUELOG(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_UPDATEFLIPQUEUELOG pUpdateFlipQueueLog);
typedef DXGKDDI_UPDATEFLIPQUEUELOG *PDXGKDDI_UPDATEFLIPQUEUELOG;

/* PASSIVE_LEVEL, level 0 */
typedef NTSTATUS APIENTRY DXGKDDI_CANCELQUEUEDFLIPS(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CANCELQUEUEDFLIPS pCancelQueuedFlips);
typedef DXGKDDI_CANCELQUEUEDFLIPS *PDXGKDDI_CANCELQUEUEDFLIPS;

/* interrupt level, at any moment */
typedef NTSTATUS APIENTRY DXGKDDI_CANCELFLIPS(IN_CONST_HANDLE hAdapter,
					      INOUT_PDXGKARG_CANCELFLIPS pCancelFlips);
typedef DXGKDDI_CANCELFLIPS *PDXGKDDI_CANCELFLIPS;

/* interrupt level, at any moment */
typedef NTSTATUS APIENTRY DXGKDDI_SETINTERRUPTTARGETPRESENTID(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARG_SETINTERRUPTTARGETPRESENTID pSetInterruptTargetPresentId);
typedef DXGKDDI_SETINTERRUPTTARGETPRESENTID *PDXGKDDI_SETINTERRUPTTARGETPRESENTID;

/* ---- interrupts ---- */

typedef enum _DXGK_INTERRUPT_TYPE {
	DXGK_INTERRUPT_DMA_COMPLETED = 1,
	DXGK_INTERRUPT_DMA_PREEMPTED = 2,
	DXGK_INTERRUPT_CRTC_VSYNC = 3,
	DXGK_INTERRUPT_DMA_FAULTED = 4,
	DXGK_INTERRUPT_DISPLAYONLY_VSYNC = 5,
	DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS = 6,
	DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY = 7,
	DXGK_INTERRUPT_MICACAST_CHUNK_PROCESSING_COMPLETE = 8,
	DXGK_INTERRUPT_DMA_PAGE_FAULTED = 9,
	DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY2 = 10,
	DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED = 11,
	DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED = 12,
	DXGK_INTERRUPT_HWCONTEXTLIST_SWITCH_COMPLETED = 13,
	DXGK_INTERRUPT_PERIODIC_MONITORED_FENCE_SIGNALED = 14,
	DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT = 15,
	DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT = 16,
	DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED = 17,
	DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY3 = 18,
	DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED = 19,
	DXGK_INTERRUPT_GPU_ENGINE_STATE_CHANGE = 20,
} DXGK_INTERRUPT_TYPE;
typedef CONST DXGK_INTERRUPT_TYPE IN_CONST_DXGK_INTERRUPT_TYPE;

typedef enum _DXGK_INTERRUPT_STATE {
	DXGK_INTERRUPT_ENABLE = 0,
	DXGK_INTERRUPT_DISABLE = 1,
} DXGK_INTERRUPT_STATE;

typedef enum _DXGK_CRTC_VSYNC_STATE {
	DXGK_VSYNC_ENABLE = 0,
	DXGK_VSYNC_DISABLE_KEEP_PHASE = 1,
	DXGK_VSYNC_DISABLE_NO_PHASE = 2,
} DXGK_CRTC_VSYNC_STATE;

typedef struct _DXGKARG_CONTROLINTERRUPT2 { /* in */
	DXGK_INTERRUPT_TYPE InterruptType;
	union {
		DXGK_INTERRUPT_STATE InterruptState;
		DXGK_CRTC_VSYNC_STATE CrtcVsyncState; /* DXGK_INTERRUPT_CRTC_VSYNC */
	};
} DXGKARG_CONTROLINTERRUPT2;
typedef CONST DXGKARG_CONTROLINTERRUPT2 IN_CONST_DXGKARG_CONTROLINTERRUPT2;

typedef struct _DXGKARG_CONTROLINTERRUPT3 {
	DXGK_INTERRUPT_TYPE InterruptType; /* in */
	union {
		DXGK_INTERRUPT_STATE InterruptState;  /* in */
		DXGK_CRTC_VSYNC_STATE CrtcVsyncState; /* in; DXGK_INTERRUPT_CRTC_VSYNC */
	};
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
} DXGKARG_CONTROLINTERRUPT3;
typedef CONST DXGKARG_CONTROLINTERRUPT3 *IN_CONST_PDXGKARG_CONTROLINTERRUPT3;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_CONTROLINTERRUPT(IN_CONST_HANDLE hAdapter,
						   IN_CONST_DXGK_INTERRUPT_TYPE InterruptType,
						   IN_BOOLEAN EnableInterrupt);
typedef DXGKDDI_CONTROLINTERRUPT *PDXGKDDI_CONTROLINTERRUPT;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_CONTROLINTERRUPT2(
	IN_CONST_HANDLE hAdapter, IN_CONST_DXGKARG_CONTROLINTERRUPT2 InterruptControl);
typedef DXGKDDI_CONTROLINTERRUPT2 *PDXGKDDI_CONTROLINTERRUPT2;

/* PASSIVE_LEVEL, level 2 */
typedef NTSTATUS APIENTRY DXGKDDI_CONTROLINTERRUPT3(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_CONTROLINTERRUPT3 InterruptControl);
typedef DXGKDDI_CONTROLINTERRUPT3 *PDXGKDDI_CONTROLINTERRUPT3;

typedef struct _DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO { /* in */
	DWORD LayerIndex;
	BOOL Enabled;
	PHYSICAL_ADDRESS PhysicalAddress;
	DXGK_MULTIPLANE_OVERLAY_ATTRIBUTES PlaneAttributes;
} DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO;

typedef struct _DXGKCB_NOTIFY_MPO_VSYNC_FLAGS {
	union {
		struct {
			UINT PostPresentNeeded : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGKCB_NOTIFY_MPO_VSYNC_FLAGS;

typedef struct _DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO2 { /* in */
	DWORD LayerIndex;
	ULONGLONG PresentId;
	DXGKCB_NOTIFY_MPO_VSYNC_FLAGS Flags;
} DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO2;

typedef struct _DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO3 { /* in */
	DWORD LayerIndex;
	UINT FirstFreeFlipQueueLogEntryIndex;
} DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO3;

typedef struct _DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS {
	union {
		struct {
			UINT ValidPhysicalAdapterMask : 1;
			UINT HsyncFlipCompletion : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS;

typedef struct _DXGKARGCB_NOTIFY_INTERRUPT_DATA { /* in */
	DXGK_INTERRUPT_TYPE InterruptType;        /* in */
	union {
		struct {
			UINT SubmissionFenceId;
			UINT NodeOrdinal;
			UINT EngineOrdinal;
		} DmaCompleted;
		struct {
			UINT PreemptionFenceId;
			UINT LastCompletedFenceId;
			UINT NodeOrdinal;
			UINT EngineOrdinal;
		} DmaPreempted;
		struct {
			UINT FaultedFenceId;
			NTSTATUS Status;
			UINT NodeOrdinal;
			UINT EngineOrdinal;
		} DmaFaulted;
		struct {
			D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
			PHYSICAL_ADDRESS PhysicalAddress;
			UINT PhysicalAdapterMask;
		} CrtcVsync;
		struct {
			D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
		} DisplayOnlyVsync; /* WDDM 1.2 */
		struct {
			D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
			UINT PhysicalAdapterMask;
			UINT MultiPlaneOverlayVsyncInfoCount;
			DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO *pMultiPlaneOverlayVsyncInfo;
		} CrtcVsyncWithMultiPlaneOverlay;
		DXGKARGCB_PRESENT_DISPLAYONLY_PROGRESS DisplayOnlyPresentProgress; /* in */
		struct {
			D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
			DXGK_MIRACAST_CHUNK_INFO ChunkInfo;
			PVOID pPrivateDriverData;
			UINT PrivateDataDriverSize;
			NTSTATUS Status;
		} MiracastEncodeChunkCompleted; /* WDDM 1.3 */
		struct {
			UINT FaultedFenceId;
			UINT64 FaultedPrimitiveAPISequenceNumber;
			DXGK_RENDER_PIPELINE_STAGE FaultedPipelineStage;
			UINT FaultedBindTableEntry;
			DXGK_PAGE_FAULT_FLAGS PageFaultFlags;
			D3DGPU_VIRTUAL_ADDRESS FaultedVirtualAddress;
			UINT NodeOrdinal;
			UINT EngineOrdinal;
			UINT PageTableLevel;
			DXGK_FAULT_ERROR_CODE FaultErrorCode;
			HANDLE FaultedProcessHandle;
		} DmaPageFaulted; /* WDDM 2.0 */
		struct {
			D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
			UINT PhysicalAdapterMask;
			UINT MultiPlaneOverlayVsyncInfoCount;
			DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO2 *pMultiPlaneOverlayVsyncInfo;
			ULONGLONG GpuFrequency;
			ULONGLONG GpuClockCounter;
		} CrtcVsyncWithMultiPlaneOverlay2; /* WDDM 2.1 */
		struct {
			UINT NodeOrdinal;
			UINT EngineOrdinal;
		} MonitoredFenceSignaled; /* WDDM 2.2 */
		struct {
			UINT NodeOrdinal;
			UINT EngineOrdinal;
			UINT64 ContextSwitchFence;
		} HwContextListSwitchCompleted;
		struct {
			UINT64 FaultedFenceId;
			D3DGPU_VIRTUAL_ADDRESS FaultedVirtualAddress;
			UINT64 FaultedPrimitiveAPISequenceNumber;
			union {
				HANDLE FaultedHwQueue;
				HANDLE FaultedHwContext;
				HANDLE FaultedProcessHandle;
			};
			UINT NodeOrdinal;
			UINT EngineOrdinal;
			DXGK_RENDER_PIPELINE_STAGE FaultedPipelineStage;
			UINT FaultedBindTableEntry;
			DXGK_PAGE_FAULT_FLAGS PageFaultFlags;
			UINT PageTableLevel;
			DXGK_FAULT_ERROR_CODE FaultErrorCode;
		} HwQueuePageFaulted;
		struct {
			D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
			UINT NotificationID;
		} PeriodicMonitoredFenceSignaled;
		struct {
			UINT NodeOrdinal;
			UINT EngineOrdinal;
		} SchedulingLogInterrupt; /* WDDM 2.4 */
		struct {
			UINT NodeOrdinal;
			UINT EngineOrdinal;
		} GpuEngineTimeout;
		struct {
			HANDLE hContext;
			UINT64 ContextSuspendFence;
		} SuspendContextCompleted;
		struct {
			D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
			UINT PhysicalAdapterMask;
			UINT MultiPlaneOverlayVsyncInfoCount;
			DXGK_MULTIPLANE_OVERLAY_VSYNC_INFO3 *pMultiPlaneOverlayVsyncInfo;
			ULONGLONG GpuFrequency;
			ULONGLONG GpuClockCounter;
		} CrtcVsyncWithMultiPlaneOverlay3; /* WDDM 2.9 */
		struct {
			UINT NodeOrdinal;
			UINT EngineOrdinal;
			UINT SignaledNativeFenceCount;
			HANDLE *pSignaledNativeFenceArray;
			HANDLE hHWQueue;
		} NativeFenceSignaled; /* WDDM 3.1 */
		struct {
			UINT NodeOrdinal;
			UINT EngineOrdinal;
			UINT NewState;
		} EngineStateChange;
		struct {
			UINT Reserved[16];
		} Reserved;
	};
	DXGKCB_NOTIFY_INTERRUPT_DATA_FLAGS Flags; /* in */
} DXGKARGCB_NOTIFY_INTERRUPT_DATA;
typedef DXGKARGCB_NOTIFY_INTERRUPT_DATA *PDXGKARGCB_NOTIFY_INTERRUPT_DATA;
typedef CONST DXGKARGCB_NOTIFY_INTERRUPT_DATA *IN_CONST_PDXGKARGCB_NOTIFY_INTERRUPT_DATA;

/* interrupt level */
typedef VOID(APIENTRY *DXGKCB_NOTIFY_INTERRUPT)(IN_CONST_HANDLE hAdapter,
						IN_CONST_PDXGKARGCB_NOTIFY_INTERRUPT_DATA pData);
/* DISPATCH_LEVEL */
typedef VOID(APIENTRY *DXGKCB_NOTIFY_DPC)(IN_CONST_HANDLE hAdapter);

/* ---- callbacks: handles ---- */

typedef enum _DXGK_HANDLE_TYPE {
	DXGK_HANDLE_ALLOCATION = 1,
	DXGK_HANDLE_RESOURCE = 2,
} DXGK_HANDLE_TYPE;

typedef struct _DXGKCB_GETHANDLEDATAFLAGS {
	union {
		struct {
			UINT DeviceSpecific : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGKCB_GETHANDLEDATAFLAGS;

typedef struct _DXGKARGCB_GETHANDLEDATA {
	D3DKMT_HANDLE hObject;           /* in */
	DXGK_HANDLE_TYPE Type;           /* in */
	DXGKCB_GETHANDLEDATAFLAGS Flags; /* in */
} DXGKARGCB_GETHANDLEDATA;
typedef CONST DXGKARGCB_GETHANDLEDATA *IN_CONST_PDXGKARGCB_GETHANDLEDATA;

typedef HANDLE DXGKARG_RELEASE_HANDLE;

typedef struct _DXGKARGCB_RELEASEHANDLEDATA { /* in */
	DXGKARG_RELEASE_HANDLE ReleaseHandle;
	DXGK_HANDLE_TYPE Type;
} DXGKARGCB_RELEASEHANDLEDATA;
typedef CONST DXGKARGCB_RELEASEHANDLEDATA IN_CONST_DXGKARGCB_RELEASEHANDLEDATA;

typedef struct _DXGKARGCB_ENUMHANDLECHILDREN {
	D3DKMT_HANDLE hObject; /* in */
	UINT Index;            /* in */
} DXGKARGCB_ENUMHANDLECHILDREN;
typedef CONST DXGKARGCB_ENUMHANDLECHILDREN *IN_CONST_PDXGKARGCB_ENUMHANDLECHILDREN;

typedef struct _DXGKARGCB_GETCAPTUREADDRESS {
	D3DKMT_HANDLE hAllocation;        /* in */
	UINT SegmentId;                   /* out */
	PHYSICAL_ADDRESS PhysicalAddress; /* out */
} DXGKARGCB_GETCAPTUREADDRESS;
typedef DXGKARGCB_GETCAPTUREADDRESS *INOUT_PDXGKARGCB_GETCAPTUREADDRESS;

/* below DISPATCH_LEVEL */
typedef VOID *(APIENTRY *DXGKCB_GETHANDLEDATA)(IN_CONST_PDXGKARGCB_GETHANDLEDATA pData);
/* below DISPATCH_LEVEL */
typedef D3DKMT_HANDLE(APIENTRY *DXGKCB_GETHANDLEPARENT)(D3DKMT_HANDLE hAllocation);
/* PASSIVE_LEVEL */
typedef D3DKMT_HANDLE(APIENTRY *DXGKCB_ENUMHANDLECHILDREN)(
	IN_CONST_PDXGKARGCB_ENUMHANDLECHILDREN pData);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_GETCAPTUREADDRESS)(INOUT_PDXGKARGCB_GETCAPTUREADDRESS pData);
/* at most APC_LEVEL */
typedef VOID *(APIENTRY *DXGKCB_ACQUIREHANDLEDATA)(IN_CONST_PDXGKARGCB_GETHANDLEDATA pData,
						   DXGKARG_RELEASE_HANDLE *pReleaseHandle);
/* at most APC_LEVEL */
typedef VOID(APIENTRY *DXGKCB_RELEASEHANDLEDATA)(IN_CONST_DXGKARGCB_RELEASEHANDLEDATA Data);

/* at most APC_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_QUERYVIDPNINTERFACE)(
	CONST D3DKMDT_HVIDPN hVidPn, CONST DXGK_VIDPN_INTERFACE_VERSION VidPnInterfaceVersion,
	CONST DXGK_VIDPN_INTERFACE **ppVidPnInterface);
/* at most APC_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_QUERYMONITORINTERFACE)(
	IN_CONST_HANDLE hAdapter, CONST DXGK_MONITOR_INTERFACE_VERSION MonitorInterfaceVersion,
	CONST DXGK_MONITOR_INTERFACE **ppMonitorInterface);

/* ---- callbacks: context allocations and address space ---- */

typedef struct _DXGK_CREATECONTEXTALLOCATIONFLAGS {
	union {
		struct {
			UINT SharedAcrossContexts : 1;
			UINT MapGpuVirtualAddress : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} DXGK_CREATECONTEXTALLOCATIONFLAGS;

typedef struct _DXGKARGCB_CREATECONTEXTALLOCATION {
	DXGK_CREATECONTEXTALLOCATIONFLAGS ContextAllocationFlags; /* in */
	HANDLE hAdapter;                                          /* in */
	HANDLE hDevice;                                           /* in */
	HANDLE hContext;                                          /* in */
	HANDLE hDriverAllocation;                                 /* in */
	SIZE_T Size;                                              /* in */
	UINT Alignment;                                           /* in */
	UINT SupportedSegmentSet;                                 /* in */
	UINT EvictionSegmentSet;                                  /* in */
	DXGK_SEGMENTPREFERENCE PreferredSegment;                  /* in */
	DXGK_SEGMENTBANKPREFERENCE HintedBank;                    /* in */
	DXGK_ALLOCATIONINFOFLAGS Flags;                           /* in */
	HANDLE hAllocation;                                       /* out */
	UINT PhysicalAdapterIndex;                                /* in; WDDM 2.0 */
} DXGKARGCB_CREATECONTEXTALLOCATION;
typedef DXGKARGCB_CREATECONTEXTALLOCATION *INOUT_PDXGKARGCB_CREATECONTEXTALLOCATION;

typedef struct _DXGKARGCB_MAPCONTEXTALLOCATION {
	D3DGPU_VIRTUAL_ADDRESS BaseAddress;                 /* in */
	D3DGPU_VIRTUAL_ADDRESS MinimumAddress;              /* in */
	D3DGPU_VIRTUAL_ADDRESS MaximumAddress;              /* in */
	HANDLE hAllocation;                                 /* in */
	D3DGPU_SIZE_T OffsetInPages;                        /* in */
	D3DGPU_SIZE_T SizeInPages;                          /* in */
	D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE Protection; /* in */
	UINT64 DriverProtection;                            /* in */
} DXGKARGCB_MAPCONTEXTALLOCATION;
typedef CONST DXGKARGCB_MAPCONTEXTALLOCATION *IN_CONST_PDXGKARGCB_MAPCONTEXTALLOCATION;

typedef struct _DXGKARGCB_UPDATECONTEXTALLOCATION {
	HANDLE hAllocation;         /* in */
	PVOID pPrivateDriverData;   /* in */
	UINT PrivateDriverDataSize; /* in */
} DXGKARGCB_UPDATECONTEXTALLOCATION;
typedef CONST DXGKARGCB_UPDATECONTEXTALLOCATION *IN_CONST_PDXGKARGCB_UPDATECONTEXTALLOCATION;

typedef struct _DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE {
	HANDLE hDxgkProcess;        /* in */
	UINT64 SizeInBytes;         /* in */
	UINT Alignment;             /* in */
	UINT64 StartVirtualAddress; /* out */
	UINT64 BaseAddress;         /* in */
	union {
		struct {
			UINT AllowUserModeMapping : 1;
			UINT Reserved : 31;
		};
		UINT Flags; /* in */
	};
} DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE;
typedef DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *INOUT_PDXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE;

/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_CREATECONTEXTALLOCATION)(
	INOUT_PDXGKARGCB_CREATECONTEXTALLOCATION pContextAllocation);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_DESTROYCONTEXTALLOCATION)(IN_CONST_HANDLE hAdapter,
							    IN_CONST_HANDLE hAllocation);
/* PASSIVE_LEVEL */
typedef D3DGPU_VIRTUAL_ADDRESS(APIENTRY *DXGKCB_MAPCONTEXTALLOCATION)(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARGCB_MAPCONTEXTALLOCATION pArgs);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_UPDATECONTEXTALLOCATION)(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARGCB_UPDATECONTEXTALLOCATION pArgs);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_RESERVEGPUVIRTUALADDRESSRANGE)(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE pArgs);

/* ---- callbacks: power ---- */

typedef VOID(APIENTRY *DXGKCB_SETPOWERCOMPONENTACTIVE)(IN_CONST_HANDLE hAdapter,
						       UINT ComponentIndex);
typedef VOID(APIENTRY *DXGKCB_SETPOWERCOMPONENTIDLE)(IN_CONST_HANDLE hAdapter, UINT ComponentIndex);
/* at most DISPATCH_LEVEL */
typedef VOID(APIENTRY *DXGKCB_SETPOWERCOMPONENTLATENCY)(IN_CONST_HANDLE hAdapter,
							UINT ComponentIndex, ULONGLONG Latency);
/* at most DISPATCH_LEVEL */
typedef VOID(APIENTRY *DXGKCB_SETPOWERCOMPONENTRESIDENCY)(IN_CONST_HANDLE hAdapter,
							  UINT ComponentIndex, ULONGLONG Residency);
/* at most DISPATCH_LEVEL */
typedef VOID(APIENTRY *DXGKCB_COMPLETEFSTATETRANSITION)(IN_CONST_HANDLE hAdapter,
							UINT ComponentIndex);
typedef VOID(APIENTRY *DXGKCB_COMPLETEPSTATETRANSITION)(IN_CONST_HANDLE hAdapter,
							UINT ComponentIndex, UINT CompletedPState);
/* at most DISPATCH_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_POWERRUNTIMECONTROLREQUEST)(IN_CONST_HANDLE hAdapter,
							      LPCGUID PowerControlCode,
							      PVOID InBuffer, SIZE_T InBufferSize,
							      PVOID OutBuffer, SIZE_T OutBufferSize,
							      PSIZE_T BytesReturned);

/* ---- callbacks: display state and content protection ---- */

typedef enum _DXGK_HARDWARE_CONTENT_PROTECTION_TEARDOWN_FLAGS {
	DXGK_HARDWARE_CONTENT_PROTECTION_TEARDOWN_FLAG_PREEMPTIVE = 1,
} DXGK_HARDWARE_CONTENT_PROTECTION_TEARDOWN_FLAGS;

typedef enum _DXGK_PROTECTED_SESSION_STATUS {
	DXGK_PROTECTED_SESSION_STATUS_OK = 0,
	DXGK_PROTECTED_SESSION_STATUS_INVALID = 1,
} DXGK_PROTECTED_SESSION_STATUS;

typedef struct _DXGKARGCB_PROTECTEDSESSIONSTATUS {
	HANDLE hProtectedSession;             /* in */
	DXGK_PROTECTED_SESSION_STATUS Status; /* in */
} DXGKARGCB_PROTECTEDSESSIONSTATUS;
typedef CONST DXGKARGCB_PROTECTEDSESSIONSTATUS *IN_CONST_PDXGKARGCB_PROTECTEDSESSIONSTATUS;

typedef struct _DXGKARGCB_NOTIFYCURSORSUPPORTCHANGE {
	HANDLE DeviceHandle;                          /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
} DXGKARGCB_NOTIFYCURSORSUPPORTCHANGE;
typedef CONST DXGKARGCB_NOTIFYCURSORSUPPORTCHANGE *IN_CONST_PDXGKARGCB_NOTIFYCURSORSUPPORTCHANGE;

typedef VOID(APIENTRY *DXGKCB_HARDWARECONTENTPROTECTIONTEARDOWN)(IN_CONST_HANDLE hAdapter,
								 UINT Flags);
typedef NTSTATUS(APIENTRY *DXGKCB_SETPROTECTEDSESSIONSTATUS)(
	IN_CONST_PDXGKARGCB_PROTECTEDSESSIONSTATUS pProtectedSessionStatus);
typedef VOID(APIENTRY *DXGKCB_MULTIPLANEOVERLAYDISABLED)(IN_CONST_HANDLE hAdapter,
							 CONST UINT VidPnSourceId);
typedef NTSTATUS(APIENTRY *DXGKCB_INDICATE_CONNECTOR_CHANGE)(IN_CONST_HANDLE hAdapter);
typedef NTSTATUS(APIENTRY *DXGKCB_UNBLOCKUEFIFRAMEBUFFERRANGES)(
	IN_CONST_HANDLE hAdapter, CONST DXGK_QUERYSEGMENTMEMORYSTATE *pSegmentMemoryState);
typedef NTSTATUS(APIENTRY *DXGKCB_NOTIFYCURSORSUPPORTCHANGE)(
	IN_CONST_PDXGKARGCB_NOTIFYCURSORSUPPORTCHANGE pArgs);

/* ---- callbacks: hardware scheduling, events, features ---- */

typedef struct _DXGK_INVALIDATEHWCONTEXTFLAGS {
	union {
		struct {
			UINT CollateralDamage : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} DXGK_INVALIDATEHWCONTEXTFLAGS;

typedef struct _DXGKARGCB_INVALIDATEHWCONTEXT {
	HANDLE hAdapter;                     /* in */
	HANDLE hHwContext;                   /* in */
	DXGK_INVALIDATEHWCONTEXTFLAGS Flags; /* in */
} DXGKARGCB_INVALIDATEHWCONTEXT;
typedef CONST DXGKARGCB_INVALIDATEHWCONTEXT *IN_CONST_PDXGKARGCB_INVALIDATEHWCONTEXT;

typedef struct _DXGKARGCB_SIGNALEVENT {
	HANDLE hDxgkProcess; /* in */
	HANDLE hEvent;       /* in */
	union {
		struct {
			UINT CpuEventObject : 1; /* WDDM 3.0 */
			UINT Reserved : 31;
		};
		UINT Flags; /* in */
	};
} DXGKARGCB_SIGNALEVENT;
typedef CONST DXGKARGCB_SIGNALEVENT *IN_CONST_PDXGKARGCB_SIGNALEVENT;

typedef enum _DXGK_FEATURE_ID {
	DXGK_FEATURE_HWSCH = 0,
	DXGK_FEATURE_HWFLIPQUEUE = 1,
	DXGK_FEATURE_LDA_GPUPV = 2,
	DXGK_FEATURE_KMD_SIGNAL_CPU_EVENT = 3,
	DXGK_FEATURE_USER_MODE_SUBMISSION = 4,
	DXGK_FEATURE_SHARE_BACKING_STORE_WITH_KMD = 5,
	DXGK_FEATURE_SAMPLE = 31,
	DXGK_FEATURE_PAGE_BASED_MEMORY_MANAGER = 32,
	DXGK_FEATURE_KERNEL_MODE_TESTING = 33,
	DXGK_FEATURE_MAX,
} DXGK_FEATURE_ID;

typedef struct _DXGKARGCB_ISFEATUREENABLED {
	HANDLE DeviceHandle;       /* in */
	DXGK_FEATURE_ID FeatureId; /* in */
	BOOLEAN Enabled;           /* out */
} DXGKARGCB_ISFEATUREENABLED;
typedef DXGKARGCB_ISFEATUREENABLED *INOUT_PDXGKARGCB_ISFEATUREENABLED;

typedef struct _DXGKARGCB_QUERYFEATURESUPPORT {
	HANDLE DeviceHandle;       /* in */
	DXGK_FEATURE_ID FeatureId; /* in */
	UINT DriverSupportState;   /* in */
	BOOLEAN Enabled;           /* out */
} DXGKARGCB_QUERYFEATURESUPPORT;
typedef DXGKARGCB_QUERYFEATURESUPPORT *INOUT_PDXGKARGCB_QUERYFEATURESUPPORT;

typedef struct _DXGKARGCB_DISCONNECTDOORBELL_FLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} DXGKARGCB_DISCONNECTDOORBELL_FLAGS;

/* DisconnectReason is a D3DDDI_DOORBELLSTATUS. */
typedef struct _DXGKARGCB_DISCONNECTDOORBELL {
	HANDLE hHwQueue;                          /* in */
	HANDLE hDoorbell;                         /* in */
	DXGKARGCB_DISCONNECTDOORBELL_FLAGS Flags; /* in */
	UINT DisconnectReason;                    /* in */
} DXGKARGCB_DISCONNECTDOORBELL;
typedef CONST DXGKARGCB_DISCONNECTDOORBELL *IN_CONST_PDXGKARGCB_DISCONNECTDOORBELL;

/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_INVALIDATEHWCONTEXT)(
	IN_CONST_PDXGKARGCB_INVALIDATEHWCONTEXT pArgs);
/* at most DISPATCH_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_SIGNALEVENT)(IN_CONST_PDXGKARGCB_SIGNALEVENT pArgs);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_ISFEATUREENABLED)(INOUT_PDXGKARGCB_ISFEATUREENABLED pArgs);
typedef NTSTATUS(APIENTRY *DXGKCB_QUERYFEATURESUPPORT)(INOUT_PDXGKARGCB_QUERYFEATURESUPPORT pArgs);
typedef NTSTATUS(APIENTRY *DXGKCB_DISCONNECTDOORBELL)(IN_CONST_PDXGKARGCB_DISCONNECTDOORBELL pArgs);

/* ---- callbacks: memory behind an IOMMU (WDDM 2.4), logical addresses (WDDM 2.9) ---- */

typedef enum _DXGK_MEMORY_CACHING_TYPE {
	DXGK_MEMORY_CACHING_TYPE_NON_CACHED = 0,
	DXGK_MEMORY_CACHING_TYPE_CACHED = 1,
	DXGK_MEMORY_CACHING_TYPE_WRITE_COMBINED = 2,
} DXGK_MEMORY_CACHING_TYPE;

typedef struct _DXGKARGCB_ALLOCATECONTIGUOUSMEMORY {
	SIZE_T NumberOfBytes;                      /* in */
	PHYSICAL_ADDRESS LowestAcceptableAddress;  /* in */
	PHYSICAL_ADDRESS HighestAcceptableAddress; /* in */
	PHYSICAL_ADDRESS BoundaryAddressMultiple;  /* in */
	DXGK_MEMORY_CACHING_TYPE CacheType;        /* in */
	HANDLE hMemoryHandle;                      /* out */
	PVOID pMemory;                             /* out */
} DXGKARGCB_ALLOCATECONTIGUOUSMEMORY;
typedef DXGKARGCB_ALLOCATECONTIGUOUSMEMORY *INOUT_PDXGKARGCB_ALLOCATECONTIGUOUSMEMORY;

typedef struct _DXGKARGCB_FREECONTIGUOUSMEMORY {
	HANDLE hMemoryHandle; /* in */
} DXGKARGCB_FREECONTIGUOUSMEMORY;
typedef CONST DXGKARGCB_FREECONTIGUOUSMEMORY *IN_CONST_PDXGKARGCB_FREECONTIGUOUSMEMORY;

typedef struct _DXGKARGCB_ALLOCATEPAGESFORMDL {
	PHYSICAL_ADDRESS LowAddress;        /* in */
	PHYSICAL_ADDRESS HighAddress;       /* in */
	PHYSICAL_ADDRESS SkipBytes;         /* in */
	SIZE_T TotalBytes;                  /* in */
	DXGK_MEMORY_CACHING_TYPE CacheType; /* in */
	ULONG Flags;                        /* in */
	HANDLE hMemoryHandle;               /* out */
	PMDL pMdl;                          /* out */
} DXGKARGCB_ALLOCATEPAGESFORMDL;
typedef DXGKARGCB_ALLOCATEPAGESFORMDL *INOUT_PDXGKARGCB_ALLOCATEPAGESFORMDL;

typedef struct _DXGKARGCB_FREEPAGESFROMMDL {
	HANDLE hMemoryHandle; /* in */
} DXGKARGCB_FREEPAGESFROMMDL;
typedef CONST DXGKARGCB_FREEPAGESFROMMDL *IN_CONST_PDXGKARGCB_FREEPAGESFROMMDL;

typedef struct _DXGKARGCB_PINFRAMEBUFFERFORSAVE {
	UINT PhysicalAdapterIndex; /* in */
	SIZE_T CommitSize;         /* in */
	PMDL pMdl;                 /* out */
} DXGKARGCB_PINFRAMEBUFFERFORSAVE;
typedef DXGKARGCB_PINFRAMEBUFFERFORSAVE *INOUT_PDXGKARGCB_PINFRAMEBUFFERFORSAVE;

typedef struct _DXGKARGCB_PINFRAMEBUFFERFORSAVE2 {
	UINT PhysicalAdapterIndex; /* in */
	SIZE_T CommitSize;         /* in */
	union {
		struct {
			UINT PreferContiguous : 1;
			UINT Reserved : 31;
		};
		UINT Value; /* in */
	} Flags;            /* in */
	DXGK_ADL *pAdl;     /* out */
} DXGKARGCB_PINFRAMEBUFFERFORSAVE2;
typedef DXGKARGCB_PINFRAMEBUFFERFORSAVE2 *INOUT_PDXGKARGCB_PINFRAMEBUFFERFORSAVE2;

typedef struct _DXGKARGCB_UNPINFRAMEBUFFERFORSAVE {
	UINT PhysicalAdapterIndex; /* in */
} DXGKARGCB_UNPINFRAMEBUFFERFORSAVE;
typedef CONST DXGKARGCB_UNPINFRAMEBUFFERFORSAVE *IN_CONST_PDXGKARGCB_UNPINFRAMEBUFFERFORSAVE;

typedef struct _DXGKARGCB_MAPFRAMEBUFFERPOINTER {
	UINT PhysicalAdapterIndex; /* in */
	SIZE_T Size;               /* in */
	SIZE_T Offset;             /* in */
	PVOID pBaseAddress;        /* out */
} DXGKARGCB_MAPFRAMEBUFFERPOINTER;
typedef DXGKARGCB_MAPFRAMEBUFFERPOINTER *INOUT_PDXGKARGCB_MAPFRAMEBUFFERPOINTER;

typedef struct _DXGKARGCB_UNMAPFRAMEBUFFERPOINTER {
	UINT PhysicalAdapterIndex; /* in */
	PVOID pBaseAddress;        /* in */
} DXGKARGCB_UNMAPFRAMEBUFFERPOINTER;
typedef CONST DXGKARGCB_UNMAPFRAMEBUFFERPOINTER *IN_CONST_PDXGKARGCB_UNMAPFRAMEBUFFERPOINTER;

typedef struct _DXGKARGCB_MAPMDLTOIOMMU {
	PMDL pMdl;            /* in */
	HANDLE hMemoryHandle; /* out */
} DXGKARGCB_MAPMDLTOIOMMU;
typedef DXGKARGCB_MAPMDLTOIOMMU *INOUT_PDXGKARGCB_MAPMDLTOIOMMU;

typedef struct _DXGKARGCB_UNMAPMDLFROMIOMMU {
	HANDLE hMemoryHandle; /* in */
} DXGKARGCB_UNMAPMDLFROMIOMMU;
typedef CONST DXGKARGCB_UNMAPMDLFROMIOMMU *IN_CONST_PDXGKARGCB_UNMAPMDLFROMIOMMU;

typedef struct _DXGK_KSR_MEMORY_RANGE { /* in */
	UINT64 MemoryRangeDesc;
} DXGK_KSR_MEMORY_RANGE, *PDXGK_KSR_MEMORY_RANGE;

typedef struct _DXGKARGCB_SAVEMEMORYFORHOTUPDATE {
	UINT NumDataMemoryRanges;                 /* in */
	DXGK_KSR_MEMORY_RANGE *pDataMemoryRanges; /* in */
	PMDL pDataMdl;                            /* in */
	UINT DataSize;                            /* in */
	VOID *pData;                              /* in */
	UINT MetaDataSize;                        /* in */
	VOID *pMetaData;                          /* in */
} DXGKARGCB_SAVEMEMORYFORHOTUPDATE;
typedef CONST DXGKARGCB_SAVEMEMORYFORHOTUPDATE *IN_CONST_PDXGKARGCB_SAVEMEMORYFORHOTUPDATE;

typedef enum _DXGK_PHYSICAL_MEMORY_TYPE {
	DXGK_PHYSICAL_MEMORY_TYPE_MDL = 0,
	DXGK_PHYSICAL_MEMORY_TYPE_CONTIGUOUS_MEMORY = 1,
	DXGK_PHYSICAL_MEMORY_TYPE_SECTION = 2,
	DXGK_PHYSICAL_MEMORY_TYPE_IO_SPACE = 3,
} DXGK_PHYSICAL_MEMORY_TYPE;

typedef enum _DXGK_ACCESS_MODE {
	DXGK_ACCESS_MODE_KERNEL_MODE = 0,
	DXGK_ACCESS_MODE_USER_MODE = 1,
} DXGK_ACCESS_MODE;

typedef struct _DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT { /* in */
	HANDLE hAdapter;                                  /* in */
	SIZE_T Size;                                      /* in */
	PVOID Context;                                    /* in */
	DXGK_PHYSICAL_MEMORY_TYPE Type;                   /* in */
	DXGK_MEMORY_CACHING_TYPE CacheType;               /* in */
	union {
		struct {
			PHYSICAL_ADDRESS LowAddress;
			PHYSICAL_ADDRESS HighAddress;
			PHYSICAL_ADDRESS SkipBytes;
			ULONG Flags;
		} Mdl;
		struct {
			PHYSICAL_ADDRESS LowestAcceptableAddress;
			PHYSICAL_ADDRESS HighestAcceptableAddress;
			PHYSICAL_ADDRESS BoundaryAddressMultiple;
		} ContiguousMemory;
		struct {
			ULONG DesiredAccess;
			POBJECT_ATTRIBUTES ObjectAttributes;
			ULONG PageProtection;
			ULONG AllocationAttributes;
		} Section;
		struct {
			PHYSICAL_ADDRESS BaseAddress;
		} IOSpace;
	};
	HANDLE hPhysicalMemoryObject; /* out */
	HANDLE hAdapterMemoryObject;  /* out */
} DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT;
typedef DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT *INOUT_PDXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT;

typedef struct _DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT { /* in */
	HANDLE hPhysicalMemoryObject;
	HANDLE hAdapterMemoryObject;
} DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT;
typedef CONST DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT
	*IN_CONST_PDXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT;

typedef struct _DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT {
	HANDLE hPhysicalMemoryObject; /* in */
	HANDLE hAdapter;              /* in */
	HANDLE hAdapterMemoryObject;  /* out */
} DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT;
typedef DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT *INOUT_PDXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT;

typedef struct _DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT { /* in */
	HANDLE hAdapterMemoryObject;
} DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT;
typedef CONST DXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT
	*IN_CONST_PDXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT;

typedef struct _DXGKARGCB_MAP_PHYSICAL_MEMORY {
	HANDLE hPhysicalMemoryObject; /* in */
	DXGK_ACCESS_MODE AccessMode;  /* in */
	SIZE_T Offset;                /* in */
	SIZE_T Size;                  /* in */
	PVOID pMappedAddress;         /* out */
} DXGKARGCB_MAP_PHYSICAL_MEMORY;
typedef DXGKARGCB_MAP_PHYSICAL_MEMORY *INOUT_PDXGKARGCB_MAP_PHYSICAL_MEMORY;

typedef struct _DXGKARGCB_UNMAP_PHYSICAL_MEMORY {
	HANDLE hPhysicalMemoryObject; /* in */
	PVOID pBaseAddress;           /* in */
	SIZE_T Size;                  /* in */
} DXGKARGCB_UNMAP_PHYSICAL_MEMORY;
typedef CONST DXGKARGCB_UNMAP_PHYSICAL_MEMORY *IN_CONST_PDXGKARGCB_UNMAP_PHYSICAL_MEMORY;

typedef struct _DXGKARGCB_ALLOCATE_ADL {
	HANDLE hAdapterMemoryObject; /* in */
	SIZE_T Offset;               /* in */
	SIZE_T Size;                 /* in */
	union {
		struct {
			UINT RequireContiguous : 1;
			UINT PreferContiguous : 1;
			UINT Reserved : 30;
		};
		UINT Value; /* in */
	} Flags;            /* in */
	DXGK_ADL *pAdl;     /* out */
} DXGKARGCB_ALLOCATE_ADL;
typedef DXGKARGCB_ALLOCATE_ADL *INOUT_PDXGKARGCB_ALLOCATE_ADL;

typedef struct _DXGKARGCB_FREE_ADL {
	HANDLE hAdapterMemoryObject; /* in */
	DXGK_ADL *pAdl;              /* in */
} DXGKARGCB_FREE_ADL;
typedef CONST DXGKARGCB_FREE_ADL *IN_CONST_PDXGKARGCB_FREE_ADL;

/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_ALLOCATECONTIGUOUSMEMORY)(
	IN_CONST_HANDLE hAdapter,
	INOUT_PDXGKARGCB_ALLOCATECONTIGUOUSMEMORY pAllocateContiguousMemory);
typedef VOID(APIENTRY *DXGKCB_FREECONTIGUOUSMEMORY)(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARGCB_FREECONTIGUOUSMEMORY pFreeContiguousMemory);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_ALLOCATEPAGESFORMDL)(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARGCB_ALLOCATEPAGESFORMDL pAllocatePagesForMdl);
typedef VOID(APIENTRY *DXGKCB_FREEPAGESFROMMDL)(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARGCB_FREEPAGESFROMMDL pFreePagesFromMdl);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_PINFRAMEBUFFERFORSAVE)(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARGCB_PINFRAMEBUFFERFORSAVE pPinFrameBufferForSave);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_PINFRAMEBUFFERFORSAVE2)(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARGCB_PINFRAMEBUFFERFORSAVE2 pPinFrameBufferForSave2);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_UNPINFRAMEBUFFERFORSAVE)(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARGCB_UNPINFRAMEBUFFERFORSAVE pUnpinFrameBufferForSave);
typedef NTSTATUS(APIENTRY *DXGKCB_MAPFRAMEBUFFERPOINTER)(
	IN_CONST_HANDLE hAdapter, INOUT_PDXGKARGCB_MAPFRAMEBUFFERPOINTER pMapFrameBufferPointer);
typedef NTSTATUS(APIENTRY *DXGKCB_UNMAPFRAMEBUFFERPOINTER)(
	IN_CONST_HANDLE hAdapter,
	IN_CONST_PDXGKARGCB_UNMAPFRAMEBUFFERPOINTER pUnmapFrameBufferPointer);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_MAPMDLTOIOMMU)(IN_CONST_HANDLE hAdapter,
						 INOUT_PDXGKARGCB_MAPMDLTOIOMMU pMapMdlToIoMmu);
/* PASSIVE_LEVEL */
typedef VOID(APIENTRY *DXGKCB_UNMAPMDLFROMIOMMU)(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARGCB_UNMAPMDLFROMIOMMU pUnmapMdlFromIoMmu);
typedef NTSTATUS(APIENTRY *DXGKCB_SAVEMEMORYFORHOTUPDATE)(
	IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARGCB_SAVEMEMORYFORHOTUPDATE pArgs);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_CREATEPHYSICALMEMORYOBJECT)(
	INOUT_PDXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT pArgs);
/* PASSIVE_LEVEL */
typedef VOID(APIENTRY *DXGKCB_DESTROYPHYSICALMEMORYOBJECT)(
	IN_CONST_PDXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT pArgs);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_OPENPHYSICALMEMORYOBJECT)(
	INOUT_PDXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT pArgs);
/* PASSIVE_LEVEL */
typedef VOID(APIENTRY *DXGKCB_CLOSEPHYSICALMEMORYOBJECT)(
	IN_CONST_PDXGKARGCB_CLOSE_PHYSICAL_MEMORY_OBJECT pArgs);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_MAPPHYSICALMEMORY)(INOUT_PDXGKARGCB_MAP_PHYSICAL_MEMORY pArgs);
/* PASSIVE_LEVEL */
typedef VOID(APIENTRY *DXGKCB_UNMAPPHYSICALMEMORY)(IN_CONST_PDXGKARGCB_UNMAP_PHYSICAL_MEMORY pArgs);
/* PASSIVE_LEVEL */
typedef NTSTATUS(APIENTRY *DXGKCB_ALLOCATEADL)(INOUT_PDXGKARGCB_ALLOCATE_ADL pArgs);
/* PASSIVE_LEVEL */
typedef VOID(APIENTRY *DXGKCB_FREEADL)(IN_CONST_PDXGKARGCB_FREE_ADL pArgs);

#ifdef __cplusplus
}
#endif

#endif /* OPENDXGK_DDK_D3DKMDDI_H */
