/* SPDX-License-Identifier: MIT */
/*
 * wdm_ex.h - the Ex routines: pool, lookaside lists, interlocked operations and lists, executive
 * locks, work items, callbacks and raising of statuses.
 *
 * Interlocked operations are compiler builtins here, full barriers as on Windows; everything that
 * has state is a host routine.
 *
 * Part of wdm.h; not included by itself.
 */
#ifndef OPENDXGK_DDK_WDM_EX_H
#define OPENDXGK_DDK_WDM_EX_H

#include "wdm_ke.h"

OPENDXGK_EXTERN_C_BEGIN

/* Pool. NonPagedPoolExecute (0, the old NonPagedPool) is executable memory, as some drivers need.
 */

typedef enum _POOL_TYPE {
	NonPagedPool,
	NonPagedPoolExecute = NonPagedPool,
	PagedPool,
	NonPagedPoolMustSucceed = NonPagedPool + 2,
	DontUseThisType,
	NonPagedPoolCacheAligned = NonPagedPool + 4,
	PagedPoolCacheAligned,
	NonPagedPoolCacheAlignedMustS = NonPagedPool + 6,
	MaxPoolType,
	NonPagedPoolBase = 0,
	NonPagedPoolBaseMustSucceed = NonPagedPoolBase + 2,
	NonPagedPoolBaseCacheAligned = NonPagedPoolBase + 4,
	NonPagedPoolBaseCacheAlignedMustS = NonPagedPoolBase + 6,
	NonPagedPoolSession = 32,
	PagedPoolSession = NonPagedPoolSession + 1,
	NonPagedPoolNx = 512,
	NonPagedPoolNxCacheAligned = NonPagedPoolNx + 4,
	NonPagedPoolSessionNx = NonPagedPoolNx + 32
} POOL_TYPE;

#ifdef POOL_NX_OPTIN
#define ExInitializeDriverRuntime(flags) ((void)(flags))
#endif
#define DrvRtPoolNxOptIn 0x00000001

#define POOL_QUOTA_FAIL_INSTEAD_OF_RAISE 8
#define POOL_RAISE_IF_ALLOCATION_FAILURE 16
#define POOL_COLD_ALLOCATION             256
#define POOL_ZERO_ALLOCATION             1024

typedef ULONG64 POOL_FLAGS;
#define POOL_FLAG_REQUIRED_START    0x0000000000000001ULL
#define POOL_FLAG_USE_QUOTA         0x0000000000000001ULL
#define POOL_FLAG_UNINITIALIZED     0x0000000000000002ULL
#define POOL_FLAG_SESSION           0x0000000000000004ULL
#define POOL_FLAG_CACHE_ALIGNED     0x0000000000000008ULL
#define POOL_FLAG_RESERVED1         0x0000000000000010ULL
#define POOL_FLAG_RAISE_ON_FAILURE  0x0000000000000020ULL
#define POOL_FLAG_NON_PAGED         0x0000000000000040ULL
#define POOL_FLAG_NON_PAGED_EXECUTE 0x0000000000000080ULL
#define POOL_FLAG_PAGED             0x0000000000000100ULL
#define POOL_FLAG_RESERVED2         0x0000000000000200ULL
#define POOL_FLAG_RESERVED3         0x0000000000000400ULL
#define POOL_FLAG_REQUIRED_END      0x0000000080000000ULL
#define POOL_FLAG_OPTIONAL_START    0x0000000100000000ULL
#define POOL_FLAG_SPECIAL_POOL      0x0000000100000000ULL
#define POOL_FLAG_OPTIONAL_END      0x8000000000000000ULL

typedef enum POOL_EXTENDED_PARAMETER_TYPE {
	PoolExtendedParameterInvalidType = 0,
	PoolExtendedParameterPriority,
	PoolExtendedParameterSecurePool,
	PoolExtendedParameterNumaNode,
	PoolExtendedParameterMax
} POOL_EXTENDED_PARAMETER_TYPE,
	*PPOOL_EXTENDED_PARAMETER_TYPE;

typedef enum _EX_POOL_PRIORITY {
	LowPoolPriority,
	LowPoolPrioritySpecialPoolOverrun = 8,
	LowPoolPrioritySpecialPoolUnderrun = 9,
	NormalPoolPriority = 16,
	NormalPoolPrioritySpecialPoolOverrun = 24,
	NormalPoolPrioritySpecialPoolUnderrun = 25,
	HighPoolPriority = 32,
	HighPoolPrioritySpecialPoolOverrun = 40,
	HighPoolPrioritySpecialPoolUnderrun = 41
} EX_POOL_PRIORITY;

typedef struct _POOL_EXTENDED_PARAMETER {
	_ANONYMOUS_STRUCT struct {
		ULONG64 Type : 8;
		ULONG64 Optional : 1;
		ULONG64 Reserved : 64 - 9;
	};
	_ANONYMOUS_UNION union {
		ULONG64 Reserved2;
		PVOID Reserved3;
		EX_POOL_PRIORITY Priority;
		PVOID SecurePoolParams;
		ULONG PreferredNode;
	};
} POOL_EXTENDED_PARAMETER, *PPOOL_EXTENDED_PARAMETER;
typedef const POOL_EXTENDED_PARAMETER *PCPOOL_EXTENDED_PARAMETER;

NTKERNELAPI PVOID NTAPI ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes);
NTKERNELAPI PVOID NTAPI ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
NTKERNELAPI PVOID NTAPI ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes,
						      ULONG Tag, EX_POOL_PRIORITY Priority);
NTKERNELAPI PVOID NTAPI ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes,
						   ULONG Tag);
NTKERNELAPI PVOID NTAPI ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag);
NTKERNELAPI PVOID NTAPI ExAllocatePool3(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag,
					PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
					ULONG ExtendedParametersCount);
NTKERNELAPI PVOID NTAPI ExAllocatePoolUninitialized(POOL_TYPE PoolType, SIZE_T NumberOfBytes,
						    ULONG Tag);
NTKERNELAPI PVOID NTAPI ExAllocatePoolZero(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
NTKERNELAPI VOID NTAPI ExFreePool(PVOID P);
NTKERNELAPI VOID NTAPI ExFreePoolWithTag(PVOID P, ULONG Tag);
NTKERNELAPI VOID NTAPI ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
				   ULONG ExtendedParametersCount);

#define PROTECTED_POOL 0x80000000

/* Interlocked operations. */

#define OPENDXGK_INTERLOCKED(suffix, type)                                                         \
	OPENDXGK_INLINE type InterlockedIncrement##suffix(type volatile *Addend)                   \
	{                                                                                          \
		return __atomic_add_fetch(Addend, 1, __ATOMIC_SEQ_CST);                            \
	}                                                                                          \
	OPENDXGK_INLINE type InterlockedDecrement##suffix(type volatile *Addend)                   \
	{                                                                                          \
		return __atomic_sub_fetch(Addend, 1, __ATOMIC_SEQ_CST);                            \
	}                                                                                          \
	OPENDXGK_INLINE type InterlockedExchange##suffix(type volatile *Target, type Value)        \
	{                                                                                          \
		return __atomic_exchange_n(Target, Value, __ATOMIC_SEQ_CST);                       \
	}                                                                                          \
	OPENDXGK_INLINE type InterlockedExchangeAdd##suffix(type volatile *Addend, type Value)     \
	{                                                                                          \
		return __atomic_fetch_add(Addend, Value, __ATOMIC_SEQ_CST);                        \
	}                                                                                          \
	OPENDXGK_INLINE type InterlockedAdd##suffix(type volatile *Addend, type Value)             \
	{                                                                                          \
		return __atomic_add_fetch(Addend, Value, __ATOMIC_SEQ_CST);                        \
	}                                                                                          \
	OPENDXGK_INLINE type InterlockedCompareExchange##suffix(type volatile *Destination,        \
								type Exchange, type Comparand)     \
	{                                                                                          \
		__atomic_compare_exchange_n(Destination, &Comparand, Exchange, 0,                  \
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
		return Comparand;                                                                  \
	}                                                                                          \
	OPENDXGK_INLINE type InterlockedAnd##suffix(type volatile *Destination, type Value)        \
	{                                                                                          \
		return __atomic_fetch_and(Destination, Value, __ATOMIC_SEQ_CST);                   \
	}                                                                                          \
	OPENDXGK_INLINE type InterlockedOr##suffix(type volatile *Destination, type Value)         \
	{                                                                                          \
		return __atomic_fetch_or(Destination, Value, __ATOMIC_SEQ_CST);                    \
	}                                                                                          \
	OPENDXGK_INLINE type InterlockedXor##suffix(type volatile *Destination, type Value)        \
	{                                                                                          \
		return __atomic_fetch_xor(Destination, Value, __ATOMIC_SEQ_CST);                   \
	}

OPENDXGK_INTERLOCKED(, LONG)
OPENDXGK_INTERLOCKED(64, LONG64)
OPENDXGK_INTERLOCKED(16, SHORT)

OPENDXGK_INLINE CHAR InterlockedExchange8(CHAR volatile *Target, CHAR Value)
{
	return __atomic_exchange_n(Target, Value, __ATOMIC_SEQ_CST);
}
OPENDXGK_INLINE CHAR InterlockedOr8(CHAR volatile *Destination, CHAR Value)
{
	return __atomic_fetch_or(Destination, Value, __ATOMIC_SEQ_CST);
}
OPENDXGK_INLINE CHAR InterlockedAnd8(CHAR volatile *Destination, CHAR Value)
{
	return __atomic_fetch_and(Destination, Value, __ATOMIC_SEQ_CST);
}
OPENDXGK_INLINE PVOID InterlockedExchangePointer(PVOID volatile *Target, PVOID Value)
{
	return __atomic_exchange_n(Target, Value, __ATOMIC_SEQ_CST);
}
OPENDXGK_INLINE PVOID InterlockedCompareExchangePointer(PVOID volatile *Destination, PVOID Exchange,
							PVOID Comparand)
{
	__atomic_compare_exchange_n(Destination, &Comparand, Exchange, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return Comparand;
}
OPENDXGK_INLINE UCHAR InterlockedBitTestAndSet(LONG volatile *Base, LONG Bit)
{
	return (__atomic_fetch_or(Base, (LONG)(1U << (Bit & 31)), __ATOMIC_SEQ_CST) >> (Bit & 31)) &
	       1;
}
OPENDXGK_INLINE UCHAR InterlockedBitTestAndReset(LONG volatile *Base, LONG Bit)
{
	return (__atomic_fetch_and(Base, (LONG) ~(1U << (Bit & 31)), __ATOMIC_SEQ_CST) >>
		(Bit & 31)) &
	       1;
}

#define InterlockedIncrementAcquire              InterlockedIncrement
#define InterlockedIncrementRelease              InterlockedIncrement
#define InterlockedIncrementNoFence              InterlockedIncrement
#define InterlockedDecrementAcquire              InterlockedDecrement
#define InterlockedDecrementRelease              InterlockedDecrement
#define InterlockedDecrementNoFence              InterlockedDecrement
#define InterlockedExchangeAcquire               InterlockedExchange
#define InterlockedExchangeNoFence               InterlockedExchange
#define InterlockedCompareExchangeAcquire        InterlockedCompareExchange
#define InterlockedCompareExchangeRelease        InterlockedCompareExchange
#define InterlockedCompareExchangeNoFence        InterlockedCompareExchange
#define InterlockedExchangePointerNoFence        InterlockedExchangePointer
#define InterlockedCompareExchangePointerNoFence InterlockedCompareExchangePointer
#define InterlockedIncrementSizeT(a)             ((SIZE_T)InterlockedIncrement64((LONG64 volatile *)(a)))
#define InterlockedDecrementSizeT(a)             ((SIZE_T)InterlockedDecrement64((LONG64 volatile *)(a)))
#define ReadAcquire(source)                      __atomic_load_n(source, __ATOMIC_ACQUIRE)
#define ReadNoFence(source)                      __atomic_load_n(source, __ATOMIC_RELAXED)
#define ReadULongAcquire(source)                 __atomic_load_n(source, __ATOMIC_ACQUIRE)
#define ReadULongNoFence(source)                 __atomic_load_n(source, __ATOMIC_RELAXED)
#define ReadAcquire64(source)                    __atomic_load_n(source, __ATOMIC_ACQUIRE)
#define ReadNoFence64(source)                    __atomic_load_n(source, __ATOMIC_RELAXED)
#define ReadULong64Acquire(source)               __atomic_load_n(source, __ATOMIC_ACQUIRE)
#define ReadULong64NoFence(source)               __atomic_load_n(source, __ATOMIC_RELAXED)
#define ReadPointerAcquire(source)               __atomic_load_n(source, __ATOMIC_ACQUIRE)
#define ReadPointerNoFence(source)               __atomic_load_n(source, __ATOMIC_RELAXED)
#define WriteRelease(destination, value)         __atomic_store_n(destination, value, __ATOMIC_RELEASE)
#define WriteNoFence(destination, value)         __atomic_store_n(destination, value, __ATOMIC_RELAXED)
#define WriteULongRelease(destination, value)    __atomic_store_n(destination, value, __ATOMIC_RELEASE)
#define WriteULongNoFence(destination, value)    __atomic_store_n(destination, value, __ATOMIC_RELAXED)
#define WriteRelease64(destination, value)       __atomic_store_n(destination, value, __ATOMIC_RELEASE)
#define WriteNoFence64(destination, value)       __atomic_store_n(destination, value, __ATOMIC_RELAXED)
#define WriteULong64Release(destination, value)                                                    \
	__atomic_store_n(destination, value, __ATOMIC_RELEASE)
#define WriteULong64NoFence(destination, value)                                                    \
	__atomic_store_n(destination, value, __ATOMIC_RELAXED)
#define WritePointerRelease(destination, value)                                                    \
	__atomic_store_n(destination, value, __ATOMIC_RELEASE)

NTKERNELAPI LARGE_INTEGER NTAPI ExInterlockedAddLargeInteger(PLARGE_INTEGER Addend,
							     LARGE_INTEGER Increment,
							     PKSPIN_LOCK Lock);
NTKERNELAPI ULONG NTAPI ExInterlockedAddUlong(PULONG Addend, ULONG Increment, PKSPIN_LOCK Lock);
#define ExInterlockedAddLargeStatistic(addend, increment)                                          \
	((VOID)InterlockedExchangeAdd64(&(addend)->QuadPart, (increment)))
#define ExInterlockedCompareExchange64(destination, exchange, comparand, lock)                     \
	InterlockedCompareExchange64(destination, *(exchange), *(comparand))

/* The old first or last entry, or NULL when the list was empty. */
NTKERNELAPI PLIST_ENTRY NTAPI ExInterlockedInsertHeadList(PLIST_ENTRY ListHead,
							  PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock);
NTKERNELAPI PLIST_ENTRY NTAPI ExInterlockedInsertTailList(PLIST_ENTRY ListHead,
							  PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock);
NTKERNELAPI PLIST_ENTRY NTAPI ExInterlockedRemoveHeadList(PLIST_ENTRY ListHead, PKSPIN_LOCK Lock);
NTKERNELAPI PSINGLE_LIST_ENTRY NTAPI ExInterlockedPushEntryList(PSINGLE_LIST_ENTRY ListHead,
								PSINGLE_LIST_ENTRY ListEntry,
								PKSPIN_LOCK Lock);
NTKERNELAPI PSINGLE_LIST_ENTRY NTAPI ExInterlockedPopEntryList(PSINGLE_LIST_ENTRY ListHead,
							       PKSPIN_LOCK Lock);

/* Sequenced lists. The host keeps depth, sequence and first entry in the sixteen bytes. */

typedef struct DECLSPEC_ALIGN(16) _SLIST_ENTRY {
	struct _SLIST_ENTRY *Next;
} SLIST_ENTRY, *PSLIST_ENTRY;

typedef union DECLSPEC_ALIGN(16) _SLIST_HEADER {
	_ANONYMOUS_STRUCT struct {
		ULONGLONG Alignment;
		ULONGLONG Region;
	};
	struct {
		ULONGLONG Depth : 16;
		ULONGLONG Sequence : 48;
		ULONGLONG Reserved : 4;
		ULONGLONG NextEntry : 60;
	} HeaderX64;
} SLIST_HEADER, *PSLIST_HEADER;

NTKERNELAPI VOID NTAPI InitializeSListHead(PSLIST_HEADER SListHead);
NTKERNELAPI PSLIST_ENTRY NTAPI ExpInterlockedPushEntrySList(PSLIST_HEADER ListHead,
							    PSLIST_ENTRY ListEntry);
NTKERNELAPI PSLIST_ENTRY NTAPI ExpInterlockedPopEntrySList(PSLIST_HEADER ListHead);
NTKERNELAPI PSLIST_ENTRY NTAPI ExpInterlockedFlushSList(PSLIST_HEADER ListHead);
NTKERNELAPI USHORT NTAPI ExQueryDepthSList(PSLIST_HEADER SListHead);
#define ExInitializeSListHead                          InitializeSListHead
#define InterlockedPushEntrySList                      ExpInterlockedPushEntrySList
#define InterlockedPopEntrySList                       ExpInterlockedPopEntrySList
#define InterlockedFlushSList                          ExpInterlockedFlushSList
#define ExInterlockedFlushSList                        ExpInterlockedFlushSList
#define QueryDepthSList                                ExQueryDepthSList
#define ExInterlockedPushEntrySList(head, entry, lock) ExpInterlockedPushEntrySList(head, entry)
#define ExInterlockedPopEntrySList(head, lock)         ExpInterlockedPopEntrySList(head)

/* Lookaside lists. */

struct _LOOKASIDE_LIST_EX;
typedef PVOID NTAPI ALLOCATE_FUNCTION(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
typedef ALLOCATE_FUNCTION *PALLOCATE_FUNCTION;
typedef PVOID NTAPI ALLOCATE_FUNCTION_EX(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
					 struct _LOOKASIDE_LIST_EX *Lookaside);
typedef ALLOCATE_FUNCTION_EX *PALLOCATE_FUNCTION_EX;
typedef VOID NTAPI FREE_FUNCTION(PVOID Buffer);
typedef FREE_FUNCTION *PFREE_FUNCTION;
typedef VOID NTAPI FREE_FUNCTION_EX(PVOID Buffer, struct _LOOKASIDE_LIST_EX *Lookaside);
typedef FREE_FUNCTION_EX *PFREE_FUNCTION_EX;

#define OPENDXGK_LOOKASIDE_FIELDS                                                                  \
	_ANONYMOUS_UNION union {                                                                   \
		SLIST_HEADER ListHead;                                                             \
		SINGLE_LIST_ENTRY SingleListHead;                                                  \
	};                                                                                         \
	USHORT Depth;                                                                              \
	USHORT MaximumDepth;                                                                       \
	ULONG TotalAllocates;                                                                      \
	_ANONYMOUS_UNION union {                                                                   \
		ULONG AllocateMisses;                                                              \
		ULONG AllocateHits;                                                                \
	};                                                                                         \
	ULONG TotalFrees;                                                                          \
	_ANONYMOUS_UNION union {                                                                   \
		ULONG FreeMisses;                                                                  \
		ULONG FreeHits;                                                                    \
	};                                                                                         \
	POOL_TYPE Type;                                                                            \
	ULONG Tag;                                                                                 \
	ULONG Size;                                                                                \
	_ANONYMOUS_UNION union {                                                                   \
		PALLOCATE_FUNCTION_EX AllocateEx;                                                  \
		PALLOCATE_FUNCTION Allocate;                                                       \
	};                                                                                         \
	_ANONYMOUS_UNION union {                                                                   \
		PFREE_FUNCTION_EX FreeEx;                                                          \
		PFREE_FUNCTION Free;                                                               \
	};                                                                                         \
	LIST_ENTRY ListEntry;                                                                      \
	ULONG LastTotalAllocates;                                                                  \
	_ANONYMOUS_UNION union {                                                                   \
		ULONG LastAllocateMisses;                                                          \
		ULONG LastAllocateHits;                                                            \
	};                                                                                         \
	ULONG Future[2];

typedef struct DECLSPEC_CACHEALIGN _GENERAL_LOOKASIDE {
	OPENDXGK_LOOKASIDE_FIELDS
} GENERAL_LOOKASIDE, *PGENERAL_LOOKASIDE;

typedef struct _GENERAL_LOOKASIDE_POOL {
	OPENDXGK_LOOKASIDE_FIELDS
} GENERAL_LOOKASIDE_POOL, *PGENERAL_LOOKASIDE_POOL;

typedef struct DECLSPEC_CACHEALIGN _NPAGED_LOOKASIDE_LIST {
	GENERAL_LOOKASIDE L;
} NPAGED_LOOKASIDE_LIST, *PNPAGED_LOOKASIDE_LIST;

typedef struct DECLSPEC_CACHEALIGN _PAGED_LOOKASIDE_LIST {
	GENERAL_LOOKASIDE L;
} PAGED_LOOKASIDE_LIST, *PPAGED_LOOKASIDE_LIST;

typedef struct _LOOKASIDE_LIST_EX {
	GENERAL_LOOKASIDE_POOL L;
} LOOKASIDE_LIST_EX, *PLOOKASIDE_LIST_EX;

NTKERNELAPI VOID NTAPI ExInitializeNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside,
						       PALLOCATE_FUNCTION Allocate,
						       PFREE_FUNCTION Free, ULONG Flags,
						       SIZE_T Size, ULONG Tag, USHORT Depth);
NTKERNELAPI VOID NTAPI ExDeleteNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI PVOID NTAPI ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI VOID NTAPI ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry);
NTKERNELAPI VOID NTAPI ExInitializePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside,
						      PALLOCATE_FUNCTION Allocate,
						      PFREE_FUNCTION Free, ULONG Flags, SIZE_T Size,
						      ULONG Tag, USHORT Depth);
NTKERNELAPI VOID NTAPI ExDeletePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI PVOID NTAPI ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI VOID NTAPI ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry);
NTKERNELAPI NTSTATUS NTAPI ExInitializeLookasideListEx(PLOOKASIDE_LIST_EX Lookaside,
						       PALLOCATE_FUNCTION_EX Allocate,
						       PFREE_FUNCTION_EX Free, POOL_TYPE PoolType,
						       ULONG Flags, SIZE_T Size, ULONG Tag,
						       USHORT Depth);
NTKERNELAPI VOID NTAPI ExDeleteLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);
NTKERNELAPI VOID NTAPI ExFlushLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);
NTKERNELAPI PVOID NTAPI ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);
NTKERNELAPI VOID NTAPI ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PVOID Entry);

/* Fast and guarded mutexes. */

typedef struct _FAST_MUTEX {
	LONG Count;
	PVOID Owner;
	ULONG Contention;
	KEVENT Event;
	ULONG OldIrql;
} FAST_MUTEX, *PFAST_MUTEX, KGUARDED_MUTEX, *PKGUARDED_MUTEX;

NTKERNELAPI VOID NTAPI ExInitializeFastMutex(PFAST_MUTEX FastMutex);
NTKERNELAPI VOID NTAPI ExAcquireFastMutex(PFAST_MUTEX FastMutex);
NTKERNELAPI BOOLEAN NTAPI ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex);
NTKERNELAPI VOID NTAPI ExReleaseFastMutex(PFAST_MUTEX FastMutex);
NTKERNELAPI VOID NTAPI ExAcquireFastMutexUnsafe(PFAST_MUTEX FastMutex);
NTKERNELAPI VOID NTAPI ExReleaseFastMutexUnsafe(PFAST_MUTEX FastMutex);
#define KeInitializeGuardedMutex    ExInitializeFastMutex
#define KeAcquireGuardedMutex       ExAcquireFastMutex
#define KeTryToAcquireGuardedMutex  ExTryToAcquireFastMutex
#define KeReleaseGuardedMutex       ExReleaseFastMutex
#define KeAcquireGuardedMutexUnsafe ExAcquireFastMutexUnsafe
#define KeReleaseGuardedMutexUnsafe ExReleaseFastMutexUnsafe

/* Executive resources: one writer or many readers, recursive. */

typedef ULONG_PTR ERESOURCE_THREAD, *PERESOURCE_THREAD;

typedef struct _OWNER_ENTRY {
	ERESOURCE_THREAD OwnerThread;
	_ANONYMOUS_UNION union {
		_ANONYMOUS_STRUCT struct {
			ULONG IoPriorityBoosted : 1;
			ULONG OwnerReferenced : 1;
			ULONG OwnerCount : 30;
		};
		ULONG TableSize;
	};
} OWNER_ENTRY, *POWNER_ENTRY;

typedef struct _ERESOURCE {
	LIST_ENTRY SystemResourcesList;
	POWNER_ENTRY OwnerTable;
	SHORT ActiveCount;
	USHORT Flag;
	PKSEMAPHORE volatile SharedWaiters;
	PKEVENT volatile ExclusiveWaiters;
	OWNER_ENTRY OwnerEntry;
	ULONG ActiveEntries;
	ULONG ContentionCount;
	ULONG NumberOfSharedWaiters;
	ULONG NumberOfExclusiveWaiters;
	PVOID Reserved2;
	_ANONYMOUS_UNION union {
		PVOID Address;
		ULONG_PTR CreatorBackTraceIndex;
	};
	KSPIN_LOCK SpinLock;
} ERESOURCE, *PERESOURCE;

NTKERNELAPI NTSTATUS NTAPI ExInitializeResourceLite(PERESOURCE Resource);
NTKERNELAPI NTSTATUS NTAPI ExReinitializeResourceLite(PERESOURCE Resource);
NTKERNELAPI NTSTATUS NTAPI ExDeleteResourceLite(PERESOURCE Resource);
NTKERNELAPI BOOLEAN NTAPI ExAcquireResourceExclusiveLite(PERESOURCE Resource, BOOLEAN Wait);
NTKERNELAPI BOOLEAN NTAPI ExAcquireResourceSharedLite(PERESOURCE Resource, BOOLEAN Wait);
NTKERNELAPI BOOLEAN NTAPI ExAcquireSharedStarveExclusive(PERESOURCE Resource, BOOLEAN Wait);
NTKERNELAPI BOOLEAN NTAPI ExAcquireSharedWaitForExclusive(PERESOURCE Resource, BOOLEAN Wait);
NTKERNELAPI VOID NTAPI ExConvertExclusiveToSharedLite(PERESOURCE Resource);
NTKERNELAPI VOID NTAPI ExReleaseResourceLite(PERESOURCE Resource);
NTKERNELAPI VOID NTAPI ExReleaseResourceForThreadLite(PERESOURCE Resource,
						      ERESOURCE_THREAD ResourceThreadId);
NTKERNELAPI BOOLEAN NTAPI ExIsResourceAcquiredExclusiveLite(PERESOURCE Resource);
NTKERNELAPI ULONG NTAPI ExIsResourceAcquiredSharedLite(PERESOURCE Resource);
NTKERNELAPI PVOID NTAPI ExEnterCriticalRegionAndAcquireResourceExclusive(PERESOURCE Resource);
NTKERNELAPI PVOID NTAPI ExEnterCriticalRegionAndAcquireResourceShared(PERESOURCE Resource);
NTKERNELAPI VOID NTAPI ExReleaseResourceAndLeaveCriticalRegion(PERESOURCE Resource);
#define ExIsResourceAcquiredLite     ExIsResourceAcquiredSharedLite
#define ExGetCurrentResourceThread() ((ERESOURCE_THREAD)KeGetCurrentThread())

/* Push locks: one pointer, zero when free. */

typedef ULONG_PTR EX_PUSH_LOCK, *PEX_PUSH_LOCK;
#define EX_PUSH_LOCK_FLAGS_VALID   0x00000003UL
#define EX_DEFAULT_PUSH_LOCK_FLAGS 0

NTKERNELAPI VOID NTAPI ExInitializePushLock(PEX_PUSH_LOCK PushLock);
NTKERNELAPI VOID NTAPI ExAcquirePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags);
NTKERNELAPI VOID NTAPI ExReleasePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags);
NTKERNELAPI VOID NTAPI ExAcquirePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags);
NTKERNELAPI VOID NTAPI ExReleasePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags);
#define ExAcquirePushLockExclusive(lock) ExAcquirePushLockExclusiveEx(lock, 0)
#define ExReleasePushLockExclusive(lock) ExReleasePushLockExclusiveEx(lock, 0)
#define ExAcquirePushLockShared(lock)    ExAcquirePushLockSharedEx(lock, 0)
#define ExReleasePushLockShared(lock)    ExReleasePushLockSharedEx(lock, 0)

/* Reader/writer spin locks. */

typedef volatile LONG EX_SPIN_LOCK, *PEX_SPIN_LOCK;
NTKERNELAPI KIRQL NTAPI ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock);
NTKERNELAPI VOID NTAPI ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql);
NTKERNELAPI KIRQL NTAPI ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock);
NTKERNELAPI VOID NTAPI ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql);

/* Rundown protection. */

typedef struct _EX_RUNDOWN_REF {
	_ANONYMOUS_UNION union {
		ULONG_PTR Count;
		PVOID Ptr;
	};
} EX_RUNDOWN_REF, *PEX_RUNDOWN_REF;

NTKERNELAPI VOID NTAPI ExInitializeRundownProtection(PEX_RUNDOWN_REF RunRef);
NTKERNELAPI VOID NTAPI ExReInitializeRundownProtection(PEX_RUNDOWN_REF RunRef);
NTKERNELAPI BOOLEAN NTAPI ExAcquireRundownProtection(PEX_RUNDOWN_REF RunRef);
NTKERNELAPI VOID NTAPI ExReleaseRundownProtection(PEX_RUNDOWN_REF RunRef);
NTKERNELAPI VOID NTAPI ExWaitForRundownProtectionRelease(PEX_RUNDOWN_REF RunRef);
NTKERNELAPI VOID NTAPI ExRundownCompleted(PEX_RUNDOWN_REF RunRef);

/* Work items of the executive; drivers with a device object use IoQueueWorkItem. */

typedef enum _WORK_QUEUE_TYPE {
	CriticalWorkQueue,
	DelayedWorkQueue,
	HyperCriticalWorkQueue,
	NormalWorkQueue,
	BackgroundWorkQueue,
	RealTimeWorkQueue,
	SuperCriticalWorkQueue,
	MaximumWorkQueue,
	CustomPriorityWorkQueue = 32
} WORK_QUEUE_TYPE;

typedef VOID NTAPI WORKER_THREAD_ROUTINE(PVOID Parameter);
typedef WORKER_THREAD_ROUTINE *PWORKER_THREAD_ROUTINE;

typedef struct _WORK_QUEUE_ITEM {
	LIST_ENTRY List;
	PWORKER_THREAD_ROUTINE WorkerRoutine;
	PVOID Parameter;
} WORK_QUEUE_ITEM, *PWORK_QUEUE_ITEM;

#define ExInitializeWorkItem(item, routine, context)                                               \
	do {                                                                                       \
		(item)->WorkerRoutine = (routine);                                                 \
		(item)->Parameter = (context);                                                     \
		(item)->List.Flink = NULL;                                                         \
	} while (0)
NTKERNELAPI VOID NTAPI ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType);

/* Raising, probing, privileges, identity. */

NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI ExRaiseStatus(NTSTATUS Status);
NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI ExRaiseAccessViolation(VOID);
NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI ExRaiseDatatypeMisalignment(VOID);
NTKERNELAPI VOID NTAPI ProbeForRead(const volatile VOID *Address, SIZE_T Length, ULONG Alignment);
NTKERNELAPI VOID NTAPI ProbeForWrite(volatile VOID *Address, SIZE_T Length, ULONG Alignment);
NTKERNELAPI NTSTATUS NTAPI ExUuidCreate(GUID *Uuid);
NTKERNELAPI KPROCESSOR_MODE NTAPI ExGetPreviousMode(VOID);

/* The host has no firmware with variables: STATUS_NOT_IMPLEMENTED, as on a machine with a BIOS. */
NTKERNELAPI NTSTATUS NTAPI ExGetFirmwareEnvironmentVariable(struct _UNICODE_STRING *VariableName,
							    LPGUID VendorGuid, PVOID Value,
							    PULONG ValueLength, PULONG Attributes);

OPENDXGK_EXTERN_C_END

#endif
