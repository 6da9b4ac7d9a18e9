/* SPDX-License-Identifier: MIT */
/*
 * mdl.c - memory descriptor lists.
 *
 *   header   | Next Size MdlFlags Process MappedSystemVa StartVa ByteCount ByteOffset |
 *   frames   | one PFN_NUMBER for each page that [StartVa + ByteOffset, + ByteCount) touches |
 *
 * The flags are the state, as on Windows; a driver that takes a step which they do not allow is
 * reported and the step is left out:
 *
 *   IoAllocateMdl ── MmBuildMdlForNonPagedPool ──▶ SOURCE_IS_NONPAGED_POOL   (mapped by nature)
 *        │
 *        └─ MmProbeAndLockPages ──▶ PAGES_LOCKED ── MmMapLockedPages… ──▶ MAPPED_TO_SYSTEM_VA
 *                                        ▲
 *   MmAllocatePagesForMdl ───────────────┘
 *
 * Size has 16 bits and is too small for an MDL of more than 4091 pages; nothing here relies on it.
 * An MDL belongs to one thread at a time, so there are no locks.
 */
#include <string.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/probe.h"

#include <ddk/wdm.h>

#include "nt/driver_memory.h"
#include "nt/irql.h"
#include "nt/mdl.h"
#include "nt/pool.h"
#include "nt/paged_guard.h"
#include "nt/report.h"

#define MDL_TAG 0x206c644d /* "Mdl " */

#define MDL_MAX_PAGES ((uint64_t)0xfffff) /* ByteCount has 32 bits */

_Static_assert(sizeof(PFN_NUMBER) == sizeof(uint64_t), "frame numbers are what machine.h has");
_Static_assert(sizeof(MDL) == 48, "the frames follow a header of 48 bytes");

static uint64_t *mdl_pfns(PMDL mdl)
{
	return (uint64_t *)(void *)(mdl + 1);
}

static uint64_t mdl_page_count(PMDL mdl)
{
	return ADDRESS_AND_SIZE_TO_SPAN_PAGES(mdl->ByteOffset, mdl->ByteCount);
}

static bool mdl_has(PMDL mdl, CSHORT flags)
{
	return (mdl->MdlFlags & flags) != 0;
}

static bool mdl_require(PMDL mdl, bool is_right, const char *routine, const char *what)
{
	if (!is_right)
		nt_report(RULE_NT_MDL_STATE, "%s was given an MDL %s (flags 0x%04x)", routine, what,
			  (unsigned)(USHORT)mdl->MdlFlags);
	return is_right;
}

static bool mdl_require_blank(PMDL mdl, const char *routine)
{
	return mdl_require(mdl,
			   !mdl_has(mdl, MDL_PAGES_LOCKED | MDL_MAPPED_TO_SYSTEM_VA |
						 MDL_SOURCE_IS_NONPAGED_POOL | MDL_PARTIAL),
			   routine, "that already describes pages");
}

static void mdl_fill_pfns(PMDL mdl)
{
	const char *page = mdl->StartVa;
	uint64_t *pfns = mdl_pfns(mdl);

	for (uint64_t i = 0; i < mdl_page_count(mdl); i++, page += PAGE_SIZE) {
		uint64_t address;

		if (!machine_from_pointer(page, &address))
			address = machine_foreign(page);
		pfns[i] = address >> PAGE_SHIFT;
	}
}

/* True when the driver made the mapping itself, through this MDL. */
static bool mdl_has_own_mapping(PMDL mdl)
{
	if (mdl_has(mdl, MDL_SOURCE_IS_NONPAGED_POOL))
		return false;
	if (mdl_has(mdl, MDL_PARTIAL))
		return mdl_has(mdl, MDL_PARTIAL_HAS_BEEN_MAPPED);
	return mdl_has(mdl, MDL_MAPPED_TO_SYSTEM_VA);
}

static void mdl_drop_mapping(PMDL mdl)
{
	machine_unmap(PAGE_ALIGN(mdl->MappedSystemVa), mdl_page_count(mdl));
	mdl->MdlFlags &= ~(MDL_MAPPED_TO_SYSTEM_VA | MDL_PARTIAL_HAS_BEEN_MAPPED);
	mdl->MappedSystemVa = NULL;
}

/* Making and freeing. */

PMDL IoAllocateMdl(PVOID VirtualAddress, ULONG Length, BOOLEAN SecondaryBuffer, BOOLEAN ChargeQuota,
		   PIRP Irp)
{
	uint64_t end;

	nt_irql_require(DISPATCH_LEVEL, __func__);
	if (!checked_add((uintptr_t)VirtualAddress, Length, &end) || Length > 0xfffff000u)
		return NULL;
	PMDL mdl = nt_pool_alloc_at(CALLER, MmSizeOfMdl(VirtualAddress, Length), MDL_TAG);
	if (!mdl)
		return NULL;
	MmInitializeMdl(mdl, VirtualAddress, Length);

	if (Irp && SecondaryBuffer && Irp->MdlAddress) {
		PMDL last = Irp->MdlAddress;

		while (last->Next)
			last = last->Next;
		last->Next = mdl;
	} else if (Irp) {
		Irp->MdlAddress = mdl;
	}
	return mdl;
}

VOID IoFreeMdl(PMDL Mdl)
{
	nt_irql_require(DISPATCH_LEVEL, __func__);
	if (!Mdl)
		return;
	mdl_require(Mdl, mdl_has(Mdl, MDL_PARTIAL) || !mdl_has(Mdl, MDL_PAGES_LOCKED), __func__,
		    "whose pages are still locked");
	/* A mapped partial MDL may be freed as it is: the mapping goes with it. */
	if (mdl_has_own_mapping(Mdl))
		mdl_drop_mapping(Mdl);
	ExFreePoolWithTag(Mdl, MDL_TAG);
}

NTSTATUS nt_mdl_create_for_pages(const uint64_t pfns[], uint64_t count, PMDL *mdl_out)
{
	if (count == 0 || count > MDL_MAX_PAGES)
		return STATUS_INVALID_PARAMETER;
	PMDL mdl = mem_zalloc(sizeof(*mdl) + count * sizeof(pfns[0]));
	if (!mdl)
		return STATUS_NO_MEMORY;
	MmInitializeMdl(mdl, NULL, count * PAGE_SIZE);
	mdl->MdlFlags = MDL_PAGES_LOCKED;
	memcpy(mdl_pfns(mdl), pfns, count * sizeof(pfns[0]));
	*mdl_out = mdl;
	return STATUS_SUCCESS;
}

void nt_mdl_destroy(PMDL mdl)
{
	if (!mdl)
		return;
	if (mdl_has_own_mapping(mdl))
		mdl_drop_mapping(mdl);
	mem_free(mdl);
}

/* Describing memory that is there. */

VOID MmBuildMdlForNonPagedPool(PMDL MemoryDescriptorList)
{
	PMDL mdl = MemoryDescriptorList;

	nt_irql_require(DISPATCH_LEVEL, __func__);
	if (!mdl_require_blank(mdl, __func__))
		return;
	if (mdl->ByteCount > 0 && !probe_is_readable(MmGetMdlVirtualAddress(mdl), mdl->ByteCount)) {
		nt_report(RULE_NT_ADDRESS, "%s was given an MDL over %p, where no memory is",
			  __func__, MmGetMdlVirtualAddress(mdl));
		return;
	}
	mdl_fill_pfns(mdl);
	mdl->Process = NULL;
	mdl->MappedSystemVa = MmGetMdlVirtualAddress(mdl);
	mdl->MdlFlags |= MDL_SOURCE_IS_NONPAGED_POOL;
}

VOID MmProbeAndLockPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode,
			 LOCK_OPERATION Operation)
{
	PMDL mdl = MemoryDescriptorList;
	PVOID start = MmGetMdlVirtualAddress(mdl);
	bool is_there;

	nt_irql_require(DISPATCH_LEVEL, __func__);
	if (!mdl_require_blank(mdl, __func__))
		return;
	nt_paged_guard_lock(start, mdl->ByteCount);
	if (Operation == IoReadAccess)
		is_there = probe_is_readable(start, mdl->ByteCount);
	else
		is_there = probe_is_writable(start, mdl->ByteCount);
	/* Not the driver's mistake: it is how it learns that a client gave it a wild pointer. */
	if (!is_there && mdl->ByteCount > 0) {
		nt_paged_guard_unlock(start, mdl->ByteCount);
		ExRaiseStatus(STATUS_ACCESS_VIOLATION);
	}

	mdl_fill_pfns(mdl);
	mdl->MdlFlags |= MDL_PAGES_LOCKED;
	if (Operation != IoReadAccess)
		mdl->MdlFlags |= MDL_WRITE_OPERATION;
}

VOID MmUnlockPages(PMDL MemoryDescriptorList)
{
	PMDL mdl = MemoryDescriptorList;

	nt_irql_require(DISPATCH_LEVEL, __func__);
	if (!mdl_require(mdl,
			 mdl_has(mdl, MDL_PAGES_LOCKED) &&
				 !mdl_has(mdl, MDL_SOURCE_IS_NONPAGED_POOL | MDL_PARTIAL),
			 __func__, "whose pages are not locked"))
		return;
	if (mdl_has_own_mapping(mdl))
		mdl_drop_mapping(mdl);
	nt_paged_guard_unlock(MmGetMdlVirtualAddress(mdl), mdl->ByteCount);
	mdl->MdlFlags &= ~(MDL_PAGES_LOCKED | MDL_WRITE_OPERATION);
}

VOID IoBuildPartialMdl(PMDL SourceMdl, PMDL TargetMdl, PVOID VirtualAddress, ULONG Length)
{
	uint64_t source_start = (uintptr_t)MmGetMdlVirtualAddress(SourceMdl);
	uint64_t start = (uintptr_t)VirtualAddress;

	if (Length == 0 && start >= source_start && start - source_start < SourceMdl->ByteCount)
		Length = (ULONG)(SourceMdl->ByteCount - (start - source_start));
	if (Length == 0 || start < source_start || start - source_start > SourceMdl->ByteCount ||
	    Length > SourceMdl->ByteCount - (start - source_start)) {
		nt_report(RULE_NT_MDL_PARTIAL,
			  "%s was asked for %u bytes at %p, not all of them "
			  "in the source MDL",
			  __func__, Length, VirtualAddress);
		return;
	}
	/* What the target was made for; its Size has too few bits for very long ones. */
	uint64_t capacity = ((USHORT)TargetMdl->Size - sizeof(MDL)) / sizeof(PFN_NUMBER);
	if (mdl_page_count(TargetMdl) > capacity)
		capacity = mdl_page_count(TargetMdl);
	uint64_t pages = ADDRESS_AND_SIZE_TO_SPAN_PAGES(VirtualAddress, Length);
	if (pages > capacity) {
		nt_report(RULE_NT_MDL_PARTIAL,
			  "%s was given a target MDL for %llu pages, and %llu are needed", __func__,
			  (unsigned long long)capacity, (unsigned long long)pages);
		return;
	}

	TargetMdl->StartVa = PAGE_ALIGN(VirtualAddress);
	TargetMdl->ByteOffset = BYTE_OFFSET(VirtualAddress);
	TargetMdl->ByteCount = Length;
	TargetMdl->Process = SourceMdl->Process;
	TargetMdl->MdlFlags =
		(CSHORT)(MDL_PARTIAL |
			 (SourceMdl->MdlFlags & (MDL_SOURCE_IS_NONPAGED_POOL | MDL_PAGES_LOCKED |
						 MDL_MAPPED_TO_SYSTEM_VA | MDL_WRITE_OPERATION)));
	TargetMdl->MappedSystemVa = NULL;
	if (mdl_has(SourceMdl, MDL_SOURCE_IS_NONPAGED_POOL | MDL_MAPPED_TO_SYSTEM_VA))
		TargetMdl->MappedSystemVa =
			(char *)SourceMdl->MappedSystemVa + (start - source_start);
	memcpy(mdl_pfns(TargetMdl),
	       mdl_pfns(SourceMdl) +
		       ((start & ~(uint64_t)PAGE_MASK) - (uintptr_t)SourceMdl->StartVa) / PAGE_SIZE,
	       pages * sizeof(uint64_t));
}

/* Mapping. */

PVOID MmMapLockedPagesSpecifyCache(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode,
				   MEMORY_CACHING_TYPE CacheType, PVOID RequestedAddress,
				   ULONG BugCheckOnFailure, ULONG Priority)
{
	PMDL mdl = MemoryDescriptorList;

	nt_irql_require(AccessMode == KernelMode ? DISPATCH_LEVEL : APC_LEVEL, __func__);
	if (!mdl_require(mdl,
			 mdl_has(mdl, MDL_PAGES_LOCKED | MDL_SOURCE_IS_NONPAGED_POOL | MDL_PARTIAL),
			 __func__, "whose pages are not locked"))
		return NULL;
	if (AccessMode == KernelMode &&
	    !mdl_require(mdl, !mdl_has(mdl, MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL),
			 __func__, "that is already mapped"))
		return mdl->MappedSystemVa;

	char *view = machine_map(mdl_pfns(mdl), mdl_page_count(mdl));
	if (!view && AccessMode != KernelMode)
		ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
	if (!view && BugCheckOnFailure)
		KeBugCheckEx(0x000000D8, (ULONG_PTR)mdl, mdl_page_count(mdl), 0, 0);
	if (!view)
		return NULL;

	view += mdl->ByteOffset;
	if (AccessMode == KernelMode) {
		mdl->MappedSystemVa = view;
		mdl->MdlFlags |= MDL_MAPPED_TO_SYSTEM_VA;
		if (mdl_has(mdl, MDL_PARTIAL))
			mdl->MdlFlags |= MDL_PARTIAL_HAS_BEEN_MAPPED;
	}
	return view;
}

PVOID MmMapLockedPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode)
{
	return MmMapLockedPagesSpecifyCache(MemoryDescriptorList, AccessMode, MmCached, NULL, TRUE,
					    HighPagePriority);
}

VOID MmUnmapLockedPages(PVOID BaseAddress, PMDL MemoryDescriptorList)
{
	PMDL mdl = MemoryDescriptorList;

	nt_irql_require(DISPATCH_LEVEL, __func__);
	if (mdl_has_own_mapping(mdl) && BaseAddress == mdl->MappedSystemVa) {
		mdl_drop_mapping(mdl);
		return;
	}
	/* A view for user mode leaves no trace in the MDL. */
	if (mdl_require(mdl,
			mdl_has(mdl, MDL_PAGES_LOCKED) &&
				BYTE_OFFSET(BaseAddress) == mdl->ByteOffset && BaseAddress &&
				!mdl_has(mdl, MDL_SOURCE_IS_NONPAGED_POOL),
			__func__, "that is not mapped at that address"))
		machine_unmap(PAGE_ALIGN(BaseAddress), mdl_page_count(mdl));
}

NTSTATUS MmProtectMdlSystemAddress(PMDL MemoryDescriptorList, ULONG NewProtect)
{
	/* Most system addresses are the one window that everybody shares; there is nothing to
	 * protect. */
	nt_report(RULE_NT_NOT_HOSTED, "%s is not available here", __func__);
	return STATUS_NOT_SUPPORTED;
}

/* Pages of one's own. */

/* Runs of `chunk_bytes` each, as long as there are any; returns the number of pages. */
static uint64_t alloc_chunks(uint64_t count, uint64_t chunk_bytes, uint64_t lowest,
			     uint64_t highest, uint64_t pfns[])
{
	uint64_t chunk_pages = chunk_bytes / PAGE_SIZE;
	uint64_t got = 0;
	uint64_t address;

	while (count - got >= chunk_pages &&
	       NT_SUCCESS(machine_alloc_contiguous(chunk_bytes, chunk_bytes, lowest, highest, 0,
						   &address))) {
		machine_split(address);
		for (uint64_t i = 0; i < chunk_pages; i++)
			pfns[got++] = (address >> PAGE_SHIFT) + i;
	}
	return got;
}

/* Goes through the ranges [low, high], [low + skip, high + skip], … until there are enough. */
static uint64_t alloc_in_ranges(uint64_t count, uint64_t low, uint64_t high, uint64_t skip,
				uint64_t pfns[])
{
	uint64_t got = machine_alloc_some_pages(count, low, high, pfns);

	while (got < count && skip != 0 && checked_add(low, skip, &low) &&
	       checked_add(high, skip, &high) &&
	       low < MACHINE_FIRST + machine_usage().total_pages * PAGE_SIZE)
		got += machine_alloc_some_pages(count - got, low, high, pfns + got);
	return got;
}

static PMDL pages_for_mdl(uint64_t low, uint64_t high, uint64_t skip, SIZE_T size_bytes,
			  ULONG flags, const void *site)
{
	bool is_chunked = (flags & MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS) != 0;
	uint64_t count = BYTES_TO_PAGES(size_bytes);
	uint64_t got;

	nt_irql_require(APC_LEVEL, "MmAllocatePagesForMdl");
	if (count == 0 || count > MDL_MAX_PAGES || low > high || skip % PAGE_SIZE != 0)
		return NULL;
	if (is_chunked && skip != 0 && (!is_power_of_two(skip) || count % (skip / PAGE_SIZE) != 0))
		return NULL;
	PMDL mdl = nt_pool_alloc_at(site, sizeof(*mdl) + count * sizeof(uint64_t), MDL_TAG);
	if (!mdl)
		return NULL;

	/* Chunks without a size are one chunk. */
	if (is_chunked && skip == 0) {
		uint64_t address;

		got = 0;
		if (NT_SUCCESS(machine_alloc_contiguous(count * PAGE_SIZE, 0, low, high, 0,
							&address))) {
			machine_split(address);
			for (; got < count; got++)
				mdl_pfns(mdl)[got] = (address >> PAGE_SHIFT) + got;
		}
	} else if (is_chunked) {
		got = alloc_chunks(count, skip, low, high, mdl_pfns(mdl));
	} else {
		got = alloc_in_ranges(count, low, high, skip, mdl_pfns(mdl));
	}

	/* Fewer than asked is an answer, unless the driver says it is none. */
	if (got == 0 || (got < count && (flags & MM_ALLOCATE_FULLY_REQUIRED) != 0) ||
	    !driver_memory_add(mdl, false, mdl_pfns(mdl), got, site)) {
		machine_free_pages(got, mdl_pfns(mdl));
		ExFreePoolWithTag(mdl, MDL_TAG);
		nt_pool_refused(count * PAGE_SIZE, site);
		return NULL;
	}
	memset(mdl, 0, sizeof(*mdl));
	MmInitializeMdl(mdl, NULL, got * PAGE_SIZE);
	mdl->MdlFlags = MDL_PAGES_LOCKED;
	return mdl;
}

PMDL MmAllocatePagesForMdlEx(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress,
			     PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes,
			     MEMORY_CACHING_TYPE CacheType, ULONG Flags)
{
	return pages_for_mdl((uint64_t)LowAddress.QuadPart, (uint64_t)HighAddress.QuadPart,
			     (uint64_t)SkipBytes.QuadPart, TotalBytes, Flags, CALLER);
}

PMDL MmAllocatePagesForMdl(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress,
			   PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes)
{
	return pages_for_mdl((uint64_t)LowAddress.QuadPart, (uint64_t)HighAddress.QuadPart,
			     (uint64_t)SkipBytes.QuadPart, TotalBytes, 0, CALLER);
}

/* The MDL itself is the driver's to free, with ExFreePool. */
VOID MmFreePagesFromMdl(PMDL MemoryDescriptorList)
{
	PMDL mdl = MemoryDescriptorList;

	nt_irql_require(APC_LEVEL, __func__);
	/* What is freed is what was allocated, whatever the driver did to the frame numbers. */
	if (!mdl_require(mdl, driver_memory_free(mdl, false), __func__,
			 "that MmAllocatePagesForMdl did not make, or that was freed already"))
		return;
	if (!mdl_require(mdl, !mdl_has_own_mapping(mdl), __func__, "that is still mapped"))
		mdl_drop_mapping(mdl);
	mdl->MdlFlags &= ~MDL_PAGES_LOCKED;
	mdl->ByteCount = 0;
}

VOID MmFreePagesFromMdlEx(PMDL MemoryDescriptorList, ULONG Flags)
{
	MmFreePagesFromMdl(MemoryDescriptorList);
}
