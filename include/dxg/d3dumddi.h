/* SPDX-License-Identifier: MIT */
/*
 * d3dumddi.h - what the Direct3D runtime and a user-mode display driver say to each other.
 *
 * The driver's side: OpenAdapter, and the tables of functions it fills in for an adapter and a device (the Direct3D 9
 * interface; those of its functions that nothing here calls are pointers without a type). The runtime's side: the table of
 * callbacks that drivers of every version, 10 and 11 included, reach the kernel through, and their arguments.
 *
 * Two kinds of handles meet here. A HANDLE is the runtime's or the driver's own and means nothing to the kernel; a
 * D3DKMT_HANDLE is the kernel's. Layouts are those of 64-bit Linux; tests/abi/umd_abi.def pins every size and offset.
 * Members that a level of WDDM added are always there: the runtime reads and writes of a driver of an older level what that
 * level had.
 */
#ifndef _D3DUMDDI_H_
#define _D3DUMDDI_H_

#include "d3dukmdt.h"

#if defined(__cplusplus) && defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-anonymous-struct"
#pragma clang diagnostic ignored "-Wnested-anon-types"
#elif defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Versions and results --------------------------------------------------------------------
 */

/* What a driver was built for, and says in D3DDDIARG_OPENADAPTER.DriverVersion. */
#define D3D_UMD_INTERFACE_VERSION_VISTA   0x000C
#define D3D_UMD_INTERFACE_VERSION_WIN7    0x2003
#define D3D_UMD_INTERFACE_VERSION_WIN8    0x3004
#define D3D_UMD_INTERFACE_VERSION_WDDM1_3 0x4002
#define D3D_UMD_INTERFACE_VERSION_WDDM2_0 0x5002
#define D3D_UMD_INTERFACE_VERSION_WDDM2_1 0x6003

#ifndef S_OK
#define S_OK          ((HRESULT)0)
#define S_FALSE       ((HRESULT)1)
#define E_NOTIMPL     ((HRESULT)0x80004001)
#define E_FAIL        ((HRESULT)0x80004005)
#define E_PENDING     ((HRESULT)0x8000000A)
#define E_OUTOFMEMORY ((HRESULT)0x8007000E)
#define E_INVALIDARG  ((HRESULT)0x80070057)
#endif
#ifndef SUCCEEDED
#define SUCCEEDED(hr) (((HRESULT)(hr)) >= 0)
#define FAILED(hr)    (((HRESULT)(hr)) < 0)
#endif

#ifndef D3DERR_NOTAVAILABLE
#define D3DERR_NOTAVAILABLE    ((HRESULT)0x8876086A)
#define D3DERR_WASSTILLDRAWING ((HRESULT)0x8876021C)
#endif
#ifndef D3DERR_OUTOFVIDEOMEMORY
#define D3DERR_OUTOFVIDEOMEMORY ((HRESULT)0x8876017C)
#endif
#ifndef D3DDDIERR_DEVICEREMOVED
#define D3DDDIERR_DEVICEREMOVED              ((HRESULT)0x88760870)
#define D3DDDIERR_CANTRENDERLOCKEDALLOCATION ((HRESULT)0xC0262111)
#endif
#define D3DDDIERR_PRIVILEGEDINSTRUCTION     ((HRESULT)0x88760871)
#define D3DDDIERR_INVALIDINSTRUCTION        ((HRESULT)0x88760872)
#define D3DDDIERR_ILLEGALINSTRUCTION        D3DDDIERR_INVALIDINSTRUCTION /* as the pages also say */
#define D3DDDIERR_INVALIDHANDLE             ((HRESULT)0x88760873)
#define D3DDDIERR_INVALIDUSERBUFFER         ((HRESULT)0x88760879)
#define D3DDDIERR_CANTEVICTPINNEDALLOCATION ((HRESULT)0xC0262109)

/*
 * ---- Memory ----------------------------------------------------------------------------------
 */

typedef struct _D3DDDICB_ALLOCATE {
	CONST VOID *pPrivateDriverData; /* in: of the resource */
	UINT PrivateDriverDataSize;     /* in */
	HANDLE hResource;               /* in: the runtime's; NULL: allocations on their own */
	D3DKMT_HANDLE hKMResource;      /* out: the kernel's, where there is a resource */
	UINT NumAllocations;            /* in */
	union {
		D3DDDI_ALLOCATIONINFO *pAllocationInfo;   /* in/out: below Windows 7 */
		D3DDDI_ALLOCATIONINFO2 *pAllocationInfo2; /* in/out: from Windows 7 on */
	};
} D3DDDICB_ALLOCATE;

typedef struct _D3DDDICB_DEALLOCATE {
	HANDLE hResource;    /* in: everything of it, and the list is ignored; or NULL */
	UINT NumAllocations; /* in */
	CONST D3DKMT_HANDLE *HandleList; /* in */
} D3DDDICB_DEALLOCATE;

typedef struct _D3DDDICB_DEALLOCATE2 {
	HANDLE hResource;                       /* in: as above */
	UINT NumAllocations;                    /* in */
	CONST D3DKMT_HANDLE *HandleList;        /* in */
	D3DDDICB_DESTROYALLOCATION2FLAGS Flags; /* in */
} D3DDDICB_DEALLOCATE2;

typedef struct _D3DDDICB_SETPRIORITY {
	HANDLE hResource;                /* in: or NULL */
	UINT NumAllocations;             /* in: 0 with a resource */
	CONST D3DKMT_HANDLE *HandleList; /* in: NULL with a resource */
	CONST UINT *pPriorities;         /* in: one for a resource */
} D3DDDICB_SETPRIORITY;

/* The values are those of D3DKMT_ALLOCATIONRESIDENCYSTATUS. */
typedef enum _D3DDDI_RESIDENCYSTATUS {
	D3DDDI_RESIDENCYSTATUS_RESIDENTINGPUMEMORY = 1,
	D3DDDI_RESIDENCYSTATUS_RESIDENTINSHAREDMEMORY = 2,
	D3DDDI_RESIDENCYSTATUS_NOTRESIDENT = 3,
} D3DDDI_RESIDENCYSTATUS;

typedef struct _D3DDDICB_QUERYRESIDENCY {
	HANDLE hResource;                         /* in: or NULL */
	UINT NumAllocations;                      /* in: 0 with a resource */
	CONST D3DKMT_HANDLE *HandleList;          /* in: NULL with a resource */
	D3DDDI_RESIDENCYSTATUS *pResidencyStatus; /* out: one for a resource */
} D3DDDICB_QUERYRESIDENCY;

typedef struct _D3DDDICB_LOCK {
	D3DKMT_HANDLE hAllocation; /* in/out: another one when Discard renamed it */
	UINT PrivateDriverData;    /* in */
	UINT NumPages;             /* in */
	CONST UINT *pPages;        /* in */
	VOID *pData;               /* out */
	D3DDDICB_LOCKFLAGS Flags;  /* in */
	D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddress;
} D3DDDICB_LOCK;

typedef struct _D3DDDICB_UNLOCK {
	UINT NumAllocations;                /* in */
	CONST D3DKMT_HANDLE *phAllocations; /* in */
} D3DDDICB_UNLOCK;

typedef struct _D3DDDICB_LOCK2 {
	D3DKMT_HANDLE hAllocation; /* in */
	D3DDDICB_LOCK2FLAGS Flags; /* in */
	VOID *pData;               /* out */
} D3DDDICB_LOCK2;

typedef struct _D3DDDICB_UNLOCK2 {
	D3DKMT_HANDLE hAllocation; /* in */
} D3DDDICB_UNLOCK2;

typedef struct _D3DDDICB_INVALIDATECACHE {
	D3DKMT_HANDLE hAllocation; /* in */
	SIZE_T Offset;             /* in */
	SIZE_T Length;             /* in */
} D3DDDICB_INVALIDATECACHE;

/* Either resources of the runtime or allocations of the kernel; the other list is NULL. */
typedef struct _D3DDDICB_OFFERALLOCATIONS {
	CONST HANDLE *pResources;        /* in */
	CONST D3DKMT_HANDLE *HandleList; /* in */
	UINT NumAllocations;             /* in: of the list that is there */
	D3DDDI_OFFER_PRIORITY Priority;  /* in: not NONE */
} D3DDDICB_OFFERALLOCATIONS;

typedef struct _D3DDDICB_OFFERALLOCATIONS2 {
	CONST HANDLE *pResources;
	CONST D3DKMT_HANDLE *HandleList;
	UINT NumAllocations;
	D3DDDI_OFFER_PRIORITY Priority;
	D3DDDI_OFFER_FLAGS Flags; /* in */
} D3DDDICB_OFFERALLOCATIONS2;

typedef struct _D3DDDICB_RECLAIMALLOCATIONS {
	CONST HANDLE *pResources;        /* in */
	CONST D3DKMT_HANDLE *HandleList; /* in */
	BOOL *pDiscarded;                /* out, optional */
	UINT NumAllocations;             /* in */
} D3DDDICB_RECLAIMALLOCATIONS;

typedef struct _D3DDDICB_RECLAIMALLOCATIONS2 {
	D3DKMT_HANDLE PagingQueue;       /* in */
	UINT NumAllocations;             /* in */
	CONST HANDLE *pResources;        /* in */
	CONST D3DKMT_HANDLE *HandleList; /* in */
	BOOL *pDiscarded;                /* out, optional */
	UINT64 PagingFenceValue;         /* out: 0 when there is nothing to wait for */
} D3DDDICB_RECLAIMALLOCATIONS2;

typedef struct _D3DDDICB_RECLAIMALLOCATIONS3 {
	D3DKMT_HANDLE PagingQueue;
	UINT NumAllocations;
	CONST HANDLE *pResources;
	CONST D3DKMT_HANDLE *HandleList;
	D3DDDI_RECLAIM_RESULT *pResults; /* out */
	UINT64 PagingFenceValue;
} D3DDDICB_RECLAIMALLOCATIONS3;

typedef struct D3DDDICB_EVICT {
	UINT NumAllocations;                 /* in */
	CONST D3DKMT_HANDLE *AllocationList; /* in */
	D3DDDI_EVICT_FLAGS Flags;            /* in */
	UINT64 NumBytesToTrim;               /* out */
} D3DDDICB_EVICT;

typedef struct D3DDDICB_CREATEPAGINGQUEUE {
	D3DDDI_PAGINGQUEUE_PRIORITY Priority; /* in */
	D3DKMT_HANDLE hPagingQueue;           /* out */
	D3DKMT_HANDLE hSyncObject;            /* out */
	VOID *FenceValueCPUVirtualAddress;    /* out: read-only */
	UINT PhysicalAdapterIndex;            /* in */
} D3DDDICB_CREATEPAGINGQUEUE;

typedef struct _D3DDDICB_FREEGPUVIRTUALADDRESS {
	D3DGPU_VIRTUAL_ADDRESS BaseAddress; /* in */
	D3DGPU_SIZE_T Size;                 /* in */
} D3DDDICB_FREEGPUVIRTUALADDRESS;

typedef struct _D3DDDICB_UPDATEGPUVIRTUALADDRESS {
	HANDLE hContext;                                      /* in: the runtime's */
	D3DKMT_HANDLE hFenceObject;                           /* in */
	UINT NumOperations;                                   /* in */
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *Operations; /* in */
	UINT Reserved0;
	UINT64 Reserved1;
	UINT64 FenceValue; /* in */
	union {
		struct {
			UINT DoNotWait : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	} Flags; /* in */
} D3DDDICB_UPDATEGPUVIRTUALADDRESS;

/*
 * ---- Contexts, queues and work ---------------------------------------------------------------
 */

typedef struct _D3DDDICB_CREATECONTEXT {
	UINT NodeOrdinal;                             /* in */
	UINT EngineAffinity;                          /* in */
	D3DDDI_CREATECONTEXTFLAGS Flags;              /* in */
	VOID *pPrivateDriverData;                     /* in */
	UINT PrivateDriverDataSize;                   /* in */
	HANDLE hContext;                              /* out: the runtime's */
	VOID *pCommandBuffer;                         /* out: for the first Render */
	UINT CommandBufferSize;                       /* out */
	D3DDDI_ALLOCATIONLIST *pAllocationList;       /* out */
	UINT AllocationListSize;                      /* out */
	D3DDDI_PATCHLOCATIONLIST *pPatchLocationList; /* out */
	UINT PatchLocationListSize;                   /* out */
	D3DGPU_VIRTUAL_ADDRESS CommandBuffer;         /* out */
} D3DDDICB_CREATECONTEXT;

typedef struct _D3DDDICB_CREATECONTEXTVIRTUAL {
	UINT NodeOrdinal;                /* in */
	UINT EngineAffinity;             /* in */
	D3DDDI_CREATECONTEXTFLAGS Flags; /* in */
	VOID *pPrivateDriverData;        /* in */
	UINT PrivateDriverDataSize;      /* in */
	HANDLE hContext;                 /* out: the runtime's */
} D3DDDICB_CREATECONTEXTVIRTUAL;

typedef struct _D3DDDICB_DESTROYCONTEXT {
	HANDLE hContext; /* in */
} D3DDDICB_DESTROYCONTEXT;

typedef struct _D3DDDICB_CREATEHWCONTEXT {
	UINT NodeOrdinal;                  /* in */
	UINT EngineAffinity;               /* in */
	D3DDDI_CREATEHWCONTEXTFLAGS Flags; /* in */
	UINT PrivateDriverDataSize;        /* in */
	VOID *pPrivateDriverData;          /* in/out */
	HANDLE hHwContext;                 /* out: the runtime's */
} D3DDDICB_CREATEHWCONTEXT;

typedef struct _D3DDDICB_DESTROYHWCONTEXT {
	HANDLE hHwContext; /* in */
} D3DDDICB_DESTROYHWCONTEXT;

typedef struct _D3DDDICB_CREATEHWQUEUE {
	HANDLE hHwContext;                                            /* in: the runtime's */
	D3DDDI_CREATEHWQUEUEFLAGS Flags;                              /* in */
	UINT PrivateDriverDataSize;                                   /* in */
	VOID *pPrivateDriverData;                                     /* in/out */
	HANDLE hHwQueue;                                              /* out: the runtime's */
	D3DKMT_HANDLE hHwQueueProgressFence;                          /* out */
	VOID *HwQueueProgressFenceCPUVirtualAddress;                  /* out */
	D3DGPU_VIRTUAL_ADDRESS HwQueueProgressFenceGPUVirtualAddress; /* out */
} D3DDDICB_CREATEHWQUEUE;

typedef struct _D3DDDICB_DESTROYHWQUEUE {
	HANDLE hHwQueue; /* in */
} D3DDDICB_DESTROYHWQUEUE;

typedef struct _D3DDDICB_RENDERFLAGS {
	union {
		struct {
			UINT ResizeCommandBuffer : 1;
			UINT ResizeAllocationList : 1;
			UINT ResizePatchLocationList : 1;
			UINT NullRendering : 1;
			UINT Reserved : 28;
		};
		UINT Value;
	};
} D3DDDICB_RENDERFLAGS;

/* Which history of markers comes along with a submission; none of them is kept here. */
typedef enum D3DDDI_MARKERLOGTYPE {
	D3DDDIMLT_NONE = 0,
	D3DDDIMLT_PROFILE = 1,
	D3DDDIMLT_FT_PROFILE = 2,
	D3DDDIMLT_BATCHED = 3,
} D3DDDI_MARKERLOGTYPE;

typedef struct _D3DDDI_BATCHEDMARKERDATA {
	HANDLE hRTCommandListHandle;
	UINT FirstAPISequenceNumberHigh;
	UINT CompletedAPISequenceNumberLowSize;
	CONST UINT *pCompletedAPISequenceNumberLow;
} D3DDDI_BATCHEDMARKERDATA;

typedef struct _D3DDDICB_RENDER {
	UINT CommandLength;                                    /* in */
	UINT CommandOffset;                                    /* in */
	UINT NumAllocations;                                   /* in */
	UINT NumPatchLocations;                                /* in */
	VOID *pNewCommandBuffer;                               /* out: for the next one */
	UINT NewCommandBufferSize;                             /* in/out */
	D3DDDI_ALLOCATIONLIST *pNewAllocationList;             /* out */
	UINT NewAllocationListSize;                            /* in/out */
	D3DDDI_PATCHLOCATIONLIST *pNewPatchLocationList;       /* out */
	UINT NewPatchLocationListSize;                         /* in/out */
	D3DDDICB_RENDERFLAGS Flags;                            /* in */
	HANDLE hContext;                                       /* in: the runtime's */
	UINT BroadcastContextCount;                            /* in: besides that one */
	HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT]; /* in: the runtime's */
	ULONG QueuedBufferCount;                               /* out */
	D3DGPU_VIRTUAL_ADDRESS NewCommandBuffer;               /* out */
	VOID *pPrivateDriverData;                              /* in */
	UINT PrivateDriverDataSize;                            /* in */
	D3DDDI_MARKERLOGTYPE MarkerLogType;
	UINT RenderCBSequence;
	union {
		struct {
			UINT FirstAPISequenceNumberHigh;
			UINT CompletedAPISequenceNumberLow0Size;
			UINT CompletedAPISequenceNumberLow1Size;
			UINT BegunAPISequenceNumberLow0Size;
			UINT BegunAPISequenceNumberLow1Size;
		};
		UINT BatchedMarkerDataCount;
	};
	union {
		struct {
			CONST UINT *pCompletedAPISequenceNumberLow0;
			CONST UINT *pCompletedAPISequenceNumberLow1;
			CONST UINT *pBegunAPISequenceNumberLow0;
			CONST UINT *pBegunAPISequenceNumberLow1;
		};
		CONST D3DDDI_BATCHEDMARKERDATA *pBatchedMarkerData;
	};
} D3DDDICB_RENDER;

typedef struct _D3DDDICB_SUBMITCOMMANDFLAGS {
	union {
		struct {
			UINT NullRendering : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DDDICB_SUBMITCOMMANDFLAGS;

typedef struct _D3DDDICB_SUBMITCOMMAND {
	D3DGPU_VIRTUAL_ADDRESS Commands;                              /* in */
	UINT CommandLength;                                           /* in */
	D3DDDICB_SUBMITCOMMANDFLAGS Flags;                            /* in */
	UINT BroadcastContextCount;                                   /* in: 1 at least */
	HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT];        /* in: the runtime's */
	VOID *pPrivateDriverData;                                     /* in */
	UINT PrivateDriverDataSize;                                   /* in */
	UINT NumPrimaries;                                            /* in */
	D3DKMT_HANDLE WrittenPrimaries[D3DDDI_MAX_WRITTEN_PRIMARIES]; /* in */
	D3DDDI_MARKERLOGTYPE MarkerLogType;
	UINT RenderCBSequence;
	union {
		struct {
			UINT FirstAPISequenceNumberHigh;
			UINT CompletedAPISequenceNumberLow0Size;
			UINT CompletedAPISequenceNumberLow1Size;
			UINT BegunAPISequenceNumberLow0Size;
			UINT BegunAPISequenceNumberLow1Size;
		};
		UINT BatchedMarkerDataCount;
	};
	union {
		struct {
			CONST UINT *pCompletedAPISequenceNumberLow0;
			CONST UINT *pCompletedAPISequenceNumberLow1;
			CONST UINT *pBegunAPISequenceNumberLow0;
			CONST UINT *pBegunAPISequenceNumberLow1;
		};
		CONST D3DDDI_BATCHEDMARKERDATA *pBatchedMarkerData;
	};
	UINT Reserved;
	UINT NumHistoryBuffers;
	D3DKMT_HANDLE *HistoryBufferArray;
	union {
		HANDLE hSyncToken;
		VOID *pReserved;
	};
} D3DDDICB_SUBMITCOMMAND;

typedef struct _D3DDDICB_SUBMITCOMMANDTOHWQUEUEFLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} D3DDDICB_SUBMITCOMMANDTOHWQUEUEFLAGS;

typedef struct _D3DDDICB_SUBMITCOMMANDTOHWQUEUE {
	HANDLE hHwQueue;                            /* in: the runtime's */
	UINT64 HwQueueProgressFenceId;              /* in */
	D3DGPU_VIRTUAL_ADDRESS Commands;            /* in */
	UINT CommandLength;                         /* in */
	D3DDDICB_SUBMITCOMMANDTOHWQUEUEFLAGS Flags; /* in: none yet */
	UINT PrivateDriverDataSize;                 /* in */
	VOID *pPrivateDriverData;                   /* in */
	UINT NumPrimaries;                          /* in */
	CONST D3DKMT_HANDLE *WrittenPrimaries;      /* in */
} D3DDDICB_SUBMITCOMMANDTOHWQUEUE;

typedef struct _D3DDDICB_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE {
	HANDLE hHwQueue;                        /* in: the runtime's */
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in */
	CONST UINT64 *FenceValueArray;          /* in */
} D3DDDICB_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE;

typedef struct _D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE {
	D3DDDICB_SIGNALFLAGS Flags;             /* in */
	ULONG BroadcastHwQueueCount;            /* in */
	CONST HANDLE *BroadcastHwQueueArray;    /* in: the runtime's */
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in */
	CONST UINT64 *FenceValueArray;          /* in */
} D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE;

typedef struct _D3DDDICB_ESCAPE {
	HANDLE hDevice;             /* in: the runtime's, or NULL */
	D3DDDI_ESCAPEFLAGS Flags;   /* in */
	VOID *pPrivateDriverData;   /* in/out */
	UINT PrivateDriverDataSize; /* in */
	HANDLE hContext;            /* in: the runtime's, or NULL; needs hDevice */
} D3DDDICB_ESCAPE;

/*
 * ---- Synchronization -------------------------------------------------------------------------
 */

typedef struct _D3DDDICB_CREATESYNCHRONIZATIONOBJECT {
	D3DDDI_SYNCHRONIZATIONOBJECTINFO Info; /* in */
	D3DKMT_HANDLE hSyncObject;             /* out */
} D3DDDICB_CREATESYNCHRONIZATIONOBJECT;

typedef struct _D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 {
	D3DDDI_SYNCHRONIZATIONOBJECTINFO2 Info; /* in/out */
	D3DKMT_HANDLE hSyncObject;              /* out */
} D3DDDICB_CREATESYNCHRONIZATIONOBJECT2;

typedef struct _D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT {
	D3DKMT_HANDLE hSyncObject; /* in */
} D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT;

typedef struct _D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT {
	HANDLE hContext;                                              /* in: the runtime's */
	UINT ObjectCount;                                             /* in */
	D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_WAITED_ON]; /* in */
} D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT;

typedef struct _D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT2 {
	HANDLE hContext;                                              /* in: the runtime's */
	UINT ObjectCount;                                             /* in */
	D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_WAITED_ON]; /* in */
	UINT64 FenceValue;                                            /* in: for D3DDDI_FENCE */
} D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT2;

typedef struct _D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT {
	HANDLE hContext;                                             /* in: the runtime's */
	UINT ObjectCount;                                            /* in */
	D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_SIGNALED]; /* in */
	D3DDDICB_SIGNALFLAGS Flags;                                  /* in */
} D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT;

typedef struct _D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2 {
	HANDLE hContext;                                             /* in: the runtime's */
	UINT ObjectCount;                                            /* in */
	D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_SIGNALED]; /* in */
	D3DDDICB_SIGNALFLAGS Flags;                                  /* in */
	ULONG BroadcastContextCount;                                 /* in: besides that one */
	HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT];       /* in: the runtime's */
	union {
		UINT64 FenceValue;     /* in: for D3DDDI_FENCE */
		HANDLE CpuEventHandle; /* in: with EnqueueCpuEvent */
	};
} D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2;

typedef struct D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU {
	UINT ObjectCount;                                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray;                 /* in */
	CONST UINT64 *FenceValueArray;                          /* in */
	HANDLE hAsyncEvent;                                     /* in: NULL: the call waits */
	D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS Flags; /* in */
} D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU;

typedef struct D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU {
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in */
	CONST UINT64 *FenceValueArray;          /* in */
} D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU;

typedef struct D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU {
	HANDLE hContext;                        /* in: the runtime's */
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in */
	union {
		CONST UINT64 *MonitoredFenceValueArray; /* in */
		UINT64 FenceValue;                      /* in */
		UINT64 Reserved[8];
	};
} D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU;

typedef struct D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU {
	HANDLE hContext;                        /* in: the runtime's */
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in */
	union {
		CONST UINT64 *MonitoredFenceValueArray; /* in */
		UINT64 Reserved[8];
	};
} D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU;

typedef struct D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 {
	UINT ObjectCount;                       /* in */
	CONST D3DKMT_HANDLE *ObjectHandleArray; /* in */
	D3DDDICB_SIGNALFLAGS Flags;             /* in */
	ULONG BroadcastContextCount;            /* in */
	CONST HANDLE *BroadcastContextArray;    /* in: the runtime's */
	union {
		UINT64 FenceValue;                      /* in */
		HANDLE CpuEventHandle;                  /* in */
		CONST UINT64 *MonitoredFenceValueArray; /* in */
		UINT64 Reserved[8];
	};
} D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2;

typedef struct D3DDDICB_LOGUMDMARKER {
	HANDLE hContext; /* in: the runtime's */
	UINT64 APISequenceNumber;
	INT Index;
	INT StringIndex;
	LPCWSTR Info; /* in, optional */
} D3DDDICB_LOGUMDMARKER;

/*
 * ---- The runtime's callbacks -----------------------------------------------------------------
 *
 * hDevice is the handle that the runtime gave in D3DDDIARG_CREATEDEVICE, hAdapter the one of D3DDDIARG_OPENADAPTER. What
 * needs a display has no type for its argument: the runtime refuses it whatever it is.
 */

typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_ALLOCATECB)(HANDLE hDevice, D3DDDICB_ALLOCATE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_DEALLOCATECB)(HANDLE hDevice,
							   CONST D3DDDICB_DEALLOCATE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SETPRIORITYCB)(HANDLE hDevice,
							    D3DDDICB_SETPRIORITY *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_QUERYRESIDENCYCB)(
	HANDLE hDevice, CONST D3DDDICB_QUERYRESIDENCY *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SETDISPLAYMODECB)(HANDLE hDevice, CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_PRESENTCB)(HANDLE hDevice, CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_RENDERCB)(HANDLE hDevice, D3DDDICB_RENDER *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_LOCKCB)(HANDLE hDevice, D3DDDICB_LOCK *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_UNLOCKCB)(HANDLE hDevice,
						       CONST D3DDDICB_UNLOCK *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_ESCAPECB)(HANDLE hAdapter,
						       CONST D3DDDICB_ESCAPE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATEOVERLAYCB)(HANDLE hDevice, CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_UPDATEOVERLAYCB)(HANDLE hDevice, CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_FLIPOVERLAYCB)(HANDLE hDevice, CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_DESTROYOVERLAYCB)(HANDLE hDevice, CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATECONTEXTCB)(HANDLE hDevice,
							      D3DDDICB_CREATECONTEXT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_DESTROYCONTEXTCB)(
	HANDLE hDevice, CONST D3DDDICB_DESTROYCONTEXT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATESYNCHRONIZATIONOBJECTCB)(
	HANDLE hDevice, D3DDDICB_CREATESYNCHRONIZATIONOBJECT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_DESTROYSYNCHRONIZATIONOBJECTCB)(
	HANDLE hDevice, CONST D3DDDICB_DESTROYSYNCHRONIZATIONOBJECT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_WAITFORSYNCHRONIZATIONOBJECTCB)(
	HANDLE hDevice, CONST D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECTCB)(
	HANDLE hDevice, CONST D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SETASYNCCALLBACKSCB)(HANDLE hDevice, BOOL Enable);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SETDISPLAYPRIVATEDRIVERFORMATCB)(HANDLE hDevice,
									      CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_OFFERALLOCATIONSCB)(
	HANDLE hDevice, CONST D3DDDICB_OFFERALLOCATIONS *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_RECLAIMALLOCATIONSCB)(
	HANDLE hDevice, CONST D3DDDICB_RECLAIMALLOCATIONS *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATESYNCHRONIZATIONOBJECT2CB)(
	HANDLE hDevice, D3DDDICB_CREATESYNCHRONIZATIONOBJECT2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_WAITFORSYNCHRONIZATIONOBJECT2CB)(
	HANDLE hDevice, CONST D3DDDICB_WAITFORSYNCHRONIZATIONOBJECT2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECT2CB)(
	HANDLE hDevice, CONST D3DDDICB_SIGNALSYNCHRONIZATIONOBJECT2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_PRESENTMULTIPLANEOVERLAYCB)(HANDLE hDevice,
									 CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_LOGUMDMARKERCB)(HANDLE hDevice,
							     CONST D3DDDICB_LOGUMDMARKER *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_MAKERESIDENTCB)(HANDLE hDevice,
							     D3DDDI_MAKERESIDENT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_EVICTCB)(HANDLE hDevice, D3DDDICB_EVICT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPUCB)(
	HANDLE hDevice, CONST D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECTFROMCPUCB)(
	HANDLE hDevice, CONST D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMCPU *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMGPUCB)(
	HANDLE hDevice, CONST D3DDDICB_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECTFROMGPUCB)(
	HANDLE hDevice, CONST D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATEPAGINGQUEUECB)(
	HANDLE hDevice, D3DDDICB_CREATEPAGINGQUEUE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_DESTROYPAGINGQUEUECB)(
	HANDLE hDevice, CONST D3DDDI_DESTROYPAGINGQUEUE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_LOCK2CB)(HANDLE hDevice, D3DDDICB_LOCK2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_UNLOCK2CB)(HANDLE hDevice,
							CONST D3DDDICB_UNLOCK2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_INVALIDATECACHECB)(
	HANDLE hDevice, CONST D3DDDICB_INVALIDATECACHE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_RESERVEGPUVIRTUALADDRESSCB)(
	HANDLE hDevice, D3DDDI_RESERVEGPUVIRTUALADDRESS *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_MAPGPUVIRTUALADDRESSCB)(
	HANDLE hDevice, D3DDDI_MAPGPUVIRTUALADDRESS *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_FREEGPUVIRTUALADDRESSCB)(
	HANDLE hDevice, CONST D3DDDICB_FREEGPUVIRTUALADDRESS *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_UPDATEGPUVIRTUALADDRESSCB)(
	HANDLE hDevice, CONST D3DDDICB_UPDATEGPUVIRTUALADDRESS *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATECONTEXTVIRTUALCB)(
	HANDLE hDevice, D3DDDICB_CREATECONTEXTVIRTUAL *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SUBMITCOMMANDCB)(HANDLE hDevice,
							      CONST D3DDDICB_SUBMITCOMMAND *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_DEALLOCATE2CB)(HANDLE hDevice,
							    CONST D3DDDICB_DEALLOCATE2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2CB)(
	HANDLE hDevice, CONST D3DDDICB_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_RECLAIMALLOCATIONS2CB)(
	HANDLE hDevice, D3DDDICB_RECLAIMALLOCATIONS2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_GETRESOURCEPRESENTPRIVATEDRIVERDATACB)(
	HANDLE hDevice, D3DDDI_GETRESOURCEPRESENTPRIVATEDRIVERDATA *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_UPDATEALLOCATIONPROPERTYCB)(
	HANDLE hDevice, D3DDDI_UPDATEALLOCPROPERTY *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_OFFERALLOCATIONS2CB)(
	HANDLE hDevice, CONST D3DDDICB_OFFERALLOCATIONS2 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_RECLAIMALLOCATIONS3CB)(
	HANDLE hDevice, D3DDDICB_RECLAIMALLOCATIONS3 *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_ACQUIRERESOURCECB)(HANDLE hDevice, CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_RELEASERESOURCECB)(HANDLE hDevice, CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATEHWCONTEXTCB)(HANDLE hDevice,
								D3DDDICB_CREATEHWCONTEXT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_DESTROYHWCONTEXTCB)(
	HANDLE hDevice, CONST D3DDDICB_DESTROYHWCONTEXT *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATEHWQUEUECB)(HANDLE hDevice,
							      D3DDDICB_CREATEHWQUEUE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_DESTROYHWQUEUECB)(
	HANDLE hDevice, CONST D3DDDICB_DESTROYHWQUEUE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SUBMITCOMMANDTOHWQUEUECB)(
	HANDLE hDevice, CONST D3DDDICB_SUBMITCOMMANDTOHWQUEUE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SUBMITWAITFORSYNCOBJECTSTOHWQUEUECB)(
	HANDLE hDevice, CONST D3DDDICB_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SUBMITSIGNALSYNCOBJECTSTOHWQUEUECB)(
	HANDLE hDevice, CONST D3DDDICB_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SUBMITPRESENTBLTTOHWQUEUECB)(HANDLE hDevice,
									  CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SUBMITPRESENTTOHWQUEUECB)(HANDLE hDevice,
								       CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_SUBMITHISTORYSEQUENCECB)(HANDLE hDevice,
								      CONST VOID *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_CREATENATIVEFENCECB)(HANDLE hDevice,
								  CONST VOID *pData);
typedef struct _D3DDDI_DEVICECALLBACKS {
	/* Windows Vista and 7 */
	PFND3DDDI_ALLOCATECB pfnAllocateCb;
	PFND3DDDI_DEALLOCATECB pfnDeallocateCb;
	PFND3DDDI_SETPRIORITYCB pfnSetPriorityCb;
	PFND3DDDI_QUERYRESIDENCYCB pfnQueryResidencyCb;
	PFND3DDDI_SETDISPLAYMODECB pfnSetDisplayModeCb;
	PFND3DDDI_PRESENTCB pfnPresentCb;
	PFND3DDDI_RENDERCB pfnRenderCb;
	PFND3DDDI_LOCKCB pfnLockCb;
	PFND3DDDI_UNLOCKCB pfnUnlockCb;
	PFND3DDDI_ESCAPECB pfnEscapeCb;
	PFND3DDDI_CREATEOVERLAYCB pfnCreateOverlayCb;
	PFND3DDDI_UPDATEOVERLAYCB pfnUpdateOverlayCb;
	PFND3DDDI_FLIPOVERLAYCB pfnFlipOverlayCb;
	PFND3DDDI_DESTROYOVERLAYCB pfnDestroyOverlayCb;
	PFND3DDDI_CREATECONTEXTCB pfnCreateContextCb;
	PFND3DDDI_DESTROYCONTEXTCB pfnDestroyContextCb;
	PFND3DDDI_CREATESYNCHRONIZATIONOBJECTCB pfnCreateSynchronizationObjectCb;
	PFND3DDDI_DESTROYSYNCHRONIZATIONOBJECTCB pfnDestroySynchronizationObjectCb;
	PFND3DDDI_WAITFORSYNCHRONIZATIONOBJECTCB pfnWaitForSynchronizationObjectCb;
	PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECTCB pfnSignalSynchronizationObjectCb;
	PFND3DDDI_SETASYNCCALLBACKSCB pfnSetAsyncCallbacksCb;
	PFND3DDDI_SETDISPLAYPRIVATEDRIVERFORMATCB pfnSetDisplayPrivateDriverFormatCb;
	/* WDDM 1.2 */
	PFND3DDDI_OFFERALLOCATIONSCB pfnOfferAllocationsCb;
	PFND3DDDI_RECLAIMALLOCATIONSCB pfnReclaimAllocationsCb;
	PFND3DDDI_CREATESYNCHRONIZATIONOBJECT2CB pfnCreateSynchronizationObject2Cb;
	PFND3DDDI_WAITFORSYNCHRONIZATIONOBJECT2CB pfnWaitForSynchronizationObject2Cb;
	PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECT2CB pfnSignalSynchronizationObject2Cb;
	/* WDDM 1.3 */
	PFND3DDDI_PRESENTMULTIPLANEOVERLAYCB pfnPresentMultiPlaneOverlayCb;
	PFND3DDDI_LOGUMDMARKERCB pfnLogUMDMarkerCb;
	/* WDDM 2.0 */
	PFND3DDDI_MAKERESIDENTCB pfnMakeResidentCb;
	PFND3DDDI_EVICTCB pfnEvictCb;
	PFND3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPUCB pfnWaitForSynchronizationObjectFromCpuCb;
	PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECTFROMCPUCB pfnSignalSynchronizationObjectFromCpuCb;
	PFND3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMGPUCB pfnWaitForSynchronizationObjectFromGpuCb;
	PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECTFROMGPUCB pfnSignalSynchronizationObjectFromGpuCb;
	PFND3DDDI_CREATEPAGINGQUEUECB pfnCreatePagingQueueCb;
	PFND3DDDI_DESTROYPAGINGQUEUECB pfnDestroyPagingQueueCb;
	PFND3DDDI_LOCK2CB pfnLock2Cb;
	PFND3DDDI_UNLOCK2CB pfnUnlock2Cb;
	PFND3DDDI_INVALIDATECACHECB pfnInvalidateCacheCb;
	PFND3DDDI_RESERVEGPUVIRTUALADDRESSCB pfnReserveGpuVirtualAddressCb;
	PFND3DDDI_MAPGPUVIRTUALADDRESSCB pfnMapGpuVirtualAddressCb;
	PFND3DDDI_FREEGPUVIRTUALADDRESSCB pfnFreeGpuVirtualAddressCb;
	PFND3DDDI_UPDATEGPUVIRTUALADDRESSCB pfnUpdateGpuVirtualAddressCb;
	PFND3DDDI_CREATECONTEXTVIRTUALCB pfnCreateContextVirtualCb;
	PFND3DDDI_SUBMITCOMMANDCB pfnSubmitCommandCb;
	PFND3DDDI_DEALLOCATE2CB pfnDeallocate2Cb;
	PFND3DDDI_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2CB pfnSignalSynchronizationObjectFromGpu2Cb;
	PFND3DDDI_RECLAIMALLOCATIONS2CB pfnReclaimAllocations2Cb;
	PFND3DDDI_GETRESOURCEPRESENTPRIVATEDRIVERDATACB pfnGetResourcePresentPrivateDriverDataCb;
	PFND3DDDI_UPDATEALLOCATIONPROPERTYCB pfnUpdateAllocationPropertyCb;
	/* later than WDDM 2.0 */
	PFND3DDDI_OFFERALLOCATIONS2CB pfnOfferAllocations2Cb;
	PFND3DDDI_RECLAIMALLOCATIONS3CB pfnReclaimAllocations3Cb;
	PFND3DDDI_ACQUIRERESOURCECB pfnAcquireResourceCb;
	PFND3DDDI_RELEASERESOURCECB pfnReleaseResourceCb;
	PFND3DDDI_CREATEHWCONTEXTCB pfnCreateHwContextCb;
	PFND3DDDI_DESTROYHWCONTEXTCB pfnDestroyHwContextCb;
	PFND3DDDI_CREATEHWQUEUECB pfnCreateHwQueueCb;
	PFND3DDDI_DESTROYHWQUEUECB pfnDestroyHwQueueCb;
	PFND3DDDI_SUBMITCOMMANDTOHWQUEUECB pfnSubmitCommandToHwQueueCb;
	PFND3DDDI_SUBMITWAITFORSYNCOBJECTSTOHWQUEUECB pfnSubmitWaitForSyncObjectsToHwQueueCb;
	PFND3DDDI_SUBMITSIGNALSYNCOBJECTSTOHWQUEUECB pfnSubmitSignalSyncObjectsToHwQueueCb;
	PFND3DDDI_SUBMITPRESENTBLTTOHWQUEUECB pfnSubmitPresentBltToHwQueueCb;
	PFND3DDDI_SUBMITPRESENTTOHWQUEUECB pfnSubmitPresentToHwQueueCb;
	PFND3DDDI_SUBMITHISTORYSEQUENCECB pfnSubmitHistorySequenceCb;
	PFND3DDDI_CREATENATIVEFENCECB pfnCreateNativeFenceCb;
} D3DDDI_DEVICECALLBACKS;

typedef struct _D3DDDICB_QUERYADAPTERINFO {
	VOID *pPrivateDriverData;   /* out */
	UINT PrivateDriverDataSize; /* in */
} D3DDDICB_QUERYADAPTERINFO;

typedef enum _D3DDDI_QUERYADAPTERTYPE {
	D3DDDI_QUERYADAPTERTYPE_DRIVERPRIVATE = 0,
	D3DDDI_QUERYADAPTERTYPE_QUERYREGISTRY = 1,
	D3DDDI_QUERYADAPTERTYPE_APPLICATIONSPECIFICDRIVERBLOB = 2,
} D3DDDI_QUERYADAPTERTYPE;

typedef struct _D3DDDICB_QUERYADAPTERINFO2 {
	D3DDDI_QUERYADAPTERTYPE QueryType; /* in */
	VOID *pPrivateDriverData;          /* in/out */
	UINT PrivateDriverDataSize;        /* in/out */
} D3DDDICB_QUERYADAPTERINFO2;

typedef struct _D3DDDICB_GETMULTISAMPLEMETHODLIST {
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in */
	UINT Width;                                   /* in */
	UINT Height;                                  /* in */
	D3DDDIFORMAT Format;                          /* in */
	D3DDDI_MULTISAMPLINGMETHOD *pMethodList;      /* out */
	UINT MethodCount;                             /* in/out */
} D3DDDICB_GETMULTISAMPLEMETHODLIST;

typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_QUERYADAPTERINFOCB)(
	HANDLE hAdapter, CONST D3DDDICB_QUERYADAPTERINFO *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_GETMULTISAMPLEMETHODLISTCB)(
	HANDLE hAdapter, D3DDDICB_GETMULTISAMPLEMETHODLIST *pData);
typedef HRESULT(APIENTRY CALLBACK *PFND3DDDI_QUERYADAPTERINFOCB2)(
	HANDLE hAdapter, D3DDDICB_QUERYADAPTERINFO2 *pData);

typedef struct _D3DDDI_ADAPTERCALLBACKS {
	PFND3DDDI_QUERYADAPTERINFOCB pfnQueryAdapterInfoCb;
	PFND3DDDI_GETMULTISAMPLEMETHODLISTCB pfnGetMultisampleMethodListCb;
	PFND3DDDI_QUERYADAPTERINFOCB2 pfnQueryAdapterInfoCb2; /* WDDM 2.x */
} D3DDDI_ADAPTERCALLBACKS;

/*
 * ---- The driver's functions ------------------------------------------------------------------
 *
 * hDevice and hResource are the driver's here: what it returned from CreateDevice and CreateResource.
 */

typedef struct _D3DDDIRANGE {
	UINT Offset;
	UINT Size;
} D3DDDIRANGE;

typedef struct _D3DDDIBOX {
	UINT Left;
	UINT Top;
	UINT Right;
	UINT Bottom;
	UINT Front;
	UINT Back;
} D3DDDIBOX;

typedef struct _D3DDDI_LOCKFLAGS {
	union {
		struct {
			UINT ReadOnly : 1;
			UINT WriteOnly : 1;
			UINT NoOverwrite : 1;
			UINT Discard : 1;
			UINT RangeValid : 1;
			UINT AreaValid : 1;
			UINT BoxValid : 1;
			UINT NotifyOnly : 1;
			UINT MightDrawFromLocked : 1;
			UINT DoNotWait : 1;
			UINT Reserved : 22;
		};
		UINT Value;
	};
} D3DDDI_LOCKFLAGS;

typedef struct _D3DDDIARG_LOCK {
	HANDLE hResource;      /* in */
	UINT SubResourceIndex; /* in */
	union {
		D3DDDIRANGE Range; /* in: with RangeValid */
		RECT Area;         /* in: with AreaValid */
		D3DDDIBOX Box;     /* in: with BoxValid */
	};
	VOID *pSurfData; /* out */
	UINT Pitch;      /* out */
	UINT SlicePitch; /* out */
	D3DDDI_LOCKFLAGS Flags;
} D3DDDIARG_LOCK;

typedef struct _D3DDDI_UNLOCKFLAGS {
	union {
		struct {
			UINT NotifyOnly : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DDDI_UNLOCKFLAGS;

typedef struct _D3DDDIARG_UNLOCK {
	HANDLE hResource;
	UINT SubResourceIndex;
	D3DDDI_UNLOCKFLAGS Flags;
} D3DDDIARG_UNLOCK;

/* Of Flags 1 clears the render target, 2 depth, 4 stencil. */
typedef struct _D3DDDIARG_CLEAR {
	UINT Flags;
	UINT FillColor;
	FLOAT FillDepth;
	UINT FillStencil;
} D3DDDIARG_CLEAR;

typedef struct _D3DDDI_COLORFILLFLAGS {
	union {
		struct {
			UINT PresentToDwm : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DDDI_COLORFILLFLAGS;

typedef struct _D3DDDIARG_COLORFILL {
	HANDLE hResource;
	UINT SubResourceIndex;
	RECT DstRect;
	UINT Color; /* alpha, red, green, blue from the top */
	D3DDDI_COLORFILLFLAGS Flags;
} D3DDDIARG_COLORFILL;

typedef struct _D3DDDIARG_SETRENDERTARGET {
	UINT RenderTargetIndex;
	HANDLE hRenderTarget;
	UINT SubResourceIndex;
} D3DDDIARG_SETRENDERTARGET;

typedef struct _D3DDDIARG_QUERYRESOURCERESIDENCY {
	CONST HANDLE *pHandleList;
	UINT NumResources;
} D3DDDIARG_QUERYRESOURCERESIDENCY;

typedef struct D3DDDIARG_TRIMRESIDENCYSET {
	D3DDDI_TRIMRESIDENCYSET_FLAGS TrimFlags;
	UINT64 NumBytesToTrim; /* with TrimToBudget */
} D3DDDIARG_TRIMRESIDENCYSET;

typedef VOID(APIENTRY *PFND3DDDI_UNDECLARED)(VOID);
typedef HRESULT(APIENTRY *PFND3DDDI_CREATERESOURCE)(HANDLE hDevice,
						    D3DDDIARG_CREATERESOURCE *pResource);
typedef HRESULT(APIENTRY *PFND3DDDI_DESTROYRESOURCE)(HANDLE hDevice, HANDLE hResource);
typedef HRESULT(APIENTRY *PFND3DDDI_LOCK)(HANDLE hDevice, D3DDDIARG_LOCK *pData);
typedef HRESULT(APIENTRY *PFND3DDDI_UNLOCK)(HANDLE hDevice, CONST D3DDDIARG_UNLOCK *pData);
typedef HRESULT(APIENTRY *PFND3DDDI_CLEAR)(HANDLE hDevice, CONST D3DDDIARG_CLEAR *pData,
					   UINT NumRect, CONST RECT *pRect);
typedef HRESULT(APIENTRY *PFND3DDDI_COLORFILL)(HANDLE hDevice, CONST D3DDDIARG_COLORFILL *pData);
typedef HRESULT(APIENTRY *PFND3DDDI_SETRENDERTARGET)(HANDLE hDevice,
						     CONST D3DDDIARG_SETRENDERTARGET *pData);
typedef HRESULT(APIENTRY *PFND3DDDI_FLUSH)(HANDLE hDevice);
typedef HRESULT(APIENTRY *PFND3DDDI_DESTROYDEVICE)(HANDLE hDevice);
typedef HRESULT(APIENTRY *PFND3DDDI_QUERYRESOURCERESIDENCY)(
	HANDLE hDevice, CONST D3DDDIARG_QUERYRESOURCERESIDENCY *pData);
typedef HRESULT(APIENTRY *PFND3DDDI_TRIMRESIDENCYSET)(HANDLE hDevice,
						      D3DDDIARG_TRIMRESIDENCYSET *pData);

typedef struct _D3DDDI_DEVICEFUNCS {
	PFND3DDDI_UNDECLARED pfnSetRenderState;
	PFND3DDDI_UNDECLARED pfnUpdateWInfo;
	PFND3DDDI_UNDECLARED pfnValidateDevice;
	PFND3DDDI_UNDECLARED pfnSetTextureStageState;
	PFND3DDDI_UNDECLARED pfnSetTexture;
	PFND3DDDI_UNDECLARED pfnSetPixelShader;
	PFND3DDDI_UNDECLARED pfnSetPixelShaderConst;
	PFND3DDDI_UNDECLARED pfnSetStreamSourceUm;
	PFND3DDDI_UNDECLARED pfnSetIndices;
	PFND3DDDI_UNDECLARED pfnSetIndicesUm;
	PFND3DDDI_UNDECLARED pfnDrawPrimitive;
	PFND3DDDI_UNDECLARED pfnDrawIndexedPrimitive;
	PFND3DDDI_UNDECLARED pfnDrawRectPatch;
	PFND3DDDI_UNDECLARED pfnDrawTriPatch;
	PFND3DDDI_UNDECLARED pfnDrawPrimitive2;
	PFND3DDDI_UNDECLARED pfnDrawIndexedPrimitive2;
	PFND3DDDI_UNDECLARED pfnVolBlt;
	PFND3DDDI_UNDECLARED pfnBufBlt;
	PFND3DDDI_UNDECLARED pfnTexBlt;
	PFND3DDDI_UNDECLARED pfnStateSet;
	PFND3DDDI_UNDECLARED pfnSetPriority;
	PFND3DDDI_CLEAR pfnClear;
	PFND3DDDI_UNDECLARED pfnUpdatePalette;
	PFND3DDDI_UNDECLARED pfnSetPalette;
	PFND3DDDI_UNDECLARED pfnSetVertexShaderConst;
	PFND3DDDI_UNDECLARED pfnMultiplyTransform;
	PFND3DDDI_UNDECLARED pfnSetTransform;
	PFND3DDDI_UNDECLARED pfnSetViewport;
	PFND3DDDI_UNDECLARED pfnSetZRange;
	PFND3DDDI_UNDECLARED pfnSetMaterial;
	PFND3DDDI_UNDECLARED pfnSetLight;
	PFND3DDDI_UNDECLARED pfnCreateLight;
	PFND3DDDI_UNDECLARED pfnDestroyLight;
	PFND3DDDI_UNDECLARED pfnSetClipPlane;
	PFND3DDDI_UNDECLARED pfnGetInfo;
	PFND3DDDI_LOCK pfnLock;
	PFND3DDDI_UNLOCK pfnUnlock;
	PFND3DDDI_CREATERESOURCE pfnCreateResource;
	PFND3DDDI_DESTROYRESOURCE pfnDestroyResource;
	PFND3DDDI_UNDECLARED pfnSetDisplayMode;
	PFND3DDDI_UNDECLARED pfnPresent;
	PFND3DDDI_FLUSH pfnFlush;
	PFND3DDDI_UNDECLARED pfnCreateVertexShaderFunc;
	PFND3DDDI_UNDECLARED pfnDeleteVertexShaderFunc;
	PFND3DDDI_UNDECLARED pfnSetVertexShaderFunc;
	PFND3DDDI_UNDECLARED pfnCreateVertexShaderDecl;
	PFND3DDDI_UNDECLARED pfnDeleteVertexShaderDecl;
	PFND3DDDI_UNDECLARED pfnSetVertexShaderDecl;
	PFND3DDDI_UNDECLARED pfnSetVertexShaderConstI;
	PFND3DDDI_UNDECLARED pfnSetVertexShaderConstB;
	PFND3DDDI_UNDECLARED pfnSetScissorRect;
	PFND3DDDI_UNDECLARED pfnSetStreamSource;
	PFND3DDDI_UNDECLARED pfnSetStreamSourceFreq;
	PFND3DDDI_UNDECLARED pfnSetConvolutionKernelMono;
	PFND3DDDI_UNDECLARED pfnComposeRects;
	PFND3DDDI_UNDECLARED pfnBlt;
	PFND3DDDI_COLORFILL pfnColorFill;
	PFND3DDDI_UNDECLARED pfnDepthFill;
	PFND3DDDI_UNDECLARED pfnCreateQuery;
	PFND3DDDI_UNDECLARED pfnDestroyQuery;
	PFND3DDDI_UNDECLARED pfnIssueQuery;
	PFND3DDDI_UNDECLARED pfnGetQueryData;
	PFND3DDDI_SETRENDERTARGET pfnSetRenderTarget;
	PFND3DDDI_UNDECLARED pfnSetDepthStencil;
	PFND3DDDI_UNDECLARED pfnGenerateMipSubLevels;
	PFND3DDDI_UNDECLARED pfnSetPixelShaderConstI;
	PFND3DDDI_UNDECLARED pfnSetPixelShaderConstB;
	PFND3DDDI_UNDECLARED pfnCreatePixelShader;
	PFND3DDDI_UNDECLARED pfnDeletePixelShader;
	PFND3DDDI_UNDECLARED pfnCreateDecodeDevice;
	PFND3DDDI_UNDECLARED pfnDestroyDecodeDevice;
	PFND3DDDI_UNDECLARED pfnSetDecodeRenderTarget;
	PFND3DDDI_UNDECLARED pfnDecodeBeginFrame;
	PFND3DDDI_UNDECLARED pfnDecodeEndFrame;
	PFND3DDDI_UNDECLARED pfnDecodeExecute;
	PFND3DDDI_UNDECLARED pfnDecodeExtensionExecute;
	PFND3DDDI_UNDECLARED pfnCreateVideoProcessDevice;
	PFND3DDDI_UNDECLARED pfnDestroyVideoProcessDevice;
	PFND3DDDI_UNDECLARED pfnVideoProcessBeginFrame;
	PFND3DDDI_UNDECLARED pfnVideoProcessEndFrame;
	PFND3DDDI_UNDECLARED pfnSetVideoProcessRenderTarget;
	PFND3DDDI_UNDECLARED pfnVideoProcessBlt;
	PFND3DDDI_UNDECLARED pfnCreateExtensionDevice;
	PFND3DDDI_UNDECLARED pfnDestroyExtensionDevice;
	PFND3DDDI_UNDECLARED pfnExtensionExecute;
	PFND3DDDI_UNDECLARED pfnCreateOverlay;
	PFND3DDDI_UNDECLARED pfnUpdateOverlay;
	PFND3DDDI_UNDECLARED pfnFlipOverlay;
	PFND3DDDI_UNDECLARED pfnGetOverlayColorControls;
	PFND3DDDI_UNDECLARED pfnSetOverlayColorControls;
	PFND3DDDI_UNDECLARED pfnDestroyOverlay;
	PFND3DDDI_DESTROYDEVICE pfnDestroyDevice;
	PFND3DDDI_QUERYRESOURCERESIDENCY pfnQueryResourceResidency;
	PFND3DDDI_UNDECLARED pfnOpenResource;
	PFND3DDDI_UNDECLARED pfnGetCaptureAllocationHandle;
	PFND3DDDI_UNDECLARED pfnCaptureToSysMem;
	PFND3DDDI_UNDECLARED pfnLockAsync;
	PFND3DDDI_UNDECLARED pfnUnlockAsync;
	PFND3DDDI_UNDECLARED pfnRename;
	PFND3DDDI_UNDECLARED pfnCreateVideoProcessor;
	PFND3DDDI_UNDECLARED pfnSetVideoProcessBltState;
	PFND3DDDI_UNDECLARED pfnGetVideoProcessBltStatePrivate;
	PFND3DDDI_UNDECLARED pfnSetVideoProcessStreamState;
	PFND3DDDI_UNDECLARED pfnGetVideoProcessStreamStatePrivate;
	PFND3DDDI_UNDECLARED pfnVideoProcessBltHD;
	PFND3DDDI_UNDECLARED pfnDestroyVideoProcessor;
	PFND3DDDI_UNDECLARED pfnCreateAuthenticatedChannel;
	PFND3DDDI_UNDECLARED pfnAuthenticatedChannelKeyExchange;
	PFND3DDDI_UNDECLARED pfnQueryAuthenticatedChannel;
	PFND3DDDI_UNDECLARED pfnConfigureAuthenticatedChannel;
	PFND3DDDI_UNDECLARED pfnDestroyAuthenticatedChannel;
	PFND3DDDI_UNDECLARED pfnCreateCryptoSession;
	PFND3DDDI_UNDECLARED pfnCryptoSessionKeyExchange;
	PFND3DDDI_UNDECLARED pfnDestroyCryptoSession;
	PFND3DDDI_UNDECLARED pfnEncryptionBlt;
	PFND3DDDI_UNDECLARED pfnGetPitch;
	PFND3DDDI_UNDECLARED pfnStartSessionKeyRefresh;
	PFND3DDDI_UNDECLARED pfnFinishSessionKeyRefresh;
	PFND3DDDI_UNDECLARED pfnGetEncryptionBltKey;
	PFND3DDDI_UNDECLARED pfnDecryptionBlt;
	PFND3DDDI_UNDECLARED pfnResolveSharedResource;
	/* WDDM 1.2 */
	PFND3DDDI_UNDECLARED pfnVolBlt1;
	PFND3DDDI_UNDECLARED pfnBufBlt1;
	PFND3DDDI_UNDECLARED pfnTexBlt1;
	PFND3DDDI_UNDECLARED pfnDiscard;
	PFND3DDDI_UNDECLARED pfnOfferResources;
	PFND3DDDI_UNDECLARED pfnReclaimResources;
	PFND3DDDI_UNDECLARED pfnCheckDirectFlipSupport;
	PFND3DDDI_UNDECLARED pfnCreateResource2;
	PFND3DDDI_UNDECLARED pfnCheckMultiPlaneOverlaySupport;
	PFND3DDDI_UNDECLARED pfnPresentMultiPlaneOverlay;
	/* WDDM 1.3 */
	PFND3DDDI_UNDECLARED pfnReserved1;
	PFND3DDDI_UNDECLARED pfnFlush1;
	PFND3DDDI_UNDECLARED pfnCheckCounterInfo;
	PFND3DDDI_UNDECLARED pfnCheckCounter;
	PFND3DDDI_UNDECLARED pfnUpdateSubresourceUP;
	PFND3DDDI_UNDECLARED pfnPresent1;
	PFND3DDDI_UNDECLARED pfnCheckPresentDurationSupport;
	PFND3DDDI_UNDECLARED pfnSetMarker;
	PFND3DDDI_UNDECLARED pfnSetMarkerMode;
	/* WDDM 2.0 */
	PFND3DDDI_TRIMRESIDENCYSET pfnTrimResidencySet;
	/* WDDM 2.1 */
	PFND3DDDI_UNDECLARED pfnAcquireResource;
	PFND3DDDI_UNDECLARED pfnReleaseResource;
} D3DDDI_DEVICEFUNCS;

typedef struct _D3DDDI_CREATEDEVICEFLAGS {
	union {
		struct {
			UINT AllowMultithreading : 1;
			UINT AllowFlipBatching : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DDDI_CREATEDEVICEFLAGS;

typedef struct _D3DDDIARG_CREATEDEVICE {
	HANDLE hDevice;                               /* in: the runtime's; out: the driver's */
	UINT Interface;                               /* in: 9 */
	UINT Version;                                 /* in: of the runtime */
	CONST D3DDDI_DEVICECALLBACKS *pCallbacks;     /* in: stays until the device ends */
	VOID *pCommandBuffer;                         /* in: of drivers without contexts */
	UINT CommandBufferSize;                       /* in */
	D3DDDI_ALLOCATIONLIST *pAllocationList;       /* in */
	UINT AllocationListSize;                      /* in */
	D3DDDI_PATCHLOCATIONLIST *pPatchLocationList; /* in */
	UINT PatchLocationListSize;                   /* in */
	D3DDDI_DEVICEFUNCS *pDeviceFuncs;             /* out: the driver fills it in */
	D3DDDI_CREATEDEVICEFLAGS Flags;               /* in */
	D3DGPU_VIRTUAL_ADDRESS CommandBuffer;         /* in */
} D3DDDIARG_CREATEDEVICE;

/* What a driver can be asked for; the kinds of questions are numbers here. */
typedef struct _D3DDDIARG_GETCAPS {
	UINT Type;
	VOID *pInfo;
	VOID *pData;
	UINT DataSize;
} D3DDDIARG_GETCAPS;

typedef HRESULT(APIENTRY *PFND3DDDI_GETCAPS)(HANDLE hAdapter, CONST D3DDDIARG_GETCAPS *pData);
typedef HRESULT(APIENTRY *PFND3DDDI_CREATEDEVICE)(HANDLE hAdapter, D3DDDIARG_CREATEDEVICE *pData);
typedef HRESULT(APIENTRY *PFND3DDDI_CLOSEADAPTER)(HANDLE hAdapter);

typedef struct _D3DDDI_ADAPTERFUNCS {
	PFND3DDDI_GETCAPS pfnGetCaps;
	PFND3DDDI_CREATEDEVICE pfnCreateDevice;
	PFND3DDDI_CLOSEADAPTER pfnCloseAdapter;
} D3DDDI_ADAPTERFUNCS;

typedef struct _D3DDDIARG_OPENADAPTER {
	HANDLE hAdapter; /* in: the runtime's; out: the driver's */
	UINT Interface;  /* in: 9 */
	UINT Version;    /* in: of the runtime */
	CONST D3DDDI_ADAPTERCALLBACKS
		*pAdapterCallbacks;         /* in: stays until the adapter is closed */
	D3DDDI_ADAPTERFUNCS *pAdapterFuncs; /* out: the driver fills it in */
	UINT DriverVersion;                 /* out: D3D_UMD_INTERFACE_VERSION_… */
} D3DDDIARG_OPENADAPTER;

/* The one name a driver exports: "OpenAdapter". */
typedef HRESULT(APIENTRY *PFND3DDDI_OPENADAPTER)(D3DDDIARG_OPENADAPTER *pData);

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && defined(__clang__)
#pragma clang diagnostic pop
#elif defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

#endif /* _D3DUMDDI_H_ */
