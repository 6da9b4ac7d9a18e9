/* SPDX-License-Identifier: MIT */
/*
 * d3dkmthk.h - the D3DKMT calls: how a client talks to the graphics kernel.
 *
 * One struct per call, grouped by what a client does in order of its life: find an adapter, make a
 * device, allocate, make resident, map, synchronize, submit, ask how things stand. Display and
 * presentation come after that, prototypes at the end. The comment behind a field says which way it
 * travels; fields without one are in, unless the struct's comment says otherwise.
 *
 * A window or device context is padded to 8 bytes, whatever the basic types make of its handle.
 * Prototypes are const where the kernel contract calls the struct an input, even if buffers it
 * points to, or a few of its own fields, are written.
 */
#ifndef _D3DKMTHK_H_
#define _D3DKMTHK_H_

#include "ntstatus.h"
#include "d3dkmdt.h"

#if defined(__cplusplus) && defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-anonymous-struct"
#pragma clang diagnostic ignored "-Wnested-anon-types"
#pragma clang diagnostic ignored "-Wc99-extensions"
#elif defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How a client names what it shares. A driver has the same structs from ntdef.h; there and here a
 * name consists of the WCHARs of whoever includes the header.
 */
#ifndef OPENDXGK_UNICODE_STRING_DEFINED
#define OPENDXGK_UNICODE_STRING_DEFINED
typedef struct _UNICODE_STRING {
	USHORT Length; /* bytes, not counting a terminator that need not be there */
	USHORT MaximumLength;
	PWSTR Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
#endif

#ifndef OPENDXGK_OBJECT_ATTRIBUTES_DEFINED
#define OPENDXGK_OBJECT_ATTRIBUTES_DEFINED
typedef struct _OBJECT_ATTRIBUTES {
	ULONG Length;               /* sizeof(OBJECT_ATTRIBUTES) */
	HANDLE RootDirectory;       /* NULL: names are not in directories */
	PUNICODE_STRING ObjectName; /* upper and lower case are the same; NULL or empty: no name */
	ULONG Attributes;
	PVOID SecurityDescriptor; /* not looked at: who has the descriptor may open it */
	PVOID SecurityQualityOfService;
} OBJECT_ATTRIBUTES, *POBJECT_ATTRIBUTES;
#endif

#define OBJ_INHERIT          0x00000002 /* the descriptor survives exec() */
#define OBJ_CASE_INSENSITIVE 0x00000040
#define OBJ_VALID_ATTRIBUTES 0x000007f2

/*
 * ---- Adapters: enumerate, open, close --------------------------------------------------------
 */

#define MAX_ENUM_ADAPTERS 16

typedef struct _D3DKMT_ADAPTERINFO {
	D3DKMT_HANDLE hAdapter;               /* out: open handle owned by the caller */
	LUID AdapterLuid;                     /* out */
	ULONG NumOfSources;                   /* out: number of video present sources */
	BOOL bPrecisePresentRegionsPreferred; /* out: hint for present code */
} D3DKMT_ADAPTERINFO;

typedef struct _D3DKMT_ENUMADAPTERS {
	ULONG NumAdapters;                              /* out: adapters written, 0..16 */
	D3DKMT_ADAPTERINFO Adapters[MAX_ENUM_ADAPTERS]; /* out: first NumAdapters entries valid */
} D3DKMT_ENUMADAPTERS;

/* Every entry that is returned holds an open handle, to be closed by the caller. */
typedef struct _D3DKMT_ENUMADAPTERS2 {
	ULONG NumAdapters;             /* in/out: capacity of pAdapters in elements */
	D3DKMT_ADAPTERINFO *pAdapters; /* out, optional: array; NULL = size query */
} D3DKMT_ENUMADAPTERS2;

typedef union _D3DKMT_ENUMADAPTERS_FILTER {
	struct {
		ULONGLONG IncludeComputeOnly : 1; /* also return compute-only adapters */
		ULONGLONG IncludeDisplayOnly : 1; /* also return display-only adapters */
		ULONGLONG Reserved : 62;
	};
	ULONGLONG Value;
} D3DKMT_ENUMADAPTERS_FILTER;

typedef struct _D3DKMT_ENUMADAPTERS3 {
	D3DKMT_ENUMADAPTERS_FILTER Filter; /* in */
	ULONG NumAdapters;                 /* in/out */
	D3DKMT_ADAPTERINFO *pAdapters;     /* out, optional */
} D3DKMT_ENUMADAPTERS3;

typedef struct _D3DKMT_OPENADAPTERFROMLUID {
	LUID AdapterLuid;       /* in: LUID of the adapter to open */
	D3DKMT_HANDLE hAdapter; /* out: new adapter handle */
} D3DKMT_OPENADAPTERFROMLUID;

typedef struct _D3DKMT_OPENADAPTERFROMDEVICENAME {
	PCWSTR pDeviceName;
	D3DKMT_HANDLE hAdapter;
	LUID AdapterLuid;
} D3DKMT_OPENADAPTERFROMDEVICENAME;

typedef struct _D3DKMT_OPENADAPTERFROMGDIDISPLAYNAME {
	WCHAR DeviceName[32];
	D3DKMT_HANDLE hAdapter;
	LUID AdapterLuid;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
} D3DKMT_OPENADAPTERFROMGDIDISPLAYNAME;

typedef struct _D3DKMT_OPENADAPTERFROMHDC {
	union {
		HDC hDc;
		UINT64 hDc_Align;
	};
	D3DKMT_HANDLE hAdapter;
	LUID AdapterLuid;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
} D3DKMT_OPENADAPTERFROMHDC;

typedef struct _D3DKMT_CLOSEADAPTER {
	D3DKMT_HANDLE hAdapter; /* in: handle from any open/enumerate call */
} D3DKMT_CLOSEADAPTER;

/*
 * ---- Adapters: query -------------------------------------------------------------------------
 * D3DKMTQueryAdapterInfo fills a buffer whose meaning depends on Type; the structs that follow
 * the call are those buffers. Several of them carry an index that the caller sets first.
 */

typedef enum _KMTQUERYADAPTERINFOTYPE {
	KMTQAITYPE_UMDRIVERPRIVATE = 0,
	KMTQAITYPE_UMDRIVERNAME = 1,
	KMTQAITYPE_UMOPENGLINFO = 2,
	KMTQAITYPE_GETSEGMENTSIZE = 3,
	KMTQAITYPE_ADAPTERGUID = 4,
	KMTQAITYPE_FLIPQUEUEINFO = 5,
	KMTQAITYPE_ADAPTERADDRESS = 6,
	KMTQAITYPE_SETWORKINGSETINFO = 7,
	KMTQAITYPE_ADAPTERREGISTRYINFO = 8,
	KMTQAITYPE_CURRENTDISPLAYMODE = 9,
	KMTQAITYPE_MODELIST = 10,
	KMTQAITYPE_CHECKDRIVERUPDATESTATUS = 11,
	KMTQAITYPE_VIRTUALADDRESSINFO = 12,
	KMTQAITYPE_DRIVERVERSION = 13,
	KMTQAITYPE_ADAPTERTYPE = 15,
	KMTQAITYPE_OUTPUTDUPLCONTEXTSCOUNT = 16,
	KMTQAITYPE_WDDM_1_2_CAPS = 17,
	KMTQAITYPE_UMD_DRIVER_VERSION = 18,
	KMTQAITYPE_DIRECTFLIP_SUPPORT = 19,
	KMTQAITYPE_MULTIPLANEOVERLAY_SUPPORT = 20,
	KMTQAITYPE_DLIST_DRIVER_NAME = 21,
	KMTQAITYPE_WDDM_1_3_CAPS = 22,
	KMTQAITYPE_MULTIPLANEOVERLAY_HUD_SUPPORT = 23,
	KMTQAITYPE_WDDM_2_0_CAPS = 24,
	KMTQAITYPE_NODEMETADATA = 25,
	KMTQAITYPE_CPDRIVERNAME = 26,
	KMTQAITYPE_XBOX = 27,
	KMTQAITYPE_INDEPENDENTFLIP_SUPPORT = 28,
	KMTQAITYPE_MIRACASTCOMPANIONDRIVERNAME = 29,
	KMTQAITYPE_PHYSICALADAPTERCOUNT = 30,
	KMTQAITYPE_PHYSICALADAPTERDEVICEIDS = 31,
	KMTQAITYPE_DRIVERCAPS_EXT = 32,
	KMTQAITYPE_QUERY_MIRACAST_DRIVER_TYPE = 33,
	KMTQAITYPE_QUERY_GPUMMU_CAPS = 34,
	KMTQAITYPE_QUERY_MULTIPLANEOVERLAY_DECODE_SUPPORT = 35,
	KMTQAITYPE_QUERY_HW_PROTECTION_TEARDOWN_COUNT = 36,
	KMTQAITYPE_QUERY_ISBADDRIVERFORHWPROTECTIONDISABLED = 37,
	KMTQAITYPE_MULTIPLANEOVERLAY_SECONDARY_SUPPORT = 38,
	KMTQAITYPE_INDEPENDENTFLIP_SECONDARY_SUPPORT = 39,
	KMTQAITYPE_PANELFITTER_SUPPORT = 40,
	KMTQAITYPE_PHYSICALADAPTERPNPKEY = 41,
	KMTQAITYPE_GETSEGMENTGROUPSIZE = 42,
	KMTQAITYPE_MPO3DDI_SUPPORT = 43,
	KMTQAITYPE_HWDRM_SUPPORT = 44,
	KMTQAITYPE_MPOKERNELCAPS_SUPPORT = 45,
	KMTQAITYPE_MULTIPLANEOVERLAY_STRETCH_SUPPORT = 46,
	KMTQAITYPE_GET_DEVICE_VIDPN_OWNERSHIP_INFO = 47,
	KMTQAITYPE_QUERYREGISTRY = 48,
	KMTQAITYPE_KMD_DRIVER_VERSION = 49,
	KMTQAITYPE_BLOCKLIST_KERNEL = 50,
	KMTQAITYPE_BLOCKLIST_RUNTIME = 51,
	KMTQAITYPE_ADAPTERGUID_RENDER = 52,
	KMTQAITYPE_ADAPTERADDRESS_RENDER = 53,
	KMTQAITYPE_ADAPTERREGISTRYINFO_RENDER = 54,
	KMTQAITYPE_CHECKDRIVERUPDATESTATUS_RENDER = 55,
	KMTQAITYPE_DRIVERVERSION_RENDER = 56,
	KMTQAITYPE_ADAPTERTYPE_RENDER = 57,
	KMTQAITYPE_WDDM_1_2_CAPS_RENDER = 58,
	KMTQAITYPE_WDDM_1_3_CAPS_RENDER = 59,
	KMTQAITYPE_QUERY_ADAPTER_UNIQUE_GUID = 60,
	KMTQAITYPE_NODEPERFDATA = 61,
	KMTQAITYPE_ADAPTERPERFDATA = 62,
	KMTQAITYPE_ADAPTERPERFDATA_CAPS = 63,
	KMTQUITYPE_GPUVERSION = 64,
	KMTQAITYPE_DRIVER_DESCRIPTION = 65,
	KMTQAITYPE_DRIVER_DESCRIPTION_RENDER = 66,
	KMTQAITYPE_SCANOUT_CAPS = 67,
	KMTQAITYPE_DISPLAY_UMDRIVERNAME = 71,
	KMTQAITYPE_PARAVIRTUALIZATION_RENDER = 68,
	KMTQAITYPE_SERVICENAME = 69,
	KMTQAITYPE_WDDM_2_7_CAPS = 70,
	KMTQAITYPE_TRACKEDWORKLOAD_SUPPORT = 72,
	KMTQAITYPE_HYBRID_DLIST_DLL_SUPPORT = 73,
	KMTQAITYPE_DISPLAY_CAPS = 74,
	KMTQAITYPE_WDDM_2_9_CAPS = 75,
	KMTQAITYPE_CROSSADAPTERRESOURCE_SUPPORT = 76,
	KMTQAITYPE_WDDM_3_0_CAPS = 77,
} KMTQUERYADAPTERINFOTYPE;

/* The buffer is in and out: see the type. */
typedef struct _D3DKMT_QUERYADAPTERINFO {
	D3DKMT_HANDLE hAdapter;       /* in */
	KMTQUERYADAPTERINFOTYPE Type; /* in */
	VOID *pPrivateDriverData;     /* in/out: buffer; several types also read inputs from it */
	UINT PrivateDriverDataSize;   /* in */
} D3DKMT_QUERYADAPTERINFO;

typedef enum _KMTUMDVERSION {
	KMTUMDVERSION_DX9 = 0,
	KMTUMDVERSION_DX10 = 1,
	KMTUMDVERSION_DX11 = 2,
	KMTUMDVERSION_DX12 = 3,
	NUM_KMTUMDVERSIONS = 4,
} KMTUMDVERSION;

/* KMTQAITYPE_UMDRIVERNAME. Version in, name out. */
typedef struct _D3DKMT_UMDFILENAMEINFO {
	KMTUMDVERSION Version;
	WCHAR UmdFileName[MAX_PATH];
} D3DKMT_UMDFILENAMEINFO;

typedef struct _D3DKMT_OPENGLINFO {
	WCHAR UmdOpenGlIcdFileName[MAX_PATH];
	ULONG Version;
	ULONG Flags;
} D3DKMT_OPENGLINFO;

/* KMTQAITYPE_GETSEGMENTSIZE. */
typedef struct _D3DKMT_SEGMENTSIZEINFO {
	ULONGLONG DedicatedVideoMemorySize;  /* out */
	ULONGLONG DedicatedSystemMemorySize; /* out */
	ULONGLONG SharedSystemMemorySize;    /* out */
} D3DKMT_SEGMENTSIZEINFO;

/* KMTQAITYPE_GETSEGMENTGROUPSIZE. The two groups are those of D3DKMT_MEMORY_SEGMENT_GROUP. */
typedef struct _D3DKMT_SEGMENTGROUPSIZEINFO {
	UINT32 PhysicalAdapterIndex;       /* in: LDA index */
	D3DKMT_SEGMENTSIZEINFO LegacyInfo; /* out */
	ULONGLONG LocalMemory;             /* out: bytes in the LOCAL budget group */
	ULONGLONG NonLocalMemory;          /* out: bytes in the NON_LOCAL budget group */
	ULONGLONG NonBudgetMemory;         /* out */
} D3DKMT_SEGMENTGROUPSIZEINFO;

typedef struct _D3DKMT_ADAPTERADDRESS {
	UINT BusNumber;
	UINT DeviceNumber;
	UINT FunctionNumber;
} D3DKMT_ADAPTERADDRESS;

typedef struct _D3DKMT_WORKINGSETFLAGS {
	UINT UseDefault : 1;
	UINT Reserved : 31;
} D3DKMT_WORKINGSETFLAGS;

typedef struct _D3DKMT_WORKINGSETINFO {
	D3DKMT_WORKINGSETFLAGS Flags;
	ULONG MinimumWorkingSetPercentile;
	ULONG MaximumWorkingSetPercentile;
} D3DKMT_WORKINGSETINFO;

typedef struct _D3DKMT_FLIPINFOFLAGS {
	UINT FlipInterval : 1;
	UINT Reserved : 31;
} D3DKMT_FLIPINFOFLAGS;

typedef struct _D3DKMT_FLIPQUEUEINFO {
	UINT MaxHardwareFlipQueueLength;
	UINT MaxSoftwareFlipQueueLength;
	D3DKMT_FLIPINFOFLAGS FlipFlags;
} D3DKMT_FLIPQUEUEINFO;

/* KMTQAITYPE_ADAPTERREGISTRYINFO. */
typedef struct _D3DKMT_ADAPTERREGISTRYINFO {
	WCHAR AdapterString[MAX_PATH];
	WCHAR BiosString[MAX_PATH];
	WCHAR DacType[MAX_PATH];
	WCHAR ChipType[MAX_PATH];
} D3DKMT_ADAPTERREGISTRYINFO;

typedef enum _D3DKMDT_MODE_PRUNING_REASON {
	D3DKMDT_MPR_UNINITIALIZED = 0,
	D3DKMDT_MPR_ALLCAPS = 1,
	D3DKMDT_MPR_DESCRIPTOR_MONITOR_SOURCE_MODE = 2,
	D3DKMDT_MPR_DESCRIPTOR_MONITOR_FREQUENCY_RANGE = 3,
	D3DKMDT_MPR_DESCRIPTOR_OVERRIDE_MONITOR_SOURCE_MODE = 4,
	D3DKMDT_MPR_DESCRIPTOR_OVERRIDE_MONITOR_FREQUENCY_RANGE = 5,
	D3DKMDT_MPR_DEFAULT_PROFILE_MONITOR_SOURCE_MODE = 6,
	D3DKMDT_MPR_DRIVER_RECOMMENDED_MONITOR_SOURCE_MODE = 7,
	D3DKMDT_MPR_MONITOR_FREQUENCY_RANGE_OVERRIDE = 8,
	D3DKMDT_MPR_CLONE_PATH_PRUNED = 9,
	D3DKMDT_MPR_MAXVALID = 10,
} D3DKMDT_MODE_PRUNING_REASON;

/* The unnamed field starts a new word: Windows compilers would not mix the two types in one. */
typedef struct _D3DKMDT_DISPLAYMODE_FLAGS {
	UINT ValidatedAgainstMonitorCaps : 1;
	UINT RoundedFakeMode : 1;
	UINT : 0;
	D3DKMDT_MODE_PRUNING_REASON ModePruningReason : 4;
	UINT Stereo : 1;
	UINT AdvancedScanCapable : 1;
	UINT PreferredTiming : 1;
	UINT PhysicalModeSupported : 1;
	UINT VirtualRefreshRate : 1;
	UINT Reserved : 23;
} D3DKMDT_DISPLAYMODE_FLAGS;

typedef struct _D3DKMT_DISPLAYMODE {
	UINT Width;
	UINT Height;
	D3DDDIFORMAT Format;
	UINT IntegerRefreshRate;
	D3DDDI_RATIONAL RefreshRate;
	D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING ScanLineOrdering;
	D3DDDI_ROTATION DisplayOrientation;
	UINT DisplayFixedOutput;
	D3DKMDT_DISPLAYMODE_FLAGS Flags;
} D3DKMT_DISPLAYMODE;

typedef struct _D3DKMT_CURRENTDISPLAYMODE {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_DISPLAYMODE DisplayMode;
} D3DKMT_CURRENTDISPLAYMODE;

typedef struct _D3DKMT_VIRTUALADDRESSFLAGS {
	UINT VirtualAddressSupported : 1;
	UINT Reserved : 31;
} D3DKMT_VIRTUALADDRESSFLAGS;

typedef struct _D3DKMT_VIRTUALADDRESSINFO {
	D3DKMT_VIRTUALADDRESSFLAGS VirtualAddressFlags;
} D3DKMT_VIRTUALADDRESSINFO;

/* KMTQAITYPE_DRIVERVERSION: the WDDM level, times a thousand. */
typedef enum _D3DKMT_DRIVERVERSION {
	KMT_DRIVERVERSION_WDDM_1_0 = 1000,
	KMT_DRIVERVERSION_WDDM_1_1_PRERELEASE = 1102,
	KMT_DRIVERVERSION_WDDM_1_1 = 1105,
	KMT_DRIVERVERSION_WDDM_1_2 = 1200,
	KMT_DRIVERVERSION_WDDM_1_3 = 1300,
	KMT_DRIVERVERSION_WDDM_2_0 = 2000,
	KMT_DRIVERVERSION_WDDM_2_1 = 2100,
	KMT_DRIVERVERSION_WDDM_2_2 = 2200,
	KMT_DRIVERVERSION_WDDM_2_3 = 2300,
	KMT_DRIVERVERSION_WDDM_2_4 = 2400,
	KMT_DRIVERVERSION_WDDM_2_5 = 2500,
	KMT_DRIVERVERSION_WDDM_2_6 = 2600,
	KMT_DRIVERVERSION_WDDM_2_7 = 2700,
	KMT_DRIVERVERSION_WDDM_2_8 = 2800,
	KMT_DRIVERVERSION_WDDM_2_9 = 2900,
	KMT_DRIVERVERSION_WDDM_3_0 = 3000,
	KMT_DRIVERVERSION_WDDM_3_1 = 3100,
} D3DKMT_DRIVERVERSION;

/* KMTQAITYPE_ADAPTERTYPE. */
typedef struct _D3DKMT_ADAPTERTYPE {
	union {
		struct {
			UINT RenderSupported : 1;  /* can render */
			UINT DisplaySupported : 1; /* has display outputs */
			UINT SoftwareDevice : 1;   /* software adapter */
			UINT PostDevice : 1;       /* firmware boot display */
			UINT HybridDiscrete : 1;
			UINT HybridIntegrated : 1;
			UINT IndirectDisplayDevice : 1;
			UINT Paravirtualized : 1;
			UINT ACGSupported : 1;
			UINT SupportSetTimingsFromVidPn : 1;
			UINT Detachable : 1;
			UINT ComputeOnly : 1;
			UINT Prototype : 1;
			UINT RuntimePowerManagement : 1;
			UINT Reserved : 18;
		};
		UINT Value;
	};
} D3DKMT_ADAPTERTYPE;

typedef struct _D3DKMT_OUTPUTDUPLCONTEXTSCOUNT {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT OutputDuplicationCount;
} D3DKMT_OUTPUTDUPLCONTEXTSCOUNT;

typedef struct _D3DKMT_UMD_DRIVER_VERSION {
	LARGE_INTEGER DriverVersion;
} D3DKMT_UMD_DRIVER_VERSION;

typedef struct _D3DKMT_KMD_DRIVER_VERSION {
	LARGE_INTEGER DriverVersion;
} D3DKMT_KMD_DRIVER_VERSION;

typedef struct _D3DKMT_DIRECTFLIP_SUPPORT {
	BOOL Supported;
} D3DKMT_DIRECTFLIP_SUPPORT;

typedef struct _D3DKMT_MULTIPLANEOVERLAY_SUPPORT {
	BOOL Supported;
} D3DKMT_MULTIPLANEOVERLAY_SUPPORT;

typedef struct _D3DKMT_MULTIPLANEOVERLAY_HUD_SUPPORT {
	UINT VidPnSourceId;
	BOOL Update;
	BOOL KernelSupported;
	BOOL HudSupported;
} D3DKMT_MULTIPLANEOVERLAY_HUD_SUPPORT;

typedef struct _D3DKMT_MULTIPLANEOVERLAY_DECODE_SUPPORT {
	BOOL Supported;
} D3DKMT_MULTIPLANEOVERLAY_DECODE_SUPPORT;

typedef struct _D3DKMT_MULTIPLANEOVERLAY_SECONDARY_SUPPORT {
	BOOL Supported;
} D3DKMT_MULTIPLANEOVERLAY_SECONDARY_SUPPORT;

typedef struct _D3DKMT_MULTIPLANEOVERLAY_STRETCH_SUPPORT {
	UINT VidPnSourceId;
	BOOL Update;
	BOOL Supported;
} D3DKMT_MULTIPLANEOVERLAY_STRETCH_SUPPORT;

typedef struct _D3DKMT_INDEPENDENTFLIP_SUPPORT {
	BOOL Supported;
} D3DKMT_INDEPENDENTFLIP_SUPPORT;

typedef struct _D3DKMT_INDEPENDENTFLIP_SECONDARY_SUPPORT {
	BOOL Supported;
} D3DKMT_INDEPENDENTFLIP_SECONDARY_SUPPORT;

typedef struct _D3DKMT_PANELFITTER_SUPPORT {
	BOOL Supported;
} D3DKMT_PANELFITTER_SUPPORT;

typedef struct _D3DKMT_DLIST_DRIVER_NAME {
	WCHAR DListFileName[MAX_PATH];
} D3DKMT_DLIST_DRIVER_NAME;

typedef struct _D3DKMT_CPDRIVERNAME {
	WCHAR ContentProtectionFileName[MAX_PATH];
} D3DKMT_CPDRIVERNAME;

typedef struct _D3DKMT_MIRACASTCOMPANIONDRIVERNAME {
	WCHAR MiracastCompanionDriverName[MAX_PATH];
} D3DKMT_MIRACASTCOMPANIONDRIVERNAME;

typedef enum _D3DKMT_MIRACAST_DRIVER_TYPE {
	D3DKMT_MIRACAST_DRIVER_NOT_SUPPORTED = 0,
	D3DKMT_MIRACAST_DRIVER_IHV = 1,
	D3DKMT_MIRACAST_DRIVER_MS = 2,
} D3DKMT_MIRACAST_DRIVER_TYPE;

typedef struct _D3DKMT_QUERY_MIRACAST_DRIVER_TYPE {
	D3DKMT_MIRACAST_DRIVER_TYPE MiracastDriverType;
} D3DKMT_QUERY_MIRACAST_DRIVER_TYPE;

typedef struct _D3DKMT_XBOX {
	BOOL IsXBOX;
} D3DKMT_XBOX;

typedef struct _D3DKMT_ISBADDRIVERFORHWPROTECTIONDISABLED {
	BOOL Disabled;
} D3DKMT_ISBADDRIVERFORHWPROTECTIONDISABLED;

typedef struct _D3DKMT_PHYSICAL_ADAPTER_COUNT {
	UINT Count;
} D3DKMT_PHYSICAL_ADAPTER_COUNT;

typedef struct _D3DKMT_DEVICE_IDS {
	UINT VendorID;
	UINT DeviceID;
	UINT SubVendorID;
	UINT SubSystemID;
	UINT RevisionID;
	UINT BusType;
} D3DKMT_DEVICE_IDS;

/* KMTQAITYPE_PHYSICALADAPTERDEVICEIDS. Index in. */
typedef struct _D3DKMT_QUERY_DEVICE_IDS {
	UINT PhysicalAdapterIndex;
	D3DKMT_DEVICE_IDS DeviceIds;
} D3DKMT_QUERY_DEVICE_IDS;

typedef enum _D3DKMT_PNP_KEY_TYPE {
	D3DKMT_PNP_KEY_HARDWARE = 1,
	D3DKMT_PNP_KEY_SOFTWARE = 2,
} D3DKMT_PNP_KEY_TYPE;

typedef struct _D3DKMT_QUERY_PHYSICAL_ADAPTER_PNP_KEY {
	UINT PhysicalAdapterIndex;
	D3DKMT_PNP_KEY_TYPE PnPKeyType;
	WCHAR *pDest;
	UINT *pCchDest;
} D3DKMT_QUERY_PHYSICAL_ADAPTER_PNP_KEY;

typedef struct _D3DKMT_GPUMMU_CAPS {
	union {
		struct {
			UINT ReadOnlyMemorySupported : 1;
			UINT NoExecuteMemorySupported : 1;
			UINT CacheCoherentMemorySupported : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	} Flags;
	UINT VirtualAddressBitCount;
} D3DKMT_GPUMMU_CAPS;

/* KMTQAITYPE_QUERY_GPUMMU_CAPS. Index in. */
typedef struct _D3DKMT_QUERY_GPUMMU_CAPS {
	UINT PhysicalAdapterIndex;
	D3DKMT_GPUMMU_CAPS Caps;
} D3DKMT_QUERY_GPUMMU_CAPS;

typedef struct _D3DKMT_MPO3DDI_SUPPORT {
	BOOL Supported;
} D3DKMT_MPO3DDI_SUPPORT;

typedef struct _D3DKMT_HWDRM_SUPPORT {
	BOOLEAN Supported;
} D3DKMT_HWDRM_SUPPORT;

typedef struct _D3DKMT_MPOKERNELCAPS_SUPPORT {
	BOOL Supported;
} D3DKMT_MPOKERNELCAPS_SUPPORT;

typedef struct _D3DKMT_GET_DEVICE_VIDPN_OWNERSHIP_INFO {
	D3DKMT_HANDLE hDevice;
	BOOLEAN bFailedDwmAcquireVidPn;
} D3DKMT_GET_DEVICE_VIDPN_OWNERSHIP_INFO;

typedef struct _D3DKMT_BLOCKLIST_INFO {
	UINT Size;
	WCHAR BlockList[1];
} D3DKMT_BLOCKLIST_INFO;

typedef struct _D3DKMT_QUERY_ADAPTER_UNIQUE_GUID {
	WCHAR AdapterUniqueGUID[40];
} D3DKMT_QUERY_ADAPTER_UNIQUE_GUID;

/* KMTQAITYPE_NODEPERFDATA. Node and adapter in. */
typedef struct _D3DKMT_NODE_PERFDATA {
	UINT32 NodeOrdinal;
	UINT32 PhysicalAdapterIndex;
	ULONGLONG Frequency;
	ULONGLONG MaxFrequency;
	ULONGLONG MaxFrequencyOC;
	ULONG Voltage;
	ULONG VoltageMax;
	ULONG VoltageMaxOC;
	ULONGLONG MaxTransitionLatency;
} D3DKMT_NODE_PERFDATA;

/* KMTQAITYPE_ADAPTERPERFDATA. Temperatures in tenths of a degree, fan in rpm. */
typedef struct _D3DKMT_ADAPTER_PERFDATA {
	UINT32 PhysicalAdapterIndex;
	ULONGLONG MemoryFrequency;
	ULONGLONG MaxMemoryFrequency;
	ULONGLONG MaxMemoryFrequencyOC;
	ULONGLONG MemoryBandwidth;
	ULONGLONG PCIEBandwidth;
	ULONG FanRPM;
	ULONG Power;
	ULONG Temperature;
	UCHAR PowerStateOverride;
} D3DKMT_ADAPTER_PERFDATA;

typedef struct _D3DKMT_ADAPTER_PERFDATACAPS {
	UINT32 PhysicalAdapterIndex;
	ULONGLONG MaxMemoryBandwidth;
	ULONGLONG MaxPCIEBandwidth;
	ULONG MaxFanRPM;
	ULONG TemperatureMax;
	ULONG TemperatureWarning;
} D3DKMT_ADAPTER_PERFDATACAPS;

typedef struct _D3DKMT_GPUVERSION {
	UINT32 PhysicalAdapterIndex;
	WCHAR BiosVersion[DXGK_MAX_GPUVERSION_NAME_LENGTH];
	WCHAR GpuArchitecture[DXGK_MAX_GPUVERSION_NAME_LENGTH];
} D3DKMT_GPUVERSION;

/* KMTQAITYPE_DRIVER_DESCRIPTION. */
typedef struct _D3DKMT_DRIVER_DESCRIPTION {
	WCHAR DriverDescription[4096];
} D3DKMT_DRIVER_DESCRIPTION;

typedef struct _D3DKMT_QUERY_SCANOUT_CAPS {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT Caps;
} D3DKMT_QUERY_SCANOUT_CAPS;

typedef enum _KMT_DISPLAY_UMD_VERSION {
	KMT_DISPLAY_UMDVERSION_1 = 0,
	NUM_KMT_DISPLAY_UMDVERSIONS = 1,
} KMT_DISPLAY_UMD_VERSION;

typedef struct _D3DKMT_DISPLAY_UMD_FILENAMEINFO {
	KMT_DISPLAY_UMD_VERSION Version;
	WCHAR UmdFileName[MAX_PATH];
} D3DKMT_DISPLAY_UMD_FILENAMEINFO;

typedef struct _D3DKMT_PARAVIRTUALIZATION {
	BOOLEAN SecureContainer;
} D3DKMT_PARAVIRTUALIZATION;

typedef struct _D3DKMT_HYBRID_DLIST_DLL_SUPPORT {
	BOOL Supported;
} D3DKMT_HYBRID_DLIST_DLL_SUPPORT;

typedef enum _D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER {
	D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER_NONE = 0,
	D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER_COPY = 1,
	D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER_TEXTURE = 2,
	D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER_SCANOUT = 3,
} D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER;

typedef struct _D3DKMT_CROSSADAPTERRESOURCE_SUPPORT {
	D3DKMT_CROSSADAPTERRESOURCE_SUPPORT_TIER SupportTier;
} D3DKMT_CROSSADAPTERRESOURCE_SUPPORT;

typedef struct _D3DKMT_HISTORY_BUFFER_STATUS {
	BOOLEAN Enabled;
	UINT Reserved;
} D3DKMT_HISTORY_BUFFER_STATUS;

/* How an installed driver's name tells that it comes in several parts. */
#define D3DKMT_COMPONENTIZED_INDICATOR L'#'
#define D3DKMT_SUBKEY_DX9              L"DX9"
#define D3DKMT_SUBKEY_OPENGL           L"OpenGL"

/*
 * ---- Devices and contexts --------------------------------------------------------------------
 */

typedef struct _D3DKMT_CREATEDEVICEFLAGS {
	UINT LegacyMode : 1;
	UINT RequestVSync : 1;      /* keep the vsync interrupt enabled while the device lives */
	UINT DisableGpuTimeout : 1; /* Windows 8+: TDR is off for this device */
	UINT Reserved : 29;
} D3DKMT_CREATEDEVICEFLAGS;

/* The buffers are for clients that submit with D3DKMTRender through the device itself. */
typedef struct _D3DKMT_CREATEDEVICE {
	union {
		D3DKMT_HANDLE hAdapter; /* in: user-mode creation: adapter handle */
		VOID *pAdapter;         /* in: kernel-mode creation only (overlaps hAdapter) */
	};
	D3DKMT_CREATEDEVICEFLAGS Flags;               /* in */
	D3DKMT_HANDLE hDevice;                        /* out: device handle */
	VOID *pCommandBuffer;                         /* out: legacy single-context devices only */
	UINT CommandBufferSize;                       /* out */
	D3DDDI_ALLOCATIONLIST *pAllocationList;       /* out */
	UINT AllocationListSize;                      /* out */
	D3DDDI_PATCHLOCATIONLIST *pPatchLocationList; /* out */
	UINT PatchLocationListSize;                   /* out */
} D3DKMT_CREATEDEVICE;

typedef struct _D3DKMT_DESTROYDEVICE {
	D3DKMT_HANDLE hDevice; /* in */
} D3DKMT_DESTROYDEVICE;

typedef enum _D3DKMT_CLIENTHINT {
	D3DKMT_CLIENTHINT_UNKNOWN = 0,
	D3DKMT_CLIENTHINT_OPENGL = 1,
	D3DKMT_CLIENTHINT_CDD = 2,
	D3DKMT_CLIENTHINT_OPENCL = 3,
	D3DKMT_CLIENTHINT_VULKAN = 4,
	D3DKMT_CLIENTHINT_CUDA = 5,
	D3DKMT_CLIENTHINT_RESERVED = 6,
	D3DKMT_CLIENTHINT_DX7 = 7,
	D3DKMT_CLIENTHINT_DX8 = 8,
	D3DKMT_CLIENTHINT_DX9 = 9,
	D3DKMT_CLIENTHINT_DX10 = 10,
	D3DKMT_CLIENTHINT_DX11 = 11,
	D3DKMT_CLIENTHINT_DX12 = 12,
	D3DKMT_CLIENTHINT_9ON12 = 13,
	D3DKMT_CLIENTHINT_11ON12 = 14,
	D3DKMT_CLIENTHINT_MFT_ENCODE = 15,
	D3DKMT_CLIENTHINT_GLON12 = 16,
	D3DKMT_CLIENTHINT_CLON12 = 17,
	D3DKMT_CLIENTHINT_DML_TENSORFLOW = 18,
	D3DKMT_CLIENTHINT_ONEAPI_LEVEL0 = 19,
	D3DKMT_CLIENTHINT_MAX = 20,
} D3DKMT_CLIENTHINT;

/* For the patching model: the kernel owns the command buffer and the two lists. */
typedef struct _D3DKMT_CREATECONTEXT {
	D3DKMT_HANDLE hDevice;           /* in: owner device */
	UINT NodeOrdinal;                /* in */
	UINT EngineAffinity;             /* in */
	D3DDDI_CREATECONTEXTFLAGS Flags; /* in */
	VOID *pPrivateDriverData;        /* in: opaque to the kernel, passed to the miniport */
	UINT PrivateDriverDataSize;      /* in */
	D3DKMT_CLIENTHINT ClientHint;    /* in */
	D3DKMT_HANDLE hContext;          /* out: context handle */
	VOID *pCommandBuffer;            /* out: first command buffer for D3DKMTRender */
	UINT CommandBufferSize;          /* out */
	D3DDDI_ALLOCATIONLIST *pAllocationList;       /* out: first D3DDDI_ALLOCATIONLIST array */
	UINT AllocationListSize;                      /* out */
	D3DDDI_PATCHLOCATIONLIST *pPatchLocationList; /* out */
	UINT PatchLocationListSize;                   /* out */
	D3DGPU_VIRTUAL_ADDRESS CommandBuffer;         /* out */
} D3DKMT_CREATECONTEXT;

/* For GPU virtual addressing: the client owns its command buffers. */
typedef struct _D3DKMT_CREATECONTEXTVIRTUAL {
	D3DKMT_HANDLE hDevice;           /* in: owner device */
	UINT NodeOrdinal;                /* in: node index */
	UINT EngineAffinity;             /* in */
	D3DDDI_CREATECONTEXTFLAGS Flags; /* in */
	VOID *pPrivateDriverData;        /* in */
	UINT PrivateDriverDataSize;      /* in */
	D3DKMT_CLIENTHINT ClientHint;    /* in */
	D3DKMT_HANDLE hContext;          /* out: context handle */
} D3DKMT_CREATECONTEXTVIRTUAL;

typedef struct _D3DKMT_DESTROYCONTEXT {
	D3DKMT_HANDLE hContext; /* in */
} D3DKMT_DESTROYCONTEXT;

typedef struct _D3DKMT_CREATEHWCONTEXT {
	D3DKMT_HANDLE hDevice;             /* in: owner device */
	UINT NodeOrdinal;                  /* in */
	UINT EngineAffinity;               /* in: engine mask */
	D3DDDI_CREATEHWCONTEXTFLAGS Flags; /* in */
	UINT PrivateDriverDataSize;        /* in */
	VOID *pPrivateDriverData; /* in/out: exchanged with the miniport (both directions) */
	D3DKMT_HANDLE hHwContext; /* out */
} D3DKMT_CREATEHWCONTEXT;

typedef struct _D3DKMT_DESTROYHWCONTEXT {
	D3DKMT_HANDLE hHwContext; /* in */
} D3DKMT_DESTROYHWCONTEXT;

/* The progress fence counts what the queue has finished. */
typedef struct _D3DKMT_CREATEHWQUEUE {
	D3DKMT_HANDLE hHwContext; /* in: hw context, or a context created with HwQueueSupported */
	D3DDDI_CREATEHWQUEUEFLAGS Flags;             /* in */
	UINT PrivateDriverDataSize;                  /* in */
	VOID *pPrivateDriverData;                    /* in/out: exchanged with the miniport */
	D3DKMT_HANDLE hHwQueue;                      /* out: queue handle */
	D3DKMT_HANDLE hHwQueueProgressFence;         /* out: monitored fence owned by the queue */
	VOID *HwQueueProgressFenceCPUVirtualAddress; /* out */
	D3DGPU_VIRTUAL_ADDRESS HwQueueProgressFenceGPUVirtualAddress; /* out */
} D3DKMT_CREATEHWQUEUE;

typedef struct _D3DKMT_DESTROYHWQUEUE {
	D3DKMT_HANDLE hHwQueue; /* in */
} D3DKMT_DESTROYHWQUEUE;

/*
 * ---- Scheduling priorities -------------------------------------------------------------------
 */

#define D3DKMT_SETCONTEXTSCHEDULINGPRIORITY_ABSOLUTE 0x40000000

typedef struct _D3DKMT_SETCONTEXTSCHEDULINGPRIORITY {
	D3DKMT_HANDLE hContext;
	INT Priority;
} D3DKMT_SETCONTEXTSCHEDULINGPRIORITY;

typedef struct _D3DKMT_GETCONTEXTSCHEDULINGPRIORITY {
	D3DKMT_HANDLE hContext;
	INT Priority;
} D3DKMT_GETCONTEXTSCHEDULINGPRIORITY;

typedef struct _D3DKMT_SETCONTEXTINPROCESSSCHEDULINGPRIORITY {
	D3DKMT_HANDLE hContext;
	INT Priority;
} D3DKMT_SETCONTEXTINPROCESSSCHEDULINGPRIORITY;

typedef struct _D3DKMT_GETCONTEXTINPROCESSSCHEDULINGPRIORITY {
	D3DKMT_HANDLE hContext;
	INT Priority;
} D3DKMT_GETCONTEXTINPROCESSSCHEDULINGPRIORITY;

/* Of a whole process. */
typedef enum _D3DKMT_SCHEDULINGPRIORITYCLASS {
	D3DKMT_SCHEDULINGPRIORITYCLASS_IDLE = 0,
	D3DKMT_SCHEDULINGPRIORITYCLASS_BELOW_NORMAL = 1,
	D3DKMT_SCHEDULINGPRIORITYCLASS_NORMAL = 2,
	D3DKMT_SCHEDULINGPRIORITYCLASS_ABOVE_NORMAL = 3,
	D3DKMT_SCHEDULINGPRIORITYCLASS_HIGH = 4,
	D3DKMT_SCHEDULINGPRIORITYCLASS_REALTIME = 5,
} D3DKMT_SCHEDULINGPRIORITYCLASS;

typedef enum _D3DKMT_QUEUEDLIMIT_TYPE {
	D3DKMT_SET_QUEUEDLIMIT_PRESENT = 1,
	D3DKMT_GET_QUEUEDLIMIT_PRESENT = 2,
} D3DKMT_QUEUEDLIMIT_TYPE;

typedef struct _D3DKMT_SETQUEUEDLIMIT {
	D3DKMT_HANDLE hDevice;
	D3DKMT_QUEUEDLIMIT_TYPE Type;
	union {
		UINT QueuedPresentLimit;
		D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	};
	UINT QueuedPendingFlipLimit;
} D3DKMT_SETQUEUEDLIMIT;

typedef struct _D3DKMT_SETSTABLEPOWERSTATE {
	D3DKMT_HANDLE hAdapter;
	BOOL Enabled;
} D3DKMT_SETSTABLEPOWERSTATE;

/*
 * ---- The state of a device -------------------------------------------------------------------
 */

/* Anything but ACTIVE means that the device is lost. */
typedef enum _D3DKMT_DEVICEEXECUTION_STATE {
	D3DKMT_DEVICEEXECUTION_ACTIVE = 1,
	D3DKMT_DEVICEEXECUTION_RESET = 2,
	D3DKMT_DEVICEEXECUTION_HUNG = 3,
	D3DKMT_DEVICEEXECUTION_STOPPED = 4,
	D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY = 5,
	D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT = 6,
	D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT = 7,
} D3DKMT_DEVICEEXECUTION_STATE;

typedef struct _D3DKMT_DEVICERESET_STATE {
	union {
		struct {
			UINT DesktopSwitched : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DKMT_DEVICERESET_STATE;

typedef struct _D3DKMT_DEVICEPAGEFAULT_STATE {
	UINT64 FaultedPrimitiveAPISequenceNumber;        /* out: draw that faulted */
	DXGK_RENDER_PIPELINE_STAGE FaultedPipelineStage; /* out */
	UINT FaultedBindTableEntry;                      /* out: or DXGK_BIND_TABLE_ENTRY_UNKNOWN */
	DXGK_PAGE_FAULT_FLAGS PageFaultFlags;            /* out: nature of the fault */
	DXGK_FAULT_ERROR_CODE FaultErrorCode;            /* out */
	D3DGPU_VIRTUAL_ADDRESS FaultedVirtualAddress;    /* out: GPU VA, or D3DGPU_NULL */
} D3DKMT_DEVICEPAGEFAULT_STATE;

typedef struct _D3DKMT_PRESENT_STATS {
	UINT PresentCount;
	UINT PresentRefreshCount;
	UINT SyncRefreshCount;
	LARGE_INTEGER SyncQPCTime;
	LARGE_INTEGER SyncGPUTime;
} D3DKMT_PRESENT_STATS;

typedef struct _D3DKMT_DEVICEPRESENT_STATE {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_PRESENT_STATS PresentStats;
} D3DKMT_DEVICEPRESENT_STATE;

typedef struct _D3DKMT_PRESENT_STATS_DWM {
	UINT PresentCount;
	UINT PresentRefreshCount;
	LARGE_INTEGER PresentQPCTime;
	UINT SyncRefreshCount;
	LARGE_INTEGER SyncQPCTime;
	UINT CustomPresentDuration;
} D3DKMT_PRESENT_STATS_DWM;

typedef struct _D3DKMT_PRESENT_STATS_DWM2 {
	ULONG cbSize;
	UINT PresentCount;
	UINT PresentRefreshCount;
	LARGE_INTEGER PresentQPCTime;
	UINT SyncRefreshCount;
	LARGE_INTEGER SyncQPCTime;
	UINT CustomPresentDuration;
	UINT VirtualSyncRefreshCount;
	LARGE_INTEGER VirtualSyncQPCTime;
} D3DKMT_PRESENT_STATS_DWM2;

typedef struct _D3DKMT_DEVICEPRESENT_STATE_DWM {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_PRESENT_STATS_DWM PresentStatsDWM;
} D3DKMT_DEVICEPRESENT_STATE_DWM;

typedef struct _D3DKMT_DEVICEPRESENT_QUEUE_STATE {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	BOOLEAN bQueuedPresentLimitReached;
} D3DKMT_DEVICEPRESENT_QUEUE_STATE;

typedef enum _D3DKMT_DEVICESTATE_TYPE {
	D3DKMT_DEVICESTATE_EXECUTION = 1,
	D3DKMT_DEVICESTATE_PRESENT = 2,
	D3DKMT_DEVICESTATE_RESET = 3,
	D3DKMT_DEVICESTATE_PRESENT_DWM = 4,
	D3DKMT_DEVICESTATE_PAGE_FAULT = 5,
	D3DKMT_DEVICESTATE_PRESENT_QUEUE = 6,
} D3DKMT_DEVICESTATE_TYPE;

/* StateType chooses the member of the union. */
typedef struct _D3DKMT_GETDEVICESTATE {
	D3DKMT_HANDLE hDevice;             /* in */
	D3DKMT_DEVICESTATE_TYPE StateType; /* in */
	union {
		D3DKMT_DEVICEEXECUTION_STATE ExecutionState;        /* out */
		D3DKMT_DEVICEPRESENT_STATE PresentState;            /* in/out */
		D3DKMT_DEVICERESET_STATE ResetState;                /* out */
		D3DKMT_DEVICEPRESENT_STATE_DWM PresentStateDWM;     /* in/out */
		D3DKMT_DEVICEPAGEFAULT_STATE PageFaultState;        /* out */
		D3DKMT_DEVICEPRESENT_QUEUE_STATE PresentQueueState; /* in/out */
	};
} D3DKMT_GETDEVICESTATE;

__extension__ typedef enum _D3DKMT_DEVICE_ERROR_REASON {
	D3DKMT_DEVICE_ERROR_REASON_GENERIC = 0x80000000u,
	D3DKMT_DEVICE_ERROR_REASON_DRIVER_ERROR = 0x80000006u,
} D3DKMT_DEVICE_ERROR_REASON;

typedef struct _D3DKMT_MARKDEVICEASERROR {
	D3DKMT_HANDLE hDevice;             /* in */
	D3DKMT_DEVICE_ERROR_REASON Reason; /* in */
} D3DKMT_MARKDEVICEASERROR;

typedef struct _D3DKMT_GETPROCESSDEVICEREMOVALSUPPORT {
	HANDLE hProcess;
	LUID AdapterLuid;
	BOOLEAN Support;
} D3DKMT_GETPROCESSDEVICEREMOVALSUPPORT;

typedef struct _D3DKMT_WAITFORIDLE {
	D3DKMT_HANDLE hDevice;
} D3DKMT_WAITFORIDLE;

/*
 * ---- Allocations and resources ---------------------------------------------------------------
 */

typedef enum _D3DKMT_STANDARDALLOCATIONTYPE {
	D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP = 1,
	D3DKMT_STANDARDALLOCATIONTYPE_INTERNALBACKINGSTORE = 2,
	D3DKMT_STANDARDALLOCATIONTYPE_MAX = 3,
} D3DKMT_STANDARDALLOCATIONTYPE;

typedef struct _D3DKMT_STANDARDALLOCATION_EXISTINGHEAP {
	D3DKMT_SIZE_T Size;
} D3DKMT_STANDARDALLOCATION_EXISTINGHEAP;

typedef struct _D3DKMT_CREATESTANDARDALLOCATIONFLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} D3DKMT_CREATESTANDARDALLOCATIONFLAGS;

/* An allocation that needs no driver private data; only an existing heap is open to clients. */
typedef struct _D3DKMT_CREATESTANDARDALLOCATION {
	D3DKMT_STANDARDALLOCATIONTYPE Type;                      /* in */
	D3DKMT_STANDARDALLOCATION_EXISTINGHEAP ExistingHeapData; /* in */
	D3DKMT_CREATESTANDARDALLOCATIONFLAGS Flags;              /* in */
} D3DKMT_CREATESTANDARDALLOCATION;

typedef struct _D3DKMT_CREATEALLOCATIONFLAGS {
	UINT CreateResource : 1;       /* make a resource and return its handle */
	UINT CreateShared : 1;         /* resource visible to other devices/processes */
	UINT NonSecure : 1;            /* may be opened by any process, secure or not */
	UINT CreateProtected : 1;      /* reserved; kernel-mode creators only (Win7+) */
	UINT RestrictSharedAccess : 1; /* shared, but access limited */
	UINT ExistingSysMem : 1;    /* back the allocation with the caller's memory (pSystemMem) */
	UINT NtSecuritySharing : 1; /* Win8+: share by NT handle only, no global handle */
	UINT ReadOnly : 1;          /* Win8+: allocation may only be read */
	UINT CreateWriteCombined : 1; /* kernel-mode creators only */
	UINT CreateCached : 1;        /* kernel-mode creators only */
	UINT SwapChainBackBuffer : 1;
	UINT CrossAdapter : 1;     /* WDDM 1.3: shared cross-adapter resource */
	UINT OpenCrossAdapter : 1; /* WDDM 1.3: set internally when opening such a resource */
	UINT PartialSharedCreation : 1;
	UINT Zeroed : 1; /* out: the memory was zeroed */
	UINT WriteWatch : 1;
	UINT StandardAllocation : 1; /* WDDM 2.3: use pStandardAllocation */
	UINT ExistingSection : 1;    /* WDDM 2.3: back by section handle hSection */
	UINT AllowNotZeroed : 1;
	UINT PhysicallyContiguous : 1; /* WDDM 2.7: must be physically contiguous */
	UINT NoKmdAccess : 1;          /* WDDM 2.7: miniport is not told about the allocation */
	UINT SharedDisplayable : 1;
	UINT Reserved : 10;
} D3DKMT_CREATEALLOCATIONFLAGS;

/* Creates a resource, allocations in it, or allocations on their own. All of them or none. */
typedef struct _D3DKMT_CREATEALLOCATION {
	D3DKMT_HANDLE hDevice;   /* in: owning device */
	D3DKMT_HANDLE hResource; /* in/out: 0, or an existing resource of this device to add to */
	D3DKMT_HANDLE hGlobalShare;      /* out: legacy global share handle */
	CONST VOID *pPrivateRuntimeData; /* in, optional: blob stored with the resource */
	UINT PrivateRuntimeDataSize;     /* in */
	union {
		D3DKMT_CREATESTANDARDALLOCATION *pStandardAllocation; /* in */
		CONST VOID *pPrivateDriverData;                       /* in */
	};
	UINT PrivateDriverDataSize; /* in: 0 for a standard allocation */
	UINT NumAllocations;        /* in: may be 0: a resource with no allocations yet is legal */
	union {
		D3DDDI_ALLOCATIONINFO *pAllocationInfo;   /* in/out: v1 array */
		D3DDDI_ALLOCATIONINFO2 *pAllocationInfo2; /* in/out: v2 array */
	};
	D3DKMT_CREATEALLOCATIONFLAGS Flags;   /* in/out */
	HANDLE hPrivateRuntimeResourceHandle; /* in: opaque, only for event tracing */
} D3DKMT_CREATEALLOCATION;

typedef struct _D3DKMT_DESTROYALLOCATION {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hResource;
	CONST D3DKMT_HANDLE *phAllocationList;
	UINT AllocationCount;
} D3DKMT_DESTROYALLOCATION;

/* Either a resource with all it holds, or a list. */
typedef struct _D3DKMT_DESTROYALLOCATION2 {
	D3DKMT_HANDLE hDevice;                  /* in: device that created or opened the objects */
	D3DKMT_HANDLE hResource;                /* in */
	CONST D3DKMT_HANDLE *phAllocationList;  /* in: handles; must be NULL if hResource is set */
	UINT AllocationCount;                   /* in: ignored if hResource is set */
	D3DDDICB_DESTROYALLOCATION2FLAGS Flags; /* in */
} D3DKMT_DESTROYALLOCATION2;

typedef struct _D3DKMT_LOCK {
	D3DKMT_HANDLE hDevice;                    /* in */
	D3DKMT_HANDLE hAllocation;                /* in/out */
	UINT PrivateDriverData;                   /* in */
	UINT NumPages;                            /* in */
	CONST UINT *pPages;                       /* in */
	VOID *pData;                              /* out */
	D3DDDICB_LOCKFLAGS Flags;                 /* in */
	D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddress; /* out */
} D3DKMT_LOCK;

typedef struct _D3DKMT_UNLOCK {
	D3DKMT_HANDLE hDevice;              /* in */
	UINT NumAllocations;                /* in */
	CONST D3DKMT_HANDLE *phAllocations; /* in: handles, all of the same device */
} D3DKMT_UNLOCK;

typedef struct _D3DKMT_LOCK2 {
	D3DKMT_HANDLE hDevice;     /* in */
	D3DKMT_HANDLE hAllocation; /* in */
	D3DDDICB_LOCK2FLAGS Flags; /* in */
	PVOID pData;               /* out: CPU address of the backing store or of video memory */
} D3DKMT_LOCK2;

typedef struct _D3DKMT_UNLOCK2 {
	D3DKMT_HANDLE hDevice;     /* in */
	D3DKMT_HANDLE hAllocation; /* in: one allocation */
} D3DKMT_UNLOCK2;

typedef struct _D3DKMT_INVALIDATECACHE {
	D3DKMT_HANDLE hDevice;     /* in */
	D3DKMT_HANDLE hAllocation; /* in */
	D3DKMT_SIZE_T Offset;      /* in: byte offset */
	D3DKMT_SIZE_T Length;      /* in */
} D3DKMT_INVALIDATECACHE;

typedef struct _D3DKMT_SETALLOCATIONPRIORITY {
	D3DKMT_HANDLE hDevice;                 /* in */
	D3DKMT_HANDLE hResource;               /* in: resource, or 0 */
	CONST D3DKMT_HANDLE *phAllocationList; /* in: NULL if hResource set */
	UINT AllocationCount;                  /* in: 0 if hResource set */
	CONST UINT *pPriorities;               /* in: one element if hResource set */
} D3DKMT_SETALLOCATIONPRIORITY;

typedef struct _D3DKMT_GETALLOCATIONPRIORITY {
	D3DKMT_HANDLE hDevice;                 /* in */
	D3DKMT_HANDLE hResource;               /* in: resource or 0 */
	CONST D3DKMT_HANDLE *phAllocationList; /* in */
	UINT AllocationCount;                  /* in */
	UINT *pPriorities;                     /* out: one value per allocation */
} D3DKMT_GETALLOCATIONPRIORITY;

typedef struct _D3DKMT_GETRUNTIMEDATA {
	D3DKMT_HANDLE hAdapter;
	D3DKMT_HANDLE hGlobalShare;
	VOID *pRuntimeData;
	UINT RuntimeDataSize;
} D3DKMT_GETRUNTIMEDATA;

typedef struct _D3DKMT_FLUSHHEAPTRANSITIONS {
	D3DKMT_HANDLE hAdapter; /* in */
} D3DKMT_FLUSHHEAPTRANSITIONS;

/*
 * ---- Residency -------------------------------------------------------------------------------
 */

typedef struct _D3DKMT_CREATEPAGINGQUEUE {
	D3DKMT_HANDLE hDevice;                /* in */
	D3DDDI_PAGINGQUEUE_PRIORITY Priority; /* in */
	D3DKMT_HANDLE hPagingQueue;           /* out: queue handle */
	D3DKMT_HANDLE hSyncObject;            /* out: monitored fence of the queue */
	VOID *FenceValueCPUVirtualAddress;    /* out */
	UINT PhysicalAdapterIndex;            /* in */
} D3DKMT_CREATEPAGINGQUEUE;

/* Takes back one residency reference of each allocation. */
typedef struct _D3DKMT_EVICT {
	D3DKMT_HANDLE hDevice;               /* in: device owning the allocations */
	UINT NumAllocations;                 /* in */
	CONST D3DKMT_HANDLE *AllocationList; /* in */
	D3DDDI_EVICT_FLAGS Flags;            /* in */
	UINT64 NumBytesToTrim;               /* out */
} D3DKMT_EVICT;

typedef enum _D3DKMT_ALLOCATIONRESIDENCYSTATUS {
	D3DKMT_ALLOCATIONRESIDENCYSTATUS_RESIDENTINGPUMEMORY = 1,
	D3DKMT_ALLOCATIONRESIDENCYSTATUS_RESIDENTINSHAREDMEMORY = 2,
	D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT = 3,
} D3DKMT_ALLOCATIONRESIDENCYSTATUS;

typedef struct _D3DKMT_QUERYALLOCATIONRESIDENCY {
	D3DKMT_HANDLE hDevice;                              /* in */
	D3DKMT_HANDLE hResource;                            /* in: resource or 0 */
	CONST D3DKMT_HANDLE *phAllocationList;              /* in: NULL if hResource set */
	UINT AllocationCount;                               /* in: 0 if hResource set */
	D3DKMT_ALLOCATIONRESIDENCYSTATUS *pResidencyStatus; /* out: one element for a resource */
} D3DKMT_QUERYALLOCATIONRESIDENCY;

typedef struct _D3DKMT_TRIMNOTIFICATION {
	VOID *Context;                       /* in: from registration */
	D3DDDI_TRIMRESIDENCYSET_FLAGS Flags; /* in */
	UINT64 NumBytesToTrim;               /* in: valid with TrimToBudget */
} D3DKMT_TRIMNOTIFICATION;

typedef VOID(APIENTRY *PFND3DKMT_TRIMNOTIFICATIONCALLBACK)(_Inout_ D3DKMT_TRIMNOTIFICATION *);

typedef struct _D3DKMT_REGISTERTRIMNOTIFICATION {
	LUID AdapterLuid;                            /* in: adapter of the device */
	D3DKMT_HANDLE hDevice;                       /* in */
	PFND3DKMT_TRIMNOTIFICATIONCALLBACK Callback; /* in */
	VOID *Context;                               /* in: passed back */
	VOID *Handle;                                /* out: token for unregistering */
} D3DKMT_REGISTERTRIMNOTIFICATION;

typedef struct _D3DKMT_UNREGISTERTRIMNOTIFICATION {
	VOID *Handle;                                /* in */
	PFND3DKMT_TRIMNOTIFICATIONCALLBACK Callback; /* in: used only when Handle is NULL */
} D3DKMT_UNREGISTERTRIMNOTIFICATION;

/*
 * ---- Budgets ---------------------------------------------------------------------------------
 */

typedef enum _D3DKMT_MEMORY_SEGMENT_GROUP {
	D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL = 0,
	D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL = 1,
} D3DKMT_MEMORY_SEGMENT_GROUP;

/* Everything but the selectors is out. */
typedef struct _D3DKMT_QUERYVIDEOMEMORYINFO {
	HANDLE hProcess;                                /* in, optional: NULL = caller */
	D3DKMT_HANDLE hAdapter;                         /* in */
	D3DKMT_MEMORY_SEGMENT_GROUP MemorySegmentGroup; /* in: 0 LOCAL, 1 NON_LOCAL */
	UINT64 Budget;                                  /* out */
	UINT64 CurrentUsage;                            /* out: bytes resident/committed now */
	UINT64 CurrentReservation;      /* out: what ChangeVideoMemoryReservation set */
	UINT64 AvailableForReservation; /* out: upper limit for a reservation */
	UINT PhysicalAdapterIndex;      /* in: LDA index, 0 otherwise */
} D3DKMT_QUERYVIDEOMEMORYINFO;

typedef struct _D3DKMT_CHANGEVIDEOMEMORYRESERVATION {
	HANDLE hProcess;                                /* in, optional */
	D3DKMT_HANDLE hAdapter;                         /* in */
	D3DKMT_MEMORY_SEGMENT_GROUP MemorySegmentGroup; /* in: 0 LOCAL, 1 NON_LOCAL */
	UINT64 Reservation;                             /* in: 0 .. AvailableForReservation */
	UINT PhysicalAdapterIndex;                      /* in: LDA index */
} D3DKMT_CHANGEVIDEOMEMORYRESERVATION;

typedef struct _D3DKMT_BUDGETCHANGENOTIFICATION {
	VOID *Context; /* in: from registration */
	UINT64 Budget; /* in: new budget in bytes */
} D3DKMT_BUDGETCHANGENOTIFICATION;

typedef VOID(APIENTRY *PFND3DKMT_BUDGETCHANGENOTIFICATIONCALLBACK)(
	_In_ D3DKMT_BUDGETCHANGENOTIFICATION *);

typedef struct _D3DKMT_REGISTERBUDGETCHANGENOTIFICATION {
	D3DKMT_HANDLE hDevice;                               /* in */
	PFND3DKMT_BUDGETCHANGENOTIFICATIONCALLBACK Callback; /* in */
	VOID *Context;                                       /* in: passed back */
	VOID *Handle;                                        /* out */
} D3DKMT_REGISTERBUDGETCHANGENOTIFICATION;

typedef struct _D3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION {
	VOID *Handle; /* in */
} D3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION;

/*
 * ---- Offer and reclaim -----------------------------------------------------------------------
 */

typedef enum _D3DKMT_OFFER_PRIORITY {
	D3DKMT_OFFER_PRIORITY_LOW = 1,
	D3DKMT_OFFER_PRIORITY_NORMAL = 2,
	D3DKMT_OFFER_PRIORITY_HIGH = 3,
	D3DKMT_OFFER_PRIORITY_AUTO = 4,
} D3DKMT_OFFER_PRIORITY;

typedef struct _D3DKMT_OFFER_FLAGS {
	union {
		struct {
			UINT OfferImmediately : 1;
			UINT AllowDecommit : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DKMT_OFFER_FLAGS;

typedef struct _D3DKMT_OFFERALLOCATIONS {
	D3DKMT_HANDLE hDevice;           /* in: device that created the allocations */
	D3DKMT_HANDLE *pResources;       /* in: resource handles */
	CONST D3DKMT_HANDLE *HandleList; /* in: allocation handles */
	UINT NumAllocations;             /* in: elements of whichever array is non-NULL */
	D3DKMT_OFFER_PRIORITY Priority;  /* in */
	D3DKMT_OFFER_FLAGS Flags;        /* in */
} D3DKMT_OFFERALLOCATIONS;

typedef struct _D3DKMT_RECLAIMALLOCATIONS {
	D3DKMT_HANDLE hDevice;           /* in: device that created them */
	D3DKMT_HANDLE *pResources;       /* in: resource handles or NULL */
	CONST D3DKMT_HANDLE *HandleList; /* in */
	BOOL *pDiscarded;                /* out, optional */
	UINT NumAllocations;             /* in: element count */
} D3DKMT_RECLAIMALLOCATIONS;

/* Results and pDiscarded are the new and the old form of the same answer. */
typedef struct _D3DKMT_RECLAIMALLOCATIONS2 {
	D3DKMT_HANDLE hPagingQueue;      /* in */
	UINT NumAllocations;             /* in: element count */
	D3DKMT_HANDLE *pResources;       /* in: resource handles or NULL */
	CONST D3DKMT_HANDLE *HandleList; /* in */
	union {
		BOOL *pDiscarded;                /* out, optional: BOOL per element */
		D3DDDI_RECLAIM_RESULT *pResults; /* out */
	};
	UINT64 PagingFenceValue; /* out: value to wait for before GPU use */
} D3DKMT_RECLAIMALLOCATIONS2;

typedef struct _D3DKMT_QUERYPROCESSOFFERINFO {
	ULONG cbSize;              /* in */
	HANDLE hProcess;           /* in */
	UINT64 DecommitUniqueness; /* out */
	UINT64 DecommittableBytes; /* out */
} D3DKMT_QUERYPROCESSOFFERINFO;

typedef union _D3DKMT_TRIMPROCESSCOMMITMENT_FLAGS {
	struct {
		UINT Lazy : 1;
		UINT OnlyRepurposed : 1;
		UINT Reserved : 30;
	};
	UINT Value;
} D3DKMT_TRIMPROCESSCOMMITMENT_FLAGS;

typedef struct _D3DKMT_TRIMPROCESSCOMMITMENT {
	ULONG cbSize;                             /* in: sizeof this struct */
	HANDLE hProcess;                          /* in */
	D3DKMT_TRIMPROCESSCOMMITMENT_FLAGS Flags; /* in */
	UINT64 DecommitRequested;                 /* in: bytes wanted */
	UINT64 NumBytesDecommitted;               /* out: bytes actually released */
} D3DKMT_TRIMPROCESSCOMMITMENT;

/*
 * ---- GPU virtual addresses -------------------------------------------------------------------
 * Reserving and mapping use D3DDDI structs, see d3dukmdt.h.
 */

typedef struct _D3DKMT_FREEGPUVIRTUALADDRESS {
	D3DKMT_HANDLE hAdapter;             /* in: adapter (not device, not queue) */
	D3DGPU_VIRTUAL_ADDRESS BaseAddress; /* in: bytes, 4 KiB aligned */
	D3DGPU_SIZE_T Size;                 /* in: bytes, 4 KiB multiple */
} D3DKMT_FREEGPUVIRTUALADDRESS;

/* The operations are ordered like work submitted to hContext. */
typedef struct _D3DKMT_UPDATEGPUVIRTUALADDRESS {
	D3DKMT_HANDLE hDevice;      /* in */
	D3DKMT_HANDLE hContext;     /* in: rendering context the update is ordered with */
	D3DKMT_HANDLE hFenceObject; /* in */
	UINT NumOperations;         /* in: array size */
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *Operations; /* in */
	D3DKMT_SIZE_T Reserved0;
	UINT64 Reserved1;
	UINT64 FenceValue; /* in: updates start when the fence reaches FenceValue */
	union {
		struct {
			UINT DoNotWait : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	} Flags; /* in */
} D3DKMT_UPDATEGPUVIRTUALADDRESS;

/*
 * ---- Synchronization objects -----------------------------------------------------------------
 */

typedef struct _D3DKMT_CREATESYNCHRONIZATIONOBJECT {
	D3DKMT_HANDLE hDevice;                 /* in */
	D3DDDI_SYNCHRONIZATIONOBJECTINFO Info; /* in */
	D3DKMT_HANDLE hSyncObject;             /* out */
} D3DKMT_CREATESYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_CREATESYNCHRONIZATIONOBJECT2 {
	D3DKMT_HANDLE hDevice;                  /* in */
	D3DDDI_SYNCHRONIZATIONOBJECTINFO2 Info; /* in/out */
	D3DKMT_HANDLE hSyncObject;              /* out */
} D3DKMT_CREATESYNCHRONIZATIONOBJECT2;

typedef struct _D3DKMT_DESTROYSYNCHRONIZATIONOBJECT {
	D3DKMT_HANDLE hSyncObject; /* in */
} D3DKMT_DESTROYSYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_OPENSYNCHRONIZATIONOBJECT {
	D3DKMT_HANDLE hSharedHandle; /* in: global handle */
	D3DKMT_HANDLE hSyncObject;   /* out: local handle */
	UINT64 Reserved[8];
} D3DKMT_OPENSYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_WAITFORSYNCHRONIZATIONOBJECT {
	D3DKMT_HANDLE hContext;
	UINT ObjectCount;
	D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_WAITED_ON];
} D3DKMT_WAITFORSYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2 {
	D3DKMT_HANDLE hContext;                                       /* in: waiting context */
	UINT ObjectCount;                                             /* in: 1..32 */
	D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_WAITED_ON]; /* in */
	union {
		struct {
			UINT64 FenceValue; /* in: one value, for D3DDDI_FENCE */
		} Fence;
		UINT64 Reserved[8];
	};
} D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECT {
	D3DKMT_HANDLE hContext;
	UINT ObjectCount;
	D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_SIGNALED];
	D3DDDICB_SIGNALFLAGS Flags;
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 {
	D3DKMT_HANDLE hContext; /* in: context whose stream carries the signal */
	UINT ObjectCount;       /* in: 0..32 */
	D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_SIGNALED]; /* in */
	D3DDDICB_SIGNALFLAGS Flags;                                  /* in */
	ULONG BroadcastContextCount; /* in: additional contexts, 0..64 */
	D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT]; /* in */
	union {
		struct {
			UINT64 FenceValue; /* in: value for D3DDDI_FENCE objects */
		} Fence;
		HANDLE CpuEventHandle; /* in: with EnqueueCpuEvent (Win8) */
		UINT64 Reserved[8];
	};
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2;

/* With an event the call returns at once and the event is signalled later. */
typedef struct _D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU {
	D3DKMT_HANDLE hDevice;                                  /* in */
	UINT ObjectCount;                                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray;                 /* in: monitored fences */
	CONST UINT64 *FenceValueArray;                          /* in */
	HANDLE hAsyncEvent;                                     /* in, optional */
	D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS Flags; /* in */
} D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU {
	D3DKMT_HANDLE hDevice;                  /* in */
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in: monitored fences */
	CONST UINT64 *FenceValueArray;          /* in: values, index-matched */
	D3DDDICB_SIGNALFLAGS Flags;             /* in */
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU;

typedef struct _D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU {
	D3DKMT_HANDLE hContext;                 /* in: context to hold */
	UINT ObjectCount;                       /* in: count; all must be satisfied */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in: objects (monitored or packet fences) */
	union {
		CONST UINT64 *MonitoredFenceValueArray; /* in */
		UINT64 FenceValue;                      /* in */
		UINT64 Reserved[8];
	};
} D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU {
	D3DKMT_HANDLE hContext;                 /* in */
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in */
	union {
		CONST UINT64 *MonitoredFenceValueArray; /* in */
		UINT64 Reserved[8];
	};
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU;

/* The union: fence values, one for all objects, or an event. */
typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 {
	UINT ObjectCount;                           /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray;     /* in */
	D3DDDICB_SIGNALFLAGS Flags;                 /* in */
	ULONG BroadcastContextCount;                /* in: number of contexts */
	CONST D3DKMT_HANDLE *BroadcastContextArray; /* in */
	union {
		UINT64 FenceValue;                      /* in: D3DDDI_FENCE objects */
		HANDLE CpuEventHandle;                  /* in: only with Flags.EnqueueCpuEvent */
		CONST UINT64 *MonitoredFenceValueArray; /* in: monitored fences */
		UINT64 Reserved[8];
	};
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2;

/* Linux only: a fence value as a file descriptor that polls readable. */
typedef struct _D3DKMT_CREATESYNCFILE {
	D3DKMT_HANDLE hDevice;         /* in: owner of the fence */
	D3DKMT_HANDLE hMonitoredFence; /* in */
	UINT64 FenceValue;             /* in */
	UINT64 hSyncFile;              /* out: file descriptor */
} D3DKMT_CREATESYNCFILE;

/*
 * ---- Keyed mutexes ---------------------------------------------------------------------------
 */

typedef struct _D3DKMT_CREATEKEYEDMUTEX {
	UINT64 InitialValue;
	D3DKMT_HANDLE hSharedHandle;
	D3DKMT_HANDLE hKeyedMutex;
} D3DKMT_CREATEKEYEDMUTEX;

typedef struct _D3DKMT_OPENKEYEDMUTEX {
	D3DKMT_HANDLE hSharedHandle;
	D3DKMT_HANDLE hKeyedMutex;
} D3DKMT_OPENKEYEDMUTEX;

typedef struct _D3DKMT_DESTROYKEYEDMUTEX {
	D3DKMT_HANDLE hKeyedMutex;
} D3DKMT_DESTROYKEYEDMUTEX;

typedef struct _D3DKMT_ACQUIREKEYEDMUTEX {
	D3DKMT_HANDLE hKeyedMutex;
	UINT64 Key;
	PLARGE_INTEGER pTimeout;
	UINT64 FenceValue;
} D3DKMT_ACQUIREKEYEDMUTEX;

typedef struct _D3DKMT_RELEASEKEYEDMUTEX {
	D3DKMT_HANDLE hKeyedMutex;
	UINT64 Key;
	UINT64 FenceValue;
} D3DKMT_RELEASEKEYEDMUTEX;

typedef struct _D3DKMT_CREATEKEYEDMUTEX2_FLAGS {
	union {
		struct {
			UINT NtSecuritySharing : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DKMT_CREATEKEYEDMUTEX2_FLAGS;

typedef struct _D3DKMT_CREATEKEYEDMUTEX2 {
	UINT64 InitialValue;                  /* in: initial key */
	D3DKMT_HANDLE hSharedHandle;          /* out: global handle (0 with NtSecuritySharing) */
	D3DKMT_HANDLE hKeyedMutex;            /* out: local handle */
	VOID *pPrivateRuntimeData;            /* in: blob stored in the mutex */
	UINT PrivateRuntimeDataSize;          /* in */
	D3DKMT_CREATEKEYEDMUTEX2_FLAGS Flags; /* in */
} D3DKMT_CREATEKEYEDMUTEX2;

typedef struct _D3DKMT_OPENKEYEDMUTEX2 {
	D3DKMT_HANDLE hSharedHandle; /* in: global handle */
	D3DKMT_HANDLE hKeyedMutex;   /* out: local handle */
	VOID *pPrivateRuntimeData;   /* in: copied only if the mutex has no data yet */
	UINT PrivateRuntimeDataSize; /* in */
} D3DKMT_OPENKEYEDMUTEX2;

typedef struct _D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE {
	HANDLE hNtHandle;            /* in: NT handle of a set containing the mutex */
	D3DKMT_HANDLE hKeyedMutex;   /* out: local handle */
	VOID *pPrivateRuntimeData;   /* in */
	UINT PrivateRuntimeDataSize; /* in */
} D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE;

typedef struct _D3DKMT_ACQUIREKEYEDMUTEX2 {
	D3DKMT_HANDLE hKeyedMutex;   /* in */
	UINT64 Key;                  /* in: key to acquire */
	PLARGE_INTEGER pTimeout;     /* in, optional: 100 ns units */
	UINT64 FenceValue;           /* out: GPU fence value given by the last releaser */
	VOID *pPrivateRuntimeData;   /* out: buffer for the mutex's private data */
	UINT PrivateRuntimeDataSize; /* in */
} D3DKMT_ACQUIREKEYEDMUTEX2;

typedef struct _D3DKMT_RELEASEKEYEDMUTEX2 {
	D3DKMT_HANDLE hKeyedMutex;   /* in */
	UINT64 Key;                  /* in: key that the next acquirer must name */
	UINT64 FenceValue;           /* in: GPU fence value to hand over */
	VOID *pPrivateRuntimeData;   /* in: replaces the stored private data */
	UINT PrivateRuntimeDataSize; /* in */
} D3DKMT_RELEASEKEYEDMUTEX2;

/*
 * ---- Submission ------------------------------------------------------------------------------
 */

typedef struct _D3DKMT_RENDERFLAGS {
	UINT ResizeCommandBuffer : 1;     /* honour NewCommandBufferSize */
	UINT ResizeAllocationList : 1;    /* honour NewAllocationListSize */
	UINT ResizePatchLocationList : 1; /* honour NewPatchLocationListSize */
	UINT NullRendering : 1;           /* do not execute */
	UINT PresentRedirected : 1;       /* redirected present */
	UINT RenderKm : 1;
	UINT RenderKmReadback : 1;
	UINT Reserved : 25;
} D3DKMT_RENDERFLAGS;

/* Hands over a filled command buffer and receives the next one. */
typedef struct _D3DKMT_RENDER {
	union {
		D3DKMT_HANDLE hDevice;  /* in */
		D3DKMT_HANDLE hContext; /* in */
	};
	UINT CommandOffset;        /* in: first command in the current command buffer */
	UINT CommandLength;        /* in */
	UINT AllocationCount;      /* in: entries used in the current allocation list */
	UINT PatchLocationCount;   /* in: entries used in the current patch list */
	VOID *pNewCommandBuffer;   /* out: buffer for the next submission */
	UINT NewCommandBufferSize; /* in/out: wanted size (only with Resize flag) / actual */
	D3DDDI_ALLOCATIONLIST *pNewAllocationList;                    /* out */
	UINT NewAllocationListSize;                                   /* in/out: wanted / actual */
	D3DDDI_PATCHLOCATIONLIST *pNewPatchLocationList;              /* out: next list */
	UINT NewPatchLocationListSize;                                /* in/out: wanted / actual */
	D3DKMT_RENDERFLAGS Flags;                                     /* in */
	ULONGLONG PresentHistoryToken;                                /* in: redirected presents */
	ULONG BroadcastContextCount;                                  /* in: additional contexts */
	D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT]; /* in */
	ULONG QueuedBufferCount; /* out: DMA buffers queued on the context after this call */
	D3DGPU_VIRTUAL_ADDRESS NewCommandBuffer; /* out: GPU VA of the next command buffer */
	VOID *pPrivateDriverData;                /* in */
	UINT PrivateDriverDataSize;              /* in */
} D3DKMT_RENDER;

typedef struct _D3DKMT_SUBMITCOMMANDFLAGS {
	UINT NullRendering : 1;     /* miniport pretends: fence interrupt without execution */
	UINT PresentRedirected : 1; /* contains a redirected present */
	UINT NoKmdAccess : 1;
	UINT Reserved : 29;
} D3DKMT_SUBMITCOMMANDFLAGS;

typedef struct _D3DKMT_SUBMITCOMMAND {
	D3DGPU_VIRTUAL_ADDRESS Commands; /* in: GPU VA of the commands */
	UINT CommandLength;              /* in */
	D3DKMT_SUBMITCOMMANDFLAGS Flags; /* in */
	ULONGLONG PresentHistoryToken;   /* in */
	UINT BroadcastContextCount;      /* in: at least 1 */
	D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT]; /* in */
	VOID *pPrivateDriverData;   /* in: one-way to the miniport */
	UINT PrivateDriverDataSize; /* in */
	UINT NumPrimaries;          /* in: 0..16 */
	D3DKMT_HANDLE WrittenPrimaries[D3DDDI_MAX_WRITTEN_PRIMARIES]; /* in */
	UINT NumHistoryBuffers;                                       /* in: reserved, 0 */
	D3DKMT_HANDLE *HistoryBufferArray;                            /* in: reserved, NULL */
} D3DKMT_SUBMITCOMMAND;

typedef struct _D3DKMT_SUBMITCOMMANDTOHWQUEUE {
	D3DKMT_HANDLE hHwQueue;                /* in */
	UINT64 HwQueueProgressFenceId;         /* in */
	D3DGPU_VIRTUAL_ADDRESS CommandBuffer;  /* in: GPU VA */
	UINT CommandLength;                    /* in */
	UINT PrivateDriverDataSize;            /* in */
	VOID *pPrivateDriverData;              /* in */
	UINT NumPrimaries;                     /* in */
	CONST D3DKMT_HANDLE *WrittenPrimaries; /* in */
} D3DKMT_SUBMITCOMMANDTOHWQUEUE;

typedef struct _D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE {
	D3DKMT_HANDLE hHwQueue;                 /* in: queue to hold */
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in: monitored fences */
	CONST UINT64 *FenceValueArray;          /* in */
} D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE;

typedef struct _D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE {
	D3DDDICB_SIGNALFLAGS Flags;                 /* in */
	ULONG BroadcastHwQueueCount;                /* in: number of queues (all of them) */
	CONST D3DKMT_HANDLE *BroadcastHwQueueArray; /* in: queues */
	UINT ObjectCount;                           /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray;     /* in: monitored fences */
	CONST UINT64 *FenceValueArray;              /* in */
} D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE;

/*
 * ---- Sharing between processes ---------------------------------------------------------------
 */

#define D3DKMT_MAX_OBJECTS_PER_HANDLE        3
#define D3DKMT_MAX_BUNDLE_OBJECTS_PER_HANDLE 16

/* Old-style global handles carry this in their low bits. */
#define D3DKMT_GDI_STYLE_HANDLE_DECORATION 0x2

#define SHARED_ALLOCATION_WRITE      0x1
#define SHARED_ALLOCATION_ALL_ACCESS (STANDARD_RIGHTS_REQUIRED | SHARED_ALLOCATION_WRITE)

/* The arguments of D3DKMTShareObjects in one struct, as they travel to the kernel. */
typedef struct _D3DKMT_SHAREOBJECTS {
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in: local handles */
	PVOID pObjectAttributes; /* in: NT object attributes (name, security, inheritance) */
	DWORD DesiredAccess;     /* in */
	HANDLE *pSharedNtHandle; /* out: file descriptor on Linux */
} D3DKMT_SHAREOBJECTS;

typedef struct _D3DKMT_SHAREOBJECTWITHHOST {
	D3DKMT_HANDLE hDevice; /* in */
	D3DKMT_HANDLE hObject; /* in: resource or sync object */
	UINT64 Reserved;
	UINT64 hVailProcessNtHandle; /* out: NT handle value in the host-side process */
} D3DKMT_SHAREOBJECTWITHHOST;

typedef struct _D3DKMT_QUERYRESOURCEINFO {
	D3DKMT_HANDLE hDevice;              /* in: device that will open it */
	D3DKMT_HANDLE hGlobalShare;         /* in: global handle */
	VOID *pPrivateRuntimeData;          /* in, optional */
	UINT PrivateRuntimeDataSize;        /* in/out: buffer size / required or copied size */
	UINT TotalPrivateDriverDataSize;    /* out: sum of per-allocation driver data */
	UINT ResourcePrivateDriverDataSize; /* out: per-resource driver data */
	UINT NumAllocations;                /* out: allocations in the resource */
} D3DKMT_QUERYRESOURCEINFO;

typedef struct _D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE {
	D3DKMT_HANDLE hDevice;              /* in */
	HANDLE hNtHandle;                   /* in: NT handle */
	VOID *pPrivateRuntimeData;          /* in, optional */
	UINT PrivateRuntimeDataSize;        /* in/out */
	UINT TotalPrivateDriverDataSize;    /* out */
	UINT ResourcePrivateDriverDataSize; /* out */
	UINT NumAllocations;                /* out */
} D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE;

/* Sizes come from D3DKMTQueryResourceInfo. */
typedef struct _D3DKMT_OPENRESOURCE {
	D3DKMT_HANDLE hDevice;      /* in */
	D3DKMT_HANDLE hGlobalShare; /* in: global handle */
	UINT NumAllocations;        /* in: must match the resource's count (from the query) */
	union {
		D3DDDI_OPENALLOCATIONINFO *pOpenAllocationInfo;   /* in/out: v1 array */
		D3DDDI_OPENALLOCATIONINFO2 *pOpenAllocationInfo2; /* in/out */
	};
	VOID *pPrivateRuntimeData;        /* in: buffer that receives the creator's runtime data */
	UINT PrivateRuntimeDataSize;      /* in */
	VOID *pResourcePrivateDriverData; /* in/out: buffer for per-resource driver data */
	UINT ResourcePrivateDriverDataSize;    /* in */
	VOID *pTotalPrivateDriverDataBuffer;   /* in/out */
	UINT TotalPrivateDriverDataBufferSize; /* in/out: capacity / bytes written */
	D3DKMT_HANDLE hResource;               /* out: new local resource handle */
} D3DKMT_OPENRESOURCE;

typedef struct _D3DKMT_OPENRESOURCEFROMNTHANDLE {
	D3DKMT_HANDLE hDevice; /* in */
	HANDLE hNtHandle;      /* in: NT handle from ShareObjects / OpenNtHandleFromName */
	UINT NumAllocations;   /* in */
	D3DDDI_OPENALLOCATIONINFO2 *pOpenAllocationInfo2; /* in/out */
	UINT PrivateRuntimeDataSize;                      /* in */
	VOID *pPrivateRuntimeData;                        /* in: out buffer */
	UINT ResourcePrivateDriverDataSize;               /* in */
	VOID *pResourcePrivateDriverData;                 /* in: out buffer */
	UINT TotalPrivateDriverDataBufferSize;            /* in/out: capacity / written */
	VOID *pTotalPrivateDriverDataBuffer;              /* in: out buffer */
	D3DKMT_HANDLE hResource;                          /* out */
	D3DKMT_HANDLE hKeyedMutex;             /* out: keyed mutex when the set has one, else 0 */
	VOID *pKeyedMutexPrivateRuntimeData;   /* in, optional */
	UINT KeyedMutexPrivateRuntimeDataSize; /* in */
	D3DKMT_HANDLE hSyncObject;             /* out: sync object when the set has one, else 0 */
} D3DKMT_OPENRESOURCEFROMNTHANDLE;

typedef struct _D3DKMT_OPENSYNCOBJECTFROMNTHANDLE {
	HANDLE hNtHandle;
	D3DKMT_HANDLE hSyncObject;
} D3DKMT_OPENSYNCOBJECTFROMNTHANDLE;

typedef struct _D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 {
	HANDLE hNtHandle;                         /* in: NT handle */
	D3DKMT_HANDLE hDevice;                    /* in */
	D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS Flags; /* in */
	D3DKMT_HANDLE hSyncObject;                /* out */
	union {
		struct {
			VOID *FenceValueCPUVirtualAddress; /* out: CPU mapping in this process */
			D3DGPU_VIRTUAL_ADDRESS FenceValueGPUVirtualAddress; /* out */
			UINT EngineAffinity; /* in: LDA mask, 0 = all */
		} MonitoredFence;
		UINT64 Reserved[8];
	};
} D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2;

typedef struct _D3DKMT_OPENNTHANDLEFROMNAME {
	DWORD dwDesiredAccess;         /* in */
	OBJECT_ATTRIBUTES *pObjAttrib; /* in: object attributes including the name */
	HANDLE hNtHandle;              /* out */
} D3DKMT_OPENNTHANDLEFROMNAME;

typedef struct _D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME {
	DWORD dwDesiredAccess;
	OBJECT_ATTRIBUTES *pObjAttrib;
	HANDLE hNtHandle;
} D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME;

typedef struct _D3DKMT_CONFIGURESHAREDRESOURCE {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hResource;
	BOOLEAN IsDwm;
	HANDLE hProcess;
	BOOLEAN AllowAccess;
} D3DKMT_CONFIGURESHAREDRESOURCE;

typedef struct _D3DKMT_CHECKSHAREDRESOURCEACCESS {
	D3DKMT_HANDLE hResource;
	UINT ClientPid;
} D3DKMT_CHECKSHAREDRESOURCEACCESS;

typedef struct _D3DKMT_GETSHAREDRESOURCEADAPTERLUID {
	D3DKMT_HANDLE hGlobalShare; /* in: global handle, or 0 */
	HANDLE hNtHandle;           /* in: NT handle, or NULL */
	LUID AdapterLuid;           /* out: adapter the resource was created on */
} D3DKMT_GETSHAREDRESOURCEADAPTERLUID;

typedef union _D3DKMT_PINRESOURCEFLAGS {
	struct {
		UINT DirectFlipResources : 1;
		UINT Reserved : 31;
	};
	UINT Value;
} D3DKMT_PINRESOURCEFLAGS;

typedef struct _D3DKMT_PINRESOURCES {
	D3DKMT_HANDLE hDevice;
	UINT ResourceCount;
	D3DKMT_HANDLE *pResourceList;
	D3DKMT_PINRESOURCEFLAGS Flags;
	D3DKMT_HANDLE hPagingQueue;
	UINT64 PagingFence;
} D3DKMT_PINRESOURCES;

typedef struct _D3DKMT_UNPINRESOURCES {
	D3DKMT_HANDLE hDevice;
	UINT ResourceCount;
	D3DKMT_HANDLE *pResourceList;
	UINT Reserved;
} D3DKMT_UNPINRESOURCES;

/*
 * ---- Protected sessions ----------------------------------------------------------------------
 */

typedef struct _D3DKMT_CREATEPROTECTEDSESSION {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hSyncObject;
	CONST VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
	CONST VOID *pPrivateRuntimeData;
	UINT PrivateRuntimeDataSize;
	D3DKMT_HANDLE hHandle;
} D3DKMT_CREATEPROTECTEDSESSION;

typedef struct _D3DKMT_DESTROYPROTECTEDSESSION {
	D3DKMT_HANDLE hHandle;
} D3DKMT_DESTROYPROTECTEDSESSION;

typedef enum _D3DKMT_PROTECTED_SESSION_STATUS {
	D3DKMT_PROTECTED_SESSION_STATUS_OK = 0,
	D3DKMT_PROTECTED_SESSION_STATUS_INVALID = 1,
} D3DKMT_PROTECTED_SESSION_STATUS;

typedef struct _D3DKMT_QUERYPROTECTEDSESSIONSTATUS {
	D3DKMT_HANDLE hHandle;
	D3DKMT_PROTECTED_SESSION_STATUS Status;
} D3DKMT_QUERYPROTECTEDSESSIONSTATUS;

typedef struct _D3DKMT_QUERYPROTECTEDSESSIONINFOFROMNTHANDLE {
	HANDLE hNtHandle;
	CONST VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
	CONST VOID *pPrivateRuntimeData;
	UINT PrivateRuntimeDataSize;
} D3DKMT_QUERYPROTECTEDSESSIONINFOFROMNTHANDLE;

typedef struct _D3DKMT_OPENPROTECTEDSESSIONFROMNTHANDLE {
	HANDLE hNtHandle;
	D3DKMT_HANDLE hHandle;
} D3DKMT_OPENPROTECTEDSESSIONFROMNTHANDLE;

/*
 * ---- Tracked workloads -----------------------------------------------------------------------
 */

#define D3DKMT_MAX_TRACKED_WORKLOAD_INSTANCE_PAIRS 32

typedef enum _D3DKMT_TRACKEDWORKLOADPOLICY {
	D3DKMT_TRACKEDWORKLOADPOLICY_NORMAL = 0,
	D3DKMT_TRACKEDWORKLOADPOLICY_ENERGY_EFFICIENT = 1,
	D3DKMT_TRACKEDWORKLOADPOLICY_HIGH_SPEED = 2,
} D3DKMT_TRACKEDWORKLOADPOLICY;

typedef enum _D3DKMT_TRACKEDWORKLOADDEADLINETYPE {
	D3DKMT_TRACKEDWORKLOADDEADLINETYPE_ABSOLUTE = 0,
	D3DKMT_TRACKEDWORKLOADDEADLINETYPE_VBLANK = 1,
} D3DKMT_TRACKEDWORKLOADDEADLINETYPE;

typedef struct _D3DKMT_TRACKEDWORKLOADDEADLINE {
	union {
		UINT64 VBlankOffsetHundredsNS;
		UINT64 AbsoluteQPC;
	};
} D3DKMT_TRACKEDWORKLOADDEADLINE;

typedef struct _D3DKMT_TRACKEDWORKLOADFLAGS {
	union {
		struct {
			UINT Periodic : 1;
			UINT SimilarLoad : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DKMT_TRACKEDWORKLOADFLAGS;

typedef struct _D3DKMT_CREATETRACKEDWORKLOAD {
	ULONG cbSize;
	ULONG ContextCount;
	CONST D3DKMT_HANDLE *ContextArray;
	D3DKMT_TRACKEDWORKLOADDEADLINETYPE DeadlineType;
	UINT32 VidPnTargetId;
	D3DKMT_TRACKEDWORKLOADFLAGS Flags;
	D3DKMT_TRACKEDWORKLOADPOLICY Policy;
	UINT MaxInstances;
	UINT MaxInstancePairs;
	D3DKMT_HANDLE hResourceQueryTimestamps;
	D3DKMT_HANDLE hTrackedWorkload;
} D3DKMT_CREATETRACKEDWORKLOAD;

typedef struct _D3DKMT_DESTROYTRACKEDWORKLOAD {
	ULONG cbSize;
	D3DKMT_HANDLE hTrackedWorkload;
} D3DKMT_DESTROYTRACKEDWORKLOAD;

typedef struct _D3DKMT_UPDATETRACKEDWORKLOAD {
	ULONG cbSize;
	D3DKMT_HANDLE hTrackedWorkload;
	D3DKMT_TRACKEDWORKLOADDEADLINE FinishDeadline;
	UINT BeginTrackedWorkloadIndex;
	UINT EndTrackedWorkloadIndex;
	BOOL Resume;
	BOOL Suspend;
	UINT64 PairID;
	UINT64 FenceSubmissionValue;
	UINT64 FenceCompletedValue;
	UINT64 GPUTimestampFrequency;
	UINT64 GPUCalibrationTimestamp;
	UINT64 CPUCalibrationTimestamp;
	UINT64 TimestampArray[D3DKMT_MAX_TRACKED_WORKLOAD_INSTANCE_PAIRS * 2];
	BOOL TimestampArrayProcessed;
} D3DKMT_UPDATETRACKEDWORKLOAD;

typedef struct _D3DKMT_GETAVAILABLETRACKEDWORKLOADINDEX {
	ULONG cbSize;
	D3DKMT_HANDLE hTrackedWorkload;
	UINT64 FenceCompletedValue;
	UINT64 TimestampArray[D3DKMT_MAX_TRACKED_WORKLOAD_INSTANCE_PAIRS * 2];
	UINT AvailableTrackedWorkloadIndex;
	BOOL TimestampArrayProcessed;
} D3DKMT_GETAVAILABLETRACKEDWORKLOADINDEX;

typedef struct _D3DKMT_TRACKEDWORKLOADSTATEFLAGS {
	union {
		struct {
			UINT Saturated : 1;
			UINT NotEnoughSamples : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DKMT_TRACKEDWORKLOADSTATEFLAGS;

typedef struct _D3DKMT_TRACKEDWORKLOAD_STATISTICS {
	INT64 Mean;
	INT64 Minimum;
	INT64 Maximum;
	INT64 Variance;
	UINT64 Count;
} D3DKMT_TRACKEDWORKLOAD_STATISTICS;

typedef struct _D3DKMT_GETTRACKEDWORKLOADSTATISTICS {
	ULONG cbSize;
	D3DKMT_HANDLE hTrackedWorkload;
	UINT64 FenceCompletedValue;
	UINT64 TimestampArray[D3DKMT_MAX_TRACKED_WORKLOAD_INSTANCE_PAIRS * 2];
	BOOL TimestampArrayProcessed;
	D3DKMT_TRACKEDWORKLOAD_STATISTICS DeadlineOffsetHundredsNS;
	UINT64 MissedDeadlines;
	D3DKMT_TRACKEDWORKLOADSTATEFLAGS Flags;
} D3DKMT_GETTRACKEDWORKLOADSTATISTICS;

typedef struct _D3DKMT_RESETTRACKEDWORKLOADSTATISTICS {
	ULONG cbSize;
	D3DKMT_HANDLE hTrackedWorkload;
} D3DKMT_RESETTRACKEDWORKLOADSTATISTICS;

/*
 * ---- Escapes ---------------------------------------------------------------------------------
 * DRIVERPRIVATE goes to the miniport. The others are the test controls of the kernel itself:
 * forced eviction, budgets, offer discards, delays, timeouts.
 */

#define D3DKMT_GET_PTE_MAX       64
#define D3DKMT_MAX_SEGMENT_COUNT 32

typedef enum _D3DKMT_ESCAPETYPE {
	D3DKMT_ESCAPE_DRIVERPRIVATE = 0,
	D3DKMT_ESCAPE_VIDMM = 1,
	D3DKMT_ESCAPE_TDRDBGCTRL = 2,
	D3DKMT_ESCAPE_VIDSCH = 3,
	D3DKMT_ESCAPE_DEVICE = 4,
	D3DKMT_ESCAPE_DMM = 5,
	D3DKMT_ESCAPE_DEBUG_SNAPSHOT = 6,
	D3DKMT_ESCAPE_DRT_TEST = 8,
	D3DKMT_ESCAPE_DIAGNOSTICS = 9,
	D3DKMT_ESCAPE_OUTPUTDUPL_SNAPSHOT = 10,
	D3DKMT_ESCAPE_OUTPUTDUPL_DIAGNOSTICS = 11,
	D3DKMT_ESCAPE_BDD_PNP = 12,
	D3DKMT_ESCAPE_BDD_FALLBACK = 13,
	D3DKMT_ESCAPE_ACTIVATE_SPECIFIC_DIAG = 14,
	D3DKMT_ESCAPE_MODES_PRUNED_OUT = 15,
	D3DKMT_ESCAPE_WHQL_INFO = 16,
	D3DKMT_ESCAPE_BRIGHTNESS = 17,
	D3DKMT_ESCAPE_EDID_CACHE = 18,
	D3DKMT_ESCAPE_MIRACAST_DISPLAY_REQUEST = 20,
	D3DKMT_ESCAPE_HISTORY_BUFFER_STATUS = 21,
	D3DKMT_ESCAPE_MIRACAST_ADAPTER_DIAG_INFO = 23,
	D3DKMT_ESCAPE_FORCE_BDDFALLBACK_HEADLESS = 24,
	D3DKMT_ESCAPE_REQUEST_MACHINE_CRASH = 25,
	D3DKMT_ESCAPE_SOFTGPU_ENABLE_DISABLE_HMD = 27,
	D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION = 28,
	D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION = 29,
	D3DKMT_ESCAPE_IDD_REQUEST = 30,
	D3DKMT_ESCAPE_DOD_SET_DIRTYRECT_MODE = 31,
	D3DKMT_ESCAPE_LOG_CODEPOINT_PACKET = 32,
	D3DKMT_ESCAPE_LOG_USERMODE_DAIG_PACKET = 33,
	D3DKMT_ESCAPE_GET_EXTERNAL_DIAGNOSTICS = 34,
	D3DKMT_ESCAPE_GET_DISPLAY_CONFIGURATIONS = 36,
	D3DKMT_ESCAPE_QUERY_IOMMU_STATUS = 37,
	D3DKMT_ESCAPE_CCD_DATABASE = 38,
	D3DKMT_ESCAPE_QUERY_DMA_REMAPPING_STATUS = 39,
	D3DKMT_ESCAPE_WIN32K_START = 1024,
	D3DKMT_ESCAPE_WIN32K_HIP_DEVICE_INFO = 1024,
	D3DKMT_ESCAPE_WIN32K_QUERY_CD_ROTATION_BLOCK = 1025,
	D3DKMT_ESCAPE_WIN32K_DPI_INFO = 1026,
	D3DKMT_ESCAPE_WIN32K_PRESENTER_VIEW_INFO = 1027,
	D3DKMT_ESCAPE_WIN32K_SYSTEM_DPI = 1028,
	D3DKMT_ESCAPE_WIN32K_BDD_FALLBACK = 1029,
	D3DKMT_ESCAPE_WIN32K_DDA_TEST_CTL = 1030,
	D3DKMT_ESCAPE_WIN32K_USER_DETECTED_BLACK_SCREEN = 1031,
	D3DKMT_ESCAPE_WIN32K_DISPBROKER_TEST = 1035,
	D3DKMT_ESCAPE_WIN32K_COLOR_PROFILE_INFO = 1036,
	D3DKMT_ESCAPE_WIN32K_SET_DIMMED_STATE = 1037,
	D3DKMT_ESCAPE_WIN32K_SPECIALIZED_DISPLAY_TEST = 1038,
} D3DKMT_ESCAPETYPE;

/* pPrivateDriverData points to one of the structs below, or to the driver's own. */
typedef struct _D3DKMT_ESCAPE {
	D3DKMT_HANDLE hAdapter;     /* in */
	D3DKMT_HANDLE hDevice;      /* in, optional */
	D3DKMT_ESCAPETYPE Type;     /* in: 0 DRIVERPRIVATE is the only non-test type for clients */
	D3DDDI_ESCAPEFLAGS Flags;   /* in */
	VOID *pPrivateDriverData;   /* in/out: data, both directions */
	UINT PrivateDriverDataSize; /* in */
	D3DKMT_HANDLE hContext;     /* in, optional: requires hDevice, which must own it */
} D3DKMT_ESCAPE;

typedef enum _D3DKMT_VIDMMESCAPETYPE {
	D3DKMT_VIDMMESCAPETYPE_SETFAULT = 0,
	D3DKMT_VIDMMESCAPETYPE_RUN_COHERENCY_TEST = 1,
	D3DKMT_VIDMMESCAPETYPE_RUN_UNMAP_TO_DUMMY_PAGE_TEST = 2,
	D3DKMT_VIDMMESCAPETYPE_APERTURE_CORRUPTION_CHECK = 3,
	D3DKMT_VIDMMESCAPETYPE_SUSPEND_CPU_ACCESS_TEST = 4,
	D3DKMT_VIDMMESCAPETYPE_EVICT = 5,
	D3DKMT_VIDMMESCAPETYPE_EVICT_BY_NT_HANDLE = 6,
	D3DKMT_VIDMMESCAPETYPE_GET_VAD_INFO = 7,
	D3DKMT_VIDMMESCAPETYPE_SET_BUDGET = 8,
	D3DKMT_VIDMMESCAPETYPE_SUSPEND_PROCESS = 9,
	D3DKMT_VIDMMESCAPETYPE_RESUME_PROCESS = 10,
	D3DKMT_VIDMMESCAPETYPE_GET_BUDGET = 11,
	D3DKMT_VIDMMESCAPETYPE_SET_TRIM_INTERVALS = 12,
	D3DKMT_VIDMMESCAPETYPE_EVICT_BY_CRITERIA = 13,
	D3DKMT_VIDMMESCAPETYPE_WAKE = 14,
	D3DKMT_VIDMMESCAPETYPE_DEFRAG = 15,
	D3DKMT_VIDMMESCAPETYPE_DELAYEXECUTION = 16,
	D3DKMT_VIDMMESCAPETYPE_VALIDATE_INTEGRITY = 17,
	D3DKMT_VIDMMESCAPETYPE_SET_EVICTION_CONFIG = 18,
} D3DKMT_VIDMMESCAPETYPE;

typedef enum _D3DKMT_VAD_ESCAPE_COMMAND {
	D3DKMT_VAD_ESCAPE_GETNUMVADS = 0,
	D3DKMT_VAD_ESCAPE_GETVAD = 1,
	D3DKMT_VAD_ESCAPE_GETVADRANGE = 2,
	D3DKMT_VAD_ESCAPE_GET_PTE = 3,
	D3DKMT_VAD_ESCAPE_GET_GPUMMU_CAPS = 4,
	D3DKMT_VAD_ESCAPE_GET_SEGMENT_CAPS = 5,
} D3DKMT_VAD_ESCAPE_COMMAND;

typedef struct _D3DKMT_VAD_DESC {
	UINT VadIndex;
	UINT64 VadAddress;
	UINT NumMappedRanges;
	UINT VadType;
	UINT64 StartAddress;
	UINT64 EndAddress;
} D3DKMT_VAD_DESC;

typedef struct _D3DKMT_VA_RANGE_DESC {
	UINT64 VadAddress;
	UINT VaRangeIndex;
	UINT PhysicalAdapterIndex;
	UINT64 StartAddress;
	UINT64 EndAddress;
	UINT64 DriverProtection;
	UINT OwnerType;
	UINT64 pOwner;
	UINT64 OwnerOffset;
	UINT Protection;
} D3DKMT_VA_RANGE_DESC;

typedef struct _D3DKMT_PAGE_TABLE_LEVEL_DESC {
	UINT IndexBitCount;
	UINT64 IndexMask;
	UINT64 IndexShift;
	UINT64 LowerLevelsMask;
	UINT64 EntryCoverageInPages;
} D3DKMT_PAGE_TABLE_LEVEL_DESC;

typedef struct _DXGK_ESCAPE_GPUMMUCAPS {
	BOOLEAN ReadOnlyMemorySupported;
	BOOLEAN NoExecuteMemorySupported;
	BOOLEAN ZeroInPteSupported;
	BOOLEAN CacheCoherentMemorySupported;
	BOOLEAN LargePageSupported;
	BOOLEAN DualPteSupported;
	BOOLEAN AllowNonAlignedLargePageAddress;
	UINT VirtualAddressBitCount;
	UINT PageTableLevelCount;
	D3DKMT_PAGE_TABLE_LEVEL_DESC PageTableLevelDesk[DXGK_MAX_PAGE_TABLE_LEVEL_COUNT];
} DXGK_ESCAPE_GPUMMUCAPS;

typedef struct _D3DKMT_GET_GPUMMU_CAPS {
	UINT PhysicalAdapterIndex;
	DXGK_ESCAPE_GPUMMUCAPS GpuMmuCaps;
} D3DKMT_GET_GPUMMU_CAPS;

/* Pte is out. PageTableIndex selects a path from the root. */
typedef struct _D3DKMT_GET_PTE {
	UINT PhysicalAdapterIndex;
	UINT PageTableLevel;
	UINT PageTableIndex[DXGK_MAX_PAGE_TABLE_LEVEL_COUNT];
	BOOLEAN b64KBPte;
	UINT NumPtes;
	DXGK_PTE Pte[D3DKMT_GET_PTE_MAX];
	UINT NumValidEntries;
} D3DKMT_GET_PTE;

typedef struct _D3DKMT_SEGMENT_CAPS {
	UINT64 Size;
	UINT PageSize;
	ULONG SegmentId;
	BOOLEAN bAperture;
	BOOLEAN bReservedSysMem;
	D3DKMT_MEMORY_SEGMENT_GROUP BudgetGroup;
} D3DKMT_SEGMENT_CAPS;

typedef struct _D3DKMT_GET_SEGMENT_CAPS {
	UINT PhysicalAdapterIndex;
	UINT NumSegments;
	D3DKMT_SEGMENT_CAPS SegmentCaps[D3DKMT_MAX_SEGMENT_COUNT];
} D3DKMT_GET_SEGMENT_CAPS;

typedef struct _D3DKMT_EVICTION_CRITERIA {
	UINT64 MinimumSize;
	UINT64 MaximumSize;
	union {
		struct {
			UINT Primary : 1;
			UINT Reserved : 31;
		} Flags;
		UINT Value;
	};
} D3DKMT_EVICTION_CRITERIA;

typedef enum _D3DKMT_DEFRAG_ESCAPE_OPERATION {
	D3DKMT_DEFRAG_ESCAPE_GET_FRAGMENTATION_STATS = 0,
	D3DKMT_DEFRAG_ESCAPE_DEFRAG_UPWARD = 1,
	D3DKMT_DEFRAG_ESCAPE_DEFRAG_DOWNWARD = 2,
	D3DKMT_DEFRAG_ESCAPE_DEFRAG_PASS = 3,
	D3DKMT_DEFRAG_ESCAPE_VERIFY_TRANSFER = 4,
} D3DKMT_DEFRAG_ESCAPE_OPERATION;

/* Type chooses the member. Out: what GetVads, GetBudget, Defrag and DelayExecution report. */
typedef struct _D3DKMT_VIDMM_ESCAPE {
	D3DKMT_VIDMMESCAPETYPE Type;
	union {
		struct {
			union {
				struct {
					ULONG ProbeAndLock : 1;
					ULONG SplitPoint : 1;
					ULONG NoDemotion : 1;
					ULONG SwizzlingAperture : 1;
					ULONG PagingPathLockSubRange : 1;
					ULONG PagingPathLockMinRange : 1;
					ULONG ComplexLock : 1;
					ULONG FailVARotation : 1;
					ULONG NoWriteCombined : 1;
					ULONG NoPrePatching : 1;
					ULONG AlwaysRepatch : 1;
					ULONG ExpectPreparationFailure : 1;
					ULONG FailUserModeVAMapping : 1;
					ULONG NeverDiscardOfferedAllocation : 1;
					ULONG AlwaysDiscardOfferedAllocation : 1;
					ULONG Reserved : 17;
				};
				ULONG Value;
			};
		} SetFault;
		struct {
			D3DKMT_HANDLE ResourceHandle;
			D3DKMT_HANDLE AllocationHandle;
			HANDLE hProcess;
		} Evict;
		struct {
			UINT64 NtHandle;
		} EvictByNtHandle;
		struct {
			union {
				struct {
					UINT NumVads;
				} GetNumVads;
				D3DKMT_VAD_DESC GetVad;
				D3DKMT_VA_RANGE_DESC GetVadRange;
				D3DKMT_GET_GPUMMU_CAPS GetGpuMmuCaps;
				D3DKMT_GET_PTE GetPte;
				D3DKMT_GET_SEGMENT_CAPS GetSegmentCaps;
			};
			D3DKMT_VAD_ESCAPE_COMMAND Command;
			NTSTATUS Status;
		} GetVads;
		struct {
			ULONGLONG LocalMemoryBudget;
			ULONGLONG SystemMemoryBudget;
		} SetBudget;
		struct {
			HANDLE hProcess;
			BOOL bAllowWakeOnSubmission;
		} SuspendProcess;
		struct {
			HANDLE hProcess;
		} ResumeProcess;
		struct {
			UINT64 NumBytesToTrim;
		} GetBudget;
		struct {
			ULONG MinTrimInterval;
			ULONG MaxTrimInterval;
			ULONG IdleTrimInterval;
		} SetTrimIntervals;
		D3DKMT_EVICTION_CRITERIA EvictByCriteria;
		struct {
			BOOL bFlush;
		} Wake;
		struct {
			D3DKMT_DEFRAG_ESCAPE_OPERATION Operation;
			UINT SegmentId;
			ULONGLONG TotalCommitted;
			ULONGLONG TotalFree;
			ULONGLONG LargestGapBefore;
			ULONGLONG LargestGapAfter;
		} Defrag;
		struct {
			D3DKMT_HANDLE hPagingQueue;
			UINT PhysicalAdapterIndex;
			ULONG Milliseconds;
			ULONGLONG PagingFenceValue;
		} DelayExecution;
		struct {
			UINT SegmentId;
		} VerifyIntegrity;
		struct {
			LONGLONG TimerValue;
		} DelayedEvictionConfig;
	};
} D3DKMT_VIDMM_ESCAPE;

typedef enum _D3DKMT_VIDSCHESCAPETYPE {
	D3DKMT_VIDSCHESCAPETYPE_PREEMPTIONCONTROL = 0,
	D3DKMT_VIDSCHESCAPETYPE_SUSPENDSCHEDULER = 1,
	D3DKMT_VIDSCHESCAPETYPE_TDRCONTROL = 2,
	D3DKMT_VIDSCHESCAPETYPE_SUSPENDRESUME = 3,
	D3DKMT_VIDSCHESCAPETYPE_ENABLECONTEXTDELAY = 4,
	D3DKMT_VIDSCHESCAPETYPE_CONFIGURE_TDR_LIMIT = 5,
	D3DKMT_VIDSCHESCAPETYPE_VGPU_RESET = 6,
	D3DKMT_VIDSCHESCAPETYPE_PFN_CONTROL = 7,
	D3DKMT_VIDSCHESCAPETYPE_VIRTUAL_REFRESH_RATE = 8,
} D3DKMT_VIDSCHESCAPETYPE;

typedef enum _D3DKMT_ESCAPE_PFN_CONTROL_COMMAND {
	D3DKMT_ESCAPE_PFN_CONTROL_DEFAULT = 0,
	D3DKMT_ESCAPE_PFN_CONTROL_FORCE_CPU = 1,
	D3DKMT_ESCAPE_PFN_CONTROL_FORCE_GPU = 2,
} D3DKMT_ESCAPE_PFN_CONTROL_COMMAND;

typedef enum _D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE_TYPE {
	D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE_TYPE_SET_BASE_DESKTOP_DURATION = 0,
	D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE_TYPE_SET_VSYNC_MULTIPLIER = 1,
	D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE_TYPE_SET_PROCESS_BOOST_ELIGIBLE = 2,
} D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE_TYPE;

typedef struct _D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE {
	D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE_TYPE Type;
	UINT VidPnSourceId;
	BOOLEAN ProcessBoostEligible;
	UINT VSyncMultiplier;
	UINT BaseDesktopDuration;
	UCHAR Reserved[16];
} D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE;

/* Type chooses the member. */
typedef struct _D3DKMT_VIDSCH_ESCAPE {
	D3DKMT_VIDSCHESCAPETYPE Type;
	union {
		BOOL PreemptionControl;
		BOOL EnableContextDelay;
		struct {
			ULONG TdrControl;
			ULONG NodeOrdinal;
		} TdrControl2;
		BOOL SuspendScheduler;
		ULONG TdrControl;
		ULONG SuspendTime;
		struct {
			UINT Count;
			UINT Time;
		} TdrLimit;
		D3DKMT_ESCAPE_PFN_CONTROL_COMMAND PfnControl;
	};
	D3DKMT_ESCAPE_VIRTUAL_REFRESH_RATE VirtualRefreshRateControl;
} D3DKMT_VIDSCH_ESCAPE;

typedef enum _D3DKMT_TDRDBGCTRLTYPE {
	D3DKMT_TDRDBGCTRLTYPE_FORCETDR = 0,
	D3DKMT_TDRDBGCTRLTYPE_DISABLEBREAK = 1,
	D3DKMT_TDRDBGCTRLTYPE_ENABLEBREAK = 2,
	D3DKMT_TDRDBGCTRLTYPE_UNCONDITIONAL = 3,
	D3DKMT_TDRDBGCTRLTYPE_VSYNCTDR = 4,
	D3DKMT_TDRDBGCTRLTYPE_GPUTDR = 5,
	D3DKMT_TDRDBGCTRLTYPE_FORCEDODTDR = 6,
	D3DKMT_TDRDBGCTRLTYPE_FORCEDODVSYNCTDR = 7,
	D3DKMT_TDRDBGCTRLTYPE_ENGINETDR = 8,
} D3DKMT_TDRDBGCTRLTYPE;

typedef struct _D3DKMT_TDRDBGCTRL_ESCAPE {
	D3DKMT_TDRDBGCTRLTYPE TdrControl;
	ULONG NodeOrdinal;
} D3DKMT_TDRDBGCTRL_ESCAPE;

typedef enum _D3DKMT_VERIFIER_OPTION_MODE {
	D3DKMT_VERIFIER_OPTION_QUERY = 0,
	D3DKMT_VERIFIER_OPTION_SET = 1,
} D3DKMT_VERIFIER_OPTION_MODE;

typedef enum _D3DKMT_PROCESS_VERIFIER_OPTION_TYPE {
	D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_FLAGS = 1000,
	D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_RESTRICT_BUDGET = 1001,
} D3DKMT_PROCESS_VERIFIER_OPTION_TYPE;

typedef union _D3DKMT_PROCESS_VERIFIER_VIDMM_FLAGS {
	struct {
		UINT ForceSynchronousEvict : 1;
		UINT NeverDeferEvictions : 1;
		UINT AlwaysFailCommitOnReclaim : 1;
		UINT AlwaysPlaceInDemotedLocation : 1;
		UINT Reserved : 28;
	};
	UINT32 Value;
} D3DKMT_PROCESS_VERIFIER_VIDMM_FLAGS;

typedef struct _D3DKMT_PROCESS_VERIFIER_VIDMM_RESTRICT_BUDGET {
	UINT64 LocalBudget;
	UINT64 NonLocalBudget;
} D3DKMT_PROCESS_VERIFIER_VIDMM_RESTRICT_BUDGET;

typedef union _D3DKMT_PROCESS_VERIFIER_OPTION_DATA {
	D3DKMT_PROCESS_VERIFIER_VIDMM_FLAGS VidMmFlags;
	D3DKMT_PROCESS_VERIFIER_VIDMM_RESTRICT_BUDGET VidMmRestrictBudget;
} D3DKMT_PROCESS_VERIFIER_OPTION_DATA;

typedef struct _D3DKMT_PROCESS_VERIFIER_OPTION {
	HANDLE hProcess;
	D3DKMT_PROCESS_VERIFIER_OPTION_TYPE Type;
	D3DKMT_VERIFIER_OPTION_MODE Mode;
	D3DKMT_PROCESS_VERIFIER_OPTION_DATA Data;
} D3DKMT_PROCESS_VERIFIER_OPTION;

typedef enum _D3DKMT_ADAPTER_VERIFIER_OPTION_TYPE {
	D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_FLAGS = 1000,
	D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_TRIM_INTERVAL = 1001,
} D3DKMT_ADAPTER_VERIFIER_OPTION_TYPE;

typedef union _D3DKMT_ADAPTER_VERIFIER_VIDMM_FLAGS {
	struct {
		UINT AlwaysRepatch : 1;
		UINT FailSharedPrimary : 1;
		UINT FailProbeAndLock : 1;
		UINT AlwaysDiscardOffer : 1;
		UINT NeverDiscardOffer : 1;
		UINT ForceComplexLock : 1;
		UINT NeverPrepatch : 1;
		UINT ExpectPreparationFailure : 1;
		UINT TakeSplitPoint : 1;
		UINT FailAcquireSwizzlingRange : 1;
		UINT PagingPathLockSubrange : 1;
		UINT PagingPathLockMinrange : 1;
		UINT FailVaRotation : 1;
		UINT NoDemotion : 1;
		UINT FailDefragPass : 1;
		UINT AlwaysProcessOfferList : 1;
		UINT AlwaysDecommitOffer : 1;
		UINT NeverMoveDefrag : 1;
		UINT AlwaysRelocateDisplayableResources : 1;
		UINT AlwaysFailGrowVPRMoves : 1;
		UINT Reserved : 12;
	};
	UINT32 Value;
} D3DKMT_ADAPTER_VERIFIER_VIDMM_FLAGS;

typedef struct _D3DKMT_ADAPTER_VERIFIER_VIDMM_TRIM_INTERVAL {
	UINT64 MinimumTrimInterval;
	UINT64 MaximumTrimInterval;
	UINT64 IdleTrimInterval;
} D3DKMT_ADAPTER_VERIFIER_VIDMM_TRIM_INTERVAL;

typedef union _D3DKMT_ADAPTER_VERIFIER_OPTION_DATA {
	D3DKMT_ADAPTER_VERIFIER_VIDMM_FLAGS VidMmFlags;
	D3DKMT_ADAPTER_VERIFIER_VIDMM_TRIM_INTERVAL VidMmTrimInterval;
} D3DKMT_ADAPTER_VERIFIER_OPTION_DATA;

typedef struct _D3DKMT_ADAPTER_VERIFIER_OPTION {
	D3DKMT_ADAPTER_VERIFIER_OPTION_TYPE Type;
	D3DKMT_VERIFIER_OPTION_MODE Mode;
	D3DKMT_ADAPTER_VERIFIER_OPTION_DATA Data;
} D3DKMT_ADAPTER_VERIFIER_OPTION;

typedef enum _D3DKMT_DEVICEESCAPE_TYPE {
	D3DKMT_DEVICEESCAPE_VIDPNFROMALLOCATION = 0,
	D3DKMT_DEVICEESCAPE_RESTOREGAMMA = 1,
} D3DKMT_DEVICEESCAPE_TYPE;

typedef struct _D3DKMT_DEVICE_ESCAPE {
	D3DKMT_DEVICEESCAPE_TYPE Type;
	struct {
		D3DKMT_HANDLE hPrimaryAllocation;
		D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	} VidPnFromAllocation;
} D3DKMT_DEVICE_ESCAPE;

typedef enum _D3DKMT_DMMESCAPETYPE {
	D3DKMT_DMMESCAPETYPE_UNINITIALIZED = 0,
	D3DKMT_DMMESCAPETYPE_GET_SUMMARY_INFO = 1,
	D3DKMT_DMMESCAPETYPE_GET_VIDEO_PRESENT_SOURCES_INFO = 2,
	D3DKMT_DMMESCAPETYPE_GET_VIDEO_PRESENT_TARGETS_INFO = 3,
	D3DKMT_DMMESCAPETYPE_GET_ACTIVEVIDPN_INFO = 4,
	D3DKMT_DMMESCAPETYPE_GET_MONITORS_INFO = 5,
	D3DKMT_DMMESCAPETYPE_RECENTLY_COMMITTED_VIDPNS_INFO = 6,
	D3DKMT_DMMESCAPETYPE_RECENT_MODECHANGE_REQUESTS_INFO = 7,
	D3DKMT_DMMESCAPETYPE_RECENTLY_RECOMMENDED_VIDPNS_INFO = 8,
	D3DKMT_DMMESCAPETYPE_RECENT_MONITOR_PRESENCE_EVENTS_INFO = 9,
	D3DKMT_DMMESCAPETYPE_ACTIVEVIDPN_SOURCEMODESET_INFO = 10,
	D3DKMT_DMMESCAPETYPE_ACTIVEVIDPN_COFUNCPATHMODALITY_INFO = 11,
	D3DKMT_DMMESCAPETYPE_GET_LASTCLIENTCOMMITTEDVIDPN_INFO = 12,
	D3DKMT_DMMESCAPETYPE_GET_VERSION_INFO = 13,
	D3DKMT_DMMESCAPETYPE_VIDPN_MGR_DIAGNOSTICS = 14,
} D3DKMT_DMMESCAPETYPE;

typedef struct _D3DKMT_DMM_ESCAPE {
	D3DKMT_DMMESCAPETYPE Type;
	D3DKMT_SIZE_T ProvidedBufferSize;
	D3DKMT_SIZE_T MinRequiredBufferSize;
	UCHAR Data[1];
} D3DKMT_DMM_ESCAPE;

typedef struct _D3DKMT_DEBUG_SNAPSHOT_ESCAPE {
	ULONG Length;
	BYTE Buffer[1];
} D3DKMT_DEBUG_SNAPSHOT_ESCAPE;

typedef struct _D3DKMT_DOD_SET_DIRTYRECT_MODE {
	BOOL bForceFullScreenDirty;
} D3DKMT_DOD_SET_DIRTYRECT_MODE;

typedef enum _D3DKMT_BRIGHTNESS_INFO_TYPE {
	D3DKMT_BRIGHTNESS_INFO_GET_POSSIBLE_LEVELS = 1,
	D3DKMT_BRIGHTNESS_INFO_GET = 2,
	D3DKMT_BRIGHTNESS_INFO_SET = 3,
	D3DKMT_BRIGHTNESS_INFO_GET_CAPS = 4,
	D3DKMT_BRIGHTNESS_INFO_SET_STATE = 5,
	D3DKMT_BRIGHTNESS_INFO_SET_OPTIMIZATION = 6,
	D3DKMT_BRIGHTNESS_INFO_GET_REDUCTION = 7,
	D3DKMT_BRIGHTNESS_INFO_BEGIN_MANUAL_MODE = 8,
	D3DKMT_BRIGHTNESS_INFO_END_MANUAL_MODE = 9,
	D3DKMT_BRIGHTNESS_INFO_TOGGLE_LOGGING = 10,
	D3DKMT_BRIGHTNESS_INFO_GET_NIT_RANGES = 11,
} D3DKMT_BRIGHTNESS_INFO_TYPE;

typedef struct _D3DKMT_BRIGHTNESS_POSSIBLE_LEVELS {
	UCHAR LevelCount;
	UCHAR BrightnessLevels[256];
} D3DKMT_BRIGHTNESS_POSSIBLE_LEVELS;

typedef struct _D3DKMT_BRIGHTNESS_INFO {
	D3DKMT_BRIGHTNESS_INFO_TYPE Type;
	ULONG ChildUid;
	union {
		D3DKMT_BRIGHTNESS_POSSIBLE_LEVELS PossibleLevels;
		UCHAR Brightness;
		DXGK_BRIGHTNESS_CAPS BrightnessCaps;
		DXGK_BRIGHTNESS_STATE BrightnessState;
		DXGK_BACKLIGHT_OPTIMIZATION_LEVEL OptimizationLevel;
		DXGK_BACKLIGHT_INFO ReductionInfo;
		BOOLEAN VerboseLogging;
		DXGK_BRIGHTNESS_GET_NIT_RANGES_OUT NitRanges;
		DXGK_BRIGHTNESS_GET_OUT GetBrightnessMillinits;
		DXGK_BRIGHTNESS_SET_IN SetBrightnessMillinits;
	};
} D3DKMT_BRIGHTNESS_INFO;

typedef struct _D3DKMT_BDDFALLBACK_CTL {
	BOOLEAN ForceBddHeadlessNextFallback;
} D3DKMT_BDDFALLBACK_CTL;

typedef struct _D3DKMT_REQUEST_MACHINE_CRASH_ESCAPE {
	D3DKMT_ULONG_PTR Param1;
	D3DKMT_ULONG_PTR Param2;
	D3DKMT_ULONG_PTR Param3;
} D3DKMT_REQUEST_MACHINE_CRASH_ESCAPE;

typedef enum _D3DKMT_ACTIVATE_SPECIFIC_DIAG_TYPE {
	D3DKMT_ACTIVATE_SPECIFIC_DIAG_TYPE_EXTRA_CCD_DATABASE_INFO = 0,
	D3DKMT_ACTIVATE_SPECIFIC_DIAG_TYPE_MODES_PRUNED = 15,
} D3DKMT_ACTIVATE_SPECIFIC_DIAG_TYPE;

typedef struct _D3DKMT_ACTIVATE_SPECIFIC_DIAG_ESCAPE {
	D3DKMT_ACTIVATE_SPECIFIC_DIAG_TYPE Type;
	BOOL Activate;
} D3DKMT_ACTIVATE_SPECIFIC_DIAG_ESCAPE;

/*
 * ---- Statistics ------------------------------------------------------------------------------
 * The selector at the end of D3DKMT_QUERYSTATISTICS is an input and is read before QueryResult
 * is written. A counter that is never reset counts from the start of the adapter.
 */

#define D3DKMT_QUERYRESULT_PREEMPTION_ATTEMPT_RESULT_MAX         16
#define D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_MAX               4
#define D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE_MAX             8
#define D3DKMT_QUERYSTATISTICS_ALLOCATION_PRIORITY_CLASS_MAX     5
#define D3DKMT_QUERYSTATISTICS_SEGMENT_PREFERENCE_MAX            5
#define D3DKMT_QUERYSTATISTICS_PROCESS_INTERFERENCE_BUCKET_COUNT 9

typedef enum _D3DKMT_QUERYRESULT_PREEMPTION_ATTEMPT_RESULT {
	D3DKMT_PreemptionAttempt = 0,
	D3DKMT_PreemptionAttemptSuccess = 1,
	D3DKMT_PreemptionAttemptMissNoCommand = 2,
	D3DKMT_PreemptionAttemptMissNotEnabled = 3,
	D3DKMT_PreemptionAttemptMissNextFence = 4,
	D3DKMT_PreemptionAttemptMissPagingCommand = 5,
	D3DKMT_PreemptionAttemptMissSplittedCommand = 6,
	D3DKMT_PreemptionAttemptMissFenceCommand = 7,
	D3DKMT_PreemptionAttemptMissRenderPendingFlip = 8,
	D3DKMT_PreemptionAttemptMissNotMakingProgress = 9,
	D3DKMT_PreemptionAttemptMissLessPriority = 10,
	D3DKMT_PreemptionAttemptMissRemainingQuantum = 11,
	D3DKMT_PreemptionAttemptMissRemainingPreemptionQuantum = 12,
	D3DKMT_PreemptionAttemptMissAlreadyPreempting = 13,
	D3DKMT_PreemptionAttemptMissGlobalBlock = 14,
	D3DKMT_PreemptionAttemptMissAlreadyRunning = 15,
	D3DKMT_PreemptionAttemptStatisticsMax = 16,
} D3DKMT_QUERYRESULT_PREEMPTION_ATTEMPT_RESULT;

typedef enum _D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE {
	D3DKMT_ClientRenderBuffer = 0,
	D3DKMT_ClientPagingBuffer = 1,
	D3DKMT_SystemPagingBuffer = 2,
	D3DKMT_SystemPreemptionBuffer = 3,
	D3DKMT_DmaPacketTypeMax = 4,
} D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE;

typedef enum _D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE {
	D3DKMT_RenderCommandBuffer = 0,
	D3DKMT_DeferredCommandBuffer = 1,
	D3DKMT_SystemCommandBuffer = 2,
	D3DKMT_MmIoFlipCommandBuffer = 3,
	D3DKMT_WaitCommandBuffer = 4,
	D3DKMT_SignalCommandBuffer = 5,
	D3DKMT_DeviceCommandBuffer = 6,
	D3DKMT_SoftwareCommandBuffer = 7,
	D3DKMT_QueuePacketTypeMax = 8,
} D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE;

typedef enum _D3DKMT_QUERYSTATISTICS_ALLOCATION_PRIORITY_CLASS {
	D3DKMT_AllocationPriorityClassMinimum = 0,
	D3DKMT_AllocationPriorityClassLow = 1,
	D3DKMT_AllocationPriorityClassNormal = 2,
	D3DKMT_AllocationPriorityClassHigh = 3,
	D3DKMT_AllocationPriorityClassMaximum = 4,
	D3DKMT_MaxAllocationPriorityClass = 5,
} D3DKMT_QUERYSTATISTICS_ALLOCATION_PRIORITY_CLASS;

typedef enum _D3DKMT_QUERYSTATISTICS_TYPE {
	D3DKMT_QUERYSTATISTICS_ADAPTER = 0,
	D3DKMT_QUERYSTATISTICS_PROCESS = 1,
	D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER = 2,
	D3DKMT_QUERYSTATISTICS_SEGMENT = 3,
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT = 4,
	D3DKMT_QUERYSTATISTICS_NODE = 5,
	D3DKMT_QUERYSTATISTICS_PROCESS_NODE = 6,
	D3DKMT_QUERYSTATISTICS_VIDPNSOURCE = 7,
	D3DKMT_QUERYSTATISTICS_PROCESS_VIDPNSOURCE = 8,
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP = 9,
	D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER = 10,
} D3DKMT_QUERYSTATISTICS_TYPE;

/* Natural alignment leaves a hole behind Count. */
typedef struct _D3DKMT_QUERYSTATISTICS_COUNTER {
	ULONG Count;
	ULONGLONG Bytes;
} D3DKMT_QUERYSTATISTICS_COUNTER;

typedef struct _D3DKMT_QUERYSTATSTICS_REFERENCE_DMA_BUFFER {
	ULONG NbCall;
	ULONG NbAllocationsReferenced;
	ULONG MaxNbAllocationsReferenced;
	ULONG NbNULLReference;
	ULONG NbWriteReference;
	ULONG NbRenamedAllocationsReferenced;
	ULONG NbIterationSearchingRenamedAllocation;
	ULONG NbLockedAllocationReferenced;
	ULONG NbAllocationWithValidPrepatchingInfoReferenced;
	ULONG NbAllocationWithInvalidPrepatchingInfoReferenced;
	ULONG NbDMABufferSuccessfullyPrePatched;
	ULONG NbPrimariesReferencesOverflow;
	ULONG NbAllocationWithNonPreferredResources;
	ULONG NbAllocationInsertedInMigrationTable;
} D3DKMT_QUERYSTATSTICS_REFERENCE_DMA_BUFFER;

typedef struct _D3DKMT_QUERYSTATSTICS_RENAMING {
	ULONG NbAllocationsRenamed;
	ULONG NbAllocationsShrinked;
	ULONG NbRenamedBuffer;
	ULONG MaxRenamingListLength;
	ULONG NbFailuresDueToRenamingLimit;
	ULONG NbFailuresDueToCreateAllocation;
	ULONG NbFailuresDueToOpenAllocation;
	ULONG NbFailuresDueToLowResource;
	ULONG NbFailuresDueToNonRetiredLimit;
} D3DKMT_QUERYSTATSTICS_RENAMING;

typedef struct _D3DKMT_QUERYSTATSTICS_PREPRATION {
	ULONG BroadcastStall;
	ULONG NbDMAPrepared;
	ULONG NbDMAPreparedLongPath;
	ULONG ImmediateHighestPreparationPass;
	D3DKMT_QUERYSTATISTICS_COUNTER AllocationsTrimmed;
} D3DKMT_QUERYSTATSTICS_PREPRATION;

typedef struct _D3DKMT_QUERYSTATSTICS_PAGING_FAULT {
	D3DKMT_QUERYSTATISTICS_COUNTER Faults;
	D3DKMT_QUERYSTATISTICS_COUNTER FaultsFirstTimeAccess;
	D3DKMT_QUERYSTATISTICS_COUNTER FaultsReclaimed;
	D3DKMT_QUERYSTATISTICS_COUNTER FaultsMigration;
	D3DKMT_QUERYSTATISTICS_COUNTER FaultsIncorrectResource;
	D3DKMT_QUERYSTATISTICS_COUNTER FaultsLostContent;
	D3DKMT_QUERYSTATISTICS_COUNTER FaultsEvicted;
	D3DKMT_QUERYSTATISTICS_COUNTER AllocationsMEM_RESET;
	D3DKMT_QUERYSTATISTICS_COUNTER AllocationsUnresetSuccess;
	D3DKMT_QUERYSTATISTICS_COUNTER AllocationsUnresetFail;
	ULONG AllocationsUnresetSuccessRead;
	ULONG AllocationsUnresetFailRead;
	D3DKMT_QUERYSTATISTICS_COUNTER Evictions;
	D3DKMT_QUERYSTATISTICS_COUNTER EvictionsDueToPreparation;
	D3DKMT_QUERYSTATISTICS_COUNTER EvictionsDueToLock;
	D3DKMT_QUERYSTATISTICS_COUNTER EvictionsDueToClose;
	D3DKMT_QUERYSTATISTICS_COUNTER EvictionsDueToPurge;
	D3DKMT_QUERYSTATISTICS_COUNTER EvictionsDueToSuspendCPUAccess;
} D3DKMT_QUERYSTATSTICS_PAGING_FAULT;

typedef struct _D3DKMT_QUERYSTATSTICS_PAGING_TRANSFER {
	ULONGLONG BytesFilled;
	ULONGLONG BytesDiscarded;
	ULONGLONG BytesMappedIntoAperture;
	ULONGLONG BytesUnmappedFromAperture;
	ULONGLONG BytesTransferredFromMdlToMemory;
	ULONGLONG BytesTransferredFromMemoryToMdl;
	ULONGLONG BytesTransferredFromApertureToMemory;
	ULONGLONG BytesTransferredFromMemoryToAperture;
} D3DKMT_QUERYSTATSTICS_PAGING_TRANSFER;

typedef struct _D3DKMT_QUERYSTATSTICS_SWIZZLING_RANGE {
	ULONG NbRangesAcquired;
	ULONG NbRangesReleased;
} D3DKMT_QUERYSTATSTICS_SWIZZLING_RANGE;

typedef struct _D3DKMT_QUERYSTATSTICS_LOCKS {
	ULONG NbLocks;
	ULONG NbLocksWaitFlag;
	ULONG NbLocksDiscardFlag;
	ULONG NbLocksNoOverwrite;
	ULONG NbLocksNoReadSync;
	ULONG NbLocksLinearization;
	ULONG NbComplexLocks;
} D3DKMT_QUERYSTATSTICS_LOCKS;

typedef struct _D3DKMT_QUERYSTATSTICS_ALLOCATIONS {
	D3DKMT_QUERYSTATISTICS_COUNTER Created;
	D3DKMT_QUERYSTATISTICS_COUNTER Destroyed;
	D3DKMT_QUERYSTATISTICS_COUNTER Opened;
	D3DKMT_QUERYSTATISTICS_COUNTER Closed;
	D3DKMT_QUERYSTATISTICS_COUNTER MigratedSuccess;
	D3DKMT_QUERYSTATISTICS_COUNTER MigratedFail;
	D3DKMT_QUERYSTATISTICS_COUNTER MigratedAbandoned;
} D3DKMT_QUERYSTATSTICS_ALLOCATIONS;

typedef struct _D3DKMT_QUERYSTATSTICS_TERMINATIONS {
	D3DKMT_QUERYSTATISTICS_COUNTER TerminatedShared;
	D3DKMT_QUERYSTATISTICS_COUNTER TerminatedNonShared;
	D3DKMT_QUERYSTATISTICS_COUNTER DestroyedShared;
	D3DKMT_QUERYSTATISTICS_COUNTER DestroyedNonShared;
} D3DKMT_QUERYSTATSTICS_TERMINATIONS;

typedef struct _D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION_FLAGS {
	union {
		struct {
			UINT64 NumberOfMemoryGroups : 2;
			UINT64 SupportsDemotion : 1;
			UINT64 Reserved : 61;
		};
		UINT64 Value;
	};
} D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION_FLAGS;

typedef struct _D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION {
	ULONG NbSegments;                                              /* out: number of segments */
	ULONG NodeCount;                                               /* out: number of nodes */
	ULONG VidPnSourceCount;                                        /* out: number of sources */
	ULONG VSyncEnabled;                                            /* out */
	ULONG TdrDetectedCount;                                        /* out: TDRs so far */
	LONGLONG ZeroLengthDmaBuffers;                                 /* out */
	ULONGLONG RestartedPeriod;                                     /* out */
	D3DKMT_QUERYSTATSTICS_REFERENCE_DMA_BUFFER ReferenceDmaBuffer; /* out */
	D3DKMT_QUERYSTATSTICS_RENAMING Renaming;                       /* out */
	D3DKMT_QUERYSTATSTICS_PREPRATION Preparation;                  /* out */
	D3DKMT_QUERYSTATSTICS_PAGING_FAULT PagingFault;                /* out */
	D3DKMT_QUERYSTATSTICS_PAGING_TRANSFER PagingTransfer;          /* out */
	D3DKMT_QUERYSTATSTICS_SWIZZLING_RANGE SwizzlingRange;          /* out */
	D3DKMT_QUERYSTATSTICS_LOCKS Locks;                             /* out */
	D3DKMT_QUERYSTATSTICS_ALLOCATIONS Allocations;                 /* out */
	D3DKMT_QUERYSTATSTICS_TERMINATIONS Terminations;               /* out */
	D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION_FLAGS Flags;        /* out */
	UINT64 Reserved[7];
} D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER_INFORMATION {
	D3DKMT_ADAPTER_PERFDATA AdapterPerfData;
	D3DKMT_ADAPTER_PERFDATACAPS AdapterPerfDataCaps;
	D3DKMT_GPUVERSION GpuVersion;
} D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_MEMORY {
	ULONGLONG TotalBytesEvicted;
	ULONG AllocsCommitted;
	ULONG AllocsResident;
} D3DKMT_QUERYSTATISTICS_MEMORY;

typedef struct _D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION {
	ULONGLONG CommitLimit;                /* out */
	ULONGLONG BytesCommitted;             /* out */
	ULONGLONG BytesResident;              /* out */
	D3DKMT_QUERYSTATISTICS_MEMORY Memory; /* out */
	ULONG Aperture;                       /* out */
	ULONGLONG TotalBytesEvictedByPriority
		[D3DKMT_QUERYSTATISTICS_ALLOCATION_PRIORITY_CLASS_MAX]; /* out */
	UINT64 SystemMemoryEndAddress;                                  /* out */
	struct {
		UINT64 PreservedDuringStandby : 1;
		UINT64 PreservedDuringHibernate : 1;
		UINT64 PartiallyPreservedDuringHibernate : 1;
		UINT64 Reserved : 61;
	} PowerFlags; /* out */
	struct {
		UINT64 SystemMemory : 1;
		UINT64 PopulatedByReservedDDRByFirmware : 1;
		UINT64 Reserved : 62;
	} SegmentProperties; /* out */
	UINT64 Reserved[5];
} D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_PREEMPTION_INFORMATION {
	ULONG PreemptionCounter[D3DKMT_QUERYRESULT_PREEMPTION_ATTEMPT_RESULT_MAX];
} D3DKMT_QUERYSTATISTICS_PREEMPTION_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE_INFORMATION {
	ULONG PacketSubmited;
	ULONG PacketCompleted;
} D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION {
	ULONG PacketSubmited;
	ULONG PacketCompleted;
	ULONG PacketPreempted;
	ULONG PacketFaulted;
} D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_PACKET_INFORMATION {
	D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE_INFORMATION
	QueuePacket[D3DKMT_QUERYSTATISTICS_QUEUE_PACKET_TYPE_MAX];
	D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION
	DmaPacket[D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_MAX];
} D3DKMT_QUERYSTATISTICS_PACKET_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION {
	LARGE_INTEGER RunningTime;                                          /* out: GPU time */
	ULONG ContextSwitch;                                                /* out */
	D3DKMT_QUERYSTATISTICS_PREEMPTION_INFORMATION PreemptionStatistics; /* out */
	D3DKMT_QUERYSTATISTICS_PACKET_INFORMATION PacketStatistics;         /* out */
	UINT64 Reserved[8];
} D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_NODE_INFORMATION {
	D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION GlobalInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION SystemInformation;
	D3DKMT_NODE_PERFDATA NodePerfData;
	UINT32 Reserved[3];
} D3DKMT_QUERYSTATISTICS_NODE_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_PROCESS_VIDPNSOURCE_INFORMATION {
	ULONG Frame;
	ULONG CancelledFrame;
	ULONG QueuedPresent;
	UINT Padding;
	UINT64 IsVSyncEnabled;
	UINT64 VSyncOnTotalTimeMs;
	UINT64 VSyncOffKeepPhaseTotalTimeMs;
	UINT64 VSyncOffNoPhaseTotalTimeMs;
	UINT64 Reserved[4];
} D3DKMT_QUERYSTATISTICS_PROCESS_VIDPNSOURCE_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_VIDPNSOURCE_INFORMATION {
	D3DKMT_QUERYSTATISTICS_PROCESS_VIDPNSOURCE_INFORMATION GlobalInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_VIDPNSOURCE_INFORMATION SystemInformation;
	UINT64 Reserved[8];
} D3DKMT_QUERYSTATISTICS_VIDPNSOURCE_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_SYSTEM_MEMORY {
	ULONGLONG BytesAllocated;
	ULONGLONG BytesReserved;
	ULONG SmallAllocationBlocks;
	ULONG LargeAllocationBlocks;
	ULONGLONG WriteCombinedBytesAllocated;
	ULONGLONG WriteCombinedBytesReserved;
	ULONGLONG CachedBytesAllocated;
	ULONGLONG CachedBytesReserved;
	ULONGLONG SectionBytesAllocated;
	ULONGLONG SectionBytesReserved;
	ULONGLONG BytesZeroed;
} D3DKMT_QUERYSTATISTICS_SYSTEM_MEMORY;

typedef struct _D3DKMT_QUERYSTATISTICS_PROCESS_INFORMATION {
	ULONG NodeCount;
	ULONG VidPnSourceCount;
	D3DKMT_QUERYSTATISTICS_SYSTEM_MEMORY SystemMemory;
	UINT64 Reserved[7];
} D3DKMT_QUERYSTATISTICS_PROCESS_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_DMA_BUFFER {
	D3DKMT_QUERYSTATISTICS_COUNTER Size;
	ULONG AllocationListBytes;
	ULONG PatchLocationListBytes;
} D3DKMT_QUERYSTATISTICS_DMA_BUFFER;

typedef struct _D3DKMT_QUERYSTATISTICS_COMMITMENT_DATA {
	UINT64 TotalBytesEvictedFromProcess;
	UINT64 BytesBySegmentPreference[D3DKMT_QUERYSTATISTICS_SEGMENT_PREFERENCE_MAX];
} D3DKMT_QUERYSTATISTICS_COMMITMENT_DATA;

typedef struct _D3DKMT_QUERYSTATISTICS_POLICY {
	ULONGLONG PreferApertureForRead[D3DKMT_QUERYSTATISTICS_ALLOCATION_PRIORITY_CLASS_MAX];
	ULONGLONG PreferAperture[D3DKMT_QUERYSTATISTICS_ALLOCATION_PRIORITY_CLASS_MAX];
	ULONGLONG MemResetOnPaging;
	ULONGLONG RemovePagesFromWorkingSetOnPaging;
	ULONGLONG MigrationEnabled;
} D3DKMT_QUERYSTATISTICS_POLICY;

typedef struct _D3DKMT_QUERYSTATISTICS_PROCESS_INTERFERENCE_COUNTERS {
	UINT64 InterferenceCount[D3DKMT_QUERYSTATISTICS_PROCESS_INTERFERENCE_BUCKET_COUNT];
} D3DKMT_QUERYSTATISTICS_PROCESS_INTERFERENCE_COUNTERS;

typedef struct _D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER_INFORMATION {
	ULONG NbSegments;                            /* out */
	ULONG NodeCount;                             /* out */
	ULONG VidPnSourceCount;                      /* out */
	ULONG VirtualMemoryUsage;                    /* out: CPU VA used by VidMm for the process */
	D3DKMT_QUERYSTATISTICS_DMA_BUFFER DmaBuffer; /* out */
	D3DKMT_QUERYSTATISTICS_COMMITMENT_DATA CommitmentData;                            /* out */
	D3DKMT_QUERYSTATISTICS_POLICY _Policy;                                            /* out */
	D3DKMT_QUERYSTATISTICS_PROCESS_INTERFERENCE_COUNTERS ProcessInterferenceCounters; /* out */
	D3DKMT_CLIENTHINT ClientHint;                                                     /* out */
} D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_VIDEO_MEMORY {
	ULONG AllocsCommitted;
	D3DKMT_QUERYSTATISTICS_COUNTER
	AllocsResidentInP[D3DKMT_QUERYSTATISTICS_SEGMENT_PREFERENCE_MAX];
	D3DKMT_QUERYSTATISTICS_COUNTER AllocsResidentInNonPreferred;
	ULONGLONG TotalBytesEvictedDueToPreparation;
} D3DKMT_QUERYSTATISTICS_VIDEO_MEMORY;

typedef struct _D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_POLICY {
	ULONGLONG UseMRU;
} D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_POLICY;

typedef struct _D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_INFORMATION {
	ULONGLONG BytesCommitted;    /* out: bytes of the process committed in the segment */
	ULONGLONG MaximumWorkingSet; /* out */
	ULONGLONG MinimumWorkingSet; /* out */
	ULONG NbReferencedAllocationEvictedInPeriod; /* out */
	UINT Padding;
	D3DKMT_QUERYSTATISTICS_VIDEO_MEMORY VideoMemory;       /* out */
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_POLICY _Policy; /* out */
	UINT64 Reserved[8];
} D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_INFORMATION;

typedef struct _D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP_INFORMATION {
	UINT64 Budget;    /* out */
	UINT64 Requested; /* out: bytes the process wants resident */
	UINT64 Usage;     /* out: bytes resident */
	UINT64 Demoted[D3DKMT_QUERYSTATISTICS_ALLOCATION_PRIORITY_CLASS_MAX]; /* out */
} D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP_INFORMATION;

typedef union _D3DKMT_QUERYSTATISTICS_RESULT {
	D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION AdapterInformation;
	D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER_INFORMATION PhysAdapterInformation;
	D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION SegmentInformation;
	D3DKMT_QUERYSTATISTICS_NODE_INFORMATION NodeInformation;
	D3DKMT_QUERYSTATISTICS_VIDPNSOURCE_INFORMATION VidPnSourceInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_INFORMATION ProcessInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER_INFORMATION ProcessAdapterInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_INFORMATION ProcessSegmentInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION ProcessNodeInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_VIDPNSOURCE_INFORMATION ProcessVidPnSourceInformation;
	D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT_GROUP_INFORMATION ProcessSegmentGroupInformation;
} D3DKMT_QUERYSTATISTICS_RESULT;

typedef struct _D3DKMT_QUERYSTATISTICS_QUERY_SEGMENT {
	ULONG SegmentId;
} D3DKMT_QUERYSTATISTICS_QUERY_SEGMENT;

typedef struct _D3DKMT_QUERYSTATISTICS_QUERY_NODE {
	ULONG NodeId;
} D3DKMT_QUERYSTATISTICS_QUERY_NODE;

typedef struct _D3DKMT_QUERYSTATISTICS_QUERY_VIDPNSOURCE {
	ULONG VidPnSourceId;
} D3DKMT_QUERYSTATISTICS_QUERY_VIDPNSOURCE;

typedef struct _D3DKMT_QUERYSTATISTICS_QUERY_PHYSICAL_ADAPTER {
	ULONG PhysicalAdapterIndex;
} D3DKMT_QUERYSTATISTICS_QUERY_PHYSICAL_ADAPTER;

/* 808 bytes on every 64-bit system. */
typedef struct _D3DKMT_QUERYSTATISTICS {
	D3DKMT_QUERYSTATISTICS_TYPE Type;          /* in: selects result and query member */
	LUID AdapterLuid;                          /* in: adapter by LUID (no handle needed) */
	HANDLE hProcess;                           /* in: process for PROCESS_ types, else NULL */
	D3DKMT_QUERYSTATISTICS_RESULT QueryResult; /* out */
	union {
		D3DKMT_QUERYSTATISTICS_QUERY_SEGMENT QuerySegment;                /* in */
		D3DKMT_QUERYSTATISTICS_QUERY_SEGMENT QueryProcessSegment;         /* in */
		D3DKMT_MEMORY_SEGMENT_GROUP QueryProcessSegmentGroup;             /* in */
		D3DKMT_QUERYSTATISTICS_QUERY_NODE QueryNode;                      /* in */
		D3DKMT_QUERYSTATISTICS_QUERY_NODE QueryProcessNode;               /* in */
		D3DKMT_QUERYSTATISTICS_QUERY_VIDPNSOURCE QueryVidPnSource;        /* in */
		D3DKMT_QUERYSTATISTICS_QUERY_VIDPNSOURCE QueryProcessVidPnSource; /* in */
		D3DKMT_QUERYSTATISTICS_QUERY_PHYSICAL_ADAPTER QueryPhysAdapter;   /* in */
	};
} D3DKMT_QUERYSTATISTICS;

/*
 * ---- Presentation ----------------------------------------------------------------------------
 */

#define D3DKMT_MAX_PRESENT_HISTORY_RECTS       16
#define D3DKMT_MAX_PRESENT_HISTORY_SCATTERBLTS 12
#define D3DKMT_GETPRESENTHISTORY_MAXTOKENS     2048
#define FLIPEX_TIMEOUT_USER                    2000
#define FLIPEX_TIMEOUT_KERNEL                  (FLIPEX_TIMEOUT_USER * 10000)

typedef ULONGLONG D3DKMT_VISTABLTMODEL_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_PRESENTFLAGS {
	union {
		struct {
			UINT Blt : 1;
			UINT ColorFill : 1;
			UINT Flip : 1;
			UINT FlipDoNotFlip : 1;
			UINT FlipDoNotWait : 1;
			UINT FlipRestart : 1;
			UINT DstRectValid : 1;
			UINT SrcRectValid : 1;
			UINT RestrictVidPnSource : 1;
			UINT SrcColorKey : 1;
			UINT DstColorKey : 1;
			UINT LinearToSrgb : 1;
			UINT PresentCountValid : 1;
			UINT Rotate : 1;
			UINT PresentToBitmap : 1;
			UINT RedirectedFlip : 1;
			UINT RedirectedBlt : 1;
			UINT FlipStereo : 1;
			UINT FlipStereoTemporaryMono : 1;
			UINT FlipStereoPreferRight : 1;
			UINT BltStereoUseRight : 1;
			UINT PresentHistoryTokenOnly : 1;
			UINT PresentRegionsValid : 1;
			UINT PresentDDA : 1;
			UINT ProtectedContentBlankedOut : 1;
			UINT RemoteSession : 1;
			UINT CrossAdapter : 1;
			UINT DurationValid : 1;
			UINT PresentIndirect : 1;
			UINT PresentHMD : 1;
			UINT Reserved : 2;
		};
		UINT Value;
	};
} D3DKMT_PRESENTFLAGS;

typedef enum _D3DKMT_PRESENT_MODEL {
	D3DKMT_PM_UNINITIALIZED = 0,
	D3DKMT_PM_REDIRECTED_GDI = 1,
	D3DKMT_PM_REDIRECTED_FLIP = 2,
	D3DKMT_PM_REDIRECTED_BLT = 3,
	D3DKMT_PM_REDIRECTED_VISTABLT = 4,
	D3DKMT_PM_SCREENCAPTUREFENCE = 5,
	D3DKMT_PM_REDIRECTED_GDI_SYSMEM = 6,
	D3DKMT_PM_REDIRECTED_COMPOSITION = 7,
	D3DKMT_PM_SURFACECOMPLETE = 8,
	D3DKMT_PM_FLIPMANAGER = 9,
} D3DKMT_PRESENT_MODEL;

typedef enum _D3DKMT_FLIPMODEL_INDEPENDENT_FLIP_STAGE {
	D3DKMT_FLIPMODEL_INDEPENDENT_FLIP_STAGE_FLIP_SUBMITTED = 0,
	D3DKMT_FLIPMODEL_INDEPENDENT_FLIP_STAGE_FLIP_COMPLETE = 1,
} D3DKMT_FLIPMODEL_INDEPENDENT_FLIP_STAGE;

typedef struct _D3DKMT_FLIPMODEL_PRESENTHISTORYTOKENFLAGS {
	union {
		struct {
			UINT Video : 1;
			UINT RestrictedContent : 1;
			UINT ClipToView : 1;
			UINT StereoPreferRight : 1;
			UINT TemporaryMono : 1;
			UINT FlipRestart : 1;
			UINT HDRMetaDataChanged : 1;
			UINT AlphaMode : 2;
			UINT SignalLimitOnTokenCompletion : 1;
			UINT YCbCrFlags : 3;
			UINT IndependentFlip : 1;
			D3DKMT_FLIPMODEL_INDEPENDENT_FLIP_STAGE IndependentFlipStage : 2;
			UINT IndependentFlipReleaseCount : 2;
			UINT IndependentFlipForceNotifyDwm : 1;
			UINT UseCustomDuration : 1;
			UINT IndependentFlipRequestDwmConfirm : 1;
			UINT IndependentFlipCandidate : 1;
			UINT IndependentFlipCheckNeeded : 1;
			UINT IndependentFlipTrueImmediate : 1;
			UINT IndependentFlipRequestDwmExit : 1;
			UINT CompSurfaceNotifiedEarly : 1;
			UINT IndependentFlipDoNotFlip : 1;
			UINT RequirePairedToken : 1;
			UINT VariableRefreshOverrideEligible : 1;
			UINT Reserved : 3;
		};
		UINT Value;
	};
} D3DKMT_FLIPMODEL_PRESENTHISTORYTOKENFLAGS;

typedef struct _D3DKMT_SCATTERBLT {
	ULONG64 hLogicalSurfaceDestination;
	LONG64 hDestinationCompSurfDWM;
	UINT64 DestinationCompositionBindingId;
	RECT SourceRect;
	POINT DestinationOffset;
} D3DKMT_SCATTERBLT;

typedef struct _D3DKMT_SCATTERBLTS {
	UINT NumBlts;
	D3DKMT_SCATTERBLT Blts[D3DKMT_MAX_PRESENT_HISTORY_SCATTERBLTS];
} D3DKMT_SCATTERBLTS;

typedef struct _D3DKMT_DIRTYREGIONS {
	UINT NumRects;
	RECT Rects[D3DKMT_MAX_PRESENT_HISTORY_RECTS];
} D3DKMT_DIRTYREGIONS;

typedef struct _D3DKMT_FLIPMODEL_PRESENTHISTORYTOKEN {
	UINT64 FenceValue;
	ULONG64 hLogicalSurface;
	D3DKMT_UINT_PTR dxgContext;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT SwapChainIndex;
	UINT64 PresentLimitSemaphoreId;
	D3DDDI_FLIPINTERVAL_TYPE FlipInterval;
	D3DKMT_FLIPMODEL_PRESENTHISTORYTOKENFLAGS Flags;
	LONG64 hCompSurf;
	LUID compSurfLuid;
	UINT64 confirmationCookie;
	UINT64 CompositionSyncKey;
	UINT RemainingTokens;
	RECT ScrollRect;
	POINT ScrollOffset;
	UINT PresentCount;
	FLOAT RevealColor[4];
	D3DDDI_ROTATION Rotation;
	union {
		D3DKMT_SCATTERBLTS ScatterBlts;
		struct {
			HANDLE hSyncObject;
			D3DDDI_HDR_METADATA_TYPE HDRMetaDataType;
			union {
				D3DDDI_HDR_METADATA_HDR10 HDRMetaDataHDR10;
				D3DDDI_HDR_METADATA_HDR10PLUS HDRMetaDataHDR10Plus;
			};
		};
	};
	UINT InkCookie;
	RECT SourceRect;
	UINT DestWidth;
	UINT DestHeight;
	RECT TargetRect;
	FLOAT Transform[6];
	UINT CustomDuration;
	D3DDDI_FLIPINTERVAL_TYPE CustomDurationFlipInterval;
	UINT PlaneIndex;
	D3DDDI_COLOR_SPACE_TYPE ColorSpace;
	D3DKMT_DIRTYREGIONS DirtyRegions;
} D3DKMT_FLIPMODEL_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_BLTMODEL_PRESENTHISTORYTOKEN {
	ULONG64 hLogicalSurface;
	ULONG64 hPhysicalSurface;
	ULONG64 EventId;
	D3DKMT_DIRTYREGIONS DirtyRegions;
} D3DKMT_BLTMODEL_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_GDIMODEL_PRESENTHISTORYTOKEN {
	ULONG64 hLogicalSurface;
	ULONG64 hPhysicalSurface;
	RECT ScrollRect;
	POINT ScrollOffset;
	D3DKMT_DIRTYREGIONS DirtyRegions;
} D3DKMT_GDIMODEL_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_FENCE_PRESENTHISTORYTOKEN {
	UINT64 Key;
} D3DKMT_FENCE_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_GDIMODEL_SYSMEM_PRESENTHISTORYTOKEN {
	ULONG64 hlsurf;
	DWORD dwDirtyFlags;
	UINT64 uiCookie;
} D3DKMT_GDIMODEL_SYSMEM_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_COMPOSITION_PRESENTHISTORYTOKEN {
	ULONG64 hPrivateData;
} D3DKMT_COMPOSITION_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_FLIPMANAGER_PRESENTHISTORYTOKEN {
	ULONG64 hPrivateData;
	ULONGLONG PresentAtQpc;
	union {
		struct {
			UINT Discard : 1;
			UINT PresentAt : 1;
			UINT hPrivateDataIsPointer : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	} Flags;
} D3DKMT_FLIPMANAGER_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_SURFACECOMPLETE_PRESENTHISTORYTOKEN {
	ULONG64 hLogicalSurface;
} D3DKMT_SURFACECOMPLETE_PRESENTHISTORYTOKEN;

typedef struct _D3DKMT_PRESENTHISTORYTOKEN {
	D3DKMT_PRESENT_MODEL Model;
	UINT TokenSize;
	UINT64 CompositionBindingId;
	union {
		D3DKMT_FLIPMODEL_PRESENTHISTORYTOKEN Flip;
		D3DKMT_BLTMODEL_PRESENTHISTORYTOKEN Blt;
		D3DKMT_VISTABLTMODEL_PRESENTHISTORYTOKEN VistaBlt;
		D3DKMT_GDIMODEL_PRESENTHISTORYTOKEN Gdi;
		D3DKMT_FENCE_PRESENTHISTORYTOKEN Fence;
		D3DKMT_GDIMODEL_SYSMEM_PRESENTHISTORYTOKEN GdiSysMem;
		D3DKMT_COMPOSITION_PRESENTHISTORYTOKEN Composition;
		D3DKMT_FLIPMANAGER_PRESENTHISTORYTOKEN FlipManager;
		D3DKMT_SURFACECOMPLETE_PRESENTHISTORYTOKEN SurfaceComplete;
	} Token;
} D3DKMT_PRESENTHISTORYTOKEN;

typedef enum _D3DKMT_AUXILIARYPRESENTINFO_TYPE {
	D3DKMT_AUXILIARYPRESENTINFO_TYPE_FLIPMANAGER = 0,
} D3DKMT_AUXILIARYPRESENTINFO_TYPE;

typedef struct _D3DKMT_AUXILIARYPRESENTINFO {
	UINT size;
	D3DKMT_AUXILIARYPRESENTINFO_TYPE type;
} D3DKMT_AUXILIARYPRESENTINFO;

typedef struct _D3DKMT_FLIPMANAGER_AUXILIARYPRESENTINFO {
	D3DKMT_AUXILIARYPRESENTINFO auxiliaryPresentInfo;
	UINT flipManagerTracingId;
	BOOL customDurationChanged;
	LUID FlipAdapterLuid;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_FLIPMODEL_INDEPENDENT_FLIP_STAGE independentFlipStage;
	ULONGLONG FlipCompletedQpc;
	UINT HwPresentDurationQpc;
	BOOL WasCanceled;
} D3DKMT_FLIPMANAGER_AUXILIARYPRESENTINFO;

typedef struct _D3DKMT_PRESENT_RGNS {
	UINT DirtyRectCount;
	CONST RECT *pDirtyRects;
	UINT MoveRectCount;
	CONST D3DKMT_MOVE_RECT *pMoveRects;
} D3DKMT_PRESENT_RGNS;

/* Not offered by compute-only clients; declared because submission structs contain it. */
typedef struct _D3DKMT_PRESENT {
	union {
		D3DKMT_HANDLE hDevice;
		D3DKMT_HANDLE hContext;
	};
	union {
		HWND hWindow;
		UINT64 hWindow_Align;
	};
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_HANDLE hSource;
	D3DKMT_HANDLE hDestination;
	UINT Color;
	RECT DstRect;
	RECT SrcRect;
	UINT SubRectCnt;
	CONST RECT *pSrcSubRects;
	UINT PresentCount;
	D3DDDI_FLIPINTERVAL_TYPE FlipInterval;
	D3DKMT_PRESENTFLAGS Flags;
	ULONG BroadcastContextCount;
	D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT];
	HANDLE PresentLimitSemaphore;
	D3DKMT_PRESENTHISTORYTOKEN PresentHistoryToken;
	D3DKMT_PRESENT_RGNS *pPresentRegions;
	union {
		D3DKMT_HANDLE hAdapter;
		D3DKMT_HANDLE hIndirectContext;
	};
	UINT Duration;
	D3DKMT_HANDLE *BroadcastSrcAllocation;
	D3DKMT_HANDLE *BroadcastDstAllocation;
	UINT PrivateDriverDataSize;
	PVOID pPrivateDriverData;
	BOOLEAN bOptimizeForComposition;
} D3DKMT_PRESENT;

typedef struct _D3DKMT_PRESENT_REDIRECTED_FLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} D3DKMT_PRESENT_REDIRECTED_FLAGS;

typedef struct _D3DKMT_PRESENT_REDIRECTED {
	D3DKMT_HANDLE hSyncObj;
	D3DKMT_HANDLE hDevice;
	ULONGLONG WaitedFenceValue;
	D3DKMT_PRESENTHISTORYTOKEN PresentHistoryToken;
	D3DKMT_PRESENT_REDIRECTED_FLAGS Flags;
	D3DKMT_HANDLE hSource;
	UINT PrivateDriverDataSize;
	PVOID pPrivateDriverData;
} D3DKMT_PRESENT_REDIRECTED;

typedef struct _D3DKMT_CANCEL_PRESENTS_FLAGS {
	union {
		struct {
			UINT NewVSyncInterruptState : 1;
			UINT Reserved : 31;
		} ReprogramInterrupt;
		UINT Value;
	};
} D3DKMT_CANCEL_PRESENTS_FLAGS;

typedef enum _D3DKMT_CANCEL_PRESENTS_OPERATION {
	D3DKMT_CANCEL_PRESENTS_OPERATION_CANCEL_FROM = 0,
	D3DKMT_CANCEL_PRESENTS_OPERATION_REPROGRAM_INTERRUPT = 1,
} D3DKMT_CANCEL_PRESENTS_OPERATION;

typedef struct _D3DKMT_CANCEL_PRESENTS {
	UINT cbSize;
	D3DKMT_HANDLE hDevice;
	D3DKMT_CANCEL_PRESENTS_FLAGS Flags;
	D3DKMT_CANCEL_PRESENTS_OPERATION Operation;
	UINT64 CancelFromPresentId;
	LUID CompSurfaceLuid;
	UINT64 BindId;
} D3DKMT_CANCEL_PRESENTS;

typedef struct _D3DKMT_SUBMITPRESENTBLTTOHWQUEUE {
	D3DKMT_HANDLE hHwQueue;
	UINT64 HwQueueProgressFenceId;
	D3DKMT_PRESENT PrivatePresentData;
} D3DKMT_SUBMITPRESENTBLTTOHWQUEUE;

typedef struct _D3DKMT_SUBMITPRESENTTOHWQUEUE {
	D3DKMT_HANDLE *hHwQueues;
	D3DKMT_PRESENT PrivatePresentData;
} D3DKMT_SUBMITPRESENTTOHWQUEUE;

typedef struct _D3DKMT_GETPRESENTHISTORY {
	D3DKMT_HANDLE hAdapter;
	UINT ProvidedSize;
	UINT WrittenSize;
	D3DKMT_PRESENTHISTORYTOKEN *pTokens;
	UINT NumTokens;
} D3DKMT_GETPRESENTHISTORY;

typedef struct _D3DKMT_CHECKOCCLUSION {
	union {
		HWND hWindow;
		UINT64 hWindow_Align;
	};
} D3DKMT_CHECKOCCLUSION;

typedef union _D3DKMT_SETFSEBLOCKFLAGS {
	struct {
		UINT Block : 1;
		UINT Reserved : 31;
	};
	UINT Value;
} D3DKMT_SETFSEBLOCKFLAGS;

typedef struct _D3DKMT_SETFSEBLOCK {
	LUID AdapterLuid;
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_SETFSEBLOCKFLAGS Flags;
} D3DKMT_SETFSEBLOCK;

typedef union _D3DKMT_QUERYFSEBLOCKFLAGS {
	struct {
		UINT Blocked : 1;
		UINT Reserved : 31;
	};
	UINT Value;
} D3DKMT_QUERYFSEBLOCKFLAGS;

typedef struct _D3DKMT_QUERYFSEBLOCK {
	LUID AdapterLuid;
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_QUERYFSEBLOCKFLAGS Flags;
} D3DKMT_QUERYFSEBLOCK;

/*
 * ---- Multiplane overlays ---------------------------------------------------------------------
 */

#define D3DKMT_MAX_MULTIPLANE_OVERLAY_PLANES                8
#define D3DKMT_MAX_MULTIPLANE_OVERLAY_ALLOCATIONS_PER_PLANE 256

typedef enum _D3DKMT_MULTIPLANE_OVERLAY_FLAGS {
	D3DKMT_MULTIPLANE_OVERLAY_FLAG_VERTICAL_FLIP = 0x1,
	D3DKMT_MULTIPLANE_OVERLAY_FLAG_HORIZONTAL_FLIP = 0x2,
	D3DKMT_MULTIPLANE_OVERLAY_FLAG_STATIC_CHECK = 0x4,
} D3DKMT_MULTIPLANE_OVERLAY_FLAGS;

typedef enum _D3DKMT_MULTIPLANE_OVERLAY_BLEND {
	D3DKMT_MULTIPLANE_OVERLAY_BLEND_OPAQUE = 0,
	D3DKMT_MULTIPLANE_OVERLAY_BLEND_ALPHABLEND = 1,
} D3DKMT_MULTIPLANE_OVERLAY_BLEND;

typedef enum _D3DKMT_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT {
	D3DKMT_MULIIPLANE_OVERLAY_VIDEO_FRAME_FORMAT_PROGRESSIVE = 0,
	D3DKMT_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT_INTERLACED_TOP_FIELD_FIRST = 1,
	D3DKMT_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT_INTERLACED_BOTTOM_FIELD_FIRST = 2,
} D3DKMT_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT;

typedef enum _D3DKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT {
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT_MONO = 0,
	D3DKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT_HORIZONTAL = 1,
	D3DKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT_VERTICAL = 2,
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT_SEPARATE = 3,
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT_MONO_OFFSET = 4,
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT_ROW_INTERLEAVED = 5,
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT_COLUMN_INTERLEAVED = 6,
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT_CHECKERBOARD = 7,
} D3DKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT;

typedef enum _DXGKMT_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE {
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FLIP_NONE = 0,
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FLIP_FRAME0 = 1,
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FLIP_FRAME1 = 2,
} DXGKMT_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE;

typedef enum _DXGKMT_MULTIPLANE_OVERLAY_STRETCH_QUALITY {
	DXGKMT_MULTIPLANE_OVERLAY_STRETCH_QUALITY_BILINEAR = 1,
	DXGKMT_MULTIPLANE_OVERLAY_STRETCH_QUALITY_HIGH = 2,
} DXGKMT_MULTIPLANE_OVERLAY_STRETCH_QUALITY;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES {
	UINT Flags;
	RECT SrcRect;
	RECT DstRect;
	RECT ClipRect;
	D3DDDI_ROTATION Rotation;
	D3DKMT_MULTIPLANE_OVERLAY_BLEND Blend;
	UINT DirtyRectCount;
	RECT *pDirtyRects;
	D3DKMT_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT VideoFrameFormat;
	UINT YCbCrFlags;
	D3DKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT StereoFormat;
	BOOL StereoLeftViewFrame0;
	BOOL StereoBaseViewFrame0;
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE StereoFlipMode;
	DXGKMT_MULTIPLANE_OVERLAY_STRETCH_QUALITY StretchQuality;
} D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES;

typedef struct _D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE {
	D3DKMT_HANDLE hResource;
	LUID CompSurfaceLuid;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES PlaneAttributes;
} D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE;

typedef struct _D3DKMT_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO {
	union {
		struct {
			UINT FailingPlane : 4;
			UINT TryAgain : 1;
			UINT Reserved : 27;
		};
		UINT Value;
	};
} D3DKMT_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO;

typedef struct _D3DKMT_CHECKMULTIPLANEOVERLAYSUPPORT {
	D3DKMT_HANDLE hDevice;
	UINT PlaneCount;
	D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE *pOverlayPlanes;
	BOOL Supported;
	D3DKMT_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO ReturnInfo;
} D3DKMT_CHECKMULTIPLANEOVERLAYSUPPORT;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY {
	UINT LayerIndex;
	BOOL Enabled;
	D3DKMT_HANDLE hAllocation;
	D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES PlaneAttributes;
} D3DKMT_MULTIPLANE_OVERLAY;

typedef struct _D3DKMT_PRESENT_MULTIPLANE_OVERLAY {
	union {
		D3DKMT_HANDLE hDevice;
		D3DKMT_HANDLE hContext;
	};
	ULONG BroadcastContextCount;
	D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT];
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT PresentCount;
	D3DDDI_FLIPINTERVAL_TYPE FlipInterval;
	D3DKMT_PRESENTFLAGS Flags;
	UINT PresentPlaneCount;
	D3DKMT_MULTIPLANE_OVERLAY *pPresentPlanes;
	UINT Duration;
} D3DKMT_PRESENT_MULTIPLANE_OVERLAY;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES2 {
	UINT Flags;
	RECT SrcRect;
	RECT DstRect;
	RECT ClipRect;
	D3DDDI_ROTATION Rotation;
	D3DKMT_MULTIPLANE_OVERLAY_BLEND Blend;
	UINT DirtyRectCount;
	RECT *pDirtyRects;
	D3DKMT_MULTIPLANE_OVERLAY_VIDEO_FRAME_FORMAT VideoFrameFormat;
	D3DDDI_COLOR_SPACE_TYPE ColorSpace;
	D3DKMT_MULTIPLANE_OVERLAY_STEREO_FORMAT StereoFormat;
	BOOL StereoLeftViewFrame0;
	BOOL StereoBaseViewFrame0;
	DXGKMT_MULTIPLANE_OVERLAY_STEREO_FLIP_MODE StereoFlipMode;
	DXGKMT_MULTIPLANE_OVERLAY_STRETCH_QUALITY StretchQuality;
	UINT Reserved1;
} D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES2;

typedef struct _D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE2 {
	UINT LayerIndex;
	D3DKMT_HANDLE hResource;
	LUID CompSurfaceLuid;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES2 PlaneAttributes;
} D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE2;

typedef struct _D3DKMT_CHECKMULTIPLANEOVERLAYSUPPORT2 {
	D3DKMT_HANDLE hAdapter;
	D3DKMT_HANDLE hDevice;
	UINT PlaneCount;
	D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE2 *pOverlayPlanes;
	BOOL Supported;
	D3DKMT_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO ReturnInfo;
} D3DKMT_CHECKMULTIPLANEOVERLAYSUPPORT2;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY2 {
	UINT LayerIndex;
	BOOL Enabled;
	D3DKMT_HANDLE hAllocation;
	D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES2 PlaneAttributes;
} D3DKMT_MULTIPLANE_OVERLAY2;

typedef struct _D3DKMT_PRESENT_MULTIPLANE_OVERLAY2 {
	D3DKMT_HANDLE hAdapter;
	union {
		D3DKMT_HANDLE hDevice;
		D3DKMT_HANDLE hContext;
	};
	ULONG BroadcastContextCount;
	D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT];
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT PresentCount;
	D3DDDI_FLIPINTERVAL_TYPE FlipInterval;
	D3DKMT_PRESENTFLAGS Flags;
	UINT PresentPlaneCount;
	D3DKMT_MULTIPLANE_OVERLAY2 *pPresentPlanes;
	UINT Duration;
} D3DKMT_PRESENT_MULTIPLANE_OVERLAY2;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES3 {
	UINT Flags;
	RECT SrcRect;
	RECT DstRect;
	RECT ClipRect;
	D3DDDI_ROTATION Rotation;
	D3DKMT_MULTIPLANE_OVERLAY_BLEND Blend;
	UINT DirtyRectCount;
	RECT *pDirtyRects;
	D3DDDI_COLOR_SPACE_TYPE ColorSpace;
	DXGKMT_MULTIPLANE_OVERLAY_STRETCH_QUALITY StretchQuality;
	UINT SDRWhiteLevel;
} D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES3;

typedef struct _D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE3 {
	UINT LayerIndex;
	D3DKMT_HANDLE hResource;
	LUID CompSurfaceLuid;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES3 *pPlaneAttributes;
} D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE3;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION_FLAGS {
	union {
		struct {
			UINT VerticalFlip : 1;
			UINT HorizontalFlip : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION_FLAGS;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION {
	D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION_FLAGS Flags;
	RECT SrcRect;
	RECT DstRect;
	D3DDDI_ROTATION Rotation;
} D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION_WITH_SOURCE {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION PostComposition;
} D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION_WITH_SOURCE;

typedef struct _D3DKMT_CHECKMULTIPLANEOVERLAYSUPPORT3 {
	D3DKMT_HANDLE hAdapter;
	D3DKMT_HANDLE hDevice;
	UINT PlaneCount;
	D3DKMT_CHECK_MULTIPLANE_OVERLAY_PLANE3 **ppOverlayPlanes;
	UINT PostCompositionCount;
	D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION_WITH_SOURCE **ppPostComposition;
	BOOL Supported;
	D3DKMT_CHECK_MULTIPLANE_OVERLAY_SUPPORT_RETURN_INFO ReturnInfo;
} D3DKMT_CHECKMULTIPLANEOVERLAYSUPPORT3;

typedef struct _D3DKMT_PLANE_SPECIFIC_INPUT_FLAGS {
	union {
		struct {
			UINT Enabled : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DKMT_PLANE_SPECIFIC_INPUT_FLAGS;

typedef struct _D3DKMT_PLANE_SPECIFIC_OUTPUT_FLAGS {
	union {
		struct {
			UINT FlipConvertedToImmediate : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DKMT_PLANE_SPECIFIC_OUTPUT_FLAGS;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY3 {
	UINT LayerIndex;
	D3DKMT_PLANE_SPECIFIC_INPUT_FLAGS InputFlags;
	D3DDDI_FLIPINTERVAL_TYPE FlipInterval;
	UINT MaxImmediateFlipLine;
	UINT AllocationCount;
	D3DKMT_HANDLE *pAllocationList;
	UINT DriverPrivateDataSize;
	VOID *pDriverPrivateData;
	CONST D3DKMT_MULTIPLANE_OVERLAY_ATTRIBUTES3 *pPlaneAttributes;
	D3DKMT_HANDLE hFlipToFence;
	D3DKMT_HANDLE hFlipAwayFence;
	UINT64 FlipToFenceValue;
	UINT64 FlipAwayFenceValue;
} D3DKMT_MULTIPLANE_OVERLAY3;

typedef struct _D3DKMT_PRESENT_MULTIPLANE_OVERLAY_FLAGS {
	union {
		struct {
			UINT FlipStereo : 1;
			UINT FlipStereoTemporaryMono : 1;
			UINT FlipStereoPreferRight : 1;
			UINT FlipDoNotWait : 1;
			UINT FlipDoNotFlip : 1;
			UINT FlipRestart : 1;
			UINT DurationValid : 1;
			UINT HDRMetaDataValid : 1;
			UINT HMD : 1;
			UINT TrueImmediate : 1;
			UINT Reserved : 22;
		};
		UINT Value;
	};
} D3DKMT_PRESENT_MULTIPLANE_OVERLAY_FLAGS;

typedef struct _D3DKMT_PRESENT_MULTIPLANE_OVERLAY3 {
	D3DKMT_HANDLE hAdapter;
	UINT ContextCount;
	D3DKMT_HANDLE *pContextList;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT PresentCount;
	D3DKMT_PRESENT_MULTIPLANE_OVERLAY_FLAGS Flags;
	UINT PresentPlaneCount;
	D3DKMT_MULTIPLANE_OVERLAY3 **ppPresentPlanes;
	D3DKMT_MULTIPLANE_OVERLAY_POST_COMPOSITION *pPostComposition;
	UINT Duration;
	D3DDDI_HDR_METADATA_TYPE HDRMetaDataType;
	UINT HDRMetaDataSize;
	CONST VOID *pHDRMetaData;
	UINT BoostRefreshRateMultiplier;
} D3DKMT_PRESENT_MULTIPLANE_OVERLAY3;

typedef struct _D3DKMT_MULTIPLANE_OVERLAY_CAPS {
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
			UINT Version3DDISupport : 1;
			UINT Reserved : 20;
		};
		UINT Value;
	};
} D3DKMT_MULTIPLANE_OVERLAY_CAPS;

typedef struct _D3DKMT_GET_MULTIPLANE_OVERLAY_CAPS {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT MaxPlanes;
	UINT MaxRGBPlanes;
	UINT MaxYUVPlanes;
	D3DKMT_MULTIPLANE_OVERLAY_CAPS OverlayCaps;
	FLOAT MaxStretchFactor;
	FLOAT MaxShrinkFactor;
} D3DKMT_GET_MULTIPLANE_OVERLAY_CAPS;

typedef struct _D3DKMT_GET_POST_COMPOSITION_CAPS {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	FLOAT MaxStretchFactor;
	FLOAT MaxShrinkFactor;
} D3DKMT_GET_POST_COMPOSITION_CAPS;

typedef struct _D3DKMT_PINDIRECTFLIPRESOURCES {
	D3DKMT_HANDLE hDevice;
	UINT ResourceCount;
	D3DKMT_HANDLE *pResourceList;
} D3DKMT_PINDIRECTFLIPRESOURCES;

typedef struct _D3DKMT_UNPINDIRECTFLIPRESOURCES {
	D3DKMT_HANDLE hDevice;
	UINT ResourceCount;
	D3DKMT_HANDLE *pResourceList;
} D3DKMT_UNPINDIRECTFLIPRESOURCES;

/*
 * ---- Classic overlays ------------------------------------------------------------------------
 */

typedef struct _D3DKMT_CREATEOVERLAY {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_HANDLE hDevice;
	D3DDDI_KERNELOVERLAYINFO OverlayInfo;
	D3DKMT_HANDLE hOverlay;
} D3DKMT_CREATEOVERLAY;

typedef struct _D3DKMT_UPDATEOVERLAY {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hOverlay;
	D3DDDI_KERNELOVERLAYINFO OverlayInfo;
} D3DKMT_UPDATEOVERLAY;

typedef struct _D3DKMT_FLIPOVERLAY {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hOverlay;
	D3DKMT_HANDLE hSource;
	VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
} D3DKMT_FLIPOVERLAY;

typedef struct _D3DKMT_GETOVERLAYSTATE {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hOverlay;
	BOOLEAN OverlayEnabled;
} D3DKMT_GETOVERLAYSTATE;

typedef struct _D3DKMT_DESTROYOVERLAY {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hOverlay;
} D3DKMT_DESTROYOVERLAY;

/*
 * ---- Display modes, ownership of sources, vertical blank -------------------------------------
 */

#define D3DKMT_MAX_WAITFORVERTICALBLANK_OBJECTS 8

typedef struct _D3DKMT_GETDISPLAYMODELIST {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_DISPLAYMODE *pModeList;
	UINT ModeCount;
} D3DKMT_GETDISPLAYMODELIST;

typedef struct _D3DKMT_DISPLAYMODELIST {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT ModeCount;
	D3DKMT_DISPLAYMODE pModeList[];
} D3DKMT_DISPLAYMODELIST;

typedef struct _D3DKMT_SETDISPLAYMODE_FLAGS {
	BOOLEAN PreserveVidPn : 1;
	UINT Reserved : 31;
} D3DKMT_SETDISPLAYMODE_FLAGS;

typedef struct _D3DKMT_SETDISPLAYMODE {
	D3DKMT_HANDLE hDevice;
	D3DKMT_HANDLE hPrimaryAllocation;
	D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING ScanLineOrdering;
	D3DDDI_ROTATION DisplayOrientation;
	UINT PrivateDriverFormatAttribute;
	D3DKMT_SETDISPLAYMODE_FLAGS Flags;
} D3DKMT_SETDISPLAYMODE;

typedef struct _D3DKMT_SETDISPLAYPRIVATEDRIVERFORMAT {
	D3DKMT_HANDLE hDevice;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT PrivateDriverFormatAttribute;
} D3DKMT_SETDISPLAYPRIVATEDRIVERFORMAT;

typedef struct _D3DKMT_MULTISAMPLEMETHOD {
	UINT NumSamples;
	UINT NumQualityLevels;
	UINT Reserved;
} D3DKMT_MULTISAMPLEMETHOD;

typedef struct _D3DKMT_GETMULTISAMPLEMETHODLIST {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT Width;
	UINT Height;
	D3DDDIFORMAT Format;
	D3DKMT_MULTISAMPLEMETHOD *pMethodList;
	UINT MethodCount;
} D3DKMT_GETMULTISAMPLEMETHODLIST;

/* Who may change modes and flip on a source. */
typedef enum _D3DKMT_VIDPNSOURCEOWNER_TYPE {
	D3DKMT_VIDPNSOURCEOWNER_UNOWNED = 0,
	D3DKMT_VIDPNSOURCEOWNER_SHARED = 1,
	D3DKMT_VIDPNSOURCEOWNER_EXCLUSIVE = 2,
	D3DKMT_VIDPNSOURCEOWNER_EXCLUSIVEGDI = 3,
	D3DKMT_VIDPNSOURCEOWNER_EMULATED = 4,
} D3DKMT_VIDPNSOURCEOWNER_TYPE;

typedef struct _D3DKMT_VIDPNSOURCEOWNER_FLAGS {
	union {
		struct {
			UINT AllowOutputDuplication : 1;
			UINT DisableDWMVirtualMode : 1;
			UINT UseNtHandles : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	};
} D3DKMT_VIDPNSOURCEOWNER_FLAGS;

typedef struct _D3DKMT_SETVIDPNSOURCEOWNER {
	D3DKMT_HANDLE hDevice;
	CONST D3DKMT_VIDPNSOURCEOWNER_TYPE *pType;
	CONST D3DDDI_VIDEO_PRESENT_SOURCE_ID *pVidPnSourceId;
	UINT VidPnSourceCount;
} D3DKMT_SETVIDPNSOURCEOWNER;

typedef struct _D3DKMT_SETVIDPNSOURCEOWNER1 {
	D3DKMT_SETVIDPNSOURCEOWNER Version0;
	D3DKMT_VIDPNSOURCEOWNER_FLAGS Flags;
} D3DKMT_SETVIDPNSOURCEOWNER1;

typedef struct _D3DKMT_SETVIDPNSOURCEOWNER2 {
	D3DKMT_SETVIDPNSOURCEOWNER1 Version1;
	CONST D3DKMT_PTR_TYPE *pVidPnSourceNtHandles;
} D3DKMT_SETVIDPNSOURCEOWNER2;

typedef struct _D3DKMT_CHECKVIDPNEXCLUSIVEOWNERSHIP {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
} D3DKMT_CHECKVIDPNEXCLUSIVEOWNERSHIP;

typedef struct _D3DKMT_QUERYVIDPNEXCLUSIVEOWNERSHIP {
	HANDLE hProcess;
	union {
		HWND hWindow;
		UINT64 hWindow_Align;
	};
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	LUID AdapterLuid;
	D3DKMT_VIDPNSOURCEOWNER_TYPE OwnerType;
} D3DKMT_QUERYVIDPNEXCLUSIVEOWNERSHIP;

typedef struct _D3DKMT_QUERYREMOTEVIDPNSOURCEFROMGDIDISPLAYNAME {
	WCHAR DeviceName[32];
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
} D3DKMT_QUERYREMOTEVIDPNSOURCEFROMGDIDISPLAYNAME;

typedef struct _D3DKMT_GETSHAREDPRIMARYHANDLE {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_HANDLE hSharedPrimary;
} D3DKMT_GETSHAREDPRIMARYHANDLE;

typedef struct _D3DKMT_SHAREDPRIMARYLOCKNOTIFICATION {
	LUID AdapterLuid;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	RECTL LockRect;
} D3DKMT_SHAREDPRIMARYLOCKNOTIFICATION;

typedef struct _D3DKMT_SHAREDPRIMARYUNLOCKNOTIFICATION {
	LUID AdapterLuid;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
} D3DKMT_SHAREDPRIMARYUNLOCKNOTIFICATION;

typedef struct _D3DKMT_WAITFORVERTICALBLANKEVENT {
	D3DKMT_HANDLE hAdapter;
	D3DKMT_HANDLE hDevice;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
} D3DKMT_WAITFORVERTICALBLANKEVENT;

typedef struct _D3DKMT_WAITFORVERTICALBLANKEVENT2 {
	D3DKMT_HANDLE hAdapter;
	D3DKMT_HANDLE hDevice;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT NumObjects;
	D3DKMT_PTR_TYPE ObjectHandleArray[D3DKMT_MAX_WAITFORVERTICALBLANK_OBJECTS];
} D3DKMT_WAITFORVERTICALBLANKEVENT2;

typedef struct _D3DKMT_GETVERTICALBLANKEVENT {
	D3DKMT_HANDLE hAdapter;
	D3DKMT_HANDLE hDevice;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_PTR_TYPE *phEvent;
} D3DKMT_GETVERTICALBLANKEVENT;

typedef struct _D3DKMT_SETSYNCREFRESHCOUNTWAITTARGET {
	D3DKMT_HANDLE hAdapter;
	D3DKMT_HANDLE hDevice;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT TargetSyncRefreshCount;
} D3DKMT_SETSYNCREFRESHCOUNTWAITTARGET;

typedef struct _D3DKMT_GETSCANLINE {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	BOOLEAN InVerticalBlank;
	UINT ScanLine;
} D3DKMT_GETSCANLINE;

typedef struct _D3DKMT_SETGAMMARAMP {
	D3DKMT_HANDLE hDevice;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DDDI_GAMMARAMP_TYPE Type;
	union {
		D3DDDI_GAMMA_RAMP_RGB256x3x16 *pGammaRampRgb256x3x16;
		D3DDDI_GAMMA_RAMP_DXGI_1 *pGammaRampDXGI1;
	};
	UINT Size;
} D3DKMT_SETGAMMARAMP;

typedef struct _D3DKMT_ADJUSTFULLSCREENGAMMA {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DDDI_DXGI_RGB Scale;
	D3DDDI_DXGI_RGB Offset;
} D3DKMT_ADJUSTFULLSCREENGAMMA;

typedef struct _D3DKMT_SET_COLORSPACE_TRANSFORM {
	LUID AdapterLuid;
	D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
	D3DDDI_GAMMARAMP_TYPE Type;
	UINT Size;
	D3DKMDT_3x4_COLORSPACE_TRANSFORM *pColorSpaceTransform;
} D3DKMT_SET_COLORSPACE_TRANSFORM;

typedef struct _D3DKMT_SETVIDPNSOURCEHWPROTECTION {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	BOOL HwProtected;
} D3DKMT_SETVIDPNSOURCEHWPROTECTION;

typedef struct _D3DKMT_SETHWPROTECTIONTEARDOWNRECOVERY {
	D3DKMT_HANDLE hAdapter;
	BOOL Recovered;
} D3DKMT_SETHWPROTECTIONTEARDOWNRECOVERY;

typedef struct _D3DKMT_POLLDISPLAYCHILDREN {
	D3DKMT_HANDLE hAdapter;
	UINT NonDestructiveOnly : 1;
	UINT SynchronousPolling : 1;
	UINT DisableModeReset : 1;
	UINT PollAllAdapters : 1;
	UINT PollInterruptible : 1;
	UINT Reserved : 27;
} D3DKMT_POLLDISPLAYCHILDREN;

typedef struct _D3DKMT_INVALIDATEACTIVEVIDPN {
	D3DKMT_HANDLE hAdapter;
	VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
} D3DKMT_INVALIDATEACTIVEVIDPN;

typedef struct _D3DKMT_CHECKMONITORPOWERSTATE {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
} D3DKMT_CHECKMONITORPOWERSTATE;

typedef struct _D3DKMT_CREATEDCFROMMEMORY {
	VOID *pMemory;
	D3DDDIFORMAT Format;
	UINT Width;
	UINT Height;
	UINT Pitch;
	union {
		HDC hDeviceDc;
		UINT64 hDeviceDc_Align;
	};
	PALETTEENTRY *pColorTable;
	union {
		HDC hDc;
		UINT64 hDc_Align;
	};
	HANDLE hBitmap;
} D3DKMT_CREATEDCFROMMEMORY;

typedef struct _D3DKMT_DESTROYDCFROMMEMORY {
	union {
		HDC hDc;
		UINT64 hDc_Align;
	};
	HANDLE hBitmap;
} D3DKMT_DESTROYDCFROMMEMORY;

typedef struct _D3DKMT_CHANGESURFACEPOINTER {
	union {
		HDC hDC;
		UINT64 hDC_Align;
	};
	HANDLE hBitmap;
	LPVOID pSurfacePointer;
	UINT Width;
	UINT Height;
	UINT Pitch;
} D3DKMT_CHANGESURFACEPOINTER;

/*
 * ---- Desktop duplication, hybrid systems, Miracast, shared power -----------------------------
 */

#define OUTPUTDUPL_CREATE_MAX_KEYEDMUTXES 3
#ifndef DXGK_DIAG_PROCESS_NAME_LENGTH
#define DXGK_DIAG_PROCESS_NAME_LENGTH 16
#endif

typedef struct _D3DKMT_OUTPUTDUPLPRESENTFLAGS {
	union {
		struct {
			UINT ProtectedContentBlankedOut : 1;
			UINT RemoteSession : 1;
			UINT FullScreenPresent : 1;
			UINT PresentIndirect : 1;
			UINT Reserved : 28;
		};
		UINT Value;
	};
} D3DKMT_OUTPUTDUPLPRESENTFLAGS;

typedef struct _D3DKMT_OUTPUTDUPLPRESENT {
	D3DKMT_HANDLE hContext;
	D3DKMT_HANDLE hSource;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	ULONG BroadcastContextCount;
	D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT];
	D3DKMT_PRESENT_RGNS PresentRegions;
	D3DKMT_OUTPUTDUPLPRESENTFLAGS Flags;
	D3DKMT_HANDLE hIndirectContext;
} D3DKMT_OUTPUTDUPLPRESENT;

typedef struct _D3DKMT_OUTPUTDUPLPRESENTTOHWQUEUE {
	D3DKMT_HANDLE hSource;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	ULONG BroadcastHwQueueCount;
	D3DKMT_HANDLE *hHwQueues;
	D3DKMT_PRESENT_RGNS PresentRegions;
	D3DKMT_OUTPUTDUPLPRESENTFLAGS Flags;
	D3DKMT_HANDLE hIndirectHwQueue;
} D3DKMT_OUTPUTDUPLPRESENTTOHWQUEUE;

typedef struct _D3DKMT_OUTPUTDUPLCREATIONFLAGS {
	union {
		struct {
			UINT CompositionUiCaptureOnly : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DKMT_OUTPUTDUPLCREATIONFLAGS;

typedef struct _D3DKMT_OUTPUTDUPL_KEYEDMUTEX {
	HANDLE hSharedSurfaceNt;
} D3DKMT_OUTPUTDUPL_KEYEDMUTEX;

typedef struct _D3DKMT_CREATE_OUTPUTDUPL {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT KeyedMutexCount;
	UINT RequiredKeyedMutexCount;
	D3DKMT_OUTPUTDUPL_KEYEDMUTEX KeyedMutexs[OUTPUTDUPL_CREATE_MAX_KEYEDMUTXES];
	D3DKMT_OUTPUTDUPLCREATIONFLAGS Flags;
} D3DKMT_CREATE_OUTPUTDUPL;

typedef struct _D3DKMT_DESTROY_OUTPUTDUPL {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	BOOL bDestroyAllContexts;
} D3DKMT_DESTROY_OUTPUTDUPL;

typedef struct _D3DKMT_OUTPUTDUPL_POINTER_POSITION {
	POINT Position;
	BOOL Visible;
} D3DKMT_OUTPUTDUPL_POINTER_POSITION;

typedef struct _D3DKMT_OUTPUTDUPL_FRAMEINFO {
	LARGE_INTEGER LastPresentTime;
	LARGE_INTEGER LastMouseUpdateTime;
	UINT AccumulatedFrames;
	BOOL RectsCoalesced;
	BOOL ProtectedContentMaskedOut;
	D3DKMT_OUTPUTDUPL_POINTER_POSITION PointerPosition;
	UINT TotalMetadataBufferSize;
	UINT PointerShapeBufferSize;
} D3DKMT_OUTPUTDUPL_FRAMEINFO;

typedef struct _D3DKMT_OUTPUTDUPL_GET_FRAMEINFO {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_OUTPUTDUPL_FRAMEINFO FrameInfo;
} D3DKMT_OUTPUTDUPL_GET_FRAMEINFO;

typedef enum _D3DKMT_OUTPUTDUPL_METADATATYPE {
	D3DKMT_OUTPUTDUPL_METADATATYPE_DIRTY_RECTS = 0,
	D3DKMT_OUTPUTDUPL_METADATATYPE_MOVE_RECTS = 1,
} D3DKMT_OUTPUTDUPL_METADATATYPE;

typedef struct _D3DKMT_OUTPUTDUPL_METADATA {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DKMT_OUTPUTDUPL_METADATATYPE Type;
	UINT BufferSizeSupplied;
	PVOID pBuffer;
	UINT BufferSizeRequired;
} D3DKMT_OUTPUTDUPL_METADATA;

typedef enum _D3DKMT_OUTDUPL_POINTER_SHAPE_TYPE {
	D3DKMT_OUTDUPL_POINTER_SHAPE_TYPE_MONOCHROME = 1,
	D3DKMT_OUTDUPL_POINTER_SHAPE_TYPE_COLOR = 2,
	D3DKMT_OUTDUPL_POINTER_SHAPE_TYPE_MASKED_COLOR = 4,
} D3DKMT_OUTDUPL_POINTER_SHAPE_TYPE;

typedef struct _D3DKMT_OUTDUPL_POINTER_SHAPE_INFO {
	D3DKMT_OUTDUPL_POINTER_SHAPE_TYPE Type;
	UINT Width;
	UINT Height;
	UINT Pitch;
	POINT HotSpot;
} D3DKMT_OUTDUPL_POINTER_SHAPE_INFO;

typedef struct _D3DKMT_OUTPUTDUPL_GET_POINTER_SHAPE_DATA {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT BufferSizeSupplied;
	PVOID pShapeBuffer;
	UINT BufferSizeRequired;
	D3DKMT_OUTDUPL_POINTER_SHAPE_INFO ShapeInfo;
} D3DKMT_OUTPUTDUPL_GET_POINTER_SHAPE_DATA;

typedef struct _D3DKMT_OUTPUTDUPL_RELEASE_FRAME {
	D3DKMT_HANDLE hAdapter;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	UINT NextKeyMutexIdx;
} D3DKMT_OUTPUTDUPL_RELEASE_FRAME;

__extension__ typedef enum _OUTPUTDUPL_CONTEXT_DEBUG_STATUS {
	OUTPUTDUPL_CONTEXT_DEBUG_STATUS_INACTIVE = 0,
	OUTPUTDUPL_CONTEXT_DEBUG_STATUS_ACTIVE = 1,
	OUTPUTDUPL_CONTEXT_DEBUG_STATUS_PENDING_DESTROY = 2,
	OUTPUTDUPL_CONTEXT_DEBUG_STATUS_FORCE_UINT32 = 0xffffffffu,
} OUTPUTDUPL_CONTEXT_DEBUG_STATUS;

typedef struct _OUTPUTDUPL_CONTEXT_DEBUG_INFO {
	OUTPUTDUPL_CONTEXT_DEBUG_STATUS Status;
	HANDLE ProcessID;
	UINT32 AccumulatedPresents;
	LARGE_INTEGER LastPresentTime;
	LARGE_INTEGER LastMouseTime;
	CHAR ProcessName[DXGK_DIAG_PROCESS_NAME_LENGTH];
} OUTPUTDUPL_CONTEXT_DEBUG_INFO;

#define GET_OUTPUT_DUPL_DEBUG_INFO_FROM_SNAPSHOT(pSnapshot, VidPnSource, OutputDuplContextIndex)   \
	((pSnapshot)->OutputDuplDebugInfos[(VidPnSource) * (pSnapshot)->NumOutputDuplContexts +    \
					   (OutputDuplContextIndex)])

typedef struct _D3DKMT_OUTPUTDUPL_SNAPSHOT {
	UINT Size; /* in/out: bytes with the table at the end */
	UINT SessionProcessCount;
	UINT SessionActiveConnectionsCount;
	UINT NumVidPnSources;
	UINT NumOutputDuplContexts;
	UINT Padding;
	OUTPUTDUPL_CONTEXT_DEBUG_INFO OutputDuplDebugInfos[];
} D3DKMT_OUTPUTDUPL_SNAPSHOT;

typedef enum _D3DKMT_GPU_PREFERENCE_QUERY_STATE {
	D3DKMT_GPU_PREFERENCE_STATE_UNINITIALIZED = 0,
	D3DKMT_GPU_PREFERENCE_STATE_HIGH_PERFORMANCE = 1,
	D3DKMT_GPU_PREFERENCE_STATE_MINIMUM_POWER = 2,
	D3DKMT_GPU_PREFERENCE_STATE_UNSPECIFIED = 3,
	D3DKMT_GPU_PREFERENCE_STATE_NOT_FOUND = 4,
	D3DKMT_GPU_PREFERENCE_STATE_USER_SPECIFIED_GPU = 5,
} D3DKMT_GPU_PREFERENCE_QUERY_STATE;

typedef enum _D3DKMT_GPU_PREFERENCE_QUERY_TYPE {
	D3DKMT_GPU_PREFERENCE_TYPE_IHV_DLIST = 0,
	D3DKMT_GPU_PREFERENCE_TYPE_DX_DATABASE = 1,
	D3DKMT_GPU_PREFERENCE_TYPE_USER_PREFERENCE = 2,
} D3DKMT_GPU_PREFERENCE_QUERY_TYPE;

typedef struct _D3DKMT_HYBRID_LIST {
	D3DKMT_GPU_PREFERENCE_QUERY_STATE State;
	LUID AdapterLuid;
	BOOL bUserPreferenceQuery;
	D3DKMT_GPU_PREFERENCE_QUERY_TYPE QueryType;
} D3DKMT_HYBRID_LIST;

typedef struct _D3DKMT_MIRACAST_CHUNK_DATA {
	DXGK_MIRACAST_CHUNK_INFO ChunkInfo;
	UINT PrivateDriverDataSize;
	BYTE PrivateDriverData[1];
} D3DKMT_MIRACAST_CHUNK_DATA;

typedef enum _D3DKMT_MIRACAST_DISPLAY_DEVICE_STATE {
	MiracastStopped = 0,
	MiracastStartPending = 1,
	MiracastStarted = 2,
	MiracastStopPending = 3,
} D3DKMT_MIRACAST_DISPLAY_DEVICE_STATE;

__extension__ typedef enum _D3DKMT_MIRACAST_DEVICE_STATUS {
	D3DKMT_MIRACAST_DEVICE_STATUS_SUCCESS = 0,
	D3DKMT_MIRACAST_DEVICE_STATUS_SUCCESS_NO_MONITOR = 1,
	D3DKMT_MIRACAST_DEVICE_STATUS_PENDING = 2,
	D3DKMT_MIRACAST_DEVICE_STATUS_UNKOWN_ERROR = 0x80000001u,
	D3DKMT_MIRACAST_DEVICE_STATUS_GPU_RESOURCE_IN_USE = 0x80000002u,
	D3DKMT_MIRACAST_DEVICE_STATUS_DEVICE_ERROR = 0x80000003u,
	D3DKMT_MIRACAST_DEVICE_STATUS_UNKOWN_PAIRING = 0x80000004u,
	D3DKMT_MIRACAST_DEVICE_STATUS_REMOTE_SESSION = 0x80000005u,
	D3DKMT_MIRACAST_DEVICE_STATUS_DEVICE_NOT_FOUND = 0x80000006u,
	D3DKMT_MIRACAST_DEVICE_STATUS_DEVICE_NOT_STARTED = 0x80000007u,
	D3DKMT_MIRACAST_DEVICE_STATUS_INVALID_PARAMETER = 0x80000008u,
	D3DKMT_MIRACAST_DEVICE_STATUS_INSUFFICIENT_BANDWIDTH = 0x80000009u,
	D3DKMT_MIRACAST_DEVICE_STATUS_INSUFFICIENT_MEMORY = 0x8000000au,
	D3DKMT_MIRACAST_DEVICE_STATUS_CANCELLED = 0x8000000bu,
} D3DKMT_MIRACAST_DEVICE_STATUS;

typedef enum _DXGKMT_POWER_SHARED_TYPE {
	DXGKMT_POWER_SHARED_TYPE_AUDIO = 0,
} DXGKMT_POWER_SHARED_TYPE;
/*
 * ---- Calls -----------------------------------------------------------------------------------
 * First the pointer types for those who look the names up at run time, then the prototypes.
 */

/* Adapters. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_ENUMADAPTERS)(CONST D3DKMT_ENUMADAPTERS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_ENUMADAPTERS2)(CONST D3DKMT_ENUMADAPTERS2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_ENUMADAPTERS3)(D3DKMT_ENUMADAPTERS3 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENADAPTERFROMLUID)(CONST D3DKMT_OPENADAPTERFROMLUID *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CLOSEADAPTER)(CONST D3DKMT_CLOSEADAPTER *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYADAPTERINFO)(CONST D3DKMT_QUERYADAPTERINFO *);

/* Devices, contexts, hardware queues. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEDEVICE)(D3DKMT_CREATEDEVICE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYDEVICE)(CONST D3DKMT_DESTROYDEVICE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_GETDEVICESTATE)(D3DKMT_GETDEVICESTATE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_MARKDEVICEASERROR)(D3DKMT_MARKDEVICEASERROR *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATECONTEXT)(D3DKMT_CREATECONTEXT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATECONTEXTVIRTUAL)(D3DKMT_CREATECONTEXTVIRTUAL *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYCONTEXT)(CONST D3DKMT_DESTROYCONTEXT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEHWCONTEXT)(D3DKMT_CREATEHWCONTEXT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYHWCONTEXT)(CONST D3DKMT_DESTROYHWCONTEXT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEHWQUEUE)(D3DKMT_CREATEHWQUEUE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYHWQUEUE)(CONST D3DKMT_DESTROYHWQUEUE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_WAITFORIDLE)(CONST D3DKMT_WAITFORIDLE *);

/* Scheduling. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_SETCONTEXTSCHEDULINGPRIORITY)(
	CONST D3DKMT_SETCONTEXTSCHEDULINGPRIORITY *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_GETCONTEXTSCHEDULINGPRIORITY)(
	D3DKMT_GETCONTEXTSCHEDULINGPRIORITY *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SETCONTEXTINPROCESSSCHEDULINGPRIORITY)(
	CONST D3DKMT_SETCONTEXTINPROCESSSCHEDULINGPRIORITY *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_GETCONTEXTINPROCESSSCHEDULINGPRIORITY)(
	D3DKMT_GETCONTEXTINPROCESSSCHEDULINGPRIORITY *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SETQUEUEDLIMIT)(CONST D3DKMT_SETQUEUEDLIMIT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SETSTABLEPOWERSTATE)(CONST D3DKMT_SETSTABLEPOWERSTATE *);

/* Allocations. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEALLOCATION)(D3DKMT_CREATEALLOCATION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEALLOCATION2)(D3DKMT_CREATEALLOCATION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYALLOCATION)(CONST D3DKMT_DESTROYALLOCATION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYALLOCATION2)(CONST D3DKMT_DESTROYALLOCATION2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_LOCK)(D3DKMT_LOCK *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_UNLOCK)(CONST D3DKMT_UNLOCK *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_LOCK2)(D3DKMT_LOCK2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_UNLOCK2)(CONST D3DKMT_UNLOCK2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_INVALIDATECACHE)(CONST D3DKMT_INVALIDATECACHE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SETALLOCATIONPRIORITY)(CONST D3DKMT_SETALLOCATIONPRIORITY *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_GETALLOCATIONPRIORITY)(CONST D3DKMT_GETALLOCATIONPRIORITY *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_UPDATEALLOCATIONPROPERTY)(D3DDDI_UPDATEALLOCPROPERTY *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_FLUSHHEAPTRANSITIONS)(D3DKMT_FLUSHHEAPTRANSITIONS *);

/* Residency and budgets. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEPAGINGQUEUE)(D3DKMT_CREATEPAGINGQUEUE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYPAGINGQUEUE)(D3DDDI_DESTROYPAGINGQUEUE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_MAKERESIDENT)(D3DDDI_MAKERESIDENT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_EVICT)(D3DKMT_EVICT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYALLOCATIONRESIDENCY)(
	CONST D3DKMT_QUERYALLOCATIONRESIDENCY *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_REGISTERTRIMNOTIFICATION)(D3DKMT_REGISTERTRIMNOTIFICATION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_UNREGISTERTRIMNOTIFICATION)(
	D3DKMT_UNREGISTERTRIMNOTIFICATION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYVIDEOMEMORYINFO)(D3DKMT_QUERYVIDEOMEMORYINFO *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CHANGEVIDEOMEMORYRESERVATION)(
	CONST D3DKMT_CHANGEVIDEOMEMORYRESERVATION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_REGISTERBUDGETCHANGENOTIFICATION)(
	D3DKMT_REGISTERBUDGETCHANGENOTIFICATION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION)(
	D3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION *);

/* Offer and reclaim. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_OFFERALLOCATIONS)(CONST D3DKMT_OFFERALLOCATIONS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_RECLAIMALLOCATIONS)(CONST D3DKMT_RECLAIMALLOCATIONS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_RECLAIMALLOCATIONS2)(D3DKMT_RECLAIMALLOCATIONS2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYPROCESSOFFERINFO)(D3DKMT_QUERYPROCESSOFFERINFO *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_TRIMPROCESSCOMMITMENT)(D3DKMT_TRIMPROCESSCOMMITMENT *);

/* GPU virtual addresses. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_RESERVEGPUVIRTUALADDRESS)(D3DDDI_RESERVEGPUVIRTUALADDRESS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_MAPGPUVIRTUALADDRESS)(D3DDDI_MAPGPUVIRTUALADDRESS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_UPDATEGPUVIRTUALADDRESS)(
	CONST D3DKMT_UPDATEGPUVIRTUALADDRESS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_FREEGPUVIRTUALADDRESS)(CONST D3DKMT_FREEGPUVIRTUALADDRESS *);

/* Synchronization. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATESYNCHRONIZATIONOBJECT)(
	D3DKMT_CREATESYNCHRONIZATIONOBJECT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATESYNCHRONIZATIONOBJECT2)(
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYSYNCHRONIZATIONOBJECT)(
	CONST D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENSYNCHRONIZATIONOBJECT)(D3DKMT_OPENSYNCHRONIZATIONOBJECT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_WAITFORSYNCHRONIZATIONOBJECT)(
	CONST D3DKMT_WAITFORSYNCHRONIZATIONOBJECT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_WAITFORSYNCHRONIZATIONOBJECT2)(
	CONST D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SIGNALSYNCHRONIZATIONOBJECT)(
	CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SIGNALSYNCHRONIZATIONOBJECT2)(
	CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU)(
	CONST D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU)(
	CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU)(
	CONST D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU)(
	CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2)(
	CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATESYNCFILE)(D3DKMT_CREATESYNCFILE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEKEYEDMUTEX)(D3DKMT_CREATEKEYEDMUTEX *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENKEYEDMUTEX)(D3DKMT_OPENKEYEDMUTEX *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYKEYEDMUTEX)(CONST D3DKMT_DESTROYKEYEDMUTEX *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_ACQUIREKEYEDMUTEX)(D3DKMT_ACQUIREKEYEDMUTEX *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_RELEASEKEYEDMUTEX)(D3DKMT_RELEASEKEYEDMUTEX *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEKEYEDMUTEX2)(D3DKMT_CREATEKEYEDMUTEX2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENKEYEDMUTEX2)(D3DKMT_OPENKEYEDMUTEX2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENKEYEDMUTEXFROMNTHANDLE)(
	D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_ACQUIREKEYEDMUTEX2)(D3DKMT_ACQUIREKEYEDMUTEX2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_RELEASEKEYEDMUTEX2)(D3DKMT_RELEASEKEYEDMUTEX2 *);

/* Submission. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_RENDER)(D3DKMT_RENDER *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SUBMITCOMMAND)(CONST D3DKMT_SUBMITCOMMAND *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SUBMITCOMMANDTOHWQUEUE)(CONST D3DKMT_SUBMITCOMMANDTOHWQUEUE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE)(
	CONST D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE)(
	CONST D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_PRESENT)(D3DKMT_PRESENT *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SUBMITPRESENTTOHWQUEUE)(D3DKMT_SUBMITPRESENTTOHWQUEUE *);

/* Sharing. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_SHAREOBJECTS)(UINT cObjects, CONST D3DKMT_HANDLE *hObjects,
						   POBJECT_ATTRIBUTES pObjectAttributes,
						   DWORD dwDesiredAccess, HANDLE *phSharedNtHandle);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SHAREOBJECTSINTERNAL)(D3DKMT_SHAREOBJECTS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SHAREOBJECTWITHHOST)(D3DKMT_SHAREOBJECTWITHHOST *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYRESOURCEINFO)(D3DKMT_QUERYRESOURCEINFO *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYRESOURCEINFOFROMNTHANDLE)(
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENRESOURCE)(D3DKMT_OPENRESOURCE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENRESOURCE2)(D3DKMT_OPENRESOURCE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENRESOURCEFROMNTHANDLE)(D3DKMT_OPENRESOURCEFROMNTHANDLE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENSYNCOBJECTFROMNTHANDLE)(
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENSYNCOBJECTFROMNTHANDLE2)(
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENNTHANDLEFROMNAME)(D3DKMT_OPENNTHANDLEFROMNAME *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME)(
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CONFIGURESHAREDRESOURCE)(
	CONST D3DKMT_CONFIGURESHAREDRESOURCE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CHECKSHAREDRESOURCEACCESS)(
	CONST D3DKMT_CHECKSHAREDRESOURCEACCESS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_GETSHAREDRESOURCEADAPTERLUID)(
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_PINRESOURCES)(D3DKMT_PINRESOURCES *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_UNPINRESOURCES)(CONST D3DKMT_UNPINRESOURCES *);

/* Protected sessions and tracked workloads. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATEPROTECTEDSESSION)(D3DKMT_CREATEPROTECTEDSESSION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYPROTECTEDSESSION)(D3DKMT_DESTROYPROTECTEDSESSION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYPROTECTEDSESSIONSTATUS)(
	D3DKMT_QUERYPROTECTEDSESSIONSTATUS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYPROTECTEDSESSIONINFOFROMNTHANDLE)(
	D3DKMT_QUERYPROTECTEDSESSIONINFOFROMNTHANDLE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_OPENPROTECTEDSESSIONFROMNTHANDLE)(
	D3DKMT_OPENPROTECTEDSESSIONFROMNTHANDLE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_CREATETRACKEDWORKLOAD)(D3DKMT_CREATETRACKEDWORKLOAD *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_DESTROYTRACKEDWORKLOAD)(D3DKMT_DESTROYTRACKEDWORKLOAD *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_UPDATETRACKEDWORKLOAD)(D3DKMT_UPDATETRACKEDWORKLOAD *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_GETAVAILABLETRACKEDWORKLOADINDEX)(
	D3DKMT_GETAVAILABLETRACKEDWORKLOADINDEX *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_GETTRACKEDWORKLOADSTATISTICS)(
	D3DKMT_GETTRACKEDWORKLOADSTATISTICS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_RESETTRACKEDWORKLOADSTATISTICS)(
	CONST D3DKMT_RESETTRACKEDWORKLOADSTATISTICS *);

/* Queries and escapes. */
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYSTATISTICS)(CONST D3DKMT_QUERYSTATISTICS *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_QUERYCLOCKCALIBRATION)(D3DKMT_QUERYCLOCKCALIBRATION *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_ESCAPE)(CONST D3DKMT_ESCAPE *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_GETMULTISAMPLEMETHODLIST)(D3DKMT_GETMULTISAMPLEMETHODLIST *);
typedef NTSTATUS(APIENTRY *PFND3DKMT_SETDISPLAYPRIVATEDRIVERFORMAT)(
	CONST D3DKMT_SETDISPLAYPRIVATEDRIVERFORMAT *);

/* Adapters. */
NTSTATUS APIENTRY D3DKMTEnumAdapters(CONST D3DKMT_ENUMADAPTERS *);
NTSTATUS APIENTRY D3DKMTEnumAdapters2(CONST D3DKMT_ENUMADAPTERS2 *);
NTSTATUS APIENTRY D3DKMTEnumAdapters3(D3DKMT_ENUMADAPTERS3 *);
NTSTATUS APIENTRY D3DKMTOpenAdapterFromLuid(CONST D3DKMT_OPENADAPTERFROMLUID *);
NTSTATUS APIENTRY D3DKMTCloseAdapter(CONST D3DKMT_CLOSEADAPTER *);
NTSTATUS APIENTRY D3DKMTQueryAdapterInfo(CONST D3DKMT_QUERYADAPTERINFO *);

/* Devices, contexts, hardware queues. */
NTSTATUS APIENTRY D3DKMTCreateDevice(D3DKMT_CREATEDEVICE *);
NTSTATUS APIENTRY D3DKMTDestroyDevice(CONST D3DKMT_DESTROYDEVICE *);
NTSTATUS APIENTRY D3DKMTGetDeviceState(D3DKMT_GETDEVICESTATE *);
NTSTATUS APIENTRY D3DKMTMarkDeviceAsError(D3DKMT_MARKDEVICEASERROR *);
NTSTATUS APIENTRY D3DKMTCreateContext(D3DKMT_CREATECONTEXT *);
NTSTATUS APIENTRY D3DKMTCreateContextVirtual(D3DKMT_CREATECONTEXTVIRTUAL *);
NTSTATUS APIENTRY D3DKMTDestroyContext(CONST D3DKMT_DESTROYCONTEXT *);
NTSTATUS APIENTRY D3DKMTCreateHwContext(D3DKMT_CREATEHWCONTEXT *);
NTSTATUS APIENTRY D3DKMTDestroyHwContext(CONST D3DKMT_DESTROYHWCONTEXT *);
NTSTATUS APIENTRY D3DKMTCreateHwQueue(D3DKMT_CREATEHWQUEUE *);
NTSTATUS APIENTRY D3DKMTDestroyHwQueue(CONST D3DKMT_DESTROYHWQUEUE *);
NTSTATUS APIENTRY D3DKMTWaitForIdle(CONST D3DKMT_WAITFORIDLE *);

/* Scheduling. */
NTSTATUS APIENTRY D3DKMTSetContextSchedulingPriority(CONST D3DKMT_SETCONTEXTSCHEDULINGPRIORITY *);
NTSTATUS APIENTRY D3DKMTGetContextSchedulingPriority(D3DKMT_GETCONTEXTSCHEDULINGPRIORITY *);
NTSTATUS APIENTRY
D3DKMTSetContextInProcessSchedulingPriority(CONST D3DKMT_SETCONTEXTINPROCESSSCHEDULINGPRIORITY *);
NTSTATUS APIENTRY
D3DKMTGetContextInProcessSchedulingPriority(D3DKMT_GETCONTEXTINPROCESSSCHEDULINGPRIORITY *);
NTSTATUS APIENTRY D3DKMTSetProcessSchedulingPriorityClass(HANDLE hProcess,
							  D3DKMT_SCHEDULINGPRIORITYCLASS Class);
NTSTATUS APIENTRY D3DKMTGetProcessSchedulingPriorityClass(HANDLE hProcess,
							  D3DKMT_SCHEDULINGPRIORITYCLASS *pClass);
NTSTATUS APIENTRY D3DKMTSetQueuedLimit(CONST D3DKMT_SETQUEUEDLIMIT *);
NTSTATUS APIENTRY D3DKMTSetStablePowerState(CONST D3DKMT_SETSTABLEPOWERSTATE *);

/* Allocations. */
NTSTATUS APIENTRY D3DKMTCreateAllocation(D3DKMT_CREATEALLOCATION *);
NTSTATUS APIENTRY D3DKMTCreateAllocation2(D3DKMT_CREATEALLOCATION *);
NTSTATUS APIENTRY D3DKMTDestroyAllocation(CONST D3DKMT_DESTROYALLOCATION *);
NTSTATUS APIENTRY D3DKMTDestroyAllocation2(CONST D3DKMT_DESTROYALLOCATION2 *);
NTSTATUS APIENTRY D3DKMTLock(D3DKMT_LOCK *);
NTSTATUS APIENTRY D3DKMTUnlock(CONST D3DKMT_UNLOCK *);
NTSTATUS APIENTRY D3DKMTLock2(D3DKMT_LOCK2 *);
NTSTATUS APIENTRY D3DKMTUnlock2(CONST D3DKMT_UNLOCK2 *);
NTSTATUS APIENTRY D3DKMTInvalidateCache(CONST D3DKMT_INVALIDATECACHE *);
NTSTATUS APIENTRY D3DKMTSetAllocationPriority(CONST D3DKMT_SETALLOCATIONPRIORITY *);
NTSTATUS APIENTRY D3DKMTGetAllocationPriority(CONST D3DKMT_GETALLOCATIONPRIORITY *);
NTSTATUS APIENTRY D3DKMTUpdateAllocationProperty(D3DDDI_UPDATEALLOCPROPERTY *);
NTSTATUS APIENTRY D3DKMTFlushHeapTransitions(D3DKMT_FLUSHHEAPTRANSITIONS *);

/* Residency and budgets. */
NTSTATUS APIENTRY D3DKMTCreatePagingQueue(D3DKMT_CREATEPAGINGQUEUE *);
NTSTATUS APIENTRY D3DKMTDestroyPagingQueue(D3DDDI_DESTROYPAGINGQUEUE *);
NTSTATUS APIENTRY D3DKMTMakeResident(D3DDDI_MAKERESIDENT *);
NTSTATUS APIENTRY D3DKMTEvict(D3DKMT_EVICT *);
NTSTATUS APIENTRY D3DKMTQueryAllocationResidency(CONST D3DKMT_QUERYALLOCATIONRESIDENCY *);
NTSTATUS APIENTRY D3DKMTRegisterTrimNotification(D3DKMT_REGISTERTRIMNOTIFICATION *);
NTSTATUS APIENTRY D3DKMTUnregisterTrimNotification(D3DKMT_UNREGISTERTRIMNOTIFICATION *);
NTSTATUS APIENTRY D3DKMTQueryVideoMemoryInfo(D3DKMT_QUERYVIDEOMEMORYINFO *);
NTSTATUS APIENTRY D3DKMTChangeVideoMemoryReservation(CONST D3DKMT_CHANGEVIDEOMEMORYRESERVATION *);
NTSTATUS APIENTRY D3DKMTRegisterBudgetChangeNotification(D3DKMT_REGISTERBUDGETCHANGENOTIFICATION *);
NTSTATUS APIENTRY
D3DKMTUnregisterBudgetChangeNotification(D3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION *);

/* Offer and reclaim. */
NTSTATUS APIENTRY D3DKMTOfferAllocations(CONST D3DKMT_OFFERALLOCATIONS *);
NTSTATUS APIENTRY D3DKMTReclaimAllocations(CONST D3DKMT_RECLAIMALLOCATIONS *);
NTSTATUS APIENTRY D3DKMTReclaimAllocations2(D3DKMT_RECLAIMALLOCATIONS2 *);
NTSTATUS APIENTRY D3DKMTQueryProcessOfferInfo(D3DKMT_QUERYPROCESSOFFERINFO *);
NTSTATUS APIENTRY D3DKMTTrimProcessCommitment(D3DKMT_TRIMPROCESSCOMMITMENT *);

/* GPU virtual addresses. */
NTSTATUS APIENTRY D3DKMTReserveGpuVirtualAddress(D3DDDI_RESERVEGPUVIRTUALADDRESS *);
NTSTATUS APIENTRY D3DKMTMapGpuVirtualAddress(D3DDDI_MAPGPUVIRTUALADDRESS *);
NTSTATUS APIENTRY D3DKMTUpdateGpuVirtualAddress(CONST D3DKMT_UPDATEGPUVIRTUALADDRESS *);
NTSTATUS APIENTRY D3DKMTFreeGpuVirtualAddress(CONST D3DKMT_FREEGPUVIRTUALADDRESS *);

/* Synchronization. */
NTSTATUS APIENTRY D3DKMTCreateSynchronizationObject(D3DKMT_CREATESYNCHRONIZATIONOBJECT *);
NTSTATUS APIENTRY D3DKMTCreateSynchronizationObject2(D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *);
NTSTATUS APIENTRY D3DKMTDestroySynchronizationObject(CONST D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *);
NTSTATUS APIENTRY D3DKMTOpenSynchronizationObject(D3DKMT_OPENSYNCHRONIZATIONOBJECT *);
NTSTATUS APIENTRY D3DKMTWaitForSynchronizationObject(CONST D3DKMT_WAITFORSYNCHRONIZATIONOBJECT *);
NTSTATUS APIENTRY D3DKMTWaitForSynchronizationObject2(CONST D3DKMT_WAITFORSYNCHRONIZATIONOBJECT2 *);
NTSTATUS APIENTRY D3DKMTSignalSynchronizationObject(CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECT *);
NTSTATUS APIENTRY D3DKMTSignalSynchronizationObject2(CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *);
NTSTATUS APIENTRY
D3DKMTWaitForSynchronizationObjectFromCpu(CONST D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *);
NTSTATUS APIENTRY
D3DKMTSignalSynchronizationObjectFromCpu(CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU *);
NTSTATUS APIENTRY
D3DKMTWaitForSynchronizationObjectFromGpu(CONST D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *);
NTSTATUS APIENTRY
D3DKMTSignalSynchronizationObjectFromGpu(CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *);
NTSTATUS APIENTRY
D3DKMTSignalSynchronizationObjectFromGpu2(CONST D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *);
NTSTATUS APIENTRY D3DKMTCreateSyncFile(D3DKMT_CREATESYNCFILE *);
NTSTATUS APIENTRY D3DKMTCreateKeyedMutex(D3DKMT_CREATEKEYEDMUTEX *);
NTSTATUS APIENTRY D3DKMTOpenKeyedMutex(D3DKMT_OPENKEYEDMUTEX *);
NTSTATUS APIENTRY D3DKMTDestroyKeyedMutex(CONST D3DKMT_DESTROYKEYEDMUTEX *);
NTSTATUS APIENTRY D3DKMTAcquireKeyedMutex(D3DKMT_ACQUIREKEYEDMUTEX *);
NTSTATUS APIENTRY D3DKMTReleaseKeyedMutex(D3DKMT_RELEASEKEYEDMUTEX *);
NTSTATUS APIENTRY D3DKMTCreateKeyedMutex2(D3DKMT_CREATEKEYEDMUTEX2 *);
NTSTATUS APIENTRY D3DKMTOpenKeyedMutex2(D3DKMT_OPENKEYEDMUTEX2 *);
NTSTATUS APIENTRY D3DKMTOpenKeyedMutexFromNtHandle(D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE *);
NTSTATUS APIENTRY D3DKMTAcquireKeyedMutex2(D3DKMT_ACQUIREKEYEDMUTEX2 *);
NTSTATUS APIENTRY D3DKMTReleaseKeyedMutex2(D3DKMT_RELEASEKEYEDMUTEX2 *);

/* Submission. */
NTSTATUS APIENTRY D3DKMTRender(D3DKMT_RENDER *);
NTSTATUS APIENTRY D3DKMTSubmitCommand(CONST D3DKMT_SUBMITCOMMAND *);
NTSTATUS APIENTRY D3DKMTSubmitCommandToHwQueue(CONST D3DKMT_SUBMITCOMMANDTOHWQUEUE *);
NTSTATUS APIENTRY
D3DKMTSubmitWaitForSyncObjectsToHwQueue(CONST D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *);
NTSTATUS APIENTRY
D3DKMTSubmitSignalSyncObjectsToHwQueue(CONST D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *);
NTSTATUS APIENTRY D3DKMTPresent(D3DKMT_PRESENT *);
NTSTATUS APIENTRY D3DKMTSubmitPresentToHwQueue(D3DKMT_SUBMITPRESENTTOHWQUEUE *);

/* Sharing. */
NTSTATUS APIENTRY D3DKMTShareObjects(UINT cObjects, CONST D3DKMT_HANDLE *hObjects,
				     POBJECT_ATTRIBUTES pObjectAttributes, DWORD dwDesiredAccess,
				     HANDLE *phSharedNtHandle);
NTSTATUS APIENTRY D3DKMTShareObjectsInternal(D3DKMT_SHAREOBJECTS *);
NTSTATUS APIENTRY D3DKMTShareObjectWithHost(D3DKMT_SHAREOBJECTWITHHOST *);
NTSTATUS APIENTRY D3DKMTQueryResourceInfo(D3DKMT_QUERYRESOURCEINFO *);
NTSTATUS APIENTRY D3DKMTQueryResourceInfoFromNtHandle(D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE *);
NTSTATUS APIENTRY D3DKMTOpenResource(D3DKMT_OPENRESOURCE *);
NTSTATUS APIENTRY D3DKMTOpenResource2(D3DKMT_OPENRESOURCE *);
NTSTATUS APIENTRY D3DKMTOpenResourceFromNtHandle(D3DKMT_OPENRESOURCEFROMNTHANDLE *);
NTSTATUS APIENTRY D3DKMTOpenSyncObjectFromNtHandle(D3DKMT_OPENSYNCOBJECTFROMNTHANDLE *);
NTSTATUS APIENTRY D3DKMTOpenSyncObjectFromNtHandle2(D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *);
NTSTATUS APIENTRY D3DKMTOpenNtHandleFromName(D3DKMT_OPENNTHANDLEFROMNAME *);
NTSTATUS APIENTRY D3DKMTOpenSyncObjectNtHandleFromName(D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME *);
NTSTATUS APIENTRY D3DKMTConfigureSharedResource(CONST D3DKMT_CONFIGURESHAREDRESOURCE *);
NTSTATUS APIENTRY D3DKMTCheckSharedResourceAccess(CONST D3DKMT_CHECKSHAREDRESOURCEACCESS *);
NTSTATUS APIENTRY D3DKMTGetSharedResourceAdapterLuid(D3DKMT_GETSHAREDRESOURCEADAPTERLUID *);
NTSTATUS APIENTRY D3DKMTPinResources(D3DKMT_PINRESOURCES *);
NTSTATUS APIENTRY D3DKMTUnpinResources(CONST D3DKMT_UNPINRESOURCES *);

/* Protected sessions and tracked workloads. */
NTSTATUS APIENTRY D3DKMTCreateProtectedSession(D3DKMT_CREATEPROTECTEDSESSION *);
NTSTATUS APIENTRY D3DKMTDestroyProtectedSession(D3DKMT_DESTROYPROTECTEDSESSION *);
NTSTATUS APIENTRY D3DKMTQueryProtectedSessionStatus(D3DKMT_QUERYPROTECTEDSESSIONSTATUS *);
NTSTATUS APIENTRY
D3DKMTQueryProtectedSessionInfoFromNtHandle(D3DKMT_QUERYPROTECTEDSESSIONINFOFROMNTHANDLE *);
NTSTATUS APIENTRY D3DKMTOpenProtectedSessionFromNtHandle(D3DKMT_OPENPROTECTEDSESSIONFROMNTHANDLE *);
NTSTATUS APIENTRY D3DKMTCreateTrackedWorkload(D3DKMT_CREATETRACKEDWORKLOAD *);
NTSTATUS APIENTRY D3DKMTDestroyTrackedWorkload(D3DKMT_DESTROYTRACKEDWORKLOAD *);
NTSTATUS APIENTRY D3DKMTUpdateTrackedWorkload(D3DKMT_UPDATETRACKEDWORKLOAD *);
NTSTATUS APIENTRY D3DKMTGetAvailableTrackedWorkloadIndex(D3DKMT_GETAVAILABLETRACKEDWORKLOADINDEX *);
NTSTATUS APIENTRY D3DKMTGetTrackedWorkloadStatistics(D3DKMT_GETTRACKEDWORKLOADSTATISTICS *);
NTSTATUS APIENTRY
D3DKMTResetTrackedWorkloadStatistics(CONST D3DKMT_RESETTRACKEDWORKLOADSTATISTICS *);

/* Queries and escapes. */
NTSTATUS APIENTRY D3DKMTQueryStatistics(CONST D3DKMT_QUERYSTATISTICS *);
NTSTATUS APIENTRY D3DKMTQueryClockCalibration(D3DKMT_QUERYCLOCKCALIBRATION *);
NTSTATUS APIENTRY D3DKMTEscape(CONST D3DKMT_ESCAPE *);
NTSTATUS APIENTRY D3DKMTGetMultisampleMethodList(D3DKMT_GETMULTISAMPLEMETHODLIST *);
NTSTATUS APIENTRY D3DKMTSetDisplayPrivateDriverFormat(CONST D3DKMT_SETDISPLAYPRIVATEDRIVERFORMAT *);

/* Gives up the process's connection to the kernel; the next call makes a new one. */
VOID APIENTRY D3DKMTCloseDxCoreDevice(VOID);

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && defined(__clang__)
#pragma clang diagnostic pop
#elif defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

#endif /* _D3DKMTHK_H_ */
