/* SPDX-License-Identifier: MIT */
/*
 * d3dukmdt.h - what user mode drivers, the graphics kernel and miniports have in common.
 *
 * Allocations, residency, GPU addresses, synchronization objects, formats: the D3DDDI_ vocabulary
 * that D3DKMT arguments and driver arguments are both made of. Layouts are those of 64-bit Linux
 * clients: pointers and 64-bit members naturally aligned, flag words as a union of bit fields and
 * Value. tests/abi/ pins every size, offset, bit and value.
 *
 * Written for clients and drivers alike: no libc header, and the basic types come from whichever of
 * dxgtypes.h and ddk/ntdef.h was included first.
 */
#ifndef _D3DUKMDT_H_
#define _D3DUKMDT_H_

#include "dxgtypes.h"

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
 * ---- Interface versions ----------------------------------------------------------------------
 * The number a miniport registers with. Structures only ever grow from one to the next.
 */

#define DXGKDDI_INTERFACE_VERSION_VISTA                             0x1052
#define DXGKDDI_INTERFACE_VERSION_VISTA_SP1                         0x1053
#define DXGKDDI_INTERFACE_VERSION_WIN7                              0x2005
#define DXGKDDI_INTERFACE_VERSION_WIN8                              0x300E
#define DXGKDDI_INTERFACE_VERSION_WDDM1_3                           0x4002
#define DXGKDDI_INTERFACE_VERSION_WDDM1_3_PATH_INDEPENDENT_ROTATION 0x4003
#define DXGKDDI_INTERFACE_VERSION_WDDM2_0                           0x5023
#define DXGKDDI_INTERFACE_VERSION_WDDM2_1                           0x6003
#define DXGKDDI_INTERFACE_VERSION_WDDM2_1_5                         0x6010
#define DXGKDDI_INTERFACE_VERSION_WDDM2_1_6                         0x6011
#define DXGKDDI_INTERFACE_VERSION_WDDM2_2                           0x700A
#define DXGKDDI_INTERFACE_VERSION_WDDM2_3                           0x8001
#define DXGKDDI_INTERFACE_VERSION_WDDM2_4                           0x9006
#define DXGKDDI_INTERFACE_VERSION_WDDM2_5                           0xA00B
#define DXGKDDI_INTERFACE_VERSION_WDDM2_6                           0xB004
#define DXGKDDI_INTERFACE_VERSION_WDDM2_7                           0xC004
#define DXGKDDI_INTERFACE_VERSION_WDDM2_8                           0xD001
#define DXGKDDI_INTERFACE_VERSION_WDDM2_9                           0xE003
#define DXGKDDI_INTERFACE_VERSION_WDDM3_0                           0xF003

#define IS_OFFICIAL_DDI_INTERFACE_VERSION(version)                                                 \
	((version) == DXGKDDI_INTERFACE_VERSION_VISTA ||                                           \
	 (version) == DXGKDDI_INTERFACE_VERSION_VISTA_SP1 ||                                       \
	 (version) == DXGKDDI_INTERFACE_VERSION_WIN7 ||                                            \
	 (version) == DXGKDDI_INTERFACE_VERSION_WIN8 ||                                            \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM1_3 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM1_3_PATH_INDEPENDENT_ROTATION ||               \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_0 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_1 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_1_5 ||                                       \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_1_6 ||                                       \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_2 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_3 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_4 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_5 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_6 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_7 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_8 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM2_9 ||                                         \
	 (version) == DXGKDDI_INTERFACE_VERSION_WDDM3_0)

/* The newest interface our kernel hosts; a driver may ask for an older one on its command line. */
#ifndef DXGKDDI_INTERFACE_VERSION
#define DXGKDDI_INTERFACE_VERSION DXGKDDI_INTERFACE_VERSION_WDDM2_6
#endif

#define D3D_UMD_INTERFACE_VERSION_VISTA   0x000C
#define D3D_UMD_INTERFACE_VERSION_WIN7    0x2003
#define D3D_UMD_INTERFACE_VERSION_WIN8    0x3004
#define D3D_UMD_INTERFACE_VERSION_WDDM1_3 0x4002
#define D3D_UMD_INTERFACE_VERSION_WDDM2_0 0x5002
#define D3D_UMD_INTERFACE_VERSION_WDDM2_1 0x6003
#define D3D_UMD_INTERFACE_VERSION_WDDM2_2 0x7001
#define D3D_UMD_INTERFACE_VERSION_WDDM2_3 0x8001
#define D3D_UMD_INTERFACE_VERSION_WDDM2_4 0x9001
#define D3D_UMD_INTERFACE_VERSION_WDDM2_5 0xA002
#define D3D_UMD_INTERFACE_VERSION_WDDM2_6 0xB003
#define D3D_UMD_INTERFACE_VERSION_WDDM2_7 0xC001
#define D3D_UMD_INTERFACE_VERSION_WDDM2_8 0xD000
#define D3D_UMD_INTERFACE_VERSION_WDDM2_9 0xE000
#define D3D_UMD_INTERFACE_VERSION_WDDM3_0 0xF000
#ifndef D3D_UMD_INTERFACE_VERSION
#define D3D_UMD_INTERFACE_VERSION D3D_UMD_INTERFACE_VERSION_WDDM3_0
#endif

/*
 * ---- Handles, identifiers, addresses ---------------------------------------------------------
 */

typedef UINT D3DKMT_HANDLE;
typedef UINT D3DDDI_VIDEO_PRESENT_SOURCE_ID;
typedef UINT D3DDDI_VIDEO_PRESENT_TARGET_ID;
typedef ULONGLONG D3DGPU_VIRTUAL_ADDRESS;
typedef ULONGLONG D3DGPU_SIZE_T;
typedef UINT64 D3DKMT_SIZE_T, D3DKMT_UINT_PTR, D3DKMT_ULONG_PTR;

/*
 * Sources that were written to be compiled for 32 bits too wrap pointer members in these. All our
 * clients have 64-bit pointers, so a wrapped pointer is the pointer.
 */
#define D3DKMT_ALIGN64
#define D3DKMT_PTR_HELPER(Name)
#define D3DKMT_PTR(Type, Name) Type Name
#define D3DKMT_PTR_INIT(x)     (x)

#define D3DGPU_NULL                     0
#define D3DGPU_UNIQUE_DRIVER_PROTECTION 0x8000000000000000ULL

#define DXGK_MIN_PAGE_TABLE_LEVEL_COUNT 2
#define DXGK_MAX_PAGE_TABLE_LEVEL_COUNT 6

#define D3DDDI_ID_NOTAPPLICABLE ((UINT)0)
#define D3DDDI_ID_UNINITIALIZED ((UINT)~0u)
#define D3DDDI_ID_ANY           ((UINT)~1u)
#define D3DDDI_ID_ALL           ((UINT)~2u)

#define D3DKMDT_MAX_VIDPN_SOURCES_BITCOUNT 4
#define D3DKMDT_MAX_VIDPN_SOURCES          (1 << D3DKMDT_MAX_VIDPN_SOURCES_BITCOUNT)

#define D3DDDI_MAX_BROADCAST_CONTEXT       64
#define D3DDDI_MAX_WRITTEN_PRIMARIES       16
#define D3DDDI_MAX_MPO_PRESENT_DIRTY_RECTS 0xFFF
#define D3DDDI_MAX_OBJECT_WAITED_ON        32
#define D3DDDI_MAX_OBJECT_SIGNALED         32

/* Access rights as NT spells them, for handles that objects are shared through. */
#ifndef STANDARD_RIGHTS_REQUIRED
#define STANDARD_RIGHTS_REQUIRED 0x000F0000
#endif
#ifndef SYNCHRONIZE
#define SYNCHRONIZE 0x00100000
#endif
#ifndef MAXIMUM_ALLOWED
#define MAXIMUM_ALLOWED 0x02000000
#endif
#ifndef GENERIC_READ
#define GENERIC_READ 0x80000000
#endif
#ifndef GENERIC_WRITE
#define GENERIC_WRITE 0x40000000
#endif
#ifndef GENERIC_EXECUTE
#define GENERIC_EXECUTE 0x20000000
#endif
#ifndef GENERIC_ALL
#define GENERIC_ALL 0x10000000
#endif

#define D3DDDI_SYNC_OBJECT_WAIT   0x1
#define D3DDDI_SYNC_OBJECT_SIGNAL 0x2
#define D3DDDI_SYNC_OBJECT_ALL_ACCESS                                                              \
	(STANDARD_RIGHTS_REQUIRED | SYNCHRONIZE | D3DDDI_SYNC_OBJECT_WAIT |                        \
	 D3DDDI_SYNC_OBJECT_SIGNAL)

#define D3DKMT_CROSS_ADAPTER_RESOURCE_PITCH_ALIGNMENT  128
#define D3DKMT_CROSS_ADAPTER_RESOURCE_HEIGHT_ALIGNMENT 4

/* An element of an array of pointers or NT handles. */
typedef union _D3DKMT_PTR_TYPE {
	HANDLE Ptr;
} D3DKMT_PTR_TYPE;

/* Segment ids start at 1. */
typedef struct _D3DGPU_PHYSICAL_ADDRESS {
	UINT SegmentId;
	UINT Padding;
	UINT64 SegmentOffset;
} D3DGPU_PHYSICAL_ADDRESS;

typedef enum _DXGK_PTE_PAGE_SIZE {
	DXGK_PTE_PAGE_TABLE_PAGE_4KB = 0,
	DXGK_PTE_PAGE_TABLE_PAGE_64KB = 1,
} DXGK_PTE_PAGE_SIZE;

/*
 * One entry as the memory manager hands it to a miniport. Addresses are in units of 4 KiB pages.
 */
typedef struct _DXGK_PTE {
	union {
		struct {
			ULONGLONG Valid : 1;
			ULONGLONG Zero : 1;
			ULONGLONG CacheCoherent : 1;
			ULONGLONG ReadOnly : 1;
			ULONGLONG NoExecute : 1;
			ULONGLONG Segment : 5;
			ULONGLONG LargePage : 1;
			ULONGLONG PhysicalAdapterIndex : 6;
			ULONGLONG PageTablePageSize : 2;
			ULONGLONG SystemReserved0 : 1;
			ULONGLONG Reserved : 44;
		};
		ULONGLONG Flags;
	};
	union {
		ULONGLONG PageAddress;
		ULONGLONG PageTableAddress;
	};
} DXGK_PTE;

typedef struct _D3DDDI_RATIONAL {
	UINT Numerator;
	UINT Denominator;
} D3DDDI_RATIONAL;

typedef struct _D3DDDIRECT {
	LONG left;
	LONG top;
	LONG right;
	LONG bottom;
} D3DDDIRECT;

/*
 * ---- Allocations -----------------------------------------------------------------------------
 */

/* Higher survives longer. Any value may be used; these are the names of five classes. */
#define D3DDDI_ALLOCATIONPRIORITY_MINIMUM 0x28000000
#define D3DDDI_ALLOCATIONPRIORITY_LOW     0x50000000
#define D3DDDI_ALLOCATIONPRIORITY_NORMAL  0x78000000
#define D3DDDI_ALLOCATIONPRIORITY_HIGH    0xa0000000
#define D3DDDI_ALLOCATIONPRIORITY_MAXIMUM 0xc8000000

/* Used with D3DKMTCreateAllocation. */
typedef struct _D3DDDI_ALLOCATIONINFO {
	D3DKMT_HANDLE hAllocation;
	CONST VOID *pSystemMem;
	VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	union {
		struct {
			UINT Primary : 1;
			UINT Stereo : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	} Flags;
} D3DDDI_ALLOCATIONINFO;

/* Used with D3DKMTCreateAllocation2. */
typedef struct _D3DDDI_ALLOCATIONINFO2 {
	D3DKMT_HANDLE hAllocation; /* out: allocation handle */
	union {
		HANDLE hSection;        /* in: with ExistingSection */
		CONST VOID *pSystemMem; /* in */
	};
	VOID *pPrivateDriverData;   /* in/out, optional: per-allocation miniport data */
	UINT PrivateDriverDataSize; /* in */
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId; /* in: only for primaries */
	union {
		struct {
			UINT Primary : 1;
			UINT Stereo : 1;
			UINT OverridePriority : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	} Flags;                                  /* in */
	D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddress; /* out: GPU VA assigned at creation if any */
	union {
		UINT Priority;    /* in: initial eviction priority */
		ULONG_PTR Unused; /* pads Priority to 8 */
	};
	ULONG_PTR Reserved[5];
} D3DDDI_ALLOCATIONINFO2;

typedef struct _D3DDDI_OPENALLOCATIONINFO {
	D3DKMT_HANDLE hAllocation;
	CONST VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
} D3DDDI_OPENALLOCATIONINFO;

typedef struct _D3DDDI_OPENALLOCATIONINFO2 {
	D3DKMT_HANDLE hAllocation;      /* out: local allocation handle */
	CONST VOID *pPrivateDriverData; /* out: points into pTotalPrivateDriverDataBuffer */
	UINT PrivateDriverDataSize;     /* out: bytes of that slice */
	D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddress; /* out: GPU VA if assigned at open */
	ULONG_PTR Reserved[6];
} D3DDDI_OPENALLOCATIONINFO2;

typedef struct _D3DDDICB_DESTROYALLOCATION2FLAGS {
	union {
		struct {
			UINT AssumeNotInUse : 1;
			UINT SynchronousDestroy : 1; /* return only when the memory is free */
			UINT Reserved : 29;
			UINT SystemUseOnly : 1; /* never set by user mode */
		};
		UINT Value;
	};
} D3DDDICB_DESTROYALLOCATION2FLAGS;

typedef struct _D3DDDICB_LOCKFLAGS {
	union {
		struct {
			UINT ReadOnly : 1;   /* exclusive with WriteOnly */
			UINT WriteOnly : 1;  /* exclusive with ReadOnly */
			UINT DonotWait : 1;  /* fail instead of waiting while the GPU uses it */
			UINT IgnoreSync : 1; /* skip the busy check */
			UINT LockEntire : 1; /* whole allocation */
			UINT DonotEvict : 1;
			UINT AcquireAperture : 1; /* call DxgkDdiAcquireSwizzlingRange */
			UINT Discard : 1;         /* allow renaming */
			UINT NoExistingReference : 1;
			UINT UseAlternateVA : 1; /* lock at a different CPU VA/footprint */
			UINT IgnoreReadSync : 1; /* wait only for GPU writes */
			UINT Reserved : 21;
		};
		UINT Value;
	};
} D3DDDICB_LOCKFLAGS;

/*
 * D3DKMTLock2 has no options; the pointer it returns stays valid until unlock, wherever the
 * bytes move.
 */
typedef struct _D3DDDICB_LOCK2FLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} D3DDDICB_LOCK2FLAGS;

/* Five segments, best first; 0 ends the list. Direction 1 means: from the end of the segment. */
typedef struct _D3DDDI_SEGMENTPREFERENCE {
	union {
		struct {
			UINT SegmentId0 : 5;
			UINT Direction0 : 1;
			UINT SegmentId1 : 5;
			UINT Direction1 : 1;
			UINT SegmentId2 : 5;
			UINT Direction2 : 1;
			UINT SegmentId3 : 5;
			UINT Direction3 : 1;
			UINT SegmentId4 : 5;
			UINT Direction4 : 1;
			UINT Reserved : 2;
		};
		UINT Value;
	};
} D3DDDI_SEGMENTPREFERENCE;

typedef struct _D3DDDI_UPDATEALLOCPROPERTY_FLAGS {
	union {
		struct {
			UINT AccessedPhysically : 1;
			UINT Unmoveable : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DDDI_UPDATEALLOCPROPERTY_FLAGS;

typedef struct _D3DDDI_UPDATEALLOCPROPERTY {
	D3DKMT_HANDLE hPagingQueue;                /* in: paging queue that orders the operation */
	D3DKMT_HANDLE hAllocation;                 /* in */
	UINT SupportedSegmentSet;                  /* in: new set */
	D3DDDI_SEGMENTPREFERENCE PreferredSegment; /* in */
	D3DDDI_UPDATEALLOCPROPERTY_FLAGS Flags;    /* in */
	UINT64 PagingFenceValue;                   /* out */
	union {
		struct {
			UINT SetAccessedPhysically : 1;
			UINT SetSupportedSegmentSet : 1;
			UINT SetPreferredSegment : 1;
			UINT SetUnmoveable : 1;
			UINT Reserved : 28;
		};
		UINT PropertyMaskValue; /* in */
	};
} D3DDDI_UPDATEALLOCPROPERTY;

/* An allocation that a DMA buffer refers to. */
typedef struct _D3DDDI_ALLOCATIONLIST {
	D3DKMT_HANDLE hAllocation;
	union {
		struct {
			UINT WriteOperation : 1;
			UINT DoNotRetireInstance : 1;
			UINT OfferPriority : 3;
			UINT Reserved : 27;
		};
		UINT Value;
	};
} D3DDDI_ALLOCATIONLIST;

/* A place in a DMA buffer where the address of an allocation goes (physical addressing only). */
typedef struct _D3DDDI_PATCHLOCATIONLIST {
	UINT AllocationIndex;
	union {
		struct {
			UINT SlotId : 24;
			UINT Reserved : 8;
		};
		UINT Value;
	};
	UINT DriverId;
	UINT AllocationOffset;
	UINT PatchOffset;
	UINT SplitOffset;
} D3DDDI_PATCHLOCATIONLIST;

typedef struct _D3DDDI_GETRESOURCEPRESENTPRIVATEDRIVERDATA {
	D3DKMT_HANDLE hResource;
	UINT PrivateDriverDataSize;
	PVOID pPrivateDriverData;
} D3DDDI_GETRESOURCEPRESENTPRIVATEDRIVERDATA;

/*
 * ---- Residency, offers, paging queues --------------------------------------------------------
 */

typedef enum _D3DDDI_PAGINGQUEUE_PRIORITY {
	D3DDDI_PAGINGQUEUE_PRIORITY_BELOW_NORMAL = -1,
	D3DDDI_PAGINGQUEUE_PRIORITY_NORMAL = 0,
	D3DDDI_PAGINGQUEUE_PRIORITY_ABOVE_NORMAL = 1,
} D3DDDI_PAGINGQUEUE_PRIORITY;

typedef struct _D3DDDI_DESTROYPAGINGQUEUE {
	D3DKMT_HANDLE hPagingQueue; /* in */
} D3DDDI_DESTROYPAGINGQUEUE;

typedef struct _D3DDDI_MAKERESIDENT_FLAGS {
	union {
		struct {
			UINT CantTrimFurther : 1;
			UINT MustSucceed : 1; /* only valid together with CantTrimFurther */
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DDDI_MAKERESIDENT_FLAGS;

/* Answers STATUS_PENDING when the caller has to wait for PagingFenceValue on its paging queue. */
typedef struct _D3DDDI_MAKERESIDENT {
	D3DKMT_HANDLE hPagingQueue;          /* in: queue of the device that owns the allocations */
	UINT NumAllocations;                 /* in/out: how many; how many were made resident */
	CONST D3DKMT_HANDLE *AllocationList; /* in */
	CONST UINT *PriorityList;            /* in, optional: per-allocation residency priority */
	D3DDDI_MAKERESIDENT_FLAGS Flags;     /* in */
	UINT64 PagingFenceValue;             /* out: value to wait for when the call is pending */
	UINT64 NumBytesToTrim;               /* out: what to free first when memory is short */
} D3DDDI_MAKERESIDENT;

/* What to do to memory that loses its last residency reference. */
typedef struct _D3DDDI_EVICT_FLAGS {
	union {
		struct {
			UINT EvictOnlyIfNecessary : 1; /* may be reused soon */
			UINT NotWrittenTo : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DDDI_EVICT_FLAGS;

typedef struct _D3DDDI_TRIMRESIDENCYSET_FLAGS {
	union {
		struct {
			UINT PeriodicTrim : 1;
			UINT RestartPeriodicTrim : 1;
			UINT TrimToBudget : 1;
			UINT Reserved : 29;
		};
		UINT Value;
	};
} D3DDDI_TRIMRESIDENCYSET_FLAGS;

/*
 * What may go first when memory is short. D3DKMT_OFFER_PRIORITY is the same scale without NONE.
 */
typedef enum _D3DDDI_OFFER_PRIORITY {
	D3DDDI_OFFER_PRIORITY_NONE = 0,
	D3DDDI_OFFER_PRIORITY_LOW = 1,
	D3DDDI_OFFER_PRIORITY_NORMAL = 2,
	D3DDDI_OFFER_PRIORITY_HIGH = 3,
	D3DDDI_OFFER_PRIORITY_AUTO = 4,
} D3DDDI_OFFER_PRIORITY;

typedef struct _D3DDDI_OFFER_FLAGS {
	union {
		struct {
			UINT AllowDecommit : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DDDI_OFFER_FLAGS;

typedef enum _D3DDDI_RECLAIM_RESULT {
	D3DDDI_RECLAIM_RESULT_OK = 0,
	D3DDDI_RECLAIM_RESULT_DISCARDED = 1,
	D3DDDI_RECLAIM_RESULT_NOT_COMMITTED = 2,
} D3DDDI_RECLAIM_RESULT;

/*
 * ---- GPU virtual addresses -------------------------------------------------------------------
 */

/* Value is what travels; Zero and NoAccess need no allocation behind them. */
typedef struct _D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE {
	union {
		struct {
			UINT64 Write : 1;         /* read-write (read is always implied) */
			UINT64 Execute : 1;       /* executable */
			UINT64 Zero : 1;          /* zero state; hAllocation must be 0 */
			UINT64 NoAccess : 1;      /* invalid state; hAllocation must be 0 */
			UINT64 SystemUseOnly : 1; /* never from user mode */
			UINT64 Reserved : 59;
		};
		UINT64 Value;
	};
} D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE;

typedef enum _D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE {
	D3DDDIGPUVIRTUALADDRESS_RESERVE_NO_ACCESS = 0,
	D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO = 1,
	D3DDDIGPUVIRTUALADDRESS_RESERVE_NO_COMMIT = 2,
} D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE;

typedef struct _D3DDDI_RESERVEGPUVIRTUALADDRESS {
	union {
		D3DKMT_HANDLE hPagingQueue; /* in: queue ordering the operation */
		D3DKMT_HANDLE hAdapter;     /* in */
	};
	D3DGPU_VIRTUAL_ADDRESS BaseAddress;    /* in, optional: bytes, 64 KiB aligned */
	D3DGPU_VIRTUAL_ADDRESS MinimumAddress; /* in, optional: 64 KiB aligned; 0 = from 0 */
	D3DGPU_VIRTUAL_ADDRESS MaximumAddress; /* in, optional: 64 KiB aligned */
	D3DGPU_SIZE_T Size;                    /* in: bytes, multiple of 64 KiB */
	union {
		D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE ReservationType; /* in: initial state */
		UINT Reserved0;                                           /* in */
	};
	union {
		UINT64 DriverProtection; /* in */
		UINT64 Reserved1;        /* in */
	};
	D3DGPU_VIRTUAL_ADDRESS VirtualAddress; /* out: base of the reservation */
	union {
		UINT64 PagingFenceValue; /* out: value on the queue's fence; 0 = done */
		UINT64 Reserved2;        /* out */
	};
} D3DDDI_RESERVEGPUVIRTUALADDRESS;

/* Offsets and sizes are in 4 KiB pages; addresses are in bytes. */
typedef struct _D3DDDI_MAPGPUVIRTUALADDRESS {
	D3DKMT_HANDLE hPagingQueue; /* in: queue (and so the physical GPU whose tables change) */
	D3DGPU_VIRTUAL_ADDRESS BaseAddress;                 /* in, optional */
	D3DGPU_VIRTUAL_ADDRESS MinimumAddress;              /* in, optional */
	D3DGPU_VIRTUAL_ADDRESS MaximumAddress;              /* in, optional: 4 KiB aligned */
	D3DKMT_HANDLE hAllocation;                          /* in */
	D3DGPU_SIZE_T OffsetInPages;                        /* in */
	D3DGPU_SIZE_T SizeInPages;                          /* in */
	D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE Protection; /* in */
	UINT64 DriverProtection;                            /* in */
	UINT Reserved0;
	UINT64 Reserved1;
	D3DGPU_VIRTUAL_ADDRESS VirtualAddress; /* out: resulting base */
	UINT64 PagingFenceValue;               /* out: wait before GPU access; 0 = complete */
} D3DDDI_MAPGPUVIRTUALADDRESS;

typedef enum _D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE {
	D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP = 0,
	D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP = 1,
	D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY = 2,
	D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP_PROTECT = 3,
} D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE;

/* One step of D3DKMTUpdateGpuVirtualAddress. All in bytes. */
typedef struct _D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION {
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE OperationType; /* in */
	union {
		struct {
			D3DGPU_VIRTUAL_ADDRESS BaseAddress;    /* in: 4 KiB aligned VA */
			D3DGPU_SIZE_T SizeInBytes;             /* in: 4 KiB multiple */
			D3DKMT_HANDLE hAllocation;             /* in: tile pool allocation */
			D3DGPU_SIZE_T AllocationOffsetInBytes; /* in: 4 KiB aligned */
			D3DGPU_SIZE_T AllocationSizeInBytes;   /* in: 0 = SizeInBytes */
		} Map;
		struct {
			D3DGPU_VIRTUAL_ADDRESS BaseAddress;                 /* in */
			D3DGPU_SIZE_T SizeInBytes;                          /* in */
			D3DKMT_HANDLE hAllocation;                          /* in */
			D3DGPU_SIZE_T AllocationOffsetInBytes;              /* in */
			D3DGPU_SIZE_T AllocationSizeInBytes;                /* in */
			D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE Protection; /* in */
			UINT64 DriverProtection; /* in: driver protection */
		} MapProtect;
		struct {
			D3DGPU_VIRTUAL_ADDRESS BaseAddress;                 /* in: 4 KiB aligned */
			D3DGPU_SIZE_T SizeInBytes;                          /* in: 4 KiB multiple */
			D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE Protection; /* in */
		} Unmap;
		struct {
			D3DGPU_VIRTUAL_ADDRESS SourceAddress; /* in: 4 KiB aligned */
			D3DGPU_SIZE_T SizeInBytes;            /* in: 4 KiB multiple */
			D3DGPU_VIRTUAL_ADDRESS DestAddress;   /* in: 4 KiB aligned */
		} Copy;
	};
} D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION;

/*
 * ---- Contexts and hardware queues ------------------------------------------------------------
 */

typedef struct _D3DDDI_CREATECONTEXTFLAGS {
	union {
		struct {
			UINT NullRendering : 1;
			UINT InitialData : 1;
			UINT DisableGpuTimeout : 1;
			UINT SynchronizationOnly : 1;
			UINT HwQueueSupported : 1;
			UINT NoKmdAccess : 1;
			UINT Reserved : 26;
		};
		UINT Value;
	};
} D3DDDI_CREATECONTEXTFLAGS;

typedef struct _D3DDDI_CREATEHWCONTEXTFLAGS {
	union {
		struct {
			UINT Reserved : 32;
		};
		UINT Value;
	};
} D3DDDI_CREATEHWCONTEXTFLAGS;

typedef struct _D3DDDI_CREATEHWQUEUEFLAGS {
	union {
		struct {
			UINT DisableGpuTimeout : 1;
			UINT NoBroadcastSignal : 1;
			UINT NoBroadcastWait : 1;
			UINT NoKmdAccess : 1;
			UINT Reserved : 28;
		};
		UINT Value;
	};
} D3DDDI_CREATEHWQUEUEFLAGS;

/*
 * ---- Synchronization objects -----------------------------------------------------------------
 */

typedef enum _D3DDDI_SYNCHRONIZATIONOBJECT_TYPE {
	D3DDDI_SYNCHRONIZATION_MUTEX = 1,
	D3DDDI_SEMAPHORE = 2,
	D3DDDI_FENCE = 3,
	D3DDDI_CPU_NOTIFICATION = 4,
	D3DDDI_MONITORED_FENCE = 5,
	D3DDDI_PERIODIC_MONITORED_FENCE = 6,
	D3DDDI_SYNCHRONIZATION_TYPE_LIMIT = 7,
} D3DDDI_SYNCHRONIZATIONOBJECT_TYPE;

/* For D3DKMTCreateSynchronizationObject, which knows mutexes and semaphores only. */
typedef struct _D3DDDI_SYNCHRONIZATIONOBJECTINFO {
	D3DDDI_SYNCHRONIZATIONOBJECT_TYPE Type;
	union {
		struct {
			BOOL InitialState;
		} SynchronizationMutex;
		struct {
			UINT MaxCount;
			UINT InitialCount;
		} Semaphore;
		struct {
			UINT Reserved[16];
		} Reserved;
	};
} D3DDDI_SYNCHRONIZATIONOBJECTINFO;

typedef struct _D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS {
	union {
		struct {
			UINT Shared : 1; /* shareable */
			UINT NtSecuritySharing : 1;
			UINT CrossAdapter : 1;
			UINT TopOfPipeline : 1;
			UINT NoSignal : 1; /* monitored only: this device may only wait */
			UINT NoWait : 1;   /* monitored only: this device may only signal */
			UINT NoSignalMaxValueOnTdr : 1;
			UINT NoGPUAccess : 1;
			UINT SignalByKmd : 1;
			UINT Reserved : 22;
			UINT Reserved0 : 1;
		};
		UINT Value;
	};
} D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS;

/* The member of the union is chosen by Type. */
typedef struct _D3DDDI_SYNCHRONIZATIONOBJECTINFO2 {
	D3DDDI_SYNCHRONIZATIONOBJECT_TYPE Type;   /* in */
	D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS Flags; /* in */
	union {
		struct {
			BOOL InitialState; /* in: TRUE = initially owned */
		} SynchronizationMutex;
		struct {
			UINT MaxCount;     /* in: maximum count */
			UINT InitialCount; /* in: initial count */
		} Semaphore;
		struct {
			UINT64 FenceValue; /* in: initial value of a packet fence */
		} Fence;
		struct {
			HANDLE Event; /* in: event handle */
		} CPUNotification;
		struct {
			UINT64 InitialFenceValue;                           /* in: initial value */
			VOID *FenceValueCPUVirtualAddress;                  /* out */
			D3DGPU_VIRTUAL_ADDRESS FenceValueGPUVirtualAddress; /* out */
			UINT EngineAffinity;                                /* in */
			UINT Padding;
		} MonitoredFence;
		struct {
			D3DKMT_HANDLE hAdapter; /* in: adapter of the target */
			D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId; /* in */
			UINT64 Time;                                  /* in: offset before vsync */
			VOID *FenceValueCPUVirtualAddress;            /* out */
			D3DGPU_VIRTUAL_ADDRESS FenceValueGPUVirtualAddress; /* out */
			UINT EngineAffinity;                                /* in */
			UINT Padding;
		} PeriodicMonitoredFence;
		struct {
			UINT64 Reserved[8];
		} Reserved;
	};
	D3DKMT_HANDLE SharedHandle; /* out */
} D3DDDI_SYNCHRONIZATIONOBJECTINFO2;

typedef struct _D3DDDICB_SIGNALFLAGS {
	union {
		struct {
			UINT SignalAtSubmission : 1;
			UINT EnqueueCpuEvent : 1;
			UINT AllowFenceRewind : 1; /* WDDM 2.0: permit moving a fence backwards */
			UINT Reserved : 28;
			UINT DXGK_SIGNAL_FLAG_INTERNAL0 : 1;
		};
		UINT Value;
	};
} D3DDDICB_SIGNALFLAGS;

typedef struct _D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS {
	union {
		struct {
			UINT WaitAny : 1;
			UINT Reserved : 31;
		};
		UINT Value;
	};
} D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS;

/*
 * ---- Registry queries ------------------------------------------------------------------------
 */

typedef enum _D3DDDI_QUERYREGISTRY_TYPE {
	D3DDDI_QUERYREGISTRY_SERVICEKEY = 0,
	D3DDDI_QUERYREGISTRY_ADAPTERKEY = 1,
	D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH = 2,
	D3DDDI_QUERYREGISTRY_DRIVERIMAGEPATH = 3,
	D3DDDI_QUERYREGISTRY_MAX = 4,
} D3DDDI_QUERYREGISTRY_TYPE;

typedef enum _D3DDDI_QUERYREGISTRY_STATUS {
	D3DDDI_QUERYREGISTRY_STATUS_SUCCESS = 0,
	D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW = 1,
	D3DDDI_QUERYREGISTRY_STATUS_FAIL = 2,
	D3DDDI_QUERYREGISTRY_STATUS_MAX = 3,
} D3DDDI_QUERYREGISTRY_STATUS;

typedef struct _D3DDDI_QUERYREGISTRY_FLAGS {
	union {
		struct {
			UINT TranslatePath : 1;
			UINT MutableValue : 1;
			UINT Reserved : 30;
		};
		UINT Value;
	};
} D3DDDI_QUERYREGISTRY_FLAGS;

/*
 * The answer starts in the last union and may run on behind the struct: ask with a larger
 * buffer.
 */
typedef struct _D3DDDI_QUERYREGISTRY_INFO {
	D3DDDI_QUERYREGISTRY_TYPE QueryType;   /* in */
	D3DDDI_QUERYREGISTRY_FLAGS QueryFlags; /* in */
	WCHAR ValueName[MAX_PATH];             /* in */
	ULONG ValueType;                       /* in: registry type expected */
	ULONG PhysicalAdapterIndex;            /* in: LDA index */
	ULONG OutputValueSize;                 /* out: bytes written, or required on overflow */
	D3DDDI_QUERYREGISTRY_STATUS Status;    /* out: 0 success, 1 buffer overflow, 2 fail */
	union {
		DWORD OutputDword;     /* out: start of the variable-size result */
		UINT64 OutputQword;    /* out */
		WCHAR OutputString[1]; /* out */
		BYTE OutputBinary[1];  /* out */
	};
} D3DDDI_QUERYREGISTRY_INFO;

/*
 * ---- Escapes ---------------------------------------------------------------------------------
 */

typedef struct _D3DDDI_ESCAPEFLAGS {
	union {
		struct {
			UINT HardwareAccess : 1;
			UINT DeviceStatusQuery : 1;
			UINT ChangeFrameLatency : 1; /* WDDM 1.3: handled by the runtime */
			UINT NoAdapterSynchronization : 1;
			UINT Reserved : 1; /* internal (DisplayOnly present) */
			UINT VirtualMachineData : 1;
			UINT DriverKnownEscape : 1;
			UINT DriverCommonEscape : 1; /* WDDM 2.5: runtime-defined data */
			UINT Reserved2 : 24;
		};
		UINT Value;
	};
} D3DDDI_ESCAPEFLAGS;

typedef enum _D3DDDI_DRIVERESCAPETYPE {
	D3DDDI_DRIVERESCAPETYPE_TRANSLATEALLOCATIONHANDLE = 0,
	D3DDDI_DRIVERESCAPETYPE_TRANSLATERESOURCEHANDLE = 1,
	D3DDDI_DRIVERESCAPETYPE_CPUEVENTUSAGE = 2,
	D3DDDI_DRIVERESCAPETYPE_MAX = 3,
} D3DDDI_DRIVERESCAPETYPE;

typedef struct _D3DDDI_DRIVERESCAPE_TRANSLATEALLOCATIONEHANDLE {
	D3DDDI_DRIVERESCAPETYPE EscapeType;
	D3DKMT_HANDLE hAllocation;
} D3DDDI_DRIVERESCAPE_TRANSLATEALLOCATIONEHANDLE;

typedef struct _D3DDDI_DRIVERESCAPE_TRANSLATERESOURCEHANDLE {
	D3DDDI_DRIVERESCAPETYPE EscapeType;
	D3DKMT_HANDLE hResource;
} D3DDDI_DRIVERESCAPE_TRANSLATERESOURCEHANDLE;

typedef struct _D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE {
	D3DDDI_DRIVERESCAPETYPE EscapeType;
	D3DKMT_HANDLE hSyncObject;
	UINT64 hKmdCpuEvent;
	UINT Usage[8];
} D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE;

/* Names the virtual function a driver escape is meant for. */
typedef struct _GPUP_DRIVER_ESCAPE_INPUT {
	LUID vfLUID;
} GPUP_DRIVER_ESCAPE_INPUT, *PGPUP_DRIVER_ESCAPE_INPUT;

typedef enum _DXGKVGPU_ESCAPE_TYPE {
	DXGKVGPU_ESCAPE_TYPE_READ_PCI_CONFIG = 0,
	DXGKVGPU_ESCAPE_TYPE_WRITE_PCI_CONFIG = 1,
	DXGKVGPU_ESCAPE_TYPE_INITIALIZE = 2,
	DXGKVGPU_ESCAPE_TYPE_RELEASE = 3,
	DXGKVGPU_ESCAPE_TYPE_GET_VGPU_TYPE = 4,
	DXGKVGPU_ESCAPE_TYPE_POWERTRANSITIONCOMPLETE = 5,
} DXGKVGPU_ESCAPE_TYPE;

typedef struct _DXGKVGPU_ESCAPE_HEAD {
	GPUP_DRIVER_ESCAPE_INPUT Luid;
	DXGKVGPU_ESCAPE_TYPE Type;
} DXGKVGPU_ESCAPE_HEAD;

typedef struct _DXGKVGPU_ESCAPE_READ_PCI_CONFIG {
	DXGKVGPU_ESCAPE_HEAD Header;
	UINT Offset;
	UINT Size;
} DXGKVGPU_ESCAPE_READ_PCI_CONFIG;

typedef struct _DXGKVGPU_ESCAPE_WRITE_PCI_CONFIG {
	DXGKVGPU_ESCAPE_HEAD Header;
	UINT Offset;
	UINT Size;
} DXGKVGPU_ESCAPE_WRITE_PCI_CONFIG;

typedef struct _DXGKVGPU_ESCAPE_READ_VGPU_TYPE {
	DXGKVGPU_ESCAPE_HEAD Header;
} DXGKVGPU_ESCAPE_READ_VGPU_TYPE;

typedef struct _DXGKVGPU_ESCAPE_POWERTRANSITIONCOMPLETE {
	DXGKVGPU_ESCAPE_HEAD Header;
	UINT PowerState;
} DXGKVGPU_ESCAPE_POWERTRANSITIONCOMPLETE;

typedef struct _DXGKVGPU_ESCAPE_INITIALIZE {
	DXGKVGPU_ESCAPE_HEAD Header;
	GUID VmGuid;
} DXGKVGPU_ESCAPE_INITIALIZE;

typedef struct _DXGKVGPU_ESCAPE_RELEASE {
	DXGKVGPU_ESCAPE_HEAD Header;
} DXGKVGPU_ESCAPE_RELEASE;

/*
 * ---- Pixel formats and colour ----------------------------------------------------------------
 */

#ifndef MAKEFOURCC
#define MAKEFOURCC(a, b, c, d)                                                                     \
	((UINT)(BYTE)(a) | ((UINT)(BYTE)(b) << 8) | ((UINT)(BYTE)(c) << 16) |                      \
	 ((UINT)(BYTE)(d) << 24))
#endif

/* Numbers of Direct3D 9, or four characters. */
typedef enum _D3DDDIFORMAT {
	D3DDDIFMT_UNKNOWN = 0,
	D3DDDIFMT_R8G8B8 = 20,
	D3DDDIFMT_A8R8G8B8 = 21,
	D3DDDIFMT_X8R8G8B8 = 22,
	D3DDDIFMT_R5G6B5 = 23,
	D3DDDIFMT_X1R5G5B5 = 24,
	D3DDDIFMT_A1R5G5B5 = 25,
	D3DDDIFMT_A4R4G4B4 = 26,
	D3DDDIFMT_R3G3B2 = 27,
	D3DDDIFMT_A8 = 28,
	D3DDDIFMT_A8R3G3B2 = 29,
	D3DDDIFMT_X4R4G4B4 = 30,
	D3DDDIFMT_A2B10G10R10 = 31,
	D3DDDIFMT_A8B8G8R8 = 32,
	D3DDDIFMT_X8B8G8R8 = 33,
	D3DDDIFMT_G16R16 = 34,
	D3DDDIFMT_A2R10G10B10 = 35,
	D3DDDIFMT_A16B16G16R16 = 36,
	D3DDDIFMT_A8P8 = 40,
	D3DDDIFMT_P8 = 41,
	D3DDDIFMT_L8 = 50,
	D3DDDIFMT_A8L8 = 51,
	D3DDDIFMT_A4L4 = 52,
	D3DDDIFMT_V8U8 = 60,
	D3DDDIFMT_L6V5U5 = 61,
	D3DDDIFMT_X8L8V8U8 = 62,
	D3DDDIFMT_Q8W8V8U8 = 63,
	D3DDDIFMT_V16U16 = 64,
	D3DDDIFMT_W11V11U10 = 65,
	D3DDDIFMT_A2W10V10U10 = 67,
	D3DDDIFMT_UYVY = MAKEFOURCC('U', 'Y', 'V', 'Y'),
	D3DDDIFMT_R8G8_B8G8 = MAKEFOURCC('R', 'G', 'B', 'G'),
	D3DDDIFMT_YUY2 = MAKEFOURCC('Y', 'U', 'Y', '2'),
	D3DDDIFMT_G8R8_G8B8 = MAKEFOURCC('G', 'R', 'G', 'B'),
	D3DDDIFMT_DXT1 = MAKEFOURCC('D', 'X', 'T', '1'),
	D3DDDIFMT_DXT2 = MAKEFOURCC('D', 'X', 'T', '2'),
	D3DDDIFMT_DXT3 = MAKEFOURCC('D', 'X', 'T', '3'),
	D3DDDIFMT_DXT4 = MAKEFOURCC('D', 'X', 'T', '4'),
	D3DDDIFMT_DXT5 = MAKEFOURCC('D', 'X', 'T', '5'),
	D3DDDIFMT_D16_LOCKABLE = 70,
	D3DDDIFMT_D32 = 71,
	D3DDDIFMT_D15S1 = 73,
	D3DDDIFMT_D24S8 = 75,
	D3DDDIFMT_D24X8 = 77,
	D3DDDIFMT_D24X4S4 = 79,
	D3DDDIFMT_D16 = 80,
	D3DDDIFMT_D32F_LOCKABLE = 82,
	D3DDDIFMT_D24FS8 = 83,
	D3DDDIFMT_D32_LOCKABLE = 84,
	D3DDDIFMT_S8_LOCKABLE = 85,
	D3DDDIFMT_S1D15 = 72,
	D3DDDIFMT_S8D24 = 74,
	D3DDDIFMT_X8D24 = 76,
	D3DDDIFMT_X4S4D24 = 78,
	D3DDDIFMT_L16 = 81,
	D3DDDIFMT_G8R8 = 91,
	D3DDDIFMT_R8 = 92,
	D3DDDIFMT_VERTEXDATA = 100,
	D3DDDIFMT_INDEX16 = 101,
	D3DDDIFMT_INDEX32 = 102,
	D3DDDIFMT_Q16W16V16U16 = 110,
	D3DDDIFMT_MULTI2_ARGB8 = MAKEFOURCC('M', 'E', 'T', '1'),
	D3DDDIFMT_R16F = 111,
	D3DDDIFMT_G16R16F = 112,
	D3DDDIFMT_A16B16G16R16F = 113,
	D3DDDIFMT_R32F = 114,
	D3DDDIFMT_G32R32F = 115,
	D3DDDIFMT_A32B32G32R32F = 116,
	D3DDDIFMT_CxV8U8 = 117,
	D3DDDIFMT_A1 = 118,
	D3DDDIFMT_A2B10G10R10_XR_BIAS = 119,
	D3DDDIFMT_DXVACOMPBUFFER_BASE = 150,
	D3DDDIFMT_PICTUREPARAMSDATA = 150,
	D3DDDIFMT_MACROBLOCKDATA = 151,
	D3DDDIFMT_RESIDUALDIFFERENCEDATA = 152,
	D3DDDIFMT_DEBLOCKINGDATA = 153,
	D3DDDIFMT_INVERSEQUANTIZATIONDATA = 154,
	D3DDDIFMT_SLICECONTROLDATA = 155,
	D3DDDIFMT_BITSTREAMDATA = 156,
	D3DDDIFMT_MOTIONVECTORBUFFER = 157,
	D3DDDIFMT_FILMGRAINBUFFER = 158,
	D3DDDIFMT_DXVA_RESERVED9 = 159,
	D3DDDIFMT_DXVA_RESERVED10 = 160,
	D3DDDIFMT_DXVA_RESERVED11 = 161,
	D3DDDIFMT_DXVA_RESERVED12 = 162,
	D3DDDIFMT_DXVA_RESERVED13 = 163,
	D3DDDIFMT_DXVA_RESERVED14 = 164,
	D3DDDIFMT_DXVA_RESERVED15 = 165,
	D3DDDIFMT_DXVA_RESERVED16 = 166,
	D3DDDIFMT_DXVA_RESERVED17 = 167,
	D3DDDIFMT_DXVA_RESERVED18 = 168,
	D3DDDIFMT_DXVA_RESERVED19 = 169,
	D3DDDIFMT_DXVA_RESERVED20 = 170,
	D3DDDIFMT_DXVA_RESERVED21 = 171,
	D3DDDIFMT_DXVA_RESERVED22 = 172,
	D3DDDIFMT_DXVA_RESERVED23 = 173,
	D3DDDIFMT_DXVA_RESERVED24 = 174,
	D3DDDIFMT_DXVA_RESERVED25 = 175,
	D3DDDIFMT_DXVA_RESERVED26 = 176,
	D3DDDIFMT_DXVA_RESERVED27 = 177,
	D3DDDIFMT_DXVA_RESERVED28 = 178,
	D3DDDIFMT_DXVA_RESERVED29 = 179,
	D3DDDIFMT_DXVA_RESERVED30 = 180,
	D3DDDIFMT_DXVA_RESERVED31 = 181,
	D3DDDIFMT_DXVACOMPBUFFER_MAX = 181,
	D3DDDIFMT_BINARYBUFFER = 199,
	D3DDDIFMT_FORCE_UINT = 0x7fffffff,
} D3DDDIFORMAT;

__extension__ typedef enum _D3DDDI_COLOR_SPACE_TYPE {
	D3DDDI_COLOR_SPACE_RGB_FULL_G22_NONE_P709 = 0,
	D3DDDI_COLOR_SPACE_RGB_FULL_G10_NONE_P709 = 1,
	D3DDDI_COLOR_SPACE_RGB_STUDIO_G22_NONE_P709 = 2,
	D3DDDI_COLOR_SPACE_RGB_STUDIO_G22_NONE_P2020 = 3,
	D3DDDI_COLOR_SPACE_RESERVED = 4,
	D3DDDI_COLOR_SPACE_YCBCR_FULL_G22_NONE_P709_X601 = 5,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G22_LEFT_P601 = 6,
	D3DDDI_COLOR_SPACE_YCBCR_FULL_G22_LEFT_P601 = 7,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G22_LEFT_P709 = 8,
	D3DDDI_COLOR_SPACE_YCBCR_FULL_G22_LEFT_P709 = 9,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G22_LEFT_P2020 = 10,
	D3DDDI_COLOR_SPACE_YCBCR_FULL_G22_LEFT_P2020 = 11,
	D3DDDI_COLOR_SPACE_RGB_FULL_G2084_NONE_P2020 = 12,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G2084_LEFT_P2020 = 13,
	D3DDDI_COLOR_SPACE_RGB_STUDIO_G2084_NONE_P2020 = 14,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G22_TOPLEFT_P2020 = 15,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G2084_TOPLEFT_P2020 = 16,
	D3DDDI_COLOR_SPACE_RGB_FULL_G22_NONE_P2020 = 17,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_GHLG_TOPLEFT_P2020 = 18,
	D3DDDI_COLOR_SPACE_YCBCR_FULL_GHLG_TOPLEFT_P2020 = 19,
	D3DDDI_COLOR_SPACE_RGB_STUDIO_G24_NONE_P709 = 20,
	D3DDDI_COLOR_SPACE_RGB_STUDIO_G24_NONE_P2020 = 21,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G24_LEFT_P709 = 22,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G24_LEFT_P2020 = 23,
	D3DDDI_COLOR_SPACE_YCBCR_STUDIO_G24_TOPLEFT_P2020 = 24,
	D3DDDI_COLOR_SPACE_CUSTOM = 0xffffffffu,
} D3DDDI_COLOR_SPACE_TYPE;

typedef enum _D3DDDI_OUTPUT_WIRE_COLOR_SPACE_TYPE {
	D3DDDI_OUTPUT_WIRE_COLOR_SPACE_G22_P709 = 0,
	D3DDDI_OUTPUT_WIRE_COLOR_SPACE_RESERVED = 4,
	D3DDDI_OUTPUT_WIRE_COLOR_SPACE_G2084_P2020 = 12,
	D3DDDI_OUTPUT_WIRE_COLOR_SPACE_G22_P709_WCG = 30,
	D3DDDI_OUTPUT_WIRE_COLOR_SPACE_G22_P2020 = 31,
	D3DDDI_OUTPUT_WIRE_COLOR_SPACE_G2084_P2020_HDR10PLUS = 32,
	D3DDDI_OUTPUT_WIRE_COLOR_SPACE_G2084_P2020_DVLL = 33,
} D3DDDI_OUTPUT_WIRE_COLOR_SPACE_TYPE;

typedef enum _D3DDDI_GAMMARAMP_TYPE {
	D3DDDI_GAMMARAMP_UNINITIALIZED = 0,
	D3DDDI_GAMMARAMP_DEFAULT = 1,
	D3DDDI_GAMMARAMP_RGB256x3x16 = 2,
	D3DDDI_GAMMARAMP_DXGI_1 = 3,
	D3DDDI_GAMMARAMP_MATRIX_3x4 = 4,
	D3DDDI_GAMMARAMP_MATRIX_V2 = 5,
} D3DDDI_GAMMARAMP_TYPE;

typedef struct _D3DDDI_GAMMA_RAMP_RGB256x3x16 {
	USHORT Red[256];
	USHORT Green[256];
	USHORT Blue[256];
} D3DDDI_GAMMA_RAMP_RGB256x3x16;

typedef struct _D3DDDI_DXGI_RGB {
	FLOAT Red;
	FLOAT Green;
	FLOAT Blue;
} D3DDDI_DXGI_RGB;

typedef struct _D3DDDI_GAMMA_RAMP_DXGI_1 {
	D3DDDI_DXGI_RGB Scale;
	D3DDDI_DXGI_RGB Offset;
	D3DDDI_DXGI_RGB GammaCurve[1025];
} D3DDDI_GAMMA_RAMP_DXGI_1;

typedef struct _D3DKMDT_3X4_COLORSPACE_TRANSFORM {
	FLOAT ColorMatrix3x4[3][4];
	FLOAT ScalarMultiplier;
	D3DDDI_DXGI_RGB LookupTable1D[4096];
} D3DKMDT_3x4_COLORSPACE_TRANSFORM, *PD3DDDI_3x4_COLORSPACE_TRANSFORM;

typedef enum _D3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL {
	D3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL_NO_CHANGE = 0,
	D3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL_ENABLE = 1,
	D3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL_BYPASS = 2,
} D3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL,
	*PD3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL;

typedef struct _D3DKMDT_COLORSPACE_TRANSFORM_MATRIX_V2 {
	D3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL StageControlLookupTable1DDegamma;
	D3DDDI_DXGI_RGB LookupTable1DDegamma[4096];
	D3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL StageControlColorMatrix3x3;
	FLOAT ColorMatrix3x3[3][3];
	D3DKMDT_COLORSPACE_TRANSFORM_STAGE_CONTROL StageControlLookupTable1DRegamma;
	D3DDDI_DXGI_RGB LookupTable1DRegamma[4096];
} D3DKMDT_COLORSPACE_TRANSFORM_MATRIX_V2, *PD3DKMDT_COLORSPACE_TRANSFORM_MATRIX_V2;

typedef enum _D3DDDI_HDR_METADATA_TYPE {
	D3DDDI_HDR_METADATA_TYPE_NONE = 0,
	D3DDDI_HDR_METADATA_TYPE_HDR10 = 1,
	D3DDDI_HDR_METADATA_TYPE_HDR10PLUS = 2,
} D3DDDI_HDR_METADATA_TYPE;

typedef struct _D3DDDI_HDR_METADATA_HDR10 {
	UINT16 RedPrimary[2];
	UINT16 GreenPrimary[2];
	UINT16 BluePrimary[2];
	UINT16 WhitePoint[2];
	UINT MaxMasteringLuminance;
	UINT MinMasteringLuminance;
	UINT16 MaxContentLightLevel;
	UINT16 MaxFrameAverageLightLevel;
} D3DDDI_HDR_METADATA_HDR10;

typedef struct _D3DDDI_HDR_METADATA_HDR10PLUS {
	BYTE Data[72];
} D3DDDI_HDR_METADATA_HDR10PLUS;

/*
 * ---- Surfaces and display --------------------------------------------------------------------
 */

typedef enum _D3DDDI_POOL {
	D3DDDIPOOL_SYSTEMMEM = 1,
	D3DDDIPOOL_VIDEOMEMORY = 2,
	D3DDDIPOOL_LOCALVIDMEM = 3,
	D3DDDIPOOL_NONLOCALVIDMEM = 4,
	D3DDDIPOOL_STAGINGMEM = 5,
} D3DDDI_POOL;

typedef enum _D3DDDIMULTISAMPLE_TYPE {
	D3DDDIMULTISAMPLE_NONE = 0,
	D3DDDIMULTISAMPLE_NONMASKABLE = 1,
	D3DDDIMULTISAMPLE_2_SAMPLES = 2,
	D3DDDIMULTISAMPLE_3_SAMPLES = 3,
	D3DDDIMULTISAMPLE_4_SAMPLES = 4,
	D3DDDIMULTISAMPLE_5_SAMPLES = 5,
	D3DDDIMULTISAMPLE_6_SAMPLES = 6,
	D3DDDIMULTISAMPLE_7_SAMPLES = 7,
	D3DDDIMULTISAMPLE_8_SAMPLES = 8,
	D3DDDIMULTISAMPLE_9_SAMPLES = 9,
	D3DDDIMULTISAMPLE_10_SAMPLES = 10,
	D3DDDIMULTISAMPLE_11_SAMPLES = 11,
	D3DDDIMULTISAMPLE_12_SAMPLES = 12,
	D3DDDIMULTISAMPLE_13_SAMPLES = 13,
	D3DDDIMULTISAMPLE_14_SAMPLES = 14,
	D3DDDIMULTISAMPLE_15_SAMPLES = 15,
	D3DDDIMULTISAMPLE_16_SAMPLES = 16,
	D3DDDIMULTISAMPLE_FORCE_UINT = 0x7fffffff,
} D3DDDIMULTISAMPLE_TYPE;

typedef struct _D3DDDI_MULTISAMPLINGMETHOD {
	UINT NumSamples;
	UINT NumQualityLevels;
} D3DDDI_MULTISAMPLINGMETHOD;

typedef enum _D3DDDI_ROTATION {
	D3DDDI_ROTATION_IDENTITY = 1,
	D3DDDI_ROTATION_90 = 2,
	D3DDDI_ROTATION_180 = 3,
	D3DDDI_ROTATION_270 = 4,
} D3DDDI_ROTATION;

typedef enum _D3DDDI_SCANLINEORDERING {
	D3DDDI_SCANLINEORDERING_UNKNOWN = 0,
	D3DDDI_SCANLINEORDERING_PROGRESSIVE = 1,
	D3DDDI_SCANLINEORDERING_INTERLACED = 2,
} D3DDDI_SCANLINEORDERING;

typedef enum _D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING {
	D3DDDI_VSSLO_UNINITIALIZED = 0,
	D3DDDI_VSSLO_PROGRESSIVE = 1,
	D3DDDI_VSSLO_INTERLACED_UPPERFIELDFIRST = 2,
	D3DDDI_VSSLO_INTERLACED_LOWERFIELDFIRST = 3,
	D3DDDI_VSSLO_OTHER = 255,
} D3DDDI_VIDEO_SIGNAL_SCANLINE_ORDERING;

typedef enum _D3DDDI_FLIPINTERVAL_TYPE {
	D3DDDI_FLIPINTERVAL_IMMEDIATE = 0,
	D3DDDI_FLIPINTERVAL_ONE = 1,
	D3DDDI_FLIPINTERVAL_TWO = 2,
	D3DDDI_FLIPINTERVAL_THREE = 3,
	D3DDDI_FLIPINTERVAL_FOUR = 4,
	D3DDDI_FLIPINTERVAL_IMMEDIATE_ALLOW_TEARING = 5,
} D3DDDI_FLIPINTERVAL_TYPE;

typedef struct _D3DDDI_KERNELOVERLAYINFO {
	D3DKMT_HANDLE hAllocation;
	D3DDDIRECT DstRect;
	D3DDDIRECT SrcRect;
	VOID *pPrivateDriverData;
	UINT PrivateDriverDataSize;
} D3DDDI_KERNELOVERLAYINFO;

typedef struct _D3DDDI_SURFACEINFO {
	UINT Width;
	UINT Height;
	UINT Depth;
	CONST VOID *pSysMem;
	UINT SysMemPitch;
	UINT SysMemSlicePitch;
} D3DDDI_SURFACEINFO;

typedef struct _D3DDDI_RESOURCEFLAGS {
	union {
		struct {
			UINT RenderTarget : 1;
			UINT ZBuffer : 1;
			UINT Dynamic : 1;
			UINT HintStatic : 1;
			UINT AutogenMipmap : 1;
			UINT DMap : 1;
			UINT WriteOnly : 1;
			UINT NotLockable : 1;
			UINT Points : 1;
			UINT RtPatches : 1;
			UINT NPatches : 1;
			UINT SharedResource : 1;
			UINT DiscardRenderTarget : 1;
			UINT Video : 1;
			UINT CaptureBuffer : 1;
			UINT Primary : 1;
			UINT Texture : 1;
			UINT CubeMap : 1;
			UINT Volume : 1;
			UINT VertexBuffer : 1;
			UINT IndexBuffer : 1;
			UINT DecodeRenderTarget : 1;
			UINT DecodeCompressedBuffer : 1;
			UINT VideoProcessRenderTarget : 1;
			UINT CpuOptimized : 1;
			UINT MightDrawFromLocked : 1;
			UINT Overlay : 1;
			UINT MatchGdiPrimary : 1;
			UINT InterlacedRefresh : 1;
			UINT TextApi : 1;
			UINT RestrictedContent : 1;
			UINT RestrictSharedAccess : 1;
		};
		UINT Value;
	};
} D3DDDI_RESOURCEFLAGS;

typedef struct _D3DDDIARG_CREATERESOURCE {
	D3DDDIFORMAT Format;
	D3DDDI_POOL Pool;
	D3DDDIMULTISAMPLE_TYPE MultisampleType;
	UINT MultisampleQuality;
	CONST D3DDDI_SURFACEINFO *pSurfList;
	UINT SurfCount;
	UINT MipLevels;
	UINT Fvf;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DDDI_RATIONAL RefreshRate;
	HANDLE hResource;
	D3DDDI_RESOURCEFLAGS Flags;
	D3DDDI_ROTATION Rotation;
} D3DDDIARG_CREATERESOURCE;

typedef struct _D3DDDI_RESOURCEFLAGS2 {
	union {
		struct {
			UINT VideoEncoder : 1;
			UINT UserMemory : 1;
			UINT CrossAdapter : 1;
			UINT IsDisplayable : 1;
			UINT Reserved : 28;
		};
		UINT Value;
	};
} D3DDDI_RESOURCEFLAGS2;

typedef struct _D3DDDIARG_CREATERESOURCE2 {
	D3DDDIFORMAT Format;
	D3DDDI_POOL Pool;
	D3DDDIMULTISAMPLE_TYPE MultisampleType;
	UINT MultisampleQuality;
	CONST D3DDDI_SURFACEINFO *pSurfList;
	UINT SurfCount;
	UINT MipLevels;
	UINT Fvf;
	D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
	D3DDDI_RATIONAL RefreshRate;
	HANDLE hResource;
	D3DDDI_RESOURCEFLAGS Flags;
	D3DDDI_ROTATION Rotation;
	D3DDDI_RESOURCEFLAGS2 Flags2;
} D3DDDIARG_CREATERESOURCE2;

typedef struct _DXGK_MIRACAST_CHUNK_ID {
	union {
		struct {
			UINT64 FrameNumber : 40;
			UINT64 PartNumber : 24;
		};
		UINT64 Value;
	};
} DXGK_MIRACAST_CHUNK_ID;

__extension__ typedef enum _DXGK_MIRACAST_CHUNK_TYPE {
	DXGK_MIRACAST_CHUNK_TYPE_UNKNOWN = 0,
	DXGK_MIRACAST_CHUNK_TYPE_COLOR_CONVERT_COMPLETE = 1,
	DXGK_MIRACAST_CHUNK_TYPE_ENCODE_COMPLETE = 2,
	DXGK_MIRACAST_CHUNK_TYPE_FRAME_START = 3,
	DXGK_MIRACAST_CHUNK_TYPE_FRAME_DROPPED = 4,
	DXGK_MIRACAST_CHUNK_TYPE_ENCODE_DRIVER_DEFINED_1 = 0x80000000u,
	DXGK_MIRACAST_CHUNK_TYPE_ENCODE_DRIVER_DEFINED_2 = 0x80000001u,
} DXGK_MIRACAST_CHUNK_TYPE;

typedef struct _DXGK_MIRACAST_CHUNK_INFO {
	DXGK_MIRACAST_CHUNK_TYPE ChunkType;
	DXGK_MIRACAST_CHUNK_ID ChunkId;
	UINT ProcessingTime;
	UINT EncodeRate;
} DXGK_MIRACAST_CHUNK_INFO;
#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && defined(__clang__)
#pragma clang diagnostic pop
#elif defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

#endif /* _D3DUKMDT_H_ */
