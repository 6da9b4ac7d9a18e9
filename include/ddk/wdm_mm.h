/* SPDX-License-Identifier: MIT */
/*
 * wdm_mm.h - the Mm routines: memory descriptor lists, contiguous and device memory.
 *
 * "Physical memory" is one file of the host: a physical address, a page frame number and a client's
 * mapping name the same page. Drivers read MDL fields directly, so the layout is the Windows one
 * and the frame numbers follow the header.
 *
 * Part of wdm.h; not included by itself.
 */
#ifndef OPENDXGK_DDK_WDM_MM_H
#define OPENDXGK_DDK_WDM_MM_H

#include "wdm_ke.h"

OPENDXGK_EXTERN_C_BEGIN

#define PAGE_SIZE  0x1000
#define PAGE_SHIFT 12
#define PAGE_MASK  (PAGE_SIZE - 1)

#define BYTE_OFFSET(va)   ((ULONG)((ULONG_PTR)(va) & (PAGE_SIZE - 1)))
#define PAGE_ALIGN(va)    ((PVOID)((ULONG_PTR)(va) & ~(ULONG_PTR)(PAGE_SIZE - 1)))
#define ROUND_TO_PAGES(n) (((ULONG_PTR)(n) + PAGE_SIZE - 1) & ~(ULONG_PTR)(PAGE_SIZE - 1))
#define BYTES_TO_PAGES(n) (((n) >> PAGE_SHIFT) + (((n) & (PAGE_SIZE - 1)) != 0))
#define ADDRESS_AND_SIZE_TO_SPAN_PAGES(va, size)                                                   \
	((ULONG)((((ULONG_PTR)(va) & (PAGE_SIZE - 1)) + (ULONG_PTR)(size) + (PAGE_SIZE - 1)) >>    \
		 PAGE_SHIFT))

/*
 * Where the memory of clients ends. Drivers share the address space here, so an address below it may
 * just as well be the driver's own.
 */
#define MM_USER_PROBE_ADDRESS   ((ULONG_PTR)0x7fffffff0000)
#define MM_HIGHEST_USER_ADDRESS ((PVOID)0x7ffffffeffff)
#define MM_SYSTEM_RANGE_START   ((PVOID)0xffff800000000000)
#define MM_LOWEST_USER_ADDRESS  ((PVOID)0x10000)

typedef ULONG_PTR PFN_NUMBER, *PPFN_NUMBER;
typedef LONG_PTR SPFN_NUMBER, *PSPFN_NUMBER;
typedef ULONG PFN_COUNT, *PPFN_COUNT;

typedef enum _MEMORY_CACHING_TYPE_ORIG { MmFrameBufferCached = 2 } MEMORY_CACHING_TYPE_ORIG;

typedef enum _MEMORY_CACHING_TYPE {
	MmNonCached = 0,
	MmCached = 1,
	MmWriteCombined = MmFrameBufferCached,
	MmHardwareCoherentCached,
	MmNonCachedUnordered,
	MmUSWCCached,
	MmMaximumCacheType,
	MmNotMapped = -1
} MEMORY_CACHING_TYPE;

typedef enum _MM_PAGE_PRIORITY {
	LowPagePriority,
	NormalPagePriority = 16,
	HighPagePriority = 32
} MM_PAGE_PRIORITY;

#define MdlMappingNoWrite                     0x80000000
#define MdlMappingNoExecute                   0x40000000
#define MdlMappingWithGuardPtes               0x20000000
#define MM_DONT_ZERO_ALLOCATION               0x00000001
#define MM_ALLOCATE_FROM_LOCAL_NODE_ONLY      0x00000002
#define MM_ALLOCATE_FULLY_REQUIRED            0x00000004
#define MM_ALLOCATE_NO_WAIT                   0x00000008
#define MM_ALLOCATE_PREFER_CONTIGUOUS         0x00000010
#define MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS 0x00000020
#define MM_ALLOCATE_FAST_LARGE_PAGES          0x00000040
#define MM_ALLOCATE_AND_HOT_REMOVE            0x00000100

#define PAGE_NOACCESS          0x01
#define PAGE_READONLY          0x02
#define PAGE_READWRITE         0x04
#define PAGE_WRITECOPY         0x08
#define PAGE_EXECUTE           0x10
#define PAGE_EXECUTE_READ      0x20
#define PAGE_EXECUTE_READWRITE 0x40
#define PAGE_GUARD             0x100
#define PAGE_NOCACHE           0x200
#define PAGE_WRITECOMBINE      0x400
#define MEM_COMMIT             0x00001000
#define MEM_RESERVE            0x00002000
#define MEM_DECOMMIT           0x00004000
#define MEM_RELEASE            0x00008000
#define SEC_COMMIT             0x08000000

typedef struct _MDL {
	struct _MDL *Next;
	CSHORT Size;
	CSHORT MdlFlags;
	struct _EPROCESS *Process;
	PVOID MappedSystemVa;
	PVOID StartVa;
	ULONG ByteCount;
	ULONG ByteOffset;
} MDL, *PMDL;
typedef const MDL *PCMDL;

#define MDL_MAPPED_TO_SYSTEM_VA     0x0001
#define MDL_PAGES_LOCKED            0x0002
#define MDL_SOURCE_IS_NONPAGED_POOL 0x0004
#define MDL_ALLOCATED_FIXED_SIZE    0x0008
#define MDL_PARTIAL                 0x0010
#define MDL_PARTIAL_HAS_BEEN_MAPPED 0x0020
#define MDL_IO_PAGE_READ            0x0040
#define MDL_WRITE_OPERATION         0x0080
#define MDL_LOCKED_PAGE_TABLES      0x0100
#define MDL_PARENT_MAPPED_SYSTEM_VA MDL_LOCKED_PAGE_TABLES
#define MDL_FREE_EXTRA_PTES         0x0200
#define MDL_DESCRIBES_AWE           0x0400
#define MDL_IO_SPACE                0x0800
#define MDL_NETWORK_HEADER          0x1000
#define MDL_MAPPING_CAN_FAIL        0x2000
#define MDL_PAGE_CONTENTS_INVARIANT 0x4000
#define MDL_ALLOCATED_MUST_SUCCEED  MDL_PAGE_CONTENTS_INVARIANT
#define MDL_INTERNAL                0x8000

#define MmGetMdlByteCount(mdl)      ((mdl)->ByteCount)
#define MmGetMdlByteOffset(mdl)     ((mdl)->ByteOffset)
#define MmGetMdlBaseVa(mdl)         ((mdl)->StartVa)
#define MmGetMdlPfnArray(mdl)       ((PPFN_NUMBER)((mdl) + 1))
#define MmGetMdlVirtualAddress(mdl) ((PVOID)((PCHAR)((mdl)->StartVa) + (mdl)->ByteOffset))
#define MmSizeOfMdl(base, length)                                                                  \
	(sizeof(MDL) + sizeof(PFN_NUMBER) * (SIZE_T)ADDRESS_AND_SIZE_TO_SPAN_PAGES(base, length))
#define MmInitializeMdl(mdl, base, length)                                                         \
	do {                                                                                       \
		(mdl)->Next = (PMDL)NULL;                                                          \
		(mdl)->Size = (CSHORT)MmSizeOfMdl(base, length);                                   \
		(mdl)->MdlFlags = 0;                                                               \
		(mdl)->StartVa = PAGE_ALIGN(base);                                                 \
		(mdl)->ByteOffset = BYTE_OFFSET(base);                                             \
		(mdl)->ByteCount = (ULONG)(length);                                                \
	} while (0)
#define MmPrepareMdlForReuse(mdl)                                                                  \
	do {                                                                                       \
		if ((mdl)->MdlFlags & MDL_PARTIAL_HAS_BEEN_MAPPED)                                 \
			MmUnmapLockedPages((mdl)->MappedSystemVa, mdl);                            \
	} while (0)

typedef enum _LOCK_OPERATION { IoReadAccess, IoWriteAccess, IoModifyAccess } LOCK_OPERATION;

NTKERNELAPI VOID NTAPI MmBuildMdlForNonPagedPool(PMDL MemoryDescriptorList);
NTKERNELAPI VOID NTAPI MmProbeAndLockPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode,
					   LOCK_OPERATION Operation);
NTKERNELAPI VOID NTAPI MmUnlockPages(PMDL MemoryDescriptorList);
NTKERNELAPI PVOID NTAPI MmMapLockedPagesSpecifyCache(PMDL MemoryDescriptorList,
						     KPROCESSOR_MODE AccessMode,
						     MEMORY_CACHING_TYPE CacheType,
						     PVOID RequestedAddress,
						     ULONG BugCheckOnFailure, ULONG Priority);
NTKERNELAPI PVOID NTAPI MmMapLockedPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode);
NTKERNELAPI VOID NTAPI MmUnmapLockedPages(PVOID BaseAddress, PMDL MemoryDescriptorList);
NTKERNELAPI NTSTATUS NTAPI MmProtectMdlSystemAddress(PMDL MemoryDescriptorList, ULONG NewProtect);
NTKERNELAPI PMDL NTAPI MmAllocatePagesForMdl(PHYSICAL_ADDRESS LowAddress,
					     PHYSICAL_ADDRESS HighAddress,
					     PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes);
NTKERNELAPI PMDL NTAPI MmAllocatePagesForMdlEx(PHYSICAL_ADDRESS LowAddress,
					       PHYSICAL_ADDRESS HighAddress,
					       PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes,
					       MEMORY_CACHING_TYPE CacheType, ULONG Flags);
NTKERNELAPI VOID NTAPI MmFreePagesFromMdl(PMDL MemoryDescriptorList);
NTKERNELAPI VOID NTAPI MmFreePagesFromMdlEx(PMDL MemoryDescriptorList, ULONG Flags);

OPENDXGK_INLINE PVOID MmGetSystemAddressForMdlSafe(PMDL Mdl, ULONG Priority)
{
	if (Mdl->MdlFlags & (MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL))
		return Mdl->MappedSystemVa;
	return MmMapLockedPagesSpecifyCache(Mdl, KernelMode, MmCached, NULL, FALSE, Priority);
}

NTKERNELAPI PVOID NTAPI MmAllocateContiguousMemory(SIZE_T NumberOfBytes,
						   PHYSICAL_ADDRESS HighestAcceptableAddress);
NTKERNELAPI PVOID NTAPI MmAllocateContiguousMemorySpecifyCache(
	SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
	PHYSICAL_ADDRESS HighestAcceptableAddress, PHYSICAL_ADDRESS BoundaryAddressMultiple,
	MEMORY_CACHING_TYPE CacheType);
NTKERNELAPI PVOID NTAPI MmAllocateContiguousNodeMemory(SIZE_T NumberOfBytes,
						       PHYSICAL_ADDRESS LowestAcceptableAddress,
						       PHYSICAL_ADDRESS HighestAcceptableAddress,
						       PHYSICAL_ADDRESS BoundaryAddressMultiple,
						       ULONG Protect, ULONG PreferredNode);
NTKERNELAPI VOID NTAPI MmFreeContiguousMemory(PVOID BaseAddress);
NTKERNELAPI VOID NTAPI MmFreeContiguousMemorySpecifyCache(PVOID BaseAddress, SIZE_T NumberOfBytes,
							  MEMORY_CACHING_TYPE CacheType);
NTKERNELAPI PVOID NTAPI MmAllocateNonCachedMemory(SIZE_T NumberOfBytes);
NTKERNELAPI VOID NTAPI MmFreeNonCachedMemory(PVOID BaseAddress, SIZE_T NumberOfBytes);
NTKERNELAPI PHYSICAL_ADDRESS NTAPI MmGetPhysicalAddress(PVOID BaseAddress);
NTKERNELAPI PVOID NTAPI MmMapIoSpace(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes,
				     MEMORY_CACHING_TYPE CacheType);
NTKERNELAPI PVOID NTAPI MmMapIoSpaceEx(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes,
				       ULONG Protect);
NTKERNELAPI VOID NTAPI MmUnmapIoSpace(PVOID BaseAddress, SIZE_T NumberOfBytes);
NTKERNELAPI BOOLEAN NTAPI MmIsAddressValid(PVOID VirtualAddress);
NTKERNELAPI PVOID NTAPI MmGetSystemRoutineAddress(struct _UNICODE_STRING *SystemRoutineName);
NTKERNELAPI PVOID NTAPI MmLockPagableDataSection(PVOID AddressWithinSection);
NTKERNELAPI VOID NTAPI MmUnlockPagableImageSection(PVOID ImageSectionHandle);
#define MmLockPagableCodeSection MmLockPagableDataSection
NTKERNELAPI PVOID NTAPI MmPageEntireDriver(PVOID AddressWithinSection);
NTKERNELAPI VOID NTAPI MmResetDriverPaging(PVOID AddressWithinSection);

/*
 * Not of Windows; for drivers that bring their hardware along as software. What the CPU sees at the
 * physical page Where, as through a window of the bus, is the page Page from now on, in views that
 * are made afterwards; 0: itself again. FALSE: one of them is no page of the machine, or there is
 * no memory to remember it.
 */
NTKERNELAPI BOOLEAN NTAPI OpendxgkShowPage(PHYSICAL_ADDRESS Where, PHYSICAL_ADDRESS Page);

/*
 * Not of Windows; for drivers of a device that the host has, and that has to be told of memory
 * before it may touch it. The routine tells it (IsPinned), or that it shall forget the memory again;
 * in this case FALSE means that it is being used, and the routine is called again. At PASSIVE_LEVEL,
 * by any thread, and for the same memory by one at a time.
 */
typedef BOOLEAN NTAPI OPENDXGK_PIN_ROUTINE(PVOID Context, BOOLEAN IsPinned,
					   PHYSICAL_ADDRESS Address, PVOID Pointer,
					   SIZE_T NumberOfBytes);
NTKERNELAPI PVOID NTAPI OpendxgkCreatePins(OPENDXGK_PIN_ROUTINE *Routine, PVOID Context);
/*
 * FALSE: it is no memory of the machine, the routine did not succeed, or what is at the address is
 * just changing: then it is worth another try.
 */
NTKERNELAPI BOOLEAN NTAPI OpendxgkPin(PVOID Pins, PHYSICAL_ADDRESS Address, SIZE_T NumberOfBytes);
NTKERNELAPI VOID NTAPI OpendxgkDeletePins(PVOID Pins);
/* How many bytes of physical memory there are, from address 1 MiB on. */
NTKERNELAPI ULONGLONG NTAPI OpendxgkMemoryBytes(VOID);

OPENDXGK_EXTERN_C_END

#endif
